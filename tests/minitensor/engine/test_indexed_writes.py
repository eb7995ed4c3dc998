"""Test operations with an index, a mask or a diagonal: values, gradients, duplicates, nan, inf and shared memory.

Values are compared with plain loops (samples_indexed.py), and gradients with central differences.
"""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from minitensor.engine.operations import FUNCTIONS
from tests.support.engine.differences import expect_gradients, leaf, leaf_like, weights
from tests.support.engine.named import expect_named
from tests.support.engine.samples_indexed import BLOCK, GRID, IN_PLACE, MASK, NORMAL, Case, tensors, whole

for_every_in_place_case = pytest.mark.parametrize("given", IN_PLACE, ids=str)


# ---------- values and gradients ----------


@pytest.mark.parametrize("given", NORMAL, ids=str)
def test_the_result_equals_that_of_a_plain_loop(given: Case):
    inputs = tensors(given)
    result = given.run(*inputs)
    want = given.reference(*given.arrays)
    assert result.shape == list(want.shape) and result.dtype == "float64" and result.is_contiguous()
    np.testing.assert_allclose(result.numpy(), want, rtol=1e-12, atol=1e-15)
    for x, array in zip(inputs, given.arrays, strict=True):
        np.testing.assert_array_equal(x.numpy(), array)
        assert x.inplace_version == 0 and x._storage is not result._storage


@for_every_in_place_case
def test_an_in_place_operation_returns_its_target_and_raises_the_version_by_1(given: Case):
    x, *others = tensors(given)
    pointer = x.data_ptr()
    assert given.run(x, *others, in_place=True) is x
    assert x.inplace_version == 1 and x.data_ptr() == pointer and x.dtype == "float64"
    np.testing.assert_allclose(x.numpy(), given.reference(*given.arrays), rtol=1e-12, atol=1e-15)


