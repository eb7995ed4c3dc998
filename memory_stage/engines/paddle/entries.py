"""Entries for a storage, node, tensor and gradient of Paddle, which refer to each other as Paddle's objects do."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import numpy as np

from memory_stage.engines.paddle import tensor_access
from memory_stage.engines.protocol import CellLayout, Role
from memory_stage.messages import Text

#: Paddle's name for the node that accumulates the gradient of a leaf.
LEAF = "GradNodeAccumulation"


class PaddleStorage:
    """A storage of Paddle: a range of bytes at an address.

    Attributes:
        copied: a copy of the cells, if only a node refers to the memory; None if the cells can be read at ``address``.
        counts_over: if the entry is only a separate version counter, as for a tensor from DLPack, the storage whose
            memory the entry shares; otherwise None.
        on_freed: the function to call when the entry is freed.
        is_borrowed: True if another library has allocated the memory, so that Paddle's meter does not count it.
        is_shared: True if DLPack has passed the address of the memory to or from another library, such as numpy.
    """

    __slots__ = (
        "__weakref__", "address", "copied", "counts_over", "dtype", "is_borrowed", "is_shared", "itemsize", "nbytes",
        "on_freed", "version",
    )  # fmt: skip

    def __init__(self, address: int, nbytes: int, itemsize: int, dtype: str, version: int) -> None:
        self.address, self.nbytes, self.itemsize, self.dtype, self.version = address, nbytes, itemsize, dtype, version
        self.is_borrowed = self.is_shared = False
        self.copied: np.ndarray | None = None
        self.counts_over: PaddleStorage | None = None
        self.on_freed: Callable[[PaddleStorage], None] | None = None

    def __del__(self) -> None:
        if self.on_freed is not None:
            self.on_freed(self)

    @property
    def counted(self) -> int:
        """The bytes that Paddle's meter counts."""
        return 0 if self.is_borrowed else self.nbytes

    @property
    def length(self) -> int:
        """The number of cells."""
        return self.nbytes // self.itemsize

    def cells(self) -> np.ndarray:
        """Return the cells as an array, without copying them."""
        if self.copied is not None:
            return self.copied
        return tensor_access.cells_at(self.address, self.length, self.dtype)


@dataclass(eq=False)
class SaveRecord:
    """A tensor that a node saved.

    Attributes:
        what: the name of the tensor in the backward rule.
        version: the version of ``storage`` when the tensor was saved.
        is_lost: True if a versioned write has overwritten at least one of the tensor's cells.
        intact_version: the newest version of ``storage`` at which the tensor's cells are known to be unchanged. Other
            threads increment versions without an event.
        is_unchecked: True if backward() reads the tensor without comparing versions.
        is_inferred: True if the table says that the node saves it; False if the engine observed the save.
        tensor: a weak reference to the saved tensor.
    """

    what: Text
    storage: PaddleStorage
    layout: CellLayout
    version: int
    is_lost: bool = False
    is_unchecked: bool = False
    is_inferred: bool = True
    tensor: Any = None
    intact_version: int = field(init=False)

    def __post_init__(self) -> None:
        self.intact_version = self.version

    def on_write(self, before: int, now: int, is_overwritten: bool) -> None:
        """Record a write to the storage that raised the version from ``before`` to ``now``."""
        self.is_lost = self.is_lost or is_overwritten
        if not is_overwritten and self.intact_version >= before:
            self.intact_version = now

    @property
    def is_intact(self) -> bool:
        """True if the cells are known to be unchanged."""
        return not self.is_lost and self.intact_version == self.storage.version


@dataclass(eq=False)
class GradNode:
    """A node of the graph. It may represent all nodes that one call created.

    Attributes:
        is_unknown: True if its saved tensors are unknown: its operation is not in the table, or was not observed.
        is_custom: True for the node of a ``PyLayer`` that the program defines.
    """

    address: int
    name: str
    role: Role
    parents: Sequence[GradNode | None]
    code: CodeType
    line: int
    saved: list[SaveRecord] = field(default_factory=list)
    is_released: bool = False
    is_unknown: bool = False
    is_custom: bool = False


class TensorRecord:
    """The state of a tensor of the program when the engine last read it.

    Python frees slots in alphabetical order, so the storage in ``memory`` is freed before the node in ``node``.
    """

    __slots__ = ("gradient", "memory", "node", "ref")

    def __init__(self, ref: weakref.ref[Any], memory: PaddleStorage) -> None:
        self.ref, self.memory = ref, memory
        self.node: GradNode | None = None
        self.gradient: GradientHandle | None = None


class GradientHandle:
    """A handle of ``x.grad``. It is needed because Paddle creates a new object each time the attribute is read."""

    def __init__(self, owner: weakref.ref[Any], storage: PaddleStorage, view: Any) -> None:
        self.owner, self.storage, self.view = owner, storage, view

    def tensor(self) -> Any:
        """Return the gradient; None if the leaf was freed or has another gradient now."""
        x = self.owner()
        gradient = None if x is None else x.grad
        if gradient is None or not tensor_access.is_drawable(gradient):
            return None
        return gradient if tensor_access.base_of(gradient) == self.storage.address else None
