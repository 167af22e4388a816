/* SPDX-License-Identifier: Apache-2.0 */
#include "hmma.h"

#include <stdbool.h>
#include <string.h>

#include "hmmastep.h"

enum { SIDE = 32, DEPTH = 16, STRIP = 8 };

#define INLINE static inline __attribute__((always_inline))

/* Factors as the fast path wants them. Those of A are [row * k + l] and carry the shift to the
 * common unit, those of B are [l * n + column]. */
struct factors {
    int32_t sig[SIDE * DEPTH], exponent[SIDE * DEPTH], sign[SIDE * DEPTH];
};

enum { ZERO_EXPONENT = -8192 }; /* never the largest, and shifts everything out */

static uint32_t element(enum hmma_format f, const void *x, int at)
{
    return f == HMMA_TF32 ? ((const uint32_t *)x)[at] >> 13 : ((const uint16_t *)x)[at];
}

/* False if an element is Inf or NaN. */
static bool factors_load(enum hmma_format f, const void *x, int rows, int k, bool across,
                         struct factors *ret)
{
    const struct hmma_layout l = hmma_layout(f);
    const uint32_t top = (1u << l.exponent) - 1, hidden = 1u << l.fraction;
    bool finite = true;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < k; j++) {
            const uint32_t v = element(f, x, i * k + j), field = v >> l.fraction & top;
            const uint32_t sig = (v & (hidden - 1)) | (field ? hidden : 0);
            const int at = across ? j * rows + i : i * k + j;
            finite &= field != top;
            ret->sig[at] = (int32_t)(across ? sig : sig << (HMMA_BITS - 2 * l.fraction));
            ret->exponent[at] =
                sig ? (int32_t)(field ? field : 1) - (int32_t)(top / 2) : ZERO_EXPONENT;
            ret->sign[at] = -(int32_t)(v >> (l.exponent + l.fraction) & 1);
        }
    return finite;
}

struct strip {
    int32_t largest[STRIP], sum[STRIP];
};

/* Eight lanes; never passed or returned, so that no calling convention is involved. */
typedef int32_t lanes __attribute__((vector_size(STRIP * sizeof(int32_t))));
typedef float float_lanes __attribute__((vector_size(STRIP * sizeof(float))));

#define LANES_LARGER(a, b) (((a) & ((a) > (b))) | ((b) & ~((a) > (b))))
#define LANES_SMALLER(a, b) (((a) & ((a) < (b))) | ((b) & ~((a) < (b))))

/* Eight columns of one row: c is in s (exponents, signed significands with 24 bits after the
 * point), the sums come back in it. */
INLINE void strip_sum(struct strip *s, const struct factors *a, int ai, const struct factors *b,
                      int bi, int n, int count)
{
    lanes largest, sum, e[HMMA_GROUP_MAX];
    const lanes floor = {HMMA_FLOOR, HMMA_FLOOR, HMMA_FLOOR, HMMA_FLOOR,
                         HMMA_FLOOR, HMMA_FLOOR, HMMA_FLOOR, HMMA_FLOOR};
    const lanes most = {31, 31, 31, 31, 31, 31, 31, 31};
    memcpy(&e[0], s->largest, sizeof e[0]);
    memcpy(&sum, s->sum, sizeof sum);
    const lanes c_exponent = e[0], c_sign = sum >> 31;
    largest = LANES_LARGER(c_exponent, floor);
    for (int l = 0; l < count; l++) {
        memcpy(&e[l], b->exponent + bi + l * n, sizeof e[l]);
        e[l] += a->exponent[ai + l];
        largest = LANES_LARGER(largest, e[l]);
    }
    const lanes c_down = largest - c_exponent;
    sum = ((((sum ^ c_sign) - c_sign) >> LANES_SMALLER(c_down, most)) ^ c_sign) - c_sign;
    for (int l = 0; l < count; l++) {
        lanes sig, sign;
        const lanes down = largest - e[l];
        memcpy(&sig, b->sig + bi + l * n, sizeof sig);
        memcpy(&sign, b->sign + bi + l * n, sizeof sign);
        sign ^= a->sign[ai + l];
        sum += (((sig * a->sig[ai + l]) >> LANES_SMALLER(down, most)) ^ sign) - sign;
    }
    memcpy(s->largest, &largest, sizeof largest);
    memcpy(s->sum, &sum, sizeof sum);
}

