"""Storage: the memory that holds the numbers.

A storage is a buffer, its size in bytes and a version. Every write through any of its tensors raises the version by
one. The bytes of a storage are counted when it is created, and subtracted when the last reference to it is dropped.
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

from minitensor.engine.device.arrays import as_array
from minitensor.engine.device.counters import Meter, cpu_meter
from minitensor.engine.events import StorageCreated, StorageReleased, Watch, skip_in_tracebacks, watch


class Storage:
    """A buffer that tensors view.

    Attributes:
        buffer: the array that owns the memory (any shape; dense).
        nbytes: the counted bytes of the buffer; 0 for memory that the engine does not own.
        version: the number of writes so far.
        savers: weak references to the nodes that saved cells of this storage for backward; some nodes may be dead. None
            if nothing was saved, so that a write need not search.
        preserving: the versions before and after the latest series of writes under "copy_on_write"; unset if none.
    """

    __slots__ = ("buffer", "nbytes", "version", "savers", "preserving", "__weakref__")

    buffer: ndarray
    nbytes: int
    version: int
    savers: list[Any] | None
    preserving: tuple[int, int]

    @skip_in_tracebacks
    def __del__(self, _meter: Meter = cpu_meter, _watch: Watch = watch) -> None:
        _meter.allocated -= self.nbytes
        if _watch.listener is not None:
            _watch.listener(StorageReleased(self))

    def __repr__(self) -> str:
        return f"Storage({self.nbytes} bytes, version {self.version})"


class DeviceStorage(Storage):
    """A storage on a GPU. The allocator of the GPU counts the array that owns the memory."""

    __slots__ = ()

    @skip_in_tracebacks
    def __del__(self, _watch: Watch = watch) -> None:  # type: ignore[override]  # the GPU's allocator counts bytes
        if _watch.listener is not None:
            _watch.listener(StorageReleased(self))


def _host_storage(buffer: ndarray) -> Storage:
    """Return a storage for an array in host memory, and count its bytes."""
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
    """Return the result of an operation as an array, and a new storage for it.

    Operations create the storage of a host array themselves. They call this function for scalars, which numpy returns
    instead of arrays without dimensions, and for GPU arrays, whose bytes the GPU's allocator counts.
    """
    result = as_array(result)
    if type(result) is ndarray:
        return result, _host_storage(result)
    storage = DeviceStorage()
    storage.buffer, storage.nbytes, storage.version, storage.savers = result, result.nbytes, 0, None
    return result, storage


def new_storage(buffer: ndarray) -> Storage:
    """Create a storage for ``buffer``, which must own its memory, and count its bytes."""
    storage = _host_storage(buffer) if type(buffer) is ndarray else placed(buffer)[1]
    if watch.listener is not None:
        watch.listener(StorageCreated(storage))
    return storage


# ---------- the log of the last writes, in which errors find the line of a write ----------

#: (weak reference to the storage, version that the write made, op name, code object, instruction). Table operations and
#: optimizers log a write only if a node saved cells of the storage, because an entry costs 0.2 us.
write_log: deque[tuple[ref[Storage], int, str, CodeType, int]] = deque(maxlen=1024)


def write_that_made(storage: Storage, version: int) -> tuple[str, CodeType, int] | None:
    """Return the op and the code position of the write that raised ``storage`` to ``version``; None if not logged."""
    for written, made, op, code, instruction in reversed(write_log):
        if made == version and written() is storage:
            return op, code, instruction
    return None


class CallSite:
    """A line of the program: ``file`` (None for code without a file), ``line`` (from 1), ``text``."""

    __slots__ = ("file", "line", "text")

    def __init__(self, code: CodeType, instruction: int) -> None:
        self.line = _line_at(code, instruction)
        self.text = linecache.getline(code.co_filename, self.line).strip()
        # A notebook cell or a string passed to exec() has no file to name.
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


class _EnginePackages(dict[Any, bool]):
    """Cache: maps a package to True if its top-level package is in ``own``. Frames of such packages are skipped."""

    own = {"minitensor"}  # noqa: RUF012  # other packages that call operations are added here

    def __missing__(self, package: str | None) -> bool:
        self[package] = found = package is not None and package.partition(".")[0] in self.own
        return found


engine_packages = _EnginePackages()


def calling_frame() -> FrameType:
    """Return the innermost frame outside the engine: the one that called the operation. Do not store it.

    Only functions of the engine may call this function. Skipping a frame of the engine takes 150 ns.
    """
    return outside_engine(sys._getframe(2))


class Outside:
    """Cache of the code object outside the engine that called the last operation: it often calls the next one, too."""

    __slots__ = ("code",)

    code: CodeType | None


outside = Outside()
outside.code = None


def outside_engine(frame: FrameType) -> FrameType:
    """Return ``frame``, or its innermost caller outside the engine if ``frame`` is inside. Do not store it.

    Fast paths compare the frame's code with ``outside.code`` first: if they are equal, the result would be ``frame``.
    """
    while engine_packages[frame.f_globals.get("__package__")]:
        if frame.f_back is None:
            return frame
        frame = frame.f_back
    outside.code = frame.f_code
    return frame


def caller() -> tuple[CodeType, int]:
    """Return the code position of :func:`calling_frame`."""
    frame = calling_frame()
    return frame.f_code, frame.f_lasti


def log_write(storage: Storage, op: str) -> None:
    """Raise the version of ``storage`` and log a write by ``op``. The caller has checked that no saved byte is lost."""
    storage.version += 1
    write_log.append((ref(storage), storage.version, op, *caller()))
