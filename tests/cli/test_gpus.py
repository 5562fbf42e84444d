# SPDX-License-Identifier: MIT
"""wattle run on the fake NVML: what it finds is what the script says was drawn, or says why not."""

import subprocess
from decimal import Decimal

import pytest

from conftest import ROOTS, SCRIPTS, check_sums, domain, fake_library, run_wattle

NOTHING = ("--root", ROOTS / "vm-nothing")

TWO = """\
driver 550.54.15
gpu NVIDIA A100-PCIE-40GB
  bus 00000000:17:00.0
  cc 8.0
  power 0 const 100
  counter-start 1000
  {first}
  sensor counter gpu 20
  sensor instant gpu 20
  sensor usage gpu 20
gpu NVIDIA A100-PCIE-40GB
  bus 00000000:ca:00.0
  cc 8.0
  power 0 const 200
  counter-start 1000
  sensor counter gpu 20
  sensor instant gpu 20
  sensor usage gpu 20
"""


def measure(gpus, *options, seconds="1"):
    result = gpus.run(*NOTHING, "-f", "json", *options, "--", "sleep", seconds)
    assert result.code == 0, result
    report = result.json
    check_sums(report)
    return report


def agrees(line, watts, edge_s):
    """The figure is the script's power over the time that was measured, but for the counter's
    updates at both edges."""
    truth = watts * float(line["measured_s"])
    assert abs(float(line["energy_j"]) - truth) <= 2 * watts * edge_s + 0.001, line
    assert line["uncertainty_j"] > 0


def test_counters_of_two_gpus(gpus):
    report = measure(gpus(text=TWO.format(first="")))
    for name, watts in (("gpu-0", 100), ("gpu-1", 200)):
        line = domain(report, name)
        assert (line["source"], line["method"], line["status"]) == ("nvml", "counter", "ok")
        assert line["in_total"] is True
        agrees(line, watts, 0.02)


def names(report):
    return [line["name"] for line in report["domains"] if line["name"].startswith("gpu")]


def test_only_some_gpus(gpus, tmp_path):
    """The other one, which would only give errors, is in nothing: no total, no tape, no recording."""
    machine = gpus(text=TWO.format(first="answer * 999"))
    tape, file = tmp_path / "t.tape", tmp_path / "a.wattle"
    report = measure(machine, "--gpus", "1", "--tape-record", tape)
    assert names(report) == ["gpu-1"]
    agrees(domain(report, "gpu-1"), 200, 0.02)
    replayed = run_wattle("run", "--tape", tape, "-f", "json").json
    assert (names(replayed), replayed["total"]) == (["gpu-1"], report["total"])
    assert names(measure(machine, "--gpus", "", seconds="0.1")) == []
    unknown = machine.run(*NOTHING, "--gpus", "1,7,0", "-f", "json", "--", "true")
    assert names(unknown.json) == ["gpu-1"]
    assert "the list of GPUs ends before '7', which names no GPU here" in unknown.err
    kept = machine.run(*NOTHING, "--gpus", "1", "--record", file, "--", "true")
    if "built without recordings" not in kept.err:
        assert names(run_wattle("report", file, "-f", "json").json) == ["gpu-1"]


def test_a_lost_gpu_is_a_marked_gap_and_the_other_goes_on(gpus):
    report = measure(gpus(text=TWO.format(first="lost from 0.5 until -")), "-i", "20", seconds="1.2")
    lost, other = domain(report, "gpu-0"), domain(report, "gpu-1")
    assert lost["status"] in ("gap", "gone", "failed")
    assert lost["reason"]
    assert lost["gap_s"] > 0
    assert float(lost["energy_j"]) <= 100 * float(report["duration_s"])
    agrees(lost, 100, 0.04)
    assert other["status"] == "ok"
    agrees(other, 200, 0.02)
    assert report["total"]["status"] == "gap"


def test_a_gpu_that_comes_back_after_a_reset(gpus):
    text = TWO.format(first="counter-reset 0.6\n  lost from 0.3 until 0.6")
    report = measure(gpus(text=text), "-i", "20", seconds="2.2")
    line = domain(report, "gpu-0")
    assert line["status"] == "gap"
    assert line["gap_s"] > 0
    agrees(line, 100, 0.1)
    assert domain(report, "gpu-1")["status"] == "ok"


def test_a_counter_that_begins_anew_is_told(gpus):
    report = measure(gpus(text=TWO.format(first="counter-reset 0.6")), "-i", "20", seconds="1.2")
    line = domain(report, "gpu-0")
    assert "reset" in line["flags"]
    assert line["status"] == "gap" and line["gap_s"] > 0
    assert line["energy_j"] <= 100 * report["duration_s"] + 4
    agrees(line, 100, 0.1)


