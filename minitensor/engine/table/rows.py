"""What one row of the derivative table says, and how a row is written."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Row:
    """One operation.

    Attributes:
        name: the normal operation; in place it has an underscore more.
        forward: ``forward(*arrays, *arguments, out=None)``.
        operands: the names of its tensor inputs.
        target: the operand that the in-place operation overwrites; the first, unless told otherwise.
        arguments: source text of its other parameters, with defaults.
        rules: per operand the gradient, as an expression; an operand without a rule wants none.
        marks: names that rules may use for what is true or false per element, with the expression (of operands and
            arguments) that says so. In place, the bits are kept instead of the operand.
        doc: one sentence for the docstring.
        signature: all parameters in order, as source text; by default operands, arguments, ``name=None``.
        prologue: a statement that comes before everything else, as ``if alpha != 1: ...``; ``{_}`` stands for the
            underscore of the in-place operation.
        aliases: other names of the same operation.
        namespaces: where it is found: ``T`` as a method of Tensor, ``m`` in minitensor, ``F`` in nn.functional.
        normal, in_place: which of the two exist.
        floats: the result is floating: integers are taken as float32.
        not_differentiable: the result is of another kind (a truth value, say) and wants no gradient; in place it keeps
            the dtype of what it overwrites, which gets gradient 0.
        promote: the operands that are brought to one dtype first.
        writes: for an operation that writes a part of its target: which, as a call of a function of
            :mod:`minitensor.engine.kernels.written`.
        elementwise: operands are broadcast against each other, and errors may say so.
        takes: the shapes of the operands, for the docstring, where they are not just any that broadcast.
        gives: the shape of the result, for the docstring, where it is not that of the operands.
        refuses: the errors for arguments that do not do, for the docstring; a ValueError is that of the vocabulary.
        by_element: the result has at each place what follows from the elements at that place alone: big arrays may be
            computed part by part.
        prepare: checks the arguments and makes them constant, before anything is computed or saved.
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
    promote: tuple[str, ...] = ()
    writes: str = ""
    elementwise: bool = True
    takes: str = ""
    gives: str = ""
    refuses: tuple[str, ...] = ()
    by_element: bool = False
    prepare: Callable[..., tuple[Any, ...]] | None = None

    @property
    def argument_names(self) -> tuple[str, ...]:
        """The parameters that are not tensors."""
        return tuple(argument.partition("=")[0] for argument in self.arguments)

    @property
    def parameters(self) -> str:
        """All parameters in order, as source text."""
        return self.signature or ", ".join([*self.operands, *self.arguments, "name=None"])

    def needs(self, operand: str) -> frozenset[str]:
        """The names in the rule of ``operand`` (helpers included); for a mark, the names that it is made of, too.

        Without a rule, none: what is not differentiable has gradient 0 in place, whatever the numbers are.
        """
        names = names_in(self.rules[operand]) if operand in self.rules else frozenset()
        return names.union(*(names_in(self.marks[mark]) for mark in names & self.marks.keys()))

    @property
    def _needed(self) -> frozenset[str]:
        return frozenset().union(*(self.needs(operand) for operand in self.rules))

    @property
    def saved_names(self) -> tuple[str, ...]:
        """The tensors that some rule needs, in the order in which a node saves them: operands, then ``out``."""
        return tuple(name for name in (*self.operands, "out") if name in self._needed)

    @property
    def rules_in_place(self) -> dict[str, str]:
        """The rules of the in-place operation."""
        return {self.target: "zeros_like(g)"} if self.not_differentiable else self.rules

    @property
    def saved_in_place(self) -> tuple[str, ...]:
        """What the in-place operation saves: marks instead of operands, where they are enough."""
        if self.not_differentiable:
            return ()
        direct = frozenset().union(*(names_in(rule) for rule in self.rules.values()))
        tensors = tuple(name for name in self.saved_names if name in direct)
        # A mark of operands that are saved anyway is worked out again in backward.
        marks = (
            mark
            for mark, expression in self.marks.items()
            if mark in direct and not names_in(expression) & set(self.operands) <= set(tensors)
        )
        return (*tensors, *marks)

    @property
    def in_place_differs(self) -> bool:
        """Whether the in-place operation has a backward of its own."""
        return self.not_differentiable or self.saved_in_place != self.saved_names

    @property
    def saved_arguments(self) -> tuple[str, ...]:
        """The plain arguments that some rule needs."""
        return tuple(name for name in self.argument_names if name in self._needed)


@functools.cache
def names_in(expression: str) -> frozenset[str]:
    """Every name that a rule mentions."""
    return frozenset(compile(expression, "<rule>", "eval").co_names)


ROWS: dict[str, Row] = {}


def op(name: str, forward: Callable[..., Any], operands: str, doc: str, **settings: Any) -> None:
    """Write one row. Settings named like an operand are its rule; the others are fields of :class:`Row`.

    Raises:
        ValueError: when a row has that name, or one of the aliases, already.
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
    """Write the row of an operation that computes each element from the elements at the same place."""
    op(name, forward, operands, doc, by_element=True, **settings)
