/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

ROW_U32(mov_b32, a[i])
ROW_U32(not_b32, ~a[i])
ROW_U32(and_b32, a[i] & b[i])
ROW_U32(or_b32, a[i] | b[i])
ROW_U32(xor_b32, a[i] ^ b[i])
ROW_U32(xnor_b32, ~(a[i] ^ b[i]))
ROW_U32(cndmask_b32, (c[i] & b[i]) | (~c[i] & a[i]))
ROW_U32(add_nc_u32, a[i] + b[i])
ROW_U32(sub_nc_u32, a[i] - b[i])
ROW_U32(subrev_nc_u32, b[i] - a[i])
ROW_U32(lshlrev_b32, b[i] << (a[i] & 31))
ROW_U32(lshrrev_b32, b[i] >> (a[i] & 31))
ROW_I32(ashrrev_i32, b[i] >> (a[i] & 31))
ROW_U32(min_u32, a[i] < b[i] ? a[i] : b[i])
ROW_U32(max_u32, a[i] > b[i] ? a[i] : b[i])
ROW_I32(min_i32, a[i] < b[i] ? a[i] : b[i])
ROW_I32(max_i32, a[i] > b[i] ? a[i] : b[i])

#define MIN(p, q) ((p) < (q) ? (p) : (q))
#define MAX(p, q) ((p) > (q) ? (p) : (q))
#define MED(p, q, r) MAX(MIN(p, q), MIN(MAX(p, q), r))
ROW_U32(min3_u32, MIN(MIN(a[i], b[i]), c[i]))
ROW_U32(max3_u32, MAX(MAX(a[i], b[i]), c[i]))
ROW_U32(med3_u32, MED(a[i], b[i], c[i]))
ROW_U32(maxmin_u32, MIN(MAX(a[i], b[i]), c[i]))
ROW_U32(minmax_u32, MAX(MIN(a[i], b[i]), c[i]))
ROW_I32(min3_i32, MIN(MIN(a[i], b[i]), c[i]))
ROW_I32(max3_i32, MAX(MAX(a[i], b[i]), c[i]))
ROW_I32(med3_i32, MED(a[i], b[i], c[i]))
ROW_I32(maxmin_i32, MIN(MAX(a[i], b[i]), c[i]))
ROW_I32(minmax_i32, MAX(MIN(a[i], b[i]), c[i]))

/* 24-bit products */
#define S24(v) ((int32_t)((uint32_t)(v) << 8) >> 8)
#define U24(v) ((v)&0xffffff)
ROW_U32(mul_u32_u24, U24(a[i]) * U24(b[i]))
ROW_U32(mul_hi_u32_u24, (uint32_t)((uint64_t)U24(a[i]) * U24(b[i]) >> 32))
ROW_U32(mul_i32_i24, (uint32_t)S24(a[i]) * (uint32_t)S24(b[i]))
ROW_U32(mul_hi_i32_i24, (uint32_t)((int64_t)S24(a[i]) * S24(b[i]) >> 32))
ROW_U32(mad_u32_u24, U24(a[i]) * U24(b[i]) + c[i])
ROW_U32(mad_i32_i24, (uint32_t)S24(a[i]) * (uint32_t)S24(b[i]) + c[i])
ROW_U32(mul_lo_u32, a[i] * b[i])
ROW_U32(mul_hi_u32, (uint32_t)((uint64_t)a[i] * b[i] >> 32))
ROW_I32(mul_hi_i32, (int32_t)((int64_t)a[i] * b[i] >> 32))
ROW_U32(mad_u32_u16, a[i] * b[i] + c[i])
ROW_U32(mad_i32_i16, (uint32_t)(int32_t)(int16_t)a[i] * (uint32_t)(int32_t)(int16_t)b[i] + c[i])

