"""The kinds of changes in a step, from which the sentences are written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memory_stage.messages import Text

if TYPE_CHECKING:
    from memory_stage.model.covers import Cover
    from memory_stage.model.entries import NodeEntry, SaveEntry, StorageEntry, TensorEntry


#: The operation of a write that emitted no event and was found by comparing versions.
UNREPORTED_WRITE = "an update"


@dataclass(eq=False)
class Allocated:
    """A storage was allocated."""

    storage: StorageEntry


@dataclass(eq=False)
class StorageFreed:
    """A storage was freed."""

    storage: StorageEntry


@dataclass(eq=False)
class TensorFreed:
    """A tensor was freed."""

    tensor: TensorEntry


@dataclass(eq=False)
class Operated:
    """A change made by an operation.

    Attributes:
        op: its name in the engine; empty if no operation emitted an event.
        word: its name in sentences, if that differs from ``op``.
        at: the instruction in the program and the expressions there, if they are known.
    """

    op: str
    word: str = field(default="", kw_only=True)
    at: tuple[int, int, tuple[str, ...]] | None = field(default=None, kw_only=True)

    @property
    def called(self) -> str:
        """The name of the operation in sentences."""
        return self.word or self.op


@dataclass(eq=False)
class Made(Operated):
    """A normal operation made a tensor on a new storage."""

    tensor: TensorEntry
    inputs: list[TensorEntry]
    node: NodeEntry | None = None


@dataclass(eq=False)
class Viewed(Operated):
    """A view made a tensor on an existing storage."""

    tensor: TensorEntry
    base: TensorEntry | None
    same_group: bool
    node: NodeEntry | None = None  # of a custom layer, whose call gives its result a history


@dataclass(eq=False)
class BytesPreserved:
    """Saved bytes were copied just before a write, or by an earlier write.

    A node that existed before the first step is represented by the name of its operation.
    """

    savers: list[NodeEntry | str] = field(default_factory=list)  # nodes whose bytes were copied
    idle: list[NodeEntry | str] = field(default_factory=list)  # nodes whose bytes had been copied before
    nbytes: int = 0  # copied for this write
    storages: list[StorageEntry] = field(default_factory=list)  # of the copies


@dataclass(eq=False)
class Wrote(Operated):
    """An in-place operation wrote."""

    tensor: TensorEntry
    storage: StorageEntry
    before: int  # version
    cover: Cover
    victims: list[SaveEntry]  # saved tensors that became stale
    preserved: BytesPreserved | None  # under "copy_on_write", if the write covers saved cells
    spared: list[SaveEntry]  # under "copy_on_write": still valid, in cells that the write did not cover
    wanted_gradient: bool  # before the write
    node: NodeEntry | None = None
    own: list[StorageEntry] = field(default_factory=list)  # copies or marks of its input that the operation saved
    recording: bool = True  # True if gradients were recorded
    reads: list[TensorEntry] = field(default_factory=list)  # other tensors that it read
    taken: list[SaveEntry] = field(default_factory=list)  # overwritten, without a version that backward compares


@dataclass(eq=False)
class Reshaped(Operated):
    """An in-place operation changed shape and strides only."""

    tensor: TensorEntry
    old: dict[str, Any]


@dataclass(eq=False)
class Moved(Operated):
    """A tensor moved to another storage; ``op`` is empty if no operation emitted an event."""

    tensor: TensorEntry
    old: dict[str, Any]  # its shape, strides and so on before
    left: StorageEntry


@dataclass(eq=False)
class Unversioned(Operated):
    """Memory was written and no version changed; ``op`` is empty if numpy or another library wrote it."""

    tensor: TensorEntry | None  # the written tensor; None if numpy or another library wrote the memory
    storage: StorageEntry
    cover: Cover
    used: list[SaveEntry]  # saved tensors with these cells, which backward will use although they have changed
    checked: bool  # True if backward will raise: ``check_foreign_writes`` has copies of all of them


@dataclass(eq=False)
class Asked:
    """The program has read ``.grad`` of a tensor that has none because it is not a leaf."""

    tensor: TensorEntry


@dataclass(eq=False)
class Unseen:
    """The program does something that is not recorded."""

    text: Text  # a sentence with the reason


@dataclass(eq=False)
class Elsewhere:
    """Another thread, whose steps are not recorded, made a storage or wrote to it."""

    storage: StorageEntry
    before: int | None  # version; None if the thread made the storage
    version: int  # after the write
    victims: list[SaveEntry]  # saved tensors that became stale


@dataclass(eq=False)
class Refused:
    """The engine refused an operation, or a saved tensor, and raises."""

    reason: str  # the function in ``errors`` that made the error


@dataclass(eq=False)
class Named:
    """A name was bound to a tensor."""

    name: str
    tensor: TensorEntry
    before: TensorEntry | None  # the tensor that the name referred to before


@dataclass(eq=False)
class Unnamed:
    """A name was deleted, or refers to no tensor now."""

    name: str
    tensor: TensorEntry


@dataclass(eq=False)
class Started:
    """Backward started."""

    label: Text  # the name of the state at which it starts; empty if the trace does not show it
    gradient: str


@dataclass(eq=False)
class Sent:
    """A gradient that a node passed on."""

    to: NodeEntry | None
    label: Text  # the name of the state whose gradient it is; empty if the trace does not show it
    text: str
    total: str  # the sum of the gradients that have arrived there so far


@dataclass(eq=False)
class Passed:
    """Backward passed through a node."""

    node: NodeEntry | None
    op: str
    gradient: str  # the gradient that it received; empty if the sentence of an earlier step has it
    sent: list[Sent]
    done: bool = False  # True once its backward function has run
    seen: bool = True  # True if the gradients that it sends are known
    reshapes: bool = False  # True if these have another shape than the gradient that it received


@dataclass(eq=False)
class Collected:
    """A leaf received its gradient."""

    leaf: str  # its name; empty if it has none
    gradient: str
    storage: StorageEntry


@dataclass(eq=False)
class Called:
    """A function of the notebook was called."""

    function: str  # with its class: ``Net.forward``


@dataclass(eq=False)
class Returned:
    """A function of the notebook returned to this statement, or yielded."""

    function: str  # with its class
    may_go_on: bool = False  # True for a generator, which may be suspended
    since: int = 0  # the step in which it began or resumed
    value: TensorEntry | None = None  # its result, if that is a tensor
    inside: list[TensorEntry] = field(default_factory=list)  # the tensors in its result


@dataclass(eq=False)
class Resumed:
    """A generator of the notebook resumed."""

    function: str  # with its class
    place: str  # the function and its number, as sentences append them to its local names
    names: dict[str, TensorEntry]  # its local names for tensors when it was suspended


@dataclass(eq=False)
class HookReturned:
    """A hook of the program was called with a gradient in backward."""

    of: Text  # the name of the state with this gradient; empty if the trace does not show it
    given: str
    answer: str  # its result; empty if it returned None, so that backward uses the given gradient
    storage: StorageEntry | None = None  # of the result
    itself: bool = False  # True if the hook got the gradient itself and not a copy
    now: str = ""  # the gradient after the hook, if the hook wrote into it
