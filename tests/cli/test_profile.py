# SPDX-License-Identifier: MIT
"""wattle profile: functions get the CPU time and energy that they used, and all rows add up to what was measured."""

import json
import os
import platform
import pstats
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pytest

from conftest import REPO, clean_env, command_path, finish, mover, parse_csv, parse_json, run_wattle, start_wattle, wait_for

SUMS = ("stacks_j", "not_seen_j", "unknown_time_j", "outside_j", "profiler_j", "others_j", "kernel_j", "idle_j", "unattributed_j")


@pytest.fixture(name="program", scope="session")
def built_program(tmp_path_factory):
    if not shutil.which("gcc"):
        pytest.skip("gcc is not there")
    probe = run_wattle("profile", "--", "true")
    if probe.code != 0:
        pytest.skip(f"no profile can be taken here: {probe.err}")
    path = tmp_path_factory.mktemp("profiled") / "profiled"
    subprocess.run(["gcc", "-O2", "-g", "-pthread", "-o", path, REPO / "tests" / "cli" / "profiled.c"], check=True)
    return path


def stolen_s():
    """Time that a host or interrupts took from whoever ran: on a processor by the kernel's records of switches, and not by its clocks."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return sum(int(field) for field in fields[6:9]) / os.sysconf("SC_CLK_TCK")


class Profile:
    def __init__(self, path, code, stolen=0.0):
        self.code = code
        self.stolen_s = stolen
        self.json = parse_json(Path(path).read_text())
        self.functions = {row["function"]: row for row in self.json["functions"]}

    def cpu_s(self, name):
        return float(self.functions.get(name, {}).get("cpu_s", 0))

    def used(self, name, seconds, give_or_take=0.03):
        """The program has used that by its own clock. Where others leave it a processor for less than a sample, it is not seen."""
        return seconds - give_or_take - self.cpu_s("[not seen]") <= self.cpu_s(name) <= seconds + give_or_take + self.stolen_s

    def energy_j(self, name):
        return float(self.functions[name]["energy_j"])

    def stacks(self):
        """The names of each call's callers and itself, outermost first."""
        calls, found = self.json["calls"], []
        for call in calls:
            found.append((found[call["parent"]] if "parent" in call else []) + [call["function"]])
        return found


@pytest.fixture(name="profile")
def taken(program, tmp_path):
    def take(*words, code=0, program=program):
        before = stolen_s()
        result = run_wattle("profile", "-q", "-o", tmp_path / "p.json", "--", program, *words)
        assert result.code == code, result
        profile = Profile(tmp_path / "p.json", result.code, stolen_s() - before)
        check_sums(profile.json)
        return profile
    return take


def check_sums(profile):
    """To the microjoule: of each domain, of functions, and of the tree."""
    for row in profile["sums"]:
        assert sum(row.get(key, 0) for key in SUMS) == row["total_j"], row
        assert all(row.get(key, 0) <= row["total_j"] for key in SUMS), row
    total = profile["sums"][-1]
    assert total["domain"] == "total"
    own = sum((call["own_energy_j"] for call in profile["calls"]), Decimal(0))
    assert own == profile["energy_j"] == total["stacks_j"] + total["not_seen_j"] + total["unknown_time_j"]
    assert sum((row["own_energy_j"] for row in profile["functions"]), Decimal(0)) == own
    for row in profile["functions"]:
        assert row["own_energy_j"] <= row["energy_j"] and row["own_cpu_s"] <= row["cpu_s"]
        assert row["uncertainty_j"] <= max(row["energy_j"], own - row["energy_j"]) + profile["uncertainty_j"], "a part is within 0 and all"
        assert sum((domain["energy_j"] for domain in row["domains"]), Decimal(0)) >= row["energy_j"]


def test_two_functions(profile):
    """heavy: three quarters of 600 ms. The time is the kernel's; only where slices are cut is left to samples."""
    seen = profile("two")
    assert seen.used("heavy", 0.45)
    assert seen.used("light", 0.15)
    assert seen.used("main", 0.6)
    if seen.json["energy_j"] > 0:
        assert seen.energy_j("heavy") / seen.energy_j("main") == pytest.approx(0.75, abs=0.25)
    main = next(row for row in seen.json["functions"] if row["function"] == "main")
    lines = (REPO / "tests" / "cli" / "profiled.c").read_text().splitlines()
    assert main["file"].endswith("profiled.c") and lines[main["line"] - 1].startswith("int main(")
    # All that was seen of the second one are calls that were put into both.
    assert seen.functions["light"]["file"] == seen.functions["heavy"]["file"] == main["file"], seen.functions


def test_the_idle_machine_is_watched_first(machine, tmp_path):
    """What it draws then is no part of the profile."""
    server = machine("nvidia-server")
    zone = server.zone("intel-rapl:0")
    process = start_wattle("profile", "--root", server.path, "--idle-first", "3", "--idle-file", tmp_path / "idle", "-o", tmp_path / "p.json", "--",
                           *mover("add", zone, 5_000_000))
    assert b"watching the idle machine" in process.stderr.readline()
    zone.write_text(str(int(zone.read_text()) + 70_000_000))
    result = finish(process)
    assert result.code == 0, result
    told = parse_json((tmp_path / "p.json").read_text())
    check_sums(told)
    assert told["sums"][-1]["total_j"] == 5


def test_a_model_says_so(program):
    """And what is measured does not."""
    heads = {}
    for name in ("vm-nothing", "xeon-2s-dram"):
        result = run_wattle("profile", "--root", REPO / "tests" / "fixtures" / "roots" / name, "--", program, "brief")
        heads[name] = result.err.split("\n")[0]
    assert "modelled" in heads["vm-nothing"] and "modelled" not in heads["xeon-2s-dram"], heads


def test_no_energy_is_known(program, tmp_path):
    """It is a profile of CPU time, then, and nothing in it is 0 J."""
    kept = tmp_path / "p.wprof"
    result = run_wattle("profile", "--root", REPO / "tests" / "fixtures" / "roots" / "rubbish", "--keep", kept, "--", program, "two")
    assert result.code == 0 and result.err.startswith("wattle profile: no energy is known"), result
    assert result.err.index(" heavy") < result.err.index(" light") and " J " not in result.err
    table = run_wattle("profile", "show", kept, "--table", "--fail-if", "heavy > 1 J", "--fail-if", "heavy > 0.1 s")
    assert table.code == 124 and "is not decided: no energy is known" in table.err and "fails: it is" in table.err, table
    assert "innermost" in table.out and "0.000 \u00b1" not in table.out, table
    by_calls = run_wattle("profile", "show", kept, "--table", "--sort", "calls").out
    assert by_calls.index(" main\n") < by_calls.index(" heavy\n") < by_calls.index(" light\n"), by_calls

    def written(name):
        assert run_wattle("profile", "show", kept, "-q", "-o", tmp_path / name).code == 0
        return (tmp_path / name).read_text()
    told = json.loads(written("p.json"))
    assert not [key for row in (told, *told["functions"], *told["calls"]) for key in row if key.endswith(("energy_j", "uncertainty_j", "co2e_g"))]
    assert all(row["domain"] != "total" for row in told["sums"])
    folded = dict(line.rsplit(" ", 1) for line in written("p.folded").splitlines())
    assert 4e8 < sum(int(ns) for stack, ns in folded.items() if "heavy" in stack) < 6e8, folded
    assert [profile["name"] for profile in json.loads(written("p.speedscope.json"))["profiles"]] == ["CPU time [s]"]
    assert "events: cpu_us samples\n" in written("p.callgrind")
    assert json.loads(written("p.pyisession"))["duration"] == pytest.approx(0.6, abs=0.1)
    assert " s (100.0 %)" in written("p.dot") and ">CPU time" in written("p.svg")
    written_stats = tmp_path / "p.pstats"
    assert run_wattle("profile", "show", kept, "-q", "-o", written_stats).code == 0
    assert any(key[2] == "TOTAL (values are CPU seconds)" for key in pstats.Stats(str(written_stats)).stats)


