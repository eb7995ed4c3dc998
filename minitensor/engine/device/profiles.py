"""Rules of allocators: the rounding of requests, the size of segments, the splitting of blocks.

The numbers in a profile are the defaults of the framework that the profile is named after. ``facts/allocators.md``
lists the sources.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True)
class PoolRules:
    """The rules by which one pool reserves segments and splits blocks. All sizes in bytes.

    Attributes:
        segment: the size of a segment that several requests share.
        own_from: a rounded request of at least this many bytes gets its own segment.
        own_rounding: the size of such a segment is rounded up to a multiple of this.
        kept_rest: if a request leaves more than this many bytes of a free block unused, the unused bytes become a new
            free block; otherwise, they are allocated with the request.

    Raises:
        ValueError: if a request could be larger than the segment that it shares, or if a number is too small.
    """

    segment: int
    own_from: int
    own_rounding: int
    kept_rest: int

    def __post_init__(self) -> None:
        if not 0 <= self.own_from <= self.segment or self.own_rounding < 1 or self.kept_rest < 0:
            raise ValueError(f"{self}: 0 <= own_from <= segment, own_rounding >= 1 and kept_rest >= 0 are required.")


@dataclass(frozen=True)
class Profile:
    """The rules of one allocator. All sizes in bytes.

    Attributes:
        name: the name of the profile.
        rounding: requests are rounded up to a multiple of this.
        small_up_to: rounded requests up to this size are served from the small pool, the others from the large one.
        small, large: the rules of the two pools. With ``small_up_to=0`` there is only the large pool.
        from_end: true if a request is served from the end of a free block, and false if from the beginning.

    Raises:
        ValueError: if ``rounding`` is less than 1.
    """

    name: str
    rounding: int
    small_up_to: int
    small: PoolRules
    large: PoolRules
    from_end: bool = False

    def __post_init__(self) -> None:
        if self.rounding < 1:
            raise ValueError(f"Profile {self.name!r}: rounding must be 1 byte or more, not {self.rounding}.")


#: PyTorch's rules: https://github.com/pytorch/pytorch, c10/cuda/CUDACachingAllocator.cpp.
TORCH = Profile(
    name="torch",
    rounding=512,
    small_up_to=1 * MIB,
    small=PoolRules(segment=2 * MIB, own_from=2 * MIB, own_rounding=2 * MIB, kept_rest=511),
    large=PoolRules(segment=20 * MIB, own_from=10 * MIB, own_rounding=2 * MIB, kept_rest=1 * MIB),
)

#: Paddle's ``auto_growth``: https://github.com/PaddlePaddle/Paddle, auto_growth_best_fit_allocator.cc.
_PADDLE_POOL = PoolRules(segment=256, own_from=0, own_rounding=256, kept_rest=0)
PADDLE = Profile("paddle", rounding=256, small_up_to=0, small=_PADDLE_POOL, large=_PADDLE_POOL, from_end=True)

#: PyTorch's rules with all sizes divided by 32, so that tensors of a few KiB share and split segments in pictures.
TORCH_SMALL = Profile(
    name="torch/32",
    rounding=16,
    small_up_to=32 * KIB,
    small=PoolRules(segment=64 * KIB, own_from=64 * KIB, own_rounding=64 * KIB, kept_rest=15),
    large=PoolRules(segment=640 * KIB, own_from=320 * KIB, own_rounding=64 * KIB, kept_rest=32 * KIB),
)

PROFILES = {profile.name: profile for profile in (TORCH, PADDLE, TORCH_SMALL)}


def profile_named(name: Any) -> Profile:
    """Return the profile called ``name``; raise ValueError if there is none."""
    if isinstance(name, str) and name in PROFILES:
        return PROFILES[name]
    known = ", ".join(repr(known) for known in PROFILES)
    raise ValueError(f"profile: {name!r} is unknown. Choose one of {known}, or pass a Profile.")
