/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cases/gemm/gemm.h"
#include "caseid.h"

/* Bounds by simulation: f32 arithmetic in many legal ways, over far more dot products than any
 * suite has, must stay inside; planted faults must fall outside wherever a case claims power.
 */

enum order { FORWARD, BACKWARD, TREE, PAIRS, RANGES, NVIDIA, AMD, ORDER_COUNT };

/* One legal way for a device to compute an element. */
struct way {
    enum order order;
    bool fused, fused_epilogue;
    bool flush;        /* operands and results */
    bool flush_atomic; /* where ranges meet */
    int64_t ranges;
};

struct sums {
    const struct way *w;
    const struct gemm *g;
    const float *a, *b;
};

static float flushed(bool flush, float x)
{
    return flush && fabsf(x) < FLT_MIN ? copysignf(0, x) : x;
}

static float f_mul(const struct way *w, float a, float b)
{
    return flushed(w->flush, flushed(w->flush, a) * flushed(w->flush, b));
}

static float f_add(const struct way *w, float a, float b)
{
    return flushed(w->flush, flushed(w->flush, a) + flushed(w->flush, b));
}

static float f_fma(const struct way *w, float a, float b, float c)
{
    if (!w->fused)
        return f_add(w, f_mul(w, a, b), c);
    return flushed(w->flush,
                   fmaf(flushed(w->flush, a), flushed(w->flush, b), flushed(w->flush, c)));
}

static float rounded(enum dtype d, float x)
{
    return (float)dtype_value(d, dtype_round(d, (double)x));
}

static float sum_range(const struct sums *s, int64_t first, int64_t last, int64_t step)
{
    float acc = 0;
    for (int64_t l = first; l < last; l += step)
        acc = f_fma(s->w, s->a[l], s->b[l], acc);
    return acc;
}

static float sum_back(const struct sums *s, int64_t k)
{
    float acc = 0;
    for (int64_t l = k - 1; l >= 0; l--)
        acc = f_fma(s->w, s->a[l], s->b[l], acc);
    return acc;
}

static float sum_tree(const struct sums *s, int64_t first, int64_t last)
{
    if (last - first < 2)
        return sum_range(s, first, last, 1);
    int64_t middle = first + (last - first) / 2;
    return f_add(s->w, sum_tree(s, first, middle), sum_tree(s, middle, last));
}

/* Ranges meet in an order of their own, last first. */
static float sum_ranges(const struct sums *s, int64_t k)
{
    int64_t chunk = (k + s->w->ranges - 1) / s->w->ranges;
    float acc = 0;
    for (int64_t r = s->w->ranges - 1; r >= 0 && chunk; r--) {
        int64_t first = r * chunk, last = first + chunk < k ? first + chunk : k;
        if (first >= last)
            continue;
        float part = flushed(s->w->flush_atomic, sum_range(s, first, last, 1));
        if (s->g->sums == GEMM_NARROW)
            part = rounded(s->g->out, part);
        acc = flushed(s->w->flush_atomic, f_add(s->w, part, acc));
    }
    return acc;
}

/* --- matrix units, written from their published descriptions
 * ---------------------------------- */

static int exponent_of(double x, int least)
{
    int e;
    frexp(x, &e);
    return x == 0 || e - 1 < least ? least : e - 1;
}

static int format_least(enum dtype d)
{
    return d == DTYPE_F16 ? -14 : -126;
}

/* Element l of an operand, zeros beyond the edge. */
static double padded(const float *x, int64_t l, int64_t k)
{
    return l < k ? (double)x[l] : 0;
}

static double truncated(double x, double unit)
{
    return trunc(x / unit) * unit;
}

/* Ampere: products unnormalised, all terms cut to 24 bits below the largest exponent, truncated
 * to f32 or rounded to f16 after each group. */
static float sum_nvidia(const struct sums *s, int64_t k)
{
    int group = s->g->in == DTYPE_TF32 ? 4 : 8, least = format_least(s->g->in);
    double acc = 0;
    for (int64_t first = 0; first < (k + 15) / 16 * 16; first += group) {
        int top = exponent_of(acc, format_least(s->g->acc));
        for (int64_t l = first; l < first + group; l++) {
            int e =
                exponent_of(padded(s->a, l, k), least) + exponent_of(padded(s->b, l, k), least);
            top = e > top ? e : top;
        }
        double unit = ldexp(1, top - 24), sum = truncated(acc, unit);
        for (int64_t l = first; l < first + group; l++)
            sum += truncated(padded(s->a, l, k) * padded(s->b, l, k), unit);
        if (s->g->acc == DTYPE_F16)
            acc = dtype_value(DTYPE_F16, dtype_round(DTYPE_F16, sum));
        else
            acc = truncated(sum, ldexp(1, exponent_of(sum, -126) - 23));
    }
    return (float)acc;
}

