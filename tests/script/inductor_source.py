# SPDX-License-Identifier: Apache-2.0
"""What torch.compile's Inductor writes for a GPU, on a machine without one: tensors are fake, and so are
the card's properties (an RTX 3090). The Triton kernels in it are the real thing."""
import contextlib
import re
from unittest import mock

import torch
from torch._inductor import debug
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.graph import GraphLowering
from torch._inductor.runtime import hints
from torch._inductor.virtualized import V
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

CARD = hints.DeviceProperties(type="cuda", index=0, multi_processor_count=82, cc=86, major=8,
                              regs_per_multiprocessor=65536, max_threads_per_multi_processor=1536,
                              max_threads_per_block=1024, warp_size=32)


def generate(function, *shapes):
    """The wrapper module for function of f32 tensors of these shapes."""
    pretend = {"torch.cuda.is_available": True, "torch.cuda.current_device": 0,
               "torch.cuda.get_device_capability": (8, 6), "torch.cuda.get_device_properties": CARD,
               "torch.cuda._lazy_init": None, "torch._inductor.scheduler.has_triton": True,
               "torch.utils._triton.triton_hash_with_backend": "none"}
    fake = FakeTensorMode()
    with contextlib.ExitStack() as stack:
        stack.enter_context(fake)
        stack.enter_context(mock.patch.object(hints.DeviceProperties, "create", lambda device: CARD))
        inputs = [torch.empty(s, device="cuda") for s in shapes]
        for name, value in pretend.items():
            stack.enter_context(mock.patch(name, lambda *a, value=value: value))
        graph = GraphLowering(make_fx(function, decomposition_table=select_decomp_table())(*inputs))
        stack.enter_context(V.set_graph_handler(graph))
        stack.enter_context(V.set_fake_mode(fake))
        stack.enter_context(V.set_debug_handler(debug.DebugContext()))
        graph.run(*inputs)
        code = graph.codegen()[0]
    return getattr(code, "value", code)


def kernels(wrapper):
    """[(name, signature, source)] of its kernels; the source is without the autotuner's decorator, which
    looks for a card."""
    found = []
    for name, text in re.findall(r"(\w+) = async_compile\.triton\('\w+', '''(.*?)'''", wrapper, re.S):
        signature = eval(re.search(r"'signature': (\{.*?\})", text)[1])
        text = re.sub(r"@triton_heuristics.*?\n\)\n", "", text, flags=re.S)
        found.append((name, signature, text.replace("triton_helpers.set_driver_to_gpu()", "")))
    return found
