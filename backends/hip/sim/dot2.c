/* SPDX-License-Identifier: Apache-2.0 */
#include "dot2.h"

#include "dot2step.h"

static const uint32_t FACTOR_NAN = 0xffc00a3d, INVALID = 0xffc00000, INFINITE = 0x7f800000,
                      SIGN = 0x80000000, QUIET = 0x00400000;

/* sig * 2^exponent */
struct term {
    int64_t sig;
    int exponent, nominal;
    bool sign;
};

static int leading(const struct term *t)
{
    return t->sig ? t->exponent + 63 - __builtin_clzll((uint64_t)t->sig) : DOT2_NOTHING;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static struct term product(enum dot2_format f, uint16_t a, uint16_t b)
{
    const int nominal = dot2_exponent(f, a) + dot2_exponent(f, b);
    const int sig = dot2_significand(f, a) * dot2_significand(f, b);
    return (struct term){.sig = sig,
                         .exponent = nominal - 2 * dot2_fraction(f),
                         .nominal = sig ? nominal : DOT2_NOTHING,
                         .sign = (a ^ b) >> 15};
}

static struct term accumulator(uint32_t c)
{
    const int field = c >> 23 & 255;
    return (struct term){.sig = field ? (c & 0x7fffff) | 0x800000 : 0,
                         .exponent = field - 150,
                         .nominal = DOT2_NOTHING,
                         .sign = c >> 31};
}

/* Sum in units of 2^*ret_grid, in c's sign frame; *ret_nothing if all three terms are zero.
 * `floor` is the least exponent c is taken to have. */
static int64_t units(const struct term t[3], int floor, int *ret_grid, bool *ret_nothing)
{
    const int top =
        larger(larger(leading(&t[0]), floor), larger(leading(&t[1]), leading(&t[2])));
    *ret_nothing = !(t[0].sig | t[1].sig | t[2].sig);
    *ret_grid =
        larger(larger(t[1].nominal, t[2].nominal) - DOT2_PRODUCT_BITS, top - DOT2_TERM_BITS);
    int64_t sum = 0;
    for (int i = 0; i < 3; i++) {
        int shift = *ret_grid - t[i].exponent;
        int64_t m = !t[i].sig || shift >= 63 ? 0
                    : shift >= 0             ? t[i].sig >> shift
                                             : t[i].sig << -shift;
        sum += t[i].sign == t[0].sign ? m : ~m;
    }
    return sum;
}

static uint64_t round_even(uint64_t x, int shift)
{
    if (shift <= 0)
        return x << -shift;
    if (shift >= 63)
        return 0;
    uint64_t whole = x >> shift, rest = x & ((UINT64_C(1) << shift) - 1);
    uint64_t half = UINT64_C(1) << (shift - 1);
    return whole + (rest > half || (rest == half && (whole & 1)));
}

/* 24 bits first, range afterwards: no result is subnormal. */
static uint32_t f32_make(int64_t sum, int grid, bool frame)
{
    if (sum == 0)
        return 0;
    const uint64_t m = sum < 0 ? (uint64_t)-sum : (uint64_t)sum;
    const uint32_t sign = (sum < 0) != frame ? SIGN : 0;
    const int top = 63 - __builtin_clzll(m);
    const int64_t bits =
        (int64_t)(top + grid + 126) * 0x800000 + (int64_t)round_even(m, top - 23);
    if (bits < 0x800000)
        return 0;
    return sign | (bits >= INFINITE ? INFINITE : (uint32_t)bits);
}

/* One rounding from the sum, subnormals kept. */
static uint16_t f16_make(int64_t sum, int grid, bool frame)
{
    const uint64_t m = sum < 0 ? (uint64_t)-sum : (uint64_t)sum;
    if (m == 0)
        return 0;
    const int top = 63 - __builtin_clzll(m);
    const int last = larger(top + grid - 10, -24); /* exponent of the result's last bit */
    const int64_t bits = (int64_t)(last + 24) * 1024 + (int64_t)round_even(m, last - grid);
    if (bits == 0)
        return 0;
    return (uint16_t)(((sum < 0) != frame ? 0x8000 : 0) | (bits >= 0x7c00 ? 0x7c00 : bits));
}

static bool is_nan(enum dot2_format f, uint16_t x)
{
    return (x & 0x7fff) > (f == DOT2_F16 ? 0x7c00 : 0x7f80);
}

/* The answer, as f32 bits, when a factor or c is Inf or NaN; false if none is. The factors come
 * before c. */
static bool special(enum dot2_format f, const uint16_t a[2], const uint16_t b[2], uint32_t c,
                    uint32_t *ret)
{
    bool infinite[2] = {false, false}, invalid = false;
    for (int i = 0; i < 2; i++) {
        if (is_nan(f, a[i]) || is_nan(f, b[i])) {
            *ret = FACTOR_NAN;
            return true;
        }
        const bool a_inf = dot2_is_special(f, a[i]), b_inf = dot2_is_special(f, b[i]);
        invalid |= (a_inf && !b_inf && !dot2_significand(f, b[i])) ||
                   (b_inf && !a_inf && !dot2_significand(f, a[i]));
        if (a_inf || b_inf)
            infinite[(a[i] ^ b[i]) >> 15] = true;
    }
    const bool c_nan = (c & ~SIGN) > INFINITE;
    if (!invalid && !(infinite[0] && infinite[1]) && c_nan) {
        *ret = c | QUIET;
        return true;
    }
    if (!c_nan && (c & ~SIGN) == INFINITE)
        infinite[c >> 31] = true;
    *ret = invalid || (infinite[0] && infinite[1]) ? INVALID
           : infinite[1]                           ? SIGN | INFINITE
                                                   : INFINITE;
    return invalid || infinite[0] || infinite[1];
}

uint32_t dot2_f32_step(enum dot2_format f, const uint16_t a[2], const uint16_t b[2], uint32_t c)
{
    uint32_t answer;
    if (special(f, a, b, c, &answer))
        return answer;
    const struct term t[3] = {accumulator(c), product(f, a[0], b[0]), product(f, a[1], b[1])};
    int grid;
    bool nothing;
    const int64_t sum = units(t, DOT2_NOTHING, &grid, &nothing);
    return nothing ? 0 : f32_make(sum, grid, t[0].sign);
}

/* Every f16 number is a normal f32 one, or zero. */
static uint32_t f16_widen(uint16_t x)
{
    const uint32_t sign = (uint32_t)(x & 0x8000) << 16, fraction = x & 0x3ff;
    const int field = x >> 10 & 31;
    if (field == 31)
        return sign | INFINITE | fraction << 13;
    if (field)
        return sign | (uint32_t)(field + 112) << 23 | fraction << 13;
    if (!fraction)
        return sign;
    const int top = 31 - __builtin_clz(fraction);
    return sign | (uint32_t)(top + 103) << 23 | ((fraction << (23 - top)) & 0x7fffff);
}

static uint16_t f16_narrow_special(uint32_t x)
{
    return (uint16_t)((x >> 16 & 0x8000) | 0x7c00 | (x >> 13 & 0x3ff));
}

uint16_t dot2_half_step(enum dot2_format f, const uint16_t a[2], const uint16_t b[2],
                        uint16_t c)
{
    uint32_t answer;
    const uint32_t wide = f == DOT2_F16 ? f16_widen(c) : (uint32_t)c << 16;
    if (special(f, a, b, wide, &answer)) {
        if (answer == FACTOR_NAN) /* its payload is the format's own */
            return f == DOT2_F16 ? 0xfe3d : 0xfffd;
        return f == DOT2_F16 ? f16_narrow_special(answer) : (uint16_t)(answer >> 16);
    }
    if (f == DOT2_BF16)
        return (uint16_t)(dot2_f32_step(f, a, b, wide) >> 16);
    const struct term t[3] = {accumulator(wide), product(f, a[0], b[0]),
                              product(f, a[1], b[1])};
    int grid;
    bool nothing;
    const int64_t sum = units(t, -14, &grid, &nothing);
    return nothing ? 0 : f16_make(sum, grid, t[0].sign);
}

#define HALVES(x) ((const uint16_t[2]){(uint16_t)(x), (uint16_t)((x) >> 16)})

uint32_t dot2_f32_f16(uint32_t a, uint32_t b, uint32_t c)
{
    return dot2_f32_step(DOT2_F16, HALVES(a), HALVES(b), c);
}

uint32_t dot2_f32_bf16(uint32_t a, uint32_t b, uint32_t c)
{
    return dot2_f32_step(DOT2_BF16, HALVES(a), HALVES(b), c);
}

uint32_t dot2_f16_f16(uint32_t a, uint32_t b, uint32_t c)
{
    return dot2_half_step(DOT2_F16, HALVES(a), HALVES(b), (uint16_t)c);
}

uint32_t dot2_bf16_bf16(uint32_t a, uint32_t b, uint32_t c)
{
    return dot2_half_step(DOT2_BF16, HALVES(a), HALVES(b), (uint16_t)c);
}
