/* SPDX-License-Identifier: Apache-2.0 */
#include "report_html_summary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "quote.h"
#include "report_html_word.h"

static int64_t agreeing(const struct finding_tally *t)
{
    return t->verdicts[VERDICT_SAME] + t->verdicts[VERDICT_EQUIVALENT] +
           t->verdicts[VERDICT_WITHIN_LIMITS];
}

/* What is accepted is no news; only the rest deserves a look. */
static void put_nothing_fails(FILE *out, const struct finding_tally *t, int64_t ran)
{
    int64_t known = t->verdicts[VERDICT_KNOWN], look = ran - agreeing(t) - known;
    int64_t n = look ? look : known;
    fputs("Nothing fails, ", out);
    html_count(out, n);
    fputs(" of ", out);
    html_count(out, ran);
    fprintf(out, " case%s %s.", ran == 1 ? "" : "s",
            look     ? n == 1 ? "deserves a look" : "deserve a look"
            : n == 1 ? "differs as known"
                     : "differ as known");
}

void summary_sentence(FILE *out, const struct finding_tally *t)
{
    const char *plural = t->count == 1 ? "" : "s";
    int64_t ran = t->count - t->verdicts[VERDICT_UNTESTED];
    if (!t->count) {
        fputs("No case was compared.", out);
    } else if (t->failing) {
        html_count(out, t->failing);
        fputs(" of ", out);
        html_count(out, t->count);
        fprintf(out, " case%s fail%s.", plural, t->failing == 1 ? "s" : "");
    } else if (!ran) {
        fputs("Nothing could run here.", out);
    } else if (agreeing(t) == ran) {
        fputs(ran == 1 ? "The one case agrees." : "All ", out);
        if (ran > 1) {
            html_count(out, ran);
            fputs(" cases that ran agree.", out);
        }
    } else {
        put_nothing_fails(out, t, ran);
    }
}

static void put_part(FILE *out, bool *any, int64_t n, const char *one, const char *many)
{
    if (!n)
        return;
    fputs(*any ? ", " : " ", out);
    *any = true;
    html_count(out, n);
    fputs(n == 1 ? one : many, out);
}

static void put_wrong(FILE *out, int64_t n, char side, const struct record_run *r)
{
    if (!n)
        return;
    html_side(out, side, r);
    fputs(" is outside its bounds in ", out);
    html_count(out, n);
    fprintf(out, " case%s. ", n == 1 ? "" : "s");
}

/* The counts that follow say the rest. */
void summary_explain(FILE *out, const struct finding_tally *t,
                     const struct finding_sides *sides)
{
    const int64_t *v = t->verdicts;
    int64_t both = v[VERDICT_BOTH_WRONG], confound = v[VERDICT_DISTINGUISHABLE];
    bool any = false;
    fputs("<p class=\"lead\">", out);
    put_wrong(out, v[VERDICT_A_WRONG] + both, 'A', &sides->a);
    put_wrong(out, v[VERDICT_B_WRONG] + both, 'B', &sides->b);
    if (agreeing(t)) {
        if (agreeing(t) < t->count - v[VERDICT_UNTESTED]) {
            html_count(out, agreeing(t));
            fputs(sides->one_sided ? " right:" : " agree:", out);
        }
        put_part(out, &any, v[VERDICT_SAME], " bit for bit", " bit for bit");
        put_part(out, &any, v[VERDICT_EQUIVALENT], " within its derived bounds",
                 " within their derived bounds");
        put_part(out, &any, v[VERDICT_WITHIN_LIMITS], " within your limits",
                 " within your limits");
        fputs(". ", out);
    }
    if (v[VERDICT_KNOWN]) {
        html_count(out, v[VERDICT_KNOWN]);
        fprintf(out, " differ%s exactly as the list of known differences says. ",
                v[VERDICT_KNOWN] == 1 ? "s" : "");
    }
    if (confound) {
        fputs("In ", out);
        html_count(out, confound);
        fputs(" both sides are right but err differently: a study that compares methods across "
              "these two devices would measure the devices too.",
              out);
    }
    fputs("</p>\n", out);
}

void summary_causes(FILE *out, const int64_t count[CAUSE_COUNT_])
{
    bool any = false;
    for (int c = 0; c < CAUSE_COUNT_; c++) {
        if (!count[c])
            continue;
        const char *name = cause_name((enum cause)c);
        fprintf(out, "%s<b>%s</b> ", any ? "; " : "<p>Causes: ", name);
        if (strcmp(name, cause_tier_name(cause_tier((enum cause)c))))
            fprintf(out, "(%s) ", cause_tier_name(cause_tier((enum cause)c)));
        fputs("in ", out);
        html_count(out, count[c]);
        any = true;
    }
    fputs(any ? ".</p>\n" : "", out);
}

