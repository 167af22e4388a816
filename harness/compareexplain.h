/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_COMPAREEXPLAIN_H
#define GPUPARITY_COMPAREEXPLAIN_H

#include "comparepass.h"

/* The causes of what a pass over an output has found, where the verdict wants any: of all of the
 * output, or of an excerpt where it is larger than a window. ERR_NOMEM, and what reading says. */
enum err compareexplain_output(struct answers *x, const struct comparepass *pass,
                               const struct finding *f, struct finding_out *o, struct errinfo *e);

#endif
