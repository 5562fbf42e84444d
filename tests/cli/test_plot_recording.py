# SPDX-License-Identifier: MIT
"""wattle plot FILE of recordings: every picture read back as SVG, what its curves say, and what cannot be drawn."""

import json
import random
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import time
import zlib
from datetime import datetime, timedelta, timezone

import pytest

from conftest import REPO, command_path, finish, mover, run_wattle, start_wattle, wait_for
from test_plot import BLUE, INK, SVG, Picture, png_size
from test_record import Processes

TAPES = REPO / "tests" / "fixtures" / "tapes"
# When the machine of busy-thread.tape, which is busy from 5 s to 11 s, is put to sleep, and for how long.
SLEEP_AT, SLEPT_S = 7.05, 30
ORANGE = "rgb(90.196078%,62.352941%,0%)"
HATCH = "rgb(95.686275%,95.686275%,95.686275%)"


@pytest.fixture(scope="module", autouse=True)
def built_with_all():
    for words in (("plot", "nothing.json", "-o", "nothing.svg"), ("report", "nothing.wattle")):
        err = run_wattle(*words).err
        if "built without" in err:
            pytest.skip(err.strip())


class Place:
    """Recordings of a module, with state and sockets of their own."""

    def __init__(self, path, sockets):
        self.path = path
        self.env = {"XDG_RUNTIME_DIR": str(sockets), "XDG_STATE_HOME": str(path / "state"), "TZ": "UTC"}

    def run(self, *args, env=None, **options):
        return run_wattle(*args, env={**self.env, **(env or {})}, cwd=self.path, **options)

    def record(self, name, *args, **options):
        result = self.run("record", "-q", "-o", name, *args, **options)
        assert result.code == 0, result
        return name

    def plot(self, *args, **options):
        result = self.run("plot", *args, **options)
        assert result.code == 0 and result.err == "", result
        return Picture(result.out_bytes)

    def refused(self, *args, says, code=1):
        result = self.run("plot", *args)
        assert result.code == code and result.out_bytes == b"", result
        line = result.complaint()
        assert says in line, line
        return line


def shifted(name, place, change):
    """busy-thread.tape with other clocks: change(since the start, what the three clocks say)."""
    begin, lines = None, []
    for line in (TAPES / "busy-thread.tape").read_text().splitlines():
        if line.startswith("@ "):
            clocks, rest = [int(word) for word in line.split()[1:4]], line.split()[4:]
            begin = begin or clocks[0]
            line = " ".join(["@", *map(str, change(clocks[0] - begin, clocks)), *rest])
        lines.append(line)
    (place.path / name).write_text("\n".join(lines) + "\n")
    return name


@pytest.fixture(name="place", scope="module")
def places(tmp_path_factory):
    return Place(tmp_path_factory.mktemp("plots"), tmp_path_factory.mktemp("s"))


@pytest.fixture(name="busy", scope="module")
def recorded_tape(place):
    return place.record("busy.wattle", "--tape", TAPES / "busy-thread.tape")


@pytest.fixture(name="server", scope="module")
def recorded_server(place):
    return place.record("server.wattle", "--tape", TAPES / "server.tape")


@pytest.fixture(name="slept", scope="module")
def recorded_suspend(place):
    """The same machine, suspended for 30 s: only the monotonic clock stands still then."""
    slept_ns = SLEPT_S * 10**9
    shifted("slept.tape", place, lambda since, clocks: [clocks[0], *(
        clock + slept_ns * (since > SLEEP_AT * 1e9) for clock in clocks[1:])])
    return place.record("slept.wattle", "--tape", "slept.tape")


@pytest.fixture(name="live", scope="module")
def recorded_here(place):
    """This machine, with windows that a script marks."""
    script = ("{w} mark begin outer; head -c 80000000 /dev/zero | sha256sum >/dev/null; {w} mark begin '<in & ner>';"
              " sleep 0.4; {w} mark end '<in & ner>'; sleep 0.8; {w} mark end outer; sleep 1.2")
    return place.record("live.wattle", "--", "sh", "-c", script.format(w=command_path()))


def moment(text):
    return datetime.fromisoformat(text.replace(" ", "T")).replace(tzinfo=timezone.utc)


def span(picture):
    """What the line below the title says: from, to."""
    line = next(words for words in picture.words if " UTC · wattle " in words)
    day, begin, last_day, end = re.search(r"(\d{4}-\d\d-\d\d) ([\d:]{8}) to (\d{4}-\d\d-\d\d )?([\d:]{8}) UTC", line).groups()
    return moment(f"{day} {begin}"), moment(f"{last_day or day} {end}".replace("  ", " "))


def curves(picture, color=BLUE, least=100):
    """Long solid lines in the colour: of curves, not of keys and marks."""
    return [line for line in picture.strokes(color) if line[-1][0] - line[0][0] >= least]


def scale(picture):
    """Watts (or whatever) by height: from the labels of the y axis."""
    ticks = [(float(words), y) for words, x, y, e in picture.texts
             if re.fullmatch(r"\d+(\.\d+)?", words) and e.get("text-anchor") == "end"]
    (low, y0), (high, y1) = min(ticks), max(ticks)
    return lambda y: low + (y - (y0 - 4)) * (high - low) / (y1 - y0)


