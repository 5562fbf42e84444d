# SPDX-License-Identifier: MIT
"""What a neural network computes, and its joules on named hardware, before it runs. The command counts; this asks it."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ._lib import Error, find_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Sequence, TypeVar, Union

    _T = TypeVar("_T")
    # A file, an onnx.ModelProto, its bytes, or a torch.nn.Module: for a type checker, they have nothing in common.
    _Option = Union[str, int, float, bool, os.PathLike[str], Mapping[str, float], Iterable[str]]


def _of(kind: type[_T], document: Mapping[str, Any], **more: Any) -> _T:
    """An object of those keys of a document that it has fields for; a field that is not in it keeps its default."""
    names = {one.name for one in dataclasses.fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in document.items() if name in names}, **more)


@dataclass(frozen=True)
class Layer:
    """What a layer counts in one inference of the whole batch. `parameters`, `buffers` and `scales` are numbers, not bytes."""

    layer: str
    op: str
    kind: str
    macs: int
    other_ops: int
    parameters: int
    buffers: int
    scales: int
    weight_bytes: int
    input_elements: int
    input_bytes: int
    output_elements: int
    output_bytes: int
    output_shape: tuple[int, ...] | None = None  # of its first output; None: only running it tells
    weights: str | None = None  # precision of its MACs' operands, such as "fp32"
    activations: str | None = None
    branch: int | None = None
    side: str | None = None
    not_counted: str | None = None  # why its counts are missing
    repeats_unknown: bool = False


@dataclass(frozen=True)
class Totals:
    """Sums over the layers. Of an If the larger side; `macs_min` has the lesser one."""

    macs: int
    macs_min: int
    other_ops: int
    parameters: int
    buffers: int
    scales: int
    weight_bytes: int
    input_bytes: int
    output_bytes: int
    repeats_unknown: bool = False


@dataclass(frozen=True)
class NotCounted:
    """Nodes that are missing in the counts, and why."""

    op: str
    nodes: int
    reason: str


@dataclass(frozen=True)
class Coverage:
    nodes: int
    counted: int
    not_counted: tuple[NotCounted, ...]


@dataclass(frozen=True)
class Joules:
    """With all prices at their lower bounds, as they are, and at their upper bounds."""

    low_j: float
    j: float
    high_j: float


@dataclass(frozen=True)
class LayerJoules:
    """A layer on a device. Break-evens are spikes per neuron and time step; None where there is none."""

    layer: str
    op: str
    macs: float
    acs: float
    synops: float
    updates: float
    spikes: float
    compute: Joules
    memory: Joules | None
    break_even: float | None = None
    break_even_compute: float | None = None
    input: str | None = None  # of a spiking network: "numbers" or "spikes"
    not_counted: str | None = None


@dataclass(frozen=True)
class NetworkJoules:
    """An ordinary (`ann`) or a spiking (`snn`) network on a device. Without a total, `reason` says which price is missing."""

    total: Joules | None
    compute: Joules | None
    memory: Joules | None
    layers: tuple[LayerJoules, ...]
    assumptions: tuple[str, ...]
    reason: str | None = None


@dataclass(frozen=True)
class Device:
    """What was asked for on one device: an estimate, never a measurement."""

    device: str
    scope: str
    grade: str
    source: str
    ann: NetworkJoules | None
    snn: NetworkJoules | None
    break_even: float | None = None
    break_even_compute: float | None = None


@dataclass(frozen=True)
class Estimate:
    """
    The counts of a network, and its joules on each device that was asked for.

    Attributes
    ----------
    totals, coverage : Totals, Coverage
    layers : tuple of Layer
        In the order in which they run.
    devices : dict of str to Device
        By name; empty without ``device=``.
    documents : list of dict
        What the command printed as JSON (docs/estimate.md): the counts, then the joules.
    """

    totals: Totals
    coverage: Coverage
    layers: tuple[Layer, ...]
    devices: dict[str, Device] = field(default_factory=dict)
    documents: list[dict[str, Any]] = field(default_factory=list, repr=False)

    def __str__(self) -> str:
        said = f"{self.totals.macs:,} MACs, {self.totals.parameters:,} parameters, {self.coverage.counted} of {self.coverage.nodes} nodes counted"
        for device in self.devices.values():
            for kind, network in (("ordinary", device.ann), ("spiking", device.snn)):
                if network is not None:
                    told = network.reason if network.total is None else f"{network.total.j:.3g} J ({network.total.low_j:.3g} to {network.total.high_j:.3g})"
                    said += f"\n{device.device}, {kind}: {told}"
        return said


# ---- The command ----


class _Names(dict[str, str]):
    """Names of layers as they are shown, to those that the command knows. A module's are exported within another one: see `_export`."""

    def __init__(self, is_module: bool) -> None:
        super().__init__()
        self.before = re.compile("^/whole/(whole[.])?") if is_module else None

    def show(self, document: dict[str, Any]) -> dict[str, Any]:
        if self.before is not None and "layer" in document:
            shown = self.before.sub("/", document["layer"])
            self[shown], document["layer"] = document["layer"], shown
        return document


