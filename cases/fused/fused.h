/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUPARITY_CASES_FUSED_H
#define GPUPARITY_CASES_FUSED_H

#include "../../harness/case.h"
#include "../roundoff.h"
#include "../wide.h"

/* Private to the family.
 *
 *   fused.c   parameters, plan, inputs
 *   bound.c  reference, and how far a device may be off
 *   model.c  ways in which a device may really compute */

/* A case, decoded. All f32. Per element, with the f32 constants given:
 *   m = b1 m + a1 g        v = b2 v + a2 g^2        a = 1 - b
 *   u = (m / c1) / (sqrt(v / c2) + eps) + wd p      c = 1 - b^t
 *   p = p - lr r u         adam: r = 1; lamb: r = |p| / |u|, 1 if either is 0 */
struct fused {
    bool lamb;
    int64_t n, t;
    float b1, a1, b2, a2, c1, c2, eps, wd, lr;
    struct case_mode mode;
};

void fused_decode(const struct case_id *id, struct fused *ret_fused);

enum { FUSED_P, FUSED_G, FUSED_M, FUSED_V, FUSED_U, FUSED_PART, FUSED_NORMS };
enum { FUSED_CHUNK = 1024 }; /* elements whose squares a block adds up */

static inline int64_t fused_blocks(const struct fused *s)
{
    return (s->n + FUSED_CHUNK - 1) / FUSED_CHUNK;
}

enum err fused_oracle(const struct case_id *id, const struct case_plan *plan,
                      const struct tensor *const *input, int which, struct case_span span,
                      int threads, struct oracle *o, struct errinfo *e);

/* One element before the trust ratio. */
struct fused_element {
    struct element m, v, u;
};
struct fused_element fused_element(const struct fused *s, double p, double g, double m,
                                   double v);

/* A sum of squares of values known as elements, or exactly (off is 0): and how far a device's
 * is off after `additions`. */
struct fused_squares {
    struct wide sum;
    double error, off;
};
void fused_square(struct fused_squares *q, const struct element *x);
void fused_squares_end(const struct fused *s, struct fused_squares *q, double additions,
                       double count);

extern const struct case_model fused_models[]; /* ends with a NULL name */

bool fused_model(const struct case_id *id, const struct case_plan *plan,
                 const struct tensor *const *input, int which, int model, int64_t n,
                 const int64_t *index, uint64_t *ret_bits);

#endif
