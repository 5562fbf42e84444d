# SPDX-License-Identifier: MIT
"""Energy in the logs of Hugging Face's Trainer (transformers 4.41 or newer)."""

from __future__ import annotations

import importlib

from ._epochs import Epochs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..meter import Meter

_trainer: Any = importlib.import_module("transformers.trainer_callback")


class EnergyCallback(_trainer.TrainerCallback, _trainer.ExportableState):  # type: ignore[misc]
    """
    Adds to each entry of ``state.log_history`` what the steps since the last one took (``energy/steps_j``), the total and its
    CO2e (``energy/total_j``, ``energy/gco2e``), after an epoch ``energy/epoch_j``, and the prediction (``energy/predicted_j``,
    ``…_gco2e``, ``…_s``), each with its uncertainty.

    Parameters
    ----------
    meter : Meter or None
        None: one of its own, which waits for torch's devices. See `Epochs`.

    Attributes
    ----------
    energy : Epochs
        The same as objects: ``energy.total``, ``energy.prediction``, ``energy.epochs``, ``energy.reasons``.

    Notes
    -----
    The Trainer's callbacks for TensorBoard and others run before yours; put this one first for them to log it:
    ``trainer.callback_handler.callbacks.insert(0, callback)``.

    The Trainer does not say when an exception ends the training: ``with callback.energy: trainer.train()`` ends the windows
    then; else the next training does. Checkpoints keep the energy so far in ``trainer_state.json``, and a resumed training
    goes on from there. Of several processes of a node, local rank 0 measures the node.
    """

    def __init__(self, meter: Meter | None = None) -> None:
        self.energy = Epochs(meter, sync="torch")
        self._pending: dict[str, float] = {}

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._pending = {}
        self.energy.start(args.local_process_index)
        kept = state.stateful_callbacks.get(type(self).__name__) if state.global_step else None
        if kept:
            self.energy.restore((kept[0] if isinstance(kept, list) else kept)["attributes"]["saved"])
        self.energy.end_steps()

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.energy.begin_epoch()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._save(state, control)

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        remaining = (state.max_steps - state.global_step) * state.epoch / state.global_step if state.global_step else None
        self._pending = self.energy.end_epoch(remaining)
        self._save(state, control)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        added = {**self._pending, **self.energy.end_steps(), **self.energy.totals()}
        self._pending = {}
        for entry in (logs, state.log_history[-1] if state.log_history else None):
            if entry is not None:
                entry.update(added)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.energy.stop()

    def _save(self, state: Any, control: Any) -> None:
        if control.should_save or control.should_training_stop:
            state.stateful_callbacks[type(self).__name__] = self.state()

    @property
    def saved(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return self.energy.state()

    @saved.setter
    def saved(self, state: dict[str, Any]) -> None:
        self.energy.restore(state)

    def state(self) -> dict[str, Any]:
        return {"args": {}, "attributes": {"saved": self.saved}}
