# SPDX-License-Identifier: MIT
"""This machine as a device of wattle estimate: --host, --device host, --measure."""

import csv
import io
import json
import shutil
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest

from conftest import REPO, ROOTS, command_path, finish, run_wattle, start_wattle
from onnx_file import BOOL, Graph, info
from test_sim import simulate, trial

DIGITS = str(REPO / "tests/fixtures/models/digits.onnx")
NET = "network two\ninput 1000 analog\ndense a 2000\ndense b 500 bias\n"
# A MAC takes 1 ns and 10 pJ; a byte 1 ns and 5 pJ in the cache, 4 ns and 20 pJ in DRAM; at rest 2 W.
PRICES = """device host
  source a bench
  grade measured
  static 2 W from 1 to 3
  mac fp32 10 pJ from 8 to 14
  time mac-fp32 1 ns from 0.5 to 2
  sram 16MiB 64bit 40 pJ
  time cache-64bit 8 ns
  dram 64bit 160 pJ
  time dram-64bit 32 ns
"""
A_MACS, B_MACS = 1000 * 2000, 2000 * 500
A_BYTES, B_BYTES = 4 * (A_MACS + 1000 + 2000), 4 * (B_MACS + 500 + 2000 + 500)


def as_json(*args, **options):
    result = run_wattle("estimate", "-f", "json", *map(str, args), **options)
    assert result.code == 0, result.err
    return json.loads(result.out)


def refused(*args, code, **options):
    result = run_wattle("estimate", *map(str, args), **options)
    assert result.code == code and result.out == "" and len(result.err.splitlines()) == 1, result
    return result.err


@pytest.fixture
def net(tmp_path):
    path = tmp_path / "net.txt"
    path.write_text(NET)
    return path


@pytest.fixture
def prices(tmp_path):
    path = tmp_path / "host.txt"
    path.write_text(PRICES)
    return path


@pytest.fixture
def state(tmp_path):
    """An environment whose state folder is its own."""
    return {"XDG_STATE_HOME": str(tmp_path / "state")}


# ---- The roofline ----


def test_a_layer_takes_the_longer_of_its_arithmetic_and_its_traffic(net, prices, state):
    found = as_json(net, "--device", "host", "--devices", prices, env=state)
    a, b = found["layers"]
    # All weights and the largest layer together fit into the cache: 1 ns and 5 pJ a byte.
    assert a["compute_s"] == pytest.approx(A_MACS * 1e-9) and a["memory_s"] == pytest.approx(A_BYTES * 1e-9)
    assert a["duration_s"] == pytest.approx(A_BYTES * 1e-9) and a["cache_bytes"] == A_BYTES and a["dram_bytes"] == 0
    seconds = (A_BYTES + B_BYTES) * 1e-9
    assert found["duration_s"] == pytest.approx(seconds)
    assert found["compute_j"] == pytest.approx((A_MACS + B_MACS) * 10e-12)
    assert found["memory_j"] == pytest.approx((A_BYTES + B_BYTES) * 5e-12)
    assert found["idle_j"] == pytest.approx(2 * seconds)
    assert found["energy_j"] == pytest.approx(found["compute_j"] + found["memory_j"] + found["idle_j"])
    # Bounds: all bytes from the cache, or from DRAM; each price at its bound.
    assert found["duration_high_s"] == pytest.approx(4 * seconds)
    assert found["energy_high_j"] == pytest.approx((A_MACS + B_MACS) * 14e-12 + (A_BYTES + B_BYTES) * 20e-12 + 3 * 4 * seconds)
    assert found["energy_low_j"] == pytest.approx((A_MACS + B_MACS) * 8e-12 + (A_BYTES + B_BYTES) * 5e-12 + seconds)
    assert b["energy_low_j"] < b["energy_j"] < b["energy_high_j"]


def test_weights_that_do_not_fit_come_from_dram(net, prices, state):
    prices.write_text(PRICES.replace("16MiB", "64KiB").replace("time mac-fp32 1 ns", "time mac-fp32 2 ns"))
    a = as_json(net, "--device", "host", "--devices", prices, env=state)["layers"][0]
    assert a["dram_bytes"] == 4 * A_MACS and a["cache_bytes"] == 4 * 3000
    assert a["memory_s"] == pytest.approx(4 * A_MACS * 4e-9 + 4 * 3000 * 1e-9)


def test_times_that_are_shorter_than_the_arithmetic_do_not_count(net, prices, state):
    prices.write_text(PRICES.replace("time mac-fp32 1 ns from 0.5 to 2", "time mac-fp32 50 ns"))
    found = as_json(net, "--device", "host", "--devices", prices, env=state)
    assert found["duration_s"] == pytest.approx((A_MACS + B_MACS) * 50e-9)
    assert found["duration_low_s"] == found["duration_high_s"] == found["duration_s"]


