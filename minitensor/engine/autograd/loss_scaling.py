"""Scaled losses: float16 cannot hold gradients below 6e-8, so the loss is multiplied and the gradients are divided.

If a gradient contains inf or nan, the step is skipped and the scale is reduced. After many steps in a row without inf
and nan, the scale grows. :class:`minitensor.torch.amp.GradScaler` and :class:`minitensor.amp.GradScaler` use this
module and have the methods of PyTorch's and of Paddle's class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.device.arrays import host_array
from minitensor.engine.modes import no_grad


def read_state(op: str, state_dict: Any, check_of: Mapping[str, Callable[[str, str, Any], Any]]) -> dict[str, Any]:
    """Return the entries of a scaler's state; ``check_of`` maps the name of each entry to a function that checks it.

    Raises:
        TypeError: if ``state_dict`` is not a dict, or an entry has the wrong type.
        ValueError: if an entry is missing.
    """
    checks.instance(op, "state_dict", state_dict, dict, "a dict, as state_dict() returns it")
    for name in check_of:
        if name not in state_dict:
            raise ValueError(f"{op}: state_dict has no {name!r}, which state_dict() writes")
    return {name: check(op, f"state_dict[{name!r}]", state_dict[name]) for name, check in check_of.items()}


def unscale(gradients: Iterable[Any], scale: float) -> bool:
    """Divide gradients by ``scale`` in place; return True if one of them contains inf or nan."""
    found = False
    with no_grad():
        for g in gradients:
            g.multiply_(1.0 / scale)
            found = found or not bool(np.isfinite(host_array(g._array)).all())
    return found


@dataclass
class LossScale:
    """The scale of losses, and the rule that adapts it.

    Attributes:
        scale: the number by which losses are multiplied.
        growth, interval: the scale is multiplied by ``growth`` after ``interval`` updates in a row without inf and nan,
            unless float32 cannot hold the product.
        backoff, patience: the scale is multiplied by ``backoff`` after ``patience`` updates in a row with inf or nan.
        good, bad: the length of the current run of updates without inf and nan, and of the current run with inf or nan.
        found: for each optimizer whose gradients were unscaled since the last update, True if a gradient contained inf
            or nan. The keys are the ids of the optimizers.
        stepped: the ids of the optimizers that have stepped since the last update.
    """

    scale: float
    growth: float
    backoff: float
    interval: int
    patience: int = 1
    good: int = 0
    bad: int = 0
    found: dict[int, bool] = field(default_factory=dict)
    stepped: set[int] = field(default_factory=set)

    def unscale(self, optimizer: Any, gradients: Iterable[Any]) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, in place.

        Raises:
            RuntimeError: if these gradients were already unscaled, or the optimizer has stepped, since the last update.
        """
        if id(optimizer) in self.stepped:
            raise RuntimeError("unscale_() is being called after step().")
        if id(optimizer) in self.found:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        self.found[id(optimizer)] = unscale(gradients, self.scale)

    def may_step(self, optimizer: Any, unscale_: Callable[[Any], None]) -> bool:
        """Return True if the optimizer may step, because no gradient contains inf or nan. The call counts as a step.

        Args:
            unscale_: called with the optimizer if its gradients have not been unscaled since the last update.

        Raises:
            RuntimeError: if the optimizer has stepped since the last update.
        """
        if id(optimizer) in self.stepped:
            raise RuntimeError("step() has already been called since the last update().")
        if id(optimizer) not in self.found:
            unscale_(optimizer)
        self.stepped.add(id(optimizer))
        return not self.found[id(optimizer)]

    def next_step(self) -> None:
        """Forget which optimizers were unscaled and have stepped. Call it after each update."""
        self.found, self.stepped = {}, set()

    def update(self, found_inf: bool) -> None:
        """Adapt the scale after a step. ``found_inf`` is true if a gradient contained inf or nan."""
        if found_inf:
            self.good, self.bad = 0, self.bad + 1
            if self.bad >= self.patience:
                self.scale, self.bad = self.scale * self.backoff, 0
            return
        self.good, self.bad = self.good + 1, 0
        if self.good >= self.interval:
            grown = self.scale * self.growth
            self.scale, self.good = grown if np.isfinite(np.float32(grown)) else self.scale, 0
