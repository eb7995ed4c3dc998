"""The outputs of a user-defined operation in the history.

A node has one value. If forward has several outputs that want gradients, the node of the call represents all of them,
concatenated, and each output reads its part.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.engine.core.history import Node, Operation, new_node


class Output:
    """Description of one output of forward for backward.

    Attributes:
        shape, dtype: those of the output.
        part: its part of the node's gradient: None if it wants no gradient, ALL if it is the only output that does.
    """

    __slots__ = ("shape", "dtype", "part")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, part: Any) -> None:
        self.shape, self.dtype, self.part = shape, dtype, part

    def node(self, call: Node) -> Node | None:
        """Return the node of this output's value."""
        if self.part is None or self.part is ALL:
            return None if self.part is None else call
        node = new_node(self.part.op, (call,), (self.part,), self.shape)
        node.code, node.instruction = call.code, call.instruction
        return node


ALL: Any = "all"


class OutputPart:
    """Position of one output in the concatenation of all.

    After the elements follows one number per output, which counts the gradients that it received: if it is 0, backward
    gets zeros or None.

    Attributes:
        begin, end: the range of its elements.
        count: the position of its number.
        total: the number of elements and counts.
        dtype: of the concatenation.
    """

    __slots__ = ("op", "begin", "end", "count", "total", "dtype")

    def __init__(self, op: Operation, begin: int, end: int, count: int, total: int, dtype: np.dtype) -> None:
        self.op, self.begin, self.end, self.count, self.total, self.dtype = op, begin, end, count, total, dtype


def output_operation(name: str) -> Operation:
    """Return the operation that reads one output of the layer ``name`` from the concatenation."""
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
