/* SPDX-License-Identifier: Apache-2.0 */
#include "taint.h"

#include <stdio.h>
#include <string.h>

#include "watch.h"

void taint_start(struct taint *t, const struct wave *w, unsigned scalars, uint8_t *scratch)
{
    struct wave *s = &t->shadow;
    memset(s, 0, sizeof *s);
    memset(t->v, 0xff, sizeof t->v);
    memset(t->dirty, 1, sizeof t->dirty);
    for (unsigned n = scalars; n < WAVE_EXEC; n++)
        s->s[n] = n >= WAVE_VCC + 2 && n < WAVE_NULL ? 0 : ~0u;
    s->s[WAVE_EXEC] = w->s[WAVE_EXEC];
    s->scc = 1;
    s->v = t->v;
    s->block = w->block;
    for (int l = 0; l < WAVE_LANES; l++)
        t->v[0][l] = w->s[WAVE_EXEC] >> l & 1 ? 0 : ~0u;
    t->scratch = scratch;
    t->read_space = NULL;
}

void taint_store(struct taint *t, unsigned reg, const uint32_t *r, uint32_t mask, uint32_t bits)
{
    uint32_t any = 0, *d = t->v[reg];
    for (int l = 0; l < WAVE_LANES; l++) {
        const uint32_t change = mask >> l & 1 ? bits : 0;
        d[l] = (d[l] & ~change) | (r[l] & change);
        any |= d[l];
    }
    t->dirty[reg] = any != 0;
}

int taint_found(struct wave *w, const struct inst *i, int lane, const char *what)
{
    const struct taint *t = w->taint;
    char text[320], place[200];
    wave_place(w, t->read_pc, place, sizeof place);
    if (t->read_space)
        snprintf(text, sizeof text,
                 "%s that nobody has set; the wave last read such bytes of %s at %s%s", what,
                 t->read_space, place,
                 strcmp(t->read_space, "shared memory") == 0 ? ": is a barrier missing?" : "");
    else
        snprintf(text, sizeof text, "%s that nobody has set: a register without a value", what);
    return wave_fault(w, i, SIM_FAULT_UNINITIALISED, lane, 0, text);
}

void taint_read(struct wave *w, const struct inst *i, const char *space)
{
    w->taint->read_space = space;
    w->taint->read_pc = w->pc - i->advance;
}

int taint_exec(struct wave *w, const struct inst *i, uint32_t unset)
{
    w->taint->shadow.s[WAVE_EXEC] = w->s[WAVE_EXEC];
    if (unset)
        return taint_found(w, i, __builtin_ctz(unset), "branches on something");
    return WAVE_GOES_ON;
}

/* --- memory */

static bool row_unset(const struct taint *t, unsigned reg, uint32_t mask, int *ret_lane)
{
    if (!t->dirty[reg])
        return false;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        *ret_lane = __builtin_ctz(rest);
        if (t->v[reg][*ret_lane])
            return true;
    }
    return false;
}

static int buffer_check(struct wave *w, const struct inst *i)
{
    const struct taint *t = w->taint;
    const uint32_t exec = w->s[WAVE_EXEC];
    uint32_t scalars = i->src[1].kind == OPERAND_SGPR ? t->shadow.s[i->src[1].index] : 0;
    int lane = -1;
    for (unsigned n = 0; n < 4; n++)
        scalars |= t->shadow.s[i->saddr + n];
    const bool both = i->idxen && i->offen;
    if ((exec && scalars) ||
        ((i->idxen || i->offen) && row_unset(t, i->address, exec, &lane)) ||
        (both && row_unset(t, i->address + 1u, exec, &lane)))
        return taint_found(w, i, lane, "uses an address");
    return WAVE_GOES_ON;
}

