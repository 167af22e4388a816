/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_DELTA_H
#define GPUPARITY_DELTA_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

/* Delta debugging over a few switches: which smallest set of them has an effect? */

enum { DELTA_SWITCHES_MAX = 24 };

enum delta_answer {
    DELTA_NO,
    DELTA_YES,
    DELTA_UNKNOWN /* this set cannot be tried */
};

/* Does the set (bit i: switch i) have the effect? */
typedef enum err delta_test(void *context, uint32_t set, enum delta_answer *ret_answer,
                            struct errinfo *e);

/* Tries the sets of `n` switches by their size, smaller ones first and within a size in the
 * order of the switches, as long as at most `limit` tests are needed for all of that size; then
 * the whole set, reduced to one from which no single switch can be left out. So a set of a size
 * that was tried in full is the smallest there is. Zero: none found. Within 2 * limit + n^2
 * tests. */
enum err delta_smallest(int n, int limit, delta_test *test, void *context, uint32_t *ret_set,
                        struct errinfo *e);

#endif
