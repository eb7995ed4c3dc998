"""Backward: from a result to the gradients of the leaves.

Nothing is committed before everything has been computed: an error leaves every ``grad`` as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from sys import getrefcount
from types import SimpleNamespace
from typing import Any

import numpy as np

from minitensor.autograd import higher_order
from minitensor.autograd.backward_pass import Arrived, Awaiting, InFlight, copied, propagate, waiting
from minitensor.core.errors import leaf_reshaped_by_hook
from minitensor.core.history import Leaf, Node
from minitensor.core.tensor import Tensor
from minitensor.device.arrays import as_array, gpu_of
from minitensor.device.reuse import is_whole
from minitensor.events import watch

#: A node, and the gradient of its value to begin with.
Start = tuple[Node, np.ndarray]


def start_of(x: Tensor, given: Any, what: str) -> Start:
    """The node of ``x`` and the gradient to begin with: ones, unless another is given."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{what} takes a Tensor, not {type(x).__name__}")
    node = x._current()
    if node is None:
        raise RuntimeError(
            f"{what}: this tensor of shape {x.shape} has stop_gradient=True: nothing was recorded, so there is nothing "
            f"to differentiate. Set stop_gradient=False on the leaves before computing."
        )
    if given is None:
        ones = np.empty_like(x._array, order="C")
        ones.fill(1)
        return node, ones
    if not isinstance(given, Tensor):
        raise TypeError(f"{what}: the gradient to begin with is a Tensor or None, not {type(given).__name__}")
    if gpu_of(given._array) is not gpu_of(x._array):
        raise TypeError(
            f"{what}: the gradient to begin with lies on {given.place} and the tensor on {x.place}. Move it with "
            f"`g.cuda()` or `g.cpu()`."
        )
    if given._array.shape != x._array.shape:
        raise ValueError(f"{what}: the gradient to begin with has shape {given.shape}; the tensor has shape {x.shape}")
    return node, given._array.astype(x._array.dtype)


def backward(x: Tensor, grad_tensor: Tensor | None = None, retain_graph: bool = False) -> None:
    """Add the gradient of ``x`` to the ``grad`` of every leaf that it was computed from.

    Args:
        grad_tensor: the gradient of ``x`` to begin with; ones by default, also when ``x`` has many elements.
        retain_graph: keep what was saved, so that backward can run again.

    Raises:
        RuntimeError: when a saved tensor was overwritten or freed; no gradient has changed then.
    """
    node, g = start_of(x, grad_tensor, "backward")
    propagate({node: g}, waiting([node]), retain_graph, commit)


def commit(arrived: Arrived, boxes: Arrived, flight: InFlight) -> None:
    """Put the gradients where readers find them. Each gets memory of its own.

    What needs new memory is made first: should that fail, every ``grad`` is as it was.
    """
    made: list[tuple[Any, Tensor]] = []
    added: list[tuple[Any, np.ndarray]] = []
    for box, g in boxes.items():
        made.append((box, _kept(box.gradient, g, flight)))
    while arrived:
        node, g = arrived.popitem()
        if type(node) is not Leaf:
            raise leaf_reshaped_by_hook()
        if node.saved is not None and _may_be_added_to(node, g):
            added.append((node, g))
        else:
            made.append((node, _kept(node.saved, g, flight)))
    for holder, gradient in made:
        if type(holder) is Leaf:
            _give(holder, gradient)
        else:
            holder.gradient = gradient
    for leaf, g in added:
        array = leaf.saved._array
        np.add(array, g, out=array)
        flight.let_go(g)
        # What anybody sees from now on is a new gradient, as it would be had the sum taken new memory.
        leaf.saved = None
        _give(leaf, Tensor._made(array))


def _give(leaf: Leaf, gradient: Tensor) -> None:
    leaf.saved = gradient
    if watch.listener is not None:
        watch.listener("leaf", leaf, gradient)


def _kept(before: Tensor | None, g: np.ndarray, flight: InFlight) -> Tensor:
    """A tensor of the gradient ``g`` added to ``before``; takes ``g`` over when nobody else holds it."""
    if before is None and flight.alone(g) and g.flags.c_contiguous:
        flight.let_go(g)
        return Tensor._made(g)
    kept = Tensor._made(g.copy() if before is None else as_array(before._array + g))
    flight.let_go(g)
    return kept


def _references(leaf: Any) -> tuple[int, int, int]:
    """How many references there are to the gradient of ``leaf``, to its storage and to its array."""
    gradient = leaf.saved
    storage, array = gradient._storage, gradient._array
    return getrefcount(gradient), getrefcount(storage), getrefcount(array)


