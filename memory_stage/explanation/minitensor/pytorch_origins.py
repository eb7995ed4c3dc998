"""Find the tensors that PyTorch does not write in place because of the way they were made.

While gradients are recorded, PyTorch refuses to write one of several views that one function made, a view that was
made while no gradients were recorded, and a tensor that was made in inference mode. ``facts/learners.json`` records
this in its group "in place on what requires a gradient".
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass

from memory_stage.messages import Message, message
from minitensor.engine.core.history import peek
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.modes import modes

#: Functions that return several views, none of which PyTorch allows to be written.
_SEVERAL = frozenset({"split", "chunk", "unbind"})
#: Operations whose result PyTorch does not consider a view.
_NO_VIEW = frozenset({"detach", "data"})


@dataclass(frozen=True)
class _Origin:
    """The way a tensor was made.

    Attributes:
        several: the function that made it together with others, or "".
        unrecorded: True if it is a view of a tensor that requires a gradient, made while nothing was recorded.
        inference: True if it was made in inference mode.
    """

    tensor: weakref.ref[Tensor]
    several: str = ""
    unrecorded: bool = False
    inference: bool = False


class Origins:
    """The origins of the tensors that PyTorch may refuse to write, by their ids."""

    def __init__(self) -> None:
        self._of: dict[int, _Origin] = {}

    def made(self, x: Tensor) -> None:
        """Note that a function made ``x``."""
        self._of.pop(id(x), None)
        if modes.inference:
            self._of[id(x)] = _Origin(weakref.ref(x), inference=True)

    def viewed(self, x: Tensor, op: str, base: Tensor) -> None:
        """Note that ``x`` is a view of ``base``."""
        before = self.known(base)
        inference = before is not None and before.inference
        several, unrecorded = "", False
        if op not in _NO_VIEW:
            several = op if op in _SEVERAL else before.several if before is not None else ""
            unrecorded = (not modes.grad and peek(base) is not None) or (before is not None and before.unrecorded)
        self._of.pop(id(x), None)
        if several or unrecorded or inference:
            self._of[id(x)] = _Origin(weakref.ref(x), several, unrecorded, inference)

    def known(self, x: Tensor) -> _Origin | None:
        """Return the origin of ``x``, or None if ``x`` was made in a way that allows every write."""
        origin = self._of.get(id(x))
        return origin if origin is not None and origin.tensor() is x else None

    def refuses(self, x: Tensor, recorded: bool, saved: Sequence[Tensor]) -> Message | None:
        """Return why PyTorch would not write ``x`` in place, or None if it would.

        Args:
            saved: the operands that the write's backward needs.
        """
        origin = self.known(x)
        if origin is not None and origin.inference and not modes.inference:
            return message(
                "PyTorch would refuse here: a tensor that was made in inference mode is written in that mode only. "
                "Write into a clone()."
            )
        if origin is not None and origin.several and recorded:
            return message(
                "PyTorch would refuse here: it does not write one of several views that {function} made. Write into a "
                "clone().",
                function=f"`{origin.several}`",
            )
        if origin is not None and origin.unrecorded and modes.grad:
            return message(
                "PyTorch would refuse here: it does not write a view that was made while nothing was recorded. Write "
                "into a clone()."
            )
        if any((each := self.known(other)) is not None and each.inference for other in saved):
            return message(
                "PyTorch would refuse here: it saves no tensor for backward that was made in inference mode. Pass a "
                "clone()."
            )
        return None
