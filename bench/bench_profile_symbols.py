#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
How long wattle profile takes at its end to say which functions ran, of a large C++ program with debug information: Markdown for docs/profile.md.

    bench_profile_symbols.py [--mb SIZE] [--repeat N] [--seconds S]

One unit of templates is compiled, copied until the program is that large, and all copies run: samples fall into every unit, which is the
worst case. Needs g++ and objcopy. CPU time is the profiler's own after the program's last moment, with that of its process that reads the debug
information, and, in brackets, the time on the clock.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("WATTLE_BUILD_ROOT", str(REPO / "build"))).resolve()

UNIT = """
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>
namespace {
template <int N> struct thing {
	int key; std::string name; double weights[N];
	bool operator<(const thing &other) const { return key < other.key; }
};
template <int N> double work(unsigned seed)
{
	std::mt19937 random(seed);
	std::vector<thing<N>> list(50);
	std::map<std::string, thing<N>> by_name;
	std::unordered_map<int, std::set<thing<N>>> sets;
	for (auto &t : list) {
		t.key = random() % 97;
		t.name = std::to_string(t.key);
		for (double &weight : t.weights) weight = random() % 3;
		by_name[t.name] = t;
		sets[t.key % 7].insert(t);
	}
	std::sort(list.begin(), list.end(), [](const auto &a, const auto &b) { return a.name < b.name; });
	std::function<double(const thing<N> &)> sum = [](const thing<N> &t) { return std::accumulate(t.weights, t.weights + N, 0.0); };
	double all = 0;
	for (auto &t : list) all += sum(t);
	for (auto &[key, set] : sets) for (auto &t : set) all += sum(t);
	for (auto &[key, t] : by_name) all += sum(t);
	return all;
}
}
extern "C" double unit(unsigned seed)
{
	return work<1>(seed) + work<2>(seed) + work<3>(seed) + work<4>(seed) + work<5>(seed) + work<6>(seed) + work<7>(seed) + work<8>(seed);
}
"""

MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
{declarations}
static double (*all[])(unsigned) = {{{names}}};
static double now(int clock)
{{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}}
int main(int argc, char **argv)
{{
	double sum = 0, begin = now(CLOCK_PROCESS_CPUTIME_ID);
	for (unsigned i = 0; argc > 1 && now(CLOCK_PROCESS_CPUTIME_ID) - begin < atof(argv[1]); i++)
		sum += all[i / 20 % (sizeof(all) / sizeof(all[0]))](i);
	printf("ended %.6f of %g\\n", now(CLOCK_MONOTONIC), sum);
	return 0;
}}
"""


def build(folder, size):
    unit, main, program = folder / "unit.o", folder / "main.c", folder / "program"
    (folder / "unit.cc").write_text(UNIT)
    subprocess.run(["g++", "-std=c++17", "-O1", "-g", "-fPIC", "-c", folder / "unit.cc", "-o", unit], check=True)
    objects = []
    subprocess.run(["g++", "-shared", "-o", program, unit], check=True)
    for i in range(max(1, round(1.25 * size / program.stat().st_size))):  # linked with others, each takes a fifth less
        objects.append(folder / f"unit{i}.o")
        subprocess.run(["objcopy", "--redefine-sym", f"unit=unit{i}", unit, objects[-1]], check=True)
    names = [path.stem for path in objects]
    main.write_text(MAIN.format(declarations="\n".join(f"double {name}(unsigned);" for name in names), names=", ".join(names)))
    subprocess.run(["gcc", "-O2", "-g", "-c", main, "-o", folder / "main.o"], check=True)
    subprocess.run(["g++", "-o", program, folder / "main.o", *objects], check=True)
    for path in objects:
        path.unlink()
    return program, len(objects)


def cpu_s(pid):
    """Of one process, without its children."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def forks_of(pid):
    """Its children that have its own name."""
    try:
        children = " ".join(path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")).split()
        return [child for child in children if Path(f"/proc/{child}/comm").read_text() == Path(f"/proc/{pid}/comm").read_text()]
    except OSError:
        return []


def measure(program, seconds, folder):
    words = [BUILD / "wattle", "profile", "-q", "--table", "-o", folder / "told.txt", "--", program, str(seconds)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        ended = float(re.search(r"ended (\S+)", process.stdout.readline()).group(1))
        before = last = cpu_s(process.pid)
        apart = 0
        while process.poll() is None:
            last = cpu_s(process.pid) or last
            apart = max(apart, sum(cpu_s(child) or 0 for child in forks_of(process.pid)))
            time.sleep(0.01)
    return last - before + apart, time.clock_gettime(time.CLOCK_MONOTONIC) - ended


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=int, default=500)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program, units = build(folder, options.mb * 1_000_000)
        runs = [measure(program, options.seconds, folder) for _ in range(options.repeat)]
        used, waited = (statistics.median(column) for column in zip(*runs))
        print("| program | units | functions told after |\n|---|---|---|")
        print(f"| {program.stat().st_size / 1e6:.0f} MB | {units} | {used:.2f} s of CPU time ({waited:.2f} s) |")


if __name__ == "__main__":
    sys.exit(main())
