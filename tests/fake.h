/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_TESTS_FAKE_H
#define GPUPARITY_TESTS_FAKE_H

#include <check.h>
#include <stdlib.h>

/* Makes fake_vendor.c the simulated card of the first backend and says how it misbehaves: see
 * there. NULL: not at all. */
static inline void fake_use(const char *how)
{
    ck_assert_ptr_nonnull(getenv("FAKE_DIR"));
    setenv("GPUPARITY_SIM_DIR", getenv("FAKE_DIR"), 1);
    if (how)
        setenv("FAKE", how, 1);
    else
        unsetenv("FAKE");
}

#endif
