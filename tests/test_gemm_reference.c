/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <stdlib.h>

#include "gemmplay.h"
#include "suite.h"

/* The reference of GEMM, against exact sums in MPFR. */

/* 4096 bits hold every sum of products exactly: f32 products span 2^-298 to 2^256. */
enum { EXACT_BITS = 4096 };

static const char *const exact_ids[] = {
    "gemm/naive:m=7,n=19,k=33",
    "gemm/naive:m=3,n=35,k=130,dist=wide",
    "gemm/naive:m=9,n=17,k=64,dist=cancel,alpha=-0.3,beta=1.7",
    "gemm/naive:m=8,n=16,k=50,dist=subnormal",
    "gemm/naive:m=8,n=16,k=50,dist=subnormal,alpha=1e-40,beta=1e-45",
    "gemm/naive:m=8,n=16,k=50,dist=lognormal,alpha=3e38,beta=-3e38",
    "gemm/tiled:dtype=f16,m=17,n=15,k=31,ta=1,dist=wide",
    "gemm/tiled:dtype=f16,m=5,n=33,k=100,tb=1,dist=ties,beta=0.1",
    "gemm/tiled:dtype=bf16,m=17,n=15,k=31,ta=1,tb=1,dist=wide",
    "gemm/tiled:dtype=bf16,m=16,n=16,k=77,dist=cancel",
    "gemm/splitk:dtype=bf16,m=16,n=16,k=77,dist=positive",
    "gemm/naive:dtype=i8,m=11,n=21,k=1000,dist=uniform",
    "gemm/naive:m=4,n=4,k=0,beta=0.3",
    "gemm/naive:m=1,n=1,k=1",
    "gemm/naive:m=2,n=3,k=5000,dist=positive",
    "gemm/regtile:m=5,n=6,k=7,batch=3,pad=5,ta=1",
    "gemm/mma:dtype=tf32,m=17,n=5,k=20,batch=2,beta=0.5,tb=1,pad=1",
    "gemm/mma:dtype=f16,acc=f16,m=17,n=5,k=20",
    "gemm/splitk16:dtype=bf16,m=9,n=5,k=70,batch=2,split=3,alpha=2",
};

/* Terms [first, last) of element `at` of C; the epilogue too if `whole`. */
static void exact_element(const struct scene *w, const struct gemm *g, int64_t at,
                          int64_t first, int64_t last, bool whole, mpfr_t sum, mpfr_t magnitude)
{
    int64_t z = at / (g->m * g->n), i = at / g->n % g->m, j = at % g->n;
    mpfr_t p;
    mpfr_init2(p, EXACT_BITS);
    mpfr_set_zero(sum, 1);
    mpfr_set_zero(magnitude, 1);
    for (int64_t l = first; l < last; l++) {
        mpfr_set_d(p, gemm_operand(w, GEMM_A, z, i, l), MPFR_RNDN);
        mpfr_mul_d(p, p, gemm_operand(w, GEMM_B, z, j, l), MPFR_RNDN);
        mpfr_add(sum, sum, p, MPFR_RNDN);
        mpfr_abs(p, p, MPFR_RNDN);
        mpfr_add(magnitude, magnitude, p, MPFR_RNDN);
    }
    if (whole) {
        mpfr_mul_d(sum, sum, (double)g->alpha, MPFR_RNDN);
        mpfr_mul_d(magnitude, magnitude, fabs((double)g->alpha), MPFR_RNDN);
    }
    if (whole && g->beta != 0) {
        mpfr_set_d(p, tensor_value(w->at[GEMM_C], at), MPFR_RNDN);
        mpfr_mul_d(p, p, (double)g->beta, MPFR_RNDN);
        mpfr_add(sum, sum, p, MPFR_RNDN);
        mpfr_abs(p, p, MPFR_RNDN);
        mpfr_add(magnitude, magnitude, p, MPFR_RNDN);
    }
    mpfr_clear(p);
}

static void ck_exact(const struct oracle *o, int64_t at, mpfr_t sum, mpfr_t magnitude)
{
    if (isinf(o->value[at])) {
        ck_assert(mpfr_sgn(sum) * o->value[at] > 0);
        ck_assert_double_ge(fabs(mpfr_get_d(sum, MPFR_RNDN)), 65519);
        return;
    }
    double scale = mpfr_get_d(magnitude, MPFR_RNDN);
    ck_assert_double_le(fabs(o->scale[at] - scale), 1e-12 * scale);
    mpfr_sub_d(sum, sum, o->value[at], MPFR_RNDN);
    mpfr_sub_d(sum, sum, o->tail[at], MPFR_RNDN);
    double error = fabs(mpfr_get_d(sum, MPFR_RNDA));
    ck_assert_msg(error <= o->error[at], "element %lld is off by %a, claimed %a", (long long)at,
                  error, o->error[at]);
    ck_assert(o->error[at] <= 0x1p-20 * o->bound[at]);
}

