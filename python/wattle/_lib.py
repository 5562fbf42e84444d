# SPDX-License-Identifier: MIT
"""Finds and loads the C libraries, and turns their errors into exceptions."""

from __future__ import annotations

import ctypes
import importlib
import os
import shutil
import sysconfig

from . import _abi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Sequence, TypeVar

    _Struct = TypeVar("_Struct", bound=ctypes.Structure)

_HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_lib")

class WattleWarning(UserWarning):
    """Something cannot be measured; the program goes on."""


class Error(Exception):
    """
    What failed, in one line, and what to do about it.

    Attributes
    ----------
    code : int
        A negative errno value, or a negative code of the C library; 0 if there is none.
    source, path : str
        The part that failed, such as ``"rapl-powercap"``, and the file; ``""`` where there is none.
    """

    def __init__(self, text: str, code: int = 0, source: str = "", path: str = "") -> None:
        super().__init__(text)
        self.code, self.source, self.path = code, source, path


class WindowError(Error, ValueError):
    """A window was begun twice, or ended without having been begun. The text says which windows are open."""


class Library:
    """A loaded C library; its functions are its attributes, declared when they are first used."""

    def __init__(self, name: str) -> None:
        bundled = os.path.join(_HERE, name)
        try:
            self._library = ctypes.CDLL(bundled if os.path.exists(bundled) else name)
        except OSError as error:
            raise Error(f"{name} cannot be loaded: {error}; reinstall the package 'wattle'") from None

    def __getattr__(self, name: str) -> Any:
        result, arguments = _abi.FUNCTIONS[name]
        try:
            function = self._library[name]  # one of its own: another thread may be declaring it, too
        except AttributeError:
            raise Error(f"the installed libwattle is older than this package: it has no {name}()") from None
        function.restype, function.argtypes = result, arguments
        setattr(self, name, function)
        return function


_loaded: dict[str, Library] = {}


def load(name: str = "libwattle.so.0") -> Library:
    """The library of that name; loaded once. Raises `Error`."""
    if name not in _loaded:
        _loaded[name] = Library(name)
    return _loaded[name]


def load_recording() -> Library:
    """libwattle-recording, which needs libwattle. Raises `Error`."""
    load()
    name = "libwattle-recording.so.0"
    if os.path.exists(os.path.join(_HERE, "libwattle.so.0")) and not os.path.exists(os.path.join(_HERE, name)):
        raise Error(
            "this package was built without recordings: install pkg-config and the headers of SQLite and zstd (Debian: "
            "pkg-config libsqlite3-dev libzstd-dev), then the package again without WATTLE_RECORDINGS=no"
        )
    return load(name)


def find_command() -> str:
    """The path of the command ``wattle``: that of a build which `_lib` leads to, of this Python, then of PATH. Raises `Error`."""
    built = os.path.join(os.path.dirname(os.path.realpath(_HERE)), "wattle")
    beside = os.path.join(sysconfig.get_path("scripts"), "wattle")
    for path in (built, beside):
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    path = shutil.which("wattle") or ""
    if not path:
        raise Error("the command is not installed: 'pip install wattle' brings it, as do the packages of your system")
    return path


def _own_folder(variable: str) -> str | None:
    """The folder that the environment names for what is kept, as the command takes it (src/cli/user.h)."""
    folder = at = os.environ.get(variable, "")
    while at and not os.path.exists(at):
        at = at.rpartition("/")[0]
    is_anothers = os.geteuid() == 0 and at and os.stat(at).st_uid != 0
    return folder if folder.startswith("/") and not is_anothers else None


def idle_file() -> str | None:
    """Where the command keeps what this machine draws at rest; None: nowhere that can be written."""
    home = _own_folder("HOME")
    state = _own_folder("XDG_STATE_HOME") or (home + "/.local/state" if home else "/var/lib")
    try:
        os.makedirs(state + "/wattle", mode=0o700, exist_ok=True)
    except OSError:
        return None
    return state + "/wattle/idle"


def need(module: str, what: str, extra: str) -> Any:
    """A module that not everybody has. Raises `ImportError`, which says how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ImportError(f"{what} need {module}: pip install 'wattle[{extra}]'", name=error.name) from None


def new(struct: type[_Struct]) -> _Struct:
    """A zeroed struct that knows its size."""
    made = struct()
    made.size = ctypes.sizeof(struct)
    return made


def new_array(struct: type[_Struct], n: int) -> ctypes.Array[_Struct]:
    """``n`` of them; the first one's size is that of all."""
    made = (struct * max(n, 1))()
    made[0].size = ctypes.sizeof(struct)
    return made


def text(value: bytes | None) -> str | None:
    """Text from C, or None. What is not UTF-8 is replaced."""
    return None if value is None else value.decode("utf-8", "replace")


def known(value: int) -> int | None:
    """A number from C, or None where it is not known."""
    return None if value == _abi.UNKNOWN else value


def check(code: int, error: _abi.Error | None = None) -> int:
    """The code, or an `Error` if it is negative."""
    if code >= 0:
        return code
    why = text(error.text) if error is not None and error.text else None
    source = (text(error.source) or "") if error is not None else ""
    path = (text(error.path) or "") if error is not None else ""
    if why is None:
        why = text(load().wattle_strerror(code)) or f"error {code}"
    where = f"{path}: " if path and path not in why else ""
    raise Error(where + why, code, source, path)


def mean_of(values: Sequence[float]) -> _abi.Mean:
    """The mean of values of one quantity, at least one, and half the width of its 95 % interval (0 for one value)."""
    mean = new(_abi.Mean)
    check(load().wattle_mean_of((ctypes.c_double * len(values))(*values), len(values), mean))
    return mean
