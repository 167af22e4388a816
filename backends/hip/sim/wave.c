/* SPDX-License-Identifier: Apache-2.0 */
#include "wave.h"

#include <stdio.h>
#include <string.h>

#include "codemap.h"
#include "exec.h"
#include "sourceline.h"
#include "taint.h"
#include "trace_wave.h"

void wave_mode_set(struct wave *w, uint32_t mode)
{
    w->mode = mode;
    w->plain = (mode & 0xff) == MODE_DEFAULT_FLOAT;
}

int wave_run(struct wave *w, uint64_t limit)
{
    struct codemap *code = w->block->code;
    uint64_t n = 0;
    int event = WAVE_GOES_ON;
    const bool traced = w->block->trace != NULL;
    while (n < limit) {
        if (w->pc >= code->count) {
            event = wave_fault(w, NULL, SIM_FAULT_ADDRESS, -1, wave_address(w, w->pc),
                               "runs outside its code");
            break;
        }
        const struct inst *i = codemap_at(code, w->pc);
        w->pc += i->advance;
        n++;
        event = __builtin_expect(w->taint != NULL, 0) ? taint_run(w, i)
                : __builtin_expect(traced, 0)         ? trace_run(w, i)
                                                      : i->exec(w, i);
        if (event)
            break;
    }
    w->instructions += n;
    w->event = event;
    return event;
}

uint64_t wave_address(const struct wave *w, uint32_t pc)
{
    return w->block->code->address + 4 * (uint64_t)pc;
}

int wave_jump(struct wave *w, const struct inst *i, uint64_t address)
{
    const struct codemap *m = w->block->code;
    const uint64_t off = address - m->address;
    if (off % 4 || off / 4 >= m->count)
        return wave_fault(w, i, SIM_FAULT_ADDRESS, -1, address, "jumps to where no code is");
    w->pc = (uint32_t)(off / 4);
    return WAVE_GOES_ON;
}

/* --- hardware registers
 * ----------------------------------------------------------------------- */

enum { HWREG_MODE = 1, HWREG_STATUS = 2, HWREG_SHADER_CYCLES = 29 };

static uint32_t field_mask(int32_t field)
{
    const uint32_t width = ((uint32_t)field >> 11 & 31) + 1;
    return width == 32 ? ~0u : (1u << width) - 1;
}

uint32_t wave_register_get(const struct wave *w, int32_t field)
{
    uint32_t v = 0;
    switch (field & 63) {
    case HWREG_MODE:
        v = w->mode;
        break;
    case HWREG_STATUS:
        v = w->scc | (w->s[WAVE_EXEC] == 0) << 9 | (w->s[WAVE_VCC] == 0) << 10;
        break;
    case HWREG_SHADER_CYCLES:
        v = (uint32_t)w->instructions & 0xfffff;
        break;
    default:
        break;
    }
    return v >> (field >> 6 & 31) & field_mask(field);
}

int wave_register_set(struct wave *w, const struct inst *i, uint32_t value)
{
    const int32_t field = i->imm;
    if ((field & 63) != HWREG_MODE)
        return WAVE_GOES_ON;
    const uint32_t low = (uint32_t)field >> 6 & 31, mask = field_mask(field) << low;
    wave_mode_set(w, (w->mode & ~mask) | (value << low & mask));
    return w->mode & MODE_FP16_OVFL
               ? wave_fault(w, i, SIM_FAULT_INSTRUCTION, -1, 0,
                            "sets FP16_OVFL, which this simulator does not model")
               : WAVE_GOES_ON;
}

/* --- faults
 * ----------------------------------------------------------------------------------- */

void wave_place(const struct wave *w, uint64_t pc, char *ret, size_t size)
{
    char line[160];
    const bool known = sourceline_find(w->block->code->lines, 4 * pc, line, sizeof line);
    snprintf(ret, size, "code + 0x%llx%s%s%s", (unsigned long long)(4 * pc), known ? " (" : "",
             known ? line : "", known ? ")" : "");
}

static void place_print(const struct wave *w, const struct inst *i, char *ret, size_t size)
{
    char text[128] = "";
    const struct codemap *m = w->block->code;
    size_t pc = w->pc;
    if (i) {
        pc =
            i >= m->inst && i < m->inst + m->count ? (size_t)(i - m->inst) : w->pc - i->advance;
        inst_print(i, m->word + pc, text, sizeof text);
    }
    char at[200];
    wave_place(w, pc, at, sizeof at);
    snprintf(ret, size, "%s%s%s at %s", i ? "`" : "", text, i ? "`" : "", at);
}

int wave_fault(struct wave *w, const struct inst *i, enum sim_fault_kind kind, int lane,
               uint64_t address, const char *what)
{
    char place[340], who[32] = "";
    struct sim_fault *f = w->block->fault;
    place_print(w, i, place, sizeof place);
    if (lane >= 0)
        snprintf(who, sizeof who, ", thread %u", w->number * WAVE_LANES + (unsigned)lane);
    if (f->kind == SIM_FAULT_NONE) {
        f->address = address;
        f->pc = wave_address(w, i ? w->pc - i->advance : w->pc);
        f->lane = lane < 0 ? -1 : (int)(w->number * WAVE_LANES) + lane;
        memcpy(f->block, w->block->id, sizeof f->block);
    }
    sim_fault_set(f, kind, "kernel %s, block (%u,%u,%u)%s: %s %s", w->block->kernel,
                  w->block->id[0], w->block->id[1], w->block->id[2], who, place, what);
    return WAVE_FAULT;
}

int wave_trap(struct wave *w, const struct inst *i, const char *why)
{
    return wave_fault(w, i, SIM_FAULT_TRAP, -1, 0, why);
}

int wave_bad_address(struct wave *w, const struct inst *i, int lane, uint64_t address,
                     uint32_t size, const char *what)
{
    char where[160], text[256];
    enum sim_fault_kind kind =
        sim_memory_explain(w->block->memory, address, size, where, sizeof where);
    snprintf(text, sizeof text, "%s %u bytes at 0x%llx: %s", what, size,
             (unsigned long long)address, where);
    return wave_fault(w, i, kind ? kind : SIM_FAULT_ADDRESS, lane, address, text);
}

int exec_unknown(struct wave *w, const struct inst *i)
{
    const struct codemap *m = w->block->code;
    const size_t pc = w->pc - i->advance;
    const char *why = "unknown instruction";
    struct inst again;
    char text[160];
    inst_decode(m->word + pc, m->count - pc, &again, &why);
    snprintf(text, sizeof text, "is %s (words 0x%08x 0x%08x); this simulator executes gfx1100",
             why, m->word[pc], pc + 1 < m->count ? m->word[pc + 1] : 0);
    return wave_fault(w, NULL, SIM_FAULT_INSTRUCTION, -1, 0, text);
}
