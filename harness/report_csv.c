/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <inttypes.h>
#include <string.h>

#include "quote.h"

/* One row an output, one for a case without any. The columns keep their order for good: new
 * ones come after those that are there, the user's tags last. A field is empty where there is
 * nothing to say. */

enum { CSV_SCHEMA = 1 };

/* CSV_TEXT(column, string expression) and CSV_INT, over finding f, output o (NULL: none). */
#define CSV_CASE                                                                               \
    CSV_INT("number", f->number)                                                               \
    CSV_TEXT("case", f->id)                                                                    \
    CSV_TEXT("verdict", verdict_name(f->verdict))                                              \
    CSV_INT("fails", verdict_fails(f->verdict, s->options->strict))                            \
    CSV_TEXT("reason", f->reason)                                                              \
    CSV_TEXT("reproduce", f->reproduce)                                                        \
    CSV_TEXT("a_device", s->sides->a.device)                                                   \
    CSV_INT("a_simulated", s->sides->a.simulated)                                              \
    CSV_TEXT("a_status", record_status_name(f->a.status))                                      \
    CSV_TEXT("a_compiler", f->a.compiler)                                                      \
    CSV_TEXT("a_marks", f->a.marks)                                                            \
    CSV_NUMBER("a_seconds", f->a.seconds)                                                      \
    CSV_TEXT("b_device", s->sides->b.device)                                                   \
    CSV_INT("b_simulated", s->sides->b.simulated)                                              \
    CSV_TEXT("b_status", f->one_sided ? "" : record_status_name(f->b.status))                  \
    CSV_TEXT("b_compiler", f->b.compiler)                                                      \
    CSV_TEXT("b_marks", f->b.marks)                                                            \
    CSV_NUMBER("b_seconds", f->b.seconds)                                                      \
    CSV_TEXT("source_digest", f->a.source_digest)                                              \
    CSV_TEXT("input_digest", f->a.input_digest)

static const char *const out_columns[] = {
    "output", "dtype",      "shape",       "output_verdict", "output_reason",
    "cause",  "cause_side", "cause_share", "power",
};

struct csv_state {
    const struct report_options *options;
    const struct finding_sides *sides;
};

static void put_text(FILE *out, const char *s)
{
    fputc(',', out);
    quote_csv(out, s);
}

static void put_int(FILE *out, int64_t n)
{
    fprintf(out, ",%" PRId64, n);
}

static void put_distance(FILE *out, uint64_t n)
{
    fprintf(out, ",%" PRIu64, n);
}

static void put_index(FILE *out, int64_t i)
{
    if (i >= 0)
        put_int(out, i);
    else
        fputc(',', out);
}

static void put_number(FILE *out, double x)
{
    char text[QUOTE_NUMBER_MAX];
    quote_number(text, x);
    put_text(out, text);
}

#define PUT_COUNT put_int
#define PUT_DISTANCE put_distance
#define PUT_INDEX put_index
#define PUT_NUMBER put_number

static void put_side_columns(FILE *out, const char *side)
{
#define SIDE(kind, field, words) fprintf(out, ",%s_" #field, side);
#define DISTRIBUTION(kind, field, words) fprintf(out, ",%s_ulp_" #field, side);
#define QUANTILE(i, name, words) fprintf(out, ",%s_ulp_" #name, side);
#include "report_stats.def"
}

static void put_columns(FILE *out)
{
    fputs("schema", out);
#define CSV_TEXT(column, value) fputs("," column, out);
#define CSV_INT CSV_TEXT
#define CSV_NUMBER CSV_TEXT
    CSV_CASE
#undef CSV_TEXT
#undef CSV_INT
#undef CSV_NUMBER
    for (size_t i = 0; i < sizeof out_columns / sizeof *out_columns; i++)
        fprintf(out, ",%s", out_columns[i]);
    put_side_columns(out, "a");
    put_side_columns(out, "b");
#define PAIR(kind, field, words) fputs(",pair_" #field, out);
#include "report_stats.def"
#define SIGNS(kind, field, words) fputs(",a_ulp_" #field ",b_ulp_" #field, out);
#include "report_stats.def"
#define CODES(kind, field, words) fputs(",codes_" #field, out);
#include "report_stats.def"
}

static void put_tags(FILE *out, const struct report_options *o, bool keys)
{
    for (int i = 0; i < o->n_tag; i++) {
        const char *equals = strchr(o->tag[i], '=');
        char key[REPORT_TAG_MAX + 5];
        snprintf(key, sizeof key, "tag_%.*s", (int)(equals - o->tag[i]), o->tag[i]);
        put_text(out, keys ? key : equals + 1);
    }
    fputc('\n', out);
}

static enum err csv_begin(void *state, FILE *out, const struct report_options *o,
                          const struct finding_sides *sides, struct errinfo *e)
{
    (void)e;
    struct csv_state *s = state;
    s->options = o;
    s->sides = sides;
    put_columns(out);
    put_tags(out, o, true);
    return ERR_OK;
}

