/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "quote.h"

/* JUnit XML in the form that Jenkins' strict junit-10.xsd and the readers of GitHub and GitLab
 * share: properties belong to the suite, a case's own data to its system-out. The suite's head
 * carries counts, so the cases wait in memory. */

struct junit_state {
    const struct report_options *options;
    const struct finding_sides *sides;
    FILE *cases;
    char *text; /* owned by `cases` until it is closed */
    size_t size;
    int64_t count, failures, errors, skipped;
    double seconds;
};

static enum err junit_begin(void *state, FILE *out, const struct report_options *o,
                            const struct finding_sides *sides, struct errinfo *e)
{
    (void)out;
    struct junit_state *s = state;
    s->options = o;
    s->sides = sides;
    s->cases = open_memstream(&s->text, &s->size);
    return s->cases ? ERR_OK : err_set(e, ERR_NOMEM, "out of memory for the JUnit report");
}

static void put_attribute(FILE *out, const char *name, const char *value)
{
    fprintf(out, " %s=\"", name);
    quote_markup(out, value);
    fputc('"', out);
}

/* Records may hold anything; the schema wants a plain decimal. */
static double seconds_clean(double x)
{
    return x >= 0 && x < 1e9 ? x : 0;
}

/* "gemm/tiled:m=1" -> gemm.tiled, by which CI systems group. */
static void put_classname(FILE *out, const char *id)
{
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(id, ":"), id);
    for (char *p = name; *p; p++)
        if (*p == '/')
            *p = '.';
    put_attribute(out, "classname", name);
}

static void put_line(FILE *out, const char *head, const char *text)
{
    if (!text[0])
        return;
    fputs(head, out);
    quote_markup(out, text);
    fputc('\n', out);
}

static void put_element(FILE *out, const struct finding_out *o, bool one_sided)
{
    char a[QUOTE_BITS_MAX], b[QUOTE_BITS_MAX], bound[QUOTE_NUMBER_MAX];
    const struct finding_element *x = &o->worst;
    if (!x->shown)
        return;
    quote_bits(a, o->dtype, x->a);
    quote_bits(b, o->dtype, x->b);
    quote_number(bound, x->bound);
    fprintf(out, "  worst element %" PRId64 ": A %s (%.17g)", x->index, a, x->value_a);
    if (!one_sided)
        fprintf(out, ", B %s (%.17g)", b, x->value_b);
    if (o->stats.has_reference)
        fprintf(out, ", right %.17g, bound %s", x->value, bound);
    fputc('\n', out);
}

static void put_body(FILE *out, const struct finding *f)
{
    put_line(out, "", f->reason);
    put_line(out, "again: ", f->reproduce);
    for (int i = 0; i < f->n_out; i++) {
        const struct finding_out *o = &f->out[i];
        put_line(out, "output ", o->name);
        fprintf(out, "  %s %s: ", dtype_info(o->dtype)->name, verdict_name(o->verdict));
        quote_markup(out, o->reason);
        fputc('\n', out);
        put_element(out, o, f->one_sided);
        for (int k = 0; k < o->n_claim; k++) {
            fprintf(out, "  cause (%c): %s: ", o->claim[k].side, cause_name(o->claim[k].cause));
            put_line(out, "", o->claim[k].evidence[0] ? o->claim[k].evidence : "-");
        }
    }
}

static void put_result(FILE *out, const char *element, const struct finding *f)
{
    fprintf(out, "      <%s", element);
    put_attribute(out, "type", verdict_name(f->verdict));
    put_attribute(out, "message", f->reason);
    fputc('>', out);
    put_body(out, f);
    fprintf(out, "</%s>\n", element);
}

static void put_side(FILE *out, char side, const struct record_case *c)
{
    fprintf(out, "%c: ", side);
    quote_markup(out, record_status_name(c->status));
    if (c->compiler[0]) {
        fputs(", ", out);
        quote_markup(out, c->compiler);
        fputc(' ', out);
        quote_markup(out, c->options);
    }
    fputc('\n', out);
    put_line(out, "   source ", c->source_digest);
    put_line(out, "   inputs ", c->input_digest);
    put_line(out, "   code   ", c->code_digest);
    put_line(out, "   modelled: ", c->marks);
}

static void put_system_out(FILE *out, const struct finding *f)
{
    fputs("      <system-out>", out);
    fprintf(out, "%s: ", verdict_name(f->verdict));
    put_line(out, "", f->reason);
    put_side(out, 'A', &f->a);
    if (!f->one_sided)
        put_side(out, 'B', &f->b);
    fputs("</system-out>\n", out);
}

