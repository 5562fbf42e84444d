# SPDX-License-Identifier: MIT
"""wattle export: a recording as tables with stable columns, the same in every format."""

import json
import os
import re
import shutil
import subprocess
from decimal import Decimal
from pathlib import Path

import pytest

from conftest import REPO, ROOTS, TIMEOUT, clean_env, command_path, parse_csv, parse_json, run_wattle

WHATS = ("samples", "power", "processes", "windows", "gaps", "devices")
COLUMNS = {
    "samples": "t_utc,t_mono_ns,domain,source,status,count,energy_j,power_w",
    "power": "t_utc,t_mono_ns,domain,in_total,status,energy_j,power_w,gap_s",
    "processes": "run,pid,parent,start_utc,state,n_processes,name,command,uid,user,cgroup,unit,container,pod,job,step,in_command,cpu_s,"
                 "dynamic_j,full_j,uncertainty_j,gpu_j,rss_bytes,pss_bytes,uss_bytes,gpu_memory_bytes",
    "windows": "id,name,begin_utc,begin_mono_ns,duration_s,is_open,pid,domain,energy_j,uncertainty_j,mean_w,max_w,measured_s,gap_s",
    "gaps": "kind,begin_utc,begin_mono_ns,duration_ns,domain,text",
    "devices": "t_utc,t_mono_ns,device,quantity,value",
}
UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
WORK = "i=0; while [ $i -lt 5 ]; do head -c 10000000 /dev/zero | sha256sum >/dev/null; sleep 0.2; i=$((i+1)); done"


class Place:
    def __init__(self, path):
        self.path = path
        self.env = {"XDG_RUNTIME_DIR": str(path), "WATTLE_MARK": None, "XDG_STATE_HOME": str(path / "state")}

    def run(self, *args, **options):
        return run_wattle(*args, env=self.env, cwd=self.path, **options)

    def good(self, *args, **options):
        result = self.run(*args, **options)
        assert result.code == 0 and result.err == "", result
        return result

    def rows(self, *args, name="a.wattle"):
        return self.good("export", *args, name).csv


@pytest.fixture(name="place", scope="module")
def place_of_module(tmp_path_factory):
    place = Place(tmp_path_factory.mktemp("export"))
    report = place.run("run", "--record", "a.wattle", "-f", "json", "--top", "65536", "--", "sh", "-c", WORK)
    assert report.code == 0, report
    place.report = report.json
    return place


def test_nothing_that_is_read_is_replaced(place, tmp_path):
    """Under whatever name: a slip of the fingers must not cost a night's recording."""
    copy, link, grid = tmp_path / "a.wattle", tmp_path / "b", tmp_path / "grid.csv"
    shutil.copy(place.path / "a.wattle", copy)
    link.symlink_to(copy)
    grid.write_text("2026-01-01T00:00Z,50\n")
    before = copy.read_bytes()
    for words in (("export", copy, "-o", copy), ("export", copy, "-o", link), ("report", copy, "-o", copy),
                  ("report", place.path / "a.wattle", copy, "-o", link), ("plot", copy, "--format", "svg", "-o", link),
                  ("report", copy, "--append", "-o", copy), ("report", copy, "--intensity", grid, "-o", grid)):
        result = place.run(*words)
        assert result.code == 2 and result.out == "", result
        assert result.complaint() == (f"wattle: {words[0]}: -o {words[-1]} would replace what is to be read: "
                                      "give it another name")
    assert copy.read_bytes() == before and grid.read_text() == "2026-01-01T00:00Z,50\n"
    assert place.good("export", copy, "-o", tmp_path / "new.csv").out == ""


def test_no_recording_is_replaced(place, tmp_path):
    """Also one that is not read, live ones too, is no file to put something else into."""
    other, link = tmp_path / "b.wattle", tmp_path / "link"
    shutil.copy(place.path / "a.wattle", other)
    link.symlink_to(other)
    before = other.read_bytes()
    for words in (("export", "a.wattle"), ("report", "a.wattle"), ("report", "--append", "a.wattle"),
                  ("plot", "--format", "svg", "a.wattle"), ("run", "--", "touch", tmp_path / "ran"), ("doctor",)):
        for output in (other, link):
            result = place.run(words[0], "-o", output, *words[1:])
            assert result.code == {"run": 125}.get(words[0], 1) and result.out == "", result
            assert f"'{output}': it is a recording" in result.complaint()
    assert other.read_bytes() == before and not (tmp_path / "ran").exists()
    # What only begins like one is none.
    for text in (b"", before[:60], before[:68] + b"\0\0\0\1" + before[72:]):
        other.write_bytes(text)
        assert place.good("export", "a.wattle", "-o", other).out == ""
        assert other.read_text().splitlines()[0] == COLUMNS["samples"]


