# SPDX-License-Identifier: MIT
"""Files: what is none is not waited for, what pipes bring is read, and what is written is for those who may read it."""

import fcntl
import os
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import termios
import threading
from decimal import Decimal
from pathlib import Path

import pytest

from conftest import REPO, ROOTS, TIMEOUT, clean_env, command_path, finish, run_wattle, start_wattle, wait_for

XEON = ("--root", ROOTS / "xeon-2s-dram")
TAPE = REPO / "tests" / "fixtures" / "tapes" / "server.tape"
GPU_LOG = REPO / "tests" / "fuzz" / "corpus" / "import" / "nvidia-smi"
RECORDING = REPO / "tests" / "fixtures" / "recorded" / "busy-thread.wattle"
INTENSITY = b"2020-01-01 00:00:00,50\n"
HANGS = 10  # seconds: nothing here takes one


@pytest.fixture(name="place")
def place_for_files(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    shutil.copy(RECORDING, tmp_path / "a.wattle")
    return tmp_path


@pytest.fixture(name="report", scope="module")
def a_report():
    return run_wattle("run", *XEON, "-f", "json", "--", "true").out_bytes


def quick(place, *args, **options):
    env = {"XDG_STATE_HOME": place / "state", "XDG_CONFIG_HOME": place / "config"}
    return run_wattle(*args, cwd=place, env=env, timeout=HANGS, **options)


# ---- What is no file ----

@pytest.mark.parametrize("args", [
    ("run", "--tape", "FILE"), ("record", "-o", "r.wattle", "--tape", "FILE"), ("doctor", "--tape", "FILE"), ("query", "--tape", "FILE"),
    ("top", "--once", "--tape", "FILE"), ("report", "FILE"), ("report", "--check", "FILE"), ("report", "a.wattle", "--intensity", "FILE"), ("export", "FILE"), ("plot", "FILE"), ("top", "--once", "--replay", "FILE"),
], ids=" ".join)
def test_pipes_and_devices_are_refused(place, args):
    """Nobody writes the pipe, so who opens it as a file waits for ever; a device may do anything."""
    for odd in ("pipe", "/dev/zero"):
        result = quick(place, *with_file(args, odd))
        assert result.code == (125 if args[0] == "run" else 1), result
        line = result.complaint()
        assert odd in line and "egular file" in line, line
    assert not (place / "r.wattle").exists()


@pytest.mark.parametrize("args", [("--idle-file", "FILE"), ("--config", "FILE"), ("--nvml", "FILE")], ids=" ".join)
def test_what_can_be_done_without_is_a_remark(place, args):
    for odd in ("./pipe", "/dev/zero"):
        result = quick(place, "top", "--once", *(() if args[0] == "--nvml" else XEON), *with_file(args, odd))
        assert result.code == 0
        told = [line for line in result.err.splitlines() if "Not a regular file" in line]
        assert len(told) == 1 and odd in told[0], result.err


def test_the_empty_device_is_an_empty_file(place):
    assert quick(place, "top", "--once", *XEON, "--idle-file", "/dev/null", "--config", "/dev/null").err == ""


@pytest.mark.parametrize("command", [("run", "-o", "-", "--", "true"), ("record", "-o", "r.wattle", "--duration", "1"), ("doctor",)])
def test_idle_file_that_is_a_pipe(place, command):
    """It is read while signals wait for the sampling loop: whoever waited here could only be killed."""
    result = quick(place, command[0], *XEON, "--idle-file", "pipe", *command[1:])
    assert result.code in (0, 3)
    assert "the idle baselines in 'pipe' cannot be read: Not a regular file" in result.err
    assert (place / "pipe").is_fifo()


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("args", [("report",), ("report", "--check"), ("export",), ("plot",), ("top", "--once", "--replay")], ids=" ".join)
def test_pipes_beside_a_recording(place, args, end):
    """SQLite would open them: whoever may only read one waits for its writer."""
    os.mkfifo(place / f"a.wattle{end}")
    result = quick(place, *args, "a.wattle")
    assert result.code == 1
    assert f"a.wattle{end} beside it is no regular file" in result.complaint()


# ---- What pipes bring ----

def by_pipe(content, *args):
    """As a shell's <(…): /dev/fd/N, which is written a while after wattle has begun to read."""
    out, into = os.pipe()

    def write():
        with os.fdopen(into, "wb") as pipe:
            pipe.write(content[:100])
            pipe.flush()
            wait_for(lambda: unread(into) == 0, "the reader")
            pipe.write(content[100:])
    writer = threading.Thread(target=write)
    process = start_wattle(*with_file(args, f"/dev/fd/{out}"), pass_fds=[out])
    writer.start()
    result = finish(process)
    os.close(out)
    writer.join()
    return result


def unread(fd):
    return struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"\0" * 4))[0]


