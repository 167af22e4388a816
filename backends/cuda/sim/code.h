/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_CODE_H
#define GPUPARITY_CUDA_SIM_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ptx.h"

/* The internal form: what a kernel and the functions it calls are lowered to.
 *
 * A warp has one register file of bytes. A slot is a place in it: a predicate is 4 bytes (a bit
 * a lane), any other register 32 lanes of 4 or 8 bytes. Constants, special registers and kernel
 * parameters are slots too, filled before the first instruction, so that an executor reads all
 * operands alike. A 16-bit register is a 32-bit slot whose upper half is zero. */

struct warp;
struct inst;

/* What an executor reports. */
enum run {
    RUN_NEXT,  /* on to the following instruction */
    RUN_JUMP,  /* pc or mask of the warp have changed */
    RUN_SYNC,  /* lanes are missing: wait for them at this instruction */
    RUN_BLOCK, /* the lanes in `mask` wait at a barrier of the block */
    RUN_FAULT  /* block->fault is filled */
};
typedef int exec_fn(struct warp *w, const struct inst *i, uint32_t mask);

enum exec_id {
    EXEC_none,
#define UNARY(name, D, A, expression) EXEC_##name,
#define BINARY(name, D, A, B, expression) EXEC_##name,
#define TERNARY(name, D, A, B, C, expression) EXEC_##name,
#define COMPARE(name, A, expression) EXEC_##name,
#define PREDICATE(name, expression) EXEC_##name,
#define CUSTOM(name) EXEC_##name,
#include "exec.def"
#undef UNARY
#undef BINARY
#undef TERNARY
#undef COMPARE
#undef PREDICATE
#undef CUSTOM
    EXEC_COUNT_
};

enum inst_flag {
    INST_ADDRESS64 = 1, /* the address slot is 64 bits wide */
    INST_FLIP_C = 2,    /* operand c is a predicate read inverted */
    INST_FTZ = 4,
    INST_SAT = 8,
    INST_RELU = 16,
    INST_RETURNS = 32, /* an atomic whose old value is wanted */
    INST_STRONG = 32,  /* a load or store that is volatile, relaxed, acquire or release */
    INST_NAN = 64,
    INST_WIDE = 128 /* elements in registers are 64 bits wide */
};

/* One step. Slots are byte offsets into the register file; the first 64 bytes of the file are
 * never a register, so that offset 0 means none. While lowering, the same fields hold slot
 * numbers (0 = none). */
struct inst {
    exec_fn *run;
    uint32_t d, e;       /* written */
    uint32_t a, b, c;    /* read */
    uint32_t guard;      /* predicate, or none */
    uint32_t guard_flip; /* 0, or ~0 for @!p */
    uint32_t target;     /* instruction a branch goes to */
    uint32_t extra;      /* a second constant */
    uint64_t imm;        /* offset of an address; other constants */
    uint32_t *list;      /* more slots: n_write written ones, then those read */
    uint16_t n_list, n_write;
    uint8_t space;       /* enum ptx_space */
    uint8_t size;        /* bytes of a memory element */
    uint8_t flags;       /* enum inst_flag */
    uint8_t round;       /* enum ptx_word: rn, rz, ... or 0 */
    uint8_t type, type2; /* enum ptx_word, where an executor serves several */
    uint16_t exec;       /* enum exec_id */
    uint16_t form;       /* row of form.def */
    uint32_t line;       /* in the PTX text */
};

enum slot_kind { SLOT_NONE, SLOT_REG, SLOT_CONSTANT, SLOT_SPECIAL, SLOT_PARAM, SLOT_HIDDEN };

struct slot {
    enum slot_kind kind;
    uint8_t bits;    /* 1, 32 or 64 */
    uint8_t size;    /* PARAM: bytes to read from the argument buffer */
    bool sign;       /* PARAM: extends with its sign */
    uint64_t value;  /* CONSTANT; SPECIAL: which; PARAM: offset in the argument buffer */
    uint32_t offset; /* in the register file, when the image is complete */
};

/* Where an indirect call may go. */
struct image_function {
    const struct ptx_function *function;
    uint32_t start;         /* first instruction; UINT32_MAX: not in this image */
    uint32_t frame;         /* bytes of local memory, parameters included */
    uint32_t return_slot;   /* 32 lanes of return addresses */
    uint32_t saved;         /* offset in the frame where registers are saved */
    bool recursive;         /* may be called while it runs: saves its registers around calls */
};

/* A kernel ready to run. Owns everything but the module. */
struct image {
    const struct ptx_module *module;
    const struct ptx_function *entry;
    char name[128];
    struct inst *inst;
    uint32_t n_inst;
    uint32_t *pool; /* the lists of instructions */
    struct slot *slot;
    uint32_t n_slot;
    struct image_function *function; /* by ptx_function.index */
    uint32_t n_function;
    uint32_t *zeroed; /* slots of registers that may be read before they are written */
    uint32_t n_zeroed;
    uint32_t register_bytes; /* of a warp's register file */
    uint32_t frame_slot;     /* 32 lanes: where the running function's frame starts */
    uint32_t shared_size;    /* static part */
    uint32_t local_size;     /* bytes a thread, call stack included */
    uint32_t param_size;
    bool ordered;         /* blocks must run one after the other */
    bool barrier;         /* has a barrier of the block */
    bool swaps;           /* has compare-and-swap */
    uint64_t marks;       /* bit a row of mark.def: approximations in it */
    uint32_t *form_count; /* by row of form.def: how many instructions */
    uint32_t fused;       /* products that were fused as ptxas does */
};

struct lower_options {
    bool fuse; /* join mul and add as ptxas does */
};

/* Lowers `entry` and all it calls. False with `ret_error` filled on the first instruction that
 * is unknown or wrong. */
bool image_init(struct image *ret_image, const struct ptx_module *m,
                const struct ptx_function *entry, const struct lower_options *o,
                struct ptx_error *ret_error);
void image_release(struct image *i); /* accepts a zeroed struct */

#endif
