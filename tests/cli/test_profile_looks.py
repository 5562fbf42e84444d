# SPDX-License-Identifier: MIT
"""wattle profile where perf_event_open is denied: threads are looked at in /proc. What that does not tell is said, and never guessed."""

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from test_profile import built_program  # noqa: F401 (a fixture)
from test_seccomp import denied  # noqa: F401 (a fixture)

USES = "import time\ndef {0}(s):\n    end = time.thread_time() + s\n    while time.thread_time() < end:\n        pass\n"


@pytest.mark.parametrize("error, helps", [(errno.EPERM, "--cap-add PERFMON"), (errno.ENOSYS, "--cap-add PERFMON"),
                                          (errno.EACCES, "sysctl kernel.perf_event_paranoid=2")])
def test_without_perf(deny, error, helps, tmp_path):
    """A right is missing, or seccomp denies the call: what would help is another thing."""
    done = deny(["perf_event_open"], error, "profile", "--", "touch", tmp_path / "ran")
    assert done.returncode == 0 and (tmp_path / "ran").exists(), done
    assert helps in done.stderr and "measured in all" in done.stderr
    assert ("seccomp" in done.stderr) == (error != errno.EACCES), done


def test_native_code_without_perf(deny, program, tmp_path):
    """Whose it is, and when it ran, is in /proc; and all that was measured adds up."""
    done = deny(["perf_event_open"], errno.EPERM, "profile", "-f", "json", "-o", tmp_path / "p.json", "--", program, "two")
    assert done.returncode == 0, done
    told = json.loads((tmp_path / "p.json").read_text())
    rows = {row["function"]: row["own_cpu_s"] for row in told["functions"]}
    assert rows.get(f"[{Path(program).name[:15]}: native code]", 0) > 0.3 * sum(rows.values()), rows


@pytest.mark.parametrize("attached", [False, True])
def test_python_without_perf(deny, tmp_path, attached):
    script = tmp_path / "script.py"
    script.write_text("import time\ndef heavy():\n    end = time.thread_time() + 0.9\n    while time.thread_time() < end:\n        pass\n"
                      "def light():\n    end = time.thread_time() + 0.3\n    while time.thread_time() < end:\n        pass\n"
                      "print('on', flush=True)\nheavy()\nlight()\n")
    out = tmp_path / "p.json"
    if attached:
        with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            done = deny(["perf_event_open"], errno.EPERM, "profile", "-q", "-f", "json", "-o", out, "--pid", process.pid)
    else:
        done = deny(["perf_event_open"], errno.EPERM, "profile", "-q", "-f", "json", "-o", out, "--", sys.executable, script)
    assert done.returncode == 0, done
    rows = {row["function"].split(" ")[0]: row["cpu_s"] for row in json.loads(out.read_text())["functions"]}
    assert rows.get("heavy", 0) > 1.5 * rows.get("light", 0) > 0.1, rows


@pytest.fixture(name="look")
def looked(deny, tmp_path):
    """look(words...): each function's row of a profile without perf, and all that was told."""
    def take(*words, **how):
        out = tmp_path / "p.json"
        done = deny(["perf_event_open"], errno.EPERM, "profile", "-f", "json", "-o", out, "--", *words, **how)
        assert done.returncode == 0, done
        told = json.loads(out.read_text())
        return {row["function"].split(" (")[0]: row for row in told["functions"]}, told, done.stderr
    return take


def test_a_program_that_becomes_itself_again(look, tmp_path):
    """The same file, and another script: its memory is another one."""
    (tmp_path / "first.py").write_text(USES.format("before") + "import os, sys\nbefore(0.5)\nos.execv(sys.executable, [sys.executable, 'second.py'])\n")
    (tmp_path / "second.py").write_text(USES.format("after") + "after(0.5)\n")
    rows, _, _ = look(sys.executable, tmp_path / "first.py")
    assert rows["before"]["cpu_s"] < 0.65 and rows.get("after", {"cpu_s": 0})["cpu_s"] > 0.3, rows


