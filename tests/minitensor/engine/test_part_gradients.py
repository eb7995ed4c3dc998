"""Test gradients of parts of a tensor.

Backward adds them in place to the gradient of the whole tensor if nothing else refers to that gradient. The numbers
must not depend on the memory order of the whole or on other references to its gradient.
"""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from tests.support.engine.differences import leaf


def wholes() -> dict[str, object]:
    """Return functions that make a tensor of shape [3, 4] from a leaf, each with another memory order."""
    return {
        "rows": lambda w: w * 1.0,
        "columns": lambda w: mt.Tensor._made(w._array.T * 0.0).add_(w.t()),
        "a view of columns": lambda w: (w * 1.0).t(),
        "a part": lambda w: mt.concat([w, w], axis=0).scale(1.0)[3:6],
    }


SHAPES = {"rows": [3, 4], "columns": [4, 3], "a view of columns": [4, 3], "a part": [3, 4]}


def gradient(how: str, program, retained: bool) -> np.ndarray:
    w = leaf((np.arange(12.0) + 1).reshape(SHAPES[how]).tolist())
    h = wholes()[how](w)
    if retained:
        h.retain_grads()
    program(h).backward()
    return w.grad.numpy()


def reads(h: mt.Tensor) -> mt.Tensor:
    """Read three overlapping parts and the whole."""
    return (h[0] * 2.0).sum() + (h[0:2, 1] * 3.0).sum() + (h[:, 1:3] * h[:, 1:3]).sum() + (h * 5.0).sum()


def old_views(h: mt.Tensor) -> mt.Tensor:
    """Read views made before a write to their base; the views show the written values."""
    row, column, corner = h[1], h[:, 2], h[1:, 2:]
    h[0].multiply_(mt.full([h.shape[1]], 10.0, h.dtype))
    return (row * 2.0).sum() + (column * 3.0).sum() + (corner * corner).sum() + (h * h).sum()


def turned(h: mt.Tensor) -> mt.Tensor:
    """Read a view made before a write, and the transposed whole, so that a sum of gradients is in column order."""
    row = h[1]
    h[0].multiply_(mt.full([h.shape[1]], 10.0, h.dtype))
    weights = mt.arange(12, dtype=h.dtype).reshape(h.shape[::-1])
    return (row * 2.0).sum() + (h.t() * weights).sum() + (h.t() * (weights * weights)).sum()


def writes(h: mt.Tensor) -> mt.Tensor:
    """Multiply two parts, copy a row, and set a part to a constant."""
    h[0].multiply_(mt.full([h.shape[1]], 2.0, h.dtype))
    h[:, 1].scale_(3.0)
    h[2] = h[1] * 1.0
    h[1, 2:] = 7.0
    return (h * h).sum() + (h[0] * 4.0).sum()


def writes_of_parts(h: mt.Tensor) -> mt.Tensor:
    """Write through views of views, twice through the same view, and through a transposed view."""
    h[0:2][1].multiply_(mt.full([h.shape[1]], 2.0, h.dtype))
    h[1:][:, 1:][0].scale_(3.0)
    row, column = h[1], h[:, 2]
    row.scale_(2.0)
    row.scale_(5.0)
    column.scale_(4.0)
    h.t()[1][1:].scale_(7.0)
    h[1:][1] = h[0] * 1.0
    return (h * h).sum() + (h[1] * 4.0).sum() + (row * 3.0).sum()


def central_differences(program, numbers: np.ndarray) -> np.ndarray:
    """Return the gradient of the program by central differences, without recording a graph."""
    wanted = np.zeros_like(numbers)
    for at in np.ndindex(numbers.shape):
        for sign in (1, -1):
            moved = numbers.copy()
            moved[at] += sign * 0.5  # exact, because the programs are polynomials of degree 2
            with mt.no_grad():
                wanted[at] += sign * program(mt.to_tensor(moved)).item()
    return wanted


@pytest.mark.parametrize("retained", [False, True], ids=["the gradient is not retained", "the gradient is retained"])
@pytest.mark.parametrize("how", SHAPES)
@pytest.mark.parametrize("program", [reads, old_views, turned, writes, writes_of_parts], ids=lambda f: f.__name__)
def test_the_gradient_agrees_with_central_differences(program, how, retained):
    numbers = (np.arange(12.0) + 1).reshape(SHAPES[how])
    shown = numbers.T if SHAPES[how] == [4, 3] else numbers
    wanted = central_differences(program, shown)
    wanted = wanted.T if SHAPES[how] == [4, 3] else wanted
    got = gradient(how, program, retained)
    np.testing.assert_allclose(got, wanted, rtol=1e-12)


def test_backward_does_not_overwrite_a_retained_gradient():
    w = leaf([[1.0, 2.0], [3.0, 4.0]])
    h = w * 1.0
    h[0].scale_(5.0)
    h.retain_grads()
    (h * 1.0).sum().backward()
    assert h.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert w.grad.tolist() == [[5.0, 5.0], [1.0, 1.0]]


def test_grad_does_not_overwrite_the_gradient_of_an_intermediate_input():
    w = leaf([[1.0, 2.0], [3.0, 4.0]])
    h = w * 1.0
    h[0].scale_(5.0)
    for_h, for_w = mt.grad((h * 2.0).sum(), [h, w])
    assert for_h.tolist() == [[2.0, 2.0], [2.0, 2.0]] and for_w.tolist() == [[10.0, 10.0], [2.0, 2.0]]


class AddThree(mt.autograd.PyLayer):
    """A layer that adds three tensors. Its backward returns the incoming gradient for each."""

    @staticmethod
    def forward(ctx, x, y, z):
        return x + y + z

    @staticmethod
    def backward(ctx, g):
        return g, g, g


def test_a_gradient_that_a_layer_returns_for_three_inputs_is_not_added_to_in_place():
    w, other = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    x, y = w * 1.0, other * 1.0
    AddThree.apply(x, x, y).sum().backward()
    assert w.grad.tolist() == [2.0, 2.0] and other.grad.tolist() == [1.0, 1.0]


def test_backward_of_writes_to_rows_allocates_the_whole_gradient_at_most_twice(base: int):
    """In backward, each of the 64 writes to a row needs only the memory of one row."""
    w = mt.ones([64, 64])
    w.stop_gradient = False
    row = mt.full([64], 0.5)
    h = w * 1.0
    for i in range(64):
        h[i].multiply_(row)
    loss = h.sum()
    mt.device.cpu.reset_max_memory_allocated()
    held = mt.device.cpu.memory_allocated()
    if str(w.place) == "Place(cpu)":
        loss.backward()
        whole = 64 * 64 * 4
        assert mt.device.cpu.max_memory_allocated() - held <= 2 * whole + 10 * 64 * 4
        assert (w.grad.numpy() == 0.5).all()
