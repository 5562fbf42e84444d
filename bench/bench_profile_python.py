#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
What wattle profile costs two Python programs, and what it costs itself: Markdown for docs/profile.md. One only calls small functions;
the functions of the other run for milliseconds, in Python and in C.

    bench_profile_python.py [--seconds S] [--repeat N] [PYTHON...]

WATTLE_BUILD_ROOT may name several builds, separated by colons: they are measured in turn.
Speed is rounds a second of the program's own CPU time, runs with and without the profiler in turn; medians, which hold within one run.
The profiler's CPU time a sample is from a short run and a long one, so that what it does once is not in it. Of the first program, the share of
calls between Python functions in samples that it never makes.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
BUILDS = [Path(root).resolve() for root in os.environ.get("WATTLE_BUILD_ROOT", str(REPO / "build")).split(":")]

TIMED = """
rounds, begin = 0, time.thread_time()
while time.thread_time() - begin < float(sys.argv[1]):
    step(); rounds += 1
print("rounds", rounds / float(sys.argv[1]))
"""
PROGRAMS = {"small functions": """
import sys, time
def a(x): return x + 1
def b(x): return x + 2
def c(x): return a(x) + b(x)
def d(x): return b(x) - a(x)
def e(x): return c(x) * d(x)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def squares(n):
    for i in range(n):
        yield e(i)
def step(): sum(squares(200)); sorted(range(100), key=d); fib(10)
""", "functions of milliseconds": """
import sys, time, zlib
text = [i * 7919 % 65537 for i in range(40000)]
def multiply():
    total = 0
    for i in text:
        total += i * i
    return total
def order(): return sorted(text, reverse=True)
def pack(): return zlib.compress(bytes(i & 255 for i in text[:20000]), 6)
def step(): multiply(); order(); pack()
"""}
CALLERS = {"a": {"c", "d"}, "b": {"c", "d"}, "c": {"e"}, "d": {"e", "step"}, "e": {"squares"}, "squares": {"step"}, "fib": {"fib", "step"},
           "step": {"<module>"}}


def run(python, program, seconds, profiler=()):
    words = [*profiler, python, program, str(seconds)]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
    return float(re.search(r"^rounds (\S+)", done.stdout, re.M).group(1)), done.stderr


def cost(told):
    samples = int(re.search(r"(\d+) samples at", told).group(1))
    unknown = int(re.search(r"Python: of \d+ samples, (\d+)", told).group(1))
    return samples, float(re.search(r"the profiler used ([\d.]+) s", told).group(1)), unknown


def impossible(calls):
    """Of the samples' calls of those functions by Python functions, how many their program does not make."""
    wrong = n = 0
    names = [re.sub(r" \(program\.py:\d+\)$", "", call["function"]) for call in calls]
    for name, call in zip(names, calls):
        caller = call.get("parent")
        while caller is not None and calls[caller]["function"] == names[caller] != "[python: unresolved]":
            caller = calls[caller].get("parent")
        if name in CALLERS and call["function"] != name and caller is not None and calls[caller]["function"] != names[caller]:
            n += call["samples"]
            wrong += 0 if names[caller] in CALLERS[name] else call["samples"]
    return f"{wrong} of {n}" if n else ""


def measure(options, name, python, program):
    profilers = {build.name: (build / "wattle", "profile", "--") for build in BUILDS}
    ratios = {build: [] for build in profilers}
    for _ in range(options.repeat):
        alone, _ = run(python, program, options.seconds / 4)
        for build, profiler in profilers.items():
            ratios[build].append(run(python, program, options.seconds / 4, profiler)[0] / alone)
    version = subprocess.run([python, "-V"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[1]
    for build, profiler in profilers.items():
        n, used_s, _ = cost(run(python, program, options.seconds / 4, profiler)[1])
        file = program.with_name("out.json")
        n_long, used_long_s, unknown = cost(run(python, program, options.seconds, (*profiler[:-1], "-o", file, "--"))[1])
        wrong = impossible(json.loads(file.read_text())["calls"])
        print(f"| {name} | {version} | {build} | {100 * statistics.median(ratios[build]):.1f} % "
              f"| {1e6 * (used_long_s - used_s) / (n_long - n):.0f} µs | {100 * unknown / n_long:.1f} % | {wrong} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("pythons", nargs="*", default=[sys.executable])
    options = parser.parse_args()
    print("| program | CPython | build | speed with the profiler | its CPU time a sample | unresolved | calls that it does not make |\n"
          "|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in PROGRAMS.items():
            program = Path(folder) / "program.py"
            program.write_text(text + TIMED, encoding="utf-8")
            for python in options.pythons:
                measure(options, name, python, program)


main()
