#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does wattle's memory stay as it is? `record`, a ring, `run` and its learned watts at 1 kHz, MINUTES long (60), beside processes that come and go.

Up to 4096 ended processes have accounts of their own: what these take in the first quarter of an hour is no leak. Prints the
resident memory of each (MiB, but for pages of files) at every twelfth of the time, and the last one in relation to that at half-time.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("WATTLE_BUILD_ROOT", REPO / "build"))
WATTLE = os.environ.get("WATTLE", str(BUILD / "wattle"))
NVML = BUILD / "tests" / "fake" / "libnvidia-ml.so.1"
MINUTES = float(os.environ.get("MINUTES", "60"))
SHORT, LOOKS = 6000, 12


def resident_mib(pid):
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    kib = {line.split(":")[0]: int(line.split()[1]) for line in status.splitlines() if line.startswith("Rss")}
    return (kib["RssAnon"] + kib["RssShmem"]) / 1024


def short_processes(n):
    subprocess.run(["sh", "-c", f"i=0; while [ $i -lt {n} ]; do /bin/true; i=$((i+1)); done"], check=True)


def main():
    if not NVML.exists():
        sys.exit(f"no {NVML}: build with -Dtests=enabled first")
    with tempfile.TemporaryDirectory() as folder:
        settings = dict(os.environ, XDG_RUNTIME_DIR=folder, XDG_STATE_HOME=folder, TERM="xterm")
        shared = ["--interval", "1ms", "--nvml", str(NVML)]
        commands = {
            "record": [WATTLE, "record", *shared, "-o", f"{folder}/soak.wattle"],
            "ring": [WATTLE, "record", *shared, "--max-size", "8M", "-o", f"{folder}/ring.wattle"],
            "run": [WATTLE, "run", *shared, "-o", os.devnull, "--", "sleep", str(60 * MINUTES + 600)],
            "learned": [WATTLE, "run", *shared, "--weight", "learned", "-o", os.devnull, "--", "sleep",
                        str(60 * MINUTES + 600)],
        }
        running = {name: subprocess.Popen(command, env=settings, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                          stderr=subprocess.DEVNULL) for name, command in commands.items()}
        try:
            time.sleep(2)
            short_processes(SHORT)
            time.sleep(10)
            first = now = {}
            print("minutes  " + "  ".join(f"{name:>8}" for name in running))
            begin = time.monotonic()
            for look in range(LOOKS + 1):
                while time.monotonic() < begin + 60 * MINUTES * look / LOOKS:
                    short_processes(10)
                    time.sleep(1)
                now = {name: resident_mib(process.pid) for name, process in running.items()}
                first = now if look == LOOKS // 2 else first
                print(f"{(time.monotonic() - begin) / 60:7.1f}  " + "  ".join(f"{mib:8.2f}" for mib in now.values()), flush=True)
            print("ratio    " + "  ".join(f"{now[name] / first[name]:8.2f}" for name in running))
        finally:
            for process in running.values():
                process.terminate()
            for process in running.values():
                process.wait()


if __name__ == "__main__":
    main()
