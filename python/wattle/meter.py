# SPDX-License-Identifier: MIT
"""The meter: windows, samples and users of energy, measured by libwattle."""

from __future__ import annotations

import atexit
import contextvars
import ctypes
import errno
import os
import sys
import time
import weakref
from _thread import RLock, get_ident

from . import _abi, _lib, _sync
from ._lib import Error, WattleWarning, WindowError, check, load, new, new_array
from .figures import Carbon, Consumers, Domain, Energy, Gpu, GpuProcess, Share, Use, Window

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Callable, Iterable

    from ._recorder import Recorder
    from ._sync import Sync

    _Pushed = tuple[int, weakref.ref["_Open"]]  # a window of a stack, and the thread that pushed it

NAME_BYTES = 63  # of a window, in the C library
BLANKS = "\u115f\u1160\u2800\u3164\uffa0\U0001d159"  # what looks blank among the letters and symbols
_RANK_VARIABLES = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID")
_meters: weakref.WeakSet[Meter] = weakref.WeakSet()
_warned: set[str] = set()  # each warning is given once a process


def _depth() -> int:
    """How far above its caller the first frame outside of this package is."""
    depth, frame = 0, sys._getframe(1)
    here = os.path.dirname(os.path.abspath(__file__)) + os.sep
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        depth, frame = depth + 1, frame.f_back
    return depth + 1


def own_key(name: str) -> bytes:
    """What stands for a name that the C library does not take, being too long or not plain text: no other name has the same."""
    import hashlib
    import unicodedata

    def is_seen(letter: str) -> bool:
        return letter.isprintable() and letter not in BLANKS and unicodedata.category(letter) != "Mn"

    plain = "".join(letter if is_seen(letter) else "?" for letter in name).strip().encode()
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:12]
    return f"{plain[: NAME_BYTES - 13].decode(errors='ignore')}~{digest}".encode()


def _task() -> tuple[int, weakref.ref[Any]] | None:
    """This thread and the task of asyncio that runs in it; None: no task does."""
    asyncio: Any = sys.modules.get("asyncio")
    task = asyncio.current_task() if asyncio is not None and asyncio._get_running_loop() is not None else None
    return None if task is None else (get_ident(), weakref.ref(task))


def _is_over(task: Any) -> bool:
    return task is None or bool(task.done())


class _Open:
    """A window that is open: its names here and in the C library, what is filled in at its end, and its block or sampler."""

    __slots__ = ("__weakref__", "_owner", "key", "name", "pushed_by", "wait", "window")

    def __init__(self, name: str, key: bytes, window: Window, wait: Callable[[], object] | None, owner: object) -> None:
        self.name, self.key, self.window, self.wait = name, key, window, wait
        self._owner = weakref.ref(owner) if owner is not None else None
        self.pushed_by: tuple[int, weakref.ref[Any]] | None = None  # the thread and its task of asyncio

    def is_lost(self) -> bool:
        """Its block or sampler is gone and has not ended it: an interrupt came at a block's first or last step."""
        return self._owner is not None and self._owner() is None


class _Remarks:
    """The library's warnings: kept while the meter is opened, logged afterwards. Does not hold the meter."""

    def __init__(self) -> None:
        self.lines: list[str] | None = []

    def __call__(self, _: object, level: int, line: bytes) -> None:
        said = line.decode("utf-8", "replace")
        if self.lines is not None:
            self.lines.append(said)
        else:
            import logging

            logging.getLogger("wattle").warning(said)


class _Block:
    """A window around a ``with`` block."""

    __slots__ = ("__weakref__", "_flags", "_meter", "_name", "_opened", "_sync")

    def __init__(self, meter: Meter, name: str, flags: int, sync: Sync | bool) -> None:
        self._meter, self._name, self._flags, self._sync = meter, name, flags, sync

    def __enter__(self) -> Window:
        self._opened = self._meter._begin_unique(self._name, self._flags, self._sync, self)
        self._opened.window.name = self._name
        return self._opened.window

    def __exit__(self, *_: object) -> None:
        if self._meter._open.get(self._opened.name) is self._opened:
            self._meter._end(self._opened)


def visible_gpus() -> str | None:
    """What CUDA_VISIBLE_DEVICES says: indices, UUIDs or MIG names with commas between; None: it is not set, all are visible."""
    return os.environ.get("CUDA_VISIBLE_DEVICES")


