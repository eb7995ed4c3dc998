"""Diagnose a backward pass of Paddle: one that fails, and one that computes wrong gradients without an error.

The log of Paddle's calls and the table of saved tensors say which tensors the nodes of a graph saved.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from memory_stage.engines.paddle import saved_table
from memory_stage.explanation.whole_run import derivatives, named_tensors
from memory_stage.explanation.whole_run.faults import Edit, Evidence, Fault, Fix, named_lines
from memory_stage.explanation.whole_run.freed_results import FreedResults, find_outside_loop, fix_shared_batch
from memory_stage.explanation.whole_run.overwritten_fault import operations_by_line, overwritten_fault
from memory_stage.explanation.whole_run.program_text import ProgramText, assigned_name, is_fed_back
from memory_stage.explanation.whole_run.second_pass import (
    CARRIES,
    FREES,
    advise_detach,
    advise_forward,
    advise_one_pass,
    carried_graph,
    carrying,
    evidence_of_second_pass,
    find_kept_state,
    second_pass,
)
from memory_stage.explanation.whole_run.write_fixes import (
    OverwrittenValue,
    fix_leaf_write,
    fix_read,
    fix_step_order,
    fix_write,
    repeat_forward,
)
from memory_stage.messages import Text, message, plural
from memory_stage.watch.lines import ProgramLine
from memory_stage.watch.paddle.graph_log import LoggedNode, TensorState
from memory_stage.watch.paddle.paddle_calls import nodes_behind
from memory_stage.watch.paddle.paddle_run import WatchedPaddleRun
from memory_stage.watch.write_log import LineWrites

STALE, TWICE = "has been modified by an inplace operation", "backward twice for the same subgraph"
_NOT_COMPARED = message("Paddle does not compare the versions of tensors that a `PyLayer` saved.")
_VERSIONS = re.compile(r"Its version is (\d+) but the expected version is (\d+)")


def diagnose_error(
    run: WatchedPaddleRun, version: str, roots: list[Any], error: BaseException, frame: FrameType
) -> Fault | None:
    """Return the fault that caused an error of a backward pass, or None if it is not found."""
    if TWICE in str(error):
        return _freed(run, roots, frame)
    found = _VERSIONS.search(str(error))
    if found is None or STALE not in str(error):
        return None
    expected = int(found[2])
    for saved in sorted(saved_states(run, version, roots), key=lambda each: -each.node.number):
        writers = [
            each
            for each in run.calls.writes.since(saved.state.address, saved.node.time)
            if each.is_counted and each.version > saved.state.version
        ]
        if saved.is_compared and saved.state.version == expected and writers:
            return _overwritten(run, version, saved, writers, frame, is_silent=False)
    return None


def diagnose_silence(
    run: WatchedPaddleRun, version: str, roots: list[Any], frame: FrameType, known: set[Any]
) -> list[Fault]:
    """Return a fault for each tensor whose gradient will be wrong although this backward pass raises no error.

    Args:
        known: keys of the faults that were returned before; this call adds the keys of its faults.
    """
    found = []
    for saved in saved_states(run, version, roots):
        names = derivatives.names_in_table(saved.node.operation, saved.role)
        if saved.is_compared and not derivatives.is_known(*names):
            continue
        writers = _unnoticed_writers(run, saved)
        key = ("saved", saved.node.line, tuple(each.line for each in writers))
        if writers and key not in known:
            known.add(key)
            found.append(_overwritten(run, version, saved, writers, frame, is_silent=True))
    for node in logged_nodes(run, roots):
        for state in node.inputs.values():
            fault = _cut_history(run, node, state, frame, known)
            if fault is not None:
                found.append(fault)
    return found


def _overwritten(
    run: WatchedPaddleRun, version: str, saved: SavedState, writers: list[LineWrites], frame: FrameType, is_silent: bool
) -> Fault:
    lines = run.calls.lines
    frames = run.program_frames(frame)
    operation, attribute = derivatives.names_in_table(saved.node.operation, saved.role)
    name = _name_of(run, frames, saved.state)
    if not name and attribute == "out":
        name = assigned_name(lines[saved.node.line])
    made = lines[saved.node.line]
    operations = operations_by_line(lines, writers)
    lost = OverwrittenValue(
        name,
        attribute == "out",
        made,
        list(operations),
        run.line_of(frame),
        saved.node.time,
        writers[0].operation,
        is_leaf=attribute != "out" and saved.state.requires_gradient and not saved.state.maker,
        library="paddle",
        attribute="" if saved.is_compared else "ctx.saved_tensor()",
    )
    if writers[0].operation == "step" or lost.is_optimizer_step:
        again, earlier = fix_step_order(lost)
        text = ProgramText(lost.written_in[0].file)
        fixes = [repeat_forward(lost, frames, text, lambda value: _is_stale(run, version, value)) or again, earlier]
    elif lost.is_leaf:
        fixes = [fix_leaf_write(lost)]
    else:
        fixes = [*fix_write(lost, frames, lambda value: _is_shared(run, value)), *fix_read(lost)]
    return overwritten_fault(
        lost,
        saved.node.operation,
        [(made, saved.node.operation)],
        operations,
        derivatives.reason(operation, attribute) if saved.is_compared else _NOT_COMPARED,
        fixes,
        is_silent,
        saved.node.number,
    )


def _is_stale(run: WatchedPaddleRun, version: str, value: Any) -> bool:
    """True if the graph of a tensor saved numbers that a write has changed without Paddle's notice."""
    if not run.calls.is_tensor(value):
        return False
    return any(_unnoticed_writers(run, saved) for saved in saved_states(run, version, [value]))


