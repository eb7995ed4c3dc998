"""Find the tensors that can be reached from a variable, and the code for each: ``x``, ``xs[0]``, ``net[0].weight``.

The search goes three levels deep, through lists, tuples, deques, dicts, objects, variables in the closures of
functions, and local variables of generators. It finds up to 64 tensors in a layer, including the layers inside it, and
up to eight in each other object, for example in an optimizer.
"""

from __future__ import annotations

import inspect
import itertools
import sys
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np

from memory_stage.engines.protocol import Engine, Tensor
from memory_stage.model.compound_names import local_name, parameter_name, slot_name

MOST_ENTRIES = 8  # at most this many tensors of one list, dict or object get a name
MOST_OF_LAYERS = 64  # at most this many tensors of one layer and the layers inside it get a name
MOST_SEARCHED = 64  # at most this many entries of one container are searched
DEPTH = 3

_SEQUENCES = (list, tuple, deque)
_DICTS = (dict, OrderedDict, defaultdict)
_SEARCHED_NO_FURTHER = (
    *(types.ModuleType, type, types.BuiltinFunctionType, types.MethodType),
    *(str, bytes, int, float, complex, type(None)),
)

Found = tuple[str, Any]
"""The code that reaches an object, and the object."""


#: A function that returns the name that a tensor has now; an empty string if the tensor has no name.
NameOf = Callable[[Tensor], str]


def find_tensors(name: str, value: Any, engine: Engine, name_of: NameOf) -> list[Found]:
    """Return the tensors that can be reached from the variable ``name``, each with its name.

    A tensor that can be reached in two ways is returned twice.
    """
    most = MOST_OF_LAYERS if _is_layer(value) else MOST_ENTRIES * DEPTH
    return list(itertools.islice(_Search(engine, name_of).below(name, value, DEPTH, ()), most))


@dataclass(frozen=True)
class _Search:
    engine: Engine
    name_of: NameOf

    def below(self, path: str, value: Any, depth: int, above: tuple[int, ...]) -> Iterator[Found]:
        """Yield the tensors that can be reached from ``value``, at most ``depth`` levels down.

        Layers do not count as levels. ``above`` has the ids of the objects on the path to ``value``.
        """
        if isinstance(value, np.ndarray) or self.engine.is_tensor(value):
            yield path, value
            return
        if depth == 0 or isinstance(value, _SEARCHED_NO_FURTHER) or id(value) in above:
            return
        count, most = 0, MOST_OF_LAYERS if _is_layer(value) else MOST_ENTRIES
        above = (*above, id(value))
        for name, entry in itertools.islice(self.entries(path, value), MOST_SEARCHED):
            for each in self.below(name, entry, depth if _is_layer(value) else depth - 1, above):
                yield each
                count += 1
                if count == most:
                    return

    def entries(self, path: str, value: Any) -> Iterable[Found]:
        """Return the objects one level below ``value``, each with the code that reaches it."""
        if type(value) in _SEQUENCES:
            return ((f"{path}[{i}]", item) for i, item in enumerate(value))
        if type(value) in _DICTS:
            return ((f"{path}[{key!r}]", item) for key, item in value.items() if _is_plain(key))
        if isinstance(value, tuple) and not hasattr(value, "__dict__"):
            return _fields(path, value)
        if isinstance(value, types.FunctionType):
            return _closure_variables(path, value)
        if isinstance(value, types.GeneratorType):
            frame = value.gi_frame
            if frame is None or value.gi_running:
                return ()
            return [(local_name(name, path), item) for name, item in local_variables(frame).items()]
        slots = self.engine.slots(value)
        if slots is not None:  # for example ``opt.velocity of net.weight``
            return (
                (slot_name(f"{path}.{slot}", self.name_of(x) or parameter_name(i)), kept) for slot, x, i, kept in slots
            )
        attributes = getattr(value, "__dict__", None)
        if type(attributes) is not dict:
            return ()
        if _is_layer(value):
            return _registered_entries(path, attributes)
        return ((f"{path}.{key}", item) for key, item in attributes.items() if type(key) is str)


def _fields(path: str, value: tuple[Any, ...]) -> Iterator[Found]:
    """Yield the items of a named tuple as attributes. A tuple type of C code has no ``_fields``: its items get indices.

    Methods of the class are not called, because they may be those of the program.
    """
    names = getattr(type(value), "_fields", ())
    named = type(names) is tuple and len(names) == len(value)
    for i, item in enumerate(tuple.__iter__(value)):
        yield (f"{path}.{names[i]}" if named else f"{path}[{i}]"), item


def _is_plain(key: Any) -> bool:
    return type(key) in (str, int) and len(str(key)) <= 20


def _is_layer(value: Any) -> bool:
    """True if a value is a layer of minitensor, PyTorch or Paddle. Each stores its parameters in a dict."""
    attributes = getattr(value, "__dict__", None)
    return type(attributes) is dict and isinstance(attributes.get("_parameters"), dict)


def _registered_entries(path: str, attributes: dict[str, Any]) -> Iterator[Found]:
    """Yield the parameters, buffers and layers of a layer, then its other attributes that do not begin with ``_``."""
    for place in ("_parameters", "_buffers", "_sub_layers", "_modules"):
        for key, item in attributes.get(place, {}).items():
            yield (f"{path}[{key}]" if key.isdigit() else f"{path}.{key}"), item
    for key, item in attributes.items():
        if not key.startswith("_"):
            yield f"{path}.{key}", item


def _closure_variables(path: str, function: types.FunctionType) -> Iterator[Found]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield local_name(name, path), cell.cell_contents
        except ValueError:  # the cell of the closure is empty
            continue


def own_variables(frame: FrameType) -> dict[str, Any]:
    """Return the local variables of a function's frame, or the global variables of a module's frame."""
    return frame.f_globals if frame.f_code.co_name == "<module>" else local_variables(frame)


def local_variables(frame: FrameType) -> dict[str, Any]:
    """Return a frame's local variables. Leave no copy of them in the frame, because it could keep tensors alive."""
    values = frame.f_locals
    own = {*frame.f_code.co_varnames, *frame.f_code.co_cellvars}
    found = {name: value for name, value in values.items() if name in own}
    # Before Python 3.13, the frame keeps its copy of the variables until ``f_locals`` is read again. If nothing else
    # uses the copy, it has three references: the frame, ``values`` and the argument of ``getrefcount``.
    if isinstance(values, dict) and frame.f_code.co_flags & inspect.CO_OPTIMIZED and sys.getrefcount(values) == 3:
        values.clear()
    return found
