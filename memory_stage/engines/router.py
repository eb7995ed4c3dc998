"""All engines that a program may use, as one: each question goes to the engine of what is asked about.

* This package's own tensors are always recorded. A framework is, as soon as the program has imported it, and nothing
  here imports one before.
* An engine more is a line more in :data:`FRAMEWORKS`.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any

import numpy as np

from memory_stage.engines.minitensor.engine import MINITENSOR
from memory_stage.engines.protocol import (
    Block,
    Copied,
    Engine,
    Fate,
    Key,
    Layout,
    Listening,
    Look,
    Meter,
    Node,
    NotRecordable,
    Role,
    Saved,
    Storage,
    Tensor,
)

#: By the name of the module that a program imports: the module with a function ``engine()``, which makes the engine for
#: one recording, or raises :class:`NotRecordable` where that version of the framework has none.
FRAMEWORKS: dict[str, str] = {
    "paddle": "memory_stage.engines.paddle.engine",
    "torch": "memory_stage.engines.torch.engine",
}


class _Ears:
    """An ear at each engine."""

    def __init__(self, together: Together, tell: Callable[..., None]) -> None:
        self._together, self._tell = together, tell
        self._ears = [engine.listen(tell) for engine in together.engines]
        self._is_open = False

    def open(self) -> None:
        """All open."""
        self._is_open = True
        for ear in self._ears:
            ear.open()

    def close(self) -> None:
        """All close, those that came last first. Asked again at the end, when what was running then is over."""
        self._is_open = False
        for ear in reversed(self._ears):
            ear.close()
        self._together.forget(self)
        self._tell = _to_nobody  # it leads to a recorder, and that to the ear

    def at(self, engine: Engine) -> None:
        """One more."""
        ear = engine.listen(self._tell)
        self._ears.append(ear)
        if self._is_open:
            ear.open()

    def tell(self, kind: str, *arguments: Any) -> None:
        """Tell something that no engine tells."""
        if self._is_open:
            self._tell(kind, *arguments)


def _is_there(name: str) -> bool:
    """Whether a framework has been imported: itself, and not a stand-in under its name."""
    found = sys.modules.get(name)
    return found is not None and getattr(found, "__name__", None) == name


def _to_nobody(kind: str, *arguments: Any) -> None:
    """In place of a recorder that has stopped."""


class Together:
    """An :class:`~memory_stage.engines.protocol.Engine` of several; what each answer means is said there."""

    def __init__(self) -> None:
        self.engines: list[Engine] = [MINITENSOR]
        self._awaited = dict(FRAMEWORKS)
        self._ears: list[_Ears] = []
        self._random: contextlib.ExitStack | None = None
        self._ends_of_sharing: list[tuple[Callable[[Storage], None], list[Callable[[], None]]]] = []
        self.arrive()

    @property
    def has_framework(self) -> bool:
        """Beside this package's own."""
        return len(self.engines) > 1

    def arrive(self) -> None:
        """Take in the frameworks that have been imported since."""
        for name in [name for name in self._awaited if _is_there(name)]:
            module = importlib.import_module(self._awaited.pop(name))
            try:
                engine: Engine = module.engine()
            except NotRecordable as reason:
                for ears in self._ears:
                    ears.tell("unseen", str(reason))
                continue
            self.engines.append(engine)
            if self._random is not None:
                self._random.enter_context(engine.same_random_numbers())
            for ears in self._ears:
                ears.at(engine)
            for tell, ends in self._ends_of_sharing:
                ends.append(engine.when_shared(tell))

    def _of(self, x: Tensor) -> Engine:
        """Whose tensor."""
        for engine in self.engines[1:]:
            if engine.is_tensor(x):
                return engine
        return self.engines[0]

    def _at(self, thing: Storage | Node) -> Engine:
        """Whose storage or node."""
        for engine in self.engines[1:]:
            if engine.is_own(thing):
                return engine
        return self.engines[0]

    # ----- of the whole -----

    def listen(self, tell: Callable[..., None]) -> Listening:
        """At all of them, and at those that come."""
        ears = _Ears(self, tell)
        self._ears.append(ears)
        return ears

    def forget(self, ears: _Ears) -> None:
        """They are closed."""
        if ears in self._ears:
            self._ears.remove(ears)

    def policy(self, name: str) -> AbstractContextManager[Any]:
        """Of those that have any."""
        stack = contextlib.ExitStack()
        for engine in self.engines:
            stack.enter_context(engine.policy(name))
        return stack

    @contextlib.contextmanager
    def same_random_numbers(self) -> Iterator[None]:
        """Of all, and of those that come."""
        with contextlib.ExitStack() as self._random:
            for engine in self.engines:
                self._random.enter_context(engine.same_random_numbers())
            yield
        self._random = None

    def allocated(self) -> int:
        """By all."""
        return sum(engine.allocated() for engine in self.engines)

    def gpus(self) -> list[Meter]:
        """Of all."""
        return [gpu for engine in self.engines for gpu in engine.gpus()]

    # ----- of tensors -----

    def is_tensor(self, value: Any) -> bool:
        """Of any."""
        return any(engine.is_tensor(value) for engine in self.engines)

    def is_shown(self, value: Any) -> bool:
        """Of any."""
        return any(engine.is_shown(value) for engine in self.engines)

    def look(self, x: Tensor) -> Look:
        """As its engine says."""
        return self._of(x).look(x)

    def storage(self, x: Tensor) -> Storage:
        """As its engine says."""
        return self._of(x).storage(x)

    def version(self, x: Tensor) -> int:
        """As its engine says."""
        return self._of(x).version(x)

    def group(self, x: Tensor) -> Key | None:
        """As its engine says."""
        return self._of(x).group(x)

    def stamp(self, x: Tensor) -> Any:
        """As its engine says."""
        return self._of(x).stamp(x)

    def node(self, x: Tensor) -> Node | None:
        """As its engine says."""
        return self._of(x).node(x)

    def gradient(self, x: Tensor) -> Tensor | None:
        """As its engine says."""
        return self._of(x).gradient(x)

    def preserves(self, x: Tensor) -> bool:
        """As its engine says."""
        return self._of(x).preserves(x)

    def records(self, x: Tensor) -> bool:
        """As its engine says."""
        return self._of(x).records(x)

    def spells_otherwise(self, x: Tensor) -> bool:
        """As its engine says."""
        return self._of(x).spells_otherwise(x)

    def spelled(self, op: str) -> str:
        """Only this package's own tensors have two vocabularies."""
        return self.engines[0].spelled(op)

    def has_name(self, x: Tensor, name: str) -> bool:
        """As its engine says."""
        return self._of(x).has_name(x, name)

    def is_otherwise(self, frame: FrameType) -> bool:
        """Of any."""
        return any(engine.is_otherwise(frame) for engine in self.engines)

    def is_inside(self, frame: FrameType) -> bool:
        """Of any."""
        return any(engine.is_inside(frame) for engine in self.engines)

    def array(self, x: Tensor) -> Any:
        """As its engine says."""
        return self._of(x).array(x)

    def slots(self, value: Any) -> Iterable[tuple[str, Tensor, int, Tensor]] | None:
        """Of the first that knows it."""
        return next((found for engine in self.engines if (found := engine.slots(value)) is not None), None)

    # ----- of storages -----

    def is_own(self, thing: Any) -> bool:
        """Of any."""
        return any(engine.is_own(thing) for engine in self.engines)

    def key(self, thing: Storage | Node) -> Key:
        """As its engine says."""
        return self._at(thing).key(thing)

    def weak(self, thing: Storage | Node, gone: Callable[[Any], None]) -> Callable[[], Any]:
        """As its engine says."""
        return self._at(thing).weak(thing, gone)

    def below(self, storage: Storage) -> Storage | None:
        """As its engine says."""
        return self._at(storage).below(storage)

    def block(self, storage: Storage) -> Block:
        """As its engine says."""
        return self._at(storage).block(storage)

    def freed(self, storage: Storage) -> int:
        """As its engine says."""
        return self._at(storage).freed(storage)

    def freed_there(self, storage: Storage) -> tuple[Meter, int] | None:
        """As its engine says."""
        return self._at(storage).freed_there(storage)

    def numbers(self, storage: Storage, cells: Iterable[int]) -> list[Any]:
        """As its engine says."""
        return self._at(storage).numbers(storage, cells)

    def writer(self, storage: Storage, version: int) -> str:
        """As its engine says."""
        return self._at(storage).writer(storage, version)

    # ----- of writes -----

    def written(self, x: Tensor, where: Any) -> Layout | np.ndarray:
        """As its engine says."""
        return self._of(x).written(x, where)

    def nodes_of_write(self, x: Tensor) -> list[tuple[Node, bool]]:
        """As its engine says."""
        return self._of(x).nodes_of_write(x)

    # ----- of nodes -----

    def role(self, node: Node) -> Role:
        """As its engine says."""
        return self._at(node).role(node)

    def name(self, node: Node) -> str:
        """As its engine says."""
        return self._at(node).name(node)

    def parents(self, node: Node) -> Sequence[Node | None]:
        """As its engine says."""
        return self._at(node).parents(node)

    def moves_only(self, node: Node) -> bool:
        """As its engine says."""
        return self._at(node).moves_only(node)

    def place(self, node: Node) -> tuple[Any, int]:
        """As its engine says."""
        return self._at(node).place(node)

    def saved(self, node: Node) -> list[Saved] | None:
        """As its engine says."""
        return self._at(node).saved(node)

    def indices(self, node: Node) -> list[Storage]:
        """As its engine says."""
        return self._at(node).indices(node)

    def fate(self, node: Node, position: int) -> Fate:
        """As its engine says."""
        return self._at(node).fate(node, position)

    def is_released(self, node: Node) -> bool:
        """As its engine says."""
        return self._at(node).is_released(node)

    def copies(self, node: Node, position: int, storage: Storage) -> list[Copied]:
        """As its engine says."""
        return self._at(node).copies(node, position, storage)

    def is_checked(self, node: Node, position: int) -> bool:
        """As its engine says."""
        return self._at(node).is_checked(node, position)

    def elements(self, gradient: Any) -> np.ndarray:
        """Frameworks give arrays of numpy; on a GPU are only this package's own."""
        return gradient if isinstance(gradient, np.ndarray) else self.engines[0].elements(gradient)

    # ----- of memory that is shared -----

    def shared_storages(self) -> list[Storage]:
        """Of all."""
        return [storage for engine in self.engines for storage in engine.shared_storages()]

    def when_shared(self, tell: Callable[[Storage], None]) -> Callable[[], None]:
        """By any of them, and by those that come."""
        ends = [engine.when_shared(tell) for engine in self.engines]
        entry = tell, ends
        self._ends_of_sharing.append(entry)

        def end() -> None:
            if entry in self._ends_of_sharing:
                self._ends_of_sharing.remove(entry)
            for each in ends:
                each()

        return end

    def storage_behind(self, array: np.ndarray) -> Storage | None:
        """Of the first that knows it."""
        found = (engine.storage_behind(array) for engine in self.engines)
        return next((storage for storage in found if storage is not None), None)

    def look_of_array(self, storage: Storage, array: np.ndarray) -> Look:
        """As its engine says."""
        return self._at(storage).look_of_array(storage, array)

    def bits(self, storage: Storage) -> np.ndarray | None:
        """As its engine says."""
        return self._at(storage).bits(storage)
