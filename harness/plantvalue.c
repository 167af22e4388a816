/* SPDX-License-Identifier: Apache-2.0 */
#include "plantalter.h"

#include <math.h>

#include "poison.h"

/* Faults in the values themselves. */

int64_t plant_scaled(struct tensor *t, const struct oracle *o, int step)
{
    int64_t n = 0;
    (void)o;
    for (int64_t i = 0; i < t->count; i++)
        n += plant_put_value(t, i, tensor_value(t, i) * (1 + ldexp(1, -step - 1)));
    return n;
}

int64_t plant_rows_scaled(struct tensor *t, const struct oracle *o, int step)
{
    int64_t n = 0, columns = plant_columns(t);
    (void)o;
    for (int64_t i = 0; i < t->count; i++)
        n += plant_put_value(
            t, i, tensor_value(t, i) * (1 + (double)(i / columns % 5) * ldexp(1, -step - 1)));
    return n;
}

/* A divisor of each row that lost bits: factors at random, to both sides of 1. */
int64_t plant_rows_off(struct tensor *t, const struct oracle *o, int step)
{
    int64_t n = 0, columns = plant_columns(t);
    (void)o;
    for (int64_t i = 0; i < t->count; i++) {
        uint64_t row = (uint64_t)(i / columns) + 1;
        double at_random = (double)((row * UINT64_C(0x9e3779b97f4a7c15)) >> 11) * 0x1p-52 - 1;
        n += plant_put_value(t, i, tensor_value(t, i) * (1 + at_random * ldexp(1, -8 - step)));
    }
    return n;
}

/* Another approximation: the relative error is a wave over the results' logarithm. */
int64_t plant_wave(struct tensor *t, const struct oracle *o, int step)
{
    int64_t n = 0;
    for (int64_t i = 0; i < t->count; i++) {
        double x = o->value[i];
        if (isfinite(x) && x != 0)
            n += plant_put_value(t, i, x * (1 + ldexp(sin(6 * log2(fabs(x))), -10 - step)));
    }
    return n;
}

int64_t plant_low_bits(struct tensor *t, const struct oracle *o, int step)
{
    int64_t n = 0;
    (void)o;
    for (int64_t i = 0; i < t->count; i++)
        n += plant_put(t, i, tensor_bits(t, i) & ~((UINT64_C(1) << (14 - step)) - 1));
    return n;
}

/* Of those elements that `is` says, one in 2^step becomes what it gives. */
typedef bool element_fn(const struct tensor *t, const struct oracle *o, int64_t i,
                        uint64_t *ret_bits);

static int64_t apply_share(struct tensor *t, const struct oracle *o, int step, element_fn *is)
{
    int64_t seen = 0, n = 0;
    uint64_t bits;
    for (int64_t i = 0; i < t->count; i++)
        if (is(t, o, i, &bits) && seen++ % (INT64_C(1) << step) == 0)
            n += plant_put(t, i, bits);
    return n;
}

static bool is_subnormal(const struct tensor *t, const struct oracle *o, int64_t i,
                         uint64_t *ret_bits)
{
    double x = tensor_value(t, i);
    (void)o;
    *ret_bits = 0;
    return x != 0 && fabs(x) < dtype_min_normal(t->dtype);
}

static bool is_nan(const struct tensor *t, const struct oracle *o, int64_t i,
                   uint64_t *ret_bits)
{
    (void)o;
    *ret_bits = 0;
    return isnan(tensor_value(t, i));
}

static bool is_inf_to_nan(const struct tensor *t, const struct oracle *o, int64_t i,
                          uint64_t *ret_bits)
{
    (void)o;
    *ret_bits = dtype_round(t->dtype, NAN);
    return isinf(tensor_value(t, i));
}

static bool is_inf_to_largest(const struct tensor *t, const struct oracle *o, int64_t i,
                              uint64_t *ret_bits)
{
    (void)o;
    *ret_bits = tensor_bits(t, i) - 1; /* the largest finite one stands below Inf */
    return isinf(tensor_value(t, i));
}

static bool is_zero(const struct tensor *t, const struct oracle *o, int64_t i,
                    uint64_t *ret_bits)
{
    (void)o;
    *ret_bits = dtype_round(t->dtype, -0.0);
    return tensor_value(t, i) == 0;
}

