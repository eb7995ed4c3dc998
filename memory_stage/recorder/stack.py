"""The running functions that are recorded (those with hooks), and the statement that each of them has reached."""

from __future__ import annotations

import inspect
from collections import Counter
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from memory_stage.model.entries import TensorEntry
from memory_stage.model.finished_step import Statement
from memory_stage.recorder.source import ProgramSource


@dataclass
class Activation:
    """The top level of the program, or a running function that is recorded.

    Attributes:
        function: the name of the function; empty for the top level.
        frame: the id of the function's frame, to which no reference is kept; 0 for the top level.
        code: the function's code object. It distinguishes two frames if a later frame gets the id of a freed one.
        statement: the statement that is running.
        run: the number of the execution of that statement.
        passes: the number of the present iteration of each loop, by the hook of the loop's head.
        names: the function's local names for tensors.
        full_name: the function's name; for a method, with its class.
        number: the number of this call among the running calls of functions with this name, counted from 1.
        since: the step in which the function was called or resumed.
        value: the value that the function returned or yielded last, if that was a tensor; otherwise None.
        inside: all tensors in the value that the function returned or yielded last.
        named_below: the next activation below this one that has local names. It makes the search of a deep stack fast.
        looping_below: the next activation below this one that is in a loop.
    """

    function: str
    frame: int
    code: CodeType | None = None
    statement: Statement | None = None
    run: int = 0
    passes: dict[int, int] = field(default_factory=dict)
    names: dict[str, TensorEntry] = field(default_factory=dict)
    full_name: str = ""
    is_generator: bool = False
    number: int = 1
    since: int = 0
    value: TensorEntry | None = None
    inside: list[TensorEntry] = field(default_factory=list)
    named_below: Activation | None = None
    looping_below: Activation | None = None

    @property
    def place(self) -> str:
        """Words for the function in names of local variables: ``f``, or ``f (2)`` for its second running call."""
        return f"{self.function} ({self.number})" if self.number > 1 else self.function


class Stack:
    """The running functions that are recorded, and the suspended generators.

    Attributes:
        activations: all activations, the top level first.
    """

    def __init__(self, source: ProgramSource) -> None:
        self.activations = [Activation("", 0)]
        self._source = source
        self._counts: Counter[str] = Counter()  # the number of running calls of each function, by name
        self._suspended: dict[int, Activation] = {}  # suspended generators, by the id of their frame

    @property
    def top(self) -> Activation:
        """The activation that is running."""
        return self.activations[-1]

    def push(self, frame: FrameType, step: int, of_class: str = "") -> None:
        """Add the function of ``frame``, which is called or resumed in ``step``."""
        code, top = frame.f_code, self.top
        self._counts[code.co_name] += 1
        self.activations.append(
            Activation(
                code.co_name,
                id(frame),
                code,
                full_name=of_class + code.co_name,
                is_generator=bool(code.co_flags & inspect.CO_GENERATOR),
                number=self._counts[code.co_name],
                since=step,
                named_below=top if top.names else top.named_below,
                looping_below=top if top.passes else top.looping_below,
            )
        )

    def resume(self, frame: FrameType, step: int) -> dict[str, TensorEntry] | None:
        """Add the function of ``frame``, which is resumed in ``step``.

        Returns:
            The local names that a generator had when it was suspended; None if its suspension was not recorded.
        """
        self.push(frame, step)
        suspended = self._suspended.pop(id(frame), None)
        if suspended is None or suspended.code is not frame.f_code:
            return None
        self.top.full_name = suspended.full_name
        return suspended.names

    def pop(self, depth: int) -> None:
        """Remove the activations above ``depth``. Generators among them may be resumed later."""
        for each in self.activations[depth + 1 :]:
            self._counts[each.function] -= 1
            if each.is_generator:
                self._suspended[each.frame] = each
        del self.activations[depth + 1 :]

    def depth_of(self, frame: FrameType) -> int | None:
        """Return the position of the activation of ``frame``; None if it has none."""
        if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            return 0
        for depth in range(len(self.activations) - 1, 0, -1):
            if self.activations[depth].frame == id(frame) and self.activations[depth].code is frame.f_code:
                return depth
        return None

    def named(self) -> list[Activation]:
        """Return the running activation and all others that have local names, the outermost first."""
        return self._chain("named_below")

    def passes(self) -> list[list[int]]:
        """Return the line of each running loop's head and the number of its iteration, the outermost first."""
        return [
            [self._source.line_of(self._source.statements[loop]), activation.passes[loop]]
            for activation in self._chain("looping_below")
            for loop in (activation.statement.loops if activation.statement is not None else ())
            if loop in activation.passes
        ]

    def lines(self, with_top: bool) -> dict[int, str]:
        """Return the line of each running statement as text, by the number of the statement's execution."""
        running = self.activations if with_top else self.activations[:-1]
        found = ((each.run, each.statement) for each in running)
        return {run: f"line {self._source.line_of(statement)}" for run, statement in found if statement is not None}

    def _chain(self, below: str) -> list[Activation]:
        found: list[Any] = [self.top]
        while (each := getattr(found[-1], below)) is not None:
            found.append(each)
        return found[::-1]
