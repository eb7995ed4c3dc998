"""The wrappers that stand for Paddle's functions, and what becomes of a call: it is looked at before and after.

A call of the program's is one operation, however many functions of Paddle it takes.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from memory_stage.engines import events
from memory_stage.engines.paddle import saved_table
from memory_stage.engines.paddle.backward import Arriving, Backward
from memory_stage.engines.paddle.entries import Kept, Memory, Note
from memory_stage.engines.paddle.frames import without_frames
from memory_stage.engines.paddle.functions import Applied, Functions
from memory_stage.engines.paddle.hooking import NOT_TAKEN, Telling, numbers, seen
from memory_stage.engines.paddle.shadow_state import Books, is_inside
from memory_stage.engines.protocol import Layout


@dataclass
class Before:
    """A tensor, before a call."""

    x: Any
    note: Note
    memory: Memory
    layout: Layout
    version: int
    node: int  # address; 0 for none
    known: bool  # whether it was met before this call
    cells: np.ndarray | None = None  # a copy


@dataclass
class Call:
    """A call of the program's that goes on."""

    name: str
    inputs: list[Before]
    fresh: dict[int, list[Kept]] = field(default_factory=dict)  # what new nodes saved, by their addresses
    joined: set[int] = field(default_factory=set)  # of those, the ones that have been told
    unknown: list[str] = field(default_factory=list)  # functions that are not in the table
    unseen: list[tuple[Before, str]] = field(default_factory=list)  # overwritten without a version
    where: Any = None  # the index of an assignment
    gradients: list[tuple[Any, bytes]] = field(default_factory=list)  # that it may set to zero, and their numbers


