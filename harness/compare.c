/* SPDX-License-Identifier: Apache-2.0 */
#include "compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer.h"
#include "casefile.h"
#include "child.h"
#include "compareexplain.h"
#include "compareout.h"
#include "comparepass.h"
#include "poison.h"
#include "select.h"
#include "verdict.h"

/* One comparison under way. */
struct job {
    const struct compare_run *a, *b;
    const struct compare_options *options;
    struct finding_sides sides;
    int threads;
    struct casefiles files; /* owned: those that ids name */
    const struct tensor *const *input; /* by plan tensor, instead of what the id makes; NULL */
};

/* One case of it: everything owned here is released by case_release. */
struct unit {
    struct case_id id;
    struct case_plan plan;
    struct inputs inputs;
    struct answer_side a, b; /* b is unused when one-sided */
    struct record_out out_a[RECORD_OUT_MAX], out_b[RECORD_OUT_MAX];
};

static void unit_release(struct unit *u)
{
    inputs_release(&u->inputs);
    free(u);
}

/* --- what must agree before numbers can be compared ------------------------------------------
 */

/* A case file may have changed since, or between two records. */
static enum err check_casefile(const struct job *j, const struct unit *u,
                               const struct finding *f, struct errinfo *e)
{
    const struct casefile *file = u->id.family->file;
    if (!file)
        return ERR_OK;
    if (j->b && strcmp(f->a.case_digest, f->b.case_digest))
        return err_set(e, ERR_FORMAT,
                       "%s and %s were made with different versions of %.200s (%.8s, %.8s): run "
                       "both again with one version",
                       j->a->path, j->b->path, file->path, f->a.case_digest, f->b.case_digest);
    if (strcmp(file->digest, f->a.case_digest))
        return err_set(e, ERR_FORMAT,
                       "%.200s (%.8s) has changed since %s was made (%.8s): run it again, or take "
                       "the file back",
                       file->path, file->digest, j->a->path[0] ? j->a->path : "the record",
                       f->a.case_digest);
    return ERR_OK;
}

static enum err check_inputs(const struct job *j, const struct unit *u, const struct finding *f,
                             struct errinfo *e)
{
    if (j->b && strcmp(f->a.input_digest, f->b.input_digest))
        return err_set(
            e, ERR_FORMAT,
            "inputs of %s differ between %s (%.8s) and %s (%.8s): the records were made "
            "by different versions; run both again with one version",
            f->id, j->a->path, f->a.input_digest, j->b->path, f->b.input_digest);
    char digest[33];
    TRY(case_input_digest(&u->id, &u->plan, digest, e));
    if (strcmp(digest, f->a.input_digest))
        return err_set(
            e, ERR_FORMAT,
            "%s: the inputs of %s (%.8s) are not those its id stands for (%.8s): the "
            "record is damaged or of another version",
            j->a->path, f->id, f->a.input_digest, digest);
    return ERR_OK;
}

/* --- one output ------------------------------------------------------------------------------
 */

static bool look_bits(void *context, int64_t index, uint64_t *ret_a, uint64_t *ret_b)
{
    struct answers *x = context;
    if (answers_load(x, (struct case_span){index, index + 1}, NULL))
        return false;
    *ret_a = tensor_bits(answers_a(x), index);
    if (answers_b(x))
        *ret_b = tensor_bits(answers_b(x), index);
    return true;
}

static enum err show_element(struct answers *x, int64_t index, struct finding_element *ret,
                             struct errinfo *e)
{
    if (index >= 0)
        TRY(answers_load(x, (struct case_span){index, index + 1}, e));
    compareout_element(ret, answers_a(x), answers_b(x), &x->right, index);
    return ERR_OK;
}

static enum err judge_output(const struct job *j, struct answers *x, struct finding *f,
                             struct finding_out *o, struct errinfo *e)
{
    int64_t worst, first;
    struct comparepass pass = {
        .limits = j->options->limits,
        .charts = j->options->charts,
        .poison = poison_sign(x->want->dtype, f->a.unwritten + f->b.unwritten)};
    enum err err = comparepass_run(&pass, x, o, e);
    if (!err) {
        compareout_places(&o->stats, !answers_b(x), &worst, &first);
        err = show_element(x, worst, &o->worst, e);
    }
    if (!err)
        err = show_element(x, first, &o->first, e);
    if (!err) {
        verdict_output(f, o);
        err = compareexplain_output(x, &pass, f, o, e);
    }
    if (!err && j->options->known) {
        const struct known_look look = {look_bits, x};
        known_output(j->options->known, &j->sides, f, &look, o);
    }
    if (!err && pass.gap.cell)
        compareout_limits(pass.limits, &pass.gap, o);
    comparepass_release(&pass);
    return err;
}

