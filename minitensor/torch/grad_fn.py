"""``grad_fn``: the function that made a value, as PyTorch shows it: ``<AddBackward0 object at 0x...>``."""

from __future__ import annotations

import functools
from typing import Any

from minitensor.core.history import Node
from minitensor.torch.grad_names import function_name


class Function:
    """A look at one node of the graph. Two looks at one node are equal."""

    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        self.node = node

    def name(self) -> str:
        """PyTorch's name of the function."""
        return function_name(self.node) if type(self).__name__ == "AccumulateGrad" else type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Function | None, int], ...]:
        """The functions that made its inputs, each with the number of the output; None for what wants no gradient."""
        return tuple((None if node is None else look(node), 0) for node in self.node.inputs)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self.node):#x}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Function) and self.node is other.node

    def __hash__(self) -> int:
        return hash(self.node)


@functools.cache
def _kind(name: str) -> type[Function]:
    return type(name, (Function,), {"__slots__": (), "__module__": "minitensor.torch"})


def look(node: Node, name: str | None = None) -> Function:
    """A look at ``node``, of a class that bears the function's name."""
    if name is None:
        name = "AccumulateGrad" if node.op.name == "leaf" else function_name(node)
    made: Any = _kind(name)(node)
    return made
