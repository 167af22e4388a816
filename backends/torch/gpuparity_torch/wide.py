# SPDX-License-Identifier: Apache-2.0
"""The reference of an operator: the same operator on the same inputs in float64 on the CPU; and, for
the operators whose arithmetic is known, how far a right device may be from it.

The bounds are worst-case bounds in the usual model of floating-point arithmetic: u is the unit
roundoff of the output's format, v that of the arithmetic (2^-24: 16-bit formats accumulate and compute in
f32; f64: 2^-53), gamma(n) = n v / (1 - n v). A sum of n products in any order, fused or not, is
off by at most gamma(n) times the sum of their absolute values. Higham, Accuracy and Stability
of Numerical Algorithms, 2nd ed., chapter 3. TF32 and 16-bit accumulators are outside it on
purpose. The float64 reference errs by a 2^-29 of that and is taken as exact."""
import torch

FLOAT = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


def widen(value):
    """Arguments with every floating tensor and every floating dtype made float64."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        return value.double() if value.is_floating_point() else value.clone()
    if isinstance(value, torch.dtype):
        return torch.float64 if value.is_floating_point else value
    if isinstance(value, torch.device):
        return torch.device("cpu")
    if isinstance(value, (list, tuple)):
        return type(value)(widen(v) for v in value)
    if isinstance(value, dict):
        return {k: widen(v) for k, v in value.items()}
    return value


def reference(func, args, kwargs, mutated):
    """(outputs in float64, bounds or None) in the order of the outputs recorded: what is returned,
    then the mutated arguments by their paths; None when the operator does not run in float64."""
    try:
        a, k = widen(args), widen(kwargs)
        first = bound(func, widen(args), widen(kwargs))
        with torch.no_grad():
            returned = func(*a, **k)
    except Exception:  # whatever an operator throws: it has no float64 form
        return None, None
    outs = [t for t in flat(returned) if isinstance(t, torch.Tensor)]
    outs += [at(a, k, path) for path in mutated]
    outs = [t.double() if isinstance(t, torch.Tensor) else None for t in outs]
    return outs, first


def flat(value):
    if isinstance(value, (list, tuple)):
        return [x for v in value for x in flat(v)]
    return [value]


def at(args, kwargs, path):
    """The argument at a path: position or name, then an index into a list, if any."""
    value = args[path[0]] if isinstance(path[0], int) else kwargs[path[0]]
    return value if len(path) == 1 else value[path[1]]


# --- error of the arithmetic, before the result is stored: a function of unit roundoff v -----------------

def gamma(n, v):
    return n * v / (1 - n * v)


def _products(a, b, n, v):
    return gamma(n + 1, v) * (a.abs() @ b.abs())


def _mm(v, u, a, b):
    return _products(a, b, a.shape[-1], v)


def _addmm(v, u, c, a, b, *, beta=1, alpha=1):
    s = a.abs() @ b.abs()
    return gamma(a.shape[-1] + 3, v) * (abs(alpha) * s + abs(beta) * c.abs())


def _linear(v, u, x, w, b=None):
    s = x.abs() @ w.abs().mT
    return gamma(x.shape[-1] + 2, v) * (s + (b.abs() if b is not None else 0))


def _add(v, u, a, b, *, alpha=1):
    # alpha b may be rounded to the stored format: PyTorch's own CPU kernel does so at a tensor's end.
    return max(u, v) * abs(alpha) * torch.as_tensor(b).abs() + 0 * a if alpha not in (1, -1) else 0 * (a + b)


def _relative(n):
    """n roundings, each relative to the result."""
    return lambda v, u, *inputs: gamma(n, v) if n else 0.0


def _sum(v, u, x, dim=None, keepdim=False, *, dtype=None):
    dims = list(range(x.dim())) if not dim else dim
    n = max(1, x.numel() // max(1, x.sum(dims).numel()))
    return gamma(n, v) * x.abs().sum(dims, keepdim=keepdim)


def _mean(v, u, x, dim=None, keepdim=False, *, dtype=None):
    dims = list(range(x.dim())) if not dim else dim
    n = max(1, x.numel() // max(1, x.sum(dims).numel()))
    return gamma(n + 2, v) * x.abs().mean(dims, keepdim=keepdim)


def _addcmul(v, u, a, x, y, *, value=1):
    return gamma(3, v) * (a.abs() + (value * x * y).abs())


def _addcdiv(v, u, a, x, y, *, value=1):
    return gamma(3, v) * (a.abs() + (value * x / y).abs())


def _lerp(v, u, a, b, w):
    return gamma(3, v) * (a.abs() + (w * (b - a)).abs() + (w * b).abs() + (w * a).abs())


RULES = {
    "mm": _mm, "bmm": _mm, "mv": _mm, "dot": _mm, "matmul": _mm, "linear": _linear,
    "addmm": _addmm, "baddbmm": _addmm, "addmv": _addmm,
    "add": _add, "sub": _add, "sum": _sum, "mean": _mean,
    "addcmul": _addcmul, "addcdiv": _addcdiv, "lerp": _lerp,
}
# A factor that is a number and no tensor is rounded to f32 first; a divisor's reciprocal may be
# multiplied; vendors' square roots are within 1 ulp.
RULES.update(mul=_relative(1), div=_relative(3), sqrt=_relative(3))
# Values that are only moved, or one operation that is correctly rounded.
RULES.update(dict.fromkeys(
    ["neg", "abs", "relu", "clone", "copy", "_to_copy", "where", "maximum", "minimum",
     "masked_fill", "zero", "fill", "embedding", "index_select", "gather", "cat", "stack", "eq", "ne", "lt", "le",
     "gt", "ge", "_unsafe_view", "zeros_like", "ones_like", "threshold_backward", "expand_copy", "slice_backward", "select_backward"], _relative(0)))


def base_name(func):
    """aten.add_.Tensor: add"""
    return func.overloadpacket.__name__.rstrip("_") if func.namespace == "aten" else ""


def bound(func, args, kwargs):
    """The rule's error as a function of both unit roundoffs, absolute (a tensor) or relative to the result
    (a number); None where no rule is known."""
    rule = RULES.get(base_name(func))
    if rule is None or kwargs.get("rounding_mode"):
        return None
    if base_name(func) in ("relu", "_to_copy", "copy", "clone", "where", "masked_fill", "zero", "fill"):
        kwargs = {}
    known = {k: x for k, x in kwargs.items() if k in ("alpha", "beta", "value", "keepdim", "dtype")}
    return lambda v, u: rule(v, u, *args, **known)


def bounds(first, wide, dtype):
    """The bound of an output stored as `dtype`: arithmetic first, then one rounding."""
    if first is None or wide is None:
        return None
    if dtype not in FLOAT:
        return torch.zeros_like(wide)
    info = torch.finfo(dtype)
    v = 2.0 ** -53 if dtype == torch.float64 else 2.0 ** -24
    # 16-bit results are computed in f32 and rounded once more.
    u = info.eps / 2 * (1 if dtype in (torch.float32, torch.float64) else 1 + 2.0 ** -7)
    try:
        error = first(v, u)
        error = error * wide.abs() if isinstance(error, float) else error.double().abs().expand_as(wide)
    except Exception:  # shapes that the rule does not know: no bound is better than a wrong one
        return None
    least = info.smallest_normal * info.eps / 2
    return error + u * (wide.abs() + error) + least
