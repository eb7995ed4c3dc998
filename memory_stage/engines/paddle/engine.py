"""Answer the questions of :mod:`memory_stage.engines.protocol` for tensors of Paddle."""

from __future__ import annotations

import contextlib
import sys
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from types import CodeType, FrameType
from typing import Any

import numpy as np

from memory_stage.engines import events
from memory_stage.engines.paddle import tensor_access
from memory_stage.engines.paddle.calls import CallTracker
from memory_stage.engines.paddle.entries import GradientHandle, GradNode, PaddleStorage
from memory_stage.engines.paddle.monkeypatches import PaddlePatches, Runners
from memory_stage.engines.paddle.shadow_state import ShadowState, is_inside
from memory_stage.engines.protocol import (
    DEFAULT_POLICY,
    CellLayout,
    Copied,
    NotRecordable,
    Role,
    Saved,
    SavedTensorState,
    StorageInfo,
    StorageView,
)

#: Operations that only move values to other positions.
_MOVES = frozenset(
    ("getitem", "reshape", "transpose", "slice", "squeeze", "unsqueeze", "flatten", "unbind", "diagonal", "T", "clone")
)


_engines: list[PaddleEngine] = []


def engine() -> PaddleEngine:
    """Return the engine of the imported Paddle; one for all recordings, so that its functions are patched once.

    Raises:
        NotRecordable: if the version is older than 2.6, because its functions are called in other ways.
    """
    paddle = sys.modules["paddle"]
    version = str(getattr(paddle, "__version__", ""))
    if not hasattr(paddle, "_C_ops") or version.split(".") < ["2", "6"]:
        raise NotRecordable(f"Tensors of Paddle {version} are not recorded: that needs 2.6 or a later version.")
    if not _engines or _engines[0].paddle is not paddle:
        _engines[:] = [PaddleEngine(paddle)]
    return _engines[0]


