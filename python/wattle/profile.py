# SPDX-License-Identifier: MIT
"""
Where in a Python program the energy goes, function by function, with every call counted.

    python -m wattle.profile script.py [ARGUMENT...]

>>> from wattle.profile import Profile
>>> with Profile() as profile:
...     train()
>>> print(profile.table())
>>> profile.write("train.pstats")

Calls and times are cProfile's. Beside it, a thread reads the meter some times a second and charges what this process used
since the reading before to the functions that ran since then. See docs/profile.md.
"""

from __future__ import annotations

import _thread
import cProfile
import os
import re
import sys
import threading
import time
from functools import partial, wraps

from ._allocations import Allocations
from ._calls import Function, add, finished, key_of, label, merge, stats_of, take_out, without
from ._lib import Error
from .figures import plus_minus
from .meter import Meter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    Edge = tuple[int, int]  # identities of the code of a caller, or NOBODY, and of what it called

INTERVAL_S = 0.05
COST = 50  # a look takes at most one part in so many of the time
POOL = 4096  # stretches of a thread's time that functions which still run will claim
SUFFIXES = (".pstats", ".prof")
SORTS = ("energy", "all-energy", "time", "cumulative", "calls", "name")
# What waits more than it computes, as cProfile calls it.
WAITS = re.compile(
    r"<built-in method (builtins\.input|time\.sleep|select\.select|posix\.(wait\w*|read|fsync|fdatasync)|_?signal\.(pause|sig\w*wait\w*)|fcntl\.(flock|lockf))>"
    r"|<method '(acquire|join|get|poll)' of '(_thread|_queue|_multiprocessing|select)\.\w+' objects>"
    r"|<method '(_?accept|connect|recv\w*|read\w*|do_handshake)' of '(_socket|_ssl|_io)\.\w+' objects>"
)
TICK_S = 1e-9  # of cProfile's clock
NOBODY = 0  # where a caller stands
OWN = NOBODY, 0  # what the thread that looks has used
CHILDREN = "processes that it started"  # no row of the table where they used nothing
_TOOL = 2  # sys.monitoring.PROFILER_ID, which cProfile takes
_monitoring: Any = getattr(sys, "monitoring", None)  # from Python 3.12 on


def _events_of_this_thread(is_on: bool) -> None:
    """From Python 3.12 on, cProfile takes the calls of all threads for one thread's: this one makes none, or does again."""
    if _monitoring:
        import ctypes

        api = ctypes.pythonapi
        function = api.PyThreadState_LeaveTracing if is_on else api.PyThreadState_EnterTracing
        api.PyThreadState_Get.restype = ctypes.c_void_p
        function.argtypes, function.restype = [ctypes.c_void_p], None
        function(api.PyThreadState_Get())


class _Stretch:
    """Time of a thread from one look to the next, as far as no function has claimed it."""

    __slots__ = ("cpu_uj", "end_s", "gpu_uj", "idle_s", "left_s")

    def __init__(self, end_s: float, left_s: float, idle_s: float, cpu_uj: float, gpu_uj: float) -> None:
        self.end_s, self.left_s, self.idle_s, self.cpu_uj, self.gpu_uj = end_s, left_s, idle_s, cpu_uj, gpu_uj

    @property
    def energy_uj(self) -> float:
        return self.cpu_uj + self.gpu_uj

    def take(self, seconds: float, is_idle: bool) -> float:
        """Energy of so many of its seconds: of idle ones what GPUs used, and the processor's only if no others are left."""
        part = seconds / self.left_s if seconds < self.left_s else 1.0
        gpu_uj, cpu_uj = self.gpu_uj * part, self.cpu_uj * (part if part == 1.0 or not is_idle else 0.0)
        self.left_s, self.cpu_uj, self.gpu_uj = self.left_s * (1.0 - part), self.cpu_uj - cpu_uj, self.gpu_uj - gpu_uj
        self.idle_s = max(0.0, min(self.left_s, self.idle_s - seconds if is_idle else self.idle_s * (1.0 - part)))
        return cpu_uj + gpu_uj