def texts(report):
    """The words, what the file has, and what of the result tells that all of it was read."""
    return {"--tape": (("run", "-o", "-", "-f", "json", "--tape", "FILE"), TAPE.read_bytes(), lambda result: result.json["total"]),
            "--intensity": (("report", "-f", "json", RECORDING, "--intensity", "FILE"), INTENSITY, lambda result: result.json["carbon"]["gco2e"]),
            "--config": (("top", "--once", *XEON, "--idle-file", "", "--config", "FILE"), b"window = 5min\nno such line\n" * 200,
                         lambda result: result.err.split(": ", 2)[2]),
            "plot": (("plot", "FILE"), report, lambda result: result.out_bytes)}


def with_file(args, path):
    return [path if word == "FILE" else word for word in args]


@pytest.mark.parametrize("what", ["--tape", "--intensity", "--config", "plot"])
def test_texts_come_by_pipe(what, report, tmp_path):
    args, content, told = texts(report)[what]
    (tmp_path / "file").write_bytes(content)
    plain = run_wattle(*with_file(args, tmp_path / "file"))
    assert plain.code == 0 and told(plain)
    assert told(by_pipe(content, *args)) == told(plain)
    assert told(run_wattle(*with_file(args, "/dev/stdin"), stdin=content)) == told(plain)
    with open(tmp_path / "file", "rb") as file:
        assert told(run_wattle(*with_file(args, "/dev/stdin"), stdin_file=file)) == told(plain)


def test_plot_of_standard_input(report):
    assert run_wattle("plot", "-", stdin=report).out_bytes == run_wattle("plot", "/dev/stdin", stdin=report).out_bytes != b""


@pytest.mark.parametrize("what", ["--tape", "--intensity", "--config", "plot"])
def test_a_pipe_that_does_not_end_can_be_left(what, report):
    out, into = os.pipe()
    args, content, _ = texts(report)[what]
    with os.fdopen(into, "wb") as pipe:
        process = start_wattle(*with_file(args, f"/dev/fd/{out}"), pass_fds=[out])
        pipe.write(content)
        pipe.flush()
        wait_for(lambda: unread(into) == 0, "the reader")
        process.send_signal(signal.SIGINT)
        assert finish(process, HANGS).code == -signal.SIGINT
    os.close(out)


def test_a_pipe_brings_no_more_than_a_file_may_have():
    with open("/dev/zero", "rb") as zeros:
        result = run_wattle("report", RECORDING, "--intensity", "/dev/stdin", stdin_file=zeros)
    assert result.code == 1 and "File too large" in result.complaint()


# ---- Where lines are written ----

def blocks(process, number):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        blocked = next(line for line in status if line.startswith("SigBlk"))
    return int(blocked.split()[1], 16) & 1 << (number - 1)


def test_every_to_a_pipe_that_nobody_reads(place):
    process = start_wattle("run", *XEON, "--every", "1", "-o", "pipe", "--", "touch", "ran", cwd=place)
    try:
        wait_for(lambda: blocks(process, signal.SIGINT), "the loop")
        process.send_signal(signal.SIGINT)
        result = finish(process, HANGS)
    finally:
        process.kill()
    assert result.code == 125
    assert "cannot write 'pipe': Operation canceled; nothing was run" in result.complaint()
    assert not (place / "ran").exists()


