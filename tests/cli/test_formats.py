# SPDX-License-Identifier: MIT
"""Every machine in every format: documents are what their pages say (formats.py), and all formats say the same."""

import copy
import json
import random
import re
import shutil
from decimal import Decimal

import pytest

from conftest import (REPO, ROOTS, SCRIPTS, Machine, fake_library, finish, mover, parse_json, run_wattle,
                      start_wattle)
from formats import (DOCTOR_COLUMNS, GROUP_NAMES, REPORT_COLUMNS, check_csv_doctor, check_csv_report, check_shown, check_text, resolution,
                     scale, validate)
from test_ledger import movable, put_process, stat_line

NAMES = sorted(path.name for path in ROOTS.iterdir() if path.is_dir())
TAPES = sorted((REPO / "tests" / "fixtures" / "tapes").glob("*.tape"))
GOLDEN = REPO / "tests" / "golden"
GPU_SCRIPTS = ["a100", "eight-gpus", "laptop", "mig", "lost-for-good", "no-permission", "not-loaded", "two"]
EXPORTS = {
    "samples": "t_utc,t_mono_ns,domain,source,status,count,energy_j,power_w",
    "power": "t_utc,t_mono_ns,domain,in_total,status,energy_j,power_w,gap_s",
    "processes": "run,pid,parent,start_utc,state,n_processes,name,command,uid,user,cgroup,unit,container,pod,job,step,in_command,cpu_s,"
                 "dynamic_j,full_j,uncertainty_j,gpu_j,rss_bytes,pss_bytes,uss_bytes,gpu_memory_bytes",
    "windows": "id,name,begin_utc,begin_mono_ns,duration_s,is_open,pid,domain,energy_j,uncertainty_j,mean_w,max_w,measured_s,gap_s",
    "gaps": "kind,begin_utc,begin_mono_ns,duration_ns,domain,text",
    "devices": "t_utc,t_mono_ns,device,quantity,value",
}
COMPARED = ("what,unit,recording,file,value,uncertainty,difference,difference_uncertainty,ratio,is_significant,is_same_sensor,"
            "is_incomplete,has_other_domains")
RUNS = ("file,run,start_utc,duration_s,energy_j,uncertainty_j,mean_w,command_dynamic_j,command_full_j,gco2e,gco2e_uncertainty,gco2e_per_s,"
        "exit_status,interrupted,is_unfinished")
GROUPED = "start_utc,duration_s,by,name,pid,user,processes,cpu_s,dynamic_j,full_j,uncertainty_j,gpu_j"
WINDOWS = ("id,name,begin_utc,begin_mono_ns,duration_s,is_main,is_open,pid,domain,energy_j,uncertainty_j,mean_w,max_w,measured_s,gap_s,"
           "flags,gco2e,gco2e_uncertainty,is_cut")


class Bench:
    """Recordings of all machines, each made once."""

    def __init__(self, folder):
        self.folder, self.made = folder, {}
        self.env = {"XDG_RUNTIME_DIR": str(folder), "XDG_STATE_HOME": str(folder / "state"), "TZ": "UTC"}

    def run(self, *args, env=None):
        return run_wattle(*args, env={**self.env, **(env or {})}, cwd=self.folder)

    def good(self, *args, env=None):
        result = self.run(*args, env=env)
        if "built without recordings" in result.err:
            pytest.skip("built without recordings")
        assert result.code == 0, result
        return result

    def make(self, name, *args, env=None):
        if name not in self.made:
            self.good("record", "-q", "-o", f"{name}.wattle", *args, env=env)
            self.made[name] = f"{name}.wattle"
        return self.made[name]

    def root(self, name):
        """Its counters move, and a process works."""
        if name in self.made:
            return self.made[name]
        machine = Machine(name, self.folder / "roots" / name)
        put_process(machine.path, 1, "init", 5, parent=0)
        busy = put_process(machine.path, 100, "busy", 10)
        steps = ["sleep", "0.15"]
        for n, path in enumerate(movable(machine.path)):
            steps += ["add", path, (2 + n) * (10 ** 6 if "powercap" in str(path) else 2 ** 32) + n]
        steps += ["write", busy, stat_line(100, "busy", 40).rstrip(), "sleep", "0.5"]
        return self.make(name, "--root", machine.path, "-i", "20", "--location", "FRA", "--pue", "1.25", "--", *mover(*steps))

    def tape(self, path):
        return self.make(f"tape-{path.stem}", "--tape", path)

    def gpus(self, script):
        return self.make(f"gpu-{script}", "--nvml", fake_library(), "--root", ROOTS / "nvidia-server", "--", "sleep", "1.3",
                         env={"WATTLE_FAKE_NVML": str(SCRIPTS / f"{script}.nvml")})

    def here(self):
        return self.make("here", "--", "sh", "-c", "i=0; while [ $i -lt 30 ]; do /bin/true; i=$((i+1)); done; sleep 1.2")


