"""Answer the questions of :mod:`memory_stage.engines.protocol` for tensors of PyTorch.

* ``memory``: storages and their bytes; ``cuda``: the meters of GPUs.
* ``registry``: the storages and tensors of a program, and their version counters.
* ``node_tags``, ``nodes``: the graph of autograd, and the tensors that its nodes saved; ``meta_probe``: hidden ones.
* ``calls``: the functions of torch; ``function_mode``: the program's calls; ``backward``: the nodes of backward.
* ``node_hooks``: hooks of the recorder; ``user_hooks``: hooks of the program; ``monkeypatches``: patched functions.
* ``session``: the subscription, which applies and removes all of these.

The program imports torch before it imports these modules.
"""

from __future__ import annotations

import contextlib
import functools
import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any, TypeVar

import numpy as np
import torch

from memory_stage.engines.events import Listener
from memory_stage.engines.protocol import (
    DEFAULT_POLICY,
    CellLayout,
    Copied,
    Elements,
    GpuMeter,
    NotRecordable,
    Role,
    Saved,
    SavedTensorState,
    StorageInfo,
    StorageView,
)
from memory_stage.engines.torch import cuda
from memory_stage.engines.torch.frames import is_inside
from memory_stage.engines.torch.memory import (
    Counter,
    Kept,
    Memory,
    elements_of,
    layout_of,
    muted,
    name_of,
    own_layout_of,
)
from memory_stage.engines.torch.node_tags import NodeTag
from memory_stage.engines.torch.nodes import Nodes
from memory_stage.engines.torch.registry import Registry
from memory_stage.engines.torch.session import TorchSubscription

#: From this version on, the end of a storage can be observed.
OLDEST = (2, 10)

Question = TypeVar("Question", bound=Callable[..., Any])


def engine() -> TorchEngine:
    """Return an engine for one recording.

    Raises:
        NotRecordable: if torch is too old.
    """
    version = tuple(int(number) for number in re.findall(r"\d+", torch.__version__)[:2])
    if version < OLDEST:
        raise NotRecordable(
            f"PyTorch {torch.__version__} is not recorded: {'.'.join(map(str, OLDEST))} is the first that can be."
        )
    return TorchEngine()


def _mute(question: Question) -> Question:
    """Return ``question`` as a function whose reads of tensors no mode and no subclass observes."""

    @functools.wraps(question)
    def quiet(*arguments: Any) -> Any:
        with muted():
            return question(*arguments)

    return quiet  # type: ignore[return-value]  # it has the signature of the question


