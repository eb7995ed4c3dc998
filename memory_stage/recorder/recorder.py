"""Listens to a running program and cuts what it hears into steps: the recorder whole.

It hears the program's hooks (``hooks``) and the engine's events. It follows the program's statements and functions
(``following``). A step ends, too, where backward goes on to the next node. From ``begin`` to ``stop`` it listens, and
it leaves no listener behind.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import Any

from memory_stage.engines.protocol import Engine, Node, Role
from memory_stage.model import changes
from memory_stage.recorder import backward_steps, instrument, steps
from memory_stage.recorder.following import Following
from memory_stage.recorder.stack_headroom import Room
from memory_stage.recorder.steps import Open

#: The events that tell of an operation.
_OPERATIONS = frozenset(("make", "view", "write", "meta", "changed"))

#: The method of the books that notes an event.
_NOTED_BY = {
    "alloc": "alloc",
    "free": "free",
    "met": "observe",
    "make": "made",
    "view": "viewed",
    "taken": "taken",
    "write": "wrote",
    "changed": "wrote_unversioned",
    "meta": "reshaped",
}


class Recorder(Following):
    """Listens to the hooks of a program and to the engine, and cuts what they tell into steps."""

    def __init__(
        self, engine: Engine, source: str, file: str, namespace: dict[str, Any], ignore: frozenset[str], limit: int
    ) -> None:
        super().__init__(engine, source, file, namespace, ignore, limit)
        self._ear = engine.listen(self.heard)
        self._hooks_before: Any = None
        #: What other threads have done, to be noted by this one: kind, and what there is to be known of it.
        self._elsewhere: deque[tuple[Any, ...]] = deque()
        self._made_elsewhere: set[Any] = set()  # keys of storages that came and went in other threads

    # ---------- beginning and end ----------

    def begin(self) -> None:
        """Note what is there, and listen."""
        self.names.scan(self.stack)
        self.ledger.journal.on_freed, self.ledger.graph.line_of_call = self.gone, self.line_of_call
        self.ledger.begin()
        self.active = True
        self._thread = threading.get_ident()
        self._hooks_before = instrument.listener
        self.ledger.storages.meters.begin()  # only now: what is freed from here on is heard of
        self.reserved_before = self.ledger.storages.meters.reading()["reserved"]
        self._ear.open()
        instrument.listener = self.hooked

    def stop(self) -> None:
        """Listen no more."""
        self.ledger.stop()
        self._ear.close()
        if instrument.listener == self.hooked:
            instrument.listener = self._hooks_before
        super().stop()

    # ---------- the engine ----------

    def heard(self, kind: str, *arguments: Any) -> None:
        """The engine tells what has happened."""
        if not self.active:
            return
        if kind == "failed":
            self._give_up(*arguments)
            return
        if kind == "ended":
            self._finish(partly=True)
            self.truncated = arguments[0]
            self.stop()
            return
        if threading.get_ident() != self._thread:
            try:
                self._heard_elsewhere(kind, *arguments)
            except Exception as failure:
                self._give_up(failure)
            return
        with Room():
            self._heard_here(sys._getframe(1), kind, *arguments)

    def _heard_here(self, frame: FrameType, kind: str, *arguments: Any) -> None:
        """The thread that is recorded has done something; ``frame`` is who tells of it."""
        try:
            self.catch_up()
            if len(self.ledger.journal.events) > steps.MOST_IN_A_STEP:
                self._end_in_a_step()
                return
            if kind != "flight" or self.flight:
                # The first gradient is told of just before backward's own first step, to which it belongs.
                self.ledger.storages.meters.update(self.ledger.storages.bytes_of_others_freed)
            if kind == "free" and not self.ledger.storages.is_registered(arguments[0]):
                self.ledger.free(arguments[0])  # the collector may find what was there before, at any time
                return
            # A step that ends where this storage is freed ends before.
            self.leaving = self.engine.freed(arguments[0]) if kind == "free" else 0
            self._locate(frame)
            self.leaving = 0
            if kind not in _OPERATIONS:
                self._note(kind, *arguments)
                return
            told = len(self.ledger.journal.facts)
            asker = self.spelling.asker(frame, (arguments[0], *(arguments[2] if kind != "changed" else ())))
            self.ledger.graph.other_names = asker.otherwise
            self._note(kind, *arguments)
            self.ledger.graph.other_names = False
            self.spelling.note(asker, self.ledger.journal.facts[told:])
        except Exception as failure:
            self._give_up(failure)

    def gone(self, tell: Callable[[], None]) -> None:
        """The interpreter frees a tensor or a node."""
        if threading.get_ident() != self._thread:
            self._elsewhere.append(("gone", tell))
            return
        try:
            with Room():
                self.catch_up()
                self._locate(sys._getframe(1))
                tell()
        except RecursionError:
            self._elsewhere.append(("gone", tell))  # there is no room here
        except Exception as failure:
            self._give_up(failure)

    # ---------- other threads ----------

    def _heard_elsewhere(self, kind: str, *arguments: Any) -> None:
        """Another thread has done something. The books are this thread's own: it is only put down for them."""
        engine = self.engine
        self.ledger.storages.meters.update(self.ledger.storages.bytes_of_others_freed)
        if kind == "alloc":
            (storage,) = arguments
            self._elsewhere.append((kind, engine.key(storage), engine.weak(storage, _nothing)))
        elif kind == "free":
            (storage,) = arguments
            there = engine.freed_there(storage)
            self._elsewhere.append((kind, engine.key(storage), engine.freed(storage), there))
        elif kind == "write":
            storage = engine.storage(arguments[0])
            self._elsewhere.append((kind, engine.key(storage), engine.version(arguments[0])))
        elif kind == "unseen":
            self._elsewhere.append((kind, *arguments))

    def catch_up(self) -> None:
        """Note what other threads have done."""
        while self._elsewhere:
            kind, *told = self._elsewhere.popleft()
            if kind == "gone":
                told[0]()
            elif kind == "unseen":
                self.ledger.journal.facts.append(changes.Unseen(*told))
            elif kind == "write":
                self.ledger.unannounced.add_from_other_thread(*told)
            elif kind == "alloc":
                key, alive = told
                storage = alive()
                if storage is None:
                    self._made_elsewhere.add(key)
                elif not self.ledger.storages.is_registered(storage):
                    self.ledger.alloc_on_other_thread(storage)
            elif told[0] in self.ledger.storages.entries:
                self.ledger.free_key(told[0])
            elif told[0] in self._made_elsewhere:
                self._made_elsewhere.discard(told[0])
            else:
                self.ledger.storages.free_other(told[1], told[2])

    def _note(self, kind: str, *arguments: Any) -> None:
        ledger = self.ledger
        part: Any = ledger.storages if kind == "alloc" else ledger.graph if kind == "met" else ledger
        note = getattr(part, _NOTED_BY.get(kind, ""), None)
        if note is not None:
            note(*arguments)
        elif kind in ("refused", "stale"):
            ledger.journal.facts.append(changes.Refused(arguments[1]))
        elif kind == "asked":
            ledger.journal.facts.append(changes.Asked(ledger.graph.observe(*arguments)))
        elif kind == "unseen":
            ledger.journal.facts.append(changes.Unseen(*arguments))
        elif kind == "flight":
            self.flight += arguments[0]
        elif kind == "hooked":
            backward_steps.hooked(ledger, *arguments)
        elif kind in ("start", "enter", "visit", "left", "leaf"):
            self._backward(kind, *arguments)

    def _backward(self, kind: str, node: Node, *arguments: Any) -> None:
        ledger = self.ledger
        if kind == "leaf":
            backward_steps.collected(ledger, node, arguments[0])
            return
        if self.engine.role(node) is Role.LEAF:
            return
        if kind == "visit":
            backward_steps.visited(ledger, node, *arguments)
            return
        statement = self.open.statement if self.open else self.stack[-1].statement
        if kind == "left":
            backward_steps.left(ledger, node)
        self._finish(partly=True)
        if not self.active or statement is None or self._is_full():
            return
        self.open = Open(statement, "backward", goes_on=True)
        if kind == "start":
            backward_steps.started(ledger, node, arguments[0])
            self._finish(partly=True)  # what a hook at the root does is a step of its own
            self.open = Open(statement, "backward", goes_on=True)
        elif kind == "enter":
            self.open.node = backward_steps.entered(ledger, node, arguments[0])


def _nothing(ref: Any) -> None:
    """Nothing is to be done when it goes."""
