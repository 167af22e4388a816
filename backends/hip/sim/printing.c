/* SPDX-License-Identifier: Apache-2.0 */
#include "printing.h"

#include <stdarg.h>
#include <string.h>

#include "encoding.h"
#include "operand.h"

void print_text(struct printing *p, const char *format, ...)
{
    if (p->used + 1 >= p->size)
        return;
    va_list v;
    va_start(v, format);
    int n = vsnprintf(p->text + p->used, p->size - p->used, format, v);
    va_end(v);
    p->used += n > 0 ? (size_t)n : 0;
    if (p->used >= p->size)
        p->used = p->size - 1;
}

void print_comma(struct printing *p)
{
    print_text(p, p->operands++ ? ", " : " ");
}

void print_vgpr(struct printing *p, unsigned first, unsigned count, int half)
{
    if (count > 1)
        print_text(p, "v[%u:%u]", first, first + count - 1);
    else
        print_text(p, "v%u%s", first, half > 0 ? ".h" : half < 0 ? ".l" : "");
}

static const char *special_name(unsigned n, unsigned count)
{
    switch (n) {
    case WAVE_VCC:
        return count == 2 ? "vcc" : "vcc_lo";
    case WAVE_VCC + 1:
        return "vcc_hi";
    case WAVE_NULL:
    case WAVE_SINK:
        return "null";
    case WAVE_M0:
        return "m0";
    case WAVE_EXEC:
        return count == 2 ? "exec" : "exec_lo";
    case WAVE_EXEC + 1:
        return "exec_hi";
    default:
        return NULL;
    }
}

void print_sgpr(struct printing *p, unsigned first, unsigned count)
{
    const char *name = special_name(first, count);
    const char *bank = first >= 108 && first < 124 ? "ttmp" : "s";
    const unsigned n = first >= 108 && first < 124 ? first - 108 : first;
    if (name)
        print_text(p, "%s", name);
    else if (count > 1)
        print_text(p, "%s[%u:%u]", bank, n, n + count - 1);
    else
        print_text(p, "%s%u", bank, n);
}

static const char *const floats[] = {"0.5",  "-0.5", "1.0",  "-1.0",      "2.0",
                                     "-2.0", "4.0",  "-4.0", "0.15915494"};

/* A literal word that an inline constant could have held is written like one. */
static void print_literal(struct printing *p, const struct operand *o)
{
    static const uint32_t words[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                     0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
    const int32_t v = optype_is16((enum optype)o->type) ? (int16_t)o->value : (int32_t)o->value;
    const bool word =
        optype_registers((enum optype)o->type) == 1 && !optype_is16((enum optype)o->type);
    for (size_t n = 0; word && n < sizeof words / sizeof *words; n++)
        if (o->value == words[n]) {
            print_text(p, "%s", floats[n]);
            return;
        }
    if (v >= -16 && v <= 64 && optype_registers((enum optype)o->type) == 1)
        print_text(p, "%d", v);
    else
        print_text(p, "0x%x", o->value);
}

static void print_constant(struct printing *p, const struct operand *o)
{
    if (o->index == WAVE_NULL)
        print_text(p, "null");
    else if (o->raw == 1)
        print_literal(p, o);
    else if (o->index == SRC_FLOAT_MAX && optype_is64((enum optype)o->type))
        print_text(p, "0.15915494309189532");
    else if (o->index >= SRC_FLOAT_MIN)
        print_text(p, "%s", floats[o->index - SRC_FLOAT_MIN]);
    else
        print_text(p, "%d",
                   o->index <= SRC_POSITIVE_MAX ? (int)o->index - SRC_ZERO
                                                : SRC_POSITIVE_MAX - (int)o->index);
}

void print_operand(struct printing *p, const struct operand *o)
{
    static const char *const apertures[] = {"src_shared_base", "src_shared_limit",
                                            "src_private_base", "src_private_limit"};
    const unsigned count = optype_registers((enum optype)o->type);
    switch (o->kind) {
    case OPERAND_VGPR:
        print_vgpr(p, o->index, count, 0);
        break;
    case OPERAND_SGPR:
        print_sgpr(p, o->index, count);
        break;
    case OPERAND_MASK:
        print_sgpr(p, o->index, 1);
        break;
    case OPERAND_APERTURE:
        print_text(p, "%s", apertures[o->index - SRC_SHARED_BASE]);
        break;
    case OPERAND_SCC:
        print_text(p, "src_scc");
        break;
    case OPERAND_VCCZ:
        print_text(p, "src_vccz");
        break;
    case OPERAND_EXECZ:
        print_text(p, "src_execz");
        break;
    case OPERAND_CONST:
        print_constant(p, o);
        break;
    default:
        break;
    }
}
