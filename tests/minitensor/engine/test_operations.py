"""Compare every operation of the derivative table with numpy, and its gradient with central differences.

The table drives the tests: they fail for a new row that has no sample.
"""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.table import ROWS, Row
from minitensor.engine.views import scanning
from tests.support.engine.differences import expect_gradients, leaf
from tests.support.engine.samples import DIFFERENTIABLE, NORMAL, SAMPLES, Sample
from tests.support.engine.samples_indexed import ELSEWHERE

A, B = np.array([[1.0, -2.0], [3.0, 0.5]]), np.array([0.25, 4.0])


def test_every_row_of_the_table_has_a_sample():
    pytest.importorskip("scipy")  # without scipy the special functions have no samples
    assert {s.name for s in SAMPLES} | ELSEWHERE == set(ROWS)


@pytest.mark.parametrize("given", NORMAL, ids=str)
def test_the_result_equals_that_of_numpy(given: Sample):
    result = given.run(given.tensors())
    want = given.reference(*given.arrays)
    assert result.shape == list(np.shape(want))
    assert (result.dtype == "bool") == (want.dtype == bool)
    np.testing.assert_allclose(result.numpy(), want, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("given", [s for s in NORMAL if "T" in s.row.namespaces and s.target == 0], ids=str)
def test_a_method_returns_the_same_as_the_function(given: Sample):
    x, *others = given.tensors()
    result = getattr(x, given.name)(*others, **given.arguments)
    np.testing.assert_array_equal(result.numpy(), given.run([x, *others]).numpy())


@pytest.mark.parametrize("row", [row for row in ROWS.values() if row.normal or row.in_place], ids=lambda row: row.name)
def test_an_operation_exists_under_every_name_and_in_every_module_of_its_row(row: Row):
    places = {"T": mt.Tensor, "m": mt, "F": mt.nn.functional}
    for each in (row.name, *row.aliases):
        for name, exists in ((each, row.normal), (each + "_", row.in_place)):
            for space, place in places.items():
                if exists and space in row.namespaces:
                    # Paddle's cumsum_ converts its tensor before the operation writes it.
                    found = scanning.FUNCTIONS.get(name, FUNCTIONS[name]) if space != "F" else FUNCTIONS[name]
                    assert getattr(place, name) is found, f"{name} in {place}"


@pytest.mark.parametrize("given", NORMAL, ids=str)
def test_a_normal_operation_makes_a_new_storage_and_does_not_change_its_inputs(given: Sample):
    inputs = given.tensors()
    result = given.run(inputs)
    assert result.inplace_version == 0 and all(x.inplace_version == 0 for x in inputs)
    for x, array in zip(inputs, given.arrays, strict=True):
        np.testing.assert_array_equal(x.numpy(), array)
    if result.size:
        result.fill_(0)
    for x, array in zip(inputs, given.arrays, strict=True):
        np.testing.assert_array_equal(x.numpy(), array)


@pytest.mark.parametrize("given", DIFFERENTIABLE, ids=str)
def test_the_gradient_agrees_with_central_differences(given: Sample):
    places = given.wanting()
    inputs = given.tensors(*places)
    result = given.run(inputs)
    expect_gradients(given.moved(places), [inputs[i] for i in places], result)


@pytest.mark.parametrize(
    "given, place", [(s, i) for s in DIFFERENTIABLE if len(s.arrays) > 1 for i in s.wanting()], ids=str
)
def test_the_gradient_is_right_if_only_one_operand_requires_one(given: Sample, place: int):
    inputs = given.tensors(place)
    expect_gradients(given.moved([place]), [inputs[place]], given.run(inputs))
    assert all(x.grad is None for i, x in enumerate(inputs) if i != place)


@pytest.mark.parametrize("given", {s.name: s for s in DIFFERENTIABLE}.values(), ids=lambda s: s.name)
def test_a_result_requires_a_gradient_if_an_input_does(given: Sample):
    constant = given.run(given.tensors())
    assert constant.stop_gradient and constant.is_leaf and constant.grad_fn is None
    inputs = given.tensors(given.wanting()[-1])
    recorded = given.run(inputs)
    assert not recorded.stop_gradient and not recorded.is_leaf and recorded.grad_fn.name == given.name
    with mt.no_grad():
        assert given.run(inputs).stop_gradient


@pytest.mark.parametrize("name", ["equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal"])
def test_a_comparison_returns_bools_that_require_no_gradient(name: str):
    result = getattr(mt, name)(leaf([1.0, 2.0]), leaf([2.0, 2.0]))
    assert result.dtype == "bool" and result.stop_gradient


# ---------- kinks, ties, special values ----------


def slope(function, values):
    x = leaf(values)
    function(x).backward()
    return x.grad.tolist()


def test_the_slope_of_abs_relu_clip_and_round_at_a_kink_is_the_documented_one():
    assert slope(mt.abs, [-2.0, 0.0, 2.0]) == [-1, 0, 1]
    assert slope(mt.relu, [-2.0, 0.0, 2.0]) == [0, 0, 1]
    assert slope(lambda x: x.clip(-1.0, 1.0), [-2.0, -1.0, 0.0, 1.0, 2.0]) == [0, 0, 1, 0, 0]
    assert slope(mt.round, [0.5, 1.2]) == [0, 0]


def test_if_the_operands_of_maximum_or_minimum_are_equal_the_second_gets_the_gradient():
    for operation in (mt.maximum, mt.minimum):
        x, y = leaf([1.0, 2.0]), leaf([1.0, 5.0])
        operation(x, y).backward()
        assert (x.grad + y.grad).tolist() == [1, 1]
        assert x.grad[0].item() == 0


def test_equal_largest_or_smallest_elements_share_the_gradient():
    assert slope(mt.max, [3.0, 1.0, 3.0]) == [0.5, 0, 0.5]
    assert slope(lambda x: x.min(axis=0), [[1.0, 2.0], [1.0, 0.0]]) == [[0.5, 0], [0.5, 1]]


def test_powers_at_zero_have_finite_slopes_if_calculus_defines_them():
    assert slope(lambda x: x**2, [0.0, 3.0]) == [0, 6]
    assert slope(lambda x: x**0, [0.0, 3.0]) == [0, 0]
    assert slope(lambda x: x**1, [0.0]) == [1]
    assert slope(lambda x: x**3, [0.0, -2.0]) == [0, 12]
    y = leaf([2.0])
    (mt.zeros([1], "float64") ** y).backward()
    assert y.grad.tolist() == [0]


def test_halves_are_rounded_away_from_zero():
    # These results were recorded from Paddle 2.6.2. PyTorch rounds halves to even.
    x = mt.to_tensor([0.5, 1.5, 2.5, -0.5, -2.5, 0.49999997])
    assert x.round().tolist() == [1, 2, 3, -1, -3, 0]
    big = [1e20, -1e20, float("inf"), float("-inf")]
    assert mt.to_tensor(big, "float64").round().tolist() == big


def test_functions_of_nan_return_nan():
    x = mt.to_tensor([float("nan"), -1.0])
    for name in ("relu", "abs", "neg", "round", "sigmoid", "tanh", "square", "exp"):
        assert np.isnan(getattr(x, name)().numpy()[0]), name
    assert np.isnan(x.max().item()) and np.isnan(mt.maximum(x, mt.zeros([2])).numpy()[0])


def test_sigmoid_does_not_overflow():
    assert mt.to_tensor([-1000.0, 0.0, 1000.0]).sigmoid().tolist() == [0, 0.5, 1]


def test_max_and_min_of_no_elements_raise_and_sum_and_prod_do_not():
    assert mt.zeros([0]).sum().item() == 0
    assert mt.zeros([0]).prod().item() == 1
    for name in ("max", "min"):
        with pytest.raises(ValueError, match=rf"{name}.*(\[0\]|empty|no elements)"):
            getattr(mt.zeros([0]), name)()


# ---------- arguments that change after the call ----------


@pytest.mark.parametrize("make", [mt.to_tensor, np.array], ids=["tensor", "array"])
def test_a_factor_that_changes_later_does_not_change_the_gradient(make):
    x, factor = leaf([1.0, 2.0]), make(3.0)
    y = x.scale(factor)
    factor[...] = 100.0
    y.backward()
    assert y.tolist() == [3, 6] and x.grad.tolist() == [3, 3]


@pytest.mark.parametrize("make", [mt.to_tensor, np.array], ids=["tensor", "array"])
def test_a_bound_that_changes_later_does_not_change_the_gradient(make):
    x, low, high = leaf([1.0, 2.0, 3.0]), make(1.5), make(2.5)
    y = x.clip(low, high)
    low[...], high[...] = 0.0, 100.0
    y.backward()
    assert y.tolist() == [1.5, 2, 2.5] and x.grad.tolist() == [0, 1, 0]


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod"])
def test_a_list_of_axes_that_changes_later_does_not_change_the_gradient(name: str):
    values = np.array([[1.0, 2.0], [3.0, 5.0]])
    gradients = []
    for change in (False, True):
        x, axes = leaf(values), [0]
        y = getattr(x, name)(axis=axes)
        if change:
            axes[0] = 1
        y.backward(mt.to_tensor([1.0, 10.0], "float64"))
        gradients.append(x.grad.tolist())
    assert gradients[0] == gradients[1]


def test_an_axis_given_as_a_tensor_that_changes_later_does_not_change_the_gradient():
    x, axis = leaf([[1.0, 2.0], [3.0, 5.0]]), mt.to_tensor(0)
    y = x.sum(axis=axis)
    axis.fill_(1)
    y.backward(mt.to_tensor([1.0, 10.0], "float64"))
    assert x.grad.tolist() == [[1, 10], [1, 10]]


def test_a_factor_that_requires_a_gradient_is_refused_or_gets_its_gradient():
    x, factor = leaf([1.0, 2.0]), leaf(3.0)
    try:
        y = x.scale(factor)
    except (TypeError, ValueError) as error:
        assert "scale" in str(error)
        return
    y.backward()
    assert factor.grad is not None and factor.grad.item() == 3


# ---------- operands that are numbers, arrays or lists; Python's operators ----------

OPERATORS = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
    "**": lambda x, y: x**y,
    "@": lambda x, y: x @ y,
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
}


