#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
What wattle profile and other profilers cost a program at 1000 Hz, and what they use themselves: Markdown for docs/profile.md.

    bench_profile_peers.py [--seconds S] [--repeat N] [--python PYTHON] [--only REGEX] [--gaps]

One program is native code, one Python that does little else than call functions, and one Python whose work C functions do. Each does a fixed
amount of work, and tells its own CPU time and the time on the clock for it, its start left out, and for how long it waited for a
processor meanwhile (/proc/self/schedstat): what a profiler does in its place shows there, and so does other load. Programs run alone, below each profiler, and alone
again: the ratios are those to the mean of both, and their medians are told. A profiler's own CPU time, of those that are a process of their own, is from a short and a long run, so that what it does
once is not in it; it is told per second of the program's. Others are looked for on PATH and beside PYTHON: perf, py-spy, austin, pyinstrument,
scalene; those that are not there are left out. What perf costs without stacks is the interrupt's own cost, which no profiler of that rate can avoid.

With --gaps, a program that only reads the clock, in native code, in a loop of Python or in small Python functions, adds up the gaps of more than
2.5 us between two readings. That is the time that was taken from it. It does not depend on the machine's speed, which may change by more than a profiler costs. It is
told as a share of the time on the clock: the median, the least and the most of N runs of S seconds.
"""

import argparse
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("WATTLE_BUILD_ROOT", str(REPO / "build"))).resolve()

NATIVE = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double now(int clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static double waited(void)
{
	double s = 0;
	FILE *file = fopen("/proc/self/schedstat", "r");
	if (file && fscanf(file, "%*s %lf", &s) != 1)
		s = 0;
	if (file)
		fclose(file);
	return s * 1e-9;
}
static volatile unsigned long sink;
__attribute__((noipa)) static unsigned long leaf(unsigned long x) { return x * 2654435761u >> 7; }
__attribute__((noipa)) static unsigned long fib(unsigned n) { return n < 2 ? leaf(n) : fib(n - 1) + fib(n - 2); }
int main(int argc, char **argv)
{
	double cpu = now(CLOCK_PROCESS_CPUTIME_ID), wall = now(CLOCK_MONOTONIC), wait = waited();
	for (long i = argc > 1 ? atol(argv[1]) : 1; i > 0; i--)
		sink += fib(20);
	printf("took %.6f %.6f %.6f all %.6f\\n", now(CLOCK_PROCESS_CPUTIME_ID) - cpu, now(CLOCK_MONOTONIC) - wall, waited() - wait, now(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
"""

CALLS = """
def leaf(x): return x + 1
def middle(x): return leaf(x) - leaf(x - 1)
def fib(n): return middle(n) if n < 2 else fib(n - 1) + fib(n - 2)
def run(n):
    for _ in range(n):
        fib(12)
"""

IN_C = """
import json, re
data = {"rows": [{"id": i, "name": "x%d" % i, "values": [1.5 * i] * 5} for i in range(200)]}
def run(n):
    for _ in range(n):
        text = json.dumps(data)
        sorted(json.loads(text)["rows"], key=lambda row: -row["id"])
        re.findall(r'"name": "(x\\d+)"', text)
"""

TIMED = """
import sys, time
def waited():
    try:
        with open("/proc/self/schedstat") as file:
            return int(file.read().split()[1]) * 1e-9
    except OSError:
        return 0.0
cpu, wall, wait = time.process_time(), time.monotonic(), waited()
run(int(sys.argv[1]))
print("took %.6f %.6f %.6f all %.6f" % (time.process_time() - cpu, time.monotonic() - wall, waited() - wait, time.process_time()), flush=True)
"""

GAPS_NATIVE = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}
__attribute__((noipa)) static int deep(int n, long long ns)
{
	long long start, last, gaps = 0;
	if (n > 0)
		return deep(n - 1, ns) + 1;
	for (start = last = now(); last - start < ns;) {
		long long t = now();
		gaps += t - last > 2500 ? t - last : 0;
		last = t;
	}
	printf("taken %.6f\\n", (double)gaps / (double)(last - start));
	return 0;
}
int main(int argc, char **argv)
{
	deep(20, argc > 1 ? (long long)(atof(argv[1]) * 1e9) : 0);
	return 0;
}
"""

GAPS_LOOP = """
from time import monotonic_ns as read
"""

GAPS_CALLS = """
from time import monotonic_ns
def leaf(): return monotonic_ns()
def read(): return leaf()
"""

GAPS_RUN = """
import sys
def piece(last, n):
    gaps = 0
    for _ in range(n):
        t = read()
        if t - last > 2500:
            gaps += t - last
        last = t
    return gaps, last
def run(ns):
    gaps, start = 0, read()
    last = start
    while last - start < ns:
        more, last = piece(last, 20000)
        gaps += more
    print("taken %.6f" % (gaps / (last - start)))