/* gfx11: pairs of products; a term of the sum's other sign counts as its complement. */
static float sum_amd(const struct sums *s, int64_t k)
{
    bool bf16 = s->g->in == DTYPE_BF16;
    int least = format_least(s->g->in);
    double acc = 0;
    for (int64_t first = 0; first < (k + 15) / 16 * 16; first += 2) {
        double p[2];
        int top = exponent_of(acc, -1000) - 26;
        for (int i = 0; i < 2; i++) {
            double a = padded(s->a, first + i, k), b = padded(s->b, first + i, k);
            a = bf16 && fabs(a) < 0x1p-126 ? 0 : a;
            b = bf16 && fabs(b) < 0x1p-126 ? 0 : b;
            p[i] = a * b;
            int e = exponent_of(p[i], -1000) - 26;
            top = e > top ? e : top;
            e = exponent_of(a, least) + exponent_of(b, least) - 24;
            top = p[i] != 0 && e > top ? e : top;
        }
        if (acc == 0 && p[0] == 0 && p[1] == 0)
            continue;
        double unit = ldexp(1, top), side = signbit(acc) ? -1 : 1,
               sum = floor(fabs(acc) / unit);
        for (int i = 0; i < 2; i++) {
            double size = floor(fabs(p[i]) / unit);
            sum += !signbit(p[i]) == (side > 0) ? size : -(size + 1);
        }
        sum *= side * unit;
        if (s->g->acc == DTYPE_F16)
            acc = dtype_value(DTYPE_F16, dtype_round(DTYPE_F16, sum));
        else
            acc = (double)flushed(true, (float)sum);
        acc = acc == 0 ? 0 : acc;
    }
    return (float)acc;
}

static float sum_all(const struct sums *s, int64_t k)
{
    switch (s->w->order) {
    case BACKWARD:
        return sum_back(s, k);
    case TREE:
        return sum_tree(s, 0, k);
    case PAIRS:
        return f_add(s->w, sum_range(s, 0, k, 2), sum_range(s, 1, k, 2));
    case RANGES:
        return sum_ranges(s, k);
    case NVIDIA:
        return sum_nvidia(s, k);
    case AMD:
        return sum_amd(s, k);
    default:
        return sum_range(s, 0, k, 1);
    }
}

static float epilogue(const struct way *w, const struct gemm *g, float acc, float c)
{
    struct way e = *w;
    e.fused = w->fused_epilogue;
    float value = f_mul(&e, g->alpha, acc);
    if (g->beta == 0)
        return value;
    return e.fused && w->order % 2 ? f_fma(&e, g->alpha, acc, f_mul(&e, g->beta, c))
                                   : f_fma(&e, g->beta, c, value);
}

/* --- judging ---------------------------------------------------------------------------------
 */

struct tally {
    int64_t judged, unjudged, special;
    double worst; /* largest error / bound */
};

static bool is_right(const struct oracle *o, int64_t at, double got, struct tally *t)
{
    if (isinf(o->bound[at])) {
        t->unjudged++;
        return true;
    }
    if (!isfinite(o->value[at])) {
        t->special++;
        return isnan(o->value[at]) ? isnan(got) : got == o->value[at];
    }
    double error = fabs((got - o->value[at]) - o->tail[at]);
    t->judged++;
    if (!isfinite(got))
        return false;
    if (error / o->bound[at] > t->worst)
        t->worst = error / o->bound[at];
    return error <= o->bound[at];
}

struct scene {
    struct case_id id;
    struct case_plan plan;
    struct gemm g;
    struct tensor input[CASE_TENSOR_MAX];
    struct oracle o;
    float *a, *b; /* rows and columns of all matrices, k each */
};

