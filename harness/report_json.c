/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <stdio.h>
#include <string.h>

#include "config.h"
#include "json.h"
#include "quote.h"

/* json: one object; jsonl: one line for the sides, one a case, one for the tally. Both are
 * described by docs/report.schema.json; REPORT_SCHEMA grows when a reader of the old one would
 * misread the new one. */
enum { REPORT_SCHEMA = 1 };

struct report_state {
    const struct report_options *options;
    const struct finding_sides *sides;
    bool any;
};

#define PUT_COUNT json_int
#define PUT_DISTANCE json_unsigned
#define PUT_INDEX json_index
#define PUT_NUMBER json_number

/* [exponent, negative, positive] for each bin that holds something: 2^exponent <= |x| <
 * 2^(exponent + 1); exponent null is exact zero, counted in the last place. */
static void json_histogram(struct json *j, const struct distribution *d)
{
    json_open(j, "histogram", '[');
    for (int b = 0; b < STATS_HIST; b++) {
        if (!d->hist[b])
            continue;
        json_open(j, NULL, '[');
        if (b)
            json_int(j, NULL, b - 34);
        else
            json_null(j, NULL);
        json_unsigned(j, NULL, d->hist_negative[b]);
        json_unsigned(j, NULL, d->hist[b] - d->hist_negative[b]);
        json_close(j, ']');
    }
    json_close(j, ']');
}

static void json_distribution(struct json *j, const char *key, const struct distribution *d)
{
    if (!d->count) {
        json_null(j, key);
        return;
    }
    json_open(j, key, '{');
#define DISTRIBUTION(kind, field, words) PUT_##kind(j, #field, d->field);
#define SIGNS DISTRIBUTION
#define QUANTILE(i, name, words) PUT_NUMBER(j, #name, d->quantile[i]);
#include "report_stats.def"
    json_histogram(j, d);
    json_close(j, '}');
}

static void json_side(struct json *j, const char *key, const struct side_stats *s)
{
    json_open(j, key, '{');
#define SIDE(kind, field, words) PUT_##kind(j, #field, s->field);
#include "report_stats.def"
    json_distribution(j, "ulp", &s->ulp);
    json_distribution(j, "bound", &s->bound);
    json_close(j, '}');
}

static void json_pair(struct json *j, const char *key, const struct pair_stats *s)
{
    json_open(j, key, '{');
#define PAIR(kind, field, words) PUT_##kind(j, #field, s->field);
#include "report_stats.def"
    json_distribution(j, "ulp", &s->ulp);
    json_close(j, '}');
}

static void json_value(struct json *j, const char *key, enum dtype d, uint64_t bits,
                       double value)
{
    char text[QUOTE_BITS_MAX];
    quote_bits(text, d, bits);
    json_open(j, key, '{');
    json_text(j, "bits", text);
    json_number(j, "value", value);
    json_close(j, '}');
}

static void json_element(struct json *j, const char *key, const struct finding_out *o,
                         const struct finding_element *x, bool one_sided)
{
    if (!x->shown) {
        json_null(j, key);
        return;
    }
    json_open(j, key, '{');
    json_int(j, "index", x->index);
    json_open(j, "coordinate", '[');
    for (int i = 0; i < o->rank; i++)
        json_int(j, NULL, x->coordinate[i]);
    json_close(j, ']');
    json_value(j, "a", o->dtype, x->a, x->value_a);
    if (!one_sided)
        json_value(j, "b", o->dtype, x->b, x->value_b);
    if (o->stats.has_reference) {
        json_number(j, "reference", x->value);
        json_number(j, "reference_tail", x->tail);
        json_number(j, "bound", x->bound);
    }
    json_close(j, '}');
}

