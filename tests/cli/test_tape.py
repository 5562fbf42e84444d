# SPDX-License-Identifier: MIT
"""Tapes of the command: what was recorded is replayed to the microjoule."""

from decimal import Decimal

import pytest

from conftest import ROOTS, check_sums, domain, mover, run_wattle

JOULE = 1_000_000


def record(machine_path, tape, *command, options=(), env=None):
    result = run_wattle("run", "--root", machine_path, "--tape-record", tape, "-i", "20", "-f", "json",
                        *options, "--", *command, env=env)
    assert result.code == 0, result
    assert result.err == ""
    return result.json


def replay(tape, form="json"):
    result = run_wattle("run", "--tape", tape, "-f", form)
    assert result.code == 0, result
    assert result.err == ""
    return result.json if form == "json" else result.out


def same(live, replayed):
    check_sums(replayed)
    assert [d["name"] for d in live["domains"]] == [d["name"] for d in replayed["domains"]]
    for before, after in zip(live["domains"], replayed["domains"]):
        if before.get("method") == "counter":
            assert before.get("energy_j") == after.get("energy_j"), before["name"]
        else:  # the tape has the times of answers, not those of every look at the clock
            assert ("energy_j" in before) == ("energy_j" in after)
            assert float(before.get("energy_j", 0)) == pytest.approx(float(after.get("energy_j", 0)), rel=0.01)
        for key in ("status", "method", "source", "inside", "in_total", "samples", "flags"):
            assert before.get(key) == after.get(key), (before["name"], key)
    if live["total"]["method"] == "counter":
        assert live["total"]["energy_j"] == replayed["total"]["energy_j"]


@pytest.mark.parametrize("name", ["nvidia-server", "client-psys", "jetson", "vm-nothing"])
def test_replay_of_a_machine_is_the_same(tmp_path, name):
    tape = tmp_path / "tape"
    live = record(ROOTS / name, tape, "sleep", "0.3")
    same(live, replay(tape))


def test_replay_of_moving_counters(machine, tmp_path):
    server, tape = machine("nvidia-server"), tmp_path / "tape"
    zone, other = server.zone("intel-rapl:0"), server.zone("intel-rapl:1")
    live = record(server.path, tape, *mover(
        "add", zone, 3 * JOULE, "sleep", "0.2", "add", other, 1_234_567, "write", other, "!errno EIO",
        "sleep", "0.1", "add", zone, 2 * JOULE + 1, "sleep", "0.1"))
    assert domain(live, "package-0")["energy_j"] == Decimal("5.000001")
    assert domain(live, "package-1")["status"] != "ok"
    replayed = replay(tape)
    same(live, replayed)
    assert replayed["command"] is None
    assert "exit_status" not in replayed
    assert replay(tape)["domains"] == replayed["domains"]


def test_replay_of_gpus(gpus, tmp_path):
    """The tape needs neither library nor script."""
    tape = tmp_path / "tape"
    fake = gpus("a100")
    live = record(ROOTS / "nvidia-server", tape, "sleep", "0.5", options=fake.options, env=fake.env)
    assert domain(live, "gpu-0")["energy_j"] > 0
    same(live, replay(tape))


def test_doctor_from_a_tape(tmp_path):
    tape = tmp_path / "tape"
    live = run_wattle("doctor", "--root", ROOTS / "laptop-battery", "--tape-record", tape, "-f", "json")
    again = run_wattle("doctor", "--tape", tape, "-f", "json")
    assert (live.code, again.code) == (0, 0)
    assert live.json["machine"] == again.json["machine"]
    assert live.json["sources"] == again.json["sources"]
    for before, after in zip(live.json["domains"], again.json["domains"], strict=True):
        for key in ("name", "status", "method", "source", "reason", "device"):
            assert before.get(key) == after.get(key)


