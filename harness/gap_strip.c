/* SPDX-License-Identifier: Apache-2.0 */
#include "gap_strip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "doublebits.h"
#include "ulp.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

struct gap_shape gap_shape_make(enum dtype d)
{
    const struct dtype_info *i = dtype_info(d);
    struct gap_shape f = {
        .d = d, .width = 8 * i->bytes, .is_float = i->kind == DTYPE_KIND_FLOAT};
    f.sign = 1ULL << (f.width - 1);
    f.flip = f.is_float || i->kind == DTYPE_KIND_INT ? 0 : f.sign;
    f.step = 1;
    if (!f.is_float)
        return f;
    f.fnuz = i->specials == DTYPE_SPECIALS_FNUZ;
    f.unused = f.width - 1 - i->exponent - i->fraction;
    f.mask = (f.sign - 1) >> f.unused << f.unused;
    f.shift = 52 - i->fraction - f.unused;
    f.limit = (dtype_round(d, dtype_max(d)) & f.mask) + (1ULL << f.unused);
    f.nan = f.limit + ((uint64_t)(i->specials == DTYPE_SPECIALS_IEEE) << f.unused);
    f.normal = 1ULL << (i->fraction + f.unused);
    f.scale = ldexp(1, 1023 - i->bias);
    f.step = ldexp(1, -i->fraction);
    return f;
}

/* A finite number of a format of at most 32 bits. */
ALWAYS_INLINE double float_value(const struct gap_shape *f, uint32_t bits)
{
    double x = double_from_bits((uint64_t)(bits & (uint32_t)f->mask) << f->shift) * f->scale;
    return bits & (uint32_t)f->sign ? -x : x;
}

struct gap_order {
    int smaller[2];
    uint64_t least, top;
};

#define WORD uint8_t
#define SIGNED int8_t
#define FLOAT float
#define NAME(x) x##_8
ALWAYS_INLINE float to_float_8(uint8_t bits)
{
    return bits; /* there is no such type */
}
#define GAP_NO_FLOAT
#include "gap_scan.h"

#define WORD uint16_t
#define SIGNED int16_t
#define FLOAT float
#define NAME(x) x##_16
ALWAYS_INLINE float to_float_16(uint16_t bits)
{
    return bits;
}
#include "gap_scan.h"
#undef GAP_NO_FLOAT

#define WORD uint32_t
#define SIGNED int32_t
#define FLOAT float
#define NAME(x) x##_32
#include "gap_scan.h"

