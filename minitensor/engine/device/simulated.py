"""A simulated GPU: arrays in numpy's memory that behave like arrays on a device.

A :class:`DeviceArray` is used like an array of CuPy: with CuPy's methods, with Python's operators, and with numpy's
functions, which dispatch to it. Host arrays and device arrays cannot be combined; numbers can be combined with both. A
device array is never converted implicitly: :meth:`DeviceArray.get` copies it to a host array, and
:meth:`DeviceArray.item` returns its only element as a number. Operations that CuPy refuses or leaves undefined are
refused here, too, so a program that runs on the simulated GPU behaves the same on a device. :class:`Transfers` counts
the round trips to the host, which take time on a device.

Every array that owns memory allocates a block from the GPU's allocator when it is created, and frees the block when the
array is freed. So the counters include the scratch arrays inside an operation, as on a device.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from minitensor.engine.device.allocator import Block, CachingAllocator
from minitensor.engine.device.arrays import owner_of
from minitensor.engine.device.cupy_limits import (
    COUNTING,
    Transfers,
    lists_positions,
    masks_in,
    refuse_call,
    refuse_conflict,
    refuse_overlap,
)
from minitensor.engine.device.memory_error import OutOfMemoryError
from minitensor.engine.device.memory_log import MemoryEvent
from minitensor.engine.events import AllocatorChanged, watch

#: The types of numbers, which may be combined with device arrays. A number takes no device memory.
_NUMBERS = (bool, int, float, np.generic)


class Flags:
    """The memory layout of an array on a device. There is no flag ``writeable``: no such array can be read-only."""

    __slots__ = ("_host",)

    def __init__(self, host: np.ndarray) -> None:
        self._host = host

    c_contiguous = property(attrgetter("_host.flags.c_contiguous"))
    f_contiguous = property(attrgetter("_host.flags.f_contiguous"))
    owndata = property(attrgetter("_host.flags.owndata"))


class DeviceArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array on a simulated GPU, created by :meth:`SimulatedGpu.put` and by operations on such arrays.

    ``host`` is the numpy array with the elements. ``base`` is the array that owns the memory; None if this array does.
    """

    __slots__ = ("gpu", "host", "base", "_block", "__weakref__")

    gpu: SimulatedGpu
    host: np.ndarray
    base: DeviceArray | None

    def __init__(self, gpu: SimulatedGpu, host: np.ndarray, base: DeviceArray | None = None) -> None:
        self.gpu, self.host, self.base, self._block = gpu, host, base, None
        if base is None:
            self._block = gpu.allocate(host.nbytes)

    def __del__(self) -> None:
        if self._block is not None:
            self.gpu.free(self._block)

    # ---------- the layout in memory ----------

    shape = property(attrgetter("host.shape"))
    strides = property(attrgetter("host.strides"))
    dtype = property(attrgetter("host.dtype"))
    ndim = property(attrgetter("host.ndim"))
    size = property(attrgetter("host.size"))
    nbytes = property(attrgetter("host.nbytes"))
    itemsize = property(attrgetter("host.itemsize"))

    @property
    def flags(self) -> Flags:
        """The memory layout flags."""
        return Flags(self.host)

    @property
    def address(self) -> int:
        """The address of the first element in the simulated device."""
        owner = self.base
        if owner is None:
            return self._block.address  # type: ignore[union-attr]  # it owns a block
        return owner._block.address + _host_address(self.host) - _host_address(owner.host)  # type: ignore[union-attr]  # the owner has a block

    def __len__(self) -> int:
        return len(self.host)

    def __repr__(self) -> str:
        return f"DeviceArray(shape={list(self.shape)}, dtype={self.dtype}, on {self.gpu.name})"

    # ---------- copies on the host ----------

    def get(self) -> np.ndarray:
        """Return a copy on the host."""
        transfers = self.gpu.transfers
        transfers.to_host += 1
        transfers.bytes_to_host += self.host.nbytes
        return self.host.copy()

    def item(self) -> Any:
        """Return the only element as a Python number."""
        self.gpu.transfers.waits += 1
        return self.host.item()

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers."""
        return self.get().tolist()

    def __bool__(self) -> bool:
        self.gpu.transfers.waits += 1
        return bool(self.host)

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("an array on a GPU is not converted to a host array implicitly; copy it with .get()")

    # ---------- computing ----------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__":
            raise TypeError(f"numpy's {ufunc.__name__}.{method} does not work on device arrays")
        gpu = self.gpu
        hosts: list[Any] = []
        for each in inputs:
            if type(each) is DeviceArray and each.gpu is gpu:
                hosts.append(each.host)
            elif isinstance(each, _NUMBERS):
                hosts.append(each)
            else:
                raise self._refusal(each)
        given = kwargs.get("out")
        if given is not None:
            # As in CuPy, inputs that may share memory with `out` are copied for the time of the call.
            scratch = [_copy_if_shared(each, given[0]) for each in inputs]
            ufunc(*hosts, **self._unwrap(kwargs, []))
            del scratch
            return given[0]
        result = ufunc(*hosts, **self._unwrap(kwargs, [])) if kwargs else ufunc(*hosts)
        # The result of a ufunc is new memory, so no search for its owner is needed.
        return DeviceArray(gpu, result) if type(result) is np.ndarray else self._wrap(result, [])

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        owners: list[DeviceArray] = []
        refuse_call(function, args, kwargs)
        if function is np.copyto and "where" not in kwargs and type(args[1]) is DeviceArray:
            refuse_overlap(args[0].host, args[1].host)
        self.gpu.transfers.waits += function in COUNTING
        result = function(*self._unwrap(args, owners), **self._unwrap(kwargs, owners))
        if function is np.count_nonzero:
            result = np.asarray(result)  # CuPy returns an array instead of an int
        given = kwargs.get("out")
        return self._wrap(result, owners) if given is None else given

    def _unwrap(self, given: Any, owners: list[DeviceArray]) -> Any:
        """Replace device arrays by their host arrays, for numpy; append the owners of their memory to ``owners``."""
        kind = type(given)
        if kind is DeviceArray and given.gpu is self.gpu:
            owners.append(given if given.base is None else given.base)
            return given.host
        if kind is tuple:
            return tuple([self._unwrap(each, owners) for each in given])
        if kind is list:
            return [self._unwrap(each, owners) for each in given]
        if kind is dict:
            return {name: self._unwrap(each, owners) for name, each in given.items()}
        if isinstance(given, (DeviceArray, np.ndarray)):
            raise self._refusal(given)
        return given

    def _refusal(self, given: Any) -> TypeError:
        if type(given) is DeviceArray:
            what = f"arrays of {given.gpu.name}" + (", of another simulated GPU," * (given.gpu.name == self.gpu.name))
            return TypeError(f"{what} do not mix with arrays of {self.gpu.name}")
        what = f"a host array of shape {list(given.shape)}" if isinstance(given, np.ndarray) else repr(given)
        return TypeError(f"{what} does not mix with arrays of {self.gpu.name}")

    def _wrap(self, result: Any, owners: list[DeviceArray]) -> Any:
        """Return numpy's result as device arrays. New memory is counted; views of device memory are not."""
        if isinstance(result, np.ndarray):
            root = _root(result)
            for owner in owners:
                if owner.host is root:
                    return owner if result is root else DeviceArray(self.gpu, _unlock(result), owner)
            array = self.gpu.adopt(result)
            owners.append(array if array.base is None else array.base)
            return array
        if isinstance(result, np.generic):
            return DeviceArray(self.gpu, np.asarray(result))
        if isinstance(result, (tuple, list)):
            return type(result)([self._wrap(each, owners) for each in result])
        return result

    def __getitem__(self, index: Any) -> DeviceArray:
        at = self._unwrap(index, [])
        self.gpu.transfers.waits += masks_in(at)
        return self._wrap(self.host[at], [owner_of(self)])

    def __setitem__(self, index: Any, value: Any) -> None:
        at, numbers = self._unwrap(index, []), self._unwrap(value, [])
        self.gpu.transfers.waits += masks_in(at)
        if type(value) is DeviceArray:
            refuse_overlap(self.host[at], numbers)
            if lists_positions(at) or masks_in(at):
                refuse_overlap(self.host, numbers)
        self.host[at] = numbers
        if type(value) is DeviceArray and value.size > 1 and lists_positions(at):
            refuse_conflict(self.host[at], numbers)

    @property
    def T(self) -> DeviceArray:
        """A view with the dimensions reversed."""
        return self.transpose()  # type: ignore[attr-defined]  # added below under numpy's name


