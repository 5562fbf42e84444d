# SPDX-License-Identifier: MIT
"""``%load_ext wattle``: the energy of a cell or an expression below it."""

from __future__ import annotations

from ._live import SampleThread, keep
from ._measure import default_meter
from ._plot import COLOURS, TOTAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .figures import Window
    from .meter import Sample

_INTERVAL_S = 0.1
_KEPT = 36000  # samples: an hour
_COLUMNS = 120  # of the sparkline
_WIDTH, _HEIGHT = 480, 40


class Measured:
    """The window of a cell, with its power over time, as a notebook or a terminal shows it."""

    def __init__(self, window: Window, samples: list[Sample]) -> None:
        self.window = window
        self.watts = _columns([sample.power_w[TOTAL] for sample in samples], _COLUMNS)

    def _scale(self) -> tuple[float, str] | None:
        """The highest power, and the curve in words; None: there is too little to draw."""
        known = [watts for watts in self.watts if watts is not None]
        if len(known) < 2:
            return None
        return max(known), f"power over time: {min(known):.4g} to {max(known):.4g} W"

    def __repr__(self) -> str:
        rows, window = self.window.rows(), self.window
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        took = f", {window.duration_s:.4g} s" if window.duration_s is not None else ""
        lines = [f"{window.name}{took}, {window.verdict}"]
        lines += ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        scale = self._scale()
        if scale is not None:
            bars = (" " if w is None else "▁▂▃▄▅▆▇█"[min(7, int(8 * w / scale[0]))] for w in _columns(self.watts, 60))
            lines += ["  " + "".join(bars), "  " + scale[1]]
        return "\n".join([*lines, *("  " + reason for reason in window.reasons)])

    def _repr_html_(self) -> str:
        return self.window._repr_html_() + self._svg()

    def _svg(self) -> str:
        scale = self._scale()
        if scale is None:
            return ""
        path, is_down = [], False
        for i, watts in enumerate(self.watts):
            if watts is not None:
                x, y = _WIDTH * (i + 0.5) / len(self.watts), _HEIGHT * (1 - watts / scale[0]) + 2
                path.append(f"{'L' if is_down else 'M'}{x:.1f} {y:.1f}")
            is_down = watts is not None
        return (
            f'<br><svg role="img" aria-label="{scale[1]}" width="{_WIDTH}" height="{_HEIGHT + 20}" style="max-width:100%">'
            f"<title>{scale[1]}</title>"
            f'<path d="M0 {_HEIGHT + 2}H{_WIDTH}" stroke="currentColor" stroke-opacity="0.3"/>'
            f'<path d="{"".join(path)}" fill="none" stroke="{COLOURS[0]}" stroke-width="1.5" stroke-linecap="round"/>'
            f'<text y="{_HEIGHT + 15}" font-size="11" fill="currentColor">{scale[1]}</text></svg>'
        )


def _columns(watts: list[float | None], most: int) -> list[float | None]:
    """At most so many means; None where nothing is known."""
    n = max(1, -(-len(watts) // most))
    made: list[float | None] = []
    for i in range(0, len(watts), n):
        known = [w for w in watts[i : i + n] if w is not None]
        made.append(sum(known) / len(known) if known else None)
    return made


def _run(shell: Any, source: str) -> Any:
    """Runs code as a cell does, and returns the value of its last expression."""
    import ast

    source = shell.transform_cell(source)
    name = shell.compile.cache(source)  # so that tracebacks show it
    tree = shell.transform_ast(shell.compile.ast_parse(source, name))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(shell.compile(tree, name, "exec"), shell.user_ns)
    return None if last is None else eval(shell.compile(ast.Expression(last.value), name, "eval"), shell.user_ns)


def load_ipython_extension(shell: Any) -> None:
    """
    Adds the magics ``%%wattle [NAME]``, for a cell, and ``%wattle EXPRESSION``.

    They show energy, power, own energy and CO2e below the cell, whose result and exceptions are as without them; the
    `Window` is in ``_wattle``.
    """
    import IPython.display

    display: Any = IPython.display.display

    def wattle(line: str, cell: str | None = None) -> Any:
        """``%%wattle [NAME]``: the energy of the cell. ``%wattle EXPRESSION``: that of the expression."""
        meter = default_meter()
        samples: list[Sample] = []
        window = None
        thread = SampleThread(meter, (TOTAL,), _INTERVAL_S, lambda sample: keep(samples, sample, _KEPT))
        try:
            with meter.window((line.strip() if cell is not None else "") or "cell") as window:
                return _run(shell, line if cell is None else cell)
        finally:
            thread.end()
            if window is not None:
                shell.user_ns["_wattle"] = window
                display(Measured(window, list(samples)))

    shell.register_magic_function(wattle, "line_cell", "wattle")
