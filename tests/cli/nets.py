# SPDX-License-Identifier: MIT
"""Well-known networks as ONNX, layer by layer as their authors' PyTorch code has them; weights are made by ConstantOfShape."""

from onnx_file import INT64, Graph, info


def picture():
    return Graph(info("x", [1, 3, 224, 224]))


def pool(g, x, k, stride, pad=0):
    return g.add("MaxPool", x, kernel_shape=[k] * 2, strides=[stride] * 2, pads=[pad] * 4)


def alexnet():
    g = picture()
    x = pool(g, g.add("Relu", g.conv("x", 3, 64, 11, 4, 2, bias=True)), 3, 2)
    x = pool(g, g.add("Relu", g.conv(x, 64, 192, 5, 1, 2, bias=True)), 3, 2)
    for c_in, c_out in ((192, 384), (384, 256), (256, 256)):
        x = g.add("Relu", g.conv(x, c_in, c_out, 3, 1, 1, bias=True))
    x = g.add("Flatten", pool(g, x, 3, 2))
    for c_in, c_out in ((9216, 4096), (4096, 4096), (4096, 1000)):
        x = g.add("Gemm", x, g.weights(c_out, c_in), g.weights(c_out), transB=1)
    return g


def vgg16():
    g, x, c_in = picture(), "x", 3
    for c_out in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0):
        if c_out:
            x, c_in = g.add("Relu", g.conv(x, c_in, c_out, 3, 1, 1, bias=True)), c_out
        else:
            x = pool(g, x, 2, 2)
    x = g.add("Flatten", x)
    for c_in, c_out in ((25088, 4096), (4096, 4096), (4096, 1000)):
        x = g.add("Gemm", x, g.weights(c_out, c_in), g.weights(c_out), transB=1)
    return g


def resnet(blocks, is_deep):
    g = picture()
    x, c_in = pool(g, g.add("Relu", g.norm(g.conv("x", 3, 64, 7, 2, 3), 64)), 3, 2, 1), 64
    for stage, n in enumerate(blocks):
        width = 64 << stage
        c_out = width * (4 if is_deep else 1)
        for block in range(n):
            stride = 2 if stage and not block else 1
            if is_deep:
                y = g.add("Relu", g.norm(g.conv(x, c_in, width, 1), width))
                y = g.add("Relu", g.norm(g.conv(y, width, width, 3, stride, 1), width))
                y = g.norm(g.conv(y, width, c_out, 1), c_out)
            else:
                y = g.add("Relu", g.norm(g.conv(x, c_in, width, 3, stride, 1), width))
                y = g.norm(g.conv(y, width, width, 3, 1, 1), width)
            if c_in != c_out:
                x = g.norm(g.conv(x, c_in, c_out, 1, stride), c_out)
            x, c_in = g.add("Relu", g.add("Add", x, y)), c_out
    x = g.add("Flatten", g.add("GlobalAveragePool", x))
    g.add("Gemm", x, g.weights(1000, c_in), g.weights(1000), transB=1)
    return g


