"""What Paddle does not tell: its storages, by address; its nodes, by address, and what each of them saved.

The entries refer to each other as Paddle's own objects do: a tensor to its storage and its node, a node to the nodes
of its inputs and to the storages of what it saved. So an entry goes when what it stands for goes, and its end is told.
Nothing of Paddle's is held.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from memory_stage.engines import events
from memory_stage.engines.paddle import tensor_access
from memory_stage.engines.paddle.entries import LEAF, Gradient, GradNode, Memory, Note
from memory_stage.engines.protocol import Layout, Role


def snake(name: str) -> str:
    """``SinGradNode`` as an operation is spelled: ``sin``."""
    name = name.removeprefix("GradNodePyLayer_").removesuffix("GradNode").removesuffix("_backward")
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name)) or "node"


def program_frame(frame: Any) -> Any:
    """The innermost frame that is the program's own."""
    while frame is not None and is_inside(frame):
        frame = frame.f_back
    return frame


def is_inside(frame: Any) -> bool:
    """Whether a frame runs code of Paddle, of this package, or of what they are made with."""
    name = str(frame.f_globals.get("__name__")).partition(".")[0]
    return name in ("paddle", "memory_stage", "book_kit", "numpy", "decorator", "contextlib")


class Books:
    """All of it, for one process."""

    def __init__(self, meter: Callable[[], int]) -> None:
        self.meter = meter
        self.notes: dict[int, Note] = {}
        self.memories: weakref.WeakValueDictionary[int, Memory] = weakref.WeakValueDictionary()
        self.nodes: weakref.WeakValueDictionary[int, GradNode] = weakref.WeakValueDictionary()
        #: By the storage that they lie over.
        self.counters: weakref.WeakKeyDictionary[Memory, weakref.WeakSet[Memory]] = weakref.WeakKeyDictionary()
        self.known = 0  # bytes of the storages that are here
        #: Bytes that Paddle's meter had beside them; the least since an ear was opened.
        self.others = 0
        self.others_freed = 0  # and what has gone of these since
        #: While backward runs: what has come to the leaves is told of at its end.
        self.collecting = False
        #: The listener of the engine; it does nothing while no subscription is open.
        self.emit: events.Listener = events.ignore

    # ---------- storages ----------

    def memory(self, x: Any, fresh: bool = False) -> Memory:
        """The storage that a tensor looks at now; one seen for the first time is told of.

        Args:
            fresh: it is known that an operation has just made the tensor on memory of its own: what had this address
                before is gone, although that was not seen.
        """
        base, layout = tensor_access.base_of(x), tensor_access.layout_of(x)
        itemsize = x.element_size()
        nbytes = self._size(x, layout, itemsize)
        known = self.memories.get(base) if base else None
        if known is not None and not fresh and nbytes <= known.nbytes:
            return known
        found = Memory(base, nbytes, itemsize, tensor_access.dtype_of(x), x._inplace_version())
        if base:
            self.memories[base] = found
        self._enter(found)
        return found

    def _enter(self, memory: Memory) -> None:
        memory.end = self._gone
        self.known += memory.nbytes
        self.others = min(self.others, self.meter() - self.known)  # it may have been there, among the others
        self.emit(events.Alloc(memory))

    def allocated(self, is_quiet: bool) -> int:
        """What Paddle's meter says, as if what was never met had stayed.

        Args:
            is_quiet: whether no function of Paddle is at work, so that the meter and the books tell of one moment.
        """
        now = self.meter()
        if is_quiet and not self.collecting and now - self.known < self.others:
            self.others_freed += self.others - (now - self.known)
            self.others = now - self.known
        return now + self.others_freed

    @staticmethod
    def _size(x: Any, layout: Layout, itemsize: int) -> int:
        """Bytes of its storage; where Paddle does not say, as far as it looks."""
        whole = getattr(x, "_holder_size", None)
        return int(whole()) if whole is not None else tensor_access.reach_of(layout) * itemsize

    def _gone(self, memory: Memory) -> None:
        self.known -= memory.nbytes
        if self.memories is not None:  # the interpreter is not on its way out
            self.emit(events.Free(memory))

    def hidden(self, nbytes: int, like: np.ndarray | None, dtype: str) -> Memory:
        """Memory that a node keeps out of sight, counted and not to be looked at; ``like``: its numbers."""
        found = Memory(0, nbytes, 1 if like is None else like.itemsize, dtype, 0)
        found.kept = None if like is None else like.reshape(-1)
        self._enter(found)
        return found

    # ---------- tensors ----------

    def note(self, x: Any) -> Note:
        """What is known of a tensor, brought up to date."""
        note = self.meet(x)
        note.memory.version = x._inplace_version()
        note.node = self.node_of(x)
        return note

    def meet(self, x: Any, fresh: bool = False) -> Note:
        """The same, but for its node, which may have no entry yet; ``fresh`` as in :meth:`memory`."""
        key = id(x)
        note = self.notes.get(key)
        if note is None or note.ref() is not x:
            me = weakref.ref(self)
            ref = weakref.ref(x, lambda ref: _tensor_gone(me, key, ref))
            note = self.notes[key] = Note(ref, self._counted(x, self.memory(x, fresh)))
        elif note.memory.address != tensor_access.base_of(x) or not note.memory.address:
            old, note.memory = note.memory, self._counted(x, self.memory(x))
            self._follow(x, note, old)
        return note

    def _follow(self, x: Any, note: Note, old: Memory) -> None:
        """A tensor has gone to other memory and counts on: what was saved of it is what it is now, as Paddle has it."""
        for node in list(self.nodes.values()):
            for kept in node.saved:
                if kept.of is note.ref and kept.memory is old and kept.version < x._inplace_version():
                    kept.memory, kept.lost = note.memory, True

    def _counted(self, x: Any, memory: Memory) -> Memory:
        """A storage, or what counts versions of its own over it: of a tensor by DLPack, and of its views."""
        for each in [memory, *self.counters.get(memory, ())]:
            other = next((other for other in self.aliases_of(each) if other is not x), None)
            if other is None or other._is_shared_buffer_with(x):
                return each
        return self._counter(x, memory)

    def _counter(self, x: Any, memory: Memory) -> Memory:
        found = Memory(memory.address, memory.nbytes, memory.itemsize, memory.dtype, x._inplace_version())
        found.under = memory
        self.counters.setdefault(memory, weakref.WeakSet()).add(found)
        return found

    def counts_apart(self, x: Any) -> None:
        """A tensor was given the memory of another, and has kept its own versions."""
        note = self.meet(x)
        if note.memory.under is None:
            note.memory = self._counter(x, note.memory)

    def is_known(self, x: Any) -> bool:
        """Whether a tensor was met."""
        note = self.notes.get(id(x))
        return note is not None and note.ref() is x

    def aliases_of(self, memory: Memory) -> Iterator[Any]:
        """The tensors on a storage."""
        for note in list(self.notes.values()):
            x = note.ref() if note.memory is memory else None
            if x is not None:
                yield x

    def gradient(self, x: Any) -> Gradient | None:
        """What stands for ``x.grad``; the same one as long as its storage is the same."""
        note = self.notes.get(id(x))
        if note is None or note.ref() is not x:
            note = self.note(x)
        if self.collecting:
            return note.gradient
        real = x.grad
        if real is None or not tensor_access.is_drawable(real):
            note.gradient = None
        elif note.gradient is None or note.gradient.memory.address != tensor_access.base_of(real):
            note.gradient = Gradient(note.ref, self.memory(real), None)
        return note.gradient

    # ---------- nodes ----------

    def node_of(self, x: Any) -> GradNode | None:
        """The node of a tensor's value."""
        if x.stop_gradient:
            return None
        real = x.grad_fn
        return None if real is None else self.node(real)

    def node(self, real: Any) -> GradNode:
        """The entry of a node of Paddle; of one that was not seen when it was made, without what it saved."""
        known = self.nodes.get(real.node_ptr())
        if known is not None:
            return known
        made = [self.add(each) for each in self._unknown(real)]  # held, until the last one holds the others
        return made[-1]

    def add(self, real: Any, name: str = "", parents: Sequence[GradNode | None] | None = None) -> GradNode:
        """An entry for a node whose inputs have theirs, or for several, between which and ``parents`` they stand."""
        frame = program_frame(sys._getframe(1))
        called = real.name()
        role = Role.LEAF if called == LEAF else Role.OPERATION
        found = GradNode(
            real.node_ptr(),
            "leaf" if role is Role.LEAF else name or snake(called),
            role,
            parents
            if parents is not None
            else [None if each is None else self.nodes[each.node_ptr()] for each in real.next_functions],
            frame.f_code,
            frame.f_lineno,
            unknown=parents is None and role is Role.OPERATION,
        )
        self.nodes[found.address] = found
        return found

    def _unknown(self, real: Any) -> list[Any]:
        """The nodes without an entry that ``real`` leads to, inputs before what was made of them; no recursion."""
        order: list[Any] = []
        done: set[int] = set()
        todo = [real]
        while todo:
            each = todo[-1]
            wait = [
                other
                for other in each.next_functions
                if other is not None and other.node_ptr() not in done and other.node_ptr() not in self.nodes
            ]
            if wait:
                todo += wait
                continue
            todo.pop()
            if each.node_ptr() not in done:
                done.add(each.node_ptr())
                order.append(each)
        return order


def _tensor_gone(books: weakref.ref[Books], key: int, ref: Any) -> None:
    alive = books()
    if alive is not None and key in alive.notes and alive.notes[key].ref is ref:
        del alive.notes[key]
