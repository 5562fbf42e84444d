"""Joules of networks on named hardware: wattle estimate --device, --paper, --lint, --list-devices."""

import csv
import io
import json

import pytest

from conftest import REPO, run_wattle

DIGITS = ["--dim", "batch=1", str(REPO / "tests/fixtures/models/digits.onnx")]
SRNN = """network S-MNIST SRNN
sequence 784
input 8 analog
dense r1 64 recurrent neuron alif rate 0.1192
dense r2 256 recurrent neuron alif rate 0.0732
dense r3 256 neuron alif rate 0.0416
dense out 10 neuron readout
"""


def estimate(*args):
    result = run_wattle("estimate", *map(str, args))
    assert result.code == 0, result.err
    return result.out


def devices_of(*args):
    return {device["device"]: device for device in json.loads(estimate(*args, "-f", "json"))["devices"]}


@pytest.fixture
def srnn(tmp_path):
    path = tmp_path / "srnn.net"
    path.write_text(SRNN)
    return path


def test_a_network_as_text_comes_to_what_its_paper_says(srnn):
    device = devices_of(srnn, "--device", "horowitz-45nm", "--memory", "none")["horowitz-45nm"]
    assert device["snn"]["total_j"] / 784 * 1e9 == pytest.approx(21.3446, rel=1e-5)
    assert device["ann"]["total_j"] == pytest.approx(784 * 154624 * 4.6e-12, rel=1e-6)
    assert "memory_j" not in device["snn"]
    assert estimate(srnn).count("154,624") > 1


def test_layers_add_up_to_the_total():
    device = devices_of(*DIGITS, "--device", "horowitz-45nm", "--rates", "0.1", "--memory", "dram-once")["horowitz-45nm"]
    for kind in ("ann", "snn"):
        run = device[kind]
        for key in ("compute_j", "compute_low_j", "memory_j", "memory_high_j"):
            assert sum(layer[key] for layer in run["layers"]) == pytest.approx(run[key], rel=1e-5)
        assert run["total_low_j"] < run["total_j"] < run["total_high_j"]
        assert any("horowitz-45nm" in line and "grade published" in line for line in run["assumptions"])
        assert {"model of SRAM", "dram 64bit"} <= {swing["constant"] for swing in run["spread"]}
    rows = list(csv.DictReader(io.StringIO(estimate(*DIGITS, "--device", "horowitz-45nm", "--rates", "0.1", "-f", "csv"))))
    assert {row["as"] for row in rows} == {"ann", "snn"}
    assert float(rows[0]["compute_j"]) > 0


def test_at_the_break_even_both_take_the_same():
    options = ["--device", "horowitz-45nm", "--constant-input", "--steps", "4"]
    rate = devices_of(*DIGITS, *options)["horowitz-45nm"]["break_even"]
    device = devices_of(*DIGITS, *options, "--rates", rate)["horowitz-45nm"]
    assert device["snn"]["total_j"] == pytest.approx(device["ann"]["total_j"], rel=1e-4)
    assert device["ann_quantized"]["activation_bits"] == 3
    assert device["ann_quantized"]["total_j"] < device["ann"]["total_j"]


def test_rates_of_each_layer_come_from_a_file(tmp_path):
    rates = tmp_path / "rates"
    rates.write_text("".join(f"{name} 0.1\n" for name in ("conv1", "conv2", "fc1", "fc2", "fc3")))
    options = ["--device", "horowitz-45nm"]
    a = devices_of(*DIGITS, *options, "--rates", rates)["horowitz-45nm"]["snn"]["total_j"]
    assert a == devices_of(*DIGITS, *options, "--rates", "0.1")["horowitz-45nm"]["snn"]["total_j"]
    rates.write_text("conv1 0.1\nconv7 0.1\n")
    result = run_wattle("estimate", *DIGITS, *options, "--rates", str(rates))
    assert result.code == 1 and f"{rates}:2" in result.err and "no layer 'conv7'" in result.err
    rates.write_text("conv1 0.1\n")
    result = run_wattle("estimate", *DIGITS, *options, "--rates", str(rates))
    assert result.code == 1 and "no rate for the layer 'conv2'" in result.err


