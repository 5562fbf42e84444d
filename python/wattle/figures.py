# SPDX-License-Identifier: MIT
"""Figures with where they come from and how sure they are. What is not known is None, never 0."""

from __future__ import annotations

from . import _abi
from ._lib import WindowError, known, load, new, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable, Sequence, overload


def plus_minus(value: float | None, uncertainty: float | None, unit: str) -> str:
    """``"226 ± 22 J"``: the value as exact as two digits of its uncertainty; ``"unknown"`` for None."""
    if value is None:
        return "unknown"
    if not uncertainty:
        return f"{value:.4g} {unit}"
    digits = max(0, 1 - int(f"{uncertainty:e}".partition("e")[2]))
    return f"{value:.{digits}f} ± {uncertainty:.{digits}f} {unit}"


class Energy:
    """
    The energy of one domain, or of the machine, over a window.

    Attributes
    ----------
    energy_j : float or None
        Joules that were measured; a gap is not filled in. ``energy_uj`` is the same as whole microjoules, which add up.
    uncertainty_j : float or None
        Expanded uncertainty, k = 2: about 95 of 100 true values lie within ``energy_j`` ± this.
    mean_w, max_w : float or None
        Watts; None for windows too short to speak of power.
    method : {"counter", "integrated", "modelled", "mixed", "none"}
        The difference of a hardware counter; power over time; a guess from activity; several of these; no figure.
    status : {"ok", "stale", "gap", "denied", "gone", "failed", "asleep", "absent"}
    samples : int
    measured_s, gap_s : float
        Seconds that the energy covers, and that it does not.
    is_short : bool
        Fewer than ten updates of the sensor lie in the window, so that its uncertainty is large.
    """

    __slots__ = ("_raw",)

    def __init__(self, raw: _abi.Energy) -> None:
        self._raw = raw

    @property
    def energy_uj(self) -> int | None:
        return self._raw.energy_uj if self._raw.has_energy else None

    @property
    def energy_j(self) -> float | None:
        return self._raw.energy_uj / 1e6 if self._raw.has_energy else None

    @property
    def uncertainty_j(self) -> float | None:
        return self._raw.uncertainty_uj / 1e6 if self._raw.has_energy else None

    @property
    def mean_w(self) -> float | None:
        return self._raw.mean_uw / 1e6 if self._raw.has_energy and self._raw.has_power else None

    @property
    def max_w(self) -> float | None:
        return self._raw.max_uw / 1e6 if self._raw.has_energy and self._raw.has_power else None

    @property
    def method(self) -> str:
        if self._raw.method == _abi.METHOD_NONE:  # also where there is no library to ask
            return "none"
        return text(load().wattle_method_name(self._raw.method)) or "none"

    @property
    def status(self) -> str:
        if self._raw.status == _abi.STATUS_ABSENT:
            return "absent"
        return text(load().wattle_status_name(self._raw.status)) or "absent"

    @property
    def samples(self) -> int:
        return self._raw.samples

    @property
    def measured_s(self) -> float:
        return self._raw.measured_ns / 1e9

    @property
    def gap_s(self) -> float:
        return self._raw.gap_ns / 1e9

    @property
    def is_short(self) -> bool:
        return bool(self._raw.flags & _abi.ENERGY_SHORT)

    @property
    def disagrees(self) -> bool:
        """Two sources of this domain differ by more than they may."""
        return bool(self._raw.flags & _abi.ENERGY_DISAGREES)

    @property
    def was_reset(self) -> bool:
        """The counter started anew within the window."""
        return bool(self._raw.flags & _abi.ENERGY_RESET)

    def __repr__(self) -> str:
        return f"<wattle.{type(self).__name__} {plus_minus(self.energy_j, self.uncertainty_j, 'J')}>"


