# SPDX-License-Identifier: MIT
"""`wattle.estimate` and `wattle.summary`: models in memory and modules of PyTorch; counts of models that others made, to the digit; other
people's counters on the same models, with what they are known to get wrong."""

import importlib
import inspect
import json
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest
from conftest import BUILD, REPO

import wattle

onnx = pytest.importorskip("onnx", "1.23.2")
torch = pytest.importorskip("torch")
nn = torch.nn

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
DIGITS = REPO / "tests" / "fixtures" / "models" / "digits.onnx"
pytestmark = [pytest.mark.filterwarnings("ignore::UserWarning"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.fixture(autouse=True)
def command(monkeypatch):
    monkeypatch.setattr("wattle._estimate.find_command", lambda: str(BUILD / "wattle"))


# ---- To the digit ----

# The models of onnx 1.23.2: numbers stored as parameters and buffers, MACs. ResNet's, VGG's and SqueezeNet's are also torchvision's and calflops'.
MODELS = {
    "bvlc_alexnet": (60_965_224, 654_560_384),
    "densenet121": (8_146_152, 2_834_161_664),
    "inception_v1": (6_998_552, 1_431_556_352),
    "inception_v2": (11_234_792, 2_018_851_840),
    "resnet50": (25_610_152, 4_089_184_256),
    "shufflenet": (1_420_152, 124_664_528),
    "squeezenet": (1_235_496, 349_151_936),
    "vgg19": (143_667_240, 19_632_062_464),
    "zfnet512": (87_250_536, 1_481_727_008),
}


def test_all_models_are_in_the_table():
    assert {path.name for path in LIGHT.glob("*.onnx")} == {f"light_{name}.onnx" for name in MODELS}


@pytest.mark.parametrize("name", MODELS)
def test_models_that_others_made(name):
    found = wattle.estimate(LIGHT / f"light_{name}.onnx")
    assert (found.totals.parameters + found.totals.buffers, found.totals.macs) == MODELS[name]
    assert found.coverage.counted == found.coverage.nodes and found.coverage.not_counted == ()
    assert sum(layer.macs for layer in found.layers) == found.totals.macs


def test_models_in_memory():
    path = LIGHT / "light_squeezenet.onnx"
    said = [wattle.estimate(model) for model in (path, str(path), path.read_bytes(), onnx.load(path))]
    assert len({one.totals for one in said}) == len({one.layers for one in said}) == 1
    assert said[0].layers[-1].output_shape == (1, 1000, 1, 1)


# ---- Other counters ----

# What onnx-tool 1.0.1 is known to count otherwise: it takes a bias for a MAC of each output, and finds no parameters where they are computed
# by the file (ConstantOfShape), as here. Its other ops (pools, activations) are weighed as MACs, too, so layers are compared one by one.


@pytest.mark.parametrize("name", MODELS)
def test_beside_onnx_tool(name):
    onnx_tool = pytest.importorskip("onnx_tool")
    model = onnx_tool.Model(str(LIGHT / f"light_{name}.onnx"))
    model.graph.shape_infer(None)
    model.graph.profile()
    theirs = {node.output[0]: (int(node.macs[0]), len(node.input) > 2) for node in model.graph.nodemap.values() if node.op_type in ("Conv", "Gemm")}
    nodes = [node for node in onnx.load(LIGHT / f"light_{name}.onnx").graph.node if node.op_type in ("Conv", "Gemm")]
    ours = [layer for layer in wattle.estimate(LIGHT / f"light_{name}.onnx").layers if layer.macs]
    assert len(nodes) == len(ours) == len(theirs)
    for node, layer in zip(nodes, ours):
        macs, has_bias = theirs[node.output[0]]
        assert macs == layer.macs + (layer.output_elements if has_bias else 0), layer


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        return self.query(x) @ self.key(x).transpose(-1, -2)


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = nn.Linear(6, 6, bias=False)

    def forward(self, x):
        return self.part(self.part(x))


# A module, its input, MACs, parameters; what torchinfo 1.8.0 says where that is not the same, and why.
MODULES = {
    "convolution": (nn.Conv2d(4, 6, 3, bias=False), (2, 4, 5, 5), 2 * 6 * 9 * 36, 216, None),
    "groups": (nn.Conv1d(8, 8, 5, groups=4, bias=False), (1, 8, 20), 8 * 16 * 10, 80, None),
    "dense": (nn.Linear(20, 5, bias=False), (3, 20), 300, 100, None),
    "used twice": (Twice(), (1, 6), 72, 36, None),
    "normalization": (nn.BatchNorm2d(4), (2, 4, 3, 3), 0, 8, 2 * 8),  # parameters of it are MACs, once for each input
    "bias": (nn.Conv2d(4, 6, 3), (1, 4, 5, 5), 6 * 9 * 36, 222, 6 * 9 * 36 + 54),  # a bias is a MAC of each output
    "transposed": (nn.ConvTranspose2d(4, 6, 3, stride=2, bias=False), (1, 4, 5, 5), 100 * 54, 216, 121 * 216),  # on outputs, not on inputs
    "attention": (Attention(), (1, 5, 8), 2 * 5 * 64 + 5 * 5 * 8, 144, 2 * 72),  # products without weights are none; biases; one row for five
    "lstm": (nn.LSTM(300, 512, 2), (100, 1, 300), 376_012_800, 3_768_320 + 1024, 376_832_000),  # biases are MACs. The zeros it begins with: ours
}


@pytest.mark.parametrize("name", MODULES)
def test_modules_beside_torchinfo(name):
    torchinfo = pytest.importorskip("torchinfo")
    module, shape, macs, parameters, theirs = MODULES[name]
    totals = wattle.estimate(module, shape).totals
    assert (totals.macs, totals.parameters) == (macs, parameters)
    said = torchinfo.summary(module.eval(), shape, verbose=0)
    assert said.total_mult_adds == (macs if theirs is None else theirs)
    assert said.total_params == parameters - (1024 if name == "lstm" else 0)


# What spikingjelly 2.0.0 says otherwise: a normalization is a MAC for each number, and a product with a tensor of zeros, such as an LSTM's
# first state, none at all (two layers, 4 x 512 x 512 each).
SPIKINGJELLY = {"normalization": 2 * 4 * 9, "lstm": 376_012_800 - 2 * 4 * 512 * 512}


@pytest.fixture(scope="module")
def rules():
    """spikingjelly's rules by operation of PyTorch. It wants PyTorch 2.6 for what is not used here."""
    for module, name in (("torch.autograd.graph", "register_multi_grad_hook"), ("torch.utils.module_tracker", "ModuleTracker")):
        try:
            there = importlib.import_module(module)
        except ModuleNotFoundError:
            there = sys.modules[module] = types.ModuleType(module)
        if not hasattr(there, name):
            setattr(there, name, object)
    return importlib.import_module("spikingjelly.activation_based.op_counter").MACCounter().rules


@pytest.mark.parametrize("name", MODULES)
def test_modules_beside_spikingjelly(name, rules):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counter(TorchDispatchMode):
        total = 0

        def __torch_dispatch__(self, function, kinds, args=(), kwargs=None):
            made = function(*args, **(kwargs or {}))
            if function in rules:
                self.total += rules[function](args, kwargs or {}, made)
            return made

    module, shape, macs = MODULES[name][:3]
    with torch.no_grad(), Counter() as counter:
        module.eval()(torch.rand(*shape))
    assert counter.total == SPIKINGJELLY.get(name, macs)


# ---- Modules ----


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv, self.norm, self.act = nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU()

    def forward(self, x):
        return self.act(self.norm(self.conv(x))) + x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU())
        self.layers = nn.Sequential(Block(8), Block(8))
        self.heads = nn.ModuleList([nn.Linear(8, 10)])
        self.drop = nn.Dropout()

    def forward(self, x, scale=None):
        y = self.drop(self.layers(self.stem(x)).mean((2, 3)))
        y = self.heads[0](y)
        return y @ y.t() if scale is None else y * scale


def test_a_module_keeps_its_parameters_and_its_state():
    """Two normalizations that are equal stay two, none is folded into a convolution, and training goes on where it was."""
    net = Net()
    net.layers[0].eval()
    before = [part.training for part in net.modules()]
    found = wattle.estimate(net, torch.zeros(2, 3, 16, 16))
    assert [part.training for part in net.modules()] == before
    assert found.totals.parameters == sum(one.numel() for one in net.parameters())
    assert found.totals.buffers >= 32 and "BatchNormalization" in {layer.op for layer in found.layers}
    assert found.layers[0].layer == "/stem/stem.0/Conv" and found.layers[0].output_shape == (2, 8, 14, 14)


def test_examples():
    net, x = Net(), torch.zeros(1, 3, 16, 16)
    product = wattle.estimate(net, x).totals.macs
    assert product == wattle.estimate(net, (1, 3, 16, 16)).totals.macs == wattle.estimate(net, (x,)).totals.macs
    scaled = wattle.estimate(net, {"x": x, "scale": torch.ones(1)}).totals.macs
    assert product - scaled == 10 and scaled == wattle.estimate(net, (x, torch.ones(1))).totals.macs
    with pytest.raises(TypeError, match="needs an example"):
        wattle.estimate(net)


def test_a_summary_adds_up():
    net = Net()
    table = wattle.summary(net, (2, 3, 16, 16), depth=2)
    rows = {row.name: row for row in table.rows}
    assert rows[""].kind == "Net" and rows[""].parameters == sum(one.numel() for one in net.parameters())
    assert rows[""].macs == table.estimate.totals.macs == sum(row.macs for row in table.rows if row.depth == 1)
    for name, part in net.named_modules():
        if name and name not in ("drop", "heads"):  # one does nothing here, one is never called itself
            assert rows[name].kind == type(part).__name__
            assert rows[name].parameters == sum(one.numel() for one in part.parameters())
    assert rows["layers"].output_shape == (2, 8, 14, 14) and rows["MatMul"].macs == 40
    assert [row.name for row in table.rows if row.depth < 2] == ["", "stem", "layers", "heads.0", "MatMul"]
    text = str(table)
    assert "stem.0 (Conv2d)" in text and "layers.0.conv" not in text and f"MACs {rows[''].macs:,};" in text


def test_a_summary_of_a_file(tmp_path):
    old = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}  # the new one wants onnxscript
    torch.onnx.export(Net(), torch.zeros(1, 3, 16, 16), str(tmp_path / "net.onnx"), **old)
    rows = {row.name: row for row in wattle.summary(tmp_path / "net.onnx").rows}
    assert rows["layers.0.conv"].macs == rows["layers.1.conv"].macs == 14 * 14 * 8 * 72


