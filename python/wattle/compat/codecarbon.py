# SPDX-License-Identifier: MIT
"""
CodeCarbon's trackers on wattle's meter: scripts run unchanged but for the import line.

    from wattle.compat.codecarbon import EmissionsTracker

No network, no lock file, no geolocation. docs/compat-codecarbon.md says what differs from CodeCarbon, and why.
"""

from __future__ import annotations

import configparser
import csv
import dataclasses
import enum
import errno
import fcntl
import functools
import inspect
import io
import json
import logging
import math
import os
import platform
import re
import shutil
import time
import uuid
import warnings
from collections import Counter, OrderedDict

import wattle

from . import _csv

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import Any, Callable, Iterable

    Function = Callable[..., Any]
    _Task = tuple[str, str, str]  # name as given, name in the results, window

__all__ = ["EmissionsTracker", "OfflineEmissionsTracker", "OutputMethod", "track_emissions"]

J_PER_KWH = 3_600_000
NAN = math.nan
TRIES = 500  # for a lock, every 10 ms: then it goes without

# The parameters of the real constructor in its order, then those of OfflineEmissionsTracker, then ours; with the defaults.
_DEFAULTS = {
    "project_name": "codecarbon", "measure_power_secs": 15.0, "api_call_interval": 8, "api_endpoint": None, "api_key": None,
    "output_dir": ".", "output_file": "emissions.csv", "output_methods": None, "save_to_file": True, "save_to_api": False,
    "save_to_logger": False, "logging_logger": None, "save_to_prometheus": False, "save_to_logfire": False,
    "prometheus_url": None, "output_handlers": (), "gpu_ids": None, "emissions_endpoint": None,
    "experiment_id": "5b0fa12a-3dd7-45bb-9766-cc326314d9f1", "experiment_name": "base", "electricitymaps_api_token": None,
    "co2_signal_api_token": None, "tracking_mode": "machine", "log_level": "info", "on_csv_write": "append",
    "logger_preamble": "", "force_cpu_power": None, "force_ram_power": None, "pue": 1.0, "wue": 0.0,
    "force_carbon_intensity_g_co2e_kwh": None, "force_mode_cpu_load": False, "allow_multiple_runs": True,
    "rapl_include_dram": False, "rapl_prefer_psys": False, "metadata": None,
    "country_iso_code": None, "region": None, "cloud_provider": None, "cloud_region": None, "country_2letter_iso_code": None,
    "csv_format": "newest",
}  # fmt: skip
# What asks for something that there is not. The rest of what nothing below reads asks for what wattle does anyhow.
_IGNORED = (
    "save_to_api", "save_to_prometheus", "save_to_logfire", "save_to_boamps", "emissions_endpoint", "electricitymaps_api_token",
    "co2_signal_api_token", "force_cpu_power", "force_ram_power", "force_mode_cpu_load", "rapl_include_dram", "rapl_prefer_psys",
    "metadata",
)  # fmt: skip
_REGIONAL = ("USA", "CAN", "CHN", "SWE", "NOR", "FIN")  # where CodeCarbon has figures of regions


class OutputMethod(str, enum.Enum):
    """Where results go. There are CSV and LOGGER; the others are accepted, with a warning."""

    CSV = "csv"
    API = "api"
    LOGGER = "logger"
    PROMETHEUS = "prometheus"
    LOGFIRE = "logfire"
    BOAMPS = "boamps"


class _Beside:
    """What figures have beside CodeCarbon's fields: neither in the CSV, nor in ``values`` and ``__dict__``, nor pickled."""

    __slots__ = ("emissions_uncertainty", "uncertainty", "window")
    uncertainty: float
    emissions_uncertainty: float
    window: wattle.Window | None


