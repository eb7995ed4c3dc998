"""Test the gradients that backward computes for leaves, their dtypes, and the errors of backward."""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from minitensor import torch
from tests.support.engine.differences import expect_gradients, leaf

# ---------- backward ----------


def test_backward_of_many_elements_begins_with_ones():
    w = leaf([[1.0, 2.0], [3.0, 4.0]])
    (w * w).backward()
    assert w.grad.tolist() == [[2, 4], [6, 8]]


def test_backward_begins_with_the_given_gradient():
    w = leaf([1.0, 2.0])
    given = mt.to_tensor([10.0, 100.0], "float64")
    (w * w).backward(given)
    assert w.grad.tolist() == [20, 400]
    assert given.tolist() == [10, 100] and given.inplace_version == 0


def test_backward_casts_the_given_gradient_to_the_dtype_of_the_result():
    w = leaf([1.0, 2.0])
    (w * 3).backward(mt.to_tensor([1, 2]))
    assert w.grad.tolist() == [3, 6] and w.grad.dtype == "float64"


def test_gradients_add_up_over_calls_and_over_paths():
    w = leaf([1.0, 2.0])
    (w * 2 + w * w + w).sum().backward()
    assert w.grad.tolist() == [5, 7]
    (w * 10).sum().backward()
    assert w.grad.tolist() == [15, 17]


def test_backward_from_a_leaf_sets_its_gradient_to_ones():
    w = leaf([1.0, 2.0])
    w.backward()
    assert w.grad.tolist() == [1, 1]


def test_a_gradient_requires_no_gradient_and_is_the_same_tensor_at_every_read():
    w = leaf([1.0, 2.0])
    assert w.grad is None
    (w * 2).backward()
    assert w.grad is w.grad and w.grad.stop_gradient and w.grad.is_leaf
    assert w.grad.dtype == w.dtype and w.grad.shape == w.shape and w.grad.is_contiguous()


def test_gradients_share_no_memory_with_one_another_or_with_the_initial_gradient():
    u, v, start = leaf([1.0, 2.0]), leaf([1.0, 2.0]), mt.ones([2], "float64")
    y = u + v
    y.retain_grads()
    y.backward(start)
    u.grad.fill_(7.0)
    assert v.grad.tolist() == y.grad.tolist() == start.tolist() == [1, 1]


def test_the_next_backward_adds_in_place_to_the_existing_gradient():
    w = leaf([1.0, 2.0])
    (w * 2).backward()
    first, view, alias = w.grad, w.grad[:1], w.grad.detach()
    (w * 3).backward()
    assert w.grad is first and first.inplace_version == 1
    assert first.tolist() == alias.tolist() == [5, 5] and view.tolist() == [5]


def test_clear_grad_zeroes_the_gradient_and_the_next_backward_makes_a_new_tensor():
    w = leaf([1.0, 2.0])
    (w * 2).backward()
    first = w.grad
    w.clear_grad()
    assert w.grad is first and first.tolist() == [0, 0] and first.inplace_version == 1
    (w * 3).backward()
    assert w.grad is not first and first.tolist() == [0, 0] and w.grad.tolist() == [3, 3]


def test_backward_adds_to_values_written_into_a_cleared_gradient():
    w = leaf([1.0, 2.0])
    (w * 2).backward()
    w.clear_grad()
    w.grad.set_value(mt.full([2], 7.0, "float64"))
    (w * 3).backward()
    assert w.grad.tolist() == [10, 10]


def test_a_saved_gradient_is_stale_after_the_next_backward_except_under_copy_on_write():
    for policy in ("2.6", "copy_on_write"):
        w = leaf([1.0, 2.0])
        (w * 2).backward()
        y = (w.grad * w).sum()
        with mt.set_inplace_policy(policy):
            (w * 3).backward()
        if policy == "2.6":
            with pytest.raises(RuntimeError, match="backward"):
                y.backward()
            assert w.grad.tolist() == [5, 5]
        else:
            y.backward()
            assert w.grad.tolist() == [7, 7], "backward of y should add 2, the value that the product saved"


def test_a_rule_that_returns_none_for_an_intermediate_result_raises_an_error(monkeypatch):
    w = leaf([1.0, 2.0])
    y = (w * 2).sin()
    monkeypatch.setattr(y._node.op, "backward", lambda node, g: (None,))
    with pytest.raises(AttributeError):
        y.backward()
    assert w.grad is None


def test_no_gradient_changes_if_backward_cannot_add_to_one_gradient():
    u, v = leaf([1.0, 2.0]), leaf([1.0, 2.0])
    (u * v).sum().backward()
    spread = mt.ones([1], "float64").as_strided([2], [0], 0)
    v._node.saved = spread  # as if a program had assigned v.grad, which minitensor.torch allows
    with pytest.raises(RuntimeError, match="several elements"):
        (u * v).sum().backward()
    assert u.grad.tolist() == [1, 2] and v.grad.tolist() == [1, 1] and u.grad.inplace_version == 0


def test_the_error_of_backward_on_a_tensor_without_history_explains_the_cause():
    for x in (mt.ones([2]), leaf([1.0]).detach(), mt.ones([2], "int64")):
        with pytest.raises(RuntimeError, match=r"backward.*stop_gradient=True"):
            x.backward()
    with mt.no_grad():
        y = leaf([1.0]) * 2
    with pytest.raises(RuntimeError, match="nothing was recorded"):
        y.backward()


