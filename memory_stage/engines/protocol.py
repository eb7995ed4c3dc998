"""What the recorder asks of an engine: one protocol, for whoever computes with tensors and has backward.

An engine that answers these questions and emits the events of :mod:`memory_stage.engines.events` can be recorded. The
ledger (:mod:`memory_stage.model`) keeps identities, texts and weak references of the answers, and reads none of them.

* **No answer has an effect.** It brings no view up to date, makes no node, allocates nothing that a meter counts,
  raises no version and keeps nothing alive. So a property of a tensor that does more answers no question.
* A tensor is an object of the program: it is known by ``id`` and referred to by ``weakref``. Storages and nodes are
  handles that only the engine understands; two handles of one thing have the same :meth:`Engine.key` while it lives,
  and are referred to by :meth:`Engine.weak`.
* Positions and strides are counted in **cells**, which are elements of the storage; sizes in bytes; versions in writes.
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

#: The in-place policies of minitensor (a test compares them), and the one in force unless a program sets another.
POLICIES = ("2.5", "2.6", "copy_on_write")
DEFAULT_POLICY = "2.6"


# ---------- answers ----------


class CellLayout(NamedTuple):
    """Which cells of a storage are meant, and in which order; in cells."""

    shape: list[int]
    strides: list[int]
    offset: int


class Elements(NamedTuple):
    """How a tensor counts in its own elements, which have another size than the cells; ``itemsize`` in bytes."""

    shape: list[int]
    strides: list[int]
    offset: int
    itemsize: int


class Look(NamedTuple):
    """How a tensor looks at its storage.

    Attributes:
        dtype: its name, as ``float32``.
        wants_gradient: whether its value has a node.
        leaf: whether that is what the program began with, or there is none; False for a view of a leaf.
        elements: where these have another size than the cells: ``layout`` then says which cells they are, or are parts
            of. Else None.
    """

    layout: CellLayout
    dtype: str
    wants_gradient: bool
    leaf: bool
    elements: Elements | None = None


class StorageInfo(NamedTuple):
    """The memory of a storage.

    Attributes:
        length: in cells.
        itemsize: bytes of a cell.
        nbytes: of all of it.
        counted: what the meter counts for it: none where another lent the memory, more where a GPU's allocator rounds.
        version: how many writes it has seen.
        gpu: the meter of the GPU that it lies on; None for the computer's own memory.
    """

    length: int
    itemsize: int
    nbytes: int
    counted: int
    dtype: str
    version: int
    gpu: GpuMeter | None


class Counters(Protocol):
    """What a GPU's allocator says, in bytes."""

    @property
    def allocated(self) -> int:
        """Asked for and not yet given back."""

    @property
    def reserved(self) -> int:
        """Held by the allocator, in use or not."""


class GpuMeter(Protocol):
    """The meter of a GPU; the same object each time that it is asked for."""

    @property
    def name(self) -> str:
        """``gpu:0``, as the user calls the device."""

    def counters(self) -> Counters:
        """What it says now."""


class Role(Enum):
    """What a node stands for."""

    LEAF = "a value that the program began with"
    OPERATION = "what an operation made"
    READ = "the part that a view shows of its group's value"
    WRITE = "a group's value after a write through a view of part of it; its parents: the value before, the new part"
    RESHAPED = "what a leaf was before its shape was changed without being recorded"


class Saved(NamedTuple):
    """A tensor that a node keeps for backward.

    Attributes:
        position: which of what the node saved; it stays the same as long as the node lives.
        what: the rule's word for it: the name of a parameter, or ``out``.
        storage: where its bytes lay when they were saved.
        version: of that storage, then.
        marks: whether it is one bit for each element, and not the elements.
        inferred: whether the engine cannot see it, and has it from what is known of the operation.
    """

    position: int
    what: str
    storage: Storage
    layout: CellLayout
    version: int
    marks: bool
    inferred: bool = False


class Fate(Enum):
    """What became of a saved tensor. Backward raises on the last two."""

    RELEASED = "backward is done with it"
    RIGHT = "as it was"
    TAKEN = "overwritten, and backward reads the new bytes: it compares no version of this"
    APART = "as it was, and no write can reach it any more: all of it was copied"
    MOVED = "its bytes are as they were, and the version of its storage is not: backward refuses it all the same"
    LOST = "overwritten"


