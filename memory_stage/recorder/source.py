"""The text of a recorded program, its code with hooks, and the functions of other cells that it calls."""

from __future__ import annotations

import ast
import gc
import inspect
import linecache
import weakref
from types import CodeType, FunctionType
from typing import Any

from memory_stage.messages import Text, message
from memory_stage.model.finished_step import Statement
from memory_stage.recorder import instrument
from memory_stage.recorder.instrument import Hooks


class ProgramSource:
    """The lines of a trace, and the code objects with hooks for the statements on these lines.

    A ``ProgramSource`` refers to code objects of the program, to no frame, and to other objects only weakly.

    Attributes:
        tree: the syntax tree of the program, into whose nodes :meth:`compile` puts hooks.
        plain: the code object of the program without hooks.
        statements: the statements by the number of their hook, including those of functions that are defined elsewhere.
        lines: the lines of the program, and below them those of each called function that is defined elsewhere.
        requested: the files of the functions that the recorder's caller asked to record.

    Raises:
        SyntaxError: if the source cannot be compiled.
    """

    def __init__(self, source: str, file: str, flags: int = 0) -> None:
        self.tree = compile(source, file, "exec", ast.PyCF_ONLY_AST | flags, dont_inherit=True)
        self.plain = compile(self.tree, file, "exec", flags, dont_inherit=True)
        self.lines: list[Text] = list(source.splitlines() or [""])
        self.requested: set[str] = set()
        self._file = file
        self._flags = flags
        self._hooks = Hooks(source, file)
        self.statements = self._hooks.statements
        # by the id of the code object, because comparing two code objects is slow
        self._codes: dict[int, tuple[CodeType, Hooks]] = {}
        # functions defined elsewhere, each with its code object without hooks
        self._functions: list[tuple[weakref.ref[FunctionType], CodeType]] = []
        self._has_new_hooks = False
        self._shown: dict[tuple[str, int], int] = {}  # maps a file and line of another cell to a line of the trace

    # ---------- code with hooks ----------

    def compile(self, statement: ast.stmt, display: bool) -> tuple[int, CodeType]:
        """Return the number of the hook of a top-level statement, and the statement's code object with hooks.

        Args:
            display: True to pass the value of the statement, an expression, to ``sys.displayhook``.
        """
        index, hooked = self._hooks.top(statement)
        code = instrument.with_hook(self._compile(hooked, display))
        self._add(code, self._hooks)
        return index, code

    def compile_plain(self, statement: ast.stmt, display: bool) -> CodeType:
        """Return the code object of a top-level statement without hooks."""
        return self._compile([statement], display)

    def _compile(self, nodes: list[ast.stmt], display: bool) -> CodeType:
        whole: Any = ast.Interactive(nodes) if display else ast.Module(nodes, self.tree.type_ignores)
        code = compile(whole, self._file, "single" if display else "exec", self._flags, dont_inherit=True)
        self._flags |= code.co_flags & instrument.FUTURE
        return code

    def hook(self, function: FunctionType) -> None:
        """Insert hooks into a function that is defined elsewhere, if its source is known."""
        code = function.__code__
        found = instrument.hooked_twin(code)
        if found is not None:
            twin, hooks = found
            self._add(twin, hooks)
            self.statements.update(hooks.statements)
            self._functions.append((weakref.ref(function), code))
            function.__code__ = twin

    def _add(self, code: CodeType, hooks: Hooks) -> None:
        for each in (code, *instrument.functions_in(code)):
            self._codes[id(each)] = each, hooks
            self._has_new_hooks |= each.co_name != "<module>"

    def remove_new_hooks(self) -> None:
        """Remove the hooks of all functions if any function got hooks since they were last removed."""
        if self._has_new_hooks:
            self.remove_hooks()

    def remove_hooks(self) -> None:
        """Restore every function's code object without hooks. Calls in progress keep their hooks."""
        self._has_new_hooks = False
        plain = [self.plain]
        for reference, code in self._functions:
            plain.append(code)
            if (function := reference()) is not None:
                function.__code__ = code
        twins = {instrument.position(code): code for each in plain for code in instrument.functions_in(each)}
        hooked = {key: code for key, (code, _) in self._codes.items() if instrument.position(code) in twins}
        for function in gc.get_referrers(*hooked.values()) if hooked else ():
            if isinstance(function, FunctionType) and id(function.__code__) in hooked:
                function.__code__ = twins[instrument.position(function.__code__)]

    def has(self, code: CodeType) -> bool:
        """Return True if a code object has hooks."""
        return id(code) in self._codes

    def head_at(self, code: CodeType, line: int) -> Statement | None:
        """Return the compound statement whose head is on a line of a code object with hooks; None if there is none."""
        hooks = self._codes[id(code)][1]
        return hooks.statements.get(hooks.heads.get(line, -1))

    def statement_at(self, code: CodeType, line: int) -> Statement | None:
        """Return the innermost statement on a line of a code object with hooks; None if there is none."""
        found = [each for each in self._codes[id(code)][1].statements.values() if each.line <= line <= each.end]
        return max(found, key=lambda each: each.line, default=None)

    # ---------- lines of the trace ----------

    def line_of(self, statement: Statement) -> int:
        """Return the line of the trace on which a statement starts."""
        if statement.file == self._file:
            return statement.line
        return self._shown.get((statement.file, statement.line), 1)

    def line_at(self, code: CodeType, line: int) -> int | None:
        """Return the line of the trace for a line of a code object; None if the trace does not show it."""
        if not self.has(code) or not line:
            return None
        return line if code.co_filename == self._file else self._shown.get((code.co_filename, line))

    def show(self, function: Statement) -> None:
        """Add the text of a function to the trace, unless the program contains it or it was added before."""
        file, line = function.file, function.line
        if file == self._file or (file, line) in self._shown:
            return
        self.lines += [""] if file in self.requested else ["", message("# from an earlier cell")]
        for number, text in enumerate(inspect.getblock(linecache.getlines(file)[line - 1 :]), line):
            self.lines.append(text.rstrip("\n"))
            self._shown[file, number] = len(self.lines)