#define WORD uint64_t
#define SIGNED int64_t
#define FLOAT double
#define NAME(x) x##_64
#define GAP_WIDE
#include "gap_scan.h"
#undef GAP_WIDE
/* BY_WIDTH(f, call) calls the function for the format's width. */
#define BY_NARROW_WIDTH(f, name, ...)                                                          \
    ((f)->width == 32   ? name##_32(__VA_ARGS__)                                               \
     : (f)->width == 16 ? name##_16(__VA_ARGS__)                                               \
                        : name##_8(__VA_ARGS__))
#define BY_WIDTH(f, name, ...)                                                                 \
    ((f)->width == 32   ? name##_32(__VA_ARGS__)                                               \
     : (f)->width == 16 ? name##_16(__VA_ARGS__)                                               \
     : (f)->width == 8  ? name##_8(__VA_ARGS__)                                                \
                        : name##_64(__VA_ARGS__))

/* --- the first look --- */

/* A bit for each byte of 0 or 1; the multiplication moves eight of them next to each other. */
ALWAYS_INLINE void pack_flags(uint8_t *flag, int n, uint64_t *mask)
{
    memset(flag + n, 0, (size_t)(-n & 63));
    for (int from = 0; from < n; from += 64) {
        uint64_t bits = 0, word;
        for (int i = 0; i < 8; i++) {
            memcpy(&word, flag + from + 8 * i, sizeof word);
            bits |= word * 0x0102040810204080 >> 56 << 8 * i;
        }
        mask[from / 64] = bits;
    }
}

ALWAYS_INLINE void strip_look(const struct gap_shape *f, const void *a, const void *b, int n,
                              struct gap_look *k)
{
    uint8_t flag[GAP_STRIP];
    bool unequal = BY_WIDTH(f, look, f, a, b, n, k);
    k->differ = 0;
    if (!unequal && !k->odd)
        return;
    BY_WIDTH(f, unequal, a, b, n, flag);
    pack_flags(flag, n, k->unequal);
    if (k->odd) {
        BY_WIDTH(f, strange, f, a, b, n, flag);
        pack_flags(flag, n, k->strange);
        k->nan_same = BY_WIDTH(f, nans, f, a, b, n);
    }
    for (int i = 0; 64 * i < n; i++)
        k->differ +=
            __builtin_popcountll(k->odd ? k->unequal[i] & ~k->strange[i] : k->unequal[i]);
}

ALWAYS_INLINE int strip_gather(const struct gap_shape *f, const void *a, const void *b,
                               const uint64_t *mask, int n, void *to_a, void *to_b, int *index)
{
    return BY_WIDTH(f, gather, a, b, mask, n, to_a, to_b, index);
}

/* --- distances --- */

ALWAYS_INLINE void near_ends(const struct gap_distances *d, int n, struct gap_strip *s)
{
    int32_t low = 0, high = 0;
    for (int i = 0; i < n; i++) {
        low = d->near[i] < low ? d->near[i] : low;
        high = d->near[i] > high ? d->near[i] : high;
    }
    s->up = (uint64_t)high;
    s->down = 0 - (uint64_t)low;
}

/* Of distances whose sign is known from elsewhere. */
ALWAYS_INLINE void signed_ends(const struct gap_distances *d, int n, struct gap_strip *s)
{
    uint32_t up = 0, down = 0;
    for (int i = 0; i < n; i++) {
        uint32_t x = (uint32_t)d->near[i] & ~(uint32_t)d->below[i];
        uint32_t y = (0 - (uint32_t)d->near[i]) & (uint32_t)d->below[i];
        up = x > up ? x : up;
        down = y > down ? y : down;
    }
    s->up = up;
    s->down = down;
}

ALWAYS_INLINE void far_ends(const struct gap_distances *d, int n, struct gap_strip *s)
{
    int64_t low = 0, high = 0;
    for (int i = 0; i < n; i++) {
        low = d->far[i] < low ? d->far[i] : low;
        high = d->far[i] > high ? d->far[i] : high;
    }
    s->up = (uint64_t)high;
    s->down = 0 - (uint64_t)low;
}

ALWAYS_INLINE void far_split(struct gap_distances *d, int n)
{
    for (int i = 0; i < n; i++)
        d->below[i] = d->far[i] < 0 ? -1 : 0;
    for (int i = 0; i < n; i++)
        d->far[i] = d->far[i] < 0 ? (int64_t)(0 - (uint64_t)d->far[i]) : d->far[i];
}

/* Distances that go beyond 2^63 are right modulo 2^64, if one knows the sign. */
static void wide_split(const struct gap_shape *f, const uint64_t *a, const uint64_t *b, int n,
                       struct gap_distances *d, struct gap_strip *s)
{
    s->up = s->down = 0;
    for (int i = 0; i < n; i++) {
        bool below = ulp_position(f->d, b[i]) < ulp_position(f->d, a[i]);
        uint64_t far = below ? 0 - (uint64_t)d->far[i] : (uint64_t)d->far[i];
        d->below[i] = -below;
        d->far[i] = (int64_t)far;
        s->up = !below && far > s->up ? far : s->up;
        s->down = below && far > s->down ? far : s->down;
    }
}

ALWAYS_INLINE void distances_64(const struct gap_shape *f, const void *a, const void *b, int n,
                                struct gap_distances *d, struct gap_strip *s)
{
    bool fits = far_64(f, a, b, n, d->far);
    if (fits)
        far_ends(d, n, s);
    s->near = fits && s->up <= INT32_MAX && s->down <= INT32_MAX;
    for (int i = 0; s->near && i < n; i++)
        d->near[i] = (int32_t)d->far[i];
    if (!fits)
        wide_split(f, a, b, n, d, s);
    else if (!s->near)
        far_split(d, n);
}

ALWAYS_INLINE void strip_distances(const struct gap_shape *f, const void *a, const void *b,
                                   int n, struct gap_distances *d, struct gap_strip *s)
{
    bool fits = f->width == 64 || BY_NARROW_WIDTH(f, near, f, a, b, n, d->near);
    s->near = true;
    if (f->width == 64) {
        distances_64(f, a, b, n, d, s);
    } else if (fits) {
        near_ends(d, n, s);
    } else {
        BY_NARROW_WIDTH(f, below, f, a, b, n, d->below);
        signed_ends(d, n, s);
    }
    s->far = s->up > s->down ? s->up : s->down;
    for (int i = 0; s->near && fits && s->far >= GAP_NEAR && i < n; i++)
        d->below[i] = d->near[i] >> 31;
}

/* |b - a| is at most as many steps as lie between, each of the size that they have at the
 * largest magnitude: mostly that is no news. */
ALWAYS_INLINE bool is_news(const struct gap_shape *f, const struct gap_strip *s, uint64_t top,
                           double known)
{
    uint64_t exponent = f->mask & ~(f->normal - 1) & top;
    double binade =
        double_from_bits((exponent > f->normal ? exponent : f->normal) << f->shift) * f->scale;
    return !((double)s->far * (binade * f->step) * (1 + 0x1p-50) <= known);
}

/* Everything that can be said of a strip without looking at elements one by one. */
ALWAYS_INLINE void strip_scan(const struct gap_shape *f, const void *a, const void *b, int n,
                              double known, struct gap_distances *d, struct gap_strip *s)
{
    struct gap_order o;
    *s = (struct gap_strip){0};
    strip_distances(f, a, b, n, d, s);
    BY_WIDTH(f, values, a, n, &s->values[0]);
    BY_WIDTH(f, values, b, n, &s->values[1]);
    s->absolute = (double)s->far;
    if (!f->is_float)
        return;
    BY_WIDTH(f, order, f, a, b, n, &o);
    s->marks.smaller[0] = o.smaller[0];
    s->marks.smaller[1] = o.smaller[1];
    if (!o.least)
        BY_WIDTH(f, zeros, f, a, b, n, &s->marks);
    s->absolute = is_news(f, s, o.top, known) ? BY_WIDTH(f, absolute, f, a, b, n) : 0;
}

/* Up to GAP_NEAR a cell is the magnitude; from there on the exponent and the bits behind it,
 * from a float: of half of it, which fits an int. Clearing bits 12 places below each set one
 * keeps its rounding from going up. */
ALWAYS_INLINE void strip_cells(const struct gap_distances *d, int n, struct gap_cells *c)
{
    const int32_t shift = (127 + 6) * GAP_BINADE - GAP_NEAR;
    uint32_t size[GAP_STRIP];
    union {
        float value[GAP_STRIP];
        int32_t bits[GAP_STRIP];
    } x;
    int64_t sum = 0;
    uint64_t low = 0, high = 0;
    for (int i = 0; i < n; i++) {
        size[i] = ((uint32_t)d->near[i] ^ (uint32_t)d->below[i]) - (uint32_t)d->below[i];
        int32_t half = (int32_t)(size[i] >> 1);
        x.value[i] = (float)(half & ~(half >> 12));
    }
    for (int i = 0; i < n; i++) {
        int32_t far = (x.bits[i] >> 17) - shift, s = d->below[i];
        int32_t cell = size[i] < GAP_NEAR ? (int32_t)size[i] : far;
        c->cell[i] = (uint16_t)((cell ^ s) - s + GAP_CELLS_32 / 2);
    }
    for (int i = 0; i < n; i++) {
        int64_t s = d->below[i];
        sum += ((int64_t)size[i] ^ s) - s;
    }
    for (int i = 0; i < n; i++) {
        uint64_t square = (uint64_t)size[i] * size[i];
        low += square & UINT32_MAX;
        high += square >> 32;
    }
    c->sum = sum;
    c->square = ((unsigned __int128)high << 32) + low;
}

/* --- for each processor --- */

#if defined __x86_64__ && !defined GAP_GENERIC
#define WITH_AVX2 __attribute__((target("avx2,bmi,popcnt")))
#define HAS_AVX2                                                                               \
    (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&                        \
     __builtin_cpu_supports("popcnt"))
#else
#define WITH_AVX2
#define HAS_AVX2 false
#endif

WITH_AVX2 static void look_avx2(const struct gap_shape *f, const void *a, const void *b, int n,
                                struct gap_look *k)
{
    strip_look(f, a, b, n, k);
}

void gap_strip_look(const struct gap_shape *f, const void *a, const void *b, int n,
                    struct gap_look *k)
{
    if (HAS_AVX2)
        look_avx2(f, a, b, n, k);
    else
        strip_look(f, a, b, n, k);
}

WITH_AVX2 static int gather_avx2(const struct gap_shape *f, const void *a, const void *b,
                                 const uint64_t *mask, int n, void *to_a, void *to_b,
                                 int *index)
{
    return strip_gather(f, a, b, mask, n, to_a, to_b, index);
}

int gap_strip_gather(const struct gap_shape *f, const void *a, const void *b,
                     const uint64_t *mask, int n, void *to_a, void *to_b, int *index)
{
    return HAS_AVX2 ? gather_avx2(f, a, b, mask, n, to_a, to_b, index)
                    : strip_gather(f, a, b, mask, n, to_a, to_b, index);
}

WITH_AVX2 static void scan_avx2(const struct gap_shape *f, const void *a, const void *b, int n,
                                double known, struct gap_distances *d, struct gap_strip *s)
{
    strip_scan(f, a, b, n, known, d, s);
}

void gap_strip_scan(const struct gap_shape *f, const void *a, const void *b, int n,
                    double known, struct gap_distances *d, struct gap_strip *s)
{
    if (HAS_AVX2)
        scan_avx2(f, a, b, n, known, d, s);
    else
        strip_scan(f, a, b, n, known, d, s);
}

WITH_AVX2 static void cells_avx2(const struct gap_distances *d, int n, struct gap_cells *c)
{
    strip_cells(d, n, c);
}

void gap_strip_cells(const struct gap_distances *d, int n, struct gap_cells *c)
{
    if (HAS_AVX2)
        cells_avx2(d, n, c);
    else
        strip_cells(d, n, c);
}

/* Little-endian: the low bytes, which are all that a narrow format has, come first. */
void gap_strip_values(const struct gap_shape *f, const void *data, int n, uint32_t *sum)
{
    BY_WIDTH(f, values, data, n, sum);
}
