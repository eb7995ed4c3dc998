"""Test operations with an index, a mask or a diagonal: dtypes, refusals that change nothing, sizes and saved bytes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import minitensor as mt
from minitensor.engine.device.arrays import host_array
from minitensor.engine.events import TensorWritten, listening
from minitensor.engine.kernels import written
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.table import ROWS
from tests.support.engine.differences import leaf, leaf_like
from tests.support.engine.memory import allocated
from tests.support.engine.named import expect_named
from tests.support.engine.samples_indexed import GRID, IN_PLACE, MASK, Case, tensors, whole
from tests.support.engine.state import Moment

for_every_in_place_case = pytest.mark.parametrize("given", IN_PLACE, ids=str)
for_every_in_place_name = pytest.mark.parametrize(
    "given", list({c.name: c for c in reversed(IN_PLACE)}.values()), ids=str
)


def expect_refused(
    moment: Moment, call: Callable[[], object], *given: str, error: type | tuple[type, ...] = (ValueError, TypeError)
) -> None:
    """Check that ``call()`` raises an error that names ``given`` and changes nothing, not even the allocated bytes."""
    try:
        call()
    except error as refusal:
        assert str(refusal)
    else:
        pytest.fail("the call raised no error")
    moment.expect_unchanged()
    expect_named(call, *given, error=error)


# ---------- dtypes ----------


def test_a_stored_value_is_converted_to_the_target_dtype_without_its_fraction():
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


def test_a_stored_value_gets_its_gradient_in_its_own_float_dtype():
    for dtype, other in (("float32", "float64"), ("float64", "float32")):
        value = mt.to_tensor([1.5, 2.5], other, stop_gradient=False)
        x = mt.zeros([3, 2], dtype)
        x.scatter_(whole([1]), value.reshape([1, 2]))
        assert x.dtype == dtype
        x.sum().backward()
        assert value.grad.dtype == other and value.grad.tolist() == [1, 1]


@pytest.mark.usefixtures("no_collector")
def test_added_values_are_promoted_as_in_a_sum():
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
def test_an_index_out_of_range_is_refused_before_anything_is_written(name: str, outside: int):
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
    "index with two dimensions": (lambda x: x.index_fill_(whole([[0]]), 0, 1.0), ValueError, [r"\[1, 1\]"]),
    "no such axis": (lambda x: x.index_fill_(whole([0]), 2, 1.0), IndexError, ["axis 2", "2 dimensions"]),
    "axis that is no integer": (lambda x: x.index_fill_(whole([0]), 0.5, 1.0), TypeError, ["axis", "0.5"]),
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
    "where with large mask": (
        lambda x: mt.where_(mt.ones([2, 3, 4], "bool"), x, 0.0),
        ValueError,
        [r"\[2, 3, 4\]", "where_"],
    ),
    "where of numbers": (lambda x: mt.where_(x, x, 0.0), TypeError, ["condition", "bool"]),
    "no indices": (lambda x: x.index_put_((), 1.0), TypeError, ["indices"]),
    "too many indices": (lambda x: x.index_put_((whole([0]),) * 3, 1.0), IndexError, ["3", r"\[3, 4\]"]),
    "indices that do not broadcast": (
        lambda x: x.index_put_((whole([0, 1]), whole([0, 1, 2])), 1.0),
        IndexError,
        ["index_put_"],
    ),
    "a mask that does not fit": (
        lambda x: x.index_put_((mt.ones([4], "bool"),), 1.0),
        IndexError,
        [r"\[4\]", r"\[3\]"],
    ),
    "a value that does not fit": (lambda x: x.index_put_((whole([0]),), x), ValueError, [r"\[3, 4\]", r"\[1, 4\]"]),
    "index of fewer dimensions": (lambda x: x.put_along_axis_(whole([0]), 1.0, 0), ValueError, [r"\[1\]", r"\[3, 4\]"]),
    "index that does not broadcast": (lambda x: x.put_along_axis_(whole([[0, 0]]), 1.0, 0), ValueError, [r"\[1, 2\]"]),
    "index too long": (lambda x: x.scatter_add_(0, whole([[0] * 5]), mt.ones([1, 5], "float64")), ValueError, ["5"]),
    "src too small": (lambda x: x.scatter_add_(0, whole([[0, 0]]), x[:1, :1].reshape([1])), ValueError, [r"\[1\]"]),
    "a vector's triangle": (lambda x: x[0].tril_(), ValueError, ["two dimensions", r"\[4\]"]),
    "a vector's diagonal": (lambda x: x[0].fill_diagonal_(1.0), ValueError, ["two dimensions", r"\[4\]"]),
    "one dimension twice": (lambda x: x.fill_diagonal_tensor_(x[0], 0, 1, -1), ValueError, ["dim1", "dim2"]),
    "diagonal of another length": (lambda x: x.fill_diagonal_tensor_(x[0]), ValueError, [r"\[4\]", r"\[3\]"]),
    "operands that are no matrices": (lambda x: x.addmm_(x[0], x), ValueError, [r"\[4\]"]),
    "matrices that do not fit": (lambda x: x.addmm_(x, x), ValueError, [r"\[3, 4\]"]),
    "a product of another shape": (lambda x: x.addmm_(x, x.T), ValueError, [r"\[3, 3\]", r"\[3, 4\]"]),
    "a broadcast target": (lambda x: x[:1].addmm_(x, mt.ones([4, 4], "float64")), ValueError, [r"\[3, 4\]"]),
    "order of the norm is 0": (lambda x: x.renorm_(0, 0, 1.0), ValueError, ["p must be", "0"]),
    "negative norm": (lambda x: x.renorm_(2, 0, -1.0), ValueError, ["max_norm", "-1"]),
}


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("what", REFUSED)
def test_the_error_names_what_is_invalid_and_the_call_leaves_no_trace(what: str):
    call, error, given = REFUSED[what]
    w = leaf(GRID)
    x = w * 1
    x[0]  # makes a view, so that the target is in a group of views
    moment = Moment(w=w, x=x)
    expect_refused(moment, lambda: call(x), *given, error=error)


@for_every_in_place_name
def test_neither_a_leaf_nor_a_tensor_with_overlapping_elements_is_written(given: Case):
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


# ---------- embedding_renorm_ ----------


@pytest.mark.usefixtures("no_collector")
def test_embedding_renorm_scales_the_rows_of_a_leaf_without_recording():
    weight = leaf([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]])
    assert mt.nn.functional.embedding_renorm_(whole([[0, 1], [0, 0]]), weight, 1.0) is weight
    np.testing.assert_allclose(weight.numpy(), [[0.6, 0.8], [0.3, 0.4], [6.0, 8.0]])
    assert weight.is_leaf and not weight.stop_gradient and weight.inplace_version == 1
    renorm = mt.nn.functional.embedding_renorm_
    expect_refused(Moment(weight=weight), lambda: renorm(whole([3]), weight, 1.0), "3", error=IndexError)
    expect_refused(Moment(weight=weight), lambda: renorm(mt.ones([1]), weight, 1.0), "float32", error=TypeError)


# ---------- empty tensors, tensors without dimensions ----------


def test_empty_tensors_and_empty_indices_are_accepted():
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
    along = whole(np.zeros([0, 4]))
    for write in (
        lambda: x.index_put((whole([]),), 1.0),
        lambda: x.put_along_axis(along, 1.0, 0),
        lambda: x.put_along_axis(along, 1.0, 0, "amax"),
        lambda: x.put_along_axis(along, 1.0, 0, "multiply"),
    ):
        y = write()
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


def test_an_index_may_be_a_list_or_a_single_number():
    x = mt.to_tensor(GRID)
    np.testing.assert_array_equal(x.index_select([2, 0]).numpy(), GRID[[2, 0]])
    np.testing.assert_array_equal(x.index_select(1, 1).numpy(), GRID[:, [1]])
    np.testing.assert_array_equal(x.gather(1, 1).numpy(), GRID[:, 1])
    assert x.index_select([]).shape == [0, 4]
    np.testing.assert_array_equal(x.clone().index_fill_(1, 0, 0.0).numpy()[1], np.zeros(4))
    assert x.masked_fill([True, False, False, True], 0.0).tolist()[0][0] == 0


# ---------- bytes ----------

N = 1 << 14
#: Calls on a tensor of N elements, and the bytes that each may keep for backward, not counting index and values.
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
def test_an_operation_saves_only_the_bytes_that_its_backward_needs(name: str, base: int):
    w = mt.ones([128, 128])
    w.stop_gradient = False
    x, index = w * 1, whole([3, 5, 3])
    before = allocated()
    HELD[name][0](x, index)
    held = allocated() - before
    operands = 2 * N * 4 if name == "addmm_" and not x.grad_fn.saved else 0
    assert held <= HELD[name][1] + operands + 3 * 128 * 4 + 256, held


@for_every_in_place_case
def test_a_write_changes_only_the_cells_that_its_rule_and_its_event_name(given: Case):
    called: list[tuple[np.ndarray, ...]] = []
    writes: list[TensorWritten] = []
    row = ROWS[given.name]

    def watched(*arrays: object, **_: object) -> np.ndarray:
        called.append(arrays)
        return row.forward(*arrays)

    # No operation writes these values, so every write is visible.
    old = {"amax": -50.0, "amin": 50.0}.get(given.name[-4:], 0.123456)
    arrays = [np.full_like(given.arrays[0], old), *given.arrays[1:]]
    FUNCTIONS[given.name].__globals__["forward"] = watched
    try:
        result = given.run(*(mt.to_tensor(a) for a in arrays))
    finally:
        FUNCTIONS[given.name].__globals__["forward"] = row.forward
    if not row.writes:
        assert given.name in ("addmm", "baddbmm", "renorm"), "this operation has no rule about written cells"
        return
    given_there = (host_array(value) if hasattr(value, "dtype") else value for value in called[0])
    operands = dict(zip((*row.operands, *row.argument_names), given_there, strict=True))
    covered = operands[row.target] = np.zeros(operands[row.target].shape, bool)
    covered[eval(row.writes, dict(vars(written)), operands)] = True
    np.testing.assert_array_equal(result.numpy() != old, covered)
    with listening(lambda event: writes.append(event) if isinstance(event, TensorWritten) else None):
        given.run(*(mt.to_tensor(a) for a in arrays), in_place=True)
    emitted = np.zeros(covered.shape, bool)
    emitted[tuple(host_array(each) if hasattr(each, "dtype") else each for each in writes[0].where)] = True
    np.testing.assert_array_equal(emitted, covered)


@pytest.mark.parametrize(
    ("values", "write", "at"),
    [
        ([0, 1, 2, 3], lambda x: mt.index_fill_(x, x[:2], 0, 100), [0, 1]),
        ([0, 1, 2, 3], lambda x: mt.put_along_axis_(x, x[:2], 100, 0), [0, 1]),
        ([True, False, True], lambda x: mt.masked_fill_(x, x, False), [0, 2]),
    ],
)
def test_an_event_names_the_cells_although_the_write_overwrites_its_index(values: list, write: Callable, at: list):
    x, events = mt.to_tensor(values), []
    with listening(lambda event: events.append(event) if isinstance(event, TensorWritten) else None):
        write(x)
    emitted = np.zeros(x.shape, bool)
    emitted[tuple(host_array(each) for each in events[0].where)] = True
    assert np.flatnonzero(emitted).tolist() == at


def test_a_mask_is_saved_by_reference_and_a_write_to_it_makes_backward_raise(base: int):
    w = leaf(GRID)
    x, mask = w * 1, mt.to_tensor(MASK)
    before = allocated()
    x.masked_fill_(mask, 0.0)
    assert allocated() == before
    mask.logical_not_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        x.sum().backward()


@pytest.mark.parametrize("name", ["put_along_axis_amax", "renorm"])
def test_policy_2_5_refuses_indexed_operations_that_need_their_input(name: str):
    with mt.set_inplace_policy("2.5"):
        x = leaf(GRID) * 1
        moment = Moment(x=x)
        with pytest.raises(ValueError, match=r"2.5"):
            if name == "renorm":
                x.renorm_(2.0, 0, 1.0)
            else:
                x.put_along_axis_(whole([[0]]), 1.0, 0, "amax")
        moment.expect_unchanged()
