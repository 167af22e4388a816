#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes instructions.tsv: one instruction a line, its words as llvm-mc assembles them, the state
before and the state after. What the instruction does is worked out here with Python's integers and
fractions, apart from the simulator. Run by hand when a row is added:

    ./instructions.py > instructions.tsv        (needs llvm-mc 17 or later, or
    one named by LLVM_MC; the tests do not)

State: vN= eight lanes (EXEC is ff), sN= one word, vcc exec scc m0 mode, gN= and lN= the 32-bit word
at byte N of global and shared memory. Before each line: s[2:3] points to global memory, v[2:3] of
lane i to byte 64 i of it, v1 is 64 i; byte n of both memories is (37 n + 11) mod 256.
"""
import os
import random
import re
import subprocess
import sys
from fractions import Fraction

random.seed(1100)
LANES = 8
M16, M32, M64 = (1 << 16) - 1, (1 << 32) - 1, (1 << 64) - 1


# --- floating-point formats as fractions ----------------------------------------------------------
class Format:
    def __init__(self, bits, exponent, fraction):
        self.bits, self.e, self.f = bits, exponent, fraction
        self.bias = (1 << (exponent - 1)) - 1
        self.inf = ((1 << exponent) - 1) << fraction
        self.sign = 1 << (bits - 1)
        self.quiet = 1 << (fraction - 1)
        self.default_nan = self.sign | self.inf | self.quiet

    def is_nan(self, u):
        return (u & (self.sign - 1)) > self.inf

    def is_snan(self, u):
        return self.is_nan(u) and not u & self.quiet

    def is_inf(self, u):
        return (u & (self.sign - 1)) == self.inf

    def value(self, u):
        e, m = (u & (self.sign - 1)) >> self.f, u & ((1 << self.f) - 1)
        v = (Fraction(m) * Fraction(2) ** (1 - self.bias - self.f) if e == 0
             else (Fraction(m) + (1 << self.f)) * Fraction(2) ** (e - self.bias - self.f))
        return -v if u & self.sign else v

    def round(self, v, negative_zero=False):
        if v == 0:
            return self.sign if negative_zero else 0
        s, v = (self.sign, -v) if v < 0 else (0, v)
        e = v.numerator.bit_length() - v.denominator.bit_length()
        e -= v < Fraction(2) ** e
        e = max(e, 1 - self.bias)
        q = v / Fraction(2) ** (e - self.f)
        n = q.numerator // q.denominator
        rest = q - n
        n += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and n & 1)
        u = n + ((e + self.bias - 1) << self.f)
        return s | min(u, self.inf)


F16, F32, F64 = Format(16, 5, 10), Format(32, 8, 23), Format(64, 11, 52)
FORMATS = {'f16': F16, 'f32': F32, 'f64': F64}


def nan_of(f, *operands):
    for u in operands:
        if f.is_nan(u):
            return u | f.quiet
    return None


def add(f, a, b):
    n = nan_of(f, a, b)
    if n is not None:
        return n
    if f.is_inf(a) or f.is_inf(b):
        if f.is_inf(a) and f.is_inf(b) and a != b:
            return f.default_nan
        return a if f.is_inf(a) else b
    return f.round(f.value(a) + f.value(b), a & b & f.sign != 0)


def mul(f, a, b):
    n = nan_of(f, a, b)
    if n is not None:
        return n
    s = (a ^ b) & f.sign
    zero = not a & (f.sign - 1) or not b & (f.sign - 1)
    if f.is_inf(a) or f.is_inf(b):
        return f.default_nan if zero else s | f.inf
    return f.round(f.value(a) * f.value(b), s != 0)


def fma(f, a, b, c):
    n = nan_of(f, a, b, c)
    if n is not None:
        return n
    s = (a ^ b) & f.sign
    zero = not a & (f.sign - 1) or not b & (f.sign - 1)
    if f.is_inf(a) or f.is_inf(b):
        if zero or (f.is_inf(c) and c & f.sign != s):
            return f.default_nan
        return s | f.inf
    if f.is_inf(c):
        return c
    return f.round(f.value(a) * f.value(b) + f.value(c), s & c != 0)


def neg(f, a):
    return a ^ f.sign


def pick(f, a, b, largest):
    if f.is_snan(a):
        return a | f.quiet
    if f.is_snan(b):
        return b | f.quiet
    if f.is_nan(a):
        return b
    if f.is_nan(b):
        return a
    key = lambda u: (-(u & (f.sign - 1)) - 1 if u & f.sign else u)
    return (max if largest else min)(a, b, key=key)


def med3(f, a, b, c):
    if any(f.is_nan(u) for u in (a, b, c)):
        return pick(f, pick(f, a, b, False), c, False)
    key = lambda u: (-(u & (f.sign - 1)) - 1 if u & f.sign else u)
    return sorted((a, b, c), key=key)[1]


def convert(to, f, u):
    if f.is_nan(u):
        m = u & ((1 << f.f) - 1)
        m = m << (to.f - f.f) if to.f >= f.f else m >> (f.f - to.f)
        return (to.sign if u & f.sign else 0) | to.inf | to.quiet | m
    if f.is_inf(u):
        return (to.sign if u & f.sign else 0) | to.inf
    return to.round(f.value(u), u & f.sign != 0)


def integral(f, u, how):
    if f.is_nan(u):
        return u | f.quiet
    if f.is_inf(u):
        return u
    v = f.value(u)
    n = {'trunc': lambda: int(v), 'floor': lambda: v.__floor__(), 'ceil': lambda: v.__ceil__(),
         'rndne': lambda: round(v)}[how]()
    return f.round(Fraction(n), u & f.sign != 0) if n else u & f.sign


def to_int(f, u, bits, signed, how='trunc'):
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    if f.is_nan(u):
        return 0
    if f.is_inf(u):
        n = low if u & f.sign else high
    else:
        v = f.value(u)
        n = {'trunc': int(v), 'floor': v.__floor__(), 'nearest': (v + Fraction(1, 2)).__floor__(),
             'even': round(v)}[how]
    return min(max(n, low), high) & ((1 << bits) - 1)


def ldexp(f, u, n):
    if f.is_nan(u):
        return u | f.quiet
    if f.is_inf(u):
        return u
    return f.round(f.value(u) * Fraction(2) ** max(min(n, 5000), -5000), u & f.sign != 0)


def frexp(f, u):
    if f.is_nan(u):
        return u | f.quiet, 0
    if f.is_inf(u) or not u & (f.sign - 1):
        return u, 0
    v, e = abs(f.value(u)), 0
    while v >= 1:
        v, e = v / 2, e + 1
    while v < Fraction(1, 2):
        v, e = v * 2, e - 1
    return f.round(v) | (u & f.sign), e


def fract(f, u):
    if f.is_nan(u):
        return u | f.quiet
    if f.is_inf(u):
        return None
    v = f.value(u)
    r = f.round(v - v.__floor__())
    top = f.round(Fraction(1)) - 1
    return min(r, top)


def classify(f, u):
    m, s = u & (f.sign - 1), bool(u & f.sign)
    if f.is_nan(u):
        return 1 if f.is_snan(u) else 2
    if m == f.inf:
        return 4 if s else 512
    if m >> f.f:
        return 8 if s else 256
    if m:
        return 16 if s else 128
    return 32 if s else 64


# --- integers -------------------------------------------------------------------------------------
def s(u, bits=32):
    u &= (1 << bits) - 1
    return u - (1 << bits) if u >> (bits - 1) else u


def med(a, b, c):
    return sorted((a, b, c))[1]


def brev(u, bits=32):
    return int(format(u, '0%db' % bits)[::-1], 2)


def clz(u, bits=32):
    return bits - u.bit_length() if u else M32


def ctz(u):
    return (u & -u).bit_length() - 1 if u else M32


def cls(u, bits=32):
    u = ~u & ((1 << bits) - 1) if u >> (bits - 1) else u
    return bits - u.bit_length() if u else M32


def byte(u, n):
    return u >> 8 * n & 255


def sad(a, b, c, masked=False):
    return c + sum(abs(byte(a, n) - byte(b, n)) for n in range(4) if not masked or byte(b, n))


def perm(a, b, sel):
    x = a << 32 | b
    r = 0
    for n in range(4):
        k = byte(sel, n)
        v = byte(x, k) if k < 8 else 255 * (x >> (16 * (k - 8) + 15) & 1) if k < 12 else \
            0 if k == 12 else 255
        r |= v << 8 * n
    return r


def bfe(a, low, width, signed, bits=32):
    v = (s(a, bits) if signed else a) >> low
    v &= (1 << width) - 1
    return s(v, width) & ((1 << bits) - 1) if signed and width else v


def clamp_int(v, bits, signed):
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return min(max(v, low), high) & ((1 << bits) - 1)


def norm(f, u, signed):
    if f.is_nan(u):
        return 0
    v = (Fraction(-2 if u & f.sign else 2) if f.is_inf(u) else f.value(u))
    v = min(max(v, Fraction(-1 if signed else 0)), Fraction(1))
    return round(v * (32767 if signed else 65535)) & M16


def trunc_half(u):
    """f32 to f16 toward zero."""
    if F32.is_nan(u) or F32.is_inf(u):
        return convert(F16, F32, u)
    v = F32.value(u)
    r = F16.round(v, u >> 31 != 0)
    if F16.is_inf(r):
        return (r & 0x8000) | 0x7bff
    while abs(F16.value(r)) > abs(v):
        r -= 1
    return r


def sub(f, a, b):
    n = nan_of(f, a, b)
    return n if n is not None else add(f, a, neg(f, b))


FLOAT_BINARY = {'add': add, 'mul': mul, 'sub': sub, 'subrev': lambda f, a, b: sub(f, b, a),
                'min': lambda f, a, b: pick(f, a, b, False),
                'max': lambda f, a, b: pick(f, a, b, True)}
FLOAT_TERNARY = {'fma': fma, 'fmac': fma, 'med3': med3,
                 'min3': lambda f, a, b, c: pick(f, pick(f, a, b, 0), c, 0),
                 'max3': lambda f, a, b, c: pick(f, pick(f, a, b, 1), c, 1),
                 'maxmin': lambda f, a, b, c: pick(f, pick(f, a, b, 1), c, 0),
                 'minmax': lambda f, a, b, c: pick(f, pick(f, a, b, 0), c, 1)}
COMPARE = {'f': lambda a, b: False, 't': lambda a, b: True, 'lt': lambda a, b: a < b,
           'eq': lambda a, b: a == b, 'le': lambda a, b: a <= b, 'gt': lambda a, b: a > b,
           'ge': lambda a, b: a >= b, 'lg': lambda a, b: a != b, 'ne': lambda a, b: a != b}

# a, b, c: operands as unsigned numbers of their width
INTEGER = {
    'v_mov_b32': lambda a: a, 'v_not_b32': lambda a: ~a & M32, 'v_not_b16': lambda a: ~a & M16,
    'v_bfrev_b32': brev, 'v_clz_i32_u32': clz, 'v_ctz_i32_b32': ctz, 'v_cls_i32': cls,
    'v_cvt_i32_i16': lambda a: s(a, 16) & M32, 'v_cvt_u32_u16': lambda a: a,
    'v_sat_pk_u8_i16': lambda a: min(max(s(a, 16), 0), 255) | min(max(s(a >> 16, 16), 0), 255) << 8,
    'v_mul_i32_i24': lambda a, b: s(a, 24) * s(b, 24) & M32,
    'v_mul_hi_i32_i24': lambda a, b: s(a, 24) * s(b, 24) >> 32 & M32,
    'v_mul_u32_u24': lambda a, b: (a & 0xffffff) * (b & 0xffffff) & M32,
    'v_mul_hi_u32_u24': lambda a, b: (a & 0xffffff) * (b & 0xffffff) >> 32,
    'v_min_i32': lambda a, b: min(s(a), s(b)) & M32, 'v_max_i32': lambda a, b: max(s(a), s(b)) & M32,
    'v_min_u32': min, 'v_max_u32': max, 'v_min_u16': min, 'v_max_u16': max,
    'v_min_i16': lambda a, b: min(s(a, 16), s(b, 16)) & M16,
    'v_max_i16': lambda a, b: max(s(a, 16), s(b, 16)) & M16,
    'v_lshlrev_b32': lambda a, b: b << (a & 31) & M32, 'v_lshrrev_b32': lambda a, b: b >> (a & 31),
    'v_ashrrev_i32': lambda a, b: s(b) >> (a & 31) & M32,
    'v_lshlrev_b16': lambda a, b: b << (a & 15) & M16, 'v_lshrrev_b16': lambda a, b: b >> (a & 15),
    'v_ashrrev_i16': lambda a, b: s(b, 16) >> (a & 15) & M16,
    'v_lshlrev_b64': lambda a, b: b << (a & 63) & M64, 'v_lshrrev_b64': lambda a, b: b >> (a & 63),
    'v_ashrrev_i64': lambda a, b: s(b, 64) >> (a & 63) & M64,
    'v_and_b32': lambda a, b: a & b, 'v_or_b32': lambda a, b: a | b, 'v_xor_b32': lambda a, b: a ^ b,
    'v_and_b16': lambda a, b: a & b, 'v_or_b16': lambda a, b: a | b, 'v_xor_b16': lambda a, b: a ^ b,
    'v_xnor_b32': lambda a, b: ~(a ^ b) & M32,
    'v_add_nc_u32': lambda a, b: a + b & M32, 'v_sub_nc_u32': lambda a, b: a - b & M32,
    'v_subrev_nc_u32': lambda a, b: b - a & M32,
    'v_add_nc_i32': lambda a, b: a + b & M32, 'v_sub_nc_i32': lambda a, b: a - b & M32,
    'v_add_nc_u16': lambda a, b: a + b & M16, 'v_sub_nc_u16': lambda a, b: a - b & M16,
    'v_add_nc_i16': lambda a, b: a + b & M16, 'v_sub_nc_i16': lambda a, b: a - b & M16,
    'v_mul_lo_u16': lambda a, b: a * b & M16, 'v_mul_lo_u32': lambda a, b: a * b & M32,
    'v_mul_hi_u32': lambda a, b: a * b >> 32, 'v_mul_hi_i32': lambda a, b: s(a) * s(b) >> 32 & M32,
    'v_mad_i32_i24': lambda a, b, c: s(a, 24) * s(b, 24) + c & M32,
    'v_mad_u32_u24': lambda a, b, c: (a & 0xffffff) * (b & 0xffffff) + c & M32,
    'v_mad_u32_u16': lambda a, b, c: a * b + c & M32,
    'v_mad_i32_i16': lambda a, b, c: s(a, 16) * s(b, 16) + c & M32,
    'v_mad_u16': lambda a, b, c: a * b + c & M16, 'v_mad_i16': lambda a, b, c: a * b + c & M16,
    'v_bfe_u32': lambda a, b, c: bfe(a, b & 31, c & 31, False),
    'v_bfe_i32': lambda a, b, c: bfe(a, b & 31, c & 31, True),
    'v_bfi_b32': lambda a, b, c: (a & b) | (~a & M32 & c),
    'v_lerp_u8': lambda a, b, c: sum((byte(a, n) + byte(b, n) + (byte(c, n) & 1) >> 1) << 8 * n
                                     for n in range(4)),
    'v_alignbit_b32': lambda a, b, c: (a << 32 | b) >> (c & 31) & M32,
    'v_alignbyte_b32': lambda a, b, c: (a << 32 | b) >> 8 * (c & 3) & M32,
    'v_min3_i32': lambda a, b, c: min(s(a), s(b), s(c)) & M32, 'v_min3_u32': min,
    'v_max3_i32': lambda a, b, c: max(s(a), s(b), s(c)) & M32, 'v_max3_u32': max,
    'v_med3_i32': lambda a, b, c: med(s(a), s(b), s(c)) & M32, 'v_med3_u32': med,
    'v_min3_i16': lambda a, b, c: min(s(a, 16), s(b, 16), s(c, 16)) & M16, 'v_min3_u16': min,
    'v_max3_i16': lambda a, b, c: max(s(a, 16), s(b, 16), s(c, 16)) & M16, 'v_max3_u16': max,
    'v_med3_i16': lambda a, b, c: med(s(a, 16), s(b, 16), s(c, 16)) & M16, 'v_med3_u16': med,
    'v_maxmin_u32': lambda a, b, c: min(max(a, b), c), 'v_minmax_u32': lambda a, b, c: max(min(a, b), c),
    'v_maxmin_i32': lambda a, b, c: min(max(s(a), s(b)), s(c)) & M32,
    'v_minmax_i32': lambda a, b, c: max(min(s(a), s(b)), s(c)) & M32,
    'v_sad_u8': lambda a, b, c: sad(a, b, c) & M32, 'v_msad_u8': lambda a, b, c: sad(a, b, c, True) & M32,
    'v_sad_hi_u8': lambda a, b, c: (sad(a, b, 0) << 16) + c & M32,
    'v_sad_u16': lambda a, b, c: abs((a & M16) - (b & M16)) + abs((a >> 16) - (b >> 16)) + c & M32,
    'v_sad_u32': lambda a, b, c: abs(a - b) + c & M32,
    'v_qsad_pk_u16_u8': lambda a, b, c: sum((sad(a >> 8 * n & M32, b, c >> 16 * n & M16) & M16) << 16 * n
                                            for n in range(4)),
    'v_mqsad_pk_u16_u8': lambda a, b, c: sum((sad(a >> 8 * n & M32, b, c >> 16 * n & M16, True) & M16)
                                             << 16 * n for n in range(4)),
    'v_xor3_b32': lambda a, b, c: a ^ b ^ c, 'v_or3_b32': lambda a, b, c: a | b | c,
    'v_perm_b32': perm, 'v_xad_u32': lambda a, b, c: (a ^ b) + c & M32,
    'v_lshl_add_u32': lambda a, b, c: (a << (b & 31)) + c & M32,
    'v_add_lshl_u32': lambda a, b, c: a + b << (c & 31) & M32,
    'v_add3_u32': lambda a, b, c: a + b + c & M32,
    'v_lshl_or_b32': lambda a, b, c: a << (b & 31) & M32 | c,
    'v_and_or_b32': lambda a, b, c: a & b | c,
    'v_bfm_b32': lambda a, b: ((1 << (a & 31)) - 1) << (b & 31) & M32,
    'v_bcnt_u32_b32': lambda a, b: bin(a).count('1') + b & M32,
    'v_pack_b32_f16': lambda a, b: a | b << 16,
    'v_cvt_pk_u16_u32': lambda a, b: min(a, M16) | min(b, M16) << 16,
    'v_cvt_pk_i16_i32': lambda a, b: clamp_int(s(a), 16, True) | clamp_int(s(b), 16, True) << 16,
}
CONVERT = {
    'v_cvt_f64_i32': lambda a: F64.round(Fraction(s(a))), 'v_cvt_f64_u32': lambda a: F64.round(Fraction(a)),
    'v_cvt_f32_i32': lambda a: F32.round(Fraction(s(a))), 'v_cvt_f32_u32': lambda a: F32.round(Fraction(a)),
    'v_cvt_i32_f64': lambda a: to_int(F64, a, 32, True), 'v_cvt_u32_f64': lambda a: to_int(F64, a, 32, False),
    'v_cvt_i32_f32': lambda a: to_int(F32, a, 32, True), 'v_cvt_u32_f32': lambda a: to_int(F32, a, 32, False),
    'v_cvt_nearest_i32_f32': lambda a: to_int(F32, a, 32, True, 'nearest'),
    'v_cvt_floor_i32_f32': lambda a: to_int(F32, a, 32, True, 'floor'),
    'v_cvt_off_f32_i4': lambda a: F32.round(Fraction(s(a, 4), 16)),
    'v_cvt_f16_u16': lambda a: F16.round(Fraction(a)), 'v_cvt_f16_i16': lambda a: F16.round(Fraction(s(a, 16))),
    'v_cvt_u16_f16': lambda a: to_int(F16, a, 16, False), 'v_cvt_i16_f16': lambda a: to_int(F16, a, 16, True),
    'v_cvt_norm_i16_f16': lambda a: norm(F16, a, True), 'v_cvt_norm_u16_f16': lambda a: norm(F16, a, False),
    'v_cvt_pk_norm_i16_f32': lambda a, b: norm(F32, a, True) | norm(F32, b, True) << 16,
    'v_cvt_pk_norm_u16_f32': lambda a, b: norm(F32, a, False) | norm(F32, b, False) << 16,
    'v_cvt_pk_norm_i16_f16': lambda a, b: norm(F16, a, True) | norm(F16, b, True) << 16,
    'v_cvt_pk_norm_u16_f16': lambda a, b: norm(F16, a, False) | norm(F16, b, False) << 16,
    'v_cvt_pk_rtz_f16_f32': lambda a, b: trunc_half(a) | trunc_half(b) << 16,
    'v_cvt_pk_i16_f32': lambda a, b: to_int(F32, a, 16, True) | to_int(F32, b, 16, True) << 16,
    'v_cvt_pk_u16_f32': lambda a, b: to_int(F32, a, 16, False) | to_int(F32, b, 16, False) << 16,
    'v_cvt_pk_u8_f32': lambda a, b, c: c & ~(255 << 8 * (b & 3)) & M32 | to_int(F32, a, 8, False, 'even') << 8 * (b & 3),
    'v_ldexp_f32': lambda a, b: ldexp(F32, a, s(b)), 'v_ldexp_f64': lambda a, b: ldexp(F64, a, s(b)),
    'v_ldexp_f16': lambda a, b: ldexp(F16, a, s(b, 16)),
    'v_frexp_exp_i32_f64': lambda a: frexp(F64, a)[1] & M32, 'v_frexp_exp_i32_f32': lambda a: frexp(F32, a)[1] & M32,
    'v_frexp_exp_i16_f16': lambda a: frexp(F16, a)[1] & M16,
}
for _n in range(4):
    CONVERT['v_cvt_f32_ubyte%d' % _n] = lambda a, n=_n: F32.round(Fraction(byte(a, n)))
for _a in FORMATS:
    for _b in FORMATS:
        CONVERT['v_cvt_%s_%s' % (_a, _b)] = lambda a, t=FORMATS[_a], f=FORMATS[_b]: convert(t, f, a)


def reference(name):
    """A function of the operands, or None."""
    if name in INTEGER:
        return INTEGER[name]
    if name in CONVERT:
        return CONVERT[name]
    m = re.match(r'v_(\w+)_(f16|f32|f64)$', name)
    if not m:
        return None
    op, f = m.group(1), FORMATS[m.group(2)]
    if op in FLOAT_BINARY:
        return lambda a, b: FLOAT_BINARY[op](f, a, b)
    if op in FLOAT_TERNARY:
        return lambda a, b, c: FLOAT_TERNARY[op](f, a, b, c)
    if op in ('trunc', 'floor', 'ceil', 'rndne'):
        return lambda a: integral(f, a, op)
    if op == 'fract':
        return lambda a: fract(f, a)
    if op == 'frexp_mant':
        return lambda a: frexp(f, a)[0]
    if op == 'mul_dx9_zero':
        return lambda a, b: 0 if not a & 0x7fffffff or not b & 0x7fffffff else mul(f, a, b)
    if op in ('fma_dx9_zero', 'fmac_dx9_zero'):
        return lambda a, b, c: add(f, 0, c) if not a & 0x7fffffff or not b & 0x7fffffff else fma(f, a, b, c)
    return None


# --- operand values -------------------------------------------------------------------------------
def float_value(f):
    e = random.choice([0, 1, f.bias - 3, f.bias - 1, f.bias, f.bias, f.bias + 1, f.bias + 2,
                       f.bias + f.f, 2 * f.bias, 2 * f.bias + 1])
    m = random.choice([0, 1, (1 << f.f) - 1, 1 << (f.f - 1), random.getrandbits(f.f), random.getrandbits(f.f)])
    return random.getrandbits(1) << (f.bits - 1) | e << f.f | m


def int_value(bits):
    return random.choice([0, 1, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1,
                          random.getrandbits(bits), random.getrandbits(bits), random.getrandbits(bits),
                          random.getrandbits(6)])


def bits_of(t):
    return int(re.search(r'\d+', t).group()) if re.search(r'\d', t) else 32


def value(t):
    if t[0] == 'F':
        return float_value(FORMATS[t.lower()])
    if t[0] == 'B' and random.random() < 0.4 and bits_of(t) in (16, 32, 64):
        return float_value(FORMATS['f%d' % bits_of(t)])
    return int_value(bits_of(t))


# --- lines ----------------------------------------------------------------------------------------
lines = []


def show(v):
    return '%x' % v


def emit(asm, before, after, words=None):
    f = lambda d: ' '.join('%s=%s' % (k, ','.join(map(show, v)) if isinstance(v, list) else show(v))
                           for k, v in d.items())
    lines.append((asm, f(before), f(after), words))


def lanes_into(state, reg, t, values):
    """Puts values of a type in registers from `reg` on."""
    state['v%d' % reg] = [v & M32 for v in values]
    if bits_of(t) == 64:
        state['v%d' % (reg + 1)] = [v >> 32 for v in values]


def register(reg, t):
    return 'v[%d:%d]' % (reg, reg + 1) if bits_of(t) == 64 else 'v%d' % reg


def table_rows():
    text = open(sys.path[0] + '/../../../backends/hip/sim/valu.def').read()
    text = text[text.index('/* --- VOP1'):]
    for m in re.finditer(r'^(V\w+)\((0x\w+), (\w+), ([^)]*)\)', text, re.M):
        yield m.group(1), m.group(3), [x.strip() for x in m.group(4).split(',')][:-1]


def plain(kind, name, types, fn):
    d, sources = types[0], [t for t in types[1:4] if t not in ('Z', 'ACC', 'M')]
    accumulates = 'ACC' in types
    for suffix in ('_e32', '_e64') if kind in ('V1', 'V2') else ('',):
        before, values = {}, []
        for n, t in enumerate(sources):
            v = [value(t) for _ in range(LANES)]
            values.append(v)
            lanes_into(before, 6 + 2 * n, t, v)
        if accumulates:
            v = [value(d) for _ in range(LANES)]
            values.append(v)
            lanes_into(before, 4, d, v)
        result = [fn(*x) for x in zip(*values)]
        if None in result:
            result = [0 if r is None else r for r in result]
            for n, r in enumerate([fn(*x) for x in zip(*values)]):
                if r is None:
                    return plain(kind, name, types, fn)
        after = {}
        if bits_of(d) == 16:
            old = before.get('v4', [0x12345678] * LANES)
            before['v4'] = old
            result = [(o & 0xffff0000) | r for o, r in zip(old, result)]
        lanes_into(after, 4, d, result)
        emit('%s%s %s' % (name, suffix, ', '.join([register(4, d)] + [register(6 + 2 * n, t)
                                                                      for n, t in enumerate(sources)])),
             before, after)


def compare(name, types):
    m = re.match(r'v_cmpx?_(\w+)_(\w)(\d+)$', name)
    op, kind, bits = m.group(1), m.group(2), int(m.group(3))
    a = [value(types[0]) for _ in range(LANES)]
    b = [x if random.random() < 0.3 else value(types[0]) for x in a]
    if op == 'class':
        f = FORMATS['f%d' % bits]
        b = [random.getrandbits(10) for _ in a]
        r = [bool(classify(f, x) & y) for x, y in zip(a, b)]
        b_type = 'U32' if bits != 16 else 'U16'
    else:
        b_type = types[0]
        r = []
        for x, y in zip(a, b):
            if kind == 'f':
                f = FORMATS['f%d' % bits]
                nan = f.is_nan(x) or f.is_nan(y)
                key = lambda u: (Fraction(10) ** 400 * (-1 if u & f.sign else 1) if f.is_inf(u) else f.value(u))
                base = {'o': lambda: not nan, 'u': lambda: nan}
                if op in base:
                    r.append(base[op]())
                elif op in ('f', 't'):
                    r.append(op == 't')
                elif op in ('nge', 'nlg', 'ngt', 'nle', 'nlt', 'neq'):
                    r.append(nan or not COMPARE[op[1:]](key(x), key(y)))
                else:
                    r.append(not nan and COMPARE[op](key(x), key(y)))
            else:
                k = (lambda u: s(u, bits)) if kind == 'i' else (lambda u: u)
                r.append(COMPARE[op](k(x), k(y)))
    mask = sum(x << n for n, x in enumerate(r))
    before = {}
    lanes_into(before, 6, types[0], a)
    lanes_into(before, 8, b_type, b)
    operands = '%s, %s' % (register(6, types[0]), register(8, b_type))
    if 'cmpx' in name:
        emit('%s_e32 %s' % (name, operands), before, {'exec': mask})
        emit('%s_e64 %s' % (name, operands), before, {'exec': mask})
    else:
        emit('%s_e32 vcc_lo, %s' % (name, operands), before, {'vcc': mask})
        emit('%s_e64 s10, %s' % (name, operands), before, {'s10': mask})


def packed(name, types):
    base = {'v_pk_mad_i16': 'v_mad_i16', 'v_pk_mad_u16': 'v_mad_u16', 'v_pk_add_i16': 'v_add_nc_i16',
            'v_pk_sub_i16': 'v_sub_nc_i16', 'v_pk_add_u16': 'v_add_nc_u16', 'v_pk_sub_u16': 'v_sub_nc_u16',
            }.get(name, name.replace('v_pk_', 'v_'))
    fn = reference(base)
    n = 3 if types[3] != 'Z' else 2
    v = [[value(types[1 + k]) | value(types[1 + k]) << 16 for _ in range(LANES)] for k in range(n)]
    before = {}
    for k in range(n):
        lanes_into(before, 6 + 2 * k, 'B32', v[k])
    low = [fn(*[x & M16 for x in lane]) for lane in zip(*v)]
    high = [fn(*[x >> 16 for x in lane]) for lane in zip(*v)]
    regs = ', '.join('v%d' % (6 + 2 * k) for k in range(n))
    emit('%s v4, %s' % (name, regs), before, {'v4': [h << 16 | l for h, l in zip(high, low)]})
    swapped = [fn(*([lane[0] >> 16] + [x & M16 for x in lane[1:]])) for lane in zip(*v)]
    both = [fn(*([lane[0] & M16] + [x >> 16 for x in lane[1:]])) for lane in zip(*v)]
    emit('%s v4, %s op_sel:[1%s] op_sel_hi:[0%s]' % (name, regs, ',0' * (n - 1), ',1' * (n - 1)), before,
         {'v4': [h << 16 | l for h, l in zip(both, swapped)]})


def dot_integers(name, bits, signed):
    v = [[random.getrandbits(32) for _ in range(LANES)] for _ in range(3)]
    before = {}
    for k in range(3):
        lanes_into(before, 6 + 2 * k, 'B32', v[k])

    def total(a, b, c, sa, sb):
        part = lambda u, n, sg: s(u >> n, bits) if sg else u >> n & ((1 << bits) - 1)
        return c + sum(part(a, n, sa) * part(b, n, sb) for n in range(0, 32, bits)) & M32
    for sa, sb in ((0, 0), (1, 0), (0, 1), (1, 1)) if signed else ((0, 0),):
        emit('%s v4, v6, v8, v10%s' % (name, ' neg_lo:[%d,%d,0]' % (sa, sb) if sa or sb else ''), before,
             {'v4': [total(*x, sa, sb) for x in zip(*v)]})


def carries():
    for name, fn in (('add', lambda a, b, c: a + b + c), ('sub', lambda a, b, c: a - b - c),
                     ('subrev', lambda a, b, c: b - a - c)):
        a, b = [int_value(32) for _ in range(LANES)], [int_value(32) for _ in range(LANES)]
        for chain in (False, True):
            carry = random.getrandbits(8) if chain else 0
            r = [fn(x, y, carry >> n & 1) for n, (x, y) in enumerate(zip(a, b))]
            out = sum((v < 0 or v > M32) << n for n, v in enumerate(r))
            regs = {'v6': a, 'v8': b}
            after = {'v4': [v & M32 for v in r]}
            if not chain:
                emit('v_%s_co_u32 v4, s10, v6, v8' % name, regs, {**after, 's10': out})
                continue
            emit('v_%s_co_ci_u32_e32 v4, vcc_lo, v6, v8, vcc_lo' % name, {**regs, 'vcc': carry}, {**after, 'vcc': out})
            emit('v_%s_co_ci_u32_e64 v4, s10, v6, v8, s12' % name, {**regs, 's12': carry}, {**after, 's10': out})
    a, b = [int_value(32) for _ in range(LANES)], [int_value(32) for _ in range(LANES)]
    c = [int_value(64) for _ in range(LANES)]
    before = {'v6': a, 'v8': b}
    lanes_into(before, 10, 'U64', c)
    for name, sg in (('v_mad_u64_u32', False), ('v_mad_i64_i32', True)):
        r = [(s(x) * s(y) + s(z, 64)) if sg else x * y + z for x, y, z in zip(a, b, c)]
        after = {}
        lanes_into(after, 4, 'U64', [v & M64 for v in r])
        after['s12'] = sum(((v != s(v, 64)) if sg else v > M64) << n for n, v in enumerate(r))
        emit('%s v[4:5], s12, v6, v8, v[10:11]' % name, before, after)


def selections():
    a, b = [int_value(32) for _ in range(LANES)], [int_value(32) for _ in range(LANES)]
    m = random.getrandbits(8)
    pickm = lambda x, y: [q if m >> n & 1 else p for n, (p, q) in enumerate(zip(x, y))]
    emit('v_cndmask_b32_e32 v4, v6, v8, vcc_lo', {'v6': a, 'v8': b, 'vcc': m}, {'v4': pickm(a, b)})
    emit('v_cndmask_b32_e64 v4, -v6, |v8|, s12', {'v6': a, 'v8': b, 's12': m},
         {'v4': pickm([x ^ 1 << 31 for x in a], [x & 0x7fffffff for x in b])})
    emit('v_cndmask_b16 v4, v6, v8, s12', {'v4': [0xabcd0000] * 8, 'v6': a, 'v8': b, 's12': m},
         {'v4': [0xabcd0000 | x for x in pickm([p & M16 for p in a], [p & M16 for p in b])]})
    low = [random.getrandbits(32) for _ in range(LANES)]
    emit('v_mbcnt_lo_u32_b32 v4, v6, v8', {'v6': low, 'v8': a},
         {'v4': [bin(x & ((1 << n) - 1)).count('1') + y & M32 for n, (x, y) in enumerate(zip(low, a))]})
    emit('v_mbcnt_hi_u32_b32 v4, v6, v8', {'v6': low, 'v8': a}, {'v4': a})
    # halves by name, which llvm-mc 17 does not write: words by hand
    emit('~v_mov_b16_e32 v4.h, v6.l', {'v4': b, 'v6': a}, {'v4': [q & M16 | (p & M16) << 16 for p, q in zip(a, b)]}, '7f083906')
    emit('~v_swap_b16 v4.l, v6.h', {'v4': b, 'v6': a}, {'v4': [q & ~M16 | p >> 16 for p, q in zip(a, b)],
                                                        'v6': [p & M16 | (q & M16) << 16 for p, q in zip(a, b)]}, '7e08cd86')
    ha, hb = [float_value(F16) | float_value(F16) << 16 for _ in a], [float_value(F16) | float_value(F16) << 16 for _ in a]
    x = [float_value(F32) for _ in a]
    emit('~v_cvt_f16_f32_e32 v4.h, v6', {'v4': b, 'v6': x}, {'v4': [q & M16 | convert(F16, F32, p) << 16 for p, q in zip(x, b)]}, '7f081506')
    emit('~v_cvt_f32_f16_e32 v4, v6.h', {'v6': ha}, {'v4': [convert(F32, F16, p >> 16) for p in ha]}, '7e081786')
    emit('~v_add_f16_e32 v4.h, v6.l, v8.h', {'v4': b, 'v6': ha, 'v8': hb},
         {'v4': [r & M16 | add(F16, p & M16, q >> 16) << 16 for p, q, r in zip(ha, hb, b)]}, '65091106')
    emit('~v_cmp_ne_u16_e32 vcc_lo, v6.h, v8.l', {'v6': ha, 'v8': [p >> 16 if n % 3 else p for n, p in enumerate(ha)]},
         {'vcc': sum((n % 3 == 0 and p >> 16 != p & M16) << n for n, p in enumerate(ha))}, '7c7a1186')
    emit('v_fma_f16 v4, v6, v8, v10 op_sel:[1,0,1,1]', {'v4': b, 'v6': ha, 'v8': hb, 'v10': ha},
         {'v4': [r & M16 | fma(F16, p >> 16, q & M16, p >> 16) << 16 for p, q, r in zip(ha, hb, b)]})
    emit('v_readfirstlane_b32 s10, v6', {'v6': a}, {'s10': a[0]})
    emit('v_readlane_b32 s10, v6, 5', {'v6': a}, {'s10': a[5]})
    emit('v_writelane_b32 v6, s12, 3', {'v6': a, 's12': 0x1234}, {'v6': a[:3] + [0x1234] + a[4:]})
    emit('v_swap_b32 v6, v8', {'v6': a, 'v8': b}, {'v6': b, 'v8': a})
    emit('v_movreld_b32_e32 v4, v6', {'v6': a, 'm0': 3}, {'v7': a})
    emit('v_movrels_b32_e32 v4, v6', {'v8': a, 'm0': 2}, {'v4': a})
    emit('v_movrelsd_b32_e32 v4, v6', {'v8': a, 'm0': 2}, {'v6': a})
    emit('v_movrelsd_2_b32_e32 v4, v6', {'v8': a, 'm0': 5 << 16 | 2}, {'v9': a})
    emit('v_swaprel_b32 v4, v6', {'v8': a, 'v9': b, 'm0': 5 << 16 | 2}, {'v9': a, 'v8': b})
    emit('v_permlane64_b32 v6, v6', {'v6': a}, {'v6': a})
    emit('v_permlane16_b32 v4, v6, s10, s12', {'v6': a, 's10': 0x01234567, 's12': 0},
         {'v4': a[::-1]})
    emit('v_permlanex16_b32 v4, v6, s10, s12 op_sel:[0,1]', {'v4': b, 'v6': a, 's10': 0x01234567, 's12': 0},
         {'v4': [0] * 8})
    emit('v_nop', {'v6': a}, {'v6': a})
    emit('v_pipeflush', {'v6': a}, {'v6': a})
    emit('v_mov_b32_dpp v4, v6 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf', {'v6': a},
         {'v4': [a[n ^ 1] for n in range(8)]})
    emit('v_mov_b32_dpp v4, v6 row_shl:1 row_mask:0xf bank_mask:0xf', {'v4': b, 'v6': a},
         {'v4': a[1:] + [b[7]]})
    emit('v_mov_b32_dpp v4, v6 row_shr:2 row_mask:0xf bank_mask:0xf bound_ctrl:1', {'v4': b, 'v6': a},
         {'v4': [0, 0] + a[:6]})
    emit('v_mov_b32_dpp v4, v6 row_ror:12 row_mask:0xf bank_mask:0x1', {'v4': b, 'v6': a},
         {'v4': a[4:8] + b[4:]})
    emit('v_mov_b32_dpp v4, v6 row_half_mirror row_mask:0xf bank_mask:0xf', {'v6': a}, {'v4': a[::-1]})
    emit('v_mov_b32_dpp v4, v6 row_xmask:3 row_mask:0xf bank_mask:0xf', {'v6': a}, {'v4': [a[n ^ 3] for n in range(8)]})
    emit('v_mov_b32_dpp v4, v6 row_share:5 row_mask:0xf bank_mask:0xf', {'v6': a}, {'v4': [a[5]] * 8})
    emit('v_add_nc_u32_dpp v4, v6, v8 dpp8:[7,6,5,4,3,2,1,0]', {'v6': a, 'v8': b},
         {'v4': [x + y & M32 for x, y in zip(a[::-1], b)]})
    x, y = [float_value(F32) for _ in a], [float_value(F32) for _ in a]
    k = 0x40490fdb
    emit('v_fmamk_f32 v4, v6, 0x40490fdb, v8', {'v6': x, 'v8': y}, {'v4': [fma(F32, p, k, q) for p, q in zip(x, y)]})
    emit('v_fmaak_f32 v4, v6, v8, 0x40490fdb', {'v6': x, 'v8': y}, {'v4': [fma(F32, p, q, k) for p, q in zip(x, y)]})
    hx, hy = [float_value(F16) for _ in a], [float_value(F16) for _ in a]
    emit('v_fmamk_f16 v4, v6, 0x4248, v8', {'v4': [0] * 8, 'v6': hx, 'v8': hy}, {'v4': [fma(F16, p, 0x4248, q) for p, q in zip(hx, hy)]})
    emit('v_fmaak_f16 v4, v6, v8, 0x4248', {'v4': [0] * 8, 'v6': hx, 'v8': hy}, {'v4': [fma(F16, p, q, 0x4248) for p, q in zip(hx, hy)]})
    pk = lambda f: [f() | f() << 16 for _ in range(8)]
    p, q, r = (pk(lambda: float_value(F16)) for _ in range(3))
    emit('v_pk_fmac_f16 v4, v6, v8', {'v4': r, 'v6': p, 'v8': q},
         {'v4': [fma(F16, i & M16, j & M16, l & M16) | fma(F16, i >> 16, j >> 16, l >> 16) << 16
                 for i, j, l in zip(p, q, r)]})
    emit('v_add_f32_e64 v4, -|v6|, v8 mul:2', {'v6': [0x3f800000] * 8, 'v8': [0x40a00000] * 8}, {'v4': [0x41000000] * 8})
    emit('v_mul_f32_e64 v4, v6, v8 clamp', {'v6': [0x3f800000, 0x40000000, 0xbf800000, 0x3f000000] * 2, 'v8': [0x3f400000] * 8},
         {'v4': [0x3f400000, 0x3f800000, 0, 0x3ec00000] * 2})
    emit('v_add_nc_u32_e64 v4, v6, v8 clamp', {'v6': a, 'v8': b}, {'v4': [min(i + j, M32) for i, j in zip(a, b)]})
    emit('v_sub_nc_i32 v4, v6, v8 clamp', {'v6': a, 'v8': b}, {'v4': [clamp_int(s(i) - s(j), 32, True) for i, j in zip(a, b)]})
    emit('v_add_nc_i16 v4, v6, v8 op_sel:[1,0,1] clamp', {'v4': [7] * 8, 'v6': a, 'v8': b},
         {'v4': [7 | clamp_int(s(i >> 16, 16) + s(j, 16), 16, True) << 16 for i, j in zip(a, b)]})
    emit('v_pk_add_i16 v4, v6, v8 clamp', {'v6': a, 'v8': b},
         {'v4': [clamp_int(s(i, 16) + s(j, 16), 16, True) | clamp_int(s(i >> 16, 16) + s(j >> 16, 16), 16, True) << 16 for i, j in zip(a, b)]})
    emit('v_pk_sub_u16 v4, v6, v8 clamp', {'v6': a, 'v8': b},
         {'v4': [max((i & M16) - (j & M16), 0) | max((i >> 16) - (j >> 16), 0) << 16 for i, j in zip(a, b)]})
    # flushing: mode 0 for f32
    emit('v_add_f32_e32 v4, v6, v8', {'mode': 0xc0, 'v6': [1, 0x807fffff, 0x00800001, 0x3f800000] * 2, 'v8': [0, 0, 0x80800000, 1] * 2},
         {'v4': [0, 0, 0, 0x3f800000] * 2})
    # rounding up: mode 1 for f32
    emit('v_add_f32_e32 v4, v6, v8', {'mode': 0xf1, 'v6': [0x3f800000] * 8, 'v8': [0x20000000] * 8}, {'v4': [0x3f800001] * 8})
    emit('v_mul_f64 v[4:5], v[6:7], v[8:9]', {'mode': 0xfc, 'v6': [1] * 8, 'v7': [0x3ff00000] * 8, 'v8': [1] * 8, 'v9': [0x3ff00000] * 8},
         {'v4': [2] * 8, 'v5': [0x3ff00000] * 8})


def dots():
    h = lambda n: F16.round(Fraction(n))
    bf = lambda n: F32.round(Fraction(n)) >> 16
    pair = lambda f, p, q: f(p) | f(q) << 16
    f32 = lambda n: F32.round(Fraction(n))
    nums = [(random.randint(1, 9), random.randint(1, 9), random.randint(1, 9), random.randint(1, 9), random.randint(1, 99)) for _ in range(8)]
    total = [a * c + b * d + e for a, b, c, d, e in nums]
    for name, f, acc in (('v_dot2_f32_f16', h, f32), ('v_dot2_f32_bf16', bf, f32)):
        emit('%s v4, v6, v8, v10' % name, {'v6': [pair(f, a, b) for a, b, *_ in nums], 'v8': [pair(f, n[2], n[3]) for n in nums],
                                          'v10': [acc(n[4]) for n in nums]}, {'v4': [acc(t) for t in total]})
    emit('v_dot2acc_f32_f16 v4, v6, v8', {'v6': [pair(h, a, b) for a, b, *_ in nums], 'v8': [pair(h, n[2], n[3]) for n in nums],
                                          'v4': [f32(n[4]) for n in nums]}, {'v4': [f32(t) for t in total]})
    emit('v_dot2_f16_f16 v4, v6, v8, v10', {'v4': [0] * 8, 'v6': [pair(h, a, b) for a, b, *_ in nums], 'v8': [pair(h, n[2], n[3]) for n in nums],
                                            'v10': [h(n[4]) for n in nums]}, {'v4': [h(t) for t in total]})
    emit('v_dot2_bf16_bf16 v4, v6, v8, v10', {'v4': [0] * 8, 'v6': [pair(bf, a, b) for a, b, *_ in nums], 'v8': [pair(bf, n[2], n[3]) for n in nums],
                                              'v10': [bf(n[4]) for n in nums]}, {'v4': [f32(t) >> 16 for t in total]})
    x = [float_value(F32) & 0x8fffffff | 0x30000000 for _ in range(8)]
    y, z = [random.getrandbits(16) & 0xbbff for _ in range(8)], [random.getrandbits(16) & 0xbbff for _ in range(8)]
    w = lambda u: convert(F32, F16, u)
    emit('v_fma_mix_f32 v4, v6, v8, v10 op_sel:[0,1,0] op_sel_hi:[0,1,1]', {'v6': x, 'v8': [u << 16 for u in y], 'v10': z},
         {'v4': [fma(F32, p, w(q), w(r)) for p, q, r in zip(x, y, z)]})
    emit('v_fma_mix_f32 v4, -v6, |v8|, v10 op_sel_hi:[0,1,0]', {'v6': x, 'v8': y, 'v10': x},
         {'v4': [fma(F32, p ^ 1 << 31, w(q) & 0x7fffffff, p) for p, q in zip(x, y)]})
    half = [convert(F16, F32, fma(F32, w(p), w(q), r)) for p, q, r in zip(y, z, x)]
    emit('v_fma_mixlo_f16 v4, v6, v8, v10 op_sel_hi:[1,1,0]', {'v4': [0xabcd0000] * 8, 'v6': y, 'v8': z, 'v10': x}, {'v4': [0xabcd0000 | u for u in half]})
    emit('v_fma_mixhi_f16 v4, v6, v8, v10 op_sel_hi:[1,1,0]', {'v4': [0xabcd] * 8, 'v6': y, 'v8': z, 'v10': x}, {'v4': [u << 16 | 0xabcd for u in half]})


def matrices():
    """Lanes 0 to 7 hold rows and columns 0 to 7; the rest of A and B is zero, and so are their sums."""
    a = [[random.randint(0, 3) if m < 8 else 0 for _ in range(16)] for m in range(16)]
    b = [[random.randint(0, 3) if n < 8 else 0 for n in range(16)] for _ in range(16)]
    ab = [[sum(a[m][k] * b[k][n] for k in range(16)) for n in range(16)] for m in range(16)]
    f32 = lambda n: F32.round(Fraction(n))
    for kind, f in (('f16', lambda n: F16.round(Fraction(n))), ('bf16', lambda n: F32.round(Fraction(n)) >> 16)):
        before = {}
        for v in range(8):
            before['v%d' % (10 + v)] = [f(a[l][2 * v]) | f(a[l][2 * v + 1]) << 16 for l in range(8)]
            before['v%d' % (20 + v)] = [f(b[2 * v][l]) | f(b[2 * v + 1][l]) << 16 for l in range(8)]
            before['v%d' % (30 + v)] = [f32(v + l) for l in range(8)]
        emit('v_wmma_f32_16x16x16_%s v[40:47], v[10:17], v[20:27], v[30:37]' % kind, before,
             {'v%d' % (40 + v): [f32(ab[2 * v][l] + v + l) for l in range(8)] for v in range(8)})
        for v in range(8):
            before['v%d' % (30 + v)] = [f(v + l) | 0x12340000 for l in range(8)]
            before['v%d' % (40 + v)] = [0x56780000] * 8
        emit('v_wmma_%s_16x16x16_%s v[40:47], v[10:17], v[20:27], v[30:37]' % (kind, kind), before,
             {'v%d' % (40 + v): [0x56780000 | f(ab[2 * v][l] + v + l) for l in range(8)] for v in range(8)})
    for kind, bits in (('iu8', 8), ('iu4', 4)):
        a = [[random.getrandbits(bits) if m < 8 else 0 for _ in range(16)] for m in range(16)]
        b = [[random.getrandbits(bits) if n < 8 else 0 for n in range(16)] for _ in range(16)]
        per, regs = 32 // bits, 16 * bits // 32
        before = {}
        for v in range(regs):
            before['v%d' % (10 + v)] = [sum(a[l][per * v + k] << bits * k for k in range(per)) for l in range(8)]
            before['v%d' % (20 + v)] = [sum(b[per * v + k][l] << bits * k for k in range(per)) for l in range(8)]
        for v in range(8):
            before['v%d' % (30 + v)] = [1000 + v for _ in range(8)]
        ab = [[sum(s(a[m][k], bits) * b[k][n] for k in range(16)) for n in range(16)] for m in range(16)]
        emit('v_wmma_i32_16x16x16_%s v[40:47], v[10:%d], v[20:%d], v[30:37] neg_lo:[1,0,0]' % (kind, 9 + regs, 19 + regs), before,
             {'v%d' % (40 + v): [ab[2 * v][l] + 1000 + v & M32 for l in range(8)] for v in range(8)})


def divisions():
    """Cases worked by hand from the rules: gap of exponents, tiny denominators, special values."""
    one, two64, third = 0x3f800000, 0x5f800000, 0x3eaaaaab
    den = [one, 0x00400000, 0x7f000000, 0, one, one, 0x01000000, one]
    num = [one, one, one, one, 0x71000000, 0x0f000000, one, 0x0c000000]
    emit('v_div_scale_f32 v4, s10, v6, v6, v8', {'v6': den, 'v8': num},
         {'v4': [one, ldexp(F32, den[1], 64), ldexp(F32, den[2], -64), 0xffc00000, two64, one, ldexp(F32, den[6], 64), one],
          's10': 0b11110110})
    emit('v_div_scale_f32 v4, s10, v8, v6, v8', {'v6': [one] * 8, 'v8': [one, 0x0f000000, 0x0c000000, 0, 0x71000000, 0x1f000000, one, one]},
         {'v4': [one, ldexp(F32, 0x0f000000, 64), ldexp(F32, 0x0c000000, 64), 0xffc00000, 0x71000000, 0x1f000000, one, one], 's10': 0b00010110})
    emit('v_div_fmas_f32 v4, v6, v8, v10', {'v6': [third] * 8, 'v8': [one] * 8, 'v10': [0x40000000, 0x3f000000] * 4, 'vcc': 0b00001111},
         {'v4': [ldexp(F32, add(F32, third, 0x40000000), 64), ldexp(F32, add(F32, third, 0x3f000000), -64)] * 2 +
                [add(F32, third, 0x40000000), add(F32, third, 0x3f000000)] * 2})
    q = [0x40490fdb] * 8
    den = [one, 0xbf800000, 0, 0x7f800000, 0x7fa00000, one, 0, 0x7f800000]
    num = [one, one, one, one, one, 0x7fc00001, 0, 0x7f800000]
    emit('v_div_fixup_f32 v4, v6, v8, v10', {'v6': q, 'v8': den, 'v10': num},
         {'v4': [0x40490fdb, 0xc0490fdb, 0x7f800000, 0, 0x7fe00000, 0x7fc00001, 0xffc00000, 0xffc00000]})
    d1 = 0x3ff0000000000000
    pair = lambda vs, r: {'v%d' % r: [v & M32 for v in vs], 'v%d' % (r + 1): [v >> 32 for v in vs]}
    emit('v_div_scale_f64 v[4:5], s10, v[6:7], v[6:7], v[8:9]',
         {**pair([d1, 1 << 50, 0x7fe0000000000000, 0, d1, d1, d1, d1], 6), **pair([d1] * 4 + [0x7ee0000000000000, 0x0010000000000000, d1, d1], 8)},
         {**pair([d1, ldexp(F64, 1 << 50, 128), ldexp(F64, 0x7fe0000000000000, -128), F64.default_nan, ldexp(F64, d1, 128), d1, d1, d1], 4),
          's10': 0b00110110})
    emit('v_div_fmas_f64 v[4:5], v[6:7], v[8:9], v[10:11]', {**pair([d1] * 8, 6), **pair([d1] * 8, 8), **pair([d1, 0x4000000000000000] * 4, 10), 'vcc': 0x0f},
         pair([ldexp(F64, 0x4000000000000000, -128), ldexp(F64, 0x4008000000000000, 128)] * 2 + [0x4000000000000000, 0x4008000000000000] * 2, 4))
    emit('v_div_fixup_f64 v[4:5], v[6:7], v[8:9], v[10:11]', {**pair([0x4008000000000000] * 8, 6), **pair([d1, d1 | 1 << 63] * 4, 8), **pair([d1] * 4 + [0] * 4, 10)},
         pair([0x4008000000000000, 0xc008000000000000] * 2 + [0, 1 << 63] * 2, 4))
    emit('v_div_fixup_f16 v4, v6, v8, v10', {'v4': [0] * 8, 'v6': [0x4248] * 8, 'v8': [0x3c00, 0xbc00, 0, 0x7c00, 0x7d00, 0x3c00, 0, 0x7c00],
                                             'v10': [0x3c00, 0x3c00, 0x3c00, 0x3c00, 0x3c00, 0x7e01, 0, 0x7c00]},
         {'v4': [0x4248, 0xc248, 0x7c00, 0, 0x7f00, 0x7e01, 0xfe00, 0xfe00]})


def transcendentals():
    """Values captured on a W7900 and published with AMD's rocjitsu, and exact powers."""
    emit('v_rcp_f32_e32 v4, v6', {'v6': [0x3f800001, 0x3fc00000, 0x3fffffff, 0x7f000000, 1, 0x7fa12345, 0x40000000, 0]},
         {'v4': [0x3f7ffffe, 0x3f2aaaaa, 0x3f000001, 0, 0x7f800000, 0x7fe12345, 0x3f000000, 0x7f800000]})
    emit('v_rcp_iflag_f32_e32 v4, v6', {'v6': [0x3f800001] * 8}, {'v4': [0x3f7ffffe] * 8})
    emit('v_rsq_f32_e32 v4, v6', {'v6': [0x3f800001, 0x40000000, 0x407fffff, 0x80000001, 0xbf800000, 0x7f800000, 0x3f800000, 0x40800000]},
         {'v4': [0x3f7fffff, 0x3f3504f3, 0x3f000000, 0xff800000, 0xffc00000, 0, 0x3f800000, 0x3f000000]})
    emit('v_exp_f32_e32 v4, v6', {'v6': [0, 0x3f800000, 0xbf800000, 0x41200000, 0x43000000, 0xff800000, 0x7f800000, 0x80000000]},
         {'v4': [0x3f800000, 0x40000000, 0x3f000000, 0x44800000, 0x7f800000, 0, 0x7f800000, 0x3f800000]})
    emit('v_log_f32_e32 v4, v6', {'v6': [0x3f800000, 0x40000000, 0x3f000000, 0x44800000, 0, 0x7f800000, 0xbf800000, 0x7fa12345]},
         {'v4': [0, 0x3f800000, 0xbf800000, 0x41200000, 0xff800000, 0x7f800000, 0xffc00000, 0x7fe12345]})
    emit('v_sqrt_f32_e32 v4, v6', {'v6': [0x3f800000, 0x40800000, 0x3e800000, 0x44800000, 0, 0x7f800000, 0xbf800000, 0x7fa12345]},
         {'v4': [0x3f800000, 0x40000000, 0x3f000000, 0x42000000, 0, 0x7f800000, 0xffc00000, 0x7fe12345]})
    h = {'rcp': ([0x3c00, 0x4000, 0x3800, 0x4400], [0x3c00, 0x3800, 0x4000, 0x3400]),
         'rsq': ([0x3c00, 0x4400, 0x3400, 0x4c00], [0x3c00, 0x3800, 0x4000, 0x3400]),
         'sqrt': ([0x3c00, 0x4400, 0x3400, 0x4c00], [0x3c00, 0x4000, 0x3800, 0x4400]),
         'exp': ([0, 0x3c00, 0xbc00, 0x4200], [0x3c00, 0x4000, 0x3800, 0x4800]),
         'log': ([0x3c00, 0x4000, 0x3800, 0x4800], [0, 0x3c00, 0xbc00, 0x4200]),
         'sin': ([0, 0x3400, 0x3800, 0x3a00], [0, 0x3c00, 0, 0xbc00]),
         'cos': ([0, 0x3400, 0x3800, 0x3a00], [0x3c00, 0, 0xbc00, 0])}
    for name, (x, y) in h.items():
        emit('v_%s_f16_e32 v4, v6' % name, {'v4': [0] * 8, 'v6': x * 2}, {'v4': y * 2})
    emit('v_sin_f32_e32 v4, v6', {'v6': [0, 0x3e800000, 0x3f000000, 0x3f400000, 0x43c80000, 0x7f800000, 0x3daaaaab, 0x80000000]},
         {'v4': [0, 0x3f800000, 0, 0xbf800000, 0, 0xffc00000, 0x3f000000, 0x80000000]})
    emit('v_cos_f32_e32 v4, v6', {'v6': [0, 0x3e800000, 0x3f000000, 0x3f400000, 0x43c80000, 0xff800000, 0x3e2aaaab, 0x80000000]},
         {'v4': [0x3f800000, 0, 0xbf800000, 0, 0x3f800000, 0xffc00000, 0x3effffff, 0x3f800000]})
    pair = lambda vs, r: {'v%d' % r: [v & M32 for v in vs], 'v%d' % (r + 1): [v >> 32 for v in vs]}
    for name, x, y in (('rcp', 0x4000, 0x3fe0), ('rsq', 0x4010, 0x3fe0), ('sqrt', 0x4010, 0x4000)):
        emit('v_%s_f64_e32 v[4:5], v[6:7]' % name, pair([x << 48] * 8, 6), pair([y << 48] * 8, 4))
    # the first 53 bits of 2/pi, and the next 53
    two_over_pi = 0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041
    bits = two_over_pi.bit_length()
    seg = lambda n: two_over_pi >> (192 - 53 * (n + 1)) & ((1 << 53) - 1)
    emit('v_trig_preop_f64 v[4:5], v[6:7], v8', {**pair([0x3ff0000000000000] * 8, 6), 'v8': [0, 1] * 4},
         pair([F64.round(Fraction(seg(n)) * Fraction(2) ** (-53 * (n + 1))) for n in (0, 1)] * 4, 4))


