"""Test invalid operands and indices: the error names the operation and the argument.

The error is never an internal error of numpy or Python. test_all_or_nothing.py checks that an error changes nothing.
"""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

import minitensor as mt
from tests.support.engine.named import expect_named

X = mt.to_tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
FLAGS = mt.to_tensor([True, False])


@pytest.fixture(autouse=True)
def on_the_device(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy X and FLAGS to the device of the test, because they are made at import, before a device is selected."""
    for name in ("X", "FLAGS"):
        monkeypatch.setitem(globals(), name, mt.to_tensor(globals()[name]))


# ---------- operands ----------


@pytest.mark.parametrize(
    "name", ["add", "subtract", "multiply", "divide", "pow", "maximum", "minimum", "equal", "less_than"]
)
@pytest.mark.parametrize("wrong", ["a", None, object(), {}, 1j, print, mt.Tensor], ids=lambda v: type(v).__name__)
def test_the_error_names_the_type_of_an_invalid_operand(name: str, wrong: object):
    operation = getattr(mt, name)
    expect_named(lambda: operation(X, wrong), name, type(wrong).__name__)
    expect_named(lambda: operation(wrong, X), name, type(wrong).__name__)


@pytest.mark.cpu_only
def test_a_result_larger_than_the_address_space_is_refused():
    n = 1 << sys.maxsize.bit_length() // 2 + 1
    long, wide = (mt.from_numpy(np.broadcast_to(np.float32(1), shape)) for shape in ((n, 1), (1, n)))
    with pytest.raises(MemoryError, match="multiply: the result has more bytes than can be addressed"):
        long * wide
    with pytest.raises((MemoryError, ValueError), match=r"matmul: .*(too big|addressed)"):
        long.matmul(wide)
    with pytest.raises(ValueError, match=rf"zeros: shape .* has {n * n:,} elements, more than can be"):
        mt.zeros([n, n])


@pytest.mark.parametrize("name", ["add", "maximum", "equal", "where"])
def test_the_error_names_shapes_that_do_not_broadcast(name: str):
    condition = (FLAGS[:1],) if name == "where" else ()
    expect_named(lambda: getattr(mt, name)(*condition, X, mt.ones([2])), name, r"\[2, 3\] and \[2\]")


@pytest.mark.parametrize(
    "call", [lambda: mt.sin(2.0), lambda: mt.add(1, 2), lambda: mt.sin([1.0]) and None, lambda: mt.abs("a")]
)
def test_an_operation_without_a_tensor_operand_computes_or_says_that_it_needs_a_tensor(call):
    try:
        call()
    except TypeError as error:
        assert "Tensor" in str(error)
        assert not re.search(r"a number.* not (float|int)\b", str(error)), "the message contradicts itself"


@pytest.mark.parametrize(
    "x, y, given",
    [
        (X, X, r"\[2, 3\].*\[2, 3\]"),
        (X, mt.ones([2]), r"\[2, 3\].*\[2\]"),
        (X, 2.0, r"\[2, 3\].*\[\]"),
        (mt.ones([4, 2, 3]), mt.ones([5, 3, 2]), r"\[4, 2, 3\].*\[5, 3, 2\]"),
        (X, "a", "str"),
        (X, None, "NoneType"),
    ],
)
def test_matmul_names_both_shapes(x: object, y: object, given: str):
    expect_named(lambda: mt.matmul(x, y), "matmul", given)


@pytest.mark.parametrize(
    "call, given",
    [
        (lambda: mt.where(X, X, X), "where.*bool.*float32"),
        (lambda: mt.where([1, 0, 1], X, X), "where.*bool.*int64"),
        (lambda: mt.where(None, X, X), "where.*NoneType"),
        (lambda: mt.where(FLAGS, X, "a"), "where.*str"),
        (lambda: X.scale("2"), "scale.*str"),
        (lambda: X.scale(None), "scale.*NoneType"),
        (lambda: X.scale([2.0]), "scale.*list"),
        (lambda: X.scale(mt.ones([2])), "scale"),
        (lambda: X.clip("a"), "clip.*str"),
        (lambda: X.clip(0.0, object()), "clip.*object"),
        (lambda: X.astype("text"), "text"),
        (lambda: -FLAGS, "neg.*bool"),
        (lambda: FLAGS - FLAGS, "subtract.*bool"),
        (lambda: mt.to_tensor([2]) ** -1, "pow.*negative"),
        (lambda: mt.to_tensor([2]) ** mt.to_tensor([-1]), "pow.*negative"),
    ],
)
def test_the_error_names_a_wrong_argument(call, given: str):
    expect_named(call, given)


@pytest.mark.parametrize("name", ["add_", "sin_", "fill_", "reshape_", "squeeze_"])
def test_an_in_place_function_refuses_a_target_that_is_not_a_tensor(name: str):
    for wrong in (3.0, [1.0], np.ones(2), None):
        arguments = {"add_": (X,), "fill_": (1.0,), "reshape_": ([1],)}.get(name, ())
        expect_named(lambda w=wrong, a=arguments: getattr(mt, name)(w, *a), name, type(wrong).__name__)


# ---------- indices ----------


@pytest.mark.parametrize("write", [False, True], ids=["read", "write"])
@pytest.mark.parametrize(
    "index, given",
    [
        (2, r"2.*\[2, 3\]"),
        (-3, r"-3.*\[2, 3\]"),
        ((0, 3), r"3.*\[2, 3\]"),
        ((0, 0, 0), r"\[2, 3\]"),
        ([0, 2], r"2.*\[2, 3\]"),
        ([-3], r"-3.*\[2, 3\]"),
        (([0, 1], [0, 1, 2]), r"\[2, 3\]"),
        ("a", "'a'"),
        (1.0, "1.0"),
        (np.float32(1), "1"),
        (mt.to_tensor(1.0), "float32"),
        (X, "float32"),
        ([1.5], "float64"),
        ([None], "."),
        (["a"], "."),
        ([[0], [1, 2]], "ragged"),
        ({}, "."),
        (slice(0, 2, 0), "step"),
        (slice("a", 2), "'a'"),
        (slice(1.0, 2), "1.0"),
        ([True], r"\[2, 3\]"),
        ([[True, False]], r"\[2, 3\]"),
        (np.ones((2, 3, 1), bool), r"\[2, 3\]"),
        ((..., ...), "ellipsis"),
        (2**70, r"\[2, 3\]"),
    ],
    ids=str,
)
def test_the_error_names_a_wrong_index(index: object, given: str, write: bool):
    index = mt.to_tensor(index) if isinstance(index, mt.Tensor) else index  # move the index to the device of the test
    x = X.clone()
    expect_named((lambda: x.__setitem__(index, 1.0)) if write else (lambda: x[index]), given)
    assert x.tolist() == X.tolist() and x.inplace_version == 0


@pytest.mark.parametrize(
    "index, value, given",
    [
        (0, np.ones(2), r"\[2\].*\[3\].*\[2, 3\]"),
        (..., np.ones((3, 2)), r"\[3, 2\].*\[2, 3\]"),
        ([0, 1], np.ones((2, 2)), r"\[2, 2\].*\[2, 3\]"),
        (X > 2, np.ones(9), r"\[9\].*\[4\]"),
        (0, "a", "setitem.*str"),
        (0, None, "setitem.*NoneType"),
        (0, [[1.0], [2.0, 3.0]], "ragged"),
        (0, {}, "setitem.*dict"),
        (0, 1j, "setitem.*complex"),
        (0, np.array([1j]), "complex"),
    ],
)
def test_the_error_names_a_wrong_value(index: object, value: object, given: str):
    index = mt.to_tensor(index) if isinstance(index, mt.Tensor) else index  # move the index to the device of the test
    x = X.clone()
    value = mt.to_tensor(value) if isinstance(value, mt.Tensor) else value
    expect_named(lambda: x.__setitem__(index, value), given)
    assert x.tolist() == X.tolist() and x.inplace_version == 0
