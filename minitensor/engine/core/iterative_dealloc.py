"""Free a long history without deep recursion, for platforms with a small stack.

When CPython frees an object, it frees the object's contents in a nested call, and it flattens this recursion only after
many levels: 10,000 since 3.13. In a browser, a worker's stack overflows after some 2,000 nodes, which ends the
interpreter. In a browser, therefore, each dying node appends its contents to a list, and the outermost call empties the
list in a loop, so that the calls do not nest.
"""

from __future__ import annotations

import sys
from typing import Any

from minitensor.engine.events import skip_in_tracebacks


class _Pending:
    """The contents of dead nodes that have not been freed yet, and a flag: True while a call is freeing them."""

    __slots__ = ("contents", "emptying")

    def __init__(self) -> None:
        self.contents: list[Any] = []
        self.emptying = False


_pending = _Pending()


@skip_in_tracebacks
def free_iteratively(node: Any, _pending: _Pending = _pending) -> None:
    """Free the contents of ``node`` without nested calls. This is a ``__del__`` that requires a single thread."""
    _pending.contents.append((node.inputs, node.saved, node.hooks))
    node.inputs = node.saved = node.hooks = None
    if _pending.emptying:
        return
    _pending.emptying = True
    try:
        while _pending.contents:
            _pending.contents.pop()
    finally:
        _pending.emptying = False


def install_iterative_dealloc(kind: type) -> None:
    """Free nodes of class ``kind`` iteratively if Python runs in a browser; elsewhere, leave the class unchanged."""
    if sys.platform == "emscripten":
        kind.__del__ = free_iteratively  # type: ignore[attr-defined]  # the class has no `__del__` yet
