# SPDX-License-Identifier: MIT
"""wattle.compat.zeus: the same scripts with Zeus' import line and with wattle's, on the same machine.

Held against zeus 0.16.0 and, for the logs of 2022, zeus-ml 0.1.0.
"""

import csv
import dataclasses
import importlib.metadata
import json
import math
import os
import pickle
import re
import signal
import statistics
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest
import wattle
from conftest import BUILD, REPO
from wattle.compat.zeus import PowerMonitor, ProfilingResult, ZeusMonitor

SIM = BUILD / "tests" / "sim" / "sim"
FAKE = BUILD / "tests" / "fake"
ZEUS, OLD = "0.16.0", "0.1.0"
REAL = "from zeus.monitor import ZeusMonitor, PowerMonitor"
OURS = "from wattle.compat.zeus import ZeusMonitor, PowerMonitor"
TORCH = """
calls = []
class Tensor: pass
class cuda:
    current_device = staticmethod(lambda: 0)
    device_count = staticmethod(lambda: 2)  # more than are measured
    is_available = is_initialized = staticmethod(lambda: True)
    synchronize = staticmethod(calls.append)
"""


def has_zeus():
    try:
        return importlib.metadata.version("zeus") == ZEUS
    except importlib.metadata.PackageNotFoundError:
        return False


beside_zeus = pytest.mark.skipif(not has_zeus(), reason=f"zeus {ZEUS} is not installed")
simulated = pytest.mark.skipif(not SIM.exists(), reason="no simulated machine was built")


def fake_script(name):
    return REPO / "tests" / "fake" / "scripts" / f"{name}.nvml"


