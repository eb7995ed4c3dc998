"""Which tensors share a storage, as far as a watcher has met them, and what they are called.

Only weak references are kept. A storage is known by its identity until it is freed.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from minitensor.engine.core.history import Leaf, peek
from minitensor.engine.core.storage import Storage
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.arrays import share_memory

#: The packages whose programs the stage reports of, as they are called.
_OTHERS = {"torch": "PyTorch", "paddle": "Paddle"}

MOST_ENTRIES = 64  # of a list, tuple or dict that are looked through


def is_leaf(x: Tensor) -> bool:
    """Whether ``x`` is a leaf that wants a gradient."""
    return type(peek(x)) is Leaf


def memory_of(x: Tensor) -> Storage:
    """The storage that ``x`` lies in; of ``x.data``, which counts versions of its own, that of ``x``."""
    return getattr(x._storage, "of", x._storage)


class _Met:
    """A tensor that was met: a weak reference, what it is called, and what it is a view of."""

    __slots__ = ("ref", "name", "base")

    def __init__(self, x: Tensor) -> None:
        self.ref = weakref.ref(x)
        self.name = self.base = ""


class Sharing:
    """The tensors that were met, by the identity of their storage."""

    def __init__(self) -> None:
        self._on: dict[int, dict[int, _Met]] = {}

    def meet(self, x: Tensor, name: str = "") -> _Met:
        """``x`` is there, and the program calls it ``name``."""
        there = self._on.setdefault(id(x._storage), {})
        met = there.get(id(x))
        if met is None or met.ref() is not x:
            if len(there) >= 64 and len(there) & (len(there) - 1) == 0:
                for key in [key for key, each in there.items() if each.ref() is None]:
                    del there[key]
            met = there[id(x)] = _Met(x)
        met.name = name or met.name
        return met

    def view(self, x: Tensor, base: Tensor, name: str) -> None:
        """``x`` is a view of ``base``, which the program calls ``name`` there."""
        self.meet(base, name)
        called = self.name_of(base) or f"a tensor of shape {list(base._array.shape)}"
        together = x._history is not None and x._history is base._history
        self.meet(x).base = f"view of {called}" if together else f"detached alias of {called}"

    def gone(self, storage: Storage) -> None:
        """``storage`` is on its way out."""
        self._on.pop(id(storage), None)

    def _known(self, x: Tensor) -> _Met | None:
        met = self._on.get(id(x._storage), {}).get(id(x))
        return met if met is not None and met.ref() is x else None

    def name_of(self, x: Tensor) -> str:
        """What ``x`` is called, if that is known."""
        met = self._known(x)
        extra = getattr(x, "_extra", None)
        return (met.name if met is not None else "") or (extra.name if extra is not None and extra.name else "")

    def called(self, x: Tensor) -> str:
        """``x`` in a sentence."""
        name = self.name_of(x)
        return f"`{name}`" if name else f"the tensor of shape {list(x._array.shape)}"

    def base_of(self, x: Tensor) -> str:
        """What ``x`` is a view or a detached alias of, in words; "" when it is neither, as far as that is known."""
        met = self._known(x)
        if met is not None and met.base:
            return met.base
        base = None if x._history is None else x._history.base
        if base is not None and base.size != x._array.size:
            return f"view of a tensor of shape {list(base.shape)}"
        size = x._storage.buffer.size
        return f"part of a storage of {size} elements" if base is None and size != x._array.size else ""

    def others(self, x: Tensor) -> Iterator[Tensor]:
        """The living tensors that share bytes with ``x`` and not its history."""
        below = memory_of(x)
        counters = {id(x._storage): x._storage, id(below): below}
        for met in [met for key in counters for met in self._on.get(key, {}).values()]:
            other = met.ref()
            if other is None or other is x or (x._history is not None and other._history is x._history):
                continue
            if memory_of(other) is below and _shares_bytes(x._array, other._array):
                yield other


def _shares_bytes(a: np.ndarray, b: np.ndarray) -> bool:
    if not np.may_share_memory(a, b):
        return False
    try:
        return share_memory(a, b, max_work=100_000)
    except np.exceptions.TooHardError:
        return True


# ---------- what a program can reach by name before it runs ----------


def in_reach(function: Any, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Iterator[tuple[str, Tensor]]:
    """The tensors among the arguments of a call and the names that the function uses; lists of them one level deep."""
    code = getattr(function, "__code__", None)
    parameters = code.co_varnames[: code.co_argcount] if code is not None else ()
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, types.ModuleType):
        arguments = (owner, *arguments)
    names = [*parameters, *[""] * len(arguments)]
    values = [*zip(names, arguments, strict=False), *keywords.items()]
    if code is not None:
        values += _used(function, code)
    for name, value in values:
        yield from tensors_in(name, value)


def others_in_reach(function: Any, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> str:
    """The framework whose tensors, layers or package a call reaches: ``PyTorch``, ``Paddle``, or empty."""
    code = getattr(function, "__code__", None)
    values = [getattr(function, "__self__", None), *arguments, *keywords.values()]
    values += [value for _, value in _used(function, code)] if code is not None else []
    values += [each for value in values if isinstance(value, (list, tuple)) for each in value[:MOST_ENTRIES]]
    for value in values:
        kinds = (
            [value.__name__]
            if isinstance(value, types.ModuleType)
            else [each.__module__ for each in type(value).__mro__]
        )
        for name, called in _OTHERS.items():
            if any(kind.partition(".")[0] == name for kind in kinds if isinstance(kind, str)):
                return called
    return ""


def _used(function: Any, code: types.CodeType) -> list[tuple[str, Any]]:
    """The global and enclosing variables that a function mentions."""
    found = []
    for name, cell in zip(code.co_freevars, getattr(function, "__closure__", None) or (), strict=False):
        try:
            found.append((name, cell.cell_contents))
        except ValueError:
            continue  # not assigned yet
    outside = getattr(function, "__globals__", {})
    return found + [(name, outside[name]) for name in names_in(code) if name in outside]


def names_in(code: types.CodeType) -> list[str]:
    """The names that are no local variables, of a piece of code and the functions in it."""
    nested = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return list(dict.fromkeys([*code.co_names, *(name for each in nested for name in names_in(each))]))


def tensors_in(name: str, value: Any) -> Iterator[tuple[str, Tensor]]:
    """The tensors that a variable names: itself, or what it holds one level deep."""
    if isinstance(value, Tensor):
        yield name, value
        return
    if isinstance(value, (types.ModuleType, type, types.FunctionType, np.ndarray, str)):
        return
    if isinstance(value, (list, tuple)):
        entries = [(f"{name}[{i}]", item) for i, item in enumerate(value[:MOST_ENTRIES])]
    elif isinstance(value, dict):
        entries = [(f"{name}[{key!r}]", item) for key, item in list(value.items())[:MOST_ENTRIES]]
    else:
        attributes = getattr(value, "__dict__", None)
        entries = [(f"{name}.{key}", item) for key, item in attributes.items()] if type(attributes) is dict else []
    yield from ((path if name else "", item) for path, item in entries if isinstance(item, Tensor))
