# SPDX-License-Identifier: MIT
"""wattle limit: shows, sets, holds for a command, and puts back, whatever happens in between."""

import os
import re
import shutil
import signal
import time
from pathlib import Path

import pytest

from conftest import ROOTS, finish, run_wattle, start_wattle, wait_for

NOTHING = ("--root", ROOTS / "vm-nothing")

TWO = """\
driver 550.54.15
{may}
gpu NVIDIA A100-PCIE-40GB
  uuid GPU-aaaaaaaa-0000-0000-0000-000000000001
  bus 00000000:17:00.0
  power 0 const 100
  sensor usage gpu 20
  limit {limit} 250 100 300
  persistence {persistence}
  {first}
gpu NVIDIA A100-PCIE-40GB
  uuid GPU-aaaaaaaa-0000-0000-0000-000000000002
  bus 00000000:CA:00.0
  power 0 const 200
  sensor usage gpu 20
  limit 240 250 150 280
  persistence off
"""


def script(may="may-set", limit=250, persistence="off", first=""):
    return TWO.format(may=may, limit=limit, persistence=persistence, first=first)


class Limits:
    """wattle limit on the fake NVML, with a folder for its notes. The fake forgets settings when its
    process ends, so a crashed wattle's settings are scripted for the next one."""

    def __init__(self, gpus, folder):
        self.gpus, self.folder = gpus, folder

    def words(self, fake, *args):
        return ("limit", *NOTHING, *fake.options, "--state", self.folder, *args)

    def run(self, *args, text=None, **options):
        fake = self.gpus(text=text or script())
        return run_wattle(*self.words(fake, *args), env=fake.env, **options)

    def start(self, *args, text=None):
        fake = self.gpus(text=text or script())
        return start_wattle(*self.words(fake, *args), env=fake.env)

    def notes(self):
        return sorted(self.folder.glob("hold-*")) if self.folder.exists() else []

    def crash(self, *args, text=None):
        """A wattle that was killed while its command ran."""
        process = self.start(*args, "--", "sleep", "60", text=text)
        note = wait_for(self.notes, "the note")[0]
        before = note.read_text(encoding="ascii")
        wait_for(lambda: children(process.pid), "the command")
        command = children(process.pid)[0]
        process.kill()
        finish_quietly(process)
        os.kill(command, signal.SIGKILL)
        assert note.read_text(encoding="ascii") == before
        return note


def finish_quietly(process):
    process.wait(timeout=60)
    process.stdout.close()
    process.stderr.close()


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except FileNotFoundError:
        return []


@pytest.fixture(name="limits")
def limits_on_two(gpus, tmp_path):
    return Limits(gpus, tmp_path / "state" / "limits")


# ---- Showing and setting ----

def test_show(limits):
    result = limits.run()
    assert result.code == 0 and not result.err, result
    assert result.out.splitlines() == [
        "GPU  name                   limit [W]  in force   default      min      max  persistence",
        "  0  NVIDIA A100-PCIE-40GB     250.00    250.00    250.00   100.00   300.00  off",
        "  1  NVIDIA A100-PCIE-40GB     240.00    240.00    250.00   150.00   280.00  off",
    ]
    assert limits.run("-i", "1").out.splitlines()[1:] == result.out.splitlines()[2:]
    assert not limits.folder.exists()  # looking leaves nothing behind


def test_set(limits):
    result = limits.run("-i", "0", "--power", "200.5", "--persistence", "on")
    assert result.code == 0, result
    assert result.out.splitlines()[1].split()[-6:] == ["200.50", "200.50", "250.00", "100.00", "300.00", "on"]
    assert len(result.out.splitlines()) == 2
    assert not limits.notes()  # it stays


def test_set_those_that_cuda_shows(limits):
    rows = limits.run("--gpus", "GPU-aaaaaaaa-0000-0000-0000-000000000002", "--power", "200").out.splitlines()[1:]
    assert [(row.split()[0], row.split()[3]) for row in rows] == [("1", "200.00")]
    assert [row.split()[0] for row in limits.run("--gpus", "1,0").out.splitlines()[1:]] == ["0", "1"]
    for words in (("--gpus", ""), ("--gpus", "-1")):  # an empty CUDA_VISIBLE_DEVICES is none, and never all
        result = limits.run(*words, "--power", "200")
        assert (result.code, result.out) == (3, "") and result.complaint() == "wattle: limit: --gpus names no GPU"
    result = limits.run("--gpus", "0,7", "--power", "200")
    assert (result.code, result.out) == (3, "") and "there is no GPU '7'" in result.complaint()


