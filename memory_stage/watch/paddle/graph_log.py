"""The nodes of Paddle's graph, each with its line and with the inputs and outputs of its call.

Python can read neither the tensors that a node of Paddle saved nor its sequence number, so the log identifies a node
by its address. When Paddle frees a node and uses its address for a new one, the new node replaces the old in the log.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from memory_stage.watch.node_log import BackwardPass

MOST_NODES = 100_000  # the most living nodes, and the most freed ones; at the limit, the oldest is forgotten


@dataclass(frozen=True, slots=True)
class TensorState:
    """The state of a tensor at the time of a call, without a reference to the tensor.

    Attributes:
        address: the address of the first byte of the tensor's storage.
        begin, end: the addresses of the tensor's first byte and of the byte after its last one.
        version: the version at that time.
        maker: the address of the node that created the tensor; 0 for a leaf and for a tensor that requires no gradient.
        requires_gradient: True if the tensor requires a gradient.
    """

    address: int
    begin: int
    end: int
    version: int
    maker: int
    requires_gradient: bool

    @property
    def nbytes(self) -> int:
        """The bytes from the tensor's first to its last element."""
        return self.end - self.begin


@dataclass(slots=True, eq=False)
class LoggedNode:
    """A node of the graph.

    Attributes:
        name: Paddle's name for the kind of node, such as ``ExpGradNode``.
        operation: the function of Paddle that created the node, such as ``exp``.
        kinds: the kinds of the function's arguments, with which the table of saved tensors is searched.
        line: the index of the line that called the function.
        time: the number of writes before the node was created.
        number: the number of the node in the order of creation.
        inputs, outputs: the states of the call's tensors, by their paths among arguments or results.
        made_version: the version of the result when the node was created.
        saved: the tensors that a ``PyLayer`` of the program saved. Paddle does not compare their versions.
        freed_by: the backward pass that has freed the saved tensors; None if none has.
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
    saved: tuple[TensorState, ...] = ()
    freed_by: BackwardPass | None = None


class GraphLog:
    """The nodes that are alive, as far as the log knows, and those that a backward pass has freed."""

    def __init__(self) -> None:
        self._alive: OrderedDict[int, LoggedNode] = OrderedDict()
        self._freed: OrderedDict[int, LoggedNode] = OrderedDict()
        self.count = 0

    def add(self, address: int, node: LoggedNode) -> None:
        """Record a new node."""
        self.count += 1
        self._freed.pop(address, None)
        self._alive.pop(address, None)
        self._alive[address] = node
        if len(self._alive) > MOST_NODES:
            self._alive.popitem(last=False)

    def free(self, address: int, passed: BackwardPass) -> None:
        """Record that a backward pass has freed the tensors that a node saved."""
        node = self._alive.pop(address, None)
        if node is not None:
            node.freed_by, self._freed[address] = passed, node
            if len(self._freed) > MOST_NODES:
                self._freed.popitem(last=False)

    def find(self, address: int) -> LoggedNode | None:
        """Return a node whose saved tensors have not been freed; None if there is none at the address."""
        return self._alive.get(address)

    def find_freed(self, address: int) -> LoggedNode | None:
        """Return a node whose saved tensors have been freed; None if it is not known."""
        return self._freed.get(address)

    def __len__(self) -> int:
        return len(self._alive)
