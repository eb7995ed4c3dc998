"""Find the graphs that a function keeps alive in its variables, or in attributes of objects that it can reach."""

from __future__ import annotations

from types import CodeType, FrameType
from typing import Any

from memory_stage.explanation.whole_run import leaks
from memory_stage.explanation.whole_run.faults import Fault
from memory_stage.explanation.whole_run.guarded import FaultCollector
from memory_stage.explanation.whole_run.program_text import ProgramText
from memory_stage.explanation.whole_run.value_reads import ValueReads
from memory_stage.messages import message
from memory_stage.recorder.reachable_tensors import local_variables
from memory_stage.watch.lines import Lines

#: The number of nodes that a search can read in about the time that one watched operation needs.
WALKED_PER_OPERATION = 4


class FunctionLeaks:
    """The last fault found for each growing variable or attribute of the functions of a program.

    A function is searched when a line in it, or in a function that it calls, has run 4 times, 8 times, 16 times and so
    on. A search that reads many nodes delays the next search by one operation per :data:`WALKED_PER_OPERATION` nodes,
    so searching takes at most about as long as the operations.

    Args:
        lines: the lines of the run, which count how often each has run.
        collector: notes a failure of the search.
    """

    def __init__(self, graphs: leaks.HeldGraphs, lines: Lines, collector: FaultCollector) -> None:
        self._graphs, self._lines, self._collector = graphs, lines, collector
        self._paths: dict[CodeType, tuple[str, ...]] = {}
        self._due: dict[CodeType, int] = {}
        self._found: dict[tuple[str, int], Fault] = {}

    def subscribe(self) -> None:
        """Begin to search."""
        self._lines.on_repeated = self._search

    def unsubscribe(self) -> None:
        """Stop searching."""
        self._lines.on_repeated = None

    def with_local(self, faults: list[Fault]) -> list[Fault]:
        """Return ``faults`` and the last fault of each local variable whose line is in none of them."""
        lines = {each.evidence[0].line for each in faults}
        return faults + [each for each in self._found.values() if each.evidence[0].line not in lines]

    def _search(self, frame: FrameType) -> None:
        for each in self._lines.program_frames(frame):
            code = each.f_code
            if code.co_name == "<module>" or self._lines.count < self._due.get(code, 0):
                continue
            paths = self._paths.get(code)
            if paths is None:
                paths = self._paths[code] = _growing(each, self._lines.files())
            if paths:
                self._collector.collect(message("the variables of a function"), lambda each=each: self._faults_in(each))  # type: ignore[misc]

    def _faults_in(self, frame: FrameType) -> list[Fault]:
        """Remember the faults of one frame. Return none of them, because a later search may find larger graphs."""
        code = frame.f_code
        text = ProgramText(code.co_filename)
        function = text.function_at(frame.f_lineno)
        variables = {**frame.f_globals, **local_variables(frame)}
        values: dict[str, Any] = {path: leaks.value_at(path, variables) for path in self._paths[code]}
        tensors = [x for each in values.values() for entry in leaks.parts_of(each) for x in leaks.parts_of(entry)]
        nodes = self._graphs.node_count([x for x in tensors if self._graphs.is_tensor(x)])
        self._due[code] = self._lines.count + nodes // WALKED_PER_OPERATION
        if function is not None and nodes:
            for path, value in values.items():
                fault = leaks.diagnose_local(self._graphs, text, function, path, value)
                if fault is not None:
                    self._found[path, fault.evidence[0].line.number] = fault
        return []


def _growing(frame: FrameType, files: set[str]) -> tuple[str, ...]:
    """Return the variables and attributes to which a function adds, if no line of ``files`` needs their graphs."""
    code = frame.f_code
    texts = {file: ProgramText(file) for file in sorted(files | {code.co_filename})}
    function = texts[code.co_filename].function_at(frame.f_lineno)
    if function is None or function.name != code.co_name:
        return ()
    own = code.co_varnames[code.co_argcount + code.co_kwonlyargcount :]
    paths = [path for path in leaks.collected_paths(function) if path in own or not path.isidentifier()]
    if not paths:
        return ()
    reads = ValueReads(list(texts.values()))
    return tuple(path for path in paths if reads.are_reported(path, function))
