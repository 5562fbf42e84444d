#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run a command under another tool's meter and write what the tool says, for score.py --csv.

    measure.py METER OUT.csv -- COMMAND [ARGUMENT...]

Runs inside the simulated machine, with the Python that has the tool. METER: a function of meters.py. Prints the
tool's version. Exit status: the command's; 125 if the tool cannot be had or fails, with the reason.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import meters


class Claim:
    """What a tool says."""

    def __init__(self):
        self.lines = []
        self.start_ns = self.end_ns = None

    def begin(self):
        """Just before the tool takes its first reading."""
        self.start_ns = time.time_ns()

    def end(self):
        """Just after its last."""
        self.end_ns = time.time_ns()

    def domains(self, names, joules):
        """Energy of these domains together in the window, in the simulated machine's names."""
        self.lines.append(f"@domains,{'+'.join(names)},{float(joules):.6f}")

    def command(self, joules):
        """What the command and its descendants cost, where the tool says so."""
        self.lines.append(f"@command,{float(joules):.6f}")

    def process(self, pid, joules):
        self.lines.append(f"{int(pid)},{float(joules):.6f}")

    def write(self, path):
        if self.start_ns is not None:
            self.lines.insert(0, f"@window,{self.start_ns},{self.end_ns}")
        Path(path).write_text("\n".join(["#what,joules", *self.lines]) + "\n", encoding="utf-8")


class Command:
    """The command: a callable that runs it once, to its end."""

    def __init__(self, args):
        self.args = args
        self.status = None

    def __call__(self, tick=None, period_s=1.0):
        """Calls tick(pid) every period while it runs."""
        with subprocess.Popen(self.args) as process:
            while self.status is None:
                try:
                    self.status = process.wait(period_s if tick else None)
                except subprocess.TimeoutExpired:
                    tick(process.pid)


def complete_machine(folder):
    """What some look for before they look for energy."""
    subsystem = meters.POWERCAP / "intel-rapl" / "subsystem"
    if subsystem.parent.is_dir() and not subsystem.is_symlink():
        subsystem.symlink_to("../../../../class/powercap")
    if "WATTLE_FAKE_NVML" in os.environ:
        program = Path(folder) / "nvidia-smi"  # it is there, and says nothing
        program.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
        program.chmod(0o755)
        os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"


def main():
    if len(sys.argv) < 5 or sys.argv[3] != "--" or sys.argv[1] not in meters.METERS:
        print(__doc__, file=sys.stderr)
        return 125
    name, out, command, claim = sys.argv[1], Path(sys.argv[2]).resolve(), Command(sys.argv[4:]), Claim()
    with tempfile.TemporaryDirectory() as folder:
        complete_machine(folder)
        os.chdir(folder)  # some leave files where they stand
        try:
            version = meters.METERS[name].measure(claim, command)
        except Exception as error:  # a tool's, of whatever kind
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            return 125
        finally:
            os.chdir("/")
    claim.write(out)
    print(f"version {version}", flush=True)
    return command.status


if __name__ == "__main__":
    sys.exit(main())
