/* SPDX-License-Identifier: Apache-2.0 */
#include "report_html_case.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quote.h"
#include "report_html_out.h"
#include "report_html_word.h"

struct column {
    const char *title, *words; /* the words are the tooltip */
    bool number;
};

static const struct column columns_two[] = {
    {"Verdict", "what the difference means", false},
    {"Case", "family/variant:parameters", false},
    {"equal bits", "share of elements with equal bits", true},
    {"ULP A", "largest error of A against the reference, in ULP of the output's format", true},
    {"ULP B", "largest error of B against the reference, in ULP of the output's format", true},
    {"bound A", "largest error of A in units of the element's bound; above 1 is wrong", true},
    {"bound B", "largest error of B in units of the element's bound; above 1 is wrong", true},
    {NULL, NULL, false},
};

static const struct column columns_one[] = {
    {"Verdict", "what the error means", false},
    {"Case", "family/variant:parameters", false},
    {"rounded", "share of elements that are the reference rounded once", true},
    {"ULP", "largest error against the reference, in ULP of the output's format", true},
    {"bound", "largest error in units of the element's bound; above 1 is wrong", true},
    {NULL, NULL, false},
};

int html_case_columns(bool one_sided)
{
    return (int)(one_sided ? sizeof columns_one / sizeof *columns_one
                           : sizeof columns_two / sizeof *columns_two) -
           1;
}

void html_case_head(FILE *out, bool one_sided)
{
    fputs("<thead><tr>", out);
    for (const struct column *c = one_sided ? columns_one : columns_two; c->title; c++)
        fprintf(out,
                "<th scope=\"col\"%s title=\"%s\"><button type=\"button\" class=\"sort\">%s"
                "</button></th>",
                c->number ? " class=\"n\"" : "", c->words, c->title);
    fputs("</tr></thead>\n", out);
}

/* Over the outputs; NaN where no output says anything. */
struct extremes {
    double equal, ulp_a, ulp_b, bound_a, bound_b;
};

static void side_extremes(const struct side_stats *s, double *ulp, double *bound)
{
    if (s->ulp.count)
        *ulp = fmax(*ulp, s->ulp.quantile[STATS_QUANTILES - 1]);
    *bound = fmax(*bound, s->worst_bound);
}

static struct extremes extremes_find(const struct finding *f)
{
    struct extremes x = {NAN, NAN, NAN, NAN, NAN};
    for (int i = 0; i < f->n_out; i++) {
        const struct output_stats *s = &f->out[i].stats;
        int64_t part = f->one_sided ? s->a.correctly_rounded : s->pair.bits_equal;
        int64_t whole = f->one_sided ? s->a.count : s->pair.count;
        if (whole)
            x.equal = fmin(x.equal, 100.0 * (double)part / (double)whole);
        if (!s->has_reference)
            continue;
        side_extremes(&s->a, &x.ulp_a, &x.bound_a);
        if (!f->one_sided)
            side_extremes(&s->b, &x.ulp_b, &x.bound_b);
    }
    return x;
}

static void put_share_cell(FILE *out, double percent)
{
    if (isnan(percent)) {
        fputs("<td class=\"n\">\u2013</td>", out);
        return;
    }
    bool near = percent < 100 && percent > 99.99;
    fprintf(out, "<td class=\"n\" data-n=\"%.9g\">%s%.4g\u202f%%</td>", percent,
            near ? "&gt;" : "", near ? 99.99 : percent);
}

static void put_cells(FILE *out, const struct finding *f, const struct extremes *x)
{
    put_share_cell(out, x->equal);
    html_number_cell(out, x->ulp_a);
    if (!f->one_sided)
        html_number_cell(out, x->ulp_b);
    html_number_cell(out, x->bound_a);
    if (!f->one_sided)
        html_number_cell(out, x->bound_b);
}

static void put_id(FILE *out, const struct finding *f)
{
    const char *colon = strchr(f->id, ':');
    char name[sizeof f->id];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(f->id, ":"), f->id);
    fputs("<th scope=\"row\"><b>", out);
    quote_markup(out, name);
    fputs("</b>", out);
    for (const char *p = colon; p && *p; p++) {
        char piece[sizeof f->id];
        size_t n = strcspn(p, ",");
        snprintf(piece, sizeof piece, "%.*s%s", (int)n, p, p[n] ? "," : "");
        quote_markup(out, piece);
        if (!p[n])
            break;
        fputs("<wbr>", out);
        p += n;
    }
    const struct cause_claim *cause = finding_cause(f);
    if (cause)
        fprintf(out, " <span class=\"tag\">%s</span>", cause_name(cause->cause));
    if (f->a.marks[0] || f->b.marks[0])
        fputs(" <span class=\"tag\">modelled</span>", out);
    fputs("</th>", out);
}

