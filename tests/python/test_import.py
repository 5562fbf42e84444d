# SPDX-License-Identifier: MIT
"""wattle import and wattle export against the packages whose files they read and write, and Parquet.

What is held against the real packages was written with codecarbon 3.3.2, zeus 0.16.0, and AIPowerMeter 0c8d271 and fc099d1.
"""

import importlib.util
import json
import os
import subprocess
import sys

import pytest
import wattle
from conftest import BUILD, REPO

pd = pytest.importorskip("pandas")
WATTLE = os.environ.get("WATTLE") or str(BUILD / "wattle")
RECORDED = REPO / "tests" / "fixtures" / "recorded" / "busy-thread.wattle"
KWH = 3_600_000
ZEUS = """
import json, sys, time
from zeus.monitor import ZeusMonitor
monitor = ZeusMonitor(log_file=sys.argv[1], cpu_indices=[])
monitor.begin_window("epoch", sync_execution=False)
monitor.begin_window("step", sync_execution=False)
time.sleep(0.5)
step = monitor.end_window("step", sync_execution=False)
time.sleep(0.2)
epoch = monitor.end_window("epoch", sync_execution=False)
print(json.dumps({"step": step.gpu_energy, "epoch": epoch.gpu_energy}))
"""


def command(*args, cwd):
    done = subprocess.run(
        [WATTLE, *args], capture_output=True, text=True, timeout=60, cwd=cwd, env={**os.environ, "TZ": "UTC"}, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout



@pytest.mark.skipif(not importlib.util.find_spec("codecarbon"), reason="codecarbon is not installed")
def test_rows_that_codecarbon_itself_wrote(tmp_path):
    from codecarbon.output_methods.emissions_data import EmissionsData
    from codecarbon.output_methods.file import FileOutput

    def row(second, name, cpu, gpu, ram):
        return EmissionsData(
            timestamp=f"2026-03-01T12:00:{second}", project_name=name, run_id=name, experiment_id="e", duration=10.0, emissions=0.1,
            emissions_rate=0.01, cpu_power=1, gpu_power=1, ram_power=1, cpu_energy=cpu, gpu_energy=gpu, ram_energy=ram,
            energy_consumed=cpu + gpu + ram, water_consumed=0, country_name="France", country_iso_code="FRA", region="", cloud_provider="",
            cloud_region="", os="Linux", python_version="3", codecarbon_version="3.3.2", cpu_count=8, cpu_model='a "b", c', gpu_count=1,
            gpu_model="1 x T4", longitude=0, latitude=0, ram_total_size=64, tracking_mode="machine", pue=1.25,
        )  # fmt: skip

    output = FileOutput("emissions.csv", str(tmp_path))
    output.out(row(10, "train", 0.001, 0.002, 0.0005), None)
    output.out(row(30, "eval", 0.0004, 0.0002, 0.0001), None)
    command("import", "emissions.csv", "-o", "a.wattle", cwd=tmp_path)
    found = wattle.read(tmp_path / "a.wattle")
    frame = found.windows()
    energies = frame[frame["domain"] != "total"].groupby(["window", "domain"], observed=True)["energy_j"].sum()
    assert energies["train", "gpu-0"] == pytest.approx(0.002 * KWH / 1.25, abs=1e-5)
    assert energies["eval", "package-0"] == pytest.approx(0.0004 * KWH / 1.25, abs=1e-5)
    assert energies["eval", "dram-0"] == pytest.approx(0.0001 * KWH / 1.25, abs=1e-5)

    back = command("export", "a.wattle", "--to", "codecarbon", "--pue", "1.25", "--location", "FRA", "-o", "back.csv", cwd=tmp_path)
    assert back == ""
    ours, theirs = pd.read_csv(tmp_path / "back.csv"), pd.read_csv(tmp_path / "emissions.csv")
    assert list(ours["project_name"]) == list(theirs["project_name"]) and list(ours["timestamp"]) == list(theirs["timestamp"])
    for column in ("duration", "cpu_energy", "gpu_energy", "ram_energy", "energy_consumed", "pue"):
        assert ours[column].to_numpy() == pytest.approx(theirs[column].to_numpy(), rel=1e-6), column
    assert set(ours.columns) <= set(theirs.columns)


@pytest.mark.skipif(not importlib.util.find_spec("zeus"), reason="zeus is not installed")
def test_a_log_that_zeus_itself_wrote(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(ZEUS)
    fake = BUILD / "tests" / "fake"
    done = subprocess.run(
        [sys.executable, script, "log.csv"], capture_output=True, text=True, timeout=120, cwd=tmp_path, check=False,
        env={**os.environ, "LD_LIBRARY_PATH": str(fake), "WATTLE_FAKE_NVML": str(REPO / "tests" / "fake" / "scripts" / "two.nvml")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout.splitlines()[-1])
    command("import", "log.csv", "-o", "a.wattle", cwd=tmp_path)
    frame = wattle.read(tmp_path / "a.wattle").windows()
    for name, energies in measured.items():
        for gpu, energy_j in energies.items():
            row = frame[(frame["window"] == name) & (frame["domain"] == f"gpu-{gpu}")]
            assert float(row["energy_j"].iloc[0]) == pytest.approx(energy_j, abs=1e-3), (name, gpu)
    again = command("export", "a.wattle", "--to", "zeus", cwd=tmp_path).splitlines()
    assert again[0] == (tmp_path / "log.csv").read_text().splitlines()[0] and len(again) == 3


def test_parquet(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    recording = wattle.read(RECORDED)
    for what in ("energy", "power", "windows", "processes"):
        path = tmp_path / f"{what}.parquet"
        recording.to_parquet(path, interval_s=0.5, what=what)
        frame = getattr(recording, what)(*([0.5] if what in ("energy", "power") else []))
        assert parquet.read_table(path).num_rows == len(frame) > 0
        assert list(parquet.read_table(path).column_names) == list(frame.columns)


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'wattle\[parquet\]'"):
        wattle.read(RECORDED).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="energy, power, windows or processes"):
        wattle.read(RECORDED).to_parquet(tmp_path / "a.parquet", what="gpus")