def _unnoticed_writers(run: WatchedPaddleRun, saved: SavedState) -> list[LineWrites]:
    """Return the writes that overwrote a saved tensor and that Paddle does not notice during backward."""
    begin, end = saved.state.begin, saved.state.end
    since = run.calls.writes.since(saved.state.address, saved.node.time)
    unnoticed = [each for each in since if not each.is_counted or not saved.is_compared]
    return [each for each in unnoticed if each.begin < end and begin < each.end]


def _cut_history(
    run: WatchedPaddleRun, node: LoggedNode, state: TensorState, frame: FrameType, known: set[Any]
) -> Fault | None:
    """Return a fault if the history of ``state`` lacks a write that was made through another tensor."""
    maker = run.calls.graph.find(state.maker) if state.requires_gradient and state.maker else None
    if maker is None or state.version <= maker.made_version:
        return None
    writers = [
        each
        for each in run.calls.recorded_writes.since(state.address, maker.time)
        if maker.made_version < each.version <= state.version and each.begin < state.end and state.begin < each.end
    ]
    lines = run.calls.lines
    written = list(operations_by_line(lines, writers))
    key = ("view", maker.line, node.line, tuple(each.line for each in writers))
    if not written or key in known:
        return None
    known.add(key)
    frames = run.program_frames(frame)
    name = _name_of(run, frames, state)
    tensor: Text = f"`{name}`" if name else message("the result of `{operation}`", operation=maker.operation)
    made, reads, asking = lines[maker.line], lines[node.line], run.line_of(frame)
    making = message("`{operation}` made {tensor}", operation=maker.operation, tensor=tensor)
    writing = message("writes its memory through another tensor, with `{operation}`", operation=writers[0].operation)
    evidence = [Evidence(made, making), *(Evidence(line, writing) for line in written)]
    evidence += [Evidence(reads, message("reads the new numbers"))] if reads != asking else []
    evidence.append(Evidence(asking, message("differentiates without this write")))
    verdict = plural(
        "Wrong gradients: {lines} writes into {tensor} through another tensor that shares its memory, and Paddle "
        "records the write for that other tensor only.",
        "Wrong gradients: {lines} write into {tensor} through another tensor that shares its memory, and Paddle "
        "records the write for that other tensor only.",
        len(written),
        lines=named_lines(written),
        tensor=tensor,
    )
    reason = message(
        "In Paddle a view and its base use the same memory, but each has its own history. (In PyTorch they share one.)"
    )
    indexing = message(
        "Write into {tensor} itself, with an index, for example `{name}[...] = ...`: the write then belongs to its "
        "history.",
        tensor=tensor,
        name=name or "x",
    )
    joining = message(
        "Or compute the part as a new tensor, and put the parts together with paddle.concat or paddle.where."
    )
    return Fault("history cut", verdict, evidence, reason, (Fix(indexing), Fix(joining)), is_silent=True)


