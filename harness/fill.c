/* SPDX-License-Identifier: Apache-2.0 */
#include "fill.h"

#include <math.h>
#include <string.h>

/* Draws of one element come from separate lanes; ROW_LANE is for what all of a row shares. */
enum { LANE, LANE_SIGN, LANE_CLASS, LANE_FINE, ROW_LANE = 16 };

enum { CANCEL_PARTS = 8, TIES_SPREAD = 2048 };

/* One element and where it lies. */
struct place {
    struct rng_key key;
    enum dtype d;
    const struct dtype_info *f;
    uint64_t index;
    int64_t row, outer, k; /* k: place within the row */
};

static uint64_t bits(const struct place *p, uint64_t lane)
{
    return rng_bits(p->key, p->index, lane);
}

static uint64_t row_bits(const struct place *p)
{
    return rng_bits(p->key, (uint64_t)p->outer, ROW_LANE);
}

/* 0 <= result < n, from the high bits. */
static uint64_t below(uint64_t random, uint64_t n)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)random * n >> 64);
}

static double sign(const struct place *p)
{
    return bits(p, LANE_SIGN) & 1 ? -1 : 1;
}

static double power_of_two(int e)
{
    return ldexp(1, e); /* exact, hence the same everywhere */
}

/* 2^x from + and * alone. */
static double plain_exp2(double x)
{
    double whole = floor(x + 0.5);
    double y = (x - whole) * 0x1.62e42fefa39efp-1, sum = 1;
    for (int k = 16; k >= 1; k--)
        sum = sum * y / k + 1;
    return sum * power_of_two((int)whole);
}

/* Integer formats count in steps: this many to a real 1. */
static double step(const struct place *p)
{
    if (p->f->kind == DTYPE_KIND_FLOAT)
        return 1;
    return p->f->bytes == 1 ? 32 : 4096;
}

/* Rounds; what does not fit becomes the largest finite value. Unsigned formats take |x|. */
static uint64_t nearest_finite(const struct place *p, double x)
{
    if (p->f->kind == DTYPE_KIND_UINT)
        x = fabs(x);
    uint64_t b = dtype_round(p->d, x);
    if (dtype_is_finite(p->d, b))
        return b;
    return dtype_round(p->d, x < 0 ? -dtype_max(p->d) : dtype_max(p->d));
}

static uint64_t fill_normal(const struct place *p)
{
    return nearest_finite(p, rng_normal(p->key, p->index, LANE) * step(p));
}

/* The whole range of a one-byte format, 2^16 values of a wider one (sums of 2^15 still fit). */
static double integer_uniform(const struct place *p)
{
    int width = p->f->bytes == 1 ? 8 : 16;
    double n = (double)(bits(p, LANE) >> (64 - width));
    return p->f->kind == DTYPE_KIND_INT ? n - power_of_two(width - 1) : n;
}

/* Nothing rounds up to 1: the interval is open there. */
static uint64_t below_one(const struct place *p, double x)
{
    double top = 1 - dtype_unit(p->d);
    return dtype_round(p->d, x > top ? top : x);
}

static uint64_t fill_uniform(const struct place *p)
{
    if (p->f->kind != DTYPE_KIND_FLOAT)
        return nearest_finite(p, integer_uniform(p));
    return below_one(p, 2 * rng_unit(p->key, p->index, LANE) - 1);
}

static uint64_t fill_positive(const struct place *p)
{
    if (p->f->kind == DTYPE_KIND_UINT)
        return nearest_finite(p, integer_uniform(p));
    if (p->f->kind == DTYPE_KIND_INT)
        return dtype_round(p->d, (double)(bits(p, LANE) >> (p->f->bytes == 1 ? 57 : 49)));
    return below_one(p, rng_unit(p->key, p->index, LANE));
}

static uint64_t fill_lognormal(const struct place *p)
{
    double x = plain_exp2(3 * rng_normal(p->key, p->index, LANE));
    return nearest_finite(p, sign(p) * x * (p->f->bytes == 1 ? 1 : step(p)));
}

static int exponent_of(double x)
{
    int e;
    frexp(x, &e);
    return e - 1;
}

/* +-1.f 2^e with all fraction bits of the format random. */
static double scaled(const struct place *p, int e)
{
    double significand = 1 + (double)(bits(p, LANE_FINE) >> 12) * 0x1p-52;
    double cut = power_of_two(p->f->fraction);
    return sign(p) * floor(significand * cut) / cut * power_of_two(e);
}

static uint64_t fill_wide(const struct place *p)
{
    if (p->f->kind != DTYPE_KIND_FLOAT) {
        uint64_t length = below(bits(p, LANE_CLASS), p->f->bytes == 1 ? 8 : 16);
        return nearest_finite(p, sign(p) * (double)(bits(p, LANE) >> 1 >> (63 - length)));
    }
    int low = exponent_of(dtype_min_normal(p->d)) / 2, high = exponent_of(dtype_max(p->d)) / 2;
    if (high >= 32)
        high -= 10;
    int e = low + (int)below(bits(p, LANE), (uint64_t)(high - low + 1));
    return nearest_finite(p, scaled(p, e));
}

