# SPDX-License-Identifier: MIT
"""wattle profile: what was not seen, or not well enough, is told, and why."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from conftest import TIMEOUT, clean_env, command_path, run_wattle
from rights import NOBODY
from test_profile import built_program  # noqa: F401 (a fixture)

BUSY = """
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
static double ran(clockid_t id) { struct timespec t; clock_gettime(id, &t); return t.tv_sec + t.tv_nsec / 1e9; }
__attribute__((noipa)) void in_kernel(double s) {
    static char much[1 << 22];
    int random = open("/dev/urandom", O_RDONLY);
    for (s += ran(CLOCK_THREAD_CPUTIME_ID); ran(CLOCK_THREAD_CPUTIME_ID) < s;) if (read(random, much, sizeof(much)) < 0) _exit(1);
    close(random);
}
__attribute__((noipa)) void in_program(double s) {
    for (s += ran(CLOCK_THREAD_CPUTIME_ID); ran(CLOCK_THREAD_CPUTIME_ID) < s;) for (volatile int i = 0; i < 100000; i++);
}
int main(int argc, char **argv) { (void)argv; in_program(0.3); if (argc > 1) in_kernel(0.4); return 0; }
"""
NO_KERNEL = "time in the kernel is not sampled"


@pytest.fixture(name="busy")
def built(program):  # `program`: profiles can be taken here
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        subprocess.run(["gcc", "-g", "-O1", "-x", "c", "-", "-o", f"{folder}/busy"], input=BUSY, text=True, check=True)
        yield f"{folder}/busy"


def profile_without_rights(*command, options=()):
    if os.geteuid() != 0:
        return run_wattle("profile", *options, "--", *command).err
    if not shutil.which("setpriv"):
        pytest.skip("needs setpriv to give privilege up")
    words = (*NOBODY, "--bounding-set=-all", "--inh-caps=-all", command_path(), "profile", *options, "--", *command)
    return subprocess.run(words, capture_output=True, text=True, env=clean_env(HOME=None), cwd="/", timeout=TIMEOUT, check=False).stderr


def test_time_in_the_kernel(busy):
    """Without the right to see it, most of it belongs to no function: that is said where it is much."""
    if int(Path("/proc/sys/kernel/perf_event_paranoid").read_text()) < 2:
        pytest.skip("everybody may see the kernel here")
    told = profile_without_rights(busy, "kernel")
    if "measured in all" not in told or "native code" in told:
        pytest.skip("no profile can be taken without rights")
    assert f"{NO_KERNEL}, and may be in what was not seen: sysctl kernel.perf_event_paranoid=1, or CAP_PERFMON, shows it\n" in told
    assert NO_KERNEL not in profile_without_rights(busy)
    if os.geteuid() == 0:
        assert NO_KERNEL not in run_wattle("profile", "--", busy, "kernel").err


def test_time_on_a_processor_that_was_not_seen(busy):
    """It is in the line of --wall, as it is in files. The kernel ends the records of a program that may not be read."""
    os.chmod(busy, 0o711)
    out = Path(busy).with_name("p.json")
    told = profile_without_rights(busy, options=("--wall", "-o", out))
    if os.geteuid() != 0 or not out.exists():
        pytest.skip("the program may be read, or no profile can be taken")
    rows = json.loads(out.read_text())["functions"]
    cpu_s, wait_s = (sum(row[key] for row in rows) for key in ("own_cpu_s", "own_wait_s"))
    assert sum(row["own_cpu_s"] for row in rows if row["function"] == "[not seen]") > 0.2, rows
    figures = re.search(r"on a processor for (\S+) s and waited for (\S+) s, (\S+) s in all", told).groups()
    assert [float(figure) for figure in figures] == pytest.approx([cpu_s, wait_s, cpu_s + wait_s], abs=0.001), told


def test_too_many_different_stacks(program, tmp_path):  # pylint: disable=unused-argument
    """What ran keeps its time, and its outer callers; that others are missing is told, and no bound is sure of them."""
    (tmp_path / "many.c").write_text("""
#include <stdint.h>
#include <time.h>
static uint64_t state = 1;
static int coin(void) { state = state * 6364136223846793005u + 1442695040888963407u; return state >> 63; }
static double ran(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec / 1e9; }
__attribute__((noipa)) void innermost(void) { for (volatile int i = 0; i < 100000; i++); }
void second(int depth);
__attribute__((noipa)) void first(int depth) { if (depth == 0) innermost(); else if (coin()) first(depth - 1); else second(depth - 1); __asm__ volatile(""); }
__attribute__((noipa)) void second(int depth) { if (depth == 0) innermost(); else if (coin()) first(depth - 1); else second(depth - 1); __asm__ volatile(""); }
__attribute__((noipa)) void seldom(int depth) { if (depth == 0) innermost(); else first(depth - 1); __asm__ volatile(""); }
int main(void) { for (int i = 0; ran() < 2; i++) { if (i % 100 == 0) seldom(400); else first(400); } return 0; }
""")
    subprocess.run(["gcc", "-g", "-O1", "-o", "many", "many.c"], check=True, cwd=tmp_path)
    kept = tmp_path / "p.wprof"
    assert run_wattle("profile", "-q", "--rate", "2000", "--stack", "65528", "-o", kept, "--", tmp_path / "many").code == 0
    told = run_wattle("profile", "show", kept, "--fail-if", "seldom < 0.5 s")
    assert "not decided" in told.err and told.code == 0, told
    rows = {row["function"]: row for row in json.loads(run_wattle("profile", "show", kept, "-f", "json").out)["functions"]}
    cut = rows["[too many different stacks]"]
    assert re.search(rf"^there were too many different stacks: of {cut['samples']} samples not all callers are kept$", told.out, re.M), told
    assert cut["cpu_s"] > 0.3 and cut["own_cpu_s"] == 0, cut
    total = sum(row["own_cpu_s"] for row in rows.values())
    assert rows["innermost"]["own_cpu_s"] > 0.8 * total and rows["main"]["cpu_s"] > 0.8 * total, rows


NAPS = """
#include <time.h>
static void nap(long ms) { nanosleep(&(struct timespec){0, ms * 1000000}, NULL); }
__attribute__((noipa)) void one(long ms) { nap(ms); }
__attribute__((noipa)) void other(long ms) { nap(ms); }
int main(int argc, char **argv) { (void)argv; for (int i = 0; i < 500; i++) if (argc > 1) nap(100), i += 99; else one(1), other(1); return 0; }
"""


def test_waits_that_are_not_shown(program, tmp_path):  # `program`: profiles can be taken here
    """The kernel shows only so many switches a second, and other waits may be in another function: that is said where they are many."""
    subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", tmp_path / "naps"], input=NAPS, text=True, check=True)
    told = run_wattle("profile", "--wall", "--rate", "20", "--", tmp_path / "naps").err
    if "CAP_PERFMON" in told:
        pytest.skip("where threads leave a processor may not be seen here")
    unshown, waited = (float(re.search(text, told)[1]) for text in (r"of the waiting, ([\d.]+) s were not shown", r"waited for ([\d.]+) s"))
    assert waited / 2 < unshown <= waited, told
    assert "were not shown" not in run_wattle("profile", "--wall", "--", tmp_path / "naps", "long").err
