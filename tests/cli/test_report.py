# SPDX-License-Identifier: MIT
"""wattle report: what a recording holds is what wattle run told live, to the microjoule; parts, groups, several, policies, faults."""

import collections
import os
import random
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import time
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pytest

from conftest import REPO, ROOTS, check_sums, command_path, finish, mover, parse_csv, parse_json, run_wattle, start_wattle, wait_for
from recording import checksum
from test_ledger import check_ledger, counted

MICRO = Decimal("0.000001")
# Some work, and marks: wattle record tells its children where.
WORK = ("i=0; while [ $i -lt 6 ]; do head -c 20000000 /dev/zero | sha256sum >/dev/null; sleep 0.5; i=$((i+1)); done")
MARKS = ("{w} mark begin outer; head -c 50000000 /dev/zero | sha256sum >/dev/null; {w} mark begin 'in ner'; sleep 0.3;"
         " {w} mark end 'in ner'; {w} mark end outer; sleep 1.2")
# What a live report and that of its recording have in common.
SAME = ("exit_status", "exit_signal", "interrupted", "command_energy", "start_utc", "duration_s", "total", "domains", "ledger", "processes", "others", "no_process", "carbon", "notes")
TAPE = REPO / "tests" / "fixtures" / "tapes" / "busy-thread.tape"
GROUPS = ("user", "command", "container", "pod", "unit", "job", "cgroup")


class Files:
    """Where the recordings of these tests are, with state and sockets of their own."""

    def __init__(self, path, sockets):
        self.path = path
        self.env = {"XDG_RUNTIME_DIR": str(sockets), "WATTLE_MARK": None, "XDG_STATE_HOME": str(path / "state"), "TZ": "UTC"}

    def run(self, *args, env=None, **options):
        return run_wattle(*args, env={**self.env, **(env or {})}, cwd=self.path, **options)

    def good(self, *args, **options):
        result = self.run(*args, **options)
        assert result.code == 0, result
        return result

    def report(self, *args, **options):
        return self.good("report", *args, **options)

    def json(self, *args, **options):
        report = self.report("-f", "json", *args, **options).json
        if report["schema"] == "wattle.recording/1":
            check_sums(report)
            for grouping in report["by"].values():
                check_grouping(report, grouping)
        return report


def check_grouping(report, grouping):
    """The groups and what belongs to nobody make the total."""
    parts = [group["full_j"] for group in grouping["groups"]]
    parts += [grouping["others"]["full_j"]] if "others" in grouping else []
    assert sum(parts) + report["no_process"]["full_j"] == report["total"]["energy_j"]
    for group in grouping["groups"]:
        assert group.get("dynamic_j", 0) <= group["full_j"]
        assert group["n_processes"] >= 0  # time that nobody was seen to use is of none
    counted = sum(part["n_processes"] for part in [*grouping["groups"], grouping.get("others", {"n_processes": 0})])
    assert counted == sum(process.get("n_processes", 1) for process in report["processes"]) + report["others"]["n_processes"]
    assert [g["full_j"] for g in grouping["groups"]] == sorted((g["full_j"] for g in grouping["groups"]), reverse=True)


@pytest.fixture(name="files", scope="module")
def files_of_module(tmp_path_factory):
    sockets = tmp_path_factory.mktemp("s")
    return Files(tmp_path_factory.mktemp("recordings"), sockets)


@pytest.fixture(name="work", scope="module")
def recorded_work(files):
    """A recording of some seconds, and what wattle run told of it."""
    live = files.good("run", "--record", "work.wattle", "-f", "json", "--top", "65536", "--", "sh", "-c", WORK)
    return "work.wattle", live.json


@pytest.fixture(name="marked", scope="module")
def recorded_marks(files, wattle_command):
    files.good("record", "-q", "-o", "marked.wattle", "--", "sh", "-c", MARKS.format(w=wattle_command))
    return "marked.wattle"


@pytest.fixture(name="wattle_command", scope="module")
def wattle_path():
    return command_path()


# ---- The same as live ----

def assert_same(live, recorded):
    assert recorded["schema"] == "wattle.recording/1"
    assert recorded["command"] == live["command"]
    # A command that was cut behind a blank is kept without it.
    for process in live.get("processes", []):
        if "command" in process:
            process["command"] = process["command"].strip()
    for was, told in zip(live.get("processes", ()), recorded.get("processes", ())):
        assert told == was
    for key in SAME:
        assert recorded.get(key) == live.get(key), key


def test_this_machine(files, work):
    path, live = work
    recorded = files.json("--top", "65536", path)
    assert_same(live, recorded)
    check_ledger(recorded)
    assert recorded["recording"]["is_whole"] and not recorded["recording"]["is_live"]


# ---- How the command ended ----

ENDS = {
    "well": ("head -c 5000000 /dev/zero | sha256sum >/dev/null", 0, None),
    "badly": ("exit 3", 3, None),
    "killed": ("kill -9 $$", 137, 9),
}


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("options", [(), ("--no-processes",)], ids=["followed", "alone"])
def test_end_of_the_command(files, how, options):
    script, status, number = ENDS[how]
    name = f"end-{how}-{len(options)}.wattle"
    result = files.run("run", *options, "--record", name, "-f", "json", "--", "sh", "-c", script)
    assert result.code == status
    live, told = result.json, files.json(name)
    assert told["exit_status"] == live["exit_status"] == status and told.get("exit_signal") == live.get("exit_signal") == number
    for key in ("cpu_s", "attributed_cpu_s", "max_rss_bytes", "processes"):
        assert told["command_energy"].get(key) == live["command_energy"].get(key), key
    assert told["command_energy"]["max_rss_bytes"] > 100000 and told["command_energy"]["cpu_s"] > 0
    assert told["interrupted"] is False and told["notes"] == live["notes"]
    assert files.report("-f", "csv", name).csv[-1]["exit_status"] == str(status)
    text, words = files.report(name).out, files.report("--replay", name).out
    assert text == words and ("killed by SIGKILL" if number else "exit status 3") in text or status == 0
    assert re.search(r"^  time .*peak\s+memory [\d.]+ MiB", text, re.MULTILINE | re.DOTALL)
    if status == 0:
        assert "\n  ended " not in text


def test_end_of_a_recorded_command(files):
    """wattle record keeps it as well, and exits with it."""
    result = files.run("record", "-q", "-o", "end-record.wattle", "--", "sh", "-c", "exit 7")
    assert result.code == 7
    told = files.json("end-record.wattle")
    assert told["exit_status"] == 7 and told["command_energy"]["cpu_s"] > 0
    part = files.run("report", "-f", "json", "--from", "+0", "end-record.wattle")
    assert part.code == 1 or "exit_status" not in part.json


def test_end_of_each_run(files):
    """Several runs of one command: each has its own."""
    script = "n=$(cat count 2>/dev/null || echo 0); echo $((n+1)) >count; exit $n"
    result = files.run("run", "--repeat", "3", "--record", "ends.wattle", "-f", "json", "--", "sh", "-c", script)
    assert [run["exit_status"] for run in result.json["runs"]] == [0, 1, 2]
    with sqlite3.connect(files.path / "ends.wattle") as database:
        kept = dict(database.execute("SELECT key, value FROM fact WHERE key LIKE 'window.%.exit_status'"))
    assert kept == {f"window.{i + 1}.exit_status": str(i) for i in range(3)}


def no_end(report):
    assert "exit_status" not in report and "max_rss_bytes" not in report["command_energy"]
    notes = [note for note in report["notes"] if note.startswith("how the command ended is not known: ")]
    assert len(notes) == 1
    return notes[0].partition(": ")[2]


