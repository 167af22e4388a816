/* SPDX-License-Identifier: Apache-2.0 */
#include "decode.h"

#include <stdlib.h>
#include <string.h>

#include "encoding.h"
#include "exec.h"
#include "opcode.h"
#include "operand.h"
#include "valu_decode.h"

static uint32_t get(const struct cursor *c, struct field f)
{
    return field_get(c->bits, f);
}

static bool cursor_refuse(struct cursor *c, const char *why)
{
    c->why = why;
    return false;
}

static bool cursor_needs_two(struct cursor *c)
{
    c->words = 2;
    return c->room >= 2 || cursor_refuse(c, "the code ends inside an instruction");
}

static bool code_find(struct cursor *c, struct inst *i, enum encoding e, unsigned op)
{
    i->encoding = (uint8_t)e;
    i->code = opcode_lookup(e, op);
    return i->code || cursor_refuse(c, "unknown instruction");
}

static bool scalar_destination(struct cursor *c, unsigned number, enum optype t, uint16_t *ret)
{
    if (number + optype_registers(t) > SRC_ZERO)
        return cursor_refuse(c, "scalar destination beyond exec");
    *ret = (uint16_t)(number == WAVE_NULL ? WAVE_SINK : number);
    return true;
}

static bool decode_sop2(struct cursor *c, struct inst *i)
{
    return code_find(c, i, ENC_SOP2, get(c, SOP2_OP)) &&
           scalar_destination(c, get(c, SOP_SDST), i->code->d, &i->d) &&
           operand_source(c, get(c, SOP_SRC0), i->code->s[0], &i->src[0]) &&
           operand_source(c, get(c, SOP_SRC1), i->code->s[1], &i->src[1]);
}

static bool decode_sop1(struct cursor *c, struct inst *i)
{
    if (!code_find(c, i, ENC_SOP1, get(c, SOP1_OP)))
        return false;
    if (strncmp(i->code->name, "s_sendmsg_rtn", 13) == 0) {
        i->src[0] = (struct operand){.kind = OPERAND_CONST, .value = get(c, SOP_SRC0)};
        return scalar_destination(c, get(c, SOP_SDST), i->code->d, &i->d);
    }
    if (i->code->d != T_Z && !scalar_destination(c, get(c, SOP_SDST), i->code->d, &i->d))
        return false;
    return i->code->s[0] == T_Z ||
           operand_source(c, get(c, SOP_SRC0), i->code->s[0], &i->src[0]);
}

static bool decode_sopc(struct cursor *c, struct inst *i)
{
    return code_find(c, i, ENC_SOPC, get(c, SOPC_OP)) &&
           operand_source(c, get(c, SOP_SRC0), i->code->s[0], &i->src[0]) &&
           operand_source(c, get(c, SOP_SRC1), i->code->s[1], &i->src[1]);
}

static bool decode_sopk(struct cursor *c, struct inst *i)
{
    if (!code_find(c, i, ENC_SOPK, get(c, SOPK_OP)))
        return false;
    i->imm = (int16_t)get(c, SOP_IMM);
    if (strcmp(i->code->name, "s_setreg_imm32_b32") == 0)
        return operand_source(c, SRC_LITERAL, T_B32, &i->src[1]);
    if (i->code->d == T_Z)
        return true;
    return scalar_destination(c, get(c, SOP_SDST), i->code->d, &i->d);
}

static bool decode_sopp(struct cursor *c, struct inst *i)
{
    i->imm = (int16_t)get(c, SOP_IMM);
    return code_find(c, i, ENC_SOPP, get(c, SOPP_OP));
}

static bool decode_smem(struct cursor *c, struct inst *i)
{
    if (!cursor_needs_two(c) || !code_find(c, i, ENC_SMEM, get(c, SMEM_OP)))
        return false;
    unsigned dwords = i->code->bytes;
    if (!dwords)
        return true;
    i->glc = (uint8_t)get(c, SMEM_GLC);
    i->dlc = (uint8_t)get(c, SMEM_DLC);
    i->imm = field_signed(c->bits, SMEM_OFFSET);
    i->address = (uint16_t)(get(c, SMEM_SBASE) * 2);
    i->saddr = (uint16_t)get(c, SMEM_SOFFSET);
    i->d = (uint16_t)get(c, SMEM_SDATA);
    bool buffer = i->code->op >= 8;
    if (i->address + (buffer ? 4u : 2u) > SRC_ZERO || i->d + dwords > SRC_ZERO)
        return cursor_refuse(c, "scalar registers beyond exec");
    if (i->d == WAVE_NULL && dwords <= 2)
        i->d = WAVE_SINK;
    return true;
}

