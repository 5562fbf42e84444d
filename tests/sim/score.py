#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare what a tool says of a simulated machine with the truth.

    score.py TRUTH.json --wattle REPORT.json   what `wattle run --format json` wrote
    score.py TRUTH.json --csv FILE             lines "pid,joules", or "name,joules" with a worker's name;
                                               "@command,joules" of all that --by-tool started; and of the machine
                                               "@domains,package-0+package-1,joules" in "@window,START_NS,END_NS" (UTC)

Prints one line a worker, then the sums. --max-error PERCENT exits 1 if a worker is further off (those without a figure
count as 100 % off), or if wattle's ledger does not add up. Exit 2: a file cannot be read.
"""

import argparse
import csv
import json
import sys
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path

LEDGER = ("live_j", "exited_j", "kernel_j", "idle_j", "unattributed_j")


def load(path):
    return json.loads(Path(path).read_text(encoding="utf-8"), parse_float=Decimal, parse_int=Decimal)


class Claim:
    """What a tool says: joules by pid or name, and, where it says so, of the machine in a window."""

    def __init__(self):
        self.by_key = {}
        self.gpu_by_key = {}
        self.domains_j = {}
        self.groups_j = []  # (names, joules): of several domains together
        self.window_ns = None
        self.command_j = None
        self.broken = []

    def add(self, keys, joules, to=None):
        for key in keys:
            table = self.by_key if to is None else to
            table[key] = table.get(key, Decimal(0)) + joules


def wattle_claim(report, full):
    """A row is known by its pid; one that stands for several ended processes by its name."""
    claim = Claim()
    for process in report.get("processes", []):
        joules = process.get("full_j" if full else "dynamic_j")
        pid, name = int(process.get("pid", 0)), process.get("name") or process.get("command", "")
        key = pid if pid > 0 else "name " + str(name).split(" ")[0].rsplit("/", 1)[-1]
        if joules is not None:
            claim.add([key], joules)
        gpu = process.get("gpu_j" if full else "gpu_dynamic_j")
        if gpu is not None:
            claim.add([key], gpu, claim.gpu_by_key)
    for line in report.get("ledger", []):
        if sum(line.get(part, Decimal(0)) for part in LEDGER) != line["total_j"]:
            claim.broken.append(f"the ledger of {line['domain']} does not add up")
    claim.domains_j = {domain["name"]: domain["energy_j"] for domain in report.get("domains", [])
                       if "energy_j" in domain}
    claim.command_j = report.get("command_energy", {}).get("full_j" if full else "dynamic_j")
    if "start_utc" in report and "duration_s" in report:
        start = datetime.fromisoformat(report["start_utc"].rstrip("Z")).replace(tzinfo=timezone.utc)
        start_ns = int(start.timestamp() * 1_000_000) * 1000
        claim.window_ns = (start_ns, start_ns + int(report["duration_s"] * 1_000_000_000))
    return claim


def csv_special(claim, row):
    """A line that is not about one process."""
    if row[0] == "@command":
        claim.command_j = Decimal(row[1])
    elif row[0] == "@window":
        claim.window_ns = (int(row[1]), int(row[2]))
    elif row[0] == "@domains":
        claim.groups_j.append((row[1].split("+"), Decimal(row[2])))
    else:
        raise ValueError(f"{row[0]}: no such line")


def csv_claim(path):
    claim = Claim()
    with open(path, encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.reader(file), 1):
            if row and row[0].startswith("@"):
                try:
                    csv_special(claim, row)
                except (ArithmeticError, IndexError, ValueError) as error:
                    raise SystemExit(f"score.py: {path}:{number}: {error}") from None
                continue
            if len(row) < 2 or row[0].startswith("#"):
                continue
            try:
                joules = Decimal(row[1].strip())
            except ArithmeticError:
                if number > 1:  # the first may be a head
                    raise SystemExit(f"score.py: {path}:{number}: not a number: {row[1]}") from None
                continue
            key = row[0].strip()
            claim.add([int(key) if key.isdigit() else "name " + key], joules)
    return claim


def claimed(table, worker):
    """The sum over a worker's pids and its name, or None if the tool has none of them."""
    keys = [int(pid) for pid in worker["pids"]] + ["name " + worker["name"]]
    found = [table[key] for key in keys if key in table]
    return sum(found, Decimal(0)) if found else None


