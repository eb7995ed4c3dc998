"""Learning-rate schedulers under Paddle's names. Each computes the rate of a step; steps are counted from 0.

Pass a scheduler to an optimizer as ``learning_rate``. After each step of training, call the scheduler's ``step()``.
"""

from __future__ import annotations

import math
from typing import Any

from minitensor.engine import checks
from minitensor.engine.checks import shown
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.kernels.numbers import number


class LRScheduler:
    """A learning rate for each step.

    Args:
        learning_rate: the initial rate.
        last_epoch: the number of the last step; -1 if there was none.

    Raises:
        ValueError: if ``learning_rate`` is not a number of at least 0.
    """

    def __init__(self, learning_rate: float = 0.1, last_epoch: int = -1) -> None:
        if isinstance(learning_rate, bool) or not isinstance(learning_rate, (int, float)) or not learning_rate >= 0:
            raise ValueError(
                f"{type(self).__name__}: learning_rate must be a number of at least 0, not {shown(learning_rate)}"
            )
        self.base_lr = float(number(type(self).__name__, "learning_rate", learning_rate))
        self.last_epoch = checks.integer(type(self).__name__, "last_epoch", last_epoch)
        self.last_lr = self.base_lr
        self.step()

    def get_lr(self) -> float:
        """Return the rate of step ``last_epoch``. Subclasses define this method."""
        raise checks.undefined(self, "get_lr")

    def step(self, epoch: int | None = None) -> None:
        """Advance by one step, or to step ``epoch``."""
        before, op = self.last_epoch, f"{type(self).__name__}.step"
        self.last_epoch = before + 1 if epoch is None else checks.integer(op, "epoch", epoch)
        try:
            self.last_lr = float(self.get_lr())
        except (OverflowError, ZeroDivisionError):
            step, self.last_epoch = self.last_epoch, before
            raise ValueError(f"{op}: the rate of step {step} is larger than any float") from None
        except Exception:
            self.last_epoch = before
            raise

    def __call__(self) -> float:
        """Return the current rate."""
        return self.last_lr

    def state_dict(self) -> dict[str, Any]:
        """Return the current step and rate."""
        return {"last_epoch": self.last_epoch, "last_lr": self.last_lr}

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from the step and rate of ``state_dict``.

        Raises:
            RuntimeError: if the step or the rate is missing.
        """
        op = f"{type(self).__name__}.set_state_dict"
        checks.instance(op, "state_dict", state_dict, dict, "a dict, as state_dict() returns it")
        for name in ("last_epoch", "last_lr"):
            if name not in state_dict:
                raise RuntimeError(
                    f"Please check whether state_dict is correct for optimizer. Can't find [ {name} ] in state_dict"
                )
        step = checks.integer(op, "last_epoch", state_dict["last_epoch"])
        self.last_epoch, self.last_lr = step, float(checks.real(op, "last_lr", state_dict["last_lr"]))


class StepDecay(LRScheduler):
    """``learning_rate * gamma ** (step // step_size)``.

    Raises:
        ValueError: if ``step_size`` is below 1, or ``learning_rate`` is not a number of at least 0.
    """

    def __init__(self, learning_rate: float, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = checks.integer("StepDecay", "step_size", step_size, least=1)
        self.gamma = float(checks.real("StepDecay", "gamma", gamma))
        super().__init__(learning_rate, last_epoch)

    def get_lr(self) -> float:
        return self.base_lr * self.gamma ** (self.last_epoch // self.step_size)


class CosineAnnealingDecay(LRScheduler):
    """Decrease the rate to ``eta_min`` along half a cosine in ``T_max`` steps, then increase it again (Loshchilov and
    Hutter 2017).

    Raises:
        ValueError: if ``T_max`` is not above 0, or ``learning_rate`` is not a number of at least 0.
    """

    def __init__(self, learning_rate: float, T_max: float, eta_min: float = 0.0, last_epoch: int = -1) -> None:  # noqa: N803  # Paddle's name
        self.T_max = checks.real("CosineAnnealingDecay", "T_max", T_max, above=0)
        self.eta_min = float(checks.real("CosineAnnealingDecay", "eta_min", eta_min))
        super().__init__(learning_rate, last_epoch)

    def get_lr(self) -> float:
        cosine = math.cos(math.pi * self.last_epoch / self.T_max)
        return self.eta_min + (self.base_lr - self.eta_min) * (1 + cosine) / 2


class LinearWarmup(LRScheduler):
    """Increase the rate from ``start_lr`` to ``end_lr`` in ``warmup_steps`` steps, then use ``learning_rate``.

    ``learning_rate`` is a number or a scheduler.

    Raises:
        ValueError: if ``warmup_steps`` is below 1, if ``start_lr`` is below 0, or if ``end_lr`` is not above
            ``start_lr``.
    """

    def __init__(
        self,
        learning_rate: float | LRScheduler,
        warmup_steps: int,
        start_lr: float,
        end_lr: float,
        last_epoch: int = -1,
    ) -> None:
        warmup_steps = checks.integer("LinearWarmup", "warmup_steps", warmup_steps)
        start_lr = checks.real("LinearWarmup", "start_lr", start_lr)
        end_lr = checks.real("LinearWarmup", "end_lr", end_lr)
        if not isinstance(learning_rate, LRScheduler):
            checks.real("LinearWarmup", "learning_rate", learning_rate, least=0)
        if warmup_steps < 1 or not end_lr > start_lr:
            raise ValueError(
                "LinearWarmup: warmup_steps must be at least 1 and end_lr above start_lr, but they are "
                f"{shown(warmup_steps)}, "
                f"{end_lr!r} and {shown(start_lr)}"
            )
        self.after_warmup, self.warmup_steps = learning_rate, warmup_steps
        self.start_lr, self.end_lr = float(start_lr), float(end_lr)
        super().__init__(start_lr, last_epoch)

    def get_lr(self) -> float:
        if self.last_epoch < self.warmup_steps:
            return self.start_lr + (self.end_lr - self.start_lr) * self.last_epoch / self.warmup_steps
        if isinstance(self.after_warmup, LRScheduler):
            self.after_warmup.step(self.last_epoch - self.warmup_steps)
            return self.after_warmup()
        return float(self.after_warmup)


class NoamDecay(LRScheduler):
    """``learning_rate * d_model ** -0.5 * min(step ** -0.5, step * warmup_steps ** -1.5)`` (Vaswani and others 2017).

    Raises:
        ValueError: if ``d_model`` is not above 0, or ``learning_rate`` is not a number of at least 0.
    """

    def __init__(self, d_model: int, warmup_steps: int, learning_rate: float = 1.0, last_epoch: int = -1) -> None:
        self.d_model = checks.real("NoamDecay", "d_model", d_model, above=0)
        self.warmup_steps = checks.real("NoamDecay", "warmup_steps", warmup_steps, above=0)
        super().__init__(learning_rate, last_epoch)

    def get_lr(self) -> float:
        step = checks.integer("NoamDecay", "the step", self.last_epoch, least=0)
        decay = 1.0 if step == 0 else step**-0.5
        return self.base_lr * self.d_model**-0.5 * min(decay, self.warmup_steps**-1.5 * step)


class PiecewiseDecay(LRScheduler):
    """``values[0]`` before step ``boundaries[0]``, then ``values[1]`` before step ``boundaries[1]``, and so on.

    The last value applies to all later steps.

    Raises:
        ValueError: unless there is one value more than there are boundaries.
    """

    def __init__(self, boundaries: list[int], values: list[float], last_epoch: int = -1) -> None:
        self.boundaries = checks.integers("PiecewiseDecay", "boundaries", boundaries)
        given = checks.elements("PiecewiseDecay", "values", values, "numbers", (int, float))
        self.values = [float(checks.real("PiecewiseDecay", "values", each)) for each in given]
        count = len(self.boundaries)
        if len(self.values) != count + 1:
            raise ValueError(f"PiecewiseDecay: {count} boundaries separate {count + 1} values, not {len(self.values)}")
        super().__init__(self.values[0], last_epoch)

    def get_lr(self) -> float:
        return float(self.values[sum(self.last_epoch >= each for each in self.boundaries)])


class _GammaDecay(LRScheduler):
    """Base class of schedulers whose rate decreases with the step; ``gamma`` determines how fast."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = float(checks.real(type(self).__name__, "gamma", gamma))
        super().__init__(learning_rate, last_epoch)


@checks.with_own_methods
class NaturalExpDecay(_GammaDecay):
    """``learning_rate * exp(-gamma * step)``.

    Raises:
        ValueError: if ``learning_rate`` is not a number of at least 0.
    """

    def get_lr(self) -> float:
        return self.base_lr * math.exp(-self.gamma * self.last_epoch)


@checks.with_own_methods
class InverseTimeDecay(_GammaDecay):
    """``learning_rate / (1 + gamma * step)``.

    Raises:
        ValueError: if ``learning_rate`` is not a number of at least 0.
    """

    def get_lr(self) -> float:
        return self.base_lr / (1 + self.gamma * self.last_epoch)


@checks.with_own_methods
class ExponentialDecay(_GammaDecay):
    """``learning_rate * gamma ** step``.

    Raises:
        ValueError: if ``learning_rate`` is not a number of at least 0.
    """

    def get_lr(self) -> float:
        return self.base_lr * self.gamma**self.last_epoch


class PolynomialDecay(LRScheduler):
    """Decrease the rate to ``end_lr`` in ``decay_steps`` steps, by a polynomial of degree ``power``.

    With ``cycle=True``, the rate jumps up after ``decay_steps`` steps, decreases to ``end_lr`` until the next multiple
    of ``decay_steps``, and so on.

    Raises:
        ValueError: if ``decay_steps`` is below 1, or ``learning_rate`` is not a number of at least 0.
    """

    def __init__(
        self,
        learning_rate: float,
        decay_steps: int,
        end_lr: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        last_epoch: int = -1,
    ) -> None:
        self.decay_steps = checks.integer("PolynomialDecay", "decay_steps", decay_steps, least=1)
        self.end_lr = float(checks.real("PolynomialDecay", "end_lr", end_lr))
        self.power = float(checks.real("PolynomialDecay", "power", power, least=0))
        self.cycle = checks.flag("PolynomialDecay", "cycle", cycle)
        super().__init__(learning_rate, last_epoch)

    def get_lr(self) -> float:
        step, length = self.last_epoch, self.decay_steps
        if self.cycle:
            length *= max(math.ceil(step / length), 1)
        else:
            step = min(step, length)
        return (self.base_lr - self.end_lr) * (1 - step / length) ** self.power + self.end_lr


class MultiStepDecay(LRScheduler):
    """Multiply the rate by ``gamma`` at each of the ``milestones``.

    Raises:
        ValueError: if the milestones do not increase, or ``learning_rate`` is not a number of at least 0.
    """

    def __init__(self, learning_rate: float, milestones: Any, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones = checks.integers("MultiStepDecay", "milestones", milestones)
        self.gamma = float(checks.real("MultiStepDecay", "gamma", gamma))
        if any(a >= b for a, b in zip(self.milestones, self.milestones[1:], strict=False)):
            raise ValueError(f"MultiStepDecay: milestones must increase, but they are {self.milestones}")
        super().__init__(learning_rate, last_epoch)

    def get_lr(self) -> float:
        return self.base_lr * self.gamma ** sum(self.last_epoch >= each for each in self.milestones)


class LambdaDecay(LRScheduler):
    """``learning_rate * lr_lambda(step)``.

    Raises:
        TypeError: if ``lr_lambda`` is not a function.
        ValueError: if ``learning_rate`` is not a number of at least 0.
    """

    def __init__(self, learning_rate: float, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambda = checks.function("LambdaDecay", "lr_lambda", lr_lambda)
        super().__init__(learning_rate, last_epoch)

    def get_lr(self) -> float:
        return self.base_lr * checks.real("LambdaDecay", "the result of lr_lambda", self.lr_lambda(self.last_epoch))


class MultiplicativeDecay(LRScheduler):
    """Multiply the rate by ``lr_lambda(step)`` at every step after the first.

    Raises:
        TypeError: if ``lr_lambda`` is not a function.
        ValueError: if ``learning_rate`` is not a number of at least 0.
    """

    def __init__(self, learning_rate: float, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambda = checks.function("MultiplicativeDecay", "lr_lambda", lr_lambda)
        super().__init__(learning_rate, last_epoch)

    def get_lr(self) -> float:
        rate = self.base_lr
        for step in range(1, self.last_epoch + 1):
            rate = rate * checks.real("MultiplicativeDecay", "the result of lr_lambda", self.lr_lambda(step))
        return rate


class ReduceOnPlateau(LRScheduler):
    """Multiply the rate by ``factor`` when a measure, such as the loss, has not improved for more than ``patience``
    steps. The program passes the measure to ``step``.

    Args:
        mode: "min" if a smaller measure is better, or "max".
        threshold: the smallest improvement that counts. It is relative to the best measure, or absolute with
            ``threshold_mode="abs"``.
        cooldown: the number of steps whose measures are ignored after a change of the rate.
        min_lr: the lowest rate.
        epsilon: the rate does not change if the change would be at most this number.

    Raises:
        ValueError: if ``factor`` is 1 or above, a mode is unknown, or ``learning_rate`` is not a number of at least 0.
    """

    def __init__(
        self,
        learning_rate: float,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0,
        epsilon: float = 1e-8,
        verbose: bool = False,
    ) -> None:
        op = "ReduceOnPlateau"
        self.mode = checks.choice(op, "mode", mode, ("min", "max"))
        self.threshold_mode = checks.choice(op, "threshold_mode", threshold_mode, ("rel", "abs"))
        self.factor = checks.real(op, "factor", factor)
        if not self.factor < 1.0:
            raise ValueError(f"ReduceOnPlateau: factor must be below 1, not {shown(factor)}")
        self.patience, self.cooldown = (
            checks.integer(op, name, given) for name, given in (("patience", patience), ("cooldown", cooldown))
        )
        self.threshold, self.min_lr, self.epsilon = (
            checks.real(op, name, given)
            for name, given in (("threshold", threshold), ("min_lr", min_lr), ("epsilon", epsilon))
        )
        self.best: float | None = None
        self.num_bad_epochs = self.cooldown_counter = 0
        super().__init__(learning_rate, -1)

    def get_lr(self) -> float:
        return self.last_lr

    def _improves(self, measure: float, best: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "rel":
            return sign * measure > sign * (best + sign * best * self.threshold)
        return sign * measure > sign * best + self.threshold

    def step(self, metrics: Any = None, epoch: int | None = None) -> None:  # type: ignore[override]  # as in Paddle
        """Count one step with the measure ``metrics``, a number or a tensor of one element.

        Raises:
            TypeError: if ``metrics`` is anything else.
        """
        if metrics is None and self.last_epoch == -1:  # the constructor of the base class calls `step()` once
            self.last_epoch = 0
            return
        given = metrics.item() if isinstance(metrics, Tensor) and metrics.size == 1 else metrics
        current = checks.real("ReduceOnPlateau.step", "metrics", given)
        self.last_epoch = (
            self.last_epoch + 1 if epoch is None else checks.integer("ReduceOnPlateau.step", "epoch", epoch)
        )
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            return
        if self.best is None or self._improves(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.num_bad_epochs > self.patience:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
            rate = max(self.last_lr * self.factor, self.min_lr)
            if self.last_lr - rate > self.epsilon:
                self.last_lr = rate
