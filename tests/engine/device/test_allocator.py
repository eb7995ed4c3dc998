"""The simulated caching allocator: the figures of the frameworks, its invariants, and what running out looks like."""

from __future__ import annotations

import gc
import math
import os
import pickle
import random

import numpy as np
import pytest

from minitensor.device.allocator import Block, CachingAllocator
from minitensor.device.memory_error import OutOfMemoryError, bytes_text
from minitensor.device.profiles import PROFILES, TORCH, PoolRules, Profile
from tests.engine.device.model import Model, expect_sound, random_program, run_beside_model

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SEED = os.environ.get("MINITENSOR_SEED", "in place")


def blocks(allocator: CachingAllocator) -> list[list[tuple[float, bool]]]:
    """Segment by segment: how many MiB each block has, and whether it is in use."""
    return [[(block.size / MIB, block.in_use) for block in segment.blocks] for segment in allocator.segments()]


# ---------- the figures of the articles ----------


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
def test_a_relu_on_ten_thousand_squared_counts_what_the_framework_says(profile, counted):
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
def test_paddle_rounds_to_256(nbytes, counted):
    allocator = CachingAllocator(MIB, "paddle")
    assert allocator.allocate(nbytes).size == counted == allocator.reserved


@pytest.mark.parametrize("nbytes, counted", [(1, 512), (512, 512), (513, 1024), (MIB - 1, MIB)])
def test_torch_rounds_to_512_in_a_shared_segment(nbytes, counted):
    allocator = CachingAllocator(GIB, "torch")
    assert allocator.allocate(nbytes).size == counted
    assert allocator.reserved == 2 * MIB


# ---------- segments and splitting ----------


@pytest.mark.parametrize(
    "asked, segment, counted",
    [
        (10.5, 12, 10.5),  # 1.5 MiB are left: split off
        (10.9, 12, 10.9),
        (11.5, 12, 12),  # 0.5 MiB are left: they stay
        (11, 12, 12),  # exactly 1 MiB is left: it stays too
        (11 - 512 / MIB, 12, 11 - 512 / MIB),  # 512 bytes more are left: split off
        (10, 10, 10),
        (10 - 512 / MIB, 20, 10 - 512 / MIB),  # below 10 MiB: a shared segment of 20
        (1 + 512 / MIB, 20, 1 + 512 / MIB),
        (1, 2, 1),
        (381.5, 382, 382),
    ],
)
def test_torch_splits_off_what_is_left_only_if_it_is_worth_it(asked, segment, counted):
    allocator = CachingAllocator(GIB, "torch")
    block = allocator.allocate(math.floor(asked * MIB))
    assert allocator.reserved == segment * MIB
    assert block.size == allocator.allocated == math.ceil(counted * MIB / 512) * 512
    rest = segment * MIB - block.size
    assert [size for size, in_use in blocks(allocator)[0] if not in_use] == ([rest / MIB] if rest else [])