static void memory_words(struct cursor *c, struct inst *i)
{
    i->dlc = (uint8_t)get(c, FLAT_DLC);
    i->glc = (uint8_t)get(c, FLAT_GLC);
    i->slc = (uint8_t)get(c, FLAT_SLC);
}

/* Vector registers an operand of so many bytes takes. */
static unsigned byte_registers(unsigned bytes)
{
    return (bytes + 3) / 4;
}

/* Those a memory instruction stores or compares with. */
static unsigned data_registers(const struct inst *i)
{
    const bool two = i->code->form == FORM_ATOMIC && strstr(i->code->name, "cmpswap");
    return byte_registers(i->code->bytes) * (two ? 2 : 1);
}

static bool decode_flat(struct cursor *c, struct inst *i)
{
    static const uint8_t segment[4] = {ENC_FLAT, ENC_SCRATCH, ENC_GLOBAL, ENC_COUNT_};
    unsigned seg = get(c, FLAT_SEG);
    if (!cursor_needs_two(c) || seg > 2)
        return cursor_refuse(c, "unknown memory segment");
    if (!code_find(c, i, segment[seg], get(c, FLAT_OP)))
        return false;
    memory_words(c, i);
    i->imm =
        seg == 0 ? (int32_t)get(c, FLAT_OFFSET_UNSIGNED) : field_signed(c->bits, FLAT_OFFSET);
    i->address = (uint16_t)get(c, FLAT_ADDR);
    i->saddr = (uint16_t)get(c, FLAT_SADDR);
    i->sve = (uint8_t)get(c, FLAT_SVE);
    i->d = (uint16_t)get(c, FLAT_VDST);
    operand_vgpr(get(c, FLAT_DATA), T_B32, &i->src[0]);
    unsigned n = byte_registers(i->code->bytes);
    unsigned data = data_registers(i);
    bool wide = seg == 0 || (seg == 2 && i->saddr == WAVE_NULL);
    if (seg == 0)
        i->saddr = WAVE_NULL;
    if (i->saddr != WAVE_NULL && i->saddr + (seg == 2 ? 2u : 1u) > SRC_ZERO)
        return cursor_refuse(c, "scalar address beyond exec");
    if (seg == 2 && i->code->bytes == 4)
        i->exec = i->code->form == FORM_LOAD    ? valu_variant()->global_load
                  : i->code->form == FORM_STORE ? valu_variant()->global_store
                                                : NULL;
    if ((wide && i->address + 2u > WAVE_VGPRS) || i->src[0].index + data > WAVE_VGPRS ||
        i->d + n > WAVE_VGPRS)
        return cursor_refuse(c, "vector registers beyond v255");
    return true;
}

static bool decode_ds(struct cursor *c, struct inst *i)
{
    if (!cursor_needs_two(c) || !code_find(c, i, ENC_DS, get(c, DS_OP)))
        return false;
    if (get(c, DS_GDS))
        return cursor_refuse(c, "global data share is not simulated");
    i->imm = (int32_t)get(c, DS_OFFSET);
    i->address = (uint16_t)get(c, DS_ADDR);
    i->d = (uint16_t)get(c, DS_VDST);
    operand_vgpr(get(c, DS_DATA0), T_B32, &i->src[0]);
    operand_vgpr(get(c, DS_DATA1), T_B32, &i->src[1]);
    if (i->code->bytes == 4 && i->code->form == FORM_LOAD)
        i->exec = valu_variant()->lds_load;
    if (i->code->bytes == 4 && i->code->form == FORM_LOAD2)
        i->exec = valu_variant()->lds_load2;
    unsigned n = byte_registers(i->code->bytes);
    unsigned most = i->code->form == FORM_LOAD2 ? 2 * n : i->code->form == FORM_OTHER ? 4 : n;
    if (i->d + most > WAVE_VGPRS || i->src[0].index + n > WAVE_VGPRS ||
        i->src[1].index + n > WAVE_VGPRS)
        return cursor_refuse(c, "vector registers beyond v255");
    return true;
}

