"""Log the nodes that functions of the program create: subclasses of ``torch.autograd.Function``.

No mode observes ``apply`` of these functions, so it is patched.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from memory_stage.engines.torch.saved import is_custom, unchecked_in
from memory_stage.watch.torch.call_watcher import CallWatcher


class FunctionCalls:
    """A patch of ``torch.autograd.Function.apply``.

    Args:
        watcher: the mode of the watched thread, whose logs get the nodes.
    """

    def __init__(self, watcher: CallWatcher) -> None:
        self._watcher = watcher
        self._thread = 0
        self._real: Any = None
        self._mine: Any = None

    def subscribe(self) -> None:
        """Replace the method, for the calls of this thread."""
        self._thread = threading.get_ident()
        self._real = vars(torch.autograd.Function)["apply"]
        self._mine = classmethod(self._patch_of(self._real.__func__))
        torch.autograd.Function.apply = self._mine

    def unsubscribe(self) -> None:
        """Restore the method."""
        if vars(torch.autograd.Function)["apply"] is self._mine:
            torch.autograd.Function.apply = self._real
        self._mine = None

    def _patch_of(self, real: Callable[..., Any]) -> Callable[..., Any]:
        watcher = self._watcher

        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            if not watcher.is_open or threading.get_ident() != self._thread:
                return real(cls, *args, **kwargs)
            watcher.open_functions += 1
            try:
                result = real(cls, *args, **kwargs)
            finally:
                watcher.open_functions -= 1
            watcher.guarded(self._log, result, sys._getframe(1))
            return result

        return apply

    def _log(self, result: Any, frame: FrameType) -> None:
        for x in result if isinstance(result, (tuple, list)) else (result,):
            node = x.grad_fn if isinstance(x, torch.Tensor) else None
            if node is not None and is_custom(node):
                self._watcher.log_function(node._sequence_nr(), frame)
                for _, kept in unchecked_in(node):
                    self._watcher.keep_unchecked(kept)
                return