def test_a_sequence_takes_its_steps(net, prices, state):
    once = as_json(net, "--device", "host", "--devices", prices, env=state)["duration_s"]
    net.write_text(NET.replace("input", "sequence 7\ninput"))
    assert as_json(net, "--device", "host", "--devices", prices, env=state)["duration_s"] == pytest.approx(7 * once)


def test_what_was_not_measured_is_priced_as_something_near_and_said(net, prices, state):
    net.write_text(NET.replace("input", "precision int4\ninput", 1))
    said = as_json(net, "--device", "host", "--devices", prices, env=state)
    assert {layer["priced_as"] for layer in said["layers"]} == {"fp32"}
    assert "MACs of int4 are priced as fp32" in said["assumptions"]
    prices.write_text(PRICES + "  mac int8 1 pJ\n  time mac-int8 0.1 ns\n")
    assert {layer["priced_as"] for layer in as_json(net, "--device", "host", "--devices", prices, env=state)["layers"]} == {"int8"}


def test_of_an_if_one_side_counts(tmp_path, prices, state):
    sides = []
    for width in (5, 2):
        side = Graph(name="side")
        side.outputs = [side.add("MatMul", "x", side.weights(4, width))]
        sides.append(side)
    g = Graph(info("x", [3, 4]), info("c", [], BOOL))
    g.add("If", "c", then_branch=sides[0], else_branch=sides[1])
    path = tmp_path / "if.onnx"
    path.write_bytes(g.model())
    prices.write_text(PRICES.replace("time mac-fp32 1 ns from 0.5 to 2", "time mac-fp32 500 ns"))
    found = as_json(path, "--device", "host", "--devices", prices, env=state)
    assert found["duration_s"] == found["duration_high_s"] == pytest.approx(60 * 500e-9)
    assert found["duration_low_s"] == pytest.approx(24 * 500e-9)
    assert any(line.startswith("of each If the side that takes longer") for line in found["assumptions"])


def test_energy_that_is_not_known_is_not_0(net, prices, state):
    prices.write_text(PRICES.replace("static 2 W from 1 to 3", "note nobody measured it\n  static unknown")
                      .replace("mac fp32 10 pJ from 8 to 14", "mac fp32 unknown"))
    found = as_json(net, "--device", "host", "--devices", prices, env=state)
    assert not [key for key in {*found, *found["layers"][0]} if key.endswith("_j")]
    assert found["reason"] == "nobody measured it" and found["duration_s"] > 0
    text = run_wattle("estimate", net, "--device", "host", "--devices", prices, env=state).out
    assert "not known: nobody measured it" in text
    rows = list(csv.DictReader(io.StringIO(run_wattle("estimate", net, "--device", "host", "--devices", prices, "-f", "csv",
                                                      env=state).out)))
    assert rows[0]["layer"] == "a" and rows[0]["energy_j"] == "" and float(rows[0]["duration_s"]) > 0


@pytest.mark.parametrize("args, says", [
    (["--device", "host", "--device", "horowitz-45nm"], "is estimated alone"),
    (["--device", "host", "--steps", "4"], "--steps is about devices with prices"),
    (["--device", "host", "-o", "x.svg"], "no picture"),
    (["--python", "python3"], "--python is what --measure"),
    (["--repeat", "3"], "--repeat is for what is measured"),
    (["--measure", "--device", "host"], "leave out --device"),
    (["--host", "--tape", "x"], "a tape replays"),
])
def test_options_that_do_not_go_together(net, args, says, state):
    assert says in refused(net, *args, code=2, env=state)


def test_a_machine_that_was_not_measured_is_no_device(net, state):
    assert "wattle estimate --host measures it" in refused(net, "--device", "host", code=1, env=state)
    assert "no measured times" in refused(net, "--device", "host", "--devices", make_incomplete(net), code=1, env=state)


def make_incomplete(net):
    path = net.parent / "incomplete.txt"
    path.write_text("device host\nsource s\nmac fp32 1 pJ\n")
    return path


def test_a_nir_file_is_for_python(tmp_path, state):
    path = tmp_path / "model.nir"
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    assert "wattle.nir_to_text()" in refused(path, code=1, env=state)


# ---- Kernels under the meter ----


