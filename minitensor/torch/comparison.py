"""Compare whole tensors, compare elements up to rounding, and find elements that equal one of several.

The other comparisons are rows of the derivative table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.core.history import new_node
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.device.arrays import broadcast_shapes, host_array, like
from minitensor.engine.kernels.sixteen_bits import wide
from minitensor.engine.modes import modes
from minitensor.engine.operations.operands import CAST, NUMBERS, constant, converted
from minitensor.torch.arguments import need_tensor
from minitensor.torch.errors import sizes_differ
from minitensor.torch.operands import promoted_dtype
from minitensor.torch.scalars import integer_beside
from minitensor.torch.tensor import Tensor, as_torch, without_history


def with_gradient_like(x: Any, y: Any) -> Any:
    """Return the operand ``y`` of an in-place comparison with ``x``, prepared for backward.

    The backward pass of such a comparison computes a gradient of 0 in the dtype of ``x`` for both operands. If ``y``
    has another dtype and a history, the result is an alias of ``y`` that casts this gradient to the dtype of ``y``. The
    elements of ``y`` are not cast.
    """
    if not isinstance(x, BaseTensor) or not isinstance(y, BaseTensor) or x._array.dtype == y._array.dtype:
        return y
    node = y._current() if modes.grad else None
    if node is None:
        return y
    same = as_torch(BaseTensor._alias(y._array, y._storage))
    same._node = new_node(CAST, (node,), (y._array.dtype,), y._array.shape)
    return same


def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Return a bool tensor of the broadcast shape: True where two elements differ by at most
    ``atol + rtol * abs(other)``.

    Args:
        input, other: tensors of the same dtype. Their shapes are broadcast against each other.
        equal_nan: True to count two nan as close.

    Raises:
        RuntimeError: if the shapes cannot be broadcast or the dtypes differ.
    """
    need_tensor("isclose", input)
    need_tensor("isclose", other, 2)
    rtol, atol = checks.real("isclose()", "rtol", rtol, least=0), checks.real("isclose()", "atol", atol, least=0)
    equal_nan = checks.flag("isclose()", "equal_nan", equal_nan)
    if input._array.dtype != other._array.dtype:
        raise RuntimeError(f"{input.dtype} did not match {other.dtype}")
    try:
        broadcast_shapes(input._array.shape, other._array.shape)
    except ValueError:
        raise sizes_differ([input._array.shape, other._array.shape]) from None
    return without_history(input, np.isclose(input._array, other._array, rtol, atol, equal_nan), "isclose")


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """True if all elements are close, as :func:`isclose` compares them.

    Args:
        input, other, rtol, atol, equal_nan: as for :func:`isclose`.

    Raises:
        RuntimeError: if the shapes cannot be broadcast or the dtypes differ.
    """
    return bool(isclose(input, other, rtol, atol, equal_nan)._array.all())


def equal(input: Tensor, other: Tensor) -> bool:
    """True if two tensors have the same shape and the same elements.

    Raises:
        TypeError: if an argument is not a tensor.
    """
    need_tensor("equal", input)
    need_tensor("equal", other, 2)
    return input._array.shape == other._array.shape and bool(np.all(input._array == other._array))


def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Return a bool tensor of the shape of ``elements``: True where an element equals one of ``test_elements``, or with
    ``invert``, where it equals none of them. A nan equals nothing.

    Args:
        elements, test_elements: two tensors, or a tensor and a number.
        assume_unique: accepted for compatibility; it changes nothing.

    Raises:
        RuntimeError: if an argument is a bool or a tensor of bools.
        TypeError: if neither argument is a tensor, or if one is neither a tensor nor a number.
    """
    checks.flag("isin()", "assume_unique", assume_unique)
    invert = checks.flag("isin()", "invert", invert)
    for i, each in enumerate((elements, test_elements)):
        if not isinstance(each, (BaseTensor, *NUMBERS)):
            need_tensor("isin", each, i + 1, ("elements", "test_elements")[i])
    given = [each for each in (elements, test_elements) if isinstance(each, BaseTensor)]
    if not given:
        need_tensor("isin", elements, 1, "elements")
    if isinstance(elements, bool) or isinstance(test_elements, bool) or any(x._array.dtype == np.bool_ for x in given):
        raise RuntimeError("Unsupported input type encountered for isin(): Bool")
    beside = given[0]._array.dtype
    operands = [
        each if isinstance(each, BaseTensor) else constant("isin", integer_beside("isin", each, beside), beside)
        for each in (elements, test_elements)
    ]
    dtype = promoted_dtype(operands)
    left, right = (wide(converted(host_array(each._array), dtype)) for each in operands)
    found = np.isin(left, right, invert=invert)
    return without_history(as_torch(given[0]), like(found, given[0]._array), "isin")
