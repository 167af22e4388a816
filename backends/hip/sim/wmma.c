/* SPDX-License-Identifier: Apache-2.0 */
#include "dot2.h"

#include <string.h>

#include "dot2step.h"
#include "floatbits.h"

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

/* Sum of the three terms' units in c's sign frame. */
struct sum {
    int32_t units, grid;
    bool nothing; /* all terms are zero */
};

/* For finite operands in 32-bit arithmetic, without branches. p and q are the two products with
 * their significands' exponents left out; c is taken to have at least the exponent `floor`. */
INLINE struct sum sum_make(float p, float q, int32_t p_nominal, int32_t q_nominal, int fraction,
                           uint32_t c, int32_t floor)
{
    const uint32_t pb = bits32(p), qb = bits32(q);
    const int32_t pn = pb << 1 ? p_nominal : DOT2_NOTHING,
                  qn = qb << 1 ? q_nominal : DOT2_NOTHING;
    const int32_t offset = 127 + 2 * fraction, c_field = c >> 23 & 255;
    const int32_t p_top = (int32_t)(pb >> 23 & 255) - offset + pn;
    const int32_t q_top = (int32_t)(qb >> 23 & 255) - offset + qn;
    const int32_t c_top = c_field ? c_field - 127 : DOT2_NOTHING;
    const int32_t top = larger(larger(p_top, q_top), c_top);
    const int32_t grid =
        larger(larger(pn, qn) - DOT2_PRODUCT_BITS, larger(top, floor) - DOT2_TERM_BITS);
    const int32_t p_units = term_units(pb, p_top, grid) ^ (int32_t)(pb ^ c) >> 31;
    const int32_t q_units = term_units(qb, q_top, grid) ^ (int32_t)(qb ^ c) >> 31;
    return (struct sum){.units = term_units(c, c_top, grid) + p_units + q_units,
                        .grid = grid,
                        .nothing = top < DOT2_NOTHING / 2};
}

/* dot2_f32_step; sets *overflow if the result is Inf. */
INLINE uint32_t step_f32(float p, float q, int32_t p_nominal, int32_t q_nominal, int fraction,
                         uint32_t c, uint32_t *overflow)
{
    const struct sum s = sum_make(p, q, p_nominal, q_nominal, fraction, c, DOT2_NOTHING);
    /* the host rounds an integer to 24 bits just so */
    const uint32_t r = bits32((float)s.units);
    const int32_t field = (int32_t)(r >> 23 & 255) + s.grid;
    const uint32_t sign = (r ^ c) & 0x80000000;
    *overflow |= field > 254;
    const bool zero = s.units == 0 || field < 1 || s.nothing;
    return zero ? 0 : sign | (uint32_t)field << 23 | (r & 0x7fffff);
}

/* A finite f16 number as f32. */
INLINE uint32_t widen(uint32_t h)
{
    const uint32_t magnitude = h & 0x7fff, normal = (magnitude << 13) + (112u << 23);
    const uint32_t subnormal = bits32((float)(int32_t)magnitude * 0x1p-24f);
    const uint32_t small = -(uint32_t)(magnitude < 0x400); /* a mask: a branch is no vector */
    return (h & 0x8000) << 16 | (subnormal & small) | (normal & ~small);
}

