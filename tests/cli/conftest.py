# SPDX-License-Identifier: MIT
"""What the tests of the command share: the command itself, machines whose counters move, terminals."""

import atexit
import csv
import io
import itertools
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path

import pytest

sys.dont_write_bytecode = False  # what pytest makes of asserts is kept for its other processes

REPO = Path(__file__).resolve().parents[2]
ROOTS = REPO / "tests" / "fixtures" / "roots"
SCRIPTS = REPO / "tests" / "fake" / "scripts"
TIMEOUT = 60  # far beyond what anything takes: no test is about speed
UNIT_PERF = 2 ** 32  # counts of a perf counter in a joule

# Moves a machine's counters while it is measured: this is the command that wattle runs, so what it
# moved is exactly what wattle must find.
MOVER = r"""
import os, sys, time
def write(path, text):
    size = os.stat(path).st_size
    fd = os.open(path, os.O_WRONLY)
    os.pwrite(fd, text.ljust(size - 1).encode() + b"\n", 0)   # in place: wattle holds it open
    os.close(fd)
steps = sys.argv[1:]
while steps:
    what = steps.pop(0)
    if what == "sleep":
        time.sleep(float(steps.pop(0)))
    elif what == "exit":
        sys.exit(int(steps.pop(0)))
    elif what == "write":
        path, text = steps.pop(0), steps.pop(0)
        write(path, text)
    elif what == "add":
        path, counts = steps.pop(0), int(steps.pop(0))
        write(path, str(int(open(path).read()) + counts))
    elif what == "wrap":
        path, counts, span = steps.pop(0), int(steps.pop(0)), int(steps.pop(0))
        write(path, str((int(open(path).read()) + counts) % span))
"""


def pytest_configure(config):
    # A job in the background ignores SIGINT, one of nohup SIGHUP, and so would what is run here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for one in (signal.SIGQUIT, signal.SIGHUP):
        signal.signal(one, signal.SIG_DFL)
    config.addinivalue_line("markers", "alone: holds wattle to work that has this machine's processors for itself")
    config.addinivalue_line("markers", "waits: takes seconds of real time, and hardly any of a processor's")


def pytest_collection_modifyitems(items):
    """Side by side, tests that wait go between the other files' tests, from the beginning on: workers get tests by runs, and a run
    of those that wait would leave the processors idle, at the end above all. Tests of a file stay together: they share fixtures."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return
    waiting = [item for item in items if item.get_closest_marker("waits")]
    others = [item for item in items if not item.get_closest_marker("waits")]
    files = [list(group) for _, group in itertools.groupby(others, key=lambda item: item.path)]
    spread, done = [], 0
    for tests in files:
        # All of them have begun after two thirds of the others.
        due = min(len(waiting), -(-len(waiting) * 3 * (done + len(tests)) // (2 * max(len(others), 1))))
        spread += waiting[len(spread) - done:due] + tests
        done += len(tests)
    items[:] = spread + waiting[len(spread) - done:]


def command_path():
    path = os.environ.get("WATTLE")
    if not path:
        pytest.skip("WATTLE does not name the command")
    assert os.access(path, os.X_OK), f"WATTLE={path} cannot be run"
    return path


# Recordings of tests that run beside this one are not to be found, nor marked, by it. Sockets have short names.
RUNTIME = tempfile.mkdtemp(prefix="wt-")
atexit.register(shutil.rmtree, RUNTIME, ignore_errors=True)


def clean_env(**changes):
    """The environment without what changes wattle's behaviour; None removes a variable."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "WATTLE_FAKE"))}
    for key in ("NO_COLOR", "LANGUAGE", "POSIXLY_CORRECT", "MAKEFLAGS", "WATTLE_MARK"):
        env.pop(key, None)
    env.update(LANG="C.UTF-8", TERM="xterm", XDG_RUNTIME_DIR=RUNTIME)
    for key, value in changes.items():
        if value is None:
            env.pop(key, None)
        else:
            env[key] = str(value)
    return env


class Result:
    """What a finished wattle left behind."""

    def __init__(self, code, out, err):
        self.code, self.out_bytes, self.err_bytes = code, out or b"", err or b""

    @property
    def out(self):
        return self.out_bytes.decode("utf-8", "surrogateescape")

    @property
    def err(self):
        return self.err_bytes.decode("utf-8", "surrogateescape")

    @property
    def json(self):
        return parse_json(self.out)

    @property
    def csv(self):
        return parse_csv(self.out)

    def complaint(self):
        """The one line on standard error."""
        assert self.err.endswith("\n") and self.err.count("\n") == 1, self.err
        assert self.err.startswith("wattle: "), self.err
        return self.err[:-1]

    def __repr__(self):
        return f"status {self.code}\n--- out\n{self.out}\n--- err\n{self.err}"


