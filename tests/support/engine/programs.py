"""Collect programs and compare their gradients with central differences.

Every program runs twice, with slightly larger and with slightly smaller leaves. Backward must return the slope between
the results of the two runs. A program that overwrites a saved value may be refused, but must never return a
wrong number.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import minitensor as mt
from tests.support.engine.differences import slopes

Program = Callable[..., mt.Tensor]

RIGHT: list[Program] = []
REFUSABLE: list[Program] = []


def right(program: Program) -> Program:
    """Register a program for which backward must return the derivative."""
    RIGHT.append(program)
    return program


def right_or_refused(program: Program) -> Program:
    """Register a program that may overwrite a saved value. If it does, backward must raise an error."""
    REFUSABLE.append(program)
    return program


def leaves_of(program: Program) -> list[np.ndarray]:
    """Return, for every parameter of the program, an array with four different numbers."""
    count = program.__code__.co_argcount
    return [np.array([0.4, 1.7, 0.9, 1.3]) + 0.13 * k for k in range(count)]


def run(program: Program, *arrays: np.ndarray) -> tuple[list[mt.Tensor], mt.Tensor]:
    given = [mt.to_tensor(array, stop_gradient=False) for array in arrays]
    return given, program(*given)


def expect_right(program: Program) -> None:
    arrays = leaves_of(program)
    given, result = run(program, *arrays)
    result.sum().backward()
    wanted = slopes(lambda *moved: run(program, *moved)[1].sum().item(), arrays)
    for x, want in zip(given, wanted, strict=True):
        got = np.zeros(4) if x.grad is None else x.grad.numpy()
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