def test_a_total_without_a_price_is_refused_with_the_reason():
    for device, says in (("loihi2", "its 'synop' is unknown"), ("innatera", "its 'synop' is unknown")):
        result = run_wattle("estimate", *DIGITS, "--device", device, "--rates", "0.1")
        assert result.code == 1 and says in result.err and result.out == ""
    out = devices_of(*DIGITS, "--device", "truenorth", "--device", "cpu-i7-4960x", "--rates", "0.1")
    assert "spikes alone" in out["truenorth"]["ann"]["reason"] and out["truenorth"]["snn"]["total_j"] > 0
    assert "ordinary networks alone" in out["cpu-i7-4960x"]["snn"]["reason"] and out["cpu-i7-4960x"]["ann"]["total_j"] > 0


def test_devices_of_the_users_own(tmp_path):
    mine = tmp_path / "mine.txt"
    mine.write_text("device mine\nsource a bench\nsynop 2 pJ measured\n")
    device = devices_of(*DIGITS, "--devices", mine, "--device", "mine", "--rates", "0", "--as", "snn")["mine"]
    assert device["snn"]["total_j"] == pytest.approx(4 * 117600 * 2e-12)
    assert "mine" in estimate("--devices", mine, "--list-devices")
    mine.write_text("device mine\nsource a bench\nsynop 2\n")
    result = run_wattle("estimate", *DIGITS, "--devices", str(mine), "--device", "mine")
    assert result.code == 1 and f"{mine}:3" in result.err and "has no unit" in result.err
    result = run_wattle("estimate", *DIGITS, "--device", "mine")
    assert result.code == 1 and "there is no device 'mine'" in result.err


def test_the_list_has_grade_source_and_unit_of_every_price():
    for device in json.loads(estimate("--list-devices", "-f", "json"))["devices"]:
        assert device["scope"] in ("per-term", "all-in")
        for constant in device["constants"]:
            assert constant["source"] and constant["grade"]
            assert (constant["grade"] == "unknown") == ("unit" not in constant)


def test_every_paper_that_is_built_in_comes_out():
    papers = [paper["paper"] for paper in json.loads(estimate("--paper", "list", "-f", "json"))["papers"]]
    assert {"tc-lif", "srnn", "keras-spiking", "syops", "neurobench", "lemaire", "loihi", "truenorth"} <= set(papers)
    for paper in papers:
        rows = json.loads(estimate("--paper", paper, "-f", "json"))["rows"]
        assert all(row["agrees"] for row in rows if row["kind"] == "row")
    assert "not derived: LSTM 126.2x" in estimate("--paper", "srnn")


def test_a_paper_of_the_users_own_that_differs_fails(tmp_path):
    mine = tmp_path / "mine.txt"
    mine.write_text("paper p\nrow a = 2 * 3 printed 7\n")
    result = run_wattle("estimate", "--paper", str(mine))
    assert result.code == 1 and "DIFFERS" in result.out
    result = run_wattle("estimate", "--paper", "no-such")
    assert result.code == 1 and "there is no paper 'no-such'" in result.err


def test_a_known_mistake_is_found_in_a_table(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("row,as,operations,precision,price_pj,rate,rate_per,baseline,ratio\nann,ann,18.39e6,fp32,4.6,,,,\n"
                     "snn,snn,18.39e6,fp32,0.9,0.1366,inference,ann,273.77\n")
    result = run_wattle("estimate", "--lint", str(table))
    assert result.code == 1 and f"{table}:3: snn: rate-twice" in result.out
    table.write_text(table.read_text().replace("273.77", "37.4"))
    assert "no known mistake" in estimate("--lint", table)


def test_a_picture_shows_the_break_even(tmp_path):
    picture = tmp_path / "x.svg"
    estimate(*DIGITS, "--device", "horowitz-45nm", "--constant-input", "-o", picture)
    assert picture.read_text().startswith("<?xml")
    result = run_wattle("estimate", *DIGITS, "-o", str(picture))
    assert result.code == 2 and "--device" in result.err


def test_options_for_prices_need_a_device():
    result = run_wattle("estimate", *DIGITS, "--steps", "4")
    assert result.code == 2 and "--steps is about prices" in result.err
