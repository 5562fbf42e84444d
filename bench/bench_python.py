#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The Python package's cost, beside zeus and codecarbon on the same fake NVML with eight GPUs: Markdown for docs/python.md.

    bench_python.py [--long] [--repeat N]     --long: windows of 60 s, too

BENCH_PYTHON: the interpreter that has wattle, zeus and codecarbon (default: this one); the last two may be missing. The truth is the fake
NVML's script. Medians; ratios hold within one run.
"""

import argparse
import concurrent.futures
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("WATTLE_BUILD_ROOT", REPO / "build")).resolve()
PYTHON = os.environ.get("BENCH_PYTHON", sys.executable)
ROOT = REPO / "tests" / "fixtures" / "roots" / "xeon-2s-dram"
LIBRARY = BUILD / "tests" / "fake" / "libnvidia-ml.so.1"
LOW_W, HIGH_W, PERIOD_S, GPUS = 100, 300, 0.7, 8

GPU = """gpu NVIDIA A100-SXM4-80GB
  uuid GPU-80000000-0000-4000-8000-00000000000{0}
  bus 00000000:0{0}:00.0
  cc 8.0
  power 0 square {1} {2} {3}
  sensor counter gpu 100
  sensor instant gpu 100 25
  sensor usage gpu 100 25
"""

# Each tool has to give begin(), end() -> joules of the GPUs, and poll() -> a function that ends a 10 Hz sampling in the background.
TOOLS = {
    "wattle": """
import wattle
meter = wattle.Meter(root=ROOT, nvml=LIBRARY, attribution=False, gpus="all")
begin = lambda: meter.begin("w")
def end():
    window = meter.end("w")
    return sum(energy.energy_j for name, energy in window.domains.items() if name in GPU_NAMES)
GPU_NAMES = {d.name for d in meter.domains if d.kind == "gpu" and d.in_total}
def poll():
    import threading
    sampler, done = meter.sampler(), threading.Event()
    def read():
        while not done.wait(0.1):
            sampler.read()
    threading.Thread(target=read, daemon=True).start()
    return done.set
""",
    "zeus": """
import logging
logging.disable(logging.ERROR)
from zeus.monitor import ZeusMonitor
meter = ZeusMonitor(cpu_indices=[])
begin = lambda: meter.begin_window("w", sync_execution=False)
end = lambda: meter.end_window("w", sync_execution=False).total_energy
def poll():
    from zeus.monitor import PowerMonitor
    monitor = PowerMonitor(update_period=0.1)
    return monitor.stop
""",
    "codecarbon": """
import logging
logging.disable(logging.ERROR)
import codecarbon
def tracker(seconds):
    return codecarbon.OfflineEmissionsTracker(country_iso_code="FRA", measure_power_secs=seconds, save_to_file=False, log_level="error",
                                              allow_multiple_runs=True)
meter = tracker(15)
begin = lambda: meter.start_task("w")
def end():
    data = meter.stop_task("w")
    meter._tasks.clear()
    return data.gpu_energy * 3.6e6
def poll():
    other = tracker(0.1)
    other.start()
    return other.stop
""",
}
IMPORT = {"wattle": "import wattle", "zeus": "from zeus.monitor import ZeusMonitor", "codecarbon": "import codecarbon"}

HEAD = """
import ctypes, os, resource, statistics, sys, time
ROOT, LIBRARY = sys.argv[1:3]
loaded_s = time.monotonic()
ctypes.CDLL(LIBRARY, ctypes.RTLD_GLOBAL)
"""

WINDOWS = """
times = []
for _ in range(int(sys.argv[3])):
    t = time.perf_counter()
    begin(); end()
    times.append(time.perf_counter() - t)
print(statistics.median(times))
"""

CPU = """
def used():
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
stop = poll()  # held: zeus ends with its object
time.sleep(8)  # another process may have to start
children = [int(p) for p in open(f"/proc/self/task/{os.getpid()}/children").read().split()]
def alive():
    return sum(int(open(f"/proc/{p}/task/{t}/schedstat").read().split()[0]) for p in children for t in os.listdir(f"/proc/{p}/task")) / 1e9
