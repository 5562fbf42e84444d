#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
What ways to count a Python program's calls cost, with this interpreter: Markdown for docs/profile.md.

    PYTHONPATH=python bench_profile_calls.py [--repeat N]

CPU time of a program that does nothing but call small functions, the least of N runs of each in turn, against none.
"""

import argparse
import cProfile
import sys
import time
import warnings

from wattle.profile import Profile

CLOCK = time.perf_counter_ns


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def work():
    fib(22)


CALLS = 57313


def nothing():
    work()


def with_cprofile(*clock):
    profiler = cProfile.Profile(*clock)
    profiler.enable()
    work()
    profiler.disable()


def with_clock_of_two():
    """cProfile with a clock that has time and energy in one number, as a function in Python."""
    energy, due = 0, 1 << 62

    def read():
        now = CLOCK()
        if now > due:
            pass
        return now + energy

    with_cprofile(read, 1e-9)


def with_setprofile():
    began, took = [], {}

    def event(frame, what, _):
        if what == "call":
            began.append(CLOCK())
        elif what == "return" and began:
            took[frame.f_code] = took.get(frame.f_code, 0) + CLOCK() - began.pop()

    sys.setprofile(event)
    work()
    sys.setprofile(None)


def with_monitoring():
    began, took, tool, events = [], {}, sys.monitoring, sys.monitoring.events

    def enter(*_):
        began.append(CLOCK())

    def leave(code, *_):
        took[code] = took.get(code, 0) + CLOCK() - began.pop()

    tool.use_tool_id(2, "bench")
    tool.register_callback(2, events.PY_START, enter)
    tool.register_callback(2, events.PY_RETURN, leave)
    tool.set_events(2, events.PY_START | events.PY_RETURN)
    work()
    tool.set_events(2, 0)
    tool.free_tool_id(2)


WAYS = [
    ("nothing", nothing),
    ("cProfile", with_cprofile),
    ("wattle.profile: cProfile, and the meter in a thread", None),
    ("cProfile with a clock of time and energy, in Python", with_clock_of_two),
    ("sys.monitoring, in Python", with_monitoring if hasattr(sys, "monitoring") else None),
    ("sys.setprofile, in Python", with_setprofile),
]


def took(way, repeat):
    least = float("inf")
    for _ in range(repeat):
        begin = time.process_time()
        way()
        least = min(least, time.process_time() - begin)
    return least


def in_profile(repeat):
    """Only the program: the profiler's own start and end are left out."""
    with Profile():
        return took(work, repeat)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=40)
    repeat = parser.parse_args().repeat
    warnings.simplefilter("ignore")
    plain = took(work, repeat)
    print(f"| CPython {sys.version.split()[0]} | slower | a call |\n|---|---|---|")
    for name, way in WAYS[1:]:
        if way or name.startswith("wattle"):
            time_s = took(way, repeat) if way else in_profile(repeat)
            print(f"| {name} | {time_s / plain:.1f} times | {(time_s - plain) / CALLS * 1e9:.0f} ns |")


main()
