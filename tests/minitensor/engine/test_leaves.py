"""Test leaf tensors: which writes are allowed or refused, and which tensors are still leaves afterwards."""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from tests.support.engine.differences import leaf


def test_the_error_quotes_paddles_message_names_the_leaf_and_suggests_remedies():
    w = leaf([1.0, 2.0])
    w.name = "weight"
    with pytest.raises(ValueError) as raised:
        w.scale_(2.0)
    text = str(raised.value)
    # The first sentence is the message that was recorded from Paddle 2.6.2.
    assert text.startswith("Leaf Var (weight) that doesn't stop gradient can't use inplace strategy.")
    assert "`scale_`" in text and "Nothing was written" in text
    assert "no_grad()" in text and "detach()" in text and "normal operation" in text


def test_the_error_contains_the_generated_name_of_an_unnamed_leaf():
    w = leaf([1.0])
    with pytest.raises(ValueError) as raised:
        w.add_(1.0)
    assert f"Leaf Var ({w.name})" in str(raised.value)
    assert w.name.startswith("generated_tensor_") and w.name != leaf([1.0]).name


def test_a_leaf_that_requires_no_gradient_may_be_written():
    x = mt.to_tensor([1.0, 2.0])
    assert x.is_leaf and x.add_(1.0).is_leaf and x.tolist() == [2, 3]


def test_a_non_leaf_that_requires_a_gradient_may_be_written():
    w = leaf([1.0, 2.0])
    x = w * 1
    assert w.is_leaf and not x.is_leaf and w.grad_fn is None and x.grad_fn.name == "multiply"
    x.add_(1.0)
    assert w.tolist() == [1, 2]


@pytest.mark.parametrize(
    "look",
    [lambda w: w[0], lambda w: w[1:], lambda w: w.reshape([3, 1]), lambda w: w.unsqueeze(0)[0][::-1], lambda w: w.t()],
    ids=["index", "slice", "reshape", "views of views", "t"],
)
def test_a_write_through_a_view_of_a_leaf_is_refused(look):
    w = leaf([1.0, 2.0, 3.0])
    view = look(w)
    assert not view.is_leaf
    for write in (lambda: view.scale_(10.0), lambda: view.fill_(0), lambda: view.__setitem__(..., 5.0)):
        with pytest.raises(ValueError, match="Leaf Var"):
            write()
    assert w.tolist() == [1, 2, 3] and w.inplace_version == 0


def test_a_write_through_a_view_is_refused_if_the_base_became_a_leaf_after_the_view_was_made():
    x = mt.to_tensor([1.0, 2.0, 3.0])
    view = x[0:2]
    x.stop_gradient = False
    with pytest.raises(ValueError, match="Leaf Var"):
        view.add_(1.0)


def test_a_write_through_a_view_is_refused_if_the_base_was_reshaped_and_became_a_leaf():
    x = mt.to_tensor([1.0, 2.0, 3.0, 4.0])
    view = x[0:2]
    x.reshape_([2, 2])
    x.stop_gradient = False
    with pytest.raises(ValueError, match="Leaf Var"):
        view.add_(1.0)


def test_an_optimizer_may_write_a_leaf_under_no_grad():
    w = leaf([1.0, 2.0])
    for step in range(3):
        (w * w).sum().backward()
        with mt.no_grad():
            w.subtract_(w.grad * 0.25)
        w.clear_grad()
        assert w.inplace_version == step + 1 and w.is_leaf
    assert w.tolist() == [0.125, 0.25]  # each step halves the values


def test_a_leaf_may_be_written_under_no_grad_through_a_view_made_in_grad_mode():
    w = leaf([1.0, 2.0, 3.0])
    view = w[0:2]
    with mt.no_grad():
        view.scale_(10.0)
    assert w.tolist() == [10, 20, 3] and w.is_leaf and w.inplace_version == 1
    (view * view).sum().backward()
    assert w.grad.tolist() == [20, 40, 0]


def test_a_view_of_a_leaf_made_under_no_grad_is_a_detached_alias():
    w = leaf([1.0, 2.0, 3.0])
    with mt.no_grad():
        view = w[0:2]
    assert view.stop_gradient and view.is_leaf
    view.scale_(10.0)
    assert w.tolist() == [10, 20, 3] and w.inplace_version == 1 and w.is_leaf


