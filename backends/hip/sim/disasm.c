/* SPDX-License-Identifier: Apache-2.0 */
#include "decode.h"

#include <string.h>

#include "opcode.h"
#include "operand.h"
#include "printing.h"

/* Disassembly as llvm-objdump writes it for gfx1100. */

static bool has_long_form(const struct inst *i)
{
    switch (i->code - opcode_at(0)) {
    case OP_v_nop:
    case OP_v_pipeflush:
    case OP_v_readfirstlane_b32:
    case OP_v_swap_b32:
    case OP_v_swap_b16:
    case OP_v_permlane64_b32:
    case OP_v_swaprel_b32:
    case OP_v_dot2acc_f32_f16:
    case OP_v_pk_fmac_f16:
        return false;
    default:
        return i->code->form != FORM_MK && i->code->form != FORM_AK;
    }
}

static const char *suffix(const struct inst *i)
{
    const bool is_short = i->code->encoding == ENC_VOP1 || i->code->encoding == ENC_VOP2 ||
                          i->code->encoding == ENC_VOPC;
    if (i->encoding == ENC_VOPD)
        return "";
    if (i->dpp)
        return i->encoding == ENC_VOP3 || i->encoding == ENC_VOP3SD ? "_e64_dpp" : "_dpp";
    if (!is_short || !has_long_form(i))
        return "";
    return i->encoding == ENC_VOP3 || i->encoding == ENC_VOP3SD ? "_e64" : "_e32";
}

/* --- vector operands
 * -------------------------------------------------------------------------- */

static bool integer_constant(const struct operand *o)
{
    return o->kind == OPERAND_CONST && o->raw == 2 && o->index < 240;
}

static void print_source(struct printing *p, const struct inst *i, int n)
{
    const struct operand *o = &i->src[n];
    const bool packed = i->encoding == ENC_VOP3P;
    const bool mix = i->code->s[0] == T_MIX;
    const bool negate = (mix || !packed) && (i->neg >> n & 1);
    const bool absolute = mix ? i->neg_hi >> n & 1 : !packed && (i->abs >> n & 1);
    print_comma(p);
    if (negate)
        print_text(p, !absolute && integer_constant(o) ? "neg(" : "-");
    if (absolute)
        print_text(p, "|");
    print_operand(p, o);
    if (absolute)
        print_text(p, "|");
    if (negate && !absolute && integer_constant(o))
        print_text(p, ")");
}

static void print_destination(struct printing *p, const struct inst *i)
{
    const enum optype t = (enum optype)i->code->d;
    if (t == T_Z || (i->code->form == FORM_COMPAREX))
        return;
    print_comma(p);
    if (i->code->form == FORM_COMPARE)
        print_sgpr(p, i->d2, 1);
    else if (t == T_S32)
        print_sgpr(p, i->d, 1);
    else
        print_vgpr(p, i->d, optype_registers(t), 0);
    if (i->code->form == FORM_CARRY) {
        print_comma(p);
        print_sgpr(p, i->d2, 1);
    }
}

static void print_bits(struct printing *p, const char *name, unsigned bits, int count)
{
    print_text(p, " %s:[", name);
    for (int n = 0; n < count; n++)
        print_text(p, "%s%u", n ? "," : "", bits >> n & 1);
    print_text(p, "]");
}

static int source_count(const struct inst *i)
{
    int n = 0;
    for (int k = 0; k < 3; k++)
        if (i->code->s[k] != T_Z && i->code->s[k] != T_ACC)
            n++;
    return n;
}

static void print_vop3p_modifiers(struct printing *p, const struct inst *i)
{
    const int n = source_count(i);
    const unsigned all = (1u << n) - 1, usual = i->code->s[0] == T_MIX ? 0 : all;
    const bool matrix = i->code->d == T_X256;
    const bool dot = i->code->s[0] == T_IU8 || i->code->s[0] == T_U32;
    if (matrix ? i->opsel & 4 : !dot && (i->opsel & all))
        print_bits(p, "op_sel", i->opsel, n);
    if (!matrix && !dot && (i->opsel_hi & all) != usual)
        print_bits(p, "op_sel_hi", i->opsel_hi, n);
    if (i->code->s[0] != T_MIX && (i->neg & all))
        print_bits(p, "neg_lo", i->neg, n);
    if (i->code->s[0] != T_MIX && (i->neg_hi & all))
        print_bits(p, "neg_hi", i->neg_hi, n);
    if (i->clamp)
        print_text(p, " clamp");
}

