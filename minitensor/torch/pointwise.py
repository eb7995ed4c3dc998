"""Pointwise functions composed of several operations: ``addcmul``, ``addcdiv``, ``clamp_min``, ``clamp_max``,
``apply_``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minitensor.engine.checks import shown
from minitensor.engine.dtypes import HALVES, promoted
from minitensor.engine.kernels.numbers import number
from minitensor.torch.arguments import need_tensor
from minitensor.torch.compiling import FUNCTIONS as TABLE
from minitensor.torch.conversion import to
from minitensor.torch.dtypes import BY_NUMPY, dtype, float32
from minitensor.torch.grad_fn import with_grad_fn
from minitensor.torch.promotion import result_type
from minitensor.torch.scalars import fits
from minitensor.torch.tensor import Tensor


def _common(*tensors: Tensor) -> dtype | None:
    """Return the dtype to which operands are converted before the computation; None if all have it already.

    Without this conversion the product of two operands could overflow in 16 bits, or in a dtype that is narrower than
    that of the result.
    """
    found = functools.reduce(promoted, (each._array.dtype for each in tensors))
    found = float32.numpy if found in HALVES else found
    return None if all(each._array.dtype == found for each in tensors) else BY_NUMPY[found]


def _added(op: str, input: Tensor, tensor1: Tensor, tensor2: Tensor, value: float) -> Tensor:
    """Return ``input`` plus ``value`` times the product or quotient of the other operands, in the promoted dtype of all
    three.
    """
    value = number(f"addc{op}", "value", value)
    common = _common(input, tensor1, tensor2)
    fits(value, input._array.dtype if common is None else common.numpy)
    if common is None:
        return TABLE["add"](input, TABLE[op](tensor1, tensor2), alpha=value)
    wide = [to(each, common) for each in (input, tensor1, tensor2)]
    result = functools.reduce(promoted, (each._array.dtype for each in (input, tensor1, tensor2)))
    out = TABLE["add"](wide[0], TABLE[op](*wide[1:]), alpha=value)
    return to(out, BY_NUMPY[result]) if result in HALVES else out


def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """Return ``input + value * tensor1 * tensor2``.

    Args:
        input, tensor1, tensor2: of shapes that are broadcast against each other.

    Returns:
        A new tensor of the broadcast shape.

    Raises:
        RuntimeError: if the shapes cannot be broadcast.
    """
    need_tensor("addcmul", tensor1, 2, "tensor1")
    need_tensor("addcmul", tensor2, 3, "tensor2")
    return with_grad_fn(_added("mul", input, tensor1, tensor2, value), "AddcmulBackward0")


def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """Return ``input + value * tensor1 / tensor2``.

    Args:
        input, tensor1, tensor2: of shapes that are broadcast against each other.

    Returns:
        A new tensor of the broadcast shape.

    Raises:
        RuntimeError: if the shapes cannot be broadcast.
    """
    need_tensor("addcdiv", tensor1, 2, "tensor1")
    need_tensor("addcdiv", tensor2, 3, "tensor2")
    return with_grad_fn(_added("div", input, tensor1, tensor2, value), "AddcdivBackward0")


def addcmul_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """Compute ``addcmul`` in place, with one write.

    Returns:
        ``input`` itself, of its shape and dtype.

    Raises:
        RuntimeError: if a shape cannot be broadcast to that of ``input``, if its dtype cannot hold the result, or if it
            is a leaf that requires grad.
    """
    need_tensor("addcmul_", tensor1, 2, "tensor1")
    need_tensor("addcmul_", tensor2, 3, "tensor2")
    value = number("addcmul_", "value", value)
    common = _common(input, tensor1, tensor2)
    fits(value, input._array.dtype if common is None else common.numpy)
    if common is None:
        return TABLE["add_"](input, TABLE["mul"](tensor1, tensor2), alpha=value)
    return TABLE["add_"](input, TABLE["mul"](to(tensor1, common), to(tensor2, common)) * value)


def addcdiv_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """Compute ``addcdiv`` in place, with one write.

    Returns:
        ``input`` itself, of its shape and dtype.

    Raises:
        RuntimeError: if a shape cannot be broadcast to that of ``input``, if its dtype cannot hold the result, or if it
            is a leaf that requires grad.
    """
    need_tensor("addcdiv_", tensor1, 2, "tensor1")
    need_tensor("addcdiv_", tensor2, 3, "tensor2")
    value = number("addcdiv_", "value", value)
    common = _common(input, tensor1, tensor2)
    fits(value, input._array.dtype if common is None else common.numpy)
    if common is None:
        return TABLE["add_"](input, TABLE["div"](tensor1, tensor2), alpha=value)
    return TABLE["add_"](input, TABLE["div"](to(tensor1, common), to(tensor2, common)) * value)


def rsub(input: Tensor, other: Any, *, alpha: float = 1) -> Tensor:
    """Return ``other - alpha * input``.

    Returns:
        A new tensor of the broadcast shape.

    Raises:
        RuntimeError: if the shapes cannot be broadcast, or one operand holds bools.
    """
    need_tensor("rsub", input)
    if isinstance(other, Tensor):
        return with_grad_fn(TABLE["sub"](other, input, alpha=alpha), "RsubBackward0")
    if alpha == 1:
        return Tensor.__rsub__(input, other)
    other = input.new_full((), other, dtype=result_type(input, other))
    return with_grad_fn(TABLE["sub"](other, input, alpha=alpha), "RsubBackward1")


def clamp_min(input: Tensor, min: Any) -> Tensor:
    """Return ``input``, with elements below ``min`` replaced by ``min``.

    Returns:
        A new tensor of the shape of ``input``.

    Raises:
        TypeError: if ``input`` is not a tensor, or the bound is not a number.
    """
    return with_grad_fn(TABLE["clamp"](input, min), "ClampMinBackward0")


def clamp_max(input: Tensor, max: Any) -> Tensor:
    """Return ``input``, with elements above ``max`` replaced by ``max``.

    Returns:
        A new tensor of the shape of ``input``.

    Raises:
        TypeError: if ``input`` is not a tensor, or the bound is not a number.
    """
    return with_grad_fn(TABLE["clamp"](input, None, max), "ClampMaxBackward0")


def clamp_min_(input: Tensor, min: Any) -> Tensor:
    """Compute ``clamp_min`` in place.

    Returns:
        ``input`` itself, of its shape and dtype.

    Raises:
        RuntimeError: if the tensor is a leaf that requires grad, in grad mode.
        TypeError: if the bound is not a number.
    """
    return TABLE["clamp_"](input, min)


def clamp_max_(input: Tensor, max: Any) -> Tensor:
    """Compute ``clamp_max`` in place.

    Returns:
        ``input`` itself, of its shape and dtype.

    Raises:
        RuntimeError: if the tensor is a leaf that requires grad, in grad mode.
        TypeError: if the bound is not a number.
    """
    return TABLE["clamp_"](input, None, max)


def apply_(input: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Overwrite every element with ``callable(element)``, in one write.

    Raises:
        TypeError: if the tensor requires grad, because the function cannot be recorded.
    """
    if input._current() is not None:
        raise TypeError("can't use apply_ on a tensor that requires grad: the function is not recorded")
    if not hasattr(callable, "__call__"):  # noqa: B004  # the name is that of PyTorch's argument
        raise TypeError(f"apply_(): argument 'callable' (position 1) must be a function, not {shown(callable)}")
    numbers = [callable(number) for number in input._array.ravel().tolist()]
    made = input.new_tensor(numbers).reshape(input._array.shape)
    return input.copy_(made)
