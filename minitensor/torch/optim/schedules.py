"""Learning-rate schedules that compute the rate of a step from the number of the step and from the previous rate."""

from __future__ import annotations

import math
from typing import Any

from minitensor.engine import checks
from minitensor.torch.optim.optimizer import Optimizer


class LRScheduler:
    """Base class of schedules. They set ``lr`` of every group when they are created and at each ``step()``.

    Most schedules compute a new rate from the present rate of a group. Therefore several schedules can change the rates
    of one optimizer one after the other, and if the program sets a rate, later rates are computed from it. A subclass
    defines ``get_lr()``.

    Args:
        optimizer: the optimizer whose learning rates are set.
        last_epoch: the number of the last step before an interruption; -1 at the start of a training. After an
            interruption, each group needs an entry ``initial_lr``: the rate with which the training began.

    Raises:
        TypeError: if ``optimizer`` is not an optimizer.
        KeyError: if a group lacks ``initial_lr`` although ``last_epoch`` is given.
    """

    #: True if the schedule's turn in :class:`SequentialLR` begins with the first rate of each group, False if it begins
    #: with the present rate.
    _begins_again = False
    #: True while the rates of the first step are set.
    _is_initial = False

    def __init__(self, optimizer: Any, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer, self.last_epoch = optimizer, checks.integer(self._op, "last_epoch", last_epoch)
        for i, group in enumerate(optimizer.param_groups if self.last_epoch != -1 else ()):
            if "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with last_epoch "
                    f">= 0: load the state of the optimizer first, or leave last_epoch out"
                )
        self.base_lrs = [group.get("initial_lr", group["lr"]) for group in optimizer.param_groups]
        before = [dict(group) for group in optimizer.param_groups]
        for group, base in zip(optimizer.param_groups, self.base_lrs, strict=True):
            group["initial_lr"] = base
        try:
            self._initial_step()
        except BaseException:  # leave the groups unchanged if the schedule cannot be created
            for group, old in zip(optimizer.param_groups, before, strict=True):
                group.clear()
                group.update(old)
            raise

    @property
    def _op(self) -> str:
        return f"{type(self).__name__}()"

    def _initial_step(self) -> None:
        """Set the rates of the first step."""
        self._step_count, self._is_initial = 0, True
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_lr(self) -> list[float]:
        """Return the rate of each group at step ``last_epoch``. The present rate of a group is ``group["lr"]``."""
        groups = self.optimizer.param_groups
        return [self._rate(base, group["lr"]) for base, group in zip(self.base_lrs, groups, strict=True)]

    def _rate(self, base: float, now: float) -> float:
        """Return the rate at step ``last_epoch`` of a group that began with ``base`` and now has the rate ``now``."""
        raise NotImplementedError(f"{self._op}: a schedule defines get_lr(), which returns the rate of each group")

    def _update(self, epoch: int) -> None:
        """Set the rates of step ``epoch``.

        Raises:
            TypeError, ValueError: if a rate is not a finite number. Nothing has changed then.
        """
        before, self.last_epoch = self.last_epoch, epoch
        try:
            rates = [checks.real(self._op, "the rate", rate) for rate in self.get_lr()]
        except BaseException as error:
            self.last_epoch = before
            if isinstance(error, (OverflowError, ZeroDivisionError)):
                raise ValueError(f"{self._op}: the rate at step {epoch} is larger than any float") from None
            raise
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = rates

    def step(self) -> None:
        """Advance by one step."""
        self._update(self.last_epoch + 1)
        self._step_count += 1

    def _begin_turn(self) -> None:
        """Set the rates of step 0. :class:`SequentialLR` calls this method when the turn of this schedule begins."""
        for group, base in zip(self.optimizer.param_groups if self._begins_again else (), self.base_lrs, strict=False):
            group["lr"] = base
        self._is_initial = self._begins_again
        try:
            self._update(0)
        finally:
            self._is_initial = False

    def _undo_first_step(self) -> None:
        """Subtract the step that the constructor counted."""
        self.last_epoch -= 1

    def get_last_lr(self) -> list[float]:
        """Return the rate of each group after the last step."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """Return the state, without the optimizer and functions."""
        return {name: value for name, value in self.__dict__.items() if name not in ("optimizer", "lr_lambdas")}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state. The rate in the optimizer changes only at the next step."""
        op = f"{type(self).__name__}.load_state_dict()"
        checks.instance(op, "state_dict", state_dict, dict, "a dict, as state_dict() returns it")
        for name in state_dict:
            checks.text(op, "a key of state_dict", name)
        self.__dict__.update(state_dict)


