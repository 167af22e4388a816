/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_PAGES_H
#define GPUPARITY_PAGES_H

#include <stddef.h>

/* Address space without memory: bytes are zero, and take a page of memory from when they are
 * written until the page is dropped. So a large array can be walked in windows, each element under
 * its own number. */

/* NULL when the system refuses; `bytes` >= 1. */
void *pages_take(size_t bytes);
void pages_release(void *base, size_t bytes); /* NULL: nothing */

/* Gives back the pages that hold bytes from <= i < to, whole: what lies beside these bytes on the
 * first and the last page is zero again as well. */
void pages_drop(void *base, size_t from, size_t to);

#endif
