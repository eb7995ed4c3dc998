"""``x.data``: the same memory with a version of its own, so that nobody learns of a write through it.

That is PyTorch's meaning, and its danger: what backward saved may be overwritten and no error follows. ``detach()``
shares the version, too, and a write through it is noticed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitensor.core.history import Leaf, Node, new_leaf
from minitensor.core.storage import Storage
from minitensor.core.tensor import Hook
from minitensor.core.tensor import Tensor as BaseTensor
from minitensor.device.arrays import gpu_of
from minitensor.dtypes import FLOATS
from minitensor.events import watch
from minitensor.sharing.borrowing import lent
from minitensor.torch.tensor import Tensor, as_kind


class Unversioned(Storage):
    """A second storage on the memory of another, ``of``, which counts the bytes and lives at least as long.

    For the other it is as if numpy looked at its memory: ``check_foreign_writes`` finds what is written here. ``look``
    is the array that numpy would have.
    """

    __slots__ = ("of", "look")
    of: Storage
    look: Any

    def __del__(self) -> None:  # type: ignore[override]  # nothing is counted
        pass  # the other one is counted


def root(storage: Storage) -> Storage:
    """The storage that counts the bytes."""
    while isinstance(storage, Unversioned):
        storage = storage.of
    return storage


def _on(storage: Storage, version: int) -> Unversioned:
    other = Unversioned.__new__(Unversioned)
    other.buffer, other.nbytes, other.version, other.savers = storage.buffer, 0, version, None
    other.of = root(storage)
    other.look = None
    if gpu_of(storage.buffer) is None:
        other.look = lent(BaseTensor._alias(storage.buffer, other.of))
    return other


def _get(x: Tensor) -> Tensor:
    """The same memory, with a version of its own (from 0 on) and no history."""
    alias = as_kind(BaseTensor._alias(x._array, _on(x._storage, 0)))
    if watch.listener is not None:
        watch.listener("view", alias, "data", (x,))
    return alias


def _set(x: Tensor, other: Any) -> None:
    """Let ``x`` look at the memory of ``other``; its version and its history stay.

    Raises:
        TypeError, RuntimeError: when ``other`` is no tensor, of another dtype, or of another shape where a gradient
            is wanted.
    """
    if not isinstance(other, BaseTensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(other).__name__}")
    node = x._current()
    if node is not None:
        if other._array.dtype not in FLOATS:
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        alike = other._array.dtype == x._array.dtype and other._array.shape == x._array.shape
        if not alike and (type(node) is not Leaf or node.saved is not None):
            raise RuntimeError(
                f"this tensor requires grad, and its gradient has shape {list(x._array.shape)} and dtype "
                f"{x.dtype.name}; its data cannot become a tensor of shape {list(other._array.shape)} and dtype "
                f"{other._array.dtype.name}"
            )
        if not alike:
            node = _another_leaf(node, x, other._array.shape)
    if root(other._storage) is root(x._storage) and other._array.shape == x._array.shape:
        same = np.may_share_memory(x._array, other._array) and other._array.strides == x._array.strides
        if same and other.data_ptr() == x.data_ptr():
            return  # `x.data += 1` ends here
    storage = _on(other._storage, x._storage.version)
    x._array, x._storage, x._history = other._array, storage, None
    x._node = node


def _another_leaf(old: Node, x: Tensor, shape: tuple[int, ...]) -> Leaf:
    """The leaf of a tensor whose gradient will have another shape or dtype. What was recorded before has no place."""
    leaf = new_leaf(shape)
    leaf.hooks = old.hooks
    was = f"shape {list(x._array.shape)} and dtype {x.dtype.name}"

    def refuse(_: Any) -> None:
        raise RuntimeError(
            f"backward reached a leaf that was of {was} when this was computed, and its `data` has been set to a "
            f"tensor of another shape or dtype since (Module.to and Module.double do so). Compute the result anew."
        )

    old.hooks = [Hook(refuse)]
    return leaf


Tensor.data = property(_get, _set)  # type: ignore[attr-defined]  # put on the class here
