"""Find the results of a freed graph that a later backward pass needs, and advise where to compute or detach them.

If a loop changes the parameters of a forward pass outside the loop, the program must not detach the result or retain
the graph: the error would disappear, and the training would be wrong.
"""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterable, Iterator, Sequence
from types import FrameType, ModuleType
from typing import Any, Protocol

from memory_stage.explanation.whole_run import named_tensors
from memory_stage.explanation.whole_run.faults import Edit, Fix
from memory_stage.explanation.whole_run.program_text import ProgramText, differentiated, name_of, names_in
from memory_stage.explanation.whole_run.second_pass import advise_constant
from memory_stage.explanation.whole_run.value_reads import local_names
from memory_stage.messages import message
from memory_stage.recorder.reachable_tensors import local_variables
from memory_stage.watch.lines import Lines, ProgramLine
from memory_stage.watch.node_log import BackwardPass
from memory_stage.watch.write_log import WriteLog

#: Code that draws random numbers or advances an iterator, and code that has the names of variables in strings.
RANDOM = re.compile(r"rand|normal|bernoulli|multinomial|sample|\bnext\(")
_NAMES_IN_STRINGS = r"(?<![\w.])(exec|eval|globals|locals|vars|getattr|setattr)\(|__dict__"
#: Methods that change a layer, even if the program reaches the layer by another name.
_CHANGING = ("train", "eval", "requires_grad_", "load_state_dict", "apply", "to", "half", "double", "float", "copy_")
_CLEARING = ("zero_grad", "clear_grad", "clear_gradients")
_HARMLESS = rf"(?!\w|\.(parameters|{'|'.join(_CLEARING)})\()"
_Loop = ast.For | ast.While
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class FrameworkGraph(Protocol):
    """The graph of a framework, with the logs of the run.

    Attributes:
        lines, writes: the lines of the program, and the lines that wrote each storage.
        layer, optimizer: the classes from which layers and optimizers are derived.
    """

    lines: Lines
    writes: WriteLog
    layer: type
    optimizer: type

    def is_tensor(self, value: Any) -> bool:
        """Return True for a tensor of the framework."""

    def address_of(self, x: Any) -> int:
        """Return the address of a tensor's storage."""

    def node_of(self, x: Any) -> Any:
        """Return the node that made a tensor; None for a leaf."""

    def nodes_behind(self, tensors: list[Any]) -> Iterator[Any]:
        """Yield the nodes that a backward pass from tensors may run, except the nodes of leaves."""

    def number_of(self, node: Any) -> int:
        """Return the number of a node in the order of creation."""

    def name_of(self, node: Any) -> str:
        """Return the name of a node's kind."""

    def parents(self, node: Any) -> list[Any]:
        """Return the nodes, except those of leaves, whose results a node reads."""

    def leaves(self, node: Any) -> list[int]:
        """Return the addresses of the leaves that require a gradient and that a node reads."""

    def is_freed(self, node: Any) -> bool:
        """Return True if a backward pass has released the tensors that a node saved."""


