"""Leaves that a function such as ``torch.tensor`` made from the numbers of other tensors, without their history."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import torch

#: Functions that copy numbers into a new leaf.
COPYING = frozenset(("tensor", "as_tensor", "asarray"))

#: How many tensors of a list are examined, and how many backward passes are checked after the last copy.
MOST_GIVEN, CHECKED_PASSES = 64, 4


@dataclass(frozen=True)
class NumberCopy:
    """A call that copied numbers into a leaf.

    Attributes:
        line: the index of the line that called the function.
        shapes: the shapes of the tensors that were passed; () if Python numbers were passed.
        is_list: True if the tensors were passed in a list or a tuple.
    """

    line: int
    shapes: tuple[tuple[int, ...], ...]
    is_list: bool


class NumberCopies:
    """The calls whose leaves are alive.

    Attributes:
        unchecked_passes: the number of coming backward passes that have to be checked for such leaves.
    """

    def __init__(self) -> None:
        self._made: dict[int, tuple[weakref.ref[torch.Tensor], NumberCopy]] = {}
        self.unchecked_passes = 0

    def add(self, line: int, given: Any, result: Any) -> None:
        """Record a call that may have cut a history.

        These are calls in which only tensors were passed, at least one of which requires a gradient, and calls in which
        no tensor was passed but the leaf requires a gradient.

        Args:
            result: the leaf that the call returned.
        """
        if not isinstance(result, torch.Tensor) or result is given or not result.is_leaf:
            return
        is_list = isinstance(given, (list, tuple))
        entries = list(given[:MOST_GIVEN]) if is_list else [given]
        tensors = [each for each in entries if isinstance(each, torch.Tensor)]
        if any(each.requires_grad for each in tensors) and len(tensors) == len(entries):
            shapes = tuple(tuple(each.shape) for each in tensors)
        elif tensors or not result.requires_grad:
            return
        else:
            shapes = ()
        key, known = id(result), self._made
        known[key] = weakref.ref(result, lambda _: known.pop(key, None)), NumberCopy(line, shapes, is_list)
        self.unchecked_passes = CHECKED_PASSES

    def find(self, x: Any) -> NumberCopy | None:
        """Return the call that made a leaf; None if it is not in the log."""
        ref, copy = self._made.get(id(x), (None, None))
        return copy if ref is not None and ref() is x else None
