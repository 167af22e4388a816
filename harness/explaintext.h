/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_EXPLAINTEXT_H
#define GPUPARITY_EXPLAINTEXT_H

#include "explainplace.h"

/* What explain says on stdout. */

/* The case, its verdict and cause. */
void explaintext_head(const struct explain *x);

/* The head, what was tried, and the answer with the command that shows it; `code` is the word
 * of --code, which that command repeats, or NULL. `verbose`: changes that change nothing, too. */
void explaintext_print(const struct explain *x, const char *code, bool verbose);

/* Where the sides part. */
void explaintext_place(const struct explain *x, const struct explain_place *p);

#endif
