/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "../../sim/fp.h"
#include "rules.h"

/* f32 arithmetic on the host's unit, which is IEEE in the rounding mode the executor has set.
 * Which NaN comes out is put right afterwards: the first NaN operand, quieted, or the default.
 */

static inline uint32_t is_nan(uint32_t u)
{
    return (u & 0x7fffffff) > 0x7f800000;
}

static __attribute__((noinline)) void nan_repair(row_f32 *r, const row_u32 *a, const row_u32 *b,
                                                 const row_u32 *c)
{
    for (int i = 0; i < WAVE_LANES; i++) {
        if (!is_nan(bits32(r[i])))
            continue;
        uint32_t u = hip_rules.nan[FP_F32];
        u = c && is_nan(c[i]) ? c[i] : u;
        u = is_nan(b[i]) ? b[i] : u;
        u = is_nan(a[i]) ? a[i] : u;
        r[i] = float32(u | 0x400000);
    }
}

/* --- the five that kernels spend their time in: whole registers, and one test for NaNs */
#if defined(__AVX512F__)
typedef __m512 vec;
enum { VEC_LANES = 16 };
#define vec_load(p) _mm512_loadu_ps(p)
#define vec_store(p, v) _mm512_storeu_ps(p, v)
#define vec_add(a, b) _mm512_add_ps(a, b)
#define vec_sub(a, b) _mm512_sub_ps(a, b)
#define vec_mul(a, b) _mm512_mul_ps(a, b)
#define vec_fma(a, b, c) _mm512_fmadd_ps(a, b, c)
#define vec_odd(v) (int)_mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q)
#elif defined(__AVX2__) && defined(__FMA__)
typedef __m256 vec;
enum { VEC_LANES = 8 };
#define vec_load(p) _mm256_loadu_ps(p)
#define vec_store(p, v) _mm256_storeu_ps(p, v)
#define vec_add(a, b) _mm256_add_ps(a, b)
#define vec_sub(a, b) _mm256_sub_ps(a, b)
#define vec_mul(a, b) _mm256_mul_ps(a, b)
#define vec_fma(a, b, c) _mm256_fmadd_ps(a, b, c)
#define vec_odd(v) _mm256_movemask_ps(_mm256_cmp_ps(v, v, _CMP_UNORD_Q))
#else
typedef float vec;
enum { VEC_LANES = 1 };
#define vec_load(p) (*(p))
#define vec_store(p, v) (*(p) = (v))
#define vec_add(a, b) ((a) + (b))
#define vec_sub(a, b) ((a) - (b))
#define vec_mul(a, b) ((a) * (b))
#define vec_fma(a, b, c) __builtin_fmaf(a, b, c)
#define vec_odd(v) ((v) != (v))
#endif
enum { VECS = WAVE_LANES / VEC_LANES };

/* The result is stored last: an operand may lie there, and the repair needs it. */
#define ROW_VEC(name, c_or_null, expr)                                                         \
    ROW(name)                                                                                  \
    {                                                                                          \
        ROW_UNUSED;                                                                            \
        const float *pa = va, *pb = vb, *pc = vc;                                              \
        row_f32 *d = vd;                                                                       \
        vec r[VECS];                                                                           \
        int odd = 0;                                                                           \
        (void)pc;                                                                              \
        _Pragma("GCC unroll 4") for (int k = 0; k < VECS; k++)                                 \
        {                                                                                      \
            r[k] = (expr);                                                                     \
            odd |= vec_odd(r[k]);                                                              \
        }                                                                                      \
        if (__builtin_expect(odd, 0)) {                                                        \
            row_f32 fixed[WAVE_LANES];                                                         \
            for (int k = 0; k < VECS; k++)                                                     \
                vec_store(fixed + k * VEC_LANES, r[k]);                                        \
            nan_repair(fixed, va, vb, c_or_null);                                              \
            LANES d[i] = fixed[i];                                                             \
            return;                                                                            \
        }                                                                                      \
        _Pragma("GCC unroll 4") for (int k = 0; k < VECS; k++)                                 \
            vec_store(d + k * VEC_LANES, r[k]);                                                \
    }
