# SPDX-License-Identifier: MIT
"""What wattle estimate --measure has Python do: loads an ONNX model into ONNX Runtime, and runs it as often as it is told.

    python3 -c THIS MODEL [--dim NAME=SIZE] [--input NAME=SIZES] …

Standard output: "ready VERSION", or "error TEXT" and the end. Then, for each number on standard input, that many
inferences, and "done NANOSECONDS".
"""

import os
import sys
import time

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what a library prints is no answer


def answer(text):
    print(" ".join(text.split()), file=answers, flush=True)


def fail(text):
    answer("error " + text)
    sys.exit(1)


def given(option):
    words = sys.argv[2:]
    return dict(words[i + 1].rsplit("=", 1) for i in range(0, len(words), 2) if words[i] == option)


def shape_of(model_input, dims, inputs):
    if model_input.name in inputs:
        return [int(size) for size in inputs[model_input.name].split("x")]
    shape = []
    for size in model_input.shape:
        if isinstance(size, str) and size in dims:
            size = int(dims[size])
        if not isinstance(size, int):
            fail(f"input {model_input.name} leaves the size {size or 'without a name'} open: "
                 + (f"--dim {size}=SIZE" if size else f"--input {model_input.name}=SIZES"))
        shape.append(size)
    return shape


def values_of(model_input, shape, random):
    kind = model_input.type.removeprefix("tensor(").removesuffix(")")
    if kind in ("float", "double", "float16"):
        return random.random(shape).astype({"float": "float32", "double": "float64"}.get(kind, kind))
    if kind == "bool" or kind.lstrip("u").startswith("int"):
        return random.integers(0, 2, shape).astype(kind)
    return fail(f"input {model_input.name} is a {model_input.type}, for which there are no random values")


def main():
    try:
        import numpy
        import onnxruntime
    except ImportError as error:
        fail(f"missing {error.name or error}")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its own classes have no common base
        fail(f"ONNX Runtime cannot load it: {error}")
    random = numpy.random.default_rng(0)
    dims, inputs = given("--dim"), given("--input")
    feed = {one.name: values_of(one, shape_of(one, dims, inputs), random) for one in session.get_inputs()}
    try:
        session.run(None, feed)
    except Exception as error:
        fail(f"ONNX Runtime cannot run it: {error}")
    answer(f"ready {onnxruntime.__version__}")
    for line in iter(sys.stdin.readline, ""):
        begin = time.perf_counter_ns()
        for _ in range(int(line)):
            session.run(None, feed)
        answer(f"done {time.perf_counter_ns() - begin}")


main()
