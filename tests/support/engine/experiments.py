"""Programs that a fresh process runs while the operating system and Python's tracemalloc count its memory.

``python -m tests.support.engine.experiments relu`` prints a list in JSON. For each moment of the program it has the
name, and four numbers of bytes since the start of the program: those that minitensor has allocated, those that it has
reserved, those that tracemalloc counts, and those that the operating system counts.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import sys
import tracemalloc
from collections.abc import Callable

import minitensor as mt

Moment = Callable[[str], None]


def rss() -> int:
    """Return the resident bytes of the process; 0 on systems other than Linux.

    First make the C library return the free memory of its heap to the system, because the amount of this memory after
    the imports depends on accidents such as the lengths of paths.
    """
    if sys.platform != "linux":
        return 0
    with contextlib.suppress(OSError, AttributeError):  # another C library than GNU's
        ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def counted() -> tuple[int, int, int, int]:
    """Return four counts in bytes: of tensors, of tensors and kept buffers, of Python and numpy, and of the process."""
    cpu = mt.device.cpu
    return cpu.memory_allocated(), cpu.memory_reserved(), tracemalloc.get_traced_memory()[0], rss()


# ---------- short programs ----------


def relu(moment: Moment) -> None:
    """Compute ReLU of 10000 x 10000, into a new tensor and in place."""
    x = mt.full([10_000, 10_000], 0.5)
    moment("x")
    y = x.relu()
    moment("y = relu(x)")
    del y
    moment("del y")
    x.relu_()
    moment("relu_(x)")


def block(moment: Moment) -> None:
    """Run a layer in the middle of a network, on [1, 64, 512, 512]."""
    x = mt.full([1, 64, 512, 512], 0.5)
    moment("x")
    h = x * 2.0
    moment("h = x * 2")
    h = h.relu()
    moment("h = relu(h)")
    del h
    moment("del h")
    x.multiply_(2.0)
    x.relu_()
    moment("the same in place")


def adds(moment: Moment) -> None:
    """Add a hundred times."""
    x, y = mt.full([3_000_000], 1.0), mt.full([3_000_000], 2.0)
    moment("x, y")
    for _ in range(100):
        x = x + y
    moment("100 additions")
    for _ in range(100):
        x.add_(y)
    moment("100 additions in place")


def training(moment: Moment) -> None:
    """Run one training step of a network of two layers."""
    x = mt.full([1500, 1500], 0.01)
    w1, w2 = (mt.full([1500, 1500], 0.02, stop_gradient=False) for _ in range(2))
    moment("x, w1, w2")
    h = (x @ w1).tanh()
    loss = ((h @ w2) * 2.0).mean()
    moment("forward")
    loss.backward()
    moment("backward")
    with mt.no_grad():
        w1.subtract_(w1.grad)
        w2.subtract_(w2.grad)
    moment("step")
    w1.clear_gradient(False)
    w2.clear_gradient(False)
    del h, loss
    moment("everything dropped")


def sizes(moment: Moment) -> None:
    """Make tensors of 1.1 to 23 MiB, for which the C library may behave differently."""
    held = []
    for factor in (1, 2, 5, 10, 20):
        held += [mt.full([300_000 * factor], 1.0) for _ in range(20 // factor)]
        moment(f"{factor} times 1.1 MiB")
    held = held[::2]
    moment("every other one")
    held.clear()
    moment("none")


PROGRAMS = {"relu": relu, "block": block, "adds": adds, "training": training, "sizes": sizes}


def measured(name: str) -> list[tuple[str, int, int, int, int]]:
    """Return the moments of a program with the growth of each count since its start."""
    program = PROGRAMS[name]
    # The first run is not counted, because Python, numpy and BLAS allocate memory at their first use.
    program(lambda name: None)
    gc.collect()
    mt.device.cpu.empty_cache()
    tracemalloc.start()
    reported: list[tuple[str, int, int, int, int]] = []
    before = counted()
    program(lambda name: reported.append((name, *(now - then for now, then in zip(counted(), before, strict=True)))))
    return reported


# ---------- a thousand steps ----------


def steps(device: str, count: int = 1000) -> list[tuple[int, int, int]]:
    """Train a small network without the garbage collector; return some steps with allocated and resident bytes."""
    gc.collect()
    gc.disable()
    mt.set_device(device)
    counters = mt.device.cpu if device == "cpu" else mt.device.cuda
    mt.seed(1)
    x, wanted = mt.randn([16, 32]), mt.randn([16, 4])
    weights = [mt.randn([32, 24]), mt.zeros([24]), mt.randn([24, 4]), mt.zeros([4])]
    for each in weights:
        each.stop_gradient = False
    reported = []
    for step in range(1, count + 1):
        hidden = x @ weights[0] + weights[1]
        hidden.tanh_()
        error = hidden @ weights[2] + weights[3] - wanted
        (error * error).mean().backward()
        with mt.no_grad():
            for each in weights:
                each.subtract_(each.grad * 0.01)
                each.clear_gradient(False)
        if step in (1, 10, 100, 500, count):
            reported.append((step, counters.memory_allocated(), rss()))
    return reported


if __name__ == "__main__":
    what, *how = sys.argv[1:]
    print(json.dumps(steps(*how) if what == "steps" else measured(what)))
