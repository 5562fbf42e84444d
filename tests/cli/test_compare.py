# SPDX-License-Identifier: MIT
"""wattle compare: commands in turn, whose true ratio is known; the statistic by another calculation."""

import csv
import io
import json
import math
import re
import shlex
import signal
import statistics
import sys
import time
from decimal import Decimal

import pytest

from conftest import ROOTS, Terminal, check_sums, command_path, finish, mover, parse_csv, run_wattle, start_wattle, wait_for
from test_sim import simulate

T95 = {1: 12.7062, 2: 4.3027, 3: 3.1824, 4: 2.7764, 5: 2.5706, 9: 2.2622}
INTEL = ROOTS / "xeon-2s-dram" / "proc" / "cpuinfo"
XEON = ("--root", ROOTS / "xeon-2s-dram")


def line(*command):
    return shlex.join(map(str, command))


ZONES = ("intel-rapl:0", "intel-rapl:0:0", "intel-rapl:1", "intel-rapl:1:0")


def using(server, joules, seconds=0.01, parts=(1, 1, 1, 1)):
    """A command line that uses so many joules, divided among two packages and their DRAM. Each moves: one that stands
    still is taken as failed."""
    steps = []
    for zone, part in zip(ZONES, parts):
        steps += ["add", server.zone(zone), round(joules * 10 ** 6 * part / sum(parts))]
    return line(*mover("sleep", seconds, *steps))


def varying(server, tmp_path, name, joules):
    """A command line whose k-th run (from 0) uses the k-th of these joules."""
    count = tmp_path / name
    code = f"""
import os
try: k = int(open({str(count)!r}).read())
except OSError: k = 0
open({str(count)!r}, "w").write(str(k + 1))
for zone in {[str(server.zone(zone)) for zone in ZONES]!r}:
    fd = os.open(zone, os.O_WRONLY)
    os.pwrite(fd, b"%d\\n" % (int(open(zone).read()) + round({list(map(float, joules))!r}[k] * 250000)), 0)
"""
    return line(*mover()[:-1], code)


@pytest.fixture(name="server")
def moving_server(machine):
    return machine("nvidia-server")


def compare(machine, *args, code=0):
    result = run_wattle("compare", "--root", machine.path, *args)
    assert result.code == code, result
    return result


def commands_of(report):
    assert report["schema"] == "wattle.compare/1"
    for command in report["commands"]:
        series = command["series"]
        assert series["schema"] == "wattle.series/1"
        for run in series["runs"]:
            check_sums(run)
        whole = [r for r in series["runs"] if not r["interrupted"]]
        assert command["runs"] == len(whole) == series["statistics"]["runs"]
        energies = [float(r["total"]["energy_j"]) for r in whole]
        if report["compared"] == "energy_j":
            assert float(command["energy_j"]["mean"]) == pytest.approx(statistics.fmean(energies), abs=2e-6)
    return report["commands"]


def expected(best, other):
    """value, low, high by runs alone."""
    logs = [math.log(b / a) for a, b in zip(best, other)]
    mean = statistics.fmean(logs)
    half = T95[len(logs) - 1] * statistics.stdev(logs) / len(logs) ** 0.5
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


# ---- The ratio ----

def test_known_ratio(server):
    report = compare(server, "-r", "3", "-f", "json", using(server, 50), using(server, 99)).json
    a, b = commands_of(report)
    assert report["compared"] == "energy_j" and report["why"] and report["best"] == 0
    assert "ratio" not in a
    assert b["ratio"]["ratio"] == Decimal("1.98") and b["ratio"]["significant"] is True
    text = compare(server, "-r", "3", "-n", "small", "-n", "large", using(server, 50), using(server, 99))
    assert "'small' uses 1.980" in text.out and "times less machine energy than 'large'" in text.out
    assert text.err == ""


