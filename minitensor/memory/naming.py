"""Find the names of tensors in a program while it is observed.

A name that the program set (``x.name = "weights"``) has priority. Otherwise the name is read from the source text: in
``h = x @ w`` the result is named ``h``, and in ``h.add_(1.0)`` the written tensor is named ``h``. The variables of
running functions and of their modules are read only for a snapshot and at the start of a recording.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

from minitensor.engine.core.storage import CallSite
from minitensor.engine.core.tensor import Tensor
from minitensor.memory.reachable_names import tensors_in
from minitensor.memory.source_lines import Site, Sources, is_engines, position_in, position_of

#: The prefix of the names that :attr:`Tensor.name` generates if the program has set no name.
_GENERATED = "generated_tensor_"


def given_name(x: Tensor) -> str:
    """Return the name that the program has set, ``x.name = ...``; empty if it has set none."""
    extra = getattr(x, "_extra", None)
    name = extra.name if extra is not None else None
    return name if name and not name.startswith(_GENERATED) else ""


class Naming:
    """Read the names of tensors from source text, and cache the name at each position in the code."""

    def __init__(self) -> None:
        self._sources = Sources()
        self._assigned: dict[str, _Assignments] = {}
        self._known: dict[tuple[str, CodeType, int, str], str] = {}

    def written(self, site: Site, op: str) -> str:
        """Return the name of the tensor that the call of the in-place ``op`` at ``site`` writes; empty if unknown."""
        return self._cached_name("write", site, op)

    def viewed(self, site: Site, op: str) -> str:
        """Return the name of the tensor of which the call of ``op`` at ``site`` returns a view; empty if unknown."""
        return self._cached_name("view", site, op)

    def _cached_name(self, what: str, site: Site, op: str) -> str:
        key = what, site.code, site.instruction, op
        name = self._known.get(key)
        if name is None:
            name = self._sources.written(site, op) if what == "write" else self._sources.viewed(site, op)
            # An expression with a call, such as `f(x)`, is not a name.
            name = self._known[key] = "" if "(" in name else name
        return name

    def made(self, frame: FrameType | None) -> str:
        """Return the name of the variable to which the value computed in ``frame`` is assigned; empty if there is none.

        If the function returns the value, this is the caller's variable.
        """
        while frame is not None:
            while is_engines(frame) and frame.f_back is not None:
                frame = frame.f_back
            code, instruction = frame.f_code, frame.f_lasti
            key = "made", code, instruction, ""
            name = self._known.get(key)
            if name is None:
                name = self._known[key] = self._in_file(frame).target(code, instruction)
            if name != _RETURNED:
                return name
            frame = frame.f_back
        return ""

    def _in_file(self, frame: FrameType) -> _Assignments:
        file = frame.f_code.co_filename
        if file not in self._assigned:
            self._assigned[file] = _Assignments(linecache.getlines(file, frame.f_globals))
        return self._assigned[file]


#: The result of :meth:`_Assignments.target` if a function returns the value of the expression. No name is equal to it.
_RETURNED = "\0returned"


class _Assignments:
    """The variables to which the expressions of a file are assigned, by position; on Python 3.10, by line only."""

    def __init__(self, lines: list[str]) -> None:
        self._at: dict[tuple[Any, ...], str] = {}
        self._on_line: dict[int, tuple[int, str]] = {}  # by line: the id of the value's syntax node, and the variable
        try:
            tree = ast.parse("".join(lines))
        except (SyntaxError, ValueError):
            return
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._note(target, node.value, node)
            elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
                self._note(node.target, node.value, node)
            elif isinstance(node, ast.AugAssign):
                self._note(node.target, node, node)
            elif isinstance(node, ast.Return) and node.value is not None:
                self._at[position_of(node.value)] = _RETURNED
                self._on_line[node.lineno] = id(node.value), _RETURNED

    def _note(self, target: ast.expr, value: ast.AST, statement: ast.AST) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                for each, part in zip(target.elts, value.elts, strict=True):
                    self._note(each, part, part)
            return
        if isinstance(target, (ast.Name, ast.Attribute)):
            self._at[position_of(value)] = name = ast.unparse(target)
            if isinstance(value, (ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.DictComp, ast.Lambda)):
                return
            last = statement.end_lineno or statement.lineno  # type: ignore[attr-defined]  # statements have lines
            for line in range(statement.lineno, last + 1):  # type: ignore[attr-defined]  # statements have lines
                other, _ = self._on_line.get(line, (id(value), ""))
                # If a line assigns two values, Python 3.10 does not show which of them was computed.
                self._on_line[line] = id(value), name if other == id(value) else ""

    def target(self, code: CodeType, instruction: int) -> str:
        """Return the variable to which the expression at ``instruction`` is assigned, or ``_RETURNED``, or ""."""
        if not hasattr(code, "co_positions"):
            return self._on_line.get(CallSite(code, instruction).line, (0, ""))[1]
        position = position_in(code, instruction)
        return "" if position is None else self._at.get(position, "")


# ---------- variables of running functions ----------


def names_in_reach(frame: FrameType | None) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors in the variables of running functions and of their modules, with their names.

    The innermost function is the first. Tensors directly inside a list, tuple, dict or object are included. Variables
    whose names begin with an underscore are left out.
    """
    seen: set[int] = set()
    while frame is not None:
        if not is_engines(frame):
            if frame.f_code.co_flags & inspect.CO_OPTIMIZED:
                yield from _locals_of(frame)
            if id(frame.f_globals) not in seen:
                seen.add(id(frame.f_globals))
                yield from _named(frame.f_globals)
        frame = frame.f_back


def _locals_of(frame: FrameType) -> list[tuple[str, Tensor]]:
    values = frame.f_locals
    found = list(_named(values))
    # Before Python 3.13, `frame.f_locals` is a copy, which is stored in the frame until the function ends. The copy
    # would keep tensors alive, so it is emptied unless the program also uses it (`d = locals()`). Without such a use,
    # the copy has three references: one from the frame, one from `values` and one from the call of getrefcount.
    if isinstance(values, dict) and sys.getrefcount(values) <= 3:
        values.clear()
    return found


def _named(values: Any) -> Iterator[tuple[str, Tensor]]:
    for name, value in list(values.items()):
        if not name.startswith("_"):
            yield from tensors_in(name, value)
