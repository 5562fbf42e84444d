# SPDX-License-Identifier: MIT
"""wattle calibrate --sensor: how power sensors sample, found under a load, kept, and used from then on."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from conftest import domain, fake_library, run_wattle, wait_for

UUID = "GPU-11111111-2222-3333-4444-555555555555"
HEAD = f"""driver 535.54.03
gpu NVIDIA Test
uuid {UUID}
bus 00000000:01:00.0
arch ampere
cc 8.0
limit 400 400 100 400
"""
# The classes of the study, of one GPU: A100, RTX 30 and H100, and K40 with its lag.
SENSORS = "power 0 follow 60 300\nsensor instant gpu 100 25 4\nsensor average gpu 100 1000 20\nsensor usage gpu 15 25 8 lowpass\nsensor counter gpu 100\n"


class Place:
    def __init__(self, folder):
        self.folder, self.script, self.idle, self.kept = folder, folder / "gpu.nvml", folder / "state" / "idle", folder / "state" / "sensors"
        self.cuda = Path(fake_library()).with_name("libcuda.so.1")
        self.env = {"WATTLE_FAKE_NVML": self.script, "WATTLE_FAKE_NVML_LIB": fake_library()}
        self.write(SENSORS)

    def write(self, sensors):
        self.script.write_text(HEAD + sensors)

    def find(self, *options, env=None):
        return run_wattle("calibrate", "--sensor", "--nvml", fake_library(), "--cuda", self.cuda, "--idle-file", self.idle, *options,
                          env={**self.env, **(env or {})}, timeout=120)

    def run(self, *options):
        result = run_wattle("run", "-f", "json", "-o", "-", "--nvml", fake_library(), "--idle-file", self.idle, *options, "--", "sleep", "0.5", env=self.env)
        assert result.code == 0, result
        return result.json

    def sensors(self):
        lines = self.kept.read_text().splitlines()
        assert lines[0] == "wattle-sensors/1"
        return {line.split()[0]: [int(number) / 1000 for number in line.split()[1:5]] for line in lines[1:]}


@pytest.fixture(name="place")
def place_of_files(tmp_path):
    return Place(tmp_path)


def test_the_classes_of_the_study(place):
    """Period, window and latency are found, each with its ±; kept by UUID; and later figures go by them."""
    result = place.find("--duration", "30s")
    assert result.code == 0, result
    kept = place.sensors()
    assert set(kept) == {f"{UUID}:{name}" for name in ("draw", "average", "instant", "counter")}
    for name, update, window, latency in (("instant", 100, 25, 4), ("average", 100, 1000, 20), ("draw", 15, 50, 8)):
        found = kept[f"{UUID}:{name}"]
        assert found[0] == pytest.approx(update, rel=0.03), (name, found)
        assert found[1] == pytest.approx(window, rel=0.06, abs=4), (name, found)
        assert found[2] == pytest.approx(latency, abs=5 + window / 100), (name, found)
    assert kept[f"{UUID}:counter"][0] == pytest.approx(100, rel=0.03)
    assert "charges like a capacitor of 2" in result.out and str(place.kept) in result.out
    assert re.search(r"power.draw.instant +a new value every \S+ ms; a mean over \S+ \+- \S+ ms, that ended", result.out)
    gpu = domain(place.run(), "gpu-0")
    assert "sensor measured 20" in gpu["device"] and float(gpu["update_s"]) == pytest.approx(0.1, rel=0.03)


def kept_file(place, line):
    place.kept.parent.mkdir(exist_ok=True)
    place.kept.write_text(f"wattle-sensors/1\n{line}\n")


def test_what_is_kept_is_used(place):
    """Of a GPU without a counter: the window that was found takes the place of what is known of its kind."""
    place.write("power 0 const 100\nsensor usage gpu 100 25\n")
    before = domain(place.run(), "gpu-0")
    kept_file(place, f"{UUID}:draw 50000 50000 0 2000 1795459321")
    after = domain(place.run(), "gpu-0")
    assert before["sensor"] == "ga100-draw 25/100" and after["sensor"] == "measured"
    assert "measured" not in (before.get("device") or "") and after["device"].endswith("sensor measured 2026-11-23")
    assert after["uncertainty_j"] < before["uncertainty_j"]
    assert domain(place.run("--no-processes"), "gpu-0")["sensor"] == "measured"
    # A recording has it, and plays by it.
    path = place.folder / "a.wattle"
    live = place.run("--record", path)
    told = run_wattle("report", "-f", "json", "--replay", path).json
    assert told["total"] == live["total"]
    kept_file(place, "GPU-other:draw 50000 50000 0 2000 1795459321")
    assert domain(place.run(), "gpu-0")["sensor"] == before["sensor"]


@pytest.mark.parametrize("line", ["rubbish", f"{UUID}:draw 50000", f"{UUID}:draw 0 1 1 1 1", f"{UUID}:draw 50000 -1 0 0 1", f"{UUID}:draw 1 2 3 4 5 6"])
def test_lines_that_are_damaged(place, line):
    place.write("power 0 const 100\nsensor usage gpu 100 25\n")
    kept_file(place, line)
    result = run_wattle("run", "--nvml", fake_library(), "--idle-file", place.idle, "--", "true", env=place.env)
    assert result.code == 0 and f"1 lines of '{place.kept}' cannot be read" in result.err


def test_a_load_that_does_not_run_there(place):
    """Another GPU's, say: nothing is found, and nothing kept."""
    place.write("power 0 square 60 300 0.7\nsensor instant gpu 100 25\n")
    result = place.find("--duration", "10s")
    assert result.code == 1 and re.search("power.draw.instant: (what it shows does not follow the load|it showed too few new values)", result.err)
    assert not place.kept.exists()


