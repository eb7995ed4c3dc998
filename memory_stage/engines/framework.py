"""Common parts of the engines of PyTorch and Paddle: answers, a guard against errors, patches, threads of libraries."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from memory_stage.engines.protocol import DEFAULT_POLICY, CellLayout, Copied, StorageView


class FrameworkEngine:
    """The part of an :class:`~memory_stage.engines.protocol.Engine` that is the same for every framework.

    A framework has one in-place policy, which compares versions, and one vocabulary. It copies no saved bytes before a
    write. Its storages and nodes are represented by entries of the engine.
    """

    has_framework = True

    def discover_frameworks(self) -> None:
        """Do nothing: this engine is for one framework only."""

    def policy(self, name: str) -> AbstractContextManager[Any]:
        """Change nothing, because there is only one policy."""
        return contextlib.nullcontext()

    def current_policy(self) -> str:
        """Return the default policy."""
        return DEFAULT_POLICY

    def preserves(self, x: Any) -> bool:
        """Return False, because no saved bytes are copied."""
        return False

    def has_other_names(self, x: Any) -> bool:
        """Return False, because events have the names of the framework."""
        return False

    def other_name(self, op: str) -> str:
        """Return the name unchanged."""
        return op

    def is_other_vocabulary(self, frame: FrameType) -> bool:
        """Return False, because there is only one vocabulary."""
        return False

    def key(self, thing: Any) -> int:
        """Return the id of the entry, which does not change while the entry lives."""
        return id(thing)

    def weak(self, thing: Any, on_freed: Callable[[Any], None]) -> Callable[[], Any]:
        """Return a weak reference to the entry, which is freed at the same time as the framework's object."""
        return weakref.ref(thing, on_freed)

    def writer(self, storage: Any, version: int) -> str:
        """Return an empty string, because frameworks log no writes."""
        return ""

    def indices(self, node: Any) -> list[Any]:
        """Return an empty list, because an index tensor is not distinguished from other saved tensors."""
        return []

    def copies(self, node: Any, position: int, storage: Any) -> list[Copied]:
        """Return an empty list, because no saved bytes are copied."""
        return []

    def is_checked(self, node: Any, position: int) -> bool:
        """Return False, because only versions are compared."""
        return False

    def elements(self, gradient: Any) -> np.ndarray:
        """Return the gradient, which is an array already."""
        return np.asarray(gradient)


def view_of_array(array: np.ndarray, begin: int) -> StorageView:
    """Describe how an array uses the shared storage at the address ``begin``."""
    offset = (array.__array_interface__["data"][0] - begin) // array.itemsize
    strides = [stride // array.itemsize for stride in array.strides]
    return StorageView(CellLayout(list(array.shape), strides, offset), array.dtype.name, False, True)


class Guard:
    """A context manager around an observer: if the observer raises an error, ``fail`` is called and the program
    continues.

    ``KeyboardInterrupt`` and ``SystemExit`` are not caught.

    Args:
        fail: called with the error; it has to end the observation.
    """

    __slots__ = ("_fail",)

    def __init__(self, fail: Callable[[Exception], None]) -> None:
        self._fail = fail

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        self._fail(error)
        return True


class Patches:
    """Patched attributes of modules and classes."""

    def __init__(self) -> None:
        self.placed: list[tuple[Any, str, Any, Any]] = []  # owner, name, patch and original of each attribute

    def place(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Replace an attribute by the patch that ``make`` returns for the original."""
        real = vars(owner)[name]
        mine = make(real)
        self.placed.append((owner, name, mine, real))
        setattr(owner, name, mine)

    def restore(self) -> None:
        """Restore the original attributes, except those that the program has patched since."""
        while self.placed:
            owner, name, mine, real = self.placed.pop()
            if vars(owner).get(name) is mine:
                setattr(owner, name, real)


#: Modules of libraries, whose threads do not belong to the program.
_LIBRARY_MODULES = ("torch.utils.data", "paddle.io", "memory_stage", "book_kit")


def is_library_thread(this: Any) -> bool:
    """True if a thread, or a task of a pool, runs a function of a library."""
    target = getattr(this, "_target", None)
    module = getattr(target, "__module__", None) or type(this).__module__
    return str(module).startswith(_LIBRARY_MODULES)
