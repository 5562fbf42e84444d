# SPDX-License-Identifier: MIT
"""
Zeus' names on wattle: only the import line of a script changes.

``from zeus.monitor import ZeusMonitor`` becomes ``from wattle.compat.zeus import ZeusMonitor``. The names are those of
Zeus 0.16, and `ZeusProfilingService` of 2022. What differs, and why, stands in docs/compat-zeus.md.

``python -m wattle.compat.zeus LOGFILE DURATION_S SLEEP_MS [GPU ...]`` takes the place of the old ``zeus_monitor``.
"""

from __future__ import annotations

import itertools
import math
import os
import signal
import sys
import threading
import time
import warnings
import weakref
from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, NamedTuple, Sequence, TextIO

from wattle import Meter, WattleWarning, WindowError, _sync, visible_gpus

from . import _csv

if TYPE_CHECKING:
    import subprocess

    from wattle import Domain, Energy, Window

MAX_WINDOWS = 1024  # Zeus has no limit
RECENT_S = 1.0  # approx_instant_energy takes the mean power over so long
PERIOD_S = 0.1  # of power samples


# ---- The machine by Zeus' indices ----


def _is_measured(domain: Domain) -> bool:
    return domain.method in ("counter", "integrated")


def _gpus(meter: Meter, indices: Iterable[int] | None) -> dict[int, Domain]:
    """The GPUs by their indices in CUDA."""
    boards = [d for d in meter.domains if d.kind == "gpu" and d.in_total]  # none that is part of a processor
    nvidia = [d for d in boards if d.source != "amdgpu"]
    there = {d.name: d for d in nvidia or boards}  # as in Zeus, AMD's only where there is no other
    first = []
    for entry in (visible_gpus() or "").replace(" ", "").lower().split(","):
        name: str | None = f"gpu-{entry}"
        if entry.startswith("gpu-"):
            name = next((gpu.domain for gpu in meter.gpus() if gpu.uuid.lower().startswith(entry)), None)
        if name in there:
            first.append(there.pop(name))
    return _chosen([*first, *there.values()], indices, "GPU")


def _chosen(domains: Sequence[Domain], indices: Iterable[int] | None, what: str) -> dict[int, Domain]:
    there = dict(enumerate(domains))
    wanted = list(there if indices is None else indices)
    missing = [index for index in wanted if index not in there]
    if missing:
        raise ValueError(f"there is no {what} {missing[0]}: there are {len(there)}, counted from 0")
    return {index: there[index] for index in wanted}


def _packages(meter: Meter, indices: Iterable[int] | None) -> dict[int, Domain]:
    """The measured packages. RuntimeError: one that was asked for is not."""
    chosen = _chosen([d for d in meter.domains if d.kind == "cpu"], indices, "CPU package")
    measured = {index: domain for index, domain in chosen.items() if _is_measured(domain)}
    if indices is not None and measured.keys() < chosen.keys():
        raise RuntimeError("; ".join(domain.why() for domain in chosen.values() if not _is_measured(domain)))
    return measured


def _drams(meter: Meter, packages: dict[int, Domain]) -> dict[int, Domain]:
    """The measured DRAM domains, by the package that they belong to: dram-0 to package-0."""
    drams = {d.name.partition("-")[2]: d for d in meter.domains if d.kind == "dram" and _is_measured(d)}
    numbers = {index: package.name.partition("-")[2] for index, package in packages.items()}
    return {index: drams[number] for index, number in numbers.items() if number in drams}


def _figures(window: Window, domains: dict[int, Domain]) -> dict[int, Energy]:
    found = window.domains  # none if nothing was measured, such as after a fork
    return {index: found.get(domain.name, window) for index, domain in domains.items()}


def _joules(window: Window, domains: dict[int, Domain], what: str = "energy_j") -> dict[int, float]:
    """Energies, or "uncertainty_j"; NaN where they are not known."""
    known = {index: getattr(figure, what) for index, figure in _figures(window, domains).items()}
    return {index: math.nan if joules is None else joules for index, joules in known.items()}


