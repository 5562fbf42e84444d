# SPDX-License-Identifier: MIT
"""`python -m wattle.profile` and `wattle.profile.Profile`: calls, seconds and joules of a program's functions."""

from __future__ import annotations

import _thread
import os
import pstats
import re
import signal
import subprocess
import sys
import threading
import time
import zipapp
from pathlib import Path

import pytest

import wattle
from wattle._calls import Function, add, take_out, without
from wattle.profile import Profile, _Thread

pytestmark = pytest.mark.filterwarnings("ignore::wattle.WattleWarning")

PROGRAM = """
import _thread, sys, threading, time

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def squares(n):
    for i in range(n):
        yield i * i

def burn(seconds):
    end, n = time.process_time() + seconds, 0
    while time.process_time() < end:
        n += 1

def rest():
    time.sleep(0.4)

def both():
    end = time.process_time() + 0.2
    while time.process_time() < end:
        for _ in range(100_000):
            pass
    time.sleep(0.6)

def worker():
    burn(0.02)

def apart(done):
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass
    done.release()

def fails():
    raise ValueError("on purpose")

def main(how):
    fib(10)
    sum(squares(100))
    burn(0.4)
    rest()
    both()
    done = _thread.allocate_lock()
    done.acquire()
    _thread.start_new_thread(apart, (done,))
    done.acquire()
    for _ in range(10):
        thread = threading.Thread(target=worker)
        thread.start()
        thread.join()
    try:
        fails()
    except ValueError:
        pass
    if how == "raise":
        fails()
    if how == "exit":
        sys.exit(7)
    if how == "interrupt":
        import os, signal
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)

if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
    print("done", sys.argv[1:], __name__, __file__)
"""