@pytest.fixture(name="bench", scope="module")
def bench_of_module(tmp_path_factory):
    return Bench(tmp_path_factory.mktemp("formats"))


def check_three(bench, *command):
    """The same figures as JSON, CSV and text. Returns the JSON and how many numbers of the text were compared."""
    report = validate(bench.good(*command, "-f", "json").json)
    check_csv_report(bench.good(*command, "-f", "csv").csv, report)
    compared = 0
    for options in ((), ("--ascii",), ("-v",)):
        page = bench.good(*command, *options).out
        compared = check_text(page, report)
        assert "--ascii" not in options or page.isascii() or not json.dumps(report, default=str).isascii()
    return report, compared


# ---- Recordings ----

@pytest.mark.parametrize("name", NAMES)
def test_root_recorded(bench, name):
    report, compared = check_three(bench, "report", bench.root(name))
    figures = [domain for domain in report["domains"] if "energy_j" in domain]
    assert compared >= len(figures)
    assert report["carbon"]["location"] == "FRA" if "carbon" in report and "gco2e" in report["carbon"] else True


@pytest.mark.parametrize("tape", TAPES, ids=lambda path: path.stem)
def test_tape_recorded(bench, tape):
    report, compared = check_three(bench, "report", bench.tape(tape))
    assert compared > 3 * len([domain for domain in report["domains"] if "energy_j" in domain])


@pytest.mark.parametrize("script", GPU_SCRIPTS)
def test_gpu_recorded(bench, script):
    check_three(bench, "report", bench.gpus(script))


def test_this_machine_recorded(bench):
    report, compared = check_three(bench, "report", bench.here())
    assert compared > 0 or "energy_j" not in report["total"]


@pytest.mark.parametrize("options", [("--top", "0"), ("--top", "3"), ("--top", "65536"), ("--location", "gcp:europe-west9"),
                                     ("--location", "0"), ("--pue", "2"), ("--policy", "idle=none"), ("--policy", "idle=learned"),
                                     ("--replay",), ("--policy", "idle=package-0:3.5")], ids=" ".join)
def test_report_options(bench, options):
    report, _ = check_three(bench, "report", *options, bench.tape(TAPES[0]))
    if options[0] == "--top":
        assert len(report.get("processes", ())) <= int(options[1])
    if options == ("--location", "0"):
        assert report["carbon"]["gco2e"] == 0
    if options[0] == "--pue":
        assert report["carbon"]["pue"] == 2
    if options == ("--policy", "idle=none"):
        assert all(account["idle_j"] == 0 for account in report["ledger"])
        assert all(process["dynamic_j"] == process["full_j"] for process in report["processes"])
    if options == ("--policy", "idle=package-0:3.5"):
        package = report["domains"][0]
        assert (package["name"], package["idle_w"], package["idle_method"]) == ("package-0", Decimal("3.5"), "given")


@pytest.mark.parametrize("by", [*(name for name in GROUP_NAMES if name != "process"), "process", "window"])
@pytest.mark.parametrize("which", ["tape", "here"])
def test_groupings(bench, by, which):
    path = bench.tape(TAPES[0]) if which == "tape" else bench.here()
    report = validate(bench.good("report", "--by", by, "-f", "json", path).json)
    out = bench.good("report", "--by", by, "-f", "csv", path)
    assert out.out.splitlines()[0] == (WINDOWS if by == "window" else GROUPED)
    rows = out.csv
    assert bench.good("report", "--by", by, path).out
    if by == "window":
        total = [row for row in rows if row["domain"] == "total" and row["is_main"] == "true"]
        assert [Decimal(row["energy_j"]) for row in total] == [report["total"]["energy_j"]]
        for row in rows:
            parts = [other for other in rows if other["id"] == row["id"] and other["domain"] != "total"]
            assert len(parts) >= 1
        return
    assert sum(Decimal(row["full_j"]) for row in rows) == report["total"]["energy_j"]
    groups = report["by"].get(f"{by}s", {"groups": []})["groups"]
    for group, row in zip(groups, rows):
        assert Decimal(row["full_j"]) == group["full_j"] and Decimal(row["cpu_s"]) == group["cpu_s"]
        assert int(row["processes"]) == group["n_processes"]


