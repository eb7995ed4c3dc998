"""Tags of nodes of torch, which are freed together with the nodes (see ``nodes``)."""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType
from typing import Any

from memory_stage.engines.protocol import Role, SavedTensorState
from memory_stage.engines.torch.saved import Entry


def _unknown() -> None:
    """Replace an unknown place."""


UNKNOWN_PLACE = _unknown.__code__, 0


class NodeTag:
    """The tag of all nodes of a call, or of a leaf.

    Attributes:
        owner: the engine that created it; a later recording creates its own.
        outputs: the tags of further results, by the number of the result, and of inner nodes at which a backward
            starts, by ``-1`` and below.
        size: the number of its nodes.
        is_custom: True if its rule is a function of the program, which gets the gradients as tensors.
        is_unreported: True if no call reported it, for example for a node that a recorded backward creates.
    """

    __slots__ = (
        "owner", "name", "role", "parents", "place", "entries", "released", "moves", "outputs", "size", "is_custom",
        "is_unreported", "__weakref__",
    )  # fmt: skip

    def __init__(self, owner: Any, name: str, role: Role, place: tuple[CodeType, int]) -> None:
        self.owner, self.name, self.role, self.place = owner, name, role, place
        self.parents: Sequence[NodeTag | None] = ()
        self.entries: list[Entry] = []
        self.released = self.moves = self.is_unreported = self.is_custom = False
        self.outputs: dict[int, NodeTag] = {}
        self.size = 1

    def release(self) -> None:
        """Release the saved tensors after backward."""
        self.released = True
        self.entries = []

    def begin_reading(self) -> None:
        """Note which saved tensors backward reads now."""
        for entry in self.entries:
            entry.is_read = not entry.is_compared

    def saved_state(self, position: int) -> SavedTensorState:
        """Return the state of the tensor saved at ``position``."""
        return SavedTensorState.RELEASED if self.released else self.entries[position].saved_state()
