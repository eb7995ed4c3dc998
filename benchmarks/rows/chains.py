"""Chains of 100 operations on 3x4 float32, forward and backward; a write to a part; 200 writes to rows.

Each program builds a chain from a leaf (``g`` or ``big``), sums the result, runs ``backward()``, and frees everything,
including the gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.table import Ratio

TITLE = "forward and backward, a chain of 100 operations on 3x4 float32"

Program = Callable[[], Any]

LENGTH = 100
SIDE, WRITES = 1000, 200


def minitensor() -> dict[str, Program]:
    import minitensor as mt

    y, row = mt.full([3, 4], 0.5), mt.full([4], 0.5)
    g = mt.ones([3, 4])
    g.stop_gradient = False
    big, line = mt.ones([SIDE, SIDE]), mt.full([SIDE], 0.5)
    big.stop_gradient = False

    def chain(step: Callable[[Any], Any]) -> None:
        h = g * 1.0
        for _ in range(LENGTH):
            h = step(h)
        h.sum().backward()
        g.clear_gradient(set_to_zero=False)

    def parts(write: Callable[[Any], Any], times: int) -> None:
        h = g * 1.0
        for _ in range(times):
            write(h)
        h.sum().backward()
        g.clear_gradient(set_to_zero=False)

    def rows(write: Callable[[Any, int], Any]) -> None:
        h = big * 1.0
        for i in range(WRITES):
            write(h, i)
        h.sum().backward()
        big.clear_gradient(set_to_zero=False)

    def put(h: Any, i: int) -> None:
        h[i] = line

    return {
        "add": lambda: chain(lambda h: h.add(y)),
        "add_": lambda: chain(lambda h: h.add_(y)),
        "mul": lambda: chain(lambda h: h.multiply(y)),
        "sin_": lambda: chain(lambda h: h.sin_()),
        "add_ to a part, once": lambda: parts(lambda h: h[0].add_(row), 1),
        "add_ to a part": lambda: parts(lambda h: h[0].add_(row), LENGTH),
        "mul_ of a part, once": lambda: parts(lambda h: h[0].multiply_(row), 1),
        "mul_ of a part": lambda: parts(lambda h: h[0].multiply_(row), LENGTH),
        "200 rows set": lambda: rows(put),
        "200 rows multiplied": lambda: rows(lambda h, i: h[i].multiply_(line)),
    }


def torch() -> dict[str, Program]:
    import torch

    torch.set_num_threads(1)
    y, row = torch.full([3, 4], 0.5), torch.full([4], 0.5)
    g = torch.ones(3, 4, requires_grad=True)
    big, line = torch.ones(SIDE, SIDE, requires_grad=True), torch.full([SIDE], 0.5)

    def chain(step: Callable[[Any], Any]) -> None:
        h = g * 1.0
        for _ in range(LENGTH):
            h = step(h)
        h.sum().backward()
        g.grad = None

    def parts(write: Callable[[Any], Any], times: int) -> None:
        h = g * 1.0
        for _ in range(times):
            write(h)
        h.sum().backward()
        g.grad = None

    def rows(write: Callable[[Any, int], Any]) -> None:
        h = big * 1.0
        for i in range(WRITES):
            write(h, i)
        h.sum().backward()
        big.grad = None

    def put(h: Any, i: int) -> None:
        h[i] = line

    return {
        "add": lambda: chain(lambda h: h.add(y)),
        "add_": lambda: chain(lambda h: h.add_(y)),
        "mul": lambda: chain(lambda h: h.mul(y)),
        "sin_": lambda: chain(lambda h: h.sin_()),
        "add_ to a part, once": lambda: parts(lambda h: h[0].add_(row), 1),
        "add_ to a part": lambda: parts(lambda h: h[0].add_(row), LENGTH),
        "mul_ of a part, once": lambda: parts(lambda h: h[0].mul_(row), 1),
        "mul_ of a part": lambda: parts(lambda h: h[0].mul_(row), LENGTH),
        "200 rows set": lambda: rows(put),
        "200 rows multiplied": lambda: rows(lambda h, i: h[i].mul_(line)),
    }


def paddle() -> dict[str, Program]:
    import paddle

    y = paddle.full([3, 4], 0.5)
    g = paddle.ones([3, 4])
    g.stop_gradient = False

    def chain(step: Callable[[Any], Any]) -> None:
        h = g * 1.0
        for _ in range(LENGTH):
            h = step(h)
        h.sum().backward()
        g.clear_gradient(set_to_zero=False)

    return {
        "add": lambda: chain(lambda h: h.add(y)),
        "add_": lambda: chain(lambda h: h.add_(y)),
        "mul": lambda: chain(lambda h: h.multiply(y)),
        "sin_": lambda: chain(lambda h: h.sin_()),
    }


def autograd() -> dict[str, Program]:
    import autograd.numpy as np
    import numpy
    from autograd import grad

    y = numpy.full([3, 4], 0.5, numpy.float32)
    g = numpy.ones([3, 4], numpy.float32)

    def chain(step: Callable[[Any], Any]) -> Callable[[], Any]:
        def total(g: Any) -> Any:
            h = g * 1.0
            for _ in range(LENGTH):
                h = step(h)
            return np.sum(h)

        gradient = grad(total)
        return lambda: gradient(g)

    return {"add": chain(lambda h: np.add(h, y)), "mul": chain(lambda h: np.multiply(h, y))}


def mygrad() -> dict[str, Program]:
    import mygrad as mg

    y = mg.full([3, 4], 0.5, dtype="float32", constant=True)
    g = mg.ones([3, 4], dtype="float32")

    def chain(step: Callable[[Any], Any]) -> None:
        h = g * 1.0
        for _ in range(LENGTH):
            h = step(h)
        h.sum().backward()
        g.null_grad()

    def add_(h: Any) -> Any:
        h += y
        return h

    return {
        "add": lambda: chain(lambda h: mg.add(h, y)),
        "add_": lambda: chain(add_),
        "mul": lambda: chain(lambda h: mg.multiply(h, y)),
    }


def tinygrad() -> dict[str, Program]:
    """Compute everything at the end, in as few passes as tinygrad finds."""
    from tinygrad import Tensor, dtypes

    y = Tensor.full((3, 4), 0.5, dtype=dtypes.float32).contiguous().realize()
    g = Tensor.ones(3, 4, dtype=dtypes.float32).contiguous().realize()

    def chain(step: Callable[[Any], Any]) -> None:
        h = g * 1.0
        for _ in range(LENGTH):
            h = step(h)
        h.sum().gradient(g)[0].realize()

    return {"add": lambda: chain(lambda h: h.add(y)), "mul": lambda: chain(lambda h: h.mul(y))}


PROGRAMS = {
    "minitensor": minitensor,
    "torch": torch,
    "paddle": paddle,
    "autograd": autograd,
    "mygrad": mygrad,
    "tinygrad": tinygrad,
}

ROWS = [
    Ratio("add", over="torch", most=0.7),
    Ratio("add_", over="torch", most=0.55),
    Ratio("mul", over="torch", most=0.75),
    Ratio("sin_", over="torch", most=0.6),
    *(Ratio(f"{write} a part, once", over="torch", most=1.0) for write in ("add_ to", "mul_ of")),
    *(Ratio(f"{write} a part", over="torch", most=1.2) for write in ("add_ to", "mul_ of")),
    Ratio("200 rows set", over="torch", most=0.55),
    Ratio("200 rows multiplied", over="torch", most=0.55),
    *(Ratio(name, over="paddle") for name in ("add", "add_", "mul", "sin_")),
    *(Ratio(name, over=library) for library in ("autograd", "mygrad", "tinygrad") for name in ("add", "mul")),
]
