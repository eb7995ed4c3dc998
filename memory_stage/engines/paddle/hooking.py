"""Hooks of a program at gradients: told when they have run.

Paddle shows nobody its hooks. So whoever gives one to a tensor while an ear is open gives Paddle a stand-in
(:class:`Telling`), which calls the hook and tells. It stays when the recording is over, and calls the hook only then.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from memory_stage.engines.paddle import tensor_access
from memory_stage.engines.paddle.entries import GradNode

#: Of 2.6.2 and 3.3.1: ``GradNodePyLayer`` goes on with what it was given.
NOT_TAKEN = (
    "A hook answers another gradient for the result of `{}`: Paddle calls hooks there, and does not go on with what "
    "they answer."
)

MOST_COPIED = 1 << 12  # elements of a gradient, to see whether a hook has written into it


class Telling:
    """A hook of the program's, which tells when it has run.

    Args:
        begins: asked before it: the numbers of the gradient, copied; None where nothing is told.
        told: called after it, with the node, these numbers, the gradient and the answer.
    """

    def __init__(
        self,
        hook: Callable[[Any], Any],
        of: weakref.ref[GradNode],
        begins: Callable[[Any], np.ndarray | None],
        told: Callable[..., None],
    ) -> None:
        functools.update_wrapper(self, hook)
        self._hook, self._of, self._begins, self._told = hook, of, begins, told

    def __call__(self, gradient: Any) -> Any:
        """In place of the hook."""
        before = self._begins(gradient)
        answer = self._hook(gradient)
        if before is not None:
            self._told(self._of(), before, gradient, answer)
        return answer


def numbers(gradient: Any) -> np.ndarray | None:
    """Those of a gradient, before a hook; none of a long one, None where there are none to read."""
    if not tensor_access.is_drawable(gradient):
        return None
    if int(np.prod([int(n) for n in gradient.shape])) > MOST_COPIED:
        return np.empty(0)
    return tensor_access.copied(gradient)


def seen(before: np.ndarray, gradient: Any) -> tuple[np.ndarray, np.ndarray]:
    """What a hook was given, and what that is since."""
    after = tensor_access.copied(gradient)
    return (before, after) if before.shape == after.shape else (after, after)
