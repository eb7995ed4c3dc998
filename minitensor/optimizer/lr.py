"""Learning rates that change with the step, under Paddle's names: each says its rate for a step, counted from 0.

Give one to an optimizer as ``learning_rate``, and call its ``step()`` when the rate is to change.
"""

from __future__ import annotations

import math
from typing import Any


class LRScheduler:
    """A rate for each step.

    Args:
        learning_rate: the rate that is begun with.
        last_epoch: the step that was last; -1 to begin.

    Raises:
        ValueError: for a ``learning_rate`` that is no number from 0 on.
    """

    def __init__(self, learning_rate: float = 0.1, last_epoch: int = -1) -> None:
        if isinstance(learning_rate, bool) or not isinstance(learning_rate, (int, float)) or not learning_rate >= 0:
            raise ValueError(f"{type(self).__name__}: learning_rate is a number from 0 on, not {learning_rate!r}")
        self.base_lr = float(learning_rate)
        self.last_epoch, self.last_lr = last_epoch, self.base_lr
        self.step()

    def get_lr(self) -> float:
        """The rate of step ``last_epoch``. A subclass says."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Go on by one step, or to step ``epoch``."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else int(epoch)
        self.last_lr = float(self.get_lr())

    def __call__(self) -> float:
        """The rate now."""
        return self.last_lr

    def state_dict(self) -> dict[str, Any]:
        """Where it is."""
        return {"last_epoch": self.last_epoch, "last_lr": self.last_lr}

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from there.

        Raises:
            RuntimeError: if it says not where.
        """
        for name in ("last_epoch", "last_lr"):
            if name not in state_dict:
                raise RuntimeError(
                    f"Please check whether state_dict is correct for optimizer. Can't find [ {name} ] in state_dict"
                )
        self.last_epoch, self.last_lr = int(state_dict["last_epoch"]), float(state_dict["last_lr"])


class StepDecay(LRScheduler):
    """``learning_rate * gamma ** (step // step_size)``.

    Raises:
        ValueError: for a ``step_size`` below 1, or a rate that is no number from 0 on.
    """

    def __init__(self, learning_rate: float, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        if int(step_size) < 1:
            raise ValueError(f"StepDecay: step_size is at least 1, not {step_size!r}")
        self.step_size, self.gamma = int(step_size), float(gamma)
        super().__init__(learning_rate, last_epoch)

    def get_lr(self) -> float:
        """The rate of this step."""
        return self.base_lr * self.gamma ** (self.last_epoch // self.step_size)


class CosineAnnealingDecay(LRScheduler):
    """From ``learning_rate`` down to ``eta_min`` along half a cosine, in ``T_max`` steps, and back (SGDR, 2017).

    Raises:
        ValueError: for a ``T_max`` that is not above 0, or a rate that is no number from 0 on.
    """

    def __init__(self, learning_rate: float, T_max: float, eta_min: float = 0.0, last_epoch: int = -1) -> None:  # noqa: N803  # Paddle's name
        if not T_max > 0:
            raise ValueError(f"CosineAnnealingDecay: T_max is a number above 0, not {T_max!r}")
        self.T_max, self.eta_min = T_max, float(eta_min)
        super().__init__(learning_rate, last_epoch)

    def get_lr(self) -> float:
        """The rate of this step."""
        turn = math.cos(math.pi * self.last_epoch / self.T_max)
        return self.eta_min + (self.base_lr - self.eta_min) * (1 + turn) / 2


class LinearWarmup(LRScheduler):
    """From ``start_lr`` to ``end_lr`` in ``warmup_steps`` steps; then ``learning_rate``, a number or a scheduler.

    Raises:
        ValueError: for ``warmup_steps`` below 1, or an ``end_lr`` that is not above ``start_lr``.
    """

    def __init__(
        self,
        learning_rate: float | LRScheduler,
        warmup_steps: int,
        start_lr: float,
        end_lr: float,
        last_epoch: int = -1,
    ) -> None:
        if int(warmup_steps) < 1 or not end_lr > start_lr:
            raise ValueError(
                f"LinearWarmup: warmup_steps is at least 1 and end_lr above start_lr; they are {warmup_steps!r}, "
                f"{end_lr!r} and {start_lr!r}"
            )
        self.then, self.warmup_steps = learning_rate, int(warmup_steps)
        self.start_lr, self.end_lr = float(start_lr), float(end_lr)
        super().__init__(start_lr, last_epoch)

    def get_lr(self) -> float:
        """The rate of this step."""
        if self.last_epoch < self.warmup_steps:
            return self.start_lr + (self.end_lr - self.start_lr) * self.last_epoch / self.warmup_steps
        if isinstance(self.then, LRScheduler):
            self.then.step(self.last_epoch - self.warmup_steps)
            return self.then()
        return float(self.then)
