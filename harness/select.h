/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_SELECT_H
#define GPUPARITY_SELECT_H

#include <stdbool.h>
#include <stddef.h>

/* Does a selection take this name? A selection is a name, the beginning of one before '/' or
 * ':' (gemm, gemm/tiled, model/layers), or a glob; ":-" puts exclusions behind it, which are
 * globs: "a*:-*bias". NULL takes all. */
bool select_takes(const char *selection, const char *name);

/* Renames by "from=to", each with at most one '*', whose text is kept. False if `name` does not
 * fit `from`, or the result does not fit; `from` is everything before the first '='. */
bool select_rename(const char *map, const char *name, char *ret_name, size_t size);

#endif
