"""Where this engine answers and PyTorch refuses: what PyTorch's functions save and these do not.

Recorded from PyTorch 2.13.0: ``facts/learners.json``, with which ``tests/vocabulary/test_overwritten.py`` compares.
"""

from __future__ import annotations

import weakref
from types import FrameType
from typing import Any

from minitensor.core.history import Node
from minitensor.core.storage import Storage
from minitensor.core.tensor import Tensor
from minitensor.explaining.rows import Spot
from minitensor.explaining.sharing import memory_of
from minitensor.explaining.sources import Site, is_engines
from minitensor.saving.saved import FREED

#: By operation, what PyTorch saves of it and this engine does not: its input, its result.
SAVES = {
    "log_softmax": ("result",),
    "logsumexp": ("input", "result"),
    "prod": ("result",),
    "std": ("input", "result"),
    "var": ("input",),
    "norm": ("result",),
    "cumprod": ("result",),
}


class Pytorchs:
    """What PyTorch would have saved of a program in its vocabulary, by the identity of the storage."""

    def __init__(self) -> None:
        self._saved: dict[int, list[tuple[weakref.ref[Node], str, str, Spot]]] = {}
        self._last: dict[str, weakref.ref[Node]] = {}  # of each function, what it made last that keeps something

    def made(self, frame: FrameType, x: Tensor, op: str, inputs: tuple[Any, ...]) -> None:
        """``frame`` has made ``x``, by itself or for a function that is made of several operations."""
        node = x._node
        if node is None or not _is_pytorchs(x):
            return
        name = ""
        within: FrameType | None = frame
        while within is not None and is_engines(within):
            name = within.f_code.co_name if within.f_code.co_name in SAVES else name
            within = within.f_back
        if not name:
            return
        if node.saved is not FREED and any(each is not None for each in node.saved):
            self._last[name] = weakref.ref(node)
        link, spot = self._last.get(name, weakref.ref(node)), Site.of(frame).spot
        for what in SAVES[name]:
            for given in (x,) if what == "result" else inputs:
                if isinstance(given, Tensor):
                    self._saved.setdefault(id(memory_of(given)), []).append((link, name, what, spot))

    def gone(self, storage: Storage) -> None:
        """``storage`` is on its way out."""
        self._saved.pop(id(storage), None)

    def refuses(self, x: Tensor, inputs: tuple[Any, ...], copied: int) -> str:
        """Why PyTorch would refuse the backward through a write to ``x`` that happened here; else an empty text."""
        if not _is_pytorchs(x):
            return ""
        others = [each for each in inputs[1:] if isinstance(each, Tensor)]
        if copied and any(memory_of(each) is memory_of(x) for each in others):
            return "PyTorch would refuse here: it saves the operand that this overwrites, and backward raises."
        for link, op, what, spot in self._saved.get(id(memory_of(x)), ()):
            node = link()
            if node is not None and node.saved is not FREED:
                return (
                    f"PyTorch would refuse here: its `{op}` (line {spot.line}) saves its {what}, and backward raises."
                )
        return ""


def _is_pytorchs(x: Tensor) -> bool:
    return type(x).__module__.startswith("minitensor.torch")
