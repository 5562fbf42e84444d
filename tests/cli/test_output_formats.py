# SPDX-License-Identifier: MIT
"""The golden files as other programs read them, and the pages in docs/ that describe them.

tests/unit/test_output.c holds what wattle prints against the same files.
"""

import csv
import json
import re
from decimal import Decimal
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
REPORTS = ["server", "vm", "denied", "partly",
           "used", "used-full", "used-vm", "used-folded", "used-hostile", "used-unknown"]
DOCTORS = ["doctor-server", "doctor-vm", "doctor-denied", "doctor-used"]
MICRO = Decimal("0.000001")


def load_json(name):
    text = (GOLDEN / name).read_text(encoding="utf-8")
    return json.loads(text, parse_float=Decimal)


def load_csv(name, header=None):
    with open(GOLDEN / name, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file, strict=True))
    if header is None:
        header, rows = rows[0], rows[1:]
    assert all(len(row) == len(header) for row in rows), f"{name}: rows of different length"
    return header, [dict(zip(header, row)) for row in rows]


def keys_of(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner)


def documented(page):
    """Every `word` in the page."""
    return set(re.findall(r"`([a-z_0-9]+)`", (ROOT / "docs" / page).read_text(encoding="utf-8")))


def reports():
    found = [load_json(f"{name}.json") for name in REPORTS]
    return found + load_json("series.json")["runs"]


@pytest.mark.parametrize("name", REPORTS + ["series"] + DOCTORS)
def test_appended_json_is_one_line_with_the_same_content(name):
    lines = (GOLDEN / f"{name}.ndjson").read_text(encoding="utf-8").split("\n")
    assert len(lines) == 2 and lines[1] == ""
    assert json.loads(lines[0], parse_float=Decimal) == load_json(f"{name}.json")


def test_every_json_key_is_documented():
    used = {key for name in REPORTS + ["series"] + DOCTORS for key in keys_of(load_json(f"{name}.json"))}
    assert used - documented("format-json.md") == set()


def test_processes_add_up_to_the_total():
    told = 0
    for report in reports():
        if "processes" in report:
            rows = report["processes"] + [report["others"], report["no_process"]]
            assert sum(row["full_j"] for row in rows) == report["total"]["energy_j"]
            told += 1
        else:
            assert report["processes_reason"]
    assert told >= 5


def test_schemas():
    assert {load_json(f"{name}.json")["schema"] for name in REPORTS} == {"wattle.report/1"}
    assert {load_json(f"{name}.json")["schema"] for name in DOCTORS} == {"wattle.doctor/1"}
    assert load_json("series.json")["schema"] == "wattle.series/1"


def test_every_account_adds_up_to_its_domain():
    accounts = 0
    for report in reports():
        energies = {row["name"]: row["energy_j"] for row in report["domains"] if "energy_j" in row}
        assert [row["domain"] for row in report["ledger"]] == list(energies)
        for row in report["ledger"]:
            parts = [row[key] for key in row if key.endswith("_j") and key != "total_j"]
            assert sum(parts) == row["total_j"] == energies[row["domain"]]
            accounts += 1
    assert accounts > 10


def test_the_total_is_the_sum_of_what_counts():
    for report in reports():
        counted = [row["energy_j"] for row in report["domains"] if row["in_total"] and "energy_j" in row]
        assert report["total"].get("energy_j", 0) == sum(counted)


def test_what_is_unknown_is_absent_and_has_a_reason():
    without = 0
    for report in reports():
        for row in report["domains"] + [report["total"]]:
            assert all(value is not None for key, value in row.items() if key != "inside")
            if "energy_j" not in row:
                assert row["reason"]
                without += 1
        assert "reason" in report["carbon"] or "gco2e" in report["carbon"]
    assert without > 5


def test_energies_have_six_decimals():
    for name in REPORTS + ["series"] + DOCTORS:
        text = (GOLDEN / f"{name}.json").read_text(encoding="utf-8")
        for key, number in re.findall(r'"(\w+_[jw])": ([-0-9.e]+)', text):
            assert re.fullmatch(r"[0-9]+\.[0-9]{6}", number), f"{name}: {key}"


@pytest.mark.parametrize("name", REPORTS + ["series"])
def test_csv_says_the_same_as_json(name):
    value = load_json(f"{name}.json")
    runs = value["runs"] if name == "series" else [value]
    _, rows = load_csv(f"{name}.csv")
    wanted = [(str(i), row) for i, run in enumerate(runs, 1) for row in run["domains"] + [{**run["total"], "name": "total"}]]
    assert len(rows) == len(wanted)
    for row, (run, domain) in zip(rows, wanted):
        assert (row["run"], row["domain"]) == (run, domain["name"])
        for key in ("energy_j", "uncertainty_j", "mean_w", "max_w", "measured_s", "gap_s"):
            assert row[key] == (f"{domain[key]:f}" if key in domain else "")
        for key in ("status", "method", "source", "kind", "reason"):
            assert row[key] == domain.get(key, "")
        assert row["flags"].split() == domain.get("flags", [])


@pytest.mark.parametrize("name", REPORTS + ["series"] + DOCTORS)
def test_csv_columns_are_documented_and_stable(name):
    header, rows = load_csv(f"{name}.csv")
    assert set(header) - documented("format-csv.md") == set()
    assert len(header) == len(set(header))
    assert load_csv(f"{name}.append.csv", header)[1] == rows


def test_csv_columns_in_the_documented_order():
    page = (ROOT / "docs" / "format-csv.md").read_text(encoding="utf-8").split("## `wattle doctor`")[0]
    assert re.findall(r"^\| `([a-z_0-9]+)` \|", page, re.MULTILINE) == load_csv("server.csv")[0]


def test_csv_is_plain():
    for file in GOLDEN.glob("*.csv"):
        data = file.read_bytes()
        assert data.endswith(b"\n") and b"\r" not in data and b"\x1b" not in data
        for row in csv.reader(data.decode("utf-8").splitlines()):
            assert not any(cell[:1] in ("=", "+", "@") for cell in row)
            assert not any(cell.startswith("-") and not re.fullmatch(r"-[0-9.]+", cell) for cell in row)


def figures_of(path):
    """The numbers of a page, without words that were cut (ASCII has a longer mark) or escaped."""
    text = re.sub(r"\\x[0-9a-f]{2}", "", path.read_text(encoding="utf-8"))
    return re.findall(r"[0-9.]+", re.sub(r"\S*(\.\.\.|…)", "", text))


def test_ascii_pages_hold_the_same_figures():
    for file in GOLDEN.glob("*.ascii.txt"):
        if file.name == "query.ascii.txt":  # of wattle query, which has no such pair
            continue
        other = GOLDEN / file.name.replace(".ascii", "")
        numbers = [figures_of(path) for path in (file, other)]
        assert file.read_bytes().isascii() and numbers[0] == numbers[1]