static void print_dpp(struct printing *p, const struct inst *i)
{
    const unsigned c = i->dpp_control;
    static const char *const row[] = {"row_shl", "row_shr",   "row_ror",  NULL,
                                      NULL,      "row_share", "row_xmask"};
    if (i->dpp == DPP_8) {
        print_text(p, " dpp8:[");
        for (int n = 0; n < 8; n++)
            print_text(p, "%s%u", n ? "," : "", c >> 3 * n & 7);
        print_text(p, "]%s", i->dpp_fi ? " fi:1" : "");
        return;
    }
    if (c <= 0xff)
        print_text(p, " quad_perm:[%u,%u,%u,%u]", c & 3, c >> 2 & 3, c >> 4 & 3, c >> 6 & 3);
    else if (c == 0x140 || c == 0x141)
        print_text(p, c == 0x140 ? " row_mirror" : " row_half_mirror");
    else if (c >> 4 <= 0x16 && row[(c >> 4) - 0x10])
        print_text(p, " %s:%u", row[(c >> 4) - 0x10], c & 15);
    print_text(p, " row_mask:0x%x bank_mask:0x%x", i->dpp_rows >> 4, i->dpp_rows & 15);
    if (i->dpp_bound)
        print_text(p, " bound_ctrl:1");
    if (i->dpp_fi)
        print_text(p, " fi:1");
}

static void print_vop3_modifiers(struct printing *p, const struct inst *i)
{
    static const char *const omod[4] = {"", " mul:2", " mul:4", " div:2"};
    if (i->encoding == ENC_VOP3 && i->opsel) {
        const int n = source_count(i) + (i->code->s[2] == T_ACC);
        const unsigned bits = (i->opsel & ((1u << n) - 1)) | (i->opsel >> 3 & 1) << n;
        const bool lanes = strstr(i->code->name, "permlane") != NULL;
        print_bits(p, "op_sel", bits, lanes ? 2 : n + 1);
    }
    if (i->clamp)
        print_text(p, " clamp");
    print_text(p, "%s", omod[i->omod]);
    if (i->dpp)
        print_dpp(p, i);
}

static void print_vector(struct printing *p, const struct inst *i)
{
    print_destination(p, i);
    for (int n = 0; n < 3; n++) {
        if (i->code->s[n] == T_Z || i->code->s[n] == T_ACC)
            continue;
        if (i->code->s[n] == T_M && i->encoding == ENC_VOPD)
            continue;
        print_source(p, i, n);
    }
    if (i->encoding == ENC_VOP3P)
        print_vop3p_modifiers(p, i);
    else
        print_vop3_modifiers(p, i);
}

static void print_dual(struct printing *p, const struct inst *i)
{
    print_text(p, "v_dual_%s", i->code->name + 2);
    print_vector(p, i);
    p->operands = 0;
    print_text(p, " :: v_dual_%s", i->pair->code->name + 2);
    print_vector(p, i->pair);
}

/* --- memory
 * ----------------------------------------------------------------------------------- */

static unsigned registers(const struct inst *i)
{
    return (i->code->bytes + 3u) / 4;
}

static void print_cache(struct printing *p, const struct inst *i)
{
    print_text(p, "%s%s%s", i->glc ? " glc" : "", i->slc ? " slc" : "", i->dlc ? " dlc" : "");
}

static void print_flat_address(struct printing *p, const struct inst *i)
{
    print_comma(p);
    if (i->encoding == ENC_SCRATCH && !i->sve)
        print_text(p, "off");
    else
        print_vgpr(
            p, i->address,
            i->encoding == ENC_FLAT || (i->encoding == ENC_GLOBAL && i->saddr == WAVE_NULL) ? 2
                                                                                            : 1,
            0);
}

static void print_flat_scalar(struct printing *p, const struct inst *i)
{
    if (i->encoding == ENC_FLAT)
        return;
    print_comma(p);
    if (i->saddr == WAVE_NULL)
        print_text(p, "off");
    else
        print_sgpr(p, i->saddr, i->encoding == ENC_GLOBAL ? 2 : 1);
}

static void print_flat(struct printing *p, const struct inst *i)
{
    const bool atomic = i->code->form == FORM_ATOMIC;
    if (i->code->form == FORM_LOAD || (atomic && i->glc)) {
        print_comma(p);
        print_vgpr(p, i->d, registers(i), 0);
    }
    print_flat_address(p, i);
    if (i->code->form != FORM_LOAD) {
        const unsigned twice = strstr(i->code->name, "cmpswap") ? 2 : 1;
        print_comma(p);
        print_vgpr(p, i->src[0].index, registers(i) * twice, 0);
    }
    print_flat_scalar(p, i);
    if (i->imm)
        print_text(p, " offset:%d", i->imm);
    print_cache(p, i);
}

static void print_mubuf(struct printing *p, const struct inst *i)
{
    const unsigned twice = strstr(i->code->name, "cmpswap") ? 2 : 1;
    if (!i->code->bytes)
        return;
    print_comma(p);
    print_vgpr(p, i->d, registers(i) * twice, 0);
    print_comma(p);
    if (i->offen || i->idxen)
        print_vgpr(p, i->address, i->offen && i->idxen ? 2 : 1, 0);
    else
        print_text(p, "off");
    print_comma(p);
    print_sgpr(p, i->saddr, 4);
    print_comma(p);
    print_operand(p, &i->src[1]);
    print_text(p, "%s%s", i->idxen ? " idxen" : "", i->offen ? " offen" : "");
    if (i->imm)
        print_text(p, " offset:%d", i->imm);
    print_cache(p, i);
}