class Share:
    """
    A consumer's part of an energy.

    Attributes
    ----------
    full_j : float
        Its dynamic part, and a part of what the machine draws at rest.
    dynamic_j : float or None
        Above rest; None while what the machine draws at rest is not known.
    uncertainty_j : float
        k = 2, of the dynamic part if that is known, else of the full one.
    full_uncertainty_j : float
        k = 2, of the full one.
    """

    __slots__ = ("_raw",)

    def __init__(self, raw: _abi.Share) -> None:
        self._raw = raw

    @property
    def full_j(self) -> float:
        return self._raw.full_uj / 1e6

    @property
    def full_uj(self) -> int:
        return self._raw.full_uj

    @property
    def dynamic_j(self) -> float | None:
        return self._raw.dynamic_uj / 1e6 if self._raw.has_dynamic else None

    @property
    def uncertainty_j(self) -> float:
        return self._raw.uncertainty_uj / 1e6

    @property
    def full_uncertainty_j(self) -> float:
        return self._raw.full_uncertainty_uj / 1e6

    def __repr__(self) -> str:
        if self.dynamic_j is None:
            return f"<wattle.{type(self).__name__} {plus_minus(self.full_j, self.uncertainty_j, 'J')} full>"
        return f"<wattle.{type(self).__name__} {plus_minus(self.dynamic_j, self.uncertainty_j, 'J')} dynamic, {self.full_j:.4g} J full>"


class Use(Share):
    """
    What this process and its descendants used of a window.

    Attributes
    ----------
    cpu_s : float
        CPU time.
    gpu_s : float or None
        Time on GPUs.
    processes : int
    domains : dict of str to Share
    is_earlier : bool
        As of the last regular look at the processes, up to a second before: the window was not ``exact``.
    """

    __slots__ = ("_use", "domains")

    def __init__(self, raw: _abi.Use, domains: dict[str, Share]) -> None:
        super().__init__(raw.total)
        self._use = raw
        self.domains = domains

    @property
    def cpu_s(self) -> float:
        return self._use.cpu_ns / 1e9

    @property
    def gpu_s(self) -> float | None:
        return self._use.gpu_ns / 1e9 if self._use.gpu_ns >= 0 else None

    @property
    def processes(self) -> int:
        return self._use.processes

    @property
    def is_earlier(self) -> bool:
        return bool(self._use.flags & _abi.USE_EARLIER)


class Domain:
    """
    A part of the machine with an energy figure of its own.

    Attributes
    ----------
    name, kind : str
        Such as ``"package-0"`` and ``"cpu"``.
    inside : str or None
        The domain that it is a part of: never add both.
    device, source, sensor : str or None
        The maker's name of the part; where its figures are from; how a power sensor averages.
    uuid : str or None
        A GPU's, also of what lies in it.
    reason, remedy : str or None
        Why there is no (measured) figure, and what would change that.
    method, status : str
        As those of `Energy`.
    in_total : bool
        The machine's total is the sum of these domains.
    update_s : float or None
        How often the sensor has something new.
    """

    def __init__(self, raw: _abi.Domain) -> None:
        library = load()
        self.name = text(raw.name) or ""
        self.kind = text(library.wattle_kind_name(raw.kind)) or ""
        self.method = text(library.wattle_method_name(raw.method)) or "none"
        self.status = text(library.wattle_status_name(raw.status)) or "absent"
        self.inside, self.device = text(raw.inside), text(raw.device)
        self.source, self.sensor = text(raw.source), text(raw.sensor)
        self.reason, self.remedy, self.uuid = text(raw.reason), text(raw.remedy), text(raw.uuid)
        self.in_total = bool(raw.in_total)
        self.update_s = raw.update_ns / 1e9 or None

    def lacks_sensor(self) -> bool:
        """It is a part of the total that nothing measures here."""
        return self.in_total and self.method in ("none", "modelled")

    def why(self) -> str:
        """Why it has no (measured) figure and what would change that, in one line."""
        said = f"{self.name}: {self.reason or self.status}"
        return f"{said}; {self.remedy}" if self.remedy else said

    def __repr__(self) -> str:
        return f"<wattle.Domain {self.name}: {self.source or self.reason or self.status}>"