@pytest.fixture(name="profiled")
def run_profiled(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(*args, interpreter=sys.executable, code=0, **named):
        done = subprocess.run(
            [interpreter, "-m", "wattle.profile", *map(str, args)],
            capture_output=True,
            text=True,
            timeout=60,
            cwd=tmp_path,
            **named,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return run


def functions(path):
    return {key[2]: row for key, row in pstats.Stats(str(path)).stats.items()}


@pytest.mark.parametrize("given", [(), ("-q", "-o", "x.pstats"), ("-m",)])
def test_no_program(profiled, given):
    error = profiled(*given, code=2).stderr.splitlines()[-1]
    assert error == "python -m wattle.profile: error: there is nothing to profile: python -m wattle.profile PROGRAM, or -m MODULE"


def test_program(profiled, tmp_path):
    done = profiled("-o", "p.pstats", "program.py", "a", "--b")
    assert done.stdout == "done ['a', '--b'] __main__ program.py\n"
    seconds, energy = functions(tmp_path / "p.time.pstats"), functions(tmp_path / "p.pstats")
    assert seconds["fib"][:2] == (1, 177)
    assert seconds["squares"][1] == 101  # each time that a generator goes on is a call
    assert seconds["fails"][1] == 1 and [key[2] for key in seconds["fails"][4]] == ["main"]
    assert seconds["rest"][3] >= 0.39 and seconds["burn"][1] == 11
    assert seconds["worker"][1] == 10 and "main" not in [key[2] for key in seconds["worker"][4]]
    assert seconds["apart"][1] == 1 and [key[2] for key in seconds["apart"][4]] == ["TOTAL (values are seconds)"], "nobody called it"
    assert "main" in [key[2] for key in seconds["<built-in method _thread.start_new_thread>"][4]]
    for name, unit in (("p.time.pstats", "seconds"), ("p.pstats", "joules")):
        stats = pstats.Stats(str(tmp_path / name)).stats
        assert sum(row[2] for row in stats.values()) == pytest.approx(stats["~", 0, f"TOTAL (values are {unit})"][3])
    assert energy["burn"][3] > 2 * energy["rest"][3]  # it sleeps
    assert energy["both"][2] > 2 * energy["<built-in method time.sleep>"][2]
    assert energy["worker"][3] > 2 * max(row[2] for name, row in energy.items() if "'acquire'" in name or "'join'" in name)
    assert energy["main"][3] > energy["fib"][3]
    assert "[processes that it started]" not in energy, "it started none"


def test_table_adds_up(profiled):
    said = profiled("--rows", 0, "program.py").stderr
    joules = [float(match) for match in re.findall(r"^ *([\d.]+) J  ", said, flags=re.M)]
    assert len(joules) == 6 and sum(joules[:-1]) == pytest.approx(joules[-1], abs=0.004)
    assert "processes that it started" not in said, "it started none"
    assert "which is taken out below" in said and "program.py:" in said
    assert "177/1" in said


def test_children_have_a_row(profiled, tmp_path):
    (tmp_path / "starts.py").write_text("import subprocess, sys; subprocess.run([sys.executable, '-c', 'sum(range(10**7))'], check=True)")
    said = profiled("-o", "p.pstats", "starts.py").stderr
    joules = [float(match) for match in re.findall(r"^ *([\d.]+) J  ", said, flags=re.M)]
    assert len(joules) == 7 and sum(joules[:-1]) == pytest.approx(joules[-1], abs=0.004)
    assert functions(tmp_path / "p.pstats")["[processes that it started]"][2] > 0


def test_allocations_of_a_program(profiled):
    """In the unit that each size is read best in; what wattle allocates is not the program's."""
    said = profiled("--allocations", "program.py").stderr
    peak, seen = re.search(r"^Python allocations: (\d+(?:\.\d)? [KM]?i?B) at most; of (\d+(?:\.\d)? [KM]?i?B) then:$", said, flags=re.M).groups()
    assert not peak.startswith("0") and not seen.startswith("0"), said
    rows = re.findall(r"^ *(\d+(?:\.\d)? [KM]?i?B) +\d+  (.+):\d+$", said.partition("Python allocations")[2], flags=re.M)
    assert rows and not any(f"{os.sep}wattle{os.sep}" in file for _, file in rows), said


def test_exit_status_is_the_programs(profiled):
    assert "measured in all" in profiled("program.py", "exit", code=7).stderr


def test_exception(profiled):
    said = profiled("program.py", "raise", code=1).stderr
    assert "measured in all" in said and said.endswith("ValueError: on purpose\n")
    assert "wattle/profile.py" not in said[said.index("Traceback") :]


def test_interrupt(profiled):
    said = profiled("program.py", "interrupt", code=-signal.SIGINT).stderr
    table, _, trace = said.partition("Traceback (most recent call last):\n")
    assert "measured in all" in table and trace.startswith('  File "program.py", line '), said
    assert trace.endswith("KeyboardInterrupt\n") and "runpy" not in trace and "wattle/profile.py" not in trace


HOOKS = """
import cProfile, sys, threading, time

def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

def before():
    spin(0.2)

def takes(how):
    if how == "cProfile":
        cProfile.Profile().enable()
    elif how == "setprofile":
        sys.setprofile(lambda *_: None)
        sys.setprofile(None)
    else:
        threading.setprofile(lambda *_: None)

def after():
    spin(0.6)

before()
takes(sys.argv[1])
if sys.argv[1] == "threading":
    thread = threading.Thread(target=after)
    thread.start()
    thread.join()
else:
    after()
"""


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="sys.monitoring has one for each")
@pytest.mark.parametrize("how", ["setprofile", "cProfile", "threading"])
def test_program_that_takes_the_hook(profiled, tmp_path, how):
    """What ran then is nobody's, and the table says so."""
    (tmp_path / "hooks.py").write_text(HOOKS)
    said = profiled("-o", "p.pstats", "--rows", 0, "hooks.py", how).stderr
    assert re.search(r"^no calls are known of \d\.\d+ s: the program took the profile hook for itself", said, flags=re.M), said
    seconds, energy = functions(tmp_path / "p.time.pstats"), functions(tmp_path / "p.pstats")
    assert seconds["before"][1] == seconds["takes"][1] == 1 and "after" not in seconds
    assert seconds["takes"][3] < seconds["before"][3]
    assert energy["[this process, in no function that was seen]"][2] > energy["before"][3]
    assert not any(row[3] > energy["before"][3] / 2 for name, row in energy.items() if "setprofile" in name or "enable" in name or name == "takes")


def test_program_that_leaves_the_hook(profiled):
    assert "no calls are known" not in profiled("program.py").stderr


TERMINATED = """
import os, signal, sys
from multiprocessing import get_context

def last():
    os.kill(os.getpid(), signal.SIGTERM)
    signal.pause()

def main(how):
    print("begun")
    if how == "ignored":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.kill(os.getpid(), signal.SIGTERM)
        return
    if how == "own":
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))
    if how == "child":
        process = get_context("fork").Process(target=last)
        process.start()
        process.join()
        print("child", process.exitcode)
        return
    try:
        last()
    finally:
        print("comes to its end by itself")

main(sys.argv[1])
"""


@pytest.mark.parametrize("how,code", [("", -signal.SIGTERM), ("own", 5), ("ignored", 0), ("child", 0)])
def test_sigterm(profiled, tmp_path, how, code):
    """The program ends as it would without the profiler, and what was measured is told."""
    (tmp_path / "ends.py").write_text(TERMINATED)
    plain = subprocess.run([sys.executable, "-u", "ends.py", how], capture_output=True, text=True, cwd=tmp_path, check=False)
    done = profiled("-o", "p.pstats", "ends.py", how, code=code)
    assert plain.returncode == code and done.stdout == plain.stdout
    assert done.stderr.count("measured in all") == 1
    if how != "child":
        assert functions(tmp_path / "p.time.pstats")["main"][1] == 1


def test_sigterm_that_was_ignored_at_the_start(profiled):
    said = profiled("program.py", preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN)).stderr
    assert "measured in all" in said


