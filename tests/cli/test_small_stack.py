# SPDX-License-Identifier: MIT
"""Where a process may have a stack of 96 KiB only: batch systems and embedded machines set such limits."""

import os
import subprocess

import pytest

from conftest import REPO, ROOTS, clean_env, command_path, run_wattle

XEON = ("--root", ROOTS / "xeon-2s-dram")
TAPE = REPO / "tests" / "fixtures" / "tapes" / "busy-thread.tape"
SMALL = ("sh", "-c", 'ulimit -c 0; ulimit -s 96; exec "$@"', "sh")


@pytest.fixture(name="files", scope="module")
def made_files(tmp_path_factory):
    """A report as JSON, one that is nested as deeply as its parser allows, and a recording."""
    path = tmp_path_factory.mktemp("stack")
    assert run_wattle("run", "--tape", TAPE, "-f", "json", "-o", path / "a.json").code == 0
    (path / "deep.json").write_text("[" * 2040 + "]" * 2040)
    if run_wattle("record", "--tape", TAPE, "-o", path / "a.wattle").code:
        pytest.skip("this wattle was built without recordings")
    return path


@pytest.mark.parametrize("words,code", [
    (("run", *XEON, "--", "true"), 0),
    (("run", "--", "true"), 0),
    (("run", "--record", "new.wattle", *XEON, "--", "true"), 0),
    (("compare", "-r", "2", *XEON, "true", "true"), 0),
    (("record", "-o", "new.wattle", "--duration", "0.2"), 0),
    (("record", "-o", "new.wattle", "--max-size", "1M", *XEON, "--", "true"), 0),
    (("report", "a.wattle"), 0),
    (("report", "a.wattle", "--by", "user", "-f", "json"), 0),
    (("report", "a.wattle", "a.wattle"), 0),
    (("report", "--check", "a.wattle"), 0),
    (("export", "a.wattle"), 0),
    (("plot", "a.wattle", "-o", "a.svg"), 0),
    (("plot", "a.wattle", "-o", "a.png"), 0),
    (("plot", "a.wattle", "--what", "processes", "-o", "a.pdf"), 0),
    (("plot", "a.json", "-o", "a.svg"), 0),
    (("plot", "deep.json", "-o", "a.svg"), 1),
    (("profile", "-o", "new.html", "--", "true"), 0),
    (("profile", "-o", "new.wprof", "--", "true"), 0),
    (("export", "--to", "influx", "a.wattle"), 0),
    (("estimate", "--host"), 0),
    (("top", "--once", *XEON), 0),
    (("top", "--once"), 0),
    (("top", "--once", "--replay", "a.wattle"), 0),
    (("plot", "--live", "--once", "--tape", TAPE), 0),
    (("doctor", *XEON), (0, 3)),
    (("doctor",), (0, 3)),
    (("query", "-q"), (0, 3)),
    (("limit",), (0, 3)),
])
def test_a_command(files, tmp_path, words, code):
    for name in os.listdir(files):
        os.symlink(files / name, tmp_path / name)
    done = subprocess.run([*SMALL, command_path(), *map(str, words)], check=False, capture_output=True, text=True, timeout=60, cwd=tmp_path,
                          env=clean_env(XDG_STATE_HOME=tmp_path))
    assert done.returncode in (code if isinstance(code, tuple) else (code,)), done


def test_screens(terminal, wattle):
    for words, seen in (("top", "package-0"), ("plot --live", "total")):
        on = terminal(*SMALL, wattle, *words.split(), *map(str, XEON))
        on.expect(seen)
        on.send(b"h")
        on.pump(0.1)
        on.send(b"qq")
        assert on.finish().code == 0
