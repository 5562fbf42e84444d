# SPDX-License-Identifier: MIT
"""wattle profile --window: what a program did between two marks."""

import json
import time
from datetime import datetime
from pathlib import Path

import pytest

from conftest import command_path, finish, parse_json, run_wattle, start_wattle, wait_for
from test_profile import Profile, built_program, check_sums, started  # noqa: F401 (fixtures)


@pytest.fixture(name="taken", scope="session")
def taken_once(program, tmp_path_factory):
    """heavy and light in two windows 'one' and around them 'all'; in_thread in 'two', which stays open; recursive in none."""
    folder = tmp_path_factory.mktemp("window")
    script = folder / "script"
    script.write_text(f"""#!/bin/sh
set -e
{command_path()} mark begin all
{command_path()} mark begin one; {program} two; {command_path()} mark end one
{command_path()} mark begin one; {program} two; {command_path()} mark end one
{command_path()} mark end all
{program} deep
{command_path()} mark begin two
! {command_path()} mark begin two
! {command_path()} mark end one
{command_path()} mark list
{program} threads
""")
    script.chmod(0o755)
    env = {"XDG_RUNTIME_DIR": folder}
    result = run_wattle("profile", "--window", "one", "--keep", folder / "p.wprof", "--", script, env=env)
    assert result.code == 0, result
    assert "a window 'two' is open already" in result.err and "no window 'one' is open" in result.err
    return folder, result


def seconds(taken, *options):
    folder, _ = taken
    result = run_wattle("profile", "show", folder / "p.wprof", *options, "-o", folder / "p.json")
    assert result.code == 0 and result.err == "", result
    profile = Profile(folder / "p.json", 0)
    check_sums(profile.json)
    return profile


def test_only_what_was_in_the_window(taken):
    one = seconds(taken, "--window", "one")
    assert one.json["window"] == "one"
    all_of_it = seconds(taken)
    assert one.cpu_s("light") == pytest.approx(all_of_it.cpu_s("light"), abs=0.03) and one.cpu_s("light") > 0.2
    assert one.cpu_s("heavy") == pytest.approx(all_of_it.cpu_s("heavy") - all_of_it.cpu_s("recursive"), abs=0.03)
    assert one.cpu_s("in_thread") == one.cpu_s("recursive") == 0
    assert sum(row["samples"] for row in one.json["calls"] if "parent" not in row) == one.json["samples"]
    two = seconds(taken, "--window", "two")
    assert two.cpu_s("in_thread") == pytest.approx(all_of_it.cpu_s("in_thread"), abs=0.03) and two.cpu_s("heavy") == 0
    both = seconds(taken, "--window", "all")
    assert both.cpu_s("heavy") == pytest.approx(one.cpu_s("heavy"), abs=0.03)
    assert all_of_it.json["sums"][-1]["outside_j"] == 0 and "window" not in all_of_it.json
    for part in (one, two, both):
        assert part.json["sums"][-1]["total_j"] == all_of_it.json["sums"][-1]["total_j"]
        assert part.json["energy_j"] + part.json["sums"][-1]["outside_j"] == all_of_it.json["energy_j"]


def test_a_file_is_cut_as_a_run_is(taken):
    folder, live = taken
    shown = run_wattle("profile", "show", folder / "p.wprof", "--window", "one")
    assert shown.out in live.err and "in the window 'one' only" in shown.out
    assert shown.out.splitlines()[1] == "in the window 'one' only"
    assert "in all of the profile: the profiler used" in shown.out


def test_what_a_part_is_told_of(taken):
    """Threads of others are none of it; what is not known of a part is told of the whole."""
    one, all_of_it = seconds(taken, "--window", "one"), seconds(taken)
    assert one.json["threads"] < all_of_it.json["threads"]
    wanted = {"lost", "not_whole", "read_later", "unresolved", "lines_not_read", "profiler_cpu_s"}
    assert not wanted & set(one.json)
    of_the_whole = set(one.json["whole_profile"]) - {"processes_not_seen"}  # which is told where there were some
    assert of_the_whole == wanted <= set(all_of_it.json)
    assert one.json["whole_profile"]["profiler_cpu_s"] == all_of_it.json["profiler_cpu_s"]


def test_a_part_ends_where_its_last_window_ends(taken, tmp_path):
    """Its stretches are apart: it is longer than they are together."""
    folder, _ = taken
    result = run_wattle("profile", "show", folder / "p.wprof", "--window", "one", "-o", tmp_path / "p.firefox.json")
    assert result.code == 0
    told, part = json.loads((tmp_path / "p.firefox.json").read_text()), seconds(taken, "--window", "one").json
    end_ms = told["meta"]["profilingEndTime"]
    assert end_ms > 1000 * float(part["duration_s"])
    times = [time_ms for thread in told["threads"] for time_ms in thread["samples"]["time"]]
    assert len(times) == part["samples"] and 0 <= min(times) <= max(times) <= end_ms
    assert all(0 <= time_ms <= end_ms for counter in told["counters"] for time_ms in counter["samples"]["time"])