@for_every_in_place_case
@pytest.mark.parametrize("laid", ["transposed", "reversed", "every second column"])
def test_an_in_place_operation_is_right_for_every_layout_of_its_target(given: Case, laid: str):
    array = given.arrays[0]
    if laid == "transposed":
        x = mt.to_tensor(array.T.copy()).T
    elif laid == "reversed":
        x = mt.to_tensor(array[::-1, ::-1].copy())[::-1, ::-1]
    else:
        x = mt.to_tensor(np.repeat(array, 2, axis=1))[:, ::2]
    others = [mt.to_tensor(np.asfortranarray(a)[...]).T.T for a in given.arrays[1:]]
    given.run(x, *others, in_place=True)
    np.testing.assert_allclose(x.numpy(), given.reference(*given.arrays), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("given", NORMAL, ids=str)
def test_the_gradient_agrees_with_central_differences(given: Case):
    leaves = [leaf_like(array) for array in given.arrays]
    expect_gradients(given.reference, leaves, given.run(*leaves))


@for_every_in_place_case
def test_the_gradient_of_an_in_place_operation_agrees_with_central_differences(given: Case):
    leaves = [leaf_like(array) for array in given.arrays]
    x = leaves[0] * 1
    given.run(x, *leaves[1:], in_place=True)
    assert x.grad_fn.name == given.name + "_"
    expect_gradients(given.reference, leaves, x)


@for_every_in_place_case
def test_the_gradient_is_right_when_only_one_operand_requires_one(given: Case):
    for k in range(len(given.arrays)):
        inputs = [mt.to_tensor(a, stop_gradient=i != k) for i, a in enumerate(given.arrays)]
        target = inputs[0] * 1 if k == 0 else inputs[0]
        given.run(target, *inputs[1:], in_place=True)

        def reference(moved: np.ndarray, k: int = k) -> np.ndarray:
            return given.reference(*(moved if i == k else a for i, a in enumerate(given.arrays)))

        expect_gradients(reference, [inputs[k]], target)


def test_an_operation_is_a_method_and_a_function_as_in_paddle():
    for name in ("index_add", "index_fill", "index_put", "scatter", "scatter_add", "masked_fill", "masked_scatter"):
        assert all(hasattr(space, name + s) for space in (mt, mt.Tensor) for s in ("", "_"))
    for name in ("index_select", "gather", "take_along_axis", "masked_select", "put_along_axis"):
        assert hasattr(mt, name) and hasattr(mt.Tensor, name)
    assert not hasattr(mt, "put_along_axis_add") and not hasattr(mt.Tensor, "put_along_axis_mean_")


def test_the_argument_reduce_selects_the_operation():
    x = mt.to_tensor(GRID)
    for reduce, row in (
        ("add", "add"),
        ("mul", "multiply"),
        ("multiply", "multiply"),
        ("mean", "mean"),
        ("amin", "amin"),
    ):
        got = x.put_along_axis(whole([[1, 1, 0, 2]]), 0.5, 0, reduce)
        want = FUNCTIONS[f"put_along_axis_{row}"](x, whole([[1, 1, 0, 2]]), 0.5, 0)
        np.testing.assert_array_equal(got.numpy(), want.numpy())
    y = mt.to_tensor(GRID)
    assert y.put_along_axis_(whole([[1, 1, 0, 2]]), 0.5, 0, reduce="amax") is y and y.inplace_version == 1
    expect_named(lambda: x.put_along_axis(whole([[0]]), 1.0, 0, "sum"), "reduce", "'assign'", "'sum'")


# ---------- duplicates ----------


def test_the_last_of_several_values_for_one_element_is_stored_and_gets_the_gradient():
    order = np.random.default_rng(3).integers(0, 5, 2000)
    for index in (order, order[::-1].copy(), np.asfortranarray(order)):
        values = leaf(np.arange(2000.0))
        x = mt.zeros([5], "float64")
        x.scatter_(whole(index), values)
        last = [max(np.flatnonzero(index == k)) for k in range(5)]
        assert x.tolist() == [float(n) for n in last]
        x.sum().backward()
        assert np.flatnonzero(values.grad.numpy()).tolist() == sorted(last)


def test_the_value_that_is_last_in_the_order_of_a_matrix_index_is_stored():
    rng = np.random.default_rng(4)
    index, numbers = rng.integers(0, 3, (40, 50)), rng.normal(size=(40, 50))
    for lay in (np.ascontiguousarray, np.asfortranarray):
        want = np.zeros((3, 50))
        for i in range(40):
            for j in range(50):
                want[index[i, j], j] = numbers[i, j]
        x = mt.zeros([3, 50], "float64").put_along_axis(mt.to_tensor(lay(index)), mt.to_tensor(lay(numbers)), 0)
        np.testing.assert_array_equal(x.numpy(), want)
        flat, line = np.zeros(3), mt.zeros([3], "float64")
        for place, number in zip(index.ravel(), numbers.ravel(), strict=True):
            flat[place] = number
        line.index_put_((mt.to_tensor(lay(index)),), mt.to_tensor(lay(numbers)))
        np.testing.assert_array_equal(line.numpy(), flat)


def test_a_row_that_the_index_lists_twice_counts_once_in_the_gradient_of_the_fill_value():
    value = leaf(2.0)
    mt.zeros([3, 2], "float64").index_fill(whole([1, 1, -2]), 0, value).sum().backward()
    assert value.grad.item() == 2


# ---------- nan, inf ----------

#: For each operation that overwrites elements, a call and a mask of the elements that the call overwrites.
STORING = {
    "index_fill": (lambda op, x: op(x, whole([1]), 0, 2.0), [[0] * 4, [1] * 4, [0] * 4]),
    "scatter": (lambda op, x: op(x, whole([2, 0]), mt.to_tensor(BLOCK[:2])), [[1] * 4, [0] * 4, [1] * 4]),
    "index_put": (lambda op, x: op(x, (whole([0, 2]), whole([1, 3])), 5.0), [[0, 1, 0, 0], [0] * 4, [0, 0, 0, 1]]),
    "put_along_axis": (lambda op, x: op(x, whole([[1, 0, 1, 2]]), 3.0, 0), [[0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]]),
    "masked_fill": (lambda op, x: op(x, mt.to_tensor(MASK), 0.0), MASK),
    "masked_scatter": (lambda op, x: op(x, mt.to_tensor(MASK), mt.to_tensor(BLOCK)), MASK),
    "tril": (lambda op, x: op(x), [[0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]]),
    "triu": (lambda op, x: op(x), [[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0]]),
    "fill_diagonal": (lambda op, x: op(x, 1.0), [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]),
    "fill_diagonal_tensor": (
        lambda op, x: op(x, mt.zeros([3], "float64"), 1),
        [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
    ),
    "where": (lambda op, x: op(mt.to_tensor(~MASK), x, 0.0), MASK),
    **{
        f"put_along_axis_{how}": (
            lambda op, x: op(x, whole([[1, 0, 1, 2]]), np.inf, 0, include_self=False),
            [[0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]],
        )
        for how in ("add", "multiply", "mean", "amin", "amax")
    },
}


@pytest.mark.parametrize("incoming", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("old", [1.5, np.nan, np.inf])
@pytest.mark.parametrize("in_place", [False, True], ids=["normal", "in place"])
@pytest.mark.parametrize("name", STORING)
def test_an_overwritten_element_contributes_exactly_0(name: str, in_place: bool, old: float, incoming: float):
    call, overwritten = STORING[name]
    for create_graph in (False, True):
        w = leaf(np.full((3, 4), old))
        x = call(FUNCTIONS[name + "_" * in_place], w * 1 if in_place else w)
        (gradient,) = mt.grad(x, [w], mt.full(x.shape, incoming, "float64"), create_graph=create_graph)
        assert (gradient.numpy()[np.array(overwritten, bool)] == 0).all(), name
        # All other elements get the incoming gradient, or 0 if the element was nan and amax or amin compared it.
        rest = gradient.numpy()[~np.array(overwritten, bool)]
        assert np.isin(rest, [0.0] if np.isnan(old) and "_am" in name else incoming).all() or np.isnan(incoming)


def test_result_and_gradient_of_addmm_ignore_nan_and_inf_in_the_input_if_beta_is_0():
    for in_place in (False, True):
        w = leaf([[np.nan, np.inf]])
        c = w * 1
        result = FUNCTIONS["addmm" + "_" * in_place](c, mt.ones([1, 2], "float64"), mt.ones([2, 2], "float64"), beta=0)
        assert result.tolist() == [[2, 2]]
        result.backward(mt.full([1, 2], np.inf, "float64"))
        assert w.grad.tolist() == [[0, 0]]


def test_a_product_with_zeros_has_the_right_slopes():
    for zeros in ([0.0, 2.0, 3.0], [0.0, 0.0, 3.0]):
        w, values = leaf([5.0]), leaf(zeros)
        mt.operations.FUNCTIONS["put_along_axis_multiply"](w, whole([0, 0, 0]), values, 0).backward()
        others = [np.prod([5.0, *zeros[:k], *zeros[k + 1 :]]) for k in range(3)]
        assert values.grad.tolist() == others and w.grad.tolist() == [np.prod(zeros)]


def test_equal_largest_values_share_the_gradient():
    w, values = leaf([2.0, 7.0]), leaf([2.0, 1.0, 2.0])
    mt.put_along_axis(w, whole([0, 0, 0]), values, 0, "amax").backward()
    np.testing.assert_allclose(w.grad.numpy(), [1 / 3, 1])
    np.testing.assert_allclose(values.grad.numpy(), [1 / 3, 0, 1 / 3])


def test_results_of_inf_and_nan_raise_no_error_if_numpy_is_set_to_raise():
    with np.errstate(all="raise"):
        x = mt.to_tensor(np.array([1e308, np.inf]))
        assert x.index_add_(whole([0, 1]), 0, mt.to_tensor([1e308, -np.inf], "float64")).numpy()[0] == np.inf
        assert np.isnan(x.numpy()[1]) and x.inplace_version == 1
        y = mt.to_tensor(np.full([2, 2], 1e308))
        assert np.isinf(y.addmm_(y, y, alpha=1e308).numpy()).all()
        assert mt.to_tensor(np.full([2, 2], 1e308)).renorm_(2.0, 0, 1.0).numpy()[0, 0] == pytest.approx(0.5**0.5)


# ---------- shared memory ----------

OVERLAPPING = {
    "index_add": lambda op, x: op(x, whole([2, 1, 0]), 0, x),
    "index_add rows": lambda op, x: op(x, whole([1, 2]), 0, x[:2]),
    "scatter": lambda op, x: op(x, whole([2, 1, 0]), x),
    "scatter summed": lambda op, x: op(x, whole([2, 1, 0]), x, overwrite=False),
    "index_put": lambda op, x: op(x, (whole([2, 1, 0]),), x),
    "index_put added": lambda op, x: op(x, (whole([2, 1, 0]),), x[::-1], True),
    "index_fill": lambda op, x: op(x, whole([0, 1]), 0, x[0, 0]),
    "put_along_axis": lambda op, x: op(x, whole([[2, 1, 0]]), x, 1),
    "put_along_axis_multiply": lambda op, x: op(x, whole([[2, 1, 0]]), x, 1),
    "put_along_axis_amax": lambda op, x: op(x, whole([[2, 1, 0]]), x[::-1], 1),
    "scatter_add": lambda op, x: op(x, 0, whole([[2, 1, 0], [1, 1, 1], [0, 0, 2]]), x),
    "masked_fill": lambda op, x: op(x, mt.to_tensor(MASK[:, :3]), x[2, 2]),
    "masked_scatter": lambda op, x: op(x, mt.to_tensor(MASK[:, :3]), x[::-1]),
    "where": lambda op, x: op(mt.to_tensor(MASK[:, :3]), x, x.T),
    "fill_diagonal_tensor": lambda op, x: op(x, x[0]),
    "addmm": lambda op, x: op(x, x, x),
    "addmm of views": lambda op, x: op(x, x.T, x[::-1], 0.5, 2.0),
}


@pytest.mark.parametrize("what", OVERLAPPING)
@pytest.mark.parametrize("policy", ["2.6", "copy_on_write"])
def test_operands_that_share_memory_with_the_target_are_read_before_the_write(what: str, policy: str):
    name, call = what.split()[0], OVERLAPPING[what]
    array = np.arange(9.0).reshape(3, 3) * 0.7 - 2.0
    with mt.set_inplace_policy(policy):
        v, w = leaf(array), leaf(array)
        want = call(FUNCTIONS[name], v * 1)
        got = w * 1
        call(FUNCTIONS[name + "_"], got)
        np.testing.assert_array_equal(got.numpy(), want.numpy())
        weight = mt.to_tensor(weights([3, 3]))
        want.backward(weight)
        got.backward(weight)
        np.testing.assert_allclose(w.grad.numpy(), v.grad.numpy(), rtol=1e-12)


def test_a_bool_tensor_may_be_its_own_mask_and_an_integer_tensor_its_own_index():
    flags = mt.to_tensor([True, False, True])
    assert flags.masked_fill_(flags, False).tolist() == [False, False, False]
    places = whole([2, 0, 1])
    assert places.index_fill_(places[:2], 0, 7).tolist() == [7, 0, 7]
    places = whole([2, 0, 1])
    assert places.scatter_(places, places).tolist() == [0, 1, 2]
    places = whole([2, 0, 1])
    assert places.put_along_axis_(places, places * 10, 0).tolist() == [0, 10, 20]