def trace_energy(path, window_ns, names=None):
    """The true energy of these domains, or all, in a window, between the rows of the trace."""
    with open(path, encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    columns = [0] + [i for i, name in enumerate(head) if i > 0 and (names is None or name.removesuffix("_uj") in names)]
    rows = [[Decimal(row[i]) for i in columns] for row in rows]

    def at(t_ns):
        for before, after in zip(rows, rows[1:]):
            if before[0] <= t_ns <= after[0]:
                part = (t_ns - before[0]) / (after[0] - before[0])
                return sum(b + (a - b) * part for b, a in zip(before[1:], after[1:])) / 1_000_000
        return None

    start, end = at(window_ns[0]), at(window_ns[1])
    return None if start is None or end is None else end - start


def percent(value, truth):
    if value is None:
        return None
    if truth == 0:
        return Decimal(0) if value == 0 else Decimal("Infinity")
    return (value / truth - 1) * 100


def figure(value, form="{:.3f}"):
    return "-" if value is None else form.format(value)


def score(truth, claim, trace):
    """Rows (what, cpu_s, truth_j, tool_j, error_percent)."""
    rows, sums = [], [Decimal(0), Decimal(0), Decimal(0)]
    for worker in truth["workers"]:
        value = claimed(claim.by_key, worker)
        rows.append((worker["name"], worker["cpu_s"], worker["dynamic_j"], value,
                     percent(value, worker["dynamic_j"])))
        sums = [a + b for a, b in zip(sums, (worker["cpu_s"], worker["dynamic_j"], value or 0))]
    gpu = []
    for worker in truth["workers"]:
        value = claimed(claim.gpu_by_key, worker)
        if worker["gpu_j"] > 0 and claim.gpu_by_key:
            gpu.append((worker["name"] + " gpu", None, worker["gpu_j"], value, percent(value, worker["gpu_j"])))
    whole = sums[2] if claim.by_key else None
    tail = [("all workers", *sums[:2], whole, percent(whole, sums[1]))] if rows else []
    if truth.get("by_tool") and claim.command_j is not None:
        tail.append(("the command", sums[0], sums[1], claim.command_j, percent(claim.command_j, sums[1])))
    # Other domains of the tool's (a modelled one, say) are none of this machine's.
    names = [domain["name"] for domain in truth["domains"]]
    if claim.domains_j and claim.domains_j.keys() >= set(names):
        total = sum(claim.domains_j[name] for name in names)
        energy = trace_energy(trace, claim.window_ns) if trace and claim.window_ns else None
        tail.append(("machine", None, energy, total, percent(total, energy) if energy else None))
    for group, joules in claim.groups_j:
        known = trace and claim.window_ns and set(group) <= set(names)
        energy = trace_energy(trace, claim.window_ns, group) if known else None
        tail.append(("+".join(group), None, energy, joules, percent(joules, energy) if energy else None))
    return rows + gpu, tail


def print_table(rows):
    print(f"{'':<20} {'cpu s':>10} {'true J':>12} {'tool J':>12} {'error %':>9}")
    for name, cpu_s, truth_j, tool_j, error in rows:
        print(f"{name:<20} {figure(cpu_s):>10} {figure(truth_j):>12} {figure(tool_j):>12} "
              f"{figure(error, '{:+.2f}'):>9}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("truth")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--wattle", metavar="REPORT")
    source.add_argument("--csv", metavar="FILE")
    parser.add_argument("--full", action="store_true", help="wattle's full_j instead of dynamic_j")
    parser.add_argument("--max-error", type=Decimal, metavar="PERCENT")
    args = parser.parse_args()
    try:
        truth = load(args.truth)
        claim = wattle_claim(load(args.wattle), args.full) if args.wattle else csv_claim(args.csv)
    except (OSError, ValueError, KeyError) as error:
        print(f"score.py: {error}", file=sys.stderr)
        return 2
    trace = Path(args.truth).with_name("trace.csv")
    rows, tail = score(truth, claim, trace if trace.exists() else None)
    print_table(rows + tail)
    for line in claim.broken:
        print(line)
    if args.max_error is None:
        return 0
    off = [row for row in rows if row[4] is None or abs(row[4]) > args.max_error]
    return 1 if off or claim.broken else 0


if __name__ == "__main__":
    sys.exit(main())
