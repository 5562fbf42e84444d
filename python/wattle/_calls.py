# SPDX-License-Identifier: MIT
"""What a profiler counted, as functions with their calls: its own cost is taken out, and joules follow the calls."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable

    Key = tuple[str, int, str]

ROUNDS = 200  # at most, until what functions took with their calls is known


class Call:
    """Calls of one function by another one."""

    __slots__ = ("all_s", "all_uj", "calls", "own_s", "own_uj", "primitive")

    def __init__(self) -> None:
        self.calls = self.primitive = 0
        self.own_s = self.all_s = self.own_uj = self.all_uj = 0.0


class Function:
    """
    A function of the program, with what it used itself and with all that it called.

    Attributes
    ----------
    file, line, name : str, int, str
        ``"~"`` and 0 of functions that are not written in Python.
    calls, primitive_calls : int
        All, and those that are not recursive.
    own_s, all_s : float
        Seconds of wall time; the profiler's cost is taken out.
    own_j, all_j : float
        Joules of this process.
    """

    def __init__(self, key: Key) -> None:
        self.key = key
        self.file, self.line, self.name = key
        self.calls = self.primitive_calls = 0
        self.own_s = self.all_s = self.own_uj = self.all_uj = 0.0
        self.called: dict[Key, Call] = {}

    def add(self, other: Function) -> None:
        """What another profile had of this function."""
        for name in ("calls", "primitive_calls", "own_s", "all_s", "own_uj", "all_uj"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for callee, more in other.called.items():
            call = self.called.setdefault(callee, Call())
            for name in Call.__slots__:
                setattr(call, name, getattr(call, name) + getattr(more, name))

    @property
    def own_j(self) -> float:
        return self.own_uj / 1e6

    @property
    def all_j(self) -> float:
        return self.all_uj / 1e6

    def __repr__(self) -> str:
        return f"<wattle.profile.Function {label(self.key)}: {self.own_j:.3g} J in {self.calls} calls>"


def key_of(code: Any) -> Key:
    """A function's key in the files of cProfile."""
    if isinstance(code, str):
        return ("~", 0, code)
    return (code.co_filename, code.co_firstlineno, code.co_name)


def label(key: Key) -> str:
    """What it is called in a table: as cProfile does it."""
    file, line, name = key
    if file != "~":
        return f"{file}:{line}({name})"
    return f"{{{name[1:-1]}}}" if name.startswith("<") and name.endswith(">") else name


def finished(entry: Any) -> list[Any]:
    """What a function called; without calls that have not ended yet, whose functions may have no entry."""
    return [sub for sub in entry.calls or () if sub.callcount]


class _Cut:
    """An entry of a cProfile, less so many seconds."""

    def __init__(self, entry: Any, own_s: float, all_s: float, calls: list[Any]) -> None:
        self.code, self.callcount, self.reccallcount, self.calls = entry.code, entry.callcount, entry.reccallcount, calls
        self.inlinetime, self.totaltime = max(0.0, entry.inlinetime - own_s), max(0.0, entry.totaltime - all_s)


def without(late_s: float, then: list[Any], entries: list[Any]) -> list[Any]:
    """
    Entries of a cProfile that got no events any more and was ended so much later: what still ran then, and has a call more now, is told
    without that time. All of it is in the innermost one's own.
    """
    before = {id(entry.code): entry for entry in then}
    counts = {(id(entry.code), id(sub.code)): sub.callcount for entry in then for sub in entry.calls or ()}

    def ran(entry: Any) -> bool:
        return id(entry.code) not in before or entry.callcount > before[id(entry.code)].callcount

    running = {id(entry.code) for entry in entries if ran(entry)}

    def ran_in(entry: Any, sub: Any) -> bool:
        return id(sub.code) in running and bool(sub.callcount > counts.get((id(entry.code), id(sub.code)), 0))

    inner = {id(entry.code) for entry in entries if ran(entry) and not any(ran_in(entry, sub) for sub in finished(entry))}
    return [
        _Cut(
            entry,
            late_s * (id(entry.code) in inner),
            late_s * ran(entry),
            [_Cut(sub, late_s * (ran_in(entry, sub) and id(sub.code) in inner), late_s * ran_in(entry, sub), []) for sub in finished(entry)],
        )
        for entry in entries
    ]


def add(functions: dict[Key, Function], entries: Iterable[Any], charged_uj: dict[tuple[int, int], float]) -> None:
    """Adds the entries of a cProfile, and the energy that each was charged, by the identities of its caller's code (0: none) and of its own."""
    for entry in entries:
        key = key_of(entry.code)
        function = functions.setdefault(key, Function(key))
        function.calls += entry.callcount
        function.primitive_calls += entry.callcount - entry.reccallcount
        function.own_s += entry.inlinetime
        function.all_s += entry.totaltime
        function.own_uj += charged_uj.get((0, id(entry.code)), 0.0)
        for sub in finished(entry):
            callee = key_of(sub.code)
            call = function.called.setdefault(callee, Call())
            call.calls += sub.callcount
            call.primitive += sub.callcount - sub.reccallcount
            call.own_s += sub.inlinetime
            call.all_s += sub.totaltime
            own_uj = charged_uj.get((id(entry.code), id(sub.code)), 0.0)
            call.own_uj += own_uj
            functions.setdefault(callee, Function(callee)).own_uj += own_uj


def merge(functions: dict[Key, Function], more: dict[Key, Function]) -> None:
    for key, function in more.items():
        sum_of = functions.setdefault(key, function)
        if sum_of is not function:
            sum_of.add(function)


