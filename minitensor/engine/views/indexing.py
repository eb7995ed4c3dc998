"""Read and assign by index: ``x[index]`` and ``x[index] = value``.

A basic index (integers, slices, None, ...) returns a view. An advanced one (lists, arrays, bool masks) returns a copy.
Assignment writes in place with either kind, and is recorded.
"""

from __future__ import annotations

import operator
import sys
from typing import Any

import numpy as np

from minitensor.engine.checks import shown
from minitensor.engine.core.errors import (
    devices_differ,
    freed,
    leaf_written,
    not_writeable,
    on_several_devices,
    unsuitable,
)
from minitensor.engine.core.history import (
    WRITE,
    Node,
    Operation,
    current,
    follow_retaining,
    group_of,
    is_protected,
    new_node,
    repeated,
    set_node,
)
from minitensor.engine.core.regions import Pick, unlock, writeable
from minitensor.engine.core.storage import new_storage
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import to_tensor
from minitensor.engine.creation.moving import move_to, placed_on
from minitensor.engine.device.arrays import add_at, as_array, broadcast_shapes, gpu_of, host_array, like, may_share
from minitensor.engine.device.places import Place
from minitensor.engine.dtypes import FLOATS, INTEGERS
from minitensor.engine.events import TensorWritten, watch
from minitensor.engine.kernels.indexed import assign, turns_that_stay
from minitensor.engine.kernels.numbers import overwrite, stored_array
from minitensor.engine.modes import modes, paused
from minitensor.engine.operations.operands import as_operands_in_place, cast, check_target, storable_number
from minitensor.engine.saved.saved import FREED
from minitensor.engine.saved.writing import write
from minitensor.engine.views.making import view_of
from minitensor.engine.views.parts import INDEX


def _plain(index: Any, array: np.ndarray) -> tuple[Any, bool]:
    """Return an index into ``array`` for numpy, and a bool: True for an advanced index.

    A tensor with one integer and no dimensions becomes an int. Other tensors, lists and arrays become new arrays on
    the device of ``array``.
    """
    if type(index) is int and -sys.maxsize <= index <= sys.maxsize:
        return (index,), False
    return _plain_entries(index, array)


def _plain_entries(index: Any, array: np.ndarray) -> tuple[Any, bool]:
    entries = []
    advanced = False
    for entry in index if isinstance(index, tuple) else (index,):
        if isinstance(entry, Tensor):
            if gpu_of(entry._array) is not gpu_of(array):
                raise TypeError(
                    f"an index is on {entry.place} and the tensor on {Place(gpu_of(array))}. Move it with "
                    f"`index.cuda()` or `index.cpu()`."
                )
            entry = host_array(entry._array)
            if entry.ndim == 0 and entry.dtype in INTEGERS:
                entry = int(entry)
        if isinstance(entry, (list, np.ndarray)):
            entry = _index_array(entry)
            if entry.size == 0 and entry.dtype.kind != "b":
                entry = entry.astype(np.int64)
        if isinstance(entry, slice):
            entry = slice(*(None if n is None else _whole(n) for n in (entry.start, entry.stop, entry.step)))
        elif isinstance(entry, (np.ndarray, bool, np.bool_)):
            advanced = True
            if isinstance(entry, np.ndarray) and entry.dtype.kind not in "biu":
                raise TypeError(f"an index array must hold integers or bools, not {entry.dtype.name}")
        elif entry is not None and entry is not Ellipsis:
            entry = _whole(entry)
        entries.append(entry)
    if advanced and type(array) is not np.ndarray:
        _check_on_host(tuple(entries), array.shape)
        entries = [like(entry, array) if isinstance(entry, np.ndarray) else entry for entry in entries]
    return tuple(entries), advanced