class TorchEngine:
    """An :class:`~memory_stage.engines.protocol.Engine`, which describes the answers."""

    def __init__(self) -> None:
        self._registry = Registry()
        self._nodes = Nodes(self._registry)

    # ----- the engine -----

    def listen(self, emit: Listener) -> TorchSubscription:
        """Return a subscription that is not open yet."""
        return TorchSubscription(self._registry, self._nodes, emit)

    @property
    def has_framework(self) -> bool:
        """Return True."""
        return True

    def discover_frameworks(self) -> None:
        """Do nothing: torch has been imported."""

    def policy(self, name: str) -> AbstractContextManager[Any]:
        """Change nothing: torch has one rule, by versions."""
        return contextlib.nullcontext()

    def current_policy(self) -> str:
        """Return the default: torch has one rule."""
        return DEFAULT_POLICY

    @contextlib.contextmanager
    def same_random_numbers(self) -> Iterator[None]:
        """Restore the host's generator, and those of GPUs in use."""
        devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
        with torch.random.fork_rng(devices=list(devices)):
            yield

    def allocated(self) -> int:
        """Return the bytes of storages created while it is subscribed, less those that were freed."""
        return self._registry.allocated

    def gpus(self) -> list[GpuMeter]:
        """Return the meters of GPUs that the program uses."""
        return list(cuda.gpus())

    # ----- tensors -----

    @_mute
    def is_tensor(self, value: Any) -> bool:
        """True for a tensor with memory that can be shown."""
        return self._registry.is_tensor(value)

    @_mute
    def is_shown(self, value: Any) -> bool:
        """True for a tensor: torch wraps its numbers elsewhere."""
        return self._registry.is_tensor(value)

    @_mute
    def storage_view(self, x: torch.Tensor) -> StorageView:
        """Read the tensor and its node."""
        node = self._nodes.of(x)
        of_leaf = x._is_view() and x._base.requires_grad
        is_leaf = node is None or (node.role is Role.LEAF and not of_leaf)
        apart = self._registry.kept(x).memory.itemsize != x.element_size()
        own = Elements(*own_layout_of(x), x.element_size()) if apart else None
        return StorageView(layout_of(x), name_of(x.dtype), node is not None, is_leaf, own)

    @_mute
    def storage(self, x: torch.Tensor) -> Kept:
        """Return its storage, or its version counter."""
        return self._registry.kept(x)

    @_mute
    def version(self, x: torch.Tensor) -> int:
        """Return torch's version."""
        return self._registry.version(x)

    @_mute
    def group(self, x: torch.Tensor) -> int | None:
        """Return the key of the base of its views."""
        return self._registry.group(x)

    @_mute
    def stamp(self, x: torch.Tensor) -> tuple[Any, ...]:
        """Return its address, layout, version and node."""
        node = self._nodes.of(x)
        at = x.data_ptr() if x.numel() else 0
        return at, x.shape, x.stride(), x._version, id(node), self._registry.group(x), id(self._registry.kept(x))

    @_mute
    def node(self, x: torch.Tensor) -> NodeTag | None:
        """Return its node without reading that of an outdated view."""
        return self._nodes.of(x)

    @_mute
    def gradient(self, x: torch.Tensor) -> torch.Tensor | None:
        """Return the gradient of a leaf, or a retained one. Reading any other ``.grad`` would make torch warn."""
        if not x.requires_grad or not (self._nodes.fn_of(x) is None or x.retains_grad):
            return None
        gradient = x.grad
        if gradient is None or not self._registry.is_tensor(gradient):
            return None
        awaited = self._registry.awaited
        return None if awaited.get(id(x), id(gradient)) != id(gradient) else gradient

    def preserves(self, x: torch.Tensor) -> bool:
        """Return False: torch preserves nothing."""
        return False

    def records(self, x: torch.Tensor) -> bool:
        """Return torch's grad mode."""
        return torch.is_grad_enabled()

    def has_other_names(self, x: torch.Tensor) -> bool:
        """Return False: events have torch's names."""
        return False

    def other_name(self, op: str) -> str:
        """Return the name unchanged."""
        return op

    def has_name(self, x: torch.Tensor, name: str) -> bool:
        """True if a tensor, the package, or its functional module has the name."""
        return any(hasattr(each, name) for each in (torch.Tensor, torch, torch.nn.functional))

    def is_other_vocabulary(self, frame: FrameType) -> bool:
        """Return False: there is one vocabulary."""
        return False

    def is_inside(self, frame: FrameType) -> bool:
        """True for a frame of torch."""
        return is_inside(frame)

    @_mute
    def array(self, x: torch.Tensor) -> np.ndarray:
        """Return its elements, which must be read at once."""
        return elements_of(x)

    @_mute
    def slots(self, value: Any) -> list[tuple[str, torch.Tensor, int, torch.Tensor]] | None:
        """Return the state of an optimizer of ``torch.optim``."""
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
        """True for an entry of this engine."""
        return isinstance(thing, (Memory, Counter, NodeTag))

    def key(self, thing: Kept | NodeTag) -> int:
        """Return the id of the entry: there is one for each thing."""
        return id(thing)

    def weak(self, thing: Kept | NodeTag, on_freed: Callable[[Any], None]) -> Callable[[], Any]:
        """Return a weak reference to the entry, which is freed with the thing."""
        return weakref.ref(thing, on_freed)

    def below(self, storage: Kept) -> Memory | None:
        """Return the storage below a version counter."""
        return storage.memory if isinstance(storage, Counter) else None

    @_mute
    def block(self, storage: Kept) -> StorageInfo:
        """Read torch's storage."""
        return storage.memory.block(storage.version)

    def freed(self, storage: Kept) -> int:
        """Return the bytes of a storage on the host."""
        memory = storage.memory
        return memory.counted if memory.gpu is None else 0

    def freed_on_gpu(self, storage: Kept) -> tuple[GpuMeter, int] | None:
        """Return the bytes of its block."""
        memory = storage.memory
        return None if memory.gpu is None else (memory.gpu, memory.counted)

    @_mute
    def numbers(self, storage: Kept, cells: Iterable[int]) -> list[Any]:
        """Read the cells without copying them."""
        return storage.memory.numbers(cells)

    def writer(self, storage: Kept, version: int) -> str:
        """Return an empty name: torch keeps no log."""
        return ""

    # ----- writes -----

    @_mute
    def written(self, x: torch.Tensor, where: Any) -> CellLayout | np.ndarray:
        """``where`` is None for all of ``x``, or the cells."""
        return layout_of(x) if where is None else where

    @_mute
    def nodes_of_write(self, x: torch.Tensor) -> list[tuple[NodeTag, bool]]:
        """Return the node of the base, and that of a view that was written."""
        if not x.requires_grad:
            return []
        base = x._base if x._is_view() and x._base.requires_grad else x
        found = [(node, False)] if (node := self._nodes.of(base)) is not None else []
        own = self._nodes.of(x)
        if own is not None and all(own is not node for node, _ in found):
            own.role = Role.READ  # torch has created it again, from the base's
            found.append((own, True))
        return found

    # ----- nodes -----

    def role(self, node: NodeTag) -> Role:
        """Return the role of a leaf or an operation: torch has one node for a write through a view."""
        return node.role

    def name(self, node: NodeTag) -> str:
        """Return the name of the call that created it."""
        return node.name

    def parents(self, node: NodeTag) -> Sequence[NodeTag | None]:
        """Return the parents of all nodes of its call."""
        return node.parents

    def moves_only(self, node: NodeTag) -> bool:
        """True for view operations."""
        return node.moves

    def place(self, node: NodeTag) -> tuple[Any, int]:
        """Return the place of its call."""
        return node.place

    def saved(self, node: NodeTag) -> list[Saved]:
        """Return the tensors that were read when the node was created."""
        return [
            Saved(position, entry.what, entry.kept, entry.layout, entry.version, False)
            for position, entry in enumerate(node.entries)
        ]

    def indices(self, node: NodeTag) -> list[Kept]:
        """Return an empty list: indices are saved tensors like others."""
        return []

    def saved_state(self, node: NodeTag, position: int) -> SavedTensorState:
        """Return the state that backward would find."""
        return node.saved_state(position)

    def is_released(self, node: NodeTag) -> bool:
        """True after a backward that does not retain the graph."""
        return node.released

    def copies(self, node: NodeTag, position: int, storage: Kept) -> list[Copied]:
        """Return an empty list: torch preserves nothing."""
        return []

    def is_checked(self, node: NodeTag, position: int) -> bool:
        """Return False: torch checks only versions."""
        return False

    def elements(self, gradient: np.ndarray) -> np.ndarray:
        """Return the gradient, which is an array."""
        return gradient

    # ----- shared memory -----

    @_mute
    def shared_storages(self) -> list[Memory]:
        """Return the storages shared with numpy or by DLPack."""
        return [memory for memory in list(self._registry.memories.values()) if memory.is_shared]

    def when_shared(self, notify: Callable[[Memory], None]) -> Callable[[], None]:
        """Subscribe to calls that pass the address to another library."""
        registered = self._registry.when_shared
        registered.append(notify)
        return lambda: registered.remove(notify) if notify in registered else None

    @_mute
    def storage_behind(self, array: np.ndarray) -> Memory | None:
        """Find the storage by the addresses of the array."""
        if type(array) not in (np.ndarray, np.memmap, np.matrix) or array.size == 0:
            return None
        first, end = np.lib.array_utils.byte_bounds(array)
        for memory in self.shared_storages():
            begin, nbytes = memory.place()
            if begin and begin <= first and end <= begin + nbytes and memory.itemsize == array.itemsize:
                return memory
        return None

    def storage_view_of_array(self, storage: Memory, array: np.ndarray) -> StorageView:
        """Read the strides and the address of the array."""
        begin, _ = storage.place()
        offset = (array.__array_interface__["data"][0] - begin) // array.itemsize
        strides = [stride // array.itemsize for stride in array.strides]
        return StorageView(CellLayout(list(array.shape), strides, offset), array.dtype.name, False, True)

    @_mute
    def bits(self, storage: Kept) -> np.ndarray | None:
        """Read the cells without copying them."""
        return storage.memory.flat()
