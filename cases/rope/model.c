/* SPDX-License-Identifier: Apache-2.0 */
#include "rope.h"

#include <math.h>

enum change {
#define MODEL(name, cause, right, change) CHANGE_##change,
#include "model.def"
#undef MODEL
};

const struct case_model rope_models[] = {
#define MODEL(name, cause, right, change) {name, CAUSE_##cause, right, false},
#include "model.def"
#undef MODEL
    {NULL, CAUSE_UNEXPLAINED, false, false},
};

/* Numbers are doubles that hold f32 values, but for WIDE. */

static double round_to(enum dtype d, double x)
{
    return dtype_value(d, dtype_round(d, x));
}

static double rounded(enum change c, double x)
{
    return c == CHANGE_WIDE ? x : (double)(float)x;
}

static int64_t position_of(enum change c, const struct tensor *t, int64_t token)
{
    int64_t p = (int64_t)tensor_value(t, token);
    return c == CHANGE_NEXT      ? p + 1
           : c == CHANGE_BEFORE  ? p - 1
           : c == CHANGE_COUNTED ? token
           : c == CHANGE_STILL   ? 0
                                 : p;
}

static double angle_of(enum change c, int64_t position, double frequency)
{
    double exact = (double)position * frequency, angle = (double)rope_angle(position, frequency);
    if (c == CHANGE_ANGLE_WIDE)
        return exact;
    if (c == CHANGE_ANGLE_BF16 || c == CHANGE_ANGLE_F16)
        return round_to(c == CHANGE_ANGLE_BF16 ? DTYPE_BF16 : DTYPE_F16, angle);
    if (c == CHANGE_REDUCED) {
        float turns = rintf((float)angle * 0.159154943f);
        return (double)fmaf(-turns, 6.28318531f, (float)angle);
    }
    return angle;
}

static double narrow(enum change c, double x)
{
    return c == CHANGE_TURN_BF16  ? round_to(DTYPE_BF16, x)
           : c == CHANGE_TURN_F16 ? round_to(DTYPE_F16, x)
                                  : rounded(c, x);
}

static double turned(enum change c, double a, double b, double cosine, double sine)
{
    double p = rounded(c, b * sine);
    if (c == CHANGE_WIDE)
        return a * cosine - b * sine;
    return c == CHANGE_FUSED ? (double)fmaf((float)a, (float)cosine, (float)-p)
                             : rounded(c, rounded(c, a * cosine) - p);
}

static uint64_t element_play(const struct rope *r, enum change c,
                             const struct tensor *const *input, int64_t at)
{
    struct rope layout = *r;
    layout.neox = c == CHANGE_LAYOUT ? !r->neox : r->neox;
    int64_t row = at / r->d, in = at % r->d;
    int64_t i = layout.neox ? in % (r->d / 2) : in / 2;
    struct rope_pair p = rope_place(&layout, row, i);
    double f = tensor_value(input[ROPE_FREQUENCY], i);
    double angle = angle_of(c, position_of(c, input[ROPE_POSITION], row / r->heads), f);
    double cosine = narrow(c, cos(angle)), sine = narrow(c, sin(angle));
    double a = tensor_value(input[ROPE_X], p.first), b = tensor_value(input[ROPE_X], p.second);
    sine = c == CHANGE_SIGN ? -sine : sine;
    double y = at == p.first ? turned(c, a, b, cosine, sine) : turned(c, b, -a, cosine, sine);
    return dtype_round(r->dtype, y);
}

bool rope_model(const struct case_id *id, const struct case_plan *plan,
                const struct tensor *const *input, int which, int model, int64_t n,
                const int64_t *index, uint64_t *ret_bits)
{
    struct rope r;
    (void)plan, (void)which;
    rope_decode(id, &r);
    if (model == CHANGE_LAYOUT && r.d == 2)
        return false;
    for (int64_t k = 0; k < n; k++)
        ret_bits[k] = element_play(&r, (enum change)model, input, index[k]);
    return true;
}
