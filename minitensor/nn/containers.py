"""Layers that are lists of layers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from minitensor.engine import checks
from minitensor.nn.layer import Layer


class _Listed(Layer):
    """Base class of lists of layers."""

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[Layer]:
        return iter(list(self._sub_layers.values()))  # type: ignore[arg-type]  # all of them are layers

    def __getitem__(self, index: Any) -> Any:
        layers = list(self._sub_layers.values())
        if isinstance(index, slice):
            return type(self)._of(layers[checks.slice_of(type(self).__name__, index)])
        number = checks.integer(type(self).__name__, "the index", index)
        if not -len(layers) <= number < len(layers):
            raise IndexError(f"{type(self).__name__}: index {number} is out of range for {len(layers)} layers")
        return layers[number]

    def append(self, sublayer: Layer) -> _Listed:
        """Append a layer, and return this list."""
        self.add_sublayer(str(len(self)), sublayer)
        return self

    @classmethod
    def _of(cls, layers: Any) -> Any:
        """Return a list of this class with the given layers."""
        raise NotImplementedError


class Sequential(_Listed):
    """Call layers in order, each with the result of the one before it.

    The arguments are layers, or pairs (name, layer). The input has the shape that the first layer takes, and the result
    the shape that the last one returns.

    Raises:
        TypeError: if an argument is not a layer.
        IndexError: if an index is out of range.
    """

    def __init__(self, *layers: Any) -> None:
        super().__init__()
        for position, layer in enumerate(layers):
            is_pair = isinstance(layer, (tuple, list)) and len(layer) == 2
            name, layer = layer if is_pair else (str(position), layer)
            self.add_sublayer(name, layer)

    @classmethod
    def _of(cls, layers: Any) -> Any:
        return cls(*layers)

    def forward(self, x: Any) -> Any:
        for layer in self._sub_layers.values():
            x = layer(x)  # type: ignore[misc]  # a layer may take and return anything
        return x


class LayerList(_Listed):
    """A list of registered layers for a loop in ``forward``; it has no ``forward`` itself.

    Raises:
        TypeError: if an argument is not a layer.
        IndexError: if an index is out of range.
        NotImplementedError: on a call.
    """

    def __init__(self, sublayers: Iterable[Layer] | None = None) -> None:
        super().__init__()
        if sublayers is not None:
            self.extend(sublayers)

    @classmethod
    def _of(cls, layers: Any) -> Any:
        return cls(layers)

    def extend(self, sublayers: Iterable[Layer]) -> LayerList:
        """Append several layers, and return this list."""
        for layer in checks.elements(type(self).__name__, "sublayers", sublayers, "layers", Layer):
            self.append(layer)
        return self
