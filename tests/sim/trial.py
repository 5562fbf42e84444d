# SPDX-License-Identifier: MIT
"""wattle on a simulated machine: runs it in a scenario and holds what it says against the truth.

For tests/cli/test_sim.py and bench/bench_attribution.py.
"""

import json
import os
import subprocess
from decimal import Decimal
from pathlib import Path

SPREAD = 128  # of a baseline: what wattle states at least, 1/128 of it


class Trial:
    """truth and report of one run, numbers as decimals."""

    def __init__(self, truth, report):
        self.truth, self.report = truth, report

    def rows_of(self, worker):
        """The processes of the report that are this worker's: its own, its children, and rows that stand for those.
        Another simulation that runs beside this one has workers of the same names, but not in the command."""
        pids = set(worker["pids"])
        rows = self.report.get("processes", [])
        in_command = {row.get("in_command") for row in rows if row.get("pid") == worker["pid"]}
        for row in rows:
            if row.get("pid") in pids or row.get("parent") in pids or \
                    ("pid" not in row and row.get("name") == worker["name"] and row.get("in_command") in in_command):
                yield row

    def scores(self):
        for worker in self.truth["workers"]:
            if worker["pid"] > 0:
                yield Score(worker, list(self.rows_of(worker)), self.sensor, self.idle)

    @property
    def sensor(self):
        """The relative ± of the sensors: that of all energy."""
        total = self.report["total"]
        return float(total["uncertainty_j"] / total["energy_j"])

    @property
    def idle(self):
        """The relative ± of the idle power of all that has one."""
        known = [domain for domain in self.report["domains"] if domain.get("idle_w")]
        return float(sum(domain["idle_uncertainty_w"] for domain in known) / max(sum(domain["idle_w"] for domain in known), Decimal("1e-9")))

    def unattributed_j(self):
        return sum(line["unattributed_j"] for line in self.report["ledger"])


class Score:
    """One worker."""

    def __init__(self, worker, rows, sensor, idle):
        self.name, self.sensor, self.idle = worker["name"], sensor, idle
        self.rows = rows
        self.true_j, self.true_cpu_s, self.true_gpu_j = (float(worker[key]) for key in ("dynamic_j", "cpu_s", "gpu_j"))
        self.dynamic_j = float(sum(row["dynamic_j"] for row in rows))
        self.cpu_s = self.sum("cpu_s")
        self.gpu_j = self.sum("gpu_dynamic_j")
        self.uncertainty_j = self.sum("uncertainty_j")

    def sum(self, key):
        return float(sum(row.get(key, 0) for row in self.rows))

    @property
    def error(self):
        return self.dynamic_j / self.true_j - 1

    @property
    def gpu_error(self):
        return self.gpu_j / self.true_gpu_j - 1

    @property
    def stated(self):
        """The uncertainty (k = 2), as a part of the truth."""
        return self.uncertainty_j / self.true_j

    @property
    def division_j(self):
        """Of the uncertainty, what is neither the sensor's nor of idle power: both are exact where they are told."""
        idle_j = self.idle * (self.sum("full_j") - self.dynamic_j)
        return max(0.0, self.uncertainty_j ** 2 - (self.sensor * self.dynamic_j) ** 2 - idle_j ** 2) ** 0.5

    @property
    def stated_of_division(self):
        return self.division_j / self.true_j

    def error_beside(self, sensor_off, idle_off):
        """The error, had sensor and idle power been off by that, relative."""
        idle_j = self.sum("full_j") - self.dynamic_j
        return (self.dynamic_j * (1 + sensor_off) - idle_j * idle_off) / self.true_j - 1

    @property
    def is_divided_well(self):
        return abs(self.dynamic_j - self.true_j) <= self.division_j

    @property
    def is_covered(self):
        return abs(self.dynamic_j - self.true_j) <= self.uncertainty_j


def idle_file(path, watts, cpu_source="rapl-powercap"):
    """Baselines for wattle, by domain; each with a standard uncertainty of 1/128."""
    lines = ["wattle-idle/2"]
    for domain, idle_w in watts.items():
        idle_uw = round(float(idle_w) * 1e6)
        source = "nvml" if domain.startswith("gpu") else cpu_source
        lines.append(f"{domain} {source} {idle_uw} {idle_uw // SPREAD} 2026-11-21T00:00:00Z 60000000000")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    path.chmod(0o644)
    return path


def run(build, wattle, folder, scenario, watts, *, seconds=None, before=(), options=(), timeout=180):
    """A Trial. The workers are started by wattle and it ends with them; or they run beside it and it measures so many
    seconds. None: this machine cannot have the simulated one (no mount namespaces)."""
    simulator = Path(build) / "tests" / "sim"
    # The loader would only remark on it, and nobody would count.
    if "\npmu" in scenario and not (simulator / "sim-pmu.so").exists():
        raise RuntimeError(f"{simulator}/sim-pmu.so is not built")
    folder.mkdir(parents=True, exist_ok=True)
    text, report = folder / "given.sim", folder / "report.json"
    text.write_text(scenario, encoding="utf-8")
    idle = idle_file(folder / "idle", watts)
    with open(report, "w", encoding="utf-8") as out:
        done = subprocess.run(
            [simulator / "sim", *([] if seconds else ["--by-tool"]), text, folder / "machine", "--", *before,
             wattle, "run", "-o", "-", "--quiet", "--idle-file", idle, "--top", "65536", "--format", "json", *options, "--",
             *(["sleep", str(seconds)] if seconds else ["sh", "-c", "exec $SIM_LAUNCH"])],
            stdout=out, stderr=subprocess.PIPE, text=True, timeout=timeout, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    truth = json.loads((folder / "machine" / "truth.json").read_text(encoding="utf-8"), parse_float=Decimal)
    if truth["tool_status"] == 126:
        return None
    if truth["tool_status"] != 0:
        raise RuntimeError(f"wattle: status {truth['tool_status']}\n{done.stderr}")
    return Trial(truth, json.loads(report.read_text(encoding="utf-8"), parse_float=Decimal))
