# SPDX-License-Identifier: MIT
"""Promise 1: every joule has one owner. The ledger and the processes' energies add up to the microjoule, whatever happens."""

import os
import re
import shutil
import subprocess
from decimal import Decimal

import pytest

from conftest import (REPO, ROOTS, SCRIPTS, TIMEOUT, check_sums, clean_env, command_path, fake_library, mover, parse_json,
                      run_wattle)

NAMES = sorted(path.name for path in ROOTS.iterdir() if path.is_dir())
TAPES = sorted((REPO / "tests" / "fixtures" / "tapes").glob("*.tape"))
LEDGER = ("live_j", "exited_j", "kernel_j", "idle_j", "unattributed_j")
ALL = ("--top", "65536")
JOULE = 1_000_000
# As a nobody: no exit records, and other users' processes are closed.
NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs")
STORM = "i=0; while [ $i -lt 60 ]; do /bin/true; i=$((i+1)); done; sleep 0.1"


# ---- What has to hold ----

def counted(report):
    """The ledger's lines of the domains that the total is made of."""
    in_total = {domain["name"] for domain in report["domains"] if domain["in_total"]}
    return [line for line in report["ledger"] if line["domain"] in in_total]


def account(report, state, key):
    return sum(process[key] for process in report["processes"] if process["state"] in state)


def check_ledger(report):
    """All processes have to be listed (ALL)."""
    check_sums(report)
    if "processes" not in report:
        assert report["processes_reason"]
        assert all("live_j" not in line and "exited_j" not in line for line in report["ledger"])
        return
    lines = counted(report)
    parts = [process["full_j"] for process in report["processes"]]
    parts += [report["others"]["full_j"], report["no_process"]["full_j"]]
    assert sum(parts) == report["total"]["energy_j"] and min(parts) >= 0
    assert report["others"]["n_processes"] == 0, "not all processes are listed"
    for process in report["processes"]:
        assert process.get("dynamic_j", 0) <= process["full_j"]
        assert process.get("gpu_j", 0) <= process["full_j"]
    known = [line for line in lines if "idle_j" in line]
    if 0 < len(known) < len(lines):
        return  # the accounts are dynamic in some domains and full in others
    # A process's dynamic energy (full, where no baseline is known) is in the account of its state.
    key = "dynamic_j" if known else "full_j"
    assert account(report, ("live",), key) == sum(line.get("live_j", 0) for line in lines)
    assert account(report, ("exited", "folded"), key) == sum(line.get("exited_j", 0) for line in lines)
    assert account(report, ("kernel",), key) <= sum(line.get("kernel_j", 0) for line in lines)  # and interrupts
    if not known:
        seen = sum(process["full_j"] for process in report["processes"])
        assert seen + sum(line["unattributed_j"] for line in lines) <= report["total"]["energy_j"]


def check_csv(rows):
    """The columns of every domain that has a figure, and the total's energy."""
    total = None
    in_total = Decimal(0)
    for row in rows:
        if row["domain"] == "total":
            total = row["energy_j"]
            continue
        parts = [Decimal(row[part]) for part in LEDGER if row[part]]
        assert bool(parts) == bool(row["energy_j"]), row
        if parts:
            assert sum(parts) == Decimal(row["energy_j"]), row
            in_total += Decimal(row["energy_j"]) if row["in_total"] == "true" else 0
    assert Decimal(total or 0) == in_total


def numbers(line):
    return [Decimal(word.lstrip("~")) for word in re.split(r"\s+", line) if re.fullmatch(r"~?[0-9]+(\.[0-9]+)?", word)]


def table(text, head):
    """The lines of a table of the text report below that head."""
    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if re.match(rf"\s*{head}", line)]
    if not starts:
        return None, []
    rows = []
    for line in lines[starts[0] + 1:]:
        if not line.strip():
            break
        rows.append(line)
    return lines[starts[0]], rows


