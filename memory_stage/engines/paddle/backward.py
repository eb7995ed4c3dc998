"""Observe backward: its start, the nodes that it visits, the gradients of leaves, and its errors.

In Paddle 3 the engine observes the nodes in :func:`.saved_table.single_nodes` as they run. In Paddle 2.6 it can only
observe living tensors, so it emits no event for a node whose tensor has been freed. In both versions it computes the
order of the nodes by Paddle's rule (``RunBackward`` in ``paddle/fluid/eager/backward.cc``): a node is appended to a
queue when all nodes that send gradients to it have run, and the node of a leaf is put at the front.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import numpy as np

from memory_stage.engines import events
from memory_stage.engines.framework import Guard
from memory_stage.engines.paddle import saved_table, tensor_access
from memory_stage.engines.paddle.entries import LEAF, GradNode
from memory_stage.engines.paddle.shadow_state import ShadowState
from memory_stage.engines.protocol import Role


class PaddleBackward:
    """One run of backward.

    Args:
        name: the function that was called: ``run_backward``, or ``run_partial_grad`` for ``paddle.grad``.
        gradients: the gradients that the program passed for the roots.
        retains: True if the graph is retained.
        guard: ends the recording if a hook of the recorder raises an error.
    """

    def __init__(
        self,
        state: ShadowState,
        version: str,
        name: str,
        roots: list[Any],
        gradients: list[Any],
        retains: bool,
        guard: Guard,
    ) -> None:
        self._state, self._guard = state, guard
        self._retains = retains or name != "run_backward"
        self._single = saved_table.single_nodes(version)
        self._order: list[int] = []  # addresses of the nodes, in the order in which they will run
        self._entries: dict[int, GradNode] = {}
        self._consumers: Counter[int] = Counter()
        self._handles: list[Any] = []
        self._passed: list[int] = []
        self._open: tuple[GradNode, np.ndarray] | None = None
        self._sent: list[tuple[GradNode, np.ndarray]] | None = None  # None if the sent gradients cannot be observed
        self._gradients = {id(x): self._gradient_of(x) for x in self._living_leaves()}
        nodes = [x.grad_fn for x in roots if not x.stop_gradient and x.grad_fn is not None]
        self._find_order(nodes)
        for x, node in zip(roots, nodes, strict=False):
            given = next((g for g in gradients if g is not None), None) if len(roots) == 1 else None
            gradient = np.ones([int(n) for n in x.shape], "float32") if given is None else tensor_access.copied(given)
            state.emit(events.BackwardStart(self._entries[node.node_ptr()], gradient))
        # ``paddle.grad`` runs copies of the nodes, and Paddle 3.3 crashes if these have hooks.
        self._observes_nodes = name == "run_backward"
        if self._observes_nodes:
            self._add_hooks(nodes)
        state.in_backward = True

    # ---------- graph ----------

    def _find_order(self, roots: list[Any]) -> None:
        """Find the nodes below the roots, and the order in which they will run."""
        degree: Counter[int] = Counter()
        seen: dict[int, Any] = {}
        todo = list(roots)
        while todo:
            each = todo.pop()
            if each.node_ptr() in seen:
                continue
            seen[each.node_ptr()] = each
            self._entries[each.node_ptr()] = self._state.node(each)
            for other in each.next_functions:
                if other is not None:
                    degree[other.node_ptr()] += 1
                    todo.append(other)
        self._consumers = Counter(degree)
        queue = deque(roots)
        while queue:
            each = queue.popleft()
            if degree[each.node_ptr()] > 0 or each.node_ptr() in self._order:
                continue
            self._order.append(each.node_ptr())
            for other in each.next_functions:
                if other is None:
                    continue
                degree[other.node_ptr()] -= 1
                if degree[other.node_ptr()] == 0:
                    queue.appendleft(other) if other.name() == LEAF else queue.append(other)

    def _add_hooks(self, roots: list[Any]) -> None:
        todo, seen = list(roots), set()
        while todo:
            each = todo.pop()
            if each is None or each.node_ptr() in seen or each.name() == LEAF:
                continue
            seen.add(each.node_ptr())
            todo += each.next_functions
            if hasattr(each, "_register_post_hook") and each.name() in self._single:
                parents = [None if other is None else other.node_ptr() for other in each.next_functions]
                self._handles.append(each._register_post_hook(self._post_hook(each.node_ptr(), parents)))
        if roots and not hasattr(roots[0], "_register_post_hook"):
            self._add_tensor_hooks(seen)

    # ---------- Paddle 3: nodes ----------

    def _post_hook(self, address: int, parents: list[int | None]) -> Callable[[Any, Any], Any]:
        def post_hook(sent: Any, arrived: Any) -> Any:
            with self._guard:
                self._after_node(address, parents, sent, arrived)
            return sent

        return post_hook

    def _after_node(self, address: int, parents: list[int | None], sent: Any, arrived: Any) -> None:
        """Emit the events of a node that has run. Paddle frees the node's saved tensors afterwards."""
        self._passed.append(address)
        node = self._entries[address]
        if self._open is None or self._open[0] is not node:
            self._enter(node, _first_gradient(arrived))
        sent_on = self._sent if self._sent is not None else []
        for parent, x in zip(parents, _flat(sent), strict=False):
            if parent is None or x is None or not tensor_access.is_drawable(x):
                continue
            if self._entries[parent] is not node:
                sent_on.append((self._entries[parent], tensor_access.copied(x)))

    def _enter(self, node: GradNode, gradient: np.ndarray) -> None:
        self._leave()
        self._state.emit(events.NodeEnter(node, gradient))
        self._open, self._sent = (node, gradient), []

    def _leave(self) -> None:
        """Emit that backward has finished the node that ran last."""
        if self._open is None:
            return
        (node, gradient), self._open = self._open, None
        self._state.emit(events.NodeVisit(node, gradient, self._sent))
        self._sent = None
        self._release(node)
        self._state.emit(events.NodeLeave(node))

    def _release(self, node: GradNode) -> None:
        if not self._retains:
            node.is_released = True
            node.saved.clear()

    # ---------- Paddle 2.6: living tensors ----------

    def _add_tensor_hooks(self, addresses: set[int]) -> None:
        for record in list(self._state.records.values()):
            x = record.ref()
            if x is None or x.stop_gradient or x.grad_fn is None or x.is_leaf:
                continue
            address = x.grad_fn.node_ptr()
            # the backward of a custom node is observed directly
            if address in addresses and not self._entries[address].is_custom:
                addresses.discard(address)
                number = x._register_grad_hook(ArrivalHook(self, address, self._guard))
                self._handles.append(_TensorHookHandle(record.ref, number))

    def on_gradient(self, address: int, gradient: np.ndarray) -> None:
        """Emit the events of a gradient that has arrived at a tensor. The tensor's node runs next."""
        node = self._entries[address]
        self._passed.append(address)
        from_open = self._open is not None and any(parent is node for parent in self._open[0].parents)
        if from_open and self._consumers[address] == 1:  # no other node can have sent this gradient
            self._sent = [(node, gradient)]
        self._enter(node, gradient)
        self._sent = None

    # ---------- hooks and functions of the program ----------

    def settle(self) -> None:
        """Emit the end of the node that ran last, because a hook of the program is about to run."""
        self._leave()

    def pending(self) -> list[GradNode]:
        """Return the nodes that have not run yet, in the order in which backward() runs them."""
        passed = set(self._passed)
        return [self._entries[address] for address in self._order if address not in passed]

    def enter_custom(self, node: GradNode | None, arrived: list[Any]) -> GradNode | None:
        """Emit that the ``backward`` of a ``PyLayer`` is about to run. Return the node; None if it is not observed."""
        if node is None or not self._observes_nodes:
            return None
        gradient = _first_gradient(arrived)
        if self._open is None or self._open[0] is not node:
            self._enter(node, gradient)
        self._passed.append(node.address)
        self._open, self._sent = (node, gradient), []
        return node

    def leave_custom(self, node: GradNode, sent: Any) -> None:
        """Store the gradients that the ``backward`` of a ``PyLayer`` has returned."""
        flat = _flat([sent])
        parents = list(node.parents)
        if len(flat) != len(parents):  # ``backward`` may return no gradient for a parent that requires none
            parents = [each for each in parents if each is not None]
        self._sent = [
            (parent, tensor_access.copied(x))
            for parent, x in zip(parents, flat, strict=False)
            if parent is not None and x is not None and tensor_access.is_drawable(x)
        ]

    # ---------- end ----------

    def finish(self, error: BaseException | None) -> None:
        """Emit the last events of a backward that has returned or, if ``error`` is not None, has raised it."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        if error is None:
            self._leave()
            for address in self._order:
                self._release(self._entries[address])
        self._state.in_backward = False
        self._emit_leaves()
        if error is not None and "modified by an inplace operation" in str(error):
            self._emit_stale(error)

    def _emit_stale(self, error: BaseException) -> None:
        """Emit the error at the node that raised it.

        This is the first pending node that saved a tensor whose version has changed.
        """
        passed = set(self._passed)
        for address in self._order:
            node = self._entries[address]
            if address not in passed and any(
                save.version != save.storage.version and not save.is_unchecked for save in node.saved
            ):
                self._open = None
                self._state.emit(events.NodeEnter(node, np.zeros(())))
                break
        self._state.emit(events.StaleRead(error, "stale"))

    def _emit_leaves(self) -> None:
        for x in self._living_leaves():
            now = self._gradient_of(x)
            if now is None or now == self._gradients.get(id(x)):
                continue
            gradient, node = self._state.gradient(x), self._state.node_of(x)
            if gradient is not None and node is not None:
                self._state.emit(events.LeafGradient(node, gradient))

    def _living_leaves(self) -> list[Any]:
        found = []
        for record in list(self._state.records.values()):
            x = record.ref()
            has_node = x is not None and not x.stop_gradient and x.grad_fn is not None
            if has_node and record.node is not None and record.node.role is Role.LEAF:
                found.append(x)
        return found

    @staticmethod
    def _gradient_of(x: Any) -> tuple[int, bytes] | None:
        gradient = x.grad
        if gradient is None or not tensor_access.is_drawable(gradient):
            return None
        return tensor_access.base_of(gradient), tensor_access.copied(gradient).tobytes()


def _first_gradient(arrived: Any) -> np.ndarray:
    x = next((x for x in _flat(arrived) if x is not None and tensor_access.is_drawable(x)), None)
    return np.zeros(()) if x is None else tensor_access.copied(x)


def _flat(gradients: Any) -> list[Any]:
    """Return a list with one gradient for each edge. The gradients of a list of tensors are a nested list."""
    return [x for each in gradients for x in (each if isinstance(each, (list, tuple)) else [each])]


class ArrivalHook:
    """A hook of the recorder on a tensor, used in Paddle 2.6."""

    def __init__(self, run: PaddleBackward, address: int, guard: Guard) -> None:
        self._run, self._address, self._guard = run, address, guard

    def __call__(self, gradient: Any) -> None:
        """Report the gradient that arrives at the tensor."""
        with self._guard:
            # Paddle passes a gradient of zeros as a tensor without memory
            has_memory = tensor_access.is_drawable(gradient)
            self._run.on_gradient(self._address, tensor_access.copied(gradient) if has_memory else np.zeros(()))


class _TensorHookHandle:
    """Removes a hook of a tensor, unless the tensor has been freed."""

    def __init__(self, ref: Callable[[], Any], number: int) -> None:
        self._ref, self._number = ref, number

    def remove(self) -> None:
        x = self._ref()
        if x is not None:
            x._remove_grad_hook(self._number)