class FreedResults:
    """The results of a freed graph that a failed backward pass reads.

    Args:
        roots: the tensors from which the failed pass started.
        frames: the frames of the program, the innermost first.
        passed: the pass that freed the graph.
        asking: the line of the failed pass.

    Attributes:
        is_repeated: True if the same line ran both passes.
    """

    def __init__(
        self,
        graph: FrameworkGraph,
        roots: list[Any],
        frames: list[FrameType],
        passed: BackwardPass,
        asking: ProgramLine,
    ) -> None:
        self.graph, self.frames, self._passed, self.asking = graph, frames, passed, asking
        self._new = set(self._new_nodes(roots))
        read = [parent for node in self._new for parent in graph.parents(node)]
        self.is_repeated = graph.lines[passed.line] == asking
        self._border = {node for node in (*read, *map(graph.node_of, roots)) if node is not None and self._is_old(node)}
        self._variables = list(named_tensors.in_frames(frames, graph.is_tensor))
        nodes = [*self._new, *self._new_nodes([x for _, x in self._variables if self.is_differentiated(x)])]
        #: The leaves that newer graphs read: the graph of the failed pass, and those of differentiated variables.
        self._leaves_of_new = {leaf for node in nodes for leaf in graph.leaves(node)}

    def _is_old(self, node: Any) -> bool:
        return self.graph.number_of(node) < self._passed.next_node

    def _new_nodes(self, tensors: list[Any]) -> list[Any]:
        return [node for node in self.graph.nodes_behind(tensors) if not self._is_old(node)]

    def results_in(self, frames: list[FrameType]) -> Iterator[tuple[str, Any]]:
        """Yield the results to which variables and attributes of frames refer, each with its name."""
        found = named_tensors.in_frames(frames, self.graph.is_tensor)
        yield from ((name, x) for name, x in found if self.graph.node_of(x) in self._border)

    def are_all(self, x: Any) -> bool:
        """Return True if the pass needs the freed graph only for the tensor ``x``."""
        return self._border == {self.graph.node_of(x)}

    def is_differentiated(self, x: Any) -> bool:
        """Return True if a pass has read ``x`` since the graph was freed, or if the failed pass reads it."""
        return any(node in self._new or self.graph.is_freed(node) for node in self._new_nodes([x]))

    def leaves_behind(self, x: Any) -> set[int]:
        """Return the addresses of the leaves that a backward pass from ``x`` reaches."""
        return {leaf for node in self.graph.nodes_behind([x]) for leaf in self.graph.leaves(node)}

    def written_in(self, *storages: int) -> set[ProgramLine]:
        """Return the lines that wrote storages after the graph was freed."""
        writes, time = self.graph.writes, self._passed.time
        return {self.graph.lines[each.line] for address in storages for each in writes.since(address, time)}

    def parameters_of(self, owner: Any) -> set[int]:
        """Return the addresses of the parameters of an optimizer or a layer."""
        found: Any = []
        if issubclass(type(owner), self.graph.optimizer):
            groups = getattr(owner, "param_groups", None) or owner._parameter_list or []
            found = [x for each in groups for x in (each["params"] if isinstance(each, dict) else [each])]
        elif isinstance(owner, self.graph.layer):
            found = owner.parameters()  # type: ignore[attr-defined]
        return set(map(self.graph.address_of, found))

    def is_only_way(self, x: Any) -> bool:
        """Return True if the training of a parameter would end if ``x`` were detached.

        If there is an optimizer, only its parameters are trained; others may be averages.
        """
        owned, leaves = self._owned(), self.leaves_behind(x)
        trained = leaves & owned if owned else {leaf for leaf in leaves if self.written_in(leaf)}
        return not trained <= self._leaves_of_new

    def is_fixed(self, x: Any) -> bool:
        """Return True if there is an optimizer, no optimizer has a leaf behind ``x``, and no line wrote such a leaf."""
        owned, leaves = self._owned(), self.leaves_behind(x)
        return bool(owned) and owned.isdisjoint(leaves) and not self.written_in(*leaves)

    def _owned(self) -> set[int]:
        optimizers = [each for each in gc.get_objects() if issubclass(type(each), self.graph.optimizer)]
        return {number for each in optimizers for number in self.parameters_of(each)}

    def is_needed(self) -> bool:
        """Return True if the training of a parameter would end if a result were detached."""
        return any(self.is_only_way(x) for _, x in self.results_in(self.frames))

    def is_out_of_date(self) -> bool:
        """Return True if a parameter behind a result was changed after the graph was freed."""
        return any(self.written_in(*self.leaves_behind(x)) for _, x in self.results_in(self.frames))

    def shape_of(self, x: Any) -> tuple[list[str], set[int]]:
        """Return the operations behind a tensor, and the leaves."""
        return [self.graph.name_of(node) for node in self.graph.nodes_behind([x])], self.leaves_behind(x)

    def shapes_of_others(self, x: Any) -> list[Any]:
        """Return the shapes of the variables, except ``x``, that a pass has differentiated."""
        return [self.shape_of(y) for _, y in self._variables if y is not x and self.is_differentiated(y)]


