"""Handle optional parameters for which another operation is called: ``alpha``, ``rounding_mode`` and ``dtype``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine.checks import shown
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import to_tensor
from minitensor.engine.dtypes import HALVES, dtype_of
from minitensor.engine.kernels.numbers import number
from minitensor.engine.operations.operands import NUMBERS, cast, converted

#: A function that calls another operation of the vocabulary, given its name and its arguments.
Redirect = Callable[..., Any]

#: The row of the table for each rounding mode of a quotient.
ROUNDED = {"floor": "floor_divide", "trunc": "trunc_divide"}


def scaled(op: str, redirect: Redirect, y: Any, alpha: Any) -> Any:
    """Return ``alpha * y`` for a tensor, an array, a number or a list of numbers. A product with a tensor is recorded.

    Any other ``y`` is returned unchanged, because the operation refuses it.
    """
    factor = number(op, "alpha", alpha)
    if isinstance(y, (list, tuple)):
        try:
            listed = np.asarray(y)
        except ValueError:  # `y` contains lists of unequal lengths
            return y
        return (factor * listed).tolist() if listed.dtype.kind in "biuf" else y
    if isinstance(y, np.ndarray):
        y = to_tensor(y)
    if isinstance(y, Tensor) and y.dtype != "bool":
        return redirect("scale", y, factor)
    y = y.item() if isinstance(y, np.generic) else y
    return factor * y if isinstance(y, (int, float, complex, Tensor)) else y


def as_elements(x: Tensor, *given: Any) -> tuple[Any, ...]:
    """Return numbers rounded to the dtype of ``x`` if it has 16 bits, because Paddle rounds such arguments first.

    Arguments that are not numbers are returned unchanged, as are all arguments for other dtypes.
    """
    dtype = x._array.dtype
    if dtype not in HALVES:
        return given
    return tuple(
        converted(np.asarray(each, np.float64), dtype).item() if isinstance(each, NUMBERS) else each for each in given
    )


def rounded(op: str, mode: Any) -> str:
    """Return the name of the operation that computes a rounded quotient, with an underscore if ``op`` has one.

    Raises:
        ValueError: if ``mode`` is neither "floor" nor "trunc".
    """
    if not isinstance(mode, str) or mode not in ROUNDED:
        raise ValueError(f"{op}: rounding_mode must be None, 'floor' or 'trunc', not {shown(mode)}")
    return ROUNDED[mode] + ("_" if op.endswith("_") else "")


def in_dtype(op: str, x: Any, dtype: Any) -> Any:
    """Return ``x`` in ``dtype``, the requested dtype of the result. A conversion between floating dtypes is recorded.

    Raises:
        TypeError: if ``op`` works in place and ``x`` has another dtype, which never changes in place.
    """
    target = dtype_of(dtype)
    if op.endswith("_"):
        if isinstance(x, Tensor) and x.dtype != target:
            raise TypeError(
                f"`{op}` cannot give a result of dtype {target.name}: x has dtype {x.dtype.name}, and the dtype never "
                f"changes in place. Nothing was written. Use the normal operation `{op[:-1]}`."
            )
        return x
    x = x if isinstance(x, Tensor) else to_tensor(x)
    return x if x.dtype == target else cast(x, target.numpy)


def no_activation(op: str, act: Any) -> ValueError:
    """Return the error for Paddle's parameter ``act``, an activation of the result, which is not supported."""
    return ValueError(f"{op}: act must be None, not {shown(act)}; apply the activation to the result")
