"""Read from the derivative table which tensors the backward of an in-place operation needs, and why.

:func:`new_saves_of` reads from a recorded node how many bytes the operation allocated for the tensors that it saved.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

from minitensor.engine.core.history import READ, WRITE, Node, peek
from minitensor.engine.core.storage import Storage
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.saved.saved import FREED
from minitensor.engine.table import ROWS, Row
from minitensor.engine.table.rows import names_in
from minitensor.engine.views.indexing import SET_AT

#: Derivative rules, in the table's notation, of in-place operations that have no row in the table.
_RULES: dict[str, dict[str, str]] = {
    "setitem": {"x": "g, and 0 where it was written", "value": "g where it was written"},
    "copy_": {"x": "0", "other": "g"},
    "set_value": {"x": "0"},
}


def row_of(op: str) -> Row | None:
    """Return the row of the in-place operation ``op``; None if the table has none."""
    return ROWS.get(op[:-1]) if op.endswith("_") else None


def normal_twin(op: str) -> str:
    """Return the name of the operation that returns a new tensor with the result of ``op``; "" if there is none."""
    row = row_of(op)
    return row.name if row is not None and row.normal else ""


class Reason(NamedTuple):
    """A sentence with placeholders, and the values to insert.

    Attributes:
        text: the sentence, with placeholders such as ``{names}``.
        values: for each placeholder, its name and the texts that replace it, which are joined: "x, y and z".
    """

    text: str
    values: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __str__(self) -> str:
        return self.text.format_map({name: _list(parts) for name, parts in self.values})


@dataclass(frozen=True)
class Needs:
    """The tensors of an in-place operation that its backward needs for the requested gradients.

    Attributes:
        rules: the rules that will run, as in the table: ``x: g * cos(x)``.
        what: the tensors that these rules need, in words; empty if the rules need none.
        reasons: sentences that explain why the rules need these tensors, or why they need none.
        own: the operands whose gradients need the old value of the overwritten operand, which then has to be saved.
        marks: the number of bits per element that the rules need instead of the old value; 0 if they need none.
        output: True if the rules need the result.
    """

    rules: tuple[str, ...] = ()
    what: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()
    own: tuple[str, ...] = ()
    marks: int = 0
    output: bool = False


def needs_of(op: str, wanted: Collection[str] | None) -> Needs:
    """Return the tensors that the backward of the in-place operation ``op`` needs.

    Args:
        wanted: the operands whose gradients are requested; None if they are unknown, which counts as all.
    """
    row = row_of(op)
    if row is None:
        quoted = tuple(f"{x}: {rule}" for x, rule in _RULES.get(op, {}).items() if wanted is None or x in wanted)
        return Needs(quoted, (), (NO_TENSOR,) if quoted else ())
    rules = row.rules_in_place
    asked = [x for x in row.operands if x in rules and (wanted is None or x in wanted)]
    saved = set(row.saved_in_place)
    marks = [mark for mark in row.marks if mark in saved]
    own = tuple(x for x in asked if row.target in row.needs(x) and row.target in saved)
    by_marks = bool(marks) and any(names_in(rules[x]) & set(marks) for x in asked)
    named = set().union(*(row.needs(x) for x in asked)) if asked else set()
    others = [y for y in row.operands if y != row.target and y in named and y in saved]
    output = "out" in named and "out" in saved
    what = (["its input"] if own else []) + ([_bits(len(marks))] if by_marks else [])
    what += others + (["its output"] if output else [])
    quoted = tuple(f"{x}: {rules[x]}" for x in asked)
    quoted += tuple(f"{mark}: {row.marks[mark]}" for mark in marks if by_marks)
    reasons = _reasons(row, asked, own, by_marks, others, output)
    return Needs(quoted, tuple(what), reasons, own, len(marks) if by_marks else 0, output)


def _bits(count: int) -> str:
    return f"{count} bit{'s' if count > 1 else ''} per element"


NO_TENSOR = Reason("The rule names no tensor.")


def _reasons(
    row: Row, asked: list[str], own: tuple[str, ...], marks: bool, others: list[str], output: bool
) -> tuple[Reason, ...]:
    if not asked:
        return ()
    found = []
    unasked = [y for y in row.rules_in_place if y not in asked and row.target in row.needs(y)]
    if own == (row.target,):
        found.append(Reason("The input is overwritten."))
    elif own:
        found.append(Reason("The input is overwritten, and the gradient of {names} needs it.", (("names", own),)))
    elif marks and any(row.target in row.needs(x) for x in asked):
        found.append(Reason("The input is overwritten, and only a true-or-false value of each element is needed."))
    elif unasked:
        rule = row.rules_in_place[unasked[0]]
        values = (("operand", (unasked[0],)), ("rule", (rule,)))
        found.append(
            Reason("Only `{operand}: {rule}` would need its input, and {operand} requires no gradient.", values)
        )
    if output:
        found.append(Reason("The output is what was just written: it needs no copy."))
    return tuple(found) or (() if others else (NO_TENSOR,))


def _list(names: Collection[str]) -> str:
    names = list(names)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# ---------- memory of saved tensors ----------


@dataclass(frozen=True)
class NewSaves:
    """Memory that an operation allocated for the tensors that its node saves.

    Attributes:
        copied: the bytes of copies of elements, which were made before the elements were overwritten.
        marked: the bytes of masks with a few bits for each overwritten element.
        indexed: the bytes of the saved index of an assignment such as ``x[index] = value``.
        storages: the ids of the copies' storages.
    """

    copied: int = 0
    marked: int = 0
    indexed: int = 0
    storages: tuple[int, ...] = ()


def node_of_write(x: Tensor) -> Node | None:
    """Return the node of the operation that has just written ``x``; None if no node was recorded."""
    node = peek(x)
    if node is not None and node.op is READ:
        node = node.inputs[0]
    if node is not None and node.op is WRITE:
        node = node.inputs[1]
    return node


def _operands_with_rules(op: str) -> list[str]:
    row = row_of(op)
    return list(_RULES.get(op, {})) if row is None else [x for x in row.operands if x in row.rules_in_place]


def wanted_of(op: str, node: Node) -> list[str]:
    """Return the operands of the in-place ``op`` that require a gradient; ``node`` is the recorded node."""
    return [x for x, parent in zip(_operands_with_rules(op), node.inputs, strict=False) if parent is not None]


def wanted_by(op: str, nodes: Collection[Node | None]) -> list[str] | None:
    """Return the operands of the refused in-place ``op`` that require a gradient; None if they are unknown.

    Args:
        nodes: for each operand with a derivative rule, its node, or None if it requires no gradient.
    """
    if row_of(op) is None or not nodes:
        return None
    return [x for x, node in zip(_operands_with_rules(op), nodes, strict=True) if node is not None]


def new_saves_of(op: str, node: Node, inputs: tuple[Any, ...]) -> NewSaves:
    """Return the memory that was allocated for the tensors that ``node`` saves.

    An operand that is saved without a copy is not counted. All figures are 0 if ``backward()`` has freed the saved
    tensors.

    Args:
        op, inputs: the in-place operation that recorded the node, and its operands.
    """
    if node.saved is FREED or not node.saved:
        return NewSaves()
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
    return NewSaves(sum(copied.values()), marked, indexed, tuple(copied))
