"""Sentences about a backward pass through a freed graph, and a state that carries the graph, for every framework."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from memory_stage.explanation.whole_run.faults import Edit, Evidence, Fault, Fix
from memory_stage.explanation.whole_run.program_text import ProgramText
from memory_stage.messages import Text, capitalized, message, plural
from memory_stage.watch.lines import UNKNOWN_LINE, ProgramLine

#: The roles of the lines in a fault about a freed graph, and the reasons.
FREED = message("ran backward through it and freed it")
_NEEDED_AGAIN = message("needs it again")
_NEEDED_NEXT_TIME = message("needs it again, the next time it runs")
REACHES_FREED = message("reaches the freed part")
CARRIES = message("A value that is computed from its last value keeps the graphs of all its earlier values.")
FREES = message("A backward pass frees the tensors that the operations saved, unless retain_graph=True keeps them.")


def second_pass(asking: ProgramLine, freed: ProgramLine) -> Text:
    """Return the verdict on a second pass through a graph. One line in a loop may run both passes."""
    if asking == freed:
        return message("Line {line} runs backward again through a graph that it has already freed.", line=asking.number)
    return message(
        "Line {line} runs backward through a graph that the backward pass in line {freed} has freed.",
        line=asking.number,
        freed=freed.number,
    )


def evidence_of_second_pass(made: ProgramLine, freed: ProgramLine, asking: ProgramLine) -> tuple[Evidence, ...]:
    """Return the lines of a second pass through a graph, each with its role."""
    again = _NEEDED_NEXT_TIME if asking == freed else _NEEDED_AGAIN
    return Evidence(made, message("made the graph")), Evidence(freed, FREED), Evidence(asking, again)


def carrying(
    value: Text, made: ProgramLine, freed: ProgramLine, reads: ProgramLine, asking: ProgramLine, fix: Fix
) -> Fault:
    """Return the fault of a value that carries a freed graph into another backward pass.

    Args:
        made: the line that made the value.
        freed: the line of the pass that freed its graph.
        reads: the line that reads the value.
        asking: the line of the pass that needs the graph again.
    """
    evidence = (
        Evidence(made, message("made {value}, with its graph", value=value)),
        Evidence(freed, FREED),
        Evidence(reads, message("reads {value} and attaches the freed graph to the new one", value=value)),
        Evidence(asking, REACHES_FREED),
    )
    return Fault("graph freed", carried_graph(value, freed, asking), evidence, CARRIES, (fix,))


def carried_graph(value: Text, freed: ProgramLine, asking: ProgramLine) -> Text:
    """Return the verdict on a value that carries a freed graph into another pass, perhaps of the same line."""
    if asking == freed:
        verdict = message(
            "{value} carries the graph of the backward pass in line {freed} into the next one.",
            value=value,
            freed=freed.number,
        )
    else:
        verdict = message(
            "{value} carries the graph of the backward pass in line {freed} into the one in line {line}.",
            value=value,
            freed=freed.number,
            line=asking.number,
        )
    return capitalized(verdict)


def detached(name: str, are_several: bool) -> str:
    """Return the code for a state without its graph: one tensor, or a tuple or list of tensors."""
    return f"tuple(each.detach() for each in {name})" if are_several else f"{name}.detach()"


def advise_detach(value: Text, count: int = 1) -> Text:
    """Return the advice to detach a value, or ``count`` values, that the next iteration reads."""
    return plural(
        "Detach {value} before the next iteration reads it: `.detach()` keeps the numbers and drops the graph.",
        "Detach {value} before the next iteration reads them: `.detach()` keeps the numbers and drops the graph.",
        count,
        value=value,
    )


def advise_constant(name: str) -> Text:
    """Return the advice to detach a result if it is meant as a constant."""
    return message(
        "Detach `{name}` if it should be a constant for these passes, such as an earlier output of the model: "
        "`.detach()` keeps the numbers and drops the graph.",
        name=name,
    )


def advise_forward(asking: ProgramLine, freed: ProgramLine) -> Text:
    """Return the advice to repeat the forward pass before a second backward pass."""
    if asking == freed:
        return message(
            "Run the forward pass again before each backward pass in line {line}: its gradients then belong to the "
            "current parameters.",
            line=asking.number,
        )
    return message(
        "Run the forward pass again before line {line}: its gradients then belong to the current parameters.",
        line=asking.number,
    )


def advise_one_pass(freed: ProgramLine, asking: ProgramLine) -> Text:
    """Return the advice for two backward passes that are meant for the same parameters."""
    if asking == freed:
        return message(
            "Or, if all passes are meant for the same parameters, add the losses and call backward() once; or pass "
            "retain_graph=True in line {line}, which keeps the graph in memory for the next pass.",
            line=asking.number,
        )
    return message(
        "Or, if both passes are meant for the same parameters, add the losses and call backward() once; or pass "
        "retain_graph=True in line {freed}, which keeps the graph in memory for line {line}.",
        freed=freed.number,
        line=asking.number,
    )


def find_kept_state(
    reads: ProgramLine, names: Sequence[str], asking: ProgramLine = UNKNOWN_LINE
) -> tuple[str, Fix] | None:
    """Return the attribute that a line reads and that has a graph, and the fix that detaches it first; or None.

    The attribute has to be one that the same file assigns outside ``__init__``.

    Args:
        reads: the line that reads the state.
        names: the names of the tensors that have a graph.
        asking: the line of the pass that needs the graph again.
    """
    text = ProgramText(reads.file)
    statement = text.statement_at(reads.number)
    if statement is None or not text.is_alone(statement):
        return None
    for path in text.assigned_attributes():
        if path not in [ast.unparse(each) for each in ast.walk(statement) if isinstance(each, ast.Attribute)]:
            continue
        ends = f".{path.rpartition('.')[2]}"
        if any(name.endswith(ends) for name in names):
            source = detached(path, are_several=False)
        elif any(name.rpartition("[")[0].endswith(ends) for name in names):
            source = detached(path, are_several=True)
        else:
            continue
        sentence = message(
            "Detach `{name}` before it is read: `.detach()` keeps the numbers and drops the graph.", name=path
        )
        asked = asking.number if asking.file == text.file else 0
        return path, Fix(sentence, text.file, _detached_before(text, statement, path, source, asked))
    return None


def _detached_before(text: ProgramText, statement: ast.stmt, path: str, source: str, asking: int) -> tuple[Edit, ...]:
    """Return the edit that detaches a state before a statement reads it, or before the loop around the statement.

    A loop that contains the line ``asking`` runs the backward pass after each read.
    """
    function = text.function_at(statement.lineno)
    loops = [each for each in text.loops_around(statement.lineno) if text.function_at(each.lineno) is function]
    loops = [each for each in loops if not each.lineno < asking <= (each.end_lineno or 0)]
    assignment = f"{path} = {source}"
    may_be_none = any(ast.unparse(each) == path for each in text.targets_of_none())
    lines = (f"if {path} is not None:", f"    {assignment}") if may_be_none else (assignment,)
    return text.insert_before(loops[0] if loops else statement, *lines)
