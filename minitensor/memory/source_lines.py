"""Find the source line of an operation and the program's name for the tensor that it writes.

Names are read from the source text and from the code and globals of a frame. The local variables of a frame are never
read, because before Python 3.13 the frame would store a copy of them, which would keep tensors alive.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import types
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple

from minitensor.engine.core.storage import CallSite, engine_packages

LONGEST = 40  # an expression with more characters is not shown

#: Attributes that return a view, so that no call appears in the source text.
_VIEW_PROPERTIES = ("T",)


def is_engines(frame: FrameType) -> bool:
    """True if ``frame`` runs code of the engine's packages or of numpy."""
    package = frame.f_globals.get("__package__")
    return isinstance(package, str) and (engine_packages[package] or package.partition(".")[0] == "numpy")


#: Packages whose code calls operations for the program, and the words by which a report names such a caller.
_CALLERS = (
    ("minitensor.optimizer", "an optimizer"),
    ("minitensor.torch.optim", "an optimizer"),
    ("minitensor.nn", "a layer"),
    ("minitensor.torch.nn", "a layer"),
)


def caller_in_package(frame: FrameType | None) -> str:
    """Return "a layer" or "an optimizer" if one of these, called by the program, ran the operation; otherwise ""."""
    found = ""
    while frame is not None and is_engines(frame):
        module = frame.f_globals.get("__name__", "")
        found = next((who for prefix, who in _CALLERS if module.startswith(prefix)), found)
        frame = frame.f_back
    return found


class Site(NamedTuple):
    """A position in running code: the code, the instruction, and the global variables.

    A site must not be stored, because it keeps the global variables alive.
    """

    code: CodeType
    instruction: int
    names: dict[str, Any]

    @classmethod
    def of(cls, frame: FrameType) -> Site:
        """Return the position of the innermost frame outside the engine, starting from ``frame``."""
        while is_engines(frame) and frame.f_back is not None:
            frame = frame.f_back
        return cls(frame.f_code, frame.f_lasti, frame.f_globals)

    @property
    def place(self) -> CallSite:
        """The file and line of this position, as data that may be stored."""
        return CallSite(self.code, self.instruction)


class Sources:
    """The parsed source files of a program."""

    def __init__(self) -> None:
        self._trees: dict[str, list[ast.expr]] = {}

    def written(self, site: Site, op: str) -> str:
        """Return the source text of the tensor that ``op``, called at ``site``, writes; "" if unknown."""
        store = op == "setitem"

        def target(node: ast.expr) -> ast.expr | None:
            if store:
                return node.value if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) else None
            if not isinstance(node, ast.Call) or not _writes(_name_called(node), op):
                return None
            return _receiver(node, site.names)

        return self._expression(site, target)

    def viewed(self, site: Site, op: str) -> str:
        """Return the source text of the tensor that the call of ``op`` at ``site`` makes a view of; "" if unknown."""

        def base(node: ast.expr) -> ast.expr | None:
            if op == "getitem":
                return node.value if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) else None
            if isinstance(node, ast.Attribute):
                is_view = node.attr == op == "data" or (node.attr in _VIEW_PROPERTIES and op == "transpose")
                return node.value if is_view else None
            if isinstance(node, ast.Call) and _name_called(node) == op:
                return _receiver(node, site.names)
            return None

        return self._expression(site, base)

    def _expression(self, site: Site, pick: Callable[[ast.expr], ast.expr | None]) -> str:
        line, position = site.place.line, position_in(site.code, site.instruction)
        on_line = [node for node in self._nodes(site) if node.lineno <= line <= (node.end_lineno or line)]
        exact = [node for node in on_line if position_of(node) == position]
        for nodes in (exact, on_line):
            texts = {_text(part) for node in nodes if (part := pick(node)) is not None}
            if len(texts) == 1:
                return texts.pop()
        return ""

    def _nodes(self, site: Site) -> list[ast.expr]:
        file = site.code.co_filename
        if file not in self._trees:
            lines = linecache.getlines(file, site.names)
            try:
                tree = ast.parse("".join(lines))
            except (SyntaxError, ValueError):
                self._trees[file] = []
            else:
                kinds = (ast.Call, ast.Subscript, ast.Attribute)
                self._trees[file] = [node for node in ast.walk(tree) if isinstance(node, kinds)]
        return self._trees[file]


def position_in(code: CodeType, instruction: int) -> tuple[Any, ...] | None:
    """Return the position of an instruction in the form of :func:`position_of`; None if unknown, as on Python 3.10."""
    positions = getattr(code, "co_positions", None)
    if positions is None:
        return None
    first, last, column, end = next(itertools.islice(positions(), instruction // 2, None), (None,) * 4)
    return None if None in (first, last, column, end) else (first, column, last, end)


def position_of(node: Any) -> tuple[Any, ...]:
    """Return the position of a syntax node: its first line and column, and its last line and end column."""
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def _name_called(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _writes(called: str, op: str) -> bool:
    """True if a method with the name ``called`` may be the in-place operation ``op``, which may have other names."""
    return called == op or (op.endswith("_") and called.endswith("_") and not called.startswith("_"))


def _receiver(call: ast.Call, names: dict[str, Any]) -> ast.expr | None:
    """Return the expression ``x`` of ``x.op(...)``, ``module.op(x, ...)`` or ``op(x, ...)``; None if there is none."""
    function = call.func
    if isinstance(function, ast.Attribute) and not _is_module(function.value, names):
        receiver: ast.expr | None = function.value
    else:
        receiver = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "x"), None)
    # In `x.add_(y).mul_(z)` the receiver of `mul_` is the result of an in-place operation, which is `x` itself.
    while isinstance(receiver, ast.Call) and _name_called(receiver).endswith("_"):
        receiver = _receiver(receiver, names)
    return receiver


def _is_module(expression: ast.expr, names: dict[str, Any]) -> bool:
    path = []
    while isinstance(expression, ast.Attribute):
        path.append(expression.attr)
        expression = expression.value
    if not isinstance(expression, ast.Name):
        return False
    value = names.get(expression.id)
    for attribute in reversed(path):
        value = vars(value).get(attribute) if isinstance(value, types.ModuleType) else None
    return isinstance(value, types.ModuleType)


def _text(expression: ast.expr) -> str:
    text = ast.unparse(expression).replace("\n", " ")
    return text if len(text) <= LONGEST else ""
