/* SPDX-License-Identifier: Apache-2.0 */
#include "softmax.h"

#include <stdlib.h>

/* `x` has room for a row. */
static void rows_fill(const struct softmax *s, const struct tensor *const *input, double *x,
                      struct case_span span, struct oracle *o)
{
    int64_t width = s->kind == SOFTMAX_CROSS ? 1 : s->d;
    for (int64_t row = span.from / width; row * width < span.to; row++) {
        struct softmax_row r;
        struct element v;
        for (int64_t i = 0; i < s->d; i++)
            x[i] = tensor_value(input[SOFTMAX_X], row * s->d + i);
        softmax_row_make(s, x, &r);
        if (s->kind == SOFTMAX_CROSS) {
            v = softmax_loss(s, &r, (int64_t)tensor_value(input[SOFTMAX_TARGET], row));
            element_put(o, row, &v);
            continue;
        }
        struct case_span in = case_row(span, row, s->d);
        for (int64_t i = in.from; i < in.to; i++) {
            v = softmax_output(s, &r, i);
            element_put(o, row * s->d + i, &v);
        }
    }
}

enum err softmax_oracle(const struct case_id *id, const struct case_plan *plan,
                        const struct tensor *const *input, int which, struct case_span span,
                        int threads, struct oracle *o, struct errinfo *e)
{
    (void)plan;
    (void)which;
    (void)threads;
    struct softmax s;
    softmax_decode(id, &s);
    double *x = malloc((size_t)s.d * sizeof *x);
    if (!x)
        return err_set(e, ERR_NOMEM, "no memory for a row of %lld", (long long)s.d);
    rows_fill(&s, input, x, span, o);
    free(x);
    return ERR_OK;
}