def hatched(picture):
    """Where gaps are: (left, right) each. Their areas are clipped pages."""
    clips = {clip.get("id"): [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", clip[0].get("d"))][::2]
             for clip in picture.root.iter(SVG + "clipPath")}
    found = []
    for group in picture.root.iter(SVG + "g"):
        clip = re.fullmatch(r"url\(#(.*)\)", group.get("clip-path", ""))
        if clip and any(f"fill:{HATCH}" in one.get("style", "") for one in group):
            found.append((min(clips[clip[1]]), max(clips[clip[1]])))
    return found


# ---- Power ----

def test_power(place, busy):
    picture = place.plot(busy)
    assert picture.title == "Power: this machine"
    assert picture.words[1] == "machine: 2130 ± 170 J · mean power 177 ± 14 W"
    for words in ("Power (W)", "Time (UTC), 2026-11-21", "package-0", "package-1", "dram-0", "dram-1", "total"):
        assert words in picture.words, picture.words
    assert "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz · 2026-11-21 12:44:32 to 12:44:44 UTC · wattle 0.1.0" in picture.words
    assert any("k = 2" in words and "Dashed: idle" in words for words in picture.words)
    # A level each, over the whole width, and their sum.
    levels = [float(watts) for words in picture.words for watts in re.findall(r"^idle (\d+\.\d) W", words)]
    assert len(levels) == 5 and abs(max(levels) - sum(levels) / 2) < 0.3, levels
    assert "idle 73.5 W · rapl-perf, counter" in picture.words
    dashed = [line for line in picture.strokes(BLUE, dashed=True) if line[1][0] - line[0][0] > 300]
    assert len(dashed) == 1 and dashed[0][0][1] == dashed[0][1][1]
    assert picture.fills(BLUE)  # the band
    # What would cover the others is told.
    assert any(re.fullmatch(r"Not drawn: ± \(k = 2\) beyond 50 %: dram-0 \d\d %, dram-1 \d\d %\.", words) for words in picture.words), picture.words


def test_the_total_is_black_and_heaviest(place, busy):
    widths = {}
    for path in place.plot(busy).root.iter(SVG + "path"):
        style = path.get("style", "")
        color, width = re.search(r"stroke:(rgb\([^)]*\))", style), re.search(r"stroke-width:([\d.]+)", style)
        if color and width and path.get("d").count("L") > 20:
            widths[color[1]] = float(width[1])
    assert len(widths) == 5 and max(widths, key=widths.get) == INK, widths


def test_the_title_has_the_energy_of_the_part_that_is_drawn(place, busy):
    """Two seconds at rest, of which nothing is drawn before the first sample; the whole is as in a report."""
    (energy,) = re.findall(r"^  energy +([\d.]+ ± [\d.]+ k?J)", place.run("report", busy).out, re.M)
    for what in ("power", "processes"):
        assert place.plot(busy, "--what", what).words[1].startswith(f"machine: {energy} · mean power "), (what, energy)
        part = re.match(r"machine: (\d+) ± \d+ J · mean power (\d+) ± \d+ W$", place.plot(busy, "--what", what, "--from", "+2", "--to", "+4").words[1])
        assert part and 1.8 < float(part[1]) / float(part[2]) < 2.05 and 150 < float(part[2]) < 165, part
    assert place.plot(busy, "--domain", "package-0").words[1].startswith("package-0: ")


def test_the_curve_is_the_power(place, busy):
    """package-0 drew 74 W, 97 W while one thread was busy, then 74 W again."""
    picture = place.plot(busy, "--domain", "package-0")
    assert "package-0" in picture.words and "total" not in picture.words and "package-1" not in picture.words
    (line,) = curves(picture)
    watts, width = scale(picture), line[-1][0] - line[0][0]
    by_part = [[watts(y) for x, y in line if low <= (x - line[0][0]) / width < high]
               for low, high in ((0, 0.35), (0.5, 0.85), (0.97, 1.01))]
    means = [sum(part) / len(part) for part in by_part]
    assert abs(means[0] - 74.05) < 3 and abs(means[1] - 96.97) < 3 and abs(means[2] - 74.05) < 6, means


def test_domains(place, busy):
    assert "total" in place.plot(busy, "--domain", "total").words
    both = place.plot(busy, "--domain", "dram-1", "--domain", "total")
    assert {"dram-1", "total"} <= set(both.words) and "package-0" not in both.words
    place.refused(busy, "--domain", "gpu-9", says="'busy.wattle' has no domain 'gpu-9'")
    place.refused(busy, "--domain", "gpu-9", "--what", "windows", says="'busy.wattle' has no domain 'gpu-9'")
    place.refused(busy, "--domain", "total", "--what", "processes", code=2, says="--domain goes with power, windows and runs")


def test_sources_and_methods(place, machine, busy):
    """Above every picture of energy: what is modelled says so."""
    copy = machine("vm-nothing")
    processes = Processes(copy)
    processes.add(101, "busy", "/a")
    processes.add(102, "", "/a")
    copy.put("proc/102/cmdline", "")
    process = start_wattle("record", "-q", "-o", "vm.wattle", "--root", copy.path, "--nvml", "", "--duration", "3", env=place.env, cwd=place.path)
    while process.poll() is None:
        processes.work()
        time.sleep(0.2)
    assert finish(process).code == 0
    for what in ("windows", "processes"):
        assert "model (modelled)" in place.plot("vm.wattle", "--what", what).words
        assert "rapl-perf (counter)" in place.plot(busy, "--what", what).words
    assert any(words.endswith("model, modelled") for words in place.plot("vm.wattle").words)
    # Whoever has no name is told as in a report.
    assert {"busy (101)", "name not known (102)"} <= set(place.plot("vm.wattle", "--what", "processes").words)


def test_domains_without_power(place, machine):
    """Those that failed are named below the picture; the total is that of the others, as in a report."""
    copy = machine("xeon-2s-dram").without_perf()
    zone = copy.zone("intel-rapl:0")
    name = place.record("fails.wattle", "--root", copy.path, "--nvml", "", "--",
                        *mover(*["add", zone, 5000000, "sleep", 0.1] * 25))
    report = place.run("report", name).out
    lacks = re.search("^! the total lacks (.*)$", report, re.M)[1]
    assert "package-1" in lacks and "package-0" not in lacks
    picture = place.plot(name)
    assert {"package-0", "total"} <= set(picture.words) and "package-1" not in picture.words and "dram-0" not in picture.words
    assert "No line of package-1, dram-0, dram-1: the counter stands still." in picture.words, picture.words
    assert f"The total lacks {lacks}." in picture.words
    # No idle power is known, and nothing is said of dashed lines.
    assert any(words.startswith("Band: ") for words in picture.words) and not any("Dashed" in words for words in picture.words)
    assert not any("lacks" in words for words in place.plot(name, "--domain", "package-0").words)
    place.refused(name, "--domain", "package-1", says=f"there is nothing to plot of '{name}': package-1: the counter stands still")


def test_a_total_of_what_is_known(place, machine):
    """Counters that have not moved yet say nothing of their power: no total is drawn without them, nor one of any size."""
    copy = machine("xeon-2s-dram").without_perf()
    name = place.record("moves.wattle", "--root", copy.path, "--nvml", "", "--", *mover(*["add", copy.zone("intel-rapl:0"), 5000000, "sleep", 0.1] * 3))
    picture = place.plot(name)
    assert "package-0" in picture.words and "total" not in picture.words
    assert "No line of dram-0, dram-1: its counter has not moved yet." in picture.words, picture.words
    assert "No line of total: power is not known of all of it." in picture.words, picture.words
    place.refused(name, "--domain", "total", says=f"there is nothing to plot of '{name}': total: power is not known of all of it")


def test_gpus(place, gpus, server):
    picture = place.plot(server)
    assert "gpu-0" in picture.words and "nvml, counter" in picture.words
    fake = gpus("two")
    two = place.record("two.wattle", *fake.options, "--duration", "2", env=fake.env)
    assert {"gpu-0", "gpu-1"} <= set(place.plot(two).words)


FAILING = """driver 550.54.15
gpu NVIDIA A100-SXM4-40GB
  bus 00000000:17:00.0
  power 0 const {watts}
  counter-start 10
  sensor counter gpu 100
"""


def failing(place, gpus, name, *answers, watts=100, seconds=4):
    fake = gpus(text=FAILING.format(watts=watts) + "".join(f"  answer {answer}\n" for answer in answers))
    (place.path / name).unlink(missing_ok=True)  # of a try before this one
    return place.record(name, *fake.options, "--duration", str(seconds), env=fake.env)


def watts_of(picture):
    """What each curve of the only domain says, point by point."""
    watts, unit = scale(picture), 1000 if "Power (kW)" in picture.words else 1
    lines = curves(picture, least=25) or [line for line in curves(picture, INK, least=25) if len(line) > 2]
    return [[unit * watts(y) for _, y in line] for line in lines]


def test_a_gap_of_a_part_is_one_of_the_total(place, gpus):
    """Before, after and within it, the total is never without what the GPU draws: 5000 W all the time."""
    name = failing(place, gpus, "part.wattle", "field:83:0 TIMEOUT from 1.5 until 2.5", watts=5000)
    for domain in ("gpu-0", "total"):
        lines = watts_of(place.plot(name, "--domain", domain))
        assert len(lines) == 2, (domain, lines)
        assert all(4500 < watts < 5600 for watts in lines[0][1:] + lines[1]), (domain, lines)


@pytest.mark.alone
def test_a_failed_reading_breaks_the_line(place, gpus):
    """One is enough, whatever the counter tells after it, and however close to its update period the time between is."""
    name = failing(place, gpus, "once.wattle", *(f"field:83:0 TIMEOUT from {at} until {at + 1} call 2" for at in (1.2, 2.8)), seconds=4.4)
    for domain in ("gpu-0", "total"):
        lines = watts_of(place.plot(name, "--domain", domain))
        assert len(lines) == 3, (domain, lines)


@pytest.mark.parametrize("script", ("no-permission", "not-supported", "lost-at-start"))
def test_domains_without_a_source(place, gpus, script):
    """What is lacking is told with the reason that reports have for it, as far as it is asked for."""
    fake = gpus(script)
    name = place.record(f"{script}.wattle", *fake.options, "--duration", "1", env=fake.env)
    (reason,) = [domain["reason"] for domain in json.loads(place.run("report", "-f", "json", name).out)["domains"] if domain["name"] == "gpu-0"]
    words = place.plot(name).words
    assert f"No line of gpu-0: {reason}." in words and "The total lacks gpu-0." in words, (reason, words)
    assert not any("gpu-0" in line for line in place.plot(name, "--domain", "package-0").words)


def test_other_machines(place, machine):
    """A machine whose counters move only now and then: power is what they say, not jitter."""
    copy = machine("client-psys").without_perf()
    zone = copy.zone("intel-rapl:0")
    steps = ["add", zone, 5000000, "sleep", 0.4] * 5
    name = place.record("psys.wattle", "--root", copy.path, "--nvml", "", "--", *mover(*steps))
    picture = place.plot(name)
    assert "Power (W)" in picture.words and picture.title.startswith("Power: ")
    assert curves(picture)


# ---- From and to ----

def test_from_and_to(place, busy):
    begin, end = span(place.plot(busy))
    assert end - begin == timedelta(seconds=12)
    part = span(place.plot(busy, "--from", "+3", "--to", "0.1min"))
    assert abs((part[0] - begin).total_seconds() - 3) <= 1 and abs((part[1] - begin).total_seconds() - 6) <= 1
    for words in (("2026-11-21T12:44:36Z", "2026-11-21T12:44:38Z"), ("12:44:36", "12:44:38"),
                  ("2026-11-21 12:44:36", "2026-11-21T13:44:38+01:00")):
        assert span(place.plot(busy, "--from", words[0], "--to", words[1])) == \
            (moment("2026-11-21 12:44:36"), moment("2026-11-21 12:44:38"))
    tokyo = place.plot(busy, "--from", "21:44:36", env={"TZ": "Asia/Tokyo"})
    assert span(tokyo) == (moment("2026-11-21 12:44:36"), end)
    # Longer than it is: all of it.
    assert span(place.plot(busy, "--from", "2020-01-01", "--to", "+2h")) == (begin, end)


@pytest.mark.parametrize("what", ("power", "processes", "windows"))
def test_stretches_of_nothing(place, busy, what):
    place.refused(busy, "--what", what, "--from", "+100", says="lasts 12.0 s: nothing of it lies in that stretch")
    place.refused(busy, "--what", what, "--to", "2020-01-01", says="nothing of it lies in that stretch")
    place.refused(busy, "--what", what, "--from", "+5", "--to", "12:44:33", says="--to is not after --from")
    place.refused(busy, "--what", what, "--from", "5.01s", "--to", "5.02s", says="there is nothing to plot of 'busy.wattle': ")


# ---- Gaps ----

def test_suspend_is_a_gap(place, slept):
    picture = place.plot(slept, "--domain", "package-0")
    begin, end = span(picture)
    assert end - begin == timedelta(seconds=12 + SLEPT_S)
    assert "suspended" in picture.words
    (gap,) = hatched(picture)
    lines = curves(picture, least=21)
    assert len(lines) == 2
    left, right = lines[0][0][0], lines[1][-1][0]
    width = (right - left) / (12 + SLEPT_S)
    assert abs(gap[1] - gap[0] - SLEPT_S * width) < 2 * width
    assert abs(gap[0] - left - SLEEP_AT * width) < width
    assert lines[0][-1][0] <= gap[0] + 1 and gap[1] - 1 <= lines[1][0][0]


def test_nothing_is_stacked_over_a_suspend(place, slept):
    picture = place.plot(slept, "--what", "processes")
    assert "suspended" in picture.words
    (gap,) = hatched(picture)
    for line in curves(picture, least=5):
        assert line[-1][0] <= gap[0] + 1 or line[0][0] >= gap[1] - 1, (gap, line)


def test_parts_of_one_with_a_suspend(place, slept):
    begin, end = span(place.plot(slept))
    # So long of the recording: 30 s of it were not. By the clock they were.
    assert span(place.plot(slept, "--from", "+9"))[0] == begin + timedelta(seconds=9 + SLEPT_S)
    part = place.plot(slept, "--from", (begin + timedelta(seconds=20)).isoformat())
    assert span(part) == (begin + timedelta(seconds=20), end)
    assert "suspended" in part.words and curves(part, least=20)


def test_a_clock_that_was_set(place):
    """Times on the axis rise evenly: no curve goes back. What stands above it are those that the clock said."""
    shifted("set.tape", place, lambda since, clocks: [*clocks[:2], clocks[2] - 3600 * 10**9 * (since > SLEEP_AT * 1e9)])
    name = place.record("set.wattle", "--tape", "set.tape")
    picture = place.plot(name, "--domain", "package-0")
    assert len(curves(picture)) == 1 and not hatched(picture)
    begin, end = span(picture)
    assert end - begin == timedelta(seconds=12 - 3600)


# ---- Processes and memory ----

def test_processes(place, busy):
    picture = place.plot(busy, "--what", "processes")
    assert picture.title == "Power by who used it: this machine"
    for words in ("Power (W)", "python3 (4711)", "prometheus (912)", "systemd (1)", "sshd (845)"):
        assert words in picture.words, picture.words
    assert "Power above idle, divided by who used the machine." in picture.words
    # The busy thread cost 22.9 + 14.9 W more than idle: its area is the first, from 5 s to 11 s.
    watts = scale(picture)
    highest = max(watts(y) for line in curves(picture, least=20) for _, y in line)
    assert 34 < highest < 42, highest


def test_steps(place, busy):
    """What is told of a look is of all the time since the one before: edges are level or upright."""
    picture = place.plot(busy, "--what", "processes", "--top", "1")
    (line,) = curves(picture, least=50)
    assert all(a[0] == b[0] or a[1] == b[1] for a, b in zip(line, line[1:]))


def test_top(place, busy):
    picture = place.plot(busy, "--what", "processes", "--top", "1")
    assert {"python3 (4711)", "others"} <= set(picture.words) and "systemd (1)" not in picture.words
    picture = place.plot(busy, "--what", "processes", "--top", "100")
    assert "others" not in picture.words


@pytest.mark.parametrize("by, names", [
    ("user", {"1000", "0"}), ("container", {"in no container"}), ("unit", None)])
def test_groups(place, busy, by, names):
    picture = place.plot(busy, "--what", "processes", "--by", by)
    assert "python3 (4711)" not in picture.words
    if names:
        assert names <= set(picture.words), picture.words


def test_this_machine(place, live):
    for what, label in (("power", "Power (W)"), ("processes", "Power (W)"), ("memory", "Memory (MiB)"), ("runs", "Energy (J)")):
        picture = place.plot(live, "--what", what)
        assert any(words.startswith(label[:7]) for words in picture.words), (label, picture.words)
        assert "sh -c" in picture.title
    assert any("set size" in words for words in place.plot(live, "--what", "memory").words)
    users = place.plot(live, "--what", "memory", "--by", "user")
    assert any(re.fullmatch(r"Memory \([KMG]iB\)", words) for words in users.words)


def test_one_kind_of_memory_a_line(place, machine):
    """Resident and proportional sizes are neither added up nor joined: a machine at rest has level lines."""
    root = machine("xeon-2s-dram")
    processes = Processes(root)
    for pid, name in ((101, "shared"), (102, "hidden"), (103, "other")):
        processes.add(pid, name, f"/system.slice/{'two' if pid < 103 else 'one'}.service")
        status = root.path / f"proc/{pid}/status"
        status.write_text(status.read_text().replace("1000 kB", "4096 kB"))
        if name != "hidden":
            root.put(f"proc/{pid}/smaps_rollup", "00400000-7fff 0 - [rollup]\nRss: 4096 kB\nPss: 1024 kB\nPrivate_Clean: 0 kB\nPrivate_Dirty: 0 kB\n")
    process = start_wattle("record", "-q", "-o", "sizes.wattle", "--root", root.path, "--duration", "5", env=place.env, cwd=place.path)
    while process.poll() is None:
        processes.work()
        time.sleep(0.2)
    assert finish(process).code == 0
    picture = place.plot("sizes.wattle", "--what", "memory")
    assert {"shared (101), PSS", "hidden (102), RSS", "other (103), PSS"} <= set(picture.words), picture.words
    assert any(words.startswith("PSS: proportional set size. RSS: resident") for words in picture.words)
    (line,) = curves(picture)
    assert len({y for _, y in line}) == 1, line
    picture = place.plot("sizes.wattle", "--what", "memory", "--by", "unit")
    assert {"two.service, RSS", "one.service, PSS"} <= set(picture.words), picture.words
    for color, wanted in ((BLUE, 8), (ORANGE, 1)):
        (line,) = curves(picture, color)
        assert {round(scale(picture)(y), 1) for _, y in line} == {wanted}, line
    # Of one kind, the note alone says which.
    picture = place.plot("sizes.wattle", "--what", "memory", "--by", "user")
    assert "1000" in picture.words and any(words.startswith("Resident set size:") for words in picture.words)


def test_memory_is_what_it_is_now(place, machine):
    """PSS of what is large is read too seldom to follow it: RSS is drawn then. What does not move keeps its PSS."""
    root = machine("xeon-2s-dram")
    processes = Processes(root)
    for pid, name in ((101, "still"), (102, "grows")):
        processes.add(pid, name, "/system.slice/a.service")

    def resize(seconds):
        for pid, kib in ((101, 4096), (102, 8 + int(seconds) << 20)):
            root.put(f"proc/{pid}/new", re.sub(r"VmRSS:.*", f"VmRSS: {kib} kB", (root.path / f"proc/{pid}/status").read_text()))
            (root.path / f"proc/{pid}/new").rename(root.path / f"proc/{pid}/status")
            root.put(f"proc/{pid}/new", f"00400000-7fff 0 - [rollup]\nRss: {kib} kB\nPss: {kib // 4} kB\nPrivate_Clean: 0 kB\nPrivate_Dirty: 0 kB\n")
            (root.path / f"proc/{pid}/new").rename(root.path / f"proc/{pid}/smaps_rollup")

    resize(0)
    process = start_wattle("record", "-q", "-o", "grows.wattle", "--root", root.path, "--duration", "8", env=place.env, cwd=place.path)
    begin = time.monotonic()
    while process.poll() is None:
        processes.work()
        resize(time.monotonic() - begin)
        time.sleep(0.2)
    assert finish(process).code == 0
    picture = place.plot("grows.wattle", "--what", "memory")
    assert {"grows (102), RSS", "still (101), PSS"} <= set(picture.words), picture.words
    assert any("RSS: resident set size, where PSS was not read of all, or too seldom" in words for words in picture.words)
    (line,) = curves(picture)
    gib = [scale(picture)(y) for _, y in line]
    assert gib == sorted(gib) and gib[0] < 11 and gib[-1] > 13, gib


# ---- Windows and runs ----

def test_windows(place, live):
    picture = place.plot(live, "--what", "windows")
    assert {"outer", "<in & ner>", "recording", "Energy (J)"} <= set(picture.words)
    assert picture.at("<in & ner>")[1] < picture.at("outer")[1] < picture.at("recording")[1]  # as they ended
    assert any(re.fullmatch(r"[\d.]+ ± [\d.]+ m?J", words) for words in picture.words), picture.words
    assert "Whiskers: ± of the whole (k = 2), up to 50 %; more only in figures." in picture.words


def test_windows_of_a_domain(place, server):
    picture = place.plot(server, "--what", "windows", "--domain", "gpu-0")
    (figure,) = [words for words in picture.words if " ± " in words and words.endswith(" J")]
    assert abs(float(figure.split()[0]) - 1982) < 60, figure
    every = place.plot(server, "--what", "windows")
    assert {"package-0", "package-1", "dram-0", "dram-1", "gpu-0"} <= set(every.words)  # all of them have room


def test_windows_as_in_the_report(place, server):
    """The figures behind the bars are the report's, to the last digit."""
    for name in (server, REPO / "tests" / "fixtures" / "recorded" / "busy-thread.wattle"):
        report = place.run("report", name).out
        energy = re.search(r"^  energy +([\d.]+ ± [\d.]+ k?J)", report, re.M)[1]
        assert energy in place.plot(name, "--what", "windows").words


def test_a_window_of_any_name(place):
    """One may be called as a picture's own is."""
    script = "{w} mark begin plot; sleep 0.6; {w} mark end plot; sleep 0.4".format(w=command_path())
    name = place.record("own.wattle", "--", "sh", "-c", script)
    assert "plot" in place.plot(name, "--what", "windows").words
    assert "Power (W)" in place.plot(name).words


def test_runs(place, busy, server):
    picture = place.plot(busy, server, busy)
    assert picture.title == "3 runs of: this machine"
    assert {"Energy (J)", "Duration (s)", "Run", "1", "3"} <= set(picture.words)
    # Which run is of which file, and no axis below 0 for the ± of what cannot be.
    assert {"Run 1: busy.wattle", "Run 2: server.wattle", "Run 3: busy.wattle"} <= {re.sub(r"(: ).*/", r"\1", words) for words in picture.words}
    assert not any(re.fullmatch(r"[-−][\d.]+", words) for words in picture.words)
    one = place.plot(busy, "--what", "runs")
    assert one.title == "1 run of: this machine"


def test_runs_beside_reports(place, busy):
    (place.path / "r.json").write_bytes(place.run("run", "-f", "json", "--tape", TAPES / "busy-thread.tape").out_bytes)
    assert place.plot("r.json", busy).title == "2 runs of: this machine"
    assert place.plot("r.json", busy, "--from", "2026-11-21 12:44").title == "2 runs of: this machine"
    place.refused("r.json", busy, "--from", "2026-11-22", says="no run began in that time")
    place.refused("r.json", busy, "--what", "memory", says="a report has no memory over time, one recording has")


def test_repeated_runs(place):
    result = place.run("run", "-q", "-r", "3", "--record", "three.wattle", "-o", "/dev/null", "--", "sleep", "0.2")
    assert result.code == 0, result
    assert place.plot("three.wattle", "--what", "runs").title == "3 runs of: sleep 0.2"
    bars = place.plot("three.wattle", "--what", "windows").words
    assert [words for words in bars if "sleep" in words][1:] == [f"{i}: sleep 0.2" for i in (1, 2, 3)], bars
    assert "run" not in bars


# ---- Files ----

@pytest.mark.parametrize("what", ("power", "processes", "windows", "runs"))
def test_formats(place, busy, what):
    for name in ("x.svg", "x.png", "x.pdf"):
        assert place.run("plot", busy, "--what", what, "-o", name).code == 0
    assert png_size((place.path / "x.png").read_bytes())[0] == 1920
    pdf = (place.path / "x.pdf").read_bytes()
    assert pdf.startswith(b"%PDF-1.") and pdf.rstrip().endswith(b"%%EOF")
    svg = (place.path / "x.svg").read_bytes()
    assert len(svg) < 200_000
    # The same data, the same file, wherever it is drawn.
    assert place.run("plot", busy, "--what", what, env={"LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Tokyo"}).out_bytes == svg
    place.run("plot", busy, "--what", what, "-o", "y.pdf")
    assert (place.path / "y.pdf").read_bytes() == pdf


# What processes may call themselves to spoil a picture; the kernel keeps 15 bytes.
HOSTILE = {
    "noncharacters": "\ufdd0\ufdef\ufffe\uffff\U0001fffe\U0010ffff".encode(),
    "surrogates": b"\xed\xa0\x80\xed\xbf\xbf",
    "overlong": b"\xc0\xaf\xe0\x80\xaf\xf0\x80\x80\xaf\xf8\x88\x80\x80\x80",
    "not-utf-8": b"\x80\xff\xe2\x82",
    "controls": b"\x01\x1b[2J\x7f" + "\u0080\u009b".encode(),
    "directions": "\u202e\u2066\u200f\u061c\u2028\ufeff".encode(),
    "markup": b"</text><script>&'\"]]>(\\",
    "marks": ("e" + "\u0301" * 9 + "\u0627\u6f22\U0001f50b").encode(),
}
# No XML may have them, or no reader should see them.
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufeff"
                       "\ufffe\uffff\U0001fffe\U0010ffff]")