def test_the_error_names_a_wrong_initial_gradient():
    w = leaf([1.0, 2.0])
    with pytest.raises(ValueError, match=r"backward.*\[3\].*\[2\]"):
        (w * 2).backward(mt.ones([3]))
    for wrong in (2.0, [1.0, 1.0], np.ones(2)):
        with pytest.raises(TypeError, match=rf"backward.*{type(wrong).__name__}"):
            (w * 2).backward(wrong)
    assert w.grad is None


def test_a_leaf_that_the_loss_does_not_depend_on_keeps_grad_none():
    u, v = leaf([1.0]), leaf([1.0])
    (u * 2).backward()
    assert v.grad is None and u.grad.tolist() == [2]


def test_a_constant_never_gets_a_gradient():
    w, c = leaf([1.0, 2.0]), mt.ones([2], "float64")
    (w * c).backward()
    assert c.grad is None and c.stop_gradient


def test_a_node_with_exponentially_many_paths_runs_once():
    w = leaf([1.0])
    y = w * 1
    for _ in range(60):  # 2 ** 60 paths
        y = y + y
    y.backward()
    assert w.grad.item() == 2.0**60


def test_broadcast_operands_get_gradients_of_their_shapes():
    for shape in ([], [1], [3], [1, 3], [2, 1], [1, 1, 3], [4, 1, 1]):
        u, v = leaf(np.full(shape, 2.0)), leaf(np.ones((2, 3)))
        (u * v).sum().backward()
        assert u.grad.shape == shape and v.grad.shape == [2, 3]
        big = np.broadcast_shapes(tuple(shape), (2, 3))
        assert u.grad.sum().item() == np.prod(big)


# ---------- dtypes in backward ----------


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "pow", "maximum", "minimum"])
@pytest.mark.parametrize("form", ["", "_"])
def test_each_operand_gets_its_gradient_in_its_own_dtype(name: str, form: str):
    w32, w64 = mt.to_tensor([1.5, 2.5], "float32", stop_gradient=False), leaf([2.0, 0.5])
    y = getattr(mt, name + form)(w32 * 1, w64)
    assert y.dtype == ("float32" if form else "float64")
    y.sum().backward()
    assert w32.grad.dtype == "float32" and w64.grad.dtype == "float64"


def test_a_chain_of_several_dtypes_has_the_exact_gradient():
    w = leaf([1.0, 2.0])
    half = w.astype("float32")
    x = w * 1
    x.add_(half)  # 2w
    x[0:1] = half[1:]
    (x * half).sum().backward()  # half[1]*half[0] + 2*w[1]*half[1]
    np.testing.assert_allclose(w.grad.numpy(), [2, 1 + 8], rtol=1e-6)


def test_a_float64_leaf_stored_in_a_float32_tensor_gets_a_float64_gradient():
    w, x = leaf([1.0, 2.0]), mt.zeros([2], "float32")
    x[...] = w
    (x * x).sum().backward()
    assert w.grad.dtype == "float64" and w.grad.tolist() == [2, 4]


def test_no_gradient_flows_through_integers():
    w = leaf([1.5, 2.5])
    whole = w.astype("int64")
    assert whole.stop_gradient and whole.tolist() == [1, 2]
    x = mt.to_tensor([0, 0])
    x[...] = w
    assert x.stop_gradient and x.tolist() == [1, 2]
    (w * whole).sum().backward()
    assert w.grad.tolist() == [1, 2]


# ---------- a small network, compared with central differences ----------


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


@pytest.mark.parametrize("shape", [[2], [1, 2], [2, 1, 1]])
def test_backward_refuses_to_add_to_a_reshaped_gradient_and_changes_no_gradient(shape):
    x, w = (mt.to_tensor([[1.0], [2.0]], stop_gradient=False) for _ in range(2))
    (x * w).sum().backward()
    x.grad.reshape_(shape)
    with pytest.raises(RuntimeError, match=r"shape \[2, 1\] cannot be added to the existing gradient"):
        (x * w).sum().backward()
    assert w.grad.tolist() == [[1.0], [2.0]] and x.grad.flatten().tolist() == [1.0, 2.0]
    x.grad.reshape_([1, 2, 1])  # as in PyTorch, a leading dimension of length 1 is accepted
    (x * w).sum().backward()
    assert x.grad.tolist() == [[[2.0], [4.0]]]


def test_reshaping_a_leaf_in_place_to_the_shape_that_it_has_keeps_its_gradient():
    x = mt.to_tensor([[1.0, 2.0]], stop_gradient=False)
    y = x * x
    y.backward()
    held = x.grad
    with mt.no_grad():
        x.reshape_([1, 2])
    assert x.grad is held
    (x * x).backward()
    assert held.tolist() == [[4.0, 8.0]]


@pytest.mark.cpu_only
@pytest.mark.parametrize("make", [lambda: leaf([1.0] * 100), lambda: torch.ones(100, requires_grad=True)])
@pytest.mark.parametrize("lacks", ["freed", "overwritten"])
def test_an_error_about_freed_or_overwritten_values_keeps_no_tensor_alive(make, lacks):
    """The error is kept without its traceback, whose frames would keep the tensors alive."""
    before, kept = mt.device.cpu.memory_allocated(), []
    x = make()
    y = x * 2.0
    z = y * y
    if lacks == "freed":
        z.sum().backward()
    else:
        with mt.set_inplace_policy("2.6"):
            y.add_(1.0)
    try:
        z.sum().backward()
    except RuntimeError as error:
        kept.append(error.with_traceback(None))
    del x, y, z
    assert len(kept) == 1 and mt.device.cpu.memory_allocated() == before