ROW_U32(bfi_b32, (a[i] & b[i]) | (~a[i] & c[i]))
ROW_U32(bfe_u32, (a[i] >> (b[i] & 31)) & ((1u << (c[i] & 31)) - 1))
ROW_U32(lshl_add_u32, (a[i] << (b[i] & 31)) + c[i])
ROW_U32(add_lshl_u32, (a[i] + b[i]) << (c[i] & 31))
ROW_U32(add3_u32, a[i] + b[i] + c[i])
ROW_U32(lshl_or_b32, (a[i] << (b[i] & 31)) | c[i])
ROW_U32(and_or_b32, (a[i] & b[i]) | c[i])
ROW_U32(or3_b32, a[i] | b[i] | c[i])
ROW_U32(xor3_b32, a[i] ^ b[i] ^ c[i])
ROW_U32(xad_u32, (a[i] ^ b[i]) + c[i])
ROW_U32(bfm_b32, ((1u << (a[i] & 31)) - 1) << (b[i] & 31))
ROW_U32(alignbit_b32, (uint32_t)(((uint64_t)a[i] << 32 | b[i]) >> (c[i] & 31)))
ROW_U32(alignbyte_b32, (uint32_t)(((uint64_t)a[i] << 32 | b[i]) >> (c[i] & 3) * 8))
ROW_U32(bcnt_u32_b32, (uint32_t)__builtin_popcount(a[i]) + b[i])
ROW_U32(mbcnt_lo_u32_b32, (uint32_t)__builtin_popcount(a[i] & ((1u << i) - 1)) + b[i])
ROW_U32(mbcnt_hi_u32_b32, b[i])
ROW_U32(ctz_i32_b32, a[i] ? (uint32_t)__builtin_ctz(a[i]) : ~0u)
ROW_U32(clz_i32_u32, a[i] ? (uint32_t)__builtin_clz(a[i]) : ~0u)

static inline uint32_t sign_run(int32_t v)
{
    uint32_t u = (uint32_t)(v < 0 ? ~v : v);
    return u ? (uint32_t)__builtin_clz(u) : ~0u;
}
ROW_U32(cls_i32, sign_run((int32_t)a[i]))

static inline uint32_t reverse(uint32_t v)
{
    v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
    v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
    v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(v);
}
ROW_U32(bfrev_b32, reverse(a[i]))

static inline int32_t extract_signed(int32_t v, uint32_t low, uint32_t width)
{
    low &= 31;
    width &= 31;
    if (!width)
        return 0;
    uint32_t field = (uint32_t)(v >> low);
    return low + width < 32 ? (int32_t)(field << (32 - width)) >> (32 - width) : (int32_t)field;
}
ROW_I32(bfe_i32, extract_signed(a[i], (uint32_t)b[i], (uint32_t)c[i]))

/* Each selector byte: 0-7 a byte of {a, b}, 8-11 a sign, 12 zero, above 0xff. */
static inline uint32_t permute(uint32_t a, uint32_t b, uint32_t selector)
{
    const uint64_t both = (uint64_t)a << 32 | b;
    uint32_t r = 0;
    for (int n = 0; n < 4; n++) {
        uint32_t s = selector >> 8 * n & 255, byte;
        if (s < 8)
            byte = both >> 8 * s & 255;
        else if (s < 12)
            byte = both >> (16 * (s - 8) + 15) & 1 ? 255 : 0;
        else
            byte = s == 12 ? 0 : 255;
        r |= byte << 8 * n;
    }
    return r;
}
ROW_U32(perm_b32, permute(a[i], b[i], c[i]))

