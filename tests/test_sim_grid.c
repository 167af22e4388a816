/* SPDX-License-Identifier: Apache-2.0 */
#include "grid.h"
#include "suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { X = 7, Y = 5, Z = 3, BLOCKS = X * Y * Z };

struct job {
    uint32_t seen[BLOCKS];
    uint32_t order[BLOCKS], claimed;
    uint32_t fail_from, forever;
    bool any_order;
};

static uint32_t linear(const uint32_t id[3])
{
    return id[0] + X * (id[1] + Y * id[2]);
}

static int block(void *context, void *workspace, const uint32_t id[3],
                 const struct sim_grid_turn *turn, uint64_t *instructions, struct sim_fault *f)
{
    struct job *j = context;
    uint32_t n = linear(id), *visits = workspace;
    if ((n != turn->number && !j->any_order) || (uintptr_t)workspace % 64 != 0 || *instructions != 0)
        return sim_fault_set(f, SIM_FAULT_TRAP, "wrong set-up");
    __atomic_fetch_add(&j->seen[n], 1, __ATOMIC_RELAXED);
    j->order[__atomic_fetch_add(&j->claimed, 1, __ATOMIC_RELAXED)] = n;
    *instructions += n;
    visits[0]++;
    while (n == j->forever)
        if (++*instructions, sim_grid_over(turn, *instructions))
            return sim_fault_set(f, SIM_FAULT_BUDGET, "block %u never ends", n);
    if (n >= j->fail_from) {
        sim_fault_set(f, SIM_FAULT_TRAP, "block %u", n);
        return sim_fault_set(f, SIM_FAULT_RACE, "later words are not kept");
    }
    return 0;
}

static struct job job_make(void)
{
    return (struct job){.fail_from = UINT32_MAX, .forever = UINT32_MAX};
}

static struct sim_grid grid_make(struct job *j, int threads)
{
    return (struct sim_grid){.grid = {X, Y, Z},
                             .block = {32, 1, 1},
                             .threads = threads,
                             .workspace_size = 100,
                             .run = block,
                             .context = j};
}

START_TEST(every_block_runs_once)
{
    for (int threads = 0; threads < 9; threads++) {
        struct job j = job_make();
        struct sim_grid g = grid_make(&j, threads);
        struct sim_fault f;
        uint64_t instructions = 5;
        ck_assert_int_eq(sim_grid_run(&g, &instructions, &f), 0);
        for (int i = 0; i < BLOCKS; i++)
            ck_assert_uint_eq(j.seen[i], 1);
        ck_assert_uint_eq(instructions, 5 + BLOCKS * (BLOCKS - 1) / 2);
    }
}
END_TEST

START_TEST(ordered_means_in_order)
{
    struct job j = job_make();
    struct sim_grid g = grid_make(&j, 8);
    struct sim_fault f;
    uint64_t instructions = 0;
    g.ordered = true;
    ck_assert_int_eq(sim_grid_run(&g, &instructions, &f), 0);
    for (uint32_t i = 0; i < BLOCKS; i++)
        ck_assert_uint_eq(j.order[i], i);
}
END_TEST

START_TEST(lowest_fault_wins)
{
    for (int round = 0; round < 40; round++) {
        struct job j = job_make();
        struct sim_grid g = grid_make(&j, 1 + round % 6);
        struct sim_fault f = {0};
        uint64_t instructions = 0;
        j.fail_from = 40;
        ck_assert_int_eq(sim_grid_run(&g, &instructions, &f), 1);
        ck_assert_int_eq(f.kind, SIM_FAULT_TRAP);
        ck_assert_str_eq(f.text, "block 40");
        ck_assert_uint_eq(linear(f.block), 40);
        ck_assert_int_eq(f.lane, -1);
        for (int i = 0; i <= 40; i++)
            ck_assert_uint_eq(j.seen[i], 1);
    }
}
END_TEST

START_TEST(endless_block_stops)
{
    struct job j = job_make();
    struct sim_grid g = grid_make(&j, 3);
    struct sim_fault f = {0};
    uint64_t instructions = 0;
    j.forever = 9;
    g.budget = 1000000;
    ck_assert_int_eq(sim_grid_run(&g, &instructions, &f), 1);
    ck_assert_int_eq(f.kind, SIM_FAULT_BUDGET);
    ck_assert_str_eq(f.text, "block 9 never ends");
    ck_assert_uint_ge(instructions, 1000000);
}
END_TEST

