"""Test first and second derivatives of every operation of the table, normal and in place.

The first derivatives are compared with finite differences of a reference in plain numpy, and the second derivatives
with finite differences of the first derivatives. Second derivatives are tested for the inputs and for the gradient from
which backward begins. ``pytest -s`` prints the largest errors of each operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Protocol

import numpy as np
import pytest

import minitensor as mt
from minitensor import torch
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.table import ROWS, Row
from minitensor.torch.tensor import as_torch
from tests.support.engine import samples_functions, samples_indexed
from tests.support.engine.differences import leaf_like, on_the_host, slopes, weights
from tests.support.engine.samples import ANY, SAMPLES, Sample

#: Operations that fill their target with random numbers, and the arguments of their calls.
RANDOM = {name: {} for name, row in ROWS.items() if row.forward.__module__ == "minitensor.engine.kernels.random"}
RANDOM.update({"geometric": {"probs": 0.5}} if "geometric" in RANDOM else {})
assert samples_functions  # imported because it registers samples
#: The allowed error of finite differences with a step of 1e-6: relative, or absolute for numbers below 1.
TOLERANCE = 1e-5

FORMS = [
    pytest.param(name, form, id=f"{name}{'_' if form == 'in place' else ''}")
    for name, row in sorted(ROWS.items())
    for form, exists in (("normal", row.normal), ("in place", row.in_place))
    if exists and (row.rules_in_place if form == "in place" else row.rules)
]


@pytest.fixture(scope="module")
def lines() -> Iterator[dict[str, str]]:
    """Collect one line per operation, and print them at the end."""
    found: dict[str, str] = {}
    yield found
    print(f"\n{'operation':24} {'samples':>7} {'elements':>8}  {'first order':>11}  {'second order':>12}")
    for name in sorted(found):
        print(f"{name:24} {found[name]}")
    plain = [name for name, row in ROWS.items() if not row.rules and not row.rules_in_place]
    print(f"{len(found)} checked; without a gradient: {', '.join(sorted(plain)) or 'none'}")


class Case(Protocol):
    """A call of an operation, as a function of the arrays that require a gradient."""

    arrays: list[np.ndarray]

    def run(self, leaves: list[mt.Tensor]) -> mt.Tensor:
        """Return the result for these leaves. An in-place operation overwrites a copy of its target."""

    def reference(self, *moved: np.ndarray) -> np.ndarray:
        """Return the expected result, computed with plain numpy."""


class RowCase:
    """A case that is made from a sample. The arrays of the sample are the operands of the row."""

    def __init__(self, row: Row, in_place: bool, given: Sample) -> None:
        self.row, self.in_place, self.given = row, in_place, given
        self.target = row.operands.index(row.target)
        self.function = FUNCTIONS[row.name + "_" if in_place else row.name]
        rules = row.rules_in_place if in_place else row.rules
        self.places = [
            k
            for k, (operand, array) in enumerate(zip(row.operands, given.arrays, strict=False))
            if array.dtype.kind == "f" and (operand in rules or (in_place and k == self.target))
            if not rules.get(operand, "").startswith("no_slope")  # operands whose gradient is refused
        ]
        self.arrays = [given.arrays[k] for k in self.places]

    def __str__(self) -> str:
        return str(self.given)

    def run(self, leaves: list[mt.Tensor]) -> mt.Tensor:
        operands = [mt.to_tensor(array) for array in self.given.arrays]
        for k, each in zip(self.places, leaves, strict=True):
            operands[k] = each
        if self.in_place:
            operands[self.target] = operands[self.target] * 1
        return self.function(*operands, **self.given.arguments)

    def reference(self, *moved: np.ndarray) -> np.ndarray:
        arrays = list(self.given.arrays)
        for k, each in zip(self.places, moved, strict=True):
            arrays[k] = each
        return np.asarray(self.given.reference(*arrays), np.float64)

    def writes_a_float(self) -> bool:
        """True if the target is a floating array, even if the operation refuses to compute its gradient."""
        refused = self.row.rules.get(self.row.target, "").startswith("no_slope")
        return self.target in self.places or (refused and self.given.arrays[self.target].dtype.kind == "f")

    def fits(self) -> bool:
        """True if the result has the shape of the target, as the result of an in-place operation must."""
        return self.reference(*self.arrays).shape == self.given.arrays[self.target].shape


class IndexedCase:
    """A case whose ``given`` calls the operation itself. An in-place operation overwrites the first array."""

    def __init__(self, given: samples_indexed.Case, in_place: bool) -> None:
        self.given, self.in_place, self.arrays = given, in_place, list(given.arrays)

    def __str__(self) -> str:
        return str(self.given)

    def run(self, leaves: list[mt.Tensor]) -> mt.Tensor:
        first, *others = leaves
        return self.given.run(first * 1 if self.in_place else first, *others, in_place=self.in_place)

    def reference(self, *moved: np.ndarray) -> np.ndarray:
        return np.asarray(self.given.reference(*moved), np.float64)


def cases(name: str, form: str) -> list[Case]:
    """Return every case of the operation."""
    row, in_place = ROWS[name], form == "in place"
    samples = [given for given in SAMPLES if given.name == name]
    if name in RANDOM:
        samples = [Sample(name, (np.abs(ANY),), np.zeros_like, RANDOM[name])]
    made = [RowCase(row, in_place, given) for given in samples]
    if in_place:
        made = [case for case in made if case.fits() and case.writes_a_float()]
    return [
        *(case for case in made if case.arrays),
        *(IndexedCase(given, in_place) for given in samples_indexed.CASES if given.name == name),
    ]


def gradients(case: Case, arrays: list[np.ndarray], start: np.ndarray) -> list[np.ndarray]:
    """Return the gradients if backward begins with the gradient ``start``."""
    leaves = [leaf_like(array) for array in arrays]
    found = mt.grad(case.run(leaves), leaves, mt.to_tensor(start), allow_unused=True)
    return [np.zeros(a.shape) if g is None else g.numpy() for a, g in zip(arrays, found, strict=True)]


def second_gradients(case: Case, start: np.ndarray, inner: list[np.ndarray]) -> list[np.ndarray]:
    """Weight the first gradients by ``inner``, and return the gradients of their sum for the inputs and ``start``."""
    leaves, begin = [leaf_like(array) for array in case.arrays], leaf_like(start)
    first = mt.grad(case.run(leaves), leaves, begin, allow_unused=True, create_graph=True)
    wanted = [(g, mt.to_tensor(w)) for g, w in zip(first, inner, strict=True) if g is not None and not g.stop_gradient]
    sources = [*leaves, begin]
    if not wanted:
        return [np.zeros(x.shape) for x in sources]
    found = mt.grad([g for g, _ in wanted], sources, [w for _, w in wanted], allow_unused=True)
    return [np.zeros(x.shape) if g is None else g.numpy() for x, g in zip(sources, found, strict=True)]


def error(got: list[np.ndarray], want: list[np.ndarray]) -> tuple[float, int]:
    """Return the largest relative error and the number of compared elements, which are those with a finite ``want``."""
    largest, count = 0.0, 0
    for a, b in zip(got, want, strict=True):
        assert a.shape == b.shape
        finite = np.isfinite(b)
        off = np.abs(a[finite] - b[finite]) / np.maximum(1, np.abs(b[finite]))
        largest = max(largest, float(np.max(np.where(np.isnan(off), np.inf, off), initial=0.0)))
        count += int(finite.sum())
    return largest, count


@cache
def expected(name: str, form: str, number: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return finite differences for the first and second derivatives of a case, computed once on the host."""
    with on_the_host():
        case = cases(name, form)[number]
        start, inner = starts(case)

        def weighted(*moved: np.ndarray) -> float:
            return float((case.reference(*moved) * start).sum())

        def total(*moved: np.ndarray) -> float:
            found = gradients(case, list(moved[:-1]), moved[-1])
            return float(sum((g * w).sum() for g, w in zip(found, inner, strict=True)))

        return differences(weighted, case.arrays), differences(total, [*case.arrays, start])


