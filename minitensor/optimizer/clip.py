"""Limit gradients before a step. The step uses limited copies, so the attribute ``grad`` does not change."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.dtypes import FLOATS
from minitensor.engine.kernels.sixteen_bits import wide

Array = Any


class Clip:
    """Base class of rules that limit gradients."""

    def __call__(self, gradients: list[Array]) -> list[Array]:
        """Return the limited gradients. A gradient that is not too large may be returned without a copy."""
        raise checks.undefined(self, "__call__")


class ClipGradByValue(Clip):
    """Limit each element of a gradient to the range from ``min`` (by default ``-max``) to ``max``.

    Gradients have any shape.

    Raises:
        ValueError: if ``min`` is above ``max``.
    """

    def __init__(self, max: float, min: float | None = None) -> None:
        self.max = float(checks.real("ClipGradByValue", "max", max))
        self.min = -self.max if min is None else float(checks.real("ClipGradByValue", "min", min))
        if not self.min <= self.max:
            raise ValueError(f"ClipGradByValue: min must be at most max, but they are {self.min} and {self.max}")

    def __call__(self, gradients: list[Array]) -> list[Array]:
        gradients = _arrays("ClipGradByValue", gradients)
        return [np.minimum(np.maximum(each, self.min), self.max) for each in gradients]


class ClipGradByNorm(Clip):
    """Scale each gradient so that its norm, the root of the sum of squares, is at most ``clip_norm``.

    Gradients have any shape.

    Raises:
        ValueError: if ``clip_norm`` is not above 0.
    """

    def __init__(self, clip_norm: float) -> None:
        self.clip_norm = _positive(clip_norm, "ClipGradByNorm")

    def __call__(self, gradients: list[Array]) -> list[Array]:
        gradients = _arrays("ClipGradByNorm", gradients)
        # A norm of nan is not <= clip_norm, so the gradient becomes nan.
        return [
            _scale(each, 1.0 if (norm := _norm([each])) <= self.clip_norm else self.clip_norm / norm)
            for each in gradients
        ]


class ClipGradByGlobalNorm(Clip):
    """Scale all gradients by one factor, so that the root of the sum of all their squares is at most ``clip_norm``
    (Pascanu, Mikolov and Bengio, 2013).

    Gradients have any shape.

    Raises:
        ValueError: if ``clip_norm`` is not above 0.
    """

    def __init__(self, clip_norm: float) -> None:
        self.clip_norm = _positive(clip_norm, "ClipGradByGlobalNorm")

    def __call__(self, gradients: list[Array]) -> list[Array]:
        gradients = _arrays("ClipGradByGlobalNorm", gradients)
        norm = _norm(gradients)
        return [_scale(each, self.clip_norm / norm if norm > self.clip_norm else 1.0) for each in gradients]


def _positive(given: Any, name: str) -> float:
    return float(checks.real(name, "clip_norm", given, above=0))


def _arrays(op: str, gradients: Any) -> list[Array]:
    """Return ``gradients`` as a list; raise TypeError unless all are arrays of floats."""
    for each in checks.elements(op, "gradients", gradients, "arrays of floats"):
        if isinstance(each, np.generic) or getattr(each, "dtype", None) not in FLOATS or not hasattr(each, "astype"):
            raise TypeError(
                f"{op}: gradients must be arrays of floats, as an optimizer has them, not {checks.shown(each)}"
            )
    return list(gradients)


def _norm(gradients: list[Array]) -> float:
    return math.sqrt(sum(float(np.multiply(each, each).sum().item()) for each in map(wide, gradients)))


def _scale(gradient: Array, factor: float) -> Array:
    return gradient if factor == 1.0 else np.multiply(gradient, gradient.dtype.type(factor))