def test_module(profiled):
    assert profiled("-q", "-o", "m.pstats", "-m", "program", "x").stdout.startswith("done ['x'] __main__ ")


@pytest.mark.parametrize("args,says", [(["absent.py"], "No such file"), (["--interval", "0", "program.py"], "--interval"), (["-q", "program.py"], "--output")])
def test_what_cannot_be_meant(profiled, args, says):
    assert says in profiled(*args, code=2).stderr


KIN = "def helper():\n    return 1\n"
SHOWS = """
import sys, kin
kin.helper()
print(sys.argv, sys.path[0], __name__, __file__, __package__, sys.modules["__main__"].kin is kin)
if "exit" in sys.argv:
    sys.exit(7)
"""


@pytest.mark.parametrize("kind", ["folder", "a.zip", "a.pyz"])
def test_what_python_runs_besides_scripts(profiled, tmp_path, kind):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "__main__.py").write_text(SHOWS)
    (tmp_path / "folder" / "kin.py").write_text(KIN)
    if kind != "folder":
        zipapp.create_archive(tmp_path / "folder", tmp_path / kind, "/usr/bin/env python3")
    plain = subprocess.run([sys.executable, kind, "a", "-b"], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert profiled("-o", "p.pstats", kind, "a", "-b").stdout == plain.stdout
    assert functions(tmp_path / "p.time.pstats")["helper"][1] == 1
    assert "measured in all" in profiled(kind, "exit", code=7).stderr


def test_folder_that_is_no_program(profiled, tmp_path):
    (tmp_path / "folder").mkdir()
    assert profiled("folder", code=2).stderr == "wattle.profile: can't find '__main__' module in 'folder'\n"


def test_what_is_no_source(profiled, tmp_path):
    (tmp_path / "x.bin").write_bytes(b"\0\1")
    said = profiled("x.bin", code=1).stderr
    assert "null bytes" in said and "wattle/profile.py" not in said


@pytest.mark.parametrize("name", ["absent/p.pstats", "folder.pstats", "of.pstats"])
def test_file_that_cannot_be_written_is_refused_first(profiled, tmp_path, name):
    (tmp_path / "folder.pstats").mkdir()
    (tmp_path / "of.time.pstats").mkdir()  # the seconds beside it
    (tmp_path / "ran.py").write_text("open('ran', 'w').close()")
    said = profiled("-o", name, "ran.py", code=2).stderr
    assert re.fullmatch(r"wattle\.profile: cannot write '.*\.pstats': .*; nothing was run\n", said)
    assert sorted(os.listdir(tmp_path)) == ["folder.pstats", "of.time.pstats", "program.py", "ran.py"]


def test_trying_a_file_leaves_it_alone(profiled, tmp_path):
    (tmp_path / "p.prof").write_text("old")
    (tmp_path / "link.prof").symlink_to("absent")
    (tmp_path / "look.py").write_text("print(open('p.prof').read(), __import__('os').path.exists('absent'), __import__('os').path.exists('p.time.prof'))")
    for name in ("p.prof", "link.prof"):
        assert profiled("-o", name, "look.py").stdout == "old False False\n"
        (tmp_path / "p.prof").write_text("old")
        (tmp_path / "p.time.prof").unlink(missing_ok=True)


@pytest.mark.parametrize("quiet", [(), ("-q",)])
def test_file_that_cannot_be_written_later(profiled, tmp_path, quiet):
    """What was measured is told all the same."""
    (tmp_path / "full.pstats").symlink_to("/dev/full")
    said = profiled(*quiet, "-o", "full.pstats", "program.py", code=1).stderr
    assert "cannot write" in said and said.count("measured in all") == 1


def test_file_is_written_where_it_was_asked_for(profiled, tmp_path):
    (tmp_path / "moves.py").write_text("import os; os.mkdir('other'); os.chdir('other')")
    profiled("-o", "p.pstats", "moves.py")
    assert (tmp_path / "p.time.pstats").exists()


def test_closed_output(profiled, tmp_path):
    (tmp_path / "closes.py").write_text("import sys; sys.stdout.close()")
    assert "measured in all" in profiled("closes.py").stderr


@pytest.mark.parametrize("name", ["x.html", "x.json", "x", "x.pstats.gz"])
def test_suffix_of_another_format(profiled, tmp_path, name):
    said = profiled("-o", name, "program.py", code=2).stderr.splitlines()[-1]
    assert "has to end in .pstats or .prof" in said and said.endswith("nothing was run")
    assert os.listdir(tmp_path) == ["program.py"]


def test_syntax_error(profiled, tmp_path):
    (tmp_path / "bad.py").write_text("def (:\n")
    assert "SyntaxError" in profiled("bad.py", code=1).stderr


def test_children_are_not_profiled_twice(profiled, tmp_path):
    (tmp_path / "forks.py").write_text("import os\nif os.fork():\n    os.wait()\nelse:\n    sum(range(100000))\n")
    assert profiled("forks.py").stderr.count("measured in all") == 1


@pytest.mark.parametrize("version", ["3.9", "3.10", "3.12", "3.13"])
def test_other_interpreters(profiled, tmp_path, version):
    found = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    if not found:
        pytest.skip(f"there is no Python {version}")
    (tmp_path / "wattle").symlink_to(Path(wattle.__file__).parent)  # found from there: it is not installed for that one
    profiled("-o", "p.pstats", "program.py", interpreter=found[-1])
    seconds = functions(tmp_path / "p.time.pstats")
    assert seconds["fib"][:2] == (1, 177) and seconds["worker"][1] == 10 and seconds["burn"][1] == 11
    assert [key[2] for key in seconds["main"][4]] == ["<module>"] and seconds["main"][3] > 0.9
    assert "main" in [key[2] for key in seconds["start"][4]]
    assert "main" not in [key[2] for key in seconds["worker"][4]]
    assert [key[2] for key in seconds["apart"][4]] == ["TOTAL (values are seconds)"]
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "__main__.py").write_text("print(__name__)")
    zipapp.create_archive(tmp_path / "folder", tmp_path / "a.pyz")
    assert profiled("a.pyz", interpreter=found[-1]).stdout == "__main__\n"