static double cancel_sign(const struct place *p, int64_t part)
{
    uint64_t pattern = 1 + below(row_bits(p), CANCEL_PARTS - 1);
    return __builtin_parityll(pattern & (uint64_t)part) ? -1 : 1;
}

/* All parts of a row repeat one vector with the signs of a row of the 8x8 Hadamard matrix, and
 * a small relative perturbation each. */
static uint64_t fill_cancel(const struct place *p)
{
    int parts = p->row >= CANCEL_PARTS ? CANCEL_PARTS : p->row >= 2 ? 2 : 1;
    int64_t length = p->row / parts, part = p->k / length;
    int fine = p->f->kind == DTYPE_KIND_FLOAT && p->f->fraction < 12 ? p->f->fraction : 12;
    double noise = (2 * rng_unit(p->key, p->index, LANE_FINE) - 1) * power_of_two(-fine);
    if (part >= parts)
        return nearest_finite(p, noise * step(p));

    uint64_t base = (uint64_t)(p->outer * p->row + p->k % length);
    double x = rng_normal(p->key, base, LANE) * (1 + noise);
    double s = parts == 2 ? 1 - 2 * (double)part : cancel_sign(p, part);
    return nearest_finite(p, s * x * step(p));
}

/* Uniform on the integers -m..m (UINT: the magnitudes). */
static uint64_t integer(const struct place *p, int64_t m)
{
    return nearest_finite(p,
                          (double)((int64_t)below(bits(p, LANE), (uint64_t)(2 * m + 1)) - m));
}

/* Largest m <= top whose row of products stays exact in f32: row * m^2 <= 2^24. */
static uint64_t fill_integer(const struct place *p)
{
    int64_t m = 4;
    while (m > 1 && p->row > (1 << 24) / (m * m))
        m--;
    return integer(p, m);
}

/* Sums of `row` products get a spread of about 2^11 units, so that many lie between two f16 or
 * bf16 numbers, exactly in the middle: spread^2 = row (m^2 / 3)^2. Short formats round the
 * larger integers, which leaves integers. */
static uint64_t fill_ties(const struct place *p)
{
    int64_t m = 1;
    while (sqrt((double)p->row) * (double)((m + 1) * (m + 1)) <= 3.0 * TIES_SPREAD)
        m++;
    return integer(p, m);
}

static uint64_t subnormal_self(const struct place *p)
{
    uint64_t count = (1ULL << p->f->fraction) - 1;
    double n = (double)(1 + below(bits(p, LANE), count));
    return dtype_round(p->d, sign(p) * n * dtype_min_subnormal(p->d));
}

/* Two of these multiply to something between the smallest subnormal and the smallest normal. */
static uint64_t subnormal_factor(const struct place *p)
{
    int e = (exponent_of(dtype_min_normal(p->d)) - 1) / 2 - 1;
    uint64_t span = (uint64_t)p->f->fraction / 2;
    return dtype_round(p->d, scaled(p, e - (int)below(bits(p, LANE), span)));
}

static uint64_t fill_subnormal(const struct place *p)
{
    if (p->f->kind != DTYPE_KIND_FLOAT)
        return integer(p, 1);
    uint64_t class = p->outer ? row_bits(p) & 3 : bits(p, LANE_CLASS) & 1;
    if (class == 0)
        return subnormal_self(p);
    return class == 3 ? dtype_round(p->d, scaled(p, 0)) : subnormal_factor(p);
}

static uint64_t special_value(const struct place *p, uint64_t random)
{
    if (p->f->kind != DTYPE_KIND_FLOAT) {
        const double values[] = {0, -1, 1, -0x1p70, 0x1p70};
        return dtype_round(p->d, values[below(random, 5)]);
    }
    double big = dtype_max(p->d), small = dtype_min_subnormal(p->d),
           edge = dtype_min_normal(p->d);
    const double values[] = {0,   -0.0, small,    -small,    edge,        -edge,
                             big, -big, INFINITY, -INFINITY, (double)NAN, (double)NAN};
    return dtype_round(p->d, values[below(random, 12)]);
}

/* Row 0 is rich in all of them. Elsewhere one row in four has one special of any kind, and the
 * harmless ones (which do not swallow a sum) are common. */
