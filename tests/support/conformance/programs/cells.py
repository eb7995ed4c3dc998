"""Storages, groups of views, and the records that justify a refusal.

Aliasing is exact by construction. A storage has one value per cell. A group is a set of tensors on one storage that
share a gradient history, and has one tangent per cell of the storage. Members of a group therefore share values and
tangents. A detached alias is in another group on the same storage and shares only the values. A record represents one
differentiable statement: it lists the values that backward may need unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .calculus import DIRECTIONS, Dual


class Refusal(NamedTuple):
    """A reason why the engine may or must raise an error, and the allowed types of the error."""

    reason: str
    errors: tuple[type[Exception], ...]


LEAF = Refusal("write to a leaf or a view of one", (ValueError,))
SHAPE = Refusal("shape would grow", (ValueError,))
MISFIT = Refusal("shapes do not fit", (ValueError, IndexError))
DTYPE = Refusal("dtype would change", (TypeError,))
OVERLAP = Refusal("target overlaps itself", (ValueError, RuntimeError))
OWN_INPUT = Refusal("own input needed, policy 2.5", (RuntimeError, ValueError))
STALE_BYTES = Refusal("stale: saved bytes overwritten", (RuntimeError,))
STALE_VERSION = Refusal("stale: saved storage written elsewhere", (RuntimeError,))
NOTHING_LOST = "None of the saved bytes were overwritten"  # the text in the message of STALE_VERSION
FREED = Refusal("freed by an earlier backward", (RuntimeError,))
OTHER_SHAPE = Refusal("gradient was given another shape", (RuntimeError,))
INDEX = Refusal("index out of range", (IndexError, ValueError))
ARGUMENT = Refusal("argument of a wrong type", (TypeError, ValueError))


class Refused(Exception):
    """Raised by the reference if the engine must raise an error, or if it raised one and was allowed to."""

    def __init__(self, refusals: list[Refusal]):
        super().__init__("; ".join(r.reason for r in refusals))
        self.refusals = refusals


def layout(cells: np.ndarray) -> tuple:
    """Return (offset, shape, strides) in elements. The offset is the position of the first element's cell."""
    return cells.item(0) if cells.size else 0, cells.shape, tuple([s // cells.itemsize for s in cells.strides])


class Storage:
    """One value per cell; ``version`` counts the writes; ``written[c]`` is the version that last wrote cell ``c``.

    ``harmful`` lists in rising order the versions made by writes that did not preserve needed values. ``settled`` is
    False until the memory order is first compared with the engine's. In this comparison the reference may adopt the
    engine's order. ``is_gradient`` is True if backward created the storage for a tensor's ``grad``.
    """

    def __init__(self, values: np.ndarray):
        self.values = values
        self.version = 0
        self.harmful: list[int] = []
        self.settled = False
        self.is_gradient = False
        self.written = np.zeros(values.size, int)
        self.cells = np.arange(values.size)  # every tensor's ``cells`` is a numpy view of this array


class Accepted(NamedTuple):
    """The engine's numbers for one tensor, after a comparison with the reference: they agreed at this version.

    If the engine returns the same numbers again and the version is the same, they need no second comparison.
    """

    cells: np.ndarray | None = None
    version: int = 0
    dtype: np.dtype | None = None
    shape: tuple[int, ...] = ()
    data: bytes = b""

    @classmethod
    def of(cls, tensor, actual: np.ndarray) -> Accepted:
        """Record that ``actual`` agrees with ``tensor``, a tensor of the reference."""
        return cls(tensor.cells, tensor.storage.version, actual.dtype, actual.shape, actual.tobytes())

    def covers(self, tensor, actual: np.ndarray) -> bool:
        """True if these numbers were already compared with ``tensor`` at the present version of its storage."""
        return (
            self.cells is tensor.cells
            and self.version == tensor.storage.version
            and self.shape == actual.shape
            and self.dtype == actual.dtype
            and self.data == actual.tobytes()
        )


NOTHING = Accepted()


class Saved(NamedTuple):
    """Some cells of a storage that a derivative may read, and the version that it expects."""

    storage: Storage
    version: int
    cells: np.ndarray

    @classmethod
    def of(cls, tensor) -> Saved:
        return cls(tensor.storage, tensor.storage.version, tensor.cells)

    def staleness(self) -> Refusal | None:
        """Return the kind of staleness, or None. The first later write that preserved nothing makes the tensor stale;
        from that write on, no write preserves its cells.
        """
        harmful = self.storage.harmful
        if not harmful or harmful[-1] <= self.version:
            return None
        first = next(version for version in harmful if version > self.version)
        overwritten = (self.storage.written[self.cells] >= first).any()
        return STALE_BYTES if overwritten else STALE_VERSION

    def is_overwritten(self) -> bool:
        """True if one of the cells was written after it was saved, even if its value was preserved."""
        return bool((self.storage.written[self.cells] > self.version).any())


@dataclass(eq=False)
class Record:
    """The tensors that one differentiable statement may have saved, and the records of its operands."""

    parents: list[Record] = field(default_factory=list)
    saves: list[Saved] = field(default_factory=list)
    holds: bool = False  # True if the statement may keep a tensor or a private copy of one
    freed: bool = False

    def ancestry(self) -> list[Record]:
        seen, stack = {self}, [self]
        while stack:
            for parent in stack.pop().parents:
                if parent not in seen:
                    seen.add(parent)
                    stack.append(parent)
        return list(seen)


class Group:
    """Tensors that share tangents and values.

    ``first`` is the first tensor of the group, and ``base`` is its layout (offset, shape, strides) before any in-place
    change of the shape. ``leaf`` is the leaf tensor if the group consists of a leaf and its views, else None.
    """

    def __init__(self, storage: Storage):
        self.tangents = np.zeros((storage.values.size, DIRECTIONS))
        self.base: tuple | None = None
        self.first = None
        self.wants = False
        self.leaf = None
        self.record = Record()


def read(storage: Storage, group: Group, cells: np.ndarray) -> Dual:
    """Return a copy of the cells' values and tangents, which later writes do not change."""
    return Dual(np.array(storage.values[cells]), np.array(group.tangents[cells]))


def overlaps_itself(cells: np.ndarray) -> bool:
    return cells.size > 1 and len(set(cells.ravel().tolist())) < cells.size


def overlap(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.isin(a, b).any())
