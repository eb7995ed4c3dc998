"""A CUDA device, by way of CuPy. This module is imported when a GPU is first asked for, and CuPy with it.

Arrays on the device are CuPy's own: numpy's functions pass them on to CuPy. Their memory comes from CuPy's default
pool, and a hook on the pool counts it: what other users of CuPy in the same thread take from the pool counts, too.
Streams are left as they are.
"""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from minitensor.device.arrays import GPU_OF_TYPE
from minitensor.device.memory_error import OutOfMemoryError
from minitensor.device.memory_log import MemoryEvent
from minitensor.events import watch

#: The oldest CuPy whose functions the engine's tests know.
OLDEST = (13, 6)


class NoDeviceError(Exception):
    """No CUDA device answers; the message says why in a few words."""


class Counters(cupy.cuda.MemoryHook):
    """What CuPy's pool has given out on the device, in bytes: requests as rounded by the pool (to 512 bytes).

    Attributes:
        allocated: in use now.
        requested: what was asked for of that, before rounding.
        max_requested: the most of that at once, since the start or the last :meth:`reset_peak`.
        max_allocated: the most that was in use at once, since the start or since it was set.
        max_reserved: the most that the pool held at once, likewise.
    """

    name = "minitensor"

    def __init__(self, device: str, pool: Any) -> None:
        self._device, self._pool, self._grew = device, pool, False
        self._asked: dict[int, int] = {}
        self.allocated = self.max_allocated = self.requested = self.max_requested = pool.used_bytes()
        self.max_reserved = pool.total_bytes()

    @property
    def reserved(self) -> int:
        """Bytes that the pool holds: in use, and kept for the next request."""
        return self._pool.total_bytes()

    def reset_peak(self) -> None:
        """Start the three peaks again from what is allocated, reserved and requested now."""
        self.max_allocated, self.max_reserved, self.max_requested = self.allocated, self.reserved, self.requested

    def alloc_postprocess(self, **_: Any) -> None:
        """The pool has asked the device for memory. It is locked, so what it holds is looked up later."""
        self._grew = True

    def malloc_postprocess(self, *, size: int, mem_size: int, mem_ptr: int, **_: Any) -> None:
        """The pool has given a block out (``mem_ptr`` is 0 where it could not)."""
        if self._grew:
            self._grew = False
            self.max_reserved = max(self.max_reserved, self.reserved)
        if mem_ptr:
            self.allocated = now = self.allocated + mem_size
            if now > self.max_allocated:
                self.max_allocated = now
            self._asked[mem_ptr] = size
            self.requested += size
            self.max_requested = max(self.max_requested, self.requested)
            if watch.listener is not None:
                watch.listener("block", MemoryEvent("alloc", mem_ptr, mem_size, size, device=self._device))

    def free_postprocess(self, *, mem_size: int, mem_ptr: int, **_: Any) -> None:
        """A block has gone back to the pool."""
        size = self._asked.pop(mem_ptr, mem_size)
        self.allocated -= mem_size
        self.requested -= size
        if watch.listener is not None:
            watch.listener("block", MemoryEvent("free", mem_ptr, mem_size, size, device=self._device))


def _try_out() -> None:
    """Compute a little: a driver that counts devices may still not run what CuPy compiles."""
    if int((cupy.arange(3) + 1).sum()) != 6:
        raise NoDeviceError("the CUDA device computes wrong sums")


class CudaGpu:
    """The first CUDA device.

    Raises:
        NoDeviceError: when none answers, or CuPy is too old for it.
    """

    name = "gpu:0"

    def __init__(self) -> None:
        if tuple(int(part) for part in cupy.__version__.split(".")[:2]) < OLDEST:
            raise NoDeviceError(f"CuPy {cupy.__version__} is too old; {'.'.join(map(str, OLDEST))} or newer is needed")
        try:
            if cupy.cuda.runtime.getDeviceCount() == 0:
                raise NoDeviceError("there is no CUDA device")
            _try_out()
        except (RuntimeError, OSError, ImportError, cupy.cuda.compiler.CompileException) as error:
            raise NoDeviceError(str(error).strip().partition("\n")[0]) from error
        self.pool = cupy.get_default_memory_pool()
        self._counters = Counters(self.name, self.pool)
        self._counters.__enter__()  # for good: a block may be freed at any time
        if cupy.cuda.get_allocator() == self.pool.malloc:
            cupy.cuda.set_allocator(self._allocate)
        GPU_OF_TYPE[cupy.ndarray] = self

    def _allocate(self, nbytes: int) -> Any:
        """A block of the pool; where there is none, the error that says what to try."""
        try:
            return self.pool.malloc(nbytes)
        except cupy.cuda.memory.OutOfMemoryError:
            free, capacity = cupy.cuda.runtime.memGetInfo()
        if watch.listener is not None:
            watch.listener("block", MemoryEvent("oom", 0, nbytes, nbytes, device=self.name, device_free=free))
        raise OutOfMemoryError(
            nbytes,
            nbytes,
            capacity,
            self._counters.reserved,
            self._counters.allocated,
            0,
            f"the CUDA device {self.name}",
        )

    def put(self, host: np.ndarray) -> cupy.ndarray:
        """A copy of ``host`` on the device."""
        return cupy.array(host)

    def address(self, array: cupy.ndarray) -> int:
        """The address in bytes of the first element, in the device's memory."""
        return array.data.ptr

    def strided(self, memory: cupy.ndarray, offset: int, shape: Any, strides: Any) -> cupy.ndarray:
        """A view of one-dimensional, contiguous ``memory``: ``offset`` in elements, ``strides`` in bytes."""
        return self.restrided(memory[offset:], shape, strides)

    def restrided(self, array: cupy.ndarray, shape: Any, strides: Any) -> cupy.ndarray:
        """A view from the first element of ``array`` on, wherever it leads."""
        view = array.view()
        # CuPy's own as_strided forgets whose memory it shows.
        view._set_shape_and_strides(shape, strides, True, True)
        return view

    def add_at(self, array: cupy.ndarray, index: Any, values: Any) -> None:
        """Add ``values`` to ``array[index]``; a place named twice gets both."""
        cupy.add.at(array, index, values)

    def raise_at(self, array: cupy.ndarray, index: Any, values: Any) -> None:
        """Let ``array[index]`` be no less than ``values``. For integers: CuPy's rounds float64 and overlooks nan."""
        cupy.maximum.at(array, index, values)

    def special(self, name: str) -> Any:
        """The function of scipy.special called ``name``, for arrays on the device; None where CuPy has none."""
        from cupyx.scipy import special

        return getattr(special, name, None)

    def counters(self) -> Counters:
        """``allocated``, ``max_allocated``, ``reserved``, ``max_reserved``, in bytes."""
        return self._counters

    def counted(self, array: Any) -> int:
        """How many bytes the counters count for the memory that ``array`` lies in: the pool rounds up to 512."""
        owner = array if array.base is None else array.base
        return -(-owner.nbytes // 512) * 512

    def empty_cache(self) -> None:
        """Give back what the pool holds and nobody uses."""
        self.pool.free_all_blocks()

    def synchronize(self) -> None:
        """Wait until the device has done all it was asked to."""
        cupy.cuda.Device().synchronize()
