# SPDX-License-Identifier: MIT
"""wattle top: driven in tmux (keys in, screen out), and on terminals that go away."""

import fcntl
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from decimal import Decimal
from pathlib import Path

import pytest

from conftest import ROOTS, TIMEOUT, clean_env, command_path, run_wattle, wait_for

TAPES = Path(__file__).resolve().parents[1] / "fixtures" / "tapes"
XEON = ("--root", str(ROOTS / "xeon-2s-dram"), "--nvml", "")
SLEEPER = "import sys, time; time.sleep(1000)"


class Screen:
    """A tmux server of its own with one window."""

    def __init__(self, tmp_path, *command, rows=30, columns=100, env=None):
        self.socket = str(tmp_path / "tmux")
        script = tmp_path / "window.sh"
        words = " ".join("'" + str(c).replace("'", "'\\''") + "'" for c in command)
        script.write_text(f"echo BEFORE\n{words}\necho ENDED $?\nexec sleep 1000\n")
        folders = {"XDG_CONFIG_HOME": tmp_path / "config", "XDG_STATE_HOME": tmp_path / "state"}
        self.env = clean_env(**{**folders, "TERM": "xterm-256color", **(env or {})})
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "sh", str(script))

    def tmux(self, *args):
        done = subprocess.run(("tmux", "-S", self.socket, *args), env=self.env, capture_output=True, check=True,
                              timeout=TIMEOUT)
        return done.stdout.decode()

    def keys(self, *keys):
        self.tmux("send-keys", "-t", "0", *keys)
        return self

    def type(self, text):
        """As codes: words would be in the command line of tmux, which is a process that a search may find."""
        return self.keys("-H", *(f"{ord(character):x}" for character in text))

    def search(self, text, pattern):
        """Again and again: top seeks for some seconds only, and names of many processes may take longer."""
        wait_for(lambda: re.search(pattern, self.type(f"/\x15{text}\r").text()), pattern)

    def text(self):
        return self.tmux("capture-pane", "-p", "-t", "0")

    def wait(self, pattern):
        try:
            return wait_for(lambda: re.search(pattern, self.text()), pattern)
        except AssertionError as error:
            raise AssertionError(f"{error}:\n{self.text()}") from None

    def wait_without(self, pattern):
        wait_for(lambda: not re.search(pattern, self.text()), f"no {pattern}")
        return self

    def resize(self, rows, columns):
        self.tmux("resize-window", "-t", "0", "-x", str(columns), "-y", str(rows))
        return self

    def close(self):
        subprocess.run(("tmux", "-S", self.socket, "kill-server"), env=self.env, capture_output=True, check=False,
                       timeout=TIMEOUT)


@pytest.fixture(name="screen")
def screens(tmp_path):
    """screen(options...): wattle top in tmux."""
    if not shutil.which("tmux"):
        pytest.skip("tmux is not installed")
    opened = []

    def start(*options, folder=tmp_path, command=None, **how):
        folder.mkdir(exist_ok=True)
        opened.append(Screen(folder, *(command or (command_path(), "top", *options)), **how))
        return opened[-1]
    yield start
    for one in opened:
        one.close()


@pytest.fixture(name="sleeper")
def sleepers():
    """sleeper(word): a process that does nothing, with the word in its command."""
    running = []

    def start(word):
        running.append(subprocess.Popen((sys.executable, "-S", "-E", "-c", SLEEPER, word)))
        return running[-1]
    yield start
    for process in running:
        process.kill()
        process.wait()


# ---- The screen ----

def test_shows_and_gives_the_terminal_back(screen):
    top = screen(*XEON)
    top.wait(r"DOMAIN +POWER")
    text = top.text()
    assert "package-0" in text and "dram-1" in text and "F10Quit" in text and "BEFORE" not in text
    top.wait(r"wattle \d+\.\d % \d+\.\dM")
    top.keys("q")
    top.wait("ENDED 0")
    assert "BEFORE" in top.text() and "DOMAIN" not in top.text()


def test_own_process_is_listed(screen):
    top = screen("--filter", "command ~ 'wattle top' || command ~ '/wattle'")
    top.wait(r"PID USER")
    top.wait(r"\d+ \S+ +\d+\.\d\d .*wattle")
    top.keys("F10")
    top.wait("ENDED 0")


