# SPDX-License-Identifier: MIT
"""`wattle run` finding out who used it: idle baselines between runs, descendants, and options that are wrong."""

import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from conftest import ROOTS, TIMEOUT, clean_env, command_path, finish, parse_json, run_wattle, start_wattle
from test_ledger import ALL, NOBODY, check_ledger, idle_file, idle_text

XEON = ROOTS / "xeon-2s-dram"


def run_json(*options, command=("true",), code=0, env=None):
    result = run_wattle("run", "-i", "20", "-f", "json", *ALL, *options, "--", *command, env=env)
    assert result.code == code, result
    if "processes" in result.json:
        check_ledger(result.json)
    return result


def python(*lines):
    return (sys.executable, "-S", "-E", "-c", "\n".join(lines))


@pytest.fixture(name="open_folder")
def folder_for_everybody():
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


def open_root(folder):
    """A copy for everybody: this checkout may be closed to others."""
    return shutil.copytree(XEON, folder / "root", symlinks=True)


def as_nobody(*options, command=("true",)):
    """Runs without privilege."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root and setpriv to give privilege up")
    done = subprocess.run([*NOBODY, command_path(), "run", "--full", "-o", "-", *options, "--", *command], capture_output=True, text=True,
                          env=clean_env(HOME=None), cwd="/", timeout=TIMEOUT, check=False)
    if done.returncode in (126, 127):
        pytest.skip("others cannot run this build")
    assert done.returncode == 0, done.stderr
    return done


def attributed(report):
    if "processes" not in report:
        pytest.skip("this machine has no energy that could be attributed")
    return report["command_energy"]


# ---- The file of idle baselines ----

def learn(path, *, code=0, env=None, options=()):
    """A run on a machine that is idle and whose file is that; a domain that draws 1 J in 1 s becomes known after 3 s, so
    nothing is learned here but what the file says."""
    return run_json("--root", XEON, "--idle-file", path, *options, command=("sleep", "0.05"), code=code, env=env)


def idle_watts(report):
    return {domain["name"]: float(domain["idle_w"]) for domain in report["domains"] if "idle_w" in domain}


def test_file_is_used_and_kept(tmp_path):
    path = idle_file(XEON, tmp_path / "idle", ("40", "30", "5", "4"))
    first = learn(path)
    assert first.err == ""
    watts = idle_watts(first.json)
    assert watts["dram-0"] == pytest.approx(5, rel=0.02) and watts["dram-1"] == pytest.approx(4, rel=0.02)
    assert path.read_text().startswith("wattle-idle/2\nmachine ")
    assert idle_watts(learn(path).json) == pytest.approx(watts, rel=0.02)
    ages = [domain["idle_age_s"] for domain in first.json["domains"] if "idle_age_s" in domain]
    assert ages and all(age > 0 for age in ages)


def only_remark(result, *words):
    assert result.complaint()
    for word in words:
        assert word in result.err, result.err
    assert "processes" in result.json or result.json["processes_reason"]
    return result.err


def test_file_is_a_directory(tmp_path):
    only_remark(learn(tmp_path), str(tmp_path), "irectory")


def test_file_in_a_missing_directory(tmp_path):
    assert learn(tmp_path / "a" / "b" / "idle").err == ""


def test_file_cannot_be_read(open_folder):
    path = idle_file(XEON, open_folder / "idle")
    path.chmod(0)
    done = as_nobody("--root", open_root(open_folder), "--idle-file", path, "-f", "json")
    assert parse_json(done.stdout)["domains"]
    assert done.stderr.count("\n") == 1 and "cannot be read" in done.stderr, done.stderr


@pytest.mark.parametrize("content", [
    b"my thesis\n", b"\0\0\0\0", b"wattle-idle/3\nmachine 1 x\n", b"wattle-idle", b"\xff" * 5000],
    ids=["text", "nul", "newer", "cut", "bytes"])
def test_file_of_something_else(tmp_path, content):
    """It may be anything that a user named by mistake: it stays as it is."""
    path = tmp_path / "idle"
    path.write_bytes(content)
    result = learn(path)
    only_remark(result, "is not a file of idle baselines")
    assert path.read_bytes() == content
    assert idle_watts(result.json) == {}


def test_file_of_another_machine(tmp_path):
    path = idle_file(XEON, tmp_path / "idle")
    other = path.read_text().replace("wattle-idle/2\n", "wattle-idle/2\nmachine 00000000000000aa 3 Elbrus\n")
    path.write_text(other)
    result = learn(path)
    assert result.err == "" and idle_watts(result.json) == {}
    assert other.removeprefix("wattle-idle/2\n") in path.read_text()


def test_an_idle_gpu_is_one_gpu(gpus, tmp_path):
    """Another GPU in its place is not billed by what the first one drew at rest; and the first is still known afterwards."""
    path, first = tmp_path / "idle", GPU_OF_100_W.replace("  bus", "  uuid GPU-aaaaaaaa-0000-4000-8000-000000000001\n  bus", 1)
    second = first.replace("GPU-aaaaaaaa", "GPU-bbbbbbbb")

    def idle_of(text, *options):
        result = gpus(text=text).run("-f", "json", "--idle-file", path, *options, "--", "sleep", "0.3")
        assert result.code == 0, result
        return next((domain.get("idle_w") for domain in result.json["domains"] if domain["name"] == "gpu-0"), None)

    known_w = idle_of(first, "--idle-first", "4")
    assert known_w == pytest.approx(100, rel=0.02)
    assert idle_of(second) is None
    assert idle_of(first) == pytest.approx(known_w, rel=0.001)


def test_sampled_power_is_asked_for_more_often_at_first(gpus):
    """A GPU without a counter: a short window is known better. Unless somebody said how often."""
    found = {}
    for options in ((), ("-i", "100")):
        result = gpus("pascal").run("-f", "json", *options, "--", "sleep", "1")
        found[options] = next(domain for domain in result.json["domains"] if domain["name"] == "gpu-0")
    assert found[()]["samples"] > 2 * found["-i", "100"]["samples"]
    assert found[()]["uncertainty_j"] < found["-i", "100"]["uncertainty_j"] / 2
    counted = gpus("a100").run("-f", "json", "--", "sleep", "0.5")
    assert next(domain["samples"] for domain in counted.json["domains"] if domain["name"] == "gpu-0") < 10


def test_a_library_that_is_named_does_not_touch_the_users_file(gpus, tmp_path):
    fake = gpus(text=GPU_OF_100_W)
    result = run_wattle("run", *fake.options, "--idle-first", "4", "--", "true",
                        env={**fake.env, "HOME": str(tmp_path), "XDG_STATE_HOME": ""})
    assert result.code == 0, result
    assert list(tmp_path.rglob("idle")) == []


@pytest.mark.parametrize("line", ["dram-0", "dram-0 rapl-perf", "dram-0 rapl-perf x y z", "dram-0 rapl-perf -5 0 2026-11-21T10:00:00Z 1",
                                  "dram-0 rapl-perf 99999999999999999999999 1 2026-11-21T10:00:00Z 1", "\x1b[2J", "a" * 5000,
                                  "nowhere-7 rapl-perf 5000000 1000 2026-11-21T10:00:00Z 30000000000",
                                  "dram-0 hwmon 5000000 1000 2026-11-21T10:00:00Z 30000000000"])
def test_file_with_bad_lines(tmp_path, line):
    """They are passed over, and the others count."""
    path = idle_file(XEON, tmp_path / "idle", ("7",))
    lines = [text for text in path.read_text().splitlines() if not text.startswith("dram-0")]
    path.write_text("\n".join([*lines[:3], line, *lines[3:]]) + "\n")
    result = learn(path)
    assert result.err == ""
    watts = idle_watts(result.json)
    assert "dram-0" not in watts and "dram-1" in watts


def test_huge_file(tmp_path):
    path = tmp_path / "idle"
    path.write_text(idle_file(XEON, tmp_path / "good").read_text() + "x" * (3 << 20))
    size = path.stat().st_size
    only_remark(learn(path), str(path))
    assert path.stat().st_size == size


def test_cannot_be_kept(open_folder):
    """What was known is to be written back, and cannot be: one remark, and the report is whole."""
    idle_file(XEON, open_folder / "idle").chmod(0o644)
    done = as_nobody("--root", open_root(open_folder), "--idle-file", open_folder / "idle", "-f", "json")
    assert idle_watts(parse_json(done.stdout))
    assert done.stderr.count("\n") == 1 and "cannot be kept" in done.stderr, done.stderr


def test_no_file(tmp_path):
    env = {"XDG_STATE_HOME": tmp_path}
    result = run_wattle("run", "--idle-file", "", "-f", "json", "--", "true", env=env)
    assert (result.code, result.err) == (0, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("state, home, where", [("state", "home", "state/wattle/idle"), ("relative", "home", "home/.local/state/wattle/idle"),
                                                (None, "home", "home/.local/state/wattle/idle")])
def test_where_it_is_kept(tmp_path, state, home, where):
    """By the rules of XDG; found out by putting something there that is not to be overwritten."""
    path = tmp_path / where
    path.parent.mkdir(parents=True)
    path.write_text("mine\n")
    env = {"XDG_STATE_HOME": state if state == "relative" else state and tmp_path / state, "HOME": tmp_path / home}
    result = run_wattle("run", "-f", "json", "--", "true", env=env)
    assert result.code == 0
    assert str(path) in result.complaint()
    assert path.read_text() == "mine\n"


def test_nothing_is_kept_for_another_root(tmp_path):
    env = {"XDG_STATE_HOME": tmp_path}
    assert run_wattle("run", "--root", XEON, "--", "true", env=env).code == 0
    assert list(tmp_path.iterdir()) == []


# ---- Watching first ----

@pytest.mark.parametrize("known", [False, True], ids=["unknown", "known"])
def test_idle_first_on_a_busy_machine(tmp_path, known):
    """Says so, also when an earlier run knew better, and measures all the same."""
    path = tmp_path / "idle"
    if known:
        sample = run_wattle("run", "-f", "json", "--", "true").json
        path.write_text(idle_text(sample["domains"]))
    spinners = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        result = run_wattle("run", "-f", "json", "--idle-first", "3", "--idle-file", path, *ALL, "--", "true")
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()
    assert result.code == 0, result
    if all(domain.get("idle_method") == "modelled" for domain in result.json["domains"]):
        assert "nothing to watch first" in result.err
        return
    assert "watching the idle machine for 3 s" in result.err
    if "processes" in result.json:
        assert "was not idle" in result.err
        check_ledger(result.json)
        assert known == bool(idle_watts(result.json))


GPU_OF_100_W = """driver 550.54.15
gpu NVIDIA GeForce RTX 4090
  bus 00000000:01:00.0
  arch ada
  cc 8.9
  power 0 const 100
  sensor counter gpu 100
  sensor instant gpu 100 100
