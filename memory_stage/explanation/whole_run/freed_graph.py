"""Diagnose a backward pass through a graph that an earlier pass has freed."""

from __future__ import annotations

import ast
from types import FrameType
from typing import Any

import torch

from memory_stage.engines.torch.node_names import is_leaf, short_name
from memory_stage.explanation.whole_run.faults import Evidence, Fault, Fix
from memory_stage.explanation.whole_run.program_names import ProgramNames
from memory_stage.explanation.whole_run.program_text import ProgramText, is_fed_back
from memory_stage.watch.lines import UNKNOWN_LINE, ProgramLine
from memory_stage.watch.torch.backward_graph import is_freed, nodes_behind
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
        first = max(old, key=lambda node: node._sequence_nr())
        made = watch.lines[watch.nodes.find(first._sequence_nr())[0]]
        lines = {watch.nodes.find(node._sequence_nr())[0] for node in old}
        evidence = [Evidence(made, "made the graph")] if made.number else []
        evidence += [Evidence(freed, "ran backward through it and freed it"), Evidence(asking, "needs it again")]
        return Fault(
            "graph freed",
            f"Line {asking.number} runs backward through a graph that the backward pass in line {freed.number} has "
            f"freed.",
            tuple(evidence),
            "A backward pass frees what the operations saved, unless retain_graph=True keeps it.",
            _fixes_of_second_pass(made if len(lines) == 1 else UNKNOWN_LINE, freed, asking),
        )
    return None


def _kept_in_list(
    watch: WatchedRun, name: str, border: tuple[Any, Any], freed: ProgramLine, asking: ProgramLine
) -> Fault:
    """Return the fault of a list that still holds results of an earlier iteration, whose graph is freed."""
    reads, made = (watch.lines[watch.nodes.find(each._sequence_nr())[0]] for each in border)
    evidence = [Evidence(made, f"made an entry of `{name}`")] if made.number else []
    evidence.append(Evidence(freed, "ran backward through it and freed its graph"))
    if reads.number:
        evidence.append(Evidence(reads, f"reads `{name}` with the old entries"))
    evidence.append(Evidence(asking, "runs into the freed part"))
    text = ProgramText(asking.file)
    statement = text.statement_at(asking.number)
    edits = (
        () if statement is None or not text.is_alone(statement) else (text.insert_after(statement, f"{name}.clear()"),)
    )
    return Fault(
        "graph freed",
        f"`{name}` still holds results from before the backward pass in line {freed.number}, which has freed their "
        f"graph.",
        tuple(evidence),
        "A list keeps what it is given until the program empties it.",
        (Fix("Empty the list once its results are differentiated.", text.file if edits else "", edits),),
    )


def _loop_state(asking: ProgramLine, frame: FrameType) -> str:
    """Return the variable that a loop around the backward pass hands from one iteration to the next, or ""."""
    text = ProgramText(asking.file)
    variables = {**frame.f_globals, **frame.f_locals}
    for loop in reversed(text.loops_around(asking.number)):
        for name in text.carried_names(loop):
            values = variables.get(name)
            tensors = values if isinstance(values, (tuple, list)) else [values]
            if tensors and all(isinstance(x, torch.Tensor) and x.requires_grad and not x.is_leaf for x in tensors):
                return name
    return ""


def _carried_state(
    watch: WatchedRun, name: str, frame: FrameType, border: tuple[Any, Any], freed: ProgramLine, asking: ProgramLine
) -> Fault:
    reads, made = (watch.lines[watch.nodes.find(each._sequence_nr())[0]] for each in border)
    text = ProgramText(asking.file)
    statement = text.statement_at(asking.number)
    value = frame.f_locals.get(name, frame.f_globals.get(name))
    detached = f"tuple(each.detach() for each in {name})" if isinstance(value, (tuple, list)) else f"{name}.detach()"
    is_alone = statement is not None and text.is_alone(statement)
    edits = (text.insert_after(statement, f"{name} = {detached}"),) if statement is not None and is_alone else ()
    evidence = [Evidence(made, f"made `{name}`, with its graph")] if made.number else []
    evidence.append(Evidence(freed, "ran backward through that graph and freed it"))
    if reads.number and reads != made:
        evidence.append(Evidence(reads, f"reads `{name}` and attaches the freed graph to the new one"))
    evidence.append(Evidence(asking, "runs into the freed part"))
    return Fault(
        "graph freed",
        f"`{name}` carries the graph of the backward pass in line {freed.number} into the one in line {asking.number}.",
        tuple(evidence),
        "A value that is computed from its last value keeps the graphs of all its earlier values.",
        (
            Fix(
                f"Detach `{name}` before the next iteration reads it: `.detach()` keeps the numbers and drops the "
                f"graph.",
                text.file if edits else "",
                edits,
            ),
        ),
    )


def _border(new: list[Any], passed: BackwardPass) -> tuple[Any, Any] | None:
    """Return the first node made after a pass that reads the result of one made before it, and that one."""
    pairs = [
        (node, parent)
        for node in new
        for parent, _ in node.next_functions
        if parent is not None and not is_leaf(parent) and parent._sequence_nr() < passed.next_node
    ]
    return min(pairs, key=lambda pair: pair[0]._sequence_nr(), default=None)


def _fixes_of_second_pass(made: ProgramLine, freed: ProgramLine, asking: ProgramLine) -> tuple[Fix, ...]:
    text = ProgramText(asking.file)
    statement, repeated = text.statement_at(asking.number), text.statement_at(made.number)
    sentence = (
        f"Run the forward pass again before line {asking.number}: its gradients then belong to the parameters as they "
        f"are now."
    )
    fix = Fix(sentence)
    same = made.file == asking.file and text.function_at(made.number) is text.function_at(asking.number)
    if same and isinstance(repeated, ast.Assign) and statement is not None and repeated is not statement:
        fix = Fix(sentence, text.file, (text.insert_before(statement, ast.unparse(repeated)),))
    both = Fix(
        f"Or, if both passes are meant for the same parameters: add the losses and call backward() once; or pass "
        f"retain_graph=True in line {freed.number}, which keeps the graph in memory for line {asking.number}."
    )
    return fix, both


def _carried(
    watch: WatchedRun, names: ProgramNames, border: tuple[Any, Any], freed: ProgramLine, asking: ProgramLine
) -> Fault:
    """Return the fault of a value that carries the graph of an earlier iteration into this one."""
    node, parent = border
    name = names.with_node(parent)
    reads, made = (watch.lines[watch.nodes.find(each._sequence_nr())[0]] for each in (node, parent))
    value = f"`{name}`" if name else f"the result of `{short_name(parent.name())}`"
    evidence = []
    if made.number:
        evidence.append(Evidence(made, f"made {value}, with its graph"))
    evidence.append(Evidence(freed, "ran backward through that graph and freed it"))
    if reads.number:
        evidence.append(Evidence(reads, f"reads {value} and attaches the freed graph to the new one"))
    evidence.append(Evidence(asking, "runs into the freed part"))
    fixes = [
        Fix(f"Detach {value} before the next iteration reads it: `.detach()` keeps its numbers and drops its graph.")
    ]
    if name.isidentifier():
        text = ProgramText(asking.file)
        statement = text.statement_at(asking.number)
        function = text.function_at(asking.number)
        same = made.file == asking.file and text.function_at(made.number) is function
        if statement is not None and same and text.is_alone(statement):
            edit = text.insert_after(statement, f"{name} = {name}.detach()")
            fixes = [Fix(fixes[0].sentence, text.file, (edit,))]
    return Fault(
        "graph freed",
        f"{value[0].upper()}{value[1:]} carries the graph of the backward pass in line {freed.number} into the one in "
        f"line {asking.number}.",
        tuple(evidence),
        "A value that is computed from its last value keeps the graphs of all its earlier values.",
        tuple(fixes),
    )