static double operand(const struct tensor *t, int axis, int64_t z, int64_t i, int64_t l)
{
    int64_t rows = t->dim[t->rank - 2], columns = t->dim[t->rank - 1];
    int64_t within = axis == t->rank - 1 ? i * columns + l : l * columns + i;
    return tensor_value(t, z * rows * columns + within);
}

static void scene_init(struct scene *s, const char *text)
{
    const struct tensor *at[CASE_TENSOR_MAX] = {NULL};
    struct errinfo e = {0};
    memset(s, 0, sizeof *s);
    ck_assert_msg(!caseid_parse(text, &s->id, &e), "%s", e.text);
    ck_assert_msg(!s->id.family->plan(&s->id, &s->plan, &e), "%s", e.text);
    gemm_decode(&s->id, &s->g);
    for (int i = 0; i < s->plan.n_tensor; i++)
        if (s->plan.tensor[i].role != TENSOR_OUT) {
            ck_assert(!case_input(&s->id, &s->plan, i, &s->input[i], &e));
            at[i] = &s->input[i];
        }
    ck_assert(!s->id.family->oracle(&s->id, &s->plan, at, GEMM_C, 2, &s->o, &e));
    int64_t rows = s->g.batch * s->g.m, columns = s->g.batch * s->g.n, k = s->g.k;
    s->a = calloc((size_t)(rows * k + 1), sizeof *s->a);
    s->b = calloc((size_t)(columns * k + 1), sizeof *s->b);
    for (int64_t l = 0; l < k; l++) {
        for (int64_t i = 0; i < rows; i++)
            s->a[i * k + l] = (float)operand(at[GEMM_A], s->plan.tensor[GEMM_A].axis,
                                             i / s->g.m, i % s->g.m, l);
        for (int64_t j = 0; j < columns; j++)
            s->b[j * k + l] = (float)operand(at[GEMM_B], s->plan.tensor[GEMM_B].axis,
                                             j / s->g.n, j % s->g.n, l);
    }
}

static void scene_release(struct scene *s)
{
    for (int i = 0; i < s->plan.n_tensor; i++)
        tensor_release(&s->input[i]);
    oracle_release(&s->o);
    free(s->a);
    free(s->b);
}

static double device_value(const struct scene *s, const struct way *w, int64_t at)
{
    int64_t i = at / s->g.n, j = i / s->g.m * s->g.n + at % s->g.n;
    struct sums sums = {w, &s->g, s->a + i * s->g.k, s->b + j * s->g.k};
    float c = s->g.beta != 0 ? (float)tensor_value(&s->input[GEMM_C], at) : 0;
    float value = epilogue(w, &s->g, sum_all(&sums, s->g.k), c);
    return dtype_value(s->g.out, dtype_round(s->g.out, (double)value));
}

/* Does a variant that sums so go this way? */
static bool order_fits(const struct gemm *g, int order)
{
    switch (g->sums) {
    case GEMM_ATOMIC:
    case GEMM_NARROW:
        return order == RANGES;
    case GEMM_MATRIX:
        return order == NVIDIA || (order == AMD && g->in != DTYPE_TF32) ||
               (order == FORWARD && g->in == DTYPE_TF32);
    default:
        return order == FORWARD || (g->reorder && order < RANGES);
    }
}

static int ways_of(const struct gemm *g, bool contract, struct way ret_ways[64])
{
    int n = 0;
    for (int order = 0; order < ORDER_COUNT; order++)
        for (int fused = 0; fused < (contract ? 2 : 1); fused++) {
            if (!order_fits(g, order))
                continue;
            struct way w = {(enum order)order, fused, fused, g->flush, false, g->split};
            ret_ways[n++] = w;
            w.fused_epilogue = false;
            w.flush_atomic = g->sums == GEMM_ATOMIC;
            ret_ways[n++] = w;
        }
    return n;
}

static void scene_run(const struct scene *s, const char *text, struct tally *t)
{
    struct way ways[64];
    int n = ways_of(&s->g, s->id.mode.contract, ways);
    for (int w = 0; w < n; w++)
        for (int64_t at = 0; at < s->o.count; at++) {
            double got = device_value(s, &ways[w], at);
            ck_assert_msg(
                is_right(&s->o, at, got, t),
                "%s: element %lld, order %d, fused %d: %a, right is %a + %a within %a", text,
                (long long)at, (int)ways[w].order, ways[w].fused, got, s->o.value[at],
                s->o.tail[at], s->o.bound[at]);
        }
}

