/* SPDX-License-Identifier: Apache-2.0 */
#include "quote.h"
#include "report.h"
#include "report_text_case.h"
#include "report_text_plain.h"
#include "report_text_word.h"
#include "wrap.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The report a person reads on a terminal: who took part, a table of two lines a case, the
 * failing cases in full at the end, and one sentence of summary with the next step. */

enum { WIDTH = TEXT_CASE_WIDTH, INDENT_SIDE = 14 };

struct failing {
    char id[512], reason[768], reproduce[768];
    enum verdict verdict;
    bool has_cause;
    struct cause_claim cause;
};

struct text_state {
    const struct report_options *options;
    const struct finding_sides *sides; /* printed with the first finding: an error before it
                                          leaves nothing but its one line */
    bool one_sided, sides_printed, head_printed;
    struct failing *failing; /* owned; at most options->details */
    int n_failing;
    int64_t not_shown;
    char marks_a[512], marks_b[512];
    char first[512]; /* of a capture: the operator at which the sides part */
    int64_t causes[CAUSE_COUNT_]; /* primary causes of all cases that have one */
};

enum colour { COLOUR_GOOD = 32, COLOUR_NOTE = 33, COLOUR_BAD = 31, COLOUR_DIM = 2 };

static enum colour verdict_colour(enum verdict v)
{
    if (v == VERDICT_SAME || v == VERDICT_EQUIVALENT)
        return COLOUR_GOOD;
    return verdict_fails(v, false) ? COLOUR_BAD : COLOUR_NOTE;
}

static void print_coloured(FILE *out, bool colour, enum colour c, const char *format,
                           const char *s)
{
    if (colour)
        fprintf(out, "\033[%dm", (int)c);
    fprintf(out, format, s);
    if (colour)
        fputs("\033[0m", out);
}

static void print_device(FILE *out, char letter, const struct record_run *r, const char *file)
{
    char text[640];
    snprintf(text, sizeof text, "%s, %s%s", r->name, r->arch,
             r->simulated && !strstr(r->name, "simulated") ? " (simulated)" : "");
    fprintf(out, "%c = %-9s ", letter, r->device);
    wrap_print(out, text, INDENT_SIDE, INDENT_SIDE, WIDTH);
    snprintf(text, sizeof text, "%s%s%s%s%s%s", r->driver[0] ? "driver " : "", r->driver,
             r->driver[0] && r->runtime[0] ? ", " : "", r->runtime, file[0] ? ", from " : "",
             file);
    fprintf(out, "%*s", INDENT_SIDE, "");
    wrap_print(out, text, INDENT_SIDE, INDENT_SIDE, WIDTH);
}

static void print_head(FILE *out, const struct finding_sides *sides)
{
    if (sides->plain) {
        text_plain_head(out);
        return;
    }
    if (sides->one_sided) {
        fprintf(out,
                "\nerrors in ULP of the output's format against the unrounded reference;\n"
                "rounded: share of correctly rounded elements; bound: the share used\n\n"
                "%-15s %7s %9s %9s %9s %9s\n",
                "verdict", "rounded", "mean", "99.9%", "max", "bound");
        return;
    }
    fputs("\nULP of the output's format: A and B against the unrounded reference, A-B against"
          "\neach other; equal: share of elements with equal bits\n\n",
          out);
    fprintf(out, "%-15s %5s|%-17s|%-17s|%-17s\n%-15s %5s", "", "", "        A", "        B",
            "       A-B", "verdict", "equal");
    for (int i = 0; i < 3; i++)
        fprintf(out, "|%5s %5s %5s", "mean", "99.9%", "max");
    fputc('\n', out);
}

static void print_sides(struct text_state *s, FILE *out)
{
    if (s->sides_printed)
        return;
    s->sides_printed = true;
    void (*print)(FILE *, char, const struct record_run *, const char *) =
        s->sides->plain ? text_plain_side : print_device;
    print(out, 'A', &s->sides->a, s->sides->file_a);
    if (!s->one_sided)
        print(out, 'B', &s->sides->b, s->sides->file_b);
}

