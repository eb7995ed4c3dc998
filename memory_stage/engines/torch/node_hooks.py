"""Hooks that report each node of a backward of torch to its pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils.hooks import RemovableHandle

from memory_stage.engines.torch.memory import muted
from memory_stage.engines.torch.node_tags import Mark


class _Hook:
    """A hook at a node. Its errors end the recording, never the backward."""

    def __init__(self, of: Any, mark: Mark) -> None:
        self._of, self._mark = of, mark

    def _do(self, function: Callable[..., None], *arguments: Any) -> None:
        mode = self._of._of._mode
        if not mode.is_open:
            return
        with mode.guard, muted():
            function(self._mark, *arguments)


class Enters(_Hook):
    """A hook before a node."""

    def __call__(self, grads: Sequence[torch.Tensor | None]) -> None:
        """Report the gradients of the node's results."""
        self._do(self._of.entered, grads)


class Leaves(_Hook):
    """A hook after a node."""

    def __init__(self, of: Any, mark: Mark, parents: Sequence[Mark | None]) -> None:
        super().__init__(of, mark)
        self._parents = parents

    def __call__(self, given: Sequence[torch.Tensor | None], came: Any) -> None:
        """Report the gradients for the node's parents."""
        self._do(self._of.passed, self._parents, given)


class Arrived(_Hook):
    """A hook after the node of a leaf."""

    def __init__(self, of: Any, mark: Mark, x: Any) -> None:
        super().__init__(of, mark)
        self._x = x

    def __call__(self, given: Any, came: Any = None) -> None:
        """Report that the leaf has its gradient."""
        self._do(self._of.arrived, self._x())


def when_arrived(fn: Any, hook: Arrived) -> Any:
    """Call ``hook`` when the leaf of a node has its gradient; return a handle that removes the hook.

    A node hook makes torch keep the node's arguments until the node is done, which is too long for a hook of the
    program there. If the program has one, ``hook`` is called after it.
    """
    hooks = getattr(fn.variable, "_post_accumulate_grad_hooks", None)
    if not hooks:
        return fn.register_hook(hook)
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle
