"""Test that programs that constantly allocate and free large buffers never read a wrong byte.

A random program computes, writes in place, takes views, exports memory as numpy arrays, DLPack capsules and buffers,
keeps graphs and their gradients for a while, and drops all of these in any order. Each memory has a shadow, a separate
array on which plain numpy computes the same. After every step the kept buffers are overwritten; then everything that is
still alive must equal its shadow.
"""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitensor as mt
from tests.support.engine.big import SIDE, kept_bytes, low_limits, spoil
from tests.support.engine.memory import allocated

pytestmark = pytest.mark.cpu_only

SEED = int(os.environ.get("MINITENSOR_SEED", "0"))
SHAPES = [(SIDE, SIDE), (SIDE, SIDE), (4, 16, SIDE), (SIDE * SIDE,), (SIDE, 2 * SIDE)]


class Shown:
    """A tensor, array, buffer or capsule on some memory, and the same part of the memory's shadow."""

    def __init__(self, shown: Any, shadow: np.ndarray) -> None:
        self.shown, self.shadow = shown, shadow

    def differs(self) -> bool:
        if isinstance(self.shown, mt.Tensor):
            return self.shown.numpy().tobytes() != self.shadow.tobytes()
        # The contents of a capsule are compared when it is opened.
        return hasattr(self.shown, "tobytes") and self.shown.tobytes() != self.shadow.tobytes()


class Graph:
    """A recorded computation whose backward runs later, and its expected gradient."""

    def __init__(self, random: np.random.Generator, dtype: str) -> None:
        numbers, factor = (random.standard_normal((SIDE, SIDE)).astype(dtype) for _ in range(2))
        self.leaf = mt.to_tensor(numbers, stop_gradient=False)
        h = self.leaf * 2.0
        s = mt.to_tensor(factor) + 0.0
        kind = random.integers(3)
        if kind == 0:
            y = mt.sin(h) * s
            self.expected = np.ones_like(numbers) * factor * np.cos(numbers * as_dtype(2, dtype)) * as_dtype(2, dtype)
        elif kind == 1:
            y = mt.exp(h) + h * s
            before = factor + np.ones_like(numbers) * np.exp(numbers * as_dtype(2, dtype))
            self.expected = before * as_dtype(2, dtype)
        else:
            y = (h * 1.0).sin_() * s
            self.expected = np.ones_like(numbers) * factor * np.cos(numbers * as_dtype(2, dtype)) * as_dtype(2, dtype)
        with mt.set_inplace_policy("copy_on_write"), mt.no_grad():
            if random.random() < 0.5:
                h.detach().zero_()
            if random.random() < 0.5:
                s.multiply_(3.0)
        self.end = y

    def backward(self) -> Shown:
        self.end.backward()
        return Shown(self.leaf.grad, self.expected)


def as_dtype(number: float, dtype: str) -> Any:
    return np.dtype(dtype).type(number)


