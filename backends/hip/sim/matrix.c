/* SPDX-License-Identifier: Apache-2.0 */
#include "exec.h"

#include <stdlib.h>
#include <string.h>

#include "../../sim/fp.h"
#include "dot2.h"
#include "lanes.h"
#include "opcode.h"
#include "rules.h"

/* Dot products, mixed-precision fused multiply-add and matrix instructions. */

/* --- operands of two halves, each chosen and negated by the modifiers */

static void packed_load(const struct wave *w, const struct inst *i, int n, uint32_t *ret)
{
    wave_row room;
    const uint32_t *p = lanes_operand(w, &i->src[n], room);
    const unsigned low = i->opsel >> n & 1 ? 16 : 0, high = i->opsel_hi >> n & 1 ? 16 : 0;
    const uint32_t flip = (i->neg >> n & 1 ? 0x8000u : 0) | (i->neg_hi >> n & 1 ? 1u << 31 : 0);
    for (int l = 0; l < WAVE_LANES; l++)
        ret[l] = ((p[l] >> low & 0xffff) | (p[l] >> high & 0xffff) << 16) ^ flip;
}

static void plain_load(const struct wave *w, const struct operand *o, uint32_t *ret)
{
    wave_row room;
    memcpy(ret, lanes_operand(w, o, room), sizeof room);
}

int exec_dot(struct wave *w, const struct inst *i)
{
    wave_row a, b, c, r;
    const struct row_context x = {.inst = i, .mode = w->mode};
    const bool halves = i->code->s[0] == T_PF16;
    if (halves) {
        packed_load(w, i, 0, a);
        packed_load(w, i, 1, b);
    } else {
        plain_load(w, &i->src[0], a);
        plain_load(w, &i->src[1], b);
    }
    plain_load(w, &i->src[2], c);
    for (int l = 0; halves && (i->neg >> 2 & 1) && l < WAVE_LANES; l++)
        c[l] ^= 1u << 31;
    i->row(r, a, b, c, &x);
    for (int l = 0; halves && i->clamp && l < WAVE_LANES; l++)
        r[l] = (uint32_t)fp_clamp(FP_F32, r[l]);
    lanes_store(w->v[i->d], r, w->s[WAVE_EXEC]);
    return WAVE_GOES_ON;
}

static struct fp_env env_of(const struct wave *w)
{
    static const uint8_t modes[4] = {FP_RNE, FP_RU, FP_RD, FP_RZ};
    const unsigned d32 = w->mode >> MODE_DENORM_32_SHIFT & 3,
                   d64 = w->mode >> MODE_DENORM_64_SHIFT & 3;
    return (struct fp_env){.rules = &hip_rules,
                           .round = (enum fp_round)modes[w->mode >> MODE_ROUND_32_SHIFT & 3],
                           .flush_in = (uint8_t)((d32 & 1 ? 0 : 1 << FP_F32) |
                                                 (d64 & 1 ? 0 : 1 << FP_F64 | 1 << FP_F16)),
                           .flush_out = (uint8_t)((d32 & 2 ? 0 : 1 << FP_F32) |
                                                  (d64 & 2 ? 0 : 1 << FP_F64 | 1 << FP_F16))};
}

/* Each source is f32, or with op_sel_hi a half as f16; neg_hi means the absolute value. */
static void mix_load(const struct wave *w, const struct inst *i, int n, const struct fp_env *v,
                     uint32_t *ret)
{
    const struct operand *o = &i->src[n];
    const bool half = i->opsel_hi >> n & 1;
    const unsigned shift = i->opsel >> n & 1 ? 16 : 0;
    wave_row room;
    const uint32_t *p = lanes_operand(w, o, room);
    const bool inline_float = o->kind == OPERAND_CONST && o->raw == 2 && o->index >= 240;
    for (int l = 0; l < WAVE_LANES; l++) {
        uint32_t u = half && !inline_float
                         ? (uint32_t)fp_convert(v, FP_F32, FP_F16, p[l] >> shift & 0xffff)
                         : p[l];
        u = (uint32_t)fp_flush(half ? 0 : v->flush_in, FP_F32, u);
        u = i->neg_hi >> n & 1 ? u & 0x7fffffff : u;
        ret[l] = i->neg >> n & 1 ? u ^ 1u << 31 : u;
    }
}