def starts(case: Case) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the gradient from which backward begins, and weights for the gradients that it returns."""
    start = np.asarray(weights(case.reference(*case.arrays).shape))
    return start, [np.asarray(weights(a.shape) * 0.5 + 0.2) for a in case.arrays]


def differences(function: Callable[..., np.ndarray], arrays: list[np.ndarray]) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        return slopes(function, arrays)


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_first_and_second_derivatives_equal_finite_differences(name: str, form: str, lines: dict[str, str]) -> None:
    tried = cases(name, form)
    if not tried:
        pytest.importorskip("scipy")  # without it the special functions have no samples
    assert tried, f"no sample of {name} has a floating operand that requires a gradient"
    worst, elements = [0.0, 0.0], 0
    for number, case in enumerate(tried):
        start, inner = starts(case)
        by_differences = expected(name, form, number)
        first, count = error(gradients(case, case.arrays, start), by_differences[0])
        assert first < TOLERANCE, f"first order of {case}: {first:.2g}"
        second, _ = error(second_gradients(case, start, inner), by_differences[1])
        assert second < TOLERANCE, f"second order of {case}: {second:.2g}"
        worst, elements = [max(worst[0], first), max(worst[1], second)], elements + count
    lines[name + ("_" if form == "in place" else "")] = (
        f"{len(tried):7} {elements:8}  {worst[0]:11.1e}  {worst[1]:12.1e}"
    )


#: Pairs of dtypes. The inputs of one call alternate between the two dtypes of a pair.
MIXED = [("float64", "float32"), ("float32", "float64"), ("float16", "float32"), ("float32", "float16")]


@pytest.mark.parametrize("kind", [mt.Tensor, torch.Tensor], ids=["paddle", "torch"])
@pytest.mark.parametrize(("name", "form"), FORMS)
def test_each_gradient_has_the_dtype_of_its_input_if_the_inputs_have_two_dtypes(
    name: str, form: str, kind: type[mt.Tensor]
) -> None:
    for case in cases(name, form):
        for dtypes in MIXED:
            leaves = [
                mt.to_tensor(array, dtype=dtypes[k % 2], stop_gradient=False) for k, array in enumerate(case.arrays)
            ]
            try:
                result = case.run(leaves if kind is mt.Tensor else [as_torch(x) for x in leaves])
            except (TypeError, ValueError, RuntimeError):
                continue  # the operation refuses these dtypes
            if result.stop_gradient:
                continue
            for create_graph in (False, True):
                found = mt.grad(result, leaves, create_graph=create_graph, retain_graph=True, allow_unused=True)
                got = [None if g is None else g.dtype.name for g in found]
                assert got == [None if g is None else x.dtype.name for x, g in zip(leaves, found, strict=True)], case


def test_a_wrong_rule_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted rule has the right first derivative and treats its input as a constant in the second."""
    case = cases("sin", "normal")[0]
    start = weights(case.reference(*case.arrays).shape)
    right = second_gradients(case, start, [np.ones(a.shape) for a in case.arrays])
    operation = FUNCTIONS["sin"](leaf_like(case.arrays[0])).grad_fn.op
    monkeypatch.setattr(
        operation, "_on_tensors", lambda node, g: (g * mt.cos(mt.Tensor._made(node.saved[0][0].copy())),)
    )
    wrong = second_gradients(case, start, [np.ones(a.shape) for a in case.arrays])
    assert error(wrong, right)[0] > 0.1
