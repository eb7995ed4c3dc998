"""Test that elementwise operations, which run in chunks and threads on large tensors, return the same bits as numpy."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import minitensor as mt
from minitensor.engine.kernels import chunks
from minitensor.engine.kernels.chunks import in_chunks, large
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.table import ROWS
from tests.support.engine.big import SIDE, bits, low_limits, matrix, off, spoil

pytestmark = [pytest.mark.cpu_only, pytest.mark.filterwarnings("ignore::RuntimeWarning")]

ARGUMENTS = {
    "clip": {"min": -1.0, "max": 2.0},
    "scale": {"scale": 1.7, "bias": 0.3},
    "hardtanh": {"min": -2.0, "max": 1.0},
    "leaky_relu": {"negative_slope": 0.1},
    "thresholded_relu": {"threshold": 0.5, "value": -3.0},
    "logit": {"eps": 0.01},
}


@pytest.fixture(autouse=True, params=[1, 3], ids=["1-thread", "3-threads"])
def threads(request: pytest.FixtureRequest) -> Iterator[None]:
    with low_limits(request.param):
        yield


def operands(name: str, shapes: tuple[tuple[int, ...], ...], dtype: str = "float32") -> list[np.ndarray]:
    """Return parts of matrices as operands for a row of the table."""
    arrays = [matrix(i, dtype)[: s[0] if len(s) > 1 else 1, : s[-1]].reshape(s).copy() for i, s in enumerate(shapes)]
    return arrays[: len(ROWS[name].operands)]


FULL, ROW, COLUMN, ONE = (SIDE, SIDE), (SIDE,), (SIDE, 1), (1,)


# ---------- results with the same bits ----------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", sorted(row.name for row in ROWS.values() if row.by_element))
def test_the_result_of_every_operation_equals_that_of_one_call_of_numpy_bit_for_bit(name: str, dtype: str):
    if name in ("erf", "erfinv"):
        pytest.importorskip("scipy")
    given = ARGUMENTS.get(name, {})
    for shapes in ((FULL, FULL, FULL), (FULL, ROW, ONE), (COLUMN, FULL, ROW), (COLUMN, ROW, FULL), (FULL, ONE, ROW)):
        arrays = operands(name, shapes, dtype)

        def program(given_arrays: list[np.ndarray] = arrays) -> list[object]:
            tensors = [mt.to_tensor(array) for array in given_arrays]
            target = tensors[ROWS[name].operands.index(ROWS[name].target)]
            made = [FUNCTIONS[name](*tensors, **given)]
            if ROWS[name].in_place and target.shape == list(FULL):
                made.append(FUNCTIONS[name + "_"](*tensors, **given))
            return [bits(tensor._array) for tensor in made]

        with off():
            expected = program()
        spoil()
        assert program() == expected, f"{name} of {shapes[: len(arrays)]}"


@pytest.mark.parametrize("name", sorted(row.name for row in ROWS.values() if row.by_element and row.rules))
def test_every_gradient_equals_that_of_one_call_of_numpy_bit_for_bit(name: str):
    if name in ("erf", "erfinv"):
        pytest.importorskip("scipy")
    given = ARGUMENTS.get(name, {})
    wanting = [x in ROWS[name].rules for x in ROWS[name].operands]
    for shapes in ((FULL, FULL, FULL), (FULL, ROW, ONE)):
        arrays = operands(name, shapes)
        for form in (name, name + "_"):
            if form not in FUNCTIONS:
                continue

            def program(form: str = form, given_arrays: list[np.ndarray] = arrays) -> list[object]:
                leaves = [mt.to_tensor(a, stop_gradient=not w) for a, w in zip(given_arrays, wanting, strict=True)]
                FUNCTIONS[form](*(leaf * 1.0 for leaf in leaves), **given).backward(mt.to_tensor(matrix(9)))
                return [bits(leaf.grad._array) for leaf, w in zip(leaves, wanting, strict=True) if w]

            with off():
                expected = program()
            spoil()
            assert program() == expected, f"{form} of {shapes[: len(arrays)]}"


def _transposed(a: np.ndarray) -> mt.Tensor:
    return mt.to_tensor(a).T


def _every_other(a: np.ndarray) -> mt.Tensor:
    return mt.to_tensor(np.repeat(a, 2, axis=1))[:, ::2]


def _backwards(a: np.ndarray) -> mt.Tensor:
    return mt.to_tensor(a)[::-1]


def _rows_of_a_larger(a: np.ndarray) -> mt.Tensor:
    return mt.to_tensor(np.concatenate([a, a, a]))[SIDE : 2 * SIDE]


def _borrowed(a: np.ndarray) -> mt.Tensor:
    return mt.from_numpy(a.copy())


@pytest.mark.parametrize("other", [_transposed, _every_other, _backwards, _rows_of_a_larger, _borrowed])
@pytest.mark.parametrize("layout", [_transposed, _every_other, _backwards, _rows_of_a_larger, _borrowed])
def test_operands_of_any_layout_have_results_with_the_same_bits_and_strides(layout: Callable, other: Callable):
    def program() -> list[object]:
        x, y = layout(matrix(1)), other(matrix(2))
        made = [x + y, x * 3.0, 1.0 - x, mt.sigmoid(x), mt.relu(y)]
        x.add_(y)
        y.relu_()
        return [bits(tensor._array) for tensor in (*made, x, y)]

    with off():
        expected = program()
    spoil()
    assert program() == expected


def test_a_kernel_keeps_the_memory_order_of_its_operands():
    x, y = matrix(1).T, matrix(2).T
    with off():
        expected = bits(in_chunks(np.multiply, (x, y)))
    assert bits(in_chunks(np.multiply, (x, y))) == expected


def test_results_of_three_dimensions_and_of_long_rows_have_the_same_bits():
    for shape in ((8, 16, 32), (2, 2048), (4, 1, 1024), (1, 64, 64), (4096, 1), (1, 4096)):
        a = matrix(3).reshape(shape)
        b, c = a[:1].copy(), a[..., :1].copy()
        with off():
            expected = [bits((mt.to_tensor(a) * mt.to_tensor(each))._array) for each in (b, c)]
        assert [bits((mt.to_tensor(a) * mt.to_tensor(each))._array) for each in (b, c)] == expected, shape


# ---------- reads happen before writes ----------


@pytest.mark.parametrize(
    "overlap",
    [
        lambda x: x[1:].add_(x[:-1]),
        lambda x: x[:-1].add_(x[1:]),
        lambda x: x.subtract_(x[0]),
        lambda x: x.subtract_(x[:, 3:4]),
        lambda x: x.multiply_(x[5, 5]),
        lambda x: x.add_(x.T),
        lambda x: x.add_(x[::-1]),
        lambda x: x.multiply_(x),
        lambda x: x.divide_(x.detach()),
        lambda x: x.lerp_(x[7], x[:, 9:10]),
    ],
    ids=["below", "above", "row", "column", "element", "transposed", "reversed", "itself", "alias", "two operands"],
)
def test_an_operand_that_overlaps_the_target_is_read_first(overlap: Callable):
    def program() -> object:
        x = mt.to_tensor(matrix(4))
        overlap(x)
        return bits(x._array)

    with off():
        expected = program()
    assert program() == expected


# ---------- errors ----------


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: x.add_(mt.zeros([SIDE, SIDE + 1])),
        lambda x: x.add_(mt.zeros([2, SIDE, SIDE])),
        lambda x: x.clip_("one", 2),
        lambda x: mt.nn.functional.hardtanh_(x, 2.0, 1.0),
        lambda x: x + mt.zeros([SIDE, SIDE + 1]),
        lambda x: x.T.add_(mt.zeros([3])),
    ],
    ids=["shape", "larger operand", "type", "min above max", "out of place", "transposed"],
)
def test_a_large_tensor_raises_the_same_error_as_a_small_one_and_does_not_change(wrong: Callable):
    reported = []
    for switch in (off, low_limits):
        x = mt.to_tensor(matrix(5))
        before, version = bits(x._array), x.inplace_version
        with switch(), pytest.raises((ValueError, TypeError)) as error:
            wrong(x)
        reported.append((type(error.value), str(error.value)))
        assert (bits(x._array), x.inplace_version) == (before, version)
    assert reported[0] == reported[1]


def test_a_function_that_raises_in_the_first_chunk_has_written_nothing():
    a = matrix(6)
    before = bits(a)

    def fails(x: np.ndarray, out: np.ndarray) -> None:
        raise MemoryError("no temporary")

    with pytest.raises(MemoryError):
        in_chunks(fails, (a,), (), a)
    assert bits(a) == before


# ---------- floating-point errors ----------


@pytest.mark.parametrize("how", ["ignore", "warn", "raise"])
def test_results_of_inf_and_nan_raise_no_error_under_any_setting_of_numpy(how: str):
    numbers, zeros = matrix(7), np.zeros((SIDE, SIDE), np.float32)

    def program() -> list[object]:
        x, y = mt.to_tensor(numbers), mt.to_tensor(zeros)
        made = [mt.divide(x, y), mt.log(x), mt.sigmoid(x), mt.divide(y, y)]
        return [bits(tensor._array) for tensor in (*made, x.divide_(y), x.log_())]

    with off(), np.errstate(all="ignore"):
        expected = program()
    with warnings.catch_warnings(), np.errstate(all=how):
        warnings.simplefilter("error")
        assert program() == expected
        assert np.geterr()["divide"] == how


# ---------- operations left to numpy ----------


def test_with_one_thread_and_no_reuse_numpy_computes_in_one_call(monkeypatch: pytest.MonkeyPatch):
    mt.device.cpu.set_num_threads(1)
    mt.device.cpu.set_reuse_limit(0)
    cut = []
    monkeypatch.setattr(chunks, "share_out", lambda *given: cut.append(given))
    x = mt.to_tensor(matrix(1), stop_gradient=False)
    mt.sigmoid(x + 1.0).backward()
    x.detach().add_(1.0)
    assert cut == []


def test_a_small_array_is_not_split(monkeypatch: pytest.MonkeyPatch):
    def never(*_: object) -> None:
        raise AssertionError("a small array was split")

    monkeypatch.setattr(chunks, "share_out", never)
    whole = mt.to_tensor(matrix(1))
    part = whole[:2]
    assert part._storage.nbytes >= large.nbytes > part.nbytes
    part.relu_()
    mt.sigmoid(part)
    (mt.ones([3, 4]) + 1.0).relu_()
    (mt.arange(5000) + mt.arange(5000)).tolist()
