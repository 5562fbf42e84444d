# SPDX-License-Identifier: MIT
"""wattle's figures against those of oracle.py, which computes them from the recording's readings and looks alone."""

import collections
import math
import re
import shutil
import sqlite3
import time
from decimal import Decimal
from fractions import Fraction

import pytest

from conftest import REPO, ROOTS, command_path, finish, mover, run_wattle, start_wattle
from recording import Recording
from oracle import (CPU, CPU_KINDS, FOLDED, GPU_KINDS, INTERRUPTS, KERNEL, LIVE, NOBODY, Counter, Mark, Oracle, Share, idle_part)
from test_ledger import idle_of_tape, idle_text, movable, put_process, stat_line

MICRO = 10 ** 6
NS = 10 ** 9
TAPES = sorted((REPO / "tests" / "fixtures" / "tapes").glob("*.tape"))
NAMES = sorted(path.name for path in ROOTS.iterdir() if path.is_dir())
GPU_SCRIPTS = ["a100", "asleep", "capture-h100-load", "capture-rtx2080s-load", "disagree", "eight-gpus", "flaky", "gb200", "h100",
               "laptop-power-only", "lost", "mig", "no-fields", "pascal", "reload", "reset", "two"]
STORM = "i=0; while [ $i -lt 80 ]; do /bin/true; i=$((i+1)); done; head -c 40000000 /dev/zero | sha256sum >/dev/null; sleep 1.3"
STATES = ("live", "exited", "kernel", "folded")
LEDGER = ("live", "exited", "kernel", "idle", "unattributed")
# What the ± of a weight is taken for (docs/attribution.md, "How sure a share is").
SPREADS = {0: Fraction(22, 100), 1: Fraction(10, 100), 2: Fraction(15, 100)}
GPU_SPREAD, GUESS_SPREAD, MEMORY_WEIGHT = 0.20, 0.50, 3


def uj(value):
    """A Decimal of joules as whole microjoules."""
    scaled = value * MICRO
    assert scaled == int(scaled), value
    return int(scaled)


def ns(value):
    scaled = value * NS
    assert scaled == int(scaled), value
    return int(scaled)


# ---- What is held against each other ----

