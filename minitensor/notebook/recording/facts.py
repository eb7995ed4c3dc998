"""What happened in one step, in the order in which it happened: what the sentences are written from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minitensor.notebook.recording.cells import Run
    from minitensor.notebook.recording.entries import NodeEntry, SaveEntry, StorageEntry, TensorEntry
    from minitensor.notebook.recording.hooks import Statement
    from minitensor.notebook.recording.ledger import Ledger


@dataclass(eq=False)
class Allocated:
    """A storage came to be."""

    storage: StorageEntry


@dataclass(eq=False)
class StorageFreed:
    """A storage went."""

    storage: StorageEntry


@dataclass(eq=False)
class TensorFreed:
    """A tensor went."""

    tensor: TensorEntry


@dataclass(eq=False)
class Made:
    """A normal operation made a tensor on a new storage."""

    op: str
    tensor: TensorEntry
    inputs: list[TensorEntry]
    node: NodeEntry | None = None


@dataclass(eq=False)
class Viewed:
    """A view made a tensor on an old storage."""

    op: str
    tensor: TensorEntry
    base: TensorEntry | None
    same_family: bool


@dataclass(eq=False)
class Preserved:
    """Just before a write, bytes that savers still need were copied, or had been before.

    A saver that was recorded before the first step is told by the name of its operation.
    """

    savers: list[NodeEntry | str] = field(default_factory=list)  # for whom bytes were copied
    idle: list[NodeEntry | str] = field(default_factory=list)  # for whom that was done before
    nbytes: int = 0  # copied now
    storages: list[StorageEntry] = field(default_factory=list)  # of the copies


@dataclass(eq=False)
class Wrote:
    """An in-place operation wrote."""

    op: str
    tensor: TensorEntry
    storage: StorageEntry
    before: int  # version
    count: int  # cells
    runs: list[Run]
    exact: bool  # whether the runs hold no cell that was not written
    victims: list[SaveEntry]  # what became stale
    preserved: Preserved | None  # under "copy_on_write", when the write covers what somebody saved
    spared: list[SaveEntry]  # under "copy_on_write": saved before, right still, in cells that the write left alone
    wanted_gradient: bool  # before the write
    node: NodeEntry | None = None
    own: list[StorageEntry] = field(default_factory=list)  # what the operation kept of its input: a copy, or marks


@dataclass(eq=False)
class Relaid:
    """An in-place operation changed shape and strides only."""

    op: str
    tensor: TensorEntry
    old: dict[str, Any]


@dataclass(eq=False)
class Named:
    """A name was bound to a tensor."""

    name: str
    tensor: TensorEntry
    before: TensorEntry | None  # what the name stood for


@dataclass(eq=False)
class Unnamed:
    """A name went."""

    name: str
    tensor: TensorEntry


@dataclass(eq=False)
class Started:
    """Backward starts."""

    label: str  # of the state it starts at, as a sentence names it; empty when the trace does not know it
    gradient: str


@dataclass(eq=False)
class Sent:
    """A gradient that a node passed on."""

    to: NodeEntry | None
    label: str  # of the state it is for, as a sentence names it; empty for a value that the trace does not know
    text: str
    total: str  # the sum of what has arrived there so far


@dataclass(eq=False)
class Passed:
    """Backward passed through a node."""

    node: NodeEntry | None
    op: str
    gradient: str  # what came in
    sent: list[Sent]


@dataclass(eq=False)
class Collected:
    """A gradient was left at a leaf."""

    node: NodeEntry | None
    gradient: str
    storage: StorageEntry

    @property
    def names(self) -> str:
        """``x.grad``; empty when the leaf has no name."""
        members = self.node.state.family.members.values() if self.node is not None else ()
        return next((f"{entry.names[0]}.grad" for entry in members if entry.names), "")


@dataclass(eq=False)
class Called:
    """A function of the notebook was entered."""

    function: str


@dataclass(eq=False)
class Returned:
    """A function of the notebook came back to this statement."""

    function: str


@dataclass
class Done:
    """A step that is over."""

    statement: Statement
    line: int
    phase: str
    partly: bool  # the statement goes on
    facts: list[Any]
    printed: bool
    error: BaseException | None
    node: NodeEntry | None
    told: str  # the sentence of the step before
    ledger: Ledger
    events: list[dict[str, Any]]

    def all(self, *kinds: type) -> list[Any]:
        """The facts of some kinds, in order."""
        return [fact for fact in self.facts if isinstance(fact, kinds)]
