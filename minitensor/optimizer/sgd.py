"""Gradient descent, with and without momentum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor
from minitensor.optimizer.clip import Clip
from minitensor.optimizer.lr import LRScheduler
from minitensor.optimizer.optimizer import Array, Optimizer, penalized


@checks.with_own_methods
class SGD(Optimizer):
    """``parameter -= learning_rate * gradient``.

    Parameters have any shape and are written once per step. See :class:`Optimizer` for the other arguments.

    Raises:
        TypeError, ValueError: as in :class:`Optimizer`.
    """

    def _numbers(self, step: int) -> tuple[float, ...]:
        return self._rate, self._decay

    def _write(self, numbers: list[Any], parameter: Array, gradient: Array, *kept_and_room: Array) -> None:
        rate, decay = numbers
        (room,) = kept_and_room
        if self._decay:
            gradient = penalized(gradient, parameter, decay, room)
        np.multiply(gradient, rate, room)
        np.subtract(parameter, room, parameter)


class Momentum(Optimizer):
    """``velocity = momentum * velocity + gradient``; ``parameter -= learning_rate * velocity`` (Polyak, 1964).

    With ``use_nesterov`` the parameter moves by ``learning_rate * (gradient + momentum * velocity)`` (Nesterov,
    1983).

    Parameters have any shape and are written once per step. See :class:`Optimizer` for the other arguments.

    Raises:
        TypeError, ValueError: as in :class:`Optimizer`, and if ``momentum`` is not a number of at least 0.
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
        self._momentum, self._nesterov = (
            self._number("momentum", momentum),
            checks.flag("Momentum", "use_nesterov", use_nesterov),
        )
        self.rooms = 2 if self._nesterov else 1

    def _numbers(self, step: int) -> tuple[float, ...]:
        return self._rate, self._decay, self._momentum

    def _write(self, numbers: list[Any], parameter: Array, gradient: Array, *kept_and_room: Array) -> None:
        rate, decay, momentum = numbers
        velocity, room, *other = kept_and_room
        if self._decay:
            gradient = penalized(gradient, parameter, decay, room)
        np.multiply(velocity, momentum, velocity)
        np.add(velocity, gradient, velocity)
        if self._nesterov:
            (ahead,) = other
            np.multiply(velocity, momentum, ahead)
            np.add(ahead, gradient, room)
            np.multiply(room, rate, room)
        else:
            np.multiply(velocity, rate, room)
        np.subtract(parameter, room, parameter)
