"""A handle that removes a hook, and hooks that are called after ``backward()`` has added to the gradient of a leaf."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from minitensor.engine.core.history import Leaf
from minitensor.engine.core.tensor import AfterHook


class RemovableHandle:
    """A handle that removes a hook when ``remove()`` is called, or at the end of a ``with`` block on the handle."""

    def __init__(self, remove: Callable[[], object]) -> None:
        self._remove = remove

    def remove(self) -> None:
        """Remove the hook, if it is still registered."""
        self._remove()

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def call_after_accumulation(x: Any, hook: Callable[[Any], Any]) -> RemovableHandle:
    """Call ``hook(x)`` each time after ``backward()`` has added to the gradient of the leaf ``x``.

    Raises:
        RuntimeError: if ``x`` is not a leaf, or does not require grad; in backward, if the hook returns a value.
    """
    node = x._current()
    if node is None:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if type(node) is not Leaf:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    ref = weakref.ref(x)  # a strong reference would keep the tensor alive as long as its node

    def after() -> None:
        tensor = ref()
        if tensor is not None and hook(tensor) is not None:
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")

    handle = AfterHook(after)
    node.add_hook(handle)
    return RemovableHandle(handle.remove)
