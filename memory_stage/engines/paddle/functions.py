"""Observe the ``PyLayer`` functions of a program: the tensors that they save, and their ``backward``.

A function passes the tensors that it saves to ``save_for_backward``, so the engine observes these saves and need not
infer them. Paddle does not compare their versions. Python cannot ask a node for the context that its ``backward`` will
get. Therefore the engine notes the context when the function calls ``save_for_backward``. If no tensors are saved, the
engine finds the node by the name of the function and the order in which nodes run.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from memory_stage.engines import events
from memory_stage.engines.paddle import saved_table, tensor_access
from memory_stage.engines.paddle.entries import LEAF, GradNode, PaddleStorage, SaveRecord
from memory_stage.engines.paddle.shadow_state import ShadowState
from memory_stage.engines.protocol import CellLayout
from memory_stage.messages import Text, message


@dataclass
class AppliedFunction:
    """A running call of ``apply``.

    Attributes:
        nodes: the addresses of the inputs' nodes; those of the results' nodes are added once these have entries.
        not_in_place: True if the function called ``mark_not_inplace``.
        saved: the tensors that the function saved, each with its layout and version when it was saved.
    """

    name: str
    inputs: list[tuple[Any, PaddleStorage]]
    nodes: set[int]
    context: Any = None
    not_in_place: bool = False
    saved: list[tuple[Any, CellLayout, int]] = field(default_factory=list)


class CustomFunctions:
    """The ``PyLayer`` functions of one recording."""

    def __init__(self, state: ShadowState, is_tensor: Callable[[Any], bool]) -> None:
        self._state, self._is_tensor = state, is_tensor
        self._running: list[AppliedFunction] = []
        self._nodes: weakref.WeakKeyDictionary[Any, weakref.ref[GradNode]] = weakref.WeakKeyDictionary()

    def begin(self, cls: type, arguments: Any, keywords: Any) -> AppliedFunction:
        """Observe ``apply`` before it runs."""
        given = {id(x): x for _, x in saved_table.paths([*arguments, *keywords.values()], self._is_tensor)}
        records = [self._state.record(x) for x in given.values()]
        applied = AppliedFunction(
            cls.__name__,
            [(x, record.memory) for x, record in zip(given.values(), records, strict=True)],
            {record.node.address for record in records if record.node is not None},
        )
        self._running.append(applied)
        return applied

    def save(self, context: Any, tensors: Any) -> None:
        """Record the arguments of ``save_for_backward``."""
        applied = self._of(context)
        if applied is None:
            return
        found = [x for _, x in saved_table.paths(tensors, self._is_tensor)]
        applied.context = context
        applied.saved = [(x, tensor_access.layout_of(x), x._inplace_version()) for x in found]

    def mark_not_in_place(self, context: Any, tensors: Any) -> None:
        """Record that ``mark_not_inplace`` was called."""
        applied = self._of(context)
        if applied is not None:
            applied.not_in_place = True

    def _of(self, context: Any) -> AppliedFunction | None:
        """Return the call of ``apply`` that a context belongs to, or None."""
        name = getattr(getattr(type(context), "_forward_cls", None), "__name__", None)
        applied = self._running[-1] if self._running else None
        return applied if applied is not None and applied.name == name else None

    def finish(self, applied: AppliedFunction, result: Any) -> None:
        """Emit the events of a call of ``apply``. ``result`` is None if the call has raised an error."""
        if applied in self._running:
            del self._running[self._running.index(applied) :]
        results = [x for _, x in saved_table.paths(result, self._is_tensor)]
        returned = [
            x for x, storage in applied.inputs if any(x is each for each in results) and _is_versioned(x, storage)
        ]
        given = tuple(x for x, _ in applied.inputs)
        views = []
        for x in results:
            fn = None if x.stop_gradient else x.grad_fn
            if fn is None or fn.name() == LEAF or fn.node_ptr() in applied.nodes:
                continue
            applied.nodes.add(fn.node_ptr())
            # This reference keeps the entry alive, because the shadow state has only a weak one.
            self._state.register(x).node = self._entry(fn, applied)
            views += [] if any(x is each for each in given) else [x]
        for x in returned:
            memory = self._state.register(x).memory
            self._state.note_write(memory, (memory.version, x._inplace_version()), np.empty(0, int))
            self._state.record(x)
            self._state.emit(events.Write(x, applied.name, given, np.empty(0, int)))
        for x in views:
            self._state.emit(events.MakeView(x, applied.name, given))
        if applied.not_in_place and any(not x.stop_gradient for x in given) and self._is_cut(applied, results):
            self._state.emit(events.Omission(_describe_cut(applied.name)))

    def _is_cut(self, applied: AppliedFunction, results: list[Any]) -> bool:
        """True if a result without a history shares the memory of an input and is not that input."""
        storages = [storage for _, storage in applied.inputs]
        return any(
            x.grad_fn is None
            and self._state.register(x).memory in storages
            and all(x is not each for each, _ in applied.inputs)
            for x in results
        )

    def _entry(self, fn: Any, applied: AppliedFunction) -> GradNode:
        self._state.nodes.pop(fn.node_ptr(), None)  # the address belonged to an earlier node, which has been freed
        parents = [None if each is None else self._state.node(each) for each in fn.next_functions]
        node = self._state.add_node(fn, applied.name, parents)
        node.is_custom = True
        for i, (x, layout, version) in enumerate(applied.saved):
            save = SaveRecord(message("saved tensor {number}", number=i), self._state.record(x).memory, layout, version)
            save.is_unchecked, save.is_inferred = True, False
            node.saved.append(save)
        if applied.context is not None:
            self._nodes[applied.context] = weakref.ref(node)
        return node

    def node(self, context: Any, pending: list[GradNode]) -> GradNode | None:
        """Return the node whose ``backward`` gets a context: the noted one, or else one of ``pending``; or None."""
        known = self._nodes.get(context)
        if known is not None:
            return known()
        name = type(context)._forward_cls.__name__
        return next((each for each in pending if each.name == name and not each.saved), None)


def _is_versioned(x: Any, storage: PaddleStorage) -> bool:
    """True if the version of ``x`` is higher than at its last event, as after a ``forward`` that returns an input."""
    return tensor_access.base_of(x) == storage.address and x._inplace_version() > storage.version


def _describe_cut(function: str) -> Text:
    """Return a sentence about a function whose returned input gets no history from Paddle."""
    return message(
        "`{function}` returns an input that it marked with `mark_not_inplace`. Paddle gives this result no history, so "
        "backward ends there and computes no gradients before it.",
        function=function,
    )
