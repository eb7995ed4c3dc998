"""Observe the gradient hooks of a program.

* A hook of a tensor is in a dict that the tensor shares with its node. While backward runs, each hook is replaced by
  one that calls the original and reports the call; afterwards the dict is restored. No hook and no tensor is kept
  alive.
* The hooks of a layer are in a list that torch creates for its ``BackwardHook``. Each entry is replaced by an observed
  hook.
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
from memory_stage.engines.torch.memory import elements_of, is_drawable, muted
from memory_stage.engines.torch.node_hooks import AfterLeaf
from memory_stage.engines.torch.node_tags import NodeTag
from memory_stage.engines.torch.nodes import Nodes
from memory_stage.engines.torch.registry import Registry

# Gradients with more elements are not copied, so a hook may write into them unnoticed.
MOST_COPIED = 1 << 12


class UserHooks:
    """The hooks of all tensors in one recording.

    Args:
        settle: emits the end of the node that ran last.
        received: registers a gradient that a hook gets.
    """

    def __init__(
        self, registry: Registry, nodes: Nodes, mode: Any, settle: Callable[[], None], received: Callable[[Any], None]
    ) -> None:
        self._registry, self._nodes, self._mode, self._settle, self._received = registry, nodes, mode, settle, received
        # weak references to a dict of hooks and to the hooked tensor's tag, by the id of the dict
        self._noted: dict[int, tuple[weakref.ref[Any], weakref.ref[NodeTag]]] = {}
        self._thread = threading.get_ident()

    def registered(self, x: torch.Tensor) -> None:
        """Record a tensor for which the program has registered a hook."""
        with self._mode.guard, muted():
            if self._registry.is_tensor(x):
                self._registry.record(x)
                self.note(x)

    def note(self, x: torch.Tensor) -> None:
        """Record the dict of a tensor's hooks. The node uses the dict even if the tensor is freed or has a new node."""
        for hooks in (x._backward_hooks, getattr(x, "_post_accumulate_grad_hooks", None)):
            if not hooks:
                continue
            known = self._noted.get(id(hooks))
            if known is not None and known[0]() is hooks:
                continue
            tag = self._nodes.of(x)
            if tag is not None:
                self._noted[id(hooks)] = weakref.ref(hooks), weakref.ref(tag)

    def install(self) -> list[tuple[Any, Any]]:
        """Replace all hooks by observed ones. Return the argument of :meth:`restore`."""
        for record in list(self._registry.tensors.values()):
            x = record.ref()
            if x is not None and x.requires_grad:
                self.note(x)
        placed = []
        for key, (ref, of) in list(self._noted.items()):
            hooks, tag = ref(), of()
            if hooks is None or tag is None:
                del self._noted[key]
                continue
            for number, hook in list(hooks.items()):
                if not isinstance(hook, (_ObservedHook, AfterLeaf)):
                    hooks[number] = _ObservedHook(hook, self._before, self._after, of)
                    placed.append((ref, number))
        return placed

    @staticmethod
    def restore(placed: list[tuple[Any, Any]]) -> None:
        """Restore the program's hooks, except those that the program has removed meanwhile."""
        for ref, number in placed:
            hooks = ref()
            if hooks is not None and isinstance(hooks.get(number), _ObservedHook):
                hooks[number] = hooks[number].hook

    def of_layer(self, real: Any) -> Any:
        """Return a patch of ``BackwardHook.__init__`` that replaces the layer's hooks by observed ones."""

        @functools.wraps(real)
        def made(this: Any, module: Any, user_hooks: Any, *others: Any, **named: Any) -> None:
            if self._mode.is_open:
                name = type(module).__name__
                user_hooks = [_ObservedLayerHook(hook, self._before, self._after, name) for hook in user_hooks]
            real(this, module, user_hooks, *others, **named)

        return made

    def _before(self, x: Any, *others: Any) -> np.ndarray | None:
        """Return a copy of the first gradient that a hook is about to get.

        Return an empty array if the gradient is large, and None if the call is not recorded.
        """
        mode = self._mode
        if not mode.is_open or threading.get_ident() != self._thread or not isinstance(x, torch.Tensor):
            return None
        with mode.guard, muted():
            if not is_drawable(x):
                return None
            self._settle()
            for each in (x, *others):
                self._received(each)
            elements = elements_of(x.detach())
            return elements.copy() if elements.size <= MOST_COPIED else elements[:0]
        return None

    def _after(self, tag: NodeTag | None, before: np.ndarray, now: torch.Tensor, answer: Any, of: str) -> None:
        mode = self._mode
        if not mode.is_open:
            return
        with mode.guard, muted():
            after = elements_of(now.detach())
            given = before if before.size == after.size else after
            wrote = before.size == after.size and not np.array_equal(before, after, equal_nan=True)
            answered = answer if isinstance(answer, torch.Tensor) and self._registry.is_tensor(answer) else None
            mode.emit(events.HookCall(tag, given, answered, after if wrote else given, of))


class _ObservedHook:
    """A hook of the program that reports its calls."""

    def __init__(
        self, hook: Callable[[Any], Any], before: Callable[..., Any], after: Callable[..., None], of: Callable[[], Any]
    ) -> None:
        functools.update_wrapper(self, hook)
        self.hook, self._before, self._after, self._of = hook, before, after, of

    def __call__(self, x: torch.Tensor) -> Any:
        # A hook that runs after a leaf's gradient is accumulated gets the leaf itself.
        gradient = x.grad if x.requires_grad and x.is_leaf and x.grad is not None else x
        before = self._before(gradient)
        answer = self.hook(x)
        if before is not None:
            self._after(self._of(), before, gradient, answer, "")
        return answer


class _ObservedLayerHook:
    """A hook of a layer that reports its calls."""

    def __init__(
        self, hook: Callable[..., Any], before: Callable[..., Any], after: Callable[..., None], name: str
    ) -> None:
        functools.update_wrapper(self, hook)
        self._hook, self._before, self._after, self._name = hook, before, after, name

    def __call__(self, module: Any, sent: Any, came: Any) -> Any:
        gradient = next(_tensors(came), None)
        before = self._before(gradient, *_tensors(came), *_tensors(sent))
        answer = self._hook(module, sent, came)
        if before is not None:
            self._after(None, before, gradient, next(_tensors(answer), None), self._name)
        return answer


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    return (x for x in (value if isinstance(value, (tuple, list)) else (value,)) if isinstance(x, torch.Tensor))
