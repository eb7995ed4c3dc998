"""Test the simulated caching allocator: sizes that the frameworks report, segments, splits, the cache, counters."""

from __future__ import annotations

import math
import os

import pytest

from minitensor.engine.device.allocator import CachingAllocator
from minitensor.engine.device.profiles import PROFILES
from tests.support.engine.device.model import expect_sound

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SEED = os.environ.get("MINITENSOR_SEED", "in place")


def blocks(allocator: CachingAllocator) -> list[list[tuple[float, bool]]]:
    """Return for each segment the size of each block in MiB, and True if the block is in use."""
    return [[(block.size / MIB, block.in_use) for block in segment.blocks] for segment in allocator.segments()]


# ---------- sizes that articles about the frameworks report ----------


def test_paddle_counts_exactly_the_bytes_of_a_large_tensor():
    allocator = CachingAllocator(8 * GIB, "paddle")
    nbytes = 1 * 64 * 512 * 512 * 4
    x = allocator.allocate(nbytes)
    assert allocator.max_allocated == 67108864
    y = allocator.allocate(nbytes)
    assert allocator.max_allocated == 134217728
    allocator.free(x)
    allocator.free(y)
    assert (allocator.allocated, allocator.max_allocated) == (0, 134217728)


@pytest.mark.parametrize("profile, counted", [("torch", "382.0"), ("paddle", "381.5")])
def test_a_relu_of_10000_by_10000_allocates_as_many_bytes_as_in_the_framework(profile, counted):
    allocator = CachingAllocator(8 * GIB, profile)
    allocator.allocate(400_000_000)
    before = allocator.allocated
    allocator.allocate(400_000_000)
    assert f"{(allocator.allocated - before) / MIB:.1f}" == counted


def test_paddle_counts_400_million_bytes_without_rounding():
    allocator = CachingAllocator(8 * GIB, "paddle")
    assert allocator.allocate(400_000_000).size == 400_000_000
    assert f"{allocator.allocated / MIB:.2f}" == "381.47"


@pytest.mark.parametrize("nbytes, counted", [(1, 256), (256, 256), (257, 512), (4, 256)])
def test_paddle_rounds_up_to_multiples_of_256_bytes(nbytes, counted):
    allocator = CachingAllocator(MIB, "paddle")
    assert allocator.allocate(nbytes).size == counted == allocator.reserved


@pytest.mark.parametrize("nbytes, counted", [(1, 512), (512, 512), (513, 1024), (MIB - 1, MIB)])
def test_torch_rounds_up_to_multiples_of_512_bytes_in_a_shared_segment(nbytes, counted):
    allocator = CachingAllocator(GIB, "torch")
    assert allocator.allocate(nbytes).size == counted
    assert allocator.reserved == 2 * MIB


# ---------- segments and splitting ----------


@pytest.mark.parametrize(
    "requested, segment, counted",
    [
        (10.5, 12, 10.5),  # 1.5 MiB remain and are split off
        (10.9, 12, 10.9),
        (11.5, 12, 12),  # 0.5 MiB remain and are not split off
        (11, 12, 12),  # exactly 1 MiB remains and is not split off
        (11 - 512 / MIB, 12, 11 - 512 / MIB),  # 1 MiB and 512 bytes remain and are split off
        (10, 10, 10),
        (10 - 512 / MIB, 20, 10 - 512 / MIB),  # a request below 10 MiB reserves a shared segment of 20 MiB
        (1 + 512 / MIB, 20, 1 + 512 / MIB),
        (1, 2, 1),
        (381.5, 382, 382),
    ],
)
def test_torch_splits_off_the_rest_only_if_it_is_large_enough(requested, segment, counted):
    allocator = CachingAllocator(GIB, "torch")
    block = allocator.allocate(math.floor(requested * MIB))
    assert allocator.reserved == segment * MIB
    assert block.size == allocator.allocated == math.ceil(counted * MIB / 512) * 512
    rest = segment * MIB - block.size
    assert [size for size, in_use in blocks(allocator)[0] if not in_use] == ([rest / MIB] if rest else [])


