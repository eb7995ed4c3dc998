"""Learning rates that change with the step, under Paddle's names: each computes the rate of a step, counted from 0.

Pass one to an optimizer as ``learning_rate``, and call its ``step()`` to advance the rate.
"""

from __future__ import annotations

import math
from typing import Any

from minitensor.engine import checks


class LRScheduler:
    """A learning rate for each step.

    Args:
        learning_rate: the initial rate.
        last_epoch: the previous step; -1 at the beginning.

    Raises:
        ValueError: if ``learning_rate`` is not a number from 0 on.
    """

    def __init__(self, learning_rate: float = 0.1, last_epoch: int = -1) -> None:
        if isinstance(learning_rate, bool) or not isinstance(learning_rate, (int, float)) or not learning_rate >= 0:
            raise ValueError(f"{type(self).__name__}: learning_rate is a number from 0 on, not {learning_rate!r}")
        self.base_lr = float(learning_rate)
        self.last_epoch = checks.integer(type(self).__name__, "last_epoch", last_epoch)
        self.last_lr = self.base_lr
        self.step()

    def get_lr(self) -> float:
        """Return the rate of step ``last_epoch``; implemented by subclasses."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Advance by one step, or to step ``epoch``."""
        before, op = self.last_epoch, f"{type(self).__name__}.step"
        self.last_epoch = before + 1 if epoch is None else checks.integer(op, "epoch", epoch)
        try:
            self.last_lr = float(self.get_lr())
        except OverflowError:
            step, self.last_epoch = self.last_epoch, before
            raise ValueError(f"{op}: the rate of step {step} is larger than any float") from None

    def __call__(self) -> float:
        """Return the current rate."""
        return self.last_lr

    def state_dict(self) -> dict[str, Any]:
        """Return the current step and rate."""
        return {"last_epoch": self.last_epoch, "last_lr": self.last_lr}

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from the step and rate of ``state_dict``.

        Raises:
            RuntimeError: if one of them is missing.
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
        ValueError: if ``step_size`` is below 1, or if the rate is not a number from 0 on.
    """

    def __init__(self, learning_rate: float, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = checks.integer("StepDecay", "step_size", step_size, least=1)
        self.gamma = float(checks.real("StepDecay", "gamma", gamma))
        super().__init__(learning_rate, last_epoch)

    def get_lr(self) -> float:
        """Return the rate of this step."""
        return self.base_lr * self.gamma ** (self.last_epoch // self.step_size)


class CosineAnnealingDecay(LRScheduler):
    """Decrease ``learning_rate`` to ``eta_min`` along half a cosine in ``T_max`` steps, then increase it (SGDR, 2017).

    Raises:
        ValueError: if ``T_max`` is not above 0, or if the rate is not a number from 0 on.
    """

    def __init__(self, learning_rate: float, T_max: float, eta_min: float = 0.0, last_epoch: int = -1) -> None:  # noqa: N803  # Paddle's name
        self.T_max = checks.real("CosineAnnealingDecay", "T_max", T_max, above=0)
        self.eta_min = float(checks.real("CosineAnnealingDecay", "eta_min", eta_min))
        super().__init__(learning_rate, last_epoch)

    def get_lr(self) -> float:
        """Return the rate of this step."""
        turn = math.cos(math.pi * self.last_epoch / self.T_max)
        return self.eta_min + (self.base_lr - self.eta_min) * (1 + turn) / 2


class LinearWarmup(LRScheduler):
    """Increase the rate from ``start_lr`` to ``end_lr`` in ``warmup_steps`` steps, then use ``learning_rate``.

    ``learning_rate`` is a number or a scheduler.

    Raises:
        ValueError: if ``warmup_steps`` is below 1, or if ``end_lr`` is not above ``start_lr``.
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
                f"LinearWarmup: warmup_steps is at least 1 and end_lr above start_lr; they are {warmup_steps!r}, "
                f"{end_lr!r} and {start_lr!r}"
            )
        self.then, self.warmup_steps = learning_rate, warmup_steps
        self.start_lr, self.end_lr = float(start_lr), float(end_lr)
        super().__init__(start_lr, last_epoch)

    def get_lr(self) -> float:
        """Return the rate of this step."""
        if self.last_epoch < self.warmup_steps:
            return self.start_lr + (self.end_lr - self.start_lr) * self.last_epoch / self.warmup_steps
        if isinstance(self.then, LRScheduler):
            self.then.step(self.last_epoch - self.warmup_steps)
            return self.then()
        return float(self.then)
