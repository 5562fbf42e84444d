# SPDX-License-Identifier: MIT
"""wattle calibrate: a recording beside a wattmeter's log, and what later figures make of it."""

import sys

import pytest
from conftest import domain, run_wattle

# Moves a counter by a load that changes, and logs what a meter would show beside it, by the time that really passed.
LOAD = r"""
import os, sys, time
counter, log, seconds, gain, zero = sys.argv[1], sys.argv[2], *map(float, sys.argv[3:])
size, energy = os.stat(counter).st_size, float(open(counter).read())
fd = os.open(counter, os.O_WRONLY)
begin = last = time.time()
with open(log, "w") as lines:
    lines.write("time,watts\n")
    while last - begin < seconds:
        time.sleep(0.02)
        now = time.time()
        watts = (20, 100, 60)[int((now - begin) / 0.7) % 3]
        energy += watts * 1e6 * (now - last)
        os.pwrite(fd, str(int(energy)).ljust(size - 1).encode() + b"\n", 0)
        lines.write(f"{last:.6f},{gain * watts + zero:.3f}\n")
        last = now
    lines.write(f"{last:.6f},{gain * watts + zero:.3f}\n")
"""


@pytest.fixture(name="place")
def place_of_files(tmp_path, machine):
    return Place(tmp_path, machine("nvidia-server"))


class Place:
    def __init__(self, folder, server):
        self.folder, self.server = folder, server
        self.log, self.idle = folder / "meter.csv", folder / "state" / "idle"
        counter = server.zone("intel-rapl:0")
        counter.write_text("1000000".ljust(20) + "\n")

    def load(self, seconds, *options, gain=1.2, zero=-5):
        command = (sys.executable, "-S", "-E", "-c", LOAD, self.server.zone("intel-rapl:0"), self.log, seconds, gain, zero)
        result = run_wattle("run", "--root", self.server.path, "--nvml", "", "-i", "50", "-f", "json", "-o", "-", "--idle-file", self.idle,
                            *options, "--", *map(str, command))
        assert result.code == 0, result
        return result.json

    def calibrate(self, *options, recording="a.wattle"):
        return run_wattle("calibrate", "--idle-file", self.idle, "--wattmeter", self.log, *options, self.folder / recording)

    def truth_j(self):
        rows = [tuple(map(float, line.split(","))) for line in self.log.read_text().splitlines()[1:]]
        return sum(w * (b - a) for (a, w), (b, _) in zip(rows, rows[1:]))


def test_a_part_is_corrected_from_then_on(place):
    before = place.load(9, "--record", place.folder / "a.wattle")
    result = place.calibrate("--of", "package-0")
    assert result.code == 0, result
    gain, zero = float(result.out.split("= ")[1].split()[0]), float(result.out.split("shown power ")[1].split()[0])
    assert gain == pytest.approx(1.2, rel=0.06) and zero == pytest.approx(-5, abs=5)
    assert str(place.idle.with_name("calibration")) in result.out
    after = place.load(5)
    old, new = domain(before, "package-0"), domain(after, "package-0")
    assert "calibrated 20" in new["device"] and "calibrated" not in old["device"]
    assert float(new["uncertainty_j"] / new["energy_j"]) < float(old["uncertainty_j"] / old["energy_j"])
    assert float(new["energy_j"]) == pytest.approx(place.truth_j(), rel=0.06)
    # Every joule is accounted for as before.
    row = next(line for line in after["ledger"] if line["domain"] == "package-0")
    assert row["total_j"] == new["energy_j"]


def test_the_wall_is_a_second_figure(place):
    before = place.load(12, "--record", place.folder / "a.wattle", gain=1.3, zero=40)
    assert "wall" not in before
    result = place.calibrate()
    assert result.code == 0 and "the machine at the wall" in result.out, result
    after = place.load(5, "--record", place.folder / "b.wattle", gain=1.3, zero=40)
    assert run_wattle("report", "-f", "json", place.folder / "b.wattle").json["wall"] == after["wall"]
    assert " at the wall, by calibration" in run_wattle("report", place.folder / "b.wattle").out
    assert float(after["wall"]["energy_j"]) == pytest.approx(place.truth_j(), rel=0.08)
    assert 0 < after["wall"]["uncertainty_j"] < after["wall"]["energy_j"]
    assert "calibrated" not in domain(after, "package-0")["device"]
    total = sum(d["energy_j"] for d in after["domains"] if d["in_total"] and "energy_j" in d)
    assert after["total"]["energy_j"] == total


