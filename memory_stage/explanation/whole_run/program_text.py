"""The source of a program: find its statements, and make edits."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from typing import Any

from memory_stage.explanation.whole_run.faults import Edit
from memory_stage.watch.lines import ProgramLine


class ProgramText:
    """The source of one file.

    Args:
        file: the name of a file, or the name that Python has given a notebook's cell, as in ``co_filename``.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.lines = [line.rstrip("\n") for line in linecache.getlines(file)]
        try:
            self.tree: ast.Module | None = ast.parse("\n".join(self.lines))
        except SyntaxError:  # a cell with commands of the notebook
            self.tree = None

    def statement_at(self, line: int) -> ast.stmt | None:
        """Return the innermost statement that contains a line, or None."""
        found: ast.stmt | None = None
        for each in self.statements():
            is_around = each.lineno <= line <= (each.end_lineno or 0)
            if is_around and (found is None or each.lineno >= found.lineno):
                found = each
        return found

    def function_at(self, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """Return the innermost function whose body contains a line, or None."""
        found = None
        for node in self.nodes():
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or line > (node.end_lineno or 0):
                continue
            if node.lineno < line or node.body[0].lineno == line:  # a short body may follow in the line of ``def``
                found = node if found is None or node.lineno > found.lineno else found
        return found

    def line_of(self, node: ast.stmt | ast.expr) -> ProgramLine:
        """Return the first line of a node."""
        return ProgramLine(self.file, node.lineno, "")

    def replace(self, statement: ast.stmt | None, *texts: str) -> tuple[Edit, ...]:
        """Return the edit that replaces a statement by others, or removes it if there are none.

        This and the next two methods return () if there is no statement, or if it shares its lines with another.
        """
        return self._edit(statement, texts, replaces=True)

    def insert_before(self, statement: ast.stmt | None, *texts: str) -> tuple[Edit, ...]:
        """Return the edit that inserts statements before another."""
        return self._edit(statement, texts)

    def insert_after(self, statement: ast.stmt | None, *texts: str) -> tuple[Edit, ...]:
        """Return the edit that inserts statements after another."""
        return self._edit(statement, texts, is_after=True)

    def _edit(
        self, statement: ast.stmt | None, texts: tuple[str, ...], replaces: bool = False, is_after: bool = False
    ) -> tuple[Edit, ...]:
        if statement is None or not self.is_alone(statement):
            return ()
        decorated = getattr(statement, "decorator_list", [])
        first = min(each.lineno for each in [statement, *decorated])
        end = (statement.end_lineno or statement.lineno) + 1
        lines = tuple(self._indent(first) + text for text in texts)
        return (Edit(end if is_after else first, end - first if replaces else 0, lines),)

    def block_of(self, statement: ast.stmt) -> list[ast.stmt]:
        """Return the statements of the block that contains a statement."""
        for node in self.nodes():
            for block in ("body", "orelse", "finalbody"):
                statements = getattr(node, block, None)
                if isinstance(statements, list) and statement in statements:
                    return statements
        return [statement]

    def siblings_after(self, statement: ast.stmt) -> list[ast.stmt]:
        """Return the statements that follow a statement in the same block."""
        block = self.block_of(statement)
        return block[block.index(statement) + 1 :]

    def wrapped_in_block(self, header: str, statements: list[ast.stmt]) -> Edit:
        """Return the edit that puts successive statements into a block, such as ``with torch.no_grad():``."""
        first, last = statements[0].lineno, statements[-1].end_lineno or statements[-1].lineno
        indent = self._indent(first)
        sources = [line for each in statements for line in ast.unparse(each).splitlines()]
        return Edit(first, last - first + 1, (indent + header, *(f"{indent}    {line}" for line in sources)))

    def is_alone(self, statement: ast.stmt) -> bool:
        """Return True if a statement shares its lines with no other, so that its lines can be replaced."""
        first, last = self.lines[statement.lineno - 1], self.lines[(statement.end_lineno or 0) - 1]
        before = first.encode()[: statement.col_offset].decode().strip()
        after = last.encode()[statement.end_col_offset or 0 :].decode().strip()
        return not before and after.removeprefix(";").strip()[:1] in ("", "#")

    def loops_around(self, line: int) -> list[ast.For]:
        """Return the ``for`` loops around a line, the outermost first."""
        loops = [each for each in self.nodes() if isinstance(each, ast.For)]
        return [each for each in loops if each.lineno < line <= (each.end_lineno or 0)]

    def carried_names(self, loop: ast.For | ast.While) -> list[str]:
        """Return the variables that a loop reads and then assigns, so that the next iteration reads the new value."""
        seen: set[str] = set()
        read_first: list[str] = []
        assigned: set[str] = set()
        for statement in sorted(self._statements_in(loop), key=lambda each: each.lineno):
            assigned |= {path_of_target(statement)} if isinstance(statement, ast.Assign) else set()  # of ``x[i] = y``
            names = [each for each in ast.walk(statement) if isinstance(each, ast.Name)]
            for each in sorted(names, key=lambda name: isinstance(name.ctx, ast.Store)):
                if isinstance(each.ctx, ast.Store):
                    assigned.add(each.id)
                elif each.id not in seen:
                    read_first.append(each.id)
                seen.add(each.id)
        return [name for name in dict.fromkeys(read_first) if name in assigned]

    @staticmethod
    def _statements_in(loop: ast.For | ast.While) -> list[ast.stmt]:
        """Return the simple statements of a loop's body."""
        found = [each for part in loop.body for each in ast.walk(part) if isinstance(each, ast.stmt)]
        return [each for each in found if not hasattr(each, "body")]

    def blocks_around(self, line: int) -> bool:
        """Return True if a loop, a condition or a ``try`` contains a line."""
        kinds = (ast.For, ast.While, ast.If, ast.Try)
        return any(isinstance(each, kinds) and each.lineno < line <= (each.end_lineno or 0) for each in self.nodes())

    def statements(self) -> list[ast.stmt]:
        """Return all statements of the file."""
        return [each for each in self.nodes() if isinstance(each, ast.stmt)]

    def has(self, pattern: str) -> bool:
        """Return True if a line of the file matches a regular expression."""
        return any(re.search(pattern, line) for line in self.lines)

    def calls(self, *names: str) -> list[ast.Call]:
        """Return the calls of functions or methods with one of these names."""
        return [each for each in self.nodes() if isinstance(each, ast.Call) and name_of(each.func) in names]

    def assigned_attributes(self) -> list[str]:
        """Return the attributes, such as ``self.hidden``, that statements outside ``__init__`` assign or write."""
        found: dict[str, None] = {}
        for each in self.statements():
            function = self.function_at(each.lineno)
            if function is None or function.name != "__init__":
                found |= {ast.unparse(x): None for x in _stored_attributes(each)}
        return list(found)

    def targets_of_none(self) -> list[ast.expr]:
        """Return the names and attributes to which a statement assigns None, alone or as a part of a tuple."""
        found = []
        for each in self.statements():
            if not isinstance(each, (ast.Assign, ast.AnnAssign)) or each.value is None:
                continue
            for target in each.targets if isinstance(each, ast.Assign) else [each.target]:
                is_tuple = isinstance(target, ast.Tuple) and isinstance(each.value, ast.Tuple)
                parts = target.elts if is_tuple else [target]  # type: ignore[attr-defined]  # checked above
                values = each.value.elts if is_tuple else [each.value]  # type: ignore[attr-defined]
                pairs = zip(parts, values, strict=False)
                found += [part for part, value in pairs if isinstance(value, ast.Constant) and value.value is None]
        return found

    def element_of(self, expression: ast.expr, line: int) -> str | None:
        """Return the expression with which a list comprehension made an entry of a list; None if there is none.

        For ``rows[k]`` this is ``x[k]``, if ``rows = [x[i] for i in range(n)]`` is the only assignment to ``rows``.
        """
        if not isinstance(expression, ast.Subscript) or isinstance(expression.slice, ast.Slice):
            return None
        name = ast.unparse(expression.value)
        made = [
            each.value
            for each in self.statements()
            if isinstance(each, ast.Assign) and name in [ast.unparse(target) for target in each.targets]
        ]
        if len(made) != 1 or not isinstance(made[0], ast.ListComp) or len(made[0].generators) != 1:
            return None
        (loop,) = made[0].generators
        is_counted = isinstance(loop.iter, ast.Call) and ast.unparse(loop.iter.func) == "range" and not loop.ifs
        if not is_counted or len(loop.iter.args) != 1 or not isinstance(loop.target, ast.Name):  # type: ignore[attr-defined]
            return None
        function, making = self.function_at(line), self.function_at(made[0].lineno)
        names = names_in(made[0].elt) - {loop.target.id}
        if making is not None and making is not function and not names <= {"self"}:
            return None  # the other variables may differ in another function
        index = loop.target.id
        return ast.unparse(_Renamed(index, expression.slice).visit(ast.parse(ast.unparse(made[0].elt), mode="eval")))

    def wrapped(self, expression: ast.expr, pattern: str) -> tuple[Edit, ...]:
        """Return the edit that puts an expression into a pattern such as ``{}.clone()``; () if it has several lines.

        If the pattern calls a method, an operation gets parentheses.
        """
        if expression.lineno != expression.end_lineno:
            return ()
        line = self.lines[expression.lineno - 1].encode()
        first, last = expression.col_offset, expression.end_col_offset or 0
        source = line[first:last].decode()
        source = in_parentheses(expression, source) if pattern.startswith("{}.") else source
        new = line[:first] + pattern.format(source).encode() + line[last:]
        return (Edit(expression.lineno, 1, (new.decode(),)),)

    def replaced(self, expression: ast.expr, source: str) -> tuple[Edit, ...]:
        """Return the edit that puts ``source`` in place of an expression; () if the expression has several lines."""
        return self.wrapped(expression, source.replace("{", "{{").replace("}", "}}"))

    def without_keyword(self, keyword: str, *functions: str) -> tuple[Edit, ...]:
        """Return the edits that set ``keyword=True`` to False in all calls, or only in those of ``functions``.

        The layer of a function counts, too: ``ReLU`` for ``relu``.
        """
        edits: dict[int, str] = {}
        for call in [each for each in self.nodes() if isinstance(each, ast.Call)]:
            name = name_of(call.func)
            for argument in call.keywords:
                is_set = argument.arg == keyword and getattr(argument.value, "value", None) is True
                if is_set and (not functions or name.lower() in {each.replace("_", "") for each in functions}):
                    line = edits.get(argument.value.lineno, self.lines[argument.value.lineno - 1])
                    edits[argument.value.lineno] = re.sub(
                        rf"(\b{re.escape(name)}\([^()]*{keyword}\s*=\s*)True", r"\1False", line
                    )
        return tuple(Edit(number, 1, (line,)) for number, line in edits.items() if line != self.lines[number - 1])

    def _indent(self, line: int) -> str:
        text = self.lines[line - 1]
        return text[: len(text) - len(text.lstrip())]

    def nodes(self) -> Iterator[ast.AST]:
        """Yield all nodes of the file's syntax tree."""
        return iter(()) if self.tree is None else ast.walk(self.tree)


def _stored_attributes(statement: ast.stmt) -> list[ast.Attribute]:
    """Return the attributes of ``self.h = x``, ``self.h[i] = x``, ``self.h += x`` and ``self.h.copy_(x)``."""
    if isinstance(statement, ast.Assign):
        parts = [node for target in statement.targets for node in ast.walk(target)]
        written = [node.value for node in parts if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)]
        stored = [node for node in parts if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)]
        return stored + [node for node in written if isinstance(node, ast.Attribute)]
    target = None
    if isinstance(statement, ast.AugAssign):
        target = statement.target.value if isinstance(statement.target, ast.Subscript) else statement.target
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        target = statement.value.func
        while isinstance(target, ast.Attribute) and target.attr.endswith("_") and not target.attr.endswith("__"):
            target = target.value
            target = target.func if isinstance(target, ast.Call) else target
        target = None if target is statement.value.func else target
    return [target] if isinstance(target, ast.Attribute) else []


