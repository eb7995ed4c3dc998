"""Compare bit operations with those of Python integers, and test comparisons, logical operations and in-place forms."""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from tests.support.engine.differences import leaf
from tests.support.engine.named import expect_named

BITS = {
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y,
    "bitwise_left_shift": lambda x, y: x << y,
    "bitwise_right_shift": lambda x, y: x >> y,
}


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("name", BITS)
def test_bit_operations_equal_those_of_python_integers(name: str, dtype: str):
    x, y = [6, -4, 9, 12, 0], [4, 6, 3, 1, 7]
    want = [BITS[name](a, b) for a, b in zip(x, y, strict=True)]
    assert getattr(mt, name)(mt.to_tensor(x, dtype), mt.to_tensor(y, dtype)).tolist() == want
    target = mt.to_tensor(x, dtype)
    assert getattr(target, name + "_")(mt.to_tensor(y, dtype)) is target
    assert target.tolist() == want and target.dtype == dtype and target.inplace_version == 1
    expect_named(lambda: getattr(mt.ones([2]), name + "_")(mt.ones([2])), name, "float32", error=TypeError)


def test_shifts_beyond_the_bits_of_the_dtype_and_logical_shifts_are_right():
    x = mt.to_tensor([-1, 1, -8], "int32")
    assert x.bitwise_right_shift(40).tolist() == [-1, 0, -1]
    assert x.bitwise_left_shift(40).tolist() == [0, 0, 0]
    assert x.bitwise_right_shift(1, is_arithmetic=False).tolist() == [2**31 - 1, 0, 2**31 - 4]
    assert x.bitwise_right_shift_(mt.to_tensor([28, 0, 1], "int32"), False).tolist() == [15, 1, 2**31 - 4]
    expect_named(lambda: x.bitwise_left_shift(-1), "-1", error=ValueError)
    out = mt.zeros([3], "int32")
    assert x.bitwise_left_shift(mt.to_tensor(1, "int32"), out=out) is out and out.tolist()[0] == 30
    expect_named(lambda: x.bitwise_left_shift_(1, out=out), "out", error=TypeError)


def test_bit_operations_on_bools_are_logical_and_bitwise_invert_is_bitwise_not():
    x = mt.to_tensor([True, False])
    assert x.bitwise_not().tolist() == [False, True] == mt.bitwise_invert(x).tolist()
    assert mt.to_tensor([5, -1]).bitwise_invert_().tolist() == [-6, 0]
    assert x.bitwise_and_(mt.to_tensor([False, False])).tolist() == [False, False]


@pytest.mark.parametrize("name", ["equal", "less_than", "greater_equal", "logical_and", "logical_xor", "not_equal"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bool"])
def test_an_in_place_comparison_stores_0_and_1_in_the_dtype_of_the_target(name: str, dtype: str):
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
