/* SPDX-License-Identifier: Apache-2.0 */
#include "fp8.h"

#include <float.h>
#include <math.h>

/* What is defined, and what is free.
 *
 * Where division is correctly rounded everything is defined to the bit: scale = f32(absmax / max),
 * code = nearest(clamp(f32(x / scale))). Both divide two f32 numbers, so there is nothing to
 * contract, and the bound is 0.
 *
 * Where division may be inexact (2 ulp of the quotient, 5 u with its rounding; roundoff.h) the
 * boundary-witness rule holds: a scale may be off by 5 u, so the quotient by a device's own scale
 * lies within (1 + 5 u) / (1 - 5 u) - 1 < 11 u of x / scale, and a code is right if some quotient
 * in that interval has it: a code may flip only next to a boundary that the interval reaches.
 * Scales below 2^-125 or above 2^125 are not judged there, since reciprocals overflow or vanish.
 *
 * Flushing: subnormal x may count as 0, and so may a subnormal scale (then 1): groups whose scale
 * may be subnormal are not judged.
 *
 * A cast divides by nothing and is defined to the bit; Inf becomes the largest number.
 *
 * A NaN in x gets the code NaN and does not change the scale. Inf makes the scale Inf: Inf / Inf
 * is NaN, others 0. The smallest fault is one code. */

enum { FREE_ULPS = 11 };

double fp8_number(enum dtype to, double q)
{
    double most = dtype_max(to);
    if (isnan(q))
        return (double)NAN;
    return dtype_value(to, dtype_round(to, fmin(fmax(q, -most), most)));
}

static bool exact(const struct fp8 *f)
{
    return f->cast || (f->mode.exact_div && !f->mode.approximate);
}

static bool flushes(const struct fp8 *f)
{
    return f->mode.flush || f->mode.approximate;
}

struct element fp8_scale(const struct fp8 *f, double most)
{
    double scale = (double)((float)most / (float)dtype_max(f->to));
    if (isinf(most))
        return f->mode.approximate ? element_open(most) : element_exact(most);
    bool unsure = !exact(f) && most > 0 && (scale < 0x1p-125 || scale > 0x1p125);
    if (unsure || (flushes(f) && most > 0 && scale < 0x1p-125))
        return element_open(scale == 0 ? 1 : scale);
    struct element x = element_exact(scale == 0 ? 1 : scale);
    x.bound = exact(f) || most == 0 ? 0 : 5 * ROUNDOFF_U * scale;
    x.drop = x.scale = x.value;
    return x;
}

/* The distance from a number of the format to the next one. */
static double step_of(enum dtype to, double y)
{
    uint64_t bits = dtype_round(to, fabs(y));
    return fmax(dtype_value(to, bits) - (bits ? dtype_value(to, bits - 1) : 0),
                dtype_min_subnormal(to));
}

/* The middle of low and high, a little towards `likely`, so that it rounds to it; the bound
 * reaches both ends. */
static struct element between(double likely, double low, double high)
{
    struct element x = element_exact(likely);
    if (low == high)
        return x;
    double middle = low + (high - low) / 2;
    x.value = middle + (likely - middle) * 0x1p-9;
    x.bound = fmax(high - x.value, x.value - low) * (1 + 0x1p-40);
    return x;
}

struct element fp8_code(const struct fp8 *f, double x, const struct element *scale)
{
    if ((!isfinite(x) || isinf(scale->value)) && f->mode.approximate)
        return element_open(0);
    if (isinf(scale->bound))
        return element_open(0);
    double q = (double)((float)x / (float)scale->value), y = fp8_number(f->to, q);
    if (!isfinite(y))
        return element_exact(y);
    double off = exact(f) ? 0 : FREE_ULPS * ROUNDOFF_U * fabs(q);
    double low = fp8_number(f->to, q - off), high = fp8_number(f->to, q + off);
    if (flushes(f) && fabs(x) < (double)FLT_MIN) {
        low = fmin(low, 0);
        high = fmax(high, 0);
    }
    struct element e = between(y, low, high);
    e.drop = x == 0 ? 0 : step_of(f->to, y);
    e.scale = fabs(y);
    return e;
}
