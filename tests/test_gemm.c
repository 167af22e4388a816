/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cases/gemm/gemm.h"
#include "kerneltext.h"
#include "scene.h"

/* Element (i, l) of matrix z, contracted index l, looked up apart from the family's formulas.
 */
static double element(const struct scene *w, int which, int64_t z, int64_t i, int64_t l)
{
    const struct tensor *t = w->at[which];
    const struct case_tensor *plan = &w->plan.tensor[which];
    int64_t rows = t->dim[t->rank - 2], columns = t->dim[t->rank - 1];
    int64_t within = plan->axis == t->rank - 1 ? i * columns + l : l * columns + i;
    return tensor_value(t, z * rows * columns + within);
}

static double element_a(const struct scene *w, int64_t i, int64_t l)
{
    return element(w, GEMM_A, 0, i, l);
}

static double element_b(const struct scene *w, int64_t l, int64_t j)
{
    return element(w, GEMM_B, 0, j, l);
}

/* --- the plan --------------------------------------------------------------------------------
 */

START_TEST(plan_of_a_plain_case)
{
    struct scene w;
    scene_open(&w, "gemm/tiled:dtype=bf16,m=65,n=129,k=200,alpha=0.5");
    ck_assert_int_eq(w.plan.n_tensor, 3);
    ck_assert_int_eq(w.plan.n_launch, 1);
    ck_assert_int_eq(w.plan.tensor[GEMM_C].role, TENSOR_OUT);
    ck_assert_int_eq(w.plan.tensor[GEMM_C].dtype, DTYPE_BF16);
    const struct case_launch *l = &w.plan.launch[0];
    ck_assert_str_eq(l->entry, "tiled_bf16");
    ck_assert_uint_eq(l->grid[0], 9);
    ck_assert_uint_eq(l->grid[1], 5);
    ck_assert_uint_eq(l->grid[2], 1);
    ck_assert_uint_eq(l->block[0] * l->block[1] * l->block[2], 256);
    const int64_t want[] = {65, 129, 200, 200, 1, 65 * 200, 129, 1, 200 * 129};
    ck_assert_int_eq(l->n_arg, 14);
    for (int i = 0; i < 3; i++)
        ck_assert(l->arg[i].kind == CASE_ARG_TENSOR && l->arg[i].tensor == i);
    for (int i = 0; i < 9; i++)
        ck_assert_int_eq(l->arg[3 + i].i, want[i]);
    ck_assert(l->arg[12].kind == CASE_ARG_F32 && l->arg[12].f == 0.5f && l->arg[13].f == 0);
    scene_release(&w);
}
END_TEST

START_TEST(plan_of_transposes)
{
    struct scene w;
    scene_open(&w, "gemm/naive:m=5,n=6,k=7,ta=1,tb=1,beta=2");
    const int64_t want[] = {1, 5, 35, 1, 7, 42};
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(w.plan.launch[0].arg[6 + i].i, want[i]);
    ck_assert(w.plan.tensor[GEMM_A].dim[0] == 7 && w.plan.tensor[GEMM_A].dim[1] == 5);
    ck_assert(w.plan.tensor[GEMM_B].dim[0] == 6 && w.plan.tensor[GEMM_B].dim[1] == 7);
    ck_assert_int_eq(w.plan.tensor[GEMM_C].role, TENSOR_INOUT);
    scene_release(&w);
}
END_TEST

/* The transposed storage holds the same matrix: only the layout differs. */
START_TEST(transposes_hold_the_same_numbers)
{
    struct scene n, t;
    scene_open(&n, "gemm/naive:m=5,n=6,k=7");
    scene_open(&t, "gemm/naive:m=5,n=6,k=7,ta=1,tb=1");
    for (int l = 0; l < 7; l++) {
        for (int i = 0; i < 5; i++)
            ck_assert(element_a(&n, i, l) == element_a(&t, i, l));
        for (int j = 0; j < 6; j++)
            ck_assert(element_b(&n, l, j) == element_b(&t, l, j));
    }
    scene_release(&n);
    scene_release(&t);
}
END_TEST

START_TEST(plan_of_a_split)
{
    struct scene w;
    scene_open(&w, "gemm/splitk:m=17,n=16,k=4099,split=16");
    ck_assert_int_eq(w.plan.n_launch, 1);
    ck_assert(w.plan.tensor[GEMM_C].zeroed);
    ck_assert_uint_eq(w.plan.launch[0].grid[2], 16);
    ck_assert_int_eq(w.plan.launch[0].arg[13].i, 257);
    scene_release(&w);

    scene_open(&w, "gemm/splitk:dtype=f16,m=17,n=16,k=99");
    ck_assert_int_eq(w.plan.n_launch, 2);
    ck_assert(!w.plan.tensor[GEMM_C].zeroed && w.plan.tensor[GEMM_SUM].zeroed);
    ck_assert_int_eq(w.plan.tensor[GEMM_SUM].dtype, DTYPE_F32);
    ck_assert_str_eq(w.plan.launch[1].entry, "splitk_finish_f16");
    ck_assert_uint_eq(w.plan.launch[1].grid[0], 2);
    scene_release(&w);
}
END_TEST