def test_no_end_is_known(files):
    """Cut off, still running, stopped before it ended, and of a wattle that did not keep it: each says so."""
    process = start_wattle("record", "-q", "-o", "going.wattle", "--", "sleep", "60", env=files.env, cwd=files.path)
    path = files.path / "going.wattle"
    wait_for(path.exists, "the recording")
    wait_for(lambda: files.run("report", "going.wattle").code == 0, "the first second")
    assert no_end(files.json("going.wattle")) == "it was still running"
    [child] = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
    process.send_signal(signal.SIGKILL)
    os.kill(int(child), signal.SIGKILL)
    finish(process)
    assert no_end(files.json("going.wattle")) == "the recording was cut off before"
    process = start_wattle("record", "-q", "-o", "stopped.wattle", "--", "sleep", "3", env=files.env, cwd=files.path)
    wait_for(lambda: (files.path / "stopped.wattle").exists() and files.run("report", "stopped.wattle").code == 0, "the first second")
    files.good("record", "--stop", "stopped.wattle")
    assert no_end(files.json("stopped.wattle")) == "the recording ended before it did"
    finish(process)
    files.good("run", "--record", "old.wattle", "--", "true")
    with sqlite3.connect(files.path / "old.wattle") as database:
        database.execute("DELETE FROM fact WHERE key LIKE 'window.%'")
    assert no_end(files.json("old.wattle")) == "the wattle that recorded it did not keep that"


def change(path, table, column, value):
    """In the first row, with a checksum that fits."""
    with sqlite3.connect(path) as database:
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        row = dict(zip(columns, database.execute(f"SELECT * FROM {table} ORDER BY 1 LIMIT 1").fetchone()))
        row[column] = value
        database.execute(f"UPDATE {table} SET {column} = ?, crc = ? WHERE {columns[0]} = ?",
                         (value, checksum(tuple(row.values())[:-1]), row[columns[0]]))


@pytest.mark.parametrize("length", [1 << 60, (1 << 60) - 1, 1 << 50, 20 * 10**9], ids=hex)
def test_a_window_that_goes_on_after_the_end(files, length):
    """A report of 36 years, where --check found nothing."""
    shutil.copy(REPO / "tests" / "fixtures" / "recorded" / "busy-thread.wattle", files.path / "long.wattle")
    assert files.run("report", "--check", "long.wattle").code == 0
    change(files.path / "long.wattle", "window", "duration_ns", length)
    told = "its windows are not numbered as they should be, or go on after its end"
    assert files.run("report", "--check", "long.wattle").out == f"long.wattle: {told}\n"
    for words in (("report",), ("report", "--replay"), ("export",), ("plot", "--format", "svg", "-o", "p.svg")):
        result = files.run(*words, "long.wattle")
        assert result.code == 1 and told in result.complaint(), result


def test_check_of_a_file_with_holes(files):
    """SQLite counts the uses of each page, of which a file with holes can have any number: it took 500 MB."""
    path = files.path / "holes.wattle"
    shutil.copy(REPO / "tests" / "fixtures" / "recorded" / "busy-thread.wattle", path)
    size = 1 << 43
    try:
        os.truncate(path, size)
    except OSError:
        pytest.skip("this file system has no such large files")
    with open(path, "r+b") as file:
        file.seek(28)  # the size in pages (SQLite's file format, 1.3)
        file.write(struct.pack(">I", size >> 12))
    script = "import resource, subprocess, sys; code = subprocess.call(sys.argv[1:]); print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    done = subprocess.run([sys.executable, "-c", script, command_path(), "report", "--check", path], capture_output=True, text=True, check=True)
    line, end = done.stdout.splitlines()
    code, kib = map(int, end.split())
    assert code == 1 and line == f"{path}: structure: it has {size >> 12} pages, 1 TiB or more: too many to check"
    assert kib < 150_000  # 256 MiB would be its bits alone


@pytest.mark.parametrize("value", ["-1", "256", "", "3x", "9999999999999999999999", "x"])
def test_end_that_is_none(files, value):
    """What is no exit status is not told as one."""
    files.run("run", "--record", f"none{value.strip()}.wattle", "--", "true")
    name = f"none{value.strip()}.wattle"
    with sqlite3.connect(files.path / name) as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(fact)")]
        row = ("window.1.exit_status", value)
        assert columns == ["key", "value", "crc"]
        database.execute("UPDATE fact SET value = ?, crc = ? WHERE key = ?", (value, checksum(row), row[0]))
    assert no_end(files.json(name))


def test_the_place_is_kept(files):
    """Where the electricity came from, unless something else is said now."""
    live = files.good("run", "--location", "FRA", "--pue", "1.3", "--record", "place.wattle", "-f", "json", "--", "sleep", "0.2").json
    told = files.json("place.wattle")
    assert told["carbon"] == live["carbon"] and told["carbon"]["location"] == "FRA" and told["recording"]["location"] == "FRA"
    other = files.json("--location", "DEU", "--pue", "1.1", "place.wattle")["carbon"]
    assert other["location"] == "DEU" and other["pue"] == Decimal("1.100")


def test_summary_is_what_going_by_it_gives(files, work, marked):
    for path in (work[0], marked):
        for options in ((), ("-f", "json"), ("-f", "csv"), ("--by", "user"), ("--by", "process", "-f", "csv"),
                        ("--by", "window", "-f", "csv"), ("--top", "3", "-v"), ("--location", "FRA", "--pue", "1.2")):
            told = files.report(*options, path)
            assert told.out_bytes == files.report("--replay", *options, path).out_bytes, options
            assert told.out and told.err == ""


@pytest.mark.parametrize("root", ["client-psys", "xeon-2s-dram", "amd-epyc", "grace", "laptop-battery", "vm-nothing", "eacces"])
def test_other_machines(files, machine, root):
    copy = machine(root)
    name = f"{root}.wattle"
    zone = copy.zone("intel-rapl:0")
    steps = ["add", zone, 5000000, "sleep", 0.3, "add", zone, 2000000] if zone.exists() and not (copy.path / "wattle-perf").exists() else []
    live = files.good("run", "--root", copy.path, "--record", name, "-f", "json", "--top", "65536", "--",
                      *mover(*steps, "sleep", 1.3)).json
    assert_same(live, files.json("--top", "65536", name))
    assert_same(live, files.json("--replay", "--top", "65536", name))


@pytest.mark.parametrize("script", ["a100", "two", "laptop-power-only", "disagree", "lost"])
def test_gpus(files, gpus, script):
    fake = gpus(script)
    name = f"gpu-{script}.wattle"
    live = files.good("run", *fake.options, "--record", name, "-f", "json", "--top", "65536", "--", "sleep", "2.2", env=fake.env).json
    assert any(domain["kind"] == "gpu" for domain in live["domains"])
    assert_same(live, files.json("--top", "65536", name))
    assert files.report(name).out == files.report("--replay", name).out


WORDS = ("sh", "-c", "printf x >/dev/null\necho\t'a b' \\n é >/dev/null", "it's", "$'\\n'", "", " ", "\x1b[1m\u202e")


@pytest.mark.parametrize("how", [("record", "-q", "-o"), ("run", "-f", "json", "--record")], ids=lambda how: how[0])
def test_words_of_the_command(files, how):
    """They are as they were given, whatever is in them, and whatever a terminal is shown."""
    result = files.good(*how, "words.wattle", "--", *WORDS)
    if how[0] == "run":
        assert result.json["command"] == list(WORDS)
    report = files.report("-f", "json", "words.wattle")
    assert report.json["command"] == list(WORDS) and report.out.isascii()
    text = files.report("words.wattle").out
    assert "\x1b" not in text and "\u202e" not in text and r"printf x >/dev/null\necho\t" in text.splitlines()[0]
    (files.path / "words.wattle").unlink()


def test_words_that_are_no_utf8(files):
    """One U+FFFD a bad byte, live and from the recording."""
    live = files.good("run", "-f", "json", "--record", "bytes.wattle", "--", b"true", b"a\xff\xfeb\n").json
    assert live["command"] == files.json("bytes.wattle")["command"] == ["true", "a\ufffd\ufffdb\n"]


