/* SPDX-License-Identifier: Apache-2.0 */
#include "approx.h"
#include "floatop.h"
#include "lower.h"

/* Lowering of floating-point arithmetic. Nearest-even has executors of its own; everything else
 * goes through float_any. */

static bool sources_take(struct lowerer *l, int bits, uint32_t slot[4])
{
    int n = l->in->n_operand;
    enum ptx_word type = inst_type(l->in);
    slot[0] = target(l, 0, bits);
    if (!slot[0])
        return false;
    for (int k = 1; k < 4; k++)
        if (k < n && !(slot[k] = source(l, k, bits, type)))
            return false;
    return true;
}

static bool float_emit(struct lowerer *l, enum exec_id exec, const uint32_t slot[4])
{
    struct inst *i = emit(l, exec);
    if (!i)
        return false;
    i->d = slot[0];
    i->a = slot[1];
    i->b = slot[2];
    i->c = slot[3];
    i->type = (uint8_t)inst_type(l->in);
    i->type2 = (uint8_t)forms[l->form].extra;
    i->round = (uint8_t)inst_round(l->in);
    i->flags = inst_float_flags(l->in);
    return true;
}

static int operands_of(enum float_op op)
{
    return op == FLOAT_FMA ? 4 : op == FLOAT_RCP || op == FLOAT_SQRT ? 2 : 3;
}

static bool nearest(const struct lowerer *l)
{
    enum ptx_word r = inst_round(l->in);
    return r == WORD_unknown || r == WORD_rn;
}

/* f32: executors x, x_ftz and (add, sub, mul, fma) x_sat lie side by side. */
static enum exec_id exec_choose(struct lowerer *l)
{
    const struct form *f = &forms[l->form];
    uint8_t flags = inst_float_flags(l->in);
    if (!nearest(l))
        return EXEC_float_any;
    if (!flags)
        return f->exec;
    if (flags == INST_FTZ)
        return f->exec + 1;
    return flags == INST_SAT && f->extra <= FLOAT_FMA ? f->exec + 2 : EXEC_float_any;
}

/* The add of a fused pair: fma(+-a, b, +-c) with the product's operands. */
static bool fused_emit(struct lowerer *l, const struct fuse_step *s, int bits)
{
    const struct ptx_inst *add = l->in, *mul = &l->function->inst[s->product];
    enum ptx_word type = inst_type(add);
    bool minus = slice_is(add->op, "sub"), first = s->action == FUSE_FIRST;
    bool flip_product = s->negated ^ (minus && !first), flip_sum = minus && first;
    uint32_t slot[4] = {target(l, 0, bits), source_of(l, &mul->operand[1], bits, type),
                        source_of(l, &mul->operand[2], bits, type),
                        source(l, first ? 2 : 1, bits, type)};
    if (!slot[0] || !slot[1] || !slot[2] || !slot[3])
        return false;
    for (int k = 1; k < 4; k += 2) {
        if (!(k == 1 ? flip_product : flip_sum))
            continue;
        uint32_t t = slot_new(l, SLOT_HIDDEN, bits, 0);
        struct inst *i = emit(l, type == TYPE_f64     ? EXEC_neg_f64
                                 : type == TYPE_f16   ? EXEC_neg_f16
                                 : type == TYPE_f16x2 ? EXEC_neg_f16x2
                                                      : EXEC_neg_f32);
        if (!t || !i)
            return false;
        i->d = t;
        i->a = slot[k];
        slot[k] = t;
    }
    uint8_t flags = inst_float_flags(add);
    enum exec_id exec = type == TYPE_f64     ? EXEC_fma_f64
                        : type == TYPE_f16   ? EXEC_fma_f16
                        : type == TYPE_f16x2 ? EXEC_fma_f16x2
                        : !flags             ? EXEC_fma_f32
                        : flags == INST_FTZ  ? EXEC_fma_f32_ftz
                        : flags == INST_SAT  ? EXEC_fma_f32_sat
                                             : EXEC_float_any;
    l->image->fused++;
    if (!float_emit(l, exec, slot))
        return false;
    l->image->inst[l->image->n_inst - 1].type2 = FLOAT_FMA;
    return true;
}

/* Does the fusion plan make this sum a fused one? Then it is done here. */
static bool fused(struct lowerer *l, int bits, bool *ret_ok)
{
    if (!l->fuse.step)
        return false;
    const struct fuse_step *s = &l->fuse.step[l->in - l->function->inst];
    if (s->action != FUSE_FIRST && s->action != FUSE_SECOND)
        return false;
    *ret_ok = fused_emit(l, s, bits);
    return true;
}

bool lower_float(struct lowerer *l)
{
    uint32_t slot[4] = {0};
    bool ok;
    int n = operands_of((enum float_op)forms[l->form].extra);
    if (!operand_count(l, n, n))
        return false;
    if (fused(l, 32, &ok))
        return ok;
    return sources_take(l, 32, slot) && float_emit(l, exec_choose(l), slot);
}

bool lower_float64(struct lowerer *l)
{
    uint32_t slot[4] = {0};
    bool ok;
    int n = operands_of((enum float_op)forms[l->form].extra);
    if (!operand_count(l, n, n))
        return false;
    if (fused(l, 64, &ok))
        return ok;
    return sources_take(l, 64, slot) &&
           float_emit(l, nearest(l) ? forms[l->form].exec : EXEC_float_any, slot);
}

static enum exec_id half_exec(const struct lowerer *l)
{
    return ptx_types[inst_type(l->in)].bits == 32 ? EXEC_float_x2 : EXEC_float_any;
}

bool lower_float_half(struct lowerer *l)
{
    uint32_t slot[4] = {0};
    bool ok;
    int n = operands_of((enum float_op)forms[l->form].extra);
    if (!operand_count(l, n, n))
        return false;
    if (fused(l, 32, &ok))
        return ok;
    bool plain = !inst_float_flags(l->in);
    return sources_take(l, 32, slot) &&
           float_emit(l, plain ? forms[l->form].exec : half_exec(l), slot);
}

static bool minmax_emit(struct lowerer *l, enum exec_id exec)
{
    uint32_t slot[4] = {0};
    if (!operand_count(l, 3, 3) || !sources_take(l, 32, slot) || !float_emit(l, exec, slot))
        return false;
    if (inst_has(l->in, WORD_xorsign))
        l->image->inst[l->image->n_inst - 1].imm = FLOAT_XORSIGN | FLOAT_ABS;
    return true;
}

bool lower_minmax(struct lowerer *l)
{
    uint8_t flags = inst_float_flags(l->in);
    bool special = inst_has(l->in, WORD_xorsign) || flags & INST_NAN;
    return minmax_emit(l, special ? EXEC_float_any : forms[l->form].exec + (flags ? 1 : 0));
}

bool lower_minmax_half(struct lowerer *l)
{
    return minmax_emit(l, half_exec(l));
}

bool lower_approx(struct lowerer *l)
{
    const struct form *f = &forms[l->form];
    bool divide = f->extra == MARK_DIV_APPROX || f->extra == MARK_DIV_FULL;
    int bits = inst_type(l->in) == TYPE_f64 ? 64 : 32, n = divide ? 3 : 2;
    uint32_t slot[4] = {0};
    if (!operand_count(l, n, n) || !sources_take(l, bits, slot))
        return false;
    if (!divide)
        slot[2] = slot[1];
    l->image->marks |= (uint64_t)1 << f->extra;
    return float_emit(l, f->exec, slot);
}
