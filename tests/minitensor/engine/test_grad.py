"""Test that grad() returns gradients for leaves and for intermediate values, and changes no `.grad`."""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from tests.support.engine.differences import leaf


def test_grad_returns_gradients_and_changes_no_grad_attribute():
    u, v = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    x = u * v
    y = (x * u).sum()
    gu, gx, gv = mt.grad(y, [u, x, v])
    assert gu.tolist() == [6, 16] and gx.tolist() == [1, 2] and gv.tolist() == [1, 4]
    assert u.grad is None and v.grad is None and x.grad is None


def test_grad_adds_the_gradients_of_several_outputs_each_with_an_initial_gradient():
    w = leaf([1.0, 2.0])
    start = mt.to_tensor([10.0, 100.0], "float64")
    (g,) = mt.grad([w * 2, w * w], [w], [start, None])
    assert g.tolist() == [22, 204]


@pytest.mark.parametrize("shape", [[], [1], [2]])
def test_the_gradient_of_an_output_that_is_given_twice_is_doubled(shape: list[int]):
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


def test_the_gradient_for_an_output_itself_is_its_initial_gradient():
    w = leaf([1.0, 2.0])
    y = w * 3
    z = y * y
    gz, gy = mt.grad(z, [z, y])
    assert gz.tolist() == [1, 1] and gy.tolist() == [6, 12]


def test_grad_is_right_if_one_output_depends_on_another():
    w = leaf([2.0])
    y = w * 3
    z = y * y
    gw, gy = mt.grad([y, z], [w, y])
    assert gy.tolist() == [13] and gw.tolist() == [39]


def test_grad_frees_saved_values_unless_retain_graph_is_true():
    w = leaf([1.0, 2.0])
    y = w.exp()
    mt.grad(y, w, retain_graph=True)
    mt.grad(y, w)
    with pytest.raises(RuntimeError, match="freed"):
        mt.grad(y, w)


def test_grad_names_the_input_that_the_outputs_do_not_depend_on():
    u, v = leaf([1.0]), leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"do not depend on input 1 \(shape \[2\]\).*allow_unused"):
        mt.grad(u * 2, [u, v])
    g, none = mt.grad(u * 2, [u, v], allow_unused=True)
    assert g.tolist() == [2] and none is None


def test_grad_refuses_an_input_that_was_overwritten_after_its_use():
    # After `scale_`, `x` stands for its new value, on which `y` does not depend. PyTorch raises an error, too.
    w = leaf([1.0, 2.0])
    x = w * 1
    y = x + 3
    x.scale_(2.0)
    with pytest.raises(RuntimeError, match="do not depend on input 0"):
        mt.grad(y, x)
    assert mt.grad(y, w)[0].tolist() == [1, 1]


def test_grad_for_a_tensor_written_in_place_is_the_gradient_for_its_new_value():
    w = leaf([1.0, 2.0])
    x = w * 1
    x.scale_(5.0)
    y = x * x
    gx, gw = mt.grad(y, [x, w])
    assert gx.tolist() == [10, 20] and gw.tolist() == [50, 100]


def test_grad_returns_gradients_for_a_view_and_for_its_base():
    w = leaf([1.0, 2.0, 3.0])
    x = w * 1
    view = x[0:2]
    y = (view * x[1:]).sum()
    gv, gx = mt.grad(y, [view, x])
    assert gv.tolist() == [2, 3] and gx.tolist() == [2, 4, 2]


def test_an_error_about_an_argument_names_what_is_wrong_with_it():
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


def test_grad_calls_hooks_and_uses_their_results():
    w = leaf([1.0, 2.0])
    x = w * 1
    x.register_hook(lambda g: g * 10)
    gx, gw = mt.grad(x * 2, [x, w])
    assert gx.tolist() == [20, 20] and gw.tolist() == [20, 20]


@pytest.mark.parametrize("create_graph", [False, True])
def test_grad_differentiates_only_the_branches_that_lead_to_its_inputs(create_graph):
    """On other branches, hooks are not called, and saved values are neither read nor freed."""
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    hook_calls, overwritten = [], w * 3
    product = overwritten * overwritten
    overwritten.add_(1.0)
    branch = w.exp()
    branch.register_hook(lambda g: hook_calls.append("branch"))
    total = (x * x).sum() + branch.sum() + product.sum()
    (g,) = mt.grad(total, x, create_graph=create_graph, retain_graph=False)
    assert g.tolist() == [2.0, 4.0] and hook_calls == []
    branch.sum().backward()  # the saved value was not freed
    assert hook_calls == ["branch"] and w.grad.numpy() == pytest.approx(np.exp([3.0, 4.0]))


def test_grad_for_an_intermediate_value_does_not_differentiate_the_operations_that_computed_it():
    x = leaf([1.0, 2.0])
    y = x.exp()
    z = (y * y).sum()
    (g,) = mt.grad(z, y, retain_graph=False)
    assert g.numpy() == pytest.approx(2 * np.exp([1.0, 2.0]))
    y.sum().backward()  # grad did not run the backward of `exp`, so the saved result is still there
    assert x.grad.numpy() == pytest.approx(np.exp([1.0, 2.0]))


def test_grad_adds_the_gradients_of_two_paths_from_one_input():
    x = leaf([1.0, 2.0])
    (g,) = mt.grad((x.square() * x).sum(), x, retain_graph=False)
    assert g.tolist() == [3.0, 12.0]


def test_an_error_about_a_recorded_gradient_names_the_line_of_the_program():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    (g,) = mt.grad((x @ x).exp().sum(), x, create_graph=True)
    g.sum().backward()
    with pytest.raises(RuntimeError, match=r"test_grad\.py, line \d+: ") as raised:
        g.sum().backward()
    assert "numpy" not in str(raised.value) and "_ufunc" not in str(raised.value)
