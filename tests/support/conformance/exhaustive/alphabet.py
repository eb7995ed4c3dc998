"""The statements of short programs, and functions that count and number all programs made of them.

A number from 0 to ``count(length) - 1`` identifies a program of ``length`` statements. ``program(number, length)``
computes it without generating the others, and two numbers never give the same program.

The shapes are chosen so that most statements fit one another: ``a`` and ``x`` are [2, 2], ``b`` and the rows are [2],
and ``v``, ``w``, ``y``, ``z``, ``d`` have one of these shapes. If two shapes do not fit, the engine and the reference
must both refuse. The functions are bounded and no number is 0 or 1, so that a wrong number remains visible in every
gradient that depends on it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import CodeType

#: The first statements of every program: two leaves, and a product that saves both of them.
OPENING = (
    "a = mt.to_tensor([[0.83, -0.47], [0.61, 1.21]], dtype='float64', stop_gradient=False)",
    "b = mt.to_tensor([0.74, -1.13], dtype='float64', stop_gradient=False)",
    "x = a * b",
)

VIEWS = (
    "v = x[0]",
    "v = x.t()",
    "w = x[:, 1]",
    "w = v[::-1]",  # the same cells in another order
    "v = a[0]",  # a view of a leaf, protected in grad mode
    "with mt.no_grad(): v = x[0]",  # a detached alias of a part
    "d = x.detach()",
    "d = v.detach()",
    "d.stop_gradient = False",  # then two tensors share memory and require gradients, with separate histories
    "x.t_()",  # changes only the strides
)

READS = (
    "y = x * x",  # saves all of x
    "y = x.tanh()",  # saves its own output
    "y = v * b",  # saves the values of v
    "y = v.sin()",
    "z = y * x",
    "z = d * w",
    "x.backward(retain_graph=True)",
)

WRITES = (
    "x.add_(b)",  # its backward needs no tensor
    "x.multiply_(b)",  # its backward needs the overwritten input
    "x.sin_()",
    "x.tanh_()",  # its backward needs the output
    "v.scale_(1.7)",
    "v.fill_(0.37)",
    "v.sin_()",
    "v.tanh_()",
    "w.add_(b)",
    "x.multiply_(v)",  # an operand that overlaps the target
    "v.multiply_(w)",  # an operand that overlaps the target in some programs and not in others
    "x.copy_(v)",
    "x[1] = b",
    "x[:, ::-1] = y",
    "y.tanh_()",
    "d.scale_(2.3)",  # through a detached alias
    "d.multiply_(b)",  # recorded, in a history separate from that of x
    "with mt.no_grad(): v.scale_(0.6)",
    "with mt.no_grad(): x[0] = 0.29",
    "with mt.no_grad(): a[1] = 0.53",  # as an optimizer does
)


#: The file name of statements in tracebacks.
FILE = "<program>"


@dataclass(frozen=True)
class Statement:
    """One statement (the opening counts as one): its text, the names that it reads and binds, and whether it writes
    memory.

    ``line`` is its line number in tracebacks and in the engine's errors. It is the same in all programs, so it
    identifies the statement.
    """

    text: str
    line: int
    needs: frozenset[str]
    binds: frozenset[str]
    writes: bool
    code: CodeType


def statement(text: str, line: int, writes: bool) -> Statement:
    names = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
    binds = frozenset(name.id for name in names if isinstance(name.ctx, ast.Store))
    needs = frozenset(name.id for name in names) - binds - {"mt"}
    code = compile("\n" * (line - 1) + text, FILE, "exec")
    return Statement(text, line, needs, binds, writes, code)


START = statement("\n".join(OPENING), 1, False)
ALPHABET = tuple(
    statement(text, line, text in WRITES) for line, text in enumerate((*VIEWS, *READS, *WRITES), len(OPENING) + 1)
)
Program = tuple[Statement, ...]


@cache
def count(length: int, bound: frozenset[str] = START.binds) -> int:
    """Return the number of programs with ``length`` further statements, if the names ``bound`` are bound already."""
    if length == 0:
        return 1
    return sum(count(length - 1, bound | s.binds) for s in ALPHABET if s.needs <= bound)


def program(number: int, length: int) -> Program:
    """Return the program with this number among those of ``length`` statements, in the order of the alphabet."""
    chosen, bound = [], START.binds
    for left in reversed(range(length)):
        for s in ALPHABET:
            if not s.needs <= bound:
                continue
            behind = count(left, bound | s.binds)
            if number < behind:
                break
            number -= behind
        else:
            raise IndexError(f"there are {count(length)} programs of {length} statements")
        chosen.append(s)
        bound |= s.binds
    return tuple(chosen)


def total(length: int) -> int:
    """Return the number of programs with 1 to ``length`` statements."""
    return sum(count(n) for n in range(1, length + 1))


def nth(number: int, length: int) -> Program:
    """Return program ``number`` among the ``total(length)`` programs, which are ordered by length."""
    for n in range(1, length + 1):
        if number < count(n):
            return program(number, n)
        number -= count(n)
    raise IndexError(f"there are {total(length)} programs of up to {length} statements")


def evenly(limit: int, length: int) -> Sequence[int]:
    """Return ``limit`` numbers spread evenly over all programs of up to ``length`` statements, or all if there are
    fewer.
    """
    every = total(length)
    return [i * every // limit for i in range(limit)] if limit < every else range(every)
