"""Adam (Kingma and Ba, 2015), and AdamW, whose weight decay leaves the gradient alone (Loshchilov and Hutter, 2019)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from minitensor.optimizer.optimizer import Array, Optimizer
from minitensor.tensor import Tensor


class Adam(Optimizer):
    """Moves each element by its average gradient over the root of its average squared gradient.

    Args:
        beta1, beta2: how much of the average gradient and of the average squared gradient stays, from 0 up to 1.
        epsilon: added to the root.
        weight_decay: an L2 penalty, in the gradient.
    """

    slots = ("moment1", "moment2")

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        parameters: Iterable[Tensor] | None = None,
        weight_decay: float | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay)
        self._betas = self._number("beta1", beta1, below=1), self._number("beta2", beta2, below=1)
        self._epsilon = self._number("epsilon", epsilon)

    def _write(self, step: int, pieces: Iterator[tuple[Array, ...]]) -> None:
        first, second = self._betas
        # The averages begin with 0; dividing by these makes up for it.
        began, began_squared = 1 - first**step, math.sqrt(1 - second**step)
        rate, epsilon = self._rate * began_squared / began, self._epsilon * began_squared
        for parameter, gradient, average, squares, room, other in pieces:
            penalized: Any = self._prepared(gradient, parameter, other)
            np.multiply(average, first, out=average)
            np.add(average, np.multiply(penalized, 1 - first, out=room), out=average)
            np.multiply(squares, second, out=squares)
            np.multiply(penalized, penalized, out=room)
            np.add(squares, np.multiply(room, 1 - second, out=room), out=squares)
            np.add(np.sqrt(squares, out=room), epsilon, out=room)
            np.multiply(np.divide(average, room, out=room), rate, out=room)
            np.subtract(parameter, room, out=parameter)

    def _prepared(self, gradient: Array, parameter: Array, room: Array) -> Array:
        """The gradient to use; the parameter may be changed first."""
        return self._penalized(gradient, parameter, room)


class AdamW(Adam):
    """Adam; before each step the parameter is made smaller by ``learning_rate * weight_decay`` of itself."""

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        parameters: Iterable[Tensor] | None = None,
        weight_decay: float = 0.01,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, parameters, weight_decay)

    def _prepared(self, gradient: Array, parameter: Array, room: Array) -> Array:
        np.multiply(parameter, 1 - self._rate * self._decay, out=parameter)
        return gradient