@pytest.fixture
def environment(tmp_path):
    """For programs on the fake NVML, with a PyTorch that counts how often it is waited for."""
    (tmp_path / "stub").mkdir()
    (tmp_path / "stub" / "torch.py").write_text(TORCH)
    paths = list(filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))

    def make(gpus="two", torch=True, **more):
        stub = [str(tmp_path / "stub")] if torch else []
        return {
            **{name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"},
            "PYTHONPATH": os.pathsep.join([*stub, *paths]),
            "LD_LIBRARY_PATH": str(FAKE),
            "WATTLE_FAKE_NVML": str(gpus if os.sep in str(gpus) else fake_script(gpus)),
            **more,
        }

    return make


@pytest.fixture
def run(tmp_path, environment):
    """Runs a script with an import line on top, and gives what it printed as JSON."""

    def do(line, script, **options):
        path = tmp_path / f"script{len(list(tmp_path.glob('script*')))}.py"
        path.write_text(f"{line}\nimport json, sys, time, warnings\n{script}")
        done = subprocess.run(
            [sys.executable, path], capture_output=True, text=True, timeout=120, env=environment(**options), cwd=tmp_path
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return do


# ---- The example of Zeus' documentation, on a machine whose truth is known ----

MACHINE = """
seed 1
duration 4
socket idle=74.05 dram=4
socket idle=69.86 dram=6
others 20
gpu idle=55 full=300 memory=81920
worker one watts=20 dram=1 duty=0.2
worker other watts=20 dram=1 duty=0.2 socket=1
gpu-use one sm=60 memory=20000
"""

TRAINING = r"""
import re, torch

def train_one_step(x, y):
    time.sleep(0.4)

if __name__ == "__main__":
    monitor = ZeusMonitor(log_file=sys.argv[1])
    monitor.begin_window("epoch")
    steps = []
    for x, y in [(1, 2)] * 6:
        monitor.begin_window("step")
        train_one_step(x, y)
        result = monitor.end_window("step")
        steps.append(result)
    mes = monitor.end_window("epoch")
    print(f"Epoch consumed {mes.time} s and {mes.total_energy} J.")
    avg_time = sum(map(lambda m: m.time, steps)) / len(steps)
    avg_energy = sum(map(lambda m: m.total_energy, steps)) / len(steps)
    print(f"One step took {avg_time} s and {avg_energy} J on average.")
    parts = {"gpu": mes.gpu_energy, "cpu": mes.cpu_energy, "dram": mes.dram_energy}
    print(json.dumps({
        "parts": parts, "time": mes.time, "total": mes.total_energy, "soc": mes.soc_energy,
        "pm": {name: getattr(mes, name + "_uncertainty", {}) for name in parts}, "waits": torch.calls,
        "steps": sum(step.total_energy for step in steps), "fields": re.findall(r"\w+(?==)", repr(mes)),
    }))
"""


def truth(folder, begin_s, took_s):
    """Joules of each domain within a window, from what the simulated machine drew."""
    with open(folder / "trace.csv") as file:
        rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]

    def at(key, t_s):
        later = next(i for i, row in enumerate(rows) if row["t_utc_ns"] / 1e9 >= t_s)
        a, b = rows[later - 1], rows[later]
        part = (t_s - a["t_utc_ns"] / 1e9) / (b["t_utc_ns"] - a["t_utc_ns"]) * 1e9
        return (a[key] + part * (b[key] - a[key])) / 1e6

    return {key[:-3]: at(key, begin_s + took_s) - at(key, begin_s) for key in rows[0] if key != "t_utc_ns"}


@beside_zeus
@simulated
def test_the_documented_example_beside_zeus_and_the_truth(tmp_path, environment):
    (tmp_path / "machine.sim").write_text(MACHINE)
    for name, line in (("zeus", REAL), ("wattle", OURS)):
        (tmp_path / f"run-{name}.py").write_text(f"{line}\nimport json, sys, time\n{TRAINING}")
    both = " & ".join(f"'{sys.executable}' run-{name}.py {name}.csv > {name}.json 2> {name}.err" for name in ("zeus", "wattle"))
    env = {name: value for name, value in environment().items() if "NVML" not in name and name != "LD_LIBRARY_PATH"}
    tool = ["sh", "-c", f"cd '{tmp_path}'; sleep 1; {both} & wait"]
    command = [SIM, tmp_path / "machine.sim", tmp_path / "out", "--", *tool]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env)
    assert done.returncode == 0, done.stderr
    said, logs = {}, {}
    for name in ("zeus", "wattle"):
        out = (tmp_path / f"{name}.json").read_text()
        assert out, (tmp_path / f"{name}.err").read_text()
        said[name] = json.loads(out.splitlines()[-1])
        with open(tmp_path / f"{name}.csv") as file:
            logs[name] = list(csv.DictReader(file))
    pm = said["wattle"]["pm"]
    for name, it in said.items():
        epoch = logs[name][-1]
        assert it["time"] == pytest.approx(float(epoch["elapsed_time"]))
        true = truth(tmp_path / "out", float(epoch["start_time"]), it["time"])
        for part, domain in (("gpu", "gpu"), ("cpu", "package"), ("dram", "dram")):
            assert list(it["parts"][part]) == (["0"] if part == "gpu" else ["0", "1"])
            for index, joules in it["parts"][part].items():
                assert joules == pytest.approx(true[f"{domain}-{index}"], rel=0.06, abs=0.4), (name, part, index)
                assert abs(joules - true[f"{domain}-{index}"]) <= pm[part][index]
        assert it["total"] == pytest.approx(sum(it["parts"]["gpu"].values()))
        assert it["steps"] == pytest.approx(it["total"], rel=0.15)
        assert float(epoch["gpu0_energy"]) == it["parts"]["gpu"]["0"]
    zeus, wattle = said["zeus"], said["wattle"]
    assert wattle["time"] == pytest.approx(zeus["time"], abs=0.5)
    assert [wattle[key] for key in ("soc", "fields", "waits")] == [zeus[key] for key in ("soc", "fields", "waits")]
    assert [list(row) for row in logs["wattle"]] == [list(row) for row in logs["zeus"]]
    assert [row["window_name"] for row in logs["wattle"]] == [row["window_name"] for row in logs["zeus"]]


# ---- What is asked and answered, word by word ----