def test_help_and_lists(screen):
    top = screen(*XEON, rows=40)
    top.wait("DOMAIN")
    top.keys("h")
    top.wait("Help")
    top.wait("FIELD OPERATOR VALUE")
    top.keys("q")
    top.wait_without("FIELD OPERATOR VALUE")
    top.keys("F6")
    top.wait("Sort by")
    top.keys("Down", "Enter")
    top.wait(r"processes by CPU W|processes by GPU W")
    top.keys("g", "Down", "Enter")
    top.wait("in groups by user")
    top.keys("q")
    top.wait("ENDED 0")


def test_filter_is_typed(screen, sleeper):
    process = sleeper("wattle-filtered-process")
    top = screen(columns=170)
    top.wait("PID USER")
    top.keys("\\", "user == ")
    top.wait(r"at 9: a value is missing")
    top.keys("C-u", f"pid = {process.pid}", "Enter")
    top.wait(r"1 process by W where pid = \d+")
    top.wait("wattle-filtered-process")
    top.keys("Enter")
    top.wait(r"Details")
    top.wait(rf"process +{process.pid}   parent {os.getpid()}   live")
    top.keys("Escape")
    top.wait_without("Details")
    top.keys("q")
    top.wait("ENDED 0")


def test_search(screen, sleeper):
    sleeper("wattle-needle-in-a-haystack")
    top = screen("--sort", "pid", columns=240)
    top.wait("PID USER")
    top.wait(r"\d+ processes")
    top.search("needle-in-a-hay", "wattle-needle-in-a-haystack")
    top.search("there is no such process", "'there is no such process' is in none of these rows")
    top.keys("q")
    top.wait("ENDED 0")


@pytest.mark.alone
def test_found_process_stays_under_the_cursor(screen, sleeper):
    """Others pass it by in the meantime; what is done is done to it."""
    process = sleeper("wattle-victim")
    top = screen("--sort", "pid", columns=240, rows=50)
    top.wait(r"\d+ processes")
    top.search("wattle-victi", "wattle-victim")
    top.keys("N", "W", "I", "P")  # three more orders
    top.keys("F9")
    top.wait("15 SIGTERM")
    top.keys("Enter")
    top.wait(rf"Send SIGTERM to {process.pid} ")
    top.keys("n", "q")
    top.wait("ENDED 0")


def test_resizing(screen):
    top = screen(*XEON)
    top.wait("DOMAIN")
    for rows, columns in ((5, 20), (60, 200), (1, 1), (2, 10), (24, 80), (3, 300), (80, 12)):
        top.resize(rows, columns)
        time.sleep(0.05)
    top.resize(5, 20)
    top.wait("F10Quit")
    assert "DOMAIN" not in top.text()
    top.resize(40, 120)
    top.wait("DOMAIN +POWER.*ENERGY +Wh")
    top.keys("q")
    top.wait("ENDED 0")


def test_job_control(screen):
    top = screen(command=("bash", "--norc", "-i"), rows=40)
    top.keys("PS1='ready> '", "Enter")
    top.wait("ready> ")
    top.keys(f"{command_path()} top " + " ".join(f"'{word}'" for word in XEON), "Enter")
    top.wait("DOMAIN")
    top.keys("C-z")
    top.wait("Stopped")
    assert "DOMAIN" not in top.text()
    top.keys("echo 'on the '$((6 * 7))", "Enter")
    top.wait("on the 42")
    top.keys("fg", "Enter")
    top.wait("DOMAIN")
    top.keys("h")
    top.wait("FIELD OPERATOR VALUE")
    top.keys("q")  # by itself: the terminal forgets what was typed just before Ctrl-Z
    top.wait_without("FIELD OPERATOR VALUE")
    top.keys("C-z")
    top.wait("Stopped")
    top.keys("fg", "Enter")
    top.wait("DOMAIN")
    top.keys("q")
    top.wait_without("DOMAIN")
    top.wait("ready> ")


def test_stopped_without_notice(screen):
    """SIGSTOP cannot be caught: the shell writes into the picture, and sets the terminal up in its own way."""
    top = screen(command=("bash", "--norc", "-i"))
    top.keys("PS1='ready> '", "Enter")
    top.wait("ready> ")
    top.keys(f"{command_path()} top " + " ".join(f"'{word}'" for word in XEON), "Enter")
    top.wait("DOMAIN")
    own = top.tmux("display-message", "-p", "-t", "0", "#{pane_pid}").strip()
    for _ in ("bash", "wattle"):
        own = int(Path(f"/proc/{own}/task/{own}/children").read_text())
    os.kill(own, signal.SIGCONT)  # nothing had stopped it
    os.kill(own, signal.SIGSTOP)
    top.wait("Stopped")
    top.keys("fg", "Enter")
    top.wait_without("Stopped")
    top.wait("DOMAIN")
    top.keys("q")
    top.wait_without("DOMAIN")
    top.keys("echo 'on the '$((6 * 7))", "Enter")
    top.wait(r"ready> echo 'on the '.*\non the 42")


