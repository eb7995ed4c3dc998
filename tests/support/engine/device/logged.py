"""Programs whose memory events are logged, for the tests of snapshots."""

from __future__ import annotations

import random

from minitensor.engine.device.allocator import Block, CachingAllocator
from minitensor.engine.device.memory_error import OutOfMemoryError
from minitensor.engine.device.memory_log import MemoryLog

MIB = 1 << 20


def training_step(log: MemoryLog) -> dict[str, Block]:
    """Request the memory of a training step of a small network, and return the blocks that remain in use."""
    made: dict[str, Block] = {}

    def take(name: str, nbytes: int, op: str, line: int, category: str = "") -> None:
        made[name] = log.allocate(nbytes, name, op, "train.py", line, category, time_us=1_000_000 + len(log.events))

    def drop(name: str, op: str, line: int) -> None:
        log.free(made.pop(name), op, "train.py", line, time_us=1_000_000 + len(log.events))

    take("w", 4 * MIB, "randn", 3, "parameter")
    take("b", 1000, "zeros", 4, "parameter")
    take("x", 12 * MIB, "randn", 6)
    take("h", 11 * MIB + MIB // 2, "matmul", 7, "activation")
    take("y", 11 * MIB + MIB // 2, "relu", 8, "activation")
    take("loss", 4, "sum", 9)
    drop("h", "backward", 10)
    take("w.grad", 4 * MIB, "backward", 10, "gradient")
    take("b.grad", 1000, "backward", 10, "gradient")
    drop("y", "backward", 10)
    drop("loss", "del", 11)
    log.empty_cache(time_us=1_000_100)
    return made


def random_log(seed: str, limit: int = 100_000, capacity: int = 64 * MIB, profile: str = "torch") -> MemoryLog:
    draw = random.Random(seed)
    log = MemoryLog(CachingAllocator(capacity, profile), limit)
    held: list[Block] = []
    for number in range(300):
        if held and draw.random() < 0.45:
            log.free(held.pop(draw.randrange(len(held))), "del", "loop.py", number)
        elif draw.random() < 0.05:
            log.empty_cache()
        else:
            try:
                nbytes = int(2 ** draw.uniform(0, 24))
                held.append(log.allocate(nbytes, f"t{number}", "add", "loop.py", number))
            except OutOfMemoryError:
                continue
    return log
