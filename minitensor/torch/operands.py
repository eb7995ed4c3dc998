"""Check and convert the arguments of generated functions by PyTorch's rules.

An operand may be a number, a numpy array or a tensor with PyTorch's or Paddle's methods, but not a list. A tensor
without dimensions counts like a number: it changes the dtype of the result only if its dtype is of a higher kind than
that of the tensors with dimensions, such as a float that is added to integers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitensor.engine.checks import NUMPY_INTEGERS
from minitensor.engine.core.errors import unsuitable
from minitensor.engine.core.history import Leaf, is_protected
from minitensor.engine.core.regions import overlaps_itself
from minitensor.engine.core.tensor import Tensor as BaseTensor
from minitensor.engine.device.arrays import gpu_of
from minitensor.engine.dtypes import FLOATS, INDICES, INTEGERS, promoted
from minitensor.engine.kernels.numbers import stored_array
from minitensor.engine.modes import modes
from minitensor.engine.operations import variants
from minitensor.engine.operations.operands import CONSTANT, NUMBERS, _constants, constant, dtype_beside, is_wide
from minitensor.engine.operations.operands import cast as engine_cast
from minitensor.engine.operations.variants import Redirect
from minitensor.torch import scalars
from minitensor.torch.arguments import need_tensor, refuse_bools
from minitensor.torch.creation import as_tensor
from minitensor.torch.dtypes import C_NAMES, SCALAR_NAMES, dtype_of
from minitensor.torch.errors import leaf_written, overlapping_target, result_does_not_fit
from minitensor.torch.grad_fn import name_grad_fn
from minitensor.torch.tensor import Tensor, as_torch
from minitensor.torch.views import flatten

_POSITIONS = ("input", "other", "weight")


def _tensor_or_number(op: str, position: int, value: Any) -> Any:
    if isinstance(value, (BaseTensor, *NUMBERS)):
        return value
    if isinstance(value, np.ndarray):
        return as_tensor(value.copy())
    name = _POSITIONS[position] if position < len(_POSITIONS) else "other"
    raise TypeError(f"{op}(): argument '{name}' (position {position + 1}) must be Tensor, not {type(value).__name__}")


#: Operations that refuse numbers as operands.
NO_NUMBERS = frozenset(
    ("maximum", "minimum", "logical_and", "logical_or", "logical_xor", "ldexp", "hypot", "gcd", "lcm")
    + ("atan2", "fmax", "fmin", "heaviside")
)
#: Operations that refuse a number as first operand.
TENSOR_FIRST = NO_NUMBERS.union(
    ("copysign", "fmod", "equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal")
)


def _refuse_numbers(op: str, given: tuple[Any, ...]) -> None:
    """Raise TypeError if an operand is a number."""
    for i, value in enumerate(given):
        if isinstance(value, NUMBERS):
            name = _POSITIONS[i] if i < len(_POSITIONS) else "other"
            kind = type(value).__name__
            raise TypeError(f"{op}(): argument '{name}' (position {i + 1}) must be Tensor, not {kind}")


def as_operands(op: str, *given: Any) -> tuple[BaseTensor, ...]:
    """Return tensors for the arguments of an operation that is not in place.

    Raises:
        TypeError: if an argument cannot be converted to a tensor, or if no argument is a tensor.
    """
    if op in TENSOR_FIRST and (op in NO_NUMBERS or not isinstance(given[0], BaseTensor)):
        _refuse_numbers(op, given)
    if len(given) == 2 and isinstance(given[0], BaseTensor):
        x, y = given
        if isinstance(y, BaseTensor):
            return x, y
        try:
            if type(x._array) is np.ndarray and x._array.itemsize != 2:
                return x, _constants[y, type(y), x._array.dtype]
        except (KeyError, TypeError, ValueError):
            pass  # `y` is not a number, or no constant for it is cached yet
    values = [_tensor_or_number(op, i, value) for i, value in enumerate(given)]
    tensors = [value for value in values if isinstance(value, BaseTensor)]
    if not tensors:
        raise TypeError(f"{op}(): argument 'input' (position 1) must be Tensor, not {type(given[0]).__name__}")
    partner = promoted_dtype(tensors)
    if partner in FLOATS and isinstance(given[0], BaseTensor):
        partner = scalars.dtype_of_number(op, values[-1], partner)
    gpu = next((gpu for x in tensors if (gpu := gpu_of(x._array)) is not None), None)
    return tuple(
        x if isinstance(x, BaseTensor) else constant(op, scalars.integer_beside(op, x, partner), partner, gpu)
        for x in values
    )


def as_operands_in_place(op: str, target: int, *given: Any) -> tuple[BaseTensor, ...]:
    """Return tensors for the arguments of an in-place operation that writes the argument at position ``target``.

    Raises:
        TypeError: if the argument to write is not a tensor.
    """
    x = given[target]
    if not isinstance(x, BaseTensor):
        raise TypeError(f"{op}(): argument 'input' (position {target + 1}) must be Tensor, not {type(x).__name__}")
    if op[:-1] in NO_NUMBERS:
        _refuse_numbers(op, given)
    dtype = x._array.dtype
    if dtype in FLOATS:
        dtype = scalars.dtype_of_number(op[:-1], given[-1], dtype)
    try:
        values = [_tensor_or_number(op, i, value) for i, value in enumerate(given)]
        gpu = gpu_of(x._array)
        return tuple(
            v if isinstance(v, BaseTensor) else constant(op, scalars.integer_beside(op, v, dtype), dtype, gpu)
            for v in values
        )
    except (TypeError, ValueError, RuntimeError) as error:
        raise unsuitable(op, x, error) from None


# ---------- dtypes ----------


def cast(x: BaseTensor, dtype: np.dtype) -> BaseTensor:
    """Return ``x`` in another dtype, as a tensor with PyTorch's methods."""
    return as_torch(engine_cast(x, dtype))