class Case:
    """A recording, the oracle that went by it, and the report of it."""

    def __init__(self, path, folder):
        self.path = path
        self.oracle = Oracle(path)
        result = run_wattle("report", "-f", "json", "--top", "65536", "--replay", path,
                            env={"XDG_RUNTIME_DIR": folder, "XDG_STATE_HOME": folder})
        assert result.code == 0, result
        self.report = result.json
        self.energies = {(row["window"], row["domain"]): dict(row) for row in self.oracle.file.rows("energy")}
        self.by_name = {domain["name"]: domain for domain in self.oracle.domains}

    def is_counted(self, domain):
        return self.oracle.primary(domain) is not None

    def check(self):
        """All there is; a recording of anything has to pass."""
        for check in (self.check_domains, self.check_windows, self.check_accounts, self.check_times, self.check_sums,
                      self.check_ledger, self.check_cpu_time, self.check_processes, self.check_uncertainties, self.check_uses,
                      self.check_groups, self.check_gaps):
            check()
        return self

    # The energy of every domain with a counter, from its readings.
    def check_domains(self):
        counted = self.oracle.windows[1]
        for domain in self.report["domains"]:
            row = self.by_name[domain["name"]]
            if not self.is_counted(row):
                continue
            figure = counted.get(row["id"])
            if "energy_j" not in domain:
                assert figure is None or figure.energy_uj == 0 or figure.measured_ns <= 0, domain
                continue
            assert uj(domain["energy_j"]) == figure.energy_uj, domain
            number = row["primary_channel"]
            if number not in self.oracle.doubtful_time:
                assert ns(domain["measured_s"]) == figure.measured_ns, domain
            resets = self.oracle.channels[number].steps["reset"]
            if not resets:
                assert "reset" not in domain["flags"], domain
        self.check_total()

    def check_total(self):
        parts = [uj(d["energy_j"]) for d in self.report["domains"] if d["in_total"] and "energy_j" in d]
        if parts:
            assert sum(parts) == uj(self.report["total"]["energy_j"])

    # The same of every window.
    def check_windows(self):
        told = {window["id"]: window for window in self.report["windows"]}
        assert set(told) == set(self.oracle.windows), "windows that ended are told"
        for number, figures in self.oracle.windows.items():
            by_name = {domain["name"]: domain for domain in told[number]["domains"]}
            for domain, figure in figures.items():
                name = self.oracle.domains[domain]["name"]
                if name in by_name:
                    assert uj(by_name[name]["energy_j"]) == figure.energy_uj, (number, name)
                else:
                    assert figure.energy_uj == 0 or figure.measured_ns <= 0, (number, name)
            for name, domain in by_name.items():
                stored = self.energies[number, self.by_name[name]["id"]]
                assert stored["has_energy"] and stored["energy_uj"] == uj(domain["energy_j"])
                assert stored["uncertainty_uj"] == uj(domain["uncertainty_j"])
                assert (stored["measured_ns"], stored["gap_ns"]) == (ns(domain["measured_s"]), ns(domain["gap_s"]))

    # Everybody's account, from uses and the energy of each look: each look may round by 1.
    def check_accounts(self):
        stored, expected = self.oracle.stored_accounts(), self.oracle.expected_accounts()
        for key in set(stored) | set(expected):
            domain = self.oracle.domains[key[0]]
            if not self.is_counted(domain):
                continue
            share, (full_uj, _) = expected.get(key, Share()), stored.get(key, (0, 0))
            assert abs(full_uj - share.full) <= share.n_rounded, (key, full_uj, float(share.full), share.n_rounded)

    def check_times(self):
        stored, expected = self.oracle.stored_accounts(), self.oracle.expected_accounts()
        for key in set(stored) | set(expected):
            domain = self.oracle.domains[key[0]]
            if not self.is_counted(domain) or domain["primary_channel"] in self.oracle.doubtful_time:
                continue
            share, (_, share_ns) = expected.get(key, Share()), stored.get(key, (0, 0))
            assert abs(share_ns - share.time) <= share.n_rounded, (key, share_ns, float(share.time), share.n_rounded)

    # To the microjoule, whatever the sensor is.
    def check_sums(self):
        sums = collections.Counter()
        for (domain, _, _), (full_uj, share_ns) in self.oracle.stored_accounts().items():
            assert full_uj >= 0 and share_ns >= 0
            sums[domain] += full_uj
        if not self.oracle.n_bills:
            assert not sums
            return
        for domain in self.report["domains"]:
            expected = uj(domain["energy_j"]) if "energy_j" in domain else 0
            assert sums[self.by_name[domain["name"]]["id"]] == expected, domain["name"]

    def check_ledger(self):
        for line in self.report["ledger"] if self.oracle.n_bills else ():
            ledger = self.oracle.ledger(self.by_name[line["domain"]]["id"])
            for account in LEDGER:
                assert uj(line.get(f"{account}_j", Decimal(0))) == ledger[account], (line, account)
            assert ("idle_j" in line) == ("idle" in ledger)

    def rows(self):
        return [dict(row) for row in self.oracle.file.rows("consumer")]

    def there(self):
        """The consumers that have an account at the end."""
        return {row["id"]: row for row in self.rows() if row["last_look"] < 0}

    def check_cpu_time(self):
        there = self.there()
        owners = {consumer.number: consumer for consumer in self.oracle.owners.values()}
        assert set(owners) == set(there)
        for number, row in there.items():
            assert owners[number].numbers[CPU] == row["cpu_ns"], row
            assert owners[number].numbers[1] == row["state"], row

    def check_processes(self):
        if "processes" not in self.report:
            assert self.report["processes_reason"]
            return
        full = collections.Counter()
        nobodys = 0
        for (domain, consumer, _), (full_uj, _) in self.oracle.stored_accounts().items():
            if not self.oracle.domains[domain]["in_total"]:
                continue
            if consumer:
                full[consumer] += full_uj
            else:
                nobodys += full_uj
        there = self.there()
        expected = collections.Counter((row["pid"], STATES[row["state"]], full[number], row["cpu_ns"], row["n_processes"])
                                       for number, row in there.items() if full[number])
        told = collections.Counter((process.get("pid", 0), process["state"], uj(process["full_j"]), ns(process.get("cpu_s", 0)),
                                    process.get("n_processes", 1))
                                   for process in self.report["processes"] if process["full_j"])
        if any(row["state"] == FOLDED or row["pid"] == 0 for row in there.values()):
            expected = collections.Counter(key[2:4] for key in expected.elements())
            told = collections.Counter(key[2:4] for key in told.elements())
        assert told == expected
        assert uj(self.report["no_process"]["full_j"]) == nobodys
        command = [row for row in there.values() if row["is_in_tree"]]
        account = self.report.get("command_energy", {})
        if "full_j" in account:
            assert uj(account["full_j"]) == sum(full[row["id"]] for row in command)
            assert account["processes"] == sum(row["n_processes"] for row in command)
            assert ns(account["attributed_cpu_s"]) == sum(row["cpu_ns"] for row in command)

    # docs/attribution.md, "How sure a share is", in floating point.
    def check_uncertainties(self):
        if "processes" not in self.report:
            return
        by_consumer = collections.defaultdict(dict)
        for (domain, consumer, _), share in self.oracle.stored_accounts().items():
            if consumer and self.oracle.domains[domain]["in_total"]:
                by_consumer[consumer][domain] = share
        expected = sorted(self.expanded_uj(by_consumer[number], row) for number, row in self.there().items()
                          if sum(full_uj for full_uj, _ in by_consumer[number].values()))
        told = sorted(uj(process["uncertainty_j"]) for process in self.report["processes"] if process["full_j"])
        assert len(told) == len(expected)
        for own, other in zip(told, expected):
            assert abs(own - other) <= 2 + other / 10 ** 6, (own, other)

    def expanded_uj(self, shares, row):
        idle = {entry["domain"]: dict(entry) for entry in self.oracle.file.rows("baseline") if entry["is_known"]}
        sensor = idle_doubt = weight = 0.0
        for number, (full_uj, share_ns) in shares.items():
            energy = self.energies[self.oracle.main or 1, number]
            baseline = idle.get(number)
            own = full_uj - idle_part(full_uj, share_ns, baseline["idle_uw"] if baseline else None)
            if not full_uj:
                continue
            sensor += self.sensor_doubt_uj(number, energy, own, share_ns, baseline)
            if baseline:
                idle_doubt += baseline["uncertainty_uw"] * share_ns / NS
            everybody = self.all_used_uj(number, baseline)
            others = 1 - min(1, own / everybody) if everybody > 0 else 1
            weight += math.sqrt(2) * others * self.spread(number, row) * own
        return int(2 * math.sqrt(sensor ** 2 + idle_doubt ** 2 + weight ** 2) + 0.5)

    def sensor_doubt_uj(self, number, energy, own, share_ns, baseline):
        """The sensor's zero cancels above idle; what AMD's model counts there is known within 70 % (k = 2)."""
        primary = self.oracle.domains[number]["primary_channel"]
        channel = next(dict(row) for row in self.oracle.file.rows("channel") if row["id"] == primary)
        offset_uw = channel["offset_uw"]
        rest2 = (energy["uncertainty_uj"] / 2) ** 2 - (offset_uw * energy["measured_ns"] / NS) ** 2
        doubt = math.sqrt(max(0, rest2)) / energy["energy_uj"] if energy["energy_uj"] else 0
        if not baseline:
            return math.hypot(doubt * own, offset_uw * share_ns / NS)
        is_amd = channel["source"].startswith("rapl") and ("AMD" in channel["device"] or "Hygon" in channel["device"])
        return max(doubt, 0.35 if is_amd else 0) * own

    def all_used_uj(self, number, baseline):
        full = time_ns = 0
        for (domain, consumer, slot), (full_uj, share_ns) in self.oracle.stored_accounts().items():
            if domain == number and (consumer or slot != NOBODY):
                full += full_uj
                time_ns += share_ns
        return full - idle_part(full, time_ns, baseline["idle_uw"] if baseline else None)

    def spread(self, number, row):
        domain = self.oracle.domains[number]
        if domain["kind"] not in GPU_KINDS:
            counted = min(1, row["counted_ns"] / row["cpu_ns"]) if row["cpu_ns"] > 0 else 0
            own = SPREADS[self.oracle.last_look["weight"]] if self.oracle.n_looks else SPREADS[0]
            return float(SPREADS[0]) + counted * float(own - SPREADS[0])
        weight = [look["weight"] for name, look in zip(self.oracle.gpus, self.oracle.last_look["gpus"])
                  if domain["name"] == name or domain["name"].startswith(name + "-")]
        return GUESS_SPREAD if weight and weight[-1] == MEMORY_WEIGHT else GPU_SPREAD

    # What uses of the processors are, and that nobody is told more than there was.
    def check_uses(self):
        for look in self.oracle.looks:
            uses = dict(look["uses"])
            assert all(weight >= 0 for weight in uses.values())
            if look["weight"] == 0 and look["busy"]:
                assert sum(uses.values()) >= look["busy"], "what the machine was busy for is somebody's"
            assert NOBODY not in uses
            for source, into in look["folds"]:
                assert source > NOBODY and into != source

    # The groups of the report are sums of what processes were billed.
    def check_groups(self):
        if "processes" not in self.report:
            return
        for grouping in self.report["by"].values():
            parts = [*grouping["groups"], *([grouping["others"]] if "others" in grouping else [])]
            assert sum(uj(part["full_j"]) for part in parts) == sum(uj(process["full_j"]) for process in self.report["processes"])
            assert sum(ns(part.get("cpu_s", 0)) for part in parts) == sum(ns(process.get("cpu_s", 0)) for process in self.report["processes"])
            # Nobody is counted twice, and time of nobody that was seen is no process.
            assert sum(part["n_processes"] for part in parts) == sum(self.listed()), grouping
        command = sum(n for n, process in zip(self.listed(), self.report["processes"]) if process["in_command"])
        unbilled = sum(row["n_processes"] for row in self.there().values() if row["is_in_tree"] and not self.full_uj(row["id"]))
        if "full_j" in self.report.get("command_energy", {}):
            assert self.report["command_energy"]["processes"] == command + unbilled
        users = {group["user"]: uj(group["full_j"]) for group in self.report["by"].get("users", {"groups": ()})["groups"]}
        expected = collections.Counter()
        for process in self.report["processes"]:
            expected[process.get("user")] += uj(process["full_j"])
        for user, full_uj in users.items():
            if user in expected:
                assert expected[user] == full_uj, user

    def listed(self):
        return [process.get("n_processes", 1) for process in self.report["processes"]]

    def full_uj(self, number):
        return sum(full_uj for (domain, consumer, _), (full_uj, _) in self.oracle.stored_accounts().items()
                   if consumer == number and self.oracle.domains[domain]["in_total"])

    def check_gaps(self):
        told = collections.Counter((gap["kind"], gap.get("domain", ""), ns(gap.get("duration_s", 0))) for gap in self.report["gaps"])
        assert told == collections.Counter((kind, domain, end_ns - begin_ns) for kind, domain, begin_ns, end_ns
                                           in stretches(self.oracle.file.rows("gap")))


