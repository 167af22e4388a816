/* SPDX-License-Identifier: Apache-2.0 */
#include "trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 400000, BLOCK_LINES_MAX = 1000000 };

bool sim_trace_begin(struct sim_trace *t, const char *kernel)
{
    const char *path = getenv("GPUPARITY_SIM_TRACE");
    const char *at = getenv("GPUPARITY_SIM_TRACE_AT");
    const char *thread = getenv("GPUPARITY_SIM_TRACE_THREAD");
    *t = (struct sim_trace){.left = LINES_MAX};
    if (!path || (!at && !thread))
        return false;
    if (at && sscanf(at, "%" SCNx64 ":%" SCNu64, &t->address, &t->bytes) != 2)
        return false;
    t->of_thread = thread && sscanf(thread, "%" SCNu32 ",%" SCNu32 ",%" SCNu32 ",%" SCNu32,
                                    &t->block[0], &t->block[1], &t->block[2], &t->thread) == 4;
    t->of_block = t->of_thread && thread[strlen(thread) - 1] == '*';
    t->told = UINT32_MAX;
    if (t->of_block)
        t->left = BLOCK_LINES_MAX;
    t->out = fopen(path, "a");
    if (t->out)
        fprintf(t->out, "launch %s\n", kernel);
    return t->out != NULL;
}

void sim_trace_end(struct sim_trace *t)
{
    if (t->out)
        fclose(t->out);
    memset(t, 0, sizeof *t);
}

bool sim_trace_block(const struct sim_trace *t, const uint32_t id[3])
{
    return t->out && (!t->of_thread || !memcmp(t->block, id, sizeof t->block));
}

static bool line_left(struct sim_trace *t)
{
    return __atomic_fetch_sub(&t->left, t->left > 0, __ATOMIC_RELAXED) > 0;
}

uint32_t sim_trace_lanes(const struct sim_trace *t, uint32_t first, uint32_t width)
{
    uint32_t all = width < 32 ? (UINT32_C(1) << width) - 1 : UINT32_MAX, lane = t->thread - first;
    return !t->of_thread ? 0 : t->of_block ? all : lane < width ? UINT32_C(1) << lane : 0;
}

void sim_trace_thread(struct sim_trace *t, uint32_t thread)
{
    if (t->of_block && thread != t->told && line_left(t))
        fprintf(t->out, "thread %" PRIu32 "\n", thread);
    t->told = thread;
}

void sim_trace_store(struct sim_trace *t, const uint32_t id[3], uint32_t thread,
                     uint64_t address, int bytes, uint64_t value)
{
    bool meets = address < t->address + t->bytes && t->address < address + (uint64_t)bytes;
    if (!meets || (t->of_thread && thread != t->thread) || !line_left(t))
        return;
    fprintf(t->out, "store %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %d %" PRIx64 "\n",
            id[0], id[1], id[2], thread, 8 * bytes, value);
}

void sim_trace_load(struct sim_trace *t, int bits, uint64_t value, const char *place)
{
    if (t->of_thread && line_left(t))
        fprintf(t->out, "load %d %" PRIx64 " @%s\n", bits, value, place);
}

void sim_trace_op(struct sim_trace *t, const char *name, int bits, uint64_t result, int n,
                  const uint64_t *operand, const char *place)
{
    if (!t->of_thread || !line_left(t))
        return;
    fprintf(t->out, "op %s %d %" PRIx64, name, bits, result);
    for (int k = 0; k < 3; k++)
        if (k < n)
            fprintf(t->out, " %" PRIx64, operand[k]);
        else
            fputs(" -", t->out);
    fprintf(t->out, " @%s\n", place);
}
