/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_LIKENESS_H
#define GPUPARITY_LIKENESS_H

#include "finding.h"

/* Do two findings show the same, though in other numbers? */

/* A sentence with '#' where it has numbers: what kind of evidence it is. Digits within a word
 * (bf16) belong to it. `ret_kind` takes `size` bytes. */
void likeness_kind(const char *text, char *ret_kind, size_t size);

/* The same verdict, the same states of both sides, and the same primary cause of the same side by
 * the same kind of evidence; where there is no cause, the same kind of reason. */
bool likeness_same(const struct finding *x, const struct finding *y);

#endif
