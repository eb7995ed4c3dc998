"""Check and convert the arguments of generated functions by PyTorch's rules.

An operand may be a number, a numpy array or a tensor of either vocabulary, but not a list. Between tensors of both
vocabularies, the result has the class of the left operand. A tensor without dimensions counts like a number: it does
not change the dtype of a tensor with dimensions unless it is of a higher kind, such as a float beside integers.
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
from minitensor.torch.arguments import need_tensor
from minitensor.torch.creation import as_tensor
from minitensor.torch.dtypes import C_NAMES, SCALAR_NAMES, dtype_of
from minitensor.torch.errors import devices_differ, leaf_written, overlapping_target, result_does_not_fit, warn
from minitensor.torch.generator import default_generator
from minitensor.torch.tensor import Tensor, as_kind
from minitensor.torch.views import flatten

_POSITIONS = ("input", "other", "weight")


def _tensor_or_number(op: str, position: int, value: Any) -> Any:
    if isinstance(value, (BaseTensor, *NUMBERS)):
        return value
    if isinstance(value, np.ndarray):
        return as_tensor(value.copy())
    name = _POSITIONS[position] if position < len(_POSITIONS) else "other"
    raise TypeError(f"{op}(): argument '{name}' (position {position + 1}) must be Tensor, not {type(value).__name__}")


#: Operations that refuse numbers as operands, and operations that refuse a number as first operand.
NO_NUMBERS = frozenset(
    ("maximum", "minimum", "logical_and", "logical_or", "logical_xor", "ldexp", "hypot", "gcd", "lcm")
    + ("atan2", "fmax", "fmin", "heaviside")
)
TENSOR_FIRST = NO_NUMBERS.union(
    ("copysign", "fmod", "equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal")
)


def _refuse_numbers(op: str, given: tuple[Any, ...]) -> None:
    """Raise TypeError for the first operand that is not a tensor."""
    for i, value in enumerate(given):
        if isinstance(value, NUMBERS):
            name = _POSITIONS[i] if i < len(_POSITIONS) else "other"
            kind = type(value).__name__
            raise TypeError(f"{op}(): argument '{name}' (position {i + 1}) must be Tensor, not {kind}")


def as_operands(op: str, *given: Any) -> tuple[BaseTensor, ...]:
    """Return tensors for the arguments of a normal operation.

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
    return tuple(x if isinstance(x, BaseTensor) else constant(op, x, partner, gpu) for x in values)


