"""Learning-rate schedules that compute the rate of a step from its number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from minitensor.engine import checks
from minitensor.torch.optim.optimizer import Optimizer


class LRScheduler:
    """Base class of schedules, which set ``lr`` of every group when they are created and at each ``step()``.

    Args:
        optimizer: the optimizer whose learning rates are set.

    Raises:
        TypeError: if ``optimizer`` is not an optimizer.
    """

    def __init__(self, optimizer: Any, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer, self.last_epoch = optimizer, checks.integer(self._op, "last_epoch", last_epoch)
        self.base_lrs = [group.get("initial_lr", group["lr"]) for group in optimizer.param_groups]
        self._step_count = 0
        first = self._rates(self.last_epoch + 1)  # raises errors before the optimizer is changed
        for group in optimizer.param_groups if first else ():
            group.setdefault("initial_lr", group["lr"])
        self.step()

    @property
    def _op(self) -> str:
        return f"{type(self).__name__}()"

    def _rates(self, epoch: int) -> list[float]:
        """Return the rate of each group at step ``epoch``."""
        return [self._rate_at(base, epoch) for base in self.base_lrs]

    def _rate_at(self, base: float, epoch: int) -> float:
        """Return the rate of step ``epoch``; raise TypeError or ValueError if it is not a number."""
        before, self.last_epoch = self.last_epoch, epoch
        try:
            return self._check_rate(base)
        finally:
            self.last_epoch = before

    def _check_rate(self, base: float) -> float:
        try:
            return checks.real(self._op, "the rate", self.rate(base))
        except (OverflowError, ZeroDivisionError):
            raise ValueError(f"{self._op}: the rate at step {self.last_epoch} is larger than any float") from None

    def rate(self, base: float) -> float:
        """Return the rate at step ``last_epoch`` of a group that began with ``base``. Subclasses define this method."""
        raise checks.undefined(self, "rate")

    def step(self) -> None:
        """Advance by one step."""
        rates = self._rates(self.last_epoch + 1)
        self.last_epoch += 1
        self._step_count += 1
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[float]:
        """Return the rate of each group after the last step."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """Return the state, without the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name not in ("optimizer", "lr_lambda")}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state. The rate in the optimizer changes only at the next step."""
        op = f"{type(self).__name__}.load_state_dict()"
        checks.instance(op, "state_dict", state_dict, dict, "a dict, as state_dict() returns it")
        for name in state_dict:
            checks.text(op, "a key of state_dict", name)
        self.__dict__.update(state_dict)


class LambdaLR(LRScheduler):
    """The first rate times ``lr_lambda(step)``.

    Raises:
        TypeError: if ``optimizer`` is not an optimizer, or ``lr_lambda`` is not a function.
    """

    def __init__(self, optimizer: Any, lr_lambda: Callable[[int], float], last_epoch: int = -1) -> None:
        self.lr_lambda = checks.function(self._op, "lr_lambda", lr_lambda)
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float) -> float:
        base = checks.real(self._op, "base", base)
        return base * checks.real(self._op, "the result of lr_lambda", self.lr_lambda(self.last_epoch))


class StepLR(LRScheduler):
    """Multiply the rate by ``gamma`` after every ``step_size`` steps.

    Raises:
        TypeError: if ``optimizer`` is not an optimizer.
    """

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = checks.integer(self._op, "step_size", step_size, least=1)
        self.gamma = float(checks.real(self._op, "gamma", gamma))
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float) -> float:
        base = checks.real(self._op, "base", base)
        return base * self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(LRScheduler):
    """Multiply the rate by ``gamma`` at each of the ``milestones``.

    Raises:
        TypeError: if ``optimizer`` is not an optimizer.
    """

    def __init__(self, optimizer: Any, milestones: list[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones = sorted(checks.integers(self._op, "milestones", milestones))
        self.gamma = float(checks.real(self._op, "gamma", gamma))
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float) -> float:
        base = checks.real(self._op, "base", base)
        return base * self.gamma ** sum(each <= self.last_epoch for each in self.milestones)


class ExponentialLR(LRScheduler):
    """Multiply the rate by ``gamma`` after every step.

    Raises:
        TypeError: if ``optimizer`` is not an optimizer.
    """

    def __init__(self, optimizer: Any, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = float(checks.real(self._op, "gamma", gamma))
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float) -> float:
        base = checks.real(self._op, "base", base)
        return base * self.gamma**self.last_epoch


class CosineAnnealingLR(LRScheduler):
    """Lower the rate to ``eta_min`` along half a cosine in ``T_max`` steps, and raise it again (Loshchilov and Hutter
    2017).

    Raises:
        TypeError: if ``optimizer`` is not an optimizer.
        ZeroDivisionError: if ``T_max`` is 0.
    """

    def __init__(self, optimizer: Any, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = checks.integer(self._op, "T_max", T_max)
        if not self.T_max:
            raise ZeroDivisionError(f"{self._op}: T_max must not be 0")
        self.eta_min = checks.real(self._op, "eta_min", eta_min)
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float) -> float:
        base = checks.real(self._op, "base", base)
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2


class LinearLR(LRScheduler):
    """Change the factor of the first rate linearly from ``start_factor`` to ``end_factor`` in ``total_iters`` steps.

    Raises:
        TypeError: if ``optimizer`` is not an optimizer.
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
        self.start_factor = checks.real(self._op, "start_factor", start_factor)
        self.end_factor = checks.real(self._op, "end_factor", end_factor)
        self.total_iters = checks.integer(self._op, "total_iters", total_iters)
        if not self.total_iters:
            raise ZeroDivisionError(f"{self._op}: total_iters must not be 0")
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float) -> float:
        base = checks.real(self._op, "base", base)
        progress = min(self.last_epoch, self.total_iters) / self.total_iters
        return base * (self.start_factor + (self.end_factor - self.start_factor) * progress)


