/* SPDX-License-Identifier: Apache-2.0 */
#include "attention.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Inputs that no distribution makes. */

/* Slopes of heads fall geometrically to 2^-8, rounded to f32; square roots are exact to the
 * last bit everywhere. */
static void slopes_fill(struct tensor *t)
{
    for (int64_t h = 0; h < t->count; h++) {
        int64_t steps = 8 * 64 * (h + 1) / t->count; /* of 2^(-1/64) */
        double slope = 1, root = 0.5;
        for (int64_t bit = 64; bit; bit /= 2, root = sqrt(root))
            for (; steps >= bit; steps -= bit)
                slope *= root;
        tensor_set_bits(t, h, dtype_round(DTYPE_F32, slope));
    }
}

static void starts_fill(const struct case_id *id, bool keys, struct tensor *t)
{
    struct attention a;
    attention_decode(id, &a);
    for (int64_t b = 0; b < t->count; b++)
        tensor_set_bits(t, b, (uint64_t)attention_start(&a, keys, b));
}

/* Pages in random order. */
static void table_fill(const struct case_id *id, struct tensor *t)
{
    struct rng_key key = rng_key_make(id->seed, "attention/table");
    for (int64_t i = 0; i < t->count; i++) {
        int64_t j = (int64_t)(rng_bits(key, (uint64_t)i, 0) % (uint64_t)(i + 1));
        tensor_set_bits(t, i, tensor_bits(t, j));
        tensor_set_bits(t, j, (uint64_t)i);
    }
}

static void special_set(struct tensor *t, int64_t plane, int64_t row, int64_t column, double x)
{
    int64_t rows = t->dim[2], columns = t->dim[3];
    if (row >= 0 && row < rows)
        tensor_set_bits(t, (plane * rows + row) * columns + column % columns,
                        dtype_round(t->dtype, x));
}

/* dist=special: a special value nearly anywhere in K would reach every row, so they stand where
 * some rows see them and some do not. Queries 3, 5, 7 of each eight hold NaN, the largest
 * number and only zeros; the keys two thirds down hold Inf in K and V, the last ones NaN. */
static void special_fill(const struct case_id *id, const char *name, struct tensor *t)
{
    char stream[64];
    snprintf(stream, sizeof stream, "attention/%s/special", name);
    fill_tensor(t, rng_key_make(id->seed, stream), DIST_NORMAL, 3);
    int64_t planes = t->dim[0] * t->dim[1], rows = t->dim[2];
    double large = fmin(dtype_max(t->dtype), 0x1p60);
    for (int64_t z = 0; z < planes; z++) {
        if (*name != 'q') {
            special_set(t, z, rows * 2 / 3, 1, INFINITY);
            special_set(t, z, rows - 1, 2, (double)NAN);
            continue;
        }
        for (int64_t i = 3; i < rows; i += 8) {
            special_set(t, z, i, 0, (double)NAN);
            special_set(t, z, i + 2, 0, large);
            for (int64_t c = 0; c < t->dim[3]; c++)
                special_set(t, z, i + 4, c, 0);
        }
    }
}

bool attention_fill(const struct case_id *id, const struct case_plan *plan, int i,
                  struct case_span span, struct tensor *t)
{
    const struct case_tensor *x = &plan->tensor[i];
    (void)span; /* all: attention_plan says so */
    if (!strcmp(x->name, "slopes"))
        slopes_fill(t);
    else if (!strcmp(x->name, "table"))
        table_fill(id, t);
    else if (!strncmp(x->name, "starts_", 7))
        starts_fill(id, x->name[7] == 'k', t);
    else if (x->dist == DIST_SPECIAL)
        special_fill(id, x->name, t);
    else
        return false;
    return true;
}
