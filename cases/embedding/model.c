/* SPDX-License-Identifier: Apache-2.0 */
#include "embedding.h"

#include <float.h>
#include <math.h>

enum change {
#define MODEL(name, cause, right, change) CHANGE_##change,
#include "model.def"
#undef MODEL
};

const struct case_model embedding_models[] = {
#define MODEL(name, cause, right, change) {name, CAUSE_##cause, right, false},
#include "model.def"
#undef MODEL
    {NULL, CAUSE_UNEXPLAINED, false, false},
};

static double round_to(enum dtype d, double x)
{
    return isfinite(x) ? dtype_value(d, dtype_round(d, x)) : x;
}

static double term(enum change c, const struct tensor *dy, int64_t i)
{
    double x = tensor_value(dy, i);
    return c == CHANGE_INPUT_BF16  ? round_to(DTYPE_BF16, x)
           : c == CHANGE_INPUT_F16 ? round_to(DTYPE_F16, x)
                                   : x;
}

static double flushed(double x)
{
    return fabs(x) < (double)FLT_MIN ? 0 : x;
}

static double add(enum change c, double sum, double x)
{
    if (c == CHANGE_FLUSHED)
        return flushed((double)(float)(sum + flushed(x)));
    return c == CHANGE_WIDE       ? sum + x
           : c == CHANGE_LAST     ? x
           : c == CHANGE_SUM_BF16 ? round_to(DTYPE_BF16, sum + x)
           : c == CHANGE_SUM_F16  ? round_to(DTYPE_F16, sum + x)
                                  : (double)(float)(sum + x);
}

/* Where token t's gradient goes; -1: nowhere. */
static int64_t row_of(const struct embedding *m, enum change c, const struct tensor *index,
                      int64_t t)
{
    int64_t v = (int64_t)tensor_value(index, t);
    if (v == m->padding && c != CHANGE_PADDING)
        return -1;
    return c == CHANGE_ROW && v + 1 < m->vocab ? v + 1 : v;
}

static double element_play(const struct embedding *m, enum change c,
                           const struct tensor *const *input, int64_t at)
{
    int64_t row = at / m->d, column = at % m->d, count = 0, n = m->tokens * m->d;
    double sum = 0;
    for (int64_t k = 0; k < m->tokens; k++) {
        int64_t t = c == CHANGE_REVERSE ? m->tokens - 1 - k : k, i = t * m->d + column;
        if (row_of(m, c, input[EMBEDDING_INDEX], t) != row || (c == CHANGE_TAIL && i >= n - n % 256))
            continue;
        sum = add(c, sum, term(c, input[EMBEDDING_DY], i));
        count++;
    }
    return c == CHANGE_FREQUENCY && count ? sum / (double)count : sum;
}

static bool applies(const struct embedding *m, enum change c)
{
    switch (c) {
    case CHANGE_INPUT_BF16:
        return m->dtype != DTYPE_BF16;
    case CHANGE_INPUT_F16:
        return m->dtype != DTYPE_F16;
    case CHANGE_ROW:
        return m->vocab > 1;
    case CHANGE_PADDING:
        return m->padding >= 0;
    case CHANGE_TAIL:
        return m->tokens * m->d % 256;
    default:
        return m->tokens <= 65536;
    }
}

bool embedding_model(const struct case_id *id, const struct case_plan *plan,
                     const struct tensor *const *input, int which, int model, int64_t n,
                     const int64_t *index, uint64_t *ret_bits)
{
    struct embedding m;
    (void)plan, (void)which;
    embedding_decode(id, &m);
    if (!applies(&m, (enum change)model))
        return false;
    for (int64_t k = 0; k < n; k++)
        ret_bits[k] =
            dtype_round(DTYPE_F32, element_play(&m, (enum change)model, input, index[k]));
    return true;
}
