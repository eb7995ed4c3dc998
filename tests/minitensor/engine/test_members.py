"""Test groups (a base with its views): groups of a leaf, and of a base whose memory is reversed or in column order."""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from tests.support.engine.differences import leaf

IN_PLACE_SHAPES = {
    "reshape_": lambda x: x.reshape_([4]),
    "transpose_": lambda x: x.transpose_([1, 0]),
    "t_": lambda x: x.t_(),
    "flatten_": lambda x: x.flatten_(),
    "unsqueeze_": lambda x: x.unsqueeze_(0),
    "squeeze_": lambda x: x.squeeze_(),
}


@pytest.mark.parametrize("name", IN_PLACE_SHAPES)
@pytest.mark.parametrize("look", [lambda w: w, lambda w: w[0:2]], ids=["leaf", "view"])
def test_in_grad_mode_a_leaf_or_its_view_cannot_change_shape_in_place(name: str, look):
    w = leaf([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(ValueError, match=rf"can't use inplace strategy(.|\n)*`{name}`"):
        IN_PLACE_SHAPES[name](look(w))
    assert w.shape == [2, 2] and w.strides == [2, 1] and w.is_leaf


def test_set_value_refuses_a_view_of_a_leaf():
    w = leaf([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="can't use inplace strategy"):
        w[0:2].set_value(np.array([9.0, 9.0]))
    assert w.tolist() == [1.0, 2.0, 3.0] and w.inplace_version == 0 and w.is_leaf


def test_a_leaf_frozen_and_unfrozen_between_forward_and_backward_gets_its_gradient():
    w = leaf([1.0, 2.0])
    y = w * 2.0
    w.stop_gradient = True
    assert (w * 3.0).stop_gradient
    w.stop_gradient = False
    y.backward()
    assert w.grad.tolist() == [2.0, 2.0]


def test_a_view_does_not_retain_the_gradient_of_a_value_overwritten_through_its_base():
    w = leaf([1.0, 2.0, 3.0])
    x = w * 1.0
    part = x[0:2]
    part.retain_grads()
    before = part * 5.0
    x.scale_(2.0)
    before.backward(retain_graph=True)
    assert part.grad is None and w.grad.tolist() == [5.0, 5.0, 0.0]
    (part * 3.0).backward()
    assert part.grad.tolist() == [3.0, 3.0] and w.grad.tolist() == [11.0, 11.0, 0.0]


@pytest.mark.parametrize("through", [slice(0, 4), slice(0, 3)], ids=["all of it", "a part of it"])
def test_a_write_to_a_part_of_a_base_with_negative_strides_is_recorded(through: slice):
    x = mt.zeros([4], "float64")
    backwards = x[::-1].detach()  # the base of a group with negative strides
    value = leaf([5.0, 6.0])
    backwards[through][1:3] = value
    part = backwards[2:]
    assert x.tolist() == [0.0, 6.0, 5.0, 0.0] and part.tolist() == [6.0, 0.0]
    (backwards * mt.to_tensor([1.0, 10.0, 100.0, 1000.0], "float64")).backward(retain_graph=True)
    assert value.grad.tolist() == [10.0, 100.0]
    (part * part).backward()
    assert value.grad.tolist() == [10.0, 112.0]


def test_second_derivatives_through_a_view_of_a_base_in_column_order_are_right():
    w = leaf([[1.0, 2.0], [3.0, 4.0]])
    x = (w * 1.0).t_()  # x is in column order, and the results of operations on x are in row order
    assert x.strides == [1, 2]
    row = x[0]
    x.scale_(2.0)  # row now shows its part of the new value
    (first,) = mt.grad(row**3, [w], create_graph=True)
    (second,) = mt.grad(first, [w], [mt.to_tensor([[1.0, 10.0], [100.0, 1000.0]], "float64")])
    assert first.tolist() == [[24 * 1.0, 0.0], [24 * 9.0, 0.0]]  # the gradient of 8 w ** 3
    assert second.tolist() == [[48.0, 0.0], [144.0 * 100.0, 0.0]]
