/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_DRIFT_H
#define GPUPARITY_DRIFT_H

#include "case.h"
#include "tensor.h"

/* How far two runs of many steps have parted, in units of what the run's own quantization does to
 * it: sqrt(sum (b - a)^2 / sum effect^2) over elements that are finite on both sides. Below 1,
 * quantization moves the result more than the choice of the device. */
struct drift {
    bool known;        /* false: not such an output, or no step after the first */
    double all, last;  /* over all steps but the first, and over the last */
};

/* Dimension 0 of a, b and the reference is the steps; the effect is the reference's `drop`
 * (case_tensor.drifts). The first step has none and is left out. `b` NULL: the reference's value
 * stands for it. */
struct drift drift_make(const struct tensor *a, const struct tensor *b, const struct oracle *o);

/* The same in windows, in order; starts zeroed. */
struct drift_sums {
    double apart, effect, last_apart, last_effect;
};
void drift_add(struct drift_sums *s, const struct tensor *a, const struct tensor *b,
               const struct oracle *o, struct case_span window);
struct drift drift_end(const struct drift_sums *s);

/* "A-B is 0.013 of what quantization changes (last step 0.02)" */
void drift_print(const struct drift *d, bool one_sided, char *ret_text, size_t size);

#endif