def _copy_if_shared(given: Any, out: DeviceArray) -> DeviceArray | None:
    """Return a copy of an input if it may share memory with ``out``, because CuPy makes such a copy; else None."""
    if type(given) is not DeviceArray or given is out or owner_of(given) is not owner_of(out):
        return None
    return DeviceArray(given.gpu, given.host.copy()) if np.may_share_memory(given.host, out.host) else None


def _method(name: str, keywords: str) -> Callable[..., Any]:
    known = frozenset(keywords.split())

    def method(self: DeviceArray, *args: Any, **kwargs: Any) -> Any:
        if not known.issuperset(kwargs):
            raise TypeError(f"{name} for a device array takes {keywords or 'no keywords'}, not {', '.join(kwargs)}")
        owners = [self if self.base is None else self.base]
        with np.errstate(all="ignore"):  # a GPU raises no errors for inf and nan
            found = getattr(self.host, name)(*self._unwrap(args, owners), **self._unwrap(kwargs, owners))
        return self._wrap(found, owners)

    method.__name__ = name
    return method


#: The methods of CuPy's arrays that tensors use, with the keywords that CuPy accepts.
for _names, _keywords in {
    "reshape": "order",
    "transpose swapaxes fill nonzero": "",
    "ravel copy": "order",
    "squeeze": "axis",
    "astype": "dtype order casting subok copy",
    "view": "dtype",
    "diagonal": "offset axis1 axis2",
    "take": "indices axis out",
    "repeat": "repeats axis",
    "sum prod mean": "axis dtype out keepdims",
    "max min any all": "axis out keepdims",
    "argmax argmin": "axis out dtype keepdims",
    "cumsum cumprod": "axis dtype out",
}.items():
    for _name in _names.split():
        setattr(DeviceArray, _name, _method(_name, _keywords))