def kind_of(dtype: np.dtype) -> int:
    """Return the rank of a dtype in promotion: 2 for floats, 1 for integers, 0 for bools."""
    return 2 if dtype in FLOATS else 1 if dtype in INTEGERS else 0


def _promote_all(dtypes: list[np.dtype]) -> np.dtype | None:
    joined = None
    for dtype in dtypes:
        joined = dtype if joined is None else promoted(joined, dtype)
    return joined


def promoted_dtype(tensors: list[BaseTensor]) -> np.dtype:
    """Return the dtype of the result of an operation on ``tensors``.

    Tensors with dimensions determine this dtype. Tensors without dimensions change it only if their dtype is of a
    higher kind. Numbers come last, and change it by the same rule.

    https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
    """
    groups: tuple[list[np.dtype], ...] = ([], [], [])
    for x in tensors:
        groups[0 if x._array.ndim else 2 if x._storage is CONSTANT else 1].append(x._array.dtype)
    result = None
    for dtype in map(_promote_all, groups):
        if dtype is not None and (result is None or kind_of(dtype) > kind_of(result)):
            result = dtype if result is None else promoted(result, dtype)
    return result  # type: ignore[return-value]  # there is at least one tensor


def promote(*operands: BaseTensor) -> tuple[BaseTensor, ...]:
    """Return the operands in their promoted dtype. If this dtype has 16 bits, a float32 number is not converted."""
    dtype = promoted_dtype(list(operands))
    return tuple(x if x._array.dtype is dtype or is_wide(x, dtype) else cast(x, dtype) for x in operands)


_COMPARISONS = frozenset(("equal_", "not_equal_", "less_than_", "less_equal_", "greater_than_", "greater_equal_"))


def into(op: str, target: BaseTensor, other: BaseTensor) -> BaseTensor:
    """Return ``other`` converted to the dtype that an in-place operation on ``target`` needs.

    For a comparison, which may write into any dtype, ``other`` is converted only if ``target`` has the promoted dtype.

    Raises:
        RuntimeError: if ``target`` cannot hold the result: the dtype of the result is of a higher kind, or ``other`` is
            an integer that is too large.
    """
    result = promoted_dtype([target, other])
    if op in _COMPARISONS:
        return cast(other, result) if result == target._array.dtype else other
    if kind_of(result) > kind_of(target._array.dtype):
        raise result_does_not_fit(op, target, result)
    return cast(other, dtype_beside(op, target, other, RuntimeError))


def as_float(x: BaseTensor) -> BaseTensor:
    """Return ``x``, or a float32 copy if it holds integers or bools."""
    return x if x._array.dtype in FLOATS else cast(x, np.dtype(np.float32))


# ---------- stored values and indices ----------