@dataclasses.dataclass
class EmissionsData(_Beside):
    """
    A run or a task, in CodeCarbon's terms: s, kg, W and kWh (both times PUE), l, GB of 2**30 bytes.

    Energies, powers and emissions that are not known are nan, which scripts can calculate with; other fields are None.

    Attributes
    ----------
    uncertainty, emissions_uncertainty : float
        Of ``energy_consumed`` (kWh) and ``emissions`` (kg), k = 2.
    window : wattle.Window or None
        What all of it comes from, without PUE.
    """

    timestamp: str
    project_name: str
    run_id: str
    experiment_id: str
    duration: float
    emissions: float
    emissions_rate: float
    cpu_power: float
    gpu_power: float
    ram_power: float
    cpu_energy: float
    gpu_energy: float
    ram_energy: float
    energy_consumed: float
    water_consumed: float
    country_name: str
    country_iso_code: str
    region: str
    cloud_provider: str
    cloud_region: str
    os: str
    python_version: str
    codecarbon_version: str
    cpu_count: float
    cpu_model: str
    gpu_count: float
    gpu_model: str
    longitude: float | None
    latitude: float | None
    ram_total_size: float
    tracking_mode: str
    cpu_utilization_percent: float | None = None
    gpu_utilization_percent: float | None = None
    ram_utilization_percent: float | None = None
    ram_used_gb: float | None = None
    on_cloud: str = "N"
    pue: float = 1
    wue: float = 0

    def __post_init__(self) -> None:
        self.uncertainty = self.emissions_uncertainty = NAN
        self.window = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self.__dict__.values())

    @property
    def values(self) -> OrderedDict[str, Any]:
        return OrderedDict(self.__dict__)

    def compute_delta_emission(self, previous: EmissionsData) -> None:
        """Leaves the part since ``previous``, of the same run."""
        for name in ("duration", "emissions", "cpu_energy", "gpu_energy", "ram_energy", "energy_consumed", "water_consumed"):
            setattr(self, name, getattr(self, name) - getattr(previous, name))
        self.emissions_rate = self.emissions / self.duration if self.duration > 0 else NAN

    def toJSON(self) -> str:
        return json.dumps(self.values, sort_keys=True, indent=4)


@dataclasses.dataclass
class TaskEmissionsData(EmissionsData):
    """A row of the task file."""

    task_name: str = ""

    @property
    def values(self) -> OrderedDict[str, Any]:
        values = super().values
        for name in ("experiment_id", "pue", "wue"):
            del values[name]
        values.move_to_end("task_name", last=False)
        return values


class LoggerOutput:
    """A ``logging_logger`` that gets the results as JSON."""

    def __init__(self, logger: logging.Logger, severity: int = logging.INFO) -> None:
        self.logger, self.logging_severity = logger, severity

    def out(self, total: EmissionsData, delta: EmissionsData) -> None:
        self.logger.log(self.logging_severity, json.dumps(total.values))


# ---- CSV ----

_COLUMNS = [field.name for field in dataclasses.fields(EmissionsData)]
_AFTER_2023 = re.compile("experiment_id|water_consumed|wue|.*_utilization_percent|ram_used_gb")
_FORMATS = {"newest": _COLUMNS, "2023": [name for name in _COLUMNS if not _AFTER_2023.fullmatch(name)]}


def _cell(value: Any) -> str:
    """Unknown is blank; text is escaped as in wattle's own CSV (docs/format-csv.md)."""
    if value is None or value != value:
        return ""
    return _csv.text(value) if isinstance(value, str) else repr(value)


