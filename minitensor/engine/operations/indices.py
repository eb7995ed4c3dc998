"""Convert indices, masks and values to be stored, choose the operation for ``reduce``, and check ``out``."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.engine.checks import NUMPY_INTEGERS, shown
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import to_tensor
from minitensor.engine.device.arrays import as_array, broadcast_shapes, gpu_of
from minitensor.engine.dtypes import FLOATS, INDICES
from minitensor.engine.kernels.indexed import checked
from minitensor.engine.kernels.numbers import stored_array
from minitensor.engine.operations.operands import NUMBERS, cast, constant, storable_number

_ARRAYS = (np.ndarray, list, tuple)
_BOOL = np.dtype(np.bool_)


def as_index(op: str, index: Any, name: str = "index") -> Tensor:
    """Return ``index`` (an integer, array, list or tensor) as a tensor of integers.

    Raises:
        TypeError: for anything else, and if the dtype is not int32 or int64.
    """
    if type(index) is Tensor and index._array.dtype in INDICES:
        return index
    if isinstance(index, (int, *NUMPY_INTEGERS)) and not isinstance(index, bool):
        return to_tensor(index, "int64")
    if isinstance(index, _ARRAYS):
        index = to_tensor(index)
        if not index.size:  # an empty list does not determine the dtype
            index = Tensor._made(np.zeros(index._array.shape, np.int64, like=index._array))
    if not isinstance(index, Tensor) or index._array.dtype not in INDICES:
        given = f"of dtype {index.dtype.name}" if isinstance(index, Tensor) else type(index).__name__
        raise TypeError(f"{op}: {name} must be a tensor of int32 or int64, not {given}")
    return index


def as_mask(op: str, mask: Any, name: str = "mask") -> Tensor:
    """Return ``mask`` (a bool, array, list or tensor) as a tensor of bools.

    Raises:
        TypeError: for anything else, and if the dtype is not bool.
    """
    if type(mask) is Tensor and mask._array.dtype is _BOOL:
        return mask
    if isinstance(mask, (bool, np.bool_, *_ARRAYS)):
        mask = to_tensor(mask)
    if not isinstance(mask, Tensor) or mask._array.dtype != _BOOL:
        given = mask.dtype.name if isinstance(mask, Tensor) else type(mask).__name__
        raise TypeError(f"{op}: {name} must be a bool tensor, as `x > 0` gives, not {given}")
    return mask


def storable(op: str, x: Any, value: Any) -> tuple[Any, Any]:
    """Return ``x`` and ``value``, with ``value`` converted to the dtype of ``x``.

    As in ``x[index] = value``, a conversion to integers truncates. If the operation is not in place, ``x`` may also be
    an array or a list, which is converted to a tensor. Operands of other types are returned unchanged, because the
    operation refuses them.

    Raises:
        ValueError: if a number does not fit into the dtype.
    """
    if not op.endswith("_") and isinstance(x, _ARRAYS):
        x = to_tensor(x)
    if not isinstance(x, Tensor):
        return x, value  # the operation will raise the error
    dtype = x._array.dtype
    if isinstance(value, NUMBERS):
        return x, constant(op, storable_number(op, value, dtype), dtype, gpu_of(x._array))
    if isinstance(value, _ARRAYS):
        value = to_tensor(value, dtype if dtype in FLOATS else None)
    if isinstance(value, Tensor) and value._array.dtype is not dtype:
        both_float = dtype in FLOATS and value._array.dtype in FLOATS
        value = cast(value, dtype) if both_float else Tensor._made(stored_array(op, value._array, dtype))
    return x, value


def as_rows(op: str, x: Any, indices: Any) -> tuple[Tensor, int]:
    """Combine the indices of ``index_put`` into one index. Return it with d, the number of indexed dimensions.

    The result indexes ``x`` with its first d dimensions merged into one, so that each number selects a row. A single
    index of integers is returned unchanged. Several indices are broadcast against each other. A mask is replaced by
    the indices of its true elements.

    Raises:
        TypeError: if ``indices`` is neither a tensor nor a tuple or list of index tensors and masks.
        IndexError: if an index is out of range, or if the indices do not fit the dimensions of the tensor.
    """
    if isinstance(indices, Tensor):
        indices = (indices,)
    if not isinstance(indices, (tuple, list)) or not indices:
        raise TypeError(f"{op}: indices must be a tuple of one index tensor or more, not {shown(indices)}")
    shape = (x if isinstance(x, Tensor) else to_tensor(x))._array.shape
    if len(indices) == 1 and isinstance(indices[0], Tensor) and indices[0]._array.dtype in INDICES:
        if not shape:
            raise IndexError(f"{op}: a tensor without dimensions cannot be indexed")
        return indices[0], 1
    arrays: list[np.ndarray] = []
    for index in indices:
        if isinstance(index, _ARRAYS) and not (isinstance(index, np.ndarray) and not index.ndim) and len(index):
            index = to_tensor(index)
        if isinstance(index, Tensor) and index._array.dtype == _BOOL:
            mask, at = index._array, shape[len(arrays) : len(arrays) + index.ndim]
            if mask.shape != at or not at:
                raise IndexError(
                    f"{op}: a mask of shape {list(mask.shape)} cannot index dimensions of lengths {list(at)}"
                )
            arrays += np.nonzero(mask)
        else:
            arrays.append(as_index(op, index, "an index")._array)
    depth = len(arrays)
    if depth > len(shape):
        raise IndexError(f"{op}: {depth} indices are too many for a tensor of shape {list(shape)}")
    try:
        spread = broadcast_shapes(*(index.shape for index in arrays))
        arrays = [checked(np.broadcast_to(index, spread), shape[d], d) for d, index in enumerate(arrays)]
    except (ValueError, IndexError) as error:
        raise IndexError(f"{op}: {error}") from None
    if arrays[0].size == 0:
        return Tensor._made(np.zeros(arrays[0].shape, np.int64, like=arrays[0])), depth
    return Tensor._made(as_array(np.ravel_multi_index(tuple(arrays), shape[:depth]))), depth


# ---------- reduce and out ----------

#: The names that ``put_along_axis`` accepts as ``reduce``, except "assign". Each is mapped to the end of the name of
#: an operation: "mul" to "multiply", because ``put_along_axis_multiply`` computes it.
REDUCTIONS = {"add": "add", "mul": "multiply", "multiply": "multiply", "mean": "mean", "amin": "amin", "amax": "amax"}


def reducing(op: str, reduce: Any) -> str:
    """Return the name of the operation that computes ``put_along_axis`` for a ``reduce`` other than "assign".

    Raises:
        ValueError: if there is no such ``reduce``.
    """
    if not isinstance(reduce, str) or reduce not in REDUCTIONS:
        known = ", ".join(repr(name) for name in ("assign", *REDUCTIONS))
        raise ValueError(f"{op}: reduce must be one of {known}, not {shown(reduce)}")
    return f"put_along_axis_{REDUCTIONS[reduce]}" + ("_" if op.endswith("_") else "")


def as_out(op: str, out: Any) -> Any:
    """Return ``out``, the tensor into which a result is copied.

    Raises:
        TypeError: if it is not a tensor, or ``op`` works in place.
    """
    if op.endswith("_") or not isinstance(out, Tensor):
        what = "None, because x is overwritten" if op.endswith("_") else f"a Tensor, not {type(out).__name__}"
        raise TypeError(f"{op}: out must be {what}")
    return out