def storable(op: str, x: Any, value: Any) -> tuple[Any, Any]:
    """Return ``x``, and ``value`` as a tensor of the dtype of ``x``. Fractions are truncated if ``x`` holds integers.

    Raises:
        RuntimeError: if the dtype of ``x`` cannot hold ``value``.
        TypeError: if ``x`` is not a tensor, or ``value`` is neither a tensor, an array nor a number.
    """
    if not isinstance(x, BaseTensor):
        raise TypeError(f"{op}(): argument 'input' (position 1) must be Tensor, not {type(x).__name__}")
    dtype = x._array.dtype
    if isinstance(value, NUMBERS):
        value = value.item() if isinstance(value, np.generic) else value
        if dtype in INTEGERS and isinstance(value, float) and not math.isfinite(value):
            raise RuntimeError(
                f"{op}(): value cannot be converted to type {SCALAR_NAMES[dtype]} without overflow: {value}"
            )
        if dtype in INTEGERS:
            value = scalars.stored_integer(op, int(value), dtype)
        value = bool(value) if dtype.kind == "b" else value
        scalars.check_range(value, dtype)
        return x, constant(op, value, dtype, gpu_of(x._array))
    value = _tensor_or_number(op, 2, value)
    if value._array.dtype is not dtype:
        both_float = dtype in FLOATS and value._array.dtype in FLOATS
        value = cast(value, dtype) if both_float else type(x)._made(stored_array(op, value._array, dtype))
    return x, value


def same_dtype(op: str, x: Any, source: Any) -> tuple[Any, Any]:
    """Return ``x``, and ``source`` as a tensor of the dtype of ``x``. A tensor of another dtype is refused.

    Raises:
        RuntimeError: if ``source`` is a tensor of another dtype.
        TypeError: if ``x`` is not a tensor, or ``source`` is neither a tensor, an array nor a number.
    """
    if not isinstance(x, BaseTensor):
        raise TypeError(f"{op}(): argument 'input' (position 1) must be Tensor, not {type(x).__name__}")
    if isinstance(source, BaseTensor) and source._array.dtype != x._array.dtype:
        raise RuntimeError(
            f"{op}(): Expected self.dtype to be equal to src.dtype; they are {SCALAR_NAMES[x._array.dtype]} and "
            f"{SCALAR_NAMES[source._array.dtype]}"
        )
    return storable(op, x, source)


#: Operations that count a negative index from the end. The others refuse it.
_FROM_THE_END = frozenset(("index_fill", "index_fill_", "take_along_dim"))


def as_index(op: str, index: Any, name: str = "index") -> BaseTensor:
    """Return the argument ``index``, after checking that it is a tensor of integers.

    Raises:
        RuntimeError, TypeError: if it is anything else.
        IndexError: if an integer is negative, unless ``op`` is in ``_FROM_THE_END``.
    """
    if not isinstance(index, BaseTensor):
        raise TypeError(f"{op}(): argument '{name}' must be Tensor, not {type(index).__name__}")
    if index._array.dtype not in INDICES:
        raise RuntimeError(f"{op}(): Expected dtype int32/int64 for {name}, not {SCALAR_NAMES[index._array.dtype]}")
    if op not in _FROM_THE_END and index._array.size and (least := int(index._array.min())) < 0:
        raise IndexError(f"index {least} is out of bounds: {op}() counts from 0 and never from the end")
    return index


def flat_without_dim(op: str, x: Any, index: Any, dim: Any) -> tuple[Any, Any, Any]:
    """Return ``x``, ``index`` and ``dim``. If ``dim`` is None, return the flattened tensors and 0 as the dimension.

    Raises:
        TypeError: if ``dim`` is None and ``x`` is not a tensor.
    """
    if dim is not None:
        return x, index, dim
    need_tensor(op, x)
    return flatten(x), flatten(index), 0


def as_mask(op: str, mask: Any, name: str = "mask") -> BaseTensor:
    """Return the argument ``mask``, after checking that it is a tensor of bools.

    Raises:
        RuntimeError, TypeError: if it is anything else.
    """
    if not isinstance(mask, BaseTensor):
        raise TypeError(f"{op}(): argument '{name}' must be Tensor, not {type(mask).__name__}")
    if mask._array.dtype != np.bool_:
        given = C_NAMES[mask._array.dtype.name]
        raise RuntimeError(f"{op} only supports boolean masks, but got {name} with dtype {given}")
    return mask


# ---------- before a write ----------


def check_target(x: BaseTensor, op: str) -> None:
    """Check that the in-place ``op`` may write ``x``, which is a leaf or shares a history with its views.

    Raises:
        RuntimeError: if ``x`` is a leaf that requires grad, or a view of such a leaf, or if elements of the base of
            ``x`` share memory.
    """
    if is_protected(x):
        raise leaf_written(op, x, is_view=type(x._node) is not Leaf)
    if x._history is not None and overlaps_itself(x._history.base):
        raise overlapping_target(op, x)


