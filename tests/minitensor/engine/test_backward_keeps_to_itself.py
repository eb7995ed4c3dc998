"""Test that gradients of backward share no memory and are freed after their last use, and test ``create_graph``."""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from tests.support.engine.differences import leaf
from tests.support.engine.memory import allocated, peak, reset_peak


@pytest.mark.parametrize("turn", [False, True])
def test_a_backward_that_fails_stores_no_gradient_in_any_leaf(turn: bool):
    v, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    middle = w * 1.0
    stale = middle * middle
    middle.fill_(0.0)
    result = v * 2.0 + stale if turn else stale + v * 2.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.backward()
    assert v.grad is None and w.grad is None


def test_backward_does_not_write_the_initial_gradient():
    w = leaf([1.0, 2.0])
    y = w * 3.0
    given = mt.to_tensor([10.0, 20.0], "float64")
    (found,) = mt.grad([y, y * 2.0], [w], [given, None])  # y receives two gradients, which are added
    assert found.tolist() == [36.0, 66.0]
    assert given.tolist() == [10.0, 20.0] and given.inplace_version == 0


def test_backward_frees_each_intermediate_gradient_after_its_last_use():
    w = mt.ones([1024], "float64")
    w.stop_gradient = False
    x = w
    for _ in range(20):
        x = -x
    base = allocated()
    reset_peak()
    x.backward()
    assert peak() - base <= 3 * 8192


def test_two_leaves_do_not_share_one_gradient():
    v, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    (v + w).backward()
    with mt.no_grad():
        v.grad.fill_(9.0)
    assert w.grad.tolist() == [1.0, 1.0]


def test_grad_returns_two_independent_gradients_for_an_input_given_twice():
    w = leaf([1.0, 2.0])
    first, second = mt.grad(w * 2.0, [w, w])
    first.fill_(9.0)
    assert second.tolist() == [2.0, 2.0]


def test_a_retained_gradient_and_the_gradient_of_a_leaf_share_no_memory():
    w = leaf([1.0, 2.0])
    y = w.clone()
    y.retain_grads()
    y.backward()
    y.grad.fill_(9.0)
    assert w.grad.tolist() == [1.0, 1.0]


def test_operands_of_an_in_place_product_get_gradients_of_their_own_dtypes():
    narrow = mt.to_tensor([1.0, 2.0], "float32", stop_gradient=False)
    wide = leaf([3.0, 4.0])
    x = narrow.clone()
    x.multiply_(wide)
    x.backward()
    assert narrow.grad.dtype == "float32" and wide.grad.dtype == "float64"
    assert narrow.grad.tolist() == [3.0, 4.0] and wide.grad.tolist() == [1.0, 2.0]


# ---------- create_graph ----------


def test_create_graph_records_inside_no_grad_and_restores_the_mode():
    w = leaf([2.0])
    y = w * w * w
    with mt.no_grad():
        (first,) = mt.grad(y, [w], create_graph=True)
        assert not mt.is_grad_enabled()
    (second,) = mt.grad(first, [w])
    assert second.tolist() == [12.0]


def test_hooks_see_and_change_the_gradient_under_create_graph():
    w = leaf([2.0])
    middle = w * w
    hook = middle.register_hook(lambda g: g * 10.0)
    (first,) = mt.grad(middle * middle, [w], create_graph=True)  # 10 times 4 w ** 3, because of the hook
    hook.remove()
    (second,) = mt.grad(first, [w])
    assert first.tolist() == [320.0] and second.tolist() == [480.0]


def third(function, values: list[float]) -> np.ndarray:
    """Return the third derivatives of the sum of ``function(w)``, one for each element of ``w``.

    Each element of ``function(w)`` must depend on only one element of ``w``.
    """
    w = leaf(values)
    found = function(w)
    for _ in range(3):
        (found,) = mt.grad(found.sum(), [w], create_graph=True)
    return found.numpy()


@pytest.mark.parametrize(
    ("function", "want"),
    [
        (lambda x: x[1:] ** 4, [0.0, 24 * 2.0, 24 * 3.0]),
        (lambda x: (x * x)[[2, 0, 2]] * x[[2, 0, 2]] * x[[2, 0, 2]], [24 * 1.0, 0.0, 2 * 24 * 3.0]),
        (lambda x: mt.concat([x[:1], x[2:]]) ** 4, [24 * 1.0, 0.0, 24 * 3.0]),
        (lambda x: x.reshape([3, 1]).t() ** 4, [24.0, 48.0, 72.0]),
        (lambda x: x.expand([2, 3]) ** 4, [48.0, 96.0, 144.0]),
    ],
    ids=["a part", "an index", "a join", "another shape", "repeated"],
)
def test_third_derivatives_of_operations_that_move_elements_are_right(function, want):
    np.testing.assert_allclose(third(function, [1.0, 2.0, 3.0]), want)


def test_third_derivatives_of_a_write_into_a_part_are_right():
    def written(x):
        y = x * 1.0
        y[1:].multiply_(x[1:])
        return y * y  # x ** 2 for the first element, and x ** 4 for the others

    np.testing.assert_allclose(third(written, [1.0, 2.0, 3.0]), [0.0, 48.0, 72.0])


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_second_backward_without_retain_graph_runs_if_nothing_was_saved(create_graph):
    x = mt.to_tensor([1.0, 2.0], stop_gradient=False)
    part = x.remainder(mt.to_tensor(1.5))  # the divisor requires no gradient, so nothing is saved
    both = [(part + 0.0).sum(), part.sum()]
    for total in both:
        (g,) = mt.grad([total], [x], create_graph=create_graph, retain_graph=False)
        assert g.tolist() == [1, 1]
