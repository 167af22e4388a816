/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <inttypes.h>

#include "config.h"
#include "quote.h"

/* TAP 14. What known.yaml accepts is "not ok" with a TODO directive, which is TAP's word for a
 * failure that is known and does not count; what did not run is a SKIP. Points with something
 * to say carry it as a YAML block. */

struct tap_state {
    const struct report_options *options;
    int64_t count;
};

static void put_device(FILE *out, const char *side, const struct record_run *r)
{
    fprintf(out, "# %s = ", side);
    quote_line(out, r->device, "");
    fputs(r->simulated ? " (simulated): " : ": ", out);
    quote_line(out, r->name, "");
    fputs(", ", out);
    quote_line(out, r->arch, "");
    fputc('\n', out);
}

static enum err tap_begin(void *state, FILE *out, const struct report_options *o,
                          const struct finding_sides *sides, struct errinfo *e)
{
    (void)e;
    struct tap_state *s = state;
    s->options = o;
    fputs("TAP version 14\n# gpuparity " GPUPARITY_VERSION "\n", out);
    put_device(out, "A", &sides->a);
    if (!sides->one_sided)
        put_device(out, "B", &sides->b);
    return ERR_OK;
}

static const char *directive(enum verdict v)
{
    if (v == VERDICT_UNTESTED)
        return " # SKIP ";
    return v == VERDICT_KNOWN ? " # TODO " : NULL;
}

static void put_key(FILE *out, int indent, const char *key, const char *value)
{
    fprintf(out, "%*s%s: ", indent, "", key);
    quote_json(out, value);
    fputc('\n', out);
}

/* Also YAML knows no NaN by our name: numbers that are none are quoted. */
static void put_number(FILE *out, const char *key, double x)
{
    char text[QUOTE_NUMBER_MAX];
    quote_number(text, x);
    fprintf(out, x - x == 0 ? "      %s: %s\n" : "      %s: \"%s\"\n", key, text);
}

static void put_out(FILE *out, const struct finding_out *o, bool one_sided)
{
    fputs("    - name: ", out);
    quote_json(out, o->name);
    fputc('\n', out);
    put_key(out, 6, "verdict", verdict_name(o->verdict));
    put_key(out, 6, "message", o->reason);
    if (o->n_claim)
        put_key(out, 6, "cause", cause_name(o->claim[0].cause));
    if (o->n_claim)
        put_key(out, 6, "evidence", o->claim[0].evidence);
    put_number(out, "a_max_ulp", o->stats.a.ulp.quantile[STATS_QUANTILES - 1]);
    put_number(out, "a_max_bound", o->stats.a.worst_bound);
    if (one_sided)
        return;
    put_number(out, "b_max_ulp", o->stats.b.ulp.quantile[STATS_QUANTILES - 1]);
    put_number(out, "b_max_bound", o->stats.b.worst_bound);
    fprintf(out, "      bits_equal: %" PRId64 "\n      elements: %" PRId64 "\n",
            o->stats.pair.bits_equal, o->stats.pair.count);
}

static void put_diagnostic(FILE *out, const struct finding *f)
{
    fputs("  ---\n", out);
    put_key(out, 2, "verdict", verdict_name(f->verdict));
    put_key(out, 2, "message", f->reason);
    put_key(out, 2, "reproduce", f->reproduce);
    if (f->a.marks[0])
        put_key(out, 2, "a_modelled", f->a.marks);
    if (f->b.marks[0])
        put_key(out, 2, "b_modelled", f->b.marks);
    if (f->n_out)
        fputs("  outputs:\n", out);
    for (int i = 0; i < f->n_out; i++)
        put_out(out, &f->out[i], f->one_sided);
    fputs("  ...\n", out);
}

static enum err tap_finding(void *state, FILE *out, const struct finding *f, struct errinfo *e)
{
    (void)e;
    struct tap_state *s = state;
    const char *why = directive(f->verdict);
    bool ok = !verdict_fails(f->verdict, s->options->strict) && f->verdict != VERDICT_KNOWN;
    fprintf(out, "%s %" PRId64 " - ", ok ? "ok" : "not ok", ++s->count);
    quote_line(out, f->id, "\\#");
    if (why) {
        fputs(why, out);
        quote_line(out, f->reason, "\\#");
    }
    fputc('\n', out);
    if (f->verdict != VERDICT_SAME)
        put_diagnostic(out, f);
    return ERR_OK;
}

static enum err tap_end(void *state, FILE *out, const struct finding_tally *t,
                        struct errinfo *e)
{
    (void)t, (void)e;
    const struct tap_state *s = state;
    fprintf(out, "1..%" PRId64 "%s\n", s->count,
            s->count ? "" : " # SKIP no case was selected");
    return ERR_OK;
}

const struct reporter reporter_tap = {
    .name = "tap",
    .extension = ".tap",
    .summary = "TAP 14, a point a case",
    .state_size = sizeof(struct tap_state),
    .begin = tap_begin,
    .finding = tap_finding,
    .end = tap_end,
};
