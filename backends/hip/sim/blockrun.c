/* SPDX-License-Identifier: Apache-2.0 */
#include "blockrun.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "taint.h"
#include "../../sim/trace.h"
#include "watch.h"

enum {
    SLICE = 1 << 14, /* instructions a wave runs before its neighbours get a turn */
    DYNAMIC_STACK = 32768,
    SCRATCH_MAX = 1 << 20
};

/* Fields of the kernel descriptor: lowest bit, width. */
#define RSRC1_VGPRS(v) ((v)&63)
#define RSRC1_FLOAT_MODE(v) ((v) >> 12 & 255)
#define RSRC1_DX10_CLAMP(v) ((v) >> 21 & 1)
#define RSRC1_IEEE(v) ((v) >> 23 & 1)
#define RSRC2_USER_SGPRS(v) ((v) >> 1 & 31)
#define RSRC2_BLOCK_ID(v, n) ((v) >> (7 + (n)) & 1)

/* What lies at the start of a workspace; LDS, waves and registers follow. */
struct workspace {
    struct block block;
    struct watch_block watch;
    uint8_t *scratch; /* mapped on first use */
    size_t scratch_bytes;
    uint8_t fill; /* sim_order.fill */
};

static size_t rounded(size_t n)
{
    return (n + 63) / 64 * 64;
}

static unsigned threads_of(const struct block_launch *b)
{
    const uint32_t *n = b->request->block;
    return n[0] * n[1] * n[2];
}

static unsigned waves_of(const struct block_launch *b)
{
    return (threads_of(b) + WAVE_LANES - 1) / WAVE_LANES;
}

static size_t wave_bytes(void)
{
    return rounded(sizeof(struct wave)) + sizeof(wave_row[WAVE_VGPRS]);
}

size_t block_workspace_size(const struct block_launch *b)
{
    return rounded(sizeof(struct workspace)) + LDS_BYTES + waves_of(b) * wave_bytes();
}

static struct wave *wave_at(void *workspace, unsigned n)
{
    uint8_t *p = workspace;
    return (struct wave *)(void *)(p + rounded(sizeof(struct workspace)) + LDS_BYTES +
                                   n * wave_bytes());
}

static void scratch_unmap(struct workspace *s)
{
    if (s->scratch)
        munmap(s->scratch, s->scratch_bytes);
    s->scratch = NULL;
}

void block_workspace_release(void *workspace)
{
    struct workspace *s = workspace;
    scratch_unmap(s);
    watch_block_release(&s->watch);
}

static uint32_t scratch_size(const struct kernel *k)
{
    uint64_t size =
        k->descriptor.scratch + (k->meta->dynamic_stack ? (uint64_t)DYNAMIC_STACK : 0);
    return (uint32_t)(size > SCRATCH_MAX ? SCRATCH_MAX : (size + 15) / 16 * 16);
}

static int scratch_map(struct workspace *s, uint32_t size, unsigned waves, struct sim_fault *f)
{
    const size_t bytes = (size_t)size * WAVE_LANES * waves;
    if (!bytes || s->scratch_bytes >= bytes)
        return 0;
    scratch_unmap(s);
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return sim_fault_set(f, SIM_FAULT_NOMEM, "no memory for %zu bytes of private memory",
                             bytes);
    s->scratch = p;
    s->scratch_bytes = bytes;
    return 0;
}

/* --- registers at the start
 * ------------------------------------------------------------------- */

static unsigned put_64(struct wave *w, unsigned n, uint64_t v)
{
    w->s[n] = (uint32_t)v;
    w->s[n + 1] = (uint32_t)(v >> 32);
    return n + 2;
}

/* User SGPRs in the order of the properties' bits, then the block's number after the count the
 * descriptor states. Returns how many registers are set. */
