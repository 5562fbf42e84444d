# SPDX-License-Identifier: MIT
"""wattle record --profile: stacks in a recording, and joules of them computed from it again."""

import re
import shutil
import sqlite3
import subprocess
import sys
from decimal import Decimal

import pytest

from conftest import command_path, parse_json, run_wattle, wait_for
from test_profile import Profile, built_program, check_sums  # noqa: F401 (a fixture)
from test_record import places  # noqa: F401 (a fixture)


def show(path, *options, code=0):
    result = run_wattle("profile", "show", path, *options, "-f", "json", "-o", "-")
    assert result.code == code, result
    if code:
        return result.complaint()
    assert result.err == "", result
    profile = Profile.__new__(Profile)
    profile.code, profile.stolen_s, profile.json = 0, 0.1, parse_json(result.out)
    profile.functions = {row["function"]: row for row in profile.json["functions"]}
    check_sums(profile.json)
    return profile


def report(path, *options):
    result = run_wattle("report", path, "--format", "json", *options)
    assert result.code == 0, result
    return parse_json(result.out)


@pytest.fixture(name="recorded", scope="session")
def recorded_once(program, tmp_path_factory):
    """heavy and light in a window 'one', twice; then recursive, in none."""
    folder = tmp_path_factory.mktemp("recorded")
    script = folder / "script"
    script.write_text(f"""#!/bin/sh
set -e
{command_path()} mark begin one; {program} two; {command_path()} mark end one
{command_path()} mark begin one; {program} two; {command_path()} mark end one
{program} deep
""")
    script.chmod(0o755)
    result = run_wattle("record", "-o", folder / "a.wattle", "--profile", "--", script, env={"XDG_RUNTIME_DIR": folder})
    assert result.code == 0 and "wattle profile show" in result.err, result
    return folder / "a.wattle"


def test_functions_of_a_recording(recorded):
    seen = show(recorded)
    assert seen.used("heavy", 1.1, 0.08) and seen.used("light", 0.3, 0.08) and seen.used("recursive", 0.2, 0.08)
    assert seen.functions["heavy"]["file"].endswith("profiled.c") and seen.functions["heavy"]["line"] > 0
    assert seen.json["command"][0].endswith("script") and seen.json["rate_hz"] == 997
    checked = run_wattle("report", "--check", recorded)
    assert checked.code == 0 and "nothing is damaged" in checked.out, checked


@pytest.mark.parametrize("options", [(), ("--policy", "idle=none"), ("--policy", "idle=learned"), ("--policy", "idle=package-0:0.5"), ("--from", "0.5"),
                                     ("--to", "1"), ("--from", "0.3", "--to", "1.2")], ids=" ".join)
def test_sums_are_the_reports(recorded, options):
    """Whatever is taken for idle, and of any part: the program's energy, and all others', to the microjoule."""
    if run_wattle("report", recorded, *options).code == 1:
        assert "before anybody was billed" in show(recorded, *options, code=125)
        pytest.skip("there is no bill in that part, as this machine was busy")
    seen, told = show(recorded, *options).json, report(recorded, *options)
    ledgers = {row["domain"]: row for row in told["ledger"]}
    for row in seen["sums"][:-1]:
        ledger = ledgers[row["domain"]]
        assert all(row[key] == ledger.get(key, 0) for key in ("total_j", "kernel_j", "unattributed_j")), (row, ledger)
    assert seen["energy_j"] == Decimal(told["command_energy"]["dynamic_j"])
    policy = options[1] if options[:1] == ("--policy",) else None
    shown = run_wattle("profile", "show", recorded, *options).out
    assert re.findall(r"^computed again with --policy (.*)$", shown, re.M) == ([policy] if policy else [])


def test_energy_with_its_idle_part(recorded, tmp_path):
    """Nothing is above idle where a policy takes no idle power out, in a file of it as well."""
    if show(recorded).json["sums"][-1]["total_j"] == 0:
        pytest.skip("no energy is known here")
    assert run_wattle("profile", "show", recorded, "--policy", "idle=none", "-o", tmp_path / "p.wprof").code == 0
    for words in ((recorded, "--policy", "idle=none"), (tmp_path / "p.wprof",)):
        for view in ((), ("-f", "html", "-o", "-"), ("--table",)):
            shown = run_wattle("profile", "show", *words, *view).out
            assert "idle power taken as none)" in shown and "J above idle" not in shown, view
        assert show(*words).json["above_idle"] is False
    given = run_wattle("profile", "show", recorded, "--policy", "idle=none,idle=package-0:0.5").out
    assert "J above idle" in given or "package-0" not in {row["domain"] for row in show(recorded).json["sums"]}, given
    assert show(recorded).json["above_idle"] == ("J above idle" in run_wattle("profile", "show", recorded).out)


