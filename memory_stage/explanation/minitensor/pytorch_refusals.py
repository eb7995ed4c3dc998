"""Find the writes that minitensor accepts and PyTorch refuses, or after which PyTorch's backward raises.

* PyTorch's functions save some tensors that minitensor's do not.
* PyTorch refuses a write that reads a part of the memory that it writes. To find such a read, it compares the first
  and last addresses of two tensors, but only if neither has gaps between its elements. It accepts two tensors with the
  same cells in the same order, except in a write by index and in a scatter.
* While gradients are recorded, PyTorch refuses to write one of several views that one function made, a view that was
  made while no gradients were recorded, and a tensor that was made in inference mode.

``facts/learners.json`` records the behaviour of PyTorch 2.13.0. Its group "a part of itself" is about the second rule,
and "in place on what requires a gradient" about the third. ``tests/minitensor/vocabulary/test_overwritten.py`` and
``test_refusals_table.py`` compare the rules with this file.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import numpy as np

from memory_stage.explanation.report_rows import SourceLine
from memory_stage.messages import Message, message
from minitensor.engine.core.history import Node, peek
from minitensor.engine.core.regions import span
from minitensor.engine.core.storage import Storage
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.modes import modes
from minitensor.engine.saved.saved import FREED
from minitensor.memory.backward_needs import node_of_write
from minitensor.memory.reachable_names import memory_of
from minitensor.memory.source_lines import Site, is_engines


@dataclass(frozen=True)
class SavedInPyTorch:
    """The tensors that a function of PyTorch saves for backward and minitensor's function does not.

    Attributes:
        call: an example of a call, for a reader.
        kept: the saved tensors: "input", "result".
        asked: the key of the function in facts/learners.json.
        name: the function's name in PyTorch.
        inner: True if other functions of minitensor call this one, so that only calls by the program itself count.
        unrecorded: True if minitensor's function reads one of these tensors in an operation that it does not record.
    """

    call: str
    kept: tuple[str, ...]
    asked: str
    name: str
    inner: bool = False
    unrecorded: bool = False


_LOGITS = "binary_cross_entropy_with_logits"

#: The functions that save more tensors in PyTorch, by the name of the function in minitensor.
SAVES = {
    _LOGITS: SavedInPyTorch(f"F.{_LOGITS}(logits, x)", ("input",), "bce_logits", _LOGITS, unrecorded=True),
    "cumprod": SavedInPyTorch("x.cumprod(0)", ("result",), "cumprod", "cumprod"),
    "take_along_axis": SavedInPyTorch("x.gather(0, index)", ("input",), "gather", "gather", inner=True),
    "gelu": SavedInPyTorch("F.gelu(x)", ("input",), "gelu", "gelu"),
    "layer_norm": SavedInPyTorch("F.layer_norm(x, shape)", ("input",), "layer_norm", "layer_norm"),
    "log_softmax": SavedInPyTorch("x.log_softmax(0)", ("result",), "log_softmax", "log_softmax"),
    "logsumexp": SavedInPyTorch("x.logsumexp(0)", ("input", "result"), "logsumexp", "logsumexp"),
    "mse_loss": SavedInPyTorch("F.mse_loss(x, target)", ("input",), "mse_loss", "mse_loss"),
    "nll_loss": SavedInPyTorch("F.nll_loss(x, target)", ("input",), "nll_loss", "nll_loss"),
    "norm": SavedInPyTorch("x.norm()", ("result",), "norm", "norm"),
    "reflected_pow": SavedInPyTorch("2 ** x", ("input",), "pow(2, x)", "pow"),
    "prod": SavedInPyTorch("x.prod()", ("result",), "prod", "prod"),
    "smooth_l1_loss": SavedInPyTorch("F.smooth_l1_loss(x, target)", ("input",), "smooth_l1", "smooth_l1_loss"),
    "softplus": SavedInPyTorch("F.softplus(x)", ("input",), "softplus", "softplus"),
    "std": SavedInPyTorch("x.std()", ("input", "result"), "std", "std"),
    "var": SavedInPyTorch("x.var()", ("input",), "var", "var"),
}

_FROM_ITSELF = message(
    "PyTorch would refuse here: it does not write a tensor from a part of its own memory. Pass a clone() of that part."
)
_SAVES_THE_OPERAND = message(
    "PyTorch would refuse here: it saves the operand that this overwrites, and backward raises."
)


@dataclass(frozen=True)
class PytorchRefusal:
    """Why PyTorch would not run a write, or the backward after it."""

    why: Message
    in_backward: bool = False


@dataclass
class _Entry:
    """A tensor that PyTorch would have saved, until the node ``needed_by`` releases its saved tensors."""

    needed_by: Callable[[], Node | None]
    name: str
    what: str
    line: SourceLine


class PytorchRefusals:
    """The tensors that PyTorch would have saved in a program that uses PyTorch's names, by the id of their storage."""

    def __init__(self) -> None:
        self._saved: dict[int, list[_Entry]] = {}
        #: The entries of each call whose nodes have saved no tensor yet.
        self._early: dict[tuple[str, CodeType, int], list[_Entry]] = {}
        self._last: dict[str, weakref.ref[Node]] = {}  # for each function, its last node that saves a tensor
        self._origins = Origins()
        self._call: tuple[CodeType, int] | None = None  # the program's last call that made a tensor
        self._read: list[ArrayExtent] = []  # the arrays that this call has read so far

    def made(self, frame: FrameType, x: Tensor, inputs: tuple[Any, ...]) -> None:
        """Note that an operation called from ``frame`` made ``x``. One call of a function may make several tensors."""
        if not any(_is_pytorchs(each) for each in (x, *inputs)):
            return
        self._origins.made(x)
        self._note_read(frame, inputs)
        name = _function_around(frame)
        node = x._node
        if not name or (node is None and not SAVES[name].unrecorded):
            return
        site = Site.of(frame)
        call = name, site.code, site.instruction
        if node is None:
            for given in inputs:
                if isinstance(given, Tensor):
                    entry = _Entry(_no_node, name, "input", SourceLine.of(site.place))
                    self._saved.setdefault(id(memory_of(given)), []).append(entry)
                    self._early.setdefault(call, []).append(entry)
            return
        if node.saved is not FREED and any(each is not None for each in node.saved):
            self._last[name] = weakref.ref(node)
            for entry in self._early.pop(call, ()):
                entry.needed_by = self._last[name]
        link = self._last.get(name, weakref.ref(node))
        for what in SAVES[name].kept:
            for given in (x,) if what == "result" else inputs:
                if isinstance(given, Tensor):
                    entry = _Entry(link, name, what, SourceLine.of(site.place))
                    self._saved.setdefault(id(memory_of(given)), []).append(entry)
                    if not node.saved:
                        self._early.setdefault(call, []).append(entry)

    def _note_read(self, frame: FrameType, inputs: tuple[Any, ...]) -> None:
        """Note that a call reads ``inputs``: it may overwrite them later, as ``x.clamp_(x[0], x[1])`` does."""
        site = Site.of(frame)
        call = site.code, site.instruction
        if call != self._call:
            self._call, self._read = call, []
        self._read += extents(inputs)

    def on_freed(self, storage: Storage) -> None:
        """Forget ``storage``, which is being freed."""
        self._saved.pop(id(storage), None)

    def viewed(self, x: Tensor, op: str, base: Tensor) -> None:
        """Note that ``x`` is a view of ``base``."""
        if _is_pytorchs(base):
            self._origins.viewed(x, op, base)

    def refuses_view(self, x: Tensor, recorded: bool, saved: Sequence[Tensor] = ()) -> Message | None:
        """Return why PyTorch would not write or reshape ``x`` in place because of the way ``x`` was made; or None."""
        return self._origins.refuses(x, recorded, saved) if _is_pytorchs(x) else None

    def refuses(
        self, site: Site, x: Tensor, op: str, inputs: tuple[Any, ...], where: Any, copied: int, recorded: bool
    ) -> PytorchRefusal | None:
        """Return the reason why PyTorch would refuse the write of ``x`` by ``op``, or would raise in backward; or None.

        Args:
            where: the written cells, as in the event ``TensorWritten``.
            copied: the number of overwritten bytes that were copied for the operation's own backward.
            recorded: True if the write was recorded.
        """
        if not _is_pytorchs(x):
            return None
        others = [each for each in inputs[1:] if isinstance(each, Tensor)]
        made_so = self.refuses_view(x, recorded, _saved_operands(x, others) if recorded else [])
        if made_so is not None:
            return PytorchRefusal(made_so)
        read = self._read if (site.code, site.instruction) == self._call else []
        if reads_a_part(x, op, inputs, where, read):
            return PytorchRefusal(_FROM_ITSELF)
        if copied and any(memory_of(each) is memory_of(x) for each in others):
            return PytorchRefusal(_SAVES_THE_OPERAND, in_backward=True)
        if memory_of(x) is not x._storage:
            return None  # PyTorch does not notice a write through `.data` either
        for entry in self._saved.get(id(memory_of(x)), ()):
            node = entry.needed_by()
            if node is not None and node.saved is not FREED:
                return PytorchRefusal(_saves_its(entry), in_backward=True)
        return None


