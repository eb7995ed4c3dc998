"""A CUDA device through CuPy. This module, and CuPy with it, is imported when a GPU is first requested.

Arrays on the device are CuPy's, and numpy's functions dispatch to CuPy. CuPy's default pool allocates the arrays'
memory. A hook counts this memory, including memory that other code allocates through CuPy in the same thread. All work
is done on CuPy's current stream.
"""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from minitensor.engine.device.arrays import GPU_OF_TYPE
from minitensor.engine.device.memory_error import OutOfMemoryError
from minitensor.engine.device.memory_log import MemoryEvent
from minitensor.engine.events import AllocatorChanged, watch

#: The oldest supported version of CuPy. The tests of the engine cover the functions of this version.
OLDEST = (13, 6)


class NoDeviceError(Exception):
    """No CUDA device is available. The message is the reason."""


class AllocationHook(cupy.cuda.MemoryHook):
    """Counters of CuPy's pool on the device, in bytes. The pool rounds requests up to multiples of 512.

    Attributes:
        allocated: the bytes in use now.
        requested: the bytes that were requested for the blocks in use, before rounding.
        max_requested: the peak of ``requested`` since the start or the last :meth:`reset_peak`.
        max_allocated: the peak of ``allocated`` in the same period.
        max_reserved: the peak of :attr:`reserved` in the same period.
    """

    name = "minitensor"

    def __init__(self, device: str, pool: Any) -> None:
        self._device, self._pool, self._grew = device, pool, False
        self._requested_at: dict[int, int] = {}  # the requested bytes by address
        self.allocated = self.max_allocated = self.requested = self.max_requested = pool.used_bytes()
        self.max_reserved = pool.total_bytes()

    @property
    def reserved(self) -> int:
        """The bytes that the pool has reserved: those in use, and those cached for later requests."""
        return self._pool.total_bytes()

    def reset_peak(self) -> None:
        """Reset the three peaks to the current allocated, reserved and requested bytes."""
        self.max_allocated, self.max_reserved, self.max_requested = self.allocated, self.reserved, self.requested

    def alloc_postprocess(self, **_: Any) -> None:
        """Record that the pool has grown. CuPy locks the pool during this call, so the size is read later."""
        self._grew = True

    def malloc_postprocess(self, *, size: int, mem_size: int, mem_ptr: int, **_: Any) -> None:
        """Count a block that the pool allocated (``mem_ptr`` is 0 if the allocation failed)."""
        if self._grew:
            self._grew = False
            self.max_reserved = max(self.max_reserved, self.reserved)
        if mem_ptr:
            self.allocated = now = self.allocated + mem_size
            if now > self.max_allocated:
                self.max_allocated = now
            self._requested_at[mem_ptr] = size
            self.requested += size
            self.max_requested = max(self.max_requested, self.requested)
            if watch.listener is not None:
                watch.listener(AllocatorChanged(MemoryEvent("alloc", mem_ptr, mem_size, size, device=self._device)))

    def free_postprocess(self, *, mem_size: int, mem_ptr: int, **_: Any) -> None:
        """Count a block that was returned to the pool."""
        size = self._requested_at.pop(mem_ptr, mem_size)
        self.allocated -= mem_size
        self.requested -= size
        if watch.listener is not None:
            watch.listener(AllocatorChanged(MemoryEvent("free", mem_ptr, mem_size, size, device=self._device)))


def _try_out() -> None:
    """Compute a small sum, because a driver may list a device on which the code that CuPy compiles does not run."""
    if int((cupy.arange(3) + 1).sum()) != 6:
        raise NoDeviceError("the CUDA device computes wrong sums")


class CudaGpu:
    """The first CUDA device.

    Raises:
        NoDeviceError: if there is none, or CuPy is too old.
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
        self._counters = AllocationHook(self.name, self.pool)
        self._counters.__enter__()  # this hook remains installed, because blocks may be freed at any time
        if cupy.cuda.get_allocator() == self.pool.malloc:
            cupy.cuda.set_allocator(self._allocate)
        GPU_OF_TYPE[cupy.ndarray] = self

    def _allocate(self, nbytes: int) -> Any:
        """Allocate a block from the pool; if the device is full, raise an error with advice."""
        try:
            return self.pool.malloc(nbytes)
        except cupy.cuda.memory.OutOfMemoryError:
            free, capacity = cupy.cuda.runtime.memGetInfo()
        if watch.listener is not None:
            watch.listener(AllocatorChanged(MemoryEvent("oom", 0, nbytes, nbytes, device=self.name, device_free=free)))
        counters = self._counters
        raise OutOfMemoryError(
            nbytes, nbytes, capacity, counters.reserved, counters.allocated, 0, f"the CUDA device {self.name}"
        )

    def put(self, host: np.ndarray) -> cupy.ndarray:
        """Copy ``host`` to the device; raise TypeError for bfloat16, which CuPy's functions do not support."""
        if host.dtype.name == "bfloat16":
            raise TypeError(f"a tensor of bfloat16 stays on the host; {self.name} computes in float16, for example")
        return cupy.array(host)

    def address(self, array: cupy.ndarray) -> int:
        """Return the address in bytes of the first element, in device memory."""
        return array.data.ptr

    def strided(self, memory: cupy.ndarray, offset: int, shape: Any, strides: Any) -> cupy.ndarray:
        """Return a view of one-dimensional, contiguous ``memory``; ``offset`` in elements, ``strides`` in bytes."""
        return self.restrided(memory[offset:], shape, strides)

    def restrided(self, array: cupy.ndarray, shape: Any, strides: Any) -> cupy.ndarray:
        """Return a view that begins at the first element of ``array`` and may extend beyond ``array``."""
        view = array.view()
        # CuPy's own as_strided does not set the base of the view.
        view._set_shape_and_strides(shape, strides, True, True)
        return view

    def add_at(self, array: cupy.ndarray, index: Any, values: Any) -> None:
        """Add ``values`` to ``array[index]``; if a position is listed more than once, all of its values are added."""
        cupy.add.at(array, index, values)

    def raise_at(self, array: cupy.ndarray, index: Any, values: Any) -> None:
        """Set ``array[index]`` to the maximum of itself and ``values``. CuPy's function is right for integers only."""
        cupy.maximum.at(array, index, values)

    def special(self, name: str) -> Any:
        """Return the function ``name`` of scipy.special for arrays on the device; None if CuPy has none."""
        from cupyx.scipy import special

        return getattr(special, name, None)

    def counters(self) -> AllocationHook:
        """Return the object with the counters of the device, such as ``allocated`` and ``max_reserved``, in bytes."""
        return self._counters

    def counted(self, array: Any) -> int:
        """Return the bytes by which the memory of ``array`` raised ``allocated``, rounded up to a multiple of 512."""
        owner = array if array.base is None else array.base
        return -(-owner.nbytes // 512) * 512

    def empty_cache(self) -> None:
        """Free the unused memory of the pool."""
        self.pool.free_all_blocks()

    def synchronize(self) -> None:
        """Wait until the device has finished all its work."""
        cupy.cuda.Device().synchronize()
