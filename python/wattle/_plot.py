# SPDX-License-Identifier: MIT
"""Pictures of recordings and windows with Matplotlib, in the manner of ``wattle plot``."""

from __future__ import annotations

import os

from ._lib import Error, need
from ._recording import Pass, Recording
from .figures import Energy, Window, plus_minus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Optional

    from matplotlib.axes import Axes

    _Bar = tuple[str, str, Optional[float], Optional[float]]  # its name and colour, energy and uncertainty in joules

# Okabe and Ito's colours, which any kind of colour vision tells apart, and wine for yellow: those of the C pictures.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#882255")
MARKS = ("o", "s", "^", "D", "v")
INK, FAINT, GRID, REST = "#1a1a1a", "#5c5c5c", "#e3e3e3", "#8a8a8a"
TOTAL = "total"

_COLUMNS = 600  # points of a line at the most
_SPAN_MIN_S = 0.02  # power over less is mostly the jitter of edges
_ROW, _ROWS = 0.055, 6  # of windows: their height as a part of the picture's, and how many are shown
_SHOWN_MOST = 0.5  # an uncertainty beyond this part would cover everything else


def series_style(name: str, i: int) -> dict[str, Any]:
    """How the line of a domain looks; the total is black."""
    if name == TOTAL:
        return {"color": INK, "linewidth": 2.2, "zorder": 3}
    return {"color": COLOURS[i % len(COLOURS)], "linewidth": 1.4, "zorder": 2}


def with_method(name: str, is_modelled: bool, is_partly: bool = False) -> str:
    """A name in a picture, with a word if its figure is a guess, or a part of it is."""
    return f"{name} (modelled)" if is_modelled else f"{name} (partly modelled)" if is_partly else name


def frame_style(axes: Axes) -> None:
    """A grid behind, and no box around."""
    axes.set_axisbelow(True)
    axes.grid(True, color=GRID, linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)


def plot(
    source: Any, ax: Axes | None = None, kind: str | None = None, *, domains: Iterable[str] | None = None, top: int = 8
) -> Axes:
    """
    Draws a recording, a window, or several windows.

    Parameters
    ----------
    source : str, os.PathLike, Recording, Window or list of Window
    ax : matplotlib.axes.Axes or None
        None: those of a new figure.
    kind : {"power", "energy", "processes", "windows"} or None
        Of a recording: power over time with its windows (the default), the energy of each domain, of each process, or of
        each window. Windows have their energy only.
    domains : iterable of str or None
        Of power and energy: these, also ``"total"``. None: those that make up the total, and the total.
    top : int
        Processes that have a bar of their own.

    Returns
    -------
    matplotlib.axes.Axes
        Watts or joules, with their ± (k = 2). What is not known has no line, and a bar that says so.

    Raises
    ------
    Error
        The recording cannot be read, or has nothing of that kind.
    ValueError
        There is no such kind or domain.
    """
    need("matplotlib", "plots", "plot")
    windows = [source] if isinstance(source, Window) else list(source) if isinstance(source, (list, tuple)) else None
    kinds = ("energy",) if windows is not None else ("power", "energy", "processes", "windows")
    if kind not in (None, *kinds):
        raise ValueError(f"kind {kind!r} cannot be drawn of this: there are {', '.join(map(repr, kinds))}")
    wanted = [domains] if isinstance(domains, str) else list(domains) if domains is not None else None
    if windows is not None:
        return _plot_windows(ax, windows, wanted)
    path: Any = source
    recording = source if isinstance(source, Recording) else Recording(path)
    whole = recording.total
    if whole.energy_uj is None:
        raise Error("there is nothing to plot: " + ("; ".join(whole.reasons) or "the recording has no samples"))
    if kind == "processes":
        axes = _plot_processes(ax, recording, top)
    elif kind == "energy":
        axes = _plot_windows(ax, [whole], wanted)
    elif kind == "windows":
        axes = _plot_windows(ax, _windows(recording), wanted)
    else:
        axes = _plot_power(ax, recording, wanted)
    title = recording.fact("command") or recording.fact("host") or os.path.basename(recording.path)
    figure = plus_minus(whole.energy_j, whole.uncertainty_j, "J")
    axes.set_title(f"{_short(title, 60)}: {figure} in {whole.duration_s:.4g} s", loc="left", fontsize="medium")
    return axes


def _axes(ax: Axes | None, width: float = 6.4) -> Axes:
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(width, 4.2), layout="constrained")
    frame_style(ax)
    return ax


def _short(title: str, most: int) -> str:
    return title if len(title) <= most else f"{title[: most // 2 - 1]}…{title[-most // 2 :]}"


