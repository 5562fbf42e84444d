# SPDX-License-Identifier: MIT
"""wattle record and wattle mark: what is recorded, in the foreground and behind it; marks from everywhere."""

import errno
import json
import os
import re
import shlex
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from conftest import clean_env, command_path, finish, run_wattle, start_wattle, wait_for

WINDOW = "recording"


class Place:
    """A directory of a test's own for recordings, and one for their sockets, whose names must be short."""

    def __init__(self, path, sockets):
        self.path, self.runtime = path, sockets
        self.sockets = sockets / "wattle"
        self.env = {"XDG_RUNTIME_DIR": str(sockets), "WATTLE_MARK": None, "XDG_STATE_HOME": str(path / "state")}

    def file(self, name="a.wattle"):
        return self.path / name

    def run(self, *args, env=None, **options):
        return run_wattle(*args, env={**self.env, **(env or {})}, cwd=self.path, **options)

    def start(self, *args, env=None, **options):
        return start_wattle(*args, env={**self.env, **(env or {})}, cwd=self.path, **options)

    def record(self, *args, name="a.wattle", **options):
        return self.run("record", "-o", self.file(name), *args, **options)

    def running(self, *args, name="a.wattle", **options):
        """A recording in the foreground that has begun."""
        process = self.start("record", "-o", self.file(name), *args, **options)
        path = self.sockets / f"record-{process.pid}.sock"
        wait_for(lambda: path.exists() or process.poll() is not None, "the socket")
        wait_for(lambda: process.poll() is not None or str(self.file(name)) in self.run("mark", "list").out,
                 "the recording to answer")
        return process

    def mark(self, *args, **options):
        return self.run("mark", *args, **options)

    def marked(self, *args, **options):
        result = self.mark(*args, **options)
        assert (result.code, result.out, result.err) == (0, "", ""), result

    def rows(self, query, name="a.wattle"):
        with sqlite3.connect(f"file:{self.file(name)}?mode=ro", uri=True) as database:
            return database.execute(query).fetchall()

    def fact(self, key, name="a.wattle"):
        found = self.rows(f"SELECT value FROM fact WHERE key = '{key}'", name)
        return found[0][0] if found else None

    def windows(self, name="a.wattle"):
        """name: (is_open, pid, duration in seconds), by the order of their start."""
        return [(n, bool(is_open), pid, ns / 1e9) for n, is_open, pid, ns in
                self.rows("SELECT name, is_open, pid, duration_ns FROM window ORDER BY id", name)]

    def is_whole(self, name="a.wattle"):
        return self.rows("SELECT is_whole FROM recording", name) == [(1,)]

    def check(self, name="a.wattle"):
        assert self.rows("PRAGMA integrity_check", name) == [("ok",)]
        assert self.is_whole(name)


@pytest.fixture(name="place")
def places(tmp_path):
    if run_wattle("record", "--stop", "/no/such/file").code == 2:
        pytest.skip("this wattle was built without recordings")
    sockets = Path(tempfile.mkdtemp(prefix="wtl-", dir="/tmp"))
    yield Place(tmp_path, sockets)
    shutil.rmtree(sockets)


def ended(process, code=0):
    result = finish(process)
    assert result.code == code, result
    return result


def stop(process, number=signal.SIGTERM):
    process.send_signal(number)
    return ended(process)


# ---- What is recorded ----