def test_set_all_and_default(limits):
    rows = limits.run("--power", "default").out.splitlines()[1:]
    assert [row.split()[3] for row in rows] == ["250.00", "250.00"]
    rows = limits.run("--power", "160").out.splitlines()[1:]
    assert [row.split()[3] for row in rows] == ["160.00", "160.00"]


@pytest.mark.parametrize("watts,wrong", [
    ("99.99", "GPU 0 (NVIDIA A100-PCIE-40GB) takes 100.00 to 300.00 W, not 99.99 W"),
    ("300.01", "GPU 0 (NVIDIA A100-PCIE-40GB) takes 100.00 to 300.00 W, not 300.01 W"),
    ("290", "GPU 1 (NVIDIA A100-PCIE-40GB) takes 150.00 to 280.00 W, not 290.00 W"),
    ("18446744073709", "GPU 0 (NVIDIA A100-PCIE-40GB) takes 100.00 to 300.00 W, not 18446744073709.00 W"),
])
def test_out_of_range_is_refused_for_all(limits, watts, wrong):
    """With the range; and where one GPU cannot, none is touched."""
    result = limits.run("--power", watts)
    assert (result.code, result.out) == (1, "")
    assert result.complaint() == "wattle: limit: " + wrong
    result = limits.run("--power", watts, "--", "sh", "-c", "echo ran")
    assert (result.code, result.out) == (125, "") and wrong in result.complaint()
    assert not limits.notes()


@pytest.mark.parametrize("watts", ["100", "300"])
def test_the_ends_of_the_range_are_in_it(limits, watts):
    assert limits.run("-i", "0", "--power", watts).code == 0


NOT_ALLOWED = "the driver lets not even root set the power limit here, as in many containers and virtual machines" if os.geteuid() == 0 else \
    "setting the power limit needs root, as in: sudo wattle limit ..."


def test_no_permission_is_one_line(limits):
    result = limits.run("-i", "0", "--power", "200", text=script(may=""))
    assert result.code == 1
    assert result.complaint() == f"wattle: limit: GPU 0: {NOT_ALLOWED}"
    result = limits.run("-i", "0", "--power", "200", "--", "echo", "ran", text=script(may=""))
    assert (result.code, result.out) == (125, "") and NOT_ALLOWED in result.complaint()
    assert not limits.notes()


@pytest.mark.parametrize("words", [
    ("--power", "0"), ("--power", "-5"), ("--power", "x"), ("--power", ""), ("--power", "1e3"),
    ("--persistence", "maybe"), ("--restore", "--power", "200"), ("--restore", "-i", "0"),
    ("--restore", "--gpus", "0"), ("--gpus", "0", "-i", "0"),
    ("--no-such-option",), ("--", "true"), ("-i", "0", "true"),
])
def test_bad_usage(limits, words):
    result = limits.run(*words)
    assert result.code == 125 and not result.out, result
    assert result.complaint().startswith("wattle: limit: ")


def test_no_such_gpu(limits):
    result = limits.run("-i", "5", "--power", "200")
    assert result.code == 3 and "there is no GPU '5'" in result.complaint()
    assert limits.run("-i", "5", "--power", "200", "--", "true").code == 125


def test_no_gpu_at_all(tmp_path):
    for words in ((), ("--power", "200")):
        result = run_wattle("limit", *NOTHING, "--nvml", "", "--state", tmp_path / "s", *words)
        assert result.code == 3 and "there is no GPU" in result.complaint()


def test_a_tape_cannot_be_set(tmp_path):
    tape = ROOTS.parent / "tapes" / "server.tape"
    result = run_wattle("limit", "--tape", tape, "--state", tmp_path / "s", "--power", "200")
    assert result.code == 125 and "a tape" in result.complaint()


def test_a_gpu_without_limits(machine, tmp_path):
    """AMD's cap, in a root: read, checked against its range; persistence it has not."""
    root = machine("amd-gpu").path
    words = ("limit", "--root", root, "--nvml", "", "--state", tmp_path / "s", "-i", "0")
    shown = run_wattle(*words)
    assert shown.code == 0 and re.search(r" \d+\.\d\d +\d+\.\d\d .* -$", shown.out.splitlines()[1]), shown
    assert "takes" in run_wattle(*words, "--power", "9999").complaint()
    assert "has no persistence mode" in run_wattle(*words, "--persistence", "on").complaint()