/* The recorded fields of both sides, but for the id and what is empty or zero on both. */
static void put_build(FILE *out, const struct finding *f)
{
    int rows = 0;
    fprintf(out,
            "<div class=\"scroll\"><table class=\"cmp\"><thead><tr><th scope=\"col\">How it ran"
            "</th><th scope=\"col\">A</th>%s</tr></thead><tbody>\n",
            f->one_sided ? "" : "<th class=\"s\"></th><th scope=\"col\">B</th>");
    for (const struct record_field *r = record_case_fields; r->name; r++) {
        char a[1024], b[1024] = "";
        record_field_print(r, &f->a, a, sizeof a);
        if (!f->one_sided)
            record_field_print(r, &f->b, b, sizeof b);
        bool zero = !strcmp(a, "0") && (f->one_sided || !strcmp(b, "0"));
        bool measured = r->kind == RECORD_FIELD_REAL || r->kind == RECORD_FIELD_COUNT;
        if (strcmp(r->name, "id") && !zero)
            html_compare_row(out, r->name, a, b, f->one_sided, measured, &rows);
    }
    fputs("</tbody></table></div>\n", out);
}

static void put_marks(FILE *out, char side, const char *marks)
{
    if (!marks[0])
        return;
    fprintf(
        out,
        "<p class=\"note\"><span class=\"tag\">modelled</span> %c went through instructions "
        "whose results on silicon are not published; the verdict uses their documented "
        "bounds: ",
        side);
    quote_markup(out, marks);
    fputs("</p>\n", out);
}

static void cut_add(struct html_case *c, size_t from, size_t to)
{
    if (c->n_cut == HTML_CASE_CUTS || from == to)
        return;
    c->cut[c->n_cut].from = from;
    c->cut[c->n_cut++].to = to;
}

static void put_details(FILE *out, struct html_case *c, const struct finding *f,
                        const struct finding_sides *sides)
{
    fprintf(out, "<div class=\"body\"><p><b>%s</b>: ", verdict_name(f->verdict));
    quote_markup(out, verdict_meaning(f->verdict));
    fputs(".</p>\n", out);
    if (f->reproduce[0])
        html_command(out, f->reproduce);
    put_marks(out, 'A', f->a.marks);
    if (!f->one_sided)
        put_marks(out, 'B', f->b.marks);
    size_t from = (size_t)ftello(out);
    for (int i = 0; i < f->n_out; i++) {
        size_t cut_from = html_out_put(out, &f->out[i], f->reason, f->one_sided, sides);
        if (c->rank)
            cut_add(c, cut_from, (size_t)ftello(out));
    }
    size_t build_from = (size_t)ftello(out);
    put_build(out, f);
    cut_add(c, c->rank ? build_from : from, (size_t)ftello(out));
    fputs("</div>", out);
}

static void put_case(FILE *out, struct html_case *c, const struct finding *f,
                     const struct report_options *o, const struct finding_sides *sides)
{
    struct extremes x = extremes_find(f);
    double score = fmax(x.bound_a, x.bound_b);
    c->score = isnan(score) ? 0 : score;
    fprintf(out, "<tbody id=\"c%" PRId64 "\" data-v=\"%s\" class=\"%s\"><tr><td>", f->number,
            verdict_name(f->verdict), html_tone(f->verdict, o->strict));
    html_verdict(out, f->verdict, o->strict);
    fputs("</td>", out);
    put_id(out, f);
    put_cells(out, f, &x);
    fprintf(out, "</tr>\n<tr class=\"more\"><td colspan=\"%d\"><details",
            html_case_columns(f->one_sided));
    c->open_at = (size_t)ftello(out);
    fputs("><summary>", out);
    quote_markup(out, f->reason[0] ? f->reason : verdict_meaning(f->verdict));
    fputs("</summary>", out);
    put_details(out, c, f, sides);
    fputs("</details></td></tr></tbody>\n", out);
}

static int tone_rank(const char *tone)
{
    return *tone == 'b' ? 3 : *tone == 'w' ? 2 : *tone == 'm' ? 1 : 0;
}

enum err html_case_init(struct html_case *ret_case, const struct finding *f,
                        const struct report_options *o, const struct finding_sides *sides,
                        struct errinfo *e)
{
    struct html_case c = {.number = f->number, .verdict = f->verdict};
    c.rank = tone_rank(html_tone(f->verdict, o->strict));
    FILE *out = open_memstream(&c.text, &c.size);
    if (out)
        put_case(out, &c, f, o, sides);
    bool bad = !out || ferror(out);
    if ((out && fclose(out)) || bad) {
        free(c.text);
        return err_set(e, ERR_NOMEM, "out of memory for the HTML report");
    }
    *ret_case = c;
    return ERR_OK;
}

void html_case_release(struct html_case *c)
{
    free(c->text);
    memset(c, 0, sizeof *c);
}

void html_case_put(FILE *out, const struct html_case *c, bool full, bool open)
{
    size_t at = c->open_at;
    fwrite(c->text, 1, at, out);
    if (open)
        fputs(" open", out);
    for (int i = 0; i < c->n_cut && !full; i++) {
        fwrite(c->text + at, 1, c->cut[i].from - at, out);
        at = c->cut[i].to;
    }
    fwrite(c->text + at, 1, c->size - at, out);
}