START_TEST(reference_is_exact_within_its_error)
{
    struct scene w;
    struct gemm g;
    scene_open(&w, exact_ids[_i]);
    gemm_decode(&w.id, &g);
    struct oracle o = scene_oracle_at(&w, GEMM_C, 1);
    ck_assert_int_eq(o.count, g.batch * g.m * g.n);
    mpfr_t sum, magnitude;
    mpfr_inits2(EXACT_BITS, sum, magnitude, (mpfr_ptr)0);
    for (int64_t at = 0; at < o.count; at++) {
        exact_element(&w, &g, at, 0, g.k, true, sum, magnitude);
        ck_exact(&o, at, sum, magnitude);
    }
    mpfr_clears(sum, magnitude, (mpfr_ptr)0);
    oracle_release(&o);
    scene_release(&w);
}
END_TEST

/* The sums that split-K leaves behind are outputs too: without the epilogue, narrow ones a
 * range each. */
START_TEST(partial_sums_are_exact_within_their_error)
{
    static const char *const ids[] = {
        "gemm/splitk:dtype=f16,m=9,n=5,k=70,batch=2,split=3,alpha=2,beta=1",
        "gemm/splitk16:dtype=bf16,m=9,n=5,k=70,batch=2,split=3,alpha=2,beta=1",
        "gemm/splitk16:dtype=f16,m=3,n=3,k=5,split=4,ta=1,pad=3",
    };
    struct scene w;
    struct gemm g;
    scene_open(&w, ids[_i]);
    gemm_decode(&w.id, &g);
    bool narrow = g.sums == GEMM_NARROW;
    int64_t count = g.batch * g.m * g.n, chunk = narrow ? (g.k + g.split - 1) / g.split : g.k;
    struct oracle o = scene_oracle_at(&w, GEMM_SUM, 2);
    ck_assert_int_eq(o.count, narrow ? g.split * count : count);
    mpfr_t sum, magnitude;
    mpfr_inits2(EXACT_BITS, sum, magnitude, (mpfr_ptr)0);
    for (int64_t at = 0; at < o.count; at++) {
        int64_t first = at / count * chunk, last = first + chunk < g.k ? first + chunk : g.k;
        exact_element(&w, &g, at % count, first, last, false, sum, magnitude);
        ck_exact(&o, at, sum, magnitude);
    }
    mpfr_clears(sum, magnitude, (mpfr_ptr)0);
    oracle_release(&o);
    scene_release(&w);
}
END_TEST

START_TEST(reference_does_not_depend_on_threads)
{
    struct scene w;
    scene_open(&w, "gemm/naive:m=37,n=45,k=60,dist=special,beta=0.5");
    struct oracle one = scene_oracle_at(&w, GEMM_C, 1);
    for (int threads = 2; threads < 80; threads += 19) {
        struct oracle more = scene_oracle_at(&w, GEMM_C, threads);
        size_t size = (size_t)one.count * sizeof(double);
        ck_assert(!memcmp(one.value, more.value, size) && !memcmp(one.tail, more.tail, size));
        ck_assert(!memcmp(one.bound, more.bound, size) && !memcmp(one.drop, more.drop, size));
        oracle_release(&more);
    }
    oracle_release(&one);
    scene_release(&w);
}
END_TEST

/* A case can only be trusted if the loss of one typical term shows somewhere. */
START_TEST(cases_have_power)
{
    static const char *const family[] = {"gemm"};
    struct caselist l;
    ck_assert(!caselist_select(&l, 1, family, "quick,full", NULL));
    for (int64_t n = 0; n < l.count; n++) {
        char text[CASEID_TEXT_MAX];
        struct scene w;
        caseid_print(&l.id[n], text);
        scene_open(&w, text);
        struct oracle o = scene_oracle_at(&w, GEMM_C, 2);
        int64_t caught = 0, judged = 0;
        for (int64_t i = 0; i < o.count; i++) {
            judged += isfinite(o.bound[i]);
            caught += o.drop[i] > 2 * o.bound[i];
        }
        ck_assert_msg(caught > 0 && judged > o.count / 2,
                      "%s: %lld of %lld judged, %lld caught", text, (long long)judged,
                      (long long)o.count, (long long)caught);
        oracle_release(&o);
        scene_release(&w);
    }
    caselist_release(&l);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("gemm_reference");
    TCase *c = tcase_create("gemm_reference");
    tcase_add_loop_test(c, reference_is_exact_within_its_error, 0,
                        sizeof exact_ids / sizeof exact_ids[0]);
    tcase_add_loop_test(c, partial_sums_are_exact_within_their_error, 0, 3);
    tcase_add_test(c, reference_does_not_depend_on_threads);
    tcase_add_test(c, cases_have_power);
    suite_add_tcase(s, c);
    return suite_run(s);
}
