"""Subscribe to a program's hooks and to its engine, and record the steps of the program."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from memory_stage.engines.events import Compilation, End, Event, Failure
from memory_stage.engines.protocol import Engine, Node
from memory_stage.messages import message
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
from memory_stage.recorder.window import EndOfWindow, RecordingWindow


class Recorder:
    """A recording of one program, from :meth:`begin` to :meth:`stop`, which ends all subscriptions.

    An error in the recorder ends the recording, and the program continues.

    Attributes:
        source: the text of the program, and its code with hooks.
        stack: the functions that are running.
        steps: the recorded steps.
        tracer: divides the program's run into steps.
        follower: records the engine's events.
        ledger: the program's memory and history.
        names: the program's names of tensors.
        window: the part of the run that is recorded; None for the whole run.
        is_waiting: True before the window begins.
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
        self.window: RecordingWindow | None = None
        self.is_waiting = False
        self._turns: dict[int, int] = {}  # the iterations of each loop before the window, by the hook of the loop

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

    def wait(self, window: RecordingWindow) -> None:
        """Wait, without recording, until a window begins."""
        self.window, self.is_waiting = window, True
        self.steps.part = window.describe()
        self._thread = threading.get_ident()
        self._listener_before = instrument.listener
        instrument.listener = self._on_hook_outside

    def _begin_window(self, index: int, moment: str, frame: FrameType | None) -> None:
        """Begin the recording at a hook; ``frame`` is the function's frame, or None at the top level."""
        self.is_waiting = False
        instrument.listener = self._listener_before
        self.engine.discover_frameworks()
        self.tracer.find_running(frame, self._turns)
        self.begin()
        if frame is not None:
            self.tracer.reach(index, moment, frame)

    def _end_window(self, frame: FrameType | None) -> None:
        if frame is not None:
            self.tracer.finish_at(frame)
        self.steps.end(message("The stage shows {part}.", part=self.steps.part))
        self.stop()
        if self.window is not None and self.window.is_alone:
            raise EndOfWindow

    def stop(self) -> None:
        """Unsubscribe and remove all hooks. A second call does nothing."""
        self.ledger.stop()
        self._subscription.close()
        if instrument.listener in (self.on_hook, self._on_hook_outside):
            instrument.listener = self._listener_before
        self.is_waiting = False
        self.steps.end()
        self.source.remove_hooks()

    def _line_of_call(self, node: Node) -> int:
        """Return the number, in the trace, of the line that called a node's operation."""
        return self.source.line_at(*self.engine.place(node)) or self.ledger.journal.line

    # ---------- the program ----------

    def begin_statement(self, index: int) -> None:
        """Begin a top-level statement, which is given by the number of its hook."""
        statement = self.source.statements[index]
        if self.is_waiting:
            self._turns.clear()
        is_inside = self.window is None or self.window.advance(statement, index, "before")
        if self.is_waiting and is_inside:
            with _Guard(self):
                self._begin_window(index, "before", None)
        elif self.steps.active and not is_inside:
            self._end_window(None)
        if self.steps.active:
            with _Guard(self):
                self.tracer.begin_statement(statement)

    def end_statement(self, error: BaseException | None = None) -> None:
        """Finish a top-level statement, which has run or raised ``error``."""
        if self.steps.active:
            with _Guard(self):
                self.tracer.end_statement(error)

    def on_hook(self, index: int, moment: str, value: Any) -> None:
        """Record that the program has reached a hook."""
        if index not in self.source.statements or threading.get_ident() != self._thread:
            return
        if self.window is not None and not self.window.advance(self.source.statements[index], index, moment):
            self._end_window(sys._getframe(2))
            return
        with StackHeadroom(), _Guard(self):
            if moment in ("return", "yield", "leave"):
                self.tracer.leave(moment, value, sys._getframe(2))
            else:
                self.tracer.reach(index, moment, sys._getframe(2))

    def _on_hook_outside(self, index: int, moment: str, value: Any) -> None:
        """Begin the window at a hook, if it begins there; otherwise count the iterations of loops."""
        statement = self.source.statements.get(index)
        if statement is None or threading.get_ident() != self._thread:
            return
        if self.window is not None and self.window.advance(statement, index, moment):
            with StackHeadroom(), _Guard(self):
                self._begin_window(index, moment, sys._getframe(2))
        elif moment == "turn":
            self._turns[index] = self._turns.get(index, 0) + 1
        elif moment == "before":
            self._turns.pop(index, None)

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
                self._threads.add_freed(record)  # the stack has no room to record it now


class _Guard:
    """A context manager for the recorder's own work: an error in it ends the recording, but not the program.

    If the recording has ended, it removes the recorder's hooks.
    """

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
