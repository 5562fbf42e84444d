# SPDX-License-Identifier: MIT
"""Callers in code without unwinding tables: none is told that is not one."""

import os
import shutil
import subprocess

import pytest

from test_profile import Profile, built_program, taken  # noqa: F401 (fixtures)

GO = """
package main
import ("os"; "strings")
type shape interface { area(n int) int }
type square struct { side int }
type other struct { text []byte }
//go:noinline
func (s square) area(n int) int { return spin(n) + s.side }
//go:noinline
func (o other) area(n int) int { return len(copied(o.text, n)) }
//go:noinline
func spin(n int) int { t := 0; for i := 0; i < n*50; i++ { t += i ^ t }; return t }
//go:noinline
func copied(text []byte, n int) []byte { var room [2000]byte; copy(room[:], text); return append(room[:n:n], text...) }
//go:noinline
func leaf(n int) int { return n & 0xff + 1 }
//go:noinline
func many(n int) int { t := 0; for i := 0; i < n; i++ { t += leaf(i) }; return t }
//go:noinline
func deep(n int) int { if n == 0 { return many(500) }; return deep(n - 1) + 1 }
//go:noinline
func work(shapes []shape) int { t := 0; for _, s := range shapes { t += s.area(100) }; return t + deep(20) + many(300) }
func main() {
	done := make(chan int)
	for g := 0; g < 2; g++ {
		go func() {
			t := 0
			for i := 0; i < 20000; i++ { t += work([]shape{square{1}, other{[]byte(strings.Repeat("x", 1000))}}) }
			done <- t
		}()
	}
	os.Exit((<-done + <-done) & 0)
}
"""
GO_CALLS = {
    "main.spin": {"main.square.area"}, "main.copied": {"main.other.area"}, "main.square.area": {"main.(*square).area"},
    "main.other.area": {"main.(*other).area"}, "main.(*square).area": {"main.work"}, "main.(*other).area": {"main.work"}, "main.leaf": {"main.many"}, "main.many": {"main.deep", "main.work"},
    "main.deep": {"main.deep", "main.work"}, "main.work": {"main.main.func1"},
}


def check_calls(seen, calls, least):
    """Of the functions in `calls`, none is told below another than its callers, and so much of their time is below one."""
    wrong, rootless, all_s = {}, 0, 0
    for stack, call in zip(seen.stacks(), seen.json["calls"]):
        own = float(call["own_cpu_s"])
        edges = [(caller, callee) for caller, callee in zip([None, *stack], stack) if callee in calls]
        all_s += own if edges else 0
        rootless += own if edges and stack[0] in calls and None not in calls[stack[0]] else 0
        for caller, callee in edges:
            if caller is not None and caller not in calls[callee]:
                wrong[caller, callee] = wrong.get((caller, callee), 0) + own
    assert all_s > 0.2 and sum(wrong.values()) <= 0.0005 * all_s, (all_s, wrong)
    assert rootless <= (1 - least) * all_s, (rootless, all_s, seen.json["not_whole"])


@pytest.fixture(name="go_cache", scope="session")
def folder_of_go(tmp_path_factory):
    if not shutil.which("go"):
        pytest.skip("go is not installed")
    return tmp_path_factory.mktemp("go")


@pytest.mark.parametrize("flags", ["-w", "-s -w"])
def test_go_without_debug_information(profile, tmp_path, go_cache, monkeypatch, flags):
    """Its own table of functions says how large their frames are. What works for the runtime has a stack that begins nowhere."""
    source, out = tmp_path / "calls.go", tmp_path / "calls"
    source.write_text(GO, encoding="utf-8")
    subprocess.run(["go", "build", "-ldflags=" + flags, "-o", out, source], check=True, cwd=tmp_path,
                   env={**os.environ, "GOCACHE": str(go_cache)})
    monkeypatch.setenv("GOGC", "off")
    seen = profile(program=out)
    assert seen.json["not_whole"] <= 0.2 * seen.json["samples"], seen.json
    ends = "runtime.goexit" if "-s" in flags else "runtime.goexit.abi0"
    check_calls(seen, {**GO_CALLS, "main.main.func1": {ends}, ends: {None}}, 0.99)
