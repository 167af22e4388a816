/* SPDX-License-Identifier: Apache-2.0 */
#include "exprmutant.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exprnode.h"

/* --- the list --------------------------------------------------------------------------------
 */

struct list {
    const struct expr *x;
    const char *const *name;
    const struct tensor *const *tensor;
    const int64_t *range;
    int n_result, count;
    struct expr_mutant *m;
};

static struct expr_mutant *add(struct list *l, enum cause cause, int node,
                               enum expr_change change, int axis, int64_t by,
                               const char *format, ...) __attribute__((format(printf, 7, 8)));

static struct expr_mutant *add(struct list *l, enum cause cause, int node,
                               enum expr_change change, int axis, int64_t by,
                               const char *format, ...)
{
    if (l->count == EXPR_MUTANTS_MAX)
        return NULL;
    struct expr_mutant *m = &l->m[l->count++];
    *m = (struct expr_mutant){
        .cause = cause, .node = node, .change = (int)change, .axis = axis, .by = by};
    memcpy(m->slots, l->x->node[node].slots, sizeof m->slots);
    va_list ap;
    va_start(ap, format);
    vsnprintf(m->words, sizeof m->words, format, ap);
    va_end(ap);
    return m;
}

static bool is_operand(const struct expr_node *n)
{
    return n->op == EXPR_ELEMENT || n->op == EXPR_TENSOR;
}

static bool is_run(const struct expr_node *n)
{
    return n->op == EXPR_SUM || n->op == EXPR_MEAN || n->op == EXPR_LOWEST ||
           n->op == EXPR_HIGHEST;
}

static const char *run_name(const struct expr_node *n)
{
    return n->op == EXPR_SUM      ? "sum"
           : n->op == EXPR_MEAN   ? "mean"
           : n->op == EXPR_LOWEST ? "min"
                                  : "max";
}

/* Terms that are lost, or too many. */
static void run_mutants(struct list *l, int at)
{
    const struct expr_node *n = &l->x->node[at];
    const char *name = run_name(n), *k = l->x->index[n->slot];
    int64_t range = l->range[n->slot];
    for (int64_t by = 2; by <= 1024; by *= 2) {
        if (range % by && range > by)
            add(l, CAUSE_LOCALISED, at, EXPR_ENDS, 0, range / by * by,
                "the %s over %s cut to a multiple of %lld, %lld of %lld terms", name, k,
                (long long)by, (long long)(range / by * by), (long long)range);
        if (range > by)
            add(l, CAUSE_LOCALISED, at, EXPR_HALVED, 0, by,
                "the %s over %s without the upper half of each %lld terms", name, k,
                (long long)(2 * by));
    }
    for (int64_t by = 2; by < range; by *= 2)
        add(l, by == 256 || by > 1024 ? CAUSE_OVERFLOW : CAUSE_LOCALISED, at, EXPR_ENDS, 0, by,
            "the %s over %s has its first %lld of %lld terms only", name, k, (long long)by,
            (long long)range);
    if (range > 1) {
        add(l, CAUSE_LOCALISED, at, EXPR_ENDS, 0, range - 1,
            "the %s over %s lacks its last term", name, k);
        add(l, CAUSE_LOCALISED, at, EXPR_BEGINS, 0, 1, "the %s over %s lacks its first term",
            name, k);
    }
    add(l, CAUSE_LOCALISED, at, EXPR_ENDS, 0, range + 1, "the %s over %s has a term too many",
        name, k);
    for (int64_t by = 4; by <= 256; by *= 2)
        if (range % by)
            add(l, CAUSE_LOCALISED, at, EXPR_ENDS, 0, (range + by - 1) / by * by,
                "the %s over %s runs on to a multiple of %lld: %lld terms instead of %lld",
                name, k, (long long)by, (long long)((range + by - 1) / by * by),
                (long long)range);
}

