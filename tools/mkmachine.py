#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fit the power that a whole machine draws at the wall to measured servers, as a C table.

usage: mkmachine.py OUT.c servers.csv    the table that src/sensors/machine_power.c computes with
       mkmachine.py report servers.csv   how far it was off on servers that the fit had not seen

The power at no load and at full load are products of powers of what is known of a machine, so their logarithms
are fitted by ordinary least squares. In between lies one curve for all machines: medians of the measured ones.
What is known differs, and each case has coefficients and an interval of its own. docs/model.md says more.
"""

import csv
import math
import sys
import zlib

from mkdata import MAX_NAME, c_string, cpu_key

# Older servers (FB-DIMM, no deep sleep) say little of machines that still run.
FIRST_YEAR, LAST_YEAR, MIDDLE_YEAR = 2009, 2022, 2013
# A case without the year has to hold for processors that are newer than all measured ones, too.
CUT_YEAR = 2018
LOADS = ["idle_w", *(f"w{load}" for load in range(10, 101, 10))]
FOLDS = 10
COVERED = 0.95
MARGIN = 0.015  # an interval made of so few servers is itself uncertain
FEATURES = ["1", "ln TDP", "ln threads", "ln GiB", "ln sockets", "year", "year^2"]

# What is known: (name, of a guest?, features). A guest's power is that of a thread of its host, whose memory and
# number of sockets it cannot see.
CASES = [
    ("KNOWN", False, ["1", "ln TDP", "ln GiB", "ln sockets", "year", "year^2"]),
    ("TDP", False, ["1", "ln TDP", "ln threads", "ln GiB"]),
    ("SIZE", False, ["1", "ln threads", "ln GiB", "ln sockets"]),
    ("GUEST_KNOWN", True, ["1", "ln TDP", "ln threads", "year", "year^2"]),
    ("GUEST_TDP", True, ["1", "ln TDP"]),
    ("GUEST", True, ["1"]),
]


class Server:
    def __init__(self, row):
        self.key = cpu_key(row["cpu"])
        self.year = int(row["year"])
        self.sockets, self.cores, self.threads = int(row["chips"]), int(row["cores"]), int(row["threads"])
        self.tdp_w = float(row["tdp_w"] or 0)  # of a socket; 0: not known
        self.gib = float(row["mem_gb"])
        self.power_w = [float(row[load]) for load in LOADS]
        self.processor_year = self.year

    def features(self, is_guest):
        sockets = 1 if is_guest else self.sockets
        threads = self.threads / self.sockets if is_guest else self.threads
        year = (self.processor_year - MIDDLE_YEAR) / 5
        values = [1.0, math.log(self.tdp_w * sockets) if self.tdp_w else 0.0, math.log(threads), math.log(self.gib), math.log(sockets)]
        return dict(zip(FEATURES, [*values, year, year * year]))

    def watts(self, is_guest, load):
        return self.power_w[load] / (self.threads if is_guest else 1)


def read_servers(path):
    with open(path, newline="", encoding="utf-8") as file:
        servers = [Server(row) for row in csv.DictReader(file)]
    servers = [server for server in servers if server.year >= FIRST_YEAR]
    first = {}
    for server in servers:
        first[server.key] = min(server.year, first.get(server.key, LAST_YEAR))
    for server in servers:
        server.processor_year = first[server.key]
    return servers


def usable(servers, case):
    return [server for server in servers if server.tdp_w or "ln TDP" not in case[2]]


def solve(matrix, values):
    """Gauss, with the largest pivot."""
    rows = [[*row, value] for row, value in zip(matrix, values)]
    for i in range(len(rows)):
        best = max(range(i, len(rows)), key=lambda r: abs(rows[r][i]))
        rows[i], rows[best] = rows[best], rows[i]
        for r in range(len(rows)):
            if r != i:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    return [row[-1] / row[i] for i, row in enumerate(rows)]


def least_squares(points, values):
    n = len(points[0])
    matrix = [[math.fsum(p[i] * p[j] for p in points) for j in range(n)] for i in range(n)]
    return solve(matrix, [math.fsum(p[i] * v for p, v in zip(points, values)) for i in range(n)])


def median(values):
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


def shape(servers):
    """Which part of the way from no load to full load the power has gone at each load."""
    parts = []
    for load in range(len(LOADS)):
        parts.append(median([(s.power_w[load] - s.power_w[0]) / (s.power_w[-1] - s.power_w[0]) for s in servers]))
    return parts


class Fit:
    def __init__(self, servers, case):
        _, self.is_guest, self.names = case
        servers = usable(servers, case)
        self.shape = shape(servers)
        points = [self.point(server) for server in servers]
        self.ends = [least_squares(points, [math.log(s.watts(self.is_guest, load)) for s in servers]) for load in (0, -1)]

    def point(self, server):
        features = server.features(self.is_guest)
        return [features[name] for name in self.names]

    def predict(self, server):
        point = self.point(server)
        idle, full = (math.exp(sum(a * b for a, b in zip(end, point))) for end in self.ends)
        return [idle + (full - idle) * part for part in self.shape]

    def coefficients(self, end):
        return [dict(zip(self.names, self.ends[end])).get(name, 0.0) for name in FEATURES]


def fold_of(server, folds):
    """Servers with the same processor are near twins: they are never on both sides."""
    return zlib.crc32(server.key.encode()) % folds


def folds_of(servers, folds):
    for k in range(folds):
        yield [s for s in servers if fold_of(s, folds) != k], [s for s in servers if fold_of(s, folds) == k]


def unseen(servers, case, folds=FOLDS):
    """[(predicted, measured)] watts at all loads of each server, by fits that have not seen its processor."""
    _, is_guest, names = case
    pairs = []
    splits = list(folds_of(usable(servers, case), folds))
    if "year" not in names:
        splits.append(([s for s in servers if s.year <= CUT_YEAR], [s for s in usable(servers, case) if s.processor_year > CUT_YEAR]))
    for seen, judged in splits:
        if not judged or not seen:
            continue
        fit = Fit(seen, case)
        pairs += [(fit.predict(s), [s.watts(is_guest, load) for load in range(len(LOADS))]) for s in judged]
    return pairs


def quantile(values, part):
    """The smallest value that covers this part of what comes next, not only of these."""
    values = sorted(values)
    return values[min(len(values), math.ceil(part * (len(values) + 1))) - 1]


def interval(pairs):
    """(gain, zero): ± √((gain × P)² + (zero × P at no load)²) covers at each load; the narrowest such pair."""
    best = None
    for gain in (step / 100 for step in range(10, 400, 5)):
        zero = 0.0
        for load in range(len(LOADS)):
            lacking = [math.sqrt(max((w[load] - p[load]) ** 2 - (gain * p[load]) ** 2, 0.0)) / p[0] for p, w in pairs]
            zero = max(zero, quantile(lacking, COVERED + MARGIN))
        width = math.fsum(math.hypot(gain * x, zero * p[0]) / x for p, _ in pairs for x in p)
        if best is None or width < best[0]:
            best = (width, gain, zero)
        if zero == 0.0:
            break
    return best[1:]


def covers(pair, gain, zero, load):
    predicted, measured = pair
    return abs(measured[load] - predicted[load]) <= math.hypot(gain * predicted[load], zero * predicted[0])


def coverage(servers, case, folds=5):
    """Which part of the servers' loads an interval covered that was made without their processors."""
    hits = []
    for seen, judged in folds_of(usable(servers, case), folds):
        fit = Fit(seen, case)
        gain, zero = interval(unseen(seen, case))
        for s in judged:
            pair = fit.predict(s), [s.watts(case[1], load) for load in range(len(LOADS))]
            hits.append([covers(pair, gain, zero, load) for load in range(len(LOADS))])
    return [sum(hit[load] for hit in hits) / len(hits) for load in range(len(LOADS))]


