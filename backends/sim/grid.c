/* SPDX-License-Identifier: Apache-2.0 */
#include "grid.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 256, WORKSPACE_ALIGN = 64 };

struct crew {
    const struct sim_grid *grid;
    struct sim_order order;
    uint64_t blocks, budget;
    uint64_t next, executed, lowest_fault; /* atomic */
    pthread_mutex_t lock;                  /* of fault */
    struct sim_fault fault;
};

static uint64_t number_from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    if (!text || *text < '0' || *text > '9')
        return otherwise;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    return errno || *end || value == 0 ? otherwise : value;
}

uint64_t sim_grid_budget(void)
{
    return number_from_environment("GPUPARITY_SIM_BUDGET", 1ull << 40);
}

static int crew_size(const struct crew *c, const struct sim_grid *g, uint64_t blocks)
{
    if (g->ordered || c->order.kind != SIM_ORDER_LINEAR)
        return 1;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t n = g->threads > 0 ? (uint64_t)g->threads
                                : number_from_environment("GPUPARITY_SIM_THREADS",
                                                          online > 0 ? (uint64_t)online : 1);
    if (n > blocks)
        n = blocks;
    return n > THREADS_MAX ? THREADS_MAX : (int)n;
}

static void fault_take(struct crew *c, uint64_t number, const struct sim_fault *f)
{
    pthread_mutex_lock(&c->lock);
    if (number < __atomic_load_n(&c->lowest_fault, __ATOMIC_RELAXED)) {
        c->fault = *f;
        __atomic_store_n(&c->lowest_fault, number, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&c->lock);
}

static void block_run(struct crew *c, void *workspace, uint64_t number)
{
    const struct sim_grid *g = c->grid;
    const uint64_t row = g->grid[0], plane = row * g->grid[1];
    const uint64_t at = sim_order_place(&c->order, 0, number, c->blocks);
    const uint32_t id[3] = {(uint32_t)(at % row), (uint32_t)(at % plane / row),
                            (uint32_t)(at / plane)};
    struct sim_fault f = {.block = {id[0], id[1], id[2]}, .lane = -1};
    uint64_t spent = __atomic_load_n(&c->executed, __ATOMIC_RELAXED);
    struct sim_grid_turn turn = {.number = number,
                                 .limit = spent < c->budget ? c->budget - spent : 0,
                                 .lowest_fault = &c->lowest_fault,
                                 .order = &c->order};
    uint64_t instructions = 0;
    int failed = g->run(g->context, workspace, id, &turn, &instructions, &f);
    __atomic_fetch_add(&c->executed, instructions, __ATOMIC_RELAXED);
    if (failed)
        fault_take(c, number, &f);
}

static void *workspace_make(size_t size)
{
    size_t rounded = (size + WORKSPACE_ALIGN - 1) / WORKSPACE_ALIGN * WORKSPACE_ALIGN;
    if (rounded < size)
        return NULL;
    void *w = aligned_alloc(WORKSPACE_ALIGN, rounded ? rounded : WORKSPACE_ALIGN);
    if (w)
        memset(w, 0, rounded);
    return w;
}

/* Blocks are claimed in order, so when one fails every lower one has been claimed and will
 * report. */
static void *crew_work(void *argument)
{
    struct crew *c = argument;
    void *workspace = workspace_make(c->grid->workspace_size);
    for (;;) {
        uint64_t number = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED);
        if (number >= c->blocks || number > __atomic_load_n(&c->lowest_fault, __ATOMIC_RELAXED))
            break;
        if (workspace) {
            block_run(c, workspace, number);
            continue;
        }
        struct sim_fault f = {.lane = -1};
        sim_fault_set(&f, SIM_FAULT_NOMEM, "no memory for the %zu bytes a block works in",
                      c->grid->workspace_size);
        fault_take(c, number, &f);
    }
    if (workspace && c->grid->workspace_release)
        c->grid->workspace_release(workspace);
    free(workspace);
    return NULL;
}

int sim_grid_run(const struct sim_grid *g, uint64_t *instructions, struct sim_fault *ret_fault)
{
    struct crew c = {.grid = g,
                     .order = sim_order_environment(),
                     .blocks = (uint64_t)g->grid[0] * g->grid[1] * g->grid[2],
                     .budget = g->budget ? g->budget : sim_grid_budget(),
                     .lowest_fault = UINT64_MAX};
    pthread_mutex_init(&c.lock, NULL);
    pthread_t thread[THREADS_MAX];
    const int wanted = crew_size(&c, g, c.blocks);
    int helpers = 0;
    while (helpers + 1 < wanted && pthread_create(&thread[helpers], NULL, crew_work, &c) == 0)
        helpers++;
    crew_work(&c);
    for (int i = 0; i < helpers; i++)
        pthread_join(thread[i], NULL);
    pthread_mutex_destroy(&c.lock);

    *instructions += c.executed;
    if (c.lowest_fault == UINT64_MAX)
        return 0;
    *ret_fault = c.fault;
    return 1;
}
