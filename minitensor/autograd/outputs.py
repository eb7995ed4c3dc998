"""The outputs of a user-defined operation in the history.

A node is one value. Where forward has several outputs that want gradients, the node of the call stands for all of them,
laid end to end, and each output reads its part of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.core.history import Node, Operation, new_node


class Output:
    """What backward must know of one output of forward.

    Attributes:
        shape, dtype: its own.
        part: where its gradient lies in the gradient of the node: None when it wants none, ALL when it is the only one.
    """

    __slots__ = ("shape", "dtype", "part")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, part: Any) -> None:
        self.shape, self.dtype, self.part = shape, dtype, part

    def node(self, call: Node) -> Node | None:
        """The node of this output's value."""
        if self.part is None or self.part is ALL:
            return None if self.part is None else call
        node = new_node(self.part.op, (call,), (self.part,), self.shape)
        node.code, node.instruction = call.code, call.instruction
        return node


ALL: Any = "all"


class OutputPart:
    """The elements of one output among those of all, laid end to end.

    Behind them lies one number per output that counts the gradients which have come for it: where it is 0, backward is
    given zeros or None.

    Attributes:
        begin, end: its elements.
        count: where its number lies.
        total: how many elements and numbers there are.
        dtype: of them all.
    """

    __slots__ = ("op", "begin", "end", "count", "total", "dtype")

    def __init__(self, op: Operation, begin: int, end: int, count: int, total: int, dtype: np.dtype) -> None:
        self.op, self.begin, self.end, self.count, self.total, self.dtype = op, begin, end, count, total, dtype


def output_operation(name: str) -> Operation:
    """What reads one output of a layer called ``name`` from them all."""
    return Operation(name, _output_backward, jvp=_output_jvp)


def _output_backward(node: Node, g: np.ndarray) -> tuple[np.ndarray]:
    (part,) = node.saved
    whole = np.zeros_like(g, part.dtype, shape=(part.total,))
    whole[part.begin : part.end] = g.reshape(-1)
    whole[part.count] = 1
    return (whole,)


def _output_jvp(node: Node, _: int, u: np.ndarray) -> np.ndarray:
    (part,) = node.saved
    return u[part.begin : part.end].reshape(node.shape)