def as_operands_in_place(op: str, target: int, *given: Any) -> tuple[BaseTensor, ...]:
    """Return tensors for the arguments of an in-place operation that writes the one at position ``target``.

    Raises:
        TypeError: if that argument is not a tensor.
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
        return tuple(v if isinstance(v, BaseTensor) else constant(op, v, dtype, gpu_of(x._array)) for v in values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise unsuitable(op, x, error) from None


# ---------- dtypes ----------


def cast(x: BaseTensor, dtype: np.dtype) -> BaseTensor:
    """Return ``x`` in another dtype, as a tensor of this vocabulary."""
    return as_kind(engine_cast(x, dtype))


def kind_of(dtype: np.dtype) -> int:
    """Return the rank of a dtype in promotion: 2 for floats, 1 for integers, 0 for bools."""
    return 2 if dtype in FLOATS else 1 if dtype in INTEGERS else 0


def _join(dtypes: list[np.dtype]) -> np.dtype | None:
    joined = None
    for dtype in dtypes:
        joined = dtype if joined is None else promoted(joined, dtype)
    return joined


def promoted_dtype(tensors: list[BaseTensor]) -> np.dtype:
    """Return the dtype of the result of an operation on ``tensors``. Tensors with dimensions decide; tensors without
    dimensions, and then numbers, matter only if they are of a higher kind.

    https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
    """
    groups: tuple[list[np.dtype], ...] = ([], [], [])
    for x in tensors:
        groups[0 if x._array.ndim else 2 if x._storage is CONSTANT else 1].append(x._array.dtype)
    result = None
    for dtype in map(_join, groups):
        if dtype is not None and (result is None or kind_of(dtype) > kind_of(result)):
            result = dtype if result is None else promoted(result, dtype)
    return result  # type: ignore[return-value]  # there is at least one tensor


def promote(*operands: BaseTensor) -> tuple[BaseTensor, ...]:
    """Return the operands converted to their promoted dtype. A float32 number beside 16-bit floats is not converted."""
    dtype = promoted_dtype(list(operands))
    return tuple(x if x._array.dtype is dtype or is_wide(x, dtype) else cast(x, dtype) for x in operands)


def into(op: str, target: BaseTensor, other: BaseTensor) -> BaseTensor:
    """Return ``other`` converted to the dtype in which an in-place operation on ``target`` needs it.

    Raises:
        RuntimeError: if ``target`` cannot hold the result, because it is of a higher kind or an integer is too large.
    """
    result = promoted_dtype([target, other])
    if kind_of(result) > kind_of(target._array.dtype):
        raise result_does_not_fit(op, target, result)
    wanted = dtype_beside(op, target, other, RuntimeError)
    return other if other._array.dtype is wanted else cast(other, wanted)


def as_float(x: BaseTensor) -> BaseTensor:
    """Return ``x``, or a float32 copy if it holds integers or bools."""
    return x if x._array.dtype in FLOATS else cast(x, np.dtype(np.float32))


# ---------- stored values and indices ----------


def storable(op: str, x: Any, value: Any) -> tuple[Any, Any]:
    """Return ``x``, and ``value`` converted to the dtype of ``x``. Fractions are truncated if ``x`` holds integers."""
    if not isinstance(x, BaseTensor):
        raise TypeError(f"{op}(): argument 'input' (position 1) must be Tensor, not {type(x).__name__}")
    dtype = x._array.dtype
    if isinstance(value, NUMBERS):
        value = value.item() if isinstance(value, np.generic) else value
        if dtype in INTEGERS and isinstance(value, float) and not math.isfinite(value):
            raise RuntimeError(
                f"{op}(): value cannot be converted to type {SCALAR_NAMES[dtype]} without overflow: {value}"
            )
        value = int(value) if dtype in INTEGERS else bool(value) if dtype.kind == "b" else value
        scalars.fits(value, dtype)
        return x, constant(op, value, dtype, gpu_of(x._array))
    value = _tensor_or_number(op, 2, value)
    if value._array.dtype is not dtype:
        both_float = dtype in FLOATS and value._array.dtype in FLOATS
        value = cast(value, dtype) if both_float else type(x)._made(stored_array(op, value._array, dtype))
    return x, value


def same_dtype(op: str, x: Any, source: Any) -> tuple[Any, Any]:
    """Return ``x`` and ``source``. A number as source is converted to the dtype of ``x``; a tensor must have this
    dtype.

    Raises:
        RuntimeError: if the dtypes differ.
    """
    if not isinstance(x, BaseTensor):
        raise TypeError(f"{op}(): argument 'input' (position 1) must be Tensor, not {type(x).__name__}")
    if isinstance(source, BaseTensor) and source._array.dtype != x._array.dtype:
        raise RuntimeError(
            f"{op}(): Expected self.dtype to be equal to src.dtype; they are {SCALAR_NAMES[x._array.dtype]} and "
            f"{SCALAR_NAMES[source._array.dtype]}"
        )
    return storable(op, x, source)


def as_index(op: str, index: Any, name: str = "index") -> BaseTensor:
    """Return an index argument, after checking that it is a tensor of integers.

    Raises:
        RuntimeError, TypeError: if it is anything else.
    """
    if not isinstance(index, BaseTensor):
        raise TypeError(f"{op}(): argument '{name}' must be Tensor, not {type(index).__name__}")
    if index._array.dtype not in INDICES:
        raise RuntimeError(f"{op}(): Expected dtype int32/int64 for {name}, not {SCALAR_NAMES[index._array.dtype]}")
    return index


def flat_without_dim(op: str, x: Any, index: Any, dim: Any) -> tuple[Any, Any, Any]:
    """Return the operands of an operation along ``dim``; without a ``dim``, along the only one of flattened tensors.

    Raises:
        TypeError: if ``dim`` is None and ``x`` is not a tensor.
    """
    if dim is not None:
        return x, index, dim
    need_tensor(op, x)
    return flatten(x), flatten(index), 0


def as_mask(op: str, mask: Any, name: str = "mask") -> BaseTensor:
    """Return a mask argument, after checking that it is a tensor of bools.

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
    """Check that an in-place operation may write ``x``, which is a leaf or shares a history with its views.

    Raises:
        RuntimeError: if ``x`` is a leaf that requires grad, or a view of one, or if elements of ``x`` or its base share
            memory.
    """
    if is_protected(x):
        raise leaf_written(op, x, is_view=type(x._node) is not Leaf)
    if x._history is not None and overlaps_itself(x._history.base):
        raise overlapping_target(op, x)


