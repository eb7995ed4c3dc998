"""Find the names by which a program calls operations: ``x.T`` and ``reshape``, not ``permute`` and ``view``.

The sentence of a step uses the name in the program's text if the program's vocabulary (Paddle's or PyTorch's) has it
and the expression runs only this operation. Otherwise it uses the name in the engine's event, in that vocabulary.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import sys
from collections.abc import Iterator, Sequence
from types import CodeType, FrameType
from typing import Any, NamedTuple

from memory_stage.engines.protocol import Engine, Tensor
from memory_stage.model.changes import Operated
from memory_stage.model.entries import TensorEntry

MOST_TEXT = 28  # the largest number of characters of an expression that sentences quote

#: True if the interpreter knows the expression of an instruction, and not only the line.
_KNOWS_POSITIONS = sys.version_info >= (3, 11)

#: A place in the program: the id of a code object, the position of an instruction (before Python 3.11, the number of a
#: line), and the program's names of the operations there.
Place = tuple[int, int, tuple[str, ...]]


class ProgramCall(NamedTuple):
    """A call of an operation. It refers to a frame and to a tensor of the program, so it must not be stored.

    Attributes:
        frame: the innermost frame of the program.
        otherwise: True if the program's vocabulary may name operations differently than the engine's events do.
        x: one of the tensors of the operation.
    """

    frame: FrameType | None
    otherwise: bool
    x: Tensor


class OperationNaming:
    """Finds the names by which a program calls operations."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._sources: dict[str, list[ast.AST]] = {}
        self._found: dict[tuple[CodeType, int], tuple[str, ...]] = {}

    def call_site(self, frame: FrameType | None, tensors: Sequence[Any]) -> ProgramCall:
        """Return the program's call of the operation on ``tensors`` whose event the engine emits in ``frame``."""
        operands = [each for each in tensors if self.engine.is_tensor(each)]
        x = next((each for each in operands if self.engine.has_other_names(each)), None)
        otherwise = x is not None
        while frame is not None and self.engine.is_library_frame(frame):
            otherwise = otherwise or self.engine.is_other_vocabulary(frame)
            frame = frame.f_back
        return ProgramCall(frame, otherwise, operands[0] if x is None else x)

    def note(self, site: ProgramCall, facts: Sequence[Any]) -> None:
        """Add the program's names to ``facts``, which are the changes that the operation made."""
        frame, otherwise, x = site
        for fact in facts:
            if not (isinstance(fact, Operated) and fact.op):
                continue
            if fact.op != "getitem" and not otherwise:
                continue  # the engine's event already has the program's name
            entry: TensorEntry | None = getattr(fact, "tensor", None)
            if otherwise:
                fact.word = self.engine.other_name(fact.op)
            if otherwise and entry is not None:
                entry.otherwise, entry.op = True, entry.op and self.engine.other_name(entry.op)
            if frame is not None:
                fact.at = self._place(frame, x)

    def _place(self, frame: FrameType, x: Tensor) -> Place:
        code, instruction = frame.f_code, frame.f_lasti
        if (code, instruction) not in self._found:
            self._found[code, instruction] = self._read(code, instruction, frame.f_lineno)
        texts = tuple(text if self._is_word(text, x) else "" for text in self._found[code, instruction])
        return id(code), instruction if _KNOWS_POSITIONS else frame.f_lineno, texts

    def _is_word(self, text: str, x: Tensor) -> bool:
        return not text.isidentifier() or self.engine.has_name(x, text)

    def _read(self, code: CodeType, instruction: int, line: int) -> tuple[str, ...]:
        """Return the name at an instruction. Before Python 3.11, return all names in the line, in order."""
        nodes = self._nodes(code.co_filename)
        if not _KNOWS_POSITIONS:
            return tuple(_text(node) for node in nodes if getattr(node, "lineno", 0) == line)
        first, last, column, end = next(itertools.islice(code.co_positions(), instruction // 2, None), (None,) * 4)
        return tuple(_text(node) for node in nodes if _position(node) == (first, column, last, end))[:1]

    def _nodes(self, file: str) -> list[ast.AST]:
        """Return the expressions of a file that may be operations, in the order in which Python computes them."""
        if file not in self._sources:
            flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            try:
                tree = compile("".join(linecache.getlines(file)), file, "exec", flags, dont_inherit=True)
            except (SyntaxError, ValueError):
                tree = ast.Module([], [])
            self._sources[file] = list(_computed_nodes(tree))
        return self._sources[file]


def _computed_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the calls, indexes, attributes and operators under ``node``, each one after the expressions inside it."""
    for part in ast.iter_child_nodes(node):
        if isinstance(node, ast.Call) and part is node.func and isinstance(part, ast.Attribute):
            part = part.value
        yield from _computed_nodes(part)
    if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
        return
    if isinstance(node, (ast.Call, ast.Subscript, ast.Attribute, ast.BinOp, ast.UnaryOp, ast.Compare, ast.AugAssign)):
        yield node


def _position(node: Any) -> tuple[int, int, int, int]:
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def _text(node: ast.AST) -> str:
    """Return the name of a called function, or the text of ``x[0]`` or ``x.T``, shortened if long; "" for others."""
    if isinstance(node, ast.Call):
        return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if not isinstance(node, (ast.Attribute, ast.Subscript)):
        return ""
    text = ast.unparse(node)
    if len(text) <= MOST_TEXT:
        return text
    return f".{node.attr}" if isinstance(node, ast.Attribute) else "[...]"


def settle(facts: Sequence[Any]) -> None:
    """Name each operation of a finished step by the text of its expression, unless that expression ran others, too."""
    by_place: dict[Place, list[Operated]] = {}
    for fact in facts:
        if isinstance(fact, Operated) and fact.at is not None:
            by_place.setdefault(fact.at, []).append(fact)
    for (_, _, texts), operations in by_place.items():
        if len(texts) == 1 and len({fact.op for fact in operations}) == 1:
            texts = texts * len(operations)
        if len(texts) == len(operations):
            for fact, text in zip(operations, texts, strict=True):
                fact.word = text or fact.word
