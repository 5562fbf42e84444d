# SPDX-License-Identifier: MIT
"""Records the energy of a program into a folder, and says what it was."""

from __future__ import annotations

import atexit
import itertools
import math
import os
import queue
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

import wattle

from .parsers import RENAMED, JsonParser, Series

STOP_MESSAGE = "Stop"

_Mine = tuple[str, wattle.Consumer]  # whoever is recorded, and the pid that it stands under
Points = list[dict[str, Any]]  # "date" (Unix, s), "value", "duration" (s, or None)
Curve = list[Points]  # one a segment


# ---- Recording ----


def _meminfo(path: str) -> dict[str, int]:
    """The numbers of such a file, in bytes; nothing if it cannot be read."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            fields = (line.split() for line in file)
            return {words[0]: int(words[1]) * 1024 for words in fields if words[-1] == "kB"}
    except OSError:
        return {}


def _memory(row: wattle.Consumer) -> tuple[int | None, int | None]:
    """PSS and USS in bytes. The meter asks for them in turns, as that takes time; who had none yet is asked here."""
    if row.pss_bytes is not None or row.state != "running":
        return row.pss_bytes, row.uss_bytes
    rollup = _meminfo(f"/proc/{row.pid}/smaps_rollup")
    return rollup.get("Pss:"), rollup["Private_Clean:"] + rollup["Private_Dirty:"] if rollup else None


def _by_pid(values: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The sum for each pid of what is known."""
    sums: dict[str, Any] = {}
    for pid, value in values:
        if value is not None:
            sums[pid] = sums.get(pid, 0) + value
    return sums


def _known(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None and value != {}}


class _Power:
    """The power of a record, of the machine and of those that are recorded."""

    def __init__(self, meter: wattle.Meter, power_w: dict[str, float | None], consumers: wattle.Consumers | None, mine: list[_Mine]
                 ) -> None:
        self._domains, self._power_w, self._consumers, self._mine = meter.domains, power_w, consumers, mine

    def of(self, domain: str | None) -> tuple[float | None, dict[str, float] | None]:
        """Of a domain in W, and by pid: a pid's part of it is its part of the energy. None: not known."""
        watts = self._power_w.get(domain or "")
        total_uj = self._consumers.ledger(domain).total_uj if self._consumers is not None and watts is not None else 0
        if watts is None or not total_uj:
            return watts, None
        return watts, _by_pid((pid, share.full_uj / total_uj * watts) for pid, row in self._mine if (share := row.share(domain)))

    def of_kind(self, kind: str) -> tuple[float | None, dict[str, float] | None]:
        """Of all domains of a kind; None unless all of them are measured."""
        known = [self.of(domain.name) for domain in self._domains if domain.kind == kind and domain.method != "modelled"]
        watts, parts = [one for one, _ in known if one is not None], [one for _, one in known if one is not None]
        return (sum(watts) if watts and len(watts) == len(known) else None,
                _by_pid(part for one in parts for part in one.items()) if len(parts) == len(known) else None)


def _cpu(power: _Power, rows: list[wattle.Consumer], mine: list[_Mine]) -> dict[str, Any]:
    busy_s, machine = sum(row.cpu_s or 0.0 for row in rows), _meminfo("/proc/meminfo")
    used = machine["MemTotal:"] - machine["MemAvailable:"] if machine else None
    cpu_s = _by_pid((pid, row.cpu_s) for pid, row in mine)
    memory = [(pid, *_memory(row)) for pid, row in mine]
    pss = _by_pid((pid, size) for pid, size, _ in memory)
    (intel, own_intel), (core, own_core), (dram, own_dram) = (power.of_kind(kind) for kind in ("cpu", "core", "dram"))
    psys = power.of_kind("platform")[0]
    return _known({
        "per_process_mem_use_abs": pss,
        "per_process_mem_use_percent": {pid: size / used for pid, size in pss.items()} if used else None,
        "per_process_mem_use_uss": _by_pid((pid, size) for pid, _, size in memory),
        "total_mem_use": used,
        "per_process_cpu_uses": {pid: seconds / busy_s for pid, seconds in cpu_s.items()} if busy_s else None,
        "absolute_cpu_time_per_pid": cpu_s,
        "intel_power": intel,
        "rel_intel_power": own_intel,
        "psys_power": -1 if psys is None else psys,
        "uncore_power": power.of_kind("uncore")[0],
        "total_cpu_power": core,
        "per_process_cpu_power": own_core,
        "total_dram_power": dram,
        "per_process_dram_power": own_dram,
    })


