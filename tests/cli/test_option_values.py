# SPDX-License-Identifier: MIT
"""Every option that takes a value, of every command, with values that are none: one clear line each.

The table below must name all that --help lists, so that a new option cannot be forgotten here.
"""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import ROOTS, run_wattle

HUGE = "9" * 30
ROOT = ("--root", ROOTS / "vm-nothing")
TIME = "a time such as"
WEIGHT = "cpu-time, instructions, cycles or learned"
FREE = None  # any text may be right: only what wattle says of it is looked at

# Options that mean the same wherever they are.
SHARED = {
    "interval": "1 to 60000",
    "redraw": "50 to 10000",
    "location": "a country's letters",
    "pue": "a factor from 1 to 10",
    "idle-first": "3 to 3600",
    "weight": WEIGHT,
    "idle-file": FREE,
    "output": FREE,
    "root": FREE,
    "tape": FREE,
    "tape-record": FREE,
    "mode": "an octal mode from 0600 to 0666",
    "nvml": FREE,
    "gpus": FREE,
    "fault": "OP:N",
}

# command -> (the words that stand after the option, option -> what the complaint says that it takes)
TABLE = {
    "calibrate": (("none.wattle",), {"wattmeter": FREE, "columns": FREE, "of": FREE, "load": FREE, "duration": "seconds from 10 to 600|is for --sensor"}),
    "run": (("--", "true"), {
        "repeat": "1 to 1000", "max-repeat": "1 to 1000", "until": "100%|such as 0.02", "format": "text, json, ndjson or csv",
        "top": "0 to 65536", "record": FREE, "emissions": FREE, "emissions-format": "2023 or latest", "every": "seconds from 0.01 to 86400",
    }),
    "compare": (("true", "true"), {
        "repeat": "1 to 1000", "max-repeat": "1 to 1000", "until": "100%|such as 0.02", "warmup": "0 to 1000",
        "format": "text, json, ndjson, csv or markdown", "energy": "best, dynamic or machine", "prepare": FREE,
        "command-name": FREE,
    }),
    "record": (("--", "true"), {
        "duration": "a time from 100ms to 366 days", "max-age": "a time from 100ms to 366 days", "max-size": "a size of at least 256k",
        "pid": "1 to 1073741824", "container": FREE, "unit": FREE,
        "profile-rate": "1 to 10000|is for --profile",
    }),
    "report": (("none.wattle",), {
        "unit-count": "1 to", "embodied": "grams such as 14.96", "from": TIME, "to": TIME, "by": "process, user, command", "top": "0 to 65536", "policy": "idle=recorded",
        "format": "text, json, ndjson or csv", "intensity": FREE,
        "intensity-token": FREE,
    }),
    "export": (("none.wattle",), {"format": "csv, json or ndjson", "what": "samples, power, processes", "to": "codecarbon"}),
    "import": (("none.csv", "-o", "none.wattle"), {
        "from": "nvidia-smi", "time-zone": "a zone that this machine knows", "start": TIME + "|a date and time|none.csv",
        "interval": "1ms to 1d", "columns": FREE, "domain": FREE,
    }),
    "mark": (("begin", "x"), {"file": FREE}),
    "top": (("--once",), {
        "rows": "0 to 900", "filter": FREE, "sort": "there is no field", "config": FREE, "replay": FREE,
        "speed": "0.1 to 1000, or max|is for --replay", "at": TIME + "|is for --replay",
    }),
    "plot": (("none.wattle",), {
        "format": "svg, png or pdf", "what": "power, processes, windows", "by": "process, user, container or unit",
        "domain": FREE, "top": "1 to 100", "from": TIME, "to": TIME, "width": "400 to 16000", "height": "240 to 16000",
        "scale": "1 to 8",
    }),
    "profile": (("--", "true"), {
        "keep": FREE, "sort": "energy, calls, cpu, samples or wall", "window": FREE, "fail-if": "an expression such as", "rate": "1 to 10000",
        "stack": "1024 to 65528", "format": "text, wprof, html, svg", "pid": "1 to 1073741824", "kineto": FREE,
        "duration": "a time from 100ms to a day", "rows": "1 to 10000", "policy": "idle=recorded", "from": TIME + "|is for wattle profile show",
        "to": TIME + "|is for wattle profile show",
    }),
    # Listening fails where no interface has the address: else it would serve without an end.
    "serve": (("--port", "1", "--address", "192.0.2.1", "--insecure-listen"), {
        "port": "0 to 65535", "address": FREE, "web-config": FREE, "compat": "kepler, dcgm, scaphandre, node or aipowermeter",
        "host": FREE, "store": FREE, "max-size": "a size of at least 2M", "socket": FREE, "share-with": "group or everyone",
        "limit-group": "there is no group",
        "max-age": "a time from 1h to ten years",
        "push": FREE, "push-interval": "a time from 1s to 1h", "push-as": "remote-write or influx", "push-label": FREE, "push-verify": FREE,
        "push-headers": FREE, "push-ca": FREE, "push-certificate": FREE,
    }),
    "doctor": ((), {"format": "text, json, ndjson or csv"}),
    "query": ((), {
        "query-gpu": FREE, "query-compute-apps": FREE, "query-accounted-apps": FREE, "query-domain": FREE,
        "format": FREE, "id": FREE, "gpus": FREE, "loop": "seconds from 0.001 to 86400", "loop-ms": "milliseconds from 1",
        "count": "1 to 4294967295", "filename": FREE, "select": FREE, "delay": "seconds from 0.001 to 86400", "display": FREE,
        "options": FREE,
    }),
    "limit": (("-i", "0", "-p", "250", "--", "true"), {
        "id": FREE, "gpus": FREE, "power": "watts such as 250", "persistence": "on or off", "state": FREE,
    }),
    # Of the device: else the options for prices are refused before their values are looked at.
    "estimate": (("none.onnx", "--device", "horowitz-45nm"), {
        "format": "text, json, ndjson, csv or markdown", "dim": FREE, "input": FREE, "device": FREE, "devices": FREE,
        "as": "both, ann or snn", "steps": "numbers from 1 to 1000000000", "rates": FREE, "neuron": "none, if, lif, alif or tc-lif",
        "memory": "local, dram-once, dram-per-use or none", "sram": "horowitz, lemaire-2022 or packed64",
        "rules": "own or lemaire-2022", "precision": "own, fp64, fp32", "reuse": "1 to 1000000000", "hops": "1 to 1000000", "paper": FREE, "lint": FREE,
        "python": FREE, "repeat": "1 to 1000",
    }),
    "help": ((), {"man": FREE, "completion": FREE}),
}
USAGE = {"run": 125, "compare": 125, "limit": 125, "profile": 125}
BAD = ["", "rubbish", HUGE, "-" + HUGE, "-1", "a\x1b[31mb\nc\td", "x" * 5000, "1 2", "0x1", "nan", "１"]


