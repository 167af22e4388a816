/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_warp.h"

#include <stdio.h>
#include <string.h>

#include "floatop.h"
#include "lower.h"
#include "trace.h"

static const char *const exec_names[EXEC_COUNT_] = {
#define UNARY(name, D, A, expression) [EXEC_##name] = #name,
#define BINARY(name, D, A, B, expression) [EXEC_##name] = #name,
#define TERNARY(name, D, A, B, C, expression) [EXEC_##name] = #name,
#define COMPARE(name, A, expression)
#define PREDICATE(name, expression)
#define CUSTOM(name) [EXEC_##name] = #name,
#include "exec.def"
#undef UNARY
#undef BINARY
#undef TERNARY
#undef COMPARE
#undef PREDICATE
#undef CUSTOM
};

static uint64_t slot_value(const struct warp *w, uint32_t slot, int bits, uint32_t lane)
{
    uint64_t v = 0;
    if (slot)
        memcpy(&v, w->regs + slot + lane * (bits == 64 ? 8u : 4u), bits == 64 ? 8 : 4);
    return v;
}

/* "line 12: fma.rn.f32 %f1, %f2, %f3, %f4;" */
static void place_print(const struct warp *w, const struct inst *i, char *text, size_t size)
{
    const struct ptx_module *m = w->block->launch->image->module;
    const char *p = m->text, *end = m->text + m->size;
    for (uint32_t line = 1; line < i->line && p < end; p++)
        line += *p == '\n';
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    size_t n = 0;
    while (p + n < end && p[n] != '\n' && p[n] != ';')
        n++;
    snprintf(text, size, "PTX line %u: %.*s", (unsigned)i->line, (int)(n < 90 ? n : 90), p);
    for (char *c = text; *c; c++)
        *c = *c == '\t' ? ' ' : *c;
}

/* Does the executor compute with numbers, and how is it called? */
static bool is_arithmetic(const struct inst *i, char *name, size_t size)
{
    static const char *const any[] = {"add", "sub",  "mul", "fma", "div",
                                      "rcp", "sqrt", "min", "max"};
    const char *exec = exec_names[i->exec];
    if (!exec)
        return false;
    if (i->exec == EXEC_float_any && i->type2 < sizeof any / sizeof *any) {
        snprintf(name, size, "%s_%s", any[i->type2], ptx_types[i->type].name);
        return true;
    }
    if (!strncmp(exec, "approx_", 7)) {
        snprintf(name, size, "%s_%s", forms[i->form].op, exec + 7);
        return true;
    }
    snprintf(name, size, "%s", exec);
    return strstr(exec, "f32") || strstr(exec, "f64") || strstr(exec, "f16") ||
           i->exec == EXEC_mma || i->exec == EXEC_mma_f64;
}

static int element_bits(const char *name, int slot_bits)
{
    const char *to = strncmp(name, "cvt_", 4) ? strrchr(name, 'f') : strchr(name, 'f');
    if (to && !strncmp(to, "f16", 3) && !strstr(name, "x2"))
        return 16;
    return slot_bits == 64 ? 64 : 32;
}

struct seen {
    char name[48];
    bool arithmetic;
    int n, bits;
    uint64_t operand[3];
};

static void look_before(const struct warp *w, const struct inst *i, uint32_t lane,
                        struct seen *s)
{
    const struct exec_shape *shape = &exec_shapes[i->exec];
    const uint32_t slot[3] = {i->a, i->b, i->c};
    const int wide[3] = {shape->a, shape->b, shape->c};
    s->arithmetic = is_arithmetic(i, s->name, sizeof s->name);
    bool custom = !shape->d;
    int bits = custom ? ptx_types[i->type].bits : shape->d;
    for (int k = 0; k < 3; k++)
        if (slot[k] && (custom || wide[k] > 1))
            s->operand[s->n++] =
                slot_value(w, slot[k], custom ? (bits == 64 ? 64 : 32) : wide[k], lane);
    s->bits = element_bits(s->name, bits);
}

static void write_results(const struct warp *w, const struct inst *i, uint32_t lane,
                          const struct seen *s, const char *place)
{
    struct sim_trace *t = w->block->launch->trace;
    if (i->d) {
        sim_trace_op(t, s->name, s->bits, slot_value(w, i->d, s->bits, lane), s->n, s->operand,
                     place);
        return;
    }
    for (uint32_t k = 0; k < i->n_write; k++)
        sim_trace_op(t, s->name, 32, slot_value(w, i->list[k], 32, lane), 0, NULL, place);
}

static void write_loads(const struct warp *w, const struct inst *i, uint32_t lane,
                        const char *place)
{
    struct sim_trace *t = w->block->launch->trace;
    bool vector = i->exec == EXEC_ld_vector || i->exec == EXEC_ldmatrix;
    bool wide = vector ? i->flags & INST_WIDE : strstr(exec_names[i->exec], "64") != NULL;
    for (uint32_t k = 0; vector && k < i->n_list; k++)
        sim_trace_load(t, wide ? 64 : 32, slot_value(w, i->list[k], wide ? 64 : 32, lane),
                       place);
    if (!vector)
        sim_trace_load(t, wide ? 64 : 32, slot_value(w, i->d, wide ? 64 : 32, lane), place);
}

