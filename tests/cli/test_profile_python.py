# SPDX-License-Identifier: MIT
"""wattle profile with every CPython that is installed: its functions by their names, below who called them."""

import glob
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import tempfile

import pytest

from conftest import finish, parse_json, run_wattle, start_wattle, wait_for
from test_profile import profile_without_rights, stolen_s

SCRIPT = """
import hashlib, os, sys, threading, time

def leaf(n):
    t = 0
    for i in range(n):
        t += i * i
    return t

def heavy():
    leaf(20000)
    leaf(20000)
    leaf(20000)

def light():
    leaf(20000)

def squares(n):
    for i in range(n):
        yield i * i

def add_squares():
    return sum(squares(30000))

def digest():
    hashlib.sha256(b"x" * 3000000).digest()

def backwards(x):
    return -x

def sort():
    sorted(range(20000), key=backwards)

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def work(seconds, steps):
    begin = time.thread_time()
    while time.thread_time() - begin < seconds:
        for step in steps:
            step()

def all_of_it(seconds):
    work(seconds, [heavy, light, add_squares, digest, sort, lambda: fib(15)])

def in_threads(seconds):
    threads = [threading.Thread(target=work, args=(seconds / 2, [step])) for step in (heavy, sort)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

def in_a_child(seconds):
    import multiprocessing
    child = multiprocessing.get_context(sys.argv[3]).Process(target=work, args=(seconds, [heavy, light]))
    child.start()
    child.join()

if __name__ == "__main__":
    globals()[sys.argv[1]](float(sys.argv[2]))
"""

# Who calls whom in it; what is not in it may call and be called by anybody.
CALLS = {
    "leaf": {"heavy", "light"},
    "heavy": {"work"},
    "light": {"work"},
    "squares": {"add_squares"},
    "add_squares": {"work"},
    "digest": {"work"},
    "backwards": {"sort"},
    "sort": {"work"},
    "fib": {"fib", "<lambda>", "all_of_it.<locals>.<lambda>"},
    "in_threads": {"<module>"},
    "all_of_it": {"<module>"},
}
ROW = re.compile(r"^ *~?([\d.]+) ± *([\d.]+) +([\d.]+) +(-?[\d.]+)  ( *)(\S.*)$")
PYTHON = re.compile(r"^(\S+) \(script\.py:\d+\)$")


VERSIONS = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.13t", "3.14"]


