"""Test invalid data, shapes and axes: the error names the operation and the argument.

The error is never an internal error of numpy or Python. test_all_or_nothing.py checks that an error changes nothing.
"""

from __future__ import annotations

import numpy as np
import pytest

import minitensor as mt
from tests.support.engine.named import expect_named, label

X = mt.to_tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


@pytest.fixture(autouse=True)
def on_the_device(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy X to the device of the test, because X is made at import, before a device is selected."""
    for name in ("X",):
        monkeypatch.setitem(globals(), name, mt.to_tensor(globals()[name]))


# ---------- creation ----------


@pytest.mark.parametrize(
    "data, given",
    [
        ([[1, 2], [3]], "ragged.*lengths 1 and 2"),
        ([1, [2]], "ragged"),
        ([[[1, 2]], [[3], [4]]], "ragged"),
        ([X, mt.ones([3])], "ragged"),
        ("text", "str"),
        (b"bytes", "bytes"),
        (None, "NoneType"),
        ({}, "dict"),
        ({1, 2}, "set"),
        (object(), "object"),
        ((n for n in (1, 2)), "generator"),
        (1j, "complex"),
        ([1, None], "list"),
        ([1, "a"], "list"),
        (["a"], "list"),
        (np.array([1, None]), "object"),
        (np.array(["a"]), "ndarray"),
        (np.array([1j]), "complex"),
        (np.ones(2, np.longdouble), "longdouble|float"),
        (np.ones(2, np.uint16), "uint16"),
        (np.datetime64("2020-01-01"), "datetime64"),
        (np.zeros(2, [("a", "f4")]), "ndarray"),
        (np.ma.array([1.0, 2.0], mask=[False, True]), "[Mm]ask"),
    ],
    ids=label,
)
def test_to_tensor_names_the_type_of_invalid_data(data: object, given: str):
    expect_named(lambda: mt.to_tensor(data), "to_tensor", given)


@pytest.mark.parametrize("data", ["text", None, [1, "a"], object(), 1j, np.array([None]), {}], ids=label)
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_to_tensor_with_a_dtype_names_the_type_of_invalid_data(data: object, dtype: str):
    expect_named(lambda: mt.to_tensor(data, dtype), "to_tensor", "type|dtype")


@pytest.mark.parametrize(
    "call",
    [
        lambda: mt.to_tensor([2**63]),
        lambda: mt.to_tensor([1, 2**63]),
        lambda: mt.to_tensor([-1, 2**63]),
        lambda: mt.to_tensor(2**64),
        lambda: mt.to_tensor(-(2**63) - 1),
        lambda: mt.to_tensor([2**40], "int32"),
        lambda: mt.to_tensor(np.array([2**40]), "int32"),
        lambda: mt.to_tensor([float("nan")], "int64"),
        lambda: mt.to_tensor([float("inf"), 1.0], "int32"),
        lambda: mt.to_tensor(np.array([1e30]), "int64"),
        lambda: mt.full([2], 2**40, "int32"),
        lambda: mt.full([2], np.int64(2**40), "int32"),
        lambda: mt.full([2], float("nan"), "int64"),
        lambda: mt.full([2], 10**400),
        lambda: mt.arange(2**31 - 1, 2**31 + 1, dtype="int32"),
        lambda: mt.ones([2]) + 10**400,
        lambda: mt.ones([2], "int32") + 2**31,
        lambda: mt.ones([2], "int32") * np.int64(2**31),
        lambda: np.uint64(2**63) + mt.ones([2], "int64"),
    ],
)
def test_a_number_too_large_for_its_dtype_is_refused_instead_of_wrapped_around(call):
    expect_named(call, ".", error=(ValueError, OverflowError, TypeError))


@pytest.mark.parametrize("make", ["zeros", "ones", "rand", "randn", "full"])
@pytest.mark.parametrize(
    "shape, given",
    [
        ("ab", "'ab'"),
        (None, "None"),
        (2.5, "2.5"),
        ([2, 2.5], "2.5"),
        ([[1, 2]], r"\[\[1, 2\]\]"),
        (["2"], "'2'"),
        ([2, None], "None"),
        (-1, "-1"),
        ([2, -3], "-3"),
        ([2**70], "."),
        ([2**40, 2**40], "."),
        ([1] * 65, "."),
        (object(), "object"),
        (mt.to_tensor([1.5]), "1.5"),
    ],
    ids=label,
)
def test_creation_functions_name_an_invalid_shape(make: str, shape: object, given: str):
    arguments = (1.0,) if make == "full" else ()
    expect_named(lambda: getattr(mt, make)(shape, *arguments), make, given, error=(ValueError, TypeError, MemoryError))


def test_the_error_names_a_shape_too_large_for_memory():
    expect_named(lambda: mt.zeros([2**45]), "zeros", r"35184372088832|\d+ [TPE]iB", error=(ValueError, MemoryError))


@pytest.mark.parametrize(
    "call, given",
    [
        (lambda: mt.full([2], "a"), "full|to_tensor"),
        (lambda: mt.full([2], None), "full|to_tensor"),
        (lambda: mt.full([2], [1, 2]), r"full.*\[2\]"),
        (lambda: mt.arange("a"), "arange.*'a'"),
        (lambda: mt.arange(None), "arange.*None"),
        (lambda: mt.arange(0, 1, "a"), "arange.*'a'"),
        (lambda: mt.arange(0, 5, 0), "arange.*step"),
        (lambda: mt.arange(float("nan")), "arange.*nan"),
        (lambda: mt.arange(float("inf")), "arange.*inf"),
        (lambda: mt.arange(2**62), "arange"),
        (lambda: mt.arange(mt.ones([2])), "arange"),
        (lambda: mt.seed("a"), "seed.*(str|'a')"),
        (lambda: mt.seed(-1), "seed.*-1"),
        (lambda: mt.seed(1.5), "seed.*(float|1.5)"),
    ],
)
def test_creation_functions_name_the_wrong_argument(call, given: str):
    expect_named(call, given, error=(ValueError, TypeError, MemoryError))


# ---------- shapes and axes ----------


@pytest.mark.parametrize("name", ["reshape", "view", "reshape_"])
@pytest.mark.parametrize(
    "shape, given",
    [
        ([4], r"\[4\]"),
        ([-1, -1], r"\[-1, -1\]"),
        ([-1, 4], r"\[-1, 4\]"),
        ([-2, 3], r"\[-2, 3\]"),
        (["a"], "'a'"),
        ([[2, 3]], r"\[\[2, 3\]\]"),
        ([2, None], "None"),
        (None, "None"),
        ([2.0, 3.0], "2.0"),
        ("ab", "'ab'"),
        ([2**70], "1180591620717411303424"),
        ([0, 0, 7], r"\[0, 0, 7\]"),
    ],
    ids=label,
)
def test_the_error_names_a_new_shape_that_does_not_fit(name: str, shape: object, given: str):
    expect_named(lambda: getattr(X.clone(), name)(shape), rf"^{name}\b", given)


@pytest.mark.parametrize(
    "call, given",
    [
        (lambda: X.transpose([0]), r"transpose.*\[0\]"),
        (lambda: X.transpose([0, 0]), "transpose"),
        (lambda: X.transpose([0, 2]), "transpose.*2"),
        (lambda: X.transpose([0, "a"]), "transpose"),
        (lambda: X.transpose(None), "transpose"),
        (lambda: X.transpose(1), "transpose"),
        (lambda: X.transpose(1, 0), "transpose"),
        (lambda: mt.ones([2, 2, 2]).t(), r"t: x must have at most 2.*\[2, 2, 2\]"),
        (lambda: X.squeeze(5), "squeeze.*5"),
        (lambda: X.squeeze("a"), "squeeze.*'a'"),
        (lambda: X.squeeze(1.0), "squeeze.*1.0"),
        (lambda: X.unsqueeze(4), "unsqueeze.*4"),
        (lambda: X.unsqueeze(None), "unsqueeze.*None"),
        (lambda: X.flatten(1, 0), "flatten.*1.*0"),
        (lambda: X.flatten(5), "flatten.*5"),
        (lambda: X.flatten("a"), "flatten.*'a'"),
        (lambda: X.diagonal("a"), "diagonal.*'a'"),
        (lambda: X.diagonal(0.5), "diagonal.*0.5"),
        (lambda: X.diagonal(0, 1, 1), "diagonal.*differ"),
        (lambda: X.diagonal(0, 0, 5), "diagonal.*5"),
        (lambda: X[0].diagonal(), r"diagonal.*\[3\]"),
        (lambda: X.unbind(7), "unbind.*7"),
        (lambda: mt.to_tensor(1.0).unbind(), "unbind"),
        (lambda: X.slice([0], [0], [1, 2]), "slice"),
        (lambda: X.slice(0, 0, 1), "slice"),
        (lambda: X.slice([5], [0], [1]), "slice.*5"),
        (lambda: X.slice([0], ["a"], [1]), "slice.*'a'"),
        (lambda: X.slice([0], [0.5], [1]), "slice.*0.5"),
        (lambda: X.as_strided([2], [1, 1]), "as_strided"),
        (lambda: X.as_strided([2], [1.5]), "as_strided.*1.5"),
        (lambda: X.as_strided([2], ["a"]), "as_strided.*'a'"),
        (lambda: X.as_strided([2], None), "as_strided.*None"),
        (lambda: X.as_strided([2], [1], 0.5), "as_strided.*0.5"),
        (lambda: X.as_strided([2], [1], None), "as_strided.*None"),
        (lambda: X.as_strided([2], [2**70]), "as_strided"),
        (lambda: X.as_strided([9], [1]), "as_strided.*reaches"),
        (lambda: X.expand([4, 3]), r"expand.*\[2, 3\].*\[4, 3\]"),
        (lambda: X.expand([3]), r"expand.*\[2, 3\].*\[3\]"),
        (lambda: X.expand([-1, 2, 3]), "expand"),
        (lambda: X.expand(None), "expand.*None"),
        (lambda: X.expand("a"), "expand.*a"),
        (lambda: X.broadcast_to([4]), "(expand|broadcast_to).*\\[4\\]"),
        (lambda: X.split(2, 1), "split.*3.*2"),
        (lambda: X.split(0), "split.*0"),
        (lambda: X.split(-1), "split.*-1"),
        (lambda: X.split([1, 2]), r"split.*\[1, 2\]"),
        (lambda: X.split([-1, -1]), "split"),
        (lambda: X.split("a"), "split.*'?a'?"),
        (lambda: X.split(None), "split.*None"),
        (lambda: X.split([1, "b"]), "split.*'b'"),
        (lambda: X.split(1, 9), "split.*9"),
        (lambda: X.chunk(5), "(split|chunk).*5"),
        (lambda: mt.concat([X, mt.ones([2, 2])], 0), r"concat.*\[2, 3\].*\[2, 2\]"),
        (lambda: mt.concat([X, mt.ones([3])]), r"concat.*\[2, 3\].*\[3\]"),
        (lambda: mt.concat([]), "concat"),
        (lambda: mt.concat(X), "concat"),
        (lambda: mt.concat([X, 1.0]), "concat.*float"),
        (lambda: mt.concat([X], 5), "concat.*5"),
        (lambda: mt.concat([mt.to_tensor(1.0)]), "concat"),
        (lambda: mt.stack([X, mt.ones([2])]), r"stack.*\[2, 3\].*\[2\]"),
        (lambda: mt.stack([X, None]), "stack.*NoneType"),
        (lambda: mt.stack([X], 7), "stack.*7"),
    ],
)
def test_views_and_joins_name_the_wrong_argument(call, given: str):
    expect_named(call, given)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize(
    "axis, given",
    [(2, "2"), (-3, "-3"), ("a", "'a'|str"), (1.5, "1.5|float"), ([0, 0], "axis"), ([0, 9], "9")],
    ids=label,
)
def test_a_reduction_names_a_wrong_axis(name: str, axis: object, given: str):
    expect_named(lambda: getattr(X, name)(axis=axis), name, given)


@pytest.mark.parametrize("name", ["max", "min"])
def test_max_and_min_of_no_elements_name_the_operation_and_the_shape(name: str):
    expect_named(lambda: getattr(mt.zeros([0, 3]), name)(), name, r"\[0, 3\]|empty|no elements")
    expect_named(lambda: getattr(mt.zeros([0, 3]), name)(axis=0), name, r"\[0, 3\]|empty|no elements")
    assert getattr(mt.zeros([0, 3]), name)(axis=1).shape == [0]