def test_repeated_runs_are_a_series(files):
    live = files.good("run", "--repeat", "3", "--record", "series.wattle", "-f", "json", "--", "sh", "-c",
                      "head -c 5000000 /dev/zero | sha256sum >/dev/null; sleep 0.2").json
    series = files.report("-f", "json", "series.wattle").json
    assert series["schema"] == "wattle.runs/1"
    assert [run["run"] for run in series["runs"]] == [1, 2, 3]
    for run, of in zip(series["runs"], live["runs"]):
        for key in ("start_utc", "duration_s", "total", "domains", "ledger", "carbon"):
            assert run[key] == of[key], key
        rate = run["carbon"]["gco2e"] / run["duration_s"]
        assert abs(run["gco2e_per_s"] - rate) < Decimal("0.00000001")
    for key in ("duration_s", "energy_j", "gco2e", "command_full_j"):
        assert series["statistics"][key] == live["statistics"][key], key
    text = files.report("series.wattle").out
    assert text.startswith("wattle: 3 runs in series.wattle: ") and "rate [" in text and "run by run" in text
    by = files.run("report", "--by", "user", "series.wattle")
    assert by.code == 1 and by.out == "" and "--by is of one run: 'series.wattle' holds 3" in by.complaint()
    rows = files.report("-f", "csv", "series.wattle").csv
    assert [row["run"] for row in rows] == ["1", "2", "3"]
    assert [Decimal(row["energy_j"]) for row in rows] == [run["total"]["energy_j"] for run in series["runs"]]
    # Of several files, in the order in which they began.
    both = files.report("--series", "-f", "json", "series.wattle", "series.wattle").json
    assert [run["run"] for run in both["runs"]] == [1, 1, 2, 2, 3, 3]


def test_repeated_runs_where_nobody_was_followed(files, machine):
    """Each run is told, as it was live: no accounts say where one ends."""
    copy = machine("xeon-2s-dram")
    counter = next((copy.path / "wattle-perf").glob("18-2-0"))
    live = files.good("run", "--no-processes", "--root", copy.path, "--repeat", "3", "--record", "alone3.wattle", "-f", "json", "--",
                      *mover("sleep", "0.1", "add", counter, 3 * 2 ** 32, "sleep", "0.3")).json
    told = files.report("-f", "json", "alone3.wattle").json
    assert told["schema"] == "wattle.runs/1" and len(told["runs"]) == 3
    for run, of in zip(told["runs"], live["runs"]):
        for key in ("start_utc", "duration_s", "total", "domains", "carbon"):
            assert run[key] == of[key], key
        assert run["total"]["energy_j"] > 0
    part = files.json("--from", "+0.5", "alone3.wattle")
    assert Decimal(0) < part["total"]["energy_j"] < sum(run["total"]["energy_j"] for run in live["runs"])


# ---- Parts ----

def test_parts_make_the_whole(files, work):
    path, live = work
    parts = [files.json("--to", "+1", path), files.json("--from", "+1", "--to", "+2", path), files.json("--from", "+2", path)]
    names = {d["name"] for d in live["domains"] if "energy_j" in d}
    for name in names:
        sums = [d["energy_j"] for part in parts for d in part["domains"] if d["name"] == name]
        whole = [d["energy_j"] for d in live["domains"] if d["name"] == name][0]
        assert abs(sum(sums) - whole) <= 4 * MICRO, name
    for part in parts:
        assert part["recording"]["is_part"] and part["duration_s"] < live["duration_s"]
        assert part["total"]["gap_s"] == 0
    assert abs(sum(part["duration_s"] for part in parts) - live["duration_s"]) < Decimal("0.2")


def test_parts_between_marks(files, wattle_command):
    """A window that begins between two looks is no place to cut: parts that meet there still add up."""
    script = "sleep 1.3; {w} mark begin a; sleep 0.1; {w} mark end a; head -c 20000000 /dev/zero | sha256sum; sleep 1.2".format(w=wattle_command)
    files.good("record", "-q", "-o", "between.wattle", "--", "sh", "-c", script)
    whole = files.json("between.wattle")
    parts = [files.json("--to", "+1.1", "between.wattle"), files.json("--from", "+1.1", "between.wattle")]
    assert abs(sum(part["duration_s"] for part in parts) - whole["duration_s"]) < Decimal("0.01")
    assert abs(sum(part["total"]["energy_j"] for part in parts) - whole["total"]["energy_j"]) <= 4 * MICRO


def energies(rows, name):
    """By process, or by name."""
    sums = collections.Counter()
    for row in rows:
        sums[row.get("pid"), row.get("name")] += row.get(name, 0)
    return sums


def test_parts_over_several_runs(files):
    """Each run's accounts began anew: a part with several runs in it has what all of them used."""
    live = files.good("run", "--repeat", "3", "--record", "spans.wattle", "-f", "json", "--idle-file", "", "--top", "65536", "--", "sh", "-c",
                      "for i in 1 2 3 4 5; do head -c 9000000 /dev/zero | sha256sum >/dev/null; done; sleep 0.3").json["runs"]
    begins = [datetime.fromisoformat(run["start_utc"][:-1]) for run in live]
    cut = f"+{(begins[1] - begins[0]).total_seconds() + 0.1:.3f}"
    whole, *parts = [files.json(*bounds, "--top", "65536", "spans.wattle") for bounds in (("--from", "+0"), ("--to", cut), ("--from", cut))]
    assert parts[0]["duration_s"] > live[0]["duration_s"] and parts[1]["duration_s"] > live[2]["duration_s"]
    assert energies([domain for part in parts for domain in part["domains"]], "energy_j") == energies(whole["domains"], "energy_j")
    # Each look's energy is cut to whole microjoules, of what a part had used until then.
    told, of_all = energies([user for part in parts for user in part["processes"]], "full_j"), energies(whole["processes"], "full_j")
    assert all(abs(told[who] - of_all[who]) <= 100 * MICRO for who in told | of_all), (told - of_all, of_all - told)
    # The command's is that of all its runs, and what it still used between them.
    commands = [report["command_energy"]["full_j"] for report in (whole, *parts)]
    assert abs(sum(commands[1:]) - commands[0]) <= 100 * MICRO
    assert commands[0] >= sum(run["command_energy"]["full_j"] for run in live) - 100 * MICRO > 0
    assert whole["command_energy"]["attributed_cpu_s"] >= sum(run["command_energy"]["attributed_cpu_s"] for run in live)
    for account in ("kernel_j", "unattributed_j"):
        of_whole, *of_parts = [sum(line.get(account, 0) for line in report["ledger"]) for report in (whole, *parts)]
        assert abs(sum(of_parts) - of_whole) <= 100 * MICRO, account


@pytest.fixture(name="alone", scope="module")
def recorded_alone(files):
    """Twelve seconds in which nobody was followed."""
    files.good("record", "-q", "--tape", TAPE, "--no-processes", "-o", "alone.wattle")
    return "alone.wattle"


def test_parts_where_nobody_was_followed(files, alone):
    whole = files.json(alone)
    bounds = ("+3", "+3.05", "+7.77")
    parts = [files.json(*options, alone) for options in
             (("--to", bounds[0]), *(("--from", a, "--to", b) for a, b in zip(bounds, bounds[1:])), ("--from", bounds[-1]))]
    for n, domain in enumerate(whole["domains"]):
        assert sum(part["domains"][n]["energy_j"] for part in parts) == domain["energy_j"] > 0
        assert all(0 < part["domains"][n]["uncertainty_j"] < domain["uncertainty_j"] for part in parts)
    assert sum(part["duration_s"] for part in parts) == whole["duration_s"]
    for part in parts:
        assert part["recording"]["is_part"] and part["processes_reason"] == "processes were not followed (--no-processes)"
    text = files.report("--from", "+3", "--to", "+7.77", alone).out
    assert re.search(r"^  time    4\.\d+ s, .* of 12\.02 s$", text, re.MULTILINE) and "±" in text
    rows = files.report("--from", "+3", "-f", "csv", alone).csv
    total = [row for row in rows if row["domain"] == "total"][0]
    assert Decimal(total["energy_j"]) == sum(part["total"]["energy_j"] for part in parts[1:])