def test_ratio_by_another_calculation(server, tmp_path):
    a, b = [10, 11, 12, 13, 14], [21, 21.5, 25, 25.5, 29]
    report = compare(server, "-r", "5", "-f", "json", varying(server, tmp_path, "b", b),
                     varying(server, tmp_path, "a", a)).json
    assert report["best"] == 1
    ratio = commands_of(report)[0]["ratio"]
    value, low, high = expected(a, b)
    assert float(ratio["ratio"]) == pytest.approx(value, rel=1e-5)
    half = float(ratio["of_pairs"])
    assert math.exp(half) == pytest.approx(high / value, rel=1e-4)
    whole = math.hypot(half, float(ratio["of_all"]))
    assert float(ratio["low"]) == pytest.approx(value * math.exp(-whole), rel=1e-4)
    assert float(ratio["high"]) == pytest.approx(value * math.exp(whole), rel=1e-4)
    assert low >= float(ratio["low"]) * (1 - 1e-4)


def test_what_drifts_is_the_same_for_neighbours(server, tmp_path):
    a = [100 * 1.2 ** k for k in range(6)]
    report = compare(server, "-r", "6", "-f", "json", varying(server, tmp_path, "a", a),
                     varying(server, tmp_path, "b", [1.05 * j for j in a])).json
    one, two = commands_of(report)
    assert float(one["energy_j"]["ci95"]) > 0.3 * float(one["energy_j"]["mean"])
    assert float(two["ratio"]["ratio"]) == pytest.approx(1.05, rel=1e-5)
    assert two["ratio"]["significant"] is True and float(two["ratio"]["of_pairs"]) < 1e-5


def test_no_difference(server, tmp_path):
    args = ("-r", "4", "-n", "a", "-n", "b", varying(server, tmp_path, "a", [10, 12, 10, 12] * 2),
            varying(server, tmp_path, "b", [12, 10, 12, 11] * 2))
    assert "No difference was seen between 'a' and 'b': 1.0" in compare(server, *args).out
    assert commands_of(compare(server, "-f", "json", *args).json)[1]["ratio"]["significant"] is False


def test_three_are_sorted(server):
    lines = [using(server, j) for j in (30, 10, 20)]
    result = compare(server, "-r", "2", "-n", "thirty", "-n", "ten", "-n", "twenty", *lines)
    table = [row.split()[0] for row in result.out.splitlines()[3:6]]
    assert table == ["ten", "twenty", "thirty"]
    assert re.findall(r"'ten' uses (\d\.\d)\d* .*?'(\w+)'", result.out, re.DOTALL) == \
        [("2.0", "twenty"), ("3.0", "thirty")]
    report = compare(server, "-r", "2", "-f", "json", *lines).json
    assert report["best"] == 1
    assert [c["command"] for c in report["commands"]] == lines


def zero_error(report, joules=(10, 20)):
    """Of ln(ratio), k = 2: DRAM of a server has a zero of 2 W each, which is more of the one that takes longer for its joules."""
    a, b = (float(command["duration_s"]["mean"]) / j for command, j in zip(report["commands"], joules))
    return 2 * 4 * abs(b - a)


def test_gain_cancels_where_the_parts_are_alike(server):
    """Packages and DRAM alike: nothing of the gain. In b DRAM has 0.8 instead of 0.5: 0.3 by 5 % of DRAM's gain and 0.3
    by 3 % of the packages' are left, twice for k = 2."""
    a = using(server, 10)
    alike = compare(server, "-r", "2", "-f", "json", a, using(server, 20)).json
    other = compare(server, "-r", "2", "-f", "json", a, using(server, 20, parts=(1, 4, 1, 4))).json
    gain = 2 * 0.3 * math.hypot(0.05, 0.03)
    assert float(commands_of(alike)[1]["ratio"]["of_all"]) == pytest.approx(zero_error(alike), abs=0.004)
    assert float(commands_of(other)[1]["ratio"]["of_all"]) == pytest.approx(math.hypot(gain, zero_error(other)), abs=0.004)