def parse_json(text):
    """Decimals stay exact; a key that stands twice is an error."""
    def pairs(items):
        keys = [k for k, _ in items]
        assert len(keys) == len(set(keys)), keys
        return dict(items)

    def constant(name):
        raise ValueError(name)
    return json.loads(text, parse_float=Decimal, object_pairs_hook=pairs, parse_constant=constant)


def parse_csv(text):
    rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    for row in rows:
        assert None not in row and None not in row.values(), row
    return rows


def whole(args):
    """The words with what makes the report of `run` whole, and puts it on standard output, apart from remarks."""
    words = list(map(os.fspath, args))
    own = words[:words.index("--")] if "--" in words else words
    if not words or words[0] != "run" or {"-h", "--help"} & set(own):
        return words
    more = [] if {"-o", "--output"} & set(own) or any(w.startswith(("--output=", "-o/")) for w in own) else ["-o", "-"]
    return [words[0], "--full", *more, *words[1:]]


def cut_environment(marker):
    """In which a recording's FILE-shm, a model or a log is truncated in the middle of what is done with it, once the file `marker` is there."""
    shim = Path(os.environ.get("WATTLE_BUILD_ROOT") or ".") / "tests/gate/libcutgate.so"
    if not shim.exists():
        pytest.skip("WATTLE_BUILD_ROOT does not name a build with the gate")
    # What is in its middle is left behind.
    checks = f"{os.environ.get('ASAN_OPTIONS', '')}:detect_leaks=0"
    return {"LD_PRELOAD": shim, "WATTLE_TEST_CUT": marker, "ASAN_OPTIONS": checks}


def run_wattle(*args, env=None, timeout=TIMEOUT, stdin=b"", as_typed=False, **options):
    """Runs the command. env: changes to a clean environment. as_typed: nothing is added to run's options, see whole().
    Other options are subprocess.run's."""
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    if "stdin_file" in options:
        options["stdin"] = options.pop("stdin_file")
    else:
        options["input"] = stdin
    words = map(os.fspath, args) if as_typed else whole(args)
    done = subprocess.run([command_path(), *words], env=clean_env(**(env or {})),
                          timeout=timeout, check=False, **options)
    return Result(done.returncode, done.stdout, done.stderr)


def run_for_memory(*args):
    """Runs the command and tells its largest memory, in kB: mapped files that it looked at are in it."""
    script = "import resource, subprocess, sys; code = subprocess.call(sys.argv[2:], stderr=subprocess.STDOUT); " \
             "open(sys.argv[1], 'w').write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)); sys.exit(code)"
    with tempfile.NamedTemporaryFile("r") as told:
        done = subprocess.run([sys.executable, "-c", script, told.name, command_path(), *args], env=clean_env(),
                              timeout=TIMEOUT, check=False, capture_output=True, text=True)
        return done, int(told.read())


def start_wattle(*args, env=None, **options):
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen([command_path(), *whole(args)], env=clean_env(**(env or {})),
                            **options)


def finish(process, timeout=TIMEOUT):
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()  # or it would go on beside the other tests
        raise
    return Result(process.returncode, out, err)


def wait_for(condition, what, timeout=TIMEOUT):
    """Until condition() is true; what it is, for the failure's message. What takes long to ask is asked less often."""
    end = time.monotonic() + timeout
    while (begin := time.monotonic()) < end:
        value = condition()
        if value:
            return value
        time.sleep(min(max(0.01, 10 * (time.monotonic() - begin)), 0.1))
    raise AssertionError(f"waited in vain for {what}")


def domain(report, name):
    found = [d for d in report["domains"] if d["name"] == name]
    assert len(found) == 1, [d["name"] for d in report["domains"]]
    return found[0]


def check_sums(report):
    """Promise 1: the ledger closes, and the total is the sum of what is in it, to the microjoule."""
    for account in report["ledger"]:
        parts = [v for k, v in account.items() if k.endswith("_j") and k != "total_j"]
        assert sum(parts) == account["total_j"], account
        assert account["total_j"] == domain(report, account["domain"])["energy_j"]
    counted = [d["energy_j"] for d in report["domains"] if d["in_total"] and "energy_j" in d]
    if counted:
        assert sum(counted) == report["total"]["energy_j"]
    else:
        assert "energy_j" not in report["total"] and report["total"]["reason"]
    names = {d["name"] for d in report["domains"]}
    assert {a["domain"] for a in report["ledger"]} == \
        {d["name"] for d in report["domains"] if "energy_j" in d}
    for line in report["domains"]:
        assert line["inside"] is None or line["inside"] in names
        assert "energy_j" in line or line["reason"], line