static unsigned scalars_start(struct wave *w, const struct block_launch *b,
                              const uint32_t id[3])
{
    const struct kernel_descriptor *d = &b->request->kernel->descriptor;
    unsigned n = 0;
    if (d->properties & 1)
        n += 4;
    if (d->properties & 2)
        n = put_64(w, n, b->packet);
    if (d->properties & 4)
        n = put_64(w, n, b->queue);
    if (d->properties & 8)
        n = put_64(w, n, b->kernarg);
    if (d->properties & 16)
        n = put_64(w, n, 0);
    if (d->properties & 32)
        n = put_64(w, n, 0);
    if (d->properties & 64)
        w->s[n++] = d->scratch;
    n = RSRC2_USER_SGPRS(d->rsrc2);
    for (unsigned k = 0; k < 3; k++)
        if (RSRC2_BLOCK_ID(d->rsrc2, k))
            w->s[n++] = id[k];
    return n;
}

static uint32_t mode_of(uint32_t rsrc1)
{
    return RSRC1_FLOAT_MODE(rsrc1) | (RSRC1_DX10_CLAMP(rsrc1) ? MODE_DX10_CLAMP : 0u) |
           (RSRC1_IEEE(rsrc1) ? MODE_IEEE : 0u);
}

/* v0: the thread's x, y, z in ten bits each. */
static void vectors_start(struct wave *w, const struct block_launch *b, uint8_t fill)
{
    const uint32_t *size = b->request->block;
    const unsigned threads = threads_of(b),
                   rows = (RSRC1_VGPRS(b->request->kernel->descriptor.rsrc1) + 1) * 8;
    memset(w->v, fill, (rows < WAVE_VGPRS ? rows : WAVE_VGPRS) * sizeof(wave_row));
    uint32_t exec = 0;
    for (unsigned lane = 0; lane < WAVE_LANES; lane++) {
        const unsigned t = w->number * WAVE_LANES + lane;
        if (t >= threads)
            break;
        exec |= 1u << lane;
        w->v[0][lane] = t % size[0] | t / size[0] % size[1] << 10 | t / size[0] / size[1] << 20;
    }
    w->s[WAVE_EXEC] = exec;
}

/* Of a wave. */
static size_t private_size(const struct block *b)
{
    return (size_t)b->scratch_size * WAVE_LANES;
}

static void wave_start(struct workspace *s, const struct block_launch *b, unsigned n,
                       const uint32_t id[3])
{
    struct wave *w = wave_at(s, n);
    memset(w, 0, sizeof *w);
    w->block = &s->block;
    w->number = n;
    w->pc = b->request->kernel->entry;
    w->v = (wave_row *)(void *)((uint8_t *)w + rounded(sizeof *w));
    if (s->block.scratch_size)
        w->scratch = s->scratch + private_size(&s->block) * n;
    wave_mode_set(w, mode_of(b->request->kernel->descriptor.rsrc1));
    const unsigned scalars = scalars_start(w, b, id);
    vectors_start(w, b, s->fill);
    if (s->block.watch) {
        uint8_t *known;
        w->taint = watch_taint(&s->watch, n, private_size(&s->block), &known);
        taint_start(w->taint, w, scalars, known);
    }
}

static int block_start(struct workspace *s, const struct block_launch *b, const uint32_t id[3],
                       struct sim_fault *f)
{
    const struct launch_request *p = b->request;
    uint8_t *lds = (uint8_t *)s + rounded(sizeof *s);
    s->block = (struct block){.memory = p->object->memory,
                              .code = &p->object->code,
                              .kernel = p->kernel->meta->name,
                              .lds = lds,
                              .lds_size = p->kernel->descriptor.lds + p->dynamic_lds,
                              .scratch_size = scratch_size(p->kernel),
                              .id = {id[0], id[1], id[2]},
                              .trace = b->trace && sim_trace_block(b->trace, id) ? b->trace : NULL,
                              .fault = f};
    memset(lds, s->fill, s->block.lds_size);
    if (scratch_map(s, s->block.scratch_size, waves_of(b), f))
        return 1;
    if (p->watch) {
        const uint64_t number = ((uint64_t)id[2] * p->grid[1] + id[1]) * p->grid[0] + id[0];
        if (watch_block_begin(&s->watch, p->watch, number, s->block.lds_size, waves_of(b),
                              private_size(&s->block)))
            return sim_fault_set(f, SIM_FAULT_NOMEM, "no memory to check a block");
        s->watch.swaps = p->kernel->swaps;
        s->block.watch = &s->watch;
    }
    for (unsigned n = 0; n < waves_of(b); n++)
        wave_start(s, b, n, id);
    return 0;
}

