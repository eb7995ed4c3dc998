"""Hooks that report each node of a backward of torch to its pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils.hooks import RemovableHandle

from memory_stage.engines.torch.memory import muted
from memory_stage.engines.torch.node_tags import NodeTag


class _Hook:
    """A hook at a node. Its errors end the recording, never the backward."""

    def __init__(self, of: Any, tag: NodeTag) -> None:
        self._of, self._tag = of, tag

    def _run_guarded(self, function: Callable[..., None], *arguments: Any) -> None:
        mode = self._of._of._mode
        if not mode.is_open:
            return
        with mode.guard, muted():
            function(self._tag, *arguments)


class BeforeNode(_Hook):
    """A hook before a node."""

    def __call__(self, grads: Sequence[torch.Tensor | None]) -> None:
        """Report the gradients of the node's results."""
        self._run_guarded(self._of.before_node, grads)


class AfterNode(_Hook):
    """A hook after a node."""

    def __init__(self, of: Any, tag: NodeTag, parents: Sequence[NodeTag | None]) -> None:
        super().__init__(of, tag)
        self._parents = parents

    def __call__(self, given: Sequence[torch.Tensor | None], came: Any) -> None:
        """Report the gradients for the node's parents."""
        self._run_guarded(self._of.after_node, self._parents, given)


class AfterLeaf(_Hook):
    """A hook after the node of a leaf."""

    def __init__(self, of: Any, tag: NodeTag, x: Any) -> None:
        super().__init__(of, tag)
        self._x = x

    def __call__(self, given: Any, came: Any = None) -> None:
        """Report that the leaf has its gradient."""
        self._run_guarded(self._of.after_leaf, self._x())


def call_after_leaf(fn: Any, hook: AfterLeaf) -> Any:
    """Call ``hook`` when the leaf of a node has its gradient; return a handle that removes the hook.

    A hook of the node would make torch keep the node's arguments until the node is done, and a hook of the program
    could observe that. If the program has one, ``hook`` is called after it.
    """
    hooks = getattr(fn.variable, "_post_accumulate_grad_hooks", None)
    if not hooks:
        return fn.register_hook(hook)
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle
