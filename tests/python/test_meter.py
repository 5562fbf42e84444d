# SPDX-License-Identifier: MIT
"""Windows, samples and users of energy, on machines whose counters the test moves."""

import asyncio
import contextvars
import random
import subprocess
import sys
import threading
import time

import pytest
import wattle
from conftest import REPO

J = 1_000_000


def test_a_window_has_what_the_counters_moved(machine, meter):
    with meter.window("step") as w:
        assert w.verdict == "running"
        machine.add("intel-rapl:0", 12_345_678)
        machine.add("intel-rapl:0:0", 5)
        machine.add("intel-rapl:1", 1)
        machine.add("intel-rapl:1:0", 1)
        time.sleep(0.03)
    assert w.energy_uj == 12_345_685
    assert w.domains["package-0"].energy_j == 12.345678
    assert w.domains["dram-0"].energy_uj == 5
    assert w.domains["package-1"].energy_uj == 1
    assert w.uncertainty_j > 0.3
    assert w.method == "counter" and w.status == "ok"
    assert w.mean_w == pytest.approx(w.energy_j / w.duration_s, rel=1e-6)
    assert w.verdict == "ok" and w.reasons == ()
    assert 0.03 <= w.duration_s < 5
    assert abs(w.begin_utc_s - time.time()) < 10
    assert w.own is None and w.own_j is None


def test_carbon_is_the_librarys(machine):
    with wattle.Meter(root=machine.path, nvml="", attribution=False, interval_s=0, location="FRA") as meter:
        with meter.window() as w:
            machine.add("intel-rapl:0", 36 * J)
    assert meter.carbon.location == "FRA" and meter.carbon.year >= 2022
    assert w.gco2e == pytest.approx(meter.carbon.intensity_g_per_kwh * 1e-5, rel=1e-3)
    assert w.gco2e_uncertainty > 2 * meter.carbon.uncertainty * w.gco2e


def test_begin_and_end_nest_and_overlap(machine, meter):
    meter.begin("epoch")
    machine.add("intel-rapl:0", 1 * J)
    meter.begin("step")
    machine.add("intel-rapl:0", 2 * J)
    assert meter.open_windows == ("epoch", "step")
    epoch = meter.end("epoch")
    machine.add("intel-rapl:0", 4 * J)
    assert meter.read("step").energy_j == 6
    assert meter.end("step").energy_j == 6
    assert epoch.energy_j == 3


@pytest.mark.parametrize("inherits", [False, True], ids=["", "context"])
def test_push_and_pop_are_of_the_task_or_thread(machine, meter, inherits):
    """A thread of a free-threaded CPython 3.14 begins with a copy of its parent's context."""
    meter.push("a")
    meter.push("a")
    machine.add("intel-rapl:0", J)
    failed = []

    def other():
        try:
            meter.push("own")
            assert meter.pop().name == "own"
            meter.pop()
        except wattle.WindowError as error:
            failed.append(str(error))

    context = contextvars.copy_context()
    thread = threading.Thread(target=lambda: context.run(other) if inherits else other())
    thread.start()
    thread.join()
    assert "pop without push" in failed[0]
    inner = meter.pop()
    machine.add("intel-rapl:0", J)
    outer = meter.pop()
    assert (inner.name, inner.energy_j, outer.name, outer.energy_j) == ("a", 1, "a", 2)


def test_tasks_of_asyncio_have_windows_of_their_own(machine, meter):
    async def step(name, turns):
        meter.push(name)
        with meter.window("inner"):
            await turns[0].wait()
        window = meter.pop()
        turns[1].set()
        return window

    async def main():
        first, second, done = asyncio.Event(), asyncio.Event(), asyncio.Event()
        tasks = [asyncio.create_task(step("a", (first, second))), asyncio.create_task(step("b", (second, done)))]
        await asyncio.sleep(0)
        machine.add("intel-rapl:0", J)
        first.set()
        return await asyncio.gather(*tasks)

    a, b = asyncio.run(main())
    assert (a.name, a.energy_j, b.name, b.energy_j) == ("a", 1, "b", 1)
    assert meter.open_windows == ()


def test_threads_share_a_meter(machine, meter):
    names = [f"w{i}" for i in range(8)]
    barrier = threading.Barrier(8, timeout=60)
    results, same = {}, []

    def work(name):
        for _ in range(50):
            with meter.window("same") as window:
                pass
            same.append(window)
        meter.begin(name)
        if barrier.wait() == 0:
            machine.add("intel-rapl:0", 3 * J)
        barrier.wait()
        results[name] = meter.end(name)

    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [results[name].energy_j for name in names] == [3] * 8
    assert len(same) == 400 and {window.energy_j for window in same} <= {0, None}  # None: the counters stood still for 2 s