GAP_KINDS = ("suspend", "clock-step", "channel", "overrun", "exits")


def stretches(rows):
    """(kind, domain, begin, end) of the gaps: what several channels of one domain missed at one time is one."""
    found = []
    for row in sorted(rows, key=lambda row: row["begin_mono_ns"]):
        kind, begin_ns, end_ns = GAP_KINDS[row["kind"]], row["begin_mono_ns"], row["begin_mono_ns"] + row["duration_ns"]
        same = [gap for gap in found if gap[:2] == [kind, row["subject"]] and kind == "channel" and gap[3] >= begin_ns]
        if same:
            same[-1][3] = max(same[-1][3], end_ns)
        else:
            found.append([kind, row["subject"], begin_ns, end_ns])
    return found


@pytest.fixture(name="record")
def recorder_of(tmp_path):
    """record("--tape", tape): a Case of what wattle record wrote."""
    numbers = iter(range(100))

    def make(*args, env=None, oracle=True):
        path = tmp_path / f"{next(numbers)}.wattle"
        result = run_wattle("record", "-q", "--weight", "cpu-time", "-o", path, *args,
                            env={"XDG_RUNTIME_DIR": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), **(env or {})})
        if "built without recordings" in result.err:
            pytest.skip("built without recordings")
        assert result.code == 0, result
        return Case(path, str(tmp_path)) if oracle else path
    return make