def test_parts_between_two_looks(files):
    result = files.run("report", "--from", "+3.2", "--to", "+3.3", REPO / "tests" / "fixtures" / "recorded" / "busy-thread.wattle")
    assert result.code == 1 and result.out == ""
    assert "there is nothing in this part: who used energy is looked at about once a second" in result.complaint()


def test_the_measurement_is_no_marked_window(files, alone):
    window, = files.json(alone)["windows"]
    assert window["is_main"]
    assert "\nwindow " not in files.report(alone).out


@pytest.mark.parametrize("options", [("--from", "+3.04", "--to", "+3.05"), ("--from", "+3.05", "--to", "+3.06")])
def test_parts_between_two_samples(files, alone, options):
    result = files.run("report", *options, alone)
    assert result.code == 1 and result.out == ""
    assert "there is nothing in this part: it lies between two samples" in result.complaint()


@pytest.mark.parametrize("by", ["process", *GROUPS])
def test_nobody_to_put_together(files, alone, by):
    for options in ((), ("--from", "+3", "-f", "json"), ("--replay", "-f", "csv")):
        result = files.run("report", "--by", by, *options, alone)
        assert result.code == 1 and result.out == ""
        assert f"{alone}: --by {by}: nobody was followed when it was recorded" in result.complaint()


def test_windows_where_nobody_was_followed(files, alone):
    rows = files.report("--by", "window", "-f", "csv", "--from", "+3", alone).csv
    assert {row["name"] for row in rows} == {"recording"} and rows[0]["is_main"] == "true"


def test_other_commands_where_nobody_was_followed(files, alone):
    files.good("plot", "--from", "+3", "--to", "+8", "-o", "alone.svg", alone)
    result = files.run("plot", "--what", "processes", "-o", "nobody.svg", alone)
    assert result.code == 1 and "alone.wattle" in result.complaint() and not (files.path / "nobody.svg").exists()
    assert files.good("export", "--what", "processes", alone).csv == []
    power = files.good("export", "--what", "power", alone).csv
    whole = {domain["name"]: domain["energy_j"] for domain in files.json(alone)["domains"]}
    for name, energy_j in whole.items():
        last = [row for row in power if row["domain"] == name][-1]
        # The table begins with the first reading, the measurement some milliseconds later.
        assert energy_j <= Decimal(last["energy_j"]) < energy_j * Decimal("1.01")
    screen = files.good("top", "--replay", alone, "--once", "--at", "+3").out
    assert "package-0" in screen and "no process was recorded" in screen


def test_parts_by_the_clock(files, work):
    path, live = work
    begin = live["start_utc"]
    assert files.json("--from", begin[:-1] + "Z", path)["duration_s"] > 1
    # The same wall, by its name and by the zone of this machine.
    at = begin[:19].replace("T", " ")
    assert files.json("--to", "+2", path)["start_utc"] == files.json("--from", at, "--to", "+2", path)["start_utc"]
    assert files.json("--from", begin[11:19], "--to", "+2", path)["start_utc"] == files.json("--to", "+2", path)["start_utc"]


# ---- A clock that was set, and a machine that slept ----

SLEPT_S, BACK_S = 3600, 7200


def edited_tape(path):
    """The machine sleeps for an hour three seconds after the start, and three seconds later the clock is set back by two."""
    lines = TAPE.read_text(encoding="utf-8").splitlines()
    first = None
    for n, line in enumerate(lines):
        if not line.startswith("@ "):
            continue
        mono, boot, utc = map(int, line[2:].split())
        first = first or mono
        slept, back = mono - first > 3 * 10 ** 9, mono - first > 6 * 10 ** 9
        lines[n] = f"@ {mono} {boot + slept * SLEPT_S * 10 ** 9} {utc + (slept * SLEPT_S - back * BACK_S) * 10 ** 9}"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(name="stepped", scope="module")
def recorded_steps(files):
    files.good("record", "-q", "--tape", edited_tape(files.path / "stepped.tape"), "-o", "stepped.wattle")
    return "stepped.wattle"


def shown(report, since_s):
    """What the clock showed then."""
    return seconds(report["recording"]["begin_utc"]) + since_s + (since_s > 3) * SLEPT_S - (since_s > 6) * BACK_S


def test_one_clock(files, stepped):
    """Each moment has one time, wherever it is told."""
    report = files.json(stepped)
    begin_ns = report["recording"]["begin_mono_ns"]
    gaps = {gap["kind"]: gap for gap in report["gaps"]}
    rows = {row["kind"]: row for row in files.good("export", "--what", "gaps", stepped).csv}
    assert set(gaps) == set(rows) == {"suspend", "clock-step"}
    for kind, gap in gaps.items():
        assert gap["begin_utc"] == rows[kind]["begin_utc"]
        since_s = (int(rows[kind]["begin_mono_ns"]) - begin_ns) / 1e9
        # It went to sleep when the clock had not gone on yet.
        assert abs(seconds(gap["begin_utc"]) - shown(report, since_s - 0.1 * (kind == "suspend"))) < 0.2, kind
    power = files.good("export", "--what", "power", stepped).csv
    assert len(power) > 100
    for row in power:
        since_s = (int(row["t_mono_ns"]) - begin_ns) / 1e9
        # That the clock was set is seen once a second.
        if not 5.9 < since_s < 7.2:
            assert abs(seconds(row["t_utc"]) - shown(report, since_s)) < 0.2, row


@pytest.mark.parametrize("since_s", [1.5, 4.6, 8.5])
def test_parts_by_a_clock_that_was_set(files, stepped, since_s):
    whole = files.json(stepped)
    at = datetime.fromtimestamp(shown(whole, since_s), timezone.utc)
    expected = files.json("--from", f"+{since_s}", stepped)
    for text in (f"{at:%Y-%m-%dT%H:%M:%S.%f}Z", f"{at:%Y-%m-%d %H:%M:%S.%f}", f"{at:%H:%M:%S.%f}"):
        part = files.json("--from", text, stepped)
        assert part["duration_s"] == expected["duration_s"] and part["total"] == expected["total"], text
        assert part["start_utc"] == expected["start_utc"]
    assert abs(seconds(expected["start_utc"]) - shown(whole, float(whole["duration_s"] - expected["duration_s"]))) < 1.3


def test_parts_by_times_that_were_not_shown(files, stepped):
    whole = files.json(stepped)
    begin = datetime.fromtimestamp(shown(whole, 0), timezone.utc)
    asleep = files.json("--from", f"{begin + timedelta(seconds=1000):%Y-%m-%dT%H:%M:%SZ}", stepped)
    assert asleep["duration_s"] == files.json("--from", "+3.1", stepped)["duration_s"], "where it went on"
    result = files.run("report", "--from", f"{begin + timedelta(seconds=9000):%Y-%m-%dT%H:%M:%SZ}", stepped)
    assert result.code == 1 and result.complaint().endswith(", and the clock was set back meanwhile")
    result = files.run("report", "--to", f"{begin - timedelta(seconds=9000):%Y-%m-%dT%H:%M:%SZ}", stepped)
    assert result.code == 1 and "--to is before its start" in result.complaint()


# ---- The same elsewhere ----

def test_top_is_the_report(files):
    """At the end: idle power, and who used what."""
    path = REPO / "tests" / "fixtures" / "recorded" / "busy-thread.wattle"
    report = files.json(path)
    screen = files.good("top", "--replay", path, "--once").out
    for domain in report["domains"]:
        if "idle" in domain:
            assert re.search(rf"^ {domain['name']} .* {float(domain['idle']['power_w']):.1f} ", screen, re.MULTILINE), (domain, screen)
    busy = max(report["processes"], key=lambda process: process["dynamic_j"])
    told = re.search(rf"^ +{busy['pid']} .* ([\d.]+) J ", screen, re.MULTILINE)
    assert abs(Decimal(told[1]) - busy["dynamic_j"]) <= Decimal("0.5")
    assert "recording took 0.0 %" in screen