class _Renamed(ast.NodeTransformer):
    """Replaces a name in an expression by another expression."""

    def __init__(self, name: str, by: ast.expr) -> None:
        self._name, self._by = name, by

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._by if node.id == self._name else node


def name_of(function: Any) -> str:
    """Return the name of the function or method that an expression denotes, or ""."""
    return str(getattr(function, "attr", getattr(function, "id", "")))


def owner_of(call: ast.Call) -> str:
    """Return the code of the object whose method a call runs, or ""."""
    return ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""


def names_in(node: ast.AST) -> set[str]:
    """Return the names that a piece of a program reads or assigns."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def assigned_names(statement: ast.AST) -> set[str]:
    """Return the names that a statement assigns."""
    return {each.id for each in ast.walk(statement) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def differentiated(statement: ast.stmt) -> str:
    """Return the variable from which a statement runs backward, or ""."""
    for call in ast.walk(statement):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "backward":
            owner = call.func.value
            if isinstance(owner, ast.Name) and not call.args:
                return owner.id
    return ""


def target_of(statement: ast.stmt) -> str:
    """Return the plain name of the tensor that a statement writes into, or ""."""
    path = path_of_target(statement)
    return path if path.isidentifier() else ""


def path_of_target(statement: ast.stmt) -> str:
    """Return the name or the attributes, such as ``self.w``, of the tensor that a statement writes into, or ""."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        written = function.value if isinstance(function, ast.Attribute) else None
        while isinstance(written, (ast.Call, ast.Subscript)):
            written = written.value if isinstance(written, ast.Subscript) else getattr(written.func, "value", None)
    elif isinstance(statement, ast.AugAssign) or (
        isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript)
    ):
        written = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        while isinstance(written, ast.Subscript):
            written = written.value
    else:
        return ""
    return ast.unparse(written) if isinstance(written, (ast.Name, ast.Attribute)) else ""


