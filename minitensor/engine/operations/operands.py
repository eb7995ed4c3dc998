"""Convert operands to tensors, and tensors of different dtypes to one dtype."""

from __future__ import annotations

import functools
from collections import deque
from typing import Any

import numpy as np
from numpy import ndarray

from minitensor.engine.checks import NUMPY_INTEGERS, shown
from minitensor.engine.core.errors import (
    devices_differ,
    leaf_written,
    not_a_tensor,
    on_several_devices,
    overlapping_group,
    overlapping_target,
    result_does_not_fit,
    unsuitable,
)
from minitensor.engine.core.history import Leaf, Operation, is_protected, new_node
from minitensor.engine.core.regions import overlaps_itself, writeable
from minitensor.engine.core.storage import Storage
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import to_tensor
from minitensor.engine.device.arrays import gpu_of, host_array
from minitensor.engine.device.places import current, using
from minitensor.engine.dtypes import BY_NUMPY, FLOATS, HALVES, INTEGERS, promoted
from minitensor.engine.kernels.numbers import stored
from minitensor.engine.modes import modes, paused

NUMBERS: tuple[type[Any], ...] = (bool, int, float, np.bool_, *NUMPY_INTEGERS, np.floating)

#: The storage of all constants. It is never written, so it needs no savers, and its bytes are not counted.
CONSTANT = Storage.__new__(Storage)
CONSTANT.buffer, CONSTANT.nbytes, CONSTANT.version = np.empty(0), 0, 0
CONSTANT.savers = deque(maxlen=0)  # type: ignore[assignment]  # a list that stays empty

#: Caches of :func:`constant`. A key has the number, the type of the number, and the dtype of the other operand.
_constants: dict[tuple[Any, ...], Tensor] = {}
_gpu_constants: dict[tuple[Any, ...], Tensor] = {}


def constant(op: str, value: Any, partner: np.dtype | None, gpu: Any = None) -> Tensor:
    """Return a tensor without dimensions for the number ``value``, an operand beside a tensor of dtype ``partner``.

    The constant is cached, because creating it takes longer than the operation. If the partner is on ``gpu``, the array
    of the constant is a numpy scalar, which has no device.

    Raises:
        ValueError: if the number does not fit into the dtype.
    """
    key = value, type(value), partner
    dtype = _dtype_for(value, partner)
    if isinstance(value, np.generic):
        value = value.item()  # a numpy integer would wrap around
    try:
        with np.errstate(over="ignore"):  # a float that is too large becomes inf
            # bfloat16 refuses an integer of more than 64 bits
            value = float(value) if type(value) is int and dtype in HALVES else value
            tensor = Tensor._alias(np.asarray(value, dtype), CONSTANT)
    except OverflowError:
        raise ValueError(f"{op}: {shown(value)} does not fit into dtype {dtype.name}") from None
    tensor._array.flags.writeable = False
    if gpu is not None:
        tensor._array = tensor._array[()]
    # Floats equal to 0 are not cached, because 0.0 == -0.0; nor are other classes, which may define == in any way.
    if key[1].__module__ in ("builtins", "numpy") and (value != 0 or type(value) is int):
        cache = _constants if gpu is None else _gpu_constants
        if len(cache) >= 256:
            cache.clear()
        cache[key] = tensor
    return tensor


def _dtype_for(value: Any, partner: np.dtype | None) -> np.dtype:
    """Return the dtype of a number in an operation with a tensor of dtype ``partner``, which it never widens."""
    if isinstance(value, (float, np.floating)):
        return partner if partner in FLOATS else np.dtype(np.float32)
    if isinstance(value, (bool, np.bool_)):
        return np.dtype(np.bool_)
    return np.dtype(np.int64) if partner is None or partner == np.bool_ else partner