static void json_causes(struct json *j, const struct finding_out *o)
{
    json_open(j, "causes", '[');
    for (int i = 0; i < o->n_claim; i++) {
        const struct cause_claim *c = &o->claim[i];
        const char *side = c->side == 'A' ? "a" : c->side == 'B' ? "b" : "pair";
        json_open(j, NULL, '{');
        json_text(j, "cause", cause_name(c->cause));
        json_text(j, "tier", cause_tier_name(cause_tier(c->cause)));
        json_text(j, "side", side);
        json_number(j, "share", c->share);
        json_text(j, "evidence", c->evidence);
        json_text(j, "check", cause_check(c->cause));
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* With the most frequent flips: [from, to, how many]. */
static void json_codes(struct json *j, const struct codes_stats *c)
{
    if (!c->codes) {
        json_null(j, "codes");
        return;
    }
    json_open(j, "codes", '{');
#define CODES(kind, field, words) PUT_##kind(j, #field, c->field);
#include "report_stats.def"
    json_open(j, "top", '[');
    for (int i = 0; i < CODES_TOP && c->top[i].count; i++) {
        json_open(j, NULL, '[');
        json_int(j, NULL, c->top[i].from);
        json_int(j, NULL, c->top[i].to);
        json_int(j, NULL, c->top[i].count);
        json_close(j, ']');
    }
    json_close(j, ']');
    json_close(j, '}');
}

static void json_out(struct json *j, const struct finding_out *o, bool one_sided)
{
    json_open(j, NULL, '{');
    json_text(j, "name", o->name);
    json_text(j, "dtype", dtype_info(o->dtype)->name);
    json_open(j, "shape", '[');
    for (int i = 0; i < o->rank; i++)
        json_int(j, NULL, o->dim[i]);
    json_close(j, ']');
    json_text(j, "verdict", verdict_name(o->verdict));
    json_text(j, "reason", o->reason);
    json_causes(j, o);
    json_bool(j, "has_reference", o->stats.has_reference);
    json_number(j, "power", o->stats.power);
    json_bool(j, "reference_constant", o->stats.reference_constant);
    json_side(j, "a", &o->stats.a);
    if (!one_sided) {
        json_side(j, "b", &o->stats.b);
        json_pair(j, "pair", &o->stats.pair);
        json_codes(j, &o->codes);
    }
    if (o->drift.known) {
        json_open(j, "drift", '{');
        json_number(j, "all", o->drift.all);
        json_number(j, "last", o->drift.last);
        json_close(j, '}');
    }
    json_element(j, "worst", o, &o->worst, one_sided);
    json_element(j, "first", o, &o->first, one_sided);
    json_close(j, '}');
}

/* A run or a case as recorded, by record.def. */
static void json_fields(struct json *j, const struct record_field *fields, const void *owner)
{
    for (const struct record_field *f = fields; f->name; f++) {
        const void *at = (const char *)owner + f->offset;
        switch (f->kind) {
        case RECORD_FIELD_BOOL:
            json_bool(j, f->name, *(const bool *)at);
            break;
        case RECORD_FIELD_INT:
            json_int(j, f->name, *(const int *)at);
            break;
        case RECORD_FIELD_LONG:
            json_int(j, f->name, *(const int64_t *)at);
            break;
        case RECORD_FIELD_COUNT:
            json_unsigned(j, f->name, *(const uint64_t *)at);
            break;
        case RECORD_FIELD_REAL:
            json_number(j, f->name, *(const double *)at);
            break;
        case RECORD_FIELD_TEXT:
            json_text(j, f->name, at);
            break;
        case RECORD_FIELD_STATUS:
            json_text(j, f->name, record_status_name(*(const enum record_status *)at));
            break;
        }
    }
}

static void json_case(struct json *j, const char *key, const struct record_case *c)
{
    json_open(j, key, '{');
    json_fields(j, record_case_fields, c);
    json_close(j, '}');
}

static void json_finding(struct json *j, const struct finding *f, bool strict)
{
    json_int(j, "number", f->number);
    json_text(j, "id", f->id);
    json_text(j, "verdict", verdict_name(f->verdict));
    json_bool(j, "fails", verdict_fails(f->verdict, strict));
    json_text(j, "reason", f->reason);
    json_text(j, "reproduce", f->reproduce);
    json_case(j, "a", &f->a);
    if (!f->one_sided)
        json_case(j, "b", &f->b);
    json_open(j, "outputs", '[');
    for (int i = 0; i < f->n_out; i++)
        json_out(j, &f->out[i], f->one_sided);
    json_close(j, ']');
}

static void json_run(struct json *j, const char *key, const struct record_run *r,
                     const char *file)
{
    json_open(j, key, '{');
    json_text(j, "file", file);
    json_fields(j, record_run_fields, r);
    json_open(j, "environment", '{');
    for (int i = 0; i < r->n_env; i++)
        json_text(j, r->env[i].name, r->env[i].value);
    json_close(j, '}');
    json_close(j, '}');
}

static void json_head(struct json *j, const struct report_state *s)
{
    json_int(j, "schema", REPORT_SCHEMA);
    json_text(j, "tool", "gpuparity");
    json_text(j, "version", GPUPARITY_VERSION);
    json_bool(j, "one_sided", s->sides->one_sided);
    json_bool(j, "strict", s->options->strict);
    json_open(j, "tags", '{');
    for (int i = 0; i < s->options->n_tag; i++) {
        const char *tag = s->options->tag[i], *equals = strchr(tag, '=');
        char key[REPORT_TAG_MAX + 1];
        snprintf(key, sizeof key, "%.*s", (int)(equals - tag), tag);
        json_text(j, key, equals + 1);
    }
    json_close(j, '}');
    json_run(j, "a", &s->sides->a, s->sides->file_a);
    if (!s->sides->one_sided)
        json_run(j, "b", &s->sides->b, s->sides->file_b);
}

static void json_tally(struct json *j, const struct finding_tally *t)
{
    json_int(j, "count", t->count);
    json_int(j, "failing", t->failing);
    json_number(j, "seconds", t->seconds);
    json_open(j, "verdicts", '{');
    for (int v = 0; v < VERDICT_COUNT_; v++)
        json_int(j, verdict_name((enum verdict)v), t->verdicts[v]);
    json_close(j, '}');
}

static enum err json_begin(void *state, FILE *out, const struct report_options *o,
                           const struct finding_sides *sides, struct errinfo *e)
{
    (void)e;
    struct report_state *s = state;
    s->options = o;
    s->sides = sides;
    struct json j = {out, false};
    json_open(&j, NULL, '{');
    json_head(&j, s);
    json_open(&j, "findings", '[');
    return ERR_OK;
}

static enum err json_next(void *state, FILE *out, const struct finding *f, struct errinfo *e)
{
    (void)e;
    struct report_state *s = state;
    struct json j = {out, s->any};
    json_open(&j, NULL, '{');
    fputc('\n', out);
    json_finding(&j, f, s->options->strict);
    json_close(&j, '}');
    s->any = true;
    return ERR_OK;
}

static enum err json_end(void *state, FILE *out, const struct finding_tally *t,
                         struct errinfo *e)
{
    (void)state, (void)e;
    struct json j = {out, true};
    json_close(&j, ']');
    json_open(&j, "tally", '{');
    json_tally(&j, t);
    json_close(&j, '}');
    json_close(&j, '}');
    fputc('\n', out);
    return ERR_OK;
}

const struct reporter reporter_json = {
    .name = "json",
    .extension = ".json",
    .summary = "one JSON object with everything (docs/report.schema.json)",
    .state_size = sizeof(struct report_state),
    .begin = json_begin,
    .finding = json_next,
    .end = json_end,
};

static struct json line_open(FILE *out, const char *type)
{
    struct json j = {out, false};
    json_open(&j, NULL, '{');
    json_text(&j, "type", type);
    return j;
}

static void line_close(struct json *j)
{
    json_close(j, '}');
    fputc('\n', j->out);
}

static enum err jsonl_begin(void *state, FILE *out, const struct report_options *o,
                            const struct finding_sides *sides, struct errinfo *e)
{
    (void)e;
    struct report_state *s = state;
    s->options = o;
    s->sides = sides;
    struct json j = line_open(out, "sides");
    json_head(&j, s);
    line_close(&j);
    return ERR_OK;
}

static enum err jsonl_next(void *state, FILE *out, const struct finding *f, struct errinfo *e)
{
    (void)e;
    struct report_state *s = state;
    struct json j = line_open(out, "finding");
    json_finding(&j, f, s->options->strict);
    line_close(&j);
    return ERR_OK;
}

static enum err jsonl_end(void *state, FILE *out, const struct finding_tally *t,
                          struct errinfo *e)
{
    (void)state, (void)e;
    struct json j = line_open(out, "tally");
    json_tally(&j, t);
    line_close(&j);
    return ERR_OK;
}

const struct reporter reporter_jsonl = {
    .name = "jsonl",
    .extension = ".jsonl",
    .summary = "JSON Lines: the sides, a line a case as it comes, the tally",
    .stream = true,
    .state_size = sizeof(struct report_state),
    .begin = jsonl_begin,
    .finding = jsonl_next,
    .end = jsonl_end,
};