class Copied(NamedTuple):
    """Where bytes of a saved tensor are, that were preserved before a write.

    Attributes:
        layout: in ``storage``.
        ranges: the first and the last cell of each stretch of the storage that was saved from; None: all of them, and
            ``storage`` has taken its place.
    """

    storage: Storage
    layout: CellLayout
    ranges: list[tuple[int, int]] | None


class PreservedBytes(Protocol):
    """Bytes preserved by one write: ``storages[0]`` has the values; others, if any, the notes of where they belong."""

    @property
    def nbytes(self) -> int:
        """Of all its storages."""

    @property
    def storages(self) -> Sequence[Storage]:
        """Those that count the bytes."""


class NotRecordable(Exception):
    """A framework that is there cannot be recorded; the text says why, as a sentence."""


class EngineSubscription(Protocol):
    """A subscription to the events of an engine, open or closed."""

    def open(self) -> None:
        """Emit events from now on."""

    def close(self) -> None:
        """Emit no further event. Other subscriptions are not affected."""


# ---------- questions ----------


class Engine(Protocol):
    """Whoever computes. Each question is asked of things that are alive, in any thread, at any moment."""

    # ----- of the whole -----

    def listen(self, emit: Listener) -> EngineSubscription:
        """Return a subscription of ``emit``, not open yet. An error in ``emit`` ends it, and never the program."""

    @property
    def has_framework(self) -> bool:
        """Whether tensors of another library than this package are recorded."""

    def arrive(self) -> None:
        """Asked before each statement: what the program has imported since may take part from now on."""

    def policy(self, name: str) -> AbstractContextManager[Any]:
        """Inside, writes that take what backward needs are treated by this rule; whoever has one rule keeps to it."""

    def current_policy(self) -> str:
        """Return the policy in force; of an engine with one rule, :data:`DEFAULT_POLICY`."""

    def same_random_numbers(self) -> AbstractContextManager[Any]:
        """Inside, random numbers may be drawn; afterwards the next ones are those that were the next before."""

    def allocated(self) -> int:
        """Bytes allocated in the computer's own memory, now."""

    def gpus(self) -> list[GpuMeter]:
        """The meters of all GPUs there are, now."""

    # ----- of tensors -----

    def is_tensor(self, value: Any) -> bool:
        """Whether a value is a tensor of this engine."""

    def is_shown(self, value: Any) -> bool:
        """Whether it is one, and not a number that an operation took for one."""

    def look(self, x: Tensor) -> Look:
        """How it looks at its storage."""

    def storage(self, x: Tensor) -> Storage:
        """Its storage; or, where it counts versions of its own over the memory of another, that counter."""

    def version(self, x: Tensor) -> int:
        """The version of :meth:`storage`."""

    def group(self, x: Tensor) -> Key | None:
        """The views that share its history, itself among them; None while it has no views."""

    def stamp(self, x: Tensor) -> Any:
        """Equal to an earlier one as long as nothing here would be answered otherwise."""

    def node(self, x: Tensor) -> Node | None:
        """The node of the value it shows; for a view that is out of date, its group's. None: no gradient is wanted."""

    def gradient(self, x: Tensor) -> Tensor | None:
        """What ``.grad`` would give, as far as it is there."""

    def preserves(self, x: Tensor) -> bool:
        """Whether a write through it, made now, copies first what others still need of the bytes."""

    def records(self, x: Tensor) -> bool:
        """Whether gradients of what is done with it are recorded now."""

    def spells_otherwise(self, x: Tensor) -> bool:
        """Whether the program may call its operations by other names than events do, as ``mul_`` for ``multiply_``."""

    def spelled(self, op: str) -> str:
        """What that other vocabulary calls the operation that events call ``op``."""

    def has_name(self, x: Tensor, name: str) -> bool:
        """Whether the vocabulary of ``x`` has a method, a property or a function of that name."""

    def is_otherwise(self, frame: FrameType) -> bool:
        """Whether a frame of the engine's own runs code of that other vocabulary."""

    def is_inside(self, frame: FrameType) -> bool:
        """Whether a frame is the engine's own, or of what it is made with, and not the program's."""

    def array(self, x: Tensor) -> Any:
        """Its elements where they lie, as a gradient is given."""

    def slots(self, value: Any) -> Iterable[tuple[str, Tensor, int, Tensor]] | None:
        """What an optimizer keeps: name of the slot, parameter, its number, tensor. None for what is no optimizer."""

    # ----- of storages -----

    def is_own(self, thing: Any) -> bool:
        """Whether a storage or a node is of this engine."""

    def key(self, thing: Storage | Node) -> Key:
        """The identity of a storage or a node, while it lives."""

    def weak(self, thing: Storage | Node, gone: Callable[[Any], None]) -> Callable[[], Any]:
        """Gives the thing while it lives, then None; ``gone(this)`` is called at its end."""

    def below(self, storage: Storage) -> Storage | None:
        """Of a counter of versions over the memory of another storage, that one; else None."""

    def block(self, storage: Storage) -> StorageInfo:
        """Its memory."""

    def freed(self, storage: Storage) -> int:
        """On its ``free``: bytes that the computer's own meter has just taken off."""

    def freed_there(self, storage: Storage) -> tuple[GpuMeter, int] | None:
        """On its ``free``: of what lies on a GPU, its meter, and the bytes that this takes off."""

    def numbers(self, storage: Storage, cells: Iterable[int]) -> list[Any]:
        """The values of some cells, as Python's numbers."""

    def writer(self, storage: Storage, version: int) -> str:
        """The operation that made this version; empty where that is not known."""

    # ----- of writes -----

    def written(self, x: Tensor, where: Any) -> CellLayout | np.ndarray:
        """What a write through ``x`` covered: a layout, or the numbers of the cells, rising, each once."""

    def nodes_of_write(self, x: Tensor) -> list[tuple[Node, bool]]:
        """After a write: the nodes of the new value, the group's before the tensor's own.

        With each: whether it is the value of a part of the group's memory only.
        """

    # ----- of nodes -----

    def role(self, node: Node) -> Role:
        """What it stands for."""

    def name(self, node: Node) -> str:
        """The name of its operation; ``leaf``."""

    def parents(self, node: Node) -> Sequence[Node | None]:
        """The nodes of its inputs; None where an input wants no gradient."""

    def moves_only(self, node: Node) -> bool:
        """Whether its value is that of its parents in other places, as of a view."""

    def place(self, node: Node) -> tuple[Any, int]:
        """The code object that called its operation, and the line."""

    def saved(self, node: Node) -> list[Saved] | None:
        """The tensors that it keeps; None where that is not known. Asked as soon as its operation has been told of."""

    def indices(self, node: Node) -> list[Storage]:
        """Where indices lie that it keeps."""

    def fate(self, node: Node, position: int) -> Fate:
        """What became of what it saved there."""

    def is_released(self, node: Node) -> bool:
        """Whether backward is done with all that it saved."""

    def copies(self, node: Node, position: int, storage: Storage) -> list[Copied]:
        """Where the bytes are now that it saved there from ``storage`` and that writes have taken, the oldest first."""

    def is_checked(self, node: Node, position: int) -> bool:
        """Whether backward compares what it saved there with a copy, and raises when the outside has written it."""

    def elements(self, gradient: Any) -> np.ndarray:
        """A gradient as an array of numpy, copied where it lies on a GPU."""

    # ----- of memory that is shared with numpy and others -----

    def shared_storages(self) -> list[Storage]:
        """Those that the outside can write now."""

    def when_shared(self, tell: Callable[[Storage], None]) -> Callable[[], None]:
        """Have ``tell`` called with each storage that the outside gets to know; what is returned ends that."""

    def storage_behind(self, array: np.ndarray) -> Storage | None:
        """The shared storage whose cells a numpy array shows; None where there is none, or its cells are others."""

    def look_of_array(self, storage: Storage, array: np.ndarray) -> Look:
        """How that array looks at it."""

    def bits(self, storage: Storage) -> np.ndarray | None:
        """Its cells where they lie, as unsigned integers; None where it has none, or lies on a GPU."""
