"""Memory shared with numpy, and with every library that supports DLPack.

Only four functions share memory of the host, and copy no byte: :func:`from_numpy`, ``from_dlpack``,
``x.numpy(share=True)`` and ``x.__dlpack__()``. All others, such as ``to_tensor``, ``x.numpy()`` and ``np.asarray(x)``,
copy.

* If an outside object uses the memory of a tensor, this memory stays allocated and counted as long as the object lives.
* If a tensor uses the memory of an outside object, this memory is not counted, because the engine did not allocate it.
  The tensor keeps the memory alive.
* A range of memory belongs to one storage. If it is shared again, in whole or in part, the new tensor uses the same
  storage, so that the version counts every write by the engine. If that is impossible, the function raises ValueError.
* Memory that is read-only outside is read-only in the engine, and vice versa.
* The engine does not notice writes from outside; :mod:`minitensor.engine.sharing.foreign_writes` can detect them.
"""

from __future__ import annotations

import weakref
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from minitensor.engine.checks import shown
from minitensor.engine.core.regions import overlaps_itself
from minitensor.engine.core.storage import Storage
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.arrays import address_of, byte_bounds, gpu_of, host_array
from minitensor.engine.device.places import Place
from minitensor.engine.dtypes import BY_NUMPY, DTYPES, is_supported
from minitensor.engine.events import StorageCreated, TensorCreated, watch


class Window:
    """The ``base`` of a shared array. Its attribute ``keeps`` keeps the owner of the memory alive."""

    __slots__ = ("__array_interface__", "_dtype", "keeps", "__weakref__")

    def __init__(
        self, at: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype, writeable: bool, keeps: Any
    ) -> None:
        self.__array_interface__ = {
            "version": 3,
            "typestr": dtype.str,
            "shape": shape,
            "strides": strides,
            "data": (at, not writeable),
        }
        self._dtype, self.keeps = dtype, keeps

    def array(self) -> np.ndarray:
        """Return the array. A view restores bfloat16, which the array interface describes as two bytes of any kind."""
        found: np.ndarray = np.asarray(self)
        return found if found.dtype == self._dtype else found.view(self._dtype)

    @classmethod
    def on(cls, array: np.ndarray, writeable: bool, keeps: Any) -> Window:
        """Return a window for the elements of ``array``."""
        return cls(address_of(array), array.shape, array.strides, array.dtype, writeable, keeps)


# ---------- registry of shared storages ----------


class _Shared:
    """Entry of the registry for a storage that is or was shared.

    Attributes:
        storage: a weak reference to the storage.
        begin, end: the address range of its memory; an empty range if it has no bytes or is on a GPU.
        for_good: True if other code uses the memory without a window, so that the end of this use is unknown.
        windows: the windows through which other code uses the memory.
    """

    __slots__ = ("storage", "begin", "end", "for_good", "windows")

    def __init__(self, storage: Storage) -> None:
        key = id(storage)
        self.storage = weakref.ref(storage, lambda _: _forget(key))
        on_host = gpu_of(storage.buffer) is None
        self.begin, self.end = byte_bounds(storage.buffer) if on_host else (0, 0)
        self.for_good = False
        self.windows: weakref.WeakSet[Window] = weakref.WeakSet()


_by_id: dict[int, _Shared] = {}
#: The entries with bytes on the host, sorted by address. Their ranges do not overlap.
_by_address: list[_Shared] = []

#: Functions that are called with each storage that is about to be shared.
when_shared: list[Callable[[Storage], None]] = []


def _begin(shared: _Shared) -> int:
    return shared.begin


def entry_of(storage: Storage) -> _Shared:
    """Return the entry of ``storage``, which is about to be shared; create it if there is none."""
    shared = _by_id.get(id(storage))
    if shared is None:
        shared = _by_id[id(storage)] = _Shared(storage)
        if shared.begin < shared.end:
            _by_address.insert(bisect_left(_by_address, shared.begin, key=_begin), shared)
    return shared


def _forget(key: int) -> None:
    """Remove the entry of a freed storage."""
    shared = _by_id.pop(key)
    if shared.begin < shared.end:
        del _by_address[bisect_left(_by_address, shared.begin, key=_begin)]


