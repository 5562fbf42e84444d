# SPDX-License-Identifier: MIT
"""Capabilities that wattle has by its file: given up at once where files are read, and as soon as the netlink socket and
perf's events are open where it measures."""

import csv
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from decimal import Decimal
from pathlib import Path

import pytest

from conftest import REPO, ROOTS, Terminal, check_sums, domain, parse_json, wait_for
from rights import NOBODY, SETS, borrowers, capabilities_of  # noqa: F401 (a fixture)
from test_ledger import ALL, check_ledger

RECORDING = REPO / "tests" / "fixtures" / "recorded" / "server.wattle"
SOON = 10


def thread_count(pid):
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def expect_none(pid):
    wait_for(lambda: capabilities_of(pid) == 0, f"every thread of {pid} to have no capability", timeout=SOON)


def exit_records(report):
    return next(way for way in report["ways"] if way["way"] == "exit records")


def test_what_was_opened_with_rights_serves_without(borrower):
    """The kernel's exit records need CAP_NET_ADMIN when their socket is opened, and nobody else may open it."""
    one = borrower()
    if not exit_records(parse_json(one.run("doctor", "-f", "json", words=[one.path]).stdout))["is_used"]:
        pytest.skip("this kernel gives no exit records, or not in here")
    assert exit_records(parse_json(one.run("doctor", "-f", "json").stdout))["is_used"]
    bare = [*NOBODY, one.folder / "bare"]
    (one.folder / "bare").write_bytes(one.path.read_bytes())
    (one.folder / "bare").chmod(0o755)
    assert not exit_records(parse_json(one.run("doctor", "-f", "json", words=bare).stdout))["is_used"]
    # Processes that live for a moment are there by name.
    shutil.copy("/bin/true", one.folder / "shortlived")
    done = one.run("run", "--full", "-o", "-", "-f", "json", *ALL, "--", "sh", "-c",
                   "for i in 1 2 3 4 5 6 7 8 9; do ./shortlived; done; sleep 1")
    assert done.returncode == 0, done.stderr
    report = parse_json(done.stdout)
    assert "processes" not in report or any(p.get("name") == "shortlived" for p in report["processes"]), done.stdout


@pytest.mark.parametrize("options", [(), ("--root", ROOTS / "amd-gpu")], ids=["machine", "root"])
def test_a_recorder_has_none(borrower, options):
    one = borrower()
    one.folder.chmod(0o777)
    process = one.start("record", "-o", "x.wattle", *options, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: (one.folder / "x.wattle").exists() and thread_count(process.pid) > 1, "a recording")
        expect_none(process.pid)
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def test_a_recorder_in_the_background_has_none(borrower):
    one = borrower()
    one.folder.chmod(0o777)
    done = one.run("record", "--background", "-o", "x.wattle")
    assert done.returncode == 0, done.stderr
    pid = int(done.stdout.split("as process ")[1].split()[0])
    try:
        expect_none(pid)
    finally:
        os.kill(pid, signal.SIGINT)
        wait_for(lambda: not Path(f"/proc/{pid}").exists(), "its end")


def test_run_and_its_command_have_none(borrower):
    one = borrower()
    process = one.start("run", "-o", "/dev/null", "--", "sh", "-c", "cat /proc/self/status; read line", stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE, text=True)
    try:
        lines = iter(process.stdout.readline, "")
        told = {}
        while not {"CapBnd", *SETS} <= told.keys():
            name, _, value = next(lines).partition(":")
            told[name] = value.strip()
        assert all(int(told[name], 16) == 0 for name in SETS)
        assert int(told["CapBnd"], 16) != 0, "what the command may get by programs of its own"
        assert capabilities_of(process.pid) == 0
    finally:
        process.communicate("\n", timeout=60)


def status_under(words):
    out = subprocess.run([*words, "cat", "/proc/self/status"], capture_output=True, text=True, check=True).stdout
    return [line for line in out.splitlines() if line.startswith("Cap")]


def test_what_the_user_has_himself_stays(borrower):
    """Root's capabilities, and those that a user lets programs inherit, are the command's as without wattle."""
    one = borrower()
    run = (one.path, "run", "-q", "-o", "/dev/null", "--")
    for who in ((), (*NOBODY, "--inh-caps=+net_raw"), (*NOBODY, "--inh-caps=+net_raw", "--ambient-caps=+net_raw")):
        wanted = status_under(who)
        if "--ambient-caps=+net_raw" in who:
            # Programs with capabilities of their own get no ambient ones: the kernel's rule.
            wanted = status_under((*NOBODY, "--inh-caps=+net_raw"))
        assert status_under((*who, *run)) == wanted, who


