# SPDX-License-Identifier: MIT
"""Signals and the terminal: they are the command's, and the report comes all the same."""

import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import ROOTS, check_sums, finish, parse_json, run_wattle, start_wattle, wait_for

XEON = ("--root", str(ROOTS / "xeon-2s-dram"))
PYTHON = (sys.executable, "-S", "-E", "-u", "-c")

# Counts the signals it gets into a file, one name a line; ends at SIGTERM, or at the second SIGINT.
COUNTER = """
import os, signal, sys, time
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def seen(number, frame):
    os.write(log, signal.Signals(number).name.encode() + b"\\n")
    if number == signal.SIGTERM: os._exit(42)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(number, seen)
os.write(log, b"ready\\n")
while True: time.sleep(0.05)
"""


def child_of(pid):
    """The only child of a process, by /proc alone."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            return int(stat.parent.name)
    raise AssertionError(f"process {pid} has no child")


def commands(pid):
    """What its children are called."""
    return [Path(f"/proc/{child}/comm").read_text().strip() for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def lines(path):
    return path.read_text().split() if path.exists() else []


@pytest.fixture(name="counted")
def counted_signals(tmp_path):
    """wattle around COUNTER, and where it writes what it saw."""
    log = tmp_path / "signals"
    process = start_wattle("run", *XEON, "-f", "json", "--", *PYTHON, COUNTER, log)
    wait_for(lambda: "ready" in lines(log), "the command")
    yield process, log
    if process.poll() is None:
        process.kill()
        process.communicate()


def test_signals_to_wattle_reach_the_command_once(counted):
    process, log = counted
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGQUIT):
        process.send_signal(number)
        wait_for(lambda: number.name in lines(log), number.name)
    process.send_signal(signal.SIGTERM)
    result = finish(process)
    assert result.code == 42
    assert sorted(lines(log)) == sorted(["ready", "SIGUSR1", "SIGUSR2", "SIGHUP", "SIGQUIT", "SIGTERM"])
    assert result.json["exit_status"] == 42
    assert result.json["interrupted"] is True


def test_sigterm_ends_the_command_and_the_report_is_printed():
    process = start_wattle("run", *XEON, "-f", "json", "--", "sh", "-c", "echo $$ >&2; exec sleep 600")
    child = int(process.stderr.readline())
    process.send_signal(signal.SIGTERM)
    result = finish(process)
    assert result.code == 128 + signal.SIGTERM
    assert result.json["exit_signal"] == signal.SIGTERM
    check_sums(result.json)
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


# By default each of these ends a program, without a word.
UNUSUAL = [signal.SIGALRM, signal.SIGXCPU, signal.SIGIO, signal.SIGPWR, signal.SIGPROF, signal.SIGVTALRM, signal.SIGSTKFLT]


@pytest.mark.parametrize("number", UNUSUAL)
def test_unusual_ends_of_a_run(number):
    process = start_wattle("run", *XEON, "-f", "json", "-r", "9", "--", "sh", "-c", "ulimit -c 0; echo ready >&2; exec sleep 600")
    assert process.stderr.readline() == b"ready\n"
    process.send_signal(number)
    result = finish(process)
    assert result.code == 128 + number
    run, = result.json["runs"]
    assert run["exit_signal"] == number and run["interrupted"] is True


@pytest.mark.parametrize("number", UNUSUAL)
def test_unusual_ends_of_a_recording(number, tmp_path):
    path = tmp_path / "a.wattle"
    process = start_wattle("record", *XEON, "-o", path)
    wait_for(lambda: f"{path} " in run_wattle("mark", "list").out or process.poll() is not None, "the recording")
    process.send_signal(number)
    result = finish(process)
    if "built without" in result.err:
        pytest.skip("this wattle was built without recordings")
    assert result.code == 0 and "wattle: recorded " in result.err, result
    assert run_wattle("report", "--check", path).code == 0


@pytest.mark.parametrize("number", [signal.SIGALRM, signal.SIGIO])
def test_unusual_ends_of_a_comparison(number, tmp_path):
    go = tmp_path / "go"
    process = start_wattle("compare", *XEON, "-r", "2", f"echo >{go}; exec sleep 600", "true")
    wait_for(go.exists, "the first run")
    process.send_signal(number)
    result = finish(process)
    assert result.code == 128 + number, result


@pytest.mark.parametrize("number", [*UNUSUAL, signal.SIGUSR1, signal.SIGRTMIN])
def test_unusual_ends_of_a_screen(terminal, wattle, number):
    """The terminal is as it was."""
    on = terminal("sh", "-c", f'before=$(stty -g); "{wattle}" top {" ".join(XEON)}; echo "ended $?"; [ "$before" = "$(stty -g)" ] && echo same')
    on.expect("package-0")
    os.kill(child_of(on.pid), number)
    on.expect(f"ended {128 + number}")
    on.expect("same")
    on.finish()


def test_a_real_time_signal_is_the_commands(tmp_path):
    process = start_wattle("run", *XEON, "-f", "json", "--", *PYTHON,
                           "import os, signal\nsignal.signal(signal.SIGRTMIN + 3, lambda *_: os._exit(9))\n"
                           "os.write(2, b'ready\\n')\nwhile True: signal.pause()")
    assert process.stderr.readline() == b"ready\n"
    process.send_signal(signal.SIGRTMIN + 3)
    result = finish(process)
    assert result.code == 9 and result.json["interrupted"] is False


def test_an_alarm_from_before(tmp_path):
    """perl -e 'alarm 1; exec @ARGV' wattle run …: the whole of it is to end."""
    process = start_wattle("run", *XEON, "-f", "json", "--", "sleep", "600",
                           preexec_fn=lambda: signal.setitimer(signal.ITIMER_REAL, 0.3))
    result = finish(process)
    assert result.code == 128 + signal.SIGALRM and result.json["exit_signal"] == signal.SIGALRM


def test_cpu_time_is_over(tmp_path):
    """wattle's own: the command has a limit of its own, and goes on."""
    def nearly_over():
        resource.setrlimit(resource.RLIMIT_CPU, (1, 100))
        while time.process_time() < 0.4:
            pass
    process = start_wattle("run", *XEON, "-f", "json", "-o", tmp_path / "report", "--", "env", "--ignore-signal=RTMIN", "sleep", "600",
                           preexec_fn=nearly_over)
    child = None
    try:
        wait_for(lambda: process.poll() is not None or "sleep" in commands(process.pid), "the command")
        child = child_of(process.pid)
        until = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < until:
            for _ in range(1000):  # to be busy
                os.kill(process.pid, signal.SIGRTMIN)
        assert process.poll() == 128 + signal.SIGXCPU
        os.kill(child, 0)
    finally:
        if child:
            os.kill(child, signal.SIGKILL)
    assert parse_json((tmp_path / "report").read_text())["interrupted"] is True
    assert f"wattle's CPU time is over (ulimit -t): 'env' (process {child}) goes on, and is left to itself" in process.stderr.read().decode()
    process.communicate()