def test_tape_live(screen):
    top = screen("--tape", str(TAPES / "vm.tape"))
    top.wait("tape")
    top.wait("end of the tape")
    top.keys("k")
    top.wait("Choose a process|another machine's processes")
    top.keys("q")
    top.wait("ENDED 0")


# ---- Signals to processes ----

def start_kill(screen, process, *options):
    top = screen("--filter", f"pid = {process.pid}", *options)
    top.wait(rf"(?m)^ +{process.pid} ")
    top.keys("Home", "F9")
    top.wait("15 SIGTERM|Read-only: no signals are sent")  # a key before that would be an answer
    return top


def test_kill(screen, sleeper):
    process = sleeper("wattle-dummy")
    top = start_kill(screen, process)
    top.keys("Enter")
    top.wait(rf"Send SIGTERM to {process.pid} ")
    top.keys("n")
    top.wait_without("Send SIGTERM")
    assert process.poll() is None
    top.keys("k", "Down", "Down", "Enter")
    top.wait(rf"Send SIGKILL to {process.pid} ")
    top.keys("y")
    assert process.wait(TIMEOUT) == -signal.SIGKILL
    top.wait(rf"SIGKILL sent to {process.pid}")
    top.keys("q")
    top.wait("ENDED 0")


CROWD = """
import os, signal
children = []
for _ in range(1500):
    child = os.fork()
    if not child:
        signal.pause()
    children.append(child)
print(len(children), flush=True)
try:
    input()
except EOFError:
    pass
for child in children:
    os.kill(child, signal.SIGKILL)
"""


