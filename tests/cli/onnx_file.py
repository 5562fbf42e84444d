# SPDX-License-Identifier: MIT
"""Writes ONNX files without the onnx package: protobuf is a row of numbered fields. Also wrong ones, which that package refuses."""

import struct

FLOAT, UINT8, INT8, INT32, INT64, BOOL, FLOAT16 = 1, 2, 3, 6, 7, 9, 10


def varint(value):
    value &= 2 ** 64 - 1
    out = b""
    while value > 0x7f:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def tensor(name, dims, data=None, kind=FLOAT, raw=None):
    """data: numbers of int64 or float fields; raw: bytes."""
    out = b"".join(number(1, dim) for dim in dims) + number(2, kind) + text(8, name)
    if data is not None and kind == FLOAT:
        out += text(4, struct.pack(f"<{len(data)}f", *data))
    elif data is not None:
        out += text(7 if kind == INT64 else 5, b"".join(map(varint, data)))
    return out + (text(9, raw) if raw is not None else b"")


def attribute(name, value):
    out = text(1, name)
    if isinstance(value, Graph):
        return out + text(6, value.message()) + number(20, 5)
    if isinstance(value, bytes):
        return out + text(5, value) + number(20, 4)
    if isinstance(value, str):
        return out + text(4, value) + number(20, 3)
    if isinstance(value, float):
        return out + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    if isinstance(value, int):
        return out + number(3, value) + number(20, 2)
    return out + b"".join(number(8, item) for item in value) + number(20, 7)


def node(op, inputs, outputs, name="", domain="", **attributes):
    return (b"".join(text(1, item) for item in inputs) + b"".join(text(2, item) for item in outputs) + text(3, name) + text(4, op)
            + b"".join(text(5, attribute(key, value)) for key, value in attributes.items()) + text(7, domain))


def info(name, dims=None, kind=FLOAT):
    """A dim is a number, a name, or None."""
    shape = b"" if dims is None else text(2, b"".join(
        text(1, b"" if dim is None else text(2, dim) if isinstance(dim, str) else number(1, dim)) for dim in dims))
    return text(1, name) + text(2, text(1, number(1, kind) + shape))


class Graph:
    """Nodes in their order; each adds itself and returns the name of what it makes."""

    def __init__(self, *inputs, name="g"):
        self.name, self.inputs, self.nodes, self.constants, self.outputs, self.made = name, list(inputs), [], [], [], 0

    def add(self, op, *inputs, name=None, domain="", n_out=1, **attributes):
        self.made += 1
        outputs = [f"{op}_{self.made}_{i}" for i in range(n_out)]
        self.nodes.append(node(op, inputs, outputs, f"n{self.made}" if name is None else name, domain, **attributes))
        return outputs[0] if n_out == 1 else outputs

    def weights(self, *dims):
        """Of any size in some bytes, as ONNX's own light models have them."""
        return self.add("ConstantOfShape", self.ints(*dims))

    def ints(self, *values, scalar=False):
        self.made += 1
        self.constants.append(tensor(f"k{self.made}", [] if scalar else [len(values)], values, INT64))
        return f"k{self.made}"

    def real(self, value):
        self.made += 1
        self.constants.append(tensor(f"k{self.made}", [], [value]))
        return f"k{self.made}"

    def message(self):
        return (b"".join(text(1, item) for item in self.nodes) + text(2, self.name) + b"".join(text(5, item) for item in self.constants)
                + b"".join(text(11, item) for item in self.inputs) + b"".join(text(12, info(item)) for item in self.outputs))

    def model(self, opset=17, functions=(), domains=("com.microsoft",)):
        return (number(1, 8) + text(2, "test") + text(7, self.message()) + text(8, number(2, opset))
                + b"".join(text(8, text(1, domain) + number(2, 1)) for domain in domains) + b"".join(text(25, item) for item in functions))

    # ---- Layers ----

    def conv(self, x, c_in, c_out, k, stride=1, pad=0, groups=1, bias=False, **more):
        inputs = [x, self.weights(c_out, c_in // groups, k, k)] + ([self.weights(c_out)] if bias else [])
        return self.add("Conv", *inputs, strides=[stride] * 2, pads=[pad] * 4, group=groups, kernel_shape=[k] * 2, **more)

    def norm(self, x, channels):
        return self.add("BatchNormalization", x, *[self.weights(channels) for _ in range(4)])

    def dense(self, x, c_in, c_out, bias=True):
        y = self.add("MatMul", x, self.weights(c_in, c_out))
        return self.add("Add", y, self.weights(c_out)) if bias else y

    def layer_norm(self, x, width):
        return self.add("LayerNormalization", x, self.weights(width), self.weights(width))

    def gelu(self, x):
        half = self.add("Mul", x, self.real(0.5))
        erf = self.add("Add", self.add("Erf", self.add("Div", x, self.real(1.4142135))), self.real(1.0))
        return self.add("Mul", half, erf)

    def attention(self, x, batch, length, width, heads):
        """As PyTorch exports it: three projections, heads apart, two products and a projection."""
        def apart(y, perm):
            return self.add("Transpose", self.add("Reshape", y, self.ints(batch, length, heads, width // heads)), perm=perm)
        q, v = (apart(self.dense(x, width, width), [0, 2, 1, 3]) for _ in "qv")
        k = apart(self.dense(x, width, width), [0, 2, 3, 1])
        weights = self.add("Softmax", self.add("Div", self.add("MatMul", q, k), self.real(8.0)), axis=-1)
        y = self.add("Transpose", self.add("MatMul", weights, v), perm=[0, 2, 1, 3])
        return self.dense(self.add("Reshape", y, self.ints(batch, length, width)), width, width)