@pytest.mark.parametrize("sign", OPERATORS)
@pytest.mark.parametrize("side", ["tensor and tensor", "tensor and array", "array and tensor"])
def test_an_operator_works_with_an_array_on_either_side(sign: str, side: str):
    x, y = np.abs(A), B
    left = x if side == "array and tensor" else mt.to_tensor(x)
    right = y if side == "tensor and array" else mt.to_tensor(y)
    result = OPERATORS[sign](left, right)
    assert type(result) is mt.Tensor
    np.testing.assert_allclose(result.numpy(), OPERATORS[sign](x, y), rtol=1e-12)


@pytest.mark.parametrize("sign", [s for s in OPERATORS if s != "@"])
@pytest.mark.parametrize("number", [2, 2.5, True, np.float64(0.5), np.float32(0.5), np.int64(3), np.int32(3)])
def test_an_operator_works_with_a_number_on_either_side(sign: str, number):
    x = np.abs(A)
    for result, want in (
        (OPERATORS[sign](mt.to_tensor(x), number), OPERATORS[sign](x, float(number))),
        (OPERATORS[sign](number, mt.to_tensor(x)), OPERATORS[sign](float(number), x)),
    ):
        assert type(result) is mt.Tensor
        np.testing.assert_allclose(result.numpy(), want, rtol=1e-12)


