/* SPDX-License-Identifier: Apache-2.0 */
#include "report_text_case.h"

#include <inttypes.h>

#include "report_text_word.h"
#include "wrap.h"

static void print_triple(FILE *out, const struct distribution *d)
{
    char a[16], b[16], c[16];
    if (!d->count) {
        fprintf(out, "|%5s %5s %5s", "-", "-", "-");
        return;
    }
    fprintf(out, "|%5s %5s %5s", short_number(d->mean, a, sizeof a),
            short_number(d->quantile[3], b, sizeof b),
            short_number(d->quantile[4], c, sizeof c));
}

void text_case_numbers(FILE *out, const struct finding_out *o, bool one_sided)
{
    char text[16], a[16], b[16], c[16], d[16];
    const struct side_stats *s = &o->stats.a;
    if (one_sided) {
        fprintf(out, " %7s %9s %9s %9s %9s\n",
                short_percent(s->correctly_rounded, s->count, text, sizeof text),
                short_number(s->ulp.mean, a, sizeof a),
                short_number(s->ulp.quantile[3], b, sizeof b),
                short_number(s->ulp.quantile[4], c, sizeof c),
                short_number(s->worst_bound, d, sizeof d));
        return;
    }
    fprintf(out, " %5s",
            short_percent(o->stats.pair.bits_equal, o->stats.pair.count, text, sizeof text));
    print_triple(out, &o->stats.a.ulp);
    print_triple(out, &o->stats.b.ulp);
    print_triple(out, &o->stats.pair.ulp);
    fputc('\n', out);
}

void text_case_drift(FILE *out, const struct finding_out *o, bool one_sided)
{
    char text[160];
    if (!o->drift.known)
        return;
    drift_print(&o->drift, one_sided, text, sizeof text);
    fprintf(out, "  drift         %s\n", text);
}

static void print_distribution(FILE *out, const char *name, const struct distribution *d)
{
    fprintf(out,
            "    %-9s n %" PRId64
            "  mean %+.3g  median %+.3g  rms %.3g  |50%%| %.3g  |90%%| %.3g  "
            "|99%%| %.3g  max %.4g  lean %+.3g (p %.1g)\n",
            name, d->count, d->mean, d->median, d->rms, d->quantile[0], d->quantile[1],
            d->quantile[2], d->quantile[4], d->lean, d->sign_p);
}

static void print_codes(FILE *out, const struct codes_stats *c)
{
    if (!c->flips)
        return;
    fprintf(out,
            "    codes     %" PRId64 " of %" PRId64 " differ, %" PRId64 " upwards, %" PRId64
            " downwards; histograms: V %.3g (p %.2g); symmetry p %.2g\n    most often",
            c->flips, c->count, c->up, c->down, c->cramer, c->chi2_p, c->bowker_p);
    for (int i = 0; i < CODES_TOP && c->top[i].count; i++)
        fprintf(out, "%s %d to %d (%" PRId64 ")", i ? "," : "", c->top[i].from, c->top[i].to,
                c->top[i].count);
    fputc('\n', out);
}

void text_case_cause(FILE *out, const struct cause_claim *c)
{
    char side[8] = "";
    if (c->side != '=')
        snprintf(side, sizeof side, ", %c", c->side);
    char text[512];
    snprintf(text, sizeof text, "cause: %s (%s%s): %s", cause_name(c->cause),
             cause_tier_name(cause_tier(c->cause)), side, c->evidence);
    fprintf(out, "  ");
    wrap_print(out, text, 2, 4, TEXT_CASE_WIDTH);
}

void text_case_verbose(FILE *out, const struct finding *f)
{
    fprintf(out, "    ");
    wrap_print(out, f->reason, 4, 4, TEXT_CASE_WIDTH);
    for (int i = 0; i < f->n_out; i++) {
        const struct output_stats *s = &f->out[i].stats;
        for (int k = 0; k < f->out[i].n_claim; k++)
            text_case_cause(out, &f->out[i].claim[k]);
        if (s->has_reference)
            print_distribution(out, "A, ULP", &s->a.ulp);
        if (f->one_sided)
            continue;
        if (s->has_reference)
            print_distribution(out, "B, ULP", &s->b.ulp);
        print_distribution(out, "B-A, ULP", &s->pair.ulp);
        print_codes(out, &f->out[i].codes);
        if (!s->has_reference)
            continue;
        fprintf(out,
                "    KS %.3f (p %.2g), Wasserstein %.3g ULP; a lost term shows in %.0f %%\n",
                s->pair.ks, s->pair.ks_p, s->pair.wasserstein, 100 * s->power);
    }
}