class Carbon:
    """
    The carbon intensity of a place; never asks the network.

    Parameters
    ----------
    location : str or None
        ``"FRA"`` (ISO 3166), ``"gcp:europe-west9"``, grams per kWh as a number, or None: the world's average.

    Attributes
    ----------
    intensity_g_per_kwh : float
    uncertainty : float
        Standard, relative.
    year : int or None
        None for a number of your own.
    location, dataset, place : str
        ``"FRA"``; where the figure is from; ``"France"``, ``""`` for a number of your own.

    Raises
    ------
    ValueError
        The place is not known.
    """

    def __init__(self, location: str | float | None = None) -> None:
        self._raw = new(_abi.Carbon)
        code = load().wattle_carbon_find(None if location is None else str(location).encode(), self._raw)
        if code < 0:
            raise ValueError(f"location {location!r} is not known: use a country ('FRA'), 'gcp:REGION', or a number in g/kWh")
        self.intensity_g_per_kwh = self._raw.intensity_mg_per_kwh / 1e3
        self.uncertainty = self._raw.uncertainty_ppm / 1e6
        self.year = self._raw.year or None
        self.location, self.dataset = text(self._raw.location) or "", text(self._raw.dataset) or ""
        self.place = text(self._raw.place) or ""

    def g(self, energy_uj: int) -> float:
        """Grams of CO2 equivalent for an energy in microjoules."""
        return float(load().wattle_carbon_ug(self._raw, energy_uj)) / 1e6

    def uncertainty_g(self, energy_uj: int, uncertainty_uj: int) -> float:
        """Their expanded uncertainty (k = 2), of the energy and of the intensity together."""
        return float(load().wattle_carbon_uncertainty_ug(self._raw, energy_uj, uncertainty_uj)) / 1e6

    def __repr__(self) -> str:
        return f"<wattle.Carbon {self.location}: {self.intensity_g_per_kwh:g} g/kWh, {self.dataset}>"


def _reasons(domain: Domain, raw: _abi.Energy) -> list[str]:
    """Why a domain's figure over a window cannot be relied on, a line each."""
    if not raw.has_energy:
        return [domain.why()]
    made = []
    if raw.gap_ns > 0:
        made.append(f"{domain.name}: {raw.gap_ns / 1e9:.3g} s could not be measured")
    if raw.flags & _abi.ENERGY_SHORT and raw.method != _abi.METHOD_MODELLED:
        every = f" (it updates every {domain.update_s:g} s)" if domain.update_s else ""
        made.append(f"{domain.name}: the window is too short for its sensor{every}")
    if raw.flags & _abi.ENERGY_DISAGREES:
        made.append(f"{domain.name}: two sources differ by more than they may")
    if raw.flags & _abi.ENERGY_RESET:
        made.append(f"{domain.name}: its counter started anew within the window")
    if raw.method == _abi.METHOD_MODELLED:
        made.append(f"{domain.name}: modelled, not measured" + (f": {domain.reason}" if domain.reason else ""))
    return made