def local_rank() -> int:
    """This process's number on its node, by what torchrun, Slurm or MPI set; 0 where nothing is set."""
    return next((int(os.environ[name]) for name in _RANK_VARIABLES if os.environ.get(name, "").isdigit()), 0)


def _gpu_list(gpus: str | int | Iterable[int | str] | None) -> str | None:
    if gpus is None:
        return ""
    if isinstance(gpus, str) and gpus in ("all", "visible"):
        return None if gpus == "all" else visible_gpus()
    entries = gpus.split(",") if isinstance(gpus, str) else [gpus] if isinstance(gpus, int) else list(gpus)
    for entry in entries:
        is_index = isinstance(entry, int) and not isinstance(entry, bool) and entry >= 0
        is_name = isinstance(entry, str) and (entry.strip().isdigit() or entry.strip().upper().startswith(("GPU-", "MIG-")))
        if not is_index and not is_name:
            raise ValueError(f"gpus has {entry!r}: use 'visible', 'all', None, or indices, UUIDs ('GPU-…') and MIG names ('MIG-…')")
    return ",".join(map(str, entries))


class Sample:
    """
    What a `Sampler` read: a stretch of time with mean powers.

    Attributes
    ----------
    t_utc_s, t_mono_s : float
        Its end, in seconds since 1970 and on the monotonic clock.
    duration_s : float
    power_w, energy_j : dict of str to float or None
        Of each domain: watts and joules; None where they are not known.
    mean_over_s : dict of str to float
        What ``power_w`` is the mean of, where it is known: longer than the sample if the sensor did not answer in the one before.
    """

    __slots__ = ("duration_s", "energy_j", "mean_over_s", "power_w", "t_mono_s", "t_utc_s")

    def __init__(self, t_utc_s: float, t_mono_s: float, duration_s: float) -> None:
        self.t_utc_s, self.t_mono_s, self.duration_s = t_utc_s, t_mono_s, duration_s
        self.power_w: dict[str, float | None] = {}
        self.energy_j: dict[str, float | None] = {}
        self.mean_over_s: dict[str, float] = {}