def check_text(text):
    """What is printed adds up as it is printed. Returns how many tables there were."""
    head, rows = table(text, "where it went")
    if head is None:
        return 0
    cells = [numbers(row) for row in rows]
    for row, line in zip(cells, rows):
        assert sum(row[:-1]) == row[-1], line
    if "total" in rows[-1].split()[0]:
        whole = [line for line in cells[:-1] if len(line) == len(cells[-1])]
        if len(whole) == len(cells) - 1:
            assert [sum(column) for column in zip(*whole)] == cells[-1], rows
        assert sum(row[-1] for row in cells[:-1]) == cells[-1][-1], rows
    titles, processes = table(text, r"pid\s+process")
    if processes:
        assert "total" in processes[-1].split()[0], processes
        column = -2 if re.search(r"\bGPU\b", titles) else -1
        full = [numbers(re.sub(r"(±|\+/-)\s+[0-9.]+", "", line))[column] for line in processes]
        assert sum(full[:-1]) == full[-1], processes
        unit = Decimal(1).scaleb(full[-1].as_tuple().exponent)
        assert abs(full[-1] - cells[-1][-1]) <= unit, (processes[-1], rows[-1])
    return 1 + bool(processes)


def check_formats(*args, env=None):
    """The same measurement in all formats; only what is the same every time can be asked for that."""
    results = {form: run_wattle("run", *args, *ALL, "-f", form, env=env) for form in ("json", "csv", "text")}
    assert {result.code for result in results.values()} == {0}, results
    report = results["json"].json
    check_ledger(report)
    check_csv(results["csv"].csv)
    by_name = {row["domain"]: row for row in results["csv"].csv}
    for line in report["ledger"]:
        for part in (*LEDGER, "total_j"):
            column = "energy_j" if part == "total_j" else part
            assert line.get(part) == (Decimal(by_name[line["domain"]][column]) if by_name[line["domain"]][column] else None)
    return report, check_text(results["text"].out)


# ---- Machines ----

def put_process(root, pid, name, ticks, parent=1):
    """/proc/PID of a machine root; its CPU time in ticks of 10 ms, always as many bytes."""
    folder = root / "proc" / str(pid)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stat").write_text(stat_line(pid, name, ticks, parent))
    (folder / "cmdline").write_bytes(f"{name}\0-x\0".encode())
    (folder / "status").write_text(f"Name:\t{name}\nUid:\t0\t0\t0\t0\nVmRSS:\t1024 kB\n")
    return folder / "stat"


def stat_line(pid, name, ticks, parent=1):
    return (f"{pid} ({name}) S {parent} {pid} {pid} 0 -1 0 0 0 0 0 {ticks:08d} 0 0 0 20 0 1 0 100 1000000 256 "
            + "0 " * 27 + "0\n")


COUNTERS = ("sys/class/powercap/*/energy_uj", "wattle-perf/*")


def movable(root):
    for pattern in COUNTERS:
        for path in sorted(root.glob(pattern)):
            text = path.read_text().strip()
            if text.isdigit():
                yield path


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("baseline", [False, True], ids=["no-idle", "idle"])
def test_every_root(machine, tmp_path, name, baseline):
    """Its counters move, its processes work, one ends."""
    copy = machine(name)
    busy = put_process(copy.path, 100, "busy (1) x", 10)
    short = put_process(copy.path, 101, "short", 10)
    put_process(copy.path, 1, "init", 5, parent=0)
    steps = []
    for n, path in enumerate(movable(copy.path)):
        steps += ["add", path, (3 + n) * (JOULE if "powercap" in str(path) else 2 ** 32) + n]
    steps += ["write", busy, stat_line(100, "busy (1) x", 25).rstrip(), "write", short,
              stat_line(101, "short", 20).rstrip(), "sleep", "0.15"]
    options = ["--idle-file", idle_file(copy.path, tmp_path / "idle")] if baseline else []
    result = run_wattle("run", "--root", copy.path, "-i", "20", "-f", "json", *ALL, *options, "--", *mover(*steps))
    assert result.code == 0, result
    check_ledger(result.json)
    if baseline:
        assert all("idle_w" in domain for domain in result.json["domains"] if "energy_j" in domain)


def idle_text(domains, watts=("1.5",)):
    lines = ["wattle-idle/2"]
    for n, line in enumerate(line for line in domains if line.get("source")):
        idle_uw = int(Decimal(watts[n % len(watts)]) * JOULE)
        lines.append(f"{line['name']} {line['source']} {idle_uw} {idle_uw // 64} 2026-11-21T10:00:00Z 30000000000")
    return "\n".join(lines) + "\n"