def test_power_samples_where_there_is_no_counter(gpus):
    report = measure(gpus("pascal"), "-i", "10")
    line = domain(report, "gpu-0")
    assert (line["method"], line["source"]) == ("integrated", "nvml")
    agrees(line, 32, 0.05)


AVERAGED = """\
driver 550.54.15
gpu NVIDIA GeForce RTX 3090
  cc 8.6
  power 0 const 100
  sensor usage gpu 100 1000
  sensor average gpu 100 1000
  limit 350 350 100 350
"""


PULSING = """\
driver 570.86.15
gpu NVIDIA A100-SXM4-80GB
  arch ampere
  cc 8.0
  power 0 square 60 390 0.33
  sensor {}
  limit 400 400 100 400
"""


def test_a_part_time_sensor_says_when_it_saw_too_little(gpus):
    """Eleven updates of a sensor that sees 25 ms of each 100 ms tell little of a load; those of a counter tell all."""
    for sensor, flags in (("instant gpu 100 25", ["short"]), ("counter gpu 20", [])):
        report = measure(gpus(text=PULSING.format(sensor)), seconds="1.1")
        assert domain(report, "gpu-0")["flags"] == flags, sensor


def test_a_short_command_waits_for_its_sensor(gpus, tmp_path):
    """A reading is the mean of the last second: the last half of one is told when the command has ended. What is recorded ends
    with the command."""
    waited = measure(gpus(text=AVERAGED), seconds="0.5")
    recorded = measure(gpus(text=AVERAGED), "--record", tmp_path / "a.wattle", seconds="0.5")
    settled, live = domain(waited, "gpu-0"), domain(recorded, "gpu-0")
    assert settled["method"] == live["method"] == "integrated"
    for line, report in ((settled, waited), (live, recorded)):
        agrees(line, 100, 0.05)
        assert abs(line["measured_s"] - report["duration_s"]) < Decimal("0.2")
    assert settled["uncertainty_j"] / settled["energy_j"] < Decimal("0.4") * live["uncertainty_j"] / live["energy_j"]
    # What is left: within that second, the load may have swung between rest and limit.
    assert waited["total"]["uncertainty_j"] < Decimal("1.2") * waited["total"]["energy_j"]


def test_grace_hopper_shows_the_module_but_adds_it_nowhere(gpus):
    report = measure(gpus("gh200"))
    module = domain(report, "gpu-0-module")
    assert module["in_total"] is False
    assert "energy_j" in module
    line = domain(report, "gpu-0")
    assert "energy_j" not in line and line["reason"]
    assert all(d["method"] == "modelled" for d in report["domains"]
               if d["in_total"] and "energy_j" in d)


@pytest.mark.parametrize("script,status", [("no-permission", "denied"), ("not-supported", "absent")])
def test_gpus_that_refuse_have_a_reason(gpus, script, status):
    report = measure(gpus(script), seconds="0.1")
    line = domain(report, "gpu-0")
    assert "energy_j" not in line
    assert line["status"] in (status, "failed")
    assert line["reason"] and (status != "denied" or line["remedy"])


def test_slow_answers_hold_nothing_up(gpus):
    report = measure(gpus("slow"), "-i", "10")
    line = domain(report, "gpu-0")
    agrees(line, 40, 0.3)
    assert report["self"]["ticks"] > 2


@pytest.mark.parametrize("script", sorted(p.stem for p in SCRIPTS.glob("*.nvml")))
def test_every_script_gives_a_report(gpus, script):
    report = measure(gpus(script), seconds="0.2")
    for line in report["domains"]:
        assert "energy_j" in line or line["reason"]
    text = gpus(script).run(*NOTHING, "-v", "--", "true")
    assert text.code == 0
    assert "\x1b" not in text.out


def test_without_nvml_by_request(gpus):
    report = measure(gpus("a100"), "--nvml", "", seconds="0.1")
    assert not [d for d in report["domains"] if d["kind"] == "gpu"]


@pytest.mark.parametrize("library", ["/no/such/library.so", "/etc/passwd"])
def test_a_library_that_cannot_be_loaded_is_a_reason_not_an_error(gpus, library):
    report = measure(gpus("a100"), "--nvml", library, seconds="0.1")
    assert report["exit_status"] == 0


STATE = "sys/bus/pci/devices/0000:01:00.0/power/runtime_status"


def sleeper(machine, gpus, *steps, nvml=None):
    """Runs the steps on the laptop whose GPU sleeps at first; each is a state or a time in seconds."""
    laptop = machine("nvidia-laptop")
    moves = [x for step in steps
             for x in (("write", laptop.path / STATE, step) if isinstance(step, str)
                       else ("sleep", step))]
    options = ("--nvml", nvml) if nvml else gpus("laptop").options
    report = laptop.measure(*moves, options=(*options, "-i", "20"), env=gpus("laptop").env)
    return report, domain(report, "gpu-0")


