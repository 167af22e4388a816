/* SPDX-License-Identifier: Apache-2.0 */
#include "draws.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"

/* Standard deviations that chance exceeds less than once in ten thousand. */
static const double far = 4;

double draws_correlation(const double *x, const double *y, int64_t n)
{
    double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
    for (int64_t i = 0; i < n; i++) {
        mx += x[i] / (double)n;
        my += y[i] / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        xx += (x[i] - mx) * (x[i] - mx);
        yy += (y[i] - my) * (y[i] - my);
        xy += (x[i] - mx) * (y[i] - my);
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 1;
}

static bool sorted(const double *x, int64_t n, struct sample *ret_sample)
{
    double *copy = malloc(((size_t)n + 1) * sizeof *copy);
    if (!copy)
        return false;
    memcpy(copy, x, (size_t)n * sizeof *copy);
    return !sample_from_values(copy, n, ret_sample, NULL);
}

double draws_distance(const double *x, const double *y, int64_t n)
{
    struct sample a = {0}, b = {0};
    double ks = 1, area;
    if (sorted(x, n, &a) && sorted(y, n, &b))
        sample_distance(&a, &b, &ks, &area);
    sample_release(&a);
    sample_release(&b);
    return ks;
}

bool draws_alike(const double *x, const double *y, int64_t n, struct draws_test *ret_test)
{
    if (n < 64)
        return false;
    double one = far / sqrt((double)n);
    double next_x = fabs(draws_correlation(x, x + 1, n - 1)),
           next_y = fabs(draws_correlation(y, y + 1, n - 1));
    *ret_test = (struct draws_test){sample_ks_p(draws_distance(x, y, n), n, n), draws_correlation(x, y, n),
                                    fmax(next_x, next_y)};
    return ret_test->p > 1e-3 && fabs(ret_test->pair) < one && ret_test->next < one;
}

bool draws_even(const double *x, int64_t n)
{
    struct sample a = {0};
    double most = 0;
    bool two = true;
    if (n < 64 || !sorted(x, n, &a))
        return false;
    double low = a.x[0], high = a.x[a.n - 1];
    for (int64_t i = 0; i < n; i++) {
        double at = (x[i] - low) / (high - low);
        double upto = (double)sample_count(&a, x[i], true) / (double)n;
        double below = (double)sample_count(&a, x[i], false) / (double)n;
        two &= x[i] == low || x[i] == high;
        most = fmax(most, fmax(upto - at, at - below));
    }
    sample_release(&a);
    return high > low && (two || most < 1.95 / sqrt((double)n)); /* p = 0.001 */
}

bool draws_permuted(const double *x, const double *y, int64_t n)
{
    struct sample a = {0};
    int64_t apart = 0;
    if (n < 64 || draws_distance(x, y, n) > 0 || !sorted(x, n, &a))
        return false;
    for (int64_t i = 1; i < a.n; i++)
        apart += a.x[i] != a.x[i - 1];
    sample_release(&a);
    return apart * 4 > n;
}

/* --- one sequence, some elements on ----------------------------------------------------------
 */

enum { WINDOW = 64 };

static bool window_equal(const double *x, const double *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (x[i] != y[i])
            return false;
    return true;
}

static bool shift_holds(const double *x, const double *y, int64_t n, int64_t from,
                        int64_t shift)
{
    int64_t seen = 0, equal = 0;
    for (int64_t i = from; i < n; i++) {
        if (i + shift < 0 || i + shift >= n)
            continue;
        seen++;
        equal += y[i] == x[i + shift];
    }
    return seen >= WINDOW && seen * 4 >= n - from && equal * 100 >= seen * 99;
}

/* A window of many numbers says where it lies; one of a few constants does not. */
static bool window_says(const double *y)
{
    int64_t changes = 0;
    for (int64_t i = 1; i < WINDOW; i++)
        changes += y[i] != y[i - 1];
    return changes >= 8;
}

int64_t draws_shift(const double *x, const double *y, int64_t n, int64_t from)
{
    /* From three places of y, since the first may lie beyond x's end. */
    for (int64_t part = 0; part < 3; part++) {
        int64_t at = from + part * (n - from) / 3;
        if (at + WINDOW > n || !window_says(y + at))
            continue;
        for (int64_t j = 0; j + WINDOW <= n; j++)
            if (j != at && x[j] == y[at] && window_equal(x + j, y + at, WINDOW) &&
                shift_holds(x, y, n, from, j - at))
                return j - at;
    }
    return 0;
}

/* --- zeros here and there --------------------------------------------------------------------
 */

bool draws_mixed(const bool *only_x, int64_t m)
{
    double a = 0, runs = 1;
    for (int64_t i = 0; i < m; i++) {
        a += only_x[i];
        runs += i > 0 && only_x[i] != only_x[i - 1];
    }
    double b = (double)m - a;
    if (a < 8 || b < 8 || fabs(a - b) > far * sqrt(a + b))
        return false;
    double mean = 1 + 2 * a * b / (a + b);
    double spread = sqrt((mean - 1) * (mean - 2) / (a + b - 1));
    return fabs(runs - mean) < far * spread;
}
