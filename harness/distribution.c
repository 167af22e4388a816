/* SPDX-License-Identifier: Apache-2.0 */
#include "distribution.h"

#include <math.h>
#include <string.h>

enum { MOMENTS_RUN = 256, MOMENTS_LANES = 8, HIST_OFFSET = 34 };

const double distribution_quantile_at[DISTRIBUTION_QUANTILES] = {0.5, 0.9, 0.99, 0.999, 1};

static void sum_add(double *sum, double *low, double x)
{
    double s = *sum + x, bb = s - *sum;
    *low += (*sum - (s - bb)) + (x - bb);
    *sum = s;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* A short run in plain additions, eight lanes of them: what the compiler makes vectors of. */
static void run_add(struct moments *m, const double *x, int64_t n)
{
    double sum[MOMENTS_LANES] = {0}, square[MOMENTS_LANES] = {0};
    double low[MOMENTS_LANES], high[MOMENTS_LANES];
    for (int l = 0; l < MOMENTS_LANES; l++)
        low[l] = high[l] = x[0];
    int64_t i = 0;
    for (; i + MOMENTS_LANES <= n; i += MOMENTS_LANES)
        for (int l = 0; l < MOMENTS_LANES; l++) {
            double v = x[i + l];
            sum[l] += v;
            square[l] += v * v;
            low[l] = smaller(low[l], v);
            high[l] = larger(high[l], v);
        }
    for (int l = 0; i < n; i++, l++) {
        sum[l] += x[i];
        square[l] += x[i] * x[i];
        low[l] = smaller(low[l], x[i]);
        high[l] = larger(high[l], x[i]);
    }
    for (int l = 0; l < MOMENTS_LANES; l++) {
        sum_add(&m->sum, &m->sum_low, sum[l]);
        sum_add(&m->square, &m->square_low, square[l]);
        m->minimum = smaller(m->minimum, low[l]);
        m->maximum = larger(m->maximum, high[l]);
    }
}

void moments_add(struct moments *m, const double *x, int64_t n)
{
    if (n > 0 && m->count == 0)
        m->minimum = m->maximum = x[0];
    m->count += n;
    for (int64_t i = 0; i < n; i += MOMENTS_RUN)
        run_add(m, x + i, n - i < MOMENTS_RUN ? n - i : MOMENTS_RUN);
}

void moments_merge(struct moments *m, const struct moments *other)
{
    if (other->count == 0)
        return;
    if (m->count == 0) {
        *m = *other;
        return;
    }
    m->count += other->count;
    sum_add(&m->sum, &m->sum_low, other->sum);
    sum_add(&m->square, &m->square_low, other->square);
    m->sum_low += other->sum_low;
    m->square_low += other->square_low;
    m->minimum = smaller(m->minimum, other->minimum);
    m->maximum = larger(m->maximum, other->maximum);
}

/* How many values have 2^e <= x (or x <= -2^e, for sign -1). */
static int64_t count_beyond(const struct sample *s, int sign, int e)
{
    double edge = ldexp(1, e);
    if (sign > 0)
        return s->total - sample_count(s, edge, false);
    return sample_count(s, -edge, true);
}

static void hist_make(const struct sample *s, struct distribution *d)
{
    int64_t above = s->total - sample_count(s, 0, true), below = sample_count(s, 0, false);
    d->positive = above;
    d->negative = below;
    d->zero = s->total - above - below;
    d->hist[0] = (uint64_t)d->zero;
    for (int b = 1; b < DISTRIBUTION_HIST; b++) {
        int e = b + 1 - HIST_OFFSET;
        bool last = b == DISTRIBUTION_HIST - 1;
        int64_t next_above = last ? 0 : count_beyond(s, 1, e);
        int64_t next_below = last ? 0 : count_beyond(s, -1, e);
        d->hist_negative[b] = (uint64_t)(below - next_below);
        d->hist[b] = (uint64_t)(above - next_above + below - next_below);
        above = next_above;
        below = next_below;
    }
}

/* Terms C(n, i) / 2^n from the largest downwards; they shrink at least as fast as a bell curve. */
double distribution_sign_p(int64_t positive, int64_t negative)
{
    double n = (double)positive + (double)negative;
    double i = (double)(positive < negative ? positive : negative);
    double term = exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) - n * log(2)), sum = 0;
    for (; i >= 0 && term > sum * 0x1p-60; i--) {
        sum += term;
        term *= i / (n - i + 1);
    }
    return 2 * sum < 1 ? 2 * sum : 1;
}

void distribution_make(const struct moments *m, const struct sample *s,
                       struct distribution *ret_distribution)
{
    struct distribution d = {.count = m->count, .sign_p = 1};
    if (d.count > 0) {
        d.mean = (m->sum + m->sum_low) / (double)d.count;
        d.rms = sqrt((m->square + m->square_low) / (double)d.count);
        d.minimum = m->minimum;
        d.maximum = m->maximum;
        d.median = sample_quantile(s, 0.5);
        double most = larger(-d.minimum, d.maximum); /* exact; the middle of its cell may be above */
        for (int i = 0; i < DISTRIBUTION_QUANTILES; i++)
            d.quantile[i] = smaller(sample_quantile_abs(s, distribution_quantile_at[i]), most);
        d.quantile[DISTRIBUTION_QUANTILES - 1] = most;
        hist_make(s, &d);
        double signs = (double)(d.positive + d.negative);
        d.lean = signs > 0 ? (double)(d.positive - d.negative) / signs : 0;
        d.sign_p = distribution_sign_p(d.positive, d.negative);
    }
    *ret_distribution = d;
}
