"""backward, grad, retained gradients: what they give, and what they leave alone."""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from tests.engine.differences import expect_gradients, leaf

# ---------- backward ----------


def test_backward_of_many_elements_begins_with_ones():
    w = leaf([[1.0, 2.0], [3.0, 4.0]])
    (w * w).backward()
    assert w.grad.tolist() == [[2, 4], [6, 8]]


def test_backward_begins_with_the_gradient_it_is_given():
    w = leaf([1.0, 2.0])
    given = mt.to_tensor([10.0, 100.0], "float64")
    (w * w).backward(given)
    assert w.grad.tolist() == [20, 400]
    assert given.tolist() == [10, 100] and given.inplace_version == 0


def test_backward_takes_a_gradient_of_another_dtype_in_its_own():
    w = leaf([1.0, 2.0])
    (w * 3).backward(mt.to_tensor([1, 2]))
    assert w.grad.tolist() == [3, 6] and w.grad.dtype == "float64"


def test_gradients_add_up_over_calls_and_over_paths():
    w = leaf([1.0, 2.0])
    (w * 2 + w * w + w).sum().backward()
    assert w.grad.tolist() == [5, 7]
    (w * 10).sum().backward()
    assert w.grad.tolist() == [15, 17]


def test_backward_from_a_leaf_gives_it_ones():
    w = leaf([1.0, 2.0])
    w.backward()
    assert w.grad.tolist() == [1, 1]


def test_a_gradient_wants_no_gradient_and_is_the_same_tensor_at_every_look():
    w = leaf([1.0, 2.0])
    assert w.grad is None
    (w * 2).backward()
    assert w.grad is w.grad and w.grad.stop_gradient and w.grad.is_leaf
    assert w.grad.dtype == w.dtype and w.grad.shape == w.shape and w.grad.is_contiguous()


def test_gradients_share_no_memory_with_one_another_nor_with_what_was_given():
    u, v, start = leaf([1.0, 2.0]), leaf([1.0, 2.0]), mt.ones([2], "float64")
    y = u + v
    y.retain_grads()
    y.backward(start)
    u.grad.fill_(7.0)
    assert v.grad.tolist() == y.grad.tolist() == start.tolist() == [1, 1]


def test_a_gradient_that_was_handed_out_is_not_changed_by_the_next_backward():
    w = leaf([1.0, 2.0])
    (w * 2).backward()
    first = w.grad
    (w * 2).backward()
    assert first.tolist() == [2, 2] and w.grad.tolist() == [4, 4]


def test_backward_without_anything_recorded_says_so():
    for x in (mt.ones([2]), leaf([1.0]).detach(), mt.ones([2], "int64")):
        with pytest.raises(RuntimeError, match=r"backward.*stop_gradient=True"):
            x.backward()
    with mt.no_grad():
        y = leaf([1.0]) * 2
    with pytest.raises(RuntimeError, match="nothing was recorded"):
        y.backward()


def test_backward_names_a_wrong_start():
    w = leaf([1.0, 2.0])
    with pytest.raises(ValueError, match=r"backward.*\[3\].*\[2\]"):
        (w * 2).backward(mt.ones([3]))
    for wrong in (2.0, [1.0, 1.0], np.ones(2)):
        with pytest.raises(TypeError, match=rf"backward.*{type(wrong).__name__}"):
            (w * 2).backward(wrong)
    assert w.grad is None


def test_what_does_not_reach_a_leaf_leaves_its_grad_none():
    u, v = leaf([1.0]), leaf([1.0])
    (u * 2).backward()
    assert v.grad is None and u.grad.tolist() == [2]


def test_a_constant_never_gets_a_gradient():
    w, c = leaf([1.0, 2.0]), mt.ones([2], "float64")
    (w * c).backward()
    assert c.grad is None and c.stop_gradient


def test_a_long_way_through_one_value_is_walked_once():
    w = leaf([1.0])
    y = w * 1
    for _ in range(60):  # 2 ** 60 paths
        y = y + y
    y.backward()
    assert w.grad.item() == 2.0**60


def test_broadcast_operands_get_gradients_of_their_own_shapes():
    for shape in ([], [1], [3], [1, 3], [2, 1], [1, 1, 3], [4, 1, 1]):
        u, v = leaf(np.full(shape, 2.0)), leaf(np.ones((2, 3)))
        (u * v).sum().backward()
        assert u.grad.shape == shape and v.grad.shape == [2, 3]
        big = np.broadcast_shapes(tuple(shape), (2, 3))
        assert u.grad.sum().item() == np.prod(big)


