"""Diagnose memory that a program keeps alive by accident: the graphs of iterations that are over."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Protocol

from memory_stage.explanation.whole_run.faults import Edit, Evidence, Fault, Fix
from memory_stage.explanation.whole_run.program_text import ProgramText, names_in
from memory_stage.messages import message, said
from memory_stage.trace.amounts import bytes_message
from memory_stage.watch.lines import ProgramLine

FEWEST_ITERATIONS = 3

#: Lists are searched so many attributes and entries deep, in objects with at most so many of them.
DEPTH, MOST_ENTRIES = 3, 64

_REASON = message(
    "A computed tensor keeps its graph alive, and the graph keeps all tensors that the operations saved for backward."
)


class HeldGraphs(Protocol):
    """The graphs that the tensors of a framework hold when a program ends."""

    def is_tensor(self, value: Any) -> bool:
        """Return True for a tensor of the framework."""

    def holds_graph(self, x: Any) -> bool:
        """Return True if a tensor holds a graph that the program has not asked to keep."""

    def addition_lines(self, x: Any) -> list[ProgramLine]:
        """Return the line of each addition, subtraction and concatenation in the graph of a tensor."""

    def held_bytes(self, tensors: list[Any]) -> int:
        """Return the bytes that the graphs of tensors hold, without those of parameters."""

    def node_count(self, tensors: list[Any]) -> int:
        """Return the number of nodes in the graphs of tensors."""


def diagnose_end(graphs: HeldGraphs, variables: dict[str, Any], file: str) -> list[Fault]:
    """Return a fault for each variable that still holds the graphs of several iterations when a program ends.

    A graph whose backward pass has run no longer holds tensors, so it is not a leak.

    Args:
        graphs: the graphs of one framework.
        variables: the global variables of the program.
        file: the file of the program.
    """
    text = ProgramText(file)
    found = []
    for name, value in list(variables.items()):
        if graphs.is_tensor(value):
            fault = _of_sum(graphs, text, name, value) if graphs.holds_graph(value) else None
            found += [] if fault is None else [fault]
            continue
        for path, values in _lists(name, value, DEPTH):
            fault = _of_list(graphs, text, path, values)
            found += [] if fault is None else [fault]
    return found


def _lists(path: str, value: Any, depth: int) -> Iterator[tuple[str, list[Any]]]:
    """Yield the lists that a variable leads to through attributes and dicts, each with the code that reaches it."""
    if type(value) is list:
        if len(value) >= FEWEST_ITERATIONS:
            yield path, value
        return
    inner = value if type(value) is dict else getattr(value, "__dict__", None)
    if depth == 0 or type(inner) is not dict or isinstance(value, (type, ModuleType)) or len(inner) > MOST_ENTRIES:
        return
    for key, entry in list(inner.items()):
        if type(key) is str and not key.startswith("_"):
            yield from _lists(f"{path}[{key!r}]" if type(value) is dict else f"{path}.{key}", entry, depth - 1)


def of_local(graphs: HeldGraphs, text: ProgramText, function: ast.AST, name: str, value: Any) -> Fault | None:
    """Return a fault if a local variable of a function that is still running holds the graphs of several iterations.

    Args:
        graphs: the graphs of one framework.
        text: the file of the function.
        function: the definition of the function.
        name: the variable, which no line of the function hands on.
        value: the variable's value.
    """
    if graphs.is_tensor(value):
        return _of_sum(graphs, text, name, value, function) if graphs.holds_graph(value) else None
    return _of_list(graphs, text, name, value, function) if type(value) is list else None


def _of_sum(
    graphs: HeldGraphs, text: ProgramText, name: str, value: Any, function: ast.AST | None = None
) -> Fault | None:
    """Return a fault if a variable was added up from results of several iterations, with their graphs.

    Args:
        graphs, text, name, value: as in :func:`of_local`.
        function: the function that is still running; None for a variable that is left at the end of the program.
    """
    nodes = text.statements() if function is None else ast.walk(function)
    statements = [each for each in nodes if isinstance(each, ast.stmt) and grows(each, name)]
    if len(statements) != 1 or _is_differentiated(text, name):
        return None
    statement = statements[0]
    lines = graphs.addition_lines(value)
    count = sum((line.file, line.number) == (text.file, statement.lineno) for line in lines)
    nbytes = graphs.held_bytes([value])
    if count < FEWEST_ITERATIONS or not nbytes:
        return None
    line = ProgramLine(text.file, statement.lineno, "")
    amounts: dict[str, Any] = {"name": name, "count": f"{count:,}", "size": bytes_message(nbytes)}
    verdict = message(
        "`{name}` keeps the graphs of {count} iterations: {size} of saved tensors, and more with each iteration.",
        **amounts,
    )
    if function is not None:
        verdict = message(
            "`{name}` keeps the graphs of all iterations: after {count} of them {size} of saved tensors.", **amounts
        )
    sentence = message("Add the number only; its graph is then freed at the end of the iteration.")
    edits: tuple[Edit, ...] = ()
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp):
        addend = statement.value.right
        number = ".item()" if math.prod(value.shape) == 1 and not text.has(rf"\b{name}\.") else ".detach()"
        is_simple = isinstance(addend, (ast.Name, ast.Attribute, ast.Call))
        edits = text.wrapped(addend, f"{{}}{number}" if is_simple else f"({{}}){number}")
    elif isinstance(statement, ast.Assign):
        sentence = message("Append the numbers only; their graph is then freed at the end of the iteration.")
        parts = _concatenated(statement)
        added = [each for each in parts if ast.unparse(each) != name]
        edits = text.wrapped(added[0], "{}.detach()") if len(added) == 1 and not isinstance(added[0], ast.BinOp) else ()
    elif isinstance(statement, ast.AugAssign) and text.is_alone(statement):
        number = ".item()" if math.prod(value.shape) == 1 and not text.has(rf"\b{name}\.") else ".detach()"
        added_text = ast.unparse(statement.value)
        added_text = (
            added_text if isinstance(statement.value, (ast.Name, ast.Attribute, ast.Call)) else f"({added_text})"
        )
        source = f"{ast.unparse(statement).partition('=')[0]}= {added_text}{number}"
        edits = (text.replace(statement, source),)
    evidence = (Evidence(line, said(message("adds to `{name}`, with its history", name=name))),)
    fix = Fix(said(sentence), text.file if edits else "", edits)
    return Fault("leak", said(verdict), evidence, said(_REASON), (fix,))


def grows(statement: ast.AST, name: str) -> bool:
    """Return True for ``name += value``, ``name = name + value`` and ``name = torch.cat((name, value))``."""
    if isinstance(statement, ast.AugAssign):
        target = statement.target
        return isinstance(target, ast.Name) and target.id == name and name not in names_in(statement.value)
    if not isinstance(statement, ast.Assign) or ast.unparse(statement.targets[0]) != name:
        return False
    value = statement.value
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub)):
        return ast.unparse(value.left) == name and name not in names_in(value.right)
    return name in [ast.unparse(each) for each in _concatenated(statement)]


def _concatenated(statement: ast.Assign) -> list[ast.expr]:
    """Return the tensors that a statement concatenates; [] if it does something else."""
    call = statement.value
    if not isinstance(call, ast.Call) or not call.args or not isinstance(call.args[0], (ast.Tuple, ast.List)):
        return []
    function = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return call.args[0].elts if function in ("cat", "concat", "concatenate", "vstack", "hstack") else []


def _of_list(
    graphs: HeldGraphs, text: ProgramText, name: str, values: list[Any], function: ast.AST | None = None
) -> Fault | None:
    """Return a fault if a list keeps results of several iterations, each with its graph, and nothing reads them."""
    kept = [each for each in values if graphs.is_tensor(each) and graphs.holds_graph(each)]
    is_plain = name.isidentifier()
    if is_plain and function is None and text.has(_uses(name)):
        return None
    own = None if function is None else set(ast.walk(function))
    calls = [each for each in text.calls("append") if _inside(_owner(each)) == _inside(name)]
    calls = [each for each in calls if own is None or each in own]
    last = re.escape(re.split(r"\[|\.", name)[-1].strip("]"))
    if not is_plain and (any(math.prod(x.shape) != 1 for x in kept) or text.has(rf"(stack|cat|sum|mean)\(.*{last}")):
        return None  # a later line may differentiate them together
    if len(kept) < FEWEST_ITERATIONS or len(calls) != 1:
        return None
    nbytes = graphs.held_bytes(kept)
    if not nbytes:
        return None
    call = calls[0]
    edits = text.wrapped(call.args[0], "{}.detach()") if call.args and not isinstance(call.args[0], ast.BinOp) else ()
    verdict = message(
        "`{name}` keeps {count} results with their graphs: {size} of saved tensors.",
        name=name,
        count=f"{len(kept):,}",
        size=bytes_message(nbytes),
    )
    role = said(message("keeps a result in `{name}`, with its history", name=name))
    return Fault(
        "leak",
        said(verdict),
        (Evidence(ProgramLine(text.file, call.lineno, ""), role),),
        said(_REASON),
        (Fix(said(message("Keep the numbers only.")), text.file if edits else "", edits),),
    )


def _uses(name: str) -> str:
    """Return the pattern of a line that may read the tensors of a list, other than to print or count them."""
    reads = rf"\b{name}\s*\[|(?<!\blen)[(,]\s*\*?{name}\b|\bin {name}\b|=\s*{name}\b|return .*\b{name}\b"
    return rf"^(?!\s*print\().*(?:{reads})"


def _is_differentiated(text: ProgramText, name: str) -> bool:
    """Return True if the program runs backward from a variable, so that one pass is meant to go through all of it."""
    return text.has(rf"\b{name}\.backward\(|grad\({name}\b")


def _owner(call: ast.Call) -> str:
    return ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""


def _inside(path: str) -> str:
    """Return a path without the name of the object at its beginning, which is another one inside a method."""
    return path.partition(".")[2] or path