def _waiter(framework: str, gpus: dict[int, Domain]) -> Callable[[], object] | None:
    """Waits for the GPUs' work. RuntimeError, as in Zeus: the framework is not installed."""
    try:
        return _sync.function(framework if gpus else None, list(gpus))
    except ImportError as error:
        raise RuntimeError(f"cannot wait for the GPUs: {error}; see sync_execution and sync_execution_with") from error


# ---- Zeus 0.16: windows ----


@dataclass
class Measurement:
    """
    What one window used.

    Attributes
    ----------
    time : float
        Seconds, of a clock that only goes forward.
    gpu_energy : dict
        Joules by GPU index, after ``CUDA_VISIBLE_DEVICES``. NaN where it is not known: `window` has the reason.
    cpu_energy, dram_energy : dict or None
        Joules by package; None if none is measured.
    soc_energy : None
        Always: what the machine measures beside CPUs, DRAM and GPUs is in `window`.
    gpu_uncertainty, cpu_uncertainty, dram_uncertainty : dict
        Joules, k = 2, for the same keys.
    window : wattle.Window or None
        The measurement as wattle tells it; None for a cancelled window.
    """

    time: float
    gpu_energy: dict[int, float]
    cpu_energy: dict[int, float] | None = None
    dram_energy: dict[int, float] | None = None
    soc_energy: None = None

    def __post_init__(self) -> None:  # these are no fields: asdict() gives those of Zeus
        self.window: Window | None = None
        self.gpu_uncertainty: dict[int, float] = {}
        self.cpu_uncertainty: dict[int, float] = {}
        self.dram_uncertainty: dict[int, float] = {}

    @property
    def total_energy(self) -> float:
        """Joules of the GPUs, without CPUs and DRAM, as in Zeus."""
        return sum(self.gpu_energy.values())


