"""What the engine tells whoever is watching.

One listener at a time may be set. It is called with what has just happened and keeps no tensor alive unless it
wants to. With no listener an operation pays one attribute test (about 15 ns).

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
``"refused"``         error, reason, ...: an in-place operation is about to raise it and has written nothing; ``reason``
                      is the name of the function in :mod:`minitensor.errors` that made it
``"stale"``           error, reason, node, what, saved: a backward is about to raise it, because ``what`` the node saved
                      has been written
``"start"``           node, gradient array: backward begins here
``"enter"``           node, incoming gradient array: its rules are about to run (and may find something stale)
``"visit"``           node, incoming gradient array, list of (parent node, gradient array for it)
``"left"``            node: what it saved has been let go, unless the graph is retained
``"flight"``          bytes: how many more (or fewer) the gradients on their way take
``"leaf"``            leaf node, gradient tensor that it now holds
====================  ==========================================================================================
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Maker = TypeVar("Maker", bound=Callable[..., Exception])


class Watch:
    """Holds the listener, or None."""

    __slots__ = ("listener",)

    def __init__(self) -> None:
        self.listener: Callable[..., None] | None = None


watch = Watch()


@contextmanager
def listening(listener: Callable[..., None]) -> Iterator[None]:
    """Call ``listener(kind, *arguments)`` for every event inside the ``with`` block."""
    before, watch.listener = watch.listener, listener
    try:
        yield
    finally:
        watch.listener = before


def telling(kind: str) -> Callable[[Maker], Maker]:
    """Have a function that makes an error tell it: ``listener(kind, error, name of the function, *arguments)``."""

    def told(make: Maker) -> Maker:
        @functools.wraps(make)
        def making(*arguments: Any, **named: Any) -> Exception:
            error = make(*arguments, **named)
            if watch.listener is not None:
                watch.listener(kind, error, make.__name__, *arguments)
            return error

        return making  # type: ignore[return-value]

    return told
