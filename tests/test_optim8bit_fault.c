/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planted.h"
#include "suite.h"

/* The planted faults of cases/optim8bit, compiled by both vendors' compilers and run on both
 * simulated devices: each is found, on the right side and with the right cause; and what must
 * be bit-equal between the vendors is. */

struct states {
    struct seen seen;
    bool same; /* every output but parameters and numbers */
};

static enum err keep(void *context, const struct finding *f, struct errinfo *e)
{
    (void)e;
    struct states *s = context;
    seen_keep(&s->seen, f);
    s->same = true;
    for (int i = 0; i < f->n_out; i++)
        if (f->out[i].name[0] != 'p' && f->out[i].name[0] != 'y')
            s->same &= f->out[i].verdict == VERDICT_SAME;
    return ERR_OK;
}

/* CAUSE_COUNT_: found, whatever the cause is called. */
static const struct {
    const char *id;
    enum cause cause;
} planted[] = {
    {"optim8bit/fault_swap:n=1101,block=64", CAUSE_SCALE},
    {"optim8bit/fault_half:dtype=bf16,n=1101,block=64", CAUSE_SCALE},
    {"optim8bit/fault_entry:n=1101,block=64", CAUSE_COUNT_},
    {"optim8bit/fault_linear:n=1101,block=64", CAUSE_CODEBOOK},
    {"optim8bit/fault_tie:n=1101,block=64,dist=ties", CAUSE_ROUNDING},
    {"optim8bit/fault_cut:dtype=f16,n=1101,block=64", CAUSE_ROUNDING},
    {"optim8bit/fault_nibbles:n=1101,block=64,book=nf4", CAUSE_CODEBOOK},
    {"optim8bit/fault_nosign:n=1100,step=1,dist=onehot", CAUSE_CODEBOOK},
    {"optim8bit/fault_book2:n=1100", CAUSE_CODEBOOK},
    {"optim8bit/fault_scales:n=1100", CAUSE_SCALE},
    {"optim8bit/fault_nobias:n=1100", CAUSE_MASK},
    {"optim8bit/fault_unfused:n=20000", CAUSE_CONTRACTION},
    {"optim8bit/fault_wrapped:m=18,n=35,k=200", CAUSE_ACCUMULATE},
    {"optim8bit/fault_lanes:n=40,k=96,book=nf4", CAUSE_LOCALISED},
    {"optim8bit/fault_lanes:dtype=bf16,n=40,k=96,book=fp4", CAUSE_LOCALISED},
    {"optim8bit/fault_unclipped:dtype=bf16,n=1100,wd=0.03", CAUSE_SCALE},
    {"optim8bit/fault_rows:m=18,n=19,k=64,book=nf4", CAUSE_LOCALISED},
};

START_TEST(planted_faults_are_found_and_named)
{
    planted_expect(planted[_i].id, planted[_i].cause);
}
END_TEST

/* Codes, scales and states are equal to the bit in modes with exact division, step by step and
 * in a run; parameters lie inside their intervals. */
START_TEST(states_are_bit_equal)
{
    static const char *const ids[] = {
        "optim8bit/quantize:dtype=bf16,n=1101,block=64,dist=ties",
        "optim8bit/quantize:n=1101,block=64,book=fp4,dist=special",
        "optim8bit/adam8:n=1100,step=1,steps=10,wd=0.01",
        "optim8bit/adam8run:dtype=bf16,n=600,step=1,steps=20,wd=0.01",
        "optim8bit/ademamix8:dtype=f16,n=512,wd=0.03",
        "optim8bit/rmsprop8:n=600,wd=0.1,gnorm=0.3",
        "optim8bit/adagrad32:n=600,mode=strict",
        "optim8bit/lion8:n=600,wd=0.03",
    };
    struct states states = {.same = false};
    planted_run(ids[_i], keep, &states);
    const struct seen s = states.seen;
    ck_assert_msg(states.same, "%s: %s", ids[_i], s.reason);
    planted_right(ids[_i], &s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("optim8bit_fault");
    TCase *c = tcase_create("fault");
    tcase_add_loop_test(c, planted_faults_are_found_and_named, 0,
                        sizeof planted / sizeof planted[0]);
    tcase_add_loop_test(c, states_are_bit_equal, 0, 8);
    suite_add_tcase(s, c);
    return suite_run(s);
}
