# SPDX-License-Identifier: MIT
"""wattle top --replay: a recording on the screen, in tmux, and one picture of it."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from decimal import Decimal

import pytest

from conftest import REPO, command_path, finish, run_wattle, start_wattle, wait_for
from test_top import TAPES, screens, sleepers  # noqa: F401 pylint: disable=unused-import

sys.path.insert(0, str(REPO / "tests" / "sim"))
sys.path.insert(0, str(REPO / "bench"))

import bench_attribution  # noqa: E402
import virtual  # noqa: E402

WORD = "wattle-recorded-sleeper"
SECONDS = 6
# Names of processes that do nothing are not read.
WORKER = "import time\nwhile 1: sum(range(400000)); time.sleep(.08)"


@pytest.fixture(name="recording", scope="module")
def recordings(tmp_path_factory):
    """This machine for some seconds, with a process that can be known again."""
    folder = tmp_path_factory.mktemp("recording")
    path = folder / "here.wattle"
    sleeper = subprocess.Popen((sys.executable, "-S", "-E", "-c", WORKER, WORD))
    try:
        result = run_wattle("record", "-o", path, "--duration", str(SECONDS), "--idle-file", folder / "idle")
    finally:
        sleeper.kill()
        sleeper.wait()
    assert result.code == 0, result.err
    (folder / "pid").write_text(str(sleeper.pid))
    return path


@pytest.fixture(name="server", scope="module")
def servers(tmp_path_factory):
    """A tape of a server, recorded."""
    path = tmp_path_factory.mktemp("recording") / "server.wattle"
    result = run_wattle("record", "-o", path, "--tape", TAPES / "server.tape", "--location", "FRA")
    assert result.code == 0, result.err
    return path


def once(*options, **env):
    result = run_wattle("top", "--once", *options, env=env)
    assert result.code == 0, result.err
    return result.out


def energies(text):
    """Domain: what it used, as printed."""
    return dict(re.findall(r"(?m)^ (\w+-\d+) .* (\d[\d.]* k?J)", text))


# ---- Once ----

def test_once_is_what_was_live(server):
    live, played = once("--tape", TAPES / "server.tape", "--location", "FRA"), once("--replay", server)
    assert energies(played) == energies(live) and len(energies(played)) == 5
    assert re.search(r"(?m)^ package-0 +\d+\.\d W", played), played
    # Host, processor, kernel, place and time are the recording's.
    assert " FRA " in played.splitlines()[0]
    assert "Xeon" in played and "kernel 6.1.0-28-amd64" in played
    assert re.search(r"the end +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", played), played
    assert "recording took" in played and "F10" not in played and "\x1b" not in played
    # What the report says of it.
    total = run_wattle("report", "-f", "json", server).json["total"]["energy_j"]
    shown = Decimal(re.search(r"(\d\.\d{3}) kJ", played.splitlines()[0]).group(1))
    assert abs(shown * 1000 - total) < 1


def test_once_has_who_was_there(recording):
    pid = (recording.parent / "pid").read_text()
    text = once("--replay", recording, "--filter", f"pid = {pid} && command ~ {WORD}", COLUMNS="200")
    assert re.search(rf"(?m)^ +{pid} \S+ .*{WORD}", text), text
    assert "1 process by W where" in text


@pytest.mark.parametrize("place, shown", (("+2", "0:00:02 of"), ("3.5", "0:00:03 of"), ("+0", "0:00:00 of")))
def test_once_at_a_place(recording, place, shown):
    text = once("--replay", recording, "--at", place)
    assert shown in text and "the end" not in text and "seeking" not in text


def test_once_at_a_time_of_day(recording):
    begin = re.search(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC", once("--replay", recording, "--at", "+3")).groups()
    text = once("--replay", recording, "--at", f"{begin[0]}T{begin[1]}.9Z")
    assert f"{begin[0]} {begin[1]} UTC" in text


def test_once_in_the_viewers_time(server):
    text = once("--replay", server, TZ="XYZ-3")
    utc, local = re.search(r" (\d\d):\d\d:\d\d UTC \((\d\d):\d\d:\d\d XYZ\)", text).groups()
    assert (int(utc) + 3) % 24 == int(local)


def test_once_without_processes(recording):
    text = once("--replay", recording, "--no-processes")
    assert "--no-processes" in text and WORD not in text


def test_a_recording_stays_as_it_is(recording, tmp_path):
    before = recording.read_bytes()
    names = sorted(p.name for p in recording.parent.iterdir())
    once("--replay", recording, HOME=tmp_path, XDG_STATE_HOME=tmp_path, XDG_CACHE_HOME=tmp_path)
    assert recording.read_bytes() == before
    assert sorted(p.name for p in recording.parent.iterdir()) == names and not list(tmp_path.iterdir())


# ---- The screen ----

def test_plays_to_its_end(screen, recording):
    top = screen("--replay", recording, "--speed", "max", columns=160)
    top.wait(r"0:00:0\d of 0:00:0\d  the end")
    top.wait(r"DOMAIN +POWER")
    top.wait("recording took")
    assert "does not answer" not in top.text()
    top.keys("q")
    top.wait("ENDED 0")


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_rows_of_one_picture(recording, rows):
    """As many as were asked for, also none."""
    result = run_wattle("top", "--once", "--replay", recording, "--rows", str(rows))
    assert result.code == 0, result
    below = result.out.split("COMMAND\n")[1].splitlines()
    assert len([line for line in below if re.match(r" +\d+ ", line)]) == rows, result.out


def test_pause_and_seek(screen, recording):
    top = screen("--replay", recording, "--at", "+2", "--speed", "0.1", columns=160)
    top.wait(r"0:00:02 of 0:00:0\d  ×0.1")
    top.keys("Space")
    top.wait(r"0:00:02 of 0:00:0\d  paused ×0.1")
    top.keys("e")
    top.wait(r"the end")
    top.keys("j")
    top.wait(r"0:00:00 of 0:00:0\d  paused ×0.1")
    top.keys("l")
    top.wait("the end")
    top.keys("b")
    top.wait(r"0:00:00 of 0:00:0\d  paused")
    top.keys("f", "f", "f")
    top.wait("paused ×0.8")
    top.keys("s", "=")
    top.wait("paused ×1 ")
    top.keys("Space")
    top.wait(r"0:00:0[3-9] of 0:00:0\d  ×1 ")
    top.wait("the end")
    top.keys("q")
    top.wait("ENDED 0")


def test_what_a_busy_gpu_draws_is_among_the_details(screen, tmp_path):
    tape, recording = tmp_path / "gpu.tape", tmp_path / "gpu.wattle"
    tape.write_text(virtual.Machine(bench_attribution.on_gpu(3, 60).text).tape(), encoding="utf-8")
    assert run_wattle("record", "-q", "--tape", tape, "-o", recording).code == 0
    top = screen("--replay", recording, "--speed", "max", rows=40, columns=120)
    top.wait(r"0:01:00 of 0:01:00  the end(.|\n)* g1\b")
    top.keys("Enter")
    top.wait(r"learned +\d+\S* ±\d+\S* W per busy GPU")
    top.keys("q")


def test_help_and_kill(screen, recording):
    top = screen("--replay", recording, "--speed", "max", rows=40, columns=120)
    top.wait("the end")
    top.keys("h")
    top.wait("stop the play; go on")
    top.keys("q")
    top.wait_without("stop the play")
    for key in ("k", "F9"):
        top.keys(key)
        top.wait("These processes are of a recording")
    top.keys("q")
    top.wait("ENDED 0")


def test_resizing(screen, recording):
    top = screen("--replay", recording, "--speed", "max")
    top.wait("the end")
    for rows, columns in ((5, 20), (60, 200), (1, 1), (2, 10), (24, 80), (3, 300), (80, 12)):
        top.resize(rows, columns)
        top.keys("b" if rows % 2 else "e")
        time.sleep(0.05)
    top.resize(5, 20)
    top.wait("F10Quit")
    top.resize(40, 120)
    top.wait(r"of 0:00:0\d  ")
    top.keys("e")
    top.wait("the end")
    top.keys("q")
    top.wait("ENDED 0")


def test_click_on_the_bar(terminal, tmp_path, recording):
    top = terminal(command_path(), "top", "--replay", recording, "--speed", "max",
                   env={"XDG_CONFIG_HOME": tmp_path, "TERM": "xterm-256color", "TZ": "UTC"})
    top.expect("the end")
    top.send(b" ")
    top.send(b"\x1b[<0;37;2M\x1b[<0;37;2m")
    top.expect("paused")
    top.send(b"q")
    assert top.finish().code == 0


def test_of_a_signal(terminal, tmp_path, recording):
    top = terminal(command_path(), "top", "--replay", recording, env={"XDG_CONFIG_HOME": tmp_path}).expect("Quit")
    os.kill(top.pid, signal.SIGTERM)
    assert top.finish().code == 128 + signal.SIGTERM


# ---- Recordings that are not whole ----

def test_while_it_is_written(tmp_path):
    path = tmp_path / "live.wattle"
    env = {"XDG_RUNTIME_DIR": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    process = start_wattle("record", "-o", path, env=env)

    def shown():
        result = run_wattle("top", "--once", "--replay", path)
        return result.code == 0 and re.search(r"of 0:00:0[2-9]  the end so far", result.out)
    try:
        wait_for(shown, "some seconds of it")
    finally:
        process.send_signal(signal.SIGINT)
    finish(process)
    assert re.search(r"  the end ", once("--replay", path))


def test_cut_off(recording, tmp_path):
    path = tmp_path / "cut.wattle"
    path.write_bytes(recording.read_bytes())
    database = sqlite3.connect(path)
    database.execute("UPDATE recording SET is_whole = 0")  # as a recorder that was killed leaves it
    database.commit()
    database.close()
    assert "the end: it was cut off" in once("--replay", path)


def test_damaged(recording, tmp_path):
    data = bytearray(recording.read_bytes())
    for at in range(len(data) // 3, len(data) // 2):
        data[at] ^= 0x5a
    path = tmp_path / "bad.wattle"
    path.write_bytes(data)
    result = run_wattle("top", "--once", "--replay", path)
    assert result.code in (0, 1)
    if result.code == 1:
        assert result.err.startswith("wattle: top: ") and len(result.err.splitlines()) == 1, result.err


def test_damaged_from_the_first_second_on(tmp_path):
    """What is left has no time of its own: the start's is known all the same."""
    data = bytearray((TAPES.parent / "recorded" / "busy-thread.wattle").read_bytes())
    data[8 * 4096:10 * 4096] = bytes(range(256)) * 32
    path = tmp_path / "damaged.wattle"
    path.write_bytes(data)
    shown = once("--replay", path)
    assert "cannot be read" in shown and "1970" not in shown
    assert "2026-11-21 12:44:44 UTC" in shown