static int address_check(struct wave *w, const struct inst *i)
{
    static const char what[] = "uses an address";
    const struct taint *t = w->taint;
    const uint32_t exec = w->s[WAVE_EXEC];
    int lane = -1;
    const bool scalar =
        i->encoding == ENC_FLAT || i->encoding == ENC_GLOBAL || i->encoding == ENC_SCRATCH;
    if (scalar && exec && i->saddr != WAVE_NULL &&
        (t->shadow.s[i->saddr] || (i->encoding == ENC_GLOBAL && t->shadow.s[i->saddr + 1])))
        return taint_found(w, i, -1, what);
    if (i->encoding == ENC_DS && i->code->s[0] == T_Z)
        return t->shadow.s[WAVE_M0] & 0xffff && exec ? taint_found(w, i, -1, what)
                                                     : WAVE_GOES_ON;
    if (i->encoding == ENC_SCRATCH && !i->sve)
        return WAVE_GOES_ON;
    const bool wide =
        i->encoding == ENC_FLAT || (i->encoding == ENC_GLOBAL && i->saddr == WAVE_NULL);
    if (row_unset(t, i->address, exec, &lane) ||
        (wide && row_unset(t, i->address + 1u, exec, &lane)))
        return taint_found(w, i, lane, what);
    return WAVE_GOES_ON;
}

/* Instructions of the DS unit that only move between lanes. */
static int lanes_moved(struct wave *w, const struct inst *i)
{
    struct taint *t = w->taint;
    wave_row r;
    if (i->code->exec == exec_ds_nop)
        return i->exec(w, i);
    if (i->code->exec == exec_ds_permute) {
        permute_row(w, i, t->v[i->src[0].index], r);
        const bool forward = strcmp(i->code->name, "ds_permute_b32") == 0;
        int some;
        for (int l = 0; l < WAVE_LANES; l++)
            if (t->v[i->address][l] ||
                (forward && row_unset(t, i->address, w->s[WAVE_EXEC], &some)))
                r[l] = ~0u; /* from or to a lane nobody has chosen */
        taint_store(t, i->d, r, w->s[WAVE_EXEC], ~0u);
    } else {
        const int event = i->exec(&t->shadow, i);
        t->dirty[i->d] = true;
        if (event)
            return event;
    }
    return i->exec(w, i);
}

static int memory_run(struct wave *w, const struct inst *i)
{
    exec_fn *const own = i->code->exec;
    if (own == exec_ds_permute || own == exec_ds_swizzle || own == exec_ds_nop)
        return lanes_moved(w, i);
    const int found = i->encoding != ENC_MUBUF   ? address_check(w, i)
                      : own == exec_smem_nothing ? WAVE_GOES_ON
                                                 : buffer_check(w, i);
    if (found)
        return found;
    const int event = i->exec(w, i);
    if (own == exec_ds_append)
        taint_store(w->taint, i->d, (wave_row){0}, w->s[WAVE_EXEC], ~0u);
    return event;
}

/* One lane's bytes: where the map of set bits lies, NULL for global memory. */
static uint8_t *known_bytes(const struct wave *w, const uint8_t *p, const char **ret_space)
{
    const struct block *b = w->block;
    const uint64_t private_size = (uint64_t)b->scratch_size * WAVE_LANES;
    *ret_space = "global memory";
    if (p >= b->lds && p < b->lds + b->lds_size) {
        *ret_space = "shared memory";
        return b->watch->known + (p - b->lds);
    }
    if (w->scratch && p >= w->scratch && p < w->scratch + private_size) {
        *ret_space = "private memory";
        return w->taint->scratch + (p - w->scratch);
    }
    return NULL;
}

/* Up to 16 bytes' unset bits. */
static bool unset_bytes(const struct wave *w, const uint8_t *p, unsigned size, uint8_t *ret,
                        const char **ret_space)
{
    const uint8_t *known = known_bytes(w, p, ret_space);
    uint8_t any = 0;
    if (!known && watch_written(w->block->watch->watch, p, size)) {
        memset(ret, 0, size);
        return false;
    }
    for (unsigned n = 0; n < size; n++) {
        ret[n] = known                                             ? (uint8_t)~known[n]
                 : watch_written(w->block->watch->watch, p + n, 1) ? 0
                                                                   : 0xff;
        any |= ret[n];
    }
    return any != 0;
}

