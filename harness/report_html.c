/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <stdlib.h>

#include "config.h"
#include "quote.h"
#include "report_html_case.h"
#include "report_html_style.h"
#include "report_html_summary.h"
#include "report_html_word.h"

/* One self-contained page. The verdict stands first and needs the tally, so the cases wait in
 * memory as text. All of them are in the table, with or without scripts; figures and plots of
 * long reports only for the worst, so that a page of thousands of cases stays quick. */

enum { HTML_FULL = 200 };

struct html_state {
    const struct report_options *options;
    const struct finding_sides *sides;
    struct html_case *cases; /* owned */
    size_t count, room;
    int64_t causes[CAUSE_COUNT_];
};

static enum err html_begin(void *state, FILE *out, const struct report_options *o,
                           const struct finding_sides *sides, struct errinfo *e)
{
    (void)out, (void)e;
    struct html_state *s = state;
    s->options = o;
    s->sides = sides;
    return ERR_OK;
}

static enum err html_finding(void *state, FILE *out, const struct finding *f, struct errinfo *e)
{
    (void)out;
    struct html_state *s = state;
    if (s->count == s->room) {
        size_t room = s->room ? 2 * s->room : 64;
        struct html_case *grown = realloc(s->cases, room * sizeof *grown);
        if (!grown)
            return err_set(e, ERR_NOMEM, "out of memory for the HTML report");
        s->cases = grown;
        s->room = room;
    }
    TRY(html_case_init(&s->cases[s->count], f, s->options, s->sides, e));
    s->count++;
    const struct cause_claim *cause = finding_cause(f);
    if (cause)
        s->causes[cause->cause]++;
    return ERR_OK;
}

/* Worst first: what asks for attention before what does not, then by how far out. */
static int case_compare(const void *pa, const void *pb)
{
    const struct html_case *a = pa, *b = pb;
    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    if (a->verdict != b->verdict)
        return a->verdict > b->verdict ? -1 : 1;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static void put_head(FILE *out, const struct finding_tally *t)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<meta name=\"generator\" content=\"gpuparity " GPUPARITY_VERSION "\">\n"
          "<title>gpuparity: ",
          out);
    summary_sentence(out, t);
    fputs("</title>\n<style>\n", out);
    fputs(html_style_find("report.css"), out);
    fputs("</style></head>\n<body>\n", out);
}

static void put_filter(FILE *out)
{
    fputs("<form class=\"filter\" role=\"search\" onsubmit=\"return false\">"
          "<label>Find <input type=\"search\" id=\"find\" placeholder=\"bf16 tiled\" "
          "autocomplete=\"off\"></label> "
          "<button type=\"button\" id=\"order\">Record order</button> "
          "<button type=\"button\" id=\"fold\">Fold all</button> "
          "<output id=\"shown\" aria-live=\"polite\"></output></form>\n",
          out);
}

static void put_table(FILE *out, const struct html_state *s, const struct finding_tally *t)
{
    fprintf(out, "<table id=\"cases\" class=\"%s%s\">",
            s->sides->one_sided ? "single" : "pairs", s->count > HTML_FULL ? " long" : "");
    html_case_head(out, s->sides->one_sided);
    for (size_t i = 0; i < s->count; i++)
        html_case_put(out, &s->cases[i], i < HTML_FULL, i == 0 && t->failing);
    fputs("</table>\n", out);
    if (s->count <= HTML_FULL)
        return;
    fputs("<p class=\"dim\">Figures and plots are given for the ", out);
    html_count(out, HTML_FULL);
    fputs(" cases that need them most. A report of fewer cases has them all; JSON and CSV "
          "reports have every figure of every case.</p>\n",
          out);
}

static void put_foot(FILE *out, const struct finding_tally *t)
{
    fputs(
        "<footer><details><summary>How to read this</summary><div class=\"body\"><p>"
        "Both sides ran the same kernel on bit-identical inputs. Each is held against a "
        "reference that is wider than either, and against a bound derived for every element "
        "from the computation: inside is right, outside is wrong. An <b>ULP</b> is the spacing "
        "of the output's format at the right answer; errors are signed, so a side that always "
        "rounds one way shows. Near zero a number of ULP means little: go by the bound.</p>"
        "<dl>",
        out);
    for (int v = 0; v < VERDICT_COUNT_; v++) {
        fputs("<dt>", out);
        html_verdict(out, (enum verdict)v, t->strict);
        fputs("</dt><dd>", out);
        quote_markup(out, verdict_meaning((enum verdict)v));
        fputs("</dd>", out);
    }
    fprintf(out,
            "</dl></div></details><p class=\"dim\">gpuparity " GPUPARITY_VERSION
            ", %s%.1f s%s</p></footer>\n<script>\n",
            t->seconds >= 0 ? "" : "?", t->seconds, t->strict ? ", --strict" : "");
    fputs(html_style_find("report.js"), out);
    fputs("</script>\n</body></html>\n", out);
}

static enum err html_end(void *state, FILE *out, const struct finding_tally *t,
                         struct errinfo *e)
{
    struct html_state *s = state;
    if (s->count)
        qsort(s->cases, s->count, sizeof *s->cases, case_compare);
    put_head(out, t);
    fputs("<header><h1>", out);
    summary_sentence(out, t);
    fputs("</h1>\n", out);
    summary_explain(out, t, s->sides);
    summary_causes(out, s->causes);
    summary_counts(out, t);
    summary_sides(out, s->sides, s->options);
    TRY(summary_environment(out, s->sides, e));
    fputs("</header>\n<main>\n", out);
    put_filter(out);
    put_table(out, s, t);
    fputs("</main>\n", out);
    put_foot(out, t);
    return ERR_OK;
}

static void html_release(void *state)
{
    struct html_state *s = state;
    for (size_t i = 0; i < s->count; i++)
        html_case_release(&s->cases[i]);
    free(s->cases);
}

const struct reporter reporter_html = {
    .name = "html",
    .extension = ".html",
    .summary = "one page for the browser, with plots",
    .charts = true,
    .state_size = sizeof(struct html_state),
    .begin = html_begin,
    .finding = html_finding,
    .end = html_end,
    .release = html_release,
};