/* --- 16 bits, zero-extended in and out */
#define LOW16(v) ((uint32_t)(v)&0xffff)
#define S16(v) ((int32_t)(int16_t)(v))
ROW_U32(add_nc_u16, LOW16(a[i] + b[i]))
ROW_U32(sub_nc_u16, LOW16(a[i] - b[i]))
ROW_U32(add_nc_i16, LOW16(a[i] + b[i]))
ROW_U32(sub_nc_i16, LOW16(a[i] - b[i]))
ROW_U32(mad_u16, LOW16(a[i] * b[i] + c[i]))
ROW_U32(mad_i16, LOW16(a[i] * b[i] + c[i]))
ROW_U32(min_i16, LOW16(MIN(S16(a[i]), S16(b[i]))))
ROW_U32(max_i16, LOW16(MAX(S16(a[i]), S16(b[i]))))
ROW_U32(min3_i16, LOW16(MIN(MIN(S16(a[i]), S16(b[i])), S16(c[i]))))
ROW_U32(max3_i16, LOW16(MAX(MAX(S16(a[i]), S16(b[i])), S16(c[i]))))
ROW_U32(med3_i16, LOW16(MED(S16(a[i]), S16(b[i]), S16(c[i]))))
ROW_U32(lshlrev_b16, LOW16(b[i] << (a[i] & 15)))
ROW_U32(lshrrev_b16, LOW16(b[i]) >> (a[i] & 15))
ROW_U32(ashrrev_i16, LOW16(S16(b[i]) >> (a[i] & 15)))
ROW_U32(cvt_i32_i16, (uint32_t)S16(a[i]))
ROW_U32(pack_b32_f16, LOW16(a[i]) | b[i] << 16)

static inline uint32_t saturate_u8(int32_t v)
{
    return v < 0 ? 0 : v > 255 ? 255 : (uint32_t)v;
}
ROW_U32(sat_pk_u8_i16, saturate_u8(S16(a[i])) | saturate_u8(S16(a[i] >> 16)) << 8)
ROW_U32(cvt_pk_u16_u32, MIN(a[i], 0xffffu) | MIN(b[i], 0xffffu) << 16)
ROW_I32(cvt_pk_i16_i32, (int32_t)(LOW16(MAX(MIN(a[i], 32767), -32768)) |
                                  LOW16(MAX(MIN(b[i], 32767), -32768)) << 16))
ROW_I32(add_nc_i32, (int32_t)((uint32_t)a[i] + (uint32_t)b[i]))
ROW_I32(sub_nc_i32, (int32_t)((uint32_t)a[i] - (uint32_t)b[i]))

/* --- sums of absolute differences */
static inline uint32_t byte_of(uint64_t v, int n)
{
    return v >> 8 * n & 255;
}
static inline uint32_t distance(uint32_t p, uint32_t q)
{
    return p > q ? p - q : q - p;
}
static inline uint32_t sad_bytes(uint32_t p, uint32_t q, uint32_t sum, int masked)
{
    for (int n = 0; n < 4; n++)
        if (!masked || byte_of(q, n))
            sum += distance(byte_of(p, n), byte_of(q, n));
    return sum;
}
ROW_U32(sad_u8, sad_bytes(a[i], b[i], c[i], 0))
ROW_U32(msad_u8, sad_bytes(a[i], b[i], c[i], 1))
ROW_U32(sad_hi_u8, (sad_bytes(a[i], b[i], 0, 0) << 16) + c[i])
ROW_U32(sad_u16, distance(LOW16(a[i]), LOW16(b[i])) + distance(a[i] >> 16, b[i] >> 16) + c[i])
ROW_U32(sad_u32, distance(a[i], b[i]) + c[i])

static inline uint64_t sad_quad(uint64_t p, uint32_t q, uint64_t sum, int masked)
{
    uint64_t r = 0;
    for (int n = 0; n < 4; n++)
        r |= (uint64_t)LOW16(sad_bytes((uint32_t)(p >> 8 * n), q, LOW16(sum >> 16 * n), masked))
             << 16 * n;
    return r;
}
ROW_EXPR(qsad_pk_u16_u8, row_u64, row_u64, row_u32, row_u64, sad_quad(a[i], b[i], c[i], 0))
ROW_EXPR(mqsad_pk_u16_u8, row_u64, row_u64, row_u32, row_u64, sad_quad(a[i], b[i], c[i], 1))

static inline uint32_t lerp(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t r = 0;
    for (int n = 0; n < 4; n++)
        r |= ((byte_of(a, n) + byte_of(b, n) + (byte_of(c, n) & 1)) >> 1 & 255) << 8 * n;
    return r;
}
ROW_U32(lerp_u8, lerp(a[i], b[i], c[i]))

