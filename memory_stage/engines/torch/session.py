"""The ear of a recorder at torch: what it puts in place to hear, and takes away again."""

from __future__ import annotations

from memory_stage.engines.events import Listener, ignore
from memory_stage.engines.torch.backward import Backward
from memory_stage.engines.torch.function_mode import Mode
from memory_stage.engines.torch.monkeypatches import StandIns
from memory_stage.engines.torch.nodes import Nodes
from memory_stage.engines.torch.registry import Registry
from memory_stage.engines.torch.threads import Bystander, taken_off


class TorchSubscription:
    """A recorder's subscription to the events of torch."""

    def __init__(self, registry: Registry, nodes: Nodes, emit: Listener) -> None:
        self._registry, self._nodes, self._emit = registry, nodes, emit
        self._mode: Mode | None = None
        self._backward: Backward | None = None
        self._stand_ins: StandIns | None = None
        self._bystander: Bystander | None = None

    def open(self) -> None:
        """Put the mode on this thread's stack, and the stand-ins in place."""
        self._registry.emit = self._emit
        self._mode = Mode(self._registry, self._nodes, self._emit)
        mode = self._mode
        self._backward = Backward(self._registry, self._nodes, mode, self._emit)
        self._backward.stand_in()
        self._bystander = Bystander(mode.note_unseen)
        self._stand_ins = StandIns(
            (mode, self._bystander), mode.note_unseen, self._emit, mode.made, self._backward.hooks.of_layer
        )
        self._stand_ins.stand_in()
        self._mode.__enter__()

    def close(self) -> None:
        """Nothing is told any more. Where a call of torch's is running, the mode leaves the stack when asked again."""
        if self._mode is None:
            return
        self._mode.is_open = False
        if self._bystander is not None:
            self._bystander.note = None
        self._emit = self._mode.emit = ignore  # it leads to a recorder, and that here
        if self._backward is not None and self._stand_ins is not None:
            self._backward.stand_aside()
            self._stand_ins.stand_aside()
            self._backward = self._stand_ins = None
        self._registry.forget()
        if not self._mode.calls and taken_off(self._mode):
            self._mode = None