INLINE void strip_from_f32(struct strip *s, const uint32_t *c)
{
    lanes x;
    memcpy(&x, c, sizeof x);
    const lanes field = x >> 23 & 255, sign = x >> 31, subnormal = field == 0;
    const lanes sig = (x & 0x7fffff) | (~subnormal & 0x800000), zero = sig == 0;
    const lanes largest = (~zero & (field - subnormal - 127)) | (zero & ZERO_EXPONENT);
    const lanes sum = ((sig << 1) ^ sign) - sign;
    memcpy(s->largest, &largest, sizeof largest);
    memcpy(s->sum, &sum, sizeof sum);
}

/* Cuts the sums to 24 bits; sets lanes of *odd where a result is not a normal number or 0. */
INLINE void strip_to_f32(const struct strip *s, uint32_t *d, int32_t *odd)
{
    lanes sum, largest, bits, flags;
    memcpy(&sum, s->sum, sizeof sum);
    memcpy(&largest, s->largest, sizeof largest);
    memcpy(&flags, odd, sizeof flags);
    const lanes sign = sum >> 31, m = (sum ^ sign) - sign, some = m != 0;
    /* the host rounds to nearest: one step back where that went up */
    const float_lanes nearest = __builtin_convertvector(m, float_lanes);
    memcpy(&bits, &nearest, sizeof bits);
    bits += __builtin_convertvector(nearest, lanes) > m;
    const lanes field = (bits >> 23) + largest - HMMA_BITS;
    flags |= some & ((field < 1) | (field > 254));
    const lanes r = some & ((sign & INT32_MIN) | field << 23 | (bits & 0x7fffff));
    memcpy(d, &r, sizeof r);
    memcpy(odd, &flags, sizeof flags);
}

/* d holds c on entry. Nonzero: some sum needs the careful way. */
INLINE uint32_t tile_f32(const struct factors *a, const struct factors *b, int m, int n, int k,
                         int group, uint32_t *d)
{
    int32_t odd[STRIP] = {0}, any = 0;
    for (int l = 0; l < k; l += group)
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j += STRIP) {
                struct strip s;
                strip_from_f32(&s, d + i * n + j);
                strip_sum(&s, a, i * k + l, b, l * n + j, n, group);
                strip_to_f32(&s, d + i * n + j, odd);
            }
    for (int x = 0; x < STRIP; x++)
        any |= odd[x];
    return (uint32_t)any;
}

/* As tile_f32; an Inf must not enter the next group as a number. */
INLINE uint32_t tile_f16(const struct factors *a, const struct factors *b, int m, int n, int k,
                         uint16_t *d)
{
    const int group = k < HMMA_GROUP_MAX ? k : HMMA_GROUP_MAX;
    uint32_t odd = 0;
    for (int l = 0; l < k; l += group)
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j += STRIP) {
                struct strip s;
                uint16_t *c = d + i * n + j;
                for (int x = 0; x < STRIP; x++) {
                    const int32_t field = c[x] >> 10 & 31,
                                  sig = (c[x] & 1023) | (field ? 1024 : 0);
                    s.largest[x] = sig ? (field ? field : 1) - 15 : ZERO_EXPONENT;
                    s.sum[x] = (c[x] >> 15 ? -sig : sig) * (1 << (HMMA_BITS - 10));
                }
                strip_sum(&s, a, i * k + l, b, l * n + j, n, group);
                for (int x = 0; x < STRIP; x++) {
                    c[x] = hmma_f16_make(s.sum[x], s.largest[x]);
                    odd |= (c[x] & 0x7c00) == 0x7c00;
                }
            }
    return odd;
}

/* The common depths as constants. */
INLINE uint32_t tile_f32_any(const struct factors *a, const struct factors *b, int m, int n,
                             int k, int group, uint32_t *d)
{
    return group == 8 && k >= 8 ? tile_f32(a, b, m, n, k, 8, d) : tile_f32(a, b, m, n, k, 4, d);
}

