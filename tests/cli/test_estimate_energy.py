"""Joules of networks on named hardware: wattle estimate --device, --paper, --lint, --list-devices."""

import csv
import io
import json

import pytest

from conftest import REPO, run_for_memory, run_wattle
from onnx_file import BOOL, FLOAT16, INT8, Graph, info, tensor

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


def write(tmp_path, graph):
    path = tmp_path / "model.onnx"
    path.write_bytes(graph.model())
    return path


def test_joules_say_what_they_lack(tmp_path):
    """Nodes without a rule, and a loop whose rounds nobody knows: before any other remark, and in every format."""
    body = Graph(info("i", [], 7), info("go", [], BOOL), info("h", [3, 4]), name="body")
    body.outputs = [body.add("Not", body.add("Cast", "i", to=BOOL)), body.add("MatMul", "h", body.weights(4, 4))]
    g = Graph(info("x", [3, 4]))
    g.add("Strange", g.dense("x", 4, 4), name="odd", domain="my")
    g.add("Loop", g.ints(10, scalar=True), "", "x", body=body)
    args = (write(tmp_path, g), "--device", "horowitz-45nm", "--as", "ann")
    for style in ("text", "markdown"):
        page = " ".join(estimate(*args, "-f", style).split())
        assert "1 my.Strange" in page and page.index("my.Strange") < page.index("counted once") < page.index("grade published")
    found = json.loads(estimate(*args, "-f", "json"))
    assert found["coverage"]["not_counted"] == [{"op": "my.Strange", "nodes": 1, "reason": "there is no rule for it"}]
    assert found["coverage"]["nodes"] - found["coverage"]["counted"] == 1
    rows = list(csv.DictReader(io.StringIO(estimate(*args, "-f", "csv"))))
    assert {row["layer"]: row["not_counted"] for row in rows if row["not_counted"]} == {"odd": "there is no rule for it"}
    assert sum(row["repeats_unknown"] == "true" for row in rows) > 0


def layers_of(path, *args):
    device = devices_of(path, "--device", "horowitz-45nm", "--rates", "0.1", "--memory", "none", *args)["horowitz-45nm"]
    return device["snn"]["layers"], device


def test_numbers_that_no_layer_fires_are_multiplied(tmp_path):
    """Every input of the model, what an LSTM makes, and what is added to either; not what a layer makes of it, nor sizes."""
    g = Graph(info("x", [5, 1, 8]), info("second", [5, 8]))
    lstm = g.add("LSTM", "x", g.weights(1, 16, 8), g.weights(1, 16, 4), hidden_size=4, n_out=3)[0]
    behind = g.dense(g.add("Squeeze", lstm, g.ints(1, 2)), 4, 6, bias=False)
    a = g.dense("second", 8, 6, bias=False)
    spikes = g.add("Add", behind, a)
    scaled = g.add("Mul", spikes, g.add("Sqrt", g.add("Cast", g.add("Size", "x"), to=1)))
    g.dense(scaled, 6, 6, bias=False)
    g.dense(g.add("Concat", spikes, "second", axis=1), 14, 6, bias=False)
    layers, device = layers_of(write(tmp_path, g), "--steps", "4")
    products = [layer for layer in layers if layer["op"] == "MatMul"]
    assert [layer["input"] for layer in products] == ["numbers", "numbers", "spikes", "numbers"]
    lif = 4 * 5 * 6
    assert [layer["macs"] for layer in products] == [4 * 5 * 4 * 6 + lif, 4 * 5 * 8 * 6 + lif, lif, 4 * 5 * 14 * 6 + lif]
    assert "break_even" not in products[0] and products[2]["break_even"] > 0
    assert any("4 of 5 layers with MACs get numbers" in line for line in device["snn"]["assumptions"])


def inputs_of(path, *args):
    return [layer["input"] for layer in layers_of(path, *args)[0] if "input" in layer]


