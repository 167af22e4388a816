/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CAPTUREMATCH_H
#define GPUPARITY_CAPTUREMATCH_H

#include "capture.h"

/* By operator of A: the one of B with the same name, module and phase, the n-th with the n-th, or
 * NULL. The caller frees the array, not what it points to. ERR_NOMEM. */
enum err capture_match(const struct capture *a, const struct capture *b,
                       const struct capture_operator ***ret_twin, struct errinfo *e);

#endif
