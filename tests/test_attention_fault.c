/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planted.h"
#include "suite.h"

/* The planted faults of cases/attention/, compiled by both vendors' compilers and
 * run on both simulated devices: each must be found, on the right side and with the right
 * cause; and the right kernels must not be blamed. */

/* CAUSE_COUNT_: found, whatever the cause is called. */
static const struct {
    const char *id;
    enum cause cause;
} planted[] = {
    {"attention/fault_mask:queries=33,keys=50,d=32,mask=bottom", CAUSE_MASK},
    {"attention/fault_mask:dtype=bf16,queries=20,keys=37,d=20,mask=causal", CAUSE_MASK},
    {"attention/fault_corner:queries=20,keys=37,d=20,mask=bottom", CAUSE_MASK},
    {"attention/fault_head:dtype=bf16,heads=4,kvheads=2,queries=9,keys=37,d=20", CAUSE_MASK},
    {"attention/fault_scale:queries=20,keys=37,d=20", CAUSE_SCALE},
    {"attention/fault_rescale:queries=20,keys=60,d=20", CAUSE_SCALE},
    {"attention/fault_base:dtype=bf16,queries=20,keys=37,d=20", CAUSE_SCALE},
    {"attention/fault_accumulate:queries=20,keys=60,d=20", CAUSE_ACCUMULATE},
    {"attention/fault_narrow:queries=20,keys=60,d=20", CAUSE_DOWNCAST},
    {"attention/fault_tail:queries=20,keys=37,d=20", CAUSE_LOCALISED},
    {"attention/fault_tail:dtype=bf16,queries=20,keys=50,d=20", CAUSE_LOCALISED},
    {"attention/fault_average:dtype=bf16,queries=3,keys=50,d=20", CAUSE_SCALE},
    {"attention/fault_delta:queries=20,keys=37,d=20", CAUSE_COUNT_},
    {"attention/fault_group:heads=4,kvheads=2,queries=20,keys=37,d=20", CAUSE_COUNT_},
    {"attention/fault_undropped:queries=20,keys=37,d=20", CAUSE_COUNT_},
    {"attention/fault_rounds:queries=20,keys=37,d=20", CAUSE_RNG},
    {"attention/fault_rounds:dtype=f16,queries=20,keys=37,d=20,rounds=7", CAUSE_RNG},
    {"attention/fault_carry:dtype=bf16,queries=20,keys=60,d=20", CAUSE_SCALE},
    {"attention/fault_start:batch=4,queries=20,keys=37,d=20", CAUSE_MASK},
    {"attention/fault_longest:batch=4,queries=20,keys=37,d=20,mask=bottom", CAUSE_MASK},
    {"attention/fault_longest:dtype=bf16,batch=4,queries=20,keys=37,d=20,alibi=1", CAUSE_MASK},
    {"attention/fault_next:queries=3,keys=50,d=20,page=8", CAUSE_MASK},
};

START_TEST(planted_faults_are_found_and_named)
{
    planted_expect(planted[_i].id, planted[_i].cause);
}
END_TEST

START_TEST(right_kernels_are_not_blamed)
{
    static const char *const ids[] = {
        "attention/naive:queries=20,keys=37,d=20,mask=bottom",
        "attention/flash:queries=20,keys=37,d=20,mask=causal,window=5",
        "attention/flash:dtype=f16,queries=1,keys=60,d=100",
        "attention/"
        "naive:dtype=bf16,heads=4,kvheads=2,queries=37,keys=20,d=20,mask=bottom,alibi=1",
        "attention/flash:dtype=bf16,queries=37,keys=20,d=20,softcap=3,mode=strict",
        "attention/flash:queries=37,keys=37,d=20,mask=causal,dist=special",
        "attention/naive:queries=37,keys=37,d=20,mask=causal,dist=special",
        "attention/"
        "split:heads=4,kvheads=2,batch=2,queries=3,keys=50,d=20,page=8,window=30,mask=bottom",
        "attention/backward:heads=4,kvheads=2,queries=20,keys=37,d=20,mask=bottom",
        "attention/split:dtype=f16,queries=1,keys=90,d=100,split=8",
        "attention/mma:dtype=f16,queries=37,keys=60,d=100,mask=bottom",
        "attention/mma:dtype=bf16,heads=4,kvheads=2,queries=20,keys=37,d=20,softcap=3",
        "attention/varlen:dtype=f16,batch=5,queries=20,keys=37,d=100,mask=bottom",
    };
    struct seen s = checked(ids[_i]);
    planted_right(ids[_i], &s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("attention_fault");
    TCase *c = tcase_create("fault");
    tcase_add_loop_test(c, planted_faults_are_found_and_named, 0,
                        sizeof planted / sizeof planted[0]);
    tcase_add_loop_test(c, right_kernels_are_not_blamed, 0, 13);
    suite_add_tcase(s, c);
    return suite_run(s);
}
