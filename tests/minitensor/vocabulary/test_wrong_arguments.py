"""Call every tensor method of both vocabularies with wrong arguments: each call must return or raise a clear error.

The message of a clear error names the operation. After the error, the tensor is unchanged, and nothing has warned.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

import minitensor as mt
from minitensor import torch


class Thing:
    """An object that no tensor can use."""


WRONG: dict[str, Any] = {
    "a str": "a",
    "None": None,
    "a dict": {"a": 1},
    "an object": Thing(),
    "a large integer": 10**30,
    "a negative integer": -(10**18),
    "nan": float("nan"),
    "inf": float("inf"),
    "a list of str": ["a"],
    "a type": int,
    "bytes": b"x",
    "a complex number": 1j,
    "a set": {1},
    "a function": len,
}
VOCABULARIES = {
    "paddle": (mt.Tensor, lambda: mt.to_tensor([[0.25, 0.5], [0.75, 1.0]])),
    "torch": (torch.Tensor, lambda: torch.tensor([[0.25, 0.5], [0.75, 1.0]])),
}
#: Texts that occur only in errors from inside Python or numpy.
INSIDE = re.compile(
    r"'_array'|'_storage'|not iterable|int\(\) argument|ufunc|can't multiply|has no attribute|"
    r"integer argument expected|"
    r"cannot be interpreted|unsupported operand|object is not|has no len|unhashable|invalid literal|could not convert|"
    r"setting an array|too large to convert|only length-1|must be real|expected at most|'<' not|truth value|"
    r"NaN to integer|infinity to integer|descriptor '|broadcast together|slice indices|bad operand|ndarray"
)
#: Methods that call a function given as an argument, or select a device. Other files test these methods.
ELSEWHERE = {"register_hook", "backward", "cuda", "pin_memory", "apply", "apply_"}
#: Allowed messages that do not name the operation: PyTorch's messages, Python's about the number of arguments, and
#: messages about data.
UNNAMED = re.compile(
    r"Dimension out of range|argument 'dim' must be|both arguments to matmul|must be a (3D tensor|matrix)|"
    r"cannot register a hook|selected index k|cannot sample|invalid shape dimension|"
    r"is invalid for input of size|^to_tensor: |"
    r"expected one of cpu|invalid device ordinal|is not supported; a tensor holds|"
    r"is not supported; a tensor|takes (from )?\d+|missing \d+ required|"
    r"order must be non-negative|unexpected keyword|got multiple values|axis -?\d+ is out of",
    re.IGNORECASE,
)
#: Methods that call another operation, each with a pattern for the name of that operation in its errors.
MADE_OF = {
    **dict.fromkeys(("addcmul", "addcmul_"), "multiply"),
    **dict.fromkeys(("addcdiv", "addcdiv_", "divide", "divide_", "true_divide", "true_divide_"), "divide"),
    **dict.fromkeys(("clamp", "clamp_", "clamp_min", "clamp_max", "clamp_min_", "clamp_max_"), "cl"),
    **dict.fromkeys(("amax", "log_softmax", "logsumexp"), "max"),
    **dict.fromkeys(("std", "var"), "mean|var"),
    **dict.fromkeys(("norm",), "pow|sum"),
    **dict.fromkeys(("ge", "ge_", "gt", "gt_", "greater", "greater_"), "greater_"),
    **dict.fromkeys(("lt", "lt_", "le", "le_", "less", "less_"), "less_"),
    **dict.fromkeys(("ne", "ne_"), "not_equal"),
    **dict.fromkeys(("eq", "eq_"), "equal"),
    "allclose": "isclose",
    "broadcast_to": "expand",
    "tile": "repeat",
    "amin": "min",
    "new_tensor": "tensor",
    "new_full": "full",
    "new_empty": "empty",
    "new_ones": "ones",
    "new_zeros": "zeros",
}


def methods(kind: type) -> list[str]:
    names = [name for name in dir(kind) if not name.startswith("_") and name not in ELSEWHERE]
    return [name for name in names if callable(getattr(kind, name, None))]


def seen(x: Any) -> tuple[Any, ...]:
    return x.tolist(), list(x.shape), str(x.dtype), x._storage.version


CALLS = [(vocabulary, name) for vocabulary, (kind, _) in VOCABULARIES.items() for name in methods(kind)]


def fault(vocabulary: str, name: str, arguments: list[Any]) -> str:
    """Call a method, and describe what is wrong with its error; return "" if it raises none or a clear error."""
    x = VOCABULARIES[vocabulary][1]()
    before = seen(x)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            getattr(x, name)(*arguments)
        except Exception as error:
            text, kind = str(error), type(error).__name__
        else:
            return ""
    if seen(x) != before:
        return "the refused call has changed the tensor"
    if warned:
        return f"{warned[0].category.__name__}: {warned[0].message}"
    if kind in ("MemoryError", "RecursionError"):
        return kind
    if INSIDE.search(text):
        return f"{kind}: {text}"
    function = getattr(getattr(VOCABULARIES[vocabulary][0], name), "__name__", name)
    known = "|".join(re.escape(each.rstrip("_")) for each in (name, function))
    known += f"|{MADE_OF[name]}" if name in MADE_OF else ""
    return "" if re.search(known, text) or UNNAMED.search(text) else f"unnamed: {kind}: {text}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_a_wrong_argument_raises_a_clear_error_and_changes_nothing(vocabulary):
    faults = []
    for name in methods(VOCABULARIES[vocabulary][0]):
        for what, wrong in WRONG.items():
            for arguments in ([wrong], [1, wrong]):
                found = fault(vocabulary, name, arguments)
                if found:
                    faults.append(f"{name} given {what} as number {len(arguments)}: {found}")
    assert faults == []


def test_there_are_thousands_of_calls_with_wrong_arguments():
    assert len(CALLS) * len(WRONG) * 2 > 15_000


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mt.ones([2, 2]).mm("a"), "mm: operand 2 must be a Tensor, a number or an array, not str"),
        (lambda: mt.ones([2]).cast_("a"), "dtype 'a' is not supported"),
        (lambda: torch.ones(2).dot("a"), r"dot\(\): argument 'tensor' \(position 2\) must be Tensor, not str"),
        (lambda: torch.ones(2).mv("a"), r"mv\(\): argument 'vec'"),
        (lambda: torch.ones(2).unflatten(0, 1), r"unflatten\(\): argument 'sizes' .* must be tuple of ints, not int"),
        (lambda: mt.ones([2]).multigammaln(10**30), "p, the number of terms, must be at most 10,000"),
        (lambda: mt.optimizer.lr.NoamDecay(4, 3).step(-3), "NoamDecay: the step must be at least 0, not -3"),
        (lambda: torch.utils.data.SubsetRandomSampler(memoryview(b"a")), "indices must be a sequence of indices"),
    ],
)
def test_the_errors_about_wrong_arguments_have_the_expected_text(call, words):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((TypeError, ValueError), match=words):
            call()
