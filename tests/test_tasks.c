/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "suite.h"
#include "tasks.h"

enum { COUNT = 1000 };

struct board {
    atomic_int done[COUNT], running, most;
};

static void task(void *context, int64_t i)
{
    struct board *b = context;
    int now = atomic_fetch_add(&b->running, 1) + 1, most = atomic_load(&b->most);
    while (now > most && !atomic_compare_exchange_weak(&b->most, &most, now))
        continue;
    for (int pause = 0; i % 50 == 0 && pause < 200; pause++)
        sched_yield(); /* so that others get to run beside this one */
    atomic_fetch_add(&b->done[i], 1);
    atomic_fetch_sub(&b->running, 1);
}

/* Every task once, never more at a time than threads; odd thread counts do no harm. */
START_TEST(every_task_once)
{
    static const int threads[] = {-1, 0, 1, 2, 5, 64, 1000000};
    static const int counts[] = {0, 1, 3, COUNT};
    for (int t = 0; t < 7; t++)
        for (int c = 0; c < 4; c++) {
            struct board *b = calloc(1, sizeof *b);
            int once = 0;
            tasks_run(threads[t], counts[c], task, b);
            for (int i = 0; i < COUNT; i++)
                once += b->done[i] == (i < counts[c]);
            ck_assert_int_eq(once, COUNT);
            ck_assert_int_eq(b->running, 0);
            ck_assert_int_le(b->most, threads[t] > 1 ? threads[t] : 1);
            free(b);
        }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("tasks");
    TCase *t = tcase_create("tasks");
    tcase_add_test(t, every_task_once);
    suite_add_tcase(s, t);
    return suite_run(s);
}
