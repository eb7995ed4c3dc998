"""Dropping a long history where the stack is small.

CPython frees what a freed object held by a nested call, and flattens that only after many: from 3.13 on, after 10,000.
In a browser the stack of a worker is full after some 2,000 nodes, and Python is lost with all that it held. There a
node that dies hands what it held to a list, and whoever began empties it: the calls no longer nest.
"""

from __future__ import annotations

import sys
from typing import Any

from minitensor.events import passes_on


class _Rests:
    """What dead nodes held."""

    __slots__ = ("held", "emptying")

    def __init__(self) -> None:
        self.held: list[Any] = []
        self.emptying = False


_rests = _Rests()


@passes_on
def hand_over(node: Any, _rests: _Rests = _rests) -> None:
    """Stands as ``__del__`` of a node; one thread at a time."""
    _rests.held.append((node.inputs, node.saved, node.hooks))
    node.inputs = node.saved = node.hooks = None
    if _rests.emptying:
        return
    _rests.emptying = True
    try:
        while _rests.held:
            _rests.held.pop()
    finally:
        _rests.emptying = False


def mind_the_stack(kind: type) -> None:
    """Let nodes of a class be dropped so where Python runs in a browser. Elsewhere they cost what they cost."""
    if sys.platform == "emscripten":
        kind.__del__ = hand_over  # type: ignore[attr-defined]  # a class may be given one