ANSWERS = """
import torch

def said(call, *args, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer = call(*args, **options)
        except Exception as error:
            return [[kind.__name__ for kind in type(error).__mro__ if kind in (ValueError, RuntimeError)], str(error)[:34]]
    zero = any("counter" in str(one.message) for one in caught)
    return answer if not hasattr(answer, "gpu_energy") else [answer.gpu_energy, answer.cpu_energy, zero]

if __name__ == "__main__":
    made = []
    monitor = ZeusMonitor()
    made.append([monitor.gpu_indices, monitor.cpu_indices, monitor.log_file, monitor.sync_with])
    made.append(said(monitor.begin_window, "a"))
    made.append(said(monitor.begin_window, "a"))
    made.append(said(monitor.begin_window, "a", restart=True))
    made.append(said(monitor.begin_window, "b", False))
    made.append(said(monitor.end_window, "c"))
    time.sleep(0.3)
    made.append(said(monitor.end_window, "b", cancel=True))
    made.append(said(monitor.end_window, "b"))
    made.append([joules > 10 for joules in said(monitor.end_window, "a", sync_execution=False)[0].values()])
    monitor.begin_window("a")
    made.append(said(monitor.reset_windows))
    made.append(said(monitor.end_window, "a"))
    made.append(said(monitor.begin_window, "x" * 500))
    made.append(said(monitor.end_window, "x" * 500)[2])
    made.append(torch.calls)
    one = ZeusMonitor(gpu_indices=[1], cpu_indices=[])
    made.append([one.gpu_indices, one.cpu_indices])
    one.begin_window("a")
    time.sleep(1)
    made.append([*one.end_window("a").gpu_energy])
    none = ZeusMonitor([])
    none.begin_window("a")
    made.append(none.end_window("a").gpu_energy)
    torch.cuda = None  # as if it were not there
    made.append(said(none.begin_window, "a"))
    made.append(said(lambda: ZeusMonitor([7]))[0])
    print(json.dumps(made))
"""


@beside_zeus
@pytest.mark.parametrize("visible", [None, "1,0", "1"])
def test_same_answers(run, visible):
    more = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    script = ANSWERS.replace("[1], cpu", "[0], cpu") if visible == "1" else ANSWERS
    ours, zeus = run(OURS, script, **more), run(REAL, script, **more)
    assert ours[:-1] == zeus[:-1]
    assert ours[-1] == ["ValueError"]  # Zeus' own class is none of Python's


NO_TORCH = """
sys.modules["torch"] = None
if __name__ == "__main__":
    try:
        ZeusMonitor().begin_window("a")
    except RuntimeError as error:
        print(json.dumps("torch" in str(error).lower()))
"""


@beside_zeus
def test_without_pytorch(run):
    assert run(OURS, NO_TORCH) is run(REAL, NO_TORCH) is True


NO_CUDA = """
import torch
torch.cuda.is_available = torch.cuda.is_initialized = lambda: False
if __name__ == "__main__":
    try:
        ZeusMonitor().begin_window("a")
        print(json.dumps(torch.calls))
    except RuntimeError:
        print(json.dumps("RuntimeError"))
"""


@beside_zeus
def test_pytorch_without_cuda(run):
    assert (run(OURS, NO_CUDA), run(REAL, NO_CUDA)) == ([], "RuntimeError")


SHORT = """
if __name__ == "__main__":
    monitor = ZeusMonitor(approx_instant_energy=True)
    monitor.begin_window("a")
    time.sleep(1.5)
    monitor.reset_windows()
    found = []
    for _ in range(20):
        monitor.begin_window("step")
        time.sleep(0.02)
        mes = monitor.end_window("step")
        found.append([mes.time, *mes.gpu_energy.values()])
    print(json.dumps([sum(figures) for figures in zip(*found)]))
"""


def test_windows_in_which_the_counter_does_not_move(run):
    """20 of 20 ms. In Zeus, those that hold an update of the counter get all of it: nearly twice as much in all."""
    took_s, *joules = run(OURS, SHORT)
    assert joules == pytest.approx([100 * took_s, 200 * took_s], rel=0.15)


LOST = """
warnings.simplefilter("ignore")
monitor = ZeusMonitor(approx_instant_energy=True)
time.sleep(1.5)
end = time.monotonic() + 4
while time.monotonic() < end:
    monitor.begin_window("step")
    time.sleep(0.05)
    mes = monitor.end_window("step")
    if time.monotonic() < end - 3:
        before = mes
energies = [[energy / m.time * 0.05 for energy in m.gpu_energy.values()] for m in (before, mes)]
print(json.dumps([[*energy, *m.gpu_uncertainty.values()] for energy, m in zip(energies, (before, mes))]))
"""