static uint64_t fill_special(const struct place *p)
{
    uint64_t class = bits(p, LANE_CLASS), random = bits(p, LANE_FINE), shared = row_bits(p);
    if (p->outer == 0)
        return class >> 61 ? fill_normal(p) : special_value(p, random);
    bool chosen = p->k == (int64_t)below(shared << 2, (uint64_t)p->row);
    if (chosen && shared >> 62 == 0)
        return special_value(p, random);
    return class >> 60 ? fill_normal(p) : special_value(p, random / 2);
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The ones of successive rows step through the columns by a stride coprime with the row's
 * length, so every column is met and two tensors seldom look alike. */
static uint64_t fill_onehot(const struct place *p)
{
    uint64_t n = (uint64_t)p->row;
    uint64_t stride = 1 + below(rng_bits(p->key, 0, ROW_LANE + 1), n);
    uint64_t start = below(rng_bits(p->key, 1, ROW_LANE + 1), n);
    while (common_divisor(stride, n) != 1)
        stride = stride % n + 1;
    bool one = (start + stride * ((uint64_t)p->outer % n)) % n == (uint64_t)p->k;
    return one ? dtype_round(p->d, 1) : 0;
}

struct fill_mask fill_mask(enum dtype d, int64_t row)
{
    int length = 0, top = 15; /* f16's largest power of two */
    while (((int64_t)1 << length) < row)
        length++;
    int gap = (d == DTYPE_F64 ? 55 : 26) + length;
    return (struct fill_mask){power_of_two(top), power_of_two(top - gap)};
}

void fill_mask_pair(int64_t row, int64_t outer, int64_t *ret_i, int64_t *ret_j)
{
    int64_t pair = outer % (row * (row - 1) / 2);
    int64_t j = (int64_t)((1 + sqrt(1 + 8 * (double)pair)) / 2);
    while (j * (j - 1) / 2 > pair)
        j--;
    while (j * (j + 1) / 2 <= pair)
        j++;
    *ret_i = pair - j * (j - 1) / 2;
    *ret_j = j;
}

static uint64_t fill_masked(const struct place *p)
{
    struct fill_mask m = fill_mask(p->d, p->row);
    int64_t i = -1, j = -1;
    if (p->row >= 2)
        fill_mask_pair(p->row, p->outer, &i, &j);
    return nearest_finite(p, p->k == i ? m.big : p->k == j ? -m.big : m.one);
}

static uint64_t fill_zero(const struct place *p)
{
    (void)p;
    return 0;
}

static const struct dist_row {
    const char *name, *summary;
    uint64_t (*bits)(const struct place *p);
} rows[DIST_COUNT_] = {
    [DIST_NORMAL] = {"normal", "standard normal", fill_normal},
    [DIST_UNIFORM] = {"uniform", "uniform in [-1,1)", fill_uniform},
    [DIST_POSITIVE] = {"positive", "uniform in [0,1): exposes truncation", fill_positive},
    [DIST_LOGNORMAL] = {"lognormal", "random sign times 2^(3 normal): heavy tail",
                        fill_lognormal},
    [DIST_WIDE] = {"wide", "exponents over half the format's range", fill_wide},
    [DIST_CANCEL] = {"cancel", "large terms whose sum nearly vanishes", fill_cancel},
    [DIST_INTEGER] = {"integer", "small integers: every summation order is exact",
                      fill_integer},
    [DIST_TIES] = {"ties", "sums on midpoints of f16 and bf16", fill_ties},
    [DIST_SUBNORMAL] = {"subnormal", "subnormal values and products", fill_subnormal},
    [DIST_SPECIAL] = {"special", "normal with NaN, Inf, zeros and extremes", fill_special},
    [DIST_ONEHOT] = {"onehot", "a single 1 in each row", fill_onehot},
    [DIST_MASK] = {"mask", "a large number and its negative among small ones: for probe --tree",
                   fill_masked},
    [DIST_ZERO] = {"zero", "all +0: catches nothing", fill_zero},
};

const char *dist_name(enum dist d)
{
    return rows[d].name;
}

const char *dist_summary(enum dist d)
{
    return rows[d].summary;
}

enum dist dist_find(const char *name)
{
    for (int d = 0; d < DIST_COUNT_; d++)
        if (strcmp(rows[d].name, name) == 0)
            return (enum dist)d;
    return DIST_COUNT_;
}

static uint64_t place_bits(const struct place *p, enum dist dist)
{
    if (p->f->kind == DTYPE_KIND_CODE && dist != DIST_ZERO && dist != DIST_ONEHOT)
        return bits(p, LANE) >> 56;
    return rows[dist].bits(p);
}

uint64_t fill_bits(struct rng_key key, enum dist dist, enum dtype d, int64_t row, int64_t index)
{
    struct place p = {.key = key,
                      .d = d,
                      .f = dtype_info(d),
                      .index = (uint64_t)index,
                      .row = row,
                      .outer = index / row,
                      .k = index % row};
    return place_bits(&p, dist);
}

void fill_span(struct tensor *t, struct rng_key key, enum dist dist, int axis, int64_t from,
               int64_t to)
{
    int64_t inner = 1, row = t->rank ? t->dim[axis] : 1;
    for (int i = axis + 1; i < t->rank; i++)
        inner *= t->dim[i];
    for (int64_t i = from; i < to; i++) {
        int64_t outer = i / (inner * row) * inner + i % inner;
        int64_t k = i / inner % row;
        tensor_set_bits(t, i, fill_bits(key, dist, t->dtype, row, outer * row + k));
    }
}

void fill_tensor(struct tensor *t, struct rng_key key, enum dist dist, int axis)
{
    fill_span(t, key, dist, axis, 0, t->count);
}
