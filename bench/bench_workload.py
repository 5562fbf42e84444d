#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs bench_workload: what following processes costs, and what it sees of a fork loop.

Prints the targets of the issue beside the figures, and never fails for being slow.
"""

import os
import resource
import subprocess
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("WATTLE_BUILD_ROOT", REPO / "build"))
PROGRAM = BUILD / "bench" / "bench_workload"


def room():
    """How many processes the machine allows beside those that are there."""
    limits = [int(Path("/proc/sys/kernel/pid_max").read_text(encoding="ascii"))]
    soft, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if soft != resource.RLIM_INFINITY and os.geteuid() != 0:
        limits.append(soft)
    return min(limits) // 2


def main():
    code = 0
    print("A look at processes (targets: 1,000: at most 1.5 ms and 1/5 of reading each stat; 10,000: at most 15 ms):", flush=True)
    for n in (1000, 10000):
        if n > room():
            print(f"  {n}: skipped, the machine does not allow as many processes")
            continue
        code = subprocess.run([PROGRAM, "tick", str(n)], check=False).returncode or code
    print("Memory of a process (PSS is a walk through its pages):", flush=True)
    for mebibytes in (10, 1000):
        code = subprocess.run([PROGRAM, "memory", str(mebibytes)], check=False).returncode or code
    print("A fork loop (target: at least 99 % with exit records):", flush=True)
    for ms in (1, 2, 5):
        code = subprocess.run([PROGRAM, "forks", "1000", str(ms)], check=False).returncode or code
    return code


if __name__ == "__main__":
    sys.exit(main())
