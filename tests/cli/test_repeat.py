# SPDX-License-Identifier: MIT
"""wattle run --repeat and --until: the figures over the runs, checked by another calculation."""

import statistics
from decimal import Decimal

import pytest

from conftest import ROOTS, check_sums, domain, mover, parse_csv, run_wattle

# Student's t, two-sided 95 %, by degrees of freedom.
T95 = {1: 12.7062, 2: 4.3027, 3: 3.1824, 4: 2.7764, 5: 2.5706, 6: 2.4469, 7: 2.3646, 8: 2.3060,
       9: 2.2622, 19: 2.0930}
XEON = ("--root", ROOTS / "xeon-2s-dram")


def check_statistics(of, values, decimals):
    values = [float(v) for v in values]
    close = {"rel": 1e-4, "abs": 2 * 10 ** -decimals}
    assert of["n"] == len(values)
    assert float(of["mean"]) == pytest.approx(statistics.fmean(values), **close)
    assert float(of["min"]) == pytest.approx(min(values), **close)
    assert float(of["max"]) == pytest.approx(max(values), **close)
    if len(values) == 1:
        assert "sd" not in of and "ci95" not in of and of["reason"]
        return
    sd = statistics.stdev(values)
    assert float(of["sd"]) == pytest.approx(sd, **close)
    assert float(of["ci95"]) == pytest.approx(T95[len(values) - 1] * sd / len(values) ** 0.5, **close)


def check_series(series, runs):
    assert series["schema"] == "wattle.series/1"
    assert len(series["runs"]) == runs == series["statistics"]["runs"]
    figures = series["statistics"]
    check_statistics(figures["duration_s"], [r["duration_s"] for r in series["runs"]], 9)
    check_statistics(figures["energy_j"], [r["total"]["energy_j"] for r in series["runs"]], 6)
    check_statistics(figures["gco2e"], [r["carbon"]["gco2e"] for r in series["runs"]], 9)
    for of in figures["domains"]:
        known = [d["energy_j"] for d in (domain(r, of["name"]) for r in series["runs"])
                 if "energy_j" in d]
        if known:
            check_statistics(of["energy_j"], known, 6)
        else:
            assert of["energy_j"]["n"] == 0 and of["energy_j"]["reason"]
    for report in series["runs"]:
        check_sums(report)


def growing(server, tmp_path, joules="10 + k"):
    """A command whose k-th run uses so many joules."""
    count = tmp_path / "count"
    code = f"""
import os
try: k = int(open({str(count)!r}).read())
except OSError: k = 0
open({str(count)!r}, "w").write(str(k + 1))
zone = {str(server.zone("intel-rapl:0"))!r}
fd = os.open(zone, os.O_WRONLY)
os.pwrite(fd, b"%d\\n" % (int(open(zone).read()) + round(({joules}) * 1e6)), 0)
"""
    return (*mover()[:-1], code)


@pytest.mark.parametrize("runs", [1, 2, 5, 20])
def test_statistics_over_runs(machine, tmp_path, runs):
    server = machine("nvidia-server")
    result = run_wattle("run", "--root", server.path, "-r", str(runs), "-f", "json", "--",
                        *growing(server, tmp_path))
    assert result.code == 0, result
    check_series(result.json, runs)
    assert [r["total"]["energy_j"] for r in result.json["runs"]] == [10 + k for k in range(runs)]


def test_statistics_where_nothing_is_measured():
    result = run_wattle("run", "--root", ROOTS / "vm-nothing", "-r", "3", "-f", "json", "--", "true")
    check_series(result.json, 3)


def test_text_and_csv_of_a_series(machine, tmp_path):
    server = machine("nvidia-server")
    text = run_wattle("run", "--root", server.path, "-r", "3", "--", *growing(server, tmp_path))
    assert text.code == 0
    assert "mean" in text.out and "95 %" in text.out
    rows = parse_csv(run_wattle("run", "--root", server.path, "-r", "3", "-f", "csv", "--", "true").out)
    assert [r["run"] for r in rows if r["domain"] == "total"] == ["1", "2", "3"]
    assert len({r["start_utc"] for r in rows}) <= 3


def test_a_series_is_appended_as_one_line(tmp_path):
    path = tmp_path / "series"
    for _ in range(2):
        assert run_wattle("run", *XEON, "-r", "2", "-f", "json", "--append", "-o", path, "--",
                          "true").code == 0
    assert len(path.read_text().splitlines()) == 2


def test_until_stops_at_three_where_all_runs_are_alike(machine, tmp_path):
    server = machine("nvidia-server")
    result = run_wattle("run", "--root", server.path, "--until", "2%", "-f", "json", "--",
                        *growing(server, tmp_path, "10"))
    assert result.json["converged"] is True
    assert result.json["until"] == Decimal("0.02")
    check_series(result.json, 3)


