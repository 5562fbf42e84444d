# SPDX-License-Identifier: MIT
"""The live plot: what it samples, what it draws, and that nobody waits for it."""

import asyncio
import math
import time

import pytest
import wattle
from conftest import REPO, Mover

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
J = 1_000_000

pytestmark = pytest.mark.alone  # it draws at a rate


class Moving(Mover):
    """Adds a joule to every counter each 20 ms: 50 W."""

    def run(self):
        begin, turn = time.monotonic(), 0
        while not self.end.is_set():
            turn += 1
            time.sleep(max(0, begin + turn * 0.02 - time.monotonic()))
            self.add(J)


def lines(live):
    return {line.get_color(): line.get_xydata() for line in live.figure.axes[0].lines}


def test_power_moves_along(machine, meter):
    """A counter that grows by a joule every 20 ms is a line at 50 W, and at the last the figure beside it says so."""
    live = wattle.live(interval_s=0.05, redraw_s=0.1, span_s=1, domains="package-0", meter=meter)

    async def main():
        task = asyncio.create_task(live.run())
        await asyncio.sleep(1.6)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    live.figure.canvas.draw()
    with Moving(machine):
        asyncio.run(main())
    ((_, at),) = lines(live).items()
    seconds, watts = at[:, 0], at[:, 1]
    assert len(watts) >= 15 and all(-1.3 <= s <= 0 for s in seconds)
    assert sorted(watts)[len(watts) // 2] == pytest.approx(50, rel=0.3)
    times = [sample.t_mono_s for sample in live.samples]
    assert 15 <= len(times) <= 34
    begins = [t - 0.05 * round((t - times[0]) / 0.05) for t in times]
    assert min(begins[:14]) == pytest.approx(min(begins[14:]), abs=0.04)  # no drift
    axes = live.figure.axes[0]
    assert axes.get_ylim()[0] == 0 and axes.get_ylim()[1] >= max(watts)
    assert meter.open_windows == ()


def test_unknown_power_is_a_gap(machine, meter):
    live = wattle.live(interval_s=0.05, redraw_s=0.1, meter=meter)
    live.figure.canvas.draw()

    async def main(moving):
        task = asyncio.create_task(live.run())
        await asyncio.sleep(0.4)
        moving.zones = moving.zones[:3]
        await asyncio.sleep(0.03)
        machine.counter("intel-rapl:1").write_text("rubbish\n")
        await asyncio.sleep(0.4)
        live.stop()
        await task

    with Moving(machine) as moving:
        asyncio.run(main(moving))
    watts = [sample.power_w for sample in live.samples]
    assert max(power["package-1"] or 0 for power in watts[:8]) > 5
    assert watts[-1]["package-1"] is None and watts[-1]["total"] is None
    assert watts[-1]["package-0"] is not None
    series = list(lines(live).values())
    assert len(series) == 5  # the parts, and their sum
    gaps = [sum(math.isnan(watts) for watts in at[:, 1]) for at in series]
    assert gaps[0] <= 2 and 5 <= gaps[1] <= 12 and gaps[4] >= 5
    frame = live.frame()
    assert list(frame) == ["duration_s", "package-0", "package-1", "dram-0", "dram-1", "total"]
    assert len(frame) == len(live.samples) and frame["package-1"].isna().any() and str(frame.index.tz) == "UTC"


def test_a_late_picture_loses_no_sample(meter):
    live = wattle.live(interval_s=0.05, redraw_s=0.05, meter=meter)

    async def main():
        task = asyncio.create_task(live.run())
        await asyncio.sleep(0.3)
        before = len(live.samples)
        time.sleep(0.6)  # noqa: ASYNC251: a user's task that blocks the loop
        assert len(live.samples) - before >= 9
        live.stop()
        await task

    asyncio.run(main())


def test_samples_are_bounded_and_the_axis_keeps_still(meter):
    live = wattle.live(interval_s=0.02, redraw_s=0.02, span_s=0.1, keep_s=0.2, meter=meter)
    drawn = []
    live.figure.canvas.mpl_connect("draw_event", drawn.append)
    live.show(1)
    live.show(0.2)  # it can go on
    assert len(live.samples) == 10
    assert len(drawn) == 1


def test_a_picture_has_the_line_at_once_and_when_saved(machine, meter, tmp_path):
    live = wattle.live(interval_s=0.05, domains=["package-0"], meter=meter)

    with Moving(machine):
        live.show(1)
    blue = [0, 0x72, 0xB2]
    import numpy

    pixels = numpy.asarray(live.figure.canvas.buffer_rgba())[:, : int(0.7 * live.figure.bbox.width), :3]
    assert (pixels == blue).all(axis=2).sum() > 20
    live.figure.savefig(tmp_path / "live.png")
    saved = matplotlib.image.imread(tmp_path / "live.png")[:, : int(0.7 * live.figure.bbox.width), :3]
    assert (numpy.round(saved * 255) == blue).all(axis=2).sum() > 20


def test_its_end(meter):
    live = wattle.live(meter=meter)

    async def main():
        task = asyncio.create_task(live.run())
        await asyncio.sleep(0.15)
        with pytest.raises(RuntimeError, match="runs already"):
            await live.run()
        meter.close()
        await asyncio.wait_for(task, 5)

    asyncio.run(main())


def test_wrong_words(meter):
    with pytest.raises(ValueError, match="no domain 'gpu-9'"):
        wattle.live(domains=["gpu-9"], meter=meter)
    with pytest.raises(ValueError, match="above 0"):
        wattle.live(interval_s=0, meter=meter)


def test_a_machine_without_sensors(tmp_path):
    with pytest.warns(wattle.WattleWarning):
        meter = wattle.Meter(root=tmp_path, nvml="", attribution=False)
    with meter:
        live = wattle.live(meter=meter)
        live.show(0.3)
        (said,) = live.figure.axes[0].texts
        assert "no power is known here" in said.get_text()
        assert lines(live) == {}


def test_a_slow_driver_keeps_nobody_waiting(fake_nvml, machine, python, tmp_path):
    script = tmp_path / "slow.nvml"
    slow = (REPO / "tests" / "fake" / "scripts" / "slow.nvml").read_text()
    script.write_text(slow.replace(" 30\n", " 300\n"))
    program = """
import asyncio, sys, time, wattle
async def main():
    with wattle.Meter(root=sys.argv[1], nvml=sys.argv[2], attribution=False) as meter:
        live = wattle.live(meter=meter)
        live.figure.canvas.draw()
        task = asyncio.create_task(live.run())
        await asyncio.sleep(3)
        waits = []
        for _ in range(100):
            begin = time.monotonic()
            await asyncio.sleep(0.01)
            waits.append(time.monotonic() - begin)
        task.cancel()
        await asyncio.wait([task])
        gpu = live.figure.axes[0].lines[-2].get_ydata()
        print(sorted(waits)[90], min(gpu[gpu == gpu]), len(live.samples) - sum(gpu == gpu))
asyncio.run(main())
"""
    wait, watts, unknown = python(program, machine.path, fake_nvml(script), MPLBACKEND="Agg").stdout.split()
    assert float(wait) < 0.1 and float(watts) == pytest.approx(40, rel=0.5) and int(unknown) <= 10


def test_a_total_over_a_gap_is_of_its_whole_time(machine, meter):
    """The sum is not known while a part is not; after it, power is the mean of all of that time, not of a moment."""
    sampler = meter.sampler(["package-0", "package-1", "total"])
    seen = []
    for turn in range(8):
        time.sleep(0.05)
        machine.add("intel-rapl:0", J)
        if not 2 <= turn < 5:  # a counter that stands still may be broken
            machine.add("intel-rapl:1", J)
        seen.append(sampler.read())
    watts = [sample.power_w["total"] for sample in seen]
    assert [power is None for power in watts] == [False, False, True, True, True, False, False, False]
    assert watts[5] == pytest.approx(5 * 1.0 / seen[5].mean_over_s["total"], rel=0.01)
    assert seen[5].mean_over_s["total"] == pytest.approx(sum(sample.duration_s for sample in seen[2:6]), rel=0.05)
    assert sum(sample.energy_j["total"] for sample in seen) == pytest.approx(13)
