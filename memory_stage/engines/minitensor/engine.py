"""Answer the questions of :mod:`memory_stage.engines.protocol` for tensors of minitensor, in both vocabularies.

The engine reads the private fields of a tensor, because reading a property may update a view's history.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from types import CodeType, FrameType
from typing import Any

import numpy as np

from memory_stage.engines import events
from memory_stage.engines.protocol import (
    CellLayout,
    Copied,
    Elements,
    Role,
    Saved,
    SavedTensorState,
    StorageInfo,
    StorageView,
    in_cells,
    numbers_in_cells,
)
from memory_stage.trace.cells import MOST_RANGES, SMALL, Run, merged, runs_of
from minitensor.engine import events as engine_events
from minitensor.engine.core.history import READ, RESHAPED, WRITE, Leaf, Node, peek
from minitensor.engine.core.regions import strides_of
from minitensor.engine.core.storage import Storage, write_that_made
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.arrays import address_of, byte_bounds, gpu_of, host_array, restrided
from minitensor.engine.device.counters import cpu_meter
from minitensor.engine.device.places import current
from minitensor.engine.modes import modes, set_inplace_policy
from minitensor.engine.operations.operands import CONSTANT
from minitensor.engine.random import source as random_source
from minitensor.engine.saved.patches import Patch
from minitensor.engine.saved.saved import FREED, Lost, Preserved, is_intact, version_saved
from minitensor.engine.sharing import numpy_memory
from minitensor.engine.table import ROWS
from minitensor.memory.source_lines import is_engines
from minitensor.optimizer.optimizer import Optimizer

_ROLES = {READ: Role.READ, WRITE: Role.WRITE, RESHAPED: Role.RESHAPED}


@functools.cache
def _pytorch_names() -> dict[str, str]:
    """Map each operation that has another name in PyTorch's vocabulary to that name."""
    spelling = importlib.import_module("minitensor.torch.operation_table")
    return {"concat": "cat", **{each.row.name: each.names[0] for each in spelling.SPELLINGS}}


#: Maps an event class of minitensor to the event class of the stage with the same fields.
TRANSLATED: dict[type, Callable[..., events.Event]] = {
    engine_events.StorageCreated: events.Alloc,
    engine_events.StorageReleased: events.Free,
    engine_events.TensorCreated: events.Make,
    engine_events.ViewCreated: events.MakeView,
    engine_events.TensorWritten: events.Write,
    engine_events.SavedOverwritten: events.Overwrite,
    engine_events.MetadataChanged: events.Relayout,
    engine_events.BackwardStarted: events.BackwardStart,
    engine_events.HookRan: events.HookCall,
    engine_events.NodeEntered: events.NodeEnter,
    engine_events.NodeVisited: events.NodeVisit,
    engine_events.NodeLeft: events.NodeLeave,
    engine_events.FlightChanged: events.FlightChange,
    engine_events.LeafUpdated: events.LeafGradient,
}


class MinitensorSubscription(engine_events.Subscription):
    """A recorder's subscription to minitensor's events. Other listeners may subscribe and unsubscribe in any order."""

    def __init__(self, emit: events.Listener) -> None:
        self.emit = emit

    def on_event(self, event: engine_events.Event) -> None:
        """Translate an event of minitensor to an event of the stage and emit it."""
        match event:
            case engine_events.OperationRefused(error, reason):
                self.emit(events.Refusal(error, reason))
            case engine_events.BackwardRefused(error, reason):
                self.emit(events.StaleRead(error, reason))
            case engine_events.AllocatorChanged():
                self.emit(events.MeterChange())
            case _:
                self.emit(TRANSLATED[type(event)](*event))

    def close(self) -> None:
        """Unsubscribe. Further events, which a later listener may still forward, are ignored."""
        super().close()
        self.emit = events.ignore