class _Thread:
    """One thread's functions, what they were charged, and the time that functions which still run will claim."""

    def __init__(self, profiler: cProfile.Profile | None) -> None:  # in the thread that it is of
        self.profiler = profiler
        self.clock = time.pthread_getcpuclockid(_thread.get_ident())
        self.charged_uj: dict[Edge, float] = {}
        self._told_s: dict[Edge, tuple[float, float]] = {}  # own, and with its calls
        self._nobody_s: dict[int, float] = {}  # without a caller then
        self._found_s: dict[Edge, float] = {}  # of these, whose caller was found later
        self._pool: list[_Stretch] = []  # the newest last
        self._claims: list[tuple[float, Edge]] = []  # seconds, and whose: of the newest look that had any, when the pool was so long:
        self._n_then = 0
        self._returned: list[tuple[float, float, Edge, bool]] = []  # since the look before; with its calls, own, whose, does it wait
        self._since_s = self._seen_s = time.perf_counter()
        self._cpu_ns = self._read_clock()
        self.cpu_s = self.beyond_s = 0.0  # since the look before, and since it is not followed any more
        self.has_ended = self.is_over = False
        self.has_hook = False  # its calls are counted by a profile hook, which the program may take
        self.lost_s: float | None = None  # since when it has not
        self._late_s = 0.0  # after that, what still ran then was said to end
        self._then: list[Any] = []

    def _read_clock(self) -> int:
        try:
            return time.clock_gettime_ns(self.clock)
        except OSError:  # it has ended
            return -1

    def end(self) -> None:
        """It is not followed any more: all of its functions have returned."""
        self.is_over, self._end_ns = True, self._read_clock()

    def lose_hook(self) -> None:
        self.has_hook, self.lost_s, self._then = False, time.perf_counter(), self.entries()

    def leave_hook(self) -> None:
        """In another thread, whose hook this ends: what still ran has ended, too."""
        if self.profiler is not None and self._then and not self._late_s:
            self._late_s = time.perf_counter() - (self.lost_s or 0.0)
            self.profiler.disable()

    def entries(self) -> list[Any]:
        entries = self.profiler.getstats() if self.profiler is not None else []
        return without(self._late_s, self._then, entries) if self._late_s else entries

    def look(self) -> None:
        """What it used, and what has returned, since the look before."""
        self._since_s, self._seen_s = self._seen_s, time.perf_counter()
        before, self._cpu_ns = self._cpu_ns, self._read_clock()
        if self.is_over and self._cpu_ns >= 0:
            self.beyond_s, self._cpu_ns = (self._cpu_ns - self._end_ns) / 1e9, self._end_ns
        self.has_ended, self._returned = self._cpu_ns < 0, []
        self._look_at(self.entries())
        self.cpu_s = (self._cpu_ns - before) / 1e9
        if self.has_ended:  # and its clock with it: no more than this
            self.cpu_s = min(self._seen_s - self._since_s, sum(seconds for _, seconds, _, is_wait in self._returned if not is_wait))

    def _look_at(self, entries: list[Any]) -> None:
        """What has returned. Of a function that has not yet, cProfile does not tell what it called: until then these have no caller."""
        without = {id(entry.code): (entry.inlinetime, entry.totaltime) for entry in entries}
        more: dict[int, list[tuple[float, float, Edge]]] = {}  # of a function: own, with its calls, and whose
        for entry in entries:
            caller = id(entry.code)
            for sub in finished(entry):
                callee, sub_s, sub_all_s = id(sub.code), sub.inlinetime, sub.totaltime
                own_s, all_s = without.get(callee, (0.0, 0.0))
                without[callee] = own_s - sub_s, all_s - sub_all_s
                if self._told_s.get((caller, callee)) != (sub_s, sub_all_s):
                    self._compare(more, (caller, callee), sub_s, sub_all_s)
        for entry in entries:
            callee = id(entry.code)
            less_s, part = self._compare(more, (NOBODY, callee), *without[callee]), 1.0
            found = more.get(callee)
            if not found:
                continue
            if less_s > TICK_S / 2:  # it was charged already
                part = max(0.0, 1.0 - less_s / sum(own_s for own_s, _, _ in found))
                for own_s, _, edge in found:
                    self._found_s[edge] = self._found_s.get(edge, 0.0) + own_s * (1.0 - part)
            is_wait = isinstance(entry.code, str) and WAITS.match(entry.code) is not None
            for own_s, all_s, edge in found:
                if own_s * part > TICK_S / 2:
                    self._returned.append((max(own_s, all_s) * part, own_s * part, edge, is_wait))
                    if edge[0] == NOBODY:
                        self._nobody_s[callee] = self._nobody_s.get(callee, 0.0) + own_s

    def _compare(self, more: dict[int, list[tuple[float, float, Edge]]], edge: Edge, own_s: float, all_s: float) -> float:
        """With the look before; the seconds that are gone since."""
        told_s, told_all_s = self._told_s.get(edge, (0.0, 0.0))
        if abs(own_s - told_s) > TICK_S / 2:
            self._told_s[edge] = own_s, all_s
            if own_s > told_s:
                more.setdefault(edge[1], []).append((own_s - told_s, all_s - told_all_s, edge))
        return told_s - own_s

    def finish(self) -> None:
        """Charges the rest, and gives what had no caller to those that were found."""
        self.settle()
        for edge, seconds in self._found_s.items():
            nobody = NOBODY, edge[1]
            left_s = self._nobody_s.get(edge[1], 0.0)
            energy_uj = self.charged_uj.get(nobody, 0.0) * (seconds / left_s if seconds < left_s else 1.0)
            self._nobody_s[edge[1]] = left_s - seconds
            self._charge(edge, energy_uj)
            self._charge(nobody, -energy_uj)

    def _charge(self, key: Edge, energy_uj: float) -> None:
        self.charged_uj[key] = self.charged_uj.get(key, 0.0) + energy_uj

    def _wait(self, key: Edge, seconds: float, since_s: float) -> float:
        """
        Charges a function that waited with idle time since then; how many seconds were something else. The newest idle time is taken
        last: it may be of one that still waits.
        """
        n = len(self._pool)
        while n > 0 and self._pool[n - 1].end_s > since_s:
            n -= 1
        for stretch in self._pool[n:]:
            idle_s = min(seconds, stretch.idle_s)
            if idle_s > 0:
                self._charge(key, stretch.take(idle_s, True))
                seconds -= idle_s
        return seconds

    def settle(self) -> None:
        """
        Charges what had returned by the newest look that saw any: with seconds that nobody has claimed, from the newest on. Of functions
        that are nested, the inner ones end first and ran last.
        """
        newer = self._pool[self._n_then :]
        del self._pool[self._n_then :]
        for seconds, key in self._claims:
            while seconds > 0 and self._pool:
                newest = self._pool[-1]
                taken_s = min(seconds, newest.left_s)
                self._charge(key, newest.take(taken_s, False))
                seconds -= taken_s
                if newest.left_s <= 0:
                    self._pool.pop()
        self._pool += newer
        self._claims = []

    def charge(self, cpu_uj: float, cpu_s: float, gpu_uj: float = 0.0) -> None:
        """What it used since the look before, to functions that have returned since then."""
        if self.profiler is None:
            return
        took_s = self._seen_s - self._since_s
        if (self.has_ended or self.is_over) and self.lost_s is None:  # some time ago, and there are no more claims
            claimed_s = sum(seconds for _, seconds, _, _ in self._returned) + sum(seconds for seconds, _ in self._claims)
            took_s = max(0.0, min(took_s, claimed_s - sum(stretch.left_s for stretch in self._pool)))
        self._pool.append(_Stretch(self._seen_s, took_s, max(0.0, took_s - cpu_s), cpu_uj, gpu_uj))
        if self._returned:
            # What ran at a look may turn out to have waited then. So those that had returned are charged when it has returned, too.
            claims = [
                (self._wait(key, seconds, self._since_s - seconds) if is_wait else seconds, key)
                for _, seconds, key, is_wait in sorted(self._returned)
            ]
            self.settle()
            self._claims, self._n_then = claims, len(self._pool)
        if len(self._pool) > POOL:
            self.settle()
            old = self._pool[: POOL // 2]
            sums = [sum(getattr(part, name) for part in old) for name in ("left_s", "idle_s", "cpu_uj", "gpu_uj")]
            self._pool[: POOL // 2] = [_Stretch(old[-1].end_s, *sums)]


class _Overhead:
    """What cProfile costs a call, in the function and in its caller; of functions in Python (False) and of others (True)."""

    def __init__(self) -> None:
        self.inside_s = {False: 0.0, True: 0.0}
        self.outside_s = {False: 0.0, True: 0.0}

        def nothing(_: object) -> None:
            pass

        for is_builtin, called in ((False, nothing), (True, id)):
            self._measure(is_builtin, called)

    def _measure(self, is_builtin: bool, called: Callable[[object], object]) -> None:
        n, clock = 1000, time.perf_counter

        def repeat() -> None:
            for _ in range(n):
                called(None)

        plain = with_profile = inside = float("inf")
        for _ in range(7):
            begin = clock()
            repeat()
            plain = min(plain, clock() - begin)
            profiler = cProfile.Profile()
            profiler.enable()
            begin = clock()
            repeat()
            took = clock() - begin
            profiler.disable()
            entry = next(e for e in profiler.getstats() if e.callcount == n)
            with_profile, inside = min(with_profile, took), min(inside, entry.inlinetime)
        self.inside_s[is_builtin] = inside / n
        self.outside_s[is_builtin] = max(0.0, with_profile - plain - inside) / n


class Profile:
    """
    Counts calls, and measures time and energy of each function: a block (``with``) or a decorated function.

    It may be used several times; figures add up. One at a time: a second profiler, or cProfile itself, is refused.

    Parameters
    ----------
    meter : Meter or None
        None: one of its own, while it runs.
    interval_s : float
        How often the meter is read. Functions that take turns faster have the mean power of that time.
    allocations : bool
        Follow Python's allocations, too (tracemalloc), which slows down whatever allocates.

    Attributes
    ----------
    functions : list of Function
    measured_uj : int or None
        What the meter measured; None: nothing. The other rows add up to it.
    functions_uj, profiler_uj, unseen_uj, children_uj, others_uj, idle_uj : int
        Of this process: in functions, in the profiler, and elsewhere (other threads); of its descendants; of other processes; at rest.
    uncertainty_j : float or None
        k = 2, of this process and its descendants together.
    seconds, overhead_s : float
        How long it took; how much of that was the profiler, which is taken out of the functions.
    lost_s : float
        Seconds of threads whose calls were not counted, as the program took the profile hook (up to Python 3.11).
    has_idle : bool
        False: what the machine draws at rest is not known, and is in the other rows.
    reasons : tuple of str
        Why there are no joules, or modelled ones.
    allocations : Allocations or None
        Of the last time that it was used: ``peak_bytes`` and ``lines``.
    """

    def __init__(self, *, meter: Meter | None = None, interval_s: float = INTERVAL_S, allocations: bool = False) -> None:
        if not 0.001 <= interval_s <= 60:
            raise ValueError(f"interval_s is {interval_s!r}: use 0.001 to 60 seconds")
        self._given, self._interval_s = meter, interval_s
        self._wants_allocations = allocations
        self.allocations: Allocations | None = None
        self._depth = 0
        self._by_key: dict[Any, Function] = {}
        self.functions: list[Function] = []
        self.measured_uj: int | None = None
        self.functions_uj = self.profiler_uj = self.unseen_uj = self.children_uj = self.others_uj = self.idle_uj = 0
        self.uncertainty_j: float | None = None
        self.seconds = self.overhead_s = 0.0
        self.has_idle = True
        self.is_modelled = False
        self.lost_s = 0.0
        self.reasons: tuple[str, ...] = ()

    # ---- Around a piece of code ----

    def __enter__(self) -> Profile:
        self._depth += 1
        if self._depth == 1:
            try:
                self._session = _Session(self)
            except BaseException:
                self._depth = 0
                raise
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            session = self._session
            del self._session
            session.end()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """As a decorator: its calls are profiled, and their figures added up."""

        @wraps(function)
        def profiled(*args: object, **named: object) -> object:
            with self:
                return function(*args, **named)

        return profiled

    # ---- What it came to ----

    def sorted(self, sort: str = "energy") -> list[Function]:
        """The functions, first what is most; by name from a."""
        keys: dict[str, Callable[[Function], Any]] = {
            "energy": lambda f: (-f.own_uj, -f.own_s),
            "all-energy": lambda f: (-f.all_uj, -f.all_s),
            "time": lambda f: -f.own_s,
            "cumulative": lambda f: -f.all_s,
            "calls": lambda f: -f.calls,
            "name": lambda f: label(f.key),
        }
        if sort not in keys:
            raise ValueError(f"sort is {sort!r}: use {', '.join(SORTS)}")
        return sorted(self.functions, key=keys[sort])

    def rows(self) -> list[tuple[str, int]]:
        """Where the measured energy went, in microjoules; they add up to `measured_uj`. What is not known is no row."""
        rows = [
            ("the functions", self.functions_uj),
            ("the profiler, taken out of them", self.profiler_uj),
            ("this process, in no function that was seen", self.unseen_uj),
            (CHILDREN, self.children_uj),
            ("other processes, the kernel, nobody", self.others_uj),
        ]
        return [*rows, ("idle: what the machine draws anyway", self.idle_uj)] if self.has_idle or self.idle_uj else rows

    def table(self, sort: str = "energy", n: int | None = 30) -> str:
        """Text for people: the functions, and below them what the meter measured."""
        functions = self.sorted(sort)
        n_calls = sum(f.calls for f in functions)
        per_call = f" ({self.overhead_s / n_calls * 1e9:.0f} ns a call)" if n_calls else ""
        lines = [f"{n_calls} calls in {self.seconds:.3f} s; of these, {self.overhead_s:.3f} s for counting them{per_call}, which is taken out below"]
        if self.measured_uj is not None:
            own_j = (self.functions_uj + self.profiler_uj + self.unseen_uj + self.children_uj) / 1e6
            about = "modelled, not measured" if self.is_modelled else "above idle" if self.has_idle else "with its part of what is drawn at rest"
            lines.insert(0, f"{plus_minus(own_j, self.uncertainty_j, 'J')} of this process and what it started ({about})")
        else:
            lines.insert(0, "no energy: " + ("; ".join(self.reasons) or "nothing is measured here"))
        if self.lost_s:
            lines.append(f"no calls are known of {self.lost_s:.3f} s: the program took the profile hook for itself (setprofile, cProfile)")
        lines += ["", f"{'calls':>15}  {'own [s]':>9}  {'all [s]':>9}  {'own [J]':>10}  {'all [J]':>10}  function"]
        for f in functions[:n]:
            calls = str(f.calls) if f.calls == f.primitive_calls else f"{f.calls}/{f.primitive_calls}"
            energy = (f"{f.own_j:10.3f}", f"{f.all_j:10.3f}") if self.measured_uj is not None else (f"{'-':>10}",) * 2
            lines.append(f"{calls:>15}  {f.own_s:9.3f}  {f.all_s:9.3f}  {energy[0]}  {energy[1]}  {label(f.key)}")
        if n is not None and len(functions) > n:
            lines.append(f"{'':>15}  {len(functions) - n} more")
        if self.measured_uj is not None:
            lines.append("")
            lines += [f"{uj / 1e6:14.3f} J  {name}" for name, uj in self.rows() if uj or name != CHILDREN]
            lines.append(f"{self.measured_uj / 1e6:14.3f} J  measured in all")
        if self.allocations is not None:
            lines += ["", self.allocations.table()]
        return "\n".join(lines)

    def write(self, path: str | os.PathLike[str]) -> None:
        """
        Writes a file for SnakeViz, gprof2dot and pstats, which has joules where these say seconds, and seconds in one beside it:
        ``x.time.pstats`` of ``x.pstats``. Where no energy is known, there are the seconds alone.
        """
        import marshal

        path, beside = _files(path)
        rows = {f"[{name}]": uj / 1e6 for name, uj in self.rows()[1:4] if uj}
        energy = stats_of(self.functions, "TOTAL (values are joules)", True, rows)
        seconds = stats_of(self.functions, "TOTAL (values are seconds)", False, {"[the profiler, taken out of them]": self.overhead_s})
        for name, stats in ((path, energy), (beside, seconds))[self.measured_uj is None:]:
            with open(name, "wb") as file:
                marshal.dump(stats, file, 2)

    def _merge(self, made: dict[Any, Function]) -> None:
        merge(self._by_key, made)
        self.functions = list(self._by_key.values())


def _files(path: str | os.PathLike[str]) -> tuple[str, str]:
    """Those of joules and of seconds."""
    path = os.fspath(path)
    stem, dot, suffix = path.rpartition(".")
    return path, f"{stem}.time.{suffix}" if dot and os.sep not in suffix else path + ".time"


_running: list[_Session] = []
_forks: list[bool] = []


def _forked() -> None:
    """A child is not profiled: it has no thread that would look."""
    for session in _running:
        session.abandon()
    _running.clear()


_audits: list[bool] = []


def _audited(event: str, _: object) -> None:
    if event == "sys.setprofile":  # of cProfile, too
        for session in _running:
            session.hook_goes()


class _Session:
    """One stretch of time that is profiled."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._pid = os.getpid()
        self._refuse_a_second()
        self._meter = profile._given or Meter()
        self._threads: list[_Thread] = []
        self._made: dict[Any, Function] = {}  # what threads did that have ended
        self._lock = threading.Lock()
        self._begun, self._stop, self._stopped = (_thread.allocate_lock() for _ in range(3))
        self._local: Any = threading.local()
        self._followed: Any = None
        self._stands_for: dict[Any, Any] = {}  # functions of this module that the program calls instead of others
        self._old_callbacks: dict[int, Any] = {}
        self._is_over = False
        try:
            self._name = self._meter._begin_unique("profile", self._meter._flags_of(True, self._meter._set is not None)).name
            opened = time.perf_counter(), time.process_time()
            self._overhead = _Overhead()
            self._begin(*opened)
        except BaseException:
            self._close()
            raise

    @staticmethod
    def _refuse_a_second() -> None:
        tool = _monitoring.get_tool(_TOOL) if _monitoring else None
        if sys.getprofile() is not None or tool is not None:
            raise Error(f"another profiler is at work{f' ({tool})' if tool else ''}: end it first")

    def _begin(self, opened_s: float, opened_cpu_s: float) -> None:
        for lock in (self._begun, self._stop, self._stopped):
            lock.acquire()
        started = _thread.allocate_lock()
        started.acquire()
        _thread.start_new_thread(self._run, (started,))
        started.acquire()
        self._main = _Thread(cProfile.Profile())
        self._ident = _thread.get_ident()
        self._threads.append(self._main)
        self._follow_threads()
        if hasattr(os, "register_at_fork") and not _forks:
            os.register_at_fork(after_in_child=_forked)
            _forks.append(True)
        if not _monitoring and not _audits:
            sys.addaudithook(_audited)
            _audits.append(True)
        _running.append(self)
        self._idle_uw = self._idle()
        self._energy_uj = self._used()
        # What this process used until now was for the profiler.
        took_s = time.perf_counter() - opened_s
        used_uj = max(0.0, self._energy_uj[1] - self._idle_uw * took_s)
        self._own.charged_uj[OWN] = used_uj * min(1.0, (time.process_time() - opened_cpu_s) / max(took_s, 1e-9))
        if self._profile._wants_allocations:
            self._allocations = Allocations()
        self._begin_s, self._cpu_ns = time.perf_counter(), time.process_time_ns()
        self._looked_s = self._begin_s
        for thread in (self._own, self._main):  # what they did until now is not the functions'
            thread.look()
        self._begun.release()
        self._main.profiler.enable()  # type: ignore[union-attr]
        self._main.has_hook = not _monitoring
        if _monitoring and threading.active_count() > 1:
            self._divide_threads()

    # ---- Threads of the program ----

    def _follow_threads(self) -> None:
        if _monitoring:  # cProfile takes the calls of all threads for one thread's
            real = self._followed = threading.Thread.start

            def start(thread: threading.Thread) -> None:
                self._divide_threads()
                real(thread)

            threading.Thread.start = start  # type: ignore[method-assign, assignment]
            self._stands_for[key_of(start.__code__)] = key_of(real.__code__)
        else:
            self._followed = getattr(threading, "_profile_hook", None)
            threading.setprofile(self._thread_began)
        real_new = self._start_new = _thread.start_new_thread

        def start_new(function: Callable[..., object], /, *rest: Any) -> int:
            if _monitoring:
                self._divide_threads()
                return real_new(function, *rest)
            return real_new(partial(self._run_new, function), *rest)

        _thread.start_new_thread = start_new
        self._stands_for[key_of(start_new.__code__)] = key_of("<built-in method _thread.start_new_thread>")

    def _run_new(self, function: Callable[..., object], /, *args: object, **named: object) -> None:
        """In a thread that `threading` does not know, so that it sets no hook: up to Python 3.11."""
        self._thread_began()
        function(*args, **named)

    def _thread_began(self, *_: object) -> None:
        """The first event of a new thread; its cProfile takes the place of this."""
        if self._is_over or os.getpid() != self._pid:
            sys.setprofile(None)
            return
        thread = _Thread(cProfile.Profile())
        self._threads.append(thread)
        self._local.thread = thread
        thread.profiler.enable()  # type: ignore[union-attr]
        thread.has_hook = True

    def hook_goes(self) -> None:
        """The program takes this thread's profile hook, which it may not be asked to leave now. What it uses from now on, no function claims."""
        if self._is_over:
            return
        is_main = _thread.get_ident() == self._ident
        thread: _Thread | None = self._main if is_main else getattr(self._local, "thread", None)
        if thread is None and getattr(threading, "_profile_hook", None) != self._thread_began:  # a new one, with the program's hook
            thread = self._thread_of_this()
            thread.lost_s = time.perf_counter()
        elif thread is not None and thread.has_hook:
            thread.lose_hook()

    def _divide_threads(self) -> None:
        """Gives each thread a cProfile of its own, from now on: from Python 3.12 on."""
        if self._old_callbacks or self._is_over:
            return
        _events_of_this_thread(False)
        try:
            for event in [value for name, value in vars(_monitoring.events).items() if name.isupper() and value]:
                old = _monitoring.register_callback(_TOOL, event, None)
                if old is not None:
                    self._old_callbacks[event] = old
                    _monitoring.register_callback(_TOOL, event, self._divided(old))
        finally:
            _events_of_this_thread(True)

    def _divided(self, old: Any) -> Callable[..., object]:
        of_thread, name = threading.local(), old.__name__

        def called(*args: object) -> object:
            try:
                method = of_thread.method
            except AttributeError:
                method = of_thread.method = old if _thread.get_ident() == self._ident else getattr(self._thread_of_this().profiler, name)
            return method(*args)

        return called

    def _thread_of_this(self) -> _Thread:
        thread: _Thread | None = getattr(self._local, "thread", None)
        if thread is None:
            thread = self._local.thread = _Thread(cProfile.Profile())
            self._threads.append(thread)
        return thread

    def _leave_threads(self) -> None:
        _thread.start_new_thread = self._start_new
        if _monitoring:
            threading.Thread.start = self._followed  # type: ignore[method-assign]
            for event, old in self._old_callbacks.items():
                _monitoring.register_callback(_TOOL, event, old)
        else:
            threading.setprofile(self._followed)

    # ---- The meter ----

    _idle_uw = _unclaimed_uj = _overhead_s = _overhead_uj = 0.0
    _allocations: Allocations | None = None

    def _used(self) -> tuple[float, float]:
        """Microjoules so far: of GPUs, and of all else."""
        if not self._meter.is_open:
            return 0.0, 0.0
        window = self._meter._read(self._name)
        gpus = sum(window.domains[d.name].energy_uj or 0 for d in self._meter._domains if d.kind == "gpu" and d.in_total)
        return float(gpus), float((window.energy_uj or 0) - gpus)

    def _idle(self) -> float:
        """What the machine draws at rest, without GPUs, in microwatts; 0: it is not known."""
        if self._meter._set is None:
            return 0.0
        consumers = self._meter.consumers(self._name)
        duration_s = self._meter._read(self._name).duration_s
        domains = [d.name for d in self._meter._domains if d.kind != "gpu" and d.in_total]
        return sum(consumers.ledger(name).idle_uj for name in domains) / duration_s if duration_s else 0.0

    def _run(self, started: Any) -> None:
        _events_of_this_thread(False)
        self._own = self._local.thread = _Thread(None)
        started.release()
        self._begun.acquire()
        wait_s = self._profile._interval_s
        try:
            while not self._stop.acquire(timeout=wait_s):
                begin_s = time.thread_time()
                self._look()
                if self._allocations is not None:
                    self._allocations.look()
                wait_s = max(self._profile._interval_s, COST * (time.thread_time() - begin_s))
            for thread in self._threads:
                thread.leave_hook()
        finally:
            self._stopped.release()

    def _look(self) -> None:
        """Charges what was used since the look before. Only shares count: in the end they are brought to what this process used."""
        gpu_uj, cpu_uj = self._used()
        now_s, process_ns = time.perf_counter(), time.process_time_ns()
        took_s, busy_ns = max(1e-9, now_s - self._looked_s), process_ns - self._cpu_ns
        self._looked_s, self._cpu_ns = now_s, process_ns
        # While it waits, others use the machine; what a GPU does meanwhile, it may wait for.
        gpu_part_uj = max(0.0, gpu_uj - self._energy_uj[0])
        cpu_part_uj = max(0.0, cpu_uj - self._energy_uj[1] - self._idle_uw * took_s) * min(1.0, busy_ns / 1e9 / took_s)
        self._energy_uj = gpu_uj, cpu_uj
        threads = list(self._threads)
        for thread in (self._own, *threads):
            thread.look()
        busy_s, own_s = busy_ns / 1e9, self._own.cpu_s + self._main.beyond_s
        own_part = min(1.0, own_s / busy_s) if busy_s > 0 else 0.0
        self._own._charge(OWN, (cpu_part_uj + gpu_part_uj) * own_part)
        known_s = own_s + sum(thread.cpu_s for thread in threads if not thread.has_ended)
        unknown_s = sum(thread.cpu_s for thread in threads if thread.has_ended)
        scale = min(1.0, max(0.0, busy_s - known_s) / unknown_s) if unknown_s > 0 else 0.0
        weights = [thread.cpu_s * (scale if thread.has_ended else 1.0) for thread in threads]
        if not any(weights):
            weights = [float(thread is self._main) for thread in threads]
        for thread, weight in zip(threads, weights):
            part = (1.0 - own_part) * weight / sum(weights)
            thread.charge(cpu_part_uj * part, busy_s * part, gpu_part_uj * part)
            if thread.has_ended and thread is not self._main:
                self._threads.remove(thread)
                self._add(thread)

    def _add(self, thread: _Thread) -> None:
        if thread.profiler is not None:
            thread.leave_hook()
            thread.finish()
            made: dict[Any, Function] = {}
            add(made, thread.entries(), thread.charged_uj)
            made = {key: f for key, f in made.items() if key[0] != __file__ and "_lsprof.Profiler" not in key[2]}
            for f in made.values():
                for stand_in, real in self._stands_for.items():
                    if stand_in in f.called:
                        f.called[real] = f.called.pop(stand_in)
            seconds, energy_uj = take_out(made, self._overhead.inside_s, self._overhead.outside_s)
            self._overhead_s += seconds
            self._overhead_uj += energy_uj
            merge(self._made, made)
        if thread.lost_s is not None:
            self._profile.lost_s += max(0.0, thread._seen_s - thread.lost_s)
        self._unclaimed_uj += sum(part.energy_uj for part in thread._pool)

    # ---- Its end ----

    def abandon(self) -> None:
        self._is_over = True
        self._leave_threads()
        if _monitoring:
            self._main.profiler.disable()  # type: ignore[union-attr]
        else:
            sys.setprofile(None)

    def end(self) -> None:
        if os.getpid() != self._pid:  # of the parent
            return
        self._is_over = True
        if _thread.get_ident() == self._ident:
            if self._main.lost_s is None:
                self._main.profiler.disable()  # type: ignore[union-attr]
            self._main.end()
        profile = self._profile
        profile.seconds += time.perf_counter() - self._begin_s
        self._leave_threads()
        _running.remove(self)
        self._stop.release()
        self._stopped.acquire()
        if self._allocations is not None:
            self._allocations.end()
            profile.allocations = self._allocations
        if _monitoring:
            for thread in self._threads:  # those that have not returned yet are told up to now
                if thread is not self._main and thread.profiler is not None:
                    thread.profiler.enable()
                    thread.profiler.disable()
                    thread.end()
        self._look()
        try:
            self._tell(profile)
        finally:
            self._close()

    def _tell(self, profile: Profile) -> None:
        for thread in self._threads:
            self._add(thread)
        made = self._made
        profile.overhead_s += self._overhead_s
        charged = sum(f.own_uj for f in made.values())
        overhead_uj = self._overhead_uj + self._own.charged_uj.get(OWN, 0.0)
        self._balance(profile, made, charged, overhead_uj)
        profile._merge(made)

    def _balance(self, profile: Profile, made: dict[Any, Function], charged_uj: float, overhead_uj: float) -> None:
        meter = self._meter
        if not meter.is_open:
            profile.reasons = meter.reasons
            return
        with_children = meter._read(self._name).own  # before the list: what this process uses after that is not its children's
        consumers = meter.consumers(self._name) if meter._set is not None else None
        window = meter.end(self._name)
        self._name = ""
        profile.reasons = window.reasons
        if window.energy_uj is None:
            return
        profile.is_modelled |= window.verdict == "modelled"
        everything = own = window.energy_uj
        idle = children = 0
        uncertainty_j, is_above = window.uncertainty_j, False
        if consumers is not None and window.own is not None and with_children is not None:
            ledger = consumers.ledger()
            everything, idle = ledger.total_uj, ledger.idle_uj if ledger.has_idle else 0
            mine = next((row.share() for row in consumers if row.pid == self._pid and row.state == "running"), None)
            above_j = mine.dynamic_j if mine is not None and ledger.has_idle else None
            is_above = above_j is not None
            own = round(above_j * 1e6) if above_j is not None else mine.full_uj if mine is not None else 0
            tree = round((with_children.dynamic_j or 0) * 1e6) if is_above else with_children.full_uj
            children = max(0, min(tree - own, everything - idle - own))
            uncertainty_j = window.own.uncertainty_j if is_above else window.own.full_uncertainty_j
        profile.has_idle &= is_above
        scale = own / max(charged_uj + overhead_uj + self._unclaimed_uj, 1e-9)
        for f in made.values():
            f.own_uj, f.all_uj = f.own_uj * scale, f.all_uj * scale
            for call in f.called.values():
                call.own_uj, call.all_uj = call.own_uj * scale, call.all_uj * scale
        of_functions = min(own, round(charged_uj * scale))
        of_profiler = min(own - of_functions, round(overhead_uj * scale))
        profile.measured_uj = (profile.measured_uj or 0) + everything
        profile.functions_uj += of_functions
        profile.profiler_uj += of_profiler
        profile.unseen_uj += own - of_functions - of_profiler
        profile.children_uj += children
        profile.idle_uj += idle
        profile.others_uj += everything - own - children - idle
        if uncertainty_j is not None:
            profile.uncertainty_j = (profile.uncertainty_j or 0.0) + uncertainty_j

    def _close(self) -> None:
        if self._meter is not self._profile._given:
            self._meter.close()
        elif getattr(self, "_name", ""):
            self._meter.cancel(self._name)


# ---- python -m wattle.profile ----


def _arguments(argv: list[str]) -> Any:
    import argparse

    parser = argparse.ArgumentParser(
        prog="python -m wattle.profile",
        description="Runs a Python program and tells how often each function was called, how long it took and how many joules it used. "
        "The table goes to standard error. 'wattle profile' samples instead: it costs less, and sees native code and running programs.",
    )
    parser.add_argument("-m", dest="module", action="store_true", help="the program is a module, as with python -m")
    parser.add_argument("-o", "--output", metavar="FILE", help="write joules to FILE (SnakeViz, gprof2dot, pstats), seconds to FILE's .time.pstats")
    parser.add_argument("-s", "--sort", choices=SORTS, default="energy", help="what the table is sorted by (default: energy)")
    parser.add_argument("-n", "--rows", type=int, default=30, help="how many functions the table has at most (default: 30; 0: all)")
    parser.add_argument("-q", "--quiet", action="store_true", help="no table, only the file")
    parser.add_argument("--interval", type=float, default=INTERVAL_S, help="seconds from one reading of the meter to the next (default: 0.05)")
    parser.add_argument("--allocations", action="store_true", help="tell where Python's memory was allocated, too (tracemalloc: slow)")
    parser.add_argument("program", help="a script, or with -m a module").required = False  # so it is said below
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what the program is given").required = False
    chosen = parser.parse_args(argv)
    if chosen.program is None:
        parser.error("there is nothing to profile: python -m wattle.profile PROGRAM, or -m MODULE")
    if not 0.001 <= chosen.interval <= 60 or chosen.rows < 0:
        parser.error("--interval takes 0.001 to 60 seconds, --rows 0 or more")
    if chosen.quiet and not chosen.output:
        parser.error("--quiet leaves nothing to tell without --output")
    if chosen.output is not None:
        if not chosen.output.endswith(SUFFIXES):
            parser.error(f"-o {chosen.output}: its name has to end in {' or '.join(SUFFIXES)}; 'wattle profile' writes other formats; nothing was run")
        chosen.output = os.path.abspath(chosen.output)  # wherever the program goes
    return chosen


def _load(chosen: Any) -> Callable[[], object]:
    """The program as a function. Raises `OSError`, `SyntaxError`, `ValueError`, `ImportError`."""
    import importlib.machinery
    import importlib.util
    import pkgutil
    import types

    sys.argv[:] = [chosen.program, *chosen.arguments]
    if chosen.module:
        import runpy

        sys.path[0] = os.getcwd()
        return lambda: runpy.run_module(chosen.program, run_name="__main__", alter_sys=True)
    path = os.path.abspath(chosen.program)
    if pkgutil.get_importer(path) is not None:  # a folder or a zip file
        spec: Any = importlib.machinery.PathFinder.find_spec("__main__", [path])
        if spec is None or spec.loader is None:
            raise ImportError(f"can't find '__main__' module in {chosen.program!r}")
        code, module, sys.path[0] = spec.loader.get_code("__main__"), importlib.util.module_from_spec(spec), path
    else:
        with open(chosen.program, "rb") as file:
            code = compile(file.read(), chosen.program, "exec")
        sys.path[0] = os.path.dirname(path)
        module = types.ModuleType("__main__")
        module.__dict__.update(__file__=chosen.program, __builtins__=__builtins__, __spec__=None)
    sys.modules["__main__"] = module
    return lambda: exec(code, module.__dict__)


def _try(path: str) -> None:
    """Raises `OSError` if it cannot be written; what is there stays as it is."""
    path = os.path.realpath(path)
    if not os.path.exists(path):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        os.unlink(path)
    elif os.path.isfile(path) or os.path.isdir(path):  # a pipe may have no reader yet
        os.close(os.open(path, os.O_WRONLY))


def _told(profile: Profile, chosen: Any) -> bool:
    """Writes what was asked for; whether that succeeded."""
    said, is_written = [], True
    if chosen.output:
        try:
            profile.write(chosen.output)
            if profile.measured_uj is None:
                said.append(f"no energy is known, so {chosen.output!r} is not written: seconds are beside it")
        except OSError as error:
            said.append(f"cannot write {error.filename or chosen.output!r}: {error.strerror}")
            is_written = False
    try:
        sys.stdout.flush()
    except (OSError, ValueError, RuntimeError):  # nobody reads it, the program has closed it, or a signal came in the middle of it
        pass
    if not chosen.quiet or not is_written:
        said.insert(0, profile.table(chosen.sort, chosen.rows or None))
    for text in said:
        print(f"wattle.profile: {text}", file=sys.stderr)
    return is_written


def _tell_at_sigterm(profile: Profile, chosen: Any) -> None:
    """
    If nobody else handles SIGTERM, it ends the program as ever once what was measured is told. Not by an exception: the program would see
    it, and might go on.
    """
    import signal

    pid = os.getpid()

    def end(*_: object) -> None:
        try:
            if os.getpid() == pid and profile._depth:
                profile.__exit__()
                _told(profile, chosen)
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)

    def forked() -> None:
        if signal.getsignal(signal.SIGTERM) is end:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, end)
        os.register_at_fork(after_in_child=forked)


