/* SPDX-License-Identifier: Apache-2.0 */
#include "softmax.h"

#include <math.h>

enum change {
#define MODEL(name, cause, right, change) CHANGE_##change,
#include "model.def"
#undef MODEL
};

const struct case_model softmax_models[] = {
#define MODEL(name, cause, right, change) {name, CAUSE_##cause, right, false},
#include "model.def"
#undef MODEL
    {NULL, CAUSE_UNEXPLAINED, false, false},
};

enum { THREADS = 256 };

/* One row under way. Numbers are doubles that hold f32 values, but for WIDE. */
struct play {
    const struct softmax *s;
    const struct tensor *const *input;
    enum change change;
    int64_t row;
    double most, sum;
};

static double round_to(enum dtype d, double x)
{
    return isfinite(x) ? dtype_value(d, dtype_round(d, x)) : x;
}

static double rounded(const struct play *p, double x)
{
    return p->change == CHANGE_WIDE ? x : (double)(float)x;
}

static double logit(const struct play *p, int64_t i)
{
    double x = tensor_value(p->input[SOFTMAX_X], p->row * p->s->d + i);
    return p->change == CHANGE_INPUT_BF16  ? round_to(DTYPE_BF16, x)
           : p->change == CHANGE_INPUT_F16 ? round_to(DTYPE_F16, x)
                                           : x;
}

static double add(const struct play *p, double x, double y)
{
    return p->change == CHANGE_SUM_BF16  ? round_to(DTYPE_BF16, x + y)
           : p->change == CHANGE_SUM_F16 ? round_to(DTYPE_F16, x + y)
                                         : rounded(p, x + y);
}

static double weight(const struct play *p, int64_t i)
{
    double w = rounded(p, exp(rounded(p, logit(p, i) - p->most)));
    if (p->change != CHANGE_EXPONENTIAL || !isfinite(w))
        return w;
    return dtype_value(DTYPE_F32, dtype_round(DTYPE_F32, w) & 0xffffe000u);
}

/* What is added: weights, or what the logarithm's mean is of. */
static double term(const struct play *p, bool logs, int64_t i)
{
    return logs ? -rounded(p, rounded(p, logit(p, i) - p->most) - rounded(p, log(p->sum)))
                : weight(p, i);
}

static int64_t last_of(const struct play *p, bool logs)
{
    int64_t d = p->s->d;
    return logs                        ? d
           : p->change == CHANGE_LAST  ? d - 1
           : p->change == CHANGE_TAIL_32  ? d - d % 32
           : p->change == CHANGE_TAIL_256 ? d - d % 256
                                          : d;
}

static double strided_sum(const struct play *p, bool logs, int64_t first, int64_t step)
{
    double sum = 0;
    for (int64_t i = first; i < last_of(p, logs); i += step)
        sum = add(p, sum, term(p, logs, i));
    return sum;
}

static double row_sum(const struct play *p, bool logs)
{
    double part[THREADS];
    if (p->change == CHANGE_CHAIN)
        return strided_sum(p, logs, 0, 1);
    for (int t = 0; t < THREADS; t++)
        part[t] = strided_sum(p, logs, t, THREADS);
    for (int half = THREADS / 2; half > 0; half /= 2)
        for (int t = 0; t < half; t++)
            part[t] = add(p, part[t], part[t + half]);
    return part[0];
}

static void row_play(struct play *p, int64_t row)
{
    p->row = row;
    p->most = -INFINITY;
    for (int64_t i = 0; i < p->s->d; i++)
        p->most = isnan(logit(p, i)) ? (double)NAN : fmax(p->most, logit(p, i));
    if (p->change == CHANGE_SHIFT)
        p->most = 0;
    p->sum = row_sum(p, false);
}

static double loss_play(const struct play *p)
{
    int64_t d = p->s->d, label = (int64_t)tensor_value(p->input[SOFTMAX_TARGET], p->row);
    double keep = (double)p->s->keep, share = (double)p->s->share;
    if (label < 0 && p->change == CHANGE_IGNORED)
        label = 0;
    if (label < 0)
        return 0;
    if (p->change == CHANGE_LABEL && label + 1 < d)
        label++;
    double nll = term(p, true, label);
    if (p->change == CHANGE_PLAIN)
        return nll;
    double loss = rounded(p, keep * nll);
    if (share != 0) {
        double count = (double)(p->change == CHANGE_SMOOTH ? d - 1 : d);
        double mean = rounded(p, row_sum(p, true) / count);
        loss = rounded(p, loss + rounded(p, share * mean));
    }
    return p->change == CHANGE_MEAN ? rounded(p, loss / (double)p->s->rows) : loss;
}

static double output_play(const struct play *p, int64_t i)
{
    if (p->s->kind == SOFTMAX_LOG)
        return -term(p, true, i);
    return rounded(p, weight(p, i) / p->sum);
}

/* Does the change make a difference in this case? */
static bool applies(const struct softmax *s, enum change change)
{
    bool cross = s->kind == SOFTMAX_CROSS;
    switch (change) {
    case CHANGE_INPUT_BF16:
        return s->dtype != DTYPE_BF16;
    case CHANGE_INPUT_F16:
        return s->dtype != DTYPE_F16;
    case CHANGE_LAST:
        return s->d > 1;
    case CHANGE_TAIL_32:
        return s->d % 32;
    case CHANGE_TAIL_256:
        return s->d % 256;
    case CHANGE_LABEL:
    case CHANGE_SMOOTH:
        return cross && s->d > 1;
    case CHANGE_IGNORED:
        return cross;
    case CHANGE_PLAIN:
        return cross && s->share != 0;
    case CHANGE_MEAN:
        return cross && s->rows > 1;
    default:
        return true;
    }
}

bool softmax_model(const struct case_id *id, const struct case_plan *plan,
                   const struct tensor *const *input, int which, int model, int64_t n,
                   const int64_t *index, uint64_t *ret_bits)
{
    struct softmax s;
    softmax_decode(id, &s);
    if (!applies(&s, (enum change)model))
        return false;
    struct play p = {.s = &s, .input = input, .change = (enum change)model, .row = -1};
    int64_t width = s.kind == SOFTMAX_CROSS ? 1 : s.d;
    for (int64_t k = 0; k < n; k++) {
        if (index[k] / width != p.row)
            row_play(&p, index[k] / width);
        double y = s.kind == SOFTMAX_CROSS ? loss_play(&p) : output_play(&p, index[k] % width);
        ret_bits[k] = dtype_round(plan->tensor[which].dtype, y);
    }
    return true;
}
