"""The protocol of an engine: the questions that the recorder asks about tensors, storages and nodes.

An engine that answers these questions and emits the events of :mod:`memory_stage.engines.events` can be recorded. The
ledger (:mod:`memory_stage.model`) keeps identities, texts and weak references of the answers, and reads none of them.

* **No answer has a side effect.** It updates no view, creates no node, allocates nothing that a meter counts,
  increments no version and keeps nothing alive. If a property of a tensor does one of these, no answer reads it.
* A tensor is an object of the program, so the recorder uses its ``id`` and a weak reference. Storages and nodes are
  handles that only the engine understands. While a storage or node lives, all its handles have the same
  :meth:`Engine.key`, and :meth:`Engine.weak` returns a weak reference to it.
* Positions and strides are counted in **cells**, the elements of the storage; sizes in bytes; versions in writes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager
from enum import Enum
from types import FrameType
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from memory_stage.engines.events import Listener, Node, Storage, Tensor

Key: TypeAlias = Hashable

#: The in-place policies of minitensor (a test compares them), and the default.
POLICIES = ("2.5", "2.6", "copy_on_write")
DEFAULT_POLICY = "2.6"


# ---------- answers ----------


class CellLayout(NamedTuple):
    """The cells of a tensor: shape, strides and offset, in cells."""

    shape: list[int]
    strides: list[int]
    offset: int


class Elements(NamedTuple):
    """The layout of a tensor in its own elements, if these have another size than the cells; ``itemsize`` in bytes."""

    shape: list[int]
    strides: list[int]
    offset: int
    itemsize: int


class StorageView(NamedTuple):
    """A tensor's view of its storage.

    Attributes:
        dtype: its name, as ``float32``.
        wants_gradient: True if its value has a node.
        leaf: True if that is the node of a leaf, or there is no node; False for a view of a leaf.
        elements: None, unless its elements have another size than the cells. Then ``layout`` has the cells that contain
            the elements.
    """

    layout: CellLayout
    dtype: str
    wants_gradient: bool
    leaf: bool
    elements: Elements | None = None


class StorageInfo(NamedTuple):
    """The memory of a storage.

    Attributes:
        length: the number of cells.
        itemsize: bytes of a cell.
        nbytes: bytes of all cells.
        counted: bytes that the meter counts: 0 for borrowed memory, and more than ``nbytes`` if an allocator rounds.
        version: the number of its writes.
        gpu: the meter of its GPU; None for host memory.
    """

    length: int
    itemsize: int
    nbytes: int
    counted: int
    dtype: str
    version: int
    gpu: GpuMeter | None


class Counters(Protocol):
    """The counters of a GPU's allocator, in bytes."""

    @property
    def allocated(self) -> int:
        """Allocated and not yet freed."""

    @property
    def reserved(self) -> int:
        """Reserved by the allocator, in use or not."""


class GpuMeter(Protocol):
    """The meter of a GPU; every answer has the same object."""

    @property
    def name(self) -> str:
        """``gpu:0``, as the user calls the device."""

    def counters(self) -> Counters:
        """Return the counters now."""


class Role(Enum):
    """The role of a node in the graph."""

    LEAF = "a value that the program began with"
    OPERATION = "what an operation made"
    READ = "the part that a view shows of its group's value"
    WRITE = "a group's value after a write through a view of part of it; its parents: the value before, the new part"
    RESHAPED = "what a leaf was before its shape was changed without being recorded"


class Saved(NamedTuple):
    """A tensor that a node saved for backward.

    Attributes:
        position: its position among the saved values; it stays the same as long as the node lives.
        what: its name in the rule: a parameter, or ``out``.
        storage: its storage when it was saved.
        version: the version of that storage at that time.
        marks: True if the saved tensor is a mask: one bit for each element instead of the elements.
        inferred: True if the engine cannot observe it and infers it from the operation.
    """

    position: int
    what: str
    storage: Storage
    layout: CellLayout
    version: int
    marks: bool
    inferred: bool = False


class SavedTensorState(Enum):
    """The present state of a saved tensor. Backward raises an error for the last two."""

    RELEASED = "backward is done with it"
    RIGHT = "as it was"
    TAKEN = "overwritten, and backward reads the new bytes: it compares no version of this"
    APART = "as it was, and no write can reach it any more: all of it was copied"
    MOVED = "its bytes are as they were, and the version of its storage is not: backward refuses it all the same"
    LOST = "overwritten"


