/* SPDX-License-Identifier: Apache-2.0 */
#include "judge.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "caseid.h"
#include "codestore.h"
#include "command.h"
#include "capturepair.h"
#include "plain.h"
#include "progress.h"
#include "quote.h"
#include "report.h"

enum { JUDGE_REPORTS_MAX = OPTIONS_TEXTS_MAX + 1, JUDGE_DETAILS = 5 };

struct sinks {
    int count;
    struct report *report[JUDGE_REPORTS_MAX];
    bool charts; /* one of them draws */
    struct progress progress;
    int64_t done, total; /* findings; total 0: not known */
};

static enum err sinks_finding(void *context, const struct finding *f, struct errinfo *e)
{
    struct sinks *s = context;
    for (int i = 0; i < s->count; i++)
        TRY(report_finding(s->report[i], f, e));
    progress_show(&s->progress, ++s->done, s->total, f->id);
    return ERR_OK;
}

static void sinks_close(struct sinks *s)
{
    for (int i = 0; i < s->count; i++)
        report_close(s->report[i]);
}

static enum err find_reporter(const char *format, const struct reporter **ret_reporter,
                              struct errinfo *e)
{
    *ret_reporter = reporter_find(format);
    if (*ret_reporter)
        return ERR_OK;
    char names[160] = "", hint[NEAREST_HINT_MAX];
    const char *list[JUDGE_REPORTS_MAX];
    int count = 0;
    for (int i = 0; reporters[i]; i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", reporters[i]->name);
        list[count++] = reporters[i]->name;
    }
    return err_set(e, ERR_USAGE, "unknown format '%s'%s%s valid: %s", format,
                   nearest_hint(format, list, count, hint), *hint ? "" : ";", names);
}

static enum err find_reporter_for(const char *path, const struct reporter **ret_reporter,
                                  struct errinfo *e)
{
    *ret_reporter = reporter_find_extension(path);
    if (*ret_reporter)
        return ERR_OK;
    char endings[160] = "";
    for (int i = 0; reporters[i]; i++) {
        size_t used = strlen(endings);
        snprintf(endings + used, sizeof endings - used, "%s%s", i ? " " : "",
                 reporters[i]->extension);
    }
    return err_set(e, ERR_USAGE, "--report %s: the ending says no format; valid: %s", path,
                   endings);
}

static enum err sinks_add(struct sinks *s, const struct reporter *r, const char *path,
                          const struct report_options *ro, const struct finding_sides *sides,
                          struct errinfo *e)
{
    TRY(report_open(r, path, ro, sides, &s->report[s->count], e));
    s->count++;
    s->charts |= r->charts;
    return ERR_OK;
}

static enum err sinks_open(struct sinks *s, const struct report_options *ro,
                           const struct finding_sides *sides, const struct options *o,
                           const char *format, const char *output, struct errinfo *e)
{
    const struct reporter *r;
    TRY(find_reporter(format, &r, e));
    TRY(sinks_add(s, r, output, ro, sides, e));
    for (int i = 0; i < o->reports.count; i++) {
        TRY(find_reporter_for(o->reports.item[i], &r, e));
        TRY(sinks_add(s, r, o->reports.item[i], ro, sides, e));
    }
    return ERR_OK;
}

static enum err check_tags(const struct options *o, struct errinfo *e)
{
    for (int i = 0; i < o->tag.count; i++) {
        const char *equals = strchr(o->tag.item[i], '=');
        if (!equals || equals == o->tag.item[i])
            return err_set(e, ERR_USAGE, "--tag wants KEY=VALUE, not '%s'", o->tag.item[i]);
    }
    return ERR_OK;
}

void judge_known_path(const struct options *o, char *ret_path, size_t size)
{
    char folder[PATH_MAX];
    if (o->known) {
        snprintf(ret_path, size, "%s", o->known);
        return;
    }
    codestore_folder(folder, sizeof folder);
    snprintf(ret_path, size, "%s/known.yaml", folder);
}

enum err judge_known(const struct options *o, struct known *ret_known, struct errinfo *e)
{
    char path[PATH_MAX + 16], today[KNOWN_DATE_MAX];
    memset(ret_known, 0, sizeof *ret_known);
    if (o->known && !strcmp(o->known, "none"))
        return ERR_OK;
    judge_known_path(o, path, sizeof path);
    known_today(today);
    return known_load(path, !o->known, today, ret_known, e);
}

