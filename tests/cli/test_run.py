# SPDX-License-Identifier: MIT
"""wattle run: the command is left alone, and its status is passed on."""

import hashlib
import os
import re
import resource
import signal
import stat
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

import pytest

from conftest import (REPO, ROOTS, UNIT_PERF, check_sums, clean_env, domain, mover, parse_csv, parse_json, run_wattle,
                      start_wattle, finish)

XEON = ("--root", ROOTS / "xeon-2s-dram")
TAPE = REPO / "tests/fixtures/tapes/server.tape"
QUIET = ("-o", "/dev/null")
PYTHON = (sys.executable, "-S", "-E", "-c")


def script(path, text, mode=0o755):
    path.write_text(text)
    path.chmod(mode)
    return path


# ---- Status ----

@pytest.mark.parametrize("status", [0, 1, 2, 3, 124, 125, 126, 127, 128, 130, 200, 255])
def test_exit_status_is_the_commands(status):
    result = run_wattle("run", *XEON, "-f", "json", "--", "sh", "-c", f"exit {status}")
    assert result.code == status
    assert result.err == ""
    assert result.json["exit_status"] == status
    assert "exit_signal" not in result.json


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGINT,
                                    signal.SIGPIPE, signal.SIGABRT])
def test_a_signal_is_128_plus_its_number(number):
    result = run_wattle("run", *XEON, "-f", "json", "--", "sh", "-c", f"kill -{int(number)} $$")
    assert result.code == 128 + number
    assert result.json["exit_status"] == 128 + number
    assert result.json["exit_signal"] == number
    assert result.json["interrupted"] is False


def test_command_not_found_is_127(tmp_path):
    for name in ("no-such-command-here", str(tmp_path / "nothing"), ""):
        result = run_wattle("run", *XEON, "--", name)
        assert result.code == 127
        assert f"cannot run '{name}'" in result.complaint()
        assert result.out == ""


def test_what_cannot_be_run_is_126(tmp_path):
    plain = script(tmp_path / "plain", "true\n", 0o644)
    orphan = script(tmp_path / "orphan", "#!/no/such/interpreter\n")
    for name, why in ((tmp_path, "ermission"), (plain, "ermission"), (orphan, "interpreter")):
        result = run_wattle("run", *XEON, "--", name)
        assert result.code == 126
        assert why in result.complaint()
        assert result.out == ""


