"""Gradient descent, with and without momentum."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from minitensor.optimizer.optimizer import Array, Optimizer
from minitensor.tensor import Tensor


class SGD(Optimizer):
    """``parameter -= learning_rate * gradient``."""

    def _write(self, step: int, pieces: Iterator[tuple[Array, ...]]) -> None:
        for parameter, gradient, room, _ in pieces:
            np.multiply(self._penalized(gradient, parameter, room), self._rate, out=room)
            np.subtract(parameter, room, out=parameter)


class Momentum(Optimizer):
    """``velocity = momentum * velocity + gradient``; ``parameter -= learning_rate * velocity``.

    With ``use_nesterov`` the parameter moves by ``learning_rate * (gradient + momentum * velocity)``.
    """

    slots = ("velocity",)

    def __init__(
        self,
        learning_rate: float = 0.001,
        momentum: float = 0.9,
        parameters: Iterable[Tensor] | None = None,
        use_nesterov: bool = False,
        weight_decay: float | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay)
        self._momentum, self._nesterov = self._number("momentum", momentum), bool(use_nesterov)

    def _write(self, step: int, pieces: Iterator[tuple[Array, ...]]) -> None:
        for parameter, gradient, velocity, room, other in pieces:
            penalized: Any = self._penalized(gradient, parameter, room)
            np.multiply(velocity, self._momentum, out=velocity)
            np.add(velocity, penalized, out=velocity)
            if self._nesterov:
                np.multiply(velocity, self._momentum, out=other)
                np.add(other, penalized, out=room)
                np.multiply(room, self._rate, out=room)
            else:
                np.multiply(velocity, self._rate, out=room)
            np.subtract(parameter, room, out=parameter)