static enum err compare_output(const struct job *j, struct unit *u, int which,
                               struct finding *f, struct errinfo *e)
{
    const struct case_tensor *want = &u->plan.tensor[which];
    struct finding_out *o = &f->out[f->n_out];
    struct answers x;
    TRY(answers_open(&x, &u->id, f->id, &u->plan, which, j->threads, &u->inputs, &u->a,
                     j->b ? &u->b : NULL, e));
    f->n_out++;
    snprintf(o->name, sizeof o->name, "%s", want->name);
    o->dtype = want->dtype;
    o->rank = want->rank;
    memcpy(o->dim, want->dim, sizeof o->dim);
    snprintf(o->limit, sizeof o->limit, "%s", want->limit ? want->limit->reason : "");
    enum err err = judge_output(j, &x, f, o, e);
    answers_close(&x);
    return err;
}

/* --- one case --------------------------------------------------------------------------------
 */

static void write_reproduction(const struct job *j, struct finding *f)
{
    if (j->b)
        snprintf(f->reproduce, sizeof f->reproduce, "gpuparity check '%s' --on %s,%s", f->id,
                 j->sides.a.device, j->sides.b.device);
    else
        snprintf(f->reproduce, sizeof f->reproduce, "gpuparity verify '%s' --on %s", f->id,
                 j->sides.a.device);
    int repeats = f->a.repeats > f->b.repeats ? f->a.repeats : f->b.repeats;
    size_t used = strlen(f->reproduce);
    if (f->a.unstable || f->b.unstable || f->a.stale || f->b.stale)
        snprintf(f->reproduce + used, sizeof f->reproduce - used, " --repeat %d", repeats);
}

static enum err compare_outputs(const struct job *j, struct unit *u, struct finding *f,
                                struct errinfo *e)
{
    TRY(u->id.family->plan(&u->id, &u->plan, e));
    if (!j->input)
        TRY(check_inputs(j, u, f, e));
    TRY(inputs_open(&u->inputs, &u->id, &u->plan, j->input, e));
    f->unordered = u->id.variant->unordered;
    f->out = calloc((size_t)u->plan.n_tensor + 1, sizeof *f->out);
    if (!f->out)
        return err_set(e, ERR_NOMEM, "out of memory while comparing %s", f->id);
    for (int i = 0; i < u->plan.n_tensor; i++)
        if (u->plan.tensor[i].role != TENSOR_IN && !u->plan.tensor[i].reference)
            TRY(compare_output(j, u, i, f, e));
    return ERR_OK;
}

static enum err side_list(const struct compare_run *run, int64_t at,
                          struct record_out out[RECORD_OUT_MAX], struct answer_side *ret_side,
                          struct errinfo *e)
{
    struct answer_side side = {
        .path = run->path, .out = out, .record = run->record, .run = run->run, .at = at};
    TRY(record_list_outs(run->record, run->run, at, &side.n_out, out, e));
    *ret_side = side;
    return ERR_OK;
}

static enum err compare_tensors(struct job *j, struct unit *u, int64_t at_a, int64_t at_b,
                                struct finding *f, struct errinfo *e)
{
    enum err err = casefiles_parse_id(&j->files, f->id, &u->id, e);
    if (err)
        return err_context(e, ERR_FORMAT, "%s: case %.200s%s", j->a->path, f->id,
                           casefile_path_length(f->id) ? ": its case file must be where this "
                                                         "command runs"
                                                       : "");
    TRY(check_casefile(j, u, f, e));
    TRY(side_list(j->a, at_a, u->out_a, &u->a, e));
    if (j->b)
        TRY(side_list(j->b, at_b, u->out_b, &u->b, e));
    return compare_outputs(j, u, f, e);
}

static enum err compare_case(struct job *j, int64_t at_a, int64_t at_b, struct finding *f,
                             struct errinfo *e)
{
    TRY(record_read_case(j->a->record, j->a->run, at_a, &f->a, e));
    if (j->b)
        TRY(record_read_case(j->b->record, j->b->run, at_b, &f->b, e));
    f->one_sided = !j->b;
    snprintf(f->id, sizeof f->id, "%s", f->a.id);
    write_reproduction(j, f);
    if (f->a.status == RECORD_OK && (!j->b || f->b.status == RECORD_OK)) {
        struct unit *u = calloc(1, sizeof *u);
        if (!u)
            return err_set(e, ERR_NOMEM, "out of memory while comparing %s", f->id);
        enum err err = compare_tensors(j, u, at_a, at_b, f, e);
        unit_release(u);
        if (err)
            return err;
    }
    verdict_case(f);
    return ERR_OK;
}

static enum err borrow_and_compare(const struct job *j, const struct case_id *id,
                                   const struct compare_side *a, const struct compare_side *b,
                                   struct finding *f, struct errinfo *e)
{
    struct unit *u = calloc(1, sizeof *u);
    if (!u)
        return err_set(e, ERR_NOMEM, "out of memory while comparing %s", f->id);
    u->id = *id;
    u->a = (struct answer_side){.path = j->a->path, .out = a->out, .n_out = a->n_out};
    if (b)
        u->b = (struct answer_side){.path = j->b->path, .out = b->out, .n_out = b->n_out};
    enum err err = compare_outputs(j, u, f, e);
    unit_release(u);
    return err;
}

