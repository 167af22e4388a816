/* SPDX-License-Identifier: Apache-2.0 */
#include "casefile.h"
#include "codestore.h"
#include "command.h"
#include "digests.h"
#include "golden.h"
#include "judge.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static void print_tally(const struct golden_tally *t)
{
    printf("%d kept kernel files: %d fresh, %d stale, %d missing, %d damaged, %.1f KiB\n",
           t->files, t->fresh, t->stale, t->missing, t->damaged, (double)t->bytes / 1024);
}

static enum err golden_check(const struct backend *b, int *ret_exit, struct errinfo *e)
{
    struct golden_tally t;
    TRY(golden_code_check(stdout, b, &t, e));
    print_tally(&t);
    if (t.stale || t.missing || t.damaged) {
        printf("next: gpuparity golden code, on a machine with the compilers\n");
        *ret_exit = COMMAND_FAILS;
    }
    return ERR_OK;
}

static enum err golden_code(const struct options *o, const struct backend *b, int *ret_exit,
                            struct errinfo *e)
{
    struct golden_tally t;
    double seconds = o->timeout > 0 ? o->timeout : 300;
    TRY(golden_code_regenerate(stdout, b, o->force, seconds, &t, e));
    print_tally(&t);
    if (t.failed)
        *ret_exit = COMMAND_FAILS;
    return ERR_OK;
}

/* --- golden add ------------------------------------------------------------------------------
 */

struct addition {
    const struct options *options;
    const struct finding_sides *sides;
    const char *today;
    int count;
    struct known_entry entry[RECORD_OUT_MAX];
};

static enum err take_finding(void *context, const struct finding *f, struct errinfo *e)
{
    struct addition *d = context;
    struct errinfo first = {0};
    for (int i = 0; i < f->n_out && d->count < RECORD_OUT_MAX; i++) {
        struct known_entry *x = &d->entry[d->count];
        struct errinfo one;
        if (known_describe(d->sides, f, &f->out[i], x, &one)) {
            first = first.code ? first : one;
            continue;
        }
        snprintf(x->reason, sizeof x->reason, "%s", d->options->reason);
        snprintf(x->issue, sizeof x->issue, "%s", d->options->issue ? d->options->issue : "");
        snprintf(x->date, sizeof x->date, "%s", d->today);
        snprintf(x->expires, sizeof x->expires, "%s", d->options->expires);
        d->count++;
    }
    if (d->count)
        return ERR_OK;
    return err_set(e, ERR_USAGE, "%s", first.code ? first.text : f->reason);
}

static enum err add_check(const struct options *o, const char *today, struct errinfo *e)
{
    if (o->n_word != 3)
        return err_set(e, ERR_USAGE,
                       "golden add wants a record and a case: "
                       "gpuparity golden add REC.h5 CASE --reason TEXT "
                       "--expires DATE");
    if (!o->reason || !o->expires)
        return err_set(e, ERR_USAGE, "golden add wants --%s",
                       o->reason ? "expires DATE" : "reason TEXT");
    if (!known_text_valid(o->reason))
        return err_set(e, ERR_USAGE, "--reason wants one line of at most %d bytes",
                       KNOWN_TEXT_MAX - 1);
    if (o->issue && !known_text_valid(o->issue))
        return err_set(e, ERR_USAGE, "--issue wants one line of at most %d bytes",
                       KNOWN_TEXT_MAX - 1);
    if (!known_date_valid(o->expires) || strcmp(o->expires, today) < 0)
        return err_set(e, ERR_USAGE,
                       "--expires wants a day from today (%s) on, YYYY-MM-DD, not '%.60s'",
                       today, o->expires);
    if (o->known && !strcmp(o->known, "none"))
        return err_set(e, ERR_USAGE, "golden add writes to --known: it cannot be none");
    return ERR_OK;
}

static enum err canonical(const char *word, char *ret_text, struct errinfo *e)
{
    struct case_id id;
    struct casefiles files = {0};
    enum err err = casefiles_parse_id(&files, word, &id, e);
    if (!err)
        caseid_print(&id, ret_text);
    casefiles_release(&files);
    return err;
}

static enum err add_from(struct record *r, const struct options *o, const char *today,
                         struct errinfo *e)
{
    char text[CASEID_TEXT_MAX], path[PATH_MAX + 16];
    TRY(canonical(o->word[2], text, e));
    int runs = record_run_count(r);
    if (!runs)
        return err_set(e, ERR_FORMAT, "%s has no runs in it", o->word[1]);
    struct compare_run a = {r, 0, o->word[1]}, b = {r, 1, o->word[1]};
    struct finding_sides sides;
    struct finding_tally tally;
    compare_sides(&a, runs > 1 ? &b : NULL, &sides);
    struct addition d = {.options = o, .sides = &sides, .today = today};
    struct compare_options co = {.common = true, .only = text};
    TRY(compare_runs(&a, runs > 1 ? &b : NULL, &co, take_finding, &d, &tally, e));
    judge_known_path(o, path, sizeof path);
    TRY(known_append(path, today, d.count, d.entry, e));
    for (int i = 0; i < d.count; i++)
        printf("%s: %s of %s is %s until %s\n", path, d.entry[i].output, text,
               verdict_name(VERDICT_KNOWN), d.entry[i].expires);
    return ERR_OK;
}

