# SPDX-License-Identifier: MIT
"""The files of a recording beside those of others: names that are taken, and files that somebody truncates."""

import fcntl
import os
import shutil
import signal
import stat
import struct
import subprocess
import tempfile
from pathlib import Path

import pytest

from conftest import clean_env, command_path, cut_environment, finish, wait_for
from test_record import ended, places, stop  # noqa: F401 (the fixture "place") pylint: disable=unused-import
from test_top import screens  # noqa: F401 (the fixture "screen") pylint: disable=unused-import

NOBODY = 65534
TRUNCATED = "the recording stopped: another program has truncated "


def as_nobody(action):
    """In a process of its own; what it opens stays open as long as it waits for us."""
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(go[1])
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            held = action()
            os.write(ready[1], b"x")
            os.read(go[0], 1)
            for fd in held:
                os.ftruncate(fd, 0)
        finally:
            os._exit(0)
    os.close(ready[1])
    os.close(go[0])
    assert os.read(ready[0], 1) == b"x"
    os.close(ready[0])

    def end():
        os.close(go[1])
        os.waitpid(child, 0)
    return end


@pytest.mark.parametrize("words", [["record", "--duration", "1", "-o"], ["run", "--record"]], ids=lambda words: words[0])
@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_a_file_that_somebody_else_has_made(place, monkeypatch, words, end):
    """In a directory like /tmp: what is in it could be read and truncated by its owner."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    shared = place.path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    taken = shared / f"a.wattle{end}"
    monkeypatch.chdir(shared)  # nobody may not go through what is above it
    let_go = as_nobody(lambda: [os.open(taken.name, os.O_RDWR | os.O_CREAT, 0o666)])
    try:
        result = place.run(*words, shared / "a.wattle", *(["--", "true"] if words[0] == "run" else []))
    finally:
        let_go()
    assert result.code == (125 if words[0] == "run" else 1)
    assert f"there is a file {taken} already" in result.complaint()
    assert os.listdir(shared) == [taken.name]
    assert (taken.stat().st_uid, taken.stat().st_size) == (NOBODY, 0)


@pytest.mark.parametrize("kind", ["another user's", "several names", "a pipe"])
def test_a_log_that_is_not_ours_alone(place, kind):
    """It would go on being another's, who reads on or changes what is said; it is not removed at the end either."""
    log, other = place.file("a.wattle.log"), place.file("other")
    if kind == "a pipe":
        os.mkfifo(log)
        reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    else:
        reader = os.open(log, os.O_RDONLY | os.O_CREAT)
    if kind == "several names":
        os.link(log, other)
    elif kind == "another user's":
        if os.geteuid() != 0:
            pytest.skip("only root can give a file away")
        os.chown(log, NOBODY, NOBODY)
        log.chmod(0o666)
    result = place.record("--background", "-q")
    assert result.code == 0 and "a.wattle.log: there is such a file already, which is not this user's alone" in result.complaint()
    assert place.run("record", "-q", "--stop", place.file()).code == 0
    assert log.exists() and os.read(reader, 1) == b""
    os.close(reader)


def test_a_log_of_ones_own(place):
    """Of a former recording of that name: what it says stays."""
    log = place.file("a.wattle.log")
    log.write_text("before\n")
    assert place.record("--background", "-q").err == ""
    assert place.run("record", "-q", "--stop", place.file()).code == 0
    assert log.read_text() == "before\n"


# ---- What a killed one has left ----


