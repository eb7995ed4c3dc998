"""Round Python numbers beside floating-point tensors by PyTorch's rules, and refuse those that are too large."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitensor.engine.checks import shown
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.dtypes import FLOATS, HALVES, limits
from minitensor.engine.operations.operands import NUMBERS
from minitensor.torch.dtypes import C_NAMES

#: Operations that compute with a float32 number beside 16-bit floats. The others first round the number to 16 bits.
_IN_FLOAT32 = frozenset(("multiply", "divide", "floor_divide", "trunc_divide", "lerp"))
#: Operations that refuse a number beyond the largest one of the dtype. The others replace it by infinity.
_REFUSING = frozenset(("pow", "lerp"))
#: The largest number of float16. All floating-point dtypes can hold numbers up to this one.
_SMALLEST = 65504


def dtype_of_number(op: str, value: Any, beside: np.dtype) -> np.dtype:
    """Return the dtype to which the operation ``op`` converts ``value`` beside floats of dtype ``beside``.

    Raises:
        RuntimeError: if that dtype cannot hold the number and the operation is in ``_REFUSING``.
    """
    is_wide = beside in HALVES and op in _IN_FLOAT32 and isinstance(value, NUMBERS)
    wanted = np.dtype(np.float32) if is_wide else beside
    if op in _REFUSING:
        fits(value, wanted)
    return wanted


def fits(value: Any, dtype: np.dtype) -> None:
    """Check that a finite number is not beyond the largest one of ``dtype``. Other dtypes than floats are not checked.

    Raises:
        RuntimeError: if the number is too large.
    """
    if not isinstance(value, NUMBERS) or -_SMALLEST <= value <= _SMALLEST or dtype not in FLOATS:
        return
    largest, size = float(limits(dtype).max), abs(value.item() if isinstance(value, np.generic) else value)
    if largest < size < math.inf:
        raise RuntimeError(
            f"value cannot be converted to type {C_NAMES[dtype.name]} without overflow: "
            f"{shown(value)} is beyond {largest}"
        )


def check_numbers(x: Any, *values: Any, wide: bool = False) -> None:
    """Check that numbers which an operation converts to the dtype of ``x`` are not beyond its largest one.

    If ``wide`` is true, the operation converts them to float32 beside 16-bit floats.

    Raises:
        RuntimeError: if a number is too large.
    """
    if isinstance(x, BaseTensor):
        dtype = x._array.dtype
        for value in values:
            fits(value, np.dtype(np.float32) if wide and dtype in HALVES else dtype)
