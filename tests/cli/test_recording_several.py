# SPDX-License-Identifier: MIT
"""wattle report of several: side by side, repeated runs, and what keeps them from being compared as they stand."""

import os
import shutil
import signal

import pytest

from conftest import REPO, finish, run_wattle, start_wattle, wait_for
from formats import validate

RECORDED = REPO / "tests" / "fixtures" / "recorded"


class Place:
    """Where the recordings of these tests are, with state and sockets of their own."""

    def __init__(self, path, sockets):
        self.path = path
        self.env = {"XDG_RUNTIME_DIR": str(sockets), "XDG_STATE_HOME": str(path / "state"), "TZ": "UTC"}

    def run(self, *args):
        return run_wattle(*args, env=self.env, cwd=self.path)

    def report(self, *args):
        result = self.run("report", *args)
        assert result.code == 0, result
        return result

    def json(self, *args):
        return validate(self.report("-f", "json", *args).json)


@pytest.fixture(name="place", scope="module")
def place_of_module(tmp_path_factory):
    place = Place(tmp_path_factory.mktemp("several"), tmp_path_factory.mktemp("s"))
    for name in ("busy-thread", "server"):
        shutil.copy(RECORDED / f"{name}.wattle", place.path / f"{name}.wattle")
    return place


@pytest.fixture(name="killed", scope="module")
def recorded_and_killed(place):
    """Killed in the second of its runs; what was told before that, and afterwards."""
    process = start_wattle("run", "--repeat", "3", "--record", "killed.wattle", "-o", "live.json", "-f", "json", "--", "sh", "-c",
                           "[ -e began ] || { touch began; exec sleep 0.3; }; echo $$ >pid; exec sleep 60 >/dev/null 2>&1", env=place.env, cwd=place.path)

    def in_second_run():
        if not (place.path / "killed.wattle").exists():
            return None
        result = place.run("report", "-f", "json", "killed.wattle")
        return result.json if result.code == 0 and result.json["schema"] == "wattle.runs/1" else None

    live = wait_for(in_second_run, "a look in the second run")
    page = place.report("killed.wattle").out
    process.send_signal(signal.SIGKILL)
    finish(process)
    os.kill(int((place.path / "pid").read_text()), signal.SIGKILL)
    return "killed.wattle", live, page


def column(page, name):
    """Of the table of runs."""
    lines = page.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("run  began"))
    at = lines[head].index(name)
    return [line[at:].strip() for line in lines[head + 1:lines.index("", head)]]


def test_a_run_that_has_not_ended_is_told(place, killed):
    path, live, page = killed
    assert [run.get("is_unfinished", False) for run in validate(live)["runs"]] == [False, True]
    assert live["statistics"]["runs"] == 1 and live["files"][0]["recording"]["is_live"]
    assert column(page, "end") == ["ok", "still running"]
    assert "- killed.wattle is being recorded: its figures are those so far\n" in page
    page = place.report(path).out
    assert page.startswith("wattle: 2 runs in killed.wattle: ")
    assert column(page, "end") == ["ok", "cut off"]
    assert "! mean and spread are those of 1 of 2 runs" in page and "! killed.wattle was cut off" in page
    report = place.json(path)
    assert report["runs"][0]["exit_status"] == 0 and "exit_status" not in report["runs"][1]
    assert report["statistics"]["duration_s"]["max"] == report["runs"][0]["duration_s"]
    rows = place.report("-f", "csv", path).csv
    assert [row["is_unfinished"] for row in rows] == ["false", "true"] and [row["exit_status"] for row in rows] == ["0", ""]
    by = place.run("report", "--by", "user", path)
    assert by.code == 1 and "--by is of one run: 'killed.wattle' holds 2" in by.complaint()


def test_a_run_that_has_not_ended_is_not_drawn(place, killed):
    result = place.run("plot", "--what", "runs", "-o", "runs.svg", killed[0])
    if "built without" in result.err:
        pytest.skip("no pictures")
    assert result.code == 0 and "killed.wattle: run 2 is not drawn, as its end is not in the file" in result.err, result


def test_a_run_that_has_not_ended_is_no_part_of_a_comparison(place, killed):
    path, _, _ = killed
    both = place.json(path, "busy-thread.wattle")
    first = place.json(path)["runs"][0]
    value = {row["what"]: row["values"][0] for row in both["comparison"]}
    assert abs(value["time"]["value_s"] - first["duration_s"]) <= both["comparison"][0]["values"][0]["value_s"] / 10 ** 5
    if "energy_j" in first["total"]:
        assert value["energy"]["value_j"] == first["total"]["energy_j"]
    assert both["recordings"][0]["recording"]["n_runs"] == 1
    page = place.report(path, "busy-thread.wattle").out
    assert "! [1] was cut off: its figures go to the last look that was written\n" in page


