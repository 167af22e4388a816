/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"
#include "suite.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t CARD = 1u << 30;

static uint8_t *host(uint64_t address)
{
    return (uint8_t *)(uintptr_t)address;
}

static bool all_are(const uint8_t *bytes, uint8_t value, uint64_t size)
{
    return size == 0 || (bytes[0] == value && memcmp(bytes, bytes + 1, size - 1) == 0);
}

START_TEST(refuses_nothing_and_too_much)
{
    struct sim_memory m;
    ck_assert_int_ne(sim_memory_init(&m, 0), 0);
    ck_assert_int_eq(sim_memory_init(&m, CARD), 0);
    ck_assert_uint_eq(sim_memory_alloc(&m, 0), 0);
    ck_assert_uint_eq(sim_memory_alloc(&m, CARD + 1), 0);
    ck_assert_uint_eq(sim_memory_alloc(&m, UINT64_MAX), 0);
    uint64_t half = sim_memory_alloc(&m, CARD / 2);
    ck_assert_uint_ne(half, 0);
    ck_assert_uint_eq(sim_memory_alloc(&m, CARD / 2 + 1), 0);
    ck_assert_uint_ne(sim_memory_alloc(&m, CARD / 2), 0);
    ck_assert_uint_eq(sim_memory_used(&m), CARD);
    ck_assert(sim_memory_free(&m, half));
    ck_assert(!sim_memory_free(&m, half));
    ck_assert(!sim_memory_free(&m, 0));
    ck_assert_uint_eq(sim_memory_used(&m), CARD / 2);
    sim_memory_release(&m);
    sim_memory_release(&m);
}
END_TEST

/* Every size up to 1100: all of it can be reached, nothing around it. */
START_TEST(edges_are_exact)
{
    struct sim_memory m;
    ck_assert_int_eq(sim_memory_init(&m, CARD), 0);
    for (uint32_t size = 1; size <= 1100; size++) {
        uint64_t a = sim_memory_alloc(&m, size);
        ck_assert_uint_eq(a % 256, 0);
        ck_assert(all_are(host(a), 0xcd, size));
        memset(host(a), 1, size);
        ck_assert(sim_memory_ok(&m, a, size));
        ck_assert(!sim_memory_ok(&m, a, size + 1));
        ck_assert(!sim_memory_ok(&m, a - 1, 1));
        ck_assert(!sim_memory_ok(&m, a - 1, 2));
        ck_assert(sim_memory_ok(&m, a + size - 1, 1));
        ck_assert(!sim_memory_ok(&m, a + size, 1));
        bool exact = true;
        for (uint32_t i = 0; i + 16 <= size + 8; i++)
            exact &= sim_memory_ok(&m, a + i, 16) == (i + 16 <= size);
        ck_assert(exact);
    }
    sim_memory_release(&m);
}
END_TEST

START_TEST(wild_addresses_are_refused)
{
    struct sim_memory m;
    ck_assert_int_eq(sim_memory_init(&m, CARD), 0);
    uint64_t a = sim_memory_alloc(&m, 4096);
    const uint64_t wild[] = {0,
                             1,
                             4095,
                             a - 256,
                             a + 4096,
                             a ^ (UINT64_C(1) << 47),
                             UINT64_MAX,
                             UINT64_MAX - 15,
                             (uint64_t)(uintptr_t)&m,
                             (uint64_t)(uintptr_t)m.base,
                             (uint64_t)(uintptr_t)m.base + m.capacity,
                             (uint64_t)(uintptr_t)m.base + m.capacity - 1};
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++) {
        char text[200];
        ck_assert(!sim_memory_ok(&m, wild[i], 16));
        ck_assert(!sim_memory_ok_slow(&m, wild[i], UINT64_MAX));
        ck_assert_int_eq(sim_memory_explain(&m, wild[i], 16, text, sizeof text),
                         SIM_FAULT_ADDRESS);
        ck_assert(!sim_memory_free(&m, wild[i]));
    }
    ck_assert(!sim_memory_ok_slow(&m, a, UINT64_MAX));
    ck_assert(!sim_memory_ok_slow(&m, a, UINT64_MAX - a + 1));
    sim_memory_release(&m);
}
END_TEST