def _windows(recording: Recording) -> list[Window]:
    """Those that programs marked: not the recording's own, which is the last."""
    windows: list[Window] = list(recording)
    return windows[:-1] if recording.is_whole else windows


def _energies(window: Window, wanted: list[str] | None) -> dict[str, Energy]:
    """What is drawn of a window: what was asked for, or the parts of the total that have a figure, and the total."""
    there = {**window.domains, TOTAL: window}
    if wanted is None:
        wanted = [domain.name for domain in window._domains if domain.in_total and there[domain.name].energy_uj is not None]
        wanted += [TOTAL] if len(wanted) != 1 else []
    missing = [name for name in wanted if name not in there]
    if missing:
        raise ValueError(f"no domain {missing[0]!r}: there are {', '.join(there)}")
    return {name: there[name] for name in wanted}


def _named(name: str, energy: Energy) -> str:
    parts = energy.domains if isinstance(energy, Window) else {}
    in_total = [parts[domain.name].method for domain in getattr(energy, "_domains", ()) if domain.in_total]
    return with_method(name, energy.method == "modelled", "modelled" in in_total)


# ---- Power over time ----


def _plot_power(ax: Axes | None, recording: Recording, wanted: list[str] | None) -> Axes:
    import matplotlib.dates
    import numpy as np

    dates: Any = matplotlib.dates
    axes, whole = _axes(ax, 9.6), recording.total
    chosen = _energies(whole, wanted)
    index = {domain.name: i for i, domain in enumerate(recording.domains)}
    slowest_s = max((d.update_s or 0.0 for d in recording.domains if d.name in chosen or TOTAL in chosen), default=0.0)
    span_s = whole.duration_s or 0.0
    steps, interval_s = Pass(recording.path), max(2 * slowest_s, _SPAN_MIN_S, span_s / _COLUMNS)
    begins: list[int] = []
    ends: list[int] = []
    lost: list[bool] = []
    watts: dict[str, list[float | None]] = {name: [] for name in chosen}
    while steps.next(round(interval_s * 1e9)):
        begins.append(steps.step.begin_utc_ns)
        ends.append(steps.step.begin_utc_ns + steps.step.duration_ns)
        lost.append(bool(steps.step.is_lost))
        for name in chosen:
            energy = Energy(steps.step.total if name == TOTAL else steps.energies[index[name]])
            watts[name].append(None if lost[-1] or energy.gap_s > 0 else energy.mean_w)
    at: Any = np.array([begins, ends], dtype="M8[ns]")
    wide, holes = [], np.array(lost, dtype=bool)
    n = max(2, len(begins) - 1)  # the last one is what was left: of too few updates of a sensor
    at, holes = at[:, :n], holes[:n]
    middle = at[0] + (at[1] - at[0]) / 2
    for i, (name, energy) in enumerate(chosen.items()):
        y, style = np.array(watts[name][:n], dtype=float), series_style(name, i)
        mark: dict[str, Any] = {} if name == TOTAL else {"marker": MARKS[i % len(MARKS)], "markevery": (i * 0.03, 0.16)}
        mean = "" if energy.mean_w is None else f"  {energy.mean_w:.4g} W"
        axes.plot(middle, y, label=_named(name, energy) + mean, markersize=5, **style, **mark)
        part = energy.uncertainty_j / energy.energy_j if energy.energy_j and energy.uncertainty_j else 0.0
        if part <= _SHOWN_MOST:
            axes.fill_between(middle, y * (1 - part), y * (1 + part), color=style["color"], alpha=0.22, lw=0)
        else:
            wide.append(f"{name} {part:.0%}")
        if energy.energy_uj is not None:
            holes |= np.isnan(y)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], holes, [False]))))
    for first, after in zip(edges[::2], edges[1::2]):
        axes.axvspan(at[0, first], at[1, after - 1], facecolor="#f4f4f4", hatch="///", edgecolor="#c8c8c8", lw=0, zorder=0)
    for k in np.flatnonzero(lost[:n]):
        axes.annotate("lost", (at[0, k], 1), xycoords=("data", "axes fraction"), va="top", color=FAINT)
    axes.set_ylim(0, axes.get_ylim()[1] / (1 - _ROW * _mark_windows(axes, _windows(recording))))
    axes.set_ylabel("Power (W)")
    note = f"\nNot drawn: ± beyond {_SHOWN_MOST:.0%}: {', '.join(wide)}" if wide else ""
    axes.set_xlabel(f"Time (UTC), {at[0, 0].astype('M8[D]')}{note}")
    words, cut = ("%H:%M:%S.%f", -5) if span_s < 5 else ("%H:%M:%S" if span_s < 600 else "%H:%M" if span_s < 43200 else "%d. %H:%M", None)
    axes.xaxis.set_major_locator(dates.AutoDateLocator(maxticks=7 if cut else 10))
    axes.xaxis.set_major_formatter(lambda x, _: dates.num2date(x).strftime(words)[:cut])
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, title="mean power", alignment="left")
    return axes