# ---- Holding ----

def test_hold(limits):
    """The note is there before the command, which finds it; afterwards nothing is left."""
    result = limits.run("-i", "0", "--power", "200", "--persistence", "on", "--",
                        "sh", "-c", f"cat {limits.folder}/hold-*; exit 7")
    assert result.code == 7
    lines = result.out.splitlines()
    assert lines[0] == "wattle-limit 1" and lines[-1] == "end"
    assert "gpu GPU-aaaaaaaa-0000-0000-0000-000000000001" in lines
    assert "power_uw 250000000 200000000" in lines and "persistence 0 1" in lines
    assert result.err.splitlines() == ["wattle: GPU 0: the power limit is back at 250.00 W",
                                       "wattle: GPU 0: persistence mode is off again"]
    assert not limits.notes()


def test_quiet(limits):
    result = limits.run("-q", "--power", "200", "--", "true")
    assert (result.code, result.out, result.err) == (0, "", "")


@pytest.mark.parametrize("command,code", [
    (("true",), 0), (("sh", "-c", "exit 3"), 3), (("sh", "-c", "kill -TERM $$"), 143),
    (("sh", "-c", "kill -KILL $$"), 137), (("/no/such/command",), 127), (("/etc/passwd",), 126), (("/",), 126),
])
def test_the_commands_own_exit_code(limits, command, code):
    result = limits.run("--power", "200", "--", *command)
    assert result.code == code, result
    assert result.err.count("is back at") == 2  # whatever happened
    assert not limits.notes()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_signals_reach_the_command_and_all_is_put_back(limits, number):
    process = limits.start("-i", "0", "--power", "200", "--", "sh", "-c",
                           f"trap 'exit 42' {int(number)}; echo ready; while :; do sleep 0.05; done")
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    result = finish(process)
    assert result.code == 42, result
    assert "back at 250.00 W" in result.err
    assert not limits.notes()


def test_what_the_driver_rounds_comes_back(limits):
    """NVML takes milliwatts: what was set is not what was asked for, and is wattle's all the same."""
    result = limits.run("-i", "0", "--power", "250.0005", "--", "true", text=script(limit=240))
    assert result.code == 0, result
    assert result.err == "wattle: GPU 0: the power limit is back at 240.00 W\n"
    assert not limits.notes()


def test_two_cannot_hold_the_same_gpu(limits):
    process = limits.start("-i", "0", "--power", "200", "--", "sh", "-c", "echo ready; exec sleep 60")
    try:
        assert process.stdout.readline() == b"ready\n"
        result = limits.run("--power", "220", "--", "echo", "ran")
        assert (result.code, result.out) == (125, "")
        assert f"wattle limit (process {process.pid}) holds GPU 0 already" in result.complaint()
        other = limits.run("-i", "1", "--power", "220", "--", "echo", "ran")
        assert (other.code, other.out) == (0, "ran\n")
        assert len(limits.notes()) == 1  # a live one's note is nobody else's business
        assert limits.run("--restore").code == 0
        assert len(limits.notes()) == 1
    finally:
        process.terminate()
        finish_quietly(process)


def test_a_note_that_cannot_be_kept_sets_nothing(limits, tmp_path):
    (tmp_path / "state").write_text("a file", encoding="ascii")
    result = limits.run("--power", "200", "--", "echo", "ran")
    assert (result.code, result.out) == (125, "")
    assert "nothing was set" in result.err and "is back at" not in result.err


def test_a_note_is_for_its_owner_alone(limits):
    """So that nobody else learns of it by a umask that lets him."""
    if os.geteuid() != 0:
        pytest.skip("needs root, whose notes they are")
    shown = limits.run("--power", "200", "--", "sh", "-c", f"stat -c %a {limits.folder}/hold-*", umask=0)
    assert shown.out == "600\n"


