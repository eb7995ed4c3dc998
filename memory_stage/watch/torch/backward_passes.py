"""Call a function before each backward pass of a program, and when a pass fails or succeeds."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from memory_stage.engines.torch.threads import remove_mode
from memory_stage.watch.torch.call_watcher import CallWatcher

_next_node = torch._C._autograd._get_sequence_nr


class BackwardPasses:
    """A patch of the one function of torch that runs every backward pass.

    Args:
        watcher: the mode of the watched thread. It is on the stack during a pass, so that it observes the program's
            hooks.
        before: called with the tensors that a pass is about to start from.
        failed: called with these tensors, the error, and the frame that called backward. The program's frames still
            exist during this call, so that it can search their variables.
        after: called after a pass has succeeded, with the frame, and True if the pass retains the graph.
    """

    def __init__(
        self,
        watcher: CallWatcher,
        before: Callable[[Any, FrameType], None],
        failed: Callable[[Any, BaseException, FrameType], None],
        after: Callable[[FrameType, bool], None],
    ) -> None:
        self._watcher, self._before, self._failed, self._after = watcher, before, failed, after
        self._thread = 0
        self._real: Any = None
        self._mine: Any = None

    def subscribe(self) -> None:
        """Replace torch's function, for the backward passes of this thread."""
        self._thread = threading.get_ident()
        self._real = torch.autograd._engine_run_backward
        self._mine = self._run
        torch.autograd._engine_run_backward = self._mine

    def unsubscribe(self) -> None:
        """Restore torch's function."""
        if torch.autograd._engine_run_backward is self._mine:
            torch.autograd._engine_run_backward = self._real
        self._mine = None

    def _run(self, t_outputs: Any, *args: Any, **kwargs: Any) -> Any:
        watcher = self._watcher
        if not watcher.is_open or threading.get_ident() != self._thread:
            return self._real(t_outputs, *args, **kwargs)
        frame = sys._getframe(1)
        is_in_backward = watcher.is_in_backward
        keeps_graph = any(each is True for each in args[1:3])  # the positional arguments retain_graph and create_graph
        with torch._C.DisableTorchFunction():
            self._before(t_outputs, frame)
        if is_in_backward:  # torch has taken the mode off its stack, but it must observe the program's hooks
            watcher.__enter__()
            watcher.is_in_backward = False
        first = _next_node()
        try:
            result = self._real(t_outputs, *args, **kwargs)
        except BaseException as error:
            with torch._C.DisableTorchFunction():
                self._failed(t_outputs, error, frame)
            t_outputs = args = kwargs = None  # type: ignore[assignment]  # the traceback refers to this frame
            raise
        finally:
            if is_in_backward:
                remove_mode(watcher)
                watcher.is_in_backward = True
            del frame
        frame, end = sys._getframe(1), _next_node()
        if end != first and watcher.is_open:  # create_graph=True has recorded the pass
            watcher.guarded(watcher.log_pass, first, end, frame)
        with torch._C.DisableTorchFunction():
            self._after(frame, keeps_graph)
        del frame
        return result