def main(argv: list[str] | None = None) -> int:
    """``python -m wattle.profile``: exits as the program does."""
    import traceback
    import warnings

    chosen = _arguments(sys.argv[1:] if argv is None else argv)
    for path in _files(chosen.output) if chosen.output else ():
        try:
            _try(path)
        except OSError as error:
            print(f"wattle.profile: cannot write {path!r}: {error.strerror}; nothing was run", file=sys.stderr)
            return 2
    try:
        program = _load(chosen)
    except OSError as error:
        print(f"wattle.profile: cannot read {chosen.program!r}: {error.strerror}", file=sys.stderr)
        return 2
    except ImportError as error:
        print(f"wattle.profile: {error}", file=sys.stderr)
        return 2
    except (SyntaxError, ValueError):  # older Pythons have the latter for null bytes
        traceback.print_exc(0)
        return 1
    profile, pid, ended = Profile(interval_s=chosen.interval, allocations=chosen.allocations), os.getpid(), None
    _tell_at_sigterm(profile, chosen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the table says what is modelled
        try:
            profile.__enter__()
        except Error as error:
            print(f"wattle.profile: {error}", file=sys.stderr)
            return 2
    try:
        program()
    except BaseException as error:
        ended = error
    profile.__exit__()
    if os.getpid() == pid and not _told(profile, chosen) and ended is None:
        return 1
    if ended is None:
        return 0
    trace, hook = _beyond_this_file(ended.__traceback__), sys.excepthook

    def tell(kind: Any, error: BaseException, _: object) -> None:
        error.__traceback__ = trace  # of the program alone
        hook(kind, error, trace)

    sys.excepthook = tell
    raise ended  # Python does the rest: at Ctrl-C it ends by SIGINT


def _beyond_this_file(trace: Any) -> Any:
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace


if __name__ == "__main__":
    sys.exit(main())
