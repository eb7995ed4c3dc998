"""In-place functions that replace a tensor's storage, dtype or size; also ``apply``, ``apply_`` and ``requires_grad_``.

``cast_`` changes the dtype of a tensor, ``resize_`` the number of elements, ``set_`` the storage. The tensor object
stays the same, so every variable that refers to it shows the change. Other tensors keep their data: views and detached
aliases still use the old storage, and backward can still read what operations saved from it.

=================  ==============================  ==========================  =====================================
name               storage                         version                     history
=================  ==============================  ==========================  =====================================
``cast_``          a new one                       the old version plus one    recorded, also under ``no_grad``; the
                                                                               tensor leaves its group
``resize_``        the same if the tensor does     unchanged, or plus one on   RuntimeError if a gradient is required
                   not grow, else a new one        a new storage
``set_``           that of another tensor          that of its new storage     that of a view of the other tensor
``apply_``         the same, overwritten           plus one                    RuntimeError if a gradient is required
``requires_grad_`` the same                        unchanged                   begins, or ends
=================  ==============================  ==========================  =====================================
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.checks import shown
from minitensor.engine.core.errors import devices_differ, leaf_written, read_only_target
from minitensor.engine.core.history import Leaf, Node, move_boxes, new_leaf, new_node
from minitensor.engine.core.layout_rules import register_layout
from minitensor.engine.core.regions import read_only, writeable
from minitensor.engine.core.storage import log_write, new_storage
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.making import as_shape
from minitensor.engine.device.arrays import gpu_of
from minitensor.engine.dtypes import FLOATS, DType, dtype_of
from minitensor.engine.events import MetadataChanged, watch
from minitensor.engine.modes import modes, paused
from minitensor.engine.operations.arguments import need_tensor
from minitensor.engine.operations.operands import CAST, cast
from minitensor.engine.views.indexing import store_at
from minitensor.engine.views.parts import as_strided


def _move_to(x: Tensor, array: np.ndarray, op: str) -> None:
    """Move ``x`` to ``array``, on a new storage with the next version. Other tensors keep the old storage."""
    storage = new_storage(array)
    storage.version = x._storage.version
    x._array, x._storage = register_layout(array), storage
    log_write(storage, op)


def _refuse_read_only(x: Tensor, op: str) -> None:
    """Raise RuntimeError if the memory of ``x`` is read-only: after a move to new memory, ``x`` would silently
    stop sharing the data of the array or the file that it was made from.
    """
    if not writeable(x._array) and read_only(x._array):
        raise read_only_target(op, x)


# ---------- cast_ ----------


def cast_(x: Tensor, dtype: Any) -> Tensor:
    """Convert ``x`` in place to another dtype, on a new storage. The shape stays the same.

    If ``x`` already has that dtype, nothing happens. No bytes are overwritten: views and aliases keep the old storage
    and no longer share memory with ``x``. Gradients pass through a conversion between floating dtypes. Under
    ``no_grad``, a leaf that requires a gradient stays a leaf, and its gradient is also converted.

    Raises:
        ValueError: for a leaf that requires a gradient, in grad mode.
        TypeError: if a tensor cannot have that dtype, or if a gradient is required and the dtype is not floating.
        RuntimeError: if ``x`` is read-only.
    """
    need_tensor("cast_", x)
    new = dtype_of(dtype)
    if new.numpy == x._array.dtype:
        return x
    _refuse_read_only(x, "cast_")
    node = x._current()
    if node is not None:
        if type(node) is Leaf and modes.grad:
            raise leaf_written("cast_", x, is_view=False)
        if new.numpy not in FLOATS:
            raise TypeError(
                f"cast_: a tensor of dtype {new.name} cannot require a gradient, and this one does. Nothing was "
                f"changed. Use `astype({new.name!r})`, which makes a new tensor, or call `detach_()` first."
            )
    old = x._array.dtype
    _move_to(x, x._array.astype(new.numpy, order="C"), "cast_")
    x._history = None
    if type(node) is Leaf:
        _cast_leaf(x, node, new)
    elif node is not None:
        x._node = new_node(CAST, (node,), (old,), x._array.shape)
        move_boxes(node, x._node)
        extra = getattr(x, "_extra", None)
        if extra is not None and extra.box is not None and extra.box.gradient is not None:
            extra.box.gradient = cast(extra.box.gradient, new.numpy)
    if watch.listener is not None:
        watch.listener(MetadataChanged(x, "cast_", (x,)))
    return x


def _cast_leaf(x: Tensor, leaf: Leaf, dtype: DType) -> None:
    """Make ``x`` a new leaf. The old node ``leaf`` converts later gradients and sends them to the new leaf."""
    successor = new_leaf(x._array.shape)
    if leaf.saved is not None:
        successor.saved = cast(leaf.saved.detach(), dtype.numpy)
    successor.hooks, leaf.hooks = leaf.hooks, None
    leaf.__class__ = Node  # type: ignore[assignment]  # the node of the old leaf becomes an inner node
    leaf.op, leaf.inputs, leaf.saved = CAST, (successor,), (dtype.numpy,)
    x._node = successor


# ---------- resize_ ----------


def resize_(x: Tensor, shape: Any, fill_zero: bool = False, name: str | None = None) -> Tensor:
    """Change the shape of ``x`` in place; the number of elements may change. The first elements, in order, are kept.

    A contiguous tensor that does not grow keeps its storage and uses the front of it. Nothing is written, its views
    still share the storage, and the version stays the same. Otherwise ``x`` gets a new storage, whose version is one
    higher, and its former views keep the old storage.

    Args:
        fill_zero: ignored, because added elements are always 0: uninitialized memory would differ from run to run.

    Raises:
        RuntimeError: if ``x`` requires a gradient, because removed or added elements would have none; or if
            ``x`` is read-only.
        ValueError: if a length is negative.
        TypeError: if ``shape`` is not a list of integers, if ``fill_zero`` is not a bool, or if ``x`` is not a tensor.
    """
    need_tensor("resize_", x)
    if not isinstance(fill_zero, (bool, np.bool_)):
        raise TypeError(f"resize_: fill_zero must be True or False, not {shown(fill_zero)}")
    lengths = as_shape("resize_", shape)
    size = math.prod(lengths)
    if not x.stop_gradient:
        raise RuntimeError(
            f"resize_: this tensor of shape {x.shape} requires a gradient, which the elements that it loses or gains "
            f"would not have. Nothing was changed. Use `reshape`, an index or `concat`, or call `detach_()` first."
        )
    _refuse_read_only(x, "resize_")
    if x._array.flags.c_contiguous and size <= x._array.size:
        x._array = x._array.reshape(-1)[:size].reshape(lengths)
    else:
        array = np.zeros(lengths, x._array.dtype, like=x._array)
        kept = min(size, x._array.size)
        array.reshape(-1)[:kept] = x._array.reshape(-1)[:kept]
        _move_to(x, array, "resize_")
        x._history = None
    if watch.listener is not None:
        watch.listener(MetadataChanged(x, "resize_", (x,)))
    return x


# ---------- set_ ----------


def set_(
    x: Tensor,
    source: Tensor | None = None,
    shape: Any = None,
    stride: Any = None,
    offset: int = 0,
    name: str | None = None,
) -> Tensor:
    """Make ``x`` equal to ``source.as_strided(shape, stride, offset)``, which shares the storage of ``source``.

    Nothing is written. ``x`` leaves its group, joins that of ``source``, and gets the dtype, version and history of
    ``source``. Under ``no_grad``, if ``source`` requires a gradient, ``x`` becomes a detached alias. Former views of
    ``x`` keep the old storage.

    Args:
        source: the tensor whose storage ``x`` will share. None makes ``x`` empty (shape [0], on a storage of 0 bytes).
        shape: that of ``source`` by default.
        stride: in elements; by default that of ``source``, or contiguous if a shape is given.
        offset: in elements from the start of the storage; by default that of ``source``, unless a shape is given.

    Raises:
        ValueError: if ``x`` is a leaf that requires a gradient, because its gradient belongs to its current value; if
            the view would reach outside the memory of ``source``; if ``source`` is None and another argument is given.
        TypeError: if ``source`` is neither a tensor nor None, or is on another device; or if ``offset`` is not an
            integer.
        RuntimeError: if ``x`` is read-only.
    """
    need_tensor("set_", x)
    _refuse_read_only(x, "set_")
    if type(x._current()) is Leaf:
        raise ValueError(
            f"set_: Leaf Var ({x.name}) requires a gradient, which belongs to its current numbers. Nothing was "
            f"changed. Use `set_value` to load numbers, or set `stop_gradient=True` first."
        )
    if source is None:
        if shape is not None or stride is not None or checks.integer("set_", "offset", offset) != 0:
            raise ValueError("set_: source must be given if shape, stride or offset is given")
        view = Tensor._made(np.zeros_like(x._array, order="C", shape=(0,)))
    elif not isinstance(source, Tensor):
        raise TypeError(f"set_: source must be a Tensor or None, not {type(source).__name__}")
    elif gpu_of(source._array) is not gpu_of(x._array):
        raise devices_differ("set_", (x._array, source._array))
    else:
        view = _strided_view(source, shape, stride, offset)
    node = x._current()
    if node is not None:
        move_boxes(node, view._node)
    x._array, x._storage, x._node, x._history = view._array, view._storage, view._node, view._history
    if view._history is not None:
        x._seen = view._seen
        if x._node is not None:
            x._history.note_retaining(x)
    if watch.listener is not None:
        watch.listener(MetadataChanged(x, "set_", (x,)))
    return x


def _strided_view(source: Tensor, shape: Any, stride: Any, offset: int) -> Tensor:
    """Return a view of ``source`` with the given layout."""
    lengths = source.shape if shape is None else as_shape("set_", shape)
    if stride is None:
        stride = source.strides if shape is None else [math.prod(lengths[i + 1 :]) for i in range(len(lengths))]
    if shape is None and offset == 0:
        offset = source.offset
    steps = checks.elements("set_", "stride", stride, "integers")
    return as_strided(source, list(lengths), steps, offset)


# ---------- apply_, requires_grad_ ----------


def apply(x: Tensor, func: Callable[[Tensor], Any]) -> Tensor:
    """Return ``func(x)``, a tensor of the shape of ``x``.

    Raises:
        RuntimeError: if ``x`` requires a gradient, in grad mode, because ``func`` may do work that is not recorded.
        TypeError, ValueError: if ``func`` is not a function, or returns anything but a tensor of the shape of ``x``.
    """
    return _apply("apply", x, func)


def apply_(x: Tensor, func: Callable[[Tensor], Any]) -> Tensor:
    """Overwrite ``x`` with ``func(x)`` in one write. ``func`` gets the whole tensor, not its elements.

    Raises:
        RuntimeError: if ``x`` requires a gradient, in grad mode, because the work of ``func`` may not be recorded; or
            if ``x`` is read-only, or its elements share memory.
        TypeError, ValueError: if ``func`` is not a function, or returns anything but a tensor of the shape of ``x``.
    """
    store_at(x, (), _apply("apply_", x, func), "apply_")
    return x


def _apply(op: str, x: Tensor, func: Callable[[Tensor], Any]) -> Tensor:
    need_tensor(op, x)
    if not callable(func):
        raise TypeError(f"{op}: func must be a function of a tensor, not {type(func).__name__}")
    if not x.stop_gradient and (not paused.threads or modes.grad):
        raise RuntimeError(
            f"{op}: this tensor requires a gradient, and the operations of a function may not be recorded. Nothing was "
            f"written. Call the function itself, as in `y = func(x)`, or use `{op}` under `no_grad()`."
        )
    result = func(x)
    if not isinstance(result, Tensor):
        raise TypeError(
            f"{op}: func is called with the whole tensor and must return a Tensor, not {type(result).__name__}"
        )
    if result._array.shape != x._array.shape:
        raise ValueError(f"{op}: func must return a tensor of the shape {x.shape} of x, not {result.shape}")
    return result


def requires_grad_(x: Tensor, requires_grad: bool = True) -> Tensor:
    """Set ``stop_gradient`` to the opposite of ``requires_grad``, and return ``x``. Nothing is written.

    Raises:
        TypeError: if ``requires_grad`` is not a bool, or if the tensor is not floating.
    """
    need_tensor("requires_grad_", x)
    if not isinstance(requires_grad, (bool, np.bool_)):
        raise TypeError(f"requires_grad_: requires_grad must be True or False, not {shown(requires_grad)}")
    x.stop_gradient = not requires_grad
    return x


#: Functions of ``minitensor``, which are also methods of Tensor.
FUNCTIONS: dict[str, Callable[..., Any]] = {"cast_": cast_}

for _function in (cast_, resize_, set_, apply, apply_, requires_grad_):
    setattr(Tensor, _function.__name__, _function)
