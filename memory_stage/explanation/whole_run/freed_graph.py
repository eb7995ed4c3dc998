"""Diagnose a backward pass through a graph that an earlier pass has freed."""

from __future__ import annotations

import ast
import collections
import dataclasses
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType, ModuleType
from typing import Any

import torch

from memory_stage.engines.torch.node_names import is_leaf, short_name
from memory_stage.explanation.whole_run.faults import Edit, Evidence, Fault, Fix
from memory_stage.explanation.whole_run.freed_results import RANDOM, FreedResults, find_outside_loop, fix_shared_batch
from memory_stage.explanation.whole_run.program_names import ProgramNames, address_of, is_tensor
from memory_stage.explanation.whole_run.program_text import (
    ProgramText,
    assigned_names,
    differentiated,
    is_fed_back,
    name_of,
    names_in,
    owner_of,
)
from memory_stage.explanation.whole_run.second_pass import (
    FREES,
    REACHES_FREED,
    advise_constant,
    advise_detach,
    advise_forward,
    advise_one_pass,
    carrying,
    detached,
    evidence_of_second_pass,
    find_kept_state,
    second_pass,
)
from memory_stage.messages import Text, joined, message, plural
from memory_stage.watch.lines import UNKNOWN_LINE, ProgramLine
from memory_stage.watch.node_log import BackwardPass
from memory_stage.watch.torch.backward_graph import is_freed, node_of, nodes_behind
from memory_stage.watch.torch.watched_run import WatchedRun

_ADDING = ("append", "appendleft", "extend", "add", "push")

MESSAGE = "Trying to backward through the graph a second time"


def diagnose_error(watch: WatchedRun, roots: Any, error: BaseException, frame: FrameType) -> Fault | None:
    """Return the fault behind torch's error about a graph that was freed; None for any other error.

    The arguments are those of :func:`~memory_stage.explanation.whole_run.overwritten.diagnose_error`.
    """
    if MESSAGE not in str(error):
        return None
    asking = watch.line_of(frame)
    frames = watch.program_frames(frame)
    names = ProgramNames(frames)
    nodes = list(nodes_behind(roots))
    gone = [node for node in nodes if is_freed(node)] or nodes
    freeing = [
        (passed, old)
        for passed in watch.passes
        if not passed.keeps_graph and (old := [node for node in gone if node._sequence_nr() < passed.next_node])
    ]
    if not freeing:
        return None
    passed, old = next((each for each in freeing if _may_reach(*each, watch, frames)), freeing[0])
    freed = watch.lines[passed.line]
    results = FreedResults(_TorchGraph(watch), list(_tensors_in(roots)), frames, passed, asking)
    outside = find_outside_loop(results, [ProgramText(file) for file in watch.lines.files()])
    shared = _reached_before(freed, frames) if freed != asking else set()
    made = watch.line_of_node(max([node for node in old if node in shared] or old, key=_TorchGraph.number_of))
    fixes: tuple[Fix, ...]
    if outside is not None:
        fixes, made = outside.fixes(), outside.made or made
    else:
        new = [node for node in nodes if node._sequence_nr() >= passed.next_node]
        border = None if results.is_needed() else _border(watch, new, passed, freed, asking)
        fault = None if border is None else _diagnose_border(border, names, frames)
        if fault is not None:
            return fault
        reaches_leaf = any(map(_TorchGraph.leaves, new))  # directly, not through the graph of an earlier pass
        constant = _name_of_constant(border, names) if border is not None and reaches_leaf else ""
        batch = None if freed == asking else fix_shared_batch(results, freed)
        repeated = made if len({watch.line_of_node(node) for node in old}) == 1 else UNKNOWN_LINE
        if batch is not None:
            fixes = (batch,)
        elif freed == asking and results.is_out_of_date():
            fixes = (Fix(advise_forward(asking, freed)),)
        else:
            again, *others = _fixes_of_second_pass(repeated, freed, asking, bool(shared))
            fixes = (again, *([] if results.is_out_of_date() else others))
        if constant:
            fixes = (Fix(advise_constant(constant)), *(Fix(each.sentence) for each in fixes))
    return Fault("graph freed", second_pass(asking, freed), evidence_of_second_pass(made, freed, asking), FREES, fixes)