class ConstantLR(LRScheduler):
    """The first rate times ``factor`` in the first ``total_iters`` steps, then the first rate itself.

    Raises:
        ValueError: if ``factor`` is not from 0 to 1.
        TypeError: if ``optimizer`` is not an optimizer.
    """

    def __init__(self, optimizer: Any, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        self.factor = checks.real(self._op, "factor", factor)
        if not 0 <= self.factor <= 1:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.total_iters = checks.integer(self._op, "total_iters", total_iters)
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float) -> float:
        base = checks.real(self._op, "base", base)
        return base * self.factor if self.last_epoch < self.total_iters else base


class PolynomialLR(LRScheduler):
    """Lower the rate to 0 in ``total_iters`` steps, by a polynomial of degree ``power``.

    Raises:
        TypeError: if ``optimizer`` is not an optimizer.
        ZeroDivisionError: if ``total_iters`` is 0.
    """

    def __init__(self, optimizer: Any, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = checks.integer(self._op, "total_iters", total_iters)
        if not self.total_iters:
            raise ZeroDivisionError(f"{self._op}: total_iters must not be 0")
        self.power = checks.real(self._op, "power", power, least=0)
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float) -> float:
        base = checks.real(self._op, "base", base)
        return base * (1 - min(self.last_epoch, self.total_iters) / self.total_iters) ** self.power


class MultiplicativeLR(LRScheduler):
    """Multiply the rate by ``lr_lambda(step)`` at every step after the first.

    Raises:
        TypeError: if ``optimizer`` is not an optimizer, or ``lr_lambda`` is not a function.
    """

    def __init__(self, optimizer: Any, lr_lambda: Callable[[int], float], last_epoch: int = -1) -> None:
        self.lr_lambda = checks.function(self._op, "lr_lambda", lr_lambda)
        super().__init__(optimizer, last_epoch)

    def _rates(self, epoch: int) -> list[float]:
        return [self._rate_at(group["lr"], epoch) for group in self.optimizer.param_groups]

    def rate(self, base: float) -> float:
        """Return ``base``, the current rate, times the factor of this step; in the first step ``base`` itself."""
        base = checks.real(self._op, "base", base)
        if not self._step_count or self.last_epoch <= 0:
            return base
        return base * checks.real(self._op, "the result of lr_lambda", self.lr_lambda(self.last_epoch))


class CosineAnnealingWarmRestarts(LRScheduler):
    """Lower the rate to ``eta_min`` along half a cosine in ``T_0`` steps, and start again (Loshchilov and Hutter 2017).

    Each of these periods is ``T_mult`` times as long as the one before it.

    Raises:
        ValueError: if ``T_0`` or ``T_mult`` is not an integer of at least 1.
        TypeError: if ``optimizer`` is not an optimizer.
    """

    def __init__(self, optimizer: Any, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        for name, given in (("positive integer T_0", T_0), ("integer T_mult >= 1", T_mult)):
            if type(given) is not int or given < 1:
                raise ValueError(f"Expected {name}, but got {checks.shown(given)}")
        self.T_0, self.T_mult = checks.integer(self._op, "T_0", T_0), checks.integer(self._op, "T_mult", T_mult)
        self.eta_min = checks.real(self._op, "eta_min", eta_min)
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float) -> float:
        base = checks.real(self._op, "base", base)
        step, length = self.last_epoch, self.T_0
        while step >= length:
            step, length = step - length, length * self.T_mult
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * step / length)) / 2
