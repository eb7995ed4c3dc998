"""Test that nodes and errors name the program's line if one operation calls another."""

from __future__ import annotations

import pytest

import minitensor as mt
import minitensor.torch as torch

ROWS = [[0, 1, 0]]

REDIRECTED = {
    "divide_": lambda h: h.divide_(2.0, rounding_mode="floor"),
    "put_along_axis_": lambda h: h.put_along_axis_(mt.to_tensor(ROWS), 2.0, 0, "add"),
}


def recorded() -> mt.Tensor:
    return mt.ones([2, 3]).scale(3.0) + mt.to_tensor([[1.0], [2.0]], stop_gradient=False)


@pytest.mark.parametrize("name", REDIRECTED)
def test_the_node_names_the_line_of_the_program(name: str):
    h = REDIRECTED[name](recorded())
    assert "test_redirected.py" in repr(h.grad_fn)


@pytest.mark.parametrize("name", REDIRECTED)
def test_the_error_names_the_line_that_overwrote_a_saved_value(name: str):
    h = recorded()
    y = h * h
    REDIRECTED[name](h)
    with pytest.raises(RuntimeError, match=r"overwritten: .*\(test_redirected\.py, line \d+: .*lambda h"):
        y.sum().backward()


def test_the_node_of_a_division_with_rounding_names_the_line_of_the_program():
    y = recorded().divide(2.0, rounding_mode="trunc")
    assert "test_redirected.py" in repr(y.grad_fn)


def test_the_node_of_the_factor_alpha_names_the_line_of_the_program():
    y = mt.ones([2, 3]).add(recorded(), alpha=2.0)
    assert "test_redirected.py" in repr(y.grad_fn.inputs[1])


def test_nodes_of_operations_in_pytorchs_vocabulary_name_the_line_of_the_program():
    t = torch.ones(3, requires_grad=True)
    for y in (t.div(2.0, rounding_mode="trunc"), torch.ones(3).sub(t, alpha=2), mt.ones([3]) - t):
        nodes = [node for node in (y._node, *y._node.inputs) if node is not None]
        assert len(nodes) > 1 and all("test_redirected.py" in str(node.place) for node in nodes)


def test_the_error_about_alpha_names_the_function_that_the_program_called():
    with pytest.raises(TypeError, match=r"^sub\b.*alpha"):
        torch.sub(torch.ones(2), torch.ones(2), alpha="a")


def test_source_returns_the_text_of_an_operation_in_both_vocabularies():
    for source, first in ((mt.source, "def add_(x, y"), (torch.source, "def add_(input, other")):
        assert source("add_").startswith(first) and "rules of sin" in source("sin_backward")
