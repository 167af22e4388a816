/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "gemmplay.h"
#include "suite.h"

/* Bounds by simulation: f32 arithmetic in many legal ways, over far more dot products than any
 * suite has, must stay inside; planted faults must fall outside wherever a case claims power.
 */

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

struct products {
    struct scene c;
    struct gemm g;
    float *a, *b; /* rows and columns of all matrices, k each */
};

static void products_open(struct products *s, const char *text)
{
    scene_open(&s->c, text);
    gemm_decode(&s->c.id, &s->g);
    s->c.o = scene_oracle_at(&s->c, GEMM_C, 2);
    int64_t rows = s->g.batch * s->g.m, columns = s->g.batch * s->g.n, k = s->g.k;
    s->a = calloc((size_t)(rows * k + 1), sizeof *s->a);
    s->b = calloc((size_t)(columns * k + 1), sizeof *s->b);
    for (int64_t l = 0; l < k; l++) {
        for (int64_t i = 0; i < rows; i++)
            s->a[i * k + l] = (float)gemm_operand(&s->c, GEMM_A, i / s->g.m, i % s->g.m, l);
        for (int64_t j = 0; j < columns; j++)
            s->b[j * k + l] = (float)gemm_operand(&s->c, GEMM_B, j / s->g.n, j % s->g.n, l);
    }
}

static void products_close(struct products *s)
{
    scene_release(&s->c);
    free(s->a);
    free(s->b);
}

static double device_value(const struct products *s, const struct way *w, int64_t at)
{
    int64_t i = at / s->g.n, j = i / s->g.m * s->g.n + at % s->g.n;
    struct sums sums = {w, &s->g, s->a + i * s->g.k, s->b + j * s->g.k};
    float c = s->g.beta != 0 ? (float)tensor_value(&s->c.input[GEMM_C], at) : 0;
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

static void products_run(const struct products *s, const char *text, struct tally *t)
{
    struct way ways[64];
    int n = ways_of(&s->g, s->c.id.mode.contract, ways);
    for (int w = 0; w < n; w++)
        for (int64_t at = 0; at < s->c.o.count; at++) {
            double got = device_value(s, &ways[w], at);
            if (!is_right(&s->c.o, at, got, t)) /* Check's own macros write to a pipe each time */
                ck_abort_msg(
                    "%s: element %lld, order %d, fused %d: %a, right is %a + %a within %a", text,
                    (long long)at, (int)ways[w].order, ways[w].fused, got, s->c.o.value[at],
                    s->c.o.tail[at], s->c.o.bound[at]);
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
                struct products s;
                snprintf(text, sizeof text,
                         "gemm/%s:dtype=%s,m=7,n=9,k=%d,%s,dist=%s,seed=%d,mode=%s",
                         kinds[v].variant, kinds[v].dtype, lengths[k], epilogues[e],
                         dist_name((enum dist)_i), 1 + k, modes[(v + k + e) % 4]);
                if (lengths[k] > kinds[v].longest)
                    continue;
                products_open(&s, text);
                products_run(&s, text, &t);
                products_close(&s);
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
    struct products s;
    products_open(&s, ids[_i]);
    int64_t claimed = 0;
    for (int64_t at = 0; at < s.c.o.count; at++) {
        struct tally t = {0};
        double right = device_value(&s, &plain, at);
        ck_assert(is_right(&s.c.o, at, right, &t));
        if (!isfinite(s.c.o.bound[at]))
            continue;
        ck_assert(!is_right(&s.c.o, at, s.c.o.value[at] + 2 * s.c.o.bound[at], &t));
        ck_assert(!is_right(&s.c.o, at, s.c.o.value[at] - 2 * s.c.o.bound[at], &t));
        ck_assert(!is_right(&s.c.o, at, (double)NAN, &t));
        ck_assert(!is_right(&s.c.o, at, (double)INFINITY, &t));

        int64_t last = s.g.k - 1, i = at / s.g.n, j = at % s.g.n;
        double term = (double)s.g.alpha * s.a[i * s.g.k + last] * s.b[j * s.g.k + last];
        if (fabs(term) <= 2 * s.c.o.bound[at])
            continue;
        claimed++;
        ck_assert(s.c.o.drop[at] >= fabs(term));
        ck_assert(!is_right(&s.c.o, at, right - term, &t));
    }
    ck_assert_int_gt(claimed, s.c.o.count / 8);
    products_close(&s);
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
    struct products s;
    struct tally t = {0};
    struct way ways[64];
    const int64_t size = N * N;
    products_open(&s, "gemm/naive:m=121,n=121,k=2");
    for (int64_t i = 0; i < size; i++)
        for (int l = 0; l < 2; l++) {
            float x = values[l ? i / N : i % N];
            uint64_t bits = dtype_round(DTYPE_F32, (double)x);
            s.a[i * 2 + l] = s.b[i * 2 + l] = x;
            tensor_set_bits(&s.c.input[GEMM_A], i * 2 + l, bits);
            tensor_set_bits(&s.c.input[GEMM_B], l * size + i, bits);
        }
    const struct tensor *at[] = {&s.c.input[GEMM_A], &s.c.input[GEMM_B], NULL};
    oracle_release(&s.c.o);
    ck_assert(!case_oracle(&s.c.id, &s.c.plan, at, GEMM_C, 1, &s.c.o, NULL));
    int n = ways_of(&s.g, true, ways);
    for (int w = 0; w < n; w++)
        for (int64_t e = 0; e < s.c.o.count; e++)
            if (!is_right(&s.c.o, e, device_value(&s, &ways[w], e), &t))
                ck_abort_msg("(%g %g) . (%g %g)", (double)s.a[e / size * 2],
                             (double)s.a[e / size * 2 + 1], (double)s.b[e % size * 2],
                             (double)s.b[e % size * 2 + 1]);
    ck_assert_int_gt(t.special, t.unjudged);
    products_close(&s);
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
    return suite_run(s);
}
