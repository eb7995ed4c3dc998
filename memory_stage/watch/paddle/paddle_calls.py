"""Log the nodes and writes of a program by observing its calls of Paddle's functions.

Before and after each call, the watcher reads the versions and addresses of the tensors, but no elements. It keeps no
tensor alive.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from memory_stage.engines.framework import is_library_thread
from memory_stage.engines.paddle import saved_table, tensor_access
from memory_stage.engines.paddle.entries import LEAF
from memory_stage.messages import Text, message
from memory_stage.watch.lines import Lines
from memory_stage.watch.paddle.graph_log import GraphLog, LoggedNode, TensorState
from memory_stage.watch.write_log import WriteLog

#: Functions that write their first argument, a parameter or a list of parameters, without incrementing its version.
_STEPS = frozenset(
    ("sgd_", "momentum_", "adam_", "adamw_", "adamax_", "adagrad_", "adadelta_", "rmsprop_", "lamb_", "nadam_")
    + ("radam_", "asgd_", "rprop_", "merged_adam_", "merged_momentum_", "fused_adam_", "adam", "sgd", "momentum")
)
_UNCOUNTED = _STEPS | {"set_value", "exponential_", "uniform_inplace_", "gaussian_inplace_"}

#: Functions whose results share the memory of their argument, although the names of the functions do not suggest it.
_VIEWS = frozenset(
    ("transpose", "reshape", "flatten", "squeeze", "unsqueeze", "T", "mT", "diagonal", "unbind", "split")
)

MOST_VIEWS = 10_000
MOST_NODES = 200_000  # a search through a graph stops after it has found this many nodes

ELSEWHERE = message("Another thread calls Paddle: only its writes are watched, and no other operations.")


@dataclass(frozen=True)
class SharedView:
    """A result of a call that shares the memory of the call's first tensor argument.

    Attributes:
        operation: the function that made the view.
        line: the index of the line that called the function.
        time: the number of writes before the call.
        base, view: the states of the argument and of the result at the time of the call.
        written: the index of the first line that wrote through the view; 0 if no line has.
    """

    operation: str
    line: int
    time: int
    base: TensorState
    view: TensorState
    written: int = 0


class PaddleCallWatcher:
    """Fills the logs for one thread.

    Args:
        unseen: called with a sentence about a part of the program that is not watched.

    Attributes:
        lines: the lines of the program, to which the logs refer by index.
        graph: the log of nodes.
        writes: the log of the lines that wrote each storage.
        recorded_writes: the log of those writes that are part of the graph: they were recorded for backward and
            incremented the version.
        views: the results that share memory with an argument, by the id and the address of the result.
        time: the number of writes so far.
        is_open: True while calls are logged.
        failure: the error in this package that ended the watch, or None.
    """

    def __init__(self, paddle: Any, unseen: Callable[[Text], None]) -> None:
        self._paddle, self._unseen = paddle, unseen
        self._tensor = paddle.Tensor
        self._thread = 0
        self._is_static = False  # True after the program has made a function static
        self.lines, self.graph = Lines(), GraphLog()
        self.writes, self.recorded_writes = WriteLog(), WriteLog()
        self.views: OrderedDict[tuple[int, int], SharedView] = OrderedDict()
        self._saved: list[list[TensorState]] = []  # the tensors that each running ``apply`` has saved
        self.time = 0
        self.is_open = False
        self.failure: Exception | None = None

    def open(self) -> None:
        """Log the calls of this thread from now on, unless an error or a static function has ended the watch."""
        self._thread = threading.get_ident()
        self.is_open = self.failure is None and not self._is_static

    def is_tensor(self, value: Any) -> bool:
        """True for a dense tensor that has memory."""
        return isinstance(value, self._tensor) and value.is_dense() and value._is_initialized()

    def is_watched(self) -> bool:
        """True if the calls of this thread are logged."""
        return self.is_open and threading.get_ident() == self._thread

    def pass_on(self, name: str, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        """Run a function that is not logged itself, because the functions that it calls are logged."""
        if name == "to_static" and self.is_watched():
            self.is_open, self._is_static = False, True
            self._unseen(message("The program called `to_static`, so nothing after that call was watched."))
        return function(*arguments, **keywords)

    def single(self, name: str, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        """Run a function of Paddle, and log its writes and, in the watched thread, the nodes that it creates."""
        if not self.is_open:
            return function(*arguments, **keywords)
        if threading.get_ident() != self._thread and not is_library_thread(threading.current_thread()):
            self._unseen(ELSEWHERE)
        before: dict[str, tuple[Any, TensorState]] = {}
        try:
            found = saved_table.inputs(arguments, keywords, self.is_tensor)
            before = {path: (x, self.state(x)) for path, x in found.items()}
        except Exception as failure:
            self._fail(failure)
        result = function(*arguments, **keywords)
        if self.is_open:
            try:
                self._log(name, before, arguments, keywords, result)
            except Exception as failure:
                self._fail(failure)
        return result

    def custom(self, name: str, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        """Run a method of a ``PyLayer``, and log the node that ``apply`` creates and the tensors that it saves."""
        if name == "save_for_backward" and self.is_watched() and self._saved:
            try:
                self._saved[-1] += [self.state(x) for _, x in saved_table.paths(arguments[1:], self.is_tensor)]
            except Exception as failure:
                self._fail(failure)
        if name != "apply" or not self.is_watched():
            return function(*arguments, **keywords)
        self._saved.append([])
        try:
            return self.single(arguments[0].__name__, function, arguments, keywords)
        finally:
            self._saved.pop()

    def state(self, x: Any) -> TensorState:
        """Return the state of a tensor."""
        begin = int(x.data_ptr())
        layout = tensor_access.layout_of(x)
        size = x.element_size()
        end = begin + size * (tensor_access.reach_of(layout) - layout.offset)
        wants = not x.stop_gradient
        node = x.grad_fn if wants else None
        maker = 0 if node is None or node.name() == LEAF else node.node_ptr()
        return TensorState(begin - int(x.offset), begin, end, x._inplace_version(), maker, wants)

    def _fail(self, failure: Exception) -> None:
        """End the watch because of an error in this package. The program continues."""
        self.is_open, self.failure = False, failure.with_traceback(None)

    def _log(self, name: str, before: dict[str, tuple[Any, TensorState]], args: Any, kwargs: Any, result: Any) -> None:
        written = [(x, state) for x, state in before.values() if x._inplace_version() != state.version]
        uncounted = []
        if name in _UNCOUNTED and before:
            first = next(iter(before.values()))[0]
            uncounted = [
                x for x in _first_list(args, kwargs, self.is_tensor) or [first] if all(x is not w for w, _ in written)
            ]
        outputs = {path: x for path, x in saved_table.paths(result, self.is_tensor)}
        makers = {state.maker for _, state in before.values()}
        line = 0
        if written or uncounted or any(not x.stop_gradient for x in outputs.values()):
            line = self.lines.number_of(sys._getframe(1))
        for x, state in written:
            self._add_write(x, state, name, line, True)
        for x in uncounted:
            self._add_write(x, self.state(x), name, line, False)
        if not self.is_watched():
            return
        self._log_nodes(name, before, outputs, [x for x, _ in written], makers, line, args, kwargs)
        if self.views:  # another tensor may get the id of one that was freed
            given = {id(x) for x, _ in before.values()}
            for x in outputs.values():
                if id(x) not in given:
                    self.views.pop((id(x), int(x.data_ptr())), None)
        if name in _VIEWS and before:
            self._log_views(name, next(iter(before.values()))[1], outputs.values())

    def _log_nodes(
        self, name: str, before: Any, outputs: dict[str, Any], written: list[Any], makers: set[int], line: int,
        args: Any, kwargs: Any,
    ) -> None:  # fmt: skip
        states = None
        for x in (*outputs.values(), *written):
            fn = None if x.stop_gradient else x.grad_fn
            if fn is None or fn.node_ptr() in makers or fn.name() == LEAF:
                continue
            if states is None:
                states = {path: self.state(each) for path, each in outputs.items()}
            makers.add(fn.node_ptr())
            inputs = {path: state for path, (_, state) in before.items()}
            kinds = saved_table.signature(args, kwargs, self.is_tensor)
            saved = tuple(self._saved[-1]) if self._saved and fn.name().startswith("GradNodePyLayer") else ()
            node = LoggedNode(
                fn.name(), name, kinds, line, self.time, self.graph.count, inputs, states, x._inplace_version(), saved
            )
            self.graph.add(fn.node_ptr(), node)

    def _add_write(self, x: Any, before: TensorState, name: str, line: int, is_counted: bool) -> None:
        self.time += 1
        extent = before.begin, before.end
        version = x._inplace_version()
        self.writes.add(before.address, line, written_name(name), self.time, version, is_counted, extent)
        if is_counted and self._paddle.is_grad_enabled():
            self.recorded_writes.add(before.address, line, written_name(name), self.time, version, True, extent)
        key = id(x), before.begin
        view = self.views.get(key)
        if view is not None and not view.written and view.view.address == before.address:
            self.views[key] = SharedView(view.operation, view.line, view.time, view.base, view.view, line)

    def _log_views(self, name: str, base: TensorState, results: Any) -> None:
        for x in results:
            state = self.state(x)
            if state.address != base.address:
                continue
            line = self.lines.number_of(sys._getframe(2))
            self.views[(id(x), state.begin)] = SharedView(name, line, self.time, base, state)
            if len(self.views) > MOST_VIEWS:
                self.views.popitem(last=False)


def written_name(name: str) -> str:
    """Return the name by which a report calls a write."""
    return "step" if name in _STEPS else name


def _first_list(args: Any, kwargs: Any, is_tensor: Callable[[Any], bool]) -> list[Any]:
    """Return the tensors of the first argument, if that is a list; otherwise an empty list."""
    first = args[0] if args else next(iter(kwargs.values()), None)
    return [x for x in first if is_tensor(x)] if isinstance(first, (list, tuple)) else []


def nodes_behind(roots: Any) -> Iterator[Any]:
    """Yield the nodes that a backward pass from tensors may run, except the nodes of leaves."""
    todo = [x.grad_fn for x in roots if not x.stop_gradient and x.grad_fn is not None]
    seen = {node.node_ptr() for node in todo}
    while todo and len(seen) < MOST_NODES:
        node = todo.pop()
        if node.name() == LEAF:
            continue
        yield node
        for parent in node.next_functions:
            if parent is not None and parent.node_ptr() not in seen:
                seen.add(parent.node_ptr())
                todo.append(parent)