def deep(n, ns): return deep(n - 1, ns) if n else run(ns)
deep(10, float(sys.argv[1]) * 1e9)
"""


def tools(python, is_python):
    """Name, the words before the program, and whether it is a process of its own."""
    beside = f"{Path(python).parent}:{os.environ['PATH']}"
    found = [("wattle profile", [BUILD / "wattle", "profile", "-q", "--rate", "1000", "-o", "OUT.wprof", "--"], True)]
    if shutil.which("perf"):
        found.append(("perf, no stacks", ["perf", "record", "-q", "-e", "cpu-clock", "-F", "1000", "-o", "OUT", "--"], True))
        found.append(("perf, frame pointers", ["perf", "record", "-q", "-e", "cpu-clock", "-F", "1000", "-g", "-o", "OUT", "--"], True))
        found.append(("perf, 16 KiB of stack", ["perf", "record", "-q", "-e", "cpu-clock", "-F", "1000", "--call-graph", "dwarf,16384", "-o", "OUT", "--"], True))
    if not is_python:
        return found
    py_spy, austin, scalene = (shutil.which(name, path=beside) for name in ("py-spy", "austin", "scalene"))
    if py_spy:
        found.append(("py-spy", [py_spy, "record", "-r", "1000", "-f", "raw", "-o", "OUT", "--"], True))
        found.append(("py-spy --nonblocking", [py_spy, "record", "-r", "1000", "-f", "raw", "--nonblocking", "-o", "OUT", "--"], True))
    if austin:
        found.append(("austin", [austin, "-i", "1ms", "-o", "OUT"], True))
    if shutil.which("pyinstrument", path=beside):
        found.append(("pyinstrument", [python, "-m", "pyinstrument", "-i", "0.001", "-r", "json", "-o", "OUT"], False))
    found.append(("cProfile (no rate)", [python, "-m", "cProfile", "-o", "OUT"], False))
    if scalene:
        found.append(("scalene, CPU", [scalene, "run", "--cpu-only", "--cpu-sampling-rate", "0.001", "-o", "OUT.json"], False))
    return found


def run(words):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=300)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = re.search(r"took (\S+) (\S+) (\S+) all (\S+)", done.stdout)
    if not told:
        raise RuntimeError((done.stderr or done.stdout).strip().splitlines()[-1:] or [f"status {done.returncode}"])
    cpu, wall, wait, whole = map(float, told.groups())
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, wall, used - whole, wait


def below(tool, program, work, folder):
    """A profiler that is a part of Python has it start the script."""
    name, words, is_apart = tool
    words = [str(word).replace("OUT", str(folder / "out")) for word in words]
    return run([*words, *(program if is_apart else program[1:]), work])


def measure(options, name, program, folder):
    work = 10
    while (took := run([*program, work])[0]) < options.seconds / 4:
        work = int(work * max(2, min(20, options.seconds / 3 / max(took, 1e-3))))
    short, long = max(1, int(work * options.seconds / 5 / took)), int(work * options.seconds / took)
    for tool in tools(options.python, name != "native"):
        if not re.search(options.only, f"{name} {tool[0]}"):
            continue
        cpus, walls, own, waits = [], [], [], []
        try:
            for _ in range(options.repeat):
                before = run([*program, long])
                many = below(tool, program, long, folder)
                after = run([*program, long])
                few = below(tool, program, short, folder)
                cpus.append(2 * many[0] / (before[0] + after[0]))
                walls.append(2 * many[1] / (before[1] + after[1]))
                waits.append((2 * many[3] - before[3] - after[3]) / (before[1] + after[1]))
                own.append((many[2] - few[2]) / (many[0] - few[0]))
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"| {name} | {tool[0]} | it failed: {error} | | | |", flush=True)
            continue
        share = f"{100 * statistics.median(own):.1f} %" if tool[2] else "in the program"
        print(f"| {name} | {tool[0]} | {100 * (statistics.median(cpus) - 1):+.1f} % "
              f"({100 * (min(cpus) - 1):+.1f} to {100 * (max(cpus) - 1):+.1f}) | {100 * (statistics.median(walls) - 1):+.1f} % | "
              f"{100 * statistics.median(waits):+.2f} % | {share} |", flush=True)


def measure_gaps(options, name, program, folder):
    """The profilers take turns, so that each meets the machine at all of its speeds."""
    below = [("alone", []), *((tool, words) for tool, words, is_apart in tools(options.python, name != "native") if is_apart)]
    taken = {tool: [] for tool, _ in below if tool == "alone" or re.search(options.only, f"{name} {tool}")}
    for _ in range(options.repeat):
        for tool, words in below:
            if tool in taken:
                words = [str(word).replace("OUT", str(folder / "out")) for word in [*words, *program, options.seconds]]
                done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=300)
                told = re.search(r"taken (\S+)", done.stdout)
                if told:
                    taken[tool].append(100 * float(told[1]))
                else:
                    taken.pop(tool)
                    print(f"| {name} | {tool} | it failed: {(done.stderr or done.stdout).strip()[-100:]} |", flush=True)
    for tool, shares in taken.items():
        print(f"| {name} | {tool} | {statistics.median(shares):.1f} % ({min(shares):.1f} to {max(shares):.1f}) |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", default="", help="of rows whose first two cells have that: a regular expression")
    parser.add_argument("--gaps", action="store_true", help="the time that is taken from a program that reads the clock")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "program.c").write_text(GAPS_NATIVE if options.gaps else NATIVE)
        for name, text in (("calls.py", CALLS + TIMED), ("in_c.py", IN_C + TIMED), ("gaps_loop.py", GAPS_LOOP + GAPS_RUN),
                           ("gaps_calls.py", GAPS_CALLS + GAPS_RUN)):
            (folder / name).write_text(text)
        subprocess.run(["gcc", "-O2", "-g", "-o", folder / "program", folder / "program.c"], check=True)
        if options.gaps:
            print("| program | below | time that is taken from it |\n|---|---|---|")
            measure_gaps(options, "native", [folder / "program"], folder)
            measure_gaps(options, "Python, a loop", [options.python, folder / "gaps_loop.py"], folder)
            measure_gaps(options, "Python, small functions", [options.python, folder / "gaps_calls.py"], folder)
            return
        print("| program | profiler | its CPU time, more | its time on the clock, more | of that, waiting for a processor | the profiler's own CPU time |\n|---|---|---|---|---|---|")
        measure(options, "native", [folder / "program"], folder)
        measure(options, "Python", [options.python, folder / "calls.py"], folder)
        measure(options, "Python, in C", [options.python, folder / "in_c.py"], folder)


if __name__ == "__main__":
    main()
