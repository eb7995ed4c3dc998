"""Report that another thread of the program computes with tensors, because only one thread is recorded.

A mode of torch observes one thread. Each new thread, and each task of an existing pool, gets a mode that reports the
first operation and is then removed from the stack. Threads of torch's data loaders and of this package get no mode, and
neither do the threads that torch runs for backward on a GPU.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from memory_stage.engines.framework import is_library_thread
from memory_stage.engines.torch.calls import call_of
from memory_stage.engines.torch.frames import Caller, remove_recorder_frames
from memory_stage.messages import Text, message

ELSEWHERE = message(
    "Another thread computes with tensors: its operations are not recorded, only their effects on memory."
)


class Bystander(TorchFunctionMode):
    """A mode that reports, once, that a thread computes with tensors.

    Attributes:
        note: the function that gets the sentence; None once the recording has ended.
        stays: True if the mode remains on the stack after it has reported an operation.
    """

    stays = False

    def __init__(self, note: Callable[[Text], None]) -> None:
        super().__init__()
        self.note: Callable[[Text], None] | None = note
        self._caller = Caller()
        self._process = os.getpid()
        self._registered: set[int] = set()  # ids of threads that have this mode; a pool's task may run in one of them

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        note = self.note
        if note is None or os.getpid() != self._process:
            remove_mode_soon(self)
        elif not call_of(func).is_silent:
            note(ELSEWHERE)
            if not self.stays:
                remove_mode_soon(self)
        try:
            return self.call(sys._getframe(1), func, types, args, kwargs or {})
        except BaseException as error:
            args = kwargs = None
            remove_recorder_frames(error, sys._getframe(1))
            del error
            raise

    def call(self, frame: FrameType, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Call the function ``func`` of torch on behalf of its caller's frame, ``frame``."""
        return self._caller.call(frame, func, args, kwargs)

    def about(self, real: Any) -> Callable[..., Any]:
        """Return a function that adds the mode and calls ``real``, a method that runs a thread or a pool's task."""

        def run(this: Any, *args: Any) -> Any:
            thread = threading.get_ident()
            if self.note is None or thread in self._registered or is_library_thread(this):
                return real(this, *args)
            self._registered.add(thread)
            self.__enter__()
            try:
                return real(this, *args)
            finally:
                remove_mode(self)
                self._registered.discard(thread)

        return run


def places_of_threads() -> list[tuple[Any, str]]:
    """Return the methods that run a function in another thread, each as its class and its name."""
    found: list[tuple[Any, str]] = [(threading.Thread, "_bootstrap_inner")]
    pools = sys.modules.get("concurrent.futures.thread")
    if pools is not None:
        found.append((pools._WorkItem, "run"))
    return found


def remove_mode(mode: TorchFunctionMode) -> bool:
    """Remove a mode from this thread's stack, even from below other modes; return False if it is not on the stack."""
    above = []
    found = False
    while not found and torch._C._len_torch_function_stack():
        last = torch._C._pop_torch_function_stack()
        found = last is mode
        if not found:
            above.append(last)
    for each in reversed(above):
        torch._C._push_on_torch_function_stack(each)
    return found


def remove_mode_soon(mode: TorchFunctionMode) -> None:
    """Remove a mode from this thread's stack while the mode handles a call.

    Torch takes the mode off the stack during the call and puts it back afterwards. Therefore a profiling function
    removes the mode when Python next calls a function or returns from one. If the thread has a profiling function
    already, the mode stays.
    """
    if sys.getprofile() is not None:
        return

    def remove(frame: Any, event: str, argument: Any) -> None:
        if remove_mode(mode):
            sys.setprofile(None)

    sys.setprofile(remove)
