"""Test that algorithms for large arrays return the same numbers as numpy or as the algorithms for small arrays."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import minitensor as mt
from minitensor.engine.kernels import activations, indexed
from minitensor.engine.operations.rules import on_arrays
from minitensor.nn import functional as F

RNG = np.random.default_rng(0)
FLOATS = (np.float32, np.float64)


def numbers(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """Return random numbers. The first five are special, such as nan, and a selection must copy them unchanged."""
    made = RNG.normal(size=shape).astype(dtype)
    made.flat[:5] = [np.nan, np.inf, -np.inf, -0.0, 1e-40]
    return made


def bits(a: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(a).view(f"u{a.itemsize}")


LAYOUTS = {
    "rows": lambda a: a,
    "columns": lambda a: a.T,
    "reversed": lambda a: a[::-1, ::-1],
    "every other column": lambda a: a[:, ::2],
    "one row repeated": lambda a: np.broadcast_to(a[:1], a.shape),
}


@pytest.mark.cpu_only
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_function_where_computed_with_bit_operations_equals_numpys_where(dtype, layout, monkeypatch):
    monkeypatch.setattr(on_arrays, "BITS_FROM", 1)
    a, b = (LAYOUTS[layout](numbers((8, 12), dtype)) for _ in range(2))
    # Other libraries may store True as any nonzero byte.
    for bytes_ in ([0, 1], [0, 1, 2, 255]):
        marks = LAYOUTS[layout](RNG.choice(bytes_, (8, 12)).astype(np.uint8).view(np.bool_))
        for first, second in ((a, 0), (0, a), (a, b), (a, 0.5)):
            found, wanted = on_arrays.where(marks, first, second), np.where(marks, first, second)
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(bits(found), bits(wanted))


@pytest.mark.cpu_only
def test_the_function_where_is_right_for_operands_that_bit_operations_cannot_handle(monkeypatch):
    monkeypatch.setattr(on_arrays, "BITS_FROM", 1)
    a, marks = numbers((3, 4), np.float32)[1:], np.array([True, False, True, True])
    for mark, first, second in ((marks, a, 0), (marks[:1], a, 0), (marks.astype(np.int64), a, 0), (marks, a > 0, 0)):
        np.testing.assert_array_equal(on_arrays.where(mark, first, second), np.where(mark, first, second))


def loss_and_gradient(settings: dict[str, object], shape: tuple[int, ...]) -> list[np.ndarray]:
    axis = int(settings.get("axis", -1)) % len(shape)
    x = mt.to_tensor(np.random.default_rng(1).normal(size=shape), stop_gradient=False)
    if settings.get("soft_label"):
        label = F.softmax(mt.to_tensor(np.random.default_rng(2).normal(size=shape)), axis)
    else:
        classes = np.random.default_rng(2).integers(0, shape[axis], [n for d, n in enumerate(shape) if d != axis])
        label = mt.to_tensor(np.where(classes == 1, -100, classes))
    loss = F.cross_entropy(x, label, reduction="none", **settings)
    (loss * mt.arange(loss.size, dtype="float64").reshape(loss.shape)).sum().backward()
    return [loss.numpy(), x.grad.numpy()]


@pytest.mark.parametrize("settings", [{}, {"soft_label": True}, {"axis": 1}, {"axis": 0}], ids=str)
def test_cross_entropy_computed_in_blocks_equals_that_of_the_whole_array(settings, monkeypatch):
    shape = (7, 4, 3) if "axis" in settings else (7, 4)
    at_once = loss_and_gradient(settings, shape)
    monkeypatch.setattr(activations, "BLOCK", 2 * 8 * int(np.prod(shape[1:])))  # two rows at a time, then one
    for once, parts in zip(at_once, loss_and_gradient(settings, shape), strict=True):
        np.testing.assert_array_equal(once, parts)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("in_place", [False, True])
def test_softmax_computed_in_blocks_equals_that_of_the_whole_array(axis, in_place, monkeypatch):
    def run() -> list[np.ndarray]:
        w = mt.to_tensor(np.random.default_rng(1).normal(size=(7, 4, 3)), stop_gradient=False)
        y = F.softmax_(w * 1.0, axis) if in_place else F.softmax(w, axis)
        (y * y).sum().backward()
        return [y.numpy(), w.grad.numpy()]

    at_once = run()
    monkeypatch.setattr(activations, "BLOCK", 2 * 8 * 12)
    for once, parts in zip(at_once, run(), strict=True):
        np.testing.assert_array_equal(once, parts)


VIEWS = {
    "rows": lambda a: a,
    "permuted dimensions": lambda a: a.transpose(2, 0, 1),
    "reversed": lambda a: a[::-1],
    "every other": lambda a: a[..., ::2],
}


@pytest.mark.cpu_only
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("view", VIEWS)
def test_indexed_addition_by_positions_in_memory_equals_numpys_add_at(depth, view, monkeypatch):
    monkeypatch.setattr(indexed, "ADDED_FROM", 0)
    monkeypatch.setattr(indexed, "ADDED", 5)
    found = RNG.normal(size=(4, 5, 6)).astype(np.float32)
    wanted = found.copy()
    shown, target = VIEWS[view](found), VIEWS[view](wanted)
    index = tuple(RNG.integers(0, n, 9) for n in shown.shape[:depth])
    values = RNG.normal(size=(9, *shown.shape[depth:])).astype(np.float32)
    indexed.added_at(shown, index, values)
    np.add.at(target, index, values)
    np.testing.assert_array_equal(found, wanted)


def test_a_row_that_is_selected_several_times_gets_the_sum_of_the_gradients():
    w = mt.zeros([50, 256])
    w.stop_gradient = False
    index = RNG.integers(-50, 50, 300)
    weights = RNG.integers(0, 8, (300, 256)).astype("float32")  # sums of these are exact
    (mt.index_select(w, mt.to_tensor(index), 0) * mt.to_tensor(weights)).sum().backward()
    one_hot = (np.arange(50)[:, None] == index % 50).astype("float32")
    np.testing.assert_array_equal(w.grad.numpy(), one_hot @ weights)


@pytest.mark.parametrize("axis", [None, 0, 1, [0, 1]])
@pytest.mark.parametrize("keepdim", [False, True])
def test_equal_largest_elements_of_a_large_array_share_the_gradient(axis, keepdim):
    values = np.random.default_rng(3).integers(0, 3, (64, 80)).astype("float32")
    over = tuple(axis) if isinstance(axis, list) else axis
    x = mt.to_tensor(values, stop_gradient=False)
    x.max(axis, keepdim).sum().backward()
    at = values == values.max(axis=over, keepdims=True)
    np.testing.assert_array_equal(x.grad.numpy(), at / at.sum(axis=over, keepdims=True).astype("float32"))


@pytest.mark.cpu_only
def test_reductions_of_inf_and_nan_print_no_warning():
    program = "import minitensor as mt; x = mt.to_tensor([3e38, 3e38, float('inf'), -float('inf')]); y = x[:2]; "
    program += "print(*(float(f) for f in (y.sum(), y.mean(), y.prod(), x.sum(), x[:0].mean())))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (ran.stdout.split(), ran.stderr) == (["inf", "inf", "inf", "nan", "nan"], "")
