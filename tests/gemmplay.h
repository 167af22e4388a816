/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_GEMMPLAY_H
#define TESTS_GEMMPLAY_H

#include <float.h>
#include <math.h>

#include "../cases/gemm/gemm.h"
#include "scene.h"

/* Results of GEMM as devices may make them: f32 arithmetic in every legal way, and the vendors'
 * matrix units. */

/* Element (i, l) of matrix z, contracted index l, looked up apart from the family's formulas.
 */
static inline double gemm_operand(const struct scene *w, int which, int64_t z, int64_t i, int64_t l)
{
    const struct tensor *t = w->at[which];
    const struct case_tensor *plan = &w->plan.tensor[which];
    int64_t rows = t->dim[t->rank - 2], columns = t->dim[t->rank - 1];
    int64_t within = plan->axis == t->rank - 1 ? i * columns + l : l * columns + i;
    return tensor_value(t, z * rows * columns + within);
}

enum order { FORWARD, BACKWARD, TREE, PAIRS, RANGES, NVIDIA, AMD, ORDER_COUNT };

/* One legal way for a device to compute an element. */
struct way {
    enum order order;
    bool fused, fused_epilogue;
    bool flush;        /* operands and results */
    bool flush_atomic; /* where ranges meet */
    int64_t ranges;
};

struct sums {
    const struct way *w;
    const struct gemm *g;
    const float *a, *b;
};

static inline float flushed(bool flush, float x)
{
    return flush && fabsf(x) < FLT_MIN ? copysignf(0, x) : x;
}

static inline float f_mul(const struct way *w, float a, float b)
{
    return flushed(w->flush, flushed(w->flush, a) * flushed(w->flush, b));
}

static inline float f_add(const struct way *w, float a, float b)
{
    return flushed(w->flush, flushed(w->flush, a) + flushed(w->flush, b));
}

static inline float f_fma(const struct way *w, float a, float b, float c)
{
    if (!w->fused)
        return f_add(w, f_mul(w, a, b), c);
    return flushed(w->flush,
                   fmaf(flushed(w->flush, a), flushed(w->flush, b), flushed(w->flush, c)));
}

static inline float rounded(enum dtype d, float x)
{
    return (float)dtype_value(d, dtype_round(d, (double)x));
}

static inline float sum_range(const struct sums *s, int64_t first, int64_t last, int64_t step)
{
    float acc = 0;
    for (int64_t l = first; l < last; l += step)
        acc = f_fma(s->w, s->a[l], s->b[l], acc);
    return acc;
}

static inline float sum_back(const struct sums *s, int64_t k)
{
    float acc = 0;
    for (int64_t l = k - 1; l >= 0; l--)
        acc = f_fma(s->w, s->a[l], s->b[l], acc);
    return acc;
}

static inline float sum_tree(const struct sums *s, int64_t first, int64_t last)
{
    if (last - first < 2)
        return sum_range(s, first, last, 1);
    int64_t middle = first + (last - first) / 2;
    return f_add(s->w, sum_tree(s, first, middle), sum_tree(s, middle, last));
}

/* Ranges meet in an order of their own, last first. */
static inline float sum_ranges(const struct sums *s, int64_t k)
{
    int64_t chunk = (k + s->w->ranges - 1) / s->w->ranges;
    float acc = 0;
    for (int64_t r = s->w->ranges - 1; r >= 0 && chunk; r--) {
        int64_t first = r * chunk, last = first + chunk < k ? first + chunk : k;
        if (first >= last)
            continue;
        float part = flushed(s->w->flush_atomic, sum_range(s, first, last, 1));
        if (s->g->sums == GEMM_NARROW)
            part = rounded(s->g->out, part);
        acc = flushed(s->w->flush_atomic, f_add(s->w, part, acc));
    }
    return acc;
}

/* --- matrix units, written from their published descriptions
 * ---------------------------------- */

static inline int exponent_of(double x, int least)
{
    int e;
    frexp(x, &e);
    return x == 0 || e - 1 < least ? least : e - 1;
}

static inline int format_least(enum dtype d)
{
    return d == DTYPE_F16 ? -14 : -126;
}