def test_detach_shares_memory_and_version_and_requires_no_gradient():
    w = leaf([1.0, 2.0])
    alias = w.detach()
    assert alias.stop_gradient and alias.is_leaf and alias is not w and alias.data_ptr() == w.data_ptr()
    alias.add_(1.0)
    assert w.tolist() == [2, 3] and w.inplace_version == alias.inplace_version == 1
    (w * 3).sum().backward()
    assert w.grad.tolist() == [3, 3] and alias.grad is None


def test_detach_in_place_removes_the_history():
    w = leaf([1.0, 2.0])
    x = w * 2
    assert x.detach_() is x and x.stop_gradient and x.grad_fn is None and x.tolist() == [2, 4]


def test_set_value_writes_a_leaf_adds_1_to_its_version_and_keeps_it_a_leaf():
    w = leaf([1.0, 2.0])
    w.set_value(np.array([3.0, 4.0]))
    assert w.tolist() == [3, 4] and w.inplace_version == 1 and w.is_leaf and not w.stop_gradient
    (w * w).sum().backward()
    assert w.grad.tolist() == [6, 8]


def test_views_of_a_leaf_show_the_values_of_set_value():
    w = leaf([1.0, 2.0])
    view = w[1:]
    w.set_value(np.array([3.0, 4.0]))
    assert view.tolist() == [4] and w.is_leaf
    (view * view).sum().backward()
    assert w.grad.tolist() == [0, 8]


def test_set_value_makes_saved_values_of_the_leaf_stale():
    w = leaf([1.0, 2.0])
    y = w * w
    w.set_value(np.array([9.0, 9.0]))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    assert w.grad is None


def test_the_values_that_set_value_overwrote_in_a_non_leaf_get_gradient_0():
    w = leaf([1.0, 2.0, 3.0])
    x = w * 1
    x[0:2].set_value(np.array([9.0, 9.0]))
    (x * x).sum().backward()
    assert w.grad.tolist() == [0, 0, 6]


# ---------- stop_gradient ----------


def test_setting_stop_gradient_on_a_non_leaf_makes_it_a_leaf_without_history():
    w = leaf([1.0, 2.0])
    x = w * 3
    x.stop_gradient = True
    assert x.is_leaf and x.grad_fn is None
    x.stop_gradient = False
    (x * x).sum().backward()
    assert x.grad.tolist() == [6, 12] and w.grad is None


def test_setting_stop_gradient_on_a_view_detaches_it_from_its_base():
    w = leaf([1.0, 2.0, 3.0])
    x = w * 1
    view = x[0:2]
    view.stop_gradient = True
    view.add_(10.0)  # a write through a detached alias is not recorded
    assert x.tolist() == [11, 12, 3] and x.inplace_version == 1
    (x * 2).sum().backward()
    assert w.grad.tolist() == [2, 2, 2]


def test_setting_stop_gradient_on_a_base_keeps_the_history_of_its_views():
    w = leaf([1.0, 2.0, 3.0])
    x = w * 1
    view = x[0:2]
    x.stop_gradient = True
    view.scale_(5.0)
    assert x.tolist() == [5, 10, 3] and x.stop_gradient
    view.sum().backward()
    assert w.grad.tolist() == [5, 5, 0]


def test_a_part_of_a_constant_may_become_a_separate_leaf():
    x = mt.zeros([4], "float64")
    part = x[1:3]
    part.stop_gradient = False
    assert part.is_leaf and x.stop_gradient
    with pytest.raises(ValueError, match="Leaf Var"):
        part.add_(1.0)
    saved = part * part
    x.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.backward()


def test_only_floating_tensors_can_require_a_gradient():
    for dtype in ("int32", "int64", "bool"):
        with pytest.raises(TypeError, match=dtype):
            mt.ones([2], dtype).stop_gradient = False
        with pytest.raises(TypeError, match=dtype):
            mt.to_tensor([1, 0], dtype, stop_gradient=False)


