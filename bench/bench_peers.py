#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Other energy meters and wattle on the simulated machine (tests/sim): how far each is from the truth, in one run.

    bench_peers.py [METER…]     of tests/sim/peers/meters.py, "wattle" and "wattle-weight"; default: all

PEERS_VENV: the Python environment that has them (default: `peers` in the build); made, with the versions that meters.py
names, where there is none and PyPI can be reached. Programs that are not Python: see meters.py for SCAPHANDRE and
AIPOWERMETER. SCENARIOS: names of tests/sim/scenarios with blanks between; default: those of which a meter says something,
which takes half an hour.

Of the machine: the energy in the tool's own window. Of the processes: what the workers caused, their sum and the worst
of them; "-" where a tool says nothing. Not a part of `make bench`: `make bench-peers`.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
SIM = REPO / "tests" / "sim"
sys.path[:0] = [str(SIM), str(SIM / "peers")]

import meters  # noqa: E402
import score  # noqa: E402
import trial  # noqa: E402

BUILD = Path(os.environ.get("WATTLE_BUILD_ROOT", REPO / "build"))
WATTLE = Path(os.environ.get("WATTLE", BUILD / "wattle")).resolve()
VENV = Path(os.environ.get("PEERS_VENV", BUILD / "peers")).resolve()
IDLE_FIRST_S = 5
WATTLES = {"wattle": [], "wattle-weight": ["--weight", "instructions"]}  # the latter where processors count them
NO_NAMESPACES = 126  # the tool's status in the truth
COLUMNS = (("CPU", {"package"}), ("DRAM", {"dram"}), ("CPU+DRAM", {"package", "dram"}), ("GPU", {"gpu"}))
FORM = "{:<18} {:<9} {:>8} {:>8} {:>8} {:>8}   {:>9} {:>9}"


class Missing(Exception):
    """Why a tool could not be scored."""


# ---- The tools ----

