"""The kinds of changes in a step, from which the sentences are written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memory_stage.messages import Text, message

if TYPE_CHECKING:
    from memory_stage.model.covers import Cover
    from memory_stage.model.entries import NodeEntry, SaveEntry, StorageEntry, TensorEntry


AN_UPDATE = message("an update")
#: The operation of a write that emitted no event and was found because a version had changed.
UNREPORTED_WRITE = str(AN_UPDATE)


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
        op: the operation's name in the engine; empty if no operation emitted an event.
        word: the operation's name in sentences, if that differs from ``op``.
        at: the place of the operation, in the form of ``operation_names.Place``; None if unknown.
    """

    op: str
    word: str = field(default="", kw_only=True)
    at: tuple[int, int, tuple[str, ...]] | None = field(default=None, kw_only=True)

    @property
    def called(self) -> str:
        """The name of the operation for sentences."""
        return self.word or self.op


@dataclass(eq=False)
class Made(Operated):
    """A normal operation made a tensor on a new storage or on borrowed memory."""

    tensor: TensorEntry
    inputs: list[TensorEntry]
    node: NodeEntry | None = None


@dataclass(eq=False)
class Viewed(Operated):
    """A view made a tensor on an existing storage."""

    tensor: TensorEntry
    base: TensorEntry | None
    same_group: bool
    node: NodeEntry | None = None  # the node of the call, if the call of a custom function made the view


@dataclass(eq=False)
class BytesPreserved:
    """A write overwrites saved bytes that the engine copied before: for this write, or already for an earlier one.

    A node that was created before the first step is represented by the name of its operation.
    """

    savers: list[NodeEntry | str] = field(default_factory=list)  # nodes whose saved bytes this write copied
    idle: list[NodeEntry | str] = field(default_factory=list)  # nodes whose saved bytes an earlier write had copied
    nbytes: int = 0  # the bytes that were copied for this write
    storages: list[StorageEntry] = field(default_factory=list)  # the storages of the copies


@dataclass(eq=False)
class Wrote(Operated):
    """An in-place operation overwrote memory."""

    tensor: TensorEntry
    storage: StorageEntry
    before: int  # the version before the write
    cover: Cover
    victims: list[SaveEntry]  # saved tensors that became stale
    preserved: BytesPreserved | None  # set under "copy_on_write", if the write covers saved cells
    spared: list[SaveEntry]  # under "copy_on_write": saved tensors on this storage whose cells the write did not cover
    wanted_gradient: bool  # True if the tensor required a gradient before the write
    node: NodeEntry | None = None
    own: list[StorageEntry] = field(default_factory=list)  # new storages: copies and masks that the operation saved
    recording: bool = True  # True if the grad mode was on
    reads: list[TensorEntry] = field(default_factory=list)  # other tensors that the operation read
    # overwritten saved tensors that backward() uses without comparing versions
    taken: list[SaveEntry] = field(default_factory=list)


@dataclass(eq=False)
class Reshaped(Operated):
    """An in-place operation changed shape and strides only."""

    tensor: TensorEntry
    old: dict[str, Any]


@dataclass(eq=False)
class Moved(Operated):
    """A tensor moved to another storage; ``op`` is empty if no operation emitted an event."""

    tensor: TensorEntry
    old: dict[str, Any]  # the former shape, strides and so on
    left: StorageEntry


@dataclass(eq=False)
class Unversioned(Operated):
    """Memory was written and no version changed; ``op`` is empty if numpy or another library wrote it."""

    tensor: TensorEntry | None  # the written tensor; None if numpy or another library wrote the memory
    storage: StorageEntry
    cover: Cover
    used: list[SaveEntry]  # saved tensors in these cells, which backward will use although the cells have changed
    checked: bool  # True if ``check_foreign_writes`` has copies of all tensors in ``used``, so that backward will raise


@dataclass(eq=False)
class Asked:
    """The program read ``.grad`` of a tensor and got None, because the tensor is not a leaf."""

    tensor: TensorEntry


@dataclass(eq=False)
class Unseen:
    """The program does something that is not recorded."""

    text: Text  # a sentence that says what is not recorded, and why


@dataclass(eq=False)
class Elsewhere:
    """Another thread, whose steps are not recorded, made a storage or wrote to it."""

    storage: StorageEntry
    before: int | None  # the version before the write; None if the thread made the storage
    version: int  # the version after the write
    victims: list[SaveEntry]  # saved tensors that became stale


@dataclass(eq=False)
class Refused:
    """The engine raised an error because it refuses an operation or the use of a saved tensor."""

    reason: str  # the name of the function in ``errors`` that made the error


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

    label: Text  # the name of the memory state at which backward starts; empty if the trace does not show the state
    gradient: str


@dataclass(eq=False)
class Sent:
    """A gradient that a node passed on."""

    to: NodeEntry | None
    label: Text  # the name of the memory state whose gradient this is; empty if the trace does not show the state
    text: str
    total: str  # the sum of all gradients that have arrived at this state so far


@dataclass(eq=False)
class Passed:
    """Backward passed through a node."""

    node: NodeEntry | None
    op: str
    gradient: str  # the gradient that the node received; empty if the sentence of an earlier step contains it
    sent: list[Sent]
    done: bool = False  # True once the node's backward function has run
    seen: bool = True  # True if the gradients that the node sends are known
    reshapes: bool = False  # True if the gradients that the node sends have another shape than the one that it received


@dataclass(eq=False)
class Collected:
    """The gradient of a leaf was stored."""

    leaf: str  # the name of the leaf; empty if it has none
    gradient: str
    storage: StorageEntry


@dataclass(eq=False)
class Called:
    """A recorded function was called."""

    function: str  # the function's name; for a method, with its class: ``Net.forward``


@dataclass(eq=False)
class Returned:
    """A recorded function returned to this statement, or yielded."""

    function: str  # the function's name; for a method, with its class
    is_generator: bool = False  # True for a generator, which may be suspended and not finished
    since: int = 0  # the step in which the function began or resumed
    value: TensorEntry | None = None  # the function's result, if that is a tensor
    inside: list[TensorEntry] = field(default_factory=list)  # the tensors in the function's result


@dataclass(eq=False)
class Resumed:
    """A recorded generator resumed."""

    function: str  # the function's name; for a method, with its class
    place: str  # ``f``, or ``f (2)`` for the second running call of the function ``f``
    names: dict[str, TensorEntry]  # the generator's local names for tensors when it was suspended


@dataclass(eq=False)
class HookReturned:
    """A hook of the program was called with a gradient in backward."""

    of: Text  # the state, view or layer whose gradient this is; empty if the trace does not show it
    given: str
    answer: str  # the hook's result; empty if it returned None, so that backward uses the given gradient
    storage: StorageEntry | None = None  # the storage of the hook's result
    itself: bool = False  # True if the hook got the gradient itself and not a copy
    now: str = ""  # the gradient after the hook, if the hook wrote into it