def test_snakeviz(profiled, tmp_path):
    stats = pytest.importorskip("snakeviz.stats")
    profiled("-q", "-o", "p.pstats", "program.py")
    for name, title in (("p.pstats", "joules"), ("p.time.pstats", "seconds")):
        loaded = pstats.Stats(str(tmp_path / name))
        assert any(f"TOTAL (values are {title})" in row for row in stats.json_stats(loaded))
        assert any("burn" in str(row) for row in stats.table_rows(loaded))


def test_gprof2dot(profiled, tmp_path):
    pytest.importorskip("gprof2dot")
    profiled("-q", "-o", "p.pstats", "program.py")
    done = subprocess.run([sys.executable, "-m", "gprof2dot", "-f", "pstats", tmp_path / "p.pstats"], check=True, capture_output=True, text=True)
    assert "burn" in done.stdout and " -> " in done.stdout


def test_example(profiled, tmp_path):
    """docs/profile.md profiles it."""
    pytest.importorskip("numpy")
    example = Path(__file__).resolve().parents[2] / "examples" / "autoencoder.py"
    done = profiled("-o", "p.pstats", example, "--rows", 4096, "--epochs", 2)
    assert re.search(r"1048576 bytes in \d+: \d\d\.\d times less, rms error 0\.\d+", done.stdout)
    seconds = functions(tmp_path / "p.time.pstats")
    assert seconds["backward"][1] == 16 and seconds["forward"][1] == 18
    assert sorted(key[2] for key in seconds["forward"][4]) == ["compress", "decompress", "train"]


