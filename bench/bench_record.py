#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs bench_record: what a recording of real power traces costs, beside the same as JSON lines.

Prints the targets of the issue beside the figures, and never fails for being slow. The traces lie in ../shared/data/gpu-power.
A sample is a value with its time; the JSON lines have one line a millisecond with the time and value of all channels.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("WATTLE_BUILD_ROOT", REPO / "build"))
PROGRAM = BUILD / "bench" / "bench_record"
TRACES = REPO.parent / "shared" / "data" / "gpu-power"
SECONDS, PASSES = 520, 6  # 32 channels at 1 kHz: 100 million samples are read

KINDS = {
    "meter": "a physical meter on an A100 and an RTX 3090, a new value each ms",
    "sensor": "NVML on the same, held until it changes (A100: 104 ms)",
    "mixed": "8 channels of the first, 12 of the second, 12 energy counters",
}


def read_json(path):
    """ns a sample with Python's own parser."""
    total = count = 0
    begin = time.perf_counter()
    with open(path, encoding="ascii") as lines:
        for line in lines:
            for when, value in json.loads(line)["channels"]:
                total += when + value
                count += 1
    return (time.perf_counter() - begin) / count * 1e9


def show(kind, folder):
    done = subprocess.run([PROGRAM, TRACES, folder, kind, str(SECONDS), str(PASSES)], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    got = {key: float(value) for key, value in map(str.split, done.stdout.splitlines())}
    size = got["recording_bytes"] / got["samples"]
    json_size = got["json_bytes"] / got["json_samples"]
    ns = got["read_s"] / got["read_samples"] * 1e9
    python = read_json(Path(folder) / "bench.ndjson")
    print(f"{kind}: {KINDS[kind]}")
    print(f"  size          {size:6.2f} B a sample (at most 2), JSON lines {json_size:.1f} B: {json_size / size:.0f} times (at least 10)")
    print(f"  writing       {got['thread_cpu_s'] / SECONDS * 100:6.2f} % of a core in the writer's thread (at most 1), "
          f"{got['put_ns']:.1f} ns a value where it is put")
    line = f"  reading       {ns:6.2f} ns a sample; JSON lines with Python {python:.0f} ns: {python / ns:.0f} times"
    if "jansson_s" in got:
        jansson = got["jansson_s"] / got["json_samples"] * 1e9
        line += f", with jansson {jansson:.0f} ns: {jansson / ns:.0f} times"
    print(line + f" (at least 50); {got['read_samples'] / 1e6:.0f} million samples in {got['read_s']:.2f} s", flush=True)


def main():
    if not TRACES.is_dir():
        print(f"skipped: {TRACES} is not there")
        return 0
    print("A recording of 32 channels at 1 kHz, with a time a sample:", flush=True)
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            show(kind, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
