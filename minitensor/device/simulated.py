"""A GPU that is not there: arrays in numpy's memory that behave like arrays on a device.

A :class:`DeviceArray` can be used as an array of CuPy can: with its methods, with Python's operators, and with numpy's
functions, which pass it on. Host arrays and device arrays do not mix, numbers do. Nothing turns it into a host array
by the way: only :meth:`DeviceArray.get` does, and numbers leave by :meth:`DeviceArray.item`. So a program that runs
here does on a device what it would do there, and makes no round trip to the host that would cost time there.

Every array that owns memory asks the GPU's allocator for a block when it is made and gives it back when it dies: what
the counters say includes the scratch arrays inside an operation, as on a device.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from minitensor.device.allocator import CachingAllocator

#: Numbers join device arrays; they cost no device memory.
_NUMBERS = (bool, int, float, np.generic)


class Flags:
    """How an array lies in memory. An array on a device can not be made read-only."""

    __slots__ = ("c_contiguous", "f_contiguous", "owndata")

    def __init__(self, array: np.ndarray) -> None:
        self.c_contiguous = array.flags.c_contiguous
        self.f_contiguous = array.flags.f_contiguous
        self.owndata = array.base is None


class DeviceArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array on a simulated GPU. Made by :meth:`SimulatedGpu.put`, and by computing with such arrays."""

    __slots__ = ("gpu", "host", "base", "_block", "__weakref__")

    gpu: SimulatedGpu
    host: np.ndarray
    base: DeviceArray | None

    def __init__(self, gpu: SimulatedGpu, host: np.ndarray, base: DeviceArray | None = None) -> None:
        self.gpu, self.host, self.base = gpu, host, base
        self._block = gpu.allocate(host.nbytes) if base is None else None

    def __del__(self) -> None:
        block = getattr(self, "_block", None)
        if block is not None:
            self.gpu.free(block)

    # ---------- how it lies in memory ----------

    shape = property(lambda self: self.host.shape)
    strides = property(lambda self: self.host.strides)
    dtype = property(lambda self: self.host.dtype)
    ndim = property(lambda self: self.host.ndim)
    size = property(lambda self: self.host.size)
    nbytes = property(lambda self: self.host.nbytes)
    itemsize = property(lambda self: self.host.itemsize)
    flags = property(lambda self: Flags(self.host))

    @property
    def address(self) -> int:
        """Where the first element lies, in the addresses of the simulated device."""
        owner = self if self.base is None else self.base
        begin = np.lib.array_utils.byte_bounds(owner.host)[0]
        return owner._block.address + self.host.__array_interface__["data"][0] - begin  # type: ignore[union-attr]

    def __len__(self) -> int:
        return len(self.host)

    def __repr__(self) -> str:
        return f"DeviceArray(shape={list(self.shape)}, dtype={self.dtype}, on {self.gpu.name})"

    # ---------- to the host ----------

    def get(self) -> np.ndarray:
        """A copy on the host."""
        return self.host.copy()

    def item(self) -> Any:
        """The one element, as a Python number."""
        return self.host.item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self.host.tolist()

    def __bool__(self) -> bool:
        return bool(self.host)

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("an array on a GPU does not become a host array by the way; ask for a copy with .get()")

    # ---------- computing ----------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method not in ("__call__", "at"):
            raise TypeError(f"numpy's {ufunc.__name__}.{method} does not work on device arrays; use the function")
        given = kwargs.get("out")
        result = getattr(ufunc, method)(*self._lowered(inputs), **self._lowered(kwargs))
        return self._raised(result) if given is None else given[0]

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        given = kwargs.get("out")
        result = function(*self._lowered(args), **self._lowered(kwargs))
        return self._raised(result) if given is None else given

    def _lowered(self, given: Any) -> Any:
        """What numpy computes with in place of device arrays."""
        if type(given) is DeviceArray:
            if given.gpu is not self.gpu:
                raise TypeError(f"arrays of {self.gpu.name} and of {given.gpu.name} do not mix")
            return given.host
        if isinstance(given, (tuple, list)):
            return type(given)(self._lowered(each) for each in given)
        if isinstance(given, dict):
            return {name: self._lowered(each) for name, each in given.items()}
        if isinstance(given, np.ndarray):
            raise TypeError(f"a host array of shape {list(given.shape)} does not mix with arrays of {self.gpu.name}")
        return given

    def _raised(self, result: Any) -> Any:
        """What numpy answered, on the device again."""
        if isinstance(result, (tuple, list)):
            return type(result)(self._raised(each) for each in result)
        if isinstance(result, (np.ndarray, np.generic)):
            return self.gpu.put(np.asarray(result))
        return result

    def __getitem__(self, index: Any) -> DeviceArray:
        return self._raised(self.host[self._lowered(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        self.host[self._lowered(index)] = self._lowered(value)

    T = property(lambda self: self._raised(self.host.T))


def _method(name: str) -> Callable[..., Any]:
    def method(self: DeviceArray, *args: Any, **kwargs: Any) -> Any:
        return self._raised(getattr(self.host, name)(*self._lowered(args), **self._lowered(kwargs)))

    method.__name__ = name
    return method


#: The methods that arrays of numpy and of CuPy have in common, as far as tensors use them.
for _name in (
    *("reshape", "transpose", "swapaxes", "ravel", "squeeze", "astype", "copy", "view", "diagonal", "take", "repeat"),
    *("sum", "prod", "mean", "max", "min", "any", "all", "argmax", "argmin", "cumsum", "cumprod", "nonzero", "fill"),
):
    setattr(DeviceArray, _name, _method(_name))


class SimulatedGpu:
    """A GPU of a given capacity whose memory is the host's.

    Args:
        capacity: bytes.
        profile: whose rounding the allocator follows, ``"torch"`` or ``"paddle"``.
    """

    def __init__(self, capacity: int, profile: str = "torch", name: str = "gpu:sim") -> None:
        self.name = name
        self.allocator = CachingAllocator(capacity, profile)
        self._owners: weakref.WeakValueDictionary[int, DeviceArray] = weakref.WeakValueDictionary()

    def put(self, host: np.ndarray) -> DeviceArray:
        """``host`` as an array of this GPU. What owns its memory is taken over and counted, once."""
        root = host
        while getattr(root, "base", None) is not None:
            root = root.base  # numpy's own helpers stand in between at times
        if not isinstance(root, np.ndarray):
            host = root = host.copy()  # memory that numpy does not own
        owner = self._owners.get(id(root))
        if owner is None:
            owner = DeviceArray(self, root)
            self._owners[id(root)] = owner
        return owner if root is host else DeviceArray(self, host, owner)

    def strided(self, memory: DeviceArray, offset: int, shape: Any, strides: Any) -> DeviceArray:
        """A view of one-dimensional, contiguous ``memory``: ``offset`` in elements, ``strides`` in bytes."""
        host = memory.host
        return DeviceArray(
            self,
            np.ndarray(shape, host.dtype, host, offset * host.itemsize, strides),
            memory if memory.base is None else memory.base,
        )

    def restrided(self, array: DeviceArray, shape: Any, strides: Any) -> DeviceArray:
        """A view from the first element of ``array`` on, wherever it leads."""
        return DeviceArray(self, as_strided(array.host, shape, strides), array if array.base is None else array.base)

    def counters(self) -> CachingAllocator:
        """What the allocator counts: ``allocated``, ``max_allocated``, ``reserved``, ``max_reserved``, in bytes."""
        return self.allocator

    def empty_cache(self) -> None:
        """Give back what is reserved and not in use."""
        self.allocator.empty_cache()

    def synchronize(self) -> None:
        """Nothing to wait for: a simulated GPU has done what it was asked to."""

    def allocate(self, nbytes: int) -> Any:
        """A block of the allocator. Raises OutOfMemoryError when there is none."""
        return self.allocator.allocate(nbytes)

    def free(self, block: Any) -> None:
        """Give a block back."""
        self.allocator.free(block)
