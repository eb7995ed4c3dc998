"""``torch.optim.lr_scheduler``: schedules that set the learning rate of an optimizer's groups."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from minitensor.torch.errors import missing_in

__all__ = ["CosineAnnealingLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "StepLR"]


class LRScheduler:
    """Set ``lr`` of every group, at construction and at each ``step()``.

    Args:
        optimizer: the optimizer whose groups it sets.

    Raises:
        AttributeError: if ``optimizer`` is none.
    """

    def __init__(self, optimizer: Any, last_epoch: int = -1) -> None:
        self.optimizer, self.last_epoch = optimizer, last_epoch
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self._step_count = 0
        self.step()

    def rate(self, base: float) -> float:
        """Return the rate at step ``last_epoch`` of a group whose first rate was ``base``. Subclasses define it."""
        raise NotImplementedError

    def step(self) -> None:
        """Advance by one step."""
        self.last_epoch += 1
        self._step_count += 1
        for group, base in zip(self.optimizer.param_groups, self.base_lrs, strict=True):
            group["lr"] = self.rate(base)
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[float]:
        """Return the rate of each group after the last step."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """Return the state, without the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name not in ("optimizer", "lr_lambda")}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state. The optimizer's own rate changes with the next step, or with the optimizer's state."""
        self.__dict__.update(state_dict)


class LambdaLR(LRScheduler):
    """The first rate times ``lr_lambda(step)``.

    Raises:
        AttributeError: if ``optimizer`` is none.
        TypeError: if ``lr_lambda`` is no function.
    """

    def __init__(self, optimizer: Any, lr_lambda: Callable[[int], float], last_epoch: int = -1) -> None:
        self.lr_lambda = lr_lambda
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float) -> float:
        """Return the rate of this step."""
        return base * self.lr_lambda(self.last_epoch)


class StepLR(LRScheduler):
    """Multiply the rate by ``gamma`` after every ``step_size`` steps.

    Raises:
        AttributeError: if ``optimizer`` is none.
    """

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float) -> float:
        """Return the rate of this step."""
        return base * self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(LRScheduler):
    """Multiply the rate by ``gamma`` at each of the ``milestones``.

    Raises:
        AttributeError: if ``optimizer`` is none.
    """

    def __init__(self, optimizer: Any, milestones: list[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float) -> float:
        """Return the rate of this step."""
        return base * self.gamma ** sum(each <= self.last_epoch for each in self.milestones)


class ExponentialLR(LRScheduler):
    """Multiply the rate by ``gamma`` after every step.

    Raises:
        AttributeError: if ``optimizer`` is none.
    """

    def __init__(self, optimizer: Any, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float) -> float:
        """Return the rate of this step."""
        return base * self.gamma**self.last_epoch


class CosineAnnealingLR(LRScheduler):
    """Lower the rate to ``eta_min`` along half a cosine, in ``T_max`` steps, and back (Loshchilov and Hutter 2017).

    Raises:
        AttributeError: if ``optimizer`` is none.
        ZeroDivisionError: if ``T_max`` is 0.
    """

    def __init__(self, optimizer: Any, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float) -> float:
        """Return the rate of this step."""
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2


class LinearLR(LRScheduler):
    """Change the rate from ``start_factor`` to ``end_factor`` of the first, in ``total_iters`` steps: a warm-up.

    Raises:
        AttributeError: if ``optimizer`` is none.
        ZeroDivisionError: if ``total_iters`` is 0.
    """

    def __init__(
        self,
        optimizer: Any,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float) -> float:
        """Return the rate of this step."""
        done = min(self.last_epoch, self.total_iters) / self.total_iters
        return base * (self.start_factor + (self.end_factor - self.start_factor) * done)


__getattr__ = missing_in("torch.optim.lr_scheduler", lambda: __all__)
