/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/wait.h>

#include "harness/child.h"
#include "runsample.h"

static const struct {
    const char *how, *words;
} deaths[] = {
    {"launch-crash:naive_f16", "killed by signal 11 (Segmentation fault) while running the "
                               "kernel naive_f16; its last words: \"fake: about to crash"},
    {"launch-abort:naive_f16",
     "killed by signal 6 (Aborted) while running the kernel naive_f16"},
    {"launch-exit:naive_f16", "ended with exit status 0 while running the kernel naive_f16"},
    {"launch-close:naive_f16", "closed its connection while running the kernel naive_f16"},
};

START_TEST(death_is_a_status)
{
    struct caselist l = parsed(SOME);
    fake_use(deaths[_i].how);
    struct record *r = run_all(&l, (struct run_options){.timeout = 20});
    for (int i = 0; i < SOME; i++) {
        struct record_case c = case_at(r, i);
        ck_assert_msg(c.status == (i == BAD ? RECORD_CRASHED : RECORD_OK), "%s: %s", c.id,
                      c.reason);
        if (i == BAD)
            ck_assert_msg(strstr(c.reason, deaths[_i].words) == c.reason, "%s", c.reason);
    }
    record_close(r);
    caselist_release(&l);
}
END_TEST

START_TEST(hang_is_ended)
{
    struct caselist l = parsed(SOME);
    fake_use("launch-hang:naive_f16");
    double start = child_clock();
    struct record *r = run_all(&l, (struct run_options){.timeout = 1});
    ck_assert(child_clock() - start < 15);
    for (int i = 0; i < SOME; i++) {
        struct record_case c = case_at(r, i);
        ck_assert_int_eq(c.status, i == BAD ? RECORD_TIMED_OUT : RECORD_OK);
        if (i != BAD)
            continue;
        ck_assert_ptr_nonnull(strstr(c.reason, "after 1 s while running the kernel naive_f16"));
        ck_assert_ptr_nonnull(strstr(c.reason, "--timeout"));
        ck_assert(c.seconds >= 1 && c.seconds < 5);
    }
    /* Nothing is left of it. */
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    record_close(r);
    caselist_release(&l);
}
END_TEST

START_TEST(crash_while_loading)
{
    struct caselist l = parsed(3);
    fake_use("load-abort");
    struct record *r = run_all(&l, (struct run_options){.timeout = 20});
    for (int i = 0; i < 3; i++) {
        struct record_case c = case_at(r, i);
        ck_assert_int_eq(c.status, RECORD_CRASHED);
        ck_assert_ptr_nonnull(strstr(c.reason, "while loading the code of naive.cu"));
        ck_assert_str_eq(c.mode, "default");
        ck_assert_uint_eq(strlen(c.source_digest), 32);
    }
    record_close(r);
    caselist_release(&l);
}
END_TEST

/* A device that cannot be opened at all is not a status but the end. */
static const struct {
    const char *how, *words;
} closed[] = {{"context-crash", "killed by signal 11 (Segmentation fault) while opening"},
              {"context-exit", "ended with exit status 0 while opening"},
              {"context-hang", "no answer within 1 s while opening"},
              {"no-card", "finds no NVIDIA card"},
              {"init-fails", "cuInit: FAKE_ERROR (999)"}};

START_TEST(device_does_not_open)
{
    struct caselist l = parsed(2);
    struct record *r = NULL;
    fake_use(closed[_i].how);
    ck_assert_int_eq(run_some(&l, (struct run_options){.timeout = 1}, false, &r), ERR_MISSING);
    ck_assert_msg(strstr(e.text, "cuda-sim: ") == e.text, "%s", e.text);
    ck_assert_msg(strstr(e.text, closed[_i].words) != NULL, "%s", e.text);
    record_close(r);
    caselist_release(&l);
}
END_TEST

/* After a fault the next case gets a new device: the fake's stays broken, as real ones do. */
START_TEST(fault_is_left_behind)
{
    struct caselist l = parsed(SOME);
    fake_use("launch-faults:naive_f16");
    struct record *r = run_all(&l, (struct run_options){.timeout = 20});
    for (int i = 0; i < SOME; i++) {
        struct record_case c = case_at(r, i);
        ck_assert_int_eq(c.status, i == BAD ? RECORD_LAUNCH_FAILED : RECORD_OK);
        if (i == BAD)
            ck_assert_ptr_nonnull(strstr(c.reason, "naive_f16: cuLaunchKernel: "
                                                   "FAKE_ILLEGAL_ADDRESS (700)"));
    }
    record_close(r);
    caselist_release(&l);
}
END_TEST


int main(void)
{
    device_simulator_folder(simulators, sizeof simulators);
    TCase *t = tcase_create("run_death");
    tcase_add_loop_test(t, death_is_a_status, 0, sizeof deaths / sizeof *deaths);
    tcase_add_test(t, hang_is_ended);
    tcase_add_test(t, crash_while_loading);
    tcase_add_loop_test(t, device_does_not_open, 0, sizeof closed / sizeof *closed);
    tcase_add_test(t, fault_is_left_behind);
    return run_suite("run_death", t);
}