def _gpu(power: _Power, gpus: list[wattle.Gpu], pids: set[int]) -> dict[str, Any]:
    draw: dict[str, Any] = {}
    attributed: dict[str, Any] = {}
    memory: dict[str, Any] = {}
    use: dict[str, Any] = {}
    own_use: dict[str, Any] = {}
    own_part: dict[str, Any] = {}
    for gpu in gpus:
        index = str(gpu.index)
        watts, parts = power.of(gpu.domain)
        if watts is not None:
            draw[index] = watts
        here = [process for process in gpu.processes or () if process.is_visible]
        # Of a process of another PID namespace, it is not known whether it is one of these.
        if gpu.processes is not None and (len(here) == len(gpu.processes) or any(process.pid in pids for process in here)):
            if parts is not None:
                attributed[index] = sum(parts.values())
            memory[index] = {str(process.pid): process.memory_bytes for process in here if process.pid in pids}
            use[index] = {str(process.pid): process.use_percent / 100 for process in here if process.use_percent is not None}
            if use[index] or not here:
                own_use[index] = sum(part for pid, part in use[index].items() if int(pid) in pids)
                own_part[index] = own_use[index] / sum(use[index].values()) if own_use[index] else 0.0
    if len(attributed) == len(gpus):
        attributed["all"] = sum(attributed.values())
    return _known({
        "nvidia_draw_absolute": sum(draw.values()) if len(draw) == len(gpus) else None,
        "per_gpu_power_draw": draw,
        "per_gpu_attributable_power": attributed,
        "per_gpu_attributable_mem_use": memory,
        "per_gpu_per_pid_utilization_absolute": use,
        "per_gpu_absolute_percent_usage": own_use,
        "per_gpu_estimated_attributable_utilization": own_part,
    })


class _Queue(queue.Queue[object]):
    """STOP_MESSAGE ends the recording, and returns when the last record is written, so that the folder can be read at once."""

    def __init__(self) -> None:
        super().__init__()
        self.done = threading.Event()  # an interrupted join() takes a thread that runs for one that has ended
        self._pid = os.getpid()

    def put(self, item: object, block: bool = True, timeout: float | None = None) -> None:
        super().put(item, block, timeout)
        if item == STOP_MESSAGE and os.getpid() == self._pid:  # not in a process that was forked
            self.done.wait(10)

    def stop(self) -> None:
        if not self.done.is_set():
            self.put(STOP_MESSAGE)


