"""RMSProp (Hinton, lecture 6e of "Neural Networks for Machine Learning", 2012)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.core.tensor import Tensor
from minitensor.optimizer.clip import Clip
from minitensor.optimizer.lr import LRScheduler
from minitensor.optimizer.optimizer import Array, Optimizer, add_penalty


class RMSProp(Optimizer):
    """Change each element by the learning rate times its gradient, divided by the root of its average squared gradient
    (Hinton, 2012).

    Parameters may have any shape. A step writes each parameter once, and updates averages of the same shape. See
    :class:`Optimizer` for the other arguments.

    Args:
        rho: the share of the old average squared gradient in the new average; at least 0, and below 1.
        epsilon: a small number that is added to the average squared gradient before the root, as in Paddle.
        momentum: the share of the last step that is added to this step.
        centered: True to subtract the square of the average gradient from the average squared gradient first.

    Raises:
        TypeError, ValueError: as :class:`Optimizer` does, and if ``rho`` is not in [0, 1), or ``epsilon`` or
            ``momentum`` is below 0.
    """

    slots = ("mean_square", "mean_grad", "momentum")
    buffers = 2

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

    def _write(self, numbers: list[Any], parameter: Array, gradient: Array, *averages_and_buffers: Array) -> None:
        rate, decay, rho, rest, epsilon, momentum = numbers
        squares, average, moved, buffer, other_buffer = averages_and_buffers
        if self._decay:
            gradient = add_penalty(gradient, parameter, decay, other_buffer)
        np.multiply(squares, rho, squares)
        np.add(squares, np.multiply(np.multiply(gradient, gradient, buffer), rest, buffer), squares)
        if self._centered:
            np.multiply(average, rho, average)
            np.add(average, np.multiply(gradient, rest, buffer), average)
            np.subtract(squares, np.multiply(average, average, buffer), buffer)
            np.sqrt(np.add(buffer, epsilon, buffer), buffer)
        else:
            np.sqrt(np.add(squares, epsilon, buffer), buffer)
        np.multiply(np.divide(gradient, buffer, buffer), rate, buffer)
        np.multiply(moved, momentum, moved)
        np.add(moved, buffer, moved)
        np.subtract(parameter, moved, parameter)