class _TorchGraph:
    """The graph of PyTorch; see :class:`.freed_results.FrameworkGraph`."""

    layer, optimizer = torch.nn.Module, torch.optim.Optimizer
    is_tensor, address_of = staticmethod(is_tensor), staticmethod(address_of)
    node_of, nodes_behind, is_freed = staticmethod(node_of), staticmethod(nodes_behind), staticmethod(is_freed)

    def __init__(self, watch: WatchedRun) -> None:
        self.lines, self.writes = watch.lines, watch.writes

    @staticmethod
    def number_of(node: Any) -> int:
        return int(node._sequence_nr())

    @staticmethod
    def name_of(node: Any) -> str:
        return str(node.name())

    @staticmethod
    def parents(node: Any) -> list[Any]:
        return [each for each, _ in node.next_functions if each is not None and not is_leaf(each)]

    @staticmethod
    def leaves(node: Any) -> list[int]:
        found = [each for each, _ in node.next_functions if each is not None and is_leaf(each)]
        return [address_of(each.variable) for each in found]


def _may_reach(passed: BackwardPass, old: list[Any], watch: WatchedRun, frames: list[FrameType]) -> bool:
    """Return False if the variable from which a pass started still exists and does not reach the freed nodes."""
    behind = _reached_before(watch.lines[passed.line], frames)
    return not behind or max(map(_TorchGraph.number_of, behind)) >= passed.next_node or not behind.isdisjoint(old)


@dataclass(frozen=True)
class _Border:
    """The place where the graph of a backward pass reads a result of an earlier graph that has been freed.

    Attributes:
        source: the node that made the result.
        made: the line that made the result.
        freed: the line of the pass that freed the earlier graph.
        reads: the line that reads the result.
        asking: the line of the pass that needs the earlier graph again.
    """

    source: Any
    made: ProgramLine
    freed: ProgramLine
    reads: ProgramLine
    asking: ProgramLine


def _border(
    watch: WatchedRun, new: list[Any], passed: BackwardPass, freed: ProgramLine, asking: ProgramLine
) -> _Border | None:
    """Return the border at the first node of ``new`` that reads the result of a node made before the pass, or None.

    Args:
        new: nodes that were made after the pass.
        passed: the pass that freed its graph.
        freed: the line of that pass.
        asking: the line of the pass that failed.
    """
    pairs = [
        (node, parent)
        for node in new
        for parent in _TorchGraph.parents(node)
        if parent._sequence_nr() < passed.next_node
    ]
    if not pairs:
        return None
    node, source = min(pairs, key=lambda pair: pair[0]._sequence_nr())
    return _Border(source, watch.line_of_node(source), freed, watch.line_of_node(node), asking)


def _diagnose_border(border: _Border, names: ProgramNames, frames: list[FrameType]) -> Fault | None:
    """Return the fault of the variable that carries the freed graph into the new one; None without such a variable."""
    if is_fed_back(ProgramText(border.asking.file), names.with_node(border.source)):
        return _carried(names, border)
    lists, place = _lists_with(border.source, frames)
    sampled = ProgramText(place.file).calls("sample", "choice", "choices") if lists else []
    is_memory = any(lists[0].rpartition(".")[2] in ast.unparse(each) for each in sampled)  # a replay memory
    if lists and not is_memory and _is_refilled(lists[0], place):
        return _kept_in_list(lists, place, border)
    kept = names.first_with_node(border.source)
    if lists or kept.endswith("]"):
        return _kept_for_all(lists[0] if lists else kept.rpartition("[")[0], border)
    states = _loop_states(border, frames[0])
    if states:
        return _carried_state(states, frames[0], border)
    if border.freed != border.asking:
        return None
    tensors = [name for name, x in names.all_tensors() if node_of(x) is not None]
    kept_state = find_kept_state(border.reads, tensors, border.asking)
    return None if kept_state is None else _carrying(f"`{kept_state[0]}`", border, kept_state[1])