@pytest.fixture(name="hostile", scope="module")
def recorded_hostile_names(place):
    """This machine, with processes and a command of such names."""
    script = ("import subprocess, time\n"
              f"names = [b'x%d-%s' % (i, text) for i, text in enumerate({list(HOSTILE.values())!r})]\n"
              "spin = [subprocess.Popen(['sh', '-c', 'printf %s \"$1\" >/proc/$$/comm; while :; do :; done', 'sh', name]) for name in names]\n"
              "time.sleep(1.5)\n"
              "for one in spin:\n    one.kill()")
    return place.record("hostile.wattle", "--", "python3", "-c", script, *HOSTILE.values())


def check_png(data):
    """Every chunk is whole, and all pixels are there."""
    width, height = png_size(data)
    at, pixels = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0] == zlib.crc32(kind + body)
        pixels += body if kind == b"IDAT" else b""
        at += 12 + size
    assert len(zlib.decompress(pixels)) in (height * (1 + 3 * width), height * (1 + 4 * width))


def check_pdf(path):
    data = path.read_bytes()
    table = int(re.search(rb"startxref\s+(\d+)\s+%%EOF\s*$", data).group(1))
    assert data[table:table + 4] == b"xref"
    places = [int(at) for at in re.findall(rb"(\d{10}) \d{5} n", data[table:])]
    assert places and all(re.match(rb"\d+ 0 obj", data[at:at + 20]) for at in places)
    if shutil.which("qpdf"):
        checked = subprocess.run(["qpdf", "--check", path], capture_output=True, text=True)
        assert checked.returncode == 0, checked


