"""RMSProp (Hinton, lecture 6e of "Neural Networks for Machine Learning", 2012)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor
from minitensor.optimizer.clip import Clip
from minitensor.optimizer.lr import LRScheduler
from minitensor.optimizer.optimizer import Array, Optimizer, penalized


class RMSProp(Optimizer):
    """Move each element by its gradient, divided by the root of its average squared gradient, optionally with momentum
    (Hinton, 2012).

    Parameters have any shape and are written once per step; each has averages of its shape. See :class:`Optimizer` for
    the other arguments.

    Args:
        rho: the share of the average squared gradient that a step keeps; at least 0, and below 1.
        epsilon: added to the average before the root, as in Paddle.
        momentum: the share of the last step that is added to this one.
        centered: True to subtract the square of the average gradient first.

    Raises:
        TypeError, ValueError: as in :class:`Optimizer`, and if ``rho`` is outside 0 to 1, or ``epsilon`` or
            ``momentum`` is below 0.
    """

    slots = ("mean_square", "mean_grad", "momentum")
    rooms = 2

    def __init__(
        self,
        learning_rate: float | LRScheduler,
        rho: float = 0.95,
        epsilon: float = 1e-06,
        momentum: float = 0.0,
        centered: bool = False,
        parameters: Iterable[Tensor] | None = None,
        weight_decay: float | None = None,
        grad_clip: Clip | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip)
        self._rho, self._momentum = self._number("rho", rho, below=1), self._number("momentum", momentum)
        self._epsilon, self._centered = self._number("epsilon", epsilon), checks.flag("RMSProp", "centered", centered)

    def _numbers(self, step: int) -> tuple[float, ...]:
        return self._rate, self._decay, self._rho, 1 - self._rho, self._epsilon, self._momentum

    def _write(self, numbers: list[Any], parameter: Array, gradient: Array, *kept_and_room: Array) -> None:
        rate, decay, rho, rest, epsilon, momentum = numbers
        squares, average, moved, room, other = kept_and_room
        if self._decay:
            gradient = penalized(gradient, parameter, decay, other)
        np.multiply(squares, rho, squares)
        np.add(squares, np.multiply(np.multiply(gradient, gradient, room), rest, room), squares)
        if self._centered:
            np.multiply(average, rho, average)
            np.add(average, np.multiply(gradient, rest, room), average)
            np.subtract(squares, np.multiply(average, average, room), room)
            np.sqrt(np.add(room, epsilon, room), room)
        else:
            np.sqrt(np.add(squares, epsilon, room), room)
        np.multiply(np.divide(gradient, room, room), rate, room)
        np.multiply(moved, momentum, moved)
        np.add(moved, room, moved)
        np.subtract(parameter, moved, parameter)