static bool decode_mubuf(struct cursor *c, struct inst *i)
{
    if (!cursor_needs_two(c) || !code_find(c, i, ENC_MUBUF, get(c, MUBUF_OP)))
        return false;
    if (!i->code->bytes)
        return true;
    if (get(c, MUBUF_TFE))
        return cursor_refuse(c,
                             "a buffer access that returns a status, which is not simulated");
    i->imm = (int32_t)get(c, MUBUF_OFFSET);
    i->slc = (uint8_t)get(c, MUBUF_SLC);
    i->dlc = (uint8_t)get(c, MUBUF_DLC);
    i->glc = (uint8_t)get(c, MUBUF_GLC);
    i->offen = (uint8_t)get(c, MUBUF_OFFEN);
    i->idxen = (uint8_t)get(c, MUBUF_IDXEN);
    i->address = (uint16_t)get(c, MUBUF_ADDR);
    i->saddr = (uint16_t)(get(c, MUBUF_RESOURCE) * 4);
    i->d = (uint16_t)get(c, MUBUF_DATA);
    operand_vgpr(i->d, T_B32, &i->src[0]);
    if (i->saddr + 4u > WAVE_NULL)
        return cursor_refuse(c, "buffer resource beyond the scalar registers");
    if (i->address + (i->offen && i->idxen ? 2u : 1u) > WAVE_VGPRS ||
        i->d + data_registers(i) > WAVE_VGPRS)
        return cursor_refuse(c, "vector registers beyond v255");
    return operand_source(c, get(c, MUBUF_SOFFSET), T_B32, &i->src[1]) && !c->has_literal;
}

typedef bool decode_fn(struct cursor *c, struct inst *i);

/* The first row whose masked bits agree. */
static const struct {
    uint32_t mask, bits;
    decode_fn *decode;
} encodings[] = {
    {0xff800000, 0xbe800000, decode_sop1},  {0xff800000, 0xbf000000, decode_sopc},
    {0xff800000, 0xbf800000, decode_sopp},  {0xf0000000, 0xb0000000, decode_sopk},
    {0xc0000000, 0x80000000, decode_sop2},  {0xfe000000, 0x7e000000, decode_vop1},
    {0xfe000000, 0x7c000000, decode_vopc},  {0x80000000, 0x00000000, decode_vop2},
    {0xfc000000, 0xd4000000, decode_vop3},  {0xff000000, 0xcc000000, decode_vop3p},
    {0xfc000000, 0xc8000000, decode_vopd},  {0xfc000000, 0xf4000000, decode_smem},
    {0xfc000000, 0xd8000000, decode_ds},    {0xfc000000, 0xdc000000, decode_flat},
    {0xfc000000, 0xe0000000, decode_mubuf},
};

static decode_fn *encoding_find(uint32_t word)
{
    for (size_t n = 0; n < sizeof encodings / sizeof *encodings; n++)
        if ((word & encodings[n].mask) == encodings[n].bits)
            return encodings[n].decode;
    return NULL;
}

bool inst_decode(const uint32_t *word, size_t room, struct inst *ret, const char **why)
{
    struct cursor c = {.word = word,
                       .room = room,
                       .bits = word[0] | (room > 1 ? (uint64_t)word[1] << 32 : 0),
                       .words = 1};
    memset(ret, 0, sizeof *ret);
    decode_fn *decode = encoding_find(word[0]);
    c.why = "unknown encoding";
    if (!decode || !decode(&c, ret)) {
        free(ret->pair);
        *ret = (struct inst){.words = 1, .advance = 1, .exec = exec_unknown};
        *why = c.why;
        return false;
    }
    ret->words = (uint8_t)(c.words + c.has_literal);
    ret->advance = ret->words;
    if (!ret->exec)
        ret->exec = ret->code->exec;
    return true;
}
