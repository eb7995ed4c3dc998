"""Entries of a recording for storages, tensors, groups, memory states, nodes and saved tensors.

Entries have identities, texts and weak references, and never refer to an object of the program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from memory_stage.engines.protocol import Key, Node
from memory_stage.messages import Text
from memory_stage.trace import cells
from memory_stage.trace.rasters import Raster

Event = dict[str, Any]


@dataclass(eq=False)
class StorageEntry:
    """A storage that the trace shows."""

    id: str
    length: int
    nbytes: int
    version: int
    event: Event
    step: int  # that made it; -1 if it existed before the first step
    counted: int = 0  # its bytes that the meter counts
    #: The storage with this memory, if this is a second counter of versions over it.
    over: StorageEntry | None = None
    ref: Any = None  # a weak reference to that counter
    seen_by_tensor: bool = False
    freed: bool = False
    aliases: dict[int, TensorEntry] = field(default_factory=dict)  # tensors and numpy arrays on it, by id
    groups: list[ViewGroup] = field(default_factory=list)  # groups that have had tensors on it
    saves: list[SaveEntry] = field(default_factory=list)  # tensors on it that were saved for backward
    known: set[int] = field(default_factory=set)  # cells whose numbers are shown
    #: Writes so far, each with the cells that it covered; empty if all cells of the storage are shown.
    writes: list[tuple[Event, Any]] = field(default_factory=list)
    raster: Raster | None = None  # the cells whose values are shown as grey levels

    @property
    def root(self) -> StorageEntry:
        """The storage that the trace shows for this one."""
        return self if self.over is None else self.over

    @property
    def is_small(self) -> bool:
        """True if each of its cells is shown."""
        return self.length <= cells.SMALL

    @property
    def is_borrowed(self) -> bool:
        """True if numpy or another library owns its memory."""
        return "borrowed" in self.event

    def label(self, text: Text) -> None:
        """Set the text that names the purpose of a storage without a name. The trace gets it as text at its end."""
        self.event["label"] = text


@dataclass(eq=False)
class ViewGroup:
    """Tensors that share one history, and their memory states."""

    id: str
    storage: StorageEntry
    label: str = ""
    key: Key | None = None  # of the engine, once it has grouped them
    members: dict[int, TensorEntry] = field(default_factory=dict)
    states: dict[int, StateEntry] = field(default_factory=dict)  # by version
    shown: tuple[Any, ...] = ()  # names and states in the last group event


@dataclass(eq=False)
class StateEntry:
    """The numbers of a group at one version."""

    id: str
    group: ViewGroup
    version: int
    event: Event
    names: list[str] = field(default_factory=list)
    step: int = -1  # that made it
    holders: int = 0  # nodes that made it or read it
    dropped: bool = False
    gradient: str | None = None  # that has arrived in backward, as a text

    @property
    def label(self) -> str:
        """The text by which sentences name it: ``a@0``."""
        return self.event["label"]


@dataclass(eq=False)
class TensorEntry:
    """A tensor that the trace shows, or a numpy array on the memory of one."""

    id: str
    ref: Callable[[], Any]  # a weak reference
    group: ViewGroup
    look: dict[str, Any]
    op: str = ""  # the operation that made it
    names: list[str] = field(default_factory=list)
    last_name: str = ""
    held: str = ""  # "line 5", while only the running line refers to it
    holder: Text = ""  # the object that refers to it, in words, while no name and no line does
    was_named: bool = False
    freed: bool = False
    otherwise: bool = False  # True if its vocabulary has other names for operations than events have
    run: int = 0  # number of the execution of the statement that made it
    step: int = -1  # with its event; -1 if it existed before the first step
    event: Event = field(default_factory=dict)
    seen: Any = None  # the engine's stamp when it was last compared
    pending: tuple[str, dict[Key, StateEntry]] | None = None  # op and states read, until its node exists

    @property
    def storage(self) -> StorageEntry:
        """The storage of its group."""
        return self.group.storage

    @property
    def is_array(self) -> bool:
        """True if it is an array of numpy."""
        return "outside" in self.event

    @property
    def name(self) -> str:
        """Its first name, or the last name that it had; empty if it never had one."""
        return self.names[0] if self.names else self.last_name

    @property
    def short_name(self) -> str:
        """The name without the function, if it is a local variable."""
        return self.name.split(" in ")[0]


@dataclass(eq=False)
class NodeEntry:
    """A node of the history; it is drawn if it is an operation that made a memory state."""

    state: StateEntry
    op: str
    line: int
    drawn: str | None  # id in the trace
    saves: list[SaveEntry] = field(default_factory=list)
    reads: dict[Key, StateEntry] = field(default_factory=dict)  # by the keys of the parent nodes
    of: TensorEntry | None = None  # the tensor that had its value first
    ref: Callable[[], Node | None] | None = None
    partial: bool = False  # True for the value of a part of its group's memory
    stands: bool = False  # True for the first result of a call: the node of the call is drawn in its place
    inner: bool = False  # True for the call of a layer with several outputs: no tensor has its value
    arrived: Any = None  # the sum of gradients so far, as nested lists of numbers; None if it is long
    dead: bool = False  # True after it was freed
    word: str = ""  # the operation's name in sentences, if that differs from ``op``
    unknown: bool = False  # True if the engine does not know its saved tensors
    earlier: bool = False  # True if it was recorded before the first step, so no line of the trace made it

    @property
    def called(self) -> str:
        """The name of the operation in sentences."""
        return self.word or self.op


@dataclass(eq=False)
class SaveEntry:
    """A tensor that a node has saved for backward."""

    id: str
    what: str
    storage: StorageEntry
    version: int
    node: NodeEntry
    state: StateEntry | None = None  # that had these numbers
    of: TensorEntry | None = None  # a tensor on the same storage, if no state is known
    position: int = 0  # in the node's list of saved tensors
    #: "lost" once a write has overwritten some of its bytes, "moved" if only the version of its storage changed;
    #: backward refuses both. Empty while it is right.
    stale: str = ""
    taken: bool = False  # True if a write has overwritten its bytes and backward will not notice
    copies: list[StorageEntry] = field(default_factory=list)  # of its bytes, made before writes
    released: bool = False
    event: Event = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the saved state or, if no state is known, of a tensor on the same storage."""
        if self.state is not None:
            return self.state.label.rpartition("@")[0]
        return (self.of.short_name or self.of.op) if self.of is not None else self.what

    @property
    def label(self) -> str:
        """The name with the version at which it was saved: ``a@0``."""
        return f"{self.name}@{self.version}"