def _overlapping(begin: int, end: int) -> list[_Shared]:
    """Return the entries with a byte from address ``begin`` to before ``end``."""
    first = bisect_right(_by_address, begin, key=_begin)
    if first and _by_address[first - 1].end > begin:
        first -= 1
    return _by_address[first : bisect_left(_by_address, end, key=_begin)]


def storage_around(begin: int, end: int) -> Storage | None:
    """Return the shared storage that has all bytes from address ``begin`` to before ``end``; None if there is none."""
    for shared in _overlapping(begin, end):
        storage = shared.storage()
        if storage is not None and shared.begin <= begin and end <= shared.end:
            return storage
    return None


def is_shared(storage: Storage) -> bool:
    """True if other code may read or write ``storage`` now, so that its memory must not be reused."""
    shared = _by_id.get(id(storage))
    return shared is not None and (shared.for_good or len(shared.windows) > 0)


def shared_storages() -> list[Storage]:
    """Return the storages that are shared now."""
    storages = [shared.storage() for shared in _by_id.values()]
    return [storage for storage in storages if storage is not None and is_shared(storage)]


def _notify(storage: Storage) -> None:
    for listener in when_shared:
        listener(storage)


# ---------- borrowing ----------


def from_numpy(array: np.ndarray) -> Tensor:
    """Return a tensor that shares the memory of ``array``: a write into one is visible in the other. Nothing is copied.

    The tensor is on the host and requires no gradient. Its shape, strides and dtype are those of the array, which may
    be any view; ``np.memmap`` and ``np.matrix`` are treated as plain arrays. If the array is read-only, or its elements
    share memory, the tensor is read-only. Its bytes are not counted, because numpy owns them.

    Raises:
        TypeError: if ``array`` is not an array, or is of a subclass that may hold more than numbers, such as a masked
            array; or if tensors do not support its dtype or byte order.
        ValueError: if the elements are not aligned to their size, if only a part of the memory is shared already, or if
            all of it is shared already, but with another dtype.
    """
    return borrow("from_numpy", as_plain_array("from_numpy", array))


