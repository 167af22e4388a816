/* SPDX-License-Identifier: Apache-2.0 */
#include "report_html_out.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "quote.h"
#include "report_html_chart.h"
#include "report_html_map.h"
#include "report_html_plot.h"
#include "report_html_word.h"
#include "ulp.h"

/* `two`: two sides with something to tell apart; otherwise only A's figures are shown. */
struct view {
    FILE *out;
    const struct finding_out *o;
    bool one_sided, two;
};

static void put_head(const struct view *v, const char *said)
{
    fputs("<h3>", v->out);
    quote_markup(v->out, v->o->name);
    fprintf(v->out, " <small>%s [", dtype_info(v->o->dtype)->name);
    for (int i = 0; i < v->o->rank; i++)
        fprintf(v->out, "%s%" PRId64, i ? "\u00d7" : "", v->o->dim[i]);
    fputs("]</small> ", v->out);
    html_verdict(v->out, v->o->verdict, false);
    fputs("</h3>\n", v->out);
    if (!strcmp(v->o->reason, said))
        return;
    fputs("<p>", v->out);
    quote_markup(v->out, v->o->reason);
    fputs("</p>\n", v->out);
}

static void put_causes(const struct view *v)
{
    if (!v->o->n_claim)
        return;
    fputs("<h4>Why</h4><ul class=\"why\">", v->out);
    for (int i = 0; i < v->o->n_claim; i++) {
        const struct cause_claim *c = &v->o->claim[i];
        fputs("<li><b>", v->out);
        quote_markup(v->out, cause_name(c->cause));
        fputs("</b> ", v->out);
        if (strcmp(cause_name(c->cause), cause_tier_name(cause_tier(c->cause))))
            fprintf(v->out, "<span class=\"tag\">%s</span> ",
                    cause_tier_name(cause_tier(c->cause)));
        if (c->side == 'A' || c->side == 'B')
            fprintf(v->out, "on side %c: ", c->side);
        quote_markup(v->out, c->evidence);
        fputs("</li>", v->out);
    }
    fputs("</ul>\n", v->out);
}

static void put_text_cell(FILE *out, const char *format, double x)
{
    char text[QUOTE_NUMBER_MAX];
    if (isnan(x) || isinf(x))
        quote_number(text, x);
    else
        snprintf(text, sizeof text, format, x);
    fprintf(out, "<td class=\"n\">%s</td>", text);
}

static void put_error_cells(const struct view *v, const struct finding_element *x,
                            uint64_t bits, double value)
{
    bool distance = dtype_info(v->o->dtype)->kind == DTYPE_KIND_FLOAT &&
                    dtype_is_finite(v->o->dtype, bits) && isfinite(x->value);
    if (!v->o->stats.has_reference)
        return;
    if (!distance) {
        fputs("<td class=\"n\">\u2013</td><td class=\"n\">\u2013</td>", v->out);
        return;
    }
    html_number_cell(v->out, ulp_error(v->o->dtype, bits, x->value, x->tail));
    html_number_cell(v->out, fabs(value - x->value - x->tail) / x->bound);
}

static void put_element_side(const struct view *v, const struct finding_element *x, char side)
{
    char text[QUOTE_BITS_MAX];
    uint64_t bits = side == 'A' ? x->a : x->b;
    double value = side == 'A' ? x->value_a : x->value_b;
    quote_bits(text, v->o->dtype, bits);
    fprintf(v->out, "<tr><th scope=\"row\">%c</th>", side);
    put_text_cell(v->out, "%.9g", value);
    fprintf(v->out, "<td class=\"n\">%s</td>", text);
    put_error_cells(v, x, bits, value);
    fputs("</tr>", v->out);
}

static void put_element_right(const struct view *v, const struct finding_element *x)
{
    char text[QUOTE_BITS_MAX], bound[QUOTE_NUMBER_MAX];
    if (!v->o->stats.has_reference)
        return;
    fputs("<tr><th scope=\"row\">right</th>", v->out);
    put_text_cell(v->out, "%.9g", x->value);
    quote_bits(text, v->o->dtype, dtype_round_sum(v->o->dtype, x->value, x->tail));
    quote_human(bound, x->bound);
    fprintf(v->out, "<td class=\"n\">%s</td><td class=\"n\" colspan=\"2\">bound %s</td></tr>",
            text, bound);
}