def test_inlined_calls(profile):
    """Both of them: one was put into a function that was put into another one."""
    stacks = [" ".join(stack) for stack in profile("two").stacks()]
    assert any("main heavy middle innermost" in stack for stack in stacks), stacks


@pytest.mark.parametrize("options", [["-g"], ["-s", "-rdynamic"]])
def test_names_of_rust(profile, tmp_path, options):
    """Of both kinds, and without the hash that each build has another one of. This C program has functions of such names."""
    names = {"_RINvCskwGfYPst2Cb_4demo4workNtB2_4PartKj3_EB2_": "demo::work::<demo::Part, 3>",
             "_ZN4demo4Part4rest17h05af171e2caa9a9dE": "demo::Part::rest", "_ZN4demo4kindEv": "demo::kind()"}
    lines = ["#include <time.h>", "static volatile unsigned long sink;"]
    for i, name in enumerate(names):
        lines.append(f'__attribute__((noinline)) void f{i}(void) __asm__("{name}");')
        lines.append(f"void f{i}(void) {{ for (clock_t end = clock() + CLOCKS_PER_SEC / 10; clock() < end; sink++) ; }}")
    (tmp_path / "demo.c").write_text("\n".join([*lines, "int main(void) { f0(); f1(); f2(); sink++; return 0; }"]))
    subprocess.run(["gcc", "-O1", *options, "-o", tmp_path / "demo", tmp_path / "demo.c"], check=True)
    functions = profile(program=tmp_path / "demo").functions
    assert set(names.values()) <= set(functions) or not shutil.which("g++"), functions
    assert set(list(names.values())[:2]) <= set(functions), functions


@pytest.mark.parametrize("folder", ["", ".debug"])
def test_symbols_in_a_file_of_their_own(profile, program, tmp_path, folder):
    """As distributions strip programs: functions, lines and inlined calls are those of the file that the program names."""
    (tmp_path / folder).mkdir(exist_ok=True)
    stripped, debug = tmp_path / "stripped", tmp_path / folder / "names.debug"
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", program, stripped], check=True)
    seen = profile("two", program=stripped)
    assert any("main heavy middle innermost" in " ".join(stack) for stack in seen.stacks()), seen.functions
    assert seen.functions["main"]["file"].endswith("profiled.c")
    # A file of that name from another build says nothing about this one.
    other = tmp_path / "other.c"
    other.write_text("int main(void) { return 0; }")
    subprocess.run(["gcc", "-g", "-o", debug, other], check=True)
    assert "heavy" not in profile("two", program=stripped).functions


def test_samples_come_together(program, tmp_path):
    """Of native code nobody needs a sample at once: the reader sleeps over most of them, in the kernel as well."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw
    taken_at = run_wattle("profile", "-q", "--rate", "10000", "-o", tmp_path / "p.json", "--", program, "two")
    turns = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw - before
    samples = parse_json((tmp_path / "p.json").read_text())["samples"]
    assert taken_at.code == 0 and samples > 3000 and turns < samples / 2, (samples, turns)


@pytest.mark.parametrize("options", [(), ("--wall",)])
def test_too_few_descriptors(program, options):  # noqa: ARG001 (a profile can be taken)
    """Each event of each thread needs one for each processor."""
    if options and os.geteuid() != 0:
        pytest.skip("where threads wait is told to root")
    source = "import threading\nfor _ in range(300):\n    threading.Thread(target=threading.Event().wait).start()\nprint(flush=True)"
    many = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE)
    try:
        many.stdout.readline()
        done = subprocess.run(["sh", "-c", "ulimit -n 512; exec \"$@\"", "sh", command_path(), "profile", *options, "--pid", str(many.pid)],
                              stderr=subprocess.PIPE, check=False)
    finally:
        many.kill()
        many.communicate()
    each = (2 if os.sysconf("SC_NPROCESSORS_CONF") <= 32 else 1) + len(options)
    assert done.returncode == 125 and f"each needs {each} for each processor" in done.stderr.decode(), done


@pytest.fixture(name="event_gate", scope="session")
def built_gate():
    """Notes how the command and the kernel go about samples, see tests/gate/events.c."""
    path = Path(os.environ.get("WATTLE_BUILD_ROOT") or ".") / "tests/gate/libeventgate.so"
    if not path.exists():
        pytest.skip("WATTLE_BUILD_ROOT does not name a build with the gate")
    return path


@pytest.mark.parametrize("options, changes", [((), True), (("--memory",), False)])
def test_events_that_wake_nobody_are_switched_on(program, event_gate, tmp_path, options, changes):
    """While only native code runs, and unless each sample is needed, of a thread of which nobody knows when the next one comes."""
    noted = tmp_path / "noted"
    taken_so = run_wattle("profile", "-q", *options, "-o", tmp_path / "p.json", "--", program, "often",
                          env={"LD_PRELOAD": event_gate, "WATTLE_TEST_EVENTS": noted})
    assert taken_so.code == 0, taken_so
    assert (b"q" in noted.read_bytes()) == changes


def test_the_kernel_wakes_the_reader_when_samples_stop(event_gate, tmp_path):
    """Of a thread that goes on the reader knows when samples come. It rests, and a timer of the reader's would not: the event that wakes is on again."""
    noted = tmp_path / "noted"
    (tmp_path / "told.c").write_text("""
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>
static volatile unsigned long sink;
static int tells_to_rest(void)
{
	int notes = open(getenv("WATTLE_TEST_EVENTS"), O_WRONLY | O_APPEND);
	char what = 'R';
	return write(notes, "R", 1) == 1 && read(0, &what, 1) == 1 && what == 'g' && write(notes, "G", 1) == 1 && close(notes) == 0;
}
int main(void)
{
	struct pollfd told = {.events = POLLIN};
	char rest;
	do {
		for (int i = 0; i < 1000000; i++)
			sink += i;
		if (poll(&told, 1, 0) > 0 && (read(0, &rest, 1) != 1 || !tells_to_rest()))
			return 0;
	} while (1);
}
""")
    subprocess.run(["gcc", "-O1", "-o", "told", "told.c"], check=True, cwd=tmp_path)
    taken_of = start_wattle("profile", "-q", "--memory", "--rate", "1000", "-o", tmp_path / "p.json", "--", tmp_path / "told",
                            env={"LD_PRELOAD": event_gate, "WATTLE_TEST_EVENTS": noted}, stdin=subprocess.PIPE)

    def tell(what):
        taken_of.stdin.write(what)
        taken_of.stdin.flush()

    def notes(since=b""):
        noted_so_far = noted.read_bytes() if noted.exists() else b""
        return noted_so_far.rpartition(since)[2] if since else noted_so_far
    comes_itself = False
    try:
        while not comes_itself:
            wait_for(lambda: notes().endswith(b"t"), "a reader that comes by itself")
            tell(b"r")
            wait_for(lambda: b"R" in notes(b"G"), "a program that rests")
            comes_itself = b"tR" in notes(b"G")  # on a busy machine that may just have changed
            wait_for(lambda: notes(b"R").endswith(b"k") or not comes_itself, "a reader that the kernel is to wake")
            assert b"l" in notes(b"R") or not comes_itself, noted.read_bytes()
            tell(b"g")
        wait_for(lambda: notes(b"G").endswith(b"t"), "a reader that was woken, and comes by itself again")
        tell(b"re")
    finally:
        result = finish(taken_of)  # without more to read, the program ends
    assert result.code == 0, result


