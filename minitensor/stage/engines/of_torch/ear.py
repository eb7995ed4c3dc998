"""The ear of a recorder at torch: what it puts in place to hear, and takes away again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from minitensor.stage.engines.of_torch.backward import Backward
from minitensor.stage.engines.of_torch.listening import Mode
from minitensor.stage.engines.of_torch.nodes import Nodes
from minitensor.stage.engines.of_torch.registry import Registry
from minitensor.stage.engines.of_torch.stand_ins import StandIns


class Ear:
    """Hears torch for a recorder, from :meth:`open` to :meth:`close`."""

    def __init__(self, registry: Registry, nodes: Nodes, tell: Callable[..., None]) -> None:
        self._registry, self._nodes, self._tell = registry, nodes, tell
        self._mode: Mode | None = None
        self._backward: Backward | None = None
        self._stand_ins: StandIns | None = None

    def open(self) -> None:
        """Put the mode on this thread's stack, and the stand-ins in place."""
        self._registry.tell = self._tell
        self._mode = Mode(self._registry, self._nodes, self._tell)
        mode = self._mode
        self._backward = Backward(self._registry, self._nodes, mode, self._tell)
        self._backward.stand_in()
        self._stand_ins = StandIns(
            lambda: _taken_off(mode), mode.put_on, self._tell, mode.made, self._backward.hooks.of_layer
        )
        self._stand_ins.stand_in()
        self._mode.__enter__()

    def close(self) -> None:
        """Nothing is told any more. Where a call of torch's is running, the mode leaves the stack when asked again."""
        if self._mode is None:
            return
        self._mode.is_open = False
        self._tell = self._mode.tell = _to_nobody  # it leads to a recorder, and that here
        if self._backward is not None and self._stand_ins is not None:
            self._backward.stand_aside()
            self._stand_ins.stand_aside()
            self._backward = self._stand_ins = None
        self._registry.forget()
        if not self._mode.calls and _taken_off(self._mode):
            self._mode = None


def _to_nobody(kind: str, *arguments: Any) -> None:
    """In place of a recorder that has stopped."""


def _taken_off(mode: Mode) -> bool:
    """Take a mode from the stack, under those that the program has put on it since. False where it is not there."""
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
