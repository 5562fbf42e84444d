#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long `wattle report` takes for a day at 10 Hz with 1,000 processes, and how much memory.

Beside it: going by all of the recording, seeking to its end in the screen, exporting it, and reading the exported samples as JSON
lines. Prints ratios and the targets of the issue, and never fails for being slow. BENCH_SECONDS: another length than a day.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("WATTLE_BUILD_ROOT", REPO / "build"))
WATTLE = os.environ.get("WATTLE", BUILD / "wattle")
SECONDS = int(os.environ.get("BENCH_SECONDS", "86400"))
PROCESSES = 1000


def measured(*command, stdout=subprocess.DEVNULL):
    """Seconds and the peak memory of a command, in MB."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        start = time.perf_counter()
        code = subprocess.run(command, stdout=stdout, check=False).returncode
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
        os.write(write, json.dumps([time.perf_counter() - start, peak, code]).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        seconds, peak, code = json.load(answer)
    os.waitpid(child, 0)
    if code:
        sys.exit(f"{command[1]} failed with {code}")
    return seconds, peak


def read_lines(path):
    start = time.perf_counter()
    total = 0.0
    with open(path, encoding="ascii") as lines:
        for line in lines:
            total += json.loads(line).get("energy_j", 0)
    return time.perf_counter() - start


def main():
    generator = BUILD / "bench" / "bench_report"
    if not generator.exists():
        print("skipped: this build has no recordings")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "day.wattle"
        lines = Path(folder) / "day.ndjson"
        start = time.perf_counter()
        subprocess.run([generator, path, str(SECONDS), str(PROCESSES)], check=True, stdout=subprocess.DEVNULL)
        print(f"{SECONDS / 3600:.1f} h at 10 Hz with {PROCESSES} processes: {path.stat().st_size / 1e6:.0f} MB, "
              f"made in {time.perf_counter() - start:.0f} s", flush=True)
        report, peak = measured(WATTLE, "report", path)
        print(f"  wattle report           {report:8.3f} s  {peak:6.0f} MB   (target: 1 s, 100 MB)", flush=True)
        by, by_peak = measured(WATTLE, "report", "-f", "json", "--by", "user", path)
        print(f"  … --by user -f json     {by:8.3f} s  {by_peak:6.0f} MB", flush=True)
        replay, replay_peak = measured(WATTLE, "report", "--replay", path)
        print(f"  … going by all of it    {replay:8.3f} s  {replay_peak:6.0f} MB   {replay / report:.0f} times the summary's", flush=True)
        seek, seek_peak = measured(WATTLE, "top", "--once", "--replay", path)
        print(f"  wattle top, to the end  {seek:8.3f} s  {seek_peak:6.0f} MB   a seek: {seek / report:.0f} times the summary's, "
              f"{seek / replay:.2f} times going by all of it", flush=True)
        export, export_peak = measured(WATTLE, "export", "-f", "ndjson", "-o", lines, path)
        print(f"  wattle export (samples) {export:8.3f} s  {export_peak:6.0f} MB   {lines.stat().st_size / path.stat().st_size:.1f} "
              f"times the recording's size", flush=True)
        plain = read_lines(lines)
        print(f"  reading these JSON lines{plain:8.3f} s   {plain / report:.0f} times wattle report, {plain / replay:.1f} times going by "
              f"all of it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