def test_an_unfinished_file_is_not_left_out_of_a_series(place):
    process = start_wattle("record", "-q", "-o", "alone.wattle", env=place.env, cwd=place.path)
    wait_for(lambda: (place.path / "alone.wattle").exists() and place.run("report", "alone.wattle").code == 0, "a look")
    process.send_signal(signal.SIGKILL)
    finish(process)
    page = place.report("--series", "alone.wattle", "busy-thread.wattle").out
    assert sorted(column(page, "end")) == ["-", "cut off"] and "! mean and spread are those of 1 of 2 runs" in page
    result = place.run("report", "--series", "alone.wattle")
    assert result.code == 1 and "no run was recorded to its end" in result.complaint()


def test_runs_that_fail_or_are_interrupted_say_so(place):
    result = place.run("run", "--repeat", "2", "--record", "failed.wattle", "-q", "--", "sh", "-c", "exit 3")
    assert result.code == 3
    assert column(place.report("failed.wattle").out, "end") == ["exit status 3", "exit status 3"]
    assert [run["exit_status"] for run in place.json("failed.wattle")["runs"]] == [3, 3]
    process = start_wattle("run", "--repeat", "2", "--record", "broken.wattle", "-q", "--", "sh", "-c",
                           "[ -e once ] && { touch twice; exec sleep 60; }; touch once", env=place.env, cwd=place.path)
    wait_for((place.path / "twice").exists, "the second run")
    process.send_signal(signal.SIGINT)
    finish(process)
    page = place.report("broken.wattle").out
    assert column(page, "end") == ["ok", "interrupted"] and "! mean and spread are those of 1 of 2 runs" in page
    report = place.json("broken.wattle")
    assert [run["interrupted"] for run in report["runs"]] == [False, True] and report["statistics"]["runs"] == 1
    assert [row["interrupted"] for row in place.report("-f", "csv", "broken.wattle").csv] == ["false", "true"]


def test_totals_of_other_domains(place):
    """A GPU is in one of them alone: how the totals differ is no matter of what was used."""
    page = " ".join(place.report("busy-thread.wattle", "server.wattle").out.split())
    assert "! the total of [2] is not of the same domains as that of [1]: what they differ by" in page
    rows = {row["what"]: row["values"][1] for row in place.json("busy-thread.wattle", "server.wattle")["comparison"]}
    for what in ("energy", "power", "CO2e"):
        assert rows[what]["has_other_domains"] and not rows[what]["is_significant"]
    assert "has_other_domains" not in rows["package-0"] and rows["package-0"]["is_significant"]
    page = " ".join(place.report("busy-thread.wattle", "server.wattle", "busy-thread.wattle", "server.wattle").out.split())
    assert "! the totals of [2], [4] are not of the same domains as that of [1]: " in page
    assert "other_domains" not in str(place.json("server.wattle", "server.wattle"))


def test_parts_policies_and_intensities_are_told(place):
    page = place.report("--from", "+1", "--to", "+5", "--policy", "idle=none", "--pue", "1.5", "busy-thread.wattle", "server.wattle").out
    for text in ("- [1] is told in part: ", "- [2] is told in part: ", "- idle power taken as none\n", "- CO2e is told without PUE\n"):
        assert text in page, text
    assert "one intensity" not in page
    for location in ("FRA", "POL"):
        result = place.run("run", "--record", f"{location}.wattle", "--location", location, "-q", "--root", REPO / "tests" / "fixtures" / "roots" / "xeon-2s-dram", "--", "sleep", "0.3")
        assert result.code == 0, result
    page = place.report("FRA.wattle", "POL.wattle").out
    assert "! CO2e is not at one intensity: " in page or "CO2e" not in page
    assert "one intensity" not in place.report("--location", "FRA", "FRA.wattle", "POL.wattle").out
    assert "one intensity" not in place.report("FRA.wattle", "FRA.wattle").out


def test_means_are_called_means(place):
    result = place.run("run", "--repeat", "3", "--record", "three.wattle", "-q", "--", "sleep", "0.1")
    assert result.code == 0, result
    page = place.report("three.wattle", "busy-thread.wattle", "server.wattle").out
    assert "  [1] three.wattle, mean of 3 runs" in page
    assert "These were not measured by the same sensors" in " ".join(page.split())
    both = place.json("three.wattle", "busy-thread.wattle")
    assert both["recordings"][0]["recording"]["n_runs"] == 3
    time = both["comparison"][0]["values"]
    assert time[0]["uncertainty_s"] > 0 and "uncertainty_s" not in time[1]
    assert time[1]["difference_uncertainty_s"] >= time[0]["uncertainty_s"] and time[1]["is_significant"]
    row = [row for row in place.report("-f", "csv", "three.wattle", "busy-thread.wattle").csv if row["what"] == "time"]
    assert row[0]["uncertainty"] and not row[1]["uncertainty"] and row[1]["difference_uncertainty"]