def check_pictures(place, *args):
    """The SVG, which is what a parser of XML makes of it; the others have to be whole."""
    picture = place.plot(*args)
    assert not list(picture.root.iter(SVG + "script"))
    assert not any(FORBIDDEN.search(words) for words in [*picture.words, picture.whole_title])
    for name in ("x.png", "x.pdf"):
        assert place.run("plot", *args, "-o", name).code == 0
    check_png((place.path / "x.png").read_bytes())
    check_pdf(place.path / "x.pdf")
    return picture


def test_hostile_names(place, hostile):
    check_pictures(place, hostile)
    words = check_pictures(place, hostile, "--what", "processes", "--top", "100").words
    assert all(any(f"x{i}-" in name for name in words) for i in range(len(HOSTILE))), words


def test_hostile_words_in_a_report(place):
    assert place.run("run", "-f", "json", "-o", "hostile.json", "--", "true", *HOSTILE.values()).code == 0
    check_pictures(place, "hostile.json")


# ---- Recordings that are not as they should be ----

def test_without_processes(place):
    name = place.record("nobody.wattle", "--no-processes", "--duration", "1")
    assert "Power (W)" in place.plot(name).words
    place.refused(name, "--what", "processes", says="there is nothing to plot of 'nobody.wattle': it tells of no processes")
    place.refused(name, "--what", "memory", says="it tells of nobody's memory")


