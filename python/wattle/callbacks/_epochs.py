# SPDX-License-Identifier: MIT
"""The energy of a training's epochs and step ranges, and what the whole of it will take; knows no framework."""

from __future__ import annotations

import math

from .._lib import mean_of
from ..figures import plus_minus
from ..meter import Meter, local_rank

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping

    from .._sync import Sync
    from ..figures import Carbon, Window
    from ..meter import _Block


class Spent:
    """
    What a training took so far, or will have taken.

    Attributes
    ----------
    energy_j, gco2e : float
        Joules; grams of CO2 equivalent.
    uncertainty_j, gco2e_uncertainty, duration_uncertainty_s : float or None
        About 95 of 100 true values lie within ± this. None: not known yet.
    duration_s : float
    energy_uj : int
    """

    def __init__(
        self, carbon: Carbon, energy_uj: int, uncertainty_uj: int | None, duration_s: float, duration_uncertainty_s: float | None
    ) -> None:
        self.energy_uj, self.energy_j = energy_uj, energy_uj / 1e6
        self.uncertainty_j = None if uncertainty_uj is None else uncertainty_uj / 1e6
        self.duration_s, self.duration_uncertainty_s = duration_s, duration_uncertainty_s
        self.gco2e = carbon.g(energy_uj)
        self.gco2e_uncertainty = None if uncertainty_uj is None else carbon.uncertainty_g(energy_uj, uncertainty_uj)

    def __repr__(self) -> str:
        energy = plus_minus(self.energy_j, self.uncertainty_j, "J")
        gco2e = plus_minus(self.gco2e, self.gco2e_uncertainty, "g CO2e")
        return f"<wattle.callbacks.Spent {energy}, {gco2e}, {plus_minus(self.duration_s, self.duration_uncertainty_s, 's')}>"


