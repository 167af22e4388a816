/* SPDX-License-Identifier: Apache-2.0 */
#include "shadow.h"
#include "suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct shadow_map map;
static struct shadow_finding found;

static void map_open(void)
{
    ck_assert_int_eq(shadow_init(&map, 1 << 20), 0);
    ck_assert_int_eq(shadow_begin(&map, 100), 0);
    shadow_write(&map, 0, 1 << 20);
}

static void map_close(void)
{
    shadow_release(&map);
    shadow_release(&map);
}

static struct shadow_actor party(uint32_t block, int warp, int interval)
{
    return (struct shadow_actor){block, (uint16_t)warp, (uint16_t)interval, block * 16};
}

static enum sim_fault_kind touch(struct shadow_actor a, enum shadow_use use, uint64_t at,
                                 uint32_t size)
{
    bool any = shadow_access(&map, &a, use, at, size, false, &found);
    ck_assert_int_eq(any, found.kind != SIM_FAULT_NONE);
    return found.kind;
}

#define SILENT(...) ck_assert_int_eq(touch(__VA_ARGS__), SIM_FAULT_NONE)
#define RACE(...) ck_assert_int_eq(touch(__VA_ARGS__), SIM_FAULT_RACE)
#define UNWRITTEN(...) ck_assert_int_eq(touch(__VA_ARGS__), SIM_FAULT_UNINITIALISED)

START_TEST(bytes_are_written_one_by_one)
{
    shadow_unwrite(&map, 1000, 500);
    UNWRITTEN(party(0, 0, 0), SHADOW_READ, 1000, 4);
    UNWRITTEN(party(0, 0, 0), SHADOW_READ, 998, 4);
    ck_assert_uint_eq(found.offset, 1000);
    SILENT(party(0, 0, 0), SHADOW_READ, 996, 4);
    SILENT(party(0, 0, 0), SHADOW_READ, 1500, 4);
    UNWRITTEN(party(0, 0, 0), SHADOW_READ, 1496, 8);
    SILENT(party(0, 0, 0), SHADOW_WRITE, 1003, 2);
    SILENT(party(0, 0, 0), SHADOW_READ, 1003, 2);
    UNWRITTEN(party(0, 0, 0), SHADOW_READ, 1003, 3);
    UNWRITTEN(party(0, 0, 0), SHADOW_ATOMIC, 1200, 4);
    SILENT(party(0, 0, 0), SHADOW_ATOMIC, 1200, 4);
    ck_assert(!shadow_is_written(&map, 1000, 500));
    shadow_write(&map, 1000, 500);
    ck_assert(shadow_is_written(&map, 0, 1 << 20));
    for (uint32_t size = 1; size < 40; size++) /* every alignment of both ends */
        for (uint32_t at = 3000; at < 3017; at++) {
            shadow_unwrite(&map, at, size);
            for (uint32_t i = 2990; i < 3070; i++)
                ck_assert_int_eq(shadow_is_written(&map, i, 1), i < at || i >= at + size);
            shadow_write(&map, at, size);
        }
}
END_TEST

START_TEST(blocks_race)
{
    SILENT(party(1, 0, 0), SHADOW_WRITE, 64, 4);
    SILENT(party(1, 0, 3), SHADOW_WRITE, 64, 4);
    RACE(party(2, 0, 0), SHADOW_READ, 64, 4);
    ck_assert_uint_eq(found.other.block, 1);
    ck_assert_uint_eq(found.other.pc, 16);
    ck_assert_int_eq(found.other_use, SHADOW_WRITE);
    RACE(party(2, 0, 0), SHADOW_WRITE, 64, 4);
    SILENT(party(2, 0, 0), SHADOW_WRITE, 68, 4); /* the neighbour */
    SILENT(party(3, 0, 0), SHADOW_READ, 128, 4);
    SILENT(party(4, 0, 0), SHADOW_READ, 128, 4);
    RACE(party(5, 0, 0), SHADOW_WRITE, 128, 4);
    ck_assert_int_eq(found.other_use, SHADOW_READ);
    RACE(party(6, 0, 0), SHADOW_READ, 120, 16); /* a wide access over it */
}
END_TEST