def test_comparison(bench):
    paths = (bench.tape(TAPES[0]), bench.tape(TAPES[1]), bench.here())
    document = validate(bench.good("report", "-f", "json", *paths).json)
    out = bench.good("report", "-f", "csv", *paths)
    assert out.out.splitlines()[0] == COMPARED
    assert len(out.csv) == sum(len(row["values"]) for row in document["comparison"])
    first = {row["what"]: row["values"] for row in document["comparison"]}
    for number, recording in enumerate(document["recordings"]):
        for what, unit, figure in (("energy", "j", "energy_j"), ("power", "w", "mean_w")):
            value = first[what][number]
            if figure in recording["total"]:
                assert value[f"value_{unit}"] == recording["total"][figure]
        for domain in recording["domains"]:
            if domain["name"] in first and "energy_j" in domain:
                assert first[domain["name"]][number].get("value_j", domain["energy_j"]) == domain["energy_j"]
    for row in document["comparison"]:
        base = row["values"][0]
        for value in row["values"][1:]:
            for unit in ("s", "j", "w"):
                if f"difference_{unit}" in value:
                    apart = value[f"value_{unit}"] - base[f"value_{unit}"]
                    assert abs(value[f"difference_{unit}"] - apart) <= Decimal("0.000001"), row
                    if base[f"value_{unit}"] and "ratio" in value:
                        assert abs(value["ratio"] * base[f"value_{unit}"] - apart) <= base[f"value_{unit}"] / 10 ** 5, row
            if "is_significant" in value:
                unit = next(unit for unit in ("s", "j", "w", "gco2e") if f"difference_{unit}" in value)
                is_large = abs(value[f"difference_{unit}"]) > value[f"difference_uncertainty_{unit}"]
                close = abs(abs(value[f"difference_{unit}"]) - value[f"difference_uncertainty_{unit}"]) <= Decimal("0.000002")
                assert value["is_significant"] == (is_large and not value.get("has_other_domains")) or close, value


def test_comparison_with_itself(bench):
    """Two copies of a file differ by nothing, and nothing of it is significant."""
    path = bench.tape(TAPES[1])
    shutil.copy(bench.folder / path, bench.folder / "twin.wattle")
    document = validate(bench.good("report", "-f", "json", path, "twin.wattle").json)
    for row in document["comparison"]:
        if len(row["values"]) == 2 and "reason" not in row["values"][0]:
            for key, value in row["values"][1].items():
                if key.startswith("difference_") and "uncertainty" not in key:
                    assert value == 0, row
            assert not row["values"][1].get("is_significant"), row


def test_runs(bench):
    path = "runs.wattle"
    live = validate(bench.good("run", "--record", path, "--repeat", "3", "-f", "json", "--", "sleep", "0.25").json)
    document = validate(bench.good("report", "-f", "json", path).json)
    out = bench.good("report", "-f", "csv", path)
    assert out.out.splitlines()[0] == RUNS and len(out.csv) == 3
    for run, told, row in zip(live["runs"], document["runs"], out.csv):
        assert run["total"] == told["total"] and run["ledger"] == told["ledger"]
        assert Decimal(row["duration_s"]) == told["duration_s"]
        if "energy_j" in told["total"]:
            assert Decimal(row["energy_j"]) == told["total"]["energy_j"]
    for key in ("duration_s", "energy_j"):
        if key in live["statistics"]:
            values = [run["duration_s"] if key == "duration_s" else run["total"]["energy_j"] for run in live["runs"]]
            check_statistic(live["statistics"][key], values)
            assert document["statistics"][key] == live["statistics"][key]


def check_statistic(statistic, values):
    """By hand: mean, standard deviation, Student's t for 3 values (4.302653)."""
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    assert statistic["n"] == len(values) == 3
    assert abs(statistic["mean"] - mean) <= Decimal("0.000001")
    assert abs(statistic["sd"] - variance.sqrt()) <= Decimal("0.000001")
    assert abs(statistic["ci95"] - Decimal("4.302653") * (variance / 3).sqrt()) <= Decimal("0.00001")
    assert (statistic["min"], statistic["max"]) == (min(values), max(values))


# ---- Exports ----

