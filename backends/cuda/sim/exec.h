/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_EXEC_H
#define GPUPARITY_CUDA_SIM_EXEC_H

#include "approx.h"
#include "code.h"
#include "fault.h"
#include "grid.h"
#include "memory.h"

/* A running block and its warps. */

enum { WARP_LANES = 32, WARP_RANGES = 8, BARRIER_COUNT = 16 };
enum { TURN_WARP = 65536 }; /* jumps a warp may make before another one has its turn */

enum split_state {
    SPLIT_READY,
    SPLIT_SYNC, /* at a .sync instruction whose other lanes have not come yet */
    SPLIT_BLOCK /* at a barrier of the block */
};

/* Lanes of a warp that stand at the same instruction. */
struct split {
    uint32_t mask, pc;
    enum split_state state;
    uint32_t barrier; /* SPLIT_BLOCK: which */
    uint32_t alive;   /* SPLIT_SYNC: the warp's living lanes when it began to wait */
};

struct shadow_map;

struct warp {
    uint8_t *regs;      /* the register file, 64-byte aligned */
    uint32_t pc;        /* of the running split; current while an executor reports RUN_JUMP */
    uint32_t mask;      /* its lanes */
    uint32_t switch_pc; /* the running split meets another one at or after this pc */
    uint32_t alive;     /* lanes that have not ended */
    uint32_t n_other;   /* splits beside the running one */
    struct split other[WARP_LANES];
    uint32_t turns; /* jumps since another split or warp ran */
    uint32_t hold;  /* jumps for which the running split keeps its turn against lower ones */
    struct block *block;
    uint8_t *local; /* lane l's local memory starts at local + l * local_size */
    struct {
        uint64_t start, size;
    } range[WARP_RANGES]; /* allocations touched last, by instruction */
    uint32_t waits;       /* RUN_BLOCK: at which barrier */
    uint32_t index;
};

struct barrier {
    uint32_t arrived;  /* threads */
    uint32_t expected; /* threads, 0: all of the block that have not ended */
    uint32_t count;    /* bar.red: threads whose predicate was true */
    uint32_t result;   /* bar.red: count and arrived of the phase that was just completed */
    uint32_t result_of;
};

/* What one launch needs, shared by all its blocks. */
struct launch_state {
    const struct image *image;
    struct sim_memory *memory;
    uint32_t grid[3], block[3], n_thread, n_warp;
    uint32_t shared_size; /* static and dynamic */
    uint32_t dynamic_size;
    uint8_t *param; /* the argument buffer */
    uint64_t grid_id;
    enum approx_mode approx;
    struct shadow_map *global_map, *shared_map; /* NULL: nothing is checked */
    struct sim_trace *trace;                    /* NULL: nothing is traced */
    size_t warp_stride; /* bytes of a register file, rounded up */
};

struct block {
    const struct launch_state *launch;
    uint32_t id[3];
    uint8_t *shared;
    struct warp *warp;
    struct barrier barrier[BARRIER_COUNT];
    uint64_t count;    /* instructions executed */
    uint32_t interval; /* barriers passed */
    uint32_t turn_warp; /* jumps: TURN_WARP unless an order is asked for */
    const struct sim_grid_turn *turn;
    struct sim_fault *fault;
};

/* Generic addresses that are not global memory. Shared addresses are small numbers inside the
 * shared window; the others alike. */
enum {
    WINDOW_SHARED = 0x01000000,
    WINDOW_LOCAL = 0x02000000,
    WINDOW_PARAM = 0x03000000,
    WINDOW_CODE = 0x04000000, /* function n of the module has address WINDOW_CODE + 16 * n */
    WINDOW_SIZE = 0x01000000
};

/* Runs a warp until it cannot go on. RUN_NEXT: all lanes have ended; RUN_BLOCK: every lane
 * waits for something; RUN_JUMP: it has had its turn; RUN_FAULT. */
int warp_run(struct warp *w);
void warp_start(struct warp *w); /* pc, lanes and special registers for a new block */

/* Lets the lanes that wait at barrier `id` go on after it. */
void warp_release(struct warp *w, uint32_t id);

/* What sim_grid calls for each block; `context` is a launch_state, `workspace` a
 * block_workspace_size() bytes of memory. */
int block_run(void *context, void *workspace, const uint32_t id[3],
              const struct sim_grid_turn *turn, uint64_t *instructions, struct sim_fault *f);
size_t block_workspace_size(const struct launch_state *l);

/* Records a fault at instruction `i` for the lowest lane of `mask`; returns RUN_FAULT. */
int warp_fault(struct warp *w, const struct inst *i, uint32_t mask, enum sim_fault_kind kind,
               const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Sets the pc of the lanes in `mask`: target for those in `taken`, the next instruction for the
 * others. Returns RUN_JUMP. */
int warp_branch(struct warp *w, const struct inst *i, uint32_t mask, uint32_t taken,
                uint32_t target);

/* The host instruction sets the executors are compiled for; the best one for this machine. */
struct exec_table {
    const char *name;
    exec_fn *run[EXEC_COUNT_];
};
const struct exec_table *exec_table_best(void);

#endif
