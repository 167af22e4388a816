/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

#include "hipmachine.h"
#include "opcode.h"
#include "suite.h"

/* Runs every line of data/hip_sim/instructions.tsv: one instruction from a state to a state
 * that was worked out apart from the simulator. Also: it prints as llvm-mc prints it, and every
 * row of the instruction tables is in some line. */

static void expect(struct machine *m, const char *name, unsigned lane, uint32_t value,
                   const char *line)
{
    uint32_t got = strcmp(name, "event") == 0 ? (uint32_t)m->wave.event : *slot(m, name, lane);
    if (strcmp(name, "mode") == 0)
        got &= 0xff;
    ck_assert_msg(got == value, "%s\n  %s lane %u: 0x%x, expected 0x%x %s", line, name, lane,
                  got, value, m->fault.text);
}

static void covered(bool *hit, const struct inst *i)
{
    if (i->encoding != ENC_VOPD) {
        hit[i->code - opcode_at(0)] = true;
        return;
    }
    for (int n = 0; n < opcode_count(); n++)
        if (opcode_at(n)->encoding == ENC_VOPD && (opcode_dual(opcode_at(n)) == i->code ||
                                                   opcode_dual(opcode_at(n)) == i->pair->code))
            hit[n] = true;
}

static void line_run(struct machine *m, char *line, bool *hit)
{
    char *field[4], text[256], whole[256];
    const char *why;
    struct inst i;
    snprintf(whole, sizeof whole, "%.200s", line);
    const int words = line_words(m, line, field);
    ck_assert_msg(inst_decode(m->word, WORDS, &i, &why), "%s: %s", whole, why);
    ck_assert_msg(i.words == words, "%s: %d words", whole, i.words);
    inst_print(&i, m->word, text, sizeof text);
    if (field[0][0] != '~') /* llvm-mc does not write it */
        ck_assert_str_eq(text, field[0]);
    covered(hit, &i);
    free(i.pair);

    codemap_release(&m->code);
    ck_assert_int_eq(codemap_init(&m->code, m->word, WORDS, 0x1000), 0);
    machine_start(m);
    state_visit(m, field[2], put, whole);
    wave_run(&m->wave, 1);
    state_visit(m, field[3], expect, whole);
}

static int lines_run(struct machine *m, bool *hit)
{
    char *line = NULL;
    size_t room = 0;
    int count = 0;
    FILE *f = fopen(GPUPARITY_SOURCE_DIR "/tests/data/hip_sim/instructions.tsv", "r");
    ck_assert_ptr_nonnull(f);
    while (getline(&line, &room, f) > 0)
        if (line[0] != '#') {
            line_run(m, line, hit);
            count++;
        }
    free(line);
    fclose(f);
    return count;
}

static void variant_run(const char *variant)
{
    bool *hit = calloc((size_t)opcode_count(), sizeof *hit);
    struct machine *m = calloc(1, sizeof *m);
    if (!valu_variant_named(variant)) {
        fprintf(stderr, "this processor cannot run %s\n", variant);
        free(hit);
        free(m);
        return;
    }
    setenv("GPUPARITY_SIM_ISA", variant, 1);
    machine_open(m);
    ck_assert_int_gt(lines_run(m, hit), 1400);
    int missing = 0;
    for (int n = 0; n < opcode_count(); n++)
        if (!hit[n] && missing++ < 20)
            fprintf(stderr, "no test line has %s\n", opcode_at(n)->name);
    ck_assert_int_eq(missing, 0);
    codemap_release(&m->code);
    sim_memory_release(&m->memory);
    free(m);
    free(hit);
}

START_TEST(all_instructions_base)
{
    variant_run("base");
}
END_TEST

START_TEST(all_instructions_v3)
{
    variant_run("v3");
}
END_TEST

START_TEST(all_instructions_v4)
{
    variant_run("v4");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hip_sim_instructions");
    TCase *c = tcase_create("table");
    tcase_add_test(c, all_instructions_base);
    tcase_add_test(c, all_instructions_v3);
    tcase_add_test(c, all_instructions_v4);
    suite_add_tcase(s, c);
    return suite_run(s);
}
