# SPDX-License-Identifier: MIT
"""Other meters on the simulated machine: what they say gets to the scorer, and is held against the truth.

The tools are not needed: a meter that just reads the counters takes their place.
"""

import importlib.util
import os
import subprocess
import sys

import pytest

from conftest import REPO
from test_sim import TIMEOUT, TRUTH, score, sim_path

PEERS = REPO / "tests" / "sim" / "peers"
BENCH = REPO / "bench" / "bench_peers.py"
sys.path.insert(0, str(PEERS))

import meters  # noqa: E402
from measure import Claim, Command  # noqa: E402

REPORT = ('{"host":{"consumption":100e6,"timestamp":10.0},"consumers":[{"pid":7,"consumption":99e6}]}'
          '{"host":{"consumption":50e6,"timestamp":12.0},"consumers":[{"pid":7,"consumption":3e6},{"pid":8,"consumption":1e6}]}'
          '{"host":{"consumption":60e6,"timestamp":13.0},"consumers":[{"pid":7,"consumption":4e6}]}'
          '{"host":{"consumption":60e6,"time')


# ---- What a tool says, as the scorer reads it ----

def test_domains_in_a_window(tmp_path):
    claim = Claim()
    claim.start_ns, claim.end_ns = 1_000_000_000, 6_000_000_000
    claim.domains(["package-0"], 420)
    claim.domains(["package-0", "dram-0"], 1)
    claim.process(100, 190)
    claim.write(tmp_path / "tool.csv")
    done, rows = score(tmp_path, "--csv", tmp_path / "tool.csv")
    assert done.returncode == 0
    assert rows["package-0"] == ["-", "400.000", "420.000", "+5.00"]
    assert rows["package-0+dram-0"] == ["-", "-", "1.000", "-"]  # the truth has no such domain
    assert rows["one"][-1] == "-5.00"


def test_command_as_a_whole(tmp_path):
    claim = Claim()
    claim.command(375)
    claim.write(tmp_path / "tool.csv")
    _, rows = score(tmp_path, "--csv", tmp_path / "tool.csv", truth={**TRUTH, "by_tool": True})
    assert rows["the command"] == ["7.500", "250.000", "375.000", "+50.00"]
    assert rows["all workers"] == ["7.500", "250.000", "-", "-"]  # nothing was said of any


def test_window_outside_of_the_trace(tmp_path):
    (tmp_path / "tool.csv").write_text("@window,0,6000000000\n@domains,package-0,420\n")
    _, rows = score(tmp_path, "--csv", tmp_path / "tool.csv")
    assert rows["package-0"] == ["-", "-", "420.000", "-"]


@pytest.mark.parametrize("line", ["@command", "@command,much", "@window,1", "@domains,package-0", "@else,1"])
def test_bad_lines(tmp_path, line):
    (tmp_path / "tool.csv").write_text(f"#what,joules\n{line}\n")
    done, _ = score(tmp_path, "--csv", tmp_path / "tool.csv")
    assert done.returncode == 1 and "tool.csv:2: " in done.stderr


def test_scaphandre_reports():
    """Each holds since the one before; the first is before the window, the last is cut off."""
    claim = Claim()
    meters.scaphandre_claims(claim, REPORT)
    assert (claim.start_ns, claim.end_ns) == (10_000_000_000, 13_000_000_000)
    assert claim.lines[0].endswith(",160.000000") and claim.lines[1:] == ["7,10.000000", "8,2.000000"]


def test_command_is_watched():
    seen = []
    command = Command([sys.executable, "-c", "import time; time.sleep(0.5); raise SystemExit(3)"])
    command(seen.append, 0.01)
    assert command.status == 3 and len(set(seen)) == 1


# ---- All of it ----

def bench(tmp_path, *names, scenario="quick"):
    """The rows that the bench prints, by tool, with this Python for that of the tools."""
    if not sim_path().exists():
        pytest.skip("no simulated machine was built")
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    python = tmp_path / "venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    done = subprocess.run([sys.executable, "-B", BENCH, *names], capture_output=True, text=True, timeout=TIMEOUT,
                          env={**os.environ, "PEERS_VENV": str(tmp_path / "venv"), "SCENARIOS": scenario})
    if "no mount namespaces" in done.stderr:
        pytest.skip("no mount namespaces here")
    assert done.returncode == 0, done.stderr
    return done.stdout, {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line}


def test_bench(tmp_path):
    """A reader of counters is right. Its figures are of the machine only."""
    _, rows = bench(tmp_path, "counters")
    version, cpu, percent, dram, *rest = rows["counters"]
    assert (version, percent, rest) == ("-", "%", ["%", "-", "-", "-", "-"])
    assert abs(float(cpu)) < 10 and abs(float(dram)) < 10  # this machine may be busy when it begins


def test_bench_without_the_tool(tmp_path):
    if importlib.util.find_spec("zeus"):
        pytest.skip("zeus is installed")
    out, rows = bench(tmp_path, "zeus", "counters")
    assert "not scored: zeus: zeus: ModuleNotFoundError: No module named 'zeus'" in out
    assert "zeus" not in rows and "counters" in rows


@pytest.mark.parametrize("name, module", [("codecarbon", "codecarbon"), ("zeus", "zeus"), ("pyrapl", "pyRAPL")])
def test_bench_with_a_tool(tmp_path, name, module):
    if not importlib.util.find_spec(module):
        pytest.skip(f"{module} is not installed")
    _, rows = bench(tmp_path, name)
    assert abs(float(rows[name][1])) < 50


def test_unknown_meter():
    done = subprocess.run([sys.executable, "-B", BENCH, "nothing"], capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if "no" in done.stdout and "build all" in done.stdout:
        pytest.skip("no simulated machine was built")
    assert done.returncode == 1 and "no such meter: nothing" in done.stderr


def test_meters_name_their_versions():
    """Those of PyPI that are measured are pinned; where there is a choice, the page says what was measured."""
    for name, meter in meters.METERS.items():
        own = [package for package in meter.requires if "==" in package]
        assert own or name in ("counters", "aipowermeter", "scaphandre"), name
        assert meter.about <= {"machine", "gpu", "process"} and meter.about
