# SPDX-License-Identifier: MIT
"""Networks in the Neuromorphic Intermediate Representation (NIR), as text that ``wattle estimate`` reads."""

from __future__ import annotations

import math
import os
import re
from typing import Any

NEURONS = {"IF": "if", "LIF": "lif", "LI": "readout", "I": "readout", "CubaLIF": "lif", "CubaLI": "readout"}
SIMPLER = {"CubaLIF", "CubaLI"}  # their second leak has no word in the text
WEIGHTS = {"Linear", "Affine", "Conv1d", "Conv2d"}
POOLS = {"SumPool2d", "AvgPool2d"}
SILENT = {"Input", "Output", "Flatten", "Delay"}  # they compute nothing


def nir_to_text(source: Any, *, name: str | None = None, steps: int | None = None, input_rate: float | str | None = None) -> str:
    """The network of a NIR file (or of a ``nir.NIRGraph``) as text for ``wattle estimate`` (docs/estimate-network.md).

    source: a path, which needs the package ``nir`` (PyPI), or a graph. steps: time steps of an inference. input_rate: spikes per
    input and time step, or "analog". Rates of neurons are not in a NIR file: give them to the command (--rates).

    Layers must follow one another; a neuron may feed itself through a square Linear or Affine. ValueError: which node has no
    word in the text, and why.
    """
    if isinstance(source, (str, os.PathLike)):
        try:
            import nir  # type: ignore[import-untyped, import-not-found, unused-ignore]
        except ImportError as error:
            raise ImportError("to read NIR files: pip install nir") from error
        name = name or os.path.basename(os.fspath(source))
        source = nir.read(os.fspath(source))
    nodes: dict[str, Any] = {}
    edges = set(_flatten(source, "", nodes))
    chain, recurrent = _order(nodes, edges)
    lines = [f"network {_word(name or 'nir')}"]
    if steps is not None:
        lines.append(f"steps {steps:d}")
    lines.append("input " + "x".join(map(str, _shape_of_input(nodes[chain[0]]))) + _rate(input_rate))
    lines += _layers(nodes, chain, recurrent)
    return "\n".join(lines) + "\n"


def _kind(node: Any) -> str:
    return type(node).__name__


def _word(text: str) -> str:
    return re.sub(r"[^\w.:-]", "_", text, flags=re.ASCII) or "_"


def _rate(rate: float | str | None) -> str:
    if rate is None:
        return ""
    return " analog" if rate == "analog" else f" rate {float(rate):g}"


def _flatten(graph: Any, prefix: str, nodes: dict[str, Any]) -> list[tuple[str, str]]:
    """The nodes of a graph and of those in it, by name; an inner graph's input and output stand for it."""
    inner, edges = {}, []
    for key, node in graph.nodes.items():
        if _kind(node) == "NIRGraph":
            edges += _flatten(node, f"{prefix}{key}.", nodes)
            inner[key] = {of: next((f"{prefix}{key}.{k}" for k, n in node.nodes.items() if _kind(n) == of), None)
                          for of in ("Input", "Output")}
        else:
            nodes[prefix + key] = node
    for begin, end in graph.edges:
        begin_node = inner[begin]["Output"] if begin in inner else prefix + begin
        end_node = inner[end]["Input"] if end in inner else prefix + end
        if begin_node not in nodes or end_node not in nodes:
            raise ValueError(f"an edge from {begin} to {end} leads nowhere")
        edges.append((begin_node, end_node))
    return edges


def _order(nodes: dict[str, Any], edges: set[tuple[str, str]]) -> tuple[list[str], dict[str, str]]:
    """The nodes one after the other, and which weights lead back to which neuron."""
    follow: dict[str, set[str]] = {key: {end for begin, end in edges if begin == key} for key in nodes}
    before: dict[str, set[str]] = {key: {begin for begin, end in edges if end == key} for key in nodes}
    recurrent = {}
    for key, node in nodes.items():
        weights = {back for back in follow[key] if follow[back] == {key} and before[back] == {key} and _kind(nodes[back]) in ("Linear", "Affine")}
        if _kind(node) in NEURONS and weights:
            recurrent[key] = weights.pop()
    for key, back in recurrent.items():
        follow[key].discard(back)
        before[key].discard(back)
    begins = [key for key in nodes if not before[key] and key not in recurrent.values()]
    if len(begins) != 1 or _kind(nodes[begins[0]]) != "Input":
        raise ValueError(f"it begins with {' and '.join(begins) or 'no node'}: the text has one input")
    chain = begins
    while follow[chain[-1]]:
        if len(follow[chain[-1]]) > 1:
            raise ValueError(f"{chain[-1]} leads to {' and '.join(sorted(follow[chain[-1]]))}: the text has one layer after the other")
        following = next(iter(follow[chain[-1]]))
        if len(before[following]) > 1 or following in chain:
            raise ValueError(f"{following} has several inputs: the text has one layer after the other")
        chain.append(following)
    left = set(nodes) - set(chain) - set(recurrent.values())
    if left:
        raise ValueError(f"{sorted(left)[0]} is not on the way from the input to the output")
    return chain, recurrent


