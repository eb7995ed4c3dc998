"""Test that an in-place operation that raises an error changes nothing visible.

Here every in-place operation is refused because of its target, its shapes or its operands.
test_all_or_nothing_values.py is about numbers, dtypes, indices and backward.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import minitensor as mt
from tests.support.engine.samples import POSITIVE
from tests.support.engine.scenes import BINARY, METADATA, TARGETS, WRITES, Scene, expect_no_trace, member, run
from tests.support.engine.state import Moment

# ---------- causes of failure ----------

LEAF = r"Leaf Var \(\w+\) that doesn't stop gradient can't use inplace strategy"


def leaf() -> Scene:
    w = mt.to_tensor(POSITIVE, stop_gradient=False)
    (w * 2).backward()
    return Scene(w)


def view_of_a_leaf() -> Scene:
    w = mt.to_tensor(POSITIVE.T.copy(), stop_gradient=False)
    view = w.T
    return Scene(view, w=w, other=w[1], squares=view * view)


def view_of_a_view_of_a_leaf() -> Scene:
    w = mt.to_tensor(np.stack([POSITIVE, POSITIVE]), stop_gradient=False)
    return Scene(w[1][:, ::-1], w=w)


def view_of_a_constant_that_became_a_leaf() -> Scene:
    whole = mt.to_tensor(POSITIVE.T.copy())
    view = whole.T
    whole.stop_gradient = False
    return Scene(view, w=whole)


LEAVES = [leaf, view_of_a_leaf, view_of_a_view_of_a_leaf, view_of_a_constant_that_became_a_leaf]


@pytest.mark.parametrize("make", LEAVES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", [*WRITES, *METADATA])
def test_a_leaf_that_requires_a_gradient_or_a_view_of_one_is_not_written(name: str, make):
    expect_no_trace(make, {**WRITES, **METADATA}[name], ValueError, LEAF)


@pytest.mark.parametrize("make", [f for f in LEAVES if f is not leaf], ids=lambda f: f.__name__)
def test_set_value_does_not_write_through_a_view_of_a_leaf(make):
    expect_no_trace(make, lambda x: x.set_value(np.zeros([2, 3])), ValueError, LEAF)


def overlapping(grad: bool) -> Callable[[], Scene]:
    def make() -> Scene:
        w = mt.to_tensor(np.arange(1.0, 5.0), stop_gradient=not grad)
        x = w * 1
        around = {"w": w, "x": x} if grad else {"x": x}
        return Scene(x.as_strided([2, 3], [1, 1], 0), **around)

    make.__name__ = "recorded" if grad else "plain"
    return make


@pytest.mark.parametrize("make", [overlapping(False), overlapping(True)], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", [*(name for name in WRITES if name != "x[0] = v"), "set_value"])
def test_a_tensor_whose_elements_share_memory_is_not_written(name: str, make):
    attempt = WRITES.get(name, lambda x: x.set_value(np.zeros([2, 3])))
    expect_no_trace(make, attempt, RuntimeError, "same memory cell")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", BINARY)
def test_a_target_is_never_broadcast_to_a_larger_shape(name: str, target: str):
    expect_no_trace(
        TARGETS[target],
        lambda x: run(name, x, mt.ones([4, 2, 3], "float64")),
        ValueError,
        r"The shape of broadcast output \[4, 2, 3\] is different from that of inplace tensor \[2, 3\] "
        r"in the Inplace operation\.",
    )


@pytest.mark.parametrize("name", BINARY)
def test_a_target_dimension_of_length_one_is_not_broadcast(name: str):
    x = mt.ones([2, 1])
    before = Moment(x=x)
    with pytest.raises(ValueError, match=r"\[2, 3\] is different from that of inplace tensor \[2, 1\]"):
        run(name, x, mt.ones([2, 3]))
    before.expect_unchanged()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", BINARY)
def test_the_error_names_shapes_that_do_not_broadcast(name: str, target: str):
    expect_no_trace(
        TARGETS[target],
        lambda x: run(name, x, mt.ones([4], "float64")),
        ValueError,
        rf"{name}_: operands of shape \[2, 3\] and \[4\] cannot be broadcast together",
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("wrong", ["text", None, object(), {1: 2}, 1j, mt.Tensor], ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("name", BINARY)
def test_the_error_names_the_type_of_an_invalid_operand(name: str, wrong: object, target: str):
    expect_no_trace(TARGETS[target], lambda x: run(name, x, wrong), TypeError, rf"{name}_: .*{type(wrong).__name__}")


@pytest.mark.parametrize("name", BINARY)
def test_the_error_says_that_a_list_is_ragged(name: str):
    expect_no_trace(member, lambda x: run(name, x, [[1.0, 2.0], [3.0]]), ValueError, "ragged")