class Window(Energy):
    """
    A stretch of time with its energy: a figure of the machine (and of the GPUs that are yours), and of each domain.

    Attributes
    ----------
    name : str
    begin_utc_s, duration_s : float
        Seconds since 1970 (UTC); monotonic seconds.
    domains : dict of str to Energy
    own : Use or None
        What this process and its descendants used of it. ``own_j`` is the dynamic part, ``own_full_j`` the full one.
    gco2e, gco2e_uncertainty : float or None
        Grams of CO2 equivalent, and k = 2.
    verdict : {"ok", "short", "incomplete", "modelled", "unknown", "running"}
        Whether the total can be relied on. ``reasons`` says why not, a line each.
    """

    __slots__ = ("_carbon", "_domains", "_energies", "_fault", "_read", "_verdict", "_window", "name", "own")

    def __init__(self, name: str, carbon: Carbon | None, read: Callable[[], Window] | None = None) -> None:
        super().__init__(_abi.Energy(status=_abi.STATUS_ABSENT))
        self.name = name
        self.own: Use | None = None
        self._carbon = carbon
        self._domains: Sequence[Domain] = ()
        self._energies: Iterable[_abi.Energy] = ()
        self._read = read
        self._fault: tuple[str, ...] = ()
        self._window: _abi.Window | None = None
        self._verdict = "running"

    def _fill(self, window: _abi.Window, energies: Iterable[_abi.Energy], domains: Sequence[Domain], verdict: str = "") -> None:
        self._window, self._energies, self._domains = window, energies, domains
        self._raw = window.total
        self._verdict = verdict or self._judge()
        if not verdict:
            self._read = None  # it holds the meter

    def _fail(self, reasons: tuple[str, ...]) -> None:
        self._fault, self._verdict, self._read = reasons, "unknown", None

    def _judge(self) -> str:
        if not self._raw.has_energy:
            return "unknown"
        if self._raw.flags & _abi.ENERGY_INCOMPLETE:
            return "incomplete"
        if any(d.in_total and raw.method == _abi.METHOD_MODELLED for d, raw in zip(self._domains, self._energies)):
            return "modelled"
        return "short" if self.is_short else "ok"

    @property
    def reasons(self) -> tuple[str, ...]:
        if self._fault:
            return self._fault
        return tuple(why for domain, raw in zip(self._domains, self._energies) if domain.in_total for why in _reasons(domain, raw))

    def running(self) -> Window:
        """Its figures up to now, while it is open."""
        read = self._read
        try:
            return read() if read is not None else self
        except WindowError:  # another thread ends it just now
            return self

    @property
    def verdict(self) -> str:
        return self._verdict

    @property
    def begin_utc_s(self) -> float | None:
        return self._window.begin_utc_ns / 1e9 if self._window is not None else None

    @property
    def duration_s(self) -> float | None:
        return self._window.duration_ns / 1e9 if self._window is not None else None

    @property
    def domains(self) -> dict[str, Energy]:
        return {domain.name: Energy(raw) for domain, raw in zip(self._domains, self._energies)}

    @property
    def own_j(self) -> float | None:
        return self.own.dynamic_j if self.own is not None else None

    @property
    def own_full_j(self) -> float | None:
        return self.own.full_j if self.own is not None else None

    @property
    def gco2e(self) -> float | None:
        if self._carbon is None or self.energy_uj is None:
            return None
        return self._carbon.g(self.energy_uj)

    @property
    def gco2e_uncertainty(self) -> float | None:
        if self._carbon is None or self.energy_uj is None:
            return None
        return self._carbon.uncertainty_g(self.energy_uj, self._raw.uncertainty_uj)

    def __repr__(self) -> str:
        took = f" in {self.duration_s:.4g} s" if self.duration_s is not None else ""
        return f"<wattle.Window {self.name!r}: {plus_minus(self.energy_j, self.uncertainty_j, 'J')}{took}, {self.verdict}>"

    def to_dict(self) -> dict[str, Any]:
        """Its figures as numbers and words, for JSON and data frames; None where they are not known."""
        names = ("energy_j", "uncertainty_j", "mean_w", "max_w", "method", "status")
        made: dict[str, Any] = {"name": self.name, "begin_utc_s": self.begin_utc_s, "duration_s": self.duration_s}
        made.update((name, getattr(self, name)) for name in (*names, "verdict", "own_j", "own_full_j", "gco2e", "gco2e_uncertainty"))
        made["reasons"] = list(self.reasons)
        made["domains"] = {domain: {name: getattr(energy, name) for name in names} for domain, energy in self.domains.items()}
        return made

    def __getstate__(self) -> dict[str, Any]:
        slots = (*Energy.__slots__, *Window.__slots__)
        return {**{name: getattr(self, name) for name in slots}, "_energies": list(self._energies), "_read": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)

    def rows(self) -> list[tuple[str, ...]]:
        """A table for people: domain, energy, mean power, method, of each domain that has a figure or should have one."""
        made: list[tuple[str, ...]] = []
        for domain, raw in zip(self._domains, self._energies):
            if domain.in_total or raw.has_energy:
                energy = Energy(raw)
                mean = "" if energy.mean_w is None else f"{energy.mean_w:.4g} W"
                made.append((domain.name, plus_minus(energy.energy_j, energy.uncertainty_j, "J"), mean, energy.method))
        mean = "" if self.mean_w is None else f"{self.mean_w:.4g} W"
        made.append(("total", plus_minus(self.energy_j, self.uncertainty_j, "J"), mean, self.method))
        if self.own is not None:
            own = plus_minus(self.own_j, self.own.uncertainty_j, "J") + " dynamic" if self.own_j is not None else ""
            made.append(("this process", own or plus_minus(self.own_full_j, self.own.uncertainty_j, "J") + " full", "", ""))
        if self.gco2e is not None:
            made.append(("CO2e", plus_minus(self.gco2e, self.gco2e_uncertainty, "g"), "", ""))
        return made

    def _repr_html_(self) -> str:
        from html import escape

        took = f", {self.duration_s:.4g} s" if self.duration_s is not None else ""
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self.rows())
        notes = "".join(f"<br><small>{escape(reason)}</small>" for reason in self.reasons)
        return f"<table><caption><b>{escape(self.name)}</b>{took}, {self.verdict}</caption>{body}</table>{notes}"


