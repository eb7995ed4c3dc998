"""Gradient descent, with and without momentum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor
from minitensor.optimizer.clip import Clip
from minitensor.optimizer.lr import LRScheduler
from minitensor.optimizer.optimizer import Array, Optimizer, add_penalty


@checks.with_own_methods
class SGD(Optimizer):
    """``parameter -= learning_rate * gradient``.

    Parameters may have any shape, and a step writes each of them once. See :class:`Optimizer` for the other arguments.

    Raises:
        TypeError, ValueError: as :class:`Optimizer` does.
    """

    def _numbers(self, step: int) -> tuple[float, ...]:
        return self._rate, self._decay

    def _write(self, numbers: list[Any], parameter: Array, gradient: Array, *averages_and_buffers: Array) -> None:
        rate, decay = numbers
        (buffer,) = averages_and_buffers
        if self._decay:
            gradient = add_penalty(gradient, parameter, decay, buffer)
        np.multiply(gradient, rate, buffer)
        np.subtract(parameter, buffer, parameter)


class Momentum(Optimizer):
    """``velocity = momentum * velocity + gradient``; ``parameter -= learning_rate * velocity`` (Polyak, 1964).

    With ``use_nesterov``, ``parameter -= learning_rate * (gradient + momentum * velocity)`` (Nesterov, 1983).

    Parameters may have any shape, and a step writes each of them once. See :class:`Optimizer` for the other arguments.

    Raises:
        TypeError, ValueError: as :class:`Optimizer` does, and if ``momentum`` is not a number of at least 0.
    """

    slots = ("velocity",)

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        momentum: float = 0.9,
        parameters: Iterable[Tensor] | None = None,
        use_nesterov: bool = False,
        weight_decay: float | None = None,
        grad_clip: Clip | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip)
        self._momentum = self._number("momentum", momentum)
        self._nesterov = checks.flag("Momentum", "use_nesterov", use_nesterov)
        self.buffers = 2 if self._nesterov else 1

    def _numbers(self, step: int) -> tuple[float, ...]:
        return self._rate, self._decay, self._momentum

    def _write(self, numbers: list[Any], parameter: Array, gradient: Array, *averages_and_buffers: Array) -> None:
        rate, decay, momentum = numbers
        velocity, buffer, *other = averages_and_buffers
        if self._decay:
            gradient = add_penalty(gradient, parameter, decay, buffer)
        np.multiply(velocity, momentum, velocity)
        np.add(velocity, gradient, velocity)
        if self._nesterov:
            (ahead,) = other
            np.multiply(velocity, momentum, ahead)
            np.add(ahead, gradient, buffer)
            np.multiply(buffer, rate, buffer)
        else:
            np.multiply(velocity, rate, buffer)
        np.subtract(parameter, buffer, parameter)
