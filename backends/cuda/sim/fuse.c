/* SPDX-License-Identifier: Apache-2.0 */
#include "fuse.h"

#include <string.h>

/* The rule, as measured with ptxas 13.0 for sm_86 (default -fmad=true) on some forty probes, by
 * counting the fused instructions in its machine code, and on random programs, by executing it
 * (tests/test_cuda_sim_ptxas.c: 5986 of 6000 give the same bits):
 *
 * - only mul and add/sub without .rn, of one type, both with or both without .ftz, no .sat on
 * the product;
 * - every use of the product, also through mov and neg, is such an add or sub; then the product
 *   disappears, else it is left alone in all its uses;
 * - where both operands of an add are products, the one that is used once is fused, else the
 *   first; the other then counts as used otherwise;
 * - product and sum stand in one basic block; a fence ends it too, a barrier does not;
 * - f32, f64 and the f16 types alike; nothing at all in code compiled with -G.
 *
 * On top of the rule, a register that is written more than once must not change in between. */

struct use {
    uint32_t inst;
    uint8_t operand;
};

struct facts {
    const struct ptx_function *f;
    uint32_t *defs;     /* by register: how often written */
    uint32_t *last_def; /* by register: its only writer */
    uint32_t *first;    /* by register: start of its uses in `use`; n_reg + 1 entries */
    struct use *use;
    uint32_t *region;   /* by instruction: grows at barriers and at loops' ends */
    uint8_t *candidate; /* by instruction: a product that may be fused */
    struct fuse_step *step;
};

static bool plain_op(const struct ptx_inst *i, const char *op)
{
    return slice_is(i->op, op) && i->n_type == 1 && !inst_has(i, WORD_rn) &&
           !inst_has(i, WORD_rz) && !inst_has(i, WORD_rm) && !inst_has(i, WORD_rp) &&
           ptx_types[i->type[0]].kind == TYPE_KIND_FLOAT;
}

static bool is_product(const struct ptx_inst *i)
{
    return plain_op(i, "mul") && i->n_operand == 3 && !i->guarded && !inst_has(i, WORD_sat) &&
           i->operand[0].kind == OPERAND_REG;
}

static bool is_sum(const struct ptx_inst *i)
{
    return (plain_op(i, "add") || plain_op(i, "sub")) && i->n_operand == 3;
}

/* A negation or a copy. */
static bool is_passing(const struct ptx_inst *i)
{
    return (plain_op(i, "neg") || plain_op(i, "mov")) && i->n_operand == 2 && !i->guarded &&
           i->operand[0].kind == OPERAND_REG && i->operand[1].kind == OPERAND_REG;
}

static bool same_kind(const struct ptx_inst *a, const struct ptx_inst *b)
{
    return a->type[0] == b->type[0] && inst_has(a, WORD_ftz) == inst_has(b, WORD_ftz);
}

/* --- facts about the function ----------------------------------------------------------------
 */

typedef void reg_fn(struct facts *k, uint32_t inst, int operand, uint32_t reg, bool written);

/* Writes: what stands first, except in instructions that have no result. */
static bool writes_first(const struct ptx_inst *i)
{
    static const char *const none[] = {"st",   "red", "bra",     "brx",
                                       "call", "bar", "barrier", "ret"};
    for (size_t k = 0; k < sizeof none / sizeof *none; k++)
        if (slice_is(i->op, none[k]))
            return false;
    return true;
}

static void operand_visit(struct facts *k, uint32_t inst, int n, const struct ptx_operand *o,
                          bool written, reg_fn *f)
{
    if (o->kind == OPERAND_REG)
        f(k, inst, n, o->reg, written);
    for (uint32_t e = 0; e < o->n; e++)
        operand_visit(k, inst, n, &o->item[e], written && o->kind != OPERAND_ADDRESS, f);
}

static void registers_visit(struct facts *k, reg_fn *f)
{
    for (uint32_t n = 0; n < k->f->n_inst; n++) {
        const struct ptx_inst *i = &k->f->inst[n];
        if (i->guarded)
            f(k, n, 255, i->guard, false);
        for (int o = 0; o < i->n_operand; o++)
            operand_visit(k, n, o, &i->operand[o], o == 0 && writes_first(i), f);
    }
}

static void def_count(struct facts *k, uint32_t inst, int operand, uint32_t reg, bool written)
{
    (void)operand;
    if (written) {
        k->defs[reg]++;
        k->last_def[reg] = inst;
    } else {
        k->first[reg]++;
    }
}

