"""Which nodes a backward pass has to visit, where gradients are wanted of some tensors only."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from minitensor.autograd.backward_pass import Awaiting
from minitensor.core.history import Node
from minitensor.core.tensor import Hook


class JointHook(Hook):
    """One of several hooks, each at a value of its own, that are called in the same backward passes or in none.

    Attributes:
        nodes: links to the values of them all.
    """

    __slots__ = ("nodes",)

    def __init__(self, function: Any, nodes: list[weakref.ref[Node]]) -> None:
        super().__init__(function)
        self.nodes = nodes


def only_towards(
    wanted: frozenset[Node], waits: dict[Node, Awaiting], ends: frozenset[Node] = frozenset()
) -> frozenset[Node]:
    """Have ``waits`` send gradients only where they lead on to ``wanted`` nodes: no other is computed, none of their
    hooks is called, and what they saved is neither needed nor freed.

    Returns:
        ``ends``, and the wanted nodes from which nothing leads on to another.
    """
    left = {node: awaiting[0] for node, awaiting in waits.items() if awaiting is not None}
    in_turn = [node for node, count in left.items() if count == 0]
    for node in in_turn:  # it grows: each node after all that send to it
        for parent in () if node in ends else node.inputs:
            if parent is not None:
                left[parent] -= 1
                if left[parent] == 0:
                    in_turn.append(parent)
    leading, last = _leading(in_turn, wanted, ends)
    while not (joint := frozenset(_joint(leading)).intersection(left)) <= leading:
        wanted |= joint
        leading, last = _leading(in_turn, wanted, ends)
    for node in waits.keys() - leading:
        waits[node] = None
    return ends.union(last)


def _leading(in_turn: list[Node], wanted: frozenset[Node], ends: frozenset[Node]) -> tuple[set[Node], set[Node]]:
    """The nodes that lead on to ``wanted`` ones or are such, and those of them from which nothing leads on."""
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
    """Where the hooks are that go with those of ``nodes``."""
    for node in nodes:
        for hook in node.hooks or ():
            if type(hook) is JointHook and hook.function is not None:
                yield from (other for link in hook.nodes if (other := link()) is not None)
