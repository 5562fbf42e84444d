#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the fuzz targets of a build (-Dfuzz=true) one after the other, and prints a table of what they did.

What a target finds stays in BUILD/finds, and what it learned in BUILD/corpus; the next run begins with that. The
status is 1 if anything was found."""

import argparse
import os
import re
import subprocess
import sys
import time

# Where an input takes thousands of branches, weighing them all takes libFuzzer up to a third of the time.
HEAVY = ["-entropic=0"]
# ncurses keeps what it is given for as long as it likes, and libelf loses some: leaks are looked for at the end alone.
MORE = {"top_keys": [*HEAVY, "-detect_leaks=0"], "elf": ["-detect_leaks=0", "-max_len=8192"], **dict.fromkeys(("facts", "live", "nvidia_smi", "player", "schema", "store", "wprof"), HEAVY),
        # Long inputs are many samples, which all go the same way.
        "profile_parts": [*HEAVY, "-max_len=2400"]}
SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEAD = ("target", "executions", "a second", "a CPU second", "inputs", "edges", "MiB", "result")


def find_targets(build):
    folder = os.path.join(build, "tests", "fuzz")
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.startswith("fuzz_")]
    return {os.path.basename(path)[len("fuzz_"):]: path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)}


def number(pattern, text, otherwise=0):
    found = re.findall(pattern, text)
    return int(found[-1]) if found else otherwise


def run(name, path, build, seconds):
    """The row of the table, and whether it is well."""
    learned, finds = os.path.join(build, "corpus", name), os.path.join(build, "finds")
    words = os.path.join(SOURCE, "tests", "fuzz", "words", name)
    log = os.path.join(build, "logs", name)
    for folder in learned, finds, os.path.dirname(log):
        os.makedirs(folder, exist_ok=True)
    command = [path, f"-max_total_time={seconds}", "-print_final_stats=1", "-timeout=20", "-rss_limit_mb=2048", "-close_fd_mask=1",
               f"-artifact_prefix={finds}/{name}-", *([f"-dict={words}"] if os.path.exists(words) else []), *MORE.get(name, []),
               learned, os.path.join(SOURCE, "tests", "fuzz", "corpus", name)]
    begin = time.monotonic()
    # Where memory came from is worth a tenth of the time only for who looks at a find: run it alone.
    env = {"ASAN_OPTIONS": "malloc_context_size=2:quarantine_size_mb=16", **os.environ}
    with open(log, "wb") as out:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=out, env=env)
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    took, used = time.monotonic() - begin, usage.ru_utime + usage.ru_stime
    with open(log, errors="replace") as file:
        text = file.read()
    n = number(r"number_of_executed_units: (\d+)", text)
    if child.returncode:
        found = re.findall(r"^(?:SUMMARY: .*|.*Test unit written to .*|SKIP: .*)", text, re.M)
        print("\n".join(found) or text[-2000:], flush=True)
    return (name, n, round(n / took), round(n / used) if used else 0, number(r"corp: (\d+)", text), number(r"cov: (\d+)", text),
            number(r"peak_rss_mb:\s+(\d+)", text), "found something: " + log if child.returncode else "ok"), child.returncode == 0


def print_table(rows):
    cells = [HEAD] + [tuple(str(cell) for cell in row) for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(HEAD))]
    for row in cells:
        print("  ".join(cell.ljust(width) if i in (0, len(HEAD) - 1) else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(row, widths))).rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--seconds", type=int, default=20, help="each target runs so long (20)")
    parser.add_argument("--minutes", type=float, help="all of them together run so long")
    parser.add_argument("--targets", nargs="+", help="these alone")
    args = parser.parse_args()
    targets = find_targets(args.build)
    names = args.targets or list(targets)
    unknown = [name for name in names if name not in targets]
    if unknown or not names:
        sys.exit("there is no such target: " + " ".join(unknown) + "; there are: " + " ".join(targets))
    seconds = max(1, int(args.minutes * 60 / len(names))) if args.minutes else args.seconds
    rows, well = [], True
    for name in names:
        print(f"=== fuzz: {name}, {seconds} s ===", flush=True)
        row, is_well = run(name, targets[name], args.build, seconds)
        rows.append(row)
        well &= is_well
    print()
    print_table(rows)
    total = sum(row[1] for row in rows)
    print(f"\n{total} executions of {len(rows)} targets; " + ("nothing was found" if well else "SOMETHING WAS FOUND: the inputs are in "
                                                                + os.path.join(args.build, "finds")))
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
