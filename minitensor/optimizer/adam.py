"""Adam (Kingma and Ba, 2015), and AdamW with weight decay outside the gradient (Loshchilov and Hutter, 2019)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from minitensor.engine.core.tensor import Tensor
from minitensor.optimizer.clip import Clip
from minitensor.optimizer.lr import LRScheduler
from minitensor.optimizer.optimizer import Array, Optimizer, add_penalty


class Adam(Optimizer):
    """Change each element by the learning rate times its average gradient, divided by the root of its average squared
    gradient (Kingma and Ba, 2015).

    Parameters may have any shape. A step writes each parameter once, and updates two averages of the same shape. See
    :class:`Optimizer` for the other arguments.

    Args:
        beta1, beta2: the share of the old average in the new average, for the gradient and for its square; at least 0,
            and below 1.
        epsilon: a small number that is added to the root.
        weight_decay: an L2 penalty: the parameter times this number is added to the gradient.

    Raises:
        TypeError, ValueError: as :class:`Optimizer` does, and if ``beta1`` or ``beta2`` is not in [0, 1), or if
            ``epsilon`` is below 0.
    """

    slots = ("moment1", "moment2")
    buffers = 2

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
        # The averages start at 0, so they are too small in the first steps. Dividing the averages by 1 - beta**step
        # would correct them. The changed rate and epsilon have the same effect.
        correction, root_correction = 1 - first**step, math.sqrt(1 - second**step)
        rate, epsilon = self._rate * root_correction / correction, self._epsilon * root_correction
        return first, 1 - first, second, 1 - second, rate, epsilon, self._decay, 1 - self._rate * self._decay

    def _write(self, numbers: list[Any], parameter: Array, gradient: Array, *averages_and_buffers: Array) -> None:
        first, rest, second, rest_squared, rate, epsilon, decay, shrinking = numbers
        average, squares, buffer, other_buffer = averages_and_buffers
        gradient = self._gradient_for_step(gradient, parameter, decay, shrinking, other_buffer)
        np.multiply(average, first, average)
        np.add(average, np.multiply(gradient, rest, buffer), average)
        np.multiply(squares, second, squares)
        np.multiply(gradient, gradient, buffer)
        np.add(squares, np.multiply(buffer, rest_squared, buffer), squares)
        np.add(np.sqrt(squares, buffer), epsilon, buffer)
        np.multiply(np.divide(average, buffer, buffer), rate, buffer)
        np.subtract(parameter, buffer, parameter)

    def _gradient_for_step(self, gradient: Array, parameter: Array, decay: Any, shrinking: Any, buffer: Array) -> Array:
        """Return the gradient that the step uses. A subclass may change the parameter first."""
        return add_penalty(gradient, parameter, decay, buffer) if self._decay else gradient


class AdamW(Adam):
    """Adam that first multiplies the parameter by ``1 - learning_rate * weight_decay`` (Loshchilov and Hutter, 2019).

    Parameters may have any shape. A step writes each parameter once, and updates two averages of the same shape. See
    :class:`Optimizer` for the other arguments.

    Raises:
        TypeError, ValueError: as :class:`Adam` does.
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

    def _gradient_for_step(self, gradient: Array, parameter: Array, decay: Any, shrinking: Any, buffer: Array) -> Array:
        np.multiply(parameter, shrinking, parameter)
        return gradient