def test_temporary_files_are_swept(place):
    """Of this user, old, and held by nobody; not what is another's, new, in use, or called otherwise."""
    gone, stays = [place.file(f".wattle-{n}.tmp") for n in ("4711-0", "4711-1")], []
    for path in gone:
        path.write_bytes(b"SQLite format 3\0")
    for name in (".wattle-4711-2.tmp", ".wattle-4711-3.tmp", ".wattle-4711-4.tmp", ".wattle.tmp", "x.wattle-1-0.tmp", ".wattle-4711-5.tmp.txt"):
        stays.append(place.file(name))
        stays[-1].touch()
    os.link(stays[1], place.file("other name"))
    for path in [*gone, *stays[1:]]:
        os.utime(path, (0, 0))
    place.file(".wattle-4711-6.tmp").symlink_to("a link")
    with open(stays[2], "wb") as held:
        fcntl.fcntl(held, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))
        if os.geteuid() == 0:
            stays.append(place.file(".wattle-4711-7.tmp"))
            stays[-1].touch()
            os.chown(stays[-1], NOBODY, NOBODY)
            os.utime(stays[-1], (0, 0))
        assert place.record("--duration", "0.2").code == 0
    assert not any(path.exists() for path in gone)
    assert all(path.exists() for path in stays) and place.file(".wattle-4711-6.tmp").is_symlink()


# ---- Others hold locks ----

WRITE_LOCK_AT = 120  # in FILE-shm (SQLite's "WAL-mode file format", 2.3.3): whoever has it keeps the recorder from writing


def lock_as_reader(path):
    """A lock that everybody may take who may read the file. Returns what stays open."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except PermissionError:
        return []
    fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, WRITE_LOCK_AT)
    return [fd]


def test_a_reader_cannot_stop_a_recording(place, monkeypatch):
    """Others may read what a recording holds, but SQLite's locks are not for them."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    place.path.chmod(0o755)
    monkeypatch.chdir(place.path)
    process = place.running("--mode", "0644")
    wait_for(lambda: recorded(place), "the commits")
    let_go = as_nobody(lambda: lock_as_reader("a.wattle-shm"))
    try:
        before = place.rows("SELECT max(id) FROM part")
        # Where the lock is held, the recorder gives up after 10 s.
        wait_for(lambda: process.poll() is not None or place.rows("SELECT max(id) FROM part") > before, "the next commit")
        assert process.poll() is None, ended(process)
    finally:
        let_go()
    report = place.run("report", "--format", "json", place.file())
    assert report.code == 0 and report.json["total"]["energy_j"] > 0, report
    assert stop(process).code == 0
    place.check()


