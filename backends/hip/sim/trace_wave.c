/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_wave.h"

#include <stdio.h>
#include <string.h>

#include "../../sim/trace.h"
#include "address.h"
#include "codemap.h"
#include "exec.h"

static uint64_t vector_value(const struct wave *w, unsigned index, unsigned lane, bool is64,
                             bool is16, bool high)
{
    uint64_t v = w->v[index][lane];
    if (is64 && index + 1 < WAVE_VGPRS)
        v |= (uint64_t)w->v[index + 1][lane] << 32;
    return is16 ? (v >> (high ? 16 : 0)) & 0xffff : v;
}

static uint64_t operand_value(const struct wave *w, const struct inst *i, int k, unsigned lane)
{
    const struct operand *o = &i->src[k];
    bool is64 = optype_is64((enum optype)o->type), is16 = optype_is16((enum optype)o->type);
    uint64_t v = o->kind == OPERAND_VGPR ? vector_value(w, o->index, lane, is64, is16, o->high)
                 : is64                  ? scalar_64(w, o)
                                         : scalar_32(w, o);
    uint64_t sign = UINT64_C(1) << (is64 ? 63 : is16 ? 15 : 31);
    if (is16)
        v &= 0xffff;
    if (i->abs >> k & 1)
        v &= ~sign;
    return i->neg >> k & 1 ? v ^ sign : v;
}

static bool is_arithmetic(const struct inst *i)
{
    const char *name = i->code->name;
    return !strncmp(name, "v_", 2) && i->code->form != FORM_COMPARE &&
           i->code->form != FORM_COMPAREX &&
           (strstr(name, "_f32") || strstr(name, "_f64") || strstr(name, "_f16") ||
            strstr(name, "wmma"));
}

static int result_registers(const struct inst *i)
{
    return !strncmp(i->code->name, "v_wmma", 6) ? 8 : 1;
}

struct seen {
    int n;
    uint64_t operand[3];
};

static void look_before(const struct wave *w, const struct inst *i, unsigned lane,
                        struct seen *s)
{
    if (result_registers(i) > 1)
        return;
    for (int k = 0; k < 3; k++)
        if (i->src[k].kind != OPERAND_NONE && i->src[k].kind != OPERAND_MASK)
            s->operand[s->n++] = operand_value(w, i, k, lane);
}

static void write_results(const struct wave *w, const struct inst *i, unsigned lane,
                          const struct seen *s, const char *place)
{
    bool is64 = optype_is64((enum optype)i->code->d),
         is16 = optype_is16((enum optype)i->code->d);
    for (int r = 0; r < result_registers(i); r++)
        sim_trace_op(w->block->trace, i->code->name,
                     is64   ? 64
                     : is16 ? 16
                            : 32,
                     vector_value(w, i->d + (unsigned)r, lane, is64, is16, i->d_high), s->n,
                     s->operand, place);
}

static void write_loads(const struct wave *w, const struct inst *i, unsigned lane,
                        const char *place)
{
    unsigned words = i->code->bytes > 4 ? i->code->bytes / 4u : 1u;
    for (unsigned k = 0; k < words && i->d + k < WAVE_VGPRS; k++)
        sim_trace_load(w->block->trace, 32, w->v[i->d + k][lane], place);
}

static void write_stores(const struct wave *w, const struct inst *i)
{
    const uint32_t mask = w->s[WAVE_EXEC];
    const unsigned bytes = i->code->bytes, part = bytes < 4 ? bytes : 4;
    const bool high = i->code->form == FORM_STORE && bytes < 4 && i->code->detail;
    for (unsigned lane = 0; lane < WAVE_LANES; lane++) {
        if (!(mask >> lane & 1))
            continue;
        uint32_t inside = bytes;
        const uint64_t at = i->encoding == ENC_MUBUF ? buffer_lane(w, i, (int)lane, &inside)
                                                     : address_lane(w, i, (int)lane);
        for (unsigned k = 0; k * part < inside; k++)
            sim_trace_store(
                w->block->trace, w->block->id, w->number * WAVE_LANES + lane, at + 4 * k, (int)part,
                vector_value(w, i->src[0].index + k, lane, false, bytes == 2, high));
    }
}

static void place_of(const struct wave *w, const struct inst *i, char *text, size_t size)
{
    char inst[128], at[200];
    const struct codemap *m = w->block->code;
    size_t pc = i >= m->inst && i < m->inst + m->count ? (size_t)(i - m->inst) : w->pc;
    inst_print(i, m->word + pc, inst, sizeof inst);
    wave_place(w, pc, at, sizeof at);
    snprintf(text, size, "%s: %s", at, inst);
    for (char *c = text; *c; c++)
        *c = *c == '\n' || *c == '\t' ? ' ' : *c;
}

static bool is_load(const struct inst *i)
{
    const bool memory = i->encoding == ENC_GLOBAL || i->encoding == ENC_FLAT ||
                        i->encoding == ENC_MUBUF || i->encoding == ENC_DS;
    return memory && (i->code->form == FORM_LOAD || i->code->form == FORM_LOAD2);
}

/* One lane's results of an instruction or a pair. */
static void write_lane(const struct wave *w, const struct inst *i, const struct inst *second,
                       unsigned lane, const struct seen seen[2], const char *place)
{
    sim_trace_thread(w->block->trace, w->number * WAVE_LANES + lane);
    if (is_load(i))
        write_loads(w, i, lane, place);
    if (is_arithmetic(i))
        write_results(w, i, lane, &seen[0], place);
    if (second && is_arithmetic(second))
        write_results(w, second, lane, &seen[1], place);
}

int trace_run(struct wave *w, const struct inst *i)
{
    const struct sim_trace *t = w->block->trace;
    const uint32_t ours =
        w->s[WAVE_EXEC] & sim_trace_lanes(t, w->number * WAVE_LANES, WAVE_LANES);
    const bool memory = i->encoding == ENC_GLOBAL || i->encoding == ENC_FLAT ||
                        i->encoding == ENC_MUBUF;
    const struct inst *second = i->encoding == ENC_VOPD ? i->pair : NULL;
    const bool told = ours && (is_load(i) || is_arithmetic(i) || second);
    struct seen seen[WAVE_LANES][2] = {0};
    char place[400] = "";
    if (memory && (i->code->form == FORM_STORE || i->code->form == FORM_ATOMIC))
        write_stores(w, i);
    if (told)
        place_of(w, i, place, sizeof place);
    for (unsigned lane = 0; lane < WAVE_LANES && told; lane++) {
        if (!(ours >> lane & 1))
            continue;
        if (is_arithmetic(i))
            look_before(w, i, lane, &seen[lane][0]);
        if (second)
            look_before(w, second, lane, &seen[lane][1]);
    }
    const int event = i->exec(w, i);
    for (unsigned lane = 0; lane < WAVE_LANES && told && event == WAVE_GOES_ON; lane++)
        if (ours >> lane & 1)
            write_lane(w, i, second, lane, seen[lane], place);
    return event;
}
