/* SPDX-License-Identifier: Apache-2.0 */
#include "valu_decode.h"

#include <stdlib.h>

#include "encoding.h"
#include "exec.h"
#include "opcode.h"

static uint32_t get(const struct cursor *c, struct field f)
{
    return field_get(c->bits, f);
}

static bool refuse(struct cursor *c, const char *why)
{
    c->why = why;
    return false;
}

static bool code_find(struct cursor *c, struct inst *i, enum encoding e, unsigned op)
{
    i->encoding = (uint8_t)e;
    i->code = opcode_lookup(e, op);
    return i->code || refuse(c, "unknown instruction");
}

static bool fits_plain(const struct inst *i)
{
    if (i->clamp || i->omod || i->dpp || i->reads_vcc)
        return false;
    if (i->code->d < T_B32 || (i->code->d > T_F32 && i->code->d != T_M))
        return false;
    for (int n = 0; n < 3; n++) {
        const struct operand *o = &i->src[n];
        if (o->type == T_M ? o->kind != OPERAND_MASK
                           : o->type && (o->type < T_B32 || o->type > T_F32))
            return false;
    }
    return true;
}

static void executor_choose(struct inst *i)
{
    const struct valu_variant *v = valu_variant();
    const int id = (int)(i->code - opcode_at(0));
    i->row = v->row[id];
    i->reads_vcc = id == OP_v_div_fmas_f32 || id == OP_v_div_fmas_f64;
    i->exec = i->code->exec;
    if (i->exec)
        return;
    const bool plain = fits_plain(i), has_signs = i->neg || i->abs;
    switch (i->code->form) {
    case FORM_PACKED:
        i->exec = v->packed;
        break;
    case FORM_COMPARE:
    case FORM_COMPAREX:
        i->exec = plain ? v->compare : v->compare_full;
        break;
    case FORM_CARRY:
        i->exec = plain && !has_signs ? v->carry : v->full;
        break;
    default:
        i->exec = !plain ? v->full : has_signs ? v->with_signs : v->plain;
    }
}

static void mask_operand(unsigned sgpr, struct operand *ret)
{
    *ret = (struct operand){.kind = OPERAND_MASK, .type = T_M, .index = (uint16_t)sgpr};
}

/* A vector register whose number has the half of a 16-bit operand in bit 7. */
static void short_vgpr(unsigned number, enum optype t, struct operand *ret)
{
    operand_vgpr(optype_is16(t) ? number & 127 : number, t, ret);
    ret->high = optype_is16(t) && number >= 128;
}

static bool vgpr_in_range(struct cursor *c, const struct operand *o)
{
    return o->index + optype_registers((enum optype)o->type) <= WAVE_VGPRS ||
           refuse(c, "vector register beyond v255");
}

static bool vector_destination(struct cursor *c, struct inst *i, unsigned number, bool is_short)
{
    enum optype t = (enum optype)i->code->d;
    struct operand o;
    if (is_short)
        short_vgpr(number, t, &o);
    else
        operand_vgpr(number, t, &o);
    i->d = o.index;
    i->d_high = o.high;
    return vgpr_in_range(c, &o);
}

static bool scalar_destination(struct cursor *c, unsigned number, uint16_t *ret)
{
    if (number >= SRC_ZERO)
        return refuse(c, "scalar destination beyond exec");
    *ret = (uint16_t)(number == WAVE_NULL ? WAVE_SINK : number);
    return true;
}

static bool dpp_read(struct cursor *c, struct inst *i, unsigned number)
{
    if (c->words >= c->room)
        return refuse(c, "the code ends inside an instruction");
    uint64_t word = c->word[c->words++];
    operand_vgpr(field_get(word, DPP_SRC0), (enum optype)i->code->s[0], &i->src[0]);
    if (optype_is16((enum optype)i->code->s[0]))
        short_vgpr(field_get(word, DPP_SRC0), (enum optype)i->code->s[0], &i->src[0]);
    if (number != SRC_DPP16) {
        i->dpp = DPP_8;
        i->dpp_fi = number == SRC_DPP8_FI;
        i->dpp_control = field_get(word, DPP8_SELECT);
        i->dpp_rows = 0xff;
        return vgpr_in_range(c, &i->src[0]);
    }
    i->dpp = DPP_16;
    i->dpp_fi = (uint8_t)field_get(word, DPP16_FI);
    i->dpp_bound = (uint8_t)field_get(word, DPP16_BOUND);
    i->dpp_control = field_get(word, DPP16_CTRL);
    i->dpp_rows = (uint8_t)field_get(word, DPP16_MASKS);
    i->neg |= (uint8_t)(field_get(word, DPP16_NEG0) | field_get(word, DPP16_NEG1) << 1);
    i->abs |= (uint8_t)(field_get(word, DPP16_ABS0) | field_get(word, DPP16_ABS1) << 1);
    return vgpr_in_range(c, &i->src[0]);
}

