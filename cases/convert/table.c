/* SPDX-License-Identifier: Apache-2.0 */
#include "convert.h"

#include <math.h>

enum { ONE_F32 = 0x3f800000 };

/* Integers: the first number beyond the largest. */
static double end_of(enum dtype to)
{
    return to == DTYPE_I64 ? 0x1p63 : to == DTYPE_U32 ? 0x1p32 : 0x1p31;
}

uint64_t convert_points(enum dtype to)
{
    if (to == DTYPE_I8 || to == DTYPE_U8)
        return to == DTYPE_I8 ? 129 : 256; /* 0.5 to 128.5, 255.5 */
    /* i64 has no rule at its end and beyond: no point and no neighbour of one lies there. */
    if (convert_truncates(to))
        return dtype_round(DTYPE_F32, end_of(to)) - ONE_F32 + 1 - (to == DTYPE_I64 ? 2 : 0);
    return dtype_round(to, INFINITY);
}

static double point(enum dtype to, uint64_t k)
{
    if (to == DTYPE_I8 || to == DTYPE_U8)
        return (double)k + 0.5;
    if (convert_truncates(to))
        return trunc(dtype_value(DTYPE_F32, ONE_F32 + k));
    double low = dtype_value(to, k), high = dtype_value(to, k + 1);
    double gap = isfinite(high) ? high - low : low - dtype_value(to, k - 1);
    return low + gap / 2;
}

static uint64_t tie_bits(enum dtype from, enum dtype to, int64_t i, int64_t n)
{
    uint64_t last = convert_points(to) - 1, groups = ((uint64_t)n + 5) / 6;
    uint64_t group = (uint64_t)i / 6;
    uint64_t k = groups > 1 ? (uint64_t)((unsigned __int128)group * last / (groups - 1)) : 0;
    uint64_t bits = dtype_round(from, point(to, k)) + (uint64_t)(i % 3) - 1;
    uint64_t sign = UINT64_C(1) << (8 * dtype_info(from)->bytes - 1);
    return i / 3 % 2 ? bits | sign : bits;
}

static uint64_t sweep_bits(enum dtype from, struct rng_key key, int64_t i, int64_t n)
{
    unsigned __int128 all = (unsigned __int128)1 << 8 * dtype_info(from)->bytes;
    uint64_t first = (uint64_t)(all * (uint64_t)i / (uint64_t)n);
    uint64_t range = (uint64_t)(all / (uint64_t)n);
    return range > 1 ? first + rng_bits(key, (uint64_t)i, 0) % range : first;
}

bool convert_fill(const struct case_id *id, const struct case_plan *plan, int i,
                  struct case_span span, struct tensor *t)
{
    (void)plan;
    (void)i;
    struct rng_key key = rng_key_make(id->seed, "convert/sweep");
    enum dtype to = convert_to(id);
    if (id->value[P_TABLE].i == TABLE_DIST)
        return false;
    for (int64_t k = span.from; k < span.to; k++)
        tensor_set_bits(t, k,
                        id->value[P_TABLE].i == TABLE_TIES
                            ? tie_bits(t->dtype, to, k, t->count)
                            : sweep_bits(t->dtype, key, k, t->count));
    return true;
}