int exec_fma_mix(struct wave *w, const struct inst *i)
{
    wave_row s[3], r;
    const struct fp_env v = env_of(w);
    const struct row_context x = {.inst = i, .mode = w->mode};
    for (int n = 0; n < 3; n++)
        mix_load(w, i, n, &v, s[n]);
    if (v.round == FP_RNE)
        i->row(r, s[0], s[1], s[2], &x);
    for (int l = 0; v.round != FP_RNE && l < WAVE_LANES; l++)
        r[l] = (uint32_t)fp_fma(&v, FP_F32, s[0][l], s[1][l], s[2][l]);
    for (int l = 0; l < WAVE_LANES; l++) {
        r[l] = (uint32_t)fp_flush(v.flush_out, FP_F32, r[l]);
        if (i->code->d == T_F32) {
            r[l] = i->clamp ? (uint32_t)fp_clamp(FP_F32, r[l]) : r[l];
            continue;
        }
        uint32_t h = (uint32_t)fp_convert(&v, FP_F16, FP_F32, r[l]);
        h = i->clamp ? (uint32_t)fp_clamp(FP_F16, h) : h;
        const uint32_t old = w->v[i->d][l];
        r[l] = i->code - opcode_at(0) == OP_v_fma_mixhi_f16 ? (old & 0xffff) | h << 16
                                                            : (old & 0xffff0000) | h;
    }
    lanes_store(w->v[i->d], r, w->s[WAVE_EXEC]);
    return WAVE_GOES_ON;
}

/* Two f16 multiply-adds into the destination; the short encoding, without modifiers. */
int exec_pk_fmac_f16(struct wave *w, const struct inst *i)
{
    wave_row a, b, p[2], q[2], c[2], r[2];
    const struct row_context x = {.inst = i, .mode = w->mode};
    plain_load(w, &i->src[0], a);
    plain_load(w, &i->src[1], b);
    const uint32_t *d = w->v[i->d];
    for (int n = 0; n < 2; n++) {
        for (int l = 0; l < WAVE_LANES; l++) {
            p[n][l] = a[l] >> 16 * n & 0xffff;
            q[n][l] = b[l] >> 16 * n & 0xffff;
            c[n][l] = d[l] >> 16 * n & 0xffff;
        }
        i->row(r[n], p[n], q[n], c[n], &x);
    }
    for (int l = 0; l < WAVE_LANES; l++)
        r[0][l] |= r[1][l] << 16;
    lanes_store(w->v[i->d], r[0], w->s[WAVE_EXEC]);
    return WAVE_GOES_ON;
}

/* Four sums of masked absolute differences of bytes, each of a window one byte further on. */
int exec_mqsad(struct wave *w, const struct inst *i)
{
    wave_row low, high, pattern, sum[4];
    struct operand part = i->src[0];
    plain_load(w, &part, low);
    part.index++;
    plain_load(w, &part, high);
    plain_load(w, &i->src[1], pattern);
    for (unsigned n = 0; n < 4; n++) {
        part = i->src[2];
        part.index = (uint16_t)(part.index + (part.kind == OPERAND_CONST ? 0 : n));
        plain_load(w, &part, sum[n]);
        for (int l = 0; l < WAVE_LANES; l++) {
            const uint64_t window = (low[l] | (uint64_t)high[l] << 32) >> 8 * n;
            for (int k = 0; k < 32; k += 8) {
                const int p = window >> k & 255, q = pattern[l] >> k & 255;
                sum[n][l] += q ? (uint32_t)abs(p - q) : 0;
            }
        }
    }
    for (unsigned n = 0; n < 4; n++)
        lanes_store(w->v[i->d + n], sum[n], w->s[WAVE_EXEC]);
    return WAVE_GOES_ON;
}

/* --- matrices of 16 by 16 by 16. Lane l holds row l of A and column l of B (lanes 16 to 31
 * repeat them); register v of C and D holds row 2 v + l / 16, column l % 16. */

union matrix {
    uint32_t u32[16][16];
    uint16_t u16[16][16];
    uint8_t u8[16][16];
};

static uint32_t part(const struct wave *w, const struct operand *o, unsigned n, int lane)
{
    return o->kind == OPERAND_VGPR ? w->v[o->index + n][lane] : scalar_32(w, o);
}

static void load_16(const struct wave *w, const struct inst *i, int n, union matrix *ret)
{
    const uint32_t flip = (i->neg >> n & 1 ? 0x8000u : 0) | (i->neg_hi >> n & 1 ? 1u << 31 : 0);
    for (int lane = 0; lane < 16; lane++)
        for (unsigned v = 0; v < 8; v++) {
            const uint32_t u = part(w, &i->src[n], v, lane) ^ flip;
            ret->u16[lane][2 * v] = (uint16_t)u;
            ret->u16[lane][2 * v + 1] = (uint16_t)(u >> 16);
        }
}

