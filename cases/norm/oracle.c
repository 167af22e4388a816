/* SPDX-License-Identifier: Apache-2.0 */
#include "norm.h"

#include <stdlib.h>

static void row_read(const struct tensor *t, int64_t row, int64_t d, double *ret_values)
{
    for (int64_t i = 0; i < d; i++)
        ret_values[i] = tensor_value(t, row * d + i);
}

static void sums_fill(const struct norm *n, const struct tensor *const *input,
                      struct case_span span, struct oracle *o)
{
    for (int64_t at = span.from; at < span.to; at++) {
        struct element x =
            norm_added(n, tensor_value(input[NORM_X], at), tensor_value(input[norm_r(n)], at));
        element_put(o, at, &x);
    }
}

/* `space` has room for 3 rows. */
static void outputs_fill(const struct norm *n, const struct tensor *const *input, double *space,
                         struct case_span span, struct oracle *o)
{
    double *h = space, *w = h + n->d, *b = n->kind == NORM_LAYER ? w + n->d : NULL;
    row_read(input[NORM_W], 0, n->d, w);
    if (b)
        row_read(input[norm_b(n)], 0, n->d, b);
    for (int64_t row = span.from / n->d; row * n->d < span.to; row++) {
        struct norm_row r;
        row_read(input[NORM_X], row, n->d, h);
        for (int64_t i = 0; n->add && i < n->d; i++)
            h[i] = norm_sum(n->dtype, h[i], tensor_value(input[norm_r(n)], row * n->d + i));
        norm_row_make(n, h, &r);
        struct case_span in = case_row(span, row, n->d);
        for (int64_t i = in.from; i < in.to; i++) {
            struct element x = norm_output(n, &r, i, w, b);
            element_put(o, row * n->d + i, &x);
        }
    }
}

enum err norm_oracle(const struct case_id *id, const struct case_plan *plan,
                     const struct tensor *const *input, int which, struct case_span span,
                     int threads, struct oracle *o, struct errinfo *e)
{
    (void)plan;
    (void)threads;
    struct norm n;
    norm_decode(id, &n);
    double *space = malloc((size_t)n.d * 3 * sizeof *space);
    if (!space)
        return err_set(e, ERR_NOMEM, "no memory for a row of %lld", (long long)n.d);
    if (which == norm_h(&n))
        sums_fill(&n, input, span, o);
    else
        outputs_fill(&n, input, space, span, o);
    free(space);
    return ERR_OK;
}
