# SPDX-License-Identifier: MIT
"""NIR networks as text: written by the package nir, read by wattle estimate."""

import json
import os
import subprocess

import pytest
import wattle

nir, np = pytest.importorskip("nir"), pytest.importorskip("numpy")


def neuron(kind, n):
    one = np.ones(n, dtype=np.float32)
    return {"if": lambda: nir.IF(r=one, v_threshold=one), "lif": lambda: nir.LIF(tau=one, r=one, v_leak=one, v_threshold=one),
            "li": lambda: nir.LI(tau=one, r=one, v_leak=one),
            "cuba": lambda: nir.CubaLIF(tau_syn=one, tau_mem=one, r=one, v_leak=one, v_threshold=one)}[kind]()


def weights(*shape):
    return np.ones(shape, dtype=np.float32)


def chain(*named):
    names = [name for name, _ in named]
    return nir.NIRGraph(nodes=dict(named), edges=list(zip(names, names[1:])))


def convolutional():
    return chain(("input", nir.Input(np.array([1, 28, 28]))),
                 ("c1", nir.Conv2d(input_shape=(28, 28), weight=weights(8, 1, 5, 5), stride=1, padding=2, dilation=1, groups=1,
                                   bias=weights(8))),
                 ("n1", neuron("if", (8, 28, 28))),
                 ("p1", nir.SumPool2d(kernel_size=np.array([2, 2]), stride=np.array([2, 2]), padding=np.array([0, 0]))),
                 ("flat", nir.Flatten(start_dim=0, end_dim=-1, input_type={"input": np.array([8, 14, 14])})),
                 ("d1", nir.Affine(weight=weights(10, 8 * 14 * 14), bias=weights(10))),
                 ("n2", neuron("lif", 10)),
                 ("output", nir.Output(np.array([10]))))


def recurrent():
    nodes = {"input": nir.Input(np.array([700])), "l1": nir.Linear(weight=weights(128, 700)), "n1": neuron("lif", 128),
             "back": nir.Linear(weight=weights(128, 128)), "l2": nir.Linear(weight=weights(20, 128)), "n2": neuron("li", 20),
             "output": nir.Output(np.array([20]))}
    return nir.NIRGraph(nodes=nodes, edges=[("input", "l1"), ("l1", "n1"), ("n1", "back"), ("back", "n1"), ("n1", "l2"),
                                            ("l2", "n2"), ("n2", "output")])


def estimate(text, tmp_path, *options):
    path = tmp_path / "net.txt"
    path.write_text(text)
    done = subprocess.run([os.environ["WATTLE"], "estimate", "-f", "json", *options, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_file_becomes_layers_that_the_command_counts(tmp_path):
    nir.write(tmp_path / "conv.nir", convolutional())
    text = wattle.nir_to_text(tmp_path / "conv.nir", steps=4, input_rate=0.2)
    assert text.splitlines() == [
        "network conv.nir", "steps 4", "input 1x28x28 rate 0.2",
        "conv c1 8 kernel 5x5 stride 1x1 pad 2x2 groups 1 bias neuron if", "pool p1 2x2", "dense d1 10 bias neuron lif"]
    layers = {layer["layer"]: layer["macs"] for layer in estimate(text, tmp_path)["layers"]}
    assert layers["c1"] == 8 * 28 * 28 * 25 and layers["d1"] == 8 * 14 * 14 * 10


def test_a_neuron_that_feeds_itself_is_recurrent(tmp_path):
    text = wattle.nir_to_text(recurrent(), name="shd")
    assert text.splitlines() == ["network shd", "input 700", "dense l1 128 recurrent neuron lif", "dense l2 20 neuron readout"]
    layers = {layer["layer"]: layer for layer in estimate(text, tmp_path)["layers"]}
    assert layers["l1"]["macs"] == 700 * 128 + 128 * 128


def test_a_graph_in_a_graph_is_its_nodes(tmp_path):
    inner = chain(("input", nir.Input(np.array([4]))), ("w", nir.Linear(weight=weights(3, 4))), ("n", neuron("cuba", 3)),
                  ("output", nir.Output(np.array([3]))))
    text = wattle.nir_to_text(chain(("input", nir.Input(np.array([4]))), ("block", inner), ("output", nir.Output(np.array([3])))),
                              input_rate="analog")
    assert text.splitlines()[1:] == ["input 4 analog", "dense block.w 3 neuron lif # CubaLIF: its second leak is not counted"]
    assert estimate(text, tmp_path)["layers"][0]["macs"] == 12


def branched():
    graph = recurrent()
    return nir.NIRGraph(nodes=graph.nodes, edges=[*graph.edges, ("l1", "l2")])


@pytest.mark.parametrize("graph, says", [
    (lambda: chain(("input", nir.Input(np.array([4]))), ("t", nir.Threshold(threshold=weights(4))),
                   ("output", nir.Output(np.array([4])))), "t is a Threshold"),
    (lambda: chain(("input", nir.Input(np.array([4]))), ("n", neuron("lif", 4)), ("output", nir.Output(np.array([4])))),
     "n \\(LIF\\) has no weights before it"),
    (lambda: chain(("input", nir.Input(np.array([1, 9]))),
                   ("c", nir.Conv1d(input_shape=9, weight=weights(2, 1, 3), stride=1, padding=0, dilation=2, groups=1, bias=weights(2))),
                   ("output", nir.Output(np.array([2, 5])))), "c \\(Conv1d\\) is dilated"),
    (branched, "leads to|several inputs"),
])
def test_what_has_no_word_in_the_text_is_refused(graph, says):
    with pytest.raises(ValueError, match=says):
        wattle.nir_to_text(graph())