def test_stop_gradient_accepts_only_true_and_false():
    x = mt.ones([2])
    for wrong in (None, 0, 1, "no", mt.ones([1])):
        with pytest.raises(TypeError, match="True or False"):
            x.stop_gradient = wrong
        with pytest.raises(TypeError, match="True or False"):
            mt.to_tensor([1.0], stop_gradient=wrong)
    x.stop_gradient = np.bool_(False)
    assert not x.stop_gradient


def test_a_constant_to_which_a_leaf_is_added_is_no_longer_a_leaf():
    # Paddle and PyTorch do the same: x.add_(y) makes x a non-leaf, and y gets a gradient.
    x, y = mt.zeros([2], "float64"), leaf([1.0, 2.0])
    x.add_(y)
    assert not x.is_leaf and not x.stop_gradient
    x.sum().backward()
    assert y.grad.tolist() == [1, 1]


# ---------- a leaf that changes its shape ----------


@pytest.mark.parametrize(
    "change, shape",
    [
        (lambda w: w.reshape_([2, 2]), [2, 2]),
        (lambda w: w.unsqueeze_(0), [1, 4]),
        (lambda w: w.reshape_([4, 1]).squeeze_(), [4]),
        (lambda w: w.reshape_([2, 2]).t_(), [2, 2]),
        (lambda w: w.reshape_([2, 2]).transpose_([1, 0]).unsqueeze_(1), [2, 1, 2]),
        (lambda w: w.reshape_([2, 2]).flatten_(), [4]),
    ],
)
def test_under_no_grad_a_leaf_may_change_its_shape_and_stays_a_leaf(change, shape: list[int]):
    w = leaf([1.0, 2.0, 3.0, 4.0])
    before = (w * w).sum()
    (w * 10).sum().backward()
    with mt.no_grad():
        assert change(w) is w
    assert w.is_leaf and not w.stop_gradient and w.shape == shape and w.inplace_version == 0
    assert w.grad.shape == shape and set(w.grad.numpy().ravel()) == {10}
    before.backward()  # this gradient has the old shape and is reshaped
    np.testing.assert_allclose(w.grad.numpy(), 2 * w.numpy() + 10)
    (w * w * w).sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), 3 * w.numpy() ** 2 + 2 * w.numpy() + 10)


def test_a_leaf_that_is_reshaped_to_no_dimensions_has_a_gradient_without_dimensions():
    w = leaf([3.0])
    (w * w).backward()
    with mt.no_grad():
        w.reshape_([])
    assert w.shape == [] and w.grad.shape == [] and w.grad.item() == 6
    (w * w).backward()
    assert w.grad.shape == [] and w.grad.item() == 12


def test_a_reshaped_leaf_has_a_new_gradient_tensor_with_its_own_memory():
    w = leaf([1.0, 2.0])
    (w * 2).sum().backward()
    old = w.grad
    with mt.no_grad():
        w.reshape_([2, 1])
    w.grad.fill_(9.0)
    assert old.tolist() == [2, 2]


def test_writes_through_views_made_before_or_after_a_leaf_was_reshaped_are_refused():
    w = leaf([1.0, 2.0, 3.0, 4.0])
    view = w[0:2]
    with mt.no_grad():
        w.reshape_([2, 2])
        w.t_()
    for protected in (w, view, w[0]):
        with pytest.raises(ValueError, match="Leaf Var"):
            protected.add_(1.0)
    (view * view).sum().backward()
    assert w.grad.tolist() == [[2, 0], [4, 0]]


def test_hooks_of_a_leaf_are_called_after_a_change_of_its_shape():
    w = leaf([1.0, 2.0])
    shapes = []
    handle = w.register_hook(lambda g: shapes.append(g.shape))
    with mt.no_grad():
        w.reshape_([2, 1])
    (w * 2).sum().backward()
    handle.remove()
    (w * 2).sum().backward()
    assert shapes == [[2, 1]]


@pytest.mark.parametrize("remove", ["clear_gradient", "assign"])
def test_the_gradient_of_a_frozen_leaf_can_be_cleared(remove: str):
    x = mt.to_tensor([1.0, 2.0], stop_gradient=False)
    (x * 3.0).sum().backward()
    x.stop_gradient = True
    if remove == "assign":
        x.grad = None
    else:
        x.clear_gradient(set_to_zero=False)
    assert x.grad is None
    x.stop_gradient = False
    (x * 2.0).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
