/* SPDX-License-Identifier: Apache-2.0 */
#include "hmmastep.h"

#include <stdbool.h>

enum kind { FINITE, INF, NOT_A_NUMBER };

/* sig * 2^(exponent - point) */
struct term {
    enum kind kind;
    bool sign;
    int64_t sig;
    int exponent, point;
};

static const struct hmma_layout f32_layout = {8, 23}, f16_layout = {5, 10};

static struct term term_make(struct hmma_layout l, uint32_t x)
{
    const uint32_t top = (1u << l.exponent) - 1, hidden = 1u << l.fraction;
    const uint32_t field = x >> l.fraction & top, fraction = x & (hidden - 1);
    struct term t = {.sign = x >> (l.exponent + l.fraction) & 1,
                     .sig = field ? hidden | fraction : fraction,
                     .exponent = (int)(field ? field : 1) - (int)(top / 2),
                     .point = l.fraction};
    if (field == top)
        t.kind = fraction ? NOT_A_NUMBER : INF;
    return t;
}

static struct term product(struct hmma_layout l, uint32_t a, uint32_t b)
{
    const struct term x = term_make(l, a), y = term_make(l, b);
    struct term t = {.sign = x.sign != y.sign,
                     .sig = x.sig * y.sig,
                     .exponent = x.exponent + y.exponent,
                     .point = 2 * l.fraction};
    if (x.kind == NOT_A_NUMBER || y.kind == NOT_A_NUMBER)
        t.kind = NOT_A_NUMBER;
    else if (x.kind == INF || y.kind == INF)
        t.kind = t.sig == 0 ? NOT_A_NUMBER : INF;
    return t;
}

/* The terms' common answer if one is not finite. */
static struct term special(const struct term *t, int count)
{
    struct term r = {.kind = FINITE};
    for (int i = 0; i < count; i++) {
        if (t[i].kind == FINITE)
            continue;
        if (t[i].kind == NOT_A_NUMBER || (r.kind == INF && r.sign != t[i].sign))
            return (struct term){.kind = NOT_A_NUMBER};
        r = t[i];
    }
    return r;
}

static int64_t sum_terms(const struct term *t, int count, int *ret_largest)
{
    int largest = HMMA_FLOOR;
    int64_t sum = 0;
    for (int i = 0; i < count; i++)
        if (t[i].sig && t[i].exponent > largest)
            largest = t[i].exponent;
    for (int i = 0; i < count; i++) {
        int down = largest - t[i].exponent;
        int64_t m = !t[i].sig || down > 62 ? 0 : t[i].sig << (HMMA_BITS - t[i].point) >> down;
        sum += t[i].sign ? -m : m;
    }
    *ret_largest = largest;
    return sum;
}

/* The larger of the exponent of a result's last bit and that of the smallest subnormal. */
static int last_bit(uint64_t m, int exponent, struct hmma_layout l)
{
    const int top = 63 - __builtin_clzll(m) + exponent;
    const int least = 2 - (1 << (l.exponent - 1));
    return (top < least ? least : top) - l.fraction;
}

static uint32_t f32_make(int64_t sum, int largest)
{
    if (sum == 0)
        return 0;
    const uint64_t m = sum < 0 ? (uint64_t)-sum : (uint64_t)sum;
    const int exponent = largest - HMMA_BITS, last = last_bit(m, exponent, f32_layout);
    const uint64_t cut = last > exponent ? m >> (last - exponent) : m << (exponent - last);
    const uint64_t bits = ((uint64_t)(last + 149) << 23) + cut;
    return (sum < 0 ? 0x80000000 : 0) | (bits > 0x7f800000 ? 0x7f800000 : (uint32_t)bits);
}

uint16_t hmma_f16_make(int64_t sum, int largest)
{
    if (sum == 0)
        return 0;
    const uint64_t m = sum < 0 ? (uint64_t)-sum : (uint64_t)sum;
    const int exponent = largest - HMMA_BITS, last = last_bit(m, exponent, f16_layout);
    const uint16_t sign = sum < 0 ? 0x8000 : 0;
    const int down = last - exponent;
    uint64_t whole = m;
    if (down > 62)
        return sign;
    if (down <= 0) {
        whole = m << -down;
    } else {
        const uint64_t rest = m & ((UINT64_C(1) << down) - 1), half = UINT64_C(1) << (down - 1);
        whole = (m >> down) + (rest > half || (rest == half && (m >> down & 1)));
    }
    const uint64_t bits = ((uint64_t)(last + 24) << 10) + whole;
    return (uint16_t)(sign | (bits > 0x7c00 ? 0x7c00 : bits));
}

static void products(struct hmma_layout l, int count, const uint32_t *a, const uint32_t *b,
                     struct term *ret)
{
    for (int i = 0; i < count; i++)
        ret[i] = product(l, a[i], b[i]);
}

uint32_t hmma_f32_step(enum hmma_format f, int count, const uint32_t *a, const uint32_t *b,
                       uint32_t c)
{
    struct term t[HMMA_GROUP_MAX + 1];
    int largest;
    products(hmma_layout(f), count, a, b, t);
    t[count] = term_make(f32_layout, c);
    const struct term s = special(t, count + 1);
    if (s.kind != FINITE)
        return s.kind == INF ? (s.sign ? 0xff800000 : 0x7f800000) : 0x7fffffff;
    const int64_t sum = sum_terms(t, count + 1, &largest);
    return f32_make(sum, largest);
}

uint16_t hmma_f16_step(int count, const uint32_t *a, const uint32_t *b, uint16_t c)
{
    struct term t[HMMA_GROUP_MAX + 1];
    int largest;
    products(f16_layout, count, a, b, t);
    t[count] = term_make(f16_layout, c);
    const struct term s = special(t, count + 1);
    if (s.kind != FINITE)
        return s.kind == INF ? (s.sign ? 0xfc00 : 0x7c00) : 0x7fff;
    const int64_t sum = sum_terms(t, count + 1, &largest);
    return hmma_f16_make(sum, largest);
}