def test_numbers_go_through_scans_and_branches(tmp_path):
    """What is carried is numbers if its first round's are; slices and stacks of numbers are numbers; of two sides, either may be."""
    body = Graph(info("fired", [4]), info("given", [4]), info("x", [4]), name="body")
    body.outputs = [body.add("MatMul", name, body.weights(4, 4)) for name in ("fired", "given", "x")] + ["x"]
    g = Graph(info("h", [4]), info("xs", [6, 4]), info("c", [], BOOL))
    fires = g.add("MatMul", "h", g.weights(4, 4))
    out = g.add("Scan", fires, "h", "xs", n_out=4, body=body, num_scan_inputs=1)
    g.add("MatMul", out[2], g.weights(4, 2))
    g.add("MatMul", out[3], g.weights(4, 2))
    sides = [Graph(name="a"), Graph(name="b")]
    sides[0].outputs, sides[1].outputs = [sides[0].add("Relu", fires)], [sides[1].add("Relu", "h")]
    g.add("MatMul", g.add("If", "c", then_branch=sides[0], else_branch=sides[1]), g.weights(4, 2))
    assert inputs_of(write(tmp_path, g)) == ["numbers", "spikes", "numbers", "numbers", "spikes", "numbers", "numbers"]


def test_a_scale_that_is_computed_makes_no_numbers_of_spikes(tmp_path):
    g = Graph(info("x", [5, 8]))
    y = "x"
    for width in (8, 6):
        q = g.add("DynamicQuantizeLinear", y, n_out=3)
        g.constants.append(tensor(f"w{width}", [width, 6], raw=bytes(6 * width), kind=INT8))
        y = g.add("Mul", g.add("Cast", g.add("MatMulInteger", q[0], f"w{width}", q[2]), to=1), g.add("Mul", q[1], g.real(0.5)))
    assert inputs_of(write(tmp_path, g)) == ["numbers", "spikes"]


def test_transposed_convolutions_by_lemaires_rules(tmp_path):
    g = Graph(info("x", [1, 2, 4, 4]))
    g.add("ConvTranspose", g.conv("x", 2, 3, 3, pad=1), g.weights(3, 5, 3, 3), strides=[2, 2])
    layers, _ = layers_of(write(tmp_path, g), "--rules", "lemaire-2022", "--neuron", "if", "--steps", "4")
    made = 5 * 9 * 9
    assert layers[1]["acs"] == pytest.approx(4 * (0.1 * 48 * 5 * 9 + 1.1 * made))


def test_rates_say_that_an_input_is_spikes_after_all(tmp_path):
    g = Graph(info("x", [1, 8]), info("y", [1, 8]))
    for name, x in (("a", "x"), ("b", "y")):
        g.add("MatMul", x, g.weights(8, 4), name=name)
    rates = tmp_path / "rates"
    rates.write_text("a 0.1\nb 0.1 in 0.5\n")
    layers, _ = layers_of(write(tmp_path, g), "--rates", rates)
    assert [layer["input"] for layer in layers] == ["numbers", "spikes"]
    assert layers[1]["synops"] == pytest.approx(4 * 0.5 * 32)


