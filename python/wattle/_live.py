# SPDX-License-Identifier: MIT
"""Power as it is drawn, in a window or a notebook, beside the program that draws it."""

from __future__ import annotations

import itertools
import math
import threading
import time

from ._lib import Error, need
from ._measure import default_meter
from ._plot import FAINT, TOTAL, frame_style, series_style, with_method

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable, TypeVar

    from matplotlib.figure import Figure

    from .meter import Meter, Sample

    _T = TypeVar("_T")

_LATE_S = 1.0  # a figure that is older than this, or than three samples, is no current power
_UPDATES = 4  # of its sensor that a point is the mean of: between two samples lies sometimes one more, sometimes one less
_TURN_S = 0.05  # how often a window answers to the mouse


def keep(kept: list[_T], one: _T, n: int) -> None:
    """Adds to a list of the newest, which other threads may copy meanwhile: without a GIL, a deque could not be."""
    kept.append(one)
    del kept[:-n]


class SampleThread:
    """
    Samples at fixed times in a thread of its own, so that a slow sensor makes nobody wait.

    A sample that comes late covers the longer stretch since the last one: no energy is lost, and times do not drift.
    """

    def __init__(self, meter: Meter, domains: Iterable[str] | None, interval_s: float, take: Callable[[Sample], object]) -> None:
        self._sampler = meter.sampler(domains)
        self._meter, self._interval_s, self._take = meter, interval_s, take
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="wattle live", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        begin_s, turn = time.monotonic(), 0
        with self._sampler:
            while True:
                turn = max(turn, int((time.monotonic() - begin_s) / self._interval_s)) + 1
                if self._end.wait(begin_s + turn * self._interval_s - time.monotonic()):
                    return
                try:
                    self._take(self._sampler.read())
                except Error:
                    if self._meter.is_open:
                        raise
                    return

    def end(self) -> None:
        """Takes no more samples; does not wait for one that is being taken."""
        self._end.set()

    def join(self) -> None:
        self._thread.join()


