"""Test the error of an allocator that runs out of memory, and the state of the allocator afterwards."""

from __future__ import annotations

import pickle

import pytest

from minitensor.engine.device.allocator import Block, CachingAllocator
from minitensor.engine.device.memory_error import OutOfMemoryError, bytes_text
from minitensor.engine.device.profiles import PROFILES

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def test_cached_segments_are_released_before_an_out_of_memory_error():
    allocator = CachingAllocator(256 * MIB, "torch")
    allocator.free(allocator.allocate(200 * MIB))
    assert allocator.allocate(250 * MIB).size == 250 * MIB
    assert allocator.reserved == 250 * MIB


@pytest.mark.parametrize("profile", PROFILES)
def test_an_out_of_memory_error_empties_the_cache_and_changes_nothing_else(profile):
    def program() -> tuple[CachingAllocator, list[Block]]:
        allocator = CachingAllocator(64 * MIB, profile)
        held = [allocator.allocate(size) for size in (3 * MIB, 5 * MIB, 100, 20 * MIB, 30_000)]
        allocator.free(held.pop(3))
        allocator.free(held.pop(0))
        return allocator, held

    ran_out, held = program()
    with pytest.raises(OutOfMemoryError):
        ran_out.allocate(64 * MIB)
    emptied, _ = program()
    emptied.empty_cache()
    assert ran_out.segments() == emptied.segments()
    for name in ("allocated", "reserved", "requested", "max_allocated", "max_reserved", "allocations", "live_blocks"):
        assert getattr(ran_out, name) == getattr(emptied, name), name
    for block in held:
        ran_out.free(block)
    assert ran_out.allocate(64 * MIB).size == 64 * MIB, "it should be possible to allocate the whole device again"


def test_the_error_has_the_sizes_that_pytorch_prints():
    allocator = CachingAllocator(64 * MIB, "torch")
    allocator.allocate(40 * MIB)
    allocator.allocate(512 * KIB)
    with pytest.raises(OutOfMemoryError) as caught:
        allocator.allocate(32 * MIB)
    error = caught.value
    assert str(error).startswith(
        "Out of memory on the simulated GPU. Tried to allocate 32.00 MiB. GPU 0 has a total capacity of 64.00 MiB of "
        "which 22.00 MiB is free. Of the allocated memory 40.50 MiB is allocated by tensors, and 1.50 MiB is reserved "
        "but unallocated.\n"
    )
    assert "What to try: drop tensors that are no longer needed" in str(error)
    assert isinstance(error, RuntimeError)
    assert (error.tried, error.capacity, error.free) == (32 * MIB, 64 * MIB, 22 * MIB)
    assert (error.allocated, error.reserved, error.unallocated) == (40.5 * MIB, 42 * MIB, 1.5 * MIB)


def test_the_error_mentions_a_segment_larger_than_the_request():
    allocator = CachingAllocator(16 * MIB, "torch")
    with pytest.raises(OutOfMemoryError, match=r"Tried to allocate 20.00 MiB") as caught:
        allocator.allocate(5 * MIB)
    assert "The request was for 5.00 MiB; by the allocator's rules, it needs a segment of 20.00 MiB." in str(
        caught.value
    )
    assert "What to try: the device is smaller than such a segment." in str(caught.value)


def test_the_error_mentions_a_tensor_larger_than_the_device():
    with pytest.raises(OutOfMemoryError, match="this one tensor is larger than the device"):
        CachingAllocator(16 * MIB, "paddle").allocate(17 * MIB)


def test_the_error_mentions_free_memory_that_is_in_pieces():
    allocator = CachingAllocator(20 * MIB, "torch")
    held = [allocator.allocate(2 * MIB) for _ in range(10)]
    for block in held[::2]:
        allocator.free(block)
    with pytest.raises(OutOfMemoryError, match=r"but in pieces .* \(the longest has 2.00 MiB\)"):
        allocator.allocate(6 * MIB)


def test_a_pickled_error_has_the_same_text_and_sizes():
    error = OutOfMemoryError(20 * MIB, 5 * MIB, 16 * MIB, 0, 0, 0)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.tried, copy.free) == (str(error), 20 * MIB, 16 * MIB)


@pytest.mark.parametrize(
    "nbytes, text",
    [
        (0, "0 bytes"),
        (512, "512 bytes"),
        (1024, "1024 bytes"),
        (1536, "1.50 KiB"),
        (MIB, "1024.00 KiB"),
        (2 * MIB, "2.00 MiB"),
        (20971520, "20.00 MiB"),
        (GIB, "1024.00 MiB"),
        (25 * GIB // 2, "12.50 GiB"),
        (5000 * GIB, "5000.00 GiB"),
    ],
)
def test_sizes_are_written_as_pytorch_writes_them(nbytes, text):
    assert bytes_text(nbytes) == text
