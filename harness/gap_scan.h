/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of gap_strip.c over elements of one width, which the compiler makes vectors of.
 * Included once a width with
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

/* Bits seen, is any element not finite, and does any differ? Magnitudes are compared as signed
 * numbers, for which there are vector instructions in every width. */
ALWAYS_INLINE bool NAME(look)(const struct gap_shape *f, const void *a, const void *b, int n,
                              struct gap_look *k)
{
    const WORD *x = a, *y = b;
    const WORD mask = (WORD)f->mask, nan = (WORD)f->sign;
    WORD seen_a = 0, seen_b = 0, unequal = 0, odd = 0;
    SIGNED top = 0;
    for (int i = 0; i < n; i++) {
        SIGNED p = (SIGNED)(x[i] & mask), q = (SIGNED)(y[i] & mask);
        seen_a |= x[i];
        seen_b |= y[i];
        unequal |= x[i] ^ y[i];
        top = p > top ? p : top;
        top = q > top ? q : top;
    }
    for (int i = 0; f->fnuz && i < n; i++)
        odd |= (x[i] == nan) | (y[i] == nan);
    k->seen[0] = seen_a;
    k->seen[1] = seen_b;
    k->odd = odd || (f->is_float && top > (SIGNED)(f->limit - 1));
    return unequal;
}

/* A byte for each element: does it differ, is it not finite on some side? */
ALWAYS_INLINE void NAME(unequal)(const void *a, const void *b, int n, uint8_t *flag)
{
    const WORD *x = a, *y = b;
    for (int i = 0; i < n; i++)
        flag[i] = x[i] != y[i];
}

ALWAYS_INLINE void NAME(strange)(const struct gap_shape *f, const void *a, const void *b, int n,
                                 uint8_t *flag)
{
    const WORD *x = a, *y = b;
    const WORD mask = (WORD)f->mask, nan = (WORD)f->sign;
    const SIGNED last = (SIGNED)(f->limit - 1);
    for (int i = 0; i < n; i++)
        flag[i] = ((SIGNED)(x[i] & mask) > last) | ((SIGNED)(y[i] & mask) > last);
    for (int i = 0; f->fnuz && i < n; i++)
        flag[i] |= (x[i] == nan) | (y[i] == nan);
}

/* How many have the same bits on both sides and are NaN. */
ALWAYS_INLINE int NAME(nans)(const struct gap_shape *f, const void *a, const void *b, int n)
{
    const WORD *x = a, *y = b;
    const WORD mask = (WORD)f->mask, nan = (WORD)f->sign;
    const SIGNED last = (SIGNED)(f->nan - 1);
    int count = 0;
    for (int i = 0; !f->fnuz && i < n; i++)
        count += (x[i] == y[i]) & ((SIGNED)(x[i] & mask) > last);
    for (int i = 0; f->fnuz && i < n; i++)
        count += (x[i] == y[i]) & (x[i] == nan);
    return count;
}

/* Puts the elements of a mask side by side; returns how many. */
ALWAYS_INLINE int NAME(gather)(const void *a, const void *b, const uint64_t *mask, int n,
                               void *to_a, void *to_b, int *index)
{
    const WORD *x = a, *y = b;
    WORD *p = to_a, *q = to_b;
    int k = 0;
    for (int from = 0; from < n; from += 64)
        for (uint64_t m = mask[from / 64]; m; m &= m - 1, k++) {
            index[k] = from + __builtin_ctzll(m);
            p[k] = x[index[k]];
            q[k] = y[index[k]];
        }
    return k;
}

#ifndef GAP_WIDE
/* Signed distances, modulo 2^32; false when one does not fit. */
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

/* -1 where a distance is negative, else 0. */
ALWAYS_INLINE void NAME(below)(const struct gap_shape *f, const void *a, const void *b, int n,
                               int32_t *below)
{
    const WORD *x = a, *y = b;
    const WORD mask = (WORD)f->mask, sign = (WORD)f->sign, flip = (WORD)f->flip;
    if (f->is_float) {
        for (int i = 0; i < n; i++) {
            SIGNED p = (SIGNED)(x[i] & mask), q = (SIGNED)(y[i] & mask);
            SIGNED s = (SIGNED)(0 - (SIGNED)((x[i] & sign) != 0));
            SIGNED t = (SIGNED)(0 - (SIGNED)((y[i] & sign) != 0));
            below[i] = -((SIGNED)((q ^ t) - t) < (SIGNED)((p ^ s) - s));
        }
    } else {
        for (int i = 0; i < n; i++)
            below[i] = -((SIGNED)(WORD)(y[i] ^ flip) < (SIGNED)(WORD)(x[i] ^ flip));
    }
}
#else
/* Signed distances in 64 bits, modulo 2^64; false when one does not fit. */
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
#endif

/* The largest |b - a|. Magnitudes are compared by their bits, which order as they do: that the
 * compiler can make vectors of. */
ALWAYS_INLINE double NAME(absolute)(const struct gap_shape *f, const void *a, const void *b,
                                    int n)
{
    const WORD *x = a, *y = b;
    union {
        double value[GAP_STRIP];
        int64_t bits[GAP_STRIP];
    } gap;
    int64_t far = 0;
    if (f->d == DTYPE_F32 || f->d == DTYPE_F64)
        for (int i = 0; i < n; i++)
            gap.value[i] = fabs((double)NAME(to_float)(y[i]) - (double)NAME(to_float)(x[i]));
    else
        for (int i = 0; i < n; i++)
            gap.value[i] = fabs(float_value(f, y[i]) - float_value(f, x[i]));
    for (int i = 0; i < n; i++)
        far = gap.bits[i] > far ? gap.bits[i] : far;
    return double_from_bits((uint64_t)far);
}

/* How many elements are nearer to zero on the first side, how many on the second; the least and
 * the largest magnitude of all. */
ALWAYS_INLINE void NAME(order)(const struct gap_shape *f, const void *a, const void *b, int n,
                               struct gap_order *o)
{
    const WORD *x = a, *y = b;
    const WORD mask = (WORD)f->mask;
    SIGNED least = (SIGNED)(f->sign - 1), top = 0;
    int less = 0, more = 0;
    for (int i = 0; i < n; i++) {
        SIGNED p = (SIGNED)(x[i] & mask), q = (SIGNED)(y[i] & mask);
        SIGNED low = p < q ? p : q, high = p < q ? q : p;
        less += p < q;
        more += p > q;
        least = low < least ? low : least;
        top = high > top ? high : top;
    }
    o->smaller[0] = less;
    o->smaller[1] = more;
    o->least = (uint64_t)least;
    o->top = (uint64_t)top;
}

/* Counts of elements that are zero against a subnormal number, on the first side or on the
 * second, or zeros of two signs. */
ALWAYS_INLINE void NAME(zeros)(const struct gap_shape *f, const void *a, const void *b, int n,
                               struct gap_marks *m)
{
    const WORD *x = a, *y = b;
    const WORD mask = (WORD)f->mask, normal = (WORD)f->normal;
    int flushed_a = 0, flushed_b = 0, sign = 0;
    for (int i = 0; i < n; i++) {
        WORD p = x[i] & mask, q = y[i] & mask;
        flushed_a += (p == 0) & (q != 0) & (q < normal);
        flushed_b += (q == 0) & (p != 0) & (p < normal);
        sign += (p == 0) & (q == 0) & (x[i] != y[i]);
    }
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
        s += h ^ h >> 15;
    }
    *sum = s;
}

#undef WORD
#undef SIGNED
#undef FLOAT
#undef NAME
