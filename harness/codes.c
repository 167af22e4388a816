/* SPDX-License-Identifier: Apache-2.0 */
#include "codes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int codes_of(enum dtype d)
{
    if (d == DTYPE_NF4X2 || d == DTYPE_FP4X2)
        return 16;
    return dtype_info(d)->bytes == 1 ? 256 : 0;
}

enum err codes_init(struct codes *c, enum dtype d, struct errinfo *e)
{
    *c = (struct codes){.dtype = d, .n = codes_of(d)};
    c->move = calloc((size_t)(c->n * c->n) + 1, sizeof *c->move);
    return c->move ? ERR_OK : err_set(e, ERR_NOMEM, "no memory for a table of %d codes", c->n);
}

void codes_release(struct codes *c)
{
    free(c->move);
    *c = (struct codes){0};
}

void codes_add(struct codes *c, uint64_t from, uint64_t to)
{
    if (c->n == 256) {
        c->move[(from & 255) * 256 + (to & 255)]++;
        return;
    }
    c->move[(from >> 4 & 15) * 16 + (to >> 4 & 15)]++;
    c->move[(from & 15) * 16 + (to & 15)]++;
}

void codes_merge(struct codes *c, const struct codes *other)
{
    for (int i = 0; i < c->n * c->n; i++)
        c->move[i] += other->move[i];
}

/* --- tests -----------------------------------------------------------------------------------
 */

static double lower_series(double a, double x)
{
    double term = 1 / a, sum = term;
    for (double n = a + 1; term > sum * 0x1p-60; n++)
        sum += term *= x / n;
    return sum * exp(a * log(x) - x - lgamma(a));
}

/* By Lentz's method. */
static double upper_fraction(double a, double x)
{
    double b = x + 1 - a, c = 1e300, d = 1 / b, h = d, step = 0;
    for (int i = 1; i < 100000 && fabs(step - 1) > 0x1p-52; i++) {
        double an = -i * (i - a);
        b += 2;
        d = 1 / (an * d + b);
        c = b + an / c;
        h *= step = d * c;
    }
    return h * exp(a * log(x) - x - lgamma(a));
}

double codes_chi2_p(double x, int df)
{
    double a = df / 2.0, half = x / 2;
    if (df <= 0 || !(x > 0))
        return 1;
    double p = half < a + 1 ? 1 - lower_series(a, half) : upper_fraction(a, half);
    return p < 0 ? 0 : p > 1 ? 1 : p;
}

static void histograms(const struct codes *c, int64_t *a, int64_t *b)
{
    for (int i = 0; i < c->n; i++)
        for (int j = 0; j < c->n; j++) {
            a[i] += c->move[i * c->n + j];
            b[j] += c->move[i * c->n + j];
        }
}

/* Both samples have `count` codes, so half of each code's total is expected on either side. */
static void test_histograms(const struct codes *c, struct codes_stats *s)
{
    int64_t a[CODES_MAX] = {0}, b[CODES_MAX] = {0};
    int kinds = 0;
    histograms(c, a, b);
    for (int i = 0; i < c->n; i++) {
        double both = (double)(a[i] + b[i]), apart = (double)(a[i] - b[i]);
        if (both == 0)
            continue;
        kinds++;
        s->chi2 += apart * apart / both;
        s->distance += fabs(apart);
    }
    s->chi2_df = kinds - 1;
    s->chi2_p = codes_chi2_p(s->chi2, s->chi2_df);
    if (!s->count)
        return;
    s->distance /= 2 * (double)s->count;
    s->cramer = sqrt(s->chi2 / (2 * (double)s->count));
}

static void test_symmetry(const struct codes *c, struct codes_stats *s)
{
    for (int i = 0; i < c->n; i++)
        for (int j = 0; j < i; j++) {
            double x = (double)c->move[i * c->n + j], y = (double)c->move[j * c->n + i];
            if (x + y == 0)
                continue;
            s->bowker_df++;
            s->bowker += (x - y) * (x - y) / (x + y);
        }
    s->bowker_p = codes_chi2_p(s->bowker, s->bowker_df);
}

static void top_take(struct codes_stats *s, struct codes_move m)
{
    for (int k = 0; k < CODES_TOP; k++)
        if (m.count > s->top[k].count) {
            struct codes_move less = s->top[k];
            s->top[k] = m;
            m = less;
        }
}

static void count_flips(const struct codes *c, struct codes_stats *s)
{
    for (int i = 0; i < c->n; i++)
        for (int j = 0; j < c->n; j++) {
            int64_t n = c->move[i * c->n + j];
            s->count += n;
            if (i == j || !n)
                continue;
            double from = dtype_value(c->dtype, (uint64_t)i), to = dtype_value(c->dtype, (uint64_t)j);
            s->flips += n;
            s->up += to > from ? n : 0;
            s->down += to < from ? n : 0;
            top_take(s, (struct codes_move){i, j, n});
        }
}

void codes_finish(const struct codes *c, struct codes_stats *ret_stats)
{
    struct codes_stats s = {.codes = c->n};
    count_flips(c, &s);
    test_histograms(c, &s);
    test_symmetry(c, &s);
    *ret_stats = s;
}
