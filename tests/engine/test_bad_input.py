"""Bad input: an error that names the operation and what was given, never numpy's or Python's own inner voice.

What an error must leave alone is tested in test_all_or_nothing.py; here it is the text.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import minitensor as mt

#: What numpy and Python say when nobody thought of the case.
INNER_VOICES = [
    "ufunc",
    "core dimension",
    "inhomogeneous",
    "has no len",
    "is not iterable",
    "invalid literal",
    "unsupported operand",
    "not supported between",
    "object has no attribute",
    "object is not callable",
    "unhashable",
    "DType",
    "numpy.dtypes",
    "SeedSequence",
    "which has no identity",
    "newaxis",
    "_ARRAY_API",
    "__index__",
    "array split",
    "could not broadcast",
    "keyword argument repeated",
]


def expect_named(call, *given: str, error: type | tuple = (ValueError, TypeError, IndexError)) -> None:
    """``call()`` raises, its text holds every one of ``given`` and none of numpy's or Python's own phrases."""
    with pytest.raises(error) as raised:
        call()
    text = str(raised.value)
    for name in given:
        assert re.search(name, text), f"{name!r} is missing in: {text}"
    for voice in INNER_VOICES:
        assert voice not in text, text


X = mt.to_tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
FLAGS = mt.to_tensor([True, False])

# ---------- making ----------


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
        (np.ones(2, np.float16), "float16"),
        (np.ones(2, np.uint8), "uint8"),
        (np.datetime64("2020-01-01"), "datetime64"),
        (np.zeros(2, [("a", "f4")]), "ndarray"),
        (np.ma.array([1.0, 2.0], mask=[False, True]), "[Mm]ask"),
    ],
    ids=str,
)
def test_to_tensor_names_what_is_no_data(data: object, given: str):
    expect_named(lambda: mt.to_tensor(data), "to_tensor", given)


@pytest.mark.parametrize("data", ["text", None, [1, "a"], object(), 1j, np.array([None]), {}], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_to_tensor_names_what_is_no_data_also_when_a_dtype_is_given(data: object, dtype: str):
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
def test_a_number_too_large_for_its_dtype_is_refused_not_wrapped(call):
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
    ids=str,
)
def test_a_shape_that_is_none_is_named(make: str, shape: object, given: str):
    arguments = (1.0,) if make == "full" else ()
    expect_named(lambda: getattr(mt, make)(shape, *arguments), make, given, error=(ValueError, TypeError, MemoryError))


def test_a_shape_too_large_for_memory_is_named():
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
def test_making_names_what_is_wrong(call, given: str):
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
    ids=str,
)
def test_a_new_shape_that_does_not_fit_is_named(name: str, shape: object, given: str):
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
        (lambda: mt.ones([2, 2, 2]).t(), r"t takes.*\[2, 2, 2\]"),
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
def test_views_and_joins_name_what_is_wrong(call, given: str):
    expect_named(call, given)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize(
    "axis, given",
    [(2, "2"), (-3, "-3"), ("a", "'a'|str"), (1.5, "1.5|float"), ([0, 0], "axis"), ([0, 9], "9")],
    ids=str,
)
def test_a_reduction_names_a_wrong_axis(name: str, axis: object, given: str):
    expect_named(lambda: getattr(X, name)(axis=axis), name, given)


@pytest.mark.parametrize("name", ["max", "min"])
def test_a_reduction_without_elements_is_named(name: str):
    expect_named(lambda: getattr(mt.zeros([0, 3]), name)(), name, r"\[0, 3\]|empty|no elements")
    expect_named(lambda: getattr(mt.zeros([0, 3]), name)(axis=0), name, r"\[0, 3\]|empty|no elements")
    assert getattr(mt.zeros([0, 3]), name)(axis=1).shape == [0]


# ---------- operands ----------


@pytest.mark.parametrize(
    "name", ["add", "subtract", "multiply", "divide", "pow", "maximum", "minimum", "equal", "less_than"]
)
@pytest.mark.parametrize("wrong", ["a", None, object(), {}, 1j, print, mt.Tensor], ids=lambda v: type(v).__name__)
def test_an_operand_that_is_none_is_named(name: str, wrong: object):
    operation = getattr(mt, name)
    expect_named(lambda: operation(X, wrong), name, type(wrong).__name__)
    expect_named(lambda: operation(wrong, X), name, type(wrong).__name__)


@pytest.mark.parametrize("name", ["add", "maximum", "equal", "where"])
def test_shapes_that_do_not_fit_are_named(name: str):
    condition = (FLAGS[:1],) if name == "where" else ()
    expect_named(lambda: getattr(mt, name)(*condition, X, mt.ones([2])), name, r"\[2, 3\] and \[2\]")


@pytest.mark.parametrize(
    "call", [lambda: mt.sin(2.0), lambda: mt.add(1, 2), lambda: mt.sin([1.0]) and None, lambda: mt.abs("a")]
)
def test_an_operation_without_any_tensor_gives_an_answer_or_asks_for_one(call):
    try:
        call()
    except TypeError as error:
        assert "Tensor" in str(error)
        assert not re.search(r"a number.* not (float|int)\b", str(error)), "contradicts itself"


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
def test_arguments_name_what_is_wrong(call, given: str):
    expect_named(call, given)


@pytest.mark.parametrize("name", ["add_", "sin_", "fill_", "reshape_", "squeeze_"])
def test_only_a_tensor_can_be_written(name: str):
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
def test_a_wrong_index_is_named(index: object, given: str, write: bool):
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
def test_a_wrong_value_is_named(index: object, value: object, given: str):
    x = X.clone()
    expect_named(lambda: x.__setitem__(index, value), given)
    assert x.tolist() == X.tolist() and x.inplace_version == 0


# ---------- unusual input that is right ----------


def test_arrays_of_any_layout_and_subclass_are_right_operands():
    values = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32)
    frozen = values.copy()
    frozen.flags.writeable = False

    class Mine(np.ndarray):
        pass

    wide = np.zeros((4, 6), np.float32)
    wide[::2, ::2] = values
    for array in (
        values[::-1][::-1],
        np.asfortranarray(values),
        frozen,
        values.view(Mine),
        values.astype(">f4"),
        wide[::2, ::2],
        np.broadcast_to(values, (1, 2, 3))[0],
    ):
        assert (X + array).tolist() == (values * 2).tolist() and (X + array).dtype == "float32"
        assert type(array + X) is mt.Tensor
        x = X.clone()
        x.add_(array)
        x[...] = array
        x.set_value(np.asarray(array, np.float32))
        assert x.tolist() == values.tolist()


def test_an_object_that_tells_numpy_its_numbers_is_no_tensor_unless_it_is_an_array():
    class Numbers:
        def __array__(self, dtype=None, copy=None):
            return np.array([1.0, 2.0])

    try:
        x = mt.to_tensor(Numbers())
    except TypeError as error:
        assert "Numbers" in str(error)
    else:
        assert x.tolist() == [1, 2]


def test_zero_elements_zero_dimensions_and_one_element_go_through_everything():
    for shape in ([0], [], [1], [0, 3], [3, 0], [1, 1]):
        x = mt.ones(shape, "float64")
        x.stop_gradient = False
        y = x * 2
        y.sin_().add_(1.0).reshape([-1] if y.size else shape).unsqueeze(0)
        y[...] = y
        y.T.scale_(3.0)
        y.sum().backward()
        assert x.grad.shape == shape
        assert mt.concat([y.flatten(), y.flatten()]).shape == [2 * y.size]
        assert mt.stack([y, y]).shape == [2, *shape]
        assert y.clone().shape == y.expand(shape).shape == y.detach().shape == shape
        repr(y), y.tolist(), y.numpy(), y.strides, y.offset, y.data_ptr()


def test_nan_and_infinity_are_values():
    x = mt.to_tensor([float("nan"), float("inf"), float("-inf"), 1.0])
    assert np.isnan((x + 1).numpy()[0]) and (x * 2).tolist()[1:] == [float("inf"), float("-inf"), 2]
    assert (x == x).tolist() == [False, True, True, True]
    x.fill_(float("nan"))
    x[0] = float("inf")
    assert x[0].item() == float("inf") and np.isnan(x[1].item())


def test_bools_add_and_multiply_like_or_and_and():
    assert (FLAGS + FLAGS).tolist() == [True, False] and (FLAGS * True).tolist() == [True, False]
    assert FLAGS.clone().add_(True).tolist() == [True, True]
    assert FLAGS.sum().item() == 1 and FLAGS.max().item() is True


def test_negative_steps_are_fine():
    x = mt.to_tensor(np.arange(5.0))
    assert x[::-1].tolist() == [4, 3, 2, 1, 0] and x[3:0:-2].tolist() == [3, 1] and x[::-9].tolist() == [4]
    x[::-2] = [10.0, 20.0, 30.0]
    assert x.tolist() == [30, 1, 20, 3, 10]
    assert mt.arange(5, 0, -2).tolist() == [5, 3, 1]


def test_a_length_given_as_a_bool_or_numpy_number_is_a_length():
    assert mt.zeros([np.int64(2), True]).shape == [2, 1]
    assert X.reshape([np.int32(3), -1]).shape == [3, 2]