# ---- Joules ----


def test_joules_on_a_device():
    net = nn.Sequential(nn.Linear(20, 10), nn.ReLU(), nn.Linear(10, 5))
    found = wattle.estimate(net, (1, 20), device=["horowitz-45nm", "loihi2"], steps=4, rates=0.1, memory="none")
    ann, snn = found.devices["horowitz-45nm"].ann, found.devices["horowitz-45nm"].snn
    assert ann.compute.j == pytest.approx((250 * 4.6 + 10 * 0.9) * 1e-12, rel=0.02) and ann.total.low_j < ann.total.j < ann.total.high_j
    assert [layer.layer for layer in snn.layers] == [layer.layer for layer in found.layers] and snn.memory is None
    assert found.devices["loihi2"].snn.total is None and "'synop' is unknown" in found.devices["loihi2"].snn.reason
    by_layer = wattle.estimate(net, (1, 20), device="horowitz-45nm", as_="snn", steps=4, memory="none",
                               rates={"/0/Gemm": 0.1, "/2/Gemm": 0.1}).devices["horowitz-45nm"]
    assert by_layer.ann is None and by_layer.snn.total == snn.total
    assert "horowitz-45nm, ordinary: " in str(found)


def test_it_is_what_the_command_says():
    words = ["--dim", "batch=1", "--format", "json", str(DIGITS)]
    counts, joules = (json.loads(subprocess.run([BUILD / "wattle", "estimate", *more, *words], capture_output=True, check=True).stdout)
                      for more in ([], ["--device", "odin", "--rates", "0.1"]))
    assert wattle.estimate(DIGITS, dims={"batch": 1}, device="odin", rates=0.1).documents == [counts, joules]