def idle_file(root, path, watts=("1.5",)):
    """Baselines for every domain of a machine, as an earlier session would have kept them."""
    report = run_wattle("run", "--root", root, "-f", "json", "--", "true").json
    path.write_text(idle_text(report["domains"], watts))
    return path


@pytest.mark.parametrize("script", sorted(path.stem for path in SCRIPTS.glob("*.nvml") if not path.stem.startswith("capture-")))
def test_every_gpu(gpus, script):
    fake = gpus(script)
    result = fake.run("--root", ROOTS / "nvidia-server", "-i", "20", "-f", "json", *ALL, "--", "sleep", "0.15")
    assert result.code == 0, result
    check_ledger(result.json)


# ---- Tapes: the same machine in every format ----

@pytest.mark.parametrize("tape", TAPES, ids=lambda path: path.stem)
@pytest.mark.parametrize("baseline", [False, True], ids=["no-idle", "idle"])
def test_every_tape(tmp_path, tape, baseline):
    options = ["--idle-file", idle_of_tape(tape, tmp_path / "idle")] if baseline else []
    report, _ = check_formats("--tape", tape, *options)
    assert report["total"]["energy_j"] > 0
    # One's first seconds are idle, and known to be; the models of the other say what they give at no use.
    knows = tape.stem in ("busy-thread", "vm")
    assert (baseline or knows) == any("idle_j" in line for line in report["ledger"])


def idle_of_tape(tape, path):
    """Baselines of 60 % of what each domain drew on average."""
    report = run_wattle("run", "--tape", tape, "-f", "json").json
    lines = ["wattle-idle/2"]
    for domain in report["domains"]:
        if "energy_j" in domain:
            idle_uw = int(domain["mean_w"] * 600_000)
            lines.append(f"{domain['name']} {domain['source']} {idle_uw} {idle_uw // 64} 2026-11-21T10:00:00Z 30000000000")
    path.write_text("\n".join(lines) + "\n")
    return path


def record_storm(tape, *more):
    result = run_wattle("run", "-q", "--tape-record", tape, "-i", "50", "-f", "json", *ALL, *more, "--", "sh", "-c", STORM)
    assert result.code == 0, result
    return result.json


def same_accounts(live, replayed):
    """The tape is the same measurement again, but for names of users, which are this machine's own."""
    def nameless(report):
        return [{key: value for key, value in process.items() if key != "user"} for process in report["processes"]]

    for key in ("ledger", "total", "others", "no_process"):
        assert live[key] == replayed[key]
    assert nameless(live) == nameless(replayed)
    for key in ("full_j", "dynamic_j", "uncertainty_j", "processes", "attributed_cpu_s"):
        assert live["command_energy"].get(key) == replayed["command_energy"].get(key)


def test_recorded_storm(tmp_path):
    live = record_storm(tmp_path / "tape")
    check_ledger(live)
    replayed, tables = check_formats("--tape", tmp_path / "tape")
    assert tables == 2
    same_accounts(live, replayed)
    again, _ = check_formats("--tape", tmp_path / "tape")
    assert again["ledger"] == replayed["ledger"] and again["processes"] == replayed["processes"]
    assert any(process["state"] == "folded" for process in replayed["processes"])


def test_recorded_storm_with_idle(tmp_path):
    """The same record without and with a baseline: what was full is dynamic and idle."""
    record_storm(tmp_path / "tape")
    idle_of_tape(tmp_path / "tape", tmp_path / "idle")
    full, _ = check_formats("--tape", tmp_path / "tape")
    idle, _ = check_formats("--tape", tmp_path / "tape", "--idle-file", tmp_path / "idle")
    assert [line["total_j"] for line in full["ledger"]] == [line["total_j"] for line in idle["ledger"]]
    assert [process["full_j"] for process in full["processes"]] == [process["full_j"] for process in idle["processes"]]
    for line in counted(idle):
        assert 0 < line["idle_j"] < line["total_j"]


# ---- This machine ----