def test_notes_of_another_user(limits, tmp_path):
    """In a folder of his, as in /tmp, he could have root set what he likes."""
    if os.geteuid() != 0:
        pytest.skip("needs root, whose notes they are")
    note = limits.crash("--power", "200")
    text = note.read_text(encoding="ascii")
    tmp_path.chmod(0o1777)
    os.chown(tmp_path / "state", 65534, 65534)
    cut_off = script(limit=200)
    restored = limits.run("--restore", text=cut_off)
    assert restored.code == 1 and "another user has made it" in restored.complaint()
    assert "nothing was set" in limits.run("--power", "210", "--", "true", text=cut_off).err
    assert note.read_text(encoding="ascii") == text
    os.chown(tmp_path / "state", 0, 0)
    assert limits.run("--restore", text=cut_off).code == 0 and not limits.notes()


def test_two_with_one_uuid(limits):
    """Boards that were made with the same one: each gets back what it had itself."""
    text = script().replace("000000000002", "000000000001")
    result = limits.run("--power", "200", "--", "cat", text=text)
    assert result.code == 0, result
    assert "GPU 0: the power limit is back at 250.00 W\n" in result.err
    assert "GPU 1: the power limit is back at 240.00 W\n" in result.err
    process = limits.start("-i", "0", "--power", "200", "--", "sh", "-c", "echo ready; exec sleep 60", text=text)
    try:
        assert process.stdout.readline() == b"ready\n"
        assert limits.run("-i", "1", "--power", "220", "--", "true", text=text).code == 0
        held = limits.run("-i", "0", "--power", "220", "--", "true", text=text)
        assert held.code == 125 and f"wattle limit (process {process.pid}) holds GPU 0 already" in held.complaint()
    finally:
        process.terminate()
        finish_quietly(process)


# ---- Putting back what was left ----

def test_after_a_crash_the_next_start_puts_back(limits):
    limits.crash("-i", "0", "--power", "200")
    result = limits.run(text=script(limit=200))
    assert result.code == 0, result
    assert re.fullmatch(r"wattle: wattle limit \(process \d+\) was cut off: putting back what it had set\n"
                        r"wattle: GPU 0: the power limit is back at 250\.00 W\n", result.err)
    assert result.out.splitlines()[1].split()[3] == "250.00"
    assert not limits.notes()
    assert limits.run().err == ""


def test_persistence_comes_back_too(limits):
    limits.crash("-i", "0", "--persistence", "on")
    result = limits.run("--restore", text=script(persistence="on"))
    assert result.code == 0 and "GPU 0: persistence mode is off again" in result.err
    assert not limits.notes()


def test_restore_with_nothing_to_do(limits):
    result = limits.run("--restore")
    assert (result.code, result.out) == (0, "") and "there is nothing to put back" in result.err


def test_what_someone_else_has_set_since_stays(limits):
    limits.crash("-i", "0", "--power", "200")
    result = limits.run("--restore", text=script(limit=180))
    assert result.code == 0
    assert "GPU 0: someone else has set a power limit of 180.00 W, which stays" in result.err
    assert not limits.notes()


def test_without_permission_the_note_is_kept(limits):
    limits.crash("-i", "0", "--power", "200")
    result = limits.run("--restore", text=script(may="", limit=200))
    assert result.code == 1
    assert NOT_ALLOWED in result.err and "is kept for the next try" in result.err
    assert len(limits.notes()) == 1
    shown = limits.run(text=script(may="", limit=200))  # looking still works
    assert shown.code == 0 and len(shown.out.splitlines()) == 3


def test_a_gpu_that_is_lost_keeps_its_note(limits):
    limits.crash("-i", "0", "--power", "200")
    result = limits.run("--restore", text=script(limit=200, first="lost from 0 until -"))
    assert result.code == 1
    assert "cannot be put back" in result.err and len(limits.notes()) == 1
    assert limits.run("--restore", text=script(limit=200)).code == 0
    assert not limits.notes()


def test_a_gpu_that_was_pulled_keeps_its_note(limits):
    limits.crash("-i", "1", "--power", "200")
    only = script().split("gpu NVIDIA")[0] + "gpu NVIDIA" + script().split("gpu NVIDIA")[1]
    result = limits.run("--restore", text=only)
    assert result.code == 1 and "is not there" in result.err
    assert len(limits.notes()) == 1


def test_lost_while_the_command_runs(limits):
    result = limits.run("-i", "0", "--power", "200", "--", "sleep", "2.5", text=script(first="lost from 0.5 until -"))
    assert result.code == 0
    assert "GPU 0 (NVIDIA A100-PCIE-40GB) is lost" in result.err
    assert "cannot be put back" in result.err and "a note is kept in" in result.err
    assert len(limits.notes()) == 1