void summary_counts(FILE *out, const struct finding_tally *t)
{
    fputs("<div class=\"bar\" aria-hidden=\"true\">", out);
    for (int v = VERDICT_COUNT_ - 1; v >= 0; v--)
        if (t->verdicts[v])
            fprintf(out, "<span class=\"%s\" style=\"flex-grow:%" PRId64 "\"></span>",
                    html_tone((enum verdict)v, t->strict), t->verdicts[v]);
    fputs("</div>\n<ul class=\"counts\">", out);
    for (int v = VERDICT_COUNT_ - 1; v >= 0; v--) {
        if (!t->verdicts[v])
            continue;
        fprintf(out, "<li><button type=\"button\" aria-pressed=\"false\" data-v=\"%s\"><b>",
                verdict_name((enum verdict)v));
        html_count(out, t->verdicts[v]);
        fputs("</b> ", out);
        html_verdict(out, (enum verdict)v, t->strict);
        fputs("<small>", out);
        quote_markup(out, verdict_meaning((enum verdict)v));
        fputs("</small></button></li>", out);
    }
    fputs("</ul>\n", out);
}

static void put_side_card(FILE *out, char side, const struct record_run *r, const char *file)
{
    fprintf(out, "<div class=\"card\"><h2><span class=\"key %c\"></span>%c ", side + 'a' - 'A',
            side);
    quote_markup(out, r->device);
    if (r->simulated)
        fputs(" <span class=\"tag\">simulated</span>", out);
    fputs("</h2><p>", out);
    quote_markup(out, r->name);
    fputs(r->name[0] && r->arch[0] ? ", " : "", out);
    quote_markup(out, r->arch);
    fputs("</p><p class=\"dim\">", out);
    const char *const parts[] = {r->driver, r->runtime, r->host, r->created, file};
    const char *const words[] = {"driver ", "runtime ", "", "", ""};
    bool any = false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i][0])
            continue;
        fputs(any ? " \u00b7 " : "", out);
        fputs(words[i], out);
        quote_markup(out, parts[i]);
        any = true;
    }
    fputs("</p></div>\n", out);
}

void summary_sides(FILE *out, const struct finding_sides *sides, const struct report_options *o)
{
    fputs("<div class=\"cards\">\n", out);
    put_side_card(out, 'A', &sides->a, sides->file_a);
    if (!sides->one_sided)
        put_side_card(out, 'B', &sides->b, sides->file_b);
    fputs("</div>\n", out);
    if (sides->a.simulated || (!sides->one_sided && sides->b.simulated))
        fputs(
            "<p class=\"note\"><span class=\"tag\">simulated</span> The vendor's compiled code "
            "was executed instruction by instruction on a CPU. That shows what the code and "
            "the "
            "documented arithmetic do, not what one particular card does.</p>\n",
            out);
    if (!o->n_tag)
        return;
    fputs("<p class=\"tags\">", out);
    for (int i = 0; i < o->n_tag; i++) {
        fputs("<span class=\"tag\">", out);
        quote_markup(out, o->tag[i]);
        fputs("</span> ", out);
    }
    fputs("</p>\n", out);
}

struct comparison {
    FILE *out;
    bool one_sided;
    int rows, differing;
};

static void put_row(struct comparison *c, const char *name, const char *a, const char *b)
{
    c->differing += html_compare_row(c->out, name, a, b, c->one_sided, false, &c->rows);
}

static const char *env_value(const struct record_run *r, const char *name)
{
    for (int i = 0; i < r->n_env; i++)
        if (!strcmp(r->env[i].name, name))
            return r->env[i].value[0] ? r->env[i].value : "(empty)";
    return "";
}

static void put_rows(struct comparison *c, const struct finding_sides *sides)
{
    static const struct record_run none = {0};
    const struct record_run *b = c->one_sided ? &none : &sides->b;
    for (const struct record_field *f = record_run_fields; f->name; f++) {
        char text_a[512], text_b[512] = "";
        record_field_print(f, &sides->a, text_a, sizeof text_a);
        if (!c->one_sided)
            record_field_print(f, b, text_b, sizeof text_b);
        put_row(c, f->name, text_a, text_b);
    }
    put_row(c, "file", sides->file_a, c->one_sided ? "" : sides->file_b);
    for (int i = 0; i < sides->a.n_env; i++)
        put_row(c, sides->a.env[i].name, env_value(&sides->a, sides->a.env[i].name),
                env_value(b, sides->a.env[i].name));
    for (int i = 0; i < b->n_env; i++)
        if (!env_value(&sides->a, b->env[i].name)[0])
            put_row(c, b->env[i].name, "", env_value(b, b->env[i].name));
}

enum err summary_environment(FILE *out, const struct finding_sides *sides, struct errinfo *e)
{
    char *text = NULL;
    size_t size = 0;
    struct comparison c = {open_memstream(&text, &size), sides->one_sided, 0, 0};
    if (!c.out)
        return err_set(e, ERR_NOMEM, "out of memory for the HTML report");
    put_rows(&c, sides);
    if (fclose(c.out)) {
        free(text);
        return err_set(e, ERR_NOMEM, "out of memory for the HTML report");
    }
    fputs("<details class=\"env\"><summary>Environment", out);
    if (!c.one_sided)
        fprintf(out, ": %d of %d rows differ", c.differing, c.rows);
    fputs("</summary><div class=\"scroll\"><table><thead><tr><th scope=\"col\">What</th>"
          "<th scope=\"col\">A</th>",
          out);
    if (!c.one_sided)
        fputs("<th scope=\"col\" class=\"s\"><span class=\"hide\">same</span></th>"
              "<th scope=\"col\">B</th>",
              out);
    fputs("</tr></thead><tbody>\n", out);
    fwrite(text, 1, size, out);
    fputs("</tbody></table></div></details>\n", out);
    free(text);
    return ERR_OK;
}
