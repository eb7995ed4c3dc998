"""Examples of the figures, and pages that contain them."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path

import minitensor as mt
from memory_stage.figures import allocator_map, meter, stride_explorer, timeline, what_fits
from memory_stage.web import element
from minitensor.engine.device.allocator import CachingAllocator
from minitensor.engine.device.memory_error import OutOfMemoryError
from minitensor.engine.device.memory_log import MemoryLog
from tests.support.web.pages import faces

PROBES = "\n".join((Path(__file__).parent / name).read_text(encoding="utf-8") for name in ("probes.js", "family.js"))
KIB = 1 << 10
HOSTILE = '<img src=x onerror="window.hacked=1"></script><b>$x$`'


def log_of(kind: str) -> MemoryLog:
    """Return a log of one training step, "normal" or in place, with a second segment before the peak."""
    log = MemoryLog(CachingAllocator(1 << 20, "torch/32"))
    x = log.allocate(16 * KIB, name="x", op="randn", line=1)
    log.allocate(8 * KIB, name="w", op="randn", line=2)
    log.allocate(400, name="b", op="zeros", line=3)
    out = log.allocate(16 * KIB, name="h", op="matmul", line=4)
    if kind == "normal":
        for name, op, line in (("h2", "add", 5), ("r", "relu", 6)):
            new = log.allocate(16 * KIB, name=name, op=op, line=line)
            log.free(out, line=line)
            out = new
    loss = log.allocate(4, name="loss", op="sum", line=7)
    gradient = log.allocate(16 * KIB, op="relu gradient", line=8)
    log.allocate(8 * KIB, name="w.grad", op="matmul gradient", line=8)
    for block in (gradient, loss, out, x):
        log.free(block, line=9)
    log.empty_cache()
    return log


def pieces_log() -> MemoryLog:
    """Return a log with shared and separate segments, a gap, a request for which no gap is large enough, and a released
    segment.
    """
    log = MemoryLog(CachingAllocator(768 * KIB, "torch/32"))
    blocks = {}
    for line, (name, size) in enumerate([("a", 20), ("b", 12), ("c", 20), ("d", 30), ("e", 0.3), ("big", 200)], 1):
        blocks[name] = log.allocate(int(size * KIB) - 4, name, "randn", line=line)
    log.free(blocks["b"], line=7)
    log.allocate(8 * KIB, "f", "relu", line=8)
    blocks["acts"] = log.allocate(300 * KIB, "acts", "matmul", line=9)
    log.free(blocks["big"], line=10)
    blocks["h"] = log.allocate(100 * KIB, "h", "relu", line=10)
    with suppress(OutOfMemoryError):
        log.allocate(400 * KIB, "z", "matmul", line=11)
    log.free(blocks["h"], line=12)
    log.free(blocks["acts"], line=12)
    log.empty_cache()
    return log


def layers(relu):
    """Return a program for the explorer of sizes: four additions and activations, and the backward pass."""

    def program(batch, size):
        x = mt.zeros([batch, 16, size, size])
        x.stop_gradient = False
        h = x * 1.0
        for _ in range(4):
            h = relu(h + 1.0)
        h.sum().backward()

    return program


def without_history(batch, size):
    with mt.no_grad():
        h = mt.zeros([batch, 16, size, size])
        for _ in range(4):
            h.add_(1.0).relu_()


def metered() -> element.Figure:
    """Return the meter of the host after ten cells."""
    shown = meter.Meter("cpu")
    kept = []
    for number, size in enumerate([256, 512, 0, 700, 64, 128, 900, 333, 512, 100], 3):
        kept.append(mt.ones([size, size]))
        shown.note(f"[{number}]")
    shown.data["now"] = {"allocated": 5_000_000, "reserved": 20 << 20, "peak": 8 << 20}
    shown.data["capacity"] = 64 << 20
    return shown.figure()


def in_dtype(relu):
    """Return a program that is a function of a batch, a size and a dtype."""
    return lambda batch, size, dtype: relu(mt.zeros([batch, 64, size, size], dtype))


@cache
def figures() -> dict[str, element.Figure]:
    """Return a figure of each kind, and one of each kind with hostile text wherever a program can have text."""
    x = mt.arange(24, dtype="float32").reshape([2, 3, 4])
    y = mt.arange(12, dtype="float32").reshape([3, 4])
    views = {"y": y, "y.transpose([1, 0])": y.transpose([1, 0]), "y[:, ::-1]": y[:, ::-1], "y[1]": y[1]}
    hostile = MemoryLog(CachingAllocator(1 << 20, "torch/32"))
    hostile.free(hostile.allocate(5000, name=HOSTILE, op=HOSTILE, file=HOSTILE, line=1))
    programs = {"normal": layers(mt.relu), "in place": layers(mt.relu_), "no_grad": without_history}
    text = {"title": HOSTILE, "ask": HOSTILE}
    return {
        "timeline": timeline.show(
            {"normal": log_of("normal"), "in place": log_of("in place")},
            title="One training step",
            ask="Where does `relu_` save bytes?",
            compare="kind of operation",
        ),
        "allocator": allocator_map.show(pieces_log(), title="A cache in pieces", ask="Why do 400 KiB not fit?"),
        "strides": stride_explorer.show(y, views=views, index=[1, 2], ask="Which cell does `y[1, 2]` read?"),
        "strides 3": stride_explorer.show(x, title="Three dimensions"),
        "fits": what_fits.show(programs, capacity="4 GiB", batch=32, size=512, compare="kind of program"),
        "fits dtypes": what_fits.show(
            {"normal": in_dtype(mt.relu), "in place": in_dtype(mt.relu_)},
            capacity="8 GiB",
            dtypes=["float32", "float16"],
        ),
        "meter": metered(),
        "hostile timeline": timeline.show({HOSTILE: hostile, "b": hostile}, compare=HOSTILE, **text),
        "hostile allocator": allocator_map.show(hostile, **text),
        "hostile strides": stride_explorer.show(y, views={HOSTILE: y, "b": y[1]}, **text),
        "hostile fits": what_fits.show({HOSTILE: without_history}, batch_name=HOSTILE, size_name=HOSTILE, **text),
    }


def page(body: str, *, css: str = "", script: bool = True, theme: str = "") -> str:
    loaded = f"<script>{element.script_source()}</script>" if script else ""
    main = f"<main><h1>Figures</h1>{body}</main>"
    return (
        f'<!doctype html><html lang="en"{f" data-theme={theme}" if theme else ""}><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Figures</title>'
        f"<style>{faces()}body {{ margin: 0 }} {css}</style></head><body>{main}{loaded}</body></html>"
    )
