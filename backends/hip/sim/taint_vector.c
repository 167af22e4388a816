/* SPDX-License-Identifier: Apache-2.0 */
#include "taint.h"

#include <string.h>

#include "dpp.h"
#include "lanes.h"
#include "opcode.h"

/* Vector instructions: the unset bits of the result, before the instruction runs. */

enum rule {
    RULE_ALL, /* one unset bit spoils the whole result */
    RULE_MOVE,
    RULE_SELECT,
    RULE_AND,
    RULE_OR,
    RULE_OR3,
    RULE_AND_OR,
    RULE_LEFT_OR,
    RULE_INSERT,
    RULE_SHIFT, /* by the first operand */
    RULE_FIELD,
    RULE_BYTES,
    RULE_ROUTE, /* the operation itself moves the bits of the first two operands */
    RULE_SUM,   /* spoils the bits above */
    RULE_SUM_24,
    RULE_LEFT_SUM,
    RULE_SUM_LEFT,
    RULE_BYTE_0,
    RULE_BYTE_1,
    RULE_BYTE_2,
    RULE_BYTE_3
};

/* Values and unset bits a lane; 16-bit operands in the low half, masks as 0 or ~0. */
struct lane {
    uint64_t v[3], u[3];
};

typedef uint64_t wide_row[WAVE_LANES];

static enum rule rule_of(const struct inst *i)
{
    static const uint8_t rules[OP_COUNT_] = {
#define FLOW(name, rule) [OP_##name] = RULE_##rule,
#include "vector_flow.def"
#undef FLOW
    };
    return i->clamp || i->omod ? RULE_ALL : (enum rule)rules[i->code - opcode_at(0)];
}

/* --- operands */

/* Constants have no unset bits; others come from `w`, which is the wave or its shadow. */
static uint32_t scalar_of(const struct wave *w, const struct operand *o, bool shadow,
                          unsigned part)
{
    if (shadow && o->kind != OPERAND_SGPR && o->kind != OPERAND_SCC)
        return 0;
    if (shadow && o->kind == OPERAND_SGPR && o->index == WAVE_EXEC)
        return 0;
    if (optype_is64((enum optype)o->type))
        return (uint32_t)(scalar_64(w, o) >> 32 * part);
    return scalar_32(w, o);
}

/* Which bits of the register an operand means. */
static uint32_t half_of(const struct inst *i, int n, uint32_t u)
{
    const struct operand *o = &i->src[n];
    if (o->type == T_MIX && (i->opsel_hi >> n & 1))
        return i->opsel >> n & 1 ? u >> 16 : u & 0xffff;
    if (optype_is16((enum optype)o->type))
        return o->high && o->kind == OPERAND_VGPR ? u >> 16 : u & 0xffff;
    return u;
}

static void operand_row(const struct wave *w, const struct wave *from, const struct inst *i,
                        int n, uint64_t *ret)
{
    const struct operand *o = &i->src[n];
    const bool shadow = from != w;
    for (unsigned part = 0; part < (optype_is64((enum optype)o->type) ? 2u : 1u); part++) {
        wave_row r;
        for (int l = 0; l < WAVE_LANES; l++)
            r[l] = o->kind == OPERAND_VGPR   ? from->v[o->index + part][l]
                   : o->kind == OPERAND_MASK ? -(from->s[o->index] >> l & 1)
                                             : scalar_of(from, o, shadow, part);
        if (n == 0 && i->dpp)
            dpp_move(w, i, r);
        for (int l = 0; l < WAVE_LANES; l++)
            ret[l] = part ? ret[l] | (uint64_t)r[l] << 32 : half_of(i, n, r[l]);
    }
}

/* Has any register the instruction reads or writes an unset bit? */
static bool concerned(const struct taint *t, const struct inst *i)
{
    bool any = i->reads_vcc && t->shadow.s[WAVE_VCC];
    for (int n = 0; n < 3; n++) {
        const struct operand *o = &i->src[n];
        const unsigned wide = optype_is64((enum optype)o->type);
        if (o->kind == OPERAND_VGPR)
            any |= t->dirty[o->index] || t->dirty[o->index + wide];
        else if (o->kind == OPERAND_SGPR || o->kind == OPERAND_MASK)
            any |= o->index != WAVE_EXEC &&
                   (t->shadow.s[o->index] || t->shadow.s[o->index + wide]);
        else if (o->kind == OPERAND_SCC)
            any |= t->shadow.scc != 0;
    }
    return any;
}

/* --- rules */

static uint64_t up(uint64_t u)
{
    return u | -u;
}

static uint64_t and_unset(uint64_t a, uint64_t ua, uint64_t b, uint64_t ub)
{
    return (ua & ub) | (ua & b) | (ub & a);
}

static uint64_t or_unset(uint64_t a, uint64_t ua, uint64_t b, uint64_t ub)
{
    return (ua & ub) | (ua & ~b) | (ub & ~a);
}

