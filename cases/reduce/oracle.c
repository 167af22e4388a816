/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce.h"

#include <stdlib.h>

#include "../../harness/tasks.h"

struct job {
    const struct reduce *r;
    const struct tensor *x;
    int which;
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
    for (int64_t row = run; row < j->r->rows; row += RUNS) {
        for (int64_t i = 0; i < n; i++)
            x[i] = tensor_value(j->x, reduce_at(j->r, row, i));
        row_make(j, x, row);
    }
}

enum err reduce_oracle(const struct case_id *id, const struct case_plan *plan,
                       const struct tensor *const *input, int which, int threads,
                       struct oracle *ret_oracle, struct errinfo *e)
{
    (void)plan;
    struct reduce r;
    struct oracle o;
    reduce_decode(id, &r);
    struct job j = {&r, input[REDUCE_X], which, NULL, &o};
    j.space = malloc((size_t)r.n * RUNS * sizeof *j.space);
    if (!j.space)
        return err_set(e, ERR_NOMEM, "no memory for rows of %lld", (long long)r.n);
    enum err code = oracle_init(&o, r.rows, e);
    if (!code)
        tasks_run(threads, RUNS, rows_make, &j);
    free(j.space);
    if (!code)
        *ret_oracle = o;
    return code;
}
