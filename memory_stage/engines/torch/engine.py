"""Answer the questions of :mod:`memory_stage.engines.protocol` for tensors of PyTorch.

* ``memory`` contains the storages and their bytes, and ``cuda`` contains the meters of GPUs.
* ``registry`` contains the storages and tensors of a program, and their version counters.
* ``node_tags`` and ``nodes`` read autograd's graph and its saved tensors; ``meta_probe`` finds those that torch hides.
* ``calls`` classifies torch's functions, ``function_mode`` observes calls of them, and ``backward`` observes the nodes.
* ``node_hooks`` has the recorder's hooks, ``user_hooks`` those of the program. ``monkeypatches`` patches torch.

These modules are imported only after the program has imported torch.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FrameType
from typing import Any, TypeVar

import numpy as np
import torch

from memory_stage.engines import protocol
from memory_stage.engines.events import Listener, ignore
from memory_stage.engines.framework import FrameworkEngine, view_of_array
from memory_stage.engines.torch import cuda
from memory_stage.engines.torch.backward import Backward
from memory_stage.engines.torch.frames import is_library_frame
from memory_stage.engines.torch.function_mode import Mode
from memory_stage.engines.torch.memory import (
    Counter,
    Memory,
    VersionCounter,
    elements_of,
    layout_of,
    muted,
    name_of,
    own_layout_of,
)
from memory_stage.engines.torch.monkeypatches import TorchPatches
from memory_stage.engines.torch.node_tags import NodeTag
from memory_stage.engines.torch.nodes import Nodes
from memory_stage.engines.torch.registry import Registry
from memory_stage.engines.torch.threads import Bystander, remove_mode
from memory_stage.messages import message


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
        self._emit = self._mode.emit = ignore  # breaks a cycle: listener, recorder, this object
        if self._backward is not None and self._patches is not None:
            self._backward.restore()
            self._patches.restore()
            self._backward = self._patches = None
        self._registry.forget()
        if not self._mode.calls and remove_mode(self._mode):
            self._mode = None


#: The first version of torch that reports when a storage is freed.
OLDEST = (2, 10)

Question = TypeVar("Question", bound=Callable[..., Any])


def engine() -> TorchEngine:
    """Return a new engine, for one recording.

    Raises:
        NotRecordable: if torch is older than :data:`OLDEST`.
    """
    version = tuple(int(number) for number in re.findall(r"\d+", torch.__version__)[:2])
    if version < OLDEST:
        raise protocol.NotRecordable(
            message(
                "PyTorch {version} is not recorded. Recording needs {oldest} or later.",
                version=torch.__version__,
                oldest=".".join(map(str, OLDEST)),
            )
        )
    return TorchEngine()


def _mute(question: Question) -> Question:
    """Return ``question`` as a function that hides its reads of tensors from the program's modes and subclasses."""

    @functools.wraps(question)
    def quiet(*arguments: Any) -> Any:
        with muted():
            return question(*arguments)

    return quiet  # type: ignore[return-value]  # it has the signature of the question


