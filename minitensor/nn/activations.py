"""Activations as layers, under Paddle's names.

``inplace=True`` overwrites the input and returns it. Paddle's layers do not have it: there, the functions whose names
end in an underscore do the same. GELU and LogSoftmax have no such form in either framework: their gradients need what
would be overwritten.
"""

from __future__ import annotations

from typing import Any

from minitensor.core.tensor import Tensor
from minitensor.networks import activations
from minitensor.nn.layer import Layer
from minitensor.operations import FUNCTIONS


class _Activation(Layer):
    """Calls one operation, or its twin in place, with settings."""

    operation: str

    def __init__(self, inplace: bool = False, **settings: Any) -> None:
        super().__init__()
        self.inplace, self.settings = bool(inplace), settings

    def forward(self, x: Tensor) -> Tensor:
        return FUNCTIONS[f"{self.operation}_" if self.inplace else self.operation](x, **self.settings)

    def extra_repr(self) -> str:
        told = [f"{name}={value}" for name, value in self.settings.items()]
        return ", ".join([*told, *(["inplace=True"] if self.inplace else [])])


class ReLU(_Activation):
    """``x`` where it is positive, else 0.

    Takes a tensor of any shape; the result has that shape.

    Raises:
        ValueError: with ``inplace``, for a leaf that wants a gradient, in grad mode.
    """

    operation = "relu"

    def __init__(self, name: str | None = None, inplace: bool = False) -> None:
        super().__init__(inplace)


class ReLU6(_Activation):
    """``x``, but not below 0 nor above 6.

    Takes a tensor of any shape; the result has that shape.

    Raises:
        ValueError: with ``inplace``, for a leaf that wants a gradient, in grad mode.
        TypeError: with ``inplace``, for a tensor of integers.
    """

    operation = "relu6"

    def __init__(self, name: str | None = None, inplace: bool = False) -> None:
        super().__init__(inplace)


class Sigmoid(_Activation):
    """``1 / (1 + exp(-x))``.

    Takes a tensor of any shape; the result has that shape.

    Raises:
        ValueError: with ``inplace``, for a leaf that wants a gradient, in grad mode.
        TypeError: with ``inplace``, for a tensor of integers.
    """

    operation = "sigmoid"

    def __init__(self, name: str | None = None, inplace: bool = False) -> None:
        super().__init__(inplace)


class Tanh(_Activation):
    """Hyperbolic tangent.

    Takes a tensor of any shape; the result has that shape.

    Raises:
        ValueError: with ``inplace``, for a leaf that wants a gradient, in grad mode.
        TypeError: with ``inplace``, for a tensor of integers.
    """

    operation = "tanh"

    def __init__(self, name: str | None = None, inplace: bool = False) -> None:
        super().__init__(inplace)


class LeakyReLU(_Activation):
    """``x`` where it is positive, else ``negative_slope * x``.

    Takes a tensor of any shape; the result has that shape.

    Raises:
        ValueError: with ``inplace``, for a leaf that wants a gradient, in grad mode.
        TypeError: with ``inplace``, for a tensor of integers.
        ValueError: when it is called and ``negative_slope`` is negative.
    """

    operation = "leaky_relu"

    def __init__(self, negative_slope: float = 0.01, name: str | None = None, inplace: bool = False) -> None:
        super().__init__(inplace, negative_slope=negative_slope)


class ELU(_Activation):
    """``x`` where it is positive, else ``alpha * (exp(x) - 1)``.

    Takes a tensor of any shape; the result has that shape.

    Raises:
        ValueError: with ``inplace``, for a leaf that wants a gradient, in grad mode.
        TypeError: with ``inplace``, for a tensor of integers.
        ValueError: when it is called and ``alpha`` is negative.
    """

    operation = "elu"

    def __init__(self, alpha: float = 1.0, name: str | None = None, inplace: bool = False) -> None:
        super().__init__(inplace, alpha=alpha)