def _saves_its(entry: _Entry) -> Message:
    """Say that PyTorch's function saves the overwritten tensor of an entry."""
    function, line = f"`{SAVES[entry.name].name}`", entry.line.line
    if entry.what == "input":
        return message(
            "PyTorch would refuse here: its {function} (line {line}) saves its input, and backward raises.",
            function=function,
            line=line,
        )
    return message(
        "PyTorch would refuse here: its {function} (line {line}) saves its result, and backward raises.",
        function=function,
        line=line,
    )


def _function_around(frame: FrameType) -> str:
    """Return the outermost function of :data:`SAVES` whose code runs around ``frame``, or ""."""
    name = ""
    within: FrameType | None = frame
    while within is not None and is_engines(within):
        code, within = within.f_code.co_name, within.f_back
        if code in SAVES and not (SAVES[code].inner and within is not None and is_engines(within)):
            name = code
    return name


def _no_node() -> None:
    """Return None, in place of a reference to a node, for a call that has recorded no node yet."""


def _is_pytorchs(x: Tensor) -> bool:
    return type(x).__module__.startswith("minitensor.torch")


def _saved_operands(x: Tensor, others: list[Tensor]) -> list[Tensor]:
    """Return the operands that the recorded node of the write keeps."""
    node = node_of_write(x)
    if node is None or node.saved is FREED or not node.saved:
        return []
    kept = {id(each[1]) for each in node.saved if type(each) is tuple and len(each) == 3}
    return [each for each in others if id(each._storage) in kept]


