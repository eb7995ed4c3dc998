"""The engine: what each answer means is said in :mod:`memory_stage.engines.protocol`."""

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
from memory_stage.engines.paddle.entries import Gradient, GradNode, Memory
from memory_stage.engines.paddle.monkeypatches import Vias, Wrapping
from memory_stage.engines.paddle.operations import Operations
from memory_stage.engines.paddle.shadow_state import Books, is_inside
from memory_stage.engines.protocol import DEFAULT_POLICY, Block, Copied, Fate, Layout, Look, NotRecordable, Role, Saved

#: Operations whose value is that of their input in other places.
_MOVES = frozenset(
    ("getitem", "reshape", "transpose", "slice", "squeeze", "unsqueeze", "flatten", "unbind", "diagonal", "T", "clone")
)


_engines: list[PaddleEngine] = []


def engine() -> PaddleEngine:
    """The engine of the Paddle that is there; one for all recordings, for what it wraps it wraps once.

    Raises:
        NotRecordable: of a version before 2.6, which calls its functions otherwise.
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
        self.books = Books(self._meter)
        self._subscriptions: list[PaddleSubscription] = []
        self._operations: Operations | None = None
        names = ("single", "whole", "backward", "hooks", "functions", "gradient")
        self._wrapping = Wrapping(Vias(*map(self._via, names)))

    # ----- of the whole -----

    def listen(self, emit: events.Listener) -> PaddleSubscription:
        """Return a subscription that is not open yet."""
        return PaddleSubscription(self, emit)

    @property
    def has_framework(self) -> bool:
        """Return True."""
        return True

    def arrive(self) -> None:
        """Do nothing: no further framework belongs to this engine."""

    def policy(self, name: str) -> AbstractContextManager[Any]:
        """Change nothing: Paddle has one rule."""
        return contextlib.nullcontext()

    def current_policy(self) -> str:
        """Return the default: Paddle has one rule."""
        return DEFAULT_POLICY

    @contextlib.contextmanager
    def same_random_numbers(self) -> Iterator[None]:
        """The states of its generators are put back."""
        before = self.paddle.get_rng_state()
        try:
            yield
        finally:
            self.paddle.set_rng_state(before)

    def allocated(self) -> int:
        """What its own meter says."""
        operations = self._operations
        return self.books.allocated(operations is None or operations.call is None)

    def _meter(self) -> int:
        return int(self.paddle.base.core.host_memory_stat_current_value("Allocated", 0))

    def gpus(self) -> list[Any]:
        """None: tensors on a GPU are not recorded."""
        return []

    # ----- of tensors -----

    def is_tensor(self, value: Any) -> bool:
        """Dense, and in the computer's own memory; or what stands for a gradient."""
        if isinstance(value, self.paddle.Tensor):
            return tensor_access.is_drawable(value) or self.books.is_known(value)
        return isinstance(value, Gradient)

    def is_shown(self, value: Any) -> bool:
        """Every one."""
        return self.is_tensor(value)

    def look(self, x: Any) -> Look:
        """As it says itself."""
        real = self._real(x)
        if real is None:
            look: Look = x.look
            return look
        wants = not real.stop_gradient
        look = Look(tensor_access.layout_of(real), tensor_access.dtype_of(real), wants, not wants or bool(real.is_leaf))
        if isinstance(x, Gradient):
            x.look = look
        return look

    def storage(self, x: Any) -> Memory:
        """The bytes that it lies in."""
        return x.memory if isinstance(x, Gradient) else self.books.note(x).memory

    def version(self, x: Any) -> int:
        """Paddle counts for all that look at the same bytes."""
        real = self._real(x)
        return int(x.memory.version if real is None else real._inplace_version())

    def group(self, x: Any) -> None:
        """Paddle keeps no history for a view and its base together."""

    def stamp(self, x: Any) -> Any:
        """All that it is asked for."""
        real = self._real(x)
        if real is None:
            return id(x)
        node = None if real.stop_gradient or real.grad_fn is None else real.grad_fn.node_ptr()
        return real.data_ptr(), tuple(real.shape), tuple(real.strides), real._inplace_version(), node

    def node(self, x: Any) -> GradNode | None:
        """That of its value, as it is."""
        return None if isinstance(x, Gradient) else self.books.note(x).node

    def gradient(self, x: Any) -> Gradient | None:
        """What stands for it: Paddle gives another object each time."""
        return None if isinstance(x, Gradient) else self.books.gradient(x)

    def preserves(self, x: Any) -> bool:
        """Paddle never does."""
        return False

    def records(self, x: Any) -> bool:
        """Its grad mode."""
        return bool(self.paddle.is_grad_enabled())

    def spells_otherwise(self, x: Any) -> bool:
        """Events have the names of Paddle's functions."""
        return False

    def spelled(self, op: str) -> str:
        """As the function is called."""
        return op

    def has_name(self, x: Any, name: str) -> bool:
        """Of a tensor, of the package, or of its functional layers."""
        return any(hasattr(each, name) for each in (self.paddle.Tensor, self.paddle, self.paddle.nn.functional))

    def is_otherwise(self, frame: FrameType) -> bool:
        """There is one vocabulary."""
        return False

    def is_inside(self, frame: FrameType) -> bool:
        """Paddle's, or this package's."""
        return is_inside(frame)

    def array(self, x: Any) -> np.ndarray:
        """Copied, outside of what Paddle counts."""
        real = self._real(x)
        return np.zeros(()) if real is None else tensor_access.copied(real)

    def slots(self, value: Any) -> Iterable[tuple[str, Any, int, Any]] | None:
        """What an optimizer has accumulated."""
        if type(value).__name__ == "TensorHookRemoveHelper":  # holds the tensor, which it names to nobody
            return ()
        return _slots(value) if isinstance(value, self.paddle.optimizer.Optimizer) else None

    # ----- of storages -----

    def is_own(self, thing: Any) -> bool:
        """By its type."""
        return isinstance(thing, (Memory, GradNode))

    def key(self, thing: Memory | GradNode) -> int:
        """Both are objects of their own."""
        return id(thing)

    def weak(self, thing: Memory | GradNode, gone: Callable[[Any], None]) -> Callable[[], Any]:
        """Both can be referred to."""
        return weakref.ref(thing, gone)

    def below(self, storage: Memory) -> Memory | None:
        """Of what came by DLPack."""
        return storage.under

    def block(self, storage: Memory) -> Block:
        """As far as Paddle says how large it is, or tensors look."""
        size = storage.nbytes
        return Block(storage.length, storage.itemsize, size, size, storage.dtype, storage.version, None)

    def freed(self, storage: Memory) -> int:
        """Told just before Paddle's meter is."""
        return 0

    def freed_there(self, storage: Memory) -> None:
        """None lies on a GPU."""

    def numbers(self, storage: Memory, cells: Iterable[int]) -> list[Any]:
        """Read where they lie; ``?`` for what Paddle keeps out of sight."""
        if storage.kept is None and not storage.address:
            return ["?" for _ in cells]
        flat = storage.cells()
        return [tensor_access.as_numbers(flat[i : i + 1], storage.dtype).item() for i in cells]

    def writer(self, storage: Memory, version: int) -> str:
        """Paddle keeps no log."""
        return ""

    # ----- of writes -----

    def written(self, x: Any, where: Layout | np.ndarray | None) -> Layout | np.ndarray:
        """Worked out already; None is all of it."""
        return self.look(x).layout if where is None else where

    def nodes_of_write(self, x: Any) -> list[tuple[GradNode, bool]]:
        """Its own: a view's write is not its base's."""
        node = self.node(x)
        return [] if node is None else [(node, False)]

    # ----- of nodes -----

    def role(self, node: GradNode) -> Role:
        """A leaf's, or an operation's."""
        return node.role

    def name(self, node: GradNode) -> str:
        """As its operation was called."""
        return node.name

    def parents(self, node: GradNode) -> Sequence[GradNode | None]:
        """The nodes of its inputs."""
        return node.parents

    def moves_only(self, node: GradNode) -> bool:
        """By its name."""
        return node.name in _MOVES

    def place(self, node: GradNode) -> tuple[CodeType, int]:
        """Where it was made, or met."""
        return node.code, node.line

    def saved(self, node: GradNode) -> list[Saved] | None:
        """As the table has it."""
        if node.unknown:
            return None
        return [
            Saved(position, kept.what, kept.memory, kept.layout, kept.version, False, kept.inferred)
            for position, kept in enumerate(node.saved)
        ]

    def indices(self, node: GradNode) -> list[Memory]:
        """None is known."""
        return []

    def fate(self, node: GradNode, position: int) -> Fate:
        """By the versions, as Paddle itself compares them."""
        if node.released:
            return Fate.RELEASED
        kept = node.saved[position]
        if kept.version == kept.memory.version:
            return Fate.RIGHT
        if kept.unchecked:
            return Fate.TAKEN if kept.lost else Fate.RIGHT
        return Fate.LOST if kept.lost else Fate.MOVED

    def is_released(self, node: GradNode) -> bool:
        """After a backward without ``retain_graph``."""
        return node.released

    def copies(self, node: GradNode, position: int, storage: Memory) -> list[Copied]:
        """Paddle preserves nothing."""
        return []

    def is_checked(self, node: GradNode, position: int) -> bool:
        """Paddle compares versions, never bytes."""
        return False

    def elements(self, gradient: Any) -> np.ndarray:
        """It is one already."""
        return np.asarray(gradient)

    # ----- of memory that is shared -----

    def shared_storages(self) -> list[Memory]:
        """What Paddle shares with numpy is not looked after."""
        return []

    def when_shared(self, notify: Callable[[Memory], None]) -> Callable[[], None]:
        """Nor told of."""
        return _nothing

    def storage_behind(self, array: np.ndarray) -> None:
        """``numpy()`` copies."""

    def look_of_array(self, storage: Memory, array: np.ndarray) -> Look:
        """There is none."""
        raise NotImplementedError

    def bits(self, storage: Memory) -> np.ndarray | None:
        """Its cells as they lie."""
        cells = storage.cells()
        return cells.view(f"uint{8 * cells.itemsize}") if cells.itemsize <= 8 and cells.size else None

    # ----- the calls -----

    def _is_drawable(self, value: Any) -> bool:
        return isinstance(value, self.paddle.Tensor) and tensor_access.is_drawable(value)

    def _real(self, x: Any) -> Any:
        """The tensor itself, also for what stands for a gradient; None where that has gone."""
        return x.real() if isinstance(x, Gradient) else x

    def _via(self, how: str) -> Callable[..., Any]:
        """Calls a function that is wrapped; ``how``: the method that looks at the call."""

        def via(name: str, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
            if self._operations is None:
                return function(*arguments, **keywords)
            return getattr(self._operations, how)(name, function, arguments, keywords)

        return via

    # ----- subscriptions -----

    def opened(self, subscription: PaddleSubscription) -> None:
        """Add an open subscription; the first one patches Paddle's functions."""
        if not self._subscriptions:
            self._operations = Operations(self.books, self.paddle, self._is_drawable)
            self.books.emit = self._emit
            self.books.others = self._meter() - self.books.known
            self._wrapping.on(self.paddle)
        self._subscriptions.append(subscription)  # last: if an interrupt comes earlier, none is open

    def closed(self, subscription: PaddleSubscription) -> None:
        """Remove a subscription; the last one restores the patched functions."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)
        if not self._subscriptions:
            self._wrapping.off()
            self._operations = None
            self.books = Books(self._meter)

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
    """In place of what is not there."""


def _slots(optimizer: Any) -> Iterator[tuple[str, Any, int, Any]]:
    parameters = list(optimizer._parameter_list or ())
    for slot, kept in optimizer._accumulators.items():
        for number, parameter in enumerate(parameters):
            if parameter.name in kept:
                yield slot, parameter, number, kept[parameter.name]
