"""An operation that turns into another one is reported where the program called it."""

from __future__ import annotations

import pytest

import minitensor as mt

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
def test_the_error_names_the_line_that_overwrote(name: str):
    h = recorded()
    y = h * h
    REDIRECTED[name](h)
    with pytest.raises(RuntimeError, match=r"overwritten: .*\(test_redirected\.py, line \d+: .*lambda h"):
        y.sum().backward()


def test_a_normal_operation_too():
    y = recorded().divide(2.0, rounding_mode="trunc")
    assert "test_redirected.py" in repr(y.grad_fn)
