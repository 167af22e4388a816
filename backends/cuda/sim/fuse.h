/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CUDA_SIM_FUSE_H
#define GPUPARITY_CUDA_SIM_FUSE_H

#include "ptx.h"

/* What ptxas does to bare mul and add (those without .rn) before the card sees them: it joins
 * them to fma. The rule was measured on ptxas 13.0 (see fuse.c). */

enum fuse_action {
    FUSE_NONE,
    FUSE_DROP,     /* the product: its uses are all fused */
    FUSE_NEG_DROP, /* a negation between the product and its uses */
    FUSE_FIRST,    /* add whose operand 1 is a product */
    FUSE_SECOND    /* add whose operand 2 is a product */
};

struct fuse_step {
    uint8_t action;   /* enum fuse_action */
    bool negated;     /* the product enters with the opposite sign */
    uint32_t product; /* FIRST, SECOND: index of the mul */
};

/* By instruction of a function; `step` is NULL when nothing is fused. Lives in the arena. */
struct fuse_plan {
    struct fuse_step *step;
    uint32_t fused;
};

/* False only when memory is short. */
bool fuse_plan_make(const struct ptx_function *f, struct arena *a, struct fuse_plan *ret_plan);

#endif