def test_interpreter_that_is_missing_is_told_for_a_name_in_path(tmp_path):
    script(tmp_path / "orphan", "#!/no/such/interpreter\n")
    result = run_wattle("run", *XEON, "--", "orphan",
                        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert result.code == 126
    assert "interpreter" in result.complaint()


def test_script_without_first_line_is_run_by_the_shell(tmp_path):
    path = script(tmp_path / "bare script", 'echo "$0|$1|$2|$#"; exit 7\n')
    result = run_wattle("run", *XEON, *QUIET, "--", path, "a b", "")
    assert result.code == 7
    assert result.out == f"{path}|a b||2\n"


def test_script_without_first_line_is_found_in_path(tmp_path):
    decoy = tmp_path / "decoy"
    good = tmp_path / "good"
    decoy.mkdir()
    good.mkdir()
    (decoy / "bare").mkdir()
    path = script(good / "bare", 'echo "$0|$1"; exit 8\n')
    result = run_wattle("run", *XEON, *QUIET, "--", "bare", "x",
                        env={"PATH": f"{decoy}:{good}:{os.environ['PATH']}"})
    assert result.code == 8
    assert result.out == f"{path}|x\n"


def test_no_command_is_one_line_and_125():
    for args in ((), ("--",), ("-f", "json"), ("-q", "--")):
        result = run_wattle("run", *args)
        assert result.code == 125
        assert "which command?" in result.complaint()


# ---- Words ----

def echo_arguments(*words):
    return (*PYTHON, "import sys; print(sys.argv[1:])", *words)


@pytest.mark.parametrize("dashes", [(), ("--",)])
def test_options_after_the_command_are_its_own(dashes):
    words = ["-f", "json", "--repeat", "3", "--", "-q", "--help", "--nonsense"]
    result = run_wattle("run", *XEON, *QUIET, *dashes, *echo_arguments(*words))
    assert result.code == 0
    assert result.out == repr(words) + "\n"
    assert result.err == ""


def test_a_command_that_begins_with_a_dash_needs_the_dashes(tmp_path):
    script(tmp_path / "-x", "#!/bin/sh\nexit 9\n")
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert run_wattle("run", *XEON, *QUIET, "--", "-x", env=env).code == 9
    assert run_wattle("run", *XEON, *QUIET, "-x", env=env).code == 125


def test_many_and_long_arguments():
    words = ["x" * 100_000] + [str(i) for i in range(20_000)]
    code = "import sys, hashlib; print(hashlib.sha256('|'.join(sys.argv[1:]).encode()).hexdigest())"
    result = run_wattle("run", *XEON, "-f", "json", "-o", "/dev/stderr", "--", *PYTHON, code, *words)
    assert result.code == 0
    assert result.out.strip() == hashlib.sha256("|".join(words).encode()).hexdigest()
    assert parse_json(result.err)["command"][5:] == words


def test_a_bare_script_takes_many_arguments_too(tmp_path):
    path = script(tmp_path / "bare", 'echo $#\n')
    result = run_wattle("run", *XEON, *QUIET, "--", path, *map(str, range(5000)))
    assert (result.code, result.out) == (0, "5000\n")


# ---- What the command sees ----

def test_standard_streams_are_the_commands_own():
    data = bytes(range(256)) * 4096
    code = ("import sys; d = sys.stdin.buffer.read(); sys.stdout.buffer.write(d[::-1]); "
            "sys.stderr.buffer.write(d[:300])")
    result = run_wattle("run", *XEON, *QUIET, "--", *PYTHON, code, stdin=data)
    assert result.code == 0
    assert result.out_bytes == data[::-1]
    assert result.err_bytes == data[:300]


def test_report_comes_after_the_commands_output():
    result = run_wattle("run", *XEON, "-f", "json", "--", "echo", "from the command")
    first, rest = result.out.split("\n", 1)
    assert first == "from the command"
    assert parse_json(rest)["schema"] == "wattle.report/1"


# ---- The report as it comes without options for it ----

def brief(*args, **options):
    return run_wattle("run", *args, as_typed=True, **options)


def test_report_goes_to_standard_error():
    result = brief(*XEON, "--", "echo", "from the command")
    assert result.out == "from the command\n"
    assert result.err.startswith("wattle: echo 'from the command'\n\n")
    result = brief(*XEON, "-f", "json", "--", "echo", "out")
    assert result.out == "out\n" and parse_json(result.err)["schema"] == "wattle.report/1"
    result = brief(*XEON, "-f", "json", "-o", "-", "--", "sh", "-c", "echo err >&2")
    assert result.err == "err\n" and result.json["exit_status"] == 0
    # A tape has no command whose output it could get into.
    assert brief("--tape", TAPE).err == "" and "machine" in brief("--tape", TAPE).out


def test_report_has_six_lines():
    report = brief("--idle-file", "", "--", "sleep", "0.3").err.splitlines()  # of this machine, which has processes
    assert report[0] == "wattle: sleep 0.3" and report[1] == ""
    assert [line[:10].strip() for line in report[2:6]] == ["command", "machine", "time", "carbon"]
    assert [line[:2] for line in report[6:] if line[:2] != "  "] in (["! "], ["→ "], ["- "])
    assert not any(line.startswith(("domain", "where it went")) for line in report)


def test_remark_that_matters_most():
    """A figure in doubt before what would help, that before notes; and how many there are besides."""
    whole = run_wattle("run", "--root", ROOTS / "vm-nothing", "--", "true").out.splitlines()
    some = brief("--root", ROOTS / "vm-nothing", "--", "true").err
    doubts = [line for line in whole if line.startswith("! ")]
    remarks = [line for line in whole if line[:2] in ("! ", "→ ", "- ", "~ ")]
    assert doubts and doubts[0] in some
    assert f"({len(remarks) - 1} more with --full)" in some.replace("\n ", "")
    assert some.count("modelled") == 1


def test_quiet_report_is_one_line():
    result = brief("-q", *XEON, "--", "sh", "-c", "exit 3")
    assert result.code == 3 and result.err.count("\n") == 1
    assert re.fullmatch(r"wattle: [0-9.]+ ± [0-9.]+ J, [0-9.]+ [mµ]?s, exit status 3\n", result.err), result.err


def test_repeated_runs_are_mean_and_spread():
    result = brief(*XEON, "-r", "3", "--", "true")
    lines = result.err.splitlines()
    assert lines[2].split() == ["over", "the", "runs", "mean", "±", "95", "%", "sd", "least", "most"]
    assert [line.split("  ")[0] for line in lines[3:7]] == ["time", "energy", "CO2e", ""]
    assert "package-0 " not in result.err.split("! ")[0] and "3 runs. An error that all share" in result.err
    result = brief(*XEON, "-r", "2", "--", "sh", "-c", "exit 4")
    assert "! 2 of 2 runs failed, first with: exit status 4" in result.err
    assert "over the runs" not in brief(*XEON, "-r", "1", "--", "true").err  # there is no spread


def test_standard_error_that_takes_nothing():
    with open("/dev/full", "wb") as full:
        result = brief(*XEON, "--", "true", stderr=full)
    assert result.code == 125 and "package-0" in result.out


# ---- Lines while it runs ----

def test_lines_add_up_to_the_report(machine, tmp_path):
    server = machine("xeon-2s-dram")
    perf = server.perf("18-2-0")
    rows, report = tmp_path / "rows.csv", tmp_path / "report.wattle"
    result = brief("--root", server.path, "-I", "0.2", "-f", "csv", "-o", rows, "--record", report, "--",
                   *mover(*(("sleep", 0.15, "add", perf, 3 * UNIT_PERF) * 5)))
    assert result.code == 0 and "machine" in result.err
    lines = parse_csv(rows.read_text())
    assert len(lines) >= 4
    whole = run_wattle("report", "-f", "json", report).json
    assert sum(Decimal(line["energy_j"]) for line in lines) == whole["total"]["energy_j"] == 15
    assert sum(Decimal(line["duration_s"]) for line in lines) == Decimal(lines[-1]["time_s"])
    assert all(Decimal(line["uncertainty_j"]) > 0 for line in lines)


def test_lines_change_no_figure():
    """Of a tape, which is the same every time; and they leave no window behind."""
    tapes = REPO / "tests/fixtures/tapes"
    for name in ("server", "busy-thread"):
        options = ("--weight", "cpu-time", "--tape", tapes / f"{name}.tape")  # what is told by the second is not divided anew by learned watts
        plain = brief(*options).out
        for every in ("0.1", "1", "5"):
            assert brief(*options, "-I", every).out.endswith(plain)


def test_lines_leave_recordings_and_marks_alone(tmp_path):
    path = tmp_path / "r.wattle"
    assert brief(*XEON, "-q", "-I", "0.05", "--record", path, "--", "sleep", "0.3").code == 0
    assert [row["name"] for row in run_wattle("report", "-f", "json", path).json.get("windows", [])] in ([], ["run"])


def test_lines_of_the_command():
    """Of this machine: what the lines say of the command is what the report says of it."""
    result = brief("--idle-file", "", "-I", "0.1", "-f", "json", "-o", "-", "--", *PYTHON,
                   "import time\nwhile time.process_time() < 0.5: pass")
    rows = [parse_json(line) for line in result.out.splitlines()]
    used = sum(row.get("command_cpu_s", 0) for row in rows)
    assert len(rows) >= 4 and Decimal("0.5") <= used < Decimal("0.7")
    assert "schema" not in result.err and "command" in result.err


def test_lines_say_what_is_modelled_and_why_there_is_nothing(gpus):
    """Every figure has its ± or a reason, and what is no measurement is marked."""
    virtual, h100 = ("--root", ROOTS / "vm-nothing", "-I", "0.1"), gpus("capture-h100-load")
    for options, env, method in ((virtual, {}, "modelled"), ((*virtual, *h100.options), h100.env, "mixed")):
        lines = brief(*options, "--", "sleep", "0.25", env=env).err.splitlines()[1:4]
        assert all(re.search(r"^ +\d\.\d{3}  ~[\d.]+ ± ", line) for line in lines), lines
        assert parse_csv(brief(*options, "-f", "csv", "--", "sleep", "0.25", env=env).err)[0]["method"] == method
    tape = ("-I", "3", "--tape", REPO / "tests/fixtures/tapes/busy-thread.tape")
    lines = brief(*tape).out.splitlines()
    assert lines[1].endswith("  0 J dynamic: no CPU time") and lines[2].endswith("  7 ± 12 J dynamic") and "~" not in lines[1]
    assert parse_csv(brief(*tape, "-f", "csv").out)[0]["method"] == "counter"


def test_lines_take_the_place_of_a_report_for_programs():
    result = brief(*XEON, "-I", "0.1", "-f", "csv", "--", "sleep", "0.25")
    assert result.err.startswith("time_s,duration_s,energy_j,") and "machine" not in result.err
    assert len(parse_csv(result.err)) == 3
    text = brief(*XEON, "-I", "0.1", "--", "sleep", "0.25").err.splitlines()
    assert text[0].split() == ["time", "[s]", "machine", "mean", "command"] and text[4].startswith("wattle: sleep")
    assert brief(*XEON, "-I", "1", "-r", "2", "--", "true").complaint() == \
        "wattle: run: --every shows one run: leave out --repeat and --until"
    full = brief(*XEON, "-I", "0.1", "-o", "/dev/full", "--", "sleep", "0.2")
    assert full.code == 125 and "cannot write the lines of --every" in full.err and "machine" in full.err


def test_progress_on_a_terminal(terminal, wattle):
    shown = terminal(wattle, "run", *XEON, "-r", "3", "--", "true").finish().out
    assert re.search(r"wattle: 1 of 3 runs done, about \d\.\d s left", shown) and "wattle: 2 of 3 runs done" in shown
    until = terminal(wattle, "run", "--until", "0.01%", "--max-repeat", "4", "--", "sleep", "0.05").finish().out
    assert re.search(r"wattle: 3 runs done, mean \S+ J, good to \S+ %, about 0\.\d s left", until), until
    assert "wattle: 1 run done" in until
    quiet = terminal(wattle, "run", "-q", *XEON, "-r", "3", "--", "true").finish().out
    assert "runs done" not in quiet
    assert "runs done" not in brief(*XEON, "-r", "3", "--", "true").err


def test_environment_folder_and_limits_are_unchanged(tmp_path):
    code = ("import os, resource, sys; print(sorted(os.environb.items()), os.getcwd(), "
            "os.umask(0), os.nice(0), resource.getrlimit(resource.RLIMIT_NOFILE), "
            "sorted(os.sched_getaffinity(0)))")
    env = {"ODD": "a=b\nc", "EMPTY": ""}
    options = {"cwd": tmp_path, "umask": 0o027}
    plain = subprocess.run([*PYTHON, code], env=clean_env(**env), stdout=subprocess.PIPE, check=True,
                           **options)
    result = run_wattle("run", *XEON, *QUIET, "--", *PYTHON, code, env=env, **options)
    assert result.out_bytes == plain.stdout


def test_no_descriptor_of_wattles_reaches_the_command(gpus):
    code = "import os; print(sorted(os.listdir('/proc/self/fd')))"
    plain = subprocess.run([*PYTHON, code], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, check=True)
    result = gpus("a100").run(*QUIET, "--tape-record", "/dev/null", "--", *PYTHON, code)
    assert result.out_bytes == plain.stdout
    with open(os.devnull, "rb") as extra:
        result = run_wattle("run", *XEON, *QUIET, "--", "cat", f"/dev/fd/{extra.fileno()}",
                            pass_fds=[extra.fileno()])
        assert result.code == 0, result


def test_signal_mask_and_dispositions_are_handed_on():
    def odd():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGALRM])
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    # Not Python: it changes SIGPIPE at its own start.
    show = ("grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status")
    for restore, prepare in ((True, None), (False, None), (True, odd)):
        options = {"restore_signals": restore, "preexec_fn": prepare}
        plain = subprocess.run(show, stdout=subprocess.PIPE, check=True, **options)
        result = run_wattle("run", *XEON, *QUIET, "--", *show, **options)
        # glibc's posix_spawn() makes its own two signals ignored.
        own = 1 << 31 | 1 << 32
        given = {line.split(":")[0]: int(line.split()[1], 16) & ~own
                 for line in result.out.splitlines()}
        assert given == {line.split(":")[0]: int(line.split()[1], 16) & ~own
                         for line in plain.stdout.decode().splitlines()}