def _lines(*rows: Iterable[Any]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(map(_cell, row) for row in rows)
    return text.getvalue().encode()


def _header(path: str) -> list[str] | None:
    """The columns of a file; None: there is no file, or nothing in it."""
    try:
        while not os.stat(path).st_size:
            if abs(time.time() - os.stat(path).st_mtime) > 1:
                return None
            time.sleep(0.01)  # somebody has just created it, and writes in a moment
        with open(path, newline="", encoding="utf-8-sig", errors="replace") as file:
            return next(csv.reader(file), [])
    except FileNotFoundError:
        return None
    except csv.Error:
        return []


def _append(path: str, line: bytes, flags: int = 0) -> None:
    """Adds a line in one write, so that also other programs that append meanwhile lose none."""
    for tries_left in reversed(range(TRIES)):
        fd = os.open(path, os.O_RDWR | os.O_APPEND | flags, 0o666)
        flags = 0
        try:
            if tries_left and not _has_lock(fd, path):
                time.sleep(0.01)
                continue
            size = os.fstat(fd).st_size
            if size and os.pread(fd, 1, size - 1) != b"\n":
                line = b"\n" + line  # the last one was cut off
            if os.write(fd, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
            return
        finally:
            os.close(fd)


def _replace(path: str, data: bytes) -> None:
    """Writes a file as a whole: its readers see the old one or the new one."""
    path = os.path.realpath(path)
    new = f"{path}.{uuid.uuid4().hex}"
    try:
        with open(new, "wb") as file:
            file.write(data)
        if os.path.exists(path):
            shutil.copymode(path, new)
        os.replace(new, path)
    except OSError:
        if os.path.exists(new):
            os.unlink(new)
        raise


def _has_lock(fd: int, path: str) -> bool:
    """Whether no other process appends to or updates the file of that path now, nor has replaced it since it was opened."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # of the file itself, until it is closed
    except BlockingIOError:
        return False
    except OSError:
        pass  # its file system has no locks
    return os.path.samestat(os.fstat(fd), os.stat(path))


def _update(path: str, column: int, run_id: str, line: bytes) -> None:
    """Puts a line in the place of those of the same run. What others append meanwhile, and without a lock, stays."""
    for _ in range(TRIES):
        with open(path, "rb") as file:
            if not _has_lock(file.fileno(), path):
                time.sleep(0.01)
                continue
            data = file.read()
            file.seek(data.rfind(b"\n") + 1)  # what follows is still being written, or was cut off
            lines = list(io.StringIO(data[: file.tell()].decode("utf-8", "surrogateescape"), newline=""))
            kept, start, reader = list[str](), 0, csv.reader(lines)
            for row in reader:
                if row[column : column + 1] != [run_id]:
                    kept += lines[start : reader.line_num]
                start = reader.line_num
            if len(kept) == len(lines):
                break
            _replace(path, "".join(kept).encode("utf-8", "surrogateescape") + line)
            late = file.read()
            for _ in range(100):
                if late.endswith(b"\n") or not late:
                    break
                time.sleep(0.005)
                late += file.read()
        if late:
            _append(path, late)
        return
    _append(path, line)


def _backup(path: str) -> str:
    """Renames a file that has other columns, to the name that CodeCarbon gives it, and returns that."""
    name, number = f"{path}.bak", 0
    while os.path.lexists(name):
        name, number = f"{path}_{number}.bak", number + 1
    os.rename(path, name)
    return name


def _write(path: str, columns: list[str], data: EmissionsData, is_update: bool) -> str | None:
    """Writes a row, in the order of the file's own header. Returns the new name of a file that had to make way."""
    values, moved = data.values, None
    while True:
        header = _header(path)
        if header is None:
            try:
                created = 0 if os.path.exists(path) else os.O_CREAT | os.O_EXCL
                _append(path, _lines(columns, [values[name] for name in columns]), created)
                return moved
            except FileExistsError:
                continue
        if set(header) <= set(_COLUMNS) and {"run_id", "energy_consumed"} <= set(header):
            break
        moved = _backup(path)
    line = _lines(values[name] for name in header)
    if is_update:
        _update(path, header.index("run_id"), data.run_id, line)
    else:
        _append(path, line)
    return moved


# ---- The machine ----


def _configuration() -> dict[str, str]:
    """What ~/.codecarbon.config, that of the working directory and the environment say; the last one counts."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read([os.path.expanduser("~/.codecarbon.config"), ".codecarbon.config"])
    found = dict(parser["codecarbon"]) if parser.has_section("codecarbon") else {}
    for key, value in os.environ.items():
        if key.lower().startswith("codecarbon_"):
            found[key.lower().replace("codecarbon_", "", 1)] = value
    return found


def _cpu_ticks() -> tuple[int, int]:
    """Busy and all CPU time since boot."""
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def _cpu_model() -> str:
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        found = re.search(r"^model name\s*: (.*)$", file.read(), re.MULTILINE)
    return found[1] if found else ""


def _memory_gb() -> tuple[float, float]:
    """Used and all memory."""
    with open("/proc/meminfo", encoding="ascii") as file:
        sizes = {line.split(":")[0]: int(line.split()[1]) / (1 << 20) for line in file}
    return sizes["MemTotal"] - sizes["MemAvailable"], sizes["MemTotal"]


def _version() -> str:
    try:
        return f"wattle {wattle.__version__}"
    except wattle.Error:
        return "wattle"  # without its library


def _sum(values: Iterable[float | None]) -> float:
    """Of those that are known; nan if none is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else NAN


class EmissionsTracker:
    """
    Measures a run, and tasks in it, and writes a row of emissions.csv.

    Parameters are the real one's, by keyword or in its order, and those of `OfflineEmissionsTracker`. What is not given is taken
    from .codecarbon.config and the environment. One `WattleWarning` names what there is not; with ``log_level="error"`` none does.

    Parameters
    ----------
    csv_format : {"newest", "2023"}
        The columns of a file that does not exist yet, 38 or 31.

    Raises
    ------
    OSError
        ``output_dir`` does not exist.
    ValueError
        There is no such ``tracking_mode``, ``on_csv_write``, ``csv_format`` or output method.
    """

    final_emissions: float  # kg; these two are there once it is stopped
    final_emissions_data: EmissionsData

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = {**dict(zip(_DEFAULTS, args)), **kwargs}
        self._notes = [f"there is no parameter {name}" for name in given if name not in _DEFAULTS]
        self._conf: dict[str, Any] = dict(_DEFAULTS)
        try:
            self._conf.update(_configuration())
        except configparser.Error as error:
            self._notes.append(str(error))
        self._conf.update((name, value) for name, value in given.items() if value is not None)
        self._is_quiet = str(self._conf["log_level"]).lower() in ("error", "critical", "40", "50")
        self.run_id = uuid.uuid4()
        self._meter: wattle.Meter | None = None
        self._begun: dict[str, tuple[float, int, int]] = {}  # the windows that are open: time and CPU ticks
        self._open_tasks: list[_Task] = []
        self._tasks: dict[str, EmissionsData] = {}
        self._previous: EmissionsData | None = None
        self._check()
        self._find_place()
        self._say(*self._notes)

    def _say(self, *notes: str) -> None:
        if notes and not self._is_quiet:
            warnings.warn("codecarbon on wattle: " + "; ".join(notes), wattle.WattleWarning, stacklevel=3)

    def _refuse(self, error: Exception, name: str, instead: Any) -> None:
        raise error

    def _check(self) -> None:
        conf = self._conf
        for name, default in _DEFAULTS.items():
            if isinstance(default, bool):
                conf[name] = str(conf[name]).lower() in ("true", "1")
            elif isinstance(default, float):
                try:
                    number = float(conf[name])
                except (TypeError, ValueError):
                    number = NAN
                if not 0 <= number < math.inf:
                    self._notes.append(f"{name} is {'negative' if number < 0 else 'no number'}: {conf[name]!r}")
                    number = default
                conf[name] = number
        choices = {"tracking_mode": ("machine", "process"), "on_csv_write": ("append", "update"), "csv_format": tuple(_FORMATS)}
        for name, allowed in choices.items():
            if conf[name] not in allowed:
                error = ValueError(f"{name} is {conf[name]!r}, and not one of {', '.join(allowed)}")
                self._refuse(error, name, _DEFAULTS[name])
        methods = conf["output_methods"]
        if methods is not None:
            chosen = {name.strip() for name in (methods.split(",") if isinstance(methods, str) else methods)} - {""}
            for name in chosen - set(OutputMethod):
                self._refuse(ValueError(f"{name!r} is no output method"), "output_methods", None)
            for method in OutputMethod:
                conf["save_to_file" if method is OutputMethod.CSV else f"save_to_{method.value}"] = method in chosen
        if not os.path.isdir(conf["output_dir"]):
            self._refuse(OSError(f"Folder '{conf['output_dir']}' doesn't exist !"), "save_to_file", False)
        self._handlers = list(conf["output_handlers"])
        if conf["save_to_logger"] and conf["logging_logger"]:
            self._handlers.append(conf["logging_logger"])
        ids = conf["gpu_ids"] if isinstance(conf["gpu_ids"], (list, tuple)) else [conf["gpu_ids"]]
        kept = re.sub("[^0-9A-Za-z,-]", "", ",".join(str(one) for one in ids if one is not None))  # of "[0, 1]", too
        self._gpu_ids = ",".join(filter(None, kept.split(",")))
        ignored = ", ".join(name for name in _IGNORED if conf.get(name))
        if ignored:
            self._notes.append(f"ignored, as docs/compat-codecarbon.md explains: {ignored}")

    def _find_place(self) -> None:
        """Where the electricity is from: the location of the carbon intensity, and the country for the results."""
        conf = self._conf
        forced, provider, self._country = conf["force_carbon_intensity_g_co2e_kwh"], conf["cloud_provider"], ""
        tried: list[str | float] = []
        if forced is not None:
            try:
                tried.append(round(float(forced), 3))
            except (TypeError, ValueError):
                self._notes.append(f"force_carbon_intensity_g_co2e_kwh is no number: {forced!r}")
        if provider:
            tried.append(f"{provider}:{conf['cloud_region']}")
        if conf["country_iso_code"]:
            self._country = conf["country_iso_code"].upper()
            tried.append(self._country)
        places = []
        for location in tried or ["world"]:
            try:
                places.append(wattle.Carbon(location))
            except (ValueError, wattle.Error) as error:
                self._notes.append(str(error))
        self._location = places[0].location if places else "world"
        self._country_name = places[-1].place if places else ""
        if not tried:
            self._country = "WLD"  # CodeCarbon's own readers cannot bear a blank
        if self._location == "world":
            self._notes.append("the world's average carbon intensity is used; country_iso_code tells the place")
        elif self._location == self._country and conf["region"] and self._country in _REGIONAL:
            self._notes.append(f"the carbon intensity is that of {self._country_name}, not of {conf['region']}")

    # ---- Measuring ----

    def _begin(self, window: str) -> None:
        if self._meter is None:
            is_process = self._conf["tracking_mode"] == "process"
            self._meter = wattle.Meter(gpus=self._gpu_ids or "visible", location=self._location, attribution=is_process)
        self._begun[window] = (time.monotonic(), *_cpu_ticks())
        self._meter.begin(window)

    def _measure(self, window: str, ends: bool = True) -> EmissionsData | None:
        """The figures of a window; None: it was begun by the process that this one was forked from."""
        assert self._meter is not None
        begun = self._begun.pop(window) if ends else self._begun[window]
        try:
            return self._data(self._meter, self._meter.end(window) if ends else self._meter.read(window), begun)
        except wattle.WindowError as error:
            self._say(str(error))
            return None

    def _data(self, meter: wattle.Meter, window: wattle.Window, begun: tuple[float, int, int]) -> EmissionsData:
        conf, pue, own, carbon = self._conf, self._conf["pue"], window.own, meter.carbon
        total_uj, uncertainty_j = window.energy_uj, window.uncertainty_j
        energies_j = {name: energy.energy_j for name, energy in window.domains.items()}
        if conf["tracking_mode"] == "process":
            total_uj, uncertainty_j = (own.full_uj, own.full_uncertainty_j) if own and total_uj is not None else (None, None)
            energies_j = {name: own.domains[name].full_j if own and j is not None else None for name, j in energies_j.items()}
        parts: dict[str, list[float | None]] = {"cpu": [], "gpu": [], "ram": []}
        counted = [domain for domain in meter.domains if domain.in_total]
        for domain in counted:
            parts[{"gpu": "gpu", "dram": "ram"}.get(domain.kind, "cpu")].append(energies_j.get(domain.name))
        parts["gpu"] = parts["gpu"] or [None if self._gpu_ids else 0.0]  # there is none: that is known, unless one is named
        kwh = {part: _sum(joules) * pue / J_PER_KWH for part, joules in parts.items()}
        duration = time.monotonic() - begun[0] if window.duration_s is None else window.duration_s
        watts = {part: NAN if window.mean_w is None else kwh[part] * J_PER_KWH / duration for part in parts}
        total_kwh = NAN if total_uj is None else total_uj * pue / 1e6 / J_PER_KWH
        kg = NAN if total_uj is None or carbon is None else round(carbon.g(total_uj) * pue * 1e6) / 1e9  # whole micrograms
        busy, ticks = (now - then for now, then in zip(_cpu_ticks(), begun[1:]))
        used_gb, memory_gb = _memory_gb()
        gpus = Counter(domain.device or "GPU" for domain in counted if domain.kind == "gpu")
        data = EmissionsData(
            time.strftime("%Y-%m-%dT%H:%M:%S"), str(conf["project_name"]), str(self.run_id), str(conf["experiment_id"]),
            duration, kg, kg / duration if duration > 0 else NAN, watts["cpu"], watts["gpu"], watts["ram"],
            kwh["cpu"], kwh["gpu"], kwh["ram"], total_kwh, total_kwh * conf["wue"],
            self._country_name, self._country, str(conf["region"] or "").lower(),
            conf["cloud_provider"] or "", conf["cloud_region"] or "",
            platform.platform(), platform.python_version(), _version(),
            cpu_count=os.cpu_count() or 0,
            cpu_model=_cpu_model(),
            gpu_count=sum(gpus.values()), gpu_model=", ".join(f"{n} x {name}" for name, n in gpus.items()),
            longitude=None, latitude=None, ram_total_size=memory_gb, tracking_mode=conf["tracking_mode"],
            cpu_utilization_percent=100 * busy / ticks if ticks else None,
            ram_utilization_percent=100 * used_gb / memory_gb, ram_used_gb=used_gb,
            on_cloud="Y" if conf["cloud_provider"] else "N", pue=pue, wue=conf["wue"],
        )  # fmt: skip
        data.window = window
        if total_uj is not None and uncertainty_j is not None and carbon is not None:
            data.uncertainty = uncertainty_j * pue / J_PER_KWH
            grams = carbon.uncertainty_g(total_uj, round(uncertainty_j * 1e6)) * pue
            data.emissions_uncertainty = math.ceil(grams * 1e6) / 1e9
        return data

    def start(self) -> None:
        """Begins the run; a new one, if the tracker was stopped."""
        if "run" in self._begun:
            self._say("the tracker is started already")
            return
        if hasattr(self, "final_emissions"):
            self.run_id, self._tasks, self._previous = uuid.uuid4(), {}, None
        self._begin("run")

    def start_task(self, task_name: str | None = None) -> None:
        """Begins a task, and the run if need be. Tasks may nest and overlap."""
        self._start_task(task_name)

    def _start_task(self, task_name: str | None) -> _Task:
        if "run" not in self._begun:
            self.start()
        given = name = task_name or str(uuid.uuid4())
        if name in self._tasks or any(name == task[1] for task in self._open_tasks):
            name += f"_{uuid.uuid4()}"
        task = given, name, f"task {uuid.uuid4()}"
        self._open_tasks.append(task)
        self._begin(task[2])
        return task

    def stop_task(self, task_name: str | None = None) -> EmissionsData | None:
        """Ends the newest open task (of that name) and returns its figures; None if there is none."""
        for task in reversed(self._open_tasks):
            if not task_name or task_name in task[:2]:
                return self._stop_task(task)
        self._say(f"no task {task_name or ''} is open")
        return None

    def _stop_task(self, task: _Task) -> EmissionsData | None:
        self._open_tasks.remove(task)
        data = self._measure(task[2])
        if data is not None:
            self._tasks[task[1]] = data
        return data

    def flush(self) -> float | None:
        """Writes the figures up to now; the run goes on. Returns kg of CO2 equivalent."""
        if "run" not in self._begun:
            self._say("the tracker is not started")
            return None
        data = self._measure("run", ends=False)
        return None if data is None else self._publish(data)

    def stop(self) -> float | None:
        """Ends the run and its tasks and writes the figures. Returns kg of CO2 equivalent."""
        if "run" not in self._begun or self._meter is None:
            self._say("the tracker is not started, or stopped already")
            return getattr(self, "final_emissions", None)
        while self._open_tasks:
            self.stop_task()
        data = self._measure("run")
        self._meter.close()
        self._meter = None
        if data is None:
            return None
        self.final_emissions_data, self.final_emissions = data, data.emissions
        if data.window is not None and data.window.verdict == "incomplete":
            self._say("a part of the machine is not in the sums: " + "; ".join(data.window.reasons))
        return self._publish(data, is_last=True)

    # ---- Results ----

    def _publish(self, data: EmissionsData, is_last: bool = False) -> float:
        """Hands the figures to the file and the handlers. If one fails, that is a warning, and the figures stay."""
        delta = dataclasses.replace(data)
        if self._previous is not None:
            delta.compute_delta_emission(self._previous)
        self._previous = data
        tasks = [TaskEmissionsData(**task.values, task_name=name) for name, task in self._tasks.items()]
        try:
            if self._conf["save_to_file"]:
                self._save(data, tasks)
        except (OSError, ValueError, csv.Error) as error:
            self._say(f"the results could not be written: {error}")
        for handler in self._handlers:
            try:
                handler.out(data, delta)
                if tasks and hasattr(handler, "task_out"):
                    handler.task_out(tasks, self._conf["experiment_name"])
                if is_last and hasattr(handler, "exit"):
                    handler.exit()
            except Exception as error:  # of whatever kind it has
                self._say(f"{type(handler).__name__} failed: {error!r}")
        return data.emissions

    def _save(self, data: EmissionsData, tasks: list[TaskEmissionsData]) -> None:
        folder, columns = self._conf["output_dir"], _FORMATS[self._conf["csv_format"]]
        path = os.path.join(folder, self._conf["output_file"])
        moved = _write(path, columns, data, self._conf["on_csv_write"] == "update")
        if moved:
            self._say(f"{path} had other columns: it is {moved} now")
        if tasks:
            names = [name for name in tasks[0].values if name == "task_name" or name in columns]
            file = f"emissions_{self._conf['experiment_name']}_{self.run_id}.csv".replace(os.sep, "_")
            _replace(os.path.join(folder, file), _lines(names, *([task.values[name] for name in names] for task in tasks)))

    def service_shutdown(self, signum: int, frame: FrameType | None) -> None:
        """A signal handler that stops the tracker."""
        self.stop()

    def __repr__(self) -> str:
        state = "running" if "run" in self._begun else "not running"
        return f"<wattle.compat.codecarbon.{type(self).__name__} {self._conf['project_name']!r}: {state}>"

    def __enter__(self) -> EmissionsTracker:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()


class OfflineEmissionsTracker(EmissionsTracker):
    """The same, but a bad parameter is a warning, as the real one does not raise either."""

    def _refuse(self, error: Exception, name: str, instead: Any) -> None:
        self._notes.append(str(error))
        self._conf[name] = instead


class TaskEmissionsTracker:
    """A task as a context manager, of a tracker or of one of its own."""

    def __init__(self, task_name: str | None = None, tracker: EmissionsTracker | None = None) -> None:
        self.task_name, self.is_default_tracker = task_name, tracker is None
        self.tracker = tracker or EmissionsTracker()

    def __enter__(self) -> TaskEmissionsTracker:
        self._task = self.tracker._start_task(self.task_name)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._task in self.tracker._open_tasks:  # not if the tracker was stopped
            self.tracker._stop_task(self._task)  # and not the newest, which may be another thread's
        if self.is_default_tracker:
            self.tracker.stop()


def _decorated(make: Callable[[], Any], fn: Function | None) -> Any:
    """``fn``, or a decorator, whose calls and coroutines run inside what ``make`` gives."""

    def decorate(fn: Function) -> Any:
        @functools.wraps(fn)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            with make():
                return await fn(*args, **kwargs)

        @functools.wraps(fn)
        def called(*args: Any, **kwargs: Any) -> Any:
            with make():
                return fn(*args, **kwargs)

        return awaited if inspect.iscoroutinefunction(fn) else called

    return decorate if fn is None else decorate(fn)


def track_emissions(fn: Function | None = None, *args: Any, offline: bool = False, **kwargs: Any) -> Any:
    """
    Measures each call of a function as a run. With or without arguments, which are those of the trackers.

    Raises
    ------
    Exception
        When the function is called: ``offline`` without ``country_iso_code`` and ``cloud_provider``.
    """

    def make() -> EmissionsTracker:
        if offline and not (kwargs.get("country_iso_code") or kwargs.get("cloud_provider")):
            raise Exception("Needs ISO Code of the Country for Offline mode")
        return (OfflineEmissionsTracker if offline else EmissionsTracker)(*args, **kwargs)

    return _decorated(make, fn)


def track_task_emissions(fn: Function | None = None, tracker: EmissionsTracker | None = None, task_name: str = "") -> Any:
    """Measures each call of a function as a task, of a tracker or of one of its own."""
    return _decorated(lambda: TaskEmissionsTracker(task_name, tracker), fn)
