# SPDX-License-Identifier: MIT
"""The carbon ledger. wattle run --emissions: rows as CodeCarbon's, energies times PUE there and nowhere else."""

import csv
import re

import pytest
from conftest import REPO, ROOTS, run_wattle

HEADERS = {
    "2023": "timestamp,project_name,run_id,duration,emissions,emissions_rate,cpu_power,gpu_power,ram_power,cpu_energy,gpu_energy,"
            "ram_energy,energy_consumed,country_name,country_iso_code,region,cloud_provider,cloud_region,os,python_version,"
            "codecarbon_version,cpu_count,cpu_model,gpu_count,gpu_model,longitude,latitude,ram_total_size,tracking_mode,on_cloud,pue",
    "latest": "timestamp,project_name,run_id,experiment_id,duration,emissions,emissions_rate,cpu_power,gpu_power,ram_power,cpu_energy,"
              "gpu_energy,ram_energy,energy_consumed,water_consumed,country_name,country_iso_code,region,cloud_provider,cloud_region,os,"
              "python_version,codecarbon_version,cpu_count,cpu_model,gpu_count,gpu_model,longitude,latitude,ram_total_size,tracking_mode,"
              "cpu_utilization_percent,gpu_utilization_percent,ram_utilization_percent,ram_used_gb,on_cloud,pue,wue",
}


def run(path, *options, command=("sleep", "0.1")):
    return run_wattle("run", "--root", ROOTS / "vm-nothing", "--nvml", "", "-f", "json", "-o", "-", "--emissions", path, *options, "--", *command)


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("form", HEADERS)
def test_a_row_says_what_the_report_says(tmp_path, form):
    path = tmp_path / "emissions.csv"
    result = run(path, "--emissions-format", form, "--location", "FRA", "--pue", "1.5")
    assert result.code == 0, result
    assert path.read_text().splitlines()[0] == HEADERS[form]
    [row], report = rows(path), result.json
    total_j = float(report["total"]["energy_j"])
    assert float(row["energy_consumed"]) == pytest.approx(1.5 * total_j / 3.6e6)
    assert float(row["cpu_energy"]) + float(row["ram_energy"]) == pytest.approx(float(row["energy_consumed"]))
    assert float(row["gpu_energy"]) == 0 and row["gpu_count"] == "0"
    assert float(row["emissions"]) == pytest.approx(1.5 * float(report["carbon"]["gco2e"]) / 1000, rel=1e-6)
    assert float(row["emissions_rate"]) == pytest.approx(float(row["emissions"]) / float(row["duration"]))
    assert float(row["cpu_power"]) == pytest.approx(float(row["cpu_energy"]) / 1.5 * 3.6e6 / float(row["duration"]))
    assert (row["country_iso_code"], row["country_name"], row["pue"], row["tracking_mode"]) == ("FRA", "France", "1.5", "machine")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", row["timestamp"])
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", row["run_id"])


def test_rows_are_appended_in_the_columns_that_are_there(tmp_path):
    path = tmp_path / "emissions.csv"
    assert run(path, "--emissions-format", "latest").code == 0
    assert run(path, "--repeat", "2").code == 0
    path.write_text(path.read_text().rstrip("\n"))  # the last one was cut off
    assert run(path).code == 0
    found = rows(path)
    assert len(found) == 4 and len({row["run_id"] for row in found}) == 4
    assert all(None not in row and float(row["duration"]) > 0 for row in found)


def test_another_file_is_refused_before_the_command_runs(tmp_path):
    path, mark = tmp_path / "emissions.csv", tmp_path / "ran"
    swapped = HEADERS["2023"].replace("duration,emissions,", "emissions,duration,")
    path.write_text(swapped + "\n")
    result = run(path, command=("touch", mark))
    assert result.code == 125 and "emissions.csv: line 1: these are not the columns" in result.err
    assert not mark.exists() and path.read_text() == swapped + "\n"


def test_a_place_that_cannot_be_written(tmp_path):
    result = run(tmp_path / "none" / "emissions.csv")
    assert result.code == 125 and "emissions.csv" in result.err


# ---- report --sci ----

RECORDING = REPO / "tests" / "fixtures" / "recorded" / "busy-thread.wattle"


@pytest.mark.parametrize("pue", [None, 1.5])
def test_sci_has_its_three_terms_apart(pue):
    options = ("--pue", str(pue)) if pue else ()
    carbon = run_wattle("report", "-f", "json", "--location", "500", "--sci", "--unit-count", "40", "--embodied", "14.96", *options, RECORDING).json["carbon"]
    sci = {key: float(value) for key, value in carbon["sci"].items()}
    assert sci["operational_gco2e"] == pytest.approx(float(carbon["gco2e"]) * (pue or 1))
    assert (sci["embodied_gco2e"], sci["units"]) == (14.96, 40)
    assert sci["gco2e_per_unit"] == pytest.approx((sci["operational_gco2e"] + 14.96) / 40)
    assert sci["gco2e_per_unit_uncertainty"] == pytest.approx(float(carbon["gco2e_uncertainty"]) * (pue or 1) / 40, rel=1e-6)


def test_sci_is_told_to_people():
    page = run_wattle("report", "--sci", "--unit-count", "40", "--embodied", "14.96", RECORDING).out
    assert "CO2e a unit = (" in page and "14.96 g embodied) / 40 units" in " ".join(page.split())
    assert "sci" not in run_wattle("report", RECORDING).out


@pytest.mark.parametrize("options", [("--sci",), ("--sci", "--unit-count", "3"), ("--sci", "--embodied", "3"), ("--unit-count", "3"),
                                     ("--embodied", "1"), ("--sci", "--unit-count", "1", "--embodied", "1", RECORDING)])
def test_sci_wants_all_of_its_terms(options):
    result = run_wattle("report", *options, RECORDING)
    assert result.code == 2 and "--sci" in result.complaint()