def _check_on_host(index: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    """Raise IndexError if ``index`` is out of range for ``shape``. A GPU would not report it."""
    try:
        np.broadcast_to(np.False_, shape)[index]
    except IndexError as error:
        raise IndexError(f"{str(error).splitlines()[0]}; the tensor has shape {list(shape)}") from None


def _index_array(entry: Any) -> np.ndarray:
    try:
        found = np.array(entry)
    except ValueError:
        raise IndexError(f"the lists of an index must be equally long; {shown(entry)} is ragged") from None
    # In a browser, numpy stores Python's integers in 32 bits. Convert them, so that an index has as many counted bytes
    # as on other machines.
    return found.astype(np.int64, copy=False) if found.dtype == np.intp and isinstance(entry, list) else found


def _whole(entry: Any) -> int:
    try:
        number = operator.index(entry)
    except (AttributeError, TypeError):
        raise TypeError(
            "an index must be an integer, a slice, None, ..., or an array or list of integers or bools, not "
            f"{shown(entry)}"
        ) from None
    # Limit the number to numpy's range. No dimension is that long, so the index is out of range before and after.
    return max(-sys.maxsize, min(int(number), sys.maxsize))


def _pick(x: Tensor, pick: Any) -> np.ndarray:
    try:
        picked: np.ndarray = pick(x._array)
        return picked
    except IndexError as error:
        raise IndexError(f"{str(error).splitlines()[0]}; the tensor has shape {x.shape}") from None
    except ValueError as error:  # the index has a slice with step 0
        raise ValueError(f"{error}; the tensor has shape {x.shape}") from None


def getitem(x: Tensor, index: Any) -> Tensor:
    """Return ``x[index]``: a view for a basic index, a copy for an advanced one.

    Raises:
        IndexError: if the index is out of range, or has lists of unequal lengths.
        TypeError: if a part of the index has a wrong type, or is on another device than ``x``.
        ValueError: if a slice has step 0.
    """
    plain, advanced = _plain(index, x._array)
    if not advanced:
        pick = Pick(plain)
        return view_of(x, _pick(x, pick), INDEX, (pick,))
    taken = _pick(x, lambda array: array[plain])
    out = Tensor._made(as_array(taken).copy(), "getitem", (x,))
    node = x._current()
    if node is not None and (not paused.threads or modes.grad):
        out._node = new_node(GATHER, (node,), _saved_index(plain), out._array.shape)
    return out


def _saved_index(plain: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values that a node saves for an index: the index, and storages that count its arrays."""
    return plain, [new_storage(entry) for entry in plain if hasattr(entry, "dtype")]


def _gather_backward(node: Node, g: np.ndarray) -> tuple[np.ndarray]:
    if node.saved is FREED:
        raise freed(node)
    whole = np.zeros(node.inputs[0].shape, g.dtype, like=g)  # type: ignore[union-attr]  # recorded for this input
    add_at(whole, node.saved[0], g)  # the gradient of an element that was read twice is a sum
    return (whole,)


def _gather_jvp(node: Node, _: int, u: np.ndarray) -> np.ndarray:
    if node.saved is FREED:
        raise freed(node)
    gathered: np.ndarray = u[node.saved[0]]
    return gathered


GATHER = Operation("getitem", _gather_backward, ("index",), _gather_jvp)


# ---------- writing ----------


def _set_at_backward(node: Node, g: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None]:
    if node.saved is FREED:
        raise freed(node)
    plain = node.saved[0]
    old, value = node.inputs
    taken = rest = None
    if value is not None:
        # If an index lists a position twice, only the last value has a gradient.
        turns, stays = turns_that_stay(g, plain)
        taken = np.where(stays == turns, g[plain], 0)
    if old is not None:
        rest = g.copy()
        rest[plain] = 0
    return rest, taken


def _set_at_jvp(node: Node, i: int, u: np.ndarray) -> np.ndarray:
    if node.saved is FREED:
        raise freed(node)
    plain = node.saved[0]
    result = u.copy() if i == 0 else np.zeros(node.shape, u.dtype, like=u)
    if i == 0:
        result[plain] = 0
    else:
        assign(result, plain, repeated(u, result[plain].shape))
    return result


#: A recorded write through a view, with the gradient functions of ``WRITE``.
SET_PART = Operation("setitem", WRITE.backward, jvp=WRITE.jvp, owned=WRITE.owned)
SET_AT = Operation("setitem", _set_at_backward, ("index",), _set_at_jvp)


def setitem(x: Tensor, index: Any, value: Any) -> None:
    """Assign ``x[index] = value`` in place. Floats are truncated if ``x`` holds integers.

    Raises:
        IndexError, TypeError: as :func:`getitem` does.
        ValueError: if ``value`` does not fit, or if ``x`` is a leaf that requires a gradient, or a view of one, in grad
            mode.
        RuntimeError: if ``x`` is read-only, or if its elements share memory.
    """
    store_at(x, index, value, "setitem")


def copy_(x: Tensor, other: Any, blocking: bool = True) -> Tensor:
    """Overwrite ``x`` with the elements of ``other``, broadcast to the shape of ``x``. ``other`` gets a gradient.

    ``other`` may be on another device. The copy is complete when the call returns, whether or not ``blocking`` is set.

    Raises:
        ValueError: if ``other`` cannot be broadcast to the shape of ``x``; if ``x`` is a leaf that requires a gradient,
            or a view of one, in grad mode.
        TypeError: if ``other`` is not a tensor, array, list or number.
        RuntimeError: if ``x`` is read-only, or if its elements share memory.
    """
    if isinstance(other, Tensor) and isinstance(x, Tensor):
        other = move_to(other, gpu_of(x._array))
    store_at(x, (), other, "copy_")
    return x


def store_at(x: Tensor, index: Any, value: Any, op: str) -> None:
    """Write ``value`` into ``x`` at ``index``; ``op`` is the name that errors and events show."""
    # Convert the value first: this may call a method of the program, such as `__array__`, which may move `x` to another
    # storage.
    _, y = as_operands_in_place(op, 0, x, storable_number(op, value, x._array.dtype))
    plain, advanced, target, pick = _select(op, x, index)
    both = x._array, y._array
    if not (type(both[0]) is type(both[1]) is np.ndarray) and on_several_devices(both):
        raise devices_differ(op, both)
    _check_fits(op, x, target, advanced, y)
    xn = yn = None
    if x._array.dtype in FLOATS and (not paused.threads or modes.grad):
        xn, yn = x._current(), y._current()
        if xn is not None or yn is not None:
            if x._history is not None or xn is not None or not writeable(x._array):
                check_target(x, op)
            if yn is not None and y._array.dtype is not x._array.dtype:
                y = cast(y, x._array.dtype)
                yn = y._node
    numbers = stored_array(op, y._array, x._array.dtype)
    while numbers.ndim > target.ndim:  # drop leading dimensions of length 1, as numpy does
        numbers = numbers[0]
    if advanced and may_share(numbers, x._array):
        numbers = numbers.copy()
    if advanced:
        write(x._storage, x._array, op, None, assign, x._array, plain, numbers, index=plain)
    else:
        write(x._storage, target, op, None, overwrite, target, numbers)
    if xn is not None or yn is not None:
        if advanced:
            set_node(x, new_node(SET_AT, (xn, yn), _saved_index(plain), x._array.shape))
        else:
            set_part(x, target, yn, pick)
    if watch.listener is not None:
        watch.listener(TensorWritten(x, op, (x, y), plain if advanced else target))


def _select(op: str, x: Tensor, index: Any) -> tuple[Any, bool, np.ndarray, Any]:
    """Return the index for numpy, a bool (True: it is advanced), the selected elements, and the selecting function."""
    try:
        plain, advanced = _plain(index, x._array)
        pick = Pick(plain) if not advanced else (lambda array: array[plain])
        return plain, advanced, unlock(_pick(x, pick), x._array), pick
    except (IndexError, TypeError, ValueError) as error:
        raise unsuitable(op, x, error) from None


def set_part(x: Tensor, target: np.ndarray, yn: Node | None, pick: Any = None) -> None:
    """Record in the group of ``x`` that ``target``, a view of ``x``, was overwritten with the value of node ``yn``.

    ``yn`` is None for a value without a gradient. ``pick`` is the function that selected ``target`` from ``x``, if any.
    """
    history = group_of(x)
    region = pick if isinstance(pick, Pick) and x._array is history.base else history.region_of(target)
    history.node = new_node(SET_PART, (history.node, yn), (region,), history.base.shape)
    history.version += 1
    current(x)
    if history.retaining is not None:
        follow_retaining(history)


def _check_fits(op: str, x: Tensor, target: np.ndarray, advanced: bool, y: Tensor) -> None:
    if not writeable(x._array if advanced else target):
        raise not_writeable(op, x)
    given = y._array.shape
    while len(given) > target.ndim and given[0] == 1:
        given = given[1:]
    try:
        fits = broadcast_shapes(given, target.shape) == target.shape
    except ValueError:
        fits = False
    if not fits:
        text = (
            f"{op}: a value of shape {y.shape} cannot be broadcast to shape {list(target.shape)}, which the index "
            f"selects from a tensor of shape {x.shape}"
        )
        raise unsuitable(op, x, ValueError(text))


def set_value(x: Tensor, value: Any) -> None:
    """Overwrite ``x`` with ``value``, as Paddle does when it loads weights. The write increments the version.

    A leaf may be written, even if it requires a gradient, and stays a leaf. For any other tensor, ``value`` is a
    constant, and the gradient of the previous value is 0.

    Raises:
        ValueError: if the shapes differ, or if ``x`` is a view of a leaf that requires a gradient, in grad mode.
        TypeError: if ``value`` is not made of numbers, or is a tensor or array of another dtype.
        RuntimeError: if ``x`` is read-only, or if its elements share memory.
    """
    if isinstance(value, (Tensor, np.ndarray)):
        given = value if isinstance(value, Tensor) else to_tensor(value)
    else:
        given = to_tensor(value, x.dtype)
    if given._array.shape != x._array.shape:
        text = f"set_value: the tensor has shape {x.shape} and the value {given.shape}; they must be equal"
        raise unsuitable("set_value", x, ValueError(text))
    if given._array.dtype != x._array.dtype:
        text = f"set_value: the tensor has dtype {x.dtype.name} and the value {given.dtype.name}; they must be equal"
        raise unsuitable("set_value", x, TypeError(text))
    if not writeable(x._array):
        raise not_writeable("set_value", x)
    recorded = modes.grad and not x.stop_gradient
    if recorded and is_protected(x):
        if not x.is_leaf:
            raise leaf_written("set_value", x, is_view=True)
        recorded = False
    numbers = given._array if gpu_of(given._array) is gpu_of(x._array) else placed_on(gpu_of(x._array), given._array)
    write(x._storage, x._array, "set_value", None, overwrite, x._array, numbers)
    if recorded:
        set_part(x, x._array, None)
    if watch.listener is not None:
        watch.listener(TensorWritten(x, "set_value", (x, given), None))


Tensor.__getitem__ = getitem
Tensor.__setitem__ = setitem
Tensor.copy_ = copy_
Tensor.set_value = set_value
