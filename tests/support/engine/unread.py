"""Find by experiment the elements whose gradient must be exactly 0, and check that it is 0 even with inf and nan.

A program maps arrays to one tensor. An element of an input is *unread* by an element of the result if no other number
in its place, not even nan or inf, changes this element of the result: the input element was overwritten, masked or
never read. It is *flat* if small steps do not change the result, for example outside the bounds of clip or in rounding.
Both are found by running the program on other numbers, without any gradient rule. :func:`check` then checks two
statements about gradients of the first and of the second order:

* An incoming gradient of inf or nan contributes exactly 0 to unread and flat elements.
* No gradient or result changes if an unread number is inf or nan.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

import minitensor as mt
from tests.support.engine.differences import on_the_host, weights

Run = Callable[..., mt.Tensor]
NOT_FINITE = (np.nan, np.inf, -np.inf)
STEP = 1e-4


@dataclass
class Reads:
    """The unread and flat elements of a function, determined once on the host for all programs that compute it.

    One of these programs may work in place or on another device. If it reads an element that is unread in this table,
    inf or nan in the element changes the result of the program, so a check fails.

    Attributes:
        unread: for every input, a table with a row for each result element and a column for each input element: True if
            the result element does not read the input element.
        flat: for every input, the same kind of table: True if small steps of the input element do not change the result
            element.
    """

    unread: list[np.ndarray] | None = None
    flat: list[np.ndarray] | None = None


@dataclass(frozen=True)
class Program:
    """``run(*tensors)`` on the numbers of ``arrays``.

    Attributes:
        flat_by_chance: True if the result may be flat because a factor is 0 by chance, as in ``0 * x``. An incoming
            gradient of inf times this 0 is rightly nan, so flat elements are not checked.
        composed: True if the function multiplies products. Backward may then multiply a gradient of 0 by a factor of
            inf, which is rightly nan, so unread numbers are not replaced by inf and nan.
        reads: the unread and flat elements. Programs that compute the same from the same numbers share this object.
    """

    name: str
    run: Run
    arrays: tuple[np.ndarray, ...]
    flat_by_chance: bool = False
    composed: bool = False
    reads: Reads = field(default_factory=Reads, compare=False, repr=False)

    def __str__(self) -> str:
        return self.name

    def result(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """Return the numbers of the result, computed without a history."""
        mt.seed(0)
        with mt.no_grad(), warnings_as_errors():
            return self.run(*(mt.to_tensor(a) for a in arrays)).numpy()


@contextmanager
def warnings_as_errors() -> Iterator[None]:
    """Make every warning inside the block an error, because no program may print numpy's warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def changes(program: Program, others: Callable[[float], Sequence[float]]) -> list[np.ndarray]:
    """Return for every input a table of bools with a row for each result element and a column for each input element.

    An entry is True if the result element changes when one of the numbers ``others(old)`` replaces the number ``old``
    of the input element.

    The program runs a second time with slightly different numbers, so that no element counts as unread because another
    number is 0 by chance.
    """
    tables = [np.zeros((program.result(program.arrays).size, a.size), bool) for a in program.arrays]
    for nearby in (0.0, STEP):
        arrays = [np.asarray(a + nearby * weights(a.shape)) for a in program.arrays]
        base = program.result(arrays)
        for table, array in zip(tables, arrays, strict=True):
            for e, index in enumerate(np.ndindex(array.shape)):
                old = array[index]
                for array[index] in others(float(old)):
                    after = program.result(arrays)
                    table[:, e] |= ~((after == base) | (np.isnan(after) & np.isnan(base))).ravel()
                array[index] = old
    return tables


def unread(program: Program) -> list[np.ndarray]:
    """Return the tables ``Reads.unread`` of a program, which are computed once."""
    if program.reads.unread is None:
        with on_the_host():
            found = changes(program, lambda old: (*NOT_FINITE, old + 1.7, old - 2.3, -old, 0.0))
        program.reads.unread = [~table for table in found]
    return program.reads.unread


def flat(program: Program) -> list[np.ndarray]:
    """Return the tables ``Reads.flat`` of a program, which are computed once."""
    if program.reads.flat is None:
        with on_the_host():
            found = changes(program, lambda old: (old + STEP, old - STEP))
        program.reads.flat = [~table for table in found]
    return program.reads.flat


@dataclass
class Gradients:
    """Gradients of the first and of the second order, one per input.

    Attributes:
        first: the first gradients, computed by ``backward``.
        recorded: the first gradients again, computed with ``create_graph``.
        second: the gradients of the weighted sum of ``recorded`` with respect to the inputs.
        second_g: the gradient of this sum with respect to the incoming gradient ``g``.
    """

    first: list[np.ndarray]
    recorded: list[np.ndarray]
    second: list[np.ndarray]
    second_g: np.ndarray


