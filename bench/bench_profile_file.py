#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
How large the file of a long profile is, and how soon it is open: a Markdown row for docs/profile.md.

    WATTLE=build/wattle bench_profile_file.py [--seconds S] [--threads N] [--rate HZ] [--keep FOLDER]

A program of N threads (8), each with S seconds (60) of CPU time, that call 48 functions in ever other orders, some 25 deep. Where there are
fewer processors than threads, samples are taken so much more often that there are as many as on N processors for S seconds at 997 Hz; with --rate 9970, which
needs less time, file sizes are those of fewer switches between threads.
"""

import argparse
import os
import re
import resource
import statistics
import subprocess
import tempfile
from pathlib import Path

HZ = 997
FUNCTIONS = 48
MODES = {"few": "a thousand stacks", "many": "hardly two stacks the same"}

PROGRAM = """
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
typedef void function(uint64_t way, int depth);
static function *const functions[];
static volatile unsigned sink;
static double seconds;
static uint64_t ways;
static double cpu(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
static void call(uint64_t way, int depth)
{
	way = way * 6364136223846793005u + 1442695040888963407u;
	if (depth > 0)
		functions[(way >> 33) % %N%](way, depth - 1);
	else
		for (int i = 0; i < 20000; i++)
			sink += (unsigned)i;
}
%BODIES%
static function *const functions[] = {%NAMES%};
static void *run(void *number)
{
	uint64_t way = 0;
	for (double end = seconds; cpu() < end; way++)
		call((way % ways) * 8 + (uint64_t)(uintptr_t)number, 15 + (int)(way % 20));
	return NULL;
}
int main(int argc, char *argv[])
{
	pthread_t threads[256];
	int n = atoi(argv[1]);
	seconds = atof(argv[2]);
	ways = argc > 3 && strcmp(argv[3], "few") == 0 ? 125 : UINT64_MAX;
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}
"""


def build(folder):
    bodies = "".join(f'__attribute__((noinline)) static void f{i}(uint64_t way, int depth) {{ call(way + {i}, depth); __asm__ volatile(""); }}\n'
                     for i in range(FUNCTIONS))
    text = PROGRAM.replace("%N%", str(FUNCTIONS)).replace("%BODIES%", bodies)
    (folder / "program.c").write_text(text.replace("%NAMES%", ", ".join(f"f{i}" for i in range(FUNCTIONS))))
    subprocess.run(["gcc", "-O1", "-g", "-pthread", "-o", folder / "program", folder / "program.c"], check=True)
    return folder / "program"


def took(*words):
    """CPU time, which does not depend on who else runs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout.decode()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--rate", type=int, help="samples a second")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    wattle = os.environ.get("WATTLE", "wattle")
    rate = options.rate or round(HZ * max(1.0, options.threads / os.cpu_count()))
    each = options.seconds * HZ / rate
    print("| stacks | samples | file [MB] | bytes a sample | show [CPU s] | as a page [CPU s] |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = build(folder)
        for mode, words in MODES.items():
            file = (options.keep or folder) / f"{mode}.wprof"
            subprocess.run([wattle, "profile", "-q", "--rate", str(rate), "-o", file, "--", program, str(options.threads), str(each), mode], check=True)
            shown = [took(wattle, "profile", "show", file) for _ in range(5)]
            text = shown[0][1]
            shown_s = statistics.median(s for s, _ in shown)
            page_s = statistics.median(took(wattle, "profile", "show", file, "-o", folder / "p.html")[0] for _ in range(5))
            samples = int(re.search(r"(\d+) samples", text)[1])
            size = file.stat().st_size
            print(f"| {words} | {samples} | {size / 1e6:.2f} | {size / samples:.1f} | {shown_s:.2f} | {page_s:.2f} |", flush=True)


if __name__ == "__main__":
    main()