def python():
    """The environment's, which is made first if need be; None if it cannot be."""
    found = VENV / "bin" / "python"
    if found.exists():
        return found
    wanted = sorted({package for meter in meters.METERS.values() for package in meter.requires})
    print(f"making {VENV}: {' '.join(wanted)}", flush=True)
    for args in ([sys.executable, "-m", "venv", VENV],
                 [found, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted]):
        done = subprocess.run(args, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            print(f"no other meters: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else args}")
            shutil.rmtree(VENV, ignore_errors=True)
            return None
    return found


def modules_shim(folder):
    """A library to preload for a program that needs /proc/modules, which a kernel without modules has not."""
    library = Path(folder) / "modules.so"
    if Path("/proc/modules").exists() or not shutil.which("cc"):
        return None
    subprocess.run(["cc", "-shared", "-fPIC", "-O", "-o", library, SIM / "peers" / "modules.c"], check=True)
    return library


def prepared(folder, name):
    """The scenario, with the DRAM counters that servers have."""
    text = (SIM / "scenarios" / f"{name}.sim").read_text(encoding="utf-8")
    path = folder / f"{name}.sim"
    path.write_text(re.sub(r"^(socket (?!.*dram=).*)$", r"\1 dram=4", text, flags=re.MULTILINE), encoding="utf-8")
    return path


def duration_s(scenario):
    return float(re.search(r"^duration (\S+)", scenario.read_text(encoding="utf-8"), re.MULTILINE).group(1))


def simulate(folder, scenario, tool, has_gpu):
    """Runs the tool in the machine. Returns its standard output."""
    args = [BUILD / "tests" / "sim" / "sim", *([] if has_gpu else ["--by-tool"]), scenario, folder / "machine", "--", *tool]
    with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            out, err = process.communicate(timeout=duration_s(scenario) + 120)
        except subprocess.TimeoutExpired:
            raise Missing("it does not end") from None
        finally:
            try:  # what the tool left running
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    if process.returncode != 0:
        sys.exit(f"{scenario.name}: {err.strip()}")
    truth = score.load(folder / "machine" / "truth.json")
    if truth["tool_status"] == NO_NAMESPACES:
        sys.exit("no mount namespaces here: no simulated machine")
    if truth["tool_status"] != 0:
        raise Missing(err.strip().splitlines()[-1] if err.strip() else f"status {truth['tool_status']}")
    return truth, out


def command_of(scenario, has_gpu):
    """What starts the workers; who uses a GPU has to be there before, and is watched from beside."""
    return ["sleep", str(duration_s(scenario) - 1)] if has_gpu else ["sh", "-c", "exec $SIM_LAUNCH"]


def run_peer(name, scenario, folder, has_gpu):
    out = folder / "claim.csv"
    truth, said = simulate(folder, scenario, [VENV / "bin" / "python", "-B", SIM / "peers" / "measure.py", name, out, "--",
                                              *command_of(scenario, has_gpu)], has_gpu)
    version = said.strip().splitlines()[-1].removeprefix("version ")
    return truth, score.csv_claim(out), version


def idle_watts(scenario):
    text, watts = scenario.read_text(encoding="utf-8"), {}
    for number, line in enumerate(re.findall(r"^socket .*", text, re.MULTILINE)):
        for kind, value in re.findall(r"(idle|dram)=(\S+)", line):
            watts[f"{'package' if kind == 'idle' else kind}-{number}"] = value
    for value in re.findall(r"^gpu idle=(\S+)", text, re.MULTILINE):
        watts["gpu-0"] = value
    return watts


def try_wattle(scenario, folder, has_gpu, options):
    report = folder / "report.json"
    truth, _ = simulate(folder, scenario, [WATTLE, "run", "--quiet", "--idle-file", folder / "idle", *options, "--top", "65536",
                                           "--format", "json", "--output", report, "--", *command_of(scenario, has_gpu)], has_gpu)
    return truth, score.wattle_claim(score.load(report), False)


def run_wattle(scenario, folder, has_gpu, options):
    """It learns the idle power before the command; where others keep this machine busy, it is told."""
    first = str(3 if has_gpu else IDLE_FIRST_S)  # the GPU's users work after 4 s
    truth, claim = try_wattle(scenario, folder, has_gpu, [*options, "--idle-first", first])
    told = not claim.by_key
    if told:
        trial.idle_file(folder / "idle", idle_watts(scenario))
        shutil.rmtree(folder / "machine")
        truth, claim = try_wattle(scenario, folder, has_gpu, options)
    for _, kinds in COLUMNS:
        names = [name for name in claim.domains_j if {name.rsplit("-", 1)[0]} == kinds]
        if names:
            claim.groups_j.append((names, sum(claim.domains_j[name] for name in names)))
    version = subprocess.run([WATTLE, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    return truth, claim, version + ("*" if told else "")


# ---- The scores ----

def percent(value):
    return "-" if value is None else f"{value:+.1f} %"


def domain_errors(truth, claim, trace):
    """The error of each column, of all the domains of its kinds together."""
    sums = {}
    for names, joules in claim.groups_j:
        kinds = frozenset(name.rsplit("-", 1)[0] for name in names)
        before, energy = sums.get(kinds, ([], 0))
        sums[kinds] = (before + names, energy + joules)
    for _, kinds in COLUMNS:
        names, joules = sums.get(frozenset(kinds), (None, None))
        energy = score.trace_energy(trace, claim.window_ns, names) if names and claim.window_ns else None
        yield percent(score.percent(joules, energy) if energy else None)


def process_errors(truth, claim, trace):
    """Of all workers, and the worst of them."""
    rows, tail = score.score(truth, claim, trace)
    if claim.by_key:
        errors = [row[4] if row[4] is not None else -100 for row in rows[:len(truth["workers"])]]
        whole = next(row for row in tail if row[0] == "all workers")[4]
        return percent(whole), percent(max(errors, key=abs))
    return percent(next((row[4] for row in tail if row[0] == "the command"), None)), "-"


def score_one(name, scenario, folder, has_gpu):
    if name in WATTLES:
        truth, claim, version = run_wattle(scenario, folder, has_gpu, WATTLES[name])
    else:
        truth, claim, version = run_peer(name, scenario, folder, has_gpu)
    trace = folder / "machine" / "trace.csv"
    return [name, version, *domain_errors(truth, claim, trace), *process_errors(truth, claim, trace)]


def has_to_say(name, scenario):
    """Whose figure is of the machine alone says the same wherever the energy goes."""
    if name in WATTLES:
        return not WATTLES[name] or "\npmu\n" in scenario.read_text(encoding="utf-8")
    about = meters.METERS[name].about
    return "gpu" in about if scenario.stem == "gpu" else scenario.stem == "equal" or "process" in about


def main():
    if not (BUILD / "tests" / "sim" / "sim").exists():
        print(f"no {BUILD}/tests/sim/sim: build all of it first (meson compile -C {BUILD})")
        return
    known = [*WATTLES, *meters.METERS]
    wanted = sys.argv[1:] or known
    unknown = [name for name in wanted if name not in known]
    if unknown:
        sys.exit(f"no such meter: {' '.join(unknown)}; there are: {' '.join(known)}")
    if any(name not in WATTLES for name in wanted) and python() is None:
        wanted = [name for name in wanted if name in WATTLES]
    scenarios = os.environ.get("SCENARIOS", "busy-thread equal vector storm gpu").split()
    missing, told = {}, False
    with tempfile.TemporaryDirectory() as folder:
        shim = modules_shim(folder)
        if shim:
            os.environ["SCAPHANDRE_PRELOAD"] = str(shim)
        for scenario in scenarios:
            path = prepared(Path(folder), scenario)
            has_gpu = "gpu-use" in path.read_text(encoding="utf-8")
            print(f"\n{scenario}\n" + FORM.format("tool", "version", *(name for name, _ in COLUMNS), "processes", "worst"), flush=True)
            for name in wanted:
                if "SCENARIOS" not in os.environ and not has_to_say(name, path):
                    continue
                with tempfile.TemporaryDirectory(dir=folder) as own:
                    try:
                        row = score_one(name, path, Path(own), has_gpu)
                        told |= row[1].endswith("*")
                        print(FORM.format(*row), flush=True)
                    except Missing as reason:
                        missing[name] = reason
    if told:
        print("\n* told the idle power: others kept this machine too busy to learn it")
    for name, reason in missing.items():
        print(f"not scored: {name}: {reason}")


if __name__ == "__main__":
    main()
