"""Test that dtypes are promoted as in the tables below, and that no number widens a floating dtype."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import minitensor as mt
from minitensor import torch
from tests.support.engine.samples import NORMAL, Sample

ALL = ("float32", "float64", "int32", "int64", "bool")

#: The promoted dtypes of two tensors. A row belongs to a left dtype; its entries belong to the right dtypes, in the
#: order of ALL.
PROMOTED = {
    "float32": ("float32", "float64", "float32", "float32", "float32"),
    "float64": ("float64", "float64", "float64", "float64", "float64"),
    "int32": ("float32", "float64", "int32", "int64", "int32"),
    "int64": ("float32", "float64", "int64", "int64", "int64"),
    "bool": ("float32", "float64", "int32", "int64", "bool"),
}
#: The promoted dtypes of a tensor and the Python numbers True, 3 and 2.5. A number never widens a floating tensor.
WITH_NUMBER = {
    "float32": ("float32", "float32", "float32"),
    "float64": ("float64", "float64", "float64"),
    "int32": ("int32", "int32", "float32"),
    "int64": ("int64", "int64", "float32"),
    "bool": ("bool", "int64", "float32"),
}
#: The dtypes of quotients, which are always floating. The rows and their entries have the same order as in PROMOTED.
QUOTIENT = {
    "float32": ("float32", "float64", "float32", "float32", "float32"),
    "float64": ("float64", "float64", "float64", "float64", "float64"),
    "int32": ("float32", "float64", "float32", "float32", "float32"),
    "int64": ("float32", "float64", "float32", "float32", "float32"),
    "bool": ("float32", "float64", "float32", "float32", "float32"),
}


def ones(dtype: str, shape: tuple[int, ...] = (2,)) -> mt.Tensor:
    return mt.ones(list(shape), dtype)


@pytest.mark.parametrize("right", ALL)
@pytest.mark.parametrize("left", ALL)
def test_two_tensors_are_promoted_as_in_the_table(left: str, right: str):
    column = ALL.index(right)
    for name in ("add", "multiply", "maximum", "minimum"):
        assert getattr(mt, name)(ones(left), ones(right)).dtype == PROMOTED[left][column], name
    assert (ones(left) / ones(right)).dtype == QUOTIENT[left][column]
    assert mt.where(mt.to_tensor([True, False]), ones(left), ones(right)).dtype == PROMOTED[left][column]
    assert mt.concat([ones(left), ones(right)]).dtype == PROMOTED[left][column]
    assert mt.stack([ones(left), ones(right)]).dtype == PROMOTED[left][column]
    if (left, right) != ("bool", "bool"):  # numpy does not subtract bools
        assert (ones(left) - ones(right)).dtype == PROMOTED[left][column]
    assert (ones(left) == ones(right)).dtype == "bool" and (ones(left) < ones(right)).dtype == "bool"


@pytest.mark.parametrize("right", ALL)
@pytest.mark.parametrize("left", ALL)
def test_tensors_without_dimensions_are_promoted_like_all_others(left: str, right: str):
    want = PROMOTED[left][ALL.index(right)]
    assert (ones(left, ()) + ones(right)).dtype == want
    assert (ones(left) + ones(right, ())).dtype == want
    assert (ones(left, ()) + ones(right, ())).dtype == want


@pytest.mark.parametrize("right", ALL)
@pytest.mark.parametrize("left", [d for d in ALL if d != "bool"])
def test_matrix_products_are_promoted_like_sums(left: str, right: str):
    assert (ones(left, (2, 2)) @ ones(right, (2, 2))).dtype == PROMOTED[left][ALL.index(right)]


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("shape", [(), (2,)])
def test_a_tensor_and_a_number_are_promoted_as_in_the_table(dtype: str, shape: tuple[int, ...]):
    numbers = (True, 3, 2.5)
    numpys = (np.bool_(True), np.int64(3), np.float64(2.5))
    others = (None, np.int32(3), np.float32(2.5))
    for given in (numbers, numpys, others):
        for number, want in zip(given, WITH_NUMBER[dtype], strict=True):
            if number is None:
                continue
            x = ones(dtype, shape)
            assert (x + number).dtype == want and (number + x).dtype == want, (dtype, number)
            assert (x * number).dtype == want and mt.maximum(x, number).dtype == want, (dtype, number)
            assert (x == number).dtype == "bool"


@pytest.mark.parametrize("make", [float, np.float32, np.float64], ids=lambda m: m.__name__)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_number_as_argument_does_not_widen_a_floating_tensor(make, dtype: str):
    x = mt.to_tensor([1.0, 2.0], dtype, stop_gradient=False)
    for y in (
        x.scale(make(2)),
        x.scale(1.0, make(2)),
        x.scale(make(2), make(1), bias_after_scale=False),
        x.clip(make(0), make(1.5)),
        x.clip(max=make(1.5)),
        x ** make(2),
        x ** make(0.5),
        x / make(3),
        mt.where(x > make(1.5), x, make(0)),
    ):
        assert y.dtype == dtype
        y.sum().backward(retain_graph=True)
        assert x.grad.dtype == dtype


#: One sample for each operation.
ONCE = {s.name: s for s in reversed(NORMAL)}


def in_dtype(given: Sample, dtype: str) -> list[mt.Tensor]:
    """Return the operands of a sample, with each floating operand replaced by a tensor of ones of ``dtype``."""
    return [mt.to_tensor(np.ones(a.shape, dtype)) if a.dtype.kind == "f" else mt.to_tensor(a) for a in given.arrays]


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("given", [s for s in ONCE.values() if s.row.floats], ids=lambda s: s.name)
def test_floating_functions_of_integers_return_float32(given: Sample, dtype: str):
    want = dtype if dtype.startswith("float") else "float32"
    assert given.run(in_dtype(given, dtype)).dtype == want


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("given", ONCE.values(), ids=lambda s: s.name)
def test_every_operation_returns_a_supported_dtype_or_explains_why_it_refuses_bools(given: Sample, dtype: str):
    try:
        result = given.run(in_dtype(given, dtype))
    except TypeError as error:
        assert dtype == "bool" and given.name in str(error) and "bool" in str(error)
        assert "ufunc" not in str(error) and "Dtype" not in str(error).replace("dtype", ""), str(error)
        return
    assert result.dtype in [mt.engine.dtypes.dtype_of(d) for d in ALL]
    repr(result)
    (result == result).numpy()


@pytest.mark.parametrize("dtype", ["int32", "int64", "bool"])
def test_sums_of_integers_are_int64_and_means_keep_their_dtype(dtype: str):
    x = ones(dtype)
    assert x.sum().dtype == "int64" and x.mean().dtype == dtype
    assert x.prod().dtype == ("int32" if dtype == "int32" else "int64")
    assert x.max().dtype == dtype and x.min().dtype == dtype
    assert mt.full([3], 2**31 - 1, "int32").sum().item() == 3 * (2**31 - 1)


def test_sums_of_small_integers_keep_their_dtype_and_wrap_around_as_in_paddle():
    for dtype, total in {"uint8": 203, "int8": -53, "int16": 203}.items():
        x = mt.to_tensor([100, 100, 3], dtype)
        assert x.sum().dtype == dtype and x.sum().item() == total
        assert torch.tensor([100, 100, 3], dtype=getattr(torch, dtype)).sum().item() == 203  # int64 in PyTorch
    assert mt.to_tensor([100_000, 100_000], "int32").prod().item() == 1_410_065_408
    assert torch.tensor([100_000, 100_000], dtype=torch.int32).prod().item() == 10**10


def test_the_mean_of_integers_is_truncated_as_in_paddle():
    """The values are those of Paddle 2.6.2 for the same tensors."""
    for numbers, mean in (([1, 2], 1), ([-1, -2], -1), ([1, 2, -8], -1), ([True, False, False], True)):
        x = mt.to_tensor(numbers)
        assert x.mean().item() == mean and x.mean().dtype == x.dtype
    assert mt.to_tensor([[1, 2], [3, 5]]).mean(axis=0).tolist() == [2, 3]
    assert mt.to_tensor([[True, False], [False, False]]).mean(axis=1).tolist() == [True, False]
    assert mt.full([3], 2**31 - 1, "int32").mean().item() == 2**31 - 1


def test_integer_division_is_true_division():
    assert (mt.to_tensor([1, 3]) / mt.to_tensor([2, 2])).tolist() == [0.5, 1.5]
    assert (mt.to_tensor([1, 3]) / 2).dtype == "float32"
    assert (3 / mt.to_tensor([2], "int32")).tolist() == [1.5]


def test_an_operation_of_an_integer_tensor_and_a_whole_number_returns_integers():
    x = mt.to_tensor([1, 2], "int32")
    assert x.scale(2.0, 1.0).dtype == "int32" and x.scale(2.0, 1.0).tolist() == [3, 5]
    assert x.scale(0.5).dtype == "float32" and x.scale(0.5).tolist() == [0.5, 1]
    assert x.clip(0, 1).dtype == "int32" and x.clip(1.5, 2).dtype == "float32"
    assert (x**2).dtype == "int32" and (x**0.5).dtype == "float32" and abs(-x).dtype == "int32"


def test_integers_can_be_compared_with_fractions():
    x = mt.to_tensor([1, 2, 3])
    assert (x > 1.5).tolist() == [False, True, True]
    assert (x == 2.0).tolist() == [False, True, False]
    assert (x != 2.5).tolist() == [True, True, True]


# ---------- in place ----------


@pytest.mark.parametrize("operand", ALL)
@pytest.mark.parametrize("target", ALL)
def test_an_in_place_operation_keeps_the_dtype_or_is_refused(target: str, operand: str):
    x, y = ones(target), ones(operand)
    refused = (operand.startswith("float") and not target.startswith("float")) or (
        target == "bool" and operand != "bool"
    )
    for name in ("add_", "multiply_", "maximum_"):
        if refused:
            with pytest.raises(TypeError, match=rf"`{name}`.*{target}.*dtype never changes in place"):
                getattr(x, name)(y)
            assert x.inplace_version == 0 and x.tolist() == ones(target).tolist()
        else:
            assert getattr(ones(target), name)(y).dtype == target


@pytest.mark.parametrize("value", ALL)
@pytest.mark.parametrize("target", ALL)
def test_stored_values_are_converted_to_the_dtype_of_the_target(target: str, value: str):
    for write in (lambda x, v: x.__setitem__(..., v), lambda x, v: x.__setitem__([0, 1], v), lambda x, v: x.copy_(v)):
        x = mt.zeros([2], target)
        write(x, mt.to_tensor([1, 0], value))
        assert x.dtype == target and x.tolist() == mt.to_tensor([1, 0], target).tolist()


# ---------- dtypes as values ----------


def test_a_dtype_prints_compares_hashes_and_pickles():
    assert repr(mt.float32) == "minitensor.float32" and mt.int64.name == "int64"
    assert mt.ones([1]).dtype is mt.float32 and mt.ones([1], "bool").dtype is mt.bool
    assert mt.float32 == "float32" and mt.float32 == np.float32 and mt.float32 == np.dtype("float32")
    assert mt.float32 != "float64" and mt.float32 != mt.float64 and mt.float32 != np.int32
    assert mt.float32 != 3 and mt.float32 != None and mt.float32 != "nonsense"  # noqa: E711
    assert {mt.float32: 1}[mt.float32] == 1 and {mt.float32: 1}["float32"] == 1
    assert pickle.loads(pickle.dumps(mt.int32)) is mt.int32
    assert mt.float64.itemsize == 8 and mt.bool.itemsize == 1


@pytest.mark.parametrize(
    "given, want",
    [
        ("float32", "float32"),
        (mt.float64, "float64"),
        (np.float64, "float64"),
        (np.dtype("int32"), "int32"),
        (float, "float64"),
        (int, "int64"),
        (bool, "bool"),
        ("bool", "bool"),
    ],
    ids=str,
)
def test_a_dtype_may_be_given_as_a_name_or_as_a_type_of_numpy_or_python(given: object, want: str):
    assert mt.zeros([1], given).dtype == want
    assert mt.ones([1], "int64").astype(given).dtype == want
    assert mt.to_tensor([1], given).dtype == want


@pytest.mark.parametrize("wrong", ["float23", "float8", np.uint16, np.complex64, str, object, 3, "", [], {}, (), "<U3"])
def test_the_error_about_an_unknown_dtype_lists_the_known_ones(wrong: object):
    for call in (
        lambda: mt.zeros([1], wrong),
        lambda: mt.to_tensor([1], wrong),
        lambda: mt.ones([1]).astype(wrong),
        lambda: mt.full([1], 1, wrong),
        lambda: mt.arange(3, dtype=wrong),
    ):
        with pytest.raises(
            TypeError,
            match=r"is not supported.*bool, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64",
        ):
            call()


@pytest.mark.parametrize("wrong", [None, mt.ones([1])], ids=["None", "a tensor"])
def test_astype_refuses_everything_but_a_dtype(wrong: object):
    with pytest.raises(TypeError):
        mt.ones([1]).astype(wrong)


def test_random_numbers_of_an_integer_dtype_are_refused():
    for make in (mt.rand, mt.randn):
        assert make([2], "float64").dtype == "float64"
        with pytest.raises(TypeError, match=rf"{make.__name__}.*floating one.*int64"):
            make([2], "int64")


# ---------- unusual dtype objects of numpy ----------


@pytest.mark.parametrize(
    "array",
    [
        np.ones(3, np.dtype("float32", metadata={"unit": "m"})),
        np.ones(3, np.dtype("float64").newbyteorder("=")),
        pickle.loads(pickle.dumps(np.ones(3, "float32"))),
        np.ones(3, "longlong"),
        np.ones(3, ">f4"),
        np.ones(3, ">i8"),
        np.ones(3, "<f8"),
    ],
    ids=["metadata", "newbyteorder", "pickled", "longlong", "big-endian float", "big-endian int", "little-endian"],
)
def test_an_unusual_numpy_dtype_becomes_the_ordinary_one(array: np.ndarray):
    x = mt.to_tensor(array)
    assert x.dtype == array.dtype.newbyteorder("=") and x.tolist() == [1, 1, 1]
    assert (x + array).tolist() == [2, 2, 2]
    assert x.exp().dtype in ("float32", "float64") and (x / x).tolist() == [1, 1, 1]
    assert x.add_(mt.to_tensor(array)).tolist() == [2, 2, 2]
    x[0] = array[0]
    x[1:] = array[1:]
    assert x.tolist() == [1, 1, 1]
