# SPDX-License-Identifier: MIT
"""docs/recording.md says all there is to say: a reader made from it alone reads what the library wrote."""

import os
import re
import shlex
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest

from conftest import REPO, run_wattle
from recording import Recording, decode_block

PAGE = REPO / "docs" / "recording.md"
FIXTURES = REPO / "tests" / "fixtures" / "recordings"
QUERY = re.compile(r"```\n\$ (?P<command>sqlite3 [^\n]*)\n(?P<text>.*?)```\n", re.DOTALL)
VALUES = 25 * 20  # tests/unit/test_store_versions.c
MASK = 2 ** 64 - 1


def noise(i):
    x = i * 0x9E3779B97F4A7C15 & MASK
    x ^= x >> 29
    return x - 2 ** 64 if x >> 63 else x


EXPECTED = {
    "clock": [i * 1000000 + 17 for i in range(VALUES)],
    "noise": [noise(i) for i in range(VALUES)],
    "steps": [i // 100 % 7 * 5000 - 10000 for i in range(VALUES)],
}


@pytest.fixture(name="copy")
def copied(tmp_path):
    """copy("v1.wattle"): SQLite lays its helpers beside one that was cut off."""
    return lambda name: Path(shutil.copy(FIXTURES / name, tmp_path / name))


@pytest.fixture(name="newest", scope="module")
def newest_recording(tmp_path_factory):
    """As this wattle makes it: v1.wattle lacks the columns that came later."""
    path = tmp_path_factory.mktemp("newest") / "x.wattle"
    done = run_wattle("run", "-q", "--tape", REPO / "tests" / "fixtures" / "tapes" / "busy-thread.tape", "--record", path)
    assert done.code == 0, done.err
    return Recording(path)


@pytest.mark.parametrize("name", ["v1.wattle", "v1-cut.wattle"])
def test_values_are_what_was_put(copy, name):
    recording = Recording(copy(name))
    assert set(recording.series) == set(EXPECTED)
    for series, values in EXPECTED.items():
        assert recording.values(series) == values, series


@pytest.mark.parametrize("name", ["v1.wattle", "v1-cut.wattle"])
def test_every_checksum_fits(copy, name):
    recording = Recording(copy(name))
    rows = {table: len(list(recording.rows(table))) for table in recording.tables()}
    kept_as = {"part": "chunk", "chunk": "part"}
    for table, count in rows.items():
        assert count or rows[kept_as[table]], table


def test_blocks_of_the_page():
    page = PAGE.read_text(encoding="utf-8")
    shown = [bytes.fromhex(text) for text in re.findall(r"`((?:[0-9a-f]{2} )+[0-9a-f]{2})`", page)]
    assert len(shown) == 2
    for block in shown:
        assert decode_block(block) == [1000, 1010, 1020, 1030, 1020]


def test_page_has_every_table_and_column(newest):
    page = PAGE.read_text(encoding="utf-8")
    sections = dict(re.findall(r"^### ([a-z]+)\n(.*?)(?=^##)", page, re.MULTILINE | re.DOTALL))
    assert set(sections) == set(newest.tables())
    for table, text in sections.items():
        told = [column for cell in re.findall(r"^\| (\*?`[^|]*) \|", text, re.MULTILINE)
                for column in re.findall(r"`([a-z_]+)`", cell)]
        columns = newest.columns(table)
        assert sorted([*told, "crc"]) == sorted(columns), table


# Each struct that a table keeps: where it is, and what its members are called there, if not the same. None: kept otherwise.
KEPT = [
    ("domain", "src/record/store.h", "wtl_stored_domain", {"primary": "primary_channel", "check": "check_channel"}),
    ("channel", "src/energy/catalog.h", "wtl_channel", {"unit": "unit_num", "class": "has_class", "serial": None,
                                                            "fresh_ns": None}),
    ("channel", "src/energy/units.h", "wtl_unit", {"num": "unit_num", "den": "unit_den"}),
    ("channel", "src/energy/sensor_class.h", "wtl_sensor_class", {"": "class_"}),
    ("miss", "src/energy/catalog.h", "wtl_miss", {}),
    ("consumer", "src/record/store.h", "wtl_stored_consumer", {"consumer": "pid", "group": "has_group", "per_cpu": "per_cpu_uw"}),
    ("consumer", "src/energy/consumer.h", "wtl_consumer", {"group": "has_group", "sets": None, "watts_key": None}),
    ("consumer", "src/energy/consumer.h", "wtl_group", {"step": None}),
    ("window", "src/record/store.h", "wtl_stored_window", {"total": None, "energies": None, "n_energies": None}),
    ("energy", "include/wattle.h", "wattle_energy", {"size": None}),
    ("gap", "src/record/store.h", "wtl_stored_gap", {}),
    ("account", "src/record/store.h", "wtl_stored_account", {}),
    ("baseline", "src/record/store.h", "wtl_stored_baseline", {"baseline": "is_known"}),
    ("baseline", "src/energy/baseline.h", "wtl_baseline", {}),
]


def members(header, struct):
    text = re.sub(r"/\*.*?\*/", "", (REPO / header).read_text(encoding="utf-8"), flags=re.DOTALL)
    body = re.search(r"^struct %s \{\n(.*?)^\};" % struct, text, re.MULTILINE | re.DOTALL)[1]
    for line in body.split(";"):
        for declarator in line.split(","):
            name = re.search(r"(\w+)\s*(?:\[[^\]]*\])?\s*$", declarator)
            if name:
                yield name[1]


@pytest.mark.parametrize("table, header, struct, called", KEPT, ids=lambda value: value if isinstance(value, str) else "")
def test_no_member_is_forgotten(newest, table, header, struct, called):
    """A new member of a struct that is not in its table would be lost without a word."""
    columns = newest.columns(table)
    found = list(members(header, struct))
    assert len(found) >= 2
    for member in found:
        column = called.get(member, called.get("", "") + member)
        assert column is None or column in columns, f"{struct}.{member}"


def answer(command):
    """What sqlite3 prints: columns between bars."""
    _, path, query = shlex.split(command)
    rows = sqlite3.connect(f"file:{REPO / path}?mode=ro", uri=True).execute(query)
    return "".join("|".join("" if cell is None else str(cell) for cell in row) + "\n" for row in rows)


@pytest.mark.parametrize("match", list(QUERY.finditer(PAGE.read_text(encoding="utf-8"))), ids=lambda match: match["text"][:20])
def test_pasted_answers_are_the_queries(match):
    assert answer(match["command"]) == match["text"]


def test_there_are_queries():
    assert len(QUERY.findall(PAGE.read_text(encoding="utf-8"))) >= 4


def test_what_wattle_records_is_read(tmp_path):
    """The command's own: ops and their values belong together, however they are coded."""
    path = tmp_path / "r.wattle"
    result = run_wattle("record", "--tape", REPO / "tests" / "fixtures" / "tapes" / "server.tape", "-o", path)
    if "built without recordings" in result.err:
        pytest.skip("built without recordings")
    assert result.code == 0, result
    recording = Recording(path)
    for table in recording.tables():
        list(recording.rows(table))
    ops = recording.values("op")
    assert ops.count(0) == len(recording.values("sample.mono")) > 10
    for channel in recording.rows("channel"):
        at = recording.values(f"ch.{channel['id']}.at")
        assert len(at) == ops.count(0)
        assert len(recording.values(f"ch.{channel['id']}.value")) == sum(when != 0 for when in at)
    assert sum(recording.values("change.count")) == len(recording.values("change.by"))


def test_what_was_watched_first_has_no_energy(tmp_path):
    """With --idle-first the first window is cancelled: its rows have no figures, also those that were told while it was open."""
    path, script = tmp_path / "r.wattle", REPO / "tests" / "fake" / "scripts" / "two.nvml"
    result = run_wattle("record", "-q", "--nvml", os.environ["WATTLE_NVML_LIBRARY"], "--idle-first", "3", "--duration", "1.2", "-o", path,
                        env={"WATTLE_FAKE_NVML": script, "XDG_RUNTIME_DIR": tmp_path, "XDG_STATE_HOME": tmp_path})
    if "built without recordings" in result.err:
        pytest.skip("built without recordings")
    assert result.code == 0, result
    windows = {window["id"]: window for window in Recording(path).rows("window")}
    assert [window["name"] for window in windows.values()] == ["recording"] * 2
    assert windows[1]["duration_ns"] == 0 and not windows[1]["is_open"] and windows[2]["duration_ns"] > 10**9
    rows = list(Recording(path).rows("energy"))
    assert {row["domain"] for row in rows if row["window"] == 1} == {row["domain"] for row in rows if row["window"] == 2}
    assert not any(row["has_energy"] or row["energy_uj"] for row in rows if row["window"] == 1)
    assert any(row["has_energy"] for row in rows if row["window"] == 2)


def paste():
    def renew(match):
        return f"```\n$ {match['command']}\n{answer(match['command'])}```\n"
    PAGE.write_text(QUERY.sub(renew, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["--paste"]:
        sys.exit("usage: test_recording.py --paste")
    paste()