class Program:
    """A random program that keeps at most ``most`` tensors, arrays, buffers and capsules, and a few graphs."""

    def __init__(self, seed: int, most: int = 14) -> None:
        self.random = np.random.default_rng(seed)
        self.looks: list[Shown] = []
        self.graphs: list[Graph] = []
        self.most = most

    def step(self) -> str:
        """Do one random action, and return its name."""
        doing: Callable[[], None] = self.random.choice(
            [self.begin, self.compute, self.compute, self.compute, self.write, self.write, self.view, self.export]
            + [self.record, self.differentiate, self.open, self.drop, self.drop, self.drop, self.collect, self.limit]
        )
        if len(self.looks) >= self.most:
            doing = self.drop
        elif not self.looks:
            doing = self.begin
        doing()
        return doing.__name__

    def any(self, kind: type = object) -> Shown | None:
        looks = [look for look in self.looks if isinstance(look.shown, kind)]
        return looks[self.random.integers(len(looks))] if looks else None

    def number(self) -> float:
        return float(np.float32(self.random.standard_normal()))

    def begin(self) -> None:
        shape = SHAPES[self.random.integers(len(SHAPES))]
        numbers = self.random.standard_normal(shape).astype(self.random.choice(["float32", "float64"]))
        self.looks.append(Shown(mt.to_tensor(numbers) * 1.0, numbers))

    def compute(self) -> None:
        """Compute a new tensor from one or two tensors."""
        look, other = self.any(mt.Tensor), self.any(mt.Tensor)
        if look is None or other is None or look.shadow.dtype == np.bool_:
            return
        x, a, number = look.shown, look.shadow, self.number()
        kind = self.random.integers(6)
        if kind == 0:
            self.looks.append(Shown(mt.sin(x), np.sin(a)))
        elif kind == 1:
            self.looks.append(Shown(x + number, a + a.dtype.type(number)))
        elif kind == 2:
            self.looks.append(Shown(mt.relu(x), np.maximum(a, a.dtype.type(0))))
        elif kind == 3:
            self.looks.append(Shown(x > number, a > number))
        elif other.shadow.shape == a.shape and other.shadow.dtype == a.dtype:
            self.looks.append(Shown(x - other.shown, a - other.shadow))
        else:
            self.looks.append(Shown(x.clone(), a.copy(order="C")))

    def write(self) -> None:
        """Write in place, through a tensor or through exported memory."""
        look, other = self.any((mt.Tensor, np.ndarray)), self.any(mt.Tensor)
        if look is None or look.shadow.dtype == np.bool_:
            return
        x, a = look.shown, look.shadow
        number = a.dtype.type(self.number())
        if isinstance(x, np.ndarray):
            x *= number
            a *= number
        elif other is None or other.shadow.shape != a.shape or other.shadow.dtype != a.dtype:
            x.multiply_(float(number))
            a *= number
        else:
            x.add_(other.shown)
            a += other.shadow.copy()

    def view(self) -> None:
        look = self.any((mt.Tensor, np.ndarray))
        if look is None or look.shadow.shape[0] < 2:
            return
        begin = int(self.random.integers(look.shadow.shape[0] - 1))
        index = [np.s_[begin:], np.s_[: begin + 1], np.s_[::2], np.s_[::-1]][self.random.integers(4)]
        self.looks.append(Shown(look.shown[index], look.shadow[index]))

    def export(self) -> None:
        look = self.any(mt.Tensor)
        if look is None:
            return
        x = look.shown
        kind = self.random.integers(6)
        if kind == 0:
            self.looks.append(Shown(x.numpy(share=True), look.shadow))
        elif kind == 1 and look.shadow.dtype != np.bool_:
            self.looks.append(Shown(x.__dlpack__(max_version=(1, 0)), look.shadow))
        elif kind == 2 and look.shadow.flags.c_contiguous:
            self.looks.append(Shown(memoryview(x.numpy(share=True)), look.shadow))
        elif kind == 3 and look.shadow.flags.c_contiguous:
            self.looks.append(Shown(x.reshape([-1]), look.shadow.reshape(-1)))
        elif kind == 4:
            self.looks.append(Shown(x.detach(), look.shadow))
        else:
            self.looks.append(Shown(mt.from_numpy(x.numpy(share=True)), look.shadow))

    def open(self) -> None:
        """Open the first capsule as a tensor."""
        for look in self.looks:
            if type(look.shown).__name__ == "PyCapsule":
                look.shown = mt.from_dlpack(look.shown)
                return

    def record(self) -> None:
        if len(self.graphs) < 3:
            self.graphs.append(Graph(self.random, str(self.random.choice(["float32", "float64"]))))

    def differentiate(self) -> None:
        if self.graphs:
            self.looks.append(self.graphs.pop(self.random.integers(len(self.graphs))).backward())

    def drop(self) -> None:
        if self.random.random() < 0.1 and self.graphs:
            self.graphs.pop()
        elif self.looks:
            look = self.looks.pop(self.random.integers(len(self.looks)))
            if self.random.random() < 0.2:
                look.itself = look  # only the garbage collector frees it

    def collect(self) -> None:
        gc.collect()

    def limit(self) -> None:
        """Change the limit of kept buffers; a limit of 0 frees them all."""
        mt.device.cpu.set_reuse_limit(int(self.random.choice([0, 40 << 10, 200 << 10, 1 << 20, 1 << 20])))


@pytest.mark.parametrize("seed", range(12))
def test_every_visible_byte_has_the_value_of_its_shadow(seed: int):
    gc.collect()
    base = allocated()
    spoilt = 0
    with low_limits(threads=1 + seed % 3), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        program = Program(SEED * 1000 + seed)
        for number in range(400):
            did = program.step()
            spoilt += spoil()
            for look in program.looks:
                assert not look.differs(), f"step {number}, {did}: {type(look.shown).__name__} of {look.shadow.shape}"
        assert spoilt > 1 << 20, "too few bytes of kept buffers were overwritten, so the test shows little"
        program.looks.clear()
        program.graphs.clear()
        del program, look
        gc.collect()
        assert allocated() == base
        assert kept_bytes() <= mt.device.cpu.get_reuse_limit()
    assert kept_bytes() == 0