static enum err text_begin(void *state, FILE *out, const struct report_options *o,
                           const struct finding_sides *sides, struct errinfo *e)
{
    (void)out;
    struct text_state *s = state;
    s->options = o;
    s->one_sided = sides->one_sided;
    s->sides = sides;
    if (o->details > 0) {
        s->failing = calloc((size_t)o->details, sizeof *s->failing);
        if (!s->failing)
            return err_set(e, ERR_NOMEM, "out of memory for the report");
    }
    return ERR_OK;
}

/* One line that is to be copied: never wrapped. */
static void print_line(FILE *out, const char *head, const char *text)
{
    fputs(head, out);
    quote_line(out, text, "");
    fputc('\n', out);
}

static void remember(struct text_state *s, const struct finding *f)
{
    if (s->n_failing >= s->options->details) {
        s->not_shown++;
        return;
    }
    struct failing *x = &s->failing[s->n_failing++];
    x->verdict = f->verdict;
    snprintf(x->id, sizeof x->id, "%s", f->id);
    snprintf(x->reason, sizeof x->reason, "%s", f->reason);
    snprintf(x->reproduce, sizeof x->reproduce, "%s", f->reproduce);
    const struct cause_claim *c = finding_cause(f);
    x->has_cause = c != NULL;
    if (c)
        x->cause = *c;
}

static void remember_marks(struct text_state *s, const struct finding *f)
{
    if (!s->marks_a[0])
        snprintf(s->marks_a, sizeof s->marks_a, "%s", f->a.marks);
    if (!s->marks_b[0])
        snprintf(s->marks_b, sizeof s->marks_b, "%s", f->b.marks);
}

/* A step has thousands of operators: those that say nothing new are only counted. */
static bool is_silent(const struct text_state *s, const struct finding *f)
{
    bool plain = f->verdict == VERDICT_SAME || f->verdict == VERDICT_UNTESTED;
    return s->options->quiet || (s->sides->capture && plain && !s->options->verbose);
}

static bool is_worth_telling(const struct text_state *s, const struct finding *f)
{
    return f->verdict != VERDICT_SAME && f->verdict != VERDICT_EQUIVALENT &&
           f->verdict != VERDICT_WITHIN_LIMITS &&
           !(s->sides->capture && f->verdict == VERDICT_UNTESTED);
}

static enum err text_finding(void *state, FILE *out, const struct finding *f, struct errinfo *e)
{
    (void)e;
    struct text_state *s = state;
    print_sides(s, out);
    if (is_worth_telling(s, f))
        remember(s, f);
    if (!s->first[0] && f->verdict != VERDICT_SAME && f->verdict != VERDICT_UNTESTED)
        snprintf(s->first, sizeof s->first, "%s", f->id);
    remember_marks(s, f);
    const struct cause_claim *c = finding_cause(f);
    if (c)
        s->causes[c->cause]++;
    if (is_silent(s, f))
        return ERR_OK;
    if (!s->head_printed)
        print_head(out, s->sides);
    s->head_printed = true;
    if (s->sides->plain)
        text_plain_name(out, f);
    else
        print_line(out, "", f->id);
    print_coloured(out, s->options->colour, verdict_colour(f->verdict), "%-15s",
                   verdict_name(f->verdict));
    if (!f->n_out)
        wrap_print(out, f->reason, 15, 15, WIDTH);
    for (int i = 0; i < f->n_out; i++) {
        if (i)
            fprintf(out, "  %-13s", f->out[i].name);
        if (s->sides->plain)
            text_plain_row(out, &f->out[i]);
        else
            text_case_numbers(out, &f->out[i], s->one_sided);
        text_case_drift(out, &f->out[i], s->one_sided);
    }
    if (s->options->verbose)
        text_case_verbose(out, f);
    return ERR_OK;
}

static void print_failing(struct text_state *s, FILE *out)
{
    for (int i = 0; i < s->n_failing; i++) {
        const struct failing *x = &s->failing[i];
        fputc('\n', out);
        print_coloured(out, s->options->colour, verdict_colour(x->verdict), "%s",
                       verdict_name(x->verdict));
        print_line(out, "  ", x->id);
        fprintf(out, "  ");
        wrap_print(out, x->reason, 2, 2, WIDTH);
        if (x->has_cause)
            text_case_cause(out, &x->cause);
        print_line(out, "  again: ", x->reproduce);
    }
    if (s->not_shown)
        fprintf(out,
                "\n%" PRId64 " more such cases are not shown here (--details %" PRId64
                " shows all).\n",
                s->not_shown, s->not_shown + s->n_failing);
}

