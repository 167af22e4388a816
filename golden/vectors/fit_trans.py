# SPDX-License-Identifier: Apache-2.0
"""Finds the constants of backends/hip/sim/trans.def and translog.def.

    fit_trans.py rcp|rsq|sqrt|exp PAIRS [ROW...]
    fit_trans.py log|below|above OUTPUTS [ROW...]

PAIRS holds little-endian u32 pairs (operand, result) of the instruction spread over [1, 2) (rcp),
[1, 4) (rsq, sqrt) or [-1, 1] (exp). OUTPUTS holds the u32 results of v_log_f32 for the operands
0x3f000000 to 0x3fffffff. The results must be the hardware's: check them by the digests in
tests/test_sim_trans.c.

A row's cubic is linear in its four integers but for roundings of known size, so each result gives
two linear inequalities. The linear coefficient is fixed first (its product is rounded coarsest),
then linear programming bounds the others, and every lattice point inside is tried in the exact
arithmetic of trans.c. Needs numpy and scipy; minutes a function.
"""

import sys

import numpy as np
from scipy.optimize import linprog


def rne(v, s):
    whole, rest, half = v >> s, v & ((1 << s) - 1), 1 << (s - 1)
    return whole + ((rest > half) | ((rest == half) & ((whole & 1) == 1)))


def quadratic(p):
    return np.where(p >= 1 << 47, rne(p, 24) * 2, rne(p, 23))


class Unit:
    """t: position in the row; low, high: bounds of the sum before the last rounding."""

    has_c0 = True

    def ranges(self, a, low, high):
        """Bounds of each unknown; None if there is no point. Constraints are added as needed."""
        some = np.abs(a).max(1) > 0
        if (low[~some] > 0).any() or (high[~some] < 0).any():
            return None
        a, low, high = a[some], low[some], high[some]
        centre = np.linalg.lstsq(a / np.abs(a).max(1, keepdims=True),
                                 (low + high) / 2 / np.abs(a).max(1), rcond=None)[0]
        unit = 1 / np.abs(a).max(0)
        a, low, high = a * unit, low - a @ centre, high - a @ centre
        index = np.random.default_rng(1).choice(len(low), min(2000, len(low)), replace=False)
        out = []
        for k in range(a.shape[1]):
            for sign in (1, -1):
                for _ in range(60):
                    o = linprog(sign * np.eye(a.shape[1])[k], A_ub=np.vstack([a[index], -a[index]]),
                                b_ub=np.concatenate([high[index], -low[index]]),
                                bounds=[(None, None)] * a.shape[1], method="highs")
                    if o.status == 2:
                        return None
                    value = a @ o.x
                    over = np.maximum(value - high, low - value)
                    worst = np.argsort(over)[-50:]
                    worst = worst[over[worst] > 1e-3]
                    if len(worst) == 0:
                        break
                    index = np.unique(np.concatenate([index, worst]))
                out.append(sign * o.fun * unit[k] + centre[k])
        return out

    def solve(self):
        a, noise = self.basis(), self.noise
        free = [0, 2, 3] if self.has_c0 else [2, 3]
        bounds = self.ranges(a[:, sorted(free + [1])], self.low - noise, self.high + noise)
        found, tried = [], 0
        if bounds is None:
            return found, tried
        first, last = bounds[2:4] if self.has_c0 else bounds[:2]
        for c1 in range(int(np.floor(first)), int(np.ceil(last)) + 1):
            rest, line = a[:, free], self.linear(c1)
            low, high = self.low - line - self.fine(), self.high - line + self.fine()
            b = self.ranges(rest, low, high)
            if b is None:
                continue
            for c0 in whole(b[0], b[1]) if self.has_c0 else [0]:
                left, right = low - a[:, 0] * c0, high - a[:, 0] * c0
                d = self.ranges(a[:, 2:], left, right)
                for c3 in whole(d[2], d[3]) if d else []:
                    some = a[:, 2] != 0
                    ends = [(x - a[:, 3] * c3)[some] / a[some, 2] for x in (left, right)]
                    for c2 in whole(np.minimum(*ends).max(), np.maximum(*ends).min()):
                        tried += 1
                        if self.exact(c0, c1, c2, c3):
                            found.append((c0, c1, c2, c3))
        return found, tried

    def exact(self, *c):
        s = self.sum(*c)
        return bool(((s >= self.low) & (s <= self.high)).all())


def whole(low, high):
    return range(int(np.ceil(low - 1e-6)), int(np.floor(high + 1e-6)) + 1)


class Rounded(Unit):
    """Results are the sum / 2^shift rounded to nearest even."""

    def set(self, t, result):
        self.t, half = t, 1 << (self.shift - 1)
        middle, odd = result << self.shift, result & 1
        self.low, self.high = middle - half + odd, middle + half - odd

    def fine(self):
        return 8.0