static bool short_source(struct cursor *c, struct inst *i)
{
    unsigned number = get(c, VOP_SRC0);
    enum optype t = (enum optype)i->code->s[0];
    if (number == SRC_DPP16 || number == SRC_DPP8 || number == SRC_DPP8_FI)
        return dpp_read(c, i, number);
    if (number >= SRC_VGPR && optype_is16(t)) {
        short_vgpr(number - SRC_VGPR, t, &i->src[0]);
        return true;
    }
    return operand_source(c, number, t, &i->src[0]);
}

bool decode_vop1(struct cursor *c, struct inst *i)
{
    if (!code_find(c, i, ENC_VOP1, get(c, VOP1_OP)))
        return false;
    if (i->code->s[0] != T_Z && !short_source(c, i))
        return false;
    if (i->code->d == T_S32 ? !scalar_destination(c, get(c, VOP_VDST) & 127, &i->d)
                            : !vector_destination(c, i, get(c, VOP_VDST), true))
        return false;
    executor_choose(i);
    return true;
}

static bool short_second(struct cursor *c, struct inst *i)
{
    short_vgpr(get(c, VOP_VSRC1), (enum optype)i->code->s[1], &i->src[1]);
    return vgpr_in_range(c, &i->src[1]);
}

/* The accumulator, a mask or a literal in the third place of a VOP2. */
static bool short_third(struct cursor *c, struct inst *i)
{
    switch (i->code->form) {
    case FORM_AK:
        return operand_source(c, SRC_LITERAL, (enum optype)i->code->s[2], &i->src[2]);
    case FORM_MK:
        i->src[2] = i->src[1];
        return operand_source(c, SRC_LITERAL, (enum optype)i->code->s[1], &i->src[1]);
    default:
        break;
    }
    if (i->code->s[2] == T_M) {
        mask_operand(WAVE_VCC, &i->src[2]);
    } else if (i->code->s[2] == T_ACC) {
        operand_vgpr(i->d, (enum optype)i->code->d, &i->src[2]);
        i->src[2].high = i->d_high;
    }
    return true;
}

bool decode_vop2(struct cursor *c, struct inst *i)
{
    if (!code_find(c, i, ENC_VOP2, get(c, VOP2_OP)) || !short_source(c, i) ||
        !short_second(c, i) || !vector_destination(c, i, get(c, VOP_VDST), true) ||
        !short_third(c, i))
        return false;
    i->d2 = WAVE_VCC;
    executor_choose(i);
    return true;
}

bool decode_vopc(struct cursor *c, struct inst *i)
{
    if (!code_find(c, i, ENC_VOPC, get(c, VOPC_OP)) || !short_source(c, i) ||
        !short_second(c, i))
        return false;
    i->d2 = i->code->form == FORM_COMPAREX ? WAVE_EXEC : WAVE_VCC;
    executor_choose(i);
    return true;
}

static bool long_source(struct cursor *c, struct inst *i, int n, struct field f)
{
    enum optype t = (enum optype)i->code->s[n];
    unsigned number = get(c, f);
    if (t == T_Z)
        return true;
    if (t == T_ACC) {
        operand_vgpr(i->d, (enum optype)i->code->d, &i->src[n]);
        i->src[n].high = i->d_high;
        return true;
    }
    if (n == 0 && (number == SRC_DPP16 || number == SRC_DPP8 || number == SRC_DPP8_FI)) {
        if (!dpp_read(c, i, number))
            return false;
    } else if (!operand_source(c, number, t, &i->src[n])) {
        return false;
    }
    if (t == T_M && i->src[n].kind == OPERAND_SGPR)
        i->src[n].kind = OPERAND_MASK;
    if (optype_is16(t) && i->src[n].kind != OPERAND_CONST)
        i->src[n].high = i->opsel >> n & 1;
    return true;
}

static bool long_sources(struct cursor *c, struct inst *i)
{
    return long_source(c, i, 0, VOP3_SRC0) && long_source(c, i, 1, VOP3_SRC1) &&
           long_source(c, i, 2, VOP3_SRC2);
}