class Hardtanh(_Activation):
    """``x``, but not below ``min`` nor above ``max``.

    Takes a tensor of any shape; the result has that shape.

    Raises:
        ValueError: with ``inplace``, for a leaf that wants a gradient, in grad mode.
        TypeError: with ``inplace``, for a tensor of integers.
        ValueError: when it is called and ``min`` is above ``max``.
    """

    operation = "hardtanh"

    def __init__(self, min: float = -1.0, max: float = 1.0, name: str | None = None, inplace: bool = False) -> None:
        super().__init__(inplace, min=min, max=max)


class ThresholdedReLU(_Activation):
    """``x`` where it is above ``threshold``, else ``value``.

    Takes a tensor of any shape; the result has that shape.

    Raises:
        ValueError: with ``inplace``, for a leaf that wants a gradient, in grad mode.
        TypeError: with ``inplace``, for a tensor of integers.
        TypeError: when it is called and a setting is no number.
    """

    operation = "thresholded_relu"

    def __init__(
        self, threshold: float = 1.0, value: float = 0.0, name: str | None = None, inplace: bool = False
    ) -> None:
        super().__init__(inplace, threshold=threshold, value=value)


class Softmax(_Activation):
    """``exp(x)`` over its sum along ``axis``.

    Takes a tensor of any shape; the result has that shape.

    Raises:
        ValueError: with ``inplace``, for a leaf that wants a gradient, in grad mode.
        TypeError: with ``inplace``, for a tensor of integers.
        IndexError: for an axis that ``x`` does not have.
    """

    operation = "softmax"

    def __init__(self, axis: int = -1, name: str | None = None, inplace: bool = False) -> None:
        super().__init__(inplace, axis=axis)


class LogSoftmax(Layer):
    """The logarithm of softmax along ``axis``.

    Takes a tensor of any shape; the result has that shape.

    Raises:
        IndexError: for an axis that ``x`` does not have.
        TypeError: for anything but a tensor of floats.
    """

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        super().__init__()
        self.axis = axis

    def forward(self, x: Tensor) -> Tensor:
        return activations.log_softmax(x, self.axis)

    def extra_repr(self) -> str:
        return f"axis={self.axis}"


class GELU(Layer):
    """``x`` times the probability that a standard normal number is below it: see
    :func:`~minitensor.nn.functional.gelu`.

    Takes a tensor of any shape; the result has that shape.

    Raises:
        TypeError: for anything but a tensor of floats.
    """

    def __init__(self, approximate: bool = False, name: str | None = None) -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        return activations.gelu(x, self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate}"


class Silu(Layer):
    """``x * sigmoid(x)``.

    Takes a tensor of any shape; the result has that shape.

    Raises:
        ValueError: with ``inplace``, for a leaf that wants a gradient, in grad mode.
        TypeError: for anything but a tensor of floats.
    """

    def __init__(self, name: str | None = None, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = bool(inplace)

    def forward(self, x: Tensor) -> Tensor:
        return activations.silu(x, self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Dropout(Layer):
    """In training, 0 with probability ``p``, and what is left divided by ``1 - p``.

    Takes a tensor of any shape; the result has that shape.

    Raises:
        ValueError: with ``inplace``, for a leaf that wants a gradient, in grad mode.
        TypeError: for anything but a tensor of floats.
        ValueError: when ``p`` is no probability.
    """

    def __init__(self, p: float = 0.5, name: str | None = None, inplace: bool = False) -> None:
        super().__init__()
        if not isinstance(p, (int, float)) or not 0 <= p <= 1:
            raise ValueError(f"Dropout: p is a probability from 0 to 1, not {p!r}")
        self.p, self.inplace = p, bool(inplace)

    def forward(self, x: Tensor) -> Tensor:
        return activations.dropout(x, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}" + (", inplace=True" if self.inplace else "")