class MinitensorEngine:
    """The :class:`~memory_stage.engines.protocol.Engine` of minitensor. The protocol describes each method."""

    # ----- the engine -----

    def listen(self, emit: events.Listener) -> MinitensorSubscription:
        return MinitensorSubscription(emit)

    @property
    def has_framework(self) -> bool:
        """False, because minitensor's tensors need no framework."""
        return False

    def discover_frameworks(self) -> None:
        """Do nothing: minitensor has been imported already."""

    def policy(self, name: str) -> AbstractContextManager[Any]:
        return set_inplace_policy(name)

    def current_policy(self) -> str:
        """Return the policy of this thread."""
        return modes.policy

    @contextlib.contextmanager
    def same_random_numbers(self) -> Iterator[None]:
        """Use a copy of the random generator inside the block, and the unchanged original after it."""
        before = random_source.generator
        random_source.generator = copy.deepcopy(before)
        try:
            yield
        finally:
            random_source.generator = before

    def allocated(self) -> int:
        return cpu_meter.allocated

    def gpus(self) -> list[Any]:
        """Return the meters of the simulated and of the real GPU, each only if the program uses it."""
        return [gpu for gpu in (current.simulated, current.cuda) if gpu is not None]

    # ----- tensors -----

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, Tensor)

    def is_shown(self, value: Any) -> bool:
        """True for a tensor, except a constant that an operation made of a Python number."""
        return isinstance(value, Tensor) and value._storage is not CONSTANT and not isinstance(value._array, np.generic)

    def storage_view(self, x: Tensor) -> StorageView:
        node = peek(x)
        leaf = node is None or (type(node) is Leaf and _has_own_node(x))
        array, buffer = x._array, x._storage.buffer
        apart = array.itemsize != buffer.itemsize
        own = Elements(*_own_layout(array, buffer), array.itemsize) if apart else None
        return StorageView(_layout(array, buffer), _dtype_name(array), node is not None, leaf, own)

    def storage(self, x: Tensor) -> Storage:
        """Return the storage of ``x``. That of ``x.data`` is a separate version counter on the storage of ``x``."""
        return x._storage

    def version(self, x: Tensor) -> int:
        return x._storage.version

    def group(self, x: Tensor) -> int | None:
        return None if x._history is None else id(x._history)

    def stamp(self, x: Tensor) -> tuple[Any, ...]:
        """Return the ids of the objects that ``x`` consists of, and their versions."""
        history = x._history
        version = None if history is None else history.version
        return id(x._array), id(x._storage), x._storage.version, id(peek(x)), id(history), version

    def node(self, x: Tensor) -> Node | None:
        """Return the node of ``x`` without updating an outdated view."""
        return peek(x)

    def gradient(self, x: Tensor) -> Tensor | None:
        """Return the gradient, which is stored in the node of a leaf, and in ``x._extra.box`` if ``x`` is no leaf."""
        node = peek(x)
        if type(node) is Leaf:
            return node.saved if isinstance(node.saved, Tensor) else None
        box = getattr(getattr(x, "_extra", None), "box", None)
        return box.gradient if box is not None and isinstance(box.gradient, Tensor) else None

    def preserves(self, x: Tensor) -> bool:
        """True under the policy that copies saved bytes before a write."""
        return modes.policy == "copy_on_write"

    def records(self, x: Tensor) -> bool:
        return modes.grad

    def has_other_names(self, x: Tensor) -> bool:
        """True for a tensor of PyTorch's vocabulary."""
        return x._spelled_otherwise

    def other_name(self, op: str) -> str:
        """Return PyTorch's name of the operation ``op``."""
        twin = op.removesuffix("_")
        return _pytorch_names().get(twin, twin) + op[len(twin) :]

    def has_name(self, x: Tensor, name: str) -> bool:
        """True if the class or the package of ``x``, or its ``nn.functional``, has an attribute of this name."""
        package = sys.modules[type(x).__module__.rpartition(".")[0] or "minitensor"]
        return any(
            hasattr(each, name) for each in (type(x), package, sys.modules.get(f"{package.__name__}.nn.functional"))
        )

    def is_other_vocabulary(self, frame: FrameType) -> bool:
        """True if the frame runs code of ``minitensor.torch``."""
        return str(frame.f_globals.get("__name__")).startswith("minitensor.torch")

    def is_library_frame(self, frame: FrameType) -> bool:
        return is_engines(frame)

    def array(self, x: Tensor) -> np.ndarray:
        return x._array

    def slots(self, value: Any) -> Iterator[tuple[str, Tensor, int, Tensor]] | None:
        return _slots(value) if isinstance(value, Optimizer) else None

    # ----- storages -----

    def owns(self, thing: Any) -> bool:
        return isinstance(thing, (Storage, Node))

    def key(self, thing: Storage | Node) -> int:
        return id(thing)

    def weak(self, thing: Storage | Node, on_freed: Callable[[Any], None]) -> Callable[[], Any]:
        return weakref.ref(thing, on_freed)

    def below(self, storage: Storage) -> Storage | None:
        """Return the storage of ``x``, given that of ``x.data``; None for any other storage."""
        return getattr(storage, "of", None)

    def block(self, storage: Storage) -> StorageInfo:
        buffer = storage.buffer
        gpu = gpu_of(buffer)
        counted = gpu.counted(buffer) if gpu is not None and storage.nbytes else storage.nbytes
        dtype = _dtype_name(buffer)
        return StorageInfo(buffer.size, buffer.itemsize, buffer.nbytes, counted, dtype, storage.version, gpu)

    def freed(self, storage: Storage) -> int:
        """Return the bytes of the storage on the host; 0 on a GPU, whose own meter counts them."""
        return storage.nbytes if type(storage) is Storage else 0

    def freed_on_gpu(self, storage: Storage) -> tuple[Any, int] | None:
        """Return the meter and the bytes of the storage's block on the GPU. The block is freed after the storage."""
        gpu = gpu_of(storage.buffer)
        return None if gpu is None else (gpu, gpu.counted(storage.buffer))

    def numbers(self, storage: Storage, cells: Iterable[int]) -> list[Any]:
        """Read only the requested cells, so that the cost does not depend on the size of the storage."""
        buffer = storage.buffer
        flat = restrided(buffer, (buffer.size,), (buffer.itemsize,))
        return [host_array(flat[i : i + 1]).item() for i in cells]

    def writer(self, storage: Storage, version: int) -> str:
        found = write_that_made(storage, version)
        return "" if found is None else found[0]

    # ----- writes -----

    def written(self, x: Tensor, where: Any) -> CellLayout | np.ndarray:
        """Return the cells of ``where``, which is None (all of ``x``), the overwritten array, or an advanced index."""
        buffer = x._storage.buffer
        if isinstance(where, tuple):
            return _positions(x, buffer, where)
        return _layout(x._array if where is None else where, buffer)

    def nodes_of_write(self, x: Tensor) -> list[tuple[Node, bool]]:
        """Return the nodes of the view group, of the new part if only a part was written, and of ``x``."""
        history = x._history
        of_group = None if history is None else history.node
        found = [] if of_group is None else [of_group]
        if of_group is not None and of_group.op is WRITE:
            found += [node for node in of_group.inputs[1:] if node is not None]
        if x._node is not None:
            found.append(x._node)
        return [(node, history is not None and node is not of_group) for node in dict.fromkeys(found)]

    # ----- nodes -----

    def role(self, node: Node) -> Role:
        return Role.LEAF if type(node) is Leaf else _ROLES.get(node.op, Role.OPERATION)

    def name(self, node: Node) -> str:
        return node.op.name

    def parents(self, node: Node) -> Sequence[Node | None]:
        return node.inputs

    def moves_only(self, node: Node) -> bool:
        """True for operations with a forward-mode rule, which are views, joins, and reads and writes at an index."""
        return node.op.jvp is not None

    def place(self, node: Node) -> tuple[CodeType, int]:
        return node.code, node.place.line

    def saved(self, node: Node) -> list[Saved]:
        """Return the saved tensors: the saved values that consist of an array, a storage and a version."""
        row = ROWS.get(node.op.name.removesuffix("_"))
        found = []
        for position, (what, saved) in enumerate(_entries(node)):
            if _is_tensor(saved):
                array, storage, _ = saved
                layout, marks = _layout(array, storage.buffer), row is not None and what in row.marks
                found.append(Saved(position, what, storage, layout, version_saved(saved), marks))
        return found

    def indices(self, node: Node) -> list[Storage]:
        """Return the storages of the index arrays that an item assignment saved."""
        has_index = any(what == "index" and not _is_tensor(saved) for what, saved in _entries(node))
        return list(node.saved[1]) if has_index else []

    def saved_state(self, node: Node, position: int) -> SavedTensorState:
        if node.saved is FREED:
            return SavedTensorState.RELEASED
        saved = node.saved[position]
        if not is_intact(saved):
            return SavedTensorState.LOST if type(saved[2]) is Lost else SavedTensorState.MOVED
        return SavedTensorState.APART if type(saved[2]) is Preserved and saved[2].left == 0 else SavedTensorState.RIGHT

    def is_released(self, node: Node) -> bool:
        return node.saved is FREED

    def copies(self, node: Node, position: int, storage: Storage) -> list[Copied]:
        """Return the copies of overwritten bytes: one copy of the whole storage, or one for each write."""
        array, now, version = node.saved[position]
        if type(version) is not Preserved:
            return [Copied(now, _layout(array, now.buffer), None)]
        return [
            Copied(patch.storages[0], _layout(patch.values, patch.storages[0].buffer), _ranges(patch, storage.buffer))
            for patch in version.patches
        ]

    def is_checked(self, node: Node, position: int) -> bool:
        """True under ``check_foreign_writes``, if the node has a copy to compare with."""
        return node.saved is not FREED and getattr(node.saved[position][2], "noted", None) is not None

    def elements(self, gradient: Any) -> np.ndarray:
        return host_array(gradient)

    # ----- shared memory -----

    def shared_storages(self) -> list[Storage]:
        return numpy_memory.shared_storages()

    def when_shared(self, notify: Callable[[Storage], None]) -> Callable[[], None]:
        """Subscribe to the moments when a storage becomes shared with numpy or, by DLPack, with another library."""
        numpy_memory.when_shared.append(notify)
        return lambda: numpy_memory.when_shared.remove(notify) if notify in numpy_memory.when_shared else None

    def storage_behind(self, array: np.ndarray) -> Storage | None:
        if type(array) not in (np.ndarray, np.memmap, np.matrix) or array.size == 0:
            return None
        storage = numpy_memory.storage_around(*byte_bounds(array))
        return storage if storage is not None and storage.buffer.itemsize == array.itemsize else None

    def storage_view_of_array(self, storage: Storage, array: np.ndarray) -> StorageView:
        return StorageView(_layout(array, storage.buffer), _dtype_name(array), False, True)

    def bits(self, storage: Storage) -> np.ndarray | None:
        """Return the cells as unsigned integers, so that a NaN compares equal to itself."""
        buffer = storage.buffer
        if gpu_of(buffer) is not None or not buffer.size:
            return None
        return restrided(buffer, (buffer.size,), (buffer.itemsize,)).view(f"u{buffer.itemsize}")


