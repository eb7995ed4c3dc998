"""PyTorch's rules for numbers in operations with floating-point tensors: how a number is rounded, and when it is too
large.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitensor.engine.checks import NUMPY_INTEGERS, shown
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.dtypes import FLOATS, HALVES, INTEGERS, limits
from minitensor.engine.operations.operands import NUMBERS
from minitensor.torch.dtypes import C_NAMES

#: Operations that convert a number to float32 if the tensor holds 16-bit floats. The others round it to 16 bits.
_IN_FLOAT32 = frozenset(("multiply", "divide", "floor_divide", "trunc_divide", "lerp"))
#: Operations that refuse a number larger than the dtype can hold. The others replace such a number by infinity.
_REFUSING = frozenset(("pow", "lerp"))
#: Operations on integers that have floats as results.
_OF_FLOATS = frozenset(("divide", "copysign", "xlogy"))
#: The types of integers.
_WHOLE: Any = (int, *NUMPY_INTEGERS)
#: The largest float16 number. Every other floating-point dtype can hold it, too.
_LARGEST_HALF = 65504


def dtype_of_number(op: str, value: Any, beside: np.dtype) -> np.dtype:
    """Return the dtype to which ``op`` converts ``value`` if the other operand holds floats of the dtype ``beside``.

    Raises:
        RuntimeError: if that dtype cannot hold the number and the operation is in ``_REFUSING``.
    """
    is_wide = beside in HALVES and op in _IN_FLOAT32 and isinstance(value, NUMBERS)
    wanted = np.dtype(np.float32) if is_wide else beside
    if op in _REFUSING:
        check_range(value, wanted)
    return wanted


def integer_beside(op: str, value: Any, dtype: np.dtype) -> Any:
    """Return ``value``, a number in an operation with integers of ``dtype``.

    As in PyTorch, an integer that the dtype cannot hold wraps around: beside uint8, 300 becomes 44. If the result of
    ``op`` holds floats, the number becomes a float instead.

    Raises:
        OverflowError: if the integer needs more than 64 bits.
        RuntimeError: if the dtype cannot hold it, and ``op`` is "pow" or "where".
    """
    if dtype not in INTEGERS or not isinstance(value, _WHOLE):
        return value
    bounds, name = np.iinfo(dtype), op.removesuffix("_")
    if bounds.min <= value <= bounds.max:
        return value
    if not -(2**63) <= value < 2**64:
        raise OverflowError(f"{op}(): int too big to convert: {shown(value)} needs more than 64 bits")
    if name in _REFUSING or name == "where":
        return stored_integer(op, int(value), dtype, may_wrap=name == "where")
    return float(value) if name in _OF_FLOATS else (int(value) - bounds.min) % 2**bounds.bits + bounds.min


def stored_integer(op: str, value: int, dtype: np.dtype, may_wrap: bool = True) -> int:
    """Return ``value``, an integer that is to be stored in a tensor of the integer ``dtype``.

    As in PyTorch, an unsigned dtype also accepts the negatives of its numbers if ``may_wrap`` is true. They wrap
    around: uint8 stores -1 as 255.

    Raises:
        RuntimeError: if the dtype cannot hold the number.
    """
    bounds = np.iinfo(dtype)
    lowest = bounds.min if bounds.min or not may_wrap else -bounds.max
    if not lowest <= value <= bounds.max:
        raise RuntimeError(
            f"value cannot be converted to type {dtype.name}_t without overflow: {op}() got {shown(value)}, and "
            f"{dtype.name} holds {bounds.min} to {bounds.max}"
        )
    return value if value >= bounds.min else value + bounds.max + 1


def check_range(value: Any, dtype: np.dtype) -> None:
    """Raise RuntimeError if ``value`` is finite but larger, in absolute value, than all numbers of ``dtype``.

    Nothing is checked if ``value`` is not a number, or if ``dtype`` is not a floating-point dtype.
    """
    if not isinstance(value, NUMBERS) or -_LARGEST_HALF <= value <= _LARGEST_HALF or dtype not in FLOATS:
        return
    largest, size = float(limits(dtype).max), abs(value.item() if isinstance(value, np.generic) else value)
    if largest < size < math.inf:
        raise RuntimeError(
            f"value cannot be converted to type {C_NAMES[dtype.name]} without overflow: "
            f"{shown(value)} is beyond {largest}"
        )


def check_numbers(x: Any, *values: Any, wide: bool = False) -> None:
    """Raise RuntimeError if one of ``values`` is too large for the dtype of ``x``.

    Args:
        wide: True if the operation converts the numbers to float32 when ``x`` holds 16-bit floats.
    """
    if isinstance(x, BaseTensor):
        dtype = x._array.dtype
        for value in values:
            check_range(value, np.dtype(np.float32) if wide and dtype in HALVES else dtype)