static void print_ds_register(struct printing *p, unsigned first, unsigned count)
{
    print_comma(p);
    print_vgpr(p, first, count, 0);
}

/* The patterns that have names. */
static void print_swizzle(struct printing *p, unsigned v)
{
    const unsigned both = v & 31, either = v >> 5 & 31, flip = v >> 10 & 31;
    print_text(p, " offset:");
    if (v & 0x8000) {
        print_text(p, "swizzle(QUAD_PERM,%u,%u,%u,%u)", v & 3, v >> 2 & 3, v >> 4 & 3,
                   v >> 6 & 3);
        return;
    }
    const bool power = flip && !(flip & (flip - 1)), ones = flip && !(flip & (flip + 1));
    if (both == 31 && !either && power) {
        print_text(p, "swizzle(SWAP,%u)", flip);
        return;
    }
    if (both == 31 && !either && ones) {
        print_text(p, "swizzle(REVERSE,%u)", flip + 1);
        return;
    }
    print_text(p, "%u", v);
}

static void print_ds_offsets(struct printing *p, const struct inst *i)
{
    const bool two = strstr(i->code->name, "2addr") != NULL;
    const unsigned offset = (unsigned)i->imm & 0xffff;
    if (offset && strcmp(i->code->name, "ds_swizzle_b32") == 0) {
        print_swizzle(p, offset);
        return;
    }
    if (!two && offset)
        print_text(p, " offset:%u", offset);
    if (two && (offset & 255))
        print_text(p, " offset0:%u", offset & 255);
    if (two && offset >> 8)
        print_text(p, " offset1:%u", offset >> 8);
}

static void print_ds(struct printing *p, const struct inst *i)
{
    const unsigned n = registers(i);
    const char *name = i->code->name;
    const uint8_t form = i->code->form;
    const bool other = form == FORM_OTHER;
    const bool returns = form == FORM_LOAD || form == FORM_LOAD2 ||
                         (form == FORM_ATOMIC && i->code->detail) ||
                         (other && i->code->d != T_Z);
    const bool wide = strstr(name, "b64") != NULL;
    if (returns)
        print_ds_register(p, i->d,
                          other ? optype_registers((enum optype)i->code->d)
                                : n * (form == FORM_LOAD2 ? 2 : 1));
    if (!other || i->code->s[0] != T_Z)
        print_ds_register(p, i->address, 1);
    if (other ? i->code->s[1] != T_Z : form != FORM_LOAD && form != FORM_LOAD2)
        print_ds_register(p, i->src[0].index, other ? (wide ? 2 : 1) : n);
    const bool second = strstr(name, "cmpstore") || strstr(name, "mskor") ||
                        strstr(name, "wrap") || form == FORM_STORE2 ||
                        (other && i->code->s[2] != T_Z);
    if (second)
        print_ds_register(p, i->src[1].index, other ? (wide ? 2 : 1) : n);
    print_ds_offsets(p, i);
}

static void print_smem(struct printing *p, const struct inst *i)
{
    if (!i->code->bytes)
        return;
    print_comma(p);
    print_sgpr(p, i->d, i->code->bytes);
    print_comma(p);
    print_sgpr(p, i->address, i->code->op >= 8 ? 4 : 2);
    print_comma(p);
    if (i->saddr == WAVE_NULL && !i->imm)
        print_text(p, "null");
    else if (i->saddr == WAVE_NULL)
        print_text(p, i->imm < 0 ? "-0x%x" : "0x%x", (unsigned)(i->imm < 0 ? -i->imm : i->imm));
    else
        print_sgpr(p, i->saddr, 1);
    if (i->saddr != WAVE_NULL && i->imm)
        print_text(p, " offset:0x%x", (unsigned)i->imm);
    print_cache(p, i);
}

void inst_print(const struct inst *i, const uint32_t *word, char *ret_text, size_t size)
{
    struct printing p = {.text = ret_text, .size = size};
    ret_text[0] = 0;
    if (!i->code) {
        print_text(&p, ".long 0x%08x", word[0]);
        return;
    }
    if (i->encoding == ENC_VOPD) {
        print_dual(&p, i);
        return;
    }
    print_text(&p, "%s%s", i->code->name, suffix(i));
    switch (i->encoding) {
    case ENC_FLAT:
    case ENC_GLOBAL:
    case ENC_SCRATCH:
        print_flat(&p, i);
        break;
    case ENC_DS:
        print_ds(&p, i);
        break;
    case ENC_SMEM:
        print_smem(&p, i);
        break;
    case ENC_MUBUF:
        print_mubuf(&p, i);
        break;
    case ENC_SOP1:
    case ENC_SOP2:
    case ENC_SOPC:
    case ENC_SOPK:
    case ENC_SOPP:
        print_scalar(&p, i);
        break;
    default:
        print_vector(&p, i);
    }
}