def gradients(program: Program, arrays: Sequence[np.ndarray], g: np.ndarray, v: Sequence[np.ndarray]) -> Gradients:
    """Return the first gradients for the incoming gradient ``g``, and the second ones for the weights ``v``."""
    with warnings_as_errors():
        mt.seed(0)
        leaves = [mt.to_tensor(a, stop_gradient=False) for a in arrays]
        program.run(*leaves).backward(mt.to_tensor(g))
        first = [number(leaf.grad, leaf) for leaf in leaves]
        mt.seed(0)
        leaves = [mt.to_tensor(a, stop_gradient=False) for a in arrays]
        incoming = mt.to_tensor(g, stop_gradient=False)
        result = program.run(*leaves)
        recorded = mt.grad(result, leaves, incoming, create_graph=True, allow_unused=True)
        pairs = [
            (x, mt.to_tensor(w)) for x, w in zip(recorded, v, strict=True) if x is not None and not x.stop_gradient
        ]
        second = [None] * (len(leaves) + 1)
        if pairs:
            outputs, weights = zip(*pairs, strict=True)
            second = mt.grad(list(outputs), [*leaves, incoming], list(weights), allow_unused=True)
        return Gradients(
            first,
            [number(x, leaf) for x, leaf in zip(recorded, leaves, strict=True)],
            [number(x, leaf) for x, leaf in zip(second[:-1], leaves, strict=True)],
            number(second[-1], incoming),
        )


def number(gradient: mt.Tensor | None, of: mt.Tensor) -> np.ndarray:
    """Return the numbers of a gradient, or zeros if there is none."""
    return np.zeros(of.shape) if gradient is None else gradient.numpy()


def equal(got: np.ndarray, want: np.ndarray, where: np.ndarray, what: str) -> None:
    """Assert that ``got`` is finite at ``where``, and equals ``want`` there up to rounding."""
    got, want = got.ravel()[where], want.ravel()[where]
    assert np.isfinite(got).all(), f"{what}: {got}"
    if np.array_equal(got, want):
        return  # most arrays are equal, and the comparison of elements takes long
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12, err_msg=what)


def check(program: Program) -> None:
    """Check a program against every statement in the docstring of this module."""
    arrays = program.arrays
    shape = program.result(arrays).shape
    size = int(np.prod(shape, dtype=int))
    ignored = unread(program)
    zero = ignored if program.flat_by_chance else [u | f for u, f in zip(ignored, flat(program), strict=True)]
    g = weights(shape)
    ones = [weights(a.shape) for a in arrays]
    want = gradients(program, arrays, g, ones)
    for k in range(len(arrays)):
        nowhere = zero[k].all(axis=0)
        for kind in ("first", "recorded", "second"):
            equal(getattr(want, kind)[k], np.zeros(arrays[k].shape), nowhere, f"{kind} order, input {k}, finite")

    # Every element of the incoming gradient is inf or nan at first, and then only one (the first, the last, ...).
    for poison in NOT_FINITE:
        got = gradients(program, arrays, np.full(shape, poison), ones)
        for k in range(len(arrays)):
            for kind in ("first", "recorded", "second"):
                what = f"{kind} order, input {k}, incoming gradient {poison}"
                equal(getattr(got, kind)[k], np.zeros(arrays[k].shape), zero[k].all(axis=0), what)
    for turn, r in enumerate(sorted({0, size // 3, size // 2, size - 1} & set(range(size)))):
        poison = NOT_FINITE[turn % 3]
        poisoned = np.array(g)
        poisoned[np.unravel_index(r, shape)] = poison
        got = gradients(program, arrays, poisoned, ones)
        for k in range(len(arrays)):
            for kind in ("first", "recorded", "second"):
                what = f"{kind} order, input {k}, incoming gradient {poison} at {r}"
                equal(getattr(got, kind)[k], getattr(want, kind)[k], zero[k][r], what)

    if program.composed:
        return
    # Replace the numbers that no element of the result reads, and the weights of the gradients that must be 0.
    unread_by_all = [table.all(axis=0).reshape(a.shape) for table, a in zip(ignored, arrays, strict=True)]
    for poison in NOT_FINITE:
        moved = [np.where(dead, poison, a) for dead, a in zip(unread_by_all, arrays, strict=True)]
        v = [np.where(table.all(axis=0).reshape(w.shape), poison, w) for table, w in zip(zero, ones, strict=True)]
        got = gradients(program, moved, g, v)
        np.testing.assert_array_equal(program.result(moved), program.result(arrays))
        for kind in ("first", "recorded", "second"):
            for k, (had, has) in enumerate(zip(getattr(want, kind), getattr(got, kind), strict=True)):
                equal(has, had, np.full(had.size, True), f"{kind} order, input {k}, {poison} in unread numbers")
        equal(got.second_g, want.second_g, np.full(size, True), f"second order, g, {poison} in unread numbers")