class Live:
    """
    A plot of the power of the last seconds that goes on by itself.

    Parameters
    ----------
    interval_s, redraw_s, span_s : float
        Seconds between two samples, between two pictures, and that are shown. A late picture is left out; no sample is.
    domains : str, iterable of str or None
        A line each; ``"total"`` is their sum. None: those that make up the total and have a figure, and the total.
    meter : Meter or None
        None: `default_meter`.
    keep_s : float
        How much of ``samples`` is kept.

    Attributes
    ----------
    samples : list of Sample
        What was seen, the newest last.
    figure : matplotlib.figure.Figure

    Raises
    ------
    ValueError
        There is no such domain, or a time is not above 0.

    Notes
    -----
    A point is the mean over four updates of its sensor (0.4 s of an A100). Unknown power is a gap in the line.

    Examples
    --------
    >>> live = wattle.live()
    >>> task = asyncio.create_task(live.run())  # beside your own tasks
    >>> ...
    >>> task.cancel()  # or live.stop()
    """

    def __init__(
        self,
        interval_s: float = 0.1,
        redraw_s: float = 0.2,
        span_s: float = 20,
        domains: str | Iterable[str] | None = None,
        meter: Meter | None = None,
        *,
        keep_s: float = 3600,
    ) -> None:
        if not min(interval_s, redraw_s, span_s, keep_s) > 0:
            raise ValueError("interval_s, redraw_s, span_s and keep_s have to be above 0")
        self._meter = meter or default_meter()
        self._interval_s, self._redraw_s, self._span_s = interval_s, redraw_s, span_s
        there = {domain.name: domain for domain in self._meter.domains}
        if domains is None:
            names = [d.name for d in there.values() if d.in_total and d.method != "none"]
            names += [TOTAL] if len(names) > 1 else []
        else:
            names = [domains] if isinstance(domains, str) else list(domains)
        self._meter.sampler(names).close()  # the names are known
        slowest_s = max((d.update_s or 0.0 for d in there.values() if d.in_total), default=0.0)
        guessed = [d.method == "modelled" for d in there.values() if d.in_total and d.method != "none"]
        self._labels: dict[str, str] = {}
        self._points: dict[str, list[list[float]]] = {}  # when, of how many seconds, watts
        self._smooth: dict[str, int] = {}  # how many of them a point is the mean of
        for name in names:
            update_s = slowest_s if name == TOTAL else there[name].update_s or 0.0
            of = guessed if name == TOTAL else [there[name].method == "modelled"]
            self._labels[name] = with_method(name, bool(of) and all(of), any(of))
            self._smooth[name] = max(1, math.ceil(_UPDATES * update_s / interval_s - 1e-6))
            self._points[name] = []
        self._n_points, self._n_samples = math.ceil(span_s / interval_s) + 2, math.ceil(keep_s / interval_s)
        self.samples: list[Sample] = []
        self._is_stopped = True
        self._screen: _Screen | None = None

    @property
    def figure(self) -> Figure:
        return self._made().figure

    def _made(self) -> _Screen:
        if self._screen is None:
            why = "" if self._labels else "\n".join(("no power is known here:", *self._meter.reasons))
            late_s = max(_LATE_S, 3 * self._interval_s)
            self._screen = _Screen(self._labels, self._span_s, late_s, why, self.stop)
        return self._screen

    def _take(self, sample: Sample) -> None:
        keep(self.samples, sample, self._n_samples)
        for name, points in self._points.items():
            watts = sample.power_w[name]
            keep(points, [sample.t_mono_s, sample.duration_s, math.nan if watts is None else watts], self._n_points)
            over_s = sample.mean_over_s.get(name, 0.0)
            if over_s > 1.5 * sample.duration_s:  # a sensor that answers late, of some time ago, has measured all the same
                since_s = sample.t_mono_s - over_s - 1.5 * self._interval_s
                for point in itertools.islice(reversed(points), 1, None):
                    if point[0] < since_s or not math.isnan(point[2]):
                        break
                    point[2] = points[-1][2]

    def _draw(self) -> None:
        self._made().draw(time.monotonic(), {name: list(points) for name, points in self._points.items()}, self._smooth)

    async def run(self, duration_s: float | None = None) -> None:
        """
        Samples and draws until it is cancelled, `stop` is called, the window is closed, or for ``duration_s``.

        Sampling is in a thread; drawing, some milliseconds a picture, is in this task.

        Raises
        ------
        RuntimeError
            It runs already.
        """
        import asyncio

        if not self._is_stopped:
            raise RuntimeError("this live plot runs already")
        self._is_stopped = False
        begin_s, frame = time.monotonic(), 0
        end_s = math.inf if duration_s is None else begin_s + duration_s
        for points in self._points.values():
            keep(points, [begin_s, 0.0, math.nan], self._n_points)  # no line to what was seen before
        thread = SampleThread(self._meter, self._labels, self._interval_s, self._take)
        try:
            screen = self._made()
            screen.show()
            while not self._is_stopped and self._meter.is_open and time.monotonic() < end_s:
                self._draw()
                frame = max(frame, int((time.monotonic() - begin_s) / self._redraw_s)) + 1
                left_s = self._redraw_s
                while left_s > 0 and not self._is_stopped:
                    screen.canvas.flush_events()
                    left_s = min(begin_s + frame * self._redraw_s, end_s) - time.monotonic()
                    await asyncio.sleep(max(0.0, min(left_s, _TURN_S)))
        finally:
            self._is_stopped = True
            thread.end()
            await asyncio.to_thread(thread.join)
            self._draw()

    def stop(self) -> None:
        """Ends `run`, at its next turn."""
        self._is_stopped = True

    def show(self, duration_s: float | None = None) -> None:
        """Runs here, outside of asyncio, until the window is closed or Ctrl-C is pressed."""
        import asyncio

        try:
            asyncio.run(self.run(duration_s))
        except KeyboardInterrupt:
            pass

    def frame(self) -> Any:
        """
        ``samples`` as a `pandas.DataFrame`: a row for each, by its end (UTC), with ``duration_s`` and the watts of each domain.
        """
        pd = need("pandas", "frames", "pandas")

        kept = list(self.samples)
        times = pd.to_datetime([sample.t_utc_s for sample in kept], unit="s", utc=True)
        columns = {name: [sample.power_w[name] for sample in kept] for name in self._labels}
        data = {"duration_s": [sample.duration_s for sample in kept], **columns}
        return pd.DataFrame(data, index=pd.DatetimeIndex(times, name="time"), dtype=float)


