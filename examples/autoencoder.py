# SPDX-License-Identifier: MIT
"""
A small autoencoder that compresses data with loss, as baler does: it is trained, compresses, and decompresses.

    python autoencoder.py [--torch] [--epochs N] [--rows N]

docs/profile.md profiles it. NumPy is needed; --torch trains with PyTorch instead.
"""

import argparse
import os
import tempfile
import zlib

import numpy as np

WIDTH, HIDDEN, CODE, BATCH, RATE = 64, 256, 8, 512, 1e-3


def make_data(rows):
    """Rows of 64 numbers that depend on 8."""
    random = np.random.default_rng(1)
    hidden = random.normal(size=(rows, CODE))
    return np.tanh(hidden @ random.normal(size=(CODE, WIDTH)) / 3).astype(np.float32)


def make_layers():
    random = np.random.default_rng(2)
    sizes = (WIDTH, HIDDEN, CODE, HIDDEN, WIDTH)
    return [[(random.normal(size=(a, b)) / np.sqrt(a)).astype(np.float32), np.zeros(b, np.float32)] for a, b in zip(sizes, sizes[1:])]


def forward(layers, x):
    """What each layer makes of it; the code and the result are not bent."""
    made = [x]
    for i, (weight, bias) in enumerate(layers):
        x = x @ weight + bias
        made.append(np.tanh(x) if i % 2 == 0 else x)
        x = made[-1]
    return made


def backward(layers, made):
    """Gradients of the mean squared error."""
    error = (made[-1] - made[0]) * (2 / made[0].size)
    gradients = []
    for i in reversed(range(len(layers))):
        if i % 2 == 0:
            error = error * (1 - made[i + 1] ** 2)
        gradients.append((made[i].T @ error, error.sum(0)))
        error = error @ layers[i][0].T
    return gradients[::-1]


def update(layers, gradients, moments, step):
    """Adam."""
    for layer, gradient, moment in zip(layers, gradients, moments):
        for i in range(2):
            moment[i][0] += 0.1 * (gradient[i] - moment[i][0])
            moment[i][1] += 0.001 * (gradient[i] ** 2 - moment[i][1])
            scale = np.sqrt(moment[i][1] / (1 - 0.999**step)) + 1e-8
            layer[i] -= RATE * moment[i][0] / (1 - 0.9**step) / scale


def train(data, epochs):
    layers, step = make_layers(), 0
    moments = [[[np.zeros_like(part), np.zeros_like(part)] for part in layer] for layer in layers]
    for _ in range(epochs):
        for begin in range(0, len(data), BATCH):
            step += 1
            made = forward(layers, data[begin : begin + BATCH])
            update(layers, backward(layers, made), moments, step)
    return layers


def train_torch(data, epochs):
    import torch

    layers = [[torch.tensor(part, requires_grad=True) for part in layer] for layer in make_layers()]
    optimizer = torch.optim.Adam([part for layer in layers for part in layer], lr=RATE)
    rows = torch.from_numpy(data)
    for _ in range(epochs):
        for batch in rows.split(BATCH):
            x = batch
            for i, (weight, bias) in enumerate(layers):
                x = x @ weight + bias
                x = torch.tanh(x) if i % 2 == 0 else x
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(x, batch).backward()
            optimizer.step()
    return [[part.detach().numpy() for part in layer] for layer in layers]


def compress(layers, data, path):
    code = forward(layers[:2], data)[-1].astype(np.float16)
    with open(path, "wb") as file:
        file.write(zlib.compress(code.tobytes(), 6))


def decompress(layers, path):
    with open(path, "rb") as file:
        code = np.frombuffer(zlib.decompress(file.read()), np.float16)
    return forward(layers[2:], code.reshape(-1, CODE).astype(np.float32))[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", action="store_true", help="train with PyTorch")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rows", type=int, default=60000)
    options = parser.parse_args()
    data = make_data(options.rows)
    layers = (train_torch if options.torch else train)(data, options.epochs)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "data.z")
        compress(layers, data, path)
        size = os.path.getsize(path)
        error = np.sqrt(np.mean((decompress(layers, path) - data) ** 2))
    print(f"{data.nbytes} bytes in {size}: {data.nbytes / size:.1f} times less, rms error {error:.4f}")


if __name__ == "__main__":
    main()