def interpreters():
    """Those of the system, of pyenv, in PATH, and that WATTLE_PYTHONS lists: one of each version at least, or a test that says it is skipped."""
    tell = "import sys; print('%d.%d' % sys.version_info[:2] + ('t' if not getattr(sys, '_is_gil_enabled', lambda: True)() else ''))"
    paths = [*os.environ.get("WATTLE_PYTHONS", "").split(":"), "/usr/bin/python3", *glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")),
             *(shutil.which(f"python{version}") or "" for version in VERSIONS[-2:])]
    found = {}
    for path in filter(None, paths):
        done = subprocess.run([path, "-I", "-S", "-c", tell], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        version = done.stdout.decode().strip()
        if done.returncode == 0 and version in VERSIONS and os.path.realpath(path) not in map(os.path.realpath, found):
            found[path] = version
    missing = [pytest.param(None, id=version, marks=pytest.mark.skip(reason=f"there is no CPython {version} (WATTLE_PYTHONS=PATH:PATH names some)"))
               for version in VERSIONS if version not in found.values()]
    ordered = sorted(found.items(), key=lambda item: VERSIONS.index(item[1]))
    return [pytest.param(path, id=f"{version}-{path.split('/')[1]}") for path, version in ordered], missing


FOUND, MISSING = interpreters()
INTERPRETERS = FOUND + MISSING


@pytest.fixture(name="script")
def fixture_script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


class Profile:
    def __init__(self, done):
        assert done.code == 0, done
        self.out = done.err
        self.cpu_s = {}  # of a function of the script, with what it called, wherever it is
        self.edges = set()
        self.names = []
        stack = []
        for row in filter(None, map(ROW.match, done.err.splitlines())):
            depth, name = len(row.group(5)) // 2, row.group(6)
            del stack[depth:]
            known = PYTHON.match(name)
            function = known.group(1) if known else name
            callers = [PYTHON.match(caller) for caller in stack]
            if known:
                if function not in [caller.group(1) for caller in callers if caller]:
                    self.cpu_s[function] = self.cpu_s.get(function, 0.0) + float(row.group(4))
                caller = next((caller.group(1) for caller in reversed(callers) if caller), None)
                between = "[python: unresolved]" in stack
                if caller and not between:
                    self.edges.add((caller, function))
            self.names.append(name)
            stack.append(name)

    def check(self):
        """The counts of what is not known are told; where they are many, the machine is too busy to say more."""
        told = re.search(r"Python: of (\d+) samples, (\d+) have a function that is not known", self.out)
        assert told, self.out
        impossible = {(caller, name) for caller, name in self.edges if name in CALLS and caller not in CALLS[name]}
        assert not impossible, self.out
        if int(told.group(2)) > int(told.group(1)) / 4:
            pytest.skip(f"the machine is too busy: {told.group()}")


def profile(python, script, *args):
    done = run_wattle("profile", "--unfold", "--", python, script, *[str(arg) for arg in args], timeout=120)
    if "denied" in done.err or "gives no samples" in done.err:
        pytest.skip(done.err.strip())
    return Profile(done)


@pytest.mark.parametrize("python", INTERPRETERS)
def test_functions(python, script):
    found = profile(python, script, "all_of_it", 1)
    found.check()
    assert {"work", "heavy", "light", "leaf", "add_squares", "squares", "digest", "sort"} <= set(found.cpu_s), found.out
    assert 1.8 < found.cpu_s["heavy"] / found.cpu_s["light"] < 5, found.out
    assert found.cpu_s["leaf"] > 0.8 * (found.cpu_s["heavy"] + found.cpu_s["light"]), found.out
    assert 0.8 < found.cpu_s["work"] < 1.3, found.out
    # The interpreter's own calls are not there; what C did is.
    assert not any("_PyEval_EvalFrameDefault" in name or "_PyObject_Vectorcall" in name for name in found.names), found.out
    assert any("libcrypto" in name or "sha256" in name.lower() for name in found.names), found.out


@pytest.mark.parametrize("python", INTERPRETERS)
def test_functions_that_are_made_and_freed(python, tmp_path):
    """Each comes to lie where the one before the last lay, and has its own time."""
    path = tmp_path / "script.py"
    path.write_text("import time\ndef run(name):\n    made = {'time': time}\n"
                    "    text = f'def {name}():\\n    end = time.thread_time() + 0.25\\n    while time.thread_time() < end:\\n        pass\\n'\n"
                    "    exec(compile(text, 'script.py', 'exec'), made)\n"
                    "    made.pop(name)()\nfor name in ('one', 'two', 'three', 'four', 'five', 'six'):\n    run(name)\n")
    before = stolen_s()
    found = profile(python, path)
    most = 0.25 + 0.08 + stolen_s() - before
    assert all(0.25 - 0.08 <= found.cpu_s.get(name, 0) <= most for name in ("one", "two", "three", "four", "five", "six")), found.out


@pytest.mark.parametrize("python", INTERPRETERS)
def test_threads(python, script):
    found = profile(python, script, "in_threads", 0.8)
    found.check()
    assert found.cpu_s["heavy"] > 0.2 and found.cpu_s["sort"] > 0.2, found.out


def with_waits(python, path):
    """What a script says, and its functions with how long they waited."""
    done = run_wattle("profile", "-q", "--wall", "-o", path.parent / "p.json", "--", python, path)
    assert done.code == 0, done
    return done.out, json.loads((path.parent / "p.json").read_text())["functions"]


@pytest.mark.skipif(os.geteuid() != 0, reason="where threads wait is told to root")
@pytest.mark.parametrize("python", INTERPRETERS)
def test_waiting(python, tmp_path):
    """Below the function that waits; another one's time is not added. What was before Python was found in the process has no function."""
    path = tmp_path / "script.py"
    path.write_text("import time\ndef rest():\n    for _ in range(5):\n        time.sleep(0.06)\n"
                    "def spin():\n    end = time.thread_time() + 0.1\n    while time.thread_time() < end:\n        pass\nrest()\nspin()\nrest()\n")
    _, functions = with_waits(python, path)
    rows = {row["function"].split(" ")[0]: row for row in functions}
    early_s = sum(row["wait_s"] for row in functions if row["function"].startswith("["))
    assert rows["rest"]["wait_s"] + early_s > 0.6 * 0.9 and rows["rest"]["wait_s"] > 0.2 and rows["rest"]["cpu_s"] < 0.1, rows
    assert rows["spin"]["cpu_s"] > 0.08, rows["spin"]


@pytest.mark.skipif(os.geteuid() != 0, reason="where threads wait is told to root")
@pytest.mark.parametrize("python", INTERPRETERS)
def test_waiting_once(python, tmp_path):
    """What sleeps soon after it began, and until after it was first looked at, is read while it sleeps."""
    path = tmp_path / "script.py"
    path.write_text("import time\ndef nap():\n    time.sleep(0.7)\ndef rest():\n    time.sleep(0.4)\nnap()\nrest()\n")
    waits = {row["function"].split(" ")[0]: row["wait_s"] for row in with_waits(python, path)[1]}
    assert waits["nap"] >= 0.7 * 0.9 and waits["rest"] >= 0.4 * 0.9, waits


SLEEPS = """
import os, queue, select, socket, subprocess, threading, time
def later(call, *args):
    threading.Timer(0.4, call, args).start()
def naps():
    time.sleep(0.4)
def locks():
    lock = threading.Lock()
    lock.acquire()
    later(lock.release)
    lock.acquire()
def gets():
    things = queue.Queue()
    later(things.put, 1)
    things.get()
def runs():
    subprocess.run(["sleep", "0.4"], check=True)
def receives():
    one, other = socket.socketpair()
    later(other.send, b"x")
    one.recv(1)
def selects():
    select.select([], [], [], 0.4)
def waits():
    threading.Event().wait(0.4)
for call in (naps, locks, gets, runs, receives, selects, waits):
    begin = time.monotonic()
    call()
    print(call.__name__, time.monotonic() - begin)
"""


@pytest.mark.parametrize("python", INTERPRETERS)
def test_waiting_without_rights(python, tmp_path):
    """The kernel does not show where threads leave their processors: they are looked at in their sleep."""
    with tempfile.TemporaryDirectory(prefix="wattle-test-") as folder:
        path = pathlib.Path(folder) / "script.py"
        path.write_text(SLEEPS)
        out, told = profile_without_rights(pathlib.Path(folder), python, path)
    waits = {row["function"].split(" ")[0]: row["wait_s"] for row in told["functions"] if "script.py" in row["function"]}
    true = {name: float(seconds) for name, seconds in (line.split() for line in out.splitlines())}
    assert len(true) == 7, out
    for name, seconds in true.items():
        assert 0.9 * seconds <= waits[name] <= 1.5 * seconds, (name, seconds, waits)


@pytest.mark.skipif(os.geteuid() != 0, reason="where threads wait is told to root")
@pytest.mark.parametrize("python", INTERPRETERS)
def test_waiting_for_a_lock(python, tmp_path):
    """Threads that are just started leave their processors often: of a turn that the kernel does not show, the stack is read in its sleep."""
    path = tmp_path / "script.py"
    path.write_text("import queue, threading, time\nlock = threading.Lock()\nthings = queue.Queue()\ndef holder():\n    with lock:\n        time.sleep(0.6)\n"
                    "def waiter():\n    time.sleep(0.05)\n    with lock:\n        pass\ndef getter():\n    things.get()\n"
                    "def rest():\n    time.sleep(0.8)\nthreads = [threading.Thread(target=one) for one in (holder, waiter, getter)]\n"
                    "for thread in threads:\n    thread.start()\nrest()\nthings.put(1)\nfor thread in threads:\n    thread.join()\n")
    waits = {row["function"].split(" ")[0]: row["wait_s"] for row in with_waits(python, path)[1]}
    slept_s = sum(waits.get(name, 0) for name in ("select", "clock_nanosleep", "__clock_nanosleep", "__GI___clock_nanosleep"))
    assert waits["rest"] >= 0.8 * 0.9 and slept_s >= (0.6 + 0.8) * 0.9, waits
    assert sum(waits.get(name, 0) for name in ("[unresolved]", "[python: unresolved]")) < 0.25, waits


@pytest.mark.parametrize("python", INTERPRETERS)
def test_waiting_beside_a_native_thread(python, tmp_path):
    """One that rests again and again is sought in Python in vain. New threads of Python are found all the same."""
    library, path = tmp_path / "native.so", tmp_path / "script.py"
    (tmp_path / "native.c").write_text("#include <pthread.h>\n#include <time.h>\nstatic void *rests(void *unused)\n{\n"
                                       "\tfor (;;)\n\t\tnanosleep(&(struct timespec){0, 20000000}, NULL);\n\treturn unused;\n}\n"
                                       "int start(void)\n{\n\tpthread_t thread;\n\treturn pthread_create(&thread, NULL, rests, NULL);\n}\n")
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, tmp_path / "native.c", "-lpthread"], check=True)
    path.write_text(f"import ctypes, threading, time\ndef nap():\n    time.sleep(0.4)\nctypes.CDLL({str(library)!r}).start()\ntime.sleep(0.5)\n"
                    "for _ in range(3):\n    thread = threading.Thread(target=nap)\n    thread.start()\n    thread.join()\n")
    waits = {row["function"].split(" ")[0]: row["wait_s"] for row in with_waits(python, path)[1]}
    assert waits["nap"] >= 3 * 0.4 * 0.9, waits


