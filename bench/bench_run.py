#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `wattle run` costs the command that it measures: time, memory, slow-down, and its own CPU time; and what
`wattle record` costs beside it.

Each figure is the median of pairs taken in turn, since the machine's own noise is larger than what is measured.
Prints the targets of the issue beside them, and never fails for being slow.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("WATTLE_BUILD_ROOT", REPO / "build"))
WATTLE = os.environ.get("WATTLE", str(BUILD / "wattle"))
ROOT = REPO / "tests" / "fixtures" / "roots" / "xeon-2s-dram"
GPUS = REPO / "tests" / "fake" / "scripts" / "eight-gpus.nvml"
PAIRS = int(os.environ.get("PAIRS", "151"))
TURNS, TURN_MS = int(os.environ.get("TURNS", "500")), 25

# A CPU-bound command. Two lengths, so that starting and reporting, which do not grow with it, can be taken off.
SPIN_FOR = "import sys, time\nend = time.monotonic() + float(sys.argv[1])\nwhile time.monotonic() < end: pass"
SHORT_S, LONG_S = 1, 5
SHARES = int(os.environ.get("SHARES", "5"))
BESIDE_S = int(os.environ.get("BESIDE_S", "30"))


def machines():
    """Options for this machine as it is, and for one with counters and eight GPUs."""
    nvml = str(BUILD / "tests" / "fake" / "libnvidia-ml.so.1")
    yield "this machine", [], {}
    yield "2 packages, 2 DRAMs, 8 GPUs", ["--root", str(ROOT), "--nvml", nvml], {"WATTLE_FAKE_NVML": str(GPUS)}


