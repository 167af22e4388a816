/* SPDX-License-Identifier: Apache-2.0 */
#include "plant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "poison.h"
#include "ulp.h"

const struct plant plants[] = {
#define KERNEL(cause, id, repeats) {PLANT_KERNEL, CAUSE_##cause, id, "", repeats},
#define CHANGED(cause, id, change) {PLANT_CHANGED, CAUSE_##cause, id, change, 0},
#define TENSOR(cause, id, mutation, smallest)                                                  \
    {PLANT_TENSOR, CAUSE_##cause, id, #mutation, smallest},
#include "plant.def"
#undef KERNEL
#undef CHANGED
#undef TENSOR
};
const int plant_count = sizeof plants / sizeof *plants;

/* --- sizes in words --------------------------------------------------------------------------
 */

enum { SIZE_TEXT = 64 };

static void size_factor(const struct tensor *t, int step, char *ret)
{
    (void)t;
    snprintf(ret, SIZE_TEXT, "factor 1 + 2^-%d", step + 1);
}

static void size_off(const struct tensor *t, int step, char *ret)
{
    (void)t;
    snprintf(ret, SIZE_TEXT, "off by 2^-%d of itself", step);
}

static void size_bits(const struct tensor *t, int step, char *ret)
{
    (void)t;
    snprintf(ret, SIZE_TEXT, "%d bits lost", 14 - step);
}

static void size_share(const struct tensor *t, int step, char *ret)
{
    (void)t;
    snprintf(ret, SIZE_TEXT, step ? "one of %d such elements" : "all", 1 << step);
}

static void size_tile(const struct tensor *t, int step, char *ret)
{
    (void)t;
    snprintf(ret, SIZE_TEXT, "%d x %d elements", 16 >> step, 16 >> step);
}

static void size_whole(const struct tensor *t, int step, char *ret)
{
    (void)t, (void)step;
    snprintf(ret, SIZE_TEXT, "all");
}

/* --- altering --------------------------------------------------------------------------------
 */

static int64_t columns_of(const struct tensor *t)
{
    return t->rank ? t->dim[t->rank - 1] : 1;
}

static bool put(struct tensor *t, int64_t i, uint64_t bits)
{
    bool differs = tensor_bits(t, i) != bits;
    tensor_set_bits(t, i, bits);
    return differs;
}

static bool put_value(struct tensor *t, int64_t i, double x)
{
    return put(t, i, dtype_round(t->dtype, x));
}

static int64_t apply_scaled(struct tensor *t, const struct oracle *o, int step)
{
    int64_t n = 0;
    (void)o;
    for (int64_t i = 0; i < t->count; i++)
        n += put_value(t, i, tensor_value(t, i) * (1 + ldexp(1, -step - 1)));
    return n;
}

static int64_t apply_rows_scaled(struct tensor *t, const struct oracle *o, int step)
{
    int64_t n = 0, columns = columns_of(t);
    (void)o;
    for (int64_t i = 0; i < t->count; i++)
        n += put_value(
            t, i, tensor_value(t, i) * (1 + (double)(i / columns % 5) * ldexp(1, -step - 1)));
    return n;
}

static int64_t apply_low_bits(struct tensor *t, const struct oracle *o, int step)
{
    int64_t n = 0;
    (void)o;
    for (int64_t i = 0; i < t->count; i++)
        n += put(t, i, tensor_bits(t, i) & ~((UINT64_C(1) << (14 - step)) - 1));
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
            n += put(t, i, bits);
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
    *ret_bits =
        poison_bits(t->dtype) | UINT64_C(1) << (dtype_info(t->dtype)->fraction - 1);
    return (i * 5 + 3) % 11 == 0;
}

/* One unit of the format, up and down in turn: what another order of summation does at least. */
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
    static int64_t apply_##name(struct tensor *t, const struct oracle *o, int step)            \
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

/* --- places ----------------------------------------------------------------------------------
 */

static int64_t apply_tile(struct tensor *t, const struct oracle *o, int step)
{
    int64_t columns = columns_of(t), rows = t->count / columns, n = 0;
    (void)o;
    for (int64_t i = 16; i < 16 + (16 >> step) && i < rows; i++)
        for (int64_t j = 16; j < 16 + (16 >> step) && j < columns; j++)
            n += put_value(t, i * columns + j,
                           tensor_value(t, i * columns + j) + (double)((i * 31 + j * 17) % 13) -
                               6.5);
    return n;
}

/* Every eighth column off by less and less. */
static int64_t apply_column(struct tensor *t, const struct oracle *o, int step)
{
    int64_t columns = columns_of(t), n = 0;
    (void)o;
    for (int64_t i = 0; i < t->count; i++)
        if (i % columns % 8 == 5)
            n += put_value(t, i,
                           tensor_value(t, i) *
                               (1 + ldexp(1 + (double)(i / columns % 7), -step)));
    return n;
}

static int64_t apply_one(struct tensor *t, const struct oracle *o, int step)
{
    int64_t at = t->count * 2 / 3;
    (void)o;
    return put_value(t, at, tensor_value(t, at) * (1 + ldexp(1, -step)));
}

static int64_t apply_unwritten(struct tensor *t, const struct oracle *o, int step)
{
    int64_t count = t->count / 3 >> step, n = 0;
    (void)o;
    count = count ? count : 1;
    for (int64_t i = t->count - count; i < t->count; i++)
        n += put(t, i, poison_bits(t->dtype));
    return n;
}

/* The last power of two of elements, 4096 at least, that is not the end. */
static int64_t boundary(const struct tensor *t)
{
    int64_t b = 4096;
    while (2 * b < t->count)
        b *= 2;
    return b;
}

static int64_t apply_from_power(struct tensor *t, const struct oracle *o, int step)
{
    int64_t n = 0;
    (void)o, (void)step;
    for (int64_t i = boundary(t); i < t->count; i++)
        n += put_value(t, i, (double)(i % 7) + 0.5);
    return n;
}

static int64_t apply_unwritten_from_power(struct tensor *t, const struct oracle *o, int step)
{
    int64_t n = 0;
    (void)o, (void)step;
    for (int64_t i = boundary(t); i < t->count; i++)
        n += put(t, i, poison_bits(t->dtype));
    return n;
}

/* Each element becomes the one at place(i). */
static int64_t move(struct tensor *t, int64_t (*place)(int64_t i, int64_t rows, int64_t columns))
{
    int64_t columns = columns_of(t), n = 0;
    uint64_t *old = calloc((size_t)t->count + 1, sizeof *old);
    for (int64_t i = 0; old && i < t->count; i++)
        old[i] = tensor_bits(t, i);
    for (int64_t i = 0; old && i < t->count; i++)
        n += put(t, i, old[place(i, t->count / columns, columns)]);
    free(old);
    return n;
}

static int64_t place_transposed(int64_t i, int64_t rows, int64_t columns)
{
    return rows == columns ? i % columns * columns + i / columns : i;
}

static int64_t place_next_row(int64_t i, int64_t rows, int64_t columns)
{
    return (i / columns + 1) % rows * columns + i % columns;
}

/* The columns of even number first, then the others. */
static int64_t place_interleaved(int64_t i, int64_t rows, int64_t columns)
{
    int64_t j = i % columns, even = (columns + 1) / 2;
    (void)rows;
    return i - j + (j < even ? 2 * j : 2 * (j - even) + 1);
}

static int64_t place_reversed(int64_t i, int64_t rows, int64_t columns)
{
    return rows * columns - 1 - i;
}

static int64_t apply_interleaved(struct tensor *t, const struct oracle *o, int step)
{
    (void)o, (void)step;
    return move(t, place_interleaved);
}

static int64_t apply_reversed(struct tensor *t, const struct oracle *o, int step)
{
    (void)o, (void)step;
    return move(t, place_reversed);
}

static int64_t apply_transposed(struct tensor *t, const struct oracle *o, int step)
{
    (void)o, (void)step;
    return move(t, place_transposed);
}

static int64_t apply_next_row(struct tensor *t, const struct oracle *o, int step)
{
    (void)o, (void)step;
    return move(t, place_next_row);
}

static const struct plant_mutation mutations[] = {
    {"scaled", size_factor, apply_scaled},
    {"rows_scaled", size_factor, apply_rows_scaled},
    {"low_bits", size_bits, apply_low_bits},
    {"flush", size_share, apply_flush},
    {"nan_lost", size_share, apply_nan_lost},
    {"inf_nan", size_share, apply_inf_nan},
    {"inf_largest", size_share, apply_inf_largest},
    {"minus_zero", size_share, apply_minus_zero},
    {"nan", size_share, apply_nan},
    {"poison", size_share, apply_poison},
    {"units", size_share, apply_units},
    {"exact", size_whole, apply_exact},
    {"toward_zero", size_share, apply_toward_zero},
    {"upward", size_share, apply_upward},
    {"bias", size_whole, apply_bias},
    {"sign_bit", size_whole, apply_sign_bit},
    {"tile", size_tile, apply_tile},
    {"column", size_off, apply_column},
    {"one", size_off, apply_one},
    {"unwritten", size_share, apply_unwritten},
    {"from_power", size_whole, apply_from_power},
    {"unwritten_from_power", size_whole, apply_unwritten_from_power},
    {"transposed", size_whole, apply_transposed},
    {"next_row", size_whole, apply_next_row},
    {"interleaved", size_whole, apply_interleaved},
    {"reversed", size_whole, apply_reversed},
};

const struct plant_mutation *plant_mutation_find(const char *name)
{
    for (size_t i = 0; i < sizeof mutations / sizeof *mutations; i++)
        if (!strcmp(mutations[i].name, name))
            return &mutations[i];
    return NULL;
}