# ---------- optional parameters ----------


def rounded(op: str, mode: Any) -> str:
    """Return the name of the division that rounds its result by ``mode``; in place if ``op`` ends with an underscore.

    Raises:
        RuntimeError: if ``mode`` is neither "floor" nor "trunc".
    """
    if not isinstance(mode, str) or mode not in variants.ROUNDED:
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'")
    return variants.rounded(op, mode)


def into_out(op: str, redirect: Redirect, out: Any, *given: Any, **named: Any) -> Any:
    """Write the result of the normal operation into ``out`` and return ``out``, whose shape becomes that of the result.

    If there are several results, ``out`` is a tuple with a tensor for each.

    Raises:
        RuntimeError: if a tensor requires grad, or the dtype of ``out`` cannot hold the result.
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
    before = default_generator.state()
    try:
        return _write(op, redirect(op, *given, **named), out, several)
    except BaseException:
        # The check of `out` follows the computation, which may have drawn random numbers.
        default_generator.set_state(before)
        raise


def _write(op: str, result: Any, out: Any, several: Any) -> Any:
    """Write results into the tensors of ``out`` and return it."""
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
    if gpu_of(have) is not gpu_of(want):
        raise devices_differ()
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
    """Return the error for a call of ``clamp`` without bounds."""
    return RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")


def clamped_by(op: str, redirect: Redirect, x: Any, low: Any, high: Any) -> Any:
    """Return ``x`` clamped to bounds, of which at least one is a tensor with a bound for each element. ``op`` may be in
    place.
    """
    tensors = [bound for bound in (low, high) if isinstance(bound, BaseTensor)]
    if low is not None and high is not None and len(tensors) == 1 and tensors[0]._array.ndim:
        raise TypeError(f"{op}(): the bounds must be two numbers or two tensors, not one of each")
    out = x
    if low is not None:
        out = redirect("where", redirect("lt", out, low), low, out)
    if high is not None:
        out = redirect("where", redirect("gt", out, high), high, out)
    if not op.endswith("_"):
        return out
    if kind_of(out._array.dtype) > kind_of(x._array.dtype):
        raise result_does_not_fit(op, x, out._array.dtype)
    return Tensor.copy_(x, out)


def in_dtype(x: Any, dtype: Any) -> Any:
    """Return ``x`` converted to ``dtype``, for a function with a keyword ``dtype``. Autograd records the conversion."""
    wanted = dtype_of(dtype)
    if not isinstance(x, BaseTensor):
        return x  # the operation refuses this later
    return x if x._array.dtype is wanted.numpy else cast(x, wanted.numpy)


def only_floats(op: str, x: Any) -> Any:
    """Return ``x`` if it holds floats.

    Raises:
        RuntimeError: if it does not.
    """
    if isinstance(x, BaseTensor) and x._array.dtype not in FLOATS:
        raise RuntimeError(
            f"{op}(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {SCALAR_NAMES[x._array.dtype]}"
        )
    return x


def reduced_dims(x: Any, dim: Any) -> Any:
    """Return the dimensions of a reduction as an integer or a tuple. As in PyTorch, a tensor without dimensions accepts
    0 and -1.
    """
    if isinstance(dim, bool) or (isinstance(dim, BaseTensor) and dim._array.ndim):
        raise TypeError(f"argument 'dim' must be tuple of ints, not {type(dim).__name__}")
    if isinstance(x, BaseTensor) and x._array.ndim == 0 and dim is not None:
        given = dim if isinstance(dim, (tuple, list)) else (dim,)
        return () if all(isinstance(d, (int, *NUMPY_INTEGERS)) and d in (0, -1) for d in given) else dim
    return dim


def as_many_dimensions(op: str, index: Any, src: Any) -> None:
    """Raise RuntimeError if ``index`` and ``src`` differ in the number of dimensions, unless ``src`` is a number."""
    if isinstance(index, BaseTensor) and isinstance(src, BaseTensor) and index._array.ndim != src._array.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")


def no_bool_subtraction(x: Any, y: Any) -> None:
    """Raise RuntimeError if an operand of a subtraction is a tensor of bools."""
    bools = [
        each is True or each is False or (isinstance(each, BaseTensor) and each._array.dtype.kind == "b")
        for each in (x, y)
    ]
    if any(bools):
        with_what = "with two bool tensors" if all(bools) else "with a bool tensor"
        hint = (
            "Use the `^` or `logical_xor()` operator instead."
            if all(bools)
            else ("If you are trying to invert a mask, use the `~` or `logical_not()` operator instead.")
        )
        raise RuntimeError(f"Subtraction, the `-` operator, {with_what} is not supported. {hint}")


def no_integers(kernel: str, x: Any) -> None:
    """Raise NotImplementedError if ``x`` does not hold floats, which PyTorch's ``kernel`` needs."""
    if isinstance(x, BaseTensor) and x._array.dtype not in FLOATS:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{SCALAR_NAMES[x._array.dtype]}'")