def test_kill_in_a_crowd(screen, sleeper):
    """When a process started is read for so many at a time: the signals come when it is known."""
    with subprocess.Popen((sys.executable, "-S", "-E", "-c", CROWD), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as crowd:
        assert crowd.stdout.readline() == b"1500\n"
        process = sleeper("wattle-dummy")
        top = start_kill(screen, process)
        top.keys("Enter")
        top.wait(rf"Send SIGTERM to {process.pid} ")
        crowd.stdin.close()


def test_kill_of_one_that_has_ended(screen, sleeper):
    process = sleeper("wattle-dummy")
    top = start_kill(screen, process)
    top.keys("Enter")
    top.wait("Send SIGTERM")
    process.kill()
    process.wait()
    top.keys("y")
    top.wait(rf"SIGTERM not sent to {process.pid}: No such process")


OTHER_NUMBERS = """
echo $(($1 - 1)) >/proc/sys/kernel/ns_last_pid || exit 77
sleep 1000 & echo $! >"$2/inner"
[ $! = "$1" ] || exit 77
"$3" top --filter "pid = $1"
echo ENDED
kill -0 $! && echo alive >"$2/alive"
sleep 1000
"""


def test_kill_beside_another_namespaces_proc(screen, sleeper, tmp_path):
    """/proc counts as its own PID namespace does, signals as ours: the same number is two processes."""
    words = ("unshare", "--user", "--map-root-user", "--pid", "--fork")
    if not shutil.which("unshare") or subprocess.run((*words, "true"), capture_output=True, check=False).returncode:
        pytest.skip("no PID namespaces here")
    process = sleeper("wattle-dummy")
    top = screen(command=(*words, "--kill-child", "sh", "-c", OTHER_NUMBERS, "sh", process.pid, tmp_path,
                          command_path()), columns=120)
    inner = wait_for(lambda: (tmp_path / "inner").exists() and (tmp_path / "inner").read_text(), "the other one")
    if int(inner) != process.pid:
        pytest.skip("numbers cannot be chosen here")
    top.wait(rf"(?m)^ +{process.pid} ")
    top.keys("Home", "F9")
    top.wait("15 SIGTERM")
    top.keys("Enter")
    top.wait(rf"Send SIGTERM to {process.pid} ")
    top.keys("y")
    top.wait(rf"SIGTERM not sent to {process.pid}: it is in another PID namespace")
    assert process.poll() is None
    top.keys("q")
    top.wait("ENDED")
    wait_for((tmp_path / "alive").exists, "the other one's life")


def test_read_only(screen, sleeper):
    process = sleeper("wattle-dummy")
    top = start_kill(screen, process, "--read-only")
    top.keys("Enter", "y")
    assert process.poll() is None


def test_another_machine_is_not_killed(screen):
    top = screen(*XEON)
    top.wait("DOMAIN")
    top.keys("k")
    top.wait("These are another machine's processes")


# ---- The configuration ----

def test_setup_is_kept(screen, tmp_path):
    config = tmp_path / "config" / "wattle" / "top.conf"
    top = screen(*XEON)
    top.wait("DOMAIN")
    top.keys("F2")
    top.wait(r"\[ \] Processes as a tree")
    top.keys("Space")
    top.wait(r"\[x\] Processes as a tree")
    top.keys("Down", "Down", "Enter", "Escape")
    top.wait("Kept in")
    top.wait_without("core-0")
    top.keys("q")
    top.wait("ENDED 0")
    text = config.read_text()
    assert "\ntree = yes\n" in text and "\nparts = no\n" in text
    assert [p.name for p in config.parent.iterdir()] == ["top.conf"]
    assert os.geteuid() != 0 or config.stat().st_mode & 0o777 == 0o600
    # A newer wattle's line survives, and is told of once.
    config.write_text(text + "sparkle = much\n")
    top.close()
    top = screen(*XEON, folder=tmp_path / "again", env={"XDG_CONFIG_HOME": tmp_path / "config"})
    top.wait("DOMAIN")
    top.keys("F2")
    top.wait(r"\[x\] Processes as a tree")
    top.keys("Escape")
    top.wait("Kept in")
    top.keys("q")
    top.wait("ENDED 0")
    assert top.text().count("sparkle") == 1
    assert config.read_text().endswith("\nsparkle = much\n")


def test_setup_that_cannot_be_kept(screen, tmp_path):
    (tmp_path / "file").write_text("no directory")
    top = screen(*XEON, "--config", str(tmp_path / "file" / "top.conf"))
    top.wait("DOMAIN")
    top.keys("F2", "Escape")
    top.wait("The set-up cannot be kept: Not a directory")
    # Nobody reads it: who opened it would wait for ever.
    os.mkfifo(tmp_path / "pipe")
    top = screen(*XEON, "--config", str(tmp_path / "pipe"), folder=tmp_path / "again")
    top.wait("DOMAIN")
    top.keys("F2", "Escape")
    top.wait("The set-up cannot be kept: Not a regular file")


def test_setup_that_is_not_to_be_kept(screen, tmp_path):
    top = screen(*XEON, "--config", "")
    top.wait("DOMAIN")
    top.keys("F2", "Escape")
    top.wait("The set-up is for now only: no file was named for it")


def test_configurations_that_are_no_files(tmp_path):
    """None of them is waited for, and each is told of in a line."""
    huge, pipe = tmp_path / "huge", tmp_path / "pipe"
    huge.write_bytes(b"#" * 300000)
    os.mkfifo(pipe)
    for config, says in ((tmp_path, "Is a directory"), (huge, "File too large"), (pipe, "Not a regular file")):
        result = run_wattle("top", "--once", "--config", config, *XEON)
        assert result.code == 0
        told = [line for line in result.err.splitlines() if f"'{config}' cannot be read: " in line]
        assert [line.endswith(says) for line in told] == [True], result.err


def test_bad_configuration_is_a_remark(tmp_path):
    config = tmp_path / "top.conf"
    config.write_bytes(b"sort = \x1b[2Jnonsense\nwindow = 1min\n")
    result = run_wattle("top", "--once", "--config", config, *XEON)
    assert result.code == 0
    assert f"{config}: line 1 is no good" in result.err and "\x1b" not in result.err


# ---- Terminals ----

def set_size(terminal, rows, columns):
    fcntl.ioctl(terminal.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def start_on(terminal, tmp_path, *options, **env):
    return terminal(command_path(), "top", *XEON, *options, env={"XDG_CONFIG_HOME": tmp_path, **env})


def test_terminal_without_a_size(terminal, tmp_path):
    top = start_on(terminal, tmp_path)  # a new pseudo-terminal has 0 rows of 0
    top.expect("package-0").expect("Quit")
    top.send(b"q")
    result = top.finish()
    assert result.code == 0
    assert result.out_bytes.rstrip().endswith(b"\x1b[?1l\x1b>") or b"\x1b[?1049l" in result.out_bytes


SIZES = [(1, 1), (65535, 65535), (1, 65535), (65535, 1), (32768, 40000)]  # what TIOCSWINSZ takes


def sized(terminal, size, *words):
    """A command that begins on a terminal of that size."""
    on = terminal("sh", "-c", 'read line; exec "$@"', "sh", command_path(), *words)
    set_size(on, *size)
    on.send(b"\n")
    return on


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("words", [("top",), ("plot", "--live")])
def test_terminals_of_any_size(terminal, words, size):
    """Also one that changes: what is beyond 1000 rows or columns stays empty."""
    on = sized(terminal, size, *words, *XEON).expect("\x1b[?1049h")
    for then in (*SIZES, (24, 80), size):
        on.pump(0.05)
        set_size(on, *then)
        on.send(b"h ")
    on.send(b"qq")
    result = on.finish()
    assert result.code == 0 and b"\x1b[?1049l" in result.out_bytes, result.out_bytes[-500:]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("words", [("help", "run"), ("run", "--help-all"), ("run", *XEON, "--full", "--", "sleep", "0.3"), ("doctor", *XEON),
                                   ("run", *XEON, "--every", "0.1", "--", "sleep", "0.3"), ("top", "--once", *XEON)])
def test_pages_on_terminals_of_any_size(terminal, words, size):
    result = sized(terminal, size, *words).finish()
    assert result.code in (0, 3) and len(result.out) < 10**6, result


def test_terminal_that_goes_away(terminal, tmp_path):
    top = start_on(terminal, tmp_path).expect("package-0")
    os.close(top.fd)
    _, status = os.waitpid(top.pid, 0)
    top.status = os.waitstatus_to_exitcode(status)
    top.fd = os.open("/dev/null", os.O_RDONLY)
    assert top.status == 128 + signal.SIGHUP


@pytest.mark.parametrize("number", (signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP))
def test_ended_by_a_signal(terminal, tmp_path, number):
    top = start_on(terminal, tmp_path).expect("package-0")
    os.kill(top.pid, number)
    result = top.finish()
    assert result.code == 128 + number
    assert b"\x1b[?1049l" in result.out_bytes


def test_interrupt_is_an_end(terminal, tmp_path):
    top = start_on(terminal, tmp_path).expect("package-0")
    top.send(b"\x03")
    assert top.finish().code == 0


@pytest.mark.parametrize("number", (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS))
def test_crash_gives_the_terminal_back(terminal, tmp_path, number):
    top = start_on(terminal, tmp_path).expect("package-0")
    assert not termios.tcgetattr(top.fd)[3] & (termios.ICANON | termios.ECHO)
    os.kill(top.pid, number)
    wait_for(lambda: not top.pump(0.05) or b"\x1b[?1049l" in top.seen, "the other screen")
    assert b"\x1b[?1000l" in top.seen and b"\x1b[?1049l" in top.seen
    result = top.finish()
    assert result.code == -number


def colours(data):
    return re.findall(rb"\x1b\[[0-9;]*(?:3[1-7]|38;5;\d+)m", data)


@pytest.mark.parametrize("options, env, wanted", (
    ((), {}, True),
    (("--no-color",), {}, False),
    ((), {"NO_COLOR": "1"}, False),
    ((), {"NO_COLOR": ""}, True),
))
def test_colours(terminal, tmp_path, options, env, wanted):
    top = start_on(terminal, tmp_path, *options, TERM="xterm-256color", **env).expect("package-0").expect("Quit")
    top.send(b"q")
    assert bool(colours(top.finish().out_bytes)) == wanted


@pytest.mark.parametrize("options, env", ((("--ascii",), {}), ((), {"LANG": "C"})))
def test_ascii(terminal, tmp_path, options, env):
    top = start_on(terminal, tmp_path, *options, **env).expect("package-0").expect("Quit")
    top.send(b"h")
    top.expect("Help")
    top.send(b"qq")
    assert max(top.finish().out_bytes) < 0x80


def test_unknown_terminal(terminal, tmp_path):
    result = start_on(terminal, tmp_path, TERM="no-such-terminal").finish()
    assert result.code == 1
    assert b"TERM=no-such-terminal" in result.out_bytes


def test_no_terminal():
    result = run_wattle("top", *XEON)
    assert result.code == 1 and "--once" in result.err and not result.out


def test_names_never_steer_the_terminal(terminal, tmp_path):
    name = "evil\x1b]0;owned\x07\x1b[2J\u009b31m-end"
    process = subprocess.Popen((sys.executable, "-S", "-E", "-c", SLEEPER, name))
    try:
        top = terminal(command_path(), "top", "--filter", f"pid = {process.pid}",
                       env={"XDG_CONFIG_HOME": tmp_path, "COLUMNS": "200", "LINES": "40"})
        top.expect("-end")
        top.send(b"\r")
        top.expect("Details")
        top.send(b"qq")
        seen = top.finish().out_bytes
    finally:
        process.kill()
        process.wait()
    assert b"]0;owned\x07" not in seen and b"\x1b]0" not in seen and "\u009b31m".encode() not in seen


def test_mouse(terminal, tmp_path):
    top = start_on(terminal, tmp_path, TERM="xterm-256color").expect("package-0").expect("Quit")
    assert b"\x1b[?1000h" in top.seen or b"\x1b[?1006" in top.seen
    top.send(b"\x1b[<0;2;24M\x1b[<0;2;24m")  # on F1Help, in the last of 24 rows
    top.expect("Help \x1b").expect("Filter")
    top.send(b"qq")
    assert top.finish().code == 0


@pytest.mark.parametrize("begun", (b"\x1b[<0;2", b"\x1b[<", b"\x1b[<0;2;24;1;1;1;1;1;1;1;1;1;1;1;1;1"))
def test_half_a_mouse_report(terminal, tmp_path, begun):
    """The rest of it may never come: neither a key nor a signal waits for that."""
    top = start_on(terminal, tmp_path, TERM="xterm-256color").expect("package-0").expect("Quit")
    top.send(begun)
    top.pump(0.2)
    top.send(b"q")
    assert top.finish(20).code == 0


def test_mouse_report_in_pieces(terminal, tmp_path):
    top = start_on(terminal, tmp_path, TERM="xterm-256color").expect("package-0").expect("Quit")
    for piece in (b"\x1b[<0;", b"2;2", b"4M\x1b[<0;2;24", b"m"):
        top.send(piece)
        top.pump(0.1)
    top.expect("Help \x1b").expect("Filter")
    top.send(b"qq")
    assert top.finish().code == 0


@pytest.mark.parametrize("typed", (b"\x1bOP", b"\x1b[11~", b"\x1b[[A", b"\x1b[M !8\x1b[M#!8"))
def test_what_other_terminals_send(terminal, tmp_path, typed):
    """F1 in the ways of xterm, of the VT220 and of Linux' console, and a click on it as old terminals tell it."""
    top = start_on(terminal, tmp_path, TERM="linux" if b"[[" in typed else "xterm-256color").expect("package-0").expect("Quit")
    top.send(typed)
    top.expect("this help")
    top.send(b"qq")
    assert top.finish().code == 0


def test_keys_that_mean_nothing(terminal, tmp_path):
    """What is sent for Control and F4, or a key that nobody knows, is no row of letters: S would be the set-up."""
    top = start_on(terminal, tmp_path, TERM="xterm-256color").expect("package-0").expect("Quit")
    top.send(b"\x1b[1;5S\x1bOS\x1b[33~\x1b[200~\xff\xc3")
    top.pump(0.3)
    top.send(b"\x1b")
    top.pump(0.3)
    top.send(b"qq")
    result = top.finish()
    assert result.code == 0 and b"Set-up" not in result.out_bytes and b"Setup" in result.out_bytes


def test_characters_in_pieces(terminal, tmp_path):
    top = start_on(terminal, tmp_path, TERM="xterm-256color").expect("package-0").expect("Quit")
    top.send(b"/gr\xc3")
    top.send(b"\xbc\xc3\x9fe")
    top.expect("gr\u00fc\u00dfe")
    top.send(b"\x1b")
    top.pump(0.2)
    top.send(b"q")
    assert top.finish().code == 0


def test_terminal_of_lines(terminal, tmp_path):
    result = start_on(terminal, tmp_path, TERM="dumb").finish()
    assert result.code == 1 and b"TERM=dumb" in result.out_bytes


# ---- Once ----

def test_once_is_plain_text():
    result = run_wattle("top", "--once", *XEON, "--no-processes")
    assert result.code == 0 and not result.err
    assert "\x1b" not in result.out
    for word in ("wattle top", "package-0", "package-1", "dram-0", "--no-processes"):
        assert word in result.out, result.out
    assert "F10" not in result.out


def test_once_of_a_tape():
    result = run_wattle("top", "--once", "--tape", TAPES / "server.tape", "--location", "FRA")
    assert result.code == 0, result.err
    assert re.search(r"package-0 +\d+\.\d W", result.out), result.out
    assert re.search(r"gpu-0 +\d+\.\d W", result.out), result.out
    # The same total as wattle run tells, from the same tape.
    total = run_wattle("run", "-f", "json", "--tape", TAPES / "server.tape").json["total"]["energy_j"]
    shown = Decimal(re.search(r"(\d\.\d{3}) kJ", result.out.splitlines()[0]).group(1))
    assert abs(shown * 1000 - total) < 2


def test_tape_is_billed_to_its_end(gpus, tmp_path):
    """Whatever is left of the last second counts as well, and does not become the power of now."""
    fake, tape = gpus("h100"), tmp_path / "h100.tape"
    options = ("--root", ROOTS / "vm-nothing", "-i", "100")
    fake.run(*options, "--tape-record", tape, "--", "sleep", "1.3")
    billed = run_wattle("run", "-f", "json", "--tape", tape).json["processes"][0]
    result = run_wattle("top", "--once", "--tape", tape, env={"COLUMNS": "180"})
    watts, joules = re.search(r"\n +1001 .*? (\d+\.\d+) +(\d+\.\d+) J ", result.out).groups()
    assert abs(Decimal(joules) - Decimal(billed["full_j"])) <= Decimal("0.1"), (billed, result.out)
    assert abs(Decimal(watts) - Decimal(re.search(r"gpu-0 +(\d+\.\d) W", result.out).group(1))) < 1, result.out


def test_once_lists_processes(sleeper):
    process = sleeper("wattle-once")
    result = run_wattle("top", "--once", "--filter", f"pid = {process.pid}", env={"COLUMNS": "150"})
    assert result.code == 0
    assert re.search(rf"(?m)^ +{process.pid} .* {SLEEPER[:20]}", result.out), result.out
    assert "1 process by W where" in result.out


MANY = """import os, sys, time  # wattle-many
pipe = os.pipe()
for _ in range(700):
    if os.fork() == 0:
        os.close(pipe[1])
        os.read(pipe[0], 1)
        os._exit(0)
print("ready", flush=True)
sys.stdin.read()
"""


def test_once_names_everybody_however_many():
    """More than are named in the first second of a screen, and none of them does anything."""
    with subprocess.Popen((sys.executable, "-S", "-E", "-c", MANY), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as parent:
        try:
            assert parent.stdout.readline() == "ready\n"
            result = run_wattle("top", "--once", "--rows", "0", "--filter", f"ppid = {parent.pid} && command ~ wattle-many")
        finally:
            parent.stdin.close()
    assert result.code == 0
    assert "700 processes by W where" in result.out, result.out


def test_once_of_a_tape_of_run():
    """Energy and CPU time are of the same moments: the thread has caused 227 J, as its run says."""
    tape = ("--tape", TAPES / "busy-thread.tape")
    out = run_wattle("top", "--once", *tape, env={"COLUMNS": "130"}).out
    row = re.search(r"(?m)^ +4711 .* (\d+\.\d) J .*python3 fit.py$", out)
    billed = run_wattle("run", "-f", "json", *tape).json["command_energy"]["dynamic_j"]
    assert row and abs(float(row[1]) - float(billed)) < 1, (billed, out)
    assert "not attributed 0 %" in out, out


def test_once_of_its_own_tape(tmp_path):
    def rows(*tape):
        out = run_wattle("top", "--once", "--rows", "5", *tape, env={"COLUMNS": "130"}).out
        return [(line.split()[0], line.split()[2:5]) for line in out.splitlines() if re.match(r" +\d+ +\S+ +\d", line)]

    live = rows("--tape-record", tmp_path / "once.tape")
    assert live and rows("--tape", tmp_path / "once.tape") == live


@pytest.mark.parametrize("columns", ("20", "80", "300", "0", "x", "99999999999999999999"))
def test_once_in_any_width(columns):
    result = run_wattle("top", "--once", *XEON, env={"COLUMNS": columns})
    assert result.code == 0
    width = int(columns) if columns in ("20", "80", "300") else 100
    assert max(len(line) for line in result.out.splitlines()) <= width


def test_once_rows():
    result = run_wattle("top", "--once", "--rows", "1", "--sort", "pid")
    rows = result.out[result.out.index("PID USER"):].splitlines()[1:-1]
    few = len([row for row in rows if row.strip()])
    result = run_wattle("top", "--once", "--rows", "100", "--sort", "pid")
    rows = result.out[result.out.index("PID USER"):].splitlines()[1:-1]
    assert few < len([row for row in rows if row.strip()]), result.out


@pytest.mark.parametrize("script, says", (
    ("a100", r"gpu-0 +\d+\.\d W"),
    ("lost-at-start", "lost"),
    ("asleep", "gpu-0"),
    ("no-permission", "gpu-0"),
))
def test_gpus(gpus, script, says):
    fake = gpus(script)
    result = run_wattle("top", "--once", *fake.options, "--root", ROOTS / "xeon-2s-dram", env={**fake.env, "COLUMNS": "180"})
    assert result.code == 0, result.err
    assert re.search(says, result.out), result.out


@pytest.mark.parametrize("columns, says", [(80, r"GPU W: a guess"), (160, r"gpu-0 by memory \(a guess\)")])
def test_once_says_what_is_a_guess(gpus, columns, says):
    """MIG without performance monitoring: memory is all that is known."""
    fake = gpus("a100-mig")
    vm = (*fake.options, "--root", ROOTS / "vm-nothing")
    result = run_wattle("top", "--once", *vm, env={**fake.env, "COLUMNS": str(columns)})
    assert re.search(rf"^ 2 processes by .*, {says}", result.out, re.M), result
    fake = gpus("h100")
    known = run_wattle("top", "--once", *fake.options, "--root", ROOTS / "vm-nothing",
                       env={**fake.env, "COLUMNS": str(columns)})
    assert "1 process by " in known.out and "guess" not in known.out


SHARED = r"\n +1001 +(\d+\.\d+) +(\d+\.\d+) J +60\.0 +\S+ host pid 1001"  # without CPU figures: they are not known


def test_gpu_energy_goes_where_run_says(gpus):
    """All that the GPU drew is its only process's, from the start, and over the time of the GPU's own figures."""
    fake = gpus("h100")
    vm = (*fake.options, "--root", ROOTS / "vm-nothing")
    users = run_wattle("run", "-f", "json", *vm, "--", "sleep", "1.2", env=fake.env).json
    gpu = next(ledger for ledger in users["ledger"] if ledger["domain"] == "gpu-0")
    assert gpu["live_j"] == gpu["total_j"] > 70 and gpu["unattributed_j"] == 0, gpu
    result = run_wattle("top", "--once", *vm, env={**fake.env, "COLUMNS": "180"})
    assert result.code == 0, result.err
    watts, joules = re.search(r"gpu-0 +(\d+\.\d) W.* (\d+\.\d+) J", result.out).groups()
    own_watts, own_joules = re.search(SHARED, result.out).groups()
    assert own_joules == joules and abs(Decimal(own_watts) - Decimal(watts)) <= Decimal("0.05"), result.out
    assert "1 process by W, full shares, no idle baseline: let gpu-0 rest for 3 s" in result.out, result.out
    assert re.search(r"running \d+ %  .*not attributed 1\d %", result.out), result.out  # of the modelled package alone


def test_gpu_energy_live(gpus, screen):
    """The same on the screen, where the table waits for the first second."""
    fake = gpus("h100")
    top = screen(*map(str, (*fake.options, "--root", ROOTS / "vm-nothing")), columns=180, env=fake.env)
    top.wait(SHARED)
    top.wait(r"not attributed 1\d %")
    top.keys("q")
    top.wait("ENDED 0")


# ---- Options ----

@pytest.mark.parametrize("options, says", (
    (("--filter", "cpu_w > 3J"), "at character 10 of 'cpu_w > 3J': cpu_w is in watts, not in J"),
    (("--sort", "beauty"), "there is no field 'beauty'"),
    (("--redraw", "1"), "--redraw takes milliseconds from 50 to 10000"),
    (("--rows", "3"), "--rows is for --once"),
    (("word",), "one word too many"),
    (("--tape", "/nowhere/x.tape"), "/nowhere/x.tape"),
))
def test_bad_options(options, says):
    result = run_wattle("top", *options)
    assert result.code in (1, 2) and says in result.err, result.err


def test_full_disk():
    with open("/dev/full", "wb") as full:
        done = subprocess.run((command_path(), "top", "--once", *XEON), stdout=full, stderr=subprocess.PIPE,
                              env=clean_env(), timeout=TIMEOUT, check=False)
    assert done.returncode == 1 and done.stderr.splitlines() == [
        b"wattle: top: cannot write to standard output: No space left on device"]