def test_births_where_samples_wake_nobody(profile, tmp_path):
    """After half a second of native code the reader is not woken. Threads, children and a new program are seen from then on, once each."""
    (tmp_path / "late.c").write_text("""
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void *burn(void *ms)
{
	struct timespec now;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < (long)ms);
	return 0;
}
__attribute__((noipa)) static void *born(void *ms) { burn(ms); return 0; }
__attribute__((noipa)) static void becomes(void) { burn((void *)1100); }
int main(int argc, char **argv)
{
	pthread_t threads[8];
	if (argc > 1) {
		becomes();
		return 0;
	}
	burn((void *)600);
	for (int i = 0; i < 8; i++) {
		pthread_create(&threads[i], 0, born, (void *)50);
		if (fork() == 0) {
			born((void *)50);
			_exit(0);
		}
	}
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], 0);
	while (wait(0) > 0)
		;
	execv("/proc/self/exe", (char *[]){argv[0], "again", 0});
}
""")
    subprocess.run(["gcc", "-O1", "-g", "-fno-optimize-sibling-calls", "-pthread", "-o", "late", "late.c"], check=True, cwd=tmp_path)
    seen = profile(program=tmp_path / "late")
    assert seen.json["threads"] == 17 and seen.json["lost"] == 0
    assert seen.used("born", 0.8, 0.1)
    assert seen.used("becomes", 0.5, 0.05)
    assert 0.9 * all_cpu_s(seen) < seen.json["samples"] / seen.json["rate_hz"] < 1.1 * all_cpu_s(seen)


def test_recursion_is_counted_once(profile):
    seen = profile("deep")
    assert seen.used("recursive", 0.2)
    assert any(stack.count("recursive") == 21 for stack in seen.stacks())


def test_more_stack_than_is_copied(program, tmp_path):
    """The rest is read from the program's memory, as soon as it is known to be needed (after 50 ms of 200), and counted."""
    done = run_wattle("profile", "-q", "--stack", "1024", "-o", tmp_path / "p.json", "--", program, "deeper")
    assert done.code == 0, done
    seen = Profile(tmp_path / "p.json", done.code)
    check_sums(seen.json)
    assert seen.json["read_later"] + seen.json["not_whole"] <= seen.json["samples"] and seen.json["read_later"] > 0.3 * seen.json["samples"], seen.json
    assert seen.cpu_s("main") > 0.3 * seen.cpu_s("recursive"), seen.functions


def test_threads(profile):
    seen = profile("threads")
    assert seen.used("in_thread", 0.45, 0.04)
    assert seen.json["threads"] == 4


def test_children(profile):
    seen = profile("children")
    assert seen.used("in_child", 0.2)   # fork and exec
    assert seen.used("in_thread", 0.2)  # fork alone
    assert seen.json["threads"] == 3


def test_a_program_that_its_user_may_not_read(program):
    """The kernel lets nobody look at it: that is said, not left to be guessed."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root and setpriv, to become others")
    with tempfile.TemporaryDirectory(prefix="wattle-test-") as path:
        os.chmod(path, 0o755)
        closed = shutil.copy(program, Path(path) / "closed")
        os.chmod(closed, 0o711)
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", command_path(), "profile", "-o", "-", "-f", "json", "--",
                               "sh", "-c", '"$0" brief; "$0" brief; true', closed], cwd="/", env=clean_env(HOME=None), capture_output=True, text=True, check=False)
    if done.returncode in (125, 126, 127) or "perf_event_open" in done.stderr:
        pytest.skip(f"others can take no profile here: {done.stderr}")
    assert done.stderr.count("closed: not looked at, as the kernel forbids it") == 1, done.stderr
    assert json.loads(done.stdout)["processes_not_seen"] == 2, done.stdout


def test_waiting(program, tmp_path):
    """Of each thread: on a processor and waiting, together as long as it was there. The program says how long that was, by its own clock."""
    result = run_wattle("profile", "-q", "--wall", "-o", tmp_path / "p.json", "--keep", tmp_path / "p.wprof", "--", program, "waits")
    assert result.code == 0, result
    seen = Profile(tmp_path / "p.json", 0)
    check_sums(seen.json)
    there_s, rested_s = map(float, re.search(r"there (\S+) s, rested (\S+) s", result.out).groups())
    total = sum(row["own_wait_s"] + row["own_cpu_s"] for row in seen.json["functions"])
    # exec() and the end of the process are on neither of the program's clocks.
    assert there_s <= float(total) < there_s + 0.5
    waits = {row["function"]: float(row["wait_s"]) for row in seen.json["functions"]}
    if os.geteuid() == 0:  # others may not know where a thread is when it leaves a processor
        # It rests 10 times for 30 ms; on a busy machine it gets no processor at once when it is over.
        assert 0.3 * 0.9 < waits["rests"] <= rested_s
        assert any("main waits rests" in " ".join(stack) for stack in seen.stacks())
        assert waits["in_thread"] < there_s - rested_s
    assert all(row["own_energy_j"] == 0 for row in seen.json["functions"] if row["own_cpu_s"] == 0)
    shown = run_wattle("profile", "show", tmp_path / "p.wprof", "-o", tmp_path / "again.json")
    assert shown.code == 0 and (tmp_path / "again.json").read_text() == (tmp_path / "p.json").read_text()
    told = run_wattle("profile", "show", tmp_path / "p.wprof", "--table", "--sort", "wall")
    assert "waiting [s]" in told.out and "waiting takes no energy" in told.out
    assert run_wattle("profile", "show", tmp_path / "p.wprof", "--table").out == told.out
    for name in ("p.speedscope.json", "p.html", "p.pb.gz", "p.csv"):
        assert run_wattle("profile", "show", tmp_path / "p.wprof", "-o", tmp_path / name).code == 0
    table = parse_csv((tmp_path / "p.csv").read_text())
    assert [[Decimal(row[key]) for key in ("own_wait_s", "wait_s")] for row in table] == [[row["own_wait_s"], row["wait_s"]] for row in seen.json["functions"]]
    assert "time waiting" in (tmp_path / "p.speedscope.json").read_text() and "time waiting" in (tmp_path / "p.html").read_text()
    pictures = {one["name"]: one for one in json.loads((tmp_path / "p.speedscope.json").read_text())["profiles"]}
    both_s = sum(pictures[f"{name} [s]"]["endValue"] for name in ("CPU time", "time waiting"))
    assert pictures["time (CPU and waiting) [s]"]["endValue"] == pytest.approx(both_s)
    metrics = json.loads(re.search(r'id="data">(.*?)</script>', (tmp_path / "p.html").read_text(), re.S)[1])["metrics"]
    sampled = {metric["title"]: metric["sampled"] for metric in metrics if "sampled" in metric}
    assert sampled == {"CPU time": 1, "time waiting": 0, "time (CPU and waiting)": 1}, "waiting is not known by samples"
    both = run_wattle("profile", "--wall", "--window", "w", "--", "true")
    assert both.code == 125 and "exclude each other" in both.err


SLEEPS = """
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
static void nap(void) { nanosleep(&(struct timespec){0, 400000000}, NULL); }
static void naps(void) { nap(); }
static void polls(void) { poll(NULL, 0, 400); }
static void locks(void) { pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex); }
static void reads(void) { char byte; if (read(ends[0], &byte, 1) < 1) pthread_mutex_lock(&mutex); }
static void rests_a_little(void) { nanosleep(&(struct timespec){0, 20000000}, NULL); }
static void *holds(void *unused)
{
	pthread_mutex_lock(&mutex);
	nap();
	pthread_mutex_unlock(&mutex);
	nap();
	return write(ends[1], "", 1) < 1 ? NULL : unused;
}
static void joins(pthread_t thread) { pthread_join(thread, NULL); }
static void *late(void *unused) { nap(); return unused; }
static void told(const char *name, void (*call)(void))
{
	struct timespec from, to;
	clock_gettime(CLOCK_MONOTONIC, &from);
	call();
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("%s %f\\n", name, (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec));
}
int main(void)
{
	pthread_t thread;
	told("naps", naps);
	told("polls", polls);
	if (pipe(ends) < 0 || pthread_create(&thread, NULL, holds, NULL))
		return 1;
	rests_a_little();
	told("locks", locks);
	told("reads", reads);
	joins(thread);
	if (pthread_create(&thread, NULL, late, NULL))
		return 1;
	joins(thread);
	return 0;
}
"""


def profile_without_rights(folder, *words):
    """Somebody who may not see the kernel profiles a command: what it writes, and the profile."""
    os.chmod(folder, 0o777)
    wattle = shutil.copy(command_path(), folder)
    first = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all") if os.geteuid() == 0 else ()
    if first and not shutil.which("setpriv"):
        pytest.skip("needs setpriv, to become somebody else")
    done = subprocess.run([*first, wattle, "profile", "-q", "--wall", "-f", "json", "-o", folder / "told", "--", *words], cwd=folder,
                          env=clean_env(HOME=None), capture_output=True, text=True, check=False)
    if done.returncode in (126, 127) or "perf_event_open" in done.stderr:
        pytest.skip(f"others can take no profile of it here: {done.stderr}")
    assert done.returncode == 0, done
    return done.stdout, json.loads((folder / "told").read_text())


def test_waiting_without_rights(tmp_path):
    """The kernel does not show where threads leave their processors: they are looked at in their sleep."""
    with tempfile.TemporaryDirectory(prefix="wattle-test-") as folder:
        program = Path(folder) / "sleeps"
        (tmp_path / "sleeps.c").write_text(SLEEPS)
        subprocess.run(["gcc", "-g", "-O1", "-fno-inline", "-fno-optimize-sibling-calls", "-fomit-frame-pointer", "-o", program, tmp_path / "sleeps.c",
                        "-lpthread"], check=True)
        out, told = profile_without_rights(Path(folder), program)
    waits = {row["function"]: row["wait_s"] for row in told["functions"]}
    true = {name: float(seconds) for name, seconds in (line.split() for line in out.splitlines())}
    assert true.keys() == {"naps", "polls", "locks", "reads"}, out
    if platform.machine() != "x86_64":  # elsewhere only the innermost function is known of some
        return
    for name, seconds in true.items():
        assert 0.9 * seconds <= waits[name] <= 1.5 * seconds, (name, seconds, waits)
    assert waits["joins"] >= 0.4 * 0.9 and waits["holds"] >= 0.8 * 0.9 and waits["late"] >= 0.4 * 0.9, waits


TURNS = """
#include <pthread.h>
#include <time.h>
#include <unistd.h>
static int there[2], back[2];
static void *answer(void *unused)
{
	char byte;
	while (read(there[0], &byte, 1) == 1)
		if (write(back[1], &byte, 1) < 1)
			break;
	return unused;
}
static void naps(void)
{
	for (int i = 0; i < 300; i++)
		nanosleep(&(struct timespec){0, 3000000}, NULL);
}
static void asks(void)
{
	char byte = 0;
	for (int i = 0; i < 50000; i++)
		if (write(there[1], &byte, 1) < 1 || read(back[0], &byte, 1) < 1)
			break;
}
int main(void)
{
	pthread_t thread;
	if (pipe(there) < 0 || pipe(back) < 0 || pthread_create(&thread, NULL, answer, NULL))
		return 1;
	asks();
	naps();
	close(there[1]);
	return pthread_join(thread, NULL);
}
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="where threads wait is told to root")
def test_waiting_after_many_turns(tmp_path):
    """The kernel shows fewer of a thread's turns after it had many. What it does not show is not the function's that it showed last."""
    source, program = tmp_path / "turns.c", tmp_path / "turns"
    source.write_text(TURNS)
    subprocess.run(["gcc", "-g", "-O1", "-fno-inline", "-o", program, source, "-lpthread"], check=True)
    result = run_wattle("profile", "-q", "--wall", "-o", tmp_path / "p.json", "--", program)
    assert result.code == 0, result
    waits = {row["function"]: row["wait_s"] for row in json.loads((tmp_path / "p.json").read_text())["functions"]}
    assert waits["naps"] + waits.get("[unresolved]", 0) > 0.85, waits


