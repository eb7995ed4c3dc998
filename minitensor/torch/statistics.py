"""Spread, norms and logarithms of sums: made of several operations of the table."""

from __future__ import annotations

import math
from typing import Any

from minitensor.kernels.numbers import number
from minitensor.torch.compiling import FUNCTIONS as TABLE
from minitensor.torch.converting import to
from minitensor.torch.naming import called
from minitensor.torch.tensor import Tensor

_add, _sub, _mul, _div = (TABLE[name] for name in ("add", "sub", "mul", "div"))


def var(
    input: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    """The mean square distance from the mean, over one less than the count (``correction`` less).

    Args:
        dim: one dimension or several; all by default.
        keepdim: they stay, with length 1.
        correction: in the place of 1, which ``unbiased=False`` makes 0.

    Raises:
        RuntimeError: for a dtype without fractions.
        IndexError: for a dimension that ``input`` does not have.
    """
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    correction = int(bool(unbiased)) if correction is None else number("var", "correction", correction)
    mean = TABLE["mean"](input, dim, True)
    distance = _sub(input, mean)
    total = TABLE["sum"](_mul(distance, distance), dim, keepdim)
    count = input._array.size // (mean._array.size or 1)
    divisor = count - correction if count > correction else 0
    return called(_div(total, float(divisor)), "VarBackward0")


def std(
    input: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    """The square root of :func:`var`. Its gradient is 0 where all numbers are equal.

    Args:
        dim, keepdim, correction: as for :func:`var`.

    Raises:
        RuntimeError: for a dtype without fractions.
        IndexError: for a dimension that ``input`` does not have.
    """
    return called(_root(var(input, dim, unbiased, keepdim, correction=correction)), "StdBackward0")


def _root(x: Tensor) -> Tensor:
    """The square root, whose slope at 0 is taken as 0."""
    none = TABLE["eq"](x, 0)
    return TABLE["where"](none, 0.0, TABLE["sqrt"](TABLE["where"](none, 1.0, x)))


def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False) -> Tensor:
    """The p-norm; by default the root of the sum of squares. Its gradient at 0 is 0.

    Args:
        p: a number, inf, -inf, or "fro", which is 2.
        dim: one dimension or several; all by default.
        keepdim: they stay, with length 1.

    Raises:
        IndexError: for a dimension that ``input`` does not have.
    """
    if p in ("fro", 2, 2.0):
        total = TABLE["sum"](_mul(input, input), dim, keepdim)
        return called(_root(total), "LinalgVectorNormBackward0")
    size = TABLE["abs"](input)
    if p == 0:  # how many are not 0
        return called(TABLE["sum"](TABLE["abs"](TABLE["sign"](input)), dim, keepdim), "LinalgVectorNormBackward0")
    if p in (math.inf, -math.inf):
        return called(
            TABLE["amax" if p > 0 else "amin"](size, () if dim is None else dim, keepdim), "LinalgVectorNormBackward0"
        )
    if p in (1, 1.0):
        return called(TABLE["sum"](size, dim, keepdim), "LinalgVectorNormBackward0")
    return called(TABLE["pow"](TABLE["sum"](TABLE["pow"](size, p), dim, keepdim), 1.0 / p), "LinalgVectorNormBackward0")


def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """The logarithm of softmax, without overflow on the way.

    Args:
        dtype: that of the result; the input is converted first.

    Raises:
        IndexError: for a dimension that ``input`` does not have.
    """
    if dtype is not None:
        input = to(input, dtype)
    shifted = _sub(input, TABLE["amax"](input.detach(), dim, True))
    total = TABLE["log"](TABLE["sum"](TABLE["exp"](shifted), dim, True))
    return called(_sub(shifted, total), "LogSoftmaxBackward0")


def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """The logarithm of the sum of exponentials, without overflow on the way.

    Args:
        dim: one dimension or several.
        keepdim: they stay, with length 1.

    Raises:
        IndexError: for a dimension that ``input`` does not have.
    """
    highest = TABLE["amax"](input.detach(), dim, True)
    total = TABLE["log"](TABLE["sum"](TABLE["exp"](_sub(input, highest)), dim, keepdim))
    highest = highest if keepdim else highest.squeeze(dim)
    return called(_add(total, highest), "LogsumexpBackward0")
