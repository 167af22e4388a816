/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cases/optim8bit/optim8bit.h"
#include "scene.h"
#include "suite.h"

/* LLM.int8 and the 4-bit GEMV: references by other routes, bounds against simulated devices. */

/* round(127 x / max) in integers: x and max of f16 are whole multiples of 2^-24. */
static long exact_code(double x, double most)
{
    long long a = llabs((long long)(x * 0x1p24)) * 127, b = (long long)(most * 0x1p24);
    long long q = a / b, twice = 2 * (a % b);
    if (twice > b || (twice == b && q % 2))
        q++;
    return x < 0 ? -(long)q : (long)q;
}

/* The definition multiplies by a rounded 127/max: only near a half may that differ from the
 * exact quotient, and by one. */
START_TEST(integers_are_those_of_the_exact_quotient)
{
    static const char *const ids[] = {"optim8bit/int8:m=20,n=5,k=300",
                                      "optim8bit/int8:m=20,n=5,k=300,dist=lognormal"};
    struct scene w;
    scene_open(&w, ids[_i]);
    struct oracle q = scene_oracle_of(&w, "qa"), stat = scene_oracle_of(&w, "stat_a");
    const struct tensor *a = scene_tensor(&w, "a");
    int off = 0;
    for (int row = 0; row < 20; row++) {
        double most = 0;
        for (int k = 0; k < 300; k++)
            most = fmax(most, fabs(tensor_value(a, row * 300 + k)));
        ck_assert(stat.value[row] == most && stat.bound[row] == 0);
        for (int k = 0; k < 300; k++) {
            double x = tensor_value(a, row * 300 + k), y = q.value[row * 300 + k];
            long want = exact_code(x, most);
            double rest = fabs(fabs(127 * x / most - floor(127 * x / most)) - 0.5);
            ck_assert(q.bound[row * 300 + k] == 0);
            ck_assert_msg(y == (double)want || (rest < 1e-4 && fabs(y - (double)want) == 1),
                          "[%d,%d] %g: %g, exact %ld", row, k, x, y, want);
            off += y != (double)want;
        }
    }
    ck_assert_int_lt(off, 30);
    oracle_release(&q);
    oracle_release(&stat);
    scene_release(&w);
}
END_TEST

START_TEST(products_are_exact_and_epilogue_follows)
{
    struct scene w;
    scene_open(&w, "optim8bit/int8:m=9,n=11,k=257,threshold=1.5");
    struct oracle qa = scene_oracle_of(&w, "qa"), qw = scene_oracle_of(&w, "qw"),
                  acc = scene_oracle_of(&w, "acc"), y = scene_oracle_of(&w, "y"),
                  sa = scene_oracle_of(&w, "stat_a"), sw = scene_oracle_of(&w, "stat_w");
    mpfr_t x, f;
    mpfr_inits2(24, x, f, NULL);
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 11; j++) {
            long sum = 0;
            for (int k = 0; k < 257; k++)
                sum += (long)qa.value[i * 257 + k] * (long)qw.value[j * 257 + k];
            ck_assert(acc.value[i * 11 + j] == (double)sum && acc.bound[i * 11 + j] == 0);
            mpfr_set_si(x, sum, MPFR_RNDN);
            mpfr_mul_d(x, x, sa.value[i], MPFR_RNDN);
            mpfr_mul_d(x, x, sw.value[j], MPFR_RNDN);
            mpfr_set_flt(f, 6.200012e-05f, MPFR_RNDN);
            mpfr_t b;
            mpfr_init2(b, 24);
            mpfr_set_d(b, tensor_value(scene_tensor(&w, "bias"), j), MPFR_RNDN);
            mpfr_fma(x, x, f, b, MPFR_RNDN);
            double want =
                dtype_value(DTYPE_F16, dtype_round(DTYPE_F16, mpfr_get_d(x, MPFR_RNDN)));
            ck_assert(y.value[i * 11 + j] == want && y.bound[i * 11 + j] == 0);
            mpfr_clear(b);
        }
    const struct tensor *a = scene_tensor(&w, "a");
    for (int i = 0; i < 9 * 257; i++)
        if (fabs(tensor_value(a, i)) >= 1.5)
            ck_assert(qa.value[i] == 0);
    mpfr_clears(x, f, NULL);
    oracle_release(&qa);
    oracle_release(&qw);
    oracle_release(&acc);
    oracle_release(&y);
    oracle_release(&sa);
    oracle_release(&sw);
    scene_release(&w);
}
END_TEST