class ZeusMonitor:
    """
    Measures windows of a program.

    Parameters
    ----------
    gpu_indices, cpu_indices : iterable of int, optional
        GPUs after ``CUDA_VISIBLE_DEVICES``; packages as the machine counts them. None: all; empty: none.
    approx_instant_energy : bool
        A window in which a GPU's counter cannot move gets the GPU's recent mean power times its duration.
    log_file : path, optional
        A CSV file with a line a window.
    sync_execution_with : {"torch", "jax", "cupy"}
        What is waited for at both edges of a window.
    **options
        For `wattle.Meter`.

    Raises
    ------
    ValueError
        There is no such GPU or package.
    RuntimeError
        A package that was asked for is not measured; the text says why.
    """

    def __init__(
        self,
        gpu_indices: Iterable[int] | None = None,
        cpu_indices: Iterable[int] | None = None,
        approx_instant_energy: bool = False,
        log_file: str | os.PathLike[str] | None = None,
        sync_execution_with: str = "torch",
        **options: Any,
    ) -> None:
        self._meter = Meter(**{"attribution": False, "max_windows": MAX_WINDOWS, **options})
        self._gpus, self._cpus = _gpus(self._meter, gpu_indices), _packages(self._meter, cpu_indices)
        self._drams = _drams(self._meter, self._cpus)
        self.gpu_indices, self.cpu_indices = list(self._gpus), list(self._cpus)
        if gpu_indices is None and not self._gpus:
            warnings.warn("there is no GPU, and total_energy is the GPUs': it will be 0", WattleWarning, stacklevel=2)
        self.approx_instant_energy, self.sync_with = approx_instant_energy, sync_execution_with
        self._open: dict[str, str] = {}  # key: the meter's name for it
        self._numbers = itertools.count(1)
        if approx_instant_energy:
            self._recent = self._meter.sampler([domain.name for domain in self._gpus.values()])
            self._recent_w: dict[str, float] = {}
            self._recent_s = time.monotonic()
        self.log_file: TextIO | None = None
        if log_file is not None:
            os.makedirs(os.path.dirname(os.path.abspath(log_file)), exist_ok=True)
            self.log_file = open(log_file, "w", newline="", encoding="utf-8")
            self._log(["start_time", "window_name", "elapsed_time", *(f"gpu{i}_energy" for i in self._gpus)])

    def __repr__(self) -> str:
        return f"<wattle.compat.zeus.ZeusMonitor: GPUs {self.gpu_indices}, CPUs {self.cpu_indices}>"

    def begin_window(self, key: str, sync_execution: bool = True, restart: bool = False) -> None:
        """Begins a window. With ``restart``, an open one of that name is forgotten; else that is a ValueError."""
        if self._is_open(key):
            if not restart:
                raise WindowError(f"Measurement window '{key}' already exists; open are {self._keys()}")
            self._meter.cancel(self._open.pop(key))
        self._open[key] = name = f"zeus {next(self._numbers)}"  # a key may be anything that can be hashed
        self._meter.begin(name, sync=self._wait(sync_execution))

    def end_window(self, key: str, sync_execution: bool = True, cancel: bool = False) -> Measurement:
        """Ends a window. With ``cancel``, all is 0 and nothing goes to the log file. ValueError: it is not open."""
        if not self._is_open(key):
            raise WindowError(f"Measurement window '{key}' does not exist; open are {self._keys()}")
        wait = self._wait(sync_execution)
        window = self._meter.end(self._open.pop(key), sync=wait)
        window.name = str(key)
        if cancel:
            return Measurement(0.0, dict.fromkeys(self._gpus, 0.0), dict.fromkeys(self._cpus, 0.0))
        took_s = math.nan if window.duration_s is None else window.duration_s
        gpus, gpus_pm = (_joules(window, self._gpus, what) for what in ("energy_j", "uncertainty_j"))
        if self.approx_instant_energy:
            for index, (joules, pm) in self._approximate(window).items():
                gpus[index], gpus_pm[index] = joules, pm
        self._warn(window, gpus)
        self._log([window.begin_utc_s, _csv.text(str(key)), took_s, *gpus.values()])
        found = Measurement(took_s, gpus, _joules(window, self._cpus) or None, _joules(window, self._drams) or None)
        found.window, found.gpu_uncertainty = window, gpus_pm
        for kind, domains in (("cpu", self._cpus), ("dram", self._drams)):
            setattr(found, f"{kind}_uncertainty", _joules(window, domains, "uncertainty_j"))
        return found

    def reset_windows(self) -> None:
        """Forgets all open windows."""
        for name in filter(self._meter.open_windows.__contains__, self._open.values()):
            self._meter.cancel(name)
        self._open.clear()

    def _is_open(self, key: str) -> bool:
        return self._open.get(key) in self._meter.open_windows  # not after a fork

    def _keys(self) -> str:
        return ", ".join(repr(key) for key in self._open if self._is_open(key)) or "none"

    def _wait(self, wanted: bool) -> Callable[[], object] | None:
        return _waiter(self.sync_with, self._gpus) if wanted else None

    def _log(self, row: Sequence[object]) -> None:
        if self.log_file is not None:
            import csv

            csv.writer(self.log_file, lineterminator="\n").writerow(row)
            self.log_file.flush()

    def _approximate(self, window: Window) -> dict[int, tuple[float, float]]:
        """
        Joules of the GPUs whose counters take longer to move than the window is long, and their ± (k = 2): the energy of one
        update, as the mean power may be that far off.
        """
        found = {}
        for index, figure in _figures(window, self._gpus).items():
            domain = self._gpus[index]
            if figure.energy_uj is None:  # the GPU is lost: it has no power either
                continue
            if window.duration_s and (figure.energy_uj == 0 or window.duration_s < (domain.update_s or 0)):
                if domain.name not in self._recent_w or time.monotonic() - self._recent_s > RECENT_S:
                    self._recent_w = {name: w for name, w in self._recent.read().power_w.items() if w}
                    self._recent_s = time.monotonic()
                if domain.name in self._recent_w:
                    watts = self._recent_w[domain.name]
                    pm_s = max(domain.update_s or 0, window.duration_s)
                    found[index] = watts * window.duration_s, watts * pm_s
        return found

    def _warn(self, window: Window, gpus: dict[int, float]) -> None:
        for index, figure in _figures(window, self._gpus).items():
            if figure.energy_j is None:
                why = f"is not known: {self._gpus[index].reason or f'its sensor is {figure.status}'}"
            elif figure.gap_s > 0:
                why = f"is not known of {figure.gap_s:.3g} s of the window"
            elif gpus[index] == 0:
                why = f"is 0 ± {figure.uncertainty_j:.2g} J: its counter did not move; see approx_instant_energy"
            else:
                continue
            warnings.warn(f"the energy of GPU {index} {why}", WattleWarning, stacklevel=3)