def mobilenet_v2():
    g = picture()

    def step(x, c_in, c_out, k, stride=1, groups=1, acts=True):
        x = g.norm(g.conv(x, c_in, c_out, k, stride, k // 2, groups), c_out)
        return g.add("Clip", x, g.real(0.0), g.real(6.0)) if acts else x
    x, c_in = step("x", 3, 32, 3, 2), 32
    for wider, c_out, n, first in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(n):
            stride, hidden = first if i == 0 else 1, c_in * wider
            y = step(x, c_in, hidden, 1) if wider > 1 else x
            y = step(step(y, hidden, hidden, 3, stride, hidden), hidden, c_out, 1, acts=False)
            x = g.add("Add", x, y) if stride == 1 and c_in == c_out else y
            c_in = c_out
    x = g.add("ReduceMean", step(x, 320, 1280, 1), axes=[2, 3], keepdims=0)
    g.add("Gemm", x, g.weights(1000, 1280), g.weights(1000), transB=1)
    return g


def vit_b_16():
    g = picture()
    x = g.add("Reshape", g.conv("x", 3, 768, 16, 16, bias=True), g.ints(1, 768, -1))
    x = g.add("Concat", g.weights(1, 1, 768), g.add("Transpose", x, perm=[0, 2, 1]), axis=1)
    x = g.add("Add", x, g.weights(1, 197, 768))
    for _ in range(12):
        x = g.add("Add", x, g.attention(g.layer_norm(x, 768), 1, 197, 768, 12))
        y = g.dense(g.gelu(g.dense(g.layer_norm(x, 768), 768, 3072)), 3072, 768)
        x = g.add("Add", x, y)
    x = g.add("Gather", g.layer_norm(x, 768), g.ints(0, scalar=True), axis=1)
    g.add("Gemm", x, g.weights(1000, 768), g.weights(1000), transB=1)
    return g


def bert_base():
    """Its batch and length are left open, and its shapes computed from its inputs."""
    g = Graph(info("input_ids", ["batch", "length"], INT64), info("token_type_ids", ["batch", "length"], INT64))
    shape = g.add("Shape", "input_ids")
    batch, length = (g.add("Unsqueeze", g.add("Gather", shape, g.ints(i, scalar=True)), g.ints(0)) for i in (0, 1))
    positions = g.add("Slice", g.add("Unsqueeze", g.add("Range", g.ints(0, scalar=True), g.ints(512, scalar=True), g.ints(1, scalar=True)),
                                     g.ints(0)), g.ints(0), length, g.ints(1))
    x = g.add("Add", g.add("Gather", g.weights(30522, 768), "input_ids"), g.add("Gather", g.weights(2, 768), "token_type_ids"))
    x = g.layer_norm(g.add("Add", x, g.add("Gather", g.weights(512, 768), positions)), 768)
    to_heads = g.add("Concat", batch, length, g.ints(12), g.ints(64), axis=0)
    to_rows = g.add("Concat", batch, length, g.ints(768), axis=0)
    for _ in range(12):
        q, k, v = (g.add("Transpose", g.add("Reshape", g.dense(x, 768, 768), to_heads), perm=perm)
                   for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        weights = g.add("Softmax", g.add("Div", g.add("MatMul", q, k), g.real(8.0)))
        y = g.add("Transpose", g.add("MatMul", weights, v), perm=[0, 2, 1, 3])
        x = g.layer_norm(g.add("Add", x, g.dense(g.add("Reshape", y, to_rows), 768, 768)), 768)
        x = g.layer_norm(g.add("Add", x, g.dense(g.gelu(g.dense(x, 768, 3072)), 3072, 768)), 768)
    first = g.add("Gather", x, g.ints(0, scalar=True), axis=1)
    g.add("Tanh", g.add("Gemm", first, g.weights(768, 768), g.weights(768), transB=1))
    return g


def gpt2(has_head=True):
    g = Graph(info("input_ids", [1, 1024], INT64))
    table = g.weights(50257, 768)
    x = g.add("Add", g.add("Gather", table, "input_ids"), g.add("Gather", g.weights(1024, 768), g.add("Range", g.ints(
        0, scalar=True), g.ints(1024, scalar=True), g.ints(1, scalar=True))))
    x = g.add("Unsqueeze", g.add("Squeeze", x, g.ints(0)), g.ints(0))
    for _ in range(12):
        x = g.add("Add", x, g.attention(g.layer_norm(x, 768), 1, 1024, 768, 12))
        x = g.add("Add", x, g.dense(g.gelu(g.dense(g.layer_norm(x, 768), 768, 3072)), 3072, 768))
    x = g.layer_norm(x, 768)
    if has_head:  # it is the table again: the same parameters
        g.add("MatMul", x, g.add("Transpose", table, perm=[1, 0]))
    return g