def test_small_and_large_requests_never_share_a_segment():
    allocator = CachingAllocator(GIB, "torch")
    allocator.allocate(2 * MIB)  # leaves 18 MiB free
    allocator.allocate(MIB)
    assert [(segment.pool, segment.size // MIB) for segment in allocator.segments()] == [("large", 20), ("small", 2)]


def test_the_smallest_block_that_fits_is_taken_and_of_equal_ones_the_first():
    allocator = CachingAllocator(GIB, "torch")
    held = [allocator.allocate(size * MIB) for size in (4, 2, 6, 2, 4)]
    for gap in (0, 2, 4):
        allocator.free(held[gap])
    # Free now: 4 MiB at the beginning, 6 MiB in the middle, 6 MiB at the end (4 that were freed and 2 never used).
    assert allocator.allocate(3 * MIB).address == held[0].address, "the 4 MiB fit best, and 1 MiB stays with it"
    assert allocator.allocate(5 * MIB).address == held[2].address, "6 MiB twice: the first"


def test_torch_takes_the_beginning_of_a_free_block_and_paddle_the_end():
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
    allocator.free(allocator.allocate(12 * KIB))  # under Paddle's rules the segment that is then split
    held = [allocator.allocate(4 * KIB) for _ in range(3)]
    for index in order:
        allocator.free(held[index])
        expect_sound(allocator)
    assert [len(segment.blocks) for segment in allocator.segments()] == [1]


def test_neighbouring_segments_are_never_merged():
    allocator = CachingAllocator(GIB, "torch")
    held = [allocator.allocate(MIB) for _ in range(4)]
    first, second = allocator.segments()
    assert first.address + first.size == second.address, "they touch, or this test shows nothing"
    for block in held:
        allocator.free(block)
    assert blocks(allocator) == [[(2, False)], [(2, False)]]


# ---------- the cache ----------


def test_freed_memory_stays_reserved_until_the_cache_is_emptied():
    allocator = CachingAllocator(GIB, "torch")
    block = allocator.allocate(100 * MIB)
    allocator.free(block)
    assert (allocator.allocated, allocator.reserved, allocator.cached) == (0, 100 * MIB, 100 * MIB)
    assert allocator.allocate(100 * MIB).address == block.address, "served from the cache"
    assert allocator.reserved == 100 * MIB


def test_emptying_the_cache_leaves_blocks_in_use_and_their_segments():
    allocator = CachingAllocator(GIB, "torch")
    kept, dropped, alone = allocator.allocate(2 * MIB), allocator.allocate(2 * MIB), allocator.allocate(100 * MIB)
    allocator.free(dropped)
    allocator.free(alone)
    assert allocator.stuck == 18 * MIB
    assert allocator.empty_cache() == 100 * MIB
    assert blocks(allocator) == [[(2, True), (18, False)]]
    assert allocator.segments()[0].blocks[0].address == kept.address
    assert allocator.empty_cache() == 0


def test_fragmentation_tells_how_scattered_the_cache_is():
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


def test_peaks_start_again_from_what_there_is():
    allocator = CachingAllocator(GIB, "torch")
    allocator.free(allocator.allocate(50 * MIB))
    kept = allocator.allocate(3)
    allocator.reset_peak()
    assert (allocator.max_allocated, allocator.max_requested, allocator.max_reserved) == (512, 3, 52 * MIB)
    allocator.free(kept)
    allocator.empty_cache()
    allocator.reset_peak()
    assert (allocator.max_allocated, allocator.max_requested, allocator.max_reserved) == (0, 0, 0)
    assert allocator.allocations == 2, "how many there have been is no peak"


def test_what_was_asked_for_is_counted_beside_what_it_takes():
    allocator = CachingAllocator(GIB, "torch")
    block = allocator.allocate(1000)
    assert (block.requested, block.size) == (1000, 1024) == (allocator.requested, allocator.allocated)


def test_segments_are_reported_when_they_come_and_go():
    allocator = CachingAllocator(GIB, "torch")
    seen = []
    allocator.on_segment = lambda *event: seen.append(event)
    block = allocator.allocate(30 * MIB)
    allocator.free(block)
    allocator.free(allocator.allocate(30 * MIB - 7))  # from the cache: no segment comes or goes
    allocator.empty_cache()
    assert seen == [("segment_alloc", block.address, 30 * MIB), ("segment_free", block.address, 30 * MIB)]


# ---------- running out ----------


def test_cached_segments_are_given_back_before_memory_runs_out():
    allocator = CachingAllocator(256 * MIB, "torch")
    allocator.free(allocator.allocate(200 * MIB))
    assert allocator.allocate(250 * MIB).size == 250 * MIB
    assert allocator.reserved == 250 * MIB


@pytest.mark.parametrize("profile", PROFILES)
def test_running_out_leaves_what_emptying_the_cache_would_leave(profile):
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
    assert ran_out.allocate(64 * MIB).size == 64 * MIB, "all of the device can be had again"


def test_the_error_has_the_figures_that_pytorch_prints():
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


def test_the_error_tells_of_a_segment_larger_than_the_request():
    allocator = CachingAllocator(16 * MIB, "torch")
    with pytest.raises(OutOfMemoryError, match="Tried to allocate 20.00 MiB") as caught:
        allocator.allocate(5 * MIB)
    assert "The request was for 5.00 MiB; the allocator's rules take a segment of 20.00 MiB for it." in str(
        caught.value
    )


def test_the_error_tells_of_a_tensor_larger_than_the_device():
    with pytest.raises(OutOfMemoryError, match="this one tensor is larger than the device"):
        CachingAllocator(16 * MIB, "paddle").allocate(17 * MIB)


def test_the_error_tells_of_scattered_memory():
    allocator = CachingAllocator(20 * MIB, "torch")
    held = [allocator.allocate(2 * MIB) for _ in range(10)]
    for block in held[::2]:
        allocator.free(block)
    with pytest.raises(OutOfMemoryError, match=r"but in pieces .* \(the longest has 2.00 MiB\)"):
        allocator.allocate(6 * MIB)


def test_the_error_survives_being_sent_to_another_process():
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


# ---------- unusual input ----------


@pytest.mark.parametrize("profile", PROFILES)
def test_nothing_takes_no_memory(profile):
    allocator = CachingAllocator(MIB, profile)
    block = allocator.allocate(0)
    assert (block.address, block.size, block.requested) == (0, 0, 0)
    allocator.free(block)
    assert (allocator.reserved, allocator.allocations, allocator.live_blocks, allocator.segments()) == (0, 0, 0, [])


def test_numpy_integers_are_integers():
    allocator = CachingAllocator(np.int64(GIB), "torch")
    block = allocator.allocate(np.int32(1000))
    assert type(block.requested) is type(block.size) is type(allocator.allocated) is type(allocator.capacity) is int
    assert allocator.allocate(np.prod([1000, 1000, 1000])).requested == 10**9


@pytest.mark.parametrize("given", [1.0, 1.5, "4 MiB", None, True, np.float32(4), np.bool_(True), [4]])
def test_a_size_that_is_no_integer_is_refused(given):
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


def test_a_size_beyond_any_device_is_out_of_memory():
    with pytest.raises(OutOfMemoryError):
        CachingAllocator(GIB).allocate(10**30)


def test_a_block_is_freed_once():
    allocator = CachingAllocator(GIB, "torch")
    block = allocator.allocate(1000)
    allocator.free(block)
    with pytest.raises(ValueError, match="it was freed already"):
        allocator.free(block)
    again = allocator.allocate(1000)
    assert again.address == block.address
    with pytest.raises(ValueError, match="it was freed already"):
        allocator.free(block)  # the address is in use, but not for this block
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
def test_only_blocks_are_freed(given):
    with pytest.raises(TypeError, match="a Block that `allocate` gave is needed"):
        CachingAllocator(GIB).free(given)


@pytest.mark.parametrize("given", ["jax", "Torch", None, 3])
def test_an_unknown_profile_is_refused_with_the_known_ones(given):
    with pytest.raises(ValueError, match="'torch', 'paddle', 'torch/32'"):
        CachingAllocator(GIB, given)


def test_rules_that_can_not_work_are_refused():
    with pytest.raises(ValueError, match="own_from <= segment"):
        PoolRules(segment=1024, own_from=2048, own_rounding=256, kept_rest=0)
    with pytest.raises(ValueError, match="rounding must be 1 byte or more"):
        Profile("none", 0, 0, TORCH.small, TORCH.large)


def test_a_profile_of_ones_own():
    rules = PoolRules(segment=1000, own_from=600, own_rounding=100, kept_rest=10)
    allocator = CachingAllocator(5000, Profile("mine", 10, 0, rules, rules))
    assert [allocator.allocate(n).size for n in (1, 595, 601, 390)] == [10, 600, 610, 390]
    assert [segment.size for segment in allocator.segments()] == [1000, 700]


def test_an_allocator_leaves_nothing_to_the_garbage_collector():
    gc.collect()
    gc.disable()
    try:
        allocator = CachingAllocator(GIB, "torch")
        held = [allocator.allocate(n * KIB) for n in range(1, 100)]
        for block in held[::2]:
            allocator.free(block)
        del allocator, held, block
        assert gc.collect() == 0, "there is a reference cycle"
    finally:
        gc.enable()


# ---------- random programs beside a slow model ----------


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("mebibytes", [24, 64, 200, 4096])
@pytest.mark.parametrize("number", range(4))
def test_random_programs_leave_what_the_model_leaves(profile, mebibytes, number):
    scale = 32 if profile == "torch/32" else 1
    capacity = mebibytes * MIB // scale
    program = random_program(f"{SEED} {profile} {mebibytes} {number}", scale=scale)
    run_beside_model(CachingAllocator(capacity, profile), Model(capacity, profile), program)


@pytest.mark.parametrize("profile", PROFILES)
def test_random_programs_reach_what_they_are_for(profile):
    scale = 32 if profile == "torch/32" else 1
    ran_out = released = splits = 0
    for number in range(4):
        allocator = CachingAllocator(64 * MIB // scale, profile)
        seen = []
        allocator.on_segment = lambda kind, *_, seen=seen: seen.append(kind)
        program = random_program(f"{SEED} {profile} 64 {number}", scale=scale)
        ran_out += run_beside_model(allocator, Model(64 * MIB // scale, profile), program)
        released += seen.count("segment_free")
        splits += max((len(segment.blocks) for segment in allocator.segments()), default=0)
    assert ran_out >= 5 and released >= 5 and splits >= 5


@pytest.mark.parametrize("profile", PROFILES)
def test_any_order_of_frees_ends_with_nothing_but_whole_segments(profile):
    draw = random.Random(f"{SEED} order {profile}")
    for _ in range(20):
        allocator = CachingAllocator(GIB, profile)
        held = [allocator.allocate(int(2 ** draw.uniform(0, 23))) for _ in range(40)]
        draw.shuffle(held)
        for block in held:
            allocator.free(block)
        assert all(len(segment.blocks) == 1 for segment in allocator.segments())
        assert (allocator.allocated, allocator.requested, allocator.stuck) == (0, 0, 0)
        assert allocator.empty_cache() == allocator.max_reserved
        assert (allocator.reserved, allocator.segments()) == (0, [])


def test_the_same_program_gives_the_same_addresses():
    def addresses() -> list[int]:
        allocator = CachingAllocator(GIB, "torch")
        held = []
        for step in random_program(f"{SEED} addresses"):
            if step.verb == "allocate":
                held.append(allocator.allocate(step.number))
        return [block.address for block in held]

    assert addresses() == addresses()