def valued(command):
    """The options of --help that take a value, as the help spells their values."""
    page = run_wattle(command, "--help").out
    return dict(re.findall(r"^  (?:-\w, |    )--([\w-]+)=(.+?)(?:  |$)", page, re.M))


def said(command):
    return {**{name: says for name, says in SHARED.items() if name in valued(command)}, **TABLE[command][1]}


def check_is_printable(result):
    """Whatever was typed: no control character gets to the terminal, and no line is endless."""
    for line in result.err.splitlines():
        assert line.isprintable(), line
        assert len(line) < 6000


@pytest.mark.parametrize("command", TABLE)
def test_the_table_names_every_option(command):
    extra = set(TABLE[command][1]) - set(valued(command)) - {"man", "completion"}
    assert extra == set(), "the help does not list them"
    assert set(valued(command)) - set(said(command)) == set(), "they are not in the table"


def options_of(command, is_free):
    """Those whose values are free, or those that take something certain; the machine's --fault apart."""
    return [name for name, says in said(command).items() if (says is FREE) == is_free and name != "fault"]


def at_once(function, works):
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(lambda work: function(*work), works))


@pytest.mark.parametrize("command", [c for c in TABLE if c not in ("mark", "calibrate", "help")])
def test_values_that_are_none(command, tmp_path):
    told = said(command)

    def once(name, value):
        result = run_wattle(command, f"--{name}={value}", *TABLE[command][0], cwd=tmp_path)
        line = result.complaint()
        assert result.code == USAGE.get(command, 2), (name, value, result)
        assert result.out == ""
        assert line.startswith(f"wattle: {command}: --{name}"), line
        assert any(word in line for word in told[name].split("|")), line
        check_is_printable(result)
        if value and len(value) < 100 and value.isprintable():
            assert f"'{value}'" in line or value == HUGE
    names = options_of(command, is_free=False)
    assert names
    at_once(once, [(name, value) for name in names for value in BAD])
    assert list(tmp_path.iterdir()) == [], "nothing is made before the options are right"