def test_user_signals_are_no_interruption():
    process = start_wattle("run", *XEON, "-f", "json", "-r", "2", "--", "sh", "-c",
                           "trap 'exit 0' USR1; echo ready >&2; while :; do sleep 0.02; done")
    for _ in range(2):
        assert process.stderr.readline() == b"ready\n"
        process.send_signal(signal.SIGUSR1)
    result = finish(process)
    assert result.code == 0
    assert [r["interrupted"] for r in result.json["runs"]] == [False, False]


def test_the_third_interrupt_reports_and_leaves(tmp_path):
    log = tmp_path / "signals"
    process = start_wattle("run", *XEON, "-f", "json", "-o", tmp_path / "report", "--", *PYTHON,
                           COUNTER, log)
    wait_for(lambda: "ready" in lines(log), "the command")
    child = child_of(process.pid)
    for n in range(1, 4):
        process.send_signal(signal.SIGINT)
        wait_for(lambda: lines(log).count("SIGINT") >= n or process.poll() is not None, "SIGINT")
    # wattle's own pipes are the command's too: not communicate(), which would wait for it.
    assert process.wait(60) == 128 + signal.SIGINT
    report = parse_json((tmp_path / "report").read_text())
    assert "exit_status" not in report and report["interrupted"] is True
    check_sums(report)
    os.kill(child, 0)  # left alone, not killed
    os.kill(child, signal.SIGKILL)
    assert str(child) in process.stderr.read().decode()
    process.communicate()