@pytest.mark.parametrize("how", [("-o",), ("--append", "-o")], ids=" ".join)
def test_a_report_to_a_pipe_that_nobody_reads(place, how):
    """It has been measured: it is told where it can be."""
    process = start_wattle("run", *XEON, *how, "pipe", "--", "touch", "ran", cwd=place)
    try:
        wait_for((place / "ran").exists, "the command")
        # From then on, signals are no longer the command's.
        wait_for(lambda: not blocks(process, signal.SIGQUIT), "the loop's end")
        process.send_signal(signal.SIGTERM)
        result = finish(process, HANGS)
    finally:
        process.kill()
    assert result.code == 125, result
    assert "cannot write the result to 'pipe': Operation canceled; here it is instead:" in result.err
    assert "wattle: touch ran\n" in result.err


def test_every_to_a_pipe_that_is_read_later(place):
    process = start_wattle("run", *XEON, "--every", "1", "-f", "csv", "-o", "pipe", "--", "true", cwd=place)
    with subprocess.Popen(["cat", place / "pipe"], stdout=subprocess.PIPE) as reader:
        assert finish(process).code == 0
        assert reader.communicate(timeout=TIMEOUT)[0].startswith(b"time_s,")


@pytest.mark.parametrize("how", [("run", *XEON, "-o", "pipe", "--", "true"), ("run", *XEON, "--append", "-o", "pipe", "--", "true"),
                                 ("run", *XEON, "-o", "r", "--tape-record", "pipe", "--", "true"), ("export", "-o", "pipe", "a.wattle"),
                                 ("report", "-o", "pipe", "a.wattle"), ("plot", "--format", "svg", "-o", "pipe", "a.wattle")],
                         ids=lambda how: " ".join(map(str, how)))
def test_what_is_written_to_a_pipe_that_is_read_later(place, how):
    process = start_wattle(*how, cwd=place)
    with subprocess.Popen(["cat", place / "pipe"], stdout=subprocess.PIPE) as reader:
        assert finish(process).code == 0
        assert len(reader.communicate(timeout=TIMEOUT)[0]) > 100


# ---- Where lines are written that nobody reads ----

F_SETPIPE_SZ = 1031  # fcntl has it from Python 3.10 on
PAGE = 4096  # a pipe of two: what is said to have room for more has a free one


