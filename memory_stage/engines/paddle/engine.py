"""Answer the questions of :mod:`memory_stage.engines.protocol` for tensors of Paddle."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType, FrameType
from typing import Any

import numpy as np

from memory_stage.engines import events, protocol
from memory_stage.engines.framework import FrameworkEngine, view_of_array
from memory_stage.engines.paddle import saved_table, tensor_access
from memory_stage.engines.paddle.calls import CallTracker
from memory_stage.engines.paddle.entries import GradientHandle, GradNode, PaddleStorage
from memory_stage.engines.paddle.monkeypatches import PaddlePatches, Runners
from memory_stage.engines.paddle.shadow_state import ShadowState, is_library_frame
from memory_stage.messages import message

#: Operations that only move values to other positions.
_MOVES = frozenset(
    ("getitem", "reshape", "transpose", "slice", "squeeze", "unsqueeze", "flatten", "unbind", "diagonal", "T", "clone")
)


_engines: list[PaddleEngine] = []


def engine() -> PaddleEngine:
    """Return the engine of the imported Paddle. All recordings share it, so that Paddle's functions are patched once.

    Raises:
        NotRecordable: if Paddle is older than 2.6, because older versions call their functions in other ways.
    """
    paddle = sys.modules["paddle"]
    version = str(getattr(paddle, "__version__", ""))
    if not hasattr(paddle, "_C_ops") or saved_table.version_parts(version) < (2, 6):
        raise protocol.NotRecordable(
            message(
                "Tensors of Paddle {version} are not recorded. Recording needs Paddle 2.6 or later.", version=version
            )
        )
    if not _engines or _engines[0].paddle is not paddle:
        _engines[:] = [PaddleEngine(paddle)]
    return _engines[0]


class PaddleEngine(FrameworkEngine):
    """The :class:`~memory_stage.engines.protocol.Engine` of Paddle. The protocol describes each method.

    Args:
        paddle: the module ``paddle``, which the program has imported.
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
        return PaddleSubscription(self, emit)

    @contextlib.contextmanager
    def same_random_numbers(self) -> Iterator[None]:
        """Save the states of Paddle's random generators and restore them at the end of the block."""
        before = self.paddle.get_rng_state()
        try:
            yield
        finally:
            self.paddle.set_rng_state(before)

    def allocated(self) -> int:
        """Return the bytes that Paddle's meter counts."""
        return self.state.allocated(self._tracker is None or self._tracker.is_quiet)

    def _meter(self) -> int:
        return int(self.paddle.base.core.host_memory_stat_current_value("Allocated", 0))

    def gpus(self) -> list[Any]:
        """Return an empty list, because tensors on a GPU are not recorded."""
        return []

    # ----- tensors -----

    def is_tensor(self, value: Any) -> bool:
        """True for a dense tensor on the host, any registered tensor, and a handle of a gradient."""
        if isinstance(value, self.paddle.Tensor):
            return tensor_access.is_drawable(value) or self.state.is_registered(value)
        return isinstance(value, GradientHandle)

    def is_shown(self, value: Any) -> bool:
        return self.is_tensor(value)

    def storage_view(self, x: Any) -> protocol.StorageView:
        """Describe ``x``; for the handle of a freed gradient, return the last description."""
        real = self._real(x)
        if real is None:
            last: protocol.StorageView = x.view
            return last
        wants = not real.stop_gradient
        view = protocol.StorageView(
            tensor_access.layout_of(real), tensor_access.dtype_of(real), wants, not wants or bool(real.is_leaf)
        )
        if isinstance(x, GradientHandle):
            x.view = view
        return view

    def storage(self, x: Any) -> PaddleStorage:
        return x.storage if isinstance(x, GradientHandle) else self.state.record(x).memory

    def version(self, x: Any) -> int:
        """Return Paddle's version of ``x``; for the handle of a freed gradient, the last version of its storage."""
        real = self._real(x)
        return int(x.storage.version if real is None else real._inplace_version())

    def group(self, x: Any) -> None:
        """Return None, because a view and its base have separate histories in Paddle."""

    def stamp(self, x: Any) -> Any:
        """Return all properties of ``x`` that the other answers depend on."""
        real = self._real(x)
        if real is None:
            return id(x)
        node = None if real.stop_gradient or real.grad_fn is None else real.grad_fn.node_ptr()
        return real.data_ptr(), tuple(real.shape), tuple(real.strides), real._inplace_version(), node

    def node(self, x: Any) -> GradNode | None:
        return None if isinstance(x, GradientHandle) else self.state.record(x).node

    def gradient(self, x: Any) -> GradientHandle | None:
        """Return a handle of the gradient, because Paddle creates a new object at each access."""
        return None if isinstance(x, GradientHandle) else self.state.gradient(x)

    def records(self, x: Any) -> bool:
        return bool(self.paddle.is_grad_enabled())

    def has_name(self, x: Any, name: str) -> bool:
        """True if a tensor, the package, or its functional module has the name."""
        return any(hasattr(each, name) for each in (self.paddle.Tensor, self.paddle, self.paddle.nn.functional))

    def is_library_frame(self, frame: FrameType) -> bool:
        return is_library_frame(frame)

    def array(self, x: Any) -> np.ndarray:
        """Return a copy of the elements, in memory that Paddle does not count."""
        real = self._real(x)
        return np.zeros(()) if real is None else tensor_access.copied(real)

    def slots(self, value: Any) -> Iterable[tuple[str, Any, int, Any]] | None:
        """Return the accumulators of an optimizer as its slots."""
        # The object that removes a hook refers to the hook's tensor. Without slots, it gives the tensor no name.
        if type(value).__name__ == "TensorHookRemoveHelper":
            return ()
        return _slots(value) if isinstance(value, self.paddle.optimizer.Optimizer) else None

    # ----- storages -----

    def owns(self, thing: Any) -> bool:
        return isinstance(thing, (PaddleStorage, GradNode))

    def below(self, storage: PaddleStorage) -> PaddleStorage | None:
        """Return the storage whose memory a separate version counter shares; None for any other storage."""
        return storage.counts_over

    def block(self, storage: PaddleStorage) -> protocol.StorageInfo:
        """Describe the memory. If Paddle does not report the size, it is computed from a tensor on the storage."""
        sizes = storage.nbytes, storage.counted
        return protocol.StorageInfo(storage.length, storage.itemsize, *sizes, storage.dtype, storage.version, None)

    def freed(self, storage: PaddleStorage) -> int:
        """Return 0, because the event is emitted just before Paddle's meter changes."""
        return 0

    def freed_on_gpu(self, storage: PaddleStorage) -> None:
        """Return None, because no recorded storage is on a GPU."""

    def numbers(self, storage: PaddleStorage, cells: Iterable[int]) -> list[Any]:
        """Return the numbers of the cells; ``?`` for a cell that only a node can read."""
        if storage.copied is None and not storage.address:
            return ["?" for _ in cells]
        flat = storage.cells()
        return [tensor_access.as_numbers(flat[i : i + 1], storage.dtype).item() for i in cells]

    # ----- writes -----

    def written(self, x: Any, where: protocol.CellLayout | np.ndarray | None) -> protocol.CellLayout | np.ndarray:
        return self.storage_view(x).layout if where is None else where

    def nodes_of_write(self, x: Any) -> list[tuple[GradNode, bool]]:
        """Return the node of ``x``. A write through a view does not enter the history of the base."""
        node = self.node(x)
        return [] if node is None else [(node, False)]

    # ----- nodes -----

    def role(self, node: GradNode) -> protocol.Role:
        return node.role

    def name(self, node: GradNode) -> str:
        return node.name

    def parents(self, node: GradNode) -> Sequence[GradNode | None]:
        return node.parents

    def moves_only(self, node: GradNode) -> bool:
        return node.name in _MOVES

    def place(self, node: GradNode) -> tuple[CodeType, int]:
        return node.code, node.line

    def saved(self, node: GradNode) -> list[protocol.Saved] | None:
        """Return the tensors that the node saved, from the table or as observed; None if they are unknown."""
        if node.is_unknown:
            return None
        return [
            protocol.Saved(position, save.what, save.storage, save.layout, save.version, False, save.is_inferred)
            for position, save in enumerate(node.saved)
        ]

    def saved_state(self, node: GradNode, position: int) -> protocol.SavedTensorState:
        """Return the state of the saved tensor, from the versions that Paddle compares."""
        if node.is_released:
            return protocol.SavedTensorState.RELEASED
        save = node.saved[position]
        if save.version == save.storage.version:
            return protocol.SavedTensorState.RIGHT
        if save.is_unchecked:
            return protocol.SavedTensorState.RIGHT if save.is_intact else protocol.SavedTensorState.TAKEN
        return protocol.SavedTensorState.MOVED if save.is_intact else protocol.SavedTensorState.LOST

    def is_released(self, node: GradNode) -> bool:
        return node.is_released

    # ----- shared memory -----

    def shared_storages(self) -> list[PaddleStorage]:
        """Return the storages that DLPack shares with numpy or another library. ``numpy()`` copies instead."""
        return [storage for storage in list(self.state.storages.values()) if storage.is_shared]

    def when_shared(self, notify: Callable[[PaddleStorage], None]) -> Callable[[], None]:
        """Subscribe to the calls that pass the address of a tensor's memory to or from another library."""
        registered = self.state.when_shared
        registered.append(notify)
        return lambda: registered.remove(notify) if notify in registered else None

    def storage_behind(self, array: np.ndarray) -> PaddleStorage | None:
        return self.state.storage_behind(array)

    def storage_view_of_array(self, storage: PaddleStorage, array: np.ndarray) -> protocol.StorageView:
        return view_of_array(array, storage.address)

    def bits(self, storage: PaddleStorage) -> np.ndarray | None:
        cells = storage.cells()
        return cells.view(f"uint{8 * cells.itemsize}") if cells.itemsize <= 8 and cells.size else None

    # ----- calls -----

    def _is_drawable(self, value: Any) -> bool:
        return isinstance(value, self.paddle.Tensor) and tensor_access.is_drawable(value)

    def _real(self, x: Any) -> Any:
        """Return ``x``, or the gradient if ``x`` is its handle; None if the gradient was freed."""
        return x.tensor() if isinstance(x, GradientHandle) else x

    def _runner(self, method: str) -> Callable[..., Any]:
        """Return a function that passes each call of a patched function to the tracker's method of this name."""

        def run(name: str, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
            if self._tracker is None:
                return function(*arguments, **keywords)
            return getattr(self._tracker, method)(name, function, arguments, keywords)

        return run

    # ----- subscriptions -----

    def opened(self, subscription: PaddleSubscription) -> None:
        """Record that a subscription was opened. The first one patches Paddle's functions."""
        if not self._subscriptions:
            self._tracker = CallTracker(self.state, self.paddle, self._is_drawable)
            self.state.emit = self._emit
            self.state.others = self._meter() - self.state.registered
            self._patches.apply(self.paddle)
        # after patching, so that no subscription is open if an interrupt stops the patching
        self._subscriptions.append(subscription)

    def closed(self, subscription: PaddleSubscription) -> None:
        """Record that a subscription was closed. The last one restores the patched functions."""
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
        self._engine.opened(self)

    def close(self) -> None:
        self._engine.closed(self)
        self.emit = events.ignore


def _slots(optimizer: Any) -> Iterator[tuple[str, Any, int, Any]]:
    parameters = list(optimizer._parameter_list or ())
    for slot, kept in optimizer._accumulators.items():
        for number, parameter in enumerate(parameters):
            if parameter.name in kept:
                yield slot, parameter, number, kept[parameter.name]
