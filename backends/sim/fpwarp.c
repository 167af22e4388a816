/* SPDX-License-Identifier: Apache-2.0 */
#include "fpwarp.h"

#include <math.h>

#include "floatbits.h"

enum op { OP_ADD, OP_SUB, OP_MUL, OP_FMA, OP_DIV, OP_SQRT };

#define INLINE static inline __attribute__((always_inline))
#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_WIDE                                                                              \
    1 /* the same code once more for processors with 8 lanes and fused multiply-add */
#define WIDE __attribute__((target("avx2,fma")))
#else
#define HAVE_WIDE 0
#define WIDE
#endif

static uint64_t lane_exact(const struct fp_env *v, enum op op, uint32_t a, uint32_t b,
                           uint32_t c)
{
    switch (op) {
    case OP_ADD:
        return fp_add(v, FP_F32, a, b);
    case OP_SUB:
        return fp_sub(v, FP_F32, a, b);
    case OP_MUL:
        return fp_mul(v, FP_F32, a, b);
    case OP_FMA:
        return fp_fma(v, FP_F32, a, b, c);
    case OP_DIV:
        return fp_div(v, FP_F32, a, b);
    default:
        return fp_sqrt(v, FP_F32, a);
    }
}

/* Subnormals lose all bits outside `keep`. */
INLINE uint32_t flush(uint32_t x, uint32_t keep)
{
    return x & (x & 0x7f800000 ? UINT32_MAX : keep);
}

INLINE uint32_t keep_mask(uint8_t formats)
{
    return formats >> FP_F32 & 1 ? 0x80000000 : UINT32_MAX;
}

INLINE bool is_nan(uint32_t x)
{
    return (x & 0x7fffffff) > 0x7f800000;
}

INLINE float host_compute(enum op op, float a, float b, float c)
{
    switch (op) {
    case OP_ADD:
        return a + b;
    case OP_SUB:
        return a - b;
    case OP_MUL:
        return a * b;
    case OP_DIV:
        return a / b;
    case OP_SQRT:
        return sqrtf(a);
    default:
        return fmaf(a, b, c);
    }
}

/* Everything of the host's answer is IEEE's, except which NaN it gives. The loops are plain so
 * that the compiler turns them into vectors. */
INLINE void lanes(const struct fp_env *v, enum op op, uint32_t *d, const uint32_t *a,
                  const uint32_t *b, const uint32_t *c)
{
    const uint32_t in = keep_mask(v->flush_in), out = keep_mask(v->flush_out);
    uint32_t r[FP_WARP], nan = 0;
    for (int i = 0; i < FP_WARP; i++) {
        float y = host_compute(op, float32(flush(a[i], in)), float32(flush(b[i], in)),
                               float32(flush(c[i], in)));
        r[i] = flush(bits32(y), out);
        nan |= is_nan(r[i]);
    }
    if (nan)
        for (int i = 0; i < FP_WARP; i++)
            if (is_nan(r[i]))
                r[i] = (uint32_t)lane_exact(v, op, a[i], b[i], c[i]);
    for (int i = 0; i < FP_WARP; i++)
        d[i] = r[i];
}

static void lanes_exact(const struct fp_env *v, enum op op, uint32_t *d, const uint32_t *a,
                        const uint32_t *b, const uint32_t *c)
{
    for (int i = 0; i < FP_WARP; i++)
        d[i] = (uint32_t)lane_exact(v, op, a[i], b[i], c[i]);
}

static bool host_agrees(const struct fp_env *v)
{
    bool late = !(v->flush_out >> FP_F32 & 1) || !v->rules->tiny_before_rounding;
    return v->round == FP_RNE && late;
}

#if HAVE_WIDE
static bool host_is_wide(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#else
static bool host_is_wide(void)
{
    return false;
}
#endif

#define OPERATION(name, op, parameters, b, c)                                                  \
    WIDE static void name##_wide(const struct fp_env *v, uint32_t *d, const uint32_t *a,       \
                                 const uint32_t *y, const uint32_t *z)                         \
    {                                                                                          \
        lanes(v, op, d, a, y, z);                                                              \
    }                                                                                          \
    void fp_warp_##name parameters                                                             \
    {                                                                                          \
        if (!host_agrees(v))                                                                   \
            lanes_exact(v, op, d, a, b, c);                                                    \
        else if (host_is_wide())                                                               \
            name##_wide(v, d, a, b, c);                                                        \
        else                                                                                   \
            lanes(v, op, d, a, b, c);                                                          \
    }
OPERATION(add, OP_ADD,
          (const struct fp_env *v, uint32_t *d, const uint32_t *a, const uint32_t *b), b, b)
OPERATION(sub, OP_SUB,
          (const struct fp_env *v, uint32_t *d, const uint32_t *a, const uint32_t *b), b, b)
OPERATION(mul, OP_MUL,
          (const struct fp_env *v, uint32_t *d, const uint32_t *a, const uint32_t *b), b, b)
OPERATION(div, OP_DIV,
          (const struct fp_env *v, uint32_t *d, const uint32_t *a, const uint32_t *b), b, b)
OPERATION(sqrt, OP_SQRT, (const struct fp_env *v, uint32_t *d, const uint32_t *a), a, a)
OPERATION(fma, OP_FMA,
          (const struct fp_env *v, uint32_t *d, const uint32_t *a, const uint32_t *b,
           const uint32_t *c),
          b, c)
#undef OPERATION

/* Order as integers, -0 below +0. */
INLINE int32_t key(uint32_t x)
{
    return (int32_t)(x ^ ((uint32_t)((int32_t)x >> 31) & 0x7fffffff));
}

INLINE void pick(const struct fp_env *v, uint32_t *d, const uint32_t *a, const uint32_t *b,
                 bool larger)
{
    const uint32_t in = keep_mask(v->flush_in);
    uint32_t r[FP_WARP], nan = 0;
    for (int i = 0; i < FP_WARP; i++) {
        uint32_t x = flush(a[i], in), y = flush(b[i], in);
        r[i] = (larger ? key(x) < key(y) : key(y) < key(x)) ? y : x;
        nan |= is_nan(x) | is_nan(y);
    }
    if (nan)
        for (int i = 0; i < FP_WARP; i++)
            r[i] = (uint32_t)(larger ? fp_max(v, FP_F32, a[i], b[i])
                                     : fp_min(v, FP_F32, a[i], b[i]));
    for (int i = 0; i < FP_WARP; i++)
        d[i] = r[i];
}

void fp_warp_min(const struct fp_env *v, uint32_t *d, const uint32_t *a, const uint32_t *b)
{
    pick(v, d, a, b, false);
}

void fp_warp_max(const struct fp_env *v, uint32_t *d, const uint32_t *a, const uint32_t *b)
{
    pick(v, d, a, b, true);
}