static bool is_any_to_nan(const struct tensor *t, const struct oracle *o, int64_t i,
                          uint64_t *ret_bits)
{
    (void)o;
    *ret_bits = dtype_round(t->dtype, NAN);
    return (i * 5 + 3) % 23 == 0;
}

/* The poison, quieted as an operation on it gives it. */
static bool is_any_to_poison(const struct tensor *t, const struct oracle *o, int64_t i,
                             uint64_t *ret_bits)
{
    (void)o;
    *ret_bits = poison_bits(t->dtype) | UINT64_C(1) << (dtype_info(t->dtype)->fraction - 1);
    return (i * 5 + 3) % 11 == 0;
}

/* One unit of the format, up and down in turn: what another order of summation does at least.
 */
static bool is_any_to_neighbour(const struct tensor *t, const struct oracle *o, int64_t i,
                                uint64_t *ret_bits)
{
    uint64_t h = (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15);
    (void)o;
    *ret_bits = tensor_bits(t, i) + (h >> 63 ? 1 : -(uint64_t)1);
    return tensor_value(t, i) != 0 && (h >> 40 & 3) == 0;
}

static bool is_any_to_exact(const struct tensor *t, const struct oracle *o, int64_t i,
                            uint64_t *ret_bits)
{
    *ret_bits = dtype_round_sum(t->dtype, o->value[i], o->tail[i]);
    return true;
}

/* The exact value cut, or rounded up. */
static uint64_t rounded_as(const struct tensor *t, const struct oracle *o, int64_t i, bool up)
{
    uint64_t bits = dtype_round_sum(t->dtype, o->value[i], o->tail[i]);
    double x = dtype_value(t->dtype, bits), off = (x - o->value[i]) - o->tail[i];
    if (!up && (x > 0 ? off > 0 : off < 0))
        return bits - 1;
    if (up && off < 0)
        return x > 0 ? bits + 1 : bits - 1;
    return bits;
}

static bool is_any_to_zero_side(const struct tensor *t, const struct oracle *o, int64_t i,
                                uint64_t *ret_bits)
{
    *ret_bits = rounded_as(t, o, i, false);
    return isfinite(o->value[i]) && o->value[i] != 0;
}

static bool is_any_upward(const struct tensor *t, const struct oracle *o, int64_t i,
                          uint64_t *ret_bits)
{
    *ret_bits = rounded_as(t, o, i, true);
    return isfinite(o->value[i]) && o->value[i] != 0;
}

/* Codes: what other format or book the byte was made for. */
static bool is_any_one_bias_on(const struct tensor *t, const struct oracle *o, int64_t i,
                               uint64_t *ret_bits)
{
    uint64_t x = tensor_bits(t, i);
    (void)o;
    *ret_bits = (x & 0x80) | ((x & 0x7f) + 8 > 0x7e ? (uint64_t)0x7e : (x & 0x7f) + 8);
    return (x & 0x7f) != 0;
}

static bool is_any_other_sign(const struct tensor *t, const struct oracle *o, int64_t i,
                              uint64_t *ret_bits)
{
    (void)o;
    *ret_bits = tensor_bits(t, i) ^ 0x80;
    return true;
}

#define SHARE(name, is)                                                                        \
    int64_t plant_##name(struct tensor *t, const struct oracle *o, int step)                   \
    {                                                                                          \
        return apply_share(t, o, step, is);                                                    \
    }
SHARE(flush, is_subnormal)
SHARE(nan_lost, is_nan)
SHARE(inf_nan, is_inf_to_nan)
SHARE(inf_largest, is_inf_to_largest)
SHARE(minus_zero, is_zero)
SHARE(nan, is_any_to_nan)
SHARE(poison, is_any_to_poison)
SHARE(units, is_any_to_neighbour)
SHARE(exact, is_any_to_exact)
SHARE(toward_zero, is_any_to_zero_side)
SHARE(upward, is_any_upward)
SHARE(bias, is_any_one_bias_on)
SHARE(sign_bit, is_any_other_sign)
#undef SHARE
