# SPDX-License-Identifier: MIT
"""Machines for the tests of the Python package: fixture roots whose counters a test moves, and the fake NVML."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("WATTLE_BUILD_ROOT", REPO / "build-gcc"))
ROOTS = REPO / "tests" / "fixtures" / "roots"


def pytest_configure(config):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a script ignores it, and so would what is run here
    os.environ.pop("PYTHON_GIL", None)  # of this interpreter: others that are run here may not know it
    config.addinivalue_line("markers", "alone: holds a program to work that has this machine's processors for itself")


@pytest.fixture(autouse=True)
def warnings_anew():
    """Each is given once a process: here once a test."""
    import wattle.meter

    wattle.meter._warned.clear()


@pytest.fixture(scope="session")
def build():
    return BUILD


@pytest.fixture(scope="session")
def root():
    """The path of a fixture root by its name."""
    return lambda name: ROOTS / name


class Machine:
    """A copy of a fixture root with powercap counters alone, which a test moves."""

    def __init__(self, path):
        self.path = path
        power = path / "sys" / "bus" / "event_source" / "devices" / "power"
        shutil.rmtree(path / "wattle-perf", ignore_errors=True)
        shutil.rmtree(power.resolve(), ignore_errors=True)
        power.unlink(missing_ok=True)

    def counter(self, zone):
        return self.path / "sys" / "class" / "powercap" / zone / "energy_uj"

    def add(self, zone, energy_uj):
        with open(self.counter(zone), "r+", buffering=1) as file:  # in place and by one write: a meter's thread may read it
            energy_uj += int(file.read())
            os.pwrite(file.fileno(), f"{energy_uj}\n".encode(), 0)


class Mover:
    """A thread that moves a machine's counters until the block ends: `run` says how."""

    def __init__(self, machine):
        self.machine, self.end = machine, threading.Event()
        self.zones = ["intel-rapl:0", "intel-rapl:0:0", "intel-rapl:1:0", "intel-rapl:1"]
        self.thread = threading.Thread(target=self.run)

    def add(self, energy_uj):
        for zone in self.zones:
            self.machine.add(zone, energy_uj)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.end.set()
        self.thread.join()


@pytest.fixture
def machine(tmp_path):
    """A two-socket server with packages ``intel-rapl:0``, ``:1`` and their DRAM ``intel-rapl:0:0``, ``:1:0``."""
    path = tmp_path / "machine"
    shutil.copytree(ROOTS / "xeon-2s-dram", path, symlinks=True)
    return Machine(path)


@pytest.fixture
def meter(machine):
    """A meter of that machine; its figures are its counters' alone."""
    import wattle

    with wattle.Meter(root=machine.path, nvml="", attribution=False, interval_s=0) as opened:
        yield opened


@pytest.fixture
def fake_nvml(monkeypatch):
    """Sets the fake NVML's script and gives its library's path. Of one process only the first script counts: see `python`."""

    def choose(script):
        path = Path(script) if os.sep in str(script) else REPO / "tests" / "fake" / "scripts" / f"{script}.nvml"
        monkeypatch.setenv("WATTLE_FAKE_NVML", str(path))
        return BUILD / "tests" / "fake" / "libnvidia-ml.so.1"

    return choose


@pytest.fixture
def python(tmp_path):
    """Runs a program in an interpreter of its own, and gives its output; it has to succeed."""

    def run(program, *args, code=0, timeout=60, **env):
        done = subprocess.run(
            [sys.executable, "-c", program, *map(str, args)],
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=tmp_path,
            env={**os.environ, **{name: str(value) for name, value in env.items()}},
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return run
