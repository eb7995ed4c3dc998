"""Pointwise functions that are not rows of the derivative table, such as ``addcmul``, ``rsub`` and ``apply_``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitensor.engine.checks import shown
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.dtypes import FLOATS, HALVES, INTEGERS
from minitensor.engine.kernels.numbers import number
from minitensor.torch.arguments import need_tensor
from minitensor.torch.compiling import FUNCTIONS as TABLE
from minitensor.torch.conversion import to
from minitensor.torch.dtypes import BY_NUMPY, dtype, float32
from minitensor.torch.grad_fn import name_grad_fn
from minitensor.torch.operands import promoted_dtype
from minitensor.torch.promotion import result_type
from minitensor.torch.result_strides import arrange, like_operands
from minitensor.torch.scalars import check_range, stored_integer
from minitensor.torch.tensor import Tensor, as_torch


def _common_dtype(*tensors: Tensor) -> dtype | None:
    """Return the dtype to which the operands are converted before the computation. None means that all operands have it
    already.

    Without this conversion, the product of two operands could overflow in 16 bits, or in a dtype that is narrower than
    the dtype of the result.
    """
    common = promoted_dtype(list(tensors))
    common = float32.numpy if common in HALVES else common
    return None if all(each._array.dtype == common for each in tensors) else BY_NUMPY[common]


def _check_arguments(
    op: str, input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any
) -> tuple[float, dtype | None]:
    """Check the arguments of ``op``. Return the number ``value``, and the result of :func:`_common_dtype`."""
    need_tensor(op, tensor1, 2, "tensor1")
    need_tensor(op, tensor2, 3, "tensor2")
    value = number(op, "value", value)
    common = _common_dtype(input, tensor1, tensor2)
    dtype = input._array.dtype if common is None else common.numpy
    check_range(value, dtype)
    return stored_integer(op, value, dtype) if dtype in INTEGERS and isinstance(value, int) else value, common


def _add(op: str, input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any) -> Tensor:
    """Return ``input`` plus ``value`` times the product or quotient of the other operands: ``op`` is "mul" or "div"."""
    value, common = _check_arguments(f"addc{op}", input, tensor1, tensor2, value)
    if common is None:
        out = TABLE["add"](input, TABLE[op](tensor1, tensor2), alpha=value)
        return arrange(out, like_operands, input, tensor1, tensor2)
    wide = [to(each, common) for each in (input, tensor1, tensor2)]
    result = promoted_dtype([input, tensor1, tensor2])
    out = TABLE["add"](wide[0], TABLE[op](*wide[1:]), alpha=value)
    return to(out, BY_NUMPY[result]) if result in HALVES else out


def _add_in_place(op: str, input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any) -> Tensor:
    value, common = _check_arguments(f"addc{op}_", input, tensor1, tensor2, value)
    if common is None:
        return TABLE["add_"](input, TABLE[op](tensor1, tensor2), alpha=value)
    return TABLE["add_"](input, TABLE[op](to(tensor1, common), to(tensor2, common)) * value)


def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """Return ``input + value * tensor1 * tensor2``. The result has the broadcast shape.

    Args:
        input, tensor1, tensor2: of shapes that are broadcast against each other.

    Raises:
        RuntimeError: if the shapes cannot be broadcast.
    """
    return name_grad_fn(_add("mul", input, tensor1, tensor2, value), "AddcmulBackward0")


def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """Return ``input + value * tensor1 / tensor2``. The result has the broadcast shape.

    Args:
        input, tensor1, tensor2: of shapes that are broadcast against each other.

    Raises:
        RuntimeError: if the shapes cannot be broadcast, or neither ``tensor1`` nor ``tensor2`` holds floats.
    """
    _need_a_float("addcdiv", tensor1, tensor2)
    return name_grad_fn(_add("div", input, tensor1, tensor2, value), "AddcdivBackward0")


def _need_a_float(op: str, *operands: Tensor) -> None:
    if all(isinstance(x, BaseTensor) and x._array.dtype not in FLOATS for x in operands):
        names = " and ".join(str(as_torch(x).dtype) for x in operands)
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a "
            f"true division of tensor1 and tensor2.\n{op}() got {names}; convert one of them: tensor1.float()."
        )


def addcmul_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """Compute ``addcmul`` in place, with one write. Return ``input``, whose shape and dtype do not change.

    Raises:
        RuntimeError: if a shape cannot be broadcast to the shape of ``input``, if the dtype of ``input`` cannot hold
            the result, or if ``input`` is a leaf that requires grad, or a view of such a leaf, in grad mode.
    """
    return _add_in_place("mul", input, tensor1, tensor2, value)


def addcdiv_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """Compute ``addcdiv`` in place, with one write. Return ``input``, whose shape and dtype do not change.

    Raises:
        RuntimeError: if a shape cannot be broadcast to that of ``input``, if the dtype of ``input`` cannot hold the
            result, if ``input`` is a leaf that requires grad, or a view of such a leaf, in grad mode, or if neither
            ``tensor1`` nor ``tensor2`` holds floats.
    """
    _need_a_float("addcdiv_", tensor1, tensor2)
    return _add_in_place("div", input, tensor1, tensor2, value)


def rsub(input: Tensor, other: Any, *, alpha: float = 1) -> Tensor:
    """Return ``other - alpha * input``. The result has the broadcast shape.

    Raises:
        RuntimeError: if the shapes cannot be broadcast, or one operand holds bools.
    """
    need_tensor("rsub", input)
    if isinstance(other, Tensor):
        return name_grad_fn(TABLE["sub"](other, input, alpha=alpha), "RsubBackward0")
    if alpha == 1:
        return Tensor.__rsub__(input, other)
    other = input.new_full((), other, dtype=result_type(input, other))
    return name_grad_fn(TABLE["sub"](other, input, alpha=alpha), "RsubBackward1")


def clamp_min(input: Tensor, min: Any) -> Tensor:
    """Return ``input``, with elements below ``min`` replaced by ``min``. The result has the broadcast shape.

    Raises:
        TypeError: if ``input`` is not a tensor, or the bound is neither a number nor a tensor.
    """
    return name_grad_fn(TABLE["clamp"](input, min), "ClampMinBackward0")


def clamp_max(input: Tensor, max: Any) -> Tensor:
    """Return ``input``, with elements above ``max`` replaced by ``max``. The result has the broadcast shape.

    Raises:
        TypeError: if ``input`` is not a tensor, or the bound is neither a number nor a tensor.
    """
    return name_grad_fn(TABLE["clamp"](input, None, max), "ClampMaxBackward0")


def clamp_min_(input: Tensor, min: Any) -> Tensor:
    """Compute ``clamp_min`` in place. Return ``input``, whose shape and dtype do not change.

    Raises:
        RuntimeError: if the tensor is a leaf that requires grad, or a view of such a leaf, in grad mode.
        TypeError: if the bound is neither a number nor a tensor.
    """
    return TABLE["clamp_"](input, min)


def clamp_max_(input: Tensor, max: Any) -> Tensor:
    """Compute ``clamp_max`` in place. Return ``input``, whose shape and dtype do not change.

    Raises:
        RuntimeError: if the tensor is a leaf that requires grad, or a view of such a leaf, in grad mode.
        TypeError: if the bound is neither a number nor a tensor.
    """
    return TABLE["clamp_"](input, None, max)


def apply_(input: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Overwrite every element with ``callable(element)``, in one write, and return the tensor.

    Raises:
        TypeError: if the tensor requires grad, because the function cannot be recorded, or if ``callable`` is not a
            function.
    """
    if input._current() is not None:
        raise TypeError("can't use apply_ on a tensor that requires grad: the function is not recorded")
    if not hasattr(callable, "__call__"):  # noqa: B004  # the name is that of PyTorch's argument
        raise TypeError(f"apply_(): argument 'callable' (position 1) must be a function, not {shown(callable)}")
    numbers = [callable(number) for number in input._array.ravel().tolist()]
    return input.copy_(input.new_tensor(numbers).reshape(input._array.shape))