def _unseen() -> tuple[int, int, int]:
    """The references to a gradient that nothing but its leaf leads to; how Python counts them differs by version."""
    storage = SimpleNamespace(buffer=object())
    leaf = SimpleNamespace(saved=SimpleNamespace(_storage=storage, _array=storage.buffer))
    del storage
    return _references(leaf)


_UNSEEN = _unseen()


def _may_be_added_to(leaf: Leaf, g: np.ndarray) -> bool:
    """Whether ``g`` may be added to the gradient of ``leaf`` in place: no name, view, export or saved tensor leads to
    it, so that nobody can tell. Gradients that are held keep their numbers.
    """
    if _references(leaf) != _UNSEEN:
        return False
    gradient: Any = leaf.saved
    storage, array = gradient._storage, gradient._array
    base = array.base
    if base is not None and not (is_whole(array) and getrefcount(base) == _UNSEEN[0]):
        return False
    return (
        array is storage.buffer
        and array.dtype == g.dtype
        and gradient._node is None
        and storage.savers is None
        and (type(array) is not np.ndarray or array.flags.writeable)
    )


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool = False,
    no_grad_vars: Any = None,
) -> list[Tensor | None]:
    """The gradients of ``outputs`` for ``inputs`` (leaves or not), without touching any ``grad``.

    Args:
        grad_outputs: the gradients to begin with, one per output; None for ones.
        retain_graph: keep what was saved, so that backward can run again; by default as ``create_graph``.
        create_graph: record the computation of the gradients, so that they have gradients themselves.
        only_inputs: must be True, as in Paddle.
        allow_unused: give None for an input that the outputs do not depend on.
        no_grad_vars: must be None; use ``detach()`` where a tensor should count as a constant.

    Raises:
        RuntimeError: when an output does not depend on an input, unless ``allow_unused`` (then its gradient is None).
    """
    if only_inputs is not True or no_grad_vars is not None:
        raise ValueError("grad: only_inputs must be True and no_grad_vars None; detach() what should be a constant")
    retain_graph = create_graph if retain_graph is None else bool(retain_graph)
    many_outputs: list[Any] = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    many_inputs: list[Any] = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    given = list(grad_outputs) if isinstance(grad_outputs, (list, tuple)) else [grad_outputs] * len(many_outputs)
    if len(given) != len(many_outputs):
        raise ValueError(f"grad: {len(many_outputs)} outputs but {len(given)} gradients to begin with")
    wanted = [start_of(x, None, "grad")[0] for x in many_inputs]
    starts = [start_of(x, g, "grad") for x, g in zip(many_outputs, given, strict=True)]
    waits = waiting(node for node, _ in starts)
    for i, node in enumerate(wanted):
        if node not in waits and not allow_unused:
            raise RuntimeError(
                f"grad: the outputs do not depend on input {i} (shape {many_inputs[i].shape}). "
                f"Pass allow_unused=True to get None for it."
            )

    if create_graph:
        return _recorded(starts, given, waits, retain_graph, wanted)

    def gradients(arrived: Arrived, boxes: Arrived, flight: InFlight) -> list[Tensor | None]:
        return [None if node not in arrived else copied(arrived[node]) for node in wanted]

    return propagate(added_up(starts), waits, retain_graph, gradients, frozenset(wanted))


def added_up(starts: Iterable[Start]) -> dict[Node, np.ndarray]:
    """The gradients to begin with; where two belong to one node, their sum."""
    roots: dict[Node, np.ndarray] = {}
    for node, g in starts:
        roots[node] = g if node not in roots else as_array(roots[node] + g)
    return roots


def _recorded(
    starts: list[Start], given: list[Any], waits: dict[Node, Awaiting], retain_graph: bool, wanted: list[Node]
) -> list[Tensor | None]:
    """The gradients as tensors that have gradients themselves; each has memory of its own."""
    roots: dict[Node, Tensor] = {}
    taken = set()
    for (node, start), g in zip(starts, given, strict=True):
        if g is None:
            tensor = Tensor._made(start)
        elif g._array.dtype != start.dtype:
            tensor = g.astype(start.dtype)
        else:
            tensor = g
            taken.add(g._storage)
        roots[node] = tensor if node not in roots else roots[node] + tensor
    arrived = higher_order.propagate(roots, waits, retain_graph, frozenset(wanted))
    results: list[Tensor | None] = []
    for node in wanted:
        g = arrived.get(node)
        if g is not None and g._storage in taken:
            g = g.clone()
        if g is not None:
            taken.add(g._storage)
        results.append(g)
    return results


Tensor.backward = backward
