# SPDX-License-Identifier: MIT
"""
Joins recordings of a job's ranks and nodes, so that each part of each machine is counted once at any moment.

The C library tells every energy. Here is only decided which recording tells it when: the recordings of one boot of a
machine share CLOCK_MONOTONIC. For each domain the best method goes first, then the recording that began first, and
another one fills in what that one lacks.
"""

from __future__ import annotations

import os

from . import _abi
from ._lib import need
from ._recording import TO_THE_END_NS, Pass, Recording
from .figures import plus_minus

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable, Iterator

    import pandas

    from .figures import Domain

    Stretches = list[tuple[int, int]]  # sorted, and they do not touch

_LOOK_NS = 10**9  # how finely it is known what a recording lacks
_MEASURED = ("counter", "integrated")


class _Sum:
    """
    A sum of energies.

    Attributes
    ----------
    energy_uj, uncertainty_uj : int or None
        Microjoules; k = 2. Uncertainties are added, not their squares: that is enough, whatever they have in common.
    gap_s : float
        Seconds that no recording told though one was made; of a total, those of the domain that lacks most.
    """

    energy_uj: int | None = None
    uncertainty_uj: int | None = None
    gap_s = 0.0

    def _add(self, energy_uj: int | None, uncertainty_uj: int | None) -> None:
        if energy_uj is not None and uncertainty_uj is not None:
            self.energy_uj = (self.energy_uj or 0) + energy_uj
            self.uncertainty_uj = (self.uncertainty_uj or 0) + uncertainty_uj

    @property
    def energy_j(self) -> float | None:
        """Joules."""
        return None if self.energy_uj is None else self.energy_uj / 1e6

    @property
    def uncertainty_j(self) -> float | None:
        """Joules, k = 2."""
        return None if self.uncertainty_uj is None else self.uncertainty_uj / 1e6

    def __repr__(self) -> str:
        lacks = f", {self.gap_s:.4g} s missing" if self.gap_s else ""
        return f"<wattle.{type(self).__name__} {plus_minus(self.energy_j, self.uncertainty_j, 'J')}{lacks}>"


class MergedDomain(_Sum):
    """
    A domain of a machine.

    Attributes
    ----------
    name, uuid, method, in_total
        As those of `Domain`; the UUID is added to the name if two GPUs had the same name.
    spans : list of (str, float, float)
        Which recording told its energy: path, begin and end, UTC seconds. They do not overlap.
    missing : list of (float, float)
        Where none did though one was made: begin and end.
    """

    def __init__(self, domain: Domain) -> None:
        self.name, self.uuid, self.method, self.in_total = domain.name, domain.uuid, "none", domain.in_total
        self.spans: list[tuple[str, float, float]] = []
        self.missing: list[tuple[float, float]] = []

    def _tell(self, energy_uj: int | None, uncertainty_uj: int | None, gap_s: float, method: str) -> None:
        self._add(energy_uj, uncertainty_uj)
        self.gap_s += gap_s
        self.method = method if self.method in ("none", method) else "mixed"


class MergedMachine(_Sum):
    """A machine: ``id`` (the recordings' fact ``machine-id``), ``host``, ``paths``, and ``domains`` by name (`MergedDomain`)."""

    def __init__(self, name: str, host: str | None) -> None:
        self.id, self.host = name, host
        self.paths: list[str] = []
        self.domains: dict[str, MergedDomain] = {}


class Merged(_Sum):
    """
    The energy of all machines of a job; `merge` makes it.

    Attributes
    ----------
    machines : dict of str to MergedMachine
        By machine id.
    reasons : list of str
        What could not be joined.
    """

    def __init__(self) -> None:
        self.machines: dict[str, MergedMachine] = {}
        self.reasons: list[str] = []

    def frame(self) -> pandas.DataFrame:
        """A row for each machine and domain."""
        need("pandas", "frames", "pandas")
        import pandas

        names = ["domain", "uuid", "in_total", "energy_j", "uncertainty_j", "method", "gap_s"]
        rows = [
            [machine.id, machine.host, domain.name, *(getattr(domain, name) for name in names[1:])]
            for machine in self.machines.values()
            for domain in machine.domains.values()
        ]
        made = pandas.DataFrame(rows, columns=["machine", "host", *names])
        return made.astype({"domain": "category", "energy_j": "float64", "uncertainty_j": "float64"})


