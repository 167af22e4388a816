/* SPDX-License-Identifier: Apache-2.0 */
#include "fused.h"

#include <math.h>

enum change {
#define MODEL(name, cause, right, change) CHANGE_##change,
#include "model.def"
#undef MODEL
};

const struct case_model fused_models[] = {
#define MODEL(name, cause, right, change) {name, CAUSE_##cause, right, false},
#include "model.def"
#undef MODEL
    {NULL, CAUSE_UNEXPLAINED, false, false},
};

struct play {
    const struct fused *s;
    const struct tensor *const *input;
    enum change change;
};

static float multiply_add(const struct play *w, float a, float b, float c)
{
    return w->change == CHANGE_ROUNDED ? a * b + c : fmaf(a, b, c);
}

static float kept(const struct play *w, float x)
{
    return w->change == CHANGE_FLUSHED && fabsf(x) < 0x1p-126f ? 0 : x;
}

struct played {
    float m, v, u;
};

static float read(const struct play *w, int which, int64_t i)
{
    return (float)tensor_value(w->input[which], i);
}

static struct played play(const struct play *w, int64_t i)
{
    const struct fused *s = w->s;
    float g = read(w, FUSED_G, i), p = read(w, FUSED_P, i);
    struct played r;
    r.m = kept(w, multiply_add(w, s->b1, kept(w, read(w, FUSED_M, i)), s->a1 * g));
    r.v = kept(w, multiply_add(w, s->b2, kept(w, read(w, FUSED_V, i)), s->a2 * (g * g)));
    if (w->change == CHANGE_MOMENT)
        r.m = (float)dtype_value(DTYPE_BF16, dtype_round(DTYPE_BF16, (double)r.m));
    bool bias = w->change == CHANGE_NO_BIAS;
    float top = bias ? r.m : r.m / s->c1, square = bias ? r.v : r.v / s->c2;
    float away = w->change == CHANGE_INSIDE ? sqrtf(square + s->eps) : sqrtf(square) + s->eps;
    r.u = top / away;
    if (w->change != CHANGE_NO_DECAY)
        r.u = multiply_add(w, s->wd, p, r.u);
    return r;
}

/* In double: the order of sums is no question here. */
static void squares(const struct play *w, int64_t first, int64_t last, double ret_sum[2])
{
    ret_sum[0] = ret_sum[1] = 0;
    for (int64_t i = first; i < last; i++) {
        double p = (double)read(w, FUSED_P, i), u = (double)play(w, i).u;
        ret_sum[0] += p * p;
        ret_sum[1] += u * u;
    }
}

static void norms(const struct play *w, float ret_norm[2])
{
    double sum[2];
    int64_t last = w->s->n;
    if (w->change == CHANGE_TAIL)
        last = (fused_blocks(w->s) - 1) * FUSED_CHUNK;
    squares(w, 0, last, sum);
    for (int k = 0; k < 2; k++)
        ret_norm[k] = (float)sqrt(sum[k]);
}

static float output(const struct play *w, int which, int64_t i, float rate)
{
    double sum[2];
    float norm[2];
    struct played x;
    int64_t first = i / 2 * FUSED_CHUNK, last = first + FUSED_CHUNK;
    switch (which) {
    case FUSED_PART:
        squares(w, first, last < w->s->n ? last : w->s->n, sum);
        return (float)sum[i % 2];
    case FUSED_NORMS:
        norms(w, norm);
        return norm[i];
    default:
        x = play(w, i);
        return which == FUSED_M   ? x.m
               : which == FUSED_V ? x.v
               : which == FUSED_U ? x.u
                                  : multiply_add(w, -rate, x.u, read(w, FUSED_P, i));
    }
}

static bool applies(const struct fused *s, enum change change)
{
    if (change == CHANGE_NO_RATIO)
        return s->lamb;
    return change != CHANGE_TAIL || (s->lamb && s->n > FUSED_CHUNK);
}

bool fused_model(const struct case_id *id, const struct case_plan *plan,
                 const struct tensor *const *input, int which, int model, int64_t n,
                 const int64_t *index, uint64_t *ret_bits)
{
    (void)plan;
    struct fused s;
    fused_decode(id, &s);
    struct play w = {&s, input, (enum change)model};
    float norm[2], rate = s.lr;
    if (!applies(&s, w.change))
        return false;
    if (s.lamb && which == FUSED_P && w.change != CHANGE_NO_RATIO) {
        norms(&w, norm);
        if (norm[0] > 0 && norm[1] > 0)
            rate = s.lr * (norm[0] / norm[1]);
    }
    for (int64_t k = 0; k < n; k++)
        ret_bits[k] = dtype_round(DTYPE_F32, (double)output(&w, which, index[k], rate));
    return true;
}