@pytest.mark.parametrize("options,words", [
    (("--from", "+1h"), "--from is after its end: the recording goes from 20"),
    (("--to", "2020-01-01"), "--to is before its start: the recording goes from 20"),
])
def test_parts_that_are_not_there(files, work, options, words):
    result = files.run("report", *options, work[0])
    assert result.code == 1 and result.out == ""
    assert words in result.complaint()


@pytest.mark.parametrize("options,words", [
    ((), "which recording?"),
    (("--from", "noon", "x"), "--from takes a time such as"),
    (("--to", "24:61", "x"), "--to takes a time such as"),
    (("--by", "colour", "x"), "--by takes process, user, command, container, pod, unit, job, cgroup or window, not 'colour'"),
    (("--policy", "idle=maybe", "x"), "--policy takes idle=recorded"),
    (("--policy", "", "x"), "--policy takes idle=recorded"),
    (("--policy", "idle=foo:1e9", "x"), "--policy 'idle=foo:1e9': watts are a number up to 1000000 such as 74.05, not '1e9'"),
    (("--policy", "weight=cycles,idle=foo:", "x"), "--policy 'idle=foo:': watts are"),
    (("--policy", "idle=foo:1000001,idle=none", "x"), "such as 74.05, not '1000001'"),
    (("--policy", "idle=:5", "x"), "--policy takes idle=recorded"),
    (("--policy", "idle=none,idle=learned", "x"), "--policy: 'idle=learned' is of what another word before it has said already"),
    (("--policy", "idle=none,idle=none", "x"), "--policy: 'idle=none' is of"),
    (("--policy", "idle=package-0:50,idle=package-1:50,idle=package-0:60", "x"), "--policy: 'idle=package-0:60' is of"),
    (("--policy", "weight=cycles,idle=none,weight=cpu-time", "x"), "--policy: 'weight=cpu-time' is of"),
    (("--from", "+5", "--to", "+3", "x"), "--to is not after --from"),
    (("--from", "3", "--to", "+3", "x"), "--to is not after --from"),
    (("--from", "2026-11-21T14:00Z", "--to", "2026-11-21T14:00Z", "x"), "--to is not after --from"),
    (("--by", "window", "--top", "1", "x"), "--by window tells all windows: --top has no use"),
    (("--check", "-o", "y", "x"), "--check only says what is damaged or missing: --output has no use"),
    (("--check", "--format", "json", "x"), "--check only says what is damaged or missing: --format has no use"),
    (("--check", "--intensity", "y", "x"), "damaged or missing: --intensity has no use"),
    (("--check", "--by", "user", "x"), "damaged or missing: --by has no use"),
    (("--check", "--top", "10", "x"), "damaged or missing: --top has no use"),
    (("--check", "--from", "+1", "x"), "damaged or missing: --from has no use"),
    (("--check", "--to", "+1", "x"), "damaged or missing: --to has no use"),
    (("--check", "--policy", "idle=none", "x"), "damaged or missing: --policy has no use"),
    (("--check", "--series", "x"), "damaged or missing: --series has no use"),
    (("--check", "--replay", "x"), "damaged or missing: --replay has no use"),
    (("--check", "--location", "FRA", "x"), "damaged or missing: --location has no use"),
    (("--check", "--pue", "1.2", "x"), "damaged or missing: --pue has no use"),
    (("--series", "--from", "+1", "x"), "--series tells whole runs"),
    (("--series", "--by", "user", "x"), "exclude each other"),
    (("--by", "user", "x", "y"), "--by is of one recording"),
    (("--intensity", "x", "--location", "FRA", "x"), "exclude each other"),
    (("--top", "many", "x"), "--top takes a whole number"),
    (("--frm", "+1", "x"), "unknown option"),
])
def test_bad_options(files, options, words):
    result = files.run("report", *options)
    assert result.code == 2 and result.out == ""
    assert words in result.complaint()


# ---- Groups and windows ----

@pytest.mark.parametrize("by", GROUPS)
def test_groups(files, work, by):
    path, live = work
    report = files.json("--by", by, "--top", "65536", path)
    assert len(report["by"]) == 1
    grouping = next(iter(report["by"].values()))
    assert all(by in group for group in grouping["groups"]) and "others" not in grouping
    assert sum(group["n_processes"] for group in grouping["groups"]) >= len(live["processes"])
    rows = files.report("--by", by, "-f", "csv", path).csv
    assert sum(Decimal(row["full_j"]) for row in rows) == report["total"]["energy_j"]
    assert {row["by"] for row in rows} == {by}
    text = files.report("--by", by, path).out
    assert re.search(rf"^{by} +processes", text, re.MULTILINE) and "\ntotal" in text
    few = files.json("--by", by, "--top", "1", path)
    assert len(next(iter(few["by"].values()))["groups"]) == 1


def test_users_without_a_name(files):
    """They have a number, as in an export and a picture."""
    files.good("record", "-q", "-o", "numbers.wattle", "--tape", TAPE)
    with sqlite3.connect(files.path / "numbers.wattle") as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(consumer)")]
        assert columns[-1] == "crc"
        for row in database.execute("SELECT * FROM consumer").fetchall():
            unnamed = tuple("" if column == "user" else value for column, value in zip(columns, row[:-1]))
            database.execute(f"UPDATE consumer SET user = '', crc = ? WHERE {columns[0]} = ?", (checksum(unnamed), row[0]))
    groups = files.json("--by", "user", "numbers.wattle")["by"]["users"]["groups"]
    assert [group["user"] for group in groups] == ["1000", "0"]
    assert "not known" not in files.report("--by", "user", "numbers.wattle").out


def test_groups_are_their_processes(files, work):
    path, live = work
    users = files.json("--top", "65536", path)["by"]["users"]["groups"]
    for user in users:
        own = [p for p in live["processes"] if p.get("user") == user["user"]]
        if user["user"] is not None:
            assert sum(p["full_j"] for p in own) == user["full_j"]
            assert sum(p.get("dynamic_j", 0) for p in own) == user.get("dynamic_j", 0)


def test_windows(files, marked):
    report = files.json(marked)
    windows = {window["name"]: window for window in report["windows"]}
    assert set(windows) == {"recording", "outer", "in ner"}
    assert windows["recording"]["is_main"] and not windows["outer"]["is_main"]
    assert windows["recording"]["total"]["energy_j"] == report["total"]["energy_j"]
    assert windows["in ner"]["total"]["energy_j"] <= windows["outer"]["total"]["energy_j"] < report["total"]["energy_j"]
    for window in windows.values():
        in_total = {d["name"] for d in report["domains"] if d["in_total"]}
        assert sum(d["energy_j"] for d in window["domains"] if d["name"] in in_total) == window["total"]["energy_j"]
        assert not window["is_open"] and window["gco2e"] >= 0
    text = files.report(marked).out
    assert re.search(r"^window +began +time", text, re.MULTILINE)
    assert re.search(r"^in ner +\d\d:\d\d:\d\d +0\.\d+ ", text, re.MULTILINE)
    assert not re.search(r"^recording +\d\d:", text, re.MULTILINE)
    rows = files.report("--by", "window", "-f", "csv", marked).csv
    totals = {row["name"]: Decimal(row["energy_j"]) for row in rows if row["domain"] == "total"}
    assert totals == {name: window["total"]["energy_j"] for name, window in windows.items()}


def test_windows_between(files, marked):
    """A part tells the windows that lie in it, or reach into it."""
    windows = {w["name"]: w for w in files.json(marked)["windows"]}
    ends = {name: seconds(w["begin_utc"]) + float(w["duration_s"]) for name, w in windows.items()}
    late = files.json("--from", "+1", marked)
    names = [w["name"] for w in late["windows"]]
    assert "recording" in names
    for name, end in ends.items():
        if end < seconds(late["start_utc"]) - 0.2:
            assert name not in names
    early = files.json("--to", "+1", marked)
    assert [w["name"] for w in early["windows"]][0] == "recording" and early["windows"][0]["is_open"]


