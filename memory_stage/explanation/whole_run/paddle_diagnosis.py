"""Diagnose the faults of a watched run of Paddle."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from memory_stage.explanation.whole_run import leaks, named_tensors, paddle_faults
from memory_stage.explanation.whole_run.faults import Evidence, Fault, FaultCollector, Fix
from memory_stage.explanation.whole_run.leaks import FunctionLeaks
from memory_stage.explanation.whole_run.paddle_faults import SavedState, saved_states
from memory_stage.explanation.whole_run.program_text import ProgramText, target_of
from memory_stage.messages import Text, message
from memory_stage.watch.lines import UNKNOWN_LINE, ProgramLine
from memory_stage.watch.paddle.paddle_calls import SharedView, nodes_behind
from memory_stage.watch.paddle.paddle_run import WatchedPaddleRun


class PaddleDiagnosis:
    """Watches a run of Paddle from :meth:`begin` to :meth:`end`; see :class:`.diagnosis.FrameworkDiagnosis`.

    Args:
        note: called with a sentence about something that could not be watched.
    """

    def __init__(self, collector: FaultCollector, note: Callable[[Text], None]) -> None:
        self._collector = collector
        self._paddle = sys.modules["paddle"]
        self._run = WatchedPaddleRun(self._paddle, self._on_failure, self._on_suspicion, note)
        self._known: set[Any] = set()  # keys of the silent faults that were found
        self._graphs = _PaddleGraphs(self._run, self._paddle.__version__)
        self._local_leaks = FunctionLeaks(self._graphs, self._run.calls.lines, collector)

    @property
    def failure(self) -> Exception | None:
        return self._run.calls.failure

    def begin(self) -> None:
        self._run.begin()
        self._local_leaks.subscribe()

    def end(self) -> None:
        self._local_leaks.unsubscribe()
        self._run.end()

    def diagnose_end(self, variables: dict[str, Any], file: str) -> list[Fault]:
        found = self._local_leaks.with_local(leaks.diagnose_end(self._graphs, variables, file))
        return found + _diagnose_views(self._run, variables)

    def made_in(self, x: Any) -> ProgramLine:
        calls = self._run.calls
        if not calls.is_tensor(x) or x.stop_gradient or x.grad_fn is None:
            return UNKNOWN_LINE
        node = calls.graph.find(x.grad_fn.node_ptr())
        return UNKNOWN_LINE if node is None else calls.lines[node.line]

    def written_lines(self) -> Iterator[tuple[ProgramLine, str, int]]:
        for (line, operation), count in self._run.calls.writes.totals.items():
            yield self._run.calls.lines[line], operation, count

    def nodes_made(self) -> int:
        return self._run.calls.graph.count

    def _on_failure(self, roots: list[Any], error: BaseException, frame: FrameType) -> None:
        def diagnose() -> list[Fault | None]:
            return [paddle_faults.diagnose_error(self._run, self._paddle.__version__, roots, error, frame)]

        self._collector.explain(error, message("an error of a backward pass"), diagnose)

    def _on_suspicion(self, roots: list[Any], frame: FrameType) -> None:
        def diagnose() -> list[Fault]:
            return paddle_faults.diagnose_silence(self._run, self._paddle.__version__, roots, frame, self._known)

        self._collector.collect(message("a backward pass"), diagnose)


class _PaddleGraphs:
    """The graphs that tensors of Paddle hold; see :class:`.leaks.HeldGraphs`."""

    def __init__(self, run: WatchedPaddleRun, version: str) -> None:
        self._run, self._version = run, version

    def is_tensor(self, value: Any) -> bool:
        return self._run.calls.is_tensor(value)

    def holds_graph(self, x: Any) -> bool:
        return any(self._run.calls.graph.find(node.node_ptr()) is not None for node in nodes_behind([x]))

    def addition_lines(self, x: Any) -> list[ProgramLine]:
        found = [self._run.calls.graph.find(node.node_ptr()) for node in nodes_behind([x])]
        names = ("add", "add_", "subtract", "subtract_", "concat")
        return [self._run.calls.lines[node.line] for node in found if node is not None and node.operation in names]

    def node_count(self, tensors: list[Any]) -> int:
        return sum(1 for _ in nodes_behind(tensors))

    def held_bytes(self, tensors: list[Any]) -> int:
        storages: dict[int, int] = {}
        for saved in saved_states(self._run, self._version, tensors):
            if not _is_parameter(saved):
                storages[saved.state.address] = max(storages.get(saved.state.address, 0), saved.state.nbytes)
        return sum(storages.values())


def _is_parameter(saved: SavedState) -> bool:
    """True if a saved tensor is a leaf that requires a gradient, and was not saved as the operation's result."""
    return saved.state.requires_gradient and not saved.state.maker and not saved.role.startswith("out")


def _diagnose_views(run: WatchedPaddleRun, variables: dict[str, Any]) -> list[Fault]:
    """Return a fault for each line that changed a tensor by writing into a view of the tensor.

    The write is a fault only if a variable still refers to the tensor, and the program reads it after the write.
    """
    found, seen = [], set()
    for view in run.calls.views.values():
        if not view.written or (view.line, view.written) in seen:
            continue
        seen.add((view.line, view.written))
        fault = _fault_of_view(run, view, variables)
        if fault is not None:
            found.append(fault)
    return found


def _fault_of_view(run: WatchedPaddleRun, view: SharedView, variables: dict[str, Any]) -> Fault | None:
    made, written = run.calls.lines[view.line], run.calls.lines[view.written]
    text = ProgramText(made.file)
    write = ProgramText(written.file).statement_at(written.number)
    target = target_of(write) if write is not None else ""
    names = [
        name
        for name, x in named_tensors.in_variables(variables, run.calls.is_tensor)
        if run.calls.state(x).address == view.base.address and name != target
    ]
    base = named_tensors.shortest(names)
    if not base or not target or not _is_read_after(text, base, written.number):
        return None
    calls = [each for each in text.calls(view.operation) if each.lineno == made.number]
    edits = text.wrapped(calls[0], "{}.clone()") if len(calls) == 1 else ()
    verdict = message(
        "Line {line} writes into `{target}` and changes `{base}`, too, because `{operation}` in line {made} copies "
        "nothing.",
        line=written.number,
        target=target,
        base=base,
        operation=view.operation,
        made=made.number,
    )
    getting = message("`{target}` gets the memory of `{base}`", target=target, base=base)
    reason = message(
        "In Paddle `{operation}` returns a view: other strides over the same memory.", operation=view.operation
    )
    copying = message("If `{base}` should keep its numbers, write into a copy.", base=base)
    leaving = message(
        "If both should change, the program is right. Write `{base}[...] = ...` to make that visible.", base=base
    )
    return Fault(
        "shared",
        verdict,
        (Evidence(made, getting), Evidence(written, message("writes into both"))),
        reason,
        (Fix(copying, text.file, edits), Fix(leaving)),
    )


def _is_read_after(text: ProgramText, name: str, line: int) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name.partition(".")[0].partition("[")[0] and node.lineno > line
        for statement in text.statements()
        for node in ast.walk(statement)
    )