class PaddleEngine:
    """An :class:`~memory_stage.engines.protocol.Engine`.

    Args:
        paddle: the module, which the program has imported.
    """

    def __init__(self, paddle: types.ModuleType) -> None:
        self.paddle: Any = paddle
        self.state = ShadowState(self._meter)
        self._subscriptions: list[PaddleSubscription] = []
        self._tracker: CallTracker | None = None
        names = Runners._fields
        self._patches = PaddlePatches(Runners(*map(self._runner, names)))

    # ----- the engine -----

    def listen(self, emit: events.Listener) -> PaddleSubscription:
        """Return a subscription that is not open yet."""
        return PaddleSubscription(self, emit)

    @property
    def has_framework(self) -> bool:
        """Return True."""
        return True

    def discover_frameworks(self) -> None:
        """Do nothing: no further framework belongs to this engine."""

    def policy(self, name: str) -> AbstractContextManager[Any]:
        """Change nothing: Paddle has one rule."""
        return contextlib.nullcontext()

    def current_policy(self) -> str:
        """Return the default: Paddle has one rule."""
        return DEFAULT_POLICY

    @contextlib.contextmanager
    def same_random_numbers(self) -> Iterator[None]:
        """Restore the states of Paddle's generators at the end of the block."""
        before = self.paddle.get_rng_state()
        try:
            yield
        finally:
            self.paddle.set_rng_state(before)

    def allocated(self) -> int:
        """Return the bytes of Paddle's meter."""
        return self.state.allocated(self._tracker is None or self._tracker.is_quiet)

    def _meter(self) -> int:
        return int(self.paddle.base.core.host_memory_stat_current_value("Allocated", 0))

    def gpus(self) -> list[Any]:
        """Return an empty list: tensors on a GPU are not recorded."""
        return []

    # ----- tensors -----

    def is_tensor(self, value: Any) -> bool:
        """True for a dense tensor on the host, and for the handle of a gradient."""
        if isinstance(value, self.paddle.Tensor):
            return tensor_access.is_drawable(value) or self.state.is_registered(value)
        return isinstance(value, GradientHandle)

    def is_shown(self, value: Any) -> bool:
        """True for every tensor."""
        return self.is_tensor(value)

    def storage_view(self, x: Any) -> StorageView:
        """Return the properties that Paddle reports."""
        real = self._real(x)
        if real is None:
            look: StorageView = x.view
            return look
        wants = not real.stop_gradient
        look = StorageView(
            tensor_access.layout_of(real), tensor_access.dtype_of(real), wants, not wants or bool(real.is_leaf)
        )
        if isinstance(x, GradientHandle):
            x.view = look
        return look

    def storage(self, x: Any) -> PaddleStorage:
        """Return the entry of its storage."""
        return x.storage if isinstance(x, GradientHandle) else self.state.record(x).memory

    def version(self, x: Any) -> int:
        """Return Paddle's version, which all tensors on the same bytes share."""
        real = self._real(x)
        return int(x.storage.version if real is None else real._inplace_version())

    def group(self, x: Any) -> None:
        """Return None: a view and its base have separate histories in Paddle."""

    def stamp(self, x: Any) -> Any:
        """Return all properties that the answers depend on."""
        real = self._real(x)
        if real is None:
            return id(x)
        node = None if real.stop_gradient or real.grad_fn is None else real.grad_fn.node_ptr()
        return real.data_ptr(), tuple(real.shape), tuple(real.strides), real._inplace_version(), node

    def node(self, x: Any) -> GradNode | None:
        """Return the node of its current value."""
        return None if isinstance(x, GradientHandle) else self.state.record(x).node

    def gradient(self, x: Any) -> GradientHandle | None:
        """Return its handle, because Paddle returns a new object each time."""
        return None if isinstance(x, GradientHandle) else self.state.gradient(x)

    def preserves(self, x: Any) -> bool:
        """Return False: Paddle preserves nothing."""
        return False

    def records(self, x: Any) -> bool:
        """Return Paddle's grad mode."""
        return bool(self.paddle.is_grad_enabled())

    def has_other_names(self, x: Any) -> bool:
        """Return False: events have the names of Paddle's functions."""
        return False

    def other_name(self, op: str) -> str:
        """Return the name unchanged."""
        return op

    def has_name(self, x: Any, name: str) -> bool:
        """True if a tensor, the package, or its functional module has the name."""
        return any(hasattr(each, name) for each in (self.paddle.Tensor, self.paddle, self.paddle.nn.functional))

    def is_other_vocabulary(self, frame: FrameType) -> bool:
        """Return False: there is one vocabulary."""
        return False

    def is_inside(self, frame: FrameType) -> bool:
        """True for a frame of Paddle or of this package."""
        return is_inside(frame)

    def array(self, x: Any) -> np.ndarray:
        """Return a copy, in memory that Paddle does not count."""
        real = self._real(x)
        return np.zeros(()) if real is None else tensor_access.copied(real)

    def slots(self, value: Any) -> Iterable[tuple[str, Any, int, Any]] | None:
        """Return the accumulators of an optimizer."""
        if type(value).__name__ == "TensorHookRemoveHelper":  # it refers to the tensor and does not show it
            return ()
        return _slots(value) if isinstance(value, self.paddle.optimizer.Optimizer) else None

    # ----- storages -----

    def owns(self, thing: Any) -> bool:
        """True for an entry of this engine."""
        return isinstance(thing, (PaddleStorage, GradNode))

    def key(self, thing: PaddleStorage | GradNode) -> int:
        """Return the id of the entry."""
        return id(thing)

    def weak(self, thing: PaddleStorage | GradNode, on_freed: Callable[[Any], None]) -> Callable[[], Any]:
        """Return a weak reference to the entry."""
        return weakref.ref(thing, on_freed)

    def below(self, storage: PaddleStorage) -> PaddleStorage | None:
        """Return the storage of a tensor from DLPack."""
        return storage.counts_over

    def block(self, storage: PaddleStorage) -> StorageInfo:
        """Return the memory: its size as Paddle reports it, or else the size that its tensors need."""
        size = storage.nbytes
        return StorageInfo(storage.length, storage.itemsize, size, size, storage.dtype, storage.version, None)

    def freed(self, storage: PaddleStorage) -> int:
        """Return 0: the event is emitted just before Paddle's meter changes."""
        return 0

    def freed_on_gpu(self, storage: PaddleStorage) -> None:
        """Return None: no storage is on a GPU."""

    def numbers(self, storage: PaddleStorage, cells: Iterable[int]) -> list[Any]:
        """Return the values; ``?`` for hidden cells."""
        if storage.copied is None and not storage.address:
            return ["?" for _ in cells]
        flat = storage.cells()
        return [tensor_access.as_numbers(flat[i : i + 1], storage.dtype).item() for i in cells]

    def writer(self, storage: PaddleStorage, version: int) -> str:
        """Return an empty name: Paddle keeps no log."""
        return ""

    # ----- writes -----

    def written(self, x: Any, where: CellLayout | np.ndarray | None) -> CellLayout | np.ndarray:
        """Return ``where``, or the layout of ``x`` if it is None."""
        return self.storage_view(x).layout if where is None else where

    def nodes_of_write(self, x: Any) -> list[tuple[GradNode, bool]]:
        """Return its own node: a write through a view is not in the history of its base."""
        node = self.node(x)
        return [] if node is None else [(node, False)]

    # ----- nodes -----

    def role(self, node: GradNode) -> Role:
        """Return the role of a leaf or an operation."""
        return node.role

    def name(self, node: GradNode) -> str:
        """Return the name by which its operation was called."""
        return node.name

    def parents(self, node: GradNode) -> Sequence[GradNode | None]:
        """Return the nodes of its inputs."""
        return node.parents

    def moves_only(self, node: GradNode) -> bool:
        """True for operations that only move values."""
        return node.name in _MOVES

    def place(self, node: GradNode) -> tuple[CodeType, int]:
        """Return the place where it was created or registered."""
        return node.code, node.line

    def saved(self, node: GradNode) -> list[Saved] | None:
        """Return the tensors that the table contains for it."""
        if node.is_unknown:
            return None
        return [
            Saved(position, save.what, save.storage, save.layout, save.version, False, save.is_inferred)
            for position, save in enumerate(node.saved)
        ]

    def indices(self, node: GradNode) -> list[PaddleStorage]:
        """Return an empty list: no index is known."""
        return []

    def saved_state(self, node: GradNode, position: int) -> SavedTensorState:
        """Compare the versions, as Paddle does."""
        if node.is_released:
            return SavedTensorState.RELEASED
        save = node.saved[position]
        if save.version == save.storage.version:
            return SavedTensorState.RIGHT
        if save.is_unchecked:
            return SavedTensorState.TAKEN if save.is_lost else SavedTensorState.RIGHT
        return SavedTensorState.LOST if save.is_lost else SavedTensorState.MOVED

    def is_released(self, node: GradNode) -> bool:
        """True after a backward without ``retain_graph``."""
        return node.is_released

    def copies(self, node: GradNode, position: int, storage: PaddleStorage) -> list[Copied]:
        """Return an empty list: Paddle preserves nothing."""
        return []

    def is_checked(self, node: GradNode, position: int) -> bool:
        """Return False: Paddle compares versions, never bytes."""
        return False

    def elements(self, gradient: Any) -> np.ndarray:
        """Return the gradient, which is an array."""
        return np.asarray(gradient)

    # ----- shared memory -----

    def shared_storages(self) -> list[PaddleStorage]:
        """Return an empty list: memory that Paddle shares with numpy is not observed."""
        return []

    def when_shared(self, notify: Callable[[PaddleStorage], None]) -> Callable[[], None]:
        """Do nothing."""
        return _nothing

    def storage_behind(self, array: np.ndarray) -> None:
        """Return None: ``numpy()`` copies."""

    def storage_view_of_array(self, storage: PaddleStorage, array: np.ndarray) -> StorageView:
        """Raise NotImplementedError: no array shares a storage."""
        raise NotImplementedError

    def bits(self, storage: PaddleStorage) -> np.ndarray | None:
        """Return its cells without copying them."""
        cells = storage.cells()
        return cells.view(f"uint{8 * cells.itemsize}") if cells.itemsize <= 8 and cells.size else None

    # ----- calls -----

    def _is_drawable(self, value: Any) -> bool:
        return isinstance(value, self.paddle.Tensor) and tensor_access.is_drawable(value)

    def _real(self, x: Any) -> Any:
        """Return the tensor, also for the handle of a gradient; None if that was freed."""
        return x.tensor() if isinstance(x, GradientHandle) else x

    def _runner(self, method: str) -> Callable[..., Any]:
        """Return a function that runs a patched function by a method of the tracker."""

        def run(name: str, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
            if self._tracker is None:
                return function(*arguments, **keywords)
            return getattr(self._tracker, method)(name, function, arguments, keywords)

        return run

    # ----- subscriptions -----

    def opened(self, subscription: PaddleSubscription) -> None:
        """Add an open subscription; the first one patches Paddle's functions."""
        if not self._subscriptions:
            self._tracker = CallTracker(self.state, self.paddle, self._is_drawable)
            self.state.emit = self._emit
            self.state.others = self._meter() - self.state.registered
            self._patches.apply(self.paddle)
        self._subscriptions.append(subscription)  # last: if an interrupt comes earlier, none is open

    def closed(self, subscription: PaddleSubscription) -> None:
        """Remove a subscription; the last one restores the patched functions."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)
        if not self._subscriptions:
            self._patches.restore()
            self._tracker = None
            self.state = ShadowState(self._meter)

    def _emit(self, event: events.Event) -> None:
        for each in self._subscriptions[:]:
            each.emit(event)


class PaddleSubscription:
    """A recorder's subscription to the events of Paddle."""

    def __init__(self, engine: PaddleEngine, emit: events.Listener) -> None:
        self._engine, self.emit = engine, emit

    def open(self) -> None:
        """Emit events from now on."""
        self._engine.opened(self)

    def close(self) -> None:
        """Emit no further event."""
        self._engine.closed(self)
        self.emit = events.ignore


def _nothing(*arguments: Any) -> None:
    """Do nothing."""


def _slots(optimizer: Any) -> Iterator[tuple[str, Any, int, Any]]:
    parameters = list(optimizer._parameter_list or ())
    for slot, kept in optimizer._accumulators.items():
        for number, parameter in enumerate(parameters):
            if parameter.name in kept:
                yield slot, parameter, number, kept[parameter.name]
