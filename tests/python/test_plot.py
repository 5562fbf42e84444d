# SPDX-License-Identifier: MIT
"""Pictures of recordings and windows: what stands in them is what was measured."""

import math
import time

import pytest
import wattle
from conftest import REPO

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
RECORDED = REPO / "tests" / "fixtures" / "recorded"


def names(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def words(axes):
    return [text.get_text() for text in axes.texts]


def widths(axes):
    return [bar.get_width() for bar in axes.patches]


@pytest.fixture
def recorded(machine, tmp_path):
    """A second with windows; the second package is not known for a part of it."""
    path = tmp_path / "some.wattle"
    counter = machine.counter("intel-rapl:1")
    with wattle.Meter(root=machine.path, nvml="", attribution=False, interval_s=0) as meter, wattle.record(path, meter):
        for turn in range(50):
            with meter.window(f"turn {turn}" if turn < 2 else "rest"):
                machine.add("intel-rapl:0", 10_000_000)
                if turn == 20:
                    counter.write_text("rubbish\n")
                elif turn == 40:
                    counter.write_text("0\n")
                elif not 20 < turn < 40:
                    machine.add("intel-rapl:1", 1_000_000)
                for zone in ("intel-rapl:0:0", "intel-rapl:1:0"):
                    machine.add(zone, 1_000)
                time.sleep(0.02)
    return path


def test_power_of_a_recording():
    axes = wattle.plot(RECORDED / "busy-thread.wattle")
    assert axes.get_title("left") == "busy-thread.wattle: 2128 ± 165 J in 12 s"
    labels = [text.get_text().split()[0] for text in axes.get_legend().get_texts()]
    assert labels == ["package-0", "package-1", "dram-0", "dram-1", "total"]
    total = axes.lines[4].get_ydata()
    frame = wattle.read(RECORDED / "busy-thread.wattle").power(0.5)
    assert max(total) == pytest.approx(frame[frame.domain == "total"].mean_w.max(), rel=0.05)
    parts = sum(line.get_ydata() for line in axes.lines[:4])
    assert parts == pytest.approx(total, rel=1e-3)  # their readings are not of the very same moment
    assert "dram-0 54%" in axes.get_xlabel()  # as `wattle plot` says it
    assert len(axes.collections) == 3  # bands of the others
    assert axes.get_ylim()[0] == 0 and axes.get_ylabel() == "Power (W)" and "2026-11-21" in axes.get_xlabel()


def test_chosen_domains_and_axes():
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    recording = wattle.read(RECORDED / "server.wattle")
    assert wattle.plot(recording, ax, domains=["gpu-0"]) is ax
    assert len(ax.lines) == 1
    with pytest.raises(ValueError, match="no domain 'gpu-1': there are package-0"):
        wattle.plot(recording, domains=["gpu-1"])
    with pytest.raises(ValueError, match="kind 'colour' cannot be drawn"):
        wattle.plot(recording, kind="colour")


def test_energy_and_processes_as_bars():
    path = RECORDED / "busy-thread.wattle"
    axes = wattle.plot(path, kind="energy")
    assert names(axes) == ["package-0", "package-1", "dram-0", "dram-1", "total"]
    assert sum(widths(axes)[:4]) == pytest.approx(widths(axes)[4])
    assert "2128 ± 165 J" in words(axes)
    axes = wattle.plot(path, kind="processes", top=2)
    assert names(axes) == ["python3 (4711)", "unseen", "3 others"]
    assert words(axes)[0] == "226 ± 22 J" and "above idle" in axes.get_xlabel()
    with pytest.raises(wattle.Error, match="tells of no processes"):
        wattle.plot(RECORDED / "server.wattle", kind="processes")
    with pytest.raises(wattle.Error, match="there are no windows"):
        wattle.plot(path, kind="windows")


def test_gaps_and_windows_of_a_recording(recorded):
    axes = wattle.plot(recorded)
    first, second = (line.get_ydata() for line in axes.lines[:2])
    assert not any(map(math.isnan, first[1:])) and 5 < sum(map(math.isnan, second)) < len(second) - 5
    assert any(patch.get_hatch() for patch in axes.patches)
    assert words(axes)[:3] == ["turn 0", "turn 1", "rest"]
    axes = wattle.plot(recorded, kind="windows")
    assert names(axes)[:3] == ["turn 0", "turn 1", "rest"] and len(axes.patches) == 50


def test_windows(machine, meter):
    made = []
    for joules in (3, 5):
        with meter.window(f"step {joules}") as window:
            for zone in ("intel-rapl:1", "intel-rapl:0:0", "intel-rapl:1:0"):
                machine.add(zone, 1)  # one that stands still for long is not known
            machine.add("intel-rapl:0", joules * 1_000_000 - 3)
        made.append(window)
    axes = wattle.plot(made)
    assert names(axes) == ["step 3", "step 5"] and widths(axes) == pytest.approx([3, 5])
    axes = wattle.plot(made[1])
    assert names(axes) == ["package-0", "package-1", "dram-0", "dram-1", "total"] and widths(axes)[0] == pytest.approx(5)
    axes = wattle.plot(made, domains=["package-1", "total"])
    assert names(axes) == ["step 3, package-1", "step 3, total", "step 5, package-1", "step 5, total"]
    with pytest.raises(ValueError, match="'energy'"):
        wattle.plot(made, kind="power")
    with pytest.raises(ValueError, match="no domain 'gpu-0'"):
        wattle.plot(made[0], domains=["gpu-0"])


@pytest.mark.parametrize("name, labels", [
    ("vm-nothing", ["package-0 (modelled)", "dram-0 (modelled)", "total (modelled)"]),
    ("no dram", ["package-0", "package-1", "dram-0 (modelled)", "total (partly modelled)"]),
    ("", ["package-0", "package-1", "dram-0", "dram-1", "total"]),
])
@pytest.mark.filterwarnings("ignore::wattle.WattleWarning")
def test_what_is_modelled_says_so(machine, root, tmp_path, name, labels):
    zones = ["intel-rapl:0", "intel-rapl:1", "intel-rapl:0:0", "intel-rapl:1:0"]
    for zone in zones[2:] if name == "no dram" else ():
        machine.counter(zone).unlink()
    where, path = root(name) if name == "vm-nothing" else machine.path, tmp_path / "some.wattle"
    with wattle.Meter(root=where, nvml="", attribution=False, interval_s=0.01) as meter, wattle.record(path, meter):
        with meter.window("step") as window:
            for _ in range(10):
                time.sleep(0.02)
                for zone in zones:
                    if machine.counter(zone).exists():
                        machine.add(zone, 1_000_000)
        live = [text.get_text() for text in wattle.live(meter=meter).figure.axes[0].texts]
    assert [text for text in live if text.strip("━")] == labels
    assert names(wattle.plot(window)) == names(wattle.plot(path, kind="energy")) == labels
    assert [text.get_text().split("  ")[0] for text in wattle.plot(path).get_legend().get_texts()] == labels
    assert names(wattle.plot([window, window])) == [labels[-1].replace("total", "step")] * 2
    matplotlib.pyplot.close("all")


def test_nothing_is_known(tmp_path):
    with pytest.warns(wattle.WattleWarning):
        meter = wattle.Meter(root=tmp_path, nvml="", attribution=False)
    with meter, meter.window("step") as window:
        pass
    axes = wattle.plot(window)
    assert words(axes) == ["not known"] and widths(axes) == []
    with pytest.raises(wattle.Error):
        wattle.plot(tmp_path / "missing.wattle")
    with pytest.raises(wattle.Error):
        wattle.plot([])
