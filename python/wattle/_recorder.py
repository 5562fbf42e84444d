# SPDX-License-Identifier: MIT
"""Makes recordings from code, and marks windows in those of other processes."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import errno
import hashlib
import os
import re
import shlex
import socket
import stat
import sys
import threading
import time
import warnings
from types import TracebackType

from . import _abi
from ._lib import Error, WattleWarning, WindowError, check, load, load_recording, new, text
from .figures import Window
from .meter import NAME_BYTES, Meter, local_rank, own_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, ContextManager, Iterator

_VARIABLE = "WATTLE_MARK"
_NAME_ROOM, _PATH_SIZE = 20, 108  # the longest names before the suffix, sun_path (src/commands/mark/place.c)
_WAIT_S = 10.0  # for the recording of the node's first rank
_warned: set[str] = set()
_recorders: set[Recorder] = set()


# ---- Marks ----


class Mark:
    """
    A window that is marked in the recording of another process: a ``with`` block, or `begin` and `end`. See `mark`.

    Attributes
    ----------
    name : str
    is_marked : bool
        It is open in the recording.
    """

    def __init__(self, name: str, where: str | None, wait_s: float = 0.0) -> None:
        self.name, self.is_marked = name, False
        self._where, self._wait_s = where, wait_s

    def _ask(self, verb: str, wait_s: float = 0.0) -> bool:
        """Whether a recording took it."""
        if "\0" in self.name:
            raise ValueError(f"window {self.name!r}: a name has no NUL")
        error, began = new(_abi.Error), time.monotonic()
        where = None if self._where is None else os.fsencode(self._where)
        while True:
            code = getattr(load(), f"wattle_mark_{verb}")(where, self.name.encode(errors="surrogatepass"), error)
            waited_s = time.monotonic() - began
            if code not in (-errno.ENOENT, -errno.ECONNREFUSED) or waited_s >= wait_s:
                break
            if waited_s > 1 and "wait" not in _warned:
                _warned.add("wait")
                warnings.warn(f"wattle: waits {wait_s:g} s for this machine's first rank to record", WattleWarning, stacklevel=5)
            time.sleep(0.05)
        why = text(error.text) or str(code)
        if where is None:
            why += ": start it with 'wattle run --record run.wattle -- python …', or call wattle.record in it first"
        elif waited_s >= wait_s > 0:
            why = f"this machine's first rank has not begun to record within {wait_s:g} s"
        if code in (-_abi.E_NO_WINDOW, -_abi.E_WINDOW_OPEN, -_abi.E_TOO_MANY):
            raise WindowError(f"window {self.name!r}: {why}", code)
        if code == -errno.EINVAL:
            raise ValueError(f"window {self.name!r}: {why}")
        if code < 0 and "marks" not in _warned:
            _warned.add("marks")
            warnings.warn(f"wattle: windows are not marked: {why}", WattleWarning, stacklevel=4)
        return bool(code >= 0)

    def begin(self) -> None:
        """
        Begins it; with one warning nothing happens where no recording listens.

        Raises
        ------
        WindowError
            A window of that name is open in the recording, or too many are.
        ValueError
            The name is empty, longer than 63 bytes, or not plain text: it has control characters, invisible ones, or blanks at its ends.
        """
        self.is_marked = self._ask("begin", self._wait_s)

    def end(self) -> None:
        """Ends it; its figures stand in the recording. Raises `WindowError`: it was not begun, or is ended already."""
        self.is_marked = False
        self._ask("end")

    def __enter__(self) -> Mark:
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        if self.is_marked:
            self.end()


def mark(name: str) -> Mark:
    """
    Marks a window in the recording that ``wattle record``, ``wattle run --record`` or `record` in a parent makes.

    >>> with wattle.mark("epoch 1"):
    ...     train()

    The recording is found by WATTLE_MARK, which it sets for what it starts. Without one, nothing is marked, with one warning.
    """
    return Mark(name, os.environ.get(_VARIABLE))


def _is_ours(status: os.stat_result, others: int) -> bool:
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & others


def _is_base(path: str) -> bool:
    return path.startswith("/") and (not os.path.exists(path) or _is_ours(os.stat(path), stat.S_IWOTH))


def _places() -> Iterator[tuple[str, str, str]]:
    """Where `wattle mark` looks (src/commands/mark/place.c), best first: the base, the directory, how the sockets' names end."""
    is_root, runtime = os.geteuid() == 0, os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.exists(runtime) and _is_base(runtime) and not (is_root and runtime == "/run/user/0"):
        yield runtime, f"{runtime}/wattle", ".sock"
    elif is_root and _is_base("/run"):
        yield "/run", "/run/wattle", ".sock"
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read(8)
    except OSError:
        boot = ""
    base, below = os.environ.get("XDG_STATE_HOME", ""), "wattle/marks"
    if not base.startswith("/"):
        base, below = os.environ.get("HOME", ""), ".local/state/wattle/marks"
    if _is_base(base):
        yield base, f"{base}/{below}", f".{boot}.sock"