def test_an_ignored_sigchld_does_not_hide_the_end():
    result = run_wattle("run", *XEON, *QUIET, "--", "sh", "-c", "exit 5",
                        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert result.code == 5


def test_a_closed_standard_input_stays_closed():
    result = run_wattle("run", *XEON, *QUIET, "--", "sh", "-c", "cat <&0; echo $?", stdin_file=None,
                        preexec_fn=lambda: os.close(0))
    assert result.code == 0
    assert result.out != "0\n"


def test_a_command_that_closes_everything():
    code = "import os; [os.close(i) for i in range(3)]; os._exit(4)"
    result = run_wattle("run", *XEON, "-f", "json", "--", *PYTHON, code)
    assert result.code == 4
    assert result.json["exit_status"] == 4


def test_ends_with_the_command_not_with_what_it_left_behind(tmp_path):
    mark = tmp_path / "pid"
    code = ("import os, sys, time\n"
            "if os.fork(): os._exit(6)\n"
            "os.setsid()\n"
            f"open({str(mark)!r}, 'w').write(str(os.getpid()))\n"
            "[os.close(i) for i in range(3)]\n"
            "time.sleep(600)\n")
    result = run_wattle("run", *XEON, "-f", "json", "--", *PYTHON, code)
    assert result.code == 6
    while not (mark.exists() and mark.read_text()):
        pass
    os.kill(int(mark.read_text()), signal.SIGKILL)


def test_time_of_command_and_children_is_told():
    code = "sum(i * i for i in range(3_000_000))"
    result = run_wattle("run", *XEON, "-f", "json", "--", "sh", "-c",
                        f'"{sys.executable}" -S -c "$1"; :', "sh", code)
    energy = result.json["command_energy"]
    assert Decimal("0.02") < energy["cpu_s"] < 60
    assert energy["max_rss_bytes"] > 2 ** 20


# ---- Figures ----

@pytest.mark.parametrize("root", sorted(p.name for p in ROOTS.iterdir() if p.is_dir()))
def test_every_machine_in_every_format(root):
    base = ("run", "--root", ROOTS / root)
    text = run_wattle(*base, "--", "true")
    assert text.code == 0 and text.err == "", text
    assert text.out.startswith("wattle: true\n")
    report = run_wattle(*base, "-f", "json", "--", "true")
    assert report.code == 0, report
    check_sums(report.json)
    assert report.json["schema"] == "wattle.report/1"
    assert report.json["command"] == ["true"]
    rows = run_wattle(*base, "-f", "csv", "--", "true").csv
    assert [r["domain"] for r in rows] == [d["name"] for d in report.json["domains"]] + ["total"]


def test_keys_carry_their_units_and_times_fit():
    report = run_wattle("run", *XEON, "-f", "json", "--", "sleep", "0.2").json
    assert Decimal("0.2") <= report["duration_s"] < 60
    assert report["start_utc"].endswith("Z")
    for line in (report["total"], *(d for d in report["domains"] if d["kind"] == "dram")):
        assert line["measured_s"] + line["gap_s"] <= report["duration_s"] + Decimal("0.05")
        assert line["method"] == "counter"
        assert -line["energy_j"].as_tuple().exponent == 6
    assert report["self"]["ticks"] >= 2
    assert report["self"]["max_rss_bytes"] > 0


def test_carbon_follows_location_and_pue_changes_no_energy():
    base = ("run", *XEON, "-f", "json")
    report = run_wattle(*base, "--location", "FRA", "--pue", "1.25", "--", "true").json
    assert report["carbon"]["location"] == "FRA"
    assert report["carbon"]["location_is_default"] is False
    assert report["carbon"]["pue"] == Decimal("1.250")
    world = run_wattle(*base, "--", "true").json["carbon"]
    assert world["location_is_default"] is True and world["dataset"] and world["year"]
    number = run_wattle(*base, "--location", "56.04", "--", "true").json["carbon"]
    assert number["intensity_g_per_kwh"] == Decimal("56.04")
    assert "year" not in number


def test_an_energy_of_zero_has_uncertain_carbon():
    """Counters that have not moved yet: DRAM's 0 J has a plus or minus, and so have its grams."""
    root = str(ROOTS / "xeon-2s-dram")
    report = run_wattle("run", "--root", root, "--nvml", "", "-f", "json", "--location", "56.04", "--", "true").json
    total, carbon = report["total"], report["carbon"]
    assert total["energy_j"] == 0 and total["uncertainty_j"] > 0 and carbon["gco2e"] == 0
    exact = total["uncertainty_j"] * Decimal("56.04") / 3600000
    assert exact <= carbon["gco2e_uncertainty"] <= exact + Decimal("0.000000001")


def test_less_than_a_microgram_is_not_nothing():
    report = run_wattle("run", "--nvml", "", "--root", str(ROOTS / "vm-nothing"), "-f", "json", "--location", "0.001",
                        "--", "true").json
    assert report["total"]["energy_j"] > 0 and 0 < report["carbon"]["gco2e_uncertainty"] < Decimal("0.000001")


def test_carbon_is_energy_times_intensity(machine):
    xeon = machine("nvidia-server")
    report = xeon.measure("add", xeon.zone("intel-rapl:0"), 36_000_000, "add",
                          xeon.zone("intel-rapl:0:0"), 3_600_000,
                          options=("--location", "500", "--pue", "2"))
    assert report["total"]["energy_j"] == Decimal("39.600000")
    assert report["carbon"]["gco2e"] == Decimal("0.005500000")
    assert report["carbon"]["gco2e_with_pue"] == Decimal("0.011000000")


def test_carbon_of_a_tiny_energy(machine):
    """Where whole micrograms would be 0: 3.6 mJ at 50 g/kWh are 50 ng."""
    xeon = machine("nvidia-server")
    few = xeon.measure("add", xeon.zone("intel-rapl:0"), 3_000, "add", xeon.zone("intel-rapl:0:0"), 600,
                       options=("--location", "50", "--pue", "1.5"))
    assert few["total"]["energy_j"] == Decimal("0.003600"), few["total"]
    assert few["carbon"]["gco2e"] == Decimal("0.000000050")
    assert few["carbon"]["gco2e_with_pue"] == Decimal("0.000000075")
    assert few["carbon"]["gco2e_uncertainty"] > 0


# ---- -o ----

def test_output_file_is_replaced_whole_and_keeps_its_mode(tmp_path):
    path = tmp_path / "report.json"
    path.write_text("x" * 100_000)
    path.chmod(0o640)
    before = path.stat().st_ino
    # The old file is whole for as long as the command runs.
    result = run_wattle("run", *XEON, "-f", "json", "-o", path, "--", "wc", "-c", path)
    assert result.code == 0
    assert result.out.split()[0] == "100000"
    assert parse_json(path.read_text())["exit_status"] == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert path.stat().st_ino != before
    assert os.listdir(tmp_path) == ["report.json"]


def test_new_output_file_follows_umask_and_links_are_followed(tmp_path):
    target = tmp_path / "target"
    link = tmp_path / "link"
    link.symlink_to("target")
    target.write_text("old")
    assert run_wattle("run", *XEON, "-o", link, "--", "true").code == 0
    assert link.is_symlink() and target.read_text().startswith("wattle: true")
    fresh = tmp_path / "fresh"
    assert run_wattle("run", *XEON, "-o", fresh, "--", "true", umask=0o027).code == 0
    assert stat.S_IMODE(fresh.stat().st_mode) == (0o640 if os.geteuid() else 0o600)


def test_output_name_relative_to_where_wattle_began(tmp_path):
    result = run_wattle("run", *XEON, "-o", "r.txt", "--", "sh", "-c", "cd /", cwd=tmp_path)
    assert result.code == 0
    assert (tmp_path / "r.txt").exists()


def test_append_to_csv_has_one_header(tmp_path):
    path = tmp_path / "costs.csv"
    for _ in range(3):
        assert run_wattle("run", *XEON, "-f", "csv", "--append", "-o", path, "--", "true").code == 0
    rows = parse_csv(path.read_text())
    assert len(rows) == 3 * 5
    assert path.read_text().count("start_utc") == 1


def test_append_to_an_empty_csv_has_its_header(tmp_path):
    path = tmp_path / "costs.csv"
    path.touch()
    assert run_wattle("run", *XEON, "-f", "csv", "--append", "-o", path, "--", "true").code == 0
    assert len(parse_csv(path.read_text())) == 5


def test_runs_that_append_at_the_same_time_lose_nothing(tmp_path):
    path = tmp_path / "costs.csv"
    go = tmp_path / "go"
    wait = f"while [ ! -e {go} ]; do sleep 0.01; done"
    running = [start_wattle("run", *XEON, "-f", "csv", "--append", "-o", path, "--", "sh", "-c", wait)
               for _ in range(4)]
    go.touch()
    assert [finish(p).code for p in running] == [0] * 4
    lines = path.read_text().splitlines()
    assert len([line for line in lines if ",total," in line]) == 4
    assert len([line for line in lines if line.startswith("2")]) == 4 * 5


def test_append_to_json_is_one_line_a_report(tmp_path):
    path = tmp_path / "costs.ndjson"
    for status in (0, 3, 0):
        result = run_wattle("run", *XEON, "-f", "json", "--append", "-o", path, "--", "sh", "-c",
                            f"exit {status}")
        assert result.code == status
    lines = path.read_text().splitlines()
    assert [parse_json(line)["exit_status"] for line in lines] == [0, 3, 0]


def test_append_to_text_keeps_what_was_there(tmp_path):
    path = tmp_path / "log"
    path.write_text("first\n")
    assert run_wattle("run", *XEON, "--append", "-o", path, "--", "true").code == 0
    assert path.read_text().startswith("first\n\nwattle: true")


def refused(tmp_path, path, *options, user=None):
    """Nothing ran, and one line says why."""
    mark = tmp_path / "ran"
    result = run_wattle("run", *XEON, *options, "-o", path, "--", "touch", mark, user=user)
    assert result.code == 125, result
    assert f"'{path}'" in result.complaint()
    assert ("nothing was run" if path else "takes the path of a file") in result.err
    assert result.out == ""
    assert not mark.exists()
    return result.err


@pytest.mark.parametrize("append", [(), ("--append",)])
def test_output_that_cannot_be_written_stops_it_before_the_command(tmp_path, append):
    (tmp_path / "file").touch()
    assert "No such file" in refused(tmp_path, tmp_path / "missing" / "report", *append)
    assert "directory" in refused(tmp_path, tmp_path, *append)
    assert "directory" in refused(tmp_path, f"{tmp_path}/new/", *append)
    assert "directory" in refused(tmp_path, f"{tmp_path}/file/x", *append)
    refused(tmp_path, "/proc/new-file", *append)
    refused(tmp_path, "", *append)
    refused(tmp_path, tmp_path / ("n" * 300), *append)
    (tmp_path / "dangling").symlink_to("nowhere/at/all")
    if append:
        refused(tmp_path, tmp_path / "dangling", *append)


@pytest.fixture(name="open_folder")
def folder_open_to_all():
    with tempfile.TemporaryDirectory(prefix="wattle-test-") as path:
        os.chmod(path, 0o755)
        yield Path(path)


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become somebody without rights")
def test_read_only_folder_and_file_of_another(open_folder, wattle):
    tmp_path = open_folder
    folder = tmp_path / "folder"
    folder.mkdir()
    theirs = folder / "theirs"
    theirs.touch()
    theirs.chmod(0o644)
    for path in (wattle, ROOTS):
        for parent in Path(path).resolve().parents:
            if not parent.stat().st_mode & stat.S_IXOTH:
                pytest.skip(f"{parent} is closed to other users")
    refused(tmp_path, folder / "new", user=65534)
    refused(tmp_path, theirs, user=65534)
    # Writable itself, but it cannot be replaced in its folder; adding to it is fine.
    theirs.chmod(0o666)
    refused(tmp_path, theirs, user=65534)
    assert run_wattle("run", *XEON, "--append", "-o", theirs, "--", "true", user=65534).code == 0
    assert theirs.read_text().startswith("\nwattle: true")


# ---- Where writing fails ----

def rescued(result, where):
    """One line says what is wrong, and the report follows it on standard error."""
    assert result.code == 125, result
    first, rest = result.err.split("\n", 1)
    assert first.startswith("wattle: run: cannot write the result to " + where), result
    assert rest.startswith("wattle: "), result
    assert "package-0" in rest and "total" in rest
    rest.encode("ascii")


@pytest.mark.parametrize("form", ["text", "json", "csv"])
def test_full_disk(form):
    rescued(run_wattle("run", *XEON, "-f", form, "-o", "/dev/full", "--", "true"), "'/dev/full'")
    with open("/dev/full", "wb") as full:
        rescued(run_wattle("run", *XEON, "-f", form, "--", "true", stdout=full), "standard output")


def test_file_size_limit_is_an_error_not_a_death(tmp_path):
    """The kernel's signal for it would end wattle before it said anything."""
    name = tmp_path / "report"
    result = run_wattle("run", *XEON, "-f", "json", "-o", name, "--", "true",
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
    assert result.code == 125
    assert result.err.startswith(f"wattle: run: cannot write the result to '{name}': ")
    assert "package-0" in result.err
    assert not name.exists()
    # The command is still subject to the signal.
    result = run_wattle("run", *XEON, "--", "sh", "-c", f"exec head -c 1000 /dev/zero > {tmp_path}/own",
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
    assert result.code == 128 + signal.SIGXFSZ


def test_total_says_that_it_is_incomplete():
    whole = run_wattle("run", *XEON, "--nvml", "", "-f", "json", "--", "true").json
    assert "incomplete" not in whole["total"]["flags"]
    part = run_wattle("run", "--root", ROOTS / "rubbish", "--nvml", "", "-f", "json", "--", "true").json
    assert any(d["in_total"] and "energy_j" not in d for d in part["domains"])
    # A counter that has stood still for 20 ms has failed: on a busy machine none may be left.
    assert part["total"]["status"] == "absent" or "incomplete" in part["total"]["flags"]


def test_modelled_figures_say_why():
    report = run_wattle("run", "--root", ROOTS / "amd-epyc", "--nvml", "", "-f", "json", "--", "sleep", "0.1").json
    modelled = [d for d in report["domains"] if d.get("method") == "modelled"]
    assert modelled and all(d["reason"] for d in modelled)


def test_file_that_outgrows_its_limit(tmp_path):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

    path = tmp_path / "report"
    path.write_text("old")
    rescued(run_wattle("run", *XEON, "-o", path, "--", "true", preexec_fn=limit), f"'{path}'")
    assert path.read_text() == "old"
    rescued(run_wattle("run", *XEON, "--append", "-o", path, "--", "true", preexec_fn=limit),
            f"'{path}'")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["report"]


def test_closed_pipe_is_an_error_not_a_death():
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        rescued(run_wattle("run", *XEON, "--", "true", stdout=pipe), "standard output")
        assert run_wattle("doctor", *XEON, stdout=pipe).code == 1
        assert run_wattle("--help", stdout=pipe).code == 0  # its reader has seen enough
        # With -o nothing of wattle's goes there.
        assert run_wattle("run", *XEON, *QUIET, "--", "true", stdout=pipe).code == 0


def test_closed_standard_output(tmp_path):
    result = run_wattle("run", *XEON, "--", "true", preexec_fn=lambda: os.close(1))
    rescued(result, "standard output")
    # No file of wattle's own may take its place.
    tape = tmp_path / "tape"
    result = run_wattle("run", *XEON, "--tape-record", tape, "--", "true",
                        preexec_fn=lambda: [os.close(i) for i in (0, 1)])
    rescued(result, "standard output")
    assert "carbon" not in tape.read_text()
    assert run_wattle("run", *XEON, "--", "true", preexec_fn=lambda: os.closerange(0, 3)).code == 125


def test_closed_standard_error_does_no_harm():
    result = run_wattle("run", *XEON, "-f", "json", "--", "sh", "-c", "exit 3",
                        preexec_fn=lambda: os.close(2))
    assert result.code == 3
    assert result.json["exit_status"] == 3


# ---- Company ----

def test_two_at_once(machine):
    server = machine("nvidia-server")
    first = start_wattle("run", "--root", server.path, "-f", "json", "--", "sleep", "0.3")
    second = start_wattle("run", "--root", server.path, "-f", "json", "--", "sleep", "0.3")
    for process in (first, second):
        result = finish(process)
        assert result.code == 0
        check_sums(result.json)


def test_wattle_inside_wattle(wattle, tmp_path):
    inner = tmp_path / "inner.json"
    result = run_wattle("run", *XEON, "-f", "json", "--", wattle, "run", *map(str, XEON), "-f", "json",
                        "-o", inner, "--", "sh", "-c", "exit 3")
    assert result.code == 3
    assert parse_json(inner.read_text())["duration_s"] < result.json["duration_s"]


def test_a_thousand_samples_a_second(gpus):
    result = gpus("eight-gpus").run("--root", ROOTS / "xeon-2s-dram", "-f", "json", "--interval", "1",
                                    "--", "sleep", "1")
    assert result.code == 0
    report = result.json
    check_sums(report)
    ticks = report["self"]["ticks"]
    assert 2 <= ticks <= report["duration_s"] * 1000 + 10
    assert domain(report, "dram-0")["samples"] <= ticks


def test_jitter_measures_the_same(machine):
    server = machine("nvidia-server")
    report = server.measure("add", server.zone("intel-rapl:0"), 5_000_000, "sleep", "0.2", "add",
                            server.zone("intel-rapl:0"), 1, options=("--jitter", "-i", "7"))
    assert domain(report, "package-0")["energy_j"] == Decimal("5.000001")
