/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum change {
#define MODEL(name, cause, right, change) CHANGE_##change,
#include "model.def"
#undef MODEL
};

const struct case_model reduce_models[] = {
#define MODEL(name, cause, right, change)                                                      \
    {name, CAUSE_##cause, right, CHANGE_##change == CHANGE_NEXT_ROW},
#include "model.def"
#undef MODEL
    {NULL, CAUSE_UNEXPLAINED, false, false},
};

enum { LANES_MAX = 256 };

/* One row under way. Numbers are doubles that hold f32 values, but for WIDE. */
struct play {
    const struct reduce *r;
    enum change change;
    int64_t last; /* terms that take part */
    double *x;    /* owned, n terms */
    bool squares;
    double centre; /* subtracted from each term */
};

static double round_to(enum dtype d, double x)
{
    return isfinite(x) ? dtype_value(d, dtype_round(d, x)) : x;
}

static double unless_subnormal(double x)
{
    return fabs(x) < 0x1p-126 ? 0 : x;
}

static bool hops(const struct play *p)
{
    return p->change == CHANGE_HOP || (p->r->hop && p->change != CHANGE_NO_HOP);
}

/* What becomes of a partial sum. */
static double kept(const struct play *p, double x)
{
    switch (p->change) {
    case CHANGE_WIDE:
        return x;
    case CHANGE_SUM_BF16:
        return round_to(DTYPE_BF16, (double)(float)x);
    case CHANGE_SUM_F16:
        return round_to(DTYPE_F16, (double)(float)x);
    case CHANGE_FLUSH_ALL:
        return unless_subnormal((double)(float)x);
    default:
        return hops(p) ? round_to(p->r->dtype, (double)(float)x) : (double)(float)x;
    }
}

static double term(const struct play *p, int64_t i)
{
    double x = p->x[i] - p->centre;
    return p->change == CHANGE_WIDE ? x : (double)(float)x;
}

static double add_term(const struct play *p, double sum, int64_t i)
{
    double x = term(p, i);
    if (!p->squares)
        return kept(p, sum + x);
    if (p->change == CHANGE_ROUNDED)
        return kept(p, sum + (double)((float)x * (float)x));
    return p->change == CHANGE_WIDE ? sum + x * x
                                    : kept(p, (double)fmaf((float)x, (float)x, (float)sum));
}

static double join(const struct play *p, double a, double b)
{
    double sum = kept(p, a + b);
    return p->change == CHANGE_FLUSH_JOIN ? unless_subnormal(sum) : sum;
}

/* --- orders ----------------------------------------------------------------------------------
 */

static double chain(const struct play *p, int64_t first, int64_t count, int64_t step)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum = add_term(p, sum, first + i * step);
    return sum;
}

/* What lane `l` has after sums were exchanged with the other half, and so on: x += moved(x of
 * lane ^ 16, 8, ...), where each lane keeps its own fraction. */
static void exchange_whole(const struct play *p, double *part, int lanes)
{
    double next[LANES_MAX];
    for (int half = lanes / 2; half > 0; half /= 2) {
        for (int l = 0; l < lanes; l++)
            next[l] = join(p, part[l], trunc(part[l ^ half]));
        memcpy(part, next, (size_t)lanes * sizeof *part);
    }
}