#: The only engine of minitensor. It stores nothing, because every answer is read from the objects.
MINITENSOR = MinitensorEngine()


def _has_own_node(x: Tensor) -> bool:
    """True if ``peek(x)`` is the node of the value of ``x``, False if it is that of the whole view group."""
    history = x._history
    return history is None or x._seen == history.version or x._array is history.base


def _entries(node: Node) -> Iterator[tuple[str, Any]]:
    """Yield the values that the node saved, with their names in the backward rule."""
    return iter(() if type(node) is Leaf or node.saved is FREED else zip(node.op.saved_names, node.saved, strict=False))


def _is_tensor(saved: Any) -> bool:
    return type(saved) is tuple and len(saved) == 3 and isinstance(saved[1], Storage) and saved[1] is not CONSTANT


def _slots(optimizer: Optimizer) -> Iterator[tuple[str, Tensor, int, Tensor]]:
    for number, (parameter, kept) in enumerate(zip(optimizer._parameters, optimizer._kept, strict=False)):
        for slot, average in zip(optimizer.slots, kept, strict=False):
            yield slot, parameter, number, average


def _layout(array: Any, buffer: Any) -> CellLayout:
    """Return shape, strides and offset of an array, in cells of ``buffer``."""
    return in_cells(_own_layout(array, buffer), array.itemsize, buffer.itemsize)


