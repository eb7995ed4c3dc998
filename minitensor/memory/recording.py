"""Record memory events in order: ``with memory.record() as recording: ...``.

* Each event is a :class:`~minitensor.engine.device.memory_log.MemoryEvent` with a kind, bytes, an operation, a line,
  and the name that the program uses for the tensor.
* A recording keeps the last ``limit`` events; ``dropped`` is the number of earlier events, which were discarded.
* A recording keeps no tensor alive, because it contains only numbers, text and weak references. It does not change
  values, versions, lifetimes, bytes or peak.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Iterable
from types import CodeType, FrameType, TracebackType
from typing import Any

from minitensor.engine import events as engine_events
from minitensor.engine.core.history import Leaf, Node
from minitensor.engine.core.storage import Storage
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.arrays import address_of
from minitensor.engine.device.memory_log import EventLog, MemoryEvent, now_us
from minitensor.memory.changes import NewNodes, address_in, bytes_written, device_of, saved_by
from minitensor.memory.entries import ASSIGNED, USED, RecordedEvent, TrackedMemory, as_memory_event
from minitensor.memory.naming import Naming, names_in_reach
from minitensor.memory.source_lines import Site, is_engines

#: The first of the artificial addresses that a recording assigns to gradients in flight, which ``backward()`` has
#: computed on the host and not passed on yet, and which have no storage. No real address of a process is as high.
IN_FLIGHT = 1 << 48


class Recording(engine_events.Subscription):
    """The context manager that :func:`record` returns."""

    def __init__(self, limit: int) -> None:
        self._log = EventLog(limit)
        self._live: dict[int, TrackedMemory] = {}  # the key is the id of the storage
        self._blocks: dict[tuple[str, int], TrackedMemory] = {}  # blocks of GPUs, by device and address
        self._flight: dict[int, list[TrackedMemory]] = {}  # gradients in flight, by size
        self._in_flight = IN_FLIGHT
        self._storages = 0
        self._nodes = NewNodes()
        self._naming = Naming()
        self._files: dict[str, str] = {}
        self._leaves: weakref.WeakKeyDictionary[Node, TrackedMemory] = weakref.WeakKeyDictionary()
        # Used on Python 3.10 only: the last assignment's code, line and variable; the instruction that computed the
        # assigned value; and the value's memory.
        self._last: tuple[tuple[CodeType, int, str], int, TrackedMemory] | None = None

    # ---------- results ----------

    @property
    def events(self) -> list[MemoryEvent]:
        """The last events, oldest first, with the names found so far."""
        self._add_saved(self._nodes.late())
        return [as_memory_event(entry) for entry in self._log.events]

    @property
    def dropped(self) -> int:
        """The number of earlier events that were discarded."""
        return self._log.dropped

    @property
    def recorded(self) -> int:
        """The number of events so far, including the discarded ones."""
        return self._log.recorded

    def live(self, device: str) -> dict[int, MemoryEvent]:
        """Return the known allocations on ``device`` that were not freed yet, keyed by address.

        The values are events without line and time.
        """
        in_flight = [memory for group in self._flight.values() for memory in group]
        known = [*self._live.values(), *self._blocks.values(), *in_flight]
        return {memory.address: memory.as_event() for memory in known if memory.device == device}

    def memory_of(self, storage: Storage) -> TrackedMemory | None:
        """Return the memory of ``storage``; None if ``storage`` is not registered in this recording."""
        return self._live.get(id(storage))

    def __enter__(self) -> Recording:
        self.register(names_in_reach(sys._getframe(1)))
        self.open()
        _open.append(self)
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()
        self._add_saved(self._nodes.late())
        if self in _open:
            _open.remove(self)

    def register(self, known: Iterable[tuple[str, Tensor]]) -> None:
        """Register existing tensors with their names in the program."""
        for name, x in known:
            memory = self._of(x._storage)
            memory.set_name(name, ASSIGNED)
            self._register(memory, x)

    # ---------- events ----------

    def on_event(self, event: engine_events.Event) -> None:
        """Record an event of the engine."""
        frame = sys._getframe(2)
        self._add_saved(self._nodes.late(event))
        match event:
            case engine_events.StorageCreated(storage):
                self._on_created(frame, storage)
            case engine_events.StorageReleased(storage):
                self._on_released(frame, storage)
            case engine_events.AllocatorChanged(change):
                self._on_allocator(frame, change)
            case engine_events.FlightChanged(nbytes):
                self._on_flight(frame, nbytes)
            case engine_events.TensorCreated(x, op, inputs):
                self._on_tensor(frame, x, op, inputs)
            case engine_events.ViewCreated(x, op, inputs):
                self._on_view(frame, x, op, inputs)
            case engine_events.TensorWritten(x, op, _, where):
                self._on_write(frame, x, op, where)
            case engine_events.MetadataChanged(x, op):
                self._on_metadata(frame, x, op)
            case engine_events.LeafUpdated(leaf, gradient):
                self._on_leaf(leaf, gradient)
        self._add_saved(self._nodes.on_event(event, None))

    def _on_created(self, frame: FrameType, storage: Storage) -> None:
        self._storages += 1
        if type(storage) is not Storage:
            block = self._block_of(storage)
            if block.storage:  # a sum of gradients reuses the block of the first gradient
                key = block.device, block.address
                block = self._blocks[key] = TrackedMemory(*key, block.size, block.requested)
            block.storage = self._storages
            self._live[id(storage)] = block
            return
        address = address_in(storage)
        memory = TrackedMemory("cpu", address, storage.nbytes, storage.nbytes, self._storages)
        self._live[id(storage)] = memory
        self._add_allocation(frame, memory)

    def _on_released(self, frame: FrameType, storage: Storage) -> None:
        memory = self._of(storage)
        del self._live[id(storage)]
        if memory.device == "cpu" and memory.size:
            self._add("free", frame, memory)

    def _on_allocator(self, frame: FrameType, event: MemoryEvent) -> None:
        key = event.device, event.address
        if event.kind == "alloc":
            self._blocks[key] = memory = TrackedMemory(event.device, event.address, event.size, event.requested)
            self._add_allocation(frame, memory)
        elif event.kind == "free":
            known: TrackedMemory | None = self._blocks.pop(key, None)
            memory = known or TrackedMemory(event.device, event.address, event.size, event.requested)
            self._add("free", frame, memory)
        else:
            self._add(event.kind, frame, None, event)

    def _on_flight(self, frame: FrameType, nbytes: int) -> None:
        if nbytes > 0:
            memory = TrackedMemory("cpu", self._in_flight, nbytes, nbytes)
            self._in_flight += nbytes
            memory.category = "gradient"
            self._flight.setdefault(nbytes, []).append(memory)
            self._add_allocation(frame, memory)
        elif nbytes < 0:
            there = self._flight.get(-nbytes)
            memory = there.pop() if there else TrackedMemory("cpu", self._in_flight, -nbytes, -nbytes)
            self._add("free", frame, memory)

    def _on_tensor(self, frame: FrameType, x: Tensor, op: str, inputs: tuple[Any, ...]) -> None:
        memory = self._of(x._storage)
        memory.op = op or memory.op
        self._name_by_assignment(frame, memory)
        for each in (x, *inputs):
            if isinstance(each, Tensor):
                self._register(self._of(each._storage), each)

    def _on_view(self, frame: FrameType, x: Tensor, op: str, inputs: tuple[Any, ...]) -> None:
        memory = self._of(x._storage)
        memory.set_name(self._naming.viewed(Site.of(frame), op), USED)
        self._register(memory, inputs[0])

    def _on_write(self, frame: FrameType, x: Tensor, op: str, where: Any) -> None:
        memory = self._of(x._storage)
        memory.set_name(self._naming.written(Site.of(frame), op), USED)
        self._register(memory, x)
        memory.version = x._storage.version
        nbytes = bytes_written(x, where)
        self._add("write", frame, memory, address=address_of(x._array), size=nbytes, op=op)

    def _on_metadata(self, frame: FrameType, x: Tensor, op: str) -> None:
        memory = self._of(x._storage)
        memory.set_name(self._naming.written(Site.of(frame), op), USED)
        self._register(memory, x)
        if memory.version != x._storage.version:
            memory.version = x._storage.version
            self._add("version", frame, memory, op=op)

    def _on_leaf(self, leaf: Node, gradient: Tensor) -> None:
        memory = self._of(gradient._storage)
        memory.category = "gradient"
        of = self._leaves.get(leaf)
        if of is not None and of.name:
            memory.set_name(f"{of.name}.grad", ASSIGNED)

    # ---------- entries ----------

    def _add_allocation(self, frame: FrameType, memory: TrackedMemory) -> None:
        memory.op = _operation(frame)
        if memory.size:
            self._add("alloc", frame, memory)

    def _add_saved(self, found: list[tuple[Node, Any]]) -> None:
        for node, _ in found:
            place = node.place
            for saved in saved_by(node):
                memory, nbytes = self._of(saved.storage), saved.array.nbytes
                if not memory.has_tensor and not memory.category:
                    memory.category = "saved"  # no tensor uses this memory, so it is a copy or a mask for backward
                self._log.add(
                    RecordedEvent(
                        kind="save",
                        memory=memory,
                        address=address_of(saved.array),
                        size=nbytes,
                        requested=nbytes,
                        version=saved.version,
                        op=node.name,
                        file=place.file or "",
                        line=place.line,
                        time_us=now_us(),
                        device_free=0,
                        device=memory.device,
                    )
                )

    def _add(
        self,
        kind: str,
        frame: FrameType,
        memory: TrackedMemory | None,
        event: MemoryEvent | None = None,
        address: int | None = None,
        size: int | None = None,
        op: str = "",
    ) -> None:
        """Store an event that occurred at ``frame``: one about ``memory``, or the ``event`` of a GPU's allocator."""
        of: Any = memory if event is None else event
        if kind != "alloc":
            op = op or _operation(frame)
        while is_engines(frame) and frame.f_back is not None:
            frame = frame.f_back
        self._log.add(
            RecordedEvent(
                kind=kind,
                memory=memory,
                address=of.address if address is None else address,
                size=of.size if size is None else size,
                requested=of.requested if size is None else size,
                version=0 if memory is None else memory.version,
                op=op,
                file=self._file(frame.f_code.co_filename),
                line=frame.f_lineno or 0,
                time_us=now_us(),
                device_free=0 if event is None else event.device_free,
                device=of.device,
            )
        )

    def _file(self, path: str) -> str:
        """Return the name of the file at ``path`` without its folder; empty if there is no such file."""
        name = self._files.get(path)
        if name is None:
            name = self._files[path] = os.path.basename(path) if os.path.exists(path) else ""
        return name

    # ---------- registry ----------

    def _of(self, storage: Storage) -> TrackedMemory:
        """Return the memory of ``storage``. A storage that is older than the recording is registered first."""
        memory = self._live.get(id(storage))
        if memory is None:
            self._storages += 1
            if type(storage) is Storage:
                memory = TrackedMemory("cpu", address_in(storage), storage.nbytes, storage.nbytes, self._storages)
            else:
                memory = self._block_of(storage)
                memory.storage = self._storages
            memory.version = storage.version
            self._live[id(storage)] = memory
        return memory

    def _block_of(self, storage: Storage) -> TrackedMemory:
        """Return the GPU block that contains ``storage``."""
        device, address = device_of(storage), address_in(storage)
        memory = self._blocks.get((device, address))
        if memory is None:
            memory = self._blocks[device, address] = TrackedMemory(device, address, storage.nbytes, storage.nbytes)
        return memory

    def _register(self, memory: TrackedMemory, x: Tensor) -> None:
        memory.register(x)
        if type(x._node) is Leaf:
            self._leaves[x._node] = memory

    def _name_by_assignment(self, frame: FrameType, memory: TrackedMemory) -> None:
        """Name ``memory`` after the variable to which the running line assigns the new tensor."""
        name = self._naming.made(frame)
        if not name:
            return
        if not hasattr(frame.f_code, "co_positions"):
            # Python 3.10 stores no columns, so every value computed on the line would get the name. Therefore, each
            # value loses the name when the next value on this line gets the name.
            code, instruction, _ = site = Site.of(frame)
            position = code, site.place.line, name
            if self._last is not None and self._last[0] == position and self._last[1] < instruction:
                self._last[2].drop_name(name)
            self._last = position, instruction, memory
        memory.set_name(name, ASSIGNED)


def _operation(frame: FrameType | None) -> str:
    """Return the name of the engine's function that the program called; empty if it called none."""
    name = ""
    while frame is not None and is_engines(frame):
        if (
            frame.f_globals.get("__package__") not in engine_events.watching
            and frame.f_code not in engine_events.skipped_in_tracebacks
        ):
            name = frame.f_code.co_name
        frame = frame.f_back
    return name.removeprefix("reflected_").strip("<>")


#: The open recordings, in the order in which they were opened.
_open: list[Recording] = []


def running() -> Recording | None:
    """Return the last of the recordings that are open; None if none is open."""
    return _open[-1] if _open else None


def record(limit: int = 100_000) -> Recording:
    """Record the events of a ``with`` block; ``recording.events`` and ``recording.dropped`` can be read at any time.

    Args:
        limit: the number of events that the recording keeps, at about 300 bytes each; earlier events are discarded.

    Raises:
        TypeError, ValueError: if ``limit`` is not an integer, or less than 1.
    """
    return Recording(limit)