def test_wrong_windows(meter):
    meter.begin("a")
    with pytest.raises(ValueError, match="'a' is open already; open are 'a'"):
        meter.begin("a")
    with pytest.raises(ValueError, match="no window 'b' is open; open are 'a'"):
        meter.end("b")
    with pytest.raises(wattle.WindowError):
        meter.cancel("b")
    for i in range(63):
        meter.begin(str(i))
    with pytest.raises(wattle.WindowError, match="too many windows are open"):
        meter.begin("one more")
    meter.reset()
    assert meter.open_windows == ()
    for name in ("", "a\0b", 5):
        with pytest.raises(ValueError, match="a window's name is text"):
            meter.begin(name)


def test_long_and_foreign_names(meter):
    for name in ("é" * 100, "é" * 101, "tab\tnewline\n", "tab newline", " blanks ", "blanks", "\udc80", "\udc81", "<i>"):
        with meter.window(name) as w:
            meter.begin(name + "x")
            meter.end(name + "x")
        assert w.name == name
    assert "<i>" not in w._repr_html_() and "&lt;i&gt;" in w._repr_html_()


def test_an_exception_ends_the_window(machine, meter):
    with pytest.raises(KeyboardInterrupt):
        with meter.window("w") as w:
            machine.add("intel-rapl:0", J)
            raise KeyboardInterrupt
    assert w.energy_j == 1 and meter.open_windows == ()


def test_a_sampler(machine, meter):
    sampler = meter.sampler()
    machine.add("intel-rapl:0", J)
    sampler.read()  # where the test had to wait for the first, counters have stood still for too long: its energy is not known
    machine.add("intel-rapl:0", 3 * J)
    time.sleep(0.05)
    sample = sampler.read()
    assert sample.energy_j["package-0"] == 3
    assert sample.power_w["package-0"] == pytest.approx(3 / sample.duration_s, rel=0.05)
    again = sampler.read()
    assert again.energy_j["package-0"] == 0 or (again.energy_j["package-0"] is None and again.duration_s > 0.02)
    assert abs(sample.t_utc_s - time.time()) < 10
    sampler.close()
    with pytest.raises(ValueError, match="no domain 'x'"):
        meter.sampler(["x"])
    with meter.sampler(["dram-1"]) as one:
        assert list(one.read().power_w) == ["dram-1"]


def test_what_this_process_used():
    with wattle.Meter(interval_s=0.05, nvml="") as meter:
        with meter.window("w", consumers=True) as w:
            subprocess.run([sys.executable, "-c", "sum(range(10**7))"], check=True)
            users = meter.consumers("w")
            mine = [row for row in users if row.state in ("running", "ended", "several")]
        assert mine and w.own.processes >= 2
        assert 0.05 < w.own.cpu_s < 60
        assert 0 < w.own_full_j <= w.energy_j
        assert w.own.full_uncertainty_j > 0
        assert w.own.domains["package-0"].full_j <= w.domains["package-0"].energy_j
        ledger = users.ledger()
        parts = ledger.live_uj + ledger.exited_uj + ledger.kernel_uj + ledger.idle_uj + ledger.unattributed_uj
        assert parts == ledger.total_uj == sum(row.share().full_uj for row in users)
        with pytest.raises(KeyError, match="no domain 'x'"):
            users.ledger("x")
        with meter.window("quick", exact=False) as quick:
            pass
        assert quick.own.is_earlier and not w.own.is_earlier


def test_gpus_that_are_mine(fake_nvml, machine, python):
    library = fake_nvml("eight-gpus")
    program = """
import sys, warnings, wattle
warnings.simplefilter("ignore")
m = wattle.Meter(root=sys.argv[1], nvml=sys.argv[2], attribution=False)
print(*[d.name for d in m.domains if d.kind == "gpu"])
"""
    every = [f"gpu-{i}" for i in range(8)]
    assert python(program, machine.path, library).stdout.split() == every
    assert python(program, machine.path, library, CUDA_VISIBLE_DEVICES="3,1").stdout.split() == ["gpu-1", "gpu-3"]
    assert python(program, machine.path, library, CUDA_VISIBLE_DEVICES="").stdout.split() == []
    assert python(program.replace("attribution", "gpus='all', attribution"), machine.path, library, CUDA_VISIBLE_DEVICES="3").stdout.split() == every
    assert python(program.replace("attribution", "gpus=[2], attribution"), machine.path, library).stdout.split() == ["gpu-2"]


