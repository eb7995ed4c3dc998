"""The text of a recorded program, its code with hooks, and the functions of earlier cells that it calls."""

from __future__ import annotations

import inspect
import linecache
from types import CodeType

from memory_stage.model.statement import Statement
from memory_stage.recorder import instrument
from memory_stage.recorder.instrument import Hooks


class ProgramSource:
    """The lines of a trace, and the code objects with hooks whose statements are on these lines.

    It refers to code objects, but to no frame and no other object of the program.

    Attributes:
        hooks: the hooks of the program itself.
        statements: by the number of their hook; also those of functions that are defined elsewhere.
        lines: the text of the program, and below it each called function that is defined elsewhere.
        requested: files of functions that the caller of the recorder asked for.
    """

    def __init__(self, source: str, file: str) -> None:
        self.hooks = Hooks(source, file)
        self.statements = self.hooks.statements
        self.lines = source.splitlines() or [""]
        self.requested: set[str] = set()
        self._codes: dict[int, tuple[CodeType, Hooks]] = {}  # by id, since comparing two code objects is slow
        self._shown: dict[tuple[str, int], int] = {}  # file and line of another cell -> line of the trace

    def add(self, code: CodeType, hooks: Hooks) -> None:
        """Add a code object that has ``hooks``, and the functions in it."""
        if hooks is not self.hooks:
            self.statements.update(hooks.statements)
        for each in (code, *instrument.functions_in(code)):
            self._codes[id(each)] = each, hooks

    def has(self, code: CodeType) -> bool:
        """Return True if a code object has hooks."""
        return id(code) in self._codes

    @property
    def functions(self) -> list[CodeType]:
        """The functions that the program itself defines."""
        own = self.hooks
        return [code for code, hooks in self._codes.values() if hooks is own and code.co_name != "<module>"]

    def head_at(self, code: CodeType, line: int) -> Statement | None:
        """Return the compound statement whose head is on a line of a code object with hooks, if there is one."""
        hooks = self._codes[id(code)][1]
        return hooks.statements.get(hooks.heads.get(line, -1))

    def line_of(self, statement: Statement) -> int:
        """Return the line of the trace on which a statement starts."""
        if statement.file == self.hooks.file:
            return statement.line
        return self._shown.get((statement.file, statement.line), 1)

    def line_at(self, code: CodeType, line: int) -> int | None:
        """Return the line of the trace for a line of a code object; None if the trace does not show it."""
        if not self.has(code) or not line:
            return None
        return line if code.co_filename == self.hooks.file else self._shown.get((code.co_filename, line))

    def show(self, function: Statement) -> None:
        """Add the text of a function to the trace, unless it is part of the program or was added before."""
        file, line = function.file, function.line
        if file == self.hooks.file or (file, line) in self._shown:
            return
        self.lines += [""] if file in self.requested else ["", "# from an earlier cell"]
        for number, text in enumerate(inspect.getblock(linecache.getlines(file)[line - 1 :]), line):
            self.lines.append(text.rstrip("\n"))
            self._shown[file, number] = len(self.lines)