def test_a_command(place):
    result = place.record("--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert result.code == 7
    assert result.out == "out\n"
    assert result.err.startswith("err\n")
    assert "wattle: recorded " in result.err and f"wattle report {place.file()}" in result.err
    place.check()
    assert [w[:2] for w in place.windows()] == [(WINDOW, False)]
    assert place.fact("command").startswith("sh -c 'echo out")
    assert place.rows("SELECT count(*) FROM consumer WHERE is_in_tree") != [(0,)]
    assert os.listdir(place.sockets) == []


def test_a_command_that_dies(place):
    assert place.record("--", "sh", "-c", "kill -9 $$").code == 137
    place.check()


@pytest.mark.parametrize("command,code", [("/no/such/command", 127), ("/etc", 126)])
def test_a_command_that_cannot_run(place, command, code):
    """Nothing was recorded: nothing is left that would be in the way of the next try."""
    result = place.record("--", command)
    assert result.code == code
    assert command in result.complaint()
    assert not place.file().exists()


def test_a_time(place):
    begin = time.monotonic()
    assert place.record("--duration", "1").code == 0
    assert time.monotonic() - begin >= 1.0
    place.check()
    assert place.windows()[0][3] >= 1.0


def test_a_time_shorter_than_the_interval(place):
    """It ends when it should, not with the next sample, a minute later."""
    assert place.record("-i", "60000", "--duration", "0.5").code == 0
    place.check()
    assert 0.5 <= place.windows()[0][3] < 40


@pytest.mark.parametrize("text,seconds", [
    ("90", 90), ("90s", 90), ("1.5h", 5400), ("1h30m", 5400), ("1min", 60), ("12h", 43200), ("1w", 604800), ("1500ms", 1.5),
    ("366d", 31622400),
])
def test_times(place, text, seconds):
    assert place.record("--max-age", text, "--", "true").code == 0
    assert place.rows("SELECT max_age_ns FROM recording") == [(int(seconds * 1e9),)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_until_told_to_stop(place, number):
    stop(place.running(), number)
    place.check()


def test_a_name_of_its_own(place):
    result = place.run("record", "--", "true")
    assert result.code == 0
    names = [name for name in os.listdir(place.path) if name.endswith(".wattle")]
    assert len(names) == 1
    assert names[0].startswith("wattle-20") and names[0] in result.err


@pytest.mark.parametrize("name", ["plain.wattle", "two words.wattle", "-x.wattle", "it's;.wattle", "näme <&>.wattle", "$HOME"])
def test_what_to_type_can_be_typed(place, name):
    result = place.run("record", "-o", name, "--", "true")
    assert result.code == 0, result
    words = shlex.split(re.search(r": (wattle report .*) tells what$", result.complaint())[1])
    assert place.run(*words[1:]).code == 0
    place.file(name).unlink()
    result = place.run("record", "-o", name, "--background")
    assert result.code == 0, result
    words = shlex.split(re.search(r"^(wattle record --stop .*) ends it$", result.out, re.M)[1])
    result = place.run(*words[1:])
    assert result.code == 0 and "recorded" in result.complaint(), result
    place.check(name)


def test_names_cannot_reach_the_terminal(place):
    name = "a\x1b]0;x\x07\nb"
    result = place.run("record", "-o", name, "--background")
    assert result.code == 0 and result.out.count("\n") == 2 and "\x1b" not in result.out and "\x07" not in result.out
    result = place.run("record", "--stop")
    assert result.code == 0 and result.err.count("\n") == 1 and "\x1b" not in result.err
    place.check(name)


@pytest.mark.parametrize("words", [("record", "-o", "-"), ("record", "-o", "-", "--", "true"),
                                   ("run", "--record", "-", "--", "true")])
def test_no_recording_to_standard_output(place, words):
    result = place.run(*words)
    assert result.code == {"run": 125}.get(words[0], 2), result
    assert result.out == "" and "standard output" in result.complaint()
    assert not place.file("-").exists()


def test_nothing_beside_what_is_discarded(place):
    """Where there was nothing to be recorded, and SQLite could not tidy up: its files go as well."""
    discarded = 0
    for n in range(1, 40):  # how many transactions there are before depends on who else runs
        name = f"{n}.wattle"
        result = place.record("--fault", f"write:{n}:ENOSPC:always", "--", "/no/such/command", name=name)
        assert result.code in (1, 125, 127), result
        if result.code == 127 and not place.file(name).exists():
            discarded += 1
            assert "there is no such command" in result.complaint()
            assert beside(place, name) == [], result
    assert discarded > 0


def test_never_over_another_file(place):
    place.file().write_text("precious")
    for options in ((), ("--background",), ("--", "true"), ("--background", "--", "true"), ("--pid", os.getpid())):
        result = place.record(*map(str, options))
        # 1 might be a command's own.
        assert result.code == (125 if "true" in options else 1), result
        line = result.complaint()
        assert str(place.file()) in line and "never replaces" in line
        assert line.count("record:") == 1
    assert place.file().read_text() == "precious"


def test_two_recorders_on_one_file(place):
    first = place.running()
    result = place.record("--", "true")
    assert result.code == 125
    assert "another recorder is writing this file" in result.complaint()
    stop(first)
    place.check()


def test_beside_a_report(place):
    result = place.run("run", "-f", "json", "--record", place.file(), "--repeat", "2", "--", "sh", "-c",
                       f"{command_path()} mark begin part; {command_path()} mark end part; exit 3")
    assert result.code == 3, result
    assert len(result.json["runs"]) == 2
    place.check()
    assert [w[:2] for w in place.windows()] == [("run", False), ("part", False)] * 2
    assert place.fact("command").startswith("sh -c")


def test_a_report_whose_recording_fails(place):
    place.file().write_text("precious")
    result = place.run("run", "--record", place.file(), "--", "touch", place.file("ran"))
    assert result.code == 125
    assert "never replaces" in result.complaint()
    assert not place.file("ran").exists()


@pytest.mark.parametrize("text,size", [
    ("256K", 256000), ("256k", 256000), ("300KiB", 307200), ("2m", 2000000), ("1.5GiB", 1610612736), ("400000", 400000),
])
def test_sizes(place, text, size):
    assert place.record("--max-size", text, "--", "true").code == 0
    assert place.rows("SELECT max_bytes FROM recording") == [(size,)]


def beside(place, name="a.wattle"):
    """What SQLite has left beside the file."""
    return sorted(path.name[len(name):] for path in place.path.glob(name + "-*"))


def test_somebody_reads_to_the_end(place):
    """Nothing is lost: the file is whole by itself, and what stays beside it is said."""
    process = place.running("--duration", "3")
    database = sqlite3.connect(f"file:{place.file()}?mode=ro", uri=True)
    assert database.execute("SELECT is_whole FROM recording").fetchall() == [(0,)]
    result = ended(process)
    lines = [line for line in result.err.splitlines() if "all is recorded, but" in line]
    assert len(lines) == 1 and "a.wattle-wal stays beside it: another program has it open" in lines[0], result
    assert "-wal" in beside(place) and place.file("a.wattle-wal").stat().st_size == 0
    shutil.copy(place.file(), place.file("b.wattle"))
    place.check("b.wattle")
    database.close()
    place.check()


def test_a_ring_while_somebody_looks(place):
    """A reader of wattle's that stays open does not keep SQLite from emptying its log."""
    process = place.running("-i", "1", "--max-size", "300k", "--no-processes")
    wait_for(lambda: place.rows("SELECT count(*) FROM part") >= [(3,)] or place.rows("SELECT count(*) FROM chunk") > [(0,)],
             "more than a pipe holds")
    with subprocess.Popen([command_path(), "export", place.file(), "-f", "ndjson"], stdout=subprocess.PIPE,
                          env=clean_env(**place.env)) as reader:
        reader.stdout.read(1)  # it is at work, and waits for us
        sizes = []
        for _ in range(8):
            time.sleep(1)
            sizes += [place.file(f"a.wattle{end}").stat().st_size for end in ("", "-wal")]
        assert reader.poll() is None
        reader.kill()
    # Each of the two: docs/recording.md.
    assert max(sizes) <= 300_000, sizes
    stop(process)


@pytest.fixture(name="crowd")
def crowds():
    """Processes whose rows alone are more than a small ring may have."""
    script = "i=0; while [ $i -lt 3000 ]; do sleep 600 & i=$((i+1)); done; echo; wait"
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True) as process:
        process.stdout.readline()
        yield process
        os.killpg(process.pid, signal.SIGKILL)


def test_a_ring_that_is_too_small(place, crowd):
    """What is newest stays, and that the limit is not kept is said once."""
    assert crowd.poll() is None
    result = place.record("--max-size", "256k", "--duration", "4")
    assert result.code == 0, result
    assert result.err.count("--max-size cannot be kept") == 1, result
    place.check()
    assert place.rows("SELECT max(period.end_mono_ns) = recording.end_mono_ns FROM period, recording") == [(1,)]
    assert place.rows("SELECT count(*) > 3000 FROM consumer") == [(1,)]
    result = place.run("report", "--format", "json", place.file())
    assert result.code == 0 and result.json["duration_s"] > 0, result


def test_a_ring_that_is_large_enough(place):
    assert "--max-size" not in place.record("--max-size", "4M", "--duration", "1.5").err


def test_a_ring_tells_what_it_has(place):
    """Of what was dropped nothing is told, but that it was: each way of looking at it has the same figures."""
    script = "import time\nend = time.monotonic() + 6\nwhile time.monotonic() < end: pass"
    assert place.record("-i", "20", "--max-age", "2", "--", sys.executable, "-c", script).code == 0
    place.check()
    begin, end, dropped = place.rows("SELECT min(period.begin_utc_ns), max(period.end_utc_ns), min(period.id) > 1 FROM period")[0]
    assert dropped == 1
    assert place.rows("SELECT count(*) FROM account") == [(0,)]
    report = place.run("report", "--format", "json", place.file()).json
    assert report == place.run("report", "--replay", "--format", "json", place.file()).json
    assert report["recording"]["is_part"] is True
    assert [text for text in report["notes"] if "is a ring, which has dropped what was before 20" in text]
    assert 0.5 <= report["duration_s"] <= (end - begin) / 1e9 < 5
    window = [row for row in place.run("export", "--what", "windows", "-f", "csv", place.file()).csv
              if row["domain"] == "total"]
    assert len(window) == 1
    assert float(window[0]["duration_s"]) == pytest.approx(float(report["duration_s"]), abs=0.1)
    assert float(window[0]["energy_j"]) == pytest.approx(float(report["total"]["energy_j"]), rel=0.1)
    # One thread has no more CPU time than there was time.
    used = [process["cpu_s"] for process in report["processes"] if process.get("in_command")]
    assert used and 0 < max(used) < 1.05 * float(report["duration_s"]) + 0.1, report
    result = place.run("report", "--check", place.file())
    assert result.code == 0
    assert "nothing is damaged or missing" in result.out
    # Once, in the same words.
    (words,) = re.findall(r"he (recording is a ring, which has dropped what was before 20\S+Z)", "\n".join(report["notes"]))
    assert result.out.count(words) == 1
    for what in ("samples", "processes"):
        assert place.run("export", "--what", what, place.file()).err == f"wattle: {place.file()}: the {words}\n"
    plotted = place.run("plot", place.file())
    if "built without" not in plotted.err:
        assert plotted.code == 0 and plotted.err == "" and plotted.out.count(f">The {words}.<") == 1
    shown = place.run("top", "--once", "--replay", place.file(), env={"COLUMNS": "200"})
    assert "built without" in shown.err or shown.out.count(f"the {words}") == 1, shown


def test_a_copy_without_its_log(place):
    """The log has all of it: a copy of the other file alone is a recording of nothing."""
    process = place.running()
    for name in ("copy.wattle", "other.wattle"):
        shutil.copy(place.file(), place.file(name))
    stop(process)
    result = place.run("report", "--check", place.file("copy.wattle"))
    assert result.code == 1 and "there is nothing in it; was there a file beside it" in result.out, result
    # Of a log that is there it is not asked where it is.
    place.file("other.wattle-wal").write_bytes(b"no log of this file" * 10)
    result = place.run("report", "--check", place.file("other.wattle"))
    assert result.code == 1 and result.out.endswith("there is nothing in it\n"), result


# ---- A process, a container, a unit ----


def test_a_process(place):
    script = "import time\nwhile True: time.sleep(0.01)"
    with subprocess.Popen([sys.executable, "-c", script]) as other:
        process = place.running("--pid", str(other.pid))
        other.kill()
        other.wait()
        ended(process)
    place.check()
    assert place.fact("follow.pid") == str(other.pid)
    assert place.rows(f"SELECT is_in_tree FROM consumer WHERE pid = {other.pid}") == [(1,)]
    assert place.rows(f"SELECT is_in_tree FROM consumer WHERE pid = {os.getpid()}") != [(1,)]


def test_a_process_with_descendants(place):
    """Also those that came before the recording, and those that come while it runs."""
    script = "sleep 1000 & echo $!; read go; sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; kill $!"
    with subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        before = int(other.stdout.readline())
        process = place.running("--pid", str(other.pid))
        other.communicate("go\n", timeout=60)
        ended(process)
    in_tree = dict(place.rows("SELECT pid, is_in_tree FROM consumer WHERE pid > 0"))
    assert in_tree[other.pid] == 1
    assert in_tree.get(before, 1) == 1
    assert place.rows("SELECT count(*) FROM consumer WHERE is_in_tree")[0][0] >= 2


def test_a_process_that_is_not_there(place):
    result = place.record("--pid", "4194303")
    assert result.code == 1
    assert "no process 4194303" in result.complaint()
    assert not place.file().exists()


class Processes:
    """Processes of a machine that is a directory."""

    def __init__(self, machine):
        self.machine, self.cpu = machine, {}

    def add(self, pid, name, cgroup, parent=1):
        self.machine.put(f"proc/{pid}/stat", f"{pid} ({name}) S {parent} 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 "
                         f"{pid} 1000 100 18446744073709551615\n")
        self.machine.put(f"proc/{pid}/status", f"Name:\t{name}\nPid:\t{pid}\nPPid:\t{parent}\nUid:\t1000\t1000\t1000\t1000\n"
                         "VmRSS:\t    1000 kB\nThreads:\t1\n")
        self.machine.put(f"proc/{pid}/cmdline", f"/bin/{name}\0")
        self.machine.put(f"proc/{pid}/cgroup", f"0::{cgroup}\n")
        self.machine.put(f"wattle-cpu/{pid}", "1000000000\n")
        self.cpu[pid] = 1000000000

    def work(self):
        """All of them run for a while."""
        for pid in self.cpu:
            self.cpu[pid] += 50000000
            path = self.machine.path / f"wattle-cpu/{pid}"
            new = path.with_suffix(".new")
            new.write_text(f"{self.cpu[pid]}\n")
            new.rename(path)


DOCKER = "3f1c0aa7b2d4" + "0" * 52
CAFE = "1234" + "0" * 60


@pytest.mark.parametrize("options,fact,members", [
    (("--container", "3f1c0a"), ("container", "3f1c0a"), {101, 102, 104}),
    (("--container", DOCKER), ("container", DOCKER), {101, 102, 104}),
    (("--container", "web"), ("container", "web"), {101, 102, 104}),
    (("--container", "cafe"), ("container", "cafe"), {106}),
    (("--unit", "ssh"), ("unit", "ssh"), {103}),
])
def test_a_group(place, machine, options, fact, members):
    root = machine("xeon-2s-dram")
    processes = Processes(root)
    processes.add(101, "nginx", f"/system.slice/docker-{DOCKER}.scope")
    processes.add(102, "worker", f"/system.slice/docker-{DOCKER}.scope", parent=101)
    processes.add(103, "sshd", "/system.slice/ssh.service")
    # One whose name could be the start of an ID, and one whose ID begins so.
    processes.add(106, "till", f"/system.slice/docker-{CAFE}.scope")
    processes.add(107, "other", f"/system.slice/docker-{'cafe' * 16}.scope")
    root.put(f"var/lib/docker/containers/{CAFE}/config.v2.json", '{"Name":"/cafe"}')
    root.put(f"var/lib/docker/containers/{DOCKER}/config.v2.json", '{"Name":"/web"}')
    process = place.running("--root", root.path, *options)
    processes.add(104, "late", f"/system.slice/docker-{DOCKER}.scope")
    processes.add(105, "later", "/system.slice/cron.service")

    def recorded(where):
        return {pid for pid, in place.rows(f"SELECT pid FROM consumer WHERE {where}")}

    def recorded_for(seconds):
        processes.work()
        return {101, 102, 103, 104, 105} <= recorded("pid") and place.windows()[0][3] > seconds
    wait_for(lambda: recorded_for(0), "all to be recorded")
    # Whoever is a member is marked with one look, and recorded so with the next.
    wait_for(lambda end=place.windows()[0][3] + 2.5: recorded_for(end), "two more looks")
    result = stop(process)
    assert "nothing runs in" not in result.err
    place.check()
    assert place.fact(f"follow.{fact[0]}") == fact[1]
    assert recorded("is_in_tree") == members


def test_a_container_that_gets_its_name_later(place, machine):
    """And another one that has it after that."""
    root = machine("xeon-2s-dram")
    processes = Processes(root)
    processes.add(200, "init", "/")
    process = place.running("--root", root.path, "--container", "web")
    for pid, number in ((201, DOCKER), (202, CAFE)):
        processes.add(pid, "nginx", f"/system.slice/docker-{number}.scope")
        root.put(f"var/lib/docker/containers/{number}/config.v2.json", '{"Name":"/web"}')

        def recorded_for(seconds, pid=pid):
            processes.work()
            return (pid,) in place.rows("SELECT pid FROM consumer") and place.windows()[0][3] > seconds
        wait_for(lambda: recorded_for(0), f"{pid} to be recorded")
        wait_for(lambda end=place.windows()[0][3] + 3.5: recorded_for(end), "looks that find it and mark it")
        shutil.rmtree(root.path / f"proc/{pid}")
        processes.cpu.pop(pid)
        (root.path / f"wattle-cpu/{pid}").unlink()
        shutil.rmtree(root.path / f"var/lib/docker/containers/{number}")
    result = stop(process)
    assert "nothing runs in the container 'web' now" in result.err
    place.check()
    assert place.rows("SELECT pid FROM consumer WHERE is_in_tree ORDER BY pid") == [(201,), (202,)]


def test_a_group_that_nobody_is_in(place):
    """Whoever comes later would be followed: it is said, and it goes on."""
    result = place.record("--unit", "no-such.service", "--duration", "1")
    assert result.code == 0
    assert "nothing runs in the unit 'no-such.service' now" in result.err
    assert place.fact("follow.unit") == "no-such.service"


# ---- Options ----


@pytest.mark.parametrize("option", [["--duration", "5"], ["--pid", "1"], ["--unit", "a"], ["--container", "a"], ["--jitter"],
                                    ["--max-age", "1h"], ["--max-size", "1G"], ["--idle-first", "3"], ["--no-processes"],
                                    ["--location", "SWE"], ["--root", "/"], ["--background"], ["--nvml", ""]])
def test_stop_takes_nothing_else(place, option):
    result = place.run("record", "--stop", *option)
    assert result.code == 2, result
    assert result.complaint() == f"wattle: record: --stop and {option[0]} exclude each other"


@pytest.mark.parametrize("options,says", [
    (["--pid", "1", "--unit", "a"], "exclude each other"),
    (["--container", "a", "--", "true"], "exclude each other"),
    (["--pid", "1", "--no-processes"], "--pid and --no-processes"),
    (["--unit", "a", "--no-processes"], "--unit and --no-processes"),
    (["--pid", "0"], "--pid takes a whole number"),
    (["--pid", "x"], "--pid takes a whole number"),
    (["--unit", ""], "--unit takes a name"),
    (["--container", "x" * 80], "--container takes a name"),
    (["--duration", "0"], "--duration takes a time"),
    (["--duration", "1y"], "--duration takes a time"),
    (["--duration", "367d"], "--duration takes a time"),
    (["--duration", "99999999999999999999h"], "--duration takes a time"),
    (["--duration", "5", "--", "true"], "without a command"),
    (["--duration", "1h30"], "--duration takes a time"),
    (["--duration", "+5"], "--duration takes a time"),
    (["--duration", "14:00"], "--duration takes a time"),
    (["--max-age", "x"], "--max-age takes a time"),
    (["--max-age", "53w"], "--max-age takes a time"),
    (["--max-age", "1ms"], "--max-age takes a time"),
    (["--max-size", "1k"], "--max-size takes a size"),
    (["--max-size", "255K"], "--max-size takes a size"),
    (["--max-size", "5Kib5"], "--max-size takes a size"),
    (["--max-size", "5X"], "--max-size takes a size"),
    (["--max-size", "99999999999T"], "--max-size takes a size"),
    (["--stop", "a", "b"], "--stop takes one recording"),
    (["--stop", "--background"], "--stop and --background"),
    (["--tape", "/dev/null", "--", "true"], "takes no command"),
    (["--tape", "/dev/null", "--background"], "no use"),
    (["--tape", "/dev/null", "--duration", "2"], "--duration has no use"),
])
def test_bad_options(place, options, says):
    result = place.record(*options)
    assert result.code == 2, result
    assert result.out == ""
    assert says in result.complaint()
    assert not place.file().exists()


@pytest.mark.parametrize("words,says", [
    ([], "begin or end which window?"),
    (["start", "x"], "it is 'begin NAME'"),
    (["begin"], "which window?"),
    (["begin", ""], "needs a name"),
    (["begin", " \t"], "plain text"),
    (["end", "x" * 64], "at most 63 bytes"),
    (["begin", "x", "y"], "one word too many"),
    (["list", "x"], "takes nothing"),
    (["list", "--file", "x"], "takes nothing"),
])
def test_bad_marks(place, words, says):
    result = place.mark(*words)
    assert result.code == 2
    assert says in result.complaint()


# ---- In the background ----


def stopped(place, name="a.wattle", say=True):
    result = place.run("record", "--stop", *([place.file(name)] if say else []))
    assert result.code == 0, result
    assert result.out == ""
    assert "recorded" in result.complaint()
    place.check(name)
    return result


def test_background(place):
    result = place.record("--background")
    assert result.code == 0, result
    assert result.err == ""
    lines = result.out.splitlines()
    assert str(place.file()) in lines[0] and lines[1].startswith(f"wattle record --stop {place.file()}")
    pid = int(lines[0].rsplit(" ", 1)[1])
    # It has a session of its own and no terminal; its inputs and outputs go nowhere, but for errors.
    assert os.getsid(pid) != os.getsid(0)
    fds = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in (0, 1)}
    assert fds == {"/dev/null"}
    assert os.readlink(f"/proc/{pid}/fd/2") == f"{place.file()}.log"
    assert os.readlink(f"/proc/{pid}/cwd") == str(place.path)
    place.marked("begin", "x")
    stopped(place, say=False)
    assert not Path(f"/proc/{pid}/stat").exists() or wait_for(
        lambda: not Path(f"/proc/{pid}/fd/0").exists(), "its end")
    assert [w[:2] for w in place.windows()] == [(WINDOW, False), ("x", True)]
    assert sorted(os.listdir(place.path)) == ["a.wattle", *(["state"] if place.file("state").exists() else [])]


