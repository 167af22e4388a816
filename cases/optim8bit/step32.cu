/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

/* Optimizer steps with the state in f32, one thread an element; step.h has the formulas, step8.cu
 * the 8-bit twins. rate holds c1, c2, size and floor. */

enum { SIZE = 256 };
enum rule { ADAM, MOMENTUM, RMSPROP, ADAGRAD, LION, ADEMAMIX };

#if DEVICE_IS_HIP
extern "C" __attribute__((device)) f32 __ocml_sqrt_f32(f32);
DEVICE f32 root(f32 x)
{
    return __ocml_sqrt_f32(x);
}
DEVICE f32 fused(f32 a, f32 b, f32 c)
{
    return __builtin_fmaf(a, b, c);
}
#else
DEVICE f32 root(f32 x)
{
    return sqrtf(x);
}
DEVICE f32 fused(f32 a, f32 b, f32 c)
{
    return fmaf(a, b, c);
}
#endif

struct scalars {
    f32 beta1, beta2, beta3, alpha, eps, lr, wd, gnorm;
};

DEVICE bool is_finite(f32 x)
{
    return (f32_bits(x) & 0x7f800000u) != 0x7f800000u;
}

DEVICE f32 sign(f32 x)
{
    return (f32)((x > 0) - (x < 0));
}

template <class F, i32 R>
DEVICE void step32(typename F::stored *p_at, const typename F::stored *g_at, f32 *m_at,
                   f32 *v_at, f32 *slow_at, const f32 *rate, i32 n, i32 t, const scalars &s)
{
    i32 i = BLOCK_X * SIZE + THREAD_X;
    if (i >= n)
        return;
    f32 raw = F::widen(g_at[i]), p = F::widen(p_at[i]), g = F::widen(F::narrow(s.gnorm * raw));
    f32 shrink = 1.0f - s.lr * s.wd;
    if (R == MOMENTUM || R == RMSPROP || R == ADAGRAD) {
        if (s.wd > 0)
            g = F::widen(F::narrow(fused(p, s.wd, g)));
        f32 m = m_at[i];
        if (R == MOMENTUM)
            m = t == 1 ? g : fused(m, s.beta1, g);
        if (R == RMSPROP)
            m = fused(m, s.beta1, (1.0f - s.beta1) * g * g);
        if (R == ADAGRAD)
            m = fused(g, g, m);
        f32 move = R == MOMENTUM ? m : g / (root(m) + s.eps);
        m_at[i] = m;
        p_at[i] = F::narrow(p - s.lr * move);
    }
    if (R == LION) {
        if (s.wd > 0)
            p = F::widen(F::narrow(p * shrink));
        f32 m = m_at[i], u = s.lr * sign(fused(m, s.beta1, (1.0f - s.beta1) * g));
        m_at[i] = fused(m, s.beta2, (1.0f - s.beta2) * g);
        p_at[i] = F::narrow(p - F::widen(F::narrow(u)));
    }
    if (R == ADAM || R == ADEMAMIX) {
        bool skip = !is_finite(raw);
        f32 m = skip ? 0 : fused(m_at[i], s.beta1, (1.0f - s.beta1) * g);
        f32 v = skip ? 0 : fused(v_at[i], s.beta2, R == ADAM ? (1.0f - s.beta2) * (g * g) : (1.0f - s.beta2) * g * g);
        f32 slow = 0, q;
        if (R == ADEMAMIX) {
            slow = skip ? 0 : fused(slow_at[i], s.beta3, (1.0f - s.beta3) * g);
            slow_at[i] = slow;
            q = p - s.lr * ((m / rate[0] + s.alpha * slow) / (root(v) / rate[1] + s.eps));
        } else
            q = p + rate[2] * (m / (root(v) + rate[3]));
        m_at[i] = m;
        v_at[i] = v;
        typename F::stored r = F::narrow(q);
        if (s.wd > 0)
            r = F::narrow(F::widen(r) * shrink);
        if (!skip)
            p_at[i] = r;
    }
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