static void put_case(FILE *out, const struct csv_state *s, const struct finding *f)
{
    fprintf(out, "%d", CSV_SCHEMA);
#define CSV_TEXT(column, value) put_text(out, value);
#define CSV_INT(column, value) put_int(out, value);
#define CSV_NUMBER(column, value) put_number(out, value);
    CSV_CASE
#undef CSV_TEXT
#undef CSV_INT
#undef CSV_NUMBER
}

static void put_shape(FILE *out, const struct finding_out *o)
{
    for (int i = 0; i < o->rank; i++)
        fprintf(out, "%c%" PRId64, i ? 'x' : ',', o->dim[i]);
    if (!o->rank)
        fputc(',', out);
}

static void put_nothing(FILE *out, int fields)
{
    for (int i = 0; i < fields; i++)
        fputc(',', out);
}

#define SIDE(kind, field, words) +1
#define DISTRIBUTION(kind, field, words) +1
#define QUANTILE(i, name, words) +1
enum {
    SIDE_FIELDS = 0
#include "report_stats.def"
};
#define PAIR(kind, field, words) +1
enum {
    PAIR_FIELDS = 0
#include "report_stats.def"
};
#define SIGNS(kind, field, words) +2
enum {
    SIGN_FIELDS = 0
#include "report_stats.def"
};
#define CODES(kind, field, words) +1
enum {
    CODES_FIELDS = 0
#include "report_stats.def"
};

static void put_side(FILE *out, const struct side_stats *x, bool known)
{
    if (!known) {
        put_nothing(out, SIDE_FIELDS);
        return;
    }
    const struct distribution *d = &x->ulp;
#define SIDE(kind, field, words) PUT_##kind(out, x->field);
#define DISTRIBUTION(kind, field, words) PUT_##kind(out, d->field);
#define QUANTILE(i, name, words) PUT_NUMBER(out, d->quantile[i]);
#include "report_stats.def"
}

static void put_cause(FILE *out, const struct finding_out *o)
{
    if (!o->n_claim) {
        put_nothing(out, 3);
        return;
    }
    const struct cause_claim *c = &o->claim[0];
    put_text(out, cause_name(c->cause));
    put_text(out, c->side == 'A' ? "a" : c->side == 'B' ? "b" : "pair");
    put_number(out, c->share);
}

static void put_pair(FILE *out, const struct pair_stats *x, bool known)
{
    if (!known) {
        put_nothing(out, PAIR_FIELDS);
        return;
    }
#define PAIR(kind, field, words) PUT_##kind(out, x->field);
#include "report_stats.def"
}

/* Columns that came after the others. */
static void put_later(FILE *out, const struct finding_out *o, bool one_sided)
{
    const struct distribution *a = &o->stats.a.ulp, *b = one_sided ? NULL : &o->stats.b.ulp;
    const struct codes_stats *c = &o->codes;
    if (!o->stats.has_reference)
        put_nothing(out, SIGN_FIELDS);
    else {
#define SIGNS(kind, field, words)                                                              \
    PUT_##kind(out, a->field);                                                                 \
    if (b)                                                                                     \
        PUT_##kind(out, b->field);                                                             \
    else                                                                                       \
        put_nothing(out, 1);
#include "report_stats.def"
    }
    if (!c->codes) {
        put_nothing(out, CODES_FIELDS);
        return;
    }
#define CODES(kind, field, words) PUT_##kind(out, c->field);
#include "report_stats.def"
}

static void put_out(FILE *out, const struct finding_out *o, bool one_sided)
{
    put_text(out, o->name);
    put_text(out, dtype_info(o->dtype)->name);
    put_shape(out, o);
    put_text(out, verdict_name(o->verdict));
    put_text(out, o->reason);
    put_cause(out, o);
    put_number(out, o->stats.power);
    put_side(out, &o->stats.a, o->stats.has_reference);
    put_side(out, &o->stats.b, o->stats.has_reference && !one_sided);
    put_pair(out, &o->stats.pair, !one_sided);
    put_later(out, o, one_sided);
}

static enum err csv_finding(void *state, FILE *out, const struct finding *f, struct errinfo *e)
{
    (void)e;
    struct csv_state *s = state;
    for (int i = 0; i < f->n_out || i == 0; i++) {
        put_case(out, s, f);
        if (f->n_out)
            put_out(out, &f->out[i], f->one_sided);
        else
            put_nothing(out, (int)(sizeof out_columns / sizeof *out_columns) + 2 * SIDE_FIELDS +
                                 PAIR_FIELDS + SIGN_FIELDS + CODES_FIELDS);
        put_tags(out, s->options, false);
    }
    return ERR_OK;
}

static enum err csv_end(void *state, FILE *out, const struct finding_tally *t,
                        struct errinfo *e)
{
    (void)state, (void)out, (void)t, (void)e;
    return ERR_OK;
}

const struct reporter reporter_csv = {
    .name = "csv",
    .extension = ".csv",
    .summary = "a row an output, for spreadsheets and data frames",
    .state_size = sizeof(struct csv_state),
    .begin = csv_begin,
    .finding = csv_finding,
    .end = csv_end,
};