@pytest.mark.parametrize("options", [("--from", "+1"), ("--to", "+1"), ("--from", "+0.9", "--to", "+2.1")])
def test_windows_are_the_parts(files, work, options):
    """What was measured all the time is told of for the part, as its head tells it."""
    report = files.json(*options, work[0])
    window, = report["windows"]
    for key in ("duration_s", "total"):
        assert window[key] == report[key], key
    assert window["is_main"] and window["gco2e"] == report["carbon"]["gco2e"]
    assert window.get("is_cut", False) == (options[0] == "--from") and window["begin_utc"] == report["start_utc"]
    energies = {domain["name"]: domain["energy_j"] for domain in report["domains"] if "energy_j" in domain}
    assert {domain["name"]: domain["energy_j"] for domain in window["domains"]} == energies


def seconds(utc_text):
    return datetime.fromisoformat(utc_text[:-1]).replace(tzinfo=timezone.utc).timestamp()


# ---- Several ----

def test_side_by_side(files, work, marked):
    one, other = files.json(work[0]), files.json(marked)
    both = files.report("-f", "json", work[0], marked).json
    assert both["schema"] == "wattle.comparison/1"
    assert [r["recording"]["file"] for r in both["recordings"]] == [work[0], marked]
    rows = {row["what"]: row for row in both["comparison"]}
    energy = rows["energy"]["values"]
    assert [value["value_j"] for value in energy] == [one["total"]["energy_j"], other["total"]["energy_j"]]
    assert energy[1]["difference_j"] == other["total"]["energy_j"] - one["total"]["energy_j"]
    assert "difference_j" not in energy[0]
    assert energy[1]["is_same_sensor"] is True
    assert abs(rows["time"]["values"][1]["difference_s"] - (other["duration_s"] - one["duration_s"])) <= 2 * MICRO
    for domain in one["domains"]:
        assert rows[domain["name"]]["is_domain"]
    for row in both["comparison"]:
        for value in row["values"][1:]:
            unit = next(key for key in value if key.startswith("value_"))[6:]
            if f"difference_uncertainty_{unit}" in value:
                # Never more than two independent errors would make.
                apart = (value[f"uncertainty_{unit}"] ** 2 + row["values"][0][f"uncertainty_{unit}"] ** 2).sqrt()
                assert value[f"difference_uncertainty_{unit}"] <= apart + 2 * MICRO
                assert value["is_significant"] == (abs(value[f"difference_{unit}"]) > value[f"difference_uncertainty_{unit}"])
    text = files.report(work[0], marked).out
    assert text.startswith("wattle: 2 recordings side by side\n") and "difference" in text
    csv = files.report("-f", "csv", work[0], marked).csv
    assert {row["recording"] for row in csv} == {"1", "2"}
    assert Decimal([r for r in csv if r["what"] == "energy" and r["recording"] == "2"][0]["difference"]) == energy[1]["difference_j"]


def test_what_tells_recordings_apart_is_not_cut_off(tmp_path):
    paths = [tmp_path / f"{'experiments-of-one-kind-' * 3}{n}.wattle" for n in (1, 2)]
    for path in paths:
        run_wattle("run", "-q", "--root", ROOTS / "vm-nothing", "--record", path, "--", "sh", "-c", f"true # {'many words ' * 9}{path.stem[-1]}")
    lines = run_wattle("report", *paths).out.splitlines()[2:4]
    for n, line in enumerate(lines, 1):
        assert f"-{n}.wattle, " in line and line.endswith(f"words {n}'") and len(line) <= 80, lines


def test_a_recording_beside_itself(files, work):
    for row in files.report("-f", "json", work[0], work[0], work[0]).json["comparison"]:
        for value in row["values"][1:]:
            differences = [v for k, v in value.items() if k.startswith("difference_") and "uncertainty" not in k]
            assert all(d == 0 for d in differences)
            assert not value.get("is_significant")


# ---- Policies ----

def test_no_idle_power(files, work):
    report = files.json("--policy", "idle=none", "--top", "65536", work[0])
    check_ledger(report)
    assert all(line["idle_j"] == 0 for line in counted(report))
    for process in report["processes"]:
        assert process["dynamic_j"] == process["full_j"]
    assert report["policy"]["idle"] == "none"
    assert all(d["idle_method"] == "given" and d["idle_w"] == 0 for d in report["domains"] if "energy_j" in d)


def test_given_idle_power(files, work):
    path, live = work
    name = next(d["name"] for d in live["domains"] if d.get("energy_j") and d["in_total"])
    low, high = (files.json("--policy", f"idle={name}:{watts}", "--top", "65536", path) for watts in ("0.5", "1"))
    for report, watts in ((low, Decimal("0.5")), (high, Decimal(1))):
        check_ledger(report)
        domain = next(d for d in report["domains"] if d["name"] == name)
        assert domain["idle_w"] == watts and domain["idle_method"] == "given"
        idle = next(line["idle_j"] for line in report["ledger"] if line["domain"] == name)
        assert 0 < idle <= watts * domain["measured_s"] + Decimal("0.001")
        assert report["policy"]["idle_given"] == [f"{name}: {'0.5' if watts < 1 else '1'} W"]
    assert "policy" in files.report("--policy", f"idle={name}:1", path).out
    # What was measured stays what it was.
    assert low["total"] == high["total"] == live["total"]


def test_policies_that_cannot_be(files, work):
    result = files.run("report", "--policy", "idle=gpu-77:5", work[0])
    assert result.code == 1 and "has no domain 'gpu-77'" in result.complaint()
    result = files.run("report", "--policy", "weight=instructions", work[0])
    assert result.code == 1 and "weighed by learned" in result.complaint()
    for weight in ("cpu-time", "learned", "smoothed"):
        assert files.json("--policy", f"weight={weight},idle=recorded", work[0])["total"] == work[1]["total"]


# ---- Carbon ----

def test_constant_intensity(files, work):
    (files.path / "flat.csv").write_text("2000-01-01T00:00Z,56.04\n")
    by_file = files.json("--intensity", "flat.csv", work[0])["carbon"]
    by_number = files.json("--location", "56.04", work[0])["carbon"]
    assert abs(by_file["gco2e"] - by_number["gco2e"]) <= MICRO
    assert by_file["intensity_g_per_kwh"] == by_number["intensity_g_per_kwh"]
    assert by_file["location"] == "time-varying" and by_file["dataset"] == "flat.csv"


def utc(text, later_s):
    at = datetime.fromisoformat(text[:-1]).replace(tzinfo=timezone.utc) + timedelta(seconds=later_s)
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def test_intensity_over_time(files, work):
    path, live = work
    begin = live["start_utc"]
    steps = ((-10, "100"), (1, "300"), (2, ""), (2.5, "200"), (60, "200"))
    (files.path / "grid.csv").write_text("time,g\n" + "".join(f"{utc(begin, at)},{value}\n" for at, value in steps))
    report = files.json("--intensity", "grid.csv", path)
    intensity, carbon = report["intensity"], report["carbon"]
    assert (intensity["min_g_per_kwh"], intensity["max_g_per_kwh"]) == (100, 300)
    assert abs(intensity["missing_s"] - Decimal("0.5")) < Decimal("0.2") and intensity["reason"]
    assert abs(intensity["known_s"] + intensity["missing_s"] - live["duration_s"]) < Decimal("0.2")
    known_j = live["total"]["energy_j"] - intensity["missing_j"]
    assert 100 < carbon["intensity_g_per_kwh"] < 300
    assert abs(carbon["gco2e"] - known_j * carbon["intensity_g_per_kwh"] / Decimal(3600000)) < Decimal("0.00001")
    text = " ".join(files.report("--intensity", "grid.csv", path).out.split())
    assert "(100 to 300 over the time, grid.csv)" in text and "grid.csv does not cover" in text


