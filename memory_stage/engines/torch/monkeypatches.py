"""Patch functions of torch during a recording, so that the program runs as if it were not recorded.

* ``torch.compile``: while compiled code runs, the recorder's function mode is off torch's stack of modes; otherwise
  torch would also compile the mode.
* ``torch.jit.trace``: the mode is also off the stack while code is traced, because torch reads names from the frames
  around an operation.
* Scripted functions: a call is reported as not recorded.
* The functions that start threads: computations in other threads are reported (``threads``).
* ``torch.utils.swap_tensors`` refuses tensors that have weak references, so the recording ends before it runs.
* ``torch.from_numpy`` and other functions that no mode observes: the patches emit their results.
* ``torch.overrides.has_torch_function`` is patched to return False for plain tensors. Otherwise, with a mode on the
  stack, layers would use slower code, whose results differ in the last digit.
* ``torch.utils.hooks.BackwardHook``: the hooks of layers report their calls.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

import torch
import torch.utils.hooks
from torch.overrides import TorchFunctionMode

from memory_stage.engines import events
from memory_stage.engines.framework import Patches
from memory_stage.engines.torch.frames import Caller, remove_recorder_frames
from memory_stage.engines.torch.function_mode import Mode
from memory_stage.engines.torch.threads import Bystander, places_of_threads, remove_mode
from memory_stage.messages import Text, message

_DYNAMO = "torch._dynamo.eval_frame"

#: Functions that create tensors and that no mode observes.
_UNOBSERVED = ("from_numpy", "from_dlpack", "frombuffer")

#: The functions that trace code.
_TRACING = ("trace", "trace_module", "_get_trace_graph")

COMPILED = message("Code that `torch.compile` has compiled is not recorded: only its results are shown.")
SCRIPTED = message("Code that TorchScript runs is not recorded: only its results are shown.")
TRACED = message("Code that `torch.jit.trace` traces is not recorded: only its results are shown.")
SWAPPED = message(
    "The recording ends here, because `swap_tensors` refuses tensors that a recorder refers to. The program ran on."
)


class TorchPatches:
    """The patches of torch's functions.

    Args:
        modes: the mode of the recorded thread, and the one that other threads get.
        note: called with the reason why a part of the program is not recorded.
        emit: called with the event of a compilation, and with the event that ends the recording.
        made: called with the name of a function, the tensor that it created and its arguments.
        of_layer: returns the patched initializer of ``BackwardHook``, given the original one.
    """

    def __init__(
        self,
        modes: tuple[Mode, Bystander],
        note: Callable[[Text], None],
        emit: events.Listener,
        made: Callable[[str, torch.Tensor, tuple[Any, ...]], None],
        of_layer: Callable[[Any], Any],
    ) -> None:
        self._modes, self._note, self._emit, self._made = modes, note, emit, made
        self._of_layer = of_layer
        self._thread = 0
        self._caller = Caller()
        self._patches = Patches()
        #: Maps a thread to the mode that was taken off its stack, and the id of the frame that runs compiled code.
        self._off_for: dict[int, tuple[TorchFunctionMode, int]] = {}

    def patch(self) -> None:
        """Apply all patches in this thread."""
        self._thread, place = threading.get_ident(), self._patches.place
        place(torch, "compile", self._compile)
        place(torch.utils, "swap_tensors", self._swap)
        place(torch.overrides, "has_torch_function", self._has)
        place(torch.utils.hooks.BackwardHook, "__init__", self._of_layer)
        for name in _UNOBSERVED:
            place(torch, name, functools.partial(self._emitting, name))
        for name in _TRACING:
            place(torch.jit, name, self._trace)
        for scripted in (torch._C.ScriptFunction, torch._C.ScriptMethod):
            place(scripted, "__call__", functools.partial(_ReportingMethod, self._report_scripted))
        for owner, name in places_of_threads():
            place(owner, name, self._modes[1].about)
        self._patch_loaded_compiler()

    def restore(self) -> None:
        """Restore torch's functions."""
        self._patches.restore()

    def _remove_mode(self) -> TorchFunctionMode | None:
        """Remove this thread's mode from its stack and return it; None if there is none."""
        return next((mode for mode in self._modes if remove_mode(mode)), None)

    def _restore_mode(self, mode: TorchFunctionMode) -> None:
        """Put a mode back on the stack, unless the recording has ended."""
        if self._modes[0].is_open:
            mode.__enter__()

    # ---------- compiled, traced and scripted functions ----------

    def _compile(self, real: Any) -> Any:
        def compile(*args: Any, **kwargs: Any) -> Any:
            self._emit(events.Compilation())
            made = real(*args, **kwargs)
            self._patch_loaded_compiler()
            return made

        return compile

    def _patch_loaded_compiler(self) -> None:
        """Patch torch's compiler once it is loaded, so that the start and end of compiled code are observed."""
        dynamo = sys.modules.get(_DYNAMO)
        if dynamo is not None and all(owner is not dynamo for owner, *_ in self._patches.placed):
            self._patches.place(dynamo, "_maybe_set_eval_frame", self._patched_eval_frame)

    def _patched_eval_frame(self, real: Any) -> Any:
        def set_eval_frame(callback: Any) -> Any:
            caller, thread = id(sys._getframe(1)), threading.get_ident()
            if callable(callback):
                self._emit(events.Compilation())
            if callable(callback) and thread not in self._off_for and (mode := self._remove_mode()) is not None:
                self._off_for[thread] = mode, caller
                self._note(COMPILED)
            elif thread in self._off_for and self._off_for[thread][1] == caller:
                self._restore_mode(self._off_for.pop(thread)[0])
            return real(callback)

        return set_eval_frame

    def _trace(self, real: Any) -> Any:
        @functools.wraps(real)
        def function(*args: Any, **kwargs: Any) -> Any:
            mode = self._remove_mode()
            try:
                if mode is not None:
                    self._note(TRACED)
                return self._caller.call(sys._getframe(1), real, args, kwargs)
            except BaseException as error:
                args, kwargs = (), {}
                remove_recorder_frames(error, sys._getframe(1))
                raise
            finally:
                if mode is not None:
                    self._restore_mode(mode)

        return function

    def _report_scripted(self) -> None:
        """Report that a scripted function is about to run, unless a function whose call is recorded has called it."""
        mode = self._modes[0]
        if mode.is_open and not mode.is_off_stack and threading.get_ident() == self._thread:
            self._note(SCRIPTED)

    # ---------- others ----------

    def _emitting(self, name: str, real: Any) -> Any:
        @functools.wraps(real)
        def function(*args: Any, **kwargs: Any) -> Any:
            given = real(*args, **kwargs)
            self._made(name, given, args)
            return given

        return function

    def _swap(self, real: Any) -> Any:
        def swap_tensors(one: Any, other: Any) -> Any:
            self._emit(events.End(SWAPPED))
            return real(one, other)

        return swap_tensors

    def _has(self, real: Any) -> Any:
        def has_torch_function(arguments: Any) -> Any:
            mode = self._remove_mode()
            try:
                return real(arguments)
            finally:
                if mode is not None:
                    self._restore_mode(mode)

        return has_torch_function


class _ReportingMethod:
    """A descriptor that reports each access to a method and returns the original, which is then called directly."""

    def __init__(self, note: Callable[[], None], real: Any) -> None:
        self._note, self._real = note, real

    def __get__(self, of: Any, owner: Any = None) -> Any:
        if of is not None:
            self._note()
        return self._real.__get__(of, owner)