def test_dry_run_and_what_cannot_be(place):
    place.write("power 0 const 60\nsensor instant gpu 100 25\n")
    result = place.find("--duration", "10s", "--dry-run")
    assert result.code == 1 and "too few new values" in result.err and not place.kept.exists()


@pytest.mark.parametrize("fault,words", [
    ("cuInit:100", "no CUDA-capable device is detected (CUDA error 100)"), ("cuModuleLoadData:222", "does not take the kernel"),
    ("cuLaunchKernel:719", "the kernel cannot be started"), ("cuCtxSynchronize:700", "the kernel failed"),
])
def test_cuda_that_fails(place, fault, words):
    result = place.find("--duration", "10s", env={"WATTLE_FAKE_CUDA": fault})
    assert result.code == 1 and words in result.err and not place.kept.exists()


def test_without_cuda(place):
    result = place.find("--cuda", "/no/such/libcuda.so.1")
    assert result.code == 1 and "--load CMD is one of yours" in result.err


def test_a_command_of_the_users(place):
    """It is started for that GPU, stopped and continued, and ended with all that it has started."""
    place.write("power 0 const 60\nsensor instant gpu 100 25\n")
    log = place.folder / "log"
    beat = "import os, time\nlast = time.monotonic()\nstops = 0\nwhile True:\n now = time.monotonic()\n stops += now - last > 1\n last = now\n" \
           f" open({str(log)!r}, 'w').write(os.environ['CUDA_VISIBLE_DEVICES'] + ' %d %d' % (os.getpid(), stops))\n time.sleep(0.01)\n"
    (place.folder / "load.py").write_text(beat)
    result = place.find("--load", f"python3 -S -E {place.folder}/load.py", "--duration", "10s")
    assert result.code == 1 and "too few new values" in result.err
    uuid, pid, stops = log.read_text().split()
    assert uuid == UUID and int(stops) >= 2
    wait_for(lambda: not os.path.exists(f"/proc/{pid}"), "the load's end")
    result = place.find("--load", "exit 3", "--duration", "10s")
    assert result.code == 1 and "the command of --load ended" in result.err


def test_ctrl_c_ends_the_load(place):
    log = place.folder / "pid"
    # pylint: disable=consider-using-with
    process = subprocess.Popen([os.environ["WATTLE"], "calibrate", "--sensor", "--nvml", fake_library(), "--idle-file", place.idle, "--load",
                                f"echo $$ > {log}; exec sleep 1000"], env={**os.environ, **{k: str(v) for k, v in place.env.items()}}, stderr=subprocess.DEVNULL)
    wait_for(lambda: log.exists() and log.read_text().strip(), "the load")
    process.terminate()
    assert process.wait(30) == 128 + 15
    assert not os.path.exists(f"/proc/{log.read_text().strip()}") and not place.kept.exists()


@pytest.mark.parametrize("args,words", [
    (("--sensor", "a.wattle"), "--sensor takes no wattmeter and no recording"), (("--sensor", "--wattmeter", "x"), "--sensor takes no wattmeter"),
    (("--load", "x", "--wattmeter", "m", "a.wattle"), "--load is for --sensor"), (("--gpus", "0", "--wattmeter", "m", "a.wattle"), "--gpus is for --sensor"),
])
def test_options_that_do_not_fit(args, words):
    result = run_wattle("calibrate", *args)
    assert result.code == 2 and words in result.complaint()


def test_no_gpu(place):
    result = run_wattle("calibrate", "--sensor", "--nvml", "", "--idle-file", place.idle)
    assert result.code == 1 and "wattle doctor says why" in result.err
