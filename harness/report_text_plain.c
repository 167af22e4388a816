/* SPDX-License-Identifier: Apache-2.0 */
#include "report_text_plain.h"

#include <inttypes.h>
#include <math.h>

#include "quote.h"
#include "report_text_word.h"

void text_plain_side(FILE *out, char letter, const struct record_run *r, const char *file)
{
    fprintf(out, "%c = ", letter);
    quote_line(out, file, "");
    fprintf(out, " (%s, %s)\n", r->device, r->name);
}

void text_plain_head(FILE *out)
{
    fprintf(out,
            "\nequal: share of elements with equal bits; B-A in ULP of the format, and the "
            "largest\n|B-A| in value\n\n%-15s %6s %9s %9s %9s %9s\n",
            "verdict", "equal", "mean", "99.9%", "max", "value");
}

void text_plain_name(FILE *out, const struct finding *f)
{
    quote_line(out, f->id, "");
    for (int i = 0; i < f->n_out; i++) {
        const struct finding_out *o = &f->out[i];
        fprintf(out, "  %s[", dtype_info(o->dtype)->name);
        for (int k = 0; k < o->rank; k++)
            fprintf(out, "%s%" PRId64, k ? "," : "", o->dim[k]);
        fputc(']', out);
    }
    fputc('\n', out);
}

/* At most nine columns. */
static const char *number(double x, char text[24])
{
    bool whole = fabs(x) >= 1e4 && fabs(x) < 1e8;
    snprintf(text, 24, whole ? "%.0f" : "%.4g", x);
    return text;
}

void text_plain_row(FILE *out, const struct finding_out *o)
{
    const struct pair_stats *p = &o->stats.pair;
    char equal[16], mean[24], most[24], worst[24];
    fprintf(out, " %6s %9s %9s %9s %9.3g\n",
            short_percent(p->bits_equal, p->count, equal, sizeof equal),
            number(p->ulp.mean, mean), number(p->ulp.quantile[3], most),
            number((double)p->worst_ulp, worst), p->worst_absolute);
}

void text_plain_conclusion(FILE *out, const struct finding_tally *t)
{
    int64_t n = t->count - t->verdicts[VERDICT_UNTESTED],
            within = t->verdicts[VERDICT_WITHIN_LIMITS];
    if (t->failing)
        fprintf(out,
                "%" PRId64 " of %" PRId64 " tensor%s differ%s; --limit says what is allowed, "
                "for instance --limit ulp:4\n"
                "which side is right only a reference tells: a case file with the kernel and its "
                "formula,\n  gpuparity check KERNEL.case.yaml\n",
                t->failing, t->count, t->count == 1 ? "" : "s", t->failing == 1 ? "s" : "");
    else if (within)
        fprintf(out, "%" PRId64 " of %" PRId64 " tensor%s differ%s, within your limits.\n",
                within, t->count, t->count == 1 ? "" : "s", within == 1 ? "s" : "");
    else
        fprintf(out, "%s %" PRId64 " tensor%s bit-equal.\n", n == 1 ? "The" : "All", n,
                n == 1 ? " is" : "s are");
}

void text_capture_conclusion(FILE *out, const struct finding_tally *t, const char *first)
{
    if (t->verdicts[VERDICT_UNTESTED])
        fprintf(out,
                "%" PRId64 " operators were not compared: their inputs differ already, or only "
                "A ran them;\n  a replay gives every operator the same inputs.\n",
                t->verdicts[VERDICT_UNTESTED]);
    if (*first) {
        fputs("The sides part at ", out);
        quote_line(out, first, "");
        fputs(".\n", out);
    } else {
        fprintf(out, "Every operator that was compared gave the same bits.\n");
    }
    if (t->failing)
        fprintf(out, "%" PRId64 " of %" PRId64 " operators fail.\n", t->failing, t->count);
}
