"""The protocol of an engine: a method for each question that the recorder asks about tensors, storages and nodes.

An engine that answers these questions and emits the events of :mod:`memory_stage.engines.events` can be recorded. The
ledger (:mod:`memory_stage.model`) stores keys, texts and weak references from the answers and never looks inside a
storage or a node.

* **No answer has a side effect.** A method updates no view, creates no node, allocates nothing that a meter counts,
  increments no version and keeps nothing alive. It reads no property of a tensor if the reading has such an effect.
* A tensor is an object of the program, so the recorder uses its ``id`` and a weak reference. Storages and nodes are
  handles that only the engine understands. While a storage or node lives, :meth:`Engine.key` returns the same key for
  all its handles, and :meth:`Engine.weak` returns a weak reference to it.
* Positions and strides are counted in **cells**, which are the elements of the storage. Sizes are in bytes, and a
  version is a number of writes. If the elements of a tensor have another size than the cells of its storage,
  :func:`in_cells` converts its layout.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager
from enum import Enum
from types import FrameType
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from memory_stage.engines.events import Listener, Node, Storage, Tensor
from memory_stage.messages import Text

Key: TypeAlias = Hashable

#: The in-place policies of minitensor and the default. A test compares them with minitensor's list.
POLICIES = ("2.5", "2.6", "copy_on_write")
DEFAULT_POLICY = "2.6"


# ---------- answers ----------


class CellLayout(NamedTuple):
    """The cells of a tensor, as shape, strides and offset in cells."""

    shape: list[int]
    strides: list[int]
    offset: int


class Elements(NamedTuple):
    """The layout of a tensor in elements, used if elements and cells differ in size. ``itemsize`` is in bytes."""

    shape: list[int]
    strides: list[int]
    offset: int
    itemsize: int


class StorageView(NamedTuple):
    """The way in which a tensor uses its storage.

    Attributes:
        dtype: the name of the dtype, such as ``float32``.
        requires_gradient: True if the tensor requires a gradient, so that its value has a node.
        leaf: True if the tensor is a leaf or has no node; False for a view of a leaf.
        elements: None if elements and cells have the same size. Otherwise this is the layout in elements, and
            ``layout`` has the cells that contain the elements.
    """

    layout: CellLayout
    dtype: str
    requires_gradient: bool
    leaf: bool
    elements: Elements | None = None


class StorageInfo(NamedTuple):
    """The memory of a storage.

    Attributes:
        length: the number of cells.
        itemsize: the bytes of a cell.
        nbytes: the bytes of all cells.
        counted: the bytes that the meter counts: 0 for borrowed memory, more than ``nbytes`` if an allocator rounds up.
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
        """Bytes that are allocated and not yet freed."""

    @property
    def reserved(self) -> int:
        """Bytes that the allocator has reserved, used or not."""


class GpuMeter(Protocol):
    """The meter of a GPU. Every answer contains the same object for one GPU."""

    @property
    def name(self) -> str:
        """``gpu:0``, as the user calls the device."""

    def counters(self) -> Counters:
        """Return the counters now."""


class Role(Enum):
    """The role of a node in the graph."""

    LEAF = "a value that the program began with"
    OPERATION = "the result of an operation"
    READ = "the part of a view group's value that a view shows"
    WRITE = (
        "a view group's value after a write through a view of a part; its parents are the old value and the new part"
    )
    RESHAPED = "a leaf before an unrecorded change of its shape"


class Saved(NamedTuple):
    """A tensor that a node saved for backward.

    Attributes:
        position: the position among the saved values, which stays the same as long as the node lives.
        what: the name in the backward rule: a parameter of the operation, or ``out`` for its result. A phrase for a
            tensor that the rule does not name.
        storage: the tensor's storage when it was saved.
        version: the version of that storage at that time.
        marks: True if the node saved marks, one bit for each element, instead of the elements.
        inferred: True if the engine cannot observe the saved tensor and infers it from the operation.
    """

    position: int
    what: Text
    storage: Storage
    layout: CellLayout
    version: int
    marks: bool
    inferred: bool = False


class SavedTensorState(Enum):
    """The present state of a saved tensor. Backward raises an error in the first and in the last two states."""

    RELEASED = "released by backward"
    RIGHT = "unchanged"
    TAKEN = "overwritten, and backward reads the new bytes because it checks no version"
    APART = "unchanged, and no later write can change it because all of it was copied"
    MOVED = "unchanged, but backward raises an error because the version of its storage has changed"
    LOST = "overwritten, so backward raises an error"


class Copied(NamedTuple):
    """A copy of saved bytes that was made before a write overwrote them.

    Attributes:
        layout: the layout of the copy in ``storage``.
        ranges: the first and the last cell of each copied range of the original storage; None if the copy is of the
            whole storage.
    """

    storage: Storage
    layout: CellLayout
    ranges: list[tuple[int, int]] | None


