"""Entries of a recording for storages, tensors, groups, memory states, nodes and saved tensors.

Entries contain ids, texts and weak references. They never refer to an object of the program strongly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from memory_stage.engines.protocol import Key, Node
from memory_stage.messages import Text, message
from memory_stage.model.compound_names import without_function
from memory_stage.trace import cells
from memory_stage.trace.cells import Raster

Event = dict[str, Any]


@dataclass(eq=False)
class StorageEntry:
    """A storage that the trace shows."""

    id: str
    length: int
    nbytes: int
    version: int
    event: Event
    step: int  # the step that made the storage; -1 if it existed before the first step
    counted: int = 0  # the bytes of the storage that the meter counts
    #: The entry of the storage, if this entry is only another version counter for it; None if this entry is a storage.
    over: StorageEntry | None = None
    ref: Any = None  # a weak reference to the version counter, if this entry is one
    seen_by_tensor: bool = False
    freed: bool = False
    aliases: dict[int, TensorEntry] = field(default_factory=dict)  # tensors and numpy arrays on the storage, by id
    groups: list[ViewGroup] = field(default_factory=list)  # groups that have had tensors on the storage
    saves: list[SaveEntry] = field(default_factory=list)  # tensors on the storage that were saved for backward
    known: set[int] = field(default_factory=set)  # the indices of the cells whose values are shown
    #: The writes since the last one that covered the whole storage, each with its cover. Empty if the trace shows all
    #: cells of the storage.
    writes: list[tuple[Event, Any]] = field(default_factory=list)
    raster: Raster | None = None  # the cells whose values are shown as grey levels

    @property
    def root(self) -> StorageEntry:
        """The entry that the trace shows: for a version counter, the entry of its storage; otherwise this entry."""
        return self if self.over is None else self.over

    @property
    def is_small(self) -> bool:
        """True if the trace shows all cells of the storage."""
        return self.length <= cells.SMALL

    @property
    def is_borrowed(self) -> bool:
        """True if numpy or another library owns the memory."""
        return "borrowed" in self.event

    def label(self, text: Text) -> None:
        """Set the text that describes the purpose of a storage without a name.

        At the end of the recording, the recorder renders the text in English.
        """
        self.event["label"] = text


@dataclass(eq=False)
class ViewGroup:
    """Tensors that share one history, and their memory states."""

    id: str
    storage: StorageEntry
    label: str = ""
    key: Key | None = None  # the engine's key, set once the engine has grouped the tensors
    members: dict[int, TensorEntry] = field(default_factory=dict)
    states: dict[int, StateEntry] = field(default_factory=dict)  # the memory states, by version
    shown: tuple[Any, ...] = ()  # the names and states in the group's last event


@dataclass(eq=False)
class StateEntry:
    """The values of a view group at one version of its storage."""

    id: str
    group: ViewGroup
    version: int
    event: Event
    names: list[str] = field(default_factory=list)
    step: int = -1  # the step that made the state
    holders: int = 0  # the number of nodes that made the state or read it
    dropped: bool = False
    gradient: str | None = None  # the gradient that has arrived in backward, as text

    @property
    def label(self) -> Text:
        """The name of the state in sentences: ``a@0``; a message if its tensor has neither a name nor an operation."""
        return self.event["label"]


@dataclass(eq=False)
class TensorEntry:
    """A tensor that the trace shows, or a numpy array that shares the memory of a storage."""

    id: str
    ref: Callable[[], Any]  # a weak reference to the tensor or array
    group: ViewGroup
    properties: dict[str, Any]  # shape, strides, offset, dtype, stop_gradient, leaf: the fields of its event
    op: str = ""  # the operation that made the tensor
    names: list[str] = field(default_factory=list)
    last_name: str = ""
    running_line: str = ""  # "line 5", while only the running line refers to it
    holder: Text = ""  # a phrase for the object that refers to the tensor, while no name and no line does
    was_named: bool = False
    freed: bool = False
    otherwise: bool = False  # True if the program's names of operations differ from those in the engine's events
    run: int = 0  # the number of the statement's execution that made the tensor
    step: int = -1  # the step with the tensor's event; -1 if the tensor existed before the first step
    event: Event = field(default_factory=dict)
    seen: Any = None  # the engine's stamp when the tensor was last compared with this entry
    # the operation that made the tensor, and the states that this operation read; None once the node has an entry
    pending: tuple[str, dict[Key, StateEntry]] | None = None

    @property
    def storage(self) -> StorageEntry:
        """The storage of the tensor's group."""
        return self.group.storage

    @property
    def is_array(self) -> bool:
        """True if this is an array of numpy."""
        return "outside" in self.event

    @property
    def name(self) -> str:
        """The first of the tensor's present names; without one, the name that it lost last, or an empty string."""
        return self.names[0] if self.names else self.last_name

    @property
    def short_name(self) -> str:
        """The name; for a local variable, without the function: ``x`` for ``x in f``."""
        return without_function(self.name)


@dataclass(eq=False)
class NodeEntry:
    """A node of the history; it is drawn if it is an operation that made a memory state."""

    state: StateEntry
    op: str
    line: int
    drawn: str | None  # the node's id in the trace; None if the node is not drawn
    saves: list[SaveEntry] = field(default_factory=list)
    # the states that the operation read, by the keys of the parent nodes
    reads: dict[Key, StateEntry] = field(default_factory=dict)
    of: TensorEntry | None = None  # the first tensor that had the node's value
    ref: Callable[[], Node | None] | None = None
    partial: bool = False  # True if the node's value covers only a part of its group's memory
    # True for the node of one result of a custom function that returned several. The node of the call is drawn in place
    # of the first result's node.
    is_result_of_call: bool = False
    # True for the node of that call. No tensor has the value of this node, because each result has a separate node.
    inner: bool = False
    arrived: Any = None  # the sum of the arrived gradients with few elements, as nested lists; None without any
    dead: bool = False  # True after the node was freed
    word: str = ""  # the operation's name in sentences, if that differs from ``op``
    unknown: bool = False  # True if the engine does not know the saved tensors of the node
    earlier: bool = False  # True if the node was created before the first step, so that no line of the trace made it

    @property
    def called(self) -> str:
        """The name of the operation for sentences."""
        return self.word or self.op


@dataclass(eq=False)
class SaveEntry:
    """A tensor that a node has saved for backward."""

    id: str
    what: Text
    storage: StorageEntry
    version: int
    node: NodeEntry
    state: StateEntry | None = None  # the memory state with the saved values
    of: TensorEntry | None = None  # a tensor on the same storage, if no state is known
    position: int = 0  # the position in the node's list of saved tensors
    #: Empty while backward() can use the saved tensor; "lost" after a write has overwritten some of its bytes; "moved"
    #: if only the version of its storage has changed. For "lost" and "moved", backward() raises an error.
    stale: str = ""
    taken: bool = False  # True if a write has overwritten its bytes and backward() will not notice
    # storages with copies of its bytes; each copy was made before a write
    copies: list[StorageEntry] = field(default_factory=list)
    released: bool = False
    event: Event = field(default_factory=dict)

    @property
    def name(self) -> Text:
        """The name of the saved state or, if no state is known, of a tensor on the same storage; else a phrase."""
        if self.state is not None:
            label = self.state.label
            return label.rpartition("@")[0] if isinstance(label, str) else message("tensor")
        return (self.of.short_name or self.of.op) if self.of is not None else self.what

    @property
    def label(self) -> Text:
        """The name with the version at which it was saved: ``a@0``. A phrase has no version."""
        name = self.name
        return f"{name}@{self.version}" if isinstance(name, str) else name
