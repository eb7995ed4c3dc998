"""Functions of the program's own (``PyLayer``): what they save, and when their ``backward`` runs.

What they save they say themselves, to ``save_for_backward``: it is seen, not inferred. Paddle compares no version of
it. Their nodes cannot be asked for the context that ``backward`` will be given: it is known from what it saved, else by
the name of the function, in the order in which nodes run.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from memory_stage.engines import events
from memory_stage.engines.paddle import saved_table, tensor_access
from memory_stage.engines.paddle.entries import LEAF, GradNode, Kept, Memory
from memory_stage.engines.paddle.shadow_state import Books
from memory_stage.engines.protocol import Layout

_CUT = (
    "`{}` gives back memory that it was given and has marked as not in place. Paddle gives that tensor no history: "
    "backward ends there, and what it leads to gets no gradient from it."
)


@dataclass
class Applied:
    """A call of ``apply`` that goes on; what it saves, with the version that each had then."""

    name: str
    inputs: list[tuple[Any, Memory]]
    nodes: set[int]  # addresses of the nodes of its inputs
    context: Any = None
    not_in_place: bool = False  # whether it has marked an input so
    saved: list[tuple[Any, Layout, int]] = field(default_factory=list)


class Functions:
    """Those of one recording."""

    def __init__(self, books: Books, is_tensor: Callable[[Any], bool]) -> None:
        self.books, self.is_tensor = books, is_tensor
        self._going: list[Applied] = []
        self._nodes: weakref.WeakKeyDictionary[Any, weakref.ref[GradNode]] = weakref.WeakKeyDictionary()

    def begin(self, cls: type, arguments: Any, keywords: Any) -> Applied:
        """``apply`` is about to run."""
        given = {id(x): x for _, x in saved_table.paths([*arguments, *keywords.values()], self.is_tensor)}
        notes = [self.books.note(x) for x in given.values()]
        applied = Applied(
            cls.__name__,
            [(x, note.memory) for x, note in zip(given.values(), notes, strict=True)],
            {note.node.address for note in notes if note.node is not None},
        )
        self._going.append(applied)
        return applied

    def saves(self, context: Any, tensors: Any) -> None:
        """``save_for_backward`` is called."""
        applied = self._of(context)
        if applied is None:
            return
        found = [x for _, x in saved_table.paths(tensors, self.is_tensor)]
        applied.context = context
        applied.saved = [(x, tensor_access.layout_of(x), x._inplace_version()) for x in found]

    def marks(self, context: Any, tensors: Any) -> None:
        """``mark_not_inplace`` is called."""
        applied = self._of(context)
        if applied is not None:
            applied.not_in_place = True

    def _of(self, context: Any) -> Applied | None:
        """The call that a context belongs to."""
        name = getattr(getattr(type(context), "_forward_cls", None), "__name__", None)
        applied = self._going[-1] if self._going else None
        return applied if applied is not None and applied.name == name else None

    def end(self, applied: Applied, result: Any) -> None:
        """``apply`` is over; ``result``: None where it has raised."""
        if applied in self._going:
            del self._going[self._going.index(applied) :]
        results = [x for _, x in saved_table.paths(result, self.is_tensor)]
        again = [x for x, memory in applied.inputs if any(x is each for each in results) and _raised(x, memory)]
        given = tuple(x for x, _ in applied.inputs)
        made = []
        for x in results:
            real = None if x.stop_gradient else x.grad_fn
            if real is None or real.name() == LEAF or real.node_ptr() in applied.nodes:
                continue
            applied.nodes.add(real.node_ptr())
            self.books.meet(x).node = self._entry(real, applied)  # which holds it: the books of nodes do not
            made += [] if any(x is each for each in given) else [x]
        for x in again:
            self.books.note(x)
            self.books.emit(events.Write(x, applied.name, given, np.empty(0, int)))
        for x in made:
            self.books.emit(events.MakeView(x, applied.name, given))
        if applied.not_in_place and any(not x.stop_gradient for x in given) and self._is_cut(applied, results):
            self.books.emit(events.Omission(_CUT.format(applied.name)))

    def _is_cut(self, applied: Applied, results: list[Any]) -> bool:
        """Whether a result on the memory of an input has no history."""
        memories = [memory for _, memory in applied.inputs]
        return any(
            x.grad_fn is None
            and self.books.meet(x).memory in memories
            and all(x is not each for each, _ in applied.inputs)
            for x in results
        )

    def _entry(self, real: Any, applied: Applied) -> GradNode:
        self.books.nodes.pop(real.node_ptr(), None)  # what had this address before is gone
        parents = [None if each is None else self.books.node(each) for each in real.next_functions]
        node = self.books.add(real, applied.name, parents)
        node.own = True
        node.saved = [
            Kept(f"saved tensor {i}", self.books.note(x).memory, layout, version, unchecked=True, inferred=False)
            for i, (x, layout, version) in enumerate(applied.saved)
        ]
        if applied.context is not None:
            self._nodes[applied.context] = weakref.ref(node)
        return node

    def node(self, context: Any, waiting: list[GradNode]) -> GradNode | None:
        """The node that calls ``backward`` with a context; ``waiting``: those that have not run, in their order."""
        known = self._nodes.get(context)
        if known is not None:
            return known()
        name = type(context)._forward_cls.__name__
        return next((each for each in waiting if each.name == name and not each.saved), None)


def _raised(x: Any, memory: Memory) -> bool:
    """Whether its version has risen since the last operation was told: Paddle counts an input that comes back."""
    return tensor_access.base_of(x) == memory.address and x._inplace_version() > memory.version