@pytest.mark.parametrize("what", EXPORTS)
@pytest.mark.parametrize("name", ["xeon-2s-dram", "client-psys", "laptop-battery", "vm-nothing", "jetson", "rubbish", "eacces"])
def test_exports(bench, name, what):
    path = bench.root(name)
    out = bench.good("export", "--what", what, path)
    assert out.out.splitlines()[0] == EXPORTS[what]
    lines = [parse_json(line) for line in bench.good("export", "--what", what, "-f", "ndjson", path).out.splitlines()]
    document = bench.good("export", "--what", what, "-f", "json", path).json
    assert document["rows"] == lines and len(lines) == len(out.csv)
    columns = EXPORTS[what].split(",")
    for line, row in zip(lines, out.csv):
        assert list(row) == columns and [key for key in columns if row[key] != ""] == list(line)
        for key, value in line.items():
            if key.endswith(("_j", "_w")):
                assert isinstance(value, Decimal) and value.as_tuple().exponent == -6, (key, value)
            if key.endswith(("_ns", "_bytes", "pid", "count")):
                assert isinstance(value, int), (key, value)


@pytest.mark.parametrize("name", ["xeon-2s-dram", "client-psys", "amd-epyc", "grace", "vm-nothing"])
def test_exports_are_the_report(bench, name):
    """Energy since the start, at the last sample, is what the recording's window has, and what lies before it."""
    path = bench.root(name)
    report = bench.good("report", "-f", "json", "--top", "65536", path).json
    power = bench.good("export", "--what", "power", "-f", "json", path).json["rows"]
    windows = bench.good("export", "--what", "windows", "-f", "json", path).json["rows"]
    for domain in report["domains"]:
        own = [row for row in power if row["domain"] == domain["name"] and "energy_j" in row]
        if "energy_j" not in domain:
            continue
        assert own[-1]["energy_j"] >= domain["energy_j"]
        for before, row in zip(own, own[1:]):
            assert row["energy_j"] >= before["energy_j"] and row["t_mono_ns"] > before["t_mono_ns"]
        window = [row for row in windows if row["id"] == 1 and row["domain"] == domain["name"]]
        assert [row["energy_j"] for row in window] == [domain["energy_j"]]
    processes = bench.good("export", "--what", "processes", "-f", "json", path).json["rows"]
    told = report.get("processes", [])
    assert sum(row["full_j"] for row in processes) == sum((row["full_j"] for row in told), Decimal(0))


# ---- Live ----

@pytest.mark.parametrize("name", NAMES)
def test_root_doctor(bench, name):
    started = [start_wattle("doctor", "--root", ROOTS / name, "-f", form, env=bench.env) for form in ("json", "csv", "text")]
    told, result, text = (finish(process) for process in started)
    report = validate(told.json)
    measured = [domain for domain in report["domains"] if "energy_j" in domain and domain["method"] != "modelled"]
    assert result.code in (0, 3) and (result.code == 0) >= bool(measured)
    rows = result.csv
    assert list(rows[0]) == DOCTOR_COLUMNS
    check_csv_doctor(rows, report)
    page = text.out
    joined = re.sub(r"\s+", " ", page)
    for domain in report["domains"]:
        assert re.search(rf"(?m)^\s*{re.escape(domain['name'])}\b", page), domain["name"]
        if "energy_j" not in domain:
            assert f"{domain['status']}: " in joined
    for source in report["sources"]:
        assert f" {source['source']} " in joined and source["status"] in joined


@pytest.mark.parametrize("tape", TAPES, ids=lambda path: path.stem)
def test_tape_doctor(bench, tape):
    """The same moment in three formats: every power as printed."""
    report = validate(parse_json(bench.run("doctor", "--tape", tape, "-f", "json").out))
    rows = bench.run("doctor", "--tape", tape, "-f", "csv").csv
    check_csv_doctor(rows, report)
    for row, domain in zip(rows, report["domains"]):
        if "mean_w" in domain:
            assert Decimal(row["mean_w"]) == domain["mean_w"]
    page = bench.run("doctor", "--tape", tape).out
    found = 0
    for domain in report["domains"]:
        match = re.search(rf"(?m)^\s*{re.escape(domain['name'])}\s+~?(\d+(?:\.\d+)?)\b", page)
        if match and "mean_w" in domain:
            check_shown(match[1], None, domain["mean_w"], Decimal(1))
            found += 1
    assert found > 0


