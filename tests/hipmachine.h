/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIPMACHINE_H
#define GPUPARITY_HIPMACHINE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codemap.h"
#include "exec.h"
#include "wave.h"

/* One wave in a state that lines of data/hip_sim/instructions.tsv describe. */

enum { WORDS = 16, MEMORY = 4096, SCRATCH = 1024 };

struct machine {
    struct sim_memory memory;
    struct codemap code;
    uint32_t word[WORDS];
    struct block block;
    struct wave wave;
    wave_row v[WAVE_VGPRS];
    uint8_t lds[MEMORY], scratch[WAVE_LANES * SCRATCH];
    uint8_t *global;
    struct sim_fault fault;
};

static void pattern_fill(uint8_t *p, size_t size)
{
    for (size_t n = 0; n < size; n++)
        p[n] = (uint8_t)(37 * n + 11);
}

static void machine_start(struct machine *m)
{
    struct wave *w = &m->wave;
    memset(w, 0, sizeof *w);
    memset(m->v, 0, sizeof m->v);
    memset(&m->fault, 0, sizeof m->fault);
    pattern_fill(m->global, MEMORY);
    pattern_fill(m->lds, MEMORY);
    for (int lane = 0; lane < WAVE_LANES; lane++)
        pattern_fill(m->scratch + lane * SCRATCH, SCRATCH);
    m->block = (struct block){.memory = &m->memory,
                              .code = &m->code,
                              .kernel = "test",
                              .lds = m->lds,
                              .lds_size = MEMORY,
                              .scratch_size = SCRATCH,
                              .fault = &m->fault};
    w->block = &m->block;
    w->v = m->v;
    w->scratch = m->scratch;
    w->s[WAVE_EXEC] = 0xff;
    wave_mode_set(w, MODE_DEFAULT_FLOAT | MODE_IEEE | MODE_DX10_CLAMP);
    const uint64_t g = (uintptr_t)m->global;
    w->s[2] = w->s[4] = (uint32_t)g;
    w->s[3] = w->s[5] = (uint32_t)(g >> 32);
    w->s[6] = 256;
    w->s[64] = (uint32_t)g; /* a buffer of 8 records of 16 bytes */
    w->s[65] = (uint32_t)(g >> 32) | 16 << 16;
    w->s[66] = 8;
    for (unsigned lane = 0; lane < WAVE_LANES; lane++) {
        m->v[1][lane] = 64 * lane;
        m->v[2][lane] = (uint32_t)(g + 64 * lane);
        m->v[3][lane] = (uint32_t)((g + 64 * lane) >> 32);
    }
}

static uint32_t *word_at(uint8_t *base, unsigned long at)
{
    return (uint32_t *)(void *)(base + at);
}

/* Where a name of the state lies; NULL for those that are no plain words. */
static uint32_t *slot(struct machine *m, const char *name, unsigned lane)
{
    struct wave *w = &m->wave;
    const unsigned long n = strtoul(name + 1, NULL, 10);
    if (strcmp(name, "vcc") == 0)
        return &w->s[WAVE_VCC];
    if (strcmp(name, "exec") == 0)
        return &w->s[WAVE_EXEC];
    if (strcmp(name, "exec_hi") == 0)
        return &w->s[WAVE_EXEC + 1];
    if (strcmp(name, "m0") == 0)
        return &w->s[WAVE_M0];
    if (strcmp(name, "scc") == 0)
        return &w->scc;
    if (strcmp(name, "pc") == 0)
        return &w->pc;
    if (strcmp(name, "mode") == 0)
        return &w->mode;
    switch (name[0]) {
    case 'v':
        return &m->v[n][lane];
    case 's':
        return &w->s[n];
    case 'g':
        return word_at(m->global, n);
    case 'l':
        return word_at(m->lds, n);
    case 'p': /* private memory of the lane that has byte n */
        return word_at(m->scratch + n / 64 * SCRATCH, n);
    default:
        return NULL;
    }
}

typedef void visit_fn(struct machine *m, const char *name, unsigned lane, uint32_t value,
                      const char *line);

static void state_visit(struct machine *m, const char *text, visit_fn *visit, const char *line)
{
    char copy[16384], *next, *item;
    snprintf(copy, sizeof copy, "%s", text);
    for (item = strtok_r(copy, " \n", &next); item; item = strtok_r(NULL, " \n", &next)) {
        char *equals = strchr(item, '=');
        ck_assert_ptr_nonnull(equals);
        *equals = 0;
        char *at = equals + 1;
        for (unsigned lane = 0; *at; lane++) {
            visit(m, item, lane, (uint32_t)strtoul(at, &at, 16), line);
            at += *at == ',';
        }
    }
}

static void put(struct machine *m, const char *name, unsigned lane, uint32_t value,
                const char *line)
{
    (void)line;
    if (strcmp(name, "mode") == 0)
        wave_mode_set(&m->wave, value | (m->wave.mode & ~0xffu));
    else
        *slot(m, name, lane) = value;
}

/* The four fields of a line, which is cut, and its words in the machine. Returns how many. */
static int line_words(struct machine *m, char *line, char *field[4])
{
    int words = 0;
    for (int n = 0; n < 4; n++) {
        field[n] = n ? strchr(field[n - 1], '\t') : line;
        ck_assert_msg(field[n] != NULL, "four fields: %.200s", line);
        if (n)
            *field[n]++ = 0;
    }
    for (char *at = field[1]; *at && words < 4;)
        m->word[words++] = (uint32_t)strtoul(at, &at, 16);
    for (int n = words; n < WORDS; n++)
        m->word[n] = 0xbfb00000; /* s_endpgm */
    return words;
}

static void machine_open(struct machine *m)
{
    ck_assert_int_eq(sim_memory_init(&m->memory, 1 << 20), 0);
    m->global = (uint8_t *)(uintptr_t)sim_memory_alloc(&m->memory, MEMORY);
    ck_assert_ptr_nonnull(m->global);
}

#endif