START_TEST(bytes_of_a_word_do_not_race)
{
    for (uint32_t b = 0; b < 4; b++)
        SILENT(party(b, 0, 0), SHADOW_WRITE, 256 + b, 1);
    RACE(party(9, 0, 0), SHADOW_WRITE, 259, 1);
    RACE(party(10, 0, 0), SHADOW_READ, 256, 4);
}
END_TEST

START_TEST(launches_are_apart)
{
    SILENT(party(1, 0, 0), SHADOW_WRITE, 64, 4);
    ck_assert_int_eq(shadow_begin(&map, 100), 0);
    SILENT(party(2, 0, 0), SHADOW_READ, 64, 4);
    map.launch = UINT32_MAX; /* numbers wrap */
    SILENT(party(3, 0, 0), SHADOW_WRITE, 64, 4);
    ck_assert_int_eq(shadow_begin(&map, 7), 0);
    SILENT(party(2, 0, 0), SHADOW_READ, 64, 4);
}
END_TEST

START_TEST(warps_need_a_barrier)
{
    SILENT(party(0, 0, 0), SHADOW_WRITE, 0, 4);
    SILENT(party(0, 0, 0), SHADOW_READ, 0, 4);
    RACE(party(0, 1, 0), SHADOW_READ, 0, 4);
    SILENT(party(0, 2, 1), SHADOW_READ, 0, 4);
    SILENT(party(0, 3, 1), SHADOW_READ, 0, 4);
    RACE(party(0, 0, 1), SHADOW_WRITE, 0, 4); /* forgot the barrier after reading */
    SILENT(party(0, 1, 2), SHADOW_WRITE, 0, 4);
    /* the first of two readers writes: the second one minds */
    SILENT(party(0, 0, 3), SHADOW_READ, 32, 4);
    SILENT(party(0, 1, 3), SHADOW_READ, 32, 4);
    RACE(party(0, 0, 3), SHADOW_WRITE, 32, 4);
    ck_assert_uint_eq(found.other.warp, UINT16_MAX);
    /* a lone reader may write */
    SILENT(party(0, 5, 3), SHADOW_READ, 48, 4);
    SILENT(party(0, 5, 3), SHADOW_WRITE, 48, 4);
}
END_TEST

START_TEST(atomics_do_not_race_with_each_other)
{
    for (uint32_t b = 0; b < 8; b++)
        SILENT(party(b, 0, 0), SHADOW_ATOMIC, 512, 4);
    RACE(party(9, 0, 0), SHADOW_WRITE, 512, 4);
    SILENT(party(1, 0, 0), SHADOW_ATOMIC_WRITE, 600, 4);
    SILENT(party(2, 0, 0), SHADOW_ATOMIC_READ, 600, 4);
    RACE(party(3, 0, 0), SHADOW_READ, 600, 4);
}
END_TEST

/* Each block writes its part, then draws a ticket; the last one reads them all. */
START_TEST(ticket_orders_blocks)
{
    for (uint32_t b = 0; b < 10; b++) {
        SILENT(party(b, 1, 0), SHADOW_WRITE, 4096 + 4 * b, 4);
        SILENT(party(b, 0, 1), SHADOW_ATOMIC, 8192, 4);
    }
    for (uint32_t b = 0; b < 10; b++)
        SILENT(party(9, 2, 2), SHADOW_READ, 4096 + 4 * b, 4);
    RACE(party(10, 0, 0), SHADOW_READ, 4096, 4); /* without a ticket */
}
END_TEST

