# SPDX-License-Identifier: MIT
"""wattle.compat.codecarbon: CodeCarbon's documentation is the specification; docs/compat-codecarbon.md says what differs.

What is held against the real package was written with codecarbon 3.3.2, and needs that one.
"""

import asyncio
import copy
import csv
import dataclasses
import functools
import importlib.metadata
import inspect
import io
import json
import logging
import math
import multiprocessing
import os
import pickle
import subprocess
import sys
import time
import warnings
from types import SimpleNamespace

import pytest
import wattle
from conftest import BUILD, REPO
from wattle.compat import codecarbon
from wattle.compat.codecarbon import EmissionsTracker, OfflineEmissionsTracker, OutputMethod, track_emissions

J = 1_000_000
KWH = 3_600_000
REAL = "3.3.2"
SIM = REPO / "tests" / "sim"
sys.path[:0] = [str(SIM), str(SIM / "peers")]

import score  # noqa: E402

COLUMNS_2023 = (
    "timestamp,project_name,run_id,duration,emissions,emissions_rate,cpu_power,gpu_power,ram_power,cpu_energy,gpu_energy,"
    "ram_energy,energy_consumed,country_name,country_iso_code,region,cloud_provider,cloud_region,os,python_version,"
    "codecarbon_version,cpu_count,cpu_model,gpu_count,gpu_model,longitude,latitude,ram_total_size,tracking_mode,on_cloud,pue"
)
COLUMNS = (
    "timestamp,project_name,run_id,experiment_id,duration,emissions,emissions_rate,cpu_power,gpu_power,ram_power,cpu_energy,"
    "gpu_energy,ram_energy,energy_consumed,water_consumed,country_name,country_iso_code,region,cloud_provider,cloud_region,os,"
    "python_version,codecarbon_version,cpu_count,cpu_model,gpu_count,gpu_model,longitude,latitude,ram_total_size,tracking_mode,"
    "cpu_utilization_percent,gpu_utilization_percent,ram_utilization_percent,ram_used_gb,on_cloud,pue,wue"
)
INTENSITY = 56.039  # g/kWh, of France in CodeCarbon's table


