#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
How many stacks the profiler's unwinder tells as libdwfl does, of programs in several languages: Markdown for docs/profile.md.

    bench_profile_unwind.py [--seconds S] [--verbose] [PROGRAM...]

Programs whose compiler or library is missing are left out, with a line that says so. numpy (with its OpenBLAS) has to be importable by
the interpreter that runs this.
"""

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
BENCH = Path(os.environ.get("WATTLE_BUILD_ROOT", REPO / "build")).resolve() / "bench" / "bench_profile_unwind"

PYTHON = """
import json, re, sys, time
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
end = time.time() + float(sys.argv[1])
data = [{"a": i, "b": str(i), "c": [i] * 5} for i in range(50)]
while time.time() < end:
    fib(12); json.loads(json.dumps(data)); sorted(range(200), key=lambda x: -x); re.sub(r"(a|b)+c", "x", "aababc" * 50)
"""
OPENBLAS = """
import sys, time
import numpy
end = time.time() + float(sys.argv[1])
a = numpy.random.rand(300, 300)
while time.time() < end:
    a @ a; numpy.linalg.svd(a[:80, :80]); numpy.linalg.solve(a, a[0])
"""
RUST = """
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};
#[derive(Clone)]
enum Tree { Leaf(u64), Node(Box<Tree>, Box<Tree>) }
fn grow(n: u64) -> Tree { if n == 0 { Tree::Leaf(1) } else { Tree::Node(Box::new(grow(n - 1)), Box::new(grow(n - 1))) } }
fn sum(t: &Tree) -> u64 { match t { Tree::Leaf(v) => *v, Tree::Node(a, b) => sum(a) + sum(b) } }
fn main() {
    let seconds: f64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut total = 0u64;
    while Instant::now() < end {
        total += sum(&grow(10).clone());
        let mut words: HashMap<String, usize> = HashMap::new();
        for i in 0..2000 { *words.entry(format!("w{}", i % 97)).or_insert(0) += i; }
        let sorted: BTreeMap<_, _> = words.iter().collect();
        let mut list: Vec<_> = sorted.iter().map(|(k, v)| (**v, k.len())).collect();
        list.sort_by(|a, b| b.cmp(a));
        total += list[0].0 as u64 + std::panic::catch_unwind(|| list.len()).unwrap() as u64;
    }
    println!("{}", total);
}
"""
GO = """
package main
import ("fmt"; "os"; "sort"; "strconv"; "strings"; "time")
type tree struct { a, b *tree; v int }
func grow(n int) *tree { if n == 0 { return &tree{v: 1} }; return &tree{grow(n - 1), grow(n - 1), n} }
func (t *tree) sum() int { if t == nil { return 0 }; return t.v + t.a.sum() + t.b.sum() }
func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	end := time.Now().Add(time.Duration(seconds * 1e9))
	total := 0
	for time.Now().Before(end) {
		total += grow(10).sum()
		words := map[string]int{}
		for i := 0; i < 2000; i++ { words[fmt.Sprintf("w%d", i%97)] += i }
		keys := []string{}
		for k := range words { keys = append(keys, k) }
		sort.Strings(keys)
		total += len(strings.Join(keys, ","))
		done := make(chan int)
		go func() { s := 0; for i := 0; i < 100000; i++ { s += i % 7 }; done <- s }()
		total += <-done
	}
	fmt.Println(total)
}
"""
CPP = """
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>
struct Shape { virtual ~Shape() {} virtual double area(int n) const = 0; };
struct Square : Shape { double area(int n) const override { return n ? std::sqrt(area(n - 1) + n) : 1; } };
struct Other : Shape { double area(int n) const override { if (n == 3) throw std::runtime_error("three"); return std::sin(n); } };
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(int, char **argv) {
	auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(atof(argv[1]));
	double total = 0;
	while (std::chrono::steady_clock::now() < end) {
		std::map<std::string, int> words;
		for (int i = 0; i < 2000; i++) words["w" + std::to_string(i % 97)] += i;
		std::vector<double> v(5000);
		std::generate(v.begin(), v.end(), [n = 1.0]() mutable { return std::fmod(n = n * 1.7 + 1, 1000.0); });
		std::sort(v.begin(), v.end(), [](double a, double b) { return a > b; });
		Square square; Other other; const Shape *shapes[] = {&square, &other};
		for (int i = 0; i < 50; i++) try { total += shapes[i % 2]->area(i); } catch (const std::exception &) { total++; }
		total += std::regex_search(std::string(60, 'a') + "b", std::regex("(a|aa)*b")) + fib(15) + v[0];
	}
	printf("%f\\\\n", total);
}
"""


def build(folder, name, text, words, compiler):
    if not shutil.which(compiler):
        return None
    source = folder / name
    source.write_text(text.replace("\\\\n", "\\n"), encoding="utf-8")
    out = folder / ("program-" + name.split(".")[0])
    subprocess.run([compiler, *[str(word).format(source=source, out=out) for word in words]], check=True, cwd=folder,
                   env={**os.environ, "GOCACHE": str(folder / "cache"), "GOFLAGS": "-mod=mod"})
    return [str(out)]


def script(folder, name, text, needs=None):
    if needs and not importlib.util.find_spec(needs):
        return None
    (folder / name).write_text(text, encoding="utf-8")
    return [sys.executable, str(folder / name)]


PROGRAMS = {
    "CPython": lambda folder: script(folder, "python.py", PYTHON),
    "OpenBLAS (numpy)": lambda folder: script(folder, "blas.py", OPENBLAS, "numpy"),
    "Rust": lambda folder: build(folder, "rust.rs", RUST, ["-O", "-o", "{out}", "{source}"], "rustc"),
    "Go": lambda folder: build(folder, "go.go", GO, ["build", "-o", "{out}", "{source}"], "go"),
    "C++ -O2": lambda folder: build(folder, "cpp.cpp", CPP, ["-O2", "-o", "{out}", "{source}"], "g++"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("programs", nargs="*", default=list(PROGRAMS))
    options = parser.parse_args()
    print("| program | stacks | frames a stack | the same as libdwfl's | ends where the program began |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.programs:
            command = PROGRAMS[name](Path(folder))
            if not command:
                print(f"| {name} | not installed | | | |")
                continue
            words = [BENCH, *(["-v"] if options.verbose else []), *command, str(options.seconds)]
            told = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout
            found = {key: int(value) for key, value in re.findall(r"(\w+) (\d+)", told.splitlines()[-1])}
            n = max(found["stacks"], 1)
            print(f"| {name} | {found['stacks']} | {found['frames'] / n:.1f} | {100 * found['same'] / n:.2f} % | {100 * found['whole'] / n:.2f} % |",
                  flush=True)
            if options.verbose:
                print(told)


main()