"""


def test_a_gpu_process_that_sleeps_is_named(gpus):
    """It does nothing on the processors, and the run is short."""
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        try:
            result = gpus(text=GPU_OF_100_W + f"  process {sleeper.pid} C 1000 80 10 0 0\n").run("-f", "json", *ALL, "--", "sleep", "1.5")
        finally:
            sleeper.kill()
    assert result.code == 0, result
    row = next(row for row in result.json["processes"] if row.get("pid") == sleeper.pid)
    assert row["gpu_j"] > 10
    assert (row["command"], row["user"]) == ("sleep 60", pwd.getpwuid(os.getuid()).pw_name)


def kept_gpu(path, idle_w):
    """A file of idle baselines that has the GPU's."""
    path.write_text("wattle-idle/2\n"
                    f"gpu-0 nvml {idle_w * 1000000} 100000 2026-11-20T00:00:00Z 60000000000\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("was_w", [40, 160])
def test_idle_first_is_not_mixed_with_what_was_kept(gpus, tmp_path, was_w):
    """The card was exchanged, say."""
    path = kept_gpu(tmp_path / "idle", was_w)
    result = gpus(text=GPU_OF_100_W).run("-f", "json", "--idle-first", "4", "--idle-file", path, "--", "sleep", "0.3")
    assert result.code == 0, result
    watts = idle_watts(result.json)["gpu-0"]
    assert 95 < watts < 105  # the counter's steps are 100 ms, of 4 s
    assert f"\ngpu-0 nvml {round(watts * 1e6)} " in path.read_text()


def test_idle_first_leaves_what_it_cannot_see(gpus, tmp_path):
    """It was busy all the time: what was kept is used, and stays kept; also in a recording."""
    path, recording = kept_gpu(tmp_path / "idle", 40), tmp_path / "r.wattle"
    busy = gpus(text=GPU_OF_100_W + f"  process {os.getpid()} C 1000 80 10 0 0\n")
    result = run_wattle("run", *busy.options, "-f", "json", "--idle-first", "3", "--idle-file", path, "--record", recording, "--",
                        "sleep", "0.3", env={**busy.env, "XDG_RUNTIME_DIR": tmp_path})
    assert result.code == 0, result
    assert idle_watts(result.json)["gpu-0"] == pytest.approx(40, abs=0.5)
    assert "\ngpu-0 nvml 40" in path.read_text()
    replayed = run_wattle("report", "-f", "json", "--replay", recording)
    assert replayed.code == 0, replayed
    assert replayed.json["ledger"] == result.json["ledger"]


def test_a_call_that_hangs_teaches_nothing(gpus, tmp_path):
    """A counter that is read for seconds is as of some moment within: no power, and no idle power, comes of that."""
    calls = ("nvmlDeviceGetFieldValues", "nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetPowerUsage")
    script = GPU_OF_100_W.replace("gpu ", "".join(f"delay {call} 2000 from 1 until 2\n" for call in calls) + "gpu ", 1)
    result = gpus(text=script).run("-f", "json", "--idle-file", tmp_path / "idle", "--", "sleep", "9")
    gpu = next(domain for domain in result.json["domains"] if domain["name"] == "gpu-0")
    assert float(gpu["max_w"]) < 105
    assert float(gpu.get("idle_w", 100)) == pytest.approx(100, abs=2)


@pytest.mark.parametrize("command", ["run", "record"])
def test_a_call_that_never_returns_holds_up_nobody(gpus, tmp_path, command):
    """The command's end, the other domains and the recording are as without it; its own gap is told."""
    calls = ("nvmlDeviceGetFieldValues", "nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetPowerUsage")
    script = GPU_OF_100_W.replace("gpu ", "".join(f"delay {call} 1000000 from 1\n" for call in calls) + "gpu ", 1)
    recording = tmp_path / "hang.wattle"
    options = {"run": ("run", "--record", recording), "record": ("record", "-o", recording)}[command]
    machine = gpus(text=script)
    result = run_wattle(*options, *machine.options, "--", "sleep", "3", env={**machine.env, "XDG_RUNTIME_DIR": str(tmp_path)})
    assert result.code == 0, result
    report = run_wattle("report", "-f", "json", recording).json
    assert 3 <= float(report["duration_s"]) < 30
    domains = {domain["name"]: domain for domain in report["domains"]}
    assert float(domains["gpu-0"]["gap_s"]) > 1
    assert (domains["gpu-0"]["status"], domains["gpu-0"]["reason"]) == ("stale", "its source answers late")
    assert float(domains["package-0"].get("gap_s", 0)) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["int", "term"])