def test_unknown_emissions_are_not_0(files, work):
    path, live = work
    (files.path / "old.csv").write_text("2020-11-21T12:00Z,100\n2020-11-21T13:00Z,100\n")
    report = files.json("--intensity", "old.csv", "--pue", "2", path)
    assert not {"gco2e", "gco2e_uncertainty", "gco2e_with_pue", "intensity_g_per_kwh"} & set(report["carbon"])
    assert report["carbon"]["reason"] == "no intensity is known for this time"
    assert all("gco2e" not in window and window["gco2e_reason"] for window in report["windows"])
    text = files.report("--intensity", "old.csv", "--pue", "2", path).out
    assert "not known: no intensity is known for this time (old.csv)" in text and "CO2e" not in text
    for by in ((), ("--by", "window")):
        rows = files.report("--intensity", "old.csv", *by, "-f", "csv", path).csv
        assert rows and {row.get("gco2e", "") for row in rows} == {row.get("gco2e_uncertainty", "") for row in rows} == {""}
    series = files.report("--series", "--intensity", "old.csv", path, path).out
    assert "! no CO2e of 2 of 2 runs: no intensity is known for this time" in series


def test_emissions_of_one_of_two(files, work):
    """Side by side with one that the file does not cover: no figure, and no difference."""
    other = REPO / "tests" / "fixtures" / "recorded" / "server.wattle"
    path, live = work
    (files.path / "mine.csv").write_text(f"{utc(live['start_utc'], -10)},100\n{utc(live['start_utc'], 600)},100\n")
    text = files.report("--intensity", "mine.csv", path, other).out
    row = next(line for line in text.splitlines() if line.startswith("CO2e"))
    assert row.split()[-1] == "-" and "%" not in row
    assert "! no CO2e of [2]: no intensity is known for this time" in text
    comparison = files.json("--intensity", "mine.csv", path, other)["comparison"]
    values = next(row for row in comparison if row["what"] == "CO2e")["values"]
    assert "value_gco2e" in values[0] and set(values[1]) == {"reason"}


@pytest.mark.parametrize("text,words", [
    ("time,g\n2026-11-21T14:00Z,56\nlater,57\n", "line 3: this is no time"),
    ("2026-11-21T14:00Z,lots\n", "line 1: the intensity is no number"),
    ("", "it holds no line"),
])
def test_bad_intensity(files, work, text, words):
    (files.path / "bad.csv").write_text(text)
    result = files.run("report", "--intensity", "bad.csv", work[0])
    assert result.code == 1 and words in result.complaint()
    result = files.run("report", "--intensity", "nosuch.csv", work[0])
    assert result.code == 1 and "cannot be read" in result.complaint()


# ---- Recordings that are not as they should be ----

def test_cut_off(files):
    """kill -9: what was written is told, and that it is not all."""
    process = start_wattle("record", "-q", "-o", "cut.wattle", env=files.env, cwd=files.path)
    path = files.path / "cut.wattle"
    wait_for(path.exists, "the recording")
    time.sleep(3.5)
    live = files.json("cut.wattle")
    assert live["recording"]["is_live"] and not live["recording"]["is_whole"]
    assert "it is being recorded" in files.report("cut.wattle").out
    process.send_signal(signal.SIGKILL)
    finish(process)
    cut = files.json("cut.wattle")
    assert not cut["recording"]["is_live"] and not cut["recording"]["is_whole"]
    assert cut["duration_s"] >= live["duration_s"] >= 1
    check_ledger(files.json("--top", "65536", "cut.wattle"))
    assert "the recording was cut off" in files.report("cut.wattle").out
    result = files.run("report", "--check", "cut.wattle")
    assert result.code == 1 and result.out.startswith("cut.wattle: ")


def put(files, name, content):
    (files.path / name).write_bytes(content)
    return name


def one_line(files, name):
    result = files.run("report", name)
    assert result.code == 1 and result.out == "", result
    line = result.complaint()
    assert name in line
    assert files.run("export", name).code == 1
    return line


def test_not_a_recording(files):
    assert "not a recording" in one_line(files, put(files, "text", b"start_utc,run\n" * 100))
    assert "not a recording" in one_line(files, put(files, "empty", b""))
    noise = random.Random(1).randbytes(65536)
    assert re.search("encrypted|not a recording", one_line(files, put(files, "noise", noise)))
    assert "No such file" in one_line(files, "nosuch")
    (files.path / "folder").mkdir(exist_ok=True)
    one_line(files, "folder")
    with sqlite3.connect(files.path / "other.db") as database:
        database.execute("CREATE TABLE a(b)")
    assert "not a recording" in one_line(files, "other.db")


def test_without_the_library(files, work, tmp_path):
    """SQLite is the machine's own, and loaded for recordings alone: where it is not there, one line says so."""
    loaded = subprocess.run(["ldd", command_path()], capture_output=True, text=True, check=False).stdout
    if "libc.so" not in loaded or "libsqlite3" in loaded:
        pytest.skip("this build has it linked")
    (tmp_path / "libsqlite3.so.0").write_text("none")
    env = {"LD_LIBRARY_PATH": str(tmp_path)}
    for args in (("report", work[0]), ("report", "--check", work[0]), ("export", work[0]), ("record", "-o", "never.wattle", "--tape", TAPE)):
        result = files.run(*args, env=env)
        assert result.code == 1 and "need libsqlite3.so.0 and libzstd.so.1, which cannot be loaded" in result.complaint()
    assert files.run("run", "--record", "never.wattle", "true", env=env).code == 125
    assert not (files.path / "never.wattle").exists()
    files.good("run", "true", env=env)
    assert "No such file" in files.run("report", "nosuch", env=env).complaint()


def test_of_a_newer_version(files, work):
    shutil.copy(files.path / work[0], files.path / "newer.wattle")
    with sqlite3.connect(files.path / "newer.wattle") as database:
        database.execute("PRAGMA user_version = 99")
    assert "newer" in one_line(files, "newer.wattle")


SCHEMAS = {
    "computed": "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'value TEXT', 'value TEXT AS "
                "(hex(zeroblob(400000000)))') WHERE name = 'fact'",
    "view": "ALTER TABLE gap RENAME TO g; CREATE VIEW gap AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
            "SELECT i AS id, i AS kind, i AS begin_mono_ns, i AS duration_ns, '' AS subject, '' AS text, i AS crc FROM n",
    "virtual": "DROP TABLE gap; CREATE VIRTUAL TABLE gap USING fts5(id, kind, begin_mono_ns, duration_ns, subject, text, crc)",
}


@pytest.mark.parametrize("schema", SCHEMAS)
def test_schema_of_a_stranger(files, work, schema):
    """What SQLite would compute, it is not asked for: by no command."""
    name = f"{schema}.wattle"
    shutil.copy(files.path / work[0], files.path / name)
    database = sqlite3.connect(files.path / name)
    database.executescript(SCHEMAS[schema])
    database.close()
    assert "its tables are not those of a recording" in one_line(files, name)
    for args in (("report", "--check"), ("plot", "-o", "x.svg"), ("top", "--once", "--replay"), ("export",)):
        result = files.run(*args, name)
        assert result.code == 1 and result.out == "" and "its tables are not those of a recording" in result.complaint()