def _why_not(base: str, place: str, suffix: str) -> str:
    """Makes it. The reason why it cannot be used, or nothing."""
    if len(os.fsencode(place)) + _NAME_ROOM + len(suffix) >= _PATH_SIZE:
        return f"is too long: with its name a socket's path has at most {_PATH_SIZE - 1} bytes; set XDG_RUNTIME_DIR to a shorter one"
    try:
        made = ""
        for part in place.strip("/").split("/"):
            made += f"/{part}"
            if not os.path.isdir(made):
                os.mkdir(made, mode=0o700)
        if _is_ours(os.lstat(place), stat.S_IWGRP | stat.S_IWOTH) and _is_ours(os.stat(base), stat.S_IWOTH):
            return ""
    except OSError as error:
        return f"cannot be made: {error.strerror}"
    return "is not this user's alone: remove it, or set XDG_RUNTIME_DIR"


def _socket_of(path: str) -> str:
    """Where the recording of that file listens: every process of this user on this machine finds the same. Raises `Error`."""
    first = ""
    for base, place, suffix in _places():
        why = _why_not(base, place, suffix)
        if not why:
            return f"{place}/record-{hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:12]}{suffix}"
        first = first or f"{place} {why}"
    raise Error(first or "no directory is this user's own: set XDG_RUNTIME_DIR, or HOME", -errno.EPERM)