def as_operands(op: str, *given: Any) -> tuple[Tensor, ...]:
    """Convert the operands of a normal operation (tensors, numbers, arrays, lists) to tensors.

    Raises:
        TypeError: for anything else, and if all operands are numbers.
        ValueError: if a number does not fit into the dtype of the other operand.
    """
    if len(given) == 2 and type(given[0]) is Tensor:
        x, y = given
        try:
            return x, (_constants if type(x._array) is ndarray else _gpu_constants)[y, type(y), x._array.dtype]
        except (KeyError, TypeError, ValueError):
            pass  # `y` is not a number, or not cached yet
    known = [value._array.dtype for value in given if isinstance(value, Tensor)]
    tensors = _tensors_or_numbers(op, given, known)
    dtypes = [t._array.dtype for t in tensors if isinstance(t, Tensor)]
    if not dtypes:
        raise TypeError(f"{op}: at least one operand must be a Tensor or an array; the first one is {shown(given[0])}")
    partner = dtypes[0] if len(dtypes) == 1 else promoted(dtypes[-2], dtypes[-1])
    gpu = next((gpu for t in tensors if isinstance(t, Tensor) and (gpu := gpu_of(t._array)) is not None), None)
    return tuple(t if isinstance(t, Tensor) else constant(op, t, partner, gpu) for t in tensors)


def _tensors_or_numbers(op: str, given: tuple[Any, ...], partners: list[np.dtype]) -> list[Any]:
    """Convert arrays and lists to tensors on the device of the first tensor, or the current device; keep numbers."""
    first = next((value for value in given if isinstance(value, Tensor)), None)
    with using(current.gpu if first is None else gpu_of(first._array)):
        return [_tensor_or_number(op, i, value, partners) for i, value in enumerate(given)]


def _tensor_or_number(op: str, position: int, value: Any, partners: list[np.dtype]) -> Any:
    """Return a number, or a tensor. Beside a float64 tensor, a list of numbers becomes float64, like a number."""
    if isinstance(value, (Tensor, *NUMBERS)):
        return value
    if isinstance(value, (np.ndarray, list, tuple)):
        tensor = to_tensor(value)
        if not isinstance(value, np.ndarray) and np.dtype(np.float64) in partners and tensor._array.dtype in FLOATS:
            tensor = to_tensor(value, np.float64)
        return tensor
    raise not_a_tensor(op, f"operand {position + 1}", value)


def as_operands_in_place(op: str, target: int, *given: Any) -> tuple[Tensor, ...]:
    """Convert the operands of an in-place operation to tensors. The operand at position ``target`` will be written.

    Raises:
        TypeError: if that operand is not a tensor, or if another one cannot be converted.
        ValueError: if a number does not fit into the dtype of that operand.
    """
    x = given[target]
    if not isinstance(x, Tensor):
        raise TypeError(f"{op}: x must be a Tensor, not {type(x).__name__}: only a tensor can be written in place")
    partner = x._array.dtype
    if len(given) == 2 and target == 0:
        try:
            return x, (_constants if type(x._array) is ndarray else _gpu_constants)[given[1], type(given[1]), partner]
        except (KeyError, TypeError, ValueError):
            pass
    try:
        tensors = _tensors_or_numbers(op, given, [partner])
        return tuple(t if isinstance(t, Tensor) else constant(op, t, partner, gpu_of(x._array)) for t in tensors)
    except (TypeError, ValueError) as error:
        raise unsuitable(op, x, error) from None


# ---------- dtypes ----------


def storable_number(op: str, value: Any, dtype: np.dtype) -> Any:
    """Truncate a number for a ``dtype`` of integers, or make it a bool for bools; return ``value`` unchanged otherwise.

    Raises:
        ValueError: if the truncated number does not fit.
    """
    if dtype in FLOATS or not isinstance(value, NUMBERS):
        return value
    return stored(op, value, dtype).item() if isinstance(value, (float, np.floating)) or dtype == np.bool_ else value


