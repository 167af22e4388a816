/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planted.h"
#include "suite.h"

/* The planted faults of cases/norm/, compiled by both vendors' compilers and
 * run on both simulated devices: each must be found, on the right side and with the right
 * cause; and the right kernels must not be blamed. */

static const struct {
    const char *id;
    enum cause cause;
} planted[] = {
    {"norm/fault_tail:rows=4,d=301,add=1,eps=0.01", CAUSE_LOCALISED},
    {"norm/fault_tail:dtype=bf16,rows=4,d=61", CAUSE_LOCALISED},
    {"norm/fault_accumulate:rows=4,d=301,add=1,eps=0.01", CAUSE_ACCUMULATE},
    {"norm/fault_tail:rows=4,d=301", CAUSE_LOCALISED},
    {"norm/fault_accumulate:rows=4,d=301,add=1", CAUSE_ACCUMULATE},
    {"norm/fault_root:rows=4,d=301,eps=0.01", CAUSE_SCALE},
    {"norm/fault_gain:dtype=f16,rows=4,d=301,add=1", CAUSE_MASK},
    {"norm/fault_sum:dtype=bf16,rows=4,d=301,add=1", CAUSE_MASK},
    {"norm/fault_sample:rows=4,d=301", CAUSE_SCALE},
    {"norm/fault_mean:dtype=f16,rows=4,d=301,dist=positive", CAUSE_MASK},
};

START_TEST(planted_faults_are_found_and_named)
{
    planted_expect(planted[_i].id, planted[_i].cause);
}
END_TEST

START_TEST(right_kernels_are_not_blamed)
{
    static const char *const ids[] = {
        "norm/rms:rows=4,d=301,add=1,dist=lognormal",
        "norm/layer:dtype=bf16,rows=4,d=301,add=1",
        "norm/layer:rows=4,d=300,dist=cancel,mode=strict",
        "norm/rms:dtype=f16,rows=9,d=77,dist=special",
        "norm/layer:dtype=f16,rows=9,d=77,add=1,dist=subnormal",
        "norm/rms:rows=6,d=300,add=1,dist=ties",
    };
    struct seen s = checked(ids[_i]);
    planted_right(ids[_i], &s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("norm_fault");
    TCase *c = tcase_create("fault");
    tcase_add_loop_test(c, planted_faults_are_found_and_named, 0,
                        sizeof planted / sizeof planted[0]);
    tcase_add_loop_test(c, right_kernels_are_not_blamed, 0, 6);
    suite_add_tcase(s, c);
    return suite_run(s);
}
