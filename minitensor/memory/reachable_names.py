"""Track by weak references which tensors share a storage, and find the names of tensors that a call can reach."""

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

#: The other frameworks that a report can cover: maps the name of the package to the framework's name in a sentence.
_OTHERS = {"torch": "PyTorch", "paddle": "Paddle"}

MOST_ENTRIES = 64  # the largest number of entries of a list, tuple or dict that are searched for tensors


def is_leaf(x: Tensor) -> bool:
    """True if ``x`` is a leaf that requires a gradient."""
    return type(peek(x)) is Leaf


def memory_of(x: Tensor) -> Storage:
    """Return the storage with the memory of ``x``. If ``x`` is an alias ``y.data``, this is the storage of ``y``."""
    return getattr(x._storage, "of", x._storage)


class _Registered:
    """A weak reference to a registered tensor, the tensor's name, and a description of its base."""

    __slots__ = ("ref", "name", "base")

    def __init__(self, x: Tensor) -> None:
        self.ref = weakref.ref(x)
        self.name = self.base = ""


class Sharing:
    """The tensors that were registered, grouped by their storages."""

    def __init__(self) -> None:
        self._on: dict[int, dict[int, _Registered]] = {}

    def register(self, x: Tensor, name: str = "") -> _Registered:
        """Register ``x``, with its ``name`` in the program if known."""
        there = self._on.setdefault(id(x._storage), {})
        registered = there.get(id(x))
        if registered is None or registered.ref() is not x:
            if len(there) >= 64 and len(there) & (len(there) - 1) == 0:
                for key in [key for key, each in there.items() if each.ref() is None]:
                    del there[key]
            registered = there[id(x)] = _Registered(x)
        registered.name = name or registered.name
        return registered

    def view(self, x: Tensor, base: Tensor, name: str) -> None:
        """Register ``x`` as a view of ``base``, whose name in the program is ``name``."""
        self.register(base, name)
        noun = self.name_of(base) or f"a tensor of shape {list(base._array.shape)}"
        is_view = x._history is not None and x._history is base._history
        self.register(x).base = f"view of {noun}" if is_view else f"detached alias of {noun}"

    def on_freed(self, storage: Storage) -> None:
        """Unregister the tensors on ``storage``, which is being freed."""
        self._on.pop(id(storage), None)

    def _known(self, x: Tensor) -> _Registered | None:
        registered = self._on.get(id(x._storage), {}).get(id(x))
        return registered if registered is not None and registered.ref() is x else None

    def name_of(self, x: Tensor) -> str:
        """Return the name of ``x``; "" if unknown."""
        registered = self._known(x)
        extra = getattr(x, "_extra", None)
        return (registered.name if registered is not None else "") or (
            extra.name if extra is not None and extra.name else ""
        )

    def called(self, x: Tensor) -> str:
        """Return a noun for ``x`` in a sentence: its name, or its shape if it has none."""
        name = self.name_of(x)
        return f"`{name}`" if name else f"the tensor of shape {list(x._array.shape)}"

    def base_of(self, x: Tensor) -> str:
        """Return a description such as "view of w".

        Return "" if ``x`` was not registered as a view and has as many elements as its base (or as its storage, if it
        has no base).
        """
        registered = self._known(x)
        if registered is not None and registered.base:
            return registered.base
        base = None if x._history is None else x._history.base
        if base is not None and base.size != x._array.size:
            return f"view of a tensor of shape {list(base.shape)}"
        size = x._storage.buffer.nbytes // x._array.itemsize
        return f"part of a storage of {size} elements" if base is None and size != x._array.size else ""

    def others(self, x: Tensor) -> Iterator[Tensor]:
        """Yield the tensors that share bytes with ``x`` but not its history. All views of one base share a history."""
        memory = memory_of(x)
        storages = dict.fromkeys((id(x._storage), id(memory)))
        for registered in [registered for key in storages for registered in self._on.get(key, {}).values()]:
            other = registered.ref()
            if other is None or other is x or (x._history is not None and other._history is x._history):
                continue
            if memory_of(other) is memory and _shares_bytes(x._array, other._array):
                yield other


def _shares_bytes(a: np.ndarray, b: np.ndarray) -> bool:
    if not np.may_share_memory(a, b):
        return False
    try:
        return share_memory(a, b, max_work=100_000)
    except np.exceptions.TooHardError:
        return True


# ---------- names that a program can reach before it runs ----------


def in_reach(function: Any, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Iterator[tuple[str, Tensor]]:
    """Yield, with names, the tensors in the arguments of a call and in the outer variables that the function uses.

    If an argument or a variable is a list, tuple, dict or object, the tensors directly inside it are included.
    """
    code = getattr(function, "__code__", None)
    parameters = code.co_varnames[: code.co_argcount] if code is not None else ()
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, types.ModuleType):
        arguments = (owner, *arguments)
    names = [*parameters, *[""] * len(arguments)]
    values = [*zip(names, arguments, strict=False), *keywords.items()]
    if code is not None:
        values += _used_variables(function, code)
    for name, value in values:
        yield from tensors_in(name, value)


def others_in_reach(function: Any, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> str:
    """Return "PyTorch" or "Paddle" if a call can reach a tensor, layer or package of that framework; otherwise ""."""
    code = getattr(function, "__code__", None)
    values = [getattr(function, "__self__", None), *arguments, *keywords.values()]
    values += [value for _, value in _used_variables(function, code)] if code is not None else []
    values += [each for value in values if isinstance(value, (list, tuple)) for each in value[:MOST_ENTRIES]]
    for value in values:
        kinds = (
            [value.__name__]
            if isinstance(value, types.ModuleType)
            else [each.__module__ for each in type(value).__mro__]
        )
        for package, framework in _OTHERS.items():
            if any(kind.partition(".")[0] == package for kind in kinds if isinstance(kind, str)):
                return framework
    return ""


def _used_variables(function: Any, code: types.CodeType) -> list[tuple[str, Any]]:
    """Return the names and values of the non-local variables that a function uses."""
    found = []
    for name, cell in zip(code.co_freevars, getattr(function, "__closure__", None) or (), strict=False):
        try:
            found.append((name, cell.cell_contents))
        except ValueError:
            continue  # the variable is not assigned yet
    outside = getattr(function, "__globals__", {})
    return found + [(name, outside[name]) for name in names_in(code) if name in outside]


def names_in(code: types.CodeType) -> list[str]:
    """Return the non-local names in a code object and in the functions inside it."""
    nested = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return list(dict.fromkeys([*code.co_names, *(name for each in nested for name in names_in(each))]))


def tensors_in(name: str, value: Any) -> Iterator[tuple[str, Tensor]]:
    """Yield ``value`` if it is a tensor, else the tensors directly inside a list, tuple, dict or object, with names."""
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