/* A fast division on halves: every flip is witnessed, and the sums' freedom covers them. */
START_TEST(flips_are_witnessed_and_carried_into_sums)
{
    struct scene w;
    scene_open(&w, "optim8bit/int8:m=12,n=10,k=500,dist=ties,mode=fastdiv");
    struct oracle qa = scene_oracle_of(&w, "qa"), qw = scene_oracle_of(&w, "qw"),
                  acc = scene_oracle_of(&w, "acc"), sa = scene_oracle_of(&w, "stat_a"),
                  sw = scene_oracle_of(&w, "stat_w");
    static long a[12 * 500], b[10 * 500];
    int flips = 0;
    for (int side = 0; side < 2; side++) {
        struct oracle *q = side ? &qw : &qa, *s = side ? &sw : &sa;
        const struct tensor *x = scene_tensor(&w, side ? "w" : "a");
        for (int i = 0; i < (side ? 10 : 12) * 500; i++) {
            float r = 127 / (float)s->value[i / 500];
            r = i / 500 % 2 ? nextafterf(r, 1000) : nextafterf(r, 0);
            long got = lrintf((float)tensor_value(x, i) * r);
            (side ? b : a)[i] = got;
            ck_assert(fabs((double)got - q->value[i]) <= q->bound[i]);
            ck_assert(fabs((double)got + 2 - q->value[i]) > q->bound[i]);
            flips += got != lrint(q->value[i]);
        }
    }
    ck_assert_int_gt(flips, 1000);
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < 10; j++) {
            long sum = 0;
            for (int k = 0; k < 500; k++)
                sum += a[i * 500 + k] * b[j * 500 + k];
            ck_assert(fabs((double)sum - acc.value[i * 10 + j]) <= acc.bound[i * 10 + j]);
        }
    oracle_release(&qa);
    oracle_release(&qw);
    oracle_release(&acc);
    oracle_release(&sa);
    oracle_release(&sw);
    scene_release(&w);
}
END_TEST

/* --- gemv4 -----------------------------------------------------------------------------------
 */

static float rounded(enum dtype d, float x)
{
    return (float)dtype_value(d, dtype_round(d, (double)x));
}

/* A device: products rounded (or, in f32, fused at random), terms in random order. */
static float device_element(const struct scene *w, enum dtype d, int i, int k, int block,
                            uint64_t draw)
{
    struct book b;
    struct rng_key key = rng_key_make(draw, "order");
    float sum[8] = {0}, total = 0;
    book_make(book_of(&w->id), &b);
    for (int l = 0; l < k; l++) {
        int n = (int)w->id.value[P_N].i, at = i % n * k + l, from = i / n * k;
        int code = (int)(tensor_bits(scene_tensor(w, "code"), at / 2) >> (at % 2 ? 0 : 4) & 15);
        float scale = rounded(d, (float)tensor_value(scene_tensor(w, "absmax"), at / block));
        volatile float v = rounded(d, b.value[code]) * scale;
        v = rounded(d, v);
        float a = (float)tensor_value(scene_tensor(w, "a"), from + l);
        uint64_t r = rng_bits(key, (uint64_t)at, 0);
        volatile float p = a * v;
        p = rounded(d, p);
        sum[r % 8] = d == DTYPE_F32 && r >> 63 ? fmaf(a, v, sum[r % 8]) : sum[r % 8] + p;
    }
    for (int s = 0; s < 8; s++)
        total += sum[s];
    return rounded(d, total);
}

START_TEST(gemv_bounds_hold_and_are_not_idle)
{
    static const char *const ids[] = {
        "optim8bit/gemv4:n=64,k=128,block=32,book=nf4",
        "optim8bit/gemv4:dtype=f16,n=64,k=128,block=64,book=fp4",
        "optim8bit/gemv4:dtype=bf16,n=64,k=128,block=64,book=nf4",
        "optim8bit/gemm4:dtype=bf16,m=4,n=16,k=128,block=64,book=fp4",
        "optim8bit/gemv4:dtype=f16,n=64,k=128,block=64,book=nf4,dist=lognormal",
    };
    struct scene w;
    scene_open(&w, ids[_i]);
    struct oracle o = scene_oracle_of(&w, "y");
    double used = 0;
    for (int repeat = 0; repeat < 20; repeat++)
        for (int row = 0; row < 64; row++) {
            double got = (double)device_element(&w, dtype_of(&w.id), row, 128,
                                            (int)w.id.value[P_BLOCK].i, (uint64_t)repeat);
            double error = fabs(got - o.value[row] - o.tail[row]);
            ck_assert_msg(error <= o.bound[row], "row %d: %g of %g", row, error, o.bound[row]);
            used = fmax(used, error / o.bound[row]);
        }
    ck_assert_msg(used > 0.02, "at most %g of the bound is used", used);
    int powerful = 0;
    for (int row = 0; row < 64; row++)
        powerful += o.drop[row] > 2 * o.bound[row];
    if (_i < 4) /* with a heavy tail the last term is seldom typical */
        ck_assert_int_gt(powerful, 8);
    oracle_release(&o);
    scene_release(&w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("optim8bit_int8");
    TCase *t = tcase_create("int8");
    tcase_add_loop_test(t, integers_are_those_of_the_exact_quotient, 0, 2);
    tcase_add_test(t, products_are_exact_and_epilogue_follows);
    tcase_add_test(t, flips_are_witnessed_and_carried_into_sums);
    suite_add_tcase(s, t);
    t = tcase_create("gemv4");
    tcase_add_loop_test(t, gemv_bounds_hold_and_are_not_idle, 0, 5);
    suite_add_tcase(s, t);
    return suite_run(s);
}
