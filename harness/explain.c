/* SPDX-License-Identifier: Apache-2.0 */
#include "explain.h"

#include <stdio.h>
#include <string.h>

enum { SET_TESTS = 16 };

void explain_sides(struct explain *x)
{
    x->best = -1;
    for (int s = 0; s < EXPLAIN_SIDES; s++) {
        device_print(&x->device[s], x->side[s].name);
        x->side[s].n_plain = lowering_list(x->id, &x->device[s], false, x->side[s].list);
        x->side[s].n = lowering_list(x->id, &x->device[s], true, x->side[s].list);
    }
}

void explain_release(struct explain *x)
{
    for (int s = 0; s < EXPLAIN_SIDES; s++)
        worker_result_release(&x->side[s].base);
    finding_release(&x->finding);
    trial_codes_release(&x->codes);
    memset(x, 0, sizeof *x);
}

static enum err run_side(struct explain *x, int side, uint32_t set,
                         struct worker_result *ret_result, bool *ret_possible,
                         struct errinfo *e)
{
    struct trial t = x->trial;
    struct case_id id = *x->id;
    t.device = &x->device[side];
    t.codes = &x->codes;
    *ret_possible = lowering_apply(x->side[side].list, x->side[side].n, set, &id, &t);
    if (!*ret_possible)
        return ERR_OK;
    x->runs++;
    return trial_run(&t, &id, ret_result, e);
}

/* A set of the first side's switches in the second's words; false where that lacks one. */
static bool translate(const struct explain *x, uint32_t set, uint32_t *ret_set)
{
    *ret_set = 0;
    for (int i = 0; i < x->side[0].n; i++) {
        int found = -1;
        for (int k = 0; k < x->side[1].n && set >> i & 1; k++)
            if (!strcmp(x->side[0].list[i].word, x->side[1].list[k].word))
                found = k;
        if (found >= 0)
            *ret_set |= UINT32_C(1) << found;
        else if (set >> i & 1)
            return false;
    }
    return true;
}

static bool same_bits(const struct tensor *a, const struct tensor *b, int64_t i)
{
    uint64_t x = tensor_bits(a, i), y = tensor_bits(b, i);
    return x == y || (dtype_is_nan(a->dtype, x) && dtype_is_nan(b->dtype, y));
}

/* Elements in which two results differ; all that one has and the other lacks. */
static int64_t count_differing(const struct worker_result *a, const struct worker_result *b)
{
    int64_t n = 0;
    for (int o = 0; o < a->n_out; o++) {
        const struct tensor *x = &a->out[o].tensor;
        const struct tensor *y = o < b->n_out ? &b->out[o].tensor : NULL;
        if (!y || y->count != x->count || y->dtype != x->dtype) {
            n += x->count;
            continue;
        }
        for (int64_t i = 0; i < x->count; i++)
            n += !same_bits(x, y, i);
    }
    return n;
}

static enum err judge(const struct explain *x, const struct worker_result *a,
                      const struct worker_result *b, struct finding *ret_finding,
                      struct errinfo *e)
{
    struct compare_side side_a = {x->side[0].name, &a->c, a->n_out, a->out};
    struct compare_side side_b = {x->side[1].name, &b->c, b->n_out, b->out};
    return compare_memory(x->id, &side_a, &side_b, NULL, x->threads, ret_finding, e);
}

enum err explain_change(struct explain *x, int side, uint32_t set, struct finding *ret_finding,
                        struct errinfo *e)
{
    struct worker_result r[EXPLAIN_SIDES] = {0};
    enum err err = ERR_OK;
    uint32_t of[EXPLAIN_SIDES] = {side == 1 ? 0 : set, side == 1 ? set : 0};
    if (side == EXPLAIN_SIDES && !translate(x, set, &of[1]))
        return err_set(e, ERR_USAGE, "%s has not all of these changes", x->side[1].name);
    for (int s = 0; s < EXPLAIN_SIDES && !err; s++) {
        bool possible;
        err = run_side(x, s, of[s], &r[s], &possible, e);
        if (!err && !possible)
            err = err_set(e, ERR_USAGE, "these changes contradict each other");
    }
    if (!err)
        err = judge(x, &r[0], &r[1], ret_finding, e);
    worker_result_release(&r[0]);
    worker_result_release(&r[1]);
    return err;
}

/* --- one trial -------------------------------------------------------------------------------
 */

static const struct explain_trial *trial_find(const struct explain *x, int side, uint32_t set)
{
    for (int i = 0; i < x->n_trial; i++)
        if (x->trial_of[i].side == side && x->trial_of[i].set == set)
            return &x->trial_of[i];
    return NULL;
}