# ---------- optional parameters ----------


def rounded(op: str, mode: Any) -> str:
    """Return the name of the division that rounds by ``mode``. If ``op`` is in-place, this division is in-place too.

    Raises:
        RuntimeError: if ``mode`` is neither "floor" nor "trunc".
    """
    if not isinstance(mode, str) or mode not in variants.ROUNDED:
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'")
    return variants.rounded(op, mode)


def no_bounds_error() -> RuntimeError:
    """Return the error for a call of ``clamp`` without bounds."""
    return RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")


def clamp_by_tensors(op: str, redirect: Redirect, x: Any, low: Any, high: Any) -> Any:
    """Return ``x`` clamped to ``low`` and ``high``. At least one bound is a tensor, which is broadcast against ``x``.

    If one bound is a number, and the other a tensor without dimensions that requires no grad, this tensor counts as a
    number; any other tensor beside a number is refused. If ``op`` ends with an underscore, ``x`` is overwritten.
    """
    tensors = [bound for bound in (low, high) if isinstance(bound, BaseTensor)]
    if low is not None and high is not None and len(tensors) == 1:
        if tensors[0]._array.ndim or not tensors[0].stop_gradient:
            raise TypeError(f"{op}(): the bounds must be two numbers or two tensors, not one of each")
        return redirect(op, x, *(bound.item() if isinstance(bound, BaseTensor) else bound for bound in (low, high)))
    dtype = promoted_dtype([x, *tensors])
    out, low, high = (
        cast(each, dtype) if isinstance(each, BaseTensor) and each._array.dtype != dtype else each
        for each in (x, low, high)
    )
    if low is not None and high is not None and not low.stop_gradient:
        # As in PyTorch, no gradient flows to a lower bound that is not below the upper one.
        low = redirect("where", redirect("lt", low, high), low, low.detach())
    for beyond, bound in (("lt", low), ("gt", high)):
        if bound is not None:
            holes = np.isnan(out._array) | np.isnan(bound._array) if dtype in FLOATS else None
            out = redirect("where", redirect(beyond, out, bound), bound, out)
            if holes is not None and holes.any():  # as in PyTorch, the result is nan and its gradient is 0
                out = redirect("where", as_torch(BaseTensor._made(holes)), math.nan, out)
    if not op.endswith("_"):
        return name_grad_fn(out, "ClampBackward0")
    if kind_of(out._array.dtype) > kind_of(x._array.dtype):
        raise result_does_not_fit(op, x, out._array.dtype)
    return Tensor.copy_(x, out)


def in_dtype(x: Any, dtype: Any) -> Any:
    """Return ``x`` converted to ``dtype``, for a function with a keyword ``dtype``. Autograd records the conversion."""
    wanted = dtype_of(dtype)
    if not isinstance(x, BaseTensor):
        return x  # the operation itself refuses `x` later
    return x if x._array.dtype is wanted.numpy else cast(x, wanted.numpy)


def is_narrow(dtype: Any) -> bool:
    """True for bool and integers of fewer than 64 bits: a sum in such a dtype is computed in int64 and converted."""
    wanted = dtype_of(dtype).numpy
    return wanted not in FLOATS and wanted != np.int64


def check_scan(op: str, x: Any, dtype: Any) -> None:
    """Check the dtype of a cumulative sum or product. ``op`` ends with an underscore if ``x`` is overwritten.

    Raises:
        NotImplementedError: if the result would hold bools.
        RuntimeError: if ``x`` is overwritten, and ``dtype`` is not its dtype.
    """
    if not isinstance(x, BaseTensor):
        return  # the operation itself refuses `x` later
    given = x._array.dtype
    wanted = given if dtype is None else dtype_of(dtype).numpy
    if op.endswith("_") and wanted != given:
        raise RuntimeError(
            f"Bad in-place call: input tensor dtype {C_NAMES[given.name]} and output tensor dtype "
            f"{C_NAMES[wanted.name]} should match\n{op}() never changes a dtype; use {op[:-1]}()."
        )
    if wanted.kind == "b" and x._array.ndim and x._array.size:
        raise NotImplementedError(f"\"{op.removesuffix('_')}_out_cpu\" not implemented for 'Bool'")


def need_floats(op: str, x: Any) -> Any:
    """Return ``x``. Raise RuntimeError if it is a tensor that does not hold floats."""
    if isinstance(x, BaseTensor) and x._array.dtype not in FLOATS:
        raise RuntimeError(
            f"{op}(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {SCALAR_NAMES[x._array.dtype]}"
        )
    return x


