"""The backward pass: each node is given the gradient of its value and sends on those of its inputs.

:func:`propagate` is the order: a node's turn comes when all gradients of its value have come. What a gradient is, how
two of them are added and who has to be told is the business of a :class:`Way`. There are two: :class:`OnArrays` here,
and in :mod:`minitensor.autograd.higher_order` that of gradients which are recorded in their turn.

``x.backward()`` and ``grad`` (:mod:`minitensor.autograd.gradients`) begin it with ones; what arrived at a leaf is put
into ``Leaf.saved``, which ``.grad`` shows. The rules of a node are ``node.op.backward``, made of its row when it is
first called: ``print(minitensor.source("sin_backward"))``. Where they ask for something saved that a write has taken
since, they go to :func:`minitensor.saving.saved.recovered`, and that may raise.

There is no recursion, so the depth of a graph has no limit. Nothing is committed here: what arrived is handed over when
all of it has been computed. Gradients on their way are counted by the device's meter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy import add, ndarray

from minitensor.core.errors import leaf_reshaped_by_hook
from minitensor.core.history import GradientBox, Leaf, Node
from minitensor.core.regions import PartGradient
from minitensor.core.tensor import Hook, Tensor
from minitensor.device.arrays import as_array, gpu_of, host_array
from minitensor.device.counters import cpu_meter
from minitensor.device.reuse import is_whole
from minitensor.events import watch
from minitensor.operations.rules.on_arrays import summed_to
from minitensor.saving.saved import FREED

# ---------- order ----------

#: What a backward pass knows of a node: how many gradients it waits for, the sum of those that have come, the node.
#: None: no gradient is sent there (:mod:`minitensor.autograd.pruning`).
Awaiting = list[Any] | None


def waiting(roots: Iterable[Node], ends: frozenset[Node] = frozenset()) -> dict[Node, Awaiting]:
    """Every node that can be reached, and how many gradients it waits for; none has come yet. No way leads on from
    ``ends``.
    """
    waits: dict[Node, Any] = {root: [0, None, root] for root in roots}
    stack = [root for root in waits if root not in ends]
    while stack:
        for parent in stack.pop().inputs:
            if parent is None:
                continue
            if parent in waits:
                waits[parent][0] += 1
            else:
                waits[parent] = [1, None, parent]
                if parent not in ends:
                    stack.append(parent)
    return waits


class Way(Protocol):
    """How gradients are passed on and added up."""

    def start(self, node: Node, g: Any) -> Any:
        """The gradient ``g`` that a backward pass begins with at ``node``."""

    def hooked(self, node: Node, g: Any) -> Any:
        """The gradient of the value of ``node`` after its hooks have seen it."""

    def passed(self, node: Node, g: Any) -> Sequence[Any]:
        """What the rules of ``node`` make of ``g``: a gradient for each of its inputs, None where none is wanted."""

    def added(self, so_far: Any, more: Any, parent: Node, g: Any) -> Any:
        """``more``, in the shape of ``parent``, added to what has come there before, if anything has.

        ``g`` is what the rules were given: they may have passed it on as it is, to several inputs.
        """

    def keep(self, g: Any) -> None:
        """``g`` has arrived where it was wanted, and goes on from there, too."""

    def let_go(self, g: Any) -> None:
        """``g`` has been passed on."""

    def seen(self, node: Node, g: Any) -> Seen | None:
        """Who tells the listener of the turn of ``node``; None where nobody does."""


def propagate(
    roots: Mapping[Node, Any],
    waits: dict[Node, Awaiting],
    retain_graph: bool,
    way: Way,
    wanted: frozenset[Node] = frozenset(),
    ends: frozenset[Node] = frozenset(),
) -> dict[Node, Any]:
    """Send the gradients ``roots`` back through the graph; return those that arrive at leaves and ``wanted`` nodes.

    They go on from a wanted node, unless it is one of ``ends``, as ``waits`` was told, too.
    """
    with np.errstate(all="ignore"):  # inf and nan are values here
        return _propagated(roots, waits, retain_graph, way, wanted, ends)


def _propagated(
    roots: Mapping[Node, Any],
    waits: dict[Node, Awaiting],
    retain_graph: bool,
    way: Way,
    wanted: frozenset[Node],
    ends: frozenset[Node],
) -> dict[Node, Any]:
    arrived: dict[Node, Any] = {}
    passed_by, added, let_go = way.passed, way.added, way.let_go
    begun = [(awaiting, node) for node in roots if (awaiting := waits[node]) is not None]
    for awaiting, node in begun:
        awaiting[1] = way.start(node, roots[node])
    ready = [awaiting for awaiting, _ in begun if awaiting[0] == 0]
    while ready:
        _, g, node = ready.pop()
        del waits[node]
        if node.hooks is not None:
            g = way.hooked(node, g)
        seen = None if watch.listener is None else way.seen(node, g)
        if type(node) is Leaf:
            arrived[node] = g
            if seen is not None:
                seen.went()
                seen.left()
            continue
        if wanted and node in wanted:
            arrived[node] = g
            way.keep(g)
            if node in ends:
                continue
        passed = passed_by(node, g)
        if seen is not None:
            seen.sends(passed)
        kept = False  # whether an input has g itself: then g stays on its way, counted once
        position = -1  # counted by hand: enumerate and zip cost more than the rest of a small step
        for parent in node.inputs:
            position += 1
            if parent is None:
                continue
            try:
                awaiting = waits[parent]
            except KeyError:
                raise leaf_reshaped_by_hook() from None
            if awaiting is None:
                continue
            more = passed[position]
            if more is g and not kept and awaiting[1] is None and g.shape == parent.shape:
                awaiting[1] = g
                kept = True
            else:
                awaiting[1] = added(awaiting[1], more, parent, g)
            awaiting[0] = left = awaiting[0] - 1
            if left == 0:
                ready.append(awaiting)
        if seen is not None:
            seen.went()
        if not kept:
            let_go(g)
        if not retain_graph and node.op.saved_names:
            for saved in node.saved:
                if saved is not None:  # what nobody needed was left out, and is not missed in a second backward
                    saved, node.saved = None, FREED  # freed here, not with the next node
                    break
        if seen is not None:
            seen.left()
        # What is not counted any more is not held any longer, either.
        passed = more = g = awaiting = None  # type: ignore[assignment]  # only let go
    return arrived


def ready_for(parent: Node, g: Any) -> np.ndarray:
    """What a rule answered, as an array in the shape of the node it goes to."""
    found: np.ndarray = summed_to(g.whole() if type(g) is PartGradient else as_array(g), parent.shape)
    return found


# ---------- accumulate ----------


class OnArrays:
    """Gradients as arrays, each counted once per buffer while it is on its way. What is nobody else's is added to in
    place.

    Attributes:
        retained: what met tensors that retain their gradient.
    """

    __slots__ = ("retained", "_more", "_sizes")

    def __init__(self) -> None:
        self.retained: dict[GradientBox, np.ndarray] = {}
        self._sizes: dict[int, int] = {}
        self._more: dict[int, int] = {}  # holders beside the first, of the buffers that have any

    def __enter__(self) -> OnArrays:
        return self

    def __exit__(self, *_: object) -> None:
        for size in self._sizes.values():
            cpu_meter.allocated -= size
            if watch.listener is not None:
                watch.listener("flight", -size)
        self._sizes.clear()
        self._more.clear()

    def start(self, node: Node, g: np.ndarray) -> np.ndarray:
        """The gradient to begin with."""
        self.keep(g)
        if watch.listener is not None:
            watch.listener("start", node, g)
        return g

    def seen(self, node: Node, g: np.ndarray) -> Seen:
        """Tells the listener of the turn of ``node``."""
        return Seen(node, g)

    def hooked(self, node: Node, g: np.ndarray) -> np.ndarray:
        """Call the hooks on a copy of the gradient, and note who retains it."""
        for hook in list(node.hooks or ()):
            if type(hook) is GradientBox:
                self.retained[hook] = g
                self.keep(g)
                continue
            if hook.function is None:
                continue  # removed
            answer = answer_of(hook, copied(g))
            if watch.listener is not None:
                watch.listener("hooked", node, g, answer)
            if answer is None:
                continue
            self.let_go(g)
            g = answer._array.astype(g.dtype)
            self.keep(g)
        return g

    def passed(self, node: Node, g: np.ndarray) -> Sequence[Any]:
        """What the rules of ``node`` make of ``g``."""
        op = node.op
        rules = op.backward if op.owned is None or not self.alone(g) else op.owned
        gradients: Sequence[Any] = rules(node, g)
        return gradients

    def added(self, so_far: np.ndarray | None, more: Any, parent: Node, g: np.ndarray) -> np.ndarray:
        """The sum of what has come at ``parent``."""
        if so_far is None and type(more) is ndarray and more.shape == parent.shape:  # as most do
            key = id(more)
            if more.base is not None or key in self._sizes or watch.listener is not None:
                self.keep(more)
            else:  # as `keep` would: a call more for each step took 3 % of a backward pass
                self._sizes[key] = size = more.nbytes
                cpu_meter.allocated = now = cpu_meter.allocated + size
                if now > cpu_meter.peak:
                    cpu_meter.peak = now
            return more
        free = so_far is not None and so_far is not g and self.alone(so_far)
        if type(more) is not ndarray or more.shape != parent.shape:
            if so_far is not None and free and type(more) is PartGradient and more.add_to(so_far):
                return so_far
            more = ready_for(parent, more)
        ready: np.ndarray = more
        if so_far is None:
            self.keep(ready)
            return ready
        if free:
            add(so_far, more, so_far)
            return so_far
        total: np.ndarray = as_array(so_far + more)
        self.keep(total)
        self.let_go(so_far)
        return total

    def keep(self, array: np.ndarray) -> None:
        """One holder more of the buffer behind ``array``."""
        owner = array.base
        if owner is None:
            owner = array
        key = id(owner)
        if key in self._sizes:
            self._more[key] = self._more.get(key, 0) + 1
            return
        if type(owner) is ndarray:
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
        return type(array) is not ndarray or array.flags.writeable


def answer_of(hook: Hook, g: Tensor) -> Tensor | None:
    """What ``hook`` says to the gradient ``g``: another of its shape, or None.

    Raises:
        TypeError: if it says anything else.
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


# ---------- observe ----------


class Seen:
    """The turn of one node, told to the listener. It is shown copies, made on the host, where no GPU counts them."""

    __slots__ = ("_node", "_given", "_sent")

    def __init__(self, node: Node, g: np.ndarray) -> None:
        watch.listener("enter", node, g)  # type: ignore[misc]  # who makes this has seen that it is there
        self._node = node
        self._given = g if node.op.owned is None else host_array(g).copy()  # it may be written
        self._sent: list[tuple[Node, np.ndarray]] = []

    def sends(self, passed: Sequence[Any]) -> None:
        """The rules have answered, and nothing has been added up."""
        for parent, g in zip(self._node.inputs, passed, strict=True):
            if parent is not None:
                g = g.on_the_host() if type(g) is PartGradient else host_array(as_array(g)).copy()
                self._sent.append((parent, summed_to(g, parent.shape)))

    def went(self) -> None:
        """All has been added up."""
        if watch.listener is not None:
            watch.listener("visit", self._node, self._given, self._sent)

    def left(self) -> None:
        """What the node saved has been let go."""
        if watch.listener is not None:
            watch.listener("left", self._node)