class Copied(NamedTuple):
    """A copy of bytes of a saved tensor, preserved before a write.

    Attributes:
        layout: the layout of the copy in ``storage``.
        ranges: the first and the last cell of each preserved range of the original storage; None if ``storage`` has
            replaced that storage.
    """

    storage: Storage
    layout: CellLayout
    ranges: list[tuple[int, int]] | None


class PreservedBytes(Protocol):
    """Bytes preserved by one write: ``storages[0]`` has the values, and further storages have their positions."""

    @property
    def nbytes(self) -> int:
        """The bytes of all its storages."""

    @property
    def storages(self) -> Sequence[Storage]:
        """The storages that contain the bytes."""


class NotRecordable(Exception):
    """An imported framework cannot be recorded; the text is a sentence with the reason."""


class EngineSubscription(Protocol):
    """A subscription to the events of an engine, open or closed."""

    def open(self) -> None:
        """Emit events from now on."""

    def close(self) -> None:
        """Emit no further event. Other subscriptions are not affected."""


# ---------- questions ----------


class Engine(Protocol):
    """An engine of tensors. Its methods are called in any thread, at any moment, with living objects."""

    # ----- the engine -----

    def listen(self, emit: Listener) -> EngineSubscription:
        """Return a subscription of ``emit``, not open yet. An error in ``emit`` ends it, and never the program."""

    @property
    def has_framework(self) -> bool:
        """True if it records tensors of a library other than minitensor."""

    def discover_frameworks(self) -> None:
        """Add the frameworks that the program has imported since the last call. It is called before each statement."""

    def policy(self, name: str) -> AbstractContextManager[Any]:
        """Set the in-place policy for the block; an engine with one rule does nothing."""

    def current_policy(self) -> str:
        """Return the policy in force; of an engine with one rule, :data:`DEFAULT_POLICY`."""

    def same_random_numbers(self) -> AbstractContextManager[Any]:
        """Restore the random generators at the end of the block."""

    def allocated(self) -> int:
        """Return the bytes allocated in host memory."""

    def gpus(self) -> list[GpuMeter]:
        """Return the meters of all GPUs in use."""

    # ----- tensors -----

    def is_tensor(self, value: Any) -> bool:
        """True if a value is a tensor of this engine."""

    def is_shown(self, value: Any) -> bool:
        """True for a tensor of the program; False for a tensor that an operation made of a number."""

    def storage_view(self, x: Tensor) -> StorageView:
        """Return the tensor's view of its storage."""

    def storage(self, x: Tensor) -> Storage:
        """Return its storage, or its version counter if it shares memory and counts versions separately."""

    def version(self, x: Tensor) -> int:
        """Return the version of :meth:`storage`."""

    def group(self, x: Tensor) -> Key | None:
        """Return the key of the views that share its history, itself included; None while it has no views."""

    def stamp(self, x: Tensor) -> Any:
        """Return a value that is equal to an earlier one as long as all other answers are the same."""

    def node(self, x: Tensor) -> Node | None:
        """Return the node of its value; for an outdated view that of its group; None if it requires no gradient."""

    def gradient(self, x: Tensor) -> Tensor | None:
        """Return its gradient; None if backward has not computed one."""

    def preserves(self, x: Tensor) -> bool:
        """True if a write through it would first copy the bytes that nodes still need."""

    def records(self, x: Tensor) -> bool:
        """True if operations on it are recorded for backward now."""

    def has_other_names(self, x: Tensor) -> bool:
        """True if the program may call its operations by other names than events do: ``mul_`` for ``multiply_``."""

    def other_name(self, op: str) -> str:
        """Return the other vocabulary's name of the operation that events call ``op``."""

    def has_name(self, x: Tensor, name: str) -> bool:
        """True if the vocabulary of ``x`` has a method, a property or a function of that name."""

    def is_other_vocabulary(self, frame: FrameType) -> bool:
        """True if a frame of the engine runs code of the other vocabulary."""

    def is_inside(self, frame: FrameType) -> bool:
        """True if a frame belongs to the engine or a library that it uses, and not to the program."""

    def array(self, x: Tensor) -> Any:
        """Return its elements as an array, if possible without copying them."""

    def slots(self, value: Any) -> Iterable[tuple[str, Tensor, int, Tensor]] | None:
        """Return the slots of an optimizer: name, parameter, its number, tensor. None if it is not an optimizer."""

    # ----- storages -----

    def owns(self, thing: Any) -> bool:
        """True if a storage or a node belongs to this engine."""

    def key(self, thing: Storage | Node) -> Key:
        """Return the identity of a storage or a node while it lives."""

    def weak(self, thing: Storage | Node, on_freed: Callable[[Any], None]) -> Callable[[], Any]:
        """Return a weak reference to a storage or a node; ``on_freed`` is called with it when that is freed."""

    def below(self, storage: Storage) -> Storage | None:
        """Return the storage below a separate version counter; None for any other storage."""

    def block(self, storage: Storage) -> StorageInfo:
        """Return the properties of its memory."""

    def freed(self, storage: Storage) -> int:
        """Return the bytes that the host's meter has subtracted for it; called on its ``Free``."""

    def freed_on_gpu(self, storage: Storage) -> tuple[GpuMeter, int] | None:
        """Return its GPU's meter and the bytes that this subtracts; called on its ``Free``. None on the host."""

    def numbers(self, storage: Storage, cells: Iterable[int]) -> list[Any]:
        """Return the values of some cells as Python numbers."""

    def writer(self, storage: Storage, version: int) -> str:
        """Return the operation that wrote this version; empty if it is unknown."""

    # ----- writes -----

    def written(self, x: Tensor, where: Any) -> CellLayout | np.ndarray:
        """Return the cells that a write through ``x`` covered: a layout, or the sorted numbers of the cells."""

    def nodes_of_write(self, x: Tensor) -> list[tuple[Node, bool]]:
        """Return the nodes of the new value after a write, the node of the view group before the tensor's own.

        Each comes with True if it is the value of only a part of the group's memory.
        """

    # ----- nodes -----

    def role(self, node: Node) -> Role:
        """Return its role."""

    def name(self, node: Node) -> str:
        """Return the name of its operation, or ``leaf``."""

    def parents(self, node: Node) -> Sequence[Node | None]:
        """Return the nodes of its inputs; None for an input that requires no gradient."""

    def moves_only(self, node: Node) -> bool:
        """True if its operation only moves the values of its parents, as a view does."""

    def place(self, node: Node) -> tuple[Any, int]:
        """Return the code object that called its operation, and the line."""

    def saved(self, node: Node) -> list[Saved] | None:
        """Return the tensors that it saved; None if they are unknown. Called right after the event of its operation."""

    def indices(self, node: Node) -> list[Storage]:
        """Return the storages of indices that it saved."""

    def saved_state(self, node: Node, position: int) -> SavedTensorState:
        """Return the state of the tensor that it saved at ``position``."""

    def is_released(self, node: Node) -> bool:
        """True if backward has released all that it saved."""

    def copies(self, node: Node, position: int, storage: Storage) -> list[Copied]:
        """Return the copies of overwritten bytes that it saved from ``storage`` at ``position``, the oldest first."""

    def is_checked(self, node: Node, position: int) -> bool:
        """True if backward compares the tensor at ``position`` with a copy, to find foreign writes."""

    def elements(self, gradient: Any) -> np.ndarray:
        """Return a gradient as a numpy array, copied if it is on a GPU."""

    # ----- shared memory -----

    def shared_storages(self) -> list[Storage]:
        """Return the storages that other libraries can write."""

    def when_shared(self, notify: Callable[[Storage], None]) -> Callable[[], None]:
        """Call ``notify`` with each storage that becomes shared; the returned function unsubscribes."""

    def storage_behind(self, array: np.ndarray) -> Storage | None:
        """Return the shared storage whose cells a numpy array contains; None if there is none, or its cells differ."""

    def storage_view_of_array(self, storage: Storage, array: np.ndarray) -> StorageView:
        """Return the array's view of the storage."""

    def bits(self, storage: Storage) -> np.ndarray | None:
        """Return its cells as unsigned integers, without copying; None if it is empty or on a GPU."""