def test_a_zero_error_is_less_of_more_power(server):
    report = compare(server, "-r", "2", "-f", "json", using(server, 10, 0.05), using(server, 20, 0.4)).json
    assert float(commands_of(report)[1]["ratio"]["of_all"]) == pytest.approx(zero_error(report), rel=0.02)


def test_one_run_has_the_sensors_interval_alone(server):
    """Gains of DRAM and packages are left in the ratio where the parts differ: 0.035 of ln(ratio), so 0.07 of 2."""
    lines = using(server, 10), using(server, 20, parts=(1, 4, 1, 4))
    text = compare(server, "-r", "1", *lines).out
    ratio = commands_of(compare(server, "-r", "1", "-f", "json", *lines).json)[1]["ratio"]
    assert ratio["n"] == 1 and "low" not in ratio and "significant" not in ratio and "one run" in ratio["reason"]
    of_all = float(ratio["of_all"])
    assert of_all > 0.03 and "of_pairs" not in ratio
    said = re.search(r"used (\d\.\d+) ± (\d\.\d+) times less machine energy", " ".join(text.split()))
    assert said, text
    assert float(said[1]) == pytest.approx(2, abs=0.02)
    assert float(said[2]) >= 0.07
    for words in ("one run of each has no spread", "chance", "± is what sensors and idle power may be wrong by"):
        assert words in " ".join(text.split()), text
    assert "95 %" not in text


def test_no_energy_at_all(server, tmp_path):
    text = compare(server, "-r", "2", "true", using(server, 20)).out
    assert "a run used no energy" in text
    (tmp_path / "proc").mkdir()
    nothing = run_wattle("compare", "--root", tmp_path, "-r", "2", "true", "true")
    assert nothing.code == 0 and "nothing is compared: " in nothing.out
    report = run_wattle("compare", "--root", tmp_path, "-r", "2", "-f", "json", "true", "true").json
    assert report["reason"] and "best" not in report


# ---- Dynamic energy, or the machine's ----

def test_amd_is_compared_by_the_machine(machine):
    server = machine("amd-epyc")
    report = compare(server, "-r", "2", "-f", "json", "true", "true").json
    assert report["compared"] == "energy_j" and "AMD" in report["why"]


def test_machine_can_be_asked_for():
    report = run_wattle("compare", "--energy", "machine", "-r", "2", "-f", "json", "true", "true").json
    assert report["compared"] == "energy_j" and "--energy" in report["why"]


# ---- How it runs ----

def test_order_of_runs(tmp_path):
    log = tmp_path / "log"
    result = run_wattle("compare", *XEON, "-r", "2", "-w", "1", "--prepare", f"echo p >>{log}", f"echo a >>{log}",
                        f"echo b >>{log}")
    assert result.code == 0, result
    assert "2 runs each after 1 warm-up" in result.out
    assert log.read_text().split() == ["p", "a", "p", "b"] * 3


def test_a_preparation_for_each(tmp_path):
    log = tmp_path / "log"
    result = run_wattle("compare", *XEON, "-r", "1", "--prepare", f"echo 1 >>{log}", "--prepare",
                        f"echo 2 >>{log}", f"echo a >>{log}", f"echo b >>{log}")
    assert result.code == 0, result
    assert log.read_text().split() == ["1", "a", "2", "b"]


def test_preparation_is_not_measured(server):
    report = compare(server, "-r", "2", "-f", "json", "--prepare", using(server, 1000), using(server, 10),
                     using(server, 20)).json
    assert [c["energy_j"]["max"] for c in commands_of(report)] == [10, 20]


def test_ten_runs_unless_told(tmp_path):
    report = run_wattle("compare", *XEON, "-f", "json", "true", "true").json
    assert [c["runs"] for c in report["commands"]] == [10, 10]


