"""The backward pass: each node is given the gradient of its value and sends on those of its inputs.

There is no recursion, so the depth of a graph has no limit. Nothing is committed here: what arrived is handed over when
all of it has been computed. Gradients on their way are counted by the device's meter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from minitensor.core.errors import leaf_reshaped_by_hook
from minitensor.core.history import GradientBox, Leaf, Node
from minitensor.core.regions import Part
from minitensor.core.tensor import Hook, Tensor
from minitensor.device.arrays import as_array, gpu_of, host_array
from minitensor.device.counters import cpu_meter
from minitensor.device.reuse import is_whole
from minitensor.events import watch
from minitensor.operations.rules.on_arrays import summed_to
from minitensor.saving.saved import FREED


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
        if owner is not None and not is_whole(array):
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


#: What a backward pass knows of a node: how many gradients it waits for, the sum of those that have come, the node.
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
                        raise leaf_reshaped_by_hook() from None
                    before = awaiting[1]
                    # Whether what came here before may be added to in place.
                    free = before is not None and before is not g and alone(before)
                    part = None
                    if type(pg) is not np.ndarray or pg.shape != parent.shape:
                        if type(pg) is Part and free and pg.add_to(before):
                            part = pg
                        else:
                            pg = ready_for(parent, pg)
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
                    watch.listener("visit", node, arrival, sent)  # type: ignore[misc]  # `sent` says that it is there
                if not kept:
                    let_go(g)
                if not retain_graph and op.saved_names and holds_something(node):
                    node.saved = FREED
                if sent is not None:
                    watch.listener("left", node)  # type: ignore[misc]  # `sent` says that it is there
                # What is not counted any more is not held any longer, either.
                passed = pg = part = before = total = g = arrival = None  # type: ignore[assignment]  # only let go
        return finish(arrived, boxes, flight)
    finally:
        flight.clear()


def holds_something(node: Node) -> bool:
    """Whether a node saved anything: what nobody needed was left out, and is not missed in a second backward."""
    for each in node.saved:  # noqa: SIM110  (any() with a generator takes four times as long)
        if each is not None:
            return True
    return False


def ready_for(parent: Node, g: Any) -> np.ndarray:
    """What a rule answered, as an array in the shape of the node it goes to."""
    return summed_to(g.whole() if type(g) is Part else as_array(g), parent.shape)


def _run_hooks(node: Node, g: np.ndarray, boxes: Arrived, flight: InFlight) -> np.ndarray:
    """Call the hooks on a copy of the gradient, and note who retains it."""
    for hook in list(node.hooks or ()):
        if type(hook) is GradientBox:
            boxes[hook] = g
            flight.hold(g)
            continue
        if hook.function is None:
            continue  # removed
        answer = answer_of(hook, copied(g))
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
    answer = hook.function(g)  # type: ignore[misc]  # not removed
    if answer is not None and (not isinstance(answer, Tensor) or answer._array.shape != g._array.shape):
        raise TypeError(
            f"a gradient hook returns None or a Tensor of shape {g.shape}, not "
            f"{answer.shape if isinstance(answer, Tensor) else type(answer).__name__}"
        )
    if answer is not None and gpu_of(answer._array) is not gpu_of(g._array):
        raise TypeError(f"a gradient hook returned a Tensor on {answer.place}; the gradient lies on {g.place}")
    return answer


def copied(g: np.ndarray) -> Tensor:
    """A tensor with memory of its own."""
    return Tensor._made(g.copy())
