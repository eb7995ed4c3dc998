"""Create and record operations that are not rows of the derivative table, such as ``linear`` and ``cross_entropy``.

Such an operation consists of three functions: forward on arrays, gradients on arrays, and gradients on tensors for
``create_graph``. :func:`operation` combines the two gradient functions, and :func:`recorded` makes a tensor of the
array that forward returned. Everything else works as for the operations of the table: tensors are saved by reference
with their version, a write checks the nodes that saved the written bytes, and backward reads the saved array with its
old values or raises an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitensor.engine.autocasting import autocast
from minitensor.engine.autograd.higher_order import revived
from minitensor.engine.core.errors import devices_differ, freed
from minitensor.engine.core.history import Node, Operation
from minitensor.engine.core.layout_rules import laid_out, strided
from minitensor.engine.core.storage import caller, placed
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.core.tensor_type import blanks
from minitensor.engine.device.arrays import gpu_of
from minitensor.engine.dtypes import FLOATS
from minitensor.engine.events import StorageCreated, TensorCreated, watch
from minitensor.engine.kernels.reducing import rounded_gradients
from minitensor.engine.kernels.sixteen_bits import dtype_of_result, narrow, wide
from minitensor.engine.modes import casting, modes, paused
from minitensor.engine.operations.operands import promote
from minitensor.engine.saved.saved import FREED, recovered, remember

_blank = blanks(Tensor)

#: ``gradients(node, g, *saved)`` returns one gradient or None per input. ``g`` and ``saved`` are arrays or tensors.
Gradients = Callable[..., Sequence[Any]]


def operation(name: str, saved_names: tuple[str, ...], on_arrays: Gradients, on_tensors: Gradients) -> Operation:
    """Return an operation that saves the inputs ``saved_names``, with gradient functions on arrays and on tensors."""

    def backward(node: Node, g: np.ndarray) -> Sequence[Any]:
        entries = node.saved
        if entries is FREED:
            raise freed(node)
        arrays = []
        for what, saved in zip(saved_names, entries, strict=False):
            if saved is not None:
                array, storage, version = saved
                saved = array if storage.version == version else recovered(node, what, saved)
            arrays.append(saved)
        if g.itemsize != 2:
            return on_arrays(node, g, *arrays)
        wide_g = wide(g)
        return rounded_gradients(on_arrays(node, wide_g, *map(wide, arrays)), node.inputs, g, wide_g)

    def backward_on_tensors(node: Node, g: Tensor) -> Sequence[Any]:
        if node.saved is FREED:
            raise freed(node)
        tensors = [
            None if saved is None else revived(node, what, saved, source)
            for what, saved, source in zip(saved_names, node.saved, node.inputs, strict=False)
        ]
        return on_tensors(node, g, *tensors)

    op = Operation(name, backward, saved_names)
    op.later = lambda: backward_on_tensors
    return op


def arguments_of(node: Node) -> tuple[Any, ...]:
    """Return the plain values that a node stores in addition to its saved tensors."""
    return node.saved[len(node.op.saved_names) :]


def recorded(
    out: np.ndarray, op: Operation, inputs: Sequence[Tensor | None], needed_by: Sequence[Sequence[int]], *arguments: Any
) -> Tensor:
    """Return a tensor of ``out``, with a node if some input requires a gradient, in grad mode.

    If the inputs have 16-bit floats, ``out`` is in float32 and is rounded to their dtype.

    Args:
        inputs: the tensors, first those in ``op.saved_names``; None for an optional tensor that was not given.
        needed_by: for each saved name, the positions of the inputs whose gradient needs it.
        arguments: plain values that the gradients need.
    """
    if strided.exist:
        out = laid_out(out, op.name, [x for x in inputs if x is not None])
    result = _blank()
    dtype = dtype_of_result([x._array for x in inputs if x is not None])
    result._array, result._storage = array, storage = placed(out if dtype is None else narrow(out, dtype))
    result._node = result._history = None
    listener = watch.listener
    if listener is not None:
        listener(StorageCreated(storage))
        listener(TensorCreated(result, op.name, tuple(x for x in inputs if x is not None)))
    if paused.threads and not modes.grad:
        return result
    nodes = [None if x is None else x._node if x._history is None else x._current() for x in inputs]
    if not any(nodes):
        return result
    result._node = node = Node()
    saved: list[Any] = []
    for x, by in zip(inputs, needed_by, strict=False):
        entry = None
        if x is not None:
            for i in by:
                if nodes[i] is not None:
                    storage = x._storage
                    entry = x._array, storage, storage.version
                    break
        saved.append(entry)
    node.op, node.inputs, node.saved = op, tuple(nodes), (*saved, *arguments)
    node.shape, node.hooks = array.shape, None
    node.code, node.instruction = caller()
    for entry in saved:
        if entry is not None:
            remember(entry[1], node)
    return result


def computed(function: Callable[..., Any], *given: Any) -> Any:
    """Call ``function`` on arrays. If numpy raises an error for inf or nan, call it again without such errors.

    16-bit floats are passed as float32; :func:`recorded` rounds the result.
    """
    given = tuple(map(wide, given))
    try:
        return function(*given)
    except (FloatingPointError, RuntimeWarning):
        with np.errstate(all="ignore"):
            return function(*given)


#: The names of inputs of layers that may be None.
OPTIONAL = frozenset(("weight", "bias", "pos_weight"))


def floats_of(op: str, **given: Tensor | None) -> tuple[Any, ...]:
    """Return the tensors of an operation, converted to one floating dtype.

    Args:
        given: the tensors by name. Those whose name is in :data:`OPTIONAL` may be None, and stay None.

    Raises:
        TypeError: if one is not a tensor of floats, or if they are on different devices.
    """
    if casting.threads:
        given = dict(zip(given, autocast(op, *given.values()), strict=True))
    first, alike = None, True
    for name, x in given.items():
        if x is None and name in OPTIONAL:
            continue
        if not isinstance(x, Tensor):
            raise TypeError(f"{op}: {name} must be a Tensor, not {type(x).__name__}")
        array = x._array
        if first is None:
            first, dtype = array, array.dtype
        elif array.dtype is dtype and type(array) is np.ndarray is type(first):
            continue
        else:
            alike = False  # two GPU arrays may still be alike; they are compared below
        if array.dtype not in FLOATS:
            raise TypeError(f"{op}: {name} must hold floats, not {x.dtype.name}")
    if alike:
        return tuple(given.values())
    tensors = [x for x in given.values() if x is not None]
    if any(gpu_of(x._array) is not gpu_of(first) for x in tensors):
        raise devices_differ(op, tuple(x._array for x in tensors))
    promoted = iter(promote(*tensors))
    return tuple(None if x is None else next(promoted) for x in given.values())


def wanted_gradients(node: Node, values: Sequence[Callable[[], Any]]) -> tuple[Any, ...]:
    """Return the gradient of each input that requires one, and None for the others.

    Args:
        values: for each input, a function that computes its gradient. It is called only if the gradient is needed.
    """
    return tuple(None if parent is None else value() for parent, value in zip(node.inputs, values, strict=True))
