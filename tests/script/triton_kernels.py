# SPDX-License-Identifier: Apache-2.0
"""Kernels in Triton as people write them, for triton_ptx.py: what its compiler makes of them runs on
the simulated GPU."""
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def add(x, y, z, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    inside = at < n
    tl.store(z + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax(x, y, n, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * n + at, e / tl.sum(e, axis=0), mask=at < n)


@triton.jit
def layernorm(x, w, b, y, n, eps, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    inside = at < n
    v = tl.load(x + row * n + at, mask=inside, other=0.0)
    d = tl.where(inside, v - tl.sum(v, axis=0) / n, 0.0)
    r = 1 / tl.sqrt(tl.sum(d * d, axis=0) / n + eps)
    tl.store(y + row * n + at, d * r * tl.load(w + at, mask=inside) + tl.load(b + at, mask=inside),
             mask=inside)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
           SUM: tl.constexpr, PRECISION: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    s = tl.zeros((BM, BN), dtype=SUM)
    for first in range(0, K, BK):
        k = first + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        y = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        s = tl.dot(x, y, s, out_dtype=SUM, input_precision=PRECISION)
    tl.store(c + m[:, None] * N + n[None, :], s, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def attention(q, k, v, o, S, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """Flash attention, causal; base-2 exponentials."""
    first, head = tl.program_id(0) * BM, tl.program_id(1) * S * D
    m, n, d = first + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    query = tl.load(q + head + m[:, None] * D + d[None, :], mask=m[:, None] < S, other=0.0)
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    out = tl.zeros((BM, D), tl.float32)
    for at in range(0, tl.minimum(S, first + BM), BN):
        inside = at + n < S
        key = tl.load(k + head + (at + n)[None, :] * D + d[:, None], mask=inside[None, :], other=0.0)
        value = tl.load(v + head + (at + n)[:, None] * D + d[None, :], mask=inside[:, None], other=0.0)
        score = tl.dot(query, key) * (scale * 1.4426950408889634)
        score = tl.where(inside[None, :] & (m[:, None] >= (at + n)[None, :]), score, -float("inf"))
        high = tl.maximum(top, tl.max(score, 1))
        p, keep = tl.exp2(score - high[:, None]), tl.exp2(top - high)
        total = total * keep + tl.sum(p, 1)
        out = tl.dot(p.to(value.dtype), value, out * keep[:, None])
        top = high
    tl.store(o + head + m[:, None] * D + d[None, :], (out / total[:, None]).to(o.dtype.element_ty),
             mask=m[:, None] < S)


@triton.jit
def atomics(x, h, f, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    inside = at < n
    i = tl.load(x + at, mask=inside, other=0)
    tl.atomic_add(h + (i & 15), 1, mask=inside)
    tl.atomic_max(h + 16 + 0 * at, i, mask=inside)
    tl.atomic_min(h + 17 + 0 * at, i, mask=inside)
    tl.atomic_xor(h + 18 + 0 * at, i, mask=inside, sem="acq_rel", scope="cta")
    tl.atomic_add(f + (i & 15), i.to(tl.float32), mask=inside, sem="relaxed")


@triton.jit
def lock(taken, x, out):
    while tl.atomic_cas(taken, 0, 1) == 1:
        pass
    v = tl.load(out)
    tl.debug_barrier()
    tl.store(out, v * 3 + tl.load(x + tl.program_id(0)))
    tl.debug_barrier()
    tl.atomic_xchg(taken, 0)


@triton.jit
def reduce(x, sums, tops, places, M: tl.constexpr, N: tl.constexpr):
    r, c = tl.arange(0, M), tl.arange(0, N)
    v = tl.load(x + r[:, None] * N + c[None, :])
    tl.store(sums + c, tl.sum(v, 0))
    tl.store(tops + r, tl.max(v, 1))
    tl.store(places + r, tl.argmax(v, 1))


@triton.jit
def order(x, sums, sorted, counts, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at)
    tl.store(sums + at, tl.cumsum(v, 0))
    tl.store(sorted + at, tl.sort(v))
    tl.store(counts + tl.arange(0, 16), tl.histogram(v & 15, 16))


@triton.jit
def gather(x, i, y, z, n, B: tl.constexpr):
    at = tl.arange(0, B)
    place = tl.load(i + at)
    tl.store(y + at, tl.load(x + place, mask=at < n, other=-1))
    tl.store(z + at, tl.gather(tl.load(x + at), place, 0))


@triton.jit
def function(x, y, n, NAME: tl.constexpr, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at, mask=at < n)
    if NAME == "exp":
        r = tl.exp(v)
    elif NAME == "sin":
        r = libdevice.sin(v)
    elif NAME == "log":
        r = libdevice.log(v)
    elif NAME == "tanh":
        r = libdevice.tanh(v)
    elif NAME == "rsqrt":
        r = tl.rsqrt(v)
    tl.store(y + at, r, mask=at < n)


@triton.jit
def cast(x, y, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at, mask=at < n).to(y.dtype.element_ty), mask=at < n)


@triton.jit(noinline=True)
def called(x, y):
    return x * y + 1


@triton.jit
def calls(x, y, B: tl.constexpr):
    at = tl.arange(0, B)
    s = tl.load(x)
    tl.store(y + at, called(s, s) + tl.load(x + at))


@triton.jit
def asserts(x, y, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at)
    tl.device_assert(v < 1000, "too big")
    tl.store(y + at, v)