static enum err junit_finding(void *state, FILE *out, const struct finding *f,
                              struct errinfo *e)
{
    (void)out;
    struct junit_state *s = state;
    double seconds = seconds_clean(f->a.seconds) + seconds_clean(f->b.seconds);
    s->seconds += seconds;
    s->count++;
    fputs("    <testcase", s->cases);
    put_attribute(s->cases, "name", f->id);
    put_classname(s->cases, f->id);
    fprintf(s->cases, " time=\"%.3f\">\n", seconds);
    if (f->verdict == VERDICT_UNTESTED) {
        s->skipped++;
        put_result(s->cases, "skipped", f);
    } else if (f->verdict == VERDICT_BROKEN) {
        s->errors++;
        put_result(s->cases, "error", f);
    } else if (verdict_fails(f->verdict, s->options->strict)) {
        s->failures++;
        put_result(s->cases, "failure", f);
    }
    put_system_out(s->cases, f);
    fputs("    </testcase>\n", s->cases);
    return ferror(s->cases) ? err_set(e, ERR_NOMEM, "out of memory for the JUnit report")
                            : ERR_OK;
}

static void put_property(FILE *out, const char *prefix, const char *name, const char *value)
{
    char full[96];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    fputs("      <property", out);
    put_attribute(out, "name", full);
    put_attribute(out, "value", value);
    fputs("/>\n", out);
}

static void put_run(FILE *out, const char *prefix, const struct record_run *r, const char *file)
{
    put_property(out, prefix, "device", r->device);
    put_property(out, prefix, "simulated", r->simulated ? "true" : "false");
    put_property(out, prefix, "name", r->name);
    put_property(out, prefix, "arch", r->arch);
    put_property(out, prefix, "driver", r->driver);
    put_property(out, prefix, "runtime", r->runtime);
    put_property(out, prefix, "host", r->host);
    put_property(out, prefix, "created", r->created);
    put_property(out, prefix, "file", file);
    for (int i = 0; i < r->n_env; i++) {
        char name[96];
        snprintf(name, sizeof name, "%senv.", prefix);
        put_property(out, name, r->env[i].name, r->env[i].value);
    }
}

static void put_properties(FILE *out, const struct junit_state *s)
{
    fputs("    <properties>\n", out);
    put_property(out, "", "gpuparity", GPUPARITY_VERSION);
    put_property(out, "", "strict", s->options->strict ? "true" : "false");
    put_run(out, "a.", &s->sides->a, s->sides->file_a);
    if (!s->sides->one_sided)
        put_run(out, "b.", &s->sides->b, s->sides->file_b);
    for (int i = 0; i < s->options->n_tag; i++) {
        const char *tag = s->options->tag[i], *equals = strchr(tag, '=');
        char key[REPORT_TAG_MAX + 1];
        snprintf(key, sizeof key, "%.*s", (int)(equals - tag), tag);
        put_property(out, "tag.", key, equals + 1);
    }
    fputs("    </properties>\n", out);
}

static void put_counts(FILE *out, const struct junit_state *s)
{
    fprintf(out,
            " tests=\"%" PRId64 "\" failures=\"%" PRId64 "\" errors=\"%" PRId64
            "\" time=\"%.3f\"",
            s->count, s->failures, s->errors, s->seconds);
}

static void put_head(FILE *out, const struct junit_state *s)
{
    char name[128];
    snprintf(name, sizeof name, "gpuparity %s%s%s", s->sides->a.device,
             s->sides->one_sided ? "" : " against ",
             s->sides->one_sided ? "" : s->sides->b.device);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites", out);
    put_attribute(out, "name", "gpuparity");
    put_counts(out, s);
    fputs(">\n  <testsuite", out);
    put_attribute(out, "name", name);
    put_counts(out, s);
    fprintf(out, " skipped=\"%" PRId64 "\"", s->skipped);
    put_attribute(out, "timestamp", s->sides->a.created);
    put_attribute(out, "hostname", s->sides->a.host);
    fputs(">\n", out);
}

static enum err junit_end(void *state, FILE *out, const struct finding_tally *t,
                          struct errinfo *e)
{
    (void)t;
    struct junit_state *s = state;
    if (fflush(s->cases))
        return err_set(e, ERR_NOMEM, "out of memory for the JUnit report");
    put_head(out, s);
    put_properties(out, s);
    fwrite(s->text, 1, s->size, out);
    fputs("  </testsuite>\n</testsuites>\n", out);
    return ERR_OK;
}

static void junit_release(void *state)
{
    struct junit_state *s = state;
    if (s->cases)
        fclose(s->cases);
    free(s->text);
}

const struct reporter reporter_junit = {
    .name = "junit",
    .extension = ".xml",
    .summary = "JUnit XML for GitHub, GitLab and Jenkins",
    .state_size = sizeof(struct junit_state),
    .begin = junit_begin,
    .finding = junit_finding,
    .end = junit_end,
    .release = junit_release,
};
