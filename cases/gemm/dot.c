/* SPDX-License-Identifier: Apache-2.0 */
#include "gemm.h"

#include <string.h>

/* Products of two floats are exact in double: 48 bits of significand, exponents from -298 to
 * 256. So only the additions err, and two_sum gives the error of each exactly; the tail is the
 * sum of those errors. (Sum2 of Ogita, Rump and Oishi, without the last rounding.) With u =
 * 2^-53: every error is at most u times a partial sum, so at most u (1+u)^k magnitude; their
 * own sum of k terms errs by (k-1) u of k times that: (k u)^2 magnitude in all, first order,
 * and k u < 2^-30.
 *
 * Each element is summed by itself in ascending k, hence the same bits with any vector width.
 */

enum { LANES = 8, VECTORS = GEMM_PANEL / LANES, ROWS = 2 };

typedef double wide __attribute__((vector_size(LANES * sizeof(double))));
typedef float narrow __attribute__((vector_size(LANES * sizeof(float))));
typedef int64_t mask __attribute__((vector_size(LANES * sizeof(int64_t))));

struct tile {
    wide value[ROWS][VECTORS], tail[ROWS][VECTORS];
    wide magnitude[ROWS][VECTORS], walk[ROWS][VECTORS];
};

#define INLINE __attribute__((always_inline)) static inline

INLINE void tile_sum(struct tile *t, const float *const a[ROWS], const float *panel, int64_t k)
{
    const mask positive = (mask){0} + INT64_MAX;
    for (int64_t l = 0; l < k; l++)
        for (int v = 0; v < VECTORS; v++) {
            narrow few;
            memcpy(&few, panel + l * GEMM_PANEL + v * LANES, sizeof few);
            const wide b = __builtin_convertvector(few, wide);
            for (int r = 0; r < ROWS; r++) {
                wide p = b * (double)a[r][l];
                wide old = t->value[r][v];
                wide sum = old + p;
                wide part = sum - old;
                t->tail[r][v] += (old - (sum - part)) + (p - part);
                t->value[r][v] = sum;
                t->magnitude[r][v] += (wide)((mask)p & positive);
                t->walk[r][v] += (wide)((mask)sum & positive);
            }
        }
}

struct rows_job {
    const struct gemm_operands *o;
    int64_t first, last;
    const struct gemm_dots *d;
};

INLINE void tile_store(const struct rows_job *j, const struct tile *t, int r, int64_t row,
                       int64_t column)
{
    int64_t left = j->o->n - column;
    size_t size = (size_t)(left < GEMM_PANEL ? left : GEMM_PANEL) * sizeof(double);
    int64_t at = row * j->o->n + column;
    memcpy(j->d->value + at, t->value[r], size);
    memcpy(j->d->tail + at, t->tail[r], size);
    memcpy(j->d->magnitude + at, t->magnitude[r], size);
    memcpy(j->d->walk + at, t->walk[r], size);
}

INLINE void rows_sum(const struct rows_job *j)
{
    const struct gemm_operands *o = j->o;
    for (int64_t column = 0; column < o->n; column += GEMM_PANEL)
        for (int64_t row = j->first; row < j->last; row += ROWS) {
            struct tile t;
            memset(&t, 0, sizeof t);
            bool both = row + 1 < j->last;
            const float *const a[ROWS] = {o->a + row * o->k, o->a + (row + both) * o->k};
            tile_sum(&t, a, o->b + column * o->k, o->k);
            tile_store(j, &t, 0, row, column);
            if (both)
                tile_store(j, &t, 1, row + 1, column);
        }
}

static void rows_plain(const struct rows_job *j)
{
    rows_sum(j);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void rows_avx2(const struct rows_job *j)
{
    rows_sum(j);
}

__attribute__((target("avx512f,avx512dq"))) static void rows_avx512(const struct rows_job *j)
{
    rows_sum(j);
}
#endif

void gemm_dot(const struct gemm_operands *o, int64_t first, int64_t last,
              const struct gemm_dots *ret_dots)
{
    struct rows_job j = {o, first, last, ret_dots};
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
        rows_avx512(&j);
        return;
    }
    if (__builtin_cpu_supports("avx2")) {
        rows_avx2(&j);
        return;
    }
#endif
    rows_plain(&j);
}
