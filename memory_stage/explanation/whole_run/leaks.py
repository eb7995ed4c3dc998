"""Diagnose memory that a program keeps alive by accident: the graphs of earlier iterations."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from types import CodeType, FrameType, ModuleType
from typing import Any, Protocol

from memory_stage.explanation.whole_run.faults import Edit, Evidence, Fault, FaultCollector, Fix
from memory_stage.explanation.whole_run.program_text import ProgramText, owner_of
from memory_stage.explanation.whole_run.value_reads import ValueReads
from memory_stage.messages import message
from memory_stage.recorder.reachable_tensors import local_variables
from memory_stage.trace.amounts import bytes_message
from memory_stage.watch.lines import Lines, ProgramLine

FEWEST_ITERATIONS = 3

#: How many levels of attributes and dicts are searched for lists, and the most entries of an object that is searched.
DEPTH, MOST_ENTRIES = 3, 64

_REASON = message(
    "A computed tensor keeps its graph alive, and the graph keeps all tensors that the operations saved for backward."
)


class HeldGraphs(Protocol):
    """The graphs that the tensors of a framework hold when a program ends."""

    def is_tensor(self, value: Any) -> bool:
        """Return True for a tensor of the framework."""

    def holds_graph(self, x: Any) -> bool:
        """Return True if a tensor holds a graph, and no ``backward`` was asked to retain it."""

    def addition_lines(self, x: Any) -> list[ProgramLine]:
        """Return the line of each addition, subtraction and concatenation in the graph of a tensor."""

    def held_bytes(self, tensors: list[Any]) -> int:
        """Return the bytes that the graphs of tensors hold, without those of parameters."""

    def node_count(self, tensors: list[Any]) -> int:
        """Return the number of nodes in the graphs of tensors."""


def diagnose_end(graphs: HeldGraphs, variables: dict[str, Any], file: str) -> list[Fault]:
    """Return a fault for each variable that still holds the graphs of several iterations when a program ends.

    A graph whose backward pass has run no longer holds tensors, so it is not a leak.
    """
    text = ProgramText(file)
    found = []
    for name, value in list(variables.items()):
        if graphs.is_tensor(value):
            fault = _diagnose_sum(graphs, text, name, value) if graphs.holds_graph(value) else None
            found += [] if fault is None else [fault]
            continue
        for path, values in _lists(name, value, DEPTH):
            fault = _diagnose_list(graphs, text, path, values)
            found += [] if fault is None else [fault]
    for path in [] if text.tree is None else collected_paths(text.tree):
        value = None if path.isidentifier() else value_at(path, variables)
        if graphs.is_tensor(value) and graphs.holds_graph(value) and ValueReads([text]).are_reported(path, None):
            fault = _diagnose_sum(graphs, text, path, value)
            found += [] if fault is None else [fault]
    return found


def collected_paths(function: ast.AST) -> list[str]:
    """Return the paths of the values to which the statements of a function add or append, such as ``self.total``."""
    found: dict[str, None] = {}
    for each in ast.walk(function):
        target = _collector_of(each)
        path = "" if target is None else ast.unparse(target)
        if path and _is_plain(target) and (isinstance(each, ast.Call) or grows(each, path)):
            found[path] = None
    return list(found)


def _collector_of(node: ast.AST) -> ast.expr | None:
    if isinstance(node, ast.AugAssign):
        return node.target
    if isinstance(node, ast.Assign):
        return node.targets[0]
    is_append = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append"
    return node.func.value if is_append else None  # type: ignore[attr-defined]  # checked above


def _is_plain(path: ast.AST | None) -> bool:
    """Return True if a path consists of a name, attributes and constant keys, without calls or other indices."""
    while isinstance(path, (ast.Attribute, ast.Subscript)):
        if isinstance(path, ast.Subscript) and not isinstance(path.slice, ast.Constant):
            return False
        path = path.value
    return isinstance(path, ast.Name)


def value_at(path: str, variables: dict[str, Any]) -> Any:
    """Return the value at a path such as ``self.sums["loss"]``, or None, without running code of the program."""
    steps = []
    node: ast.AST = ast.parse(path, mode="eval").body
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        is_attribute = isinstance(node, ast.Attribute)
        steps.append((is_attribute, node.attr if is_attribute else getattr(node.slice, "value", None)))  # type: ignore[union-attr]
        node = node.value
    value = variables.get(getattr(node, "id", ""))
    for is_attribute, key in reversed(steps):
        inner = getattr(value, "__dict__", None) if is_attribute else value
        if not isinstance(inner, dict) or isinstance(value, (type, ModuleType)):
            return None
        value = dict.get(inner, key)
    return value


def _lists(path: str, value: Any, depth: int) -> Iterator[tuple[str, list[Any]]]:
    """Yield the lists with enough entries that a variable reaches through attributes and dicts, each with its path."""
    if type(value) is list:
        if len(value) >= FEWEST_ITERATIONS:
            yield path, value
        return
    inner = value if type(value) is dict else getattr(value, "__dict__", None)
    if depth == 0 or type(inner) is not dict or isinstance(value, (type, ModuleType)) or len(inner) > MOST_ENTRIES:
        return
    for key, entry in list(inner.items()):
        if type(key) is str and not key.startswith("_"):
            yield from _lists(f"{path}[{key!r}]" if type(value) is dict else f"{path}.{key}", entry, depth - 1)


def diagnose_local(graphs: HeldGraphs, text: ProgramText, function: ast.AST, name: str, value: Any) -> Fault | None:
    """Return a fault if a local variable of a function that is still running holds the graphs of several iterations.

    Args:
        name: the variable, or the path of attributes. The caller has checked that the program uses its value only in
            reports.
    """
    if graphs.is_tensor(value):
        return _diagnose_sum(graphs, text, name, value, function) if graphs.holds_graph(value) else None
    return _diagnose_list(graphs, text, name, value, function) if type(value) is list else None


def _diagnose_sum(
    graphs: HeldGraphs, text: ProgramText, name: str, value: Any, function: ast.AST | None = None
) -> Fault | None:
    """Return a fault if a variable is the sum of results of several iterations with their graphs.

    Args:
        function: the function that is still running; None for a variable that exists at the end of the program.
    """
    nodes = text.statements() if function is None else ast.walk(function)
    statements = [each for each in nodes if isinstance(each, ast.stmt) and grows(each, name)]
    if len(statements) != 1 or _is_differentiated(text, name):
        return None
    statement = statements[0]
    lines = graphs.addition_lines(value)
    count = sum((line.file, line.number) == (text.file, statement.lineno) for line in lines)
    nbytes = graphs.held_bytes([value])
    if count < FEWEST_ITERATIONS or not nbytes:
        return None
    line = text.line_of(statement)
    amounts: dict[str, Any] = {"name": name, "count": f"{count:,}", **_amounts(nbytes, count)}
    verdict = message(
        "`{name}` keeps the graphs of {count} iterations: {size} of saved tensors, {each} more with each iteration.",
        **amounts,
    )
    if function is not None:
        verdict = message(
            "`{name}` keeps the graphs of all iterations: after {count} of them {size} of saved tensors, {each} more "
            "with each iteration.",
            **amounts,
        )
    sentence = message("Add the number only; its graph is then freed at the end of the iteration.")
    if isinstance(statement, ast.Assign) and not isinstance(statement.value, ast.BinOp):
        sentence = message("Append the numbers only; their graph is then freed at the end of the iteration.")
    edits = _without_graph(text, statement, name, value, function)
    evidence = (Evidence(line, message("adds to `{name}`, with its history", name=name)),)
    fix = Fix(sentence, text.file, edits)
    return Fault("leak", verdict, evidence, _REASON, (fix,))


def _amounts(nbytes: int, count: int) -> dict[str, Any]:
    return {"size": bytes_message(nbytes), "each": bytes_message(nbytes // count)}


def _without_graph(
    text: ProgramText, statement: ast.stmt, name: str, value: Any, function: ast.AST | None
) -> tuple[Edit, ...]:
    """Return the edits with which a statement adds a number, or a detached tensor if other code may need it; or ()."""
    is_seen = not name.isidentifier() or text.has(rf"\b{name}\.") or _is_returned(function, name)
    number = ".item()" if math.prod(value.shape) == 1 and not is_seen else ".detach()"
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp):
        return text.wrapped(statement.value.right, f"{{}}{number}")
    if isinstance(statement, ast.Assign):
        parts = _concatenated(statement)
        added = [each for each in parts if ast.unparse(each) != name]
        return text.wrapped(added[0], "{}.detach()") if len(added) == 1 and not isinstance(added[0], ast.BinOp) else ()
    if isinstance(statement, ast.AugAssign):
        added_text = ast.unparse(statement.value)
        is_simple = isinstance(statement.value, (ast.Name, ast.Attribute, ast.Call))
        added_text = added_text if is_simple else f"({added_text})"
        return text.replace(statement, f"{ast.unparse(statement).partition('=')[0]}= {added_text}{number}")
    return ()


def _is_returned(function: ast.AST | None, name: str) -> bool:
    returns = [] if function is None else [each for each in ast.walk(function) if isinstance(each, ast.Return)]
    return any(isinstance(each, ast.Name) and each.id == name for part in returns for each in ast.walk(part))


def grows(statement: ast.AST, name: str) -> bool:
    """Return True for ``name += value``, ``name = name + value`` and ``name = torch.cat((name, value))``."""
    if isinstance(statement, ast.AugAssign):
        is_sum = isinstance(statement.op, (ast.Add, ast.Sub))
        return is_sum and ast.unparse(statement.target) == name and not _reads(statement.value, name)
    if not isinstance(statement, ast.Assign) or ast.unparse(statement.targets[0]) != name:
        return False
    value = statement.value
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub)):
        return ast.unparse(value.left) == name and not _reads(value.right, name)
    return name in [ast.unparse(each) for each in _concatenated(statement)]


def _reads(expression: ast.AST, path: str) -> bool:
    """Return True if an expression contains ``path``, which is a name or, for example, ``self.losses[0]``."""
    parts = [each for each in ast.walk(expression) if isinstance(each, (ast.Name, ast.Attribute, ast.Subscript))]
    return any(ast.unparse(each) == path for each in parts)


def _concatenated(statement: ast.Assign) -> list[ast.expr]:
    """Return the tensors that a statement concatenates; [] if it does something else."""
    call = statement.value
    if not isinstance(call, ast.Call) or not call.args or not isinstance(call.args[0], (ast.Tuple, ast.List)):
        return []
    function = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return call.args[0].elts if function in ("cat", "concat", "concatenate", "vstack", "hstack") else []


def _diagnose_list(
    graphs: HeldGraphs, text: ProgramText, name: str, values: list[Any], function: ast.AST | None = None
) -> Fault | None:
    """Return a fault if a list keeps results of several iterations, each with its graph, and nothing reads them."""
    kept = [x for each in values for x in parts_of(each) if graphs.is_tensor(x) and graphs.holds_graph(x)]
    if len(kept) < FEWEST_ITERATIONS or (function is None and not ValueReads([text]).are_reported(name, None)):
        return None
    own = None if function is None else set(ast.walk(function))
    calls = [each for each in text.calls("append") if _inside(owner_of(each)) == _inside(name)]
    calls = [each for each in calls if own is None or each in own]
    if len(calls) != 1:
        return None
    nbytes = graphs.held_bytes(kept)
    if not nbytes:
        return None
    call = calls[0]
    appended = [] if not call.args else _display_parts(call.args[0], values[-1])
    held = [part for part, x in appended if graphs.is_tensor(x) and graphs.holds_graph(x)]
    edits = text.wrapped(held[0], "{}.detach()") if len(held) == 1 and not isinstance(held[0], ast.BinOp) else ()
    verdict = message(
        "`{name}` keeps {count} results with their graphs: {size} of saved tensors, {each} more with each result.",
        name=name,
        count=f"{len(kept):,}",
        **_amounts(nbytes, len(kept)),
    )
    evidence = Evidence(text.line_of(call), message("keeps a result in `{name}`, with its history", name=name))
    return Fault("leak", verdict, (evidence,), _REASON, (Fix(message("Keep the numbers only."), text.file, edits),))


def parts_of(entry: Any) -> list[Any]:
    """Return the values of a tuple, list or dict; for any other entry, return a list of the entry itself."""
    if type(entry) is dict:
        return list(entry.values())
    return list(entry) if type(entry) in (tuple, list) else [entry]


def _display_parts(expression: ast.expr, entry: Any) -> list[tuple[ast.expr, Any]]:
    """Return pairs: an expression, and the part of the entry that it made."""
    if not isinstance(expression, (ast.Tuple, ast.List, ast.Dict)):
        return [(expression, entry)]
    parts = expression.values if isinstance(expression, ast.Dict) else expression.elts
    return list(zip(parts, parts_of(entry), strict=False))


def _is_differentiated(text: ProgramText, name: str) -> bool:
    """Return True if the program calls backward() on a variable, and so needs its whole graph."""
    path = re.escape(name)
    return text.has(rf"\b{path}\.backward\(|grad\({path}\b")


def _inside(path: str) -> str:
    """Return a path without its first name, because ``model.losses`` is ``self.losses`` in a method."""
    return path.partition(".")[2] or path


#: A search reads about this many nodes in the time of one watched operation.
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

    def __init__(self, graphs: HeldGraphs, lines: Lines, collector: FaultCollector) -> None:
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
        """Return ``faults`` and the last fault of each local variable whose line has no fault in ``faults``."""
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
        values: dict[str, Any] = {path: value_at(path, variables) for path in self._paths[code]}
        tensors = [x for each in values.values() for entry in parts_of(each) for x in parts_of(entry)]
        nodes = self._graphs.node_count([x for x in tensors if self._graphs.is_tensor(x)])
        self._due[code] = self._lines.count + nodes // WALKED_PER_OPERATION
        if function is not None and nodes:
            for path, value in values.items():
                fault = diagnose_local(self._graphs, text, function, path, value)
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
    paths = [path for path in collected_paths(function) if path in own or not path.isidentifier()]
    if not paths:
        return ()
    reads = ValueReads(list(texts.values()))
    return tuple(path for path in paths if reads.are_reported(path, function))
