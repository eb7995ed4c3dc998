"""What the engine tells whoever is watching.

One listener at a time may be set; a :class:`Hearing` hands on to the one before it. It is called with what has just
happened and keeps no tensor alive unless it wants to. With no listener an operation pays one attribute test (about 15
ns). A listener may go while it is told something: of one operation, whoever is told the first event is told the rest.

====================  ==========================================================================================
kind                  arguments
====================  ==========================================================================================
``"alloc"``           storage
``"free"``            storage (on its way out; only its identity and size may be used)
``"make"``            tensor, op name, inputs: a normal operation made a tensor on a new storage
``"view"``            tensor, op name, inputs: a view made a tensor on an old storage
``"write"``           tensor, op name, inputs, where: an in-place operation wrote through this tensor; ``where`` is
                      None for all of it, else the array that was written (setitem), or an advanced index
``"taken"``           storage, savers, patch: just before its ``"write"``, which took bytes that these had saved (pairs
                      of a node and a position in its ``saved``); ``patch`` preserves them, or is None. More than one
                      may come for one write
``"meta"``            tensor, op name, inputs: an in-place operation changed shape and strides only
``"refused"``         error, reason, op name, tensor, ...: an in-place operation is about to raise it and has written
                      nothing of the tensor; ``reason`` is the name of the function in :mod:`minitensor.core.errors`
                      that made it, and the rest what that was given
``"stale"``           error, reason, node, what, saved: a backward is about to raise it, because ``what`` the node saved
                      has been written
``"start"``           node, gradient array: backward begins here
``"hooked"``          node, gradient array, answer: a hook was given the gradient that has come at ``node``;
                      ``answer`` is the tensor whose numbers go on in its place, or None
``"enter"``           node, incoming gradient array: its rules are about to run (and may find something stale)
``"visit"``           node, incoming gradient array, list of (parent node, gradient array for it)
``"left"``            node: what it saved has been let go, unless the graph is retained
``"flight"``          bytes: how many more (or fewer) the gradients on their way take
``"block"``           event, a :class:`~minitensor.device.memory_log.MemoryEvent`: the allocator of a GPU gave or took
                      back a block or a segment, or ran out of memory
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
    """Holds the listener, or None."""

    __slots__ = ("listener",)

    def __init__(self) -> None:
        self.listener: Callable[..., None] | None = None


watch = Watch()

#: The packages whose functions watch the program: who asks which operation runs passes over them. Each adds itself.
watching: set[str] = set()

#: Single functions that run on the way from an event to those who watch: they are passed over, too.
passing_on: set[CodeType] = set()


def passes_on(function: Passing) -> Passing:
    """Declare a function to be one of :data:`passing_on`."""
    passing_on.add(function.__code__)
    return function


@contextmanager
def listening(listener: Callable[..., None]) -> Iterator[None]:
    """Call ``listener(kind, *arguments)`` for every event inside the ``with`` block, and whoever listened before it
    not at all.
    """
    before, watch.listener = watch.listener, listener
    try:
        yield
    finally:
        watch.listener = before
        _leave_out_closed()


def _leave_out_closed() -> None:
    """Whoever listens last is open: one that was closed while another listened above it goes now."""
    while isinstance(last := getattr(watch.listener, "__self__", None), Hearing) and not last._open:
        watch.listener = last._before  # it leads there still, for the rest of what it is being told


class Hearing:
    """A listener that hands each event on to whoever listened before it. It opens once.

    Several may be open, and close in any order. What goes wrong in one of them ends its hearing, and a warning says so
    when it is closed; the program runs on.
    """

    failure = ""  # what went wrong in here, in words: an error would lead to frames, and they to tensors
    _before: Callable[..., None] | None = None
    _open = _used = False

    def hear(self, kind: str, *arguments: Any) -> None:
        """What has happened. To be defined."""
        raise NotImplementedError

    def open(self) -> None:
        """Listen from now on.

        Raises:
            RuntimeError: it has been opened before.
        """
        if self._used:
            raise RuntimeError(f"a {type(self).__name__} is opened once; make another one")
        self._before, watch.listener = watch.listener, self._heard
        self._open = self._used = True

    def close(self) -> None:
        """Listen no more. The others go on."""
        self._open = False
        _leave_out_closed()
        if self.failure:
            told = f"{type(self).__name__} stopped before its end ({self.failure})."
            warnings.warn(told, RuntimeWarning, stacklevel=3)

    @passes_on
    def _heard(self, kind: str, *arguments: Any) -> None:
        if self._before is not None:
            self._before(kind, *arguments)
        if not self._open:
            return
        try:
            self.hear(kind, *arguments)
        except RecursionError:
            raise  # the program's own: its calls have used up the stack
        except Exception as failure:
            self.failure = f"{type(failure).__name__}: {failure}"
            self._open = False


def telling(kind: str) -> Callable[[Maker], Maker]:
    """Have a function that makes an error tell it: ``listener(kind, error, name of the function, *arguments)``."""

    def told(make: Maker) -> Maker:
        @functools.wraps(make)
        def making(*arguments: Any, **named: Any) -> Exception:
            error = make(*arguments, **named)
            if watch.listener is not None and not hasattr(error, "_told"):
                error._told = True  # type: ignore[attr-defined]  # a maker of errors may call another, which has told it already
                watch.listener(kind, error, make.__name__, *arguments)
            return error

        return making  # type: ignore[return-value]  # it takes and gives what `make` does

    return told
