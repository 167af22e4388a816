/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "poison.h"
#include "ulp.h"

static const struct tensor *find_out(const struct answer_side *side, const char *name)
{
    for (int i = 0; i < side->n_out; i++)
        if (!strcmp(side->out[i].name, name))
            return &side->out[i].tensor;
    return NULL;
}

static void shape_text(enum dtype d, int rank, const int64_t *dim, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s[", dtype_info(d)->name);
    for (int i = 0; i < rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, i ? "," : "", dim[i]);
    if (used < size)
        snprintf(text + used, size - used, "]");
}

/* The output of that name as the plan wants it. */
enum err answer_given(const struct answer_side *side, const char *id,
                      const struct case_tensor *want, const struct tensor **ret_tensor,
                      struct errinfo *e)
{
    const struct tensor *t = find_out(side, want->name);
    if (!t)
        return err_set(e, ERR_FORMAT, "%s: %s has no output '%s'", side->path, id, want->name);
    if (t->dtype != want->dtype || t->rank != want->rank ||
        memcmp(t->dim, want->dim, (size_t)t->rank * sizeof t->dim[0])) {
        char is[96], should[96];
        shape_text(t->dtype, t->rank, t->dim, is, sizeof is);
        shape_text(want->dtype, want->rank, want->dim, should, sizeof should);
        return err_set(e, ERR_FORMAT, "%s: output '%s' of %s is %s, must be %s", side->path,
                       want->name, id, is, should);
    }
    *ret_tensor = t;
    return ERR_OK;
}

/* How many elements are further apart than the limits allow; -1 without limits. */
int64_t answer_beyond(const struct tensor *a, const struct tensor *b, const struct case_limit *l)
{
    int64_t beyond = 0;
    for (int64_t i = 0; l && b && i < a->count; i++) {
        double x = tensor_value(a, i), y = tensor_value(b, i), size = fmax(fabs(x), fabs(y));
        if (isnan(x) || isnan(y) || isinf(size))
            beyond += !(isnan(x) && isnan(y)) && x != y;
        else
            beyond += fabs(x - y) > l->ulp * ulp_size(a->dtype, size) + l->abs + l->rel * size;
    }
    return l ? beyond : -1;
}

/* What the two sides' references differ by is an error of the reference. */
static void oracle_widen(struct oracle *o, const struct oracle *other)
{
    for (int64_t i = 0; i < o->count; i++) {
        double apart = fabs(o->value[i] - other->value[i]);
        if (isnan(o->value[i]) && isnan(other->value[i]))
            continue;
        if (o->value[i] == other->value[i])
            continue;
        o->error[i] += apart;
        o->bound[i] = isfinite(apart) ? o->bound[i] + apart : INFINITY;
    }
}

/* A reference that a kernel left unwritten judges nothing. */
static enum err written_check(const struct answer_side *side, const char *id,
                              const struct case_tensor *want, const struct tensor *t,
                              struct errinfo *e)
{
    int64_t unwritten = 0;
    for (int64_t i = 0; i < t->count && dtype_info(t->dtype)->bytes > 1; i++)
        unwritten += tensor_bits(t, i) == poison_bits(t->dtype);
    if (unwritten)
        return err_set(e, ERR_FORMAT,
                       "%s%s%.200s: the reference's kernel never wrote %" PRId64 " of %" PRId64
                       " elements of %s",
                       side->path, side->path[0] ? ": " : "", id, unwritten, t->count, want->name);
    return ERR_OK;
}

/* What that side's kernels made as reference goes among the inputs. */
static enum err references_take(const struct case_plan *p, const struct answer_side *side,
                                const char *id, const struct tensor **input, bool *ret_any,
                                struct errinfo *e)
{
    for (int i = 0; i < p->n_tensor; i++)
        if (p->tensor[i].reference) {
            *ret_any = true;
            TRY(answer_given(side, id, &p->tensor[i], &input[i], e));
            TRY(written_check(side, id, &p->tensor[i], input[i], e));
        }
    return ERR_OK;
}

enum err answer_right(const struct case_id *id, const char *text, const struct case_plan *plan,
                      const struct answer_side *a, const struct answer_side *b, int which,
                      int threads, const struct tensor **input, struct oracle *ret_oracle,
                      struct errinfo *e)
{
    const struct family *family = id->family;
    struct oracle other = {0};
    bool recorded = false;
    TRY(references_take(plan, a, text, input, &recorded, e));
    TRY(family->oracle(id, plan, input, which, threads, ret_oracle, e));
    if (!recorded || !b || !ret_oracle->value)
        return ERR_OK;
    TRY(references_take(plan, b, text, input, &recorded, e));
    TRY(family->oracle(id, plan, input, which, threads, &other, e));
    oracle_widen(ret_oracle, &other);
    oracle_release(&other);
    return ERR_OK;
}
