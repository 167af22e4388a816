/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce.h"

#include <stdlib.h>

#include "../../harness/tasks.h"

struct job {
    const struct reduce *r;
    const struct tensor *x;
    int which;
    struct case_span rows;
    double *space; /* n for each of RUNS runs of rows */
    struct oracle *o;
};

enum { RUNS = 32 };

static void row_make(const struct job *j, const double *x, int64_t row)
{
    struct element mean, y;
    if (reduce_is_spread(j->r))
        reduce_spread(j->r, x, &mean, &y);
    else
        y = reduce_sum(j->r, x, reduce_ring_first(j->r, row), j->which == REDUCE_SUMS);
    bool first = reduce_is_spread(j->r) && j->which == REDUCE_Y;
    element_put(j->o, row, first ? &mean : &y);
}

static void rows_make(void *context, int64_t run)
{
    const struct job *j = context;
    int64_t n = j->r->n;
    double *x = j->space + run * n;
    for (int64_t row = j->rows.from + run; row < j->rows.to; row += RUNS) {
        for (int64_t i = 0; i < n; i++)
            x[i] = tensor_value(j->x, reduce_at(j->r, row, i));
        row_make(j, x, row);
    }
}

enum err reduce_oracle(const struct case_id *id, const struct case_plan *plan,
                       const struct tensor *const *input, int which, struct case_span span,
                       int threads, struct oracle *o, struct errinfo *e)
{
    (void)plan;
    struct reduce r;
    reduce_decode(id, &r);
    struct job j = {&r, input[REDUCE_X], which, span, NULL, o};
    int64_t rows = span.to - span.from, runs = rows < RUNS ? rows : RUNS;
    j.space = malloc((size_t)r.n * (size_t)runs * sizeof *j.space + 1);
    if (!j.space)
        return err_set(e, ERR_NOMEM, "no memory for rows of %lld", (long long)r.n);
    tasks_run(threads, runs, rows_make, &j);
    free(j.space);
    return ERR_OK;
}