def test_a_gpu_that_wakes_is_measured_from_then_on(machine, gpus):
    report, line = sleeper(machine, gpus, 0.3, "active", 1.5)
    assert (line["source"], line["method"], line["status"]) == ("nvml", "counter", "gap")
    agrees(line, 30, 0.1)
    assert line["measured_s"] > 0
    assert line["gap_s"] >= Decimal("0.2")
    assert "incomplete" in report["total"]["flags"]


def test_a_gpu_that_sleeps_again_keeps_what_was_measured(machine, gpus):
    """The kernel is asked once a second whether it sleeps."""
    _, line = sleeper(machine, gpus, "active", 1.0, "suspended", 1.5)
    assert line["status"] == "asleep"
    assert "suspended" in line["reason"] and "power/control" in line["remedy"]
    agrees(line, 30, 0.1)
    assert line["gap_s"] > 0


def test_a_gpu_that_wakes_again_has_lost_nothing(machine, gpus):
    _, line = sleeper(machine, gpus, "active", 1.0, "suspended", 1.5, "active", 1.0)
    assert line["status"] in ("ok", "gap")  # a gap before it was first looked at
    assert line["flags"] == []
    assert line["measured_s"] > 2
    agrees(line, 30, 0.1)


def test_a_gpu_that_sleeps_all_the_time_is_absent_with_its_reason(machine, gpus):
    report, line = sleeper(machine, gpus, 0.3)
    assert line["status"] == "asleep" and "energy_j" not in line
    assert "0000:01:00.0 is suspended" in line["reason"]
    assert "measured once it is in use" in line["remedy"]
    assert "incomplete" in report["total"]["flags"]


@pytest.mark.parametrize("steps,status", [((0.1,), "asleep"), (("active", 0.5), "failed")])
def test_no_library_is_looked_for_while_all_gpus_sleep(machine, gpus, steps, status):
    _, line = sleeper(machine, gpus, *steps, nvml="/no/such/libnvidia-ml.so.1")
    assert line["status"] == status
    assert line["reason"] and line["remedy"] and "energy_j" not in line
    if status == "failed":
        assert (line["reason"], line["remedy"]) == ("the NVML library cannot be loaded", "check the path of the NVML library")


@pytest.mark.parametrize("script,status,reason,remedy", [
    ("not-loaded", "failed", "driver is not loaded", "modprobe nvidia"), ("init-denied", "denied", "denies permission", "/dev/nvidia")])
def test_a_gpu_that_wakes_in_vain_says_why_in_full(machine, gpus, script, status, reason, remedy):
    laptop, fake = machine("nvidia-laptop"), gpus(script)
    report = laptop.measure("write", laptop.path / STATE, "active", "sleep", 0.5, options=(*fake.options, "-i", "20"), env=fake.env)
    line = domain(report, "gpu-0")
    assert line["status"] == status
    assert reason in line["reason"] and remedy in line["remedy"]


def test_a_gpu_whose_counter_stands_still_is_not_at_0_joule(gpus):
    text = TWO.format(first="").replace("power 0 const 100", "power 0 const 0")
    report = measure(gpus(text=text), "-i", "20", seconds="1.5")
    line = domain(report, "gpu-0")
    assert line["status"] == "failed" and "energy_j" not in line
    assert line["reason"] == "the counter stands still"
    agrees(domain(report, "gpu-1"), 200, 0.02)


# ---- MIG: who used the instances ----

MIG = """\
driver 550.54.15
gpu NVIDIA H100 80GB HBM3
  bus 00000000:1b:00.0
  cc 9.0
  power 0 const 400
  counter-start 1000
  sensor counter gpu 20
  sensor instant gpu 20
  sensor usage gpu 20
  mig on
  {gpm}
  mig-device 4g.40gb MIG-00000000-0000-0000-0000-000000000000 1 0 40448 9000 64
  mig-device 2g.20gb MIG-00000001-0000-0000-0000-000000000001 2 0 20096 4000 32
  mig-device 1g.10gb MIG-00000002-0000-0000-0000-000000000002 3 0 9984 9 16
  instance-use 1 60 90
  instance-use 2 30 50
  instance-use 3 100 100
"""


@pytest.fixture
def users():
    """Four processes that sleep."""
    sleepers = [subprocess.Popen(["sleep", "60"]) for _ in range(4)]
    yield [sleeper.pid for sleeper in sleepers]
    for sleeper in sleepers:
        sleeper.kill()
        sleeper.wait()


