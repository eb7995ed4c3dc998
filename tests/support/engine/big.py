"""Helpers for the tests of big tensors. They lower the limits, so that small tensors count as big."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

import minitensor as mt
from minitensor.engine.device.host_buffer_cache import buffer_cache
from minitensor.engine.kernels.chunks import large

#: The rows and columns of test matrices. In float32 such a matrix has 16 KiB and consists of 16 chunks.
SIDE = 64


@contextmanager
def low_limits(threads: int = 2, reuse: int = 1 << 20) -> Iterator[None]:
    """Compute arrays of at least 2 KiB in chunks of 1 KiB, and reuse buffers of at least 4 KiB."""
    before = (
        large.nbytes,
        large.chunk,
        large.long,
        buffer_cache.least,
        buffer_cache.limit,
        mt.device.cpu.get_num_threads(),
    )
    large.nbytes, large.chunk, large.long, buffer_cache.least = 2 << 10, 1 << 10, 2 << 10, 4 << 10
    mt.device.cpu.empty_cache()
    mt.device.cpu.set_reuse_limit(reuse)
    mt.device.cpu.set_num_threads(threads)
    try:
        yield
    finally:
        mt.device.cpu.empty_cache()
        large.nbytes, large.chunk, large.long, buffer_cache.least, buffer_cache.limit = before[:5]
        mt.device.cpu.set_num_threads(before[5])


@contextmanager
def off() -> Iterator[None]:
    """Let numpy compute every array in one call."""
    before, large.nbytes = large.nbytes, 1 << 60
    try:
        yield
    finally:
        large.nbytes = before


def spoil() -> int:
    """Fill all buffers of the cache with nan, and return their size in bytes. A tensor that still
    uses such a buffer then has nan.
    """
    for memory in buffer_cache._memory.values():
        memory[...] = 0xFF
    return sum(memory.nbytes for memory in buffer_cache._memory.values())


def kept_bytes() -> int:
    """Return the number of bytes that are reserved and not allocated."""
    return mt.device.cpu.memory_reserved() - mt.device.cpu.memory_allocated()


def matrix(seed: int, dtype: str = "float32") -> np.ndarray:
    """Return a matrix with numbers of all sizes and all special numbers."""
    random = np.random.default_rng(seed)
    numbers = (random.standard_normal((SIDE, SIDE)) * 10.0 ** random.integers(-6, 5, (SIDE, SIDE))).astype(dtype)
    tiny = np.finfo(dtype).smallest_subnormal
    special = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, tiny, -tiny, 1.0, -1.0, 0.5]
    places = random.integers(0, numbers.size, 20 * len(special))
    numbers.reshape(-1)[places] = np.resize(np.array(special, dtype), places.size)
    return numbers


def bits(array: np.ndarray) -> tuple[object, ...]:
    """Return a value that is equal for two arrays if they are identical bit for bit."""
    return array.dtype, array.shape, array.strides, array.tobytes()
