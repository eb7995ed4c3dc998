"""``torch.optim.lr_scheduler``: schedules that set the learning rate of an optimizer's groups."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import Any

from minitensor.engine import checks
from minitensor.torch.errors import missing_in
from minitensor.torch.optim.optimizer import Optimizer
from minitensor.torch.optim.schedules import (  # noqa: F401  # part of this namespace
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from minitensor.torch.tensor import Tensor

__all__ = [
    *("ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "ExponentialLR"),
    *("LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR"),
    *("ReduceLROnPlateau", "SequentialLR", "StepLR"),
]


class OneCycleLR(LRScheduler):
    """Raise the rate to ``max_lr`` in the first steps, then lower it (Smith and Topin 2018).

    ``pct_start`` is the fraction of all steps in which the rate rises.

    Args:
        max_lr: the highest rate, one for all groups.
        total_steps: the number of steps, or ``epochs`` times ``steps_per_epoch``.
        anneal_strategy: "cos" or "linear".
        cycle_momentum: True to lower the momentum (in Adam, the first beta) from ``max_momentum`` to ``base_momentum``
            and raise it again.
        div_factor, final_div_factor: the first rate is ``max_lr / div_factor``, and the last rate is the first one
            divided by ``final_div_factor``.
        three_phase: True to return to the first rate before the last phase.

    Raises:
        ValueError: if the number of steps, ``pct_start`` or ``anneal_strategy`` is not allowed, or after more than
            ``total_steps`` steps.
        TypeError: if ``optimizer`` is not an optimizer.
    """

    def __init__(
        self,
        optimizer: Any,
        max_lr: float,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float = 0.85,
        max_momentum: float = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
            epochs = checks.integer(self._op, "epochs", epochs, least=1)
            total_steps = epochs * checks.integer(self._op, "steps_per_epoch", steps_per_epoch, least=1)
        total_steps = checks.integer(self._op, "total_steps", total_steps, least=1)
        max_lr, pct_start, base_momentum, max_momentum = (
            checks.real(self._op, name, given)
            for name, given in (
                *(("max_lr", max_lr), ("pct_start", pct_start)),
                *(("base_momentum", base_momentum), ("max_momentum", max_momentum)),
            )
        )
        div_factor = checks.real(self._op, "div_factor", div_factor, above=0)
        final_div_factor = checks.real(self._op, "final_div_factor", final_div_factor, above=0)
        cycle_momentum = checks.flag(self._op, "cycle_momentum", cycle_momentum)
        three_phase = checks.flag(self._op, "three_phase", three_phase)
        if not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        checks.choice(self._op, "anneal_strategy", anneal_strategy, ("cos", "linear"))
        self.total_steps, self.anneal_strategy, self.cycle_momentum = total_steps, anneal_strategy, cycle_momentum
        first, last = max_lr / div_factor, max_lr / div_factor / final_div_factor
        peak = float(pct_start * total_steps) - 1
        low, high = base_momentum, max_momentum
        # A phase is a tuple of its last step, its first and last rate, and its first and last momentum.
        phases = [(peak, first, max_lr, high, low)]
        if three_phase:
            phases.append((2 * pct_start * total_steps - 2, max_lr, first, low, high))
        phases.append((total_steps - 1, phases[-1][2], last, phases[-1][4], high))
        self._phases = phases
        super().__init__(optimizer, last_epoch)

    def step(self) -> None:
        """Advance by one step.

        Raises:
            ValueError: after more than ``total_steps`` steps.
        """
        if self.last_epoch + 1 > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch + 1} times. The specified number of total steps is {self.total_steps}"
            )
        super().step()
        if not self.cycle_momentum:
            return
        momentum = self._at(3)
        for group in self.optimizer.param_groups:
            if "betas" in group:
                group["betas"] = (momentum, *group["betas"][1:])
            else:
                group["momentum"] = momentum

    def _rate(self, base: float, now: float) -> float:
        return self._at(1)

    def _at(self, which: int) -> float:
        """Return the rate (``which`` is 1) or the momentum (``which`` is 3) of this step."""
        start, phase = 0.0, self._phases[-1]
        for each in self._phases:
            if self.last_epoch <= each[0]:
                phase = each
                break
            start = each[0]
        else:
            start = self._phases[-2][0]
        share = (self.last_epoch - start) / ((phase[0] - start) or 1.0)
        begin, end = phase[which], phase[which + 1]
        if self.anneal_strategy == "linear":
            return begin + (end - begin) * share
        return end + (begin - end) / 2 * (1 + math.cos(math.pi * share))


class _OfSchedules(LRScheduler):
    """A schedule that consists of other schedules."""

    optimizer: Any
    _schedulers: list[LRScheduler]

    def get_lr(self) -> list[float]:
        """Raise NotImplementedError, as in PyTorch: the inner schedules compute the rates."""
        raise NotImplementedError(f"{self._op}: its schedules compute the rates; get_last_lr() returns them")

    def _store(self, optimizer: Any, schedulers: Any) -> None:
        """Store the schedules and the optimizer. All schedules must belong to this optimizer."""
        op = self._op
        self._schedulers = checks.elements(op, "schedulers", schedulers, "schedules", LRScheduler)
        if not self._schedulers:
            raise ValueError(f"{op} expects at least one scheduler")
        self.optimizer = self._schedulers[0].optimizer if optimizer is None else optimizer
        checks.instance(op, "optimizer", self.optimizer, Optimizer, "an optimizer")
        for i, scheduler in enumerate(self._schedulers):
            if scheduler.optimizer is not self.optimizer:
                raise ValueError(f"{op} expects all schedulers to belong to the same optimizer; number {i} does not")

    def _undo_first_step(self) -> None:
        for scheduler in self._schedulers:
            scheduler._undo_first_step()

    def state_dict(self) -> dict[str, Any]:
        """Return the state with the states of the inner schedules, but without the optimizer."""
        own = {name: value for name, value in self.__dict__.items() if name not in ("optimizer", "_schedulers")}
        return {**own, "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state. The rate in the optimizer changes only at the next step."""
        op = f"{type(self).__name__}.load_state_dict()"
        checks.instance(op, "state_dict", state_dict, dict, "a dict, as state_dict() returns it")
        states = checks.elements(op, "the value of _schedulers", state_dict.get("_schedulers"), "dicts", dict)
        if len(states) != len(self._schedulers):
            raise ValueError(f"{op}: there are {len(self._schedulers)} schedules, and {len(states)} states")
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "_schedulers"})
        for scheduler, state in zip(self._schedulers, states, strict=True):
            scheduler.load_state_dict(state)