static void use_add(struct facts *k, uint32_t inst, int operand, uint32_t reg, bool written)
{
    if (!written)
        k->use[--k->first[reg]] = (struct use){inst, (uint8_t)operand};
}

static bool is_fence(const struct ptx_inst *i)
{
    return slice_is(i->op, "membar") || slice_is(i->op, "fence") || slice_is(i->op, "call");
}

static bool is_branch(const struct ptx_inst *i)
{
    return slice_is(i->op, "bra") || slice_is(i->op, "brx") || slice_is(i->op, "ret") ||
           slice_is(i->op, "exit");
}

/* Basic blocks. A jump to the very next instruction joins two of them, if nobody else jumps
 * there. */
static void regions_find(struct facts *k, uint8_t *edge)
{
    const struct ptx_function *f = k->f;
    for (uint32_t n = 0; n < f->n_inst; n++) {
        const struct ptx_inst *i = &f->inst[n];
        const struct ptx_symbol *to = i->n_operand ? i->operand[0].symbol : NULL;
        bool label = to && to->kind == SYMBOL_LABEL;
        bool through = is_branch(i) && !i->guarded && label && to->target == n + 1;
        if ((is_branch(i) && !through) || is_fence(i))
            edge[n + 1] = 1;
        if (is_branch(i) && label && !through)
            edge[to->target] = 1;
        const struct ptx_symbol *table = i->n_operand > 1 ? i->operand[1].symbol : NULL;
        for (uint32_t e = 0; table && e < table->n_item; e++)
            if (table->item[e]->symbol)
                edge[table->item[e]->symbol->target] = 1;
    }
    uint32_t region = 0;
    for (uint32_t n = 0; n < f->n_inst; n++)
        k->region[n] = region += edge[n];
}

/* --- the decision ----------------------------------------------------------------------------
 */

/* Is the operand's register the same value at `to` as at `from`? */
static bool unchanged(const struct facts *k, const struct ptx_operand *o, uint32_t from,
                      uint32_t to)
{
    if (o->kind != OPERAND_REG || k->defs[o->reg] <= 1)
        return true;
    for (uint32_t n = from; n < to; n++) {
        const struct ptx_inst *i = &k->f->inst[n];
        if (!i->n_operand || !writes_first(i))
            continue;
        if (i->operand[0].kind == OPERAND_REG ? i->operand[0].reg == o->reg
                                              : i->operand[0].n > 0)
            return false;
    }
    return true;
}

static bool use_fits(const struct facts *k, uint32_t product, uint32_t at, const struct use *u)
{
    const struct ptx_inst *mul = &k->f->inst[product], *add = &k->f->inst[u->inst];
    const struct ptx_operand *x = &add->operand[1], *y = &add->operand[2];
    if (!is_sum(add) || !same_kind(mul, add) || u->operand == 255 || u->inst <= at ||
        k->region[product] != k->region[u->inst])
        return false;
    if (x->kind == OPERAND_REG && y->kind == OPERAND_REG && x->reg == y->reg)
        return false;
    return unchanged(k, &mul->operand[1], product, u->inst) &&
           unchanged(k, &mul->operand[2], product, u->inst);
}

enum { CHAIN = 4 };

/* The product that operand `n` of a sum is, if it may be fused: directly or through copies and
 * negations. `mark`: those become part of the fusion. */
static bool product_of(const struct facts *k, const struct ptx_inst *add, int n,
                       uint32_t *ret_product, bool *ret_negated, bool mark)
{
    const struct ptx_operand *o = &add->operand[n];
    *ret_negated = false;
    for (int depth = 0; depth <= CHAIN; depth++) {
        if (o->kind != OPERAND_REG || k->defs[o->reg] != 1)
            return false;
        uint32_t p = *ret_product = k->last_def[o->reg];
        const struct ptx_inst *i = &k->f->inst[p];
        if (!is_passing(i))
            return k->candidate[p];
        *ret_negated ^= slice_is(i->op, "neg");
        if (mark)
            k->step[p].action = FUSE_NEG_DROP;
        o = &i->operand[1];
    }
    return false;
}

/* Is the value used once, seen through copies and negations? */
static bool used_once(const struct facts *k, uint32_t at)
{
    for (int depth = 0; depth <= CHAIN; depth++) {
        uint32_t reg = k->f->inst[at].operand[0].reg;
        if (k->first[reg + 1] - k->first[reg] != 1)
            return false;
        at = k->use[k->first[reg]].inst;
        if (!is_passing(&k->f->inst[at]))
            return true;
    }
    return false;
}