def mig(users, instances, gpm="gpm on"):
    """Of 1000, 3000, ... MiB."""
    text = MIG.format(gpm=gpm)
    for i, (pid, instance) in enumerate(zip(users, instances)):
        text += f"  process {pid} C {1000 + 2000 * i}\n  process-instance {pid} {instance} 0\n"
    return text


def gpu_joules(report, users):
    by_pid = {process.get("pid"): process for process in report["processes"]}
    return [float(by_pid[pid]["gpu_j"]) for pid in users]


def check_ledger(report, name="gpu-0"):
    line = next(line for line in report["ledger"] if line["domain"] == name)
    assert sum(line.get(f"{part}_j", Decimal(0)) for part in ("live", "exited", "kernel", "idle", "unattributed")) == line["total_j"]
    return line


def test_processes_of_instances_by_activity_and_size(gpus, users):
    """60 % of four slices, 30 % of two, and all of one where nobody is seen: 24 : 6 : 10."""
    result = gpus(text=mig(users, [1, 2])).run(*NOTHING, "--top", "1000", "-f", "json", "--", "sleep", "2.6")
    report = result.json
    line, ledger = domain(report, "gpu-0"), check_ledger(report)
    assert line["weight"] == "instance-use"
    assert "guess" not in result.err
    total = float(line["energy_j"])
    assert gpu_joules(report, users[:2]) == pytest.approx([total * 0.6, total * 0.15], rel=0.02)
    assert float(ledger["unattributed_j"]) == pytest.approx(total * 0.25, rel=0.02)


def test_processes_that_share_an_instance_are_a_guess(gpus, users):
    gpu = gpus(text=mig(users, [1, 1, 2, 3]))
    report = gpu.run(*NOTHING, "--top", "1000", "-f", "json", "--", "sleep", "2.6").json
    check_ledger(report)
    assert domain(report, "gpu-0")["weight"] == "instance-use, memory (a guess)"
    total = float(domain(report, "gpu-0")["energy_j"])
    assert gpu_joules(report, users) == pytest.approx([total * 0.15, total * 0.45, total * 0.15, total * 0.25], rel=0.02)
    text = gpu.run(*NOTHING, "--", "sleep", "1.3")
    assert "gpu-0: divided among processes by instance-use, memory (a guess)" in text.out + text.err


@pytest.mark.parametrize("gpm", ["gpm off", "gpm on\n  answer nvmlGpmMigSampleGet NO_PERMISSION",
                                 "gpm on\n  answer nvmlGpmQueryDeviceSupport NOT_SUPPORTED"])
def test_instances_that_cannot_be_asked(gpus, users, gpm):
    report = gpus(text=mig(users, [1, 2], gpm)).run(*NOTHING, "--top", "1000", "-f", "json", "--", "sleep", "1.6").json
    check_ledger(report)
    assert domain(report, "gpu-0")["weight"] == "memory (a guess)"
    total = float(domain(report, "gpu-0")["energy_j"])
    assert gpu_joules(report, users[:2]) == pytest.approx([total * 0.25, total * 0.75], rel=0.02)


def test_instances_on_a_tape_and_in_a_recording(gpus, users, tmp_path):
    """What they answered is kept: the same energies to the microjoule."""
    gpu, tape, recording = gpus(text=mig(users, [1, 1, 2])), tmp_path / "tape", tmp_path / "mig.wattle"
    live = gpu.run(*NOTHING, "--top", "1000", "-f", "json", "--tape-record", tape, "--", "sleep", "2.6")
    assert live.code == 0, live
    again = run_wattle("run", "--tape", tape, "--top", "1000", "-f", "json")
    assert again.code == 0, again
    assert again.json["ledger"] == live.json["ledger"]
    assert gpu_joules(again.json, users[:3]) == gpu_joules(live.json, users[:3])
    assert domain(again.json, "gpu-0")["weight"] == "instance-use, memory (a guess)"
    kept = run_wattle("record", *NOTHING, *gpu.options, "-o", recording, "--", "sleep", "2.6", env=gpu.env)
    if "built without recordings" in kept.err:
        pytest.skip("the tape is right; built without recordings")
    assert kept.code == 0, kept
    report = run_wattle("report", "--top", "1000", "-f", "json", recording)
    assert report.code == 0, report
    assert domain(report.json, "gpu-0")["weight"] == "instance-use, memory (a guess)"
    check_ledger(report.json)
    assert min(gpu_joules(report.json, users[:3])) > 0


def test_processes_that_proc_hides_have_nvmls_names():
    """As `query` has them."""
    report = run_wattle("run", "--root", ROOTS / "vm-nothing", "--nvml", fake_library(), "-f", "json", "--", "sleep", "1.2",
                        env={"WATTLE_FAKE_NVML": SCRIPTS / "capture-h100-load.nvml"}).json
    assert [row["name"] for row in report["processes"]] == ["gpu_burn"]
