"""Scaled losses: gradients of float16 below 6e-8 are 0, so the loss is multiplied first, and the gradients divided.

The scale follows the gradients: if one of them is inf or nan, the step is skipped and the scale reduced; after many
steps without any, it grows. :class:`minitensor.torch.amp.GradScaler` and :class:`minitensor.amp.GradScaler` have their
frameworks' names for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from minitensor.engine.device.arrays import host_array
from minitensor.engine.modes import no_grad


def unscale(gradients: Iterable[Any], scale: float) -> bool:
    """Divide gradients by ``scale`` in place; return True if one of them has an inf or nan."""
    found = False
    with no_grad():
        for g in gradients:
            g.multiply_(1.0 / scale)
            found = found or not bool(np.isfinite(host_array(g._array)).all())
    return found


@dataclass
class LossScale:
    """The scale, and its rule.

    Attributes:
        scale: the number that losses are multiplied with.
        growth: the factor after ``interval`` updates in a row without inf and nan.
        backoff: the factor after ``patience`` updates in a row with one.
        good, bad: how many such updates there were in a row.
    """

    scale: float
    growth: float
    backoff: float
    interval: int
    patience: int = 1
    good: int = 0
    bad: int = 0

    def update(self, found_inf: bool) -> None:
        """Change the scale after a step."""
        if found_inf:
            self.good, self.bad = 0, self.bad + 1
            if self.bad >= self.patience:
                self.scale, self.bad = self.scale * self.backoff, 0
            return
        self.good, self.bad = self.good + 1, 0
        if self.good >= self.interval:
            grown = self.scale * self.growth
            self.scale, self.good = grown if np.isfinite(np.float32(grown)) else self.scale, 0
