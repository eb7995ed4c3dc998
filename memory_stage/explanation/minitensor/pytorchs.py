"""Where this engine answers and PyTorch refuses: what PyTorch's functions save and these do not, and overlaps.

Recorded from PyTorch 2.13.0: ``facts/learners.json``, with which ``tests/vocabulary/test_overwritten.py`` compares.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

from memory_stage.explanation.minitensor.pytorchs_overlaps import Extent, extents, reads_a_part
from memory_stage.explanation.minitensor.pytorchs_views import Origins
from memory_stage.explanation.rows import Spot
from minitensor.engine.core.history import Node
from minitensor.engine.core.storage import Storage
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.saved.saved import FREED
from minitensor.memory.backward_needs import node_of_write
from minitensor.memory.reachable_names import memory_of
from minitensor.memory.source_lines import Site, is_engines


@dataclass(frozen=True)
class Kept:
    """What PyTorch's function saves for backward and this engine's does not.

    Attributes:
        call: the call, for a reader.
        kept: what is saved: the "input", the "result".
        asked: what facts/learners.json calls the function.
        name: PyTorch's name of it.
        inner: whether other functions are made of it here: then only the program's own call counts.
    """

    call: str
    kept: tuple[str, ...]
    asked: str
    name: str
    inner: bool = False


#: By the name of the function in this engine.
SAVES = {
    "cumprod": Kept("x.cumprod(0)", ("result",), "cumprod", "cumprod"),
    "take_along_axis": Kept("x.gather(0, index)", ("input",), "gather", "gather", inner=True),
    "gelu": Kept("F.gelu(x)", ("input",), "gelu", "gelu"),
    "layer_norm": Kept("F.layer_norm(x, shape)", ("input",), "layer_norm", "layer_norm"),
    "log_softmax": Kept("x.log_softmax(0)", ("result",), "log_softmax", "log_softmax"),
    "logsumexp": Kept("x.logsumexp(0)", ("input", "result"), "logsumexp", "logsumexp"),
    "mse_loss": Kept("F.mse_loss(x, target)", ("input",), "mse_loss", "mse_loss"),
    "nll_loss": Kept("F.nll_loss(x, target)", ("input",), "nll_loss", "nll_loss"),
    "norm": Kept("x.norm()", ("result",), "norm", "norm"),
    "reflected_pow": Kept("2 ** x", ("input",), "pow(2, x)", "pow"),
    "prod": Kept("x.prod()", ("result",), "prod", "prod"),
    "smooth_l1_loss": Kept("F.smooth_l1_loss(x, target)", ("input",), "smooth_l1", "smooth_l1_loss"),
    "softplus": Kept("F.softplus(x)", ("input",), "softplus", "softplus"),
    "std": Kept("x.std()", ("input", "result"), "std", "std"),
    "var": Kept("x.var()", ("input",), "var", "var"),
}

REFUSED = "PyTorch would refuse here:"


@dataclass
class _Entry:
    """What PyTorch would have saved: as long as the node that ``needed_by`` leads to has not had its backward."""

    needed_by: weakref.ref[Node]
    name: str
    what: str
    spot: Spot


class Pytorchs:
    """What PyTorch would have saved of a program in its vocabulary, by the identity of the storage."""

    def __init__(self) -> None:
        self._saved: dict[int, list[_Entry]] = {}
        self._early: dict[tuple[str, CodeType, int], list[_Entry]] = {}  # of a call, until a node of it keeps something
        self._last: dict[str, weakref.ref[Node]] = {}  # of each function, what it made last that keeps something
        self._origins = Origins()
        self._call: tuple[CodeType, int] | None = None  # of the program, the last that made something
        self._read: list[Extent] = []  # what it has read so far

    def made(self, frame: FrameType, x: Tensor, op: str, inputs: tuple[Any, ...]) -> None:
        """``frame`` has made ``x``, by itself or for a function that is made of several operations."""
        if not any(_is_pytorchs(each) for each in (x, *inputs)):
            return
        self._origins.made(x)
        self._note_read(frame, inputs)
        node = x._node
        if node is None:
            return
        name = ""
        within: FrameType | None = frame
        while within is not None and is_engines(within):
            code, within = within.f_code.co_name, within.f_back
            if code in SAVES and not (SAVES[code].inner and within is not None and is_engines(within)):
                name = code
        if not name:
            return
        site = Site.of(frame)
        call = name, site.code, site.instruction
        if node.saved is not FREED and any(each is not None for each in node.saved):
            self._last[name] = weakref.ref(node)
            for entry in self._early.pop(call, ()):
                entry.needed_by = self._last[name]
        link = self._last.get(name, weakref.ref(node))
        for what in SAVES[name].kept:
            for given in (x,) if what == "result" else inputs:
                if isinstance(given, Tensor):
                    entry = _Entry(link, name, what, Spot.of(site.place))
                    self._saved.setdefault(id(memory_of(given)), []).append(entry)
                    if not node.saved:
                        self._early.setdefault(call, []).append(entry)

    def _note_read(self, frame: FrameType, inputs: tuple[Any, ...]) -> None:
        """A call of the program reads ``inputs``: it may write afterwards, as ``x.clamp_(x[0], x[1])`` does."""
        site = Site.of(frame)
        call = site.code, site.instruction
        if call != self._call:
            self._call, self._read = call, []
        self._read += extents(inputs)

    def _read_by(self, site: Site) -> list[Extent]:
        """What the call that writes has read."""
        return self._read if (site.code, site.instruction) == self._call else []

    def gone(self, storage: Storage) -> None:
        """``storage`` is on its way out."""
        self._saved.pop(id(storage), None)

    def viewed(self, x: Tensor, op: str, base: Tensor) -> None:
        """``x`` is a view of ``base``."""
        if _is_pytorchs(base):
            self._origins.viewed(x, op, base)

    def refuses_view(self, x: Tensor, recorded: bool, saved: Sequence[Tensor] = ()) -> str:
        """Why PyTorch would not change ``x`` in place, its numbers or its shape, for how it was made."""
        why = self._origins.refuses(x, recorded, saved) if _is_pytorchs(x) else ""
        return f"{REFUSED} {why}" if why else ""

    def refuses(
        self, site: Site, x: Tensor, op: str, inputs: tuple[Any, ...], where: Any, copied: int, recorded: bool
    ) -> str:
        """Why PyTorch would refuse ``op``, which wrote ``x`` here, or the backward after it; else an empty text.

        Args:
            site: where it was written.
            where: the cells, as the engine tells them.
            copied: the bytes of what it overwrote that were copied for its own backward.
            recorded: whether it was recorded.
        """
        if not _is_pytorchs(x):
            return ""
        others = [each for each in inputs[1:] if isinstance(each, Tensor)]
        made_so = self.refuses_view(x, recorded, _saved_of(x, others) if recorded else [])
        if made_so:
            return made_so
        if reads_a_part(x, op, inputs, where, self._read_by(site)):
            return (
                f"{REFUSED} it does not write a tensor from a part of its own memory; it wants a clone() of that part."
            )
        if copied and any(memory_of(each) is memory_of(x) for each in others):
            return f"{REFUSED} it saves the operand that this overwrites, and backward raises."
        if memory_of(x) is not x._storage:
            return ""  # a write through `.data` is not noticed there, either
        for entry in self._saved.get(id(memory_of(x)), ()):
            node = entry.needed_by()
            if node is not None and node.saved is not FREED:
                called = f"`{SAVES[entry.name].name}` (line {entry.spot.line})"
                return f"{REFUSED} its {called} saves its {entry.what}, and backward raises."
        return ""


def _is_pytorchs(x: Tensor) -> bool:
    return type(x).__module__.startswith("minitensor.torch")


def _saved_of(x: Tensor, others: list[Tensor]) -> list[Tensor]:
    """The operands that the node of the write, which was recorded, keeps."""
    node = node_of_write(x)
    if node is None or node.saved is FREED or not node.saved:
        return []
    kept = {id(each[1]) for each in node.saved if type(each) is tuple and len(each) == 3}
    return [each for each in others if id(each._storage) in kept]
