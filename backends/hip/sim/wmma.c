/* SPDX-License-Identifier: Apache-2.0 */
#include "dot2.h"

#include <string.h>

#include "dot2step.h"

enum { N = 16 };

#define INLINE static inline __attribute__((always_inline))

/* A factor as the fast path wants it: sign and significand as a float, so that one
 * multiplication gives a product exactly with its sign, and the nominal exponent. */
struct factors {
    float significand[N][N];
    int32_t exponent[N][N];
};

/* False if one of them is Inf or NaN. `across` puts the running index of the rows first. */
static bool factors_load(enum dot2_format f, uint16_t x[N][N], bool across, struct factors *ret)
{
    bool special = false;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++) {
            const uint16_t v = x[i][k];
            const float s = (float)dot2_significand(f, v);
            const int r = across ? k : i, c = across ? i : k;
            special |= dot2_is_special(f, v);
            ret->significand[r][c] = v >> 15 ? -s : s;
            ret->exponent[r][c] = dot2_exponent(f, v);
        }
    return !special;
}

INLINE uint32_t bits_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

INLINE int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* The units of a term whose leading bit has exponent `top`, from its 24 bits. */
INLINE int32_t term_units(uint32_t bits, int32_t top, int32_t grid)
{
    int32_t down = grid + DOT2_TERM_BITS - top;
    down = down > 31 ? 31 : down;
    return (int32_t)(((bits & 0x7fffff) | 0x800000) << 3 >> down);
}

/* dot2_f32_step for finite operands in 32-bit arithmetic, without branches. p and q are the two
 * products with their significands' exponents left out. Sets *overflow if the result is Inf. */
INLINE uint32_t step(float p, float q, int32_t p_nominal, int32_t q_nominal, int fraction,
                     uint32_t c, uint32_t *overflow)
{
    const uint32_t pb = bits_of(p), qb = bits_of(q);
    const int32_t pn = pb << 1 ? p_nominal : DOT2_NOTHING,
                  qn = qb << 1 ? q_nominal : DOT2_NOTHING;
    const int32_t offset = 127 + 2 * fraction, c_field = c >> 23 & 255;
    const int32_t p_top = (int32_t)(pb >> 23 & 255) - offset + pn;
    const int32_t q_top = (int32_t)(qb >> 23 & 255) - offset + qn;
    const int32_t c_top = c_field ? c_field - 127 : DOT2_NOTHING;
    const int32_t top = larger(larger(p_top, q_top), c_top);
    const int32_t grid = larger(larger(pn, qn) - DOT2_PRODUCT_BITS, top - DOT2_TERM_BITS);
    const int32_t p_units = term_units(pb, p_top, grid) ^ (int32_t)(pb ^ c) >> 31;
    const int32_t q_units = term_units(qb, q_top, grid) ^ (int32_t)(qb ^ c) >> 31;
    const int32_t sum = term_units(c, c_top, grid) + p_units + q_units;
    /* the host rounds an integer to 24 bits just so */
    const uint32_t r = bits_of((float)sum);
    const int32_t field = (int32_t)(r >> 23 & 255) + grid;
    const uint32_t sign = (r ^ c) & 0x80000000;
    *overflow |= field > 254;
    const bool zero = sum == 0 || field < 1 || top < DOT2_NOTHING / 2;
    return zero ? 0 : sign | (uint32_t)field << 23 | (r & 0x7fffff);
}

/* All 16 rows; false if some sum left the finite range. `mask` is kept of every step's result.
 */
INLINE bool tile(const struct factors *a, const struct factors *b, int fraction, uint32_t mask,
                 uint32_t d[N][N])
{
    uint32_t overflow[N] = {0}, any = 0;
    for (int i = 0; i < N; i++) {
        uint32_t row[N];
        memcpy(row, d[i], sizeof row);
        for (int k = 0; k < N; k += 2) {
            const float p = a->significand[i][k], q = a->significand[i][k + 1];
            const int32_t pe = a->exponent[i][k], qe = a->exponent[i][k + 1];
            for (int j = 0; j < N; j++)
                row[j] = mask & step(p * b->significand[k][j], q * b->significand[k + 1][j],
                                     pe + b->exponent[k][j], qe + b->exponent[k + 1][j],
                                     fraction, row[j], &overflow[j]);
        }
        memcpy(d[i], row, sizeof row);
    }
    for (int j = 0; j < N; j++)
        any |= overflow[j];
    return !any;
}

static bool tile_base(const struct factors *a, const struct factors *b, int fraction,
                      uint32_t mask, uint32_t d[N][N])
{
    return tile(a, b, fraction, mask, d);
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) static bool tile_avx2(const struct factors *a,
                                                      const struct factors *b, int fraction,
                                                      uint32_t mask, uint32_t d[N][N])
{
    return tile(a, b, fraction, mask, d);
}

__attribute__((
    target("avx512f,avx512vl,avx512dq,avx512bw,prefer-vector-width=512"))) static bool