enum err compare_memory(const struct case_id *id, const struct compare_side *a,
                        const struct compare_side *b, const struct tensor *const *input,
                        int threads, struct finding *ret_finding, struct errinfo *e)
{
    const struct compare_options options = {.threads = threads};
    const struct compare_run run_a = {.path = a->device}, run_b = {.path = b ? b->device : ""};
    struct job j = {.a = &run_a,
                    .b = b ? &run_b : NULL,
                    .options = &options,
                    .threads = threads,
                    .input = input};
    struct finding f = {.one_sided = !b, .a = *a->c};
    if (b)
        f.b = *b->c;
    snprintf(j.sides.a.device, sizeof j.sides.a.device, "%s", a->device);
    snprintf(j.sides.b.device, sizeof j.sides.b.device, "%s", b ? b->device : "");
    caseid_print(id, f.id);
    write_reproduction(&j, &f);
    enum err err = ERR_OK;
    if (f.a.status == RECORD_OK && (!b || f.b.status == RECORD_OK))
        err = borrow_and_compare(&j, id, a, b, &f, e);
    if (err) {
        finding_release(&f);
        return err;
    }
    verdict_case(&f);
    *ret_finding = f;
    return ERR_OK;
}

/* --- the whole -------------------------------------------------------------------------------
 */

/* Refuses a pair of runs in which a case has no twin, unless only the common ones are wanted.
 */
static enum err check_twins(const struct compare_run *x, const struct compare_run *y,
                            const struct compare_options *o, struct errinfo *e)
{
    int64_t count = record_case_count(x->record, x->run), missing = 0;
    struct record_case c;
    char first[sizeof c.id] = "";
    for (int64_t i = 0; i < count; i++) {
        TRY(record_read_case(x->record, x->run, i, &c, e));
        if (!select_takes(o->select, c.id) || record_find_case(y->record, y->run, c.id) >= 0)
            continue;
        if (!missing++)
            snprintf(first, sizeof first, "%s", c.id);
    }
    if (missing)
        return err_set(e, ERR_FORMAT,
                       "%s lacks %" PRId64 " of the %" PRId64
                       " cases of %s, the first is %.200s; "
                       "--common compares the rest",
                       y->path, missing, count, x->path, first);
    return ERR_OK;
}

void compare_sides(const struct compare_run *a, const struct compare_run *b,
                   struct finding_sides *ret_sides)
{
    memset(ret_sides, 0, sizeof *ret_sides);
    ret_sides->one_sided = !b;
    ret_sides->a = *record_run_at(a->record, a->run);
    snprintf(ret_sides->file_a, sizeof ret_sides->file_a, "%s", a->path);
    if (!b)
        return;
    ret_sides->b = *record_run_at(b->record, b->run);
    snprintf(ret_sides->file_b, sizeof ret_sides->file_b, "%s", b->path);
}

static enum err compare_all(struct job *j, compare_sink *sink, void *context,
                            struct finding_tally *tally, struct errinfo *e)
{
    const char *only = j->options->only;
    int64_t at = only ? record_find_case(j->a->record, j->a->run, only) : 0;
    int64_t count = record_case_count(j->a->record, j->a->run);
    if (at < 0)
        return err_set(e, ERR_FORMAT, "%s has no case %.300s", j->a->path, only);
    for (int64_t i = at; i < (only ? at + 1 : count); i++) {
        int64_t at_b = -1;
        struct record_case c;
        TRY(record_read_case(j->a->record, j->a->run, i, &c, e));
        if (!select_takes(j->options->select, c.id))
            continue;
        if (j->b) {
            at_b = record_find_case(j->b->record, j->b->run, c.id);
            if (at_b < 0)
                continue;
        }
        struct finding f = {.number = tally->count};
        enum err err = compare_case(j, i, at_b, &f, e);
        if (!err) {
            finding_tally_add(tally, &f);
            err = sink(context, &f, e);
        }
        finding_release(&f);
        if (err)
            return err;
    }
    if (!tally->count && j->options->select && count)
        return err_set(e, ERR_USAGE, "--case %.300s takes none of the cases of %s",
                       j->options->select, j->a->path);
    if (!tally->count)
        return err_set(e, ERR_FORMAT, "%s has no cases to compare", j->a->path);
    return ERR_OK;
}

enum err compare_runs(const struct compare_run *a, const struct compare_run *b,
                      const struct compare_options *o, compare_sink *sink, void *context,
                      struct finding_tally *ret_tally, struct errinfo *e)
{
    double start = child_clock();
    if (b && !o->common) {
        TRY(check_twins(a, b, o, e));
        TRY(check_twins(b, a, o, e));
    }
    struct job j = {.a = a, .b = b, .options = o, .threads = o->threads};
    if (!j.threads)
        j.threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
    compare_sides(a, b, &j.sides);
    struct finding_tally tally = {.strict = o->strict};
    enum err err = compare_all(&j, sink, context, &tally, e);
    casefiles_release(&j.files);
    if (err)
        return err;
    tally.seconds = child_clock() - start;
    *ret_tally = tally;
    return ERR_OK;
}
