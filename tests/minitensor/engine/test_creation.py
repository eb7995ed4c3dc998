"""Test functions that make tensors from data, from constants and from random numbers."""

from __future__ import annotations

import array as python_arrays
from typing import Any

import numpy as np
import pytest

import minitensor as mt
from minitensor import torch
from minitensor.engine.core.tensor_type import blanks


@pytest.mark.parametrize(
    "data, dtype, values",
    [
        (3, "int64", 3),
        (3.5, "float32", 3.5),
        (True, "bool", True),
        ([1, 2], "int64", [1, 2]),
        ([1.0, 2], "float32", [1, 2]),
        ([True, False], "bool", [True, False]),
        ([True, 2], "int64", [1, 2]),
        ([[1, 2], [3, 4]], "int64", [[1, 2], [3, 4]]),
        (((1.5,), (2.5,)), "float32", [[1.5], [2.5]]),
        ([], "float32", []),
        ([[], []], "float32", [[], []]),
        (np.array([1.0, 2.0]), "float64", [1, 2]),
        (np.array([1, 2], np.int32), "int32", [1, 2]),
        (np.float64(2.5), "float64", 2.5),
        (np.float32(2.5), "float32", 2.5),
        (np.int32(2), "int32", 2),
        (np.bool_(True), "bool", True),
        ([np.array([1.0]), np.array([2.0])], "float32", [[1], [2]]),
        ([np.array([1e30]), np.array([float("inf")])], "float32", [[np.float32(1e30).item()], [float("inf")]]),
        ([mt.full([], float("inf")), 1], "float32", [float("inf"), 1]),
        (python_arrays.array("d", [1e30]), "float32", [np.float32(1e30).item()]),
        ([np.uint8(200), np.uint8(3)], "uint8", [200, 3]),
        ([np.array([200], np.uint8), np.array([3], np.uint8)], "uint8", [[200], [3]]),
        ([mt.full([1], 200, "uint8")], "uint8", [[200]]),
        ([np.array([2], np.int16)], "int16", [[2]]),
        ([np.array([2], np.int32)], "int64", [[2]]),
        (float("nan"), "float32", None),
        ([float("inf"), -1.0], "float32", [float("inf"), -1]),
        (-(2**63), "int64", -(2**63)),
    ],
    ids=str,
)
def test_to_tensor_accepts_numbers_lists_and_arrays(data, dtype: str, values):
    x = mt.to_tensor(data)
    assert x.dtype == dtype and x.is_leaf and x.stop_gradient and x.inplace_version == 0
    assert x.is_contiguous() and x.shape == list(np.shape(data))
    if values is not None:
        assert x.tolist() == values


def test_to_tensor_copies_tensors_and_lists_of_tensors_without_their_history():
    w = mt.to_tensor([1.0, 2.0], stop_gradient=False)
    copy = mt.to_tensor(w * 2)
    assert copy.stop_gradient and copy.tolist() == [2, 4]
    assert mt.to_tensor([w, w * 3]).tolist() == [[1, 2], [3, 6]]
    assert mt.to_tensor([w[0], w[1], 5.0]).tolist() == [1, 2, 5]
    again = mt.to_tensor(w, stop_gradient=False)
    assert again is not w and again.data_ptr() != w.data_ptr() and not again.stop_gradient


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        ([np.float16(1), np.float16(2)], "float32"),
        ([[np.float16(1)]], "float32"),
        ((np.array([1], np.float16),), "float32"),
        (np.float16(1), "float16"),
        (np.array([1], np.float16), "float16"),
    ],
)
def test_numpys_16_bit_floats_become_float32_in_a_list_as_in_paddle(data, dtype: str):
    assert mt.to_tensor(data).dtype == dtype
    assert mt.to_tensor([mt.to_tensor(1.0, "float16")]).dtype == "float16", "a tensor in a list should keep its dtype"


def test_to_tensor_of_a_tensor_keeps_its_dtype():
    assert mt.to_tensor(mt.ones([2], "float64")).dtype == "float64"
    assert mt.to_tensor(mt.ones([2], "int32")).dtype == "int32"


