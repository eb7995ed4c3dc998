"""Floats of 16 bits: every operation computes in float32 and rounds once; dtypes and values are those of the record."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import minitensor as mt
from minitensor import torch
from minitensor.engine.dtypes import dtype_of, limits
from minitensor.engine.operations import FUNCTIONS
from tests.support.engine.memory import allocated
from tests.support.engine.samples import SAMPLES, Sample
from tools.build import ROOT

pytest.importorskip("ml_dtypes")

HALVES = ("float16", "bfloat16")
RECORDS = json.loads((ROOT / "facts" / "dtypes.json").read_text(encoding="utf-8"))
TORCH = {name: each for name, each in RECORDS["torch 2.13.0"]["answers"].items()}
NAMES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]

FLOATS = [each for each in SAMPLES if any(array.dtype.kind == "f" for array in each.arrays)]


def spacing(values: np.ndarray, dtype: str) -> np.ndarray:
    """Return the distance from each value to the next number of ``dtype``."""
    known = limits(dtype_of(dtype).numpy)
    size = np.maximum(np.abs(values), float(known.tiny))
    return float(known.eps) * 2.0 ** np.floor(np.log2(size))


def expect_near(found: Any, wanted: np.ndarray, dtype: str, spacings: float) -> None:
    """Compare a tensor with exact values that ``dtype`` can only round."""
    assert found.dtype == dtype
    got, wanted = found.astype("float64").numpy(), np.asarray(wanted, np.float64)
    assert got.shape == wanted.shape
    with np.errstate(all="ignore"):
        rounded = wanted.astype(dtype_of(dtype).numpy).astype(np.float64)  # inf beyond the largest number
        near = np.abs(got - wanted) <= spacings * spacing(wanted, dtype)
    same = (got == rounded) | (np.isnan(got) & np.isnan(wanted)) | near
    assert same.all(), (got, wanted)


def halved(given: Sample, dtype: str) -> list[np.ndarray]:
    """Return the operands of a sample, whose floats are rounded to ``dtype``, as arrays of float64."""
    exact = dtype_of(dtype).numpy
    return [a.astype(exact).astype(np.float64) if a.dtype.kind == "f" else a for a in given.arrays]


def tensors(arrays: list[np.ndarray], dtype: str, wanting: tuple[int, ...] = ()) -> list[mt.Tensor]:
    made = [mt.to_tensor(a, dtype if a.dtype.kind == "f" else None) for a in arrays]
    for i in wanting:
        made[i].stop_gradient = False
    return made


# ---------- every operation of the table ----------


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("given", FLOATS, ids=str)
def test_an_operation_is_computed_in_float32_and_rounded_once(given: Sample, dtype: str):
    arrays = halved(given, dtype)
    if given.row.normal:
        wide, out = given.run(tensors(arrays, "float32")), given.run(tensors(arrays, dtype))
        if wide.dtype != "float32":
            assert out.dtype == wide.dtype and (out.numpy() == wide.numpy()).all()
        else:
            expect_near(out, wide.numpy(), dtype, 0.5)
    if given.row.in_place:
        made = tensors(arrays, "float32")
        if made[given.target].dtype != "float32" or given.reference(*arrays).shape != arrays[given.target].shape:
            return
        wide, half = given.run_in_place(made), tensors(arrays, dtype)
        version = half[given.target].inplace_version
        assert given.run_in_place(half) is half[given.target]
        assert half[given.target].inplace_version == version + 1
        expect_near(half[given.target], wide.numpy(), dtype, 0.5)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("given", FLOATS, ids=str)
def test_gradients_have_the_dtype_and_are_near_those_in_float32(given: Sample, dtype: str):
    places = tuple(given.wanting())
    if not given.row.normal or not given.row.rules or not places:
        pytest.skip("no gradient")
    arrays = halved(given, dtype)
    made = {each: tensors(arrays, each, places) for each in ("float32", dtype)}
    for each in made.values():
        given.run(each).sum().backward()
    for i in places:
        wide, half = made["float32"][i].grad, made[dtype][i].grad
        assert (wide is None) == (half is None)
        if half is not None:
            assert half.dtype == dtype
            # A rule may read the result, which was rounded: 1 - tanh(x) ** 2 loses the digits that cancel.
            scale = np.maximum(np.abs(wide.numpy()), np.abs(wide.numpy()).max(initial=0) / 4)
            error = np.abs(half.astype("float32").numpy() - wide.numpy())
            assert (error <= float(limits(dtype_of(dtype).numpy).eps) * (1 + 6 * scale)).all(), (half, wide)


# ---------- PyTorch's record ----------


def torch_dtype(function: Any, *given: Any) -> str:
    try:
        return str(function(*given).dtype).removeprefix("torch.")
    except (RuntimeError, TypeError, NotImplementedError):
        return "refused"


def ones(dtype: str, *shape: int) -> Any:
    return torch.ones(shape, dtype=getattr(torch, dtype))


PAIRS = {
    "two tensors": lambda a, b: ones(a, 2) + ones(b, 2),
    "a tensor and one without dimensions": lambda a, b: ones(a, 2) + ones(b),
    "in place": lambda a, b: ones(a, 2).add_(ones(b, 2)),
    "a quotient": lambda a, b: ones(a, 2) / ones(b, 2),
    "a matrix product": lambda a, b: ones(a, 2, 2) @ ones(b, 2, 2),
}


@pytest.mark.cpu_only
@pytest.mark.parametrize("question", PAIRS)
def test_dtypes_of_two_meet_as_in_pytorch(question: str):
    recorded = TORCH[question]["values"]["found"]
    found = {a: {b: torch_dtype(PAIRS[question], a, b) for b in NAMES} for a in NAMES}
    if question == "a matrix product":  # PyTorch refuses a product of bools, which is one of truth values here
        assert found["bool"].pop("bool") == "bool" and recorded["bool"].pop("bool") == "refused"
    assert found == recorded


@pytest.mark.cpu_only
def test_a_number_meets_a_dtype_as_in_pytorch():
    recorded = TORCH["a tensor and a number"]["values"]
    numbers = (True, 1, 1.5)
    for word, meet in {"found": lambda a, n: ones(a, 2) + n, "product": lambda a, n: ones(a, 2) * n}.items():
        assert {a: {repr(n): torch_dtype(meet, a, n) for n in numbers} for a in NAMES} == recorded[word]


@pytest.mark.cpu_only
@pytest.mark.parametrize("name", TORCH["functions of one tensor"]["values"]["found"])
def test_a_function_gives_the_dtype_of_pytorch(name: str):
    recorded = TORCH["functions of one tensor"]["values"]["found"][name]
    given = (0,) if name == "cumsum" else ()
    names = [a for a in NAMES if a != "bool" or name not in ("abs", "square")]  # squares of bools are refused here
    assert {a: torch_dtype(getattr(torch, name), ones(a, 4), *given) for a in names} == {a: recorded[a] for a in names}


VALUES = [((i * 37) % 101 - 50) / 16 + i / 128 for i in range(60)]


@pytest.mark.cpu_only
@pytest.mark.parametrize("question", TORCH["reductions of 16 bits"]["values"]["found"])
def test_a_reduction_is_that_of_pytorch(question: str):
    name, dtype, axis = question.split()
    x = torch.tensor(VALUES, dtype=getattr(torch, dtype)).reshape(6, 10)
    recorded = TORCH["reductions of 16 bits"]["values"]["found"][question]
    out = getattr(x, name)(int(axis))
    # A variance is made of four operations, each of which rounds.
    expect_near(out, np.array(recorded).reshape(out.shape), dtype, 2 if name == "var" else 1)


@pytest.mark.cpu_only
@pytest.mark.parametrize("dtype", HALVES)
def test_a_long_sum_does_not_stop_growing(dtype: str):
    x = torch.full((5000,), 0.1, dtype=getattr(torch, dtype))
    recorded = TORCH["a long sum of 16 bits"]["values"]
    assert [x.sum().item()] == recorded["found"][dtype]
    assert [x.mean().item()] == recorded["means"][dtype]


PRODUCTS = {
    "x * x": lambda x: x * x,
    "x / (x + 4)": lambda x: x / (x + 4),
    "x * 0.1": lambda x: x * 0.1,
    "x + 0.1": lambda x: x + 0.1,
    "softmax": lambda x: torch.softmax(x, -1),
    "matmul": lambda x: x.reshape(6, 10) @ x.reshape(10, 6),
}


@pytest.mark.cpu_only
@pytest.mark.parametrize("question", TORCH["products and functions of 16 bits"]["values"]["found"])
def test_a_value_is_that_of_pytorch(question: str):
    name, _, dtype = question.rpartition(" ")
    x = torch.tensor(VALUES, dtype=getattr(torch, dtype))
    out = PRODUCTS[name](x) if name in PRODUCTS else getattr(torch, name)(x)
    recorded = np.array(TORCH["products and functions of 16 bits"]["values"]["found"][question])
    expect_near(out, recorded.reshape(out.shape), dtype, 1)


PROGRAMS = {
    "square": lambda x: x * x,
    "sin": torch.sin,
    "sum of a matrix product": lambda x: x.reshape(6, 10) @ x.reshape(10, 6),
    "a broadcast factor": lambda x: x.reshape(6, 10) * x[:10],
    "mean": lambda x: x.mean(),
    "tanh": lambda x: torch.tanh(x) * 3,
}


@pytest.mark.cpu_only
@pytest.mark.parametrize("question", TORCH["gradients of 16 bits"]["values"]["found"])
def test_a_gradient_is_that_of_pytorch(question: str):
    name, _, dtype = question.rpartition(" ")
    x = torch.tensor(VALUES, dtype=getattr(torch, dtype), requires_grad=True)
    PROGRAMS[name](x).sum().backward()
    recorded_dtype, recorded = TORCH["gradients of 16 bits"]["values"]["found"][question]
    assert recorded_dtype == dtype
    wanted = np.array(recorded)
    error = np.abs(np.array(x.grad.float().tolist()) - wanted)
    # PyTorch rounds cos(x) and 1 - y * y before it multiplies, and adds two gradients in 16 bits.
    assert x.grad.dtype == dtype
    assert (error <= 2 * spacing(np.maximum(np.abs(wanted), np.abs(wanted).max() / 8), dtype)).all()


@pytest.mark.cpu_only
@pytest.mark.parametrize("question", TORCH["texts"]["values"]["found"])
def test_a_text_is_that_of_pytorch(question: str):
    name, _, dtype = question.rpartition(" ")
    assert str(torch.tensor(PRINTED[name]).to(getattr(torch, dtype))) == TORCH["texts"]["values"]["found"][question]


PRINTED: dict[str, Any] = {
    "whole": [1.0, 2.0, 100.0],
    "fractions": [0.125, 0.1, 3.14159],
    "matrix": [[1.5, 2.0], [100.25, 3.0]],
    "one": 2.5,
    "large": [60000.0, 1.0],
    "small": [1e-4, 1.0],
}


# ---------- Paddle's record ----------

PADDLE = RECORDS["paddle 3.3.1"]["answers"]


def paddle_dtype(function: Any, *given: Any) -> str:
    try:
        return function(*given).dtype.name
    except (ValueError, TypeError, RuntimeError):
        return "refused"


def in_paddle(dtype: str, *shape: int) -> Any:
    return mt.ones(list(shape), dtype)


@pytest.mark.cpu_only
def test_dtypes_of_two_meet_as_in_paddle_where_paddle_lets_them():
    """Paddle on a CPU refuses an integer beside a float; minitensor gives the float."""
    recorded = PADDLE["two tensors"]["values"]["found"]
    found = {a: {b: paddle_dtype(lambda a, b: in_paddle(a, 2) + in_paddle(b, 2), a, b) for b in NAMES} for a in NAMES}
    wrong = {(a, b) for a in NAMES for b in NAMES if recorded[a][b] not in ("refused", found[a][b])}
    assert not wrong
    assert found == TORCH["two tensors"]["values"]["found"]


@pytest.mark.cpu_only
@pytest.mark.parametrize("question", PADDLE["texts"]["values"]["found"])
def test_a_text_is_that_of_paddle(question: str):
    name, _, dtype = question.rpartition(" ")
    x = mt.to_tensor(PRINTED[name], "float32").astype(dtype)
    # Paddle 3 rounds to the nearest, and 2.6.2 down: both print what they hold.
    assert str(x) == PADDLE["texts"]["values"]["found"][question]


# ---------- storage ----------


@pytest.mark.cpu_only
@pytest.mark.parametrize("dtype", NAMES)
def test_a_tensor_holds_as_many_bytes_as_its_elements(dtype: str, base: int):
    x = mt.ones([10], dtype)
    assert allocated() - base == 10 * x.element_size() == x._storage.nbytes
    del x
    assert allocated() == base


@pytest.mark.cpu_only
@pytest.mark.parametrize("dtype", HALVES)
def test_a_saved_tensor_is_the_one_of_16_bits(dtype: str, base: int):
    x = mt.ones([1000], dtype)
    x.stop_gradient = False
    y = x.exp().sin()
    assert allocated() - base == 3 * 2000
    y.sum().backward()
    assert x.grad.dtype == dtype


@pytest.mark.parametrize("dtype", HALVES)
def test_a_write_on_a_saved_tensor_is_noticed(dtype: str):
    x = mt.to_tensor([1.0, 2.0], dtype)
    x.stop_gradient = False
    y = x * 1
    z = y.sin()
    y[:1].add_(1.0)
    with pytest.raises(RuntimeError, match="tensor_version"):
        z.sum().backward()


def test_bfloat16_without_ml_dtypes_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(mt.bfloat16, "_numpy", None)
    with pytest.raises(ImportError, match=r"pip install 'minitensor\[bfloat16\]'"):
        mt.ones([2], "bfloat16")
    with pytest.raises(ImportError, match="ml_dtypes"):
        mt.ones([2]).astype(mt.bfloat16)


def test_a_function_is_the_same_for_large_tensors():
    x = np.linspace(-3, 3, 9 << 20, dtype=np.float32).astype(np.float16)
    given = mt.to_tensor(x)
    for name in ("sigmoid", "exp"):
        out = FUNCTIONS[name](given)
        wide = FUNCTIONS[name](mt.to_tensor(x[:1000].astype(np.float32))).numpy()
        assert (out.numpy()[:1000] == wide.astype(np.float16)).all()
