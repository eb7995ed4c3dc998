"""Select the nodes that a backward pass has to visit if only the gradients of some tensors are wanted."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from minitensor.engine.autograd.backward_pass import Pending
from minitensor.engine.core.history import Node
from minitensor.engine.core.tensor import Hook


class JointHook(Hook):
    """A hook on one of several values that belong together, such as the inputs of a module.

    Each of these values has such a hook. A backward pass that visits one of the values visits all of them, so that all
    of the hooks are called.

    Attributes:
        nodes: weak references to the nodes of all these values.
    """

    __slots__ = ("nodes",)

    def __init__(self, function: Any, nodes: list[weakref.ref[Node]]) -> None:
        super().__init__(function)
        self.nodes = nodes


def restrict_to(
    wanted: frozenset[Node], pending: dict[Node, Pending], ends: frozenset[Node] = frozenset()
) -> frozenset[Node]:
    """Restrict a pass to the nodes that lead to ``wanted`` nodes: set the state of all others in ``pending`` to None.

    The pass computes no gradients for excluded nodes, calls none of their hooks, and neither reads nor frees the
    tensors that they saved.

    Returns:
        ``ends`` together with the wanted nodes from which no path leads to another wanted node.
    """
    missing = {node: state[0] for node, state in pending.items() if state is not None}
    in_turn = [node for node, count in missing.items() if count == 0]
    for node in in_turn:  # the loop appends to the list, so that each node follows all nodes that send it gradients
        for parent in () if node in ends else node.inputs:
            if parent is not None:
                missing[parent] -= 1
                if missing[parent] == 0:
                    in_turn.append(parent)
    leading, last = _leading(in_turn, wanted, ends)
    while not (joint := frozenset(_joint(leading)).intersection(missing)) <= leading:
        wanted |= joint
        leading, last = _leading(in_turn, wanted, ends)
    for node in pending.keys() - leading:
        pending[node] = None
    return ends.union(last)


def _leading(in_turn: list[Node], wanted: frozenset[Node], ends: frozenset[Node]) -> tuple[set[Node], set[Node]]:
    """Return all nodes on paths to ``wanted`` nodes, and the wanted nodes that lead to no other wanted node."""
    leading: set[Node] = set()
    last: set[Node] = set()
    for node in reversed(in_turn):
        if node not in ends and any(parent in leading for parent in node.inputs):
            leading.add(node)
        elif node in wanted:
            leading.add(node)
            last.add(node)
    return leading, last


def _joint(nodes: set[Node]) -> Iterator[Node]:
    """Yield all nodes of every joint hook that is registered at one of ``nodes``."""
    for node in nodes:
        for hook in node.hooks or ():
            if type(hook) is JointHook and hook.function is not None:
                yield from (other for link in hook.nodes if (other := link()) is not None)
