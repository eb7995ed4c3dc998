"""Tags that the recorder attaches to the nodes of torch's autograd.

A tag is freed together with its nodes, as :mod:`memory_stage.engines.torch.nodes` explains.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType
from typing import Any

from memory_stage.engines.protocol import Role, SavedTensorState
from memory_stage.engines.torch.saved import Entry


def _unknown() -> None:
    """Do nothing. The code object of this function represents an unknown place."""


UNKNOWN_PLACE = _unknown.__code__, 0


class NodeTag:
    """The tag of all nodes that a call created, or of the node of a leaf.

    Attributes:
        owner: the registry of the recording that created the tag. A later recording creates new tags.
        place: the code object and the line number of the call.
        entries: the saved tensors; [] after their release.
        moves: True if all nodes are those of views, which move numbers without computing any.
        outputs: the tags of further results, by the number of the result. Negative keys are for inner nodes at which a
            backward starts.
        size: the number of nodes that share the tag.
        is_custom: True if the backward rule is a function of the program. Such a function gets gradients as tensors.
        is_unreported: True if no observed call created the nodes, for example if a backward with ``create_graph`` did.
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
        """Mark the saved tensors that backward() now reads without comparing versions."""
        for entry in self.entries:
            entry.is_read = not entry.is_compared

    def saved_state(self, position: int) -> SavedTensorState:
        """Return the state of the tensor saved at ``position``."""
        return SavedTensorState.RELEASED if self.released else self.entries[position].saved_state()