/* A block that would never end does not outlive an earlier one's fault, whatever the budget. */
START_TEST(fault_stops_later_blocks)
{
    struct job j = job_make();
    struct sim_grid g = grid_make(&j, 2);
    struct sim_fault f = {0};
    uint64_t instructions = 0;
    j.fail_from = 0;
    j.forever = 1;
    ck_assert_int_eq(sim_grid_run(&g, &instructions, &f), 1);
    ck_assert_str_eq(f.text, "block 0");
}
END_TEST

START_TEST(nothing_to_do)
{
    struct job j = job_make();
    struct sim_grid g = grid_make(&j, 0);
    struct sim_fault f;
    uint64_t instructions = 0;
    g.grid[1] = 0;
    ck_assert_int_eq(sim_grid_run(&g, &instructions, &f), 0);
    ck_assert_uint_eq(j.claimed, 0);
}
END_TEST

START_TEST(no_memory_is_a_fault)
{
    struct job j = job_make();
    struct sim_grid g = grid_make(&j, 2);
    struct sim_fault f = {0};
    uint64_t instructions = 0;
    g.workspace_size = SIZE_MAX - 8;
    ck_assert_int_eq(sim_grid_run(&g, &instructions, &f), 1);
    ck_assert_int_eq(f.kind, SIM_FAULT_NOMEM);
}
END_TEST

START_TEST(budget_comes_from_the_environment)
{
    unsetenv("GPUPARITY_SIM_BUDGET");
    ck_assert_uint_eq(sim_grid_budget(), UINT64_C(1) << 40);
    setenv("GPUPARITY_SIM_BUDGET", "12345", 1);
    ck_assert_uint_eq(sim_grid_budget(), 12345);
    setenv("GPUPARITY_SIM_BUDGET", "12x", 1);
    ck_assert_uint_eq(sim_grid_budget(), UINT64_C(1) << 40);
}
END_TEST

/* Every block once in any order, the same order each time, and another one by another name. */
START_TEST(orders_are_permutations)
{
    static const char *const orders[] = {"reverse", "1", "2", "18446744073709551615", "linear"};
    uint32_t kept[5][BLOCKS];
    for (int i = 0; i < 10; i++) {
        struct job j = job_make();
        struct sim_grid g = grid_make(&j, 8);
        struct sim_fault f;
        uint64_t instructions = 0;
        j.any_order = true;
        setenv("GPUPARITY_SIM_ORDER", orders[i % 5], 1);
        ck_assert_int_eq(sim_grid_run(&g, &instructions, &f), 0);
        for (int k = 0; k < BLOCKS; k++)
            ck_assert_uint_eq(j.seen[k], 1);
        if (i < 4)
            memcpy(kept[i], j.order, sizeof j.order);
        else if (i % 5 < 4)
            ck_assert_mem_eq(kept[i % 5], j.order, sizeof j.order);
    }
    unsetenv("GPUPARITY_SIM_ORDER");
    for (uint32_t k = 0; k < BLOCKS; k++)
        ck_assert_uint_eq(kept[0][k], BLOCKS - 1 - k);
    ck_assert_mem_ne(kept[1], kept[2], sizeof kept[1]);
    ck_assert_mem_ne(kept[2], kept[3], sizeof kept[1]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim_grid");
    TCase *t = tcase_create("grid");
    tcase_add_test(t, every_block_runs_once);
    tcase_add_test(t, ordered_means_in_order);
    tcase_add_test(t, lowest_fault_wins);
    tcase_add_test(t, endless_block_stops);
    tcase_add_test(t, fault_stops_later_blocks);
    tcase_add_test(t, nothing_to_do);
    tcase_add_test(t, no_memory_is_a_fault);
    tcase_add_test(t, orders_are_permutations);
    tcase_add_test(t, budget_comes_from_the_environment);
    suite_add_tcase(s, t);
    return suite_run(s);
}
