"""Test writes of values that have another shape or dtype, are out of range, or share memory with the target."""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from minitensor import torch
from tests.support.engine.differences import leaf


@pytest.mark.parametrize("index", [slice(0, 2), [0, 1], (), 1], ids=str)
def test_the_error_about_a_value_of_a_wrong_shape_names_both_shapes(index):
    x = mt.zeros([3, 4])
    with pytest.raises(ValueError, match=r"setitem: a value of shape \[2, 5\] cannot be broadcast to shape \[.*4\]"):
        x[index] = mt.ones([2, 5])
    assert x.inplace_version == 0 and not x.numpy().any()


@pytest.mark.parametrize("worst", [np.nan, np.inf, -np.inf, 3e9, -3e9])
def test_numbers_that_an_integer_dtype_cannot_represent_are_refused(worst: float):
    x = mt.to_tensor([1, 2, 3], "int32")
    for value in (mt.to_tensor([0.5, worst, 1.0], "float64"), np.array([0.5, worst, 1.0])):
        with pytest.raises(ValueError, match="cannot be stored in a tensor of dtype int32"):
            x[:] = value
        with pytest.raises(ValueError, match="cannot be stored in a tensor of dtype int32"):
            x.copy_(value)
    assert x.tolist() == [1, 2, 3] and x.inplace_version == 0


@pytest.mark.parametrize("number", [2**40, np.int64(2**40), np.uint64(2**40), -(2**40), np.int64(-(2**40))], ids=repr)
def test_a_number_that_does_not_fit_never_wraps_around(number):
    x = mt.to_tensor([1, 2], "int32")
    for write in (lambda: x + number, lambda: x.add_(number), lambda: x.__setitem__(0, number)):
        with pytest.raises(ValueError, match=r"does not fit into dtype int32|cannot be stored"):
            write()
    assert x.tolist() == [1, 2] and x.inplace_version == 0


def test_a_row_gets_the_old_values_of_a_column_that_crosses_it():
    """The row becomes [2, 5, 8]. numpy reads an element that it has overwritten, and writes [2, 2, 8]."""
    for write in (
        lambda x: x.__setitem__(1, x[:, 2]),
        lambda x: x[1].copy_(x[:, 2]),
        lambda x: x[1].set_value(x[:, 2]),
    ):
        x = mt.arange(9.0).reshape([3, 3])
        write(x)
        assert x.tolist() == [[0, 1, 2], [2, 5, 8], [6, 7, 8]]


def test_an_indexed_write_reads_an_overlapping_value_before_it_writes():
    x = mt.arange(6.0)
    x[[1, 2, 3, 4, 5]] = x[0:5]
    assert x.tolist() == [0, 0, 1, 2, 3, 4]


@pytest.mark.parametrize("operation", [mt.add, mt.multiply, mt.maximum, mt.divide], ids=lambda f: f.__name__)
def test_operands_promoted_to_another_dtype_get_gradients_of_their_own_dtypes(operation):
    narrow = mt.to_tensor([2.0, 3.0], "float32", stop_gradient=False)
    wide = leaf([4.0, 1.0])
    result = operation(narrow, wide)
    assert result.dtype == "float64"
    result.backward()
    other = [leaf([2.0, 3.0]), leaf([4.0, 1.0])]
    operation(*other).backward()
    for x, same, dtype in zip((narrow, wide), other, ("float32", "float64"), strict=True):
        assert x.grad.dtype == dtype
        np.testing.assert_allclose(x.grad.numpy(), same.grad.numpy(), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float32", "float64"])
def test_zero_in_place_works_for_every_dtype(dtype):
    x = mt.to_tensor([1, 0, 1], dtype)
    assert x.zero_().tolist() == [0, 0, 0]
    assert x.dtype == dtype and x.inplace_version == 1


def test_errors_about_values_out_of_range_name_the_function_once_and_the_argument():
    x = mt.to_tensor([0, 1], "uint8")
    with pytest.raises(ValueError, match=r"^fill_: value: -1 cannot be stored in a tensor of dtype uint8"):
        x.fill_(-1)
    with pytest.raises(ValueError, match=r"^clip: max: 256 cannot be stored in a tensor of dtype uint8"):
        mt.clip(x, 0, 256)
    assert x.tolist() == [0, 1]


@pytest.mark.parametrize("name", ["bitwise_and_", "bitwise_left_shift_"])
def test_the_advice_about_bitwise_operations_with_floats_works(name):
    for x, y, error, integers in (
        (mt.to_tensor([1]), mt.to_tensor([1.5]), TypeError, lambda t: t.astype("int64")),
        (torch.tensor([1]), torch.tensor([1.5]), RuntimeError, lambda t: t.long()),
    ):
        with pytest.raises(error, match=r"Convert both operands to integers first: `x\.(astype\('int64'\)|long\(\))`"):
            getattr(x, name)(y)
        assert x.tolist() == [1]
        assert getattr(integers(x), name)(integers(y)).tolist() == [1 if name == "bitwise_and_" else 2]
