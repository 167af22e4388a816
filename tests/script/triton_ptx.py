# SPDX-License-Identifier: Apache-2.0
"""triton_ptx.py LIBRARY: Triton compiles kernels for sm_86 (no card needed), the simulated GPU runs
the PTX through the driver API, and the results are held against NumPy in double precision or exact
integers. Bounds: K additions of f32 and what the inputs' format leaves of a product."""
import ctypes
import os
import sys

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
import numpy as np
import triton.language as tl
from triton import compile as triton_compile
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import checks
import triton_kernels as kernels

driver = ctypes.CDLL(sys.argv[1])
driver.gpuparity_sim_last_fault.restype = ctypes.c_char_p


def must(result):
    if result:
        raise RuntimeError(f"driver error {result}: {driver.gpuparity_sim_last_fault().decode()}")


class Array:
    """A NumPy array and its copy on the device."""

    def __init__(self, values):
        self.values, self.address = np.ascontiguousarray(values), ctypes.c_uint64()
        size = ctypes.c_size_t(self.values.nbytes)
        must(driver.cuMemAlloc_v2(ctypes.byref(self.address), size))
        must(driver.cuMemcpyHtoD_v2(self.address, self.values.ctypes.data_as(ctypes.c_void_p), size))

    def read(self):
        r = np.empty_like(self.values)
        must(driver.cuMemcpyDtoH_v2(r.ctypes.data_as(ctypes.c_void_p), self.address,
                                    ctypes.c_size_t(r.nbytes)))
        return r


def module_load(ptx):
    module, log = ctypes.c_void_p(), ctypes.create_string_buffer(1000)
    option, value = (ctypes.c_int * 2)(5, 6), (ctypes.c_void_p * 2)(ctypes.addressof(log), 1000)
    if driver.cuModuleLoadDataEx(ctypes.byref(module), ptx.encode(), 2, option, value):
        raise RuntimeError(log.value.decode())
    return module


def run(kernel, types, constants, grid, arguments, **options):
    """What the arrays among the arguments hold afterwards. `types`: of the arguments, in order."""
    names = [n for n in kernel.arg_names if n not in constants]
    signature = dict(zip(names, types)) | {n: "constexpr" for n in constants}
    source = ASTSource(fn=kernel, signature={n: signature[n] for n in kernel.arg_names},
                       constexprs=constants)
    made = triton_compile(source, target=GPUTarget("cuda", 86, 32), options=options)
    function, module = ctypes.c_void_p(), module_load(made.asm["ptx"])
    must(driver.cuModuleGetFunction(ctypes.byref(function), module, made.metadata.name.encode()))
    if made.metadata.shared > 48 << 10:
        must(driver.cuFuncSetAttribute(function, 8, made.metadata.shared))
    arrays = [Array(a) for a in arguments if isinstance(a, np.ndarray)]
    left = iter(arrays)
    values = [next(left).address if isinstance(a, np.ndarray) else a for a in arguments]
    values += [ctypes.c_uint64(0)] * 2  # scratch of Triton's own, unused here
    pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])
    must(driver.cuLaunchKernel(function, grid[0], grid[1], 1, made.metadata.num_warps * 32, 1, 1,
                               made.metadata.shared, None, pointers, None))
    must(driver.cuCtxSynchronize())
    return [a.read() for a in arrays]


def same(have, want):
    want = np.asarray(want).astype(have.dtype)
    wrong = np.flatnonzero(have.ravel().view(f"u{have.itemsize}") != want.ravel().view(f"u{have.itemsize}"))
    if wrong.size:
        k = wrong[0]
        raise AssertionError(f"{wrong.size} of {have.size} differ; [{k}] is {have.ravel()[k]}, not {want.ravel()[k]}")


def near(have, want, bound):
    error = np.abs(have.astype(float) - want)
    wrong = np.flatnonzero(~(error <= bound))
    if wrong.size:
        k = wrong[0]
        raise AssertionError(f"{wrong.size} of {have.size} outside the bound; [{k}] is {have.ravel()[k]}, "
                             f"not {want.ravel()[k]}")


# Formats NumPy has not: the bits and what they stand for.
def bf16(x):
    u = x.astype(np.float32).view(np.uint32)
    return ((u + 0x7fff + (u >> 16 & 1)) >> 16).astype(np.uint16)


def bf16_value(u):
    return (u.astype(np.uint32) << 16).view(np.float32).astype(float)


def e5m2(x):
    u = x.astype(np.float16).view(np.uint16)
    return ((u + 0x7f + (u >> 8 & 1)) >> 8).astype(np.uint8)


def e5m2_value(u):
    return (u.astype(np.uint16) << 8).view(np.float16).astype(float)


def plain(type):
    return lambda x: x.astype(type), lambda x: x.astype(float)


