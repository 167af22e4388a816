/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TESTS_SUITE_H
#define GPUPARITY_TESTS_SUITE_H

#include <check.h>

static inline int suite_run_as(Suite *s, enum fork_status fork)
{
    SRunner *r = srunner_create(s);
    srunner_set_fork_status(r, fork);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}

/* Runs the suite, which is released with it, each test in a process of its own, and prints Check's
 * summary (CK_VERBOSITY: how much). What main returns: 1 if a test failed. */
static inline int suite_run(Suite *s)
{
    return suite_run_as(s, CK_FORK_GETENV);
}

/* The same in one process: tests see what those before them have counted. */
static inline int suite_run_in_one(Suite *s)
{
    return suite_run_as(s, CK_NOFORK);
}

#endif
