"""The outputs of a user-defined operation in the history.

A node has one value. If several outputs of forward require gradients, the value of the call's node is the
concatenation of these outputs, and each output has its own node, which reads a part of this value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.engine.core.history import Node, Operation, new_node


class Output:
    """One output of forward, as backward needs it.

    Attributes:
        shape, dtype: the shape and dtype of the output.
        part: the position of the output in the concatenation; ALL if no other output requires a gradient, None if this
            output requires none.
    """

    __slots__ = ("shape", "dtype", "part")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, part: Any) -> None:
        self.shape, self.dtype, self.part = shape, dtype, part

    def node(self, call: Node) -> Node | None:
        """Return the node of this output; None if it requires no gradient. ``call`` is the node of the layer's call."""
        if self.part is None or self.part is ALL:
            return None if self.part is None else call
        return new_node(self.part.op, (call,), (self.part,), self.shape, (call.code, call.instruction))


ALL: Any = "all"


class OutputPart:
    """Position of one output in the concatenation of all outputs that require gradients.

    The elements are followed by one further number for each output. The gradient of this number counts the gradients
    that have arrived for the output. If the count is 0, the layer's backward gets zeros or None for the output.

    Attributes:
        op: the operation that reads the output from the concatenation.
        begin, end: the range of the output's elements.
        count: the position of the number that belongs to the output.
        total: the length of the concatenation, including these numbers.
        dtype: the dtype of the concatenation.
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
