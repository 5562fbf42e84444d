# SPDX-License-Identifier: MIT
"""--weight: by what the use of processors is divided. On machines whose counters can be had, and on others; the numbers
themselves are held against the truth in test_sim.py."""

import pytest

from conftest import REPO, run_wattle

TAPE = REPO / "tests" / "fixtures" / "tapes" / "busy-thread.tape"
SPIN = ("sh", "-c", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done")


def cpu_weights(report):
    return {domain["weight"] for domain in report["domains"] if domain.get("weight")}


@pytest.mark.parametrize("command, code", [("run", 125), ("top", 2)])
def test_bad_weight(command, code):
    done = run_wattle(command, "--weight", "memory", "--", "true") if command == "run" else run_wattle(
        command, "--once", "--weight", "memory")
    assert done.code == code
    assert done.err == f"wattle: {command}: --weight takes cpu-time, instructions, cycles or learned, not 'memory'\n"


def test_cpu_time_asks_for_nothing():
    done = run_wattle("run", "--weight", "cpu-time", "--fault", "perf:1:EACCES:always", "-f", "json", "--", "true")
    assert done.code == 0 and "--weight" not in done.err
    assert cpu_weights(done.json) <= {"cpu-time"}


@pytest.mark.parametrize("weight", ["instructions", "cycles"])
def test_denied(weight):
    """One line says why, and what to do; the report names what was used instead."""
    done = run_wattle("run", "--weight", weight, "--fault", "perf:1:EACCES:always", "-f", "json", "--", *SPIN)
    assert done.code == 0
    lines = [line for line in done.err.splitlines() if "--weight" in line]
    assert len(lines) == 1 and lines[0].startswith(f"wattle: --weight {weight}: perf_event_open: Permission denied"), done.err
    assert "perf_event_paranoid=1" in lines[0] or "--cap-add PERFMON" in lines[0]
    assert cpu_weights(done.json) <= {"cpu-time"}
    quiet = run_wattle("run", "-q", "--weight", weight, "--fault", "perf:1:EACCES:always", "-o", "/dev/null", "--", "true")
    assert quiet.code == 0 and quiet.err == ""


def test_top_says_it_too():
    done = run_wattle("top", "--once", "--weight", "cycles", "--fault", "perf:1:EACCES:always")
    assert done.code == 0 and done.err.count("--weight cycles: ") == 1


def test_tape_without_counters():
    """One that was recorded without --weight."""
    done = run_wattle("run", "--tape", TAPE, "--weight", "instructions", "-f", "json")
    assert done.code == 0 and "this tape lacks them" in done.err
    assert cpu_weights(done.json) == {"cpu-time"}
    assert done.json["ledger"] == run_wattle("run", "--tape", TAPE, "--weight", "cpu-time", "-f", "json").json["ledger"]


def test_without_processes():
    done = run_wattle("run", "--no-processes", "--weight", "instructions", "-f", "json", "--", "true")
    assert done.code == 0 and "--weight" not in done.err


def test_doctor_says_what_there_is():
    ways = {way["way"]: way for way in run_wattle("doctor", "-f", "json").json["ways"]}
    assert ways["counters"]["is_used"] or ways["counters"]["reason"]
    denied = run_wattle("doctor", "-f", "json", "--fault", "perf:1:EACCES:always").json
    way = {way["way"]: way for way in denied["ways"]}["counters"]
    assert not way["is_used"] and "Permission denied" in way["reason"] and way["remedy"]
