/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_CHECK_H
#define GPUPARITY_HIP_SIM_CHECK_H

#include "address.h"

/* Checks that a user switches on for a run (GPUPARITY_SIM_CHECK); block->check is NULL when they
 * are off. */

/* Looks at an access before it happens. WAVE_FAULT with the finding, or WAVE_GOES_ON. */
int check_access(struct wave *w, const struct access *a, uint8_t *const pointer[WAVE_LANES]);

#endif
