"""Take a snapshot of all tensor memory of a program, as data for JSON or as a file for PyTorch's memory viewer.

Both forms contain the names of tensors and, inside ``with memory.record():``, the recorded events.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from minitensor.device import cpu
from minitensor.engine import checks
from minitensor.engine.core.history import Leaf, Node, peek
from minitensor.engine.core.storage import Storage
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.allocator import BlockView, SegmentView
from minitensor.engine.device.arrays import address_of, gpu_of
from minitensor.engine.device.memory_log import MemoryEvent
from minitensor.engine.device.places import current
from minitensor.engine.device.snapshot import allocator_state, plain_event, torch_snapshot, write_for_viewer
from minitensor.engine.dtypes import BY_NUMPY
from minitensor.engine.operations.operands import CONSTANT
from minitensor.engine.saved.saved import is_intact
from minitensor.memory.changes import address_in, device_of, saved_by
from minitensor.memory.measuring import name_of
from minitensor.memory.naming import given_name, names_in_reach
from minitensor.memory.recording import Recording, running

#: The version of the format, incremented when the meaning of a key of :func:`snapshot` changes.
SNAPSHOT_VERSION = 1


def snapshot() -> dict[str, Any]:
    """Return the devices, the live storages (each with its tensors and with the nodes that saved it), and the events.

    The events are those of the open recording; without a recording there are none.

    The result is plain data for ``json.dumps``; ``snapshot.schema.json``, next to this module, describes it. Objects
    that the program has frozen with ``gc.freeze()`` are missing, because the garbage collector does not list them.
    """
    frame = sys._getframe(1)
    recording = running()
    objects = _LiveObjects(frame, recording)
    events = recording.events if recording is not None else []
    return {
        "format": "minitensor memory snapshot",
        "version": SNAPSHOT_VERSION,
        "devices": [_host(objects), *(_gpu(gpu, objects, events) for gpu in objects.gpus)],
        "storages": [objects.describe(storage) for storage in objects.storages],
        "events": [plain_event(event) for event in events],
        "dropped": recording.dropped if recording is not None else 0,
    }


def dump_snapshot(path: str | os.PathLike[str], device: Any = None) -> None:
    """Write the memory of one device for PyTorch's viewer.

    Open the file at https://pytorch.org/memory_viz, or with ``python -m torch.cuda._memory_viz trace_plot FILE``. The
    viewer shows names of tensors and operations in place of stack frames. If a recording (``with memory.record():``) is
    open, the file contains the recorded events; otherwise it contains only the present state.

    For a simulated GPU, the file has the segments and blocks of the allocator. On other devices, where the C library or
    CUDA allocates, every storage is a segment with one block. On the host, gradients that ``backward()`` has computed
    and not passed on yet are such segments too, with addresses from 2**48 on.

    Args:
        device: by default, the device for new tensors.

    Raises:
        TypeError: if ``path`` is not a path; a number would be a file descriptor.
        ValueError: if there is no such device.
        OSError: if the file cannot be written.
    """
    checks.path("dump_snapshot", "path", path)
    name = name_of("dump_snapshot", device)
    recording = running()
    objects = _LiveObjects(sys._getframe(1), recording)
    events = [event for event in (recording.events if recording is not None else []) if event.device == name]
    live = objects.live(name)
    gpu = next((gpu for gpu in objects.gpus if gpu.name == name), None)
    if gpu is not None and hasattr(gpu, "allocator"):
        content = torch_snapshot(gpu.allocator, events, live)
    else:
        blocks: Any = _StorageSegments(live)
        content = torch_snapshot(blocks, [each for event in events for each in _with_segment(event)], live)
    write_for_viewer(path, content)


class _StorageSegments:
    """The memory of the host or a CUDA GPU, as segments and blocks: every storage is a segment with one block."""

    def __init__(self, live: dict[int, MemoryEvent]) -> None:
        self._live = live
        self.reserved = sum(event.size for event in live.values())

    def segments(self) -> list[SegmentView]:
        """Return the segments in the order of their addresses."""
        return [
            SegmentView(address, event.size, "large", (BlockView(address, event.size, event.requested, True),))
            for address, event in sorted(self._live.items())
        ]


def _with_segment(event: MemoryEvent) -> list[MemoryEvent]:
    """Return ``event`` and, if it allocates or frees a block, also the event of the block's segment, in order."""
    if event.kind not in ("alloc", "free"):
        return [event]
    segment = MemoryEvent(f"segment_{event.kind}", event.address, event.size, event.size, time_us=event.time_us)
    return [segment, event] if event.kind == "alloc" else [event, segment]