static enum err trial_measure(struct explain *x, struct explain_trial *t,
                              const struct worker_result *changed, struct errinfo *e)
{
    const struct worker_result *base = &x->side[t->side].base;
    const struct worker_result *a = t->side ? &x->side[0].base : changed;
    const struct worker_result *b = t->side ? changed : &x->side[1].base;
    t->status = changed->c.status;
    snprintf(t->code, sizeof t->code, "%s", changed->c.code_digest);
    if (t->status) {
        snprintf(t->reason, sizeof t->reason, "%.599s", changed->c.reason);
        return ERR_OK;
    }
    t->inert = count_differing(base, changed) == 0;
    t->differing = count_differing(a, b);
    t->verdict = x->finding.verdict;
    if (t->inert || x->finding.verdict <= VERDICT_EQUIVALENT)
        return ERR_OK;
    struct finding f;
    TRY(judge(x, a, b, &f, e));
    t->verdict = f.verdict;
    finding_release(&f);
    return ERR_OK;
}

/* NULL in *ret_trial: the set contradicts itself, or there have been too many. */
static enum err trial_do(struct explain *x, int side, uint32_t set,
                         const struct explain_trial **ret_trial, struct errinfo *e)
{
    *ret_trial = trial_find(x, side, set);
    if (*ret_trial || x->n_trial == EXPLAIN_TRIALS_MAX)
        return ERR_OK;
    struct worker_result changed = {0};
    bool possible;
    TRY(run_side(x, side, set, &changed, &possible, e));
    if (!possible)
        return ERR_OK;
    struct explain_trial *t = &x->trial_of[x->n_trial];
    *t = (struct explain_trial){.side = side, .set = set};
    enum err err = trial_measure(x, t, &changed, e);
    worker_result_release(&changed);
    if (err)
        return err;
    x->n_trial++;
    *ret_trial = t;
    return ERR_OK;
}

/* --- the search ------------------------------------------------------------------------------
 */

enum goal { GOAL_EQUAL, GOAL_VERDICT };

static bool reaches(const struct explain *x, const struct explain_trial *t, enum goal goal)
{
    if (t->status)
        return false;
    return goal == GOAL_EQUAL ? t->differing == 0 : t->verdict < x->finding.verdict;
}

/* The switches of a side that alone change its bits. */
struct effective {
    struct explain *x;
    int side, n;
    int of[DELTA_SWITCHES_MAX];
    enum goal goal;
};

static enum err test_set(void *context, uint32_t set, enum delta_answer *ret_answer,
                         struct errinfo *e)
{
    struct effective *f = context;
    uint32_t whole = 0;
    const struct explain_trial *t;
    for (int i = 0; i < f->n; i++)
        if (set >> i & 1)
            whole |= UINT32_C(1) << f->of[i];
    TRY(trial_do(f->x, f->side, whole, &t, e));
    *ret_answer = !t || t->status             ? DELTA_UNKNOWN
                  : reaches(f->x, t, f->goal) ? DELTA_YES
                                              : DELTA_NO;
    return ERR_OK;
}

static enum err try_singles(struct explain *x, int side, int from, int to, struct errinfo *e)
{
    const struct explain_trial *t;
    for (int i = from; i < to; i++)
        TRY(trial_do(x, side, UINT32_C(1) << i, &t, e));
    return ERR_OK;
}

static int set_size(uint32_t set)
{
    return __builtin_popcount(set);
}

/* The switches of which the compiler makes the same code are one. */
static bool is_twin(const struct explain *x, int side, const struct effective *f, int i)
{
    const struct explain_trial *t = trial_find(x, side, UINT32_C(1) << i);
    for (int k = 0; k < f->n; k++) {
        const struct explain_trial *u = trial_find(x, side, UINT32_C(1) << f->of[k]);
        if (x->side[side].list[i].kind == LOWERING_MODE &&
            x->side[side].list[f->of[k]].kind == LOWERING_MODE && t->code[0] &&
            !strcmp(t->code, u->code))
            return true;
    }
    return false;
}

/* The smallest set on one side; takes its place as the best if it is smaller. */
static enum err search_side(struct explain *x, int side, enum goal goal, struct errinfo *e)
{
    struct effective f = {.x = x, .side = side, .goal = goal};
    for (int i = 0; i < x->side[side].n_plain; i++) {
        const struct explain_trial *t = trial_find(x, side, UINT32_C(1) << i);
        if (t && !t->status && !t->inert && !is_twin(x, side, &f, i))
            f.of[f.n++] = i;
    }
    uint32_t set = 0, whole = 0;
    if (f.n)
        TRY(delta_smallest(f.n, SET_TESTS, test_set, &f, &set, e));
    for (int i = 0; i < f.n; i++)
        if (set >> i & 1)
            whole |= UINT32_C(1) << f.of[i];
    const struct explain_trial *t = whole ? trial_find(x, side, whole) : NULL;
    if (t && (x->best < 0 || set_size(whole) < set_size(x->trial_of[x->best].set)))
        x->best = (int)(t - x->trial_of);
    return ERR_OK;
}