def test_pools_and_sums_are_in_both_networks(tmp_path):
    """As often as spikes come in; activations and normalization are the neurons' own."""
    g = Graph(info("x", [1, 2, 8, 8]))
    y = g.add("Relu", g.norm(g.conv("x", 2, 4, 3, pad=1), 4))
    y = g.add("Add", y, g.conv(y, 4, 4, 3, pad=1))
    y = g.add("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2])
    g.dense(g.add("Flatten", y), 64, 10)
    path = write(tmp_path, g)
    layers, device = layers_of(path, "--steps", "4", "--constant-input")
    joules = [(layer["op"], layer["compute_j"]) for layer in layers if layer["macs"] == 0]
    add = 0.9e-12 * 4 * 0.1
    assert joules == [("BatchNormalization", 0), ("Relu", 0), ("Add", pytest.approx(256 * add)), ("MaxPool", pytest.approx(256 * add)), ("Add", 0)]
    rate = device["break_even"]
    _, same = layers_of(path, "--steps", "4", "--constant-input", "--rates", rate)
    assert same["snn"]["total_j"] == pytest.approx(same["ann"]["total_j"], rel=1e-4)
    rates = tmp_path / "rates"
    rates.write_text("".join(f"{layer['layer']} 0.1\n" for layer in layers if layer["input" if "input" in layer else "macs"]))
    assert layers_of(path, "--steps", "4", "--constant-input", "--rates", rates)[1]["snn"]["total_j"] == device["snn"]["total_j"]


def test_one_side_of_an_if_takes_energy(tmp_path):
    sides = []
    for width in (5, 2):
        side = Graph(name="side")
        side.outputs = [side.add("Relu", side.add("MatMul", "x", side.weights(4, width)))]
        sides.append(side)
    g = Graph(info("x", [3, 4]), info("c", [], BOOL))
    g.add("If", "c", then_branch=sides[0], else_branch=sides[1])
    run = devices_of(write(tmp_path, g), "--device", "horowitz-45nm", "--memory", "none", "--as", "ann")["horowitz-45nm"]["ann"]
    assert run["total_j"] == pytest.approx((60 * 4.6 + 15 * 0.9) * 1e-12)
    assert run["total_low_j"] == pytest.approx((24 * 4.6 + 6 * 0.9) * 0.7e-12)
    assert run["total_high_j"] == pytest.approx((60 * 4.6 + 15 * 0.9) * 1.3e-12)
    assert any("of each If one side runs" in line for line in run["assumptions"])


def test_other_operations_cost_what_their_numbers_do(tmp_path):
    g = Graph(info("x", [10, 10], 10))
    g.add("Relu", "x")
    run = devices_of(write(tmp_path, g), "--device", "horowitz-45nm", "--as", "ann")["horowitz-45nm"]["ann"]
    assert run["compute_j"] == pytest.approx(100 * 0.4e-12)
    assert run["memory_j"] == pytest.approx(200 * 16 / 64 * 10e-12)
    g = Graph(info("x", [1, 50], FLOAT16))
    g.constants += [tensor(name, [50], raw=bytes(100), kind=FLOAT16) for name in "abcd"]
    g.add("BatchNormalization", "x", *"abcd")
    run = devices_of(write(tmp_path, g), "--device", "horowitz-45nm", "--as", "ann", "--memory", "dram-once")["horowitz-45nm"]["ann"]
    assert run["memory_j"] == pytest.approx(100 * 16 / 64 * 10e-12 + 100 * 16 / 64 * 1950e-12)


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


def test_rates_and_steps_are_swept():
    options = [*DIGITS, "--device", "horowitz-45nm", "--constant-input", "--memory", "dram-once"]
    found = devices_of(*options, "--rates", "0.1..0.3", "--steps", "2,4")["horowitz-45nm"]
    points = {(point["steps"], round(point["rate"], 6)): point for point in found["snn"]["sweep"]}
    assert sorted({rate for _, rate in points}) == [round(0.1 + 0.02 * i, 6) for i in range(11)] and len(points) == 22
    for steps, rate in ((2, 0.1), (4, 0.3), (4, 0.14)):
        alone = devices_of(*options, "--rates", rate, "--steps", steps)["horowitz-45nm"]
        for key in ("compute_j", "memory_high_j", "total_low_j", "total_j"):
            assert points[steps, rate][key] == alone["snn"][key]
        assert points[steps, rate]["ordinary_j"] == alone["ann"]["total_j"] == found["ann"]["total_j"]
    rows = list(csv.DictReader(io.StringIO(estimate(*options, "--rates", "0.1,0.3", "-f", "csv"))))
    assert [(row["steps"], float(row["rate"])) for row in rows] == [("4", 0.1), ("4", 0.3)]
    page = estimate(*options, "--rates", "0.1,0.3")
    assert "OF ORDINARY" in page and "conv1" not in page and "everywhere" not in page


def test_steps_are_swept_at_a_networks_own_rates(srnn):
    points = devices_of(srnn, "--device", "horowitz-45nm", "--steps", "100,784")["horowitz-45nm"]["snn"]["sweep"]
    assert [point["steps"] for point in points] == [100, 784] and "rate" not in points[0]
    assert points[1]["ordinary_j"] == pytest.approx(7.84 * points[0]["ordinary_j"])  # a sequence: the ordinary network runs as often
    result = run_wattle("estimate", *DIGITS, "--device", "horowitz-45nm", "--steps", "1,2")
    assert result.code == 0 and "is not known: give spikes" in result.out  # of the ordinary network alone there is a total


@pytest.mark.parametrize("option,value,code,says", [
    ("--steps", "1,2,3,4,5,6,7,8,9", 2, "such as 4 or 2,4,8"), ("--steps", "1.5", 2, "numbers from 1"), ("--steps", "2,", 2, "numbers from 1"),
    ("--rates", "0..1e9", 1, "from 0"), ("--rates", "0.1,-0.1", 1, "from 0"), ("--rates", "0.1,", 1, "cannot read '0.1,'"), ("--rates", "0.1..", 1, "cannot read"),
])
def test_what_cannot_be_swept(option, value, code, says):
    result = run_wattle("estimate", *DIGITS, "--device", "horowitz-45nm", f"{option}={value}")
    assert result.code == code and says in result.err and result.out == ""


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


def test_own_arithmetic_is_not_called_printed():
    """Of SRNN's figures, the authors printed none; of TC-LIF's, all."""
    rows = {name: [row for row in json.loads(estimate("--paper", name, "-f", "json"))["rows"] if row["kind"] == "row"]
            for name in ("srnn", "lemaire", "tc-lif")}
    assert all("expected" in row and "printed" not in row for row in rows["srnn"] + rows["lemaire"])
    assert all("printed" in row and "expected" not in row for row in rows["tc-lif"])


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


def test_a_large_table_takes_little_memory_and_time(tmp_path):
    """Each row is compared with the last one, and has two mistakes."""
    table = tmp_path / "table.csv"
    table.write_text("row,as,input,operation,precision,baseline\n" + "".join(f"r{i},snn,analog,ac,int8,last\n" for i in range(99_999))
                     + "last,ann,,,fp32,\n")
    done, peak_kb = run_for_memory("estimate", "--lint", table)
    assert done.returncode == 1 and peak_kb < 64 << 10
    assert "table.csv:2: r0: analog-as-ac" in done.stdout and "\n189998 more findings\n" in done.stdout
    assert json.loads(run_wattle("estimate", "--lint", str(table), "-f", "json").out)["more_findings"] == 189_998


def test_a_network_of_many_layers(tmp_path):
    network, rates = tmp_path / "network.txt", tmp_path / "rates.txt"
    network.write_text("network large\ninput 4 analog\n" + "".join(f"dense layer{i} 4\n" for i in range(20_000)))
    rates.write_text("".join(f"layer{i} 0.1\n" for i in reversed(range(20_000))))
    totals = json.loads(estimate(network, "-f", "json"))["totals"]
    assert totals["macs"] == 320_000
    assert "layer19999 " in estimate(network, "--device", "horowitz-45nm", "--rates", rates, "--as", "snn", "-f", "text")
    network.write_text(network.read_text() + "dense layer0 4\n")
    assert "more than 20000 layers" in run_wattle("estimate", str(network)).err


def test_a_picture_shows_the_break_even(tmp_path):
    picture = tmp_path / "x.svg"
    estimate(*DIGITS, "--device", "horowitz-45nm", "--constant-input", "-o", picture)
    assert picture.read_text().startswith("<?xml")
    estimate(*DIGITS, "--device", "horowitz-45nm", "--constant-input", "--steps", "3,5", "--rates", "0.1..0.5", "-o", picture)
    assert "spiking, 3 steps" in picture.read_text() and "spiking, 4 steps" not in picture.read_text()
    result = run_wattle("estimate", *DIGITS, "-o", str(picture))
    assert result.code == 2 and "--device" in result.err


def test_options_for_prices_need_a_device():
    result = run_wattle("estimate", *DIGITS, "--steps", "4")
    assert result.code == 2 and "--steps is about prices" in result.err
