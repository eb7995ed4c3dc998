"""The fields of a row in the derivative table, and the functions that add a row."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Row:
    """The description of one operation.

    Attributes:
        name: the name of the normal operation; the in-place form has the same name with an underscore appended.
        forward: the function that computes the operation: ``forward(*arrays, *arguments, out=None)``.
        operands: the names of its tensor inputs.
        target: the operand that the in-place operation overwrites.
        arguments: source text of its other parameters, with defaults.
        rules: for each operand, the expression of its gradient; an operand without a rule has no gradient.
        marks: names of arrays of bools that rules may use, each with the expression that computes the array from
            operands and arguments. The in-place form saves these bools, one bit per element, instead of an operand.
        doc: one sentence for the docstring.
        signature: all parameters in order, as source text; by default operands, arguments, ``name=None``.
        prologue: first statements, such as ``if alpha != 1: ...``; ``{_}`` becomes the underscore of the in-place form.
        aliases: other names of the same operation.
        namespaces: the namespaces that contain it: ``T`` methods of Tensor, ``m`` minitensor, ``F`` nn.functional.
        normal, in_place: true if the normal and the in-place form of the operation exist.
        floats: true if the result is floating: integers are converted to float32.
        not_differentiable: true if the result, such as a bool, has no gradient. In place it gets the target's dtype.
        zero_slopes: if ``not_differentiable`` is true, the operands to which the in-place form passes a gradient of 0;
            by default only the target.
        promote: the operands that are converted to one dtype first.
        same_dtype: the operands whose dtypes must be equal, if the vocabulary refuses others.
        accepts: "integers" or "integers or bools", if the operation refuses tensors of other dtypes.
        writes: for an operation that writes only a part of its target, the source text of a call that returns this
            part; it calls a function in ``kernels.written``.
        elementwise: true if operands are broadcast against each other; errors then mention broadcasting.
        takes, gives: the docstring's texts about the shapes of the operands and of the result; empty if operands are
            broadcast.
        refuses: the docstring's lines about errors for invalid arguments; a vocabulary replaces ValueError in them by
            its own error.
        by_element: true if an element of the result depends only on the operands' elements at the same position, so
            that the operation can be computed in chunks.
        prepare: a function that checks and converts the arguments before anything is computed or saved.
    """

    name: str
    forward: Callable[..., np.ndarray]
    operands: tuple[str, ...]
    target: str
    arguments: tuple[str, ...] = ()
    rules: dict[str, str] = field(default_factory=dict)
    marks: dict[str, str] = field(default_factory=dict)
    doc: str = ""
    signature: str = ""
    prologue: str = ""
    aliases: tuple[str, ...] = ()
    namespaces: str = "Tm"
    normal: bool = True
    in_place: bool = True
    floats: bool = False
    not_differentiable: bool = False
    zero_slopes: tuple[str, ...] = ()
    promote: tuple[str, ...] = ()
    same_dtype: tuple[str, ...] = ()
    accepts: str = ""
    writes: str = ""
    elementwise: bool = True
    takes: str = ""
    gives: str = ""
    refuses: tuple[str, ...] = ()
    by_element: bool = False
    prepare: Callable[..., tuple[Any, ...]] | None = None

    @property
    def argument_names(self) -> tuple[str, ...]:
        """The names of the parameters that are not tensors."""
        return tuple(argument.partition("=")[0] for argument in self.arguments)

    @property
    def parameters(self) -> str:
        """All parameters in order, as source text."""
        return self.signature or ", ".join([*self.operands, *self.arguments, "name=None"])

    def needs(self, operand: str) -> frozenset[str]:
        """Return all names, including helpers, in the rule of ``operand`` and in the marks that this rule uses."""
        names = names_in(self.rules[operand]) if operand in self.rules else frozenset()
        return names.union(*(names_in(self.marks[mark]) for mark in names & self.marks.keys()))

    @property
    def _needed(self) -> frozenset[str]:
        return frozenset().union(*(self.needs(operand) for operand in self.rules))

    @property
    def saved_names(self) -> tuple[str, ...]:
        """The names of the tensors that some rule needs, in the order in which a node saves them: ``out`` is last."""
        return tuple(name for name in (*self.operands, "out") if name in self._needed)

    @property
    def rules_in_place(self) -> dict[str, str]:
        """The rules of the in-place operation."""
        flat = dict.fromkeys(self.zero_slopes or (self.target,), "zeros_like(g)")
        return flat if self.not_differentiable else self.rules

    @property
    def saved_in_place(self) -> tuple[str, ...]:
        """The names of the values that the in-place operation saves: marks instead of operands, if marks suffice."""
        if self.not_differentiable:
            return ()
        direct = frozenset().union(*(names_in(rule) for rule in self.rules.values()))
        tensors = tuple(name for name in self.saved_names if name in direct)
        # If all operands of a mark are saved, backward computes the mark from them.
        marks = (
            mark
            for mark, expression in self.marks.items()
            if mark in direct and not names_in(expression) & set(self.operands) <= set(tensors)
        )
        return (*tensors, *marks)

    @property
    def in_place_differs(self) -> bool:
        """True if the backward of the in-place operation differs from that of the normal one."""
        return self.not_differentiable or self.saved_in_place != self.saved_names

    @property
    def saved_arguments(self) -> tuple[str, ...]:
        """The plain arguments that some rule needs."""
        return tuple(name for name in self.argument_names if name in self._needed)


@functools.cache
def names_in(expression: str) -> frozenset[str]:
    """Return every name in ``expression``."""
    return frozenset(compile(expression, "<rule>", "eval").co_names)


ROWS: dict[str, Row] = {}


def op(name: str, forward: Callable[..., Any], operands: str, doc: str, **settings: Any) -> None:
    """Add a row to the table.

    A setting with the name of an operand is the rule of this operand; all other settings are fields of :class:`Row`.

    Raises:
        ValueError: if another row already uses the name, or one of the aliases.
    """
    known = {each for row in ROWS.values() for each in (row.name, *row.aliases)}
    if twice := known.intersection((name, *settings.get("aliases", ()))):
        raise ValueError(f"the derivative table has a row called {', '.join(sorted(twice))} already")
    inputs = tuple(operands.split())
    rules = {operand: settings.pop(operand) for operand in inputs if operand in settings}
    settings.setdefault("promote", inputs if len(inputs) > 1 and not settings.get("not_differentiable") else ())
    settings.setdefault("target", inputs[0])
    ROWS[name] = Row(name, forward, inputs, rules=rules, doc=doc, **settings)


def each(name: str, forward: Callable[..., Any], operands: str, doc: str, **settings: Any) -> None:
    """Add the row of an operation that computes each element from the elements at the same position."""
    op(name, forward, operands, doc, by_element=True, **settings)