tile_avx512(const struct factors *a, const struct factors *b, int fraction, uint32_t mask,
            uint32_t d[N][N])
{
    return tile(a, b, fraction, mask, d);
}

static bool tile_best(const struct factors *a, const struct factors *b, int fraction,
                      uint32_t mask, uint32_t d[N][N])
{
    if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        return tile_avx512(a, b, fraction, mask, d);
    if (__builtin_cpu_supports("avx2"))
        return tile_avx2(a, b, fraction, mask, d);
    return tile_base(a, b, fraction, mask, d);
}
#else
static bool tile_best(const struct factors *a, const struct factors *b, int fraction,
                      uint32_t mask, uint32_t d[N][N])
{
    return tile_base(a, b, fraction, mask, d);
}
#endif

/* `d` holds c on entry. False, and `d` spoilt, if the operands need the careful way. */
static bool tile_fast(enum dot2_format f, uint16_t a[N][N], uint16_t b[N][N], uint32_t mask,
                      uint32_t d[N][N])
{
    struct factors rows, columns;
    uint32_t special = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            special |= (d[i][j] & 0x7f800000) == 0x7f800000;
    if (special || !factors_load(f, a, false, &rows) || !factors_load(f, b, true, &columns))
        return false;
    return tile_best(&rows, &columns, dot2_fraction(f), mask, d);
}

static void wmma_f32(enum dot2_format f, uint32_t d[N][N], uint16_t a[N][N], uint16_t b[N][N],
                     uint32_t c[N][N])
{
    uint32_t r[N][N];
    memcpy(r, c, sizeof r);
    if (!tile_fast(f, a, b, UINT32_MAX, r)) {
        memcpy(r, c, sizeof r);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                for (int k = 0; k < N; k += 2)
                    r[i][j] = dot2_f32_step(f, &a[i][k], &b[j][k], r[i][j]);
    }
    memcpy(d, r, sizeof r);
}

void wmma_f32_f16(uint32_t d[N][N], uint16_t a[N][N], uint16_t b[N][N], uint32_t c[N][N])
{
    wmma_f32(DOT2_F16, d, a, b, c);
}

void wmma_f32_bf16(uint32_t d[N][N], uint16_t a[N][N], uint16_t b[N][N], uint32_t c[N][N])
{
    wmma_f32(DOT2_BF16, d, a, b, c);
}

static void wmma_half(enum dot2_format f, uint16_t d[N][N], uint16_t a[N][N], uint16_t b[N][N],
                      uint16_t c[N][N])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            uint16_t r = c[i][j];
            for (int k = 0; k < N; k += 2)
                r = dot2_half_step(f, &a[i][k], &b[j][k], r);
            d[i][j] = r;
        }
}

void wmma_f16_f16(uint16_t d[N][N], uint16_t a[N][N], uint16_t b[N][N], uint16_t c[N][N])
{
    wmma_half(DOT2_F16, d, a, b, c);
}

/* The f32 result loses its lower half after every step. */
void wmma_bf16_bf16(uint16_t d[N][N], uint16_t a[N][N], uint16_t b[N][N], uint16_t c[N][N])
{
    uint32_t r[N][N];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            r[i][j] = (uint32_t)c[i][j] << 16;
    if (!tile_fast(DOT2_BF16, a, b, 0xffff0000, r)) {
        wmma_half(DOT2_BF16, d, a, b, c);
        return;
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            d[i][j] = (uint16_t)(r[i][j] >> 16);
}

static int32_t element(uint8_t x, int bits, bool is_signed)
{
    const int32_t v = x & ((1 << bits) - 1);
    return is_signed && v >> (bits - 1) ? v - (1 << bits) : v;
}

static void wmma_integer(int bits, uint32_t d[N][N], uint8_t a[N][N], uint8_t b[N][N],
                         uint32_t c[N][N], bool a_signed, bool b_signed, bool clamp)
{
    int32_t rows[N][N], columns[N][N];
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++) {
            rows[i][k] = element(a[i][k], bits, a_signed);
            columns[i][k] = element(b[i][k], bits, b_signed);
        }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            int32_t products = 0;
            for (int k = 0; k < N; k++)
                products += rows[i][k] * columns[j][k];
            int64_t sum = (int64_t)(int32_t)c[i][j] + products;
            if (clamp)
                sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            d[i][j] = (uint32_t)sum;
        }
}

void wmma_i32_iu8(uint32_t d[N][N], uint8_t a[N][N], uint8_t b[N][N], uint32_t c[N][N],
                  bool a_signed, bool b_signed, bool clamp)
{
    wmma_integer(8, d, a, b, c, a_signed, b_signed, clamp);
}

void wmma_i32_iu4(uint32_t d[N][N], uint8_t a[N][N], uint8_t b[N][N], uint32_t c[N][N],
                  bool a_signed, bool b_signed, bool clamp)
{
    wmma_integer(4, d, a, b, c, a_signed, b_signed, clamp);
}