def test_memory_of_a_part(program, tmp_path):
    """What it grew in the window, and how much it had then."""
    script = tmp_path / "script"
    script.write_text(f"""#!/bin/sh
set -e
{program} grows
{command_path()} mark begin one; {program} two; {command_path()} mark end one
{command_path()} mark begin two; {program} grows; {command_path()} mark end two
""")
    script.chmod(0o755)
    taken = run_wattle("profile", "-q", "--memory", "-o", tmp_path / "p.wprof", "--window", "one", "-f", "text", "--keep", tmp_path / "k.wprof",
                       "--", script, env={"XDG_RUNTIME_DIR": tmp_path})
    assert taken.code == 0, taken
    grown = {}
    for window in ("one", "two"):
        for name in ("p.json", "p.dat"):
            shown = run_wattle("profile", "show", tmp_path / "k.wprof", "--window", window, "-o", tmp_path / name)
            assert shown.code == 0, shown
        told = parse_json((tmp_path / "p.json").read_text())
        memory = told["memory"]
        grown[window] = {row["function"]: row["grown_bytes"] for row in memory["functions"]}
        (profiled,) = [row for row in memory["processes"] if row["name"] == "profiled"]
        assert (24 << 20 < profiled["peak_rss_bytes"]) == (window == "two") and "peak_pss_bytes" not in profiled
        sizes = [line.split() for line in (tmp_path / "p.dat").read_text().splitlines()[1:]]
        assert (max(float(line[-2]) for line in sizes) > 24) == (window == "two")
        began = datetime.fromisoformat(told["start_utc"].replace("Z", "+00:00")).timestamp()
        assert all(float(line[-1]) >= began for line in sizes)
    assert grown["one"].get("grows", 0) == 0 and 22 << 20 < grown["two"]["grows"] < 26 << 20


@pytest.mark.parametrize("name", ["p.html", "p.firefox.json", "p.trace.json", "p.pb.gz", "p.callgrind"])
def test_files_of_a_part(taken, name, tmp_path):
    folder, _ = taken
    for window in ("one", "two"):
        result = run_wattle("profile", "show", folder / "p.wprof", "--window", window, "-o", tmp_path / name)
        assert result.code == 0 and (tmp_path / name).stat().st_size > 200


def test_windows_that_are_not_there(taken, tmp_path):
    folder, _ = taken
    shown = run_wattle("profile", "show", folder / "p.wprof", "--window", "three")
    assert shown.code == 125 and shown.out == "" and "'all', 'one', 'two'" in shown.complaint()
    live = run_wattle("profile", "--window", "three", "--", "true")
    assert live.code == 125 and "no window 'three' was marked" in live.err and "measured in all" in live.err
    for words in (("show", "x.wprof", "-o", "y.wprof"), ("-o", "y.wprof", "--", "touch", "ran")):
        refused = run_wattle("profile", "--window", "one", *words, cwd=tmp_path)
        assert refused.code == 125 and "has all of a profile" in refused.complaint() and list(tmp_path.iterdir()) == []
    assert "diff compares whole" in run_wattle("profile", "diff", "--window", "one", "a", "b").complaint()


def test_marks_go_to_the_recording_around_it(program, tmp_path):
    """Unless a window is asked for."""
    env = {"XDG_RUNTIME_DIR": tmp_path, "WATTLE_MARK": "/nowhere"}
    words = ("sh", "-c", "echo $WATTLE_MARK")
    assert run_wattle("profile", "-q", "--", *words, env=env).out == "/nowhere\n"
    assert run_wattle("profile", "-q", "--window", "x", "--", *words, env=env).out.endswith(".sock\n")


def used_ns(pid):
    """CPU time of a process's first thread."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0])


def test_of_a_process_that_runs_already(program, running, tmp_path):
    """Who marks is somebody beside it, as it was not started from here."""
    env = {"XDG_RUNTIME_DIR": str(tmp_path)}
    busy = running(program, "busy")
    process = start_wattle("profile", "-q", "--pid", str(busy.pid), "--window", "one", "-o", tmp_path / "p.json", env=env)
    try:
        wait_for(lambda: run_wattle("mark", "begin", "one", env=env).code == 0, "a window to begin")
        begin_ns = used_ns(busy.pid)
        wait_for(lambda: used_ns(busy.pid) > begin_ns + 100_000_000, "the program to run")
        assert run_wattle("mark", "end", "one", env=env).code == 0
    finally:
        busy.kill()
    result = finish(process)
    assert result.code == 0, result
    part = Profile(tmp_path / "p.json", 0)
    check_sums(part.json)
    assert part.json["window"] == "one" and part.cpu_s("heavy") > 0
