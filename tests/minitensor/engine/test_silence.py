"""Test that the program sees no warning of numpy about inf and nan, which are valid values."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest

import minitensor as mt
from minitensor import torch

VALUES = [float("nan"), float("inf"), -float("inf"), 0.0, -3.0, 3e38, -3e38, 1e-45, 89.0]
#: The arguments of the calls: a tuple, or a word for the tensor itself or for a tensor with the reversed values.
GIVEN = [(), (2,), (0.0,), "itself", "reversed"]
#: Methods that return numpy arrays. Operations on arrays may warn, because the engine does not run them.
LEAVING = {"numpy", "__array__", "__array_wrap__"}
OPERATORS = [
    "add",
    "sub",
    "mul",
    "truediv",
    "pow",
    "rtruediv",
    "rpow",
    "mod",
    "floordiv",
    "matmul",
    "rsub",
    "radd",
    "rmul",
    "iadd",
    "itruediv",
    "ipow",
]


def names(kind: type) -> list[str]:
    public = [name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name, None))]
    return sorted({*public, *(f"__{name}__" for name in OPERATORS if hasattr(kind, f"__{name}__"))} - LEAVING)


def called(make, name: str) -> None:
    """Call the method ``name`` of a tensor that contains inf and nan with each kind of argument, and run backward."""
    for numbers in (VALUES, [[a, b, 1.0] for a, b in zip(VALUES, VALUES[::-1], strict=True)]):
        for given in GIVEN:
            for wanted in (False, True):
                x = make(numbers, wanted)
                other = x if given == "itself" else make(numbers[::-1], False)
                try:
                    out = getattr(x, name)(*(given if isinstance(given, tuple) else (other,)))
                    if wanted:
                        out.sum().backward()
                except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
                    continue  # other files test the errors of wrong calls


def paddles(numbers, wanted):
    return mt.to_tensor(numbers, stop_gradient=not wanted)


def torchs(numbers, wanted):
    return torch.tensor(numbers, requires_grad=wanted)


@pytest.mark.parametrize(("kind", "make"), [(mt.Tensor, paddles), (torch.Tensor, torchs)], ids=["paddle", "torch"])
def test_no_method_warns_about_inf_or_nan(kind, make):
    reported = set()
    for name in names(kind):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            # The package sets this filter at import, but pytest resets the filters.
            warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"minitensor\b")
            called(make, name)
        reported |= {(name, str(one.message)) for one in seen if "encountered" in str(one.message)}
    assert not reported


def test_a_program_in_a_separate_process_prints_no_warning():
    program = "from minitensor import torch\ntorch.tensor([3.0, 0.0]).acos().log_(); print(torch.tensor(0.0).log())"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("tensor(-inf)\n", "")


@pytest.mark.parametrize("clip", [mt.nn.ClipGradByGlobalNorm(1.0), mt.nn.ClipGradByNorm(1.0)])
def test_clipping_gradients_whose_norm_overflows_gives_no_warning(clip):
    x = mt.create_parameter([2], "float32")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (x * mt.to_tensor(np.array([3e38, 1.0], np.float32))).sum().backward()
        mt.optimizer.SGD(0.1, parameters=[x], grad_clip=clip).step()
