# SPDX-License-Identifier: Apache-2.0
"""Runs the operators of a capture again, each on the inputs that were captured, so that one operator's
difference does not reach the next."""
import torch

from .arguments import decode
from .capture import Capture
from .store import Reader


class Again(Capture):
    """Captures what a replay runs; the names of modules come from the capture."""

    kind = "replay"

    def __init__(self, path, reference):
        super().__init__(path, reference=reference)
        self.entry = None

    def _module(self):
        return self.entry["module"]

    def _phase(self):
        return self.entry["phase"]

    def _autocast(self, devices):
        return self.entry["autocast"]


def operator(name):
    """aten.add_.Tensor"""
    value = torch.ops
    for part in name.split("."):
        value = getattr(value, part)
    return value


def laid_out(tensor, stride, device):
    """The tensor on the device, in memory as it was when it was captured."""
    tensor = tensor.to(device)
    if list(tensor.stride()) == stride or any(s == 0 for s, n in zip(stride, tensor.shape) if n > 1):
        return tensor
    return torch.empty_strided(tensor.shape, stride, dtype=tensor.dtype, device=device).copy_(tensor)


def replay(source, path, device="cpu", reference=True):
    """Runs the operators of the capture `source` on `device` ("cpu", "cuda": also on ROCm) into `path`.
    Returns (operators run, [why others were not])."""
    reader, missed, ran = Reader(source), [], 0
    again = Again(path, reference)
    for entry in reader.head["operators"]:
        if "opaque" in entry:
            missed.append(f"{entry['op']}: an argument of type {entry['opaque']} is not in the file")
    with again:
        for entry in reader.head["operators"]:
            if "opaque" in entry:
                continue
            ran += 1
            _run(again, reader, entry, device)
    return ran, missed


def _run(again, reader, entry, device):
    def tensor(value):
        return laid_out(reader.get(value["tensor"]), value["stride"], device)

    # Nothing that is set up here is captured.
    with torch.utils._python_dispatch._disable_current_modes():
        func = operator(entry["op"])
        args = decode(entry["args"], tensor, device)
        kwargs = decode(entry["kwargs"], tensor, device)
        if entry["random"]:
            _seed(reader, entry["rng"], device)
    again.entry = entry
    with torch.no_grad():
        func(*args, **kwargs)


def _seed(reader, states, device):
    kind = torch.device(device).type
    for name, digest in states.items():
        if name == "cpu":
            torch.set_rng_state(reader.get(digest))
        elif kind == "cuda":
            torch.cuda.set_rng_state(reader.get(digest), name)
