"""Events that the engine emits to a listener.

Each event is a named tuple. There is one current listener, a function that is called with each event. It should keep no
tensor alive longer than necessary. A :class:`Subscription` becomes the current listener and forwards each event to the
listener that it replaced. Without a listener, no event is created, and an operation only tests an attribute (about
15 ns). A listener that receives the first event of an operation receives all events of this operation, even if it is
removed meanwhile.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import Any, NamedTuple, TypeAlias, TypeVar

# The packages that define these classes import this module.
Storage: TypeAlias = Any
Tensor: TypeAlias = Any
Node: TypeAlias = Any
Array: TypeAlias = Any

Maker = TypeVar("Maker", bound=Callable[..., Exception])
Function = TypeVar("Function", bound=Callable[..., Any])


# ---------- storages ----------


class StorageCreated(NamedTuple):
    """A storage was created. The tensor on it, if there is one, is created next."""

    storage: Storage


class StorageReleased(NamedTuple):
    """A storage is being freed; only its identity and size may be used."""

    storage: Storage


class AllocatorChanged(NamedTuple):
    """The allocator of a GPU handed out or freed a block or a segment, or ran out of memory.

    Attributes:
        change: a :class:`~minitensor.engine.device.memory_log.MemoryEvent`.
    """

    change: Any


# ---------- operations ----------


class TensorCreated(NamedTuple):
    """A normal operation, or a function such as ``to_tensor``, created ``tensor`` on a new storage from ``inputs``."""

    tensor: Tensor
    op: str
    inputs: tuple[Any, ...]


class ViewCreated(NamedTuple):
    """A view operation created ``tensor`` on the storage of the first of ``inputs``."""

    tensor: Tensor
    op: str
    inputs: tuple[Any, ...]


class TensorWritten(NamedTuple):
    """An in-place operation wrote through ``tensor``; emitted after the storage's version was increased.

    Attributes:
        where: the written part, as an array or an advanced index; None if the operation wrote all of the tensor.
    """

    tensor: Tensor
    op: str
    inputs: tuple[Any, ...]
    where: Any


class SavedOverwritten(NamedTuple):
    """A write overwrote saved bytes; emitted just before the write's :class:`TensorWritten`, maybe several times.

    Attributes:
        savers: for each overwritten value, the node that saved it and the position of the value in ``node.saved``.
        patch: the bytes that were preserved for this write; None if they are lost, or are in earlier patches.
    """

    storage: Storage
    savers: list[tuple[Node, int]]
    patch: Any


class MetadataChanged(NamedTuple):
    """An in-place operation changed the shape, strides, dtype or storage of ``tensor`` and wrote no bytes."""

    tensor: Tensor
    op: str
    inputs: tuple[Any, ...]


class OperationRefused(NamedTuple):
    """An in-place operation is about to raise ``error`` and has written no element.

    Attributes:
        reason: the name of the function in :mod:`minitensor.engine.core.errors` that created the error.
        arguments: the arguments of that function: the operation, the tensor, and more.
    """

    error: Exception
    reason: str
    arguments: tuple[Any, ...]


# ---------- backward ----------


class BackwardRefused(NamedTuple):
    """Backward is about to raise ``error``, because a saved tensor has been written.

    Attributes:
        reason: the name of the function that created the error.
        arguments: the node, the rule's name for the saved tensor, and the tensor's entry in ``node.saved``.
    """

    error: Exception
    reason: str
    arguments: tuple[Any, ...]


class BackwardStarted(NamedTuple):
    """Backward starts at ``node`` with ``gradient``."""

    node: Node
    gradient: Array


class HookRan(NamedTuple):
    """A hook was called with the gradient that arrived at ``node``.

    Attributes:
        answer: the tensor that the hook returned; its numbers replace the gradient. None if the hook returned None.
    """

    node: Node
    gradient: Array
    answer: Tensor | None


class NodeEntered(NamedTuple):
    """The rules of ``node`` are about to run on ``gradient``, and may find a stale saved tensor."""

    node: Node
    gradient: Array


class NodeVisited(NamedTuple):
    """The rules of ``node`` have run, and their results have been added.

    Attributes:
        sent: pairs of a parent node and the gradient for it.
    """

    node: Node
    gradient: Array
    sent: Sequence[tuple[Node, Array]]


class NodeLeft(NamedTuple):
    """The tensors that ``node`` saved have been freed, unless the graph is retained."""

    node: Node


class FlightChanged(NamedTuple):
    """The memory of unfinished gradients has grown by ``nbytes`` (negative: shrunk)."""

    nbytes: int


class LeafUpdated(NamedTuple):
    """A leaf now has ``gradient``."""

    node: Node
    gradient: Tensor


Event: TypeAlias = (
    StorageCreated
    | StorageReleased
    | AllocatorChanged
    | TensorCreated
    | ViewCreated
    | TensorWritten
    | SavedOverwritten
    | MetadataChanged
    | OperationRefused
    | BackwardRefused
    | BackwardStarted
    | HookRan
    | NodeEntered
    | NodeVisited
    | NodeLeft
    | FlightChanged
    | LeafUpdated
)
Listener: TypeAlias = Callable[[Event], None]


# ---------- listeners ----------


class Watch:
    """The current listener, or None."""

    __slots__ = ("listener",)

    def __init__(self) -> None:
        self.listener: Listener | None = None


watch = Watch()

#: Packages whose functions observe the program. Each package adds its own name. The search for the program's line that
#: called an operation skips frames of these packages.
watching: set[str] = set()

#: Functions of other packages that run between an event and its observers. The same search skips their frames, too.
skipped_in_tracebacks: set[CodeType] = set()


def skip_in_tracebacks(function: Function) -> Function:
    """Decorate a function: add its code to :data:`skipped_in_tracebacks`, and return the function."""
    skipped_in_tracebacks.add(function.__code__)
    return function


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call ``listener(event)`` for every event inside the ``with`` block, instead of the previous listener."""
    before, watch.listener = watch.listener, listener
    try:
        yield
    finally:
        watch.listener = before
        _remove_closed()