def test_after_a_new_start_of_the_machine_nothing_is_put_back(limits):
    note = limits.crash("-i", "0", "--power", "200")
    text = re.sub(r"boot .*", "boot 00000000-0000-0000-0000-000000000000", note.read_text(encoding="ascii"))
    note.write_text(text, encoding="ascii")
    result = limits.run("--restore", text=script(limit=200))
    assert result.code == 0 and "has started anew" in result.err and "is back at" not in result.err
    assert not limits.notes()


def test_the_note_of_a_container_is_left_alone(limits):
    """Its process number means another process here, or none: it may well be alive."""
    note = limits.crash("-i", "0", "--power", "200")
    text = re.sub(r"pids .*", "pids pid:[1]", note.read_text(encoding="ascii"))
    note.write_text(text, encoding="ascii")
    result = limits.run("--restore", text=script(limit=200))
    assert "is of a container" in result.err and "is back at" not in result.err
    assert note.read_text(encoding="ascii") == text
    held = limits.run("-i", "0", "--power", "220", "--", "echo", "ran")
    assert held.code == 125 and "holds GPU 0 already" in held.err


@pytest.mark.parametrize("content", [b"", b"rubbish\n", b"wattle-limit 1\npid 1\n", b"\0" * 100, b"x" * 70000])
def test_a_note_that_is_none_stays_and_is_told(limits, content):
    limits.folder.mkdir(parents=True)
    note = limits.folder / "hold-1-1"
    note.write_bytes(content)
    result = limits.run()
    assert result.code == 0 and len(result.out.splitlines()) == 3
    assert "look at it, and remove it" in result.err
    assert note.read_bytes() == content
    assert limits.run("--restore").code == 1


def test_a_note_without_bus_ids_is_put_back(limits):
    """As it was before wattle wrote them."""
    note = limits.crash("-i", "0", "--power", "200")
    text = note.read_text(encoding="ascii")
    assert "\nbus 00000000:17:00.0\n" in text
    note.write_text(text.replace("bus 00000000:17:00.0\n", ""), encoding="ascii")
    result = limits.run("--restore", text=script(limit=200))
    assert result.code == 0 and "GPU 0: the power limit is back at 250.00 W" in result.err
    assert not limits.notes()


def test_a_note_with_a_hostile_gpu(limits):
    limits.folder.mkdir(parents=True)
    boot = open("/proc/sys/kernel/random/boot_id", encoding="ascii").read().strip()
    (limits.folder / "hold-1-1").write_bytes(
        b"wattle-limit 1\npid 1\nstart 1\nboot " + boot.encode() + b"\ngpu evil\x1b[2J\npower_uw 1 2\nend\n")
    result = limits.run()
    assert "\x1b" not in result.err and "is not there" in result.err


def test_notes_of_several_are_all_put_back(limits):
    limits.crash("-i", "0", "--power", "200")
    saved = limits.notes()[0]
    kept = saved.with_name("keep")
    shutil.move(saved, kept)
    limits.crash("-i", "1", "--power", "160")
    shutil.move(kept, saved)
    assert len(limits.notes()) == 2
    text = script(limit=200).replace("limit 240", "limit 160")
    result = limits.run("--restore", text=text)
    assert result.code == 0, result
    assert "GPU 0: the power limit is back at 250.00 W" in result.err
    assert "GPU 1: the power limit is back at 240.00 W" in result.err
    assert not limits.notes()


def test_the_command_is_left_after_a_crash_and_the_next_start_does_not_wait(limits):
    """Only wattle's own life counts, not its command's."""
    process = limits.start("-i", "0", "--power", "200", "--", "sleep", "30")
    wait_for(limits.notes, "the note")
    command = wait_for(lambda: children(process.pid), "the command")[0]
    process.kill()
    finish_quietly(process)
    try:
        started = time.monotonic()
        assert "was cut off" in limits.run("--restore", text=script(limit=200)).err
        assert time.monotonic() - started < 30
    finally:
        os.kill(command, signal.SIGKILL)


def test_help_says_where_notes_are():
    assert "/var/lib/wattle/limits" in run_wattle("limit", "--help").out


# ---- A GPU whose settings outlive every process: AMD's, in a root ----