# ---- In a program ----


def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_with_block():
    starts = threading.Thread.start, _thread.start_new_thread
    with Profile() as profile:
        spin(0.3)
    found = next(f for f in profile.functions if f.name == "spin")
    assert found.calls == 1 and found.all_s > 0.2
    assert sum(uj for _, uj in profile.rows()) == profile.measured_uj
    assert (threading.Thread.start, _thread.start_new_thread) == starts
    own_uj = sum(f.own_uj for f in profile.functions)
    assert own_uj == pytest.approx(profile.functions_uj, abs=1)
    assert found.all_j > 0.5 * profile.functions_uj / 1e6
    assert sys.getprofile() is None and threading.Thread.start.__module__ == "threading"


def test_decorator_adds_up():
    profile = Profile()

    @profile
    def twice(n):
        spin(0.01)
        return n and twice(n - 1)

    twice(2)
    twice(0)
    assert next(f for f in profile.functions if f.name == "spin").calls == 4
    assert sum(uj for _, uj in profile.rows()) == profile.measured_uj


def test_idle_that_is_known_of_a_part():
    """Of two sessions only one knew it: what it was is a row all the same, or they would not add up."""
    profile = Profile()
    profile.has_idle, profile.idle_uj, profile.measured_uj = False, 7, 7
    assert sum(uj for _, uj in profile.rows()) == profile.measured_uj


def test_allocations():
    with Profile(allocations=True) as profile:
        kept = [bytes(1000 + i) for i in range(5000)]
        spin(0.05)
    line = test_allocations.__code__.co_firstlineno + 2
    size, blocks, _, _ = next(row for row in profile.allocations.lines if row[2] == __file__ and row[3] == line)
    assert size > sum(map(len, kept)) and blocks >= 5000 and profile.allocations.peak_bytes >= size
    assert f"{Path(__file__).name}:{line}" in profile.table()
    with Profile() as profile:
        spin(0.01)
    assert profile.allocations is None


def test_second_profiler_is_refused():
    with Profile(), pytest.raises(wattle.Error, match="another profiler"), Profile():
        pass
    with Profile():  # the one before has gone
        pass