def _freed(run: WatchedPaddleRun, roots: list[Any], frame: FrameType) -> Fault | None:
    lines, asking, graph = run.calls.lines, run.line_of(frame), _PaddleGraph(run)
    gone = [(node, node.freed_by) for node in graph.nodes_behind(roots) if node.freed_by is not None]
    if not gone:
        return None
    node, passed = max(gone, key=lambda each: each[0].number)
    made, freed = lines[node.line], lines[passed.line]
    results = FreedResults(graph, roots, run.program_frames(frame), passed, asking)
    outside = find_outside_loop(results, [ProgramText(file) for file in lines.files()])
    made = (None if outside is None else outside.made) or made
    evidence = evidence_of_second_pass(made, freed, asking)
    name = _name_of_carried(run, roots, frame) if outside is None and not results.is_needed() else ""
    if name:
        text = ProgramText(asking.file)
        edits: tuple[Edit, ...] = ()
        if text.function_at(asking.number) is text.function_at(made.number):
            edits = text.insert_after(text.statement_at(asking.number), f"{name} = {name}.detach()")
        fix = Fix(advise_detach(f"`{name}`"), text.file, edits)
        return Fault("graph freed", carried_graph(f"`{name}`", freed, asking), evidence, CARRIES, (fix,))
    kept = _kept_state(run, roots, frame) if freed == asking and outside is None else None
    if kept is not None:
        reads, path, fix = kept
        return carrying(f"`{path}`", made, freed, reads, asking, fix)
    batch = None if freed == asking else fix_shared_batch(results, freed)
    if outside is not None:
        fixes = outside.fixes()
    elif batch is not None:
        fixes = (batch,)
    else:
        added = () if results.is_out_of_date() else (Fix(advise_one_pass(freed, asking)),)
        fixes = (Fix(advise_forward(asking, freed)), *added)
    return Fault("graph freed", second_pass(asking, freed), evidence, FREES, fixes)


class _PaddleGraph:
    """The graph of Paddle; see :class:`.freed_results.FrameworkGraph`."""

    def __init__(self, run: WatchedPaddleRun) -> None:
        self._calls = calls = run.calls
        self.lines, self.writes, self.is_tensor = calls.lines, calls.writes, calls.is_tensor
        paddle = sys.modules["paddle"]
        self.layer, self.optimizer = paddle.nn.Layer, paddle.optimizer.Optimizer

    def address_of(self, x: Any) -> int:
        return self._calls.state(x).address

    def node_of(self, x: Any) -> LoggedNode | None:
        return None if x.stop_gradient or x.grad_fn is None else self._at(x.grad_fn.node_ptr())

    def nodes_behind(self, tensors: list[Any]) -> Iterator[LoggedNode]:
        found = [self._at(each.node_ptr()) for each in nodes_behind(tensors)]
        yield from (each for each in found if each is not None)

    def parents(self, node: LoggedNode) -> list[LoggedNode]:
        found = [self._at(each.maker) for each in node.inputs.values()]
        return [each for each in found if each is not None]

    def leaves(self, node: LoggedNode) -> list[int]:
        return [each.address for each in node.inputs.values() if each.requires_gradient and not each.maker]

    def is_freed(self, node: LoggedNode) -> bool:
        return node.freed_by is not None

    def number_of(self, node: LoggedNode) -> int:
        return node.number

    def name_of(self, node: LoggedNode) -> str:
        return node.name

    def _at(self, address: int) -> LoggedNode | None:
        return self._calls.graph.find(address) or self._calls.graph.find_freed(address)