@pytest.mark.parametrize("name", NAMES)
def test_root_run(bench, machine, name):
    copy_ = machine(name)
    put_process(copy_.path, 1, "init", 5, parent=0)
    steps = []
    for n, path in enumerate(movable(copy_.path)):
        steps += ["add", path, (3 + n) * (10 ** 6 if "powercap" in str(path) else 2 ** 32)]
    if name == "zero-counters":  # counters that stand at 0 are none: the first run moves them, and later ones need no model
        bench.good("run", "--root", copy_.path, "--", *mover(*steps))
    for form in ("json", "csv", "text"):
        result = bench.good("run", "--root", copy_.path, "-i", "20", "-f", form, "--", *mover(*steps, "sleep", "0.1"))
        if form == "json":
            report = validate(result.json)
        elif form == "csv":
            rows = result.csv
            assert list(rows[0]) == REPORT_COLUMNS
            assert [row["domain"] for row in rows] == [*(domain["name"] for domain in report["domains"]), "total"]
            for row, domain in zip(rows, report["domains"]):
                assert (row["kind"], row["in_total"]) == (domain["kind"], "true" if domain["in_total"] else "false")
        else:
            for domain in report["domains"]:
                assert re.search(rf"(?m)^\s*{re.escape(domain['name'])}\b", result.out), domain["name"]


@pytest.mark.parametrize("tape", TAPES, ids=lambda path: path.stem)
def test_tape_run(bench, tape):
    _, compared = check_three(bench, "run", "--tape", tape)
    assert compared > 5


@pytest.mark.parametrize("how", [("--no-processes",), ("--top", "0"), ("--location", "FRA", "--pue", "1.5"), ("--repeat", "2")],
                         ids=lambda how: how[0])
def test_run_options(bench, how):
    document = validate(bench.good("run", *how, "-f", "json", "--", "sleep", "0.1").json)
    if how[0] == "--repeat":
        assert [run["command"] for run in document["runs"]] == [["sleep", "0.1"]] * 2
    elif how[0] == "--no-processes":
        assert document["processes_reason"]


def test_appended_is_one_line(bench):
    path = bench.tape(TAPES[2])
    target = bench.folder / "all.ndjson"
    for _ in range(2):
        bench.good("report", "-f", "json", "--append", "-o", target, path)
    lines = target.read_text().splitlines()
    assert len(lines) == 2
    whole = bench.good("report", "-f", "json", path).json
    for line in lines:
        assert validate(parse_json(line)) == whole


# ---- The validator finds what is wrong ----

def golden(name):
    return parse_json((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))


GOLDEN_DOCUMENTS = ["server", "vm", "denied", "partly", "used", "used-full", "used-vm", "used-folded", "used-unknown", "series",
                    "doctor-server", "doctor-vm", "doctor-used"]


@pytest.mark.parametrize("name", GOLDEN_DOCUMENTS)
def test_golden_types(name):
    """The figures of golden pages are made up, and need not add up as measured ones do; their shape has to be right."""
    from formats import SCHEMAS, check_decimals, fields
    document = golden(name)
    fields(SCHEMAS[document["schema"]])(document)
    check_decimals(document)