def the_real_one():
    try:
        found = importlib.metadata.version("codecarbon")
    except importlib.metadata.PackageNotFoundError:
        found = "not installed"
    if found != REAL:
        pytest.skip(f"codecarbon is {found}, not {REAL}")


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A directory and a home of the test's own, and no configuration."""
    for name in [name for name in os.environ if name.lower().startswith("codecarbon_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


@pytest.fixture
def server(machine, monkeypatch):
    """The trackers' machine: a server whose counters the test moves."""
    opened = functools.partial(wattle.Meter, root=machine.path, nvml="", interval_s=0)
    monkeypatch.setattr(wattle, "Meter", opened)
    return machine


def rows(path="emissions.csv"):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def run(server, joules=36, **options):
    """A stopped tracker that found so many joules in a package."""
    tracker = OfflineEmissionsTracker(**{"country_iso_code": "FRA", **options})
    tracker.start()
    server.add("intel-rapl:0", joules * J)
    for zone in ("intel-rapl:1", "intel-rapl:0:0", "intel-rapl:1:0"):  # what stands still for long, as on a busy machine, is not known
        server.add(zone, 1)
    tracker.stop()
    return tracker


# ---- The figures ----


def test_a_run_has_what_the_counters_moved(server):
    tracker = OfflineEmissionsTracker(country_iso_code="fra", project_name="mnist", pue=1.5, wue=2)
    tracker.start()
    server.add("intel-rapl:0", 36 * J)
    server.add("intel-rapl:1", 18 * J)
    server.add("intel-rapl:0:0", 9 * J)
    end_s = time.monotonic() + 0.1
    while time.monotonic() < end_s:  # busy, for longer than a tick of /proc/stat
        pass
    emissions = tracker.stop()
    data = tracker.final_emissions_data
    assert data.cpu_energy == pytest.approx(54 * 1.5 / KWH)
    assert data.ram_energy == pytest.approx(9 * 1.5 / KWH)
    assert (data.gpu_energy, data.gpu_count, data.gpu_model) == (0, 0, "")
    assert data.energy_consumed == pytest.approx(63 * 1.5 / KWH)
    assert data.water_consumed == pytest.approx(2 * data.energy_consumed)
    assert emissions == tracker.final_emissions == data.emissions
    assert emissions == pytest.approx(data.energy_consumed * INTENSITY / 1e3, rel=1e-3)
    assert data.emissions_rate == pytest.approx(emissions / data.duration)
    assert 0.05 <= data.duration < 5
    assert data.cpu_power == pytest.approx(54 * 1.5 / data.duration)
    assert (data.country_name, data.country_iso_code, data.on_cloud) == ("France", "FRA", "N")
    assert (data.project_name, data.run_id, data.pue, data.wue) == ("mnist", str(tracker.run_id), 1.5, 2)
    assert data.cpu_count == os.cpu_count() and 0 < data.ram_used_gb < data.ram_total_size
    assert 0 <= data.cpu_utilization_percent <= 100 and data.gpu_utilization_percent is None
    assert data.window.energy_j == 63  # without PUE
    assert data.uncertainty == pytest.approx(data.window.uncertainty_j * 1.5 / KWH)
    assert 0 <= data.emissions_uncertainty - data.window.gco2e_uncertainty * 1.5 / 1e3 < 1.001e-9
    assert data.emissions == round(data.emissions, 9) and data.emissions_uncertainty == round(data.emissions_uncertainty, 9)
    assert repr(tracker) == "<wattle.compat.codecarbon.OfflineEmissionsTracker 'mnist': not running>"
    assert list(data.values) == list(data.__dict__) == list(dataclasses.asdict(data)) == COLUMNS.split(",")
    assert json.loads(data.toJSON()) == data.values
    assert pickle.loads(pickle.dumps(data)) == copy.deepcopy(data) == data
    (row,) = rows()
    assert ",".join(row) == COLUMNS
    assert float(row["energy_consumed"]) == data.energy_consumed and float(row["emissions"]) == emissions
    assert (row["longitude"], row["gpu_utilization_percent"], row["region"]) == ("", "", "")
    assert time.strptime(row["timestamp"], "%Y-%m-%dT%H:%M:%S")


@pytest.mark.parametrize("pue", [-1, "-1", math.nan, math.inf])
def test_a_pue_that_cannot_be_is_1(server, pue):
    with pytest.warns(wattle.WattleWarning, match="pue is (negative|no number): "):
        assert run(server, pue=pue).final_emissions_data.energy_consumed == pytest.approx(36 / KWH)


def test_gpus_are_named_and_added(fake_nvml, python):
    code = """
import functools, sys, time, wattle
wattle.Meter = functools.partial(wattle.Meter, root=sys.argv[1], nvml=sys.argv[2], interval_s=0)
from wattle.compat.codecarbon import EmissionsTracker
with EmissionsTracker(gpu_ids=eval(sys.argv[3]), log_level="error") as tracker:
    time.sleep(0.3)
data = tracker.final_emissions_data
energies = [e.energy_j for name, e in data.window.domains.items() if name.startswith("gpu-")]
print(data.gpu_count, data.gpu_model, abs(data.gpu_energy * 3.6e6 - sum(energies)) < 1e-6, data.gpu_energy > 0, sep="|")
"""
    library = fake_nvml("two")
    for ids, count in (("None", "2"), ("[1]", "1"), ("'0'", "1"), ("'[0, 1]'", "2"), ("['1', '0']", "2")):
        found = python(code, REPO / "tests" / "fixtures" / "roots" / "xeon-2s-dram", library, ids).stdout.strip().split("|")
        assert found[0] == count and found[1].startswith(f"{count} x NVIDIA") and found[2:] == ["True", "True"]
    found = python(code, REPO / "tests" / "fixtures" / "roots" / "xeon-2s-dram", library, "'7'").stdout.strip().split("|")
    assert found == ["0", "", "False", "False"]  # nan: what is not there was asked for


def test_unknown_is_blank_and_nan(monkeypatch):
    """No sensor's value is 0: a machine without any, and without the library."""
    monkeypatch.setattr(wattle._lib, "_loaded", {})
    monkeypatch.setattr(wattle._lib, "_HERE", "/nowhere")
    monkeypatch.setattr(wattle._lib.ctypes, "CDLL", lambda name: (_ for _ in ()).throw(OSError("no such file")))
    with pytest.warns(wattle.WattleWarning):
        tracker = OfflineEmissionsTracker(country_iso_code="FRA")
    with pytest.warns(wattle.WattleWarning):
        tracker.start()
    assert math.isnan(tracker.stop())
    data = tracker.final_emissions_data
    assert math.isnan(data.energy_consumed * 1000) and data.duration >= 0 and data.window.verdict == "unknown"
    (row,) = rows()
    assert {row[name] for name in ("emissions", "cpu_energy", "cpu_power", "energy_consumed", "water_consumed")} == {""}
    assert row["country_iso_code"] == "FRA" and row["duration"]


def test_a_part_that_is_lost_is_said(server):
    tracker = OfflineEmissionsTracker(country_iso_code="FRA")
    tracker.start()
    server.add("intel-rapl:0", 36 * J)
    os.truncate(server.counter("intel-rapl:1"), 0)
    with pytest.warns(wattle.WattleWarning, match="not in the sums: .*package-1"):
        tracker.stop()
    assert tracker.final_emissions_data.cpu_energy == pytest.approx(36 / KWH)


# ---- How scripts use it: the documentation's examples ----


def test_decorator(server):
    @track_emissions
    def plain(a, b=0):
        server.add("intel-rapl:0", J)
        return a + b

    @track_emissions(project_name="mnist", offline=True, country_iso_code="CAN")
    def train_model():
        """Trains."""
        server.add("intel-rapl:0", 2 * J)

    @track_emissions(country_iso_code="FRA")
    async def serve():
        await asyncio.sleep(0.001)
        server.add("intel-rapl:0", 4 * J)
        return 7

    assert plain(1, b=2) == 3
    train_model()
    assert train_model.__doc__ == "Trains."
    assert asyncio.run(serve()) == 7
    found = rows()
    assert [float(row["cpu_energy"]) * KWH for row in found] == pytest.approx([1, 2, 4])
    assert [row["country_iso_code"] for row in found] == ["WLD", "CAN", "FRA"]
    assert [row["project_name"] for row in found] == ["codecarbon", "mnist", "codecarbon"]


def test_decorator_offline_needs_a_country(server):
    @track_emissions(offline=True)
    def train():
        pass

    with pytest.raises(Exception, match="Needs ISO Code of the Country for Offline mode"):
        train()


def test_exceptions_pass_and_the_row_is_written(server):
    @track_emissions(country_iso_code="FRA")
    def fails():
        raise KeyError("mine")

    with pytest.raises(KeyError):
        fails()
    with pytest.raises(ZeroDivisionError), EmissionsTracker(country_iso_code="FRA") as tracker:
        1 / 0
    assert [row["run_id"] for row in rows()][1] == str(tracker.run_id)


def test_context_manager_and_explicit_object(server):
    with EmissionsTracker(project_name="mnist", country_iso_code="FRA") as tracker:
        server.add("intel-rapl:0", J)
    assert tracker.final_emissions > 0
    tracker = EmissionsTracker("by position", 10, country_iso_code="FRA")
    assert not hasattr(tracker, "final_emissions")
    tracker.start()
    with pytest.warns(wattle.WattleWarning, match="started already"):
        tracker.start()
    first = tracker.stop()
    with pytest.warns(wattle.WattleWarning, match="stopped already"):
        assert tracker.stop() == first
    tracker.start()
    server.add("intel-rapl:0", 2 * J)
    tracker.stop()
    found = rows()
    assert [row["project_name"] for row in found] == ["mnist", "by position", "by position"]
    assert len({row["run_id"] for row in found}) == 3 and float(found[2]["cpu_energy"]) == pytest.approx(2 / KWH)


def test_tasks(server):
    tracker = EmissionsTracker(project_name="bert_inference", measure_power_secs=10, country_iso_code="FRA")
    tracker.start_task("load dataset")
    server.add("intel-rapl:0", 1 * J)
    dataset = tracker.stop_task()
    server.add("intel-rapl:0", 2 * J)  # of the run, and of no task
    tracker.start_task("build model")
    server.add("intel-rapl:0", 4 * J)
    tracker.start_task("inner")
    server.add("intel-rapl:0", 8 * J)
    inner, model = tracker.stop_task(), tracker.stop_task("build model")
    tracker.start_task("load dataset")
    server.add("intel-rapl:0", 16 * J)
    with pytest.warns(wattle.WattleWarning, match="no task other is open"):
        assert tracker.stop_task("other") is None
    tracker.stop()
    energies = [task.energy_consumed * KWH for task in (dataset, inner, model, tracker.final_emissions_data)]
    assert energies == pytest.approx([1, 8, 12, 31])
    found = rows(f"emissions_base_{tracker.run_id}.csv")
    assert ",".join(found[0]) == "task_name," + COLUMNS.replace("experiment_id,", "").replace(",pue,wue", "")
    assert [float(row["cpu_energy"]) * KWH for row in found] == pytest.approx([1, 8, 12, 16])
    names = [row["task_name"] for row in found]
    assert names[:3] == ["load dataset", "inner", "build model"] and names[3].startswith("load dataset_")
    assert len(rows()) == 1


def test_decorated_tasks_that_overlap(server):
    """As in two threads: each one stops the task that it began."""
    tracker = EmissionsTracker(country_iso_code="FRA")
    short, long = (codecarbon.TaskEmissionsTracker(name, tracker) for name in ("short", "long"))
    short.__enter__()
    server.add("intel-rapl:0", 1 * J)
    long.__enter__()
    server.add("intel-rapl:0", 2 * J)
    short.__exit__(None, None, None)
    server.add("intel-rapl:0", 4 * J)
    long.__exit__(None, None, None)
    tracker.stop()
    found = {row["task_name"]: float(row["cpu_energy"]) * KWH for row in rows(f"emissions_base_{tracker.run_id}.csv")}
    assert found == {"short": pytest.approx(3), "long": pytest.approx(6)}


def test_task_file_of_2023_stays_in_its_directory(server, tmp_path):
    tracker = EmissionsTracker(experiment_name="../a/b", csv_format="2023", output_dir=str(tmp_path), country_iso_code="FRA")
    tracker.start_task()
    tracker.stop_task()
    tracker.stop()
    (row,) = rows(tmp_path / f"emissions_.._a_b_{tracker.run_id}.csv")
    assert ",".join(row) == "task_name," + COLUMNS_2023.replace(",pue", "")


def test_flush(server):
    tracker = EmissionsTracker(country_iso_code="FRA")
    with pytest.warns(wattle.WattleWarning, match="not started"):
        assert tracker.flush() is None
    tracker.start()
    server.add("intel-rapl:0", 1 * J)
    first = tracker.flush()
    server.add("intel-rapl:0", 2 * J)
    assert tracker.stop() == pytest.approx(3 * first, rel=0.05)
    assert [float(row["cpu_energy"]) * KWH for row in rows()] == pytest.approx([1, 3])


def test_handlers(server, caplog):
    class Handler:
        def __init__(self):
            self.calls = []

        def out(self, total, delta):
            self.calls.append((total.energy_consumed * KWH, delta.energy_consumed * KWH))

        def task_out(self, tasks, experiment_name):
            self.calls.append((experiment_name, [task.task_name for task in tasks]))

        def exit(self):
            self.calls.append("exit")

    class Bad:
        def out(self, total, delta):
            raise RuntimeError("mine")

    logger, handler = logging.getLogger("mine"), Handler()
    tracker = EmissionsTracker(
        output_methods=[OutputMethod.LOGGER],
        logging_logger=codecarbon.LoggerOutput(logger, logging.WARNING),
        output_handlers=[Bad(), handler],
        country_iso_code="FRA",
    )
    tracker.start()
    server.add("intel-rapl:0", 1 * J)
    with pytest.warns(wattle.WattleWarning, match=r"Bad failed: RuntimeError\('mine'\)"):
        tracker.flush()
    tracker.start_task("t")
    server.add("intel-rapl:0", 2 * J)
    with pytest.warns(wattle.WattleWarning):
        tracker.stop()
    assert handler.calls == [pytest.approx((1, 1)), pytest.approx((3, 2)), ("base", ["t"]), "exit"]
    assert json.loads(caplog.messages[0])["country_name"] == "France"
    assert not os.path.exists("emissions.csv")


# ---- Parameters ----


def test_configuration(server, monkeypatch, tmp_path):
    (tmp_path / "home" / ".codecarbon.config").write_text("[codecarbon]\nproject_name = home\ncountry_iso_code = FRA\npue=2\n")
    with open(".codecarbon.config", "w", encoding="utf-8") as file:
        file.write("[codecarbon]\nproject_name = here\nexperiment_id = 100%\nsave_to_file = true\n")
    monkeypatch.setenv("CODECARBON_EXPERIMENT_NAME", "environment")
    monkeypatch.setenv("codecarbon_tracking_mode", "machine")
    tracker = run(server, country_iso_code=None)
    data = tracker.final_emissions_data
    assert (data.project_name, data.experiment_id, data.country_iso_code, data.pue) == ("here", "100%", "FRA", 2)
    monkeypatch.setenv("CODECARBON_PROJECT_NAME", "environment")
    assert run(server).final_emissions_data.project_name == "environment"
    assert run(server, project_name="given").final_emissions_data.project_name == "given"
    monkeypatch.setenv("CODECARBON_SAVE_TO_FILE", "false")
    run(server)
    assert len(rows()) == 3


def test_what_cannot_be_had_is_one_warning(server):
    with pytest.warns(wattle.WattleWarning) as said:
        EmissionsTracker(save_to_api=True, api_key="x", force_cpu_power=100, pue="much", wue=-1, of_tomorrow=1,
                         country_iso_code="FRA")
    assert len(said) == 1
    text = str(said[0].message)
    assert "there is no parameter of_tomorrow" in text and "pue is no number: 'much'" in text
    assert "wue is negative: -1" in text
    assert text.endswith("ignored, as docs/compat-codecarbon.md explains: save_to_api, force_cpu_power")
    page = (REPO / "docs" / "compat-codecarbon.md").read_text()
    assert [name for name in codecarbon._IGNORED if f"`{name}`" not in page] == ["save_to_boamps"]  # from OutputMethod.BOAMPS
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        EmissionsTracker(
            save_to_api=False, allow_multiple_runs=False, measure_power_secs=1, api_call_interval=-1, logger_preamble="x",
            prometheus_url="x", country_iso_code="FRA",
        )  # fmt: skip
        EmissionsTracker(log_level="error", of_tomorrow=1)
        EmissionsTracker(log_level=logging.ERROR, of_tomorrow=1)


def test_bad_parameters(server, tmp_path):
    missing = str(tmp_path / "missing")
    for name, value, error in (
        ("output_dir", missing, OSError),
        ("on_csv_write", "overwrite", ValueError),
        ("tracking_mode", "user", ValueError),
        ("csv_format", "1999", ValueError),
        ("output_methods", ["fax"], ValueError),
    ):
        with pytest.raises(error):
            EmissionsTracker(country_iso_code="FRA", **{name: value})
    with pytest.warns(wattle.WattleWarning, match="doesn't exist"):
        tracker = run(server, output_dir=missing)
    assert tracker.final_emissions > 0 and not os.path.exists(missing)
    with pytest.warns(wattle.WattleWarning, match="'fax' is no output method"):
        run(server, output_methods=["fax"], tracking_mode="user")


def test_where_the_electricity_is_from(server):
    def found(**options):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            data = run(server, **options).final_emissions_data
        place = (data.country_name, data.country_iso_code, data.region, data.cloud_provider, data.cloud_region, data.on_cloud)
        return place, round(data.emissions / data.energy_consumed * 1e3), [str(one.message) for one in said]

    world = round(wattle.Carbon().intensity_g_per_kwh)
    assert found() == (("France", "FRA", "", "", "", "N"), 56, [])
    place, grams, said = found(country_iso_code=None)
    assert (place, grams, len(said)) == (("World", "WLD", "", "", "", "N"), world, 1) and "world's average" in said[0]
    place, grams, said = found(country_iso_code="XYZ")
    assert (place[:2], grams, len(said)) == (("", "XYZ"), world, 1) and "'XYZ' is not known" in said[0]
    place, grams, said = found(country_iso_code="USA", region="California")
    assert place[:3] == ("United States", "USA", "california") and "not of California" in said[0]
    place, grams, said = found(cloud_provider="gcp", cloud_region="europe-west9")
    assert (place, grams, said) == (("France", "FRA", "", "gcp", "europe-west9", "Y"), 16, [])
    place, grams, said = found(cloud_provider="aws", cloud_region="eu-west-3")
    assert (place, grams) == (("France", "FRA", "", "aws", "eu-west-3", "Y"), 56) and "aws:eu-west-3" in said[0]
    assert found(force_carbon_intensity_g_co2e_kwh="100.00004") == (("France", "FRA", "", "", "", "N"), 100, [])
    for bad in (-3, "much", 1e9):
        place, grams, said = found(force_carbon_intensity_g_co2e_kwh=bad)
        assert grams == 56 and len(said) == 1


# ---- The file ----


def header(text):
    with open("emissions.csv", "w", encoding="utf-8") as file:
        file.write(text)


@pytest.mark.parametrize("columns", [COLUMNS, COLUMNS_2023, ",".join(reversed(COLUMNS.split(","))),
                                     COLUMNS_2023.replace("duration", "experiment_id,duration")])  # fmt: skip
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_append_by_the_files_own_header(server, columns, end):
    """Of the newest, of 2023, in another order (codecarbon#1304), of 2024 (2.7)."""
    old = ",".join("1" for _ in columns.split(","))
    header(f"{columns}\n{old}{end}")
    run(server)
    first, second = rows()
    assert set(first.values()) == {"1"} and ",".join(second) == columns
    assert float(second["cpu_energy"]) == pytest.approx(36 / KWH) and second["country_name"] == "France" and second["pue"] == "1.0"
    assert os.listdir(".") == ["emissions.csv"]


def test_other_columns_make_way(server):
    for text in ("a,b\n1,2\n", "timestamp,run_id,energy_consumed,mine\n", "\x00\x00\n", "\n"):
        header(text)
        with pytest.warns(wattle.WattleWarning, match="had other columns: it is .*bak now"):
            run(server)
        assert len(rows()) == 1
    names = ["emissions.csv", "emissions.csv.bak", "emissions.csv_0.bak", "emissions.csv_1.bak", "emissions.csv_2.bak"]
    assert sorted(os.listdir(".")) == names
    with open("emissions.csv.bak", encoding="utf-8") as file:
        assert file.read() == "a,b\n1,2\n"


def test_empty_file_and_byte_order_mark(server):
    header("")
    run(server)
    assert ",".join(rows()[0]) == COLUMNS
    with open("emissions.csv", "w", encoding="utf-8-sig") as file:
        file.write(COLUMNS_2023 + "\n")
    run(server)
    with open("emissions.csv", encoding="utf-8-sig", newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["country_name"] == "France" and os.listdir(".") == ["emissions.csv"]


def test_update_leaves_the_others(server):
    run(server, project_name='two\nlines, "quoted"')
    with open("emissions.csv", "ab") as file:
        file.write(b'"2026-01-01","a\nb",other\xff,"x""y"\r\n')
    with open("emissions.csv", "rb") as file:
        before = file.read()
    tracker = OfflineEmissionsTracker(on_csv_write="update", country_iso_code="FRA")
    tracker.start()
    for joules in (1, 2, 4):
        server.add("intel-rapl:0", joules * J)
        tracker.flush()
    tracker.stop()
    with open("emissions.csv", "rb") as file:
        after = file.read()
    assert after.startswith(before) and after[len(before):].count(b"\n") == 1
    row = dict(zip(COLUMNS.split(","), next(csv.reader(io.StringIO(after[len(before):].decode())))))
    assert row["run_id"] == str(tracker.run_id) and float(row["cpu_energy"]) == pytest.approx(7 / KWH)
    assert os.listdir(".") == ["emissions.csv"]


def test_text_from_outside_is_escaped(server):
    for name in ("=cmd|' /C calc'!A0", "+1", "-1", "@x", 'a,"b"\n\r\\\x1b[2J\udcff'):
        assert run(server, project_name=name).final_emissions_data.project_name == name
    with open("emissions.csv", "rb") as file:
        assert file.read().count(b"\n") == 6
    assert [row["project_name"] for row in rows()] == ["'=cmd|' /C calc'!A0", "'+1", "'-1", "'@x", r'a,"b"\n\x0d\\\x1b[2J\xff']


WRITER = """
import sys
from wattle.compat import codecarbon as cc
data = cc.EmissionsData(**{name: "" for name in cc._COLUMNS})
columns = cc._FORMATS["newest" if int(sys.argv[1]) % 2 else "2023"]
for i in range(int(sys.argv[3])):
    data.run_id = f"{sys.argv[1]}-{i}" if sys.argv[2] == "append" else sys.argv[1]
    data.project_name = f"{i}" + "x" * 2000
    assert cc._write("emissions.csv", columns, data, sys.argv[2] == "update") is None
"""


@pytest.mark.parametrize("ways", [["append"] * 6, ["append"] * 4 + ["update"] * 2])
def test_many_write_at_once(ways):
    """No file at first. Of those that append no line is lost, also while others update theirs."""
    started = [subprocess.Popen([sys.executable, "-c", WRITER, str(i), way, "60"]) for i, way in enumerate(ways)]
    assert [one.wait(60) for one in started] == [0] * len(ways)
    found = [row["run_id"] for row in rows()]
    appended = {f"{i}-{n}" for i, way in enumerate(ways) if way == "append" for n in range(60)}
    assert appended <= set(found)
    assert sorted(run_id for run_id in found if "-" not in run_id) == [str(i) for i, way in enumerate(ways) if way == "update"]
    assert os.listdir(".") == ["emissions.csv"]
    assert len(found) == len(set(found))
    with open("emissions.csv", "rb") as file:
        assert b"\n\n" not in file.read()


def test_a_file_that_cannot_be_written_costs_a_warning(server):
    os.mkdir("emissions.csv")
    tracker = OfflineEmissionsTracker(country_iso_code="FRA")
    tracker.start()
    server.add("intel-rapl:0", 36 * J)
    with pytest.warns(wattle.WattleWarning, match="could not be written: .*emissions.csv"):
        assert tracker.stop() == pytest.approx(36 / KWH * INTENSITY / 1e3, rel=0.01)
    tracker = OfflineEmissionsTracker(country_iso_code="FRA", output_file="/dev/full")
    tracker.start()
    with pytest.warns(wattle.WattleWarning, match="could not be written: .*No space left"):
        tracker.stop()


def test_forked_child_writes_nothing(server):
    tracker = EmissionsTracker(country_iso_code="FRA", log_level="error")
    tracker.start()
    server.add("intel-rapl:0", J)
    child = multiprocessing.get_context("fork").Process(target=tracker.stop)
    child.start()
    child.join(30)
    assert child.exitcode == 0 and not os.path.exists("emissions.csv")
    assert tracker.stop() > 0 and len(rows()) == 1


def test_uncertainty_of_the_full_share(server):
    """That of all of it, not of the dynamic part alone."""
    tracker = EmissionsTracker(tracking_mode="process", country_iso_code="FRA")
    own = SimpleNamespace(full_uj=50 * J, uncertainty_j=2, full_uncertainty_j=5, domains={})
    window = SimpleNamespace(energy_uj=100 * J, uncertainty_j=10, domains={}, own=own, duration_s=1, mean_w=100)
    data = tracker._data(SimpleNamespace(carbon=wattle.Carbon("FRA"), domains=()), window, (0, 0, 0))
    assert data.energy_consumed * KWH == pytest.approx(50) and data.uncertainty * KWH == pytest.approx(5)


# ---- The real one ----


def test_same_names_as_the_real_one():
    the_real_one()
    from codecarbon.emissions_tracker import BaseEmissionsTracker
    from codecarbon.output_methods.emissions_data import EmissionsData, TaskEmissionsData

    parameters = list(inspect.signature(BaseEmissionsTracker.__init__).parameters)[1:]
    assert list(codecarbon._DEFAULTS)[: len(parameters)] == parameters
    offline = list(inspect.signature(__import__("codecarbon").OfflineEmissionsTracker.__init__).parameters)[2:-1]
    assert list(codecarbon._DEFAULTS)[len(parameters): -1] == offline
    assert list(EmissionsData.__dataclass_fields__) == COLUMNS.split(",")
    blank = codecarbon.TaskEmissionsData(**{name: "" for name in codecarbon._COLUMNS})
    assert list(TaskEmissionsData.__dataclass_fields__) == list(blank.values)


def test_the_real_one_and_pandas_read_and_append(server):
    """Rows of both in one file, in turn, without a .bak."""
    the_real_one()
    pandas = pytest.importorskip("pandas")
    from codecarbon.output_methods.emissions_data import EmissionsData
    from codecarbon.output_methods.file import FileOutput

    tracker = run(server, project_name="ours")
    data = EmissionsData(**{**tracker.final_emissions_data.values, "project_name": "theirs", "run_id": "theirs"})
    for way in ("append", "update", "append"):
        FileOutput("emissions.csv", ".", way).out(data, None)
        run(server, project_name="ours")
    frame = pandas.read_csv("emissions.csv")
    assert list(frame.columns) == COLUMNS.split(",") and os.listdir(".") == ["emissions.csv"]
    assert sorted(frame.project_name) == ["ours"] * 4 + ["theirs"] * 2
    assert frame.energy_consumed.sum() == pytest.approx(6 * 36 / KWH)
    assert frame.gpu_utilization_percent.isna().all()


SCRIPT = """
import os, subprocess, sys, time
sys.path.insert(0, {peers!r})
import measure
measure.complete_machine(os.getcwd())
from {module} import OfflineEmissionsTracker

tracker = OfflineEmissionsTracker(country_iso_code="FRA", measure_power_secs=1, log_level="error", **{options!r})
tracker.start()
begin_ns = time.time_ns()
subprocess.run({work!r}, shell=True, check=True)
end_ns = time.time_ns()
tracker.stop()
window = getattr(tracker.final_emissions_data, "window", None)
if window is not None:
    begin_ns = round(window.begin_utc_s * 1e9)
    end_ns = begin_ns + round(window.duration_s * 1e9)
print(begin_ns, end_ns)
"""
# What differs, for the reasons that docs/compat-codecarbon.md gives. All other columns are equal.
DIFFERS = {
    "timestamp", "run_id", "duration", "emissions", "emissions_rate", "cpu_power", "gpu_power", "ram_power", "cpu_energy",
    "gpu_energy", "ram_energy", "energy_consumed", "water_consumed", "codecarbon_version", "cpu_utilization_percent",
    "gpu_utilization_percent", "ram_utilization_percent", "ram_used_gb",
}  # fmt: skip


def simulated(tmp_path, module, scenario, *flags, **options):
    """The row that the script writes, and the true joules of its window, of CPU, GPU and RAM. No PUE."""
    folder, work = tmp_path / module, "exec $SIM_LAUNCH" if "--by-tool" in flags else "sleep 2.5"
    folder.mkdir()
    os.chdir(folder)
    (folder / "given.sim").write_text(scenario)
    (folder / "script.py").write_text(SCRIPT.format(module=module, work=work, peers=str(SIM / "peers"), options=options))
    if not (BUILD / "tests" / "sim" / "sim").exists():
        pytest.skip("no simulated machine was built")
    done = subprocess.run(
        [BUILD / "tests" / "sim" / "sim", *flags, "given.sim", "machine", "--", sys.executable, "-B", "script.py"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    truth = json.loads((folder / "machine" / "truth.json").read_text())
    if truth["tool_status"] == 126:
        pytest.skip("no mount namespaces here")
    assert truth["tool_status"] == 0, done.stderr
    window_ns = tuple(int(word) for word in done.stdout.split()[-2:])
    names = [domain["name"] for domain in truth["domains"]]
    (row,) = rows()
    return row, truth, {
        part: float(score.trace_energy("machine/trace.csv", window_ns, [name for name in names if name.startswith(kind)]))
        for part, kind in (("cpu", "package"), ("gpu", "gpu"), ("ram", "dram"))
    }  # fmt: skip


def joules(row, part):
    return float(row[part + "_energy"]) * KWH


def test_the_same_script_under_both_names(tmp_path):
    the_real_one()
    scenario = (
        "duration 7\nsocket idle=74.05 dram=4\nsocket idle=69.86 dram=4\nothers 20\ngpu idle=55 full=300 memory=81920\n"
        "worker steady watts=20 dram=1 duty=0.5 start=0.5 stop=7\ngpu-use steady sm=60 memory=20000\n"
    )
    theirs, _, their_truth = simulated(tmp_path, "codecarbon", scenario, pue=1.5, wue=1.8)
    ours, _, truth = simulated(tmp_path, "wattle.compat.codecarbon", scenario, pue=1.5, wue=1.8)
    assert {name: value for name, value in ours.items() if name not in DIFFERS} == {
        name: value for name, value in theirs.items() if name not in DIFFERS
    }
    for part in ("cpu", "gpu", "ram"):
        assert joules(ours, part) / 1.5 == pytest.approx(truth[part], rel=0.02)
        assert float(ours[part + "_power"]) * float(ours["duration"]) == pytest.approx(joules(ours, part))
    for part in ("cpu", "gpu"):
        assert joules(theirs, part) / 1.5 == pytest.approx(their_truth[part], rel=0.2)
    for row in (ours, theirs):
        assert float(row["energy_consumed"]) * KWH == pytest.approx(sum(joules(row, part) for part in ("cpu", "gpu", "ram")))
        assert float(row["water_consumed"]) == pytest.approx(float(row["energy_consumed"]) * 1.8)
        assert float(row["emissions"]) == pytest.approx(float(row["energy_consumed"]) * INTENSITY / 1e3, rel=0.01)
        assert float(row["emissions_rate"]) == pytest.approx(float(row["emissions"]) / float(row["duration"]))


def test_process_mode(tmp_path):
    """Its full share: more than it caused, less than the machine's. The real one gives the whole packages."""
    scenario = (
        "duration 4\nsocket idle=74.05 dram=4\nsocket idle=69.86 dram=4\nothers 20\n"
        "worker one watts=20 dram=1 duty=0.2 start=0.2 stop=3.5\n"
    )
    ours, truth, machine = simulated(tmp_path, "wattle.compat.codecarbon", scenario, "--by-tool", tracking_mode="process")
    caused = sum(worker["dynamic_j"] for worker in truth["workers"])
    assert caused < joules(ours, "cpu") + joules(ours, "ram") < machine["cpu"] + machine["ram"]
    assert ours["tracking_mode"] == "process" and float(ours["gpu_energy"]) == 0
    the_real_one()
    theirs, _, machine = simulated(tmp_path, "codecarbon", scenario, "--by-tool", tracking_mode="process")
    assert joules(theirs, "cpu") == pytest.approx(machine["cpu"], rel=0.1)