static void load_bytes(const struct wave *w, const struct inst *i, int n, int bits,
                       union matrix *ret)
{
    const unsigned each = 32 / (unsigned)bits;
    for (int lane = 0; lane < 16; lane++)
        for (unsigned k = 0; k < 16; k++)
            ret->u8[lane][k] =
                (uint8_t)(part(w, &i->src[n], k / each, lane) >> k % each * (unsigned)bits &
                          ((1u << bits) - 1));
}

static void load_c(const struct wave *w, const struct inst *i, bool is_float, union matrix *ret)
{
    for (int lane = 0; lane < WAVE_LANES; lane++)
        for (unsigned v = 0; v < 8; v++) {
            uint32_t u = part(w, &i->src[2], v, lane);
            u = is_float && (i->neg_hi & 4) ? u & 0x7fffffff : u;
            u = is_float && (i->neg & 4) ? u ^ 1u << 31 : u;
            ret->u32[2 * v + (unsigned)lane / 16][lane % 16] = u;
        }
}

static void load_c_16(const struct wave *w, const struct inst *i, union matrix *ret)
{
    const unsigned shift = i->opsel & 4 && i->src[2].kind == OPERAND_VGPR ? 16 : 0;
    for (int lane = 0; lane < WAVE_LANES; lane++)
        for (unsigned v = 0; v < 8; v++) {
            uint32_t u = part(w, &i->src[2], v, lane) >> shift;
            u = i->neg_hi & 4 ? u & 0x7fff : u;
            ret->u16[2 * v + (unsigned)lane / 16][lane % 16] =
                (uint16_t)(i->neg & 4 ? u ^ 0x8000 : u);
        }
}

static void store_d(struct wave *w, const struct inst *i, const union matrix *m)
{
    for (uint32_t rest = w->s[WAVE_EXEC]; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        for (unsigned v = 0; v < 8; v++)
            w->v[i->d + v][lane] = m->u32[2 * v + (unsigned)lane / 16][lane % 16];
    }
}

static void store_d_16(struct wave *w, const struct inst *i, const union matrix *m)
{
    const unsigned shift = i->opsel & 4 ? 16 : 0;
    for (uint32_t rest = w->s[WAVE_EXEC]; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        for (unsigned v = 0; v < 8; v++) {
            uint32_t *d = &w->v[i->d + v][lane];
            const uint32_t u = m->u16[2 * v + (unsigned)lane / 16][lane % 16];
            *d = (*d & ~(0xffffu << shift)) | u << shift;
        }
    }
}

int exec_wmma(struct wave *w, const struct inst *i)
{
    union matrix a, b, c;
    const int op = (int)(i->code - opcode_at(0));
    const bool a_signed = i->neg & 1, b_signed = i->neg & 2;
    if (op == OP_v_wmma_i32_16x16x16_iu8 || op == OP_v_wmma_i32_16x16x16_iu4) {
        const int bits = op == OP_v_wmma_i32_16x16x16_iu8 ? 8 : 4;
        load_bytes(w, i, 0, bits, &a);
        load_bytes(w, i, 1, bits, &b);
        load_c(w, i, false, &c);
        if (bits == 8)
            wmma_i32_iu8(c.u32, a.u8, b.u8, c.u32, a_signed, b_signed, i->clamp);
        else
            wmma_i32_iu4(c.u32, a.u8, b.u8, c.u32, a_signed, b_signed, i->clamp);
        store_d(w, i, &c);
        return WAVE_GOES_ON;
    }
    load_16(w, i, 0, &a);
    load_16(w, i, 1, &b);
    if (op == OP_v_wmma_f32_16x16x16_f16 || op == OP_v_wmma_f32_16x16x16_bf16) {
        load_c(w, i, true, &c);
        if (op == OP_v_wmma_f32_16x16x16_f16)
            wmma_f32_f16(c.u32, a.u16, b.u16, c.u32);
        else
            wmma_f32_bf16(c.u32, a.u16, b.u16, c.u32);
        store_d(w, i, &c);
        return WAVE_GOES_ON;
    }
    load_c_16(w, i, &c);
    if (op == OP_v_wmma_f16_16x16x16_f16)
        wmma_f16_f16(c.u16, a.u16, b.u16, c.u16);
    else
        wmma_bf16_bf16(c.u16, a.u16, b.u16, c.u16);
    store_d_16(w, i, &c);
    return WAVE_GOES_ON;
}