static double strided(const struct play *p, int64_t first, int64_t last, int lanes)
{
    double part[LANES_MAX];
    for (int l = 0; l < lanes; l++) {
        int64_t left = last - first - l;
        part[l] = left > 0 ? chain(p, first + l, (left + lanes - 1) / lanes, lanes) : 0;
    }
    if (p->change == CHANGE_MOVE)
        exchange_whole(p, part, lanes);
    for (int half = p->change == CHANGE_MOVE ? 0 : lanes / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            part[l] = join(p, part[l], part[l + half]);
    return part[0];
}

static double pairs(const struct play *p, int64_t first, int64_t count)
{
    int64_t half = 1;
    if (count <= 1)
        return count ? (p->squares ? chain(p, first, 1, 1) : term(p, first)) : 0;
    while (half * 2 < count)
        half *= 2;
    return join(p, pairs(p, first, half), pairs(p, first + half, count - half));
}

static double ring(const struct play *p, int64_t row)
{
    int64_t n = p->r->n, first = reduce_ring_first(p->r, row);
    double sum = term(p, first);
    for (int64_t i = 1; i < n; i++)
        if ((first + i) % n < p->last)
            sum = add_term(p, sum, (first + i) % n);
    return sum;
}

static double chunks(const struct play *p)
{
    double sum = 0;
    for (int64_t first = 0; first < p->last; first += REDUCE_CHUNK) {
        int64_t end = first + REDUCE_CHUNK;
        sum = join(p, sum, strided(p, first, end < p->last ? end : p->last, 256));
    }
    return sum;
}

static double sum_own(const struct play *p, int64_t row)
{
    switch (p->r->order) {
    case REDUCE_TREE:
        return strided(p, 0, p->last, 256);
    case REDUCE_WARP:
    case REDUCE_WELFORD:
    case REDUCE_TWOPASS:
        return strided(p, 0, p->last, 32);
    case REDUCE_ATOMIC:
        return chunks(p);
    case REDUCE_RING:
        return ring(p, row);
    case REDUCE_PAIRS:
        return pairs(p, 0, p->last);
    default:
        return chain(p, 0, p->last, 1);
    }
}

static double sum_of(const struct play *p, int64_t row)
{
    switch (p->change) {
    case CHANGE_CHAIN:
        return chain(p, 0, p->last, 1);
    case CHANGE_BACKWARD:
        return chain(p, p->last - 1, p->last, -1);
    case CHANGE_PAIRS:
        return pairs(p, 0, p->last);
    case CHANGE_STRIDE_256:
        return strided(p, 0, p->last, 256);
    case CHANGE_STRIDE_32:
        return strided(p, 0, p->last, 32);
    default:
        return sum_own(p, row);
    }
}

/* --- results ---------------------------------------------------------------------------------
 */

static double f32_of(const struct play *p, double x)
{
    return p->change == CHANGE_WIDE ? x : (double)(float)x;
}

static double divided(const struct play *p, double sum)
{
    double n = (double)p->r->n;
    if (p->change == CHANGE_UNDIVIDED)
        return sum;
    return f32_of(p, sum / (p->change == CHANGE_LESS   ? n - 1
                            : p->change == CHANGE_MORE ? n + 1
                                                       : n));
}

/* The variance about the mean, or what stands for it; welford as if it had two passes. */
static double spread(struct play *p, int64_t row, bool var)
{
    double mean = f32_of(p, sum_of(p, row) / (double)p->r->n);
    if (!var)
        return mean;
    p->squares = true;
    p->centre = p->change == CHANGE_NAIVE ? 0 : mean;
    double squares = divided(p, sum_of(p, row));
    if (p->change == CHANGE_NAIVE)
        squares = (double)fmaf(-(float)mean, (float)mean, (float)squares);
    p->squares = false;
    p->centre = 0;
    return squares;
}

static uint64_t truncated(enum dtype d, double x)
{
    uint64_t bits = dtype_round(d, x);
    if (d == DTYPE_F32)
        return bits & ~(uint64_t)1;
    return isfinite(x) && fabs(dtype_value(d, bits)) > fabs(x) ? bits - 1 : bits;
}

static uint64_t result(struct play *p, int which, int64_t row)
{
    const struct reduce *r = p->r;
    if (reduce_is_spread(r))
        return dtype_round(DTYPE_F32, spread(p, row, which == REDUCE_VAR));
    p->squares = r->op == REDUCE_NORM;
    double y = sum_of(p, row);
    if (which == REDUCE_SUMS)
        return dtype_round(DTYPE_F32, y);
    if (r->op == REDUCE_MEAN)
        y = divided(p, y);
    if (r->op == REDUCE_NORM && p->change != CHANGE_NO_ROOT)
        y = f32_of(p, sqrt(y));
    return p->change == CHANGE_TRUNCATE ? truncated(r->dtype, y) : dtype_round(r->dtype, y);
}

static double input_value(const struct play *p, const struct tensor *t, int64_t at)
{
    double x = tensor_value(t, at);
    switch (p->change) {
    case CHANGE_INPUT_TF32:
        return dtype_value(DTYPE_TF32, dtype_round(DTYPE_F32, x) & ~(uint64_t)0x1fff);
    case CHANGE_INPUT_BF16:
        return round_to(DTYPE_BF16, x);
    case CHANGE_INPUT_F16:
        return round_to(DTYPE_F16, x);
    case CHANGE_FLUSH_ALL:
        return unless_subnormal(x);
    default:
        return x;
    }
}

/* Does the change make a difference in this case? */
static bool applies(const struct reduce *r, enum change change)
{
    bool divides = r->op == REDUCE_MEAN || reduce_is_spread(r), small = r->dtype != DTYPE_F32;
    switch (change) {
    case CHANGE_ROUNDED:
        return r->op == REDUCE_NORM || reduce_is_spread(r);
    case CHANGE_HOP:
        return !r->hop && small;
    case CHANGE_NO_HOP:
        return r->hop && small;
    case CHANGE_INPUT_TF32:
        return !small;
    case CHANGE_INPUT_BF16:
        return r->dtype != DTYPE_BF16;
    case CHANGE_INPUT_F16:
        return r->dtype != DTYPE_F16;
    case CHANGE_LAST:
    case CHANGE_TAIL_32:
    case CHANGE_TAIL_256:
        return r->n > 1 &&
               (change == CHANGE_LAST || r->n % (change == CHANGE_TAIL_32 ? 32 : 256));
    case CHANGE_NEXT_ROW:
        return r->rows > 1;
    case CHANGE_LESS:
        return divides && r->n > 1;
    case CHANGE_MORE:
    case CHANGE_UNDIVIDED:
        return divides;
    case CHANGE_NO_ROOT:
        return r->op == REDUCE_NORM;
    case CHANGE_NAIVE:
        return reduce_is_spread(r);
    case CHANGE_MOVE:
        return r->order == REDUCE_WARP || r->order == REDUCE_WELFORD || r->order == REDUCE_TWOPASS;
    default:
        return true;
    }
}

bool reduce_model(const struct case_id *id, const struct case_plan *plan,
                  const struct tensor *const *input, int which, int model, int64_t n,
                  const int64_t *index, uint64_t *ret_bits)
{
    (void)plan;
    struct reduce r;
    reduce_decode(id, &r);
    if (!applies(&r, (enum change)model))
        return false;
    struct play p = {.r = &r, .change = (enum change)model, .last = r.n};
    p.last -= p.change == CHANGE_LAST       ? 1
              : p.change == CHANGE_TAIL_32  ? r.n % 32
              : p.change == CHANGE_TAIL_256 ? r.n % 256
                                            : 0;
    p.x = malloc((size_t)r.n * sizeof *p.x);
    if (!p.x)
        return false;
    for (int64_t k = 0; k < n; k++) {
        int64_t row = index[k], from = p.change == CHANGE_NEXT_ROW ? (row + 1) % r.rows : row;
        for (int64_t i = 0; i < r.n; i++)
            p.x[i] = input_value(&p, input[REDUCE_X], reduce_at(&r, from, i));
        ret_bits[k] = result(&p, which, row);
    }
    free(p.x);
    return true;
}
