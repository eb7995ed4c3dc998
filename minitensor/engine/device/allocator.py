"""A caching allocator that simulates a GPU's memory with integers, without a GPU.

It returns addresses and counts bytes, but reserves no real memory. Its rules are those of the frameworks' allocators
for CUDA devices, with their default settings:

* A request is rounded up, and served from the smallest free block that is large enough.
* If no free block is large enough, a segment is reserved on the device. Small requests share segments.
* If the block is larger than the request, the rest becomes a new free block. If this rest would be too small, it is
  allocated, too.
* A freed block is merged with its free neighbours and cached for later requests, not returned to the device.
* If the device is full, segments without any block in use are returned to it, and the reservation is retried once.

Invariants: the blocks of a segment cover it without gaps and overlaps; no two free blocks of a segment are adjacent;
``allocated <= reserved <= capacity``; ``allocated`` and ``requested`` are sums over the blocks in use, and ``reserved``
is the sum over the segments.

Not modelled: streams, the driver's page tables and its own memory, and every option that is off by default
(expandable segments, a limit on splitting, rounding to powers of two).
"""

from __future__ import annotations

import functools
import operator
from bisect import bisect_left, insort
from collections.abc import Callable
from threading import RLock
from typing import Any, NamedTuple, TypeVar

import numpy as np

from minitensor.engine.device.memory_error import OutOfMemoryError
from minitensor.engine.device.profiles import MIB, PoolRules, Profile, profile_named

Answer = TypeVar("Answer")

#: The address of the first segment. Each segment begins at a multiple of SEGMENT_ALIGNMENT. Address 0 means no memory.
FIRST_ADDRESS = 1 << 32
SEGMENT_ALIGNMENT = 2 * MIB


# ---------- blocks, segments, and their views ----------


class _Pool:
    """The free blocks in all small segments, or in all large ones, sorted by size, then by address."""

    __slots__ = ("rules", "free")

    def __init__(self, rules: PoolRules) -> None:
        self.rules = rules
        self.free: list[_Free] = []


class _Segment:
    """A contiguous piece of memory reserved on the device."""

    __slots__ = ("address", "size", "small")

    def __init__(self, address: int, size: int, small: bool) -> None:
        self.address, self.size = address, size
        self.small = small  # True for the small pool; a reference to the pool itself would make a cycle


#: A free block: its size, address and segment. Because the size is first, a sorted list yields the best fit.
_Free = tuple[int, int, _Segment]


class Block:
    """A block of memory in use.

    Attributes:
        address: the first address; 0 for a request of 0 bytes.
        size: the size in bytes, which the allocator counts as allocated.
        requested: the number of bytes that were requested, before rounding.
    """

    __slots__ = ("address", "size", "requested", "_segment")

    def __init__(self, address: int, size: int, requested: int, segment: _Segment | None) -> None:
        self.address, self.size, self.requested, self._segment = address, size, requested, segment

    def __repr__(self) -> str:
        return f"Block(address={self.address:#x}, size={self.size}, requested={self.requested})"


class BlockView(NamedTuple):
    """One block of a segment, as :meth:`CachingAllocator.segments` returns it. ``requested`` is 0 for a free block."""

    address: int
    size: int
    requested: int
    in_use: bool


class SegmentView(NamedTuple):
    """One segment, its pool (``"small"`` or ``"large"``), and its blocks in order of address."""

    address: int
    size: int
    pool: str
    blocks: tuple[BlockView, ...]


# ---------- the allocator ----------


def _serialize(method: Callable[..., Answer]) -> Callable[..., Answer]:
    """Let only one thread at a time run ``method``, because it changes several containers that belong together."""

    @functools.wraps(method)
    def locked(self: CachingAllocator, *given: Any) -> Answer:
        with self._lock:
            return method(self, *given)

    return locked


