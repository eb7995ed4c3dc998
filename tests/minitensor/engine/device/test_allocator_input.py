"""Test unusual input to the allocator, and user-defined profiles."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from minitensor.engine.device.allocator import CachingAllocator
from minitensor.engine.device.memory_error import OutOfMemoryError
from minitensor.engine.device.profiles import PROFILES, TORCH, PoolRules, Profile
from tests.support.engine.device.model import expect_sound

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@pytest.mark.parametrize("profile", PROFILES)
def test_a_request_of_zero_bytes_allocates_nothing(profile):
    allocator = CachingAllocator(MIB, profile)
    block = allocator.allocate(0)
    assert (block.address, block.size, block.requested) == (0, 0, 0)
    allocator.free(block)
    assert (allocator.reserved, allocator.allocations, allocator.live_blocks, allocator.segments()) == (0, 0, 0, [])


def test_sizes_given_as_numpy_integers_become_python_integers():
    allocator = CachingAllocator(np.int64(GIB), "torch")
    block = allocator.allocate(np.int32(1000))
    assert type(block.requested) is type(block.size) is type(allocator.allocated) is type(allocator.capacity) is int
    assert allocator.allocate(np.prod([1000, 1000, 1000])).requested == 10**9


@pytest.mark.parametrize("given", [1.0, 1.5, "4 MiB", None, True, np.float32(4), np.bool_(True), [4]])
def test_a_size_that_is_not_an_integer_is_refused(given):
    allocator = CachingAllocator(MIB, "torch")
    with pytest.raises(TypeError, match="must be an integer number of bytes, not") as caught:
        allocator.allocate(given)
    assert repr(given) in str(caught.value) and type(given).__name__ in str(caught.value)
    with pytest.raises(TypeError, match="capacity must be an integer"):
        CachingAllocator(given)
    assert allocator.allocations == 0


@pytest.mark.parametrize("given", [-1, -(10**30), np.int64(-5)])
def test_a_negative_size_is_refused(given):
    allocator = CachingAllocator(MIB, "torch")
    with pytest.raises(ValueError, match="0 bytes or more, not -"):
        allocator.allocate(given)
    with pytest.raises(ValueError, match="at least 1 byte"):
        CachingAllocator(given)


def test_a_size_beyond_any_device_raises_out_of_memory():
    with pytest.raises(OutOfMemoryError):
        CachingAllocator(GIB).allocate(10**30)


def test_a_block_cannot_be_freed_twice():
    allocator = CachingAllocator(GIB, "torch")
    block = allocator.allocate(1000)
    allocator.free(block)
    with pytest.raises(ValueError, match="it was freed already"):
        allocator.free(block)
    again = allocator.allocate(1000)
    assert again.address == block.address
    with pytest.raises(ValueError, match="it was freed already"):
        allocator.free(block)  # another block uses the same address now
    assert (allocator.live_blocks, allocator.allocated) == (1, 1024)
    expect_sound(allocator)


def test_a_block_of_another_allocator_is_refused():
    one, other = CachingAllocator(GIB), CachingAllocator(GIB)
    block = one.allocate(5)
    other.allocate(5)
    with pytest.raises(ValueError, match="another allocator"):
        other.free(block)
    assert other.live_blocks == one.live_blocks == 1


@pytest.mark.parametrize("given", [None, 1 << 32, "block"])
def test_free_refuses_everything_but_a_block(given):
    with pytest.raises(TypeError, match="must be a Block from `allocate`"):
        CachingAllocator(GIB).free(given)


@pytest.mark.parametrize("given", ["jax", "Torch", None, 3])
def test_the_error_about_an_unknown_profile_lists_the_known_profiles(given):
    with pytest.raises(ValueError, match="'torch', 'paddle', 'torch/32'"):
        CachingAllocator(GIB, given)


def test_an_impossible_profile_is_refused():
    with pytest.raises(ValueError, match="own_from <= segment"):
        PoolRules(segment=1024, own_from=2048, own_rounding=256, kept_rest=0)
    with pytest.raises(ValueError, match="rounding must be 1 byte or more"):
        Profile("none", 0, 0, TORCH.small, TORCH.large)


def test_a_profile_can_be_defined():
    rules = PoolRules(segment=1000, own_from=600, own_rounding=100, kept_rest=10)
    allocator = CachingAllocator(5000, Profile("mine", 10, 0, rules, rules))
    assert [allocator.allocate(n).size for n in (1, 595, 601, 390)] == [10, 600, 610, 390]
    assert [segment.size for segment in allocator.segments()] == [1000, 700]


def test_an_allocator_is_freed_without_the_garbage_collector():
    gc.collect()
    gc.disable()
    try:
        allocator = CachingAllocator(GIB, "torch")
        held = [allocator.allocate(n * KIB) for n in range(1, 100)]
        for block in held[::2]:
            allocator.free(block)
        del allocator, held, block
        assert gc.collect() == 0, "the allocator and its blocks form a reference cycle"
    finally:
        gc.enable()
