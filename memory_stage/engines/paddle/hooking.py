"""Observe the gradient hooks of a program, and remove the recorder's frames from the errors of hooks.

Python cannot list the hooks of a tensor of Paddle. Therefore, while a subscription is open, each hook that the program
registers is replaced by an :class:`ObservedHook`, which calls the hook and reports the call. The replacement remains
after the recording and then only calls the hook.
"""

from __future__ import annotations

import functools
import os
import re
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from memory_stage.engines.paddle import tensor_access
from memory_stage.engines.paddle.entries import GradNode
from memory_stage.messages import Text, message

# Gradients with more elements are not copied, so a hook may write into them unnoticed.
MOST_COPIED = 1 << 12


def describe_ignored_answer(operation: str) -> Text:
    """Return a sentence: Paddle 2.6.2 and 3.3.1 ignore the gradient from a hook on a custom function's result."""
    return message(
        "A hook returns another gradient for the result of `{operation}`. Paddle calls such a hook and ignores the "
        "gradient that it returns.",
        operation=operation,
    )


class ObservedHook:
    """A hook of the program that reports its calls.

    Args:
        before: called before the hook with the gradient; returns its numbers, or None to report nothing.
        after: called after the hook with the node, these numbers, the gradient and the hook's result.
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
        """Call the hook and report the call."""
        before = self._before(gradient)
        answer = self._hook(gradient)
        if before is not None:
            self._after(self._node(), before, gradient, answer)
        return answer


def numbers(gradient: Any) -> np.ndarray | None:
    """Return a copy of a gradient's numbers; an empty array for a long gradient, None if it cannot be read."""
    if not tensor_access.is_drawable(gradient):
        return None
    if int(np.prod([int(n) for n in gradient.shape])) > MOST_COPIED:
        return np.empty(0)
    return tensor_access.copied(gradient)


def before_and_after(before: np.ndarray, gradient: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of a gradient before and after a hook; without a copy from before, both are those after it."""
    after = tensor_access.copied(gradient)
    return (before, after) if before.shape == after.shape else (after, after)


_HERE = str(Path(__file__).resolve().parents[2]) + os.sep
_FRAME = re.compile(r"^  (.+)\(\d+\): \S+$")


def without_frames(error: BaseException) -> None:
    """Remove the frames of this package, and of ``runpy``, from the text of Paddle's error."""
    text = error.args[0] if len(error.args) == 1 else None
    if not isinstance(text, str) or "\nAt:\n" not in text or _HERE not in text:
        return
    error.args = ("\n".join(line for line in text.split("\n") if not _is_ours(line)),)


def _is_ours(line: str) -> bool:
    found = _FRAME.match(line)
    return found is not None and (found[1].startswith(_HERE) or found[1] == "<frozen runpy>")
