"""Gradients of gradients, for ``grad(..., create_graph=True)``.

The rules of the derivative table run on tensors instead of arrays. A saved tensor is restored with its node, so that
the gradient of the gradient reaches it. Operations outside the table are linear (reading and writing parts, reshaping,
joining): their backward is a linear map of ``g``, and the gradient of that map is the operation itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from minitensor.engine.autograd.backward_pass import Pending, answer_of, propagate, ready_for
from minitensor.engine.autograd.rules.on_tensors import summed_to
from minitensor.engine.core.history import Node, Operation, Saved, new_node
from minitensor.engine.core.storage import new_storage
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.modes import enable_grad, modes
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.saved.saved import recovered

Map = Callable[[np.ndarray], np.ndarray]


def revived(node: Node, what: str, saved: Saved, source: Node | None) -> Tensor:
    """Return the saved tensor with its original value, as the value of the node ``source`` (None: a constant)."""
    array, storage, version = saved
    if storage.version != version:
        array = recovered(node, what, saved)
        if array is not saved[0]:
            storage = new_storage(array)
    tensor = Tensor._alias(array, storage)
    tensor._node = source
    return tensor


# ---------- linear maps ----------


def _map_tensors(node: Node, g: np.ndarray) -> tuple[np.ndarray]:
    _, back = node.saved
    return (back(g),)


def linear(name: str, g: Tensor, there: Map, back: Map) -> Tensor:
    """Return ``there(g)`` and record it: ``back`` computes its gradient, and ``there`` the gradient of ``back``."""
    array = there(g._array)
    out = Tensor._made(array.astype(g._array.dtype))
    node = g._current()
    if modes.grad and node is not None:
        out._node = new_node(Operation(name, _map_tensors), (node,), (there, back), out._array.shape)
    return out


def gradients(node: Node, g: Tensor) -> list[Tensor | None]:
    """Return the gradient of each input of ``node`` as a recorded tensor, for the gradient ``g`` of its value."""
    op = node.op
    if op.backward is _map_tensors:
        there, back = node.saved
        return [linear(op.name, g, back, there)]
    if op.jvp is None:
        return list(op.on_tensors(node, g))
    # These gradients need the saved tensors even after a backward pass has freed those of the node.
    pinned = _pin(node)
    return [None if parent is None else _input_gradient(pinned, i, parent, g) for i, parent in enumerate(node.inputs)]


def _input_gradient(node: Node, i: int, parent: Node, g: Tensor) -> Tensor:
    """Return the gradient of input ``i`` of a linear operation."""

    def pull(array: np.ndarray) -> np.ndarray:
        return ready_for(parent, node.op.backward(node, array)[i])

    def push(array: np.ndarray) -> np.ndarray:
        return node.op.jvp(node, i, array)  # type: ignore[misc]  # the caller checked that there is one

    return linear(f"{node.op.name}_backward", g, pull, push)


def _pin(node: Node) -> Node:
    """Return a copy of ``node``, which keeps the saved tensors when backward frees those of ``node``."""
    pinned = Node()
    pinned.op, pinned.inputs, pinned.saved, pinned.shape = node.op, node.inputs, node.saved, node.shape
    pinned.hooks, pinned.code, pinned.instruction = None, node.code, node.instruction
    return pinned


# ---------- the backward pass ----------


def of_engine(x: Tensor) -> Tensor:
    """Return ``x`` as a plain tensor of the engine, because the rules do not handle subclasses."""
    if type(x) is Tensor:
        return x
    same = Tensor._alias(x._array, x._storage)
    same._node = x._current()
    return same


class OnTensors:
    """Gradients as tensors, with recorded sums and rules. Tensors count their memory and emit events themselves."""

    __slots__ = ()

    def start(self, node: Node, g: Tensor) -> Tensor:
        """Return the first gradient."""
        return of_engine(g)

    def hooked(self, node: Node, g: Tensor) -> Tensor:
        """Return the gradient of the value after its hooks have run."""
        for hook in list(node.hooks or ()):
            # Only backward() fills the box of a retained gradient, and a removed hook has no function.
            answer = answer_of(hook, g) if getattr(hook, "function", None) is not None else None
            g = of_engine(g if answer is None else answer)
        return g

    def passed(self, node: Node, g: Tensor) -> Sequence[Tensor | None]:
        """Apply the rules of ``node`` to ``g``."""
        return gradients(node, g)

    def added(self, so_far: Tensor | None, more: Tensor, parent: Node, g: Tensor) -> Tensor:
        """Return the sum of the gradients of ``parent`` so far."""
        more = summed_to(of_engine(more), parent.shape)
        return more if so_far is None else FUNCTIONS["add"](so_far, more)

    def keep(self, g: Tensor) -> None:
        """Do nothing: tensors count their own memory."""

    def release(self, g: Tensor) -> None:
        """Do nothing: tensors count their own memory."""

    def observe(self, node: Node, g: Tensor) -> None:
        """Return None: recorded operations emit their own events."""


def differentiated(
    roots: dict[Node, Tensor],
    pending: dict[Node, Pending],
    retain_graph: bool,
    wanted: frozenset[Node],
    ends: frozenset[Node] = frozenset(),
) -> dict[Node, Tensor]:
    """Send the gradients ``roots`` back through the graph and record this; return those that arrive at ``wanted``."""
    with enable_grad():
        return propagate(roots, pending, retain_graph, OnTensors(), wanted, ends)
