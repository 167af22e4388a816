/* SPDX-License-Identifier: Apache-2.0 */
#include "noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "poison.h"

enum err noise_init(struct noise *n, const struct tensor *first, struct errinfo *e)
{
    *n = (struct noise){.first = first};
    n->moved = calloc((size_t)first->count + 1, 1);
    return n->moved ? ERR_OK : err_set(e, ERR_NOMEM, "out of memory");
}

void noise_release(struct noise *n)
{
    free(n->moved);
    memset(n, 0, sizeof *n);
}

static bool same(const struct noise *n, uint64_t x, uint64_t y, uint64_t poison)
{
    enum dtype d = n->first->dtype;
    return x == y || (dtype_is_nan(d, x) && dtype_is_nan(d, y)) ||
           (x == poison_bits(d) && y == poison);
}

void noise_add(struct noise *n, const struct tensor *again, enum noise_kind kind,
               uint64_t poison)
{
    n->runs += kind == NOISE_ORDER;
    for (int64_t i = 0; i < n->first->count; i++) {
        if (same(n, tensor_bits(n->first, i), tensor_bits(again, i), poison))
            continue;
        n->moved[i] |= (uint8_t)kind;
        double off = fabs(tensor_value(again, i) - tensor_value(n->first, i));
        if (kind != NOISE_ORDER || !isfinite(off))
            continue;
        n->largest = fmax(n->largest, off);
        n->squares += off * off;
    }
}

int64_t noise_unstable(const struct noise *n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n->first->count; i++)
        count += n->moved[i] & NOISE_ORDER;
    return count;
}

int64_t noise_stale(const struct noise *n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n->first->count; i++)
        count += n->moved[i] == NOISE_MEMORY;
    return count;
}

double noise_rms(const struct noise *n)
{
    double all = (double)n->first->count * (double)n->runs;
    return all > 0 ? sqrt(n->squares / all) : 0;
}
