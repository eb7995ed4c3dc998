"""Test that the allocator has the same blocks and counters as a slow model after every step of random programs."""

from __future__ import annotations

import os
import random

import pytest

from minitensor.engine.device.allocator import CachingAllocator
from minitensor.engine.device.profiles import PROFILES
from tests.support.engine.device.model import Model, random_program, run_beside_model

MIB, GIB = 1 << 20, 1 << 30
SEED = os.environ.get("MINITENSOR_SEED", "in place")


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("mebibytes", [24, 64, 200, 4096])
@pytest.mark.parametrize("number", range(4))
def test_the_allocator_has_the_same_blocks_as_the_model_in_random_programs(profile, mebibytes, number):
    scale = 32 if profile == "torch/32" else 1
    capacity = mebibytes * MIB // scale
    program = random_program(f"{SEED} {profile} {mebibytes} {number}", scale=scale)
    run_beside_model(CachingAllocator(capacity, profile), Model(capacity, profile), program)


@pytest.mark.parametrize("profile", PROFILES)
def test_random_programs_run_out_of_memory_release_segments_and_split_blocks(profile):
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
def test_any_order_of_frees_ends_with_whole_segments(profile):
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
