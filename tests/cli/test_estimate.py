# SPDX-License-Identifier: MIT
"""wattle estimate: counts to the digit, what models leave open, and files that are wrong."""

import csv
import io
import json
import os
import struct
import subprocess
from pathlib import Path

import nets
import onnx_file
import pytest
from conftest import command_path, cut_environment, run_for_memory, run_wattle
from onnx_file import BOOL, FLOAT, FLOAT16, INT8, INT32, INT64, UINT8, Graph, info, node, number, tensor, text, varint

TESTDATA = Path("/usr/share/libonnx-testdata/data")  # Debian's libonnx-testdata: ONNX's own test cases
MS = "com.microsoft"


def write(tmp_path, graph, **more):
    path = tmp_path / "model.onnx"
    path.write_bytes(graph if isinstance(graph, bytes) else graph.model(**more))
    return path


def estimate(path, *args):
    result = run_wattle("estimate", "-f", "json", *args, path)
    assert result.code == 0, result.err
    return result.json


def refused(path, *args, says):
    result = run_wattle("estimate", *args, path)
    assert result.code == 1 and result.out == ""
    line = result.complaint()
    for word in says:
        assert word in line, line
    return line


def layer_of(found, op):
    return next(layer for layer in found["layers"] if layer["op"] == op)


# ---- To the digit ----