@pytest.mark.alone
def test_prices_are_what_the_simulated_machine_draws(tmp_path):
    """20 W for each CPU that is busy: so many joules a second, whatever the kernel and whoever else runs."""
    idle = trial.idle_file(tmp_path / "idle", {"package-0": 50, "dram-0": 4})
    out = tmp_path / "host.json"
    simulate(tmp_path, "duration 1\nsocket idle=50 dram=4\nothers 20\n", command_path(), "estimate", "--host", "--repeat", "2",
             "--idle-file", idle, "-f", "json", "-o", out)
    host = json.loads(out.read_text())
    assert host["grade"] == "measured" and host["source"] == "rapl-powercap"
    assert host["idle_w"] == pytest.approx(54, abs=0.01)
    kernels = {kernel["kernel"]: kernel for kernel in host["kernels"]}
    assert {"gemm fp64", "gemm fp32", "stream cache", "stream DRAM"} <= kernels.keys()
    for kernel in kernels.values():
        unit = "flop" if "flop_j" in kernel else "byte"
        watts = kernel[f"{unit}_j"] * kernel[f"{unit}_per_s"] / kernel["busy_cpus"]
        assert watts == pytest.approx(20, rel=0.3), kernel
        assert kernel[f"{unit}_uncertainty_j"] > 0
        assert 0 < kernel["busy_cpus"] <= host["threads"] * 1.1
    assert host["file"] == str(next(tmp_path.glob("host-*")))
    net = tmp_path / "net.txt"
    net.write_text(NET)
    found = as_json(net, "--host", "--idle-file", idle)
    fp32 = min((k for k in kernels.values() if k.get("precision") == "fp32"), key=lambda kernel: -kernel["flop_per_s"])
    assert found["layers"][0]["compute_s"] == pytest.approx(2 * A_MACS / fp32["flop_per_s"], rel=1e-4)
    assert found["compute_j"] == pytest.approx(2 * (A_MACS + B_MACS) * fp32["flop_j"], rel=1e-4)
    assert found["grade"] == "measured" and found["energy_low_j"] < found["energy_j"] < found["energy_high_j"]


@pytest.fixture(name="measured", scope="module")
def measured_once(tmp_path_factory):
    """What was measured without energy, since a root is another machine, whose processes are not these; and where it is kept."""
    folder = tmp_path_factory.mktemp("measured")
    return as_json("--host", "--repeat", "1", "--idle-first", "3", "--root", ROOTS / "xeon-2s-dram", "--idle-file", folder / "idle"), folder


def test_seconds_are_known_where_energy_is_not(measured, net):
    host, folder = measured
    options = ["--root", ROOTS / "xeon-2s-dram", "--idle-file", folder / "idle"]
    assert host["reason"] and "grade" not in host
    for kernel in host["kernels"]:
        assert not [key for key in kernel if key.endswith("_j")]
        assert kernel.get("flop_per_s", 0) > 0 or kernel["byte_per_s"] > 0
    assert [device["grade"] for device in as_json("--list-devices", *options)["devices"] if device["device"] == "host"] == ["measured"]
    kept = next(folder.glob("host-*")).read_text()
    assert "mac fp32 unknown" in kept and "static unknown" in kept
    found = as_json(net, "--device", "host", *options)
    assert host["reason"] in found["reason"] and found["duration_s"] > 0
    text = run_wattle("estimate", net, "--device", "host", *options).out
    assert "energy" in text and "not known" in text and " 0 J" not in text


BLAS = """
#include <unistd.h>
void cblas_sgemm(int o, int a, int b, int m, int n, int k, float al, const float *x, int lx, const float *y, int ly, float be, float *z, int lz)
{ }
void cblas_dgemm(int o, int a, int b, int m, int n, int k, double al, const double *x, int lx, const double *y, int ly, double be, double *z, int lz)
{ usleep(50000); }
void openblas_set_num_threads(int n) {}
char *openblas_get_config(void) { return "OpenBLAS 9.9 of a test"; }
"""


def test_openblas_is_measured_where_it_is(tmp_path):
    """One whose fp32 takes no time, and whose fp64 takes 50 ms for 1024^3 MACs."""
    (tmp_path / "blas.c").write_text(BLAS)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "libopenblas.so.0", tmp_path / "blas.c"], check=True)
    options = ["--root", ROOTS / "xeon-2s-dram", "--idle-file", tmp_path / "idle"]
    host = as_json("--host", "--repeat", "1", "--idle-first", "3", *options, env={"LD_LIBRARY_PATH": str(tmp_path)})
    assert host["openblas"] == "OpenBLAS 9.9 of a test"
    kernels = {kernel["kernel"]: kernel["flop_per_s"] for kernel in host["kernels"] if "precision" in kernel}
    assert kernels["OpenBLAS fp32"] > kernels["gemm fp32"]
    assert 0 < kernels["OpenBLAS fp64"] < 2 * 1024 ** 3 / 50e-3
    kept = next(tmp_path.glob("host-*")).read_text()
    assert "# OpenBLAS fp32\n" in kept and "# gemm fp32\n" not in kept