def test_top_has_none(borrower):
    one = borrower()
    screen = Terminal(*one.words, "top", env=one.env, cwd=one.folder)
    try:
        screen.expect("CPU")
        assert thread_count(screen.pid) > 1
        expect_none(screen.pid)
    finally:
        screen.send(b"q")
        screen.finish()
        screen.close()


@pytest.mark.parametrize("args", [
    ("plot", "-", "-o", "x.svg"),
    ("run", "--tape", "/dev/stdin"),
    ("export", RECORDING),
    ("report", RECORDING, "-f", "json", "--by", "pid"),
    ("help", "run"),
    ("limit", "--restore"),
    ("mark", "list"),
    ("top", "--replay", RECORDING, "--once"),
], ids=lambda args: args[0])
def test_who_reads_files_has_none(borrower, args):
    """Whatever it does: it is stopped at its first write or read, or later, and asked then."""
    one = borrower()
    ours, theirs = os.pipe()
    try:
        # A full pipe, and an input that nobody writes to: most wait there.
        os.set_blocking(theirs, False)
        try:
            while True:
                os.write(theirs, b"x" * 4096)
        except BlockingIOError:
            os.set_blocking(theirs, True)
        process = one.start(*args, stdin=subprocess.PIPE, stdout=theirs, stderr=theirs)
        try:
            expect_none(process.pid)
        finally:
            process.kill()
            process.communicate()
    finally:
        os.close(ours)
        os.close(theirs)


HIDDEN = """mount -t proc -o hidepid=2 proc /proc && exec "$@" """