def cubes():
    f = lambda x: F32.round(Fraction(x))
    x, y, z = [1, -1, 0, 0, 0, 0, 3, 1], [0, 0, 1, -1, 0, 0, 2, -2], [0, 0, 0, 0, 1, -1, 1, 3]
    before = {'v6': [f(v) for v in x], 'v8': [f(v) for v in y], 'v10': [f(v) for v in z]}
    emit('v_cubeid_f32 v4, v6, v8, v10', before, {'v4': [f(v) for v in (0, 1, 2, 3, 4, 5, 0, 4)]})
    emit('v_cubema_f32 v4, v6, v8, v10', before, {'v4': [f(2 * v) for v in (1, -1, 1, -1, 1, -1, 3, 3)]})
    emit('v_cubesc_f32 v4, v6, v8, v10', before, {'v4': [0x80000000, 0, 0, 0, 0, 0x80000000, f(-1), f(1)]})
    emit('v_cubetc_f32 v4, v6, v8, v10', before, {'v4': [0x80000000, 0x80000000, 0, 0x80000000, 0x80000000, 0x80000000, f(-2), f(2)]})
    low = 0xff7fffff
    emit('v_mullit_f32 v4, v6, v8, v10', {'v6': [f(2)] * 8, 'v8': [f(3), low, f(3), f(3), 0x7f800000, f(3), 0x7fc00000, f(4)], 'v10': [f(1), f(1), 0, f(-1), f(1), 0x7fc00000, f(1), f(2)]},
         {'v4': [f(6), low, low, low, low, low, low, f(8)]})