def test_the_gain_of_a_mean_is_not_that_of_the_last_run(place):
    """Modelled energy is wrong by as much as it is: so is its mean, however little the last run used."""
    result = place.run("run", "--repeat", "3", "--record", "shrinking.wattle", "-q", "--", "sh", "-c",
                       "echo >>n; [ $(wc -l <n) = 3 ] || sleep 0.8")
    assert result.code == 0, result
    runs = place.json("shrinking.wattle")["runs"]
    if any(run["total"].get("method") != "modelled" for run in runs):
        pytest.skip("this machine measures")
    value = next(row for row in place.json("shrinking.wattle", "busy-thread.wattle")["comparison"] if row["what"] == "energy")["values"][0]
    assert value["uncertainty_j"] >= value["value_j"] * 9 / 10


def test_parts_that_meet_between_runs(place):
    """Before a run begins, before the last look at it, which is when it has ended, and at a look while it runs."""
    (place.path / "meet.wattle").unlink(missing_ok=True)
    result = place.run("run", "--repeat", "4", "--record", "meet.wattle", "-q", "--idle-file", "", "--", "sleep", "0.3")
    assert result.code == 0, result
    whole = place.json("--from", "+0", "meet.wattle")
    spans = [(window["begin_mono_ns"] - whole["recording"]["begin_mono_ns"], int(window["duration_s"] * 10 ** 9)) for window in whole["windows"]]
    edges = [edge for begin, duration in spans[1:3] for edge in (begin, begin + duration)]
    for cut_ns in (edge + near for edge in edges for near in (-1000, 0, 1000)):
        cut = f"+{cut_ns / 1e9:.9f}"
        parts = [place.json("--to", cut, "meet.wattle"), place.json("--from", cut, "meet.wattle")]
        assert sum(part["duration_s"] for part in parts) == whole["duration_s"], cut
        if "energy_j" in whole["total"]:
            assert sum(part["total"]["energy_j"] for part in parts) == whole["total"]["energy_j"], cut


def test_runs_in_a_part(place):
    """All runs of a part are measurements; one that began before it is cut."""
    result = place.run("run", "--repeat", "2", "--record", "two.wattle", "-q", "--", "sleep", "1.3")
    assert result.code == 0, result
    whole = place.json("--from", "+0", "two.wattle")
    assert [window["is_main"] for window in whole["windows"]] == [True, True]
    assert not any(window.get("is_cut") for window in whole["windows"])
    begins = [window["begin_mono_ns"] - whole["recording"]["begin_mono_ns"] for window in whole["windows"]]
    late = place.json("--from", f"+{begins[1] / 1e9 + 0.1:.3f}", "two.wattle")
    assert [window["is_main"] for window in late["windows"]] == [True]
    assert late["windows"][0]["is_cut"] and late["windows"][0]["begin_utc"] == late["start_utc"]
    # Here the part goes on behind the run that it cuts.
    both = place.json("--from", f"+{begins[0] / 1e9 + 0.1:.3f}", "two.wattle")
    assert [window["is_main"] for window in both["windows"]] == [True, True]
    assert [window.get("is_cut", False) for window in both["windows"]] == [True, False]


def test_a_commands_full_energy_is_no_surer_than_the_machines(place):
    """It has a part of what was drawn at rest, and of what the sensors err by in that."""
    tape = REPO / "tests" / "fixtures" / "tapes" / "busy-thread.tape"
    place.run("run", "-q", "--tape", tape, "--record", "tape.wattle")
    rows = {row["what"]: row["values"][0] for row in place.json("tape.wattle", "tape.wattle")["comparison"]}
    relative = {what: float(rows[what]["uncertainty_j"]) / float(rows[what]["value_j"]) for what in ("energy", "command, full")}
    assert relative["command, full"] > 0.7 * relative["energy"], relative


def test_a_commands_difference_lacks_what_both_err_by(place):
    """On one machine: as that of the machine's energy, narrower than two independent figures."""
    for name in ("one.wattle", "other.wattle"):
        place.run("run", "-q", "--idle-file", "", "--record", name, "--", "sh", "-c", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done")
    rows = {row["what"]: row["values"] for row in place.json("one.wattle", "other.wattle")["comparison"]}
    for what in ("energy", "command, full"):
        first, other = rows[what]
        assert other["is_same_sensor"], what
        assert other["difference_uncertainty_j"] ** 2 < first["uncertainty_j"] ** 2 + other["uncertainty_j"] ** 2, what