def test_below_another_profiler(tmp_path):
    (tmp_path / "program.py").write_text("open('ran', 'w').close()")
    done = subprocess.run([sys.executable, "-m", "cProfile", "-m", "wattle.profile", "program.py"], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert not (tmp_path / "ran").exists()
    assert done.stderr.startswith("wattle.profile: another profiler is at work") and "Traceback" not in done.stderr


def test_error_in_block_goes_on():
    with pytest.raises(KeyError), Profile() as profile:
        raise KeyError
    assert profile.measured_uj is not None


def test_machine_without_processes(machine):
    """Counters of another machine: nobody is known there, and all is this program's."""
    with wattle.Meter(root=machine.path, nvml="", attribution=False, interval_s=0) as meter:
        with Profile(meter=meter) as profile:
            machine.add("intel-rapl:0", 3_000_000)
            spin(0.1)
        assert not meter.open_windows
    assert profile.measured_uj == 3_000_000 and sum(uj for _, uj in profile.rows()) == 3_000_000
    assert profile.idle_uj == profile.others_uj == 0
    assert "drawn at rest" in profile.table() and "draws anyway" not in profile.table(), "what it draws at rest is not known: that is not 0 J"


def heavy(machine):
    for _ in range(6):
        machine.add("intel-rapl:0", 500_000)
        for _ in range(1_500_000):
            pass


def light(machine):
    for _ in range(6):
        machine.add("intel-rapl:0", 100_000)
        for _ in range(1_500_000):
            pass


def test_power_of_functions(machine):
    """One draws five times as much as the other one, and takes as long."""
    with wattle.Meter(root=machine.path, nvml="", attribution=False, interval_s=0) as meter, Profile(meter=meter, interval_s=0.01) as profile:
        heavy(machine)
        light(machine)
    by_name = {f.name: f for f in profile.functions}
    assert profile.measured_uj == 3_600_000
    assert by_name["heavy"].own_j > 1.5 * by_name["light"].own_j > 0


def test_no_figures(tmp_path):
    with wattle.Meter(root=tmp_path, nvml="", attribution=False, interval_s=0) as meter, Profile(meter=meter) as profile:
        spin(0.01)
    assert profile.measured_uj is None and "no energy" in profile.table()
    profile.write(tmp_path / "p.pstats")
    assert (tmp_path / "p.time.pstats").exists() and not (tmp_path / "p.pstats").exists(), "what is not known is no file of zeros"


# ---- Who has which energy ----


class Code:
    """What stands for a code object."""

    def __init__(self, name):
        self.co_filename, self.co_firstlineno, self.co_name = "x.py", 1, name


class Entry:
    def __init__(self, code, calls, own_s, all_s, called=()):
        self.code, self.callcount, self.reccallcount = code, calls, 0
        self.inlinetime, self.totaltime, self.calls = own_s, all_s, called


class Told:
    """A cProfile that says what it is told to."""

    def __init__(self):
        self.entries = []

    def getstats(self):
        return self.entries


OUTER, INNER, QUERY = Code("outer"), Code("inner"), "<method 'execute' of 'driver.cursor' objects>"
SLEEP, LOCK = "<built-in method time.sleep>", "<method 'acquire' of '_thread.lock' objects>"
SLEPT = [Entry(INNER, 1, 0.2, 0.2), Entry(SLEEP, 1, 1.1, 1.1)]


@pytest.mark.parametrize(
    "looks,joules",
    [  # each second: microjoules, CPU seconds, those of GPUs, and what has returned
        (
            # The first second is the outer one's.
            [
                (1e6, 1.0, 0, []),
                (5e6, 1.0, 0, []),
                (5e6, 1.0, 0, [Entry(INNER, 1, 2.0, 2.0)]),
                (2e6, 1.0, 0, [Entry(INNER, 1, 2.0, 2.0), Entry(OUTER, 1, 2.0, 4.0)]),
            ],
            {INNER: 10, OUTER: 3},
        ),
        (
            # What it called took longer than it did itself.
            [(5e6, 1.0, 0, []), (0, 0.0, 0, []), (0, 0.0, 0, []), (0, 0.0, 0, [Entry(OUTER, 1, 1.0, 4.0), Entry(QUERY, 1, 3.0, 3.0)])],
            {OUTER: 5, QUERY: 0},
        ),
        (
            # It was asleep when the meter was read.
            [(5e6, 0.2, 0, [Entry(INNER, 1, 0.2, 0.2)]), (0, 0.0, 0, []), (0, 0.0, 0, [Entry(INNER, 1, 0.2, 0.2), Entry(SLEEP, 1, 2.8, 2.8)])],
            {INNER: 5, SLEEP: 0},
        ),
        # Turns, and a function that still runs: the inner one has what is left.
        ([(5e6, 0.5, 0, [Entry(INNER, 9, 0.3, 0.3), Entry(SLEEP, 9, 0.5, 0.5)])], {INNER: 3, SLEEP: 0}),
        ([(0, 0.5, 5e6, [Entry(INNER, 9, 0.5, 0.5), Entry(SLEEP, 9, 0.5, 0.5)])], {INNER: 2.5, SLEEP: 2.5}),
        (
            # One that waits after another one, in the same second.
            [(2e6, 0.2, 0, [Entry(INNER, 1, 0.2, 0.2)]), (3e6, 0.3, 0, [*SLEPT, Entry(OUTER, 1, 0.3, 0.3)]), (0, 0.0, 0, [*SLEPT, Entry(LOCK, 1, 1.4, 1.4)])],
            {INNER: 2, OUTER: 3, SLEEP: 0, LOCK: 0},
        ),
        # Threads that are not Python's compute for one that waits.
        ([(5e6, 4.0, 0, [Entry(SLEEP, 1, 1.0, 1.0)])], {SLEEP: 5}),
    ],
)
def test_energy_goes_to_who_ran(monkeypatch, looks, joules):
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    told = Told()
    thread = _Thread(told)
    for second, (cpu_uj, cpu_s, gpu_uj, entries) in enumerate(looks):
        now[0], told.entries = second + 1.0, entries
        thread.look()
        thread.charge(cpu_uj, cpu_s, gpu_uj)
    thread.settle()
    charged_uj = {code: sum(uj for (_, callee), uj in thread.charged_uj.items() if callee == id(code)) for code in joules}
    assert charged_uj == {code: pytest.approx(1e6 * j) for code, j in joules.items()}


NO_COST = {False: 0.0, True: 0.0}


def looked_at(monkeypatch, seconds):
    """A thread and its functions, where each second says what it used, in microjoules, and what cProfile knows by its end."""
    now, told, made = [0.0], Told(), {}
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    thread = _Thread(told)
    for second, (cpu_uj, entries) in enumerate(seconds):
        now[0], told.entries = second + 1.0, entries
        thread.look()
        thread.charge(cpu_uj, 1.0)
    thread.finish()
    add(made, told.entries, thread.charged_uj)
    take_out(made, NO_COST, NO_COST)
    return thread, made


def test_energy_of_calls_is_the_callers(monkeypatch):
    """Two callers of one function: what it used in each second is that caller's, and so is its part of what the function called."""
    heavy, light, leaf, below = (Code(name) for name in ("heavy", "light", "leaf", "below"))
    by_heavy = Entry(heavy, 1, 0.0, 1.0, [Entry(leaf, 1, 0.8, 1.0)])
    by_light = Entry(light, 1, 0.0, 1.0, [Entry(leaf, 1, 0.8, 1.0)])
    _, made = looked_at(
        monkeypatch,
        [
            (5e6, [by_heavy, Entry(OUTER, 1, 0.0, 0.0, [Entry(INNER, 0, 0.0, 0.0)]), Entry(leaf, 1, 0.8, 1.0, [Entry(below, 1, 0.2, 0.2)]), Entry(below, 1, 0.2, 0.2)]),
            (1e6, [by_heavy, by_light, Entry(leaf, 2, 1.6, 2.0, [Entry(below, 2, 0.4, 0.4)]), Entry(below, 2, 0.4, 0.4)]),
        ],
    )
    assert {f.name: (f.own_j, f.all_j) for f in made.values()} == {
        "heavy": (0, pytest.approx(4.6)),
        "light": (0, pytest.approx(1.4)),
        "leaf": (pytest.approx(4.8), pytest.approx(6.0)),
        "below": (pytest.approx(1.2), pytest.approx(1.2)),
    }
    assert [f.called[key].own_uj for name in ("heavy", "light") for f in made.values() if f.name == name for key in f.called] == [
        pytest.approx(4e6),
        pytest.approx(0.8e6),
    ]


def test_energy_of_calls_of_who_still_runs(monkeypatch):
    """cProfile tells calls of a function when that has returned: until then they are nobody's."""
    first, then, leaf = Code("first"), Code("then"), Code("leaf")
    by_first = Entry(first, 1, 0.0, 2.0, [Entry(leaf, 2, 2.0, 2.0)])
    thread, made = looked_at(
        monkeypatch,
        [
            (5e6, [Entry(leaf, 1, 1.0, 1.0)]),
            (3e6, [Entry(leaf, 2, 2.0, 2.0), by_first]),
            (1e6, [Entry(leaf, 3, 3.0, 3.0), by_first]),
            (1e6, [Entry(leaf, 4, 4.0, 4.0), by_first, Entry(then, 1, 0.0, 2.0, [Entry(leaf, 2, 2.0, 2.0)])]),
        ],
    )
    # What nobody had is divided by time: 5 J and 1 J of two seconds, one of each.
    assert {f.name: f.all_j for f in made.values()} == {"first": pytest.approx(6), "then": pytest.approx(4), "leaf": pytest.approx(10)}
    assert sum(thread.charged_uj.values()) == pytest.approx(10e6)


def test_time_after_the_hook_was_taken_is_nobodys():
    """They end 9 s late: the innermost one by its own, those that called it with their calls, and those that had returned not at all."""
    outer, other, takes = Code("outer"), Code("other"), "<built-in method sys.setprofile>"
    then = [Entry(other, 2, 1.0, 1.0), Entry(outer, 1, 1.0, 2.0, [Entry(other, 2, 1.0, 1.0)])]
    late = [
        Entry(other, 2, 1.0, 1.0),
        Entry(outer, 2, 3.0, 14.0, [Entry(other, 2, 1.0, 1.0), Entry(takes, 1, 10.0, 10.0)]),
        Entry(takes, 1, 10.0, 10.0),
    ]
    cut = without(9.0, then, late)
    assert [(e.code, e.callcount, e.inlinetime, e.totaltime) for e in cut] == [(other, 2, 1.0, 1.0), (outer, 2, 3.0, 5.0), (takes, 1, 1.0, 1.0)]
    assert [(sub.code, sub.inlinetime, sub.totaltime) for sub in cut[1].calls] == [(other, 1.0, 1.0), (takes, 1.0, 1.0)]


def test_energy_of_recursive_calls():
    """A tree that is walked: all of it is what is below its root, whatever power each function has."""
    main, walk, visit, made = Code("main"), Code("walk"), Code("visit"), {}
    in_walk = [Entry(walk, 6, 1.4, 3.0), Entry(visit, 7, 2.0, 2.0)]
    in_walk[0].reccallcount = 4
    entries = [Entry(main, 1, 1.0, 5.0, [Entry(walk, 1, 0.6, 4.0)]), Entry(walk, 7, 2.0, 4.0, in_walk), Entry(visit, 7, 2.0, 2.0)]
    entries[1].reccallcount = 6
    charged_uj = {(0, id(main)): 1e6, (id(main), id(walk)): 0.0, (id(walk), id(walk)): 2e6, (id(walk), id(visit)): 16e6}
    add(made, entries, charged_uj)
    take_out(made, NO_COST, NO_COST)
    assert {f.name: f.all_j for f in made.values()} == {"main": pytest.approx(19), "walk": pytest.approx(18), "visit": pytest.approx(16)}


def test_energy_of_threads_that_share_a_function():
    """One computes and one waits, both below the same function."""

    def shared(work):
        work()

    def computes():
        shared(lambda: spin(0.4))
        done.set()

    def waits():
        shared(done.wait)

    done = threading.Event()
    with Profile() as profile:
        threads = [threading.Thread(target=target) for target in (computes, waits)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    by_name = {f.name: f for f in profile.functions}
    assert by_name["computes"].all_j > 2 * by_name["waits"].all_j
    assert by_name["shared"].calls == 2


def test_what_is_used_after_the_end_is_not_the_functions():
    thread = _Thread(Told())
    thread.end()
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        pass
    thread.look()
    assert thread.cpu_s < 0.02 <= thread.beyond_s


def test_overhead_is_taken_out():
    outer, inner, made = Code("outer"), Code("inner"), {}
    add(made, [Entry(outer, 1, 2.0, 3.0, [Entry(inner, 1000, 1.0, 1.0)]), Entry(inner, 1000, 1.0, 1.0)], {(0, id(outer)): 4e6, (id(outer), id(inner)): 2e6})
    seconds, energy_uj = take_out(made, {False: 0.0005, True: 0.0}, {False: 0.001, True: 0.0})
    by_name: dict[str, Function] = {f.name: f for f in made.values()}
    assert by_name["inner"].own_s == pytest.approx(0.5) and by_name["inner"].own_j == pytest.approx(1.0)
    assert by_name["outer"].own_s == pytest.approx(2.0 - 1.0 - 0.0005)
    assert by_name["outer"].all_s == pytest.approx(by_name["outer"].own_s + 0.5)
    assert by_name["outer"].all_j == pytest.approx(by_name["outer"].own_j + 1.0)
    assert seconds == pytest.approx(1.5005) and energy_uj + 1e6 * sum(f.own_j for f in made.values()) == pytest.approx(6e6)


# ---- python -m wattle ----


def test_command(tmp_path):
    command = os.environ.get("WATTLE")
    if not command:
        pytest.skip("no command")
    (tmp_path / "wattle").symlink_to(command)
    elsewhere = "import runpy, sysconfig, wattle._lib; wattle._lib._HERE = '/absent/_lib'; sysconfig.get_path = lambda _: '/absent'; runpy.run_module('wattle', run_name='__main__', alter_sys=True)"

    def run(path):
        environment = {**os.environ, "PATH": str(path)}
        return subprocess.run([sys.executable, "-c", elsewhere, "--version"], env=environment, capture_output=True, text=True, check=False)

    assert run(tmp_path).stdout == subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
    done = run("/absent")
    assert done.returncode == 127 and "pip install wattle" in done.stderr
