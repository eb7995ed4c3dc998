"""Insert hooks into a program: at statements, functions, iterations and handlers, and around results.

A hook is a call of a method of :data:`HOOK`, which is a constant of the code object: no name is added to the program's
globals or to ``builtins``. Without a listener it has no effect. Lines, tracebacks and the meaning of the program stay
the same.

Why hooks and not ``sys.settrace``: before Python 3.13 a trace function written in Python makes the interpreter keep a
copy of the local variables of every traced frame. That copy would keep tensors alive after the program deletes them.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import itertools
import linecache
import os
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

from memory_stage.model.finished_step import Statement

#: The flags that future statements set in code objects.
FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)


#: The listener, which receives a hook's number, its moment ("before") and a value; None while no program is recorded.
listener: Callable[[int, str, Any], None] | None = None


class StatementHook:
    """The object whose method a program with hooks calls."""

    def reach(self, index: int, moment: str, value: Any = None) -> Any:
        """Notify the listener and return ``value``, so that a hook can be inserted around the expression of a value."""
        if listener is not None:
            listener(index, moment, value)
        return value

    def __repr__(self) -> str:
        """Return an expression, because compilers write constants of a code object into the code that they generate."""
        return f"__import__({__name__!r}, fromlist=['HOOK']).HOOK"

    def __reduce__(self) -> str:
        """Return the hook's name, so that a pickled or copied code object refers to the same hook."""
        return "HOOK"


HOOK = StatementHook()

#: The literal in place of the hook in a syntax tree, because a constant there can only be a literal. The bytes are
#: random, so that no program contains them.
_PLACEHOLDER = os.urandom(16)

_indexes = itertools.count()  # numbers are never reused, so that a recorder recognizes the hooks of its program


_KINDS: dict[type[ast.stmt], str] = {
    ast.Assign: "assign",
    ast.AnnAssign: "assign",
    ast.AugAssign: "augment",
    ast.Delete: "delete",
    ast.Expr: "expression",
    ast.Return: "return",
    ast.Raise: "raise",
    ast.For: "for",
    ast.AsyncFor: "for",
    ast.While: "while",
    ast.FunctionDef: "def",
    ast.ClassDef: "def",
}


class Hooks:
    """Insert hooks into the statements of one source text.

    Attributes:
        statements: the statements, by the number of their hook.
        heads: maps each line of a compound statement's head to the number of the statement's hook. A program reaches
            such a line again in a loop and at the end of a ``with``.
    """

    def __init__(self, source: str, file: str) -> None:
        self.source = source
        self.file = file
        self.statements: dict[int, Statement] = {}
        self.heads: dict[int, int] = {}

    def top(self, node: ast.stmt) -> tuple[int, list[ast.stmt]]:
        """Return the number of the hook of a top-level statement, and the statement with hooks inside it."""
        index = self._register(node, "")
        return index, self._inside(node, index, "")

    def module(self, tree: ast.Module) -> ast.Module:
        """Return a module with hooks inside its top-level statements, and none before them."""
        return ast.Module([part for node in tree.body for part in self.top(node)[1]], tree.type_ignores)

    def _register(self, node: ast.stmt, function: str, loops: tuple[int, ...] = (), kind: str = "") -> int:
        index = next(_indexes)
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        body = getattr(node, "body", None) or getattr(node, "cases", None)
        end = node.end_lineno or node.lineno
        if body:
            at = body[0].lineno if hasattr(body[0], "lineno") else body[0].pattern.lineno
            end = max(node.lineno, min(end, at - 1))
            for line in range(first, end + 1):
                self.heads.setdefault(line, index)
        kind = kind or _KINDS.get(type(node), "quiet")
        self.statements[index] = Statement(first, end, kind, self._text(node), self.file, function, loops)
        return index

    def _text(self, node: ast.stmt) -> str:
        value = getattr(node, "value", None) if isinstance(node, (ast.Assign, ast.AnnAssign, ast.Expr)) else None
        part: Any = value or node
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            part = node.test if isinstance(node, ast.While) else node.iter
        text = ast.get_source_segment(self.source, part) or ""
        return " ".join(text.split())

    def _call(self, node: ast.stmt, index: int, moment: str) -> ast.stmt:
        return ast.fix_missing_locations(ast.copy_location(ast.Expr(_call(index, moment)), node))

    def _around(self, value: ast.expr, index: int, moment: str) -> ast.expr:
        """Return an expression that passes a value to a hook and has the same value."""
        return ast.fix_missing_locations(ast.copy_location(_call(index, moment, value), value))

    def _body(self, nodes: list[ast.stmt], function: str, loops: tuple[int, ...] = ()) -> list[ast.stmt]:
        hooked = []
        for node in nodes:
            if isinstance(node, ast.Continue) and loops:
                hooked += [self._call(node, loops[-1], "again"), node]
                continue
            index = self._register(node, function, loops)
            if isinstance(node, ast.Return) and node.value is not None:
                node.value = self._around(node.value, index, "return")
            hooked += [self._call(node, index, "before"), *self._inside(node, index, function, loops)]
        return hooked

    def _inside(self, node: ast.stmt, index: int, function: str, loops: tuple[int, ...] = ()) -> list[ast.stmt]:
        """Return the statement with hooks in the blocks inside it."""
        if isinstance(node, ast.FunctionDef):
            node.body = self._function_body(node, index)
        elif isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    method.body = self._function_body(method, self._register(method, node.name, kind="method"))
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            turn, again = self._call(node.body[0], index, "turn"), self._call(node.body[-1], index, "again")
            node.body = [turn, *self._body(node.body, function, (*loops, index)), again]
            node.orelse = self._body(node.orelse, function, loops)
        elif isinstance(node, (ast.If, ast.With, ast.AsyncWith)):
            node.body = self._body(node.body, function, loops)
            if isinstance(node, ast.If):
                node.orelse = self._body(node.orelse, function, loops)
        elif isinstance(node, _TRIES):
            for handler in node.handlers:
                caught = self._call(handler.body[0], index, "caught")
                handler.body = [caught, *self._body(handler.body, function, loops)]
            node.body = self._body(node.body, function, loops)
            node.orelse = self._body(node.orelse, function, loops)
            if node.finalbody:
                caught = self._call(node.finalbody[0], index, "caught")
                node.finalbody = [caught, *self._body(node.finalbody, function, loops)]
        elif isinstance(node, ast.Match):
            for case in node.cases:
                case.body = self._body(case.body, function, loops)
        return [node]

    def _function_body(self, node: ast.FunctionDef, index: int) -> list[ast.stmt]:
        body = node.body
        docstring = body[:1] if ast.get_docstring(node, clean=False) is not None else []
        enter, leave = self._call(body[0], index, "enter"), self._call(body[-1], index, "leave")
        for each in body:
            _Yields(self, index).visit(each)
        inside = self._body(body[len(docstring) :], node.name)
        return [*docstring, enter, *inside, *([] if isinstance(body[-1], (ast.Return, ast.Raise)) else [leave])]