class Amd:
    """A root's copy with an AMD GPU, whose cap is a file."""

    def __init__(self, root, folder):
        self.root, self.folder = root, folder
        self.cap = root / "sys/class/drm/card0/device/hwmon/hwmon1/power1_cap"  # card1 sleeps
        self.before = self.watts()

    def watts(self):
        return int(self.cap.read_text(encoding="ascii")) / 1e6

    def words(self, *args):
        return ("limit", "--root", self.root, "--nvml", "", "--state", self.folder, *args)

    def run(self, *args, **options):
        return run_wattle(*self.words(*args), **options)

    def notes(self):
        return sorted(self.folder.glob("hold-*")) if self.folder.exists() else []


@pytest.fixture(name="amd")
def amd_gpu(machine, tmp_path):
    return Amd(machine("amd-gpu").path, tmp_path / "limits")


def test_amd_set(amd):
    result = amd.run("-i", "0", "--power", "300")
    assert result.code == 0, result
    assert amd.watts() == 300
    assert result.out.splitlines()[1].split()[-6:-4] == ["300.00", "300.00"]
    assert amd.run("-i", "0", "--power", "default").code == 0
    assert amd.watts() == 315


def test_amd_hold(amd):
    result = amd.run("-i", "0", "--power", "290", "--", "cat", amd.cap)
    assert result.code == 0, result
    assert result.out.strip() == "290000000"
    assert amd.watts() == amd.before
    assert not amd.notes()


@pytest.fixture(name="twins")
def two_amd_gpus(amd):
    """Both awake, with caps of their own, and an id of zeros, as some boards have it."""
    cards = [amd.root / f"sys/class/drm/card{i}/device" for i in range(2)]
    shutil.copytree(cards[0] / "hwmon/hwmon1", cards[1] / "hwmon/hwmon2", symlinks=True, dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("device"))
    (cards[1] / "power/runtime_status").write_text("active\n", encoding="ascii")
    for card in cards:
        (card / "unique_id").write_text("0000000000000000\n", encoding="ascii")
    caps = [card / f"hwmon/hwmon{i + 1}/power1_cap" for i, card in enumerate(cards)]
    caps[1].write_text("290000000\n", encoding="ascii")
    return caps


def test_amd_two_with_one_id(amd, twins):
    result = amd.run("--power", "300", "--", "cat", *twins)
    assert result.code == 0, result
    assert result.out.split() == ["300000000"] * 2
    assert "GPU 0: the power limit is back at 315.00 W\n" in result.err
    assert "GPU 1: the power limit is back at 290.00 W\n" in result.err
    assert [int(cap.read_text(encoding="ascii")) for cap in twins] == [315000000, 290000000]
    assert not amd.notes()


def test_amd_two_with_one_id_after_a_crash(amd, twins):
    process = start_wattle(*amd.words("--power", "300", "--", "sleep", "60"))
    wait_for(lambda: children(process.pid), "the command")
    command = children(process.pid)[0]
    process.kill()
    finish_quietly(process)
    os.kill(command, signal.SIGKILL)
    assert amd.run("--restore").code == 0
    assert [int(cap.read_text(encoding="ascii")) for cap in twins] == [315000000, 290000000]


def test_amd_kill_9_and_the_next_start(amd):
    """Not scripted: the limit that was left is in the file, and comes back from there."""
    process = start_wattle(*amd.words("-i", "0", "--power", "290", "--", "sleep", "60"))
    wait_for(lambda: children(process.pid), "the command")
    assert amd.watts() == 290 and len(amd.notes()) == 1
    command = children(process.pid)[0]
    process.kill()
    finish_quietly(process)
    os.kill(command, signal.SIGKILL)
    assert amd.watts() == 290  # nobody is there to put it back
    result = amd.run()
    assert result.code == 0 and "is back at 315.00 W" in result.err
    assert amd.watts() == amd.before and not amd.notes()


def test_amd_takes_whole_watts(amd):
    """As its kernel driver does; the note says so before anything is set, in case wattle is killed."""
    result = amd.run("-i", "0", "--power", "300.5", "--", "sh", "-c", f"cat {amd.cap} {amd.folder}/hold-*")
    assert result.code == 0, result
    assert result.out.splitlines()[0].strip() == "300000000"
    assert "power_uw 315000000 300000000" in result.out.splitlines()
    assert "is back at 315.00 W" in result.err
    assert amd.watts() == amd.before and not amd.notes()


