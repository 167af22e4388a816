/* SPDX-License-Identifier: Apache-2.0 */
#include "cells.h"

#include <stdbool.h>
#include <stdlib.h>

#include "doublebits.h"

/* 52 - 6: what is left of a double's bits is the exponent and six bits of the fraction. */
enum { CELL_SHIFT = 46, CELL_BASE = (1023 - 128) * CELLS_A_BINADE - 1 };

static const uint64_t sign_bit = 1ULL << 63;

int cells_find(double x)
{
    uint64_t bits = double_bits(x);
    int64_t m = (int64_t)((bits & ~sign_bit) >> CELL_SHIFT) - CELL_BASE;
    m = m < 0 ? 0 : m > CELLS_ZERO ? CELLS_ZERO : m;
    return (int)(bits & sign_bit ? CELLS_ZERO - m : CELLS_ZERO + m);
}

static double cell_middle(int cell)
{
    int m = cell < CELLS_ZERO ? CELLS_ZERO - cell : cell - CELLS_ZERO;
    uint64_t bits = (uint64_t)(m + CELL_BASE) << CELL_SHIFT | 1ULL << (CELL_SHIFT - 1);
    double x = double_from_bits(bits);
    return m == 0 ? 0 : cell < CELLS_ZERO ? -x : x;
}

enum err cells_sample(const uint64_t *count, struct sample *ret_sample, struct errinfo *e)
{
    int64_t n = 0;
    for (int i = 0; i < CELLS; i++)
        n += count[i] != 0;
    struct sample s = {.x = malloc((size_t)n * sizeof *s.x + 1),
                       .upto = malloc((size_t)n * sizeof *s.upto + 1)};
    if (!s.x || !s.upto) {
        sample_release(&s);
        return err_set(e, ERR_NOMEM, "no memory for a sample of %lld cells", (long long)n);
    }
    for (int i = 0; i < CELLS; i++)
        if (count[i]) {
            s.total += (int64_t)count[i];
            s.x[s.n] = cell_middle(i);
            s.upto[s.n++] = s.total;
        }
    *ret_sample = s;
    return ERR_OK;
}

/* Marks the cells in which values of the wanted ranks of x lie, and those of |x|: of both
 * signs; and that of zero. */
static void cells_mark(const uint64_t *count, const int64_t *rank, int n_rank, bool *mark)
{
    int64_t up_to = 0;
    for (int cell = 0, next = 0; next < n_rank && cell < CELLS; cell++) {
        up_to += (int64_t)count[cell];
        for (; next < n_rank && up_to >= rank[next]; next++)
            mark[cell] = true;
    }
    up_to = 0;
    for (int m = 0, next = 0; next < n_rank && m <= CELLS_ZERO; m++) {
        up_to += (int64_t)(count[CELLS_ZERO + m] + (m ? count[CELLS_ZERO - m] : 0));
        for (; next < n_rank && up_to >= rank[next]; next++)
            mark[CELLS_ZERO + m] = mark[CELLS_ZERO - m] = true;
    }
    mark[CELLS_ZERO] = true;
}

/* Entries in order: the sorted values of marked cells, the middles of the others. */
static void cells_merge(const uint64_t *count, const bool *mark, const double *values,
                        struct sample *s)
{
    for (int cell = 0; cell < CELLS; cell++) {
        int64_t size = (int64_t)count[cell];
        if (size == 0)
            continue;
        if (!mark[cell]) {
            s->total += size;
            s->x[s->n] = cell_middle(cell);
            s->upto[s->n++] = s->total;
            continue;
        }
        for (int64_t i = 0; i < size; i++) {
            s->x[s->n] = *values++;
            s->upto[s->n++] = ++s->total;
        }
    }
}

/* Moves the values of marked cells to the front; returns how many there are. */
static int64_t marked_gather(double *x, int64_t n, const bool *mark)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        x[kept] = x[i];
        kept += mark[cells_find(x[i])];
    }
    return kept;
}

static int64_t entries_needed(const uint64_t *count, const bool *mark)
{
    int64_t n = 0;
    for (int cell = 0; cell < CELLS; cell++)
        n += mark[cell] ? (int64_t)count[cell] : count[cell] != 0;
    return n;
}

static enum err sample_make(double *x, int64_t n, const double *q, int n_q, uint64_t *count,
                            bool *mark, struct sample *ret_sample, struct errinfo *e)
{
    struct sample kept, s = {0};
    int64_t rank[CELLS_QUANTILES];
    for (int64_t i = 0; i < n; i++)
        count[cells_find(x[i])]++;
    for (int i = 0; i < n_q; i++)
        rank[i] = sample_rank(n, q[i]);
    cells_mark(count, rank, n_q, mark);
    TRY(sample_from_values(x, marked_gather(x, n, mark), &kept, e));

    size_t entries = (size_t)entries_needed(count, mark);
    s.x = malloc(entries * sizeof *s.x + 1);
    s.upto = malloc(entries * sizeof *s.upto + 1);
    if (s.x && s.upto)
        cells_merge(count, mark, kept.x, &s);
    sample_release(&kept);
    if (!s.x || !s.upto) {
        sample_release(&s);
        return err_set(e, ERR_NOMEM, "no memory for a sample of %lld values", (long long)n);
    }
    *ret_sample = s;
    return ERR_OK;
}

enum err cells_sample_values(double *x, int64_t n, const double *q, int n_q,
                             struct sample *ret_sample, struct errinfo *e)
{
    enum err code;
    uint64_t *count = calloc(CELLS, sizeof *count);
    bool *mark = calloc(CELLS, sizeof *mark);
    if (count && mark) {
        code = sample_make(x, n, q, n_q, count, mark, ret_sample, e);
    } else {
        code = err_set(e, ERR_NOMEM, "no memory for a sample of %lld values", (long long)n);
        free(x);
    }
    free(count);
    free(mark);
    return code;
}