def _kept_state(run: WatchedPaddleRun, roots: list[Any], frame: FrameType) -> tuple[ProgramLine, str, Fix] | None:
    """Find the attribute that carries a freed graph; return the line that reads it, its dotted name and the fix."""
    new = [node for node in logged_nodes(run, roots) if node.line]
    if not new:
        return None
    reads = run.calls.lines[min(new, key=lambda node: node.number).line]
    tensors = named_tensors.in_frames(run.program_frames(frame), run.calls.is_tensor)
    found = find_kept_state(
        reads, [name for name, x in tensors if not x.stop_gradient and x.grad_fn is not None], run.line_of(frame)
    )
    return None if found is None else (reads, *found)


def _name_of_carried(run: WatchedPaddleRun, roots: list[Any], frame: FrameType) -> str:
    """Return the name of the variable that carries a freed graph from one iteration to the next, or ""."""
    text = ProgramText(run.line_of(frame).file)
    if any(run.calls.graph.find(x.grad_fn.node_ptr()) is None for x in roots if x.grad_fn is not None):
        return ""  # the last node of a root is freed, not only the graph before it
    for name, x in named_tensors.in_frames(run.program_frames(frame), run.calls.is_tensor):
        if not x.stop_gradient and x.grad_fn is not None and is_fed_back(text, name):
            return name
    return ""


def _name_of(run: WatchedPaddleRun, frames: Sequence[FrameType], state: TensorState) -> str:
    exact: list[str] = []
    whole: list[str] = []
    for name, x in named_tensors.in_frames(list(frames), run.calls.is_tensor):
        now = run.calls.state(x)
        if now.address == state.address:
            (exact if (now.begin, now.end) == (state.begin, state.end) else whole).append(name)
    return named_tensors.shortest(exact or whole)


def _is_shared(run: WatchedPaddleRun, value: Any) -> bool:
    """Return True for a leaf that requires a gradient, and for a tensor that is known to share its memory."""
    if not run.calls.is_tensor(value):
        return False
    state = run.calls.state(value)
    is_view = (id(value), state.begin) in run.calls.views or any(
        each.base.address == state.address for each in run.calls.views.values()
    )
    return is_view or (state.requires_gradient and not state.maker)


@dataclass(frozen=True)
class SavedState:
    """A tensor that a node saved.

    Attributes:
        node: the node.
        role: ``in 0`` for the first argument of the call, ``out 0`` for its result, ``saved 0`` for the first tensor
            that a ``PyLayer`` of the program saved.
        state: the tensor at the time of the call.
    """

    node: LoggedNode
    role: str
    state: TensorState

    @property
    def is_compared(self) -> bool:
        """True if Paddle compares the version of the tensor during backward."""
        return not self.role.startswith("saved")


def logged_nodes(run: WatchedPaddleRun, roots: list[Any]) -> Iterator[LoggedNode]:
    """Yield the logged nodes behind tensors."""
    for each in nodes_behind(roots):
        node = run.calls.graph.find(each.node_ptr())
        if node is not None and node.name == each.name():  # not an older node at this address
            yield node


def saved_states(run: WatchedPaddleRun, version: str, roots: list[Any]) -> Iterator[SavedState]:
    """Yield the tensors that a `PyLayer` saved, and those that the table lists, for all nodes behind ``roots``."""
    for node in logged_nodes(run, roots):
        for number, state in enumerate(node.saved):
            yield SavedState(node, f"saved {number}", state)
        for role in saved_table.saves(version, node.operation, node.name, node.kinds) or ():
            kind, _, path = role.partition(" ")
            if kind == "in" and path in node.inputs:
                yield SavedState(node, role, node.inputs[path])
            elif kind == "out" and path in node.outputs:
                yield SavedState(node, role, node.outputs[path])
