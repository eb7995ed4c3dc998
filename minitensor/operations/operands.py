"""What may stand where a tensor is expected: numbers, arrays, lists; and how operands come to one dtype."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy import ndarray

from minitensor.core.errors import (
    devices_differ,
    leaf_written,
    not_a_tensor,
    on_several_devices,
    overlapping_group,
    overlapping_target,
    result_does_not_fit,
    unsuitable,
)
from minitensor.core.history import Leaf, Operation, is_protected, new_node
from minitensor.core.regions import overlaps_itself, writeable
from minitensor.core.storage import Storage
from minitensor.core.tensor import Tensor
from minitensor.creation.making import to_tensor
from minitensor.device.arrays import gpu_of
from minitensor.device.places import current, using
from minitensor.dtypes import FLOATS, promoted
from minitensor.kernels.numbers import stored
from minitensor.modes import modes, paused

NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)


def _uncounted() -> Storage:
    storage = Storage.__new__(Storage)
    # It is never written, so nobody who saves from it has to be known.
    storage.buffer, storage.nbytes, storage.version = np.empty(0), 0, 0
    savers: Any = deque(maxlen=0)
    storage.savers = savers
    return storage


#: The storage of all constants: never written, not counted.
CONSTANT = _uncounted()

_constants: dict[tuple[Any, ...], Tensor] = {}
#: The same for arrays of a GPU, which bare numbers join; arrays of the host do not.
_numbers: dict[tuple[Any, ...], Tensor] = {}


def constant(op: str, value: Any, partner: np.dtype | None, gpu: Any = None) -> Tensor:
    """A tensor without dimensions that holds a number, in the dtype in which it joins a tensor of dtype ``partner``.

    Kept for next time: making one costs more than the operation.
    """
    key = value, type(value), partner
    dtype = _dtype_for(value, partner)
    if isinstance(value, np.generic):
        value = value.item()  # numpy would let its own integers wrap around
    try:
        made = Tensor._alias(np.asarray(value, dtype), CONSTANT)
    except OverflowError:
        raise ValueError(f"{op}: {value} does not fit into dtype {dtype.name}") from None
    made._array.flags.writeable = False
    if gpu is not None:
        made._array = made._array[()]
    if value != 0 or type(value) is int:  # 0.0 and -0.0 would share a key
        kept = _constants if gpu is None else _numbers
        if len(kept) >= 256:
            kept.clear()
        kept[key] = made
    return made


def _dtype_for(value: Any, partner: np.dtype | None) -> np.dtype:
    """The dtype in which a number joins a tensor of dtype ``partner``: it never widens it."""
    if isinstance(value, (float, np.floating)):
        return partner if partner in FLOATS else np.dtype(np.float32)
    if isinstance(value, (bool, np.bool_)):
        return np.dtype(np.bool_)
    return np.dtype(np.int64) if partner is None or partner == np.bool_ else partner


def as_operands(op: str, *given: Any) -> tuple[Tensor, ...]:
    """Tensors for what was given to a normal operation: tensors, numbers, arrays, lists.

    Raises:
        TypeError: for anything else, or when no tensor or array is among them.
    """
    if len(given) == 2 and type(given[0]) is Tensor:
        x, y = given
        try:
            return x, (_constants if type(x._array) is ndarray else _numbers)[y, type(y), x._array.dtype]
        except (KeyError, TypeError):
            pass  # not a number, or one that is new
    known = [value._array.dtype for value in given if isinstance(value, Tensor)]
    tensors = _tensors_or_numbers(op, given, known)
    dtypes = [t._array.dtype for t in tensors if isinstance(t, Tensor)]
    if not dtypes:
        raise TypeError(f"{op}: at least one operand must be a Tensor or an array; there is {given[0]!r} only")
    partner = dtypes[0] if len(dtypes) == 1 else promoted(dtypes[-2], dtypes[-1])
    gpu = next((gpu for t in tensors if isinstance(t, Tensor) and (gpu := gpu_of(t._array)) is not None), None)
    return tuple(t if isinstance(t, Tensor) else constant(op, t, partner, gpu) for t in tensors)


def _tensors_or_numbers(op: str, given: tuple[Any, ...], partners: list[np.dtype]) -> list[Any]:
    """Arrays and lists become tensors on the device of the first tensor among ``given``."""
    first = next((value for value in given if isinstance(value, Tensor)), None)
    with using(current.gpu if first is None else gpu_of(first._array)):
        return [_tensor_or_number(op, i, value, partners) for i, value in enumerate(given)]


def _tensor_or_number(op: str, position: int, value: Any, partners: list[np.dtype]) -> Any:
    """A tensor or a number. The numbers of a list join a float64 tensor as float64, like a number of its own."""
    if isinstance(value, (Tensor, *NUMBERS)):
        return value
    if isinstance(value, (np.ndarray, list, tuple)):
        made = to_tensor(value)
        if not isinstance(value, np.ndarray) and np.dtype(np.float64) in partners and made._array.dtype in FLOATS:
            made = to_tensor(value, np.float64)
        return made
    raise not_a_tensor(op, f"operand {position + 1}", value)


def as_operands_in_place(op: str, target: int, *given: Any) -> tuple[Tensor, ...]:
    """Tensors for what was given to an in-place operation that writes the one at position ``target``.

    Raises:
        TypeError: when that is no tensor, or holds integers and a number is not whole.
    """
    x = given[target]
    if not isinstance(x, Tensor):
        raise TypeError(f"{op}: x must be a Tensor, not {type(x).__name__}: only a tensor can be written in place")
    partner = x._array.dtype
    if len(given) == 2 and target == 0:
        try:
            return x, (_constants if type(x._array) is ndarray else _numbers)[given[1], type(given[1]), partner]
        except (KeyError, TypeError):
            pass
    try:
        tensors = _tensors_or_numbers(op, given, [partner])
        return tuple(t if isinstance(t, Tensor) else constant(op, t, partner, gpu_of(x._array)) for t in tensors)
    except (TypeError, ValueError) as error:
        raise unsuitable(op, x, error) from None


# ---------- dtypes ----------


def storable_number(op: str, value: Any, dtype: np.dtype) -> Any:
    """A number as ``dtype`` stores it: storing truncates, unlike arithmetic in place. Anything else as it is.

    Raises:
        ValueError: when it does not fit.
    """
    if dtype in FLOATS or not isinstance(value, NUMBERS):
        return value
    fraction = isinstance(value, (float, np.floating))
    number: Any = value
    return stored(op, number, dtype).item() if fraction or dtype == np.bool_ else value


def _cast_backward(node: Any, g: np.ndarray) -> tuple[np.ndarray]:
    (source,) = node.saved
    return (g.astype(source),)


def _cast_jvp(node: Any, _: int, u: np.ndarray) -> np.ndarray:
    return u  # whoever asked takes it in the dtype of the gradient


CAST = Operation("cast", _cast_backward, jvp=_cast_jvp)


def cast(x: Tensor, dtype: np.dtype) -> Tensor:
    """``x`` in another dtype, on a storage of its own; recorded between floating dtypes."""
    out = Tensor._made(x._array.astype(dtype), "cast", (x,))
    if dtype in FLOATS and (not paused.threads or modes.grad):
        node = x._current()
        if node is not None:
            out._node = new_node(CAST, (node,), (x._array.dtype,), x._array.shape)
    return out


def promote(*operands: Tensor) -> tuple[Tensor, ...]:
    """The operands in the dtype that they are promoted to."""
    dtype = operands[0]._array.dtype
    for other in operands[1:]:
        dtype = promoted(dtype, other._array.dtype)
    return tuple(x if x._array.dtype == dtype else cast(x, dtype) for x in operands)


def into(op: str, target: Tensor, other: Tensor) -> Tensor:
    """``other`` in the dtype of ``target``, which an in-place operation will write.

    Raises:
        TypeError: when the result would be floating and the target holds integers, or numbers and it holds bools.
    """
    have, want = other._array.dtype, target._array.dtype
    if (have in FLOATS and want not in FLOATS) or want == np.bool_:
        raise result_does_not_fit(op, target)
    return cast(other, want)


def as_float(x: Tensor) -> Tensor:
    """``x``, or its float32 copy when it holds integers or bools."""
    if x._storage is CONSTANT and x._array.dtype not in FLOATS:
        return Tensor._alias(x._array.astype(np.float32), CONSTANT)  # a number lies nowhere, and is counted nowhere
    return x if x._array.dtype in FLOATS else cast(x, np.dtype(np.float32))


# ---------- before a write ----------


def check_on_device(op: str, x: Tensor, arrays: tuple[Any, ...]) -> None:
    """An in-place operation is about to write ``x``, which lies on a GPU; numpy would check as much on the host.

    Raises:
        RuntimeError: when its elements share memory, or it is lent to be read.
        TypeError: when another operand lies elsewhere.
    """
    if not writeable(x._array):
        raise overlapping_target(op, x)
    if on_several_devices(arrays):
        raise devices_differ(op, arrays)


def check_target(x: Tensor, op: str) -> None:
    """A recorded in-place operation is about to write ``x``, which is a leaf or has a group.

    Raises:
        ValueError: when it is a leaf that wants a gradient, or a view of one.
        RuntimeError: when its group began with a tensor whose elements share memory.
    """
    if is_protected(x):
        raise leaf_written(op, x, is_view=type(x._node) is not Leaf)
    if x._history is not None and overlaps_itself(x._history.base):
        raise overlapping_group(op, x)