def spent(args, env):
    """Wall time, CPU time of the process and what it waited for (s), and its highest resident memory (KiB)."""
    begin = time.perf_counter()
    process = subprocess.Popen(args, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{args}: exit status {process.returncode}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def pairs(n, without, with_wattle, env):
    """Both in turn, and which one goes first changes each time."""
    plain, measured = [], []
    for i in range(n):
        order = [(without, plain), (with_wattle, measured)]
        for args, results in order if i % 2 else reversed(order):
            results.append(spent(args, env))
    return plain, measured


def median(values):
    return statistics.median(values)


def high_water(command, options, env=None):
    """VmHWM of wattle itself while it measures, in KiB: the rusage of wait4 is that of its biggest child too."""
    folder = tempfile.TemporaryDirectory()
    output = ["-o", f"{folder.name}/high.wattle"] if command == "record" else []
    process = subprocess.Popen([WATTLE, command, *output, *options, "--", "sleep", "3"], env=env,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    highest = 0
    while process.poll() is None:
        try:
            for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    highest = max(highest, int(line.split()[1]))
        except OSError:
            pass
        time.sleep(0.005)
    folder.cleanup()
    return highest


def bench_start(name, options, env):
    true = shutil.which("true")
    plain, measured = pairs(PAIRS, [true], [WATTLE, "run", *options, "--", true], env)
    without = median([p[0] for p in plain])
    added = median([m[0] - p[0] for m, p in zip(measured, plain)])
    print(f"{name}: wattle run -- true")
    print(f"  true alone            {without * 1e3:8.2f} ms")
    print(f"  added by wattle       {added * 1e3:8.2f} ms   {added / without:6.2f} x true    target: 5 ms")
    print(f"  resident memory       {high_water('run', options, env) / 1024:8.2f} MiB                   target: 6 MB")


def bench_slowdown(name, options, env):
    for interval, target in (("100", ""), ("1", "target: 0.25 %")):
        print(f"{name}: a CPU-bound command, a sample every {interval} ms")
        print_slowdown("slower by", [WATTLE, "run", "-q", "-i", interval, *options, "--", "sleep", "600"], env, target)
        if interval == "1":
            print_slowdown("by waking up alone", [BUILD / "bench" / "bench_wakeups", "1000", "600000"], env)
        bench_share(interval, options, env, "target: 2 %" if interval == "1" else "")


def print_slowdown(what, beside, env, target=""):
    """By how much a command is slower while this runs beside it, which is stopped and goes on in turns."""
    process = subprocess.Popen(beside, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    out = subprocess.run([BUILD / "bench" / "bench_slowdown", str(process.pid), str(TURNS), str(TURN_MS)],
                         capture_output=True, text=True, check=True).stdout
    process.terminate()
    process.wait()
    slower, low, high = (100 * float(part) for part in out.split())
    print(f"  {what:<20}  {slower:8.3f} %   (95 of 100 times in {low:+.3f} to {high:+.3f} %)   {target}", flush=True)


def bench_share(interval, options, env, target):
    """wattle's CPU time per time while it samples, beside that of a program that only wakes up as often."""
    shares, bares = [], []
    for _ in range(SHARES):
        short, long = (own_time(options, env, interval, seconds) for seconds in (SHORT_S, LONG_S))
        shares.append((long[0] - short[0]) / (long[1] - short[1]))
        bares.append(bare_share(interval))
    share, bare = median(shares), median(bares)
    ratio, more = median([s / b for s, b in zip(shares, bares)]), median([s - b for s, b in zip(shares, bares)])
    print(f"  wattle's CPU time     {share * 100:8.3f} % of a core, start and report taken off   {target}")
    print(f"  waking up alone       {bare * 100:8.3f} % of a core: wattle's is {ratio:.2f} x that, {more * 100:.3f} % more",
          flush=True)


def spin_for(seconds):
    return [sys.executable, "-S", "-E", "-c", SPIN_FOR, str(seconds)]


def bare_share(interval):
    """CPU time of a program that does nothing but wake up as often, while a command runs beside it."""
    beside = subprocess.Popen(spin_for(LONG_S))
    out = subprocess.run(
        [BUILD / "bench" / "bench_wakeups", str(1000 * int(interval)), str((LONG_S * 1000 - 500) // int(interval))],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    beside.wait()
    return float(out)


def own_time(options, env, interval, seconds):
    """wattle's own CPU time beside such a command, as its report tells it, and the time that passed."""
    args = [WATTLE, "run", "-o", "-", "-i", interval, "-f", "json", *options, "--", *spin_for(seconds)]
    report = json.loads(subprocess.run(args, env=env, capture_output=True, text=True, check=True).stdout)
    return report["self"]["cpu_s"], report["duration_s"]


def bench_beside(processes):
    """run and record in turn, a sample every 100 ms beside so many sleeping processes."""
    sleep = [BUILD / "bench" / "bench_workload", "sleep", str(processes)]
    with subprocess.Popen(sleep, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as beside, tempfile.TemporaryDirectory() as folder:
        beside.stdout.readline()
        runs, records = [], []
        for i in range(SHARES):
            for command, spent_s in (("run", runs), ("record", records)):
                output = ["-o", f"{folder}/{i}.wattle"] if command == "record" else []
                args = [WATTLE, command, "-i", "100", *output, "--", "sleep", str(BESIDE_S)]
                spent_s.append(spent(args, None)[1])
        memory = [high_water(command, []) / 1024 for command in ("run", "record")]
    print(f"beside {processes} sleeping processes, {BESIDE_S} s, a sample every 100 ms")
    print(f"  wattle run            {median(runs) * 1e3:8.1f} ms of CPU   {memory[0]:6.2f} MiB   target at 5000: 6 MB")
    print(f"  wattle record         {median(records) * 1e3:8.1f} ms of CPU   {memory[1]:6.2f} MiB   target at 5000: 12 MB")
    print(f"  record / run          {median([b / a for a, b in zip(runs, records)]):8.2f}             target: 1.5", flush=True)


def main():
    if not os.access(WATTLE, os.X_OK):
        sys.exit(f"{WATTLE} is not built")
    for name, options, changes in machines():
        env = {**os.environ, **changes}
        bench_start(name, options, env)
        bench_slowdown(name, options, env)
    for processes in (1, 1000, 5000):
        bench_beside(processes)


if __name__ == "__main__":
    main()