static enum err golden_add(const struct options *o, struct errinfo *e)
{
    char today[KNOWN_DATE_MAX];
    known_today(today);
    TRY(add_check(o, today, e));
    struct record *r;
    TRY(record_open(o->word[1], &r, e));
    enum err err = add_from(r, o, today, e);
    record_close(r);
    return err;
}

/* --- accepted outputs ------------------------------------------------------------------------
 */

static void digests_path(const struct options *o, char *ret_path, size_t size)
{
    char folder[PATH_MAX];
    codestore_folder(folder, sizeof folder);
    if (o->digests)
        snprintf(ret_path, size, "%s", o->digests);
    else
        snprintf(ret_path, size, "%s/digests.txt", folder);
}

static void digests_print(const struct digests_tally *t, const char *path)
{
    printf("%" PRId64 " as accepted, %" PRId64 " changed, %" PRId64
           " changed with the compiler, %" PRId64 " the same with another compiler, %" PRId64
           " not in %s",
           t->same, t->changed, t->compiled, t->moved, t->unknown, path);
    if (t->skipped)
        printf(", %" PRId64 " without lasting results", t->skipped);
    putchar('\n');
}

static enum err check_runs(struct record *r, const struct digests *d, const struct options *o,
                           const char *path, int *ret_exit, struct errinfo *e)
{
    struct digests_tally t = {0};
    for (int i = 0; i < record_run_count(r); i++)
        TRY(digests_check(d, r, i, o->details ? o->details : 5, stdout, &t, e));
    digests_print(&t, path);
    if (t.changed || t.compiled) {
        printf("next: gpuparity verify %s says what the bits mean; gpuparity golden accept %s "
               "takes them\n",
               o->word[1], o->word[1]);
        *ret_exit = COMMAND_FAILS;
    } else if (!t.same && !t.moved) {
        *ret_exit = COMMAND_NOTHING;
    }
    return ERR_OK;
}

static enum err accept_runs(struct record *r, struct digests *d, const char *path,
                            struct errinfo *e)
{
    int64_t all = 0, one;
    for (int i = 0; i < record_run_count(r); i++) {
        TRY(digests_accept(d, r, i, &one, e));
        all += one;
    }
    TRY(digests_save(d, path, e));
    printf("%s: %" PRId64 " digests, %" PRId64 " of them new or changed\n", path, d->count, all);
    return ERR_OK;
}

static enum err golden_outputs(const struct options *o, bool accept, int *ret_exit,
                               struct errinfo *e)
{
    char path[PATH_MAX + 16];
    struct record *r = NULL;
    struct digests d = {0};
    digests_path(o, path, sizeof path);
    enum err err = record_open(o->word[1], &r, e);
    if (!err)
        err = digests_load(path, true, &d, e);
    if (!err)
        err = accept ? accept_runs(r, &d, path, e) : check_runs(r, &d, o, path, ret_exit, e);
    digests_release(&d);
    record_close(r);
    return err;
}

static enum err unknown_backend(const char *name, struct errinfo *e)
{
    const char *names[8];
    char list[64] = "", hint[NEAREST_HINT_MAX];
    int n = 0;
    for (; backends[n] && n < 8; n++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", n ? " or " : "", backends[n]->name);
        names[n] = backends[n]->name;
    }
    return err_set(e, ERR_USAGE, "--backend wants %s, not '%s'%s", list, name,
                   nearest_hint(name, names, n, hint));
}

enum err cmd_golden(const struct options *o, int *ret_exit, struct errinfo *e)
{
    static const char *const actions[] = {"code", "check", "accept", "add"};
    const struct backend *b = o->backend ? backend_find(o->backend) : NULL;
    char hint[NEAREST_HINT_MAX];
    if (o->backend && (!b || b == &backend_host))
        return unknown_backend(o->backend, e);
    if (o->n_word == 1 && !strcmp(o->word[0], "check"))
        return golden_check(b, ret_exit, e);
    if (o->n_word == 2 && !strcmp(o->word[0], "check"))
        return golden_outputs(o, false, ret_exit, e);
    if (o->n_word == 2 && !strcmp(o->word[0], "accept"))
        return golden_outputs(o, true, ret_exit, e);
    if (o->n_word == 1 && !strcmp(o->word[0], "code"))
        return golden_code(o, b, ret_exit, e);
    if (o->n_word && !strcmp(o->word[0], "add"))
        return golden_add(o, e);
    if (o->n_word == 1 && !strcmp(o->word[0], "accept"))
        return err_set(e, ERR_USAGE, "golden accept wants a record: golden accept REC.h5");
    const char *word = o->n_word ? o->word[0] : "nothing";
    return err_set(e, ERR_USAGE,
                   "golden wants code (compile), check (look only), check REC.h5 or accept REC.h5 "
                   "(outputs), or add REC.h5 CASE, not '%s'%s",
                   word, nearest_hint(word, actions, 4, hint));
}
