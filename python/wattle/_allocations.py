# SPDX-License-Identifier: MIT
"""Where Python's memory was allocated, by tracemalloc: what was there when there was most of it."""

from __future__ import annotations

import os
import time
import tracemalloc

MORE = 1.05  # a picture is taken again when there is so much more than in the one before,
COST = 20  # and takes at most one part in so many of the time


def _amount(size: int) -> str:
    """For people: "1.5 MiB"."""
    if size < 1024:
        return f"{size} B"
    return f"{size / 1024:.1f} KiB" if size < 2**20 else f"{size / 2**20:.1f} MiB"


class Allocations:
    """
    Follows allocations from its making to `end`.

    Attributes
    ----------
    peak_bytes : int
        The most that there ever was; of what was allocated since the start.
    lines : list of tuple
        Bytes, blocks, file and line, most first, as of the highest look; ``seen_bytes`` is their sum.
    """

    def __init__(self) -> None:
        self.peak_bytes = self.seen_bytes = 0
        self.lines: list[tuple[int, int, str, int]] = []
        self._was_on = tracemalloc.is_tracing()
        self._highest: tracemalloc.Snapshot | None = None
        self._due_s = 0.0
        if self._was_on:
            getattr(tracemalloc, "reset_peak", lambda: None)()
        else:
            tracemalloc.start()

    def look(self) -> None:
        """Takes a picture where there is more than ever."""
        now_bytes, self.peak_bytes = tracemalloc.get_traced_memory()
        begin_s = time.monotonic()
        if now_bytes > MORE * self.seen_bytes and begin_s >= self._due_s:
            self.seen_bytes, self._highest = now_bytes, tracemalloc.take_snapshot()
            end_s = time.monotonic()
            self._due_s = end_s + COST * (end_s - begin_s)

    def end(self) -> None:
        """The last look; nothing is followed any more."""
        self._due_s = 0.0
        self.look()
        if not self._was_on:
            tracemalloc.stop()
        if self._highest is None:
            return
        package = os.path.join(os.path.dirname(__file__), "*")
        own = tracemalloc.Filter(False, package), tracemalloc.Filter(False, tracemalloc.__file__)
        statistics = self._highest.filter_traces(own).statistics("lineno")
        self.lines = [(s.size, s.count, s.traceback[0].filename, s.traceback[0].lineno) for s in statistics]
        self.seen_bytes = sum(line[0] for line in self.lines)
        self._highest = None

    def table(self, n: int | None = 15) -> str:
        """Text for people."""
        text = [f"Python allocations: {_amount(self.peak_bytes)} at most; of {_amount(self.seen_bytes)} then:"]
        text += [f"{'size':>10}  {'blocks':>9}  line"]
        text += [f"{_amount(size):>10}  {count:9}  {file}:{line}" for size, count, file, line in self.lines[:n]]
        return "\n".join(text)
