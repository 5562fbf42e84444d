# SPDX-License-Identifier: MIT
"""Other people's GPU monitors on the fake NVML: they run, and say what wattle query says.

nvitop comes from PyPI, nvtop from Debian's contrib (or is installed); a test says so where it is skipped for want of them.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import nvtop
from conftest import TIMEOUT, fake_library, parse_json, run_wattle
from test_top import Screen

NVITOP = "1.7.0"

TWO = """\
driver 550.54.15
gpu NVIDIA GeForce RTX 3080
  power 0 const 112.5
  sensor usage gpu 100
  sensor instant gpu 100
  memory 10240 300 50
  temperature 61
  utilization 87 34 12 5
  clocks 1710 1710 9501 1500 2100 2100 9501 1950
  state 2 0 0
  limit 320 320 100 350
  value nvmlDeviceGetTemperatureThreshold:0 98
  value nvmlDeviceGetTemperatureThreshold:1 95
  process {pid} C 1500 80 30 0 0
gpu NVIDIA A100-PCIE-40GB
  power 0 const 60
  sensor usage gpu 100
  memory 40960 600 0
  temperature 31
  state 0 - 1
"""

# What nvitop's own interface says: N/A is None.
ASK = """
import json
from nvitop import NA, Device
known = lambda value: None if value is NA else value
print(json.dumps([{
    "name": device.name(), "power_mw": known(device.power_usage()), "limit_mw": known(device.power_limit()),
    "memory_used_bytes": device.memory_used(), "memory_total_bytes": device.memory_total(),
    "use_percent": device.gpu_utilization(), "memory_use_percent": device.memory_utilization(),
    "encoder_percent": device.encoder_utilization(), "decoder_percent": device.decoder_utilization(),
    "temperature_c": device.temperature(), "fan_percent": known(device.fan_speed()), "driver_model": known(device.driver_model()),
    "processes": {pid: process.gpu_memory() for pid, process in device.processes().items()},
} for device in Device.all()]))
"""


@pytest.fixture(name="two")
def two_gpus(tmp_path):
    """(environment for another monitor, wattle's JSON of the same GPUs, pid of a process on the first)"""
    with subprocess.Popen(["sleep", "1000"]) as process:
        script = tmp_path / "script.nvml"
        script.write_text(TWO.format(pid=process.pid))
        env = {"WATTLE_FAKE_NVML": str(script)}
        wattle = run_wattle("query", "--format", "json", "--nvml", fake_library(), env=env)
        assert wattle.code == 0, wattle
        env["LD_LIBRARY_PATH"] = str(Path(fake_library()).parent)
        yield env, parse_json(wattle.out)["gpus"], process.pid
        process.kill()


@pytest.fixture(name="nvitop")
def nvitop_python(tmp_path):
    """The Python of an environment that has nvitop."""
    for args in ([sys.executable, "-m", "venv", tmp_path / "venv"],
                 [tmp_path / "venv/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"nvitop=={NVITOP}"]):
        done = subprocess.run(args, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            pytest.skip(f"nvitop {NVITOP} is not to be had from PyPI here: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    return tmp_path / "venv/bin/python"


def test_nvitop(nvitop, two):
    env, gpus, pid = two
    run = {"env": {**os.environ, **env, "COLUMNS": "120"}, "capture_output": True, "text": True, "timeout": TIMEOUT, "check": True}
    theirs = json.loads(subprocess.run([nvitop, "-c", ASK], **run).stdout)
    assert [gpu["name"] for gpu in theirs] == [gpu["name"] for gpu in gpus]
    for their, our in zip(theirs, gpus):
        assert their.pop("power_mw") == pytest.approx(our["power_w"] * 1000)
        assert their.pop("limit_mw") == pytest.approx(our["limit_requested_w"] * 1000)
        assert their.pop("driver_model") is None
        processes = {str(process["pid"]): process["memory_bytes"] for process in our["processes"]}
        assert their.pop("processes") == processes
        assert {name: our.get(name) for name in their} == their
    assert (gpus[0]["fan_percent"], "fan_percent" in gpus[1]) == (0, False)
    assert [process["pid"] for process in gpus[0]["processes"]] == [pid]
    screen = subprocess.run([nvitop.with_name("nvitop"), "--once", "--no-unicode"], **run).stdout
    assert re.search(r"\|\s+0%\s+61C\s+P2\s+11\dW / 320W \|\s+1550MiB / 10240MiB \|\s+87%", screen), screen
    assert re.search(r"\|\s+N/A\s+31C\s+P0\s+60W / 400W \|", screen), screen
    assert re.search(rf"\|\s+0 +{pid} C .* 1500MiB .* sleep 1000", screen), screen


@pytest.fixture(name="monitor")
def nvtop_path(tmp_path):
    if not shutil.which("tmux"):
        pytest.skip("tmux is not installed")
    try:
        return nvtop.find(tmp_path)
    except nvtop.Missing as why:
        pytest.skip(str(why))


def test_nvtop(monitor, two, tmp_path):
    env, gpus, pid = two
    screen = Screen(tmp_path, monitor, "-d", "1", "-p", "-C", columns=140, env=env)
    try:
        screen.wait(rf"{pid} .*sleep 1000")
        text = screen.text()
    finally:
        screen.close()
    first = text[text.index("Device 0"):text.index("Device 1")]
    assert re.search(r"TEMP +61.C +FAN +0% +POW 11[23] / 320 W", first), text
    assert re.search(r"\|\s*87%\]", first), text
    assert re.search(r"1\.8\d*Gi/10\.000Gi", first), text  # by an older call, which counts what is reserved as used
    assert re.search(rf" {pid} +\S+ +0 +Compute +\S+ +1500MiB", text), text
    assert re.search(r"TEMP +31.C +FAN N/A%? +POW +60 / 400 W", text[text.index("Device 1"):]), text
    assert gpus[0]["use_percent"] == 87 and gpus[0]["memory_used_bytes"] == 1550 << 20