class Sampler:
    """Mean power since the last `read`, by the growth of one window that stays open. Made by `Meter.sampler`."""

    def __init__(self, meter: Meter, domains: Iterable[str] | None) -> None:
        self._meter = meter
        self.domains = tuple(domains) if domains is not None else tuple(d.name for d in meter.domains if d.in_total)
        known = [d.name for d in meter.domains] + ["total"]
        missing = [name for name in self.domains if name not in known]
        if missing and meter.is_open:
            raise ValueError(f"no domain {missing[0]!r}: there are {', '.join(known)}")
        self._name = meter._begin_unique("sampler", flags=0, owner=self).name
        self._last = meter._read(self._name)
        self._known: dict[str, tuple[Energy, float]] = {}  # where its last power ends, and when in the window

    def read(self) -> Sample:
        """The stretch since the last read, or since the sampler was made."""
        last, now = self._last, self._meter._read(self._name)
        self._last = now
        begin_s, utc_s = now._window, now.begin_utc_s
        if begin_s is None or utc_s is None or now.duration_s is None:
            sample = Sample(time.time(), time.monotonic(), 0.0)
            sample.power_w = sample.energy_j = dict.fromkeys(self.domains)
            return sample
        end_s = now.duration_s
        sample = Sample(utc_s + end_s, begin_s.begin_mono_ns / 1e9 + end_s, end_s - (last.duration_s or 0.0))
        new_energies, old_energies = {**now.domains, "total": now}, {**last.domains, "total": last}
        for name in self.domains:
            sample.energy_j[name] = sample.power_w[name] = None
            after, before = new_energies[name], old_energies[name]
            if after.energy_uj is None or before.energy_uj is None:
                self._known.pop(name, None)
                continue
            sample.energy_j[name] = (after.energy_uj - before.energy_uj) / 1e6
            known, known_s = self._known.setdefault(name, (before, last.duration_s or 0.0))
            took_s = after.measured_s - known.measured_s
            if took_s > 0.5 * sample.duration_s:  # of a moment there is no power
                # After a gap, the total's energy has that of parts that went on, while its time has not.
                if name != "total" or abs(end_s - known_s - took_s) < 0.5 * sample.duration_s:
                    energy_uj = after.energy_uj - (known.energy_uj or 0)
                    sample.power_w[name], sample.mean_over_s[name] = max(0.0, energy_uj / 1e6 / took_s), took_s
                self._known[name] = after, end_s
        return sample

    def close(self) -> None:
        """Forgets the window."""
        try:
            self._meter.cancel(self._name)
        except WindowError:
            pass

    def __enter__(self) -> Sampler:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Meter:
    """
    Measures the energy of this machine, of its domains, and of this process.

    It never fails for want of a library, a sensor or a permission: figures are then None, ``reasons`` says why, and one
    `WattleWarning` is given. Any thread may use it. After a fork it belongs to the parent: a child opens its own.

    Parameters
    ----------
    interval_s : float
        How often a thread of the library takes a sample; 0: none does, and you call `tick`: once a minute is enough for
        counters, GPUs that have none need it every 0.1 s.
    gpus : {"visible", "all"}, int, iterable of int or str, str, or None
        The GPUs that are yours: those of CUDA_VISIBLE_DEVICES, all, or indices, UUIDs and MIG names in its syntax; None: no GPU.
        Others are neither read nor in the total.
    attribution : bool
        Follow the machine's processes (1 ms a second for 1,000 of them), for ``Window.own`` and `consumers`.
    exact : bool
        Look at the processes at both ends of every window, so that ``Window.own`` is of just that time. False for windows in
        hot loops: ``own`` is then as of the last regular look, up to a second before.
    sync : {"torch", "jax", "cupy"}, callable or None
        What to wait for at both ends of a window.
    location : str, float or None
        For CO2: see `Carbon`.
    root, nvml, tape : str or os.PathLike or None
        Another machine's /sys and /proc; another libnvidia-ml.so.1 ("": none); a tape, which each `tick` moves on.
    idle_file : str or os.PathLike or None
        Keeps what the machine draws at rest; "": nothing is kept. None: the command's own file, of this machine only.
    max_windows : int
        How many windows may be open at once.

    Raises
    ------
    ImportError, ValueError
        For arguments that cannot be meant.
    Error
        The ``root``, ``tape`` or ``nvml`` that you chose cannot be used.
    """

    def __init__(
        self,
        *,
        interval_s: float = 0.1,
        gpus: str | int | Iterable[int | str] | None = "visible",
        attribution: bool = True,
        exact: bool = True,
        sync: Sync = None,
        location: str | float | None = None,
        root: str | os.PathLike[str] | None = None,
        nvml: str | os.PathLike[str] | None = None,
        tape: str | os.PathLike[str] | None = None,
        idle_file: str | os.PathLike[str] | None = None,
        max_windows: int = 64,
    ) -> None:
        if not 0 <= interval_s <= 3600 or 0 < interval_s < 0.001:
            raise ValueError(f"interval_s is {interval_s!r}: use 0.001 to 3600 seconds, or 0 to call tick() yourself")
        if not 1 <= max_windows <= 65536:
            raise ValueError(f"max_windows is {max_windows!r}: use 1 to 65536")
        if nvml and os.sep in os.fspath(nvml) and not os.path.exists(nvml):
            raise Error(f"{os.fspath(nvml)}: there is no such library", -errno.ENOENT, "nvml", os.fspath(nvml))
        gpu_list = _gpu_list(gpus)
        self._is_closed = False
        self._handle: int | None = None
        self._set: int | None = None
        self._lock = RLock()
        self._open: dict[str, _Open] = {}
        self._recorder: Recorder | None = None  # it ends before the meter does
        self._begun: dict[bytes, _Open] = {}  # those that the C library has; more than the open ones after an interrupt
        self._stack: contextvars.ContextVar[tuple[_Pushed, ...]] = contextvars.ContextVar("wattle", default=())
        self._wait = _sync.function(sync)
        self._flags = _abi.WINDOW_EXACT if attribution and exact else 0
        self._domains: tuple[Domain, ...] = ()
        self._reasons: tuple[str, ...] = ()
        self._remarks = _Remarks()
        self.carbon: Carbon | None = None
        try:
            self._library = load()
            self.carbon = Carbon(location)
            options = new(_abi.Options)
            for name, value in (("root", root), ("nvml_path", nvml), ("tape", tape), ("gpus", gpu_list)):
                setattr(options, name, None if value is None else os.fsencode(value))
            if idle_file is None and root is None and nvml is None and tape is None:
                idle_file = _lib.idle_file()
            options.idle_file = os.fsencode(idle_file) if idle_file else None
            options.interval_ms = 0 if tape is not None else round(interval_s * 1000)
            options.max_windows = max_windows
            options.attribution = int(attribution)
            self._log = options.log = type(options.log)(self._remarks)
            options.log_warnings_only = 1  # an interrupt that comes within the call is lost
            self._open_meter(options)
        except Error as error:
            if root is not None or tape is not None:  # the caller's choice
                raise
            self._reasons = (str(error),)
        self._warn()

    def _open_meter(self, options: _abi.Options) -> None:
        error, handle = new(_abi.Error), ctypes.c_void_p()
        check(self._library.wattle_meter_open(options, handle, error), error)
        self._handle = handle.value
        _meters.add(self)
        self._domains = self.domains
        self._reasons = tuple(domain.why() for domain in self._domains if domain.method == "none" or domain.lacks_sensor())
        if options.attribution:
            chosen = ctypes.c_void_p()
            code = self._library.wattle_set_open(self._handle, _abi.SET_SELF, 0, None, chosen, error)
            if code < 0:
                self._reasons += (f"own energy: {_lib.text(error.text) or code}",)
            self._set = chosen.value if code >= 0 else None
            if not self._set:
                self._flags = 0

    def _warn(self) -> None:
        remarks, self._remarks.lines = self._remarks.lines or [], None
        if self._handle is not None:
            self._reasons = (*remarks, *self._reasons)
            modelled = [d.name for d in self._domains if d.in_total and d.method == "modelled"]
            if modelled:
                remarks.append(f"{', '.join(modelled)} cannot be measured here: figures are guessed from load (modelled), with wide bounds")
            remarks += [domain.why() for domain in self._domains if domain.lacks_sensor()]
        said = "wattle: " + "; ".join(remarks or self._reasons)
        if (remarks or self._reasons and self._handle is None) and said not in _warned:
            import warnings

            _warned.add(said)
            warnings.warn(said, WattleWarning, stacklevel=_depth())

    # ---- What there is ----

    @property
    def is_open(self) -> bool:
        """Whether it measures: the library was found, and the meter is not closed."""
        return self._handle is not None

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why there is no measured figure of a domain, or none at all."""
        return self._reasons

    @property
    def domains(self) -> tuple[Domain, ...]:
        """The machine's domains, as of now."""
        with self._lock:
            if self._handle is None:
                return self._domains
            return tuple(self._domain(i) for i in range(self._library.wattle_meter_domains(self._handle)))

    def _domain(self, i: int) -> Domain:
        raw = new(_abi.Domain)
        check(self._library.wattle_meter_domain(self._handle, i, raw))
        return Domain(raw)

    def _with_reasons(self, energies: Iterable[_abi.Energy]) -> tuple[Domain, ...]:
        """The domains; those that have no figure with their reasons as of now."""
        with self._lock:
            if self._handle is None:
                return self._domains
            return tuple(d if raw.has_energy else self._domain(i) for i, (d, raw) in enumerate(zip(self._domains, energies)))

    @property
    def open_windows(self) -> tuple[str, ...]:
        """The names of the windows that are open."""
        self._sweep()
        return tuple(self._open)

    def gpus(self) -> list[Gpu]:
        """The GPUs, asked at most once a second; [] where there are none, or there was no answer yet."""
        made = []
        with self._lock:
            if self._handle is None:
                return []
            raw, of = new(_abi.Gpu), new(_abi.GpuProcess)
            for i in range(max(0, self._library.wattle_meter_gpus(self._handle))):
                check(self._library.wattle_meter_gpu(self._handle, i, raw))
                processes = []
                for k in range(raw.processes):
                    check(self._library.wattle_meter_gpu_process(self._handle, i, k, of))
                    processes.append(GpuProcess(of))
                domain = self._domains[raw.domain].name if raw.domain >= 0 else None
                made.append(Gpu(i, raw, domain, processes))
        return made

    def consumers(self, window: str | None = None) -> Consumers:
        """
        Who used the energy of an open window that was begun with ``consumers=True``, or since the meter was opened.

        Raises
        ------
        WindowError
            There is no such window.
        Error
            The meter has no attribution, or measures nothing.
        """
        if window is not None and window not in self._open:
            raise self._not_open(window)
        key = self._open[window].key if window is not None else None
        error, handle = new(_abi.Error), ctypes.c_void_p()
        with self._lock:
            if self._handle is None:
                raise Error("; ".join(self._reasons))
            check(self._library.wattle_meter_consumers(self._handle, key, handle, error), error)
        return Consumers(handle.value, [domain.name for domain in self._domains])

    # ---- Windows ----

    def begin(self, name: str, *, exact: bool | None = None, consumers: bool = False, sync: Sync | bool = True) -> None:
        """
        Begins a window; windows may nest and overlap.

        Parameters
        ----------
        name : str
        exact : bool or None
            As the meter's, for this window.
        consumers : bool
            Keep accounts of all consumers for it: see `consumers`.
        sync : bool, str, callable or None
            True: the meter's. Else what to wait for at this edge (and at the end), or nothing.

        Raises
        ------
        WindowError
            A window of that name is open, or too many are.
        """
        self._begin(name, self._flags_of(exact, consumers), sync)

    def _flags_of(self, exact: bool | None, consumers: bool = False) -> int:
        flags = self._flags if exact is None else (_abi.WINDOW_EXACT if exact and self._set else 0)
        return flags | _abi.WINDOW_CONSUMERS if consumers else flags

    def _begin(self, name: str, flags: int, sync: Sync | bool = True, owner: object = None) -> _Open:
        if not isinstance(name, str) or not name or "\0" in name:
            raise ValueError(f"a window's name is text without NUL, and not empty: {name!r}")
        if self._is_closed:
            raise Error("the meter is closed: open another one")
        key = name.encode(errors="ignore")
        if len(key) > NAME_BYTES or key.decode() != name:
            key = own_key(name)
        wait = self._wait if sync is True else None if sync is False else _sync.function(sync)
        opened = _Open(name, key, Window(name, self.carbon, lambda: self.read(name)), wait, owner)
        try:
            if wait is not None:
                wait()
            with self._lock:
                if self._open.setdefault(name, opened) is not opened:
                    self._sweep()
                    if self._open.setdefault(name, opened) is not opened:
                        said = f"window {name!r} is open already; open are {self._names()}"
                        raise WindowError(said, -_abi.E_WINDOW_OPEN)
                if self._handle is not None:
                    self._begin_in_library(opened, flags)
        except BaseException:
            self._forget(opened)
            raise
        return opened

    def _begin_in_library(self, opened: _Open, flags: int) -> None:
        before = self._begun.get(opened.key)
        if before is not None:
            self._forget(before)
        self._begun[opened.key] = opened  # before, as an interrupt may come after
        code = self._library.wattle_window_begin_with(self._handle, opened.key, flags)
        if code == -_abi.E_TOO_MANY:
            self._sweep()
            code = self._library.wattle_window_begin_with(self._handle, opened.key, flags)
        if code >= 0:
            return
        del self._begun[opened.key]
        if code == -errno.EINVAL and opened.key != own_key(opened.name):
            opened.key = own_key(opened.name)
            self._begin_in_library(opened, flags)
            return
        if code == -_abi.E_TOO_MANY:
            raise WindowError(f"too many windows are open: {self._names()}; Meter(max_windows=…) allows more", code)
        if code == -_abi.E_WINDOW_OPEN:
            raise WindowError(f"window {opened.name!r} is open already: it is the recording's, or was marked from outside", code)
        check(code)

    def _forget(self, opened: _Open, reason: str = "the window was interrupted") -> None:
        """Takes a window out, however far its beginning or end came."""
        opened.window._fail((reason,))
        with self._lock:
            if self._open.get(opened.name) is opened:
                del self._open[opened.name]
            if self._begun.get(opened.key) is opened:
                if self._handle is not None:
                    self._library.wattle_window_cancel(self._handle, opened.key)
                del self._begun[opened.key]

    def _sweep(self) -> None:
        """Forgets what interrupts left."""
        with self._lock:
            for opened in [*self._open.values()]:
                if opened.is_lost():
                    self._forget(opened)
            for opened in [*self._begun.values()]:
                if self._open.get(opened.name) is not opened:
                    self._forget(opened)

    def _begin_unique(self, name: str, flags: int, sync: Sync | bool = True, owner: object = None) -> _Open:
        """Begins one whose name may be open already: it gets a number."""
        key, n = name, 1
        while True:
            try:
                return self._begin(key, flags, sync, owner)
            except WindowError as error:
                if error.code != -_abi.E_WINDOW_OPEN:
                    raise
            n += 1
            key = f"{name} ({n})"

    def _names(self) -> str:
        names = list(self._open)
        more = f" and {len(names) - 10} more" if len(names) > 10 else ""
        return (", ".join(repr(name[:60]) for name in names[:10]) or "none") + more

    def _not_open(self, name: str) -> WindowError:
        return WindowError(f"no window {name!r} is open; open are {self._names()}", -_abi.E_NO_WINDOW)

    def end(self, name: str, *, sync: Sync | bool = True) -> Window:
        """
        Ends a window and returns its figures.

        Raises
        ------
        WindowError
            No window of that name is open.
        """
        opened = self._open.get(name)
        if opened is None:
            raise self._not_open(name)
        return self._end(opened, sync)

    def _end(self, opened: _Open, sync: Sync | bool = True) -> Window:
        wait = opened.wait if sync is True else None if sync is False else _sync.function(sync)
        try:
            if wait is not None:
                wait()
        finally:
            self._measure(opened, opened.window, ends=True)
        return opened.window

    def _measure(self, opened: _Open, window: Window, ends: bool) -> None:
        """Fills in the figures of a window, which may end with that."""
        n = len(self._domains)
        raw, energies = new(_abi.Window), new_array(_abi.Energy, n)
        use = shares = None
        with self._lock:  # the name is free when the library has ended the window, and no sooner: other threads may wait for it
            is_open = self._open.get(opened.name) is opened
            if ends and is_open:
                del self._open[opened.name]
            if self._handle is None:
                window._fail(self._reasons or ("the meter is closed",))
                return
            if not is_open:
                raise self._not_open(opened.name)
            if self._set is not None:
                use, shares = new(_abi.Use), new_array(_abi.Share, n)
            if not ends:
                code = self._library.wattle_window_read(self._handle, opened.key, raw, energies, n)
                if code >= 0 and use is not None:
                    check(self._library.wattle_set_read(self._set, opened.key, use, shares, n))
            elif use is not None:
                code = self._library.wattle_set_end(self._set, opened.key, raw, energies, use, shares, n)
            else:
                code = self._library.wattle_window_end(self._handle, opened.key, raw, energies, n)
            if ends:
                self._begun.pop(opened.key, None)
        if code == -_abi.E_NO_WINDOW:
            window._fail(("the window was interrupted",))
            return
        check(code)
        if use is not None and shares is not None:
            known = zip(self._domains, shares, energies)
            window.own = Use(use, {d.name: Share(share) for d, share, energy in known if energy.has_energy})
        lacks = not raw.total.has_energy or raw.total.flags & _abi.ENERGY_INCOMPLETE
        domains = self._with_reasons(energies) if ends and lacks else self._domains
        window._fill(raw, energies, domains, "" if ends else "running")

    def read(self, name: str) -> Window:
        """The running value of an open window."""
        window = self._read(name)
        window._domains = self.domains  # with their reasons as of now
        return window

    def _read(self, name: str) -> Window:
        opened = self._open.get(name)
        if opened is None:
            raise self._not_open(name)
        window = Window(opened.window.name, self.carbon)
        self._measure(opened, window, ends=False)
        return window

    def cancel(self, name: str) -> None:
        """Forgets an open window. Raises `WindowError` if there is none."""
        with self._lock:
            opened = self._open.get(name)
            if opened is None:
                raise self._not_open(name)
            self._forget(opened, "the window was cancelled")

    def reset(self) -> None:
        """Forgets all open windows."""
        for name in self.open_windows:
            try:
                self.cancel(name)
            except WindowError:  # another thread was faster
                pass

    def window(
        self, name: str = "window", *, exact: bool | None = None, consumers: bool = False, sync: Sync | bool = True
    ) -> _Block:
        """
        A window around a ``with`` block; names may repeat. What ``as`` gives is filled in at the end.

        An exception in the block ends the window and goes on.
        """
        return _Block(self, name, self._flags_of(exact, consumers), sync)

    def push(self, name: str, *, exact: bool | None = None, sync: Sync | bool = True) -> None:
        """Begins a window on the stack of this thread or asyncio task; names may repeat."""
        opened = self._begin_unique(name, self._flags_of(exact), sync)
        try:
            opened.pushed_by = _task()
            self._stack.set((*self._own_stack(), (get_ident(), weakref.ref(opened))))
            opened.window.name = name
        except BaseException:
            self._forget(opened)
            raise

    def _own_stack(self) -> tuple[_Pushed, ...]:
        """What is open of the stack; not what the thread that began this one has on its own (a free-threaded Python hands that on)."""
        own = (one for one in self._stack.get() if one[0] == get_ident())
        return tuple(one for one in own if (opened := one[1]()) and self._open.get(opened.name) is opened)

    def _newest_pushed(self) -> _Open | None:
        """Of the stack, and of what a task of this thread pushed before it ended, such as a notebook's cell that awaits."""
        own = [of() for _, of in self._own_stack()]
        pushed = ((opened, opened.pushed_by) for opened in reversed([*self._open.values()]))
        return next((one for one, by in pushed if one in own or by is not None and by[0] == get_ident() and _is_over(by[1]())), None)

    def pop(self, *, sync: Sync | bool = True) -> Window:
        """Ends the newest window of the stack. Raises `WindowError` if there is none."""
        opened = self._newest_pushed()
        if opened is None:
            raise WindowError("pop without push: the stack of this thread or task is empty", -_abi.E_NO_WINDOW)
        try:
            return self._end(opened, sync)
        finally:
            self._stack.set(self._own_stack())  # an interrupt may have come before its end

    # ---- Samples ----

    def tick(self) -> bool:
        """Takes one sample of every domain, or moves a tape on; False: the tape is over, or nothing is measured."""
        with self._lock:
            if self._handle is None:
                return False
            code = self._library.wattle_meter_tick(self._handle)
        if code == -errno.ENODATA:
            return False
        check(code)
        return True

    def sampler(self, domains: Iterable[str] | None = None) -> Sampler:
        """
        A `Sampler`, for power over time.

        Parameters
        ----------
        domains : iterable of str or None
            Also ``"total"``. None: those that make up the total.

        Raises
        ------
        ValueError
            There is no such domain.
        """
        return Sampler(self, domains)

    def cost(self) -> dict[str, float]:
        """What measuring cost: ``ticks``, ``late_ticks``, ``tick_max_s`` and ``tick_sum_s`` of wall time."""
        raw = new(_abi.Self)
        with self._lock:
            if self._handle is not None:
                check(self._library.wattle_meter_self(self._handle, raw))
        times = {"tick_max_s": raw.tick_max_ns / 1e9, "tick_sum_s": raw.tick_sum_ns / 1e9}
        return {"ticks": raw.ticks, "late_ticks": raw.late_ticks, **times}

    # ---- Its end ----

    def _abandon(self, reason: str) -> None:
        self._handle = self._set = None
        self._reasons = (reason,)
        self._begun.clear()
        for name in self.open_windows:
            opened = self._open.get(name)
            if opened is not None:
                opened.window._fail(self._reasons)
                self._open.pop(name, None)

    def close(self) -> None:
        """Stops measuring, and ends its recording. Windows that are open are forgotten."""
        try:
            if self._recorder is not None:
                self._recorder.close()
        finally:
            with self._lock:
                handle, chosen = self._handle, self._set
                self._is_closed = True
                self._abandon("the meter is closed")
                if chosen is not None:
                    self._library.wattle_set_close(chosen)
                if handle is not None:
                    self._library.wattle_meter_close(handle)

    def _forget_parents(self) -> None:
        self._lock = RLock()
        if self._handle is not None:
            self._abandon(f"this meter is of process {os.getppid()}, which forked: open one in this process")

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()

    def __repr__(self) -> str:
        if not self.is_open:
            return f"<wattle.Meter: {'; '.join(self._reasons)}>"
        return f"<wattle.Meter: {', '.join(domain.name for domain in self._domains if domain.method != 'none')}>"

    def _repr_html_(self) -> str:
        from html import escape

        cells = ((d.name, d.device or "", d.source or "", d.method, d.reason or "") for d in self.domains)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in cells)
        return f"<table><caption><b>wattle.Meter</b></caption>{body}</table>" if body else f"<code>{escape(repr(self))}</code>"


def _close_all() -> None:
    failed: Error | None = None
    for meter in list(_meters):
        try:
            meter.close()
        except Error as error:  # of a recording's disk
            failed = error
    if failed is not None:
        raise failed


def _after_fork() -> None:
    for meter in list(_meters):
        meter._forget_parents()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_after_fork)


