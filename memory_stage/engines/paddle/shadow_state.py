"""Keep a copy of the state that Python cannot read from Paddle: storages and nodes by address, and saved tensors.

The entries refer to each other as Paddle's own objects do: a tensor to its storage and its node, a node to the nodes of
its inputs and to the storages of the tensors that it saved. No entry refers to an object of Paddle. Therefore an entry
is freed at the same time as the object that it represents, and its event is emitted at that time.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from memory_stage.engines import events
from memory_stage.engines.paddle import tensor_access
from memory_stage.engines.paddle.entries import LEAF, GradientHandle, GradNode, PaddleStorage, TensorRecord
from memory_stage.engines.paddle.places import overlaps
from memory_stage.engines.protocol import CellLayout, Role
from memory_stage.messages import Text


def snake(name: str) -> str:
    """Return the name of the operation of a node: ``sin`` for ``SinGradNode``."""
    name = name.removeprefix("GradNodePyLayer_").removesuffix("GradNode").removesuffix("_backward")
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name)) or "node"


def program_frame(frame: Any) -> Any:
    """Return the innermost frame that runs code of the program."""
    while frame is not None and is_library_frame(frame):
        frame = frame.f_back
    return frame


def is_library_frame(frame: Any) -> bool:
    """True if a frame runs code of Paddle, of this package, or of a library that Paddle uses."""
    name = str(frame.f_globals.get("__name__")).partition(".")[0]
    return name in ("paddle", "memory_stage", "book_kit", "numpy", "decorator", "contextlib")


class ShadowState:
    """The entries that represent Paddle's objects in one process.

    Attributes:
        records: a record for each tensor, by the id of the tensor.
        storages: the entries of storages, by address.
        nodes: the entries of nodes, by address.
        counters: maps a storage to the separate version counters on it.
        registered: the bytes of all registered storages.
        others: the bytes of unregistered storages: the smallest difference between Paddle's meter and ``registered``
            since a subscription was opened.
        others_freed: the bytes of unregistered storages that were freed since the first subscription was opened.
        in_backward: True while backward runs. The gradients of leaves are emitted when it ends.
        when_shared: the functions to call with each storage that becomes shared with another library.
        emit: the function that receives the events. It does nothing while no subscription is open.
    """

    def __init__(self, meter: Callable[[], int]) -> None:
        self.meter = meter
        self.records: dict[int, TensorRecord] = {}
        self.storages: weakref.WeakValueDictionary[int, PaddleStorage] = weakref.WeakValueDictionary()
        self.nodes: weakref.WeakValueDictionary[int, GradNode] = weakref.WeakValueDictionary()
        self.counters: weakref.WeakKeyDictionary[PaddleStorage, weakref.WeakSet[PaddleStorage]]
        self.counters = weakref.WeakKeyDictionary()
        self.registered = self.others = self.others_freed = 0
        self.in_backward = False
        self.emit: events.Listener = events.ignore
        self.when_shared: list[Callable[[PaddleStorage], None]] = []
        #: The storages of living arrays, by the ids of the arrays. The arrays keep the memory alive.
        self._of_arrays: dict[int, PaddleStorage] = {}
        self._omitted: set[Text] = set()

    def omit(self, reason: Text) -> None:
        """Emit that a part of the program is not recorded; only once for each reason."""
        if reason not in self._omitted:
            self._omitted.add(reason)
            self.emit(events.Omission(reason))

    # ---------- storages ----------

    def storage(self, x: Any, fresh: bool = False) -> PaddleStorage:
        """Return the storage of a tensor, and register it if it is new.

        Args:
            fresh: True if an operation has just created the tensor on its own memory. Then an older entry with this
                address is out of date, because its storage must have been freed.
        """
        base, layout = tensor_access.base_of(x), tensor_access.layout_of(x)
        itemsize = x.element_size()
        nbytes = self._size(x, layout, itemsize)
        known = self.storages.get(base) if base else None
        if known is not None and not fresh and nbytes <= known.nbytes:
            return known
        found = PaddleStorage(base, nbytes, itemsize, tensor_access.dtype_of(x), x._inplace_version())
        if base:
            self.storages[base] = found
        self._add_storage(found)
        return found

    def _add_storage(self, storage: PaddleStorage) -> None:
        storage.on_freed = self._on_freed
        self.registered += storage.counted
        # Until now, ``others`` may have contained these bytes.
        self.others = min(self.others, self.meter() - self.registered)
        self.emit(events.Alloc(storage))

    def allocated(self, is_quiet: bool) -> int:
        """Return the bytes of Paddle's meter, plus those of unregistered storages that were freed since the start.

        Args:
            is_quiet: True if no function of Paddle is running, so that the meter can be compared with the entries.
        """
        now = self.meter()
        if is_quiet and not self.in_backward and now - self.registered < self.others:
            self.others_freed += self.others - (now - self.registered)
            self.others = now - self.registered
        return now + self.others_freed

    @staticmethod
    def _size(x: Any, layout: CellLayout, itemsize: int) -> int:
        """Return the bytes of a tensor's storage or, if Paddle does not report these, those that the tensor covers."""
        whole = getattr(x, "_holder_size", None)
        return int(whole()) if whole is not None else tensor_access.reach_of(layout) * itemsize

    def _on_freed(self, storage: PaddleStorage) -> None:
        self.registered -= storage.counted
        if self.storages is not None:  # it is None while the interpreter shuts down
            self.emit(events.Free(storage))

    def add_hidden(self, nbytes: int, cells: np.ndarray | None, dtype: str) -> PaddleStorage:
        """Register memory that only a node refers to. Its bytes are counted, and its ``cells`` are a copy."""
        found = PaddleStorage(0, nbytes, 1 if cells is None else cells.itemsize, dtype, 0)
        found.copied = None if cells is None else cells.reshape(-1)
        self._add_storage(found)
        return found

    def share(self, x: Any) -> None:
        """Record that another library gets or has the address of a tensor's memory."""
        memory = self.register(x).memory
        storage = memory.counts_over or memory
        storage.is_shared = True
        for notify in list(self.when_shared):
            notify(storage)

    def borrow(self, x: Any) -> bool:
        """Register the memory of a new tensor as borrowed; return False if it belongs to a registered tensor."""
        base, layout = tensor_access.base_of(x), tensor_access.layout_of(x)
        if not base or base in self.storages:
            return False
        size = self._size(x, layout, x.element_size())
        found = PaddleStorage(base, size, x.element_size(), tensor_access.dtype_of(x), x._inplace_version())
        found.is_borrowed = True
        self.storages[base] = found
        self._add_storage(found)
        self.register(x)  # its record keeps the storage
        return True

    def storage_behind(self, array: np.ndarray) -> PaddleStorage | None:
        """Return the shared storage whose address range contains an array; None if there is none."""
        if array.size == 0:
            return None
        for storage in [each for each in self.storages.values() if each.is_shared]:
            first, end = _byte_bounds(array)
            is_around = storage.address <= first and end <= storage.address + storage.nbytes
            if is_around and storage.itemsize == array.itemsize:
                if id(array) not in self._of_arrays:
                    self._of_arrays[id(array)] = storage
                    weakref.finalize(array, self._of_arrays.pop, id(array), None)
                return storage
        return None

    def note_write(self, storage: PaddleStorage, versions: tuple[int, int], where: CellLayout | np.ndarray) -> None:
        """Record for each saved tensor if a write has overwritten it.

        Args:
            versions: the versions of the storage before and after the write.
            where: the written cells.
        """
        before, now = versions
        for node in {id(node): node for node in list(self.nodes.values())}.values():
            for save in node.saved:
                if save.storage is storage and save.version < now:
                    save.on_write(before, now, overlaps(save.layout, where))

    # ---------- tensors ----------

    def record(self, x: Any) -> TensorRecord:
        """Return the record of a tensor after updating it."""
        record = self.register(x)
        record.memory.version = x._inplace_version()
        record.node = self.node_of(x)
        return record

    def register(self, x: Any, fresh: bool = False) -> TensorRecord:
        """Return the record of a tensor without updating the node in it, because that node may have no entry yet.

        Args:
            fresh: the argument of :meth:`storage`.
        """
        key = id(x)
        record = self.records.get(key)
        if record is None or record.ref() is not x:
            me = weakref.ref(self)
            ref = weakref.ref(x, lambda ref: _remove_record(me, key, ref))
            record = self.records[key] = TensorRecord(ref, self._counter_for(x, self.storage(x, fresh)))
        elif record.memory.address != tensor_access.base_of(x) or not record.memory.address:
            old, record.memory = record.memory, self._counter_for(x, self.storage(x))
            self._move_saves(x, record, old)
        return record

    def _move_saves(self, x: Any, record: TensorRecord, old: PaddleStorage) -> None:
        """Redirect the saved tensors to the new memory of a tensor that kept its version counter, as Paddle does."""
        for node in list(self.nodes.values()):
            for save in node.saved:
                if save.tensor is record.ref and save.storage is old and save.version < x._inplace_version():
                    save.storage, save.is_lost = record.memory, True

    def _counter_for(self, x: Any, storage: PaddleStorage) -> PaddleStorage:
        """Return the counter of a tensor's versions: its storage, or a separate counter for a tensor from DLPack."""
        for each in [storage, *self.counters.get(storage, ())]:
            other = next((other for other in self.aliases_of(each) if other is not x), None)
            if other is None or other._is_shared_buffer_with(x):
                return each
        return self._new_counter(x, storage)

    def _new_counter(self, x: Any, storage: PaddleStorage) -> PaddleStorage:
        found = PaddleStorage(storage.address, storage.nbytes, storage.itemsize, storage.dtype, x._inplace_version())
        found.counts_over = storage
        self.counters.setdefault(storage, weakref.WeakSet()).add(found)
        return found

    def separate_counter(self, x: Any) -> None:
        """Add a separate version counter for a tensor that now uses another tensor's memory but kept its version."""
        record = self.register(x)
        if record.memory.counts_over is None:
            record.memory = self._new_counter(x, record.memory)

    def is_registered(self, x: Any) -> bool:
        """True if a tensor has a record."""
        record = self.records.get(id(x))
        return record is not None and record.ref() is x

    def aliases_of(self, storage: PaddleStorage) -> Iterator[Any]:
        """Yield all registered tensors on a storage."""
        for record in list(self.records.values()):
            x = record.ref() if record.memory is storage else None
            if x is not None:
                yield x

    def gradient(self, x: Any) -> GradientHandle | None:
        """Return the handle of ``x.grad``, or None. It is the same handle while the gradient's storage lives."""
        record = self.records.get(id(x))
        if record is None or record.ref() is not x:
            record = self.record(x)
        if self.in_backward:
            return record.gradient
        tensor = x.grad
        if tensor is None or not tensor_access.is_drawable(tensor):
            record.gradient = None
        elif record.gradient is None or record.gradient.storage.address != tensor_access.base_of(tensor):
            record.gradient = GradientHandle(record.ref, self.storage(tensor), None)
        return record.gradient

    # ---------- nodes ----------

    def node_of(self, x: Any) -> GradNode | None:
        """Return the entry of the node of a tensor's value, or None."""
        if x.stop_gradient:
            return None
        fn = x.grad_fn
        return None if fn is None else self.node(fn)

    def node(self, fn: Any) -> GradNode:
        """Return the entry of a node of Paddle. If its creation was not observed, its saved tensors are unknown."""
        known = self.nodes.get(fn.node_ptr())
        if known is not None:
            return known
        # The list keeps the entries alive until the last entry refers to the others.
        added = [self.add_node(each) for each in self._without_entry(fn)]
        return added[-1]

    def add_node(self, fn: Any, name: str = "", parents: Sequence[GradNode | None] | None = None) -> GradNode:
        """Add one entry: for ``fn``, whose parents have entries, or for all nodes from ``fn`` to ``parents``."""
        frame = program_frame(sys._getframe(1))
        called = fn.name()
        role = Role.LEAF if called == LEAF else Role.OPERATION
        found = GradNode(
            fn.node_ptr(),
            "leaf" if role is Role.LEAF else name or snake(called),
            role,
            parents
            if parents is not None
            else [None if each is None else self.nodes[each.node_ptr()] for each in fn.next_functions],
            frame.f_code,
            frame.f_lineno,
            is_unknown=parents is None and role is Role.OPERATION,
        )
        self.nodes[found.address] = found
        return found

    def _without_entry(self, fn: Any) -> list[Any]:
        """Return ``fn`` and its ancestors without entries, parents first. It is a loop, because graphs can be deep."""
        order: list[Any] = []
        done: set[int] = set()
        todo = [fn]
        while todo:
            each = todo[-1]
            pending = [
                other
                for other in each.next_functions
                if other is not None and other.node_ptr() not in done and other.node_ptr() not in self.nodes
            ]
            if pending:
                todo += pending
                continue
            todo.pop()
            if each.node_ptr() not in done:
                done.add(each.node_ptr())
                order.append(each)
        return order


def _byte_bounds(array: np.ndarray) -> tuple[int, int]:
    """Return the addresses of an array's first byte and of the byte after its last one."""
    begin, steps = array.__array_interface__["data"][0], zip(array.shape, array.strides, strict=True)
    reaches = [(count - 1) * stride for count, stride in steps]
    low, high = sum(each for each in reaches if each < 0), sum(each for each in reaches if each > 0)
    return begin + low, begin + high + array.itemsize


def _remove_record(state: weakref.ref[ShadowState], key: int, ref: Any) -> None:
    alive = state()
    if alive is not None and key in alive.records and alive.records[key].ref is ref:
        del alive.records[key]