def test_amd_one_that_ends_while_another_begins(amd, tmp_path):
    """What the other one has set is not what comes back: the limits are read behind the lock."""
    gate, done = tmp_path / "gate", tmp_path / "done"
    shim = Path(os.environ.get("WATTLE_BUILD_ROOT") or ".") / "tests/gate/libflockgate.so"
    if not shim.exists():
        pytest.skip("WATTLE_BUILD_ROOT does not name a build with the gate")
    first = start_wattle(*amd.words("-i", "0", "--power", "290", "--", "sh", "-c",
                                    f"while [ ! -e {done} ]; do sleep 0.02; done"))
    wait_for(lambda: children(first.pid), "the first command")
    assert amd.watts() == 290
    second = start_wattle(*amd.words("-i", "0", "--power", "300", "--", "cat", amd.cap),
                          env={"LD_PRELOAD": shim, "WATTLE_TEST_GATE": gate, "WATTLE_TEST_GATE_CALL": 2})
    wait_for((tmp_path / "gate.reached").exists, "the second one, before it writes its note")
    done.touch()
    assert "is back at 315.00 W" in finish(first).err
    (tmp_path / "gate.open").touch()
    result = finish(second)
    assert result.code == 0 and result.out.strip() == "300000000", result
    assert amd.watts() == amd.before and not amd.notes()


def test_amd_a_command_that_crashes(amd):
    result = amd.run("-i", "0", "--power", "290", "--", "sh", "-c", "kill -SEGV $$")
    assert result.code == 139
    assert amd.watts() == amd.before and not amd.notes()


def test_amd_set_by_someone_else_meanwhile(amd):
    result = amd.run("-i", "0", "--power", "290", "--", "sh", "-c", f"printf '%-15s\\n' 300000000 > {amd.cap}")
    assert result.code == 0
    assert "someone else has set a power limit of 300.00 W, which stays" in result.err
    assert amd.watts() == 300 and not amd.notes()


def test_amd_a_cap_that_cannot_be_written(amd):
    os.chmod(amd.cap, 0o444)
    if os.access(amd.cap, os.W_OK):
        amd.cap.write_text("!errno EACCES\n", encoding="ascii")
        result = amd.run("-i", "0", "--power", "290", "--", "echo", "ran")
        assert result.code == 125 and "ran" not in result.out
    else:
        result = amd.run("-i", "0", "--power", "290", "--", "echo", "ran")
        assert result.code == 125 and "needs root" in result.err and "ran" not in result.out
    assert not amd.notes()


@pytest.mark.parametrize("operation", ["read", "write", "open", "dir", "link"])
def test_amd_whatever_fails_nothing_is_lost(amd, operation):
    """Each call made to fail in turn: afterwards the limit is as before, or a note says how it was."""
    for n in (1, 2, 3, 5, 8, 13, 21, 34, 55, 89):
        result = amd.run("-i", "0", "--power", "290", "--fault", f"{operation}:{n}", "--", "true")
        assert result.code in (0, 3, 125), (n, result)
        if amd.watts() != amd.before:
            assert len(amd.notes()) == 1, (n, result)
            assert "power_uw 315000000 290000000" in amd.notes()[0].read_text(encoding="ascii")
            assert result.err
        assert amd.run("--restore").code == 0
        assert amd.watts() == amd.before and not amd.notes()


def test_amd_two_holds_one_after_the_other_nest(amd):
    """A hold within a hold of the same GPU is refused, so the outer one's values come back."""
    inner = amd.words("-i", "0", "--power", "300", "--", "true")
    result = amd.run("-i", "0", "--power", "290", "--", os.environ["WATTLE"], *map(str, inner))
    assert result.code == 125 and "holds" in result.err
    assert amd.watts() == amd.before and not amd.notes()


def test_amd_a_limit_within_a_hold_is_someone_elses(amd):
    inner = amd.words("-i", "0", "--power", "300")
    result = amd.run("-i", "0", "--power", "290", "--", os.environ["WATTLE"], *map(str, inner))
    assert result.code == 0, result
    assert "someone else has set a power limit of 300.00 W" in result.err
    assert amd.watts() == 300


def test_amd_and_measure(amd):
    """The combination that the help names: the limit around wattle run."""
    result = amd.run("-i", "0", "--power", "290", "--", os.environ["WATTLE"], "run", "-o", "-", "--root", amd.root,
                     "--nvml", "", "-f", "json", "--", "true")
    assert result.code == 0, result
    assert result.json["exit_status"] == 0
    assert amd.watts() == amd.before
