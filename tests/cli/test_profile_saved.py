# SPDX-License-Identifier: MIT
"""Profiles in files (.wprof): all of a profile is in them, and what is no profile is refused."""

import re
import struct
import subprocess
import zlib

import pytest

from conftest import REPO, parse_json, run_wattle
from test_profile import built_program, check_sums  # noqa: F401 (a fixture)

FILES = ["p.html", "p.svg", "p.json", "p.csv", "p.folded", "p.speedscope.json", "p.pb.gz", "p.pstats", "p.callgrind", "p.firefox.json",
         "p.trace.json", "p.dot", "p.pyisession"]
HEAD = 17 + 8 + 1  # the version, the length and sum of what follows, how that is kept


@pytest.fixture(name="kept", scope="session")
def taken_once(program, tmp_path_factory):
    path = tmp_path_factory.mktemp("kept") / "p.wprof"
    result = run_wattle("profile", "-o", path, "--", program, "threads")
    assert result.code == 0 and result.out == "", result
    return path, result.err


@pytest.mark.parametrize("name", FILES)
def test_a_file_has_all_that_formats_have(program, name, tmp_path):
    """What is written of the file is what was written when the command had run, to the byte."""
    live, again = tmp_path / "live", tmp_path / "again"
    live.mkdir()
    again.mkdir()
    taken = run_wattle("profile", "-q", "--keep", tmp_path / "p.wprof", "-o", live / name, "--location", "360", "--", program, "brief", "a b", "\x1b")
    assert taken.code == 0 and taken.err == "", taken
    shown = run_wattle("profile", "show", tmp_path / "p.wprof", "-o", again / name)
    assert shown.code == 0 and shown.out == shown.err == "", shown
    assert [path.name for path in sorted(live.iterdir())] == [path.name for path in sorted(again.iterdir())]
    for path in live.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes()


@pytest.mark.parametrize("options", [(), ("--table",), ("--table", "--sort", "cpu")])
def test_a_file_has_the_views(program, options, tmp_path):
    live = run_wattle("profile", "--keep", tmp_path / "p.wprof", *options, "--", program, "brief")
    shown = run_wattle("profile", "show", *options, tmp_path / "p.wprof")
    assert live.code == shown.code == 0 and shown.err == "" and shown.out == live.err and "measured in all" in shown.out


def test_a_file_has_the_memory(program, tmp_path):
    live = run_wattle("profile", "--memory", "--keep", tmp_path / "p.wprof", "-o", tmp_path / "p.dat", "--", program, "grows")
    assert live.code == 0 and "grows" in live.err
    assert run_wattle("profile", "show", tmp_path / "p.wprof").out == live.err
    assert run_wattle("profile", "show", tmp_path / "p.wprof", "-o", tmp_path / "again.dat").code == 0
    assert (tmp_path / "again.dat").read_bytes() == (tmp_path / "p.dat").read_bytes() != b""


def test_a_file_without_memory(kept, tmp_path):
    shown = run_wattle("profile", "show", kept[0], "-o", tmp_path / "p.dat")
    assert shown.code == 125 and "--memory" in shown.complaint() and not (tmp_path / "p.dat").exists()


def test_a_file_of_a_file(kept, tmp_path):
    path, text = kept
    assert run_wattle("profile", "show", path, "-o", tmp_path / "again.wprof").code == 0
    assert (tmp_path / "again.wprof").read_bytes() == path.read_bytes()
    assert run_wattle("profile", "show", tmp_path / "again.wprof").out == text


def test_another_place(kept, tmp_path):
    """Its emissions are of where it was taken, unless an option says so."""
    path, _ = kept
    shown = {}
    for grams in ("100", "200"):
        run_wattle("profile", "show", path, "--location", grams, "-o", tmp_path / "p.json")
        shown[grams] = parse_json((tmp_path / "p.json").read_text())
        check_sums(shown[grams])
    main = {grams: next(row for row in shown[grams]["functions"] if row["function"] == "in_thread") for grams in shown}
    if main["100"]["energy_j"] > 0:
        assert float(main["200"]["co2e_g"]) == pytest.approx(2 * float(main["100"]["co2e_g"]), abs=3e-6)