# ---------- dtypes on the way back ----------


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "pow", "maximum", "minimum"])
@pytest.mark.parametrize("form", ["", "_"])
def test_each_operand_gets_its_gradient_in_its_own_dtype(name: str, form: str):
    w32, w64 = mt.to_tensor([1.5, 2.5], "float32", stop_gradient=False), leaf([2.0, 0.5])
    y = getattr(mt, name + form)(w32 * 1, w64)
    assert y.dtype == ("float32" if form else "float64")
    y.sum().backward()
    assert w32.grad.dtype == "float32" and w64.grad.dtype == "float64"


def test_values_of_several_dtypes_on_one_way_have_the_gradient_of_calculus():
    w = leaf([1.0, 2.0])
    half = w.astype("float32")
    x = w * 1
    x.add_(half)  # 2w
    x[0:1] = half[1:]
    (x * half).sum().backward()  # half[1]*half[0] + 2*w[1]*half[1]
    np.testing.assert_allclose(w.grad.numpy(), [2, 1 + 8], rtol=1e-6)


def test_storing_a_float64_value_in_a_float32_tensor_passes_the_gradient_on():
    w, x = leaf([1.0, 2.0]), mt.zeros([2], "float32")
    x[...] = w
    (x * x).sum().backward()
    assert w.grad.dtype == "float64" and w.grad.tolist() == [2, 4]


def test_integers_cut_the_gradient():
    w = leaf([1.5, 2.5])
    whole = w.astype("int64")
    assert whole.stop_gradient and whole.tolist() == [1, 2]
    x = mt.to_tensor([0, 0])
    x[...] = w
    assert x.stop_gradient and x.tolist() == [1, 2]
    (w * whole).sum().backward()
    assert w.grad.tolist() == [1, 2]


# ---------- retained gradients ----------


def test_a_non_leaf_keeps_its_gradient_only_when_asked():
    w = leaf([1.0, 2.0])
    x, y = w * 2, w * 3
    x.retain_grads()
    (x * x + y).sum().backward()
    assert x.grad.tolist() == [4, 8] and y.grad is None


def test_a_retained_gradient_is_that_of_the_value_the_tensor_has_now():
    # Recorded: torch gives 1, Paddle the gradient of the old value (10).
    w = leaf([1.0, 2.0])
    x = w * 1
    x.retain_grads()
    x.scale_(10.0)
    x.sum().backward()
    assert x.grad.tolist() == [1, 1] and w.grad.tolist() == [10, 10]


def test_retained_gradients_add_up_like_those_of_leaves():
    w = leaf([1.0, 2.0])
    x = w + 0
    x.retain_grads()
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [5, 5]


def test_retained_gradients_of_a_family_follow_each_members_value():
    w = leaf([1.0, 2.0])
    x = w * 1
    part = x[0:1]
    x.retain_grads()
    part.retain_grads()
    part.scale_(2.0)
    x.scale_(3.0)
    part.add_(1.0)
    (part * 11).sum().backward(retain_graph=True)
    assert part.grad.tolist() == [11] and x.grad.tolist() == [11, 0] and w.grad.tolist() == [66, 0]


def test_a_write_through_a_view_moves_the_retained_gradient_of_the_whole():
    # Recorded: torch's answer.
    w = leaf([1.0, 2.0])
    x = w.square()
    x.retain_grads()
    view = x.reshape([2, 1])
    view.scale_(2.0)
    view.sum().backward()
    assert x.grad.tolist() == [1, 1] and w.grad.tolist() == [4, 8]


@pytest.mark.parametrize(
    "change",
    [lambda x: x.reshape_([3, 1]), lambda x: x.unsqueeze_(1), lambda x: x.unsqueeze_(0).t_()],
    ids=["reshape_", "unsqueeze_", "t_"],
)
def test_a_retained_gradient_has_the_shape_the_tensor_has_now(change):
    w = leaf([1.0, 2.0, 3.0])
    x = w + 0
    x.retain_grads()
    (x * 2).sum().backward()
    change(x)
    (x * 2).sum().backward()
    assert x.grad.shape == x.shape == [3, 1]
    assert x.grad.tolist() == [[4], [4], [4]]


