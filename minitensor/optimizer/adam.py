"""Adam (Kingma and Ba, 2015), and AdamW with weight decay outside the gradient (Loshchilov and Hutter, 2019)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from minitensor.engine.core.tensor import Tensor
from minitensor.optimizer.clip import Clip
from minitensor.optimizer.lr import LRScheduler
from minitensor.optimizer.optimizer import Array, Optimizer, penalized


class Adam(Optimizer):
    """Move each element by its average gradient, divided by the root of its average squared gradient
    (Kingma and Ba, 2015).

    Parameters have any shape and are written once per step; each has two averages of its shape. See :class:`Optimizer`
    for the other arguments.

    Args:
        beta1, beta2: the share of the average gradient, and of the average squared gradient, that a step keeps; at
            least 0, and below 1.
        epsilon: a small number added to the root.
        weight_decay: an L2 penalty, added to the gradient.

    Raises:
        TypeError, ValueError: as in :class:`Optimizer`, and if ``beta1`` or ``beta2`` is outside 0 to 1, or ``epsilon``
            is below 0.
    """

    slots = ("moment1", "moment2")
    rooms = 2

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        parameters: Iterable[Tensor] | None = None,
        weight_decay: float | None = None,
        grad_clip: Clip | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip)
        self._betas = self._number("beta1", beta1, below=1), self._number("beta2", beta2, below=1)
        self._epsilon = self._number("epsilon", epsilon)

    def _numbers(self, step: int) -> tuple[float, ...]:
        first, second = self._betas
        # The averages begin with 0, so the first ones are too small; division by these factors corrects that.
        began, began_squared = 1 - first**step, math.sqrt(1 - second**step)
        rate, epsilon = self._rate * began_squared / began, self._epsilon * began_squared
        return first, 1 - first, second, 1 - second, rate, epsilon, self._decay, 1 - self._rate * self._decay

    def _write(self, numbers: list[Any], parameter: Array, gradient: Array, *kept_and_room: Array) -> None:
        first, rest, second, rest_squared, rate, epsilon, decay, shrunk = numbers
        average, squares, room, other = kept_and_room
        gradient = self._prepared(gradient, parameter, decay, shrunk, other)
        np.multiply(average, first, average)
        np.add(average, np.multiply(gradient, rest, room), average)
        np.multiply(squares, second, squares)
        np.multiply(gradient, gradient, room)
        np.add(squares, np.multiply(room, rest_squared, room), squares)
        np.add(np.sqrt(squares, room), epsilon, room)
        np.multiply(np.divide(average, room, room), rate, room)
        np.subtract(parameter, room, parameter)

    def _prepared(self, gradient: Array, parameter: Array, decay: Any, shrunk: Any, room: Array) -> Array:
        """Return the gradient that the step uses; a subclass may change the parameter first."""
        return penalized(gradient, parameter, decay, room) if self._decay else gradient


class AdamW(Adam):
    """Adam that first shrinks the parameter by ``learning_rate * weight_decay`` of itself, at each step
    (Loshchilov and Hutter, 2019).

    Parameters have any shape and are written once per step; each has two averages of its shape. See :class:`Optimizer`
    for the other arguments.

    Raises:
        TypeError, ValueError: as in :class:`Adam`.
    """

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        parameters: Iterable[Tensor] | None = None,
        weight_decay: float = 0.01,
        grad_clip: Clip | None = None,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, parameters, weight_decay, grad_clip)

    def _prepared(self, gradient: Array, parameter: Array, decay: Any, shrunk: Any, room: Array) -> Array:
        np.multiply(parameter, shrunk, parameter)
        return gradient