def test_what_the_library_remarks_is_a_warning(fake_nvml, machine, python):
    program = "import sys, wattle; wattle.Meter(root=sys.argv[1], nvml=sys.argv[2], gpus='1,GPU-x', attribution=False)"
    said = python(program, machine.path, fake_nvml("eight-gpus")).stderr
    assert said.count("WattleWarning") == 1 and "GPU-x" in said


def test_gpu_details(fake_nvml, machine, python):
    program = """
import sys, time, warnings, wattle
warnings.simplefilter("ignore")
m = wattle.Meter(root=sys.argv[1], nvml=sys.argv[2])
for _ in range(50):
    gpus = m.gpus()
    if gpus: break
    time.sleep(0.05)
g = gpus[0]
print(g.index, g.domain, g.uuid[:4], g.memory_total_bytes > 2**30, g.power_limit_w > 50, g.processes is not None)
"""
    assert python(program, machine.path, fake_nvml("h100")).stdout.split() == ["0", "gpu-0", "GPU-", "True", "True", "True"]


def test_synchronisation(machine):
    calls = []
    with wattle.Meter(root=machine.path, nvml="", attribution=False, interval_s=0, sync=lambda: calls.append(1)) as meter:
        with meter.window():
            assert len(calls) == 1
        assert len(calls) == 2
        with meter.window(sync=False):
            pass
        meter.begin("a", sync=lambda: calls.append(2))
        meter.end("a")
        assert calls == [1, 1, 2, 2]
        meter.begin("b", sync=False)

        def fail():
            raise RuntimeError("the device is lost")

        with pytest.raises(RuntimeError):
            meter.end("b", sync=fail)
        assert meter.open_windows == ()
    with pytest.raises(ValueError, match="use 'torch', 'jax', 'cupy'"):
        wattle.Meter(sync="tensorflow")


def test_torch_is_waited_for_where_it_works(monkeypatch):
    """No machine here has a GPU: PyTorch's calls are stood in for."""
    import types

    waited = []
    cuda = types.SimpleNamespace(
        is_available=lambda: True,
        is_initialized=lambda: True,
        device_count=lambda: 4,
        current_device=lambda: 1,
        memory_reserved=lambda device: 2**20 if device == 2 else 0,
        synchronize=waited.append,
    )
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    wattle.synchronize("torch")
    assert waited == [1, 2]
    cuda.is_initialized = lambda: False
    wattle.synchronize("torch")
    assert waited == [1, 2]


def test_the_decorator(machine, meter):
    said = []

    @wattle.measure(meter=meter, report=said.append)
    def work(n):
        """Adds."""
        machine.add("intel-rapl:0", n * J)
        return n

    @wattle.measure(meter=meter, name="coroutine")
    async def later():
        await asyncio.sleep(0)
        machine.add("intel-rapl:0", 7 * J)
        return 7

    assert work(4) == 4 and work.window.energy_j == 4 and work.__doc__ == "Adds."
    assert said == [work.window] and said[0].name.endswith("work")
    assert asyncio.run(later()) == 7 and later.window.energy_j == 7 and later.window.name == "coroutine"