static void put_element(const struct view *v, const char *which,
                        const struct finding_element *x)
{
    fprintf(v->out, "<table class=\"el\"><caption>%s element, ", which);
    if (v->o->rank > 1) {
        for (int i = 0; i < v->o->rank; i++)
            fprintf(v->out, "%s%" PRId64, i ? ", " : "[", x->coordinate[i]);
        fputs("], ", v->out);
    }
    fprintf(v->out,
            "index %" PRId64 "</caption><thead><tr><td></td><th scope=\"col\">value</th>"
            "<th scope=\"col\">bits</th>%s</tr></thead><tbody>",
            x->index,
            v->o->stats.has_reference
                ? "<th scope=\"col\">error, ULP</th><th scope=\"col\">of bound</th>"
                : "");
    put_element_side(v, x, 'A');
    if (!v->one_sided)
        put_element_side(v, x, 'B');
    put_element_right(v, x);
    fputs("</tbody></table>\n", v->out);
}

static void put_elements(const struct view *v)
{
    fputs("<div class=\"els scroll\">", v->out);
    const struct finding_element *worst = &v->o->worst, *first = &v->o->first;
    if (worst->shown)
        put_element(v, "Worst", worst);
    if (first->shown && (!worst->shown || first->index != worst->index))
        put_element(v, "First", first);
    fputs("</div>\n", v->out);
}

static void put_row_head(const struct view *v, const char *words)
{
    fprintf(v->out, "<tr><th scope=\"row\">%s</th>", words);
}

static void put_row_counts(const struct view *v, const char *words, int64_t a, int64_t b)
{
    if (!a && !(v->two && b))
        return;
    put_row_head(v, words);
    fputs("<td class=\"n\">", v->out);
    html_count(v->out, a);
    if (v->two) {
        fputs("</td><td class=\"n\">", v->out);
        html_count(v->out, b);
    }
    fputs("</td></tr>", v->out);
}

/* What needs a reference is left out where there is none. */
static void put_row_numbers(const struct view *v, const char *words, double a, double b)
{
    if (!v->o->stats.has_reference && isnan(a) && !v->two)
        return;
    put_row_head(v, words);
    html_number_cell(v->out, a);
    if (v->two)
        html_number_cell(v->out, b);
    fputs("</tr>", v->out);
}

static void put_group(const struct view *v, const char *title)
{
    fprintf(v->out,
            "<tr class=\"grp\"><th scope=\"colgroup\">%s</th><td class=\"n\">%s</td>%s</tr>",
            title, v->one_sided || v->two ? "A" : "A, B",
            v->two ? "<td class=\"n\">B</td>" : "");
}

static void put_sides(const struct view *v, const struct side_stats *a,
                      const struct side_stats *b)
{
#define ROW_COUNT(words, x, y) put_row_counts(v, words, x, y);
#define ROW_NUMBER(words, x, y) put_row_numbers(v, words, x, y);
#define ROW_INDEX(words, x, y)
    put_group(v, "Against the reference");
#define SIDE(kind, field, words) ROW_##kind(words, a->field, b->field)
#include "report_stats.def"
    if (!a->ulp.count && !b->ulp.count)
        return;
    put_group(v, "Signed error in ULP");
#define DISTRIBUTION(kind, field, words) ROW_##kind(words, a->ulp.field, b->ulp.field)
#define SIGNS DISTRIBUTION
#define QUANTILE(i, name, words)                                                               \
    put_row_numbers(v, words, a->ulp.quantile[i], b->ulp.quantile[i]);
#include "report_stats.def"
}

static void put_pair(const struct view *pair, const struct pair_stats *p)
{
    const struct view one = {pair->out, pair->o, pair->one_sided, false}, *v = &one;
    fputs("<table class=\"fig\"><tbody><tr class=\"grp\"><th scope=\"colgroup\">A against B"
          "</th><td></td></tr>",
          v->out);
#define PAIR_COUNT(words, x) put_row_counts(v, words, x, 0);
#define PAIR_DISTANCE(words, x) put_row_numbers(v, words, (double)(x), 0);
#define PAIR_NUMBER(words, x) put_row_numbers(v, words, x, 0);
#define PAIR_INDEX(words, x)
#define PAIR(kind, field, words) PAIR_##kind(words, p->field)
#include "report_stats.def"
    if (v->o->codes.flips) {
        const struct codes_stats *c = &v->o->codes;
        fputs("<tr class=\"grp\"><th scope=\"colgroup\">Codes of A and B</th><td></td></tr>", v->out);
#define CODES(kind, field, words) PAIR_##kind(words, c->field)
#include "report_stats.def"
    }
    fputs("</tbody></table>\n", v->out);
}

static void put_figures(const struct view *v)
{
    const struct output_stats *s = &v->o->stats;
    fputs("<table class=\"fig\"><tbody>", v->out);
    if (s->has_reference)
        put_sides(v, &s->a, &s->b);
    if (s->has_reference && s->power > 0) {
        put_row_head(v, "a lost term would show in");
        fprintf(v->out, "<td class=\"n\"%s>%.4g\u202f%%</td></tr>",
                v->two ? " colspan=\"2\"" : "", 100 * s->power);
    }
    fputs("</tbody></table>\n", v->out);
}