def test_small_and_large_requests_never_share_a_segment():
    allocator = CachingAllocator(GIB, "torch")
    allocator.allocate(2 * MIB)  # 18 MiB remain free
    allocator.allocate(MIB)
    assert [(segment.pool, segment.size // MIB) for segment in allocator.segments()] == [("large", 20), ("small", 2)]


def test_the_first_of_the_smallest_blocks_that_fit_is_used():
    allocator = CachingAllocator(GIB, "torch")
    held = [allocator.allocate(size * MIB) for size in (4, 2, 6, 2, 4)]
    for gap in (0, 2, 4):
        allocator.free(held[gap])
    # Free now: 4 MiB at the beginning, 6 MiB in the middle, 6 MiB at the end (4 that were freed and 2 never used).
    assert allocator.allocate(3 * MIB).address == held[0].address, (
        "the smallest block that fits, of 4 MiB, should be used"
    )
    assert allocator.allocate(5 * MIB).address == held[2].address, (
        "the first of the two free blocks of 6 MiB should be used"
    )


def test_torch_uses_the_beginning_of_a_free_block_and_paddle_the_end():
    for profile, beginning in (("torch", True), ("paddle", False)):
        allocator = CachingAllocator(GIB, profile)
        whole = allocator.allocate(64 * MIB)
        allocator.free(whole)
        part = allocator.allocate(16 * MIB)
        assert part.address - whole.address == (0 if beginning else 48 * MIB)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_freed_neighbours_become_one_block_in_any_order(profile, order):
    allocator = CachingAllocator(GIB, profile)
    allocator.free(allocator.allocate(12 * KIB))  # under Paddle's rules this reserves a segment for three blocks
    held = [allocator.allocate(4 * KIB) for _ in range(3)]
    for index in order:
        allocator.free(held[index])
        expect_sound(allocator)
    assert [len(segment.blocks) for segment in allocator.segments()] == [1]


def test_neighbouring_segments_are_never_merged():
    allocator = CachingAllocator(GIB, "torch")
    held = [allocator.allocate(MIB) for _ in range(4)]
    first, second = allocator.segments()
    assert first.address + first.size == second.address, "the segments are not adjacent, so this test shows nothing"
    for block in held:
        allocator.free(block)
    assert blocks(allocator) == [[(2, False)], [(2, False)]]


# ---------- the cache ----------


def test_freed_memory_stays_reserved_until_the_cache_is_emptied():
    allocator = CachingAllocator(GIB, "torch")
    block = allocator.allocate(100 * MIB)
    allocator.free(block)
    assert (allocator.allocated, allocator.reserved, allocator.cached) == (0, 100 * MIB, 100 * MIB)
    assert allocator.allocate(100 * MIB).address == block.address, "the request should be served from the cache"
    assert allocator.reserved == 100 * MIB


def test_emptying_the_cache_keeps_segments_with_a_block_in_use():
    allocator = CachingAllocator(GIB, "torch")
    kept, dropped, alone = allocator.allocate(2 * MIB), allocator.allocate(2 * MIB), allocator.allocate(100 * MIB)
    allocator.free(dropped)
    allocator.free(alone)
    assert allocator.stuck == 18 * MIB
    assert allocator.empty_cache() == 100 * MIB
    assert blocks(allocator) == [[(2, True), (18, False)]]
    assert allocator.segments()[0].blocks[0].address == kept.address
    assert allocator.empty_cache() == 0


def test_fragmentation_measures_how_scattered_the_cache_is():
    allocator = CachingAllocator(GIB, "torch")
    assert allocator.fragmentation == 0
    held = [allocator.allocate(2 * MIB) for _ in range(10)]  # one segment of 20 MiB, full
    assert (allocator.fragmentation, allocator.largest_free) == (0, 0)
    for block in held[::2]:
        allocator.free(block)
    assert (allocator.cached, allocator.largest_free) == (10 * MIB, 2 * MIB)
    assert allocator.fragmentation == pytest.approx(0.8)
    for block in held[1::2]:
        allocator.free(block)
    assert allocator.fragmentation == 0


# ---------- counters ----------


def test_a_reset_peak_starts_from_the_allocated_bytes():
    allocator = CachingAllocator(GIB, "torch")
    allocator.free(allocator.allocate(50 * MIB))
    kept = allocator.allocate(3)
    allocator.reset_peak()
    assert (allocator.max_allocated, allocator.max_requested, allocator.max_reserved) == (512, 3, 52 * MIB)
    allocator.free(kept)
    allocator.empty_cache()
    allocator.reset_peak()
    assert (allocator.max_allocated, allocator.max_requested, allocator.max_reserved) == (0, 0, 0)
    assert allocator.allocations == 2, "reset_peak should not reset the number of allocations"


def test_requested_bytes_are_counted_without_rounding():
    allocator = CachingAllocator(GIB, "torch")
    block = allocator.allocate(1000)
    assert (block.requested, block.size) == (1000, 1024) == (allocator.requested, allocator.allocated)


def test_on_segment_is_called_when_a_segment_is_reserved_and_released():
    allocator = CachingAllocator(GIB, "torch")
    seen = []
    allocator.on_segment = lambda *event: seen.append(event)
    block = allocator.allocate(30 * MIB)
    allocator.free(block)
    allocator.free(allocator.allocate(30 * MIB - 7))  # from the cache: no segment is reserved or released
    allocator.empty_cache()
    assert seen == [("segment_alloc", block.address, 30 * MIB), ("segment_free", block.address, 30 * MIB)]
