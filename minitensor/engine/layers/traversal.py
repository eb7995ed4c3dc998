"""Iterate over nested layers, and over the parameters and buffers that they register."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


def walk(root: Any, prefix: str, memo: set[Any] | None = None, once: bool = True) -> Iterator[tuple[str, Any]]:
    """Yield ``root`` and every layer inside it, each once, as pairs of path and layer: ``("block.fc", layer)``.

    Args:
        memo: layers that are not yielded if ``once`` is true. Layers that are yielded are added to it.
        once: False to yield a layer under each of its paths.
    """
    pending, seen = [(prefix, root)], set()
    while pending:
        path, layer = pending.pop()
        if once and (id(layer) in seen or (memo is not None and layer in memo)):
            continue
        seen.add(id(layer))
        if memo is not None:
            memo.add(layer)
        yield path, layer
        inside = [(f"{path}.{name}" if path else name, each) for name, each in layer._inside()]
        pending.extend(reversed(inside))


def members(layers: Iterable[tuple[str, Any]], registry: str, once: bool = True) -> Iterator[tuple[str, Any]]:
    """Yield each tensor in the dict ``registry`` of each layer once, with its path: ``("fc.weight", parameter)``.

    With ``once=False``, yield a tensor under each of its paths.
    """
    seen = set()
    for path, layer in layers:
        for name, each in layer.__dict__[registry].items():
            if each is not None and not (once and id(each) in seen):
                seen.add(id(each))
                yield (f"{path}.{name}" if path else name), each


def distinct(named: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield pairs of a name and a layer, but each layer only once."""
    seen = set()
    for name, layer in named:
        if id(layer) not in seen:
            seen.add(id(layer))
            yield name, layer
