# SPDX-License-Identifier: MIT
"""What goes wrong: nothing to measure with, interrupts, forks, lost GPUs, threads, and the interpreter's end."""

import gc
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings

import pytest
import wattle
from conftest import REPO

J = 1_000_000

HEAD = """
import os, signal, sys, threading, time, warnings
warnings.simplefilter("ignore")
import wattle
def meter(**options):
    return wattle.Meter(root=sys.argv[1], **{"nvml": "", "attribution": False, "interval_s": 0.01, **options})
"""


def opened(**options):
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        meter = wattle.Meter(**options)
        with meter.window("w") as window:
            pass
        meter.sampler().read()
    return meter, window, [str(warning.message) for warning in given]


# ---- Nothing to measure with ----

def test_no_library(tmp_path, python):
    shutil.copytree(REPO / "python" / "wattle", tmp_path / "wattle", ignore=shutil.ignore_patterns("_lib", "__pycache__"))
    program = """
import ctypes, warnings
try:
    ctypes.CDLL("libwattle.so.0")
except OSError:
    pass
else:
    print("SYSTEM")
    raise SystemExit
import wattle
with warnings.catch_warnings(record=True) as given:
    warnings.simplefilter("always")
    with wattle.Meter() as meter:
        with meter.window("w") as w:
            pass
        sample = meter.sampler().read()
assert [warning.category for warning in given] == [wattle.WattleWarning], given
assert "libwattle.so.0 cannot be loaded" in meter.reasons[0] or "closed" in meter.reasons[0]
assert "libwattle.so.0 cannot be loaded" in w.reasons[0] and w.verdict == "unknown"
assert w.method == "none" and w.status == "absent"
assert w.energy_j is None and w.gco2e is None and w.own is None and w.domains == {} and w.duration_s is None
assert sample.power_w == {} and meter.gpus() == [] and not meter.tick() and "cannot be loaded" in repr(w.reasons)
repr(w), w._repr_html_(), repr(meter), meter._repr_html_()
"""
    if "SYSTEM" in python(program, PYTHONPATH=tmp_path, LD_LIBRARY_PATH="").stdout:
        pytest.skip("libwattle is installed on this system")


@pytest.mark.parametrize("name, why", [("container-masked", "package-0"), ("eacces", "package-0"), ("vm-nothing", "package-0")])
def test_no_sensor_and_no_permission(root, name, why):
    if name == "eacces" and os.geteuid() == 0:
        why = ""
    meter, window, warned = opened(root=root(name), nvml="", attribution=False)
    with meter:
        assert len(warned) == 1 and warned[0].startswith("wattle: ") and window.method in ("none", "modelled")
        assert meter.reasons and all(meter.reasons) and why in warned[0]
        assert window.verdict != "ok" and window.reasons
        for domain in meter.domains:
            energy = window.domains[domain.name]
            assert domain.method != "none" or (energy.energy_j is None and energy.uncertainty_j is None and domain.reason)


def test_state_directory_that_cannot_be_written(python, machine):
    program = HEAD + """
with wattle.Meter(attribution=True) as m:
    with m.window() as w:
        sum(range(10**6))
    assert m.is_open and w.own is not None
"""
    python(program, machine.path, HOME="/proc/nowhere", XDG_STATE_HOME="")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_root_keeps_nothing_with_another_user(python, tmp_path):
    """sudo -E: that user could not look into a folder that root made there."""
    theirs, own = tmp_path / "theirs", tmp_path / "own"
    for folder in (theirs, own):
        folder.mkdir()
    os.chown(theirs, 65534, 65534)
    program = "import warnings; warnings.simplefilter('ignore'); import wattle; wattle.Meter().close()"
    python(program, XDG_STATE_HOME=theirs / "not" / "yet", HOME=own)
    assert list(theirs.iterdir()) == [] and (own / ".local/state/wattle").is_dir()


# ---- Interrupts ----

def test_interrupts_at_any_moment(python, machine):
    program = HEAD + """
import random
m, rng, armed = meter(interval_s=0.001), random.Random(1), threading.Event()
def interrupt():
    while True:
        armed.wait()
        armed.clear()
        time.sleep(rng.random() * 1e-3)
        os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
def work():
    armed.set()
    while True:
        with m.window("same"):
            with m.window("inner"):
                pass
        m.push("stack")
        m.pop()
caught, end = 0, time.monotonic() + 4
while time.monotonic() < end:
    try:
        work()
    except KeyboardInterrupt:
        caught += 1
    left = m.open_windows
    assert left in ((), ("stack",)), left  # it came between push and pop
    if left:
        w = m.pop()
        assert w.duration_s is not None, w.reasons
for i in range(64):
    m.begin(str(i))
assert m.end("0").duration_s is not None
print(caught)
"""
    assert int(python(program, machine.path).stdout) > 100