def test_while_it_is_recorded(place):
    process = start_wattle("record", "-q", "-o", "now.wattle", env=place.env, cwd=place.path)
    try:
        wait_for((place.path / "now.wattle").exists, "the recording")
        time.sleep(3)
        for what in ("power", "processes", "memory"):
            assert place.run("plot", "now.wattle", "--what", what).code == 0
        # No window has ended, and no run.
        place.refused("now.wattle", "--what", "windows", says="no window ended there")
    finally:
        process.send_signal(signal.SIGKILL)
        finish(process)
    assert "Power (W)" in place.plot("now.wattle").words  # and was killed


def test_not_a_recording(place):
    with sqlite3.connect(place.path / "other.db") as database:
        database.execute("CREATE TABLE a(b)")
    (place.path / "text").write_text("SQLite format 3, it says")
    place.refused("other.db", says="not a recording")
    (place.path / "encrypted").write_bytes(random.Random(7).randbytes(8192))
    for name in ("text", "encrypted"):
        place.refused(name, says=f"'{name}': this is neither a recording (it is no SQLite database, or an encrypted one) nor a report")
    place.refused("absent.wattle", says="No such file")


def test_damaged(place, busy):
    """A picture of what can be read, or a clear line: never both, and never neither."""
    whole, dice = (place.path / busy).read_bytes(), random.Random(5)
    for i in range(12):
        damaged = bytearray(whole)
        at = dice.randrange(200, len(damaged) - 64)
        damaged[at:at + 64] = dice.randbytes(64)
        (place.path / "damaged.wattle").write_bytes(damaged[:len(damaged) >> (i == 11)])
        for what in ("power", "processes", "windows"):
            result = place.run("plot", "damaged.wattle", "--what", what)
            assert result.code in (0, 1), result
            if result.code == 0:
                assert Picture(result.out_bytes).words
            else:
                assert result.out_bytes == b"" and "damaged.wattle" in result.complaint()


