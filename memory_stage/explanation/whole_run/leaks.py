"""Diagnose memory that a program keeps alive by accident: the graphs of iterations that are over."""

from __future__ import annotations

import ast
from typing import Any

import torch

from memory_stage.engines.torch.node_names import short_name
from memory_stage.explanation.whole_run.faults import Edit, Evidence, Fault, Fix
from memory_stage.explanation.whole_run.program_text import ProgramText, names_in
from memory_stage.trace.amounts import bytes_text
from memory_stage.watch.lines import ProgramLine
from memory_stage.watch.torch.backward_graph import node_of, nodes_behind, saved_by
from memory_stage.watch.torch.watched_run import WatchedRun

FEWEST_ITERATIONS = 3

_REASON = "A tensor that was computed keeps its graph alive, and the graph keeps everything that the operations saved."


def diagnose_end(watch: WatchedRun, variables: dict[str, Any], file: str) -> list[Fault]:
    """Return a fault for each variable that still holds the graphs of several iterations when a program ends.

    A graph whose backward pass has run no longer holds tensors, so it is not a leak.

    Args:
        watch: the logs of the run.
        variables: the global variables of the program.
        file: the file of the program.
    """
    text = ProgramText(file)
    kept = max((each.next_node for each in watch.passes if each.keeps_graph), default=0)
    found = []
    for name, value in list(variables.items()):
        if isinstance(value, torch.Tensor):
            node = node_of(value)
            fault = None if node is None or node._sequence_nr() < kept else _of_sum(watch, text, name, value)
        elif type(value) is list and len(value) >= FEWEST_ITERATIONS:
            fault = _of_list(text, name, value, kept)
        else:
            continue
        if fault is not None:
            found.append(fault)
    return found


def _of_sum(watch: WatchedRun, text: ProgramText, name: str, value: torch.Tensor) -> Fault | None:
    """Return a fault if a variable was added up from results of several iterations, with their graphs."""
    statements = [
        each
        for each in text.statements()
        if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name) and each.target.id == name
    ]
    if len(statements) != 1 or name in names_in(statements[0].value) or _is_differentiated(text, name):
        return None
    statement = statements[0]
    made = [node for node in nodes_behind(value) if short_name(node.name()) in ("add", "sub")]
    lines = [watch.lines[watch.nodes.find(node._sequence_nr())[0]] for node in made]
    count = sum((line.file, line.number) == (text.file, statement.lineno) for line in lines)
    nbytes = _held([value])
    if count < FEWEST_ITERATIONS or not nbytes:
        return None
    line = ProgramLine(text.file, statement.lineno, "")
    verdict = (
        f"`{name}` keeps the graphs of {count:,} iterations: {bytes_text(nbytes)} of saved tensors, and more with each "
        f"iteration."
    )
    sentence = "Add the number only; its graph is then freed at the end of the iteration."
    edits: tuple[Edit, ...] = ()
    if text.is_alone(statement):
        number = ".item()" if value.numel() == 1 and not text.has(rf"\b{name}\.") else ".detach()"
        addend = ast.unparse(statement.value)
        addend = addend if isinstance(statement.value, (ast.Name, ast.Attribute, ast.Call)) else f"({addend})"
        source = f"{ast.unparse(statement).partition('=')[0]}= {addend}{number}"
        edits = (text.replace(statement, source),)
    evidence = (Evidence(line, f"adds to `{name}`, with its history"),)
    return Fault("leak", verdict, evidence, _REASON, (Fix(sentence, text.file if edits else "", edits),))


def _of_list(text: ProgramText, name: str, values: list[Any], kept_graphs: int) -> Fault | None:
    """Return a fault if a list keeps results of several iterations, each with its graph, and nothing reads them."""
    tensors = [each for each in values if isinstance(each, torch.Tensor)]
    nodes = [node_of(each) for each in tensors]
    pairs = zip(tensors, nodes, strict=True)
    kept = [x for x, node in pairs if node is not None and node._sequence_nr() >= kept_graphs]
    if text.has(rf"\b{name}\s*\[|[(,]\s*\*?{name}\b|\bin {name}\b|=\s*{name}\b|return .*\b{name}\b"):
        return None
    calls = [each for each in text.calls("append") if _owner(each) == name]
    if len(kept) < FEWEST_ITERATIONS or len(calls) != 1:
        return None
    nbytes = _held(kept)
    if not nbytes:
        return None
    call = calls[0]
    edits = text.wrapped(call.args[0], "{}.detach()") if call.args and not isinstance(call.args[0], ast.BinOp) else ()
    return Fault(
        "leak",
        f"`{name}` keeps {len(kept):,} results with their graphs: {bytes_text(nbytes)} of saved tensors.",
        (Evidence(ProgramLine(text.file, call.lineno, ""), f"keeps a result in `{name}`, with its history"),),
        _REASON,
        (Fix("Keep the numbers only.", text.file if edits else "", edits),),
    )


def _is_differentiated(text: ProgramText, name: str) -> bool:
    """Return True if the program runs backward from a variable, so that one pass is meant to go through all of it."""
    return text.has(rf"\b{name}\.backward\(|grad\({name}\b")


def _owner(call: ast.Call) -> str:
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return owner.id if isinstance(owner, ast.Name) else ""


def _held(values: list[torch.Tensor]) -> int:
    """Return the bytes that the graphs of tensors hold, without those of parameters."""
    storages: dict[int, int] = {}
    for node in nodes_behind(values):
        for saved in saved_by(node):
            if not (saved.data.is_leaf and saved.data.requires_grad) and not isinstance(saved.data, torch.nn.Parameter):
                storages[torch._C._storage_address(saved.data)] = saved.data.untyped_storage().nbytes()
    return sum(storages.values())
