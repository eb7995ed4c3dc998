"""Create views, and change the shape and strides of a tensor in place without writing its elements.

A view joins the group of its source, and both share one :class:`~minitensor.engine.core.history.History`. A view that
is created under ``no_grad`` from a tensor that requires a gradient is detached. In Paddle's vocabulary, the functions
``split``, ``chunk``, ``expand`` and ``broadcast_to`` return copies instead of views; they are in
:mod:`minitensor.engine.views.joining`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitensor.engine.core.errors import leaf_reshaped
from minitensor.engine.core.history import (
    History,
    Leaf,
    Node,
    Operation,
    current,
    is_protected,
    move_boxes,
    new_node,
    reshape_leaf,
)
from minitensor.engine.core.layout_rules import register_layout, strided
from minitensor.engine.core.regions import overlaps_itself, same_layout, unlock
from minitensor.engine.core.storage import calling_frame
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.core.tensor_type import blanks
from minitensor.engine.events import MetadataChanged, ViewCreated, watch
from minitensor.engine.modes import modes, paused

_blank = blanks(Tensor)


def view_of(x: Tensor, array: np.ndarray, op: Operation, saved: tuple[Any, ...] | None = ()) -> Tensor:
    """Return a view of ``x`` with the layout of ``array``; record it as ``op`` if ``x`` requires a gradient.

    ``saved`` is the state that the operation's backward and jvp need; None means the shape of ``array``.
    """
    out = _blank()
    out._array = register_layout(array) if not strided.overlapping else unlock(array, x._array)
    out._storage = x._storage
    history = x._history
    node = x._node if history is None or x._seen == history.version else current(x)
    if node is None or not paused.threads or modes.grad:
        if history is None:
            x._history = history = History(x)
            x._seen = 0
        out._history = history
        out._seen = history.version
        if node is None:
            out._node = None
        else:
            # This is `new_node`, inlined for speed, so that `calling_frame` has one engine frame less to pass.
            out._node = view_node = Node()
            view_node.op = op
            view_node.inputs = (node,)
            view_node.shape = shape = array.shape
            view_node.saved = (shape,) if saved is None else saved
            view_node.hooks = None
            frame = calling_frame()
            view_node.code = frame.f_code
            view_node.instruction = frame.f_lasti
    else:
        out._node = out._history = None
    if watch.listener is not None:
        watch.listener(ViewCreated(out, op.name, (x,)))
    return out


class Reshaping(Operation):
    """An operation on shape and strides only: ``forward(array, *saved)`` returns a view of the same elements."""

    __slots__ = ("forward",)

    def __init__(self, name: str, forward: Callable[..., np.ndarray], backward: Callable[..., Any]) -> None:
        super().__init__(name, backward, jvp=lambda node, _, u: forward(u, *node.saved))
        self.forward = forward


def refuse_leaf(x: Tensor, op: Reshaping) -> None:
    """Raise ValueError if ``op`` would reshape a leaf that requires a gradient, or a view of one, in grad mode."""
    if is_protected(x) and (not paused.threads or modes.grad):
        raise leaf_reshaped(op.name, x)


def reshaped(x: Tensor, array: np.ndarray, op: Reshaping, saved: tuple[Any, ...] = ()) -> Tensor:
    """Give ``x`` the layout of ``array``, which is a view of the same elements, and return ``x``.

    Nothing is written. If ``x`` requires a gradient, the change is recorded as ``op``, also under ``no_grad``; but a
    leaf remains a leaf.

    Args:
        saved: the arguments of ``op.forward`` after the array.

    Raises:
        ValueError: as in :func:`refuse_leaf`.
    """
    node = x._current()
    refuse_leaf(x, op)
    if type(node) is Leaf:
        # If elements share memory, the gradient may have to be reordered although the layout remains the same.
        if overlaps_itself(array) or not same_layout(array, x._array):
            reshape_leaf(x, register_layout(array), lambda g: op.forward(g, *saved))
    else:
        x._array = register_layout(array)
        if node is not None:
            x._node = new_node(op, (node,), saved, array.shape)
            move_boxes(node, x._node)
            extra = getattr(x, "_extra", None)
            box = None if extra is None else extra.box
            if box is not None and box.gradient is not None:
                box.gradient = Tensor._made(op.forward(box.gradient._array, *saved).copy())
    if watch.listener is not None:
        watch.listener(MetadataChanged(x, op.name, (x,)))
    return x