def test_others_read_the_file_alone(place):
    """Nothing is in it yet, and one line says where it is. At the end, all of it."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root and setpriv, to become others")
    if not all(parent.stat().st_mode & stat.S_IXOTH for parent in Path(command_path()).resolve().parents):
        pytest.skip("the command is closed to other users")
    with tempfile.TemporaryDirectory(prefix="wattle-test-") as folder:
        os.chmod(folder, 0o755)
        place.path = Path(folder)

        def told(*args):
            done = subprocess.run(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", command_path(), "report", *args, "a.wattle"],
                                  cwd=folder, env=clean_env(), capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + done.stderr
        process = place.running("--mode", "0644")
        wait_for(lambda: recorded(place), "the commits")
        code, text = told()
        assert code == 1 and len(text.splitlines()) == 1 and "nothing that was measured is in the file yet" in text
        code, text = told("--check")
        assert code == 1 and text.splitlines() == ["a.wattle: its newest part is in a.wattle-wal, which only its owner may read; it is in the file when "
                                                   "the recording has ended"]
        assert stop(process).code == 0
        assert told("--check") == (0, "a.wattle: nothing is damaged or missing\n")


# ---- FILE-shm is truncated ----


def recorded(place):
    """Two seconds and more are on the disk."""
    return place.file().exists() and place.rows("SELECT count(*) FROM part")[0][0] >= 2


def check_readable(place):
    report = place.run("report", "--format", "json", place.file())
    assert report.code == 0 and report.json["total"]["energy_j"] > 0, report
    assert TRUNCATED not in report.err
    told = place.run("report", "--check", place.file()).out.splitlines()
    assert len(told) == 1 and "it was cut off: there is nothing after" in told[0], told


def test_it_is_truncated_while_recording(place):
    process = place.running()
    wait_for(lambda: recorded(place), "the commits")
    os.truncate(place.file("a.wattle-shm"), 0)
    result = ended(process, 1)
    first, second = result.err.splitlines()
    assert f"{place.file()}: {TRUNCATED}{place.file()}-shm" in first
    assert f"wattle report {place.file()}" in second
    check_readable(place)


def cutting(place):
    """The environment of a command that finds it truncated in the middle of what SQLite does, once the file is there."""
    return place.file("cut"), cut_environment(place.file("cut"))


def test_it_is_truncated_while_it_is_written(place):
    now, env = cutting(place)
    process = place.running(env=env)
    wait_for(lambda: recorded(place), "the commits")
    now.touch()
    result = ended(process, 1)
    assert len(result.err.splitlines()) == 2 and TRUNCATED in result.err, result
    check_readable(place)


def test_a_run_goes_on(place):
    """The command is measured to its end, and what was recorded can be read meanwhile."""
    now, env = cutting(place)
    done = place.file("done")
    with open(place.file("err"), "wb") as err:
        process = place.start("run", "--record", place.file(), "--", "sh", "-c", f"while [ ! -e {done} ]; do sleep 0.05; done",
                              env=env, stderr=err)
        wait_for(lambda: recorded(place), "the commits")
        now.touch()
        wait_for(lambda: TRUNCATED in place.file("err").read_text(), "the recording to stop")
        assert process.poll() is None
        report = place.run("report", "--format", "json", place.file())
        assert report.code == 0 and report.json["total"]["energy_j"] > 0, report
        done.touch()
        result = finish(process)
    assert result.code == 125
    check_readable(place)
    assert "machine" in result.out + place.file("err").read_text()


def test_it_is_truncated_as_a_recording_begins(place):
    now, env = cutting(place)
    now.touch()
    result = place.record("--duration", "1", env=env)
    assert result.code == 1 and "no recording can be made there" in result.complaint()
    assert not [name for name in os.listdir(place.path) if "wattle" in name]


READ_MEANWHILE = "another program has truncated a file while it was read"


@pytest.mark.parametrize("words", [("report",), ("report", "--check"), ("export",), ("plot", "--format", "svg"), ("plot", "--what", "processes"),
                                   ("top", "--once", "--replay")], ids=" ".join)
def test_it_is_truncated_while_somebody_reads(place, words):
    """A signal would be all that is said."""
    process = place.running()
    wait_for(lambda: recorded(place), "the commits")
    process.send_signal(signal.SIGSTOP)
    now, env = cutting(place)
    now.touch()
    result = place.run(*words, place.file(), env=env)
    process.send_signal(signal.SIGCONT)
    process.kill()
    process.communicate()
    assert (result.code, result.out) == (1, "")
    assert f"{words[0]}: {READ_MEANWHILE}" in result.complaint()


def test_it_is_truncated_while_it_is_on_the_screen(place, screen):
    """Touched by the thread that reads, long after the first picture: the terminal is given back, and the line is on it."""
    process = place.running()
    wait_for(lambda: place.file().exists() and place.rows("SELECT count(*) FROM part")[0][0] >= 5, "the commits")
    process.kill()
    process.communicate()
    top = screen("--replay", place.file(), "--speed", "max", columns=160)
    top.wait("the end: it was cut off")
    os.truncate(place.file("a.wattle-shm"), 0)
    top.keys("b")  # from the start again: the file is read once more
    top.wait("ENDED 1")
    assert "BEFORE" in top.text() and f"wattle: top: {READ_MEANWHILE}" in top.text() and "DOMAIN" not in top.text()


def test_a_signal_of_that_number(place):
    """That somebody sends it is no file's fault."""
    with subprocess.Popen([command_path(), "run", "--", "sleep", "60"], env=clean_env(**place.env), stderr=subprocess.PIPE,
                          stdout=subprocess.PIPE, start_new_session=True) as process:
        wait_for(lambda: Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(), "the command")
        process.send_signal(signal.SIGBUS)
        code = process.wait()
        os.killpg(process.pid, signal.SIGKILL)  # the command has its standard error still
        assert code == -signal.SIGBUS and b"truncated" not in process.stderr.read()