static void put_key(FILE *out, char side, const struct record_run *r, const char *how)
{
    fprintf(out, "<span><span class=\"key %c\"></span>", side + 'a' - 'A');
    html_side(out, side, r);
    fprintf(out, ": %s</span> ", how);
}

static bool is_exact(const struct distribution *d)
{
    return d->hist[0] == (uint64_t)d->count;
}

/* Without a reference: how far the sides are apart. */
static void put_distances(const struct view *v)
{
    const struct distribution *d = &v->o->stats.pair.ulp;
    if (!v->two || !d->count || is_exact(d))
        return;
    fputs("<figure><figcaption><b>B \u2212 A</b> in ULP of the format. Above: share of elements by "
          "signed distance; below: cumulated. The axis is logarithmic on both sides of 0.</figcaption>\n",
          v->out);
    plot_errors(v->out, d, NULL);
    fputs("</figure>\n", v->out);
}

static void put_plots(const struct view *v, const struct finding_sides *sides)
{
    const struct output_stats *s = &v->o->stats;
    const struct distribution *b = v->two ? &s->b.ulp : NULL;
    if (!s->has_reference)
        put_distances(v);
    if (!s->has_reference || !(s->a.ulp.count || (b && b->count)))
        return;
    if (is_exact(&s->a.ulp) && (!b || is_exact(b))) {
        fputs("<p class=\"dim\">Every error is exactly 0: nothing to draw.</p>", v->out);
        return;
    }
    fputs("<figure><figcaption>", v->out);
    if (v->two || v->one_sided) {
        put_key(v->out, 'A', &sides->a, "area, solid");
        if (v->two)
            put_key(v->out, 'B', &sides->b, "line, dashed");
    } else {
        fputs("<span><span class=\"key a\"></span>A and B alike</span>", v->out);
    }
    fputs("<br>Above: share of elements by signed error; below: cumulated. The axis is "
          "logarithmic on both sides of 0, so a bell looks like two humps.</figcaption>\n",
          v->out);
    plot_errors(v->out, &s->a.ulp, b);
    if (s->a.bound.count || (v->two && s->b.bound.count))
        plot_bounds(v->out, &s->a.bound, v->two ? &s->b.bound : NULL);
    fputs("</figure>\n", v->out);
}

static void put_steps(const struct view *v)
{
    const struct charts *c = v->o->charts;
    if (!c->points)
        return;
    fprintf(v->out, "<figure><figcaption><b>From step to step</b>: %s%s</figcaption>",
            dtype_info(v->o->dtype)->kind == DTYPE_KIND_CODE
                ? "share of codes that are not the reference's"
                : "norm of the error by the norm of the reference",
            v->two ? "; dotted: B against A" : "");
    if (!chart_drift(v->out, c, v->two))
        fputs("<p class=\"dim\">Every step is exact.</p>", v->out);
    fputs("</figure>\n", v->out);
}

static void put_magnitude(const struct view *v)
{
    if (!v->o->charts)
        return;
    fputs("<figure>", v->out);
    if (v->o->charts->pair) {
        if (chart_magnitude(v->out, v->o->charts, false))
            fputs("<figcaption><b>Distance against magnitude</b>: |B \u2212 A| in ULP of the elements "
                  "that differ, from the median up to the worst of each binade of the larger "
                  "side.</figcaption>",
                  v->out);
    } else if (chart_magnitude(v->out, v->o->charts, v->two))
        fprintf(v->out,
                "<figcaption><b>Error against magnitude</b>: ULP, from the median up to the "
                "worst element%s; red: the loosest bound, above it is wrong.</figcaption>",
                v->two ? ", A as an area, B dashed" : "");
    fputs("</figure>\n", v->out);
}

static void put_charts(const struct view *v)
{
    const struct charts *c = v->o->charts;
    if (!c)
        return;
    put_steps(v);
    map_codes(v->out, c, !v->one_sided);
    if (*html_tone(v->o->verdict, true) != 'g')
        map_places(v->out, c, v->two);
}

size_t html_out_put(FILE *out, const struct finding_out *o, const char *said, bool one_sided,
                    const struct finding_sides *sides)
{
    struct view v = {out, o, one_sided, !one_sided && o->verdict != VERDICT_SAME};
    put_head(&v, said);
    put_causes(&v);
    put_elements(&v);
    size_t cut = (size_t)ftello(out);
    fputs("<div class=\"two\"><div class=\"scroll\">", out);
    put_figures(&v);
    if (v.two)
        put_pair(&v, &o->stats.pair);
    fputs("</div><div>", out);
    put_plots(&v, sides);
    put_magnitude(&v);
    fputs("</div></div>\n<div class=\"two\">", out);
    put_charts(&v);
    fputs("</div>\n", out);
    return cut;
}
