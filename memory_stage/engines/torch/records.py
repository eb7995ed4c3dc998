"""Records of the registered tensors of a program that uses torch."""

from __future__ import annotations

import weakref
from typing import Any

from memory_stage.engines.torch.memory import VersionCounter


class Record:
    """The state of a registered tensor.

    Attributes:
        ref: a weak reference to the tensor.
        counter: the tensor's storage, or its separate version counter.
        current: the version at which ``grad_fn`` was known to belong to the tensor's value, or None. At any other
            version, reading ``grad_fn`` of a view would create a node.
        is_apart: True for a view created under ``no_grad``, which does not share the history of its base.
        leaf: the tag of the tensor's node, if the tensor is a leaf.
        stamp: the address and layout after the last call that used the tensor.
    """

    __slots__ = ("ref", "counter", "current", "is_apart", "leaf", "stamp")

    def __init__(self, ref: weakref.ref[Any], counter: VersionCounter) -> None:
        self.ref, self.counter = ref, counter
        self.current: int | None = None
        self.is_apart = False
        self.leaf: Any = None
        self.stamp: Any = None