def test_what_the_recorder_used(recorded):
    """It is a row, as the profiler's is of a live profile."""
    total = show(recorded).json["sums"][-1]
    if total["profiler_j"] == 0:
        assert total["total_j"] == 0
        pytest.skip("no energy is known here")
    assert 0 < total["profiler_j"] < total["stacks_j"], total
    assert " J  the profiler itself\n" in run_wattle("profile", "show", recorded).out


def test_windows_of_a_recording(recorded):
    whole, one = show(recorded), show(recorded, "--window", "one")
    assert one.cpu_s("recursive") == 0 and one.cpu_s("heavy") == pytest.approx(whole.cpu_s("heavy") - whole.cpu_s("recursive"), abs=0.06)
    assert one.json["energy_j"] + one.json["sums"][-1]["outside_j"] == whole.json["energy_j"]
    assert "no window 'two'" in run_wattle("profile", "show", recorded, "--window", "two").complaint()


def test_a_part_of_the_time(recorded):
    parts = [show(recorded, "--to", "0.9"), show(recorded, "--from", "0.9")]
    whole = show(recorded)
    for name in ("heavy", "light", "recursive"):
        assert sum(part.cpu_s(name) for part in parts) == pytest.approx(whole.cpu_s(name), abs=0.02)
    assert sum(part.json["energy_j"] for part in parts) == pytest.approx(whole.json["energy_j"], rel=Decimal("0.2"), abs=Decimal("0.2"))


def test_a_file_of_a_recording(recorded, tmp_path):
    """As a .wprof file it is the same in every view and format; and it can be compared."""
    assert run_wattle("profile", "show", recorded, "-o", tmp_path / "p.wprof").code == 0
    for options in ((), ("--table",), ("-f", "folded", "-o", "-"), ("-f", "callgrind", "-o", "-"), ("-f", "html", "-o", "-")):
        again, first = (run_wattle("profile", "show", path, *options) for path in (tmp_path / "p.wprof", recorded))
        assert first.code == again.code == 0 and first.out == again.out != "", options
    compared = run_wattle("profile", "diff", recorded, tmp_path / "p.wprof", "--fail-if", "total > 1 J")
    assert compared.code == 0, compared


def test_computed_again_in_files(recorded, tmp_path):
    """What a figure was computed with goes where the figure goes."""
    assert run_wattle("profile", "show", recorded, "--policy", "idle=none", "-o", tmp_path / "p.wprof").code == 0
    says = "computed again with --policy idle=none"
    for options in ((), ("-f", "html", "-o", "-")):
        assert says in run_wattle("profile", "show", tmp_path / "p.wprof", *options).out
    assert show(tmp_path / "p.wprof").json["policy"] == "idle=none" and "policy" not in show(recorded).json
    assert run_wattle("profile", "diff", recorded, tmp_path / "p.wprof").out.count(says) == 1


@pytest.fixture(name="endless")
def goes_on(place, program):
    """A recording of a program that goes on, once heavy() and light() are in its profile."""
    process = place.running("--profile", "--", "sh", "-c", f"while :; do {program} two; done & echo $!; wait", stdout=subprocess.PIPE)
    loop = int(process.stdout.readline())
    try:
        wait_for(lambda: {"heavy", "light"} <= set(run_wattle("profile", "show", place.file()).out.split()), "heavy and light")
        yield process
    finally:
        subprocess.run(["kill", "-9", str(loop)], check=False)
        process.stdout.close()
        process.kill()
        process.wait()


def test_a_recording_that_is_killed(place, program, endless):
    """What was committed is there, and functions are found in the program's file."""
    endless.kill()
    endless.wait()
    seen = show(place.file())
    assert seen.cpu_s("heavy") > seen.cpu_s("light") > 0
    assert seen.functions["heavy"]["file"].endswith("profiled.c")
    program.rename(program.with_suffix(".away"))
    try:
        assert "[profiled: file is gone]" in show(place.file()).functions
    finally:
        program.with_suffix(".away").rename(program)


