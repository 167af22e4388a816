/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_HIP_SIM_HOSTROUND_H
#define GPUPARITY_HIP_SIM_HOSTROUND_H

#include <fenv.h>

/* The host's rounding direction, by the two bits of a MODE field: nearest, up, down, to zero.
 */
static inline unsigned hostround_set(unsigned mode)
{
    static const int directions[4] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    unsigned old = (unsigned)fegetround();
    fesetround(directions[mode & 3]);
    return old;
}

static inline void hostround_restore(unsigned old)
{
    fesetround((int)old);
}

#endif
