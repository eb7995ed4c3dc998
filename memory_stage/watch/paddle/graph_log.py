"""The nodes of Paddle's graph, each with its line and the tensors that it was given and made.

Paddle shows neither the tensors that a node saved nor a number for the node, so a node is known by its address. When
Paddle frees a node and uses its address again, the new node replaces the old one in the log.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

MOST_NODES = 100_000  # then the one that was made first is forgotten


@dataclass(frozen=True, slots=True)
class TensorState:
    """A tensor at the time of a call. It refers to no tensor.

    Attributes:
        address: of the first byte of its storage.
        begin, end: addresses of its first byte and of the byte after its last one.
        version: the version at that time.
        maker: the address of the node that made it; 0 for a leaf and for a tensor without a gradient.
        wants_gradient: True if it is part of the graph.
    """

    address: int
    begin: int
    end: int
    version: int
    maker: int
    wants_gradient: bool

    @property
    def nbytes(self) -> int:
        """The bytes from its first to its last element."""
        return self.end - self.begin


@dataclass(slots=True)
class LoggedNode:
    """A node of the graph.

    Attributes:
        name: Paddle's name of its kind, such as ``ExpGradNode``.
        operation: the function of Paddle that made it, such as ``exp``.
        kinds: the kinds of its arguments, for the table of saved tensors.
        line: the index of the line.
        time: the number of writes before it was made.
        number: its place in the order of all nodes.
        inputs, outputs: the tensors by their paths in the call.
        made_version: the version of the result when the node was made.
    """

    name: str
    operation: str
    kinds: str
    line: int
    time: int
    number: int
    inputs: dict[str, TensorState]
    outputs: dict[str, TensorState]
    made_version: int


class GraphLog:
    """The nodes that are alive as far as is known, and those that a backward pass has freed."""

    def __init__(self) -> None:
        self._alive: OrderedDict[int, LoggedNode] = OrderedDict()
        self._freed: OrderedDict[int, tuple[LoggedNode, int]] = OrderedDict()
        self.count = 0

    def add(self, address: int, node: LoggedNode) -> None:
        """Record a new node."""
        self.count += 1
        self._freed.pop(address, None)
        self._alive.pop(address, None)
        self._alive[address] = node
        if len(self._alive) > MOST_NODES:
            self._alive.popitem(last=False)

    def free(self, address: int, line: int) -> None:
        """Record that the backward pass of a line has freed what a node saved."""
        node = self._alive.pop(address, None)
        if node is not None:
            self._freed[address] = node, line
            if len(self._freed) > MOST_NODES:
                self._freed.popitem(last=False)

    def find(self, address: int) -> LoggedNode | None:
        """Return a node whose saved tensors are alive, or None."""
        return self._alive.get(address)

    def find_freed(self, address: int) -> tuple[LoggedNode, int] | None:
        """Return a node that was freed, and the index of the line of the backward pass that freed it; or None."""
        return self._freed.get(address)

    def __len__(self) -> int:
        return len(self._alive)
