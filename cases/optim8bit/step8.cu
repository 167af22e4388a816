/* SPDX-License-Identifier: Apache-2.0 */
#include "device_fault.h"
#include "step.cuh"

/* Optimizer steps with the state kept as 8-bit codes in blocks of 256, one thread block each, as
 * bitsandbytes does them; step.h has the formulas. Row BLOCK_Y of every tensor is a step of its
 * own. Lanes behind the end count as p = g = 0, code 128 of state 1 and 0 of state 2, and take
 * part in the block's maximum.
 *
 * States are updated with explicit fma, in the order in which the compilers of both vendors fuse
 * the library's source: left to themselves they choose differently in another surrounding, and
 * then absmax differs. What the mode decides is the parameter's update.
 *
 * New codes are those nearest to m / absmax; where the signs of m and of its code's value differ
 * the code moves one step towards m.
 *
 * rate[row] holds c1, c2, size and floor of step.h. adam8run repeats the step for every row of g
 * on one state that starts as code 0, absmax 0, and stores each.
 *
 * The fault_ entries hold one planted fault each, which acts on HIP only:
 *   nosign   codes keep the wrong sign
 *   book2    state 2 is coded with state 1's book
 *   scales   absmax of the two states swapped when they are read
 *   nobias   bias corrections left out
 *   unfused  states updated with products rounded first */

enum fault { NONE, NOSIGN, BOOK2, SCALES, NOBIAS, UNFUSED };

struct state {
    f32 m, slow, v;
};

DEVICE f32 magnitude(f32 x)
{
    return f32_from_bits(f32_bits(x) & 0x7fffffffu);
}

DEVICE f32 block_absmax(f32 x, f32 *part)
{
    f32 size = magnitude(x), least = -3.402823466e+38f;
    SYNC();
    part[THREAD_X] = size > least ? size : least;
    return block_largest(part, SIZE);
}

DEVICE u32 search(const f32 *book, f32 y)
{
    i32 pivot = 127, low = 0, high = 255;
    for (i32 step = 64; step; step /= 2)
        if (y > book[pivot]) {
            low = pivot;
            pivot += step;
        } else {
            high = pivot;
            pivot -= step;
        }
    f32 here = book[pivot];
    bool above = y > here;
    i32 other = above ? high : low;
    f32 middle = (book[other] + here) * 0.5f;
    return (above ? y > middle : y < middle) ? other : pivot;
}

template <i32 K> DEVICE u8 signed_code(const f32 *book, f32 x, f32 most)
{
    u32 c = search(book, x / most);
    if ((f32_bits(book[c]) ^ f32_bits(x)) >> 31 && !acts<K>(NOSIGN))
        c += x > 0 ? 1 : -1;
    return (u8)c;
}

template <i32 R> DEVICE bool coupled()
{
    return R == MOMENTUM || R == RMSPROP || R == ADAGRAD;
}

template <i32 R> DEVICE bool guarded()
{
    return R == ADAM || R == ADEMAMIX;
}

template <i32 R, i32 K> DEVICE void advance(state &x, f32 p, f32 raw, const scalars &s, bool first)
{
    f32 g = s.gnorm * raw;
    state old = x;
    if (coupled<R>() && s.wd > 0)
        g = fused(p, s.wd, g);
    if (guarded<R>() && !is_finite(raw)) {
        x.m = x.slow = x.v = 0;
        return;
    }
    if (R == ADEMAMIX)
        x.slow = fused(1.0f - s.beta3, g, x.slow * s.beta3);
    if (guarded<R>()) {
        x.v = fused((1.0f - s.beta2) * g, g, x.v * s.beta2);
        x.m = fused(1.0f - s.beta1, g, x.m * s.beta1);
    }
    if (acts<K>(UNFUSED)) {
        volatile f32 a = (1.0f - s.beta1) * g, b = old.m * s.beta1;
        x.m = a + b;
    }
    if (R == MOMENTUM)
        x.m = first ? g : fused(x.m, s.beta1, g);
    if (R == RMSPROP)
        x.m = fused(1.0f - s.beta1, g * g, x.m * s.beta1);
    if (R == ADAGRAD)
        x.m = fused(g, g, x.m);
    if (R == LION)
        x.m = fused(1.0f - s.beta2, g, x.m * s.beta2);
}

