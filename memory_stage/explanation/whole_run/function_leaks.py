"""Find the graphs that a function keeps alive in its local variables, which are gone when the program ends."""

from __future__ import annotations

import ast
from types import CodeType, FrameType

from memory_stage.explanation.whole_run import leaks
from memory_stage.explanation.whole_run.faults import Fault
from memory_stage.explanation.whole_run.guarded import FaultCollector
from memory_stage.explanation.whole_run.program_text import ProgramText
from memory_stage.messages import message
from memory_stage.recorder.reachable_tensors import local_variables
from memory_stage.watch.lines import Lines

#: A search reads so many nodes in about the time that a watched operation takes.
WALKED_PER_OPERATION = 4

#: Functions and methods whose argument, or whose owner, does not keep a graph alive.
_READERS = frozenset(("print", "float", "int", "str", "len", "round", "format", "isinstance", "repr", "bool"))
_OWNER_READERS = frozenset(("item", "tolist", "detach", "detach_", "numpy", "append", "clear"))
_REPORTERS = frozenset(("info", "debug", "warning", "add_scalar", "write", "set_postfix", "set_description"))


class FunctionLeaks:
    """The last fault that was found for each local variable that grows.

    The variables of a function are searched when one of its lines, or of the functions that it calls, has run 4 times,
    8 times, 16 times and so on. The next search waits for one further operation for every few nodes that a search has
    read, so that searching takes about as long as the operations at most.

    Args:
        graphs: the graphs of one framework.
        lines: the lines of the run, which count how often each has run.
        collector: notes a failure of the search.
    """

    def __init__(self, graphs: leaks.HeldGraphs, lines: Lines, collector: FaultCollector) -> None:
        self._graphs, self._lines, self._collector = graphs, lines, collector
        self._variables: dict[CodeType, frozenset[str]] = {}
        self._due: dict[CodeType, int] = {}
        self._found: dict[tuple[str, int], Fault] = {}

    def subscribe(self) -> None:
        """Search from now on."""
        self._lines.on_repeated = self._search

    def unsubscribe(self) -> None:
        """Search no longer."""
        self._lines.on_repeated = None

    def with_local(self, faults: list[Fault]) -> list[Fault]:
        """Return faults, and the last fault of each local variable unless its line is in one of them already."""
        lines = {each.evidence[0].line for each in faults}
        return faults + [each for each in self._found.values() if each.evidence[0].line not in lines]

    def _search(self, frame: FrameType) -> None:
        for each in self._lines.program_frames(frame):
            code = each.f_code
            if code.co_name == "<module>" or self._lines.count < self._due.get(code, 0):
                continue
            names = self._variables.get(code)
            if names is None:
                names = self._variables[code] = _growing(each)
            if names:
                self._collector.collect(message("the variables of a function"), lambda each=each: self._faults_in(each))  # type: ignore[misc]

    def _faults_in(self, frame: FrameType) -> list[Fault]:
        """Remember the faults of one frame, and return [] because a later search may find larger graphs."""
        code = frame.f_code
        text = ProgramText(code.co_filename)
        function = text.function_at(frame.f_lineno)
        variables = {name: x for name, x in local_variables(frame).items() if name in self._variables[code]}
        tensors = [x for value in variables.values() for x in (value if type(value) is list else [value])]
        nodes = self._graphs.node_count([x for x in tensors if self._graphs.is_tensor(x)])
        self._due[code] = self._lines.count + nodes // WALKED_PER_OPERATION
        if function is not None and nodes:
            for name, value in variables.items():
                fault = leaks.of_local(self._graphs, text, function, name, value)
                if fault is not None:
                    self._found[name, fault.evidence[0].line.number] = fault
        return []


def _growing(frame: FrameType) -> frozenset[str]:
    """Return the local variables of a function to which a loop adds, and whose graph no other line of it needs."""
    function = ProgramText(frame.f_code.co_filename).function_at(frame.f_lineno)
    if function is None or function.name != frame.f_code.co_name:
        return frozenset()
    parents = {child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
    found = set()
    for name in frame.f_code.co_varnames[frame.f_code.co_argcount :]:
        grows = any(leaks.grows(each, name) for each in ast.walk(function) if isinstance(each, ast.stmt))
        if (grows or _is_appended_to(function, name)) and _stays_inside(name, function, parents, set()):
            found.add(name)
    return frozenset(found)


def _is_appended_to(function: ast.AST, name: str) -> bool:
    calls = [each.func for each in ast.walk(function) if isinstance(each, ast.Call)]
    owners = [each.value for each in calls if isinstance(each, ast.Attribute) and each.attr == "append"]
    return any(isinstance(each, ast.Name) and each.id == name for each in owners)


def _stays_inside(name: str, function: ast.AST, parents: dict[ast.AST, ast.AST], seen: set[str]) -> bool:
    """Return True if a function only adds to a variable, prints it, or takes its numbers."""
    seen.add(name)
    for node in ast.walk(function):
        if isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names:
            return False
        is_read = isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        if is_read and not _is_harmless(node, name, function, parents, seen):
            return False
    return True


def _is_harmless(node: ast.AST, name: str, function: ast.AST, parents: dict[ast.AST, ast.AST], seen: set[str]) -> bool:
    """Return True if the value that is read in one place is added to itself, printed, or becomes a number."""
    while not isinstance(node, ast.stmt):
        parent = parents[node]
        if isinstance(parent, (ast.FormattedValue, ast.Compare)):
            return True
        if isinstance(parent, ast.Attribute) and parent.attr in _OWNER_READERS:
            return isinstance(parents[parent], ast.Call)
        if isinstance(parent, ast.Call) and node is not parent.func:
            called = parent.func
            is_name = isinstance(called, ast.Name)
            if called.id in _READERS if is_name else getattr(called, "attr", "") in _REPORTERS:  # type: ignore[attr-defined]
                return True
        if isinstance(parent, (ast.Lambda, ast.comprehension, ast.Yield, ast.Await)):
            return False
        if isinstance(parent, (ast.If, ast.While)):
            return node is parent.test
        node = parent
    if leaks.grows(node, name):
        return True
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        copy = node.targets[0].id
        return copy in seen or _stays_inside(copy, function, parents, seen)
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Name)
