# SPDX-License-Identifier: MIT
"""Threads at once, for CPython without a GIL above all; with one, threads take turns as often as it lets them."""

import os
import subprocess
import sys
import sysconfig
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import wattle
from conftest import ROOTS, Mover

MJ = 1_000
THREADS = 6
FREE = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


@pytest.fixture(autouse=True)
def turns():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def together(work):
    """What each thread's call returned; they begin at once, and what one raises is raised here."""
    barrier = threading.Barrier(THREADS, timeout=60)

    def begin(i):
        barrier.wait()
        return work(i)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begin, range(THREADS)))


class Moving(Mover):
    """Adds a millijoule to each counter again and again, and counts them."""

    added_uj = 0

    def run(self):
        while not self.end.wait(0.001):
            self.add(MJ)
            self.added_uj += MJ


def lies_in(inner, outer):
    """What a window has of energy and time is also in the one around it."""
    assert 0 <= inner.duration_s <= outer.duration_s
    for name, energy in inner.domains.items():
        around = outer.domains[name]
        assert energy.energy_uj is None or around.energy_uj is None or 0 <= energy.energy_uj <= around.energy_uj


@pytest.mark.skipif(not FREE, reason="this CPython has a GIL")
def test_the_gil_stays_off(python):
    program = """
import importlib, pkgutil, sys
import wattle
assert not sys._is_gil_enabled()
for module in pkgutil.walk_packages(wattle.__path__, "wattle."):
    if "callbacks" not in module.name:  # of other packages
        importlib.import_module(module.name)
with wattle.Meter(root=sys.argv[1], nvml="") as meter, meter.window("w"):
    pass
print(sys._is_gil_enabled())
"""
    env = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    done = subprocess.run([sys.executable, "-c", program, str(ROOTS / "xeon-2s-dram")], capture_output=True, text=True, timeout=60, env=env)
    assert (done.stdout, done.returncode) == ("False\n", 0), done.stderr


def test_windows_of_many_threads_add_up(machine):
    """Stacks, named windows, blocks, running values and a sampler of one meter, whose own thread samples meanwhile."""
    with wattle.Meter(root=machine.path, nvml="", attribution=False, interval_s=0.001) as meter:
        meter.begin("all")

        def work(i):
            if i == 0:
                with meter.sampler() as sampler:
                    return [sampler.read() for _ in range(200)]
            made = []
            for n in range(100):
                meter.push("outer")
                meter.push("inner")
                meter.begin(f"own {i}")
                with meter.window("block") as block:
                    running = meter.read(f"own {i}")
                own, inner, outer = meter.end(f"own {i}"), meter.pop(), meter.pop()
                assert (inner.name, outer.name, block.name) == ("inner", "outer", "block")
                lies_in(running, own)
                lies_in(own, inner)
                lies_in(inner, outer)
                made.append(outer)
            return made

        with Moving(machine) as moving:
            samples, *windows = together(work)
        every = meter.end("all")
        assert meter.open_windows == ()
    assert [len(made) for made in windows] == [100] * (THREADS - 1) and len(samples) == 200
    for name, energy in every.domains.items():
        assert energy.energy_uj == moving.added_uj, name
        # One thread's windows follow one another: together they have no more than all of the time has.
        for made in windows:
            assert sum(window.domains[name].energy_uj or 0 for window in made) <= moving.added_uj
        assert sum(sample.energy_j[name] or 0 for sample in samples) <= moving.added_uj / 1e6 + 1e-9


def test_meters_of_many_threads(machine):
    """Each opens and closes its own, beside one that all share; all of the open ones have seen the same."""
    options = {"root": machine.path, "nvml": "", "attribution": False, "interval_s": 0}
    with wattle.Meter(**options) as shared:

        def work(i):
            for _ in range(8):
                with shared.window("shared") as outer, wattle.Meter(**options) as meter, meter.window("own") as own:
                    meter.tick()
                lies_in(own, outer)
                assert meter.open_windows == () and not meter.is_open
            return True

        with Moving(machine):
            assert all(together(work))
        assert shared.open_windows == ()


def test_first_calls_at_once(tmp_path, python):
    """In a process that has measured nothing so far: one meter is opened."""
    program = """
import sys, threading, warnings
from concurrent.futures import ThreadPoolExecutor
warnings.simplefilter("ignore")
import wattle
barrier = threading.Barrier(8)

@wattle.measure
def work():
    return sum(range(1000))

def first(i):
    barrier.wait()
    meter = wattle.default_meter()
    meter.push("w")
    work()
    meter.pop(), meter.gpus(), meter.cost(), meter.domains, wattle.__version__
    return meter

with ThreadPoolExecutor(8) as pool:
    print(len(set(map(id, list(pool.map(first, range(8)))))))
"""
    for _ in range(5):
        assert python(program, XDG_STATE_HOME=tmp_path).stdout == "1\n"


def test_a_live_plot_is_read_while_it_samples(meter):
    """Its samples come as fast as a thread can make them."""
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib").use("Agg")
    live = wattle.live(span_s=500, domains="package-0", meter=meter, keep_s=500)
    sample, ends = wattle.Sample(0.0, 1.0, 0.1), threading.Event()
    sample.power_w["package-0"] = 50.0
    for _ in range(5_000):
        live._take(sample)

    def run():
        while not ends.is_set():
            live._take(sample)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run)
        try:
            for _ in range(8):
                assert 5_000 <= len(live.frame()) <= 5_001
                live._draw()
        finally:
            ends.set()
        running.result()
    assert len(live.samples) == 5_000