a, t = used() + alive(), time.monotonic()
time.sleep(float(sys.argv[3]))
print((used() + alive() - a) / (time.monotonic() - t))
sys.stdout.flush()
for child in children:
    os.kill(child, 9)
os._exit(0)
"""

ERROR = """
import random
begin(); end()
errors, rng = [], random.Random(int(sys.argv[5]))
for _ in range(int(sys.argv[4])):
    begin()
    a = time.monotonic()
    time.sleep(float(sys.argv[3]) + rng.uniform(0, 0.1))  # not always a multiple of the sensors' updates
    b = time.monotonic()
    energy = end()
    errors.append(abs(energy - (truth(b - loaded_s) - truth(a - loaded_s))) / (truth(b - loaded_s) - truth(a - loaded_s)))
    time.sleep(0.13)
print(*errors)
"""

TRUTH = f"""
def truth(t):
    whole, part = divmod(t, {PERIOD_S})
    half = {PERIOD_S} / 2
    return {GPUS} * ((whole * half + min(part, half)) * {HIGH_W} + (whole * half + max(part - half, 0)) * {LOW_W})
"""

# begin+end of the package, and the same two calls of the C library with nothing around them, in turn.
BEYOND = """
import wattle
from wattle import _abi
from wattle._lib import load, new, new_array
meter = wattle.Meter(root=ROOT, nvml=LIBRARY if sys.argv[3] == "nvml" else "", attribution=False, gpus="all", interval_s=0)
library, n = load(), len(meter.domains)
window, energies, handle = new(_abi.Window), new_array(_abi.Energy, n), meter._handle
package, bare = [], []
for _ in range(int(sys.argv[4])):
    a = time.perf_counter()
    meter.begin("w"); meter.end("w")
    b = time.perf_counter()
    library.wattle_window_begin(handle, b"w"); library.wattle_window_end(handle, b"w", window, energies, n)
    c = time.perf_counter()
    package.append(b - a); bare.append(c - b)
print(statistics.median(package), statistics.median(bare), statistics.median(p - q for p, q in zip(package, bare)))
"""

# The longest pause of a thread that counts, while another one opens a meter and measures windows, and while that one sleeps.
GIL = """
import threading, wattle
last, longest = time.perf_counter(), 0
def run():
    global last, longest
    while True:
        now = time.perf_counter()
        last, longest = now, max(longest, now - last)
threading.Thread(target=run, daemon=True).start()
def pause(work):
    global last, longest
    last, longest = time.perf_counter(), 0
    work()
    return longest
def read():
    with wattle.Meter(root=ROOT, nvml=LIBRARY, attribution=False, interval_s=0.02) as meter:
        meter.begin("w")
        end = time.monotonic() + 0.6
        while time.monotonic() < end:
            meter.read("w")
            time.sleep(0.01)
print(*(statistics.median(pause(work) for _ in range(5)) for work in (read, lambda: time.sleep(0.6))))
"""


class Machine:
    """A copy of the root whose counters move, by 30 W each, as long as the bench runs."""

    def __init__(self, folder):
        self.root = folder / "machine"
        shutil.copytree(ROOT, self.root, symlinks=True)
        power = self.root / "sys" / "bus" / "event_source" / "devices" / "power"
        shutil.rmtree(power.resolve(), ignore_errors=True)
        power.unlink(missing_ok=True)
        threading.Thread(target=self.move, daemon=True).start()

    def move(self):
        counters = list((self.root / "sys" / "class" / "powercap").glob("intel-rapl:*/energy_uj"))
        while True:
            time.sleep(0.02)
            for counter in counters:
                try:
                    with open(counter, "r+") as file:
                        energy_uj = int(file.read()) + 600_000
                        os.pwrite(file.fileno(), f"{energy_uj}\n".encode(), 0)
                except FileNotFoundError:  # the bench is over
                    return


def run(program, *args, script=None):
    """What a program prints last, and how long it took; None where it failed."""
    env = {**os.environ, "LD_LIBRARY_PATH": str(LIBRARY.parent), "PYTHONWARNINGS": "ignore"}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # imports are of compiled modules, as those of an installed package
    env.update({"WATTLE_FAKE_NVML": str(script)} if script else {})
    begin = time.perf_counter()
    done = subprocess.run([PYTHON, "-c", program, *map(str, args)], env=env, capture_output=True, text=True)
    took = time.perf_counter() - begin
    if done.returncode != 0:
        print((done.stderr.strip() or "?").splitlines()[-1], file=sys.stderr)
        return None, took
    return (done.stdout.strip() or "0").splitlines()[-1], took


def cell(value, unit, first):
    """A value, and how many times the first tool's it is."""
    if value is None:
        return "failed"
    ratio = f" ({value / first:.3g}×)" if first and value != first else ""
    return f"{value:.3g} {unit}{ratio}"