def _own_layout(array: Any, buffer: Any) -> CellLayout:
    """Return shape, strides and offset of an array in ``buffer``, in elements of the array."""
    size = array.itemsize
    offset = (address_of(array) - address_of(buffer)) // size if array.size else 0
    return CellLayout(list(array.shape), strides_of(array), offset)


def _dtype_name(array: Any) -> str:
    name: str = array.dtype.name
    return name


def _positions(x: Tensor, buffer: Any, where: tuple[Any, ...]) -> np.ndarray:
    """Return the sorted cells that an index array or a mask selects."""
    return numbers_in_cells(_elements(x, buffer, where), x._array.itemsize, buffer.itemsize)


def _elements(x: Tensor, buffer: Any, where: tuple[Any, ...]) -> np.ndarray:
    """Return the indices of the selected elements, counted from the start of ``buffer``."""
    shape, strides, offset = _own_layout(x._array, buffer)
    if len(where) == 1 and x._array.flags.c_contiguous and hasattr(where[0], "dtype"):
        mask = host_array(where[0])
        if mask.dtype.kind == "b" and mask.shape == x._array.shape:
            return offset + np.flatnonzero(mask)
    found = np.asarray(offset)
    where = tuple(host_array(each) if hasattr(each, "dtype") else each for each in where)
    for axis, (n, stride) in enumerate(zip(shape, strides, strict=True)):
        along = (np.arange(n) * stride).reshape([-1 if d == axis else 1 for d in range(len(shape))])
        found = found + np.broadcast_to(along, shape)[where]
    return found.reshape(-1)


def _ranges(patch: Patch, buffer: np.ndarray) -> list[Run]:
    """Return the runs of consecutive cells of ``buffer`` that ``patch`` preserves, or one long run instead of many."""
    at, start = patch.cells, address_of(buffer) // buffer.itemsize
    whole = [(at.lowest // buffer.itemsize - start, (at.end * at.itemsize - 1) // buffer.itemsize - start)]
    if at.is_stretch or at.itemsize != buffer.itemsize:
        return whole
    if at.layout is not None:
        runs, total = runs_of(at.layout.shape, at.layout.strides, whole[0][0] + at.layout.offset, SMALL)
        runs = merged(runs) if total <= SMALL else whole
    else:
        runs = merged((i, i) for i in (at.numbers() - start).tolist()) if at.count <= SMALL else whole
    return runs if len(runs) <= MOST_RANGES else whole