class OutsideLoop:
    """A variable or an attribute that a line before a loop assigns, and that no iteration assigns.

    Args:
        name: the variable, or the code that reaches the attribute.
        frame: the frame that runs the loop.
        text: the file of the loop.
        texts: the files of the program.

    Attributes:
        made: the line that assigns the variable; None if several statements do.
    """

    def __init__(
        self,
        freed: FreedResults,
        name: str,
        x: Any,
        frame: FrameType,
        text: ProgramText,
        loop: _Loop,
        texts: Sequence[ProgramText],
    ) -> None:
        self._freed, self._name, self._x, self._frame, self._text = freed, name, x, frame, text
        self._loop, self._texts = loop, texts
        self._scope = _scope(text, frame, name)
        simple = [each for each in self._scope if isinstance(each, ast.stmt) and not hasattr(each, "body")]
        made = [each for each in simple if _stores(each, name)]
        self._made = made[0] if len(made) == 1 and isinstance(made[0], ast.Assign) else None
        self.made = None if self._made is None else text.line_of(self._made)

    def fixes(self) -> tuple[Fix, ...]:
        """Return the advice to compute the result in each iteration, with an edit if that is certainly right.

        If the loop computes the result again, the first is a constant; perhaps also if it averages the parameters.
        """
        if self.is_constant():
            text, made = self._text, self._made
            is_plain = self._name.isidentifier() and self._freed.are_all(self._x)
            edits = text.wrapped(made.value, "{}.detach()") if made is not None and is_plain else ()
            return (Fix(advise_constant(self._name), text.file, edits),)
        sentence = message(
            "Compute `{name}` again in each iteration of the loop in line {line}: its forward pass is outside the "
            "loop, which changes the parameters.",
            name=self._name,
            line=self._loop.lineno,
        )
        if self._freed.is_only_way(self._x):
            return (Fix(sentence, self._text.file, self._moved()),)
        return (Fix(sentence), Fix(advise_constant(self._name)))

    def is_constant(self) -> bool:
        """Return True if no optimizer has a parameter behind the result, or if the loop computes it again."""
        is_read = any(each.has(r"\bgrad\b") for each in self._texts)  # a step may be written without an optimizer
        if self._freed.is_repeated and not is_read and self._freed.is_fixed(self._x):
            return True
        inside = {ast.unparse(each) for each in self._layer_calls(ast.walk(self._loop))}
        before = [each for each in self._layer_calls(self._scope) if each.lineno < self._loop.lineno]
        same = [each for each in before if ast.unparse(each) in inside]
        if not self._freed.is_repeated or all(
            any(_stores(self._loop, name) for name in names_in(each)) for each in same
        ):
            return False
        freed, x = self._freed, self._x
        is_random = any(each.has(r"dropout\(") for each in self._texts)
        return not is_random and not freed.is_only_way(x) and freed.shape_of(x) in freed.shapes_of_others(x)

    def _layer_calls(self, nodes: Iterable[ast.AST]) -> list[ast.Call]:
        """Return the calls of layers whose results are not random."""
        calls = [each for each in nodes if isinstance(each, ast.Call) and not RANDOM.search(ast.unparse(each))]
        layers = [(each, _value(each.func, self._frame)) for each in calls]
        layers = [(each, x) for each, x in layers if isinstance(x, self._freed.graph.layer)]
        return [each for each, x in layers if not any("Dropout" in str(type(y)) and y.training for y in _parts(x))]

    def is_changed_in_loop(self) -> bool:
        """Return True if the loop has changed parameters behind the result, or contains the step that changes them."""
        loop, leaves = self._loop, self._freed.leaves_behind(self._x)
        written = self._freed.written_in(*leaves)
        if any(_is_inside(loop, each.number) and each.file == self._text.file for each in written):
            return True
        steps = [each for each in ast.walk(loop) if isinstance(each, ast.Call) and name_of(each.func) == "step"]
        parts = [part for each in steps for part in (getattr(each.func, "value", None), *each.args)]
        owned = {number for part in parts for number in self._freed.parameters_of(_value(part, self._frame))}
        return (self._freed.is_repeated and bool(written)) or not owned.isdisjoint(leaves)

    def _moved(self) -> tuple[Edit, ...]:
        """Return the edit that moves the forward pass into the loop; () if other code may notice the move."""
        text, loop, made, freed = self._text, self._loop, self._made, self._freed
        block = [] if made is None else text.block_of(made)
        asking = text.statement_at(freed.asking.number)
        if made is None or loop not in block or loop.orelse or asking not in loop.body:
            return ()
        passed = block[block.index(made) + 1 : block.index(loop) + 1]
        is_only_pass = len(text.calls("backward", "grad")) == 1 and freed.are_all(self._x)
        is_plain = [ast.unparse(each) for each in made.targets] == [self._name] and made.lineno == made.end_lineno
        called = {name_of(each.func) for part in passed for each in ast.walk(part) if isinstance(each, ast.Call)}
        if not is_only_pass or not is_plain or not passed or self._frame is not freed.frames[0]:
            return ()
        if called & {*_functions(self._texts), *_CHANGING} or not self._is_repeatable(made.value):
            return ()
        readers = [each for each in loop.body if _uses(ast.walk(each), self._name)]
        until = loop.body[loop.body.index(readers[0]) : loop.body.index(asking) + 1] if readers else []
        if not until or not all(isinstance(each, (ast.Assign, ast.Expr)) for each in (*readers, *until)):
            return ()
        nodes = [node for each in self._texts for node in each.nodes()] if "." in self._name else self._scope
        inside = [node for each in readers for node in ast.walk(each)]
        changing = {each.number for each in freed.written_in(*freed.leaves_behind(self._x)) if each.file == text.file}
        is_read_elsewhere = len(_uses(nodes, self._name)) != 1 + len(_uses(inside, self._name))
        used = "\n".join(map(ast.unparse, passed))
        names = [rf"(?<![\w.]){re.escape(name)}{_HARMLESS}" for name in _paths(made.value)]
        if is_read_elsewhere or any(each.lineno in changing for each in until) or re.search("|".join(names), used):
            return ()
        moved, removed = text.insert_before(readers[0], text.lines[made.lineno - 1].strip()), text.replace(made)
        return (*removed, *moved) if moved and removed else ()

    def _is_repeatable(self, value: ast.expr) -> bool:
        """Return True for an expression of layers and functions of the framework, with data that did not change."""
        graph, leaves = self._freed.graph, self._freed.leaves_behind(self._x)
        for each in ast.walk(value):
            x = _value(each, self._frame)
            if isinstance(each, ast.Call):
                owner = _value(getattr(each.func, "value", None), self._frame)
                is_method = isinstance(each.func, ast.Attribute) and isinstance(each.func.value, ast.Call)
                is_layer = isinstance(_value(each.func, self._frame), graph.layer)
                is_known = is_layer or is_method or graph.is_tensor(owner) or isinstance(owner, ModuleType)
                name = name_of(each.func)
                if not is_known or name.endswith("_") or RANDOM.search(f"{name}("):
                    return False
            elif graph.is_tensor(x):
                address = graph.address_of(x)
                if graph.node_of(x) is not None or (address not in leaves and self._freed.written_in(address)):
                    return False
            elif isinstance(each, (ast.NamedExpr, ast.Lambda)):
                return False
        return True