def test_a_retained_gradient_turns_with_the_tensor():
    w = leaf([[1.0, 2.0], [3.0, 4.0]])
    weight = mt.to_tensor([[1.0, 2.0], [3.0, 4.0]], "float64")
    x = w + 0
    x.retain_grads()
    (x * weight).sum().backward()
    x.t_()
    (x * weight).sum().backward()
    assert x.grad.tolist() == [[2, 5], [5, 8]]  # weight turned, and weight


def test_retaining_twice_counts_once():
    w = leaf([1.0])
    x = w * 1
    x.retain_grads()
    x.retain_grads()
    (x * 2).backward()
    assert x.grad.tolist() == [2]


def test_retaining_needs_a_gradient_to_come_and_is_free_on_a_leaf():
    with pytest.raises(RuntimeError, match="wants no gradient"):
        mt.ones([2]).retain_grads()
    w = leaf([1.0])
    w.retain_grads()
    (w * 2).backward()
    assert w.grad.tolist() == [2]


def test_a_retained_gradient_is_gone_when_the_tensor_begins_anew():
    w = leaf([1.0])
    x = w + 0
    x.retain_grads()
    (x * 2).backward()
    x.stop_gradient = True
    x.stop_gradient = False
    assert x.is_leaf and x.grad is None
    (x * 5).backward()
    assert x.grad.tolist() == [5] and w.grad.tolist() == [2]


# ---------- clearing and setting ----------


def test_clear_grad_fills_with_zeros_or_drops():
    w = leaf([1.0, 2.0])
    w.clear_grad()
    assert w.grad is None
    (w * 2).backward()
    w.clear_grad()
    assert w.grad.tolist() == [0, 0]
    (w * 2).backward()
    w.clear_gradient(set_to_zero=False)
    assert w.grad is None


def test_clear_grad_works_for_a_retained_gradient():
    w = leaf([1.0])
    x = w + 0
    x.retain_grads()
    x.backward()
    x.clear_grad()
    assert x.grad.tolist() == [0]
    x.clear_gradient(set_to_zero=False)
    assert x.grad is None
    x.backward()
    assert x.grad.tolist() == [1]


def test_grad_can_be_set_on_a_leaf_and_is_added_to():
    w = leaf([1.0, 2.0])
    w.grad = mt.to_tensor([10.0, 20.0], "float64")
    (w * 2).backward()
    assert w.grad.tolist() == [12, 22]
    w.grad = None
    assert w.grad is None


def test_a_wrong_gradient_is_named():
    w = leaf([1.0, 2.0])
    for wrong, error, match in (
        (mt.ones([3], "float64"), ValueError, r"\[2\].*\[3\]"),
        (mt.ones([2]), ValueError, "float64.*float32"),
        (np.ones(2), TypeError, "ndarray"),
        (1.0, TypeError, "float"),
    ):
        with pytest.raises(error, match=match):
            w.grad = wrong
    with pytest.raises(RuntimeError, match="leaf"):
        (w * 2).grad = mt.ones([2], "float64")
    assert w.grad is None


# ---------- grad() ----------


def test_grad_gives_gradients_and_touches_none():
    u, v = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    x = u * v
    x.retain_grads()
    y = (x * u).sum()
    gu, gx, gv = mt.grad(y, [u, x, v])
    assert gu.tolist() == [6, 16] and gx.tolist() == [1, 2] and gv.tolist() == [1, 4]
    assert u.grad is None and v.grad is None and x.grad is None


def test_grad_adds_up_over_outputs_with_their_own_starts():
    w = leaf([1.0, 2.0])
    start = mt.to_tensor([10.0, 100.0], "float64")
    (g,) = mt.grad([w * 2, w * w], [w], [start, None])
    assert g.tolist() == [22, 204]


@pytest.mark.parametrize("shape", [[], [1], [2]])
def test_grad_of_one_output_given_twice_is_twice_as_large_and_still_a_tensor(shape: list[int]):
    w = leaf(np.full(shape, 3.0))
    y = w * 2
    gw, gy = mt.grad([y, y], [w, y])
    assert gw.tolist() == np.full(shape, 4.0).tolist() and gy.tolist() == np.full(shape, 2.0).tolist()
    assert gy.shape == shape and gy.dtype == "float64"
    gy.add_(1.0)
    assert gy.tolist() == np.full(shape, 3.0).tolist()