enum err judge_check(const struct options *o, const char *format, struct errinfo *e)
{
    const struct reporter *r;
    TRY(find_reporter(format, &r, e));
    for (int i = 0; i < o->reports.count; i++)
        TRY(find_reporter_for(o->reports.item[i], &r, e));
    TRY(check_tags(o, e));
    struct known k;
    TRY(judge_known(o, &k, e));
    known_release(&k);
    return ERR_OK;
}

static struct report_options options_make(const struct options *o, const char *output)
{
    bool terminal = (!output || !strcmp(output, "-")) && isatty(STDOUT_FILENO);
    const char *no_colour = getenv("NO_COLOR");
    return (struct report_options){
        .program = "gpuparity",
        .details = o->details ? o->details : JUDGE_DETAILS,
        .colour = terminal && !(no_colour && *no_colour),
        .strict = o->strict,
        .quiet = o->quiet,
        .verbose = o->verbose,
        .n_tag = o->tag.count,
        .tag = o->tag.item,
    };
}

/* Compares and sends each finding to the sink; `charts`: somebody draws. */
typedef enum err compare_fn(void *context, bool charts, compare_sink *sink, void *sink_context,
                            struct finding_tally *ret_tally, struct errinfo *e);

static enum err judge_into(struct sinks *s, compare_fn *compare, void *context,
                           struct finding_tally *ret_tally, struct errinfo *e)
{
    enum err err = compare(context, s->charts, sinks_finding, s, ret_tally, e);
    progress_hide(&s->progress);
    if (err)
        return err;
    for (int i = 0; i < s->count; i++)
        TRY(report_finish(s->report[i], ret_tally, e));
    return ERR_OK;
}

/* `total`: how many findings there will be, 0: not known. */
static enum err judge_with(const struct options *o, const char *format, const char *output,
                           const struct finding_sides *sides, compare_fn *compare,
                           void *context, int64_t total, int *ret_exit, struct errinfo *e)
{
    struct report_options ro = options_make(o, output);
    struct sinks s = {.total = total};
    /* A report that goes to the terminal line by line is progress enough. */
    bool seen = (!output || !strcmp(output, "-")) && isatty(STDOUT_FILENO);
    progress_init(&s.progress, "judged", o->quiet || seen);
    struct finding_tally tally = {0};
    enum err err = sinks_open(&s, &ro, sides, o, format, output, e);
    if (!err)
        err = judge_into(&s, compare, context, &tally, e);
    sinks_close(&s);
    if (err)
        return err;
    if (tally.failing)
        *ret_exit = COMMAND_FAILS;
    else if (tally.count == tally.verdicts[VERDICT_UNTESTED])
        *ret_exit = COMMAND_NOTHING;
    return ERR_OK;
}

struct records {
    const struct compare_run *a, *b;
    const struct options *options;
    const struct limits *limits;
};

static enum err compare_records(void *context, bool charts, compare_sink *sink,
                                void *sink_context, struct finding_tally *ret_tally,
                                struct errinfo *e)
{
    const struct records *r = context;
    const struct options *o = r->options;
    struct known known;
    TRY(judge_known(o, &known, e));
    struct compare_options co = {.threads = o->threads,
                                 .common = o->common,
                                 .strict = o->strict,
                                 .charts = charts,
                                 .known = &known,
                                 .select = o->select,
                                 .limits = r->limits};
    enum err err = compare_runs(r->a, r->b, &co, sink, sink_context, ret_tally, e);
    known_release(&known);
    return err;
}

enum err judge_runs(const struct compare_run *a, const struct compare_run *b,
                    const struct options *o, const char *format, const char *output,
                    int *ret_exit, struct errinfo *e)
{
    struct finding_sides sides;
    struct limits limits;
    TRY(judge_check(o, format, e));
    TRY(limits_parse(o->limits.count, o->limits.item, &limits, e));
    if (o->maps.count)
        return err_set(e, ERR_USAGE,
                       "--map renames tensors of plain files; cases of records go by their ids");
    struct records r = {a, b, o, &limits};
    compare_sides(a, b, &sides);
    int64_t total = o->select || o->common ? 0 : record_case_count(a->record, a->run);
    return judge_with(o, format, output, &sides, compare_records, &r, total, ret_exit, e);
}

struct plain_work {
    struct plain plain;
    struct plain_options options;
};

static enum err compare_plain(void *context, bool charts, compare_sink *sink,
                              void *sink_context, struct finding_tally *ret_tally,
                              struct errinfo *e)
{
    const struct plain_work *w = context;
    struct plain_options options = w->options;
    options.charts = charts;
    return plain_run(&w->plain, &options, sink, sink_context, ret_tally, e);
}