def _words(name: str, value: _Option, folder: str, names: _Names) -> list[str]:
    """An option of the command: True is a flag, a dictionary a file of rates, a list several."""
    name = "--" + name.rstrip("_").replace("_", "-")
    if value is True or value is False:
        return [name] if value else []
    if isinstance(value, Mapping):
        path = os.path.join(folder, "rates.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{names.get(layer, layer)} {rate}\n" for layer, rate in value.items())
        value = path
    if isinstance(value, (str, int, float, os.PathLike)):
        value = [os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
    return [f"{name}={one}" for one in value]


def _ask(schema: str, words: Sequence[str], path: str, names: _Names) -> dict[str, Any]:
    done = subprocess.run([find_command(), "estimate", "--format=json", *words, "--", path], capture_output=True, check=False)
    if not done.stdout:
        said = done.stderr.decode("utf-8", "replace").strip() or f"'wattle estimate' ended with status {done.returncode}"
        raise Error(re.sub(r"^wattle: (estimate: )?", "", said), source="estimate", path=path)
    document: dict[str, Any] = json.loads(done.stdout, object_hook=names.show)
    if document.get("schema") != schema:
        raise Error(f"the command says {document.get('schema')!r}, this package reads {schema!r}: they are of different releases", source="estimate")
    return document


def _layer(document: Mapping[str, Any]) -> Layer:
    shape = document.get("output_shape")
    sizes = None if shape is None else tuple(int(size) for size in shape.split("x") if size)
    return _of(Layer, {name: value for name, value in document.items() if name != "output_shape"}, output_shape=sizes)


def _joules(document: Mapping[str, Any], name: str) -> Joules | None:
    if f"{name}_j" not in document:
        return None
    return Joules(document[f"{name}_low_j"], document[f"{name}_j"], document[f"{name}_high_j"])


def _network(document: Mapping[str, Any] | None) -> NetworkJoules | None:
    if document is None:
        return None
    parts = {name: _joules(document, name) for name in ("total", "compute", "memory")}
    layers = tuple(_of(LayerJoules, one, compute=_joules(one, "compute"), memory=_joules(one, "memory")) for one in document.get("layers", ()))
    return NetworkJoules(**parts, layers=layers, assumptions=tuple(document.get("assumptions", ())), reason=document.get("reason"))


def _device(document: Mapping[str, Any]) -> Device:
    rest = {name: value for name, value in document.items() if name not in ("ann", "snn")}
    return _of(Device, rest, ann=_network(document.get("ann")), snn=_network(document.get("snn")))


# ---- Models ----


def _is_module(model: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _arguments(module: Any, example: Any) -> tuple[list[str], list[Any]]:
    """The names and values of what the module is called with; values without a name come first."""
    torch = sys.modules["torch"]
    if isinstance(example, Mapping):
        return list(example), list(example.values())
    if isinstance(example, (tuple, list)) and example and all(isinstance(size, int) for size in example):
        one = next(module.parameters(), torch.empty(0))
        return [], [torch.zeros(tuple(example), dtype=one.dtype, device=one.device)]
    if isinstance(example, (tuple, list)):
        return [], list(example)
    if example is None:
        raise TypeError("a torch module needs an example of its input: a tensor, its shape, a tuple of tensors, or a dict of arguments")
    return [], [example]


def _export(module: Any, example: Any, path: str) -> None:
    """As it is in evaluation, with all of its layers: nothing is folded, and tensors that happen to be equal stay apart."""
    torch = sys.modules["torch"]
    names, values = _arguments(module, example)

    class Whole(torch.nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.whole = module

        def forward(self, *given: Any) -> Any:
            unnamed = len(given) - len(names)
            return self.whole(*given[:unnamed], **dict(zip(names, given[unnamed:])))

    before = [(part, part.training) for part in module.modules()]
    options = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    try:
        whole = Whole()
        module.eval()
        whole.training = True  # the exporter then joins constants by where they lie, not by what is in them
        with torch.no_grad():
            torch.onnx.export(whole, tuple(values), path, training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False, **options)
    finally:
        for part, training in before:
            part.training = training


def _write(model: Any, example: Any, folder: str) -> str:
    """The path of the model as a file."""
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model)
    path = os.path.join(folder, type(model).__name__ + ".onnx")
    if _is_module(model):
        _export(model, example, path)
        return path
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    if not isinstance(model, (bytes, bytearray, memoryview)):
        raise TypeError(f"a model is a file, an ONNX model, its bytes or a torch module, not {type(model).__name__}")
    with open(path, "wb") as file:
        file.write(model)
    return path


def estimate(
    model: Any,
    example: Any = None,
    *,
    dims: Mapping[str, int] | None = None,
    inputs: Mapping[str, Iterable[int]] | None = None,
    device: str | Iterable[str] = (),
    **prices: _Option,
) -> Estimate:
    """
    What a network computes in one inference, and its joules on named hardware. Nothing runs, nothing is measured.

    Parameters
    ----------
    model : str, os.PathLike, onnx.ModelProto, bytes or torch.nn.Module
        A file (ONNX, or a network as text), an ONNX model in memory, or a module, which PyTorch exports to ONNX first.
    example : tensor, tuple or dict
        Of a module: what it is called with, or the shape of its one input.
    dims, inputs : dict
        Sizes that a file leaves open, ``{"batch": 8}``; shapes of its inputs, ``{"data": (1, 3, 224, 224)}``.
    device : str or iterable of str
        Hardware by name, such as ``"horowitz-45nm"``: `wattle estimate --list-devices`.
    **prices
        The command's other options about joules, with ``_`` for ``-``: ``steps=4``, ``rates=0.1`` (or a dict of rates by layer),
        ``memory="dram-once"``, ``constant_input=True``, ``as_="snn"``.

    Raises
    ------
    Error
        The command is missing, or says what is wrong with the model or an option.
    """
    devices = [device] if isinstance(device, str) else list(device)
    if prices and not devices:
        raise ValueError(f"{next(iter(prices))} is about joules: it needs a device")
    with tempfile.TemporaryDirectory(prefix="wattle-") as folder:
        path, names = _write(model, example, folder), _Names(_is_module(model))
        sizes = [f"--dim={name}={size}" for name, size in (dims or {}).items()]
        sizes += [f"--input={name}={'x'.join(map(str, shape))}" for name, shape in (inputs or {}).items()]
        documents = [_ask("wattle.estimate/1", sizes, path, names)]
        if devices:
            words = [*sizes, *(f"--device={name}" for name in devices)]
            for option, value in prices.items():
                words += _words(option, value, folder, names)
            documents.append(_ask("wattle.estimate-energy/1", words, path, names))
    counts = documents[0]
    covered = counts["coverage"]
    coverage = Coverage(covered["nodes"], covered["counted"], tuple(_of(NotCounted, one) for one in covered["not_counted"]))
    priced = {one["device"]: _device(one) for one in documents[1]["devices"]} if devices else {}
    return Estimate(_of(Totals, counts["totals"]), coverage, tuple(map(_layer, counts["layers"])), priced, documents)


# ---- A table of modules ----


@dataclass(frozen=True)
class Row:
    """
    A module, or what a module computes itself (`kind` is an op of ONNX then), with all that is below it.

    Counts are sums over its layers. A module whose parameters another one used before has none of its own.
    """

    name: str
    kind: str
    depth: int
    output_shape: tuple[int, ...] | None
    parameters: int
    macs: int
    weight_bytes: int
    output_bytes: int


@dataclass(frozen=True)
class Summary:
    """A table of a network's modules; ``print`` shows it. `rows` has all of them, `estimate` the layers behind them."""

    rows: tuple[Row, ...]
    estimate: Estimate
    depth: int

    def __str__(self) -> str:
        cells: list[tuple[str, ...]] = [("MODULE", "OUTPUT", "PARAMETERS", "MACS", "WEIGHTS", "OUTPUT BYTES")]
        for row in self.rows:
            if row.depth <= self.depth:
                shape = "" if row.output_shape is None else "x".join(map(str, row.output_shape))
                name = "  " * row.depth + (row.name if row.name.endswith(row.kind) else f"{row.name} ({row.kind})" if row.name else row.kind)
                cells.append((name, shape, *(f"{n:,}" if n else "" for n in (row.parameters, row.macs, row.weight_bytes, row.output_bytes))))
        wide = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
        lines = ["  ".join([row[0].ljust(wide[0]), *(cell.rjust(width) for cell, width in zip(row[1:], wide[1:]))]).rstrip() for row in cells]
        totals, covered = self.estimate.totals, self.estimate.coverage
        lines += ["", f"parameters {totals.parameters:,}, buffers {totals.buffers:,}: {totals.weight_bytes:,} bytes; MACs {totals.macs:,}; "
                  f"{covered.counted} of {covered.nodes} nodes counted"]
        lines += [f"not counted: {one.nodes} {one.op}: {one.reason}" for one in covered.not_counted]
        return "\n".join(lines)


def _find(module: Any, scope: str) -> tuple[str, Any]:
    """The part of a module that a scope of an exported name means: "conv", "layers.0", "fc_1" (its second call)."""
    once = re.sub(r"_\d+$", "", scope)
    for path in (scope, scope.rpartition(".")[2], once, once.rpartition(".")[2]):
        try:
            return path, module.get_submodule(path)
        except AttributeError:
            continue
    return scope, None


def _places(model: Any, layer: Layer) -> list[tuple[str, str]]:
    """The modules that a layer is in, from the outermost: their paths and kinds; last, an op that a module of modules computes."""
    scopes = layer.layer.split("/")[1:-1] if layer.layer.startswith("/") else []
    own = layer.op if layer.layer.startswith("/") else layer.layer
    module = model if _is_module(model) else None
    places, path = [("", type(model).__name__ if module is not None else "network")], ""
    for scope in scopes:
        last = path.rpartition(".")[2]
        plain = scope[len(last) + 1 :] if last and scope.startswith(last + ".") else scope
        name, module = (plain, None) if module is None else _find(module, scope)
        path = f"{path}.{name}" if path else name
        places.append((path, "module" if module is None else type(module).__name__))
    has_parts = module is None or next(module.children(), None) is not None
    if has_parts and (layer.macs or layer.parameters):
        places.append((f"{path}.{own}" if path else own, layer.op))
    return places


def summary(model: Any, example: Any = None, *, depth: int = 3, **options: Any) -> Summary:
    """
    A table of a network's modules with output shapes, parameters, MACs and bytes.

    Parameters
    ----------
    model, example, **options
        As `estimate` takes them. The modules of a file are those that its layers' names tell.
    depth : int
        How deep the modules are that ``print`` shows.
    """
    found = estimate(model, example, **options)
    layers: dict[str, list[Layer]] = {}
    places: dict[str, tuple[str, int]] = {}
    for layer in found.layers:
        for level, (path, kind) in enumerate(_places(model, layer)):
            layers.setdefault(path, []).append(layer)
            places.setdefault(path, (kind, level))
    rows = []
    for path in sorted(layers, key=_order(layers)):
        kind, level = places[path]
        of = layers[path]
        sums = {name: sum(getattr(layer, name) for layer in of) for name in ("parameters", "macs", "weight_bytes", "output_bytes")}
        rows.append(Row(path, kind, level, of[-1].output_shape, **sums))
    return Summary(tuple(rows), found, depth)


def _order(layers: Mapping[str, list[Layer]]) -> Any:
    """Modules in the order in which they are first run, each behind the one that it is in."""
    first = {path: i for i, path in enumerate(layers)}

    def key(path: str) -> list[int]:
        parts = path.split(".") if path else []
        heads = [".".join(parts[:n]) for n in range(1, len(parts) + 1)]
        return [first[head] for head in heads if head in first]

    return key