# ---- Recordings ----

@pytest.mark.parametrize("tape", TAPES, ids=lambda path: path.stem)
@pytest.mark.parametrize("idle", [False, True], ids=["no-idle", "idle"])
def test_tapes(record, tmp_path, tape, idle):
    options = ("--idle-file", idle_of_tape(tape, tmp_path / "idle")) if idle else ()
    case = record("--tape", tape, *options).check()
    assert case.oracle.ops[0] > 10 and case.oracle.n_bills >= 1
    assert any("energy_j" in domain for domain in case.report["domains"])
    if idle:
        assert any("idle_j" in line for line in case.report["ledger"])


def test_tape_says_the_same_live(record):
    """The oracle, the recording and wattle run, of one tape."""
    case = record("--tape", TAPES[0])
    live = run_wattle("run", "--tape", TAPES[0], "-f", "json").json
    for domain in live["domains"]:
        figure = case.oracle.windows[1].get(case.by_name[domain["name"]]["id"])
        if "energy_j" in domain and figure:
            # The tape's end is the same reading for both.
            assert abs(uj(domain["energy_j"]) - figure.energy_uj) <= uj(domain["energy_j"]) / 10


def test_this_machine(record):
    case = record("--", "sh", "-c", STORM).check()
    if case.oracle.n_bills:
        assert len(case.there()) > 1
        assert any(look["folds"] for look in case.oracle.looks) or len(case.oracle.owners) > 0
        assert case.report["command_energy"]["processes"] >= 80


@pytest.mark.parametrize("interval", ["10", "1000"])
def test_intervals(record, interval):
    record("-i", interval, "--", "sh", "-c", "sleep 1.2; true").check()


def test_without_processes(record):
    oracle = Oracle(record("--no-processes", "--", "sh", "-c", "sleep 0.6", oracle=False))
    assert oracle.n_looks == 0 and not oracle.stored_accounts() and not list(oracle.file.rows("consumer"))
    stored = {row["domain"]: row for row in oracle.file.rows("energy") if row["window"] == 1}
    for number, figure in oracle.windows[1].items():
        assert stored[number]["energy_uj"] == (figure.energy_uj if stored[number]["has_energy"] else 0)
    assert stored[-1]["energy_uj"] == sum(stored[row["id"]]["energy_uj"] for row in oracle.domains if row["in_total"])


def test_duration(record):
    case = record("--duration", "2").check()
    assert case.report["command"] is None


def test_marks(record):
    wattle = command_path()
    script = ("{w} mark begin outer; {w} mark begin inner; head -c 30000000 /dev/zero | sha256sum >/dev/null; {w} mark end inner;"
              " {w} mark begin dropped; sleep 0.5; {w} mark end outer; {w} mark end dropped; sleep 1.1").format(w=wattle)
    case = record("--", "sh", "-c", script).check()
    names = {row["name"] for row in case.oracle.file.rows("window")}
    assert names >= {"outer", "inner", "dropped"}
    by_name = {window["name"]: window for window in case.report["windows"]}
    for domain in by_name["inner"]["domains"]:
        outer = [other for other in by_name["outer"]["domains"] if other["name"] == domain["name"]]
        assert outer and domain["energy_j"] <= outer[0]["energy_j"], "a window within another has no more"


def test_run_records_the_same(tmp_path):
    path = tmp_path / "run.wattle"
    live = run_wattle("run", "--weight", "cpu-time", "--record", path, "-f", "json", "--top", "65536", "--", "sh", "-c", STORM,
                      env={"XDG_RUNTIME_DIR": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)})
    assert live.code == 0, live
    case = Case(path, str(tmp_path)).check()
    assert case.report["ledger"] == live.json["ledger"] and case.report["total"] == live.json["total"]