#define A vec_load(pa + k * VEC_LANES)
#define B vec_load(pb + k * VEC_LANES)
#define C vec_load(pc + k * VEC_LANES)
ROW_VEC(add_f32, NULL, vec_add(A, B))
ROW_VEC(sub_f32, NULL, vec_sub(A, B))
ROW_VEC(subrev_f32, NULL, vec_sub(B, A))
ROW_VEC(mul_f32, NULL, vec_mul(A, B))
ROW_VEC(fma_f32, vc, vec_fma(A, B, C))

#define ROW_FLOAT(name, c_or_null, expr)                                                       \
    ROW(name)                                                                                  \
    {                                                                                          \
        ROW_UNUSED;                                                                            \
        const row_f32 *a = va, *b = vb, *c = vc;                                               \
        row_f32 r[WAVE_LANES] __attribute__((aligned(64)));                                    \
        row_f32 *d = vd;                                                                       \
        int odd = 0;                                                                           \
        (void)c;                                                                               \
        LANES r[i] = (expr);                                                                   \
        LANES odd |= r[i] != r[i];                                                             \
        if (__builtin_expect(odd, 0))                                                          \
            nan_repair(r, va, vb, c_or_null);                                                  \
        LANES d[i] = r[i];                                                                     \
    }
/* DX9 rule: zero times anything is +0 */
ROW_FLOAT(mul_dx9_zero_f32, NULL, a[i] == 0 || b[i] == 0 ? 0.0f : a[i] * b[i])
ROW_FLOAT(fma_dx9_zero_f32, vc,
          a[i] == 0 || b[i] == 0 ? 0.0f + c[i] : __builtin_fmaf(a[i], b[i], c[i]))

/* --- minimum and maximum on ordered integers: -0 < +0. A signalling NaN operand is the result,
 * quieted; a quiet one gives way to the other operand. */
static inline int32_t order(uint32_t u)
{
    return (int32_t)(u ^ ((uint32_t)((int32_t)u >> 31) & 0x7fffffff));
}
static inline uint32_t is_snan(uint32_t u)
{
    return is_nan(u) && !(u & 0x400000);
}
static inline uint32_t pick(uint32_t a, uint32_t b, uint32_t ordered)
{
    uint32_t r = is_nan(b) ? a : ordered;
    r = is_nan(a) ? b : r;
    r = is_snan(b) ? b | 0x400000 : r;
    return is_snan(a) ? a | 0x400000 : r;
}
static inline uint32_t least(uint32_t a, uint32_t b)
{
    return pick(a, b, order(a) < order(b) ? a : b);
}
static inline uint32_t most(uint32_t a, uint32_t b)
{
    return pick(a, b, order(a) > order(b) ? a : b);
}
static inline uint32_t median(uint32_t a, uint32_t b, uint32_t c)
{
    if (is_nan(a) || is_nan(b) || is_nan(c))
        return least(least(a, b), c);
    return most(least(a, b), least(most(a, b), c));
}
ROW_U32(min_f32, least(a[i], b[i]))
ROW_U32(max_f32, most(a[i], b[i]))
ROW_U32(min3_f32, least(least(a[i], b[i]), c[i]))
ROW_U32(max3_f32, most(most(a[i], b[i]), c[i]))
ROW_U32(maxmin_f32, least(most(a[i], b[i]), c[i]))
ROW_U32(minmax_f32, most(least(a[i], b[i]), c[i]))
ROW_U32(med3_f32, median(a[i], b[i], c[i]))