def as_plain_array(op: str, array: Any) -> np.ndarray:
    """Return ``array``, or a view of it, as a plain array with a dtype that tensors support.

    Raises:
        TypeError, ValueError: as in :func:`from_numpy`.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(
            f"{op}: the argument must be a numpy array, whose memory is shared, not {type(array).__name__}; to_tensor "
            "copies"
        )
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{op}: a tensor cannot keep the mask of a masked array; share its .data, without the mask")
    if type(array) not in (np.ndarray, np.memmap, np.matrix):
        raise TypeError(
            f"{op}: an array of type {type(array).__name__} may hold more than its numbers; share only these with "
            f"{op}(np.asarray(array))"
        )
    if not array.dtype.isnative:
        raise TypeError(
            f"{op}: the numbers of dtype {array.dtype.str} do not have the byte order of this computer, and sharing "
            f"converts nothing; to_tensor copies and converts them"
        )
    if not is_supported(array.dtype):
        raise TypeError(
            f"{op}: dtype {array.dtype} cannot be shared; a tensor holds one of {', '.join(DTYPES)}. Convert a copy, "
            f"as in to_tensor(array.astype('float32'))"
        )
    size = array.itemsize
    if array.size and (address_of(array.view(np.ndarray)) % size or any(s % size for s in array.strides)):
        raise ValueError(
            f"{op}: the elements are not aligned to their size ({size} bytes), as those of a field of a structured "
            f"array; to_tensor copies them"
        )
    return array.view(BY_NUMPY[array.dtype].numpy, np.ndarray)


def borrow(op: str, array: np.ndarray) -> Tensor:
    """Return a tensor on the memory of ``array``. Events and errors name ``op``."""
    storage = _storage_at(op, array)
    is_new = storage is None
    if storage is None:
        storage = Storage.__new__(Storage)
        storage.buffer = _around(array)
        storage.nbytes = 0  # not counted, because the engine does not own the memory
        storage.version = 0
        storage.savers = None
        entry_of(storage).for_good = True  # other code uses the memory through `array`, not through a window
    writeable = array.flags.writeable and not overlaps_itself(array)
    tensor = Tensor._alias(Window.on(array, writeable, storage.buffer).array(), storage)
    if is_new:
        _notify(storage)
    listener = watch.listener
    if listener is not None:
        if is_new:
            listener(StorageCreated(storage))
        listener(TensorCreated(tensor, op, ()))
    return tensor


def _storage_at(op: str, array: np.ndarray) -> Storage | None:
    """Return the shared storage that has the memory of ``array``; None if there is none.

    Raises:
        ValueError: if a storage has only a part of the memory, so that its version would not count all writes; or if a
            storage has another dtype.
    """
    if array.size == 0:
        return None
    begin, end = byte_bounds(array)
    for shared in _overlapping(begin, end):
        storage = shared.storage()
        if storage is None:
            continue
        if storage.buffer.dtype != array.dtype:
            raise ValueError(
                f"{op}: this memory is shared already, with a tensor of dtype {storage.buffer.dtype}; the array has "
                f"dtype {array.dtype}; to_tensor copies it"
            )
        if begin < shared.begin or shared.end < end:
            raise ValueError(
                f"{op}: only a part of this memory is shared already. Share all of it before the part, or copy it with "
                f"to_tensor"
            )
        return storage
    return None


def _around(array: np.ndarray) -> np.ndarray:
    """Return the memory of ``array`` and, if possible, all other memory of its owner, as a one-dimensional array.

    Other parts of this memory that are shared later will then use the same storage.
    """
    size = array.itemsize
    if array.size == 0:
        return array.view()
    begin, end = byte_bounds(array)
    first, last = _owned_range(array)
    if first <= begin and end <= last and not _overlapping(first, last):
        begin -= (begin - first) // size * size
        end += (last - end) // size * size
    window = Window(begin, ((end - begin) // size,), (size,), array.dtype, False, array)
    return window.array()


def _owned_range(array: np.ndarray) -> tuple[int, int]:
    """Return the address range of all memory that the owner of ``array`` has; if unknown, of the outermost base."""
    owner, base = array, array.base
    while base is not None:
        if isinstance(base, np.ndarray):
            owner, base = base, base.base
        elif isinstance(base, memoryview):
            base = base.obj
        elif isinstance(getattr(base, "base", None), np.ndarray):
            base = base.base  # `base` is of a class that numpy uses inside `as_strided`
        else:
            with suppress(TypeError, ValueError, BufferError):  # raised for owners whose size is unknown
                owner = np.frombuffer(base, np.uint8)  # `base` may be bytes, a bytearray or a mapped file
            break
    return byte_bounds(owner.view(np.ndarray))


# ---------- lending ----------


def numpy(x: Tensor, share: bool = False) -> np.ndarray:
    """Return the elements as an array: a copy, as in Paddle, or with ``share=True`` an array on the tensor's memory.

    A write into shared memory is visible in every tensor on it, but does not change the version, so a backward that
    needs the old values would be wrong (see ``check_foreign_writes``).

    Raises:
        RuntimeError: if ``share`` is set and the tensor requires a gradient.
        TypeError: if ``share`` is set and the tensor is on a GPU, or if ``share`` is not a bool.
    """
    if share is False:
        return host_array(x._array) if type(x._array) is not np.ndarray else x._array.copy()
    if share is not True:
        raise TypeError(f"numpy: share must be True or False, not {shown(share)}")
    if gpu_of(x._array) is not None:
        raise TypeError(
            f"numpy(share=True): this tensor is on {Place(gpu_of(x._array))}, and numpy reads only memory of the "
            f"host. Use `x.numpy()`, or share the copy that `x.cpu()` makes."
        )
    if not x.stop_gradient:
        raise RuntimeError(
            "numpy(share=True): this tensor requires a gradient, and autograd would not notice writes by numpy. "
            "Use `x.detach().numpy(share=True)`, or `x.numpy()` for a copy."
        )
    return lend_memory(x)


def lend_memory(x: Tensor) -> np.ndarray:
    """Return an array on the memory of ``x``. The array keeps the storage of ``x`` alive."""
    storage = x._storage
    was_shared = is_shared(storage)
    window = Window.on(x._array, x._array.flags.writeable, storage)
    entry_of(storage).windows.add(window)
    if not was_shared:
        _notify(storage)
    return window.array()


Tensor.numpy = numpy
