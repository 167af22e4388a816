/* SPDX-License-Identifier: Apache-2.0 */
#include "exec_inside.h"

/* Integer instructions with more operands than the table's rows have, or with carries. */

#define LANE_LOOP for (uint32_t l = 0; l < WARP_LANES; l++)

EXECUTOR(bfi_b32)
{
    const u32 *a = LANES32(i->a), *b = LANES32(i->b), *c = LANES32(i->c),
              *n = LANES32(i->list[0]);
    u32 r[WARP_LANES] __attribute__((aligned(64)));
    LANE_LOOP r[l] = (uint32_t)bfi_any(a[l], b[l], c[l], n[l], 32);
    write32(LANES32(i->d), r, mask);
    return RUN_NEXT;
}

EXECUTOR(bfi_b64)
{
    const u64 *a = LANES64(i->a), *b = LANES64(i->b);
    const u32 *c = LANES32(i->c), *n = LANES32(i->list[0]);
    u64 r[WARP_LANES] __attribute__((aligned(64)));
    LANE_LOOP r[l] = bfi_any(a[l], b[l], c[l], n[l], 64);
    write64(LANES64(i->d), r, mask);
    return RUN_NEXT;
}

EXECUTOR(lop3)
{
    const u32 *a = LANES32(i->a), *b = LANES32(i->b), *c = LANES32(i->c);
    u32 r[WARP_LANES] __attribute__((aligned(64)));
    uint32_t table = (uint32_t)i->imm;
    LANE_LOOP r[l] = 0;
    for (uint32_t k = 0; k < 8; k++) {
        if (!(table >> k & 1))
            continue;
        uint32_t x = k & 4 ? 0 : UINT32_MAX, y = k & 2 ? 0 : UINT32_MAX,
                 z = k & 1 ? 0 : UINT32_MAX;
        LANE_LOOP r[l] |= (a[l] ^ x) & (b[l] ^ y) & (c[l] ^ z);
    }
    write32(LANES32(i->d), r, mask);
    return RUN_NEXT;
}

static uint32_t prmt_byte(uint64_t bytes, uint32_t mode, uint32_t s, uint32_t k)
{
    uint32_t n;
    s &= 3;
    switch (mode) {
    case WORD_f4e:
        n = s + k;
        break;
    case WORD_b4e:
        n = s - k;
        break;
    case WORD_rc8:
        n = s;
        break;
    case WORD_ecl:
        n = s > k ? s : k;
        break;
    case WORD_ecr:
        n = s < k ? s : k;
        break;
    default: /* rc16 */
        n = (s & 1) * 2 + (k & 1);
    }
    return (uint32_t)(bytes >> ((n & 7) * 8)) & 255;
}

EXECUTOR(prmt_mode)
{
    const u32 *a = LANES32(i->a), *b = LANES32(i->b), *c = LANES32(i->c);
    u32 r[WARP_LANES] __attribute__((aligned(64)));
    LANE_LOOP
    {
        r[l] = 0;
        for (uint32_t k = 0; k < 4; k++)
            r[l] |= prmt_byte((uint64_t)b[l] << 32 | a[l], i->round, c[l], k) << 8 * k;
    }
    write32(LANES32(i->d), r, mask);
    return RUN_NEXT;
}

/* Two 16-bit values of a with the low or high (imm) two bytes of b. */
EXECUTOR(dp2a)
{
    const u32 *a = LANES32(i->a), *b = LANES32(i->b), *c = LANES32(i->c);
    u32 r[WARP_LANES] __attribute__((aligned(64)));
    LANE_LOOP
    {
        r[l] = c[l];
        for (uint32_t k = 0; k < 2; k++) {
            uint32_t half = a[l] >> 16 * k & 0xffff, byte = b[l] >> (8 * k + 16 * i->imm) & 255;
            int32_t x = i->type == TYPE_s32 ? (int16_t)half : (int32_t)half;
            int32_t y = i->type2 == TYPE_s32 ? (int8_t)byte : (int32_t)byte;
            r[l] += (uint32_t)x * (uint32_t)y;
        }
    }
    write32(LANES32(i->d), r, mask);
    return RUN_NEXT;
}

/* add.cc, addc, sub.cc, subc: e: carry out, c: carry in (predicates); imm 1: subtract. For a
 * subtraction the carry is the borrow. */
EXECUTOR(carry_add)
{
    uint32_t in = i->c ? PRED(i->c) : 0, out = 0;
    u32 r32[WARP_LANES];
    u64 r64[WARP_LANES];
    bool wide = i->flags & INST_WIDE;
    LANE_LOOP
    {
        uint64_t a = wide ? LANES64(i->a)[l] : LANES32(i->a)[l];
        uint64_t b = wide ? LANES64(i->b)[l] : LANES32(i->b)[l];
        lane_u128 carry = in >> l & 1;
        lane_u128 r = i->imm ? (lane_u128)a - b - carry : (lane_u128)a + b + carry;
        out |= (uint32_t)(r >> (wide ? 64 : 32) & 1) << l;
        r32[l] = (uint32_t)r;
        r64[l] = (uint64_t)r;
    }
    if (wide)
        write64(LANES64(i->d), r64, mask);
    else
        write32(LANES32(i->d), r32, mask);
    pred_write(w, i->e, out, mask);
    return RUN_NEXT;
}

/* mad.cc, madc: a * b (low or high half: imm) + c; list[0]: carry in, or none. */
EXECUTOR(carry_mad)
{
    uint32_t in = i->n_list ? PRED(i->list[0]) : 0, out = 0;
    u32 r32[WARP_LANES];
    u64 r64[WARP_LANES];
    bool wide = i->flags & INST_WIDE;
    LANE_LOOP
    {
        lane_u128 product;
        if (wide && i->type == TYPE_s64)
            product = (lane_u128)((lane_s128)LANES64(i->a)[l] * (int64_t)LANES64(i->b)[l]);
        else if (wide)
            product = (lane_u128)LANES64(i->a)[l] * LANES64(i->b)[l];
        else if (i->type == TYPE_s32)
            product =
                (uint64_t)((int64_t)(int32_t)LANES32(i->a)[l] * (int32_t)LANES32(i->b)[l]);
        else
            product = (uint64_t)LANES32(i->a)[l] * LANES32(i->b)[l];
        uint64_t half = wide ? (uint64_t)(i->imm ? product >> 64 : product)
                             : (uint32_t)(i->imm ? product >> 32 : product);
        uint64_t c = wide ? LANES64(i->c)[l] : LANES32(i->c)[l];
        lane_u128 r = (lane_u128)half + c + (in >> l & 1);
        out |= (uint32_t)(r >> (wide ? 64 : 32) & 1) << l;
        r32[l] = (uint32_t)r;
        r64[l] = (uint64_t)r;
    }
    if (wide)
        write64(LANES64(i->d), r64, mask);
    else
        write32(LANES32(i->d), r32, mask);
    pred_write(w, i->e, out, mask);
    return RUN_NEXT;
}
