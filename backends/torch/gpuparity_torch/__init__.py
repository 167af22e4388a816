# SPDX-License-Identifier: Apache-2.0
"""Captures the operators of a training or inference step, and replays them elsewhere.

    with gpuparity_torch.Capture("nvidia.h5", model, optimizer):
        one_step()

    python -m gpuparity_torch replay nvidia.h5 -o amd.h5     # on the other machine
    gpuparity compare nvidia.h5 amd.h5
"""
from .capture import Capture
from .lightning import CaptureCallback
from .replay import replay

__all__ = ["Capture", "CaptureCallback", "replay"]
