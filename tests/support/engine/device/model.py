"""A second, simple allocator for comparison with the real one.

Memory is a list of segments, a segment is a list of pieces, and every query searches the whole list. The rules are
written from the published descriptions of the two frameworks' allocators and not from the profiles.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from minitensor.engine.device.allocator import Block, CachingAllocator, SegmentView
from minitensor.engine.device.memory_error import OutOfMemoryError

MIB = 1024 * 1024


class Wanted(NamedTuple):
    """The sizes in bytes that the rules give for one request."""

    size: int
    pool: str
    segment: int
    splits_off_from: int  # the smallest remainder that is split off


def up(nbytes: int, multiple: int) -> int:
    while nbytes % multiple:
        nbytes += multiple - nbytes % multiple
    return nbytes


def torch_rules(nbytes: int, scale: int = 1) -> Wanted:
    mib = MIB // scale
    size = up(nbytes, 512 // scale)
    if size <= mib:
        return Wanted(size, "small", 2 * mib, 512 // scale)
    if size < 10 * mib:
        return Wanted(size, "large", 20 * mib, mib + 1)
    return Wanted(size, "large", up(size, 2 * mib), mib + 1)


def small_torch_rules(nbytes: int) -> Wanted:
    return torch_rules(nbytes, scale=32)


def paddle_rules(nbytes: int) -> Wanted:
    size = up(nbytes, 256)
    return Wanted(size, "large", size, 1)


RULES = {"torch": torch_rules, "paddle": paddle_rules, "torch/32": small_torch_rules}
#: Profiles that allocate from the end of a free piece.
TAKES_THE_END = {"paddle"}


@dataclass
class Piece:
    size: int
    in_use: bool = False
    requested: int = 0


@dataclass
class Segment:
    number: int
    pool: str
    pieces: list[Piece] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(piece.size for piece in self.pieces)


class NoRoom(Exception):
    """Raised if ``tried`` bytes cannot be reserved."""

    def __init__(self, tried: int) -> None:
        self.tried = tried


class Model:
    def __init__(self, capacity: int, profile: str) -> None:
        self.capacity = capacity
        self.rules = RULES[profile]
        self.takes_the_end = profile in TAKES_THE_END
        self.segments: list[Segment] = []
        self.made = 0
        self.allocations = 0
        self.history: list[tuple[int, int, int]] = []
        self.note()

    def allocate(self, nbytes: int) -> Piece:
        if nbytes == 0:
            return Piece(0)
        wanted = self.rules(nbytes)
        fits = []
        for segment in self.segments:
            for position, piece in enumerate(segment.pieces):
                if segment.pool == wanted.pool and not piece.in_use and piece.size >= wanted.size:
                    fits.append((piece.size, segment.number, position, segment))
        if fits:
            _, _, position, segment = min(fits, key=lambda fit: fit[:3])
        else:
            position, segment = 0, self.new_segment(wanted)
        piece = segment.pieces[position]
        rest = piece.size - wanted.size
        if rest >= wanted.splits_off_from:
            piece.size = wanted.size
            segment.pieces.insert(position if self.takes_the_end else position + 1, Piece(rest))
        piece.in_use, piece.requested = True, nbytes
        self.allocations += 1
        self.note()
        return piece

    def new_segment(self, wanted: Wanted) -> Segment:
        if self.reserved() + wanted.segment > self.capacity:
            self.empty_cache()
        if self.reserved() + wanted.segment > self.capacity:
            raise NoRoom(wanted.segment)
        self.made += 1
        segment = Segment(self.made, wanted.pool, [Piece(wanted.segment)])
        self.segments.append(segment)
        return segment

    def free(self, freed: Piece) -> None:
        freed.in_use, freed.requested = False, 0
        for segment in self.segments:
            merged: list[Piece] = []
            for piece in segment.pieces:
                if merged and not piece.in_use and not merged[-1].in_use:
                    merged[-1] = Piece(merged[-1].size + piece.size)
                else:
                    merged.append(piece)
            segment.pieces = merged
        self.note()

    def empty_cache(self) -> int:
        before = self.reserved()
        self.segments = [segment for segment in self.segments if any(piece.in_use for piece in segment.pieces)]
        self.note()
        return before - self.reserved()

    def reset_peak(self) -> None:
        self.history = []
        self.note()

    def pieces(self) -> list[Piece]:
        return [piece for segment in self.segments for piece in segment.pieces]

    def allocated(self) -> int:
        return sum(piece.size for piece in self.pieces() if piece.in_use)

    def requested(self) -> int:
        return sum(piece.requested for piece in self.pieces())

    def reserved(self) -> int:
        return sum(segment.size for segment in self.segments)

    def note(self) -> None:
        self.history.append((self.allocated(), self.reserved(), self.requested()))

    def figures(self) -> dict[str, Any]:
        peaks = [max(column) for column in zip(*self.history, strict=True)]
        free = [(piece.size, segment.size) for segment in self.segments for piece in segment.pieces if not piece.in_use]
        cached = sum(size for size, _ in free)
        largest = max((size for size, _ in free), default=0)
        return {
            "allocated": self.allocated(),
            "reserved": self.reserved(),
            "requested": self.requested(),
            "max_allocated": peaks[0],
            "max_reserved": peaks[1],
            "max_requested": peaks[2],
            "allocations": self.allocations,
            "live_blocks": sum(piece.in_use for piece in self.pieces()),
            "cached": cached,
            "largest_free": largest,
            "stuck": sum(size for size, of in free if size < of),
            "fragmentation": (cached - largest) / cached if cached else 0,
        }

    def layout(self) -> list[tuple[str, list[tuple[int, bool, int]]]]:
        return [
            (segment.pool, [(piece.size, piece.in_use, piece.requested) for piece in segment.pieces])
            for segment in self.segments
        ]


# ---------- rules that the real allocator must always follow ----------


def expect_sound(allocator: CachingAllocator) -> None:
    """Assert that blocks tile their segments, free neighbours are merged, and counters are the sums over all blocks."""
    segments = allocator.segments()
    for before, after in itertools.pairwise(segments):
        assert before.address + before.size <= after.address, "segments must be in order and must not overlap"
    for segment in segments:
        expect_tiled(segment)
    blocks = [block for segment in segments for block in segment.blocks]
    used = [block for block in blocks if block.in_use]
    assert allocator.reserved == sum(segment.size for segment in segments) <= allocator.capacity
    assert allocator.allocated == sum(block.size for block in used)
    assert allocator.requested == sum(block.requested for block in used) <= allocator.allocated
    assert allocator.live_blocks == len(used)
    assert all(0 < block.requested <= block.size for block in used)
    assert allocator.cached == sum(block.size for block in blocks if not block.in_use)
    assert allocator.max_allocated >= allocator.allocated and allocator.max_reserved >= allocator.reserved


def expect_tiled(segment: SegmentView) -> None:
    assert segment.address > 0 and segment.blocks
    address = segment.address
    for block in segment.blocks:
        assert block.address == address and block.size > 0, "blocks must follow each other without a hole or an overlap"
        address += block.size
    assert address == segment.address + segment.size, "the blocks must fill the segment"
    for before, after in zip(segment.blocks, segment.blocks[1:], strict=False):
        assert before.in_use or after.in_use, "free neighbours must be merged"


# ---------- random programs ----------

#: The sizes in bytes at which the rules change, and the sizes next to them.
EDGES = [
    edge + near
    for edge in (512, MIB // 2, MIB - 512, MIB, 2 * MIB, 9 * MIB, 10 * MIB, 11 * MIB, 12 * MIB, 19 * MIB, 20 * MIB)
    for near in (-513, -512, -256, -1, 0, 1, 255, 256, 512)
    if edge + near > 0
]


class Step(NamedTuple):
    verb: str
    number: int = 0
    place: float = 0.0


def random_program(seed: str, length: int = 250, scale: int = 1) -> list[Step]:
    """Return a program of allocations of all sizes, of frees in any order, and of a few other calls."""
    draw = random.Random(seed)
    steps = []
    share = 0.6
    for count in range(length):
        if count % 40 == 0:
            share = draw.choice((0.35, 0.6, 0.8))  # memory grows in some phases and shrinks in others
        chance = draw.random()
        if chance < 0.03:
            steps.append(Step(draw.choice(("empty", "reset"))))
        elif chance < share:
            kind = draw.random()
            if kind < 0.45:
                nbytes = draw.choice(EDGES)
            elif kind < 0.95:
                nbytes = int(2 ** draw.uniform(0, 24.5))
            else:
                nbytes = 0
            steps.append(Step("allocate", nbytes // scale))
        else:
            steps.append(Step("free", place=draw.random()))
    return steps


def run_beside_model(allocator: CachingAllocator, model: Model, program: list[Step]) -> int:
    """Run ``program`` on both allocators and compare them after every step; return how often memory ran out."""
    live: list[tuple[Block, Piece]] = []
    ran_out = 0
    for step in program:
        if step.verb == "allocate":
            ran_out += _allocate_on_both(allocator, model, step.number, live)
        elif step.verb == "free" and live:
            block, piece = live.pop(int(step.place * len(live)))
            allocator.free(block)
            if block.size:
                model.free(piece)
        elif step.verb == "empty":
            assert allocator.empty_cache() == model.empty_cache()
        elif step.verb == "reset":
            allocator.reset_peak()
            model.reset_peak()
        expect_sound(allocator)
        expect_same(allocator, model)
        for block, piece in live:
            assert (block.size, block.requested) == (piece.size, piece.requested), "a live block must not change"
    return ran_out


def _allocate_on_both(allocator: CachingAllocator, model: Model, nbytes: int, live: list[tuple[Block, Piece]]) -> bool:
    try:
        piece = model.allocate(nbytes)
    except NoRoom as no_room:
        before = {block for segment in allocator.segments() for block in segment.blocks if block.in_use}
        try:
            allocator.allocate(nbytes)
        except OutOfMemoryError as error:
            assert (error.tried, error.requested) == (no_room.tried, nbytes)
            assert before == {block for segment in allocator.segments() for block in segment.blocks if block.in_use}
            return True
        raise AssertionError("the allocator must be out of memory, as the model is") from None
    block = allocator.allocate(nbytes)
    used = {view for segment in allocator.segments() for view in segment.blocks if view.in_use}
    assert not nbytes or (block.address, block.size, nbytes, True) in used
    live.append((block, piece))
    return False


def expect_same(allocator: CachingAllocator, model: Model) -> None:
    """Assert that both allocators have the same segments and blocks in the same order, and the same counters."""
    layout = [
        (segment.pool, [(block.size, block.in_use, block.requested) for block in segment.blocks])
        for segment in allocator.segments()
    ]
    assert layout == model.layout()
    for name, figure in model.figures().items():
        assert abs(getattr(allocator, name) - figure) < 1e-12, name