class Calls:
    """Told of by ``tell`` of the books, while they are listened to."""

    def __init__(self, books: Books, paddle: Any, is_tensor: Callable[[Any], bool]) -> None:
        self.books, self.paddle, self.is_tensor = books, paddle, is_tensor
        self.thread = threading.get_ident()
        self.call: Call | None = None
        self.failed = False  # a mistake made here ends the telling, never the program
        self._run: Backward | None = None  # that goes on
        self._functions = Functions(books, is_tensor)
        self._elsewhere = False  # whether another thread has called Paddle
        self._said: set[str] = set()

    # ---------- the wrappers ----------

    def whole(self, name: str, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        """A function of Paddle's that is called by the program, or by another one."""
        if self.call is not None or not self._hears():
            return function(*arguments, **keywords)
        if name == "to_static":  # which translates what runs, and would find a recorder in it
            self.books.emit(events.End("The recording stopped here: a function is made static. The program ran on."))
            return function(*arguments, **keywords)
        try:
            self.call = self._begun(name, arguments, keywords)
        except Exception as failure:
            self._fail(failure)
            return function(*arguments, **keywords)
        try:
            result = function(*arguments, **keywords)
        except BaseException as error:
            call, self.call = self.call, None
            self._guarded(self._refused, call, error)
            del call, arguments, keywords  # the traceback leads here
            raise
        call, self.call = self.call, None
        self._guarded(self._emit_all, call, result)
        return result

    def single(self, name: str, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        """A function of Paddle's that is made of no others."""
        if not self._hears():
            return function(*arguments, **keywords)
        if self.call is None:
            return self.whole(name, lambda *a, **k: self.single(name, function, a, k), arguments, keywords)
        try:
            kinds = saved_table.signature(arguments, keywords, self.is_tensor)
            before = self._before(arguments, keywords)
            counted = self.books.meter()
        except Exception as failure:
            self._fail(failure)
            return function(*arguments, **keywords)
        try:
            result = function(*arguments, **keywords)
        except BaseException:
            self._guarded(self._changed, name, before)
            del before, arguments, keywords  # the traceback leads here
            raise
        self._guarded(self._after, name, kinds, before, result, counted)
        return result

    def backward(self, name: str, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        """``run_backward``, and ``run_partial_grad`` of ``paddle.grad``."""
        if self.call is not None or not self._hears():
            return function(*arguments, **keywords)
        run: Backward | None = None
        try:
            roots = self.tensors(arguments[0])
            given = self.tensors(arguments[2 if name == "run_partial_grad" else 1])
            retains = bool(arguments[3] or arguments[4] if name == "run_partial_grad" else arguments[2])
            run = Backward(self.books, self.paddle.__version__, name, roots, given, retains)
            del roots, given
        except Exception as failure:
            self._fail(failure)
        outer, self._run = self._run, run
        try:
            result = function(*arguments, **keywords)
        except BaseException as error:
            self._run = outer
            without_frames(error)
            if run is not None:
                self._guarded(run.done, error)
            del arguments, keywords, run
            raise
        self._run = outer
        if run is not None:
            self._guarded(run.done, None)
        return result

    def hooks(self, name: str, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        """``_register_grad_hook``, which ``register_hook`` leads to."""
        if self._hears() and len(arguments) == 2 and not isinstance(arguments[1], Arriving):
            try:
                x, hook = arguments
                node = self.books.note(x).node if self.is_tensor(x) and callable(hook) else None
                if node is not None:
                    arguments = x, Telling(hook, weakref.ref(node), self._hook_begins, self._hook_ran)
            except Exception as failure:
                self._fail(failure)
        return function(*arguments, **keywords)

    def _hook_begins(self, gradient: Any) -> np.ndarray | None:
        if self._run is None or not self._hears():
            return None
        try:
            found = numbers(gradient)
            if found is not None:
                self._run.settle()
            return found
        except Exception as failure:
            self._fail(failure)
        return None

    def _hook_ran(self, node: Any, before: np.ndarray, gradient: Any, answer: Any) -> None:
        def emit() -> None:
            given, now = seen(before, gradient)
            answered = answer if self.is_tensor(answer) else None
            if answered is not None and node is not None and node.own:
                self.books.emit(events.Omission(NOT_TAKEN.format(node.name)))
            else:
                self.books.emit(events.HookCall(node, given, answered, now))

        self._guarded(emit)

    def gradient(self, name: str, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        """``.grad`` of a tensor."""
        found = function(*arguments, **keywords)
        (x,) = arguments
        if found is None and self.call is None and self._hears() and not is_inside(sys._getframe(3)):
            self._guarded(self._asked, x)
        return found

    def _asked(self, x: Any) -> None:
        if self.is_tensor(x) and not x.stop_gradient and not x.is_leaf:
            self.books.emit(events.GradientRequest(x))

    def functions(self, name: str, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        """``apply`` of a ``PyLayer``; what it saves; its ``backward``."""
        if not self._hears():
            return function(*arguments, **keywords)
        if name in ("save_for_backward", "mark_not_inplace"):
            note = self._functions.saves if name == "save_for_backward" else self._functions.marks
            self._guarded(note, arguments[0], arguments[1:])
            return function(*arguments, **keywords)
        if name == "backward":
            return self._own_backward(function, arguments, keywords)
        applied: Applied | None = None
        try:
            applied = self._functions.begin(arguments[0], arguments[1:], keywords)
        except Exception as failure:
            self._fail(failure)
        try:
            result = function(*arguments, **keywords)
        except BaseException:
            if applied is not None:
                self._guarded(self._functions.end, applied, None)
            del applied, arguments, keywords  # the traceback leads here
            raise
        if applied is not None:
            self._guarded(self._functions.end, applied, result)
        return result

    def _own_backward(self, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        context, *arrived = arguments
        run = self._run
        node = None
        try:
            if run is not None:
                node = run.own_begins(self._functions.node(context, run.waiting()), arrived)
        except Exception as failure:
            self._fail(failure)
        del context, arrived
        result = function(*arguments, **keywords)
        if run is not None and node is not None:
            self._guarded(run.own_ran, node, result)
        return result

    def _hears(self) -> bool:
        if threading.get_ident() != self.thread:
            self._elsewhere = True
            return False
        return not self.failed

    def _say(self, text: str) -> None:
        """Name what is not recorded, once."""
        if text not in self._said:
            self._said.add(text)
            self.books.emit(events.Omission(text))

    def _guarded(self, function: Callable[..., None], *arguments: Any) -> None:
        try:
            if not self.failed:
                function(*arguments)
        except Exception as failure:
            self._fail(failure)

    def _fail(self, failure: Exception) -> None:
        self.failed, self.call = True, None
        self.books.emit(events.Failure(failure))

    def tensors(self, value: Any) -> list[Any]:
        """The tensors among arguments or results, each once."""
        return list({id(x): x for _, x in saved_table.paths(value, self.is_tensor)}.values())

    # ---------- what is not recorded ----------

    def _name_unrecorded(self, name: str) -> None:
        if self._elsewhere:
            self._say("Another thread calls Paddle, too: a stage follows the thread that begins.")
        if not self.paddle.in_dynamic_mode():
            self._say("Paddle builds a static graph: its variables hold no numbers yet, and are not shown.")

    def _name_undrawn(self, result: Any) -> None:
        for _, x in saved_table.paths(result, lambda value: isinstance(value, self.paddle.Tensor)):
            if not x.is_dense():
                self._say("A sparse tensor has no cells to draw: it is not shown.")
            elif x._is_initialized() and not x.place.is_cpu_place():
                self._say("Tensors of Paddle are shown where they lie in the computer's own memory, not on a GPU.")

    # ---------- what is looked at ----------

    def _begun(self, name: str, arguments: Any, keywords: Any) -> Call:
        """A call, before it."""
        raise NotImplementedError

    def _before(self, arguments: Any, keywords: Any) -> dict[str, Before]:
        """Its tensors, before one function."""
        raise NotImplementedError

    def _after(self, name: str, kinds: str, before: dict[str, Before], result: Any, counted: int) -> None:
        """One function is done."""
        raise NotImplementedError

    def _changed(self, name: str, before: dict[str, Before]) -> None:
        """It may have written without a version."""
        raise NotImplementedError

    def _emit_all(self, call: Call, result: Any) -> None:
        """The call is done."""
        raise NotImplementedError

    def _refused(self, call: Call, error: BaseException) -> None:
        """It has raised."""
        raise NotImplementedError
