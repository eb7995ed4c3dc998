"""Find the results of a freed graph that a later backward pass needs, and advise where to compute or detach them.

If a loop changes the parameters of a forward pass outside the loop, the program must not detach the result or retain
the graph: the error would disappear, and the training would be wrong.
"""

from __future__ import annotations

import ast
import functools
import gc
import re
from collections.abc import Iterable, Iterator, Sequence
from types import FrameType, ModuleType
from typing import Any

import torch

from memory_stage.engines.torch.node_names import is_leaf
from memory_stage.explanation.whole_run import named_tensors
from memory_stage.explanation.whole_run.faults import Edit, Fix
from memory_stage.explanation.whole_run.program_names import address_of, is_tensor
from memory_stage.explanation.whole_run.program_text import ProgramText, differentiated, name_of, names_in
from memory_stage.explanation.whole_run.second_pass import advise_constant
from memory_stage.explanation.whole_run.value_reads import local_names
from memory_stage.messages import message
from memory_stage.recorder.reachable_tensors import local_variables
from memory_stage.watch.lines import ProgramLine
from memory_stage.watch.torch.backward_graph import is_freed, leaves_behind, node_of, nodes_behind
from memory_stage.watch.torch.watched_run import BackwardPass, WatchedRun

#: Code that draws random numbers or advances an iterator, and code that has the names of variables in strings.
RANDOM = re.compile(r"rand|normal|bernoulli|multinomial|sample|\bnext\(")
_NAMES_IN_STRINGS = r"(?<![\w.])(exec|eval|globals|locals|vars|getattr|setattr)\(|__dict__"
#: Methods that change a layer, perhaps by way of another name.
_CHANGING = ("train", "eval", "requires_grad_", "load_state_dict", "apply", "to", "half", "double", "float", "copy_")
_Loop = ast.For | ast.While
_Function = ast.FunctionDef | ast.AsyncFunctionDef


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
        self, watch: WatchedRun, roots: Any, frames: list[FrameType], passed: BackwardPass, asking: ProgramLine
    ) -> None:
        self._watch, self.frames, self._passed, self.asking = watch, frames, passed, asking
        tensors = [roots] if isinstance(roots, torch.Tensor) else list(roots)
        self._new = set(self._new_nodes(tensors))
        read = [parent for node in self._new for parent, _ in node.next_functions]
        self.is_repeated = watch.lines[passed.line] == asking
        self._border = {node for node in (*read, *map(node_of, tensors)) if node is not None and self._is_old(node)}

    def _is_old(self, node: Any) -> bool:
        return not is_leaf(node) and node._sequence_nr() < self._passed.next_node

    def _new_nodes(self, tensors: Any) -> list[Any]:
        return [node for node in nodes_behind(tensors) if not self._is_old(node)]

    def results_in(self, frames: list[FrameType]) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield the variables and attributes of frames that are such results."""
        found = named_tensors.in_frames(frames, is_tensor)
        yield from ((name, x) for name, x in found if node_of(x) in self._border)

    def are_all(self, x: torch.Tensor) -> bool:
        """Return True if the pass needs the freed graph only for the tensor ``x``."""
        return self._border == {node_of(x)}

    def is_differentiated(self, x: torch.Tensor) -> bool:
        """Return True if a pass has read ``x`` since the graph was freed, or if the failed pass reads it."""
        return any(node in self._new or is_freed(node) for node in self._new_nodes([x]))

    @functools.cached_property
    def _leaves_of_new(self) -> set[int]:
        """The ids of the leaves that passes have read since the graph was freed, for results that still exist."""
        read = [x for _, x in named_tensors.in_frames(self.frames, is_tensor) if self.is_differentiated(x)]
        nodes = [*self._new, *self._new_nodes(read)]
        parents = [parent for node in nodes for parent, _ in node.next_functions]
        return {id(parent.variable) for parent in parents if parent is not None and is_leaf(parent)}

    def written_in(self, *tensors: torch.Tensor) -> set[ProgramLine]:
        """Return the lines that wrote the tensors after the graph was freed."""
        writes, time = self._watch.writes, self._passed.time
        return {self._watch.lines[each.line] for x in tensors for each in writes.since(address_of(x), time)}

    def is_only_way(self, x: torch.Tensor) -> bool:
        """Return True if the training of a parameter would end if ``x`` were detached.

        If there is an optimizer, other parameters may change as averages, without training.
        """
        optimizers = [each for each in gc.get_objects() if issubclass(type(each), torch.optim.Optimizer)]
        owned = {number for each in optimizers for number in _parameter_ids(each)}
        trained = [y for y in leaves_behind(x) if (id(y) in owned if owned else self.written_in(y))]
        return any(id(leaf) not in self._leaves_of_new for leaf in trained)

    def is_needed(self) -> bool:
        """Return True if the training of a parameter would end if a result were detached."""
        return any(self.is_only_way(x) for _, x in self.results_in(self.frames))

    def is_out_of_date(self) -> bool:
        """Return True if a parameter behind a result was changed after the graph was freed."""
        return any(self.written_in(*leaves_behind(x)) for _, x in self.results_in(self.frames))


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
        x: torch.Tensor,
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

        If the loop averages the parameters or reads them again, the result may also be meant as a constant.
        """
        sentence = message(
            "Compute `{name}` again in each iteration of the loop in line {line}: its forward pass is outside the "
            "loop, which changes the parameters.",
            name=self._name,
            line=self._loop.lineno,
        )
        if self._freed.is_only_way(self._x):
            return (Fix(sentence, self._text.file, self._moved()),)
        return (Fix(sentence), Fix(advise_constant(self._name)))

    def is_repeated(self) -> bool:
        """Return True if the loop computes the same result again, so that the first one is meant as a constant."""
        inside = {ast.unparse(each) for each in self._layer_calls(ast.walk(self._loop))}
        before = [each for each in self._layer_calls(self._scope) if each.lineno < self._loop.lineno]
        same = [each for each in before if ast.unparse(each) in inside]
        if all(any(_stores(self._loop, name) for name in names_in(each)) for each in same):
            return False
        tensors = [x for _, x in named_tensors.in_frames([self._frame], is_tensor) if x is not self._x]
        shapes = [_shape(x) for x in tensors if self._freed.is_differentiated(x)]
        return not self._freed.is_only_way(self._x) and _shape(self._x) in shapes

    def _layer_calls(self, nodes: Iterable[ast.AST]) -> list[ast.Call]:
        """Return the calls of layers whose results are not random."""
        calls = [each for each in nodes if isinstance(each, ast.Call) and not RANDOM.search(ast.unparse(each))]
        layers = [(each, _value(each.func, self._frame)) for each in calls]
        layers = [(each, x) for each, x in layers if isinstance(x, torch.nn.Module)]
        return [each for each, x in layers if not any("Dropout" in str(type(y)) and y.training for y in x.modules())]

    def is_changed_in_loop(self) -> bool:
        """Return True if the loop has changed parameters behind the result, or contains the step that changes them."""
        loop, leaves = self._loop, list(leaves_behind(self._x))
        written = self._freed.written_in(*leaves)
        if any(_is_inside(loop, each.number) and each.file == self._text.file for each in written):
            return True
        steps = [each for each in ast.walk(loop) if isinstance(each, ast.Call) and name_of(each.func) == "step"]
        parts = [part for each in steps for part in (getattr(each.func, "value", None), *each.args)]
        owned = {number for part in parts for number in _parameter_ids(_value(part, self._frame))}
        return (self._freed.is_repeated and bool(written)) or not owned.isdisjoint(map(id, leaves))

    def _moved(self) -> tuple[Edit, ...]:
        """Return the edit that moves the forward pass into the loop; () unless nothing else can notice the move."""
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
        changing = {each.number for each in freed.written_in(*leaves_behind(self._x)) if each.file == text.file}
        is_read_elsewhere = len(_uses(nodes, self._name)) != 1 + len(_uses(inside, self._name))
        used = "\n".join(map(ast.unparse, passed))
        names = [rf"(?<![\w.]){re.escape(name)}(?!\w|\.(parameters|zero_grad)\()" for name in _paths(made.value)]
        if is_read_elsewhere or any(each.lineno in changing for each in until) or re.search("|".join(names), used):
            return ()
        moved, removed = text.insert_before(readers[0], text.lines[made.lineno - 1].strip()), text.replace(made)
        return (*removed, *moved) if moved and removed else ()

    def _is_repeatable(self, value: ast.expr) -> bool:
        """Return True for an expression of layers and functions of torch, with data that did not change."""
        for each in ast.walk(value):
            x = _value(each, self._frame)
            if isinstance(each, ast.Call):
                owner = _value(getattr(each.func, "value", None), self._frame)
                is_method = isinstance(each.func, ast.Attribute) and isinstance(each.func.value, ast.Call)
                is_layer = isinstance(_value(each.func, self._frame), torch.nn.Module)
                is_known = is_layer or is_method or isinstance(owner, (torch.Tensor, ModuleType))
                name = name_of(each.func)
                if not is_known or name.endswith("_") or RANDOM.search(f"{name}("):
                    return False
            elif isinstance(x, torch.Tensor):
                if not x.is_leaf or (not x.requires_grad and self._freed.written_in(x)):
                    return False
            elif isinstance(each, (ast.NamedExpr, ast.Lambda)):
                return False
        return True


