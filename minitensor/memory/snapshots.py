"""All tensor memory of the program as it is now: as JSON of ours, or as the file that PyTorch's memory viewer opens.

Both name the tensors. Inside ``with memory.record():`` they also tell how memory came to be so.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from minitensor.core.history import Leaf, Node, peek
from minitensor.core.storage import Storage
from minitensor.core.tensor import Tensor
from minitensor.device import cpu
from minitensor.device.allocator import BlockView, SegmentView
from minitensor.device.arrays import address_of, gpu_of
from minitensor.device.memory_log import MemoryEvent
from minitensor.device.places import current
from minitensor.device.snapshot import allocator_state, plain_event, torch_snapshot, write_for_viewer
from minitensor.dtypes import BY_NUMPY
from minitensor.memory.changes import address_in, device_of, kept_by
from minitensor.memory.measuring import name_of
from minitensor.memory.naming import asked_name, names_in_reach
from minitensor.memory.recording import Recording, running
from minitensor.operations.operands import CONSTANT
from minitensor.saving.saved import is_right

#: Raised by one whenever the meaning of a key of :func:`snapshot` changes.
SNAPSHOT_VERSION = 1


def snapshot() -> dict[str, Any]:
    """Devices, live storages with their tensors and who saved them, and the events of an open recording: plain data.

    ``snapshot.schema.json``, beside this module, describes it. It can be given to ``json.dumps``. What lives is
    found by way of the garbage collector, which does not tell of objects that the program has frozen (``gc.freeze()``).
    """
    frame = sys._getframe(1)
    recording = running()
    there = _Living(frame, recording)
    events = recording.events if recording is not None else []
    return {
        "format": "minitensor memory snapshot",
        "version": SNAPSHOT_VERSION,
        "devices": [_host(there), *(_gpu(gpu, there, events) for gpu in there.gpus)],
        "storages": [there.told(storage) for storage in there.storages],
        "events": [plain_event(event) for event in events],
        "dropped": recording.dropped if recording is not None else 0,
    }


def dump_snapshot(path: str | os.PathLike[str], device: Any = None) -> None:
    """Write the memory of one device for PyTorch's viewer.

    Open the file at https://pytorch.org/memory_viz, or with ``python -m torch.cuda._memory_viz trace_plot FILE``. The
    names of tensors and operations stand in the place of stack frames. What happened before is in it inside ``with
    memory.record():``; without a recording it shows what is there.

    The simulated GPU's file has the segments and blocks of its allocator. On the host, where the C library allocates,
    every storage is a segment with one block; gradients on their way through backward have addresses from
    2**48 on.

    Args:
        device: by default the device where new tensors are made.

    Raises:
        ValueError: there is no such device.
        OSError: the file cannot be written.
    """
    name = name_of("dump_snapshot", device)
    recording = running()
    there = _Living(sys._getframe(1), recording)
    events = [event for event in (recording.events if recording is not None else []) if event.device == name]
    live = there.live(name)
    gpu = next((gpu for gpu in there.gpus if gpu.name == name), None)
    if gpu is not None and hasattr(gpu, "allocator"):
        content = torch_snapshot(gpu.allocator, events, live)
    else:
        blocks: Any = _OwnSegments(live)
        content = torch_snapshot(blocks, [each for event in events for each in _with_segment(event)], live)
    write_for_viewer(path, content)


class _OwnSegments:
    """Memory without an allocator of ours: every piece is a segment with one block."""

    def __init__(self, live: dict[int, MemoryEvent]) -> None:
        self._live = live
        self.reserved = sum(event.size for event in live.values())

    def segments(self) -> list[SegmentView]:
        """As an allocator shows them, in the order of their addresses."""
        return [
            SegmentView(address, event.size, "large", (BlockView(address, event.size, event.requested, True),))
            for address, event in sorted(self._live.items())
        ]


def _with_segment(event: MemoryEvent) -> list[MemoryEvent]:
    """What happened to a piece of memory that is a segment of its own."""
    if event.kind not in ("alloc", "free"):
        return [event]
    segment = MemoryEvent(f"segment_{event.kind}", event.address, event.size, event.size, time_us=event.time_us)
    return [segment, event] if event.kind == "alloc" else [event, segment]


# ---------- what lives ----------


class _Living:
    """The storages of the program, its tensors, and their names."""

    def __init__(self, frame: FrameType | None, recording: Recording | None) -> None:
        self.recording = recording
        self.storages: list[Storage] = []
        self._tensors: dict[int, list[Tensor]] = {}
        self._names: dict[int, list[str]] = {}
        self._savers: dict[int, list[dict[str, Any]]] = {}
        wanted = {*_with_subclasses(Tensor), *_with_subclasses(Storage), *_with_subclasses(Node)}
        # Millions of objects may be there: each costs one look at its type.
        for each in [each for each in gc.get_objects() if type(each) in wanted]:
            if isinstance(each, Tensor):
                if hasattr(each, "_storage"):
                    self._tensors.setdefault(id(each._storage), []).append(each)
            elif isinstance(each, Storage):
                if each is not CONSTANT and hasattr(each, "nbytes"):
                    self.storages.append(each)
            elif type(each) is not Leaf and type(getattr(each, "saved", None)) is tuple:
                for storage, told in _savers(each):
                    self._savers.setdefault(id(storage), []).append(told)
        self.storages.sort(key=lambda storage: (device_of(storage), address_in(storage)))
        self._numbers = {id(storage): i for i, storage in enumerate(self.storages, 1)}
        for name, x in names_in_reach(frame):
            self._name(name, x)
        if recording is not None:
            recording.meet((names[0], x) for x, names in self._named())

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
        """The GPUs that are there, or have memory in use."""
        used = [gpu_of(storage.buffer) for storage in self.storages if type(storage) is not Storage]
        found = {id(gpu): gpu for gpu in (current.gpu, current.simulated, *used) if gpu is not None}
        return list(found.values())

    # ---------- one storage ----------

    def names_of(self, x: Tensor) -> list[str]:
        """What ``x`` is called: by the program, and by its variables."""
        return list(dict.fromkeys([*filter(None, [asked_name(x)]), *self._names.get(id(x), [])]))

    def name_of(self, storage: Storage) -> str:
        """What the tensors on ``storage`` are called, if they are; the one that shows all of it first."""
        shown = sorted(self._tensors.get(id(storage), []), key=lambda x: -x._array.size)
        names = [name for x in shown for name in self.names_of(x)]
        memory = self.recording.memory_of(storage) if self.recording is not None else None
        if memory is not None and memory.name:
            return memory.name
        return names[0] if names else ""

    def told(self, storage: Storage) -> dict[str, Any]:
        """Everything about ``storage``."""
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
        """The numbers of the storages of ``device``, by address."""
        return {
            address_in(storage): self._numbers[id(storage)]
            for storage in self.storages
            if device_of(storage) == device and storage.nbytes
        }

    def live(self, device: str) -> dict[int, MemoryEvent]:
        """What is known of each piece of memory in use, by address."""
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
    """What ``node`` wants for its backward: the storage, and what there is to say of it."""
    kept_here = kept_by(node)
    if not kept_here:
        return
    right = {id(saved[0]): is_right(saved) for saved in node.saved if type(saved) is tuple and len(saved) == 3}
    place = node.place
    for kept in kept_here:
        yield (
            kept.storage,
            {
                "op": node.name,
                "what": kept.what,
                "version": kept.version,
                "file": place.file or "",
                "line": place.line,
                "right": right[id(kept.array)],
            },
        )


def _host(there: _Living) -> dict[str, Any]:
    stored = sum(storage.nbytes for storage in there.storages if type(storage) is Storage)
    return {
        "name": "cpu",
        "kind": "host",
        "counters": {"allocated": cpu.memory_allocated(), "max_allocated": cpu.max_memory_allocated()},
        "in_flight": cpu.memory_allocated() - stored,
    }


def _gpu(gpu: Any, there: _Living, events: list[MemoryEvent]) -> dict[str, Any]:
    counters = gpu.counters()
    names = ("allocated", "max_allocated", "reserved", "max_reserved")
    if not hasattr(gpu, "allocator"):
        return {"name": gpu.name, "kind": "cuda", "counters": {name: int(getattr(counters, name)) for name in names}}
    its = [event for event in events if event.device == gpu.name]
    live = there.live(gpu.name)
    try:
        state = allocator_state(gpu.allocator, its, live)
    except ValueError:  # the recording began with another GPU of this name, which `set_device` has replaced
        state = allocator_state(gpu.allocator, [], {})
    ids = there.ids(gpu.name)
    for segment in state["segments"]:
        for block in segment["blocks"]:
            block.pop("storage", None)  # the number in the recording, which is another than here
            if block["address"] in ids:
                block["storage"] = ids[block["address"]]
    return {"name": gpu.name, "kind": "simulated", **state}