def _union(stretches: Stretches) -> Stretches:
    joined: Stretches = []
    for begin, end in sorted(stretches):
        if joined and begin <= joined[-1][1]:
            begin, end = joined[-1][0], max(end, joined.pop()[1])
        joined.append((begin, end))
    return joined


def _without(begin: int, end: int, taken: Stretches) -> Iterator[tuple[int, int]]:
    for taken_begin, taken_end in taken:
        if taken_begin >= end:
            break
        if taken_begin > begin:
            yield begin, taken_begin
        begin = max(begin, taken_end)
    if begin < end:
        yield begin, end


class _Part:
    """A recording of one boot, with what it knows of each domain, and which of that is taken from it."""

    def __init__(self, recording: Recording) -> None:
        self.path, self.facts = recording.path, recording.facts
        self.domains: dict[str, Domain] = {}  # in the recording's order
        for d in recording.domains:
            key = f"{d.uuid}/{d.kind}" if d.uuid else d.name
            while key in self.domains:
                key += f"/{d.name}"
            self.domains[key] = d
        self.left_out: set[str] = set()  # models that are not needed
        self.begin_ns = self.end_ns = self.utc_ns = self._longest_ns = 0

    def look(self, interval_ns: int) -> None:
        """Finds out what it knows."""
        # By how well: without a gap, or with one.
        self.known: tuple[dict[str, Stretches], ...] = tuple({key: [] for key in self.domains} for _ in range(2))
        self.holes: dict[str, Stretches] = {key: [] for key in self.domains}  # in what is known without a gap
        self.taken: dict[str, Stretches] = {key: [] for key in self.domains}
        well: dict[str, list[int]] = {key: [] for key in self.domains}
        at = Pass(self.path)
        while at.next(interval_ns):
            begin, end = at.step.begin_mono_ns, at.step.begin_mono_ns + at.step.duration_ns
            if not self.end_ns:
                self.begin_ns, self.utc_ns = begin, at.step.begin_utc_ns - begin
            self.end_ns, self._longest_ns = end, max(self._longest_ns, end - begin)
            for key, energy in zip(self.domains, at.energies):
                for known in self.known[bool(energy.gap_ns) :] if energy.has_energy else ():
                    if known[key] and known[key][-1][1] == begin:
                        known[key][-1] = (known[key][-1][0], end)
                    else:
                        known[key].append((begin, end))
                if energy.status in (_abi.STATUS_OK, _abi.STATUS_GAP):
                    well[key].append(end)
        whole, in_all = [(self.begin_ns, self.end_ns)], Pass(self.path)
        in_all.next(TO_THE_END_NS)
        for i, key in enumerate(self.domains):
            if not in_all.energies[i].has_energy:  # such as a counter that stood still, which only shows after a while
                self.known[0][key], self.known[1][key] = [], []
                continue
            if self.known[0][key] != whole:
                self._bridge(i, self.known[0][key], self.holes[key], well[key])

    def _bridge(self, i: int, known: Stretches, holes: Stretches, well: list[int]) -> None:
        """Adds the holes between good readings over which a counter went on: the energy of all of such a hole is known."""
        for at in self._steps(well):
            begin, end = at.step.begin_mono_ns, at.step.begin_mono_ns + at.step.duration_ns
            if at.energies[i].has_energy and not at.energies[i].gap_ns and any(_without(begin, end, known)):
                holes.append((begin, end))
        known[:] = _union([*known, *holes])

    def _steps(self, ends: list[int]) -> Iterator[Pass]:
        """Goes through it from one of these samples to the next."""
        at, now = Pass(self.path), self.begin_ns
        for end in ends:
            while now < end and at.next(end - now):
                now = at.step.begin_mono_ns + at.step.duration_ns
                yield at

    def around(self, key: str, begin: int, end: int) -> tuple[int, int]:
        """The stretch, made longer if an end of it is in a hole."""
        for hole_begin, hole_end in self.holes.get(key, ()):
            if hole_begin < begin < hole_end:
                begin = hole_begin
            if hole_begin < end < hole_end:
                end = hole_end
        return begin, end

    def cut(self, key: str, t_ns: int) -> tuple[int, int]:
        """How much of a hole lies before and after that moment, if it is in one."""
        return next(((t_ns - begin, end - t_ns) for begin, end in self.holes.get(key, ()) if begin < t_ns < end), (0, 0))

    def _within(self, stretches: Stretches) -> Stretches:
        """From the first sample in each stretch to the last one; without those that have fewer than two."""
        at, now, found = Pass(self.path), self.begin_ns, []
        for begin, end in stretches:
            first = last = -1
            while now <= end:
                if now >= begin:
                    first, last = now if first < 0 else first, now
                # Not past the end: a step may be longer than asked for, by a sample.
                if not at.next(max(0, (end if first >= 0 else begin) - now - (self._longest_ns if first >= 0 else 0))):
                    break
                now = at.step.begin_mono_ns + at.step.duration_ns
            if first < last:
                found.append((first, last))
        return found

    def tell(self, merged: dict[str, MergedDomain], told: dict[str, Stretches]) -> None:
        """Adds the energies of what is taken."""
        alike: dict[tuple[tuple[int, int], ...], list[str]] = {}
        for key, stretches in self.taken.items():
            alike.setdefault(tuple(stretches), []).append(key)
        indices = {key: i for i, key in enumerate(self.domains)}
        for same, keys in alike.items():
            within = list(same) if same == ((self.begin_ns, self.end_ns),) else self._within(list(same))
            for at in self._steps([t for stretch in within for t in stretch]):
                begin, end = at.step.begin_mono_ns, at.step.begin_mono_ns + at.step.duration_ns
                for key in keys if any(b <= begin and end <= e for b, e in within) else ():
                    energy, utc_s = at.energies[indices[key]], at.step.begin_utc_ns / 1e9
                    if energy.has_energy:
                        merged[key]._tell(energy.energy_uj, energy.uncertainty_uj, energy.gap_ns / 1e9, self.domains[key].method)
                        spans, until_s = merged[key].spans, utc_s + at.step.duration_ns / 1e9
                        if told[key] and told[key][-1][1] == begin and spans[-1][0] == self.path:
                            utc_s = spans.pop()[1]  # one span, told in steps
                        spans.append((self.path, utc_s, until_s))
                        told[key].append((begin, end))