# ---- Zeus 0.16: power over time ----


class PowerDomain(Enum):
    """What Zeus tells apart. Here the first two are the same: the mean over each period."""

    DEVICE_INSTANT = "device_instant"
    DEVICE_AVERAGE = "device_average"
    MEMORY_AVERAGE = "memory_average"


class _Stretch(NamedTuple):
    """Between two samples of one domain; times are UTC."""

    begin_s: float
    end_s: float
    joules: float

    @property
    def duration_s(self) -> float:
        return self.end_s - self.begin_s


class PowerMonitor:
    """
    Power over time, from a thread that takes a sample every ``update_period`` seconds.

    Parameters
    ----------
    gpu_indices : iterable of int, optional
        After ``CUDA_VISIBLE_DEVICES``. None: all.
    update_period : float, optional
        Seconds; 0.1 if None, 0.01 at least. A period in which a counter did not move is one with the next.
    max_samples_per_gpu : int, optional
        So many of the newest are kept. None: all.
    power_domains : iterable of PowerDomain or str, optional
        None: all that the GPUs have.
    **options
        For `wattle.Meter`.

    Raises
    ------
    ValueError
        There is no such GPU or power domain, or the period is negative.
    """

    def __init__(
        self,
        gpu_indices: Sequence[int] | None = None,
        update_period: float | None = None,
        max_samples_per_gpu: int | None = None,
        power_domains: Sequence[PowerDomain | str] | None = None,
        **options: Any,
    ) -> None:
        for what, given in (("gpu_indices", gpu_indices), ("power_domains", power_domains)):
            if given is not None and not given:
                raise ValueError(f"`{what}` must be either `None` or non-empty")
        if update_period is not None and not 0 <= update_period <= threading.TIMEOUT_MAX:
            raise ValueError(f"update_period cannot be {update_period} s")
        self._meter = Meter(**{"attribution": False, **options})
        gpus = {index: domain.name for index, domain in _gpus(self._meter, gpu_indices).items()}
        if not gpus:
            raise ValueError("; ".join(("there is no GPU", *self._meter.reasons)))
        memories = {d.inside: d.name for d in self._meter.domains if d.kind == "gpu-memory" and _is_measured(d)}
        there = {PowerDomain.DEVICE_INSTANT: gpus, PowerDomain.DEVICE_AVERAGE: gpus}
        if memories.keys() >= set(gpus.values()):
            there[PowerDomain.MEMORY_AVERAGE] = {index: memories[name] for index, name in gpus.items()}
        self.gpu_indices = list(gpus)
        self.update_period = PERIOD_S if update_period is None else max(update_period, 0.01)
        self.measurement_domains = [PowerDomain(domain) for domain in power_domains or there]
        for domain in self.measurement_domains:
            if domain not in there:
                raise ValueError(f"the GPUs have no {domain.value}, but {', '.join(d.value for d in there)}")
        self._names = {domain: there[domain] for domain in self.measurement_domains}
        used = {name for names in self._names.values() for name in names.values()}
        self._stretches: dict[str, deque[_Stretch]] = {name: deque(maxlen=max_samples_per_gpu) for name in used}
        self._dropped_s = dict.fromkeys(used, -math.inf)  # until when they had to make way
        self._sampler = self._meter.sampler(used)
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self._finalizer = weakref.finalize(self, self._stopped.set)
        _MONITORS.add(self)
        arguments = weakref.ref(self), self._stopped, self.update_period
        threading.Thread(target=_poll, args=arguments, name="wattle.compat.zeus", daemon=True).start()

    def __repr__(self) -> str:
        return f"<wattle.compat.zeus.PowerMonitor: GPUs {self.gpu_indices}, every {self.update_period:g} s>"

    def stop(self) -> None:
        """Takes no more samples; those that there are stay."""
        self._take()
        self._stopped.set()

    def get_power_timeline(
        self,
        power_domain: PowerDomain | str,
        gpu_index: int | None = None,
        start_time: float | None = None,
        end_time: float | None = None,
    ) -> dict[int, list[tuple[float, float]]]:
        """Times (the middle of each period, s since 1970) and watts by GPU, between two times."""
        begin_s = -math.inf if start_time is None else start_time
        end_s = math.inf if end_time is None else end_time
        return {
            index: [point for point in self._points(name) if begin_s <= point[0] <= end_s]
            for index, name in self._monitored(power_domain).items()
            if gpu_index in (None, index)
        }

    def get_all_power_timelines(
        self, gpu_index: int | None = None, start_time: float | None = None, end_time: float | None = None
    ) -> dict[str, dict[int, list[tuple[float, float]]]]:
        """`get_power_timeline` of each domain, by the domain's name."""
        return {d.value: self.get_power_timeline(d, gpu_index, start_time, end_time) for d in self.measurement_domains}

    def get_energy(self, start_time: float, end_time: float) -> dict[int, float] | None:
        """Joules by GPU between two times (s since 1970); NaN where nothing was measured, or not all of it is kept."""
        boards = [d for d in self.measurement_domains if d is not PowerDomain.MEMORY_AVERAGE]
        names = self._monitored(boards[0] if boards else PowerDomain.DEVICE_INSTANT)
        self._take()
        return {index: self._energy(name, start_time, end_time) for index, name in names.items()}

    def get_power(self, time: float | None = None) -> dict[int, float] | None:
        """Watts by GPU at a time (s since 1970), or now; None before the first sample."""
        lines = {i: self._points(name) for i, name in self._monitored(PowerDomain.DEVICE_INSTANT).items()}
        if not all(lines.values()):
            return None
        if time is None:
            return {i: line[-1][1] for i, line in lines.items()}
        at_s = time
        return {i: min(line, key=lambda point: abs(point[0] - at_s))[1] for i, line in lines.items()}

    def _monitored(self, domain: PowerDomain | str) -> dict[int, str]:
        domain = PowerDomain(domain)
        if domain not in self._names:
            there = ", ".join(d.value for d in self.measurement_domains)
            raise ValueError(f"Power domain {domain.value} is not being monitored, but {there}")
        return self._names[domain]

    def _take(self) -> None:
        with self._lock:
            if self._stopped.is_set():
                return
            sample = self._sampler.read()
            for name, stretches in self._stretches.items():
                joules, begin_s = sample.energy_j[name], sample.t_utc_s - sample.duration_s
                if joules is None:
                    continue
                if stretches and not self._is_whole(stretches[-1]):
                    begin_s, joules = stretches[-1].begin_s, joules + stretches.pop().joules
                if stretches and len(stretches) == stretches.maxlen:
                    self._dropped_s[name] = stretches[0].end_s
                stretches.append(_Stretch(begin_s, sample.t_utc_s, joules))

    def _forget_parent(self) -> None:
        """In a forked child, which has no thread for it, and where what that thread held is locked for ever."""
        self._finalizer.detach()
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self._stopped.set()

    def _copy(self, name: str) -> list[_Stretch]:
        with self._lock:
            return list(self._stretches[name])

    def _is_whole(self, stretch: _Stretch) -> bool:
        """Neither did its counter stay, nor was it cut short for `get_energy`."""
        return stretch.joules > 0 and stretch.duration_s >= self.update_period / 2

    def _points(self, name: str) -> list[tuple[float, float]]:
        whole = filter(self._is_whole, self._copy(name))
        return [((s.begin_s + s.end_s) / 2, s.joules / s.duration_s) for s in whole]

    def _energy(self, name: str, begin_s: float, end_s: float) -> float:
        """Of a stretch that is only partly within, the same part of its energy."""
        if begin_s < self._dropped_s[name]:
            return math.nan
        parts = [
            s.joules * (min(s.end_s, end_s) - max(s.begin_s, begin_s)) / s.duration_s
            for s in self._copy(name)
            if s.begin_s < end_s and s.end_s > begin_s
        ]
        return math.fsum(parts) if parts else math.nan