def test_lost_stretches_are_hatched(place):
    """A period is gone: a gap, and no line across it. A tape runs by faster than its periods can be told apart."""
    tape = shifted("long.tape", place, lambda since, clocks: [clock + 19 * since for clock in clocks])
    name = place.record("long.wattle", "--tape", tape)
    assert not hatched(place.plot(name))
    with sqlite3.connect(place.path / name) as database:
        if database.execute("SELECT count(*) FROM period").fetchone()[0] < 2:
            pytest.skip("this machine is too slow to write more than one period of a tape")
        assert database.execute("UPDATE chunk SET data = zeroblob(length(data)) WHERE id >> 16 = 2").rowcount > 0
    for what in ("power", "processes"):
        picture = place.plot(name, "--what", what)
        assert "lost" in picture.words
        (gap,) = hatched(picture)
        for line in curves(picture, least=21):
            assert line[-1][0] <= gap[0] + 1 or line[0][0] >= gap[1] - 1, (gap, line)
        # As everything else says it.
        (note,) = [words for words in picture.words if words.startswith("A part cannot be read: ")]
        told = place.run("export", "--what", "gaps", name)
        assert told.err == f"wattle: {name}: a{note[1:-1]}\n"
        assert f"{name}: a{note[1:-1]}\n" in place.run("report", "--replay", name).err
    with sqlite3.connect(place.path / name) as database:
        (middle_s,) = database.execute("SELECT ((b.begin_mono_ns + b.end_mono_ns) / 2 - a.begin_mono_ns) / 1e9 FROM period a, period b"
                                       " WHERE a.id = 1 AND b.id = 2").fetchone()
    shown = place.run("top", "--once", "--replay", name, "--at", f"+{middle_s:.0f}", env={"COLUMNS": "200"})
    assert "built without" in shown.err or " a part cannot be read: period 2: " in shown.out, shown


