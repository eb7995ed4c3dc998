"""Gradients made smaller before a step. The gradients themselves stay as they are: a step works with a copy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = Any


class Clip:
    """Says what a step uses in place of each gradient."""

    def __call__(self, gradients: list[Array]) -> list[Array]:
        """New arrays in place of those that are too large; the others themselves."""
        raise NotImplementedError


class ClipGradByValue(Clip):
    """Each element of a gradient between ``min`` and ``max``; ``min`` is ``-max`` unless told.

    Gradients of any shape.

    Raises:
        ValueError: for ``min`` above ``max``.
    """

    def __init__(self, max: float, min: float | None = None) -> None:
        self.max, self.min = float(max), -float(max) if min is None else float(min)
        if not self.min <= self.max:
            raise ValueError(f"ClipGradByValue: min {self.min} is above max {self.max}")

    def __call__(self, gradients: list[Array]) -> list[Array]:
        """The gradients, none of them too large."""
        return [np.minimum(np.maximum(each, self.min), self.max) for each in gradients]


class ClipGradByNorm(Clip):
    """Each gradient whose root of the sum of squares is above ``clip_norm`` is scaled to that.

    Gradients of any shape.

    Raises:
        ValueError: for a ``clip_norm`` that is not above 0.
    """

    def __init__(self, clip_norm: float) -> None:
        self.clip_norm = _norm_of(clip_norm, "ClipGradByNorm")

    def __call__(self, gradients: list[Array]) -> list[Array]:
        """The gradients, none of them too large."""
        return [
            _scaled(each, 1.0 if (norm := _norm([each])) <= self.clip_norm else self.clip_norm / norm)  # also by nan
            for each in gradients
        ]


class ClipGradByGlobalNorm(Clip):
    """All gradients are scaled alike, where the root of the sum of all their squares is above ``clip_norm``
    (Pascanu, Mikolov and Bengio, 2013).

    Gradients of any shape.

    Raises:
        ValueError: for a ``clip_norm`` that is not above 0.
    """

    def __init__(self, clip_norm: float) -> None:
        self.clip_norm = _norm_of(clip_norm, "ClipGradByGlobalNorm")

    def __call__(self, gradients: list[Array]) -> list[Array]:
        """The gradients, all of them together not too large."""
        norm = _norm(gradients)
        return [_scaled(each, self.clip_norm / norm if norm > self.clip_norm else 1.0) for each in gradients]


def _norm_of(given: Any, name: str) -> float:
    if not float(given) > 0:
        raise ValueError(f"{name}: clip_norm is a number above 0, not {given!r}")
    return float(given)


def _norm(gradients: list[Array]) -> float:
    return math.sqrt(sum(float(np.multiply(each, each).sum().item()) for each in gradients))


def _scaled(gradient: Array, factor: float) -> Array:
    return gradient if factor == 1.0 else np.multiply(gradient, gradient.dtype.type(factor))