/* How the parameter moves; `old` is the state before. */
template <class F, i32 R, i32 K>
DEVICE typename F::stored moved(typename F::stored stored, f32 raw, f32 old, const state &x,
                                const scalars &s, const f32 *rate)
{
    f32 p = F::widen(stored), shrink = 1.0f - s.lr * s.wd;
    f32 size = acts<K>(NOBIAS) ? -s.lr : rate[2], floor = acts<K>(NOBIAS) ? s.eps : rate[3];
    typename F::stored r = stored;
    if (guarded<R>() && !is_finite(raw))
        return r;
    if (R == ADAM)
        r = F::narrow(p + size * (x.m / (root(x.v) + floor)));
    if (R == ADEMAMIX)
        r = F::narrow(p - s.lr * ((x.m / rate[0] + s.alpha * x.slow) /
                                  (root(x.v) / rate[1] + s.eps)));
    if (R == MOMENTUM)
        r = F::narrow(p - s.lr * x.m);
    if (R == RMSPROP || R == ADAGRAD)
        r = F::narrow(p - s.lr * (raw / (root(x.m) + s.eps)));
    if (R == LION) {
        if (s.wd > 0)
            p = F::widen(F::narrow(p * shrink));
        f32 u = s.lr * sign(fused(1.0f - s.beta1, s.gnorm * raw, old * s.beta1));
        r = F::narrow(p - F::widen(F::narrow(u)));
    }
    if (guarded<R>() && s.wd > 0)
        r = F::narrow(F::widen(r) * shrink);
    return r;
}

/* A block's codes on their way through one step. */
struct codes {
    u8 m, slow, v;
    f32 most_m, most_slow, most_v;
};

template <class F, i32 R, i32 K>
DEVICE typename F::stored step(codes &c, typename F::stored p, typename F::stored g,
                               const f32 *book1, const f32 *book2, const f32 *rate, bool first,
                               const scalars &s, f32 *part)
{
    state x = {book1[c.m] * (acts<K>(SCALES) ? c.most_v : c.most_m), 0, 0};
    f32 old = x.m, raw = F::widen(g);
    if (R == ADEMAMIX)
        x.slow = book1[c.slow] * c.most_slow;
    if (guarded<R>())
        x.v = book2[c.v] * (acts<K>(SCALES) ? c.most_m : c.most_v);
    advance<R, K>(x, F::widen(p), raw, s, first);
    c.most_m = block_absmax(x.m, part);
    if (R == ADEMAMIX)
        c.most_slow = block_absmax(x.slow, part);
    if (guarded<R>())
        c.most_v = block_absmax(x.v, part);
    typename F::stored r = moved<F, R, K>(p, raw, old, x, s, rate);
    c.m = signed_code<K>(book1, x.m, c.most_m);
    if (R == ADEMAMIX)
        c.slow = signed_code<K>(book1, x.slow, c.most_slow);
    if (guarded<R>())
        c.v = (u8)search(acts<K>(BOOK2) ? book1 : book2, x.v / c.most_v);
    return r;
}

template <class F, i32 R, i32 K>
DEVICE void step8(typename F::stored *p, const typename F::stored *g, u8 *code1, f32 *absmax1,
                  u8 *code2, f32 *absmax2, const f32 *book1, const f32 *book2, const f32 *rate,
                  i32 n, i32 t, const scalars &s, f32 *part)
{
    const i32 planes = R == ADEMAMIX ? 2 : 1, blocks = (n + SIZE - 1) / SIZE;
    i32 i = BLOCK_X * SIZE + THREAD_X, row = BLOCK_Y;
    bool in = i < n;
    i64 at = (i64)row * n + i, at1 = (i64)row * planes * n + i;
    i32 scale = row * blocks + BLOCK_X, scale1 = row * planes * blocks + BLOCK_X;
    codes c = {128, 128, 0, absmax1[scale1], 0, 0};
    if (R == ADEMAMIX)
        c.most_slow = absmax1[scale1 + blocks];
    if (guarded<R>())
        c.most_v = absmax2[scale];
    if (in) {
        c.m = code1[at1];
        if (R == ADEMAMIX)
            c.slow = code1[at1 + n];
        if (guarded<R>())
            c.v = code2[at];
    }
    typename F::stored old = in ? p[at] : 0;
    typename F::stored r = step<F, R, K>(c, old, in ? g[at] : 0, book1, book2, rate + 4 * row,
                                         t + row == 1, s, part);
    if (in) {
        p[at] = r;
        code1[at1] = c.m;
        if (R == ADEMAMIX)
            code1[at1 + n] = c.slow;
        if (guarded<R>())
            code2[at] = c.v;
    }
    if (THREAD_X == 0) {
        absmax1[scale1] = c.most_m;
        if (R == ADEMAMIX)
            absmax1[scale1 + blocks] = c.most_slow;
        if (guarded<R>())
            absmax2[scale] = c.most_v;
    }
}

template <class F>
DEVICE void run8(const typename F::stored *p, const typename F::stored *g,
                 typename F::stored *p_at, u8 *code1, f32 *absmax1, u8 *code2, f32 *absmax2,
                 const f32 *book1, const f32 *book2, const f32 *rate, i32 n, i32 t, i32 rows,
                 const scalars &s, f32 *part)
{
    const i32 blocks = (n + SIZE - 1) / SIZE;
    i32 i = BLOCK_X * SIZE + THREAD_X;
    bool in = i < n;
    codes c = {(u8)(in ? 0 : 128), 0, 0, 0, 0, 0};
    typename F::stored r = in ? p[i] : 0;
    for (i32 row = 0; row < rows; row++) {
        i64 at = (i64)row * n + i;
        r = step<F, ADAM, NONE>(c, r, in ? g[at] : 0, book1, book2, rate + 4 * row,
                                t + row == 1, s, part);
        if (in) {
            p_at[at] = r;
            code1[at] = c.m;
            code2[at] = c.v;
        } else {
            c.m = 128;
            c.v = 0;
        }
        if (THREAD_X == 0) {
            absmax1[row * blocks + BLOCK_X] = c.most_m;
            absmax2[row * blocks + BLOCK_X] = c.most_v;
        }
    }
}

#define SCALARS f32 beta1, f32 beta2, f32 beta3, f32 alpha, f32 eps, f32 lr, f32 wd, f32 gnorm
#define MAKE_SCALARS                                                                           \
    SHARED f32 part[SIZE];                                                                     \
    scalars s = {beta1, beta2, beta3, alpha, eps, lr, wd, gnorm};

#define TWO(name, rule, fault, format)                                                         \
    KERNEL(SIZE)                                                                               \
    name##_##format(format_##format::stored *p, const format_##format::stored *g, u8 *code1,   \
                    f32 *absmax1, u8 *code2, f32 *absmax2, const f32 *book1, const f32 *book2, \
                    const f32 *rate, i32 n, i32 t, SCALARS)                                    \
    {                                                                                          \
        MAKE_SCALARS                                                                           \
        step8<format_##format, rule, fault>(p, g, code1, absmax1, code2, absmax2, book1,       \
                                            book2, rate, n, t, s, part);                       \
    }

#define ONE(name, rule, format)                                                                \
    KERNEL(SIZE)                                                                               \
    name##_##format(format_##format::stored *p, const format_##format::stored *g, u8 *code1,   \
                    f32 *absmax1, const f32 *book1, const f32 *rate, i32 n, i32 t, SCALARS)    \
    {                                                                                          \
        MAKE_SCALARS                                                                           \
        step8<format_##format, rule, NONE>(p, g, code1, absmax1, nullptr, nullptr, book1,      \
                                           nullptr, rate, n, t, s, part);                      \
    }

#define RUN(format)                                                                            \
    KERNEL(SIZE)                                                                               \
    adam8run_##format(const format_##format::stored *p, const format_##format::stored *g,      \
                      format_##format::stored *p_at, u8 *code1, f32 *absmax1, u8 *code2,       \
                      f32 *absmax2, const f32 *book1, const f32 *book2, const f32 *rate,       \
                      i32 n, i32 t, i32 rows, SCALARS)                                         \
    {                                                                                          \
        MAKE_SCALARS                                                                           \
        run8<format_##format>(p, g, p_at, code1, absmax1, code2, absmax2, book1, book2, rate,  \
                              n, t, rows, s, part);                                            \
    }

#define ENTRIES(format)                                                                        \
    TWO(adam8, ADAM, NONE, format)                                                             \
    TWO(ademamix8, ADEMAMIX, NONE, format)                                                     \
    ONE(momentum8, MOMENTUM, format)                                                           \
    ONE(rmsprop8, RMSPROP, format)                                                             \
    ONE(adagrad8, ADAGRAD, format)                                                             \
    ONE(lion8, LION, format)                                                                   \
    RUN(format)

ENTRIES(f32)
ENTRIES(f16)
ENTRIES(bf16)

TWO(fault_nosign, ADAM, NOSIGN, f32)
TWO(fault_book2, ADAM, BOOK2, f32)
TWO(fault_scales, ADAM, SCALES, f32)
TWO(fault_nobias, ADAM, NOBIAS, f32)
TWO(fault_unfused, ADAM, UNFUSED, f32)