class _Recording:
    """A thread that writes a record every interval_s seconds, and when it is stopped one of what is left."""

    _numbers = itertools.count()

    def __init__(self, meter: wattle.Meter, driver: JsonParser, interval_s: float, pids: Iterable[int], with_children: bool) -> None:
        self.thread = threading.Thread(target=self._run, name="wattle-aipowermeter", daemon=True)
        self.queue = _Queue()
        self._meter, self._driver, self._interval_s = meter, driver, interval_s
        self._pids, self._with_children = set(pids), with_children
        self._window = self._begin()
        self._sampler = meter.sampler(domain.name for domain in meter.domains)

    def _begin(self) -> str:
        name = f"aipowermeter-{next(self._numbers)}"
        self._meter.begin(name, consumers=True, sync=False)
        return name

    def _waits(self, due_s: float) -> bool:
        """Waits until then; False: STOP_MESSAGE came."""
        while True:
            try:
                if self.queue.get(timeout=max(0.0, due_s - time.monotonic())) == STOP_MESSAGE:
                    return False
            except queue.Empty:
                return True

    def _run(self) -> None:
        due_s, goes_on = time.monotonic(), True
        try:
            while goes_on:
                due_s = max(due_s + self._interval_s, time.monotonic())
                goes_on = self._waits(due_s)
                try:
                    self._write()
                except (OSError, wattle.Error) as error:
                    warnings.warn(f"a record is lost: {error}", wattle.WattleWarning)
            self._sampler.close()
            self._meter.cancel(self._window)
            self._driver.close_driver()
        finally:  # whatever failed, nobody waits for it
            atexit.unregister(self.queue.stop)
            self.queue.done.set()

    def _write(self) -> None:
        """A record of the time since the last one. What is not known is left out."""
        window, self._window = self._window, self._begin()
        consumers = None
        try:
            consumers = self._meter.consumers(window)
        except wattle.Error:  # the meter has said why
            pass
        finally:
            self._meter.cancel(window)
        sample = self._sampler.read()
        rows = consumers.rows if consumers is not None else []
        mine = self._mine(rows)
        power = _Power(self._meter, sample.power_w, consumers, mine)
        metrics = {"cpu": _cpu(power, rows, mine)}
        gpus = [gpu for gpu in self._meter.gpus() if gpu.domain is not None]
        if gpus:
            metrics["gpu"] = _gpu(power, gpus, {int(pid) for pid, _ in mine})
        self._driver.save_power_metrics(metrics, sample.t_utc_s, sample.duration_s or None)

    def _mine(self, rows: list[wattle.Consumer]) -> list[_Mine]:
        """Those that are recorded, with their pids. What stands for several that ended stands under their parent's."""
        pids, n = set(self._pids), -1
        while self._with_children and n != len(pids):
            n = len(pids)
            pids.update(row.pid for row in rows if row.pid and row.parent in pids)
        return [(str(row.pid or row.parent), row) for row in rows
                if (row.pid in pids or not row.pid and self._with_children and row.parent in pids)
                and (row.cpu_s or row.state == "running")]


def _checked(driver: JsonParser) -> JsonParser:
    if isinstance(driver, (str, os.PathLike)):
        raise TypeError(f"what is needed is a driver, parsers.JsonParser({os.fspath(driver)!r}), and not the folder's name")
    return driver


def _model_card(model: Any, input_size: Any) -> dict[str, Any]:
    """Parameters and multiply-adds of a forward pass, by `wattle.estimate`."""
    torch: Any = sys.modules["torch"]
    card: dict[str, Any] = {
        "total_params": sum(p.numel() for p in model.parameters()),
        "trainable_params": sum(p.numel() for p in model.parameters() if p.requires_grad),
    }
    like = next(model.parameters(), torch.zeros(0))
    try:
        sizes = [input_size] if isinstance(input_size[0], int) else input_size
        found = wattle.estimate(model, tuple(torch.zeros(tuple(size), dtype=like.dtype, device=like.device) for size in sizes))
        card.update(input_size=input_size, total_mult_adds=found.totals.macs)
        lacks = "; ".join(f"{one.op}: {one.reason}" for one in found.coverage.not_counted)
    except Exception as error:  # whatever the model raises
        lacks = f"no pass with zeros of {input_size}: {error}"
    if lacks:
        warnings.warn(f"mac operations are not known{' of all' if 'total_mult_adds' in card else ''}: {lacks}", wattle.WattleWarning)
    return card