def row(title, values, unit, factor=1):
    known = [None if value is None else value * factor for value in values]
    print(f"| {title} | " + " | ".join(cell(value, unit, known[0]) for value in known) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ["PYTHONPYCACHEPREFIX"] = f"{folder}/compiled"
        smi = Path(folder) / "nvidia-smi"  # codecarbon asks NVML only where there is one
        smi.write_text("#!/bin/sh\n")
        smi.chmod(0o755)
        os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
        script = Path(folder) / "square.nvml"
        script.write_text("driver 550.54.15\n" + "".join(GPU.format(i, LOW_W, HIGH_W, PERIOD_S) for i in range(GPUS)))
        both = (Machine(Path(folder)).root, LIBRARY)
        for source, reads in (("counters", "four RAPL counters"), ("nvml", "those and eight GPUs")):
            package, bare, beyond = map(float, run(HEAD + BEYOND, *both, source, 2000, script=script)[0].split())
            print(f"begin+end, {reads}: {package * 1e6:.1f} µs, the C library's two calls {bare * 1e6:.1f} µs, beyond them {beyond * 1e6:.1f} µs")
        reading, sleeping = map(float, run(HEAD + GIL, *both, script=REPO / "tests" / "fake" / "scripts" / "slow.nvml")[0].split())
        print(f"a thread beside reads of an NVML that take 30 ms each pauses for at most {reading * 1e3:.1f} ms, alone for {sleeping * 1e3:.1f} ms\n")
        tools, versions = [], []
        for tool in TOOLS:
            version = run(f"import {tool}; print({tool}.__version__)")[0]
            if version is None:
                print(f"{tool} is skipped: it is not installed for {PYTHON}; set BENCH_PYTHON\n")
            else:
                tools.append(tool)
                versions.append(f"{tool} {version}")
        print("| | " + " | ".join(versions) + " |\n|" + "---|" * (len(tools) + 1), flush=True)

        def beyond(program, *rest):
            """How much longer it takes than a bare interpreter, in turn; the first is to compile its modules."""
            run(program, *rest, script=script)
            return statistics.median(run(program, *rest, script=script)[1] - run("pass")[1] for _ in range(args.repeat))

        def numbers(tail, *rest):
            found = [run(HEAD + TRUTH + TOOLS[tool] + tail, *both, *rest, script=script)[0] for tool in tools]
            return [None if value is None else float(value) for value in found]

        def errors(seconds, times):
            """All tools at once: they sleep nearly all of the time."""
            with concurrent.futures.ThreadPoolExecutor(5 * len(tools)) as pool:
                runs = [[pool.submit(run, HEAD + TRUTH + TOOLS[tool] + ERROR, *both, seconds, times, seed, script=script) for seed in range(5)]
                        for tool in tools]
            found = [[one.result()[0] for one in each] for each in runs]
            return [None if None in each else statistics.median(float(word) for one in each for word in one.split()) for each in found]

        row("import, over a bare interpreter", [beyond(IMPORT[tool]) for tool in tools], "ms", 1e3)
        row("first reading, import included", [beyond(HEAD + TOOLS[tool] + "begin(); end()", *both) for tool in tools], "ms", 1e3)
        row("one window", numbers(WINDOWS, 50), "ms", 1e3)
        row("sampling at 10 Hz, of a core", numbers(CPU, 10), "%", 1e2)
        for seconds, times in ((0.5, 9), (5, 3), *(((60, 1),) if args.long else ())):
            row(f"error of a {seconds:g} s window", errors(seconds, times), "%", 1e2)


if __name__ == "__main__":
    main()
