"""Find the reasons to refuse a statement, from the saved tensors of a storage and the later writes.

The reasons are computed from two lists that the reference keeps for each storage: its writes, and the saved tensors
that are still alive. A refusal in backward has one of two kinds: (a) bytes of a saved tensor were overwritten after
saving; (b) only other bytes of its storage were written, which changed the version. The written cells decide the kind,
and the engine's error has to name the kind, the lines and the versions correctly.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakSet

import numpy as np

from .alphabet import FILE

if TYPE_CHECKING:
    from .reference import Tensor

#: The engine's error contains this text if backward was refused because of a version although no value was lost.
UNHARMED = "None of the saved bytes were overwritten"


@dataclass(frozen=True)
class Reason:
    """A reason why a statement must be refused, and the words that the engine has to use."""

    kind: str
    error: type[Exception]
    words: str

    def explains(self, error: Exception) -> bool:
        return isinstance(error, self.error) and self.words in str(error)

    def __str__(self) -> str:
        return self.words


LEAF = Reason("leaf", ValueError, "doesn't stop gradient can't use inplace strategy")
SHAPE = Reason("shape", ValueError, "shape")
OWN_INPUT = Reason("own input", ValueError, 'in-place policy "2.5"')
LOST, MOVED = "(a) saved bytes were overwritten", "(b) only the version moved"
KINDS = (LEAF.kind, SHAPE.kind, OWN_INPUT.kind, LOST, MOVED)


def line_at_hand() -> int:
    """Return the line of the running statement, as the engine's errors give it."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename != FILE:
        frame = frame.f_back
    return frame.f_lineno


@dataclass(frozen=True)
class Write:
    """A write: the line of the program, the written cells, and True in ``careless`` if no old value was preserved."""

    line: int
    cells: np.ndarray
    careless: bool


class Storage:
    """Memory with a list of its writes, and the saved tensors on it that are still alive."""

    def __init__(self) -> None:
        self.writes: list[Write] = []
        self.savers: WeakSet[Saved] | None = None  # created on first use, because most storages never need one

    def needed(self, cells: np.ndarray) -> int:
        """Return how many of ``cells`` belong to a valid saved tensor and were not overwritten after it was saved."""
        written = set(cells.ravel().tolist())
        wanted = (saved.untouched() for saved in self.savers or () if not saved.harm)
        return len(written & set().union(*wanted))


class Saved:
    """A saved tensor of a statement: some cells of a storage, at a version."""

    def __init__(self, which: str, tensor: Tensor) -> None:
        self.line, self.which, self.cells, self.writes = line_at_hand(), which, tensor.cells, tensor.storage.writes
        self.version = len(self.writes)
        if tensor.storage.savers is None:
            tensor.storage.savers = WeakSet()
        tensor.storage.savers.add(self)

    def untouched(self) -> set[int]:
        """Return the cells that were not overwritten after the tensor was saved."""
        return set(self.cells.ravel().tolist()) - self.taken(self.version + 1, len(self.writes))

    @property
    def harm(self) -> int | None:
        """Return the version made by the first later write that preserved nothing, or None."""
        later = range(self.version, len(self.writes))
        return next((i + 1 for i in later if self.writes[i].careless), None)

    def taken(self, since: int, until: int) -> set[int]:
        """Return the cells of this tensor that the writes of the versions ``since`` to ``until`` overwrote."""
        mine = set(self.cells.ravel().tolist())
        return mine & {cell for w in self.writes[since - 1 : until] for cell in w.cells.ravel().tolist()}

    @property
    def kind(self) -> str:
        return LOST if self.taken(self.harm, len(self.writes)) else MOVED

    @property
    def preserved(self) -> bool:
        """True if earlier writes preserved all cells before the first write that preserved nothing. The engine may then
        refuse, but it need not.
        """
        return len(self.taken(self.version + 1, self.harm - 1)) == self.cells.size

    def explains(self, error: Exception) -> bool:
        """True if the engine's error is about this saved tensor and describes it correctly."""
        text = str(error)
        reported = re.search(r"saved its (.*) at version (\d+) \(.*?line (\d+)", text)
        writer = re.search(r"by \w+, which made version (\d+) \(.*?line (\d+)", text)
        versions = re.search(r"tensor_version:(\d+) != wrapper_version_snapshot:(\d+)", text)
        if not isinstance(error, RuntimeError) or None in (reported, writer, versions):
            return False
        if (reported[1], int(reported[2]), int(reported[3])) != (self.which, self.version, self.line):
            return False
        if (int(versions[1]), int(versions[2])) != (len(self.writes), self.version):
            return False
        made, unharmed = int(writer[1]), UNHARMED in text
        if not self.version < made <= len(self.writes) or self.writes[made - 1].line != int(writer[2]):
            return False
        if not unharmed and not self.taken(made, made):
            return False
        return self.preserved or unharmed == (self.kind == MOVED)

    def __str__(self) -> str:
        said = f" {UNHARMED}." if self.kind == MOVED else ""
        made = next(m for m in range(self.harm, len(self.writes) + 1) if self.kind == MOVED or self.taken(m, m))
        return (
            f"saved its {self.which} at version {self.version} (line {self.line}); written by it_, which made "
            f"version {made} (line {self.writes[made - 1].line}); tensor_version:{len(self.writes)} != "
            f"wrapper_version_snapshot:{self.version}.{said}"
        )


class Refused(RuntimeError, ValueError):
    """Raised if the engine must raise an error, for one of the ``reasons``. Nothing was written."""

    def __init__(self, reasons: list[Reason | Saved]) -> None:
        super().__init__(str(reasons[0]))
        self.reasons = reasons
