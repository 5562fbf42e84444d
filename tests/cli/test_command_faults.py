# SPDX-License-Identifier: MIT
"""Each command while the machine's files fail one after the other: no crash, no silence, no half a result."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conftest import ROOTS, SCRIPTS, fake_library, parse_csv, parse_json, run_wattle

PLACES = range(1, 21)
OPS = ("open", "read", "write")
WORKERS = 8
ROOT = ("--root", ROOTS / "xeon-2s-dram")
OLD = "what was there before\n"


def each_fault(op, once):
    """once(fault, errno) at every place; several at a time."""
    faults = [f"{op}:{n}:{errno}{always}" for n in PLACES
              for errno, always in (("EIO", ""), ("ENOSPC" if op == "write" else "EACCES", ":always"))]
    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(once, faults))


def check_survived(result, fault, codes):
    assert result.code in codes, f"{fault}: {result}"
    assert "Sanitizer" not in result.err, f"{fault}: {result}"
    for line in result.err.splitlines():
        assert line.isprintable(), f"{fault}: {line!r}"
    if result.code not in (0, 3):
        assert any(line.startswith("wattle: ") for line in result.err.splitlines()), f"{fault}: silent\n{result}"


def place_of(base, fault):
    path = base / fault.replace(":", "-")
    path.mkdir()
    return path


def check_whole(path, form):
    text = path.read_text()
    if form == "json":
        assert "schema" in parse_json(text)
    elif form == "csv":
        assert parse_csv(text)
        assert text.endswith("\n")
    else:
        assert "package-0" in text and text.endswith("\n")


@pytest.mark.parametrize("form", ["text", "json", "csv"])
@pytest.mark.parametrize("op", OPS)
def test_run_with_a_file(op, form, tmp_path):
    """The file holds the whole result or what it held before; nothing lies beside it."""
    def once(fault):
        place = place_of(tmp_path, fault)
        out = place / "out"
        out.write_text(OLD)
        result = run_wattle("run", *ROOT, "--nvml", "", "--fault", fault, "-f", form, "-o", out, "--", "true")
        check_survived(result, fault, (0, 125))
        assert [p.name for p in place.iterdir()] == ["out"], fault
        if out.read_text() == OLD:
            assert result.code == 125 and "cannot write" in result.err, f"{fault}: {result}"
            return False
        assert result.code == 0, f"{fault}: {result}"
        check_whole(out, form)
        return True
    whole = each_fault(op, once)
    assert all(whole) if op != "write" else False in whole and True in whole


@pytest.mark.parametrize("op", OPS)
def test_appending(op, tmp_path):
    """What was there before stays there, whatever fails."""
    def once(fault):
        out = place_of(tmp_path, fault) / "out"
        assert run_wattle("run", *ROOT, "--nvml", "", "-f", "json", "--append", "-o", out, "--", "true").code == 0
        before = out.read_text()
        result = run_wattle("run", *ROOT, "--nvml", "", "--fault", fault, "-f", "json", "--append", "-o", out, "--", "true")
        check_survived(result, fault, (0, 125))
        after = out.read_text()
        assert after.startswith(before), fault
        lines = after.splitlines()
        assert len(lines) == (2 if result.code == 0 else 1), fault
        for line in lines:
            json.loads(line)
    each_fault(op, once)


@pytest.mark.parametrize("op", OPS)
def test_recording(op, tmp_path):
    """A recording that was made can be read, however little is in it; one that was not is said."""
    def once(fault):
        place = place_of(tmp_path, fault)
        env = {"XDG_STATE_HOME": str(place / "state")}
        result = run_wattle("record", *ROOT, "--nvml", "", "--fault", fault, "-o", "a.wattle", "--", "true", cwd=place, env=env)
        check_survived(result, fault, (0, 1, 125))
        path = place / "a.wattle"
        if result.code != 0 and not path.exists():
            return
        report = run_wattle("report", "-f", "json", path, env=env)
        check_survived(report, fault, (0, 1, 3))
        if report.code == 0:
            assert "schema" in report.json
        if result.code == 0:
            assert report.code == 0, f"{fault}: {result}\n{report}"
        for what in ("samples", "windows"):
            table = run_wattle("export", "--what", what, path, env=env)
            check_survived(table, fault, (0, 1))
            if table.code == 0:
                parse_csv(table.out)
    if op == "write":
        each_fault(op, once)
    else:  # each takes a while
        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(once, [f"{op}:{n}:EIO" for n in PLACES]))


@pytest.mark.parametrize("op", OPS)
def test_a_tape(op, tmp_path):
    """A tape of a machine that fails is a tape all the same."""
    def once(fault):
        place = place_of(tmp_path, fault)
        result = run_wattle("doctor", *ROOT, "--nvml", "", "--fault", fault, "-f", "json", "--tape-record", place / "t.tape")
        check_survived(result, fault, (0, 1, 3))
        if result.code == 1:
            return
        again = run_wattle("doctor", "--tape", place / "t.tape", "-f", "json")
        assert again.code == result.code, f"{fault}: {result}\n{again}"
        first, second = result.json, again.json
        assert [d["name"] for d in first["domains"]] == [d["name"] for d in second["domains"]]
        assert [d.get("energy_j") for d in first["domains"]] == [d.get("energy_j") for d in second["domains"]]
    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(once, [f"{op}:{n}:EIO" for n in PLACES]))


@pytest.mark.parametrize("op", OPS)
def test_doctor(op, tmp_path):
    def once(fault):
        result = run_wattle("doctor", *ROOT, "--nvml", "", "--fault", fault, "-f", "json")
        check_survived(result, fault, (0, 1, 3))
        if result.code == 1:
            return
        for domain in result.json["domains"]:
            assert "energy_j" in domain or domain["reason"], f"{fault}: {domain}"
        for source in result.json["sources"]:
            assert source["reason"], f"{fault}: {source}"
    each_fault(op, once)


@pytest.mark.parametrize("op", ["open", "read"])
def test_top(op, tmp_path):
    def once(fault):
        result = run_wattle("top", "--once", *ROOT, "--nvml", "", "--config", tmp_path / "none", "--fault", fault)
        check_survived(result, fault, (0, 1, 3))
        if result.code == 0:
            assert "package" in result.out or "no " in result.out, f"{fault}: {result}"
    each_fault(op, once)


QUERIES = [("-L",), ("-q", "-x"), ("--query-gpu=name,power.draw", "--format=csv"), ("--query-domain=name,kind",
                                                                              "--format=csv"), ("pmon", "-c", "1")]


@pytest.mark.parametrize("words", QUERIES, ids=lambda words: words[0].strip("-").partition("=")[0])
def test_query(words):
    env = {"WATTLE_FAKE_NVML": str(SCRIPTS / "a100.nvml")}
    good = run_wattle("query", *words, "--nvml", fake_library(), env=env)

    def once(fault):
        result = run_wattle("query", *words, "--nvml", fake_library(), "--fault", fault, env=env)
        check_survived(result, fault, (0, 1, 2, 3, good.code))
        if words == ("-q", "-x") and result.code == 0:
            assert result.out.rstrip().endswith("</nvidia_smi_log>"), fault
        if result.code == 0 and words == ("-L",):
            assert result.out.startswith("GPU 0: "), f"{fault}: {result}"
    for op in ("open", "read", "lib"):
        each_fault(op, once)


def test_query_into_a_file(tmp_path):
    env = {"WATTLE_FAKE_NVML": str(SCRIPTS / "a100.nvml")}

    def once(fault):
        place = place_of(tmp_path, fault)
        result = run_wattle("query", "-q", "-x", "-f", place / "out.xml", "--nvml", fake_library(), "--fault", fault, env=env)
        check_survived(result, fault, (0, 1, 3))
        names = [p.name for p in place.iterdir()]
        assert names in ([], ["out.xml"]), fault
        if names and result.code == 0:
            assert (place / "out.xml").read_text().rstrip().endswith("</nvidia_smi_log>")
        assert names or result.code != 0, f"{fault}: {result}"
    for op in OPS:
        each_fault(op, once)


@pytest.mark.parametrize("op", [*OPS, "lib"])
def test_limit_leaves_nothing_behind(op, tmp_path):
    """Whatever fails: the command is not run without its limit, and no note of a limit stays that is not needed."""
    script = tmp_path / "one.nvml"
    script.write_text("gpu Fake\n  power 0 const 100\n")
    env = {"WATTLE_FAKE_NVML": str(script)}

    def once(fault):
        place = place_of(tmp_path, fault)
        ran = place / "ran"
        result = run_wattle("limit", "-i", "0", "-p", "250", "--state", place / "state", "--nvml", fake_library(),
                            "--fault", fault, "--", "touch", ran, env=env)
        check_survived(result, fault, (0, 1, 2, 3, 125))
        assert ran.exists() or result.code != 0, f"{fault}: {result}"
        left = [p.name for p in Path(place / "state").rglob("*") if p.name.endswith(".tmp")]
        assert left == [], f"{fault}: {left}"
    each_fault(op, once)


def test_files_that_only_a_reader_needs(tmp_path):
    """report, export, plot and mark take no --fault: what is no recording is said in a line."""
    bad = {"empty": b"", "text": b"hello\n" * 100, "nul": bytes(5000), "sqlite": b"SQLite format 3\0" + bytes(4080)}
    for name, data in bad.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "dir").mkdir()
    os.symlink("loop", tmp_path / "loop")
    before = sorted(p.name for p in tmp_path.iterdir())
    for name in (*bad, "dir", "loop", "none"):
        for words in (("report",), ("export",), ("plot", "-o", "picture.svg"), ("report", "--check")):
            result = run_wattle(*words, name, cwd=tmp_path, env={"XDG_RUNTIME_DIR": tmp_path})
            assert result.code in (1, 2, 3), (words, name, result)
            assert result.out == "" or "--check" in words
            assert name in result.err + result.out and len(result.err.splitlines()) <= 1
    assert sorted(p.name for p in tmp_path.iterdir()) == before