def test_until(server, tmp_path):
    joules = [100, 103, 101, 104, 100, 102, 103, 101, 102, 100] * 10
    result = compare(server, "--until", "2%", "-f", "json", varying(server, tmp_path, "a", joules),
                     varying(server, tmp_path, "b", [200, 201] * 50))
    report = result.json
    assert report["converged"] is True and report["until"] == Decimal("0.02")
    runs = report["commands"][1]["runs"]
    for n in range(3, runs + 1):
        value, _, high = expected(joules[:n], ([200, 201] * 50)[:n])
        assert (math.log(high / value) <= 0.02) == (n == runs)
    assert "not reached" in compare(server, "--until", "0.01%", "--max-repeat", "3", "-n", "a", "-n", "b",
                                    varying(server, tmp_path, "c", joules), "true").out


def test_output_of_commands():
    hidden = run_wattle("compare", *XEON, "-r", "1", "echo OUT; echo ERR >&2", "cat", stdin=b"IN")
    assert "OUT\n" not in hidden.out and "IN" not in hidden.out and "ERR\n" in hidden.err
    shown = run_wattle("compare", *XEON, "-r", "2", "--show-output", "echo OUT", "true")
    assert shown.out == "OUT\nOUT\n" and shown.err.startswith("wattle: 2 commands in turn")


def test_progress_on_a_terminal():
    terminal = Terminal(command_path(), "compare", *map(str, XEON), "-r", "3", "true", "true")
    terminal.finish()
    assert [f"round {n} of 3" in terminal.seen.decode() for n in (1, 2, 3)] == [True] * 3
    assert re.search(rb"round 3 of 3, about \d\.\d s left\r\x1b\[K", terminal.seen)
    assert "round" not in run_wattle("compare", *XEON, "-r", "2", "true", "true").err


def test_without_a_shell(tmp_path):
    marker = tmp_path / "a b"
    result = run_wattle("compare", *XEON, "-r", "1", "-N", f"touch '{marker}'", 'test "x y" = x\\ y')
    assert result.code == 0, result
    assert marker.exists()
    assert "needs a shell" in run_wattle("compare", "-N", "true", "true; true").complaint()
    assert "needs a shell" in run_wattle("compare", "-N", "true", "echo $(id)").complaint()


# ---- Failures ----

def test_a_failing_command_stops(tmp_path):
    log = tmp_path / "log"
    result = run_wattle("compare", *XEON, "-r", "5", f"echo x >>{log}", "exit 3")
    assert result.code == 3 and result.out == ""
    assert result.complaint() == "wattle: compare: 'exit 3' failed with exit status 3: --ignore-failure goes on"
    assert log.read_text() == "x\n"
    assert "killed by SIGKILL" in run_wattle("compare", *XEON, "kill -9 $$", "true").complaint()
    result = run_wattle("compare", *XEON, "--prepare", "exit 4", "--ignore-failure", "true", "true")
    assert result.code == 125 and "the preparation 'exit 4' failed" in result.complaint()


def test_what_ran_before_a_failure_is_told(tmp_path):
    log = tmp_path / "log"
    fails = f"echo x >>{log}; test $(wc -l <{log}) -lt 3"
    result = run_wattle("compare", *XEON, "-r", "9", "-f", "json", "true", fails)
    assert result.code == 1
    assert [c["runs"] for c in result.json["commands"]] == [3, 2]


def test_failures_can_be_ignored():
    result = run_wattle("compare", *XEON, "-r", "2", "--ignore-failure", "exit 3", "true")
    assert result.code == 0 and "'exit 3' failed in 2 of 2 runs" in result.out
    report = run_wattle("compare", *XEON, "-r", "2", "--ignore-failure", "-f", "json", "exit 3", "true").json
    assert report["commands"][0]["failed"] == 2
    assert [r["exit_status"] for r in report["commands"][0]["series"]["runs"]] == [3, 3]