START_TEST(faults_are_explained)
{
    struct sim_memory m;
    char text[200];
    uint64_t start, size;
    ck_assert_int_eq(sim_memory_init(&m, CARD), 0);
    uint64_t a = sim_memory_alloc(&m, 1000), b = sim_memory_alloc(&m, 2u << 20);
    ck_assert(sim_memory_find(&m, a + 999, &start, &size));
    ck_assert_uint_eq(start, a);
    ck_assert_uint_eq(size, 1000);
    ck_assert(!sim_memory_find(&m, a + 1000, &start, &size));
    ck_assert_int_eq(sim_memory_explain(&m, a + 996, 4, text, sizeof text), SIM_FAULT_NONE);
    ck_assert_int_eq(sim_memory_explain(&m, a + 996, 8, text, sizeof text), SIM_FAULT_ADDRESS);
    ck_assert_ptr_nonnull(
        strstr(text, "4 bytes over the end of the 1000-byte allocation at 0x"));
    ck_assert_int_eq(sim_memory_explain(&m, a + 1012, 4, text, sizeof text), SIM_FAULT_ADDRESS);
    ck_assert_ptr_nonnull(strstr(text, "12 bytes after the 1000-byte allocation at 0x"));
    ck_assert_int_eq(sim_memory_explain(&m, b - 4, 4, text, sizeof text), SIM_FAULT_ADDRESS);
    ck_assert_ptr_nonnull(strstr(text, "4 bytes before the 2097152-byte allocation at 0x"));
    ck_assert(sim_memory_free(&m, b));
    ck_assert(!sim_memory_ok(&m, b, 4));
    ck_assert_int_eq(sim_memory_explain(&m, b + 64, 4, text, sizeof text), SIM_FAULT_FREED);
    ck_assert_ptr_nonnull(
        strstr(text, "64 bytes into the freed 2097152-byte allocation at 0x"));
    ck_assert_int_eq(sim_memory_explain(&m, 8, 4, text, sizeof text), SIM_FAULT_ADDRESS);
    ck_assert_str_eq(text, "a null pointer plus 8");
    sim_memory_release(&m);
}
END_TEST

/* Random allocs and frees until the range is used many times over: live ranges never overlap,
 * keep their contents, and old contents never come back. */
START_TEST(space_is_used_again)
{
    enum { SLOTS = 64 };
    struct sim_memory m;
    struct {
        uint64_t at, size;
    } slot[SLOTS] = {0};
    uint32_t random = 1;
    uint64_t handed = 0;
    ck_assert_int_eq(sim_memory_init(&m, 64u << 20), 0);
    for (int round = 0; round < 2000; round++) {
        random = random * 1664525u + 1013904223u;
        unsigned i = random >> 26;
        if (slot[i].at) {
            ck_assert(all_are(host(slot[i].at), (uint8_t)i, slot[i].size));
            ck_assert(sim_memory_free(&m, slot[i].at));
            ck_assert(!sim_memory_ok(&m, slot[i].at, 1));
        }
        slot[i].size = (random & 0xffff) << (random >> 16 & 5);
        slot[i].at = sim_memory_alloc(&m, slot[i].size);
        if (!slot[i].at)
            continue;
        handed += slot[i].size;
        ck_assert(sim_memory_ok_slow(&m, slot[i].at, slot[i].size));
        ck_assert(all_are(host(slot[i].at), 0xcd, slot[i].size));
        memset(host(slot[i].at), (int)i, slot[i].size);
    }
    ck_assert_uint_gt(handed, 4 * m.capacity);
    sim_memory_release(&m);
}
END_TEST

START_TEST(huge_is_cheap_and_clean)
{
    struct sim_memory m;
    ck_assert_int_eq(sim_memory_init(&m, UINT64_C(24) << 30), 0);
    for (int i = 0; i < 3; i++) {
        uint64_t a = sim_memory_alloc(&m, UINT64_C(20) << 30);
        ck_assert_uint_ne(a, 0);
        ck_assert(sim_memory_ok_slow(&m, a, UINT64_C(20) << 30));
        uint8_t *last = host(a) + (UINT64_C(20) << 30) - 1;
        ck_assert_uint_eq(*last, 0);
        *last = 1;
        ck_assert(sim_memory_free(&m, a));
    }
    sim_memory_release(&m);
}
END_TEST

static void *churn(void *argument)
{
    struct sim_memory *m = argument;
    for (int i = 0; i < 500; i++) {
        uint64_t a = sim_memory_alloc(m, 300);
        if (!sim_memory_ok(m, a, 300) || !sim_memory_free(m, a) || sim_memory_ok(m, a, 1))
            return argument;
    }
    return NULL;
}

START_TEST(threads_share_it)
{
    struct sim_memory m;
    pthread_t thread[4];
    ck_assert_int_eq(sim_memory_init(&m, CARD), 0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, churn, &m), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(thread[i], &failed);
        ck_assert_ptr_null(failed);
    }
    ck_assert_uint_eq(sim_memory_used(&m), 0);
    sim_memory_release(&m);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim_memory");
    TCase *t = tcase_create("memory");
    tcase_add_test(t, refuses_nothing_and_too_much);
    tcase_add_test(t, edges_are_exact);
    tcase_add_test(t, wild_addresses_are_refused);
    tcase_add_test(t, faults_are_explained);
    tcase_add_test(t, space_is_used_again);
    tcase_add_test(t, huge_is_cheap_and_clean);
    tcase_add_test(t, threads_share_it);
    suite_add_tcase(s, t);
    return suite_run(s);
}
