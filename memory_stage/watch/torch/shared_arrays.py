"""Arrays of NumPy and buffers that share their memory with tensors of PyTorch, and leaves made from copied numbers.

NumPy writes such memory without calling torch. Therefore a checksum of the memory is computed when an operation of the
graph reads it. Before backward, a second checksum shows if the memory was written in the meantime.
"""

from __future__ import annotations

import ctypes
import weakref
import zlib
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

#: Functions that make a tensor on the memory of an array, and methods that make an array on the memory of a tensor.
IMPORTS, EXPORTS = frozenset(("as_tensor", "asarray", "from_numpy", "frombuffer")), frozenset(("numpy", "__array__"))

#: Operations that overwrite a tensor, or a part of it, without reading it. A program may refill an array with them in
#: each iteration, so their writes are not counted as repeated changes.
_INITIALIZING = frozenset(("copy_", "fill_", "zero_", "normal_", "uniform_", "random_", "setitem", "bernoulli_"))

MOST_SUMS = 2_000  # the largest number of checksums for one array
MOST_NODES_OF_A_CALL = 64
MOST_SUMMED = 1 << 22  # the largest number of bytes in a checksum; of longer memory only a part is used

#: Functions that copy numbers into a new leaf.
COPYING = frozenset(("tensor", "as_tensor", "asarray"))

#: How many tensors of a list are examined, and how many backward passes are checked after the last copy.
MOST_GIVEN, CHECKED_PASSES = 64, 4


@dataclass
class SharedArray:
    """Memory that a tensor shares with an array.

    Attributes:
        array: a weak reference to the array or, if the memory is that of a buffer, to the tensor.
        function: the function that shared the memory, such as ``from_numpy``.
        line: the index of the line that called the function.
        is_readonly: True if the array or buffer must not be written.
        is_repeated: True if the same line shared this memory before and the memory still has the numbers that torch
            wrote after that.
        sums: the checksums, by the sequence number of the node and the addresses of the tensor that it read.
    """

    array: weakref.ref[Any]
    function: str
    line: int
    is_readonly: bool
    sums: OrderedDict[tuple[int, int, int], int] = field(default_factory=OrderedDict)
    is_repeated: bool = False


class SharedArrays:
    """The shared arrays that are alive.

    Attributes:
        readonly_writes: maps a pair of lines to an operation: the line that shared read-only memory, and the line in
            which the operation wrote it.
        repeated_writes: maps a pair of lines to an operation: the line that shared the same part of an array again and
            again, and the line in which the operation changed this part each time.
    """

    def __init__(self) -> None:
        self._shared: dict[int, SharedArray] = {}
        self.readonly_writes: dict[tuple[int, int], str] = {}
        self.repeated_writes: dict[tuple[int, int], str] = {}
        #: Parts of arrays that torch has changed, by line and addresses, each with the memory's owner and a checksum.
        self._changed: OrderedDict[tuple[int, int, int], tuple[weakref.ref[Any], int]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._shared)

    def find(self, storage: int) -> SharedArray | None:
        """Return the array that shares a storage, given the storage's address; None if there is none."""
        return self._shared.get(storage)

    def add(self, function: str, line: int, given: Any, result: Any) -> None:
        """Record the call of a function that may have shared memory.

        Args:
            line: the index of the line that called it.
        """
        array, x = (given, result) if isinstance(result, torch.Tensor) else (result, given)
        if not isinstance(x, torch.Tensor) or x.device.type != "cpu" or x.layout is not torch.strided or not x.numel():
            return
        storage, known = torch._C._storage_address(x), self._shared
        if isinstance(array, np.ndarray):
            if array.__array_interface__["data"][0] != x.data_ptr():
                return  # the function has copied the memory
            ref = weakref.ref(array, lambda _: known.pop(storage, None))
            is_readonly = function in IMPORTS and not array.flags.writeable
            self._shared[storage] = SharedArray(ref, function, line, is_readonly)
            if function in IMPORTS and not is_readonly and array.flags.c_contiguous:
                self._shared[storage].is_repeated = self._is_as_changed(array, line)
        elif function == "frombuffer":
            ref = weakref.ref(x, lambda _: known.pop(storage, None))
            self._shared[storage] = SharedArray(ref, function, line, memoryview(array).readonly)

    def on_write(self, storage: int, line: int, operation: str) -> None:
        """Record a write of torch into a storage."""
        shared = self._shared.get(storage)
        if shared is None:
            return
        if shared.is_readonly:
            self.readonly_writes.setdefault((shared.line, line), operation)
        array = shared.array()
        if shared.function in IMPORTS and isinstance(array, np.ndarray) and operation not in _INITIALIZING:
            if shared.is_repeated:
                self.repeated_writes.setdefault((shared.line, line), operation)
            if array.flags.c_contiguous and array.nbytes:
                begin = array.__array_interface__["data"][0]
                extent = begin, begin + array.nbytes
                self._changed[(shared.line, *extent)] = weakref.ref(_owner(array)), checksum(*extent)
                if len(self._changed) > MOST_SUMS:
                    self._changed.popitem(last=False)

    def _is_as_changed(self, array: np.ndarray, line: int) -> bool:
        """True if a line shares memory again, and the memory still has the numbers that torch wrote into it."""
        begin = array.__array_interface__["data"][0]
        known = self._changed.get((line, begin, begin + array.nbytes))
        if known is None:
            return False
        owner, before = known
        return owner() is _owner(array) and before == checksum(begin, begin + array.nbytes)

    def on_read(self, x: torch.Tensor, storage: int, extent: tuple[int, int], node: int) -> None:
        """Record that a node of the graph has read a tensor."""
        shared = self._shared.get(storage)
        if shared is None or not x.numel():
            return
        shared.sums[(node, *extent)] = checksum(*extent)
        if len(shared.sums) > MOST_SUMS:
            shared.sums.popitem(last=False)

    def is_changed(self, storage: int, extent: tuple[int, int], node: int) -> bool:
        """Return True if memory has changed since a node read it.

        Args:
            extent: the addresses of the first byte and of the byte after the last one.
            node: the sequence number of the node. ``on_read`` got the number of the first node of the same call,
                which is at most :data:`MOST_NODES_OF_A_CALL` smaller.
        """
        shared = self._shared.get(storage)
        if shared is None:
            return False
        near = [
            (first, value) for (first, *part), value in shared.sums.items() if tuple(part) == extent and first <= node
        ]
        first, before = max(near, default=(node - MOST_NODES_OF_A_CALL - 1, 0))
        return node - first <= MOST_NODES_OF_A_CALL and before != checksum(*extent)

    @property
    def has_sums(self) -> bool:
        """True if a node of the graph has read shared memory."""
        return any(each.sums for each in self._shared.values())