static void print_marks(const struct text_state *s, FILE *out)
{
    char text[600];
    for (int i = 0; i < 2; i++) {
        const char *marks = i ? s->marks_b : s->marks_a;
        snprintf(text, sizeof text, "%c went through modelled instructions: %s", i ? 'B' : 'A',
                 marks);
        if (marks[0])
            wrap_print(out, text, 0, 2, WIDTH);
    }
}

/* "60 SAME, 4 EQUIVALENT" */
static void print_counts(FILE *out, const struct finding_tally *t)
{
    bool first = true;
    for (int v = 0; v < VERDICT_COUNT_; v++) {
        if (!t->verdicts[v])
            continue;
        fprintf(out, "%s%" PRId64 " %s", first ? "" : ", ", t->verdicts[v],
                verdict_name((enum verdict)v));
        first = false;
    }
}

static void print_meanings(FILE *out, const struct finding_tally *t)
{
    for (int v = 0; v < VERDICT_COUNT_; v++)
        if (t->verdicts[v])
            fprintf(out, "  %-15s %s\n", verdict_name((enum verdict)v),
                    verdict_meaning((enum verdict)v));
}

/* "causes: contraction/FMA 4, reduction order 2" */
static void print_causes(const struct text_state *s, FILE *out)
{
    bool first = true;
    for (int c = 0; c < CAUSE_COUNT_; c++) {
        if (!s->causes[c])
            continue;
        fprintf(out, "%s%s %" PRId64, first ? "  causes          " : ", ",
                cause_name((enum cause)c), s->causes[c]);
        first = false;
    }
    if (!first)
        fputc('\n', out);
}

static void print_conclusion(const struct text_state *s, FILE *out,
                             const struct finding_tally *t)
{
    const char *who = s->one_sided ? "the device" : "the two sides";
    int64_t ran = t->count - t->verdicts[VERDICT_UNTESTED];
    if (t->failing)
        fprintf(out, "%" PRId64 " of %" PRId64 " case%s fail%s.\n", t->failing, t->count,
                t->count == 1 ? "" : "s", t->failing == 1 ? "s" : "");
    else if (!ran)
        fprintf(out, "Nothing could run here: gpuparity doctor says what is missing.\n");
    else if (s->one_sided)
        fprintf(out, "Every case that ran is right within its bound.\n");
    else if (t->verdicts[VERDICT_DISTINGUISHABLE])
        fprintf(out,
                "Nothing is wrong, but %s err differently in %" PRId64
                " cases: a confound for quantization work.\n",
                who, t->verdicts[VERDICT_DISTINGUISHABLE]);
    else if (t->verdicts[VERDICT_KNOWN])
        fprintf(out,
                "Nothing new is wrong; in %" PRId64
                " cases %s differ as golden/known.yaml says.\n",
                t->verdicts[VERDICT_KNOWN], who);
    else
        fprintf(out, "In every case that ran, %s compute the same thing.\n", who);
}

static enum err text_end(void *state, FILE *out, const struct finding_tally *t,
                         struct errinfo *e)
{
    (void)e;
    struct text_state *s = state;
    print_sides(s, out);
    print_failing(s, out);
    const char *unit = s->sides->plain ? "tensor" : s->sides->capture ? "operator" : "case";
    fprintf(out, "\n%" PRId64 " %s%s: ", t->count, unit, t->count == 1 ? "" : "s");
    print_counts(out, t);
    fprintf(out, "\n");
    print_meanings(out, t);
    print_causes(s, out);
    print_marks(s, out);
    if (s->sides->plain)
        text_plain_conclusion(out, t);
    else if (s->sides->capture)
        text_capture_conclusion(out, t, s->first);
    else
        print_conclusion(s, out, t);
    return ERR_OK;
}

static void text_release(void *state)
{
    struct text_state *s = state;
    free(s->failing);
}

extern const struct reporter reporter_text;
const struct reporter reporter_text = {
    .name = "text",
    .extension = ".txt",
    .summary = "tables and sentences for a terminal",
    .state_size = sizeof(struct text_state),
    .begin = text_begin,
    .finding = text_finding,
    .end = text_end,
    .release = text_release,
};