def _mark_windows(axes: Any, windows: list[Window]) -> int:
    """The windows as bars along the top edge, with their names; those that overlap below each other. How many rows."""
    import numpy as np

    ends: list[int] = []  # of the last one in each row
    for window in sorted(windows, key=lambda window: window.begin_utc_s or 0.0):
        begin_ns = round((window.begin_utc_s or 0.0) * 1e9)
        end_ns = begin_ns + round((window.duration_s or 0.0) * 1e9)
        row = next((i for i, free_ns in enumerate(ends) if free_ns <= begin_ns), len(ends))
        ends[row : row + 1] = [end_ns]
        if row >= _ROWS:
            continue
        begin, end, y = np.datetime64(begin_ns, "ns"), np.datetime64(end_ns, "ns"), 1 - _ROW * row
        axes.axvspan(begin, end, y - 0.9 * _ROW, y, facecolor=COLOURS[5], alpha=0.35, edgecolor="white", linewidth=1, zorder=1)
        axes.text(begin, y - 0.005, window.name, transform=axes.get_xaxis_transform(), va="top", size="x-small", clip_on=True)
    return min(len(ends), _ROWS)


# ---- Bars ----


def _bars(axes: Axes, bars: list[_Bar], label: str = "Energy (J), ± k = 2") -> Axes:
    """Horizontal, the first one on top."""
    highest = max((joules + (uncertainty or 0.0) for _, _, joules, uncertainty in bars if joules), default=1.0)
    for y, (_, colour, joules, uncertainty) in enumerate(bars):
        if joules is not None:
            axes.barh(y, joules, color=colour, alpha=0.75, height=0.7)
            axes.errorbar(joules, y, xerr=uncertainty, color=INK, capsize=3, linewidth=1)
        at = ((joules or 0.0) + (uncertainty or 0.0), y)
        said = "not known" if joules is None else plus_minus(joules, uncertainty, "J")
        axes.annotate(said, at, xytext=(5, 0), textcoords="offset points", va="center", fontsize="small", color=FAINT)
    axes.set_yticks(range(len(bars)), [_short(name, 32) for name, _, _, _ in bars])
    axes.grid(False, axis="y")
    axes.set(xlim=(0, 1.35 * highest), ylim=(len(bars) - 0.4, -0.6), xlabel=label)
    return axes


def _plot_windows(ax: Axes | None, windows: list[Window], wanted: list[str] | None) -> Axes:
    """A bar for each, or for one window its parts and their sum."""
    if not windows:
        raise Error("there is nothing to plot: there are no windows")
    is_one, bars = len(windows) == 1, []
    for window in windows:
        chosen = _energies(window, wanted if is_one else wanted or [TOTAL])
        for i, (name, energy) in enumerate(chosen.items()):
            title = name if is_one else window.name if len(chosen) == 1 else f"{window.name}, {name}"
            colour = INK if name == TOTAL and len(chosen) > 1 else COLOURS[i % len(COLOURS)]
            bars.append((_named(title, energy), colour, energy.energy_j, energy.uncertainty_j))
    axes = _axes(ax)
    axes.set_title(windows[0].name if is_one else "", loc="left", fontsize="medium")
    return _bars(axes, bars)


def _plot_processes(ax: Axes | None, recording: Recording, top: int) -> Axes:
    shares = [(who, share) for who, share in ((who, who.share()) for who in recording.consumers()) if share.full_uj]
    if not any(who.pid for who, _ in shares):
        raise Error("there is nothing to plot: the recording tells of no processes")
    is_dynamic = all(share.dynamic_j is not None for _, share in shares)
    bars: list[_Bar] = []
    for who, share in shares:
        name = (who.name or who.state) + (f" ({who.pid})" if who.pid else "")
        bars.append((name, COLOURS[0] if who.name else REST, share.dynamic_j if is_dynamic else share.full_j, share.uncertainty_j))
    bars.sort(key=lambda bar: bar[2] or 0.0, reverse=True)
    if len(bars) > top:
        bars[top:] = [(f"{len(bars) - top} others", REST, sum(bar[2] or 0.0 for bar in bars[top:]), None)]
    return _bars(_axes(ax), bars, f"Energy {'above idle' if is_dynamic else 'with a part of idle'} (J), ± k = 2")