class Rcp(Rounded):
    rows, shift, noise = 32, 11, 64.0

    def __init__(self, x, y, row):
        k = (x >> 18 & 31) == row
        self.set(x[k] & 0x3FFFF, y[k] - 0x3E800000)
        self.square = (self.t >> 1) ** 2 >> 10

    def basis(self):
        s = self.square / 2**23
        return np.stack([np.full(len(s), 512.0), -64 * self.t / 2**15, 256 * s,
                         -s * (4 * self.t + 1) / 2**12], 1)

    def linear(self, c1):
        p = c1 * self.t
        return -64 * np.where(p >= 1 << 38, rne(p, 15), (rne(p, 14) + 1) >> 1)

    def sum(self, c0, c1, c2, c3):
        inner = ((c2 << 20) - c3 * (4 * self.t + 1) + 0x800) >> 12
        return (c0 << 9) + self.linear(c1) + quadratic(inner * self.square)


class Rsq(Rounded):
    rows, shift, noise = 64, 12, 192.0

    def __init__(self, x, y, row):
        k = (((x >> 23) - 127) << 5 | (x >> 18 & 31)) == row
        self.set(x[k] & 0x3FFFF, y[k] - 0x3E800000)
        self.square = (self.t >> 1) ** 2 >> 10

    def basis(self):
        s = self.square / 2**23
        return np.stack([np.full(len(s), 1024.0), -128 * self.t / 2**15, 512 * s,
                         -s * (4 * self.t + 1) / 2**11], 1)

    def linear(self, c1):
        p = c1 * self.t
        return -128 * ((np.where(p >= 1 << 37, rne(p, 14) * 2, rne(p, 13)) + 3) >> 2)

    def sum(self, c0, c1, c2, c3):
        inner = ((c2 << 20) - c3 * (4 * self.t + 1) + 0x400) >> 11
        return (c0 << 10) + self.linear(c1) + quadratic(inner * self.square)


class Sqrt(Rounded):
    rows, shift, noise = 32, 12, 230.0

    def __init__(self, x, y, row):
        k = (((x >> 23) - 127) << 4 | (x >> 19 & 15)) == row
        self.set(x[k] & 0x7FFFF, y[k] - 0x3F000000)
        self.square = (self.t >> 2) ** 2 >> 10

    def basis(self):
        s = self.square / 2**23
        return np.stack([np.full(len(s), 1024.0), 128 * self.t / 2**17, -256 * s,
                         s * (4 * self.t + 2) / 2**12], 1)

    def linear(self, c1):
        p = c1 * self.t
        return 128 * np.where(p >= 1 << 40, rne(p, 17), rne(p, 16) >> 1)

    def sum(self, c0, c1, c2, c3):
        inner = ((c2 << 20) - c3 * (4 * self.t + 2) + 0x800) >> 12
        return (c0 << 10) + self.linear(c1) - quadratic(inner * self.square)


class Exp(Rounded):
    """Several c2 fit the pairs; they are roundings of one number times 2^(row/32)."""

    rows, shift, noise = 32, 13, 220.0

    def __init__(self, x, y, row):
        exponent, significand = (x >> 23 & 255) - 127, (x & 0x7FFFFF) | 0x800000
        shift = exponent + 6
        v = np.where(shift >= 0, significand << np.maximum(shift, 0), significand >> np.maximum(-shift, 0))
        v = np.where(x >> 31 == 1, -v - 1, v)
        k = (exponent >= -24) & ((v >> 24 & 31) == row)
        self.set(v[k] & 0xFFFFFF, (y[k] & 0x7FFFFF) | 0x800000)
        self.co = self.t >> 6
        self.square = self.co**2 >> 12

    def basis(self):
        s = self.square / 2**23
        return np.stack([np.full(len(s), 256.0), 256 * self.t / 2**24, s, s * self.co / 2**7], 1)

    def linear(self, c1):
        p = c1 * self.t
        return 256 * np.where(p >= 1 << 47, rne(p, 24), rne(p, 23) >> 1)

    def sum(self, c0, c1, c2, c3):
        inner = rne((c2 << 7) + c3 * self.co, 7)
        return (c0 << 8) + self.linear(c1) + quadratic(inner * self.square)