/* The registers of a lane after a load of such bytes. */
static void lane_loaded(struct wave *w, const struct access *a, int lane, const uint8_t *unset)
{
    struct taint *t = w->taint;
    for (unsigned n = 0; n < (a->size + 3) / 4; n++) {
        uint32_t *d = &t->v[a->loaded + n][lane], word;
        memcpy(&word, unset + 4 * n, 4);
        *d = a->size >= 4
                 ? word
                 : lane_extended(*d, unset, a->size, (enum mem_extend)a->inst->code->detail);
        t->dirty[a->loaded + n] |= *d != 0;
    }
}

void taint_clear(struct wave *w, const struct access *a, int lane, unsigned reg, unsigned bytes)
{
    const struct access zeros = {.inst = a->inst, .size = bytes, .loaded = reg};
    lane_loaded(w, &zeros, lane, (const uint8_t[16]){0});
}

/* The unset bits of what a lane stores. */
static bool unset_data(const struct wave *w, const struct access *a, int lane, uint8_t *ret)
{
    const struct taint *t = w->taint;
    uint32_t any = 0;
    for (unsigned n = 0; n < (a->size + 3) / 4; n++) {
        const unsigned reg = a->data + n;
        uint32_t u = reg < WAVE_VGPRS && t->dirty[reg] ? t->v[reg][lane] : 0;
        if (a->size < 4) {
            u >>= a->inst->code->form == FORM_STORE && a->inst->code->detail ? 16 : 0;
            u &= (1u << 8 * a->size) - 1;
        }
        memcpy(ret + 4 * n, &u, 4);
        any |= u;
    }
    return any != 0;
}

/* `old`: the unset bits of what lay there. */
static int lane_stored(struct wave *w, const struct access *a, int lane, uint8_t *known,
                       bool old)
{
    const bool atomic = a->inst->code->form == FORM_ATOMIC;
    uint8_t unset[16] = {0};
    bool any = a->data < WAVE_VGPRS && unset_data(w, a, lane, unset);
    if (atomic && a->inst->code->fn != atomic_swap)
        any |= old;
    if (!known)
        return any ? taint_found(w, a->inst, lane,
                                 atomic ? "updates global memory from something"
                                        : "stores something to global memory")
                   : WAVE_GOES_ON;
    if (atomic && any)
        memset(unset, 0xff, sizeof unset);
    for (unsigned n = 0; n < a->size; n++)
        known[n] = (uint8_t)~unset[n];
    return WAVE_GOES_ON;
}

int taint_access(struct wave *w, const struct access *a, uint8_t *const pointer[WAVE_LANES])
{
    for (uint32_t rest = a->mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        const char *space;
        uint8_t unset[16] = {0};
        uint8_t *known = known_bytes(w, pointer[lane], &space);
        const bool plain_store =
            a->writes && a->inst->code->form != FORM_ATOMIC && a->loaded == WAVE_VGPRS;
        const bool old = !plain_store && unset_bytes(w, pointer[lane], a->size, unset, &space);
        if (old)
            taint_read(w, a->inst, space);
        if (a->writes && lane_stored(w, a, lane, known, old))
            return WAVE_FAULT;
        if (a->loaded < WAVE_VGPRS)
            lane_loaded(w, a, lane, unset);
    }
    return WAVE_GOES_ON;
}

int taint_run(struct wave *w, const struct inst *i)
{
    if (!i->code)
        return i->exec(w, i);
    switch ((enum encoding)i->encoding) {
    case ENC_SOP2:
    case ENC_SOP1:
    case ENC_SOPC:
    case ENC_SOPK:
    case ENC_SOPP:
        return taint_scalar(w, i);
    case ENC_SMEM:
        return taint_smem(w, i);
    case ENC_VOP1:
    case ENC_VOP2:
    case ENC_VOPC:
    case ENC_VOP3:
    case ENC_VOP3SD:
    case ENC_VOP3P:
    case ENC_VOPD:
        return taint_vector(w, i);
    case ENC_DS:
    case ENC_FLAT:
    case ENC_SCRATCH:
    case ENC_GLOBAL:
    case ENC_MUBUF:
        return memory_run(w, i);
    case ENC_COUNT_:
        break;
    }
    return i->exec(w, i);
}
