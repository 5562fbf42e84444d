# SPDX-License-Identifier: MIT
"""Tapes of the command: what was recorded is replayed to the microjoule."""

from decimal import Decimal

import pytest

from conftest import REPO, ROOTS, check_sums, domain, mover, run_wattle
from test_ledger import idle_file

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
        assert before == after
    for key in ("total", "ledger", "start_utc", "duration_s", "processes_reason", "others", "no_process"):
        assert live.get(key) == replayed.get(key), key
    assert [nameless(p) for p in live.get("processes", [])] == [nameless(p) for p in replayed.get("processes", [])]
    assert of_command(live) == of_command(replayed)


def nameless(process):
    """But for the user's name, which is this machine's own; a tape has his number only."""
    return {key: value for key, value in process.items() if key != "user"}


def of_command(report):
    """But for what the kernel tells whoever waits for the command: that is not on the tape."""
    return {key: value for key, value in report.get("command_energy", {}).items()
            if key not in ("cpu_s", "max_rss_bytes", "reason")}


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


CHILDREN = """
exec >/dev/null
i=0; while [ $i -lt 60 ]; do /bin/true; i=$((i+1)); done
head -c 3000000 /dev/zero | gzip
sh -c '(sleep 0.4; head -c 3000000 /dev/zero | md5sum) &'
sleep 1.3
"""


def test_replay_has_the_same_processes(tmp_path):
    """Of this machine, whatever it can measure: the tape knows the command, its orphans and its children of 1 ms."""
    tape = tmp_path / "tape"
    live = run_wattle("run", "-i", "50", "-f", "json", "--top", "65536", "--idle-file", tmp_path / "idle",
                      "--tape-record", tape, "--", "sh", "-c", CHILDREN)
    assert live.code == 0, live
    if "processes" not in live.json:
        pytest.skip("nothing here can be attributed")
    assert live.json["command_energy"]["processes"] > 3
    assert any(process["in_command"] for process in live.json["processes"])
    replayed = run_wattle("run", "-f", "json", "--top", "65536", "--tape", tape).json
    same(live.json, replayed)
    assert run_wattle("run", "-f", "json", "--top", "65536", "--tape", tape).json["processes"] == replayed["processes"]


def test_replay_knows_the_idle_power_that_was_known(tmp_path):
    root, tape = ROOTS / "xeon-2s-dram", tmp_path / "tape"
    options = ["--idle-file", idle_file(root, tmp_path / "idle")]
    live = record(root, tape, "true", options=options)
    replayed = replay(tape)
    assert {row["name"]: row["idle_w"] for row in replayed["domains"] if "idle_w" in row} == \
        {row["name"]: row["idle_w"] for row in live["domains"] if "idle_w" in row}
    assert any("idle_w" in row for row in live["domains"])
    same(live, replayed)
    # A file that is named has the last word, and none is none.
    without = run_wattle("run", "--tape", tape, "--idle-file", "", "-f", "json").json
    assert not any("idle_w" in row for row in without["domains"])


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


def test_doctor_claims_no_ways_that_a_tape_has_not():
    """A tape of the time before processes were looked at."""
    ways = {way["way"]: way for way in run_wattle("doctor", "--tape", REPO / "tests" / "fixtures" / "tapes" / "server.tape", "-f", "json").json["ways"]}
    for name in ("CPU clocks", "exit records", "ended children", "new processes", "busy time", "all processes"):
        assert ways[name]["is_used"] is False and ways[name]["reason"], name
    assert "no processes" in ways["CPU clocks"]["reason"]


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


def test_no_recording_becomes_a_tape(tmp_path):
    """The words of -o, which nothing but a tape's own file may differ from."""
    recording, link, mark = tmp_path / "my.wattle", tmp_path / "link", tmp_path / "ran"
    assert run_wattle("run", "--root", ROOTS / "client-psys", "--record", recording, "--", "true").code == 0
    link.symlink_to(recording)
    before = recording.read_bytes()
    root = ("--root", ROOTS / "client-psys")
    for words in (("run", "--", "touch", mark), ("record", "-o", tmp_path / "new.wattle", "--", "touch", mark), ("doctor",),
                  ("query",)):
        for tape in (recording, link):
            result = run_wattle(words[0], *root, "--tape-record", tape, *words[1:])
            assert result.code == (125 if mark in words else 1) and result.out == "", result
            assert result.complaint() == (f"wattle: {words[0]}: cannot write '{tape}': it is a recording, which nothing replaces; "
                                          f"nothing was {'run' if mark in words else 'done'}")
    assert recording.read_bytes() == before and not mark.exists() and not (tmp_path / "new.wattle").exists()
    # What only has the name of one is a file like any other.
    recording.write_text("no recording\n")
    assert run_wattle("doctor", *root, "--tape-record", recording).code == 0
    assert recording.read_text().startswith("wattle-tape 1\n")


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


def test_memory_of_processes(tmp_path):
    """It is read once a second, at the latest when the command ends, and a tape has what was read."""
    tape = tmp_path / "memory.tape"
    options = ("run", "-f", "json", "--top", "1000", "--nvml", "")
    live = run_wattle(*options, "--tape-record", tape, "--", "sh", "-c", "sleep 1.4").json
    read = [line for line in tape.read_text(encoding="utf-8").splitlines() if "/smaps_rollup\"" in line]
    assert 0 < len(read) <= 2 * 32
    told = [(row["pid"], row.get("rss_bytes"), row.get("pss_bytes"), row.get("uss_bytes"))
            for row in live["processes"] if "pid" in row]
    again = run_wattle(*options, "--tape", tape).json
    assert told == [(row["pid"], row.get("rss_bytes"), row.get("pss_bytes"), row.get("uss_bytes"))
                    for row in again["processes"] if "pid" in row]
    run_wattle(*options, "--no-processes", "--tape-record", tmp_path / "none.tape", "--", "sleep", "1.4")
    assert "smaps_rollup" not in (tmp_path / "none.tape").read_text(encoding="utf-8")