def _spread(functions: dict[Key, Function], fixed: dict[Key, float], took: dict[Key, float], weight: Callable[[Key, Call], float]) -> dict[Key, float]:
    """
    A rate of each function: what is fixed of it, and for so many seconds of each call the rate of the called one, for each second that it
    took.
    """
    order = sorted(functions, key=lambda key: functions[key].all_s)
    called = {key: [(callee, weight(callee, call)) for callee, call in f.called.items() if callee in functions] for key, f in functions.items()}
    rate = dict.fromkeys(functions, 0.0)
    least = 1e-9 * max(sum(fixed.values()), 1e-9)
    for _ in range(ROUNDS):
        change = 0.0
        for key in order:
            of_all = fixed[key] + sum(seconds * rate[callee] for callee, seconds in called[key])
            new = of_all / took[key] if took[key] > 0 else 0.0
            change = max(change, abs(new - rate[key]) * took[key])
            rate[key] = new
        if change < least:
            break
    return rate


def _energy_of_calls(functions: dict[Key, Function], own_uj: dict[Key, float]) -> None:
    """
    Fills in the joules of each function and of each call with all that these called. A call has its own ones; what is below it has a second
    of what its function called, whoever called that. Of a function that calls itself the calls overlap: there a second is one of all of it.
    """

    def is_recursive(key: Key) -> bool:
        return functions[key].calls != functions[key].primitive_calls

    def below_s(key: Key, call: Call | Function) -> float:
        return call.all_s if is_recursive(key) else max(0.0, call.all_s - call.own_s)

    def own_of(key: Key, call: Call) -> float:
        return 0.0 if is_recursive(key) else call.own_uj

    fixed, took = {}, {}
    for key, f in functions.items():
        fixed[key] = sum(own_of(callee, call) for callee, call in f.called.items() if callee in functions)
        took[key] = sum(call.all_s for call in f.called.values())
        if is_recursive(key):
            fixed[key] += own_uj[key]
            took[key] += f.own_s
    rate = _spread(functions, fixed, took, below_s)
    for key, f in functions.items():
        for callee, call in f.called.items():
            if callee in functions:
                call.all_uj = own_of(callee, call) + below_s(callee, call) * rate[callee]
        f.all_uj = max(own_uj[key], (0.0 if is_recursive(key) else own_uj[key]) + below_s(key, f) * rate[key])


def take_out(functions: dict[Key, Function], inside_s: dict[bool, float], outside_s: dict[bool, float]) -> tuple[float, float]:
    """
    Takes out what the profiler cost: something in each function that is called and something in its caller. Fills in the joules of calls.

    Parameters
    ----------
    functions : dict
        Of one thread: what shares a function in two threads has not the same power.
    inside_s, outside_s : dict of bool to float
        Seconds of each call; True: of functions that are not written in Python.

    Returns
    -------
    tuple of float
        Its seconds and microjoules.
    """
    own_s: dict[Key, float] = {}
    own_uj: dict[Key, float] = {}
    for key, function in functions.items():
        cost_s = function.calls * inside_s[key[0] == "~"]
        cost_s += sum(call.calls * outside_s[callee[0] == "~"] for callee, call in function.called.items())
        own_s[key] = max(0.0, function.own_s - cost_s)
        own_uj[key] = function.own_uj * own_s[key] / function.own_s if function.own_s > 0 else 0.0
    seconds = sum(function.own_s - own_s[key] for key, function in functions.items())
    energy_uj = sum(function.own_uj - own_uj[key] for key, function in functions.items())
    took_s = {key: f.own_s + sum(call.all_s for call in f.called.values()) for key, f in functions.items()}
    for function in functions.values():
        for callee, call in function.called.items():
            of_callee = functions.get(callee)
            call.own_uj *= own_uj[callee] / of_callee.own_uj if of_callee and of_callee.own_uj > 0 else 0.0
    _energy_of_calls(functions, own_uj)
    rate_s = _spread(functions, own_s, took_s, lambda _, call: call.all_s)
    for key, function in functions.items():
        for callee, call in function.called.items():
            call.all_s *= rate_s.get(callee, 0.0)
            call.own_s = min(max(0.0, call.own_s - call.calls * inside_s[callee[0] == "~"]), call.all_s)
        function.all_s = max(own_s[key], function.all_s * rate_s[key])
        function.own_s, function.own_uj = own_s[key], own_uj[key]
    return seconds, energy_uj


def stats_of(functions: Iterable[Function], title: str, is_energy: bool, others: dict[str, float]) -> dict[Any, Any]:
    """
    What a pstats file holds, below one function that is called what is counted: SnakeViz drops what neither calls nor is called.

    Parameters
    ----------
    others : dict of str to float
        Rows that are no function, in the unit of the file.
    """
    root: Key = ("~", 0, title)
    stats: dict[Any, Any] = {}
    total = 0.0
    for f in functions:
        own, everything = (f.own_j, f.all_j) if is_energy else (f.own_s, f.all_s)
        total += own
        stats[f.key] = (f.primitive_calls, f.calls, own, everything, {})
    for f in functions:
        for callee, call in f.called.items():
            if callee in stats:
                own, everything = (call.own_uj / 1e6, call.all_uj / 1e6) if is_energy else (call.own_s, call.all_s)
                stats[callee][4][f.key] = (call.calls, call.primitive, own, everything)
    for name, value in others.items():
        total += value
        stats["~", 0, name] = (1, 1, value, value, {})
    for row in stats.values():
        if not row[4]:
            row[4][root] = (row[1], row[0], row[2], row[3])
    stats[root] = (1, 1, 0.0, total, {})
    return stats