def _take(parts: list[_Part], part: _Part, key: str, how: int) -> None:
    """Takes from a part what is not taken; of holes all or nothing, as far as the part knows what another one gives up."""
    others = [other for other in parts if other is not part and key in other.domains]
    known, can_widen = part.known[how][key], how == 0 and part.domains[key].method in _MEASURED
    taken = _union([stretch for other in parts for stretch in other.taken.get(key, ())])
    for begin, end in [stretch for one in known for stretch in _without(*one, taken)]:
        wide, before = (begin, end), (0, 0)
        while can_widen and wide != before:
            before = wide
            for each in (part, *(other for other in others if other.taken[key])):
                wide = each.around(key, *wide)
        if any(_without(*wide, known)):  # something of a hole is lost: the smaller one
            own = next((b, e) for b, e in known if b <= begin and end <= e)
            wide = max(wide[0], own[0]), min(wide[1], own[1])
            theirs = sum(other.cut(key, wide[0])[0] + other.cut(key, wide[1])[1] for other in others if other.taken[key])
            if part.cut(key, begin)[1] + part.cut(key, end)[0] <= theirs:
                wide = begin, end
        for other in others:
            other.taken[key] = [left for one in other.taken[key] for left in _without(*one, [wide])]
        part.taken[key] = _union([*part.taken[key], wide])


def _match(parts: list[_Part], reasons: list[str]) -> None:
    """A domain whose UUID one recording does not say is that of the same name and kind in the others."""
    by_name: dict[tuple[str, str], set[str]] = {}
    for part in parts:
        for key, domain in part.domains.items():
            if domain.uuid:
                by_name.setdefault((domain.name, domain.kind), set()).add(key)
    for part in parts:
        keys: dict[str, Domain] = {}
        for key, domain in part.domains.items():
            others = by_name.get((domain.name, domain.kind), set()) - {*part.domains, *keys} if not domain.uuid else set()
            if len(others) > 1:
                reasons.append(f"{part.path} does not say which {domain.name} it measured: it is counted as one of its own")
            keys[others.pop() if len(others) == 1 else key] = domain
        part.domains = keys


