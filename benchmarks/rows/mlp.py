"""A training step of a small network: 64 rows of 784 numbers, 256 hidden units, 10 classes; momentum 0.9.

Each library with layers has two versions: with functions and in-place updates, and with layers and an optimizer. The
version for numpy has a backward pass written by hand, in place where that saves memory. All versions start with the
same weights and must reach the same loss. The velocity includes the learning rate: ``v = 0.9 v + rate * gradient``,
``w = w - v``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.table import Ratio
from benchmarks.timing import QUICK

TITLE = "training step, 64x784-256-10, momentum"

Program = Callable[[], Any]

RATE, MOMENTUM = 0.01, 0.9

SECONDS = 0.5
STEPS = 5 if QUICK else 20
PEAKS = ("step", "step with layers")


def data() -> tuple[Any, Any, list[Any]]:
    """Return inputs, labels and weights, the same for all versions."""
    import numpy as np

    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((64, 784), np.float32)
    labels = rng.integers(0, 10, 64)
    weights = [rng.standard_normal(shape, np.float32) * np.float32(0.05) for shape in ((784, 256), (256, 10))]
    return inputs, labels, [weights[0], np.zeros(256, np.float32), weights[1], np.zeros(10, np.float32)]


def numpy() -> dict[str, Program]:
    import numpy as np

    x, labels, (w1, b1, w2, b2) = data()
    velocities = [np.zeros_like(w) for w in (w1, b1, w2, b2)]
    rows = np.arange(64)

    def step() -> Any:
        h = x @ w1
        h += b1
        np.maximum(h, 0, out=h)
        z = h @ w2
        z += b2
        z -= z.max(axis=1, keepdims=True)
        loss = -z[rows, labels]
        np.exp(z, out=z)
        total = z.sum(axis=1, keepdims=True)
        loss += np.log(total[:, 0])
        z /= total
        z[rows, labels] -= 1
        z /= 64
        gw2, gb2 = h.T @ z, z.sum(axis=0)
        gh = z @ w2.T
        gh *= h > 0
        gw1, gb1 = x.T @ gh, gh.sum(axis=0)
        for w, v, g in zip((w1, b1, w2, b2), velocities, (gw1, gb1, gw2, gb2), strict=True):
            g *= RATE
            v *= MOMENTUM
            v += g
            w -= v
        return loss.mean()

    return {"step": step}


def with_paddles_names(paddle: Any) -> dict[str, Program]:
    """Return the programs for Paddle and for minitensor, which has Paddle's names."""
    F = paddle.nn.functional
    inputs, labels, start = data()
    x, y = paddle.to_tensor(inputs), paddle.to_tensor(labels)
    weights = [paddle.to_tensor(w, stop_gradient=False) for w in start]
    velocities = [paddle.zeros_like(w) for w in weights]
    w1, b1, w2, b2 = weights

    def step() -> Any:
        h = F.relu_(F.linear(x, w1, b1))
        loss = F.cross_entropy(F.linear(h, w2, b2), y)
        loss.backward()
        with paddle.no_grad():
            for w, v in zip(weights, velocities, strict=True):
                w.subtract_(v.scale_(MOMENTUM).add_(w.grad.scale_(RATE)))
                w.clear_gradient(set_to_zero=False)
        return loss

    net = paddle.nn.Sequential(paddle.nn.Linear(784, 256), paddle.nn.ReLU(), paddle.nn.Linear(256, 10))
    for parameter, w in zip(net.parameters(), start, strict=True):
        parameter.set_value(w)
    optimizer = paddle.optimizer.Momentum(RATE, MOMENTUM, parameters=net.parameters())

    def step_with_layers() -> Any:
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad(set_to_zero=False)
        return loss

    return {"step": step, "step with layers": step_with_layers}


def minitensor() -> dict[str, Program]:
    import minitensor

    return with_paddles_names(minitensor)


def paddle() -> dict[str, Program]:
    import paddle

    return with_paddles_names(paddle)


def torch() -> dict[str, Program]:
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(1)
    inputs, labels, start = data()
    x, y = torch.from_numpy(inputs), torch.from_numpy(labels)
    # torch.nn.functional.linear expects one row of weights for each output.
    weights = [torch.tensor(w.T.copy(), requires_grad=True) for w in start]
    velocities = [torch.zeros_like(w) for w in weights]
    w1, b1, w2, b2 = weights

    def step() -> Any:
        h = F.linear(x, w1, b1).relu_()
        loss = F.cross_entropy(F.linear(h, w2, b2), y)
        loss.backward()
        with torch.no_grad():
            for w, v in zip(weights, velocities, strict=True):
                w.sub_(v.mul_(MOMENTUM).add_(w.grad, alpha=RATE))
                w.grad = None
        return loss.detach()

    net = torch.nn.Sequential(torch.nn.Linear(784, 256), torch.nn.ReLU(inplace=True), torch.nn.Linear(256, 10))
    with torch.no_grad():
        for parameter, w in zip(net.parameters(), start, strict=True):
            parameter.copy_(torch.from_numpy(w.T))
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE, momentum=MOMENTUM)

    def step_with_layers() -> Any:
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return {"step": step, "step with layers": step_with_layers}


PROGRAMS = {"minitensor": minitensor, "numpy": numpy, "torch": torch, "paddle": paddle}

ROWS = [
    Ratio("step", over="torch", most=1.0),
    Ratio("step", over="numpy", most=1.2),
    Ratio("step", over="paddle"),
    Ratio("step, peak traced", over="numpy", most=1.0, unit="bytes"),
    Ratio("step, peak", over="torch", unit="bytes"),
    Ratio("step, peak", over="paddle", unit="bytes"),
    Ratio("step with layers", over="torch", most=1.0),
    Ratio("step with layers", over="numpy", theirs="step", most=1.2),
    Ratio("step with layers", over="paddle"),
    Ratio("step with layers, peak traced", over="numpy", theirs="step, peak traced", unit="bytes", most=1.0),
]
