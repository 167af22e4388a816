# SPDX-License-Identifier: Apache-2.0
"""The file: tensors by the digest of their content, each stored once, and one JSON text that lists
the operators. docs/training.md describes it; harness/capture.h reads it."""
import hashlib
import json
import os

import h5py
import numpy
import torch

SCHEMA = 1
NAMES = {
    torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16",
    torch.float8_e4m3fn: "e4m3", torch.float8_e5m2: "e5m2", torch.float8_e4m3fnuz: "e4m3fnuz",
    torch.float8_e5m2fnuz: "e5m2fnuz", torch.int64: "i64", torch.int32: "i32", torch.int16: "i16",
    torch.int8: "i8", torch.uint8: "u8", torch.bool: "u8",
}
# Formats that numpy has not: the unsigned integer that carries the bits.
BITS = {torch.bfloat16: torch.int16, torch.float8_e4m3fn: torch.uint8, torch.float8_e5m2: torch.uint8,
        torch.float8_e4m3fnuz: torch.uint8, torch.float8_e5m2fnuz: torch.uint8, torch.bool: torch.uint8}


def _bf16():
    """bf16 as a floating type of HDF5's own, so that every reader sees the numbers."""
    t = h5py.h5t.IEEE_F32LE.copy()
    t.set_fields(15, 7, 8, 0, 7)
    t.set_size(2)
    t.set_precision(16)
    t.set_ebias(127)
    return t


def plain(tensor):
    """A contiguous copy on the CPU that later changes of `tensor` do not reach."""
    return tensor.detach().to("cpu", copy=True).contiguous()


def bits(tensor):
    """The bits as a numpy array; `tensor` is on the CPU and contiguous."""
    carrier = BITS.get(tensor.dtype)
    return (tensor.view(carrier) if carrier else tensor).numpy()


def digest(tensor):
    head = f"{NAMES[tensor.dtype]}{list(tensor.shape)}".encode()
    return hashlib.blake2b(head + bits(tensor).tobytes(), digest_size=16).hexdigest()


class Writer:
    """Writes to a temporary name; `finish` gives the file its own."""

    def __init__(self, path):
        self.path, self.part = str(path), f"{path}.part"
        self.file = h5py.File(self.part, "w")
        self.tensors = self.file.create_group("tensor")

    def put(self, tensor):
        """Stores a tensor that `plain` gave; returns its digest, None for a format we have not."""
        if tensor.dtype not in NAMES:
            return None
        name = digest(tensor)
        if name not in self.tensors:
            self._write(name, tensor)
        return name

    def _write(self, name, tensor):
        data = bits(tensor)
        kind = _bf16() if tensor.dtype == torch.bfloat16 else h5py.h5t.py_create(data.dtype)
        space = h5py.h5s.create_simple(data.shape) if data.ndim else h5py.h5s.create(h5py.h5s.SCALAR)
        d = h5py.h5d.create(self.tensors.id, name.encode(), kind, space)
        if data.size:
            d.write(h5py.h5s.ALL, h5py.h5s.ALL, data, mtype=kind)
        h5py.Dataset(d).attrs["dtype"] = numpy.bytes_(NAMES[tensor.dtype])
        if tensor.dtype == torch.bool:
            h5py.Dataset(d).attrs["torch"] = numpy.bytes_("bool")

    def link(self, path, name):
        """The tensor `name` also under `path`."""
        if name and path not in self.file:
            self.file[path] = h5py.SoftLink(f"/tensor/{name}")

    def finish(self, head):
        text = json.dumps(head).encode()
        self.file["capture"] = numpy.frombuffer(text, dtype=numpy.uint8)
        self.file.close()
        os.replace(self.part, self.path)

    def abandon(self):
        self.file.close()
        os.unlink(self.part)


class Reader:
    def __init__(self, path):
        try:
            self.file = h5py.File(path, "r")
            self.head = json.loads(self.file["capture"][()].tobytes())
        except (OSError, KeyError, ValueError) as error:
            raise SystemExit(f"{path}: not a capture of gpuparity_torch ({error})")
        if self.head.get("schema") != SCHEMA:
            raise SystemExit(f"{path}: schema {self.head.get('schema')}, this program reads {SCHEMA}")

    def get(self, name):
        d = self.file["tensor"][name]
        word = d.attrs["dtype"].decode()
        if "torch" in d.attrs:
            return torch.from_numpy(numpy.asarray(d[()]).reshape(d.shape)).bool()
        dtype = next(t for t, n in NAMES.items() if n == word)
        data = numpy.empty(d.shape, dtype="u2" if dtype == torch.bfloat16 else d.dtype)
        if data.size:
            d.id.read(h5py.h5s.ALL, h5py.h5s.ALL, data, mtype=d.id.get_type())
        carrier = torch.from_numpy(data.view("i2") if dtype == torch.bfloat16 else data)
        return carrier.view(dtype) if dtype in BITS else carrier
