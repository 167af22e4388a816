# SPDX-License-Identifier: Apache-2.0
"""trainer = Trainer(callbacks=[gpuparity_torch.CaptureCallback("step.h5", step=100)])"""
try:
    from lightning.pytorch import Callback
except ImportError:
    try:
        from pytorch_lightning import Callback
    except ImportError:
        Callback = object

from .capture import Capture


class CaptureCallback(Callback):
    """Captures one training step of a Lightning trainer, by its number from 0."""

    def __init__(self, path, step=0, reference=True):
        self.path, self.step, self.reference, self.capture = path, step, reference, None

    def on_train_batch_start(self, trainer, module, batch, batch_idx, *rest):
        if trainer.global_step == self.step and self.capture is None:
            optimizer = trainer.optimizers[0] if trainer.optimizers else None
            self.capture = Capture(self.path, module, optimizer, self.reference)
            self.capture.__enter__()
            self.running = True

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx, *rest):
        self._leave(None)

    def on_exception(self, trainer, module, exception):
        self._leave(exception)

    def _leave(self, error):
        if self.capture is not None and self.running:
            self.running = False
            self.capture.__exit__(type(error) if error else None, error, None)
