/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_VERDICT_H
#define GPUPARITY_VERDICT_H

#include "finding.h"

/* The judge. It sees statistics and statuses, never tensors, and writes verdict and reason.
 *
 * WRONG is only said on proof: outside a derived worst-case bound, wrong NaN or Inf class, an
 * element never written, bytes beyond an output overwritten. DISTINGUISHABLE needs effect and
 * significance together, since with many elements any difference is significant: the two-sample
 * KS distance of the sides' ULP errors is at least verdict_ks_effect with p < verdict_ks_p, or
 * their mean errors differ by more than verdict_bias_effect of the pooled RMS, beyond
 * verdict_bias_sigmas standard errors, or the histograms of their codes differ by Cramer's V of
 * verdict_codes_effect with p < verdict_ks_p. Fewer than verdict_minimum elements: not said. */
extern const double verdict_ks_effect, verdict_ks_p, verdict_bias_effect, verdict_bias_sigmas,
    verdict_codes_effect;
extern const int64_t verdict_minimum;

/* Sets `o->verdict` and `o->reason` from o->stats. `f` says whether this is one-sided, and the
 * guard bytes. */
void verdict_output(const struct finding *f, struct finding_out *o);

/* Sets `f->verdict` and `f->reason` from the statuses of both sides or, when both ran, from the
 * worst of its outputs. */
void verdict_case(struct finding *f);

#endif
