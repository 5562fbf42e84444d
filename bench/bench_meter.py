#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the benchmarks written in C: a sample and a window (bench_meter), and integration (bench_integrate)."""

import os
import subprocess
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("WATTLE_BUILD_ROOT", REPO / "build"))
DATA = Path(os.environ.get("WATTLE_SHARED_DATA", REPO.parent / "shared" / "data"))


def run(*args, **env):
    return subprocess.run(list(map(str, args)), env={**os.environ, **env}, check=False).returncode


def main():
    root = REPO / "tests" / "fixtures" / "roots" / "xeon-2s-dram"
    script = REPO / "tests" / "fake" / "scripts" / "eight-gpus.nvml"
    print("A sample and a window of the meter, 2 packages, 2 DRAMs, 8 GPUs:", flush=True)
    code = run(BUILD / "bench" / "bench_meter", root, BUILD / "tests" / "fake" / "libnvidia-ml.so.1", WATTLE_FAKE_NVML=str(script))
    if (DATA / "gpu-power").is_dir():
        print("\nIntegration on real traces:", flush=True)
        code = run(BUILD / "bench" / "bench_integrate", DATA) or code
    else:
        print(f"\nIntegration on real traces: skipped, there is no {DATA}/gpu-power")
    return code


if __name__ == "__main__":
    sys.exit(main())