def live(*options, form="json"):
    result = run_wattle("run", "-q", "-i", "20", "-f", form, *ALL, *options, "--", "sh", "-c", STORM)
    assert result.code == 0, result
    return result


def test_this_machine():
    report = live().json
    check_ledger(report)
    if "processes" in report:
        assert report["command_energy"]["processes"] >= 1
        assert any(process["in_command"] for process in report["processes"])


def test_this_machine_in_text_and_csv():
    assert check_text(live(form="text").out) >= 0
    check_csv(live(form="csv").csv)


@pytest.mark.parametrize("top", ["0", "1", "10"])
def test_fewer_processes(top):
    """Whoever is not listed is among the others; the sum is the same."""
    report = live("--top", top).json
    check_sums(report)
    if "processes" not in report:
        return
    assert len(report["processes"]) <= int(top)
    parts = [process["full_j"] for process in report["processes"]]
    assert sum(parts) + report["others"]["full_j"] + report["no_process"]["full_j"] == report["total"]["energy_j"]
    assert check_text(live("--top", top, form="text").out) >= 0


def test_repeat():
    series = live("--repeat", "4").json
    assert len(series["runs"]) == 4
    for report in series["runs"]:
        check_ledger(report)
    rows = live("--repeat", "3", form="csv").csv
    for number in ("1", "2", "3"):
        check_csv([row for row in rows if row["run"] == number])


def test_without_privilege():
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root and setpriv to give privilege up")
    done = subprocess.run([*NOBODY, command_path(), "run", "-o", "-", "-q", "-i", "20", "-f", "json", *ALL, "--", "sh", "-c", STORM],
                          capture_output=True, env=clean_env(), timeout=TIMEOUT, check=False)
    if done.returncode in (126, 127):
        pytest.skip("this build cannot be run by others")
    assert done.returncode == 0, done.stderr
    check_ledger(parse_json(done.stdout.decode()))


def test_learns_idle_within(tmp_path):
    """A baseline that becomes known while it measures, and one that an earlier run kept."""
    kept = tmp_path / "idle"
    for _ in range(2):
        result = run_wattle("run", "-q", "-f", "json", *ALL, "--idle-file", kept, "--", "sleep", "0.3")
        assert result.code == 0
        check_ledger(result.json)


# ---- Faults ----

FAULTS = [f"{op}:{n}{always}" for op in ("cpu", "exits") for n in (1, 2, 3) for always in ("", "", ":always")]
FAULTS += [f"dir:{n}:always" for n in (1, 2, 4)] + ["lib:40:always", "open:30:always", "link:1:always"]


@pytest.mark.parametrize("fault", sorted(set(FAULTS)))
def test_faults(fault, tmp_path):
    spec = fault if not fault.endswith("always") else fault.replace(":always", ":EIO:always")
    env = {"WATTLE_FAKE_NVML": SCRIPTS / "two.nvml"}
    result = run_wattle("run", "--fault", spec, "--nvml", fake_library(), "-q", "-i", "20", "-f", "json", *ALL,
                        "--", "sh", "-c", STORM, env=env)
    assert result.code in (0, 125), result
    if result.code == 0:
        check_ledger(result.json)
    else:
        assert result.err


@pytest.mark.parametrize("always", ["", ":always"], ids=["once", "always"])
def test_failing_reads(machine, always):
    """Every read of a small machine in turn, then every one from there on."""
    copy = machine("xeon-2s-dram")
    put_process(copy.path, 1, "init", 5, parent=0)
    put_process(copy.path, 100, "busy", 10)
    n, step, failed = 1, 1, 0
    while n < 400:
        steps = []
        for path in movable(copy.path):
            steps += ["add", path, 2 * 2 ** 32 if "perf" in str(path) else 2 * JOULE]
        result = run_wattle("run", "--root", copy.path, "--fault", f"read:{n}:EIO{always}", "-i", "10", "-f", "json", *ALL,
                            "--", *mover(*steps, "sleep", "0.03"))
        assert result.code in (0, 125), result
        if result.code == 0:
            check_ledger(result.json)
        failed += result.code == 125
        n, step = n + step, step + 2
    assert failed < 5