# Values that no recorder writes, with checksums that fit; and some at the bounds, that one could.
EXTREMES = [
    ("recording", "first_period", 2 ** 62), ("recording", "end_mono_ns", 2 ** 60 + 1), ("recording", "max_bytes", -1),
    ("series", "name", "x"), ("series", "id", -1), ("period", "id", 2 ** 40), ("period", "parts", 3), ("period", "end_utc_ns", -2 ** 63),
    ("domain", "id", 2 ** 53), ("domain", "kind", 99), ("domain", "check_channel", 2 ** 31 - 1), ("miss", "reason", None),
    ("channel", "update_ns", 2 ** 58), ("channel", "update_ns", 2 ** 50), ("channel", "update_ns", 2 ** 50 + 1), ("channel", "unit_num", 0),
    ("channel", "unit_num", 2 ** 63 - 1), ("channel", "range", 1), ("channel", "max_uw", -1), ("channel", "domain", ""), ("channel", "id", 4000),
    ("consumer", "id", -2 ** 63), ("consumer", "cpu_ns", 2 ** 60), ("consumer", "cpu_ns", 2 ** 63 - 1), ("consumer", "rss_bytes", 2 ** 62),
    ("consumer", "slot", 65536), ("window", "id", 2 ** 31), ("window", "duration_ns", 2 ** 62), ("window", "begin_utc_ns", 2 ** 62),
    ("energy", "domain", -2 ** 31), ("energy", "energy_uj", 2 ** 63 - 1), ("energy", "energy_uj", b"x"), ("energy", "window", -1),
    ("account", "share_ns", -2 ** 63), ("account", "full_uj", 2 ** 62), ("baseline", "idle_uw", 2 ** 63 - 1), ("baseline", "seen_ns", 2 ** 62),
    ("fact", "value", "1e9"),
]


@pytest.fixture(name="taped", scope="module")
def recorded_tape(files):
    files.good("record", "-q", "-o", "taped.wattle", "--tape", TAPE)
    return files.path / "taped.wattle"


def put_extreme(path, table, column, value):
    """Into the row in the middle."""
    database = sqlite3.connect(path)
    columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    keys = [row[1] for row in database.execute(f"PRAGMA table_info({table})") if row[5]]
    rows = database.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
    row = dict(zip(columns, rows[len(rows) // 2]))
    where = " AND ".join(f"{key} = ?" for key in keys)
    own = tuple(row[key] for key in keys)
    row[column] = value
    row["crc"] = checksum([row[name] for name in columns if name != "crc"])
    database.execute(f"UPDATE {table} SET {column} = ?, crc = ? WHERE {where}", (value, row["crc"], *own))
    database.commit()
    database.close()


@pytest.mark.parametrize("table, column, value", EXTREMES)
def test_all_commands_agree(files, taped, table, column, value):
    """What one of them says is damaged, --check finds; and where that finds something, a report says so, too."""
    shutil.copy(taped, files.path / "extreme.wattle")
    put_extreme(files.path / "extreme.wattle", table, column, value)
    check = files.run("report", "--check", "extreme.wattle")
    assert check.code in (0, 1) and check.err == "" and (check.code == 0) == (check.out == "extreme.wattle: nothing is damaged or missing\n")
    said = {}
    for args in (("report",), ("report", "--replay"), ("export",), ("plot", "-o", "extreme.svg"), ("top", "--once", "--replay")):
        result = files.run(*args, "extreme.wattle")
        assert result.code in (0, 1), result
        assert result.code == 0 or result.complaint()
        said[args] = result.code == 1 or "cannot be read" in result.err + result.out
    assert not any(said.values()) or check.code == 1, said
    assert said["report",] == (check.code == 1), (said, check.out)


def test_truncated(files, work):
    """Every length is a clear line, or a report of what is there."""
    whole = (files.path / work[0]).read_bytes()
    for part in (100, 4096, len(whole) // 4, len(whole) // 2, len(whole) - 4096):
        put(files, "short.wattle", whole[:part])
        result = files.run("report", "--replay", "short.wattle")
        assert result.code in (0, 1) and "Traceback" not in result.err
        if result.code:
            assert result.out == "" and "short.wattle" in result.err
        check = files.run("report", "--check", "short.wattle")
        assert check.code == 1 and (check.out or check.err)


def test_damaged(files, work):
    """Bytes here and there are not what they were: no report is wrong in its sums, and --check names it."""
    whole = bytearray((files.path / work[0]).read_bytes())
    dice = random.Random(7)
    for i in range(12):
        damaged = bytearray(whole)
        at = dice.randrange(4096, len(damaged) - 64)
        damaged[at:at + 64] = dice.randbytes(64)
        put(files, "damaged.wattle", bytes(damaged))
        result = files.run("report", "--replay", "-f", "json", "damaged.wattle")
        assert result.code in (0, 1), result
        if result.code == 0:
            check_sums(result.json)
        else:
            assert result.out == "" and result.err
        assert files.run("report", "--check", "damaged.wattle").code in (0, 1), i


def test_rows_that_are_missing_are_told(files, work):
    path = shutil.copy(files.path / work[0], files.path / "rows.wattle")
    with sqlite3.connect(path) as db:
        db.execute("UPDATE consumer SET crc = crc + 1 WHERE id = (SELECT min(id) FROM consumer)")
    for options in ((), ("--replay",)):
        result = files.report(*options, path)
        assert "some of it cannot be read, and is missing in what is told: wattle report --check says what" in result.err
    assert "missing in what is told" not in files.report(work[0]).err


def test_check_of_a_good_one(files, work):
    result = files.run("report", "--check", work[0])
    assert (result.code, result.out, result.err) == (0, f"{work[0]}: nothing is damaged or missing\n", "")
    result = files.run("report", "--check", work[0], "nosuch")
    assert result.code == 1 and "No such file" in result.err and "nothing is damaged" in result.out


# ---- Where it goes ----

def test_to_a_file(files, work):
    for name in ("a.json", "b.json"):
        files.report("-f", "json", "-o", name, work[0])
    assert (files.path / "a.json").read_bytes() == (files.path / "b.json").read_bytes()
    files.report("-f", "json", "--append", "-o", "lines", work[0])
    files.report("-f", "json", "--append", "-o", "lines", work[0])
    lines = (files.path / "lines").read_text().splitlines()
    assert len(lines) == 2 and parse_json(lines[0]) == parse_json(lines[1])
    result = files.run("report", "-o", "no/such/folder", work[0])
    assert result.code == 1 and "cannot write" in result.complaint()


def test_text(files, work):
    text = files.report(work[0]).out
    assert text.startswith(f"wattle: {work[0]}: sh -c '") and max(map(len, text.splitlines())) <= 80
    for words in ("\n  made    by wattle", "\n  energy ", "\n  command ", "\n  time ", " UTC, peak", "where it went", "recording took"):
        assert words in text, words
    assert "\x1b" not in text
    assert all(ord(c) < 128 for c in files.report("--ascii", work[0]).out)


def test_csv_is_that_of_run(files, work):
    rows = files.report("-f", "csv", work[0]).csv
    total = [row for row in rows if row["domain"] == "total"][0]
    assert Decimal(total["energy_j"]) == work[1]["total"]["energy_j"]
    assert Decimal(total["command_full_j"]) == work[1]["command_energy"]["full_j"]


def test_hostile_names(files, tmp_path):
    """What a process is called does not get out of its cell, its string or its line."""
    evil = tmp_path / "=1+1|cmd\n\x1b[31m\"'"
    shutil.copy("/bin/sleep", evil)
    files.good("record", "-q", "-o", "evil.wattle", "--", "sh", "-c", f'"$0" 1.3; i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done', evil)
    report = files.json("--by", "command", "--top", "65536", "evil.wattle")
    names = [group["command"] for group in report["by"]["commands"]["groups"]]
    assert names
    for options in (("--by", "process"), ("--by", "command"), ("--by", "window"), ()):
        text = files.report(*options, "evil.wattle").out
        assert "\x1b" not in text
        all_of_them = () if "window" in options else ("--top", "65536")
        for row in files.report(*options, "-f", "csv", *all_of_them, "evil.wattle").csv:
            assert not any(value[:1] in ("=", "+", "@") for value in row.values())


def test_parse_csv_is_strict():
    assert parse_csv("a,b\n1,\"x,y\"\n") == [{"a": "1", "b": "x,y"}]