def _remove_closed() -> None:
    """Remove the current listener if it is closed, then the one before it, and so on.

    A closed listener remains if one that was set after it is still in use.
    """
    while isinstance(last := getattr(watch.listener, "__self__", None), Subscription) and not last._open:
        # The closed listener keeps its `_before`, so it still forwards an event that it is receiving now.
        watch.listener = last._before


class Subscription:
    """A listener that forwards each event to the previous listener. It can be opened only once.

    Several subscriptions may be open, and may be closed in any order. If ``on_event`` raises an error other than
    RecursionError, the program continues, the subscription receives no more events, and ``close`` issues a warning.
    """

    failure = ""  # a text, because the error itself would keep frames alive, and tensors in them
    _before: Listener | None = None
    _open = _used = False

    def on_event(self, event: Event) -> None:
        """Handle an event. Subclasses define it."""
        raise NotImplementedError

    def open(self) -> None:
        """Begin to receive events; raise RuntimeError if this subscription has been opened before."""
        if self._used:
            raise RuntimeError(f"a {type(self).__name__} is opened once; make another one")
        self._before, watch.listener = watch.listener, self._receive
        self._open = self._used = True

    def close(self) -> None:
        """Stop receiving events. Other listeners are not affected."""
        self._open = False
        _remove_closed()
        if self.failure:
            message = f"{type(self).__name__} stopped before its end ({self.failure})."
            warnings.warn(message, RuntimeWarning, stacklevel=3)

    @skip_in_tracebacks
    def _receive(self, event: Event) -> None:
        if self._before is not None:
            self._before(event)
        if not self._open:
            return
        try:
            self.on_event(event)
        except RecursionError:
            raise  # an error of the program, whose calls have used up the stack
        except Exception as failure:
            self.failure = f"{type(failure).__name__}: {failure}"
            self._open = False


def emits(event: type[OperationRefused] | type[BackwardRefused]) -> Callable[[Maker], Maker]:
    """Decorate a function that creates an error, so that it also emits ``event(error, function name, arguments)``."""

    def decorate(make: Maker) -> Maker:
        @functools.wraps(make)
        def make_and_emit(*arguments: Any, **named: Any) -> Exception:
            error = make(*arguments, **named)
            # If the function got the error from another decorated function, the event has been emitted already.
            if watch.listener is not None and not hasattr(error, "_emitted"):
                error._emitted = True  # type: ignore[attr-defined]  # an attribute that only this function uses
                watch.listener(event(error, make.__name__, arguments))
            return error

        return make_and_emit  # type: ignore[return-value]  # it has the signature of `make`

    return decorate
