/* SPDX-License-Identifier: Apache-2.0 */
#include "drift.h"

#include <math.h>
#include <stdio.h>

static double ratio(double apart, double effect)
{
    return apart == 0 ? 0 : sqrt(apart / effect);
}

static void element_add(struct drift_sums *s, const struct tensor *a, const struct tensor *b,
                        const struct oracle *o, int64_t i, bool last)
{
    double x = tensor_value(a, i), y = b ? tensor_value(b, i) : o->value[i];
    double apart = (y - x) * (y - x), effect = o->drop[i] * o->drop[i];
    if (!isfinite(x) || !isfinite(y) || !isfinite(o->drop[i]))
        return;
    s->apart += apart;
    s->effect += effect;
    s->last_apart += last ? apart : 0;
    s->last_effect += last ? effect : 0;
}

void drift_add(struct drift_sums *s, const struct tensor *a, const struct tensor *b,
               const struct oracle *o, struct case_span window)
{
    int64_t width = a->rank && a->dim[0] > 1 ? a->count / a->dim[0] : 0;
    for (int64_t i = window.from > width ? window.from : width; width && i < window.to; i++)
        element_add(s, a, b, o, i, i >= a->count - width);
}

struct drift drift_end(const struct drift_sums *s)
{
    return (struct drift){s->effect > 0, ratio(s->apart, s->effect),
                          ratio(s->last_apart, s->last_effect)};
}

struct drift drift_make(const struct tensor *a, const struct tensor *b, const struct oracle *o)
{
    struct drift_sums s = {0};
    drift_add(&s, a, b, o, (struct case_span){0, a->count});
    return drift_end(&s);
}

void drift_print(const struct drift *d, bool one_sided, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "%s %.3g of what quantization changes (last step %.3g)",
             one_sided ? "A is off by" : "A-B is", d->all, d->last);
}
