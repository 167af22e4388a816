# SPDX-License-Identifier: Apache-2.0
"""Records every operator that runs between entering and leaving."""
import contextlib
import os
import platform
import time

import torch
from torch.overrides import TorchFunctionMode
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.module_tracker import ModuleTracker

from . import wide
from .arguments import Opaque, encode
from .store import NAMES, SCHEMA, Writer, plain

# Results that are no computation: memory nobody has written yet.
UNWRITTEN = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "resize",
             "set", "lift_fresh"}
# What autocast runs in its 16-bit format (torch/amp: "ops that autocast to lower precision").
LOWERED = {"mm", "addmm", "bmm", "baddbmm", "addbmm", "addmv", "mv", "linear", "matmul", "conv1d", "conv2d", "conv3d",
           "convolution", "_convolution", "mkldnn_convolution", "_scaled_dot_product_flash_attention_for_cpu",
           "_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention",
           "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_fused_attention_overrideable"}


def is_view(func):
    """Does it only look at its input in another way?"""
    returns = func._schema.returns
    return any(r.alias_info and not r.alias_info.is_write for r in returns)


def mutated_paths(func, args, kwargs):
    """Where the arguments are that the operator writes to."""
    paths = []
    for i, a in enumerate(func._schema.arguments):
        if not (a.alias_info and a.alias_info.is_write):
            continue
        key = a.name if a.kwarg_only else i
        value = kwargs.get(key) if a.kwarg_only else args[i] if i < len(args) else None
        if isinstance(value, torch.Tensor):
            paths.append((key,))
        elif isinstance(value, (list, tuple)):
            paths += [(key, j) for j in range(len(value))]
    return paths


def results(func, args, kwargs, returned):
    """Tensors that came out: those returned that are not arguments written to, then those."""
    paths = mutated_paths(func, args, kwargs)
    written = [wide.at(args, kwargs, p) for p in paths]
    fresh = [t for t in wide.flat(returned) if isinstance(t, torch.Tensor)]
    fresh = [t for t in fresh if not any(t is w for w in written)]
    return fresh, written, paths


def draws(func, args, kwargs):
    """Does it draw random numbers? Attention without dropout does not, whatever its tag says."""
    if torch.Tag.nondeterministic_seeded not in func.tags:
        return False
    for i, a in enumerate(func._schema.arguments):
        if a.name == "dropout_p":
            return bool(kwargs.get(a.name, args[i] if i < len(args) else 0))
    return True


class AutocastState(TorchFunctionMode):
    """What autocast asked for when the user called a function: below it, where operators are
    dispatched, it has done its work and says that it is off."""

    def __init__(self):
        super().__init__()
        self.formats = {}

    def __torch_function__(self, func, types, args=(), kwargs=None):
        before = self.formats
        self.formats = {kind: NAMES[torch.get_autocast_dtype(kind)] for kind in ("cpu", "cuda")
                        if torch.is_autocast_enabled(kind)}
        try:
            return func(*args, **(kwargs or {}))
        finally:
            self.formats = before