class Consumer:
    """
    Somebody whom energy is attributed to.

    Attributes
    ----------
    state : {"running", "ended", "kernel", "several", "interrupts", "unseen", "nobody"}
    pid, parent : int or None
    start_utc_s : float or None
    user, name, command, cgroup, unit, container, pod, job : str or None
    processes : int
        How many it stands for.
    is_in_command : bool
        Of a recording: it is the recorded command, or descends from it.
    cpu_s, gpu_s : float or None
    rss_bytes, pss_bytes, uss_bytes, gpu_memory_bytes : int or None
    """

    _STATES = ("running", "ended", "kernel", "several", "interrupts", "unseen", "nobody")

    def __init__(self, raw: _abi.Consumer, of: Consumers, i: int) -> None:
        self._of, self._i = of, i
        self.state = self._STATES[raw.state]
        self.pid, self.parent = raw.pid or None, raw.parent or None
        self.start_utc_s = raw.start_utc_ns / 1e9 if raw.start_utc_ns else None
        self.user, self.name, self.command = text(raw.user), text(raw.name), text(raw.command)
        self.cgroup, self.unit, self.container = text(raw.cgroup), text(raw.unit), text(raw.container)
        self.pod, self.job = text(raw.pod), text(raw.job)
        self.processes: int = raw.processes
        self.is_in_command = bool(raw.is_in_command)
        self.cpu_s = raw.cpu_ns / 1e9 if raw.cpu_ns >= 0 else None
        self.gpu_s = raw.gpu_ns / 1e9 if raw.gpu_ns >= 0 else None
        self.rss_bytes, self.pss_bytes = known(raw.rss_bytes), known(raw.pss_bytes)
        self.uss_bytes, self.gpu_memory_bytes = known(raw.uss_bytes), known(raw.gpu_memory_bytes)

    if TYPE_CHECKING:

        @overload
        def share(self) -> Share: ...
        @overload
        def share(self, domain: str | None) -> Share | None: ...

    def share(self, domain: str | None = None) -> Share | None:
        """Its part of a domain's energy, or of the total; None where that has no figure."""
        return self._of._share(self._i, domain)

    def __repr__(self) -> str:
        return f"<wattle.Consumer {self.pid or self.state} {self.command or self.name or ''}>"


class Ledger:
    """Where the energy of a domain went, in microjoules: the parts add up to ``total_uj``, exactly."""

    __slots__ = ("exited_uj", "has_idle", "idle_uj", "kernel_uj", "live_uj", "total_uj", "unattributed_uj")

    def __init__(self, raw: _abi.Ledger) -> None:
        self.has_idle = bool(raw.has_idle)
        self.live_uj, self.exited_uj, self.kernel_uj = raw.live_uj, raw.exited_uj, raw.kernel_uj
        self.idle_uj, self.unattributed_uj, self.total_uj = raw.idle_uj, raw.unattributed_uj, raw.total_uj