formats = {"fp16": plain(np.float16), "fp32": plain(np.float32), "fp64": plain(np.float64),
           "i8": plain(np.int8), "bf16": (bf16, bf16_value), "fp8e5": (e5m2, e5m2_value)}
rng = np.random.default_rng(1)
i32, f32 = ctypes.c_int32, ctypes.c_float


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


# --- the tests -----------------------------------------------------------------------------------


def test_add():
    x, y = normal(3000), normal(3000)
    for block, warps in ((128, 1), (1024, 4), (2048, 8)):
        z = run(kernels.add, ["*fp32"] * 3 + ["i32"], {"B": block}, (-(-3000 // block), 1),
                [x, y, np.zeros_like(x), i32(3000)], num_warps=warps)[2]
        same(z, x + y)


def test_softmax():
    x = 3 * normal(5, 700)
    y = run(kernels.softmax, ["*fp32"] * 2 + ["i32"], {"B": 1024}, (5, 1), [x, np.zeros_like(x), i32(700)])[1]
    e = np.exp(x.astype(float) - x.max(1, keepdims=True))
    near(y, e / e.sum(1, keepdims=True), 2.0**-18 * e / e.sum(1, keepdims=True))


def test_layernorm():
    x, w, b = normal(5, 300), normal(300), normal(300)
    y = run(kernels.layernorm, ["*fp32"] * 4 + ["i32", "fp32"], {"B": 512}, (5, 1),
            [x, w, b, np.zeros_like(x), i32(300), f32(1e-5)])[3]
    v = x.astype(float)
    want = (v - v.mean(1, keepdims=True)) / np.sqrt(v.var(1, keepdims=True) + 1e-5) * w + b
    near(y, want, 2.0**-17 * (1 + np.abs(want)))


def matmul(type, sum, precision, tile, stages, warps, unit):
    """`unit`: relative error of a product; sums of f32 add 2^-22 for each of K, f16 ones 2^-10."""
    M, N, K = tile[0] + 9, tile[1] + 16, 96
    code, value = formats[type]
    a, b = code(4 * normal(M, K)), code(4 * normal(K, N))
    result = {"fp32": np.float32, "i32": np.int32, "fp16": np.float16, "fp64": np.float64}[sum]
    kind = {"fp32": tl.float32, "i32": tl.int32, "fp16": tl.float16, "fp64": tl.float64}[sum]
    constants = dict(zip(("BM", "BN", "BK"), tile)) | {"SUM": kind, "PRECISION": precision}
    c = run(kernels.matmul, [f"*{type}"] * 2 + [f"*{sum}"] + ["i32"] * 3, constants, (2, 2),
            [a, b, np.zeros((M, N), result), i32(M), i32(N), i32(K)],
            num_stages=stages, num_warps=warps)[2]
    near(c, value(a) @ value(b), unit * (np.abs(value(a)) @ np.abs(value(b))))


def test_matmul_f16():
    matmul("fp16", "fp32", "ieee", (64, 32, 32), 1, 4, 96 * 2.0**-23)
    matmul("fp16", "fp32", "ieee", (32, 64, 32), 4, 2, 96 * 2.0**-23)
    matmul("fp16", "fp16", "ieee", (32, 32, 32), 3, 4, 96 * 2.0**-11)


def test_matmul_bf16():
    matmul("bf16", "fp32", "ieee", (64, 64, 32), 3, 4, 96 * 2.0**-23)


def test_matmul_tf32():
    matmul("fp32", "fp32", "tf32", (32, 64, 32), 2, 4, 2.0**-9.4)
    matmul("fp32", "fp32", "tf32x3", (32, 32, 32), 2, 4, 96 * 2.0**-22)


def test_matmul_integers():
    matmul("i8", "i32", "ieee", (64, 32, 64), 3, 4, 0)


def test_matmul_others():
    matmul("fp32", "fp32", "ieee", (16, 16, 16), 3, 1, 96 * 2.0**-23)
    matmul("fp64", "fp64", "ieee", (16, 16, 16), 2, 1, 96 * 2.0**-52)
    matmul("fp8e5", "fp32", "ieee", (32, 32, 32), 2, 2, 96 * 2.0**-23)


def test_attention():
    S, H, D = 100, 2, 32
    for type, stages, unit in (("fp16", 2, 2.0**-9), ("bf16", 3, 2.0**-6)):
        code, value = formats[type]
        q, k, v = (code(normal(H, S, D)) for _ in range(3))
        o = run(kernels.attention, [f"*{type}"] * 4 + ["i32", "fp32"], {"BM": 32, "BN": 32, "D": D}, (4, H),
                [q, k, v, np.zeros_like(q), i32(S), f32(D**-0.5)], num_stages=stages, num_warps=2)[3]
        s = np.where(np.tri(S) > 0, np.einsum("hid,hjd->hij", value(q), value(k)) * D**-0.5, -np.inf)
        p = np.exp(s - s.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        near(value(o), p @ value(v), 2 * unit * (p @ np.abs(value(v))))


def test_atomics():
    x = rng.integers(-1000, 1000, 3000).astype(np.int32)
    start = np.zeros(19, np.int32)
    _, h, f = run(kernels.atomics, ["*i32", "*i32", "*fp32", "i32"], {"B": 256}, (12, 1),
                  [x, start, np.zeros(16, np.float32), i32(3000)])
    same(h, [*np.bincount(x & 15, minlength=16), x.max(), x.min(), np.bitwise_xor.reduce(x)])
    same(f, np.bincount(x & 15, weights=x, minlength=16))


def test_lock():
    x = rng.integers(-1000, 1000, 20).astype(np.int32)
    out = run(kernels.lock, ["*i32"] * 3, {}, (20, 1), [np.zeros(1, np.int32), x, np.zeros(1, np.int32)])[2]
    same(out, [sum(int(v) * 3 ** (19 - k) for k, v in enumerate(x)) + 2**31 & 0xffffffff] - np.int64(2**31))


def test_reduce():
    x = rng.integers(-1000, 1000, (64, 128)).astype(np.float32)
    _, s, t, p = run(kernels.reduce, ["*fp32"] * 3 + ["*i32"], {"M": 64, "N": 128}, (1, 1),
                     [x, np.zeros(128, np.float32), np.zeros(64, np.float32), np.zeros(64, np.int32)])
    same(s, x.sum(0)), same(t, x.max(1)), same(p, x.argmax(1))


def test_order():
    x = rng.integers(-1000, 1000, 256).astype(np.int32)
    _, s, o, c = run(kernels.order, ["*i32"] * 4, {"B": 256}, (1, 1),
                     [x, np.zeros_like(x), np.zeros_like(x), np.zeros(16, np.int32)])
    same(s, np.cumsum(x)), same(o, np.sort(x)), same(c, np.bincount(x & 15, minlength=16))


def test_gather():
    x, i = normal(256), rng.integers(0, 256, 256).astype(np.int32)
    _, _, y, z = run(kernels.gather, ["*fp32", "*i32", "*fp32", "*fp32", "i32"], {"B": 256}, (1, 1),
                     [x, i, np.zeros_like(x), np.zeros_like(x), i32(200)])
    same(y, np.where(np.arange(256) < 200, x[i], -1)), same(z, x[i])


def function(name, reference, x, ulp):
    bits = 52 if x.dtype == np.float64 else 23
    y = run(kernels.function, [f"*fp{x.itemsize * 8}"] * 2 + ["i32"], {"NAME": name, "B": 512},
            (-(-x.size // 512), 1), [x, np.zeros_like(x), i32(x.size)])[1]
    want = reference(x.astype(float))
    near(y, want, ulp * 2.0**-bits * np.abs(want))


def test_functions():
    x = normal(1000)
    function("exp", np.exp, 5 * x, 40)  # Triton's: ex2.approx of a rounded product
    function("sin", np.sin, 1e5 * x, 4)
    function("log", np.log, np.abs(x) + 2, 4)
    function("tanh", np.tanh, x, 4)
    function("rsqrt", lambda v: 1 / np.sqrt(v), np.abs(x.astype(float)), 2)


def cast(source, target, unit, tiny):
    code, value = formats[source]
    x = code(30 * normal(1000))
    y = run(kernels.cast, [f"*{source}", f"*{target}", "i32"], {"B": 512}, (2, 1),
            [x, formats[target][0](np.zeros(1000)), i32(1000)])[1]
    near(formats[target][1](y), value(x), unit * np.abs(value(x)) + tiny)


def test_casts():
    cast("i8", "bf16", 0, 0)  # 7 bits fit
    cast("fp32", "bf16", 2.0**-8, 0)
    cast("fp32", "fp16", 2.0**-11, 2.0**-25)
    cast("fp16", "fp8e5", 2.0**-3, 2.0**-17)
    cast("fp8e5", "fp32", 0, 0)
    cast("fp64", "bf16", 2.0**-8 + 2.0**-24, 0)  # by way of f32


def test_calls():
    x = rng.integers(-100, 100, 256).astype(np.int32)
    same(run(kernels.calls, ["*i32"] * 2, {"B": 256}, (1, 1), [x, np.zeros_like(x)])[1], x[0] * x[0] + 1 + x)


def test_asserts():  # the last: the context is lost
    x = np.arange(1100, 1356, dtype=np.int32)
    try:
        run(kernels.asserts, ["*i32"] * 2, {"B": 256}, (1, 1), [x, np.zeros_like(x)], debug=True)
    except RuntimeError as e:
        assert "too big" in str(e), e
        return
    raise AssertionError("the assertion did not fail")


def main():
    context = ctypes.c_void_p()
    must(driver.cuInit(0))
    must(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    must(driver.cuCtxSetCurrent(context))
    return checks.run(globals())


sys.exit(main())