def one_dim(op: str, dim: Any) -> Any:
    """Return ``dim``; raise TypeError if it is a sequence, None or a bool."""
    if dim is None or isinstance(dim, (bool, list, tuple)):
        raise TypeError(f"{op}(): argument 'dim' must be int, not {type(dim).__name__}")
    return dim


def one_dtype(op: str, x: Any, second: Any, name: str = "end") -> None:
    """Raise TypeError if ``second`` is not a tensor, and RuntimeError if its dtype differs from that of ``x``."""
    if isinstance(second, NUMBERS):
        raise TypeError(f"{op}(): argument '{name}' (position 2) must be Tensor, not {type(second).__name__}")
    if isinstance(x, BaseTensor) and isinstance(second, BaseTensor) and x._array.dtype != second._array.dtype:
        names = [SCALAR_NAMES[each._array.dtype].lower() for each in (x, second)]
        raise RuntimeError(f"{op}(): expected dtype {names[0]} for `{name}` but got dtype {names[1]}")


def one_dtype_of_all(op: str, *tensors: Any) -> None:
    """Raise RuntimeError if the operands of a product of matrices differ in dtype, unless autocast converts them."""
    dtypes = [x._array.dtype for x in tensors if isinstance(x, BaseTensor)]
    if any(dtype is not dtypes[0] for dtype in dtypes) and modes.casts is None:
        names = " and ".join(SCALAR_NAMES[dtype] for dtype in dtypes)
        raise RuntimeError(f"{op}(): the operands must have the same dtype, but they are {names}")


def sequence_of_indices(op: str, indices: Any) -> None:
    """Raise TypeError if ``indices`` is a single tensor. A program has to pass a tuple of tensors, even for one
    index.
    """
    if isinstance(indices, BaseTensor):
        raise TypeError(f"{op}(): argument 'indices' (position 1) must be tuple of Tensors, not Tensor")
    for i, each in enumerate(indices if isinstance(indices, (list, tuple)) else ()):
        if not isinstance(each, (BaseTensor, np.ndarray, list)):
            raise TypeError(f"{op}(): expected Tensor as element {i} of indices, but got {type(each).__name__}")


def as_long(x: Any, in_place: str) -> Any:
    """Return ``x`` converted to int64 if it holds smaller integers, because the dtype of their sums is int64. An
    in-place operation leaves ``x`` unchanged.
    """
    if in_place or not isinstance(x, BaseTensor) or x._array.dtype in FLOATS:
        return x
    return in_dtype(x, "int64")
