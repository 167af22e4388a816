/* SPDX-License-Identifier: Apache-2.0 */
#include "rope.h"

#include <math.h>

/* How far a right device may be from the exact y = a c - b s, c and s the cosine and sine of the
 * f32 angle.
 *
 * Input: positions, frequencies (f32) and x. Computed: the angle, one product of two f32 numbers,
 * defined with its rounding, since every device rounds it alike (positions up to 2^24 are exact);
 * at position 131071 that rounding is up to 2^-8, so against an unrounded angle libraries are
 * wrong in the third digit, all alike. Then sinf and cosf, which are the vendors' own.
 *
 * sinf and cosf: both stacks document 2 ulp or less (AMD within -pi..pi only, its tested range;
 * beyond that its promise is taken to hold): tc, ts. Two products and a sum, rounded (fused: one
 * less):
 *   E = |a| tc + |b| ts + u (|a| (|c| + tc) + |b| (|s| + ts)), then u (|y| + E) more, and
 *   f0 for each of the products, the sum and the two inputs where they are flushed: 5.
 * Then y is rounded to its format.
 *
 * NaN and Inf are as IEEE 754 has them; the sine is 0 at angle 0 only. */

float rope_angle(int64_t position, double frequency)
{
    return (float)position * (float)frequency;
}

struct rope_turn rope_turn_make(float angle)
{
    struct rope_turn t;
    t.sine = wide_turn((double)angle, 0, &t.sine_error);
    t.cosine = wide_turn((double)angle, 1, &t.cosine_error);
    return t;
}

struct element rope_output(const struct rope *r, const struct rope_turn *t, double a, double b)
{
    double c = t->cosine.hi, s = t->sine.hi, tc = roundoff_turn(c), ts = roundoff_turn(s);
    if (!isfinite(a) || !isfinite(b))
        return element_exact(a * c - b * s);
    ts = s == 0 ? 0 : ts;
    struct wide y =
        wide_sub(wide_mul(wide_of(a), t->cosine), wide_mul(wide_of(b), t->sine));
    double parts = fabs(a) * (fabs(c) + tc) + fabs(b) * (fabs(s) + ts);
    double e = fabs(a) * tc + fabs(b) * ts + ROUNDOFF_U * parts;
    e += ROUNDOFF_U * (fabs(y.hi) + e) + 5 * roundoff_least(&r->mode);
    double error = fabs(a) * t->cosine_error + fabs(b) * t->sine_error;
    error += 0x1p-100 * (fabs(a * c) + fabs(b * s)) + 0x1p-900;
    struct element x = element_make(r->dtype, y.hi, y.lo, error, e);
    x.scale = parts;
    return x;
}