# ---------- live objects ----------


class _LiveObjects:
    """The program's live storages and tensors, with their names."""

    def __init__(self, frame: FrameType | None, recording: Recording | None) -> None:
        self.recording = recording
        self.storages: list[Storage] = []
        self._tensors: dict[int, list[Tensor]] = {}
        self._names: dict[int, list[str]] = {}
        self._savers: dict[int, list[dict[str, Any]]] = {}
        wanted = {*_with_subclasses(Tensor), *_with_subclasses(Storage), *_with_subclasses(Node)}
        # There may be millions of objects, so first their exact type is tested, which is faster than `isinstance`.
        for each in [each for each in gc.get_objects() if type(each) in wanted]:
            if isinstance(each, Tensor):
                if hasattr(each, "_storage"):
                    self._tensors.setdefault(id(each._storage), []).append(each)
            elif isinstance(each, Storage):
                if each is not CONSTANT and hasattr(each, "nbytes"):
                    self.storages.append(each)
            elif type(each) is not Leaf and type(getattr(each, "saved", None)) is tuple:
                for storage, description in _savers(each):
                    self._savers.setdefault(id(storage), []).append(description)
        self.storages.sort(key=lambda storage: (device_of(storage), address_in(storage)))
        self._numbers = {id(storage): i for i, storage in enumerate(self.storages, 1)}
        for name, x in names_in_reach(frame):
            self._name(name, x)
        if recording is not None:
            recording.register((names[0], x) for x, names in self._named())

    def _name(self, name: str, x: Tensor) -> None:
        names = self._names.setdefault(id(x), [])
        if name not in names:
            names.append(name)
        node = x._node
        if type(node) is Leaf and isinstance(node.saved, Tensor):
            self._name(f"{name}.grad", node.saved)

    def _named(self) -> Iterator[tuple[Tensor, list[str]]]:
        for tensors in self._tensors.values():
            for x in tensors:
                if id(x) in self._names:
                    yield x, self._names[id(x)]

    @property
    def gpus(self) -> list[Any]:
        """The current GPUs, and earlier GPUs on which memory is still in use."""
        used = [gpu_of(storage.buffer) for storage in self.storages if type(storage) is not Storage]
        found = {id(gpu): gpu for gpu in (current.gpu, current.simulated, *used) if gpu is not None}
        return list(found.values())

    # ---------- one storage ----------

    def names_of(self, x: Tensor) -> list[str]:
        """Return the names of ``x``: ``x.name``, if the program set it, and then the variables that refer to ``x``."""
        return list(dict.fromkeys([*filter(None, [given_name(x)]), *self._names.get(id(x), [])]))

    def name_of(self, storage: Storage) -> str:
        """Return the recorded name of ``storage``, or the name of the largest named tensor on it; "" if there is
        neither.
        """
        shown = sorted(self._tensors.get(id(storage), []), key=lambda x: -x._array.size)
        names = [name for x in shown for name in self.names_of(x)]
        memory = self.recording.memory_of(storage) if self.recording is not None else None
        if memory is not None and memory.name:
            return memory.name
        return names[0] if names else ""

    def describe(self, storage: Storage) -> dict[str, Any]:
        """Return the snapshot's entry for ``storage``."""
        return {
            "id": self._numbers[id(storage)],
            "device": device_of(storage),
            "address": int(address_in(storage)),
            "nbytes": int(storage.nbytes),
            "version": storage.version,
            "name": self.name_of(storage),
            "tensors": [self._tensor(x) for x in self._tensors.get(id(storage), [])],
            "saved_by": self._savers.get(id(storage), []),
        }

    def _tensor(self, x: Tensor) -> dict[str, Any]:
        array, node, history = x._array, peek(x), x._history
        shows_all = history is None or x._seen == history.version or array is history.base
        return {
            "names": self.names_of(x),
            "shape": list(array.shape),
            "strides": [stride // array.itemsize for stride in array.strides],
            "offset": (address_of(array) - address_of(x._storage.buffer)) // array.itemsize,
            "dtype": BY_NUMPY[array.dtype].name,
            "stop_gradient": node is None,
            "is_leaf": node is None or (type(node) is Leaf and shows_all),
        }

    # ---------- one device ----------

    def ids(self, device: str) -> dict[int, int]:
        """Return the numbers (``id``) of the storages on ``device``, keyed by the address of their memory."""
        return {
            address_in(storage): self._numbers[id(storage)]
            for storage in self.storages
            if device_of(storage) == device and storage.nbytes
        }

    def live(self, device: str) -> dict[int, MemoryEvent]:
        """Return the allocations on ``device`` that were not freed yet, as events with names, keyed by address."""
        known = self.recording.live(device) if self.recording is not None else {}
        for storage in self.storages:
            if device_of(storage) == device and storage.nbytes:
                address = int(address_in(storage))
                if address not in known or not known[address].name:
                    found = known.get(address) or MemoryEvent("alloc", address, storage.nbytes, storage.nbytes)
                    known[address] = found._replace(name=self.name_of(storage))
        return {address: event for address, event in known.items() if event.size}


def _with_subclasses(kind: type) -> Iterator[type]:
    yield kind
    each: type
    for each in kind.__subclasses__():
        yield from _with_subclasses(each)


def _savers(node: Node) -> Iterator[tuple[Storage, dict[str, Any]]]:
    """Yield the storage of each tensor that ``node`` saved for backward, with a description of the saved tensor."""
    tensors = saved_by(node)
    if not tensors:
        return
    intact = {id(saved[0]): is_intact(saved) for saved in node.saved if type(saved) is tuple and len(saved) == 3}
    place = node.place
    for each in tensors:
        data = {"op": node.name, "what": each.what, "version": each.version, "file": place.file or ""}
        yield each.storage, {**data, "line": place.line, "right": intact[id(each.array)]}


def _host(objects: _LiveObjects) -> dict[str, Any]:
    stored = sum(storage.nbytes for storage in objects.storages if type(storage) is Storage)
    return {
        "name": "cpu",
        "kind": "host",
        "counters": {"allocated": cpu.memory_allocated(), "max_allocated": cpu.max_memory_allocated()},
        "in_flight": cpu.memory_allocated() - stored,
    }


def _gpu(gpu: Any, objects: _LiveObjects, events: list[MemoryEvent]) -> dict[str, Any]:
    counters = gpu.counters()
    names = ("allocated", "max_allocated", "reserved", "max_reserved")
    if not hasattr(gpu, "allocator"):
        return {"name": gpu.name, "kind": "cuda", "counters": {name: int(getattr(counters, name)) for name in names}}
    own = [event for event in events if event.device == gpu.name]
    live = objects.live(gpu.name)
    try:
        state = allocator_state(gpu.allocator, own, live)
    except ValueError:  # the recording began with another GPU of this name, which `set_device` has replaced
        state = allocator_state(gpu.allocator, [], {})
    ids = objects.ids(gpu.name)
    for segment in state["segments"]:
        for block in segment["blocks"]:
            block.pop("storage", None)  # a recording numbers storages differently from a snapshot
            if block["address"] in ids:
                block["storage"] = ids[block["address"]]
    return {"name": gpu.name, "kind": "simulated", **state}
