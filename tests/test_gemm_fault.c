/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planted.h"
#include "suite.h"

/* The planted faults of cases/gemm/fault.cu, compiled by both vendors' compilers and run on
 * both simulated devices: each must be found, on the right side and with the right cause. */

/* CAUSE_COUNT_: found, whatever the cause is called. */
static const struct {
    const char *id;
    enum cause cause;
} planted[] = {
    {"gemm/fault_drop:m=33,n=18,k=20", CAUSE_LOCALISED},
    {"gemm/fault_drop:dtype=bf16,m=33,n=18,k=200", CAUSE_LOCALISED},
    {"gemm/fault_drop:dtype=i8,m=33,n=18,k=20", CAUSE_LOCALISED},
    {"gemm/fault_tail:dtype=f16,m=33,n=18,k=27", CAUSE_LOCALISED},
    {"gemm/fault_scale:m=33,n=18,k=20", CAUSE_SCALE},
    {"gemm/fault_scale:dtype=f16,m=33,n=18,k=20", CAUSE_COUNT_},
    {"gemm/fault_zero:m=33,n=18,k=20", CAUSE_LOCALISED},
    {"gemm/fault_downcast:m=33,n=18,k=64", CAUSE_DOWNCAST},
    {"gemm/fault_downcast:m=16,n=16,k=1024", CAUSE_DOWNCAST},
    {"gemm/fault_accumulate:m=33,n=18,k=64,alpha=0.3", CAUSE_ACCUMULATE},
    {"gemm/fault_accumulate:dtype=f16,m=33,n=18,k=64,alpha=0.3", CAUSE_ACCUMULATE},
    {"gemm/fault_accumulate:dtype=i8,m=64,n=64,k=500", CAUSE_COUNT_},
    {"gemm/fault_truncate:dtype=f16,m=48,n=48,k=64", CAUSE_ROUNDING},
    {"gemm/fault_truncate:dtype=bf16,m=48,n=48,k=64", CAUSE_ROUNDING},
    {"gemm/fault_flush:m=33,n=18,k=20,dist=subnormal", CAUSE_FLUSH},
    {"gemm/fault_flush:dtype=bf16,m=33,n=18,k=20,dist=subnormal", CAUSE_FLUSH},
    {"gemm/fault_transpose:m=33,n=32,k=32", CAUSE_MASK},
    {"gemm/fault_alpha:m=33,n=18,k=20,alpha=0.5", CAUSE_SCALE},
    {"gemm/fault_stale:m=33,n=18,k=20", CAUSE_UNINITIALISED},
    {"gemm/fault_wrap:m=260,n=256,k=8", CAUSE_COUNT_},
    {"gemm/fault_oob:dtype=bf16,m=33,n=18,k=20", CAUSE_LOCALISED},
    {"gemm/fault_unwritten:m=33,n=18,k=20,batch=2", CAUSE_LOCALISED},
};

START_TEST(planted_faults_are_found_and_named)
{
    planted_expect(planted[_i].id, planted[_i].cause);
}
END_TEST

/* Without a fault the same ids are right on both sides. */
START_TEST(right_kernels_are_not_blamed)
{
    static const char *const ids[] = {
        "gemm/naive:m=33,n=18,k=20,dist=subnormal",
        "gemm/naive:dtype=i8,m=33,n=18,k=500",
        "gemm/tiled:dtype=f16,m=48,n=48,k=64,ta=1",
        "gemm/regtile:m=70,n=65,k=33,batch=2,pad=3",
        "gemm/splitk:m=33,n=18,k=100,split=7",
        "gemm/splitk16:dtype=f16,m=20,n=20,k=90",
        "gemm/mma:dtype=f16,m=33,n=18,k=70,tb=1",
        "gemm/mma:dtype=f16,acc=f16,m=18,n=33,k=70",
        "gemm/mma:dtype=bf16,m=17,n=17,k=70,pad=1",
        "gemm/mma:dtype=tf32,m=17,n=40,k=70",
        "gemm/mma:dtype=i8,m=17,n=40,k=70,dist=uniform",
    };
    struct seen s = checked(ids[_i]);
    planted_right(ids[_i], &s);
}
END_TEST

/* A handful of differing elements fits many ways of adding; the whole tensor fits one. */
START_TEST(matrix_units_are_named)
{
    struct seen s = checked("gemm/mma:dtype=f16,m=64,n=64,k=64");
    ck_assert_int_eq(s.cause, CAUSE_ORDER);
    ck_assert_msg(strstr(s.reason, "A is an Ampere tensor core") &&
                      strstr(s.reason, "B is a gfx11 matrix unit"),
                  "%s", s.reason);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("gemm_fault");
    TCase *c = tcase_create("fault");
    tcase_add_test(c, matrix_units_are_named);
    tcase_add_loop_test(c, planted_faults_are_found_and_named, 0,
                        sizeof planted / sizeof planted[0]);
    tcase_add_loop_test(c, right_kernels_are_not_blamed, 0, 11);
    suite_add_tcase(s, c);
    return suite_run(s);
}