#: Items of a list, and the dtype that PyTorch 2.13 gives a tensor of them.
MIXED_ITEMS = [
    ([1, np.uint8(1)], "int64"),
    ([np.uint8(1), 1], "int64"),
    ([np.uint8(1), 2.5], "float32"),
    ([np.uint8(1), np.int8(1)], "int16"),
    ([np.float16(1), 2.5], "float32"),
    ([1, np.float16(1)], "float16"),
    ([2.5, np.float64(1)], "float64"),
    ([[np.float32(1)], [np.float64(2)]], "float64"),
    ([np.int64(2**40), np.float32(1)], "float32"),
    ([True, np.int8(1)], "int8"),
    ([np.array([1, 2], np.int32)], "int32"),
    ([np.array([1.0, 2.0])], "float64"),
    ([np.array([200, 1], np.uint8), [1, 300]], "int64"),
    ([np.array([200, 1], np.uint8), np.array([1, 300], np.int16)], "int16"),
    ([[], []], "float32"),
]


@pytest.mark.parametrize("data, dtype", MIXED_ITEMS, ids=str)
def test_torch_tensor_of_a_list_has_the_promoted_dtype_of_the_items(data, dtype: str):
    x = torch.tensor(data)
    assert x.dtype == getattr(torch, dtype)
    assert x.tolist() == np.array(data, dtype).tolist()


def test_torch_tensor_of_a_list_with_tensors_has_the_promoted_dtype_of_the_items():
    """The tensors are made here, because as parameters of the test they would stay alive during later tests."""
    one = torch.tensor(1, dtype=torch.int8)
    for data, dtype in [([torch.tensor(float("inf"))], "float32"), ([one], "int8"), ([one, 2.5], "float32")]:
        x = torch.tensor(data)
        assert x.dtype == getattr(torch, dtype)
        assert x.tolist() == [float(item) for item in data]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bool"])
def test_to_tensor_converts_to_the_requested_dtype(dtype: str):
    for data in ([0, 1, 2], [0.0, 1.0, 2.5], np.array([0, 1, 2], np.uint8), np.array([0, 1, 2.5], np.float16)):
        x = mt.to_tensor(data, dtype)
        assert x.dtype == dtype
        np.testing.assert_array_equal(x.numpy(), np.array(data).astype(dtype))


def test_to_tensor_copies_an_array_of_any_memory_layout():
    base = np.arange(12.0).reshape(3, 4)
    frozen = base.copy()
    frozen.flags.writeable = False
    for array in (
        base,
        base.T,
        base[::-1, ::2],
        base[1:1],
        frozen,
        np.asfortranarray(base),
        np.broadcast_to(base, (2, 3, 4)),
    ):
        x = mt.to_tensor(array)
        np.testing.assert_array_equal(x.numpy(), array)
        assert x.is_contiguous() and x.offset == 0
        before = array.copy()
        x.fill_(-1.0)
        np.testing.assert_array_equal(array, before)
    base[...] = 7.0
    y = mt.to_tensor(base)
    base[...] = 0.0
    assert set(y.numpy().ravel()) == {7}


def test_stop_gradient_false_makes_a_leaf():
    w = mt.to_tensor([1.0], stop_gradient=False)
    assert not w.stop_gradient and w.is_leaf and w.grad is None
    assert not mt.full([2], 1.0, stop_gradient=False).stop_gradient


@pytest.mark.parametrize("shape", [[2, 3], (2, 3), 4, [], [0], [2, 0, 3], np.int64(3), [np.int32(2)], [True]], ids=str)
def test_constants_have_the_requested_shape(shape):
    want = np.zeros(shape if not isinstance(shape, list) else [int(n) for n in shape]).shape
    for x, value in ((mt.zeros(shape), 0), (mt.ones(shape), 1), (mt.full(shape, 2.5), 2.5)):
        assert x.shape == list(want) and x.dtype == "float32" and x.is_contiguous()
        assert (x.numpy() == value).all()


def test_a_shape_may_be_a_tensor_or_a_list_with_tensors():
    assert mt.zeros(mt.to_tensor([2, 3])).shape == [2, 3]
    assert mt.zeros([mt.to_tensor(2), 3]).shape == [2, 3]
    assert mt.ones([2, 3]).reshape(mt.to_tensor([3, 2])).shape == [3, 2]
    assert mt.ones([2, 3]).reshape([mt.to_tensor(3), -1]).shape == [3, 2]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bool"])
def test_constants_have_the_requested_dtype(dtype: str):
    for x in (mt.zeros([2], dtype), mt.ones([2], dtype), mt.full([2], 1, dtype)):
        assert x.dtype == dtype


