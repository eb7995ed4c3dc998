"""What a recording knows of each storage, tensor, group, memory state, node and saved tensor.

Entries hold identities, texts and weak references; never an object of the program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from memory_stage.engines.protocol import Key, Node
from memory_stage.trace import cells

Event = dict[str, Any]


@dataclass(eq=False)
class StorageEntry:
    """A storage that the trace shows."""

    id: str
    length: int
    nbytes: int
    version: int
    event: Event
    step: int  # in which it was made; -1 for one that was there before
    counted: int = 0  # of its bytes, those that the meter counts
    #: The storage whose memory this is: itself, unless this is a second counter of versions over the same memory.
    over: StorageEntry | None = None
    ref: Any = None  # a weak reference to that counter
    seen_by_tensor: bool = False
    freed: bool = False
    aliases: dict[int, TensorEntry] = field(default_factory=dict)  # tensors and numpy arrays on it, by id
    groups: list[Group] = field(default_factory=list)  # that ever looked at it
    saves: list[SaveEntry] = field(default_factory=list)  # that were made of it
    known: set[int] = field(default_factory=set)  # cells whose numbers are told
    #: Writes so far, and the cells that each covered. Only for storages that are not shown whole.
    writes: list[tuple[Event, Any]] = field(default_factory=list)

    @property
    def root(self) -> StorageEntry:
        """The storage that the trace shows for this one."""
        return self if self.over is None else self.over

    @property
    def is_small(self) -> bool:
        """Whether each of its cells is shown."""
        return self.length <= cells.SMALL

    @property
    def is_borrowed(self) -> bool:
        """Whether its memory is numpy's, or another library's."""
        return "borrowed" in self.event

    def label(self, text: str) -> None:
        """Say what the storage is for, although no name reaches it."""
        self.event["label"] = text


@dataclass(eq=False)
class Group:
    """Tensors that share one history, and the memory states they have gone through."""

    id: str
    storage: StorageEntry
    label: str = ""
    key: Key | None = None  # the engine's, once it has grouped them
    members: dict[int, TensorEntry] = field(default_factory=dict)
    states: dict[int, StateEntry] = field(default_factory=dict)  # by version
    told: tuple[Any, ...] = ()  # what the last group event said


@dataclass(eq=False)
class StateEntry:
    """The numbers of a group at one version."""

    id: str
    group: Group
    version: int
    event: Event
    names: list[str] = field(default_factory=list)
    step: int = -1  # in which it was made
    holders: int = 0  # nodes whose value it is, or that read it
    dropped: bool = False
    gradient: str | None = None  # what has arrived here in backward

    @property
    def label(self) -> str:
        """What sentences call it."""
        return self.event["label"]


@dataclass(eq=False)
class TensorEntry:
    """A tensor that the trace shows, or a numpy array on the memory of one."""

    id: str
    ref: Callable[[], Any]  # a weak reference
    group: Group
    look: dict[str, Any]
    op: str = ""  # the operation that made it
    names: list[str] = field(default_factory=list)
    last_name: str = ""
    held: str = ""  # "line 5", while only the running line holds it
    holder: str = ""  # who holds it, in words, while no name and no line does
    was_named: bool = False
    freed: bool = False
    otherwise: bool = False  # whether its vocabulary has other names for operations than events have
    run: int = 0  # the execution of a statement that made it
    step: int = -1  # in which it is told; -1 for one that was there before
    event: Event = field(default_factory=dict)
    seen: Any = None  # the engine's stamp of it when it was last looked at
    pending: tuple[str, dict[Key, StateEntry]] | None = None  # op and states read, while its node is not there yet

    @property
    def storage(self) -> StorageEntry:
        """The storage of its group."""
        return self.group.storage

    @property
    def is_array(self) -> bool:
        """Whether it is numpy's."""
        return "outside" in self.event

    @property
    def name(self) -> str:
        """What to call it: a name it has or had, or the operation that made it."""
        return self.names[0] if self.names else self.last_name

    @property
    def short_name(self) -> str:
        """The same, without the function whose local variable it is."""
        return self.name.split(" in ")[0]


@dataclass(eq=False)
class NodeEntry:
    """A value of the history. Drawn when it is an operation that made a memory state."""

    state: StateEntry
    op: str
    line: int
    drawn: str | None  # id in the trace
    saves: list[SaveEntry] = field(default_factory=list)
    reads: dict[Key, StateEntry] = field(default_factory=dict)  # by key of the node that held it, which this one holds
    of: TensorEntry | None = None  # the tensor whose value it was when first seen
    ref: Callable[[], Node | None] | None = None
    partial: bool = False  # the value of a part of its group's memory
    stands: bool = False  # not drawn, and yet all of its state: the first result of a call that is drawn in its place
    inner: bool = False  # no tensor's own: the call of a layer with several outputs, which are drawn in its place
    arrived: Any = None  # the gradient so far, as nested lists of numbers; None when it is long
    dead: bool = False
    word: str = ""  # what sentences call the operation, where that is not ``op``
    unknown: bool = False  # whether the engine does not know what it saved
    earlier: bool = False  # recorded before the first step, by no line of the trace

    @property
    def called(self) -> str:
        """What sentences call the operation."""
        return self.word or self.op


@dataclass(eq=False)
class SaveEntry:
    """A tensor that a node keeps for backward."""

    id: str
    what: str
    storage: StorageEntry
    version: int
    node: NodeEntry
    state: StateEntry | None = None  # whose numbers they are
    of: TensorEntry | None = None  # a tensor on the same storage, when no state is known
    position: int = 0  # in the node's own list of what it saved
    #: "lost" once a write took some of its bytes, "moved" when only the version of its storage moved: in both cases
    #: backward will refuse. Empty while it is right.
    stale: str = ""
    taken: bool = False  # whether a write took its bytes, and backward will not notice
    copies: list[StorageEntry] = field(default_factory=list)  # what was preserved of it before writes
    released: bool = False
    event: Event = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What to call the numbers."""
        if self.state is not None:
            return self.state.label.rpartition("@")[0]
        return (self.of.short_name or self.of.op) if self.of is not None else self.what

    @property
    def label(self) -> str:
        """The name with the version at which they were saved: ``a@0``."""
        return f"{self.name}@{self.version}"
