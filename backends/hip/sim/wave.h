/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_WAVE_H
#define GPUPARITY_HIP_SIM_WAVE_H

#include <stdbool.h>
#include <stdint.h>

#include "../../sim/fault.h"
#include "../../sim/memory.h"

/* The state of one wave of 32 lanes, and of the block it belongs to.
 *
 * Scalar registers are numbered as in the encodings: 0..105 SGPRs, 106/107 VCC, 108..123 trap
 * registers, 125 M0, 126/127 EXEC. The null register (124) never reaches the executors: the
 * decoder makes it a constant 0 as a source and WAVE_SINK as a destination. */
enum {
    WAVE_LANES = 32,
    WAVE_VCC = 106,
    WAVE_NULL = 124,
    WAVE_M0 = 125,
    WAVE_EXEC = 126,
    WAVE_SINK = 128, /* two registers nobody reads */
    WAVE_SGPRS = 130,
    WAVE_VGPRS = 256
};

/* What an executor returns: 0 to go on, else why the wave's loop ends. */
enum wave_event { WAVE_GOES_ON, WAVE_ENDED, WAVE_BARRIER, WAVE_FAULT };

/* MODE register. */
enum {
    MODE_ROUND_32_SHIFT = 0,  /* two bits: nearest, up, down, to zero */
    MODE_ROUND_64_SHIFT = 2,  /* f16 and f64 */
    MODE_DENORM_32_SHIFT = 4, /* bit 0: keep subnormal operands, bit 1: results */
    MODE_DENORM_64_SHIFT = 6,
    MODE_DX10_CLAMP = 1 << 8,
    MODE_IEEE = 1 << 9,
    MODE_FP16_OVFL = 1 << 23,
    MODE_DEFAULT_FLOAT = 0xf0 /* nearest, everything kept */
};

/* Apertures: generic addresses with these upper halves are shared and private memory. */
enum { APERTURE_SHARED = 0x00010000, APERTURE_PRIVATE = 0x00020000 };

typedef uint32_t wave_row[WAVE_LANES] __attribute__((aligned(64)));

struct inst;
struct codemap;
struct taint;

struct block {
    struct sim_memory *memory;
    struct codemap *code;
    const char *kernel;    /* name, for messages */
    uint8_t *lds;          /* LDS_BYTES of storage */
    uint32_t lds_size;     /* bytes the kernel may touch */
    uint32_t scratch_size; /* bytes a lane may touch */
    uint32_t id[3];
    struct sim_fault *fault;
    struct watch_block *watch; /* NULL unless checks are on */
    struct sim_trace *trace;   /* NULL unless this block is traced */
};

struct wave {
    uint32_t s[WAVE_SGPRS];
    uint32_t scc, pc; /* pc in dwords from the start of the code; already the next one's while
                         an executor runs */
    uint32_t mode;
    bool plain; /* the float bits of mode are the default: executors take the fast path */
    uint64_t instructions;
    struct block *block;
    wave_row *v;         /* WAVE_VGPRS rows */
    uint8_t *scratch;    /* 32 times block->scratch_size bytes, lane after lane */
    uint32_t number;     /* within the block */
    struct taint *taint; /* NULL unless checks are on */
    int event;           /* why its loop ended last: enum wave_event */
};

void wave_mode_set(struct wave *w, uint32_t mode);

/* s_getreg and s_setreg: `field` is the instruction's immediate. Setting faults for a mode that
 * is not simulated. */
uint32_t wave_register_get(const struct wave *w, int32_t field);
int wave_register_set(struct wave *w, const struct inst *i, uint32_t value);

/* Runs until something ends the loop or `limit` instructions are through (then WAVE_GOES_ON).
 */
int wave_run(struct wave *w, uint64_t limit);

/* Address of dword `pc` of the code, and a jump to an address: WAVE_FAULT if no code is there.
 */
uint64_t wave_address(const struct wave *w, uint32_t pc);
int wave_jump(struct wave *w, const struct inst *i, uint64_t address);

/* "code + 0x40 (file.hip:12)": dword pc in words, with the source line where it is known. */
void wave_place(const struct wave *w, uint64_t pc, char *ret, size_t size);

/* Faults: fill block->fault with kernel, instruction and place; return WAVE_FAULT. */
int wave_trap(struct wave *w, const struct inst *i, const char *why);
int wave_fault(struct wave *w, const struct inst *i, enum sim_fault_kind kind, int lane,
               uint64_t address, const char *what);

/* A bad access of `size` bytes at a global address. */
int wave_bad_address(struct wave *w, const struct inst *i, int lane, uint64_t address,
                     uint32_t size, const char *what);

#endif
