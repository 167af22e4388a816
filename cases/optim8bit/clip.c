/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#include <float.h>
#include <math.h>

/* Updates scaled down to a largest norm. The norm of all updates comes first, in a launch of its
 * own: with the new states m, v
 *
 *   u = (m / c1) / (sqrt(v) / c2 + eps), momentum: m;   unorm = sum u^2
 *   factor = limit / sqrt(unorm) where that norm exceeds the limit, else 1
 *
 * The states are known to the bit. With 2^-24 a unit, u errs by 5 units (fast: two divisions of 5,
 * one root of 4, one of 5, a sum: 20), momentum's by none; the square twice that and one more; a
 * term meets 8 additions in its block and one for each block, in any order: all terms are positive,
 * so the sum errs by those relative errors together. A term may lose 2^-126 where subnormals are
 * flushed, which NVIDIA's atomics do in every mode.
 *
 * The factor errs by half of that, one unit of the root (fast: 4) and one of the division (5); where
 * the norm is next to the limit the factor is next to 1 on either side of it, so the choice adds
 * nothing. Its product with the rate rounds once more (step.c). */

struct clip clip_make(const struct step *s, const struct walk_tensors *t, int64_t n)
{
    const double unit = 0x1p-24;
    bool exact = s->freedom.exact, square = s->rule != RULE_MOMENTUM;
    double blocks = ceil((double)n / WALK_SIZE), sum = 0;
    struct clip c = {.factor = 1};
    for (int64_t i = 0; i < n; i++) {
        struct state old = {(float)tensor_value(t->m, i), 0,
                            t->v ? (float)tensor_value(t->v, i) : 0};
        float p = (float)tensor_value(t->p, i), g = (float)tensor_value(t->g, i);
        struct state new = step_state(s, p, g, &old);
        double u = (double)new.m;
        if (square)
            u = u / (double)s->c1 / (sqrt((double)new.v) / (double)s->c2 + (double)s->eps);
        sum += u * u;
        c.beyond |= !(fabs((double)new.m) < 0x1p60) || !(fabs((double)new.v) < 0x1p120);
    }
    c.sum = sum;
    c.beyond |= !(sum < 0x1p120);
    double terms = (square ? exact ? 10 : 40 : 0) + 1 + 8 + blocks;
    c.relative = terms * unit * (1 + terms * unit);
    c.bound = c.relative * sum + ((double)n + blocks) * 0x1p-125 + (double)n * 0x1p-62 * sum;
    double norm = sqrt(sum);
    if (norm > (double)s->limit)
        c.factor = (double)s->limit / norm;
    c.factor_relative = (c.bound / fmax(sum, DBL_MIN) / 2 + (exact ? 2 : 9) * unit) * (1 + 0x1p-16);
    return c;
}
