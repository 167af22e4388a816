/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gemmplay.h"
#include "kerneltext.h"
#include "suite.h"

static double element_a(const struct scene *w, int64_t i, int64_t l)
{
    return gemm_operand(w, GEMM_A, 0, i, l);
}

static double element_b(const struct scene *w, int64_t l, int64_t j)
{
    return gemm_operand(w, GEMM_B, 0, j, l);
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

int main(void)
{
    Suite *s = suite_create("gemm");
    TCase *c = tcase_create("gemm");
    tcase_add_test(c, plan_of_a_plain_case);
    tcase_add_test(c, plan_of_transposes);
    tcase_add_test(c, transposes_hold_the_same_numbers);
    tcase_add_test(c, plan_of_a_split);
    tcase_add_test(c, plan_of_a_batch);
    tcase_add_test(c, entries_exist_in_the_kernel_files);
    tcase_add_loop_test(c, input_digests_are_pinned, 0, sizeof pinned / sizeof pinned[0]);
    tcase_add_test(c, inputs_ignore_variant_and_mode);
    suite_add_tcase(s, c);
    return suite_run(s);
}