def _owner(array: Any) -> Any:
    """Return the array that owns the memory: the last one in the chain of ``base``."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def checksum(begin: int, end: int) -> int:
    """Return a checksum of memory, which must not have been freed."""
    memory: Any = (ctypes.c_char * (end - begin)).from_address(begin)
    data: Any = np.frombuffer(memory, np.uint8)
    step = -(-len(data) // MOST_SUMMED)
    part: Any = data if step <= 1 else np.ascontiguousarray(data[:: step | 1])
    return zlib.crc32(part)


@dataclass(frozen=True)
class NumberCopy:
    """A call that copied numbers into a leaf.

    Attributes:
        line: the index of the line that called the function.
        shapes: the shapes of the tensors that were passed; () if Python numbers were passed.
        is_list: True if the tensors were passed in a list or a tuple.
    """

    line: int
    shapes: tuple[tuple[int, ...], ...]
    is_list: bool


class NumberCopies:
    """The calls that copied numbers into a leaf that is still alive.

    Attributes:
        unchecked_passes: the number of coming backward passes that have to be checked for such leaves.
    """

    def __init__(self) -> None:
        self._made: dict[int, tuple[weakref.ref[torch.Tensor], NumberCopy]] = {}
        self.unchecked_passes = 0

    def add(self, line: int, given: Any, result: Any) -> None:
        """Record a call that may have cut a history.

        These are calls in which only tensors were passed, at least one of which requires a gradient, and calls in which
        no tensor was passed but the leaf requires a gradient.

        Args:
            result: the leaf that the call returned.
        """
        if not isinstance(result, torch.Tensor) or result is given or not result.is_leaf:
            return
        is_list = isinstance(given, (list, tuple))
        entries = list(given[:MOST_GIVEN]) if is_list else [given]
        tensors = [each for each in entries if isinstance(each, torch.Tensor)]
        if any(each.requires_grad for each in tensors) and len(tensors) == len(entries):
            shapes = tuple(tuple(each.shape) for each in tensors)
        elif tensors or not result.requires_grad:
            return
        else:
            shapes = ()
        key, known = id(result), self._made
        known[key] = weakref.ref(result, lambda _: known.pop(key, None)), NumberCopy(line, shapes, is_list)
        self.unchecked_passes = CHECKED_PASSES

    def find(self, x: Any) -> NumberCopy | None:
        """Return the call that made a leaf; None if it is not in the log."""
        ref, copy = self._made.get(id(x), (None, None))
        return copy if ref is not None and ref() is x else None