# ---- What goes wrong ----


@pytest.mark.parametrize("arguments, options, says", [
    ((DIGITS,), {}, "batch"),
    ((b"no model",), {}, "no ONNX model"),
    (("/absent/x.onnx",), {}, "/absent/x.onnx"),
    ((DIGITS,), {"dims": {"batch": 1}, "device": "abacus"}, "abacus"),
    ((DIGITS,), {"dims": {"batch": 1}, "device": "odin", "speed": 3}, "speed"),
])
def test_the_command_says_what_is_wrong(arguments, options, says):
    with pytest.raises(wattle.Error) as failed:
        wattle.estimate(*arguments, **options)
    assert says in str(failed.value) and "\n" not in str(failed.value) and not str(failed.value).startswith("wattle:")


def test_arguments_that_cannot_be_meant():
    with pytest.raises(TypeError, match="not int"):
        wattle.estimate(3)
    with pytest.raises(ValueError, match="needs a device"):
        wattle.estimate(DIGITS, dims={"batch": 1}, steps=4)


def test_without_the_command():
    program = "import sysconfig, wattle, wattle._lib; sysconfig.get_path = lambda _: '/absent'; wattle._lib._HERE = '/absent/_lib'; wattle.estimate('x')"
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PATH": "/absent"}, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].startswith("wattle._lib.Error: the command is not installed") or "the command is not installed" in done.stderr