LARGE = """
#include <time.h>
static void much(int s)
{
	volatile char bytes[40000];
	for (int i = 0; i < 40000; i++)
		bytes[i] = (char)s;
	nanosleep(&(struct timespec){s, 0}, NULL);
	bytes[0] = bytes[39999];
}
int main(void)
{
	much(1);
	return 0;
}
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="where threads wait is told to root")
def test_waiting_with_a_large_stack(tmp_path):
    """Of a stack that was cut as the thread left, the rest is read in its sleep."""
    source, program = tmp_path / "large.c", tmp_path / "large"
    source.write_text(LARGE)
    subprocess.run(["gcc", "-g", "-O1", "-fno-inline", "-o", program, source], check=True)
    result = run_wattle("profile", "-q", "--wall", "-o", tmp_path / "p.json", "--", program)
    assert result.code == 0, result
    told = json.loads((tmp_path / "p.json").read_text())
    waits = {row["function"]: row["wait_s"] for row in told["functions"]}
    assert waits["much"] >= 0.9 and waits["main"] >= 0.9, waits


def test_short_processes(program, tmp_path):
    """Each ends before a sample of it is taken: their time is known, and has a row for all of a command."""
    script = "i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i + 1)); done"
    result = run_wattle("profile", "-q", "--rate", "20", "-o", tmp_path / "p.json", "--", "sh", "-c", script)
    assert result.code == 0, result
    seen = Profile(tmp_path / "p.json", 0)
    check_sums(seen.json)
    assert seen.json["threads"] == 101
    assert seen.cpu_s("[true: too short]") > 0.01
    assert float(sum(row["own_cpu_s"] for row in seen.json["functions"])) < 3 * seen.cpu_s("[true: too short]")


def all_cpu_s(seen):
    return float(sum(row["own_cpu_s"] for row in seen.json["functions"]))


@pytest.mark.parametrize("what, function", [("forks", "in_child"), ("crowd", "in_thread")])
def test_a_thousand(profile, what, function):
    """Children one after the other; threads together."""
    seen = profile(what)
    assert seen.json["threads"] == 1001
    assert seen.cpu_s(function) > 0.2 and all_cpu_s(seen) > 0.9


def test_vfork(profile):
    seen = profile("vforks")
    assert seen.json["threads"] == 4 and seen.used("in_child", 0.6, 0.09)


def test_generated_code(profile):
    """It has no name and no tables: its time is there, in one row."""
    seen = profile("generated")
    assert seen.used("[anon]", 0.2) and seen.json["not_whole"] > 0


def remove_maps(name):
    for path in Path("/tmp").glob("perf-*.map"):
        if name in path.read_text(encoding="utf-8", errors="replace"):
            path.unlink()


def test_generated_code_that_is_named(profile):
    """By the map that the program writes as perf wants it; by its frame pointer, who called it is known as well."""
    seen = profile("named")
    remove_maps("~made here")
    assert seen.used("~made here", 0.2) and "~old" not in seen.functions, seen.functions
    assert any(stack[-2:] == ["main", "~made here"] or stack[-2:] == ["generated", "~made here"] for stack in seen.stacks()), seen.stacks()


def test_generated_code_in_a_container(profile, program, tmp_path):
    """Where the program is process 1, and /tmp is its own: the map is not at the place that its number outside says."""
    if subprocess.run(["unshare", "-p", "-f", "--mount-proc", "mount", "-t", "tmpfs", "none", "/tmp"], check=False, capture_output=True).returncode:
        pytest.skip("no namespaces can be made here")
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\nexec 3<'{program}'\nexec unshare -p -f --mount-proc sh -c 'mount -t tmpfs none /tmp; exec /proc/self/fd/3 named'\n")
    script.chmod(0o755)
    assert profile(program=script).used("~made here", 0.2)


def test_functions_of_node(profile, tmp_path):
    """Node, tried with 20.20: from its main() through its own code, which has no tables, to a function of the script."""
    node = shutil.which("node")
    if not node:
        pytest.skip("there is no node")
    script = tmp_path / "script.js"
    script.write_text("function fitted(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i * s + 1) % 7; return s }\n"
                      "for (let k = 0; k < 15; k++) fitted(1e6)\n")
    # It writes a log as well, and to the folder that it is started in.
    seen = profile("--perf-basic-prof", "--no-logfile-per-isolate", f"--logfile={tmp_path}/v8.log", str(script), program=node)
    remove_maps("fitted ")
    of_main = [stack[-1] for stack in seen.stacks() if "main" in stack or "node::Start(int, char**)" in stack]
    assert any("fitted " in name and name.startswith("JS:") for name in of_main), seen.stacks()


def test_a_pid_namespace(profile, program, tmp_path):
    """In which the program is process 1."""
    if subprocess.run(["unshare", "-p", "-f", "--mount-proc", "true"], check=False, capture_output=True).returncode:
        pytest.skip("no pid namespace can be made here")
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\nexec unshare -p -f --mount-proc '{program}' two\n")
    script.chmod(0o755)
    assert profile(program=script).used("heavy", 0.45, 0.05)


def test_a_program_of_32_bits(profile, tmp_path):
    """Its stacks are not read: its time is there, in one row."""
    if platform.machine() != "x86_64":
        pytest.skip("only x86-64 is known to run them")
    (tmp_path / "s.c").write_text("void _start(void) { volatile int s = 0; for (int i = 0; i < 200000000; i++) s += i;\n"
                                  '__asm__ volatile("int $0x80" :: "a"(1), "b"(0)); }\n')
    build = ["gcc", "-m32", "-nostdlib", "-static", "-fno-pic", "-no-pie", "-O1", "-o", "s", "s.c"]
    built = subprocess.run(build, check=False, cwd=tmp_path, capture_output=True)
    if built.returncode or subprocess.run([tmp_path / "s"], check=False).returncode:
        pytest.skip("no 32-bit program can be built or run here")
    seen = profile(program=tmp_path / "s")
    assert seen.json["unresolved"] == seen.json["samples"] > 0
    assert seen.cpu_s("[unresolved]") > 0.9 * all_cpu_s(seen)
    assert seen.cpu_s("[s: 32-bit code]") == seen.cpu_s("[unresolved]")
    if os.geteuid() == 0:
        (tmp_path / "s.c").write_text('void _start(void) { int time[2] = {0, 500000000}; __asm__ volatile("int $0x80" :: "a"(162), "b"(time), "c"(0) : "memory");\n'
                                      '__asm__ volatile("int $0x80" :: "a"(1), "b"(0)); }\n')
        subprocess.run(build, check=True, cwd=tmp_path)
        assert run_wattle("profile", "-q", "--wall", "-o", tmp_path / "p.json", "--", tmp_path / "s").code == 0
        waits = {row["function"]: row["wait_s"] for row in json.loads((tmp_path / "p.json").read_text())["functions"]}
        assert waits["[s: 32-bit code]"] > 0.5 * 0.9, waits


def test_two_profilers(program, running, tmp_path):
    """On one process, at once: both see all of it."""
    busy = running(program, "busy")
    wait_until(lambda: threads_of(busy.pid) == 2)
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda name: run_wattle("profile", "-q", "--pid", str(busy.pid), "--duration", "0.5", "-o", tmp_path / name),
                             ("a.json", "b.json")))
    for name, result in zip(("a.json", "b.json"), both):
        assert result.code == 0, result
        seen = Profile(tmp_path / name, 0)
        check_sums(seen.json)
        assert seen.cpu_s("heavy") > 0 and seen.cpu_s("in_thread") > 0


def sections_of(whole):
    """By name: of each its number, and its header's fields."""
    at, = struct.unpack_from("<Q", whole, 40)
    size, n, names = struct.unpack_from("<HHH", whole, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", whole, at + i * size) for i in range(n)]
    return {whole[headers[names][4] + header[0]:].split(b"\0")[0].decode(): (i, header) for i, header in enumerate(headers)}


NOT_READ = "wattle: profile: the debug information of 1 file cannot be read, so lines and inlined calls are not told there: {}\n"


def test_files_that_lie(program, tmp_path):
    """Symbols, debug information and unwinding tables with bytes changed: names may be wrong, nothing else."""
    whole = Path(program).read_bytes()
    at, = struct.unpack_from("<Q", whole, 40)
    size, n = struct.unpack_from("<HH", whole, 58)
    parts = [(s[4], s[5]) for name, (_, s) in sections_of(whole).items()
             if s[1] not in (0, 8) and s[5] and (not s[2] & 2 or name.startswith(".eh_frame"))]
    parts.append((at, n * size))
    for seed in range(20):
        chance, changed = random.Random(seed), bytearray(whole)
        for _ in range(chance.choice([1, 10, 100, 1000])):
            begin, length = chance.choice(parts)
            changed[begin + chance.randrange(length)] = chance.choice([0, 255, 127, chance.randrange(256)])
        (tmp_path / "lies").write_bytes(changed)
        (tmp_path / "lies").chmod(0o755)
        result = run_wattle("profile", "-q", "-f", "pprof", "-o", tmp_path / "out", "--", tmp_path / "lies", "short")
        assert result.code == 0 and result.err in ("", NOT_READ.format(tmp_path / "lies")), (seed, result)


@pytest.fixture(name="on_disk")
def folder_on_disk():
    """Not in tmpfs: the kernel maps large files of that with room behind them."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        yield Path(name)


def test_text_that_never_ends(program, on_disk):
    """The folder that a unit was compiled in is a text without an end, up to the end of the file: elfutils 0.188 reads on, and is ended by that.
    It costs the lines of that file, in what is taken at once and in what a recording keeps."""
    hostile, folder = on_disk / "hostile", "/a/folder/of/that/name"
    shutil.copy(REPO / "tests" / "cli" / "profiled.c", on_disk)
    subprocess.run(["gcc", "-O2", "-gdwarf-4", "-pthread", f"-fdebug-prefix-map={on_disk}={folder}", "-o", hostile, "profiled.c"], check=True,
                   cwd=on_disk)
    whole = bytearray(hostile.read_bytes())
    at, = struct.unpack_from("<Q", whole, 40)
    number, texts = sections_of(whole)[".debug_str"]
    _, units = sections_of(whole)[".debug_info"]
    text = bytes(whole[texts[4]:texts[4] + texts[5]])
    named = whole.index(struct.pack("<I", text.index(folder.encode())), units[4], units[4] + units[5])
    struct.pack_into("<I", whole, named, len(text))
    text = text.ljust((16 << 20) - len(whole) % 4096, b"A")
    struct.pack_into("<QQ", whole, at + 64 * number + 24, len(whole), len(text))
    hostile.write_bytes(whole + text)
    plain, kept = on_disk / "p.json", on_disk / "kept.wattle"
    direct = run_wattle("profile", "-q", "-o", plain, "--", hostile, "two")
    recorded = run_wattle("record", "-q", "--profile", "-o", kept, "--", hostile, "two")
    assert direct.code == 0 and direct.err in ("", NOT_READ.format(hostile)), direct
    assert recorded.code == 0 and recorded.err in ("", NOT_READ.format(hostile).replace("profile", "record", 1)), recorded
    shown = run_wattle("profile", "show", "--format", "json", kept)
    for told, err in ((parse_json(plain.read_text()), direct.err), (parse_json(shown.out), shown.err)):
        assert {row["function"] for row in told["functions"]} >= {"heavy", "light"}, told
        assert told["lines_not_read"] == ([str(hostile)] if err else []), (told, err)
        check_sums(told)


def test_a_program_that_becomes_another(profile):
    seen = profile("exec")
    assert seen.used("before", 0.2)
    assert seen.used("after", 0.2)


def test_lost_records_are_counted(program, tmp_path):
    """Nobody reads while the program runs: its samples do not all have room. What it used is told all the same."""
    profiler = subprocess.Popen([command_path(), "profile", "-q", "--rate", "10000", "-o", tmp_path / "p.wprof", "--", program, "two"])
    children = Path(f"/proc/{profiler.pid}/task/{profiler.pid}/children")
    while not children.read_text().split():
        time.sleep(0.001)
    child = children.read_text().split()[0]
    while not os.path.samefile(f"/proc/{child}/exe", program):
        time.sleep(0.001)
    profiler.send_signal(signal.SIGSTOP)
    while ") Z " not in Path(f"/proc/{child}/stat").read_text():
        time.sleep(0.01)
    profiler.send_signal(signal.SIGCONT)
    assert profiler.wait() == 0
    told = parse_json(run_wattle("profile", "show", "--format", "json", tmp_path / "p.wprof").out)
    assert "fewer are lost with less load, or with --rate 200\n" in run_wattle("profile", "show", tmp_path / "p.wprof").out
    check_sums(told)
    assert told["lost"] > 100 and told["samples"] > 0, told
    assert sum(row["own_cpu_s"] for row in told["functions"]) > Decimal("0.5"), told


def test_a_program_that_a_signal_ends(profile):
    assert profile("killed", code=137).used("before", 0.15)


def test_the_status_is_the_programs(profile):
    profile("none", "7", code=7)


def test_a_stripped_program(profile, program, tmp_path):
    """No names, but all of its time, and whole stacks."""
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, program], check=True)
    seen = profile("two", program=stripped)
    assert seen.used("[stripped]", 0.6)
    assert "heavy" not in seen.functions and seen.json["not_whole"] == 0


def test_several_names_of_one_function(profile, tmp_path):
    """The shortest one is told, of those that say how long the function is."""
    (tmp_path / "names.c").write_text("""
static volatile unsigned long sink;
__asm__(".text\\n.p2align 4\\n.globl w\\n.type w, %function\\nw:\\n");
__attribute__((noinline)) void work(void) { for (unsigned i = 0; i < 200000000u; i++) sink += i; }
void work_by_another_name(void) __attribute__((alias("work")));
int main(void) { work(); return 0; }
""")
    subprocess.run(["gcc", "-O1", "-fno-toplevel-reorder", "-o", tmp_path / "names", tmp_path / "names.c"], check=True)
    symbols = subprocess.run(["nm", "-S", tmp_path / "names"], stdout=subprocess.PIPE, check=True, text=True).stdout
    assert re.search(r"^([0-9a-f]+) T w\n\1 [0-9a-f]+ T work$", symbols, re.M), symbols
    seen = profile(program=tmp_path / "names")
    assert "work" in seen.functions and not {"w", "work_by_another_name"} & set(seen.functions), seen.functions.keys()


def test_a_program_that_is_gone(profile, program, tmp_path):
    """Its file is removed while it runs: whether it could be read in time or not, its time is there."""
    copy = tmp_path / "copy"
    shutil.copy(program, copy)
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\n{copy} two &\nsleep 0.05\nrm {copy}\nwait\n")
    script.chmod(0o755)
    seen = profile(program=script)
    assert 0.54 < all_cpu_s(seen) < 0.66 + seen.stolen_s


def test_a_program_whose_file_is_emptied(profile, program, tmp_path):
    """Before its functions are looked up: all that was measured is told, and why it has no names."""
    copy = tmp_path / "copy"
    shutil.copy(program, copy)
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\n{copy} two\n: >{copy}\n")
    script.chmod(0o755)
    seen = profile(program=script)
    assert seen.used("[copy: file was replaced]", 0.6, 0.06)


@pytest.mark.parametrize("what", ["deleted", "replaced"])
def test_a_file_that_is_not_what_runs(program, running, what, tmp_path):
    """Another program has its name by now, or none: the functions are those of the one that runs."""
    copy = tmp_path / "copy"
    shutil.copy(program, copy)
    busy = running(copy, "busy")
    wait_until(lambda: threads_of(busy.pid) == 2)
    copy.unlink()
    if what == "replaced":
        shutil.copy("/bin/sleep", copy)
    result = run_wattle("profile", "-q", "--pid", str(busy.pid), "--duration", "0.5", "-o", tmp_path / "p.json")
    assert result.code == 0, result
    seen = Profile(tmp_path / "p.json", 0)
    assert seen.cpu_s("heavy") > 0 and seen.cpu_s("in_thread") > 0
    assert not any("sleep" in str(row.get("file")) for row in seen.json["functions"])


def test_a_file_of_another_mount_namespace(profile, program, tmp_path):
    """It is only there, and gone with the program."""
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\nexec unshare -m sh -c 'mount -t tmpfs none /mnt && cp {program} /mnt/inside && /mnt/inside two'\n")
    script.chmod(0o755)
    if subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], check=False, capture_output=True).returncode:
        pytest.skip("no mount namespace can be made here")
    assert profile(program=script).used("heavy", 0.45, 0.05)


def test_rows_below_resolution_are_marked(program, tmp_path):
    """light was seen once, heavy at least four times: nine times in ten so, at ten samples a second. A sample stands for its turn on a
    processor: on a busy machine, those are long for a program that none may push off."""
    kept = tmp_path / "p.wprof"
    first = ("chrt", "--rr", "1") if os.geteuid() == 0 else ()
    for _ in range(40):
        tree = run_wattle("profile", "--rate", "10", "--keep", kept, "--", *first, program, "unequal").err
        functions = run_wattle("profile", "show", kept, "-f", "json").json["functions"]
        seen = {row["function"]: row["samples"] for row in functions}
        if seen.get("light") == 1 and seen["heavy"] >= 4 and "light\n" in tree:
            break
    rows = {row[1]: row[0] for row in re.findall(r"^ +(~?)\d+\.\d+ ± +\d+\.\d+ +\d+\.\d +\d+\.\d+  +(\w+)$", tree, re.M)}
    assert rows["light"] == "~" and rows["heavy"] == "" and rows["main"] == "", (seen, tree)
    table = run_wattle("profile", "show", kept, "--table", "--sort", "calls").out
    assert not re.search(r"~\d.* (heavy|main)$", table, re.M), table
    # Where an energy is known to be 0, nothing is in doubt.
    assert not re.search(r"~0\.000 ± 0\.000", tree + table)


def test_what_the_profiler_used(profile, program, tmp_path):
    """wattle's own energy is a row, above idle as the program's is: by CPU time, where energy is modelled. A file has it."""
    seen = profile("two").json
    total = seen["sums"][-1]
    if not any(row["domain"] == "package-0" and row.get("method") == "modelled" for row in seen["sums"]):
        pytest.skip("energy is not modelled by CPU time here")
    assert 0 < total["profiler_j"] < total["stacks_j"], total
    kept = tmp_path / "p.wprof"
    live = run_wattle("profile", "--keep", kept, "--", program, "two")
    row = re.search(r"^ +\d+\.\d+ J  the profiler itself$", live.err, re.M)
    assert row and " J  other processes\n" in live.err, live
    assert run_wattle("profile", "show", kept).out == live.err
    page = tmp_path / "p.html"
    assert run_wattle("profile", "show", kept, "-q", "-o", page).code == 0 and "the profiler itself" in page.read_text()


def test_tree_and_table(program):
    tree = run_wattle("profile", "--", program, "two")
    assert tree.code == 0 and tree.out == ""
    depth = {name: len(indent) for indent, name in re.findall(r"^ +\d+\.\d+ ± \d+\.\d+ +\d+\.\d +\d+\.\d+  ( *)(\S+)$", tree.err, re.M)}
    assert depth["heavy"] == depth["light"] == depth["main"] + 2 == depth["middle"] - 2
    table = run_wattle("profile", "--table", "-o", "-", "--", program, "two")
    rows = re.findall(r"^ +(\d+\.\d+) ± +(\d+\.\d+) +(\d+\.\d+) +(\d+\.\d+) +(\d+)  (\S+)$", table.out, re.M)
    assert rows[0][5] == "innermost" and table.err == "", table
    for text in (tree.err, table.out):
        parts = dict(reversed(line) for line in re.findall(r"^ +(\d+\.\d+) J  (.+)$", text, re.M))
        total = float(parts.pop("measured in all"))
        assert sum(map(float, parts.values())) == pytest.approx(total, abs=0.005)


ROW = r"^ +~?(\d+\.\d+) ± +\d+\.\d+ +\d+\.\d +\d+\.\d+  ( *)(\S+)(?: \(.*\))?$"


FOLDED = r"^ +\[(\d+) calls folded\]$"


def test_calls_of_libraries_are_folded(tmp_path):
    """Those that only lead to the next one. Whatever is the program's own is a row, and --unfold shows the others as well."""
    (tmp_path / "script.py").write_text("""
import contextlib, pkgutil, runpy
def work(n):
    return sum(i * i for i in range(n))
def leads():
    return work(1)
def imported():
    for _ in range(60):
        work(100_000)
if __name__ == "__main__":
    runpy.run_path(__file__, run_name="again")["imported"]()
    runpy.run_path(__file__, run_name="again too")
if __name__ == "again too":
    imported()
""")
    kept = tmp_path / "p.wprof"
    taken = run_wattle("profile", "--keep", kept, "--", sys.executable, tmp_path / "script.py")
    assert taken.code == 0 and re.search(FOLDED, taken.err, re.M), taken
    rows = [(len(row[1]), row[2]) for row in re.findall(ROW, taken.err, re.M)]
    assert {"<module>", "imported", "work", "run_path"} <= {name for _, name in rows} and "_run_code" not in {name for _, name in rows}, taken
    depth = dict(reversed(row) for row in rows)
    assert depth["work"] == depth["imported"] + 2
    assert run_wattle("profile", "show", kept).out == taken.err, "a file tells the same"
    whole = run_wattle("profile", "show", kept, "--unfold").out
    names = [row[2] for row in re.findall(ROW, whole, re.M)]
    assert "_run_code" in names and "_run_module_code" in names and not re.search(FOLDED, whole, re.M), whole
    folded = sum(map(int, re.findall(FOLDED, taken.err, re.M)))
    assert len(names) == len(rows) + folded
    assert f"{folded} calls of libraries that only lead to the next one are folded: --unfold shows them" in taken.err
    assert "folded" not in whole
    table = run_wattle("profile", "show", kept, "--table", "--unfold")
    assert table.code == 125 and "--unfold is for the tree" in table.complaint()


def test_the_start_of_several_programs_is_folded(program, tmp_path):
    """Each has a _start of its own, which is told apart by its program."""
    for name in ("one", "other"):
        shutil.copy(program, tmp_path / name)
    tree = run_wattle("profile", "--", "sh", "-c", f"{tmp_path}/one two; {tmp_path}/other two; true").err
    assert re.search(FOLDED + r"\n.*  main", tree, re.M) and "_start (" not in tree, tree


def test_names_fit_the_terminal(program, terminal, tmp_path):
    """Their middle is left out: a row is a line. A file has all of them."""
    kept, script = tmp_path / "p.wprof", tmp_path / "a_script_with_a_long_name_that_ends_in_this.py"
    script.write_text("def a_function_with_a_very_long_name_indeed():\n    return sum(i * i for i in range(3_000_000))\n"
                      "a_function_with_a_very_long_name_indeed()\n")
    run_wattle("profile", "-q", "--keep", kept, "-o", tmp_path / "p.txt", "--", sys.executable, script)
    assert "a_function_with_a_very_long_name_indeed (a_script_with_a_long_name_that_ends_in_this.py:1)\n" in (tmp_path / "p.txt").read_text()
    for options in ((), ("--table", "--sort", "calls")):
        shown = terminal("sh", "-c", 'stty columns 90; exec "$@"', "sh", command_path(), "profile", "show", kept, *options).finish()
        rows = re.findall(r"^ +~?\d+\.\d+ ± .*$", shown.out, re.M)
        assert rows and max(map(len, rows)) <= 90, shown
        assert any(re.search(r"a_function.*….*\.py:1\)$", row) for row in rows), shown


def test_a_deep_tree(program):
    """150 calls deep: each is a row, or its joules are told."""
    deep = run_wattle("profile", "--unfold", "--", program, "deeper")
    rows = re.findall(ROW, deep.err, re.M)
    assert sum(row[2] == "recursive" for row in rows) == 151 and "--rows" not in deep.err, deep
    few = run_wattle("profile", "--unfold", "--rows", "20", "--", program, "deeper")
    rows = re.findall(ROW, few.err, re.M)
    left, n = re.search(r"^ +(\d+\.\d+) J in (\d+) more calls than --rows 20, not shown$", few.err, re.M).groups()
    assert len(rows) == 20 and [len(row[1]) for row in rows] == list(range(0, 40, 2)), few
    assert float(left) == pytest.approx(float(rows[-1][0]), rel=0.05, abs=0.02) and 131 <= int(n) < 200


def test_small_functions_are_told(program):
    table = run_wattle("profile", "--table", "--rows", "1", "--", program, "two")
    own = [float(value) for value in re.findall(r"^ +(\d+\.\d+) ± .* {2}\S+$", table.err, re.M)]
    left = [float(value) for value in re.findall(r"^ +(\d+\.\d+) J in .* not shown$", table.err, re.M)]
    stacks = float(re.search(r"^ +(\d+\.\d+) J  in the program's stacks", table.err, re.M).group(1))
    assert len(own) == 1 and left and sum(own + left) == pytest.approx(stacks, abs=0.005), table


def test_commands_that_cannot_run(tmp_path):
    assert run_wattle("profile", "--", "no-such-command").code == 127
    (tmp_path / "text").write_text("x")
    assert run_wattle("profile", "--", tmp_path / "text").code == 126
    assert "nothing to profile" in run_wattle("profile").complaint()


@pytest.mark.parametrize("name", ["p.json", "p.html", "p.pb.gz", "p.speedscope.json", "p.callgrind", "p.pyisession", "p.firefox.json", "p.dot"])
def test_files_of_a_process_that_runs_already(program, name, tmp_path):
    """It has no command line of wattle's."""
    with subprocess.Popen(["sleep", "20"]) as running:
        result = run_wattle("profile", "-q", "--pid", str(running.pid), "--duration", "0.2", "-o", tmp_path / name)
        running.kill()
    assert result.code == 0 and result.err == "", result
    assert name.endswith((".pb.gz", ".json")) or f"process {running.pid}" in (tmp_path / name).read_text()


@pytest.fixture(name="running")
def started():
    """Starts programs that run until the test ends, and all that they start."""
    groups = []

    def start(*words):
        process = subprocess.Popen(list(map(str, words)), start_new_session=True)
        groups.append(process)
        return process
    yield start
    for process in groups:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def threads_of(pid):
    """How many threads a process and its descendants have."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
        children = [Path(f"/proc/{pid}/task/{task}/children").read_text().split() for task in tasks]
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return len(tasks) + sum(threads_of(child) for some in children for child in some)


def wait_until(is_so):
    for _ in range(500):
        if is_so():
            return
        time.sleep(0.01)
    raise AssertionError("it took too long")


def test_descendants_that_run_already(program, running, tmp_path):
    """The shell's child and grandchild, and their threads: all that was there before wattle."""
    family = running("sh", "-c", f"'{program}' family; :")
    wait_until(lambda: threads_of(family.pid) == 5)
    result = run_wattle("profile", "-q", "--pid", str(family.pid), "--duration", "0.5", "-o", tmp_path / "p.json")
    assert result.code == 0, result
    seen = Profile(tmp_path / "p.json", 0)
    check_sums(seen.json)
    assert seen.json["threads"] == 5
    assert seen.cpu_s("heavy") > 0 and seen.cpu_s("in_thread") > 0
    assert seen.cpu_s("[not seen]") < 0.5 * (seen.cpu_s("heavy") + seen.cpu_s("in_thread"))


def test_the_profiler_itself_descends_from_it(program, tmp_path):  # noqa: ARG001 (a profile can be taken)
    """And is no part of the profile."""
    done = subprocess.run(["sh", "-c", '"$0" profile -q --pid $$ --duration 0.3 -o p.json; exit $?', command_path()], cwd=tmp_path, check=False)
    told = parse_json((tmp_path / "p.json").read_text())
    assert done.returncode == 0 and told["threads"] == 1, told["threads"]


def test_children_that_are_born_while_it_attaches(program, running, tmp_path):
    """None is missing, and none is seen twice."""
    shell = running("sh", "-c", f"while :; do '{program}' short; done")
    result = run_wattle("profile", "-q", "--pid", str(shell.pid), "--duration", "1", "-o", tmp_path / "p.json")
    assert result.code == 0, result
    seen = Profile(tmp_path / "p.json", 0)
    check_sums(seen.json)
    assert seen.cpu_s("before") > 0.05
    assert seen.json["samples"] < 1.5 * 997 * float(sum(row["own_cpu_s"] for row in seen.json["functions"]))


def test_functions_of_python(program, tmp_path):
    """File and line apart from the name, as cProfile's files have them."""
    (tmp_path / "work.py").write_text("def spin(n):\n    return sum(i * i for i in range(n))\n\n\ndef run():\n    for _ in range(60):\n"
                                      "        spin(100000)\nrun()\n")
    run_wattle("profile", "-q", "-o", tmp_path / "p.pstats", "--", sys.executable, tmp_path / "work.py")
    keys = pstats.Stats(str(tmp_path / "p.pstats")).stats
    if not any(key[2] == "<module>" for key in keys):
        pytest.skip("the frames of this Python cannot be read")
    path = str(tmp_path / "work.py")
    assert (path, 5, "run") in keys and (path, 1, "spin") in keys


TWIN = """
static volatile unsigned long sink;
static __attribute__((noinline)) void work(unsigned long n) { while (n--) sink++; }
void NAME(unsigned long n);
void NAME(unsigned long n) { work(n); sink++; }
"""


def test_functions_of_one_name(profile, program, tmp_path):
    """Static ones of two files: with debug information by their files, without by where they are."""
    for name in ("one", "two"):
        (tmp_path / f"{name}.c").write_text(TWIN.replace("NAME", name))
    (tmp_path / "main.c").write_text("void one(unsigned long), two(unsigned long);\nint main(void) { one(120000000); two(40000000); return 0; }\n")
    for debug, names in ("-g", ("work (one.c)", "work (two.c)")), ("-g0", None):
        subprocess.run(["gcc", "-O2", debug, "-o", "twins", "main.c", "one.c", "two.c"], check=True, cwd=tmp_path)
        seen = profile(program=tmp_path / "twins")
        first, second = names or sorted(name for name in seen.functions if re.fullmatch(r"work \(twins\+0x[0-9a-f]+\)", name))
        assert seen.cpu_s(first) > 0 and seen.cpu_s(second) > 0, seen.functions.keys()
        assert "work" not in seen.functions


def test_python_functions_of_one_name(program, tmp_path):
    """In files of one name: each is a row in every output, with its own file."""
    for name, n in ("one", 60), ("two", 20):
        (tmp_path / name).mkdir()
        (tmp_path / name / "work.py").write_text(f"def spin():\n    for _ in range({n}):\n        sum(i * i for i in range(50000))\n")
    (tmp_path / "run.py").write_text("import one.work\nimport two.work\none.work.spin()\ntwo.work.spin()\n")
    files = {str(tmp_path / name / "work.py"): f"spin ({name}/work.py:1)" for name in ("one", "two")}
    result = run_wattle("profile", "-o", tmp_path / "p.json", "--", sys.executable, tmp_path / "run.py")
    seen = Profile(tmp_path / "p.json", result.code)
    if "[python: unresolved]" in seen.functions and not any("run.py" in name for name in seen.functions):
        pytest.skip("the frames of this Python cannot be read")
    for file, name in files.items():
        assert seen.functions[name]["file"] == file and seen.functions[name]["line"] == 1
        assert name in result.err
    run_wattle("profile", "-q", "-o", tmp_path / "p.pstats", "--", sys.executable, tmp_path / "run.py")
    assert {key[0] for key in pstats.Stats(str(tmp_path / "p.pstats")).stats if key[2] == "spin"} == set(files)


@pytest.mark.parametrize("name", ["profile", "profile.what", ".json/x", "json"])
def test_a_file_that_says_no_format(name, tmp_path):
    result = run_wattle("profile", "-o", name, "--", "touch", "ran", cwd=tmp_path)
    line = result.complaint()
    assert result.code == 125 and list(tmp_path.iterdir()) == [], result
    assert ".folded" in line and ".pb.gz" in line and "--format" in line and "nothing was run" in line


def test_a_file_that_cannot_be_written(tmp_path):
    result = run_wattle("profile", "-o", "/nowhere/x.json", "--", "touch", tmp_path / "ran")
    assert result.code == 125 and "/nowhere/x.json" in result.complaint() and not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["text", "json", "pprof", "html"])
