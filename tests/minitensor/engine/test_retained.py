"""Test retained gradients of non-leaves, and gradients that the program clears or assigns."""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from minitensor import torch
from tests.support.engine.differences import leaf
from tests.support.engine.memory import allocated

# ---------- retained gradients ----------


def test_a_non_leaf_keeps_its_gradient_only_after_retain_grads():
    w = leaf([1.0, 2.0])
    x, y = w * 2, w * 3
    x.retain_grads()
    (x * x + y).sum().backward()
    assert x.grad.tolist() == [4, 8] and y.grad is None


def test_a_retained_gradient_is_the_gradient_of_the_current_value_of_the_tensor():
    # According to the records, PyTorch returns 1 as well, and Paddle returns 10, the gradient of the old value.
    w = leaf([1.0, 2.0])
    x = w * 1
    x.retain_grads()
    x.scale_(10.0)
    x.sum().backward()
    assert x.grad.tolist() == [1, 1] and w.grad.tolist() == [10, 10]


def test_the_next_retained_gradient_replaces_the_last_one_as_in_paddle():
    # facts/gradients.json: in Paddle 2.6.2 and 3.3.1, x.grad is [3, 3], and the earlier gradient stays [2, 2].
    w = leaf([1.0, 2.0])
    x = w + 0
    x.retain_grads()
    (x * 2).sum().backward()
    kept = x.grad
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3, 3] and kept.tolist() == [2, 2] and w.grad.tolist() == [5, 5]


def test_in_pytorchs_vocabulary_retained_gradients_are_accumulated():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    x = w + 0
    x.retain_grad()
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [5, 5]


@pytest.mark.parametrize("create_graph", [False, True])
def test_grad_fills_retained_gradients_in_both_vocabularies_as_the_frameworks_do(create_graph: bool):
    """PyTorch 2.13 adds to the earlier gradient. Paddle 2.6.2 and 3.3.1 replace it."""
    for framework, adds in ((mt, False), (torch, True)):
        w = leaf([1.0, 2.0]) if framework is mt else torch.tensor([1.0, 2.0], requires_grad=True)
        x, unused = w * 2, w * 5
        for tensor in (x, unused):
            tensor.retain_grads() if framework is mt else tensor.retain_grad()
        grad = mt.grad if framework is mt else torch.autograd.grad
        y = (x * x * x + unused.detach()).sum()
        (found,) = [*grad([y], [w], retain_graph=True, create_graph=create_graph)]
        assert found.tolist() == [24, 96] and x.grad.tolist() == [12, 48] and unused.grad is None and w.grad is None
        grad([y], [x], retain_graph=True, create_graph=create_graph)
        assert x.grad.tolist() == ([24, 96] if adds else [12, 48])


def test_a_retained_gradient_of_grad_does_not_keep_the_graph_alive(no_collector):
    """PyTorch records the gradient; minitensor does not, because the node that stores it would keep itself alive."""

    def run() -> None:
        w = leaf(np.ones(1000))
        x = w * w
        x.retain_grads()
        mt.grad([(x * x).sum()], [w], create_graph=True)
        assert x.grad.stop_gradient

    run()
    before = allocated()
    run()
    assert allocated() == before


def test_a_base_and_its_view_each_retain_the_gradient_of_their_current_value():
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


def test_after_a_write_through_a_view_the_base_retains_the_gradient_of_the_new_value_of_the_base():
    # These results were recorded from PyTorch.
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
def test_a_retained_gradient_has_the_current_shape_of_its_tensor(change):
    w = leaf([1.0, 2.0, 3.0])
    x = w + 0
    x.retain_grads()
    (x * 2).sum().backward()
    change(x)
    assert x.grad.shape == x.shape == [3, 1]
    (x * 3).sum().backward()
    assert x.grad.tolist() == [[3], [3], [3]]


def test_a_retained_gradient_is_transposed_with_the_tensor():
    w = leaf([[1.0, 2.0], [3.0, 4.0]])
    weight = mt.to_tensor([[1.0, 2.0], [3.0, 4.0]], "float64")
    x = w + 0
    x.retain_grads()
    (x * weight).sum().backward()
    x.t_()
    assert x.grad.tolist() == [[1, 3], [2, 4]]
    (x * weight).sum().backward()
    assert x.grad.tolist() == [[1, 2], [3, 4]]


def test_calling_retain_grads_twice_does_not_double_the_gradient():
    w = leaf([1.0])
    x = w * 1
    x.retain_grads()
    x.retain_grads()
    (x * 2).backward()
    assert x.grad.tolist() == [2]


def test_retain_grads_refuses_a_constant_and_does_nothing_on_a_leaf():
    with pytest.raises(RuntimeError, match="requires no gradient"):
        mt.ones([2]).retain_grads()
    w = leaf([1.0])
    w.retain_grads()
    (w * 2).backward()
    assert w.grad.tolist() == [2]


def test_a_retained_gradient_is_dropped_if_the_tensor_becomes_a_leaf():
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


def test_clear_grad_fills_the_gradient_with_zeros_or_removes_it():
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


def test_the_gradient_of_a_leaf_can_be_assigned_and_backward_adds_to_it():
    w = leaf([1.0, 2.0])
    w.grad = mt.to_tensor([10.0, 20.0], "float64")
    (w * 2).backward()
    assert w.grad.tolist() == [12, 22]
    w.grad = None
    assert w.grad is None


def test_the_error_about_a_wrong_assigned_gradient_says_what_is_wrong():
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


@pytest.mark.parametrize("create_graph", [False, True])
def test_an_error_of_grad_about_a_retained_gradient_names_grad(create_graph):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    y.retain_grad()
    z = (y * y).sum()
    z.backward(retain_graph=True)
    y.grad.unsqueeze_(-1)
    with pytest.raises(RuntimeError, match=r"^grad: a gradient of shape \[2\] cannot be added"):
        torch.autograd.grad(z, x, retain_graph=True, create_graph=create_graph)
    assert y.grad.tolist() == [[2.0], [8.0]]