def reduction_dims(x: Any, dim: Any) -> Any:
    """Return ``dim``. Raise TypeError if it is a bool or a tensor with dimensions.

    If ``x`` has no dimensions, PyTorch accepts 0 and -1 as ``dim``. This function replaces them by ().
    """
    if isinstance(dim, bool) or (isinstance(dim, BaseTensor) and dim._array.ndim):
        raise TypeError(f"argument 'dim' must be tuple of ints, not {type(dim).__name__}")
    if isinstance(x, BaseTensor) and x._array.ndim == 0 and dim is not None:
        given = dim if isinstance(dim, (tuple, list)) else (dim,)
        return () if all(isinstance(d, (int, *NUMPY_INTEGERS)) and d in (0, -1) for d in given) else dim
    return dim


def need_same_ndim(op: str, index: Any, src: Any) -> None:
    """Raise RuntimeError if ``index`` and ``src`` differ in the number of dimensions, unless ``src`` is a number."""
    if isinstance(index, BaseTensor) and isinstance(src, BaseTensor) and index._array.ndim != src._array.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")


def refuse_bool_subtraction(x: Any, y: Any) -> None:
    """Raise RuntimeError if an operand of a subtraction is a bool or a tensor of bools."""
    bools = [
        each is True or each is False or (isinstance(each, BaseTensor) and each._array.dtype.kind == "b")
        for each in (x, y)
    ]
    if all(bools):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        )
    if any(bools):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )


def need_floats_for_kernel(kernel: str, x: Any) -> None:
    """Raise NotImplementedError if ``x`` does not hold floats. The message names PyTorch's ``kernel``."""
    if isinstance(x, BaseTensor) and x._array.dtype not in FLOATS:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{SCALAR_NAMES[x._array.dtype]}'")


def need_one_dim(op: str, dim: Any) -> Any:
    """Return ``dim``. Raise TypeError if it is a sequence, None or a bool."""
    if dim is None or isinstance(dim, (bool, list, tuple)):
        raise TypeError(f"{op}(): argument 'dim' must be int, not {type(dim).__name__}")
    return dim


def need_same_dtype(op: str, x: Any, second: Any, name: str = "end") -> None:
    """Raise TypeError if ``second`` is a number, and RuntimeError if its dtype differs from that of ``x``."""
    if isinstance(second, NUMBERS):
        raise TypeError(f"{op}(): argument '{name}' (position 2) must be Tensor, not {type(second).__name__}")
    if isinstance(x, BaseTensor) and isinstance(second, BaseTensor) and x._array.dtype != second._array.dtype:
        names = [SCALAR_NAMES[each._array.dtype].lower() for each in (x, second)]
        raise RuntimeError(f"{op}(): expected dtype {names[0]} for `{name}` but got dtype {names[1]}")


def need_same_dtypes(op: str, *tensors: Any) -> None:
    """Raise RuntimeError if the operands of a matrix product differ in dtype (unless autocast converts them). Raise
    NotImplementedError if they are bools.
    """
    dtypes = [x._array.dtype for x in tensors if isinstance(x, BaseTensor)]
    if any(dtype is not dtypes[0] for dtype in dtypes) and modes.casts is None:
        names = " and ".join(SCALAR_NAMES[dtype] for dtype in dtypes)
        raise RuntimeError(f"{op}(): the operands must have the same dtype, but they are {names}")
    if all(isinstance(x, BaseTensor) for x in tensors):
        refuse_bools("addmm_impl_cpu_" if op == "addmm" else op, *tensors)


def need_index_sequence(op: str, indices: Any) -> None:
    """Raise TypeError if ``indices`` is a single tensor, or contains anything but tensors, arrays and lists."""
    if isinstance(indices, BaseTensor):
        raise TypeError(f"{op}(): argument 'indices' (position 1) must be tuple of Tensors, not Tensor")
    for i, each in enumerate(indices if isinstance(indices, (list, tuple)) else ()):
        if not isinstance(each, (BaseTensor, np.ndarray, list)):
            raise TypeError(f"{op}(): expected Tensor as element {i} of indices, but got {type(each).__name__}")


def as_long(x: Any, in_place: str) -> Any:
    """Return ``x``, converted to int64 if it holds other integers or bools: sums of integers and bools are int64.

    For the in-place form of an operation, ``in_place`` is "_", and the result is ``x`` itself.
    """
    if in_place or not isinstance(x, BaseTensor) or x._array.dtype in FLOATS:
        return x
    return in_dtype(x, "int64")
