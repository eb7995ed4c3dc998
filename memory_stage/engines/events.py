"""Events that an engine emits to the recorder.

An engine emits an event in the thread and at the moment in which it happens. Every operation has the user's name for it
(``add_``), and one call emits one operation. A gradient is an array with the interface of numpy's (``shape``, ``ndim``,
``size``, indices, ``item()``, ``tolist()``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

# Values of the engine that emits the event: ``memory_stage.engines.protocol`` describes them.
Tensor: TypeAlias = Any
Storage: TypeAlias = Any
Node: TypeAlias = Any
Gradient: TypeAlias = Any


# ---------- storages ----------


class Alloc(NamedTuple):
    """A storage was created. If an engine cannot observe that, the storage is registered with its first tensor."""

    storage: Storage


class Free(NamedTuple):
    """A storage is being freed, and its memory is no longer counted.

    The recorder only calls ``Engine.key``, ``Engine.freed`` and ``Engine.freed_on_gpu`` for it.
    """

    storage: Storage


class MeterChange(NamedTuple):
    """The meter of a GPU has changed."""


# ---------- operations ----------


class Make(NamedTuple):
    """A normal operation created ``tensor`` on a new storage, or on borrowed memory."""

    tensor: Tensor
    op: str
    inputs: tuple[Any, ...]


class MakeView(NamedTuple):
    """A view operation created ``tensor`` on the storage of the first of ``inputs``."""

    tensor: Tensor
    op: str
    inputs: tuple[Any, ...]


class Write(NamedTuple):
    """An operation overwrote memory through ``tensor``, and the version was incremented.

    Attributes:
        where: an argument for ``Engine.written``.
    """

    tensor: Tensor
    op: str
    inputs: tuple[Any, ...]
    where: Any


class UnversionedWrite(NamedTuple):
    """An operation overwrote memory through ``tensor``, and no version was incremented."""

    tensor: Tensor
    op: str
    where: Any


class Overwrite(NamedTuple):
    """A write overwrites saved bytes; emitted just before its :class:`Write`, possibly several times.

    Attributes:
        savers: pairs of a node and a position in the tensors that it saved.
        patch: the preserved bytes, a :class:`~memory_stage.engines.protocol.Patch`; None if they are lost.
    """

    storage: Storage
    savers: list[tuple[Node, int]]
    patch: Any


class Relayout(NamedTuple):
    """An in-place operation changed the shape, strides, dtype or storage of ``tensor`` and overwrote nothing."""

    tensor: Tensor
    op: str
    inputs: tuple[Any, ...]


class Refusal(NamedTuple):
    """An operation is about to raise ``error`` and has written nothing.

    Attributes:
        reason: a key of ``memory_stage.sentences.refusals``.
    """

    error: BaseException | None
    reason: str


class Discovery(NamedTuple):
    """``tensor`` exists, and no event reported its creation; emitted before the operation that uses it."""

    tensor: Tensor


# ---------- backward ----------


class StaleRead(NamedTuple):
    """Backward is about to raise ``error``, because a saved tensor has changed.

    Attributes:
        reason: a key of ``memory_stage.sentences.refusals``.
    """

    error: BaseException | None
    reason: str


class BackwardStart(NamedTuple):
    """Backward starts at ``node``."""

    node: Node
    gradient: Gradient


class HookCall(NamedTuple):
    """A hook of the program was called with the gradient of the value of ``node``.

    Attributes:
        node: None for a hook of a layer.
        answer: the tensor that the hook returned, or None.
        after: the gradient after the call, if the hook got the gradient itself and no copy.
        layer: the name of the layer.
    """

    node: Node | None
    gradient: Gradient
    answer: Tensor | None
    after: Gradient | None = None
    layer: str = ""


class NodeEnter(NamedTuple):
    """The rules of ``node`` are about to run."""

    node: Node
    gradient: Gradient


class NodeVisit(NamedTuple):
    """The rules of ``node`` have run.

    Attributes:
        sent: pairs of a parent node and the gradient for it; None if the engine cannot observe them.
    """

    node: Node
    gradient: Gradient
    sent: Sequence[tuple[Node, Gradient]] | None


class NodeLeave(NamedTuple):
    """The tensors that ``node`` saved have been released, unless the graph is retained."""

    node: Node


class LeafGradient(NamedTuple):
    """A leaf now has ``gradient``."""

    node: Node
    gradient: Tensor


class FlightChange(NamedTuple):
    """Gradients in flight hold ``nbytes`` more (negative: fewer). An engine may be unable to emit this."""

    nbytes: int


class GradientRequest(NamedTuple):
    """The program read the gradient of ``tensor``, which has none, because it is not a leaf."""

    tensor: Tensor


# ---------- the recording itself ----------


class Failure(NamedTuple):
    """The engine's observer raised ``error``: the recording ends, and the program continues."""

    error: Exception


class End(NamedTuple):
    """The recording cannot continue from here; ``reason`` is a sentence or two for the reader."""

    reason: str


class Compilation(NamedTuple):
    """A framework is about to compile functions of the program from their code objects."""


class Omission(NamedTuple):
    """The recording leaves out a part of the program; ``reason`` is a sentence for the reader."""

    reason: str


Event: TypeAlias = (
    Alloc
    | Free
    | MeterChange
    | Make
    | MakeView
    | Write
    | UnversionedWrite
    | Overwrite
    | Relayout
    | Refusal
    | Discovery
    | StaleRead
    | BackwardStart
    | HookCall
    | NodeEnter
    | NodeVisit
    | NodeLeave
    | LeafGradient
    | FlightChange
    | GradientRequest
    | Failure
    | End
    | Compilation
    | Omission
)
Listener: TypeAlias = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Do nothing: the listener of a closed subscription."""
