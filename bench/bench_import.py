#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""wattle import against pandas and the usual script, on a log of nvidia-smi, in one run.

usage: bench_import.py WATTLE [LINES]     (default 1000000; pandas has to be there)

Both read the same file in turn, three times; medians are printed. The script reads the log with pandas, takes the units away, makes dates of the
times and integrates the power of each GPU, which is what wattle import does beside writing the recording.
"""

import datetime
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCRIPT = """
import sys
import pandas as pd
frame = pd.read_csv(sys.argv[1], skipinitialspace=True)
frame.columns = [name.split(" [")[0] for name in frame.columns]
frame["timestamp"] = pd.to_datetime(frame["timestamp"])
for name in ("power.draw", "utilization.gpu", "memory.used"):
    frame[name] = frame[name].str.split(" ").str[0].astype(float)
for index, gpu in frame.groupby("index"):
    seconds = gpu["timestamp"].diff().dt.total_seconds()
    print(index, (seconds * (gpu["power.draw"] + gpu["power.draw"].shift()) / 2).sum())
"""
RUNS = 3


def write_log(path, lines):
    random.seed(1)
    moment = datetime.datetime(2026, 7, 3, 22, 11, 9)
    with path.open("w", encoding="utf-8") as file:
        file.write("timestamp, index, power.draw [W], utilization.gpu [%], temperature.gpu, memory.used [MiB]\n")
        for _ in range(lines):
            file.write(f"{moment:%Y/%m/%d %H:%M:%S}.{moment.microsecond // 1000:03}, 0, {80 + 200 * random.random():.2f} W, "
                       f"{random.randrange(100)} %, {random.randrange(40, 80)}, {random.randrange(80000)} MiB\n")
            moment += datetime.timedelta(milliseconds=1000 + random.randrange(5))


def timed(words):
    begin, before = time.monotonic(), os.times()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return time.monotonic() - begin, used


def main(wattle, lines=1000000):
    took = {"wattle import": [], "pandas and a script": []}
    with tempfile.TemporaryDirectory() as folder:
        log, out = Path(folder) / "gpu.csv", Path(folder) / "gpu.wattle"
        write_log(log, int(lines))
        for _ in range(RUNS):
            out.unlink(missing_ok=True)
            took["wattle import"].append(timed([wattle, "import", log, "-o", out, "--time-zone", "UTC"]))
            took["pandas and a script"].append(timed([sys.executable, "-c", SCRIPT, log]))
    middle = {name: [statistics.median(values) for values in zip(*all_of)] for name, all_of in took.items()}
    for name, (wall_s, cpu_s) in middle.items():
        print(f"{name:20} {wall_s:7.2f} s, {cpu_s:7.2f} s of CPU")
    ratios = [middle["pandas and a script"][i] / middle["wattle import"][i] for i in range(2)]
    print(f"wattle is {ratios[0]:.1f} times faster, with {ratios[1]:.1f} times less CPU, on {lines} lines")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