class Machine:
    """A copy of a machine root that can be changed."""

    def __init__(self, source, path):
        self.path = path
        shutil.copytree(ROOTS / source, path, symlinks=True)

    def zone(self, name):
        """The counter of a powercap zone such as intel-rapl:0:1."""
        return self.path / "sys/class/powercap" / name / "energy_uj"

    def perf(self, event):
        return self.path / "wattle-perf" / event

    def without_perf(self):
        shutil.rmtree(self.path / "wattle-perf", ignore_errors=True)
        devices = self.path / "sys/bus/event_source/devices"
        power = devices / "power"
        if power.is_symlink():
            shutil.rmtree(power.resolve(), ignore_errors=True)
            power.unlink()
        elif power.exists():
            shutil.rmtree(power)
        return self

    def put(self, path, text):
        target = self.path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else text.encode())
        return target

    def measure(self, *steps, options=(), env=None):
        """Runs the steps (see MOVER) under wattle run --format json."""
        result = run_wattle("run", "--root", self.path, "-f", "json", *options, "--",
                            *mover(*steps), env=env)
        assert result.code == 0, result
        check_sums(result.json)
        return result.json


def mover(*steps):
    return (sys.executable, "-S", "-E", "-c", MOVER, *map(str, steps))


@pytest.fixture(name="machine")
def machine_copies(tmp_path):
    """machine("client-psys"): a copy of that root."""
    def copy(name):
        return Machine(name, tmp_path / "root" / name)
    return copy


def fake_library():
    path = os.environ.get("WATTLE_NVML_LIBRARY")
    if not path:
        pytest.skip("WATTLE_NVML_LIBRARY does not name the fake NVML")
    assert os.path.exists(path), path
    return path


class Gpus:
    """wattle on the fake NVML with a script."""

    def __init__(self, script):
        self.script = str(script)
        self.options = ("--nvml", fake_library())

    @property
    def env(self):
        return {"WATTLE_FAKE_NVML": self.script}

    def run(self, *args, **options):
        return run_wattle("run", *self.options, *args, env=self.env, **options)


@pytest.fixture(name="gpus")
def fake_gpus(tmp_path):
    """gpus("a100") for a script of tests/fake, gpus(text=...) for one of the test's own."""
    def make(name=None, text=None):
        if text is None:
            return Gpus(SCRIPTS / f"{name}.nvml")
        path = tmp_path / "script.nvml"
        path.write_text(text)
        return Gpus(path)
    return make


class Terminal:
    """A process on a terminal of its own, as its session's leader."""

    def __init__(self, *command, env=None, cwd=None):
        command = [os.fspath(c) for c in command]
        self.seen = b""
        self.status = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                if cwd:
                    os.chdir(cwd)
                os.execvpe(command[0], command, clean_env(**(env or {})))
            finally:
                os._exit(99)

    def pump(self, seconds):
        """Takes in what comes within the time; False at the end of it all."""
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # EIO: nobody has the terminal open any more
            return False
        self.seen += data
        return bool(data)

    def expect(self, text, timeout=TIMEOUT):
        end = time.monotonic() + timeout
        while text.encode() not in self.seen:
            assert time.monotonic() < end, f"{text!r} did not come: {self.seen!r}"
            if not self.pump(0.05):
                assert text.encode() in self.seen, f"{text!r} never came: {self.seen!r}"
        return self

    def send(self, data):
        os.write(self.fd, data)

    def finish(self, timeout=TIMEOUT):
        end = time.monotonic() + timeout
        while self.pump(0.05):
            assert time.monotonic() < end, f"it does not end: {self.seen!r}"
        _, status = os.waitpid(self.pid, 0)
        self.status = os.waitstatus_to_exitcode(status)
        return Result(self.status, self.seen.replace(b"\r\n", b"\n"), b"")

    def close(self):
        if self.status is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass
        os.close(self.fd)


@pytest.fixture(name="terminal")
def terminals():
    """terminal(command...): a Terminal that is closed after the test."""
    opened = []

    def start(*command, **options):
        opened.append(Terminal(*command, **options))
        return opened[-1]
    yield start
    for one in opened:
        one.close()


@pytest.fixture(name="wattle")
def wattle_path():
    return command_path()
