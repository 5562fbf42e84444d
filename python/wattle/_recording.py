# SPDX-License-Identifier: MIT
"""Reads recordings with libwattle-recording: objects, and pandas frames with one observation a row."""

from __future__ import annotations

import ctypes
import os

from . import _abi
from ._lib import Error, check, load, load_recording, need, new, new_array, text
from .figures import Carbon, Consumers, Domain, Window

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator

    import pandas

TO_THE_END_NS = 2**62
_FACTS = "command host machine-id boot-id product cpu kernel virtual-machine container gpus location wattle".split()
_METHODS = ["none", "counter", "integrated", "modelled", "mixed"]
_STATUSES = ["ok", "stale", "gap", "denied", "gone", "failed", "asleep", "absent"]


class Pass:
    """One way through a recording, from its beginning; ``step`` and ``energies`` are of where it is."""

    def __init__(self, path: str, at_end: bool = False) -> None:
        self._library = load_recording()
        self._error = new(_abi.Error)
        handle = ctypes.c_void_p()
        begin = self._library.wattle_recording_open_end if at_end else self._library.wattle_recording_open
        check(begin(os.fsencode(path), handle, self._error), self._error)
        self.handle: Any = handle
        self.n = self._library.wattle_recording_domains(handle)
        if not self.n:
            raise Error(f"{path}: it holds no domain that can be read: wattle report --check says what is missing")
        self.step, self.energies = new(_abi.RecordingStep), new_array(_abi.Energy, self.n)

    def next(self, interval_ns: int) -> bool:
        """Goes on to the first sample so much later; False: that was the end. Raises `Error`."""
        args = (interval_ns, self.step, self.energies, self.n, self._error)
        return check(self._library.wattle_recording_next(self.handle, *args), self._error) > 0

    def fact(self, key: str) -> str | None:
        return text(self._library.wattle_recording_fact(self.handle, key.encode()))

    def domains(self) -> tuple[Domain, ...]:
        made, raw = [], new(_abi.Domain)
        for i in range(self.n):
            check(self._library.wattle_recording_domain(self.handle, i, raw))
            made.append(Domain(raw))
        return tuple(made)

    def __del__(self) -> None:
        handle, self.handle = getattr(self, "handle", None), None
        if handle:
            self._library.wattle_recording_close(handle)


class RecordedWindow(Window):
    """
    A `Window` of a recording.

    Attributes
    ----------
    pid : int or None
        The process that marked it from outside; None: the one that recorded.
    """

    __slots__ = ("pid",)
    pid: int | None


