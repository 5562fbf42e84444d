# SPDX-License-Identifier: MIT
"""wattle report and plot over many runs: recordings and emissions.csv files beside each other."""

import csv
from decimal import Decimal

import pytest

from conftest import REPO, mover, run_wattle

RECORDED = REPO / "tests" / "fixtures" / "recorded"
TITLES = ("timestamp,project_name,run_id,duration,emissions,emissions_rate,cpu_power,gpu_power,ram_power,cpu_energy,gpu_energy,ram_energy,"
          "energy_consumed,country_name,country_iso_code,region,cloud_provider,cloud_region,os,python_version,codecarbon_version,cpu_count,cpu_model,"
          "gpu_count,gpu_model,longitude,latitude,ram_total_size,tracking_mode,on_cloud,pue").split(",")
UTC = {"TZ": "UTC"}


def row(day, seconds, kg, cpu, ram, *, run=None, project="fit", pue=1):
    cells = {"timestamp": f"2026-11-{day:02}T12:00:00", "project_name": project, "run_id": run or f"run-{day}", "duration": seconds, "emissions": kg,
             "cpu_energy": cpu, "gpu_energy": 0, "ram_energy": ram, "energy_consumed": cpu + ram, "gpu_count": 0, "pue": pue}
    return {title: cells.get(title, "") for title in TITLES}


ROWS = [row(1, 100.5, 0.0001, 0.0004, 0.0001), row(2, 200.25, 0.0003, 0.0011, 0.0002), row(3, 50, 0.00004, 0.00015, 0.00005, project="eval")]


def write(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, TITLES)
        writer.writeheader()
        writer.writerows(rows)
    return path


def report(*args, form="json"):
    return run_wattle("report", "-f", form, *args, env=UTC)


def test_rows_as_runs(tmp_path):
    """Durations, energies and emissions are those of the rows, and so are their sums, exactly."""
    result = report(write(tmp_path / "emissions.csv", ROWS))
    assert result.code == 0 and result.err == "", result
    told = result.json
    assert told["schema"] == "wattle.runs/1"
    assert [run["duration_s"] for run in told["runs"]] == [Decimal("100.5"), Decimal("200.25"), 50]
    assert [run["total"]["energy_j"] for run in told["runs"]] == [1800, 4680, 720]
    assert [run["carbon"]["gco2e"] for run in told["runs"]] == [Decimal("0.1"), Decimal("0.3"), Decimal("0.04")]
    assert [run["start_utc"] for run in told["runs"]] == ["2026-11-01T11:58:19.500Z", "2026-11-02T11:56:39.750Z", "2026-11-03T11:59:10.000Z"]
    assert [run["command"] for run in told["runs"]] == [["fit"], ["fit"], ["eval"]]
    assert told["sum"] == {"n_runs": 3, "duration_s": Decimal("350.75"), "n_energy": 3, "energy_j": 7200, "uncertainty_j": 7200,
                           "n_emitted": 3, "gco2e": Decimal("0.44"), "gco2e_uncertainty": Decimal("0.44")}
    assert abs(told["runs"][0]["gco2e_per_s"] - Decimal("0.000995025")) < Decimal("0.0000001")


def test_no_intensity_is_made_of_no_energy(tmp_path):
    text = report(write(tmp_path / "emissions.csv", [row(1, 0.01, 0, 0, 0), row(2, 0.02, 0, 0, 0)]), form="text").out
    assert "2 runs" in text and "CO2e is at" not in text


def test_the_page(tmp_path):
    text = report(write(tmp_path / "emissions.csv", ROWS), form="text").out
    assert "3 runs in emissions.csv: different commands" in text
    assert "  runs 1 to 2 are fit\n  run 3 is eval\n" in text
    assert "sum of 3 runs: 5 min 50.8 s, 7200 ± 7200 J, 440 ± 440 mg CO2e" in " ".join(text.split()), text


def test_beside_recordings(tmp_path):
    recording = RECORDED / "server.wattle"
    alone = report(recording).json
    told = report(write(tmp_path / "emissions.csv", ROWS), recording).json
    assert len(told["runs"]) == 4
    of_it = next(run for run in told["runs"] if run["file"].endswith("server.wattle"))
    assert of_it["total"] == alone["total"] and of_it["carbon"]["gco2e"] == alone["carbon"]["gco2e"]
    starts = [run["start_utc"] for run in told["runs"]]
    assert starts == sorted(starts)
    assert told["sum"]["energy_j"] == 7200 + alone["total"]["energy_j"]
    assert told["sum"]["duration_s"] == Decimal("350.75") + alone["duration_s"]
    assert told["sum"]["uncertainty_j"] == sum(run["total"]["uncertainty_j"] for run in told["runs"])
    rows = report(tmp_path / "emissions.csv", recording, form="csv").csv
    assert len(rows) == 4 and sum(Decimal(line["energy_j"]) for line in rows) == told["sum"]["energy_j"]