def test_what_proc_hides_stays_hidden(borrower):
    """The kernel tells of everybody's end; with hidepid other users' names are not for this one."""
    one = borrower()
    if not shutil.which("unshare") or subprocess.run(["unshare", "-m", "sh", "-c", HIDDEN, "-", "true"], stderr=subprocess.DEVNULL,
                                                     check=False).returncode:
        pytest.skip("/proc cannot be mounted anew here")
    for name in ("shownself", "hiddenother"):
        shutil.copy("/bin/true", one.folder / name)
    args = ("run", "--full", "-o", "-", "-f", "json", *ALL, "--", "sh", "-c",
            "for i in 1 2 3 4 5 6 7 8 9; do ./shownself; done; echo >&2; sleep 3")

    def names(words):
        process = subprocess.Popen([*words, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=one.folder, env=one.env,
                                   text=True)
        process.stderr.readline()
        for _ in range(9):
            subprocess.run([one.folder / "hiddenother"], check=True)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        report = parse_json(out)
        if "processes" not in report:
            pytest.skip("this machine has no energy that could be attributed")
        check_ledger(report)
        return {p.get("name") for p in report["processes"]}
    seen = names(one.words)
    if "hiddenother" not in seen:
        pytest.skip("this kernel gives no exit records, or not in here")
    assert "shownself" in seen
    seen = names(("unshare", "-m", "sh", "-c", HIDDEN, "-", *one.words))
    assert "shownself" in seen and "hiddenother" not in seen


class Moving:
    """A machine whose perf counters are for the privileged, and draw 50 W each."""

    def __init__(self, folder, paranoid="4", powercap="!errno EACCES"):
        self.path = folder / "root"
        shutil.copytree(ROOTS / "eacces", self.path, symlinks=True)
        (self.path / "proc/sys/kernel/perf_event_paranoid").write_text(f"{paranoid}\n")
        zones = list((self.path / "sys").rglob("energy_uj"))
        assert zones
        for zone in zones:
            zone.write_text(f"{powercap}\n")
        self.files = [os.open(file, os.O_WRONLY | os.O_TRUNC) for file in (self.path / "wattle-perf").iterdir()]
        self.begin, self.ended = time.monotonic(), threading.Event()
        self.move()
        self.thread = threading.Thread(target=self.keep_moving)
        self.thread.start()

    def move(self):
        counts = 10 ** 12 + int((time.monotonic() - self.begin) * 50 * 2 ** 32)
        for file in self.files:
            os.pwrite(file, f"{counts:<40}\n".encode(), 0)

    def keep_moving(self):
        while not self.ended.wait(0.002):
            self.move()

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.ended.set()
        self.thread.join()
        for file in self.files:
            os.close(file)


COARSE = "once a second, in steps of 10 mJ"


def test_borrowed_rights_see_coarsely(borrower):
    """PLATYPUS: neither often nor finely, in reports and recordings; the sums hold to the microjoule."""
    one = borrower()
    one.folder.chmod(0o777)
    with Moving(one.folder) as machine:
        done = one.run("run", "--full", "-o", "-", "-f", "json", "-i", "10", "--record", "x.wattle", "--root", machine.path, "--nvml", "",
                       "--", "sleep", "2.5")
        assert done.returncode == 0, done.stderr
        report = parse_json(done.stdout)
        check_sums(report)
        assert any(COARSE in note for note in report["notes"])
        for line in report["domains"]:
            assert line["source"] == "rapl-perf"
            assert line["energy_j"] % Decimal("0.01") == 0 and line["energy_j"] > 0, line
            assert line["gap_s"] > 0 and line["measured_s"] > Decimal("0.9"), line
            assert line["samples"] <= 3, line
        told = parse_json(one.run("report", "x.wattle", "-f", "json").stdout)
        assert [line["energy_j"] for line in told["domains"]] == [line["energy_j"] for line in report["domains"]]
        assert any(COARSE in note for note in told["notes"])
        samples = list(csv.DictReader(one.run("export", "x.wattle", "--what", "samples").stdout.splitlines()))
        for name in {sample["domain"] for sample in samples}:
            times = [(int(s["t_mono_ns"]), s["energy_j"]) for s in samples if s["domain"] == name]
            assert len(times) >= 3
            # The window's start counts from 0 again: what is less than a second after the first one tells nothing.
            assert times[0][1] == times[1][1] == "0.000000"
            assert all(later[0] - sooner[0] >= 0.89e9 for sooner, later in zip(times[1:], times[2:])), times
            assert all(Decimal(energy) % Decimal("0.01") == 0 for _, energy in times)
        short = one.run("run", "--full", "-o", "-", "-f", "json", "--root", machine.path, "--nvml", "", "--", "sleep", "0.3")
        report = parse_json(short.stdout)
        for line in report["domains"]:
            assert ("energy_j" not in line and COARSE in line["reason"]) or report["duration_s"] > Decimal("0.9"), line
        doctor = parse_json(one.run("doctor", "-f", "json", "--root", machine.path, "--nvml", "").stdout)
        assert all("energy_j" in line and COARSE in line["reason"] for line in doctor["domains"])
        top = one.run("top", "--once", "--root", machine.path, "--nvml", "").stdout
        assert re.search(r"package-0 +[0-9.]+ W", top), top


@pytest.mark.parametrize("machine, words", [
    ({"paranoid": "0"}, NOBODY), ({"powercap": "77000000"}, NOBODY), ({}, ()),
], ids=["perf-for-all", "powercap-for-the-group", "root"])
def test_who_may_read_sees_all(borrower, machine, words):
    one = borrower()
    with Moving(one.folder, **machine) as moving:
        done = one.run("run", "--full", "-o", "-", "-f", "json", "-i", "10", "--root", moving.path, "--nvml", "", "--", "sleep", "0.3",
                       words=[*words, one.path])
        assert done.returncode == 0, done.stderr
        assert COARSE not in done.stdout
        package = domain(parse_json(done.stdout), "package-0")
        assert package["source"] == "rapl-perf" and package["energy_j"] > 0 and package["samples"] > 3


def test_no_foreign_library_with_rights(borrower):
    """They must not be lent to code of the caller's choice."""
    one = borrower()
    done = one.run("doctor", "--nvml", "./mine.so")
    assert done.returncode == 1
    assert done.stderr == "wattle: doctor: --nvml takes no library here: this wattle has more privileges than you\n"
    assert one.run("run", "--nvml", "", "--", "true").returncode == 0


def test_no_tape_with_rights(borrower):
    """It would hold counters as they were read."""
    one = borrower()
    one.folder.chmod(0o777)
    done = one.run("run", "--tape-record", "x.tape", "--", "true")
    assert done.returncode == 125
    assert done.stderr == "wattle: run: --tape-record keeps no tape here: this wattle has more privileges than you\n"
    assert not (one.folder / "x.tape").exists()