def assigned_name(line: ProgramLine) -> str:
    """Return the variable or attribute to which the statement in a line assigns its value, or ""."""
    statement = ProgramText(line.file).statement_at(line.number)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    is_name = len(targets) == 1 and isinstance(targets[0], (ast.Name, ast.Attribute))
    return ast.unparse(targets[0]) if is_name else ""


def writes_array(statement: ast.stmt, name: str) -> bool:
    """Return True if a statement writes in place into the NumPy array that a name or an attribute denotes."""
    if isinstance(statement, (ast.Assign, ast.AugAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            if isinstance(target, ast.Subscript) or isinstance(statement, ast.AugAssign):
                while isinstance(target, ast.Subscript):
                    target = target.value
                if ast.unparse(target) == name:
                    return True
    if not isinstance(statement, (ast.Assign, ast.Expr)):
        return False
    return any(_call_writes(each, name) for each in ast.walk(statement) if isinstance(each, ast.Call))


def _call_writes(call: ast.Call, name: str) -> bool:
    if any(each.arg == "out" and ast.unparse(each.value) == name for each in call.keywords):
        return True
    function = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == name:
        return function in ("fill", "sort", "partition", "put", "resize", "setfield")
    names = ("copyto", "put", "place", "putmask", "shuffle", "readinto", "fill_diagonal", "put_along_axis")
    return function in names and bool(call.args) and ast.unparse(call.args[0]) == name


def is_fed_back(text: ProgramText, name: str) -> bool:
    """Return True if a statement of the program computes the variable ``name`` from its last value."""
    found = [each for each in text.statements() if name in assigned_names(each)]
    return any(isinstance(x, ast.AugAssign) or (isinstance(x, ast.Assign) and name in names_in(x.value)) for x in found)


def in_parentheses(expression: ast.expr, source: str) -> str:
    """Return the source of an expression, in parentheses if it is an operation, so that a method may follow."""
    return source if isinstance(expression, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else f"({source})"