INLINE int32_t between(int32_t x, int32_t low, int32_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* dot2_half_step of f16 likewise; h is c. */
INLINE uint32_t step_f16(float p, float q, int32_t p_nominal, int32_t q_nominal, uint32_t h,
                         uint32_t *overflow)
{
    const uint32_t c = widen(h);
    const struct sum s = sum_make(p, q, p_nominal, q_nominal, 10, c, -14);
    const uint32_t m = (uint32_t)(s.units < 0 ? -s.units : s.units);
    /* without the bit after the leading one no rounding reaches the exponent */
    const int32_t top = (int32_t)(bits32((float)(int32_t)(m & ~(m >> 1))) >> 23) - 127;
    const int32_t last = larger(top + s.grid - 10, -24), down = last - s.grid;
    const int32_t right = between(down, 1, 31), left = between(-down, 0, 31);
    const uint32_t rounded = (m + (1u << (right - 1)) - 1 + (m >> right & 1)) >> right;
    const uint32_t bits = ((uint32_t)(last + 24) << 10) + (down > 0 ? rounded : m << left);
    *overflow |= (bits >= 0x7c00) & (m != 0);
    const bool zero = m == 0 || bits == 0 || s.nothing;
    return zero ? 0 : (uint32_t)(s.units ^ (int32_t)c) >> 31 << 15 | bits;
}

/* What becomes of the sum after each step. */
enum sums { SUMS_F32, SUMS_BF16, SUMS_F16 };

/* All 16 rows; false if some sum left the finite range. d holds f32 bits (SUMS_BF16: of which
 * the upper half counts) or f16 bits. */
INLINE bool tile(const struct factors *a, const struct factors *b, int fraction, enum sums sums,
                 uint32_t d[N][N])
{
    uint32_t overflow[N] = {0}, any = 0;
    for (int i = 0; i < N; i++) {
        uint32_t row[N];
        memcpy(row, d[i], sizeof row);
        for (int k = 0; k < N; k += 2) {
            const float p = a->significand[i][k], q = a->significand[i][k + 1];
            const int32_t pe = a->exponent[i][k], qe = a->exponent[i][k + 1];
            const float *x = b->significand[k], *y = b->significand[k + 1];
            const int32_t *xe = b->exponent[k], *ye = b->exponent[k + 1];
            for (int j = 0; j < N; j++)
                row[j] = sums == SUMS_F16 ? step_f16(p * x[j], q * y[j], pe + xe[j], qe + ye[j],
                                                     row[j], &overflow[j])
                                          : step_f32(p * x[j], q * y[j], pe + xe[j], qe + ye[j],
                                                     fraction, row[j], &overflow[j]) &
                                                (sums == SUMS_BF16 ? 0xffff0000 : UINT32_MAX);
        }
        memcpy(d[i], row, sizeof row);
    }
    for (int j = 0; j < N; j++)
        any |= overflow[j];
    return !any;
}

INLINE bool tile_any(const struct factors *a, const struct factors *b, int fraction,
                     enum sums sums, uint32_t d[N][N])
{
    switch (sums) {
    case SUMS_F16:
        return tile(a, b, fraction, SUMS_F16, d);
    case SUMS_BF16:
        return tile(a, b, fraction, SUMS_BF16, d);
    default:
        return tile(a, b, fraction, SUMS_F32, d);
    }
}

static bool tile_base(const struct factors *a, const struct factors *b, int fraction,
                      enum sums sums, uint32_t d[N][N])
{
    return tile_any(a, b, fraction, sums, d);
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) static bool tile_avx2(const struct factors *a,
                                                      const struct factors *b, int fraction,
                                                      enum sums sums, uint32_t d[N][N])
{
    return tile_any(a, b, fraction, sums, d);
}

__attribute__((
    target("avx512f,avx512vl,avx512dq,avx512bw,prefer-vector-width=512"))) static bool
tile_avx512(const struct factors *a, const struct factors *b, int fraction, enum sums sums,
            uint32_t d[N][N])
{
    return tile_any(a, b, fraction, sums, d);
}

static bool tile_best(const struct factors *a, const struct factors *b, int fraction,
                      enum sums sums, uint32_t d[N][N])
{
    if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw"))
        return tile_avx512(a, b, fraction, sums, d);
    if (__builtin_cpu_supports("avx2"))
        return tile_avx2(a, b, fraction, sums, d);
    return tile_base(a, b, fraction, sums, d);
}
#else
static bool tile_best(const struct factors *a, const struct factors *b, int fraction,
                      enum sums sums, uint32_t d[N][N])
{
    return tile_base(a, b, fraction, sums, d);
}
#endif

/* `d` holds c on entry. False, and `d` spoilt, if the operands need the careful way. */
static bool tile_fast(enum dot2_format f, uint16_t a[N][N], uint16_t b[N][N], enum sums sums,
                      uint32_t d[N][N])
{
    struct factors rows, columns;
    const uint32_t top = sums == SUMS_F16 ? 0x7c00 : 0x7f800000;
    uint32_t special = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            special |= (d[i][j] & top) == top;
    if (special || !factors_load(f, a, false, &rows) || !factors_load(f, b, true, &columns))
        return false;
    return tile_best(&rows, &columns, dot2_fraction(f), sums, d);
}

static void wmma_f32(enum dot2_format f, uint32_t d[N][N], uint16_t a[N][N], uint16_t b[N][N],
                     uint32_t c[N][N])
{
    uint32_t r[N][N];
    memcpy(r, c, sizeof r);
    if (!tile_fast(f, a, b, SUMS_F32, r)) {
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
    const int shift = f == DOT2_F16 ? 0 : 16;
    uint32_t r[N][N];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            r[i][j] = (uint32_t)c[i][j] << shift;
    const bool fast = tile_fast(f, a, b, f == DOT2_F16 ? SUMS_F16 : SUMS_BF16, r);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            uint16_t careful = c[i][j];
            for (int k = 0; k < N && !fast; k += 2)
                careful = dot2_half_step(f, &a[i][k], &b[j][k], careful);
            d[i][j] = fast ? (uint16_t)(r[i][j] >> shift) : careful;
        }
}

void wmma_f16_f16(uint16_t d[N][N], uint16_t a[N][N], uint16_t b[N][N], uint16_t c[N][N])
{
    wmma_half(DOT2_F16, d, a, b, c);
}

void wmma_bf16_bf16(uint16_t d[N][N], uint16_t a[N][N], uint16_t b[N][N], uint16_t c[N][N])
{
    wmma_half(DOT2_BF16, d, a, b, c);
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