def test_a_tape_in_every_format(tmp_path):
    tape = tmp_path / "tape"
    record(ROOTS / "client-psys", tape, "sleep", "0.1")
    assert "package-0" in replay(tape, "text")
    assert "package-0" in replay(tape, "csv")


def test_a_tape_takes_no_command_and_no_repeats(tmp_path):
    tape = tmp_path / "tape"
    record(ROOTS / "client-psys", tape, "true")
    for options, word in ((["--", "true"], "command"), (["-r", "2"], "repeat"),
                          (["--until", "2%"], "repeat"), (["--root", "/"], "--root"),
                          (["--tape-record", tmp_path / "x"], "--tape-record")):
        result = run_wattle("run", "--tape", tape, *options)
        assert result.code == 125
        assert word in result.complaint()


@pytest.mark.parametrize("content", [b"", b"rubbish\n", b"wattle-tape 9\n", b"\0" * 100, b"wattle-tape 1\nX\n",
                                     b"wattle-tape 1\n@ 1 2\n", b"\xff\xfe\n" * 50,
                                     b"wattle-tape 1\n@ 2 2 2\n@ 1 1 1\n"])
def test_rubbish_is_one_line(tmp_path, content):
    tape = tmp_path / "tape"
    tape.write_bytes(content)
    for command, status in (("run", 125), ("doctor", 1)):
        result = run_wattle(command, "--tape", tape)
        assert result.code == status
        assert str(tape) in result.complaint()
        assert result.out == ""


def test_missing_and_odd_files():
    for path in ("/no/such/tape", "/", "/dev/null", ""):
        result = run_wattle("run", "--tape", path)
        assert result.code == 125, path
        result.complaint()


def test_a_truncated_tape_is_a_report_or_one_line(tmp_path):
    tape, cut = tmp_path / "tape", tmp_path / "cut"
    record(ROOTS / "client-psys", tape, "sleep", "0.1")
    whole = tape.read_bytes()
    for i in range(0, len(whole), max(1, len(whole) // 40)):
        cut.write_bytes(whole[:i])
        result = run_wattle("run", "--tape", cut, "-f", "json")
        if result.code == 0:
            check_sums(result.json)
        else:
            assert result.code == 125
            assert str(cut) in result.complaint()


def test_a_tape_that_cannot_be_begun_stops_it_before_the_command(tmp_path):
    mark = tmp_path / "ran"
    for path in (tmp_path / "no" / "such", tmp_path, "/proc/no-such", ""):
        result = run_wattle("run", "--tape-record", path, "--", "touch", mark)
        assert result.code == 125, path
        result.complaint()
        assert not mark.exists()


def test_a_full_disk_under_the_tape_stops_nothing():
    result = run_wattle("run", "--root", ROOTS / "xeon-2s-dram", "--tape-record", "/dev/full", "-f", "json",
                        "--", "sh", "-c", "exit 3")
    assert result.code == 3
    check_sums(result.json)
    assert "the tape '/dev/full' is not whole: No space left on device" in result.complaint()


@pytest.mark.parametrize("spec", ["x", "read", "read:", "read:0", "read:x", "read:1:EWHAT", "read:-1",
                                  "read:1:EIO:never", "read:99999999999999999999", ""])
def test_bad_fault_specs_are_one_line(spec):
    result = run_wattle("run", "--fault", spec, "--", "true")
    assert result.code == 125
    assert "fault" in result.complaint()


@pytest.mark.parametrize("spec", ["read:1", "read:3:ENODATA", "open:1:EACCES:always", "any:1:EIO:always",
                                  "dir:1", "link:1", "lib:1", "any:5:ENOMEM:always"])
def test_faults_end_in_a_report(spec):
    result = run_wattle("run", "--root", ROOTS / "client-psys", "--fault", spec, "-f", "json", "--", "true")
    if spec.startswith("any"):  # the report's own file is no fault of the sensors
        assert result.code in (0, 125)
        return
    assert result.code == 0, result
    check_sums(result.json)
