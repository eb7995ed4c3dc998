"""Find the dtype of a result without computing it."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.dtypes import promoted
from minitensor.engine.operations.operands import NUMBERS, constant
from minitensor.torch.dtypes import BY_NUMPY, dtype
from minitensor.torch.operands import kind_of, promoted_dtype


def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """Return the dtype of the sum of two tensors or numbers.

    In a sum with a tensor that has dimensions, the dtype of a number, or of a tensor without dimensions, counts only if
    it is of a higher kind, such as a float that is added to integers.

    Raises:
        TypeError: if an argument is neither a tensor nor a number.
    """
    operands = []
    for i, each in enumerate((tensor1, tensor2)):
        if isinstance(each, NUMBERS):
            each = constant("result_type", each, None)
        if not isinstance(each, BaseTensor):
            raise TypeError(
                f"result_type(): argument 'tensor{i + 1}' (position {i + 1}) must be Tensor or Number, not "
                f"{type(each).__name__}"
            )
        operands.append(each)
    return BY_NUMPY[promoted_dtype(operands)]


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """Return the dtype of the sum of two tensors that have dimensions and the dtypes ``type1`` and ``type2``.

    Raises:
        TypeError: if an argument is not a dtype.
    """
    return BY_NUMPY[promoted(_numpy("promote_types", 1, "type1", type1), _numpy("promote_types", 2, "type2", type2))]


def can_cast(from_: dtype, to: dtype) -> bool:
    """True if an in-place operation may store results of dtype ``from_`` in a tensor of dtype ``to``.

    Raises:
        TypeError: if an argument is not a dtype.
    """
    return kind_of(_numpy("can_cast", 1, "from_", from_)) <= kind_of(_numpy("can_cast", 2, "to", to))


def _numpy(op: str, position: int, name: str, given: Any) -> np.dtype:
    if not isinstance(given, dtype):
        raise TypeError(
            f"{op}(): argument '{name}' (position {position}) must be torch.dtype, not {type(given).__name__}"
        )
    return given.numpy