static uint64_t shift_unset(const struct inst *i, const struct lane *x)
{
    const bool wide = optype_is64((enum optype)i->code->d);
    const unsigned by = (unsigned)x->v[0] & (wide ? 63 : 31);
    switch ((int)(i->code - opcode_at(0))) {
    case OP_v_lshlrev_b32:
    case OP_v_lshlrev_b64:
        return x->u[1] << by;
    case OP_v_ashrrev_i32:
        return (uint32_t)((int32_t)(uint32_t)x->u[1] >> by);
    case OP_v_ashrrev_i64:
        return (uint64_t)((int64_t)x->u[1] >> by);
    default:
        return x->u[1] >> by;
    }
}

static uint64_t field_unset(const struct inst *i, const struct lane *x)
{
    const unsigned low = x->v[1] & 31, width = x->v[2] & 31;
    const uint32_t field = (uint32_t)x->u[0] >> low & ((1u << width) - 1);
    if (i->code - opcode_at(0) == OP_v_bfe_u32 || !width)
        return field;
    return (uint32_t)((int32_t)(field << (32 - width)) >> (32 - width));
}

static uint64_t logic_unset(enum rule rule, const struct lane *x)
{
    const uint64_t *v = x->v, *u = x->u;
    switch (rule) {
    case RULE_SELECT:
        return u[2] ? ~0ull : v[2] ? u[1] : u[0];
    case RULE_AND:
        return and_unset(v[0], u[0], v[1], u[1]);
    case RULE_OR:
        return or_unset(v[0], u[0], v[1], u[1]);
    case RULE_OR3:
        return or_unset(v[0] | v[1], or_unset(v[0], u[0], v[1], u[1]), v[2], u[2]);
    case RULE_AND_OR:
        return or_unset(v[0] & v[1], and_unset(v[0], u[0], v[1], u[1]), v[2], u[2]);
    case RULE_LEFT_OR:
        return u[1] ? ~0ull : or_unset(v[0] << (v[1] & 31), u[0] << (v[1] & 31), v[2], u[2]);
    default: /* RULE_INSERT */
        return u[0] | (v[0] & u[1]) | (~v[0] & u[2]);
    }
}

static uint64_t sum_unset(enum rule rule, const struct lane *x)
{
    const uint64_t *v = x->v, *u = x->u;
    const uint64_t low = 0xffffff;
    switch (rule) {
    case RULE_SUM_24:
        return up((u[0] & low) | (u[1] & low) | u[2]);
    case RULE_LEFT_SUM:
        return u[1] ? ~0ull : up(u[0] << (v[1] & 31) | u[2]);
    case RULE_SUM_LEFT:
        return u[2] ? ~0ull : up(u[0] | u[1]) << (v[2] & 31);
    default:
        return up(u[0] | u[1] | u[2]);
    }
}

static uint64_t all_if(bool any)
{
    return any ? ~0ull : 0;
}

static uint64_t lane_unset(const struct inst *i, enum rule rule, const struct lane *x)
{
    const uint64_t *u = x->u;
    switch (rule) {
    case RULE_MOVE:
        return u[0] | u[1] | u[2];
    case RULE_SELECT:
    case RULE_AND:
    case RULE_OR:
    case RULE_OR3:
    case RULE_AND_OR:
    case RULE_LEFT_OR:
    case RULE_INSERT:
        return logic_unset(rule, x);
    case RULE_SHIFT:
        return u[0] ? ~0ull : shift_unset(i, x);
    case RULE_FIELD:
        return u[1] | u[2] ? ~0ull : field_unset(i, x);
    case RULE_SUM:
    case RULE_SUM_24:
    case RULE_LEFT_SUM:
    case RULE_SUM_LEFT:
        return sum_unset(rule, x);
    case RULE_BYTE_0:
    case RULE_BYTE_1:
    case RULE_BYTE_2:
    case RULE_BYTE_3:
        return all_if(u[0] >> 8 * (rule - RULE_BYTE_0) & 255);
    case RULE_BYTES:
    case RULE_ROUTE:
        return u[2] ? ~0ull : 0; /* the rest by routed() */
    case RULE_ALL:
        break;
    }
    return all_if(u[0] | u[1] | u[2]);
}

/* The instruction's own operation on unset bits; bytes that v_perm makes constant are set. */
static void routed(const struct inst *i, enum rule rule, const struct lane *x, uint64_t *ret)
{
    wave_row a, b, c, r, constant = {0}, none = {0};
    const struct row_context context = {.inst = i};
    for (int l = 0; l < WAVE_LANES; l++) {
        a[l] = (uint32_t)x[l].u[0];
        b[l] = (uint32_t)x[l].u[1];
        c[l] = (uint32_t)x[l].v[2];
    }
    i->row(r, a, b, c, &context);
    if (rule == RULE_BYTES)
        i->row(constant, none, none, c, &context);
    for (int l = 0; l < WAVE_LANES; l++)
        ret[l] |= r[l] & ~constant[l];
}

/* --- whole instructions */

