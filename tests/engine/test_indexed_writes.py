"""Operations led by an index, a mask or a diagonal: values, gradients, duplicates, refusals, bytes.

Every one is compared with plain loops (samples_indexed.py) and its gradients with central differences.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import minitensor as mt
from minitensor.operations import FUNCTIONS
from minitensor.table import ROWS
from tests.engine.differences import expect_gradients, leaf, leaf_like, slopes, weights
from tests.engine.memory import allocated
from tests.engine.named import expect_named
from tests.engine.samples_indexed import BLOCK, CASES, GRID, MASK, Case, whole
from tests.engine.state import Moment

NORMAL = [c for c in CASES if ROWS[c.name].normal]
IN_PLACE = [c for c in CASES if ROWS[c.name].in_place]
#: Every in-place operation once.
ONCE = list({c.name: c for c in reversed(IN_PLACE)}.values())
by_name = pytest.mark.parametrize("given", IN_PLACE, ids=str)
once = pytest.mark.parametrize("given", ONCE, ids=str)


def tensors(given: Case) -> list[mt.Tensor]:
    return [mt.to_tensor(array) for array in given.arrays]


def expect_refused(
    moment: Moment, call: Callable[[], object], *given: str, error: type | tuple[type, ...] = (ValueError, TypeError)
) -> None:
    """``call()`` raises, naming what was ``given``, and leaves everything as it was, the bytes that are held included."""
    try:
        call()
    except error as refusal:
        assert str(refusal)
    else:
        pytest.fail("not refused")
    moment.expect_unchanged()
    expect_named(call, *given, error=error)


# ---------- values and gradients ----------


@pytest.mark.parametrize("given", NORMAL, ids=str)
def test_the_value_is_that_of_the_loop(given: Case):
    inputs = tensors(given)
    result = given.run(*inputs)
    want = given.reference(*given.arrays)
    assert result.shape == list(want.shape) and result.dtype == "float64" and result.is_contiguous()
    np.testing.assert_allclose(result.numpy(), want, rtol=1e-12, atol=1e-15)
    for x, array in zip(inputs, given.arrays, strict=True):
        np.testing.assert_array_equal(x.numpy(), array)
        assert x.inplace_version == 0 and x._storage is not result._storage


@by_name
def test_in_place_it_is_the_tensor_itself_one_version_on(given: Case):
    x, *others = tensors(given)
    pointer = x.data_ptr()
    assert given.run(x, *others, in_place=True) is x
    assert x.inplace_version == 1 and x.data_ptr() == pointer and x.dtype == "float64"
    np.testing.assert_allclose(x.numpy(), given.reference(*given.arrays), rtol=1e-12, atol=1e-15)


@by_name
@pytest.mark.parametrize("laid", ["transposed", "reversed", "every second"])
def test_in_place_the_order_of_memory_makes_no_difference(given: Case, laid: str):
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
def test_the_gradient_is_that_of_central_differences(given: Case):
    leaves = [leaf_like(array) for array in given.arrays]
    expect_gradients(given.reference, leaves, given.run(*leaves))


@by_name
def test_the_gradient_in_place_is_that_of_central_differences(given: Case):
    leaves = [leaf_like(array) for array in given.arrays]
    x = leaves[0] * 1
    given.run(x, *leaves[1:], in_place=True)
    assert x.grad_fn.name == given.name + "_"
    expect_gradients(given.reference, leaves, x)


@by_name
def test_the_gradient_is_right_when_one_operand_alone_wants_it(given: Case):
    for k in range(len(given.arrays)):
        inputs = [mt.to_tensor(a, stop_gradient=i != k) for i, a in enumerate(given.arrays)]
        target = inputs[0] * 1 if k == 0 else inputs[0]
        given.run(target, *inputs[1:], in_place=True)

        def reference(moved: np.ndarray, k: int = k) -> np.ndarray:
            return given.reference(*(moved if i == k else a for i, a in enumerate(given.arrays)))

        expect_gradients(reference, [inputs[k]], target)


@pytest.mark.parametrize("in_place", [False, True], ids=["normal", "in place"])
@pytest.mark.parametrize("given", CASES, ids=str)
def test_the_second_derivative_is_that_of_central_differences(given: Case, in_place: bool):
    if in_place and not ROWS[given.name].in_place:
        return
    weight = weights(given.reference(*given.arrays).shape)

    def first(*arrays: np.ndarray, create_graph: bool = False) -> tuple[list[mt.Tensor], list[mt.Tensor]]:
        leaves = [leaf_like(a) for a in arrays]
        result = given.run(leaves[0] * 1, *leaves[1:], in_place=in_place)
        # Squared, so that the gradient depends on the inputs.
        return leaves, list(mt.grad((result * result * weight).sum(), leaves, create_graph=create_graph))

    def turned(*arrays: np.ndarray) -> float:
        return sum((g.numpy() * weights(g.shape)).sum() for g in first(*arrays)[1])

    leaves, gradients = first(*given.arrays, create_graph=True)
    total = sum((g * weights(g.shape)).sum() for g in gradients)
    total.backward()
    for x, want in zip(leaves, slopes(turned, given.arrays), strict=True):
        got = np.zeros(x.shape) if x.grad is None else x.grad.numpy()
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_an_operation_is_a_method_and_a_function_wherever_paddle_has_it():
    for name in ("index_add", "index_fill", "index_put", "scatter", "scatter_add", "masked_fill", "masked_scatter"):
        assert all(hasattr(space, name + s) for space in (mt, mt.Tensor) for s in ("", "_"))
    for name in ("index_select", "gather", "take_along_axis", "masked_select", "put_along_axis"):
        assert hasattr(mt, name) and hasattr(mt.Tensor, name)
    assert not hasattr(mt, "put_along_axis_add") and not hasattr(mt.Tensor, "put_along_axis_mean_")


def test_reduce_chooses_the_row():
    x = mt.to_tensor(GRID)
    for reduce, row in (("add", "add"), ("mul", "multiply"), ("multiply", "multiply"), ("mean", "mean"), ("amin", "amin")):
        got = x.put_along_axis(whole([[1, 1, 0, 2]]), 0.5, 0, reduce)
        want = FUNCTIONS[f"put_along_axis_{row}"](x, whole([[1, 1, 0, 2]]), 0.5, 0)
        np.testing.assert_array_equal(got.numpy(), want.numpy())
    y = mt.to_tensor(GRID)
    assert y.put_along_axis_(whole([[1, 1, 0, 2]]), 0.5, 0, reduce="amax") is y and y.inplace_version == 1
    expect_named(lambda: x.put_along_axis(whole([[0]]), 1.0, 0, "sum"), "reduce", "'assign'", "'sum'")


# ---------- duplicates ----------


def test_the_last_of_assigned_values_stays_and_it_alone_has_the_gradient():
    order = np.random.default_rng(3).integers(0, 5, 2000)
    for index in (order, order[::-1].copy(), np.asfortranarray(order)):
        values = leaf(np.arange(2000.0))
        x = mt.zeros([5], "float64")
        x.scatter_(whole(index), values)
        last = [max(np.flatnonzero(index == k)) for k in range(5)]
        assert x.tolist() == [float(n) for n in last]
        x.sum().backward()
        assert np.flatnonzero(values.grad.numpy()).tolist() == sorted(last)


def test_the_last_value_in_the_order_of_the_index_stays_in_several_dimensions():
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


def test_a_number_that_fills_a_part_twice_has_its_gradient_once():
    value = leaf(2.0)
    mt.zeros([3, 2], "float64").index_fill(whole([1, 1, -2]), 0, value).sum().backward()
    assert value.grad.item() == 2


# ---------- nan, inf ----------

#: Per storing operation: a call, and where the old elements were overwritten.
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
        # The others pass what came in, unless they are nan and were compared.
        rest = gradient.numpy()[~np.array(overwritten, bool)]
        assert np.isin(rest, [0.0] if np.isnan(old) and "_am" in name else incoming).all() or np.isnan(incoming)


def test_beta_0_leaves_nan_and_inf_of_the_input_out_of_value_and_gradient():
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


def test_ties_of_an_extreme_share_the_gradient():
    w, values = leaf([2.0, 7.0]), leaf([2.0, 1.0, 2.0])
    mt.put_along_axis(w, whole([0, 0, 0]), values, 0, "amax").backward()
    np.testing.assert_allclose(w.grad.numpy(), [1 / 3, 1])
    np.testing.assert_allclose(values.grad.numpy(), [1 / 3, 0, 1 / 3])


def test_under_raising_numpy_settings_inf_and_nan_are_values():
    with np.errstate(all="raise"):
        x = mt.to_tensor(np.array([1e308, np.inf]))
        assert x.index_add_(whole([0, 1]), 0, mt.to_tensor([1e308, -np.inf], "float64")).numpy()[0] == np.inf
        assert np.isnan(x.numpy()[1]) and x.inplace_version == 1
        y = mt.to_tensor(np.full([2, 2], 1e308))
        assert np.isinf(y.addmm_(y, y, alpha=1e308).numpy()).all()
        assert mt.to_tensor(np.full([2, 2], 1e308)).renorm_(2.0, 0, 1.0).numpy()[0, 0] == pytest.approx(0.5**0.5)


# ---------- what shares memory ----------

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
    "addmm turned": lambda op, x: op(x, x.T, x[::-1], 0.5, 2.0),
}


@pytest.mark.parametrize("what", OVERLAPPING)
@pytest.mark.parametrize("policy", ["2.6", "copy_on_write"])
def test_operands_that_share_memory_are_read_before_they_are_written(what: str, policy: str):
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


# ---------- dtypes ----------


def test_a_stored_value_takes_the_dtype_and_a_fraction_is_cut_off():
    for dtype in ("int32", "int64"):
        x = mt.zeros([3, 3], dtype)
        for result in (
            x.index_fill(whole([0]), 0, 2.7),
            x.masked_fill(mt.ones([3, 3], "bool"), 2.7),
            x.index_put((whole([0]),), mt.to_tensor(2.7)),
            x.scatter(whole([0]), mt.full([1, 3], 2.7)),
            x.put_along_axis(whole([[0]]), 2.7, 0),
            x.masked_scatter(mt.ones([3, 3], "bool"), mt.full([9], 2.7)),
            x.fill_diagonal(2.7),
            x.fill_diagonal_tensor(mt.full([3], 2.7)),
        ):
            assert result.dtype == dtype and result.tolist()[0][0] == 2
    assert mt.zeros([2], "bool").index_fill_(whole([1]), 0, 3).tolist() == [False, True]
    assert whole([1, 2]).masked_fill_(mt.to_tensor([True, False]), float(2**53 - 1)).tolist() == [2**53 - 1, 2]
    expect_named(lambda: mt.zeros([2], "int32").index_fill_(whole([1]), 0, 2**40), "index_fill_", "int32")
    expect_named(lambda: mt.zeros([2], "int64").masked_fill_(mt.ones([2], "bool"), np.nan), "masked_fill_", "nan")


def test_a_stored_float_of_another_width_has_its_gradient_in_its_own_dtype():
    for dtype, other in (("float32", "float64"), ("float64", "float32")):
        value = mt.to_tensor([1.5, 2.5], other, stop_gradient=False)
        x = mt.zeros([3, 2], dtype)
        x.scatter_(whole([1]), value.reshape([1, 2]))
        assert x.dtype == dtype
        x.sum().backward()
        assert value.grad.dtype == other and value.grad.tolist() == [1, 1]


@pytest.mark.usefixtures("no_collector")
def test_added_values_follow_the_rules_of_sums():
    x = mt.ones([3], "int64")
    assert x.index_add(whole([0]), 0, mt.to_tensor([0.5])).dtype == "float32"
    assert x.index_add(whole([0]), 0, mt.ones([1], "int32")).dtype == "int64"
    first, half, one, row = whole([0]), mt.to_tensor([0.5]), mt.ones([1, 1], "int64"), x.reshape([1, 3])
    for call in (
        lambda: x.index_add_(first, 0, half),
        lambda: x.index_add_(first, 0, first, alpha=0.5),
        lambda: x.scatter_add_(0, first, half),
        lambda: x.put_along_axis_(first, 0.5, 0, "add"),
        lambda: x.put_along_axis_(first, 2, 0, "mean"),
        lambda: row.addmm_(one, row, beta=0.5),
    ):
        moment = Moment(x=x, row=row)
        expect_refused(moment, call, "int64", error=TypeError)
    assert x.index_add_(whole([0, 0]), 0, whole([2, 3]), alpha=2.0).tolist() == [11, 1, 1]
    assert x.put_along_axis(whole([0]), 2, 0, "mean").tolist() == [6.5, 1, 1]


# ---------- refusals leave no trace ----------

OUTSIDE = {
    "index_add": lambda op, x, i: op(x, i, 0, mt.ones([2, 4], "float64")),
    "index_fill": lambda op, x, i: op(x, i, 0, 1.0),
    "scatter": lambda op, x, i: op(x, i, mt.ones([2, 4], "float64")),
    "index_put": lambda op, x, i: op(x, (i,), 1.0),
    "index_put pair": lambda op, x, i: op(x, (i, whole([0, 0])), 1.0, True),
    "put_along_axis": lambda op, x, i: op(x, i.reshape([2, 1]), 1.0, 0),
    "put_along_axis_add": lambda op, x, i: op(x, i.reshape([2, 1]), 1.0, 0),
    "scatter_add": lambda op, x, i: op(x, 0, i.reshape([2, 1]), mt.ones([2, 1], "float64")),
}


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("outside", [3, -4, 2**40])
def test_an_index_outside_is_refused_before_anything_is_written(name: str, outside: int):
    w = leaf(GRID)
    x, call = w * 1, OUTSIDE[name]
    index = whole([0, outside])
    moment = Moment(w=w, x=x, index=index)
    in_place = FUNCTIONS[name.split()[0] + "_"]
    expect_refused(moment, lambda: call(in_place, x, index), str(outside), "3", error=IndexError)
    expect_named(lambda: call(FUNCTIONS[name.split()[0]], x, index), str(outside), "3", error=IndexError)
    x.sum().backward()
    assert w.grad.tolist() == np.ones((3, 4)).tolist()


REFUSED = {
    "index of floats": (lambda x: x.index_fill_(mt.to_tensor([0.0]), 0, 1.0), TypeError, ["index", "float32"]),
    "index of bools": (lambda x: x.index_add_(mt.to_tensor([True]), 0, x[:1]), TypeError, ["index", "bool"]),
    "index in two dimensions": (lambda x: x.index_fill_(whole([[0]]), 0, 1.0), ValueError, [r"\[1, 1\]"]),
    "no such axis": (lambda x: x.index_fill_(whole([0]), 2, 1.0), IndexError, ["axis 2", "2 dimensions"]),
    "axis no integer": (lambda x: x.index_fill_(whole([0]), 0.5, 1.0), TypeError, ["axis", "0.5"]),
    "value of another shape": (
        lambda x: x.index_add_(whole([0]), 0, mt.ones([1, 3], "float64")),
        ValueError,
        [r"\[1, 3\]", r"\[1, 4\]"],
    ),
    "several values to fill": (lambda x: x.index_fill_(whole([0]), 0, mt.ones([2], "float64")), ValueError, [r"\[2\]"]),
    "several values for a mask": (lambda x: x.masked_fill_(mt.to_tensor(MASK), x), ValueError, ["one number"]),
    "too few values": (lambda x: x.masked_scatter_(mt.to_tensor(MASK), x[0]), ValueError, ["4", "7"]),
    "mask of numbers": (lambda x: x.masked_fill_(x, 0.0), TypeError, ["mask", "bool", "float64"]),
    "mask too large": (lambda x: x.masked_fill_(mt.ones([2, 3, 4], "bool"), 0.0), ValueError, [r"\[2, 3, 4\]"]),
    "mask of another shape": (lambda x: x.masked_scatter_(mt.ones([3], "bool"), x), ValueError, [r"\[3\]"]),
    "where grows": (lambda x: mt.where_(mt.ones([2, 3, 4], "bool"), x, 0.0), ValueError, [r"\[2, 3, 4\]", "where_"]),
    "where of numbers": (lambda x: mt.where_(x, x, 0.0), TypeError, ["condition", "bool"]),
    "no indices": (lambda x: x.index_put_((), 1.0), TypeError, ["indices"]),
    "too many indices": (lambda x: x.index_put_((whole([0]),) * 3, 1.0), IndexError, ["3", r"\[3, 4\]"]),
    "indices that do not meet": (lambda x: x.index_put_((whole([0, 1]), whole([0, 1, 2])), 1.0), IndexError, ["index_put_"]),
    "a mask that does not fit": (lambda x: x.index_put_((mt.ones([4], "bool"),), 1.0), IndexError, [r"\[4\]", r"\[3\]"]),
    "a value that does not fit": (lambda x: x.index_put_((whole([0]),), x), ValueError, [r"\[3, 4\]", r"\[1, 4\]"]),
    "index of fewer dimensions": (lambda x: x.put_along_axis_(whole([0]), 1.0, 0), ValueError, [r"\[1\]", r"\[3, 4\]"]),
    "index not to be spread": (lambda x: x.put_along_axis_(whole([[0, 0]]), 1.0, 0), ValueError, [r"\[1, 2\]"]),
    "index too long": (lambda x: x.scatter_add_(0, whole([[0] * 5]), mt.ones([1, 5], "float64")), ValueError, ["5"]),
    "src too small": (lambda x: x.scatter_add_(0, whole([[0, 0]]), x[:1, :1].reshape([1])), ValueError, [r"\[1\]"]),
    "a vector's triangle": (lambda x: x[0].tril_(), ValueError, ["two dimensions", r"\[4\]"]),
    "a vector's diagonal": (lambda x: x[0].fill_diagonal_(1.0), ValueError, ["two dimensions", r"\[4\]"]),
    "one dimension twice": (lambda x: x.fill_diagonal_tensor_(x[0], 0, 1, -1), ValueError, ["dim1", "dim2"]),
    "diagonal of another length": (lambda x: x.fill_diagonal_tensor_(x[0]), ValueError, [r"\[4\]", r"\[3\]"]),
    "no matrices": (lambda x: x.addmm_(x[0], x), ValueError, [r"\[4\]"]),
    "matrices that do not fit": (lambda x: x.addmm_(x, x), ValueError, [r"\[3, 4\]"]),
    "a product of another shape": (lambda x: x.addmm_(x, x.T), ValueError, [r"\[3, 3\]", r"\[3, 4\]"]),
    "a broadcast target": (lambda x: x[:1].addmm_(x, mt.ones([4, 4], "float64")), ValueError, [r"\[3, 4\]"]),
    "no norm": (lambda x: x.renorm_(0, 0, 1.0), ValueError, ["p is", "0"]),
    "negative norm": (lambda x: x.renorm_(2, 0, -1.0), ValueError, ["max_norm", "-1"]),
}


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("what", REFUSED)
def test_what_can_not_be_done_is_refused_by_name_and_leaves_no_trace(what: str):
    call, error, given = REFUSED[what]
    w = leaf(GRID)
    x = w * 1
    x[0]  # a family
    moment = Moment(w=w, x=x)
    expect_refused(moment, lambda: call(x), *given, error=error)


@once
def test_a_leaf_is_protected_and_a_tensor_with_overlapping_elements_not_written(given: Case):
    w, *others = [leaf_like(a) for a in given.arrays]
    moment = Moment(w=w)
    with pytest.raises(ValueError, match="Leaf Var"):
        given.run(w, *others, in_place=True)
    moment.expect_unchanged()
    with mt.no_grad():
        assert given.run(w, *others, in_place=True) is w and w.is_leaf and w.inplace_version == 1
    wide = mt.zeros([1], "float64").as_strided(list(given.arrays[0].shape), [0] * given.arrays[0].ndim)
    with pytest.raises(RuntimeError, match="same memory cell"):
        given.run(wide, *tensors(given)[1:], in_place=True)
    assert wide.inplace_version == 0


# ---------- sizes without elements, tensors without dimensions ----------


def test_empty_tensors_and_empty_indices():
    nothing = mt.zeros([0, 3], "float64")
    assert nothing.index_fill_(whole([]), 0, 1.0).shape == [0, 3] and nothing.inplace_version == 1
    assert nothing.index_add(whole([1]), 1, mt.zeros([0, 1], "float64")).shape == [0, 3]
    assert nothing.masked_fill(mt.zeros([0, 3], "bool"), 1.0).shape == [0, 3]
    assert nothing.masked_select(mt.zeros([0, 3], "bool")).shape == [0]
    assert nothing.put_along_axis(whole(np.zeros([0, 3])), 1.0, 0).shape == [0, 3]
    assert nothing.tril().shape == [0, 3] and nothing.fill_diagonal(1.0).shape == [0, 3]
    assert nothing.renorm(2.0, 1, 1.0).shape == [0, 3]
    assert mt.zeros([2, 0]).addmm(mt.ones([2, 3]), mt.ones([3, 0])).shape == [2, 0]
    assert mt.zeros([2, 2]).addmm(mt.ones([2, 0]), mt.ones([0, 2])).tolist() == [[0, 0], [0, 0]]
    expect_named(lambda: nothing.index_fill_(whole([0]), 0, 1.0), "0", "length 0", error=IndexError)
    x = leaf(GRID)
    for name in ("index_put", "put_along_axis", "put_along_axis_amax"):
        y = FUNCTIONS[name](x, (whole([]),) if name == "index_put" else whole(np.zeros([0, 4])), 1.0, *[0] * ("p" == name[0]))
        assert y.tolist() == GRID.tolist()
        x.clear_grad(False)
        y.backward()
        assert x.grad.tolist() == np.ones((3, 4)).tolist()


def test_a_tensor_without_dimensions_may_be_masked_and_has_no_axis():
    x = leaf(3.0)
    y = (x * 1).masked_fill_(mt.to_tensor(True), 5.0)
    assert y.item() == 5
    y.backward()
    assert x.grad.item() == 0
    assert (x * 1).masked_scatter_(mt.to_tensor(True), mt.to_tensor([7.0, 8.0])).item() == 7
    assert x.masked_select(mt.to_tensor(True)).shape == [1]
    expect_named(lambda: (x * 1).index_fill_(whole([0]), 0, 1.0), "axis 0", "0 dimensions", error=IndexError)
    expect_named(lambda: (x * 1).scatter_(whole([0]), x), "dimensions", error=ValueError)
    expect_named(lambda: (x * 1).index_put_((whole([0]),), 1.0), "dimensions", error=IndexError)


def test_an_index_may_be_a_list_or_one_number():
    x = mt.to_tensor(GRID)
    np.testing.assert_array_equal(x.index_select([2, 0]).numpy(), GRID[[2, 0]])
    np.testing.assert_array_equal(x.index_select(1, 1).numpy(), GRID[:, [1]])
    np.testing.assert_array_equal(x.gather(1, 1).numpy(), GRID[:, 1])
    assert x.index_select([]).shape == [0, 4]
    np.testing.assert_array_equal(x.clone().index_fill_(1, 0, 0.0).numpy()[1], np.zeros(4))
    assert x.masked_fill([True, False, False, True], 0.0).tolist()[0][0] == 0


# ---------- bytes ----------

N = 1 << 14
HELD = {
    "index_add_": (lambda x, i: x.index_add_(i, 0, mt.ones([3, 128])), 0),
    "index_fill_": (lambda x, i: x.index_fill_(i, 0, 1.0), 0),
    "scatter_": (lambda x, i: x.scatter_(i, mt.ones([3, 128])), 0),
    "index_put_": (lambda x, i: x.index_put_((i,), 1.0), 0),
    "scatter_add_": (lambda x, i: x.scatter_add_(0, i.reshape([3, 1]), mt.ones([3, 1])), 0),
    "fill_diagonal_": (lambda x, i: x.fill_diagonal_(1.0), 0),
    "tril_": (lambda x, i: x.tril_(), 0),
    "addmm_": (lambda x, i: x.addmm_(x.detach() * 0, x.detach() * 0), 0),
    "put_along_axis_": (lambda x, i: x.put_along_axis_(i.reshape([3, 1]), 1.0, 0), 0),
    "put_along_axis_ mean": (lambda x, i: x.put_along_axis_(i.reshape([3, 1]), 1.0, 0, "mean"), 0),
    "put_along_axis_ multiply": (lambda x, i: x.put_along_axis_(i.reshape([3, 1]), 2.0, 0, "multiply"), 0),
    "put_along_axis_ amax": (lambda x, i: x.put_along_axis_(i.reshape([3, 1]), 1.0, 0, "amax"), N // 8),
    "renorm_": (lambda x, i: x.renorm_(2.0, 0, 1.0), N * 4),
}


@pytest.mark.parametrize("name", HELD)
def test_no_more_is_held_than_the_rules_name(name: str, base: int):
    w = mt.ones([128, 128])
    w.stop_gradient = False
    x, index = w * 1, whole([3, 5, 3])
    before = allocated()
    HELD[name][0](x, index)
    held = allocated() - before
    operands = 2 * N * 4 if name == "addmm_" and not x.grad_fn.saved else 0
    assert held <= HELD[name][1] + operands + 3 * 128 * 4 + 256, held


def test_a_mask_is_kept_by_reference_and_a_write_into_it_is_noticed(base: int):
    w = leaf(GRID)
    x, mask = w * 1, mt.to_tensor(MASK)
    before = allocated()
    x.masked_fill_(mask, 0.0)
    assert allocated() == before
    mask.logical_not_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        x.sum().backward()


@pytest.mark.parametrize("name", ["put_along_axis_amax", "renorm"])
def test_under_the_policy_of_2_5_what_needs_its_own_input_is_refused(name: str):
    with mt.set_inplace_policy("2.5"):
        x = leaf(GRID) * 1
        moment = Moment(x=x)
        with pytest.raises(ValueError, match="2.5"):
            if name == "renorm":
                x.renorm_(2.0, 0, 1.0)
            else:
                x.put_along_axis_(whole([[0]]), 1.0, 0, "amax")
        moment.expect_unchanged()


# ---------- comparisons, logic, bits ----------

BITS = {
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y,
    "bitwise_left_shift": lambda x, y: x << y,
    "bitwise_right_shift": lambda x, y: x >> y,
}


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("name", BITS)
def test_bits_are_those_of_python_integers(name: str, dtype: str):
    x, y = [6, -4, 9, 12, 0], [4, 6, 3, 1, 7]
    want = [BITS[name](a, b) for a, b in zip(x, y, strict=True)]
    assert getattr(mt, name)(mt.to_tensor(x, dtype), mt.to_tensor(y, dtype)).tolist() == want
    target = mt.to_tensor(x, dtype)
    assert getattr(target, name + "_")(mt.to_tensor(y, dtype)) is target
    assert target.tolist() == want and target.dtype == dtype and target.inplace_version == 1
    expect_named(lambda: getattr(mt.ones([2]), name + "_")(mt.ones([2])), name, "float32", error=TypeError)


def test_shifts_that_leave_the_word_and_logical_shifts():
    x = mt.to_tensor([-1, 1, -8], "int32")
    assert x.bitwise_right_shift(40).tolist() == [-1, 0, -1]
    assert x.bitwise_left_shift(40).tolist() == [0, 0, 0]
    assert x.bitwise_right_shift(1, is_arithmetic=False).tolist() == [2**31 - 1, 0, 2**31 - 4]
    assert x.bitwise_right_shift_(mt.to_tensor([28, 0, 1], "int32"), False).tolist() == [15, 1, 2**31 - 4]
    expect_named(lambda: x.bitwise_left_shift(-1), "-1", error=ValueError)
    out = mt.zeros([3], "int32")
    assert x.bitwise_left_shift(mt.to_tensor(1, "int32"), out=out) is out and out.tolist()[0] == 30
    expect_named(lambda: x.bitwise_left_shift_(1, out=out), "out", error=TypeError)


def test_bits_of_bools_and_the_other_name_of_not():
    x = mt.to_tensor([True, False])
    assert x.bitwise_not().tolist() == [False, True] == mt.bitwise_invert(x).tolist()
    assert mt.to_tensor([5, -1]).bitwise_invert_().tolist() == [-6, 0]
    assert x.bitwise_and_(mt.to_tensor([False, False])).tolist() == [False, False]


@pytest.mark.parametrize("name", ["equal", "less_than", "greater_equal", "logical_and", "logical_xor", "not_equal"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bool"])
def test_truth_values_are_stored_in_place_in_the_dtype_of_the_target(name: str, dtype: str):
    numbers, other = [0, 1, 1, 0], [1, 1, 0, 0]
    x = mt.to_tensor(numbers, dtype)
    want = getattr(mt, name)(x, mt.to_tensor(other, dtype))
    assert want.dtype == "bool"
    assert getattr(x, name + "_")(mt.to_tensor(other, dtype)) is x
    assert x.dtype == dtype and x.inplace_version == 1
    assert x.tolist() == [type(x.tolist()[0])(t) for t in want.tolist()]


def test_a_comparison_in_place_has_gradient_0_and_reads_before_it_writes():
    w = leaf([[1.0, 3.0], [2.0, 0.5]])
    x = w * 1
    x.greater_than_(x.T)
    assert x.tolist() == [[0, 1], [0, 0]]
    x.backward(mt.full([2, 2], np.inf, "float64"))
    assert w.grad.tolist() == [[0, 0], [0, 0]]


# ---------- embedding_renorm_ ----------


@pytest.mark.usefixtures("no_collector")
def test_embedding_rows_are_scaled_down_as_under_no_grad():
    weight = leaf([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]])
    assert mt.nn.functional.embedding_renorm_(whole([[0, 1], [0, 0]]), weight, 1.0) is weight
    np.testing.assert_allclose(weight.numpy(), [[0.6, 0.8], [0.3, 0.4], [6.0, 8.0]])
    assert weight.is_leaf and not weight.stop_gradient and weight.inplace_version == 1
    renorm = mt.nn.functional.embedding_renorm_
    expect_refused(Moment(weight=weight), lambda: renorm(whole([3]), weight, 1.0), "3", error=IndexError)
    expect_refused(Moment(weight=weight), lambda: renorm(mt.ones([1]), weight, 1.0), "float32", error=TypeError)
