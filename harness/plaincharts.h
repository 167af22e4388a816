/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_PLAINCHARTS_H
#define GPUPARITY_PLAINCHARTS_H

#include "plainseen.h"

/* Counts for the pictures of two tensors without a reference (struct charts with `pair` set):
 * |B - A| in ULP against the larger magnitude, where in the tensor it is, and which codes
 * became which. From the sample: all of a small tensor, else its windows; cells of the map that
 * no window touches stay empty. */

/* Into s->o->charts, which is owned by the finding. ERR_NOMEM. */
enum err plaincharts_make(const struct plainseen *s, struct errinfo *e);

#endif
