# SPDX-License-Identifier: MIT
"""wattle profile --window: what a program did between two marks."""

import time

import pytest

from conftest import command_path, finish, run_wattle, start_wattle, wait_for
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
    assert one.cpu_s("light") == pytest.approx(all_of_it.cpu_s("light"), abs=0.01) and one.cpu_s("light") > 0.2
    assert one.cpu_s("heavy") == pytest.approx(all_of_it.cpu_s("heavy") - all_of_it.cpu_s("recursive"), abs=0.01)
    assert one.cpu_s("in_thread") == one.cpu_s("recursive") == 0
    assert sum(row["samples"] for row in one.json["calls"] if "parent" not in row) == one.json["samples"]
    two = seconds(taken, "--window", "two")
    assert two.cpu_s("in_thread") == pytest.approx(all_of_it.cpu_s("in_thread"), abs=0.01) and two.cpu_s("heavy") == 0
    both = seconds(taken, "--window", "all")
    assert both.cpu_s("heavy") == pytest.approx(one.cpu_s("heavy"), abs=0.01)
    assert all_of_it.json["sums"][-1]["outside_j"] == 0 and "window" not in all_of_it.json
    for part in (one, two, both):
        assert part.json["sums"][-1]["total_j"] == all_of_it.json["sums"][-1]["total_j"]
        assert part.json["energy_j"] + part.json["sums"][-1]["outside_j"] == all_of_it.json["energy_j"]


def test_a_file_is_cut_as_a_run_is(taken):
    folder, live = taken
    shown = run_wattle("profile", "show", folder / "p.wprof", "--window", "one")
    assert shown.out in live.err and "in the window 'one' only" in shown.out


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


def test_of_a_process_that_runs_already(program, running, tmp_path):
    """Who marks is somebody beside it, as it was not started from here."""
    env = {"XDG_RUNTIME_DIR": str(tmp_path)}
    busy = running(program, "busy")
    process = start_wattle("profile", "-q", "--pid", str(busy.pid), "--window", "one", "-o", tmp_path / "p.json", env=env)
    try:
        wait_for(lambda: run_wattle("mark", "begin", "one", env=env).code == 0, "a window to begin")
        time.sleep(0.2)
        assert run_wattle("mark", "end", "one", env=env).code == 0
    finally:
        busy.kill()
    result = finish(process)
    assert result.code == 0, result
    part = Profile(tmp_path / "p.json", 0)
    check_sums(part.json)
    assert part.json["window"] == "one" and part.cpu_s("heavy") > 0