class Capture(TorchDispatchMode):
    """Every operator's inputs and outputs, with the module it ran in, the autocast state, the state of
    the random generators, gradients, parameters and the optimizer's state, into one file.

    path       the file, written when the block ends without an exception
    model      names parameters; may be None
    optimizer  its state is stored after each of its steps; may be None
    reference  False: no float64 recomputation (half the time, but no side can be called wrong)
    """

    def __init__(self, path, model=None, optimizer=None, reference=True):
        super().__init__()
        self.path, self.model, self.optimizer, self.reference = path, model, optimizer, reference

    def __enter__(self):
        self.writer, self.operators, self.buckets, self.steps = Writer(self.path), [], 0, 0
        self.rng_at_start = self._rng("rng/start")
        self.stack = contextlib.ExitStack()
        self.tracker = self.stack.enter_context(ModuleTracker())
        self.state = self.stack.enter_context(AutocastState())
        self.in_step = False
        self.hooks = [register_optimizer_step_pre_hook(self._before_step),
                      register_optimizer_step_post_hook(self._after_step)]
        return super().__enter__()

    def __exit__(self, kind, error, trace):
        super().__exit__(kind, error, trace)
        for hook in self.hooks:
            hook.remove()
        self.stack.close()
        if kind is not None:
            self.writer.abandon()
            return
        self.writer.finish(self._head())

    # --- what surrounds the operators ---

    kind = "step"

    def _head(self):
        devices = sorted({d for o in self.operators for d in o.get("devices", [])}) or ["cpu"]
        name = "CPU"
        if any(d != "cpu" for d in devices) and torch.cuda.is_available():
            name = torch.cuda.get_device_name()
        stack = f"ROCm {torch.version.hip}" if torch.version.hip else f"CUDA {torch.version.cuda}" \
            if torch.version.cuda else "CPU build"
        return {"schema": SCHEMA, "kind": self.kind, "torch": torch.__version__, "stack": stack,
                "device": name, "devices": devices, "host": platform.node(),
                "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "environment": {k: v for k, v in os.environ.items()
                                if k.startswith(("TORCH_", "PYTORCH_", "CUBLAS", "NVIDIA_TF32", "HIP_", "ROCBLAS"))},
                "rng": self.rng_at_start, "operators": self.operators}

    def _rng(self, path):
        states = {"cpu": torch.get_rng_state()}
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            states.update({f"cuda:{i}": s for i, s in enumerate(torch.cuda.get_rng_state_all())})
        names = {}
        for device, state in states.items():
            names[device] = self.writer.put(plain(state))
            self.writer.link(f"{path}/{device}", names[device])
        return names

    def _names(self):
        return {id(p): n for n, p in self.model.named_parameters()} if self.model is not None else {}

    def _before_step(self, optimizer, args, kwargs):
        self.in_step = True
        self._parameters(optimizer, "gradient", lambda p: {"": p.grad})

    def _after_step(self, optimizer, args, kwargs):
        self.in_step = False
        self._parameters(optimizer, "parameter", lambda p: {"": p})
        self._parameters(optimizer, "optimizer", lambda p: optimizer.state.get(p, {}))
        self.steps += 1

    def _parameters(self, optimizer, what, values):
        names, n = self._names(), 0
        for group in optimizer.param_groups:
            for p in group["params"]:
                name = names.get(id(p), f"{n}")
                n += 1
                for key, value in values(p).items():
                    if isinstance(value, torch.Tensor):
                        self.writer.link(f"{what}/{self.steps}/{name}{'/' if key else ''}{key}",
                                         self.writer.put(plain(value)))

    # --- operators ---

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func.namespace in ("prim", "profiler") or is_view(func) or wide.base_name(func) in UNWRITTEN:
            return func(*args, **kwargs)
        if func.namespace == "c10d":
            self._bucket(args)
            return func(*args, **kwargs)
        return self._record(func, args, kwargs)

    def _bucket(self, args):
        """Gradients on their way to another process (DDP, FSDP), before they are reduced."""
        for t in wide.flat(list(args)):
            if isinstance(t, torch.Tensor):
                self.writer.link(f"bucket/{self.buckets}", self.writer.put(plain(t)))
                self.buckets += 1

    def _module(self):
        names = [n for n in self.tracker.parents if n != "Global"]
        return max(names, key=len) if names else ""

    def _autocast(self, devices):
        kind = devices[0].split(":")[0] if devices else "cpu"
        return self.state.formats.get(kind, "")

    def _record(self, func, args, kwargs):
        inputs, devices = [], []

        def put(t):
            devices.append(str(t.device))
            name = self.writer.put(plain(t))
            inputs.append(name)
            if name is None:
                raise Opaque(str(t.dtype))
            return {"tensor": name, "stride": list(t.stride())}

        entry = {"op": str(func), "module": self._module(), "phase": self._phase()}
        try:
            entry["args"], entry["kwargs"] = encode(list(args), put), encode(kwargs, put)
        except Opaque as reason:
            entry["opaque"] = str(reason)
        entry["inputs"] = inputs
        entry["random"] = draws(func, args, kwargs)
        entry["autocast"] = self._autocast(devices)
        entry["asked"] = entry["autocast"] if wide.base_name(func) in LOWERED else ""
        entry["devices"] = sorted(set(devices))
        if entry["random"]:
            entry["rng"] = self._rng(f"rng/{len(self.operators):06d}")
        wanted = self.reference and not entry["random"]
        before = (wide.widen(list(args)), wide.widen(kwargs)) if wanted else None
        returned = func(*args, **kwargs)
        self._outputs(entry, func, args, kwargs, before, returned)
        return returned

    def _phase(self):
        return "optimizer" if self.in_step else "backward" if self.tracker.is_bw else "forward"

    def _outputs(self, entry, func, args, kwargs, before, returned):
        fresh, written, paths = results(func, args, kwargs, returned)
        if not fresh and not written:
            return
        entry["outputs"] = [self.writer.put(plain(t)) for t in fresh + written]
        number = len(self.operators)
        if before is not None:
            self._reference(entry, func, before, fresh + written, len(fresh), paths)
        for i, name in enumerate(entry["outputs"]):
            self.writer.link(f"op/{number:06d} {entry['op']}/out{i}", name)
        self.operators.append(entry)

    def _reference(self, entry, func, before, outs, n_fresh, paths):
        values, first = wide.reference(func, *before, paths)
        if not values:
            return
        values = (values[:n_fresh] if n_fresh else []) + values[len(values) - len(paths):] if paths else values
        if len(values) != len(outs) or any(v is None or v.shape != o.shape for v, o in zip(values, outs)):
            return
        entry["wide"] = [self.writer.put(plain(v)) for v in values]
        limits = [wide.bounds(first, v, o.dtype) for v, o in zip(values, outs)]
        if all(x is not None for x in limits):
            entry["bound"] = [self.writer.put(plain(x)) for x in limits]
