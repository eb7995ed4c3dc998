"""Test that difficult programs that write through aliases have the right gradient or are refused.

The gradients of programs with `detach` or `no_grad` were computed by hand, because central differences do not apply to
them.
"""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from tests.support.engine import programs_lives, programs_memory  # noqa: F401  to fill RIGHT and REFUSABLE
from tests.support.engine.differences import leaf
from tests.support.engine.memory import allocated
from tests.support.engine.programs import REFUSABLE, RIGHT, Program, expect_right, leaves_of, run


@pytest.mark.parametrize("program", RIGHT, ids=lambda p: p.__name__)
def test_the_gradient_is_right(program: Program):
    expect_right(program)


@pytest.mark.parametrize("program", REFUSABLE, ids=lambda p: p.__name__)
def test_the_gradient_is_right_or_refused(program: Program):
    try:
        expect_right(program)
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error)


@pytest.mark.parametrize("program", RIGHT, ids=lambda p: p.__name__)
def test_every_byte_is_freed(program: Program, no_collector):
    before = allocated()
    given, result = run(program, *leaves_of(program))
    result.sum().backward()
    del given, result
    assert allocated() == before


# ---------- gradients computed by hand: detach, no_grad, stop_gradient ----------


def test_a_write_through_a_detached_alias_changes_values_but_is_not_recorded():
    w = leaf([1.0, 2.0])
    x = w * 3
    x.detach().fill_(10.0)
    assert x.tolist() == [10, 10]
    (x * x).sum().backward()
    assert w.grad.tolist() == [60, 60]  # 2x * 3, with the current x


def test_adding_a_leaf_to_a_detached_alias_is_recorded_for_the_alias_only():
    w, u = leaf([1.0, 2.0]), leaf([5.0, 6.0])
    x = w * 1
    alias = x.detach()
    alias.add_(u)
    assert x.tolist() == [6, 8] and not alias.stop_gradient
    (x.sum() + 10 * alias.sum()).backward()
    assert w.grad.tolist() == [1, 1] and u.grad.tolist() == [10, 10]


def test_histories_of_two_alias_groups_on_one_storage_do_not_mix():
    w, u = leaf([1.0, 2.0, 3.0]), leaf([4.0, 5.0, 6.0])
    x = w * 1
    alias = x.detach()[::-1]
    alias.multiply_(u)
    view = x[0:2]
    view.scale_(2.0)
    (alias * 100 + x).sum().backward()
    assert w.grad.tolist() == [2, 2, 1]
    assert u.grad.tolist() == [300, 200, 100]


def test_writes_under_no_grad_change_values_but_are_not_recorded():
    w = leaf([1.0, 2.0, 3.0, 4.0])
    x = w * 1
    view = x[0:2]
    with mt.no_grad():
        view.set_value(np.array([7.0, 7.0]))
        x[3] = 9.0
    (x * x).sum().backward()
    assert w.grad.tolist() == [14, 14, 6, 18]


def test_a_write_to_a_view_made_under_no_grad_is_recorded_for_its_constant_base():
    x, w = mt.zeros([4], "float64"), leaf([1.0, 2.0])
    with mt.no_grad():
        view = x[2:4]
    view.add_(w)
    assert not x.stop_gradient
    (x * x).sum().backward()
    assert w.grad.tolist() == [2, 4]


def test_a_leaf_frozen_and_unfrozen_between_forward_and_backward_gets_its_gradient():
    w = leaf([1.0, 2.0])
    y = (w * w).sum()
    w.stop_gradient = True
    w.stop_gradient = False
    y.backward()
    assert w.grad is not None and w.grad.tolist() == [2, 4]


def test_a_frozen_leaf_keeps_its_gradient():
    w = leaf([1.0, 2.0])
    (w * 3).sum().backward()
    w.stop_gradient = True
    assert (w * 2).stop_gradient
    w.stop_gradient = False
    assert w.grad.tolist() == [3, 3]


def test_a_gradient_can_be_written_in_place_like_any_tensor():
    w = leaf([1.0, 2.0])
    (w * w).sum().backward()
    w.grad.add_(w.grad)
    w.grad[0:1].fill_(9.0)
    (w * w).sum().backward()
    assert w.grad.tolist() == [11, 12]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_a_diagonal_is_negated_in_place_cell_by_cell(n: int, dtype: str):
    """numpy 2.4.6's own `np.negative(d, d)` reads the wrong cells of a float32 diagonal of 3x3."""
    x = mt.arange(1, n * n + 1).astype(dtype).reshape([n, n])
    x.diagonal().neg_()
    assert x.diagonal().tolist() == [-(i * (n + 1) + 1) for i in range(n)]
    assert x.tolist()[0][1:] == list(range(2, n + 1))
