/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_ENCODING_H
#define GPUPARITY_HIP_SIM_ENCODING_H

#include <stdint.h>

/* Fields of the gfx1100 encodings: lowest bit and width in the 64 bits of the first two words.
 */
struct field {
    uint8_t low, width;
};
#define FIELD(name, low, width)                                                                \
    static const struct field name __attribute__((unused)) = {low, width};

FIELD(SOP_SRC0, 0, 8)
FIELD(SOP_SRC1, 8, 8)
FIELD(SOP_SDST, 16, 7)
FIELD(SOP2_OP, 23, 7)
FIELD(SOP1_OP, 8, 8)
FIELD(SOPC_OP, 16, 7)
FIELD(SOPK_OP, 23, 5)
FIELD(SOPP_OP, 16, 7)
FIELD(SOP_IMM, 0, 16)

FIELD(SMEM_SBASE, 0, 6)
FIELD(SMEM_SDATA, 6, 7)
FIELD(SMEM_DLC, 13, 1)
FIELD(SMEM_GLC, 14, 1)
FIELD(SMEM_OP, 18, 8)
FIELD(SMEM_OFFSET, 32, 21)
FIELD(SMEM_SOFFSET, 57, 7)

FIELD(VOP_SRC0, 0, 9)
FIELD(VOP_VSRC1, 9, 8)
FIELD(VOP_VDST, 17, 8)
FIELD(VOP1_OP, 9, 8)
FIELD(VOP2_OP, 25, 6)
FIELD(VOPC_OP, 17, 8)

FIELD(VOP3_VDST, 0, 8)
FIELD(VOP3_ABS, 8, 3)
FIELD(VOP3_SDST, 8, 7)
FIELD(VOP3_OPSEL, 11, 4)
FIELD(VOP3_CLAMP, 15, 1)
FIELD(VOP3_OP, 16, 10)
FIELD(VOP3_SRC0, 32, 9)
FIELD(VOP3_SRC1, 41, 9)
FIELD(VOP3_SRC2, 50, 9)
FIELD(VOP3_OMOD, 59, 2)
FIELD(VOP3_NEG, 61, 3)

FIELD(VOP3P_NEG_HI, 8, 3)
FIELD(VOP3P_OPSEL, 11, 3)
FIELD(VOP3P_OPSEL_HI2, 14, 1)
FIELD(VOP3P_OP, 16, 7)
FIELD(VOP3P_OPSEL_HI, 59, 2)

FIELD(VOPD_OPX, 22, 4)
FIELD(VOPD_OPY, 17, 5)
FIELD(VOPD_SRC0X, 0, 9)
FIELD(VOPD_VSRC1X, 9, 8)
FIELD(VOPD_SRC0Y, 32, 9)
FIELD(VOPD_VSRC1Y, 41, 8)
FIELD(VOPD_VDSTY, 49, 7)
FIELD(VOPD_VDSTX, 56, 8)

/* the word that follows when src0 is SRC_DPP16 or SRC_DPP8 */
FIELD(DPP_SRC0, 0, 8)
FIELD(DPP16_CTRL, 8, 9)
FIELD(DPP16_FI, 18, 1)
FIELD(DPP16_BOUND, 19, 1)
FIELD(DPP16_NEG0, 20, 1)
FIELD(DPP16_ABS0, 21, 1)
FIELD(DPP16_NEG1, 22, 1)
FIELD(DPP16_ABS1, 23, 1)
FIELD(DPP16_MASKS, 24, 8)
FIELD(DPP8_SELECT, 8, 24)

FIELD(DS_OFFSET0, 0, 8)
FIELD(DS_OFFSET1, 8, 8)
FIELD(DS_OFFSET, 0, 16)
FIELD(DS_GDS, 17, 1)
FIELD(DS_OP, 18, 8)
FIELD(DS_ADDR, 32, 8)
FIELD(DS_DATA0, 40, 8)
FIELD(DS_DATA1, 48, 8)
FIELD(DS_VDST, 56, 8)

FIELD(FLAT_OFFSET, 0, 13)
FIELD(FLAT_OFFSET_UNSIGNED, 0, 12)
FIELD(FLAT_DLC, 13, 1)
FIELD(FLAT_GLC, 14, 1)
FIELD(FLAT_SLC, 15, 1)
FIELD(FLAT_SEG, 16, 2)
FIELD(FLAT_OP, 18, 7)
FIELD(FLAT_ADDR, 32, 8)
FIELD(FLAT_DATA, 40, 8)
FIELD(FLAT_SADDR, 48, 7)
FIELD(FLAT_SVE, 55, 1)
FIELD(FLAT_VDST, 56, 8)

FIELD(MUBUF_OP, 18, 8)
#undef FIELD

static inline uint32_t field_get(uint64_t word, struct field f)
{
    return (uint32_t)(word >> f.low & ((1ull << f.width) - 1));
}
static inline int32_t field_signed(uint64_t word, struct field f)
{
    return (int32_t)(field_get(word, f) << (32 - f.width)) >> (32 - f.width);
}

/* Source operand numbers beyond the scalar registers. */
enum {
    SRC_ZERO = 128,
    SRC_POSITIVE_MAX = 192,
    SRC_NEGATIVE_MAX = 208,
    SRC_DPP8 = 233,
    SRC_DPP8_FI = 234,
    SRC_SHARED_BASE = 235,
    SRC_SHARED_LIMIT = 236,
    SRC_PRIVATE_BASE = 237,
    SRC_PRIVATE_LIMIT = 238,
    SRC_FLOAT_MIN = 240,
    SRC_FLOAT_MAX = 248,
    SRC_DPP16 = 250,
    SRC_VCCZ = 251,
    SRC_EXECZ = 252,
    SRC_SCC = 253,
    SRC_LITERAL = 255,
    SRC_VGPR = 256
};

#endif