@pytest.mark.parametrize("first_s, second_s", [(0.1, 0.6), (0.6, 0.1)])
def test_a_thread_becomes_another_program(look, tmp_path, program, first_s, second_s):
    """It takes its process's number, and has its own time: neither is the first thread's time counted twice, nor is its own then not seen."""
    (tmp_path / "first.py").write_text(
        USES.format("first") + USES.format("second") + "import os, sys, threading\n"
        f"def runs():\n    second({second_s})\n    os.execv(sys.argv[1], [sys.argv[1], 'child'])\n"
        f"other = threading.Thread(target=runs)\nfirst({first_s})\nother.start()\nother.join()\n")
    rows, told, _ = look(sys.executable, tmp_path / "first.py", program)
    native = sum(row["own_cpu_s"] for name, row in rows.items() if "native code" in name)
    assert 0.1 < native < 0.2 + 0.15, rows
    assert sum(row["own_cpu_s"] for row in rows.values()) < first_s + second_s + 0.2 + 0.25, rows
    assert told["sums"][-1]["stacks_j"] <= told["energy_j"]


def test_orphans_and_their_children(look, tmp_path):
    """Their parents end at once."""
    script = tmp_path / "orphan.py"
    script.write_text(USES.format("far") + "far(0.4)\n")
    rows, _, _ = look("/bin/sh", "-c", f"( ( '{sys.executable}' '{script}'; echo done > done ) & ) & while ! test -e done; do sleep 0.05; done")
    assert rows.get("far", {"cpu_s": 0})["cpu_s"] > 0.2, rows


def test_children_of_one_that_has_a_thousand(look, tmp_path):
    """Their numbers are more than fit where a few do. A look at so many takes a while, and the next one comes as much later."""
    script = tmp_path / "last.py"
    script.write_text(USES.format("last") + "import os, signal, time\nsignal.alarm(100)\nchildren = []\nfor i in range(1000):\n    child = os.fork()\n"
                      "    if child == 0:\n        if i == 999:\n            time.sleep(2)\n            last(4)\n            os._exit(0)\n"
                      "        signal.alarm(100)\n        signal.pause()\n    children.append(child)\nos.waitpid(children[-1], 0)\n"
                      "for child in children[:-1]:\n    os.kill(child, signal.SIGKILL)\n    os.waitpid(child, 0)\n")
    rows, _, _ = look(sys.executable, script)
    assert rows.get("last", {"cpu_s": 0})["cpu_s"] > 1, rows


def test_more_threads_than_files(look, tmp_path):
    script = tmp_path / "crowd.py"
    script.write_text(USES.format("last") + "import threading\ngo = threading.Event()\nall = [threading.Thread(target=go.wait) for _ in range(100)]\n"
                      "for one in all:\n    one.start()\none = threading.Thread(target=last, args=(0.5,))\none.start()\none.join()\ngo.set()\n")
    rows, _, _ = look(sys.executable, script, files=90)
    assert rows.get("last", {"cpu_s": 0})["cpu_s"] > 0.2, rows


def test_threads_that_wait_for_a_processor(look, tmp_path):
    """Where one slept that waits to go on is not where it used its time."""
    script = tmp_path / "waits.py"
    script.write_text("import os, time\nos.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\nhogs = []\nfor _ in range(3):\n    hog = os.fork()\n"
                      "    if hog == 0:\n        while time.process_time() < 20:\n            pass\n        os._exit(0)\n    hogs.append(hog)\nos.nice(5)\n"
                      "def works():\n    end = time.thread_time() + 0.0005\n    while time.thread_time() < end:\n        pass\n"
                      "def rests():\n    time.sleep(0.001)\n"
                      "end = time.thread_time() + 0.3\nwhile time.thread_time() < end:\n    works()\n    rests()\n"
                      "for hog in hogs:\n    os.kill(hog, 9)\n    os.waitpid(hog, 0)\n")
    rows, _, _ = look(sys.executable, script)
    assert rows.get("rests", {"cpu_s": 0})["cpu_s"] < 0.1 * rows["works"]["cpu_s"], rows


def test_processes_that_end_too_soon_are_counted(look):
    rows, told, _ = look("sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do /bin/true; done")
    seen = {name for name in rows if name.startswith("[true:")}
    assert told["processes_not_seen"] > 0 or seen, (told["processes_not_seen"], rows)


@pytest.mark.parametrize("script, says", [('i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i + 1)); done', True), ('"$0" two; true', False)])
def test_processes_that_nobody_counts(deny, program, tmp_path, script, says):
    """Without exit records (a socket) their CPU time is known, from their parent's. That of one that was looked at is not theirs."""
    done = deny(["perf_event_open", "socket"], errno.EPERM, "profile", "-q", "-o", tmp_path / "p.json", "--", "sh", "-c", script, program)
    assert done.returncode == 0 and bool(re.search(r"processes that ended between two looks had \d+\.\d+ s", done.stderr)) == says, done
