"""Subscribe to PyTorch's function calls and restore the patched functions."""

from __future__ import annotations

from memory_stage.engines.events import Listener, ignore
from memory_stage.engines.torch.backward import Backward
from memory_stage.engines.torch.function_mode import Mode
from memory_stage.engines.torch.monkeypatches import TorchPatches
from memory_stage.engines.torch.nodes import Nodes
from memory_stage.engines.torch.registry import Registry
from memory_stage.engines.torch.threads import Bystander, remove_mode


class TorchSubscription:
    """A recorder's subscription to the events of torch."""

    def __init__(self, registry: Registry, nodes: Nodes, emit: Listener) -> None:
        self._registry, self._nodes, self._emit = registry, nodes, emit
        self._mode: Mode | None = None
        self._backward: Backward | None = None
        self._patches: TorchPatches | None = None
        self._bystander: Bystander | None = None

    def open(self) -> None:
        """Put the mode on this thread's stack, and patch torch's functions."""
        self._registry.emit = self._emit
        self._mode = Mode(self._registry, self._nodes, self._emit)
        mode = self._mode
        self._backward = Backward(self._registry, self._nodes, mode, self._emit)
        self._backward.patch()
        self._bystander = Bystander(mode.report_unrecorded)
        self._patches = TorchPatches(
            (mode, self._bystander),
            mode.report_unrecorded,
            self._emit,
            lambda name, x, _: mode.made(name, x),
            self._backward.hooks.of_layer,
        )
        self._patches.patch()
        self._mode.__enter__()

    def close(self) -> None:
        """Emit no further event. If a call of torch is running, the mode leaves the stack at the next call."""
        if self._mode is None:
            return
        self._mode.is_open = False
        if self._bystander is not None:
            self._bystander.note = None
        self._emit = self._mode.emit = ignore  # the listener refers to the recorder, which refers to this object
        if self._backward is not None and self._patches is not None:
            self._backward.restore()
            self._patches.restore()
            self._backward = self._patches = None
        self._registry.forget()
        if not self._mode.calls and remove_mode(self._mode):
            self._mode = None
