"""A training step of a small convolutional network on 32 images of 28x28, with plain gradient descent.

The network has two convolutions of 3x3 (1 to 8 channels; 8 to 16 with stride 2) and a linear layer to 10 classes. Each
library with layers has a version with functions and in-place updates, and one with layers and an optimizer. The version
for numpy has a backward pass that is written by hand. It copies each window of 3x3 into a row of a matrix (im2col), so
that a convolution is one matrix product. All versions start with the same weights and must reach the same loss.

Three more versions run on PyTorch and on minitensor.torch: "normal" with activations out of place, "in place" with
activations in place, and "computed again", in which backward recomputes the convolutions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.table import Ratio
from benchmarks.timing import QUICK

TITLE = "training step, convolutions on 32x1x28x28"

Program = Callable[[], Any]

RATE = 0.01

SECONDS = 0.5
STEPS = 5 if QUICK else 20
PEAKS = ("step", "step with layers", "in place", "normal", "computed again")


def data() -> tuple[Any, Any, list[Any]]:
    """Return images, labels and weights, the same for all versions."""
    import numpy as np

    rng = np.random.default_rng(0)
    images = rng.standard_normal((32, 1, 28, 28), np.float32)
    labels = rng.integers(0, 10, 32)
    weights: list[Any] = []
    for shape, scale in (((8, 1, 3, 3), 0.3), ((16, 8, 3, 3), 0.1), ((16 * 14 * 14, 10), 0.02)):
        weights.append(rng.standard_normal(shape, np.float32) * np.float32(scale))
        weights.append(np.zeros(shape[1] if len(shape) == 2 else shape[0], np.float32))
    return images, labels, weights


def numpy() -> dict[str, Program]:
    import numpy as np

    x, labels, weights = data()
    w1, b1, w2, b2, w3, b3 = weights
    images = np.arange(32)

    def columns(x: Any, stride: int) -> Any:
        """Return each window of 3x3 as a row, with zeros around each image: [images * height * width, channels * 9]."""
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::stride, ::stride]
        return windows.transpose(0, 2, 3, 1, 4, 5).reshape(-1, x.shape[1] * 9)

    def convolution(columns: Any, w: Any, b: Any, side: int) -> Any:
        y = columns @ w.reshape(len(w), -1).T
        y += b
        return y.reshape(32, side, side, len(w)).transpose(0, 3, 1, 2)

    def gradients(g: Any, columns: Any, w: Any) -> tuple[Any, Any, Any]:
        rows = g.transpose(0, 2, 3, 1).reshape(-1, len(w))
        return rows, (rows.T @ columns).reshape(w.shape), rows.sum(axis=0)

    def input_gradient(rows: Any, w: Any, side: int, stride: int) -> Any:
        parts = (rows @ w.reshape(len(w), -1)).reshape(32, side, side, w.shape[1], 3, 3)
        g = np.zeros((32, w.shape[1], side * stride + 2, side * stride + 2), np.float32)
        for i in range(3):
            for j in range(3):
                seen = g[:, :, i : i + stride * side : stride, j : j + stride * side : stride]
                seen += parts[..., i, j].transpose(0, 3, 1, 2)
        return g[:, :, 1:-1, 1:-1]

    def step() -> Any:
        c1 = columns(x, 1)
        h1 = convolution(c1, w1, b1, 28)
        np.maximum(h1, 0, out=h1)
        c2 = columns(h1, 2)
        h2 = convolution(c2, w2, b2, 14)
        np.maximum(h2, 0, out=h2)
        flat = h2.reshape(32, -1)
        z = flat @ w3
        z += b3
        z -= z.max(axis=1, keepdims=True)
        loss = -z[images, labels]
        np.exp(z, out=z)
        total = z.sum(axis=1, keepdims=True)
        loss += np.log(total[:, 0])
        z /= total
        z[images, labels] -= 1
        z /= 32
        gw3, gb3 = flat.T @ z, z.sum(axis=0)
        g = (z @ w3.T).reshape(h2.shape)
        g *= h2 > 0
        rows, gw2, gb2 = gradients(g, c2, w2)
        g = input_gradient(rows, w2, 14, 2)
        g *= h1 > 0
        _, gw1, gb1 = gradients(g, c1, w1)
        for w, g in zip(weights, (gw1, gb1, gw2, gb2, gw3, gb3), strict=True):
            g *= RATE
            w -= g
        return loss.mean()

    return {"step": step}


def with_paddles_names(paddle: Any) -> dict[str, Program]:
    """Return the programs for Paddle and for minitensor, which has Paddle's names."""
    nn, F = paddle.nn, paddle.nn.functional
    images, labels, start = data()
    x, y = paddle.to_tensor(images), paddle.to_tensor(labels)
    weights = [paddle.to_tensor(w, stop_gradient=False) for w in start]
    w1, b1, w2, b2, w3, b3 = weights

    def step() -> Any:
        h = F.relu_(F.conv2d(x, w1, b1, padding=1))
        h = F.relu_(F.conv2d(h, w2, b2, stride=2, padding=1))
        loss = F.cross_entropy(F.linear(h.reshape([32, -1]), w3, b3), y)
        loss.backward()
        with paddle.no_grad():
            for w in weights:
                w.subtract_(w.grad.scale_(RATE))
                w.clear_gradient(set_to_zero=False)
        return loss

    net = nn.Sequential(
        nn.Conv2D(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.Conv2D(8, 16, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 14 * 14, 10),
    )
    for parameter, w in zip(net.parameters(), start, strict=True):
        parameter.set_value(w)
    optimizer = paddle.optimizer.SGD(RATE, parameters=net.parameters())

    def step_with_layers() -> Any:
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad(set_to_zero=False)
        return loss

    return {"step": step, "step with layers": step_with_layers}


def in_three_ways(torch: Any, checkpoint: Any) -> dict[str, Program]:
    """Return programs for PyTorch and for minitensor.torch that measure in-place operations and recomputing."""
    F = torch.nn.functional
    images, labels, start = data()
    start[4] = start[4].T.copy()  # linear expects one row of weights for each output
    x, y = torch.from_numpy(images), torch.from_numpy(labels)

    def way(relu: Any, again: bool) -> Program:
        weights = [torch.tensor(w, requires_grad=True) for w in start]
        w1, b1, w2, b2, w3, b3 = weights

        def first(x: Any) -> Any:
            return relu(F.conv2d(x, w1, b1, padding=1))

        def second(x: Any) -> Any:
            return relu(F.conv2d(x, w2, b2, stride=2, padding=1))

        def step() -> Any:
            h = x
            for block in (first, second):
                h = checkpoint(block, h, use_reentrant=False) if again else block(h)
            loss = F.cross_entropy(F.linear(h.flatten(1), w3, b3), y)
            loss.backward()
            with torch.no_grad():
                for w in weights:
                    w.sub_(w.grad, alpha=RATE)
                    w.grad = None
            return loss.detach()

        return step

    return {
        "normal": way(F.relu, again=False),
        "in place": way(F.relu_, again=False),
        "computed again": way(F.relu, again=True),
    }


def minitensor() -> dict[str, Program]:
    import minitensor
    import minitensor.torch.utils.checkpoint

    return {
        **with_paddles_names(minitensor),
        **in_three_ways(minitensor.torch, minitensor.torch.utils.checkpoint.checkpoint),
    }


def paddle() -> dict[str, Program]:
    import paddle

    return with_paddles_names(paddle)


def torch() -> dict[str, Program]:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.set_num_threads(1)
    images, labels, start = data()
    x, y = torch.from_numpy(images), torch.from_numpy(labels)
    start[4] = start[4].T.copy()  # torch.nn.functional.linear expects one row of weights for each output
    weights = [torch.tensor(w, requires_grad=True) for w in start]
    w1, b1, w2, b2, w3, b3 = weights

    def step() -> Any:
        h = F.conv2d(x, w1, b1, padding=1).relu_()
        h = F.conv2d(h, w2, b2, stride=2, padding=1).relu_()
        loss = F.cross_entropy(F.linear(h.flatten(1), w3, b3), y)
        loss.backward()
        with torch.no_grad():
            for w in weights:
                w.sub_(w.grad, alpha=RATE)
                w.grad = None
        return loss.detach()

    net = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(8, 16, 3, stride=2, padding=1),
        nn.ReLU(inplace=True),
        nn.Flatten(),
        nn.Linear(16 * 14 * 14, 10),
    )
    with torch.no_grad():
        for parameter, w in zip(net.parameters(), start, strict=True):
            parameter.copy_(torch.from_numpy(w))
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)

    def step_with_layers() -> Any:
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    from torch.utils.checkpoint import checkpoint

    return {"step": step, "step with layers": step_with_layers, **in_three_ways(torch, checkpoint)}


PROGRAMS = {"minitensor": minitensor, "numpy": numpy, "torch": torch, "paddle": paddle}

ROWS = [
    Ratio("step", over="paddle", most=1.0),
    Ratio("step", over="numpy", most=1.3),
    Ratio("step", over="torch"),
    Ratio("step, peak traced", over="numpy", unit="bytes"),
    Ratio("step, peak", over="torch", unit="bytes"),
    Ratio("step, peak", over="paddle", unit="bytes"),
    Ratio("step with layers", over="paddle", most=1.0),
    Ratio("step with layers", over="numpy", theirs="step", most=1.3),
    Ratio("step with layers", over="torch"),
    Ratio("in place", over="minitensor", theirs="normal"),
    Ratio("in place, peak", over="minitensor", theirs="normal, peak", unit="bytes"),
    Ratio("computed again", over="minitensor", theirs="normal"),
    Ratio("computed again, peak", over="minitensor", theirs="normal, peak", unit="bytes"),
]
