/* SPDX-License-Identifier: Apache-2.0 */
#include "operand.h"

#include "encoding.h"

unsigned optype_registers(enum optype t)
{
    if (optype_is64(t) || t == T_X64)
        return 2;
    return t == T_X128 ? 4 : t == T_X256 ? 8 : 1;
}

/* 0.5 -0.5 1 -1 2 -2 4 -4 1/(2 pi) */
static const uint16_t float_16[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                    0xc000, 0x4400, 0xc400, 0x3118};
static const uint32_t float_32[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                    0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
static const uint32_t float_64_upper[] = {0x3fe00000, 0xbfe00000, 0x3ff00000,
                                          0xbff00000, 0x40000000, 0xc0000000,
                                          0x40100000, 0xc0100000, 0x3fc45f30};

static void operand_float(unsigned number, enum optype t, struct operand *ret)
{
    unsigned n = number - SRC_FLOAT_MIN;
    if (optype_is64(t)) {
        ret->value = float_64_upper[n];
        ret->high = 2;
    } else if (optype_is16(t) || t == T_PF16) {
        ret->value = float_16[n];
    } else {
        ret->value = float_32[n];
    }
}

static bool operand_literal(struct cursor *c, enum optype t, struct operand *ret)
{
    if (!c->has_literal) {
        if (c->words >= c->room) {
            c->why = "the code ends where a literal should be";
            return false;
        }
        c->literal = c->word[c->words];
        c->has_literal = true;
    }
    ret->value = optype_is16(t) ? c->literal & 0xffff : c->literal;
    ret->raw = 1;
    ret->high = t == T_F64 ? 2 : t == T_I64 ? 1 : 0;
    return true;
}

static void operand_aperture(unsigned number, struct operand *ret)
{
    ret->kind = OPERAND_APERTURE;
    ret->high = number == SRC_SHARED_LIMIT || number == SRC_PRIVATE_LIMIT;
    ret->value = number <= SRC_SHARED_LIMIT ? APERTURE_SHARED : APERTURE_PRIVATE;
    ret->index = (uint16_t)number;
}

static bool operand_constant(struct cursor *c, unsigned number, enum optype t,
                             struct operand *ret)
{
    ret->kind = OPERAND_CONST;
    ret->index = (uint16_t)number;
    ret->raw = 2;
    if (number == SRC_LITERAL)
        return operand_literal(c, t, ret);
    if (number >= SRC_FLOAT_MIN && number <= SRC_FLOAT_MAX) {
        operand_float(number, t, ret);
        return true;
    }
    if (number > SRC_NEGATIVE_MAX) {
        c->why = "reserved source operand";
        return false;
    }
    int value = number <= SRC_POSITIVE_MAX ? (int)(number - SRC_ZERO)
                                           : (int)SRC_POSITIVE_MAX - (int)number;
    ret->value = optype_is16(t) ? (uint32_t)value & 0xffff : (uint32_t)value;
    ret->high = optype_is64(t);
    return true;
}

void operand_vgpr(unsigned number, enum optype t, struct operand *ret)
{
    *ret =
        (struct operand){.kind = OPERAND_VGPR, .type = (uint8_t)t, .index = (uint16_t)number};
}

bool operand_source(struct cursor *c, unsigned number, enum optype t, struct operand *ret)
{
    *ret = (struct operand){.type = (uint8_t)t};
    if (number >= SRC_VGPR) {
        if (number - SRC_VGPR + optype_registers(t) > WAVE_VGPRS) {
            c->why = "vector register beyond v255";
            return false;
        }
        operand_vgpr(number - SRC_VGPR, t, ret);
        return true;
    }
    if (number < SRC_ZERO && number != WAVE_NULL) {
        if (number + optype_registers(t) > SRC_ZERO) {
            c->why = "scalar register pair beyond exec";
            return false;
        }
        ret->kind = OPERAND_SGPR;
        ret->index = (uint16_t)number;
        return true;
    }
    switch (number) {
    case WAVE_NULL:
        ret->kind = OPERAND_CONST;
        ret->index = WAVE_NULL;
        return true;
    case SRC_SHARED_BASE:
    case SRC_SHARED_LIMIT:
    case SRC_PRIVATE_BASE:
    case SRC_PRIVATE_LIMIT:
        operand_aperture(number, ret);
        return true;
    case SRC_VCCZ:
        ret->kind = OPERAND_VCCZ;
        return true;
    case SRC_EXECZ:
        ret->kind = OPERAND_EXECZ;
        return true;
    case SRC_SCC:
        ret->kind = OPERAND_SCC;
        return true;
    default:
        return operand_constant(c, number, t, ret);
    }
}
