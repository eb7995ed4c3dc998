"""Backward: from a result to the gradients of the leaves.

The graph is walked without recursion, so its depth has no limit. Nothing is committed before everything has been
computed: an error leaves every ``grad`` as it was. Gradients on their way are counted by the device's meter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from sys import getrefcount
from types import SimpleNamespace
from typing import Any

import numpy as np

from minitensor.device.arrays import as_array, gpu_of, host_array
from minitensor.device.counters import cpu_meter
from minitensor.device.reuse import is_whole
from minitensor.errors import leaf_relaid_by_hook
from minitensor.events import watch
from minitensor.history import GradientBox, Leaf, Node
from minitensor.regions import Part
from minitensor.rules.on_arrays import summed_to
from minitensor.saving import FREED
from minitensor.tensor import Hook, Tensor


class InFlight:
    """The gradient arrays between nodes, counted once per buffer."""

    __slots__ = ("_more", "_sizes")

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}
        self._more: dict[int, int] = {}  # holders beside the first, of the buffers that have any

    def hold(self, array: np.ndarray) -> None:
        """One holder more of the buffer behind ``array``."""
        owner = array.base
        if owner is None:
            owner = array
        key = id(owner)
        if key in self._sizes:
            self._more[key] = self._more.get(key, 0) + 1
            return
        if type(owner) is np.ndarray:
            size = owner.nbytes
        else:  # what lies on a GPU is counted there
            size = 0 if gpu_of(array) is not None else getattr(owner, "nbytes", array.nbytes)
        self._sizes[key] = size
        cpu_meter.allocated = now = cpu_meter.allocated + size
        if now > cpu_meter.peak:
            cpu_meter.peak = now
        if watch.listener is not None:
            watch.listener("flight", size)

    def let_go(self, array: np.ndarray) -> None:
        """One holder fewer."""
        owner = array.base
        key = id(array if owner is None else owner)
        if self._more and key in self._more:
            self._more[key] -= 1
            if self._more[key] == 0:
                del self._more[key]
            return
        size = self._sizes.pop(key)
        cpu_meter.allocated -= size
        if watch.listener is not None:
            watch.listener("flight", -size)

    def alone(self, array: np.ndarray) -> bool:
        """Whether ``array`` is a whole buffer that one holder has: then it may be added to in place."""
        owner = array.base
        if owner is not None and not (type(array) is np.ndarray and is_whole(array)):
            return False
        key = id(array if owner is None else owner)
        if key in self._more or key not in self._sizes:
            return False
        return type(array) is not np.ndarray or array.flags.writeable

    def clear(self) -> None:
        """Let everything go."""
        for size in self._sizes.values():
            cpu_meter.allocated -= size
            if watch.listener is not None:
                watch.listener("flight", -size)
        self._sizes.clear()
        self._more.clear()


#: What a walk knows of a node: how many gradients it still waits for, the sum of those that have come, the node.
Awaiting = list[Any]


def waiting(roots: Iterable[Node]) -> dict[Node, Awaiting]:
    """Every node that can be reached, and how many gradients it waits for; none has come yet."""
    waits: dict[Node, Awaiting] = {root: [0, None, root] for root in roots}
    stack = list(waits)
    while stack:
        for parent in stack.pop().inputs:
            if parent is None:
                continue
            awaiting = waits.get(parent)
            if awaiting is None:
                waits[parent] = [1, None, parent]
                stack.append(parent)
            else:
                awaiting[0] += 1
    return waits


#: A node, and the gradient of its value to begin with.
Start = tuple[Node, np.ndarray]

#: Gradients that arrived: at leaves and captured nodes, or for tensors that retain theirs.
Arrived = dict[Any, np.ndarray]


def propagate(
    roots: dict[Node, np.ndarray],
    waits: dict[Node, Awaiting],
    retain_graph: bool,
    finish: Callable[[Arrived, Arrived, InFlight], Any],
    capture: frozenset[Node] = frozenset(),
) -> Any:
    """Send the gradients ``roots`` back through the graph.

    ``finish(arrived, boxes, flight)`` takes over what arrived, while it is still counted; its answer is returned.
    """
    ready = [waits[node] for node in roots if waits[node][0] == 0]
    arrived: Arrived = {}
    boxes: Arrived = {}
    flight = InFlight()
    hold, let_go, alone = flight.hold, flight.let_go, flight.alone
    for node, g in roots.items():
        waits[node][1] = g
        hold(g)
        if watch.listener is not None:
            watch.listener("start", node, g)
    try:
        with np.errstate(all="ignore"):
            while ready:
                _, g, node = ready.pop()
                del waits[node]
                if node.hooks is not None:
                    g = _run_hooks(node, g, boxes, flight)
                if type(node) is Leaf:
                    arrived[node] = g
                    if watch.listener is not None:
                        watch.listener("enter", node, g)
                        watch.listener("visit", node, g, [])
                        watch.listener("left", node)
                    continue
                if capture and node in capture:
                    arrived[node] = g
                    hold(g)
                sent: list[Any] | None = None
                arrival = g
                if watch.listener is not None:
                    sent = []
                    watch.listener("enter", node, g)
                op = node.op
                if op.owned is None or not alone(g):
                    passed = op.backward(node, g)
                else:
                    if sent is not None:
                        arrival = host_array(g).copy()
                    passed = op.owned(node, g)
                kept = False  # whether a parent has g itself: then g stays in flight, counted once
                position = -1  # counted by hand: enumerate and zip cost more than the rest of a small step
                for parent in node.inputs:
                    position += 1
                    if parent is None:
                        continue
                    pg = passed[position]
                    try:
                        awaiting = waits[parent]
                    except KeyError:
                        raise leaf_relaid_by_hook() from None
                    before = awaiting[1]
                    # Whether what came here before may be added to in place.
                    free = before is not None and before is not g and alone(before)
                    part = None
                    if type(pg) is not np.ndarray or pg.shape != parent.shape:
                        if type(pg) is Part and free and pg.add_to(before):
                            part = pg
                        else:
                            pg = _ready_for(parent, pg)
                    if sent is not None:
                        # A copy, since the original may be added to; on the host, where a GPU would count it.
                        sent.append((parent, host_array(pg).copy() if part is None else part.on_the_host()))
                    if part is not None:
                        pass
                    elif before is None:
                        awaiting[1] = pg
                        if pg is g and not kept:
                            kept = True
                        else:
                            hold(pg)
                    elif free:
                        np.add(before, pg, out=before)
                    else:
                        awaiting[1] = total = as_array(before + pg)
                        hold(total)
                        let_go(before)
                    awaiting[0] = left = awaiting[0] - 1
                    if left == 0:
                        ready.append(awaiting)
                if sent is not None:
                    watch.listener("visit", node, arrival, sent)  # type: ignore[misc]
                if not kept:
                    let_go(g)
                if not retain_graph and op.saved_names and holds_something(node):
                    node.saved = FREED
                if sent is not None:
                    watch.listener("left", node)  # type: ignore[misc]
                # What is not counted any more is not held any longer, either.
                passed = pg = part = before = total = g = arrival = None
        return finish(arrived, boxes, flight)
    finally:
        flight.clear()


def holds_something(node: Node) -> bool:
    """Whether a node saved anything: what nobody needed was left out, and is not missed in a second backward."""
    for each in node.saved:  # noqa: SIM110  (any() with a generator takes four times as long)
        if each is not None:
            return True
    return False


def _ready_for(parent: Node, g: Any) -> np.ndarray:
    """The gradient in the shape of the node it goes to."""
    g = g.whole() if type(g) is Part else as_array(g)
    return g if g.shape == parent.shape else summed_to(g, parent.shape)


def _run_hooks(node: Node, g: np.ndarray, boxes: Arrived, flight: InFlight) -> np.ndarray:
    """Call the hooks on a copy of the gradient, and note who retains it."""
    for hook in list(node.hooks or ()):
        if type(hook) is GradientBox:
            boxes[hook] = g
            flight.hold(g)
            continue
        if hook.function is None:
            continue  # removed
        answer = answer_of(hook, _copied(g))
        if answer is None:
            continue
        flight.let_go(g)
        g = answer._array.astype(g.dtype)
        flight.hold(g)
    return g


def answer_of(hook: Hook, g: Tensor) -> Tensor | None:
    """What ``hook`` says to the gradient ``g``: another of its shape, or None.

    Raises:
        TypeError: when it says anything else.
    """
    answer = hook.function(g)  # type: ignore[misc]
    if answer is not None and (not isinstance(answer, Tensor) or answer._array.shape != g._array.shape):
        raise TypeError(
            f"a gradient hook returns None or a Tensor of shape {g.shape}, not "
            f"{answer.shape if isinstance(answer, Tensor) else type(answer).__name__}"
        )
    if answer is not None and gpu_of(answer._array) is not gpu_of(g._array):
        raise TypeError(f"a gradient hook returned a Tensor on {answer.place}; the gradient lies on {g.place}")
    return answer


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
            raise leaf_relaid_by_hook()
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
    if base is not None and not (type(array) is np.ndarray and is_whole(array) and getrefcount(base) == _UNSEEN[0]):
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
    many_outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    many_inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
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
        return [None if node not in arrived else _copied(arrived[node]) for node in wanted]

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
    from minitensor import higher_order  # made of operations, which are above this module

    roots: dict[Node, Tensor] = {}
    taken = set()
    for (node, start), g in zip(starts, given, strict=True):
        if g is None:
            tensor = Tensor._made(start)
        elif g._array.dtype != start.dtype:
            tensor = g.astype(start.dtype)  # type: ignore[attr-defined]
        else:
            tensor = g
            taken.add(g._storage)
        roots[node] = tensor if node not in roots else roots[node] + tensor  # type: ignore[operator]
    arrived = higher_order.propagate(roots, waits, retain_graph, frozenset(wanted))
    results: list[Tensor | None] = []
    for node in wanted:
        g = arrived.get(node)
        if g is not None and g._storage in taken:
            g = g.clone()  # type: ignore[attr-defined]
        if g is not None:
            taken.add(g._storage)
        results.append(g)
    return results


def _copied(g: np.ndarray) -> Tensor:
    return Tensor._made(g.copy())


Tensor.backward = backward  # type: ignore[attr-defined]
