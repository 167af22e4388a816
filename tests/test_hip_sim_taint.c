/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

#include "hipmachine.h"
#include "suite.h"
#include "taint.h"

/* Bits that nobody has set, through every instruction that works on registers: whatever they
 * are filled with, the bits of the result that the simulator calls set come out the same. Lines
 * of data/hip_sim/instructions.tsv, with some bits of the registers they name declared unset.
 */

enum { FILLS = 6, SCALARS = WAVE_EXEC };

struct trial {
    struct machine m;
    struct taint taint;
    struct wave start; /* and the registers before the instruction */
    wave_row start_v[WAVE_VGPRS];
    uint32_t unset_s[SCALARS], first_s[SCALARS], first_scc;
    wave_row unset_v[WAVE_VGPRS], first_v[WAVE_VGPRS];
    uint64_t random;
    int followed;
};

static uint32_t random_next(struct trial *t)
{
    t->random = t->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(t->random >> 32);
}

/* Whole registers, single bits, halves, bytes. */
static uint32_t mask_draw(struct trial *t)
{
    static const uint32_t masks[] = {~0u, 0xffff, 0xffff0000, 0xff, 0xff00, 0x80000000, 1, 0};
    const uint32_t n = random_next(t) % 12;
    return n < 8 ? masks[n] : 1u << random_next(t) % 32;
}

static void unset_draw(struct machine *m, const char *name, unsigned lane, uint32_t value,
                       const char *line)
{
    struct trial *t = (struct trial *)(void *)m;
    const unsigned long n = strtoul(name + 1, NULL, 10);
    (void)value, (void)line;
    if (random_next(t) % 3 == 0)
        return;
    if (name[0] == 'v' && name[1] != 'c')
        t->unset_v[n][lane] = mask_draw(t);
    else if (name[0] == 's' && name[1] != 'c')
        t->unset_s[n] = mask_draw(t);
    else if (strcmp(name, "vcc") == 0)
        t->unset_s[WAVE_VCC] = mask_draw(t);
}

/* The registers as at the start, the unset bits filled anew. */
static void fill(struct trial *t)
{
    t->m.wave = t->start;
    memcpy(t->m.v, t->start_v, sizeof t->m.v);
    for (int n = 0; n < SCALARS; n++)
        if (t->unset_s[n])
            t->m.wave.s[n] =
                (t->start.s[n] & ~t->unset_s[n]) | (random_next(t) & t->unset_s[n]);
    for (int n = 0; n < WAVE_VGPRS; n++)
        for (int l = 0; l < WAVE_LANES; l++)
            if (t->unset_v[n][l])
                t->m.v[n][l] = (t->start_v[n][l] & ~t->unset_v[n][l]) |
                               (random_next(t) & t->unset_v[n][l]);
}

static void taint_set(struct trial *t)
{
    taint_start(&t->taint, &t->start, SCALARS, NULL);
    memcpy(t->taint.shadow.s, t->unset_s, sizeof t->unset_s);
    t->taint.shadow.s[WAVE_EXEC] = t->start.s[WAVE_EXEC];
    t->taint.shadow.scc = 0;
    memcpy(t->taint.v, t->unset_v, sizeof t->unset_v);
}

static void differs(const struct trial *t, const char *line, char kind, int n, int lane)
{
    ck_abort_msg("%s\n  %c%d lane %d depends on bits that are not set: %s", line, kind, n, lane,
                 t->m.fault.text);
}

static void same_where_set(const struct trial *t, const char *line)
{
    for (int n = 0; n < SCALARS; n++)
        if ((t->m.wave.s[n] ^ t->first_s[n]) & ~t->taint.shadow.s[n])
            differs(t, line, 's', n, 0);
    if (t->m.wave.scc != t->first_scc && !t->taint.shadow.scc)
        differs(t, line, 'c', 0, 0);
    if (t->m.wave.s[WAVE_EXEC] != t->taint.shadow.s[WAVE_EXEC])
        differs(t, line, 'e', 0, 0);
    for (int n = 0; n < WAVE_VGPRS; n++)
        for (int l = 0; l < WAVE_LANES; l++)
            if ((t->m.v[n][l] ^ t->first_v[n][l]) & ~t->taint.v[n][l])
                differs(t, line, 'v', n, l);
}

static bool works_on_registers(const struct inst *i)
{
    if (i->encoding == ENC_DS)
        return i->code->exec == exec_ds_permute || i->code->exec == exec_ds_swizzle;
    return i->encoding <= ENC_VOPD && i->encoding != ENC_SMEM &&
           !strstr(i->code->name, "pc_b64") && !strstr(i->code->name, "setreg");
}

static void line_follow(struct trial *t, char *line)
{
    char *field[4], whole[256];
    struct machine *m = &t->m;
    snprintf(whole, sizeof whole, "%.200s", line);
    line_words(m, line, field);
    codemap_release(&m->code);
    ck_assert_int_eq(codemap_init(&m->code, m->word, WORDS, 0x1000), 0);
    const struct inst *i = codemap_at(&m->code, 0);
    if (!works_on_registers(i))
        return;
    machine_start(m);
    state_visit(m, field[2], put, whole);
    t->start = m->wave;
    memcpy(t->start_v, m->v, sizeof m->v);
    memset(t->unset_s, 0, sizeof t->unset_s);
    memset(t->unset_v, 0, sizeof t->unset_v);
    state_visit(m, field[2], unset_draw, whole);
    fill(t);
    taint_set(t);
    m->wave.taint = &t->taint;
    if (wave_run(&m->wave, 1) == WAVE_FAULT)
        return; /* a branch on what is not set, or the instruction's own fault */
    memcpy(t->first_s, m->wave.s, sizeof t->first_s);
    memcpy(t->first_v, m->v, sizeof m->v);
    t->first_scc = m->wave.scc;
    for (int n = 0; n < FILLS; n++) {
        fill(t);
        wave_run(&m->wave, 1);
        same_where_set(t, whole);
    }
    t->followed++;
}

START_TEST(whatever_fills_them)
{
    struct trial *t = calloc(1, sizeof *t);
    char *line = NULL;
    size_t room = 0;
    machine_open(&t->m);
    for (int round = 0; round < 4; round++) {
        FILE *f = fopen(GPUPARITY_SOURCE_DIR "/tests/data/hip_sim/instructions.tsv", "r");
        ck_assert_ptr_nonnull(f);
        while (getline(&line, &room, f) > 0)
            if (line[0] != '#')
                line_follow(t, line);
        fclose(f);
    }
    ck_assert_int_gt(t->followed, 4000);
    free(line);
    codemap_release(&t->m.code);
    sim_memory_release(&t->m.memory);
    free(t);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hip_sim_taint");
    TCase *c = tcase_create("registers");
    tcase_add_test(c, whatever_fills_them);
    suite_add_tcase(s, c);
    return suite_run(s);
}