class _OfFunctions(LRScheduler):
    """Base class of schedules that call a function for each group.

    Raises:
        ValueError: if there is not one function for each group.
        TypeError: if ``optimizer`` is not an optimizer, or ``lr_lambda`` is neither a function nor a list of functions.
    """

    def _start(self, optimizer: Any, lr_lambda: Any, last_epoch: int) -> None:
        """Store the functions, and set the rates of the first step."""
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        groups = len(optimizer.param_groups)
        given = lr_lambda if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(given) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(given)}")
        self.lr_lambdas = [checks.function(self._op, "lr_lambda", each) for each in given]
        LRScheduler.__init__(self, optimizer, last_epoch)

    def _factors(self) -> list[float]:
        op = self._op
        return [checks.real(op, "the result of lr_lambda", function(self.last_epoch)) for function in self.lr_lambdas]


class LambdaLR(_OfFunctions):
    """Set the rate to the first rate times ``lr_lambda(step)``.

    ``lr_lambda`` may be a list with a function for each group.
    """

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1) -> None:
        self._start(optimizer, lr_lambda, last_epoch)

    def get_lr(self) -> list[float]:
        return [base * factor for base, factor in zip(self.base_lrs, self._factors(), strict=True)]


class StepLR(LRScheduler):
    """Multiply the rate by ``gamma`` after every ``step_size`` steps.

    Raises:
        TypeError: if ``optimizer`` is not an optimizer.
    """

    _begins_again = True

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = checks.integer(self._op, "step_size", step_size, least=1)
        self.gamma = float(checks.real(self._op, "gamma", gamma))
        super().__init__(optimizer, last_epoch)

    def _rate(self, base: float, now: float) -> float:
        return now if self.last_epoch == 0 or self.last_epoch % self.step_size else now * self.gamma


class MultiStepLR(LRScheduler):
    """Multiply the rate by ``gamma`` at each of the ``milestones``.

    Raises:
        TypeError: if ``optimizer`` is not an optimizer.
    """

    _begins_again = True

    def __init__(self, optimizer: Any, milestones: list[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones = sorted(checks.integers(self._op, "milestones", milestones))
        self.gamma = float(checks.real(self._op, "gamma", gamma))
        super().__init__(optimizer, last_epoch)

    def _rate(self, base: float, now: float) -> float:
        times = self.milestones.count(self.last_epoch)
        return now * self.gamma**times if times else now


class ExponentialLR(LRScheduler):
    """Multiply the rate by ``gamma`` after every step.

    Raises:
        TypeError: if ``optimizer`` is not an optimizer.
    """

    _begins_again = True

    def __init__(self, optimizer: Any, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = float(checks.real(self._op, "gamma", gamma))
        super().__init__(optimizer, last_epoch)

    def _rate(self, base: float, now: float) -> float:
        return now if self._is_initial else now * self.gamma


class CosineAnnealingLR(LRScheduler):
    """Lower the rate to ``eta_min`` along half a cosine in ``T_max`` steps, and raise it again (Loshchilov and Hutter
    2017).

    Raises:
        TypeError: if ``optimizer`` is not an optimizer.
        ZeroDivisionError: if ``T_max`` is 0.
    """

    _begins_again = True

    def __init__(self, optimizer: Any, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = checks.integer(self._op, "T_max", T_max)
        if not self.T_max:
            raise ZeroDivisionError(f"{self._op}: T_max must not be 0")
        self.eta_min = checks.real(self._op, "eta_min", eta_min)
        super().__init__(optimizer, last_epoch)

    def _rate(self, base: float, now: float) -> float:
        if self._is_initial:
            return now
        step, quarter = self.last_epoch, math.pi / self.T_max
        if (step - 1 - self.T_max) % (2 * self.T_max) == 0:  # a factor would leave the rate at `eta_min`
            return now + (base - self.eta_min) * (1 - math.cos(quarter)) / 2
        factor = (1 + math.cos(quarter * step)) / (1 + math.cos(quarter * (step - 1)))
        return factor * (now - self.eta_min) + self.eta_min


class LinearLR(LRScheduler):
    """Set the rate to the first rate times a factor, which changes linearly from ``start_factor`` to ``end_factor`` in
    ``total_iters`` steps.

    Raises:
        TypeError: if ``optimizer`` is not an optimizer.
        ZeroDivisionError: if ``total_iters`` is 0.
    """

    _begins_again = True

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

    def _rate(self, base: float, now: float) -> float:
        if self.last_epoch == 0:
            return now * self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return now
        change = self.end_factor - self.start_factor
        return now * (1 + change / (self.total_iters * self.start_factor + (self.last_epoch - 1) * change))


class ConstantLR(LRScheduler):
    """Set the rate to the first rate times ``factor`` for ``total_iters`` steps, and then to the first rate itself.

    Raises:
        ValueError: if ``factor`` is not from 0 to 1.
        TypeError: if ``optimizer`` is not an optimizer.
    """

    _begins_again = True

    def __init__(self, optimizer: Any, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        self.factor = checks.real(self._op, "factor", factor)
        if not 0 <= self.factor <= 1:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.total_iters = checks.integer(self._op, "total_iters", total_iters)
        super().__init__(optimizer, last_epoch)

    def _rate(self, base: float, now: float) -> float:
        if self.last_epoch == 0:
            return now * self.factor
        return now / self.factor if self.last_epoch == self.total_iters else now


class PolynomialLR(LRScheduler):
    """Lower the rate to 0 in ``total_iters`` steps, by a polynomial of degree ``power``.

    Raises:
        TypeError: if ``optimizer`` is not an optimizer.
        ZeroDivisionError: if ``total_iters`` is 0.
    """

    _begins_again = True

    def __init__(self, optimizer: Any, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = checks.integer(self._op, "total_iters", total_iters)
        if not self.total_iters:
            raise ZeroDivisionError(f"{self._op}: total_iters must not be 0")
        self.power = checks.real(self._op, "power", power, least=0)
        super().__init__(optimizer, last_epoch)

    def _rate(self, base: float, now: float) -> float:
        if self._is_initial or self.last_epoch > self.total_iters:
            return now
        left = 1 - self.last_epoch / self.total_iters
        return now * (left / (1 - (self.last_epoch - 1) / self.total_iters)) ** self.power


class MultiplicativeLR(_OfFunctions):
    """Multiply the rate by ``lr_lambda(step)`` at every step after the first.

    ``lr_lambda`` may be a list with a function for each group.
    """

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1) -> None:
        self._start(optimizer, lr_lambda, last_epoch)

    def get_lr(self) -> list[float]:
        rates = [group["lr"] for group in self.optimizer.param_groups]
        if self._is_initial:
            return rates
        return [rate * factor for rate, factor in zip(rates, self._factors(), strict=True)]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Lower the rate to ``eta_min`` along half a cosine in ``T_0`` steps, and start again (Loshchilov and Hutter 2017).

    Each further period is ``T_mult`` times as long as the previous one.

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

    def _rate(self, base: float, now: float) -> float:
        step, length = self.last_epoch, self.T_0
        while step >= length:
            step, length = step - length, length * self.T_mult
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * step / length)) / 2
