/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_BALANCE_H
#define GPUPARITY_BALANCE_H

#include "caseid.h"
#include "record.h"

/* Parts of a selection that take about equally long, by the times of an earlier record. All
 * parts come out of the same list and record, so machines that know nothing of each other
 * agree. */

enum { BALANCE_DIGEST_MAX = 9 };

/* ret_part[i] is the part, 1 to n, of case i; `ret_part` takes l->count of them. The longest
 * case goes first, each to the part that has least so far. Times are of the run on `device` if
 * the record has one, else of its first run; a case that is not there counts as the mean of
 * those that are. `ret_digest`: 8 hexadecimal digits over the ids and their parts, equal where
 * the split is. ERR_USAGE when the record has none of the cases. */
enum err balance_make(const struct caselist *l, struct record *times, const char *device, int n,
                      int *ret_part, char ret_digest[BALANCE_DIGEST_MAX], struct errinfo *e);

#endif