/* --- to integral values: every finite number of 2^23 or more is one */
static inline float keep_sign(float r, float a)
{
    return float32((bits32(r) & 0x7fffffff) | (bits32(a) & 0x80000000));
}
static inline uint32_t quiet(float f)
{
    return bits32(f) | (is_nan(bits32(f)) ? 0x400000 : 0);
}
static inline int is_integral(float f)
{
    return (bits32(f) & 0x7fffffff) >= 0x4b000000;
}
static inline float truncated(float f)
{
    return is_integral(f) ? float32(quiet(f)) : keep_sign((float)(int32_t)f, f);
}
static inline float floored(float f)
{
    float t = truncated(f);
    return t > f ? keep_sign(t - 1.0f, f) : t;
}
static inline float raised(float f)
{
    float t = truncated(f);
    return t < f ? t + 1.0f : t;
}
/* Half cases by hand, so that the host's rounding mode does not matter. */
static inline float nearest_even(float f)
{
    float t = truncated(f), rest = f - t;
    float away = keep_sign(1.0f, f);
    int odd = !is_integral(f) && ((int32_t)t & 1);
    float size = float32(bits32(rest) & 0x7fffffff);
    return size > 0.5f || (size == 0.5f && odd) ? t + away : t;
}
ROW_EXPR(trunc_f32, row_f32, row_f32, row_f32, row_f32, truncated(a[i]))
ROW_EXPR(floor_f32, row_f32, row_f32, row_f32, row_f32, floored(a[i]))
ROW_EXPR(ceil_f32, row_f32, row_f32, row_f32, row_f32, raised(a[i]))
ROW_EXPR(rndne_f32, row_f32, row_f32, row_f32, row_f32, nearest_even(a[i]))

static const struct fp_env nearest = {.rules = &hip_rules, .round = FP_RNE};
ROW_U32(fract_f32, (uint32_t)fp_fract(&nearest, FP_F32, a[i]))

/* --- exponents */
static inline uint32_t scaled(uint32_t u, int32_t n)
{
    return (uint32_t)fp_ldexp(&nearest, FP_F32, u, n);
}
/* The common case is a normal number that stays one. */
static inline uint32_t scaled_quick(uint32_t u, int32_t n)
{
    int32_t e = (int32_t)(u >> 23 & 255);
    if (e > 0 && e < 255 && n > -300 && n < 300 && e + n > 0 && e + n < 255)
        return u + ((uint32_t)n << 23);
    return scaled(u, n);
}
ROW_U32(ldexp_f32, scaled_quick(a[i], (int32_t)b[i]))
ROW_U32(frexp_mant_f32, (uint32_t)fp_frexp_mantissa(&nearest, FP_F32, a[i]))
ROW_U32(frexp_exp_i32_f32, (uint32_t)fp_frexp_exponent(&nearest, FP_F32, a[i]))

/* --- cube maps and lighting, as the ISA's pseudo-code has them */
static inline float size_of(float f)
{
    return float32(bits32(f) & 0x7fffffff);
}
static inline int cube_face(float x, float y, float z)
{
    if (size_of(z) >= size_of(x) && size_of(z) >= size_of(y))
        return z < 0 ? 5 : 4;
    if (size_of(y) >= size_of(x))
        return y < 0 ? 3 : 2;
    return x < 0 ? 1 : 0;
}
static inline float cube_s(float x, float y, float z)
{
    switch (cube_face(x, y, z)) {
    case 0:
        return -z;
    case 1:
        return z;
    case 5:
        return -x;
    default:
        return x;
    }
}
static inline float cube_t(float x, float y, float z)
{
    switch (cube_face(x, y, z)) {
    case 2:
        return z;
    case 3:
        return -z;
    default:
        return -y;
    }
}
static inline float cube_major(float x, float y, float z)
{
    int face = cube_face(x, y, z);
    return 2.0f * (face >= 4 ? z : face >= 2 ? y : x);
}
static inline float lit(float a, float b, float c)
{
    if (b == -3.40282347e38f || b != b || !(c > 0) || b - b != 0)
        return -3.40282347e38f;
    return a * b;
}
ROW_EXPR(cubeid_f32, row_f32, row_f32, row_f32, row_f32, (float)cube_face(a[i], b[i], c[i]))
ROW_EXPR(cubesc_f32, row_f32, row_f32, row_f32, row_f32, cube_s(a[i], b[i], c[i]))
ROW_EXPR(cubetc_f32, row_f32, row_f32, row_f32, row_f32, cube_t(a[i], b[i], c[i]))
ROW_EXPR(cubema_f32, row_f32, row_f32, row_f32, row_f32, cube_major(a[i], b[i], c[i]))
ROW_EXPR(mullit_f32, row_f32, row_f32, row_f32, row_f32, lit(a[i], b[i], c[i]))
