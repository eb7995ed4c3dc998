"""Hooks that the recorder adds to the nodes of a backward of torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils.hooks import RemovableHandle

from memory_stage.engines.torch.memory import muted
from memory_stage.engines.torch.node_tags import NodeTag


class _Hook:
    """A hook at a node. An error in it ends the recording, and backward continues."""

    def __init__(self, of: Any, tag: NodeTag) -> None:
        self._of, self._tag = of, tag

    def _run_guarded(self, function: Callable[..., None], *arguments: Any) -> None:
        mode = self._of._of._mode
        if not mode.is_open:
            return
        with mode.guard, muted():
            function(self._tag, *arguments)


class BeforeNode(_Hook):
    """A hook that runs before a node."""

    def __call__(self, grads: Sequence[torch.Tensor | None]) -> None:
        """Report the gradients that the node gets."""
        self._run_guarded(self._of.before_node, grads)


class AfterNode(_Hook):
    """A hook that runs after a node."""

    def __init__(self, of: Any, tag: NodeTag, parents: Sequence[NodeTag | None]) -> None:
        super().__init__(of, tag)
        self._parents = parents

    def __call__(self, given: Sequence[torch.Tensor | None], came: Any) -> None:
        """Report the gradients that the node sends to its parents."""
        self._run_guarded(self._of.after_node, self._parents, given)


class AfterLeaf(_Hook):
    """A hook that runs after the gradient of a leaf is stored."""

    def __init__(self, of: Any, tag: NodeTag, x: Any) -> None:
        super().__init__(of, tag)
        self._x = x

    def __call__(self, given: Any, came: Any = None) -> None:
        """Report that the gradient of the leaf is stored."""
        self._run_guarded(self._of.after_leaf, self._x())


def call_after_leaf(fn: Any, hook: AfterLeaf) -> Any:
    """Call ``hook`` when the gradient of a node's leaf is stored. Return a handle that removes the hook.

    A hook of the node itself would make torch keep the node's arguments until the node has run, which a hook of the
    program could observe. If the leaf has a hook of the program, ``hook`` is called after that.
    """
    hooks = getattr(fn.variable, "_post_accumulate_grad_hooks", None)
    if not hooks:
        return fn.register_hook(hook)
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle
