"""Diagnose a backward pass through a graph that an earlier pass has freed."""

from __future__ import annotations

import ast
import re
from types import FrameType
from typing import Any

import torch

from memory_stage.engines.torch.node_names import is_leaf, short_name
from memory_stage.explanation.whole_run.faults import Edit, Evidence, Fault, Fix
from memory_stage.explanation.whole_run.program_names import ProgramNames
from memory_stage.explanation.whole_run.program_text import (
    ProgramText,
    assigned_names,
    differentiated,
    is_fed_back,
    names_in,
)
from memory_stage.explanation.whole_run.second_pass import (
    CARRIES,
    FREED,
    FREES,
    NEEDED_AGAIN,
    REACHES_FREED,
    advise_detach,
    advise_forward,
    advise_one_pass,
    carried_graph,
    second_pass,
)
from memory_stage.messages import Text, message
from memory_stage.watch.lines import UNKNOWN_LINE, ProgramLine
from memory_stage.watch.torch.backward_graph import is_freed, node_of, nodes_behind
from memory_stage.watch.torch.watched_run import BackwardPass, WatchedRun

MESSAGE = "Trying to backward through the graph a second time"


def diagnose_error(watch: WatchedRun, roots: Any, error: BaseException, frame: FrameType) -> Fault | None:
    """Return the fault behind an error of torch that a graph was freed, or None if it is another error.

    The arguments are those of :func:`~memory_stage.explanation.whole_run.overwritten.diagnose_error`.
    """
    if MESSAGE not in str(error):
        return None
    asking = watch.line_of(frame)
    frames = watch.program_frames(frame)
    names = ProgramNames(frames)
    nodes = list(nodes_behind(roots))
    gone = [node for node in nodes if is_freed(node)] or nodes
    for passed in watch.passes:
        old = [node for node in gone if node._sequence_nr() < passed.next_node]
        if passed.keeps_graph or not old:
            continue
        freed = watch.lines[passed.line]
        new = [node for node in nodes if node._sequence_nr() >= passed.next_node]
        border = _border(new, passed)
        if border is not None and is_fed_back(ProgramText(asking.file), names.with_node(border[1])):
            return _carried(watch, names, border, freed, asking)
        kept = "" if border is None else names.first_with_node(border[1])
        if border is not None and kept.endswith("]"):
            return _kept_in_list(watch, kept.rpartition("[")[0], border, freed, asking)
        state = "" if border is None else _loop_state(asking, frames[0])
        if border is not None and state:
            return _carried_state(watch, state, frames[0], border, freed, asking)
        if border is not None and freed == asking:
            kept_state = _kept_state(watch, names, border, freed, asking)
            if kept_state is not None:
                return kept_state
        shared = _reached_before(freed, frames) if freed != asking else set()
        first = max([node for node in old if node in shared] or old, key=lambda node: node._sequence_nr())
        made = watch.lines[watch.nodes.find(first._sequence_nr())[0]]
        lines = {watch.nodes.find(node._sequence_nr())[0] for node in old}
        return Fault(
            "graph freed",
            second_pass(asking, freed),
            (Evidence(made, message("made the graph")), Evidence(freed, FREED), Evidence(asking, NEEDED_AGAIN)),
            FREES,
            _fixes_of_second_pass(made if len(lines) == 1 else UNKNOWN_LINE, freed, asking, bool(shared)),
        )
    return None


def _making(value: Text) -> Text:
    return message("made {value}, with its graph", value=value)


def _attaching(value: Text) -> Text:
    return message("reads {value} and attaches the freed graph to the new one", value=value)


def _reached_before(freed: ProgramLine, frames: list[FrameType]) -> set[Any]:
    """Return the nodes behind the variable from which the line ``freed``, in the same function, ran backward."""
    statement = ProgramText(freed.file).statement_at(freed.number)
    name = "" if statement is None else differentiated(statement)
    frame = frames[0] if frames else None
    if not name or frame is None or (frame.f_code.co_filename, frame.f_code.co_name) != (freed.file, freed.function):
        return set()
    return set(nodes_behind(frame.f_locals.get(name, frame.f_globals.get(name))))


def _kept_in_list(
    watch: WatchedRun, name: str, border: tuple[Any, Any], freed: ProgramLine, asking: ProgramLine
) -> Fault:
    """Return the fault of a list that still holds results of an earlier iteration, whose graph is freed."""
    reads, made = (watch.lines[watch.nodes.find(each._sequence_nr())[0]] for each in border)
    text = ProgramText(asking.file)
    edits = text.insert_after(text.statement_at(asking.number), f"{name}.clear()")
    verdict = message(
        "`{name}` still holds results from before the backward pass in line {freed}, which has freed their graph.",
        name=name,
        freed=freed.number,
    )
    emptying = message("Empty the list after the backward pass through its results.")
    return Fault(
        "graph freed",
        verdict,
        (
            Evidence(made, message("made an entry of `{name}`", name=name)),
            Evidence(freed, message("ran backward through it and freed its graph")),
            Evidence(reads, message("reads `{name}` with the old entries", name=name)),
            Evidence(asking, REACHES_FREED),
        ),
        message("A list keeps its entries until the program empties it."),
        (Fix(emptying, text.file, edits),),
    )


def _loop_state(asking: ProgramLine, frame: FrameType) -> str:
    """Return the tensor variable that a loop around the backward pass carries from one iteration to the next, or ""."""
    text = ProgramText(asking.file)
    variables = {**frame.f_globals, **frame.f_locals}
    for loop in reversed(text.loops_around(asking.number)):
        for name in text.carried_names(loop):
            values = variables.get(name)
            tensors = values if isinstance(values, (tuple, list)) else [values]
            if tensors and all(isinstance(x, torch.Tensor) and x.requires_grad and not x.is_leaf for x in tensors):
                return name
    return ""


def _kept_state(
    watch: WatchedRun, names: ProgramNames, border: tuple[Any, Any], freed: ProgramLine, asking: ProgramLine
) -> Fault | None:
    """Return the fault of an attribute, such as ``self.hidden``, that keeps a state with its graph between iterations.

    A line reads the attribute, and a line outside ``__init__`` of the same file assigns it.
    """
    reads, made = (watch.lines[watch.nodes.find(each._sequence_nr())[0]] for each in border)
    text = ProgramText(reads.file)
    statement = text.statement_at(reads.number)
    if statement is None or not text.is_alone(statement):
        return None
    for path in text.assigned_attributes():
        if path not in [ast.unparse(each) for each in ast.walk(statement) if isinstance(each, ast.Attribute)]:
            continue
        ends = f".{path.rpartition('.')[2]}"
        found = [name for name, x in names.all_tensors() if node_of(x) is not None]
        if any(name.endswith(ends) for name in found):
            detached = f"{path}.detach()"
        elif any(name.rpartition("[")[0].endswith(ends) for name in found):
            detached = f"tuple(each.detach() for each in {path})"
        else:
            continue
        evidence = [Evidence(made, _making(f"`{path}`"))] if made != reads else []
        sentence = message(
            "Detach `{name}` before it is read: `.detach()` keeps the numbers and drops the graph.", name=path
        )
        return Fault(
            "graph freed",
            carried_graph(f"`{path}`", freed, asking),
            (*evidence, Evidence(reads, _attaching(f"`{path}`")), Evidence(asking, REACHES_FREED)),
            CARRIES,
            (Fix(sentence, text.file, _detached_before(text, statement, path, detached)),),
        )
    return None


def _detached_before(text: ProgramText, statement: ast.stmt, path: str, detached: str) -> tuple[Edit, ...]:
    """Return the edit that detaches a state before a statement reads it, or before the loop around the statement."""
    function = text.function_at(statement.lineno)
    loops = [each for each in text.loops_around(statement.lineno) if text.function_at(each.lineno) is function]
    source = f"{path} = {detached}"
    may_be_none = any(ast.unparse(each) == path for each in text.targets_of_none())
    lines = (f"if {path} is not None:", f"    {source}") if may_be_none else (source,)
    return text.insert_before(loops[0] if loops else statement, *lines)


def _carried_state(
    watch: WatchedRun, name: str, frame: FrameType, border: tuple[Any, Any], freed: ProgramLine, asking: ProgramLine
) -> Fault:
    reads, made = (watch.lines[watch.nodes.find(each._sequence_nr())[0]] for each in border)
    text = ProgramText(asking.file)
    state = frame.f_locals.get(name, frame.f_globals.get(name))
    detached = f"tuple(each.detach() for each in {name})" if isinstance(state, (tuple, list)) else f"{name}.detach()"
    edits = text.insert_after(text.statement_at(asking.number), f"{name} = {detached}")
    return _carrying(f"`{name}`", (UNKNOWN_LINE if reads == made else reads, made), freed, asking, edits)