@pytest.mark.parametrize("args,word", [
    (("true",), "Two at least"), ((), "Two at least"),
    (("-n", "x", "true", "true"), "1 names for 2 commands"),
    (("--prepare", "x", "--prepare", "y", "true", "true", "true"), "2 preparations for 3 commands"),
    (("--tape", "x", "true", "true"), "a tape"), (("-r", "2", "--until", "2%", "true", "true"), "exclude each other"),
    (("-f", "yaml", "true", "true"), "--format takes"), (("-w", "-1", "true", "true"), "--warmup takes"),
    (("-o", "/nonexistent/x", "true", "true"), "cannot write"), (("-N", "", "true"), "needs a shell"),
])
def test_bad_usage(args, word):
    result = run_wattle("compare", *args)
    assert result.code == 125 and word in result.complaint(), result


def test_not_found():
    assert run_wattle("compare", *XEON, "-N", "-r", "1", "/no/such", "true").code == 127
    assert run_wattle("compare", *XEON, "-r", "1", "/no/such", "true").code == 127


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_reports_what_ran(tmp_path, number):
    log = tmp_path / "log"
    process = start_wattle("compare", *XEON, "-f", "json", "-r", "9", f"echo a >>{log}",
                           f"echo b >>{log}; test $(wc -l <{log}) -lt 6 || exec sleep 60")
    wait_for(lambda: log.exists() and len(log.read_text().split()) == 6, "the third round")
    time.sleep(0.1)
    process.send_signal(number)
    result = finish(process)
    assert result.code == 128 + number
    assert [c["runs"] for c in commands_of(result.json)] == [3, 2]
    assert result.json["commands"][1]["series"]["runs"][2]["interrupted"] is True


def test_interrupt_of_the_first_run(tmp_path):
    marker = tmp_path / "marker"
    process = start_wattle("compare", *XEON, f"touch {marker}; exec sleep 60", "true")
    wait_for(marker.exists, "the command")
    process.send_signal(signal.SIGINT)
    result = finish(process)
    assert result.code == 130 and result.out == ""


# ---- Formats ----

HOSTILE = ["echo 'a\x1b[31mb' | cat # <b>`x`</b> | \"q\", *_~\n#,=1", "true # ``` ` |\t\\|"]


def test_hostile_text_in_every_format():
    args = (*XEON, "-r", "2", *HOSTILE)
    assert [c["command"] for c in run_wattle("compare", "-f", "json", *args).json["commands"]] == HOSTILE
    for name in ("text", "csv", "markdown"):
        result = run_wattle("compare", "-f", name, *args)
        assert result.code == 0 and "\x1b" not in result.out and "\t" not in result.out, result
    rows = parse_csv(run_wattle("compare", "-f", "csv", *args).out)
    assert [r["runs"] for r in rows] == ["2", "2"]
    table = [r for r in run_wattle("compare", "-f", "markdown", *args).out.splitlines() if r.startswith("|")]
    assert len(table) == 4
    for row in table:
        assert len(re.findall(r"(?<!\\)\|", row)) == 6, row
    names = {re.match(r"\| (.*?) (?<!\\)\|", row).group(1) for row in table[2:]}
    assert any(n.startswith("```` ") and n.endswith(" ````") for n in names)


def test_remarks_in_markdown():
    out = run_wattle("compare", *XEON, "-r", "2", "-f", "markdown", "--ignore-failure", "exit 1 # <b>", "true").out
    assert "\n- `exit 1 # <b>` failed in 2 of 2 runs\n" in out


def test_csv(server):
    rows = parse_csv(compare(server, "-r", "2", "-f", "csv", "-n", "b", "-n", "=a", using(server, 20),
                             using(server, 10)).out)
    assert [(r["name"], r["energy_j"], r["ratio"], r["compared"]) for r in rows] == \
        [("b", "20.000000", "2.000000", "energy_j"), ("'=a", "10.000000", "", "energy_j")]