class Experiment:
    """
    Records what a program uses.

    Parameters
    ----------
    driver
        Where to.
    model, input_size
        A torch module, and the shape of its input (or a list of them): what it has and does is kept in model_summary.json.
    cont
        Append to the folder's recording, instead of replacing it.
    meter
        What to measure with; without it, one with all GPUs.
    """

    def __init__(self, driver: JsonParser, model: Any = None, input_size: Any = None, cont: bool = False, *,
                 meter: wattle.Meter | None = None) -> None:
        self.db_driver = _checked(driver)
        self._meter = meter
        if cont:
            driver.close_driver()
        else:
            driver.erase()
        if model is not None and "torch" in sys.modules and isinstance(model, sys.modules["torch"].nn.Module):
            driver.save_model_card(_model_card(model, input_size))
        elif model is not None:
            warnings.warn(f"no model summary: {type(model).__name__} is not a torch module", wattle.WattleWarning)

    def __repr__(self) -> str:
        return f"<wattle.compat.aipowermeter.Experiment in {self.db_driver.folder!r}>"

    def _start(self, pids: Iterable[int], with_children: bool, period: float, measurement_period: float | None
               ) -> tuple[threading.Thread, _Queue]:
        for given in (period, measurement_period):
            if given is not None and not 0 < given <= threading.TIMEOUT_MAX:
                raise ValueError(f"a period is {given} s, and has to be above 0")
        if self._meter is None:
            self._meter = wattle.Meter(gpus="all")
        recording = _Recording(self._meter, self.db_driver, max(period, measurement_period or 0.0), pids, with_children)
        atexit.register(recording.queue.stop)
        recording.thread.start()
        return recording.thread, recording.queue

    def measure_yourself(self, period: float = 1, measurement_period: float | None = None
                         ) -> tuple[threading.Thread, queue.Queue[object]]:
        """
        Records this process and its descendants, every ``period`` seconds (or ``measurement_period``, if that is longer).

        Returns
        -------
        p, q
            The thread that records, and the queue to put STOP_MESSAGE in. The end of the program stops it too.
        """
        return self._start([os.getpid()], True, period, measurement_period)

    def measure_from_pid_list(self, pid_list: Iterable[int], period: float = 1) -> tuple[threading.Thread, queue.Queue[object]]:
        """Records these processes alone."""
        return self._start(pid_list, False, period, None)

    def monitor_machine(self, pid_args: Iterable[int] | None = None, parent_pid: int = 1, period: float = 1,
                        measurement_period: float | None = None) -> None:
        """Records a process and its descendants (all of the machine's), or these processes alone, until Ctrl-C."""
        _, stop = self._start([parent_pid] if pid_args is None else pid_args, pid_args is None, period, measurement_period)
        try:
            while not stop.done.wait(3600):
                pass
        finally:
            stop.put(STOP_MESSAGE)


# ---- Results ----


def humanize_bytes(num: float | None) -> str:
    """``4.6GiB``."""
    if num is None:
        return "not available"
    power = min(int(math.log(max(num, 1), 1024)), 5)
    return f"{num / 1024**power:.1f}{('', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi')[power]}B"


_ENERGIES = (  # what is printed: of the machine, and of the experiment
    ("CPU packages (RAPL)", "intel_power", "rel_intel_power"),
    ("CPU cores", "total_cpu_power", "per_process_cpu_power"),
    ("integrated GPU and other uncore", "uncore_power", None),
    ("RAM", "total_dram_power", "per_process_dram_power"),
    ("platform (psys)", "psys_power", None),
    ("nvidia", "nvidia_draw_absolute", "nvidia_attributable_power"),
)


def _curve(series: Series) -> Curve:
    segments: dict[int, Points] = {}
    for date, value, duration_s, segment in zip(*series.values()):
        segments.setdefault(segment, []).append({"date": date.timestamp(), "value": value, "duration": duration_s})
    return list(segments.values())


def _pieces(curve: Curve) -> Iterator[tuple[float, float, float]]:
    """Begin, end and mean of what is known: a record's own duration; where it has none, the line between two of a segment."""
    for segment in curve:
        for before, point in zip([None, *segment], segment):
            if point["duration"] is not None:
                yield point["date"] - point["duration"], point["date"], point["value"]
            elif before is not None:
                yield before["date"], point["date"], (before["value"] + point["value"]) / 2


