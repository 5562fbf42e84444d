# SPDX-License-Identifier: MIT
"""Files of `wattle profile` in the tools that read them, where these are Python's."""

from __future__ import annotations

import os
import pstats
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]


@pytest.fixture(name="write", scope="module")
def writer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("profiles")
    wattle = os.environ.get("WATTLE")
    if not wattle or not shutil.which("gcc"):
        pytest.skip("no command, or no compiler")
    if subprocess.run([wattle, "profile", "--", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no profile can be taken here")
    subprocess.run(["gcc", "-O2", "-g", "-pthread", "-o", folder / "profiled", REPO / "tests" / "cli" / "profiled.c"], check=True)

    def write(name):
        subprocess.run([wattle, "profile", "-q", "-o", folder / name, "--", folder / "profiled", "two"], check=True, capture_output=True)
        return folder / name
    return write


def functions(path):
    return {key[2]: row for key, row in pstats.Stats(str(path)).stats.items()}


def test_pstats(write):
    path = write("p.pstats")
    energy, time = functions(path), functions(path.with_suffix(".time.pstats"))
    total = time["TOTAL (values are CPU seconds)"]
    assert total[3] == pytest.approx(0.6, abs=0.04)
    assert time["heavy"][3] == pytest.approx(0.45, abs=0.03)
    assert sum(row[2] for row in time.values()) == pytest.approx(total[3])
    assert sum(row[2] for row in energy.values()) == pytest.approx(energy["TOTAL (values are joules)"][3])
    assert [key[2] for key in time["heavy"][4]] == ["main"]


def test_snakeviz(write):
    stats = pytest.importorskip("snakeviz.stats")
    loaded = pstats.Stats(str(write("p.pstats")))
    assert any("TOTAL (values are joules)" in name for name in stats.json_stats(loaded))
    assert any("heavy" in str(row) for row in stats.table_rows(loaded))


@pytest.mark.parametrize("kind,name", [("pstats", "p.pstats"), ("callgrind", "p.callgrind")])
def test_gprof2dot(write, kind, name):
    pytest.importorskip("gprof2dot")
    done = subprocess.run([sys.executable, "-m", "gprof2dot", "-f", kind, write(name)], check=True, capture_output=True, text=True)
    assert "heavy" in done.stdout and " -> " in done.stdout


def test_pyinstrument(write):
    pytest.importorskip("pyinstrument")
    done = subprocess.run([sys.executable, "-m", "pyinstrument", "--load", write("p.pyisession")], check=True, capture_output=True, text=True)
    assert "heavy" in done.stdout and "joules" in done.stdout