static bool all_fit(const struct facts *k, uint32_t product, uint32_t at, uint32_t reg,
                    int depth)
{
    if (k->defs[reg] != 1 || k->first[reg] == k->first[reg + 1])
        return false;
    for (uint32_t n = k->first[reg]; n < k->first[reg + 1]; n++) {
        const struct use *u = &k->use[n];
        const struct ptx_inst *i = &k->f->inst[u->inst], *mul = &k->f->inst[product];
        if (is_passing(i) && (same_kind(mul, i) || slice_is(i->op, "mov"))) {
            if (depth == CHAIN || u->inst <= at ||
                !all_fit(k, product, u->inst, i->operand[0].reg, depth + 1))
                return false;
            continue;
        }
        if (!use_fits(k, product, at, u))
            return false;
        uint32_t other;
        bool negated;
        if (!product_of(k, i, u->operand == 1 ? 2 : 1, &other, &negated, false))
            continue;
        /* Of two products the one with a single use, else the first; x*y - x*y stays. */
        bool mine = used_once(k, product), theirs = used_once(k, other);
        if (other == product || (mine == theirs ? u->operand == 2 : theirs))
            return false;
    }
    return true;
}

/* Candidates drop out until nothing changes: one that stays unfused frees the second operand of
 * its sum. After some rounds none comes back, so that it ends. */
static void candidates_settle(struct facts *k)
{
    const struct ptx_function *f = k->f;
    for (uint32_t n = 0; n < f->n_inst; n++)
        k->candidate[n] = is_product(&f->inst[n]) && k->defs[f->inst[n].operand[0].reg] == 1;
    bool changed = true;
    for (int round = 0; changed; round++) {
        changed = false;
        for (uint32_t n = 0; n < f->n_inst; n++) {
            if (!is_product(&f->inst[n]) || k->defs[f->inst[n].operand[0].reg] != 1)
                continue;
            bool fits = (round < 8 || k->candidate[n]) &&
                        all_fit(k, n, n, f->inst[n].operand[0].reg, 0);
            changed |= fits != k->candidate[n];
            k->candidate[n] = fits;
        }
    }
}

static void sums_mark(struct facts *k, struct fuse_plan *plan)
{
    const struct ptx_function *f = k->f;
    for (uint32_t n = 0; n < f->n_inst; n++) {
        const struct ptx_inst *i = &f->inst[n];
        if (!is_sum(i))
            continue;
        for (int o = 1; o <= 2 && !k->step[n].action; o++) {
            uint32_t p;
            bool negated;
            if (!product_of(k, i, o, &p, &negated, false) || !same_kind(&f->inst[p], i))
                continue;
            product_of(k, i, o, &p, &negated, true);
            k->step[n] = (struct fuse_step){o == 1 ? FUSE_FIRST : FUSE_SECOND, negated, p};
            k->step[p].action = FUSE_DROP;
            plan->fused++;
        }
    }
}

bool fuse_plan_make(const struct ptx_function *f, struct arena *a, struct fuse_plan *ret_plan)
{
    memset(ret_plan, 0, sizeof *ret_plan);
    bool any = false;
    for (uint32_t n = 0; n < f->n_inst; n++)
        any |= is_product(&f->inst[n]);
    if (!any)
        return true;
    struct facts k = {.f = f};
    uint8_t *edge = arena_alloc(a, f->n_inst + 2);
    k.defs = arena_alloc(a, (f->n_reg + 1) * sizeof *k.defs);
    k.last_def = arena_alloc(a, (f->n_reg + 1) * sizeof *k.last_def);
    k.first = arena_alloc(a, (f->n_reg + 2) * sizeof *k.first);
    k.region = arena_alloc(a, (f->n_inst + 1) * sizeof *k.region);
    k.candidate = arena_alloc(a, f->n_inst + 1);
    k.step = arena_alloc(a, (f->n_inst + 1) * sizeof *k.step);
    if (!k.step || !edge)
        return false;
    registers_visit(&k, def_count);
    for (uint32_t r = 1; r <= f->n_reg; r++)
        k.first[r] += k.first[r - 1];
    k.use = arena_alloc(a, (k.first[f->n_reg] + 1) * sizeof *k.use);
    if (!k.use)
        return false;
    registers_visit(&k, use_add);
    regions_find(&k, edge);
    candidates_settle(&k);
    sums_mark(&k, ret_plan);
    ret_plan->step = k.step;
    return true;
}
