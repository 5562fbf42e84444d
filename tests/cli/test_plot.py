# SPDX-License-Identifier: MIT
"""wattle plot: pictures read back (SVG as XML, PNG, PDF), what cannot be drawn, and the live curves in tmux."""

import json
import os
import re
import struct
import subprocess
import xml.etree.ElementTree as ET
import zlib
from pathlib import Path

import pytest

from conftest import REPO, ROOTS, TIMEOUT, clean_env, command_path, run_wattle
from test_top import screens  # noqa: F401 (the fixture "screen")

TAPES = REPO / "tests" / "fixtures" / "tapes"
XEON = ("--root", str(ROOTS / "xeon-2s-dram"), "--nvml", "")
SVG = "{http://www.w3.org/2000/svg}"
BLUE, INK = "rgb(0%,44.705882%,69.803922%)", "rgb(10.196078%,10.196078%,10.196078%)"


@pytest.fixture(scope="module", autouse=True)
def built_with_cairo():
    if "without cairo" in run_wattle("plot", "nothing.json", "-o", "nothing.svg").err:
        pytest.skip("this wattle was built without cairo")


# ---- Reports ----

def domain(name, energy, in_total=True):
    return {"name": name, "in_total": in_total, "source": "rapl-perf", "method": "counter", "energy_j": energy,
            "uncertainty_j": energy / 20, "mean_w": energy / 2}


def report(second=0, energy=100.0, command=("make", "-j"), **more):
    return {"schema": "wattle.report/1", "version": "0.1.0", "command": list(command),
            "start_utc": f"2026-11-21T08:00:{second:02}.000Z", "duration_s": 2.0 + second / 100,
            "total": {"energy_j": energy, "uncertainty_j": energy / 10, "mean_w": energy / 2},
            "domains": [domain("package-0", energy - 20), domain("dram-0", 20.0), domain("core-0", 5.0, False)], **more}


PROCESSES = [
    {"pid": 7, "command": "cc1 -O2", "user": "bob", "container": "docker/a", "dynamic_j": 30.0, "full_j": 40.0, "uncertainty_j": 3.0},
    {"pid": 8, "command": "ld", "user": "eve", "dynamic_j": 12.0, "full_j": 15.0, "uncertainty_j": 1.0},
    {"pid": 9, "command": "sh", "user": "bob", "dynamic_j": 2.0, "full_j": 3.0, "uncertainty_j": 0.5},
]


@pytest.fixture(name="file")
def files(tmp_path):
    """file(reports...): the path of a file with them, a line each."""
    def write(*reports, name="reports.json"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(one) + "\n" for one in reports))
        return path
    return write


RUNS = [report(second, 100.0 + 3 * (second % 4)) for second in range(12)]


