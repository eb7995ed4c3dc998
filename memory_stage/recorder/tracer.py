"""Follow a program from statement to statement, and divide its run into steps.

A step ends where the next statement of the same function begins, where a function is called or returns, and where an
error is raised. Each error is recorded once, in the step that raised it. The tracer knows the program's position from
its hooks (``instrument``). Where the program reaches no hook, as at the end of a ``with``, the tracer uses the position
of the frame that called the engine.
"""

from __future__ import annotations

import inspect
import sys
from types import FrameType
from typing import Any

from memory_stage.engines.protocol import Engine
from memory_stage.model import changes
from memory_stage.model.finished_step import Statement
from memory_stage.recorder.names import Names
from memory_stage.recorder.source import ProgramSource
from memory_stage.recorder.stack import Stack
from memory_stage.recorder.steps import OpenStep, Steps


class Tracer:
    """Begin and finish steps as the program runs.

    Attributes:
        suspended: True while a top-level statement awaits. Changes outside of functions then belong to that statement.
    """

    def __init__(self, engine: Engine, source: ProgramSource, stack: Stack, names: Names, steps: Steps) -> None:
        self.suspended = False
        self._engine = engine
        self._source = source
        self._stack = stack
        self._names = names
        self._steps = steps
        self._journal = steps.ledger.journal
        self._reported: int | None = None  # the id of the error that was recorded last

    # ---------- the top level ----------

    def begin_statement(self, statement: Statement) -> None:
        """Begin a top-level statement."""
        if self._steps.active:
            self._engine.discover_frameworks()
        self._reported, self.suspended = None, False
        self._stack.top.passes.clear()
        self._steps.begin(statement)

    def end_statement(self, error: BaseException | None) -> None:
        """Finish a top-level statement, which has run or raised ``error``."""
        if error is not None:
            if id(error) != self._reported:
                self._fail(error)
                self._reported = id(error)
            self._stack.pop(0)
        self._return_to(0)
        self._steps.finish()

    def find_running(self, frame: FrameType | None, turns: dict[int, int]) -> None:
        """Find the running functions and their statements when a recording begins in the middle of a program.

        Args:
            frame: the innermost frame; None between two statements of the top level.
            turns: the number of the iteration of each running loop, by the hook of its head.
        """
        running = []
        while frame is not None:
            if self._source.has(frame.f_code):
                running.append(frame)
            frame = frame.f_back
        for each in reversed(running):
            if each.f_code.co_flags & inspect.CO_OPTIMIZED:
                self._stack.push(each, 0)
            top = self._stack.top
            top.statement = self._source.statement_at(each.f_code, each.f_lineno)
            if top.statement is not None:
                top.passes = {loop: turns[loop] for loop in top.statement.loops if loop in turns}
            self._names.scan(self._stack, each)

    def finish_at(self, frame: FrameType) -> None:
        """Finish the running step because a function has reached a hook."""
        self._continue_in(frame)
        self._steps.finish(frame)

    # ---------- hooks ----------

    def reach(self, index: int, moment: str, frame: FrameType) -> None:
        """Record that ``frame`` has reached a hook: a call, a caught error, an iteration, or the next statement."""
        error = sys.exc_info()[1]
        if id(error) != self._reported:
            self._reported = None  # the program has handled the recorded error, so another error may get its id
        statement = self._source.statements[index]
        if moment == "enter":
            self._enter(statement, frame)
        elif moment == "caught":
            if error is not None and self._reported is None:
                self._fail(error)
                self._reported = id(error)
                self._continue_in(frame, silently=True)
        else:
            self._continue_in(frame)
            self._steps.finish(frame)
            self._engine.discover_frameworks()
            passes = self._stack.top.passes
            if moment == "turn":
                passes[index] = passes.get(index, 0) + 1
                return
            if moment == "before":
                passes.pop(index, None)
            self._steps.begin(statement)

    def leave(self, moment: str, value: Any, frame: FrameType) -> None:
        """Record the ``value`` that a function is about to return or yield. Finish the step if the function returns."""
        self._continue_in(frame)
        if not self._steps.active:
            return
        activation = self._stack.top
        activation.value, activation.inside = None, []
        if moment != "leave":
            self._steps.ledger.update()
            activation.value, activation.inside = self._names.in_value(value)
        if moment != "yield":
            self._steps.finish(frame, partly=moment == "return")

    def locate(self, frame: FrameType | None) -> None:
        """Find the statement for which the engine works. It is in ``frame`` or in a frame that called this frame."""
        frame = self._innermost(frame)
        if frame is None:
            if self.suspended:
                # A task of the event loop runs, so functions that other tasks had called are not on the stack.
                self._return_to(0)
        elif self._stack.depth_of(frame) is not None:
            self._continue_in(frame)
            self._begin_head(frame, frame.f_lineno)

    # ---------- steps ----------

    def _innermost(self, frame: FrameType | None) -> FrameType | None:
        """Return the innermost frame with hooks, starting at ``frame``."""
        while frame is not None and not self._source.has(frame.f_code):
            frame = frame.f_back
        return frame

    def _fail(self, error: BaseException) -> None:
        """Finish the step in which ``error`` was raised, in the function that raised it."""
        inner, traceback = None, error.__traceback__
        while traceback is not None:
            if self._source.has(traceback.tb_frame.f_code):
                inner = traceback
            traceback = traceback.tb_next
        if inner is not None and self._stack.depth_of(inner.tb_frame) is not None:
            # Functions that ended without a hook, such as an exhausted generator, have returned.
            self._continue_in(inner.tb_frame)
            self._begin_head(inner.tb_frame, inner.tb_lineno)
        self._steps.finish(error=error)

    def _begin_head(self, frame: FrameType, line: int) -> None:
        """Begin another step of a compound statement if ``line`` is its head and the statement inside it has ended."""
        now = self._steps.statement
        if now is None or now.line <= line <= now.end:
            return
        head = self._source.head_at(frame.f_code, line)
        if head is not None and head is not now:
            self._steps.finish(frame)
            self._steps.begin(head)

    def _enter(self, function: Statement, frame: FrameType) -> None:
        self.locate(frame.f_back)
        self._source.show(function)
        of_class = f"{function.function}." if function.function and function.kind == "method" else ""
        caller = self._stack.top
        self._stack.push(frame, self._journal.step, of_class)
        if self._steps.open is None and caller.statement is not None:
            self._steps.open = OpenStep(caller.statement, continues=True)
        self._journal.facts.append(changes.Called(self._stack.top.full_name))
        self._steps.finish(frame, partly=True)

    def _continue_in(self, frame: FrameType, silently: bool = False) -> None:
        """Record that ``frame`` continues: functions that it called have returned, or it is a resumed generator."""
        depth = self._stack.depth_of(frame)
        if depth is not None:
            self._return_to(depth, silently)
            return
        names = self._stack.resume(frame, self._journal.step)
        if names is not None:
            top = self._stack.top
            self._journal.facts.append(changes.Resumed(top.full_name, top.place, names))

    def _return_to(self, depth: int, silently: bool = False) -> None:
        """Record that the functions above ``depth`` on the stack have returned."""
        if depth == len(self._stack.activations) - 1:
            return
        last = self._stack.activations[depth + 1]
        returned = changes.Returned(last.full_name, last.is_generator, last.since, last.value, last.inside)
        if not silently:
            self._steps.finish(partly=True, has_returned=True)
        self._stack.pop(depth)
        statement = self._stack.top.statement
        if not silently and statement is not None:
            self._steps.resume(OpenStep(statement, continues=True))
            self._journal.facts.append(returned)