class CachingAllocator:
    """Simulate allocations and frees on a device of ``capacity`` bytes under the rules of ``profile``.

    Args:
        capacity: bytes of the device, at least 1.
        profile: a :class:`Profile` or the name of one: ``"torch"``, ``"paddle"``, ``"torch/32"``.

    Attributes (bytes, unless noted otherwise):
        capacity, profile: as given.
        allocated, max_allocated: the size of the blocks in use, and its maximum since the last ``reset_peak()``.
        reserved, max_reserved: the size of all segments, and its maximum since then.
        requested, max_requested: the requested bytes of the blocks in use, and their maximum since then.
        allocations: the number of requests served. Requests of 0 bytes are not counted.
        on_segment: if it is not None, it is called with ``("segment_alloc" or "segment_free", address, size)`` when a
            segment is reserved or returned to the device.

    Raises:
        TypeError: if ``capacity`` is not an integer.
        ValueError: if ``capacity`` is less than 1, or if there is no such profile.

    One call takes about a microsecond; a free block is found by a binary search.
    """

    def __init__(self, capacity: int, profile: str | Profile = "torch") -> None:
        self.capacity = _whole("capacity", capacity)
        if self.capacity < 1:
            raise ValueError(f"capacity must be at least 1 byte, not {capacity}.")
        self.profile = profile if isinstance(profile, Profile) else profile_named(profile)
        self.allocated = self.max_allocated = 0
        self.reserved = self.max_reserved = 0
        self.requested = self.max_requested = 0
        self.allocations = 0
        self.on_segment: Callable[[str, int, int], None] | None = None
        self._small = _Pool(self.profile.small)
        self._large = _Pool(self.profile.large)
        self._next_address = FIRST_ADDRESS
        self._lock = RLock()
        self._segments: dict[int, _Segment] = {}  # this and the next two dicts are keyed by the first address
        self._live: dict[int, Block] = {}
        self._free_from: dict[int, _Free] = {}
        self._free_until: dict[int, _Free] = {}  # keyed by the address after the last byte

    @_serialize
    def allocate(self, nbytes: int) -> Block:
        """Return a block for ``nbytes`` bytes. A request of 0 bytes uses no memory: its block has address and size 0.

        Raises:
            OutOfMemoryError: if the device is full. Blocks in use and their counters are unchanged, but unused segments
                have been returned to the device.
            TypeError, ValueError: if ``nbytes`` is not an integer, or is negative.
        """
        if type(nbytes) is not int:
            nbytes = _whole("allocate: the size", nbytes)
        if nbytes <= 0:
            return _nothing(nbytes)
        profile = self.profile
        rounding = profile.rounding
        size = (nbytes + rounding - 1) // rounding * rounding
        pool = self._small if size <= profile.small_up_to else self._large

        best = bisect_left(pool.free, (size,))
        if best < len(pool.free):
            found = pool.free[best]
            self._take(found, best)
        else:
            found = self._reserve(pool, size, nbytes)

        length, address, segment = found
        rest = length - size
        if rest > pool.rules.kept_rest:
            if profile.from_end:
                self._put((rest, address, segment))
                address += rest
            else:
                self._put((rest, address + size, segment))
        else:
            size = length

        block = self._live[address] = Block(address, size, nbytes, segment)
        self.allocations += 1
        self.allocated = allocated = self.allocated + size
        if allocated > self.max_allocated:
            self.max_allocated = allocated
        self.requested = requested = self.requested + nbytes
        if requested > self.max_requested:
            self.max_requested = requested
        return block

    @_serialize
    def free(self, block: Block) -> None:
        """Return ``block`` to the cache. Only :meth:`empty_cache` returns memory to the device.

        Raises:
            ValueError: if this allocator did not allocate ``block``, or has freed it already. Nothing has changed then.
            TypeError: if ``block`` is not a :class:`Block`.
        """
        if type(block) is not Block:
            raise TypeError(f"free: the argument must be a Block from `allocate`, not {type(block).__name__}.")
        address, size, segment = block.address, block.size, block._segment
        if self._live.get(address) is not block:
            if segment is None:
                return
            raise ValueError(f"free: {block} is not in use here: it was freed already, or is another allocator's.")
        assert segment is not None, "a block that lives has its segment"
        del self._live[address]
        self.allocated -= size
        self.requested -= block.requested
        self._put(self._merged(size, address, segment))

    @_serialize
    def empty_cache(self) -> int:
        """Return all segments without any block in use to the device. The result is their total size in bytes."""
        released = 0
        for pool in (self._large, self._small):
            for unused in [block for block in pool.free if block[0] == block[2].size]:
                size, address, _ = unused
                self._take(unused, bisect_left(pool.free, unused))
                del self._segments[address]
                self.reserved -= size
                released += size
                if self.on_segment is not None:
                    self.on_segment("segment_free", address, size)
        return released

    def reset_peak(self) -> None:
        """Reset the three peaks to the current allocated, reserved and requested bytes."""
        self.max_allocated, self.max_reserved, self.max_requested = self.allocated, self.reserved, self.requested

    # ---------- state ----------

    @property
    def live_blocks(self) -> int:
        """The number of blocks in use."""
        return len(self._live)

    @property
    def cached(self) -> int:
        """Bytes that are reserved but not allocated."""
        return self.reserved - self.allocated

    @property
    def largest_free(self) -> int:
        """The size in bytes of the largest free block in the cache; 0 if there is none."""
        return max((pool.free[-1][0] for pool in (self._small, self._large) if pool.free), default=0)

    @property
    def stuck(self) -> int:
        """Cached bytes that :meth:`empty_cache` cannot return, because their segments have blocks in use."""
        return sum(size for size, _, segment in self._free_from.values() if size != segment.size)

    @property
    def fragmentation(self) -> float:
        """1 minus the largest free block's share of the cached bytes; 0 for an empty cache."""
        return 1 - self.largest_free / self.cached if self.cached else 0.0

    def segments(self) -> list[SegmentView]:
        """Return the current segments and their blocks, in order of address."""
        return [
            SegmentView(
                segment.address, segment.size, "small" if segment.small else "large", tuple(self._blocks_of(segment))
            )
            for _, segment in sorted(self._segments.items())
        ]

    def __repr__(self) -> str:
        return (
            f"CachingAllocator({self.profile.name!r}: {self.allocated} bytes allocated, {self.reserved} reserved, "
            f"{self.capacity} in all)"
        )

    # ---------- free blocks and segments ----------

    def _put(self, block: _Free) -> None:
        size, address, segment = block
        insort((self._small if segment.small else self._large).free, block)
        self._free_from[address] = self._free_until[address + size] = block

    def _take(self, block: _Free, position: int) -> None:
        size, address, segment = block
        del (self._small if segment.small else self._large).free[position]
        del self._free_from[address], self._free_until[address + size]

    def _merged(self, size: int, address: int, segment: _Segment) -> _Free:
        """Return one free block for a block and its free neighbours. Remove the neighbours from the pool."""
        free = (self._small if segment.small else self._large).free
        before = self._free_until.get(address)
        after = self._free_from.get(address + size)
        # The free block before this address may be the last block of another segment.
        if before is not None and before[2] is segment:
            self._take(before, bisect_left(free, before))
            size, address = size + before[0], before[1]
        if after is not None and after[2] is segment:
            self._take(after, bisect_left(free, after))
            size += after[0]
        return size, address, segment

    def _reserve(self, pool: _Pool, size: int, requested: int) -> _Free:
        """Reserve a segment for a rounded request of ``size`` bytes; return it as a free block outside the pools."""
        rules = pool.rules
        tried = rules.segment if size < rules.own_from else -(-size // rules.own_rounding) * rules.own_rounding
        if self.reserved + tried > self.capacity:
            self.empty_cache()
        if self.reserved + tried > self.capacity:
            raise OutOfMemoryError(
                tried, requested, self.capacity, self.reserved, self.allocated, largest_free=self.largest_free
            )
        address = self._next_address
        self._next_address += -(-tried // SEGMENT_ALIGNMENT) * SEGMENT_ALIGNMENT
        segment = self._segments[address] = _Segment(address, tried, pool is self._small)
        self.reserved += tried
        self.max_reserved = max(self.max_reserved, self.reserved)
        if self.on_segment is not None:
            self.on_segment("segment_alloc", address, tried)
        return tried, address, segment

    def _blocks_of(self, segment: _Segment) -> list[BlockView]:
        views, address = [], segment.address
        while address < segment.address + segment.size:
            block = self._live.get(address)
            size = self._free_from[address][0] if block is None else block.size
            views.append(BlockView(address, size, 0 if block is None else block.requested, block is not None))
            address += size
        return views


def _whole(what: str, given: Any) -> int:
    """Return a Python or numpy integer as an int; raise TypeError for anything else, also for bools."""
    try:
        if isinstance(given, bool | np.bool_):
            raise TypeError
        return operator.index(given)
    except TypeError:
        raise TypeError(
            f"{what} must be an integer number of bytes, not {given!r} of type {type(given).__name__}."
        ) from None


def _nothing(nbytes: int) -> Block:
    """Return the block of a request of 0 bytes; raise ValueError for a negative number."""
    if nbytes < 0:
        raise ValueError(f"allocate: the size must be 0 bytes or more, not {nbytes}.")
    return Block(0, 0, 0, None)
