"""What may stand where PyTorch expects a tensor, and how operands come to one dtype.

Numbers and numpy arrays may, lists may not. Tensors of either vocabulary may: the left operand's kind wins. A tensor
without dimensions is like a number: it does not widen one that has some, unless it is of a higher kind (an integer
meets a float).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.core.errors import unsuitable
from minitensor.core.history import Leaf, is_protected
from minitensor.core.regions import overlaps_itself
from minitensor.core.tensor import Tensor as BaseTensor
from minitensor.device.arrays import gpu_of
from minitensor.dtypes import FLOATS, promoted
from minitensor.kernels.numbers import stored_array
from minitensor.operations.operands import CONSTANT, NUMBERS, _constants, constant
from minitensor.operations.operands import cast as engine_cast
from minitensor.torch.creation import as_tensor
from minitensor.torch.dtypes import SCALAR_NAMES
from minitensor.torch.errors import leaf_written, overlapping_target, result_does_not_fit
from minitensor.torch.tensor import as_kind

_POSITIONS = ("input", "other", "weight")


def _tensor_or_number(op: str, position: int, value: Any) -> Any:
    if isinstance(value, (BaseTensor, *NUMBERS)):
        return value
    if isinstance(value, np.ndarray):
        return as_tensor(value.copy())
    name = _POSITIONS[position] if position < len(_POSITIONS) else "other"
    raise TypeError(f"{op}(): argument '{name}' (position {position + 1}) must be Tensor, not {type(value).__name__}")


def as_operands(op: str, *given: Any) -> tuple[BaseTensor, ...]:
    """Tensors for what was given to a normal operation.

    Raises:
        TypeError: for what cannot stand for a tensor, or when no tensor is among them.
    """
    if len(given) == 2 and isinstance(given[0], BaseTensor):
        x, y = given
        if isinstance(y, BaseTensor):
            return x, y
        try:
            if type(x._array) is np.ndarray:
                return x, _constants[y, type(y), x._array.dtype]
        except (KeyError, TypeError):
            pass  # not a number, or one that is new
    values = [_tensor_or_number(op, i, value) for i, value in enumerate(given)]
    tensors = [value for value in values if isinstance(value, BaseTensor)]
    if not tensors:
        raise TypeError(f"{op}(): argument 'input' (position 1) must be Tensor, not {type(given[0]).__name__}")
    partner = _result_dtype(tensors)
    gpu = next((gpu for x in tensors if (gpu := gpu_of(x._array)) is not None), None)
    return tuple(x if isinstance(x, BaseTensor) else constant(op, x, partner, gpu) for x in values)


def as_operands_in_place(op: str, target: int, *given: Any) -> tuple[BaseTensor, ...]:
    """Tensors for what was given to an in-place operation that writes the one at position ``target``.

    Raises:
        TypeError: when that is no tensor.
    """
    x = given[target]
    if not isinstance(x, BaseTensor):
        raise TypeError(f"{op}(): argument 'input' (position {target + 1}) must be Tensor, not {type(x).__name__}")
    dtype = x._array.dtype
    try:
        values = [_tensor_or_number(op, i, value) for i, value in enumerate(given)]
        return tuple(v if isinstance(v, BaseTensor) else constant(op, v, dtype, gpu_of(x._array)) for v in values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise unsuitable(op, x, error) from None


# ---------- dtypes ----------


def cast(x: BaseTensor, dtype: np.dtype) -> BaseTensor:
    """``x`` in another dtype, as a tensor of this vocabulary."""
    return as_kind(engine_cast(x, dtype))


def kind_of(dtype: np.dtype) -> int:
    """2 for floats, 1 for integers, 0 for bools."""
    return 2 if dtype in FLOATS else 1 if dtype.kind == "i" else 0


def _joined(dtypes: list[np.dtype]) -> np.dtype | None:
    joined = None
    for dtype in dtypes:
        joined = dtype if joined is None else promoted(joined, dtype)
    return joined


def _result_dtype(tensors: list[BaseTensor]) -> np.dtype:
    """The dtype that tensors are promoted to: first those with dimensions, then those without, then numbers.

    https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
    """
    groups: tuple[list[np.dtype], ...] = ([], [], [])
    for x in tensors:
        groups[0 if x._array.ndim else 2 if x._storage is CONSTANT else 1].append(x._array.dtype)
    result = None
    for dtype in map(_joined, groups):
        if dtype is not None and (result is None or kind_of(dtype) > kind_of(result)):
            result = dtype if result is None else promoted(result, dtype)
    return result  # type: ignore[return-value]  # one tensor at least was given


def promote(*operands: BaseTensor) -> tuple[BaseTensor, ...]:
    """The operands in the dtype that they are promoted to."""
    dtype = _result_dtype(list(operands))
    return tuple(x if x._array.dtype is dtype else cast(x, dtype) for x in operands)


def into(op: str, target: BaseTensor, other: BaseTensor) -> BaseTensor:
    """``other`` in the dtype of ``target``, which an in-place operation will write.

    Raises:
        RuntimeError: when the result would be of a higher kind.
    """
    result = _result_dtype([target, other])
    if kind_of(result) > kind_of(target._array.dtype):
        raise result_does_not_fit(op, target, result)
    return cast(other, target._array.dtype)


def as_float(x: BaseTensor) -> BaseTensor:
    """``x``, or its float32 copy when it holds integers or bools."""
    return x if x._array.dtype in FLOATS else cast(x, np.dtype(np.float32))


# ---------- what is stored, and indices ----------


def storable(op: str, x: Any, value: Any) -> tuple[Any, Any]:
    """``value`` in the dtype of ``x``, which will store it: fractions are cut off where that holds integers."""
    if not isinstance(x, BaseTensor):
        raise TypeError(f"{op}(): argument 'input' (position 1) must be Tensor, not {type(x).__name__}")
    dtype = x._array.dtype
    if isinstance(value, NUMBERS):
        value = value.item() if isinstance(value, np.generic) else value
        value = int(value) if dtype.kind == "i" else bool(value) if dtype.kind == "b" else value
        return x, constant(op, value, dtype, gpu_of(x._array))
    value = _tensor_or_number(op, 2, value)
    if value._array.dtype is not dtype:
        both_float = dtype in FLOATS and value._array.dtype in FLOATS
        value = cast(value, dtype) if both_float else type(x)._made(stored_array(op, value._array, dtype))
    return x, value


def same_dtype(op: str, x: Any, source: Any) -> tuple[Any, Any]:
    """``source`` of the dtype of ``x``: scattering converts nothing; a number is converted.

    Raises:
        RuntimeError: when they differ.
    """
    if isinstance(source, BaseTensor) and source._array.dtype != x._array.dtype:
        raise RuntimeError(
            f"{op}(): Expected self.dtype to be equal to src.dtype; they are {SCALAR_NAMES[x._array.dtype]} and "
            f"{SCALAR_NAMES[source._array.dtype]}"
        )
    return storable(op, x, source)


def as_index(op: str, index: Any, name: str = "index") -> BaseTensor:
    """A tensor of integers.

    Raises:
        RuntimeError, TypeError: for anything else.
    """
    if not isinstance(index, BaseTensor):
        raise TypeError(f"{op}(): argument '{name}' must be Tensor, not {type(index).__name__}")
    if index._array.dtype.kind != "i":
        raise RuntimeError(f"{op}(): Expected dtype int32/int64 for {name}, not {SCALAR_NAMES[index._array.dtype]}")
    return index


def as_mask(op: str, mask: Any, name: str = "mask") -> BaseTensor:
    """A tensor of bools.

    Raises:
        RuntimeError, TypeError: for anything else.
    """
    if not isinstance(mask, BaseTensor):
        raise TypeError(f"{op}(): argument '{name}' must be Tensor, not {type(mask).__name__}")
    if mask._array.dtype != np.bool_:
        given = {"float32": "float", "float64": "double", "int32": "int", "int64": "long int"}[mask._array.dtype.name]
        raise RuntimeError(f"{op} only supports boolean masks, but got {name} with dtype {given}")
    return mask


# ---------- before a write ----------


def check_target(x: BaseTensor, op: str) -> None:
    """A recorded in-place operation is about to write ``x``, which is a leaf or has a group.

    Raises:
        RuntimeError: when it is a leaf that requires grad, or a view of one, or its group overlaps itself.
    """
    if is_protected(x):
        raise leaf_written(op, x, is_view=type(x._node) is not Leaf)
    if x._history is not None and overlaps_itself(x._history.base):
        raise overlapping_target(op, x)
