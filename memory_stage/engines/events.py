"""Events that an engine emits to the recorder.

An engine emits each event immediately, in the thread that caused it, except for PyTorch's nodes on a GPU, which it
reports at the end of backward. ``op`` is the name by which users call the operation (``add_``). A call that the program
makes is one operation. A gradient has these members of a numpy array: ``shape``, ``ndim``, ``size``, indices,
``item()`` and ``tolist()``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from memory_stage.messages import Text

# Objects of an engine, which ``memory_stage.engines.protocol`` describes.
Tensor: TypeAlias = Any
Storage: TypeAlias = Any
Node: TypeAlias = Any
Gradient: TypeAlias = Any


# ---------- storages ----------


class Alloc(NamedTuple):
    """A storage was created. An engine that cannot observe this emits no ``Alloc``; the recorder then registers the
    storage with its first tensor.
    """

    storage: Storage


class Free(NamedTuple):
    """A storage is about to be freed. ``Engine.freed`` returns its bytes that the meter has already subtracted.

    While the recorder handles this event, it calls only ``Engine.key``, ``Engine.freed`` and ``Engine.freed_on_gpu``
    with the storage.
    """

    storage: Storage


class MeterChange(NamedTuple):
    """The counters of a GPU's meter have changed."""


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
    """An operation overwrote memory through ``tensor`` and incremented the version.

    Attributes:
        where: the second argument for ``Engine.written``, which returns the overwritten cells.
    """

    tensor: Tensor
    op: str
    inputs: tuple[Any, ...]
    where: Any


class UnversionedWrite(NamedTuple):
    """An operation overwrote memory through ``tensor`` without incrementing the version."""

    tensor: Tensor
    op: str
    where: Any


class Overwrite(NamedTuple):
    """A write is about to overwrite saved bytes. One write may emit several of these just before its :class:`Write`.

    Attributes:
        savers: pairs of a node and the position of the overwritten tensor among those that the node saved.
        patch: a :class:`~memory_stage.engines.protocol.PreservedBytes`; None if no bytes were copied.
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
        reason: the key of the sentence in ``memory_stage.sentences.refusals`` that explains the error.
        error: None if the engine does not pass the error on.
    """

    error: BaseException | None
    reason: str


class Discovery(NamedTuple):
    """No event reported the creation of ``tensor``, or its last write.

    An engine emits this event before the events of the operation that uses the tensor.
    """

    tensor: Tensor


# ---------- backward ----------


class StaleRead(NamedTuple):
    """Backward is about to raise ``error``, because a saved tensor has changed.

    Attributes:
        reason: the key of the sentence in ``memory_stage.sentences.refusals`` that explains the error.
        error: None if the engine does not pass the error on.
    """

    error: BaseException | None
    reason: str


class BackwardStart(NamedTuple):
    """Backward starts at ``node``."""

    node: Node
    gradient: Gradient


class HookCall(NamedTuple):
    """A hook of the program was called with ``gradient``, the gradient of the value that ``node`` computed.

    Attributes:
        node: the node whose result the gradient belongs to; None for a hook of a layer.
        answer: the tensor that the hook returned; None if it returned nothing.
        after: the gradient after the call; None if the hook got a copy, which it may overwrite without effect.
        layer: the name of the layer; empty for a hook of a tensor.
    """

    node: Node | None
    gradient: Gradient
    answer: Tensor | None
    after: Gradient | None = None
    layer: str = ""


class NodeEnter(NamedTuple):
    """Backward is about to compute the gradients that ``node`` sends to its parents."""

    node: Node
    gradient: Gradient


class NodeVisit(NamedTuple):
    """Backward has computed the gradients that ``node`` sends to its parents.

    Attributes:
        sent: pairs of a parent node and the gradient for it; None if the engine cannot observe them.
    """

    node: Node
    gradient: Gradient
    sent: Sequence[tuple[Node, Gradient]] | None


class NodeLeave(NamedTuple):
    """Backward has finished ``node`` and, unless the graph is retained, released the tensors that the node saved."""

    node: Node


class LeafGradient(NamedTuple):
    """Backward has stored ``gradient`` as the gradient of the leaf of ``node``."""

    node: Node
    gradient: Tensor


class FlightChange(NamedTuple):
    """Backward has computed or passed on gradients. ``nbytes`` is the change in the size of those not passed on yet.

    An engine that cannot observe these gradients does not emit this event.
    """

    nbytes: int


class GradientRequest(NamedTuple):
    """The program read the gradient of ``tensor`` and got None, because the tensor is not a leaf."""

    tensor: Tensor


# ---------- the recording itself ----------


class Failure(NamedTuple):
    """The engine's observer raised ``error``, so the recording ends. The program continues."""

    error: Exception


class End(NamedTuple):
    """The engine ends the recording; ``reason`` is a sentence or two for the reader."""

    reason: Text


class Compilation(NamedTuple):
    """A framework is about to compile functions of the program from their code objects."""


class Omission(NamedTuple):
    """The recording leaves out a part of the program; ``reason`` is a sentence for the reader."""

    reason: Text


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
    """Ignore the event. This is the listener of a closed subscription."""