def find_outside_loops(freed: FreedResults, texts: Sequence[ProgramText]) -> Iterator[OutsideLoop]:
    """Yield each freed result that is made outside a loop around the failed pass."""
    for frame in freed.frames:
        text, line = ProgramText(frame.f_code.co_filename), frame.f_lineno
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
    """Return the functions and methods of some files by their names."""
    found: dict[str, list[_Function]] = {}
    for each in (node for text in texts for node in text.nodes()):
        if isinstance(each, _Function):
            found.setdefault(each.name, []).append(each)
    return found


def _scope(text: ProgramText, frame: FrameType, name: str) -> list[ast.AST]:
    """Return the nodes of a frame's function; for a module, without the functions with a local variable ``name``."""
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


def _shape(x: torch.Tensor) -> list[Any]:
    """Return the operations behind a tensor, and the ids of the leaves."""
    return [*(node.name() for node in nodes_behind(x)), *map(id, leaves_behind(x))]


def _value(node: Any, frame: FrameType) -> Any:
    """Return the value of a variable or an attribute in a frame, without a call of the program's code; or None."""
    if isinstance(node, ast.Name):
        return {**frame.f_globals, **local_variables(frame)}.get(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    attributes = getattr(_value(node.value, frame), "__dict__", {})
    return {**attributes.get("_modules", {}), **attributes.get("_parameters", {}), **attributes}.get(node.attr)


def _parameter_ids(owner: Any) -> set[int]:
    """Return the ids of the parameters of an optimizer or a layer."""
    if isinstance(owner, torch.optim.Optimizer):
        return {id(x) for group in owner.param_groups for x in group["params"]}
    return set(map(id, owner.parameters())) if isinstance(owner, torch.nn.Module) else set()


def fix_shared_batch(freed: FreedResults, freed_in: ProgramLine) -> Fix | None:
    """Return the fix that detaches the batch of a generator in the loss of its discriminator; or None.

    The lines have to show that the first pass is not meant for the generator: only an optimizer of other parameters
    follows it, and the gradients of the generator are set to zero before the second pass.

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
    if made is None or not isinstance(loss, torch.Tensor) or node_of(x) not in nodes_behind(loss):
        return None
    batch, both = ({id(leaf) for leaf in leaves_behind(each)} for each in (x, loss))
    calls = [each.value for each in between if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call)]
    owners = [(each, _parameter_ids(_value(getattr(each.func, "value", None), frame))) for each in calls]
    steps = [ids for each, ids in owners if name_of(each.func) == "step"]
    zeros = [each for each, ids in owners if name_of(each.func) == "zero_grad" and batch <= ids]
    sources = "\n".join(map(ast.unparse, between))
    is_one_step = len(steps) == sources.count("step(") == 1 and not steps[0] & batch and bool(steps[0] & both)
    if not batch or not zeros or not is_one_step:
        return None
    parts = before[made + 1 :]
    sources += "\n".join(map(ast.unparse, parts))
    given = [each for part in parts for call in ast.walk(part) if isinstance(call, ast.Call) for each in call.args]
    reads = _uses((node for part in parts for node in ast.walk(part)), name)
    is_plain = all(isinstance(each, (ast.Assign, ast.AugAssign, ast.Expr)) for each in parts)
    if re.search(rf"\.grad\b|grad_norm|\b{name}\.", sources) or not is_plain or not reads:
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