def processors(servers):
    """{key: (year, threads of a socket, TDP in mW)}, with threads as most as were seen: SMT can be off."""
    found = {}
    for s in servers:
        year, threads, tdp = found.get(s.key, (s.processor_year, 0, 0))
        found[s.key] = (year, max(threads, s.threads // s.sockets), max(tdp, round(s.tdp_w * 1000)))
    return {key: row for key, row in found.items() if row[2] and len(key) < 32}


def numbers(values):
    return ", ".join(f"{value:.6f}" for value in values)


def make(servers):
    lines = ["/* SPDX-License-Identifier: MIT */", "/* Made by tools/mkmachine.py from data/servers.csv: do not edit. */",
             '#include "sensors/machine_power.h"', "", "/* clang-format off */", f"/* {', '.join(FEATURES)}: at no load and at full load. */",
             "const struct wtl_machine_fit wtl_machine_fits[WTL_MACHINE_CASES] = {"]
    for case in CASES:
        fit = Fit(servers, case)
        # Both are 95 % intervals, so twice a standard uncertainty.
        gain, zero = (math.ceil(value / 2 * 1000) * 1000 for value in interval(unseen(servers, case)))
        lines += [f"\t[WTL_MACHINE_{case[0]}] = {{", *(f"\t\t{{{numbers(fit.coefficients(end))}}}," for end in (0, 1)),
                  f"\t\t{gain},", f"\t\t{zero},", "\t},"]
    tdps = [s.tdp_w for s in servers if s.tdp_w]
    older = max(s.tdp_w for s in servers if s.year <= CUT_YEAR)
    shape_ppm = [round(part * 1e6) for part in shape(servers)]
    rows = processors(servers)
    return [*lines, "};", "", f"const uint32_t wtl_machine_shape_ppm[{len(LOADS)}] = {{", f"\t{', '.join(map(str, shape_ppm))},", "};", "",
            "const struct wtl_machine_range wtl_machine_range = {",
            f"\t.servers = {len(servers)},", f"\t.first_year = {FIRST_YEAR},", f"\t.last_year = {max(s.year for s in servers)},",
            f"\t.tdp_min_mw = {round(min(tdps) * 1000)},", f"\t.tdp_max_mw = {round(max(tdps) * max(tdps) / older * 1000)},",
            f"\t.gib_min = {round(min(s.gib for s in servers))},", f"\t.gib_max = {round(max(s.gib for s in servers))},", "};", "",
            "const struct wtl_machine_processor wtl_machine_processors[] = {",
            *(f'\t{{"{c_string(key)}", {rows[key][0]}, {rows[key][1]}, {rows[key][2]}}},' for key in sorted(rows)),
            "};", "", f"const size_t wtl_machine_processor_count = {len(rows)};"]


def report(servers):
    print(f"{len(servers)} servers with {len({s.key for s in servers})} processors, {FIRST_YEAR} to {max(s.year for s in servers)}")
    print("case         load  95 % within a factor of  median  covered")
    for case in CASES:
        pairs, covered = unseen(servers, case), coverage(servers, case)
        for load in (0, 3, 5, 10):
            factors = [math.exp(abs(math.log(w[load] / p[load]))) for p, w in pairs]
            print(f"{case[0]:11s} {load * 10:4d} %  {quantile(factors, COVERED):22.2f} {median(factors):8.2f}  {covered[load] * 100:5.1f} %")
        gain, zero = interval(pairs)
        print(f"{'':11s} ± {gain:.2f} of the power and {zero:.2f} of that at no load; all loads {sum(covered) / len(covered) * 100:.1f} %")


def main(argv):
    if len(argv) != 3:
        sys.exit(__doc__)
    servers = read_servers(argv[2])
    if argv[1] == "report":
        report(servers)
        return
    with open(argv[1], "w", encoding="ascii") as file:
        file.write("\n".join(make(servers)) + "\n")


if __name__ == "__main__":
    main(sys.argv)
