# SPDX-License-Identifier: MIT
"""wattle profile --kineto: joules of the kernels in a trace as torch.profiler writes it, and the copy of the trace that has them.

There is no GPU: the fake NVML has the power, and the profiled program writes what Kineto would have written.
"""

import json
import os
from decimal import Decimal

import pytest

from conftest import REPO, parse_json, run_wattle
from test_profile import built_program  # noqa: F401 (a fixture)

PROGRAM = """
import json, os, sys, threading, time
base = (time.time_ns() // 10**9 - 1000) * 10**9 if sys.argv[2] == "base" else 0
events = []
def launch(name, seconds, device=0):
    now, number = time.time_ns() + int(sys.argv[3]) * 10**9, len(events) + 1
    events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": os.getpid(), "tid": threading.get_native_id(),
                   "ts": (now - base) / 1000, "dur": 5.25, "args": {"cbid": 211, "correlation": number}})
    events.append({"ph": "X", "cat": "kernel", "name": name, "pid": device, "tid": 7, "ts": (now - base) / 1000, "dur": seconds * 1e6,
                   "args": {"device": device, "stream": 7, "correlation": number, "grid": [1, 1, 1]}})
    end = time.time() + seconds
    while time.time() < end:
        pass
def forward():
    launch("void gemm<float>(float*)", 0.4)
def backward():
    launch("relu_backward", 0.2)
forward(); backward(); time.sleep(0.3); forward()
events.append({"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "python"}})
trace = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}], "traceEvents": events}
if base:
    trace["baseTimeNanoseconds"] = base
json.dump(trace, open(sys.argv[1], "w"))
"""


@pytest.fixture(name="take")
def taken(program, tmp_path):  # the program: where no profile can be taken, these are skipped
    if "built without" in run_wattle("profile", "--kineto", "x", "--", "true").err:
        pytest.skip("built without JSON")
    (tmp_path / "trains.py").write_text(PROGRAM)

    def take(*options, base="base", shift=0, script="h100", env=(), code=0):
        fake = {"WATTLE_FAKE_NVML": str(REPO / "tests" / "fake" / "scripts" / f"{script}.nvml"), **dict(env)}
        result = run_wattle("profile", "--nvml", os.environ["WATTLE_NVML_LIBRARY"], "--kineto", tmp_path / "t.json", *options, "--",
                            "/usr/bin/python3", tmp_path / "trains.py", tmp_path / "t.json", base, str(shift), env=fake)
        assert result.code == code, result
        return result
    if not os.environ.get("WATTLE_NVML_LIBRARY"):
        pytest.skip("no fake NVML")
    return take


@pytest.mark.parametrize("base", ["base", "epoch"])
def test_kernels(take, tmp_path, base):
    said = take("-o", tmp_path / "p.json", base=base).err
    told = parse_json((tmp_path / "p.json").read_text())["gpu_kernels"]
    (gpu,) = told["gpus"]
    kernels = {row["name"]: row for row in told["kernels"]}
    assert gpu["device"] == 0 and gpu["domain"] == "gpu-0" and told["outside"] == 0
    assert gpu["kernels_j"] + gpu["no_kernel_j"] + gpu["idle_j"] == gpu["total_j"] > 0
    assert sum((row["energy_j"] for row in kernels.values()), Decimal(0)) == gpu["kernels_j"]
    assert sum((row["energy_j"] for row in told["launched_by"]), Decimal(0)) == gpu["kernels_j"]
    assert kernels["void gemm<float>(float*)"]["runs"] == 2 and kernels["void gemm<float>(float*)"]["time_s"] == Decimal("0.8")
    assert kernels["void gemm<float>(float*)"]["energy_j"] > kernels["relu_backward"]["energy_j"] > 0
    assert any(row["name"].startswith("launch (trains.py:") for row in told["launched_by"])
    assert "relu_backward" in said and "gpu-0: " in said


