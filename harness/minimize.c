/* SPDX-License-Identifier: Apache-2.0 */
#include "minimize.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "likeness.h"

enum { RUNS_MAX = 600, VALUES_MAX = 8192, SIMPLIFY_MAX = 64 };

void minimize_release(struct minimize *m)
{
    for (int i = 0; i < CASE_TENSOR_MAX; i++)
        tensor_release(&m->input[i]);
    worker_result_release(&m->result[0]);
    worker_result_release(&m->result[1]);
    finding_release(&m->finding);
    trial_codes_release(&m->codes);
    memset(m, 0, sizeof *m);
}

/* --- one attempt -----------------------------------------------------------------------------
 */

static enum err run_pair(struct minimize *m, const struct case_id *id,
                         const struct tensor *const *input, struct worker_result result[2],
                         struct finding *ret_finding, struct errinfo *e)
{
    struct compare_side side[2];
    for (int s = 0; s < 2; s++) {
        struct trial t = m->trial;
        t.device = &m->device[s];
        t.codes = &m->codes;
        t.input = input;
        TRY(trial_run(&t, id, &result[s], e));
        side[s] =
            (struct compare_side){m->name[s], &result[s].c, result[s].n_out, result[s].out};
    }
    m->runs++;
    return compare_memory(id, &side[0], &side[1], input, m->threads, ret_finding, e);
}

/* Where do these results part? NOWHERE if that cannot be told. */
static enum diverge_kind operation_of(struct minimize *m, const struct case_id *id,
                                      const struct tensor *const *input,
                                      struct worker_result result[2], struct finding *f)
{
    struct explain *x = calloc(1, sizeof *x);
    struct explain_place p = {0};
    struct errinfo e;
    enum diverge_kind kind = DIVERGE_NOWHERE;
    if (!x)
        return kind;
    x->id = id;
    x->device = m->device;
    x->trial = m->trial;
    x->trial.input = input;
    x->codes = m->codes;
    x->finding = *f;
    for (int s = 0; s < 2; s++)
        x->side[s].base = result[s];
    if (!explain_place(x, &p, &e) && p.found)
        kind = p.diverge.kind;
    m->codes = x->codes;
    explain_place_release(&p);
    free(x); /* the rest is borrowed */
    return kind;
}

static bool both_right(const struct finding *f)
{
    return f->verdict == VERDICT_EQUIVALENT || f->verdict == VERDICT_DISTINGUISHABLE;
}

static bool shows_the_same(struct minimize *m, const struct case_id *id,
                           const struct tensor *const *input, struct worker_result result[2],
                           struct finding *f)
{
    if (m->keep == MINIMIZE_FINDING)
        return likeness_same(f, &m->finding);
    return both_right(f) && (m->keep == MINIMIZE_BITS ||
                             operation_of(m, id, input, result, f) == m->operation);
}

/* Takes the attempt over if it shows the same. Errors of a shape that does not go together are
 * no errors here. */
static bool attempt(struct minimize *m, const struct case_id *id,
                    const struct tensor *const *input)
{
    struct worker_result result[2] = {0};
    struct finding f = {0};
    struct case_plan plan;
    struct errinfo e;
    if (m->runs >= m->limit || id->family->plan(id, &plan, &e))
        return false;
    bool good = !run_pair(m, id, input, result, &f, &e) &&
                shows_the_same(m, id, input, result, &f);
    struct worker_result *drop = good ? m->result : result;
    worker_result_release(&drop[0]);
    worker_result_release(&drop[1]);
    finding_release(good ? &m->finding : &f);
    if (good) {
        m->id = *id;
        m->plan = plan;
        m->finding = f;
        memcpy(m->result, result, sizeof result);
    }
    return good;
}

/* --- shape -----------------------------------------------------------------------------------
 */

static bool attempt_value(struct minimize *m, int row, int64_t value)
{
    struct case_id id = m->id;
    id.value[row].i = value;
    return attempt(m, &id, NULL);
}

