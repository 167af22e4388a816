/* SPDX-License-Identifier: Apache-2.0 */
#include "activation.h"

#include <math.h>

enum change {
#define MODEL(name, cause, right, change) CHANGE_##change,
#include "model.def"
#undef MODEL
};

const struct case_model activation_models[] = {
#define MODEL(name, cause, right, change) {name, CAUSE_##cause, right, false},
#include "model.def"
#undef MODEL
    {NULL, CAUSE_UNEXPLAINED, false, false},
};

/* Numbers are doubles that hold f32 values, but for WIDE. */

static double round_to(enum dtype d, double x)
{
    return isfinite(x) ? dtype_value(d, dtype_round(d, x)) : x;
}

static double rounded(enum change c, double x)
{
    return c == CHANGE_WIDE ? x : (double)(float)x;
}

static double short_of(double x)
{
    return isfinite(x) ? dtype_value(DTYPE_F32, dtype_round(DTYPE_F32, x) & 0xffffe000u) : x;
}

static double sigmoid_play(enum change c, double x, double slope)
{
    double e = rounded(c, exp(rounded(c, -slope * x)));
    e = c == CHANGE_EXPONENTIAL ? short_of(e) : e;
    return rounded(c, x / rounded(c, 1 + e));
}

static double tanh_play(enum change c, double x)
{
    double k = rounded(c, 0x1.9884533d43651p-1), cubic = rounded(c, 0.044715);
    double cube = rounded(c, cubic * rounded(c, rounded(c, x * x) * x));
    double t = rounded(c, tanh(rounded(c, k * rounded(c, x + cube))));
    t = c == CHANGE_TANH ? short_of(t) : t;
    return rounded(c, x / 2 * rounded(c, 1 + t));
}

static double erf_play(enum change c, double x)
{
    double z = rounded(c, x * rounded(c, 0x1.6a09e667f3bcdp-1));
    return rounded(c, x / 2 * rounded(c, 1 + rounded(c, erf(z))));
}

static double activated_play(enum activation_kind kind, enum change c, double x)
{
    if (c == CHANGE_QUICK)
        return sigmoid_play(c, x, (double)1.702f);
    if (c == CHANGE_SILU || (kind == ACTIVATION_SILU && c != CHANGE_FORM && c != CHANGE_ERF))
        return sigmoid_play(c, x, 1);
    bool by_tanh = kind == ACTIVATION_GELU_TANH ? c != CHANGE_ERF : c == CHANGE_FORM;
    return by_tanh ? tanh_play(c, x) : erf_play(c, x);
}

static bool applies(const struct activation *a, enum change c)
{
    switch (c) {
    case CHANGE_FORM:
        return a->kind != ACTIVATION_GELU_TANH;
    case CHANGE_ERF:
        return a->kind != ACTIVATION_GELU;
    case CHANGE_SILU:
    case CHANGE_QUICK:
        return a->kind != ACTIVATION_SILU || c == CHANGE_QUICK;
    case CHANGE_HALVES:
    case CHANGE_ALONE:
        return a->mul;
    case CHANGE_NARROW:
        return a->mul && a->dtype != DTYPE_F32;
    case CHANGE_EXPONENTIAL:
        return a->kind == ACTIVATION_SILU;
    case CHANGE_TANH:
        return a->kind == ACTIVATION_GELU_TANH;
    case CHANGE_INPUT_BF16:
        return a->dtype != DTYPE_BF16;
    case CHANGE_INPUT_F16:
        return a->dtype != DTYPE_F16;
    default:
        return true;
    }
}

static uint64_t element_play(const struct activation *a, enum change c, const struct tensor *t,
                             int64_t i)
{
    int64_t at = activation_place(a, i);
    double x = tensor_value(t, at), g = a->mul ? tensor_value(t, at + a->d) : 1;
    if (c == CHANGE_INPUT_BF16 || c == CHANGE_INPUT_F16) {
        enum dtype to = c == CHANGE_INPUT_BF16 ? DTYPE_BF16 : DTYPE_F16;
        x = round_to(to, x);
        g = round_to(to, g);
    }
    double y = activated_play(a->kind, c, c == CHANGE_HALVES ? g : x);
    y = c == CHANGE_NARROW ? round_to(a->dtype, y) : y;
    if (a->mul && c != CHANGE_ALONE)
        y = rounded(c, y * (c == CHANGE_HALVES ? x : g));
    return dtype_round(a->dtype, y);
}

bool activation_model(const struct case_id *id, const struct case_plan *plan,
                      const struct tensor *const *input, int which, int model, int64_t n,
                      const int64_t *index, uint64_t *ret_bits)
{
    struct activation a;
    (void)plan, (void)which;
    activation_decode(id, &a);
    if (!applies(&a, (enum change)model))
        return false;
    for (int64_t k = 0; k < n; k++)
        ret_bits[k] = element_play(&a, (enum change)model, input[ACTIVATION_X], index[k]);
    return true;
}