@pytest.mark.skipif(os.geteuid() != 0, reason="where threads wait is told to root")
@pytest.mark.parametrize("python", INTERPRETERS)
def test_waiting_for_the_gil(python, tmp_path):
    """Threads that compute wait for each other, 5 ms at a time, and the kernel shows a few of these waits alone. Each has some of them."""
    path = tmp_path / "script.py"
    path.write_text("import threading, time\ndef spin():\n    end = time.thread_time() + 0.7\n    while time.thread_time() < end:\n        pass\n"
                    "def waited(name, call):\n    begin, ran = time.monotonic(), time.thread_time()\n    call()\n"
                    "    return f'{name} {time.monotonic() - begin - (time.thread_time() - ran)}\\n'\n"
                    "def one():\n    spin()\ndef other():\n    spin()\ntold = []\n"
                    "threads = [threading.Thread(target=lambda call=call: told.append(waited(call.__name__, call))) for call in (one, other)]\n"
                    "for thread in threads:\n    thread.start()\nfor thread in threads:\n    thread.join()\nprint(*told, sep='', end='')\n")
    out, functions = with_waits(python, path)
    waits = {row["function"].split(" ")[0]: row["wait_s"] for row in functions}
    for line in out.splitlines():
        name, seconds = line.split()
        if float(seconds) > 0.1:  # some interpreters have no GIL
            assert 0.75 * float(seconds) <= waits[name] <= 1.2 * float(seconds), (out, waits)


