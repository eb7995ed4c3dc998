"""Observe the gradient hooks of a program.

Paddle does not show its hooks. Therefore, while a subscription is open, a hook that the program registers is replaced
by an :class:`ObservedHook`, which calls the hook and reports the call. It stays after the recording and then only calls
the hook.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from memory_stage.engines.paddle import tensor_access
from memory_stage.engines.paddle.entries import GradNode

#: In 2.6.2 and 3.3.1 ``GradNodePyLayer`` ignores the gradient that a hook returns.
IGNORED_ANSWER = (
    "A hook returns another gradient for the result of `{}`: Paddle calls such hooks, and ignores the gradients that "
    "they return."
)

MOST_COPIED = 1 << 12  # elements of a gradient that are copied, to find out whether a hook has written into it


class ObservedHook:
    """A hook of the program that reports its calls.

    Args:
        before: is called before the hook, and returns the numbers of the gradient, or None to report nothing.
        after: is called after it with the node, these numbers, the gradient and the hook's answer.
    """

    def __init__(
        self,
        hook: Callable[[Any], Any],
        node: weakref.ref[GradNode],
        before: Callable[[Any], np.ndarray | None],
        after: Callable[..., None],
    ) -> None:
        functools.update_wrapper(self, hook)
        self._hook, self._node, self._before, self._after = hook, node, before, after

    def __call__(self, gradient: Any) -> Any:
        """Call the hook and report it."""
        before = self._before(gradient)
        answer = self._hook(gradient)
        if before is not None:
            self._after(self._node(), before, gradient, answer)
        return answer


def numbers(gradient: Any) -> np.ndarray | None:
    """Return a copy of a gradient's numbers, empty if it is long; None if they cannot be read."""
    if not tensor_access.is_drawable(gradient):
        return None
    if int(np.prod([int(n) for n in gradient.shape])) > MOST_COPIED:
        return np.empty(0)
    return tensor_access.copied(gradient)


def before_and_after(before: np.ndarray, gradient: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of a gradient before and after a hook; those after it twice if the former were not copied."""
    after = tensor_access.copied(gradient)
    return (before, after) if before.shape == after.shape else (after, after)
