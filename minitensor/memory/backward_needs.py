"""What the backward of an in-place operation needs, and why: read from its row of the derivative table.

What it keeps is read from the node that the operation made.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from minitensor.engine.core.history import READ, WRITE, Node
from minitensor.engine.core.storage import Storage
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.saved.saved import FREED
from minitensor.engine.table import ROWS, Row
from minitensor.engine.table.rows import names_in
from minitensor.engine.views.indexing import SET_AT

#: In-place operations that are no rows of the table, and their rules in the table's words.
_RULES: dict[str, dict[str, str]] = {
    "setitem": {"x": "g, and 0 where it was written", "value": "g where it was written"},
    "copy_": {"x": "0", "other": "g"},
    "set_value": {"x": "0"},
}


def row_of(op: str) -> Row | None:
    """The row that an in-place operation comes from."""
    return ROWS.get(op[:-1]) if op.endswith("_") else None


def normal_twin(op: str) -> str:
    """The normal operation that computes the same; "" when there is none."""
    row = row_of(op)
    return row.name if row is not None and row.normal else ""


@dataclass(frozen=True)
class Needs:
    """What backward needs of an operation's tensors, for the gradients that are asked for.

    Attributes:
        rules: the rules that will run, as the table has them: ``x: g * cos(x)``.
        what: what they need, in words; empty for nothing.
        why: one sentence.
        own: the operands whose gradients need the operand that is overwritten.
        marks: how many bits per element of it are enough, where they are; else 0.
        output: whether the result is needed.
    """

    rules: tuple[str, ...] = ()
    what: tuple[str, ...] = ()
    why: str = ""
    own: tuple[str, ...] = ()
    marks: int = 0
    output: bool = False


def needs_of(op: str, wanted: Collection[str] | None) -> Needs:
    """What the backward of in-place ``op`` needs.

    Args:
        wanted: the operands whose gradients are asked for; None when that is not known: then all of them.
    """
    row = row_of(op)
    if row is None:
        rules = tuple(f"{x}: {rule}" for x, rule in _RULES.get(op, {}).items() if wanted is None or x in wanted)
        return Needs(rules, (), "The rule names no tensor." if rules else "")
    of = row.rules_in_place
    asked = [x for x in row.operands if x in of and (wanted is None or x in wanted)]
    saved = set(row.saved_in_place)
    marks = [mark for mark in row.marks if mark in saved]
    own = tuple(x for x in asked if row.target in row.needs(x) and row.target in saved)
    by_marks = bool(marks) and any(names_in(of[x]) & set(marks) for x in asked)
    named = set().union(*(row.needs(x) for x in asked)) if asked else set()
    others = [y for y in row.operands if y != row.target and y in named and y in saved]
    output = "out" in named and "out" in saved
    what = (["its input"] if own else []) + ([_bits(len(marks))] if by_marks else [])
    what += others + (["its output"] if output else [])
    quoted = tuple(f"{x}: {of[x]}" for x in asked)
    quoted += tuple(f"{mark}: {row.marks[mark]}" for mark in marks if by_marks)
    return Needs(
        quoted, tuple(what), _why(row, asked, own, by_marks, others, output), own, len(marks) if by_marks else 0, output
    )


def _bits(count: int) -> str:
    return f"{count} bit{'s' if count > 1 else ''} per element"


def _why(row: Row, asked: list[str], own: tuple[str, ...], marks: bool, others: list[str], output: bool) -> str:
    if not asked:
        return ""
    sentences = []
    unasked = [y for y in row.rules_in_place if y not in asked and row.target in row.needs(y)]
    if own:
        whose = "" if own == (row.target,) else f", and the gradient of {_listed(own)} needs it"
        sentences.append(f"The input is overwritten{whose}.")
    elif marks and any(row.target in row.needs(x) for x in asked):
        sentences.append("The input is overwritten, and only what is true or false of each element is needed.")
    elif unasked:
        rule = row.rules_in_place[unasked[0]]
        sentences.append(f"Only `{unasked[0]}: {rule}` would need its input, and {unasked[0]} wants no gradient.")
    if output:
        sentences.append("The output is what was just written: it needs no copy.")
    return " ".join(sentences) or ("" if others else "The rule names no tensor.")


def _listed(names: Collection[str]) -> str:
    names = list(names)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# ---------- what was kept ----------


@dataclass(frozen=True)
class Kept:
    """What a node keeps that nobody else has.

    Attributes:
        copied: bytes of copies of what the operation overwrote.
        marked: bytes of marks of it.
        indexed: bytes of an index.
        storages: the identities of the copies' storages.
    """

    copied: int = 0
    marked: int = 0
    indexed: int = 0
    storages: tuple[int, ...] = ()


def node_of_write(x: Tensor) -> Node | None:
    """The node of the operation that has just written ``x`` and was recorded."""
    node = x._node
    if node is not None and node.op is READ:
        node = node.inputs[0]
    if node is not None and node.op is WRITE:
        node = node.inputs[1]
    return node


def wanted_of(op: str, node: Node) -> list[str]:
    """The operands whose gradients the recorded in-place ``op`` was asked for."""
    row = row_of(op)
    if row is None:
        operands = list(_RULES.get(op, {}))
    else:
        operands = [x for x in row.operands if x in row.rules_in_place]
    return [x for x, parent in zip(operands, node.inputs, strict=False) if parent is not None]


def wanted_by(op: str, nodes: Collection[Node | None]) -> list[str] | None:
    """The same, of an operation that was refused, from the nodes of its operands; None when these are not known."""
    row = row_of(op)
    if row is None or not nodes:
        return None
    operands = [x for x in row.operands if x in row.rules_in_place]
    return [x for x, node in zip(operands, nodes, strict=True) if node is not None]


def kept_by(op: str, node: Node, inputs: tuple[Any, ...]) -> Kept:
    """What ``node``, made by the in-place ``op`` on ``inputs``, keeps of its own. References cost nothing."""
    if node.saved is FREED or not node.saved:
        return Kept()
    row = row_of(op)
    marks = set(row.marks) if row is not None else set()
    known = {id(x._storage) for x in inputs if isinstance(x, Tensor)}
    copied: dict[int, int] = {}
    marked = indexed = 0
    for name, saved in zip(node.op.saved_names, node.saved, strict=False):
        if not (type(saved) is tuple and len(saved) == 3 and isinstance(saved[1], Storage)):
            continue
        storage = saved[1]
        if name in marks:
            marked += storage.nbytes
        elif id(storage) not in known:
            copied[id(storage)] = storage.nbytes
    if node.op is SET_AT:
        indexed = sum(storage.nbytes for storage in node.saved[1])
    return Kept(sum(copied.values()), marked, indexed, tuple(copied))
