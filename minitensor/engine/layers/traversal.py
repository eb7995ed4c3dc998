"""Iterate over nested layers, and over the parameters and buffers that they register."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


def walk(root: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield ``root`` and every layer inside it, each once, as pairs of path and layer: ``("block.fc", layer)``."""
    pending, seen = [(prefix, root)], set()
    while pending:
        path, layer = pending.pop()
        if id(layer) in seen:
            continue
        seen.add(id(layer))
        yield path, layer
        inside = [(f"{path}.{name}" if path else name, each) for name, each in layer.named_children()]
        pending.extend(reversed(inside))


def members(layers: Iterable[tuple[str, Any]], registry: str) -> Iterator[tuple[str, Any]]:
    """Yield once each tensor in the dict ``registry`` of each layer, with its path: ``("fc.weight", parameter)``."""
    seen = set()
    for path, layer in layers:
        for name, each in layer.__dict__[registry].items():
            if each is not None and id(each) not in seen:
                seen.add(id(each))
                yield (f"{path}.{name}" if path else name), each
