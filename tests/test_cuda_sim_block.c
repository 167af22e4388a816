/* SPDX-License-Identifier: Apache-2.0 */
#include "cudalane.h"

/* Warps of a block that wait, end and compete. */

/* A lock that lanes of one warp take from each other, and warps of a block. */
START_TEST(spin_lock)
{
    uint32_t x[THREADS] = {0}, y[THREADS];
    gpu_start();
    kernel_run(".shared .align 4 .u32 lock;\n.shared .align 4 .u32 n;\n",
               "setp.eq.u32 %p0, %i, 0; @%p0 st.shared.u32 [lock], 0; @%p0 st.shared.u32 [n], "
               "0; bar.sync 0; "
               "L: atom.shared.cas.b32 %r0, [lock], 0, 1; setp.ne.u32 %p1, %r0, 0; @%p1 bra L; "
               "ld.shared.u32 %r1, [n]; add.u32 %r1, %r1, 1; st.shared.u32 [n], %r1; "
               "atom.shared.exch.b32 %r0, [lock], 0; bar.sync 0; ld.shared.u32 %y, [n];",
               x, y, THREADS);
    for (int t = 0; t < THREADS; t++)
        ck_assert_uint_eq(y[t], THREADS);
}
END_TEST

/* A block that is not a multiple of the warp: missing lanes do not count. */
START_TEST(partial_warp)
{
    uint32_t x[THREADS], y[THREADS];
    gpu_start();
    for (uint32_t k = 0; k < THREADS; k++)
        x[k] = k + 1;
    kernel_run("",
               "redux.sync.add.u32 %y, %x, -1; bar.sync 0; setp.gt.u32 %p0, %i, 50; @%p0 exit; "
               "bar.sync 0;",
               x, y, 53);
    for (uint32_t t = 0; t < 51; t++)
        ck_assert_uint_eq(y[t], t < 32 ? 32 * 33 / 2 : 53 * 54 / 2 - 32 * 33 / 2);
    ck_assert_uint_eq(y[51], 0);
}
END_TEST

/* Threads that have ended hold up nobody (PTX, exit): the barrier opens when they go, also for
 * warps that wait already; with a thread count a warp counts whole. */
START_TEST(ended_threads)
{
    static const char *const waits[] = {"bar.sync 0;", "bar.sync 1, 128;",
                                        "bar.red.popc.u32 %r2, 0, %p1;"};
    uint32_t x[THREADS] = {0}, y[THREADS];
    gpu_start();
    for (int k = 0; k < 3; k++) {
        char body[1024];
        /* lane 7 of each warp goes at once; warp 3 whole, but late (not where it is counted) */
        snprintf(body, sizeof body,
                 "and.b32 %%r0, %%i, 31; setp.eq.u32 %%p0, %%r0, 7; @%%p0 exit; "
                 "setp.lt.u32 %%p1, %%i, 96; @%%p1 bra W; mov.u32 %%r1, 0; S: add.u32 %%r1, "
                 "%%r1, 1; setp.lt.u32 %%p0, %%r1, 500; @%%p0 bra S; %s exit; W: %s mov.u32 "
                 "%%y, 1;",
                 k == 1 ? waits[1] : "", waits[k]);
        kernel_run("", body, x, y, THREADS);
        for (uint32_t t = 0; t < THREADS; t++)
            ck_assert_msg(y[t] == (t < 96 && t % 32 != 7), "%s: thread %u: %u", waits[k], t,
                          y[t]);
    }
}
END_TEST

START_TEST(all_forms)
{
    forms_check(" exit ");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cuda_sim_block");
    TCase *t = tcase_create("block");
    tcase_add_test(t, spin_lock);
    tcase_add_test(t, partial_warp);
    tcase_add_test(t, ended_threads);
    tcase_add_test(t, all_forms);
    suite_add_tcase(s, t);
    return suite_run_in_one(s);
}