def test_no_energy_is_made_up_for_a_gpu_that_is_lost(run, tmp_path):
    script = tmp_path / "lost.nvml"
    script.write_text(fake_script("two").read_text() + "  lost from 3\n")
    before, after = run(OURS, LOST, gpus=script)
    assert before == pytest.approx([5, 10, 10, 20], rel=0.3)  # ± the 0.1 s that an update takes
    assert after == pytest.approx([5, math.nan, 10, math.nan], rel=0.3, nan_ok=True)


UNKNOWN = """
monitor = ZeusMonitor(log_file="a/b/log.csv")
for key in ("=HYPERLINK(1)", "a\\nb"):
    monitor.begin_window(key)
    monitor.end_window(key)
monitor.begin_window("one, \\"two\\"")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    time.sleep(1)
    mes = monitor.end_window("one, \\"two\\"")
said = [str(one.message) for one in caught]
print(json.dumps([mes.gpu_energy, mes.gpu_uncertainty, said, mes.window.verdict]))
"""


def test_a_gpu_that_is_lost(run, tmp_path):
    script = tmp_path / "lost.nvml"
    script.write_text(fake_script("two").read_text() + "  lost from 0.5\n")
    gpus, pm, said, verdict = run(OURS, UNKNOWN, gpus=script)
    assert gpus["0"] == pytest.approx(100, abs=pm["0"])
    assert len(said) == 1 and said[0].startswith("the energy of GPU 1 is not known") and verdict == "incomplete"
    with open(tmp_path / "a" / "b" / "log.csv") as file:
        formula, lines, row = csv.DictReader(file)
    assert (formula["window_name"], lines["window_name"]) == ("'=HYPERLINK(1)", r"a\nb")
    assert row["window_name"] == 'one, "two"' and float(row["gpu0_energy"]) == gpus["0"]


VISIBLE = """
monitor = ZeusMonitor()
monitor.begin_window("a")
time.sleep(1)
print(json.dumps([*monitor.end_window("a").gpu_energy.values()]))
"""


@pytest.mark.parametrize(
    "visible, gpus, joules",
    [
        ("GPU-10570000-0000-4000-8000-000000000001", "two", [200]),
        ("gpu-10570000-0000-4000-8000-000000000001,0", "two", [200, 100]),
        ("1,9,0", "two", [200]),  # CUDA sees none after one that is not there
        ("MIG-00000000-0000-0000-0000-000000000000", "a100-mig", [100]),
        ("", "two", []),
        (None, "pascal", [32]),
    ],
)
def test_gpus_that_zeus_cannot_measure(run, visible, gpus, joules):
    more = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    assert run(OURS, VISIBLE, gpus=gpus, **more) == [pytest.approx(j, rel=0.15) for j in joules]


def test_packages_and_dram(machine):
    with pytest.warns(wattle.WattleWarning, match="there is no GPU") as said:
        monitor = ZeusMonitor(root=machine.path, nvml="", interval_s=0)
    assert len(said) == 1 and said[0].filename == __file__
    assert monitor.cpu_indices == [0, 1] and monitor.gpu_indices == []
    monitor.begin_window("a")
    machine.add("intel-rapl:0", 12_345_678)
    for zone, energy_uj in (("intel-rapl:1", 7), ("intel-rapl:0:0", 3), ("intel-rapl:1:0", 5)):  # what stands still for long is not known
        machine.add(zone, energy_uj)
    mes = monitor.end_window("a")
    assert mes.cpu_energy == {0: 12.345678, 1: 0.000007} and mes.dram_energy == {0: 0.000003, 1: 0.000005}
    assert (mes.gpu_energy, mes.total_energy, mes.soc_energy) == ({}, 0, None)
    assert mes.cpu_uncertainty[0] > 0.3 and mes.window.domains["package-0"].energy_uj == 12_345_678
    fields = ["time", "gpu_energy", "cpu_energy", "dram_energy", "soc_energy"]
    assert [*dataclasses.asdict(mes)] == [*json.loads(json.dumps(dataclasses.asdict(mes)))] == fields
    assert pickle.loads(pickle.dumps(mes)) == mes
    assert [*dataclasses.asdict(ProfilingResult(1.0, [2.0]))] == ["time", "energy"]
    assert repr(monitor) == "<wattle.compat.zeus.ZeusMonitor: GPUs [], CPUs [0, 1]>"
    one = ZeusMonitor(cpu_indices=[1], root=machine.path, nvml="", interval_s=0)
    one.begin_window("a")
    machine.add("intel-rapl:1", 1_000_000)
    assert one.end_window("a").cpu_energy == {1: 1}
    with pytest.raises(ValueError, match="no CPU package 2: there are 2"):
        ZeusMonitor(cpu_indices=[2], root=machine.path, nvml="")
    with pytest.raises(ValueError, match="no GPU 0: there are 0"):
        ZeusMonitor([0], root=machine.path, nvml="")