static void result_unset(const struct wave *w, const struct inst *i, uint64_t *ret)
{
    const struct taint *t = w->taint;
    const enum rule rule = rule_of(i);
    struct lane x[WAVE_LANES] = {0};
    for (int n = 0; n < 3; n++) {
        wide_row r;
        if (!i->src[n].kind)
            continue;
        operand_row(w, &t->shadow, i, n, r);
        for (int l = 0; l < WAVE_LANES; l++)
            x[l].u[n] = r[l];
        operand_row(w, w, i, n, r);
        for (int l = 0; l < WAVE_LANES; l++)
            x[l].v[n] = r[l];
    }
    for (int l = 0; l < WAVE_LANES; l++) {
        ret[l] = lane_unset(i, rule, &x[l]);
        if (i->reads_vcc && t->shadow.s[WAVE_VCC] >> l & 1)
            ret[l] = ~0ull;
    }
    if (rule == RULE_BYTES || rule == RULE_ROUTE)
        routed(i, rule, x, ret);
}

static uint32_t mask_of(const uint64_t *unset)
{
    uint32_t mask = 0;
    for (int l = 0; l < WAVE_LANES; l++)
        mask |= (uint32_t)(unset[l] != 0) << l;
    return mask;
}

/* Bits of the destination register that are written, and how far up the result moves. */
static uint32_t written_bits(const struct inst *i, unsigned *ret_shift)
{
    const bool high = i->code - opcode_at(0) == OP_v_fma_mixhi_f16 || i->d_high;
    *ret_shift = 0;
    if (!optype_is16((enum optype)i->code->d) || i->code->form == FORM_PACKED)
        return ~0u;
    *ret_shift = high ? 16 : 0;
    return high ? 0xffff0000 : 0xffff;
}

static void destination_set(struct wave *w, const struct inst *i, const uint64_t *unset)
{
    struct taint *t = w->taint;
    const uint32_t mask = i->dpp ? dpp_write_mask(w, i) : w->s[WAVE_EXEC];
    unsigned shift;
    const uint32_t bits = written_bits(i, &shift);
    wave_row r;
    for (int l = 0; l < WAVE_LANES; l++)
        r[l] = (uint32_t)unset[l] << shift;
    taint_store(t, i->d, r, mask, bits);
    for (int l = 0; l < WAVE_LANES; l++)
        r[l] = (uint32_t)(unset[l] >> 32);
    if (optype_is64((enum optype)i->code->d))
        taint_store(t, i->d + 1u, r, mask, ~0u);
}

/* Returns the unset bits of a lane mask the instruction writes. */
static uint32_t results_set(struct wave *w, const struct inst *i, const uint64_t *unset)
{
    const uint32_t mask = mask_of(unset) & w->s[WAVE_EXEC];
    const bool compares = i->code->form == FORM_COMPARE || i->code->form == FORM_COMPAREX;
    if (!compares && i->code->d != T_Z)
        destination_set(w, i, unset);
    if (!compares && i->code->form != FORM_CARRY)
        return 0;
    if (i->d2 != WAVE_EXEC && i->d2 < WAVE_SINK)
        w->taint->shadow.s[i->d2] = mask;
    return i->d2 == WAVE_EXEC ? mask : 0;
}

/* Half of a register each, chosen by op_sel. */
static void packed_unset(const struct wave *w, const struct inst *i, uint64_t *ret)
{
    const struct wave *t = &w->taint->shadow;
    memset(ret, 0, sizeof(wide_row));
    for (int n = 0; n < 3; n++) {
        const struct operand *o = &i->src[n];
        if (o->kind != OPERAND_VGPR && o->kind != OPERAND_SGPR)
            continue;
        for (int l = 0; l < WAVE_LANES; l++) {
            const uint32_t u =
                o->kind == OPERAND_VGPR ? t->v[o->index][l] : scalar_of(t, o, true, 0);
            ret[l] |= u >> (i->opsel >> n & 1 ? 16 : 0) & 0xffff ? 0xffffu : 0;
            ret[l] |= u >> (i->opsel_hi >> n & 1 ? 16 : 0) & 0xffff ? 0xffff0000 : 0;
        }
    }
}

static int dual_run(struct wave *w, const struct inst *i)
{
    const struct taint *t = w->taint;
    wide_row x, y;
    if (concerned(t, i) || concerned(t, i->pair) || t->dirty[i->d] || t->dirty[i->pair->d]) {
        result_unset(w, i, x);
        result_unset(w, i->pair, y);
        results_set(w, i, x);
        results_set(w, i->pair, y);
    }
    return i->exec(w, i);
}

int taint_vector(struct wave *w, const struct inst *i)
{
    wide_row unset = {0};
    if (i->encoding == ENC_VOPD)
        return dual_run(w, i);
    int event;
    if (taint_lanes(w, i, &event))
        return event;
    if (i->code->exec == exec_permlane64 || i->code->d == T_Z)
        return i->exec(w, i);
    if (i->code->form == FORM_PACKED)
        packed_unset(w, i, unset);
    else if (concerned(w->taint, i))
        result_unset(w, i, unset);
    const uint32_t branch = results_set(w, i, unset);
    event = i->exec(w, i);
    return event ? event : taint_exec(w, i, branch);
}
