/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of gap_strip.c over elements of one width, which the compiler makes vectors of. Included
 * once a width with
 *
 *   WORD    the unsigned type of an element      SIGNED  its positions, with room for a sign
 *   FLOAT   the floating type of that size, if    NAME(x) x with the width behind it
 *           there is one; else any
 *
 * Each takes GAP_STRIP elements at most. */

#ifndef GAP_NO_FLOAT
ALWAYS_INLINE FLOAT NAME(to_float)(WORD bits)
{
    FLOAT x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
#endif

/* Bits seen, and is any element not finite? */
ALWAYS_INLINE bool NAME(special)(const struct gap_shape *f, const void *data, int n, uint64_t *bits)
{
    const WORD *x = data;
    const WORD mask = (WORD)f->mask, last = (WORD)(f->limit - 1), nan = (WORD)f->sign;
    WORD seen = 0;
    unsigned odd = 0;
    for (int i = 0; i < n; i++)
        seen |= x[i];
    for (int i = 0; f->is_float && i < n; i++)
        odd |= (WORD)(x[i] & mask) > last;
    for (int i = 0; f->fnuz && i < n; i++)
        odd |= x[i] == nan;
    *bits |= seen;
    return odd;
}

#ifndef GAP_WIDE
/* Signed distances in 32 bits; false when one does not fit. */
ALWAYS_INLINE bool NAME(near)(const struct gap_shape *f, const void *a, const void *b, int n,
                                  int32_t *d)
{
    const WORD *x = a, *y = b;
    const WORD mask = (WORD)f->mask, sign = (WORD)f->sign, flip = (WORD)f->flip;
    const int unused = f->unused;
    int32_t out = 0;
    if (f->is_float) {
        for (int i = 0; i < n; i++) {
            SIGNED p = (SIGNED)((x[i] & mask) >> unused), q = (SIGNED)((y[i] & mask) >> unused);
            SIGNED s = (SIGNED)(0 - (SIGNED)((x[i] & sign) != 0));
            SIGNED t = (SIGNED)(0 - (SIGNED)((y[i] & sign) != 0));
            int32_t from = (SIGNED)((p ^ s) - s), to = (SIGNED)((q ^ t) - t);
            d[i] = (int32_t)((uint32_t)to - (uint32_t)from);
            out |= (from ^ to) & (to ^ d[i]);
        }
    } else {
        for (int i = 0; i < n; i++) {
            int32_t from = (SIGNED)(WORD)(x[i] ^ flip), to = (SIGNED)(WORD)(y[i] ^ flip);
            d[i] = (int32_t)((uint32_t)to - (uint32_t)from);
            out |= (from ^ to) & (to ^ d[i]);
        }
    }
    return out >= 0;
}

#endif

/* Signed distances in 64 bits; false when one does not fit. */
ALWAYS_INLINE bool NAME(far)(const struct gap_shape *f, const void *a, const void *b, int n,
                                  int64_t *d)
{
    const WORD *x = a, *y = b;
    const WORD mask = (WORD)f->mask, sign = (WORD)f->sign, flip = (WORD)f->flip;
    const int unused = f->unused;
    int64_t out = 0;
    if (f->is_float) {
        for (int i = 0; i < n; i++) {
            SIGNED p = (SIGNED)((x[i] & mask) >> unused), q = (SIGNED)((y[i] & mask) >> unused);
            SIGNED s = (SIGNED)(0 - (SIGNED)((x[i] & sign) != 0));
            SIGNED t = (SIGNED)(0 - (SIGNED)((y[i] & sign) != 0));
            int64_t from = (SIGNED)((p ^ s) - s), to = (SIGNED)((q ^ t) - t);
            d[i] = (int64_t)((uint64_t)to - (uint64_t)from);
            out |= (from ^ to) & (to ^ d[i]);
        }
    } else {
        for (int i = 0; i < n; i++) {
            int64_t from = (SIGNED)(WORD)(x[i] ^ flip), to = (SIGNED)(WORD)(y[i] ^ flip);
            d[i] = (int64_t)((uint64_t)to - (uint64_t)from);
            out |= (from ^ to) & (to ^ d[i]);
        }
    }
    return out >= 0;
}

/* How many are equal, and the largest |b - a|. Magnitudes are compared by their bits, which order
 * as they do: that the compiler can make vectors of. */
ALWAYS_INLINE int NAME(compare)(const struct gap_shape *f, const void *a, const void *b, int n,
                                double *absolute)
{
    const WORD *x = a, *y = b;
    union {
        double value[GAP_STRIP];
        int64_t bits[GAP_STRIP];
    } gap;
    int equal = 0;
    int64_t far = 0;
    for (int i = 0; i < n; i++)
        equal += x[i] == y[i];
    if (!f->is_float)
        return equal;
    if (f->d == DTYPE_F32 || f->d == DTYPE_F64)
        for (int i = 0; i < n; i++)
            gap.value[i] = fabs((double)NAME(to_float)(y[i]) - (double)NAME(to_float)(x[i]));
    else
        for (int i = 0; i < n; i++)
            gap.value[i] = fabs(float_value(f, y[i]) - float_value(f, x[i]));
    for (int i = 0; i < n; i++)
        far = gap.bits[i] > far ? gap.bits[i] : far;
    *absolute = from_bits((uint64_t)far);
    return equal;
}

/* Counts of differing elements that are nearer to zero, or zero against a subnormal number, on
 * the first side or on the second. */
ALWAYS_INLINE void NAME(marks)(const struct gap_shape *f, const void *a, const void *b, int n,
                               struct gap_marks *m)
{
    const WORD *x = a, *y = b;
    const WORD mask = (WORD)f->mask, normal = (WORD)f->normal;
    int less = 0, more = 0, flushed_a = 0, flushed_b = 0, sign = 0;
    for (int i = 0; i < n; i++) {
        WORD p = x[i] & mask, q = y[i] & mask;
        less += p < q;
        more += p > q;
        flushed_a += (p == 0) & (q != 0) & (q < normal);
        flushed_b += (q == 0) & (p != 0) & (p < normal);
        sign += (p == 0) & (q == 0) & (x[i] != y[i]);
    }
    m->smaller[0] += less;
    m->smaller[1] += more;
    m->flushed[0] += flushed_a;
    m->flushed[1] += flushed_b;
    m->zero_sign += sign;
}

/* Sums that do not depend on the order of the values. */
ALWAYS_INLINE void NAME(values)(const void *a, int n, uint32_t *sum)
{
    const WORD *x = a;
    uint32_t s = *sum;
    for (int i = 0; i < n; i++) {
        uint32_t h = (uint32_t)x[i] ^ (uint32_t)((uint64_t)x[i] >> 32) * 0x85ebca6bu;
        h *= 0x9e3779b1u;
        h ^= h >> 15;
        s += h * (h | 1);
    }
    *sum = s;
}

/* How many differ. */
ALWAYS_INLINE int NAME(count)(const void *a, const void *b, int n)
{
    const WORD *x = a, *y = b;
    int equal = 0;
    for (int i = 0; i < n; i++)
        equal += x[i] == y[i];
    return n - equal;
}

/* The first element that differs from `from` on; n if none. */
ALWAYS_INLINE int NAME(unequal)(const void *a, const void *b, int from, int n)
{
    const WORD *x = a, *y = b;
    for (; from + BLOCK <= n; from += BLOCK) {
        WORD any = 0;
        for (int i = 0; i < BLOCK; i++)
            any |= x[from + i] ^ y[from + i];
        if (any)
            break;
    }
    while (from < n && x[from] == y[from])
        from++;
    return from;
}

#undef WORD
#undef SIGNED
#undef FLOAT
#undef NAME
