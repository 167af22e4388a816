/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include "../../sim/fp.h"
#include "rules.h"

/* The helpers of division: v_div_scale, v_div_fmas, v_div_fixup. Where AMD's manual and silicon
 * differ (factor of v_div_fmas, predicates on encoded exponents) this is the silicon. */

static const struct fp_env nearest = {.rules = &hip_rules, .round = FP_RNE};

/* What a format's fields are, so that f32 and f64 share the text. */
struct width {
    enum fp_format format;
    int fraction, exponent_max, bias;
    int scale; /* the power of two that div_scale and div_fmas use */
    int gap;   /* exponent difference from which a quotient is near the edge */
    int tiny;  /* encoded numerator exponent up to which it is scaled */
};
static const struct width single = {FP_F32, 23, 255, 127, 64, 96, 24};
static const struct width wide = {FP_F64, 52, 2047, 1023, 128, 768, 53};

static inline int exponent(const struct width *w, uint64_t u)
{
    return (int)(u >> w->fraction & (uint64_t)w->exponent_max);
}
static inline uint64_t sign_bit(const struct width *w)
{
    return (uint64_t)(w->exponent_max + 1) << w->fraction;
}
static inline uint64_t magnitude(const struct width *w, uint64_t u)
{
    return u & (sign_bit(w) - 1);
}
static inline uint64_t infinity(const struct width *w)
{
    return (uint64_t)w->exponent_max << w->fraction;
}

/* s is the one of den and num to scale; *vcc tells v_div_fmas to scale back. */
static uint64_t div_scale(const struct width *w, uint64_t s, uint64_t den, uint64_t num,
                          uint32_t *vcc)
{
    const int ed = exponent(w, den), en = exponent(w, num), gap = en - ed;
    const bool reciprocal_tiny = ed >= w->exponent_max - 2;
    int n = 0;
    *vcc = 0;
    if (!magnitude(w, den) || !magnitude(w, num))
        return hip_rules.nan[w->format];
    if (gap >= w->gap) {
        *vcc = ~0u;
        n = s == den ? w->scale : 0;
    } else if (ed == 0) {
        n = w->scale;
    } else if (reciprocal_tiny && gap <= -w->gap) {
        *vcc = ~0u;
        n = s == den ? -w->scale : 0;
    } else if (reciprocal_tiny) {
        n = -w->scale;
    } else if (gap <= -w->gap) {
        *vcc = ~0u;
        n = s == num ? w->scale : 0;
    } else if (en <= w->tiny) {
        n = w->scale;
    }
    return n ? fp_ldexp(&nearest, w->format, s, n) : s;
}

static uint64_t div_fixup(const struct width *w, uint64_t q, uint64_t den, uint64_t num)
{
    const uint64_t sign = (den ^ num) & sign_bit(w), inf = infinity(w);
    const uint64_t d = magnitude(w, den), n = magnitude(w, num);
    if (n > inf)
        return fp_quiet(w->format, num);
    if (d > inf)
        return fp_quiet(w->format, den);
    if ((!d && !n) || (d == inf && n == inf))
        return hip_rules.nan[w->format];
    if (!d || n == inf)
        return sign | inf;
    if (!n || d == inf)
        return sign;
    if (exponent(w, num) - exponent(w, den) < -(w->bias + w->fraction))
        return sign;
    return magnitude(w, q) >= inf ? sign | inf : sign | magnitude(w, q);
}

static uint64_t div_fmas(const struct width *w, uint64_t a, uint64_t b, uint64_t c,
                         uint32_t vcc)
{
    int n = !vcc ? 0 : exponent(w, c) > w->bias ? w->scale : -w->scale;
    return fp_fma_scaled(&nearest, w->format, a, b, c, n);
}

/* Quick when nothing is scaled: then it is a plain fused multiply-add. */
ROW(div_fmas_f32)
{
    ROW_UNUSED;
    row_u32 *d = vd;
    const row_u32 *a = va, *b = vb, *c = vc;
    uint32_t any = 0;
    LANES any |= x->mask[i];
    if (!any) {
        VARIANT_NAME(row_fma_f32)(vd, va, vb, vc, x);
        return;
    }
    for (int i = 0; i < WAVE_LANES; i++)
        d[i] = (uint32_t)div_fmas(&single, a[i], b[i], c[i], x->mask[i]);
}
ROW(div_fmas_f64)
{
    ROW_UNUSED;
    row_u64 *d = vd;
    const row_u64 *a = va, *b = vb, *c = vc;
    for (int i = 0; i < WAVE_LANES; i++)
        d[i] = div_fmas(&wide, a[i], b[i], c[i], x->mask[i]);
}
ROW(div_scale_f32)
{
    ROW_UNUSED;
    row_u32 *d = vd;
    const row_u32 *a = va, *b = vb, *c = vc;
    for (int i = 0; i < WAVE_LANES; i++)
        d[i] = (uint32_t)div_scale(&single, a[i], b[i], c[i], &x->out[i]);
}
ROW(div_scale_f64)
{
    ROW_UNUSED;
    row_u64 *d = vd;
    const row_u64 *a = va, *b = vb, *c = vc;
    for (int i = 0; i < WAVE_LANES; i++)
        d[i] = div_scale(&wide, a[i], b[i], c[i], &x->out[i]);
}
ROW_U32(div_fixup_f32, (uint32_t)div_fixup(&single, a[i], b[i], c[i]))
ROW_EXPR(div_fixup_f64, row_u64, row_u64, row_u64, row_u64, div_fixup(&wide, a[i], b[i], c[i]))