def _scatter(ufunc: np.ufunc, kinds: str, array: DeviceArray, index: Any, values: Any) -> None:
    if array.dtype.kind not in kinds:
        raise TypeError(f"{ufunc.__name__}.at is not supported for a device array of dtype {array.dtype}")
    numbers = array._unwrap(values, [])
    refuse_overlap(array.host, np.asarray(numbers))
    ufunc.at(array.host, array._unwrap(index, []), numbers)


def _root(host: Any) -> Any:
    """Return the array that owns the memory of ``host``, which may be a view of a view."""
    while getattr(host, "base", None) is not None:
        host = host.base
    return host


def _unlock(host: np.ndarray) -> np.ndarray:
    """Make ``host`` writeable: numpy makes some views read-only, such as a diagonal, but CuPy does not."""
    host.flags.writeable = True
    return host


def _host_address(host: np.ndarray) -> int:
    return host.__array_interface__["data"][0]


class SimulatedGpu:
    """A GPU of a given capacity whose memory is the host's.

    Args:
        capacity: in bytes.
        profile: the rules of its allocator, ``"torch"`` or ``"paddle"``.
        name: its name, as places show it.
    """

    def __init__(self, capacity: int, profile: str = "torch", name: str = "gpu:sim") -> None:
        self.name = name
        self.transfers = Transfers()
        self.allocator = CachingAllocator(capacity, profile)
        self.allocator.on_segment = functools.partial(_emit_segment, name)  # a bound method would make a cycle

    def put(self, host: np.ndarray) -> DeviceArray:
        """Return an array of this GPU that uses the memory of ``host``, which nothing else may write from now on."""
        self.transfers.to_device += 1
        self.transfers.bytes_to_device += host.nbytes
        return self.adopt(host)

    def adopt(self, host: np.ndarray) -> DeviceArray:
        """Like :meth:`put`, for an array that this GPU computed: no transfer is counted."""
        root = _root(host)
        if not isinstance(root, np.ndarray):
            host = root = host.copy()  # numpy does not own this memory
        owner = DeviceArray(self, root)
        return owner if root is host else DeviceArray(self, _unlock(host), owner)

    def strided(self, memory: DeviceArray, offset: int, shape: Any, strides: Any) -> DeviceArray:
        """Return a view of one-dimensional, contiguous ``memory``; ``offset`` in elements, ``strides`` in bytes."""
        host = memory.host
        view = np.ndarray(shape, host.dtype, host, offset * host.itemsize, strides)
        return DeviceArray(self, view, owner_of(memory))

    def restrided(self, array: DeviceArray, shape: Any, strides: Any) -> DeviceArray:
        """Return a view that begins at the first element of ``array`` and may extend beyond ``array``."""
        return DeviceArray(self, as_strided(array.host, shape, strides), owner_of(array))

    def add_at(self, array: DeviceArray, index: Any, values: Any) -> None:
        """Add ``values`` to ``array[index]``; if a position is listed more than once, all of its values are added."""
        _scatter(np.add, "if", array, index, values)

    def raise_at(self, array: DeviceArray, index: Any, values: Any) -> None:
        """Set ``array[index]`` to the maximum of itself and ``values``; only for integers, as CuPy's function."""
        _scatter(np.maximum, "i", array, index, values)

    def special(self, name: str) -> Callable[..., Any] | None:
        """Return the function ``name`` of scipy.special for arrays on this GPU; None if CuPy has none."""
        from scipy import special

        function = getattr(special, name)

        def on_device(*arrays: Any, out: DeviceArray | None = None) -> DeviceArray:
            device = next(each for each in arrays if type(each) is DeviceArray)
            result = function(*device._unwrap(arrays, []), **device._unwrap({"out": out}, []))
            return device._wrap(result, []) if out is None else out

        return None if name == "iv" else on_device

    def counters(self) -> CachingAllocator:
        """Return the object with the counters of this GPU, such as ``allocated`` and ``max_reserved``, in bytes."""
        return self.allocator

    def counted(self, array: DeviceArray) -> int:
        """Return the size of the block of ``array``: its bytes in the counter ``allocated``."""
        owner = owner_of(array)
        return owner._block.size if owner._block is not None else 0

    def empty_cache(self) -> None:
        """Free memory that is reserved but not in use."""
        self.allocator.empty_cache()

    def synchronize(self) -> None:
        """Do nothing: a simulated GPU has finished its work when a call returns."""

    def allocate(self, nbytes: int) -> Block:
        """Return a block of the allocator; raise OutOfMemoryError if there is none."""
        try:
            block = self.allocator.allocate(nbytes)
        except OutOfMemoryError as error:
            if watch.listener is not None:
                sizes = error.tried, error.requested
                watch.listener(
                    AllocatorChanged(MemoryEvent("oom", 0, *sizes, device=self.name, device_free=error.free))
                )
            raise
        if watch.listener is not None and block.size:
            self._emit("alloc", block)
        return block

    def free(self, block: Block) -> None:
        """Return a block to the allocator."""
        self.allocator.free(block)
        if watch.listener is not None and block.size:
            self._emit("free", block)

    def _emit(self, kind: str, block: Block) -> None:
        event = MemoryEvent(kind, block.address, block.size, block.requested, device=self.name)
        watch.listener(AllocatorChanged(event))  # type: ignore[misc]  # the caller checked that there is a listener


def _emit_segment(device: str, kind: str, address: int, size: int) -> None:
    if watch.listener is not None:
        watch.listener(AllocatorChanged(MemoryEvent(kind, address, size, size, device=device)))
