"""The recorder, second part: which functions of the notebook run, and where each of them is.

* Calls stand on a stack, the top level of the program first. A frame is known by its id, never held.
* Of each: the statement it is at, the number of that statement's execution, and the passes of its loops.
"""

from __future__ import annotations

import inspect
from collections import Counter
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from memory_stage.model.statement import Statement
from memory_stage.recorder.lines import Lines


@dataclass
class Activation:
    """The top level of the program, or a function of the notebook that is running."""

    function: str
    frame: int  # id; 0 for the top level
    code: CodeType | None = None  # that it runs: a later frame may get the id of one that is gone
    statement: Statement | None = None
    run: int = 0  # number of the statement's execution
    passes: dict[int, int] = field(default_factory=dict)  # of its loops, by the hook of their heads
    names: dict[str, Any] = field(default_factory=dict)  # local name -> TensorEntry
    full_name: str = ""  # with the class that the function is a method of
    is_generator: bool = False
    # Of a deep stack few matter: the next one below that has local names for tensors, and that is in a loop.
    named_below: Activation | None = None
    looping_below: Activation | None = None
    number: int = 1  # 2 for a function that runs inside itself, and so on
    since: int = 0  # the step in which it began, or went on
    value: Any = None  # TensorEntry of what it returned or yielded last
    inside: list[Any] = field(default_factory=list)  # TensorEntry of each tensor in that

    @property
    def place(self) -> str:
        """What its local names are told to be in: ``f``, or ``f (2)`` for the second one that runs."""
        return f"{self.function} ({self.number})" if self.number > 1 else self.function


def chain(last: Activation | None, below: str) -> list[Activation]:
    """``last`` and those that ``below`` leads to, the outermost first."""
    found = []
    while last is not None:
        found.append(last)
        last = getattr(last, below)
    return found[::-1]


class Running(Lines):
    """The stack of what runs, told in lines of the trace."""

    def __init__(self, source: str, file: str) -> None:
        super().__init__(source, file)
        self.stack = [Activation("", 0)]
        self._counts: Counter[str] = Counter()  # of what runs, by function

    def _push(self, frame: FrameType, of_class: str = "") -> None:
        """``frame`` begins, or goes on as a generator does."""
        code = frame.f_code
        generates = bool(code.co_flags & inspect.CO_GENERATOR)
        top = self.stack[-1]
        self._counts[code.co_name] += 1
        self.stack.append(
            Activation(
                code.co_name,
                id(frame),
                code,
                full_name=of_class + code.co_name,
                is_generator=generates,
                number=self._counts[code.co_name],
                named_below=top if top.names else top.named_below,
                looping_below=top if top.passes else top.looping_below,
                since=self.steps_so_far(),
            )
        )

    def _pop(self, depth: int) -> list[Activation]:
        """What stands above ``depth`` on the stack is done, and is taken away."""
        done = self.stack[depth + 1 :]
        del self.stack[depth + 1 :]
        self._counts.subtract(each.function for each in done)
        return done

    def steps_so_far(self) -> int:
        """The number of the step that is going on."""
        raise NotImplementedError

    def _depth(self, frame: FrameType) -> int | None:
        """Where ``frame`` stands on the stack; None when it is not there."""
        if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            return 0
        for depth in range(len(self.stack) - 1, 0, -1):
            if self.stack[depth].frame == id(frame) and self.stack[depth].code is frame.f_code:
                return depth
        return None

    def _passes(self) -> list[list[int]]:
        """The loops that the program is in, as lines of their heads, and the pass of each."""
        return [
            [self.line_of(self.statements[loop]), activation.passes[loop]]
            for activation in chain(self.stack[-1], "looping_below")
            for loop in (activation.statement.loops if activation.statement is not None else ())
            if loop in activation.passes
        ]

    def _running(self, last_too: bool) -> dict[int, str]:
        """Where each statement that is not done stands, by the number of its execution."""
        stack = self.stack if last_too else self.stack[:-1]
        return {each.run: f"line {self.line_of(each.statement)}" for each in stack if each.statement is not None}
