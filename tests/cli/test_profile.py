# SPDX-License-Identifier: MIT
"""wattle profile: functions get the CPU time and energy that they used, and all rows add up to what was measured."""

import errno
import pstats
import re
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from conftest import REPO, parse_json, run_wattle
from test_seccomp import denied  # noqa: F401 (a fixture)

SUMS = ("stacks_j", "not_seen_j", "unknown_time_j", "others_j", "kernel_j", "idle_j", "unattributed_j")


@pytest.fixture(name="program", scope="session")
def built_program(tmp_path_factory):
    if not shutil.which("gcc"):
        pytest.skip("gcc is not there")
    probe = run_wattle("profile", "--", "true")
    if probe.code != 0:
        pytest.skip(f"no profile can be taken here: {probe.err}")
    path = tmp_path_factory.mktemp("profiled") / "profiled"
    subprocess.run(["gcc", "-O2", "-g", "-pthread", "-o", path, REPO / "tests" / "cli" / "profiled.c"], check=True)
    return path


class Profile:
    def __init__(self, path, code):
        self.code = code
        self.json = parse_json(Path(path).read_text())
        self.functions = {row["function"]: row for row in self.json["functions"]}

    def cpu_s(self, name):
        return float(self.functions.get(name, {}).get("cpu_s", 0))

    def energy_j(self, name):
        return float(self.functions[name]["energy_j"])

    def stacks(self):
        """The names of each call's callers and itself, outermost first."""
        calls, found = self.json["calls"], []
        for call in calls:
            found.append((found[call["parent"]] if "parent" in call else []) + [call["function"]])
        return found


@pytest.fixture(name="profile")
def taken(program, tmp_path):
    def take(*words, code=0, program=program):
        result = run_wattle("profile", "-q", "-o", tmp_path / "p.json", "--", program, *words)
        assert result.code == code, result
        profile = Profile(tmp_path / "p.json", result.code)
        check_sums(profile.json)
        return profile
    return take


def check_sums(profile):
    """To the microjoule: of each domain, of functions, and of the tree."""
    for row in profile["sums"]:
        assert sum(row[key] for key in SUMS) == row["total_j"], row
        assert all(row[key] <= row["total_j"] for key in SUMS), row
    total = profile["sums"][-1]
    assert total["domain"] == "total"
    own = sum((call["own_energy_j"] for call in profile["calls"]), Decimal(0))
    assert own == profile["energy_j"] == total["stacks_j"] + total["not_seen_j"] + total["unknown_time_j"]
    assert sum((row["own_energy_j"] for row in profile["functions"]), Decimal(0)) == own
    for row in profile["functions"]:
        assert row["own_energy_j"] <= row["energy_j"] and row["own_cpu_s"] <= row["cpu_s"]
        assert sum((domain["energy_j"] for domain in row["domains"]), Decimal(0)) >= row["energy_j"]


def test_two_functions(profile):
    """heavy: three quarters of 600 ms. The time is the kernel's; only where slices are cut is left to samples."""
    seen = profile("two")
    assert seen.cpu_s("heavy") == pytest.approx(0.45, abs=0.03)
    assert seen.cpu_s("light") == pytest.approx(0.15, abs=0.03)
    assert seen.cpu_s("main") == pytest.approx(0.6, abs=0.03)
    if seen.json["energy_j"] > 0:
        assert seen.energy_j("heavy") / seen.energy_j("main") == pytest.approx(0.75, abs=0.25)
    main = next(row for row in seen.json["functions"] if row["function"] == "main")
    lines = (REPO / "tests" / "cli" / "profiled.c").read_text().splitlines()
    assert main["file"].endswith("profiled.c") and lines[main["line"] - 1].startswith("int main(")


def test_inlined_calls(profile):
    """Both of them: one was put into a function that was put into another one."""
    stacks = [" ".join(stack) for stack in profile("two").stacks()]
    assert any("main heavy middle innermost" in stack for stack in stacks), stacks


@pytest.mark.parametrize("folder", ["", ".debug"])
def test_symbols_in_a_file_of_their_own(profile, program, tmp_path, folder):
    """As distributions strip programs: functions, lines and inlined calls are those of the file that the program names."""
    (tmp_path / folder).mkdir(exist_ok=True)
    stripped, debug = tmp_path / "stripped", tmp_path / folder / "names.debug"
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", program, stripped], check=True)
    seen = profile("two", program=stripped)
    assert any("main heavy middle innermost" in " ".join(stack) for stack in seen.stacks()), seen.functions
    assert seen.functions["main"]["file"].endswith("profiled.c")
    # A file of that name from another build says nothing about this one.
    other = tmp_path / "other.c"
    other.write_text("int main(void) { return 0; }")
    subprocess.run(["gcc", "-g", "-o", debug, other], check=True)
    assert "heavy" not in profile("two", program=stripped).functions


def test_recursion_is_counted_once(profile):
    seen = profile("deep")
    assert seen.cpu_s("recursive") == pytest.approx(0.2, abs=0.03)
    assert any(stack.count("recursive") == 21 for stack in seen.stacks())


def test_threads(profile):
    seen = profile("threads")
    assert seen.cpu_s("in_thread") == pytest.approx(0.45, abs=0.04)
    assert seen.json["threads"] == 4


def test_children(profile):
    seen = profile("children")
    assert seen.cpu_s("in_child") == pytest.approx(0.2, abs=0.03)   # fork and exec
    assert seen.cpu_s("in_thread") == pytest.approx(0.2, abs=0.03)  # fork alone
    assert seen.json["threads"] == 3