@pytest.mark.skipif(os.geteuid() != 0, reason="where threads wait is told to root")
@pytest.mark.parametrize("python", INTERPRETERS)
def test_a_process_that_waits(python, tmp_path):
    """It waits all the time that it is looked at, and where it did before."""
    path = tmp_path / "script.py"
    path.write_text("import time\ndef nap():\n    print('now', flush=True)\n    time.sleep(100)\nnap()\n")
    with subprocess.Popen([python, path], stdout=subprocess.PIPE) as waiting:
        try:
            assert waiting.stdout.readline() == b"now\n"
            wait_for(lambda: ") S " in pathlib.Path(f"/proc/{waiting.pid}/stat").read_text(), "its sleep")
            done = run_wattle("profile", "--wall", "-o", tmp_path / "p.json", "--pid", str(waiting.pid), "--duration", "1")
        finally:
            waiting.kill()
    assert done.code == 0 and "perf_event_paranoid" not in done.err, done
    waits = {row["function"].split(" ")[0]: row["wait_s"] for row in json.loads((tmp_path / "p.json").read_text())["functions"]}
    assert waits["nap"] >= 0.9, waits


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("python", FOUND[-1:])
def test_child(python, script, method):
    found = profile(python, script, "in_a_child", 0.5, method)
    found.check()
    assert found.cpu_s["heavy"] > found.cpu_s["light"] > 0.03, found.out


@pytest.mark.parametrize("python", INTERPRETERS)
def test_deep_recursion(python, tmp_path):
    """Deeper than what is copied of the C stack, and than the blocks that are read at once."""
    path = tmp_path / "script.py"
    path.write_text("import time\ndef down(n):\n    if n:\n        return down(n - 1)\n    end = time.thread_time() + 0.4\n"
                    "    while time.thread_time() < end:\n        pass\ndown(700)\n")
    done = run_wattle("profile", "--table", "--", python, path)
    if "denied" in done.err or "gives no samples" in done.err:
        pytest.skip(done.err.strip())
    assert done.code == 0 and "down (script.py:2)" in done.err, done