class ChainedScheduler(_OfSchedules):
    """Let several schedules change the rates at every step, one after the other.

    A schedule starts from the rates that the previous one has set.

    Raises:
        ValueError: if there is no schedule, or if they have different optimizers.
        TypeError: if ``schedulers`` contains something that is not a schedule.
    """

    def __init__(self, schedulers: Any, optimizer: Any = None) -> None:
        self._store(optimizer, schedulers)
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def step(self) -> None:
        """Advance each schedule by one step."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]


class SequentialLR(_OfSchedules):
    """Use several schedules in turn. At each step in ``milestones``, the next schedule begins.

    Raises:
        ValueError: if the number of milestones is not the number of schedules minus 1.
    """

    def __init__(self, optimizer: Any, schedulers: list[Any], milestones: list[int], last_epoch: int = -1) -> None:
        self._store(checks.instance(self._op, "optimizer", optimizer, Optimizer, "an optimizer"), schedulers)
        milestones = checks.integers(self._op, "milestones", milestones)
        last_epoch = checks.integer(self._op, "last_epoch", last_epoch)
        if len(milestones) != len(self._schedulers) - 1:
            raise ValueError(
                f"Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(self._schedulers)} and the number of milestones "
                f"to be equal to {len(milestones)}"
            )
        self._milestones, self.last_epoch = milestones, last_epoch + 1
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        self._undo_first_step()  # the constructor of each schedule has made a step
        first = self._schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:
        """Advance by one step."""
        self.last_epoch += 1
        number = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[number]
        if number and self._milestones[number - 1] == self.last_epoch:
            scheduler._begin_turn()
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ReduceLROnPlateau:  # Paddle's `ReduceOnPlateau` is an `LRScheduler`, and counts and compares differently
    """Multiply the rate by ``factor`` when a measure, such as the loss, has not improved for more than ``patience``
    steps. The program passes the measure to ``step``.

    Args:
        mode: "min" if a smaller measure is better, or "max".
        threshold: the smallest improvement that counts. It is a fraction of the best measure, or with
            ``threshold_mode="abs"`` a difference from it.
        cooldown: after a change of the rate, a lack of improvement does not count for this number of steps.
        min_lr: the lowest rate, either one number for all groups or a list with a number for each group.
        eps: a change of the rate is omitted if it is not larger than this number.

    Raises:
        ValueError: if ``factor`` is 1 or above, or a mode is unknown.
    """

    def __init__(
        self,
        optimizer: Any,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0.0,
        eps: float = 1e-8,
    ) -> None:
        op = "ReduceLROnPlateau()"
        self.optimizer = checks.instance(op, "optimizer", optimizer, Optimizer, "an optimizer")
        self.factor = checks.real(op, "factor", factor)
        if not self.factor < 1.0:
            raise ValueError("Factor should be < 1.0.")
        self.mode = checks.choice(op, "mode", mode, ("min", "max"))
        self.threshold_mode = checks.choice(op, "threshold_mode", threshold_mode, ("rel", "abs"))
        self.patience = checks.integer(op, "patience", patience)
        self.cooldown = checks.integer(op, "cooldown", cooldown)
        self.threshold, self.eps = checks.real(op, "threshold", threshold), checks.real(op, "eps", eps)
        groups = optimizer.param_groups
        rates = min_lr if isinstance(min_lr, (list, tuple)) else [min_lr] * len(groups)
        self.min_lrs = [checks.real(op, "min_lr", each) for each in rates]
        if len(self.min_lrs) != len(groups):
            raise ValueError(f"expected {len(groups)} min_lrs, got {len(self.min_lrs)}")
        self.best, self.num_bad_epochs, self.cooldown_counter, self.last_epoch = self._worst(), 0, 0, 0
        self._last_lr = [group["lr"] for group in groups]

    def _worst(self) -> float:
        return math.inf if self.mode == "min" else -math.inf

    def is_better(self, measure: float, best: float) -> bool:
        """True if ``measure`` improves on ``best`` by more than the threshold."""
        measure, best = (checks.real("is_better()", "a measure", each) for each in (measure, best))
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "abs":
            return sign * measure > sign * best + self.threshold
        return sign * measure > sign * best * (1 + sign * self.threshold)

    def step(self, metrics: Any) -> None:
        """Count one step with the measure ``metrics``, a number or a tensor of one element."""
        given = metrics.item() if isinstance(metrics, Tensor) and metrics._array.size == 1 else metrics
        current = float(checks.real("ReduceLROnPlateau.step()", "metrics", given))
        self.last_epoch += 1
        if self.is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, lowest in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
                rate = max(group["lr"] * self.factor, lowest)
                if group["lr"] - rate > self.eps:
                    group["lr"] = rate
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[float]:
        """Return the rate of each group after the last step."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """Return the state, without the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state."""
        checks.instance("ReduceLROnPlateau.load_state_dict()", "state_dict", state_dict, dict, "a dict")
        for name in state_dict:
            checks.text("ReduceLROnPlateau.load_state_dict()", "a key of state_dict", name)
        self.__dict__.update(state_dict)


__getattr__ = missing_in("torch.optim.lr_scheduler", lambda: __all__)