@pytest.mark.parametrize("what", WHATS)
def test_columns_are_stable(place, what):
    out = place.good("export", "--what", what, "a.wattle").out
    assert out.splitlines()[0] == COLUMNS[what]
    assert len(parse_csv(out)) == len(out.splitlines()) - 1


def plain(value):
    """A JSON value as its CSV cell."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return format(value, "f") if isinstance(value, Decimal) else str(value)


@pytest.mark.parametrize("what", WHATS)
def test_formats_say_the_same(place, what):
    csv = place.rows("--what", what)
    document = parse_json(place.good("export", "--what", what, "-f", "json", "a.wattle").out)
    lines = [parse_json(line) for line in place.good("export", "--what", what, "-f", "ndjson", "a.wattle").out.splitlines()]
    assert (document["schema"], document["what"]) == ("wattle.export/1", what)
    assert document["rows"] == lines and len(lines) == len(csv)
    for row, cells in zip(lines, csv):
        known = {key: value for key, value in cells.items() if value}
        assert list(row) == list(known)
        for key, value in row.items():
            # Text is escaped in another way, and formulas are disarmed.
            if key not in ("name", "command", "cgroup", "text"):
                assert plain(value) == known[key], key


@pytest.mark.parametrize("what", WHATS)
def test_times(place, what):
    for row in place.rows("--what", what):
        for key, value in row.items():
            if key.endswith("_utc") and value:
                assert UTC.fullmatch(value), value
            if key.endswith("_ns") and value:
                int(value)
            if key.endswith("_j") or key.endswith("_w"):
                assert not value or re.fullmatch(r"\d+\.\d{6}", value), (key, value)


def test_power_is_what_was_measured(place):
    rows = place.rows("--what", "power")
    for domain in place.report["domains"]:
        own = [row for row in rows if row["domain"] == domain["name"]]
        if "energy_j" not in domain:
            assert not own
            continue
        energies = [Decimal(row["energy_j"]) for row in own if row["energy_j"]]
        assert energies == sorted(energies)
        # From the first sample to the last: that is the measurement, and the moments around it.
        assert energies[-1] >= domain["energy_j"] - Decimal("0.000002")
        times = [int(row["t_mono_ns"]) for row in own]
        assert times == sorted(set(times))
        told = [row for row in own if row["power_w"]]
        assert told
        for before, row in zip(told, told[1:]):
            assert abs(mean_w(before, row) - Decimal(row["power_w"])) < max(Decimal(1), mean_w(before, row) / 10)


def mean_w(before, row):
    return (Decimal(row["energy_j"]) - Decimal(before["energy_j"])) / (int(row["t_mono_ns"]) - int(before["t_mono_ns"])) * 10**9


@pytest.fixture(name="flaky", scope="module")
def flaky_gpu(tmp_path_factory):
    """100 W; the counter tells something new every 100 ms, is lost at 1 and at 2 s, and what checks it ends at 3 s."""
    path = tmp_path_factory.mktemp("flaky") / "flaky.wattle"
    env = {"WATTLE_FAKE_NVML": str(REPO / "tests" / "fake" / "scripts" / "flaky.nvml"), "XDG_RUNTIME_DIR": path.parent}
    done = run_wattle("record", "-q", "--root", str(ROOTS / "vm-nothing"), "--nvml", os.environ["WATTLE_NVML_LIBRARY"],
                      "-i", "10", "--duration", "3.4", "-o", path, env=env)
    assert done.code == 0, done
    return path


def test_power_between_two_updates_is_not_known(flaky):
    """Neither 0 W where the counter has not moved yet, nor all of an update in the row where it has."""
    rows = [row for row in parse_csv(run_wattle("export", "--what", "power", flaky).out) if row["domain"] == "gpu-0"]
    told = [row for row in rows if row["power_w"]]
    assert 2 <= len(told) < len(rows) / 4
    for before, row in zip(told, told[1:]):
        assert abs(mean_w(before, row) - Decimal(row["power_w"])) < Decimal("0.01")
        # The counter moved in both, and in no row between them where it was long enough.
        assert row["energy_j"] != before["energy_j"] and row["energy_j"] != rows[rows.index(row) - 1]["energy_j"]
        assert int(row["t_mono_ns"]) - int(before["t_mono_ns"]) >= 17_500_000


def test_gaps_are_of_what_a_domain_is_measured_with(flaky):
    """Where only what checks it fails, no energy is missing."""
    gaps = [row for row in parse_csv(run_wattle("export", "--what", "gaps", flaky).out) if row["domain"] == "gpu-0"]
    assert gaps and all(row["kind"] == "channel" and "failed" in row["text"] for row in gaps), gaps
    power = [row for row in parse_csv(run_wattle("export", "--what", "power", flaky).out) if row["domain"] == "gpu-0"]
    failed = [int(row["t_mono_ns"]) for row in power if row["status"] == "failed"]
    last_ns = max(int(gap["begin_mono_ns"]) + int(gap["duration_ns"]) for gap in gaps)
    # From the good reading before the first failure to the one after the last.
    assert failed and min(int(gap["begin_mono_ns"]) for gap in gaps) <= failed[0] and failed[-1] <= last_ns
    good = [int(row["t_mono_ns"]) for row in power if row["status"] == "ok" and int(row["t_mono_ns"]) > failed[-1]]
    assert good and last_ns <= good[0]


COUNTED = """driver 550.54.15
gpu NVIDIA GeForce RTX 4090
  bus 00000000:01:00.0
  arch ada
  cc 8.9
  power 0 const 100
  sensor counter gpu 20