class PreservedBytes(Protocol):
    """Bytes copied before one write: ``storages[0]`` has the values, and further storages have their positions."""

    @property
    def nbytes(self) -> int:
        """The bytes of all storages in :attr:`storages`."""

    @property
    def storages(self) -> Sequence[Storage]:
        """The storages that contain the copies."""


class NotRecordable(Exception):
    """Raised if an imported framework cannot be recorded; ``sentence`` has the reason, for the reader."""

    def __init__(self, sentence: Text) -> None:
        super().__init__(str(sentence))
        self.sentence = sentence


class EngineSubscription(Protocol):
    """A subscription to the events of an engine. It is not open until :meth:`open` is called."""

    def open(self) -> None:
        """Emit events from now on."""

    def close(self) -> None:
        """Emit no further event. Other subscriptions are not affected."""


# ---------- questions ----------


class Engine(Protocol):
    """An engine of tensors. Its methods may be called in any thread and at any time, with living objects."""

    # ----- the engine -----

    def listen(self, emit: Listener) -> EngineSubscription:
        """Return a subscription that passes events to ``emit`` once open. An error in ``emit`` ends only this one."""

    @property
    def has_framework(self) -> bool:
        """True if the engine records tensors of a library other than minitensor."""

    def discover_frameworks(self) -> None:
        """Add the frameworks imported since the last call. The recorder calls this before each statement."""

    def policy(self, name: str) -> AbstractContextManager[Any]:
        """Set the in-place policy inside the ``with`` block. An engine that has only one policy does nothing."""

    def current_policy(self) -> str:
        """Return the present in-place policy; :data:`DEFAULT_POLICY` for an engine that has only one."""

    def same_random_numbers(self) -> AbstractContextManager[Any]:
        """Restore the random generators to their present state at the end of the ``with`` block."""

    def allocated(self) -> int:
        """Return the bytes allocated in host memory."""

    def gpus(self) -> list[GpuMeter]:
        """Return the meters of all GPUs in use."""

    # ----- tensors -----

    def is_tensor(self, value: Any) -> bool:
        """True if a value is a tensor of this engine."""

    def is_shown(self, value: Any) -> bool:
        """True for a tensor that the program made; False for one that an operation made of a Python number."""

    def storage_view(self, x: Tensor) -> StorageView:
        """Describe how the tensor uses its storage."""

    def storage(self, x: Tensor) -> Storage:
        """Return the storage of ``x``.

        If ``x`` shares the memory of a storage but counts versions separately, return the version counter of ``x``.
        """

    def version(self, x: Tensor) -> int:
        """Return the version of :meth:`storage`."""

    def group(self, x: Tensor) -> Key | None:
        """Return the key of the history that ``x`` shares with its base and views; None if there are no views."""

    def stamp(self, x: Tensor) -> Any:
        """Return a value that changes whenever another answer about ``x`` may have changed."""

    def node(self, x: Tensor) -> Node | None:
        """Return the node of the value of ``x``, or of its group if ``x`` is an outdated view; None without one."""

    def gradient(self, x: Tensor) -> Tensor | None:
        """Return the gradient of ``x``; None if backward has not computed one."""

    def preserves(self, x: Tensor) -> bool:
        """True if a write through ``x`` would first copy the bytes that nodes have saved."""

    def records(self, x: Tensor) -> bool:
        """True if operations on ``x`` are recorded for backward at present."""

    def has_other_names(self, x: Tensor) -> bool:
        """True if the program and the events may name an operation on ``x`` differently: ``mul_``, ``multiply_``."""

    def other_name(self, op: str) -> str:
        """Return the name that the other vocabulary has for the operation ``op``."""

    def has_name(self, x: Tensor, name: str) -> bool:
        """True if the vocabulary of ``x`` has a method, a property or a function of that name."""

    def is_other_vocabulary(self, frame: FrameType) -> bool:
        """True if a frame of the engine runs code of the other vocabulary."""

    def is_library_frame(self, frame: FrameType) -> bool:
        """True if a frame runs code of the engine or of a library that it uses, and not of the program."""

    def array(self, x: Tensor) -> Any:
        """Return the elements of ``x`` as an array, without copying if possible."""

    def slots(self, value: Any) -> Iterable[tuple[str, Tensor, int, Tensor]] | None:
        """Return an optimizer's slots as (slot's name, parameter, its number, tensor); None for other values."""

    # ----- storages -----

    def owns(self, thing: Any) -> bool:
        """True if a storage or a node belongs to this engine."""

    def key(self, thing: Storage | Node) -> Key:
        """Return a key that identifies a storage or a node while it lives."""

    def weak(self, thing: Storage | Node, on_freed: Callable[[Any], None]) -> Callable[[], Any]:
        """Return a weak reference to a storage or a node. When this is freed, ``on_freed`` gets the weak reference."""

    def below(self, storage: Storage) -> Storage | None:
        """Return the storage below a separate version counter; None for any other storage."""

    def block(self, storage: Storage) -> StorageInfo:
        """Describe the memory of a storage."""

    def freed(self, storage: Storage) -> int:
        """Return the bytes that the host's meter has subtracted for a storage. Called while ``Free`` is handled."""

    def freed_on_gpu(self, storage: Storage) -> tuple[GpuMeter, int] | None:
        """Return the GPU's meter and the bytes that it subtracts; None on the host. Called with ``freed``."""

    def numbers(self, storage: Storage, cells: Iterable[int]) -> list[Any]:
        """Return the values of the given cells as Python numbers."""

    def writer(self, storage: Storage, version: int) -> str:
        """Return the name of the operation that wrote this version; an empty string if it is unknown."""

    # ----- writes -----

    def written(self, x: Tensor, where: Any) -> CellLayout | np.ndarray:
        """Return the cells that a write through ``x`` covered, as a layout or as the sorted indices of the cells."""

    def nodes_of_write(self, x: Tensor) -> list[tuple[Node, bool]]:
        """Return the nodes of the new value after a write through ``x``: the node of the view group, then that of
        ``x``.

        The second item of each pair is True if the node's value covers only a part of the group's memory.
        """

    # ----- nodes -----

    def role(self, node: Node) -> Role:
        """Return the role of the node in the graph."""

    def name(self, node: Node) -> str:
        """Return the name of the node's operation, or ``leaf``."""

    def parents(self, node: Node) -> Sequence[Node | None]:
        """Return the nodes of the operation's inputs, with None for an input that requires no gradient."""

    def moves_only(self, node: Node) -> bool:
        """True if the operation only moves the values of its inputs, as a view does."""

    def place(self, node: Node) -> tuple[Any, int]:
        """Return the code object and the line of the program that called the operation."""

    def saved(self, node: Node) -> list[Saved] | None:
        """Return the tensors that the node saved; None if unknown. Called right after the operation's event."""

    def indices(self, node: Node) -> list[Storage]:
        """Return the storages of the index tensors that the node saved."""

    def saved_state(self, node: Node, position: int) -> SavedTensorState:
        """Return the state of the tensor that the node saved at ``position``."""

    def is_released(self, node: Node) -> bool:
        """True if backward has released everything that the node saved."""

    def copies(self, node: Node, position: int, storage: Storage) -> list[Copied]:
        """Return the copies of bytes of ``storage`` that were overwritten after the node saved them, oldest first."""

    def is_checked(self, node: Node, position: int) -> bool:
        """True if backward() compares the saved tensor with a copy, to find writes that no version counts."""

    def elements(self, gradient: Any) -> np.ndarray:
        """Return a gradient as a numpy array. A gradient on a GPU is copied to the host."""

    # ----- shared memory -----

    def shared_storages(self) -> list[Storage]:
        """Return the storages that other libraries can write."""

    def when_shared(self, notify: Callable[[Storage], None]) -> Callable[[], None]:
        """Call ``notify`` with each storage that becomes shared; the returned function unsubscribes."""

    def storage_behind(self, array: np.ndarray) -> Storage | None:
        """Return the shared storage that an array is a view of; None without one, or if the itemsizes differ."""

    def storage_view_of_array(self, storage: Storage, array: np.ndarray) -> StorageView:
        """Describe how the array uses the storage."""

    def bits(self, storage: Storage) -> np.ndarray | None:
        """Return the cells of a storage as unsigned integers, without copying; None if it is empty or on a GPU."""


def in_cells(own: CellLayout, size: int, cell: int) -> CellLayout:
    """Convert a layout in elements of ``size`` bytes to cells of ``cell`` bytes."""
    shape, strides, offset = own
    if size == cell or 0 in shape:
        return own
    if size > cell:
        times = size // cell
        return CellLayout([*shape, times], [*(stride * times for stride in strides), 1], offset * times)
    parts = cell // size
    steps = list(zip(shape, strides, strict=True))
    whole = [(n, stride // parts) for n, stride in steps if stride % parts == 0]
    within = offset % parts + sum((n - 1) * stride for n, stride in steps if stride % parts)
    count = within // parts + 1
    whole += [(count, 1)] if count > 1 or not whole else []
    return CellLayout([n for n, _ in whole], [stride for _, stride in whole], offset // parts)


def numbers_in_cells(numbers: np.ndarray, size: int, cell: int) -> np.ndarray:
    """Return the sorted indices of the cells of ``cell`` bytes that elements of ``size`` bytes occupy.

    Args:
        numbers: the sorted indices of the elements.
    """
    if size > cell:
        times = size // cell
        numbers = (numbers.reshape(-1, 1) * times + np.arange(times)).reshape(-1)
    return np.unique(numbers * size // cell if size < cell else numbers)
