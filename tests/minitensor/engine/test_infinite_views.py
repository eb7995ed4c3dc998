"""Test infinite and undefined numbers in views, in writes through views and indices, and in joins.

The checks are those of ``unread``. A result does not depend on overwritten values or on elements outside of a view.
Backward has to select the gradients of the other elements, because multiplying by 0 would turn inf into nan.
"""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from minitensor.engine.modes import POLICIES
from tests.support.engine.unread import NOT_FINITE, Program, check, gradients, warnings_as_errors

GRID = np.array([[0.3, -1.2, 2.1], [1.7, 0.4, -0.8], [-0.5, 2.6, 0.7]])
ROW = np.array([0.9, -1.1, 1.4])
ONE = np.array(0.6)
PROGRAMS: list[Program] = []


def program(*arrays: np.ndarray, composed: bool = False):
    """Return a decorator that registers a function of tensors as a program on the numbers of ``arrays``."""

    def add(run):
        PROGRAMS.append(Program(run.__name__.replace("_", " "), run, arrays, composed=composed))
        return run

    return add


# ---------- views ----------

VIEWS = {
    "a row": lambda x: x[1],
    "a column": lambda x: x[:, 2],
    "an element": lambda x: x[0, 1],
    "every second row": lambda x: x[::2, 1:],
    "reversed": lambda x: x[::-1, ::-2],
    "nothing": lambda x: x[:, :0],
    "the diagonal": lambda x: x.diagonal(),
    "another diagonal": lambda x: x.diagonal(-1, 1, 0),
    "transposed": lambda x: x.t()[0],
    "reshaped": lambda x: x.reshape([9])[2:7],
    "strided": lambda x: x.as_strided([2, 2], [3, 2], 1),
    "overlapping": lambda x: x.as_strided([3, 2], [1, 2], 2),
    "unbound": lambda x: x.unbind(1)[1],
    "sliced": lambda x: x.slice([1], [1], [3]),
    "a view of a view": lambda x: x[1:].t()[1][0:1],
    "picked rows": lambda x: x[[2, 0, 2]],
    "picked elements": lambda x: x[[0, 1], [2, 0]],
    "a mask": lambda x: x[mt.to_tensor(GRID > 1)],
    "a split": lambda x: x.split([1, -1])[1],
    "a chunk": lambda x: x.chunk(3, 1)[2],
}
READS = [Program(f"{name} read", view, (GRID,)) for name, view in VIEWS.items()]
COPIES = ("overlapping", "picked rows", "picked elements", "a mask", "a split", "a chunk")
WRITES = {
    "fill_": lambda v: v.fill_(2.0),
    "multiply_": lambda v: v.multiply_(v * 0.5),
    "relu_": lambda v: mt.relu_(v),
    "setitem": lambda v: v.__setitem__((), 1.5),
}


def written(view, write):
    def run(x: mt.Tensor) -> mt.Tensor:
        whole = x.clone()
        write(view(whole))
        return whole

    return run


def seen(view, write):
    """Return a program that writes through a view and reads the result through another, earlier view."""

    def run(x: mt.Tensor) -> mt.Tensor:
        whole = x.clone()
        other = whole[:, 1:]
        write(view(whole))
        return other

    return run


THROUGH = [
    Program(f"{kind} through {name}, {what}", make(view, write), (GRID,), composed=kind == "multiply_")
    for name, view in VIEWS.items()
    if name not in COPIES
    for kind, write in WRITES.items()
    for what, make in (("the whole", written), ("another view", seen))
]


# ---------- assignment by index, and joins ----------


@program(GRID, ROW)
def setitem_of_a_row(x, v):
    x = x.clone()
    x[1] = v
    return x


@program(GRID, ONE)
def setitem_broadcast_over_a_column(x, v):
    x = x.clone()
    x[:, 1] = v
    return x


@program(GRID, ROW)
def setitem_of_a_value_with_a_leading_dimension_of_1(x, v):
    x = x.clone()
    x[2] = v.reshape([1, 3])
    return x


@program(GRID, GRID + 1)
def setitem_at_rows_listed_twice(x, v):
    x = x.clone()
    x[[1, 1, 0]] = v
    return x


@program(GRID, ROW)
def setitem_at_elements_listed_twice(x, v):
    x = x.clone()
    x[[0, 2, 0], [1, 1, 1]] = v
    return x


@program(GRID, ROW)
def setitem_at_a_mask(x, v):
    x = x.clone()
    x[mt.to_tensor(GRID > 1)] = v
    return x


@program(GRID, ONE)
def setitem_of_one_number_at_a_mask(x, v):
    x = x.clone()
    x[mt.to_tensor(GRID > 1)] = v
    return x


@program(GRID, GRID[:0])
def setitem_at_an_empty_list(x, v):
    x = x.clone()
    x[[]] = v
    return x


@program(GRID)
def setitem_from_its_own_memory(x):
    x = x.clone()
    x[0] = x[:, 1]
    return x


@program(GRID, ROW)
def copy_of_a_row(x, v):
    return x.clone().copy_(v)


@program(ONE, np.array(1.3))
def copy_without_dimensions(x, v):
    return x.clone().copy_(v)