"""


def record_gpu(path, text):
    """A recording of 3 s, 20 samples a second, of one GPU as the script has it."""
    script = path.with_suffix(".nvml")
    script.write_text(COUNTED + text, encoding="ascii")
    done = run_wattle("record", "-q", "--root", ROOTS / "vm-nothing", "--nvml", os.environ["WATTLE_NVML_LIBRARY"], "-i", "50",
                      "--duration", "3", "-o", path, env={"WATTLE_FAKE_NVML": script, "XDG_RUNTIME_DIR": path.parent})
    assert done.code == 0, done
    return path


def test_what_a_counter_counted_on_is_no_gap(tmp_path):
    """As docs/export.md has it: known only when it answers again."""
    path = record_gpu(tmp_path / "a.wattle", "  answer field:83:0 TIMEOUT from 0.5 until 1.5\n")
    rows = [row for row in parse_csv(run_wattle("export", "--what", "power", path).out) if row["domain"] == "gpu-0"]
    failed = [i for i, row in enumerate(rows) if row["status"] == "failed"]
    assert failed and failed == list(range(failed[0], failed[-1] + 1)), rows
    before, during, after = rows[failed[0] - 1], [rows[i] for i in failed], rows[failed[-1] + 1]
    gaps = [Decimal(row["gap_s"]) for row in during]
    assert gaps == sorted(gaps) and gaps[-1] > gaps[0]
    assert {row["energy_j"] for row in during} == {before["energy_j"]}
    assert after["gap_s"] == before["gap_s"]
    assert abs(mean_w(before, after) - 100) < 10
    assert [row["domain"] for row in parse_csv(run_wattle("export", "--what", "gaps", path).out)] == ["gpu-0"]


def test_failures_of_two_kinds_are_told_as_such(tmp_path):
    path = record_gpu(tmp_path / "a.wattle", "  answer nvmlDeviceGetFieldValues UNKNOWN from 0.5 until 1.2\n"
                                             "  answer field:83:0 TIMEOUT from 1.6 until 2.4\n")
    gap, = [row for row in parse_csv(run_wattle("export", "--what", "gaps", path).out)]
    assert gap["text"].startswith("nvml: failed: the driver reports an unknown error; the driver did not answer in time")


def test_no_reading_is_told_twice():
    """Recordings that were made when a check's first reading was told once more, with its time cut to microseconds."""
    for path in sorted((REPO / "tests" / "fixtures" / "recorded").glob("*.wattle")):
        last, rows = {}, parse_csv(run_wattle("export", path).out)
        assert rows
        for row in rows:
            key = row["domain"], row["source"], bool(row["power_w"])
            assert int(row["t_mono_ns"]) > last.get(key, 0), row
            last[key] = int(row["t_mono_ns"])


def test_samples_are_the_readings(place):
    rows = place.rows("--what", "samples")
    assert {row["status"] for row in rows} == {"ok"}
    for row in rows:
        assert bool(row["energy_j"]) != bool(row["power_w"])
    names = {row["domain"] for row in rows}
    assert {d["name"] for d in place.report["domains"] if "energy_j" in d} <= names


