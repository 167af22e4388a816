/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "planted.h"
#include "suite.h"

/* The planted faults of cases/reduce/, compiled by both vendors' compilers and run on both
 * simulated devices: each must be found, on the right side and with the right cause; and the
 * right kernels must not be blamed. */

static const struct {
    const char *id;
    enum cause cause;
} planted[] = {
    {"reduce/fault_tail:rows=9,n=301", CAUSE_LOCALISED},
    {"reduce/fault_tail:dtype=bf16,rows=9,n=45,op=mean", CAUSE_LOCALISED},
    {"reduce/fault_bf16:rows=9,n=301", CAUSE_ACCUMULATE},
    {"reduce/fault_bf16:dtype=f16,rows=9,n=301,op=norm", CAUSE_ACCUMULATE},
    {"reduce/fault_downcast:rows=9,n=301", CAUSE_DOWNCAST},
    {"reduce/fault_flush:rows=9,n=301,dist=subnormal", CAUSE_FLUSH},
    {"reduce/fault_truncate:dtype=bf16,rows=200,n=30", CAUSE_ROUNDING},
    {"reduce/fault_count:rows=9,n=301,op=mean", CAUSE_SCALE},
    {"reduce/fault_row:dtype=f16,rows=9,n=301,op=norm", CAUSE_MASK},
    {"reduce/fault_unwritten:rows=9,n=301", CAUSE_LOCALISED},
    {"reduce/fault_rank:rows=300,n=8", CAUSE_LOCALISED},
    {"reduce/fault_rank:dtype=bf16,rows=300,n=8,carry=hop", CAUSE_LOCALISED},
    {"reduce/fault_hop:dtype=bf16,rows=300,n=8,op=mean", CAUSE_ACCUMULATE},
    {"reduce/fault_sample:rows=9,n=301", CAUSE_SCALE},
    {"reduce/fault_naive:rows=300,n=2,dist=positive", CAUSE_ACCUMULATE},
};

START_TEST(planted_faults_are_found_and_named)
{
    planted_expect(planted[_i].id, planted[_i].cause);
}
END_TEST

static const char *const right[] = {
    "reduce/atomic:dtype=f16,rows=3,n=2100,op=mean,dist=lognormal",
    "reduce/warp:rows=9,n=77,dist=special",
    "reduce/atomic:rows=9,n=1100,dist=subnormal",
    "reduce/ring:dtype=f16,rows=70,n=16,carry=hop,dist=cancel",
    "reduce/welford:dtype=bf16,rows=9,n=77,dist=special",
};

START_TEST(right_kernels_are_not_blamed)
{
    struct seen s = checked(right[_i]);
    planted_right(right[_i], &s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("reduce_fault");
    TCase *c = tcase_create("fault");
    tcase_add_loop_test(c, planted_faults_are_found_and_named, 0,
                        sizeof planted / sizeof planted[0]);
    tcase_add_loop_test(c, right_kernels_are_not_blamed, 0, sizeof right / sizeof right[0]);
    suite_add_tcase(s, c);
    return suite_run(s);
}