def test_a_program_that_is_called_show(tmp_path):
    (tmp_path / "show").write_text("#!/bin/sh\nexit 7\n")
    (tmp_path / "show").chmod(0o755)
    assert run_wattle("profile", "-q", "--", "./show", cwd=tmp_path).code == 7
    assert run_wattle("profile", "-q", "--", "show", env={"PATH": f"{tmp_path}:/usr/bin:/bin"}).code == 7


@pytest.mark.parametrize("words, says", [
    ((), "one file"), (("a", "b"), "one file"), (("none.wprof",), "No such file"), ((".",), "directory"),
    (("--rate", "100", "a"), "--rate"), (("--wall", "a"), "--wall"), (("--pid", "1", "a"), "--pid"), (("-o", "x.what", "a"), ".pb.gz"),
    (("--sort", "cpu", "a"), "--sort is for --table"), (("--fail-strict", "a"), "--fail-strict is for --fail-if"),
    (("--window=", "a"), "--window takes a NAME"),
])
def test_what_show_does_not_take(words, says, tmp_path):
    shown = run_wattle("profile", "show", *words, cwd=tmp_path)
    assert shown.code == 125 and says in shown.complaint() and list(tmp_path.iterdir()) == []


def test_files_that_are_none(kept, tmp_path):
    """Cut anywhere, and with any byte changed: one line. A few bits of what zstd wrote say nothing: then it is the same profile."""
    good = kept[0].read_bytes()
    sound = run_wattle("profile", "show", kept[0]).out
    bad = {"empty": b"", "text": b"hello\n", "longer": good + b"\0", "newer": good.replace(b"profile 3\n", b"profile 4\n", 1),
           "random": bytes(range(256)) * 40}
    bad.update({f"cut{n}": good[:n] for n in (1, 16, 20, HEAD, HEAD + 1, len(good) // 2, len(good) - 1)})
    for n in (0, 15, 17, 21, HEAD - 1, HEAD, HEAD + 20, len(good) - 30, len(good) - 1):
        bad[f"changed{n}"] = good[:n] + bytes([good[n] ^ 0x41]) + good[n + 1:]
    for name, data in bad.items():
        (tmp_path / "p.wprof").write_bytes(data)
        shown = run_wattle("profile", "show", tmp_path / "p.wprof")
        if name == f"changed{HEAD + 20}" and shown.code == 0:
            assert shown.out == sound
            continue
        assert shown.code == 125 and shown.out == "" and "p.wprof" in shown.complaint(), (name, shown)
    assert "newer wattle" in run_wattle("profile", "show", write(tmp_path / "n.wprof", bad["newer"])).complaint()


@pytest.mark.parametrize("seed, version", [("version1", 1), ("small", 2), ("python", 2), ("version3", 3)])
def test_files_that_fuzzing_begins_with(seed, version, tmp_path):
    """They are sound, or hardly anything is fuzzed. Version 1 does not have what the profiler itself used."""
    content = (REPO / "tests" / "fuzz" / "corpus" / "wprof" / seed).read_bytes()
    head = b"wattle profile %d\n" % version + struct.pack("<II", len(content), zlib.crc32(content)) + b"\0"
    shown = run_wattle("profile", "show", write(tmp_path / "p.wprof", head + content))
    assert ("computed again with --policy" in shown.out) == (version == 3)
    assert shown.code == 0 and ("wattle among them" in shown.out) == ("profiler itself" not in shown.out) == (version == 1), shown
    assert run_wattle("profile", "show", tmp_path / "p.wprof", "-q", "-o", tmp_path / "p.json").code == 0
    assert ("profiler_j" in parse_json((tmp_path / "p.json").read_text())["sums"][-1]) == (version >= 2)


def write(path, data):
    path.write_bytes(data)
    return path


def test_nothing_reads_a_pipe_for_ever(tmp_path):
    subprocess.run(["mkfifo", tmp_path / "pipe"], check=True)
    assert run_wattle("profile", "show", tmp_path / "pipe").code == 125


def test_a_disk_that_is_full(program, tmp_path):
    """One line says so; the tree and the other file are there all the same."""
    taken = run_wattle("profile", "-q", "-o", "/dev/full", "-f", "wprof", "--", program, "brief")
    assert taken.code == 125 and "cannot write the profile to '/dev/full'" in taken.err and "measured in all" in taken.err
    taken = run_wattle("profile", "-q", "--keep", "/dev/full", "-o", tmp_path / "p.json", "--", program, "brief")
    assert taken.code == 125 and "cannot write the profile to '/dev/full'" in taken.err
    check_sums(parse_json((tmp_path / "p.json").read_text()))


def test_one_file_for_both(tmp_path):
    taken = run_wattle("profile", "--keep", "p.wprof", "-o", "p.wprof", "--", "touch", "ran", cwd=tmp_path)
    assert taken.code == 125 and "--keep" in taken.complaint() and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sort, column", [("energy", 0), ("calls", 1), ("cpu", 2), ("samples", 3)])
def test_tables_are_sorted(kept, sort, column):
    shown = run_wattle("profile", "show", kept[0], "--table", "--sort", sort)
    rows = re.findall(r"^ +(\d+\.\d+) ± +\d+\.\d+ +(\d+\.\d+) +(\d+\.\d+) +(\d+)  ", shown.out, re.M)
    values = [float(row[column]) for row in rows]
    assert values == sorted(values, reverse=True) and shown.code == 0
    assert sort == "energy" or rows


@pytest.mark.parametrize("name", ["p.json", "-", "p", "p.wprof.html"])
def test_what_is_kept_is_called_so(name, tmp_path):
    taken = run_wattle("profile", "--keep", name, "--", "touch", "ran", cwd=tmp_path)
    assert taken.code == 125 and "ends in .wprof" in taken.complaint() and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options, says", [(("--fail-strict",), "--fail-strict is for --fail-if"), (("--window=",), "--window takes a NAME"),
                                           (("--sort", "cpu"), "--sort is for --table")])
def test_options_of_no_use(options, says, tmp_path):
    taken = run_wattle("profile", *options, "--", "touch", "ran", cwd=tmp_path)
    assert taken.code == 125 and says in taken.complaint() and list(tmp_path.iterdir()) == []


def test_where_the_electricity_comes_from(kept):
    """Emissions are told with what they are computed with."""
    shown = run_wattle("profile", "show", kept[0], "--location", "380", "--pue", "1.25", "-f", "json").json
    if "energy_j" not in shown:
        pytest.skip("no energy is known here")
    assert (shown["carbon"]["intensity_g_per_kwh"], shown["carbon"]["pue"], shown["carbon"]["location_is_default"]) == (380, 1.25, False)
    page = run_wattle("profile", "show", kept[0], "--location", "380", "--pue", "1.25", "-f", "html", "-o", "-").out
    assert "emissions at 380.0 g/kWh (as given) with PUE 1.25" in page


def test_what_rows_leave_out_is_counted(kept, tmp_path):
    """All calls that are not shown, with those that they called; their joules once. Folded ones are counted apart."""
    run_wattle("profile", "show", kept[0], "-o", tmp_path / "p.json")
    rows = [row for row in parse_json((tmp_path / "p.json").read_text())["calls"] if row["function"] not in ("[not seen]", "[at an unknown time]")]
    for n_rows in (1, 2, 4):
        shown = run_wattle("profile", "show", kept[0], "--rows", str(n_rows)).out
        left_out = [int(n) for n in re.findall(r" J in (\d+) .*not shown$", shown, re.M)]
        folded = [int(n) for n in re.findall(r"^(\d+) calls of libraries", shown, re.M)]
        assert sum(left_out) == len(rows) - n_rows - sum(folded) > 2, shown
        assert sum(folded) == sum(map(int, re.findall(r"\[(\d+) calls folded\]$", shown, re.M))), shown
        assert not re.search(r"calls folded\]\n(?! +~?\d+\.\d+ ±)", shown), "what they lead to is below"


def test_the_status_of_the_command_is_not_lost(program, tmp_path):
    """125 is wattle's; what the command ended with is said."""
    taken = run_wattle("profile", "-q", "-o", "/dev/full", "-f", "wprof", "--", program, "none", "7")
    assert taken.code == 125 and re.search(r"^wattle: .*the command's own was 7$", taken.err, re.M), taken.err


def test_profiles_are_not_plotted(kept, tmp_path):
    """Which file is, is said."""
    plotted = run_wattle("plot", kept[0], "-o", tmp_path / "p.svg")
    assert plotted.code == 1 and "profile show" in plotted.complaint() and ".dat" in plotted.complaint()
    (tmp_path / "x.txt").write_text("hello\n")
    assert ".dat" in run_wattle("plot", tmp_path / "x.txt", "-o", tmp_path / "p.svg").complaint()
