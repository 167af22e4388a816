/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_STRIP_H
#define GPUPARITY_STRIP_H

#include "tally.h"

/* A strip: a few hundred elements that are tallied together, in loops over arrays that the
 * compiler can turn into vector code. Most outputs are nothing but ordinary elements. STRIP_MIN
 * is about where single elements are as fast. */
enum { STRIP_MAX = 256, STRIP_MIN = 16 };

/* The same result as tally_elements(k, s, from, from + n, values), n <= STRIP_MAX, if every
 * element is ordinary: written and finite on all sides, against a finite reference that does
 * not round to Inf, with a finite bound, and not exactly between two elements but for its tail.
 * Else false, and nothing is changed. Without a reference, and with f64, i64 and u32: false. */
bool strip_add(struct tally *k, const struct tally_subject *s, int64_t from, int n,
               struct tally_values *values);

#endif
