/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <math.h>

/* Everything below is exact in double: at most 9 terms that are multiples of a unit and less
 * than 2^28 of it. */

enum { GROUP_MAX = 8, NO_EXPONENT = -2000 };

struct operands {
    int64_t k;
    const double *a, *b;
    int least;         /* exponent of the smallest normal: that of subnormals and zeros too */
    double zero_below; /* factors taken as zero */
};

static int exponent_least(enum dtype d)
{
    return d == DTYPE_F16 ? -14 : -126;
}

static int exponent_of(double x)
{
    int e;
    frexp(x, &e);
    return x == 0 ? NO_EXPONENT : e - 1;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static double flush_below(double x, double least)
{
    return fabs(x) < least ? copysign(0, x) : x;
}

static double factor(const struct operands *o, const double *x, int64_t l)
{
    return l < o->k ? flush_below(x[l], o->zero_below) : 0;
}

/* The exponent with which the product of two encoded factors enters the alignment. */
static int product_exponent(const struct operands *o, int64_t l)
{
    return larger(exponent_of(factor(o, o->a, l)), o->least) +
           larger(exponent_of(factor(o, o->b, l)), o->least);
}

static double product(const struct operands *o, int64_t l)
{
    return factor(o, o->a, l) * factor(o, o->b, l);
}

/* IEEE arithmetic where it gives no number; 0 if all is finite. */
static double special_of(const struct operands *o)
{
    double sum = 0;
    for (int64_t l = 0; l < o->k; l++)
        sum += product(o, l);
    return isfinite(sum) ? 0 : sum;
}

static double round_to(enum dtype d, double x)
{
    return dtype_value(d, dtype_round(d, x));
}

/* Toward zero to 24 bits, subnormals kept. */
static double cut_to_f32(double x)
{
    double unit = ldexp(1, larger(exponent_of(x), -126) - 23);
    double cut = trunc(x / unit) * unit;
    return fabs(cut) < 0x1p128 ? cut : copysign(INFINITY, cut);
}

double gemm_unit_ampere(enum dtype in, enum dtype acc, int64_t k, const double *a,
                        const double *b)
{
    const struct operands o = {k, a, b, exponent_least(in), 0};
    const int group = in == DTYPE_TF32 ? GROUP_MAX / 2 : GROUP_MAX;
    double sum = special_of(&o);
    for (int64_t first = 0; first < (k + 15) / 16 * 16 && isfinite(sum); first += group) {
        int top = larger(exponent_of(sum), exponent_least(acc));
        for (int64_t l = first; l < first + group; l++)
            top = larger(top, product_exponent(&o, l));
        double unit = ldexp(1, top - 24), units = trunc(sum / unit);
        for (int64_t l = first; l < first + group; l++)
            units += trunc(product(&o, l) / unit);
        sum = acc == DTYPE_F16 ? round_to(acc, units * unit) : cut_to_f32(units * unit);
    }
    return sum;
}

/* One step: sum + p + q. */
static double gfx11_step(const struct operands *o, enum dtype acc, int64_t l, double sum)
{
    double p[2] = {product(o, l), product(o, l + 1)};
    int top = exponent_of(sum) - 26;
    for (int i = 0; i < 2; i++) {
        top = larger(top, exponent_of(p[i]) - 26);
        if (p[i] != 0)
            top = larger(top, product_exponent(o, l + i) - 24);
    }
    if (sum == 0 && p[0] == 0 && p[1] == 0)
        return 0;
    double unit = ldexp(1, top), units = floor(fabs(sum) / unit);
    for (int i = 0; i < 2; i++) {
        double size = floor(fabs(p[i]) / unit);
        units += !signbit(p[i]) == !signbit(sum) ? size : -(size + 1);
    }
    double exact = copysign(1, sum) * units * unit;
    double rounded = round_to(acc, exact);
    if (acc == DTYPE_F32)
        rounded = flush_below(rounded, 0x1p-126);
    return rounded == 0 ? 0 : rounded;
}

double gemm_unit_gfx11(enum dtype in, enum dtype acc, int64_t k, const double *a,
                       const double *b)
{
    const struct operands o = {k, a, b, exponent_least(in), in == DTYPE_BF16 ? 0x1p-126 : 0};
    double sum = special_of(&o);
    for (int64_t l = 0; l < (k + 15) / 16 * 16 && isfinite(sum); l += 2)
        sum = gfx11_step(&o, acc, l, sum);
    return sum;
}