def test_processes_are_the_reports(place):
    rows = [row for row in place.rows("--what", "processes") if Decimal(row["full_j"]) > 0]
    listed = place.report["processes"]
    assert sorted(Decimal(row["full_j"]) for row in rows) == sorted(p["full_j"] for p in listed)
    by_pid = {int(row["pid"]): row for row in rows if row["pid"]}
    for process in listed:
        if "pid" not in process:
            continue
        row = by_pid[process["pid"]]
        assert Decimal(row["uncertainty_j"]) == process["uncertainty_j"]
        assert row["user"] == process.get("user", "") and row["state"] == process["state"]
        assert row["start_utc"] == process.get("start_utc", "")
        assert Decimal(row["cpu_s"]) == process["cpu_s"]


def test_cpu_time_of_whom_a_driver_alone_knows_is_not_known(tmp_path):
    path = tmp_path / "gpu.wattle"
    env = {"WATTLE_FAKE_NVML": str(REPO / "tests" / "fake" / "scripts" / "h100.nvml"), "XDG_RUNTIME_DIR": tmp_path}
    done = run_wattle("record", "-q", "--root", str(ROOTS / "vm-nothing"), "--nvml", os.environ["WATTLE_NVML_LIBRARY"],
                      "--duration", "1.5", "-o", path, env=env)
    assert done.code == 0, done
    rows = parse_csv(run_wattle("export", "--what", "processes", path).out)
    outsiders = [row for row in rows if row["pid"] == "1001"]
    assert outsiders and all(row["cpu_s"] == "" for row in outsiders)
    report = run_wattle("report", "-f", "json", "--top", "65536", "--by", "command", path).json
    listed = [process for process in report["processes"] if process.get("pid") == 1001]
    alone = [group for group in report["by"]["commands"]["groups"] if group["command"] == listed[0]["name"]]
    assert listed and all("cpu_s" not in told for told in (*listed, *alone)) and alone[0]["n_processes"] == 1
    assert sum(group.get("cpu_s", 0) for group in report["by"]["commands"]["groups"]) == sum(p.get("cpu_s", 0) for p in report["processes"])
    others = run_wattle("report", "-f", "json", "--top", "0", path).json["others"]
    assert others.get("cpu_s", 0) == sum(p.get("cpu_s", 0) for p in report["processes"])


def test_windows_are_the_reports(place):
    rows = {row["domain"]: row for row in place.rows("--what", "windows")}
    assert Decimal(rows["total"]["energy_j"]) == place.report["total"]["energy_j"]
    for domain in place.report["domains"]:
        if "energy_j" in domain:
            assert Decimal(rows[domain["name"]]["energy_j"]) == domain["energy_j"]
            assert Decimal(rows[domain["name"]]["uncertainty_j"]) == domain["uncertainty_j"]


def test_to_a_file(place):
    out = place.good("export", "a.wattle").out_bytes
    target = place.path / "out.csv"
    target.write_text("what was there")
    target.chmod(0o640)
    link = place.path / "link.csv"
    link.symlink_to("out.csv")
    assert place.good("export", "-o", "link.csv", "a.wattle").out == ""
    assert target.read_bytes() == out and link.is_symlink() and target.stat().st_mode & 0o777 == 0o640
    assert not list(place.path.glob(".wattle-*"))
    assert place.good("export", "-o", "/dev/stdout", "a.wattle").out_bytes == out


def test_nothing_replaces_a_file_before_the_end(place):
    """A disk that is full leaves the old one."""
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    result = place.run("export", "-o", "/dev/full", "a.wattle")
    assert result.code == 1 and "cannot write the table to /dev/full" in result.complaint()
    with open("/dev/full", "wb") as full:
        result = place.run("export", "a.wattle", stdout=full)
    assert result.code == 1 and "cannot write the table to standard output" in result.complaint()


def test_closed_pipe(place):
    """head has seen enough: no complaint."""
    done = subprocess.run(["sh", "-c", f"{command_path()} export -f ndjson a.wattle | head -n 1"], cwd=place.path, timeout=TIMEOUT,
                          env=clean_env(**place.env), capture_output=True, check=True)
    assert done.stderr == b"" and json.loads(done.stdout)


