"""Predict the allocations of a program at any batch and size from eight small runs.

The bytes of each block are assumed to be linear in the batch and at most quadratic in the size. Six runs determine the
coefficients and two more runs check them. A program that does not follow this rule is refused. On the host, the law
counts storages and unfinished gradients; on a GPU, also scratch memory inside an operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from minitensor.engine.device.allocator import CachingAllocator
from minitensor.engine.device.memory_error import OutOfMemoryError
from minitensor.engine.device.profiles import Profile
from minitensor.engine.modes import set_inplace_policy
from minitensor.memory import record

Program = Callable[[int, int], Any]


@dataclass
class Law:
    """The allocations of a program as a function of batch and size.

    Attributes:
        label: the program's name.
        at: the sizes at which the program ran.
        events: pairs of a block's number and the operation that allocates it, or None if the block is freed.
        bytes_of: for each block and each size in ``at``, the bytes of the block at batch 1 and at batch 2.
        error: the error that ended the program, in one line, or None.
    """

    label: str
    at: tuple[int, ...]
    events: list[tuple[int, str | None]]
    bytes_of: list[list[tuple[int, int]]]
    error: str | None

    def sizes(self, batch: int, size: int) -> list[int]:
        """Return the bytes of every block, with -1 for a block whose computed bytes are not a whole number."""
        weights = []
        for i, a in enumerate(self.at):
            weight = Fraction(1)
            for j, b in enumerate(self.at):
                if i != j:
                    weight *= Fraction(size - b, a - b)
            weights.append(weight)
        result = []
        for values in self.bytes_of:
            total = sum(w * (one + (batch - 1) * (two - one)) for w, (one, two) in zip(weights, values, strict=True))
            result.append(int(total) if total.denominator == 1 else -1)
        return result


def learn(label: str, program: Program, policy: str | None, run_at: Sequence[int]) -> Law:
    """Run a program at three small sizes, compute its law, and check the law at a fourth size.

    Args:
        label: the program's name, which errors mention.
        program: a function of a batch and a size.
        policy: the in-place policy during the runs; None for the current one.
        run_at: the four sizes, which must differ.

    Raises:
        ValueError: if the program's allocations do not follow such a law.
    """
    at = tuple(run_at[:3])
    runs = {(batch, size): run(program, batch, size, policy) for batch in (1, 2) for size in at}
    events, _, error = runs[1, at[0]]
    for (batch, size), (others, _, _) in runs.items():
        if others != events:
            raise ValueError(
                f"{label!r} allocates other blocks at batch {batch}, size {size} than at batch 1, size {at[0]}; "
                f"the program must run the same operations at every batch and size"
            )
    count = len(runs[1, at[0]][1])
    bytes_of = [[(runs[1, size][1][i], runs[2, size][1][i]) for size in at] for i in range(count)]
    law = Law(label, at, events, bytes_of, error)
    for batch, size in ((3, at[1]), (3, run_at[3])):
        others, found, _ = run(program, batch, size, policy)
        if others != events or law.sizes(batch, size) != found:
            raise ValueError(
                f"{label!r} allocates other numbers of bytes at batch {batch}, size {size} than its smaller runs "
                f"predict; the bytes must be linear in the batch and at most quadratic in the size"
            )
    return law


def run(program: Program, batch: int, size: int, policy: str | None) -> tuple[list[Any], list[int], str | None]:
    """Run and record a program. Return its events, the bytes of its blocks, and its error as one line or None."""
    error = None
    with record() as recording:
        try:
            with nullcontext() if policy is None else set_inplace_policy(policy):
                program(batch, size)
        except (RuntimeError, ValueError) as failure:
            error = str(failure).strip().split("\n")[0][:160] or type(failure).__name__
    events: list[tuple[int, str | None]] = []
    sizes: list[int] = []
    block_at: dict[tuple[str, int], int] = {}
    for event in recording.events:
        if event.kind == "alloc":
            block_at[event.device, event.address] = len(sizes)
            events.append((len(sizes), event.op))
            sizes.append(event.requested)
        elif event.kind == "free" and (event.device, event.address) in block_at:
            events.append((block_at.pop((event.device, event.address)), None))
    return events, sizes, error


def replay(
    events: Sequence[tuple[int, str | None]], nbytes: Sequence[int], profile: str | Profile, capacity: int
) -> tuple[CachingAllocator, str | None]:
    """Replay ``events`` in a new allocator. Return the allocator, and the operation at which memory ran out or None."""
    allocator = CachingAllocator(capacity, profile)
    blocks: dict[Any, Any] = {}
    for block, op in events:
        if op is None:
            allocator.free(blocks.pop(block))
            continue
        try:
            blocks[block] = allocator.allocate(nbytes[block])
        except OutOfMemoryError:
            return allocator, op
    return allocator, None