def test_a_program_that_becomes_another(profile):
    seen = profile("exec")
    assert seen.cpu_s("before") == pytest.approx(0.2, abs=0.03)
    assert seen.cpu_s("after") == pytest.approx(0.2, abs=0.03)


def test_a_program_that_a_signal_ends(profile):
    assert profile("killed", code=137).cpu_s("before") == pytest.approx(0.15, abs=0.03)


def test_the_status_is_the_programs(profile):
    profile("none", "7", code=7)


def test_a_stripped_program(profile, program, tmp_path):
    """No names, but all of its time, and whole stacks."""
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, program], check=True)
    seen = profile("two", program=stripped)
    assert seen.cpu_s("[stripped]") == pytest.approx(0.6, abs=0.03)
    assert "heavy" not in seen.functions and seen.json["not_whole"] == 0


def test_a_program_that_is_gone(profile, program, tmp_path):
    """Its file is removed while it runs: whether it could be read in time or not, its time is there."""
    copy = tmp_path / "copy"
    shutil.copy(program, copy)
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\n{copy} two &\nsleep 0.05\nrm {copy}\nwait\n")
    script.chmod(0o755)
    seen = profile(program=script)
    assert float(sum(row["own_cpu_s"] for row in seen.json["functions"])) == pytest.approx(0.6, abs=0.06)


def test_tree_and_table(program):
    tree = run_wattle("profile", "--", program, "two")
    assert tree.code == 0 and tree.out == ""
    depth = {name: len(indent) for indent, name in re.findall(r"^ +\d+\.\d+ ± \d+\.\d+ +\d+\.\d +\d+\.\d+  ( *)(\S+)$", tree.err, re.M)}
    assert depth["heavy"] == depth["light"] == depth["main"] + 2 == depth["middle"] - 2
    table = run_wattle("profile", "--table", "-o", "-", "--", program, "two")
    rows = re.findall(r"^ +(\d+\.\d+) ± +(\d+\.\d+) +(\d+\.\d+) +(\d+\.\d+) +(\d+)  (\S+)$", table.out, re.M)
    assert rows[0][5] == "innermost" and table.err == "", table
    for text in (tree.err, table.out):
        parts = dict(reversed(line) for line in re.findall(r"^ +(\d+\.\d+) J  (.+)$", text, re.M))
        total = float(parts.pop("measured in all"))
        assert sum(map(float, parts.values())) == pytest.approx(total, abs=0.005)


def test_commands_that_cannot_run(tmp_path):
    assert run_wattle("profile", "--", "no-such-command").code == 127
    (tmp_path / "text").write_text("x")
    assert run_wattle("profile", "--", tmp_path / "text").code == 126
    assert "nothing to profile" in run_wattle("profile").complaint()


@pytest.mark.parametrize("name", ["p.json", "p.html", "p.pb.gz", "p.speedscope.json", "p.callgrind", "p.pyisession", "p.firefox.json", "p.dot"])
def test_files_of_a_process_that_runs_already(program, name, tmp_path):
    """It has no command line of wattle's."""
    with subprocess.Popen(["sleep", "20"]) as running:
        result = run_wattle("profile", "-q", "--pid", str(running.pid), "--duration", "0.2", "-o", tmp_path / name)
        running.kill()
    assert result.code == 0 and result.err == "", result
    assert name.endswith((".pb.gz", ".json")) or f"process {running.pid}" in (tmp_path / name).read_text()


def test_functions_of_python(program, tmp_path):
    """File and line apart from the name, as cProfile's files have them."""
    (tmp_path / "work.py").write_text("def spin(n):\n    return sum(i * i for i in range(n))\n\n\ndef run():\n    for _ in range(60):\n"
                                      "        spin(100000)\nrun()\n")
    run_wattle("profile", "-q", "-o", tmp_path / "p.pstats", "--", sys.executable, tmp_path / "work.py")
    keys = pstats.Stats(str(tmp_path / "p.pstats")).stats
    if not any(key[2] == "<module>" for key in keys):
        pytest.skip("the frames of this Python cannot be read")
    assert ("work.py", 5, "run") in keys and ("work.py", 1, "spin") in keys


@pytest.mark.parametrize("name", ["profile", "profile.what", ".json/x", "json"])
def test_a_file_that_says_no_format(name, tmp_path):
    result = run_wattle("profile", "-o", name, "--", "touch", "ran", cwd=tmp_path)
    line = result.complaint()
    assert result.code == 125 and list(tmp_path.iterdir()) == [], result
    assert ".folded" in line and ".pb.gz" in line and "--format" in line and "nothing was run" in line


def test_a_file_that_cannot_be_written(tmp_path):
    result = run_wattle("profile", "-o", "/nowhere/x.json", "--", "touch", tmp_path / "ran")
    assert result.code == 125 and "/nowhere/x.json" in result.complaint() and not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["text", "json", "pprof", "html"])
def test_a_disk_that_is_full(program, name):
    """What cannot be had again is told all the same."""
    result = run_wattle("profile", "-q", "-f", name, "-o", "/dev/full", "--", program, "two")
    assert result.code == 125, result
    assert "cannot write the profile to '/dev/full'" in result.err and "measured in all" in result.err


@pytest.mark.parametrize("error", [errno.EPERM, errno.EACCES, errno.ENOSYS])
def test_without_perf(deny, error, tmp_path):
    done = deny(["perf_event_open"], error, "profile", "--", "touch", tmp_path / "ran")
    assert done.returncode == 125 and done.stderr.count("\n") == 1, done
    assert "kernel.perf_event_paranoid=2" in done.stderr
    assert not (tmp_path / "ran").exists()
