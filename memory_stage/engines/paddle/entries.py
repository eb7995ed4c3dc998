"""What is known of a storage, a node, a tensor and a gradient. Each refers to the others as Paddle's own objects do."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import numpy as np

from memory_stage.engines.paddle import tensor_access
from memory_stage.engines.protocol import Layout, Role

#: What an accumulation node is called by Paddle: that of a leaf.
LEAF = "GradNodeAccumulation"


class Memory:
    """A storage: the bytes from an address on.

    Attributes:
        kept: its cells, copied here, where Paddle keeps it out of sight; None where they lie at ``address``.
        under: where it is another counter of versions over the memory of a storage, as of a tensor that came by DLPack:
            that storage.
        unseen: how many writes it has had that raised no version.
    """

    __slots__ = ("__weakref__", "address", "dtype", "end", "itemsize", "kept", "nbytes", "under", "unseen", "version")

    def __init__(self, address: int, nbytes: int, itemsize: int, dtype: str, version: int) -> None:
        self.address, self.nbytes, self.itemsize, self.dtype, self.version = address, nbytes, itemsize, dtype, version
        self.kept: np.ndarray | None = None
        self.under: Memory | None = None
        self.unseen = 0
        self.end: Callable[[Memory], None] | None = None  # told of its end

    def __del__(self) -> None:
        if self.end is not None:
            self.end(self)

    @property
    def length(self) -> int:
        """In cells."""
        return self.nbytes // self.itemsize

    def cells(self) -> np.ndarray:
        """Its cells, where they lie."""
        return tensor_access.cells_at(self.address, self.length, self.dtype) if self.kept is None else self.kept


@dataclass(eq=False)
class Kept:
    """A saved tensor, as far as it is known."""

    what: str
    memory: Memory
    layout: Layout
    version: int
    lost: bool = False  # whether a write that Paddle counts has met its cells
    unchecked: bool = False  # whether Paddle compares no version when it reads it
    inferred: bool = True  # whether it is known from the table, and was not seen
    of: Any = None  # the weak reference of the tensor that it is


@dataclass(eq=False)
class GradNode:
    """A node of the graph, or all that one call made."""

    address: int
    name: str
    role: Role
    parents: Sequence[GradNode | None]
    code: CodeType
    line: int
    saved: list[Kept] = field(default_factory=list)
    released: bool = False
    unknown: bool = False  # whether the table does not say what it saved
    own: bool = False  # whether it is a function of the program's own


class Note:
    """What is known of a tensor of the program."""

    __slots__ = ("gradient", "memory", "node", "ref")

    def __init__(self, ref: weakref.ref[Any], memory: Memory) -> None:
        self.ref, self.memory = ref, memory
        self.node: GradNode | None = None
        self.gradient: Gradient | None = None


class Gradient:
    """Stands for ``x.grad``, which Paddle gives as another object each time that it is asked for."""

    def __init__(self, owner: weakref.ref[Any], memory: Memory, look: Any) -> None:
        self.owner, self.memory, self.look = owner, memory, look

    def real(self) -> Any:
        """The gradient itself; None where the leaf has gone, or has another now."""
        x = self.owner()
        gradient = None if x is None else x.grad
        if gradient is None or not tensor_access.is_drawable(gradient):
            return None
        return gradient if tensor_access.base_of(gradient) == self.memory.address else None