@pytest.mark.parametrize("python", FOUND[-1:])
def test_c_with_more_stack_than_is_copied(python, tmp_path):
    """As numpy's and OpenBLAS's functions have: who called it is known by what is read of the stack just after the sample."""
    (tmp_path / "burn.c").write_text("#include <string.h>\n#include <time.h>\n__attribute__((noinline)) static long used(void)\n{\n"
                                     "\tstruct timespec t;\n\n\tclock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);\n\treturn t.tv_sec * 1000000 + t.tv_nsec / 1000;\n}\n"
                                     "void burn(long us)\n{\n\tvolatile char much[40000];\n\n\tfor (long end = used() + us; used() < end;)\n"
                                     "\t\tfor (int i = 0; i < 40000; i++)\n\t\t\tmuch[i] = (char)i;\n}\n")
    subprocess.run(["gcc", "-O1", "-g", "-shared", "-fPIC", "-o", tmp_path / "burn.so", tmp_path / "burn.c"], check=True)
    script = tmp_path / "much.py"
    script.write_text("import ctypes\nburn = ctypes.CDLL('./burn.so').burn\ndef three():\n    burn(3000)\ndef one():\n    burn(1000)\n"
                      "for _ in range(150):\n    three()\n    one()\n")
    done = run_wattle("profile", "-q", "-f", "json", "-o", tmp_path / "p.json", "--", python, script, cwd=tmp_path)
    assert done.code == 0, done
    told = parse_json((tmp_path / "p.json").read_text())
    used = {row["function"].split(" ")[0]: float(row["cpu_s"]) for row in told["functions"]}
    assert used["burn"] > 0.5, used
    # All that burn() took is of the one or the other, as far as the machine let the reader come in time.
    assert told["read_later"] > 2 * told["not_whole"], told
    assert used["one"] < 0.15 + 0.1 and used["three"] < 0.45 + 0.1 and used["one"] + used["three"] > 0.8 * used["burn"], used


def script_to_profile(python, path, text):
    """Where no profile can be taken, it is said why not."""
    path.write_text("pass\n")
    profile(python, path)
    path.write_text(text)
    return path


TO_310 = [one for one in FOUND if re.match(r"3\.(8|9|10)-", one.id)]


@pytest.mark.parametrize("python", [one for one in FOUND if one not in TO_310][-1:] + TO_310[-1:])
def test_small_functions_are_read_seldom(python, tmp_path):
    """In the place of a thread that calls them the reader sees a stack whole, and it is good for many samples; up to 3.10 a sample shows its own."""
    script = script_to_profile(python, tmp_path / "small.py", (
        "import time\ndef leaf(x): return x + 1\ndef middle(x): return leaf(x) - leaf(x - 1)\n"
        "def fib(n): return middle(n) if n < 2 else fib(n - 1) + fib(n - 2)\n"
        "end = time.thread_time() + 2.5\nwhile time.thread_time() < end:\n    for _ in range(20): fib(12)\n"))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw
    done = run_wattle("profile", "-q", "--rate", "1000", "-o", tmp_path / "p.json", "--", python, script)
    turns = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw - before
    told = parse_json((tmp_path / "p.json").read_text())
    assert done.code == 0 and told["samples"] > 2000 and turns < told["samples"] / 2, (told["samples"], turns)


@pytest.mark.parametrize("python", FOUND)
def test_callers_of_a_function_that_calls_c(python, tmp_path):
    """While C runs, the interpreter's loop still has pointers of before, into code of callers."""
    script = script_to_profile(python, tmp_path / "burn.py", (
        "import time\ndef burn(s):\n    end = time.process_time() + s\n    while time.process_time() < end: pass\n"
        "def forward(): burn(0.1)\ndef backward(): burn(0.05)\nfor _ in range(10): forward(); backward()\n"))
    done = run_wattle("profile", "-q", "--rate", "1000", "-o", tmp_path / "p.json", "--", python, script)
    assert done.code == 0, done
    calls = parse_json((tmp_path / "p.json").read_text())["calls"]
    names = [call["function"].split(" (")[0] for call in calls]
    chains = {(names[call["parent"]], name): float(call["cpu_s"]) for call, name in zip(calls, names) if call.get("parent") is not None and name == "burn"}
    assert chains["forward", "burn"] == pytest.approx(1, rel=0.2) and chains["backward", "burn"] == pytest.approx(0.5, rel=0.2), chains


