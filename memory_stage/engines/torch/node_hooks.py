"""What a backward of torch calls before and after each node: hooks that lead to the pass that they belong to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils.hooks import RemovableHandle

from memory_stage.engines.torch.memory import unheard
from memory_stage.engines.torch.node_tags import Mark


class _Hook:
    """A hook at a node. What goes wrong in it ends the recording, never the backward."""

    def __init__(self, of: Any, mark: Mark) -> None:
        self._of, self._mark = of, mark

    def _do(self, function: Callable[..., None], *arguments: Any) -> None:
        mode = self._of._of._mode
        if not mode.is_open:
            return
        try:
            with unheard():
                function(self._mark, *arguments)
        except Exception as failure:
            mode._fail(failure)


class Enters(_Hook):
    """Before a node."""

    def __call__(self, grads: Sequence[torch.Tensor | None]) -> None:
        """It is given these gradients of its results."""
        self._do(self._of.entered, grads)


class Leaves(_Hook):
    """After a node."""

    def __init__(self, of: Any, mark: Mark, parents: Sequence[Mark | None]) -> None:
        super().__init__(of, mark)
        self._parents = parents

    def __call__(self, given: Sequence[torch.Tensor | None], came: Any) -> None:
        """It has made these gradients for its parents."""
        self._do(self._of.passed, self._parents, given)


class Arrived(_Hook):
    """After the node of a leaf."""

    def __init__(self, of: Any, mark: Mark, x: Any) -> None:
        super().__init__(of, mark)
        self._x = x

    def __call__(self, given: Any, came: Any = None) -> None:
        """The leaf holds its gradient."""
        self._do(self._of.arrived, self._x())


def when_arrived(fn: Any, hook: Arrived) -> Any:
    """Have ``hook`` called when the leaf of a node holds its gradient; gives what takes it away again.

    A hook at a node has torch hold what the node was given until it is done: too long for a hook that the program has
    there. Where there is one, this one is called after it.
    """
    hooks = getattr(fn.variable, "_post_accumulate_grad_hooks", None)
    if not hooks:
        return fn.register_hook(hook)
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle
