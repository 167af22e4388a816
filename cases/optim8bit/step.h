/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_OPTIM8BIT_STEP_H
#define GPUPARITY_CASES_OPTIM8BIT_STEP_H

#include "optim8bit.h"

/* One optimizer step of one element, t counted from 1. g' is gnorm * g (momentum, rmsprop,
 * adagrad: + wd * p):
 *
 *   adam      m = b1 m + (1-b1) g'; v = b2 v + (1-b2) g'^2; c1 = 1 - b1^t; c2 = sqrt(1 - b2^t)
 *             p += -lr c2/c1 * m / (sqrt v + c2 eps); then p *= 1 - lr wd
 *   ademamix  as adam, with slow = b3 slow + (1-b3) g';
 *             p -= lr (m/c1 + alpha slow) / (sqrt(v)/c2 + eps); then p *= 1 - lr wd
 *   momentum  m = b1 m + g', or g' if t = 1; p -= lr m
 *   rmsprop   m = b1 m + (1-b1) g'^2; p -= lr g / (sqrt m + eps)
 *   adagrad   m = m + g'^2; the same p
 *   lion      p *= 1 - lr wd; p -= lr sign(b1 m + (1-b1) g'); m = b2 m + (1-b2) g'
 *
 * adam and ademamix skip elements whose g is NaN or Inf: states become 0, p stays. Every new p
 * is rounded to the format; decay and update round separately.
 *
 * With f32 states g' is kept in the format: rounded after gnorm and again after wd; and rmsprop and
 * adagrad divide g', not g. Read in the library's source, and found again in its ROCm build
 * (tests/script/bitsandbytes.sh). */

struct step {
    enum rule rule;
    bool wide;             /* states are kept in f32, not quantized */
    bool rounded_products; /* a model: nothing is fused */
    struct freedom freedom;
    enum dtype d; /* of p and g */
    float beta1, beta2, beta3, alpha, eps, lr, wd, gnorm;
    float limit; /* of the update's norm; 0: none */
    double factor, factor_relative; /* of the update, and its error; clip.c */
    /* Made of them for step t, as the kernel gets them. */
    int64_t t;
    float c1, c2, size, floor; /* size = -lr c2/c1; floor = c2 eps */
};

struct state {
    float m, slow, v;
};

/* Adam with beta, and so on: which of the three numbers of a state a rule has. */
bool step_has_slow(enum rule rule);
bool step_has_v(enum rule rule);

bool step_is_wide(const struct case_id *id); /* states in f32 */
struct step step_make(const struct case_id *id);
void step_at(struct step *s, int64_t t); /* fills what depends on t */

/* g' for the old parameter p. */
float step_gradient(const struct step *s, float p, float g);

/* The new state, in the f32 operations that the compilers of both vendors make of the library's
 * source and the kernels spell out:
 *
 *   8-bit   m = fma(1-b1, g', m b1), v = fma((1-b2) g', g', v b2)
 *   f32     m = fma(m, b1, (1-b1) g'), v = fma(v, b2, (1-b2) (g' g')); all other squares are
 *           multiplied from the left: fma(v, b2, ((1-b2) g') g') */
struct state step_state(const struct step *s, float p, float g, const struct state *old);

/* The new parameter: the exact result of the formulas above on the f32 states and the rounded
 * old parameter, and the interval in which a device's result lies. `move` is the size of the
 * update. */
struct range {
    double value, low, high, move;
};
struct range step_param(const struct step *s, const struct range *p, float g,
                        const struct state *old, const struct state *new);

#endif