def test_damaged_tables_are_told(place, busy):
    name = shutil.copy(place.path / busy, place.path / "rows.wattle").name
    with sqlite3.connect(place.path / name) as database:
        database.execute("UPDATE consumer SET crc = crc + 1 WHERE id = (SELECT min(id) FROM consumer)")
    words = "ome of it cannot be read, and is missing in what is told: wattle report --check says what"
    picture = place.plot(name)
    assert [note for note in picture.words if words in note] == [f"S{words}."]
    assert place.run("export", name).err == f"wattle: {name}: s{words}\n"
    shown = place.run("top", "--once", "--replay", name, env={"COLUMNS": "200"})
    assert "built without" in shown.err or f" s{words}" in shown.out, shown
    for told in (place.plot(busy).words, place.run("export", busy).err, place.run("top", "--once", "--replay", busy).out):
        assert words not in str(told)


# ---- The page ----

@pytest.mark.parametrize("name", ("plot-power.svg", "plot-processes.svg"))
def test_the_page_shows_what_is_drawn(place, name):
    page = (REPO / "docs" / "plot.md").read_text()
    match = re.search(rf"<!-- picture of: wattle plot (\S+) (.*)-o docs/{name}, recorded from (\S+) -->", page)
    assert match, f"docs/plot.md names the command of {name}"
    recording = place.record(f"{name}.wattle", "--tape", REPO / match[3])
    drawn = place.plot(recording, *match[2].split())
    shown = REPO / "docs" / name
    assert drawn.words == Picture(shown.read_bytes()).words
    assert shown.stat().st_size < 100_000
    assert f"]({name})" in page