def _name_of_constant(border: _Border, names: ProgramNames) -> str:
    """Return the variable that a line before the loop makes and each iteration reads, perhaps as a constant; or ""."""
    name, text = names.first_with_node(border.source), ProgramText(border.asking.file)
    made, reads = text.statement_at(border.made.number), text.statement_at(border.reads.number)
    if not name.isidentifier() or border.freed != border.asking or not isinstance(made, ast.Assign) or reads is None:
        return ""
    if {border.made.file, border.reads.file} != {text.file} or assigned_names(made) != {name}:
        return ""
    assigned = {each for loop in text.loops_around(reads.lineno) for part in loop.body for each in assigned_names(part)}
    return "" if name in assigned or name not in names_in(reads) else name


def _reached_before(freed: ProgramLine, frames: list[FrameType]) -> set[Any]:
    """Return the nodes behind the variable from which line ``freed`` of the innermost frame's function ran backward."""
    statement = ProgramText(freed.file).statement_at(freed.number)
    name = "" if statement is None else differentiated(statement)
    frame = frames[0] if frames else None
    if not name or frame is None or (frame.f_code.co_filename, frame.f_code.co_name) != (freed.file, freed.function):
        return set()
    return set(nodes_behind(frame.f_locals.get(name, frame.f_globals.get(name))))