class Log(Unit):
    """The rows away from 1; row 32 is the upper half of row 1. Results are rounded down."""

    rows, noise = 33, 40.0

    def __init__(self, outputs, _, row):
        t = np.arange(1 << 18)
        t = t[: 1 << 17] if row == 1 else t[1 << 17 :] if row == 32 else t
        place = 1 if row == 32 else row
        parts = []
        for e in (-1, 0):
            if (e, place) in ((-1, 31), (0, 0)):
                continue
            y = outputs[(e + 1 << 23) + (place << 18) + t].astype(np.int64)
            m, shift = (y & 0x7FFFFF) | 0x800000, (y >> 23 & 255) - 127 + 12
            down = y >> 31 == 1
            parts.append((t, np.where(down, -(m << shift), m << shift) - (e << 35),
                          np.where(down, -((m - 1) << shift) - 1, ((m + 1) << shift) - 1) - (e << 35)))
        self.t, self.low, self.high = (np.concatenate(p) for p in zip(*parts))
        self.square = self.t**2 >> 12

    def basis(self):
        s = self.square / 2**23
        return np.stack([np.full(len(s), 32.0), self.t / 2**11, -s, s * (2 * self.t + 1) / 2**22], 1)

    def linear(self, c1):
        return 32 * ((c1 * self.t) >> 16)

    def fine(self):
        return 3 + self.square / 2**23

    def sum(self, c0, c1, c2, c3):
        inner = rne((c2 << 22) - c3 * (2 * self.t + 1), 22)
        return 32 * c0 + self.linear(c1) - quadratic(inner * self.square)


class Below(Unit):
    """Next to 1 from below, 1 - t / 2^24; magnitudes are rounded up."""

    rows = 2

    def __init__(self, outputs, _, row):
        self.t = t = np.arange(1, 1 << 17) if row == 0 else np.arange(1 << 17, 1 << 18)
        y = outputs[0x800000 - t].astype(np.int64)
        m, shift = (y & 0x7FFFFF) | 0x800000, (y >> 23 & 255) - 127 + 27
        self.low, self.high, self.has_c0 = ((m - 1) << shift) + 1, m << shift, row == 1
        width = np.floor(np.log2(t)).astype(np.int64) + 1
        self.n = np.where(width < 18, (18 - width) // 4 * 4, 0)
        cut = np.maximum(12 - self.n, 0)
        self.square = t * t >> cut << cut
        self.noise = 2.0 ** (19 - self.n)

    def basis(self):
        s = self.square / 2.0**22
        return np.stack([np.full(len(s), -65536.0), 8.0 * self.t, s, s * (self.t - 1) / 2**22], 1)

    def linear(self, c1):
        cut = np.maximum(14 - self.n, 0)
        return (2 * c1 * self.t >> cut << cut) * 4

    def fine(self):
        return 1.01 * 2.0 ** (16 - self.n) + self.square / 2.0**23

    def sum(self, c0, c1, c2, c3):
        inner = rne((c2 << 22) + c3 * (self.t - 1), 22)
        cut = np.maximum(12 - self.n, 0)  # the square has so many zeros: no overflow
        up = -(-(inner * (self.square >> cut)) >> (38 - self.n - cut))
        return self.linear(c1) + (up << (16 - self.n)) - (c0 << 16)


class Above(Unit):
    """Next to 1 from above, 1 + t / 2^23; one more than the result cut to 24 bits."""

    rows = 3

    def __init__(self, outputs, _, row):
        self.t = t = np.arange((0, 1 << 16, 1 << 17)[row] + (row == 0), 1 << (16, 17, 18)[row])
        y = outputs[0x800000 + t].astype(np.int64)
        width = np.floor(np.log2(t)).astype(np.int64) + 1
        self.n = (18 - width) // 4 * 4 if row == 0 else 0 * t
        m, shift = (y & 0x7FFFFF) | 0x800000, (y >> 23) - 127 + 12 + self.n
        self.low, self.high, self.has_c0 = (m - 1) << shift, (m << shift) - 1, row > 0
        self.square, self.noise = (t << self.n) * t >> 12, 8.0

    def basis(self):
        s = self.square / 2**23
        return np.stack([np.full(len(s), 1.0), (self.t << self.n) / 2**11, -s,
                         s * (2 * self.t + 1) / 2**22], 1)

    def linear(self, c1):
        return (c1 * (self.t << self.n) >> 13) * 4

    def fine(self):
        return 1.01 + self.square / 2**23

    def sum(self, c0, c1, c2, c3):
        inner = rne((c2 << 22) - c3 * (2 * self.t + 1), 22)
        return c0 + self.linear(c1) - quadratic(inner * self.square)


def main():
    name, path, *rows = sys.argv[1:]
    unit = {"rcp": Rcp, "rsq": Rsq, "sqrt": Sqrt, "exp": Exp, "log": Log, "below": Below,
            "above": Above}[name]
    data = np.fromfile(path, dtype="<u4")
    x, y = (data, None) if name in ("log", "below", "above") else data.astype(np.int64).reshape(-1, 2).T
    for row in map(int, rows) if rows else range(unit.rows):
        found, tried = unit(x, y, row).solve()
        print(f"{name} row {row}: {len(found)} of {tried} fit", *found[:4], flush=True)


if __name__ == "__main__":
    main()