def calls_by_others(path, callers):
    """How many samples are of these functions with a caller that is known; and those whose caller is another one: (caller, function, samples)."""
    calls = parse_json(path.read_text())["calls"]
    names = [call["function"].split(" (")[0] for call in calls]
    made = [(names[call["parent"]], name, call["samples"]) for name, call in zip(names, calls) if name in callers and call.get("parent") is not None]
    known = [call for call in made if call[0] != "[python: unresolved]"]
    return sum(call[2] for call in known), [call for call in known if call[0] != callers[call[1]]]


@pytest.mark.parametrize("python", FOUND[-1:] + TO_310[-1:])
def test_calls_of_several_programs_at_once(python, tmp_path):
    """The reader is in the place of one of them; the others run while they are read, and come to the same places over and over."""
    callers = {"la": "A", "lb": "B", "lc": "C", "A": "P", "B": "Q", "C": "R", "P": "step", "Q": "step", "R": "step"}
    script = script_to_profile(python, tmp_path / "alike.py", "import time\n" + "".join(
        f"def l{x.lower()}(x): return x + 1\ndef {x}(x): return l{x.lower()}(x) + l{x.lower()}(x)\ndef {y}(x): return {x}(x) + {x}(x)\n"
        for x, y in ("AP", "BQ", "CR")) + "def step():\n    for i in range(20):\n        P(i); Q(i); R(i)\n"
        "end = time.thread_time() + 2\nwhile time.thread_time() < end:\n    step()\n")
    at_once = " & ".join([f"'{python}' '{script}'"] * (min(len(os.sched_getaffinity(0)), 3) + 1))
    done = run_wattle("profile", "-q", "--rate", "1000", "-o", tmp_path / "p.json", "--", "sh", "-c", f"{at_once} & wait", timeout=120)
    assert done.code == 0, done
    n_known, wrong = calls_by_others(tmp_path / "p.json", callers)
    assert n_known > 5000 and sum(call[2] for call in wrong) <= 0.0005 * n_known, wrong


@pytest.mark.parametrize("python", TO_310[-1:])
def test_frames_that_functions_share(python, tmp_path):
    """Threads that run the same functions take frames from one list; and 3.10 keeps the code of functions that are alike only once."""
    script = script_to_profile(python, tmp_path / "shared.py", "import threading, time\n" + "".join(
        f"def l{x}(n): return n + {i}\ndef w{x}(n): return l{x}(n) + l{x}(n)\n" for i, x in enumerate("ab")) + (
        "def hold():\n    end = time.thread_time() + 1.5\n    while time.thread_time() < end: wa(1); wb(1)\n"
        "threads = [threading.Thread(target=hold) for _ in range(3)]\nfor one in threads: one.start()\nfor one in threads: one.join()\n"))
    assert run_wattle("profile", "-q", "--rate", "1000", "-o", tmp_path / "p.json", "--", python, script, timeout=120).code == 0
    n_known, wrong = calls_by_others(tmp_path / "p.json", {"la": "wa", "lb": "wb", "wa": "hold", "wb": "hold"})
    assert n_known > 1000 and sum(call[2] for call in wrong) <= 1, wrong


def has_pinned_thread(pid):
    """Whether a thread of the process may run on one processor only."""
    counts = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            counts.append(len(os.sched_getaffinity(int(tid))))
        except ProcessLookupError:
            pass
    return 1 in counts


@pytest.mark.parametrize("python", FOUND[:1])
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one processor only")
def test_the_reader_makes_way(python, tmp_path):
    """While small functions call each other, the reader is pinned to the program's processor. Soon it is not, where C does the work."""
    script = script_to_profile(python, tmp_path / "sums.py", (
        "import os\ndef fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n"
        "while not os.path.exists('seen'):\n    fib(15)\n"
        "while not os.path.exists('enough'):\n    for _ in range(100):\n        sum(range(20000))\n"))
    running = start_wattle("profile", "-q", "--rate", "1000", "-o", tmp_path / "p.json", "--", python, script, cwd=tmp_path)
    looks = []

    def is_mostly_free():
        looks.append(has_pinned_thread(running.pid))
        return len(looks) >= 40 and sum(looks[-40:]) < 20
    try:
        wait_for(lambda: has_pinned_thread(running.pid), "a reader that is pinned")
        (tmp_path / "seen").touch()
        wait_for(is_mostly_free, "a reader that runs anywhere")
    finally:
        (tmp_path / "seen").touch()
        (tmp_path / "enough").touch()
        done = finish(running)
    assert done.code == 0, done
