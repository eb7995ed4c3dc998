"""The recorder, first part: the source that a trace shows, and which line of it a statement is on.

* Every statement of the program has the line that it has in the program's own text.
* The source of a function that was defined elsewhere stands below the program once, however often it runs.
* No frame and no object of the program is held; code objects are.
"""

from __future__ import annotations

import inspect
import linecache
from types import CodeType

from memory_stage.model.statement import Statement
from memory_stage.recorder import instrument
from memory_stage.recorder.instrument import Hooks


class Lines:
    """The lines of a trace, and the code with hooks whose statements are on them."""

    def __init__(self, source: str, file: str) -> None:
        self.hooks = Hooks(source, file)
        self.statements = self.hooks.statements
        self.code = source.splitlines() or [""]
        self.asked: set[str] = set()  # files of the functions that the caller asked for by themselves
        self._codes: dict[int, Hooks] = {}
        self._keep: list[CodeType] = []  # so that the ids above stay theirs
        self._shown: dict[tuple[str, int], int] = {}  # line of another cell -> line of the trace

    def know(self, code: CodeType, of: Hooks) -> None:
        """``code`` has hooks."""
        for each in (code, *instrument.functions_in(code)):
            self._codes[id(each)] = of
            self._keep.append(each)

    @property
    def hooked_functions(self) -> list[CodeType]:
        """The functions that the program itself defines."""
        return [code for code in self._keep if self._codes[id(code)] is self.hooks and code.co_name != "<module>"]

    def line_of(self, statement: Statement) -> int:
        """The line of the trace: of the program, or of the source of a function defined elsewhere."""
        if statement.file == self.hooks.file:
            return statement.line
        return self._shown.get((statement.file, statement.line), 1)

    def _show_source(self, statement: Statement) -> None:
        """Put the source of a function of an earlier cell below the program."""
        if statement.file == self.hooks.file or (statement.file, statement.line) in self._shown:
            return
        lines = linecache.getlines(statement.file)
        last = statement.line
        body = [line.rstrip("\n") for line in inspect.getblock(lines[statement.line - 1 :])]
        self.code += [""] if statement.file in self.asked else ["", "# from an earlier cell"]
        for text in body:
            self.code.append(text)
            self._shown[statement.file, last] = len(self.code)
            last += 1
