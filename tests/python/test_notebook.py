# SPDX-License-Identifier: MIT
"""The magics, in IPython and in a notebook's kernel; and the notebooks of examples/, as they are shown."""

import re

import pytest
import wattle
from conftest import REPO

pytest.importorskip("IPython")
NOTEBOOKS = sorted((REPO / "examples" / "notebooks").glob("*.ipynb"))


@pytest.fixture
def shell(meter, monkeypatch):
    """A terminal's IPython whose default meter is that of a machine that the test moves."""
    from IPython.testing.globalipapp import start_ipython
    from IPython.core.interactiveshell import InteractiveShell

    shell = start_ipython() or InteractiveShell.instance()
    monkeypatch.setattr("wattle._notebook.default_meter", lambda: meter)
    shell.run_line_magic("reload_ext" if "wattle" in shell.extension_manager.loaded else "load_ext", "wattle")
    shell.user_ns["meter"] = meter
    return shell


def test_a_cell_and_its_table(shell, machine, capsys):
    shell.user_ns["machine"] = machine
    cell = """import time
for _ in range(20):
    for zone in ("intel-rapl:0", "intel-rapl:1", "intel-rapl:0:0", "intel-rapl:1:0"):
        machine.add(zone, 10**6)
    time.sleep(0.05)
x = 6
x * 7"""
    assert shell.run_cell_magic("wattle", "train", cell) == 42
    said = capsys.readouterr().out
    assert re.search(r"^train, 1\.\d+ s, ok$", said, re.M), said
    assert re.search(r"^  package-0 +20\.0 ± 1\.\d J +\d+\.?\d* W +counter$", said, re.M), said
    assert re.search(r"^  [ ▁▂▃▄▅▆▇█]{5,}$", said, re.M) and re.search(r"power over time: \S+ to \S+ W", said)
    assert shell.user_ns["x"] == 6 and shell.user_ns["_wattle"].energy_j == 80


def test_an_expression(shell, capsys):
    assert shell.run_line_magic("wattle", "sum(range(10))") == 45
    assert "total" in capsys.readouterr().out


@pytest.mark.parametrize("fault", ["1 / 0", "raise KeyboardInterrupt", "raise SystemExit", "x ="])
def test_a_fault_ends_the_window_and_goes_on(shell, meter, fault, capsys):
    with pytest.raises((ZeroDivisionError, KeyboardInterrupt, SystemExit, SyntaxError)):
        shell.run_cell_magic("wattle", "", fault)
    assert "total" in capsys.readouterr().out
    assert [name for name in meter.open_windows if not name.startswith("sampler")] == []


def test_html_has_a_picture_with_words(meter):
    from wattle._notebook import Measured

    samples = []
    for watts in [*range(10, 150), None, None, 150, 20]:
        samples.append(wattle.Sample(0.0, 0.0, 0.1))
        samples[-1].power_w["total"] = watts
    with meter.window("a<b") as window:
        pass
    html = Measured(window, samples)._repr_html_()
    assert "<b>a&lt;b</b>" in html and 'role="img" aria-label="power over time: 10.5 to 148.5 W"' in html
    curve = re.findall(r'd="(M[^"]*)"', html)[1]
    assert curve.count("M") == 2 and "nan" not in html  # a gap
    assert "<svg" not in Measured(window, [])._repr_html_()


def outputs(notebook):
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            yield output.get("text") or "".join(output.get("data", {}).get("text/plain", ""))


def kinds(notebook):
    """Of the outputs of each cell, but for what a library says on its own."""
    every = [[output.output_type for output in cell.get("outputs", ())] for cell in notebook.cells]
    return [[kind for kind in each if kind != "stream"] for each in every]


def execute(notebook, path=None):
    client = pytest.importorskip("nbclient").NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(path or REPO)}})
    client.execute()


def test_an_interrupt_of_a_kernel_ends_the_window():
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    cells = [
        "import warnings; warnings.simplefilter('ignore')\n%load_ext wattle\nimport os, signal, time, threading, wattle",
        "threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "try:\n    get_ipython().run_cell_magic('wattle', 'long', 'time.sleep(30)')\nexcept KeyboardInterrupt:\n    print('interrupted')",
        "time.sleep(0.5); print(_wattle.name, _wattle.duration_s < 5, wattle.default_meter().open_windows)",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    execute(notebook)
    said = "".join(outputs(notebook))
    assert "interrupted" in said and "long True ()" in said


def test_windows_go_on_from_cell_to_cell():
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    cells = [
        "import asyncio, warnings; warnings.simplefilter('ignore')\nimport wattle\nm = wattle.Meter()\nm.begin('named')\nm.push('outer')",
        "await asyncio.sleep(0)\nm.push('inner')",
        "print(m.pop().name, m.pop().name, m.end('named').duration_s is not None, m.open_windows)",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    execute(notebook)
    assert "".join(outputs(notebook)).strip() == "inner outer True ()"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path):
    """As committed, they have outputs and no faults; executed here, on whatever there is, they end with the same kinds of output."""
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    notebook = nbformat.read(path, as_version=4)
    shown = kinds(notebook)
    assert sum(map(len, shown)) > 3 and "error" not in sum(shown, [])
    assert not re.search(r"/work/|/tmp/|/root/|/home/", path.read_text())
    execute(notebook, path.parent)
    assert kinds(notebook) == shown


def test_there_are_two_notebooks():
    assert [path.stem for path in NOTEBOOKS] == ["recording", "training"]