/* Element l of an operand, zeros beyond the edge. */
static inline double padded(const float *x, int64_t l, int64_t k)
{
    return l < k ? (double)x[l] : 0;
}

static inline double truncated(double x, double unit)
{
    return trunc(x / unit) * unit;
}

/* Ampere: products unnormalised, all terms cut to 24 bits below the largest exponent, truncated
 * to f32 or rounded to f16 after each group. */
static inline float sum_nvidia(const struct sums *s, int64_t k)
{
    int group = s->g->in == DTYPE_TF32 ? 4 : 8, least = format_least(s->g->in);
    double acc = 0;
    for (int64_t first = 0; first < (k + 15) / 16 * 16; first += group) {
        int top = exponent_of(acc, format_least(s->g->acc));
        for (int64_t l = first; l < first + group; l++) {
            int e =
                exponent_of(padded(s->a, l, k), least) + exponent_of(padded(s->b, l, k), least);
            top = e > top ? e : top;
        }
        double unit = ldexp(1, top - 24), sum = truncated(acc, unit);
        for (int64_t l = first; l < first + group; l++)
            sum += truncated(padded(s->a, l, k) * padded(s->b, l, k), unit);
        if (s->g->acc == DTYPE_F16)
            acc = dtype_value(DTYPE_F16, dtype_round(DTYPE_F16, sum));
        else
            acc = truncated(sum, ldexp(1, exponent_of(sum, -126) - 23));
    }
    return (float)acc;
}

/* gfx11: pairs of products; a term of the sum's other sign counts as its complement. */
static inline float sum_amd(const struct sums *s, int64_t k)
{
    bool bf16 = s->g->in == DTYPE_BF16;
    int least = format_least(s->g->in);
    double acc = 0;
    for (int64_t first = 0; first < (k + 15) / 16 * 16; first += 2) {
        double p[2];
        int top = exponent_of(acc, -1000) - 26;
        for (int i = 0; i < 2; i++) {
            double a = padded(s->a, first + i, k), b = padded(s->b, first + i, k);
            a = bf16 && fabs(a) < 0x1p-126 ? 0 : a;
            b = bf16 && fabs(b) < 0x1p-126 ? 0 : b;
            p[i] = a * b;
            int e = exponent_of(p[i], -1000) - 26;
            top = e > top ? e : top;
            e = exponent_of(a, least) + exponent_of(b, least) - 24;
            top = p[i] != 0 && e > top ? e : top;
        }
        if (acc == 0 && p[0] == 0 && p[1] == 0)
            continue;
        double unit = ldexp(1, top), side = signbit(acc) ? -1 : 1,
               sum = floor(fabs(acc) / unit);
        for (int i = 0; i < 2; i++) {
            double size = floor(fabs(p[i]) / unit);
            sum += !signbit(p[i]) == (side > 0) ? size : -(size + 1);
        }
        sum *= side * unit;
        if (s->g->acc == DTYPE_F16)
            acc = dtype_value(DTYPE_F16, dtype_round(DTYPE_F16, sum));
        else
            acc = (double)flushed(true, (float)sum);
        acc = acc == 0 ? 0 : acc;
    }
    return (float)acc;
}

static inline float sum_all(const struct sums *s, int64_t k)
{
    switch (s->w->order) {
    case BACKWARD:
        return sum_back(s, k);
    case TREE:
        return sum_tree(s, 0, k);
    case PAIRS:
        return f_add(s->w, sum_range(s, 0, k, 2), sum_range(s, 1, k, 2));
    case RANGES:
        return sum_ranges(s, k);
    case NVIDIA:
        return sum_nvidia(s, k);
    case AMD:
        return sum_amd(s, k);
    default:
        return sum_range(s, 0, k, 1);
    }
}

static inline float epilogue(const struct way *w, const struct gemm *g, float acc, float c)
{
    struct way e = *w;
    e.fused = w->fused_epilogue;
    float value = f_mul(&e, g->alpha, acc);
    if (g->beta == 0)
        return value;
    return e.fused && w->order % 2 ? f_fma(&e, g->alpha, acc, f_mul(&e, g->beta, c))
                                   : f_fma(&e, g->beta, c, value);
}

#endif
