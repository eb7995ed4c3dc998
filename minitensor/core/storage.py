"""Storage: where the numbers live.

A storage is a buffer, its size in bytes and a version. Every write through any tensor on it raises the version by
one. It is counted when made and uncounted when its last holder lets go: no garbage collector is needed.
"""

from __future__ import annotations

import linecache
import os
import sys
from collections import deque
from types import CodeType, FrameType
from typing import Any
from weakref import ref

from numpy import ndarray

from minitensor.device.arrays import as_array
from minitensor.device.counters import Meter, cpu_meter
from minitensor.events import Watch, passes_on, watch


class Storage:
    """A buffer that tensors look at.

    Attributes:
        buffer: the array that owns the memory (any shape; dense).
        nbytes: its size in bytes, as counted.
        version: how many writes it has seen.
        savers: weak references to the nodes that saved from it for backward; None while there are none, and none has
            lost what it saved.
        kept: the last run of writes under "copy_on_write": the version before the first and after the last. Unset
            while there are none.
    """

    __slots__ = ("buffer", "nbytes", "version", "savers", "kept", "__weakref__")

    buffer: ndarray
    nbytes: int
    version: int
    savers: list[Any] | None
    kept: tuple[int, int]

    @passes_on
    def __del__(self, _meter: Meter = cpu_meter, _watch: Watch = watch) -> None:
        _meter.allocated -= self.nbytes
        if _watch.listener is not None:
            _watch.listener("free", self)

    def __repr__(self) -> str:
        return f"Storage({self.nbytes} bytes, version {self.version})"


class DeviceStorage(Storage):
    """A storage on a GPU. The array that owns the memory is counted there, by the allocator."""

    __slots__ = ()

    @passes_on
    def __del__(self, _watch: Watch = watch) -> None:  # type: ignore[override]  # another meter counts
        if _watch.listener is not None:
            _watch.listener("free", self)


def _counted(buffer: ndarray) -> Storage:
    """A storage of an array of the host."""
    storage = Storage()
    storage.buffer = buffer
    storage.nbytes = nbytes = buffer.nbytes
    storage.version = 0
    storage.savers = None
    cpu_meter.allocated = now = cpu_meter.allocated + nbytes
    if now > cpu_meter.peak:
        cpu_meter.peak = now
    return storage


def placed(result: Any) -> tuple[Any, Storage]:
    """The result of an operation that is no plain array of the host, and a storage for it.

    numpy turns arrays without dimensions into bare numbers; an array of a GPU is counted where it lies.
    """
    result = as_array(result)
    if type(result) is ndarray:
        return result, _counted(result)
    storage = DeviceStorage()
    storage.buffer = result
    storage.nbytes = result.nbytes
    storage.version = 0
    storage.savers = None
    return result, storage


def new_storage(buffer: ndarray) -> Storage:
    """Count ``buffer``, which must own its memory, and give it a version."""
    storage = _counted(buffer) if type(buffer) is ndarray else placed(buffer)[1]
    if watch.listener is not None:
        watch.listener("alloc", storage)
    return storage


# ---------- who wrote what: the last writes of the whole program, so that an error can name the line ----------

#: (weak reference to the storage, version that the write made, op name, code object, instruction). Operations of the
#: table and optimizers note only writes of storages that somebody has saved from: no error will ever ask about the
#: others, and a note costs 0.2 us.
write_log: deque[tuple[ref[Storage], int, str, CodeType, int]] = deque(maxlen=1024)


def write_that_made(storage: Storage, version: int) -> tuple[str, CodeType, int] | None:
    """The op and the place of the write that raised ``storage`` to ``version``; None when it is not known."""
    for written, made, op, code, instruction in reversed(write_log):
        if made == version and written() is storage:
            return op, code, instruction
    return None


class Place:
    """A line of the program: ``file`` (None for code typed in), ``line`` (from 1), ``text``."""

    __slots__ = ("file", "line", "text")

    def __init__(self, code: CodeType, instruction: int) -> None:
        self.line = _line_at(code, instruction)
        self.text = linecache.getline(code.co_filename, self.line).strip()
        # A notebook cell or a string that was executed has no file to name.
        self.file = os.path.basename(code.co_filename) if os.path.exists(code.co_filename) else None

    def __str__(self) -> str:
        where = f"line {self.line}" if self.file is None else f"{self.file}, line {self.line}"
        return f"{where}: {self.text}" if self.text else where


def _line_at(code: CodeType, instruction: int) -> int:
    line = code.co_firstlineno
    for start, stop, number in code.co_lines():
        if number is not None and start <= instruction < stop:
            line = number
    return line


class _OfEngine(dict[Any, bool]):
    """Whether the code of a package is this package's: then the caller of an operation is further out."""

    def __missing__(self, package: str | None) -> bool:
        self[package] = found = package is not None and package.partition(".")[0] == __name__.partition(".")[0]
        return found


of_engine = _OfEngine()


def calling_frame() -> FrameType:
    """The innermost frame outside the engine: who asked for the operation. Not to be kept.

    Whoever asks is of the engine. Each further frame of the engine costs 150 ns: it is best asked far out.
    """
    return outside_engine(sys._getframe(2))


class Outside:
    """``code`` is that of the program which last called an operation: the next call comes most often from there."""

    __slots__ = ("code",)

    code: CodeType | None


outside = Outside()
outside.code = None


def outside_engine(frame: FrameType) -> FrameType:
    """``frame``, or where a layer, a loss or an optimizer of this package runs, who called that. Not to be kept.

    Who writes for speed asks first whether the code of the frame is ``outside.code``: then the answer is ``frame``.
    """
    while of_engine[frame.f_globals.get("__package__")]:
        if frame.f_back is None:
            return frame
        frame = frame.f_back
    outside.code = frame.f_code
    return frame


def caller() -> tuple[CodeType, int]:
    """The place that :func:`calling_frame` is at."""
    frame = calling_frame()
    return frame.f_code, frame.f_lasti


def log_write(storage: Storage, op: str) -> None:
    """Raise the version of ``storage`` and remember that ``op`` did it, where no bytes are taken."""
    storage.version += 1
    write_log.append((ref(storage), storage.version, op, *caller()))