static bool long_destination(struct cursor *c, struct inst *i)
{
    unsigned number = get(c, VOP3_VDST);
    if (i->code->form == FORM_COMPARE)
        return scalar_destination(c, number, &i->d2);
    if (i->code->form == FORM_COMPAREX) {
        i->d2 = WAVE_EXEC;
        return true;
    }
    if (i->code->d == T_S32)
        return scalar_destination(c, number, &i->d);
    if (!vector_destination(c, i, number, false))
        return false;
    i->d_high = optype_is16((enum optype)i->code->d) && (i->opsel & 8);
    return true;
}

bool decode_vop3(struct cursor *c, struct inst *i)
{
    c->words = 2;
    if (c->room < 2)
        return refuse(c, "the code ends inside an instruction");
    if (!code_find(c, i, ENC_VOP3, get(c, VOP3_OP)))
        return false;
    if (i->code->form == FORM_MK || i->code->form == FORM_AK)
        return refuse(c, "unknown instruction");
    i->clamp = (uint8_t)get(c, VOP3_CLAMP);
    i->omod = (uint8_t)get(c, VOP3_OMOD);
    i->neg = (uint8_t)get(c, VOP3_NEG);
    if (i->code->form == FORM_CARRY) {
        i->encoding = ENC_VOP3SD;
        if (!scalar_destination(c, get(c, VOP3_SDST), &i->d2))
            return false;
    } else {
        i->abs = (uint8_t)get(c, VOP3_ABS);
        i->opsel = (uint8_t)get(c, VOP3_OPSEL);
    }
    if (!long_destination(c, i) || !long_sources(c, i))
        return false;
    executor_choose(i);
    return true;
}

bool decode_vop3p(struct cursor *c, struct inst *i)
{
    c->words = 2;
    if (c->room < 2)
        return refuse(c, "the code ends inside an instruction");
    if (!code_find(c, i, ENC_VOP3P, get(c, VOP3P_OP)))
        return false;
    i->clamp = (uint8_t)get(c, VOP3_CLAMP);
    i->neg = (uint8_t)get(c, VOP3_NEG);
    i->neg_hi = (uint8_t)get(c, VOP3P_NEG_HI);
    i->opsel = (uint8_t)get(c, VOP3P_OPSEL);
    i->opsel_hi = (uint8_t)(get(c, VOP3P_OPSEL_HI) | get(c, VOP3P_OPSEL_HI2) << 2);
    i->d = (uint16_t)get(c, VOP3_VDST);
    if (i->d + optype_registers((enum optype)i->code->d) > WAVE_VGPRS)
        return refuse(c, "vector register beyond v255");
    static const struct field source[3] = {{32, 9}, {41, 9}, {50, 9}};
    for (int n = 0; n < 3; n++) {
        enum optype t = (enum optype)i->code->s[n];
        if (t != T_Z && !operand_source(c, get(c, source[n]), t, &i->src[n]))
            return false;
    }
    executor_choose(i);
    return true;
}

/* --- VOPD: two instructions of the short encodings in one
 * ------------------------------------- */

static bool half_decode(struct cursor *c, struct inst *i, const struct opcode *half,
                        struct field src0, struct field src1, unsigned d)
{
    i->encoding = ENC_VOPD;
    i->code = opcode_dual(half);
    i->d = (uint16_t)d;
    if (!operand_source(c, get(c, src0), (enum optype)i->code->s[0], &i->src[0]))
        return false;
    if (i->code->s[1] != T_Z)
        operand_vgpr(get(c, src1), (enum optype)i->code->s[1], &i->src[1]);
    if (!short_third(c, i))
        return false;
    executor_choose(i);
    return true;
}

bool decode_vopd(struct cursor *c, struct inst *i)
{
    c->words = 2;
    if (c->room < 2)
        return refuse(c, "the code ends inside an instruction");
    const struct opcode *x = opcode_lookup(ENC_VOPD, get(c, VOPD_OPX));
    const struct opcode *y = opcode_lookup(ENC_VOPD, get(c, VOPD_OPY));
    if (!x || !y || x->op >= 0x10)
        return refuse(c, "unknown dual instruction");
    unsigned dx = get(c, VOPD_VDSTX);
    unsigned dy = get(c, VOPD_VDSTY) << 1 | (~dx & 1);
    i->pair = calloc(1, sizeof *i->pair);
    if (!i->pair)
        return refuse(c, "out of memory");
    if (!half_decode(c, i, x, VOPD_SRC0X, VOPD_VSRC1X, dx) ||
        !half_decode(c, i->pair, y, VOPD_SRC0Y, VOPD_VSRC1Y, dy))
        return false;
    i->exec = valu_variant()->dual;
    return true;
}
