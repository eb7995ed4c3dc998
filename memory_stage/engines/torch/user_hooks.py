"""UserHooks of a program at gradients: told when they have run.

* A hook of a tensor lies in a dict of torch's, which the node shares. While a backward runs, what stands there in its
  place calls it and tells; afterwards the dict is as it was. No hook is kept, and no tensor.
* UserHooks of layers are given to torch's own ``BackwardHook``, in a list made for it: the entries of that list tell.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from memory_stage.engines import events
from memory_stage.engines.torch.memory import elements_of, is_drawable, unheard
from memory_stage.engines.torch.node_hooks import Arrived
from memory_stage.engines.torch.node_tags import Mark
from memory_stage.engines.torch.nodes import Nodes
from memory_stage.engines.torch.registry import Registry

MOST_COPIED = 1 << 12  # elements of a gradient, to see whether a hook has written into it


class UserHooks:
    """The hooks of the tensors of one recording.

    ``settle`` ends the step of the node before; ``lands`` makes a tensor like others of a gradient on its way.
    """

    def __init__(
        self, registry: Registry, nodes: Nodes, mode: Any, settle: Callable[[], None], lands: Callable[[Any], None]
    ) -> None:
        self._registry, self._nodes, self._mode, self._settle, self._lands = registry, nodes, mode, settle, lands
        self._noted: dict[int, tuple[weakref.ref[Any], weakref.ref[Mark]]] = {}  # by the id of the dict
        self._thread = threading.get_ident()

    def registered(self, x: torch.Tensor) -> None:
        """The program has given a hook to a tensor."""
        try:
            with unheard():
                if self._registry.is_tensor(x):
                    self._registry.record(x)
                    self.note(x)
        except Exception as failure:
            self._mode._fail(failure)

    def note(self, x: torch.Tensor) -> None:
        """A tensor may have hooks: its node keeps them when the tensor has gone, or has another node."""
        for hooks in (x._backward_hooks, getattr(x, "_post_accumulate_grad_hooks", None)):
            if not hooks:
                continue
            known = self._noted.get(id(hooks))
            if known is not None and known[0]() is hooks:
                continue
            mark = self._nodes.of(x)
            if mark is not None:
                self._noted[id(hooks)] = weakref.ref(hooks), weakref.ref(mark)

    def put_in(self) -> list[tuple[Any, Any]]:
        """Have all hooks tell; gives what :meth:`take_out` is to be given."""
        for record in list(self._registry.tensors.values()):
            x = record.ref()
            if x is not None and x.requires_grad:
                self.note(x)
        placed = []
        for key, (ref, of) in list(self._noted.items()):
            hooks, mark = ref(), of()
            if hooks is None or mark is None:
                del self._noted[key]
                continue
            for number, hook in list(hooks.items()):
                if not isinstance(hook, (_Telling, Arrived)):
                    hooks[number] = _Telling(hook, self._begins, self._told, of)
                    placed.append((ref, number))
        return placed

    @staticmethod
    def take_out(placed: list[tuple[Any, Any]]) -> None:
        """The dicts have the program's hooks again, less those that were removed meanwhile."""
        for ref, number in placed:
            hooks = ref()
            if hooks is not None and isinstance(hooks.get(number), _Telling):
                hooks[number] = hooks[number].hook

    def of_layer(self, real: Any) -> Any:
        """In place of the making of torch's ``BackwardHook``, whose lists of hooks are its own."""

        @functools.wraps(real)
        def made(this: Any, module: Any, user_hooks: Any, *others: Any, **named: Any) -> None:
            if self._mode.is_open:
                name = type(module).__name__
                user_hooks = [_TellingOfLayer(hook, self._begins, self._told, name) for hook in user_hooks]
            real(this, module, user_hooks, *others, **named)

        return made

    def _begins(self, x: Any, *others: Any) -> np.ndarray | None:
        """A hook is about to be given gradients: the numbers of the first; of a long one, none; None where none is
        told.
        """
        mode = self._mode
        if not mode.is_open or threading.get_ident() != self._thread or not isinstance(x, torch.Tensor):
            return None
        try:
            with unheard():
                if not is_drawable(x):
                    return None
                self._settle()
                for each in (x, *others):
                    self._lands(each)
                elements = elements_of(x.detach())
                return elements.copy() if elements.size <= MOST_COPIED else elements[:0]
        except Exception as failure:
            mode._fail(failure)
        return None

    def _told(self, mark: Mark | None, before: np.ndarray, now: torch.Tensor, answer: Any, of: str) -> None:
        """A hook has run."""
        mode = self._mode
        if not mode.is_open:
            return
        try:
            with unheard():
                after = elements_of(now.detach())
                given = before if before.size == after.size else after
                wrote = before.size == after.size and not np.array_equal(before, after, equal_nan=True)
                answered = answer if isinstance(answer, torch.Tensor) and self._registry.is_tensor(answer) else None
                mode.emit(events.HookCall(mark, given, answered, after if wrote else given, of))
        except Exception as failure:
            mode._fail(failure)


class _Telling:
    """A hook of the program's, which tells when it has run."""

    def __init__(
        self, hook: Callable[[Any], Any], begins: Callable[..., Any], told: Callable[..., None], of: weakref.ref[Mark]
    ) -> None:
        functools.update_wrapper(self, hook)
        self.hook, self._begins, self._told, self._of = hook, begins, told, of

    def __call__(self, x: torch.Tensor) -> Any:
        gradient = x.grad if x.requires_grad and x.is_leaf and x.grad is not None else x  # torch gives the leaf itself
        before = self._begins(gradient)
        answer = self.hook(x)
        if before is not None:
            self._told(self._of(), before, gradient, answer, "")
        return answer


class _TellingOfLayer:
    """A hook of a layer's, which tells when it has run."""

    def __init__(
        self, hook: Callable[..., Any], begins: Callable[..., Any], told: Callable[..., None], name: str
    ) -> None:
        functools.update_wrapper(self, hook)
        self._hook, self._begins, self._told, self._name = hook, begins, told, name

    def __call__(self, module: Any, sent: Any, came: Any) -> Any:
        gradient = next(_tensors(came), None)
        before = self._begins(gradient, *_tensors(came), *_tensors(sent))
        answer = self._hook(module, sent, came)
        if before is not None:
            self._told(None, before, gradient, next(_tensors(answer), None), self._name)
        return answer


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    return (x for x in (value if isinstance(value, (tuple, list)) else (value,)) if isinstance(x, torch.Tensor))