static uint32_t tile_f32_base(const struct factors *a, const struct factors *b, int m, int n,
                              int k, int group, uint32_t *d)
{
    return tile_f32_any(a, b, m, n, k, group, d);
}

static uint32_t tile_f16_base(const struct factors *a, const struct factors *b, int m, int n,
                              int k, uint16_t *d)
{
    return tile_f16(a, b, m, n, k, d);
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) static uint32_t tile_f32_wide(const struct factors *a,
                                                              const struct factors *b, int m,
                                                              int n, int k, int group,
                                                              uint32_t *d)
{
    return tile_f32_any(a, b, m, n, k, group, d);
}

__attribute__((target("avx2"))) static uint32_t tile_f16_wide(const struct factors *a,
                                                              const struct factors *b, int m,
                                                              int n, int k, uint16_t *d)
{
    return tile_f16(a, b, m, n, k, d);
}

static bool host_is_wide(void)
{
    return __builtin_cpu_supports("avx2");
}
#else
#define tile_f32_wide tile_f32_base
#define tile_f16_wide tile_f16_base

static bool host_is_wide(void)
{
    return false;
}
#endif

static void careful_f32(enum hmma_format f, int m, int n, int k, const void *a, const void *b,
                        uint32_t *d)
{
    const int group = hmma_group(f) < k ? hmma_group(f) : k;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            for (int l = 0; l < k; l += group) {
                uint32_t x[HMMA_GROUP_MAX], y[HMMA_GROUP_MAX];
                for (int g = 0; g < group; g++) {
                    x[g] = element(f, a, i * k + l + g);
                    y[g] = element(f, b, j * k + l + g);
                }
                d[i * n + j] = hmma_f32_step(f, group, x, y, d[i * n + j]);
            }
}

void hmma_f32(enum hmma_format f, int m, int n, int k, const void *a, const void *b,
              const uint32_t *c, uint32_t *d)
{
    struct factors x, y;
    uint32_t r[SIDE * SIDE], special = 0;
    const size_t size = (size_t)(m * n) * sizeof *r;
    memcpy(r, c, size);
    for (int i = 0; i < m * n; i++)
        special |= (r[i] & 0x7f800000) == 0x7f800000;
    if (special || !factors_load(f, a, m, k, false, &x) ||
        !factors_load(f, b, n, k, true, &y) ||
        (host_is_wide() ? tile_f32_wide : tile_f32_base)(&x, &y, m, n, k, hmma_group(f), r)) {
        memcpy(r, c, size);
        careful_f32(f, m, n, k, a, b, r);
    }
    memcpy(d, r, size);
}

static void careful_f16(int m, int n, int k, const uint16_t *a, const uint16_t *b, uint16_t *d)
{
    const int group = k < HMMA_GROUP_MAX ? k : HMMA_GROUP_MAX;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            for (int l = 0; l < k; l += group) {
                uint32_t x[HMMA_GROUP_MAX], y[HMMA_GROUP_MAX];
                for (int g = 0; g < group; g++) {
                    x[g] = a[i * k + l + g];
                    y[g] = b[j * k + l + g];
                }
                d[i * n + j] = hmma_f16_step(group, x, y, d[i * n + j]);
            }
}

void hmma_f16(int m, int n, int k, const uint16_t *a, const uint16_t *b, const uint16_t *c,
              uint16_t *d)
{
    struct factors x, y;
    uint16_t r[SIDE * SIDE];
    uint32_t special = 0;
    const size_t size = (size_t)(m * n) * sizeof *r;
    memcpy(r, c, size);
    for (int i = 0; i < m * n; i++)
        special |= (r[i] & 0x7c00) == 0x7c00;
    if (special || !factors_load(HMMA_F16, a, m, k, false, &x) ||
        !factors_load(HMMA_F16, b, n, k, true, &y) ||
        (host_is_wide() ? tile_f16_wide : tile_f16_base)(&x, &y, m, n, k, r)) {
        memcpy(r, c, size);
        careful_f16(m, n, k, a, b, r);
    }
    memcpy(d, r, size);
}
