"""Register a program's tensors, their storages, and their version counters.

Python cannot ask torch which tensors share a version counter. This module assumes that all tensors on a storage do,
except ``x.data``, a tensor that got another storage (``set_``, ``x.data = y``), and tensors whose versions differ.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import torch

from memory_stage.engines import events
from memory_stage.engines.torch.memory import Counter, Memory, VersionCounter, address_of, is_drawable, shifts


class Record:
    """The state of a registered tensor.

    Attributes:
        ref: a weak reference to the tensor.
        counter: the tensor's storage, or its separate version counter.
        current: the version at which ``grad_fn`` was known to belong to the tensor's value, or None. At any other
            version, reading ``grad_fn`` of a view would create a node.
        is_apart: True for a view created under ``no_grad``. Such a view does not share the history of its base.
        leaf: the tag of the tensor's node, if the tensor is a leaf.
        stamp: the address, layout and dtype after the last call that used the tensor.
    """

    __slots__ = ("ref", "counter", "current", "is_apart", "leaf", "stamp")

    def __init__(self, ref: weakref.ref[Any], counter: VersionCounter) -> None:
        self.ref, self.counter = ref, counter
        self.current: int | None = None
        self.is_apart = False
        self.leaf: Any = None
        self.stamp: Any = None


class Registry:
    """The storages and tensors registered in one recording.

    Attributes:
        emit: called with the events of created and freed storages; None while no subscription is open.
        allocated: the host bytes of gradients in flight and of living storages created during the recording.
        backwards: the number of running backward passes.
        awaited: for the id of each leaf not yet reached by backward(), the id of its old gradient, or 0 without one.
        when_shared: the functions to call with each storage that becomes shared with another library.
    """

    def __init__(self) -> None:
        self.memories: dict[int, Memory] = {}
        self.tensors: dict[int, Record] = {}
        self.emit: events.Listener | None = None
        self.allocated = 0
        self.backwards = 0
        self.awaited: dict[int, int] = {}
        self.when_shared: list[Callable[[Memory], None]] = []
        self._bases: dict[int, weakref.ref[Any]] = {}
        self._loose: list[Memory] = []
        self._aliases: dict[int, Counter] = {}  # the version counters of second storages (``_alias``), by address
        self._lock = threading.RLock()

    # ---------- storages ----------

    def memory_at(self, x: torch.Tensor) -> Memory | None:
        """Return the storage of a tensor; None if it is not registered."""
        return self.memories.get(address_of(x))

    def register(self, x: torch.Tensor, is_new: bool) -> Memory:
        """Return the storage of a tensor. If it is unregistered, register it and, if ``is_new``, emit its creation."""
        memory = self.memory_at(x) or self._alias(x)
        if memory is not None:
            memory.note_cell_size(x)
            return memory
        memory = Memory(x)
        self.memories[memory.address] = memory
        if self.backwards:
            memory.tensors = []
            memory.counted = 0 if memory.gpu is not None else memory.place()[1]
            self._loose.append(memory)
            self._observe_tensors(memory, x)
        else:
            self._observe_object(memory, x)
        if not memory.tensors and memory.is_shared:
            for notify in list(self.when_shared):
                notify(memory)
        if is_new and self.emit is not None:
            if memory.gpu is None:
                self.allocated += memory.counted
            self.emit(events.Alloc(memory))
        return memory

    def _alias(self, x: torch.Tensor) -> Memory | None:
        """Return the registered storage whose memory ``x`` uses through a second storage; else None.

        Torch makes a second storage if it imports memory that it has exported to another library.
        """
        exported = [each for each in self.memories.values() if each.exported and each.counted and not each.freed]
        if not exported or self.backwards or not x.numel():
            return None
        storage, size = x.untyped_storage(), x.element_size()
        if storage.resizable():
            return None
        begin, end = storage.data_ptr(), storage.data_ptr() + storage.nbytes()
        address, me = address_of(x), weakref.ref(self)
        for memory in exported:
            first, nbytes = memory.place()
            if memory.itemsize == size and first <= begin and end <= first + nbytes and (begin - first) % size == 0:
                self.memories[address] = memory
                counter = self._aliases[address] = Counter(memory, x._version)
                counter.end = weakref.ref(storage, lambda _: _on_alias_freed(me, address))
                shifts[address] = (begin - first) // size
                return memory
        return None

    def remove_alias(self, address: int) -> None:
        """Forget a second storage that was freed."""
        shifts.pop(address, None)
        if self._aliases.pop(address, None) is not None:
            self.memories.pop(address, None)

    def counter_of(self, x: torch.Tensor) -> Counter | None:
        """Return the version counter that belongs to a second storage; None for any other storage."""
        return self._aliases.get(address_of(x)) if self._aliases else None

    def _observe_object(self, memory: Memory, x: torch.Tensor) -> None:
        """Keep a weak reference to torch's object of the storage, to report when the storage is freed."""
        storage = x.untyped_storage()
        me = weakref.ref(self)
        memory.ref = weakref.ref(storage, lambda _: _on_storage_freed(me, memory))
        size = storage.nbytes() if storage.resizable() else 0  # a storage that cannot be resized has borrowed memory
        memory.counted = memory.gpu.counted(size) if memory.gpu is not None else size

    def _observe_tensors(self, memory: Memory, x: torch.Tensor) -> None:
        """Keep weak references to the tensors on a storage, to report when the storage is freed during backward."""
        me = weakref.ref(self)
        if memory.tensors is not None and all(ref() is not x for ref in memory.tensors):
            memory.tensors.append(weakref.ref(x, lambda _: _on_last_tensor_freed(me, memory)))
            if not memory.counted and memory.gpu is None:
                memory.counted = memory.place()[1]

    def read_objects(self) -> None:
        """Read torch's objects of the storages that were registered during backward, after backward has ended."""
        loose, self._loose = self._loose, []
        for memory in loose:
            tensors, memory.tensors = memory.tensors or [], None
            x = next((x for ref in tensors if (x := ref()) is not None and address_of(x) == memory.address), None)
            if x is None:
                self.remove(memory)
                continue
            before = memory.counted
            self._observe_object(memory, x)
            if memory.gpu is None:
                self.allocated += memory.counted - before

    def remove(self, memory: Memory) -> None:
        """Forget a freed storage, and emit that it was freed."""
        with self._lock:
            if memory.freed:
                return
            memory.freed, memory.ref = True, _no_object
        if self.memories.get(memory.address) is memory:
            del self.memories[memory.address]
            memory.forget_cell_size()
        if memory.gpu is None:
            self.allocated -= memory.counted
        if self.emit is not None:
            self.emit(events.Free(memory))

    def resized(self, x: torch.Tensor) -> bool:
        """Return True if a tensor's storage was resized, and register it as another storage."""
        memory = self.memory_at(x)
        if memory is None or memory.ref() is None:
            return False
        nbytes = memory.place()[1]
        if memory.gpu is not None or memory.counted in (0, nbytes):
            return False
        del self.memories[memory.address]
        new = self.register(x, is_new=True)
        for record in self.tensors.values():
            if record.counter is memory:
                record.counter = new
        self.remove(memory)
        return True

    # ---------- tensors ----------

    def is_registered(self, x: torch.Tensor) -> bool:
        """True if a tensor is registered."""
        record = self.tensors.get(id(x))
        return record is not None and record.ref() is x

    def record(self, x: torch.Tensor, like: VersionCounter | None = None, own: bool = False) -> Record:
        """Return the record of a tensor.

        Args:
            like: the version counter to share, if the tensor is not registered yet and is on the same storage.
            own: True if the tensor has a separate version counter.
        """
        record = self.tensors.get(id(x))
        if record is not None and record.ref() is x:
            return record
        memory = self.register(x, is_new=False)
        key, me = id(x), weakref.ref(self)
        ref = weakref.ref(x, lambda ref: _on_tensor_freed(me, key, ref))
        record = Record(ref, self._counter_for(x, memory, like, own))
        self.tensors[key] = record
        if memory.tensors is not None:
            self._observe_tensors(memory, x)
        if x._is_view():
            base = x._base
            if (known := self._bases.get(id(base))) is None or known() is not base:
                self._bases[id(base)] = weakref.ref(base)
            if x._version == 0:
                record.current = 0
        return record

    def _counter_for(self, x: torch.Tensor, memory: Memory, like: VersionCounter | None, own: bool) -> VersionCounter:
        version = x._version
        alias = self.counter_of(x)
        if alias is not None and not own:
            return alias
        if own:
            return Counter(memory, version)
        if like is not None and like.memory is memory:
            return like
        if x._is_view() and (base := self.tensors.get(id(x._base))) is not None and base.counter.memory is memory:
            return base.counter
        if memory.version == version:
            return memory
        for record in list(self.tensors.values()):
            if record.counter.memory is memory and record.counter.version == version:
                return record.counter
        return Counter(memory, version)

    def current_counter(self, x: torch.Tensor) -> VersionCounter:
        """Return a tensor's storage or separate version counter after updating its record."""
        record = self.record(x)
        memory = record.counter.memory
        if memory.freed or self.memories.get(address_of(x)) is not memory:
            memory = self.register(x, is_new=False)
            record.counter = self.counter_of(x) or (
                memory if memory.version == x._version else Counter(memory, x._version)
            )
            record.current = None
        elif x._version < record.counter.version:  # a lower version than the others' means a separate counter
            record.counter = Counter(memory, x._version)
        return record.counter

    def version(self, x: torch.Tensor) -> int:
        """Read the version of a tensor and record it."""
        version: int = x._version
        self.current_counter(x).version = version
        return version

    def group(self, x: torch.Tensor) -> int | None:
        """Return the id of the tensor that ``x`` is a view of, or of ``x`` if it has views; None for other tensors."""
        if x._is_view():
            return id(x._base)
        ref = self._bases.get(id(x))
        return id(x) if ref is not None and ref() is x else None

    def forget(self) -> None:
        """Remove all entries, at the end of the recording."""
        self.emit = None
        self.when_shared.clear()
        self.tensors.clear()
        self._bases.clear()
        for memory in self.memories.values():
            memory.freed, memory.tensors, memory.ref = True, None, _no_object
            memory.forget_cell_size()
        self.memories.clear()
        self._loose.clear()
        for address in list(self._aliases):
            self.remove_alias(address)

    def shared(self, x: torch.Tensor) -> None:
        """Record that another library gets the address of a tensor's memory."""
        memory = self.register(x, is_new=False)
        memory.exported = True
        for notify in list(self.when_shared):
            notify(memory)

    def is_tensor(self, value: Any) -> bool:
        """True if a value is a tensor that the stage can show."""
        if not isinstance(value, torch.Tensor):
            return False
        return self.is_registered(value) or is_drawable(value)


def _no_object() -> None:
    """Return None; this replaces a weak reference that is no longer needed."""


def _on_storage_freed(registry: weakref.ref[Registry], memory: Memory) -> None:
    alive = registry()
    if alive is not None:
        alive.remove(memory)


def _on_alias_freed(registry: weakref.ref[Registry], address: int) -> None:
    alive = registry()
    if alive is not None:
        alive.remove_alias(address)
    else:
        shifts.pop(address, None)


def _on_last_tensor_freed(registry: weakref.ref[Registry], memory: Memory) -> None:
    alive = registry()
    if alive is not None and memory.tensors is not None and all(ref() is None for ref in memory.tensors):
        alive.remove(memory)


def _on_tensor_freed(registry: weakref.ref[Registry], key: int, ref: Any) -> None:
    alive = registry()
    if alive is not None and (record := alive.tensors.get(key)) is not None and record.ref is ref:
        del alive.tensors[key]