START_TEST(plan_of_a_batch)
{
    struct scene w;
    scene_open(&w, "gemm/mma:dtype=f16,acc=f16,m=17,n=33,k=9,batch=3,pad=2,tb=1");
    ck_assert_int_eq(w.plan.tensor[GEMM_A].rank, 3);
    ck_assert(w.plan.tensor[GEMM_A].dim[0] == 3 && w.plan.tensor[GEMM_A].dim[2] == 11);
    ck_assert(w.plan.tensor[GEMM_C].dim[1] == 17 && w.plan.tensor[GEMM_C].dim[2] == 33);
    const struct case_launch *l = &w.plan.launch[0];
    ck_assert_str_eq(l->entry, "mma_f16_f16");
    ck_assert_uint_eq(l->block[0], 32);
    ck_assert(l->grid[0] == 3 && l->grid[1] == 2 && l->grid[2] == 3);
    const int64_t want[] = {11, 1, 17 * 11, 1, 11, 33 * 11};
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(l->arg[6 + i].i, want[i]);
    scene_release(&w);

    scene_open(&w, "gemm/splitk16:dtype=bf16,m=17,n=33,k=100,batch=3,split=8");
    ck_assert_int_eq(w.plan.tensor[GEMM_SUM].dim[0], 24);
    ck_assert(!w.plan.tensor[GEMM_SUM].zeroed);
    ck_assert_uint_eq(w.plan.launch[0].grid[2], 24);
    ck_assert_str_eq(w.plan.launch[1].entry, "splitk16_finish_bf16");
    scene_release(&w);
}
END_TEST

/* Every entry that any suite or hidden variant launches is in the kernel file it names. */
START_TEST(entries_exist_in_the_kernel_files)
{
    const char *ids[] = {"gemm"};
    struct caselist l;
    ck_assert(!caselist_select(&l, 1, ids, "quick,full,stress", NULL));
    for (int64_t i = 0; i < l.count; i++) {
        struct case_plan plan;
        struct errinfo e = {0};
        char text[CASEID_TEXT_MAX], path[64], stem[64];
        caseid_print(&l.id[i], text);
        ck_assert_msg(!l.id[i].family->plan(&l.id[i], &plan, &e), "%s: %s", text, e.text);
        snprintf(path, sizeof path, "%s/%s", l.id[i].family->name, l.id[i].variant->source);
        const char *source = kernel_text_find(path);
        ck_assert_msg(source != NULL, "no kernel file %s", path);
        for (int n = 0; n < plan.n_launch; n++) {
            snprintf(stem, sizeof stem, "%s", plan.launch[n].entry);
            *strrchr(stem, '_') = 0; /* the format comes from a macro */
            if (strstr(plan.launch[n].entry, "_f16_f16"))
                *strrchr(stem, '_') = 0;
            ck_assert_msg(strstr(source, stem) != NULL, "%s: no %s in %s", text, stem, path);
        }
    }
    caselist_release(&l);
}
END_TEST

/* --- inputs: a promise for ever --------------------------------------------------------------
 */

static const struct {
    const char *id, *digest;
} pinned[] = {
#define DIGEST(id, hex) {id, hex},
#include "data/gemm_digests.def"
#undef DIGEST
};

START_TEST(input_digests_are_pinned)
{
    struct scene w;
    char hex[33];
    scene_open(&w, pinned[_i].id);
    ck_assert(!case_input_digest(&w.id, &w.plan, hex, NULL));
    ck_assert_msg(!strcmp(hex, pinned[_i].digest), "DIGEST(\"%s\", \"%s\") not %s",
                  pinned[_i].id, hex, pinned[_i].digest);
    scene_release(&w);
}
END_TEST

START_TEST(inputs_ignore_variant_and_mode)
{
    static const char *const same[] = {"gemm/naive:m=9", "gemm/splitk:m=9,split=7",
                                       "gemm/tiled:m=9,mode=fast"};
    static const char *const other[] = {"gemm/naive:m=9,seed=2", "gemm/naive:m=9,dist=uniform",
                                        "gemm/naive:m=9,dtype=f16", "gemm/naive:m=10",
                                        "gemm/naive:m=9,ta=1"};
    char want[33], hex[33];
    for (int i = 0; i < 3; i++) {
        struct scene w;
        scene_open(&w, same[i]);
        ck_assert(!case_input_digest(&w.id, &w.plan, i ? hex : want, NULL));
        ck_assert(i == 0 || !strcmp(hex, want));
        scene_release(&w);
    }
    for (int i = 0; i < 5; i++) {
        struct scene w;
        scene_open(&w, other[i]);
        ck_assert(!case_input_digest(&w.id, &w.plan, hex, NULL));
        ck_assert_msg(strcmp(hex, want) != 0, "%s", other[i]);
        scene_release(&w);
    }
}
END_TEST

/* --- the reference against exact sums in MPFR
 * ------------------------------------------------- */

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
        mpfr_set_d(p, element(w, GEMM_A, z, i, l), MPFR_RNDN);
        mpfr_mul_d(p, p, element(w, GEMM_B, z, j, l), MPFR_RNDN);
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
    Suite *s = suite_create("gemm");
    TCase *plan = tcase_create("plan");
    tcase_add_test(plan, plan_of_a_plain_case);
    tcase_add_test(plan, plan_of_transposes);
    tcase_add_test(plan, transposes_hold_the_same_numbers);
    tcase_add_test(plan, plan_of_a_split);
    tcase_add_test(plan, plan_of_a_batch);
    tcase_add_test(plan, entries_exist_in_the_kernel_files);
    tcase_add_loop_test(plan, input_digests_are_pinned, 0, sizeof pinned / sizeof pinned[0]);
    tcase_add_test(plan, inputs_ignore_variant_and_mode);
    suite_add_tcase(s, plan);

    TCase *reference = tcase_create("reference");
    tcase_add_loop_test(reference, reference_is_exact_within_its_error, 0,
                        sizeof exact_ids / sizeof exact_ids[0]);
    tcase_add_loop_test(reference, partial_sums_are_exact_within_their_error, 0, 3);
    tcase_add_test(reference, reference_does_not_depend_on_threads);
    tcase_add_test(reference, cases_have_power);
    suite_add_tcase(s, reference);

    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
