# SPDX-License-Identifier: MIT
"""Functions with their energy: a decorator, and a repetition until the mean is known."""

from __future__ import annotations

import os
import time
from _thread import RLock

from ._lib import Error, mean_of
from .meter import Meter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from .figures import Window

_default: Meter | None = None
_opening = RLock()
# CO_COROUTINE, and CO_GENERATOR with CO_ASYNC_GENERATOR, of inspect, which takes longer to import than all of this package.
_IS_COROUTINE, _IS_GENERATOR = 0x80, 0x220


def default_meter() -> Meter:
    """The meter of this process that is used where none is given; opened at its first use."""
    global _default
    with _opening:
        if _default is None or not _default.is_open:
            _default = Meter()
        return _default


def _after_fork() -> None:
    global _default, _opening
    _default, _opening = None, RLock()


os.register_at_fork(after_in_child=_after_fork)


def measure(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    meter: Meter | None = None,
    report: Callable[[Window], object] | None = None,
    exact: bool | None = None,
) -> Any:
    """
    Decorates a function (or a coroutine function) with a window around each call.

    Parameters
    ----------
    name : str or None
        Of the windows; None: the function's name.
    meter : Meter or None
        None: `default_meter`.
    report : callable or None
        Gets each call's `Window`, such as ``print``. The newest is always the function's attribute ``window``.
    exact : bool or None
        As of `Meter.begin`.

    Examples
    --------
    >>> @wattle.measure
    ... def train(): ...
    >>> train(); train.window.energy_j
    """
    import functools

    if function is None:
        return functools.partial(measure, name=name, meter=meter, report=report, exact=exact)
    if not callable(function):
        raise TypeError(f"measure decorates a function, not {function!r}: for a name, use measure(name=…)")
    if getattr(getattr(function, "__code__", None), "co_flags", 0) & _IS_GENERATOR:
        raise TypeError(f"{function!r} is a generator function: put a window around the loop that uses it")
    title: str = name or str(getattr(function, "__qualname__", "function"))

    def after(window: Window) -> None:
        wrapped.window = window
        if report is not None:
            report(window)

    wrapped: Any
    if getattr(getattr(function, "__code__", None), "co_flags", 0) & _IS_COROUTINE:

        async def wait(*args: Any, **kwargs: Any) -> Any:
            with (meter or default_meter()).window(title, exact=exact) as window:
                result = await function(*args, **kwargs)
            after(window)
            return result

        wrapped = functools.wraps(function)(wait)
    else:

        def call(*args: Any, **kwargs: Any) -> Any:
            with (meter or default_meter()).window(title, exact=exact) as window:
                result = function(*args, **kwargs)
            after(window)
            return result

        wrapped = functools.wraps(function)(call)
    wrapped.window = None
    return wrapped


class Repeated:
    """
    The energy of one call, as the mean of several.

    Attributes
    ----------
    energy_j : float or None
        The mean of a call.
    interval_j : float
        Half the width of its 95 % interval, by the spread of the calls (Student's t). What all of them err by alike, such as
        the sensor's gain, is not in it: see ``window.uncertainty_j``.
    calls : int
    windows : list of Window
        One for each stretch that was measured.
    per_window : int
        Calls in each of them: as many as its sensor needs.
    is_reached : bool
        The interval is as narrow as asked; ``reasons`` says why not.
    """

    def __init__(self, windows: list[Window], per_window: int) -> None:
        self.windows, self.per_window = windows, per_window
        self.calls = len(windows) * per_window
        self.energy_j: float | None = None
        self.interval_j = 0.0
        self.is_reached = False
        self.reasons: tuple[str, ...] = ()

    def __repr__(self) -> str:
        from .figures import plus_minus

        notes = "".join(f"; {reason}" for reason in self.reasons)
        return f"<wattle.Repeated {plus_minus(self.energy_j, self.interval_j, 'J')} a call, {self.calls} calls{notes}>"


_WINDOWS_MIN = 5
_UPDATES = 10  # a window with fewer updates of its sensor is "short" (wattle.h)


def _one_window(meter: Meter, function: Callable[[], object], calls: int) -> Window:
    with meter.window("measure_until", exact=False) as window:
        for _ in range(calls):
            function()
    return window


def measure_until(
    function: Callable[[], object], rel: float = 0.02, *, max_s: float = 60.0, meter: Meter | None = None
) -> Repeated:
    """
    Calls a function until the 95 % interval of its mean energy is at most ``rel`` of the mean.

    Calls that are too short for the sensors are measured several at a time.

    Parameters
    ----------
    function : callable
        Called without arguments. Its first call is a warm-up and is not counted.
    rel : float
    max_s : float
        Stops after so many seconds, whatever is known then.
    meter : Meter or None

    Raises
    ------
    Error
        Nothing is measured here: the text says why.
    """
    if not rel > 0:
        raise ValueError(f"rel is {rel!r}: it has to be above 0, such as 0.02")
    meter = meter or default_meter()
    warm_up = _one_window(meter, function, 1)
    if warm_up.energy_j is None:
        raise Error("nothing is measured here: " + "; ".join(warm_up.reasons))
    slowest_s = max((d.update_s or 0.0 for d in meter.domains if d.in_total and d.method != "none"), default=0.0)
    took_s = max(warm_up.duration_s or 0.0, 1e-6)
    per_window = first = max(1, round(_UPDATES * slowest_s / took_s + 0.5))
    result = Repeated([], per_window)
    begin_s = time.monotonic()
    while not result.is_reached and (time.monotonic() - begin_s < max_s or len(result.windows) < 2):
        window = _one_window(meter, function, per_window)
        if window.energy_j is None:
            raise Error("it is no longer measured: " + "; ".join(window.reasons))
        if window.is_short and per_window < 32 * first:  # the warm-up was slower than the rest, or the sensor is
            result, per_window = Repeated([], 2 * per_window), 2 * per_window
            continue
        windows = [*result.windows, window]
        result = _sum_up(windows, per_window, rel)
    if not result.is_reached:
        spent_s = time.monotonic() - begin_s
        result.reasons = (f"the interval is not yet {rel:.3g} of the mean after {spent_s:.3g} s: allow more with max_s",)
    if any(window.verdict == "modelled" for window in result.windows):
        result.reasons += ("modelled, not measured: the interval says nothing of how wrong the model is",)
    return result


def _sum_up(windows: list[Window], per_window: int, rel: float) -> Repeated:
    result = Repeated(windows, per_window)
    energies = [window.energy_j / per_window for window in windows if window.energy_j is not None]
    if energies:
        mean = mean_of(energies)
        result.energy_j, result.interval_j = mean.mean, mean.ci95
        result.is_reached = len(energies) >= _WINDOWS_MIN and 0 < mean.mean and mean.ci95 <= rel * mean.mean
    return result