# ---- Options ----

@pytest.mark.parametrize("text, says", (
    (None, "No such file"),
    ("", "it is empty"),
    ("text\n" * 1000, "not a recording"),
))
def test_no_recording(tmp_path, text, says):
    path = tmp_path / "x.wattle"
    if text is not None:
        path.write_text(text)
    for options in (("--once",), ()):
        result = run_wattle("top", *options, "--replay", path)
        assert result.code == 1 and says in result.err and str(path) in result.err
        assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize("options, says", (
    (("--replay", "x", "--tape", "y"), "--replay goes by the recording alone: --tape is of no use"),
    (("--replay", "x", "--root", "/"), "--root is of no use"),
    (("--replay", "x", "--tape-record", "y"), "--tape-record is of no use"),
    (("--replay", "x", "--nvml", ""), "--nvml is of no use"),
    (("--replay", "x", "--interval", "100"), "--interval is of no use"),
    (("--replay", "x", "--idle-file", "y"), "--idle-file is of no use"),
    (("--replay", "x", "--weight", "cycles"), "--weight is of no use"),
    (("--replay", "x", "--once", "--speed", "2"), "--speed is not for --once"),
    (("--speed", "2"), "--speed is for --replay"),
    (("--at", "+2"), "--at is for --replay"),
    (("--replay", "x", "--speed", "0"), "--speed takes a number from 0.1 to 1000, or max, not '0'"),
    (("--replay", "x", "--speed", "fast"), "not 'fast'"),
    (("--replay", "x", "--at", "noon"), "--at takes a time such as"),
))
def test_bad_options(options, says):
    result = run_wattle("top", *options)
    assert result.code == 2 and says in result.err, result.err
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize("place", ("+1h", "2001-01-01T00:00Z", "2201-01-01T00:00Z"))
def test_a_place_that_is_not_in_it(recording, place):
    result = run_wattle("top", "--once", "--replay", recording, "--at", place)
    assert result.code == 1 and re.search(r"--at: the recording lasts \d\.\d s, and this is not in it", result.err)


def test_no_terminal(recording):
    result = run_wattle("top", "--replay", recording)
    assert result.code == 1 and "--once" in result.err and not result.out
