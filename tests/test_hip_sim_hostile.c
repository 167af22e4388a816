/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

#include "decode.h"
#include "hostile_hip_sim.h"
#include "suite.h"

/* Damaged and invented code objects and instructions: one line of words, never a crash. */

static uint8_t *whole;
static size_t whole_size;
static struct sim_memory memory;

static void file_open(const char *path)
{
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    whole = malloc(1 << 20);
    whole_size = fread(whole, 1, 1 << 20, f);
    fclose(f);
    ck_assert_uint_gt(whole_size, 10000);
}

static void open_all(void)
{
    file_open(GPUPARITY_SOURCE_DIR "/tests/data/hip_sim/kernels.co");
    setenv("GPUPARITY_SIM_BUDGET", "3000", 1);
    setenv("GPUPARITY_SIM_THREADS", "1", 1);
    ck_assert_int_eq(sim_memory_init(&memory, 1 << 24), 0);
}

static void close_all(void)
{
    free(whole);
    sim_memory_release(&memory);
}

static uint64_t random_next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 24;
}

START_TEST(undamaged_loads)
{
    ck_assert_int_eq(hostile_load(&memory, whole, whole_size), 0);
    ck_assert_uint_eq(sim_memory_used(&memory), 0);
}
END_TEST

START_TEST(cut_anywhere)
{
    for (size_t size = 0; size < whole_size; size += size < 6000 ? 37 : 509) {
        uint8_t *copy = malloc(size + 1); /* exact, so that sanitizers see one byte too many */
        memcpy(copy, whole, size);
        ck_assert_int_ge(hostile_load(&memory, copy, size), 0);
        free(copy);
    }
    ck_assert_uint_eq(sim_memory_used(&memory), 0);
}
END_TEST

/* Every other change in the `often` bytes from `from` on. */
static void bytes_change(int rounds, size_t from, size_t often)
{
    uint64_t seed = 15;
    uint8_t *copy = malloc(whole_size);
    for (int round = 0; round < rounds; round++) {
        memcpy(copy, whole, whole_size);
        for (uint64_t n = random_next(&seed) % 20 + 1; n; n--) {
            uint64_t where = n % 2 ? random_next(&seed) : from + random_next(&seed) % often;
            copy[where % whole_size] = (uint8_t)(random_next(&seed) >> 3);
        }
        ck_assert_int_ge(hostile_load(&memory, copy, whole_size), 0);
    }
    free(copy);
    ck_assert_uint_eq(sim_memory_used(&memory), 0);
}

START_TEST(bytes_changed_anywhere)
{
    bytes_change(300, 0, 8192); /* headers, notes and symbols more often than code */
}
END_TEST

/* Checked launches of kernels that fail at once, so that their lines are looked up. */
START_TEST(line_tables_changed)
{
    free(whole);
    file_open(GPUPARITY_SOURCE_DIR "/tests/data/hip_sim/faulty.co");
    setenv("GPUPARITY_SIM_CHECK", "1", 1);
    ck_assert_int_eq(hostile_load(&memory, whole, whole_size), 0);
    bytes_change(200, whole_size - 10000, 10000);
}
END_TEST

START_TEST(bundles_that_lie)
{
    static const char magic[] = "__CLANG_OFFLOAD_BUNDLE__";
    struct {
        char magic[24];
        uint64_t count, offset, size, id_size;
        char id[40];
    } b = {.count = 1, .offset = 0, .size = sizeof b, .id_size = 32};
    memcpy(b.magic, magic, 24);
    memcpy(b.id, "hipv4-amdgcn-amd-amdhsa--gfx1100", 32);
    ck_assert_int_eq(hostile_load(&memory, (uint8_t *)&b, sizeof b), 1); /* contains itself */
    b.offset = UINT64_MAX;
    ck_assert_int_eq(hostile_load(&memory, (uint8_t *)&b, sizeof b), 1);
    b.offset = 0;
    b.id_size = UINT64_MAX;
    ck_assert_int_eq(hostile_load(&memory, (uint8_t *)&b, sizeof b), 1);
    b.count = UINT64_MAX;
    ck_assert_int_eq(hostile_load(&memory, (uint8_t *)&b, sizeof b), 1);
}
END_TEST

/* Any four words decode or are refused, and what decodes prints. */
START_TEST(random_words)
{
    uint64_t seed = 16;
    int known = 0;
    for (int n = 0; n < 100000; n++) {
        uint32_t word[4];
        char text[200];
        const char *why = NULL;
        struct inst i;
        for (int k = 0; k < 4; k++)
            word[k] = (uint32_t)(random_next(&seed) ^ random_next(&seed) << 20);
        const size_t room = random_next(&seed) % 4 + 1;
        if (inst_decode(word, room, &i, &why)) {
            ck_assert_uint_le(i.words, room);
            inst_print(&i, word, text, sizeof text);
            ck_assert_uint_gt(strlen(text), 3);
            free(i.pair);
            known++;
        } else {
            ck_assert_ptr_nonnull(why);
        }
    }
    ck_assert_int_gt(known, 10000);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hip_sim_hostile");
    TCase *c = tcase_create("hostile");
    tcase_add_checked_fixture(c, open_all, close_all);
    tcase_add_test(c, undamaged_loads);
    tcase_add_test(c, cut_anywhere);
    tcase_add_test(c, bytes_changed_anywhere);
    tcase_add_test(c, line_tables_changed);
    tcase_add_test(c, bundles_that_lie);
    tcase_add_test(c, random_words);
    suite_add_tcase(s, c);
    return suite_run(s);
}