/* --- 64 bits */
ROW_EXPR(lshlrev_b64, row_u64, row_u32, row_u64, row_u64, b[i] << (a[i] & 63))
ROW_EXPR(lshrrev_b64, row_u64, row_u32, row_u64, row_u64, b[i] >> (a[i] & 63))
ROW_EXPR(ashrrev_i64, row_i64, row_u32, row_i64, row_i64, b[i] >> (a[i] & 63))

/* --- carries: x->out takes the lanes' carry, the mask operand c is 0 or ~0 */
#define ROW_CARRY(name, sum, carry)                                                            \
    ROW(name)                                                                                  \
    {                                                                                          \
        ROW_UNUSED;                                                                            \
        row_u32 *d = vd;                                                                       \
        const row_u32 *a = va, *b = vb, *c = vc;                                               \
        row_u32 *out = x->out;                                                                 \
        (void)c;                                                                               \
        LANES                                                                                  \
        {                                                                                      \
            uint32_t p = a[i], q = b[i], r = (sum);                                            \
            out[i] = (carry) ? ~0u : 0;                                                        \
            d[i] = r;                                                                          \
        }                                                                                      \
    }
ROW_CARRY(add_co_u32, p + q, r < p)
ROW_CARRY(sub_co_u32, p - q, p < q)
ROW_CARRY(subrev_co_u32, q - p, q < p)
ROW_CARRY(add_co_ci_u32, p + q + (c[i] & 1), (c[i] & 1) ? r <= p : r < p)
ROW_CARRY(sub_co_ci_u32, p - q - (c[i] & 1), (c[i] & 1) ? p <= q : p < q)
ROW_CARRY(subrev_co_ci_u32, q - p - (c[i] & 1), (c[i] & 1) ? q <= p : q < p)

ROW(mad_u64_u32)
{
    ROW_UNUSED;
    row_u64 *d = vd;
    const row_u32 *a = va, *b = vb;
    const row_u64 *c = vc;
    LANES
    {
        uint64_t p = (uint64_t)a[i] * b[i], r = p + c[i];
        x->out[i] = r < p ? ~0u : 0;
        d[i] = r;
    }
}

ROW(mad_i64_i32)
{
    ROW_UNUSED;
    row_i64 *d = vd;
    const row_i32 *a = va, *b = vb;
    const row_i64 *c = vc;
    for (int i = 0; i < WAVE_LANES; i++) {
        int64_t r;
        x->out[i] = __builtin_add_overflow((int64_t)a[i] * b[i], c[i], &r) ? ~0u : 0;
        d[i] = r;
    }
}

/* --- integer dot products: signedness of each operand by neg bits 0 and 1 */
static inline uint32_t dot(uint32_t a, uint32_t b, uint32_t c, int bits, uint32_t is_signed,
                           uint32_t clamp)
{
    int64_t sum = (is_signed & 4) ? (int32_t)c : (int64_t)c;
    for (int n = 0; n < 32; n += bits) {
        int32_t p = (int32_t)(a >> n << (32 - bits)) >> (32 - bits);
        int32_t q = (int32_t)(b >> n << (32 - bits)) >> (32 - bits);
        int32_t mask = (1 << bits) - 1;
        sum += ((is_signed & 1) ? p : p & mask) * ((is_signed & 2) ? q : q & mask);
    }
    if (clamp && (is_signed & 4))
        return (uint32_t)MAX(MIN(sum, INT32_MAX), INT32_MIN);
    return clamp ? (uint32_t)MIN(sum, UINT32_MAX) : (uint32_t)sum;
}
ROW_U32(dot4_iu8, dot(a[i], b[i], c[i], 8, (x->inst->neg & 3) | 4u, x->inst->clamp))
ROW_U32(dot8_iu4, dot(a[i], b[i], c[i], 4, (x->inst->neg & 3) | 4u, x->inst->clamp))
ROW_U32(dot4_u8, dot(a[i], b[i], c[i], 8, 0, x->inst->clamp))
ROW_U32(dot8_u4, dot(a[i], b[i], c[i], 4, 0, x->inst->clamp))
