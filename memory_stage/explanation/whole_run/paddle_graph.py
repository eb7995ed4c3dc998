"""The tensors that the nodes of Paddle's graph saved, from the log of its calls and the table of saved tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from memory_stage.engines.paddle import saved_table
from memory_stage.watch.paddle.graph_log import LoggedNode, TensorState
from memory_stage.watch.paddle.paddle_calls import nodes_behind
from memory_stage.watch.paddle.paddle_run import WatchedPaddleRun


@dataclass(frozen=True)
class SavedState:
    """A tensor that a node saved.

    Attributes:
        node: the node.
        role: ``in 0`` for the first argument of the call, ``out 0`` for its result, ``saved 0`` for the first tensor
            that a ``PyLayer`` of the program saved.
        state: the tensor at the time of the call.
    """

    node: LoggedNode
    role: str
    state: TensorState

    @property
    def is_compared(self) -> bool:
        """True if Paddle compares the version of the tensor during backward."""
        return not self.role.startswith("saved")


def logged_nodes(run: WatchedPaddleRun, roots: list[Any]) -> Iterator[LoggedNode]:
    """Yield the logged nodes behind tensors."""
    for each in nodes_behind(roots):
        node = run.calls.graph.find(each.node_ptr())
        if node is not None and node.name == each.name():
            yield node


def saved_states(run: WatchedPaddleRun, version: str, roots: list[Any]) -> Iterator[SavedState]:
    """Yield the tensors that the nodes behind ``roots`` saved, for operations in the table of saved tensors."""
    for node in logged_nodes(run, roots):
        for number, state in enumerate(node.saved):
            yield SavedState(node, f"saved {number}", state)
        for role in saved_table.saves(version, node.operation, node.name, node.kinds) or ():
            kind, _, path = role.partition(" ")
            if kind == "in" and path in node.inputs:
                yield SavedState(node, role, node.inputs[path])
            elif kind == "out" and path in node.outputs:
                yield SavedState(node, role, node.outputs[path])