_MONITORS: weakref.WeakSet[PowerMonitor] = weakref.WeakSet()


def _after_fork() -> None:
    for monitor in list(_MONITORS):
        monitor._forget_parent()


os.register_at_fork(after_in_child=_after_fork)


def _poll(monitor: weakref.ref[PowerMonitor], stopped: threading.Event, period_s: float) -> None:
    while not stopped.wait(period_s):
        alive = monitor()
        if alive is None:
            return
        alive._take()
        del alive


# ---- Zeus of 2022 ----


@dataclass
class ProfilingResult:
    """
    What one window used; also a pair, for ``time, energy = service.pop_window()``.

    Attributes
    ----------
    time : float
        Seconds.
    energy, uncertainty : list of float
        Joules of each GPU, and their uncertainties (k = 2); NaN where they are not known.
    window : wattle.Window
        The measurement as wattle tells it.
    """

    time: float
    energy: list[float]

    def __post_init__(self) -> None:  # these are no fields, as in Measurement
        self.uncertainty: list[float] = []
        self.window: Window | None = None

    def __iter__(self) -> Iterator[Any]:
        return iter((self.time, self.energy))


class ZeusProfilingService:
    """
    Windows on a stack, and a log of the power.

    Parameters
    ----------
    gpu_indices : iterable of int, optional
        After ``CUDA_VISIBLE_DEVICES``. None: all.
    monitor_path : str
        Not needed any more.
    monitor_log_dir, monitor_log_prefix : str
        With either of them, a process writes the power of each GPU every 100 ms to ``DIR/PREFIX+gpuN.power.csv``, and
        ends with this one. Without a directory it is a new one for temporary files: see `monitor_log_dir`.

    Raises
    ------
    ValueError
        There is no such GPU.
    """

    def __init__(
        self,
        gpu_indices: Iterable[int] | None = None,
        monitor_path: str = "zeus_monitor",
        monitor_log_dir: str = "",
        monitor_log_prefix: str = "",
    ) -> None:
        self._meter = Meter(attribution=False, max_windows=MAX_WINDOWS)
        self._gpus = _gpus(self._meter, gpu_indices)
        self.gpu_indices = list(self._gpus)
        self._stack: list[str] = []
        self.monitor_log_dir, self.monitor_log_prefix = monitor_log_dir, monitor_log_prefix
        if self._gpus and (monitor_log_dir or monitor_log_prefix):
            self._start_monitor()

    def _start_monitor(self) -> None:
        import subprocess
        import tempfile

        self.monitor_log_dir = self.monitor_log_dir or tempfile.mkdtemp(prefix="zeus-")
        os.makedirs(self.monitor_log_dir, exist_ok=True)
        log = os.path.join(self.monitor_log_dir, f"{self.monitor_log_prefix}+gpu{INDEX}.power.csv")
        arguments = [log, "0", "100", *map(str, self._gpus), "--parent", str(os.getpid())]
        # In a session of its own: Ctrl-C is for the training, which may go on after it.
        monitor = subprocess.Popen(
            [sys.executable, "-m", __name__, *arguments], stdin=subprocess.DEVNULL, start_new_session=True
        )
        weakref.finalize(self, _end, monitor, os.getpid())

    def push_window(self) -> None:
        """Begins a window, when the GPUs have done what was queued."""
        name = f"zeus {len(self._stack)}"
        self._meter.begin(name, sync=_waiter("torch", self._gpus))
        self._stack.append(name)

    def pop_window(self) -> ProfilingResult:
        """Ends the newest window, when the GPUs have done what was queued. RuntimeError: there is none."""
        if not self._stack:
            raise RuntimeError("No profiling window active. Consider calling `push_window` first.")
        window = self._meter.end(self._stack.pop(), sync=_waiter("torch", self._gpus))
        took_s = math.nan if window.duration_s is None else window.duration_s
        found = ProfilingResult(took_s, [*_joules(window, self._gpus).values()])
        found.uncertainty, found.window = [*_joules(window, self._gpus, "uncertainty_j").values()], window
        return found