/* The options that a finding depends on, for the line that shows it again. */
static void write_extra(const struct options *o, char *text, size_t size)
{
    size_t used = 0;
    *text = 0;
    for (int i = 0; i < o->limits.count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, " --limit %s", o->limits.item[i]);
    for (int i = 0; i < o->maps.count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, " --map '%s'", o->maps.item[i]);
}

enum { PROBLEMS_SHOWN = 20 };

static enum err refuse(const struct plain *p, struct errinfo *e)
{
    const char *text = p->problems.data;
    if (p->n_problem == 1)
        return err_set(e, ERR_FORMAT, "%s", text);
    for (int i = 0; i < p->n_problem && i < PROBLEMS_SHOWN; i++, text += strlen(text) + 1) {
        fputs("gpuparity compare: ", stderr);
        quote_line(stderr, text, "");
        fputc('\n', stderr);
    }
    return err_set(e, ERR_FORMAT,
                   "%d tensors cannot be compared%s; --case leaves tensors out, --map renames "
                   "them, --common skips those that are missing",
                   p->n_problem, p->n_problem > PROBLEMS_SHOWN ? " (20 are shown)" : "");
}

enum err judge_plain(const struct options *o, const char *format, const char *output,
                     int *ret_exit, struct errinfo *e)
{
    char extra[512];
    struct limits limits;
    struct plain_work w;
    struct finding_sides sides;
    TRY(judge_check(o, format, e));
    TRY(limits_parse(o->limits.count, o->limits.item, &limits, e));
    write_extra(o, extra, sizeof extra);
    w.options = (struct plain_options){.threads = o->threads,
                                       .common = o->common,
                                       .strict = o->strict,
                                       .select = o->select,
                                       .limits = &limits,
                                       .n_map = o->maps.count,
                                       .map = o->maps.item,
                                       .extra = extra};
    TRY(plain_open(o->word[0], o->word[1], &w.options, &w.plain, e));
    plain_sides(&w.plain, &sides);
    enum err err = w.plain.n_problem ? refuse(&w.plain, e)
                                     : judge_with(o, format, output, &sides, compare_plain, &w, 0,
                                                  ret_exit, e);
    plain_close(&w.plain);
    return err;
}

/* The runs a comparison is about: run 0 of each of two records, or both runs of one. */
static enum err compare_files(struct record *a, struct record *b, const struct options *o,
                              const char *format, const char *output, int *ret_exit,
                              struct errinfo *e)
{
    struct compare_run x = {a, 0, o->word[0]}, y = {b ? b : a, b ? 0 : 1, o->word[b ? 1 : 0]};
    if (!record_run_count(a) || (b && !record_run_count(b)))
        return err_set(e, ERR_FORMAT, "%s has no runs in it",
                       record_run_count(a) ? o->word[1] : o->word[0]);
    bool single = !b && record_run_count(a) < 2;
    return judge_runs(&x, single ? NULL : &y, o, format, output, ret_exit, e);
}

enum err judge_files(const struct options *o, const char *format, const char *output,
                     int *ret_exit, struct errinfo *e)
{
    struct record *a = NULL, *b = NULL;
    enum err err = record_open(o->word[0], &a, e);
    if (!err && o->n_word == 2)
        err = record_open(o->word[1], &b, e);
    if (!err)
        err = compare_files(a, b, o, format, output, ret_exit, e);
    record_close(a);
    record_close(b);
    return err;
}

struct captures {
    struct capture a, b;
    struct capturepair_options options;
};

static enum err compare_captures(void *context, bool charts, compare_sink *sink,
                                 void *sink_context, struct finding_tally *ret_tally,
                                 struct errinfo *e)
{
    const struct captures *c = context;
    struct capturepair_options options = c->options;
    options.charts = charts;
    return capturepair_run(&c->a, &c->b, &options, sink, sink_context, ret_tally, e);
}

enum err judge_captures(const struct options *o, const char *format, const char *output,
                        int *ret_exit, struct errinfo *e)
{
    struct finding_sides sides;
    struct captures c = {
        .options = {.threads = o->threads, .strict = o->strict, .select = o->select}};
    TRY(judge_check(o, format, e));
    if (o->limits.count || o->maps.count)
        return err_set(e, ERR_USAGE, "--%s is not for captures: operators are judged against "
                                     "float64, and matched by name and module",
                       o->limits.count ? "limit" : "map");
    TRY(capture_open(o->word[0], &c.a, e));
    enum err err = capture_open(o->word[1], &c.b, e);
    if (!err) {
        capturepair_sides(&c.a, &c.b, &sides);
        err = judge_with(o, format, output, &sides, compare_captures, &c, 0, ret_exit, e);
    }
    capture_close(&c.a);
    capture_close(&c.b);
    return err;
}