def test_until_stops_as_soon_as_the_interval_is_narrow_enough(machine, tmp_path):
    server = machine("nvidia-server")
    result = run_wattle("run", "--root", server.path, "--until", "0.05", "-f", "json", "--",
                        *growing(server, tmp_path, "100 + 5 * (k % 2)"))
    series = result.json
    assert series["converged"] is True
    check_series(series, len(series["runs"]))
    values = [float(r["total"]["energy_j"]) for r in series["runs"]]
    for n in range(3, len(values) + 1):
        part = values[:n]
        half = T95[n - 1] * statistics.stdev(part) / n ** 0.5
        assert (half <= 0.05 * statistics.fmean(part)) == (n == len(values))


def test_until_is_bounded(machine, tmp_path):
    server = machine("nvidia-server")
    result = run_wattle("run", "--root", server.path, "--until", "0.0001", "--max-repeat", "5", "-f",
                        "json", "--", *growing(server, tmp_path))
    assert result.code == 0
    assert result.json["converged"] is False
    check_series(result.json, 5)
    text = run_wattle("run", "--root", server.path, "--until", "0.01%", "--max-repeat", "4", "--",
                      *growing(server, tmp_path))
    assert text.code == 0
    assert "0.01" in text.out


@pytest.mark.parametrize("form,value", [("0.02", "0.02"), ("2%", "0.02"), ("1", "1"), ("100%", "1"),
                                        ("0.5%", "0.005"), (".1", "0.1"), ("1e-2", "0.01")])
def test_forms_of_until(form, value):
    result = run_wattle("run", *XEON, "--until", form, "--max-repeat", "1", "-f", "json", "--", "true")
    assert result.code == 0, result
    assert result.json["until"] == Decimal(value)


def test_one_run_that_fails_does_not_end_the_series(tmp_path):
    count = tmp_path / "count"
    code = f'echo x >>{count}; case $(wc -l <{count}) in 2) exit 7;; 3) exit 9;; esac'
    result = run_wattle("run", *XEON, "-r", "4", "-f", "json", "--", "sh", "-c", code)
    assert result.code == 7
    assert [r["exit_status"] for r in result.json["runs"]] == [0, 7, 9, 0]
    text = run_wattle("run", *XEON, "-r", "2", "--", "sh", "-c", "exit 4")
    assert text.code == 4
    assert "4" in text.out


def test_a_command_that_goes_away_between_runs_keeps_what_was_measured(tmp_path):
    path = tmp_path / "once"
    path.write_text(f"#!/bin/sh\nrm {path}\n")
    path.chmod(0o755)
    result = run_wattle("run", *XEON, "-r", "3", "-f", "json", "--", path)
    assert result.code == 127
    assert len(result.json["runs"]) == 1
    assert "there is no such command" in result.complaint()


def test_repeat_of_what_cannot_be_written():
    result = run_wattle("run", *XEON, "-r", "2", "-o", "/dev/full", "--", "true")
    assert result.code == 125
    assert "No space left" in result.err and "mean" in result.err


def test_a_series_says_whose_its_grams_are():
    repeat = ("run", *XEON, "-r", "2", "--no-processes")
    page = run_wattle(*repeat, "--location", "FRA", "--pue", "1.5", "--", "true").out
    text = " ".join(page.split())
    assert "CO2e is at 56.04 g/kWh (FRA, " in text and ", 2023), also with PUE 1.5, which is not in the energies. " in text
    assert "\n  with PUE 1.5 " in page
    assert "such as the ± 20 % of the intensity of CO2e." in text
    # Once for all runs, and what all of them took.
    assert page.count("g/kWh") == 1 and page.count("\nwattle itself: ") == 1
    text = " ".join(run_wattle(*repeat, "--", "true").out.split())
    assert "CO2e is at 472.9 g/kWh (world average, " in text and "± 100 % of the intensity" in text
    text = run_wattle(*repeat, "--location", "100", "--", "true").out
    assert "CO2e is at 100.0 g/kWh (as given).\n" in text and "of the intensity" not in text


def test_csv_of_a_series_says_whose_its_grams_are():
    rows = parse_csv(run_wattle("run", *XEON, "-r", "2", "--location", "FRA", "--pue", "1.5", "-f", "csv", "--", "true").out)
    totals = [row for row in rows if row["domain"] == "total"]
    assert [row["run"] for row in totals] == ["1", "2"]
    for row in totals:
        assert (row["location"], row["year"], row["pue"]) == ("FRA", "2023", "1.500")
        assert row["dataset"] and row["intensity_g_per_kwh"] and row["gco2e_with_pue"]