def test_background_quietly(place):
    result = place.record("--background", "-q")
    assert (result.code, result.out, result.err) == (0, "", "")
    result = place.run("record", "--stop", "-q")
    assert (result.code, result.out, result.err) == (0, "", "")
    place.check()


@pytest.mark.parametrize("options,code,says", [
    (("-o", "/no/such/place/a.wattle"), 1, "/no/such/place/a.wattle"),
    (("--pid", "4194303"), 1, "no process 4194303"),
    (("--root", "/no/such/root"), 1, "/no/such/root"),
    (("--", "/no/such/command"), 127, "/no/such/command"),
])
def test_background_that_cannot_begin(place, options, code, says):
    """What goes wrong is said in the foreground."""
    result = place.record("--background", *options)
    assert result.code == code, result
    assert result.out == ""
    assert says in result.complaint()
    assert not place.file().exists()
    assert os.listdir(place.sockets) == []


def test_background_with_a_command(place):
    """It ends with the command, whose output goes where it was sent."""
    with open(place.path / "out", "wb") as out:
        result = place.record("--background", "--", "sh", "-c", "cat; read x; echo $? done; echo oops >&2",
                              stdout=out, stderr=subprocess.STDOUT)
    assert result.code == 0
    wait_for(lambda: place.file().exists() and place.is_whole(), "the end")
    place.check()
    text = (place.path / "out").read_text()
    assert "1 done\n" in text and "oops\n" in text
    assert not Path(f"{place.file()}.log").exists()