class Epochs:
    """
    Windows over a training, its epochs and its step ranges, on one process of each node.

    Parameters
    ----------
    meter : Meter or None
        None: one is opened when the training starts, and closed when it stops. Give one for its options, such as
        ``location``, or ``gpus`` where each process sees only its own.
    sync : {"torch", "jax", "cupy"}, callable or None
        For the meter that is opened here.
    prefix : str
        Of the names in the logs, before a slash.

    Attributes
    ----------
    epochs : list of Window
        Of this process, each ended epoch.
    reasons : tuple of str
        Why there is no figure.

    Notes
    -----
    What is not known is missing in the logs; it is never 0. ``total_j`` is the training's from its start, evaluation and
    checkpoints included, and goes on where a checkpoint's `state` was restored. The same sensors err alike, so that the
    uncertainties of the parts of a training that was resumed are added.

    `prediction` is that total and the mean of an epoch (to the end of the next one, so that what lies between them counts)
    for each that remains. The first epoch of a process warms up (compilation, caches, data loaders): it stands for the
    others until there is a second one, and is then left out. The interval is Student's for the sum of what remains,
    combined with the sensors' uncertainty; it is there as soon as two epochs count.
    """

    def __init__(self, meter: Meter | None = None, *, sync: Sync = None, prefix: str = "energy") -> None:
        self.meter: Meter | None = None
        self.epochs: list[Window] = []
        self.reasons: tuple[str, ...] = ("the training has not started",)
        self._given, self._sync, self._prefix = meter, sync, prefix
        self._blocks: dict[str, tuple[_Block, Window]] = {}
        self._carbon: Carbon | None = None
        self._earlier_uj = self._earlier_uncertainty_uj = 0
        self._earlier_s = 0.0
        self._has_energy = False
        self._training: Window | None = None
        self._edge_uj, self._edge_s = 0, 0.0
        self._warm_up: list[float] = []  # energy in uj and seconds of the newest warm-up
        self._counted_uj: list[float] = []
        self._counted_s: list[float] = []
        self._remaining: float | None = None

    # ---- The training's course ----

    def start(self, rank: int | None = None) -> None:
        """Begins the training. ``rank``: this process's number on its node (None: `local_rank`); only 0 measures."""
        self.stop()
        self._keep()
        rank = local_rank() if rank is None else rank
        if rank != 0:
            self.reasons = (f"process 0 of this node measures it; this is process {rank}",)
            return
        self.meter = self._given if self._given is not None else Meter(sync=self._sync)
        self.reasons, self._carbon = self.meter.reasons, self.meter.carbon
        self._edge_uj, self._edge_s = 0, 0.0
        self._is_warm = False
        self._training = self._begin("training")

    def begin_epoch(self) -> None:
        """Begins an epoch; one that is open is forgotten."""
        self._end("epoch")
        self._begin("epoch")

    def end_epoch(self, remaining: float | None = None) -> dict[str, float]:
        """
        Ends the epoch, and gives the logs of it.

        Parameters
        ----------
        remaining : float or None
            How many epochs are still to come; None: not known, so that there is no prediction.
        """
        window = self._end("epoch")
        if window is None:
            return {}
        self.epochs.append(window)
        self._remaining = remaining
        self._count()
        return {**self._named("epoch", window), **self.totals()}

    def end_steps(self) -> dict[str, float]:
        """Ends the range of steps since the last call (or the start), begins the next, and gives the logs of it."""
        window = self._end("steps")
        if self.meter is not None:
            self._begin("steps", exact=False)
        return self._named("steps", window) if window is not None else {}

    def stop(self) -> None:
        """Ends what is open, after the last epoch, an early stop or an exception. The figures stay."""
        for name in tuple(self._blocks):
            self._end(name)
        if self.meter is not None and self._given is None:
            self.meter.close()
        self.meter = None

    def __enter__(self) -> Epochs:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _begin(self, name: str, exact: bool | None = None) -> Window | None:
        if self.meter is None:
            return None
        block = self.meter.window(name, exact=exact)
        self._blocks[name] = (block, block.__enter__())
        return self._blocks[name][1]

    def _end(self, name: str) -> Window | None:
        block, window = self._blocks.pop(name, (None, None))
        if block is not None:
            block.__exit__(None, None, None)
        return window

    # ---- What it took, and will take ----

    def _now(self) -> Window | None:
        return self._training.running() if self._training is not None else None

    def _count(self) -> None:
        now = self._now()
        if now is None or now.energy_uj is None or now.duration_s is None:
            return
        took_uj, took_s = now.energy_uj - self._edge_uj, now.duration_s - self._edge_s
        self._edge_uj, self._edge_s = now.energy_uj, now.duration_s
        if self._is_warm:
            self._counted_uj.append(took_uj)
            self._counted_s.append(took_s)
        else:
            self._warm_up, self._is_warm = [took_uj, took_s], True

    @property
    def total(self) -> Spent | None:
        """What the training took so far; None where that is not known."""
        now, uj, uncertainty_uj, took_s = self._now(), self._earlier_uj, self._earlier_uncertainty_uj, self._earlier_s
        if now is not None and now.energy_uj is not None:
            uj, uncertainty_uj = uj + now.energy_uj, uncertainty_uj + now._raw.uncertainty_uj
            took_s += now.duration_s or 0.0
        elif self._training is not None or not self._has_energy:
            return None
        return Spent(self._carbon, uj, uncertainty_uj, took_s, 0.0) if self._carbon is not None else None

    @property
    def prediction(self) -> Spent | None:
        """What the whole training will have taken; None before the first epoch has ended. See the notes above."""
        return self._predict(self.total)

    def _predict(self, total: Spent | None) -> Spent | None:
        n, k = self._remaining, len(self._counted_uj)
        if total is None or self._carbon is None or n is None or not self._warm_up:
            return None
        energy, took = mean_of(self._counted_uj or self._warm_up[:1]), mean_of(self._counted_s or self._warm_up[1:])
        whole_uj, whole_s = total.energy_uj + n * energy.mean, total.duration_s + n * took.mean
        if n > 0 and k < 2:
            return Spent(self._carbon, round(whole_uj), None, whole_s, None)
        wider = math.sqrt(n * n + n * k)  # of the sum of n new values, for the half-width of the mean of k
        sensors = (total.uncertainty_j or 0.0) / total.energy_j * whole_uj if total.energy_j else 0.0
        return Spent(self._carbon, round(whole_uj), round(math.hypot(wider * energy.ci95, sensors)), whole_s, wider * took.ci95)

    def _named(self, name: str, window: Window) -> dict[str, float]:
        logs = {"j": window.energy_j, "uncertainty_j": window.uncertainty_j, "own_j": window.own_j}
        return {f"{self._prefix}/{name}_{key}": value for key, value in logs.items() if value is not None}

    def totals(self) -> dict[str, float]:
        """The logs of the training so far and of its prediction."""
        logs: dict[str, float | None] = {}
        total = self.total
        whole = self._predict(total)
        if total is not None:
            logs.update(total_j=total.energy_j, total_uncertainty_j=total.uncertainty_j)
            logs.update(gco2e=total.gco2e, gco2e_uncertainty=total.gco2e_uncertainty)
        if whole is not None:
            logs.update(predicted_j=whole.energy_j, predicted_uncertainty_j=whole.uncertainty_j)
            logs.update(predicted_gco2e=whole.gco2e, predicted_s=whole.duration_s)
        return {f"{self._prefix}/{key}": value for key, value in logs.items() if value is not None}

    # ---- Checkpoints ----

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps, as JSON can; {} where nothing is known."""
        total = self.total
        if total is None:
            return {}
        return {
            "energy_uj": total.energy_uj,
            "uncertainty_uj": round((total.uncertainty_j or 0.0) * 1e6),
            "duration_s": total.duration_s,
            "epochs_uj": list(self._counted_uj),
            "epochs_s": list(self._counted_s),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes on from a checkpoint's `state`: before `start`, or right after it."""
        if self.meter is None:
            self._training = None
        self._has_energy = bool(state)
        self._earlier_uj, self._earlier_uncertainty_uj = state.get("energy_uj", 0), state.get("uncertainty_uj", 0)
        self._earlier_s = state.get("duration_s", 0.0)
        self._counted_uj, self._counted_s = list(state.get("epochs_uj", ())), list(state.get("epochs_s", ()))

    def _keep(self) -> None:
        """A training that starts goes on from what was restored, and not from the training before it."""
        if self._training is not None:
            self.restore({})
        self._training, self.epochs, self._warm_up, self._remaining = None, [], [], None
