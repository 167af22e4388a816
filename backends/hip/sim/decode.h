/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_DECODE_H
#define GPUPARITY_HIP_SIM_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wave.h"

/* From instruction words to something that can run and be printed. All instructions are rows of
 * salu.def, valu.def, vopd.def and memory_ops.def; a decoded one carries its row. */

enum encoding {
    ENC_SOP2,
    ENC_SOP1,
    ENC_SOPC,
    ENC_SOPK,
    ENC_SOPP,
    ENC_SMEM,
    ENC_VOP1,
    ENC_VOP2,
    ENC_VOPC,
    ENC_VOP3,
    ENC_VOP3SD,
    ENC_VOP3P,
    ENC_VOPD,
    ENC_DS,
    ENC_FLAT,
    ENC_SCRATCH,
    ENC_GLOBAL,
    ENC_MUBUF,
    ENC_COUNT_
};

/* Operand types of the .def columns. The order matters: 16-bit ones first, then 32, then 64. */
enum optype {
    T_Z,
    T_B16,
    T_I16,
    T_U16,
    T_F16,
    T_B32,
    T_I32,
    T_U32,
    T_F32,
    T_B64,
    T_I64,
    T_U64,
    T_F64,
    T_M,    /* lane mask in a scalar register */
    T_ACC,  /* the destination, read */
    T_S32,  /* scalar register written by a vector instruction */
    T_SS32, /* scalar source of a vector instruction */
    T_PF16, /* two f16 or bf16 */
    T_IU8,  /* packed integers, signedness by neg_lo */
    T_MIX,  /* f32 or half of a register as f16 */
    T_X64,
    T_X128,
    T_X256
};
static inline bool optype_is16(enum optype t)
{
    return t >= T_B16 && t <= T_F16;
}
static inline bool optype_is64(enum optype t)
{
    return t >= T_B64 && t <= T_F64;
}

typedef int exec_fn(struct wave *w, const struct inst *i);

/* New value of a memory word; data is the first, other the second data operand. */
typedef uint64_t atomic_fn(uint64_t memory, uint64_t data, uint64_t other);

/* A row function computes all lanes: d, a, b, c point to rows of the operand types (16-bit
 * types lie zero-extended in 32-bit rows, 64-bit ones in rows of 64). */
struct row_context {
    const uint32_t *mask; /* VCC or the mask operand, one word a lane: 0 or ~0 */
    uint32_t *out;        /* second result: nonzero where the mask bit is set */
    const struct inst *inst;
    uint32_t mode;
};
typedef void row_fn(void *d, const void *a, const void *b, const void *c,
                    const struct row_context *x);

enum operand_kind {
    OPERAND_NONE,
    OPERAND_VGPR,
    OPERAND_SGPR,
    OPERAND_CONST, /* value; as 64 bits: sign-extended for integers, the upper half for f64 */
    OPERAND_MASK,  /* scalar register as lane mask: a row of 0 or ~0 */
    OPERAND_SCC,
    OPERAND_VCCZ,
    OPERAND_EXECZ,
    OPERAND_APERTURE /* value is the upper half of a 64-bit source, and a 32-bit one */
};

struct operand {
    uint8_t kind;   /* enum operand_kind */
    uint8_t high;   /* 16-bit types: the upper half of the register */
    uint8_t type;   /* enum optype */
    uint8_t raw;    /* for printing: 1 = a literal word, 2 = an inline constant */
    uint16_t index; /* register, or the encoded number of an inline constant */
    uint32_t value;
};

/* One row of the tables. */
struct opcode {
    const char *name; /* as disassemblers print it, without _e32/_e64 */
    uint8_t encoding; /* enum encoding: the short one for VOP1, VOP2, VOPC */
    uint16_t op;
    uint8_t d, s[3]; /* enum optype */
    uint8_t form;    /* enum opcode_form */
    uint8_t bytes;   /* memory: bytes a lane; SMEM: dwords */
    uint8_t detail;  /* loads: enum mem_extend; stores: upper half; DS: stride or returns */
    exec_fn *exec;   /* NULL: the vector executor chooses */
    atomic_fn *fn;   /* atomics */
};
enum opcode_form {
    FORM_PLAIN,
    FORM_CARRY,   /* second result is a mask */
    FORM_COMPARE, /* result is a mask */
    FORM_COMPAREX,
    FORM_MK,
    FORM_AK,
    FORM_PACKED,
    FORM_LOAD,
    FORM_STORE,
    FORM_ATOMIC,
    FORM_LOAD2,
    FORM_STORE2,
    FORM_OTHER
};
enum mem_extend {
    EXT_ZERO,
    EXT_SIGN,
    EXT_ZERO_LOW,
    EXT_SIGN_LOW,
    EXT_ZERO_HIGH,
    EXT_SIGN_HIGH
};

/* Data parallel primitives of src0. */
enum dpp { DPP_NONE, DPP_16, DPP_8 };

struct inst {
    exec_fn *exec; /* NULL: not decoded yet */
    row_fn *row;
    const struct opcode *code;
    struct operand src[3];
    uint16_t d, d2;   /* destination registers: VGPR or scalar */
    uint8_t d_high;   /* 16-bit destination: upper half */
    uint8_t words;    /* dwords of the instruction */
    uint8_t advance;  /* how far the program counter moves: words, and in a codemap over no-ops
                         that follow */
    uint8_t encoding; /* the one it was found in */
    uint8_t neg, abs, opsel, opsel_hi, neg_hi; /* a bit a source; opsel bit 3: destination */
    uint8_t clamp, omod;
    uint8_t reads_vcc; /* besides its operands: the row wants context->mask */
    uint8_t dpp, dpp_fi, dpp_bound, dpp_rows; /* rows: row mask << 4 | bank mask */
    uint32_t dpp_control;
    int32_t imm;                              /* immediate, offset */
    uint16_t address, saddr;                  /* memory: registers; saddr WAVE_NULL = off */
    uint8_t glc, slc, dlc, sve, offen, idxen; /* memory modifiers */
    struct inst *pair;                        /* VOPD: the Y half, owned by the codemap */
};

/* Decodes the instruction at `word`, of which `room` dwords may be read. False: unknown, with
 * the reason in `why`; ret->words is 1 then. ret->pair is allocated with malloc. */
bool inst_decode(const uint32_t *word, size_t room, struct inst *ret, const char **why);

/* The row of a VOP1..VOP3 instruction by name; NULL. For VOPD and tests. */
const struct opcode *opcode_find(const char *name);

/* All rows of all tables, for coverage and tests. */
const struct opcode *opcode_at(int index);
int opcode_count(void);

/* Prints like llvm-objdump. Branch targets as numbers of the instruction's own offset. */
void inst_print(const struct inst *i, const uint32_t *word, char *ret_text, size_t size);

#endif
