# SPDX-License-Identifier: MIT
"""wattle estimate --measure with the real ONNX Runtime."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

onnxruntime = pytest.importorskip("onnxruntime")
MODELS = Path(__file__).parent.parent / "fixtures" / "models"


def measure(*args, tmp_path, python=sys.executable):
    return subprocess.run([os.environ["WATTLE"], "estimate", "--measure", "--repeat", "2", "--python", python, "-f", "json", *map(str, args)],
                          capture_output=True, text=True, check=False, env={**os.environ, "XDG_STATE_HOME": str(tmp_path)}, timeout=120)


def test_a_model_runs_and_its_repetitions_are_told(tmp_path):
    done = measure(MODELS / "digits.onnx", "--dim", "batch=3", tmp_path=tmp_path)
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    assert measured["runtime"] == onnxruntime.__version__
    seconds = [run["duration_s"] for run in measured["repetitions"]]
    assert len(seconds) == 2 and all(0 < s < 10 for s in seconds)
    assert measured["mean"]["duration_s"] == pytest.approx(sum(seconds) / 2, rel=1e-5)
    for run in measured["repetitions"]:
        assert ("energy_j" in run) != ("reason" in run)


def test_an_input_given_whole_is_run(tmp_path):
    done = measure(MODELS / "digits.onnx", "--input", "x=2x1x28x28", tmp_path=tmp_path)
    assert done.returncode == 0 and json.loads(done.stdout)["inferences"] > 0, done.stderr


def test_a_size_that_is_open_is_asked_for(tmp_path):
    done = measure(MODELS / "digits.onnx", tmp_path=tmp_path)
    assert done.returncode == 1 and "batch" in done.stderr and len(done.stderr.splitlines()) == 1


def test_what_the_runtime_cannot_run_is_its_line(tmp_path):
    model = (MODELS / "digits.onnx").read_bytes()
    (tmp_path / "bad.onnx").write_bytes(model.replace(b"Gemm", b"Gymm"))
    done = measure(tmp_path / "bad.onnx", "--dim", "batch=1", tmp_path=tmp_path)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert "ONNX Runtime cannot load it" in done.stderr


def test_a_python_without_the_runtime_says_what_to_install(tmp_path):
    (tmp_path / "onnxruntime.py").write_text("raise ModuleNotFoundError('no', name='onnxruntime')\n")
    done = subprocess.run([os.environ["WATTLE"], "estimate", "--measure", "--python", sys.executable, "--dim", "batch=1",
                           MODELS / "digits.onnx"], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert done.returncode == 1 and "-m pip install onnxruntime, or --python PATH" in done.stderr
