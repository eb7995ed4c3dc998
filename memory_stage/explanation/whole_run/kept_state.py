"""Find the attribute, such as ``self.hidden``, that carries a state with its graph from one iteration to the next."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from memory_stage.explanation.whole_run.faults import Edit, Fix
from memory_stage.explanation.whole_run.program_text import ProgramText
from memory_stage.messages import message
from memory_stage.watch.lines import ProgramLine


def find_kept_state(reads: ProgramLine, names: Sequence[str]) -> tuple[str, Fix] | None:
    """Return the attribute that a line reads, and the fix that detaches it before; None if there is none.

    A line outside ``__init__`` of the same file assigns the attribute.

    Args:
        reads: the line that reads the state.
        names: the names of the tensors that have a graph.
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
            detached = f"{path}.detach()"
        elif any(name.rpartition("[")[0].endswith(ends) for name in names):
            detached = f"tuple(each.detach() for each in {path})"
        else:
            continue
        sentence = message(
            "Detach `{name}` before it is read: `.detach()` keeps the numbers and drops the graph.", name=path
        )
        return path, Fix(sentence, text.file, _detached_before(text, statement, path, detached))
    return None


def _detached_before(text: ProgramText, statement: ast.stmt, path: str, detached: str) -> tuple[Edit, ...]:
    """Return the edit that detaches a state before a statement reads it, or before the loop around the statement."""
    function = text.function_at(statement.lineno)
    loops = [each for each in text.loops_around(statement.lineno) if text.function_at(each.lineno) is function]
    source = f"{path} = {detached}"
    may_be_none = any(ast.unparse(each) == path for each in text.targets_of_none())
    lines = (f"if {path} is not None:", f"    {source}") if may_be_none else (source,)
    return text.insert_before(loops[0] if loops else statement, *lines)