def _leave_models_out(parts: list[_Part], reasons: list[str]) -> None:
    """Where a recording measures a kind of domain, the models of those that measure none of that kind are not needed, nor what they model beside."""
    measured = [{d.kind for d in p.domains.values() if d.in_total and d.method in _MEASURED} for p in parts]
    for part, own in zip(parts, measured):
        others = set().union(*measured) - own
        modelled = {key: d for key, d in part.domains.items() if d.method == "modelled" and (d.kind in others or others and not d.in_total)}
        part.left_out = set(modelled)
        if modelled:
            names = ", ".join(domain.name for domain in modelled.values())
            reasons.append(f"{part.path} only has a model of {names}: it is left out, another recording measures such domains")


def _of_one_boot(parts: list[_Part], reasons: list[str]) -> Iterable[MergedDomain]:
    _match(parts, reasons)
    for part in parts:
        part.look(_LOOK_NS if len(parts) > 1 else TO_THE_END_NS)
    parts.sort(key=lambda part: (part.begin_ns, -part.end_ns))
    _leave_models_out(parts, reasons)
    merged: dict[str, MergedDomain] = {}
    turns = []
    for i, part in enumerate(parts):
        for key, domain in part.domains.items():
            if key in part.left_out:
                continue
            sum_ = merged.setdefault(key, MergedDomain(domain))
            sum_.in_total |= domain.in_total
            sum_.uuid = sum_.uuid or domain.uuid
            turns += [(domain.method not in _MEASURED, how, domain.method, i, key) for how in range(2)]
    for _, how, _, i, key in sorted(turns):
        _take(parts, parts[i], key, how)
    told: dict[str, Stretches] = {key: [] for key in merged}
    for part in parts:
        part.tell(merged, told)
    utc_ns, end_ns = parts[0].utc_ns, max(part.end_ns for part in parts)
    for key, sum_ in merged.items():
        sum_.spans.sort(key=lambda span: span[1])
        for begin, end in _without(parts[0].begin_ns, end_ns, _union(told[key])):
            sum_.missing.append(((begin + utc_ns) / 1e9, (end + utc_ns) / 1e9))
            sum_.gap_s += (end - begin) / 1e9
    return merged.values()


def merge(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Merged:
    """
    Joins recordings, as those of the ranks and nodes of a job.

    Recordings of one boot of a machine (fact ``boot-id``) are of the same sockets and, by UUID, GPUs: each is counted
    once over any time that several of them tell. Where one ends and another goes on, up to a sample's time is missing.
    Models are left out where another recording of that boot has a sensor for such domains.
    Machines and boots add up.

    Raises
    ------
    ValueError
        There is no path.
    Error
        A file cannot be read, or is no recording.
    """
    merged = Merged()
    boots: dict[str, list[_Part]] = {}
    for path in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        part = _Part(Recording(path))
        boot = part.facts.get("boot-id") or part.facts.get("machine-id")
        if boot is None:
            merged.reasons.append(f"{part.path} does not say of which machine it is: it is counted as one of its own")
        boots.setdefault(boot or part.path, []).append(part)
    if not boots:
        raise ValueError("there is nothing to merge")
    for boot, parts in boots.items():
        name = parts[0].facts.get("machine-id", boot)
        machine = merged.machines.setdefault(name, MergedMachine(name, parts[0].facts.get("host")))
        machine.paths += [part.path for part in parts]
        for domain in _of_one_boot(parts, merged.reasons):
            if machine.domains.get(domain.name, domain).uuid != domain.uuid:
                domain.name += f" {domain.uuid}"
            known = machine.domains.setdefault(domain.name, domain)
            if known is not domain:  # of another boot
                known._tell(domain.energy_uj, domain.uncertainty_uj, domain.gap_s, domain.method)
                known.spans += domain.spans
                known.missing += domain.missing
    for machine in merged.machines.values():
        for domain in machine.domains.values():
            if domain.in_total:
                machine._add(domain.energy_uj, domain.uncertainty_uj)
                machine.gap_s = max(machine.gap_s, domain.gap_s)
        merged._add(machine.energy_uj, machine.uncertainty_uj)
        merged.gap_s = max(merged.gap_s, machine.gap_s)
    return merged
