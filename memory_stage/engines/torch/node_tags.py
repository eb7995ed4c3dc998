"""What stands for nodes of torch: a mark, which lives and dies with them (``nodes`` says how)."""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType
from typing import Any

from memory_stage.engines.protocol import Fate, Role
from memory_stage.engines.torch.saved import Entry


def _unknown() -> None:
    """Stands for a place that is not known."""


UNKNOWN_PLACE = _unknown.__code__, 0


class Mark:
    """What stands for the nodes of a call, or for a leaf.

    Attributes:
        owner: the engine that made it; a later recording makes its own.
        outputs: of a call with several results, the marks of the further ones, by the number of the result; and those
            of what its inner nodes stand for, by ``-1`` and below, where the history of a backward begins at these.
        size: how many nodes it stands for.
        is_by_hand: whether its rule is the program's own function, which is given the gradients as tensors.
        unheard: whether no call told of it, as of what a backward makes that is recorded for another one.
    """

    __slots__ = (
        "owner", "name", "role", "parents", "place", "entries", "released", "moves", "outputs", "size", "is_by_hand",
        "unheard", "__weakref__",
    )  # fmt: skip

    def __init__(self, owner: Any, name: str, role: Role, place: tuple[CodeType, int]) -> None:
        self.owner, self.name, self.role, self.place = owner, name, role, place
        self.parents: Sequence[Mark | None] = ()
        self.entries: list[Entry] = []
        self.released = self.moves = self.unheard = self.is_by_hand = False
        self.outputs: dict[int, Mark] = {}
        self.size = 1

    def release(self) -> None:
        """Backward is done with what it saved."""
        self.released = True
        self.entries = []

    def begin_reading(self) -> None:
        """A backward has come to it."""
        for entry in self.entries:
            entry.is_read = not entry.is_compared

    def fate(self, position: int) -> Fate:
        """What became of what it saved there."""
        return Fate.RELEASED if self.released else self.entries[position].fate()
