"""The recorder, fourth part: follows the program from statement to statement, and cuts its steps there.

A step ends where the next statement of the same function begins, where a function is called or comes back, and where
an error is raised. Each error is told once, in the step that raised it. Where the program is, its hooks tell
(``hooks``); where no hook is reached, at the end of a ``with`` say, the frame that called the engine tells.
"""

from __future__ import annotations

import sys
import threading
from types import CodeType, FrameType
from typing import Any

from memory_stage.engines.protocol import Engine
from memory_stage.model import changes
from memory_stage.model.entries import TensorEntry
from memory_stage.model.statement import Statement
from memory_stage.recorder.stack_headroom import Room
from memory_stage.recorder.steps import Open, Steps


class Following(Steps):
    """Steps that begin and end as the program runs on."""

    #: The thread that is followed.
    _thread: int = 0

    #: Whether a statement of the top level awaits: what runs meanwhile, and belongs to no function, belongs to it.
    suspended: bool = False

    #: Id of the error last told.
    reported: int | None = None

    def __init__(
        self, engine: Engine, source: str, file: str, namespace: dict[str, Any], ignore: frozenset[str], limit: int
    ) -> None:
        super().__init__(engine, source, file, namespace, ignore, limit)
        #: By the id of a generator's frame, while it waits: its code, its name, its local names for tensors.
        self._waiting: dict[int, tuple[CodeType, str, dict[str, TensorEntry]]] = {}

    # ---------- statements ----------

    def begin_statement(self, statement: Statement) -> None:
        """A statement of the top level is about to run."""
        try:
            if self.active:
                self.engine.arrive()
            self.reported, self.suspended = None, False
            self.stack[0].passes.clear()
            self._begin(statement)
        except Exception as failure:
            self._give_up(failure)

    def end_statement(self, error: BaseException | None = None) -> None:
        """It has run, or raised ``error``."""
        if not self.active:
            return
        try:
            if error is not None:
                if id(error) != self.reported:
                    self._failed(error)
                    self.reported = id(error)
                self._pop(0)
            self._back_to(0)
            self._finish()
        except Exception as failure:
            self._give_up(failure)

    def hooked(self, index: int, moment: str, value: Any) -> None:
        """A hook was reached: the statement before it in the same frame is done, or gives ``value``."""
        statement = self.statements.get(index)
        if statement is None or threading.get_ident() != self._thread:
            return
        with Room():
            try:
                if moment in ("return", "yield", "leave"):
                    self._leaves(moment, value, sys._getframe(2))
                else:
                    self._reached(index, statement, moment, sys._getframe(2))
            except Exception as failure:
                self._give_up(failure)

    def _leaves(self, moment: str, value: Any, frame: FrameType) -> None:
        """A function is about to give ``value``, or has reached its end."""
        self._come_to(frame)
        if not self.active:
            return
        activation = self.stack[-1]
        activation.value, activation.inside = None, []
        if moment != "leave":
            self.ledger.update()
            activation.value, activation.inside = self.names.in_value(value)
        if moment != "yield":
            self._finish(frame, partly=moment == "return")

    def _reached(self, index: int, statement: Statement, moment: str, frame: FrameType) -> None:
        error = sys.exc_info()[1]
        if id(error) != self.reported:
            self.reported = None  # the error last told is over; another one may get its id
        if moment == "enter":
            self._enter(statement, frame)
        elif moment == "caught":
            if error is not None and self.reported is None:
                self._failed(error)
                self.reported = id(error)
                self._come_to(frame, silently=True)
        else:
            self._come_to(frame)
            self._finish(frame)
            self.engine.arrive()
            passes = self.stack[-1].passes
            if moment == "turn":
                passes[index] = passes.get(index, 0) + 1
                return
            if moment == "before":
                passes.pop(index, None)
            self._begin(statement)

    def _failed(self, error: BaseException) -> None:
        """The program has raised ``error``: the step ends in the function that it was raised in."""
        inner, traceback = None, error.__traceback__
        while traceback is not None:
            if id(traceback.tb_frame.f_code) in self._codes:
                inner = traceback
            traceback = traceback.tb_next
        if inner is not None and self._depth(inner.tb_frame) is not None:
            self._come_to(inner.tb_frame)  # what it called has come back, as a generator does that ends
            self._begin_head(inner.tb_frame, inner.tb_lineno)
        self._finish(error=error)

    def _locate(self, frame: FrameType | None) -> None:
        """Find the statement that the engine works for."""
        while frame is not None and id(frame.f_code) not in self._codes:
            frame = frame.f_back
        if frame is None:
            if self.suspended:
                self._back_to(0)  # a task of the program's loop: the functions that tasks called before have come back
        elif self._depth(frame) is not None:
            self._come_to(frame)
            self._begin_head(frame, frame.f_lineno)

    def _begin_head(self, frame: FrameType, line: int) -> None:
        """Where the statement is done that was going on and ``line`` is the head of another one, that one goes on."""
        of = self._codes[id(frame.f_code)]
        now = self.open.statement if self.open else self.stack[-1].statement
        if now is None or now.line <= line <= now.end:
            return
        head = of.statements.get(of.heads.get(line, -1))
        if head is not None and head is not now:
            self._finish(frame)
            self._begin(head)

    # ---------- functions ----------

    def _enter(self, statement: Statement, frame: FrameType) -> None:
        """A function of the notebook begins."""
        caller = frame.f_back
        while caller is not None and id(caller.f_code) not in self._codes:
            caller = caller.f_back
        self._locate(caller)
        self._show_source(statement)
        of_class = f"{statement.function}." if statement.function and statement.kind == "method" else ""
        self._push(frame, of_class)
        if self.open is None and self.stack[-2].statement is not None:
            self.open = Open(self.stack[-2].statement, goes_on=True)
        self.ledger.journal.facts.append(changes.Called(self.stack[-1].full_name))
        self._finish(frame, partly=True)

    def _come_to(self, frame: FrameType, silently: bool = False) -> None:
        """``frame`` runs: what was called from it has come back."""
        depth = self._depth(frame)
        if depth is None:
            self._push(frame)
            waited = self._waiting.pop(id(frame), None)
            if waited is not None and waited[0] is frame.f_code:
                last = self.stack[-1]
                last.full_name = waited[1]
                self.ledger.journal.facts.append(changes.Resumed(last.full_name, last.place, waited[2]))
            return
        self._back_to(depth, silently)

    def _back_to(self, depth: int, silently: bool = False) -> None:
        """What stands above ``depth`` on the stack is done."""
        if depth == len(self.stack) - 1:
            return
        last = self.stack[depth + 1]
        returned = changes.Returned(last.full_name, last.is_generator, last.since, last.value, last.inside)
        if not silently:
            self._finish(partly=True, came_back=True)
        for each in self._pop(depth):
            if each.is_generator and each.code is not None:
                self._waiting[each.frame] = each.code, each.full_name, each.names
        statement = self.stack[depth].statement
        if not silently and statement is not None:
            self._resume(Open(statement, goes_on=True))
            self.ledger.journal.facts.append(returned)
