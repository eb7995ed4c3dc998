"""Gradients of gradients, for ``grad(..., create_graph=True)``.

The rules of the derivative table run on tensors instead of arrays. A saved tensor is restored with its node, so that
the gradient of the gradient flows back through it. Most operations outside the table are linear (reading and writing
parts, reshaping, joining). The backward of a linear operation is a linear map of ``g``, and the gradient of this map is
the operation itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from minitensor.engine.autograd.backward_pass import as_gradient_of, call_hook
from minitensor.engine.autograd.rules.on_tensors import summed_to
from minitensor.engine.core.history import GradientBox, Node, Operation, Saved, new_node
from minitensor.engine.core.storage import new_storage
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.modes import modes
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.saved.saved import recovered

Map = Callable[[np.ndarray], np.ndarray]


def revived(node: Node, what: str, saved: Saved, source: Node | None) -> Tensor:
    """Return a tensor of the saved values with the node ``source`` (None: a constant).

    Raises:
        RuntimeError: if the values were overwritten and cannot be restored.
    """
    array, storage, version = saved
    if storage.version != version:
        array = recovered(node, what, saved)
        if array is not saved[0]:
            storage = new_storage(array)
    tensor = Tensor._alias(array, storage)
    tensor._node = source
    return tensor


# ---------- linear maps ----------


def _linear_backward(node: Node, g: np.ndarray) -> tuple[np.ndarray]:
    _, transposed = node.saved
    return (transposed(g),)


def linear(name: str, g: Tensor, function: Map, transposed: Map) -> Tensor:
    """Return ``function(g)`` for a linear ``function``, and record the call.

    ``transposed`` computes the gradient of ``function``, and ``function`` computes the gradient of ``transposed``.
    """
    array = function(g._array)
    out = Tensor._made(array.astype(g._array.dtype))
    node = g._current()
    if modes.grad and node is not None:
        out._node = new_node(Operation(name, _linear_backward), (node,), (function, transposed), out._array.shape)
    return out


def gradients(node: Node, g: Tensor) -> list[Tensor | None]:
    """Return the gradients of the inputs of ``node`` as recorded tensors, for the gradient ``g`` of the node's value.

    Inputs that require no gradient get None.
    """
    op = node.op
    if op.backward is _linear_backward:
        function, transposed = node.saved
        return [linear(op.name, g, transposed, function)]
    if op.jvp is None:
        return list(op.on_tensors(node, g))
    # The recorded gradients need the saved values even after a backward pass has freed them, so copy the node.
    pinned = new_node(op, node.inputs, node.saved, node.shape, (node.code, node.instruction))
    return [None if parent is None else _input_gradient(pinned, i, parent, g) for i, parent in enumerate(node.inputs)]


def _input_gradient(node: Node, i: int, parent: Node, g: Tensor) -> Tensor:
    """Return the gradient of input ``i`` of a linear operation."""

    def pull(array: np.ndarray) -> np.ndarray:
        return as_gradient_of(parent, node.op.backward(node, array)[i])

    def push(array: np.ndarray) -> np.ndarray:
        return node.op.jvp(node, i, array)  # type: ignore[misc]  # the caller checked that `jvp` is not None

    return linear(f"{node.op.name}_backward", g, pull, push)


# ---------- the backward pass ----------


def as_engine_tensor(x: Tensor) -> Tensor:
    """Return ``x`` as a plain tensor of the engine, because the rules do not handle subclasses."""
    if type(x) is Tensor:
        return x
    same = Tensor._alias(x._array, x._storage)
    same._node = x._current()
    return same


class OnTensors:
    """Gradients as tensors: rules and sums are recorded. Tensors count their memory and emit events themselves.

    Attributes:
        retained: the gradients of tensors for which ``retain_grads()`` was called.
    """

    __slots__ = ("retained",)

    def __init__(self) -> None:
        self.retained: dict[GradientBox, Tensor] = {}

    def start(self, node: Node, g: Tensor) -> Tensor:
        """Return ``g``, the gradient with which the pass begins at ``node``, as a plain tensor of the engine."""
        return as_engine_tensor(g)

    def run_hooks(self, node: Node, g: Tensor) -> Tensor:
        """Call hooks with ``g``; retain ``g`` for each GradientBox (after all hooks if ``adds`` is true)."""
        for hook in sorted(node.hooks or (), key=lambda each: type(each) is GradientBox and each.adds):
            if type(hook) is GradientBox:
                self.retained[hook] = g
                continue
            answer = call_hook(hook, g) if hook.function is not None else None  # None: the hook was removed
            g = as_engine_tensor(g if answer is None else answer)
        return g

    def apply_rules(self, node: Node, g: Tensor) -> Sequence[Tensor | None]:
        """Apply the rules of ``node`` to ``g``."""
        return gradients(node, g)

    def add(self, so_far: Tensor | None, more: Tensor, parent: Node, g: Tensor) -> Tensor:
        """Return the sum of ``so_far`` (None: nothing has arrived yet) and ``more``, in the shape of ``parent``."""
        more = summed_to(as_engine_tensor(more), parent.shape)
        return more if so_far is None else FUNCTIONS["add"](so_far, more)

    def keep(self, g: Tensor) -> None:
        """Do nothing: tensors count their own memory."""

    def release(self, g: Tensor) -> None:
        """Do nothing: tensors count their own memory."""

    def observe(self, node: Node, g: Tensor) -> None:
        """Return None: recorded operations emit their own events."""