def test_packages_that_may_not_be_read(root):
    options = {"root": root("eacces"), "nvml": ""}
    with pytest.warns(wattle.WattleWarning):
        monitor = ZeusMonitor(**options)
        with pytest.raises(RuntimeError, match="package-0: .*Permission denied"):
            ZeusMonitor(cpu_indices=[0], **options)
    monitor.begin_window("a")
    mes = monitor.end_window("a")
    assert (mes.cpu_energy, mes.dram_energy) == (None, None)


def test_a_log_that_cannot_be_written(machine):
    with pytest.raises(OSError):
        ZeusMonitor(log_file="/proc/nowhere/log.csv", root=machine.path, nvml="")


def test_in_a_fork(machine):
    monitor = ZeusMonitor(root=machine.path, nvml="", interval_s=0)
    monitor.begin_window("a")
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            with pytest.raises(ValueError, match="'a' does not exist; open are none"):
                monitor.end_window("a")
            monitor.begin_window("a")
            mes = monitor.end_window("a")
            status = 0 if math.isnan(mes.cpu_energy[0]) and "fork" in mes.window.reasons[0] else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    machine.add("intel-rapl:0", 1_000_000)
    assert monitor.end_window("a").cpu_energy[0] == 1


# ---- Power over time ----

POWER = """
from itertools import chain

def kind(call, *args, **options):
    try:
        return type(call(*args, **options)).__name__
    except ValueError:
        return "ValueError"

if __name__ == "__main__":
    made = [kind(PowerMonitor, gpu_indices=[]), kind(PowerMonitor, power_domains=[]), kind(PowerMonitor, power_domains=["soc"])]
    made.append(kind(PowerMonitor, power_domains=["memory_average"]))
    monitor = PowerMonitor(update_period=0.1, power_domains=["device_instant"])
    made += [monitor.gpu_indices, monitor.update_period, [domain.value for domain in monitor.measurement_domains]]
    time.sleep(1)
    start = time.time()
    time.sleep(2)
    end = time.time()
    energy, power, lines = monitor.get_energy(start, end), monitor.get_power(), monitor.get_all_power_timelines()
    one = monitor.get_power_timeline("device_instant", gpu_index=1, end_time=end)
    points = [*chain(*one.values(), *(line for of in lines.values() for line in of.values()))]
    made += [[*energy], {domain: [*of] for domain, of in lines.items()}, [*one]]
    made.append(sorted({type(part).__name__ for point in points for part in point}))
    made += [[*monitor.get_power(start)], *(kind(monitor.get_power_timeline, name) for name in ("memory_average", "else"))]
    monitor.stop()
    print(json.dumps([made, energy, power, lines, [start, end]]))
"""


@beside_zeus
def test_power_beside_zeus(run):
    (made, energy, power, lines, span), theirs = run(OURS, POWER), run(REAL, POWER)
    assert made == theirs[0]
    assert [*power] == [*theirs[2]]
    assert theirs[2] == {"0": 100, "1": 200}
    took_s = span[1] - span[0]
    assert energy == {"0": pytest.approx(100 * took_s, abs=15), "1": pytest.approx(200 * took_s, abs=30)}
    assert theirs[1] == {"0": 0, "1": 0}  # a power that does not change is one sample, and so no energy
    times, watts = zip(*lines["device_instant"]["0"])
    assert sorted(times) == [*times] and len(times) >= 20
    assert sum(watts) / len(watts) == pytest.approx(100, rel=0.1)


def test_a_period_that_cannot_be():
    for period in (-1, math.nan, math.inf):
        with pytest.raises(ValueError, match=f"update_period cannot be {period} s"):
            PowerMonitor(update_period=period)


