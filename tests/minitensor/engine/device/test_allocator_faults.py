"""Test that the checks of the allocator notice each planted fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from minitensor.engine.device.allocator import Block, CachingAllocator
from minitensor.engine.device.profiles import PADDLE, TORCH, Profile
from tests.support.engine.device.model import MIB, Model, random_program, run_beside_model

FAULTS: list[Callable[[], tuple[CachingAllocator, str]]] = []
CAPACITY = 64 * MIB


def fault(make: Callable[[], tuple[CachingAllocator, str]]) -> Callable[[], tuple[CachingAllocator, str]]:
    FAULTS.append(make)
    return make


def with_rules(base: Profile, **changes: object) -> tuple[CachingAllocator, str]:
    """Return an allocator with a slightly wrong profile, and the name of the right one."""
    pool = {key: changes.pop(key) for key in ("segment", "own_from", "own_rounding", "kept_rest") if key in changes}
    which = changes.pop("pool", "large")
    profile = replace(base, **changes)
    if pool:
        profile = replace(profile, **{which: replace(getattr(profile, which), **pool)})
    return CachingAllocator(CAPACITY, profile), base.name


@fault
def rounds_to_256_instead_of_512_bytes():
    return with_rules(TORCH, rounding=256)


@fault
def rounds_to_512_instead_of_256_bytes():
    return with_rules(PADDLE, rounding=512)


@fault
def allocates_one_byte_more_than_requested():
    class Faulty(CachingAllocator):
        def allocate(self, nbytes: int) -> Block:
            block = super().allocate(nbytes + 1 if nbytes else 0)
            block.requested = nbytes
            self.requested -= 1 if nbytes else 0
            return block

    return Faulty(CAPACITY, TORCH), "torch"


@fault
def the_small_pool_ends_below_one_mebibyte():
    return with_rules(TORCH, small_up_to=MIB - 512)


@fault
def a_request_of_ten_mebibytes_has_no_segment_of_its_own():
    return with_rules(TORCH, own_from=10 * MIB + 1)


@fault
def splits_off_exactly_one_mebibyte():
    return with_rules(TORCH, kept_rest=MIB - 1)


@fault
def does_not_split_off_512_bytes_in_the_small_pool():
    return with_rules(TORCH, pool="small", kept_rest=512)


@fault
def does_not_split_off_256_bytes():
    return with_rules(PADDLE, kept_rest=256)


@fault
def uses_the_wrong_end_of_a_free_block():
    return with_rules(PADDLE, from_end=False)


@fault
def never_merges():
    class Faulty(CachingAllocator):
        def _merged(self, size, address, segment):
            return size, address, segment

    return Faulty(CAPACITY, TORCH), "torch"


@fault
def merges_only_with_the_block_before():
    class Faulty(CachingAllocator):
        def _merged(self, size, address, segment):
            after = self._free_from.pop(address + size, None)
            try:
                return super()._merged(size, address, segment)
            finally:
                if after is not None:
                    self._free_from[after[1]] = after

    return Faulty(CAPACITY, PADDLE), "paddle"


@fault
def merges_across_segments():
    class Faulty(CachingAllocator):
        def _merged(self, size, address, segment):
            after = self._free_from.get(address + size)
            if after is not None and after[2] is not segment and after[2].small == segment.small:
                pool = self._small if segment.small else self._large
                self._take(after, pool.free.index(after))
                return size + after[0], address, segment
            return super()._merged(size, address, segment)

    return Faulty(CAPACITY, TORCH), "torch"


@fault
def uses_the_last_of_equally_large_blocks():
    class Faulty(CachingAllocator):
        def allocate(self, nbytes: int) -> Block:
            for pool in (self._small, self._large):
                pool.free.sort(key=lambda free: (free[0], -free[1]))
            return super().allocate(nbytes)

    return Faulty(CAPACITY, TORCH), "torch"


@fault
def uses_a_block_that_is_not_the_smallest_that_fits():
    class Faulty(CachingAllocator):
        def allocate(self, nbytes: int) -> Block:
            hidden = self._large.free[:-1]
            del self._large.free[:-1]
            try:
                return super().allocate(nbytes)
            finally:
                self._large.free = sorted(self._large.free + hidden)

    return Faulty(CAPACITY, TORCH), "torch"


@fault
def empty_cache_releases_no_segment():
    class Faulty(CachingAllocator):
        def empty_cache(self) -> int:
            return 0

    return Faulty(CAPACITY, TORCH), "torch"


@fault
def releases_no_segments_when_memory_runs_out():
    class Faulty(CachingAllocator):
        def _reserve(self, pool, size, requested):
            self.empty_cache, kept = (lambda: 0), self.empty_cache
            try:
                return super()._reserve(pool, size, requested)
            finally:
                self.empty_cache = kept

    return Faulty(CAPACITY, TORCH), "torch"


@fault
def releases_segments_at_every_free():
    class Faulty(CachingAllocator):
        def free(self, block: Block) -> None:
            super().free(block)
            self.empty_cache()

    return Faulty(CAPACITY, TORCH), "torch"


@fault
def counts_a_byte_as_reserved_after_a_failed_reservation():
    class Faulty(CachingAllocator):
        def _reserve(self, pool, size, requested):
            self.reserved += 1
            found = super()._reserve(pool, size, requested)
            self.reserved -= 1
            return found

    return Faulty(CAPACITY, TORCH), "torch"


@fault
def requested_bytes_do_not_fall_when_a_block_is_freed():
    class Faulty(CachingAllocator):
        def free(self, block: Block) -> None:
            self.requested += block.requested
            super().free(block)

    return Faulty(CAPACITY, TORCH), "torch"


@fault
def the_peak_falls_when_a_block_is_freed():
    class Faulty(CachingAllocator):
        def free(self, block: Block) -> None:
            super().free(block)
            self.max_allocated = self.allocated

    return Faulty(CAPACITY, TORCH), "torch"


@fault
def reset_peak_sets_the_peak_to_zero():
    class Faulty(CachingAllocator):
        def reset_peak(self) -> None:
            self.max_allocated = self.max_reserved = self.max_requested = 0

    return Faulty(CAPACITY, TORCH), "torch"


@fault
def an_allocation_does_not_raise_the_peak_of_requested_bytes():
    class Faulty(CachingAllocator):
        def allocate(self, nbytes: int) -> Block:
            before = self.max_requested
            block = super().allocate(nbytes)
            self.max_requested = before
            return block

    return Faulty(CAPACITY, TORCH), "torch"


@fault
def counts_failed_requests_as_allocations():
    class Faulty(CachingAllocator):
        def allocate(self, nbytes: int) -> Block:
            before = self.allocations
            try:
                return super().allocate(nbytes)
            finally:
                self.allocations = before + bool(nbytes)

    return Faulty(CAPACITY, TORCH), "torch"


@pytest.mark.parametrize("plant", FAULTS, ids=lambda plant: plant.__name__)
def test_a_planted_fault_of_the_allocator_is_noticed(plant):
    def finds_it(number: int) -> bool:
        allocator, profile = plant()
        program = random_program(f"faults {number}", length=400)
        try:
            run_beside_model(allocator, Model(CAPACITY, profile), program)
        except (AssertionError, LookupError, RuntimeError, ValueError):
            return True
        return False

    assert any(finds_it(number) for number in range(4)), "none of four random programs finds this fault"


@pytest.mark.parametrize("profile", [TORCH, PADDLE], ids=lambda profile: profile.name)
def test_the_programs_that_find_faults_find_none_in_the_real_allocator(profile):
    for number in range(4):
        program = random_program(f"faults {number}", length=400)
        run_beside_model(CachingAllocator(CAPACITY, profile), Model(CAPACITY, profile.name), program)