/* The smallest value between which and the present one a bisection finds nothing. */
static bool shrink_parameter(struct minimize *m, int row)
{
    const struct param *p = &m->id.family->params[row];
    int64_t low = (int64_t)p->minimum, high = m->id.value[row].i, start = high;
    if (p->kind != PARAM_INT || low >= high)
        return false;
    if (attempt_value(m, row, low))
        return true;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (attempt_value(m, row, middle))
            high = middle;
        else
            low = middle;
    }
    return high != start;
}

static void shrink_shape(struct minimize *m)
{
    int n = family_param_count(m->id.family);
    for (bool again = true; again;) {
        again = false;
        for (int row = 0; row < n; row++)
            again |= shrink_parameter(m, row);
    }
}

static void simplify_distribution(struct minimize *m)
{
    static const enum dist simple[] = {DIST_ONEHOT, DIST_INTEGER, DIST_POSITIVE, DIST_UNIFORM,
                                       DIST_NORMAL};
    for (size_t i = 0; i < sizeof simple / sizeof *simple && simple[i] != m->id.dist; i++) {
        struct case_id id = m->id;
        id.dist = simple[i];
        if (attempt(m, &id, NULL))
            return;
    }
}

/* Numbers that are no sizes become one, or at least end after two bits of fraction. */
static void simplify_reals(struct minimize *m)
{
    for (int row = 0; row < family_param_count(m->id.family); row++) {
        const struct param *p = &m->id.family->params[row];
        double old = m->id.value[row].r, short_one = (double)(float)ldexp(rint(ldexp(old, 2)), -2);
        const double tried[] = {1, short_one};
        for (int i = 0; i < 2 && p->kind == PARAM_REAL && old != 1; i++) {
            struct case_id id = m->id;
            id.value[row].r = tried[i];
            if (tried[i] != old && tried[i] >= p->minimum && tried[i] <= p->maximum &&
                attempt(m, &id, NULL))
                break;
        }
    }
}

/* --- values ----------------------------------------------------------------------------------
 */

static bool attempt_inputs(struct minimize *m)
{
    const struct tensor *input[CASE_TENSOR_MAX] = {NULL};
    for (int i = 0; i < m->plan.n_tensor; i++)
        if (m->input[i].data)
            input[i] = &m->input[i];
    struct case_id id = m->id;
    bool good = attempt(m, &id, input);
    m->changed_values |= good;
    return good;
}

/* Puts `bits` (the same for all) from `from` on; puts the old ones back if that shows something
 * else. */
static bool attempt_bits(struct minimize *m, int which, int64_t from, int64_t n, uint64_t bits)
{
    struct tensor *t = &m->input[which];
    uint64_t old[VALUES_MAX], any = 0;
    for (int64_t i = 0; i < n; i++) {
        old[i] = tensor_bits(t, from + i);
        any |= old[i] ^ bits;
        tensor_set_bits(t, from + i, bits);
    }
    if (!any || attempt_inputs(m))
        return any != 0;
    for (int64_t i = 0; i < n; i++)
        tensor_set_bits(t, from + i, old[i]);
    return false;
}

/* Zeros, in pieces of half the tensor, then a quarter, down to single elements. */
static void zero_values(struct minimize *m, int which)
{
    int64_t count = m->input[which].count;
    for (int64_t piece = count; piece >= 1; piece = piece == 1 ? 0 : (piece + 1) / 2)
        for (int64_t at = 0; at < count && m->runs < m->limit; at += piece)
            attempt_bits(m, which, at, at + piece < count ? piece : count - at, 0);
}

/* One, or else a value with two bits of fraction. */
static void round_value(struct minimize *m, int which, int64_t i)
{
    struct tensor *t = &m->input[which];
    const struct dtype_info *d = dtype_info(t->dtype);
    if (attempt_bits(m, which, i, 1, dtype_round(t->dtype, 1.0)) || d->fraction < 3)
        return;
    uint64_t low = (UINT64_C(1) << (d->fraction - 2)) - 1;
    attempt_bits(m, which, i, 1, tensor_bits(t, i) & ~low);
}

