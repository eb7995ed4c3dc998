"""Answers for tensors of PyTorch: see :mod:`memory_stage.engines.protocol`.

* ``memory``: storages, and their bytes where they lie; ``cuda``: the meters of GPUs.
* ``registry``: which storages and tensors a program has, and which of them count versions together.
* ``marks``, ``nodes``: the graph of autograd, and what its nodes saved; ``probing``: what one of them hides.
* ``calls``: the functions of torch; ``listening``: what a program does with them; ``backward``: node by node.
* ``at_nodes``: its own hooks; ``hooking``: the program's; ``stand_ins``: functions that are others meanwhile.
* ``ear``: all that is put in place, and taken away again.

Torch is imported by the program before anything here is.
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
    Fate,
    GpuMeter,
    Look,
    NotRecordable,
    Role,
    Saved,
    StorageInfo,
)
from memory_stage.engines.torch import cuda
from memory_stage.engines.torch.frames import is_inside
from memory_stage.engines.torch.memory import (
    Counter,
    Kept,
    Memory,
    elements_of,
    layout_of,
    name_of,
    own_layout_of,
    unheard,
)
from memory_stage.engines.torch.node_tags import Mark
from memory_stage.engines.torch.nodes import Nodes
from memory_stage.engines.torch.registry import Registry
from memory_stage.engines.torch.session import TorchSubscription

#: From here on the end of a storage can be noticed from outside.
OLDEST = (2, 10)

Question = TypeVar("Question", bound=Callable[..., Any])


def engine() -> TorchEngine:
    """An engine for one recording.

    Raises:
        NotRecordable: of an older torch.
    """
    version = tuple(int(number) for number in re.findall(r"\d+", torch.__version__)[:2])
    if version < OLDEST:
        raise NotRecordable(
            f"PyTorch {torch.__version__} is not recorded: {'.'.join(map(str, OLDEST))} is the first that can be."
        )
    return TorchEngine()


def _asked_quietly(question: Question) -> Question:
    """No mode and no subclass hears what the answer asks of tensors."""

    @functools.wraps(question)
    def quiet(*arguments: Any) -> Any:
        with unheard():
            return question(*arguments)

    return quiet  # type: ignore[return-value]  # it takes and gives what the question does


class TorchEngine:
    """An :class:`~memory_stage.engines.protocol.Engine`; what each answer means is said there."""

    def __init__(self) -> None:
        self._registry = Registry()
        self._nodes = Nodes(self._registry)

    # ----- of the whole -----

    def listen(self, emit: Listener) -> TorchSubscription:
        """Return a subscription that is not open yet."""
        return TorchSubscription(self._registry, self._nodes, emit)

    @property
    def has_framework(self) -> bool:
        """It is one."""
        return True

    def arrive(self) -> None:
        """It has."""

    def policy(self, name: str) -> AbstractContextManager[Any]:
        """Change nothing: torch has one rule, by versions."""
        return contextlib.nullcontext()

    def current_policy(self) -> str:
        """Return the default: torch has one rule."""
        return DEFAULT_POLICY

    @contextlib.contextmanager
    def same_random_numbers(self) -> Iterator[None]:
        """Of the computer's own generator, and of those of GPUs that are in use."""
        devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
        with torch.random.fork_rng(devices=list(devices)):
            yield

    def allocated(self) -> int:
        """In storages that came to be while it listened, less those that went."""
        return self._registry.allocated

    def gpus(self) -> list[GpuMeter]:
        """Once the program has begun to use them."""
        return list(cuda.gpus())

    # ----- of tensors -----

    @_asked_quietly
    def is_tensor(self, value: Any) -> bool:
        """With memory that can be shown."""
        return self._registry.is_tensor(value)

    @_asked_quietly
    def is_shown(self, value: Any) -> bool:
        """Torch's own numbers never come here."""
        return self._registry.is_tensor(value)

    @_asked_quietly
    def look(self, x: torch.Tensor) -> Look:
        """From the tensor, and its node."""
        node = self._nodes.of(x)
        of_leaf = x._is_view() and x._base.requires_grad
        is_leaf = node is None or (node.role is Role.LEAF and not of_leaf)
        apart = self._registry.kept(x).memory.itemsize != x.element_size()
        own = Elements(*own_layout_of(x), x.element_size()) if apart else None
        return Look(layout_of(x), name_of(x.dtype), node is not None, is_leaf, own)

    @_asked_quietly
    def storage(self, x: torch.Tensor) -> Kept:
        """Or a counter of its own."""
        return self._registry.kept(x)

    @_asked_quietly
    def version(self, x: torch.Tensor) -> int:
        """Torch's."""
        return self._registry.version(x)

    @_asked_quietly
    def group(self, x: torch.Tensor) -> int | None:
        """By the base of its views."""
        return self._registry.group(x)

    @_asked_quietly
    def stamp(self, x: torch.Tensor) -> tuple[Any, ...]:
        """What it looks like, where, and the version."""
        node = self._nodes.of(x)
        at = x.data_ptr() if x.numel() else 0
        return at, x.shape, x.stride(), x._version, id(node), self._registry.group(x), id(self._registry.kept(x))

    @_asked_quietly
    def node(self, x: torch.Tensor) -> Mark | None:
        """Without asking a view that is out of date."""
        return self._nodes.of(x)

    @_asked_quietly
    def gradient(self, x: torch.Tensor) -> torch.Tensor | None:
        """Of a leaf, and of what retains its own: any other would warn."""
        if not x.requires_grad or not (self._nodes.fn_of(x) is None or x.retains_grad):
            return None
        gradient = x.grad
        if gradient is None or not self._registry.is_tensor(gradient):
            return None
        awaited = self._registry.awaited
        return None if awaited.get(id(x), id(gradient)) != id(gradient) else gradient

    def preserves(self, x: torch.Tensor) -> bool:
        """Never."""
        return False

    def records(self, x: torch.Tensor) -> bool:
        """Torch's grad mode."""
        return torch.is_grad_enabled()

    def spells_otherwise(self, x: torch.Tensor) -> bool:
        """Events have torch's names."""
        return False

    def spelled(self, op: str) -> str:
        """As it is."""
        return op

    def has_name(self, x: torch.Tensor, name: str) -> bool:
        """Of a tensor, of the package, of its functions."""
        return any(hasattr(each, name) for each in (torch.Tensor, torch, torch.nn.functional))

    def is_otherwise(self, frame: FrameType) -> bool:
        """There is one vocabulary."""
        return False

    def is_inside(self, frame: FrameType) -> bool:
        """Of torch."""
        return is_inside(frame)

    @_asked_quietly
    def array(self, x: torch.Tensor) -> np.ndarray:
        """To be read at once."""
        return elements_of(x)

    @_asked_quietly
    def slots(self, value: Any) -> list[tuple[str, torch.Tensor, int, torch.Tensor]] | None:
        """Of one of ``torch.optim``."""
        if not isinstance(value, torch.optim.Optimizer):
            return None
        parameters = [x for group in value.param_groups for x in group["params"]]
        return [
            (slot, x, number, kept)
            for number, x in enumerate(parameters)
            for slot, kept in value.state.get(x, {}).items()
            if self._registry.is_tensor(kept)
        ]

    # ----- of storages -----

    def is_own(self, thing: Any) -> bool:
        """By its type."""
        return isinstance(thing, (Memory, Counter, Mark))

    def key(self, thing: Kept | Mark) -> int:
        """Handles are objects of this package's, one for each thing."""
        return id(thing)

    def weak(self, thing: Kept | Mark, gone: Callable[[Any], None]) -> Callable[[], Any]:
        """Handles go with what they stand for."""
        return weakref.ref(thing, gone)

    def below(self, storage: Kept) -> Memory | None:
        """Of a counter."""
        return storage.memory if isinstance(storage, Counter) else None

    @_asked_quietly
    def block(self, storage: Kept) -> StorageInfo:
        """As torch has it now."""
        return storage.memory.block(storage.version)

    def freed(self, storage: Kept) -> int:
        """Of the computer's own memory."""
        memory = storage.memory
        return memory.counted if memory.gpu is None else 0

    def freed_there(self, storage: Kept) -> tuple[GpuMeter, int] | None:
        """Torch's allocator counts in blocks."""
        memory = storage.memory
        return None if memory.gpu is None else (memory.gpu, memory.counted)

    @_asked_quietly
    def numbers(self, storage: Kept, cells: Iterable[int]) -> list[Any]:
        """Where they lie."""
        return storage.memory.numbers(cells)

    def writer(self, storage: Kept, version: int) -> str:
        """Torch keeps no log."""
        return ""

    # ----- of writes -----

    @_asked_quietly
    def written(self, x: torch.Tensor, where: Any) -> CellLayout | np.ndarray:
        """``where``: None for all of ``x``, else the cells."""
        return layout_of(x) if where is None else where

    @_asked_quietly
    def nodes_of_write(self, x: torch.Tensor) -> list[tuple[Mark, bool]]:
        """The base's, and that of a view that has been written."""
        if not x.requires_grad:
            return []
        base = x._base if x._is_view() and x._base.requires_grad else x
        found = [(node, False)] if (node := self._nodes.of(base)) is not None else []
        own = self._nodes.of(x)
        if own is not None and all(own is not node for node, _ in found):
            own.role = Role.READ  # torch has made it anew, of the base's
            found.append((own, True))
        return found

    # ----- of nodes -----

    def role(self, node: Mark) -> Role:
        """A leaf or an operation: torch has one node for a write through a view."""
        return node.role

    def name(self, node: Mark) -> str:
        """Of the call that made it."""
        return node.name

    def parents(self, node: Mark) -> Sequence[Mark | None]:
        """Of all nodes of a call."""
        return node.parents

    def moves_only(self, node: Mark) -> bool:
        """By their kinds."""
        return node.moves

    def place(self, node: Mark) -> tuple[Any, int]:
        """Where it was called."""
        return node.place

    def saved(self, node: Mark) -> list[Saved]:
        """As they were read when it was made."""
        return [
            Saved(position, entry.what, entry.kept, entry.layout, entry.version, False)
            for position, entry in enumerate(node.entries)
        ]

    def indices(self, node: Mark) -> list[Kept]:
        """They are saved tensors like others."""
        return []

    def fate(self, node: Mark, position: int) -> Fate:
        """As backward would find it."""
        return node.fate(position)

    def is_released(self, node: Mark) -> bool:
        """After a backward that does not retain the graph."""
        return node.released

    def copies(self, node: Mark, position: int, storage: Kept) -> list[Copied]:
        """Torch preserves nothing."""
        return []

    def is_checked(self, node: Mark, position: int) -> bool:
        """Only versions are."""
        return False

    def elements(self, gradient: np.ndarray) -> np.ndarray:
        """It is one already."""
        return gradient

    # ----- of memory that is shared -----

    @_asked_quietly
    def shared_storages(self) -> list[Memory]:
        """With numpy, or by DLPack."""
        return [memory for memory in list(self._registry.memories.values()) if memory.is_shared]

    def when_shared(self, notify: Callable[[Memory], None]) -> Callable[[], None]:
        """When a call is about to give the address away."""
        registered = self._registry.when_shared
        registered.append(notify)
        return lambda: registered.remove(notify) if notify in registered else None

    @_asked_quietly
    def storage_behind(self, array: np.ndarray) -> Memory | None:
        """By its addresses."""
        if type(array) not in (np.ndarray, np.memmap, np.matrix) or array.size == 0:
            return None
        first, end = np.lib.array_utils.byte_bounds(array)
        for memory in self.shared_storages():
            begin, nbytes = memory.place()
            if begin and begin <= first and end <= begin + nbytes and memory.itemsize == array.itemsize:
                return memory
        return None

    def look_of_array(self, storage: Memory, array: np.ndarray) -> Look:
        """From its strides and its address."""
        begin, _ = storage.place()
        offset = (array.__array_interface__["data"][0] - begin) // array.itemsize
        strides = [stride // array.itemsize for stride in array.strides]
        return Look(CellLayout(list(array.shape), strides, offset), array.dtype.name, False, True)

    @_asked_quietly
    def bits(self, storage: Kept) -> np.ndarray | None:
        """Where they lie."""
        return storage.memory.flat()