def test_the_meters_log_is_any_that_import_reads(place):
    """Columns in another order, other units, an energy counter, a table without titles: the same line each time."""
    place.load(9, "--record", place.folder / "a.wattle")
    rows = [tuple(map(float, line.split(","))) for line in place.log.read_text().splitlines()[1:]]
    energy_wh, counter = 0.0, []
    for (t, w), (later, _) in zip(rows, rows[1:] + rows[-1:]):
        counter.append(f"{energy_wh:.9f};{t * 1e6:.0f}")
        energy_wh += w * (later - t) / 3600
    said = []
    for text, options in (
            (place.log.read_text(), ()),
            ("# a plug\n" + "".join(f"{t * 1e6:.0f},{w}\n" for t, w in rows), ()),
            ("mW;when\n" + "".join(f"{w * 1e3};{t:.6f}\n" for t, w in rows), ("--columns", "time=when,power=1:mw")),
            ("energy_wh;time\n" + "\n".join(counter) + "\n", ())):
        place.log.write_text(text)
        result = place.calibrate("--of", "package-0", "--dry-run", *options)
        assert result.code == 0, result
        said.append(float(result.out.split("= ")[1].split()[0]))
    assert said == pytest.approx([said[0]] * len(said), rel=0.005)


def test_nothing_is_kept_by_a_dry_run_or_from_an_even_load(place):
    place.load(4, "--record", place.folder / "a.wattle")
    assert place.calibrate("--of", "package-0", "--dry-run").code == 0
    place.log.write_text("\n".join(f"{line.split(',')[0]},50" for line in place.log.read_text().splitlines()[1:]) + "\n")
    result = place.calibrate("--of", "package-0")
    assert result.code == 1 and "too even" in result.err
    assert not place.idle.with_name("calibration").exists()


@pytest.mark.parametrize("log, options, says", [
    (None, (), "meter.csv: No such file"),
    ("time,watts\nx,y\n", (), "it has no reading; line 2: column 1 is no time"),
    ("time,watts\n", (), "it has no reading"),
    ("", (), "it has no line of titles"),
    ("watts\n5\n", (), "--columns time=NAME,power=NAME"),
    ("#timestamp,#frame_is_ok,#activepow1,#activepow2\n1700000000,1,5,6\n", (), "2 powers: --columns"),
    ("1700000000,5\n1700000001,6\n", (), "too little time in common"),
    ("1700000000,5\n", ("--of", "gpu-7"), "no figure of a domain gpu-7"),
])
def test_bad_input(place, log, options, says):
    place.load(1.2, "--record", place.folder / "a.wattle")
    place.log.unlink()
    if log is not None:
        place.log.write_text(log)
    result = place.calibrate(*options)
    assert result.code == 1 and says in result.err and result.err.count("\n") == 1


def test_both_files_are_wanted():
    assert run_wattle("calibrate", "a.wattle").code == 2
    assert run_wattle("calibrate", "--wattmeter", "x.csv").code == 2


def test_a_foreign_file_is_left_alone(place):
    place.load(4, "--record", place.folder / "a.wattle")
    file = place.idle.with_name("calibration")
    file.parent.mkdir(exist_ok=True)
    file.write_text("my notes\n")
    result = place.calibrate("--of", "package-0")
    assert result.code == 1 and "cannot be kept" in result.err
    assert file.read_text() == "my notes\n"