@pytest.mark.parametrize("command", [c for c in TABLE if c != "mark" and c != "help"])
def test_the_same_as_a_word_of_its_own(command, tmp_path):
    """--name VALUE is --name=VALUE, and of several the first that is wrong is told."""
    def once(name):
        joined = run_wattle(command, f"--{name}=rubbish", *TABLE[command][0], cwd=tmp_path)
        apart = run_wattle(command, f"--{name}", "rubbish", *TABLE[command][0], cwd=tmp_path)
        assert (apart.code, apart.err) == (joined.code, joined.err)
        if name == "policy":
            return  # it is judged after all options: some of its parts are by the recording
        twice = run_wattle(command, f"--{name}=rubbish", f"--{name}=more", "--no-such-option", cwd=tmp_path)
        assert (twice.code, twice.err) == (joined.code, joined.err)
    at_once(once, [(name,) for name in options_of(command, is_free=False)])


@pytest.mark.parametrize("command", [c for c in TABLE if c != "help"])
def test_values_that_may_be_anything(command, tmp_path):
    """Paths, names and lists: no crash, no hang, and what is said of them can be printed."""
    has_root = "root" in valued(command) and command != "plot"

    def once(name, value):
        at = ROOT if has_root and name not in ("root", "tape", "replay") else ()
        result = run_wattle(command, f"--{name}={value}", *at, *TABLE[command][0], cwd=tmp_path,
                            env={"XDG_RUNTIME_DIR": tmp_path, "XDG_STATE_HOME": tmp_path})
        check_is_printable(result)
        assert result.code in (0, 1, 2, 3, 125), (name, value, result)
        if result.code not in (0, 3):
            # What nvidia-smi says of itself on standard output, query says there, too.
            last = (result.err or f"wattle: {result.out if command == 'query' else ''}").splitlines()[-1]
            assert last.startswith("wattle: ") and len(last) > 20, last
    # What a shell says of a preparation is not wattle's.
    names = [name for name in options_of(command, is_free=True)
             if (command, name) not in (("run", "tape-record"), ("compare", "tape-record"), ("compare", "prepare"))]
    values = ["", "rubbish/none", "a\x1b[31mb\nc\td", "x" * 5000, "/", "."]
    at_once(once, [(name, value) for name in names for value in values])


@pytest.mark.parametrize("command", [c for c in TABLE if c not in ("report", "export", "import", "mark", "estimate", "calibrate", "help")])
@pytest.mark.parametrize("value", ["", ":", "open", "open:", "open:0", "open:-1", "open:" + HUGE, "open:1:EWHAT", "open:1:",
                                   "open:1:EIO:never", "what:1", "open:1:EIO:always:always", "\x1b[1m:1"])
