"""Spread, norms and logarithms of sums: made of several operations of the table."""

from __future__ import annotations

import math
from typing import Any

from minitensor.torch.compiling import FUNCTIONS as TABLE
from minitensor.torch.converting import to
from minitensor.torch.naming import called
from minitensor.torch.tensor import Tensor

_add, _sub, _mul, _div = (TABLE[name] for name in ("add", "sub", "mul", "div"))


def var(
    input: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    """The mean square distance from the mean, over one less than the count (``correction`` less)."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    correction = int(unbiased) if correction is None else correction
    mean = TABLE["mean"](input, dim, True)
    distance = _sub(input, mean)
    total = TABLE["sum"](_mul(distance, distance), dim, keepdim)
    count = input._array.size // (mean._array.size or 1)
    divisor = count - correction if count > correction else 0
    return called(_div(total, float(divisor)), "VarBackward0")


def std(
    input: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    """The square root of :func:`var`."""
    return called(TABLE["sqrt"](var(input, dim, unbiased, keepdim, correction=correction)), "StdBackward0")


def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False) -> Tensor:
    """The p-norm; by default the root of the sum of squares. Its gradient at 0 is 0."""
    if p in ("fro", 2, 2.0):
        total = TABLE["sum"](_mul(input, input), dim, keepdim)
        safe = TABLE["where"](TABLE["eq"](total, 0), 1.0, total)
        root = TABLE["where"](TABLE["eq"](total, 0), 0.0, TABLE["sqrt"](safe))
        return called(root, "LinalgVectorNormBackward0")
    size = TABLE["abs"](input)
    if p in (math.inf, -math.inf):
        return called(
            TABLE["amax" if p > 0 else "amin"](size, () if dim is None else dim, keepdim), "LinalgVectorNormBackward0"
        )
    if p in (1, 1.0):
        return called(TABLE["sum"](size, dim, keepdim), "LinalgVectorNormBackward0")
    return called(TABLE["pow"](TABLE["sum"](TABLE["pow"](size, p), dim, keepdim), 1.0 / p), "LinalgVectorNormBackward0")


def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """The logarithm of softmax, without overflow on the way."""
    if dtype is not None:
        input = to(input, dtype)
    shifted = _sub(input, TABLE["amax"](input.detach(), dim, True))
    total = TABLE["log"](TABLE["sum"](TABLE["exp"](shifted), dim, True))
    return called(_sub(shifted, total), "LogSoftmaxBackward0")


def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """The logarithm of the sum of exponentials, without overflow on the way."""
    highest = TABLE["amax"](input.detach(), dim, True)
    total = TABLE["log"](TABLE["sum"](TABLE["exp"](_sub(input, highest)), dim, keepdim))
    highest = highest if keepdim else highest.squeeze(dim)
    return called(_add(total, highest), "LogsumexpBackward0")