def test_what_is_imported_goes_by_the_sensor_that_was_measured(tmp_path):
    """A step of 200 W that is shown so much later was so much earlier: only of the card with that UUID."""
    log, sensors = tmp_path / "gpu.csv", tmp_path / "sensors"
    log.write_text("timestamp, index, uuid, power.draw.instant [W]\n" + "".join(
        f"2026/07/03 22:11:{t // 10:02}.{t % 10}00, {gpu}, {uuid}, {100 if t < 20 else 300}.00 W\n" for t in range(40)
        for gpu, uuid in enumerate(("GPU-a", "GPU-b"))))

    def energies(latency_us):
        sensors.write_text(f"wattle-sensors/1\nGPU-a:instant 99987 25148 {latency_us} 2000 1795459321\n")
        result = run_wattle("import", log, "-o", tmp_path / f"{latency_us}.wattle", "--idle-file", tmp_path / "idle")
        assert result.code == 0, result
        domains = run_wattle("report", "-f", "json", tmp_path / f"{latency_us}.wattle").json["domains"]
        assert "sensor measured" in domains[0]["device"] and "device" not in domains[1]
        return [float(domain["energy_j"]) for domain in domains]

    early, late = energies(100000), energies(400000)
    assert late[0] - early[0] == pytest.approx(0.3 * 200, abs=0.5)
    assert late[1] == early[1]
    # The times of a scrape are not the readings' own.
    sensors.write_text("wattle-sensors/1\nGPU-a:draw 99987 25148 100000 2000 1795459321\n")
    log.write_text("".join(f'DCGM_FI_DEV_POWER_USAGE{{gpu="0",UUID="GPU-a"}} 100 {1789000000000 + 1000 * t}\n' for t in range(4)))
    result = run_wattle("import", log, "-o", tmp_path / "scrape.wattle", "--idle-file", tmp_path / "idle")
    assert result.code == 0, result
    (gpu,) = run_wattle("report", "-f", "json", tmp_path / "scrape.wattle").json["domains"]
    assert gpu["energy_j"] > 0 and "sensor measured" not in gpu.get("device", "")


def test_what_is_imported_is_corrected_too(tmp_path):
    """By the UUID in the log, and by nothing else; the log has the readings as they were."""
    watts = [(60, 220, 140)[t // 20 % 3] for t in range(600)]
    stamps = [f"2026/07/03 22:{t // 60 % 60:02}:{t % 60:02}.000" for t in range(600)]
    rows = "".join(f"{stamp}, {gpu}, {uuid}, {shown}.00 W, 30 %\n" for stamp, shown in zip(stamps, watts)
                   for gpu, uuid in enumerate(("GPU-a", "GPU-b")))
    log, meter, idle = tmp_path / "gpu.csv", tmp_path / "slot.csv", tmp_path / "state" / "idle"
    log.write_text("timestamp, index, uuid, power.draw [W], utilization.gpu [%]\n" + rows)
    meter.write_text("time,watts\n" + "".join(f"{stamp[:-4].replace('/', '-')},{1.1 * shown + 7:.2f}\n" for stamp, shown in zip(stamps, watts)))

    def imported(name, *options):
        result = run_wattle("import", log, "-o", tmp_path / name, "--time-zone", "UTC", *options)
        assert result.code == 0, result
        return result.err, run_wattle("report", "-f", "json", tmp_path / name).json

    said, before = imported("a.wattle", "--idle-file", idle)
    assert "calibrated" not in said
    result = run_wattle("calibrate", "--idle-file", idle, "--wattmeter", meter, "--of", "gpu-0", tmp_path / "a.wattle", env={"TZ": "UTC"})
    assert result.code == 0 and "1.1000 x shown power +7.00 W" in result.out, result
    # What has no UUID is not known by the machine that imports it.
    kept = idle.with_name("calibration")
    kept.write_text(kept.read_text() + kept.read_text().splitlines()[1].replace("GPU-a:gpu", f"{0:016x}:gpu-1") + "\n")
    said, after = imported("b.wattle", "--idle-file", idle)
    assert "gpu-0 is corrected: calibrated 2026-07-03" in said and "gpu-1" not in said
    old, new = domain(before, "gpu-0"), domain(after, "gpu-0")
    assert float(new["energy_j"]) == pytest.approx(1.1 * float(old["energy_j"]) + 7 * 599, rel=1e-4)
    assert float(new["uncertainty_j"] / new["energy_j"]) < float(old["uncertainty_j"] / old["energy_j"]) / 2
    assert "calibrated 2026-07-03" in new["device"]
    assert domain(after, "gpu-1") == domain(before, "gpu-1")
    assert imported("c.wattle", "--idle-file", "")[1]["domains"] == before["domains"]
    # A calibration of what is corrected would take the place of the one that corrected it.
    was = kept.read_text()
    result = run_wattle("calibrate", "--idle-file", idle, "--wattmeter", meter, "--of", "gpu-0", tmp_path / "b.wattle", env={"TZ": "UTC"})
    assert result.code == 1 and "gpu-0 is corrected already (calibrated 2026-07-03)" in result.complaint() and kept.read_text() == was