@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "**"])
def test_the_gradient_of_an_operator_with_a_number_on_the_left_is_right(sign: str):
    x = leaf([[0.5, 1.5], [2.0, 3.0]])
    expect_gradients(lambda v: OPERATORS[sign](2.5, v), [x], OPERATORS[sign](2.5, x))


def test_the_gradient_of_an_operator_with_an_array_on_the_left_is_right():
    x = leaf([[0.5, 1.5], [2.0, 3.0]])
    expect_gradients(lambda v: A - v, [x], A - x)
    y = leaf([[0.5, 1.5], [2.0, 3.0]])
    expect_gradients(lambda v: A @ v, [y], A @ y)


def test_lists_are_accepted_as_operands():
    assert (mt.to_tensor([1.0, 2.0]) + [10, 20]).tolist() == [11, 22]
    assert mt.maximum([1, 5], mt.to_tensor([3, 3])).tolist() == [3, 5]
    assert mt.where([True, False], mt.to_tensor([1.0, 2.0]), 0).tolist() == [1, 0]


def test_the_condition_of_where_may_be_a_python_bool():
    x, y = mt.to_tensor([1.0, 2.0]), mt.to_tensor([3.0, 4.0])
    assert mt.where(True, x, y).tolist() == [1, 2]
    assert mt.where(False, x, y).tolist() == [3, 4]


def test_minus_and_abs_work_as_operators():
    x = mt.to_tensor([-1.5, 2.0])
    assert (-x).tolist() == [1.5, -2] and abs(x).tolist() == [1.5, 2]


def test_an_augmented_assignment_binds_the_name_to_a_new_tensor():
    # Paddle's recorded results show that its augmented assignments are not in place.
    for assign in ("x += 1", "x -= 1", "x *= 2", "x /= 2", "x **= 2"):
        names = {"x": mt.to_tensor([1.0, 2.0])}
        before = names["x"]
        exec(assign, names)
        assert names["x"] is not before and before.tolist() == [1, 2] and before.inplace_version == 0


def test_zero_and_minus_zero_stay_distinct():
    one = mt.to_tensor([1.0])
    for _ in range(2):
        assert (one / 0.5).item() == 2
        assert np.signbit((one * -0.0).numpy()[0]) and not np.signbit((one * 0.0).numpy()[0])


def test_true_and_one_stay_distinct():
    flags = mt.to_tensor([True, False])
    for _ in range(2):
        assert (flags * True).dtype == "bool"
        assert (flags * 1).dtype == "int64"
        assert (flags * 1.0).dtype == "float32"