def numbers_in(value, path=()):
    """The paths of all decimals."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers_in(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from numbers_in(item, (*path, index))
    elif isinstance(value, Decimal):
        yield path


def put_at(document, path, value):
    for key in path[:-1]:
        document = document[key]
    document[path[-1]] = value


def get_at(document, path):
    for key in path:
        document = document[key]
    return document


def valid_report(bench):
    return bench.good("report", "-f", "json", "--top", "5", bench.tape(TAPES[0])).json


def rejects(document):
    try:
        validate(document)
    except (AssertionError, KeyError):
        return True
    return False


# What is said once only, and follows from nothing else in the document.
FREE = ("uncertainty_j", "cpu_s", "attributed_cpu_s", "gco2e_uncertainty", "idle_w", "idle_uncertainty_w", "idle_age_s", "update_s",
        "max_w", "duration_s", "span_s", "interval_s", "gco2e", "intensity_g_per_kwh", "dynamic_j", "gap_s", "measured_s", "known_s", "full_j")


def test_no_joule_can_be_changed(bench):
    """A microjoule more anywhere in the figures that add up is found."""
    document = valid_report(bench)
    assert not rejects(document)
    paths = [path for path in numbers_in(document) if path[0] in ("total", "domains", "ledger", "no_process", "others")
             and path[-1] not in FREE]
    assert len(paths) > 20
    for path in paths:
        changed = copy.deepcopy(document)
        put_at(changed, path, get_at(changed, path) + Decimal("0.000001"))
        # The mean is rounded: half a microwatt is nobody's.
        if path[-1] != "mean_w":
            assert rejects(changed), path


def test_no_key_can_be_missing(bench):
    document = valid_report(bench)
    optional = {"device", "check", "idle_t_utc", "idle_age_s", "remedy", "weight", "sensor", "update_s", "method", "processes",
                "max_rss_bytes"}
    for where in (("total",), ("domains", 0), ("ledger", 0), ("others",), ("no_process",), ("self",), ("recording",), ()):
        for key in list(get_at(document, where)):
            changed = copy.deepcopy(document)
            del get_at(changed, where)[key]
            known = {"cpu_s", "host", "wattle", "cpu", "kernel", "location", "interval_s", "ticks", "late_ticks", "reason", "notes",
                     "carbon", "command_energy", "uncertainty_j", "dynamic_j", "no_process", "max_w", "mean_w", "name"}
            if key not in optional and key not in known:
                assert rejects(changed), (where, key)


def test_no_type_can_be_wrong(bench):
    document = valid_report(bench)
    rng = random.Random(20261121)
    paths = list(numbers_in(document))
    for path in rng.sample(paths, min(60, len(paths))):
        for wrong in ("1.0", None, True, -Decimal("1.000000"), [], 5):
            changed = copy.deepcopy(document)
            put_at(changed, path, wrong)
            assert rejects(changed), (path, wrong)


@pytest.mark.parametrize("path, value", [
    (("schema",), "wattle.recording/2"), (("total", "status"), "fine"), (("total", "flags"), ["short", "short"]),
    (("domains", 0, "kind"), "CPU"), (("domains", 0, "inside"), "nowhere"), (("start_utc",), "2026-11-21 10:00:00"),
    (("start_utc",), "2026-13-21T10:00:00.000Z"), (("recording", "begin_mono_ns"), -1), (("domains", 0, "name"), ""),
    (("domains", 0, "device"), "a\x1b[31m"), (("recording", "extra"), "x")])
def test_wrong_values(bench, path, value):
    document = valid_report(bench)
    put_at(document, path, value)
    assert rejects(document)


def test_circle_is_found(bench):
    document = valid_report(bench)
    document["domains"][0]["inside"] = document["domains"][1]["name"]
    document["domains"][1]["inside"] = document["domains"][0]["name"]
    assert rejects(document)


def test_changed_text_is_found(bench):
    """A digit that is another one in the page is no longer the JSON's."""
    path = bench.tape(TAPES[1])
    report = bench.good("report", "-f", "json", path).json
    page = bench.good("report", path).out
    assert check_text(page, report) > 5
    line = next(line for line in page.splitlines() if line.startswith("package-0"))
    digit = re.search(r"\d+", line[len("package-0"):])[0]
    wrong = str(int(digit) * 2 + 7).rjust(len(digit))
    with pytest.raises(AssertionError):
        check_text(page.replace(line, line.replace(digit, wrong, 1)), report)


@pytest.mark.parametrize("shown, error, exact, factor, good", [
    ("1.50", None, "1.504", "1", True), ("1.50", None, "1.506", "1", False), ("9450", "250", "9454", "1", True),
    ("9450", "250", "9456", "1", False), ("1600", "330", "1605", "1", True), ("17", "17", "16.6", "1", True),
    ("17", None, "16.4", "1", False),
    ("2.626", "0.068", "9452", "3600", True), ("0", None, "0.4", "1", True), ("0.00", None, "0.006", "1", False),
    ("540", "540", "535.1", "1", True)])
def test_shown(shown, error, exact, factor, good):
    def check():
        check_shown(shown, error, Decimal(exact), Decimal(factor))
    if good:
        check()
    else:
        with pytest.raises(AssertionError):
            check()


@pytest.mark.parametrize("unit, expected", [("J", "1"), ("mJ", "0.001"), ("kJ", "1000"), ("mWh", "3.6"), ("kWh", "3600000"), ("W", "1"),
                                            ("µW", "0.000001"), ("mg", "0.001"), ("MJ", "1000000")])
def test_scale(unit, expected):
    assert scale(unit) == Decimal(expected)


def test_scale_of_nothing():
    with pytest.raises(AssertionError):
        scale("parsec")


@pytest.mark.parametrize("shown, expected", [("1.25", "0.01"), ("120", "10"), ("100", "100"), ("7", "1"), ("0", "1"), ("0.0", "0.1")])
def test_resolution(shown, expected):
    assert resolution(shown) == Decimal(expected)