static void slots_words(const struct list *l, const struct expr_node *n, const int8_t *slots,
                        char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s[", l->name[n->name]);
    for (int a = 0; a < n->n_slot && used < size; a++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", a ? "," : "",
                                 l->x->index[slots[a]]);
    if (used < size)
        snprintf(text + used, size - used, "]");
}

/* Other indices of the same range: those of the result, and those that stand here. */
static void slot_mutants(struct list *l, int at)
{
    const struct expr_node *n = &l->x->node[at];
    int8_t slots[TENSOR_RANK_MAX];
    int64_t all = 1;
    if (n->op != EXPR_ELEMENT || n->n_slot > 3)
        return;
    for (int a = 0; a < n->n_slot; a++)
        all *= l->n_result + n->n_slot;
    for (int64_t c = 0; c < all && c < 512; c++) {
        int64_t rest = c;
        bool fits = true;
        memcpy(slots, n->slots, sizeof slots);
        for (int a = 0; a < n->n_slot; a++) {
            int pick = (int)(rest % (l->n_result + n->n_slot));
            rest /= l->n_result + n->n_slot;
            slots[a] = (int8_t)(pick < l->n_result ? pick : n->slots[pick - l->n_result]);
            fits &= l->range[slots[a]] == l->range[n->slots[a]];
            for (int earlier = 0; earlier < n->n_slot && pick >= l->n_result; earlier++)
                fits &=
                    n->slots[pick - l->n_result] >= l->n_result; /* the others came already */
        }
        if (!fits || !memcmp(slots, n->slots, (size_t)n->n_slot))
            continue;
        char was[64], is[64];
        slots_words(l, n, n->slots, was, sizeof was);
        slots_words(l, n, slots, is, sizeof is);
        struct expr_mutant *m = add(l, CAUSE_MASK, at, EXPR_AS_WRITTEN, 0, 0,
                                    "%.50s in the place of %.50s", is, was);
        if (m)
            memcpy(m->slots, slots, sizeof slots);
    }
}

static void place_mutants(struct list *l, int at)
{
    const struct expr_node *n = &l->x->node[at];
    const struct tensor *t = l->tensor[n->name];
    const char *name = l->name[n->name];
    if (t->count < 2)
        return;
    for (int a = 0; a + 1 < t->rank; a++)
        if (t->dim[a] > 1 && t->dim[a + 1] > 1)
            add(l, CAUSE_MASK, at, EXPR_TRANSPOSED, a, 0,
                "%s read as if its dimensions %d and %d were exchanged", name, a, a + 1);
    for (int a = t->rank - 1; a >= 0; a--)
        for (int by = -2; by <= 2; by++)
            if (by && t->dim[a] > 2)
                add(l, CAUSE_MASK, at, EXPR_MOVED, a, by, "%s read %d %s in dimension %d", name,
                    abs(by), by > 0 ? "further on" : "before", a);
    for (int64_t by = 2; by < t->count; by *= 2)
        for (int a = -1; a < t->rank; a++) {
            if (a >= 0 && by >= t->dim[a])
                continue;
            bool lost = by > 1024 || (by == 256 && a >= 0 && a < t->rank - 1);
            add(l, lost ? CAUSE_OVERFLOW : CAUSE_LOCALISED, at, EXPR_WRAPPED, a, by,
                a < 0 ? "%s read at the element's index modulo %lld"
                      : "%s read at its index modulo %lld in dimension %d",
                name, (long long)by, a);
        }
}

static void absent_mutants(struct list *l, int at)
{
    const char *name = l->name[l->x->node[at].name];
    if (l->x->node[at].op == EXPR_TENSOR && l->tensor[l->x->node[at].name]->count == 1)
        return;
    add(l, CAUSE_MASK, at, EXPR_CONSTANT, 0, 1, "%s left out: 1 in its place", name);
    add(l, CAUSE_MASK, at, EXPR_CONSTANT, 0, 0, "%s left out: 0 in its place", name);
}

int expr_mutants(const struct expr *x, const char *const *name,
                 const struct tensor *const *tensor, const int64_t *range, int n_result,
                 struct expr_mutant *ret_mutant)
{
    struct list l = {x, name, tensor, range, n_result, 0, ret_mutant};
    for (int i = 0; i < x->count; i++)
        if (is_run(&x->node[i]))
            run_mutants(&l, i);
    for (int i = 0; i < x->count; i++)
        if (is_operand(&x->node[i]))
            slot_mutants(&l, i);
    for (int i = 0; i < x->count; i++)
        if (is_operand(&x->node[i]))
            absent_mutants(&l, i);
    for (int i = 0; i < x->count; i++)
        if (is_operand(&x->node[i]))
            place_mutants(&l, i);
    return l.count;
}

/* --- a copy ----------------------------------------------------------------------------------
 */

/* Which indices each value changes with, now that operands stand elsewhere. */
static void depends_again(struct expr *x)
{
    for (int i = 0; i < x->count; i++) {
        struct expr_node *n = &x->node[i];
        if (n->op == EXPR_ELEMENT) {
            n->depends = 0;
            for (int a = 0; a < n->n_slot; a++)
                n->depends |= 1u << n->slots[a];
        }
        if (n->op < EXPR_NEGATE)
            continue;
        n->depends = 0;
        for (int a = 0; a < 3; a++)
            n->depends |= x->node[n->arg[a]].depends;
        if (is_run(n))
            n->depends &= ~(1u << n->slot);
    }
}

enum err expr_mutate(const struct expr *x, const struct expr_mutant *m, struct expr *ret_copy,
                     struct errinfo *e)
{
    struct expr copy = *x;
    copy.node = malloc((size_t)x->count * sizeof *copy.node);
    if (!copy.node)
        return err_set(e, ERR_NOMEM, "out of memory");
    memcpy(copy.node, x->node, (size_t)x->count * sizeof *copy.node);
    struct expr_node *n = &copy.node[m->node];
    n->change = (enum expr_change)m->change;
    n->axis = m->axis;
    n->by = m->by;
    memcpy(n->slots, m->slots, sizeof n->slots);
    depends_again(&copy);
    *ret_copy = copy;
    return ERR_OK;
}
