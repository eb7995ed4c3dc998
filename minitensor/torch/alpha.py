"""The parameter ``alpha`` of ``add`` and ``sub``, by which the second operand is multiplied."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.dtypes import FLOATS, HALVES, INTEGERS
from minitensor.engine.kernels.numbers import number
from minitensor.engine.operations.operands import NUMBERS, converted
from minitensor.engine.operations.variants import Redirect
from minitensor.torch.operands import cast, promoted_dtype
from minitensor.torch.scalars import check_range, stored_integer


def scale_operand(op: str, redirect: Redirect, x: Any, y: Any, alpha: Any) -> Any:
    """Return ``alpha * y``, which the operation ``op`` then adds to ``x`` or subtracts from ``x``. If ``y`` is a
    tensor, ``redirect`` computes the product as a recorded operation.

    A tensor ``y`` of integers or bools is converted to the dtype of the sum first. If the dtype of the sum is a 16-bit
    floating-point one, ``alpha`` is rounded to 16 bits first, and so is ``y`` if it is a number. If ``y`` is neither a
    tensor nor a number, it is returned unchanged.

    Raises:
        RuntimeError: if ``alpha`` is a float although neither operand holds floats, if ``alpha`` is a bool although the
            sum does not hold bools, or if the dtype of the sum cannot hold ``alpha``.
    """
    factor = number(op, "alpha", alpha)
    if isinstance(factor, float) and not any(_is_floating(operand) for operand in (x, y)):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    tensors = [operand for operand in (x, y) if isinstance(operand, BaseTensor)]
    dtype = promoted_dtype(tensors) if tensors else None
    if isinstance(alpha, bool) and dtype != np.bool_:
        raise RuntimeError(f"{op}(): Boolean alpha only supported for Boolean results; alpha is {alpha}; pass a number")
    if dtype in FLOATS:
        check_range(factor, dtype)
    elif dtype is not None and dtype in INTEGERS and isinstance(factor, int):
        factor = stored_integer(op, factor, dtype)
    if dtype in HALVES:
        factor, y = _rounded(factor, dtype), y if isinstance(y, BaseTensor) else _rounded(y, dtype)
    if isinstance(y, BaseTensor):
        if y._array.dtype != dtype and y._array.dtype not in FLOATS:
            y = cast(y, dtype)  # type: ignore[arg-type]  # there is a tensor, so there is a dtype
        return redirect("mul", y, bool(factor) if dtype == np.bool_ else factor)
    return factor * y if isinstance(y, (int, float, complex, np.number)) else y


def _is_floating(operand: Any) -> bool:
    return operand._array.dtype in FLOATS if isinstance(operand, BaseTensor) else isinstance(operand, float)


def _rounded(value: Any, dtype: np.dtype) -> Any:
    """Return a number rounded to ``dtype``; anything else is returned unchanged."""
    return converted(np.asarray(value, np.float64), dtype).item() if isinstance(value, NUMBERS) else value