MEMORY = """
import gc, threading
monitor = PowerMonitor(update_period=0.05, max_samples_per_gpu=5)
assert repr(monitor) == "<wattle.compat.zeus.PowerMonitor: GPUs [0], every 0.05 s>"
time.sleep(1)
lines = monitor.get_all_power_timelines()
before, future = monitor.get_energy(0, 1), monitor.get_energy(time.time() + 9, time.time() + 10)
dropped, kept = monitor.get_energy(time.time() - 0.9, time.time()), monitor.get_energy(time.time() - 0.1, time.time())
del monitor
gc.collect()
time.sleep(0.2)
print(json.dumps([lines, [*before.values(), *future.values(), *dropped.values()], kept[0], [thread.name for thread in threading.enumerate()]]))
"""


def test_power_of_memory_and_what_is_kept(run):
    lines, outside, kept, threads = run(OURS, MEMORY, gpus="h100")
    assert [*lines] == ["device_instant", "device_average", "memory_average"]
    assert all(3 <= len(line["0"]) <= 5 for line in lines.values())  # of the newest the counter may not have moved yet
    for watts, domain in ((77, "device_instant"), (0.42 * 77, "memory_average")):
        found = statistics.median(point[1] for point in lines[domain]["0"])
        assert found == pytest.approx(watts, rel=0.4)  # not 0 and twice as much in turn: the counter moves every 0.1 s
    assert all(map(math.isnan, outside)) and 0 <= kept < 30 and threads == ["MainThread"]


FORK = """
import gc, os, signal
monitor = PowerMonitor(update_period=0.05)
time.sleep(0.5)
locks = monitor._lock, monitor._stopped._cond  # which its thread may hold when it comes to a fork
for lock in locks:
    lock.acquire()
pid = os.fork()
if pid:
    for lock in locks:
        lock.release()
else:
    signal.alarm(10)
    there = len(monitor.get_power()) == len(monitor.get_energy(time.time() - 0.3, time.time())) == 2
    monitor.stop()
    del monitor
    gc.collect()
    os._exit(0 if there else 1)
status = os.waitpid(pid, 0)[1]
before = len(monitor.get_power_timeline("device_instant")[0])
time.sleep(0.5)
print(json.dumps([status, len(monitor.get_power_timeline("device_instant")[0]) - before]))
"""


def test_power_in_a_fork(run):
    """The child has what was measured until then, and waits for nobody; the parent goes on."""
    status, more = run(OURS, FORK)
    assert status == 0 and more > 1


# ---- Zeus of 2022 ----

SERVICE = """
import os
import re
from wattle.compat.zeus import ZeusProfilingService
"""


@pytest.fixture(scope="session")
def old_zeus(tmp_path_factory):
    """The sources of zeus-ml 0.1.0."""
    path = tmp_path_factory.mktemp("old")
    options = ["--quiet", "--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--disable-pip-version-check"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", *options, f"zeus-ml=={OLD}"], cwd=path, capture_output=True, text=True
    )
    if done.returncode != 0:
        pytest.skip(f"zeus-ml {OLD} is not to be had: {done.stderr.splitlines()[-1]}")
    with tarfile.open(path / f"zeus-ml-{OLD}.tar.gz") as file:
        file.extractall(path)
    return path / f"zeus-ml-{OLD}"


def analyzed(log, *span, path):
    """What zeus-ml makes of a log: joules and watts."""
    program = f"from zeus.analyze import energy, avg_power; print(*(call({str(log)!r}, *{span}) for call in (energy, avg_power)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=path, check=True)
    return [float(word) for word in done.stdout.split()]


def monitors(folder):
    """Processes that write there."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"wattle.compat.zeus" in words and any(str(folder).encode() in word for word in words):
            found.append(int(path.parent.name))
    return found


def until(true, seconds=10):
    end_s = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end_s
        time.sleep(0.05)


NESTED = """
service = ZeusProfilingService(monitor_log_dir=os.path.abspath("logs"), monitor_log_prefix="run")
service.push_window()
time.sleep(1)
service.push_window()
time.sleep(1)
inner_s, inner_j = service.pop_window()
time.sleep(1)
outer = service.pop_window()
try:
    service.pop_window()
except RuntimeError as error:
    print(json.dumps([inner_s, inner_j, outer.time, outer.energy, outer.uncertainty, str(error)]))