# --- scalar ---------------------------------------------------------------------------------------
def scalar():
    w = lambda d, bits: {'s10': d & M32, 's11': d >> 32} if bits == 64 else {'s10': d & M32}
    src = lambda r, v, bits: {'s%d' % r: v & M32, 's%d' % (r + 1): v >> 32} if bits == 64 else {'s%d' % r: v & M32}
    reg = lambda r, bits: 's[%d:%d]' % (r, r + 1) if bits == 64 else 's%d' % r
    over = lambda v: not -(1 << 31) <= v < 1 << 31
    two = {
        's_add_u32': lambda a, b, c: (a + b, a + b > M32), 's_sub_u32': lambda a, b, c: (a - b, a < b),
        's_add_i32': lambda a, b, c: (a + b, over(s(a) + s(b))), 's_sub_i32': lambda a, b, c: (a - b, over(s(a) - s(b))),
        's_addc_u32': lambda a, b, c: (a + b + c, a + b + c > M32), 's_subb_u32': lambda a, b, c: (a - b - c, a < b + c),
        's_absdiff_i32': lambda a, b, c: (abs(s(a) - s(b)), a != b),
        's_lshl_b32': lambda a, b, c: (a << (b & 31), a << (b & 31) & M32 != 0),
        's_lshr_b32': lambda a, b, c: (a >> (b & 31), a >> (b & 31) != 0),
        's_ashr_i32': lambda a, b, c: (s(a) >> (b & 31), s(a) >> (b & 31) != 0),
        's_min_i32': lambda a, b, c: (min(s(a), s(b)), s(a) < s(b)), 's_max_i32': lambda a, b, c: (max(s(a), s(b)), s(a) >= s(b)),
        's_min_u32': lambda a, b, c: (min(a, b), a < b), 's_max_u32': lambda a, b, c: (max(a, b), a >= b),
        's_bfe_u32': lambda a, b, c: (bfe(a, b & 31, b >> 16 & 127, False), bfe(a, b & 31, b >> 16 & 127, False) != 0),
        's_bfe_i32': lambda a, b, c: (bfe(a, b & 31, min(b >> 16 & 127, 32), True), bfe(a, b & 31, min(b >> 16 & 127, 32), True) != 0),
        's_bfm_b32': lambda a, b, c: (((1 << (a & 31)) - 1) << (b & 31), c),
        's_mul_i32': lambda a, b, c: (a * b, c), 's_mul_hi_u32': lambda a, b, c: (a * b >> 32, c),
        's_mul_hi_i32': lambda a, b, c: (s(a) * s(b) >> 32, c), 's_cselect_b32': lambda a, b, c: (a if c else b, c),
        's_pack_ll_b32_b16': lambda a, b, c: (a & M16 | b << 16, c), 's_pack_lh_b32_b16': lambda a, b, c: (a & M16 | b & ~M16, c),
        's_pack_hh_b32_b16': lambda a, b, c: (a >> 16 | b & ~M16, c), 's_pack_hl_b32_b16': lambda a, b, c: (a >> 16 | b << 16, c),
    }
    for n in range(1, 5):
        two['s_lshl%d_add_u32' % n] = lambda a, b, c, n=n: ((a << n) + b, (a << n) + b > M32)
    logic = {'and': lambda a, b: a & b, 'or': lambda a, b: a | b, 'xor': lambda a, b: a ^ b, 'nand': lambda a, b: ~(a & b),
             'nor': lambda a, b: ~(a | b), 'xnor': lambda a, b: ~(a ^ b), 'and_not1': lambda a, b: a & ~b, 'or_not1': lambda a, b: a | ~b}
    rows = [(n, 32, 32, 32, f) for n, f in two.items()]
    for n, f in logic.items():
        for bits, m in ((32, M32), (64, M64)):
            rows.append(('s_%s_b%d' % (n, bits), bits, bits, bits, lambda a, b, c, f=f, m=m: (f(a, b) & m, f(a, b) & m != 0)))
    rows += [('s_lshl_b64', 64, 64, 32, lambda a, b, c: (a << (b & 63) & M64, a << (b & 63) & M64 != 0)),
             ('s_lshr_b64', 64, 64, 32, lambda a, b, c: (a >> (b & 63), a >> (b & 63) != 0)),
             ('s_ashr_i64', 64, 64, 32, lambda a, b, c: (s(a, 64) >> (b & 63) & M64, s(a, 64) >> (b & 63) != 0)),
             ('s_bfe_u64', 64, 64, 32, lambda a, b, c: (bfe(a, b & 63, b >> 16 & 127, False), bfe(a, b & 63, b >> 16 & 127, False) != 0)),
             ('s_bfe_i64', 64, 64, 32, lambda a, b, c: (bfe(a, b & 63, min(b >> 16 & 127, 64), True, 64), bfe(a, b & 63, min(b >> 16 & 127, 64), True, 64) != 0)),
             ('s_bfm_b64', 64, 32, 32, lambda a, b, c: (((1 << (a & 63)) - 1) << (b & 63) & M64, c)),
             ('s_cselect_b64', 64, 64, 64, lambda a, b, c: (a if c else b, c))]
    for name, d, x, y, f in rows:
        for _ in range(3):
            a, b, c = int_value(x), int_value(y), random.getrandbits(1)
            if 'bfe' in name:
                b = random.getrandbits(5) | random.randint(0, 33) << 16
            r, scc = f(a, b, c)
            emit('%s %s, %s, %s' % (name, reg(10, d), reg(12, x), reg(14, y)), {**src(12, a, x), **src(14, b, y), 'scc': c},
                 {**w(r & ((1 << d) - 1), d), 'scc': int(scc)})
    one = {
        's_mov_b32': (32, 32, lambda a, o, c: (a, c)), 's_mov_b64': (64, 64, lambda a, o, c: (a, c)),
        's_cmov_b32': (32, 32, lambda a, o, c: (a if c else o, c)), 's_cmov_b64': (64, 64, lambda a, o, c: (a if c else o, c)),
        's_brev_b32': (32, 32, lambda a, o, c: (brev(a), c)), 's_brev_b64': (64, 64, lambda a, o, c: (brev(a, 64), c)),
        's_ctz_i32_b32': (32, 32, lambda a, o, c: (ctz(a), c)), 's_ctz_i32_b64': (32, 64, lambda a, o, c: (ctz(a), c)),
        's_clz_i32_u32': (32, 32, lambda a, o, c: (clz(a), c)), 's_clz_i32_u64': (32, 64, lambda a, o, c: (clz(a, 64), c)),
        's_cls_i32': (32, 32, lambda a, o, c: (cls(a), c)), 's_cls_i32_i64': (32, 64, lambda a, o, c: (cls(a, 64), c)),
        's_sext_i32_i8': (32, 32, lambda a, o, c: (s(a, 8), c)), 's_sext_i32_i16': (32, 32, lambda a, o, c: (s(a, 16), c)),
        's_bitset0_b32': (32, 32, lambda a, o, c: (o & ~(1 << (a & 31)), c)), 's_bitset0_b64': (64, 32, lambda a, o, c: (o & ~(1 << (a & 63)), c)),
        's_bitset1_b32': (32, 32, lambda a, o, c: (o | 1 << (a & 31), c)), 's_bitset1_b64': (64, 32, lambda a, o, c: (o | 1 << (a & 63), c)),
        's_bitreplicate_b64_b32': (64, 32, lambda a, o, c: (sum((a >> n & 1) * 3 << 2 * n for n in range(32)), c)),
        's_abs_i32': (32, 32, lambda a, o, c: (abs(s(a)), a != 0)),
        's_bcnt0_i32_b32': (32, 32, lambda a, o, c: (32 - bin(a).count('1'), a != M32)), 's_bcnt0_i32_b64': (32, 64, lambda a, o, c: (64 - bin(a).count('1'), a != M64)),
        's_bcnt1_i32_b32': (32, 32, lambda a, o, c: (bin(a).count('1'), a != 0)), 's_bcnt1_i32_b64': (32, 64, lambda a, o, c: (bin(a).count('1'), a != 0)),
        's_not_b32': (32, 32, lambda a, o, c: (~a, a != M32)), 's_not_b64': (64, 64, lambda a, o, c: (~a, a != M64)),
    }
    for bits in (32, 64):
        quad = lambda a, o, c, bits=bits: (sum((a >> 4 * n & 15 != 0) << n for n in range(bits // 4)), a != 0)
        wqm = lambda a, o, c, bits=bits: (sum((15 << 4 * n) * (a >> 4 * n & 15 != 0) for n in range(bits // 4)), a != 0)
        one['s_quadmask_b%d' % bits] = (bits, bits, quad)
        one['s_wqm_b%d' % bits] = (bits, bits, wqm)
    for name, (d, x, f) in one.items():
        for _ in range(3):
            a, o, c = int_value(x), int_value(d), random.getrandbits(1)
            r, scc = f(a, o, c)
            emit('%s %s, %s' % (name, reg(10, d), reg(12, x)), {**src(10, o, d), **src(12, a, x), 'scc': c}, {**w(r & ((1 << d) - 1), d), 'scc': int(scc)})
    save = {'and': lambda a, e: a & e, 'or': lambda a, e: a | e, 'xor': lambda a, e: a ^ e, 'nand': lambda a, e: ~(a & e), 'nor': lambda a, e: ~(a | e),
            'xnor': lambda a, e: ~(a ^ e), 'and_not0': lambda a, e: ~a & e, 'or_not0': lambda a, e: ~a | e, 'and_not1': lambda a, e: a & ~e, 'or_not1': lambda a, e: a | ~e}
    for name, f in save.items():
        for bits in (32, 64):
            a, e = int_value(bits), 0xff
            r = f(a, e) & ((1 << bits) - 1)
            emit('s_%s_saveexec_b%d %s, %s' % (name, bits, reg(10, bits), reg(12, bits)), src(12, a, bits),
                 {**w(e, bits), 'exec': r & M32, **({'exec_hi': r >> 32} if bits == 64 else {}), 'scc': int(r != 0)})
    for name, f in (('and_not0', save['and_not0']), ('and_not1', save['and_not1'])):
        for bits in (32, 64):
            a = int_value(bits)
            r = f(a, 0xff) & ((1 << bits) - 1)
            emit('s_%s_wrexec_b%d %s, %s' % (name, bits, reg(10, bits), reg(12, bits)), src(12, a, bits), {**w(r, bits), 'exec': r & M32, 'scc': int(r != 0)})
    emit('s_movrels_b32 s10, s12', {'s14': 77, 'm0': 2}, {'s10': 77})
    emit('s_movrels_b64 s[10:11], s[12:13]', {'s14': 77, 's15': 78, 'm0': 2}, {'s10': 77, 's11': 78})
    emit('s_movreld_b32 s10, s12', {'s12': 77, 'm0': 6}, {'s16': 77})
    emit('s_movreld_b64 s[10:11], s[12:13]', {'s12': 77, 's13': 78, 'm0': 6}, {'s16': 77, 's17': 78})
    emit('s_movrelsd_2_b32 s10, s12', {'s14': 77, 'm0': 6 << 16 | 2}, {'s16': 77})
    cmp = {'eq': lambda a, b: a == b, 'lg': lambda a, b: a != b, 'gt': lambda a, b: a > b, 'ge': lambda a, b: a >= b, 'lt': lambda a, b: a < b, 'le': lambda a, b: a <= b}
    for op, f in cmp.items():
        for t, k in (('i32', s), ('u32', lambda u: u)):
            for _ in range(2):
                a = int_value(32)
                b = a if random.random() < 0.3 else int_value(32)
                emit('s_cmp_%s_%s s10, s12' % (op, t), {'s10': a, 's12': b}, {'scc': int(f(k(a), k(b)))})
            imm = random.choice([0x7fff, 5, 0x8000, 0xffff])
            a = random.choice([imm, int_value(32), s(imm, 16) & M32])
            emit('s_cmpk_%s_%s s10, 0x%x' % (op, t, imm), {'s10': a}, {'scc': int(f(k(a), s(imm, 16) if t == 'i32' else imm))})
        if op in ('eq', 'lg'):
            a = int_value(64)
            emit('s_cmp_%s_u64 s[10:11], s[12:13]' % op, {**src(10, a, 64), **src(12, a ^ 1 << 40, 64)}, {'scc': int(op == 'lg')})
    for bits in (32, 64):
        a = int_value(bits)
        for n in (0, 1):
            k = random.randrange(bits)
            emit('s_bitcmp%d_b%d %s, s14' % (n, bits, reg(10, bits)), {**src(10, a, bits), 's14': k}, {'scc': int((a >> k & 1) == n)})
    emit('s_movk_i32 s10, 0x8001', {}, {'s10': 0xffff8001})
    emit('s_version 1', {'s10': 1}, {'s10': 1})
    for c in (0, 1):
        emit('s_cmovk_i32 s10, 0x8001', {'s10': 5, 'scc': c}, {'s10': 0xffff8001 if c else 5})
    emit('s_addk_i32 s10, 0x7fff', {'s10': 0x7fffffff}, {'s10': 0x80007ffe, 'scc': 1})
    emit('s_mulk_i32 s10, 0xfffe', {'s10': 21}, {'s10': -42 & M32})
    emit('s_getreg_b32 s10, hwreg(HW_REG_MODE, 4, 4)', {}, {'s10': 15})
    emit('s_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s12', {'s12': 1}, {'mode': 0xd0})
    emit('s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0x6', {}, {'mode': 0xf6})
    emit('s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 0x1', {}, {'event': 3})  # FP16_OVFL: refused
    emit('s_round_mode 0x5', {}, {'mode': 0xf5})
    emit('s_denorm_mode 12', {}, {'mode': 0xc0})
    for name in ('s_nop 3', 's_setkill 1', 's_sethalt 0', 's_sleep 1', 's_set_inst_prefetch_distance 0x1', 's_clause 0x1', 's_delay_alu instid0(VALU_DEP_1)',
                 's_waitcnt_depctr depctr_va_vdst(0)', 's_waitcnt vmcnt(0)', 's_wait_idle', 's_wait_event 0x1', 's_wakeup', 's_setprio 1',
                 's_sendmsg sendmsg(MSG_DEALLOC_VGPRS)', 's_incperflevel 1', 's_decperflevel 1', 's_ttracedata', 's_ttracedata_imm 0x1', 's_icache_inv',
                 's_waitcnt_vscnt null, 0x0', 's_waitcnt_vmcnt null, 0x0', 's_waitcnt_expcnt null, 0x0', 's_waitcnt_lgkmcnt null, 0x0', 's_gl1_inv', 's_dcache_inv',
                 'buffer_gl0_inv', 'buffer_gl1_inv', 's_cbranch_cdbgsys 4', 's_cbranch_cdbguser 4', 's_cbranch_cdbgsys_or_user 4', 's_cbranch_cdbgsys_and_user 4'):
        emit(name, {'s10': 9}, {'s10': 9, 'pc': 1 + (name.startswith(('s_gl1', 's_dcache', 'buffer')))})
    emit('s_branch 4', {}, {'pc': 5})
    for name, taken, state in (('scc0', 'scc', 0), ('scc1', 'scc', 1), ('vccz', 'vcc', 0), ('vccnz', 'vcc', 2), ('execnz', 'exec', 255), ('execz', 'exec', 0)):
        emit('s_cbranch_%s 4' % name, {taken: state}, {'pc': 5})
        emit('s_cbranch_%s 4' % name, {taken: 0 if state else 1}, {'pc': 1})
    emit('s_getpc_b64 s[10:11]', {}, {'s10': 0x1004, 's11': 0})
    emit('s_setpc_b64 s[12:13]', {'s12': 0x100c, 's13': 0}, {'pc': 3})
    emit('s_swappc_b64 s[10:11], s[12:13]', {'s12': 0x100c, 's13': 0}, {'s10': 0x1004, 's11': 0, 'pc': 3})
    emit('s_call_b64 s[10:11], 4', {}, {'s10': 0x1004, 's11': 0, 'pc': 5})
    emit('s_sendmsg_rtn_b32 s10, sendmsg(MSG_RTN_GET_DOORBELL)', {'s10': 7}, {'s10': 0})
    emit('s_sendmsg_rtn_b64 s[10:11], sendmsg(MSG_RTN_GET_DOORBELL)', {'s10': 7}, {'s10': 0, 's11': 0})
    for name, event in (('s_endpgm', 1), ('s_endpgm_saved', 1), ('s_barrier', 2), ('s_trap 2', 3), ('s_code_end', 3), ('s_sethalt 1', 3),
                        ('s_sendmsghalt sendmsg(MSG_INTERRUPT)', 3)):
        emit(name, {}, {'event': event})


# --- memory ---------------------------------------------------------------------------------------
def pattern(at, size):
    return sum(((37 * (at + n) + 11) & 255) << 8 * n for n in range(size))


def words(at, value, size):
    """Memory words after `size` bytes of value were stored at `at`."""
    first, last = at & ~3, (at + size - 1) & ~3
    r = {}
    for w in range(first, last + 4, 4):
        u = pattern(w, 4)
        for n in range(4):
            if at <= w + n < at + size:
                u = u & ~(255 << 8 * n) | (value >> 8 * (w + n - at) & 255) << 8 * n
        r[w] = u
    return r


LOADS = {'u8': (1, 0), 'i8': (1, 1), 'u16': (2, 0), 'i16': (2, 1), 'b32': (4, 0), 'b64': (8, 0), 'b96': (12, 0), 'b128': (16, 0)}


def loaded(value, size, signed, old, where):
    if size < 4 and signed:
        value = s(value, 8 * size)
    if where == 'lo':
        return [old & 0xffff0000 | value & M16]
    if where == 'hi':
        return [old & M16 | (value & M16) << 16]
    return [value >> 32 * n & M32 for n in range(max(size // 4, 1))]


def memory():
    for name, bytes_ in (('b32', 4), ('b64', 8), ('b128', 16), ('b256', 32), ('b512', 64)):
        n = bytes_ // 4
        d = 's20' if n == 1 else 's[20:%d]' % (19 + n)
        emit('s_load_%s %s, s[2:3], 0x8' % (name, d), {}, {'s%d' % (20 + k): pattern(8 + 4 * k, 4) for k in range(n)})
        # a buffer resource of 256 bytes over global memory: s[4:5] is filled with the address by the test
        emit('s_buffer_load_%s %s, s[4:7], 0x8' % (name, d), {}, {'s%d' % (20 + k): pattern(8 + 4 * k, 4) for k in range(n)})
    loads = []
    for t, (size, signed) in LOADS.items():
        loads.append(('load_' + t, size, signed, ''))
    for t, size, signed in (('u8', 1, 0), ('i8', 1, 1), ('b16', 2, 0)):
        loads.append(('load_d16_' + t, size, signed, 'lo'))
        loads.append(('load_d16_hi_' + t, size, signed, 'hi'))
    for seg in ('flat', 'global', 'scratch'):
        for name, size, signed, where in loads:
            n = max(size // 4, 1)
            d = 'v20' if n == 1 else 'v[20:%d]' % (19 + n)
            old = 0x11223344
            address = {'flat': 'v[2:3] offset:5', 'global': 'v1, s[2:3] offset:5', 'scratch': 'v1, off offset:5'}[seg]
            base = 5
            r = [loaded(pattern(64 * l + base, size), size, signed, old, where) for l in range(LANES)]
            emit('%s_%s %s, %s' % (seg, name, d, address), {'v20': [old] * 8}, {'v%d' % (20 + k): [r[l][k] for l in range(8)] for k in range(n)})
        for t, size, high in (('b8', 1, 0), ('b16', 2, 0), ('b32', 4, 0), ('b64', 8, 0), ('b96', 12, 0), ('b128', 16, 0), ('d16_hi_b8', 1, 1), ('d16_hi_b16', 2, 1)):
            n = max(size // 4, 1)
            d = 'v20' if n == 1 else 'v[20:%d]' % (19 + n)
            data = [[random.getrandbits(32) for _ in range(8)] for _ in range(n)]
            address = {'flat': 'v[2:3], %s offset:5', 'global': 'v[2:3], %s, off offset:5', 'scratch': 'v1, %s, off offset:5'}[seg] % d
            after = {}
            for l in range(8):
                v = sum(data[k][l] << 32 * k for k in range(n)) >> (16 if high else 0)
                for at, u in words(64 * l + 5, v, size).items():
                    after['%s%d' % ('p' if seg == 'scratch' else 'g', at)] = u
            emit('%s_store_%s %s' % (seg, t, address), {'v%d' % (20 + k): data[k] for k in range(n)}, after)


def atomic(op, old, data, other, bits):
    m = (1 << bits) - 1
    sg = lambda u: s(u, bits)
    fmt = F64 if bits == 64 else F32
    return {'swap': lambda: data, 'cmpswap': lambda: data if old == other else old, 'add': lambda: old + data, 'sub': lambda: old - data,
            'rsub': lambda: data - old, 'csub': lambda: max(old - data, 0), 'imin': lambda: min(sg(old), sg(data)), 'umin': lambda: min(old, data),
            'imax': lambda: max(sg(old), sg(data)), 'umax': lambda: max(old, data), 'and': lambda: old & data, 'or': lambda: old | data, 'xor': lambda: old ^ data,
            'inc': lambda: 0 if old >= data else old + 1, 'dec': lambda: data if old == 0 or old > data else old - 1,
            'fmin': lambda: pick(fmt, old, data, False), 'fmax': lambda: pick(fmt, old, data, True), 'fadd': lambda: add(fmt, old, data),
            'mskor': lambda: old & ~data | other, 'wrap': lambda: old - data if old >= data else old + other,
            'fcmp': lambda: data if not fmt.is_nan(old) and not fmt.is_nan(other) and fmt.value(old) == fmt.value(other) else old}[op]() & m


def atomics():
    table = [('swap', 'b', 'swap'), ('cmpswap', 'b', 'cmpswap'), ('add', 'u', 'add'), ('sub', 'u', 'sub'), ('min', 'i', 'imin'), ('min', 'u', 'umin'), ('max', 'i', 'imax'),
             ('max', 'u', 'umax'), ('and', 'b', 'and'), ('or', 'b', 'or'), ('xor', 'b', 'xor'), ('inc', 'u', 'inc'), ('dec', 'u', 'dec')]
    rows = [('%s_%s%d' % (n, t, bits), op, bits) for bits in (32, 64) for n, t, op in table]
    rows += [('csub_u32', 'csub', 32), ('cmpswap_f32', 'fcmp', 32), ('min_f32', 'fmin', 32), ('max_f32', 'fmax', 32), ('add_f32', 'fadd', 32)]
    for seg in ('flat', 'global'):
        for name, op, bits in rows:
            if seg == 'flat' and op == 'csub':
                continue
            n = bits // 32
            olds = [pattern(64 * l + 8, 4 * n) for l in range(8)]
            data = [random.choice([o, o - 1, o + 1, int_value(bits)]) & ((1 << bits) - 1) for o in olds]
            other = [o if random.random() < 0.6 else int_value(bits) for o in olds]
            before = {}
            lanes_into(before, 20, 'B%d' % bits, data)
            width = n
            if 'cmpswap' in name:
                lanes_into(before, 20 + n, 'B%d' % bits, other)
                width = 2 * n
            new = [atomic(op, o, d, e, bits) for o, d, e in zip(olds, data, other)]
            after = {}
            lanes_into(after, 30, 'B%d' % bits, olds)
            for l in range(8):
                for at, u in words(64 * l + 8, new[l], 4 * n).items():
                    after['g%d' % at] = u
            reg = lambda r, k: 'v%d' % r if k == 1 else 'v[%d:%d]' % (r, r + k - 1)
            tail = 'off offset:8 glc' if seg == 'global' else 'offset:8 glc'
            emit('%s_atomic_%s %s, v[2:3], %s%s%s' % (seg, name, reg(30, n), reg(20, width), ', ' if seg == 'global' else ' ', tail), before, after)
    emit('flat_atomic_csub_u32 skipped', {}, {})
    lines.pop()


def shared():
    reg = lambda r, k: 'v%d' % r if k == 1 else 'v[%d:%d]' % (r, r + k - 1)
    for name, size, signed, where in [('u8', 1, 0, ''), ('i8', 1, 1, ''), ('u16', 2, 0, ''), ('i16', 2, 1, ''), ('b32', 4, 0, ''), ('b64', 8, 0, ''), ('b96', 12, 0, ''), ('b128', 16, 0, ''),
                                      ('u8_d16', 1, 0, 'lo'), ('u8_d16_hi', 1, 0, 'hi'), ('i8_d16', 1, 1, 'lo'), ('i8_d16_hi', 1, 1, 'hi'), ('u16_d16', 2, 0, 'lo'), ('u16_d16_hi', 2, 0, 'hi')]:
        n = max(size // 4, 1)
        r = [loaded(pattern(64 * l + 4, size), size, signed, 0x11223344, where) for l in range(8)]
        emit('ds_load_%s %s, v1 offset:4' % (name, reg(20, n)), {'v20': [0x11223344] * 8}, {'v%d' % (20 + k): [r[l][k] for l in range(8)] for k in range(n)})
    for name, size, high in [('b8', 1, 0), ('b16', 2, 0), ('b32', 4, 0), ('b64', 8, 0), ('b96', 12, 0), ('b128', 16, 0), ('b8_d16_hi', 1, 1), ('b16_d16_hi', 2, 1)]:
        n = max(size // 4, 1)
        data = [[random.getrandbits(32) for _ in range(8)] for _ in range(n)]
        after = {}
        for l in range(8):
            v = sum(data[k][l] << 32 * k for k in range(n)) >> (16 if high else 0)
            for at, u in words(64 * l + 4, v, size).items():
                after['l%d' % at] = u
        emit('ds_store_%s v1, %s offset:4' % (name, reg(20, n)), {'v%d' % (20 + k): data[k] for k in range(n)}, after)
    for bits in (32, 64):
        n = bits // 32
        for stride, tag in ((1, ''), (64, 'stride64_')):
            o0, o1 = 4 * n * stride * 1, 4 * n * stride * 3
            after = {}
            for k in range(n):
                after['v%d' % (20 + k)] = [pattern(64 * l + o0 + 4 * k, 4) for l in range(8)]
                after['v%d' % (20 + n + k)] = [pattern(64 * l + o1 + 4 * k, 4) for l in range(8)]
            emit('ds_load_2addr_%sb%d %s, v1 offset0:1 offset1:3' % (tag, bits, reg(20, 2 * n)), {}, after)
            d0, d1 = [int_value(bits) for _ in range(8)], [int_value(bits) for _ in range(8)]
            before, mem = {}, {}
            lanes_into(before, 20, 'B%d' % bits, d0)
            lanes_into(before, 24, 'B%d' % bits, d1)
            for l in range(8):
                for off, d in ((o0, d0), (o1, d1)):
                    for at, u in words(64 * l + off, d[l], 4 * n).items():
                        mem['l%d' % at] = u
            emit('ds_store_2addr_%sb%d v1, %s, %s offset0:1 offset1:3' % (tag, bits, reg(20, n), reg(24, n)), before, mem)
            old = {'v%d' % (30 + k): v for k, v in ((int(key[1:]) - 20, val) for key, val in after.items())}
            emit('ds_storexchg_2addr_%srtn_b%d %s, v1, %s, %s offset0:1 offset1:3' % (tag, bits, reg(30, 2 * n), reg(20, n), reg(24, n)), before, {**old, **mem})
    table = [('add', 'u', 'add'), ('sub', 'u', 'sub'), ('rsub', 'u', 'rsub'), ('inc', 'u', 'inc'), ('dec', 'u', 'dec'), ('min', 'i', 'imin'), ('max', 'i', 'imax'), ('min', 'u', 'umin'),
             ('max', 'u', 'umax'), ('and', 'b', 'and'), ('or', 'b', 'or'), ('xor', 'b', 'xor'), ('mskor', 'b', 'mskor'), ('cmpstore', 'b', 'cmpswap'), ('cmpstore', 'f', 'fcmp'),
             ('min', 'f', 'fmin'), ('max', 'f', 'fmax'), ('add', 'f', 'fadd'), ('storexchg', 'b', 'swap'), ('wrap', 'b', 'wrap')]
    for bits in (32, 64):
        n = bits // 32
        for stem, t, op in table:
            if bits == 64 and (op in ('fadd', 'wrap')):
                continue
            olds = [pattern(64 * l + 8, 4 * n) for l in range(8)]
            data = [random.choice([o, o - 1, o + 1, int_value(bits)]) & ((1 << bits) - 1) for o in olds]
            other = [o if random.random() < 0.6 else int_value(bits) for o in olds]
            new = [atomic(op, o, d, e, bits) for o, d, e in zip(olds, data, other)]
            before, mem, ret = {}, {}, {}
            lanes_into(before, 20, 'B%d' % bits, data)
            lanes_into(before, 24, 'B%d' % bits, other)
            lanes_into(ret, 30, 'B%d' % bits, olds)
            for l in range(8):
                for at, u in words(64 * l + 8, new[l], 4 * n).items():
                    mem['l%d' % at] = u
            second = ', ' + reg(24, n) if op in ('mskor', 'cmpswap', 'fcmp', 'wrap') else ''
            if op not in ('swap', 'wrap'):
                emit('ds_%s_%s%d v1, %s%s offset:8' % (stem, t, bits, reg(20, n), second), before, mem)
            emit('ds_%s_rtn_%s%d %s, v1, %s%s offset:8' % (stem, t, bits, reg(30, n), reg(20, n), second), before, {**ret, **mem})
    olds = [pattern(64 * l + 8, 8) for l in range(8)]
    data = [random.getrandbits(64) for _ in range(8)]
    half = lambda o, d: (d & 0x7fffffff if d >> 31 & 1 else o & M32)
    before, after = {}, {}
    lanes_into(before, 20, 'B64', data)
    lanes_into(after, 30, 'B64', olds)
    for l in range(8):
        new = half(olds[l], data[l]) | half(olds[l] >> 32, data[l] >> 32) << 32
        for at, u in words(64 * l + 8, new, 8).items():
            after['l%d' % at] = u
    emit('ds_condxchg32_rtn_b64 v[30:31], v1, v[20:21] offset:8', before, after)
    # Shared memory's additions follow the denormal mode, and always round to nearest.
    sums = [(0x00400000, 0x00400000, 0x00800000, 0), (0x00800001, 0x80800000, 1, 0),
            (0x3f800000, 0x33800000, 0x3f800000, 0x3f800000), (0x00000001, 0x3f800000, 0x3f800000, 0x3f800000)] * 2
    for mode, column in ((0xf1, 2), (0xc1, 3)):
        emit('ds_add_f32 v1, v20 offset:8', {'mode': mode, 'v20': [t[1] for t in sums], **{'l%d' % (64 * n + 8): t[0] for n, t in enumerate(sums)}},
             {'l%d' % (64 * n + 8): t[column] for n, t in enumerate(sums)})
    a = [random.getrandbits(32) for _ in range(8)]
    sel = [random.randrange(8) for _ in range(8)]
    emit('ds_bpermute_b32 v4, v6, v8', {'v6': [4 * k for k in sel], 'v8': a}, {'v4': [a[k] for k in sel]})
    emit('ds_bpermute_b32 v4, v6, v8 offset:4', {'v6': [4 * k for k in range(8)], 'v8': a}, {'v4': a[1:] + [0]})
    to = random.sample(range(8), 8)
    emit('ds_permute_b32 v4, v6, v8', {'v6': [4 * k for k in to], 'v8': a}, {'v4': [a[to.index(n)] for n in range(8)]})
    emit('ds_swizzle_b32 v4, v6 offset:0x801b', {'v6': a}, {'v4': [a[(n & ~3) + 3 - (n & 3)] for n in range(8)]})
    emit('ds_swizzle_b32 v4, v6 offset:0x041f', {'v6': a}, {'v4': [a[n ^ 1] for n in range(8)]})
    emit('ds_nop', {}, {'l0': pattern(0, 4)})
    emit('ds_append v4 offset:8', {'m0': 16}, {'v4': [pattern(24, 4)] * 8, 'l24': pattern(24, 4) + 8})
    emit('ds_consume v4 offset:8', {'m0': 16}, {'v4': [pattern(24, 4)] * 8, 'l24': pattern(24, 4) - 8})
    emit('ds_load_addtid_b32 v4 offset:8', {'m0': 16}, {'v4': [pattern(24 + 4 * l, 4) for l in range(8)]})
    emit('ds_store_addtid_b32 v6 offset:8', {'m0': 16, 'v6': a}, {'l%d' % (24 + 4 * l): a[l] for l in range(8)})


def duals():
    names = [('fmac_f32', None), ('mul_f32', mul), ('add_f32', add), ('sub_f32', FLOAT_BINARY['sub']), ('subrev_f32', FLOAT_BINARY['subrev']),
             ('max_f32', FLOAT_BINARY['max']), ('min_f32', FLOAT_BINARY['min'])]
    f = lambda: [float_value(F32) for _ in range(8)]
    i = lambda: [int_value(32) for _ in range(8)]
    for n, (name, fn) in enumerate(names):
        a, b, c, d, e = f(), f(), f(), i(), i()
        x = [fma(F32, p, q, r) for p, q, r in zip(a, b, c)] if fn is None else [fn(F32, p, q) for p, q in zip(a, b)]
        y_name, y_fn = [('add_nc_u32', lambda p, q: p + q & M32), ('lshlrev_b32', lambda p, q: q << (p & 31) & M32), ('and_b32', lambda p, q: p & q)][n % 3]
        emit('v_dual_%s v4, v8, v6 :: v_dual_%s v5, v11, v9' % (name, y_name), {'v4': c, 'v8': a, 'v6': b, 'v11': d, 'v9': e},
             {'v4': x, 'v5': [y_fn(p, q) for p, q in zip(d, e)]})
        emit('v_dual_mov_b32 v4, v11 :: v_dual_%s v5, v8, v6' % name, {'v5': c, 'v8': a, 'v6': b, 'v11': d}, {'v4': d, 'v5': x})
    a, b, c, d = f(), f(), f(), f()
    emit('v_dual_mul_dx9_zero_f32 v4, v8, v6 :: v_dual_mul_dx9_zero_f32 v5, v11, v9', {'v8': a, 'v6': b, 'v11': c, 'v9': d},
         {'v4': [reference('v_mul_dx9_zero_f32')(p, q) for p, q in zip(a, b)], 'v5': [reference('v_mul_dx9_zero_f32')(p, q) for p, q in zip(c, d)]})
    emit('v_dual_fmaak_f32 v4, v8, v6, 0x40490fdb :: v_dual_fmamk_f32 v5, v11, 0x40490fdb, v9', {'v8': a, 'v6': b, 'v11': c, 'v9': d},
         {'v4': [fma(F32, p, q, 0x40490fdb) for p, q in zip(a, b)], 'v5': [fma(F32, p, 0x40490fdb, q) for p, q in zip(c, d)]})
    emit('v_dual_fmamk_f32 v4, v8, 0x40490fdb, v6 :: v_dual_fmaak_f32 v5, v11, v9, 0x40490fdb', {'v8': a, 'v6': b, 'v11': c, 'v9': d},
         {'v4': [fma(F32, p, 0x40490fdb, q) for p, q in zip(a, b)], 'v5': [fma(F32, p, q, 0x40490fdb) for p, q in zip(c, d)]})
    emit('v_dual_cndmask_b32 v4, v8, v6 :: v_dual_cndmask_b32 v5, v11, v9', {'v8': a, 'v6': b, 'v11': c, 'v9': d, 'vcc': 0x5a},
         {'v4': [q if 0x5a >> n & 1 else p for n, (p, q) in enumerate(zip(a, b))], 'v5': [q if 0x5a >> n & 1 else p for n, (p, q) in enumerate(zip(c, d))]})
    emit('v_dual_mov_b32 v4, v5 :: v_dual_mov_b32 v5, v4', {'v4': a, 'v5': b}, {'v4': b, 'v5': a})
    one, two = 0x3c003c00, 0x40004000
    emit('v_dual_dot2acc_f32_f16 v4, v8, v6 :: v_dual_dot2acc_f32_f16 v5, v11, v9', {'v4': [0x3f800000] * 8, 'v5': [0x40000000] * 8, 'v8': [one] * 8, 'v6': [two] * 8, 'v11': [two] * 8, 'v9': [two] * 8},
         {'v4': [0x40a00000] * 8, 'v5': [0x41200000] * 8})


def buffers():
    """Raw buffers of 256 bytes (s[4:7]): a lane's words from byte 256 on read as 0 and are not written; s20 is not checked. Records of 16 bytes
    (s[64:67], which the test fills): 8 of them, checked as OOB_SELECT says."""
    raw, size_all = {'s7': 0x30000000, 's20': 4}, 256
    reg = lambda k: 'v24' if k == 1 else 'v[24:%d]' % (23 + k)
    for t, size, signed, where in [(t, z, g, '') for t, (z, g) in LOADS.items()] + [('d16_%s%s' % (h, t), z, g, w) for t, z, g in (('u8', 1, 0), ('i8', 1, 1), ('b16', 2, 0))
                                                                                  for h, w in (('', 'lo'), ('hi_', 'hi'))]:
        n, old, after = max(size // 4, 1), 0x11223344, {}
        piece = min(size, 4)
        for l in range(8):
            at = 64 * l + 56
            value = sum(pattern(at + 4 + k, piece) << 8 * k for k in range(0, size, piece) if at + k + piece <= size_all)
            for k, u in enumerate(loaded(value, size, signed, old, where)):
                after.setdefault('v%d' % (24 + k), []).append(u)
        emit('buffer_load_%s %s, v1, s[4:7], s20 offen offset:56' % (t, reg(n)), dict(raw, v24=[old] * 8), after)
    for t, size, high in (('b8', 1, 0), ('b16', 2, 0), ('b32', 4, 0), ('b64', 8, 0), ('b96', 12, 0), ('b128', 16, 0), ('d16_hi_b8', 1, 1), ('d16_hi_b16', 2, 1)):
        n, after = max(size // 4, 1), {}
        data = [[random.getrandbits(32) for _ in range(8)] for _ in range(n)]
        for l in range(8):
            at = 64 * l + 56
            v = sum(data[k][l] << 32 * k for k in range(n)) >> (16 if high else 0)
            inside = sum(1 for k in range(0, size, min(size, 4)) if at + k + min(size, 4) <= size_all) * min(size, 4)
            for w, u in list(words(at + 4, v, inside).items() if inside else []) + [(64 * l + 76, pattern(64 * l + 76, 4))] + ([] if inside else [(at + 4, pattern(at + 4, 4))]):
                after['g%d' % w] = u
        emit('buffer_store_%s %s, v1, s[4:7], s20 offen offset:56' % (t, reg(n)), dict(raw, **{'v%d' % (24 + k): data[k] for k in range(n)}), after)
    table = [('swap', 'b', 'swap'), ('cmpswap', 'b', 'cmpswap'), ('add', 'u', 'add'), ('sub', 'u', 'sub'), ('min', 'i', 'imin'), ('min', 'u', 'umin'), ('max', 'i', 'imax'),
             ('max', 'u', 'umax'), ('and', 'b', 'and'), ('or', 'b', 'or'), ('xor', 'b', 'xor'), ('inc', 'u', 'inc'), ('dec', 'u', 'dec')]
    rows = [('%s_%s%d' % (n, t, bits), op, bits) for bits in (32, 64) for n, t, op in table]
    rows += [('csub_u32', 'csub', 32), ('cmpswap_f32', 'fcmp', 32), ('min_f32', 'fmin', 32), ('max_f32', 'fmax', 32), ('add_f32', 'fadd', 32)]
    for name, op, bits in rows:
        n, offset = bits // 32, 64 - bits // 8
        olds = [pattern(64 * l + offset, 4 * n) for l in range(8)]
        data = [random.choice([o, o - 1, o + 1, int_value(bits)]) & ((1 << bits) - 1) for o in olds]
        other = [o if random.random() < 0.6 else int_value(bits) for o in olds]
        before, after = dict(raw), {}
        lanes_into(before, 24, 'B%d' % bits, data)
        if 'cmpswap' in name:
            lanes_into(before, 24 + n, 'B%d' % bits, other)
        new = [atomic(op, o, d, e, bits) if l < 4 else o for l, (o, d, e) in enumerate(zip(olds, data, other))]
        lanes_into(after, 24, 'B%d' % bits, [o if l < 4 else 0 for l, o in enumerate(olds)])
        for l in range(8):
            for w, u in words(64 * l + offset, new[l], 4 * n).items():
                after['g%d' % w] = u
        emit('buffer_atomic_%s %s, v1, s[4:7], 0 offen offset:%d glc' % (name, reg(n * (2 if 'cmpswap' in name else 1)), offset), before, after)
    index, offset = [0, 1, 7, 8, 2, 3, 40, 5], [0, 4, 12, 0, 13, 12, 8, 16]
    for select in range(4):
        def inside(i, o):
            return [i < 8 and o + 4 <= 16, i < 8, True, 16 * i + o + 4 <= 8][select]
        emit('buffer_load_b32 v24, v[8:9], s[64:67], 0 idxen offen', {'s67': select << 28, 'v8': index, 'v9': offset},
             {'v24': [pattern(16 * i + o, 4) if inside(i, o) else 0 for i, o in zip(index, offset)]})
    emit('buffer_load_b32 v24, v8, s[64:67], 0 idxen offset:8', {'v8': index}, {'v24': [pattern(16 * i + 8, 4) if i < 8 else 0 for i in index]})
    emit('buffer_load_b32 v24, off, s[4:7], 64 offset:8', {'s7': 0x30000000}, {'v24': [pattern(72, 4)] * 8})
    emit('buffer_load_b32 v24, off, s[4:7], null offset:8 glc slc dlc', {'s7': 0x30000000}, {'v24': [pattern(8, 4)] * 8})


def four_sums():
    for _ in range(2):
        a, b = [random.getrandbits(64) for _ in range(8)], [random.choice([random.getrandbits(32), 0xff0000ff, 0]) for _ in range(8)]
        c = [[random.getrandbits(32) for _ in range(8)] for _ in range(4)]
        before = {'v6': [u & M32 for u in a], 'v7': [u >> 32 for u in a], 'v8': b}
        before.update({'v%d' % (10 + k): c[k] for k in range(4)})
        emit('v_mqsad_u32_u8 v[20:23], v[6:7], v8, v[10:13]', before,
             {'v%d' % (20 + k): [sad(a[l] >> 8 * k & M32, b[l], c[k][l], True) & M32 for l in range(8)] for k in range(4)})


def everything():
    for kind, name, types in table_rows():
        if kind == 'VC':
            compare('v_cmp_' + name, types)
            compare('v_cmpx_' + name, types)
        elif kind in ('V1', 'V2', 'V3'):
            fn = reference(name)
            if fn:
                plain(kind, name, types, fn)
        elif kind == 'VP':
            packed(name, types)
    for base, kind in ((0x00, 'f16'), (0x10, 'f32'), (0x20, 'f64')):
        for op in ('f', 'lt', 'eq', 'le', 'gt', 'lg', 'ge', 'o', 'u', 'nge', 'nlg', 'ngt', 'nle', 'neq', 'nlt', 't'):
            for c in ('cmp', 'cmpx'):
                compare('v_%s_%s_%s' % (c, op, kind), [kind.upper()])
    for kind in ('i16', 'u16', 'i32', 'u32', 'i64', 'u64'):
        for op in ('f', 'lt', 'eq', 'le', 'gt', 'ne', 'ge', 't')[1 if '16' in kind else 0:7 if '16' in kind else 8]:
            for c in ('cmp', 'cmpx'):
                compare('v_%s_%s_%s' % (c, op, kind), [kind.upper()])
    for name, bits, signed in (('v_dot4_i32_iu8', 8, 1), ('v_dot4_u32_u8', 8, 0), ('v_dot8_i32_iu4', 4, 1), ('v_dot8_u32_u4', 4, 0)):
        dot_integers(name, bits, signed)
    for f in (carries, selections, dots, matrices, divisions, transcendentals, cubes, scalar, memory, atomics, shared, duals, buffers, four_sums):
        f()


def assemble(texts):
    """What llvm-mc prints for each instruction, and its words."""
    out = subprocess.run(os.environ.get('LLVM_MC', 'llvm-mc').split() +
                         ['-triple=amdgcn', '-mcpu=gfx1100', '--show-encoding'],
                         input='\n'.join(texts) + '\n', capture_output=True, text=True)
    if out.stderr:
        sys.stderr.write(out.stderr)
    rows = re.findall(r'^\s+(\S.*?)\s*(?:;|//) encoding: \[([^\]]*)\]', out.stdout, re.M)
    assert len(rows) == len(texts), (len(rows), len(texts))
    for text, e in rows:
        b = bytes(int(x, 16) for x in e.split(','))
        yield (re.sub(r'\s+', ' ', text),
               ' '.join('%08x' % int.from_bytes(b[n:n + 4], 'little') for n in range(0, len(b), 4)))


if __name__ == '__main__':
    everything()
    codes = assemble([l[0] for l in lines if not l[3]])
    print('# SPDX-License-Identifier: Apache-2.0')
    print('# written by instructions.py: assembly, words, state before, state after')
    for text, before, after, words in lines:
        asm, code = (text, words) if words else next(codes)
        print('\t'.join((asm, code, before, after)))
