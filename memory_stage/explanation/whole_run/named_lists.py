"""Find the lists of a frame's variables that hold a tensor with a certain node, each with the code that reaches it."""

from __future__ import annotations

import collections
from collections.abc import Iterator
from types import FrameType, ModuleType
from typing import Any

import torch

from memory_stage.watch.torch.backward_graph import node_of

#: How many attributes and keys lead from a variable to a list at most, and the most entries of an object.
DEPTH, MOST_ENTRIES = 2, 64


def lists_with_node(node: Any, frame: FrameType) -> list[str]:
    """Return the code that reaches a list with the tensor that a node made, and then the lists filled with it; or [].

    The entries may be tuples of tensors. A list is filled with another one if it is an attribute of the same object, or
    a value of the same dict, and has as many entries.
    """
    found = [*_lists_in(frame.f_locals), *_lists_in(frame.f_globals)]
    for owner, path, values in found:
        if any(node_of(x) is node for entry in values for x in _tensors_in(entry)):
            together = [other for kept, other, each in found if owner and kept == owner and len(each) == len(values)]
            return [path, *(each for each in dict.fromkeys(together) if each != path)]
    return []


def _lists_in(variables: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for name, value in list(variables.items()):
        if not name.startswith("_"):
            yield from _reach("", name, value, DEPTH)


def _reach(owner: str, path: str, value: Any, depth: int) -> Iterator[tuple[str, str, Any]]:
    """Yield each list behind ``path``, with the path of its object or dict, or "", and its own path."""
    if type(value) in (list, collections.deque):
        yield owner, path, value
        return
    is_dict = type(value) is dict
    inner = value if is_dict else getattr(value, "__dict__", None)
    if depth == 0 or type(inner) is not dict or len(inner) > MOST_ENTRIES:
        return
    if isinstance(value, (type, ModuleType)):
        return
    for key, entry in list(inner.items()):
        if type(key) is str and not key.startswith("_"):
            yield from _reach(path, f"{path}[{key!r}]" if is_dict else f"{path}.{key}", entry, depth - 1)


def _tensors_in(entry: Any) -> Iterator[torch.Tensor]:
    parts = entry if isinstance(entry, (tuple, list)) else [entry]
    return (x for x in parts if isinstance(x, torch.Tensor))