def _end(monitor: subprocess.Popen[bytes], owner: int) -> None:
    if os.getpid() == owner:  # not in a fork of it
        monitor.terminate()
        monitor.wait()


INDEX = "{gpu}"  # in the name of a log file


def _stamp(t_utc_s: float) -> str:
    whole_s, ns = divmod(round(t_utc_s * 1e9), 1_000_000_000)
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(whole_s))}.{ns:09d}"


def main(argv: Sequence[str] | None = None) -> None:
    """Writes the power of GPUs to a file until it is interrupted or its parent ends."""
    import argparse

    parser = argparse.ArgumentParser("python -m wattle.compat.zeus", description=main.__doc__)
    parser.add_argument("logfile", help=f"CSV; {INDEX} in its name becomes the GPU's index")
    parser.add_argument("duration_s", type=float, nargs="?", default=0, help="0: for ever")
    parser.add_argument("sleep_ms", type=float, nargs="?", default=100, help="between two lines; at least 10")
    parser.add_argument("gpu", type=int, nargs="*", default=[0], help="its index, after CUDA_VISIBLE_DEVICES")
    parser.add_argument("--parent", type=int, default=os.getppid(), help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    logs: dict[int, TextIO] = {}
    written_s = dict.fromkeys(given.gpu, 0.0)
    with warnings.catch_warnings(record=True) as said:
        try:
            monitor = PowerMonitor(given.gpu, given.sleep_ms / 1000, 100, [PowerDomain.DEVICE_INSTANT])
            for index in given.gpu:
                logs[index] = open(given.logfile.replace(INDEX, str(index)), "w", buffering=1, encoding="ascii")
                logs[index].write("Time,Power\n")
        except (ValueError, OSError) as error:
            parser.exit(1, f"{parser.prog}: {'; '.join(map(str, (error, *(one.message for one in said))))}\n")
    sys.stderr.writelines(f"{one.message}\n" for one in said)
    end_s = time.monotonic() + (given.duration_s or math.inf)
    try:
        while os.getppid() == given.parent and time.monotonic() < end_s:
            time.sleep(monitor.update_period)
            for index, line in monitor.get_power_timeline(PowerDomain.DEVICE_INSTANT).items():
                for t_utc_s, watts in line:
                    if t_utc_s > written_s[index]:
                        logs[index].write(f"{_stamp(t_utc_s)},{round(watts * 1000)}\n")
                        written_s[index] = t_utc_s
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
