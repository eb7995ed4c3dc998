"""Subscribe to a program's hooks and to its engine, and record the steps of the program."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from memory_stage.engines.events import Compilation, End, Event, Failure
from memory_stage.engines.protocol import Engine, Node
from memory_stage.model.ledger import Ledger
from memory_stage.recorder import instrument
from memory_stage.recorder.follower import Follower
from memory_stage.recorder.names import Names
from memory_stage.recorder.other_threads import OtherThreads
from memory_stage.recorder.source import ProgramSource
from memory_stage.recorder.stack import Stack
from memory_stage.recorder.stack_headroom import StackHeadroom
from memory_stage.recorder.steps import Steps
from memory_stage.recorder.tracer import Tracer


class Recorder:
    """A recording of one program, from :meth:`begin` to :meth:`stop`. It leaves no subscription behind.

    An error in the recorder ends the recording and never the program.

    Attributes:
        source: the text of the program, and its code with hooks.
        stack: the running functions.
        steps: the recorded steps.
        tracer: follows the program.
        follower: follows the engine.
        ledger: the program's memory and history.
        names: the program's names of tensors.
    """

    def __init__(
        self, engine: Engine, source: ProgramSource, namespace: dict[str, Any], ignore: frozenset[str], limit: int
    ) -> None:
        self.engine = engine
        self.source = source
        self.ledger = Ledger(engine)
        self.names = Names(namespace, self.ledger, ignore)
        self.stack = Stack(self.source)
        self._threads = OtherThreads(engine, self.ledger)
        self.steps = Steps(engine, self.ledger, self.names, self.source, self.stack, self._threads, limit)
        self.tracer = Tracer(engine, self.source, self.stack, self.names, self.steps)
        self.follower = Follower(engine, self.tracer, self.steps, self._threads)
        self._subscription = engine.listen(self.on_event)
        self._listener_before: Any = None
        self._thread = 0

    # ---------- begin and end ----------

    def begin(self) -> None:
        """Record the state of memory, and subscribe."""
        self.names.scan(self.stack)
        self.ledger.journal.on_freed, self.ledger.graph.line_of_call = self.on_freed, self._line_of_call
        self.ledger.begin()
        self._thread = threading.get_ident()
        self._listener_before = instrument.listener
        self.steps.start()
        self._subscription.open()
        instrument.listener = self.on_hook

    def stop(self) -> None:
        """Unsubscribe, and remove all hooks; it may be called again."""
        self.ledger.stop()
        self._subscription.close()
        if instrument.listener == self.on_hook:
            instrument.listener = self._listener_before
        self.steps.end()
        self.source.remove_hooks()

    def _line_of_call(self, node: Node) -> int:
        """Return the line of the trace that called the operation of a node."""
        return self.source.line_at(*self.engine.place(node)) or self.ledger.journal.line

    # ---------- the program ----------

    def begin_statement(self, index: int) -> None:
        """Begin a statement of the top level, by the number of its hook."""
        with _Guard(self):
            self.tracer.begin_statement(self.source.statements[index])

    def end_statement(self, error: BaseException | None = None) -> None:
        """Finish a statement of the top level, which has run or raised ``error``."""
        if self.steps.active:
            with _Guard(self):
                self.tracer.end_statement(error)

    def on_hook(self, index: int, moment: str, value: Any) -> None:
        """Record that the program has reached a hook."""
        if index not in self.source.statements or threading.get_ident() != self._thread:
            return
        with StackHeadroom(), _Guard(self):
            if moment in ("return", "yield", "leave"):
                self.tracer.leave(moment, value, sys._getframe(2))
            else:
                self.tracer.reach(index, moment, sys._getframe(2))

    # ---------- the engine ----------

    def on_event(self, event: Event) -> None:
        """Record an event of the engine."""
        if not self.steps.active:
            return
        if isinstance(event, Failure):
            with _Guard(self):
                self.steps.fail(event.error)
        elif isinstance(event, End):
            with _Guard(self):
                self.steps.finish(partly=True)
                self.steps.end(event.reason)
        elif isinstance(event, Compilation):
            with _Guard(self):
                self.source.remove_new_hooks()
        elif threading.get_ident() != self._thread:
            with _Guard(self):
                self._threads.add(event)
        else:
            with StackHeadroom(), _Guard(self):
                self.follower.follow(sys._getframe(1), event)

    def on_freed(self, record: Callable[[], None]) -> None:
        """Call ``record``, which records that the interpreter frees a tensor or a node."""
        if threading.get_ident() != self._thread:
            self._threads.add_freed(record)
            return
        with _Guard(self):
            try:
                with StackHeadroom():
                    self.follower.follow_freed(sys._getframe(1), record)
            except RecursionError:
                self._threads.add_freed(record)  # the stack has no room for it here


class _Guard:
    """A context manager: an error in the recorder ends the recording, and its end unsubscribes the recorder."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> bool:
        if isinstance(error, Exception):
            self._recorder.steps.fail(error)
        if not self._recorder.steps.active:
            self._recorder.stop()
        return isinstance(error, Exception)