START_TEST(lock_orders_warps)
{
    SILENT(party(0, 0, 0), SHADOW_ATOMIC, 0, 4); /* take */
    SILENT(party(0, 0, 0), SHADOW_WRITE, 4, 4);
    SILENT(party(0, 0, 0), SHADOW_ATOMIC, 0, 4); /* give */
    SILENT(party(0, 1, 0), SHADOW_ATOMIC, 0, 4);
    SILENT(party(0, 1, 0), SHADOW_WRITE, 4, 4);
    RACE(party(0, 2, 0), SHADOW_WRITE, 4, 4);
}
END_TEST

/* A missing barrier between a histogram in shared memory and its readers. */
START_TEST(plain_read_after_atomics_races)
{
    SILENT(party(0, 0, 0), SHADOW_ATOMIC, 0, 4);
    SILENT(party(0, 1, 0), SHADOW_ATOMIC, 4, 4);
    RACE(party(0, 0, 0), SHADOW_READ, 4, 4);
    SILENT(party(0, 0, 1), SHADOW_READ, 4, 4);
}
END_TEST

START_TEST(writing_what_is_there_is_no_race)
{
    struct shadow_actor a = party(1, 0, 0), b = party(2, 0, 0);
    ck_assert(!shadow_access(&map, &a, SHADOW_WRITE, 64, 4, false, &found));
    ck_assert(!shadow_access(&map, &b, SHADOW_WRITE, 64, 4, true, &found));
    ck_assert(shadow_access(&map, &b, SHADOW_WRITE, 64, 4, false, &found));
}
END_TEST

START_TEST(outside_is_nobodys_business)
{
    SILENT(party(0, 0, 0), SHADOW_WRITE, 1 << 20, 4);
    SILENT(party(0, 0, 0), SHADOW_WRITE, UINT64_MAX - 2, 16);
    SILENT(party(0, 0, 0), SHADOW_WRITE, (1 << 20) - 2, 16);
    SILENT(party(1000, 0, 0), SHADOW_WRITE, 0, 4);
    shadow_write(&map, UINT64_MAX, UINT64_MAX);
    shadow_unwrite(&map, (1 << 20) - 1, UINT64_MAX);
    ck_assert(!shadow_is_written(&map, (1 << 20) - 1, 1));
    struct shadow_map m;
    ck_assert_int_ne(shadow_init(&m, 0), 0);
    ck_assert_int_ne(shadow_begin(&map, 0), 0);
}
END_TEST

START_TEST(findings_are_explained)
{
    char text[200];
    struct shadow_actor a = party(2, 1, 0);
    SILENT(party(1, 3, 0), SHADOW_WRITE, 64, 4);
    RACE(a, SHADOW_READ, 64, 4);
    shadow_explain(&found, &a, text, sizeof text);
    ck_assert_str_eq(text,
                     "block 1, warp 3 wrote it at pc 0x10, and nothing orders the two blocks");
    a.block = 1;
    RACE(a, SHADOW_WRITE, 64, 4);
    shadow_explain(&found, &a, text, sizeof text);
    ck_assert_str_eq(text,
                     "warp 3 of the same block wrote it at pc 0x10, with no barrier between");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim_shadow");
    TCase *t = tcase_create("shadow");
    tcase_add_checked_fixture(t, map_open, map_close);
    tcase_add_test(t, bytes_are_written_one_by_one);
    tcase_add_test(t, blocks_race);
    tcase_add_test(t, bytes_of_a_word_do_not_race);
    tcase_add_test(t, launches_are_apart);
    tcase_add_test(t, warps_need_a_barrier);
    tcase_add_test(t, atomics_do_not_race_with_each_other);
    tcase_add_test(t, ticket_orders_blocks);
    tcase_add_test(t, lock_orders_warps);
    tcase_add_test(t, plain_read_after_atomics_races);
    tcase_add_test(t, writing_what_is_there_is_no_race);
    tcase_add_test(t, outside_is_nobodys_business);
    tcase_add_test(t, findings_are_explained);
    suite_add_tcase(s, t);
    return suite_run(s);
}
