"""The functions of the notebook that are running, and the statement that each of them is at."""

from __future__ import annotations

import inspect
from collections import Counter
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from memory_stage.model.entries import TensorEntry
from memory_stage.model.statement import Statement
from memory_stage.recorder.source import ProgramSource


@dataclass
class Activation:
    """The top level of the program, or a running function of the notebook.

    Attributes:
        function: its name; empty for the top level.
        frame: id of its frame, to which nothing refers; 0 for the top level.
        code: its code object: a later frame may get the id of a freed one.
        statement: the running statement.
        run: number of that statement's execution.
        passes: of its loops, by the hook of their heads.
        names: its local names for tensors.
        full_name: its name with the class that the function is a method of.
        number: 2 for a function that runs inside itself, and so on.
        since: the step in which it was entered or resumed.
        value: the tensor that it returned or yielded last, if that was one.
        inside: all tensors in the value that it returned or yielded last.
        named_below: the next activation below it that has local names. A deep stack has few of these.
        looping_below: the next activation below it that is in a loop.
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
        """The place of its local names in a sentence: ``f``, or ``f (2)`` for the second one that runs."""
        return f"{self.function} ({self.number})" if self.number > 1 else self.function


class Stack:
    """The running functions of the notebook, and the suspended generators.

    Attributes:
        activations: the top level first.
    """

    def __init__(self, source: ProgramSource) -> None:
        self.activations = [Activation("", 0)]
        self._source = source
        self._counts: Counter[str] = Counter()  # of running functions, by name
        self._suspended: dict[int, Activation] = {}  # generators, by the id of their frame

    @property
    def top(self) -> Activation:
        """The activation that runs."""
        return self.activations[-1]

    def push(self, frame: FrameType, step: int, of_class: str = "") -> None:
        """Add the function of ``frame``, which is entered, or resumed, in ``step``."""
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
            The local names that a generator had when it was suspended; None for a function without a record of that.
        """
        self.push(frame, step)
        suspended = self._suspended.pop(id(frame), None)
        if suspended is None or suspended.code is not frame.f_code:
            return None
        self.top.full_name = suspended.full_name
        return suspended.names

    def pop(self, depth: int) -> None:
        """Remove the activations above ``depth``; generators among them may be resumed."""
        for each in self.activations[depth + 1 :]:
            self._counts[each.function] -= 1
            if each.is_generator:
                self._suspended[each.frame] = each
        del self.activations[depth + 1 :]

    def depth_of(self, frame: FrameType) -> int | None:
        """Return the position of the activation of ``frame``, or None if it has none."""
        if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            return 0
        for depth in range(len(self.activations) - 1, 0, -1):
            if self.activations[depth].frame == id(frame) and self.activations[depth].code is frame.f_code:
                return depth
        return None

    def named(self) -> list[Activation]:
        """Return the running activation and those that have local names, the outermost first."""
        return self._chain("named_below")

    def passes(self) -> list[list[int]]:
        """Return the line of each running loop's head, and the number of its pass; the outermost first."""
        return [
            [self._source.line_of(self._source.statements[loop]), activation.passes[loop]]
            for activation in self._chain("looping_below")
            for loop in (activation.statement.loops if activation.statement is not None else ())
            if loop in activation.passes
        ]

    def lines(self, with_top: bool) -> dict[int, str]:
        """Return the line of each running statement, in words, by the number of its execution."""
        running = self.activations if with_top else self.activations[:-1]
        found = ((each.run, each.statement) for each in running)
        return {run: f"line {self._source.line_of(statement)}" for run, statement in found if statement is not None}

    def _chain(self, below: str) -> list[Activation]:
        found: list[Any] = [self.top]
        while (each := getattr(found[-1], below)) is not None:
            found.append(each)
        return found[::-1]
