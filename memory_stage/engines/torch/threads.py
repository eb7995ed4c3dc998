"""Other threads of the program: that they compute with tensors is noted, and nothing else of them.

A mode of torch's hears one thread. So each thread that begins, and each task of a pool that was there before, finds one
on its stack that notes the first operation and then leaves: what comes after runs as if nobody listened. Threads of
torch's own data loaders and of this package get none, and those that torch runs for a GPU's backward never begin here.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from memory_stage.engines.torch.calls import call_of
from memory_stage.engines.torch.frames import Caller, without_ours

ELSEWHERE = "Another thread computes with tensors: its operations are not recorded, only what they leave in memory."

#: Modules whose functions run in threads of their own, and whose operations are none of the program's.
_NOT_THE_PROGRAMS = ("torch.utils.data", "memory_stage", "book_kit")


class Bystander(TorchFunctionMode):
    """Notes, once, that a thread computes with tensors."""

    def __init__(self, note: Callable[[str], None]) -> None:
        super().__init__()
        self.note: Callable[[str], None] | None = note
        self._caller = Caller()
        self._process = os.getpid()
        self._met: set[int] = set()  # threads that have it, or had it: a task of a pool runs inside one that began

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        note = self.note
        if note is None or os.getpid() != self._process:
            leave_soon(self)
        elif not call_of(func).is_silent:
            note(ELSEWHERE)
            leave_soon(self)
        try:
            return self._caller.call(sys._getframe(1), func, args, kwargs or {})
        except BaseException as error:
            args = kwargs = None
            without_ours(error, sys._getframe(1))
            del error
            raise

    def about(self, real: Any) -> Callable[..., Any]:
        """In place of what a thread runs from its beginning to its end, or a pool for a task."""

        def run(this: Any, *args: Any) -> Any:
            thread = threading.get_ident()
            if self.note is None or thread in self._met or _is_another(this):
                return real(this, *args)
            self._met.add(thread)
            self.__enter__()
            try:
                return real(this, *args)
            finally:
                taken_off(self)
                self._met.discard(thread)

        return run


def _is_another(this: Any) -> bool:
    target = getattr(this, "_target", None)
    module = getattr(target, "__module__", None) or type(this).__module__
    return str(module).startswith(_NOT_THE_PROGRAMS)


def places_of_threads() -> list[tuple[Any, str]]:
    """The classes, and their methods, that run what a program hands to another thread."""
    found: list[tuple[Any, str]] = [(threading.Thread, "_bootstrap_inner")]
    pools = sys.modules.get("concurrent.futures.thread")
    if pools is not None:
        found.append((pools._WorkItem, "run"))
    return found


def taken_off(mode: TorchFunctionMode) -> bool:
    """Take a mode from this thread's stack, under those that the program has put on it. False where it is not there."""
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


def leave_soon(mode: TorchFunctionMode) -> None:
    """Have a mode leave this thread's stack that has just been called.

    Torch has taken it off for the time of the call and puts it back. So it goes when Python calls a function next, or
    comes back from one; where somebody profiles this thread already, it stays.
    """
    if sys.getprofile() is not None:
        return

    def leave(frame: Any, event: str, argument: Any) -> None:
        if taken_off(mode):
            sys.setprofile(None)

    sys.setprofile(leave)