@program(GRID)
def set_value_of_a_part(x):
    x = x.clone()
    x[1:].set_value(mt.ones([2, 3], "float64"))
    return x


@program(GRID, ROW)
def a_view_made_before_the_write(x, v):
    x = x.clone()
    row = x[1]
    x[1] = v
    return row * x[0]


@program(GRID, ROW)
def two_writes_over_each_other(x, v):
    x = x.clone()
    x[0:2] = v
    x.diagonal().fill_(3.0)
    return x


@program(GRID)
def written_and_overwritten_again(x):
    y = x.clone()
    y[1].scale_(3.0)
    y[1:].zero_()
    return y


@program(GRID, ROW)
def one_input_of_a_concat(x, v):
    return mt.concat([x, v.reshape([1, 3])])[3:]


@program(GRID, GRID * 2)
def one_input_of_a_stack(x, y):
    return mt.stack([x, y], axis=1)[:, 0]


@program(ROW)
def a_part_of_an_expanded_row(x):
    return x.expand([3, 3]).diagonal()[:2]


@program(np.zeros((0, 3)), np.zeros((0, 3)))
def no_elements_at_all(x, y):
    x = x.clone()
    x.multiply_(y)
    x[:] = y
    return mt.concat([x, y])


@program(np.zeros((0, 3)), ROW)
def no_elements_and_a_row(x, y):
    return x * y


@program(np.zeros((2, 0)))
def sums_of_no_elements(x):
    return x.sum(axis=1)


@program(ONE)
def no_dimensions(x):
    y = x.clone()
    y.fill_(2.0)
    return y * mt.where(mt.to_tensor(False), x, mt.ones([], "float64"))


@program(GRID, ROW, composed=True)
def masked_twice(x, v):
    return mt.where(mt.to_tensor(GRID > 0), x.clip(-1.0, 2.0) * v, mt.zeros([3, 3], "float64"))


@program(GRID, ROW)
def a_row_of_float32(x, v):
    y = x.astype("float32").clone()
    y[0] = v
    return y.astype("float64")


@pytest.mark.parametrize("given", READS + PROGRAMS, ids=str)
def test_inf_and_nan_in_elements_that_are_not_read_change_no_gradient(given: Program):
    check(given)


@pytest.mark.parametrize("given", THROUGH, ids=str)
def test_inf_and_nan_overwritten_through_a_view_change_no_gradient(given: Program):
    check(given)


@pytest.mark.parametrize("given", PROGRAMS, ids=str)
def test_under_copy_on_write_unread_inf_and_nan_change_no_gradient(given: Program):
    with mt.set_inplace_policy("copy_on_write"):
        check(given)


# ---------- saved values and hooks ----------


@pytest.mark.parametrize("poison", NOT_FINITE)
def test_inf_and_nan_written_over_a_saved_tensor_change_no_gradient_under_copy_on_write(poison):
    mt.set_inplace_policy("copy_on_write")
    x = mt.to_tensor(GRID, stop_gradient=False)
    y = x * 1.0
    z = y * y
    y[1] = poison
    y.multiply_(poison)
    z.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * GRID)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("poison", NOT_FINITE)
def test_an_infinite_gradient_of_a_value_does_not_reach_earlier_values_that_were_overwritten(policy, poison):
    mt.set_inplace_policy(policy)
    x = mt.to_tensor(ROW, stop_gradient=False)
    y = x + 0.0
    y.register_hook(lambda g: g * 0 + poison)  # the gradient of the current value of y
    z = y + 0.0
    z[0:2] = 0.0
    z.backward()
    assert np.isnan(x.grad.numpy()).all() if np.isnan(poison) else (x.grad.numpy() == poison).all()
    other = mt.to_tensor(ROW, stop_gradient=False)
    y = other + 0.0
    y.fill_(1.0)
    y.register_hook(lambda g: g * 0 + poison)
    y.backward()
    assert (other.grad.numpy() == 0).all()


@pytest.mark.parametrize("poison", NOT_FINITE)
def test_a_sum_of_gradients_is_infinite_only_where_a_term_is_infinite(poison):
    x = mt.to_tensor(ROW, stop_gradient=False)
    incoming = mt.to_tensor(np.array([1.0, poison, 1.0]))
    with warnings_as_errors():
        (found,) = mt.grad([x[0:2] * 2.0, x * 3.0], [x], [incoming[1:], None])
    assert not np.isfinite(found.numpy()[0]) and found.numpy()[1:].tolist() == [5.0, 3.0]


def test_the_check_notices_nan_in_an_element_that_is_read():
    """This shows that other tests can fail: an incoming gradient of nan reaches each element that the result reads."""
    given = Program("sum", lambda x: x * 2.0, (ROW,))
    got = gradients(given, (ROW,), np.array([1.0, np.nan, 1.0]), [np.ones(3)])
    assert np.isnan(got.first[0]).tolist() == [False, True, False]
    bad = Program("a mask that multiplies", lambda x: x * mt.to_tensor(np.array([1.0, 0.0, 1.0])), (ROW,))
    with pytest.raises(AssertionError):
        check(bad)