# Facts: torchvision's and torchinfo's parameters, MACs as published by several counters.
PUBLISHED = {
    "alexnet": (nets.alexnet, (), 61_100_840, 714_188_480),
    "vgg16": (nets.vgg16, (), 138_357_544, 15_470_264_320),
    "resnet18": (lambda: nets.resnet((2, 2, 2, 2), False), (), 11_689_512, 1_814_073_344),
    "resnet50": (lambda: nets.resnet((3, 4, 6, 3), True), (), 25_557_032, 4_089_184_256),
    "mobilenet_v2": (nets.mobilenet_v2, (), 3_504_872, 300_774_272),
    "vit_b_16": (nets.vit_b_16, (), 86_567_656, 17_563_828_224),
    "bert_base_128": (nets.bert_base, ("--dim", "batch=1", "--dim", "length=128"), 109_482_240, 11_174_215_680),
    "bert_base_512": (nets.bert_base, ("--dim", "batch=1", "--input", "token_type_ids=1x512"), 109_482_240, 48_318_971_904),
    "gpt2": (nets.gpt2, (), 124_439_808, 145_824_153_600),
    "gpt2_without_head": (lambda: nets.gpt2(has_head=False), (), 124_439_808, 106_300_440_576),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_counts(name, tmp_path):
    make, args, parameters, macs = PUBLISHED[name]
    found = estimate(write(tmp_path, make()), *args)
    assert (found["totals"]["parameters"], found["totals"]["macs"]) == (parameters, macs)
    assert found["coverage"]["counted"] == found["coverage"]["nodes"] and found["coverage"]["not_counted"] == []


def test_products_of_attention_are_apart(tmp_path):
    """Counters that miss them print 16,848,500,736 for ViT."""
    found = estimate(write(tmp_path, nets.vit_b_16()))
    assert sum(layer["macs"] for layer in found["layers"] if layer["kind"] != "product") == 16_848_500_736


def test_running_means_are_buffers(tmp_path):
    assert estimate(write(tmp_path, nets.resnet((3, 4, 6, 3), True)))["totals"]["buffers"] == 53_120


def test_two_layers_of_lstm(tmp_path):
    """torchinfo prints 376,832,000: it takes biases for MACs."""
    g = Graph(info("x", [100, 1, 300]))
    first = g.add("LSTM", "x", g.weights(1, 2048, 300), g.weights(1, 2048, 512), g.weights(1, 4096), hidden_size=512, n_out=3)[0]
    g.add("LSTM", g.add("Squeeze", first, g.ints(1)), g.weights(1, 2048, 512), g.weights(1, 2048, 512), g.weights(1, 4096), hidden_size=512)
    found = estimate(write(tmp_path, g))
    assert (found["totals"]["parameters"], found["totals"]["macs"]) == (3_768_320, 376_012_800)


CASES = {
    "lstm_defaults": 180, "lstm_with_peepholes": 168, "lstm_batchwise": 756, "gru_defaults": 315, "gru_seq_length": 720,
    "simple_rnn_defaults": 72, "basic_conv_with_padding": 225, "conv_with_autopad_same": 81, "convtranspose": 162,
    "convtranspose_dilations": 36, "gemm_all_attributes": 60, "matmul_4d": 72, "matmulinteger": 24,
}


@pytest.mark.skipif(not TESTDATA.is_dir(), reason="Debian's libonnx-testdata is not installed")
def test_all_test_models_are_read():
    paths = sorted(TESTDATA.glob("**/model.onnx"))
    assert len(paths) >= 1072
    script = 'for path; do "$WATTLE" estimate -f ndjson "$path" || exit 1; done'
    done = subprocess.run(["sh", "-c", script, "sh", *paths], env={**os.environ, "WATTLE": str(command_path())}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(paths)
    macs = {path.parent.name[len("test_"):]: model["totals"]["macs"] for path, model in zip(paths, found)}
    assert {name: macs[name] for name in CASES} == CASES


def test_groups_transposes_and_dimensions(tmp_path):
    g = Graph(info("x", [2, 4, 6, 5, 4]))
    y = g.add("Conv", "x", g.weights(6, 2, 3, 2, 1), group=2)
    g.add("ConvTranspose", "x", g.weights(4, 3, 2, 2, 2), strides=[2, 2, 2])
    g.add("Einsum", y, g.weights(6, 7), equation="nchwd,ck->nkhwd")
    conv, transposed, einsum = (layer["macs"] for layer in estimate(write(tmp_path, g))["layers"])
    out = 2 * 6 * 4 * 4 * 4
    assert layer_of(estimate(tmp_path / "model.onnx"), "Einsum")["output_shape"] == "2x7x4x4x4"
    assert (conv, transposed, einsum) == (out * 2 * 3 * 2, 2 * 4 * 6 * 5 * 4 * 3 * 8, out * 7)


def test_a_parameter_counts_once(tmp_path):
    """By storage: through views, parts and several users. Single numbers are none."""
    g = Graph(info("x", [1, 8]))
    table = g.weights(8, 24)
    parts = g.add("Split", table, g.ints(8, 8, 8), n_out=3, axis=1)
    for part in parts:
        g.add("MatMul", "x", part)
    g.add("MatMul", "x", g.add("Transpose", parts[0], perm=[1, 0]))
    g.add("Mul", "x", g.real(0.5))
    totals = estimate(write(tmp_path, g))["totals"]
    assert (totals["parameters"], totals["weight_bytes"], totals["macs"]) == (192, 192 * 4 + 4, 4 * 64)


# ---- Quantized ----

def test_quantized_by_pairs_of_nodes(tmp_path):
    g = Graph(info("x", [1, 3, 8, 8]))
    g.constants += [tensor("w", [4, 3, 3, 3], raw=bytes(108), kind=INT8), tensor("ws", [4], [1.0] * 4), tensor("wz", [4], raw=bytes(4), kind=INT8),
                    tensor("s", [], [0.5]), tensor("z", [], raw=b"\0", kind=UINT8)]
    x = g.add("DequantizeLinear", g.add("QuantizeLinear", "x", "s", "z"), "s", "z")
    g.add("Conv", x, g.add("DequantizeLinear", "w", "ws", "wz", axis=0))
    found = estimate(write(tmp_path, g))
    conv = layer_of(found, "Conv")
    assert (conv["macs"], conv["weights"], conv["activations"], conv["parameters"], conv["scales"]) == (36 * 4 * 27, "int8", "int8", 108, 8)
    assert conv["weight_bytes"] == 108 + 16 + 4 and found["totals"]["scales"] == 10


def test_weights_of_four_bits(tmp_path):
    g = Graph(info("x", [2, 5, 64]))
    g.constants += [tensor("b", [16, 2, 16], raw=bytes(512), kind=UINT8), tensor("s", [32], [1.0] * 32)]
    g.add("MatMulNBits", "x", "b", "s", domain=MS, K=64, N=16, bits=4, block_size=32)
    layer = layer_of(estimate(write(tmp_path, g)), "MatMulNBits")
    assert (layer["macs"], layer["parameters"], layer["weight_bytes"], layer["scales"]) == (10 * 64 * 16, 1024, 512 + 128, 32)
    assert (layer["weights"], layer["activations"]) == ("int4", "fp32")


def test_weights_of_four_bits_without_blocks(tmp_path):
    g = Graph(info("x", [2, 5, 64]))
    g.constants += [tensor("b", [512], raw=bytes(512), kind=UINT8), tensor("s", [16], [1.0] * 16)]
    g.add("MatMulBnb4", "x", "b", "s", domain=MS, K=64, N=16, block_size=64, quant_type=1)
    layer = layer_of(estimate(write(tmp_path, g)), "MatMulBnb4")
    assert (layer["macs"], layer["parameters"], layer["weight_bytes"], layer["scales"]) == (10 * 64 * 16, 1024, 512 + 64, 16)


def bias(n):
    return tensor("bias", [n], raw=bytes(4 * n), kind=INT32)


def test_biases_of_quantized_layers_are_parameters(tmp_path):
    """They are int32: dequantized, or an input of the layer, which may leave out what follows it."""
    g = Graph(info("x", [2, 6], INT8))
    g.constants += [tensor("w", [6, 4], raw=bytes(24), kind=INT8), tensor("s", [], [0.5]), tensor("z", [], raw=b"\0", kind=INT8), bias(4)]
    g.add("QGemm", "x", "s", "z", "w", "s", "z", "bias", domain=MS)
    assert layer_of(estimate(write(tmp_path, g)), "QGemm")["parameters"] == 28
    g = Graph(info("x", [1, 3, 8, 8]))
    g.constants += [tensor("w", [4, 3, 3, 3], raw=bytes(108), kind=INT8), tensor("s", [], [0.5]), bias(4)]
    g.add("Conv", "x", g.add("DequantizeLinear", "w", "s"), g.add("DequantizeLinear", "bias", "s"))
    conv = layer_of(estimate(write(tmp_path, g)), "Conv")
    assert (conv["parameters"], conv["buffers"]) == (112, 0)


def test_layers_without_macs_have_a_precision(tmp_path):
    g = Graph(info("h", [4, 4], FLOAT16), info("c", [4, 4], BOOL), info("x", [4, 4]))
    g.constants += [tensor("s", [], [0.5]), tensor("z", [], raw=b"\0", kind=UINT8)]
    g.add("Where", "c", g.add("Relu", "h"), "h")
    g.add("Sigmoid", g.add("DequantizeLinear", g.add("QuantizeLinear", "x", "s", "z"), "s", "z"))
    found = estimate(write(tmp_path, g))
    assert [layer_of(found, op)["activations"] for op in ("Relu", "Where", "Sigmoid")] == ["fp16", "fp16", "int8"]


def test_attention_of_onnx_runtime(tmp_path):
    g = Graph(info("x", [2, 7, 32]), info("k", [2, 9, 32]), info("kv", [2, 7, 16]))
    g.add("Attention", "x", g.weights(32, 96), g.weights(96), domain=MS, num_heads=4)
    g.add("MultiHeadAttention", "x", "k", "k", domain=MS, num_heads=4)
    g.add("GroupQueryAttention", "x", "kv", "kv", domain=MS, num_heads=4, kv_num_heads=2)
    g.add("Attention", "x", "k", "k", q_num_heads=4, kv_num_heads=4)
    macs = [layer["macs"] for layer in estimate(write(tmp_path, g, opset=23))["layers"]]
    assert macs == [2 * 7 * 32 * 96 + 2 * 2 * 7 * 7 * 32, 2 * 2 * 7 * 9 * 32, 2 * 2 * 7 * 7 * 32, 2 * 2 * 7 * 9 * 32]


# ---- Branches, loops, functions ----

def branch(*sizes):
    g = Graph(name="b")
    for size in sizes:
        y = g.add("MatMul", "x", g.weights(4, size))
    g.outputs = [y]
    return g


def test_an_if_is_a_range(tmp_path):
    g = Graph(info("x", [3, 4]), info("c", [], BOOL))
    y = g.add("If", "c", then_branch=branch(5), else_branch=branch(2, 5))
    g.add("Relu", y)
    found = estimate(write(tmp_path, g))
    assert (found["totals"]["macs_min"], found["totals"]["macs"]) == (60, 84)
    assert [layer.get("side") for layer in found["layers"]] == ["then", "else", "else", None]
    assert layer_of(found, "Relu")["other_ops"] == 15
    page = run_wattle("estimate", tmp_path / "model.onnx").out
    assert "60 to 84" in page and "one side runs" in page


def test_branches_within_branches_are_ranges_of_all_that_runs(tmp_path):
    """Then: 4x5 or 4x1, and a Relu; else: nothing but two Relus."""
    inner = Graph(name="i")
    inner.outputs = [inner.add("If", "d", then_branch=branch(5), else_branch=branch(1)), inner.add("Relu", "x")]
    other = Graph(name="o")
    other.outputs = [other.add("Relu", other.add("Relu", "x")), "x"]
    g = Graph(info("x", [3, 4]), info("c", [], BOOL), info("d", [], BOOL))
    g.add("If", "c", n_out=2, then_branch=inner, else_branch=other)
    totals = estimate(write(tmp_path, g))["totals"]
    assert (totals["macs_min"], totals["macs"], totals["parameters"]) == (0, 60, 24)
    assert (totals["other_ops_min"], totals["other_ops"]) == (12, 24)
    assert (totals["output_bytes_min"], totals["output_bytes"]) == (4 * 15, 4 * 27)
    assert "60 bytes to 108 bytes written" in run_wattle("estimate", tmp_path / "model.onnx").out


@pytest.mark.parametrize("value,macs", [(1, 60), (0, 24)])
def test_an_if_that_is_known(value, macs, tmp_path):
    g = Graph(info("x", [3, 4]))
    g.constants.append(tensor("c", [], [value], BOOL))
    g.add("If", "c", then_branch=branch(5), else_branch=branch(2))
    totals = estimate(write(tmp_path, g))["totals"]
    assert (totals["macs_min"], totals["macs"]) == (macs, macs)


def loop_body(condition):
    g = Graph(info("i", [], INT64), info("go", [], BOOL), info("h", [3, 4]), name="body")
    go = g.add("Identity", "go") if condition is None else g.add("Not", g.add("Cast", condition, to=BOOL))
    h = g.add("MatMul", "h", g.weights(4, 4))
    g.outputs = [go, h, h]
    return g


def test_a_loop_by_its_trip_count(tmp_path):
    g = Graph(info("x", [3, 4]))
    out = g.add("Loop", g.ints(10, scalar=True), "", "x", n_out=2, body=loop_body(None))
    g.add("Relu", out[1])
    found = estimate(write(tmp_path, g))
    assert found["totals"]["macs"] == 10 * 48 and found["totals"]["parameters"] == 16
    assert layer_of(found, "Relu")["other_ops"] == 10 * 12


def test_a_loop_until_something_happens(tmp_path):
    g = Graph(info("x", [3, 4]))
    g.add("Loop", g.ints(10, scalar=True), "", "x", n_out=2, body=loop_body("i"))
    found = estimate(write(tmp_path, g))
    assert found["totals"]["macs"] == 48 and found["totals"]["repeats_unknown"] is True
    assert "counted once" in run_wattle("estimate", tmp_path / "model.onnx").out


def test_a_scan_along_its_input(tmp_path):
    body = Graph(info("h", [4]), info("x", [4]), name="body")
    h = body.add("MatMul", body.add("Add", "h", "x"), body.weights(4, 4))
    body.outputs = [h, h]
    g = Graph(info("h0", [4]), info("xs", ["steps", 4]))
    out = g.add("Scan", "h0", "xs", n_out=2, body=body, num_scan_inputs=1)
    g.add("Relu", out[1])
    refused(write(tmp_path, g), says=["--dim 'steps=N'"])
    found = estimate(tmp_path / "model.onnx", "--dim", "steps=6")
    assert found["totals"]["macs"] == 6 * 16 and layer_of(found, "Relu")["other_ops"] == 24


def test_functions(tmp_path):
    """Attributes of the caller go in; each call counts."""
    reference = text(1, "transB") + text(21, "turned") + number(20, 2)
    inner = text(1, "a") + text(1, "b") + text(2, "y") + text(4, "Gemm") + text(5, reference)
    function = text(1, "F") + text(4, "a") + text(4, "b") + text(5, "z") + text(7, inner) + text(7, node("Relu", ["y"], ["z"])) + text(10, "my")
    g = Graph(info("x", [3, 4]))
    g.add("F", "x", g.weights(5, 4), domain="my", turned=1)
    g.add("F", "x", g.weights(4, 6), domain="my", turned=0)
    found = estimate(write(tmp_path, g, functions=[function], domains=["my"]))
    assert found["totals"]["macs"] == 3 * 4 * 5 + 3 * 4 * 6 and found["totals"]["other_ops"] == 15 + 18


def test_functions_of_one_name(tmp_path):
    """Each by its domain and overload; of two that are the same, the first."""
    def function(op, domain, overload=""):
        return text(1, "F") + text(4, "a") + text(5, "z") + text(7, node(op, ["a"], ["z"])) + text(10, domain) + text(13, overload)
    g = Graph(info("x", [3, 4]))
    for domain in ("one", "two"):
        g.add("F", "x", domain=domain)
    g.nodes[-1] += text(8, "o")
    functions = [function("Relu", "two"), function("Tanh", "one"), function("Sigmoid", "two", "o"), function("Erf", "one")]
    found = estimate(write(tmp_path, g, functions=functions, domains=["one", "two"]))
    assert [layer["op"] for layer in found["layers"]] == ["Tanh", "Sigmoid"]


# ---- Sizes that are open ----

def test_open_sizes_are_asked_for_by_name(tmp_path):
    g = Graph(info("x", ["batch", 4, None]), info("free", ["unused"]))
    g.add("MatMul", "x", g.weights(3, 5))
    path = write(tmp_path, g)
    refused(path, says=["--dim 'batch=N'", "--input 'x=NxN...'"])
    refused(path, "--dim", "batch=2", says=["--input 'x=NxN...'"])
    assert estimate(path, "--input", "x=2x4x3")["totals"]["macs"] == 2 * 4 * 3 * 5
    assert estimate(path, "--input", "x=2x4x3", "--dim", "unused=9")["totals"]["macs"] == 2 * 4 * 3 * 5


@pytest.mark.parametrize("args,says", [
    (("--dim", "what=2"), "no size of that name"), (("--dim", "batch=0"), "whole number"), (("--dim", "batch=-1"), "whole number"),
    (("--dim", "batch"), "NAME=SIZE"), (("--dim", "batch=99999999999999999999"), "whole number"), (("--input", "y=1x2"), "its inputs are: x"),
    (("--input", "x=1x2"), "has 3 sizes, not 2"), (("--input", "x=1x5x3"), "always 4"), (("--input", "x=1xx3"), "whole number"),
    (("--dim", "batch=2", "--input", "x=3x4x3"), "another size"),
])
def test_options_that_do_not_fit(args, says, tmp_path):
    g = Graph(info("x", ["batch", 4, 3]))
    g.add("MatMul", "x", g.weights(3, 5))
    refused(write(tmp_path, g), *args, says=[says])


def test_an_input_without_a_shape(tmp_path):
    g = Graph(info("x"))
    g.add("MatMul", "x", g.weights(3, 5))
    refused(write(tmp_path, g), says=["--input 'x="])
    assert estimate(tmp_path / "model.onnx", "--input", "x=7x3")["totals"]["macs"] == 105


# ---- What is not counted ----

def test_coverage_names_what_is_missing(tmp_path):
    g = Graph(info("x", [3, 4]))
    g.add("MatMul", g.add("Transpose", g.add("NonZero", "x"), perm=[1, 0]), g.weights(2, 5))
    g.add("Strange", "x", domain="my")
    g.add("Relu", g.add("Strange", "x", domain="my"))
    found = estimate(write(tmp_path, g))
    assert found["coverage"]["nodes"] - found["coverage"]["counted"] == 4
    assert sorted((row["op"], row["nodes"]) for row in found["coverage"]["not_counted"]) == [("MatMul", 1), ("Relu", 1), ("my.Strange", 2)]
    page = run_wattle("estimate", tmp_path / "model.onnx").out
    assert "2 my.Strange" in page and "1 MatMul (only running it tells the sizes)" in page


def test_weights_of_unknown_ops_are_parameters(tmp_path):
    g = Graph(info("x", [3, 4]))
    g.add("Strange", "x", g.weights(4, 5), domain="my")
    found = estimate(write(tmp_path, g))
    assert found["totals"]["parameters"] == 20 and found["totals"]["weight_bytes"] == 80
    assert found["layers"][0]["not_counted"] == "there is no rule for it"
    rows = list(csv.DictReader(io.StringIO(run_wattle("estimate", "-f", "csv", tmp_path / "model.onnx").out)))
    assert rows[0]["not_counted"] == "there is no rule for it"


def test_a_scan_of_old_is_not_counted(tmp_path):
    body = Graph(info("x", [4]), name="body")
    body.outputs = [body.add("Relu", "x")]
    g = Graph(info("xs", [6, 4]))
    g.add("Scan", "", "xs", body=body, num_scan_inputs=1)
    coverage = estimate(write(tmp_path, g, opset=8))["coverage"]
    assert (coverage["nodes"], coverage["counted"], coverage["not_counted"][0]["op"]) == (1, 0, "Scan")


def test_shapes_that_the_file_tells(tmp_path):
    g = Graph(info("x", [3, 4]))
    strange = g.add("Strange", "x", domain="my")
    g.add("MatMul", strange, g.weights(2, 5))
    model = g.model().replace(text(7, g.message()), text(7, g.message() + text(13, info(strange, [6, 2]))))
    assert estimate(write(tmp_path, model))["totals"]["macs"] == 60


# ---- Wrong files ----

def small():
    g = Graph(info("x", [1, 3, 8, 8]))
    g.add("Relu", g.conv("x", 3, 4, 3), name="act")
    return g


def test_every_beginning_of_a_file_is_refused_or_read(tmp_path):
    whole = small().model()
    script = 'for path; do "$WATTLE" estimate -f csv "$path" >/dev/null; echo $?; done'
    paths = []
    for n in range(len(whole)):
        paths.append(tmp_path / f"{n}.onnx")
        paths[-1].write_bytes(whole[:n])
    done = subprocess.run(["sh", "-c", script, "sh", *paths], env={**os.environ, "WATTLE": str(command_path())}, capture_output=True, text=True)
    assert set(done.stdout.split()) <= {"0", "1"}
    assert done.stderr.count("\n") == done.stdout.split().count("1") > len(whole) // 2


def test_what_is_no_model(tmp_path):
    refused(write(tmp_path, b""), says=["model.onnx", "empty"])
    refused(write(tmp_path, b"#!/bin/sh\n"), says=["no ONNX model", "byte "])
    refused(write(tmp_path, number(1, 8)), says=["no graph"])
    refused(tmp_path / "none.onnx", says=["No such file"])
    refused(tmp_path, says=["directory"])


@pytest.mark.parametrize("sizes, says", [(text(3, b"\xff"), "field 3"), (text(3, b"".join(number(0, 1)[1:] for _ in range(65))), "more than 64 dimensions"),
                                         (number(3, -2), "-2"), (varint(3 << 3 | 5) + b"abcd", "field 3")],
                         ids=["cut", "rank", "negative", "wire"])
def test_a_damaged_sparse_tensor(sizes, says, tmp_path):
    g = small()
    values = tensor("values", [1], [1.0])
    refused(write(tmp_path, number(1, 8) + text(7, g.message() + text(15, text(1, values) + sizes)) + text(8, number(2, 17))), says=[says])


def test_too_many_layers(tmp_path):
    g = Graph(info("x", [4]))
    y = "x"
    for _ in range(20_000):
        y = g.add("Relu", y)
    estimate(write(tmp_path, g), "-f", "ndjson")
    g.add("Relu", y)
    refused(write(tmp_path, g), says=["more than 20000 layers", "n20001"])


def test_a_file_that_somebody_truncates_while_it_is_read(tmp_path):
    path = write(tmp_path, small())
    for args in ((), ("--device", "horowitz-45nm")):
        result = run_wattle("estimate", *args, path, env=cut_environment(path))
        assert result.code == 1 and result.out == "" and f"{path}: another program has truncated it" in result.complaint()
        write(tmp_path, small())


def test_a_circle_of_nodes(tmp_path):
    g = Graph(info("x", [1]))
    g.nodes = [node("Add", ["x", "b"], ["a"], "first"), node("Relu", ["a"], ["b"], "second")]
    refused(write(tmp_path, g), says=["node 'first' (Add)", "byte ", "'b'", "circle"])


def test_a_function_within_itself(tmp_path):
    function = text(1, "F") + text(4, "a") + text(5, "b") + text(7, node("F", ["a"], ["b"], domain="my")) + text(10, "my")
    g = Graph(info("x", [1]))
    g.add("F", "x", domain="my")
    refused(write(tmp_path, g, functions=[function]), says=["24 deep"])


def test_functions_that_double(tmp_path):
    """2 to the 20th nodes from 20 small functions end with a line."""
    functions = []
    for i in range(20):
        calls = [node(f"F{i + 1}", ["a"], [f"b{k}"], domain="my") if i < 19 else node("Relu", ["a"], [f"b{k}"]) for k in range(4)]
        functions.append(text(1, f"F{i}") + text(4, "a") + text(5, "b0") + b"".join(text(7, call) for call in calls) + text(10, "my"))
    g = Graph(info("x", [1]))
    g.add("F0", "x", domain="my")
    result = run_wattle("estimate", write(tmp_path, g, functions=functions))
    assert result.code == 1 and result.err.count("\n") == 1


def test_products_beyond_64_bits(tmp_path):
    g = Graph(info("x", [1 << 31, 1 << 31]))
    g.add("Relu", g.add("MatMul", "x", g.weights(1 << 31, 4), name="huge"))
    refused(write(tmp_path, g), says=["node 'huge' (MatMul)", "64 bits", "byte "])
    g = Graph(info("x", [4]))
    g.constants.append(tensor("w", [1 << 40, 1 << 40], []))
    refused(write(tmp_path, g), says=["tensor 'w'", "64 bits"])


def test_sizes_that_do_not_fit_together(tmp_path):
    g = Graph(info("x", [3, 4]))
    g.add("Add", "x", g.weights(5), name="sum")
    refused(write(tmp_path, g), says=["node 'sum' (Add)", "4 and 5"])
    g = Graph(info("x", [3, 4]))
    g.constants.append(tensor("w", [4, 4], raw=bytes(60)))
    refused(write(tmp_path, g), says=["tensor 'w'", "not as long"])


def external(location, offset, length, dims=(4, 5)):
    pairs = (("location", location), ("offset", str(offset)), ("length", str(length)))
    return tensor("w", dims) + b"".join(text(13, text(1, key) + text(2, value)) for key, value in pairs) + number(14, 1)


def test_data_in_another_file(tmp_path):
    g = Graph(info("x", [2, 4]))
    g.add("MatMul", "x", "w")
    g.constants.append(external("weights.bin", 16, 80))
    refused(write(tmp_path, g), says=["tensor 'w'", "'weights.bin'", "No such file"])
    (tmp_path / "weights.bin").write_bytes(bytes(95))
    refused(tmp_path / "model.onnx", says=["end beyond the end"])
    (tmp_path / "weights.bin").write_bytes(bytes(96))
    assert estimate(tmp_path / "model.onnx")["totals"]["weight_bytes"] == 80
    for location in ("/etc/passwd", "../weights.bin", "a/../../b", ""):
        g.constants[-1] = external(location, 0, 80)
        refused(write(tmp_path, g), says=["tensor 'w'"])
    g.constants[-1] = external("weights.bin", 0, 81)
    refused(write(tmp_path, g), says=["length of its external data"])


def test_a_shape_in_another_file(tmp_path):
    """Models that are stored so have all of their tensors there."""
    g = Graph(info("x", [2, 12]))
    g.constants.append(external("w.bin", 0, 16, [2]).replace(number(2, FLOAT), number(2, INT64), 1))
    g.add("Relu", g.add("Transpose", g.add("Reshape", "x", "w"), perm=[1, 0]))
    (tmp_path / "w.bin").write_bytes(struct.pack("<2q", -1, 6))
    assert [layer["output_elements"] for layer in estimate(write(tmp_path, g))["layers"]] == [24, 24]


def test_two_gigabytes_in_little_memory(tmp_path):
    """A weight of 2.5 GB that is a hole in the file."""
    rows = 625_000
    head = number(1, rows) + number(1, 1000) + number(2, FLOAT) + text(8, "w")
    raw = onnx_file.varint(9 << 3 | 2) + onnx_file.varint(rows * 4000)
    size = len(head) + len(raw) + rows * 4000
    g = Graph(info("x", [1, rows]))
    g.add("MatMul", "x", "w")
    rest = g.message()
    graph = onnx_file.varint(5 << 3 | 2) + onnx_file.varint(size) + head + raw
    whole = len(rest) + len(graph) + rows * 4000
    path = tmp_path / "large.onnx"
    with open(path, "wb") as file:
        file.write(number(1, 8) + onnx_file.varint(7 << 3 | 2) + onnx_file.varint(whole) + graph)
        file.seek(rows * 4000, os.SEEK_CUR)
        file.write(rest + text(8, number(2, 17)))
    done, peak_kb = run_for_memory("estimate", "-f", "json", path)
    path.unlink()
    assert done.returncode == 0, done.stdout
    assert peak_kb < 64 << 10
    totals = json.loads(done.stdout)["totals"]
    assert totals["macs"] == totals["parameters"] == rows * 1000


# ---- What is printed ----

def test_csv_adds_up(tmp_path):
    path = write(tmp_path, nets.resnet((2, 2, 2, 2), False))
    totals = estimate(path)["totals"]
    rows = list(csv.DictReader(io.StringIO(run_wattle("estimate", "-f", "csv", path).out)))
    for key in ("macs", "other_ops", "parameters", "buffers", "scales", "weight_bytes", "input_bytes", "output_bytes"):
        assert sum(int(row[key]) for row in rows) == totals[key], key


def test_names_from_the_file_are_cleaned_and_cut_in_the_middle(tmp_path):
    g = Graph(info("x", [3, 4]))
    for name in ("\x1b[31mred\n", "/encoder/layer.11/attention/self/query/MatMul", "一二三四五六七八九十一二三四五六七八九十"):
        g.add("MatMul", "x", g.weights(4, 4), name=name)
    path = write(tmp_path, g)
    result = run_wattle("estimate", path)
    assert b"\x1b" not in result.err_bytes and "\x1b" not in result.out
    assert "/encoder/la…" in result.out and "/query/MatMul  MatMul" in result.out and "?[31mred" in result.out
    ascii_only = run_wattle("estimate", "--ascii", path).out
    assert ascii_only.isascii()
    assert [layer["layer"] for layer in estimate(path)["layers"]][1] == "/encoder/layer.11/attention/self/query/MatMul"
    assert "| n" not in run_wattle("estimate", "-f", "markdown", path).out


def test_to_a_file(tmp_path):
    path = write(tmp_path, small())
    result = run_wattle("estimate", "-f", "json", "-o", tmp_path / "out.json", path)
    assert result.code == 0 and result.out == ""
    assert json.loads((tmp_path / "out.json").read_text())["schema"] == "wattle.estimate/1"
    assert run_wattle("estimate", "-o", path, path).code == 2
