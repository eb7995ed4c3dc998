"""Test leaves: allowed and refused writes, and the tensors that stay leaves afterwards."""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from tests.support.engine.differences import leaf


def test_the_error_has_paddles_words_the_name_of_the_leaf_and_a_way_out():
    w = leaf([1.0, 2.0])
    w.name = "weight"
    with pytest.raises(ValueError) as raised:
        w.scale_(2.0)
    text = str(raised.value)
    # The first sentence is the message that was recorded from Paddle 2.6.2.
    assert text.startswith("Leaf Var (weight) that doesn't stop gradient can't use inplace strategy.")
    assert "`scale_`" in text and "Nothing was written" in text
    assert "no_grad()" in text and "detach()" in text and "normal operation" in text


def test_a_generated_name_is_in_the_error_and_stays():
    w = leaf([1.0])
    with pytest.raises(ValueError) as raised:
        w.add_(1.0)
    assert f"Leaf Var ({w.name})" in str(raised.value)
    assert w.name.startswith("generated_tensor_") and w.name != leaf([1.0]).name


def test_a_leaf_without_gradient_may_be_written():
    x = mt.to_tensor([1.0, 2.0])
    assert x.is_leaf and x.add_(1.0).is_leaf and x.tolist() == [2, 3]


def test_a_non_leaf_may_be_written_where_the_leaf_may_not():
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
def test_a_view_of_a_leaf_is_protected(look):
    w = leaf([1.0, 2.0, 3.0])
    view = look(w)
    assert not view.is_leaf
    for write in (lambda: view.scale_(10.0), lambda: view.fill_(0), lambda: view.__setitem__(..., 5.0)):
        with pytest.raises(ValueError, match="Leaf Var"):
            write()
    assert w.tolist() == [1, 2, 3] and w.inplace_version == 0


def test_a_view_protects_the_leaf_also_when_the_leaf_was_declared_one_later():
    x = mt.to_tensor([1.0, 2.0, 3.0])
    view = x[0:2]
    x.stop_gradient = False
    with pytest.raises(ValueError, match="Leaf Var"):
        view.add_(1.0)


def test_a_view_protects_the_leaf_also_when_its_shape_had_been_changed_before():
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
    assert w.tolist() == [0.125, 0.25]  # each step halves


def test_through_a_view_taken_in_grad_mode_a_leaf_may_be_written_under_no_grad():
    w = leaf([1.0, 2.0, 3.0])
    view = w[0:2]
    with mt.no_grad():
        view.scale_(10.0)
    assert w.tolist() == [10, 20, 3] and w.is_leaf and w.inplace_version == 1
    (view * view).sum().backward()
    assert w.grad.tolist() == [20, 40, 0]


def test_a_view_taken_under_no_grad_is_a_detached_alias():
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


def test_detach_in_place_cuts_the_history():
    w = leaf([1.0, 2.0])
    x = w * 2
    assert x.detach_() is x and x.stop_gradient and x.grad_fn is None and x.tolist() == [2, 4]


def test_set_value_on_a_leaf_is_allowed_counted_and_leaves_it_a_leaf():
    w = leaf([1.0, 2.0])
    w.set_value(np.array([3.0, 4.0]))
    assert w.tolist() == [3, 4] and w.inplace_version == 1 and w.is_leaf and not w.stop_gradient
    (w * w).sum().backward()
    assert w.grad.tolist() == [6, 8]


def test_views_show_a_set_value_on_their_leaf():
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


def test_set_value_on_a_result_gives_the_old_value_gradient_zero():
    w = leaf([1.0, 2.0, 3.0])
    x = w * 1
    x[0:2].set_value(np.array([9.0, 9.0]))
    (x * x).sum().backward()
    assert w.grad.tolist() == [0, 0, 6]


# ---------- stop_gradient ----------


def test_stop_gradient_on_a_result_begins_a_new_leaf():
    w = leaf([1.0, 2.0])
    x = w * 3
    x.stop_gradient = True
    assert x.is_leaf and x.grad_fn is None
    x.stop_gradient = False
    (x * x).sum().backward()
    assert x.grad.tolist() == [6, 12] and w.grad is None


def test_stop_gradient_on_a_member_makes_it_leave_its_group():
    w = leaf([1.0, 2.0, 3.0])
    x = w * 1
    view = x[0:2]
    view.stop_gradient = True
    view.add_(10.0)  # the write through a detached alias changes values and not the history
    assert x.tolist() == [11, 12, 3] and x.inplace_version == 1
    (x * 2).sum().backward()
    assert w.grad.tolist() == [2, 2, 2]


def test_stop_gradient_on_the_base_of_a_group_leaves_the_others_their_history():
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


def test_only_floats_can_require_a_gradient():
    for dtype in ("int32", "int64", "bool"):
        with pytest.raises(TypeError, match=dtype):
            mt.ones([2], dtype).stop_gradient = False
        with pytest.raises(TypeError, match=dtype):
            mt.to_tensor([1, 0], dtype, stop_gradient=False)


def test_stop_gradient_is_true_or_false():
    x = mt.ones([2])
    for wrong in (None, 0, 1, "no", mt.ones([1])):
        with pytest.raises(TypeError, match="True or False"):
            x.stop_gradient = wrong
        with pytest.raises(TypeError, match="True or False"):
            mt.to_tensor([1.0], stop_gradient=wrong)
    x.stop_gradient = np.bool_(False)
    assert not x.stop_gradient


def test_a_plain_tensor_that_stores_a_result_is_no_longer_a_leaf():
    # The recorded results of both frameworks: x.add_(y) makes x a non-leaf, and y gets a gradient.
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
    before.backward()  # a gradient computed with the old shape still arrives
    np.testing.assert_allclose(w.grad.numpy(), 2 * w.numpy() + 10)
    (w * w * w).sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), 3 * w.numpy() ** 2 + 2 * w.numpy() + 10)


def test_a_leaf_of_one_element_may_lose_a_dimension_and_so_does_its_gradient():
    w = leaf([3.0])
    (w * w).backward()
    with mt.no_grad():
        w.reshape_([])
    assert w.shape == [] and w.grad.shape == [] and w.grad.item() == 6
    (w * w).backward()
    assert w.grad.shape == [] and w.grad.item() == 12


def test_the_gradient_of_a_reshaped_leaf_does_not_share_memory_with_the_one_handed_out_before():
    w = leaf([1.0, 2.0])
    (w * 2).sum().backward()
    old = w.grad
    with mt.no_grad():
        w.reshape_([2, 1])
    w.grad.fill_(9.0)
    assert old.tolist() == [2, 2]


def test_views_of_a_reshaped_leaf_are_protected_if_taken_before_or_after():
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


def test_hooks_of_a_leaf_survive_a_change_of_shape():
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
def test_a_leaf_that_requires_no_gradient_for_a_while_loses_the_one_that_it_had(remove: str):
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