@pytest.fixture(name="full")
def a_small_pipe(place):
    """The end of place/pipe that could be read."""
    fd = os.open(place / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(fd, F_SETPIPE_SZ, 2 * PAGE)
    yield fd
    os.close(fd)


def wait_until_full(fd):
    """It takes no line more."""
    wait_for(lambda: unread(fd) > PAGE, "the pipe to be full")


def interrupted(process, number=signal.SIGINT):
    """With as many Ctrl-C as it takes."""
    try:
        wait_for(lambda: process.poll() is not None or process.send_signal(number), "the end")
    finally:
        process.kill()
    return finish(process, HANGS)


def test_measuring_does_not_wait_for_a_pipes_reader(place, full):
    """The run ends and is reported. Nothing is left out of the lines that come when it reads at last: some are of a longer interval."""
    process = start_wattle("run", "-i", "10ms", "--every", "10ms", "-f", "csv", "-o", "pipe", "--record", "r.wattle", "--", "sleep", "4", cwd=place)
    assert process.stderr.readline() == b"wattle: sleep 4\n"
    os.set_blocking(full, True)
    with os.fdopen(os.dup(full), "rb") as pipe:
        text = pipe.read().decode()
    assert finish(process).code == 0
    head, *rows = [line.split(",") for line in text.splitlines()]
    told = [{name: Decimal(cell) for name, cell in zip(head, row) if name != "method" and cell not in ("", "true", "false")} for row in rows]
    report = run_wattle("report", "-f", "json", place / "r.wattle").json
    assert sum(row["energy_j"] for row in told) == report["total"]["energy_j"]
    assert sum(row["duration_s"] for row in told) == told[-1]["time_s"] >= 4
    assert max(row["duration_s"] for row in told) > 20 * min(row["duration_s"] for row in told)


@pytest.mark.parametrize("form", ["text", "csv", "json"])
def test_lines_that_nobody_takes_can_be_left(place, full, form):
    process = start_wattle("run", *XEON, "-i", "10ms", "--every", "10ms", "-f", form, "-o", "pipe", "--", "sleep", "600", cwd=place)
    wait_until_full(full)
    process.send_signal(signal.SIGINT)
    result = finish(process)
    assert result.code == 125
    assert result.err.count("Operation canceled") == 1 and "cannot write the lines of --every: Operation canceled\n" in result.err
    assert "wattle: sleep 600\n" in result.err  # the report


@pytest.mark.parametrize("where", ["pipe", "-"])
def test_a_report_that_a_pipe_does_not_take_can_be_left(place, full, where):
    out = os.open(place / "pipe", os.O_WRONLY)
    process = start_wattle("run", *XEON, "-f", "json", "-r", "9", "-o", where, "--", "true", cwd=place,
                           stdout=out if where == "-" else subprocess.DEVNULL)
    os.close(out)
    wait_until_full(full)
    process.send_signal(signal.SIGINT)
    result = finish(process, HANGS)
    assert result.code == 125
    place_named = "standard output" if where == "-" else "'pipe'"
    assert f"cannot write the result to {place_named}: Operation canceled; here it is instead:\n" in result.err
    assert "wattle: true\n" in result.err


def test_standard_error_that_nobody_reads_can_be_left(place, full):
    """Lines, the report and complaints: none of them holds it up. The report goes where it can."""
    into = os.open(place / "pipe", os.O_WRONLY)
    words = ("run", *XEON, "-i", "10ms", "--every", "10ms", "--", "sleep", "600")  # not start_wattle()'s: it adds -o
    process = subprocess.Popen([command_path(), *words], cwd=place, env=clean_env(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=into)
    os.close(into)
    wait_until_full(full)
    result = interrupted(process)
    assert result.code == 125 and "wattle: sleep 600\n" in result.out


def test_a_tape_that_nobody_takes_can_be_left(place, full):
    process = start_wattle("run", *XEON, "-i", "1ms", "--tape-record", "pipe", "--", "sleep", "600", cwd=place)
    wait_until_full(full)
    process.send_signal(signal.SIGINT)
    result = finish(process, HANGS)
    assert result.code == 128 + signal.SIGINT
    assert result.err.count("Operation canceled") == 1 and "the tape 'pipe' is not whole: Operation canceled\n" in result.err
    assert "wattle: sleep 600\n" in result.out


@pytest.mark.parametrize("words", [("export", "a.wattle"), ("export", "-f", "ndjson", "a.wattle"), ("report", "-f", "json", "a.wattle"),
                                   ("plot", "--format", "svg", "a.wattle"), ("query", "-q", "-lms", "10")], ids=" ".join)
@pytest.mark.parametrize("where", ["pipe", "-"])
def test_what_measures_nothing_ends_by_the_signal(place, full, words, where):
    out = os.open(place / "pipe", os.O_WRONLY)
    option = "-f" if words[0] == "query" else "-o"
    process = start_wattle(*words, option, "pipe" if where == "pipe" else "/dev/stdout", cwd=place, stdout=out)
    os.close(out)
    wait_until_full(full)
    assert interrupted(process).code == -signal.SIGINT


# ---- Who may read what is written ----

NOBODY = 65534
# What makes the file "made", for each way in which wattle makes one.
MAKERS = {
    "run -o": ("run", *XEON, "-o", "made", "--", "true"),
    "run --append": ("run", *XEON, "--append", "-o", "made", "--", "true"),
    "run --every": ("run", *XEON, "--every", "1", "-o", "made", "--", "true"),
    "run --emissions": ("run", *XEON, "-o", "out", "--emissions", "made", "--", "true"),
    "run --record": ("run", "-q", "-o", "out", "--record", "made", "--", "true"),
    "run --tape-record": ("run", *XEON, "-o", "out", "--tape-record", "made", "--", "true"),
    "run --idle-file": ("run", "-q", "--tape", TAPE.with_name("busy-thread.tape"), "-o", "out", "--idle-file", "made"),
    "compare": ("compare", *XEON, "-r", "1", "-o", "made", "true", "true"),
    "record": ("record", "-q", "-o", "made", "--duration", "0.2"),
    "import": ("import", GPU_LOG, "-o", "made"),
    "report": ("report", "-o", "made", RECORDING),
    "export": ("export", "-o", "made", RECORDING),
    "plot": ("plot", "--format", "svg", "-o", "made", RECORDING),
    "doctor": ("doctor", *XEON, "-o", "made"),
    "estimate": ("estimate", "--paper", "list", "-o", "made"),
    "query": ("query", "--root", ROOTS / "amd-gpu", "--nvml", "", "-L", "-f", "made"),
}


def needs_root():
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root and setpriv, to become others")


@pytest.fixture(name="shared")
def folder_of_everybody():
    with tempfile.TemporaryDirectory(prefix="wattle-test-") as path:
        os.chmod(path, 0o777)
        yield Path(path)


def own_places(folder, uid=0):
    """Where it keeps its sockets and its state, apart from those of tests beside this one: wattle takes no folder of another user's."""
    for name in ("sockets", "state"):
        (folder / name).mkdir(mode=0o700, exist_ok=True)
        os.chown(folder / name, uid or os.geteuid(), -1)
    return {"XDG_RUNTIME_DIR": str(folder / "sockets"), "XDG_STATE_HOME": str(folder / "state")}


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def make(folder, maker, *more, umask=0o027, rights=(), **options):
    """The mode of what was made, by root or as setpriv is told."""
    for path in (command_path(), REPO, folder):
        if rights and not all(parent.stat().st_mode & stat.S_IXOTH for parent in Path(path).resolve().parents):
            pytest.skip(f"{path} is closed to other users")
    command, *words = map(str, MAKERS[maker])
    env = {**os.environ, **own_places(folder, NOBODY if rights else 0), "LC_ALL": "C"}
    done = subprocess.run([*(("setpriv", *rights) if rights else ()), command_path(), command, *more, *words], cwd=folder, umask=umask, env=env,
                          capture_output=True, timeout=TIMEOUT, check=False, **options)
    assert done.returncode in (0, 3), done
    return mode_of(folder / "made")


def nobody(*more):
    return (f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *more)


@pytest.mark.parametrize("maker", MAKERS)
def test_what_root_writes_is_for_root(shared, maker):
    """What only root may read has gone into it, and nobody's umask forbids others to read it."""
    needs_root()
    assert make(shared, maker, umask=0) == 0o600


@pytest.mark.parametrize("maker", MAKERS)
def test_what_others_write_goes_by_their_umask(shared, maker):
    needs_root()
    assert make(shared, maker, rights=nobody()) == 0o640


@pytest.mark.parametrize("maker", MAKERS)
def test_mode_on_purpose(shared, maker):
    """Exactly that, as of chmod: the umask has no say."""
    assert make(shared, maker, "--mode", "0664", umask=0o077) == 0o664


@pytest.mark.parametrize("capability,mode", [("perfmon", 0o600), ("sys_ptrace", 0o600), ("wake_alarm", 0o640)])
def test_capabilities_make_it_private(shared, capability, mode):
    """One that each user has by his login, on some systems, lets nobody read anything."""
    needs_root()
    try:
        made = make(shared, "run -o", rights=nobody(f"--inh-caps=+{capability}", f"--ambient-caps=+{capability}"))
    except AssertionError as error:
        if "setpriv" in str(error):
            pytest.skip("this system lends no capabilities")
        raise
    assert made == mode


def test_a_capability_of_the_file_makes_it_private(shared):
    needs_root()
    copy = shared / "wattle-copy"
    shutil.copy(command_path(), copy)
    if not shutil.which("setcap") or subprocess.run(["setcap", "cap_perfmon+ep", copy], capture_output=True, check=False).returncode:
        pytest.skip("this file system holds no capabilities")
    done = subprocess.run(["setpriv", *nobody(), copy, "run", "-o", "made", "--", "true"], cwd=shared, umask=0o022, capture_output=True,
                          env={**os.environ, **own_places(shared, NOBODY)}, check=False)
    if b"Operation not permitted" in done.stderr and not (shared / "made").exists():
        pytest.skip("this system does not run files with capabilities")
    assert done.returncode == 0, done
    assert mode_of(shared / "made") == 0o600


@pytest.mark.parametrize("given,mode", [((), 0o600), (("--mode", "0644"), 0o644)])
def test_what_lies_beside_a_recording_is_for_its_owner(shared, given, mode):
    needs_root()
    places = own_places(shared)
    started = run_wattle("record", "-q", "-o", "a.wattle", "--background", *given, cwd=shared, env=places, umask=0o022)
    assert started.code == 0, started
    modes = {path.name: mode_of(path) for path in shared.glob("a.wattle*")}
    assert run_wattle("record", "-q", "--stop", "a.wattle", cwd=shared, env=places).code == 0
    assert modes == {"a.wattle": mode, "a.wattle.log": mode, "a.wattle-wal": 0o600, "a.wattle-shm": 0o600}
    assert mode_of(shared / "a.wattle") == mode


@pytest.mark.parametrize("kind", ["file", "link"])
@pytest.mark.parametrize("maker", [maker for maker in MAKERS if maker not in ("import", "run --record", "record", "run --idle-file")])
def test_what_another_user_has_made_first(shared, maker, kind):
    """In a folder like /tmp: root would fill, or replace and give away, a file that its owner has open."""
    needs_root()
    shared.chmod(0o1777)
    made, other = shared / "made", shared / "other"
    other.write_text("kept")
    if kind == "file":
        made.write_text("kept")
    else:
        made.symlink_to("other")
    os.chown(made, NOBODY, NOBODY, follow_symlinks=False)
    command, *words = map(str, MAKERS[maker])
    result = run_wattle(command, *words, cwd=shared, env=own_places(shared))
    assert result.code == (125 if command in ("run", "compare") else 1), result
    assert re.search("made'?: another user has made it, in a folder that others can write to", result.complaint())
    assert made.read_text() == other.read_text() == "kept" and made.lstat().st_uid == NOBODY
    assert sorted(os.listdir(shared)) == ["made", "other", "sockets", "state"]
    # In a folder of one's own, it is what was meant.
    shared.chmod(0o755)
    made.write_text("")
    assert run_wattle(command, *words, cwd=shared, env=own_places(shared)).code in (0, 3)
    assert made.read_bytes()


@pytest.mark.parametrize("kind", ["link", "link to nothing", "hard link"])
@pytest.mark.parametrize("mode", [0o755, 0o775])
@pytest.mark.parametrize("maker", [maker for maker in MAKERS if maker not in ("import", "run --record", "record", "run --idle-file")])
def test_links_in_the_folder_of_another_user(shared, maker, mode, kind):
    """He could have root fill, or begin, any file of the machine; his own files are his."""
    needs_root()
    his, other, made = shared / "his", shared / "other", shared / "his" / "made"
    his.mkdir()
    other.write_text("kept")
    if kind == "hard link":
        made.hardlink_to(other)
    else:
        made.symlink_to("../other" if kind == "link" else "../none")
        os.chown(made, NOBODY, NOBODY, follow_symlinks=False)
    os.chown(his, NOBODY, NOBODY)
    his.chmod(mode)
    command, *words = map(str, MAKERS[maker])
    result = run_wattle(command, *words, cwd=his, env=own_places(shared))
    assert result.code == (125 if command in ("run", "compare") else 1), result
    assert re.search("made'?: another user has made it, in a folder that others can write to", result.complaint())
    assert other.read_text() == "kept" and sorted(os.listdir(shared)) == ["his", "other", "sockets", "state"]
    made.unlink()
    made.touch()
    (his / "link").symlink_to("made")
    for path in (made, his / "link"):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    words = ["link" if word == "made" else word for word in words]
    assert run_wattle(command, *words, cwd=his, env=own_places(shared)).code in (0, 3)
    assert made.stat().st_size > 0 and made.stat().st_uid == NOBODY


LINKED = [maker for maker in MAKERS if maker != "query"]  # that has a name of its own choice


@pytest.mark.parametrize("maker", LINKED)
def test_a_folder_that_is_a_link_of_another_user(shared, maker):
    """As a link in the place of the file: on the way to what is not his, it is not followed, and to what is his, it is."""
    needs_root()
    his, own, roots = shared / "his", shared / "own", shared / "roots"
    for folder in his, own, roots:
        folder.mkdir(mode=0o755)
    for name in "own", "roots":
        (his / name).symlink_to(f"../{name}")
        os.chown(his / name, NOBODY, NOBODY, follow_symlinks=False)
    os.chown(his, NOBODY, NOBODY)
    os.chown(own, NOBODY, NOBODY)
    command, *words = map(str, MAKERS[maker])

    def go(folder):
        return run_wattle(command, *(f"his/{folder}/{word}" if word == "made" else word for word in words), cwd=shared, env=own_places(shared))

    result = go("roots")
    if maker != "run --idle-file":  # it runs without
        assert result.code == (125 if command in ("run", "compare") else 1), result
        assert re.search("made.*: another user has made it, in a folder that others can write to", result.complaint())
    assert not os.listdir(roots)
    result = go("own")
    assert result.code in (0, 3), result
    assert (own / "made").stat().st_size > 0


SWAP = """
import ctypes, os, sys
os.setgid({0}); os.setuid({0})
exchange = lambda a, b: ctypes.CDLL(None).renameat2(-100, a, -100, b, 2)
while os.getppid() == {1}: exchange(b"sub", b"link")
"""


@pytest.mark.parametrize("maker", ["doctor", "run --append", "run --tape-record", "record", "import"])
def test_a_folder_that_becomes_a_link_meanwhile(shared, maker):
    """Whoever owns a folder on the way can put something else in its place at any moment: he gets nothing written or removed elsewhere."""
    needs_root()
    his, roots = shared / "his", shared / "roots"
    (his / "sub").mkdir(parents=True)
    roots.mkdir()
    (his / "link").symlink_to("../roots")
    ends = ("", "-wal", "-shm", "-journal") if maker in ("record", "import") else ("",)
    for path in his, his / "sub", his / "link":
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    command, *words = map(str, MAKERS[maker])
    words = ["sub/made" if word == "made" else "0.05" if word == "0.2" else word for word in words]
    swapping = subprocess.Popen([sys.executable, "-c", SWAP.format(NOBODY, os.getpid())], cwd=his)
    try:
        # Doctor measures for a second each time, and makes its file as `run --append` does.
        for i in range(20 if maker == "doctor" else 60):
            # In every other round there is something that could be replaced or removed.
            kept = {roots / f"made{end}": f"kept {i}" for end in ends if i % 2}
            for path, text in kept.items():
                path.write_text(text)
            run_wattle(command, *words, cwd=his, env=own_places(shared))
            assert {path.name: path.read_text() for path in roots.iterdir()} == {path.name: text for path, text in kept.items()}
            for path in kept:
                path.unlink()
            for folder in "sub", "link":
                for path in (his / folder).glob("made*"):
                    path.unlink(missing_ok=True)
    finally:
        swapping.kill()
        swapping.wait()


def test_a_folder_that_becomes_a_link_while_it_is_recorded_to(shared):
    """Its files are written, looked for and removed where they were made."""
    needs_root()
    his, roots = shared / "his", shared / "roots"
    (his / "sub").mkdir(parents=True)
    roots.mkdir()
    os.chown(his, NOBODY, NOBODY)
    kept = {f"made{end}": "kept" for end in ("", "-wal", "-shm", "-journal")}
    for name, text in kept.items():
        (roots / name).write_text(text)
    recorder = start_wattle("record", "-q", "-o", "sub/made", cwd=his, env=own_places(shared))
    wait_for(lambda: (his / "sub" / "made").exists() and not (his / "sub" / "made-journal").exists(), "the recording")
    (his / "sub").rename(his / "was")
    (his / "sub").symlink_to("../roots")
    os.chown(his / "sub", NOBODY, NOBODY, follow_symlinks=False)
    recorder.send_signal(signal.SIGINT)
    assert finish(recorder).code == 0
    assert {path.name: path.read_text() for path in roots.iterdir()} == kept
    assert os.listdir(his / "was") == ["made"]
    assert run_wattle("report", "--check", his / "was" / "made").code == 0


def test_what_another_user_has_made_is_written_to_without_rights(shared):
    """There, the system's rules are the user's own."""
    needs_root()
    (shared / "made").touch()
    (shared / "made").chmod(0o666)
    shared.chmod(0o1777)
    make(shared, "run --append", rights=nobody())
    assert (shared / "made").stat().st_size > 0


def test_the_idle_file_of_another_user(shared):
    """It cannot be kept there, and one line says so."""
    needs_root()
    shared.chmod(0o1777)
    made = shared / "made"
    made.touch()
    os.chown(made, NOBODY, NOBODY)
    command, *words = map(str, MAKERS["run --idle-file"])
    result = run_wattle(command, *(word for word in words if word != "-q"), cwd=shared, env=own_places(shared))
    assert "another user has made it" in result.err
    assert (made.stat().st_uid, made.stat().st_size) == (NOBODY, 0)


@pytest.mark.parametrize("variable, path, words", [("HOME", ".local/state/wattle/idle", ("run", "--", "true")),
                                                   ("XDG_STATE_HOME", "wattle/idle", ("run", "--", "true")),
                                                   ("HOME", ".config/wattle/top.conf", ("top", "--once")),
                                                   ("XDG_CONFIG_HOME", "wattle/top.conf", ("top", "--once"))])
def test_root_keeps_nothing_in_the_home_of_another_user(shared, variable, path, words):
    """sudo -E: that user could not look into what root made there. Found out by putting something there that cannot be read."""
    needs_root()
    home = shared / "home"
    (home / path).parent.mkdir(parents=True)
    (home / path).write_text("mine\n")
    env = {**own_places(shared), "HOME": None, "XDG_STATE_HOME": None, "XDG_CONFIG_HOME": None, variable: home}
    assert str(home) in run_wattle(*words, cwd=shared, env=env).err
    os.chown(home, NOBODY, NOBODY)
    assert str(home) not in run_wattle(*words, cwd=shared, env=env).err
    if path.startswith("wattle"):
        assert str(home) not in run_wattle(*words, cwd=shared, env={**env, variable: home / "not/yet"}).err
        assert not (home / "not").exists()


def test_a_file_that_is_there_keeps_its_mode(shared):
    for maker, options in (("run -o", ()), ("run --append", ()), ("run --every", ()), ("run --tape-record", ()), ("run -o", ("--mode", "0666"))):
        (shared / "made").touch()
        (shared / "made").chmod(0o644)
        assert make(shared, maker, *options) == 0o644
        (shared / "made").unlink()
