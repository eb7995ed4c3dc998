"""Turns rows of the derivative table into functions.

For every row functions are written as Python source, and compiled when they are first looked up: the normal operation,
its in-place twin, and backward, on arrays and (when ``create_graph`` first asks) on tensors. A generic dispatcher that
looks the row up at every call would cost 650 ns an operation, more than the addition it calls. ``source("sin_")``
returns the text of any of them; tracebacks show it.

What the text contains follows from the row alone. Where a comment in a template speaks of safety, the line below it
is there because some rule of the row names what the line protects.
"""

from __future__ import annotations

import functools
import linecache
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from minitensor.core import errors
from minitensor.core.history import Leaf, Node, Operation, current, record_write
from minitensor.core.storage import Storage, placed
from minitensor.core.tensor import Tensor
from minitensor.device.counters import cpu_meter
from minitensor.dtypes import FLOATS
from minitensor.events import watch
from minitensor.kernels import chunks, written
from minitensor.modes import modes
from minitensor.operations import indices, operands, variants
from minitensor.operations.rules import namespaces
from minitensor.operations.templates import backward_name, backward_source, in_place_source, normal_source
from minitensor.saving import keeping
from minitensor.saving.saved import FREED, recovered, remember, tidy
from minitensor.saving.writing import (
    after_write,
    before_write,
    before_write_of_part,
    index_written,
    unless_written,
)
from minitensor.table import ROWS, Row

# ---------- compiling ----------

#: The text of every generated function, by name.
SOURCES: dict[str, str] = {}
#: Which row and form each generated operation came from.
OPERATIONS: dict[str, Operation] = {}


def quietly(forward: Callable[..., Any], *given: Any) -> Any:
    """The result although numpy was told to raise for inf and nan: they are values here."""
    with np.errstate(all="ignore"):
        return forward(*given)


#: What generated code calls. Rules call other things: see :mod:`minitensor.operations.rules.namespaces`.
ENGINE: dict[str, Any] = {
    "FLOATS": FLOATS,
    "FREED": FREED,
    "Leaf": Leaf,
    "Node": Node,
    "ONE": 1,  # numbers this small are one object each: usually their identity tells, in half the time
    "Storage": Storage,
    "Tensor": Tensor,
    "after_write": after_write,
    "before_write": before_write,
    "before_write_of_part": before_write_of_part,
    "current": current,
    "freed": errors.freed,
    "getframe": sys._getframe,
    "in_chunks": chunks.in_chunks,
    "index_written": index_written,
    "large": chunks.large,
    "meter": cpu_meter,
    "modes": modes,
    "named": errors.named,
    "ndarray": np.ndarray,
    "new": object.__new__,
    "placed": placed,
    "quietly": quietly,
    "recovered": recovered,
    "ref": weakref.ref,
    "record_write": record_write,
    "remember": remember,
    "rule_in_chunks": chunks.rule_in_chunks,
    "tidy": tidy,
    "unless_written": unless_written,
    "unpacked": keeping.unpacked,
    "watch": watch,
    # What rows call to say which part they write, and in their first statements.
    **namespaces.public(written),
    **namespaces.public(variants),
    **namespaces.public(indices),
    **{name: getattr(keeping, name) for name in ("own_input", "alias_input", "kept_marks")},
    **{
        name: getattr(operands, name)
        for name in (
            "as_operands",
            "as_operands_in_place",
            "promote",
            "into",
            "as_float",
            "check_target",
            "check_on_device",
        )
    },
    "__name__": __name__,
    "__package__": __package__,
}


def compiled(name: str, source: str, namespace: dict[str, Any]) -> Callable[..., Any]:
    file = f"<minitensor {name}>"
    SOURCES[name] = source
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), namespace)  # the text above, made from the table, nothing from outside
    function = namespace[name]
    function.__module__ = "minitensor"
    return function


@functools.cache
def _backward(row: Row, in_place: bool) -> Callable[..., Any]:
    name = backward_name(row, in_place, on_tensors=False)
    return compiled(name, backward_source(row, in_place, False), {**namespaces.on_arrays(), **ENGINE})


#: Rows' backward on tensors; autograd, which makes it of operations, puts it here.
_backward_on_tensors: Callable[[Row, bool], Callable[..., Any]]


def run_rules_on_tensors_with(compile_backward: Callable[[Row, bool], Callable[..., Any]]) -> None:
    """``compile_backward(row, in_place)`` is what makes the backward of a row that runs on tensors."""
    global _backward_on_tensors
    _backward_on_tensors = compile_backward


def _operation(name: str, row: Row, in_place: bool) -> Operation:
    """What its nodes have in common; its backward is compiled when it is first called."""
    form = in_place and row.in_place_differs

    def first(node: Node, g: np.ndarray) -> Any:
        node.op.backward = _backward(row, form)
        return node.op.backward(node, g)

    operation = Operation(name, first, row.saved_in_place if in_place else row.saved_names)
    operation.later = lambda: _backward_on_tensors(row, form)
    return operation


class Operations(Mapping[str, Callable[..., Any]]):
    """Every operation of the table, by name and alias: ``add``, ``add_``, ``subtract``, ``sub``, ...

    A function is compiled when it is first looked up: compiling all of them would take most of the import.
    """

    def __init__(self) -> None:
        self._forms = {
            each + ("_" if in_place else ""): (row, in_place)
            for row in ROWS.values()
            for each in (row.name, *row.aliases)
            for in_place in (False, True)
            if (row.in_place if in_place else row.normal)
        }
        self._made: dict[str, Callable[..., Any]] = {}

    def __getitem__(self, name: str) -> Callable[..., Any]:
        made = self._made.get(name)
        if made is None:
            row, in_place = self._forms[name]
            own = row.name + ("_" if in_place else "")
            made = self._made[name] = self[own] if own != name else self._compile(own, row, in_place)
        return made

    def _compile(self, name: str, row: Row, in_place: bool) -> Callable[..., Any]:
        explain, explain_in_place = errors.explain, errors.explain_in_place
        if not row.elementwise:
            explain, explain_in_place = errors.explain_other, errors.explain_other_in_place
        marks = namespaces.on_arrays() if row.marks else {}
        _namespaces[name] = namespace = {**marks, **ENGINE, "forward": row.forward, "prepare": row.prepare}
        namespace.update(explain=explain, explain_in_place=explain_in_place)
        if row.rules_in_place if in_place else row.rules:
            namespace["OPERATION"] = OPERATIONS[name] = _operation(name, row, in_place)
        return compiled(name, (in_place_source if in_place else normal_source)(row), namespace)

    def __iter__(self) -> Iterator[str]:
        return iter(self._forms)

    def __len__(self) -> int:
        return len(self._forms)

    def __contains__(self, name: object) -> bool:
        return name in self._forms


_namespaces: dict[str, dict[str, Any]] = {}
FUNCTIONS = Operations()


def swapped(name: str) -> Callable[..., Any]:
    """The normal operation with its two operands in the other order, for Python's reflected operators."""
    text = source(name).replace(f"def {name}(x, y", f"def reflected_{name}(y, x", 1)
    return compiled(f"reflected_{name}", text, _namespaces[name])


def source(name: str) -> str:
    """The generated text of an operation, as in ``print(source("sin_"))``, or of its backward (``"sin_backward"``).

    Raises:
        KeyError: when no operation of that name is generated.
    """
    if name in FUNCTIONS:
        return SOURCES[getattr(FUNCTIONS[name], "__name__", name)]
    for row in ROWS.values():
        for in_place in (False, True):
            if (row.rules_in_place if in_place else row.rules) and backward_name(row, in_place, False) == name:
                _backward(row, in_place and row.in_place_differs)
    if name not in SOURCES:
        raise KeyError(f"no generated operation is called {name!r}; there are {', '.join(sorted(FUNCTIONS))}")
    return SOURCES[name]
