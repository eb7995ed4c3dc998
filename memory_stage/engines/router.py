"""Route each question of the recorder to one or all of the engines that a program uses.

* minitensor's own tensors are recorded whenever minitensor is installed.
* A framework is recorded as soon as the program has imported it. The stage never imports it first.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any, TypeVar

import numpy as np

from memory_stage.engines import protocol
from memory_stage.engines.events import Event, Listener, Omission, ignore
from memory_stage.engines.protocol import Engine, Node, Storage, Tensor

#: Maps the module that a program imports to the module of its engine, in which ``engine()`` returns the engine.
#: ``engine()`` raises :class:`NotRecordable` if this version of the framework cannot be recorded.
FRAMEWORKS: dict[str, str] = {
    "paddle": "memory_stage.engines.paddle.engine",
    "torch": "memory_stage.engines.torch.engine",
}

Question = TypeVar("Question", bound=Callable[..., Any])


def has_minitensor() -> bool:
    """Return True if minitensor can be imported. Programs that use only a framework can be recorded without it."""
    found = importlib.util.find_spec("minitensor")
    return found is not None and found.origin is not None


class Subscriptions:
    """Subscriptions of one listener to all engines."""

    def __init__(self, router: Router, emit: Listener) -> None:
        self._router, self._emit = router, emit
        self._each = [engine.listen(emit) for engine in router.engines]
        self._is_open = False

    def open(self) -> None:
        """Open all subscriptions."""
        self._is_open = True
        for each in self._each:
            each.open()

    def close(self) -> None:
        """Close all subscriptions, the last one first. A second call, at the end of a program, does nothing."""
        self._is_open = False
        for each in reversed(self._each):
            each.close()
        self._router.forget(self)
        self._emit = ignore  # breaks a cycle: listener, recorder, this object

    def add(self, engine: Engine) -> None:
        """Subscribe the listener to a further engine."""
        each = engine.listen(self._emit)
        self._each.append(each)
        if self._is_open:
            each.open()

    def emit(self, event: Event) -> None:
        """Emit an event of the router itself."""
        if self._is_open:
            self._emit(event)


def _by_tensor(question: Question) -> Question:
    """Make a method that passes the question to the engine of its first argument, a tensor."""
    name = question.__name__

    def ask(self: Router, x: Tensor, *further: Any) -> Any:
        return getattr(self._engine_of(x), name)(x, *further)

    return ask  # type: ignore[return-value]  # it has the signature of the question


def _by_handle(question: Question) -> Question:
    """Make a method that passes the question to the engine of its first argument, a storage or a node."""
    name = question.__name__

    def ask(self: Router, thing: Storage | Node, *further: Any) -> Any:
        return getattr(self._owner_of(thing), name)(thing, *further)

    return ask  # type: ignore[return-value]  # it has the signature of the question


def _by_any(question: Question) -> Question:
    """Make a method that returns True if at least one engine returns True."""
    name = question.__name__

    def ask(self: Router, thing: Any) -> bool:
        return any(getattr(engine, name)(thing) for engine in self.engines)

    return ask  # type: ignore[return-value]  # it has the signature of the question


def _by_first_answer(question: Question) -> Question:
    """Make a method that returns the first answer that is not None."""
    name = question.__name__

    def ask(self: Router, thing: Any) -> Any:
        answers = (getattr(engine, name)(thing) for engine in self.engines)
        return next((answer for answer in answers if answer is not None), None)

    return ask  # type: ignore[return-value]  # it has the signature of the question


def _by_all(question: Question) -> Question:
    """Make a method that returns the answers of all engines in one list."""
    name = question.__name__

    def ask(self: Router) -> list[Any]:
        return [each for engine in self.engines for each in getattr(engine, name)()]

    return ask  # type: ignore[return-value]  # it has the signature of the question


class Router:
    """An :class:`~memory_stage.engines.protocol.Engine` that passes each question to one or all engines."""

    # answered by the engine of the first argument, a tensor
    storage_view = _by_tensor(Engine.storage_view)
    storage = _by_tensor(Engine.storage)
    version = _by_tensor(Engine.version)
    group = _by_tensor(Engine.group)
    stamp = _by_tensor(Engine.stamp)
    node = _by_tensor(Engine.node)
    gradient = _by_tensor(Engine.gradient)
    preserves = _by_tensor(Engine.preserves)
    records = _by_tensor(Engine.records)
    has_other_names = _by_tensor(Engine.has_other_names)
    has_name = _by_tensor(Engine.has_name)
    array = _by_tensor(Engine.array)
    written = _by_tensor(Engine.written)
    nodes_of_write = _by_tensor(Engine.nodes_of_write)
    # answered by the engine of the first argument, a storage or a node
    key = _by_handle(Engine.key)
    weak = _by_handle(Engine.weak)
    below = _by_handle(Engine.below)
    block = _by_handle(Engine.block)
    freed = _by_handle(Engine.freed)
    freed_on_gpu = _by_handle(Engine.freed_on_gpu)
    numbers = _by_handle(Engine.numbers)
    writer = _by_handle(Engine.writer)
    role = _by_handle(Engine.role)
    name = _by_handle(Engine.name)
    parents = _by_handle(Engine.parents)
    moves_only = _by_handle(Engine.moves_only)
    place = _by_handle(Engine.place)
    saved = _by_handle(Engine.saved)
    indices = _by_handle(Engine.indices)
    saved_state = _by_handle(Engine.saved_state)
    is_released = _by_handle(Engine.is_released)
    copies = _by_handle(Engine.copies)
    is_checked = _by_handle(Engine.is_checked)
    storage_view_of_array = _by_handle(Engine.storage_view_of_array)
    bits = _by_handle(Engine.bits)
    # answered by all engines together
    is_tensor = _by_any(Engine.is_tensor)
    is_shown = _by_any(Engine.is_shown)
    owns = _by_any(Engine.owns)
    is_other_vocabulary = _by_any(Engine.is_other_vocabulary)
    slots = _by_first_answer(Engine.slots)
    storage_behind = _by_first_answer(Engine.storage_behind)
    gpus = _by_all(Engine.gpus)
    shared_storages = _by_all(Engine.shared_storages)

    def __init__(self) -> None:
        self.engines: list[Engine] = []
        self._awaited = dict(FRAMEWORKS)
        self._subscriptions: list[Subscriptions] = []
        self._random: contextlib.ExitStack | None = None
        self._ends_of_sharing: list[tuple[Callable[[Storage], None], list[Callable[[], None]]]] = []
        if has_minitensor():
            self.engines.append(importlib.import_module("memory_stage.engines.minitensor.engine").MINITENSOR)
        self.discover_frameworks()

    def discover_frameworks(self) -> None:
        """Add an engine for each framework that the program has imported since the last call."""
        for name in [name for name in self._awaited if _is_imported(name)]:
            module = importlib.import_module(self._awaited.pop(name))
            try:
                engine: Engine = module.engine()
            except protocol.NotRecordable as reason:
                for each in self._subscriptions:
                    each.emit(Omission(reason.sentence))
                continue
            self.engines.append(engine)
            if self._random is not None:
                self._random.enter_context(engine.same_random_numbers())
            for each in self._subscriptions:
                each.add(engine)
            for notify, ends in self._ends_of_sharing:
                ends.append(engine.when_shared(notify))

    def _engine_of(self, x: Tensor) -> Engine:
        for engine in self.engines[1:]:
            if engine.is_tensor(x):
                return engine
        return self.engines[0]

    def _owner_of(self, thing: Storage | Node) -> Engine:
        for engine in self.engines[1:]:
            if engine.owns(thing):
                return engine
        return self.engines[0]

    @property
    def has_framework(self) -> bool:
        """True if the program has imported a framework that can be recorded."""
        return any(engine.has_framework for engine in self.engines)

    def listen(self, emit: Listener) -> protocol.EngineSubscription:
        """Return a subscription to all engines, including those that are added later."""
        subscriptions = Subscriptions(self, emit)
        self._subscriptions.append(subscriptions)
        return subscriptions

    def forget(self, subscriptions: Subscriptions) -> None:
        """Remove closed subscriptions."""
        if subscriptions in self._subscriptions:
            self._subscriptions.remove(subscriptions)

    def policy(self, name: str) -> AbstractContextManager[Any]:
        """Set the in-place policy of all engines."""
        stack = contextlib.ExitStack()
        for engine in self.engines:
            stack.enter_context(engine.policy(name))
        return stack

    def current_policy(self) -> str:
        """Return the policy of minitensor, which is the only engine with several policies."""
        return self.engines[0].current_policy() if self.engines else protocol.DEFAULT_POLICY

    @contextlib.contextmanager
    def same_random_numbers(self) -> Iterator[None]:
        """Restore the random generators of all engines, including engines that are added inside the block."""
        with contextlib.ExitStack() as self._random:
            for engine in self.engines:
                self._random.enter_context(engine.same_random_numbers())
            yield
        self._random = None

    def allocated(self) -> int:
        """Return the bytes allocated in host memory by all engines."""
        return sum(engine.allocated() for engine in self.engines)

    def other_name(self, op: str) -> str:
        """Return the other vocabulary's name of an operation. Only minitensor has two vocabularies."""
        return self.engines[0].other_name(op)

    def is_library_frame(self, frame: FrameType) -> bool:
        """True for a frame of an engine, of numpy or of this package."""
        package = str(frame.f_globals.get("__package__")).partition(".")[0]
        return package in ("memory_stage", "numpy") or any(engine.is_library_frame(frame) for engine in self.engines)

    def elements(self, gradient: Any) -> np.ndarray:
        """Return a gradient as a numpy array. Only gradients of minitensor have to be converted."""
        return gradient if isinstance(gradient, np.ndarray) else self.engines[0].elements(gradient)

    def when_shared(self, notify: Callable[[Storage], None]) -> Callable[[], None]:
        """Subscribe to the storages that become shared in any engine, including engines that are added later."""
        ends = [engine.when_shared(notify) for engine in self.engines]
        entry = notify, ends
        self._ends_of_sharing.append(entry)

        def end() -> None:
            if entry in self._ends_of_sharing:
                self._ends_of_sharing.remove(entry)
            for each in ends:
                each()

        return end


def _is_imported(name: str) -> bool:
    """True if the framework is imported; False if a module of another name is registered under its name."""
    found = sys.modules.get(name)
    return found is not None and getattr(found, "__name__", None) == name
