# SPDX-License-Identifier: Apache-2.0
"""An operator's arguments as JSON. A tensor becomes {"tensor": digest, "stride": [...]}; what JSON
has no word for becomes an object with one key that names it."""
import math

import torch


class Opaque(Exception):
    """An argument that a file cannot hold: the operator is compared, but not replayed."""


def encode(value, tensor):
    """`tensor` turns a torch.Tensor into what stands for it."""
    if isinstance(value, torch.Tensor):
        return tensor(value)
    if isinstance(value, (list, tuple)):
        return [encode(v, tensor) for v in value]
    if isinstance(value, dict):
        return {k: encode(v, tensor) for k, v in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    for kind in (torch.dtype, torch.device, torch.layout, torch.memory_format):
        if isinstance(value, kind):
            return {f"torch.{kind.__name__}": str(value).replace("torch.", "")}
    if isinstance(value, (torch.SymInt, torch.SymFloat)):
        return encode(value.node.maybe_as_int() if isinstance(value, torch.SymInt) else float(value), tensor)
    if isinstance(value, torch.Generator):
        return None
    raise Opaque(type(value).__name__)


def decode(value, tensor, device):
    """The reverse; devices become `device`, `tensor` turns what stands for a tensor into one."""
    if isinstance(value, list):
        return [decode(v, tensor, device) for v in value]
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        return tensor(value)
    if len(value) == 1:
        (kind, word), = value.items()
        if kind == "float":
            return float(word)
        if kind == "torch.device":
            return torch.device(device)
        if kind.startswith("torch."):
            return getattr(torch, word)
    return {k: decode(v, tensor, device) for k, v in value.items()}