def test_hostile_names(place, tmp_path):
    evil = tmp_path / "=HYPERLINK(\"x\"),\x1b[2J\n"
    shutil.copy("/bin/sleep", evil)
    place.good("record", "-q", "-o", "evil.wattle", "--", evil, "1.2")
    rows = place.rows("--what", "processes", name="evil.wattle")
    assert any("HYPERLINK" in row["command"] for row in rows)
    for row in rows:
        for value in row.values():
            assert value[:1] not in ("=", "+", "@", "-") and "\x1b" not in value and "\n" not in value
    for to in ("json", "ndjson"):
        out = place.good("export", "--what", "processes", "-f", to, "evil.wattle").out_bytes
        assert all(0x20 <= byte < 0x7f or byte == 0x0a for byte in out)
        assert b"HYPERLINK" in out


@pytest.mark.parametrize("options,words", [
    ((), "which recording?"),
    (("a", "b"), "one recording at a time"),
    (("--format", "xml", "a"), "--format takes csv, json or ndjson, not 'xml'"),
    (("--what", "all", "a"), "--what takes samples, power, processes, windows, gaps or devices, not 'all'"),
])
def test_bad_options(place, options, words):
    result = place.run("export", *options)
    assert result.code == 2 and words in result.complaint()


def test_output_that_cannot_be(place):
    result = place.run("export", "-o", "no/such/place", "a.wattle")
    assert result.code == 1 and "cannot write 'no/such/place': No such file" in result.complaint()
    assert not Path(place.path / "no").exists()


GPU_LOG = "timestamp, index, power.draw [W], utilization.gpu [%], memory.used [MiB]\n" + "".join(
    f"2026/07/03 22:11:{second:02}.000, {gpu}, {100 + 50 * gpu} W, {figures}\n" for second in range(4)
    for gpu, figures in enumerate((f"{40 + second} %, 2000 MiB", "0 %, [N/A]")))


def test_aipowermeter_has_use_and_memory(place, tmp_path):
    (tmp_path / "gpu.csv").write_text(GPU_LOG, encoding="ascii")
    place.run("import", tmp_path / "gpu.csv", "-o", tmp_path / "gpu.wattle")
    *lines, end = map(json.loads, place.good("export", tmp_path / "gpu.wattle", "--to", "aipowermeter").out.splitlines())
    assert end == "END OF RECORDING SEGMENT" and len(lines) == 4
    for second, line in enumerate(lines):  # the first one is of the time when the first power began
        percent = 40 + second
        assert line["metrics"] == {"cpu": {}, "gpu": {
            "nvidia_draw_absolute": 250, "per_gpu_power_draw": {"0": 100, "1": 150},
            "per_gpu_attributable_power": {"0": 100, "1": 150, "all": 250},
            "per_gpu_attributable_mem_use": {"0": {"all": 2000 << 20}}, "per_gpu_per_pid_utilization_absolute": {},
            "per_gpu_absolute_percent_usage": {"0": percent / 100, "1": 0},
            "per_gpu_estimated_attributable_utilization": {"0": 1, "1": 0},
            "nvidia_power": 250, "per_gpu_nvidia_power": {"0": 100, "1": 150},
            "nvidia_use_rate": percent / 2, "per_gpu_nvidia_use_rate": {"0": percent, "1": 0},
            "nvidia_memory": None, "per_gpu_nvidia_memory": {"0": 2000 << 20}}}  # one is not known: no sum


def test_aipowermeter_has_processes(place):
    """Their CPU time is the table's, and where memory was read, that stands beside it."""
    *lines, _ = map(json.loads, place.good("export", "a.wattle", "--to", "aipowermeter").out.splitlines())
    told = [line["metrics"]["cpu"] for line in lines if "absolute_cpu_time_per_pid" in line["metrics"]["cpu"]]
    assert told
    for cpu in told:
        assert cpu["per_process_cpu_uses"].keys() == cpu["absolute_cpu_time_per_pid"].keys()
        assert sum(cpu["per_process_cpu_uses"].values()) <= 1 + 1e-6
        for pid, pss in cpu.get("per_process_mem_use_abs", {}).items():
            assert pss >= cpu["per_process_mem_use_uss"][pid] > 0
    assert lines[-1]["metrics"]["cpu"]["total_mem_use"] > 1 << 20
    for row in place.rows("--what", "processes"):
        used_s = sum(cpu["absolute_cpu_time_per_pid"].get(row["pid"], 0) for cpu in told)
        if used_s and row["state"] in ("live", "kernel"):
            assert used_s == pytest.approx(float(row["cpu_s"]), abs=1e-6), row