def test_pue_is_taken_out(tmp_path):
    """Energies and grams are those of the devices, as everywhere; what a data centre adds is beside them."""
    told = report(write(tmp_path / "e.csv", [row(1, 100, 0.0002, 0.0008, 0.0002, pue=1.25)])).json
    run = told["runs"][0]
    assert run["total"]["energy_j"] == 2880 and run["carbon"]["gco2e"] == Decimal("0.16")
    assert run["carbon"]["pue"] == Decimal("1.25") and run["carbon"]["gco2e_with_pue"] == Decimal("0.2")


def test_what_wattle_run_appends(tmp_path, machine):
    """There and back: the joules and grams of the report are in the sum."""
    file, server = tmp_path / "emissions.csv", machine("nvidia-server")
    told = []
    for _ in range(3):
        result = run_wattle("run", "--root", server.path, "--nvml", "", "--idle-file", "", "--location", "FRA", "-f", "json", "-o", "-", "--emissions",
                            file, "--", *mover("sleep", "0.1", "add", server.zone("intel-rapl:0"), "30000000", "sleep", "0.1"), env=UTC)
        assert result.code == 0, result
        told.append(result.json)
    runs = report(file).json
    assert [run["total"]["energy_j"] for run in runs["runs"]] == [run["total"]["energy_j"] for run in told]
    assert abs(runs["sum"]["gco2e"] - sum(run["carbon"]["gco2e"] for run in told)) < Decimal("0.00001")


def test_a_run_that_was_written_again(tmp_path):
    rows = [row(1, 50, 0.0001, 0.0002, 0.0001, run="a"), row(1, 100, 0.0002, 0.0004, 0.0002, run="a"), row(2, 10, 0.0001, 0.0002, 0.0001)]
    rows[0]["timestamp"] = "2026-11-01T11:59:10"
    told = report(write(tmp_path / "e.csv", rows)).json
    assert [run["duration_s"] for run in told["runs"]] == [100, 10]


def test_bad_rows(tmp_path):
    rows = [dict(ROWS[0]), dict(ROWS[1]), dict(ROWS[2])]
    rows[1]["duration"] = "x"
    rows[2]["emissions"] = ""
    path = write(tmp_path / "e.csv", rows)
    result = report(path)
    assert result.code == 0 and f"{path}:3: its duration is no number" in result.err
    told = result.json
    assert len(told["runs"]) == 2 and told["sum"]["n_emitted"] == 1 and told["sum"]["n_energy"] == 2
    assert told["runs"][1]["carbon"]["reason"] == "the file does not say what it emitted"
    assert "gco2e_per_s" not in told["runs"][1]
    text = report(path, form="text").out
    assert "(of 1)" in text and "no CO2e of 1 of 2 runs: the file does not say what it emitted" in text
    result = report(write(tmp_path / "none.csv", rows[1:2]))
    assert result.code == 1 and "there is no run in it" in result.err


@pytest.mark.parametrize("args,words", [
    (("--sci", "--unit-count", "1", "--embodied", "1"), "--sci is of one run"),
    (("--by", "user"), "--by is of one run"),
    (("--location", "FRA"), "its emissions are told as they are"),
    (("--from", "+1"), "its emissions are told as they are"),
])
def test_what_is_of_no_use(tmp_path, args, words):
    result = report(*args, write(tmp_path / "e.csv", ROWS))
    assert result.code == 1 and words in result.complaint()


def test_the_picture(tmp_path):
    svg = tmp_path / "a.svg"
    result = run_wattle("plot", "--what", "emissions", write(tmp_path / "e.csv", ROWS), RECORDED / "server.wattle", "-o", svg, env=UTC)
    if "built without" in result.err:
        pytest.skip(result.err)
    assert result.code == 0 and result.err == "", result
    text = svg.read_text()
    for words in ("Duration", "Energy", "Emissions (CO2e)", "Emissions rate (CO2e)", "4 runs", "UTC"):
        assert words in text, words
    result = run_wattle("plot", tmp_path / "e.csv", "-o", svg, env=UTC)
    assert result.code == 0 and "3 runs" in svg.read_text()