def test_grad_results_share_no_memory():
    w = leaf([1.0, 2.0])
    y = w * 1
    g1, g2, g3 = mt.grad(y, [w, w, y])
    g1.fill_(9.0)
    assert g2.tolist() == g3.tolist() == [1, 1]


def test_grad_for_an_output_itself_is_its_start():
    w = leaf([1.0, 2.0])
    y = w * 3
    z = y * y
    gz, gy = mt.grad(z, [z, y])
    assert gz.tolist() == [1, 1] and gy.tolist() == [6, 12]


def test_grad_where_one_output_depends_on_another():
    w = leaf([2.0])
    y = w * 3
    z = y * y
    gw, gy = mt.grad([y, z], [w, y])
    assert gy.tolist() == [13] and gw.tolist() == [39]


def test_grad_frees_unless_told_to_retain():
    w = leaf([1.0, 2.0])
    y = w.exp()
    mt.grad(y, w, retain_graph=True)
    mt.grad(y, w)
    with pytest.raises(RuntimeError, match="freed"):
        mt.grad(y, w)


def test_grad_says_which_input_the_outputs_do_not_depend_on():
    u, v = leaf([1.0]), leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"do not depend on input 1 \(shape \[2\]\).*allow_unused"):
        mt.grad(u * 2, [u, v])
    g, none = mt.grad(u * 2, [u, v], allow_unused=True)
    assert g.tolist() == [2] and none is None


def test_grad_for_a_value_that_was_overwritten_says_it_is_not_reached():
    # Recorded: torch raises too. The name now stands for another value.
    w = leaf([1.0, 2.0])
    x = w * 1
    y = x + 3
    x.scale_(2.0)
    with pytest.raises(RuntimeError, match="do not depend on input 0"):
        mt.grad(y, x)
    assert mt.grad(y, w)[0].tolist() == [1, 1]


def test_grad_for_a_value_made_in_place_is_that_of_the_new_value():
    w = leaf([1.0, 2.0])
    x = w * 1
    x.scale_(5.0)
    y = x * x
    gx, gw = mt.grad(y, [x, w])
    assert gx.tolist() == [10, 20] and gw.tolist() == [50, 100]


def test_grad_for_a_view_and_for_the_whole():
    w = leaf([1.0, 2.0, 3.0])
    x = w * 1
    view = x[0:2]
    y = (view * x[1:]).sum()
    gv, gx = mt.grad(y, [view, x])
    assert gv.tolist() == [2, 3] and gx.tolist() == [2, 4, 2]


def test_grad_names_wrong_arguments():
    w = leaf([1.0, 2.0])
    y = w * 2
    for call, error, match in (
        (lambda: mt.grad("y", w), TypeError, "grad.*str"),
        (lambda: mt.grad(y, [w, 3.0]), TypeError, "grad.*float"),
        (lambda: mt.grad(y, w, 2.0), TypeError, "grad.*float"),
        (lambda: mt.grad(y, w, mt.ones([3])), ValueError, r"grad.*\[3\].*\[2\]"),
        (lambda: mt.grad([y, y], w, [None]), ValueError, "2 outputs but 1"),
        (lambda: mt.grad(y, mt.ones([2])), RuntimeError, "grad.*stop_gradient=True"),
        (lambda: mt.grad(w.detach(), w), RuntimeError, "grad.*stop_gradient=True"),
    ):
        with pytest.raises(error, match=match):
            call()
    assert mt.grad(y, w)[0].tolist() == [2, 2]


def test_grad_calls_hooks_and_passes_on_what_they_return():
    w = leaf([1.0, 2.0])
    x = w * 1
    x.register_hook(lambda g: g * 10)
    gx, gw = mt.grad(x * 2, [x, w])
    assert gx.tolist() == [20, 20] and gw.tolist() == [20, 20]


# ---------- a little network, against differences ----------


def test_two_layers_with_in_place_activation_have_the_gradient_of_central_differences():
    rng = np.random.default_rng(3)
    data = rng.normal(size=(5, 4))
    weights = [leaf(rng.normal(size=shape)) for shape in ((4, 6), (6,), (6, 2))]

    def reference(first, bias, second):
        return np.tanh(np.maximum(data @ first + bias, 0) @ second)

    first, bias, second = weights
    hidden = mt.to_tensor(data) @ first
    hidden.add_(bias)
    mt.nn.functional.relu_(hidden)
    result = hidden @ second
    mt.tanh_(result)
    expect_gradients(reference, weights, result)
