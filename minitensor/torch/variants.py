"""Optional parameters that turn one operation into another: ``alpha``, ``rounding_mode``, ``dtype``."""

from __future__ import annotations

from typing import Any

from minitensor.core.tensor import Tensor as BaseTensor
from minitensor.dtypes import FLOATS
from minitensor.kernels.numbers import number
from minitensor.modes import modes
from minitensor.operations import variants
from minitensor.operations.variants import TurnedInto
from minitensor.torch.dtypes import SCALAR_NAMES, dtype_of
from minitensor.torch.errors import result_does_not_fit
from minitensor.torch.operands import cast, kind_of
from minitensor.torch.tensor import Tensor
from minitensor.torch.warning import warn


def scaled(op: str, turned_into: TurnedInto, x: Any, y: Any, alpha: Any) -> Any:
    """``alpha * y``, recorded where ``y`` is a tensor.

    Raises:
        RuntimeError: when ``alpha`` is no integer and both operands are.
    """
    factor = number(op, "alpha", alpha)
    if isinstance(factor, float) and not any(_is_floating(operand) for operand in (x, y)):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(y, BaseTensor):
        return turned_into("mul", y, factor)
    return factor * y


def _is_floating(operand: Any) -> bool:
    return operand._array.dtype in FLOATS if isinstance(operand, BaseTensor) else isinstance(operand, float)


def rounded(op: str, mode: Any) -> str:
    """The operation that gives the quotient, rounded; in place where ``op`` ends with an underscore.

    Raises:
        RuntimeError: when ``mode`` is neither "floor" nor "trunc".
    """
    if mode not in variants.ROUNDED:
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'")
    return variants.rounded(op, mode)


def into_out(op: str, turned_into: TurnedInto, out: Any, *given: Any, **named: Any) -> Any:
    """Write the result of the normal operation into ``out``, which takes its shape, and return ``out``.

    Of several results each goes into its tensor of the tuple ``out``.

    Raises:
        RuntimeError: when a gradient is wanted, or the dtype of ``out`` cannot hold the result.
    """
    several = out if isinstance(out, (tuple, list)) else (out,)
    for each in several:
        if not isinstance(each, BaseTensor):
            raise TypeError(f"{op}(): argument 'out' must be Tensor, not {type(each).__name__}")
    tensors = [x for x in (*given, *several) if isinstance(x, BaseTensor)]
    if modes.grad and any(not x.stop_gradient for x in tensors):
        raise RuntimeError(
            f"{op}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            f"arguments requires grad.\nUse the normal operation, or call it under `torch.no_grad()`."
        )
    result = turned_into(op, *given, **named)
    if isinstance(result, tuple) != isinstance(out, (tuple, list)):
        raise TypeError(
            f"{op}(): argument 'out' must be {'tuple of Tensors' if isinstance(result, tuple) else 'Tensor'}, not "
            f"{type(out).__name__}"
        )
    results = result if isinstance(result, tuple) else (result,)
    if len(results) != len(several):
        raise TypeError(f"{op}(): argument 'out' must be tuple of {len(results)} Tensors, not of {len(several)}")
    for one, target in zip(results, several, strict=True):
        _put(op, one, target)
    return (
        out if not isinstance(result, tuple) else result._make(several) if hasattr(result, "_make") else tuple(several)
    )


def _put(op: str, result: Any, out: Any) -> None:
    have, want = result._array, out._array
    if kind_of(have.dtype) > kind_of(want.dtype):
        raise result_does_not_fit(op, out, have.dtype)
    if have.shape != want.shape:
        if want.size:
            warn(
                f"An output with one or more elements was resized since it had shape {list(want.shape)}, which does "
                f"not match the required output shape {list(have.shape)}. This behavior is deprecated, and in a future "
                f"PyTorch release outputs will not be resized unless they have zero elements. You can explicitly reuse "
                f"an out tensor t by resizing it, inplace, to zero elements with t.resize_(0)."
            )
        out.resize_(have.shape)
    Tensor.copy_(out, result)


def no_bounds() -> RuntimeError:
    """``clamp`` was given neither bound."""
    return RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")


def clamped_by(op: str, turned_into: TurnedInto, x: Any, low: Any, high: Any) -> Any:
    """``x`` between bounds of which one at least is a tensor, with a bound for each element; ``op`` may be in place."""
    out = x
    if low is not None:
        out = turned_into("where", turned_into("lt", out, low), low, out)
    if high is not None:
        out = turned_into("where", turned_into("gt", out, high), high, out)
    return Tensor.copy_(x, out) if op.endswith("_") else out


def in_dtype(x: Any, dtype: Any) -> Any:
    """``x`` in another dtype, for a result of that dtype; recorded."""
    wanted = dtype_of(dtype)
    return x if x._array.dtype is wanted.numpy else cast(x, wanted.numpy)


def only_floats(op: str, x: Any) -> Any:
    """``x``, if it holds floats.

    Raises:
        RuntimeError: when it does not.
    """
    if isinstance(x, BaseTensor) and x._array.dtype not in FLOATS:
        raise RuntimeError(
            f"{op}(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {SCALAR_NAMES[x._array.dtype]}"
        )
    return x


def reduced_dims(x: Any, dim: Any) -> Any:
    """The dimensions to reduce. A tensor without dimensions has 0 and -1 all the same, as in PyTorch."""
    if isinstance(x, BaseTensor) and x._array.ndim == 0 and dim is not None:
        given = dim if isinstance(dim, (tuple, list)) else (dim,)
        return () if all(d in (0, -1) for d in given) else dim
    return dim


def as_many_dimensions(op: str, index: Any, src: Any) -> None:
    """Raise RuntimeError unless ``index`` and ``src`` have equally many dimensions, or ``src`` is a number."""
    if isinstance(index, BaseTensor) and isinstance(src, BaseTensor) and index._array.ndim != src._array.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")


def no_bool_subtraction(x: Any, y: Any) -> None:
    """Raise RuntimeError where a tensor of bools is subtracted, or subtracted from."""
    bools = [isinstance(each, BaseTensor) and each._array.dtype.kind == "b" for each in (x, y)]
    if any(bools):
        with_what = "with two bool tensors" if all(bools) else "with a bool tensor"
        hint = (
            "Use the `^` or `logical_xor()` operator instead."
            if all(bools)
            else ("If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.")
        )
        raise RuntimeError(f"Subtraction, the `-` operator, {with_what} is not supported. {hint}")


def as_long(x: Any, in_place: str) -> Any:
    """``x`` as int64 where it holds smaller integers: their sums are of that dtype, unless they are stored in place."""
    if in_place or not isinstance(x, BaseTensor) or x._array.dtype in FLOATS:
        return x
    return in_dtype(x, "int64")