def converted(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return a copy of ``array`` in another dtype. In 16 bits, numbers beyond the range become inf without warning."""
    if dtype not in HALVES:
        return array.astype(dtype)
    with np.errstate(over="ignore"):
        return array.astype(dtype)


def _cast_backward(node: Any, g: np.ndarray) -> tuple[np.ndarray]:
    (source,) = node.saved
    return (converted(g, source),)


def _cast_on_tensors(node: Any, g: Tensor) -> tuple[Tensor]:
    (source,) = node.saved
    return (g if g._array.dtype == source else cast(g, source),)


#: The operation of a conversion between floating dtypes. It saves the dtype of its input, to convert the gradient back.
CAST = Operation("cast", _cast_backward)
CAST.later = lambda: _cast_on_tensors


def cast(x: Tensor, dtype: np.dtype) -> Tensor:
    """Return a copy of ``x`` in another dtype. A conversion between floating dtypes is recorded."""
    out = Tensor._made(converted(x._array, dtype), "cast", (x,))
    if dtype in FLOATS and (not paused.threads or modes.grad):
        node = x._current()
        if node is not None:
            out._node = new_node(CAST, (node,), (x._array.dtype,), x._array.shape)
    return out


def is_wide(x: Tensor, dtype: np.dtype) -> bool:
    """True if ``dtype`` has 16 bits and ``x`` is a float32 constant, which then is not converted."""
    return dtype in HALVES and x._storage is CONSTANT and x._array.dtype == np.float32


def promote(*operands: Tensor) -> tuple[Tensor, ...]:
    """Return the operands in their promoted dtype. Beside a tensor of 16-bit floats, a number may remain in float32."""
    tensors = [x for x in operands if x._storage is not CONSTANT]
    dtype = functools.reduce(promoted, (x._array.dtype for x in tensors or operands))
    if dtype not in HALVES:
        dtype = functools.reduce(promoted, (x._array.dtype for x in operands))
    return tuple(x if x._array.dtype == dtype or is_wide(x, dtype) else cast(x, dtype) for x in operands)


#: In-place operations whose integer result does not change if the other operand wraps around before the operation.
_WRAPPING = frozenset(
    f"{name}_" for name in ("add", "subtract", "sub", "multiply", "mul", "bitwise_and", "bitwise_or", "bitwise_xor")
)


def dtype_beside(op: str, target: Tensor, other: Tensor, error: type[Exception]) -> np.dtype:
    """Return the dtype to which ``other`` is converted before an in-place operation writes ``target``.

    It is the dtype of ``target``, or float32 if ``target`` has 16-bit floats and ``other`` has floats. The operation
    then computes in float32 and rounds its result once. If ``other`` were rounded first, numbers outside the 16-bit
    range would become inf or 0.

    Raises:
        error: if an integer of ``other`` does not fit into the dtype of ``target``, which would change the result.
    """
    source, result = other._array.dtype, target._array.dtype
    if source in FLOATS and result in HALVES:
        return np.dtype(np.float32)
    if source in INTEGERS and result in INTEGERS and op not in _WRAPPING and not np.can_cast(source, result):
        numbers = host_array(other._array)
        lost = numbers[numbers.astype(result) != numbers]
        if lost.size:
            raise error(
                f"{op}: {lost.flat[0].item()} does not fit into {BY_NUMPY[result].name}, the dtype of the written "
                f"tensor. Use the operation without an underscore, and convert its result."
            )
    return result


def into(op: str, target: Tensor, other: Tensor) -> Tensor:
    """Convert ``other`` for an in-place operation that writes ``target``.

    Raises:
        TypeError: if the result would be floating and the target is not, or if the target holds bools.
        ValueError: if an integer does not fit into the dtype of the target.
    """
    source, result = other._array.dtype, target._array.dtype
    if (source in FLOATS and result not in FLOATS) or result == np.bool_:
        raise result_does_not_fit(op, target)
    return cast(other, dtype_beside(op, target, other, ValueError))


def as_float(x: Tensor) -> Tensor:
    """Return ``x``, or a float32 copy if ``x`` holds integers or bools."""
    if x._storage is CONSTANT and x._array.dtype not in FLOATS:
        # A constant has no device, and its storage is not counted.
        return Tensor._alias(x._array.astype(np.float32), CONSTANT)
    return x if x._array.dtype in FLOATS else cast(x, np.dtype(np.float32))


# ---------- before a write ----------


def check_on_device(op: str, x: Tensor, arrays: tuple[Any, ...]) -> None:
    """Check ``x``, which is on a GPU, before an in-place operation writes it. On the host, numpy makes these checks.

    Raises:
        RuntimeError: if its elements share memory, or if its memory is lent (``lend`` in ``core.regions``).
        TypeError: if another operand is on another device.
    """
    if not writeable(x._array):
        raise overlapping_target(op, x)
    if on_several_devices(arrays):
        raise devices_differ(op, arrays)


def check_target(x: Tensor, op: str) -> None:
    """Check ``x``, a leaf or a member of a group, before a recorded in-place operation writes it.

    Raises:
        ValueError: if it is a leaf that requires a gradient, or a view of one.
        RuntimeError: if the base of its group has elements that share memory.
    """
    if is_protected(x):
        raise leaf_written(op, x, is_view=type(x._node) is not Leaf)
    if overlaps_itself(x._array if x._history is None else x._history.base):
        raise overlapping_group(op, x)
