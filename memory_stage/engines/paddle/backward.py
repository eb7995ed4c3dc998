"""Follows backward: where it starts, the nodes that it passes, what is left at the leaves, and whether it raises.

Paddle 3 lets each node be followed as it goes. Paddle 2.6 lets the tensors be followed that are there: of a node whose
tensor has gone, nothing is told. In both, the order of the nodes is worked out as Paddle does (``RunBackward`` of
``paddle/fluid/eager/backward.cc``: a queue, to which a node comes when all that it waits for has run, a leaf at its
front).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import numpy as np

from memory_stage.engines import events
from memory_stage.engines.paddle import saved_table, tensor_access
from memory_stage.engines.paddle.entries import LEAF, GradNode
from memory_stage.engines.paddle.shadow_state import Books
from memory_stage.engines.protocol import Role


class Backward:
    """One run of it."""

    def __init__(
        self, books: Books, version: str, name: str, roots: list[Any], gradients: list[Any], retains: bool
    ) -> None:
        self.books, self.retains = books, retains or name != "run_backward"
        self._single = saved_table.single_nodes(version)
        self.order: list[int] = []  # addresses of the nodes, in the order in which they will run
        self.entries: dict[int, GradNode] = {}
        self.consumers: Counter[int] = Counter()
        self._handles: list[Any] = []
        self._passed: list[int] = []
        self._waits: Counter[int] = Counter()  # of an entry, by its id: how many of its nodes have not run
        self._open: tuple[GradNode, np.ndarray] | None = None
        self._sent: list[tuple[GradNode, np.ndarray]] | None = None  # None: not seen
        self._leaves = {id(note.ref): note.ref for note in books.notes.values()}
        self._grads = {id(x): self._gradient_of(x) for x in self._living_leaves()}
        nodes = [x.grad_fn for x in roots if not x.stop_gradient and x.grad_fn is not None]
        self._walk(nodes)
        for x, node in zip(roots, nodes, strict=False):
            given = next((g for g in gradients if g is not None), None) if len(roots) == 1 else None
            gradient = np.ones([int(n) for n in x.shape], "float32") if given is None else tensor_access.copied(given)
            books.emit(events.BackwardStart(self.entries[node.node_ptr()], gradient))
        # ``paddle.grad`` runs copies of the nodes, and in Paddle 3.3 crashes where these have hooks.
        self._follows = name == "run_backward"
        if self._follows:
            self._follow(nodes)
        books.collecting = True

    # ---------- the graph ----------

    def _walk(self, roots: list[Any]) -> None:
        """The nodes below, and their order."""
        degree: Counter[int] = Counter()
        seen: dict[int, Any] = {}
        todo = list(roots)
        while todo:
            each = todo.pop()
            if each.node_ptr() in seen:
                continue
            seen[each.node_ptr()] = each
            self.entries[each.node_ptr()] = self.books.node(each)
            for other in each.next_functions:
                if other is not None:
                    degree[other.node_ptr()] += 1
                    todo.append(other)
        self.consumers = Counter(degree)
        queue = deque(roots)
        while queue:
            each = queue.popleft()
            if degree[each.node_ptr()] > 0 or each.node_ptr() in self.order:
                continue
            self.order.append(each.node_ptr())
            for other in each.next_functions:
                if other is None:
                    continue
                degree[other.node_ptr()] -= 1
                if degree[other.node_ptr()] == 0:
                    queue.appendleft(other) if other.name() == LEAF else queue.append(other)
        for address in self.order:
            self._waits[id(self.entries[address])] += 1

    def _follow(self, roots: list[Any]) -> None:
        todo, seen = list(roots), set()
        while todo:
            each = todo.pop()
            if each is None or each.node_ptr() in seen or each.name() == LEAF:
                continue
            seen.add(each.node_ptr())
            todo += each.next_functions
            if hasattr(each, "_register_post_hook") and each.name() in self._single:
                parents = [None if other is None else other.node_ptr() for other in each.next_functions]
                self._handles.append(each._register_post_hook(self._passer(each.node_ptr(), parents)))
        if roots and not hasattr(roots[0], "_register_post_hook"):
            self._follow_tensors(seen)

    def _passer(self, address: int, parents: list[int | None]) -> Callable[[Any, Any], Any]:
        def passed(sent: Any, arrived: Any) -> Any:
            try:
                self._ran(address, parents, sent, arrived)
            except Exception as failure:
                self.books.emit(events.Failure(failure))
            return sent

        return passed

    # ---------- Paddle 3: node by node ----------

    def _ran(self, address: int, parents: list[int | None], sent: Any, arrived: Any) -> None:
        """A node has run; what it saved is let go when this returns."""
        self._passed.append(address)
        node = self.entries[address]
        there = next((x for x in _flat(arrived) if x is not None and tensor_access.is_drawable(x)), None)
        if self._open is None or self._open[0] is not node:
            self._leave()
            gradient = np.zeros(()) if there is None else tensor_access.copied(there)
            self.books.emit(events.NodeEnter(node, gradient))
            self._open, self._sent = (node, gradient), []
        sent_on = self._sent if self._sent is not None else []
        for parent, x in zip(parents, _flat(sent), strict=False):
            if parent is None or x is None or not tensor_access.is_drawable(x):
                continue
            if self.entries[parent] is not node:
                sent_on.append((self.entries[parent], tensor_access.copied(x)))
        self._waits[id(node)] -= 1

    def _leave(self) -> None:
        """The node that was passed last is done."""
        if self._open is None:
            return
        (node, gradient), self._open = self._open, None
        self.books.emit(events.NodeVisit(node, gradient, self._sent))
        self._sent = None
        self._release(node)
        self.books.emit(events.NodeLeave(node))

    def _release(self, node: GradNode) -> None:
        if not self.retains:
            node.released = True
            node.saved.clear()

    # ---------- Paddle 2.6: by the tensors that are there ----------

    def _follow_tensors(self, addresses: set[int]) -> None:
        for note in list(self.books.notes.values()):
            x = note.ref()
            if x is None or x.stop_gradient or x.grad_fn is None or x.is_leaf:
                continue
            address = x.grad_fn.node_ptr()
            if address in addresses and not self.entries[address].own:  # those tell when they begin
                addresses.discard(address)
                number = x._register_grad_hook(Arriving(self, address))
                self._handles.append(_Hook(note.ref, number))

    def met(self, address: int, gradient: np.ndarray) -> None:
        """A gradient has arrived at a tensor."""
        node = self.entries[address]
        self._passed.append(address)
        if self._open is not None:
            # What arrives is all that was sent; it came from the node before where no other one could send.
            if any(parent is node for parent in self._open[0].parents) and self.consumers[address] == 1:
                self._sent = [(node, gradient)]
            self._leave()
        self.books.emit(events.NodeEnter(node, gradient))
        self._open, self._sent = (node, gradient), None

    # ---------- what the program itself does on the way ----------

    def settle(self) -> None:
        """A hook of the program is about to run: the node before is done."""
        self._leave()

    def waiting(self) -> list[GradNode]:
        """The nodes that have not run, in the order in which they will."""
        passed = set(self._passed)
        return [self.entries[address] for address in self.order if address not in passed]

    def own_begins(self, node: GradNode | None, arrived: list[Any]) -> GradNode | None:
        """The ``backward`` of a function of the program's own is about to run; None where that is not told."""
        if node is None or not self._follows:
            return None
        there = next((x for x in _flat(arrived) if x is not None and tensor_access.is_drawable(x)), None)
        gradient = np.zeros(()) if there is None else tensor_access.copied(there)
        if self._open is None or self._open[0] is not node:
            self._leave()
            self.books.emit(events.NodeEnter(node, gradient))
        self._passed.append(node.address)
        self._open, self._sent = (node, gradient), []
        return node

    def own_ran(self, node: GradNode, sent: Any) -> None:
        """It has."""
        flat = _flat([sent])
        parents = list(node.parents)
        if len(flat) != len(parents):  # those that want none may be left out
            parents = [each for each in parents if each is not None]
        self._sent = [
            (parent, tensor_access.copied(x))
            for parent, x in zip(parents, flat, strict=False)
            if parent is not None and x is not None and tensor_access.is_drawable(x)
        ]
        self._waits[id(node)] -= 1

    # ---------- the end ----------

    def done(self, error: BaseException | None) -> None:
        """Backward has come back, or raised."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        if error is None:
            self._leave()
            for address in self.order:
                self._release(self.entries[address])
        self.books.collecting = False
        self._tell_leaves()
        if error is not None and "modified by an inplace operation" in str(error):
            self._tell_stale(error)

    def _tell_stale(self, error: BaseException) -> None:
        """Which node has raised: the first, in their order, that has not run and has saved what a write took."""
        passed = set(self._passed)
        for address in self.order:
            node = self.entries[address]
            if address not in passed and any(
                kept.version != kept.memory.version and not kept.unchecked for kept in node.saved
            ):
                self._open = None
                self.books.emit(events.NodeEnter(node, np.zeros(())))
                break
        self.books.emit(events.StaleRead(error, "stale"))

    def _tell_leaves(self) -> None:
        for x in self._living_leaves():
            now = self._gradient_of(x)
            if now is None or now == self._grads.get(id(x)):
                continue
            stands, node = self.books.gradient(x), self.books.node_of(x)
            if stands is not None and node is not None:
                self.books.emit(events.LeafGradient(node, stands))

    def _living_leaves(self) -> list[Any]:
        found = []
        for note in list(self.books.notes.values()):
            x = note.ref()
            there = x is not None and not x.stop_gradient and x.grad_fn is not None
            if there and note.node is not None and note.node.role is Role.LEAF:
                found.append(x)
        return found

    @staticmethod
    def _gradient_of(x: Any) -> tuple[int, bytes] | None:
        gradient = x.grad
        if gradient is None or not tensor_access.is_drawable(gradient):
            return None
        return tensor_access.base_of(gradient), tensor_access.copied(gradient).tobytes()


def _flat(gradients: Any) -> list[Any]:
    """One for each edge: an operation on a list of tensors has them in a list of their own."""
    return [x for each in gradients for x in (each if isinstance(each, (list, tuple)) else [each])]


class Arriving:
    """A hook of this recorder's, in Paddle 2.6."""

    def __init__(self, run: Backward, address: int) -> None:
        self._run, self._address = run, address

    def __call__(self, gradient: Any) -> None:
        """A gradient is on its way."""
        try:
            there = tensor_access.is_drawable(gradient)  # some have no memory: nothing has arrived
            self._run.met(self._address, tensor_access.copied(gradient) if there else np.zeros(()))
        except Exception as failure:
            self._run.books.emit(events.Failure(failure))


class _Hook:
    """A hook on a tensor that may have gone."""

    def __init__(self, ref: Callable[[], Any], number: int) -> None:
        self._ref, self._number = ref, number

    def remove(self) -> None:
        x = self._ref()
        if x is not None:
            x._remove_grad_hook(self._number)
