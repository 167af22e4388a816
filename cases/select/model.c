/* SPDX-License-Identifier: Apache-2.0 */
#include "select.h"

#include <math.h>
#include <stdlib.h>

enum change {
#define MODEL(name, cause, change) CHANGE_##change,
#include "model.def"
#undef MODEL
};

const struct case_model select_models[] = {
#define MODEL(name, cause, change) {name, CAUSE_##cause, false, false},
#include "model.def"
#undef MODEL
    {NULL, CAUSE_UNEXPLAINED, false, false},
};

static double compared(enum change c, double x)
{
    if (!isfinite(x) || (c != CHANGE_BF16 && c != CHANGE_F16))
        return x;
    enum dtype to = c == CHANGE_BF16 ? DTYPE_BF16 : DTYPE_F16;
    return dtype_value(to, dtype_round(to, x));
}

static int by_place(const void *a, const void *b)
{
    const struct picked *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static void row_play(const struct select *s, enum change c, const struct tensor *x, int64_t row,
                     struct picked *ret_row)
{
    const struct order order = {
        .last = c == CHANGE_TIES, .numbers = c == CHANGE_NUMBERS, .least = c == CHANGE_LEAST};
    int64_t cut = c == CHANGE_TAIL_32 ? 32 : c == CHANGE_TAIL_256 ? 256 : 1;
    int64_t n = s->d - s->d % cut;
    for (int64_t i = 0; i < n; i++)
        ret_row[i] = (struct picked){compared(c, tensor_value(x, row * s->d + i)), i};
    for (int64_t i = n; i < s->d; i++)
        ret_row[i].at = -1;
    select_sort(ret_row, n, &order);
    for (int64_t i = 0; c == CHANGE_ASCENDING && i < s->k / 2; i++) {
        struct picked other = ret_row[i];
        ret_row[i] = ret_row[s->k - 1 - i];
        ret_row[s->k - 1 - i] = other;
    }
    if (c == CHANGE_PLACES)
        qsort(ret_row, (size_t)s->k, sizeof *ret_row, by_place);
}

static bool applies(const struct select *s, enum change c)
{
    switch (c) {
    case CHANGE_BF16:
        return s->dtype != DTYPE_BF16;
    case CHANGE_F16:
        return s->dtype != DTYPE_F16;
    case CHANGE_TAIL_32:
        return s->d % 32 && s->d - s->d % 32 >= s->k;
    case CHANGE_TAIL_256:
        return s->d % 256 && s->d - s->d % 256 >= s->k;
    case CHANGE_ASCENDING:
    case CHANGE_PLACES:
        return s->k > 1;
    default:
        return true;
    }
}

bool select_model(const struct case_id *id, const struct case_plan *plan,
                  const struct tensor *const *input, int which, int model, int64_t n,
                  const int64_t *index, uint64_t *ret_bits)
{
    struct select s;
    (void)plan;
    select_decode(id, &s);
    struct picked *row = calloc((size_t)s.d, sizeof *row);
    bool fits = row && applies(&s, (enum change)model);
    int64_t last = -1;
    for (int64_t j = 0; fits && j < n; j++) {
        if (index[j] / s.k != last)
            row_play(&s, (enum change)model, input[SELECT_X], last = index[j] / s.k, row);
        int64_t at = row[index[j] % s.k].at;
        ret_bits[j] = select_is_index(&s, which)
                          ? dtype_round(DTYPE_I32, (double)at)
                          : tensor_bits(input[SELECT_X], last * s.d + at);
    }
    free(row);
    return fits;
}
