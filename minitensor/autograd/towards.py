"""Which nodes a backward pass has to visit, where gradients are wanted of some tensors only."""

from __future__ import annotations

from minitensor.autograd.backward_pass import Awaiting
from minitensor.core.history import Node


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
    leading: set[Node] = set()
    last: set[Node] = set()
    for node in reversed(in_turn):
        if node not in ends and any(parent in leading for parent in node.inputs):
            leading.add(node)
        elif node in wanted:
            leading.add(node)
            last.add(node)
        else:
            waits[node] = None
    return ends.union(last)