def _integral(curve: Curve, start: float | None, end: float | None) -> tuple[float, float]:
    """Over time, and the seconds of which there are values."""
    total = seconds = 0.0
    for piece_start, piece_end, value in _pieces(curve):
        overlap_s = min(piece_end, math.inf if end is None else end) - max(piece_start, -math.inf if start is None else start)
        if overlap_s > 0:
            total, seconds = total + value * overlap_s, seconds + overlap_s
    return total, seconds


def _each(curve: Curve | dict[str, Curve] | None, of: Callable[[Curve], Any]) -> Any:
    """Of a metric, or of that of each device."""
    if isinstance(curve, dict):
        return {device: of(one) for device, one in curve.items()}
    return None if curve is None else of(curve)


class ExpResults:
    """
    What was recorded in a folder.

    start and end are Unix times in s; where they cut a record, its part counts. Energies are in joules. What is of several
    GPUs is a dictionary, by GPU. None: not known.

    Raises
    ------
    FileNotFoundError
        Nothing is recorded in the folder.
    """

    def __init__(self, db_driver: JsonParser) -> None:
        self.db_driver = _checked(db_driver)
        self.cpu_metrics, self.gpu_metrics = db_driver.load_metrics()
        every: list[Series] = []
        for metric in (m for metrics in self._groups().values() for m in metrics.values()):
            every += [metric] if "dates" in metric else metric.values()
        if not every:
            raise FileNotFoundError(f"nothing is recorded in {db_driver.folder!r}")
        self._longest = _curve(max(every, key=lambda series: len(series["dates"])))

    def _groups(self) -> dict[str, dict[str, Any]]:
        return {"CPU": self.cpu_metrics or {}, "GPU": self.gpu_metrics or {}}

    def __repr__(self) -> str:
        return f"<wattle.compat.aipowermeter.ExpResults of {self.db_driver.folder!r}>"

    def list_metrics(self) -> dict[str, list[str]]:
        """Names of what there is, by group."""
        return {group: list(metrics) for group, metrics in self._groups().items()}

    def __str__(self) -> str:
        lines = [f"{group}\n  {', '.join(names) or 'not available'}" for group, names in self.list_metrics().items()]
        return "\n".join(["Available metrics:", *lines, "", "print() shows what was used"])

    def get_curve(self, name: str) -> Curve | dict[str, Curve] | None:
        """A metric: a list of segments, each one a list of points with date (Unix, s), value and duration (s, or None)."""
        for metrics in self._groups().values():
            metric = metrics.get(name) or metrics.get(RENAMED.get(name, name))
            if metric:
                return _curve(metric) if "dates" in metric else {device: _curve(one) for device, one in metric.items()}
        return None

    def get_duration(self, start: float | None = None, end: float | None = None) -> tuple[float, float, float]:
        """Seconds that were recorded, and their first and last moment (Unix, s)."""
        first, last = self._longest[0][0], self._longest[-1][-1]["date"]
        begin = first["date"] - (first["duration"] or 0.0)
        return (_integral(self._longest, start, end)[1], begin if start is None else max(start, begin),
                last if end is None else min(end, last))

    get_exp_duration = get_duration

    def total_(self, metric_name: str, start: float | None = None, end: float | None = None) -> Any:
        """The integral over time: of a power in W, the energy in J. A warning says so if it is not known for all of the time."""
        def total(curve: Curve) -> float | None:
            if metric_name == "absolute_cpu_time_per_pid":  # is in s already
                curve = [[{**p, "value": p["value"] / p["duration"]} for p in segment if p["duration"]] for segment in curve]
            value, seconds = _integral(curve, start, end)
            if seconds < 0.99 * self.get_duration(start, end)[0]:
                warnings.warn(f"{metric_name} is known for {seconds:.1f} s of what was recorded; the rest is not in its total",
                              wattle.WattleWarning, stacklevel=3)
            return value if seconds > 0 else None

        return _each(self.get_curve(metric_name), total)

    def average_(self, metric_name: str, start: float | None = None, end: float | None = None) -> Any:
        """The mean over the time that it is known for."""
        def average(curve: Curve) -> float | None:
            value, seconds = _integral(curve, start, end)
            return value / seconds if seconds > 0 else None

        return _each(self.get_curve(metric_name), average)

    def max_(self, metric_name: str, start: float | None = None, end: float | None = None) -> Any:
        """The highest value."""
        def highest(curve: Curve) -> Any:
            return max((point["value"] for segment in curve for point in segment
                        if (start is None or start <= point["date"]) and (end is None or point["date"] <= end)), default=None)

        return _each(self.get_curve(metric_name), highest)

    def print(self) -> None:
        """Prints what was used."""
        duration, start, end = self.get_duration()
        card = self.db_driver.get_model_card() or {}
        print("================= EXPERIMENT SUMMARY ===============")
        if self.db_driver.get_description():
            print(self.db_driver.get_description())
        if "total_mult_adds" in card:
            print(f"MODEL SUMMARY: {card['total_params']} parameters and {card['total_mult_adds']} mac operations "
                  "during the forward pass")
        print(f"Duration: {duration:.1f} s, {datetime.fromtimestamp(start)} to {datetime.fromtimestamp(end)}")
        if self.get_curve("absolute_cpu_time_per_pid"):
            print(f"CPU time of your experiment: {self.total_('absolute_cpu_time_per_pid') or 0.0:.1f} s")
        print("\nENERGY CONSUMPTION:")
        for label, name, own in _ENERGIES:
            total, part = self.total_(name), self.total_(own) if own else None
            print(f"{label}: " + ("not available" if total is None else f"{total:.3f} joules") +
                  ("" if part is None else f", your experiment: {part:.3f} joules"))
        print(f"\nRAM of your experiment: {humanize_bytes(self.average_('per_process_mem_use_abs'))} (PSS), of its own alone "
              f"{humanize_bytes(self.average_('per_process_mem_use_uss'))} (USS), in the mean; "
              f"of the machine, at most: {humanize_bytes(self.max_('total_mem_use'))}")
        memory, use = self.max_("nvidia_mem_use") or {}, self.average_("nvidia_sm_use") or {}
        for gpu, joules in (self.total_("per_gpu_attributable_power") or {}).items():
            if gpu != "all" and joules is not None:
                print(f"gpu {gpu}: your experiment: {joules:.3f} joules, {humanize_bytes(memory.get(gpu))} at most, " +
                      (f"{use[gpu]:.1%} of its SMs in the mean" if use.get(gpu) is not None else "use not available"))

    def _draw(self, ax: Any, name: str, **style: Any) -> None:
        curves = self.get_curve(name) or {}
        for label, curve in curves.items() if isinstance(curves, dict) else ((None, curves),):
            points = [point for segment in curve for point in [*segment, {**segment[-1], "value": math.nan}]]
            ax.plot([datetime.fromtimestamp(point["date"]) for point in points], [point["value"] for point in points],
                    label=name if label is None else f"{name}: {label}", **style)

    def display_curves(self, metric_names: Iterable[str], saveto: str | None = None) -> None:
        """Draws metrics over time, on the screen or (saveto) into a file."""
        import matplotlib.pyplot as plt

        figure, ax = plt.subplots()
        for name in metric_names:
            self._draw(ax, name)
        ax.legend()
        figure.autofmt_xdate()
        figure.savefig(saveto) if saveto else plt.show()

    def display_2_curves(self, metric_name1: str, metric_name2: str) -> None:
        """Draws two metrics over time, each with an axis of its own."""
        import matplotlib.pyplot as plt

        figure, ax = plt.subplots()
        for axis, name, color in ((ax, metric_name1, "tab:blue"), (ax.twinx(), metric_name2, "tab:red")):
            self._draw(axis, name, color=color)
            axis.set_ylabel(name, color=color)
        figure.autofmt_xdate()
        plt.show()
