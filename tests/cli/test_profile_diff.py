# SPDX-License-Identifier: MIT
"""wattle profile diff: two profiles side by side."""

import re

import pytest

from conftest import parse_csv, parse_json, run_wattle
from test_profile import built_program  # noqa: F401 (a fixture)


@pytest.fixture(name="pair", scope="session")
def taken_once(program, tmp_path_factory):
    """600 ms in heavy, light and innermost, and 200 ms in heavy and recursive."""
    folder = tmp_path_factory.mktemp("pair")
    for name, word in (("a", "two"), ("b", "deep")):
        result = run_wattle("profile", "-q", "-o", folder / f"{name}.wprof", "--", program, word)
        assert result.code == 0, result
    return folder / "a.wprof", folder / "b.wprof"


def diff(*words):
    result = run_wattle("profile", "diff", "-f", "json", *words)
    assert result.code == 0 and result.err == "", result
    found = parse_json(result.out)
    return found, {row["function"]: row for row in found["functions"]}


def test_seconds_and_joules(pair):
    found, functions = diff(*pair)
    light = functions["light"]
    assert float(light["a_cpu_s"]) == pytest.approx(0.15, abs=0.03) and light["b_cpu_s"] == 0
    assert light["cpu_change_s"] == -light["a_cpu_s"] and light["cpu_significant"]
    assert functions["recursive"]["a_cpu_s"] == 0 and functions["recursive"]["cpu_change_s"] > 0
    assert float(found["total"]["cpu_change_s"]) == pytest.approx(-0.4, abs=0.05) and found["total"]["cpu_significant"]
    for figure in ("own_energy_change_j", "own_cpu_change_s"):
        assert sum(row[figure] for row in found["functions"]) == found["total"][figure]
    changes = [abs(row["own_energy_change_j"]) for row in found["functions"]]
    assert changes == sorted(changes, reverse=True)


def test_nothing_differs_from_itself(pair):
    found, functions = diff(pair[0], pair[0])
    assert found["total"]["own_energy_change_j"] == 0 and not any(row["cpu_significant"] for row in functions.values())


def test_several_runs(pair):
    found, _ = diff(pair[0], pair[0], "--", pair[1], pair[1], pair[1])
    assert (found["a_runs"], found["b_runs"]) == (2, 3)
    assert float(found["total"]["cpu_change_s"]) == pytest.approx(-0.4, abs=0.05)


def test_text_and_csv(pair, tmp_path):
    text = run_wattle("profile", "diff", *pair)
    assert text.code == 0 and text.out.startswith("A: 1 run of ") and " two\n" in text.out
    assert re.search(r"-0\.\d+\*  all of the program$", text.out, re.M), text.out
    run_wattle("profile", "diff", *pair, "-o", tmp_path / "d.csv")
    table = parse_csv((tmp_path / "d.csv").read_text())
    assert {"light", "recursive"} <= {row["function"] for row in table}


@pytest.mark.parametrize("words, says", [
    ((), "two files"), (("a",), "two files"), (("a", "b", "c"), "two files"), (("a", "--"), "two files"), (("--", "a", "b"), "two files"),
    (("none.wprof", "b"), "No such file"), (("a", "b", "-f", "svg"), "text, json or csv"), (("-o", "d.html", "a", "b"), "text, json or csv"),
])
def test_what_diff_does_not_take(words, says, tmp_path):
    result = run_wattle("profile", "diff", *words, cwd=tmp_path)
    assert result.code == 125 and says in result.complaint() and list(tmp_path.iterdir()) == []
