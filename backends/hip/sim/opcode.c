/* SPDX-License-Identifier: Apache-2.0 */
#include "opcode.h"

#include <string.h>

#include "exec.h"

#define SOP(enc, opn, nm, D, A, B)                                                             \
    [OP_##nm] = {.name = #nm,                                                                  \
                 .encoding = ENC_##enc,                                                        \
                 .op = opn,                                                                    \
                 .d = D,                                                                       \
                 .s = {A, B},                                                                  \
                 .exec = exec_##nm},

/* What SOPK and SOPP print is told apart by `form`; their operand kinds are below. */
enum { T_C32 = T_B32, T_CU32 = T_U32, T_GETREG = T_B32, T_SETREG = T_B32, T_SETREGK = T_B32 };
enum { T_CALL = T_B64, T_WAIT = T_B32, T_MSG = T_B32 };

static const struct opcode opcodes[OP_COUNT_] = {
#define SOP2(op, name, D, A, B, ...) SOP(SOP2, op, name, T_##D, T_##A, T_##B)
#define SOP1(op, name, D, A, ...) SOP(SOP1, op, name, T_##D, T_##A, T_Z)
#define SOPC(op, name, A, B, ...) SOP(SOPC, op, name, T_Z, T_##A, T_##B)
#define SOPK(op, name, D, ...) SOP(SOPK, op, name, T_##D, T_Z, T_Z)
#define SOPP(op, name, ...) SOP(SOPP, op, name, T_Z, T_Z, T_Z)
#define SMEM(opn, nm, dwords)                                                                  \
    [OP_##nm] = {.name = #nm,                                                                  \
                 .encoding = ENC_SMEM,                                                         \
                 .op = opn,                                                                    \
                 .bytes = dwords,                                                              \
                 .exec = (opn) >= 0x20  ? exec_smem_nothing                                    \
                         : (opn) >= 0x8 ? exec_smem_buffer_load                                \
                                        : exec_smem_load},
#define VALU(enc, opn, nm, D, A, B, C, f, x, row)                                              \
    [OP_##nm] = {.name = #nm,                                                                  \
                 .encoding = ENC_##enc,                                                        \
                 .op = opn,                                                                    \
                 .d = T_##D,                                                                   \
                 .s = {T_##A, T_##B, T_##C},                                                   \
                 .form = FORM_##f,                                                             \
                 .exec = x},
#define VD(opn, nm, same)                                                                      \
    [OP_v_dual_##nm] = {.name = "v_dual_" #nm, .encoding = ENC_VOPD, .op = opn},
#define FLATS(enc, opn, nm, size, f, extra, x, atomic)                                         \
    [OP_##nm] = {.name = #nm,                                                                  \
                 .encoding = ENC_##enc,                                                        \
                 .op = opn,                                                                    \
                 .form = FORM_##f,                                                             \
                 .bytes = size,                                                                \
                 .detail = extra,                                                              \
                 .exec = x,                                                                    \
                 .fn = atomic},
#define DSS(opn, nm, D, A, B, C, size, f, extra, x, atomic)                                    \
    [OP_##nm] = {.name = #nm,                                                                  \
                 .encoding = ENC_DS,                                                           \
                 .op = opn,                                                                    \
                 .d = T_##D,                                                                   \
                 .s = {T_##A, T_##B, T_##C},                                                   \
                 .form = FORM_##f,                                                             \
                 .bytes = size,                                                                \
                 .detail = extra,                                                              \
                 .exec = x,                                                                    \
                 .fn = atomic},
#include "ops.def"
};

/* Numbers are one more than the row, so that 0 means: no such instruction. */
static const uint16_t sop2[128] = {
#define SOP2(op, name, ...) [op] = OP_##name + 1,
#include "ops.def"
};
static const uint16_t sop1[256] = {
#define SOP1(op, name, ...) [op] = OP_##name + 1,
#include "ops.def"
};
static const uint16_t sopc[128] = {
#define SOPC(op, name, ...) [op] = OP_##name + 1,
#include "ops.def"
};
static const uint16_t sopk[32] = {
#define SOPK(op, name, ...) [op] = OP_##name + 1,
#include "ops.def"
};
static const uint16_t sopp[128] = {
#define SOPP(op, name, ...) [op] = OP_##name + 1,
#include "ops.def"
};
static const uint16_t smem[256] = {
#define SMEM(op, name, ...) [op] = OP_##name + 1,
#include "ops.def"
};
static const uint16_t ds[256] = {
#define DSS(op, name, ...) [op] = OP_##name + 1,
#include "ops.def"
};
static const uint16_t vopd[32] = {
#define VD(op, name, same) [op] = OP_v_dual_##name + 1,
#include "ops.def"
};

/* One array for all vector encodings and one for the memory segments: the base in `base_*`. */
enum {
    BASE_VOPC = 0,
    BASE_VOP2 = 0x100,
    BASE_VOP1 = 0x180,
    BASE_VOP3 = 0,
    BASE_VOP3SD = 0,
    BASE_VOP3P = 0x400,
    BASE_FLAT = 0,
    BASE_SCRATCH = 128,
    BASE_GLOBAL = 256,
    BASE_MUBUF = 384
};
static const uint16_t valu[0x480] = {
#define VALU(encoding, op, name, ...) [BASE_##encoding + (op)] = OP_##name + 1,
#include "ops.def"
};
static const uint16_t flats[512] = {
#define FLATS(encoding, op, name, ...) [BASE_##encoding + (op)] = OP_##name + 1,
#include "ops.def"
};
static const uint16_t dual_same[OP_COUNT_] = {
#define VD(op, name, same) [OP_v_dual_##name] = OP_##same,
#include "ops.def"
};

/* Where the numbers of each encoding lie. */
static const struct {
    const uint16_t *number;
    unsigned count;
} ranges[ENC_COUNT_] = {
    [ENC_SOP2] = {sop2, 128},
    [ENC_SOP1] = {sop1, 256},
    [ENC_SOPC] = {sopc, 128},
    [ENC_SOPK] = {sopk, 32},
    [ENC_SOPP] = {sopp, 128},
    [ENC_SMEM] = {smem, 256},
    [ENC_VOP1] = {valu + BASE_VOP1, 128},
    [ENC_VOP2] = {valu + BASE_VOP2, 64},
    [ENC_VOPC] = {valu, 256},
    [ENC_VOP3] = {valu, 0x400},
    [ENC_VOP3SD] = {valu, 0x400},
    [ENC_VOP3P] = {valu + BASE_VOP3P, 128},
    [ENC_VOPD] = {vopd, 32},
    [ENC_DS] = {ds, 256},
    [ENC_FLAT] = {flats, 128},
    [ENC_SCRATCH] = {flats + BASE_SCRATCH, 128},
    [ENC_GLOBAL] = {flats + BASE_GLOBAL, 128},
    [ENC_MUBUF] = {flats + BASE_MUBUF, 128},
};

const struct opcode *opcode_lookup(enum encoding e, unsigned op)
{
    const unsigned n = op < ranges[e].count ? ranges[e].number[op] : 0;
    return n ? &opcodes[n - 1] : NULL;
}

const struct opcode *opcode_dual(const struct opcode *half)
{
    return &opcodes[dual_same[half - opcodes]];
}

const struct opcode *opcode_find(const char *name)
{
    for (int i = 0; i < OP_COUNT_; i++)
        if (strcmp(opcodes[i].name, name) == 0)
            return &opcodes[i];
    return NULL;
}

const struct opcode *opcode_at(int index)
{
    return index >= 0 && index < OP_COUNT_ ? &opcodes[index] : NULL;
}

int opcode_count(void)
{
    return OP_COUNT_;
}
