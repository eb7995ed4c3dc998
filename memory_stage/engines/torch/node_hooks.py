"""Hooks that the recorder adds to the nodes of a backward graph of torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils.hooks import RemovableHandle

from memory_stage.engines.torch.memory import muted
from memory_stage.engines.torch.node_tags import NodeTag


class _Hook:
    """A hook at a node. An error in it ends the recording, and backward continues.

    Args:
        backward_pass: the ``backward._Pass`` that handles the calls of the hook.
        tag: the tag of the node.
    """

    def __init__(self, backward_pass: Any, tag: NodeTag) -> None:
        self._pass, self._tag = backward_pass, tag

    def _run_guarded(self, function: Callable[..., None], *arguments: Any) -> None:
        mode = self._pass._of._mode
        if not mode.is_open:
            return
        with mode.guard, muted():
            function(self._tag, *arguments)


class BeforeNode(_Hook):
    """A hook that runs before a node."""

    def __call__(self, grads: Sequence[torch.Tensor | None]) -> None:
        """Report the gradients that the node gets."""
        self._run_guarded(self._pass.before_node, grads)


class AfterNode(_Hook):
    """A hook that runs after a node."""

    def __init__(self, backward_pass: Any, tag: NodeTag, parents: Sequence[NodeTag | None]) -> None:
        super().__init__(backward_pass, tag)
        self._parents = parents

    def __call__(self, grad_inputs: Sequence[torch.Tensor | None], grad_outputs: Any) -> None:
        """Report the gradients that the node sends to its parents."""
        self._run_guarded(self._pass.after_node, self._parents, grad_inputs)


class AfterLeaf(_Hook):
    """A hook that runs after the gradient of a leaf is stored."""

    def __init__(self, backward_pass: Any, tag: NodeTag, x: Any) -> None:
        super().__init__(backward_pass, tag)
        self._x = x

    def __call__(self, *arguments: Any) -> None:
        """Report that the gradient of the leaf is stored. The arguments depend on how the hook was added."""
        self._run_guarded(self._pass.after_leaf, self._x())


def call_after_leaf(fn: Any, hook: AfterLeaf) -> Any:
    """Call ``hook`` when the gradient of a node's leaf is stored. Return a handle that removes the hook.

    If the program has added hooks that run when the leaf's gradient is stored, ``hook`` is added after them. Otherwise,
    it is added to the node. On the node, it would make torch keep the gradient longer, which those hooks could notice.
    """
    hooks = getattr(fn.variable, "_post_accumulate_grad_hooks", None)
    if not hooks:
        return fn.register_hook(hook)
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle
