/* SPDX-License-Identifier: Apache-2.0 */
#include "step.cuh"

/* Optimizer steps with the state in f32, one thread an element; step.h has the formulas, step8.cu
 * the 8-bit twins. rate holds c1, c2, size and floor.
 *
 * lamb32 and lars32 are adam32 and momentum32 with the update scaled so that its norm is at most `limit`;
 * a launch before sums the squared updates (clip.c) into unorm, blocks by a tree and then by atomics.
 *
 * fault_unclipped acts on HIP only: the update keeps its norm. */

template <class F, i32 R>
DEVICE void step32(typename F::stored *p_at, const typename F::stored *g_at, f32 *m_at,
                   f32 *v_at, f32 *slow_at, const f32 *rate, i32 n, i32 t, const scalars &s,
                   f32 factor = 1.0f)
{
    i32 i = BLOCK_X * SIZE + THREAD_X;
    if (i >= n)
        return;
    f32 raw = F::widen(g_at[i]), p = F::widen(p_at[i]), g = F::widen(F::narrow(s.gnorm * raw));
    f32 shrink = 1.0f - s.lr * s.wd;
    if (R == MOMENTUM || R == LARS || R == RMSPROP || R == ADAGRAD) {
        if (s.wd > 0)
            g = F::widen(F::narrow(fused(p, s.wd, g)));
        f32 m = m_at[i];
        if (R == MOMENTUM || R == LARS)
            m = t == 1 ? g : fused(m, s.beta1, g);
        if (R == RMSPROP)
            m = fused(m, s.beta1, (1.0f - s.beta1) * g * g);
        if (R == ADAGRAD)
            m = fused(g, g, m);
        f32 move = R == MOMENTUM || R == LARS ? m : g / (root(m) + s.eps);
        m_at[i] = m;
        p_at[i] = F::narrow(R == LARS ? p + factor * (-s.lr * move) : p - s.lr * move);
    }
    if (R == LION) {
        if (s.wd > 0)
            p = F::widen(F::narrow(p * shrink));
        f32 m = m_at[i], u = s.lr * sign(fused(m, s.beta1, (1.0f - s.beta1) * g));
        m_at[i] = fused(m, s.beta2, (1.0f - s.beta2) * g);
        p_at[i] = F::narrow(p - F::widen(F::narrow(u)));
    }
    if (R == ADAM || R == LAMB || R == ADEMAMIX) {
        bool skip = !is_finite(raw);
        f32 m = skip ? 0 : fused(m_at[i], s.beta1, (1.0f - s.beta1) * g);
        f32 square = R == ADEMAMIX ? (1.0f - s.beta2) * g * g : (1.0f - s.beta2) * (g * g);
        f32 v = skip ? 0 : fused(v_at[i], s.beta2, square);
        f32 slow = 0, q;
        if (R == ADEMAMIX) {
            slow = skip ? 0 : fused(slow_at[i], s.beta3, (1.0f - s.beta3) * g);
            slow_at[i] = slow;
            q = p - s.lr * ((m / rate[0] + s.alpha * slow) / (root(v) / rate[1] + s.eps));
        } else
            q = p + (R == LAMB ? factor * rate[2] : rate[2]) * (m / (root(v) + rate[3]));
        m_at[i] = m;
        v_at[i] = v;
        typename F::stored r = F::narrow(q);
        if (s.wd > 0)
            r = F::narrow(F::widen(r) * shrink);
        if (!skip)
            p_at[i] = r;
    }
}

/* What the update is scaled by: its norm's part of the limit, where that is exceeded. */
DEVICE f32 factor_of(const f32 *unorm, f32 limit)
{
    f32 norm = root(*unorm);
    return norm > limit ? limit / norm : 1.0f;
}

template <class F, i32 R>
DEVICE void norm32(const typename F::stored *p_at, const typename F::stored *g_at,
                   const f32 *m_at, const f32 *v_at, const f32 *rate, f32 *unorm, i32 n, i32 t,
                   const scalars &s, f32 *part)
{
    i32 i = BLOCK_X * SIZE + THREAD_X;
    f32 u = 0;
    if (i < n) {
        f32 raw = F::widen(g_at[i]), g = F::widen(F::narrow(s.gnorm * raw));
        if (R == LARS) {
            if (s.wd > 0)
                g = F::widen(F::narrow(fused(F::widen(p_at[i]), s.wd, g)));
            u = t == 1 ? g : fused(m_at[i], s.beta1, g);
        } else if (is_finite(raw)) {
            f32 m = fused(m_at[i], s.beta1, (1.0f - s.beta1) * g);
            f32 v = fused(v_at[i], s.beta2, (1.0f - s.beta2) * (g * g));
            u = m / rate[0] / (root(v) / rate[1] + s.eps);
        }
    }
    part[THREAD_X] = u * u;
    for (i32 half = SIZE / 2; half > 0; half /= 2) {
        SYNC();
        if (THREAD_X < half)
            part[THREAD_X] += part[THREAD_X + half];
    }
    if (THREAD_X == 0)
        ATOMIC_ADD(unorm, part[0]);
}

#define SCALARS f32 beta1, f32 beta2, f32 beta3, f32 alpha, f32 eps, f32 lr, f32 wd, f32 gnorm
#define MAKE_SCALARS scalars s = {beta1, beta2, beta3, alpha, eps, lr, wd, gnorm};

#define ONE(name, rule, format)                                                                \
    KERNEL(SIZE)                                                                               \
    name##_##format(format_##format::stored *p, const format_##format::stored *g, f32 *m,      \
                    const f32 *rate, i32 n, i32 t, SCALARS)                                    \
    {                                                                                          \
        MAKE_SCALARS                                                                           \
        step32<format_##format, rule>(p, g, m, nullptr, nullptr, rate, n, t, s);               \
    }

#define LAMB(name, clips, format)                                                              \
    KERNEL(SIZE)                                                                               \
    name##_##format(format_##format::stored *p, const format_##format::stored *g, f32 *m,      \
                    f32 *v, const f32 *rate, const f32 *unorm, i32 n, i32 t, SCALARS,          \
                    f32 limit)                                                                 \
    {                                                                                          \
        MAKE_SCALARS                                                                           \
        step32<format_##format, LAMB>(p, g, m, v, nullptr, rate, n, t, s,                      \
                                      clips ? factor_of(unorm, limit) : 1.0f);                 \
    }

#define CLIPPED(format)                                                                        \
    KERNEL(SIZE)                                                                               \
    lamb32_norm_##format(const format_##format::stored *p, const format_##format::stored *g,   \
                         const f32 *m, const f32 *v, const f32 *rate, f32 *unorm, i32 n,       \
                         i32 t, SCALARS)                                                       \
    {                                                                                          \
        SHARED f32 part[SIZE];                                                                 \
        MAKE_SCALARS                                                                           \
        norm32<format_##format, LAMB>(p, g, m, v, rate, unorm, n, t, s, part);                 \
    }                                                                                          \
    KERNEL(SIZE)                                                                               \
    lars32_norm_##format(const format_##format::stored *p, const format_##format::stored *g,   \
                         const f32 *m, const f32 *rate, f32 *unorm, i32 n, i32 t, SCALARS)     \
    {                                                                                          \
        SHARED f32 part[SIZE];                                                                 \
        MAKE_SCALARS                                                                           \
        norm32<format_##format, LARS>(p, g, m, nullptr, rate, unorm, n, t, s, part);           \
    }                                                                                          \
    KERNEL(SIZE)                                                                               \
    lars32_##format(format_##format::stored *p, const format_##format::stored *g, f32 *m,      \
                    const f32 *rate, const f32 *unorm, i32 n, i32 t, SCALARS, f32 limit)       \
    {                                                                                          \
        MAKE_SCALARS                                                                           \
        step32<format_##format, LARS>(p, g, m, nullptr, nullptr, rate, n, t, s,                \
                                      factor_of(unorm, limit));                                \
    }                                                                                          \
    LAMB(lamb32, true, format)                                                                 \
    LAMB(fault_unclipped, !DEVICE_IS_HIP, format)

#define ENTRIES(format)                                                                        \
    ONE(momentum32, MOMENTUM, format)                                                          \
    ONE(rmsprop32, RMSPROP, format)                                                            \
    ONE(adagrad32, ADAGRAD, format)                                                            \
    ONE(lion32, LION, format)                                                                  \
    KERNEL(SIZE)                                                                               \
    adam32_##format(format_##format::stored *p, const format_##format::stored *g, f32 *m,      \
                    f32 *v, const f32 *rate, i32 n, i32 t, SCALARS)                            \
    {                                                                                          \
        MAKE_SCALARS                                                                           \
        step32<format_##format, ADAM>(p, g, m, v, nullptr, rate, n, t, s);                     \
    }                                                                                          \
    KERNEL(SIZE)                                                                               \
    ademamix32_##format(format_##format::stored *p, const format_##format::stored *g, f32 *m,  \
                        f32 *slow, f32 *v, const f32 *rate, i32 n, i32 t, SCALARS)             \
    {                                                                                          \
        MAKE_SCALARS                                                                           \
        step32<format_##format, ADEMAMIX>(p, g, m, v, slow, rate, n, t, s);                    \
    }

ENTRIES(f32)
ENTRIES(f16)
ENTRIES(bf16)
CLIPPED(f32)
CLIPPED(f16)
CLIPPED(bf16)