"""


@pytest.mark.parametrize("log, gpu, text", [("log", "9", "no GPU 9: there are 2"), ("/proc/no/log", "0", "No such file")])
def test_a_monitor_that_cannot_begin(environment, tmp_path, log, gpu, text):
    command = [sys.executable, "-m", "wattle.compat.zeus", log, "1", "100", gpu]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment(), cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith("python -m wattle.compat.zeus: ") and text in done.stderr


def test_nested_windows_and_logs(run, tmp_path):
    inner_s, inner_j, outer_s, outer_j, pm, text = run(SERVICE, NESTED)
    assert inner_s == pytest.approx(1, abs=0.3) and outer_s == pytest.approx(3, abs=0.5)
    for gpu in (0, 1):
        power_w = 100 * (gpu + 1)
        assert inner_j[gpu] == pytest.approx(power_w * inner_s, abs=0.15 * power_w)
        assert outer_j[gpu] == pytest.approx(power_w * outer_s, abs=min(pm[gpu], 0.15 * power_w))
        lines = (tmp_path / "logs" / f"run+gpu{gpu}.power.csv").read_text().splitlines()
        assert lines[0] == "Time,Power" and len(lines) > 15
        assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{9},\d+", line) for line in lines[1:])
    assert text.startswith("No profiling window active")
    assert monitors(tmp_path) == []


def test_old_zeus_reads_the_logs(run, tmp_path, old_zeus):
    run(SERVICE, NESTED)
    joules, watts = analyzed(tmp_path / "logs" / "run+gpu1.power.csv", 0.25, 1.25, path=old_zeus)
    assert watts == pytest.approx(200, rel=0.05) and joules == pytest.approx(200, rel=0.15)  # it takes whole samples


WAITS = """
if __name__ == "__main__":
    service = ZeusProfilingService([0], "zeus_monitor", os.path.abspath("logs"))
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        pass
    if os.fork() == 0:
        sys.exit(0)
    os.wait()
    time.sleep(60)
"""


@pytest.fixture
def waiting(tmp_path, environment):
    """A script that waits for a signal, while its monitor writes."""
    (tmp_path / "waits.py").write_text(f"{SERVICE}\nimport sys, time\n{WAITS}")
    command = [sys.executable, tmp_path / "waits.py"]
    with subprocess.Popen(command, env=environment(), cwd=tmp_path, start_new_session=True) as process:
        log = tmp_path / "logs" / "+gpu0.power.csv"
        until(lambda: log.exists() and log.read_text().count("\n") > 3)
        yield process, log
        process.kill()


def test_the_monitor_ends_with_a_parent_that_is_killed(waiting, tmp_path):
    process, log = waiting
    assert len(monitors(tmp_path)) == 1
    process.send_signal(signal.SIGKILL)
    process.wait()
    until(lambda: monitors(tmp_path) == [], 3)
    assert re.fullmatch(r"\S+ \S+,\d+\n", log.read_text().splitlines(keepends=True)[-1])


def test_the_monitor_outlives_ctrl_c_and_forks(waiting, tmp_path):
    process, log = waiting
    os.killpg(process.pid, signal.SIGINT)
    time.sleep(1)
    lines = log.read_text().count("\n")
    until(lambda: log.read_text().count("\n") > lines + 3)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)  # ends it
    process.wait()
    assert monitors(tmp_path) == []


LOADER = """
import atexit, torch
atexit.register(print, "[]")  # after what zeus-ml prints at the end
torch.cuda.device_count = lambda: 1
from zeus.profile.torch import ProfileDataLoader
for batch in ProfileDataLoader(list(range(10)), batch_size=1, split="train"):
    time.sleep(0.3)
"""


def test_old_zeus_with_this_monitor(run, tmp_path, old_zeus):
    pytest.importorskip("torch")
    monitor = tmp_path / "zeus_monitor"
    monitor.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m wattle.compat.zeus \"$@\"\n")
    monitor.chmod(0o755)
    more = {"ZEUS_MONITOR_PATH": str(monitor), "ZEUS_LOG_PREFIX": str(tmp_path / "run")}
    run(f"import sys; sys.path.insert(0, {str(old_zeus)!r})", LOADER, torch=False, **more)
    _, watts = analyzed(tmp_path / "run+gpu0.power.csv", path=old_zeus)
    assert watts == pytest.approx(100, rel=0.05)
    until(lambda: monitors(tmp_path) == [], 3)