def _sizes(value: Any) -> list[int]:
    return [int(size) for size in (value.flatten().tolist() if hasattr(value, "flatten") else value)]


def _shape_of_input(node: Any) -> list[int]:
    value = next(iter(node.input_type.values()), None)
    if value is None or not _sizes(value):
        raise ValueError("its input has no size")
    return _sizes(value)


def _by_axis(value: Any, axes: int) -> list[int]:
    sizes = _sizes(value) if hasattr(value, "flatten") or isinstance(value, (list, tuple)) else [int(value)]
    return sizes * axes if len(sizes) == 1 else sizes


def _padding(key: str, node: Any, kernel: list[int]) -> list[int]:
    padding = node.padding.decode() if isinstance(node.padding, bytes) else node.padding
    if not isinstance(padding, str):
        return _by_axis(padding, len(kernel))
    if padding == "same" and any(size % 2 == 0 for size in kernel):
        raise ValueError(f"{key} ({_kind(node)}) is padded on one side, which the text has no word for")
    return [size // 2 if padding == "same" else 0 for size in kernel]


def _conv(key: str, node: Any, shape: list[int]) -> tuple[str, list[int]]:
    weight = node.weight.shape
    axes = len(weight) - 2
    if len(shape) != axes + 1 or shape[0] != weight[1] * node.groups:
        raise ValueError(f"{key} ({_kind(node)}) does not fit its input {'x'.join(map(str, shape))}")
    stride, dilation = _by_axis(node.stride, axes), _by_axis(node.dilation, axes)
    if any(size != 1 for size in dilation):
        raise ValueError(f"{key} ({_kind(node)}) is dilated, which the text has no word for")
    kernel = [int(size) for size in weight[2:]]
    pad = _padding(key, node, kernel)
    made = [(size + 2 * p - k) // s + 1 for size, p, k, s in zip(shape[1:], pad, kernel, stride)]
    words = ["x".join(map(str, sizes)) for sizes in (kernel, stride, pad)]
    bias = node.bias is not None and bool((node.bias != 0).any())
    return (f"conv {_word(key)} {weight[0]} kernel {words[0]} stride {words[1]} pad {words[2]} groups {int(node.groups)}"
            + " bias" * bias), [int(weight[0]), *made]


def _dense(key: str, node: Any, shape: list[int]) -> tuple[str, list[int]]:
    outputs, inputs = node.weight.shape[-2:]
    if math.prod(shape) != inputs or len(node.weight.shape) != 2:
        raise ValueError(f"{key} ({_kind(node)}) has {inputs} inputs, and gets {math.prod(shape)}")
    return f"dense {_word(key)} {outputs}" + (" bias" if _kind(node) == "Affine" else ""), [int(outputs)]


def _pool(key: str, node: Any, shape: list[int]) -> tuple[str, list[int]]:
    kernel, stride, padding = (_by_axis(value, 2) for value in (node.kernel_size, node.stride, node.padding))
    if kernel != stride or any(padding) or len(shape) != 3:
        raise ValueError(f"{key} ({_kind(node)}) has windows that overlap or are padded, which the text has no word for")
    return f"pool {_word(key)} {kernel[0]}x{kernel[1]}", [shape[0], shape[1] // kernel[0], shape[2] // kernel[1]]


def _add_neuron(lines: list[str], key: str, nodes: dict[str, Any], recurrent: dict[str, str], shape: list[int]) -> None:
    kind = _kind(nodes[key])
    if not lines or not lines[-1].startswith(("dense ", "conv ")) or " neuron " in lines[-1]:
        raise ValueError(f"{key} ({kind}) has no weights before it, and the text has no word for that")
    if key in recurrent:
        weight = nodes[recurrent[key]].weight
        if lines[-1].startswith("conv ") or weight.shape != (math.prod(shape), math.prod(shape)):
            raise ValueError(f"{recurrent[key]} leads back to {key}, but not from each of its neurons to each")
        lines[-1] += " recurrent"
    lines[-1] += f" neuron {NEURONS[kind]}"
    if kind in SIMPLER:
        lines[-1] += f" # {kind}: its second leak is not counted"


def _layers(nodes: dict[str, Any], chain: list[str], recurrent: dict[str, str]) -> list[str]:
    shape = _shape_of_input(nodes[chain[0]])
    lines: list[str] = []
    for key in chain:
        node, kind = nodes[key], _kind(nodes[key])
        if kind in ("Conv1d", "Conv2d"):
            line, shape = _conv(key, node, shape)
        elif kind in WEIGHTS:
            line, shape = _dense(key, node, shape)
        elif kind in POOLS:
            line, shape = _pool(key, node, shape)
        elif kind in NEURONS:
            _add_neuron(lines, key, nodes, recurrent, shape)
            continue
        elif kind in SILENT:
            continue
        else:
            raise ValueError(f"{key} is a {kind}, which the text has no word for")
        lines.append(line)
    if not lines:
        raise ValueError("it has no layer with weights")
    return lines
