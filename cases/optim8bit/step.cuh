/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_OPTIM8BIT_STEP_CUH
#define GPUPARITY_CASES_OPTIM8BIT_STEP_CUH

#include "optim8bit.cuh"

/* What optimizer steps share, whatever their state is kept in; step.h has the formulas. */

enum { SIZE = 256 };
enum rule { ADAM, MOMENTUM, RMSPROP, ADAGRAD, LION, ADEMAMIX, LAMB, LARS };

struct scalars {
    f32 beta1, beta2, beta3, alpha, eps, lr, wd, gnorm;
};

DEVICE bool is_finite(f32 x)
{
    return (f32_bits(x) & 0x7f800000u) != 0x7f800000u;
}

DEVICE f32 sign(f32 x)
{
    return (f32)((x > 0) - (x < 0));
}

#endif