def test_the_function_full_accepts_a_number_of_any_type():
    assert mt.full([2], np.float64(2.5)).tolist() == [2.5, 2.5]
    assert mt.full([2], mt.to_tensor(3)).tolist() == [3, 3]
    assert mt.full([2], 2.7, "int64").tolist() == [2, 2]
    assert np.isnan(mt.full([1], float("nan")).item()) and mt.full([1], float("inf")).item() == float("inf")


@pytest.mark.parametrize(
    "arguments, dtype, values",
    [
        ((4,), "int64", [0, 1, 2, 3]),
        ((1, 4), "int64", [1, 2, 3]),
        ((1, 8, 3), "int64", [1, 4, 7]),
        ((5, 0, -2), "int64", [5, 3, 1]),
        ((0.0, 1.0, 0.25), "float32", [0, 0.25, 0.5, 0.75]),
        ((3.0,), "float32", [0, 1, 2]),
        ((0,), "int64", []),
        ((3, 1), "int64", []),
        ((mt.to_tensor(1), mt.to_tensor(4)), "int64", [1, 2, 3]),
        ((np.int32(2), np.int64(4)), "int64", [2, 3]),
    ],
    ids=str,
)
def test_arange_returns_numbers_at_equal_steps_with_the_right_dtype(arguments, dtype: str, values):
    x = mt.arange(*arguments)
    assert x.dtype == dtype and x.tolist() == values
    assert mt.arange(*arguments, dtype="float64").tolist() == values


def test_the_like_functions_copy_shape_and_dtype_of_the_given_tensor():
    x = mt.zeros([2, 3], "float64").T
    x.stop_gradient = False
    for made, value in ((mt.zeros_like(x), 0), (mt.ones_like(x), 1), (mt.full_like(x, 2.5), 2.5)):
        assert made.shape == [3, 2] and made.dtype == "float64" and made.stop_gradient
        assert (made.numpy() == value).all()
    for made in (mt.rand_like(x), mt.randn_like(x)):
        assert made.shape == [3, 2] and made.dtype == "float64"
    assert mt.zeros_like(x, "int32").dtype == "int32"
    with pytest.raises(TypeError, match=r"zeros_like.*list"):
        mt.zeros_like([1, 2])


def test_the_same_seed_draws_the_same_random_numbers():
    drawn = []
    for _ in range(2):
        mt.seed(7)
        drawn.append((mt.rand([3]).tolist(), mt.randn([2, 2], "float64").tolist(), mt.rand([]).item()))
    assert drawn[0] == drawn[1]
    mt.seed(8)
    assert mt.rand([3]).tolist() != drawn[0][0]


def test_random_numbers_have_the_documented_distributions():
    mt.seed(1)
    even, normal = mt.rand([20_000], "float64").numpy(), mt.randn([20_000]).numpy()
    assert even.min() >= 0 and even.max() < 1 and abs(even.mean() - 0.5) < 0.02
    assert abs(normal.mean()) < 0.05 and abs(normal.std() - 1) < 0.05
    assert mt.rand([2, 0]).shape == [2, 0] and mt.randn([]).shape == []


class Own(mt.Tensor):
    """A subclass of Tensor, as a program may define it."""


@pytest.mark.parametrize("kind", [mt.Tensor, mt.nn.Parameter, Own])
def test_calling_a_tensor_class_raises_an_error_that_names_to_tensor(kind: Any):
    for given, named in ((), {}), (([1.0],), {}), ((), {"data": [1.0]}):
        with pytest.raises(TypeError, match=r"not made by calling Tensor; use to_tensor\(data\)"):
            kind(*given, **named)


@pytest.mark.parametrize("kind", [mt.Tensor, torch.Tensor])
def test_an_uninitialized_tensor_has_the_given_class_and_no_state(kind: Any):
    made = blanks(kind)()
    assert type(made) is kind
    for part in ("_array", "_storage", "_node", "_history"):
        assert not hasattr(made, part)


def test_calling_pytorchs_tensor_classes_makes_tensors():
    assert torch.Tensor().tolist() == [] and torch.Tensor(2, 3).shape == (2, 3)
    kept = torch.nn.Parameter(torch.ones(2))
    assert type(kept) is torch.nn.Parameter and kept.requires_grad and (kept + 1).tolist() == [2.0, 2.0]