def test_markdown(server):
    out = compare(server, "-r", "2", "-f", "markdown", "-n", "b", "-n", "a|b", using(server, 20), using(server, 10)).out
    assert "\n| command | machine [J] | time [s] | power [W] | ratio |\n|---|---:|---:|---:|---:|\n" in out
    assert "\n| `a\\|b` | 10.00 | " in out and "| 1 |\n" in out
    assert "\n- `a|b` uses 2.000" in out and "`b`\n" in out


def test_appended(tmp_path):
    for name in ("json", "csv"):
        path = tmp_path / name
        for _ in range(2):
            assert run_wattle("compare", *XEON, "-r", "1", "-f", name, "--append", "-o", path, "true", "true").code == 0
        assert len(path.read_text().splitlines()) == (2 if name == "json" else 5)
    assert len(list(csv.DictReader(io.StringIO((tmp_path / "csv").read_text())))) == 4


def test_ascii():
    result = run_wattle("compare", *XEON, "-r", "2", "--ascii", "true # é", "true")
    assert result.out_bytes.isascii()


# ---- Dynamic energy, on the simulated machine ----

@pytest.mark.alone
def test_dynamic_energy_of_known_watts(tmp_path):
    """Every CPU second costs 20 J there, of whoever uses it: the ratio of energies is that of CPU times."""
    busy = "import sys, time\nwhile time.process_time() < float(sys.argv[1]): pass"
    idle = tmp_path / "idle"
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    report = tmp_path / "report.json"
    idle.write_text(f"wattle-idle/2\npackage-0 rapl-powercap 10000000 50000 {now} 60000000000\n"
                    f"dram-0 rapl-powercap 2000000 20000 {now} 60000000000\n")
    command = line(command_path(), "compare", "-f", "json", "-o", report, "--idle-file", idle, "-r", "4",
                   *[line(sys.executable, "-S", "-E", "-c", busy, seconds) for seconds in (0.3, 0.6)])
    truth = simulate(tmp_path, "duration 0.1\nsocket idle=10 dram=2\nothers 20\n", "sh", "-c",
                     f"mount --bind {INTEL} /proc/cpuinfo || exit 99; exec {command}")
    if truth["others"]["source"] == "none" or truth["tool_status"] == 99:
        pytest.skip("no cgroup v1 here, or no processor can be put in the place of this one")
    assert truth["tool_status"] == 0
    result = json.loads(report.read_text(), parse_float=Decimal)
    assert result["compared"] == "command_dynamic_j" and "reason" not in result, {k: result[k] for k in result if k != "commands"}
    one, two = commands_of(result)
    used = [[run["command_energy"]["cpu_s"] for run in c["series"]["runs"]] for c in (one, two)]
    true_ratio = float(sum(used[1]) / sum(used[0]))
    ratio = two["ratio"]
    assert float(ratio["low"]) <= true_ratio <= float(ratio["high"])
    assert float(ratio["ratio"]) == pytest.approx(true_ratio, rel=0.1)
    assert float(ratio["of_all"]) > 0
    for command, cpu_s in zip((one, two), used):
        assert float(command["energy_j"]["mean"]) == pytest.approx(20 * float(sum(cpu_s)) / 4, rel=0.1)


def test_a_run_without_energy(server):
    """No ratio can be had of it, and nobody is best."""
    report = compare(server, "-r", "2", "-f", "json", using(server, 10), "sleep 0.03").json
    assert report["reason"] and "best" not in report
    assert all("ratio" not in command for command in report["commands"])
    assert "nothing is compared" in compare(server, "-r", "2", using(server, 10), "sleep 0.03").out


def test_picture(server, tmp_path):
    (tmp_path / "c.json").write_bytes(compare(server, "-r", "3", "-f", "json", using(server, 10), using(server, 20)).out_bytes)
    picture = run_wattle("plot", tmp_path / "c.json")
    assert picture.code == 0 and "6 runs of 2 commands" in picture.out, picture