static enum err search_variants(struct explain *x, enum goal goal, struct errinfo *e)
{
    for (int s = EXPLAIN_SIDES - 1; s >= 0 && x->best < 0; s--)
        for (int i = x->side[s].n_plain; i < x->side[s].n && x->best < 0; i++) {
            const struct explain_trial *t;
            TRY(trial_do(x, s, UINT32_C(1) << i, &t, e));
            if (t && reaches(x, t, goal))
                x->best = (int)(t - x->trial_of);
        }
    return ERR_OK;
}

/* A switch that both sides have and that changes bits on one of them, thrown on both. */
static enum err search_both(struct explain *x, struct errinfo *e)
{
    for (int i = 0; i < x->side[0].n_plain && x->best < 0 && x->n_trial < EXPLAIN_TRIALS_MAX;
         i++) {
        uint32_t other;
        bool there = translate(x, UINT32_C(1) << i, &other);
        const struct explain_trial *a = trial_find(x, 0, UINT32_C(1) << i);
        const struct explain_trial *b = there ? trial_find(x, 1, other) : NULL;
        if (!a || !b || a->status || b->status || (a->inert && b->inert))
            continue;
        struct finding f;
        TRY(explain_change(x, EXPLAIN_SIDES, UINT32_C(1) << i, &f, e));
        if (f.verdict == VERDICT_SAME) {
            x->best = x->n_trial;
            x->end = EXPLAIN_BOTH;
            x->trial_of[x->n_trial++] = (struct explain_trial){
                .side = EXPLAIN_SIDES, .set = UINT32_C(1) << i, .verdict = f.verdict};
        }
        finding_release(&f);
    }
    return ERR_OK;
}

/* Options first, then another kernel. A change on the second side is preferred among equals:
 * that one is usually the port. */
static enum err search_goal(struct explain *x, enum goal goal, struct errinfo *e)
{
    for (int s = EXPLAIN_SIDES - 1; s >= 0; s--)
        TRY(search_side(x, s, goal, e));
    if (x->best < 0 && goal == GOAL_EQUAL)
        TRY(search_both(x, e));
    if (x->best < 0)
        TRY(search_variants(x, goal, e));
    if (x->best >= 0 && x->end != EXPLAIN_BOTH)
        x->end = goal == GOAL_EQUAL ? EXPLAIN_EQUAL : EXPLAIN_VERDICT;
    return ERR_OK;
}

/* Runs both sides as they are, twice: what differs from itself cannot be explained by switches.
 */
static enum err run_bases(struct explain *x, struct errinfo *e)
{
    for (int s = 0; s < EXPLAIN_SIDES; s++) {
        bool possible;
        TRY(run_side(x, s, 0, &x->side[s].base, &possible, e));
        if (x->side[s].base.c.status)
            continue;
        struct worker_result again = {0};
        TRY(run_side(x, s, 0, &again, &possible, e));
        int64_t n = again.c.status ? 0 : count_differing(&x->side[s].base, &again);
        worker_result_release(&again);
        if (n && !x->unstable_count) {
            x->unstable = s;
            x->unstable_count = n;
        }
    }
    return ERR_OK;
}

static enum explain_end start_end(const struct explain *x)
{
    if (x->side[0].base.c.status || x->side[1].base.c.status)
        return EXPLAIN_BROKEN;
    if (x->unstable_count)
        return EXPLAIN_UNSTABLE;
    return x->differing ? EXPLAIN_NOTHING : EXPLAIN_SAME;
}

enum err explain_search(struct explain *x, struct errinfo *e)
{
    explain_sides(x);
    TRY(run_bases(x, e));
    TRY(judge(x, &x->side[0].base, &x->side[1].base, &x->finding, e));
    for (int o = 0; o < x->side[0].base.n_out; o++)
        x->count += x->side[0].base.out[o].tensor.count;
    x->differing = count_differing(&x->side[0].base, &x->side[1].base);
    x->end = start_end(x);
    if (x->end != EXPLAIN_NOTHING)
        return ERR_OK;
    for (int s = 0; s < EXPLAIN_SIDES; s++)
        TRY(try_singles(x, s, 0, x->side[s].n_plain, e));
    TRY(search_goal(x, GOAL_EQUAL, e));
    if (x->best < 0 && x->finding.verdict > VERDICT_EQUIVALENT)
        TRY(search_goal(x, GOAL_VERDICT, e));
    return ERR_OK;
}
