"""What is noted of each tensor of torch that was met."""

from __future__ import annotations

import weakref
from typing import Any

from memory_stage.engines.torch.memory import Kept


class Record:
    """What is known of a tensor.

    Attributes:
        ref: a weak reference to it.
        kept: its storage, or the counter of its own.
        current: the version at which ``grad_fn`` was last known to be that of the numbers it shows. To ask a view for
            it at any other version would make a node; None: not known.
        is_apart: whether it is a view that was made under ``no_grad``, and has no part in its base's history.
        leaf: what stands for it in the graph, when it is a leaf.
        stamp: what it looked like after the last call that it was given to.
    """

    __slots__ = ("ref", "kept", "current", "is_apart", "leaf", "stamp")

    def __init__(self, ref: weakref.ref[Any], kept: Kept) -> None:
        self.ref, self.kept = ref, kept
        self.current: int | None = None
        self.is_apart = False
        self.leaf: Any = None
        self.stamp: Any = None