static int64_t count_nonzero(const struct tensor *t)
{
    int64_t n = 0;
    for (int64_t i = 0; i < t->count; i++)
        n += tensor_bits(t, i) != 0;
    return n;
}

static void simplify_values(struct minimize *m)
{
    for (int i = 0; i < m->plan.n_tensor; i++)
        if (m->input[i].data && m->input[i].count <= VALUES_MAX)
            zero_values(m, i);
    for (int i = 0; i < m->plan.n_tensor; i++) {
        struct tensor *t = &m->input[i];
        if (!t->data || dtype_info(t->dtype)->kind != DTYPE_KIND_FLOAT ||
            count_nonzero(t) > SIMPLIFY_MAX)
            continue;
        for (int64_t k = 0; k < t->count; k++)
            if (tensor_bits(t, k))
                round_value(m, i, k);
    }
}

/* --- the whole -------------------------------------------------------------------------------
 */

static int64_t count_elements(const struct case_plan *plan)
{
    int64_t all = 0;
    for (int i = 0; i < plan->n_tensor; i++) {
        int64_t n = 1;
        for (int d = 0; d < plan->tensor[i].rank; d++)
            n *= plan->tensor[i].dim[d];
        all += n;
    }
    return all;
}

static enum err make_inputs(struct minimize *m, struct errinfo *e)
{
    for (int i = 0; i < m->plan.n_tensor; i++)
        if (m->plan.tensor[i].role != TENSOR_OUT)
            TRY(case_input(&m->id, &m->plan, i, &m->input[i], e));
    return ERR_OK;
}

/* From here on few elements are enough. */
static void leave_distribution(struct minimize *m)
{
    const struct cause_claim *c = finding_cause(&m->finding);
    bool simulated = m->device[0].kind == DEVICE_CHOICE_SIMULATED &&
                     m->device[1].kind == DEVICE_CHOICE_SIMULATED;
    snprintf(m->many.id, sizeof m->many.id, "%s", m->finding.id);
    snprintf(m->many.reason, sizeof m->many.reason, "%s", m->finding.reason);
    m->many.verdict = m->finding.verdict;
    if (c)
        snprintf(m->many.cause, sizeof m->many.cause, "%s: %s", cause_name(c->cause),
                 c->evidence);
    if (simulated)
        m->operation = operation_of(m, &m->id, NULL, m->result, &m->finding);
    bool told = m->operation != DIVERGE_NOWHERE && m->operation != DIVERGE_MEMORY &&
                m->operation != DIVERGE_UNKNOWN;
    m->keep = told ? MINIMIZE_OPERATION : MINIMIZE_BITS;
}

enum err minimize_search(struct minimize *m, struct errinfo *e)
{
    for (int s = 0; s < 2; s++)
        device_print(&m->device[s], m->name[s]);
    m->limit = m->limit ? m->limit : RUNS_MAX;
    TRY(m->id.family->plan(&m->id, &m->plan, e));
    TRY(run_pair(m, &m->id, NULL, m->result, &m->finding, e));
    m->start_elements = m->elements = count_elements(&m->plan);
    if (m->finding.verdict == VERDICT_SAME || m->finding.verdict == VERDICT_UNTESTED ||
        m->finding.a.status == RECORD_BUILD_FAILED || m->finding.b.status == RECORD_BUILD_FAILED)
        return ERR_OK;
    shrink_shape(m);
    if (m->finding.verdict == VERDICT_DISTINGUISHABLE) {
        leave_distribution(m);
        shrink_shape(m);
    }
    simplify_distribution(m);
    simplify_reals(m);
    TRY(make_inputs(m, e));
    simplify_values(m);
    m->elements = count_elements(&m->plan);
    for (int i = 0; i < m->plan.n_tensor; i++)
        m->nonzero += m->input[i].data ? count_nonzero(&m->input[i]) : 0;
    return ERR_OK;
}