class TorchEngine(FrameworkEngine):
    """The :class:`~memory_stage.engines.protocol.Engine` of PyTorch. The protocol describes each method."""

    def __init__(self) -> None:
        self._registry = Registry()
        self._nodes = Nodes(self._registry)

    # ----- the engine -----

    def listen(self, emit: Listener) -> TorchSubscription:
        return TorchSubscription(self._registry, self._nodes, emit)

    @contextlib.contextmanager
    def same_random_numbers(self) -> Iterator[None]:
        """Restore the random generators of the host and of all GPUs in use at the end of the block."""
        devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
        with torch.random.fork_rng(devices=list(devices)):
            yield

    def allocated(self) -> int:
        """Return the host bytes of gradients in flight and of living storages created since ``open``."""
        return self._registry.allocated

    def gpus(self) -> list[protocol.GpuMeter]:
        return list(cuda.gpus())

    # ----- tensors -----

    @_mute
    def is_tensor(self, value: Any) -> bool:
        return self._registry.is_tensor(value)

    @_mute
    def is_shown(self, value: Any) -> bool:
        """True for every tensor, because torch's wrapped Python numbers never reach the recorder."""
        return self._registry.is_tensor(value)

    @_mute
    def storage_view(self, x: torch.Tensor) -> protocol.StorageView:
        """Describe ``x`` by its properties and its node."""
        node = self._nodes.of(x)
        is_view = x._is_view() and x._base.requires_grad
        is_leaf = node is None or (node.role is protocol.Role.LEAF and not is_view)
        apart = self._registry.current_counter(x).memory.itemsize != x.element_size()
        own = protocol.Elements(*own_layout_of(x), x.element_size()) if apart else None
        return protocol.StorageView(layout_of(x), name_of(x.dtype), node is not None, is_leaf, own)

    @_mute
    def storage(self, x: torch.Tensor) -> VersionCounter:
        return self._registry.current_counter(x)

    @_mute
    def version(self, x: torch.Tensor) -> int:
        return self._registry.version(x)

    @_mute
    def group(self, x: torch.Tensor) -> int | None:
        return self._registry.group(x)

    @_mute
    def stamp(self, x: torch.Tensor) -> tuple[Any, ...]:
        """Return the address, layout, version, node, group and version counter of ``x``."""
        node = self._nodes.of(x)
        at = x.data_ptr() if x.numel() else 0
        return (
            at,
            x.shape,
            x.stride(),
            x._version,
            id(node),
            self._registry.group(x),
            id(self._registry.current_counter(x)),
        )

    @_mute
    def node(self, x: torch.Tensor) -> NodeTag | None:
        """Return the node of ``x``. It is not read from an outdated view, because torch would create a new one."""
        return self._nodes.of(x)

    @_mute
    def gradient(self, x: torch.Tensor) -> torch.Tensor | None:
        """Return the gradient of a leaf (once its event was emitted), or a retained one. Torch warns about others."""
        if not x.requires_grad or not (self._nodes.fn_of(x) is None or x.retains_grad):
            return None
        gradient = x.grad
        if gradient is None or not self._registry.is_tensor(gradient):
            return None
        awaited = self._registry.awaited
        return None if awaited.get(id(x), id(gradient)) != id(gradient) else gradient

    def records(self, x: torch.Tensor) -> bool:
        return torch.is_grad_enabled()

    def has_name(self, x: torch.Tensor, name: str) -> bool:
        """True if a tensor, the package, or its functional module has the name."""
        return any(hasattr(each, name) for each in (torch.Tensor, torch, torch.nn.functional))

    def is_library_frame(self, frame: FrameType) -> bool:
        return is_library_frame(frame)

    @_mute
    def array(self, x: torch.Tensor) -> np.ndarray:
        """Return an array over the elements. It must be read at once, because it keeps no memory alive."""
        return elements_of(x)

    @_mute
    def slots(self, value: Any) -> list[tuple[str, torch.Tensor, int, torch.Tensor]] | None:
        if not isinstance(value, torch.optim.Optimizer):
            return None
        parameters = [x for group in value.param_groups for x in group["params"]]
        return [
            (slot, x, number, kept)
            for number, x in enumerate(parameters)
            for slot, kept in value.state.get(x, {}).items()
            if self._registry.is_tensor(kept)
        ]

    # ----- storages -----

    def owns(self, thing: Any) -> bool:
        return isinstance(thing, (Memory, Counter, NodeTag))

    def below(self, storage: VersionCounter) -> Memory | None:
        return storage.memory if isinstance(storage, Counter) else None

    @_mute
    def block(self, storage: VersionCounter) -> protocol.StorageInfo:
        return storage.memory.block(storage.version)

    def freed(self, storage: VersionCounter) -> int:
        """Return the bytes of a storage on the host; 0 on a GPU."""
        memory = storage.memory
        return memory.counted if memory.gpu is None else 0

    def freed_on_gpu(self, storage: VersionCounter) -> tuple[protocol.GpuMeter, int] | None:
        memory = storage.memory
        return None if memory.gpu is None else (memory.gpu, memory.counted)

    @_mute
    def numbers(self, storage: VersionCounter, cells: Iterable[int]) -> list[Any]:
        return storage.memory.numbers(cells)

    # ----- writes -----

    @_mute
    def written(self, x: torch.Tensor, where: Any) -> protocol.CellLayout | np.ndarray:
        """Return the cells; ``where`` is None for all of ``x``."""
        return layout_of(x) if where is None else where

    @_mute
    def nodes_of_write(self, x: torch.Tensor) -> list[tuple[NodeTag, bool]]:
        """Return the node of the base and, if ``x`` is a view of it, the node of ``x``."""
        if not x.requires_grad:
            return []
        base = x._base if x._is_view() and x._base.requires_grad else x
        found = [(node, False)] if (node := self._nodes.of(base)) is not None else []
        own = self._nodes.of(x)
        if own is not None and all(own is not node for node, _ in found):
            own.role = protocol.Role.READ  # torch has created the view's node again, from the new node of the base
            found.append((own, True))
        return found

    # ----- nodes -----

    def role(self, node: NodeTag) -> protocol.Role:
        """Return ``LEAF``, ``OPERATION``, or ``READ`` for the new node of a view after a write."""
        return node.role

    def name(self, node: NodeTag) -> str:
        return node.name

    def parents(self, node: NodeTag) -> Sequence[NodeTag | None]:
        """Return the parents of all nodes that the call created."""
        return node.parents

    def moves_only(self, node: NodeTag) -> bool:
        """True for view operations."""
        return node.moves

    def place(self, node: NodeTag) -> tuple[Any, int]:
        return node.place

    def saved(self, node: NodeTag) -> list[protocol.Saved]:
        """Return the saved tensors that were read when the node got its tag."""
        return [
            protocol.Saved(position, entry.what, entry.counter, entry.layout, entry.version, False)
            for position, entry in enumerate(node.entries)
        ]

    def saved_state(self, node: NodeTag, position: int) -> protocol.SavedTensorState:
        return node.saved_state(position)

    def is_released(self, node: NodeTag) -> bool:
        return node.released

    # ----- shared memory -----

    @_mute
    def shared_storages(self) -> list[Memory]:
        """Return the storages that are shared with numpy or, by DLPack, with another library."""
        return [memory for memory in list(self._registry.memories.values()) if memory.is_shared]

    def when_shared(self, notify: Callable[[Memory], None]) -> Callable[[], None]:
        registered = self._registry.when_shared
        registered.append(notify)
        return lambda: registered.remove(notify) if notify in registered else None

    @_mute
    def storage_behind(self, array: np.ndarray) -> Memory | None:
        if type(array) not in (np.ndarray, np.memmap, np.matrix) or array.size == 0:
            return None
        first, end = np.lib.array_utils.byte_bounds(array)
        for memory in self.shared_storages():
            begin, nbytes = memory.place()
            if begin and begin <= first and end <= begin + nbytes and memory.itemsize == array.itemsize:
                return memory
        return None

    def storage_view_of_array(self, storage: Memory, array: np.ndarray) -> protocol.StorageView:
        return view_of_array(array, storage.place()[0])

    @_mute
    def bits(self, storage: VersionCounter) -> np.ndarray | None:
        return storage.memory.flat()
