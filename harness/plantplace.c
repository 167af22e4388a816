/* SPDX-License-Identifier: Apache-2.0 */
#include "plantalter.h"

#include <math.h>
#include <stdlib.h>

#include "poison.h"

/* Faults in some places, or right values in wrong ones. */

int64_t plant_tile(struct tensor *t, const struct oracle *o, int step)
{
    int64_t columns = plant_columns(t), rows = t->count / columns, n = 0;
    (void)o;
    for (int64_t i = 16; i < 16 + (16 >> step) && i < rows; i++)
        for (int64_t j = 16; j < 16 + (16 >> step) && j < columns; j++)
            n += plant_put_value(t, i * columns + j,
                                 tensor_value(t, i * columns + j) +
                                     (double)((i * 31 + j * 17) % 13) - 6.5);
    return n;
}

/* Every eighth column off by less and less. */
int64_t plant_column(struct tensor *t, const struct oracle *o, int step)
{
    int64_t columns = plant_columns(t), n = 0;
    (void)o;
    for (int64_t i = 0; i < t->count; i++)
        if (i % columns % 8 == 5)
            n += plant_put_value(
                t, i, tensor_value(t, i) * (1 + ldexp(1 + (double)(i / columns % 7), -step)));
    return n;
}

int64_t plant_one(struct tensor *t, const struct oracle *o, int step)
{
    int64_t at = t->count * 2 / 3;
    (void)o;
    return plant_put_value(t, at, tensor_value(t, at) * (1 + ldexp(1, -step)));
}

int64_t plant_unwritten(struct tensor *t, const struct oracle *o, int step)
{
    int64_t count = t->count / 3 >> step, n = 0;
    (void)o;
    count = count ? count : 1;
    for (int64_t i = t->count - count; i < t->count; i++)
        n += plant_put(t, i, poison_bits(t->dtype));
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

int64_t plant_from_power(struct tensor *t, const struct oracle *o, int step)
{
    int64_t n = 0;
    (void)o, (void)step;
    for (int64_t i = boundary(t); i < t->count; i++)
        n += plant_put_value(t, i, (double)(i % 7) + 0.5);
    return n;
}

int64_t plant_unwritten_from_power(struct tensor *t, const struct oracle *o, int step)
{
    int64_t n = 0;
    (void)o, (void)step;
    for (int64_t i = boundary(t); i < t->count; i++)
        n += plant_put(t, i, poison_bits(t->dtype));
    return n;
}

/* Written by an index that lost its high bits: over the beginning, and missing behind. */
int64_t plant_wrapped(struct tensor *t, const struct oracle *o, int step)
{
    int64_t n = 0, limit = boundary(t);
    (void)o, (void)step;
    for (int64_t i = limit; i < t->count; i++) {
        n += plant_put(t, i % limit, tensor_bits(t, i));
        n += plant_put(t, i, poison_bits(t->dtype));
    }
    return n;
}

/* A count that lost its high bits: so much was done. */
int64_t plant_count_lost(struct tensor *t, const struct oracle *o, int step)
{
    int64_t n = 0;
    (void)o, (void)step;
    for (int64_t i = t->count % boundary(t); i < t->count; i++)
        n += plant_put(t, i, poison_bits(t->dtype));
    return n;
}

/* In the last row but one a block did not see the sum of those before it. */
int64_t plant_carry_lost(struct tensor *t, const struct oracle *o, int step)
{
    int64_t columns = plant_columns(t), row = t->count - 2 * columns, from = row + columns / 2, n = 0;
    (void)o, (void)step;
    double carry = tensor_value(t, from - 1);
    for (int64_t i = from; i < row + columns; i++)
        n += plant_put_value(t, i, tensor_value(t, i) - carry);
    return n;
}

/* Added into memory that was not zeroed; integers. */
int64_t plant_memory_added(struct tensor *t, const struct oracle *o, int step)
{
    int64_t n = 0;
    (void)o, (void)step;
    for (int64_t i = 0; i < t->count; i += 3)
        n += plant_put(t, i, (tensor_bits(t, i) + poison_bits(t->dtype)) & UINT32_MAX);
    return n;
}

/* Each element becomes the one at place(i). */
static int64_t move(struct tensor *t,
                    int64_t (*place)(int64_t i, int64_t rows, int64_t columns))
{
    int64_t columns = plant_columns(t), n = 0;
    uint64_t *old = calloc((size_t)t->count + 1, sizeof *old);
    for (int64_t i = 0; old && i < t->count; i++)
        old[i] = tensor_bits(t, i);
    for (int64_t i = 0; old && i < t->count; i++)
        n += plant_put(t, i, old[place(i, t->count / columns, columns)]);
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

int64_t plant_interleaved(struct tensor *t, const struct oracle *o, int step)
{
    (void)o, (void)step;
    return move(t, place_interleaved);
}

int64_t plant_reversed(struct tensor *t, const struct oracle *o, int step)
{
    (void)o, (void)step;
    return move(t, place_reversed);
}

int64_t plant_transposed(struct tensor *t, const struct oracle *o, int step)
{
    (void)o, (void)step;
    return move(t, place_transposed);
}

int64_t plant_next_row(struct tensor *t, const struct oracle *o, int step)
{
    (void)o, (void)step;
    return move(t, place_next_row);
}