#: Functions that return several views, none of which PyTorch allows to be written.
_SEVERAL = frozenset({"split", "chunk", "unbind"})
#: Operations whose result PyTorch does not consider a view.
_NO_VIEW = frozenset({"detach", "data"})


@dataclass(frozen=True)
class _Origin:
    """The way a tensor was made.

    Attributes:
        several: the function that made it together with other views, or "".
        unrecorded: True if it is a view that was made while nothing was recorded, and its base requires a gradient.
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
        """Return the reason why PyTorch would not write ``x`` in place, or None if it would write it.

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


#: Writes that read a single number or read elements one after another. PyTorch does not check them for overlap.
_UNCHECKED = frozenset({"fill_", "masked_fill_", "index_fill_", "masked_scatter_"})


@dataclass(frozen=True)
class ArrayExtent:
    """The memory of an array.

    Attributes:
        begin, end: addresses.
        strides: in bytes.
        dense: True if its elements have no gaps between them.
    """

    begin: int
    end: int
    strides: tuple[int, ...]
    dense: bool

    @classmethod
    def of(cls, array: Any) -> ArrayExtent:
        """Return the extent of ``array``."""
        begin, count = span(array)
        return cls(begin, begin + count * array.itemsize, array.strides, array.size == count > 0)

    def overlaps(self, other: ArrayExtent) -> bool:
        """True if PyTorch finds that the two overlap."""
        return self.dense and other.dense and self.begin < other.end and other.begin < self.end

    def is_equal(self, other: ArrayExtent) -> bool:
        """True if PyTorch considers the two equal; it compares their first and last addresses and strides only."""
        return (self.begin, self.end, self.strides) == (other.begin, other.end, other.strides)


def extents(inputs: Iterable[Any]) -> list[ArrayExtent]:
    """Return the extents of the tensors among ``inputs``. A tensor that holds a scalar of numpy has none."""
    arrays = [each._array for each in inputs if isinstance(each, Tensor)]
    return [ArrayExtent.of(array) for array in arrays if not isinstance(array, np.generic)]


def reads_a_part(x: Tensor, op: str, inputs: tuple[Any, ...], where: Any, read: list[ArrayExtent]) -> bool:
    """Return True if PyTorch refuses ``op``, a write of the cells ``where`` of ``x``, because it reads a part of them.

    Args:
        read: the arrays that the same call has read before it wrote.
    """
    others = [each for each in inputs[1:] if isinstance(each, Tensor)]
    if op in _UNCHECKED:
        return False
    by_index = isinstance(where, tuple)
    if op == "setitem":
        values = [each for each in others if not _is_spread(each, where)]
        target = ArrayExtent.of(_remaining_part(x._array, where) if by_index else where)
    else:
        values, target = others, ArrayExtent.of(x._array)
    known = extents(values)
    if by_index:
        return any(target.overlaps(each) for each in known)
    return any(target.overlaps(each) and not target.is_equal(each) for each in (*known, *read))


def _is_spread(value: Tensor, where: Any) -> bool:
    """True if an assignment broadcasts its value, in which case PyTorch does not look for an overlap."""
    if not isinstance(where, tuple):
        return value._array.size == 1 or _without_ones(value._array.shape) != _without_ones(where.shape)
    mask = where[0] if len(where) == 1 else None
    return value._array.size == 1 and getattr(mask, "dtype", None) == np.bool_


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape without leading dimensions of length 1."""
    while shape and shape[0] == 1:
        shape = shape[1:]
    return shape


def _remaining_part(array: Any, where: tuple[Any, ...]) -> Any:
    """Return the part of an array that an advanced index selects by its numbers and slices, ignoring index arrays."""
    # A single True selects everything.
    where = tuple(each for each in where if np.ndim(each) or getattr(each, "dtype", None) != np.bool_)
    basic = tuple(each if not np.ndim(each) or isinstance(each, slice) else slice(None) for each in where)
    basic = tuple(int(each) if isinstance(each, (np.ndarray, np.integer)) else each for each in basic)
    return array[basic if Ellipsis in basic else (*basic, ...)]  # ``...`` makes a single number an array