def test_measure_until(machine):
    meter = wattle.Meter(root=machine.path, nvml="", attribution=False, interval_s=0.005)
    chance = random.Random(7)

    def work():
        machine.add("intel-rapl:0", J // 50 + chance.randrange(7) * 10)
        for zone in ("intel-rapl:1", "intel-rapl:0:0", "intel-rapl:1:0"):
            machine.add(zone, 1)
        time.sleep(0.0005)

    result = wattle.measure_until(work, rel=0.01, meter=meter, max_s=20)
    assert result.is_reached and result.reasons == ()
    assert result.energy_j == pytest.approx(0.02003, rel=1e-3)
    assert 0 < result.interval_j <= 0.01 * result.energy_j
    assert result.calls == len(result.windows) * result.per_window and result.per_window > 1
    assert not any(window.is_short for window in result.windows)


def test_measure_until_gives_up(machine, meter):
    turns = iter(range(10**6))

    def work():
        machine.add("intel-rapl:0", J << next(turns) % 7)
        time.sleep(0.01)

    result = wattle.measure_until(work, rel=1e-6, meter=meter, max_s=0.2)
    assert not result.is_reached and "allow more with max_s" in result.reasons[0]
    with pytest.raises(ValueError, match="rel"):
        wattle.measure_until(work, rel=0)


def test_a_tape():
    with wattle.Meter(tape=REPO / "tests" / "fixtures" / "tapes" / "busy-thread.tape") as meter:
        meter.begin("all")
        while meter.tick():
            pass
        window = meter.end("all")
    assert window.energy_j == pytest.approx(2128, rel=0.01)


def test_a_window_travels(machine, meter):
    import json
    import pickle

    with meter.window("w") as w:
        machine.add("intel-rapl:0", 3 * J)
    for copy in (pickle.loads(pickle.dumps(w)), w):
        assert copy.energy_uj == w.energy_uj and copy.domains["package-0"].energy_j == 3
        assert (copy.reasons, copy.verdict, copy.gco2e, copy.running()) == (w.reasons, w.verdict, w.gco2e, copy)
    told = json.loads(json.dumps(w.to_dict()))
    assert told["energy_j"] == 3 and told["domains"]["package-0"]["uncertainty_j"] > 0 and told["own_j"] is None


@pytest.mark.parametrize(
    "wrong",
    [{"interval_s": -1}, {"interval_s": 1e-9}, {"interval_s": float("nan")}, {"max_windows": 0}, {"gpus": "al"}, {"gpus": [True]}, {"gpus": [-1]}],
)
def test_arguments_that_cannot_be_meant(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} (is|has)"):
        wattle.Meter(**wrong)


def test_a_machine_that_is_not_there():
    for wrong in ({"root": "/nonexistent"}, {"tape": "/nonexistent"}, {"nvml": "/nonexistent/libnvidia-ml.so.1"}):
        with pytest.raises(wattle.Error, match="/nonexistent"):
            wattle.Meter(**wrong)


def test_a_closed_meter_begins_nothing(machine):
    meter = wattle.Meter(root=machine.path, nvml="", attribution=False, interval_s=0)
    meter.begin("a")
    meter.close()
    with pytest.raises(wattle.Error, match="the meter is closed"):
        meter.begin("b")
    with pytest.raises(wattle.WindowError):
        meter.end("a")


def test_a_warning_is_given_once(python):
    program = """
import wattle
def mine():
    wattle.Meter(nvml="", root=ROOT)
for _ in range(3):
    mine()
wattle.measure_until(lambda: sum(range(10**5)), max_s=0.1, meter=wattle.Meter(nvml="", root=ROOT))
""".replace("ROOT", repr(str(REPO / "tests" / "fixtures" / "roots" / "vm-nothing")))
    said = python(program).stderr
    assert said.count("WattleWarning") == 1 and "guessed from load (modelled)" in said and "<string>:4" in said


def test_what_measure_cannot_decorate():
    def loader():
        yield 1

    with pytest.raises(TypeError, match="generator function"):
        wattle.measure(loader)
    with pytest.raises(TypeError, match="name="):
        wattle.measure("epoch")


def test_measure_until_of_a_meter_that_is_closed(machine):
    meter = wattle.Meter(root=machine.path, nvml="", attribution=False, interval_s=0)
    calls = []

    def work():
        calls.append(machine.add("intel-rapl:0", J))
        if len(calls) == 3:
            meter.close()

    with pytest.raises(wattle.Error, match="closed"):
        wattle.measure_until(work, meter=meter, max_s=60)


def test_abi_is_the_headers():
    headers = [REPO / "include" / "wattle.h", REPO / "include" / "wattle-recording.h"]
    subprocess.run([sys.executable, REPO / "tools" / "mkabi.py", "--check", REPO / "python" / "wattle" / "_abi.py", *headers], check=True)


def test_structs_are_as_large_as_the_compilers(tmp_path):
    """The compiler's sizes and offsets, so that what mkabi.py understood of the headers is right."""
    import ctypes
    import re
    import shutil

    from wattle import _abi

    if not shutil.which("cc"):
        pytest.skip("there is no compiler")
    structs = {name: thing for name, thing in vars(_abi).items() if isinstance(thing, type) and issubclass(thing, ctypes.Structure)}
    structs.pop("Structure")
    asked, expected = [], []
    for name, struct in structs.items():
        tag = "wattle" + re.sub(r"([A-Z])", r"_\1", name).lower()
        asked.append(f'printf("{name} %zu\\n", sizeof(struct {tag}));')
        expected.append(f"{name} {ctypes.sizeof(struct)}")
        for field in struct._fields_:
            asked.append(f'printf("{name}.{field[0]} %zu\\n", offsetof(struct {tag}, {field[0]}));')
            expected.append(f"{name}.{field[0]} {getattr(struct, field[0]).offset}")
    source = tmp_path / "sizes.c"
    source.write_text("#include <stdio.h>\n#include <wattle-recording.h>\nint main(void)\n{\n" + "\n".join(asked) + "\nreturn 0;\n}\n")
    subprocess.run(["cc", "-I", REPO / "include", "-o", tmp_path / "sizes", source], check=True)
    assert len(structs) > 15
    assert subprocess.run([tmp_path / "sizes"], capture_output=True, text=True, check=True).stdout.splitlines() == expected