def _call(index: int, moment: str, *value: ast.expr) -> ast.Call:
    method = ast.Attribute(ast.Constant(_PLACEHOLDER), "reach", ast.Load())
    return ast.Call(method, [ast.Constant(index), ast.Constant(moment), *value], [])


class _Yields(ast.NodeTransformer):
    """Insert a hook around each value that a function yields, not counting functions inside it."""

    def __init__(self, hooks: Hooks, index: int) -> None:
        self._hooks, self._index = hooks, index

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            return node
        self.generic_visit(node)
        if isinstance(node, ast.Yield) and node.value is not None:
            node.value = self._hooks._around(node.value, self._index, "yield")
        return node


# ---------- code objects ----------

#: The syntax nodes of ``try`` and, from Python 3.11, of ``try`` with ``except*``, which have the same fields.
_TRIES: Any = (ast.Try, getattr(ast, "TryStar", ast.Try))
_INLINE = ("<lambda>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
_ASYNC = inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE | inspect.CO_ASYNC_GENERATOR


def functions_in(code: CodeType) -> Iterator[CodeType]:
    """Yield the code objects of functions defined with ``def``, not ``async def``, in ``code`` at any depth."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            flags = constant.co_flags
            if flags & inspect.CO_OPTIMIZED and not flags & _ASYNC and constant.co_name not in _INLINE:
                yield constant
            yield from functions_in(constant)


def with_hook(code: CodeType) -> CodeType:
    """Return ``code`` with the hook in place of its literal, also in the code objects inside it."""

    def constant(value: Any) -> Any:
        if isinstance(value, CodeType):
            return with_hook(value)
        return HOOK if type(value) is bytes and value == _PLACEHOLDER else value

    return code.replace(co_consts=tuple(map(constant, code.co_consts)))


def position(code: CodeType) -> tuple[str, str, int, tuple[str, ...]]:
    """Return the properties by which the code object of a function is recognized, with or without hooks."""
    return code.co_filename, code.co_name, code.co_firstlineno, code.co_freevars


def hooked_twin(code: CodeType) -> tuple[CodeType, Hooks] | None:
    """Return a function's code object with hooks, and these hooks; None if its source cannot be found or compiled."""
    source = "".join(linecache.getlines(code.co_filename))
    # The cell that defines the function may use ``await`` at its top level, and a future statement.
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | code.co_flags & FUTURE
    hooks = Hooks(source, code.co_filename)
    try:
        tree = compile(source, code.co_filename, "exec", ast.PyCF_ONLY_AST | flags, dont_inherit=True)
        whole = compile(hooks.module(tree), code.co_filename, "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    for twin in functions_in(with_hook(whole)):
        if position(twin) == position(code) and twin.co_varnames == code.co_varnames:
            return twin, hooks
    return None


def functions_of(value: Any) -> Iterator[FunctionType]:
    """Yield the Python functions of a value: a function, a bound method, a class, or an object of a class."""
    value = getattr(value, "__func__", value)
    if isinstance(value, FunctionType):
        yield value
        return
    owner = value if isinstance(value, type) else type(value)
    for member in vars(owner).values():
        member = getattr(member, "__func__", getattr(member, "fget", member))
        if isinstance(member, FunctionType):
            yield member
