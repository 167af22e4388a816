/* SPDX-License-Identifier: Apache-2.0 */
#include "gap_strip.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 16 };
#define ALWAYS_INLINE static inline __attribute__((always_inline))

struct gap_shape gap_shape_make(enum dtype d)
{
    const struct dtype_info *i = dtype_info(d);
    struct gap_shape f = {
        .d = d, .width = 8 * i->bytes, .is_float = i->kind == DTYPE_KIND_FLOAT};
    f.sign = 1ULL << (f.width - 1);
    f.flip = f.is_float || i->kind == DTYPE_KIND_INT ? 0 : f.sign;
    if (!f.is_float)
        return f;
    f.fnuz = i->specials == DTYPE_SPECIALS_FNUZ;
    f.unused = f.width - 1 - i->exponent - i->fraction;
    f.mask = (f.sign - 1) >> f.unused << f.unused;
    f.shift = 52 - i->fraction - f.unused;
    f.limit = (dtype_round(d, dtype_max(d)) & f.mask) + (1ULL << f.unused);
    f.normal = 1ULL << (i->fraction + f.unused);
    f.scale = ldexp(1, 1023 - i->bias);
    return f;
}

static inline double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A finite number of a format of at most 32 bits. */
ALWAYS_INLINE double float_value(const struct gap_shape *f, uint32_t bits)
{
    double x = from_bits((uint64_t)(bits & (uint32_t)f->mask) << f->shift) * f->scale;
    return bits & (uint32_t)f->sign ? -x : x;
}

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
ALWAYS_INLINE bool near_64(const struct gap_shape *f, const void *a, const void *b, int n,
                           int32_t *d)
{
    (void)f, (void)a, (void)b, (void)n, (void)d;
    return false;
}

/* BY_WIDTH(f, call) calls the function for the format's width. */
#define BY_WIDTH(f, name, ...)                                                                 \
    ((f)->width == 32   ? name##_32(__VA_ARGS__)                                               \
     : (f)->width == 16 ? name##_16(__VA_ARGS__)                                               \
     : (f)->width == 8  ? name##_8(__VA_ARGS__)                                                \
                        : name##_64(__VA_ARGS__))

ALWAYS_INLINE bool strip_special(const struct gap_shape *f, const void *data, int n,
                                 uint64_t *bits)
{
    return BY_WIDTH(f, special, f, data, n, bits);
}

/* Everything that can be said of a strip without looking at elements one by one. */
ALWAYS_INLINE bool strip_scan(const struct gap_shape *f, const void *a, const void *b, int n,
                              union gap_distances *d, struct gap_strip *s)
{
    s->near = BY_WIDTH(f, near, f, a, b, n, d->near);
    if (s->near) {
        int32_t low = 0, high = 0;
        for (int i = 0; i < n; i++) {
            low = d->near[i] < low ? d->near[i] : low;
            high = d->near[i] > high ? d->near[i] : high;
        }
        s->low = low;
        s->high = high;
    } else {
        if (!BY_WIDTH(f, far, f, a, b, n, d->far))
            return false;
        int64_t low = 0, high = 0;
        for (int i = 0; i < n; i++) {
            low = d->far[i] < low ? d->far[i] : low;
            high = d->far[i] > high ? d->far[i] : high;
        }
        s->low = low;
        s->high = high;
    }
    uint64_t up = (uint64_t)s->high, down = 0 - (uint64_t)s->low;
    s->far = up > down ? up : down;
    s->equal = BY_WIDTH(f, compare, f, a, b, n, &s->absolute);
    if (f->is_float)
        BY_WIDTH(f, marks, f, a, b, n, &s->marks);
    else
        s->absolute = (double)s->far;
    BY_WIDTH(f, values, a, n, &s->values[0]);
    BY_WIDTH(f, values, b, n, &s->values[1]);
    return true;
}

ALWAYS_INLINE int strip_count(const struct gap_shape *f, const void *a, const void *b, int n)
{
    return BY_WIDTH(f, count, a, b, n);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static int count_avx2(const struct gap_shape *f, const void *a,
                                                      const void *b, int n)
{
    return strip_count(f, a, b, n);
}

int gap_strip_count(const struct gap_shape *f, const void *a, const void *b, int n)
{
    return __builtin_cpu_supports("avx2") ? count_avx2(f, a, b, n) : strip_count(f, a, b, n);
}

__attribute__((target("avx2"))) static bool
special_avx2(const struct gap_shape *f, const void *data, int n, uint64_t *bits)
{
    return strip_special(f, data, n, bits);
}

__attribute__((target("avx2"))) static bool scan_avx2(const struct gap_shape *f, const void *a,
                                                      const void *b, int n,
                                                      union gap_distances *d,
                                                      struct gap_strip *s)
{
    return strip_scan(f, a, b, n, d, s);
}

bool gap_strip_special(const struct gap_shape *f, const void *data, int n, uint64_t *bits)
{
    return __builtin_cpu_supports("avx2") ? special_avx2(f, data, n, bits)
                                          : strip_special(f, data, n, bits);
}

bool gap_strip_scan(const struct gap_shape *f, const void *a, const void *b, int n,
                    union gap_distances *d, struct gap_strip *s)
{
    return __builtin_cpu_supports("avx2") ? scan_avx2(f, a, b, n, d, s)
                                          : strip_scan(f, a, b, n, d, s);
}
#else
int gap_strip_count(const struct gap_shape *f, const void *a, const void *b, int n)
{
    return strip_count(f, a, b, n);
}

bool gap_strip_special(const struct gap_shape *f, const void *data, int n, uint64_t *bits)
{
    return strip_special(f, data, n, bits);
}

bool gap_strip_scan(const struct gap_shape *f, const void *a, const void *b, int n,
                    union gap_distances *d, struct gap_strip *s)
{
    return strip_scan(f, a, b, n, d, s);
}
#endif

/* Little-endian: the low bytes, which are all that a narrow format has, come first. */
void gap_strip_marks(const struct gap_shape *f, uint64_t a, uint64_t b, struct gap_marks *m)
{
    BY_WIDTH(f, marks, f, &a, &b, 1, m);
}

void gap_strip_values(const struct gap_shape *f, const void *data, int n, uint32_t *sum)
{
    BY_WIDTH(f, values, data, n, sum);
}

int gap_strip_unequal(const struct gap_shape *f, const void *a, const void *b, int from, int n)
{
    return BY_WIDTH(f, unequal, a, b, from, n);
}