class Recording:
    """
    What was recorded; `read` opens it. Iterating gives its windows, ``[name]`` is `window`. One thread at a time uses it.

    The frames need pandas, and are made anew by each call, from the readings in the file. All have ``begin_utc``,
    ``duration_s`` (monotonic seconds), ``domain`` with ``in_total`` (the sum of these rows is the row ``"total"``, whose
    uncertainty is the library's), ``method`` and ``status``. What is not known is NaN or NA.

    Attributes
    ----------
    path : str
    facts : dict of str to str
        Such as ``"host"``, ``"command"``, ``"machine-id"``, ``"cpu"``; those that it does not say are missing. `fact` gives any.
    domains : tuple of Domain
    is_whole : bool
        It was ended properly; False: it was cut off, or is being written. All that there is can be read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._end: Pass | None = None
        self._total: Window | None = None
        first = Pass(self.path)
        said = ((key, first.fact(key)) for key in _FACTS)
        self.facts = {key: value for key, value in said if value}
        self.domains = first.domains()
        self.is_whole = bool(load_recording().wattle_recording_is_whole(first.handle))
        place = self.facts.get("location")
        try:
            self._carbon: Carbon | None = Carbon(place)
        except ValueError:  # a place that another version knew
            self._carbon = None

    def fact(self, key: str) -> str | None:
        """A word about the recording (docs/recording.md lists them); None: it does not say."""
        return self.facts.get(key) or (self._end or Pass(self.path)).fact(key)

    # ---- Windows and users ----

    def _at_end(self) -> Pass:
        """A pass that has seen everything: by the summary of a recording that was ended properly, if that has its total."""
        if self._end is None and self.is_whole:
            end = Pass(self.path, at_end=True)
            windows = {window.name: window for window in self._windows(end)}
            self._total = windows.get("recording") or windows.get("run")
            self._end = end if self._total is not None else None
        if self._end is None:
            end, window = Pass(self.path), new(_abi.Window)
            if end.next(TO_THE_END_NS):
                window.begin_utc_ns, window.begin_mono_ns = end.step.begin_utc_ns, end.step.begin_mono_ns
                window.duration_ns, window.total = end.step.duration_ns, end.step.total
            self._total = RecordedWindow("recording", self._carbon, None)
            self._total._fill(window, end.energies, self.domains)
            while end.next(TO_THE_END_NS):  # only a recording that is being written grows
                pass
            self._end = end
        return self._end

    def __iter__(self) -> Iterator[RecordedWindow]:
        return self._windows(self._at_end())

    def _windows(self, end: Pass) -> Iterator[RecordedWindow]:
        i = 0
        while True:
            raw, energies = new(_abi.RecordingWindow), new_array(_abi.Energy, end.n)
            if load_recording().wattle_recording_window(end.handle, i, raw, energies, end.n) < 0:
                return
            window = RecordedWindow(text(raw.name) or "", self._carbon, None)
            window.pid = raw.pid or None
            window._fill(raw.window, energies, self.domains)
            yield window
            i += 1

    def window(self, name: str) -> RecordedWindow:
        """The last window of that name. Raises `KeyError`."""
        found = [window for window in self if window.name == name]
        if not found:
            raise KeyError(f"no window {name!r} in {self.path}: there are {', '.join(sorted({w.name for w in self}))}")
        return found[-1]

    __getitem__ = window

    @property
    def total(self) -> Window:
        """The recording's own window, which is the command's if it recorded one; if it was not ended, all that there is."""
        self._at_end()
        assert self._total is not None
        return self._total

    def consumers(self) -> Consumers:
        """Who used the energy. Raises `Error`."""
        end, handle, error = self._at_end(), ctypes.c_void_p(), new(_abi.Error)
        check(load_recording().wattle_recording_consumers(end.handle, handle, error), error)
        return Consumers(handle.value, [domain.name for domain in self.domains])

    # ---- Frames ----

    def _frame(self, heads: Any, energies: Any) -> pandas.DataFrame:
        """
        Rows from the C library's structs, as the bytes of an array: the total of each stretch and each domain.

        ``heads`` has the columns of all stretches; ``energies`` the figures, in the order of the rows.
        """
        need("pandas", "frames", "pandas")
        import numpy
        import pandas

        n = len(self.domains) + 1
        raw: Any = numpy.frombuffer(energies, dtype=numpy.dtype(_abi.Energy))
        known = raw["has_energy"] != 0
        measured_s = raw["measured_ns"] / 1e9

        def figure(values: Any, where: Any) -> Any:
            return numpy.where(where, values / 1e6, numpy.nan)

        def words(codes: Any, names: list[str]) -> Any:
            return pandas.Categorical.from_codes(codes, categories=pandas.Index(names))

        times = len(raw) // n
        columns = {name: values.repeat(n) for name, values in heads.items()}
        columns["domain"] = words(numpy.tile(numpy.arange(n), times), ["total", *(d.name for d in self.domains)])
        columns["in_total"] = numpy.tile([False, *(d.in_total for d in self.domains)], times)
        columns["energy_j"] = figure(raw["energy_uj"], known)
        columns["uncertainty_j"] = figure(raw["uncertainty_uj"], known)
        powers = known & (raw["has_power"] != 0)
        columns["mean_w"] = figure(raw["mean_uw"], powers)
        columns["max_w"] = figure(raw["max_uw"], powers)
        with numpy.errstate(divide="ignore", invalid="ignore"):
            columns["uncertainty_w"] = numpy.where(powers, columns["uncertainty_j"] / measured_s, numpy.nan)
        columns["method"] = words(raw["method"], _METHODS)
        columns["status"] = words(raw["status"], _STATUSES)
        columns["measured_s"], columns["gap_s"] = measured_s, raw["gap_ns"] / 1e9
        columns["is_short"] = raw["flags"] & _abi.ENERGY_SHORT != 0
        return pandas.DataFrame(columns)

    def _steps(self, interval_s: float | None) -> pandas.DataFrame:
        need("pandas", "frames", "pandas")
        import numpy
        import pandas

        head = numpy.dtype([("size", "u8"), ("utc", "i8"), ("mono", "i8"), ("took", "i8"), ("lost", "i4")])
        if (interval_s or 0) < 0:
            raise ValueError(f"interval_s is {interval_s}: it has to be at least 0, or None")
        at, interval_ns = Pass(self.path), round((interval_s or 0) * 1e9)
        heads, energies = bytearray(), bytearray()
        step, total = memoryview(at.step).cast("B")[: head.itemsize], memoryview(at.step.total).cast("B")
        each = memoryview(at.energies).cast("B")[: at.n * ctypes.sizeof(_abi.Energy)]
        while at.next(interval_ns):
            heads += step
            energies += total
            energies += each
        raw: Any = numpy.frombuffer(heads, dtype=head)
        begin = pandas.DatetimeIndex(raw["utc"].view("M8[ns]"), tz="UTC")
        return self._frame({"begin_utc": begin, "duration_s": raw["took"] / 1e9, "is_lost": raw["lost"] != 0}, energies)

    def energy(self, interval_s: float | None = 1.0) -> pandas.DataFrame:
        """
        Energy over time: a row for each stretch and domain.

        Parameters
        ----------
        interval_s : float or None
            How long a stretch is, at least one sample; None: each sample.

        Returns
        -------
        pandas.DataFrame
            Also ``energy_j``, ``uncertainty_j`` (k = 2), ``measured_s`` and ``gap_s`` (what the energy covers, and what it does
            not), ``is_short`` (see `Energy`), ``is_lost`` (a part of the stretch is damaged in the file).

        Raises
        ------
        Error
            The file has gone, or cannot be read.
        ValueError
            ``interval_s`` is below 0.
        """
        return self._steps(interval_s).drop(columns=["mean_w", "max_w", "uncertainty_w"])

    def power(self, interval_s: float | None = 1.0) -> pandas.DataFrame:
        """
        Mean power over time: a row for each stretch and domain, as `energy` has them.

        Returns
        -------
        pandas.DataFrame
            Also ``mean_w`` and ``uncertainty_w`` (k = 2), ``max_w`` (the highest mean between two samples), ``is_lost``.
        """
        return self._steps(interval_s).drop(columns=["energy_j", "uncertainty_j", "measured_s", "gap_s", "is_short"])

    def windows(self) -> pandas.DataFrame:
        """The windows that ended: a row for each and each domain, with ``window`` (its name) and ``pid`` (who marked it)."""
        need("pandas", "frames", "pandas")
        import numpy
        import pandas

        windows, energies = list(self), bytearray()
        for window in windows:
            each: Any = window._energies
            energies += bytes(window._raw) + bytes(each)[: len(self.domains) * ctypes.sizeof(_abi.Energy)]
        begin = numpy.array([window._window.begin_utc_ns for window in windows if window._window], dtype="M8[ns]")
        heads: dict[str, Any] = {"window": numpy.array([window.name for window in windows], dtype=object)}
        heads["pid"] = pandas.array([window.pid for window in windows], dtype="Int64")
        heads["begin_utc"] = pandas.DatetimeIndex(begin, tz="UTC")
        heads["duration_s"] = numpy.array([window.duration_s for window in windows], dtype=float)
        return self._frame(heads, energies)

    def to_parquet(self, path: str | os.PathLike[str], interval_s: float | None = 1.0, what: str = "power") -> None:
        """
        Writes energy() or power() of every interval, windows() or processes() as a Parquet file. Needs pyarrow.

            wattle.read("night.wattle").to_parquet("night.parquet", interval_s=60)
        """
        if what not in ("energy", "power", "windows", "processes"):
            raise ValueError(f"what is energy, power, windows or processes, not {what!r}")
        arrow: Any = need("pyarrow", "Parquet files", "parquet")
        parquet: Any = need("pyarrow.parquet", "Parquet files", "parquet")
        frame = getattr(self, what)(*([interval_s] if what in ("energy", "power") else []))
        table = arrow.Table.from_pandas(frame, preserve_index=False)
        parquet.write_table(table.replace_schema_metadata({b"wattle": self.path.encode()}), os.fspath(path))

    def processes(self, domain: str | None = None) -> pandas.DataFrame:
        """
        Who used the energy of a domain, or of the total: a row for each.

        Returns
        -------
        pandas.DataFrame
            ``full_j``, ``dynamic_j`` (see `Share`), ``uncertainty_j`` (k = 2), and the attributes of `Consumer`. The sum of
            ``full_j`` is the energy.

        Raises
        ------
        KeyError
            There is no such domain.
        """
        need("pandas", "frames", "pandas")
        import pandas

        users = list(self.consumers())
        shares = [user.share(domain) for user in users]
        columns: dict[str, Any] = {"domain": pandas.Categorical([domain or "total"] * len(users))}
        columns["state"] = pandas.Categorical([user.state for user in users])
        start = pandas.array([user.start_utc_s for user in users], dtype="Float64")
        columns["start_utc"] = pandas.to_datetime(start, unit="s", utc=True)
        plan: Any = (
            (users, "Int64", "pid parent processes"),
            (users, "string", "name command user cgroup unit container pod job"),
            (users, "bool", "is_in_command"),
            (shares, "float64", "full_j dynamic_j uncertainty_j"),
            (users, "float64", "cpu_s"),
            (users, "Int64", "rss_bytes pss_bytes uss_bytes gpu_memory_bytes"),
        )
        for rows, dtype, names in plan:
            for name in names.split():
                columns[name] = pandas.array([getattr(row, name, None) for row in rows], dtype=dtype)
        return pandas.DataFrame(columns)

    # ---- Its end ----

    def close(self) -> None:
        """Frees what was read; the recording can still be used, and is read again then."""
        self._end = self._total = None

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        said = [self.facts[key] for key in ("host", "command") if key in self.facts]
        said += [", ".join(domain.name for domain in self.domains if domain.method != "none")]
        return f"<wattle.Recording {self.path}: {'; '.join(said)}{'' if self.is_whole else '; not ended'}>"

    def _repr_html_(self) -> str:
        from html import escape

        rows = [*self.facts.items(), *((d.name, d.device or d.source or d.reason or "") for d in self.domains)]
        body = "".join(f"<tr><td>{escape(key)}</td><td>{escape(value)}</td></tr>" for key, value in rows)
        note = "" if self.is_whole else ", not ended"
        return f"<table><caption><b>{escape(self.path)}</b>{note}</caption>{body}</table>"


def read(path: str | os.PathLike[str]) -> Recording:
    """
    Opens a recording, also one that is still being written: what there is of it now.

    Raises
    ------
    Error
        There is no such file, it is no recording, or it is damaged so that nothing can be read.
    """
    return Recording(path)