def find_outside_loop(freed: FreedResults, texts: Sequence[ProgramText]) -> OutsideLoop | None:
    """Return a freed result made outside a loop that changes the result's parameters or computes it again; or None.

    Args:
        texts: the files of the program.
    """
    found = list(_outside_loops(freed, texts))
    changed = [each for each in found if each.is_changed_in_loop()]
    return next(iter(changed or [each for each in found if each.is_constant()]), None)


def _outside_loops(freed: FreedResults, texts: Sequence[ProgramText]) -> Iterator[OutsideLoop]:
    """Yield each freed result that is made outside a loop around the failed pass."""
    called = ""
    for frame in freed.frames:
        text, line = ProgramText(frame.f_code.co_filename), frame.f_lineno
        statement = text.statement_at(line)
        if statement is not None and called in names_in(statement) and not text.calls(called):
            return  # an optimizer calls the function of the pass, perhaps several times in an iteration
        called = frame.f_code.co_name
        loops = [each for each in text.nodes() if isinstance(each, _Loop) and _is_inside(each, line)]
        for loop in sorted(loops, key=lambda each: -each.lineno):
            if text.function_at(loop.lineno) is not text.function_at(line):
                continue
            for name, x in freed.results_in([frame]):
                if "[" not in name and not _is_assigned(name, loop, text, texts):
                    yield OutsideLoop(freed, name, x, frame, text, loop, texts)


def _is_inside(loop: _Loop, line: int) -> bool:
    return loop.body[0].lineno <= line <= (loop.body[-1].end_lineno or 0)


def _is_assigned(name: str, loop: _Loop, text: ProgramText, texts: Sequence[ProgramText]) -> bool:
    """Return True if the iterations of a loop may assign a variable or an attribute."""
    if _stores(loop, name) or text.has(_NAMES_IN_STRINGS):
        return True
    if "." not in name:
        return any(isinstance(each, (ast.Global, ast.Nonlocal)) and name in each.names for each in text.nodes())
    around = ("__init__", getattr(text.function_at(loop.lineno), "name", ""))
    functions = [each for one, found in _functions(texts).items() if one not in around for each in found]
    return any(_stores(each, name) for each in functions)


def _functions(texts: Sequence[ProgramText]) -> dict[str, list[_Function]]:
    found: dict[str, list[_Function]] = {}
    for each in (node for text in texts for node in text.nodes()):
        if isinstance(each, _Function):
            found.setdefault(each.name, []).append(each)
    return found


def _scope(text: ProgramText, frame: FrameType, name: str) -> list[ast.AST]:
    """Return the nodes of a frame's function; for a module, those outside functions with a local variable ``name``."""
    function = text.function_at(frame.f_lineno)
    if function is not None:
        return list(ast.walk(function))
    functions = [each for each in text.nodes() if isinstance(each, _Function | ast.Lambda)]
    hidden = [each for each in functions if name in local_names(each)]
    inside = {id(node) for each in hidden for node in ast.walk(each)}
    return [each for each in text.nodes() if id(each) not in inside]


