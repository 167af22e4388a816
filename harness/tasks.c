/* SPDX-License-Identifier: Apache-2.0 */
#include "tasks.h"

#include <pthread.h>
#include <stdatomic.h>

enum { TASKS_THREADS_MAX = 256 };

struct tasks {
    void (*task)(void *context, int64_t i);
    void *context;
    int64_t count;
    atomic_llong next;
};

static void *tasks_work(void *argument)
{
    struct tasks *t = argument;
    for (;;) {
        int64_t i = atomic_fetch_add(&t->next, 1);
        if (i >= t->count)
            return NULL;
        t->task(t->context, i);
    }
}

void tasks_run(int threads, int64_t count, void (*task)(void *context, int64_t i),
               void *context)
{
    struct tasks t = {.task = task, .context = context, .count = count};
    pthread_t helper[TASKS_THREADS_MAX];
    int n = 0;
    while (n + 1 < threads && n + 1 < count && n < TASKS_THREADS_MAX &&
           pthread_create(&helper[n], NULL, tasks_work, &t) == 0)
        n++;
    tasks_work(&t);
    while (n > 0)
        pthread_join(helper[--n], NULL);
}