/* --- the simulation --------------------------------------------------------------------------
 */

static const struct {
    const char *variant, *dtype;
    int longest;
} kinds[] = {
    {"naive", "f32", 1000},          {"naive", "f16", 1000},     {"naive", "bf16", 1000},
    {"splitk", "f32", 1000},         {"splitk", "f16", 1000},    {"splitk", "bf16", 1000},
    {"splitk16", "f16", 1000},       {"splitk16", "bf16", 1000}, {"mma", "f16", 1000},
    {"mma", "bf16", 1000},           {"mma", "tf32", 1000},      {"mma", "f16,acc=f16", 300},
    {"regtile", "bf16,batch=2", 60},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static const char *const modes[] = {"default", "strict", "flush", "approx"};
static const char *const epilogues[] = {
    "alpha=1",          "alpha=0.3", "alpha=-1.7,beta=0.6",
    "alpha=-1,beta=-1", "alpha=0",   "alpha=1e-40,beta=1e30"};
static const int lengths[] = {1, 2, 7, 33, 100, 257};

START_TEST(legal_ways_stay_inside)
{
    struct tally t = {0};
    for (int v = 0; v < KINDS; v++)
        for (int k = 0; k < 6; k++)
            for (int e = 0; e < 6; e += 1 + k / 4) {
                char text[CASEID_TEXT_MAX];
                struct scene s;
                snprintf(text, sizeof text,
                         "gemm/%s:dtype=%s,m=7,n=9,k=%d,%s,dist=%s,seed=%d,mode=%s",
                         kinds[v].variant, kinds[v].dtype, lengths[k], epilogues[e],
                         dist_name((enum dist)_i), 1 + k, modes[(v + k + e) % 4]);
                if (lengths[k] > kinds[v].longest)
                    continue;
                scene_init(&s, text);
                scene_run(&s, text, &t);
                scene_release(&s);
            }
    ck_assert_int_gt(t.judged + t.special, 60000);
    if (_i != DIST_WIDE && _i != DIST_SPECIAL)
        ck_assert_int_lt(t.unjudged, t.judged / 4);
    if (_i != DIST_ZERO)
        ck_assert_double_gt(t.worst, 0.05);
}
END_TEST

/* Bounds that are far too wide would catch nothing: where the loss of the last term, a scale of
 * 1 + 2^-10 or twice the bound is planted, the element must be wrong. */
START_TEST(planted_faults_fall_outside)
{
    static const char *const ids[] = {
        "gemm/naive:m=16,n=16,k=64",
        "gemm/naive:m=16,n=16,k=1000",
        "gemm/tiled:dtype=f16,m=16,n=16,k=64",
        "gemm/tiled:dtype=bf16,m=16,n=16,k=200",
        "gemm/splitk:m=16,n=16,k=4099,split=16",
        "gemm/naive:m=16,n=16,k=50,alpha=-1.7,beta=0.6",
        "gemm/tiled:m=16,n=16,k=96,dist=cancel",
        "gemm/tiled:m=16,n=16,k=96,dist=subnormal",
        "gemm/splitk16:dtype=bf16,m=16,n=16,k=200",
        "gemm/mma:dtype=f16,m=16,n=16,k=200",
        "gemm/mma:dtype=bf16,m=16,n=16,k=200",
        "gemm/mma:dtype=tf32,m=16,n=16,k=200",
    };
    const struct way plain = {FORWARD, true, false, false, false, 1};
    struct scene s;
    scene_init(&s, ids[_i]);
    int64_t claimed = 0;
    for (int64_t at = 0; at < s.o.count; at++) {
        struct tally t = {0};
        double right = device_value(&s, &plain, at);
        ck_assert(is_right(&s.o, at, right, &t));
        if (!isfinite(s.o.bound[at]))
            continue;
        ck_assert(!is_right(&s.o, at, s.o.value[at] + 2 * s.o.bound[at], &t));
        ck_assert(!is_right(&s.o, at, s.o.value[at] - 2 * s.o.bound[at], &t));
        ck_assert(!is_right(&s.o, at, (double)NAN, &t));
        ck_assert(!is_right(&s.o, at, (double)INFINITY, &t));

        int64_t last = s.g.k - 1, i = at / s.g.n, j = at % s.g.n;
        double term = (double)s.g.alpha * s.a[i * s.g.k + last] * s.b[j * s.g.k + last];
        if (fabs(term) <= 2 * s.o.bound[at])
            continue;
        claimed++;
        ck_assert(s.o.drop[at] >= fabs(term));
        ck_assert(!is_right(&s.o, at, right - term, &t));
    }
    ck_assert_int_gt(claimed, s.o.count / 8);
    scene_release(&s);
}
END_TEST

/* Certain overflows are judged as such: one term, and all terms of one sign. */
START_TEST(overflow_is_judged_when_certain)
{
    struct gemm g = {.in = DTYPE_F32, .out = DTYPE_F32, .acc = DTYPE_F32, .k = 3, .alpha = 1};
    g.split = 1;
    struct gemm_sum big = {.value = 1e39, .magnitude = 1e39, .walk = 1e39};
    struct gemm_element r = gemm_reference(&g, &big, 0);
    ck_assert(r.value == (double)INFINITY && isfinite(r.bound));

    struct gemm_sum mixed = {.value = 1e39, .magnitude = 3e39, .walk = 3e39};
    ck_assert(isinf(gemm_reference(&g, &mixed, 0).bound));
    struct gemm_sum edge = {.value = FLT_MAX, .magnitude = FLT_MAX, .walk = FLT_MAX};
    ck_assert(isinf(gemm_reference(&g, &edge, 0).bound));
    struct gemm_sum fine = {.value = -1e38, .magnitude = 1e38, .walk = 1e38};
    r = gemm_reference(&g, &fine, 0);
    ck_assert(r.value == -1e38 && isfinite(r.bound) && r.bound < 1e32);

    g.in = g.out = DTYPE_F16;
    struct gemm_sum over = {.value = -65521, .magnitude = 65521, .walk = 65521};
    r = gemm_reference(&g, &over, 0);
    ck_assert(r.value == -(double)INFINITY && isfinite(r.bound));
    over.value = 65519.995;
    ck_assert(isinf(gemm_reference(&g, &over, 0).bound));
    over.value = 65400;
    ck_assert(isfinite(gemm_reference(&g, &over, 0).bound));
}
END_TEST

/* Special values in every place of a short sum; the device is IEEE f32. */
START_TEST(special_values_meet_ieee)
{
    static const float values[] = {0,        -0.0f, 1,        -2,        0x1p-149f, FLT_MAX,
                                   -FLT_MAX, 3.5f,  INFINITY, -INFINITY, NAN};
    enum { N = sizeof values / sizeof values[0] };
    struct scene s;
    struct tally t = {0};
    struct way ways[64];
    const int64_t size = N * N;
    scene_init(&s, "gemm/naive:m=121,n=121,k=2");
    for (int64_t i = 0; i < size; i++)
        for (int l = 0; l < 2; l++) {
            float x = values[l ? i / N : i % N];
            uint64_t bits = dtype_round(DTYPE_F32, (double)x);
            s.a[i * 2 + l] = s.b[i * 2 + l] = x;
            tensor_set_bits(&s.input[GEMM_A], i * 2 + l, bits);
            tensor_set_bits(&s.input[GEMM_B], l * size + i, bits);
        }
    const struct tensor *at[] = {&s.input[GEMM_A], &s.input[GEMM_B], NULL};
    oracle_release(&s.o);
    ck_assert(!s.id.family->oracle(&s.id, &s.plan, at, GEMM_C, 1, &s.o, NULL));
    int n = ways_of(&s.g, true, ways);
    for (int w = 0; w < n; w++)
        for (int64_t e = 0; e < s.o.count; e++)
            ck_assert_msg(is_right(&s.o, e, device_value(&s, &ways[w], e), &t),
                          "(%g %g) . (%g %g)", (double)s.a[e / size * 2],
                          (double)s.a[e / size * 2 + 1], (double)s.b[e % size * 2],
                          (double)s.b[e % size * 2 + 1]);
    ck_assert_int_gt(t.special, t.unjudged);
    scene_release(&s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("gemm_bound");
    TCase *c = tcase_create("bound");
    tcase_add_loop_test(c, legal_ways_stay_inside, 0, DIST_COUNT_);
    tcase_add_loop_test(c, planted_faults_fall_outside, 0, 12);
    tcase_add_test(c, overflow_is_judged_when_certain);
    tcase_add_test(c, special_values_meet_ieee);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