def _lists_with(node: Any, frames: list[FrameType]) -> tuple[list[str], ProgramLine]:
    """Return the lists that hold a result of a node, and the line that their frame is running; [] if there are none."""
    for frame in frames:
        lists = lists_with_node(node, frame)
        if lists:
            return lists, ProgramLine(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
    return [], UNKNOWN_LINE


def _kept_in_list(names: list[str], place: ProgramLine, border: _Border) -> Fault:
    """Return the fault of a list that still holds results of an earlier iteration although their graph is freed.

    Args:
        names: the code that reaches the list, and then the code that reaches each list filled together with it.
        place: the line that runs or calls the backward pass, in a function that has these names.
    """
    name, text = names[0], ProgramText(place.file)
    edits = text.insert_after(text.statement_at(place.number), *(f"{each}.clear()" for each in names))
    together = {*names, *_filled_with(name, text)}
    edits = edits if len(together) == len(names) else ()  # the lists must keep equal lengths
    verdict = message(
        "`{name}` still holds results from before the backward pass in line {freed}, which has freed their graph.",
        name=name,
        freed=border.freed.number,
    )
    emptying = plural(
        "Empty the list after the backward pass through its results.",
        "Empty the lists after the backward pass through their results.",
        len(together),
    )
    return Fault(
        "graph freed",
        verdict,
        (
            Evidence(border.made, message("made an entry of `{name}`", name=name)),
            Evidence(border.freed, message("ran backward through it and freed its graph")),
            Evidence(border.reads, message("reads `{name}` with the old entries", name=name)),
            Evidence(border.asking, REACHES_FREED),
        ),
        message("A list keeps its entries until the program empties it."),
        (Fix(emptying, text.file, edits),),
    )


def _filled_with(name: str, text: ProgramText) -> set[str]:
    """Return the lists to which a block appends that also appends to the list ``name``."""
    calls = [(owner_of(each), text.statement_at(each.lineno)) for each in text.calls(*_ADDING)]
    blocks = [text.block_of(each) for owner, each in calls if owner == name and each is not None]
    return {owner for owner, each in calls if any(each in block for block in blocks)}


def _is_refilled(name: str, asking: ProgramLine) -> bool:
    """Return True if the program appends to a list in a loop around a backward pass or in another function.

    If no loop contains the pass, an append anywhere counts.
    """
    text = ProgramText(asking.file)
    function = text.function_at(asking.number)
    attribute = name.rpartition(".")[2]
    for each in text.nodes():
        adds = isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr in _ADDING
        target = each.func.value if adds else each.target if isinstance(each, ast.AugAssign) else None  # type: ignore[attr-defined]
        if target is None or name_of(target) != attribute:
            continue
        inside = [loop for loop in text.loops_around(asking.number) if loop in text.loops_around(each.lineno)]  # type: ignore[attr-defined]
        if inside or text.function_at(each.lineno) is not function or not text.loops_around(asking.number):  # type: ignore[attr-defined]
            return True
    return False


def _kept_for_all(name: str, border: _Border) -> Fault:
    """Return the fault of a dict or list whose entries have a graph and are read by each iteration."""
    sentence = message(
        "Detach the entries of `{name}` where the program stores them, if they are constants such as targets: "
        "`.detach()` keeps the numbers and drops the graph.",
        name=name,
    )
    return dataclasses.replace(_carrying(f"`{name}`", border, Fix(sentence)), reason=FREES)


def _loop_states(border: _Border, frame: FrameType) -> list[str]:
    """Return the tensor variables that a loop around the backward pass carries from one iteration to the next.

    If the loop carries several, return those that one line assigns: the line that made the freed graph's result.
    """
    text = ProgramText(border.asking.file)
    variables = {**frame.f_globals, **frame.f_locals}
    made = text.statement_at(border.made.number) if border.made.file == text.file else None
    assigned = set() if made is None else assigned_names(made)
    for loop in reversed(text.loops_around(border.asking.number)):
        found = []
        for name in text.carried_names(loop):
            values = variables.get(name)
            tensors = values if isinstance(values, (tuple, list)) else [values]
            if tensors and all(isinstance(x, torch.Tensor) and x.requires_grad and not x.is_leaf for x in tensors):
                found.append(name)
        if found:
            makers = [each for each in ast.walk(loop) if isinstance(each, ast.Assign)]
            together = assigned or next((x for each in makers if found[0] in (x := assigned_names(each))), {found[0]})
            return [name for name in found if name in together] or found[:1]
    return []


def _carried_state(names: list[str], frame: FrameType, border: _Border) -> Fault:
    states = [(name, frame.f_locals.get(name, frame.f_globals.get(name))) for name in names]
    statements = [f"{name} = {detached(name, isinstance(state, (tuple, list)))}" for name, state in states]
    all_names = joined(f"`{name}`" for name in names)
    return _carrying(f"`{names[0]}`", border, _detach_after(border.asking, all_names, *statements))


def _detach_after(asking: ProgramLine, value: Text, *statements: str) -> Fix:
    """Return the fix that detaches values after a backward pass; it has no edit without statements."""
    text = ProgramText(asking.file)
    after = text.statement_at(asking.number)
    names = {each.partition(" ")[0] for each in statements}
    for each in [] if after is None else text.siblings_after(after):
        after = each if names & assigned_names(each) else after
    edits = text.insert_after(after, *statements) if statements else ()
    return Fix(advise_detach(value, max(1, len(statements))), text.file, edits)


def _carrying(value: Text, border: _Border, fix: Fix) -> Fault:
    return carrying(value, border.made, border.freed, border.reads, border.asking, fix)


def _fixes_of_second_pass(
    made: ProgramLine, freed: ProgramLine, asking: ProgramLine, is_shared: bool
) -> tuple[Fix, ...]:
    """Return the fixes of a second pass through a graph.

    Args:
        freed: the line of the first pass, which freed the graph.
        asking: the line of the second pass.
        is_shared: True if another line ran the first pass, from a variable that still exists.
    """
    text = ProgramText(asking.file)
    statement, repeated = text.statement_at(asking.number), text.statement_at(made.number)
    added = _one_pass(text, freed, statement) if is_shared and statement is not None else None
    if added is not None:
        return added
    edits: tuple[Edit, ...] = ()
    same = made.file == asking.file and text.function_at(made.number) is text.function_at(asking.number)
    is_read = repeated is not None and statement is not None and assigned_names(repeated) & names_in(statement)
    if same and isinstance(repeated, ast.Assign) and statement is not None and repeated is not statement:
        before = statement if is_read else _reader_in_loop(text, repeated, statement)
        edits = () if RANDOM.search(ast.unparse(repeated)) else text.insert_before(before, ast.unparse(repeated))
    return Fix(advise_forward(asking, freed), text.file, edits), Fix(advise_one_pass(freed, asking))


def _reader_in_loop(text: ProgramText, made: ast.Assign, asking: ast.stmt) -> ast.stmt | None:
    """Return the first statement of a later loop around ``asking`` that reads a name assigned by ``made``; or None."""
    for loop in text.loops_around(asking.lineno):
        if made.lineno < loop.lineno:
            return next((each for each in loop.body if assigned_names(made) & names_in(each)), None)
    return None


def _one_pass(text: ProgramText, freed: ProgramLine, asking: ast.stmt) -> tuple[Fix, ...] | None:
    """Return the fix that adds two losses; None unless one block differentiates both and only computes in between."""
    first = text.statement_at(freed.number) if freed.file == text.file else None
    block = text.block_of(asking)
    if first is None or first not in block or block.index(asking) < block.index(first):
        return None
    between = block[block.index(first) + 1 : block.index(asking)]
    one, other = differentiated(first), differentiated(asking)
    is_plain = all(text.is_alone(each) for each in (first, asking)) and one and other and one != other
    is_plain = is_plain and all(isinstance(each, ast.Assign) for each in between)
    if not is_plain or any(re.search("grad|step|inputs", ast.unparse(each)) for each in (first, *between, asking)):
        return None
    sentence = message(
        "Add the losses and differentiate once: the gradients are the same sums, and the graph is freed afterwards."
    )
    edits = (*text.replace(first), *text.replace(asking, f"({one} + {other}).backward()"))
    return (Fix(sentence, text.file, edits),)


def _carried(names: ProgramNames, border: _Border) -> Fault:
    """Return the fault of a value that carries the graph of an earlier iteration into this one."""
    name, made, asking = names.with_node(border.source), border.made, border.asking
    value: Text = f"`{name}`"
    if not name:
        value = message("the result of `{operation}`", operation=short_name(border.source.name()))
    text = ProgramText(asking.file)
    is_near = made.file == asking.file and text.function_at(made.number) is text.function_at(asking.number)
    statements = [f"{name} = {name}.detach()"] if name.isidentifier() and is_near else []
    return _carrying(value, border, _detach_after(asking, value, *statements))


#: The most attributes and keys between a variable and a list, and the most entries of a searched object.
DEPTH, MOST_ENTRIES = 2, 64


def lists_with_node(node: Any, frame: FrameType) -> list[str]:
    """Return the code that reaches a list with the tensor that a node made, then the lists filled together with it.

    The list is empty if there is none. The entries may be tuples of tensors. Two lists are filled together if they are
    attributes of one object, or values of one dict, and have the same number of entries.
    """
    found = [*_lists_in(frame.f_locals), *_lists_in(frame.f_globals)]
    for owner, path, values in found:
        if any(node_of(x) is node for entry in values for x in _tensors_in(entry)):
            together = [other for kept, other, each in found if owner and kept == owner and len(each) == len(values)]
            return [path, *(each for each in dict.fromkeys(together) if each != path)]
    return []


def _lists_in(variables: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for name, value in list(variables.items()):
        if not name.startswith("_"):
            yield from _reach("", name, value, DEPTH)


def _reach(owner: str, path: str, value: Any, depth: int) -> Iterator[tuple[str, str, Any]]:
    """Yield for each list behind ``path``: the path of the object or dict that has it (or ""), its path, the list."""
    if type(value) in (list, collections.deque):
        yield owner, path, value
        return
    is_dict = type(value) is dict
    inner = value if is_dict else getattr(value, "__dict__", None)
    if depth == 0 or type(inner) is not dict or len(inner) > MOST_ENTRIES:
        return
    if isinstance(value, (type, ModuleType)):
        return
    for key, entry in list(inner.items()):
        if type(key) is str and not key.startswith("_"):
            yield from _reach(path, f"{path}[{key!r}]" if is_dict else f"{path}.{key}", entry, depth - 1)


def _tensors_in(entry: Any) -> Iterator[torch.Tensor]:
    parts = entry if isinstance(entry, (tuple, list)) else [entry]
    return (x for x in parts if isinstance(x, torch.Tensor))
