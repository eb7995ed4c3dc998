"""Activations as layers, under Paddle's names."""

from __future__ import annotations

from typing import Any

from minitensor.core.tensor import Tensor
from minitensor.networks import activations
from minitensor.nn.layer import Layer
from minitensor.operations import FUNCTIONS


class _Activation(Layer):
    """Calls one operation with settings."""

    operation: str

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.settings = settings

    def forward(self, x: Tensor) -> Tensor:
        return FUNCTIONS[self.operation](x, **self.settings)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.settings.items())


class ReLU(_Activation):
    """``x`` where it is positive, else 0."""

    operation = "relu"

    def __init__(self, name: str | None = None) -> None:
        super().__init__()


class ReLU6(_Activation):
    """``x``, but not below 0 nor above 6."""

    operation = "relu6"

    def __init__(self, name: str | None = None) -> None:
        super().__init__()


class Sigmoid(_Activation):
    """``1 / (1 + exp(-x))``."""

    operation = "sigmoid"

    def __init__(self, name: str | None = None) -> None:
        super().__init__()


class Tanh(_Activation):
    """Hyperbolic tangent."""

    operation = "tanh"

    def __init__(self, name: str | None = None) -> None:
        super().__init__()


class LeakyReLU(_Activation):
    """``x`` where it is positive, else ``negative_slope * x``."""

    operation = "leaky_relu"

    def __init__(self, negative_slope: float = 0.01, name: str | None = None) -> None:
        super().__init__(negative_slope=negative_slope)


class ELU(_Activation):
    """``x`` where it is positive, else ``alpha * (exp(x) - 1)``."""

    operation = "elu"

    def __init__(self, alpha: float = 1.0, name: str | None = None) -> None:
        super().__init__(alpha=alpha)


class Hardtanh(_Activation):
    """``x``, but not below ``min`` nor above ``max``."""

    operation = "hardtanh"

    def __init__(self, min: float = -1.0, max: float = 1.0, name: str | None = None) -> None:
        super().__init__(min=min, max=max)


class ThresholdedReLU(_Activation):
    """``x`` where it is above ``threshold``, else ``value``."""

    operation = "thresholded_relu"

    def __init__(self, threshold: float = 1.0, value: float = 0.0, name: str | None = None) -> None:
        super().__init__(threshold=threshold, value=value)


class Softmax(_Activation):
    """``exp(x)`` over its sum along ``axis``."""

    operation = "softmax"

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        super().__init__(axis=axis)


class LogSoftmax(Layer):
    """The logarithm of softmax along ``axis``."""

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        super().__init__()
        self.axis = axis

    def forward(self, x: Tensor) -> Tensor:
        return activations.log_softmax(x, self.axis)

    def extra_repr(self) -> str:
        return f"axis={self.axis}"


class GELU(Layer):
    """See :func:`~minitensor.nn.functional.gelu`."""

    def __init__(self, approximate: bool = False, name: str | None = None) -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        return activations.gelu(x, self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate}"


class Silu(Layer):
    """``x * sigmoid(x)``."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        return activations.silu(x)


class Dropout(Layer):
    """In training, 0 with probability ``p``, and what is left divided by ``1 - p``."""

    def __init__(self, p: float = 0.5, name: str | None = None) -> None:
        super().__init__()
        if not isinstance(p, (int, float)) or not 0 <= p <= 1:
            raise ValueError(f"Dropout: p is a probability from 0 to 1, not {p!r}")
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return activations.dropout(x, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}"