def test_repeated_runs(tmp_path):
    """Each run's accounts begin anew; the windows are all there."""
    path = tmp_path / "runs.wattle"
    live = run_wattle("run", "--weight", "cpu-time", "--record", path, "--repeat", "3", "-f", "json", "--", "sleep", "0.3",
                      env={"XDG_RUNTIME_DIR": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)})
    assert live.code == 0, live
    oracle = Oracle(path)
    runs = live.json["runs"]
    assert len(oracle.windows) == len(runs) == 3
    for number, run in zip(sorted(oracle.windows), runs):
        for domain in run["domains"]:
            row = next(row for row in oracle.domains if row["name"] == domain["name"])
            if "energy_j" in domain and oracle.primary(row):
                assert uj(domain["energy_j"]) == oracle.windows[number][row["id"]].energy_uj


# ---- Machines whose counters move ----

def steps_of(root, rounds):
    """Every counter moves by an amount of its own, several times."""
    steps = []
    for turn in range(rounds):
        for n, path in enumerate(movable(root)):
            unit = MICRO if "powercap" in str(path) else 2 ** 32
            steps += ["add", path, (2 + n + turn) * unit // 2 + 7 * n + turn]
        steps += ["sleep", "0.45"]
    return steps


@pytest.mark.parametrize("name", NAMES)
def test_roots(record, machine, name):
    copy = machine(name)
    put_process(copy.path, 1, "init", 5, parent=0)
    busy = put_process(copy.path, 100, "busy", 10)
    steps = ["sleep", "0.2", *steps_of(copy.path, 2), "write", busy, stat_line(100, "busy", 60).rstrip(), *steps_of(copy.path, 1)]
    case = record("--root", copy.path, "-i", "20", "--", *mover(*steps)).check()
    for domain in case.report["domains"]:
        assert "energy_j" in domain or domain["reason"], domain


@pytest.mark.parametrize("name", ["xeon-2s-dram", "client-psys", "amd-epyc"])
def test_roots_with_idle(record, machine, tmp_path, name):
    copy = machine(name)
    put_process(copy.path, 1, "init", 5, parent=0)
    before = run_wattle("run", "--root", copy.path, "-f", "json", "--", "true").json
    idle = tmp_path / "idle"
    idle.write_text(idle_text(before["domains"], ("1.5", "0.25")))
    case = record("--root", copy.path, "--idle-file", idle, "-i", "20", "--", *mover(*steps_of(copy.path, 3))).check()
    assert set(case.oracle.baselines()) >= {case.by_name[line["domain"]]["id"] for line in case.report["ledger"]}
    assert any(line["idle_j"] for line in case.report["ledger"])


@pytest.mark.parametrize("how", ["wrap", "reset", "above"])
def test_counters_that_jump(record, machine, how):
    """The three things that a counter does beside counting, told apart by its range and what the part can draw."""
    copy = machine("xeon-2s-dram").without_perf()
    zone = copy.zone("intel-rapl:0")
    first = record("--root", copy.path, "--", "true", oracle=False)
    # The kernel's figure is not quite where it wraps: what wattle takes it for.
    span = next(row["range"] for row in Recording(first).rows("channel") if row["domain"] == "package-0")
    assert 0 <= span - int((zone.parent / "max_energy_range_uj").read_text()) < 100
    near = str(span - 3 * MICRO)
    start = {"wrap": near, "reset": str(span // 2), "above": near}[how]
    zone.write_text(start.ljust(20) + "\n")
    steps = ["sleep", "0.3", "add", zone, MICRO, "sleep", "0.2"]
    if how == "wrap":
        steps += ["wrap", zone, 5 * MICRO, span]
    elif how == "reset":
        steps += ["write", zone, "12345"]
    else:
        steps += ["write", zone, str(span + 5)]
    steps += ["sleep", "0.2", "write", zone, str(3 * MICRO), "sleep", "0.3", "add", zone, MICRO // 2, "sleep", "0.2"]
    case = record("--root", copy.path, "-i", "10", "--", *mover(*steps)).check()
    counter = case.oracle.primary(case.by_name["package-0"])
    found = {"wrap": "wrapped", "reset": "reset", "above": "bad"}[how]
    assert counter.steps[found] == (1 if how != "above" else counter.steps[found]) and counter.steps[found] > 0
    package = next(domain for domain in case.report["domains"] if domain["name"] == "package-0")
    assert ("reset" in package["flags"]) == (counter.steps["reset"] > 0)
    if how == "wrap":
        # 1 J, then 5 across the end (to 3 - 1 = 2 J before it), then up to 3 J, then half a joule.
        assert uj(package["energy_j"]) == MICRO + 5 * MICRO + (3 * MICRO - (5 * MICRO - 2 * MICRO)) + MICRO // 2


# ---- GPUs ----

@pytest.mark.parametrize("script", GPU_SCRIPTS)
def test_gpus(record, gpus, script):
    fake = gpus(script)
    duration = "6.5" if script == "reset" else "2.3"
    case = record(*fake.options, "--root", ROOTS / "nvidia-server", "--", "sleep", duration, env=fake.env).check()
    counters = [row for row in case.oracle.domains if row["kind"] in GPU_KINDS and case.is_counted(row)]
    if script == "reset":
        assert sum(case.oracle.primary(row).steps["reset"] for row in counters) == 1
    if script == "eight-gpus":
        assert sum(name.startswith("gpu-") for name in case.oracle.gpus) >= 8


# ---- Other ways to ask for the same ----

def exported(path, what):
    result = run_wattle("export", "--what", what, "-f", "json", path)
    assert result.code == 0, result
    return result.json["rows"]


@pytest.mark.parametrize("tape", TAPES, ids=lambda path: path.stem)
def test_export_of_samples_is_the_readings(record, tape):
    case = record("--tape", tape)
    rows = exported(case.path, "samples")
    oracle = case.oracle
    for domain in oracle.domains:
        number = domain["primary_channel"]
        if number < 0:
            continue
        values = [value % 2 ** 64 for value in oracle.values[f"ch.{number}.value"]]
        channel = next(dict(row) for row in oracle.file.rows("channel") if row["id"] == number)
        own = [row for row in rows if row["domain"] == domain["name"] and row["source"] == channel["source"] and "count" in row]
        if channel["quantity"] != 0 or any(row["status"] != "ok" for row in own):
            continue
        counts = [row["count"] for row in own if "energy_j" in row]
        # Two channels of one source may have the same domain (a counter, and power that confirms it).
        assert collections.Counter(values) - collections.Counter(counts) == collections.Counter()
        for row in own:
            if "energy_j" in row:
                exact = Fraction(row["count"]) * oracle.channels[number].unit
                assert abs(uj(row["energy_j"]) - exact) <= 1


@pytest.mark.parametrize("tape", TAPES, ids=lambda path: path.stem)
def test_export_of_power_is_the_counters(record, tape):
    """At each sample: the sum of all steps from the recording's start."""
    case = record("--tape", tape)
    rows = exported(case.path, "power")
    for domain in case.oracle.domains:
        counter_ = case.oracle.primary(domain)
        own = [row for row in rows if row["domain"] == domain["name"] and "energy_j" in row]
        if counter_ is None or not own:
            continue
        assert uj(own[-1]["energy_j"]) == counter_.whole_uj(), domain["name"]
        assert own[-1]["t_mono_ns"] == counter_.last_ns


def test_export_of_processes_is_the_accounts(record):
    case = record("--tape", TAPES[0])
    full = collections.Counter()
    for (domain, consumer, _), (full_uj, _) in case.oracle.stored_accounts().items():
        if consumer and case.oracle.domains[domain]["in_total"]:
            full[consumer] += full_uj
    told = [uj(row["full_j"]) for row in exported(case.path, "processes")]
    assert sorted(value for value in told if value) == sorted(value for value in full.values() if value)


def report_of(path, *options):
    result = run_wattle("report", "-f", "json", "--top", "65536", *options, path)
    assert result.code == 0, result
    return result.json


@pytest.mark.parametrize("watts", ["0", "0.5", "60", "1000000"])
def test_idle_power_that_is_given(record, watts):
    """What is idle follows from everybody's time: computed here from the accounts."""
    case = record("--tape", TAPES[0])
    report = report_of(case.path, "--policy", f"idle=package-0:{watts}")
    number = case.by_name["package-0"]["id"]
    idle_uw = int(Decimal(watts) * MICRO)
    expected = sum(idle_part(full_uj, share_ns, idle_uw)
                   for (domain, _, _), (full_uj, share_ns) in case.oracle.stored_accounts().items() if domain == number)
    line = next(line for line in report["ledger"] if line["domain"] == "package-0")
    assert uj(line["idle_j"]) == expected
    assert line["total_j"] == next(line["total_j"] for line in case.report["ledger"] if line["domain"] == "package-0")


def test_no_idle_power(record):
    """Everything is dynamic then, and nobody's account is another one."""
    case = record("--tape", TAPES[0])
    report = report_of(case.path, "--policy", "idle=none")
    for line in report["ledger"]:
        number = case.by_name[line["domain"]]["id"]
        full = sum(full_uj for (domain, _, _), (full_uj, _) in case.oracle.stored_accounts().items() if domain == number)
        assert line["idle_j"] == 0 and uj(line["total_j"]) == full
    assert [p["full_j"] for p in report["processes"]] == [p["full_j"] for p in case.report["processes"]]


@pytest.mark.parametrize("cut", ["3", "5", "9"])
def test_parts_add_up(record, cut):
    case = record("--tape", TAPES[0])
    first, second = report_of(case.path, "--to", f"+{cut}"), report_of(case.path, "--from", f"+{cut}")
    assert first["recording"]["is_part"] and second["recording"]["is_part"]
    for domain in case.report["domains"]:
        if "energy_j" in domain and case.is_counted(case.by_name[domain["name"]]):
            parts = [other["energy_j"] for report in (first, second) for other in report["domains"] if other["name"] == domain["name"]]
            # The first part begins with the recording, a moment before the measurement does.
            assert abs(sum(parts) - domain["energy_j"]) <= domain["energy_j"] / 50, (domain["name"], parts)
    assert abs(first["duration_s"] + second["duration_s"] - case.report["duration_s"]) < Decimal("0.2")


@pytest.mark.parametrize("tape", TAPES, ids=lambda path: path.stem)
@pytest.mark.parametrize("bounds", [("0.5", "2.05"), ("2.05", "2.9"), ("1", "1000"), ("3.333", "6")])
def test_parts_without_processes(record, tape, bounds):
    """Cut at samples: to the microjoule what the readings between them say."""
    path = record("--tape", tape, "--no-processes", oracle=False)
    oracle = Oracle(path)
    begin_ns = next(iter(oracle.file.rows("period")))["begin_mono_ns"]
    expected = oracle.part(*(begin_ns + int(Decimal(bound) * NS) for bound in bounds))
    report = report_of(path, "--from", f"+{bounds[0]}", "--to", f"+{bounds[1]}")
    assert report["recording"]["is_part"] and "processes" not in report and report["processes_reason"]
    told = {domain["name"]: uj(domain["energy_j"]) for domain in report["domains"] if "energy_j" in domain}
    assert {name: told.get(name, 0) for name in expected} == expected
    if any(expected.values()):
        assert all(domain["uncertainty_j"] > 0 for domain in report["domains"] if domain.get("energy_j"))


def test_parts_of_this_machine(record):
    case = record("--", "sh", "-c", "sleep 3.4")
    first, second = report_of(case.path, "--to", "+1.5"), report_of(case.path, "--from", "+1.5")
    for report in (first, second):
        for line in report["ledger"]:
            assert sum(line.get(f"{account}_j", 0) for account in LEDGER) == line["total_j"]


# ---- Who ran in a part ----

def part_begin_ns(oracle):
    return next(iter(oracle.file.rows("period")))["begin_mono_ns"]


def check_part_users(oracle, report, bounds):
    """CPU time to the nanosecond, and who lived, of everybody who has energy."""
    begin_ns = part_begin_ns(oracle)
    from_ns, to_ns = (None if bound is None else begin_ns + int(Decimal(bound) * NS) for bound in bounds)
    users = oracle.part_users(from_ns, math.inf if to_ns is None else to_ns).values()
    expected = collections.Counter(users)
    told = collections.Counter((ns(process["cpu_s"]), process.get("n_processes", 1)) for process in report["processes"])
    assert told and not told - expected, (told - expected, bounds)
    # Who is not told has no energy, and next to no time.
    assert sum(cpu_ns * n for (cpu_ns, _), n in (expected - told).items()) < 10 ** 6 * len(expected)
    for grouping in report["by"].values():
        rows = [*grouping["groups"], *([grouping["others"]] if "others" in grouping else [])]
        assert sum(row["n_processes"] for row in rows) == sum(n * count for (_, n), count in told.items())
    return sum(cpu_ns * n for (cpu_ns, _), n in told.items()), sum(n * count for (_, n), count in told.items())


def check_parts(path, oracle, *cuts):
    bounds = [None, *cuts, None]
    whole = report_of(path, "--replay")
    sums = []
    for part in zip(bounds, bounds[1:]):
        options = [word for option, bound in zip(("--from", "--to"), part) if bound is not None for word in (option, f"+{bound}")]
        report = report_of(path, *options)
        assert report["recording"]["is_part"]
        sums.append((*check_part_users(oracle, report, part), ns(report["self"]["cpu_s"]), report))
    cpu_ns, lived, self_ns, reports = zip(*sums)
    assert sum(self_ns) == ns(whole["self"]["cpu_s"]) and all(0 < part < sum(self_ns) for part in self_ns)
    whole_ns, processes = check_part_users(oracle, whole, (None, None))
    assert abs(sum(cpu_ns) - whole_ns) < 10 ** 7
    assert max(lived) <= processes <= sum(lived)
    if "command_energy" in whole:
        parts = [report.get("command_energy", {"attributed_cpu_s": 0, "processes": 0}) for report in reports]
        assert sum(part["attributed_cpu_s"] for part in parts) == whole["command_energy"]["attributed_cpu_s"]
        assert max(part["processes"] for part in parts) <= whole["command_energy"]["processes"] <= sum(part["processes"] for part in parts)
    return reports


@pytest.mark.parametrize("cuts", [("5",), ("3", "6.5", "9")], ids=str)
def test_users_of_parts(record, cuts):
    path = record("--tape", TAPES[0], oracle=False)
    check_parts(path, Oracle(path), *cuts)


def test_users_of_parts_of_this_machine(record):
    """Processes that came and went before the part are not told of, nor counted in the rows that stand for them."""
    path = record("--", "sh", "-c", f"{STORM}; {STORM}; sleep 1.3", oracle=False)
    oracle = Oracle(path)
    first, second, third = check_parts(path, oracle, "1.6", "3.2")
    del first
    assert second["command_energy"]["processes"] < 170 and third["command_energy"]["processes"] < 100


def test_users_of_a_long_recording():
    """In each period everything is told again, from 0."""
    path = REPO / "tests" / "fixtures" / "recorded" / "busy-thread.wattle"
    reports = check_parts(path, Oracle(path), "4", "8", "10")
    busy = [(process["cpu_s"], report["duration_s"]) for report in reports for process in report["processes"] if process["name"] == "python3"]
    assert len(busy) >= 2 and all(cpu_s <= duration_s * Decimal("1.01") for cpu_s, duration_s in busy), "one thread"


# ---- Read while it is written, and cut off ----

def test_cut_off(tmp_path):
    """What a killed recorder left: all that was committed is there, and adds up."""
    path = tmp_path / "cut.wattle"
    env = {"XDG_RUNTIME_DIR": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    process = start_wattle("record", "-q", "--weight", "cpu-time", "-o", path, "--duration", "60", env=env)
    end = time.monotonic() + 30
    seen = 0
    while seen < 4 and time.monotonic() < end:
        time.sleep(0.2)
        try:
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
                seen = db.execute("SELECT count(*) FROM part").fetchone()[0]
        except sqlite3.OperationalError:
            continue
    process.kill()
    finish(process)
    if seen < 4:
        pytest.skip("built without recordings, or far too slow")
    oracle = Oracle(shutil.copy(path, tmp_path / "copy.wattle") if not (tmp_path / "cut.wattle-wal").exists() else path)
    report = run_wattle("report", "-f", "json", "--top", "65536", path, env=env).json
    assert not report["recording"]["is_whole"] and oracle.n_bills >= 2
    figures = oracle.figures(oracle.main)
    for domain in report["domains"]:
        row = next(row for row in oracle.domains if row["name"] == domain["name"])
        if "energy_j" in domain and oracle.primary(row):
            assert oracle.billed[row["id"]][0] <= uj(domain["energy_j"]) <= figures[row["id"]].energy_uj


# ---- The oracle's own parts ----

def counter(quantity=0, span=1000, max_uw=0, num=1, den=1):
    return Counter({"unit_num": num, "unit_den": den, "range": span, "max_uw": max_uw, "quantity": quantity})


@pytest.mark.parametrize("values, span, expected, steps", [
    ([0, 10, 30], 1000, 30, {"ok": 2}),
    ([990, 5], 1000, 15, {"wrapped": 1}),
    ([990, 5, 990, 5], 1000, 1015, {"wrapped": 2, "ok": 1}),
    ([7, 1000, 9], 1000, 0, {"bad": 1}),
    ([50, 40, 60], 0, 20, {"reset": 1, "ok": 1}),
])
def test_counter(values, span, expected, steps):
    own = counter(span=span)
    for second, value in enumerate(values):
        own.feed(second * NS, value)
    assert own.whole_uj() == expected and own.steps == collections.Counter(steps)
    known = sum(own.steps[step] for step in ("ok", "wrapped"))
    assert own.gap_ns == (len(values) - 1 - known) * NS


def test_counter_knows_what_the_part_can_draw():
    own = counter(span=1000, max_uw=100)   # 100 counts a second, and a second's slack
    own.feed(0, 900)
    assert own.wraps(850, NS) == [] and own.wraps(50, NS) == [1] and own.wraps(901, NS) == [0]
    assert len(own.wraps(901, 20 * NS)) == 2, "it may have wrapped, or not"
    assert counter(span=0, max_uw=100).feed(0, 5)


def test_counter_of_fractions():
    """Thirds are not lost, however often it is read."""
    own = counter(span=0, num=1, den=3)
    for value in range(100):
        own.feed(value, value)
    assert own.energy == 33 and own.whole_uj() == 33


def test_counter_begins_anew():
    own = counter()
    own.feed(0, 5)
    own.feed(NS, 9)
    own.feed(2 * NS, 3, anew=True)
    own.feed(3 * NS, 4)
    assert own.whole_uj() == 5 and own.gap_ns == NS
    assert not own.feed(3 * NS, 100), "a reading of the same moment says nothing"


def test_mark():
    own, mark = counter(), Mark(0)
    own.feed(0, 5)
    assert not mark.is_taken()
    mark.take(own)
    assert mark.is_taken() and mark.energy_uj == 0


@pytest.mark.parametrize("full, time_ns, idle_uw, expected", [
    (100, NS, None, 0), (100, NS, 30, 30), (100, NS, 300, 100), (100, NS // 2, 3, 2), (100, NS // 2 - 1, 3, 1), (0, NS, 5, 0)])
def test_idle_part(full, time_ns, idle_uw, expected):
    assert idle_part(full, time_ns, idle_uw) == expected


def test_share():
    one, two = Share(), Share()
    one.add(Fraction(1, 3), Fraction(1, 2))
    two.add(Fraction(2, 3), Fraction(1, 2))
    one.take_over(two)
    assert (one.full, one.time, one.n_rounded) == (1, 1, 2)


def test_kinds_are_the_pages():
    """docs/recording.md numbers the kinds, docs/attribution.md says what divides them."""
    page = (REPO / "docs" / "recording.md").read_text(encoding="utf-8")
    names = dict(re.findall(r"(\d+) ([a-z-]+)", re.search(r"^\| `kind` \| (0 cpu.*) \|$", page, re.MULTILINE)[1]))
    assert {names[str(kind)] for kind in CPU_KINDS} == {"cpu", "core", "dram", "soc"}
    assert {names[str(kind)] for kind in GPU_KINDS} == {"gpu", "gpu-memory"}
    states = re.search(r"^\| `state` \| (.*) \|$", page, re.MULTILINE)[1]
    for number, name in ((LIVE, "live"), (KERNEL, "kernel"), (FOLDED, "folded")):
        assert f"{number} {name}" in states
    assert f"{INTERRUPTS} interrupts" in page and f"{NOBODY} nobody" in page
