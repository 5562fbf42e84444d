# SPDX-License-Identifier: MIT
"""Energy in the logs of Keras 3."""

from __future__ import annotations

import importlib
import json
import os
import warnings

from .._lib import WattleWarning
from ._epochs import Epochs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..meter import Meter

_keras: Any = importlib.import_module("keras")


class EnergyCallback(_keras.callbacks.Callback):  # type: ignore[misc]
    """
    Adds ``energy/epoch_j`` and ``energy/total_j`` with their uncertainties, ``energy/gco2e``, and the prediction
    ``energy/predicted_j``, ``…_gco2e`` and ``…_s``, to each epoch's logs, so that ``History`` and the loggers after it have them.

    Parameters
    ----------
    meter : Meter or None
        None: one of its own, which waits for the devices of torch or JAX. See `Epochs`.
    every_n_steps : int
        Adds ``energy/steps_j`` to the logs of every so manieth batch; 0: never.
    backup : str, os.PathLike or None
        A file that keeps the energy so far, for use beside ``BackupAndRestore``: written at each epoch's end, read when a
        training starts, and deleted when one ends.

    Attributes
    ----------
    energy : Epochs
        The same as objects: ``energy.total``, ``energy.prediction``, ``energy.epochs``, ``energy.reasons``.

    Notes
    -----
    Keras does not say when an exception ends the training: ``with callback.energy: model.fit(…)`` ends the windows then; else the
    next training does.
    """

    def __init__(
        self, meter: Meter | None = None, *, every_n_steps: int = 0, backup: str | os.PathLike[str] | None = None
    ) -> None:
        super().__init__()
        framework = _keras.backend.backend()
        self.energy = Epochs(meter, sync=framework if framework in ("torch", "jax") else None)
        self._every, self._batches, self._backup = every_n_steps, 0, backup

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._batches = 0
        self.energy.start()
        if self._backup is not None and os.path.exists(self._backup):
            with open(self._backup) as file:
                self.energy.restore(json.load(file))
        if self._every:
            self.energy.end_steps()

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self.energy.begin_epoch()

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._batches += 1
        if self._every and self._batches % self._every == 0:
            added = self.energy.end_steps()
            if logs is not None:
                logs.update(added)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        added = self.energy.end_epoch((self.params.get("epochs") or epoch + 1) - epoch - 1)
        if logs is not None:
            logs.update(added)
        if self._backup is not None and self.energy.meter is not None:
            try:
                with open(f"{os.fspath(self._backup)}.new", "w") as file:
                    json.dump(self.energy.state(), file)
                os.replace(file.name, self._backup)
            except OSError as error:
                warnings.warn(f"wattle: the energy so far is not kept: {error}", WattleWarning, stacklevel=2)
                self._backup = None

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        if self._backup is not None and self.energy.meter is not None and os.path.exists(self._backup):
            os.remove(self._backup)
        self.energy.stop()