class Picture:
    """An SVG as its elements."""

    def __init__(self, data):
        self.root = ET.fromstring(data)
        self.texts = [(e.text, float(e.get("x")), float(e.get("y")), e) for e in self.root.iter(SVG + "text")]
        self.words = [text for text, *_ in self.texts]

    @property
    def whole_title(self):
        return self.root.find(SVG + "title").text

    @property
    def title(self):
        """Without the figures, which stand below it in the picture."""
        return self.whole_title.removesuffix(": " + self.words[1])

    def at(self, words):
        found = [(x, y) for text, x, y, _ in self.texts if text == words]
        assert found, (words, self.words)
        return found[0]

    def strokes(self, color, dashed=False):
        """The stroked lines of that colour: each as its points."""
        found = []
        for path in self.root.iter(SVG + "path"):
            style = path.get("style", "")
            if f"stroke:{color}" in style and ("stroke-dasharray" in style) == dashed:
                numbers = [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", path.get("d"))]
                found.append(list(zip(numbers[::2], numbers[1::2])))
        return found

    def fills(self, color):
        return [path for path in [*self.root.iter(SVG + "path"), *self.root.iter(SVG + "rect")]
                if f"fill:{color}" in path.get("style", "")]


def plot(*args, **options):
    result = run_wattle("plot", *args, **options)
    assert result.code == 0, result
    assert result.err == ""
    return Picture(result.out_bytes)


def refused(*args, code=1, says, **options):
    result = run_wattle("plot", *args, **options)
    assert result.code == code, result
    assert result.out_bytes == b""
    line = result.complaint()
    assert line.startswith("wattle: plot: ")
    assert says in line, line
    return line


# ---- What a picture shows ----

def test_runs(file):
    picture = plot(file(*RUNS))
    assert picture.title == "12 runs of: make -j"
    assert "12 runs of: make -j" in picture.words
    assert "rapl-perf (counter) · 2026-11-21 08:00:00 to 08:00:13 UTC · wattle 0.1.0" in picture.words
    assert picture.words[1] == "mean of the runs · machine: 105 ± 11 J · mean power 52.3 ± 5.3 W"
    assert picture.whole_title == ": ".join(picture.words[:2])
    for words in ("Energy", "Energy (J), axis cut", "Duration", "Duration (s), axis cut", "Power (W), axis cut", "Run", "1", "12", "machine", "a run"):
        assert words in picture.words, picture.words
    assert any(re.fullmatch(r"mean 104\.5 ± [\d.]+ J · sd [\d.]+ %", words) for words in picture.words), picture.words
    assert any("95 % interval" in words for words in picture.words)
    # What the sensors err by is the same in each run, and is told once.
    assert "Not drawn: the sensors' ± (k = 2), most of it the same in all runs: machine 10 %." in picture.words
    # Axis titles of values are read from below.
    assert any(e.get("transform", "").startswith("rotate(-90") for text, *_, e in picture.texts if text == "Energy (J), axis cut")
    # The mean of each of the three goes all the way from the first run to the last.
    dashed = [line for line in picture.strokes(INK, dashed=True) if line[1][0] - line[0][0] > 300]
    assert len(dashed) == 3
    assert all(line[0][1] == line[1][1] for line in dashed)


def test_an_interval_of_more_than_half_is_told_not_drawn(file):
    """It would cover everything else."""
    def bands(picture):
        return [path for path in picture.fills(INK) if "fill-opacity:0.16" in path.get("style")]

    sure = plot(file(*(report(second, 100.0 + second) for second in range(3))))
    scattered = plot(file(*(report(second, 30.0 + 100 * second) for second in range(3))))
    assert len(bands(sure)) == 3
    assert len(bands(scattered)) == 1  # of the duration
    assert any(re.match(r"mean 130 ± 250 J", words) for words in scattered.words), scattered.words
    assert "400" not in scattered.words  # nor does the axis reach for it


def dots(picture, color=INK):
    """Where marks of that colour stand in panels, not in keys: their middles."""
    found = []
    for path in picture.fills(color):
        numbers = [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", path.get("d") or "")]
        xs, ys = numbers[::2], numbers[1::2]
        if 8 < len(xs) and max(xs) - min(xs) < 10:
            found.append(((min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2))
    return found


def test_a_run_that_is_not_known_is_left_out(file):
    lost = report(3)
    del lost["total"]["energy_j"]
    picture = plot(file(RUNS[0], RUNS[1], lost, RUNS[4]))
    # Three of the energy, four each of the duration and the power, and one each in the keys; but it has its place.
    assert len(dots(picture)) == 3 + 4 + 4 + 3
    assert "4" in picture.words


def test_energies_have_one_axis(file):
    """What the command used stands below what the machine did."""
    picture = plot(file(*(report(i, command_energy={"dynamic_j": 20.0 + i, "uncertainty_j": 4.0}) for i in range(3))))
    assert picture.words[1] == "mean of the runs · command, above idle: 21.0 ± 4.7 J · machine: 100 ± 10 J · mean power 50.0 ± 5.0 W"
    assert picture.words.count("Energy (J)") == 1
    assert picture.at("machine")[1] < picture.at("command, above idle")[1]
    assert any("machine 10 %; command, above idle 19 %." in words for words in picture.words), picture.words


def test_an_axis_that_is_cut_says_so(file):
    """Without such words, all axes begin at 0."""
    words = plot(file(*(report(second, 1000 + second / 10) for second in range(8)))).words
    assert {"Energy (J), axis cut", "Power (W), axis cut"} <= set(words), words
    words = plot(file(*(report(second, 100 + 30 * second) for second in range(3)))).words
    assert "Energy (J)" in words and "0" in words, words


def test_different_commands_have_no_mean(file):
    words = plot(file(report(), report(2, command=["ld"]))).words
    assert words[0] == "2 runs" and not any("mean" in one for one in words[1:] if not one.startswith("Mean")), words


def test_each_domain_that_is_asked_for_is_shown(file):
    names = [f"gpu-{i}" for i in range(8)] + ["dram-0", "dram-1"]
    runs = [dict(report(i), domains=[domain(name, 50.0 + i) for name in names]) for i in range(2)]
    picture = plot(file(*runs), "--what", "runs", *(word for name in names for word in ("--domain", name)))
    assert set(names) <= set(picture.words) and "machine" not in picture.words, picture.words


def test_one_run_has_no_mean(file):
    picture = plot(file(RUNS[0]), "--what", "runs")
    assert picture.title == "1 run of: make -j"
    assert not any(words.startswith("mean") for words in picture.words)
    assert picture.words[1] == "machine: 100 ± 10 J · mean power 50.0 ± 5.0 W"
    assert "Not drawn: the sensors' ± (k = 2): machine 10 %." in picture.words


def test_energy_by_domain(file):
    picture = plot(file(RUNS[0]))
    assert picture.title == "Energy of: make -j"
    for words in ("package-0", "dram-0", "Energy (J)", "80.0 ± 4.0 J", "20.0 ± 1.0 J"):
        assert words in picture.words, picture.words
    assert "core-0" not in picture.words  # it lies in the package
    # The longer bar has its figure further to the right, both behind their whiskers.
    assert picture.at("80.0 ± 4.0 J")[0] > picture.at("20.0 ± 1.0 J")[0]
    whiskers = [line for line in picture.strokes(INK) if len(line) == 2 and line[0][1] == line[1][1] and line[0][0] != line[1][0]]
    assert max(line[1][0] for line in whiskers if abs(line[0][1] - picture.at("80.0 ± 4.0 J")[1] + 4) < 1) \
        < picture.at("80.0 ± 4.0 J")[0]
    assert "core-0" in plot(file(RUNS[0]), "--domain", "core-0").words


def test_energy_of_several_runs(file):
    picture = plot(file(*RUNS[:3]), "--what", "windows")
    for words in ("Energy of 3 runs of: make -j", "1: make -j", "3: make -j", "package-0", "dram-0", "100 ± 10 J"):
        assert words in picture.words, picture.words


@pytest.mark.parametrize("compared, titles", [("command_dynamic_j", ["Energy above idle", "Duration", "Mean power above idle"]),
                                              ("energy_j", ["Energy", "Duration", "Mean power"])])
def test_of_a_comparison_what_was_compared(file, compared, titles):
    used = {"dynamic_j": 20.0, "full_j": 30.0, "uncertainty_j": 4.0, "cpu_s": 1.0, "processes": 1}
    series = {"schema": "wattle.series/1", "runs": [report(command_energy=used), report(1, command_energy=used)]}
    picture = plot(file({"schema": "wattle.compare/1", "compared": compared,
                         "commands": [{"command": name, "series": series} for name in ("fast", "slow")]}))
    assert [words for words in picture.words if words in ("Energy above idle", "Energy", "Duration", "Mean power", "Mean power above idle")] == titles


def test_of_a_tape():
    done = run_wattle("run", "-f", "json", "--tape", TAPES / "server.tape")
    picture = plot("-", stdin=done.out_bytes)
    assert picture.title == "Energy of this machine"
    for one in done.json["domains"]:
        assert (one["name"] in picture.words) == (one["in_total"] and "energy_j" in one)


@pytest.mark.parametrize("by,names", [
    ("process", ["cc1 -O2 (7)", "ld (8)", "sh (9)"]),
    ("user", ["bob", "eve"]),
    ("container", ["docker/a", "in no container"]),
])
def test_who_used_it(file, by, names):
    picture = plot(file(report(processes=PROCESSES)), "--what", "processes", "--by", by)
    assert picture.title == "Who used the energy of: make -j"
    assert "Energy above idle (J)" in picture.words
    heights = [picture.at(name)[1] for name in names]
    assert heights == sorted(heights)  # the largest first
    if by == "user":
        assert "32.0 ± 3.5 J" in picture.words


def test_without_a_baseline_energies_say_so(file):
    processes = [{k: v for k, v in one.items() if k != "dynamic_j"} for one in PROCESSES]
    picture = plot(file(report(processes=processes)), "--what", "processes")
    assert "Energy, its part of idle included (J)" in picture.words


def test_top_folds_the_rest(file):
    picture = plot(file(report(processes=PROCESSES)), "--what", "processes", "--top", "1")
    assert "others" in picture.words and "ld (8)" not in picture.words
    assert "14.0 ± 1.5 J" in picture.words


def test_from_and_to(file):
    path = file(*RUNS)
    assert plot(path, "--from", "5s").title == "7 runs of: make -j"
    assert plot(path, "--to", "0.05min").title == "4 runs of: make -j"
    assert plot(path, "--from", "2026-11-21T08:00:02Z", "--to", "2026-11-21T08:00:03Z").title == "2 runs of: make -j"


def test_several_files_and_series(file):
    first = file({"schema": "wattle.series/1", "runs": RUNS[:2]}, name="a.json")
    second = file(*RUNS[2:5], name="b.json")
    assert plot(first, second).title == "5 runs of: make -j"


def test_names_never_leave_their_place(file):
    evil = "</text><script>alert('1')</script>&amp;\x1b[2J\u202e\n"
    picture = plot(file(report(command=[evil], processes=[{**PROCESSES[0], "command": evil}])), "--what", "processes")
    assert "<script>alert('1')</script>&amp;" in picture.title
    assert not list(picture.root.iter(SVG + "script"))
    assert not any("\x1b" in words or "\u202e" in words or "\n" in words for words in picture.words)


# ---- Files ----

def png_size(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    kind, width, height = struct.unpack(">4sII", data[12:24])
    assert kind == b"IHDR" and data[-8:-4] == b"IEND"
    return width, height


def test_suffixes(file, tmp_path):
    path = file(*RUNS)
    for name in ("x.svg", "x.SVG", "x.png", "x.pdf"):
        assert run_wattle("plot", path, "-o", tmp_path / name).code == 0
    assert Picture((tmp_path / "x.svg").read_bytes()).title
    assert (tmp_path / "x.svg").read_bytes() == (tmp_path / "x.SVG").read_bytes()
    assert png_size((tmp_path / "x.png").read_bytes())[0] == 2 * 960
    pdf = (tmp_path / "x.pdf").read_bytes()
    assert pdf.startswith(b"%PDF-1.") and pdf.rstrip().endswith(b"%%EOF")
    assert run_wattle("plot", path, "-o", tmp_path / "x.bin", "-f", "pdf").code == 0
    assert (tmp_path / "x.bin").read_bytes() == pdf  # the same data, the same file


def test_pdf_has_its_title_and_the_time_of_the_data(file, tmp_path):
    run_wattle("plot", file(*RUNS), "-o", tmp_path / "x.pdf")
    pdf = (tmp_path / "x.pdf").read_bytes()
    objects = pdf + b"".join(inflated(pdf))
    assert b"12 runs of: make -j" in objects
    assert b"20261121080000" in objects


def inflated(pdf):
    for match in re.finditer(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL):
        try:
            yield zlib.decompress(match.group(1))
        except zlib.error:
            pass


def test_sizes(file, tmp_path):
    path = file(*RUNS)
    assert run_wattle("plot", path, "-o", tmp_path / "x.png", "--width", "400", "--height", "500", "--scale", "3").code == 0
    assert png_size((tmp_path / "x.png").read_bytes()) == (1200, 1500)
    picture = plot(path, "--width", "500")
    assert picture.root.get("width") == "500px"
    refused(path, "-o", tmp_path / "y.png", "--width", "16000", "--scale", "8", says="out of bounds")
    assert not (tmp_path / "y.png").exists()


@pytest.mark.parametrize("width", ["400", "960"])
def test_too_little_room(file, tmp_path, width):
    """Nothing is cut off: what would be says how much room it needs, and has it then."""
    path = file(*RUNS)
    result = run_wattle("plot", path, "-o", tmp_path / "x.svg", "--width", width, "--height", "240")
    assert result.code == 1 and not (tmp_path / "x.svg").exists()
    least = re.search(rf"a picture of {width} × 240 pixels has no room for all of it: make it at least {width} × ([0-9]+)$", result.complaint())
    picture = plot(path, "--width", width, "--height", least[1])
    assert 0 < max(y for _, _, y, _ in picture.texts) <= int(least[1])
    refused(path, "-o", tmp_path / "x.svg", "--width", width, "--height", str(int(least[1]) - 1), says="no room for all of it")


def test_text_stays_on_the_paper(file):
    picture = plot(file(*RUNS), "--width", "400")
    for text, x, y, element in picture.texts:
        length = float(element.get("textLength"))
        if element.get("transform"):
            continue
        left = x - {"middle": length / 2, "end": length}.get(element.get("text-anchor"), 0)
        assert -1 <= left and left + length <= 401, (text, left, length)
        assert 0 < y <= float(picture.root.get("height")[:-2])


def test_is_the_same_everywhere(file):
    """No locale has a say in digits or units."""
    path = file(*RUNS)
    plain = run_wattle("plot", path).out_bytes
    assert run_wattle("plot", path, env={"LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Tokyo"}).out_bytes == plain


# ---- What cannot be drawn ----

def test_bad_files(file, tmp_path):
    nothing, junk = tmp_path / "nothing", tmp_path / "junk"
    nothing.write_text("")
    junk.write_bytes(b"\x00\xff not JSON")
    refused(tmp_path / "absent", "-o", tmp_path / "x.svg", says="cannot be read: No such file or directory")
    refused(tmp_path, "-o", tmp_path / "x.svg", says="cannot be read: Is a directory")
    refused(nothing, "-o", tmp_path / "x.svg", says="this is no report: it is empty")
    refused(junk, "-o", tmp_path / "x.svg", says="this is neither a recording (it is no SQLite database, or an encrypted one) nor a report")
    refused(file({"schema": "wattle.doctor/1"}), "-o", tmp_path / "x.svg", says="wattle.series/1 or wattle.compare/1")
    refused(file(RUNS[0]), junk, "-o", tmp_path / "x.svg", says=str(junk))
    assert not (tmp_path / "x.svg").exists()


def test_a_plot_of_nothing_is_one_line(file, tmp_path):
    old = tmp_path / "x.svg"
    old.write_text("as it was")
    path = file(*RUNS)
    refused(path, "-o", old, "--from", "2030-01-01T00:00:00Z", says="there is nothing to plot")
    refused(file({"schema": "wattle.report/1"}, name="e"), "-o", old, says="there is nothing to plot")
    refused(file({"schema": "wattle.series/1", "runs": []}, name="e"), "-o", old, says="there are no runs")
    refused(path, "-o", old, "--domain", "gpu-9", says="no domain 'gpu-9' has a figure there")
    for what in ("power", "memory"):
        refused(path, "-o", old, "--what", what, says=f"a report has no {what} over time")
    refused(path, "-o", old, "--what", "processes", says="is of one report, and these are 12")
    refused(path, "-o", old, "--what", "power", says="--what runs and windows can be plotted, and of one report --what processes")
    assert old.read_text() == "as it was"


def test_bad_options(file, tmp_path):
    path, out = file(*RUNS), tmp_path / "x.svg"
    for words, says in (
            ((), "which FILE?"),
            ((path, "-o", tmp_path / "x.gif"), "its name has to end in .svg, .png or .pdf"),
            ((path, "-o", tmp_path / "x"), "its name has to end in .svg, .png or .pdf"),
            ((path, "-o", out, "--format", "gif"), "--format takes svg, png or pdf, not 'gif'"),
            ((path, "-o", out, "--what", "art"), "--what takes power, processes, windows, memory, runs or emissions"),
            ((path, "-o", out, "--by", "mood"), "--by takes process, user, container or unit"),
            ((path, "-o", out, "--from", "yesterday"), "--from takes a time such as"),
            ((path, "-o", out, "--to", "-5s"), "--to takes a time such as"),
            ((path, "-o", out, "--to", "9e9d"), "--to takes a time such as"),
            ((path, "-o", out, "--from", "10s", "--to", "5s"), "--to is not after --from"),
            ((path, "-o", out, "--from", "5s", "--to", "5s"), "--to is not after --from"),
            ((path, "-o", out, "--from", "2026-11-21T14:00Z", "--to", "2026-11-21T13:00Z"), "--to is not after --from"),
            ((path, "-o", out, "--by", "user"), "--by goes with --what processes and memory"),
            ((path, "-o", out, "--by", "process", "--what", "power"), "--by goes with --what processes and memory"),
            ((path, "-o", out, "--top", "1", "--what", "runs"), "--top goes with --what processes and memory"),
            ((path, "-o", out, "--top", "8", "--what", "windows"), "--top goes with --what processes and memory"),
            ((path, "-o", out, "--domain", "dram-0", "--what", "memory"), "--domain goes with power, windows and runs, not with --what memory"),
            ((path, "-o", out, "--domain", "dram-0", "--what", "processes"), "--domain goes with power, windows and runs, not with --what processes"),
            ((path, "-o", out, "--width", "5"), "--width takes a whole number from 400 to 16000"),
            ((path, "-o", out, "--width", "240"), "--width takes a whole number from 400 to 16000"),
            ((path, "-o", out, "--height", "239"), "--height takes a whole number from 240 to 16000"),
            ((path, "-o", out, "--scale", "9"), "--scale takes a whole number from 1 to 8"),
            ((path, "-o", out, "--top", "0"), "--top takes a whole number from 1 to 100"),
            ((path, "-o", out, "--once"), "--once is for --live"),
            (("--live", "-o", out), "--live draws power in the terminal"),
            (("--live", "--what", "runs"), "--live draws power in the terminal: --what is of no use"),
            (("--live", "--scale", "3"), "--live draws power in the terminal: --scale is of no use"),
            (("--live", "--by", "process"), "--live draws power in the terminal: --by is of no use"),
            (("--live", "--top", "3"), "--live draws power in the terminal: --top is of no use"),
            ((path, "-o", out, "--redraw", "100"), "--redraw is for --live"),
            ((path, "-o", out, "-i", "100"), "--interval is for --live"),
            ((path, "-o", out, "--root", "/"), "--root is for --live"),
            ((path, "-o", out, "--ascii"), "--ascii is for --live")):
        refused(*words, code=2, says=says)
    assert not out.exists()


def test_a_place_that_cannot_be_written(file, tmp_path):
    path = file(*RUNS)
    refused(path, "-o", tmp_path / "absent" / "x.svg", says="No such file or directory")
    refused(path, "-o", "/proc/x.svg", says="cannot write '/proc/x.svg'")
    old = tmp_path / "x.svg"
    old.write_text("as it was")
    refused(path, "-o", old, "--fault", "write:1:ENOSPC", says="No space left on device")
    assert old.read_text() == "as it was"
    with open("/dev/full", "wb") as full:
        result = run_wattle("plot", path, stdout=full)
    assert result.code == 1 and "cannot write to standard output: No space left on device" in result.err


def test_a_terminal_shows_no_picture(file, terminal):
    result = terminal(command_path(), "plot", file(*RUNS)).finish()
    assert result.code == 2 and b"-o FILE says where the picture goes" in result.out_bytes


def test_without_the_library(file, tmp_path):
    """cairo is loaded when a picture is drawn: without it the rest of wattle works."""
    (tmp_path / "libcairo.so.2").write_bytes(b"no library")
    env = {"LD_LIBRARY_PATH": tmp_path}
    refused(file(*RUNS), "-o", tmp_path / "x.svg", env=env, says="plots need libcairo.so.2, which cannot be loaded")
    assert run_wattle("run", "-q", *XEON, "--", "true", env=env).code == 0


def test_the_rest_of_wattle_does_not_load_it():
    """It would cost every run 2 MB and a millisecond."""
    script = "import sys; print(open('/proc/%d/maps' % __import__('os').getppid()).read())"
    result = run_wattle("run", "-q", *XEON, "-o", "/dev/null", "--", "python3", "-S", "-c", script)
    assert result.code == 0 and "wattle" in result.out
    assert "cairo" not in result.out


@pytest.mark.parametrize("what", ("runs", "windows", "processes"))
def test_without_memory(file, tmp_path, what):
    """Each allocation fails in turn, up to where the paper is refused: what comes then is cairo's own."""
    shim = Path(os.environ.get("WATTLE_BUILD_ROOT", "/nowhere")) / "tests/alloc/libfailmalloc.so"
    if not shim.exists():
        pytest.skip("WATTLE_BUILD_ROOT does not name the build")
    reports = [report(second, processes=PROCESSES) for second in range(1 if what == "processes" else 3)]
    words = (file(*reports), "-o", tmp_path / "x.png", "--what", what, "--width", "16000", "--scale", "8")
    refused(*words, says="out of bounds", env={"LD_PRELOAD": shim, "WATTLE_TEST_ALLOC_LOG": tmp_path / "count"})
    count = int((tmp_path / "count").read_text().split()[0])
    assert 10 < count < 5000
    for n in range(1, count + 1, 1 + count // 150):
        result = run_wattle("plot", *words, env={"LD_PRELOAD": shim, "WATTLE_TEST_FAIL_ALLOC": n})
        assert result.code in (1, 2), (n, result)
        assert not result.out and len(result.err.splitlines()) <= 2, (n, result)
    assert not (tmp_path / "x.png").exists()


@pytest.mark.parametrize("shape", ["line", "pretty", "crlf", "bom"])
def test_any_layout_of_a_file(tmp_path, shape):
    text = {"line": json.dumps(RUNS[0]), "pretty": json.dumps(RUNS[0], indent=4),
            "crlf": json.dumps(RUNS[0], indent=1).replace("\n", "\r\n"), "bom": "\ufeff" + json.dumps(RUNS[0])}[shape]
    path = tmp_path / "one.json"
    path.write_bytes((text + "\n\n  " + text).encode())
    if shape == "bom":  # not JSON (RFC 8259)
        refused(path, says="nor a report (it is no JSON)")
    else:
        assert plot(path).title == "2 runs of: make -j"


def test_a_large_series(tmp_path):
    """Ten thousand runs are drawn, one more is too many."""
    line = json.dumps({k: v for k, v in RUNS[0].items() if k != "domains"}) + "\n"
    path = tmp_path / "many.json"
    path.write_text(line * 10000)
    picture = plot(path, "--what", "runs")
    assert picture.title == "10000 runs of: make -j"
    assert "10000" in picture.words and len(picture.words) < 100
    path.write_text(line * 10001)
    refused(path, says="these are more than 10000 reports")


def test_a_wide_uncertainty_is_told_not_drawn(file):
    """Of a half it has a whisker, beyond that only a figure."""
    one = report(domains=[dict(domain("package-0", 80.0), uncertainty_j=40.0), dict(domain("dram-0", 20.0), uncertainty_j=15.0)])
    picture = plot(file(one))
    level = [line for line in picture.strokes(INK) if len(line) == 2 and line[0][1] == line[1][1] and line[1][0] - line[0][0] > 20]
    heights = {line[0][1] for line in level}
    assert picture.at("80 ± 40 J")[1] - 4 in heights and picture.at("20 ± 15 J")[1] - 4 not in heights
    assert "Whiskers: ± (k = 2), up to 50 %; more only in figures." in picture.words


@pytest.mark.parametrize("times", (12, 500))
def test_titles_are_cut_in_the_middle(file, times):
    """Their ends tell them apart."""
    long = ["sh", "-c", "./fit " + "--with-a-long-option " * times + "--seed 7"]
    words = plot(file(report(command=long), report(2, command=long)), "--width", "800").words
    assert words[0].startswith("2 runs of: sh -c") and "…" in words[0] and words[0].endswith("--seed 7'"), words[0]


def test_the_title_has_what_the_command_used(file):
    picture = plot(file(report(command_energy={"dynamic_j": 20.0, "uncertainty_j": 4.0})))
    assert picture.words[1] == "command, above idle: 20.0 ± 4.0 J · machine: 100 ± 10 J · mean power 50.0 ± 5.0 W"


@pytest.mark.parametrize("energy, unit", ((0.0021, "mJ"), (2.0, "J"), (9000.0, "J"), (25e3, "kJ"), (3e7, "MJ"), (4e-7, "nJ")))
def test_units_fit_their_figures(file, energy, unit):
    picture = plot(file(report(0, energy, domains=[domain("package-0", energy)])))
    assert f"Energy ({unit})" in picture.words


# ---- Live ----

def start(screen, *options, **how):
    """Of a tape: its power stays as it was at its end."""
    return screen(command=(command_path(), "plot", "--live", "--tape", str(TAPES / "server.tape"), *options), **how)


def test_live_shows_and_gives_the_terminal_back(screen):
    live = start(screen)
    live.wait(r"wattle plot +\S+")
    live.wait(r"total +\d+\.\d W")
    text = live.text()
    assert "20s" in text and "qQuit" in text
    # What the total is the sum of, in the order that it is stacked in.
    assert re.search(r"(?s)gpu-0 +\d+\.\d W ±.*dram-0 .*package-1 .*package-0 ", text), text
    live.keys("+").wait("1min")
    live.keys("+").wait("5min")
    live.keys("-", "-").wait("20s")
    live.keys("Space").wait("held")
    live.keys("Space")
    live.wait_without("held")
    live.keys("x", "Up", "F1")  # which do nothing
    live.keys("q")
    live.wait("ENDED 0")
    assert "BEFORE" in live.text() and "total" not in live.text()


def test_live_domains_have_a_panel_each(screen):
    live = start(screen, "package-1", "--domain", "dram-0", rows=30, columns=100)
    live.wait(r"package-1 +\d+\.\d W")
    live.wait(r"dram-0 +\d+\.\d W")
    rows = {name: i for i, line in enumerate(live.text().splitlines()) for name in ("package-1", "dram-0") if name in line}
    assert rows["dram-0"] < rows["package-1"]  # options first
    # Flat and wide: side by side.
    live.resize(10, 160)
    live.wait(r"dram-0 .*package-1 ")
    live.resize(4, 20)
    live.wait("wattle plot")
    live.keys("q")
    live.wait("ENDED 0")


def test_live_says_why_there_is_nothing(screen):
    live = screen(command=(command_path(), "plot", "--live", *XEON, "package-1"))
    live.wait("package-1 +the counter stands still")
    live.keys("F10")
    live.wait("ENDED 0")


def test_live_without_such_a_domain(screen):
    live = start(screen, "gpu-7")
    live.wait("there is no (such )?domain")
    live.keys("q")
    live.wait("ENDED [01]")


def test_live_needs_a_terminal():
    result = run_wattle("plot", "--live", *XEON)
    assert result.code == 1 and "terminal" in result.err and not result.out


def test_live_once_of_a_tape():
    result = run_wattle("plot", "--live", "--once", "--tape", TAPES / "server.tape", "gpu-0", "total", env={"COLUMNS": "90"})
    assert result.code == 0, result
    assert re.search(r"(?m)^ +gpu-0 \d+\.\d W ±\d+\.\d$", result.out), result.out
    assert re.search(r"(?m)^ *[1-9]\d* W .*[\u2800-\u28ff·]", result.out), result.out  # a unit, and a grid
    assert re.search(r"20s .*now", result.out), result.out
    assert "\x1b" not in result.out and "Quit" not in result.out
    assert re.search("[\u2800-\u28ff]", result.out)
    assert max(map(len, result.out.splitlines())) <= 90
    plain = run_wattle("plot", "--live", "--once", "--ascii", "--tape", TAPES / "server.tape")
    assert plain.out.isascii() and "aaaaaa" in plain.out and re.search("a package-0 ", plain.out), plain.out


def test_live_once_names_what_there_is():
    refused("--live", "--once", "--tape", TAPES / "server.tape", "nosuch",
            says="there is no domain 'nosuch' here; there are total, package-0")


def test_live_full_disk():
    with open("/dev/full", "wb") as full:
        done = subprocess.run((command_path(), "plot", "--live", "--once", "--tape", TAPES / "server.tape"), stdout=full,
                              stderr=subprocess.PIPE, env=clean_env(), timeout=TIMEOUT, check=False)
    assert done.returncode == 1 and b"cannot write to standard output" in done.stderr


# ---- The page ----

def test_the_page_shows_what_is_drawn():
    """The picture of docs/plot.md is what its command draws from the file beside it."""
    page = (REPO / "docs" / "plot.md").read_text()
    match = re.search(r"<!-- picture of: wattle plot (\S+) -o (\S+) -->", page)
    assert match, "docs/plot.md names the command of its picture"
    shown = Picture((REPO / match[2]).read_bytes())
    drawn = plot(REPO / match[1])
    assert drawn.words == shown.words
    assert Path(REPO / match[2]).stat().st_size < 100_000
    assert f"]({Path(match[2]).name})" in page


# ---- Memory, as mprof writes it ----

MPROF = """CMDLINE python train.py
MEM 10.0 1700000000.0
MEM 90.5 1700000001.0
MEM 50.0 1700000002.5
FUNC train.fit 10.0 1700000000.0 90.5 1700000001.0
CHLD 4711 20.0 1700000000.5
CHLD 4711 30.0 1700000002.0
"""


def test_memory_of_mprof(tmp_path):
    """Drawn as a picture; tests/unit/test_plot_mprof.c has what is in it."""
    (tmp_path / "m.dat").write_text(MPROF)
    assert run_wattle("plot", tmp_path / "m.dat", "-o", tmp_path / "m.svg").code == 0
    assert ET.parse(tmp_path / "m.svg").getroot().tag == SVG + "svg"
    assert run_wattle("plot", tmp_path / "m.dat", "--what", "memory", "--from", "+1", "-o", tmp_path / "m.pdf").code == 0
    done = run_wattle("plot", tmp_path / "m.dat", "--from", "+60", "-o", tmp_path / "m.pdf")
    assert done.code == 1 and "no memory" in done.err


@pytest.mark.parametrize("text,says", [
    ("MEM 1.0\n", "line 1"),
    ("CMDLINE x\nMEM nan 1700000000\n", "line 2"),
    ("CMDLINE x\nMEM 1.0 -5\n", "line 2"),
    ("CMDLINE x\nCHLD x 1.0 5\n", "line 2"),
    ("CMDLINE x\nMEM 1.0 5\nMEM 1.0 4\n", "line 3 is not as mprof writes it: its time"),
    ("CMDLINE x\nrubbish\n", "line 2"),
    ("CMDLINE x\n", "no memory"),
])
def test_mprof_that_is_none(tmp_path, text, says):
    (tmp_path / "m.dat").write_text(text)
    done = run_wattle("plot", tmp_path / "m.dat", "-o", tmp_path / "m.svg")
    assert done.code == 1 and says in done.err and not (tmp_path / "m.svg").exists()


def test_mprof_has_memory_alone(tmp_path):
    (tmp_path / "m.dat").write_text(MPROF)
    done = run_wattle("plot", tmp_path / "m.dat", "--what", "power", "-o", tmp_path / "m.svg")
    assert done.code == 1 and "memory over time" in done.err
