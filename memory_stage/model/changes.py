"""What happened in one step, in the order in which it happened: what the sentences are written from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memory_stage.model.covers import Cover
    from memory_stage.model.entries import NodeEntry, SaveEntry, StorageEntry, TensorEntry


#: In place of the name of an operation, where a write was found and none was told.
UNTOLD = "an update"


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
class Operated:
    """An operation did something.

    ``op`` is what the engine calls it; empty where no operation told. ``word`` is what a sentence calls it, if that is
    another name, and ``at`` the place in the program and what stands there, where that is known.
    """

    op: str
    word: str = field(default="", kw_only=True)
    at: tuple[int, int, tuple[str, ...]] | None = field(default=None, kw_only=True)

    @property
    def called(self) -> str:
        """What a sentence calls the operation."""
        return self.word or self.op


@dataclass(eq=False)
class Made(Operated):
    """A normal operation made a tensor on a new storage."""

    tensor: TensorEntry
    inputs: list[TensorEntry]
    node: NodeEntry | None = None


@dataclass(eq=False)
class Viewed(Operated):
    """A view made a tensor on an old storage."""

    tensor: TensorEntry
    base: TensorEntry | None
    same_group: bool
    node: NodeEntry | None = None  # of a layer written by hand, which gives its result a history


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
class Wrote(Operated):
    """An in-place operation wrote."""

    tensor: TensorEntry
    storage: StorageEntry
    before: int  # version
    cover: Cover
    victims: list[SaveEntry]  # what became stale
    preserved: Preserved | None  # under "copy_on_write", when the write covers what somebody saved
    spared: list[SaveEntry]  # under "copy_on_write": saved before, right still, in cells that the write left alone
    wanted_gradient: bool  # before the write
    node: NodeEntry | None = None
    own: list[StorageEntry] = field(default_factory=list)  # what the operation kept of its input: a copy, or marks
    recording: bool = True  # whether gradients were recorded
    reads: list[TensorEntry] = field(default_factory=list)  # other tensors that it read
    taken: list[SaveEntry] = field(default_factory=list)  # overwritten, and backward compares no version of them


@dataclass(eq=False)
class Reshaped(Operated):
    """An in-place operation changed shape and strides only."""

    tensor: TensorEntry
    old: dict[str, Any]


@dataclass(eq=False)
class Moved(Operated):
    """A tensor went to another storage; ``op`` is empty when no operation told of it."""

    tensor: TensorEntry
    old: dict[str, Any]  # how it looked
    left: StorageEntry


@dataclass(eq=False)
class Unversioned(Operated):
    """Memory was written and no version tells; ``op`` is empty when numpy or another library did it."""

    tensor: TensorEntry | None  # through which it was written; None when numpy or another library did it
    storage: StorageEntry
    cover: Cover
    used: list[SaveEntry]  # what was saved of these cells and is held to be right still
    checked: bool  # whether backward will find out: ``check_foreign_writes`` noted all of them


@dataclass(eq=False)
class Asked:
    """The program has asked for the gradient of a tensor that keeps none: it is no leaf."""

    tensor: TensorEntry


@dataclass(eq=False)
class Unseen:
    """The program does something that is not recorded."""

    text: str  # what, and why: a sentence


@dataclass(eq=False)
class Elsewhere:
    """Another thread, whose steps are not shown, made a storage or wrote it."""

    storage: StorageEntry
    before: int | None  # version; None where it made the storage
    version: int  # that it made last
    victims: list[SaveEntry]  # what became stale


@dataclass(eq=False)
class Refused:
    """The engine refused an operation, or a saved tensor, and raises."""

    reason: str  # the function in ``errors`` that made the error


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
    gradient: str  # what came in; empty when an earlier step told it
    sent: list[Sent]
    done: bool = False  # whether its rules have run
    seen: bool = True  # whether it is known what it sends
    reshapes: bool = False  # whether what it sends has another shape than what came in


@dataclass(eq=False)
class Collected:
    """A gradient was left at a leaf."""

    leaf: str  # its name; empty when it has none
    gradient: str
    storage: StorageEntry


@dataclass(eq=False)
class Called:
    """A function of the notebook was entered."""

    function: str  # with its class: ``Net.forward``


@dataclass(eq=False)
class Returned:
    """A function of the notebook came back to this statement."""

    function: str  # with its class
    may_go_on: bool = False  # a generator, which may only wait
    since: int = 0  # the step in which it began, or went on
    value: TensorEntry | None = None  # what it returned or yielded, when that is a tensor
    inside: list[TensorEntry] = field(default_factory=list)  # the tensors in what it returned or yielded


@dataclass(eq=False)
class Resumed:
    """A generator of the notebook goes on where it waited."""

    function: str  # with its class
    place: str  # what its local names are told to be in
    names: dict[str, TensorEntry]  # its local names for tensors, as they were when it came to wait


@dataclass(eq=False)
class Hooked:
    """A hook of the program was given a gradient in backward."""

    of: str  # the state whose gradient it is, as a sentence names it; empty when the trace does not know it
    given: str
    answer: str  # empty when it answered None: backward goes on with what it was given
    storage: StorageEntry | None = None  # of the answer
    itself: bool = False  # whether it was given the gradient itself, and not a copy
    now: str = ""  # what the gradient is since, where the hook has written into it