def test_faults_that_are_none(command, value, tmp_path):
    rest = {"plot": ("--live", "--once")}.get(command, TABLE[command][0])
    result = run_wattle(command, f"--fault={value}", *ROOT, *rest, cwd=tmp_path)
    assert result.code == USAGE.get(command, 2), result
    line = result.complaint()
    assert "fault" in line and ("needs" in line or "number" in line or "errno" in line.lower() or "N" in line)
    check_is_printable(result)
    assert result.out == ""


# ---- Words ----

WORDS = {
    "export": [((), "FILE|recording|which"), (("a", "b"), "one word too many|one|a time")],
    "import": [((), "which file"), (("a",), "where to"), (("a", "b"), "one file at a time")],
    "report": [((), "FILE|recording|which")],
    "mark": [((), "begin"), (("what",), "begin"), (("begin",), "which window"), (("begin", "a", "b"), "'b'"),
             (("list", "x"), "list"), (("end", "a", "b"), "'b'")],
    "plot": [((), "FILE|recording|which")],
    "serve": [(("x",), "'x'")],
    "doctor": [(("x",), "'x'")],
    "top": [(("x",), "'x'")],
    "query": [(("x",), "'x'")],
    "run": [((), "COMMAND|command")],
    "profile": [((), "COMMAND|command")],
    "compare": [((), "Two at least"), (("true",), "Two at least")],
    "estimate": [((), "which model"), (("a", "b"), "'b'")],
    "help": [(("what",), "'what'")],
}


@pytest.mark.parametrize("command", WORDS)
def test_words_that_are_missing_or_too_many(command, tmp_path):
    for words, says in WORDS[command]:
        result = run_wattle(command, *words, cwd=tmp_path, env={"XDG_RUNTIME_DIR": tmp_path})
        assert result.code == USAGE.get(command, 2), (words, result)
        assert result.out == ""
        assert any(word in result.complaint() for word in says.split("|")), result.err
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [c for c in WORDS if c not in ("run", "compare", "limit", "profile")])
@pytest.mark.parametrize("word", ["\x1b]0;title\x07", "a\nwattle: fine", "é漢\u202e", "\udcff\udcfe"])
def test_hostile_words_are_escaped(command, word, tmp_path):
    words = ("begin", word) if command == "mark" else (word,)
    result = run_wattle(command, *words, cwd=tmp_path, env={"XDG_RUNTIME_DIR": tmp_path})
    assert result.code in (1, 2), result
    assert result.err.count("\n") == 1 and b"\x1b" not in result.err_bytes and b"\x07" not in result.err_bytes
    assert "\u202e" not in result.err


@pytest.mark.parametrize("word", ["\x1b]0;title\x07.wattle", "a\nwattle: fine", "\u202edrow"])
def test_check_escapes_what_files_are_called(word, tmp_path):
    """What report --check says goes to standard output, a terminal maybe."""
    made = run_wattle("record", "-q", "-o", word, "--no-processes", *ROOT, "--", "true", cwd=tmp_path,
                      env={"XDG_RUNTIME_DIR": tmp_path, "XDG_STATE_HOME": tmp_path})
    assert made.code == 0, made
    result = run_wattle("report", "--check", word, cwd=tmp_path)
    assert result.code == 0 and result.err == "", result
    assert result.out.endswith(": nothing is damaged or missing\n") and result.out.count("\n") == 1
    assert result.out[:-1].isprintable(), result.out


@pytest.mark.parametrize("command, option, given, takes", [
    ("run", "--idle-first", "2", "seconds from 3 to 3600, or a time such as 90s or 1h"),
    ("run", "--interval", "1h", "milliseconds from 1 to 60000, or a time such as 20ms or 2s"),
    ("top", "--redraw", "1", "milliseconds from 50 to 10000, or a time such as 200ms or 2s"),
])
def test_times_that_are_told_instead_may_be_given(command, option, given, takes):
    result = run_wattle(command, option, given, *(["--", "true"] if command == "run" else []))
    assert result.complaint() == f"wattle: {command}: {option} takes {takes}, not '{given}'"
