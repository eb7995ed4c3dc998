"""The backward pass: each node receives the gradient of its value and sends gradients to its inputs.

:func:`propagate` fixes the order: a node is processed once all gradients of its value have arrived. A
:class:`GradientPropagation` defines the type of a gradient, how gradients are added, and which events are emitted.
Two classes implement this protocol: ``OnArrays`` in this module, and ``OnTensors`` in ``higher_order.py``, which
records the computation of the gradients.

``x.backward()`` and ``grad`` (:mod:`minitensor.engine.autograd.gradients`) start the pass with a given gradient or with
ones. The rules of a node are ``node.op.backward``, compiled at the first call from the operation's row in the
derivative table: ``print(minitensor.source("sin_backward"))``. If a saved tensor was overwritten, the rules call
:func:`minitensor.engine.saved.saved.recovered`, which restores the tensor or raises an error.

There is no recursion, so the depth of a graph is not limited. This module changes no ``grad``: it returns the gradients
once all of them have been computed. The meter of host memory counts gradients while the pass needs them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy import add, ndarray

from minitensor.engine.core.errors import leaf_reshaped_by_hook
from minitensor.engine.core.history import GradientBox, Leaf, Node
from minitensor.engine.core.regions import PartGradient
from minitensor.engine.core.tensor import Hook, Tensor
from minitensor.engine.device.arrays import as_array, gpu_of, host_array
from minitensor.engine.device.counters import cpu_meter
from minitensor.engine.device.host_buffer_cache import is_whole
from minitensor.engine.events import BackwardStarted, FlightChanged, HookRan, NodeEntered, NodeLeft, NodeVisited, watch
from minitensor.engine.kernels.reducing import summed_to
from minitensor.engine.saved.saved import FREED

# ---------- order ----------

#: State of a node in a backward pass: the number of gradients that have not arrived yet, the sum of those that have
#: arrived, and the node; or None for a node that :mod:`minitensor.engine.autograd.pruning` excluded from the pass.
Pending = list[Any] | None


def pending_counts(roots: Iterable[Node], ends: frozenset[Node] = frozenset()) -> dict[Node, Pending]:
    """Return the initial state of every node that can be reached from ``roots`` without going beyond ``ends``."""
    pending: dict[Node, Any] = {root: [0, None, root] for root in roots}
    stack = [root for root in pending if root not in ends]
    while stack:
        for parent in stack.pop().inputs:
            if parent is None:
                continue
            if parent in pending:
                pending[parent][0] += 1
            else:
                pending[parent] = [1, None, parent]
                if parent not in ends:
                    stack.append(parent)
    return pending


class GradientPropagation(Protocol):
    """Protocol of objects that compute, add and release gradients."""

    def start(self, node: Node, g: Any) -> Any:
        """Return the gradient with which the pass begins at ``node``."""

    def run_hooks(self, node: Node, g: Any) -> Any:
        """Return the gradient of the value of ``node`` after its hooks have run."""

    def apply_rules(self, node: Node, g: Any) -> Sequence[Any]:
        """Apply the rules of ``node`` to ``g``: return a gradient per input, None for an input that needs none."""

    def add(self, so_far: Any, more: Any, parent: Node, g: Any) -> Any:
        """Return the sum of ``so_far`` (None: nothing has arrived yet) and ``more``, in the shape of ``parent``.

        ``g`` is the gradient to which the rules were applied. The rules may return it unchanged, even for several
        inputs.
        """

    def keep(self, g: Any) -> None:
        """Count another reference to ``g``, because the pass both returns it and passes it on to inputs."""

    def release(self, g: Any) -> None:
        """Drop a reference to ``g`` after the rules of its node have been applied to it."""

    def observe(self, node: Node, g: Any) -> NodeEvents | None:
        """Return the object that emits the events of ``node``; None if no events are emitted."""


def propagate(
    roots: Mapping[Node, Any],
    pending: dict[Node, Pending],
    retain_graph: bool,
    propagation: GradientPropagation,
    wanted: frozenset[Node] = frozenset(),
    ends: frozenset[Node] = frozenset(),
) -> dict[Node, Any]:
    """Send the gradients ``roots`` back through the graph; return the gradients of leaves and of ``wanted`` nodes.

    The pass continues beyond a wanted node, unless the node is one of ``ends``. All of ``ends`` must be wanted.
    """
    with np.errstate(all="ignore"):  # inf and nan are valid values
        return _propagate(roots, pending, retain_graph, propagation, wanted, ends)


def _propagate(
    roots: Mapping[Node, Any],
    pending: dict[Node, Pending],
    retain_graph: bool,
    propagation: GradientPropagation,
    wanted: frozenset[Node],
    ends: frozenset[Node],
) -> dict[Node, Any]:
    arrived: dict[Node, Any] = {}
    apply_rules, add_gradient, release = propagation.apply_rules, propagation.add, propagation.release
    starting = [(state, node) for node in roots if (state := pending[node]) is not None]
    for state, node in starting:
        state[1] = propagation.start(node, roots[node])
    ready = [state for state, _ in starting if state[0] == 0]
    while ready:
        _, g, node = ready.pop()
        del pending[node]
        if g is None:  # a leaf for which custom functions returned no gradient
            continue
        if node.hooks is not None:
            g = propagation.run_hooks(node, g)
        events = None if watch.listener is None else propagation.observe(node, g)
        if type(node) is Leaf:
            arrived[node] = g
            if events is not None:
                events.finished()
                events.released()
            continue
        if wanted and node in wanted:
            arrived[node] = g
            propagation.keep(g)
            if node in ends:
                continue
        gradients = apply_rules(node, g)
        if events is not None:
            events.sends(gradients)
        kept = False  # becomes True if an input receives g itself, whose bytes then remain counted
        position = -1  # counted by hand, because enumerate and zip cost more than the rest of a small step
        for parent in node.inputs:
            position += 1
            if parent is None:
                continue
            try:
                state = pending[parent]
            except KeyError:
                raise leaf_reshaped_by_hook() from None
            if state is None:
                continue
            more = gradients[position]
            if more is g and not kept and state[1] is None and g.shape == parent.shape:
                state[1] = g
                kept = True
            elif more is not None or type(parent) is not Leaf:
                state[1] = add_gradient(state[1], more, parent, g)
            state[0] = left = state[0] - 1
            if left == 0:
                ready.append(state)
        if events is not None:
            events.finished()
        if not kept:
            release(g)
        if not retain_graph and node.op.saved_names:
            for saved in node.saved:
                if saved is not None:  # it is None if no rule needs the tensor
                    saved, node.saved = None, FREED  # `saved` must not keep a tensor alive
                    break
        if events is not None:
            events.released()
        # The bytes of these gradients are no longer counted, so drop the references, too.
        gradients = more = g = state = None  # type: ignore[assignment]  # only dropped
    return arrived


def as_gradient_of(parent: Node, g: Any) -> np.ndarray:
    """Return the result of a rule as an array in the shape of ``parent``, the node that receives it."""
    found: np.ndarray = summed_to(g.whole() if type(g) is PartGradient else as_array(g), parent.shape)
    return found


# ---------- accumulate ----------


class OnArrays:
    """Gradients as arrays. Each buffer is counted once. Gradients are added in place to a buffer with one reference.

    Attributes:
        retained: the gradients of tensors for which ``retain_grads()`` was called.
    """

    __slots__ = ("retained", "_more", "_sizes")

    def __init__(self) -> None:
        self.retained: dict[GradientBox, np.ndarray] = {}
        self._sizes: dict[int, int] = {}  # the bytes of each counted buffer, by the id of the array that owns it
        self._more: dict[int, int] = {}  # the number of references beyond the first

    def __enter__(self) -> OnArrays:
        return self

    def __exit__(self, *_: object) -> None:
        for size in self._sizes.values():
            cpu_meter.allocated -= size
            if watch.listener is not None:
                watch.listener(FlightChanged(-size))
        self._sizes.clear()
        self._more.clear()

    def start(self, node: Node, g: np.ndarray) -> np.ndarray:
        """Count ``g``, the gradient with which the pass begins at ``node``, and return it."""
        self.keep(g)
        if watch.listener is not None:
            watch.listener(BackwardStarted(node, g))
        return g

    def observe(self, node: Node, g: np.ndarray) -> NodeEvents:
        """Return the object that emits the events of ``node``."""
        return NodeEvents(node, g)

    def run_hooks(self, node: Node, g: np.ndarray) -> np.ndarray:
        """Call hooks with copies of ``g``; retain ``g`` for each GradientBox (after all hooks if ``adds`` is true)."""
        for hook in sorted(node.hooks or (), key=lambda each: type(each) is GradientBox and each.adds):
            if type(hook) is GradientBox:
                self.retained[hook] = g
                self.keep(g)
                continue
            if hook.function is None:
                continue  # the hook was removed
            answer = call_hook(hook, copy_to_tensor(g))
            if watch.listener is not None:
                watch.listener(HookRan(node, g, answer))
            if answer is None:
                continue
            self.release(g)
            g = answer._array.astype(g.dtype)
            self.keep(g)
        return g

    def apply_rules(self, node: Node, g: np.ndarray) -> Sequence[Any]:
        """Apply the rules of ``node`` to ``g``, in place if ``g`` is exclusive."""
        op = node.op
        rules = op.backward if op.owned is None or not self.is_exclusive(g) else op.owned
        return rules(node, g)

    def add(self, so_far: np.ndarray | None, more: Any, parent: Node, g: np.ndarray) -> np.ndarray:
        """Return the sum of ``so_far`` and ``more``, which is written into ``so_far`` if possible."""
        if so_far is None and type(more) is ndarray and more.shape == parent.shape:  # the usual case
            key = id(more)
            if more.base is not None or key in self._sizes or watch.listener is not None:
                self.keep(more)
            else:  # this is `keep`, inlined, because the call would take 3 % of a backward pass
                self._sizes[key] = size = more.nbytes
                cpu_meter.allocated = now = cpu_meter.allocated + size
                if now > cpu_meter.peak:
                    cpu_meter.peak = now
            return more
        in_place = so_far is not None and so_far is not g and self.is_exclusive(so_far)
        if type(more) is not ndarray or more.shape != parent.shape:
            if so_far is not None and in_place and type(more) is PartGradient and more.add_to(so_far):
                return so_far
            more = as_gradient_of(parent, more)
        ready: np.ndarray = more
        if so_far is None:
            self.keep(ready)
            return ready
        if in_place:
            add(so_far, more, so_far)
            return so_far
        total: np.ndarray = as_array(so_far + more)
        self.keep(total)
        self.release(so_far)
        return total

    def keep(self, array: np.ndarray) -> None:
        """Add a reference to ``array``'s buffer. If it is the first one, count the buffer's bytes."""
        owner = array.base
        if owner is None:
            owner = array
        key = id(owner)
        if key in self._sizes:
            self._more[key] = self._more.get(key, 0) + 1
            return
        if type(owner) is ndarray:
            size = owner.nbytes
        else:  # the GPU's allocator counts GPU memory
            size = 0 if gpu_of(array) is not None else getattr(owner, "nbytes", array.nbytes)
        self._sizes[key] = size
        cpu_meter.allocated = now = cpu_meter.allocated + size
        if now > cpu_meter.peak:
            cpu_meter.peak = now
        if watch.listener is not None:
            watch.listener(FlightChanged(size))

    def release(self, array: np.ndarray) -> None:
        """Drop a reference to ``array``'s buffer. If it was the last one, subtract the buffer's bytes."""
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
            watch.listener(FlightChanged(-size))

    def is_exclusive(self, array: np.ndarray) -> bool:
        """True if ``array`` is a whole buffer with one reference, so that the pass may add to it in place."""
        owner = array.base
        if owner is not None and not is_whole(array):
            return False
        key = id(array if owner is None else owner)
        if key in self._more or key not in self._sizes:
            return False
        return type(array) is not ndarray or array.flags.writeable


def call_hook(hook: Hook, g: Tensor) -> Tensor | None:
    """Return the result of ``hook(g)``: None, or a tensor with the shape and device of ``g``; else raise TypeError."""
    answer = hook.function(g)  # type: ignore[misc]  # the hook has not been removed
    if answer is not None and (not isinstance(answer, Tensor) or answer._array.shape != g._array.shape):
        raise TypeError(
            f"a gradient hook must return None or a Tensor of shape {g.shape}, not "
            f"{answer.shape if isinstance(answer, Tensor) else type(answer).__name__}"
        )
    if answer is not None and gpu_of(answer._array) is not gpu_of(g._array):
        raise TypeError(
            f"a gradient hook must return a Tensor on {g.place}, the device of the gradient, not on {answer.place}"
        )
    return answer


def copy_to_tensor(g: np.ndarray) -> Tensor:
    """Return a tensor with a copy of ``g``."""
    return Tensor._made(g.copy())


# ---------- observe ----------


class NodeEvents:
    """Emitter of the events of one node. It copies gradients to the host before anything may overwrite them."""

    __slots__ = ("_node", "_given", "_sent")

    def __init__(self, node: Node, g: np.ndarray) -> None:
        watch.listener(NodeEntered(node, g))  # type: ignore[misc]  # this class is only used while there is a listener
        self._node = node
        self._given = g if node.op.owned is None else host_array(g).copy()  # the rules may overwrite `g`
        self._sent: list[tuple[Node, np.ndarray]] = []

    def sends(self, passed: Sequence[Any]) -> None:
        """Copy ``passed``, the gradients that the rules returned, before the pass adds them to others."""
        for parent, g in zip(self._node.inputs, passed, strict=True):
            if parent is not None and g is not None:
                g = g.on_the_host() if type(g) is PartGradient else host_array(as_array(g)).copy()
                self._sent.append((parent, summed_to(g, parent.shape)))

    def finished(self) -> None:
        """Emit `NodeVisited`, after the gradients that the node sent have been added."""
        if watch.listener is not None:
            watch.listener(NodeVisited(self._node, self._given, self._sent))

    def released(self) -> None:
        """Emit `NodeLeft`, after the tensors that the node saved have been freed."""
        if watch.listener is not None:
            watch.listener(NodeLeft(self._node))
