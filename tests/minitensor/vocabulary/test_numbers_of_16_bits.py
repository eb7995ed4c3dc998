"""Test expressions of a tensor of 16-bit floats and a Python number: each framework rounds or refuses the number.

The record has the answer of each expression for each of 14 numbers. PyTorch multiplies and divides in float32; before
other operations it rounds the number to 16 bits. Paddle rounds the number before all operations.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import minitensor
from minitensor import torch
from tools.build import ROOT

pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.cpu_only

RECORDS = json.loads((ROOT / "facts" / "dtypes.json").read_text(encoding="utf-8"))
RECORD = {
    library: RECORDS[version]["answers"]["a number beside 16 bits"]["values"]
    for library, version in {"torch": "torch 2.13.0", "paddle": "paddle 3.3.1"}.items()
}
#: Expressions whose answer deliberately differs from PyTorch's, and whether the value or the refusal differs.
DIFFERENT = {
    # PyTorch also rounds the logarithm to 16 bits.
    "torch.xlogy(x, n)": "value",
    # minitensor refuses a negative slope or alpha, because it computes the gradient from the sign of the result.
    "torch.nn.functional.leaky_relu(x, n)": "refusal",
    "torch.nn.functional.elu(x, n)": "refusal",
    # PyTorch refuses a beta of 1e300, which is infinite in float32; minitensor accepts it.
    "torch.nn.functional.softplus(x, n)": "refusal",
}


EYE = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]


def torch_tensor(values: list[Any], dtype: str) -> Any:
    return torch.tensor(values, dtype=getattr(torch, dtype))


def paddle_tensor(values: list[Any], dtype: str) -> Any:
    return minitensor.to_tensor(values, dtype="float32").astype(dtype)


def answer(library: str, expression: str, dtype: str, number: Any) -> str:
    record = RECORD[library]
    make: Callable[..., Any] = torch_tensor if library == "torch" else paddle_tensor
    names = {"torch": torch, "paddle": minitensor, "n": number, "eye": make(EYE, dtype)}
    try:
        out = eval(expression, names | {each: make(record[f"{each}s"], dtype) for each in "xyz"})
    except (RuntimeError, TypeError, ValueError, NotImplementedError):
        return "refused"
    wide = (out.double() if library == "torch" else out.astype("float32")).reshape([-1]).tolist()
    name = str(out.dtype).removeprefix("torch.") if library == "torch" else out.dtype.name
    return " ".join([name, *(format(value, ".9g") for value in wide)])


def same(found: str, wanted: str) -> bool:
    """True if two answers agree. -0 counts as 0, because Paddle adds a bias of 0, which removes the sign of a zero."""
    without = [["0" if each == "-0" else each for each in answer.split()] for answer in (found, wanted)]
    return without[0] == without[1]


@pytest.mark.parametrize("expression", RECORD["torch"]["found"])
def test_a_number_in_an_operation_of_16_bits_is_rounded_or_refused_as_in_pytorch(expression: str):
    kinds = set()
    for dtype, numbers in RECORD["torch"]["found"][expression].items():
        for number, wanted in numbers.items():
            found = answer("torch", expression, dtype, eval(number))
            if not same(found, wanted):
                kinds.add("refusal" if "refused" in (found, wanted) else "value")
                assert expression in DIFFERENT, (dtype, number, found, wanted)
    assert kinds == ({DIFFERENT[expression]} if expression in DIFFERENT else set())


@pytest.mark.parametrize("expression", RECORD["paddle"]["found"])
def test_a_number_in_an_operation_of_16_bits_is_rounded_as_in_paddle_unless_paddle_refuses(expression: str):
    for dtype, numbers in RECORD["paddle"]["found"][expression].items():
        for number, wanted in numbers.items():
            if wanted != "refused":
                assert same(answer("paddle", expression, dtype, eval(number)), wanted), (dtype, number)


def test_gradients_are_right_for_a_number_outside_the_range_of_float16():
    x = torch.tensor([60000.0], dtype=torch.float16, requires_grad=True)
    y = x * 1e-8
    y.backward(torch.tensor([60000.0], dtype=torch.float16))
    assert x.grad.dtype == torch.float16 and x.grad.item() == y.item() == pytest.approx(6e-4, rel=1e-3)
    x = torch.tensor([2.0], dtype=torch.float16, requires_grad=True)
    (first,) = torch.autograd.grad((x / 70000.0) * x, x, create_graph=True)
    assert first.dtype == torch.float16 and first.requires_grad
    first.backward()
    assert x.grad.dtype == torch.float16 and x.grad.item() == pytest.approx(2 / 70000, rel=1e-2)


def test_a_refused_number_beyond_the_dtype_changes_nothing():
    x = torch.ones(2, dtype=torch.float16)
    for call in (
        lambda: x.fill_(70000.0),
        lambda: x.clamp_(max=70000.0),
        lambda: x.pow_(70000.0),
        lambda: x.add_(x, alpha=70000.0),
        lambda: x.masked_fill_(x > 0, 70000.0),
    ):
        with pytest.raises(RuntimeError, match=r"cannot be converted to type c10::Half without overflow: 70000\.0"):
            call()
    assert x.tolist() == [1.0, 1.0] and x._version == 0
    with pytest.raises(RuntimeError, match="type float without overflow"):
        torch.ones(2).fill_(1e300)
    assert torch.ones(2).fill_(float("inf")).tolist() == [float("inf")] * 2