def test_what_is_ignored_stays_ignored(tmp_path):
    """As under nohup, or in the background of a shell without job control."""
    log = tmp_path / "done"

    def ignore():
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)

    process = start_wattle("run", *XEON, "-f", "json", "--", "sh", "-c",
                           f"echo ready >&2; while [ ! -e {log} ]; do sleep 0.02; done", preexec_fn=ignore)
    assert process.stderr.readline() == b"ready\n"
    for _ in range(5):
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGHUP)
    log.touch()
    result = finish(process)
    assert result.code == 0
    assert result.json["interrupted"] is False


def test_a_report_that_nobody_takes_can_be_left(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    process = start_wattle("run", *XEON, "-o", fifo, "--", "sh", "-c", "echo $$ >&2; ulimit -c 0")
    child = int(process.stderr.readline())
    wait_for(lambda: not os.path.exists(f"/proc/{child}"), "the command's end")

    def quit_it():
        process.send_signal(signal.SIGQUIT)
        return process.poll() is not None
    wait_for(quit_it, "the end")
    assert finish(process).code == -signal.SIGQUIT


def test_same_group_session_and_terminal():
    code = "import os; print(os.getpgrp(), os.getsid(0), os.getppid())"
    process = start_wattle("run", *XEON, "-o", "/dev/null", "--", *PYTHON, code, start_new_session=True)
    result = finish(process)
    assert result.out.split() == [str(process.pid)] * 3


def test_interrupt_between_runs_ends_the_series(tmp_path):
    log = tmp_path / "runs"
    process = start_wattle("run", *XEON, "-f", "json", "-r", "1000", "--", "sh", "-c",
                           f"echo run >>{log}; sleep 0.02")
    wait_for(lambda: len(lines(log)) >= 3, "three runs")
    process.send_signal(signal.SIGINT)
    result = finish(process)
    runs = result.json["runs"]
    assert result.code in (0, 128 + signal.SIGINT)
    assert 2 <= len(runs) < 1000
    assert len(runs) == len(lines(log))


def cut_short(log, *arguments):
    """Three whole runs and a fourth that is interrupted."""
    process = start_wattle("run", *XEON, "-r", "50", *arguments, "--", "sh", "-c",
                           f"echo run >>{log}; [ $(wc -l <{log}) -lt 4 ] || {{ echo last >&2; exec sleep 600; }}")
    assert process.stderr.readline() == b"last\n"
    process.send_signal(signal.SIGINT)
    result = finish(process)
    assert result.code == 128 + signal.SIGINT
    return result


def test_an_interrupted_run_is_listed_but_not_counted(tmp_path):
    series = cut_short(tmp_path / "json", "-f", "json").json
    runs, figures = series["runs"], series["statistics"]
    assert [run["interrupted"] for run in runs] == [False, False, False, True]
    assert figures["runs"] == figures["duration_s"]["n"] == figures["energy_j"]["n"] == 3
    whole = [run["duration_s"] for run in runs[:3]]
    assert figures["duration_s"]["min"] == min(whole) and figures["duration_s"]["max"] == max(whole)
    assert abs(figures["duration_s"]["mean"] - sum(whole) / 3) < 1e-6
    text = cut_short(tmp_path / "text").out
    rows = [line for line in text.splitlines() if line.strip().startswith("4 ")]
    assert len(rows) == 1 and rows[0].endswith(" interrupted") and len(rows[0]) < 80, rows
    assert "mean and spread are those of the 3 that were not" in " ".join(text.split())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_that_asks_for_an_end_ends_the_series(number):
    process = start_wattle("run", *XEON, "-f", "json", "-r", "1000", "--", "sh", "-c",
                           "ulimit -c 0; echo ready >&2; exec sleep 600")
    assert process.stderr.readline() == b"ready\n"
    process.send_signal(number)
    result = finish(process)
    assert result.code == 128 + number
    assert len(result.json["runs"]) == 1


def test_a_group_kill_as_timeout_does_it():
    result = subprocess.run(["timeout", "0.5", os.environ["WATTLE"], "run", "-o", "-", *XEON, "-f", "json", "--",
                             "sleep", "600"], capture_output=True, timeout=60, check=False)
    assert result.returncode == 124
    assert parse_json(result.stdout.decode())["exit_signal"] == signal.SIGTERM


# ---- On a terminal ----

def test_ctrl_c_ends_the_command_and_the_report_comes(terminal, wattle):
    on = terminal(wattle, "run", *XEON, "--", "sh", "-c", "echo started; exec sleep 600")
    on.expect("started")
    on.send(b"\x03")
    result = on.finish()
    assert result.code == 130
    assert "machine" in result.out and "carbon" in result.out
    assert "interrupt" in result.out.lower() or "SIGINT" in result.out or "130" in result.out


def test_ctrl_c_reaches_the_command_once(terminal, wattle, tmp_path):
    log = tmp_path / "signals"
    on = terminal(wattle, "run", *XEON, "--", *PYTHON, COUNTER, log)
    wait_for(lambda: "ready" in lines(log), "the command")
    on.send(b"\x03")
    wait_for(lambda: "SIGINT" in lines(log), "SIGINT")
    os.kill(on.pid, signal.SIGTERM)
    assert on.finish().code == 42
    assert lines(log) == ["ready", "SIGINT", "SIGTERM"]


# The shell's part: wattle is a job in the foreground of a session that outlives it. "stops": it will
# be stopped once, and continued when a line comes.
LEADER = """
import os, signal, sys, time
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[2], sys.argv[2:])
if sys.argv[1] == "stops":
    _, status = os.waitpid(child, os.WUNTRACED)
    assert os.WIFSTOPPED(status), status
    os.tcsetpgrp(0, os.getpid())
    both = [child, *open(f"/proc/{child}/task/{child}/children").read().split()]
    while {open(f"/proc/{p}/stat").read().rsplit(")", 1)[1].split()[0] for p in both} != {"T"}:
        time.sleep(0.01)
    print("STOPPED", len(both), flush=True)
    sys.stdin.readline()
    os.tcsetpgrp(0, child)
    os.killpg(child, signal.SIGCONT)
_, status = os.waitpid(child, 0)
os.tcsetpgrp(0, os.getpid())
print("ENDED", os.waitstatus_to_exitcode(status), flush=True)
"""


def status_of(pid):
    try:
        return Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return ""


def pending(pid, number):
    """Whether the process was sent a signal that it has not taken; one that has ended was not."""
    masks = re.findall(r"(?:SigPnd|ShdPnd):\s*(\w+)", status_of(pid))
    return any(int(mask, 16) & 1 << (number - 1) for mask in masks)


def test_three_ctrl_c_leave_a_command_that_ignores_them(terminal, wattle):
    on = terminal(*PYTHON, LEADER, "ends", wattle, "run", *XEON, "--", "sh", "-c",
                  "trap '' INT; echo $$ started; while :; do sleep 0.05; done")
    on.expect("started")
    child = int(re.search(rb"(\d+) started", on.seen).group(1))
    pid = int(re.search(r"PPid:\s*(\d+)", status_of(child)).group(1))
    try:
        for n in range(1, 4):
            on.send(b"\x03")
            on.expect("^C" * n)
            # A second one while the first is not taken yet would be the same one.
            wait_for(lambda: not pending(pid, signal.SIGINT), "wattle to take it")
        on.expect("ENDED 130")
        assert b"machine" in on.seen and b"carbon" in on.seen
        os.kill(child, 0)
    finally:
        os.kill(child, signal.SIGKILL)


def test_ctrl_z_stops_both_and_fg_continues_both(terminal, wattle, tmp_path):
    done = tmp_path / "done"
    on = terminal(*PYTHON, LEADER, "stops", wattle, "run", "--full", *XEON, "-i", "10", "--", *PYTHON,
                  "import os, sys, time\nprint('started')\n"
                  f"while not os.path.exists({str(done)!r}): time.sleep(0.02)\n"
                  "print('finished')\nsys.exit(3)")
    on.expect("started")
    on.send(b"\x1a")
    on.expect("STOPPED 2")
    on.pump(0.3)
    done.touch()
    on.send(b"\n")
    on.expect("ENDED 3")
    result = on.finish()
    assert "finished" in result.out and "package-0" in result.out


def test_terminal_settings_stay(terminal, wattle):
    on = terminal("sh", "-c", f'stty -g; "{wattle}" run {" ".join(XEON)} -- true 2>/dev/null; stty -g')
    result = on.finish()
    first, second = result.out.split()
    assert first == second


def test_a_command_can_use_the_terminal(terminal, wattle):
    on = terminal(wattle, "run", *XEON, "--", "sh", "-c",
                  'test -t 0 && test -t 1 && read line </dev/tty && echo "got $line"; stty -echo')
    on.send(b"hello\n")
    on.expect("got hello")
    assert on.finish().code == 0


def test_a_full_screen_command_has_the_terminal_in_raw_mode(terminal, wattle):
    code = ("import sys, termios, tty; old = termios.tcgetattr(0); tty.setraw(0); "
            "sys.stdout.write('raw\\r\\n'); sys.stdout.flush(); c = sys.stdin.read(1); "
            "termios.tcsetattr(0, termios.TCSANOW, old); print(repr(c))")
    on = terminal(wattle, "run", *XEON, "--", *PYTHON, code)
    on.expect("raw")
    on.send(b"\x03")
    on.expect("'\\x03'")
    assert on.finish().code == 0


def test_colours_on_a_terminal_only(terminal, wattle):
    command = "run", *XEON, "--full"  # what --full emphasizes does not depend on how long it took
    assert "\x1b[" in terminal(wattle, *command, "--", "true").finish().out
    for options, env in ((["--no-color"], {}), ([], {"NO_COLOR": "1"}), ([], {"TERM": "dumb"}),
                         ([], {"TERM": None})):
        on = terminal(wattle, *command, *options, "--", "true", env=env)
        assert "\x1b" not in on.finish().out
    assert "\x1b" not in run_wattle(*command, "--", "true").out


@pytest.mark.parametrize("lang", ["C", "POSIX", ""])
def test_only_ascii_where_the_terminal_knows_no_more(terminal, wattle, lang):
    for args in (["run", *XEON, "--", "true"], ["doctor", *XEON], ["run", *XEON, "-r", "2", "--", "true"]):
        terminal(wattle, *args, env={"LANG": lang}).finish().out.encode("ascii")
    assert "±" in terminal(wattle, "run", *XEON, "--", "true", env={"LANG": "C.UTF-8"}).finish().out


def test_a_narrow_terminal_is_no_trouble(terminal, wattle):
    on = terminal("sh", "-c", f'stty cols 20; "{wattle}" run {" ".join(XEON)} -- true')
    assert on.finish().code == 0