def _uses(nodes: Iterable[ast.AST], name: str) -> list[Any]:
    """Return the places that read or assign a variable; for an attribute, those of any object."""
    kind, last = (ast.Attribute, name.rpartition(".")[2]) if "." in name else (ast.Name, name)
    return [each for each in nodes if isinstance(each, kind) and name_of(each) == last]


def _stores(node: ast.AST, name: str) -> bool:
    return any(not isinstance(each.ctx, ast.Load) for each in _uses(ast.walk(node), name))


def _paths(node: ast.AST) -> list[str]:
    """Return the variables and attributes that an expression reads."""
    if isinstance(node, ast.Name | ast.Attribute) and re.fullmatch(r"[\w.]+", ast.unparse(node)):
        return [ast.unparse(node)]
    return [name for each in ast.iter_child_nodes(node) for name in _paths(each)]


def _parts(layer: Any) -> Iterator[Any]:
    yield layer
    for each in layer.children():
        yield from _parts(each)


def _value(node: Any, frame: FrameType) -> Any:
    """Return the value of a variable or an attribute in a frame, without a call of the program's code; or None."""
    if isinstance(node, ast.Name):
        return {**frame.f_globals, **local_variables(frame)}.get(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    attributes = getattr(_value(node.value, frame), "__dict__", {})
    parts = [attributes.get(each, {}) for each in ("_modules", "_sub_layers", "_parameters")]
    return {**parts[0], **parts[1], **parts[2], **attributes}.get(node.attr)


def fix_shared_batch(freed: FreedResults, freed_in: ProgramLine) -> Fix | None:
    """Return the fix that detaches the batch of a generator in the loss of its discriminator; or None.

    The first pass must not be meant for the generator: only an optimizer of other parameters follows it, and the
    gradients of the generator are set to zero before the second pass.

    Args:
        freed_in: the line of the first pass.
    """
    frame, text = freed.frames[0], ProgramText(freed.asking.file)
    asking, first = text.statement_at(freed.asking.number), text.statement_at(freed_in.number)
    block = [] if asking is None else text.block_of(asking)
    found = [(name, x) for name, x in freed.results_in([frame]) if name.isidentifier() and freed.are_all(x)]
    if freed_in.file != text.file or asking is None or first is None or first not in block or not found:
        return None
    (name, x), before, between = found[0], block[: block.index(first) + 1], block[block.index(first) + 1 :]
    between = between[: between.index(asking)] if asking in between else []
    made = max((n for n, each in enumerate(before) if _stores(each, name)), default=None)
    loss = _value(ast.Name(differentiated(first)), frame)
    graph = freed.graph
    if made is None or not graph.is_tensor(loss) or graph.node_of(x) not in graph.nodes_behind([loss]):
        return None
    batch, both = freed.leaves_behind(x), freed.leaves_behind(loss)
    calls = [each.value for each in between if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call)]
    owners = [(each, freed.parameters_of(_value(getattr(each.func, "value", None), frame))) for each in calls]
    steps = [ids for each, ids in owners if name_of(each.func) == "step"]
    zeros = [each for each, ids in owners if name_of(each.func) in _CLEARING and batch <= ids]
    sources = "\n".join(map(ast.unparse, between))
    is_one_step = len(steps) == sources.count("step(") == 1 and not steps[0] & batch and bool(steps[0] & both)
    if not batch or not zeros or not is_one_step:
        return None
    parts = before[made + 1 :]
    sources += "\n".join(map(ast.unparse, parts))
    given = [each for part in parts for call in ast.walk(part) if isinstance(call, ast.Call) for each in call.args]
    reads = _uses((node for part in parts for node in ast.walk(part)), name)
    is_plain = all(isinstance(each, (ast.Assign, ast.AugAssign, ast.Expr)) for each in parts)
    if re.search(rf"\.grad\b|grad_norm|\b{name}\.", sources) or text.calls("grad") or not is_plain or not reads:
        return None
    if len({each.lineno for each in reads}) != len(reads) or any(each not in given for each in reads):
        return None
    sentence = message(
        "Pass `{name}.detach()` to the loss of line {line}, whose gradients are meant for other parameters: line "
        "{zero} sets the gradients behind `{name}` to zero.",
        name=name,
        line=freed_in.number,
        zero=zeros[0].lineno,
    )
    return Fix(sentence, text.file, tuple(edit for each in reads for edit in text.wrapped(each, "{}.detach()")))
