# SPDX-License-Identifier: MIT
"""Energy in PyTorch Lightning's logs."""

from __future__ import annotations

import importlib
import sys

from ._epochs import Epochs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..meter import Meter

try:
    _lightning: Any = importlib.import_module("pytorch_lightning" if "pytorch_lightning" in sys.modules else "lightning.pytorch")
except ImportError:
    _lightning = importlib.import_module("pytorch_lightning")


class EnergyCallback(_lightning.Callback):  # type: ignore[misc]
    """
    Logs ``energy/epoch_j`` and ``energy/total_j`` with their uncertainties, ``energy/gco2e``, and the prediction
    ``energy/predicted_j``, ``…_gco2e`` and ``…_s``, at each epoch's end; ``energy/steps_j`` of each range of steps.

    Parameters
    ----------
    meter : Meter or None
        None: one of its own, which waits for torch's devices. See `Epochs`.
    every_n_steps : int or None
        Length of the ranges of batches; 0: none; None: the trainer's ``log_every_n_steps``.

    Attributes
    ----------
    energy : Epochs
        The same as objects: ``energy.total``, ``energy.prediction``, ``energy.epochs``, ``energy.reasons``.

    Notes
    -----
    Of several processes of a node, local rank 0 measures the node. Several nodes log the first one's.
    """

    def __init__(self, meter: Meter | None = None, *, every_n_steps: int | None = None) -> None:
        self.energy = Epochs(meter, sync="torch")
        self._every, self._batches = every_n_steps, 0

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        if self._every is None:
            self._every = trainer.log_every_n_steps
        self._batches = 0
        self.energy.start(trainer.local_rank)

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        self.energy.begin_epoch()
        if self._every and not self._batches:
            self.energy.end_steps()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        self._batches += 1
        if self._every and self._batches % self._every == 0:
            logs = self.energy.end_steps()
            for logger in trainer.loggers if logs else ():
                logger.log_metrics(logs, step=trainer.global_step)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        done = trainer.current_epoch + 1
        remaining = [trainer.max_epochs - done] if (trainer.max_epochs or -1) >= 0 else []
        if trainer.max_steps > 0 and trainer.global_step > 0:
            remaining.append((trainer.max_steps - trainer.global_step) * done / trainer.global_step)
        logs = self.energy.end_epoch(max(0.0, min(remaining)) if remaining else None)
        pl_module.log_dict(logs, on_step=False, on_epoch=True, rank_zero_only=True, batch_size=1)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self.energy.stop()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self.energy.stop()

    def state_dict(self) -> dict[str, Any]:
        return self.energy.state()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.energy.restore(state_dict)
