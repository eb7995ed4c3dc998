"""Map tensors to the arrays of a file: each storage to the name of an array, each tensor to a layout in its array."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from minitensor.engine.core.regions import memory_of
from minitensor.engine.core.storage import new_storage
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.arrays import address_of, gpu_of, strided
from minitensor.engine.dtypes import DTYPES, is_supported
from minitensor.engine.files.archive import Unreadable


class StoredLayouts:
    """The arrays to write, by name, and for each tensor an entry with its array's name and its layout in that array.

    With ``keeps_sharing``, a storage is written once and as a whole, even if a tensor shows only a part of it. Loading
    then restores the sharing: tensors that shared a storage share one again, and a tensor that was saved twice is one
    object again. Only a tensor that reads a storage as another dtype is written separately.
    """

    def __init__(self, keeps_sharing: bool) -> None:
        self.members: dict[str, Any] = {}
        self.entries: list[dict[str, Any]] = []
        self._keeps_sharing = keeps_sharing
        self._numbers: dict[int, int] = {}
        self._storages: dict[int, tuple[str, Any]] = {}
        self._alive: list[Any] = []  # an id is only valid while its object lives

    def tensor(self, x: Tensor, path: tuple[Any, ...]) -> int:
        """Register ``x`` and return the number of its entry."""
        if self._keeps_sharing and id(x) in self._numbers:
            return self._numbers[id(x)]
        name, strides, offset = self._member(x, path)
        extra = getattr(x, "_extra", None)
        self._alive.append(x)
        self._numbers[id(x)] = len(self.entries)
        self.entries.append(
            {
                "array": name,
                "shape": list(x._array.shape),
                "strides": strides,
                "offset": offset,
                "kind": type(x).__name__,
                "wants": x._current() is not None,
                "place": "cpu" if gpu_of(x._array) is None else "gpu",
                "name": None if extra is None else extra.name,
            }
        )
        return len(self.entries) - 1

    def _member(self, x: Tensor, path: tuple[Any, ...]) -> tuple[str, list[int], int]:
        """Return the name of the array for ``x``, and the strides and offset of ``x`` in it, in elements."""
        array, storage, size = x._array, x._storage, x._array.itemsize
        apart = any(stride % size for stride in array.strides) or storage.buffer.dtype != array.dtype
        if not self._keeps_sharing or apart:
            return self.array(array, path), _strides_of(array.shape), 0
        if id(storage) not in self._storages:
            cells = memory_of(storage.buffer)
            whole = array.flags.c_contiguous and array.nbytes == cells.nbytes
            self._storages[id(storage)] = self.array(array if whole else cells, path), cells
        name, cells = self._storages[id(storage)]
        return name, [stride // size for stride in array.strides], (address_of(array) - address_of(cells)) // size

    def array(self, array: Any, path: tuple[Any, ...]) -> str:
        """Register ``array`` under a unique name, joined from the keys in ``path``, and return the name."""
        parts = (str(key).encode("utf-8", "replace").decode() for key in path)
        wanted = "/".join(part.replace("/", "_") if part.strip(".") else "_" for part in parts)
        wanted = name = re.sub(r"[\x00-\x1f\\]", "_", wanted)[:200] or "value"
        number = 2
        while name in self.members:
            name, number = f"{wanted} ({number})", number + 1
        self.members[name] = array
        return name


def _strides_of(shape: tuple[int, ...]) -> list[int]:
    """Return the strides of a contiguous array, in elements."""
    strides, step = [0] * len(shape), 1
    for i in reversed(range(len(shape))):
        strides[i], step = step, step * shape[i]
    return strides


def put_on(gpu: Any, array: np.ndarray, entry: dict[str, Any], storages: dict[Any, Any]) -> Tensor:
    """Return the tensor that ``entry`` describes, on a storage on ``gpu`` that contains ``array``.

    ``storages`` caches the storage of each array, so that several tensors can share it.

    Raises:
        Unreadable: if a tensor cannot have this dtype, or if the tensor would extend beyond the array.
    """
    if not is_supported(array.dtype):
        known = ", ".join(DTYPES)
        raise Unreadable(f"the tensor {entry['array']!r} has dtype {array.dtype}; a tensor holds {known}")
    shape, strides, offset = tuple(entry["shape"]), tuple(entry["strides"]), entry["offset"]
    key = entry["array"], id(gpu)
    if key not in storages:
        owned = np.ascontiguousarray(array).reshape(-1)
        cells = owned if gpu is None else gpu.put(owned)
        storages[key] = cells, new_storage(cells)
    cells, storage = storages[key]
    steps = [step * (length - 1) for step, length in zip(strides, shape, strict=True)]
    first, last = offset + sum(min(step, 0) for step in steps), offset + sum(max(step, 0) for step in steps)
    if any(n < 0 for n in shape) or (0 not in shape and not 0 <= first <= last < cells.size):
        raise Unreadable(f"the tensor {entry['array']!r} reaches outside its storage; nothing was loaded")
    size = array.itemsize
    return Tensor._alias(strided(cells, offset, shape, tuple(step * size for step in strides)), storage)
