/* SPDX-License-Identifier: Apache-2.0 */
#include "scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum change {
#define MODEL(name, cause, right, change) CHANGE_##change,
#include "model.def"
#undef MODEL
};

const struct case_model scan_models[] = {
#define MODEL(name, cause, right, change) {name, CAUSE_##cause, right, false},
#include "model.def"
#undef MODEL
    {NULL, CAUSE_UNEXPLAINED, false, false},
};

static double round_to(enum dtype d, double x)
{
    return isfinite(x) ? dtype_value(d, dtype_round(d, x)) : x;
}

static double term(enum change c, const struct tensor *x, int64_t i)
{
    double v = tensor_value(x, i);
    return c == CHANGE_INPUT_BF16  ? round_to(DTYPE_BF16, v)
           : c == CHANGE_INPUT_F16 ? round_to(DTYPE_F16, v)
                                   : v;
}

static double add(const struct scan *s, enum change c, double sum, double x)
{
    if (s->dtype == DTYPE_I32)
        return (double)(int32_t)(uint32_t)(int64_t)(sum + x);
    return c == CHANGE_WIDE       ? sum + x
           : c == CHANGE_SUM_BF16 ? round_to(DTYPE_BF16, sum + x)
           : c == CHANGE_SUM_F16  ? round_to(DTYPE_F16, sum + x)
                                  : (double)(float)(sum + x);
}

/* The row's terms in y become sums, in ascending order within parts of `tile`. */
static void chain_play(const struct scan *s, enum change c, int64_t tile, double *y)
{
    for (int64_t i = 1; i < s->d; i++)
        y[i] = i % tile ? add(s, c, y[i - 1], y[i]) : y[i];
}

static void doubling_play(const struct scan *s, enum change c, double *y, int64_t n)
{
    for (int64_t step = 1; step < SCAN_THREADS; step *= 2)
        for (int64_t i = n - 1; i >= step; i--)
            y[i] = add(s, c, y[i], y[i - step]);
}

static void tiles_play(const struct scan *s, enum change c, double *y)
{
    for (int64_t tile = 0; tile < s->d; tile += SCAN_THREADS) {
        int64_t n = s->d - tile < SCAN_THREADS ? s->d - tile : SCAN_THREADS;
        doubling_play(s, c, y + tile, n);
        for (int64_t i = tile; tile && i < tile + n; i++)
            y[i] = add(s, c, y[tile - 1], y[i]);
    }
}

static void chunks_play(const struct scan *s, enum change c, double *y)
{
    double sum[SCAN_THREADS] = {0};
    int64_t chunk = (s->d + SCAN_THREADS - 1) / SCAN_THREADS;
    for (int64_t i = 0; i < s->d; i++)
        sum[i / chunk] = add(s, c, sum[i / chunk], y[i]);
    doubling_play(s, c, sum, SCAN_THREADS);
    for (int64_t i = 0; i < s->d; i++) {
        double before = i % chunk ? y[i - 1] : i ? sum[i / chunk - 1] : 0;
        y[i] = add(s, c, before, y[i]);
    }
}

/* Sums of a row; y has room for d and one more. */
static void row_play(const struct scan *s, enum change c, const struct tensor *x, int64_t row,
                     double *y)
{
    bool back = c == CHANGE_REVERSE, own = c == CHANGE_OWN || c == CHANGE_SUM_BF16 ||
                                           c == CHANGE_SUM_F16;
    for (int64_t i = 0; i < s->d; i++)
        y[back ? s->d - 1 - i : i] = term(c, x, row * s->d + i);
    if (own)
        (s->tiles ? tiles_play : chunks_play)(s, c, y);
    else
        chain_play(s, c, c == CHANGE_TILE ? 256 : c == CHANGE_WARP ? 32 : s->d, y);
    if (c == CHANGE_EXCLUSIVE) {
        memmove(y + 1, y, (size_t)s->d * sizeof *y);
        y[0] = 0;
    }
}

static bool applies(const struct scan *s, enum change c)
{
    bool narrows = c >= CHANGE_WIDE && c <= CHANGE_INPUT_F16;
    return !(narrows && s->dtype == DTYPE_I32) &&
           !(c == CHANGE_INPUT_BF16 && s->dtype == DTYPE_BF16) &&
           !(c == CHANGE_INPUT_F16 && s->dtype == DTYPE_F16) &&
           !(c == CHANGE_TILE && s->d <= 256) && !(c == CHANGE_WARP && s->d <= 32) &&
           !(c == CHANGE_REVERSE && s->d == 1);
}

bool scan_model(const struct case_id *id, const struct case_plan *plan,
                const struct tensor *const *input, int which, int model, int64_t n,
                const int64_t *index, uint64_t *ret_bits)
{
    struct scan s;
    (void)plan, (void)which;
    scan_decode(id, &s);
    enum change c = (enum change)model;
    double *y = malloc((size_t)(s.d + 1) * sizeof *y);
    bool fits = y && applies(&s, c);
    int64_t row = -1;
    for (int64_t k = 0; fits && k < n; k++) {
        int64_t in = index[k] % s.d;
        if (index[k] / s.d != row)
            row_play(&s, c, input[SCAN_X], row = index[k] / s.d, y);
        ret_bits[k] = dtype_round(s.dtype, y[c == CHANGE_REVERSE ? s.d - 1 - in : in]);
    }
    free(y);
    return fits;
}