class _Screen:
    """The figure: what stays is drawn once, lines and figures are drawn over it (blitting)."""

    def __init__(self, labels: dict[str, str], span_s: float, late_s: float, why: str, closed: Callable[[], object]) -> None:
        import importlib

        matplotlib = need("matplotlib", "plots", "plot")
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator

        backend = str(matplotlib.get_backend()).lower()
        self._is_inline = "inline" in backend
        self._display: Any = None
        size = (8.4, 3.4)
        if self._is_inline or backend in ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template"):
            if self._is_inline:
                importlib.import_module("matplotlib_inline.backend_inline")  # so that a cell with `live.figure` shows it
            self.figure = Figure(figsize=size)
            FigureCanvasAgg(self.figure)
        else:
            import matplotlib.pyplot as plt

            with plt.ioff():
                self.figure = plt.figure("wattle", figsize=size, clear=True)
        self.canvas: Any = self.figure.canvas
        self._span_s, self._late_s, self._labels = span_s, late_s, labels
        self._axes = self.figure.add_subplot()
        frame_style(self._axes)
        self._axes.set(xlim=(-span_s, 0), ylim=(0, 1), xlabel="Seconds ago", ylabel="Power (W)")
        self._axes.xaxis.set_major_formatter(lambda x, _: f"{abs(x):g}")
        self._axes.xaxis.set_major_locator(MaxNLocator(nbins=10, steps=[1, 2, 5, 10]))
        self._lines = [self._axes.plot([], [], animated=True, **series_style(name, i))[0] for i, name in enumerate(labels)]
        if why:
            self._axes.text(0.5, 0.5, why, transform=self._axes.transAxes, ha="center", va="center", color=FAINT, wrap=True)
        self._key_inches = 0.1
        self._watts = self._key()
        self._fit()
        self._background: Any = None
        self.canvas.mpl_connect("resize_event", lambda _: self._fit())
        self.canvas.mpl_connect("draw_event", self._drawn)
        self.canvas.mpl_connect("close_event", lambda _: closed())

    def _key(self) -> list[Any]:
        """Names beside the axes; returns the texts of their watts, which are all that changes there."""

        def put(x: float, y: float, text: str, **style: Any) -> Any:
            at: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "center"}
            return self._axes.annotate(text, (1, y), xytext=(x, 0), **at, **style)

        watts = []
        for i, (line, label) in enumerate(zip(self._lines, self._labels.values())):
            y = 0.97 - i * min(0.085, 0.97 / len(self._labels))
            put(10, y, "━━", color=line.get_color())
            watts.append(put(94, y, "", ha="right", animated=True))
            name_width = put(102, y, label).get_window_extent().width
            self._key_inches = max(self._key_inches, name_width / self.figure.dpi + 110 / 72)
        return watts

    def _fit(self) -> None:
        """Leaves as much room for words as they need, whatever size the window has."""
        width, height = self.figure.get_size_inches()
        right = max(0.4, 1 - (self._key_inches + 0.1) / width)
        self.figure.subplots_adjust(left=min(0.3, 0.7 / width), right=right, top=0.95, bottom=min(0.4, 0.55 / height))

    def show(self) -> None:
        manager = self.canvas.manager
        if manager is not None:
            manager.show()
        self._display = None

    def _drawn(self, _: object) -> None:
        """Everything but the lines was drawn, also by a resize: keeps it."""
        if not self.canvas.is_saving():  # a saved picture has its lines already
            self._background = self.canvas.copy_from_bbox(self.figure.bbox)
            self._overlay()

    def _overlay(self) -> None:
        for artist in (*self._lines, *self._watts):
            self._axes.draw_artist(artist)

    def _rescale(self, highest_w: float) -> bool:
        """Whether the axis has a new end: when a line leaves it, or has been below a third of it for all of the time shown."""
        top_w = self._axes.get_ylim()[1]
        if highest_w <= 0 or top_w / 3 <= highest_w <= top_w:
            return False
        step = 10 ** math.floor(math.log10(highest_w))
        self._axes.set_ylim(0, math.ceil(1.1 * highest_w / step * 2) / 2 * step)
        return True

    def draw(self, now_s: float, points: dict[str, list[list[float]]], smooth: dict[str, int]) -> None:
        import numpy as np

        highest_w = 0.0
        for line, text, name in zip(self._lines, self._watts, self._labels):
            t_s, took_s, watts = np.array(points[name] or [[math.nan] * 3]).T
            over, is_gap = np.ones(smooth[name]), np.isnan(watts)
            known_s = np.where(is_gap, 0, took_s)
            with np.errstate(invalid="ignore"):
                means = np.convolve(np.where(is_gap, 0, watts) * known_s, over) / np.convolve(known_s, over)
            watts = np.where(is_gap, math.nan, means[: len(t_s)])
            line.set_data(t_s - now_s, watts)
            highest_w = max(highest_w, np.nanmax(watts, initial=0.0, where=t_s > now_s - self._span_s))
            is_known = t_s[-1] > now_s - self._late_s and not np.isnan(watts[-1])
            text.set_text(f"{watts[-1]:.1f} W" if is_known else "– W")
        if self._rescale(highest_w) or self._background is None:
            self.canvas.draw()
        else:
            self.canvas.restore_region(self._background)
            self._overlay()
        self.canvas.blit(self.figure.bbox)
        if self._is_inline:
            self._send()

    def _send(self) -> None:
        """Replaces the picture in the notebook's output."""
        import io

        import IPython.display
        from matplotlib.image import imsave

        notebook: Any = IPython.display
        file = io.BytesIO()
        imsave(file, self.canvas.buffer_rgba(), format="png")
        picture = notebook.Image(data=file.getvalue(), format="png", alt="power over time")
        if self._display is None:
            self._display = notebook.display(picture, display_id=True)
        else:
            self._display.update(picture)


live = Live