def test_merged(take, tmp_path):
    take("-o", tmp_path / "merged.pt.trace.json")
    before, after = (json.loads((tmp_path / name).read_text()) for name in ("t.json", "merged.pt.trace.json"))
    n = len(before["traceEvents"])
    kernels = [event for event in after["traceEvents"] if event.get("cat") == "kernel"]
    assert all(event["args"].pop("energy [uJ]") > 0 for event in kernels) and len(kernels) == 3
    assert after["traceEvents"][:n] == before["traceEvents"]
    assert {key: after[key] for key in after if key != "traceEvents"} == {key: before[key] for key in before if key != "traceEvents"}
    added = after["traceEvents"][n:]
    power = [event for event in added if event["ph"] == "C" and event["pid"] == "GPU 0 Counters" and event["name"] == "power"]
    assert len(power) > 5 and all(0 <= event["args"]["W"] < 2000 for event in power)
    assert [event["ts"] for event in power] == sorted(event["ts"] for event in power)
    begin, end = kernels[0]["ts"], kernels[-1]["ts"] + kernels[-1]["dur"]
    assert any(begin < event["ts"] < end for event in power)
    assert sum(event["ph"] == "M" and event["pid"] == "GPU 0 Counters" for event in added) == 1
    energy = [event["args"]["J"] for event in added if event["name"] == "energy" and event["pid"] == "GPU 0 Counters"]
    assert energy == sorted(energy) and energy[-1] > energy[0]


def test_visible_devices(take, tmp_path):
    take("-o", tmp_path / "p.json", script="two", env={"CUDA_VISIBLE_DEVICES": "1"})
    assert parse_json((tmp_path / "p.json").read_text())["gpu_kernels"]["gpus"][0]["domain"] == "gpu-1"
    said = take(script="two", env={"CUDA_VISIBLE_DEVICES": ""}).err
    assert "device 0: not measured here" in said


def test_another_time(take):
    said = take(shift=-900, code=125).err
    assert "another time" in said and "measured in all" in said  # the profile is told all the same


@pytest.mark.parametrize("text,says", [
    ("", "no JSON"), ("{", "no JSON"), ("[]", "traceEvents"), ('{"traceEvents": 1}', "traceEvents"), ('{"traceEvents": []}', "no GPU kernels"),
    ('{"traceEvents": [], "baseTimeNanoseconds": -1}', "no time"), ('{"traceEvents": [{"ph": "X", "cat": "kernel", "ts": "1", "dur": 1}]}', "no GPU kernels"),
    (None, "cannot be read"), ('[{"name": "aten::mm", "ph": "X", "ts": 1, "dur": 2, "tid": 1, "pid": "CPU functions", "args": {}}]', "torch.profiler.kineto_available()"),
])
def test_no_trace(program, tmp_path, text, says):
    if text is not None:
        (tmp_path / "t.json").write_text(text)
    result = run_wattle("profile", "--kineto", tmp_path / "t.json", "-o", tmp_path / "p.json", "--", program, "brief")
    if "built without" in result.err:
        pytest.skip("built without JSON")
    assert result.code == 125 and says in result.err and "measured in all" in result.err
    assert "gpu_kernels" not in parse_json((tmp_path / "p.json").read_text())
    copied = run_wattle("profile", "-q", "--kineto", tmp_path / "t.json", "-o", tmp_path / "p.pt.trace.json", "--", program, "brief")
    assert copied.code == 125 and "p.pt.trace.json' is not written" in copied.err and says in copied.err and "see --kineto" not in copied.err
    assert not (tmp_path / "p.pt.trace.json").exists()


def test_a_copy_needs_a_trace():
    result = run_wattle("profile", "-f", "kineto", "-o", "x", "--", "true")
    assert result.code == 125 and "--kineto says which" in result.err


def test_a_window_of_it(tmp_path):
    """Kernels are told of the whole profile: half a table would not add up."""
    refused = run_wattle("profile", "--window", "one", "--kineto", "t.json", "--", "touch", "ran", cwd=tmp_path)
    assert refused.code == 125 and "does not go with --kineto" in refused.complaint() and list(tmp_path.iterdir()) == []
