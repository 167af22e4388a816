/* SPDX-License-Identifier: Apache-2.0 */
#include "drift.h"

#include <math.h>
#include <stdio.h>

struct sums {
    double apart, effect;
};

static void sums_add(struct sums *s, const struct tensor *a, const struct tensor *b,
                     const struct oracle *o, int64_t i)
{
    double x = tensor_value(a, i), y = b ? tensor_value(b, i) : o->value[i];
    if (!isfinite(x) || !isfinite(y) || !isfinite(o->drop[i]))
        return;
    s->apart += (y - x) * (y - x);
    s->effect += o->drop[i] * o->drop[i];
}

static double ratio(const struct sums *s)
{
    return s->apart == 0 ? 0 : sqrt(s->apart / s->effect);
}

struct drift drift_make(const struct tensor *a, const struct tensor *b, const struct oracle *o)
{
    struct sums all = {0}, last = {0};
    int64_t width = a->rank && a->dim[0] > 1 ? a->count / a->dim[0] : 0;
    for (int64_t i = width; width && i < a->count; i++) {
        sums_add(&all, a, b, o, i);
        if (i >= a->count - width)
            sums_add(&last, a, b, o, i);
    }
    return (struct drift){all.effect > 0, ratio(&all), ratio(&last)};
}

void drift_print(const struct drift *d, bool one_sided, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "%s %.3g of what quantization changes (last step %.3g)",
             one_sided ? "A is off by" : "A-B is", d->all, d->last);
}
