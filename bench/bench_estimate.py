#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
What `wattle estimate` takes of time and memory, beside onnx-tool and onnx's own checker on the same files: Markdown for docs/estimate.md.

    bench_estimate.py [--repeat N] [--keep DIRECTORY]

BENCH_PYTHON: an interpreter that has onnx and onnx_tool (default: this one); what it has not is skipped. wattle is timed as a whole process,
the others from the moment on at which they are imported. Medians;
the tools take turns, ratios hold within one run. CPU seconds, since a busy machine makes wall time longer.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO / "tests" / "cli"))

import nets  # noqa: E402
from onnx_file import FLOAT, Graph, info, number, text, varint  # noqa: E402

BUILD = Path(os.environ.get("WATTLE_BUILD_ROOT", REPO / "build")).resolve()
WATTLE = os.environ.get("WATTLE", str(BUILD / "wattle"))
PYTHON = os.environ.get("BENCH_PYTHON", sys.executable)

# Each prints wall and CPU seconds without its imports.
CLOCK = "from time import perf_counter, process_time; a, b = perf_counter(), process_time(); "
STOP = "; print(perf_counter() - a, process_time() - b)"
OTHERS = {
    "onnx's checker": f"import onnx.checker; {CLOCK}onnx.checker.check_model(PATH){STOP}",
    "onnx-tool": f"import onnx_tool; {CLOCK}m = onnx_tool.Model(PATH); m.graph.shape_infer(None); m.graph.profile(){STOP}",
}


class Stored(Graph):
    """Weights are in the file, not computed by it; there they are holes, which read as zeros."""

    def __init__(self, *inputs):
        super().__init__(*inputs)
        self.held = []

    def weights(self, *dims):
        self.made += 1
        self.held.append((f"w{self.made}", dims))
        return f"w{self.made}"

    def write(self, path):
        parts, length = [], 0
        for name, dims in self.held:
            size = 4
            for dim in dims:
                size *= dim
            head = b"".join(number(1, dim) for dim in dims) + number(2, FLOAT) + text(8, name) + varint(9 << 3 | 2) + varint(size)
            parts.append((varint(5 << 3 | 2) + varint(len(head) + size) + head, size))
            length += len(parts[-1][0]) + size
        rest = self.message()
        with open(path, "wb") as file:
            file.write(number(1, 8) + varint(7 << 3 | 2) + varint(length + len(rest)))
            for head, size in parts:
                file.write(head)
                file.seek(size, os.SEEK_CUR)
            file.write(rest + text(8, number(2, 17)))


def resnet(path):
    nets.Graph = Stored
    nets.resnet((3, 4, 6, 3), True).write(path)


def perceptron(path, width=4096, layers=31):
    graph = Stored(info("x", [1, width]))
    y = "x"
    for _ in range(layers):
        y = graph.add("Relu", graph.add("MatMul", y, graph.weights(width, width)))
    graph.write(path)


def run(words):
    """Wall and CPU seconds, MB at the most (at least this program's own, from which it was forked), and what it printed."""
    with tempfile.TemporaryFile() as out:
        started = time.perf_counter()
        process = subprocess.Popen(words, stdout=out, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        took = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said = out.read().decode(errors="replace")
    if process.returncode:
        raise RuntimeError(said.strip().splitlines()[-1])
    return took, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3, said


def measure(path, repeat):
    ours = {"wattle estimate": [WATTLE, "estimate", str(path)], "wattle estimate -f json": [WATTLE, "estimate", "-f", "json", str(path)],
            "wattle --version": [WATTLE, "--version"]}
    rows = {}
    for _ in range(repeat):
        for name, words in ours.items():
            rows.setdefault(name, []).extend(run(words)[:3] for _ in range(20))
        for name, code in OTHERS.items():
            try:
                *_, mb, said = run([PYTHON, "-c", code.replace("PATH", repr(str(path)))])
                rows.setdefault(name, []).append((*map(float, said.split()[-2:]), mb))
            except RuntimeError as error:
                print(f"{name}: {error}", file=sys.stderr)
    totals = json.loads(run(ours["wattle estimate -f json"])[3])["totals"]
    print(f"\n{path.stem}, {path.stat().st_size / 1e6:,.0f} MB, {totals['macs']:,} MACs\n\n"
          "| | wall ms | CPU ms | CPU over wattle's | MB |\n|---|---|---|---|---|")
    reference = statistics.median(cpu for _, cpu, _ in rows["wattle estimate"])
    for name, each in rows.items():
        wall, cpu = (statistics.median(column) for column in list(zip(*each))[:2])
        print(f"| {name} | {wall * 1e3:,.1f} | {cpu * 1e3:,.1f} | {cpu / reference:,.1f} | {max(mb for *_, mb in each):,.0f} |")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="a directory for the models, which stay there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wattle-bench-") as folder:
        place = options.keep or Path(folder)
        for name, make in (("resnet50", resnet), ("perceptron", perceptron)):
            path = place / f"{name}.onnx"
            make(path)
            measure(path, options.repeat)


if __name__ == "__main__":
    main()