def test_a_recording_that_is_stopped(place, endless):
    """The command goes on; what there was up to then has its names."""
    assert place.run("record", "--stop", place.file()).code == 0
    assert endless.poll() is None
    seen = show(place.file())
    assert seen.cpu_s("heavy") > seen.cpu_s("light") > 0


def test_python_in_a_recording(place):
    script = place.path / "a.py"
    script.write_text("import time\ndef leaf(x):\n    return x + 1\ndef busy():\n    end = time.process_time() + 0.6\n"
                      "    while time.process_time() < end:\n        leaf(1)\nbusy()\n")
    assert place.record("--profile", "--", sys.executable, script).code == 0
    seen = show(place.file())
    assert seen.cpu_s("busy (a.py:4)") > 0.4, seen.functions


def test_a_process_that_runs(place, program):
    running = subprocess.Popen([program, "two"], stdout=subprocess.DEVNULL)
    result = place.record("--profile", "--profile-rate", "500", "--pid", str(running.pid))
    running.wait()
    assert result.code == 0, result
    seen = show(place.file())
    assert seen.json["pid"] == running.pid and seen.json["rate_hz"] == 500 and seen.cpu_s("heavy") > 0.1


@pytest.mark.parametrize("n", [2, 4, 6])
def test_a_full_disk(place, program, n):
    """The command goes on; what is there can be told, or one line says why not."""
    result = place.record("--profile", "--fault", f"write:{n}:ENOSPC:always", "--", "sh", "-c", f"{program} two; {program} two; touch ran")
    assert result.code == 125 and "No space left" in result.err, result
    assert (place.path / "ran").exists() == place.file().exists()
    if place.file().exists():
        shown = run_wattle("profile", "show", place.file())
        assert shown.code == 0 or shown.complaint()


def test_a_ring(place, program):
    """Its periods can be read without those before them."""
    result = place.record("--profile", "--max-age", "1", "--", "sh", "-c", f"for i in 1 2 3 4; do {program} two; done")
    assert result.code == 0, result
    assert show(place.file()).json["duration_s"] < 2.5


def test_damage(recorded, tmp_path):
    """A period that is lost has no stacks; the rest has."""
    copy = tmp_path / "copy.wattle"
    shutil.copy(recorded, copy)
    with sqlite3.connect(copy) as database:
        series = database.execute("SELECT id FROM series WHERE name = 'profile.bytes'").fetchone()[0]
        n = database.execute("UPDATE chunk SET data = substr(data, 1, length(data) / 2) WHERE id % 65536 = ?", (series,)).rowcount
    if n == 0:
        pytest.skip("it is too short to have chunks")
    shown = run_wattle("profile", "show", copy)
    assert "copy.wattle" in shown.err and shown.code in (0, 125), shown


@pytest.mark.parametrize("words, says", [
    (("record", "--profile"), "--profile is of a command"), (("record", "--profile", "--unit", "x"), "--profile is of a command"),
    (("record", "--profile-rate", "100", "--", "true"), "--profile-rate is for --profile"),
    (("record", "--profile", "--no-processes", "--", "true"), "--no-processes"),
    (("record", "--profile", "--pid", "1", "--", "true"), "exclude each other"),
    (("profile", "--policy", "idle=none", "--", "true"), "--policy is for wattle profile show"),
    (("profile", "--from", "1", "--", "true"), "--from is for wattle profile show"),
])
def test_what_does_not_go_together(words, says, tmp_path):
    result = run_wattle(*words, cwd=tmp_path)
    assert result.code in (2, 125) and says in result.complaint() and list(tmp_path.iterdir()) == []


def test_a_recording_without_a_profile(place):
    assert place.record("--", "true").code == 0
    shown = run_wattle("profile", "show", place.file())
    assert shown.code == 125 and "wattle record --profile" in shown.complaint()
    place.file("a.wprof").write_bytes(b"hello\n")
    shown = run_wattle("profile", "show", place.file("a.wprof"), "--from", "1")
    assert shown.code == 125 and "--from is for a recording" in shown.complaint()