/* Every lane's store, or atomic, of this instruction. */
static void write_stores(const struct warp *w, const struct inst *i, uint32_t mask)
{
    struct sim_trace *t = w->block->launch->trace;
    bool vector = i->exec == EXEC_st_vector, wide = i->flags & INST_WIDE || i->size == 8;
    int bytes = i->exec == EXEC_st_8    ? 1
                : i->exec == EXEC_st_16 ? 2
                : i->exec == EXEC_st_32 ? 4
                : i->exec == EXEC_st_64 ? 8
                                        : i->size;
    for (uint32_t lane = 0; lane < WARP_LANES; lane++) {
        if (!(mask >> lane & 1))
            continue;
        uint64_t at = slot_value(w, i->a, i->flags & INST_ADDRESS64 ? 64 : 32, lane) + i->imm;
        uint32_t thread = w->index * WARP_LANES + lane;
        for (uint32_t k = 0; k < (vector ? i->n_list : 1u); k++)
            sim_trace_store(
                t, w->block->id, thread, at + k * (uint32_t)bytes, bytes,
                slot_value(w, vector ? i->list[k] : i->b, wide || bytes == 8 ? 64 : 32, lane));
    }
}

/* --- atomics: what memory held, and holds ----------------------------------------------------
 */

static uint64_t atomic_address(const struct warp *w, const struct inst *i, uint32_t lane)
{
    return slot_value(w, i->a, i->flags & INST_ADDRESS64 ? 64 : 32, lane) + i->imm;
}

/* Zero where the address is none: the instruction will say so. */
static uint64_t memory_value(const struct warp *w, uint64_t address, uint32_t bytes)
{
    uint64_t v = 0;
    if (bytes <= 8 && sim_memory_ok(w->block->launch->memory, address, bytes))
        memcpy(&v, (const void *)(uintptr_t)address, bytes);
    return v;
}

static void atomic_before(const struct warp *w, const struct inst *i, uint32_t mask,
                          uint64_t *old)
{
    for (uint32_t lane = 0; lane < WARP_LANES; lane++)
        old[lane] = mask >> lane & 1 ? memory_value(w, atomic_address(w, i, lane), i->size) : 0;
}

/* Lanes that meet at one place are told as if each had come first. */
static void atomic_after(const struct warp *w, const struct inst *i, uint32_t mask,
                         const uint64_t *old, uint32_t ours)
{
    struct sim_trace *t = w->block->launch->trace;
    for (uint32_t lane = 0; lane < WARP_LANES; lane++) {
        if (!(mask >> lane & 1))
            continue;
        uint64_t at = atomic_address(w, i, lane), now = memory_value(w, at, i->size);
        uint64_t operand[2] = {old[lane], slot_value(w, i->b, i->size == 8 ? 64 : 32, lane)};
        if (ours >> lane & 1 && i->round == WORD_add &&
            ptx_types[i->type].kind == TYPE_KIND_FLOAT) {
            char place[160];
            place_print(w, i, place, sizeof place);
            sim_trace_thread(t, w->index * WARP_LANES + lane);
            sim_trace_load(t, 8 * i->size, old[lane], place);
            sim_trace_op(t, "atomic_add", 8 * i->size, now, 2, operand, place);
        }
        sim_trace_store(t, w->block->id, w->index * WARP_LANES + lane, at, i->size, now);
    }
}

int trace_run(struct warp *w, const struct inst *i, uint32_t mask)
{
    struct sim_trace *t = w->block->launch->trace;
    const char *exec = exec_names[i->exec] ? exec_names[i->exec] : "";
    struct seen s[WARP_LANES] = {0};
    if (!sim_trace_block(t, w->block->id))
        return i->run(w, i, mask);
    const uint32_t first = w->index * WARP_LANES;
    const uint32_t ours = mask & sim_trace_lanes(t, first, WARP_LANES);
    uint64_t old[WARP_LANES];
    bool atomic =
        i->exec == EXEC_atom && (i->space == SPACE_GLOBAL || i->space == SPACE_GENERIC);
    if (!strncmp(exec, "st_", 3))
        write_stores(w, i, mask);
    if (atomic)
        atomic_before(w, i, mask, old);
    for (uint32_t lane = 0; lane < WARP_LANES; lane++)
        if (ours >> lane & 1)
            look_before(w, i, lane, &s[lane]);
    int r = i->run(w, i, mask);
    if (atomic && r == RUN_NEXT)
        atomic_after(w, i, mask, old, ours);
    bool load = !strncmp(exec, "ld_", 3) || i->exec == EXEC_ldmatrix;
    char place[160] = "";
    for (uint32_t lane = 0; lane < WARP_LANES && r == RUN_NEXT; lane++) {
        if (!(ours >> lane & 1) || !(load || s[lane].arithmetic))
            continue;
        if (!place[0])
            place_print(w, i, place, sizeof place);
        sim_trace_thread(t, first + lane);
        if (load)
            write_loads(w, i, lane, place);
        else
            write_results(w, i, lane, &s[lane], place);
    }
    return r;
}