def test_a_machine_without_openblas_says_so(tmp_path):
    options = ["--root", ROOTS / "xeon-2s-dram", "--idle-file", tmp_path / "idle"]
    (tmp_path / "libopenblas.so.0").write_text("no library")
    result = run_wattle("estimate", "--host", "--repeat", "1", "--idle-first", "3", *options, env={"LD_LIBRARY_PATH": str(tmp_path)})
    assert result.code == 0 and "OpenBLAS is not here (libopenblas.so.0, package libopenblas0)" in result.out


def test_a_signal_ends_it(tmp_path):
    process = start_wattle("estimate", "--host", "--root", ROOTS / "xeon-2s-dram", "--idle-file", tmp_path / "idle", "--idle-first", "3",
                           "--repeat", "1000")
    time.sleep(5)
    process.send_signal(signal.SIGINT)
    result = finish(process)
    assert result.code == 130 and result.out == "" and not list(tmp_path.glob("host-*"))


def test_a_damaged_file_is_a_line_with_its_place(tmp_path, net, measured):
    options = ["--root", ROOTS / "xeon-2s-dram", "--idle-file", tmp_path / "idle"]
    kept = Path(shutil.copy(next(measured[1].glob("host-*")), tmp_path))
    kept.write_text(kept.read_text().replace(" pJ", "").replace("unknown", "12 parrots"))
    said = refused(net, "--device", "host", *options, code=1)
    assert f"{kept}:" in said and "no unit" in said


# ---- A model that runs ----


@pytest.fixture
def python(tmp_path):
    """Something that answers as the script would, by its arguments: -c SCRIPT MODEL --dim …."""

    def make(*lines):
        path = tmp_path / "python"
        path.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return make


ANSWERS = ("echo ready 9.9.9", "while read n; do echo done $((n * 2000000)); done")


def test_estimate_over_measured(tmp_path, python, state):
    folder = tmp_path / "state" / "wattle"
    measured = as_json(DIGITS, "--dim", "batch=1", "--measure", "--repeat", "3", "--python", python(*ANSWERS), env=state)
    assert measured["runtime"] == "9.9.9" and measured["inferences"] == 501  # 2 ms each, at least a second of them
    assert [run["duration_s"] for run in measured["repetitions"]] == [pytest.approx(0.002)] * 3
    assert measured["mean"]["duration_s"] == pytest.approx(0.002) and measured["mean"]["duration_ci95_s"] == 0
    assert "estimate" not in measured and "time_ratio" not in measured["mean"]
    as_json("--host", "--repeat", "1", "--idle-first", "3", env=state)
    assert list(folder.glob("host-*"))
    measured = as_json(DIGITS, "--dim", "batch=1", "--measure", "--repeat", "1", "--python", python(*ANSWERS), env=state)
    estimate, mean = measured["estimate"], measured["mean"]
    assert mean["time_ratio"] == pytest.approx(estimate["duration_s"] / 0.002, rel=1e-5)
    assert mean["time_ratio_low"] <= mean["time_ratio"] <= mean["time_ratio_high"]
    assert measured["repetitions"][0]["time_ratio"] == pytest.approx(mean["time_ratio"])
    assert measured["repetitions"][0].get("energy_j", 1) > 0


def test_dimensions_and_inputs_reach_the_model(tmp_path, python, state):
    seen = tmp_path / "seen"
    as_json(DIGITS, "--dim", "batch=2", "--input", "x=2x1x28x28", "--measure", "--repeat", "1", "--python",
            python(f'shift 2; echo "$@" > {seen}', *ANSWERS), env=state)
    assert seen.read_text().split() == [DIGITS, "--dim", "batch=2", "--input", "x=2x1x28x28"]


@pytest.mark.parametrize("lines, says", [
    (["echo error missing onnxruntime"], "has no onnxruntime"),
    (["echo error ONNX Runtime cannot load it: this and that"], f"{DIGITS}: ONNX Runtime cannot load it: this and that"),
    (["exit 3"], "ended without an answer"),
    (["echo ready 1", "read n", "exit 1"], "ended without an answer"),
    (["echo ready 1", "while read n; do echo done none; done"], "answered"),
    (["printf 'error \\033[31mred'"], "red"),
])
def test_a_python_that_fails_is_one_line(python, lines, says, state):
    said = refused(DIGITS, "--dim", "batch=1", "--measure", "--python", python(*lines), code=1, env=state)
    assert says in said and "\033" not in said


def test_a_python_that_is_not_there(net, state):
    assert "there is no such command" in refused(DIGITS, "--dim", "batch=1", "--measure", "--python", "/nowhere/python", code=1, env=state)
    assert "is no ONNX file" in refused(net, "--measure", code=1, env=state)
