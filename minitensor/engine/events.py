"""Events that the engine emits to a listener.

Only one listener is set at a time; a :class:`Subscription` forwards each event to the listener before it. The listener
is called with the event's kind and arguments, and should keep no tensor alive longer than it needs to. Without a
listener, an operation pays one attribute test (about 15 ns). A listener may be removed during an event; one that
receives an operation's first event receives all events of that operation.

====================  ==========================================================================================
kind                  arguments
====================  ==========================================================================================
``"alloc"``           storage
``"free"``            storage (being freed; only its identity and size may be used)
``"make"``            tensor, op name, inputs: a normal operation made a tensor on a new storage
``"view"``            tensor, op name, inputs: a view made a tensor on an existing storage
``"write"``           tensor, op name, inputs, where: an in-place operation wrote through this tensor; ``where`` is
                      None for all of it, else the array that was written (setitem), or an advanced index
``"taken"``           storage, savers, patch: emitted just before a ``"write"`` that overwrote bytes saved by ``savers``
                      (pairs of a node and a position in its ``saved``); ``patch`` preserves the bytes, or is None.
                      One write may emit several
``"meta"``            tensor, op name, inputs: an in-place operation changed shape and strides only
``"refused"``         error, reason, op name, tensor, ...: an in-place operation is about to raise the error and has
                      written nothing of the tensor; ``reason`` is the name of the function in
                      :mod:`minitensor.engine.core.errors` that made it, followed by the arguments of that function
``"stale"``           error, reason, node, what, saved: a backward is about to raise the error, because ``what`` the
                      node saved has been written
``"start"``           node, gradient array: backward begins here
``"hooked"``          node, gradient array, answer: a hook was called with the gradient that arrived at ``node``;
                      ``answer`` is the tensor whose numbers replace it, or None
``"enter"``           node, incoming gradient array: its rules are about to run (and may find a stale value)
``"visit"``           node, incoming gradient array, list of (parent node, gradient array for it)
``"left"``            node: its saved values have been freed, unless the graph is retained
``"flight"``          bytes: by how much the memory of unfinished gradients has grown (negative: shrunk)
``"block"``           event, a :class:`~minitensor.engine.device.memory_log.MemoryEvent`: the allocator of a GPU
                      handed out or freed a block or a segment, or ran out of memory
``"leaf"``            leaf node, gradient tensor that it now holds
====================  ==========================================================================================
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any, TypeVar

Maker = TypeVar("Maker", bound=Callable[..., Exception])
Passing = TypeVar("Passing", bound=Callable[..., Any])


class Watch:
    """The current listener, or None."""

    __slots__ = ("listener",)

    def __init__(self) -> None:
        self.listener: Callable[..., None] | None = None


watch = Watch()

#: Packages whose functions observe the program; the search for an operation's caller skips them. Each adds itself.
watching: set[str] = set()

#: Single functions that run between an event and its observers; that search skips them, too.
skipped_in_tracebacks: set[CodeType] = set()


def skip_in_tracebacks(function: Passing) -> Passing:
    """Add a function to :data:`skipped_in_tracebacks`."""
    skipped_in_tracebacks.add(function.__code__)
    return function


@contextmanager
def listening(listener: Callable[..., None]) -> Iterator[None]:
    """Call ``listener(kind, *arguments)`` for every event inside the ``with`` block; the previous gets none."""
    before, watch.listener = watch.listener, listener
    try:
        yield
    finally:
        watch.listener = before
        _remove_closed()


def _remove_closed() -> None:
    """Remove the last listener if it is closed: it could not be removed while another listener was set above it."""
    while isinstance(last := getattr(watch.listener, "__self__", None), Subscription) and not last._open:
        watch.listener = last._before  # still set, so that a closed listener forwards the rest of the current event


class Subscription:
    """A listener that forwards each event to the previous listener. It opens once.

    Several may be open, and they close in any order. If one of them raises, it receives no more events, and ``close``
    issues a warning; the program continues.
    """

    failure = ""  # an error as text: the error itself would refer to frames, and they to tensors
    _before: Callable[..., None] | None = None
    _open = _used = False

    def on_event(self, kind: str, *arguments: Any) -> None:
        """Handle an event. Subclasses define it."""
        raise NotImplementedError

    def open(self) -> None:
        """Listen from now on.

        Raises:
            RuntimeError: it has been opened before.
        """
        if self._used:
            raise RuntimeError(f"a {type(self).__name__} is opened once; make another one")
        self._before, watch.listener = watch.listener, self._receive
        self._open = self._used = True

    def close(self) -> None:
        """Stop listening. Other listeners are not affected."""
        self._open = False
        _remove_closed()
        if self.failure:
            message = f"{type(self).__name__} stopped before its end ({self.failure})."
            warnings.warn(message, RuntimeWarning, stacklevel=3)

    @skip_in_tracebacks
    def _receive(self, kind: str, *arguments: Any) -> None:
        if self._before is not None:
            self._before(kind, *arguments)
        if not self._open:
            return
        try:
            self.on_event(kind, *arguments)
        except RecursionError:
            raise  # the program's own error: its calls have used up the stack
        except Exception as failure:
            self.failure = f"{type(failure).__name__}: {failure}"
            self._open = False


def emits(kind: str) -> Callable[[Maker], Maker]:
    """Have a function that makes an error emit it: ``listener(kind, error, name of the function, *arguments)``."""

    def decorate(make: Maker) -> Maker:
        @functools.wraps(make)
        def making(*arguments: Any, **named: Any) -> Exception:
            error = make(*arguments, **named)
            # One maker of errors may call another, which has emitted the error already.
            if watch.listener is not None and not hasattr(error, "_emitted"):
                error._emitted = True  # type: ignore[attr-defined]  # a mark of the engine's
                watch.listener(kind, error, make.__name__, *arguments)
            return error

        return making  # type: ignore[return-value]  # it has the signature of `make`

    return decorate