def test_a_disk_that_is_full(program, name):
    """What cannot be had again is told all the same."""
    result = run_wattle("profile", "-q", "-f", name, "-o", "/dev/full", "--", program, "brief")
    assert result.code == 125, result
    assert "cannot write the profile to '/dev/full'" in result.err and "measured in all" in result.err


def test_locked_memory_that_is_used_up(program):
    """By another profile of that user: what is missing is told, and not that perf is denied."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become another user")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        shutil.copy(command_path(), folder)
        words = ["setpriv", "--reuid=61234", "--regid=61234", "--clear-groups", "prlimit", "--memlock=0", f"{folder}/{Path(command_path()).name}",
                 "profile", "--"]
        how = {"stderr": subprocess.PIPE, "text": True, "env": {**os.environ, "HOME": folder, "XDG_STATE_HOME": folder}}
        with subprocess.Popen([*words, "sleep", "20"], **how) as first:
            wait_until(lambda: "[perf_event]" in Path(f"/proc/{first.pid}/maps").read_text())
            second = subprocess.run([*words, "true"], check=False, **how)
            first.terminate()
            first.communicate()
    if second.returncode == 0:
        pytest.skip("the kernel lets users lock more")
    assert second.returncode == 125, second
    assert "ulimit -l" in second.stderr and "kernel.perf_event_mlock_kb" in second.stderr and "paranoid" not in second.stderr