def test_interrupt_in_a_window(python, machine):
    program = HEAD + """
m = meter()
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    with m.window() as w:
        time.sleep(10)
except KeyboardInterrupt:
    print(w.verdict, m.open_windows, w.duration_s < 5)
"""
    assert python(program, machine.path).stdout.strip() in ("ok () True", "short () True", "incomplete () True")


def test_interrupt_during_slow_reads(python, machine, fake_nvml):
    """Python answers when the C call returns: some reads of 30 ms later at most."""
    program = HEAD + """
m, sent = meter(nvml=sys.argv[2]), []
def interrupt():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(0.3, interrupt).start()
try:
    while True:
        with m.window():
            m.tick()
except KeyboardInterrupt:
    took_s = time.monotonic() - sent[0]
assert m.open_windows == ()
print(took_s)
"""
    assert float(python(program, machine.path, fake_nvml("slow")).stdout) < 1.0


def test_a_notebook_is_interrupted(machine):
    """With jupyter_client 8 and ipykernel 7."""
    manager = pytest.importorskip("jupyter_client.manager", reason="jupyter_client is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    kernel, client = manager.start_new_kernel(kernel_name="python3")
    try:
        said = []

        def run(code):
            said.clear()
            client.execute_interactive(code, timeout=60, output_hook=lambda m: said.append(m["content"].get("text", "")))
            return "".join(said)

        run(HEAD.replace("import wattle", f"sys.argv[1:] = [{str(machine.path)!r}]; import wattle") + "m = meter()")
        threading.Timer(1, kernel.interrupt_kernel).start()
        run("with m.window('cell') as w:\n    time.sleep(30)")
        assert run("print(w.verdict != 'running', m.open_windows, w.duration_s < 20)").split("\n")[0] == "True () True"
        assert run("with m.window('next') as w: pass\nprint(w.energy_j is not None)").strip() == "True"
    finally:
        client.stop_channels()
        kernel.shutdown_kernel(now=True)


# ---- The interpreter's end ----

@pytest.mark.parametrize("end, code", [
    ("pass", 0),
    ("sys.exit(3)", 3),
    ("threading.Thread(target=sys.exit).start()", 0),
    ("threading.Thread(target=lambda: [m.tick() for _ in range(10**9)], daemon=True).start(); time.sleep(0.05)", 0),
    ("os._exit(0)", 0),
    ("os.kill(os.getpid(), signal.SIGTERM)", -15),
    ("del m", 0),
    ("raise SystemExit(w.running().duration_s < 0)", 0),
])
def test_exit_with_open_windows(python, machine, end, code):
    program = HEAD + "m = meter(attribution=True)\nm.begin('a'); block = m.window('b'); w = block.__enter__(); s = m.sampler()\n" + end
    done = python(program, machine.path, code=code, timeout=30)
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


# ---- Forks ----

CHILD = """
def child(w):
    assert w.energy_j is None and w.verdict == "unknown" and "forked" in w.reasons[0], w.reasons
    assert m.open_windows == () and not m.is_open and "open one in this process" in m.reasons[0]
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("error")
        with m.window() as own:
            pass
    assert own.energy_j is None
    with meter() as mine:
        with mine.window() as own:
            pass
        assert own.duration_s is not None
"""


def test_fork(python, machine):
    program = HEAD + CHILD + """
m = meter(attribution=True)
pid = -1
with m.window("outer") as w:
    m.begin("other")
    pid = os.fork()
    if pid == 0:
        child(w)
if pid == 0:
    assert w.verdict == "unknown" and w.duration_s is None
    sys.exit(7)  # by the interpreter's whole end
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
assert w.duration_s is not None and m.end("other").energy_j is not None and m.is_open
"""
    python(program, machine.path, timeout=30)


def test_fork_while_threads_measure(python, machine):
    program = HEAD + """
m = meter(interval_s=0.001)
def work():
    while True:
        with m.window():
            m.tick()
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
for _ in range(30):
    pid = os.fork()
    if pid == 0:
        with m.window() as w:
            pass
        os._exit(w.energy_j is not None)
    end = time.monotonic() + 10
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        assert time.monotonic() < end, "the child hangs"
        time.sleep(0.001)
"""
    python(program, machine.path, timeout=60)


@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_multiprocessing(tmp_path, python, machine, how):
    (tmp_path / "main.py").write_text(HEAD + """
import concurrent.futures, multiprocessing

def work(n):
    with meter() as m:
        with m.window() as w:
            pass
    return w.duration_s is not None

def main():
    m = meter(attribution=True)
    context = multiprocessing.get_context(sys.argv[2])
    with m.window("pool") as w:
        with context.Pool(2) as pool:
            assert pool.map(work, range(4)) == [True] * 4
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
            assert list(pool.map(work, range(4))) == [True] * 4
        process = context.Process(target=work, args=(1,))
        process.start()
        process.join(30)
        assert process.exitcode == 0
    assert w.duration_s is not None and m.open_windows == ()

if __name__ == "__main__":
    main()
""")
    python("import runpy, sys; sys.argv[0] = 'main.py'; exec(compile(open('main.py').read(), 'main.py', 'exec'))"
           if how == "fork" else "import subprocess, sys; subprocess.run([sys.executable, 'main.py', *sys.argv[1:]], check=True)",
           machine.path, how, timeout=120)


@pytest.mark.parametrize("how", ["fork", "forkserver"])  # CPython's own choice before 3.14, and since
def test_a_data_loader_with_workers(tmp_path, python, machine, how):
    """With Debian's torch 1.13.1."""
    if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode:
        pytest.skip("torch is not installed")
    (tmp_path / "main.py").write_text(HEAD + """
import torch
from torch.utils.data import DataLoader

def main():
    m = meter(sync="torch", attribution=True)
    for epoch in range(2):
        with m.window("epoch") as w:
            for batch in DataLoader(list(range(32)), batch_size=4, num_workers=2, multiprocessing_context=sys.argv[2]):
                with m.window("step", exact=False) as step:
                    pass
                assert step.duration_s is not None
        assert w.duration_s is not None and m.open_windows == ()

if __name__ == "__main__":
    main()
""")
    python("import subprocess, sys; subprocess.run([sys.executable, 'main.py', *sys.argv[1:]], check=True)", machine.path, how, timeout=120)


# ---- A GPU that is lost ----

def test_a_gpu_lost_in_a_window(python, machine, fake_nvml, tmp_path):
    script = tmp_path / "lost.nvml"
    gpu = "gpu A100\n  uuid GPU-{0}0570000-0000-4000-8000-000000000000\n  bus 00000000:0{0}:00.0\n  cc 8.0\n  power 0 const 100\n" \
          "  sensor counter gpu 20\n  sensor instant gpu 20 20\n"
    script.write_text("driver 550.54.15\n" + gpu.format(1) + "  lost from 1\n" + gpu.format(2))
    program = HEAD + """
m = meter(nvml=sys.argv[2], interval_s=0.02)
with m.window("w") as w:
    time.sleep(2)
lost, other = w.domains["gpu-0"], w.domains["gpu-1"]
assert w.verdict == "incomplete" and any(reason.startswith("gpu-0: ") for reason in w.reasons), (w.verdict, w.reasons)
assert lost.gap_s > 0.5 and lost.energy_j < 150 and lost.status != "ok", (lost, lost.gap_s, lost.status)
assert 190 < other.energy_j < 215 and other.gap_s < 0.1, other
with m.window("after") as after:
    time.sleep(0.1)
assert after.domains["gpu-0"].energy_j is None and after.verdict == "incomplete" and m.is_open
"""
    python(program, machine.path, fake_nvml(script))


# ---- Threads, garbage, many meters ----

def test_close_while_threads_use_it(machine):
    for _ in range(20):
        meter, failed = wattle.Meter(root=machine.path, nvml="", attribution=False, interval_s=0.001), []
        running = threading.Event()

        def work():
            try:
                for _ in range(300):
                    with meter.window("w") as w:
                        meter.tick()
                        w.running()
                    running.set()
                    meter.domains, meter.gpus(), meter.cost()
            except wattle.Error as error:
                if "the meter is closed" not in str(error):
                    failed.append(repr(error))
                running.set()
            except Exception as error:
                failed.append(repr(error))

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        running.wait()
        meter.close()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
        assert failed == []
        with pytest.raises(wattle.Error, match="the meter is closed"):
            meter.begin("w")


def held():
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))


def test_garbage_and_thousands_of_meters(machine):
    options = {"root": machine.path, "nvml": "", "attribution": False}
    wattle.Meter(**options).close()
    gc.collect()
    before = held()
    for i in range(2000):
        meter = wattle.Meter(**options, interval_s=0.1 if i % 10 == 0 else 0)
        meter.begin("w")
        if i % 2:
            meter.close()
        del meter
    gc.collect()
    assert held() == before
    cycle = wattle.Meter(**options)
    cycle.itself = cycle
    assert held() > before
    del cycle
    gc.collect()
    assert held() == before


def test_meters_with_attribution_leave_nothing(machine):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wattle.Meter(root=machine.path, nvml="").close()
        before = held()
        for _ in range(50):
            with wattle.Meter(root=machine.path, nvml="") as meter, meter.window("w", consumers=True):
                pass
    assert held() == before


def test_a_window_block_that_is_dropped(machine, meter):
    block = meter.window("w")
    window = block.__enter__()
    assert meter.open_windows == ("w",)
    del block
    assert meter.open_windows == () and window.verdict == "unknown" and window.reasons == ("the window was interrupted",)


def test_samplers_that_are_dropped(meter):
    for _ in range(100):
        meter.sampler().read()
    assert meter.open_windows == ()