def _carrying(
    value: Text,
    border: tuple[ProgramLine, ProgramLine],
    freed: ProgramLine,
    asking: ProgramLine,
    edits: tuple[Edit, ...],
) -> Fault:
    reads, made = border
    evidence = (
        Evidence(made, _making(value)),
        Evidence(freed, FREED),
        Evidence(reads, _attaching(value)),
        Evidence(asking, REACHES_FREED),
    )
    fix = Fix(advise_detach(value), asking.file, edits)
    return Fault("graph freed", carried_graph(value, freed, asking), evidence, CARRIES, (fix,))


def _border(new: list[Any], passed: BackwardPass) -> tuple[Any, Any] | None:
    """Return the first node made after a pass that reads the result of a node made before the pass, and this node."""
    pairs = [
        (node, parent)
        for node in new
        for parent, _ in node.next_functions
        if parent is not None and not is_leaf(parent) and parent._sequence_nr() < passed.next_node
    ]
    return min(pairs, key=lambda pair: pair[0]._sequence_nr(), default=None)


def _fixes_of_second_pass(
    made: ProgramLine, freed: ProgramLine, asking: ProgramLine, is_shared: bool
) -> tuple[Fix, ...]:
    """Return the fixes of a second pass through a graph.

    Args:
        freed: the line of the first pass, which freed the graph.
        asking: the line of the second pass.
        is_shared: True if the two passes start from different variables of one graph.
    """
    text = ProgramText(asking.file)
    statement, repeated = text.statement_at(asking.number), text.statement_at(made.number)
    added = _one_pass(text, freed, statement) if is_shared and statement is not None else None
    if added is not None:
        return added
    edits: tuple[Edit, ...] = ()
    same = made.file == asking.file and text.function_at(made.number) is text.function_at(asking.number)
    is_read = repeated is not None and statement is not None and assigned_names(repeated) & names_in(statement)
    if same and isinstance(repeated, ast.Assign) and statement is not None and is_read and repeated is not statement:
        edits = text.insert_before(statement, ast.unparse(repeated))
    return Fix(advise_forward(asking), text.file, edits), Fix(advise_one_pass(freed, asking))


def _one_pass(text: ProgramText, freed: ProgramLine, asking: ast.stmt) -> tuple[Fix, ...] | None:
    """Return the fix that adds two losses, if one block differentiates both without an optimizer's step in between."""
    first = text.statement_at(freed.number) if freed.file == text.file else None
    block = text.block_of(asking)
    if first is None or first not in block or block.index(asking) < block.index(first):
        return None
    between = block[block.index(first) + 1 : block.index(asking)]
    one, other = differentiated(first), differentiated(asking)
    is_plain = all(text.is_alone(each) for each in (first, asking)) and one and other and one != other
    if not is_plain or any(re.search(r"\.(step|zero_grad)\(", ast.unparse(each)) for each in between):
        return None
    sentence = message(
        "Add the losses and differentiate once: the gradients are the same sums, and the graph is freed afterwards."
    )
    edits = (*text.replace(first), *text.replace(asking, f"({one} + {other}).backward()"))
    return (Fix(sentence, text.file, edits),)


def _carried(
    watch: WatchedRun, names: ProgramNames, border: tuple[Any, Any], freed: ProgramLine, asking: ProgramLine
) -> Fault:
    """Return the fault of a value that carries the graph of an earlier iteration into this one."""
    node, parent = border
    name = names.with_node(parent)
    reads, made = (watch.lines[watch.nodes.find(each._sequence_nr())[0]] for each in (node, parent))
    value: Text = f"`{name}`"
    if not name:
        value = message("the result of `{operation}`", operation=short_name(parent.name()))
    text = ProgramText(asking.file)
    edits: tuple[Edit, ...] = ()
    is_near = made.file == asking.file and text.function_at(made.number) is text.function_at(asking.number)
    if name.isidentifier() and is_near:
        edits = text.insert_after(text.statement_at(asking.number), f"{name} = {name}.detach()")
    return _carrying(value, (reads, made), freed, asking, edits)