def test_idle_first_is_interrupted(tmp_path, number):
    started = tmp_path / "started"
    process = start_wattle("run", "--root", XEON, "--idle-first", "60", "--idle-file", tmp_path / "idle", "--", "touch", started)
    line = process.stderr.readline().decode()
    assert "watching the idle machine" in line
    process.send_signal(number)
    result = finish(process)
    assert result.code == 128 + number
    assert result.out == "" and not started.exists()


def test_models_need_no_watching(tmp_path):
    """They say what they give at no use: at once, from the first run on, and nothing of it is kept."""
    path = tmp_path / "idle"
    result = run_json("--root", ROOTS / "vm-nothing", "--idle-first", "60", "--idle-file", path, command=("sleep", "0.1"))
    assert "nothing to watch first" in result.err
    assert idle_watts(result.json) == {"package-0": 3.2, "dram-0": 3.0, "machine": 6.044}
    assert {domain["idle_method"] for domain in result.json["domains"]} == {"modelled"}
    assert not any("idle_age_s" in domain or "idle_t_utc" in domain for domain in result.json["domains"])
    assert not path.exists()
    check_ledger(result.json)
    assert all("idle_j" in row for row in result.json["ledger"])


def test_dynamic_from_the_first_run():
    """On this machine, where it has no sensors."""
    report = run_wattle("run", "--idle-file", "", "-f", "json", "--", "sh", "-c", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done").json
    if not all(row["method"] == "modelled" for row in report["domains"] if row["in_total"]):
        pytest.skip("this machine has sensors")
    assert 0 < report["command_energy"]["dynamic_j"] <= report["command_energy"]["full_j"]
    assert all("dynamic_j" in process for process in report["processes"])


def on_processor(tmp_path, *changes):
    """busy-thread.tape, whose processor says something else: relative ± of the total, of the command's dynamic energy."""
    text = (ROOTS.parent / "tapes" / "busy-thread.tape").read_text()
    for said, other in changes:
        assert said in text
        text = text.replace(said, other)
    tape = tmp_path / "other.tape"
    tape.write_text(text)
    report = run_wattle("run", "-f", "json", "--weight", "cpu-time", "--tape", tape).json
    energy, total = report["command_energy"], report["total"]
    return (float(total["uncertainty_j"]) / float(total["energy_j"]),
            float(energy["uncertainty_j"]) / float(energy["dynamic_j"]))


def test_dynamic_energy_of_amd_is_less_sure_than_its_total(tmp_path):
    intel, amd = on_processor(tmp_path), on_processor(
        tmp_path, ("GenuineIntel", "AuthenticAMD"), ("Intel(R) Xeon(R) Gold 6338 CPU", "AMD EPYC 7502 32-Core Processor"))
    assert intel[1] < 0.12
    assert 0.68 < amd[1] < 0.75 and amd[0] < 0.2


def test_zero_of_memory_is_not_in_dynamic_energy(tmp_path):
    """An Ice Lake's DRAM errs by 2 W, a Broadwell's by 0.25 W, with load and without."""
    ice_lake, broadwell = on_processor(tmp_path), on_processor(tmp_path, ("Gold 6338 CPU", "CPU E5-2640 v4"))
    assert ice_lake[0] > broadwell[0] + 0.01
    assert ice_lake[1] == pytest.approx(broadwell[1], rel=1e-3)


# ---- Options ----

@pytest.mark.parametrize("options, words", [
    (["--top", "-1"], "--top"), (["--top", "many"], "--top"), (["--top", "65537"], "--top"), (["--top", ""], "--top"),
    (["--idle-first", "2"], "--idle-first"), (["--idle-first", "3601"], "--idle-first"), (["--idle-first", "x"], "--idle-first"),
    (["--idle-first", "1e1"], "--idle-first"),
    (["--no-processes", "--idle-first", "3"], "--no-processes"), (["--tape", "x", "--idle-first", "3"], "")])
def test_wrong_options(tmp_path, options, words):
    command = [] if "--tape" in options else ["--", "touch", tmp_path / "started"]
    result = run_wattle("run", *options, *command)
    assert result.code == 125, result
    assert words in result.err and result.out == ""
    assert not (tmp_path / "started").exists()


def test_top_zero():
    report = run_wattle("run", "--top", "0", "-f", "json", "--", "sleep", "0.1").json
    if "processes" in report:
        assert report["processes"] == [] and report["others"]["n_processes"] > 0
    text = run_wattle("run", "--top", "0", "--", "sleep", "0.1")
    assert text.code == 0 and "Traceback" not in text.out


def test_no_processes(tmp_path):
    path = tmp_path / "idle"
    path.write_text("mine")  # is not even looked at
    result = run_wattle("run", "--no-processes", "--idle-file", path, "-f", "json", "--", "true")
    assert result.code == 0 and result.err == ""
    assert "processes" not in result.json and result.json["processes_reason"]


# ---- The command and its descendants ----

# Whoever lives holds the pipe open; a child that is nobody's any more can be waited for in no other way.
ALL_ENDED = "r, w = os.pipe()\ndef wait_for_all():\n os.close(w)\n os.read(r, 1)"
BURN = "import time\ndef burn(s):\n while time.process_time() < s: pass"


def test_daemon_is_in_the_command(tmp_path):
    """Forks twice and lets its parents end: init would adopt it, were it not for wattle."""
    out = tmp_path / "pid"
    report = run_json(command=python(
        "import os, sys, time", BURN, ALL_ENDED,
        "if os.fork() == 0:",
        " os.setsid()",
        " if os.fork() == 0:",
        f"  open({str(out)!r}, 'w').write(str(os.getpid()))",
        "  burn(0.3); os._exit(0)",
        " os._exit(0)",
        "os.wait()",
        "wait_for_all()")).json
    energy = attributed(report)
    pid = int(out.read_text())
    row = [process for process in report["processes"] if process.get("pid") == pid]
    if row:  # else it ended between two looks
        assert row[0]["in_command"] and float(row[0]["cpu_s"]) >= 0.29
    assert float(energy["attributed_cpu_s"]) >= 0.29


def test_orphans_of_orphans():
    """A tree whose inner nodes all end at once."""
    report = run_json(command=python(
        "import os, time", BURN, ALL_ENDED,
        "for i in range(4):",
        " if os.fork() == 0:",
        "  for k in range(3):",
        "   if os.fork() == 0: burn(0.08); os._exit(0)",
        "  os._exit(0)",
        "wait_for_all()")).json
    energy = attributed(report)
    assert float(energy["attributed_cpu_s"]) >= 12 * 0.08 * 0.97


def test_killed_command():
    result = run_json(command=("sh", "-c", "kill -KILL $$"), code=128 + 9)
    report = result.json
    assert report["exit_status"] == 137 and report["exit_signal"] == 9
    if "processes" in report:
        assert report["command_energy"]["processes"] >= 1


def test_command_that_cannot_run():
    assert run_wattle("run", "--", "/no/such/command").code == 127


CHILDREN = ("sh", "-c", "i=0; while [ $i -lt 10000 ]; do /bin/true; i=$((i+1)); done")


@pytest.mark.alone
def test_ten_thousand_children():
    """Each of them is counted, where there are exit records, and the kernel's own account of the command and those it
    waited for is what they are billed for."""
    report = run_json(command=CHILDREN).json
    energy = attributed(report)
    named = [process for process in report["processes"] if process["in_command"] and process["name"] == "true"]
    if named:  # else there are no exit records
        assert energy["processes"] >= 9900
    assert float(energy["attributed_cpu_s"]) == pytest.approx(float(energy["cpu_s"]), rel=0.01, abs=0.0001)


@pytest.mark.alone
@pytest.mark.parametrize("command", (
    CHILDREN,
    # Shorter than a look, and over before one: the kernel's account of those it waited for is all there is.
    ("sh", "-c", "i=0; while [ $i -lt 20 ]; do /bin/true; i=$((i+1)); done"),
    ("sh", "-c", "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done; sleep 2.2"),
))
def test_children_without_privilege(open_folder, command):
    done = as_nobody("-q", "-f", "json", *ALL, command=command)
    report = parse_json(done.stdout)
    check_ledger(report)
    energy = attributed(report)
    assert float(energy["attributed_cpu_s"]) == pytest.approx(float(energy["cpu_s"]), rel=0.01, abs=0.0001)
    rows = [row for row in report["processes"] if row["in_command"]]
    assert sum(float(row["cpu_s"]) for row in rows) == pytest.approx(float(energy["attributed_cpu_s"]), abs=1e-6)
