/* SPDX-License-Identifier: Apache-2.0 */
#include "norm.h"

#include <math.h>
#include <stdlib.h>

enum change {
#define MODEL(name, cause, right, change) CHANGE_##change,
#include "model.def"
#undef MODEL
};

const struct case_model norm_models[] = {
#define MODEL(name, cause, right, change) {name, CAUSE_##cause, right, false},
#include "model.def"
#undef MODEL
    {NULL, CAUSE_UNEXPLAINED, false, false},
};

enum { THREADS = 256 };

/* One row under way. Numbers are doubles that hold f32 values, but for WIDE. */
struct play {
    const struct norm *n;
    enum change change;
    double *h; /* owned, d */
    double mean, scale;
};

static double round_to(enum dtype d, double x)
{
    return isfinite(x) ? dtype_value(d, dtype_round(d, x)) : x;
}

static double rounded(const struct play *p, double x)
{
    return p->change == CHANGE_WIDE ? x : (double)(float)x;
}

/* acc + x y, kept as the change says. */
static double add(const struct play *p, double acc, double x, double y)
{
    switch (p->change) {
    case CHANGE_WIDE:
        return acc + x * y;
    case CHANGE_ROUNDED:
        return (double)((float)acc + (float)(x * y));
    case CHANGE_SUM_BF16:
        return round_to(DTYPE_BF16, acc + x * y);
    case CHANGE_SUM_F16:
        return round_to(DTYPE_F16, acc + x * y);
    default:
        return (double)fmaf((float)x, (float)y, (float)acc);
    }
}

static int64_t last_of(const struct play *p)
{
    int64_t d = p->n->d;
    return p->change == CHANGE_LAST       ? d - 1
           : p->change == CHANGE_TAIL_32  ? d - d % 32
           : p->change == CHANGE_TAIL_256 ? d - d % 256
                                          : d;
}

/* What a thread adds up: elements from `first` in steps of `step`. */
static double strided_sum(const struct play *p, int64_t first, int64_t step, double mean,
                          bool squares)
{
    double sum = 0;
    for (int64_t i = first; i < last_of(p); i += step) {
        double c = rounded(p, p->h[i] - mean);
        sum = add(p, sum, c, squares ? c : 1);
    }
    return sum;
}

static double row_sum(const struct play *p, double mean, bool squares)
{
    double part[THREADS];
    if (p->change == CHANGE_CHAIN)
        return strided_sum(p, 0, 1, mean, squares);
    for (int t = 0; t < THREADS; t++)
        part[t] = strided_sum(p, t, THREADS, mean, squares);
    for (int half = THREADS / 2; half > 0; half /= 2)
        for (int t = 0; t < half; t++)
            part[t] = add(p, part[t], part[t + half], 1);
    return part[0];
}

static double input_value(const struct play *p, const struct tensor *t, int64_t at)
{
    double x = tensor_value(t, at);
    return p->change == CHANGE_INPUT_BF16  ? round_to(DTYPE_BF16, x)
           : p->change == CHANGE_INPUT_F16 ? round_to(DTYPE_F16, x)
                                           : x;
}

static double sum_value(const struct play *p, const struct tensor *const *input, int64_t at)
{
    double x = input_value(p, input[NORM_X], at);
    if (!p->n->add || p->change == CHANGE_NO_RESIDUAL)
        return x;
    double r = input_value(p, input[norm_r(p->n)], at);
    return p->change == CHANGE_SUM_WIDE ? (double)((float)x + (float)r)
                                        : norm_sum(p->n->dtype, x, r);
}

static void row_play(struct play *p, const struct tensor *const *input, int64_t row)
{
    int64_t d = p->n->d;
    double eps = p->change == CHANGE_NO_EPS ? 0 : (double)p->n->eps;
    for (int64_t i = 0; i < d; i++)
        p->h[i] = sum_value(p, input, row * d + i);
    bool centred = p->n->kind == NORM_LAYER && p->change != CHANGE_NO_MEAN;
    p->mean = centred ? rounded(p, row_sum(p, 0, false) / (double)d) : 0;
    double count = (double)(p->change == CHANGE_SAMPLE ? d - 1 : d);
    double square = rounded(p, row_sum(p, p->mean, true) / count);
    if (p->change == CHANGE_EPS_OUTSIDE)
        p->scale = rounded(p, 1 / (sqrt(square) + eps));
    else
        p->scale = rounded(p, 1 / sqrt(rounded(p, square + eps)));
    if (p->change == CHANGE_MEAN_KEPT)
        p->mean = 0;
}

static uint64_t element_play(const struct play *p, const struct tensor *const *input, int64_t i)
{
    int64_t at = p->change == CHANGE_GAIN_NEXT && i + 1 < p->n->d ? i + 1 : i;
    double w = input_value(p, input[NORM_W], at);
    if (p->change == CHANGE_NO_GAIN || p->change == CHANGE_GAIN_MORE)
        w = p->change == CHANGE_NO_GAIN ? 1 : rounded(p, w + 1);
    double y = rounded(p, rounded(p, p->h[i] - p->mean) * p->scale);
    double b = p->n->kind == NORM_LAYER && p->change != CHANGE_NO_BIAS
                   ? input_value(p, input[norm_b(p->n)], i)
                   : 0;
    y = p->n->kind == NORM_LAYER ? add(p, b, y, w) : rounded(p, y * w);
    return dtype_round(p->n->dtype, y);
}

/* Does the change make a difference in this case? */
static bool applies(const struct norm *n, enum change change)
{
    switch (change) {
    case CHANGE_SUM_WIDE:
        return n->add && n->dtype != DTYPE_F32;
    case CHANGE_NO_RESIDUAL:
        return n->add;
    case CHANGE_INPUT_BF16:
        return n->dtype != DTYPE_BF16;
    case CHANGE_INPUT_F16:
        return n->dtype != DTYPE_F16;
    case CHANGE_NO_BIAS:
    case CHANGE_NO_MEAN:
    case CHANGE_MEAN_KEPT:
        return n->kind == NORM_LAYER;
    case CHANGE_SAMPLE:
    case CHANGE_GAIN_NEXT:
    case CHANGE_LAST:
        return n->d > 1;
    case CHANGE_TAIL_32:
        return n->d % 32;
    case CHANGE_TAIL_256:
        return n->d % 256;
    default:
        return true;
    }
}

bool norm_model(const struct case_id *id, const struct case_plan *plan,
                const struct tensor *const *input, int which, int model, int64_t n,
                const int64_t *index, uint64_t *ret_bits)
{
    (void)plan;
    struct norm c;
    norm_decode(id, &c);
    if (which != NORM_Y || !applies(&c, (enum change)model))
        return false;
    struct play p = {&c, (enum change)model, malloc((size_t)c.d * sizeof(double)), 0, 0};
    if (!p.h)
        return false;
    int64_t row = -1;
    for (int64_t x = 0; x < n; x++) {
        if (index[x] / c.d != row)
            row_play(&p, input, row = index[x] / c.d);
        ret_bits[x] = element_play(&p, input, index[x] % c.d);
    }
    free(p.h);
    return true;
}
