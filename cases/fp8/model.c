/* SPDX-License-Identifier: Apache-2.0 */
#include "fp8.h"

#include <math.h>

enum change {
#define MODEL(name, cause, right, change) CHANGE_##change,
#include "model.def"
#undef MODEL
};

const struct case_model fp8_models[] = {
#define MODEL(name, cause, right, change) {name, CAUSE_##cause, right, CHANGE_##change == CHANGE_TENSOR},
#include "model.def"
#undef MODEL
    {NULL, CAUSE_UNEXPLAINED, false, false},
};

static bool is_fnuz(enum dtype to)
{
    return to == DTYPE_E4M3FNUZ || to == DTYPE_E5M2FNUZ;
}

static enum dtype with(bool three, bool fnuz)
{
    return three ? (fnuz ? DTYPE_E4M3FNUZ : DTYPE_E4M3) : (fnuz ? DTYPE_E5M2FNUZ : DTYPE_E5M2);
}

/* The format whose codes a device may really write. */
static enum dtype format_of(const struct fp8 *f, enum change c)
{
    bool three = f->to == DTYPE_E4M3 || f->to == DTYPE_E4M3FNUZ;
    return c == CHANGE_OCP        ? with(three, false)
           : c == CHANGE_FNUZ     ? with(three, true)
           : c == CHANGE_FRACTION ? with(!three, is_fnuz(f->to))
                                  : f->to;
}

static double absmax(const struct fp8 *f, enum change c, const struct tensor *x, int64_t group)
{
    double most = 0;
    int64_t last = -1;
    for (int64_t i = 0; i < x->count; i++)
        if (fp8_group_of(f, i) == group)
            last = i;
    for (int64_t i = 0; i < x->count; i++) {
        bool in = c == CHANGE_TENSOR || fp8_group_of(f, i) == group;
        double v = fabs(tensor_value(x, i));
        if (in && v > most && (c != CHANGE_LAST || i != last))
            most = v;
    }
    return most;
}

static float scale_play(const struct fp8 *f, enum change c, const struct tensor *x,
                        int64_t group)
{
    if (f->cast)
        return 1;
    if (c == CHANGE_NEXT && group + 1 < fp8_groups(f))
        group++;
    float s = (float)absmax(f, c, x, group) / (float)dtype_max(format_of(f, c));
    return s == 0 || c == CHANGE_NONE ? 1 : s;
}

/* The code toward zero, of a number within the format. */
static uint64_t cut(enum dtype to, double q)
{
    uint64_t bits = dtype_round(to, q);
    return fabs(dtype_value(to, bits)) > fabs(q) ? bits - 1 : bits;
}

static uint64_t away(enum dtype to, double q)
{
    uint64_t low = cut(to, q);
    double below = fabs(dtype_value(to, low)), above = fabs(dtype_value(to, low + 1));
    return isfinite(above) && fabs(q) - below == above - fabs(q) ? low + 1 : dtype_round(to, q);
}

static uint64_t narrow_play(const struct fp8 *f, enum change c, double q)
{
    enum dtype to = format_of(f, c);
    double most = dtype_max(to);
    if (c == CHANGE_WAY_BF16 || c == CHANGE_WAY_F16) {
        enum dtype way = c == CHANGE_WAY_BF16 ? DTYPE_BF16 : DTYPE_F16;
        q = dtype_value(way, dtype_round(way, q));
    }
    if (c == CHANGE_OVERFLOW && fabs(q) > most)
        q = (double)NAN;
    q = isnan(q) ? q : fmin(fmax(q, -most), most);
    if (c == CHANGE_BIAS)
        q *= 2;
    if (isnan(q))
        return dtype_round(to, q);
    uint64_t bits = c == CHANGE_CUT    ? cut(to, q)
                    : c == CHANGE_AWAY ? away(to, q)
                                       : dtype_round(to, q);
    if (c == CHANGE_FLUSHED && dtype_is_subnormal(to, bits))
        bits = 0;
    return c == CHANGE_ZERO && bits == 0 && signbit(q) ? 0x80 : bits;
}

static uint64_t code_play(const struct fp8 *f, enum change c, double x, float s)
{
    double q = (double)((float)x / s);
    if (c == CHANGE_RECIPROCAL)
        q = (double)((float)x * (1 / s));
    return narrow_play(f, c, c == CHANGE_WIDE ? x / (double)s : q);
}

static bool applies(const struct fp8 *f, enum change c)
{
    switch (c) {
    case CHANGE_OCP:
        return is_fnuz(f->to);
    case CHANGE_FNUZ:
        return !is_fnuz(f->to);
    case CHANGE_ZERO:
        return is_fnuz(f->to);
    case CHANGE_TENSOR:
        return !f->cast && f->group != FP8_TENSOR;
    case CHANGE_NEXT:
        return !f->cast && fp8_groups(f) > 1;
    case CHANGE_LAST:
    case CHANGE_NONE:
        return !f->cast;
    case CHANGE_OVERFLOW:
        return f->cast;
    default:
        return true;
    }
}

static uint64_t back_play(const struct fp8 *f, enum change c, const struct tensor *const *input,
                          int64_t i)
{
    int64_t g = fp8_group_of(f, i);
    if (c == CHANGE_NEXT && g + 1 < fp8_groups(f))
        g++;
    double scale = c == CHANGE_NONE ? 1 : tensor_value(input[FP8_SCALE_IN], g);
    double code = dtype_value(format_of(f, c), tensor_bits(input[FP8_CODE_IN], i));
    code = c == CHANGE_BIAS ? code / 2 : code;
    return dtype_round(f->dtype, c == CHANGE_WIDE ? code * scale : (double)(float)(code * scale));
}

bool fp8_model(const struct case_id *id, const struct case_plan *plan,
               const struct tensor *const *input, int which, int model, int64_t n,
               const int64_t *index, uint64_t *ret_bits)
{
    struct fp8 f;
    enum change c = (enum change)model;
    (void)plan;
    fp8_decode(id, &f);
    if (!applies(&f, c))
        return false;
    int64_t last = -1;
    float s = 1;
    for (int64_t k = 0; k < n; k++) {
        if (f.back) {
            ret_bits[k] = back_play(&f, c, input, index[k]);
            continue;
        }
        int64_t g = which == FP8_SCALE ? index[k] : fp8_group_of(&f, index[k]);
        if (g != last)
            s = scale_play(&f, c, input[FP8_X], last = g);
        ret_bits[k] = which == FP8_SCALE
                          ? dtype_round(DTYPE_F32, (double)s)
                          : code_play(&f, c, tensor_value(input[FP8_X], index[k]), s);
    }
    return true;
}
