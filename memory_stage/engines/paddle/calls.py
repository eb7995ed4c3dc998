"""Track the program's calls of Paddle's functions, and observe each of them before and after it runs.

A call that the program makes is one operation, even if Paddle calls several of its functions inside.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from memory_stage.engines import events
from memory_stage.engines.framework import Guard, is_library_thread
from memory_stage.engines.paddle.backward import ArrivalHook, PaddleBackward
from memory_stage.engines.paddle.functions import CustomFunctions
from memory_stage.engines.paddle.hooking import (
    ObservedHook,
    before_and_after,
    describe_ignored_answer,
    numbers,
    without_frames,
)
from memory_stage.engines.paddle.operations import OpenCall, OperationObserver
from memory_stage.engines.paddle.shadow_state import ShadowState, is_library_frame
from memory_stage.messages import message

_MADE_STATIC = message("The recording stopped here, because a function is made static. The program ran on.")


class CallTracker:
    """Run the functions that a program calls, and emit the events of each call.

    Each of its public methods runs a patched function of one kind, as ``method(name, function, arguments, keywords)``.
    If the tracker raises an error, the recording ends and the patched function still runs.
    """

    def __init__(self, state: ShadowState, paddle: Any, is_tensor: Callable[[Any], bool]) -> None:
        self._state, self._paddle, self._is_tensor = state, paddle, is_tensor
        self._thread = threading.get_ident()
        self._call: OpenCall | None = None
        self._failed = False
        self._guard = Guard(self._fail)
        self._backward: PaddleBackward | None = None  # the backward pass that runs now; None if none does
        self._observer = OperationObserver(state, paddle, is_tensor)
        self._custom = CustomFunctions(state, is_tensor)

    @property
    def is_quiet(self) -> bool:
        """True if no call is running."""
        return self._call is None

    # ---------- patched functions ----------

    def whole(self, name: str, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        """Run a function of Paddle that may call other functions of Paddle."""
        if self._call is not None or not self._is_observing():
            return function(*arguments, **keywords)
        # `to_static` translates the program's functions, which must not call a recorder meanwhile
        if name == "to_static":
            self._state.emit(events.End(_MADE_STATIC))
            return function(*arguments, **keywords)
        with self._guard:
            self._call = self._observer.begin(name, arguments, keywords)
        if self._failed:
            return function(*arguments, **keywords)
        try:
            result = function(*arguments, **keywords)
        except BaseException as error:
            call, self._call = self._call, None
            self._observe(self._observer.fail, call, error)
            del call, arguments, keywords  # the traceback refers to this frame, which must not keep tensors alive
            raise
        call, self._call = self._call, None
        self._observe(self._observer.finish, call, result)
        return result

    def single(self, name: str, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        """Run a function that calls no other function of Paddle."""
        if not self._is_observing():
            return function(*arguments, **keywords)
        if self._call is None:
            return self.whole(name, lambda *a, **k: self.single(name, function, a, k), arguments, keywords)
        with self._guard:
            inner = self._observer.before(name, arguments, keywords)
        if self._failed:
            return function(*arguments, **keywords)
        try:
            result = function(*arguments, **keywords)
        except BaseException:
            self._observe(self._observer.find_unversioned, self._call, inner)
            del inner, arguments, keywords  # the traceback refers to this frame, which must not keep tensors alive
            raise
        self._observe(self._observer.after, self._call, inner, result)
        return result

    def backward(self, name: str, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        """Run ``run_backward``, or ``run_partial_grad`` of ``paddle.grad``."""
        if self._call is not None or not self._is_observing():
            return function(*arguments, **keywords)
        run: PaddleBackward | None = None
        with self._guard:
            partial = name == "run_partial_grad"
            roots = self._observer.tensors(arguments[0])
            gradients = self._observer.tensors(arguments[2 if partial else 1])
            retains = bool(arguments[3] or arguments[4] if partial else arguments[2])
            run = PaddleBackward(self._state, self._paddle.__version__, name, roots, gradients, retains, self._guard)
            del roots, gradients
        outer, self._backward = self._backward, run
        try:
            result = function(*arguments, **keywords)
        except BaseException as error:
            self._backward = outer
            without_frames(error)
            if run is not None:
                self._observe(run.finish, error)
            del arguments, keywords, run
            raise
        self._backward = outer
        if run is not None:
            self._observe(run.finish, None)
        return result

    def hooks(self, name: str, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        """Run ``_register_grad_hook``, which ``register_hook`` calls."""
        if self._is_observing() and len(arguments) == 2 and not isinstance(arguments[1], ArrivalHook):
            with self._guard:
                x, hook = arguments
                node = self._state.record(x).node if self._is_tensor(x) and callable(hook) else None
                if node is not None:
                    arguments = x, ObservedHook(hook, weakref.ref(node), self._before_hook, self._after_hook)
        return function(*arguments, **keywords)

    def gradient(self, name: str, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        """Run the property ``.grad`` of a tensor."""
        found = function(*arguments, **keywords)
        (x,) = arguments
        if found is None and self._call is None and self._is_observing() and not is_library_frame(sys._getframe(3)):
            with self._guard:
                if self._is_tensor(x) and not x.stop_gradient and not x.is_leaf:
                    self._state.emit(events.GradientRequest(x))
        return found

    def sharing(self, name: str, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        """Run a function of DLPack, and record that another library shares the memory of the tensor."""
        allocated = self._state.meter()
        result = function(*arguments, **keywords)
        if self._call is None and self._is_observing():
            with self._guard:
                x = result if name == "from_dlpack" else next(iter((*arguments, *keywords.values())), None)
                if self._is_tensor(x):
                    is_copy = self._state.meter() != allocated
                    is_borrowed = x is result and not is_copy and self._state.borrow(x)
                    if not (x is result and is_copy):
                        self._state.share(x)
                    if is_borrowed:
                        self._state.emit(events.Make(x, name, ()))
        return result

    def functions(self, name: str, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        """Run ``apply`` of a ``PyLayer``, a method of its context, or its ``backward``."""
        if not self._is_observing():
            return function(*arguments, **keywords)
        if name in ("save_for_backward", "mark_not_inplace"):
            note = self._custom.save if name == "save_for_backward" else self._custom.mark_not_in_place
            self._observe(note, arguments[0], arguments[1:])
            return function(*arguments, **keywords)
        if name == "backward":
            return self._custom_backward(function, arguments, keywords)
        applied = None
        with self._guard:
            applied = self._custom.begin(arguments[0], arguments[1:], keywords)
        try:
            result = function(*arguments, **keywords)
        except BaseException:
            if applied is not None:
                self._observe(self._custom.finish, applied, None)
            del applied, arguments, keywords  # the traceback refers to this frame, which must not keep tensors alive
            raise
        if applied is not None:
            self._observe(self._custom.finish, applied, result)
        return result

    # ---------- backward ----------

    def _custom_backward(self, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
        context, *arrived = arguments
        run, node = self._backward, None
        if run is not None:
            with self._guard:
                node = run.enter_custom(self._custom.node(context, run.pending()), arrived)
        del context, arrived
        result = function(*arguments, **keywords)
        if run is not None and node is not None:
            self._observe(run.leave_custom, node, result)
        return result

    def _before_hook(self, gradient: Any) -> np.ndarray | None:
        """Return a copy of a gradient's numbers before a hook runs; None if the hook is not observed."""
        if self._backward is None or not self._is_observing():
            return None
        found = None
        with self._guard:
            found = numbers(gradient)
            if found is not None:
                self._backward.settle()
        return None if self._failed else found

    def _after_hook(self, node: Any, before: np.ndarray, gradient: Any, answer: Any) -> None:
        if not self._failed:
            with self._guard:
                given, now = before_and_after(before, gradient)
                answered = answer if self._is_tensor(answer) else None
                if answered is not None and node is not None and node.is_custom:
                    self._state.emit(events.Omission(describe_ignored_answer(node.name)))
                else:
                    self._state.emit(events.HookCall(node, given, answered, now))

    # ---------- errors ----------

    def _is_observing(self) -> bool:
        if threading.get_ident() != self._thread:
            if not is_library_thread(threading.current_thread()):
                self._observer.used_elsewhere = True
            return False
        return not self._failed

    def _observe(self, function: Callable[..., None], *arguments: Any) -> None:
        if not self._failed:
            with self._guard:
                function(*arguments)

    def _fail(self, failure: Exception) -> None:
        self._failed, self._call = True, None
        self._state.emit(events.Failure(failure))
