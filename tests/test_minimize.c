/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "likeness.h"
#include "minimize.h"
#include "suite.h"

/* minimize on planted faults of which the smallest showing is known by thought. */

static void search(struct minimize *m, struct device_choice device[2], const char *id,
                   int limit)
{
    struct errinfo e;
    int n;
    memset(m, 0, sizeof *m);
    ck_assert_int_eq(device_parse_list("cuda-sim,hip-sim", 2, device, &n, &e), 0);
    ck_assert_int_eq(caseid_parse(id, &m->id, &e), 0);
    m->device = device;
    m->threads = 1;
    m->limit = limit;
    m->trial = (struct trial){.code = RUN_CODE_GOLDEN, .timeout = 60};
    ck_assert_msg(minimize_search(m, &e) == 0, "%s", e.text);
}

static int64_t value_of(const struct minimize *m, const char *name)
{
    return m->id.value[family_param_find(m->id.family, name)].i;
}

static void expect_kind(const struct minimize *m, enum verdict v, enum cause c)
{
    const struct cause_claim *claim = finding_cause(&m->finding);
    ck_assert_int_eq(m->finding.verdict, v);
    ck_assert(claim && claim->cause == c);
}

/* A lost term shows in two products of one element: of one alone nothing would be left, which is
 * another kind of evidence. The first product may be zero. */
START_TEST(two_products_are_enough)
{
    static struct minimize m;
    struct device_choice device[2];
    search(&m, device, "gemm/fault_drop:dtype=f32,m=40,n=24,k=33", 0);
    expect_kind(&m, VERDICT_B_WRONG, CAUSE_LOCALISED);
    ck_assert_int_eq(value_of(&m, "m"), 1);
    ck_assert_int_eq(value_of(&m, "n"), 1);
    ck_assert_int_eq(value_of(&m, "k"), 2);
    ck_assert_int_eq(m.elements, 5);
    ck_assert_int_ge(m.nonzero, 2);
    ck_assert_ptr_nonnull(strstr(finding_cause(&m.finding)->evidence, "the last term of K"));
    minimize_release(&m);
}
END_TEST

/* Elements counted in 16 bits need more than 65536 of them, and no row or column less. */
START_TEST(a_boundary_stays)
{
    static struct minimize m;
    struct device_choice device[2];
    search(&m, device, "gemm/fault_wrap:dtype=f32,m=300,n=300,k=4", 60);
    expect_kind(&m, VERDICT_B_WRONG, CAUSE_OVERFLOW);
    int64_t rows = value_of(&m, "m"), columns = value_of(&m, "n");
    ck_assert_int_gt(rows * columns, 65536);
    ck_assert_int_le((rows - 1) * columns, 65536);
    ck_assert_int_le(rows * (columns - 1), 65536);
    ck_assert_int_le(value_of(&m, "k"), 1); /* what is not written needs no sum */
    minimize_release(&m);
}
END_TEST

/* Bits that an operand loses: without low bits in the inputs there is nothing to lose. */
START_TEST(values_that_matter_stay)
{
    static struct minimize m;
    struct device_choice device[2];
    search(&m, device, "gemm/fault_downcast:dtype=f32,m=20,n=24,k=33", 0);
    expect_kind(&m, VERDICT_B_WRONG, CAUSE_DOWNCAST);
    bool low = false;
    for (int t = 0; t < 2; t++)
        for (int64_t i = 0; i < m.input[t].count; i++)
            low |= (tensor_bits(&m.input[t], i) & 0x1fff) != 0;
    ck_assert(low);
    ck_assert_int_lt(m.elements, 40);
    minimize_release(&m);
}
END_TEST

START_TEST(equal_sides_are_left_alone)
{
    static struct minimize m;
    struct device_choice device[2];
    search(&m, device, "gemm/naive:dtype=f32,m=9,n=8,k=7", 0);
    ck_assert_int_eq(m.finding.verdict, VERDICT_SAME);
    ck_assert_int_eq(m.runs, 1);
    minimize_release(&m);
}
END_TEST

/* Both right, and different: the distributions need many elements, the operation in which the
 * sides part few. */
START_TEST(a_difference_without_fault)
{
    static struct minimize m;
    struct device_choice device[2];
    search(&m, device, "optim8bit/lion32:dtype=f32,n=1100,beta2=0.99,wd=0.03", 120);
    ck_assert_int_eq(m.many.verdict, VERDICT_DISTINGUISHABLE);
    ck_assert_ptr_nonnull(strstr(m.many.cause, "contraction"));
    ck_assert_int_eq(m.keep, MINIMIZE_OPERATION);
    ck_assert_int_eq(m.operation, DIVERGE_CONTRACTION);
    ck_assert_int_lt(value_of(&m, "n"), 20);
    ck_assert_int_eq(m.finding.a.status, RECORD_OK);
    int64_t differ = 0;
    for (int o = 0; o < m.result[0].n_out; o++)
        for (int64_t i = 0; i < m.result[0].out[o].tensor.count; i++)
            differ += tensor_bits(&m.result[0].out[o].tensor, i) !=
                      tensor_bits(&m.result[1].out[o].tensor, i);
    ck_assert_int_gt(differ, 0);
    minimize_release(&m);
}
END_TEST

static const struct {
    const char *x, *y;
    bool same;
} kinds[] = {
    {"97 of 1000 elements are wrong, scattered over 1 rows and 97 columns",
     "2 of 27 elements are wrong, scattered over 1 rows and 2 columns", true},
    {"97 of 1000 elements are wrong, scattered over 1 rows and 97 columns",
     "the wrong elements fill rows 0..0, columns 6..6 of 1 x 7", false},
    {"factor of 1.5e-07, c[16,16] is -3.5", "factor of inf, c[0,1] is 0x3f80", true},
    {"exp with 11 bits in bf16", "exp with 8 bits in bf16", true},
    {"sums kept in bf16", "sums kept in f16", false},
    {"information", "nformation", false},
};

START_TEST(kinds_of_sentences)
{
    char a[200], b[200];
    likeness_kind(kinds[_i].x, a, sizeof a);
    likeness_kind(kinds[_i].y, b, sizeof b);
    ck_assert_msg(!strcmp(a, b) == kinds[_i].same, "%s / %s", a, b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("minimize");
    TCase *c = tcase_create("minimize");
    suite_add_tcase(s, c);
    tcase_add_test(c, two_products_are_enough);
    tcase_add_test(c, a_boundary_stays);
    tcase_add_test(c, values_that_matter_stay);
    tcase_add_test(c, equal_sides_are_left_alone);
    tcase_add_test(c, a_difference_without_fault);
    tcase_add_loop_test(c, kinds_of_sentences, 0, (int)(sizeof kinds / sizeof *kinds));
    return suite_run(s);
}