/* --- waves in turn
 * ---------------------------------------------------------------------------- */

/* A barrier has one place in the code, where all waves meet. */
static int barrier_check(struct workspace *s, unsigned waves)
{
    struct wave *first = NULL;
    for (unsigned n = 0; n < waves; n++) {
        struct wave *w = wave_at(s, n);
        if (w->event != WAVE_BARRIER)
            continue;
        first = first ? first : w;
        if (w->pc == first->pc)
            continue;
        char text[160];
        snprintf(
            text, sizeof text,
            "wave %u waits at the barrier before code + 0x%x, wave %u at the one before code "
            "+ 0x%x: not all threads reach the same barrier",
            first->number, 4 * first->pc, w->number, 4 * w->pc);
        return wave_fault(w, NULL, SIM_FAULT_BARRIER, -1, 0, text);
    }
    return 0;
}

/* All waves that have not ended wait at a barrier: on they go. */
static void barrier_release(struct workspace *s, unsigned waves)
{
    s->watch.interval++;
    for (unsigned n = 0; n < waves; n++)
        if (wave_at(s, n)->event == WAVE_BARRIER)
            wave_at(s, n)->event = WAVE_GOES_ON;
}

struct round {
    unsigned running, ended;
};

/* Each wave that can go on gets a slice. */
static int round_run(struct workspace *s, unsigned waves, const struct sim_grid_turn *turn,
                     uint64_t *instructions, struct round *ret)
{
    const uint64_t salt = turn->number << 20 ^ *instructions;
    const uint64_t slice = sim_order_turn(turn->order, salt, SLICE);
    *ret = (struct round){0};
    for (unsigned n = 0; n < waves; n++) {
        struct wave *w = wave_at(s, (unsigned)sim_order_place(turn->order, salt, n, waves));
        if (w->event == WAVE_GOES_ON) {
            const uint64_t left = turn->limit > *instructions ? turn->limit - *instructions : 0;
            const uint64_t before = w->instructions;
            const int event = wave_run(w, left < slice ? left : slice);
            *instructions += w->instructions - before;
            if (event == WAVE_FAULT)
                return 1;
            if (event == WAVE_GOES_ON && sim_grid_over(turn, *instructions))
                return wave_fault(
                    w, NULL, SIM_FAULT_BUDGET, -1, 0,
                    "has used up the instructions a launch may execute: an endless "
                    "loop? GPUPARITY_SIM_BUDGET raises the limit");
        }
        ret->running += w->event == WAVE_GOES_ON;
        ret->ended += w->event == WAVE_ENDED;
    }
    return 0;
}

int block_run(void *context, void *workspace, const uint32_t id[3],
              const struct sim_grid_turn *turn, uint64_t *instructions, struct sim_fault *f)
{
    const struct block_launch *b = context;
    struct workspace *s = workspace;
    const unsigned waves = waves_of(b);
    struct round r;
    s->fill = turn->order->fill;
    if (block_start(s, b, id, f))
        return 1;
    do {
        if (round_run(s, waves, turn, instructions, &r))
            return 1;
        if (!r.running && s->block.watch && barrier_check(s, waves))
            return 1;
        if (!r.running)
            barrier_release(s, waves);
    } while (r.ended < waves);
    return 0;
}