class _Listener:
    """Takes marks for a recorder, in a thread (src/base/mark.h has the protocol)."""

    def __init__(self, path: str, answer: Callable[[bytes, bytes], str]) -> None:
        self.path, self._answer = path, answer
        self._pid = os.getpid()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        hidden = f"{os.path.dirname(path)}/.{os.path.basename(path).removeprefix('record-')}"
        try:
            if os.path.lexists(hidden):
                os.unlink(hidden)
            self._socket.bind(hidden)
            self._socket.listen(64)
            os.rename(hidden, path)  # nobody finds one that does not listen yet
        except OSError as error:
            self._socket.close()
            raise Error(f"{path}: {error.strerror}", -(error.errno or 0)) from None
        threading.Thread(target=self._serve, name="wattle marks", daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                client = self._socket.accept()[0]
            except OSError:  # closed
                return
            with client:
                client.settimeout(1.0)
                try:
                    while message := client.recv(256):
                        verb, _, name = message.partition(b" ")
                        client.send(self._answer(verb, name).encode("utf-8", "replace"))
                except OSError:  # it said nothing, or has gone
                    pass

    def close(self) -> None:
        if self._pid == os.getpid():
            self._socket.shutdown(socket.SHUT_RDWR)
            try:
                os.unlink(self.path)
            except OSError:  # somebody tidied up
                pass
        self._socket.close()


# ---- Making recordings ----


class Recorder:
    """
    A recording that is being made; `record` begins it.

    Attributes
    ----------
    path : str
    meter : Meter or None
        What is recorded; all its windows are in the recording. None: the node's first rank records.
    """

    def __init__(self, path: str, meter: Meter | None, rank: int) -> None:
        self.path, self.meter, self._rank = path, meter, rank
        self._owns_meter, self._wait_s, self._begin_utc_ns = False, _WAIT_S, time.time_ns()
        self._handle: Any = None
        self._listener: _Listener | None = None
        self._failed = ""
        self._where = None if meter is not None else _socket_of(path)
        self._marks: dict[str, tuple[Mark, Window]] = {}
        self._begun: set[bytes] = set()

    def _start(self, options: _abi.RecorderOptions, facts: dict[str, str]) -> None:
        meter, error, handle = self.meter, new(_abi.Error), ctypes.c_void_p()
        assert meter is not None
        library = load_recording()
        with meter._lock:
            if meter._handle is None:
                raise Error("; ".join(meter.reasons))
            check(library.wattle_recorder_open(os.fsencode(self.path), meter._handle, options, handle, error), error)
            self._handle, meter._recorder = handle, self
            _recorders.add(self)
            try:
                for key, value in facts.items():
                    clean = "".join(letter if letter.isprintable() else " " for letter in value)
                    check(library.wattle_recorder_fact(handle, key.encode(), clean.encode("utf-8", "replace")[:8000]))
            except BaseException:
                self.close()
                os.unlink(self.path)
                raise

    def _listen(self) -> None:
        try:
            self._where = _socket_of(self.path)
            self._listener = _Listener(self._where, self._answer)
            os.environ.setdefault(_VARIABLE, self._where)
        except Error as error:
            warnings.warn(f"wattle: no windows can be marked from outside: {error}", WattleWarning, stacklevel=3)

    # ---- How it is ----

    @property
    def status(self) -> str:
        """``"recording"``; ``"failed"``: the disk has stopped it, the meter goes on; ``"closed"``; ``"elsewhere"``: another process records."""
        if self.meter is None:
            return "elsewhere"
        with self.meter._lock:
            if self._handle is None:
                return "failed" if self._failed else "closed"
            error = new(_abi.Error)
            if load_recording().wattle_recorder_status(self._handle, error) < 0:
                self._failed = text(error.text) or "unknown"
        return "failed" if self._failed else "recording"

    @property
    def reason(self) -> str | None:
        """Why it failed. What came before can be read."""
        return self._failed if self.status == "failed" else None

    # ---- Windows ----

    def window(self, name: str = "window") -> ContextManager[Window]:
        """
        A window around a ``with`` block.

        Where the node's first rank records, it is marked there: figures are None here, and ``reasons`` says where they stand.
        """
        return self.meter.window(name) if self.meter is not None else self._marked(name)

    def begin(self, name: str) -> None:
        """Begins a window. Raises `WindowError`."""
        if self.meter is not None:
            self.meter.begin(name)
        else:
            self._marks[name] = self._mark(name)

    def end(self, name: str) -> Window:
        """Ends a window; see `window`. Raises `WindowError`."""
        if self.meter is not None:
            return self.meter.end(name)
        if name not in self._marks:
            raise WindowError(f"no window {name!r} is open", -_abi.E_NO_WINDOW)
        mark, window = self._marks.pop(name)
        mark.__exit__()
        return window

    @contextlib.contextmanager
    def _marked(self, name: str) -> Iterator[Window]:
        mark, window = self._mark(name)
        try:
            yield window
        finally:
            mark.__exit__()

    def _mark(self, name: str) -> tuple[Mark, Window]:
        wait_s, self._wait_s = self._wait_s, 0.0
        mark, window = Mark(f"rank {self._rank}: {name}", self._where, wait_s), Window(name, None, None)
        try:
            mark.begin()
        except ValueError as error:
            if isinstance(error, WindowError):
                raise
            mark.name = own_key(mark.name).decode()  # as the first rank's windows are called
            mark.begin()
        stands = f"its figures are in {self.path}, of the window {mark.name!r}"
        window._fail((stands if mark.is_marked else f"it could not be marked: nobody records {self.path}",))
        return mark, window

    def _answer(self, verb: bytes, key: bytes) -> str:
        """To a mark from outside."""
        meter, code = self.meter, -errno.EOPNOTSUPP
        assert meter is not None
        with meter._lock:
            if self._handle is None or meter._handle is None:
                return f"error {errno.EIO}: the recording has ended"
            if verb == b"status":
                file = os.stat(self.path)
                lines = [f"file {os.path.realpath(self.path)}", f"id {file.st_dev}:{file.st_ino}", f"pid {os.getpid()}"]
                lines += [f"begin {self._begin_utc_ns}", "stop no", *(f"window {w.decode()}" for w in sorted(self._begun))]
                return "ok\n" + "\n".join(lines)
            if verb == b"stop":
                return f"error {-code}: it is of the Python program, process {os.getpid()}, and ends with it"
            if b"\0" in key:
                code = -errno.EINVAL
            elif len(key) > NAME_BYTES:
                code = -errno.ENAMETOOLONG
            elif verb == b"begin":
                code = meter._library.wattle_window_begin_with(meter._handle, key, 0)
                if code >= 0:
                    self._begun.add(key)
            elif verb == b"end":
                code = -_abi.E_NO_WINDOW
                if key in self._begun:
                    self._begun.remove(key)
                    code = meter._library.wattle_window_end(meter._handle, key, None, None, 0)
        if code == -errno.EINVAL:
            return f"error {-code}: a window's name is plain text in UTF-8"
        return "ok" if code >= 0 else f"error {-code}: {text(load().wattle_strerror(code))}"

    # ---- Its end ----

    def close(self) -> None:
        """
        Ends the recording; the meter too if it was made for it.

        Raises
        ------
        Error
            The disk has stopped it, or the last of it could not be written. What came before can be read.
        """
        meter, error = self.meter, new(_abi.Error)
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()
            if os.environ.get(_VARIABLE) == listener.path:
                del os.environ[_VARIABLE]
        if meter is None or self._handle is None:
            return
        with meter._lock:
            handle, self._handle, meter._recorder = self._handle, None, None
            _recorders.discard(self)
            code = load_recording().wattle_recorder_close(handle, error)
        if code < 0:
            self._failed = text(error.text) or "unknown"
        if self._owns_meter:
            meter.close()
        if code > 0:
            warnings.warn(f"wattle: {self.path}: {text(error.text)}", WattleWarning, stacklevel=2)
        check(code, error)

    def _forget_parents(self) -> None:
        """In a child after a fork: the parent records, and the child's windows are marks."""
        if self._listener is not None:
            self._listener.close()
        self._handle = self._listener = None
        self.meter, self._rank = None, os.getpid()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self.close()
        except Error as failed:
            if kind is None:
                raise
            warnings.warn(f"wattle: {failed}", WattleWarning, stacklevel=2)

    def __repr__(self) -> str:
        return f"<wattle.Recorder {self.path}: {self.status}>"


def record(
    path: str | os.PathLike[str],
    meter: Meter | None = None,
    *,
    ranks: str | None = None,
    facts: dict[str, object] | None = None,
    marks: bool = True,
    max_bytes: int = 0,
    max_age_s: float = 0.0,
    **options: Any,
) -> Recorder:
    """
    Records this machine, and what this program's windows used, in a new file, until `Recorder.close` or the program's end.

    >>> with wattle.record("run.wattle", gpus="all") as recorder:
    ...     with recorder.window("epoch"):
    ...         train()

    Parameters
    ----------
    path : str or os.PathLike
        ``{host}`` in it becomes the machine's name: for jobs whose nodes share a file system.
    meter : Meter or None
        A meter of yours, whose windows are recorded from now on. None: one is made with ``options``, those of `Meter`.
    ranks : {"node"} or None
        "node": of a job's processes on this machine only the first records (by LOCAL_RANK, SLURM_LOCALID,
        OMPI_COMM_WORLD_LOCAL_RANK or MPI_LOCALRANKID), every socket and GPU once. The windows of the others are marked in its
        recording, as ``"rank 1: epoch"``. `merge` joins the nodes.
    facts : dict of str to object or None
        Words and numbers of your own about the recording, kept as text; ``command`` and ``host`` are there.
    marks : bool
        Other processes of this user may mark windows in it: `mark`, the command ``wattle mark``.
    max_bytes, max_age_s : int, float
        A ring: the file is never larger (at least 256,000), or holds no more than that time. 0: no limit.

    Raises
    ------
    Error
        The file is there already, or cannot be made; the meter is being recorded; nothing can be measured.
    ValueError
        ``{word}`` in the path is not ``{host}``.
    """
    if ranks not in (None, "node"):
        raise ValueError(f"ranks is {ranks!r}: use 'node' or None")
    if meter is not None and options:
        raise TypeError(f"{', '.join(options)}: the meter is given")
    unknown = set(re.findall(r"{\w*}", os.fspath(path))) - {"{host}"}
    if unknown:
        raise ValueError(f"{', '.join(sorted(unknown))} in {os.fspath(path)}: only {{host}} stands for something")
    own = {key: str(value) for key, value in (facts or {}).items()}
    for key in own:
        if not isinstance(key, str) or not 0 < len(key.encode()) <= 95:
            raise ValueError(f"the fact {key!r}: its name has to be a text of 1 to 95 bytes")
    path = os.path.abspath(os.fspath(path).replace("{host}", socket.gethostname()))
    rank = local_rank() if ranks else 0
    if rank:
        return Recorder(path, None, rank)
    wanted = new(_abi.RecorderOptions)
    wanted.max_bytes, wanted.max_age_ns = max_bytes, round(max_age_s * 1e9)
    said = {"command": shlex.join(["python", *sys.argv])}
    if not options.get("root") and not options.get("tape"):
        said["host"] = socket.gethostname()
    if options.get("location"):
        said["location"] = str(options["location"])
    if ranks:
        options.setdefault("gpus", "all")  # those of the other ranks, too
    made = Recorder(path, meter or Meter(**options), rank)
    made._owns_meter = meter is None
    try:
        made._start(wanted, {**said, **own})
    except Error as error:
        if made._owns_meter and made.meter is not None:
            made.meter.close()
        if error.code == -errno.EEXIST:
            raise Error(f"{error}: remove it, or put the date or the job's number into the name", error.code) from None
        raise
    if marks or ranks:
        made._listen()
    return made


def _close_all() -> None:
    for recorder in list(_recorders):
        recorder.__exit__(SystemExit, None, None)


def _after_fork() -> None:
    for recorder in list(_recorders):
        recorder._forget_parents()
    _recorders.clear()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