def test_errors_behind_the_foreground(place):
    """They stand in the log beside the recording."""
    result = place.record("--background", "--fault", "write:4:ENOSPC:always")
    if result.code:
        pytest.skip("the disk was full before it began")
    log = Path(f"{place.file()}.log")
    wait_for(lambda: log.exists() and b"\n" in log.read_bytes(), "the error")
    assert "No space left" in log.read_text()
    wait_for(lambda: os.listdir(place.sockets) == [], "its end")
    assert place.run("record", "--stop").code == 1


FULL = """set -e
mount -t tmpfs -o size=600k none "$1"
cd "$1"
"$2" record -i 1 -o a.wattle --background
dd if=/dev/zero of=rest bs=1k 2> /dev/null || true
i=0
while [ -n "$(ls "$XDG_RUNTIME_DIR/wattle")" ] && [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done
cp a.wattle.log "$3"
"$2" record --stop a.wattle 2> "$4" || exit 7
"""


def test_errors_on_a_full_disk(place):
    """Room for what is to be said is kept; who asks later is sent there."""
    if subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], check=False, capture_output=True).returncode:
        pytest.skip("no file system of one's own can be made here")
    disk, log, said = place.path / "disk", place.path / "log", place.path / "said"
    disk.mkdir()
    done = subprocess.run(["unshare", "-rm", "sh", "-c", FULL, "sh", disk, command_path(), log, said], check=False,
                          env=clean_env(**place.env), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert done.returncode == 7, done
    assert "No space left" in log.read_text()
    lines = said.read_text().splitlines()
    assert "a.wattle is not being recorded" in lines[0] and "a.wattle.log" in lines[1], lines


def test_stop_after_the_end(place):
    place.record("--duration", "0.2")
    assert f"{place.file()} is not being recorded any more: it has ended" in place.run("record", "--stop", place.file()).complaint()


def test_stop_of_what_is_none(place):
    place.file("other").write_text("text")
    assert "other is not being recorded by this user" in place.run("record", "--stop", "other").complaint()


def test_a_directory_as_the_file(place):
    assert ".: it is a directory: name a file in it" in place.run("record", "--duration", "0.2", "-o", ".").complaint()


def test_mark_variable_that_names_no_socket(place):
    for words in (("mark", "begin", "x"), ("record", "--stop")):
        result = place.run(*words, env={"WATTLE_MARK": "/dev/null"})
        assert "WATTLE_MARK=/dev/null: that is no recording's socket" in result.complaint()


def test_stop_without_any(place):
    result = place.run("record", "--stop")
    assert result.code == 1
    assert "no recording of this user is running" in result.complaint()
    result = place.run("record", "--stop", place.file())
    assert result.code == 1
    assert str(place.file()) in result.complaint()
    assert place.record("--", "true").code == 0
    result = place.run("record", "--stop", place.file())
    assert result.code == 1
    assert "is not being recorded" in result.complaint()


def test_stop_one_of_several(place):
    first, second = place.running(name="a.wattle"), place.running(name="b.wattle")
    result = place.run("record", "--stop")
    assert result.code == 1
    line = result.complaint()
    assert "2 recordings are running" in line and "a.wattle" in line and "b.wattle" in line
    assert "2 recordings are running" in place.mark("begin", "x").complaint()
    place.marked("begin", "x", "--file", place.file("b.wattle"))
    os.symlink("b.wattle", place.file("link"))
    assert place.run("record", "--stop", "link").code == 0
    ended(second)
    place.check("b.wattle")
    stopped(place, say=False)
    ended(first)
    assert [w[0] for w in place.windows("b.wattle")] == [WINDOW, "x"]


def test_stop_leaves_the_command_alone(place):
    """The recording is whole at once; wattle waits for the command, and ends as it does."""
    go = place.path / "go"
    process = place.running("--", "sh", "-c", f"until [ -e {go} ]; do sleep 0.02; done; exit 5")
    stopped(place)
    assert process.poll() is None
    assert os.listdir(place.sockets) == []
    go.touch()
    ended(process, 5)
    place.check()


def test_stop_from_within(place):
    result = place.record("--", "sh", "-c", f"{command_path()} record --stop && echo stopped")
    assert result.code == 0, result
    assert result.out == "stopped\n"
    place.check()


def test_stop_does_not_stop_a_run(place):
    result = place.run("run", "-o", "/dev/null", "--record", place.file(), "--", command_path(), "record", "--stop")
    assert result.code == 1
    assert "is of 'wattle run'" in result.err
    place.check()


# ---- Marks ----


def test_marks_by_hand(place):
    process = place.running()
    place.marked("begin", "outer")
    place.marked("begin", "two words")
    assert "'outer' is open already" in place.mark("begin", "outer").complaint()
    listed = place.mark("list").out.splitlines()
    assert listed[0].startswith(f"{place.file()} (process {process.pid}, for ")
    assert listed[1:] == ["  outer", "  two words"]
    place.marked("end", "outer")
    place.marked("end", "two words")
    result = place.mark("end", "outer")
    assert result.code == 1
    assert result.complaint() == "wattle: mark: no window 'outer' is open"
    place.marked("begin", "outer")
    stop(process)
    place.check()
    windows = place.windows()
    assert [w[:2] for w in windows] == [(WINDOW, False), ("outer", False), ("two words", False), ("outer", True)]
    assert all(w[2] > 0 and w[3] > 0 for w in windows[1:])
    domains, = place.rows("SELECT count(*) FROM domain")[0]
    counts = place.rows("SELECT count(*) FROM energy GROUP BY window")
    assert len(counts) == 4 and all(n >= domains for n, in counts)


def test_marks_from_a_script(place):
    """Whatever it starts finds the recording, also where another one runs."""
    other = place.running(name="b.wattle")
    wattle = command_path()
    result = place.record("--", "sh", "-c", f"""set -e
        {wattle} mark begin all
        for i in 1 2; do {wattle} mark begin part; sleep 0.05; {wattle} mark end part; done
        {wattle} mark end all""")
    assert result.code == 0, result
    place.check()
    windows = place.windows()
    assert [w[0] for w in windows] == [WINDOW, "all", "part", "part"]
    assert windows[1][3] >= 0.1 and all(w[3] >= 0.05 for w in windows[2:])
    assert windows[1][3] >= windows[2][3] + windows[3][3]
    stop(other)
    assert len(place.windows("b.wattle")) == 1


def test_marks_from_c(place):
    program = Path(os.environ.get("WATTLE_BUILD_ROOT", "")) / "examples" / "example_mark"
    if not program.is_file():
        pytest.skip("WATTLE_BUILD_ROOT does not name a build with the examples")
    result = place.record("--", program)
    assert result.code == 0, result
    assert [w[:2] for w in place.windows()] == [(WINDOW, False), *((f"round {i}", False) for i in (1, 2, 3))]
    # Without a recording it does its work as well; with one that is over, it says so.
    assert subprocess.run([program], env=clean_env(WATTLE_MARK=None), check=False).returncode == 0
    done = subprocess.run([program], env=clean_env(WATTLE_MARK=place.sockets / "record-1.sock"), check=False,
                          capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "no recording listens there any more\n"


@pytest.mark.parametrize("odd", ["a\x01", "a\x02", "a\n", " a", "a\u200b", "\u202ea", b"a\xff", "a\u00a0", "a\u00a0b", "a\u3000",
                                 "a\u00ad", "a\ufe0f", "a\U000e0100", "a\u3164", "a\u115f", "a\u1160", "a\uffa0", "a\u034f", "a\u180e",
                                 "a\u17b4", "a\u2800", "a\U0001d173"])
def test_names_are_never_changed(place, odd):
    """Cleaned, they would be another one's; plain text stays as it is, to the last byte."""
    process = place.running()
    for name in ("a", "a?", "größe \\ 'x' \U0001f50b", "\\" * 63):
        place.marked("begin", name)
        assert f"  {name}\n" in place.mark("list").out
    result = place.mark("begin", odd)
    assert result.code == 2 and "plain text in UTF-8" in result.complaint(), result
    with client(place, process) as mark:
        assert "plain text in UTF-8" in ask(mark, b"begin " + (odd if isinstance(odd, bytes) else odd.encode()))
    stop(process)
    assert [w[0] for w in place.windows()] == [WINDOW, "a", "a?", "größe \\ 'x' \U0001f50b", "\\" * 63]


def test_the_main_window_is_not_for_others(place):
    process = place.running()
    assert "is the recording itself" in place.mark("begin", WINDOW).complaint()
    assert "no window" in place.mark("end", WINDOW).complaint()
    stop(process)
    assert [w[:2] for w in place.windows()] == [(WINDOW, False)]


def test_since_a_time_to_come(place):
    """The clock was set back since: for how long it has been recording is not known."""
    place.sockets.mkdir(mode=0o700)
    path = place.sockets / "record-4711.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(path))
        listener.listen(4)

        def answer():
            connection, _ = listener.accept()
            with connection:
                connection.recv(256)
                begin_ns = (int(time.time()) + 3600) * 10**9
                connection.send(f"ok\nfile /x/future.wattle\npid 4711\nbegin {begin_ns}\nstop yes".encode())
        thread = threading.Thread(target=answer)
        thread.start()
        listed = place.mark("list")
        thread.join()
    assert (listed.code, listed.out) == (0, "/x/future.wattle (process 4711)\n")


def test_too_many_windows(place):
    process = place.running()
    opened = 0
    with client(place, process) as mark:
        while ask(mark, f"begin w{opened}") == "ok":
            opened += 1
            assert opened < 1000
        assert "no room" in ask(mark, "begin one more")
        assert "is open already" in ask(mark, "begin w0")
        assert ask(mark, "end w0") == "ok"
        assert ask(mark, "begin one more") == "ok"
    assert opened >= 50
    assert len(place.mark("list").out.splitlines()) == opened + 1
    stop(process)
    place.check()
    assert sum(1 for w in place.windows() if w[1]) == opened


def test_more_windows_than_are_remembered(place):
    """What began long ago still ends."""
    process = place.running()
    with client(place, process) as mark:
        assert ask(mark, "begin outer") == "ok"
        for i in range(600):
            assert ask(mark, "begin inner") == "ok"
            assert ask(mark, "end inner") == "ok"
        assert ask(mark, "end outer") == "ok"
    stop(process)
    place.check()
    windows = place.windows()
    assert [w[:2] for w in windows] == [(WINDOW, False), ("outer", False), *([("inner", False)] * 600)]
    assert windows[0][3] > windows[1][3] > sum(w[3] for w in windows[2:])


def test_a_recording_that_was_killed(place):
    process = place.running()
    process.kill()
    process.communicate()
    assert len(os.listdir(place.sockets)) == 1
    result = place.mark("begin", "x")
    assert result.code == 1
    assert "no recording of this user is running" in result.complaint()
    assert os.listdir(place.sockets) == []  # what it left behind
    result = place.mark("begin", "x", env={"WATTLE_MARK": place.sockets / f"record-{process.pid}.sock"})
    assert result.code == 1
    assert "has ended" in result.complaint()


def wait_for_commits(place, process, number):
    """Until so many are in the file; then nothing moves any more."""
    wait_for(lambda: place.rows("SELECT count(*) FROM part")[0][0] > number, "the commits behind the one that opens it")
    process.send_signal(signal.SIGSTOP)


@pytest.mark.parametrize("end", ["stopped", "killed"])
@pytest.mark.parametrize("commits", [1, 2, 3])
def test_its_first_seconds(place, commits, end):
    """Whatever is in the file tells energy, and whose it was."""
    process = place.running("--interval", "50")
    wait_for_commits(place, process, commits)
    if end == "killed":
        process.kill()
        process.communicate()
    result = place.run("report", "--format", "json", place.file())
    assert result.code == 0, result
    told = result.json
    assert told["total"]["energy_j"] > 0 and 0.1 < told["duration_s"] < 4, told["total"]
    assert told["processes"]
    for row in told["ledger"]:
        parts = [row.get(f"{part}_j", 0) for part in ("live", "exited", "kernel", "idle", "unattributed")]
        assert sum(parts) == row["total_j"] > 0, row
    assert place.run("report", "--replay", "--format", "json", place.file()).json["ledger"] == told["ledger"]
    for words in (["export", place.file(), "-f", "json"], ["export", place.file(), "--what", "windows"], ["report", place.file()]):
        result = place.run(*words)
        assert result.code == 0 and "Traceback" not in result.err, result
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        stop(process)


def test_before_its_first_second(place):
    """With a minute between samples nothing is there for long."""
    process = place.running("--interval", "60000")
    result = place.run("report", place.file())
    assert result.code == 1 and result.complaint().endswith("there is nothing in it: it was begun just now; try again in a moment"), result
    process.kill()
    process.communicate()
    result = place.run("report", place.file())
    assert result.code == 1
    assert result.complaint().endswith("there is nothing in it: it was cut off before anything measured was in it"), result


@pytest.mark.parametrize("ends,says", [
    (["-wal"], "a.wattle-wal was removed, without which nobody can find what comes; what was recorded is in the file"),
    (["", "-wal", "-shm"], "its file was moved or removed"),
])
def test_somebody_tidies_up(place, ends, says):
    process = place.running()
    wait_for(lambda: place.rows("SELECT count(*) FROM part")[0][0] >= 2, "the commits")
    for name in ends:
        place.file(f"a.wattle{name}").unlink()
    result = ended(process, 1)
    assert says in result.err, result
    if "" not in ends:
        assert place.run("report", "--format", "json", place.file()).json["total"]["energy_j"] > 0


def windows_of(path):
    """As somebody who reads beside the writer."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as recording:
        return {name: is_open for name, is_open in recording.execute("SELECT name, is_open FROM window")}


def test_what_is_marked_between_samples_is_kept(place):
    """With a minute between samples: a kill costs the last second, as ever."""
    process = place.running("--interval", "60000")
    place.marked("begin", "x")
    place.marked("end", "x")
    place.marked("begin", "y")
    wait_for(lambda: windows_of(place.file()).get("y") is not None, "the windows to be written")
    process.kill()
    process.communicate()
    windows = windows_of(place.file())
    assert windows["x"] == 0 and windows["y"] == 1, windows
    told = place.run("report", "--check", place.file()).out.splitlines()
    assert len(told) == 1 and "it was cut off: there is nothing after" in told[0], told


def test_sockets_are_the_users_own(place):
    process = place.running()
    sock = place.sockets / f"record-{process.pid}.sock"
    assert (place.sockets.stat().st_mode & 0o777, sock.stat().st_mode & 0o777) == (0o700, 0o600)
    stop(process)


def test_another_user(place):
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    process = place.running()
    sock = place.sockets / f"record-{process.pid}.sock"
    for path in (place.runtime, place.sockets, sock):  # as if the modes did not keep them out
        path.chmod(0o777)
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        try:
            with client(place, process) as mark:
                os._exit(0 if ask(mark, "begin theirs") == "" else 1)
        except OSError:
            os._exit(0)  # it was sent away
    assert os.waitpid(child, 0)[1] == 0
    for path in (place.runtime, place.sockets):
        path.chmod(0o700)
    place.marked("begin", "mine")
    stop(process)
    assert [w[0] for w in place.windows()] == [WINDOW, "mine"]


# ---- Clients that mean harm ----


def client(place, process):
    mark = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    mark.settimeout(60)
    mark.connect(str(place.sockets / f"record-{process.pid}.sock"))
    return mark


def ask(mark, text):
    mark.send(text if isinstance(text, bytes) else text.encode())
    return mark.recv(65536).decode()


RUBBISH = [b"\0", b"begin", b"begin ", b"x" * 60000, b"begin " + b"x" * 60000, b"\xff" * 100, b"stop now", b"status\n",
           b"begin x\0y" * 5, b"end \x1b[31m", b"begin %n%s%d", b"begin ../../x", b"begin '; DROP TABLE window; --"]


def test_rubbish(place):
    process = place.running()
    with client(place, process) as mark:
        for text in RUBBISH:
            answer = ask(mark, text)
            assert answer == "ok" or answer.startswith("error "), answer
            assert answer.isprintable(), answer
    place.marked("begin", "fine")
    stop(process)
    place.check()
    names = [w[0] for w in place.windows()]
    assert names[0] == WINDOW and names[-1] == "fine"
    assert all(name.isprintable() and len(name) < 64 for name in names)


def test_floods(place):
    """Samples go on, and others are served, while some do their worst."""
    process = place.running("-i", "10")
    end, floods, silent = threading.Event(), [], []

    def flood(k):
        while not end.is_set():
            try:
                with client(place, process) as mark:
                    mark.setblocking(False)
                    for i in range(1000):
                        if end.is_set():
                            return
                        try:
                            mark.send(RUBBISH[(i + k) % len(RUBBISH)])
                        except OSError as error:
                            if error.errno != errno.EAGAIN:
                                break
                            time.sleep(0.001)
            except OSError:
                time.sleep(0.001)

    for k in range(2):
        floods.append(threading.Thread(target=flood, args=(k,)))
        floods[-1].start()
    for _ in range(20):
        try:
            silent.append(client(place, process))
        except OSError:
            pass
    try:
        for i in range(5):
            place.marked("begin", f"round {i}")
            place.marked("end", f"round {i}")
        time.sleep(1)
    finally:
        end.set()
        for thread in floods:
            thread.join()
    for one in silent:
        one.close()
    stop(process)
    place.check()
    assert [w[0] for w in place.windows() if w[0].startswith("round")] == [f"round {i}" for i in range(5)]
    assert place.windows()[0][3] >= 1.0


def test_a_client_that_never_reads(place):
    process = place.running()
    with client(place, process) as mark:
        mark.setblocking(False)
        for _ in range(100000):
            try:
                mark.send(b"status")
            except BlockingIOError:
                time.sleep(0.0001)
            except OSError:
                break
        else:
            pytest.fail("it was never sent away")
    place.marked("begin", "x")
    stop(process)
    place.check()


# ---- The disk ----


def test_every_write_fails_in_turn(place):
    """One line says it, and what there is can be read; the command ends as ever. What fails when all is written costs
    nothing, and is said as well."""
    failed = begun = untidy = 0
    # Where the machine is busy, there are more transactions: it may take another turn.
    for turn, n in enumerate(3 * (*range(1, 20), 1000)):
        name = f"{turn}.wattle"
        result = place.record("--fault", f"write:{n}:ENOSPC:always", "--", "sh", "-c", f"touch {turn}.ran; sleep 0.2",
                              name=name)
        assert result.code in (0, 1, 125), result
        lines = [line for line in result.err.splitlines() if "No space left" in line]
        assert len(lines) == (result.code != 0 or beside(place, name) != []), (result, beside(place, name))
        if result.code == 0:
            checked = place.run("report", "--check", name)
            assert (checked.code, checked.err) == (0, ""), checked
            if not lines:
                place.check(name)
                if untidy > 0:
                    break
                continue
            assert "all is recorded, but" in lines[0]
            untidy += 1
            continue
        failed += 1
        begun += (place.path / f"{turn}.ran").exists()
    else:
        pytest.fail(f"it never succeeds, or nothing ever stays beside it ({untidy})")
    assert failed > begun > 0


def test_a_full_disk_stops_a_recording_of_the_machine(place):
    """Nothing else is to be had from it."""
    for n in (6, 5, 4, 3):
        name = f"{n}.wattle"
        process = place.start("record", "-o", place.file(name), "--fault", f"write:{n}:ENOSPC:always")
        result = finish(process)
        assert result.code == 1, result
        assert "No space left" in result.err
        if "wattle report" in result.err:
            assert place.rows("SELECT is_whole FROM recording", name) == [(0,)]
            return
    pytest.fail("no recording had begun")


# ---- Devices ----


def test_devices(place, gpus):
    fake = gpus("a100")
    process = place.start("record", "-o", place.file(), *fake.options, "--duration", "3", env=fake.env)
    ended(process)
    place.check()
    assert place.fact("device.0.domain") == "gpu-0"
    assert "A100" in place.fact("device.0.name")


def test_without_gpus(place):
    assert place.record("--nvml", "", "--duration", "1").code == 0
    assert place.fact("device.0.name") is None


def test_a_tape(place):
    tape = Path(__file__).resolve().parents[1] / "fixtures" / "tapes" / "server.tape"
    result = place.record("--tape", tape)
    assert result.code == 0, result
    place.check()
    assert os.listdir(place.runtime) == []


def test_nobody_followed(tmp_path):
    """Energies and windows are told all the same, and so are parts, which begin with a sample."""
    path = tmp_path / "alone.wattle"
    env = {"XDG_RUNTIME_DIR": tmp_path}
    assert run_wattle("record", "--no-processes", "--duration", "1", "-o", path, env=env).code == 0
    told = run_wattle("report", "-f", "json", path)
    assert told.code == 0, told.err
    report = json.loads(told.out)
    assert report["total"]["energy_j"] > 0
    assert "processes were not followed" in told.out
    part = run_wattle("report", "--from", "+0.5", "-f", "json", path)
    assert part.code == 0, part.err
    assert 0 < float(part.json["total"]["energy_j"]) < report["total"]["energy_j"]
    assert 0 < float(part.json["duration_s"]) <= report["recording"]["span_s"] - 0.5