class Consumers:
    """Who used the energy of a window: a list of `Consumer`, whose parts add up to the whole, exactly."""

    def __init__(self, handle: Any, domains: Sequence[str]) -> None:
        self._handle, self._domains = handle, tuple(domains)
        self._library = load()
        raw = new(_abi.Consumer)
        self.rows: list[Consumer] = []
        for i in range(self._library.wattle_consumers_count(handle)):
            self._library.wattle_consumers_get(handle, i, raw)
            self.rows.append(Consumer(raw, self, i))

    def __del__(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), None
        if handle:
            self._library.wattle_consumers_free(handle)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Any:
        return iter(self.rows)

    def __getitem__(self, i: int) -> Consumer:
        return self.rows[i]

    def _index(self, domain: str | None) -> int:
        if domain is None:
            return -1
        if domain not in self._domains:
            raise KeyError(f"no domain {domain!r}: there are {', '.join(self._domains)}")
        return self._domains.index(domain)

    def _share(self, i: int, domain: str | None) -> Share | None:
        if domain is not None and self.ledger(domain).total_uj == 0:
            return None
        raw = new(_abi.Share)
        self._library.wattle_consumers_share(self._handle, i, self._index(domain), raw)
        return Share(raw)

    def ledger(self, domain: str | None = None) -> Ledger:
        """The ledger of a domain, or of the total."""
        raw = new(_abi.Ledger)
        self._library.wattle_consumers_ledger(self._handle, self._index(domain), raw)
        return Ledger(raw)


class GpuProcess:
    """A process that has memory on a GPU; its pid means nothing here unless ``is_visible``."""

    def __init__(self, raw: _abi.GpuProcess) -> None:
        self.pid: int = raw.pid
        self.is_visible = bool(raw.is_visible)
        words = ((_abi.GPU_COMPUTE, "compute"), (_abi.GPU_GRAPHICS, "graphics"), (_abi.GPU_MPS, "mps"))
        self.kinds = tuple(word for bit, word in words if raw.kinds & bit)
        self.memory_bytes, self.use_percent = known(raw.memory_bytes), known(raw.use_percent)


class Gpu:
    """
    A GPU as its driver describes it; None where the driver does not say.

    Attributes
    ----------
    index : int
    domain : str or None
        Its energy domain, such as ``"gpu-0"``.
    status : str
    age_s : float
        Of the driver's last answer.
    name, uuid, bus_id : str
    use_percent, memory_used_bytes, memory_total_bytes, temperature_c, clock_mhz, memory_clock_mhz, fan_percent : int or None
    power_limit_w : float or None
    processes : list of GpuProcess or None
    """

    def __init__(self, index: int, raw: _abi.Gpu, domain: str | None, processes: list[GpuProcess]) -> None:
        self.index, self.domain = index, domain
        self.status = text(load().wattle_status_name(raw.status)) or "absent"
        self.age_s = raw.age_ns / 1e9
        self.name, self.uuid, self.bus_id = text(raw.name) or "", text(raw.uuid) or "", text(raw.bus_id) or ""
        self.use_percent, self.temperature_c = known(raw.use_percent), known(raw.temperature_c)
        self.memory_used_bytes, self.memory_total_bytes = known(raw.memory_used_bytes), known(raw.memory_total_bytes)
        self.clock_mhz, self.memory_clock_mhz = known(raw.clock_mhz), known(raw.memory_clock_mhz)
        self.fan_percent = known(raw.fan_percent)
        limit_uw = known(raw.power_limit_uw)
        self.power_limit_w = None if limit_uw is None else limit_uw / 1e6
        self.processes = processes if raw.processes_status == _abi.STATUS_OK else None

    def __repr__(self) -> str:
        return f"<wattle.Gpu {self.index}: {self.name}>"
