"""Compute slopes by central differences, and compare them with gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Arrays = list[np.ndarray]


class GradientMismatch(Exception):
    """A gradient is wrong or cannot be checked; the message describes the difference."""


@dataclass
class Comparison:
    """Slopes of one output for one input, from backward and from finite differences.

    Attributes:
        of, by: the names of the output and of the input.
        analytic, numeric: the slopes from backward and from finite differences, as arrays. The dimensions of the output
            come first, then those of the input.
        split: the number of leading dimensions that belong to the output.
        labels: the labels of an analytic and of a numeric slope in the message.
    """

    of: str
    by: str
    analytic: np.ndarray
    numeric: np.ndarray
    split: int = 0
    labels: tuple[str, str] = ("backward says  ", "differences say")

    def expect_equal(self, atol: float, rtol: float) -> None:
        """Raise GradientMismatch if the slopes differ; the message shows the element that is farthest off."""
        off = ~np.isclose(self.analytic, self.numeric, rtol=rtol, atol=atol)
        if not off.any():
            return
        distance = np.where(off, np.abs(self.analytic - self.numeric), -1)
        distance[np.isnan(distance)] = np.inf
        at = tuple(int(i) for i in np.unravel_index(np.argmax(distance), distance.shape))
        gradient, slope = float(self.analytic[at]), float(self.numeric[at])
        raise GradientMismatch(
            f"gradcheck: the gradient of {self.of} for {self.by} is wrong in {int(off.sum())} of {off.size} elements.\n"
            f"  farthest off: d {self.of}{_index(at[: self.split])} / d {self.by}{_index(at[self.split :])}\n"
            f"  {self.labels[0]} {gradient!r}\n"
            f"  {self.labels[1]} {slope!r}\n"
            f"  they differ by {abs(gradient - slope):.3g}; allowed are {atol:g} + {rtol:g} * {abs(slope):.3g}"
        )


def _index(at: tuple[int, ...]) -> str:
    return str(list(at)) if at else ""


def slopes(function: Callable[[Arrays], Arrays], arrays: Arrays, eps: float) -> list[Arrays]:
    """Return the slopes of each output of ``function`` along each array, by central differences.

    The slopes of an output along an array have the shape of the output, followed by that of the array.

    Raises:
        ValueError: if adding ``eps`` to an element does not change it, as for inf, nan and large numbers.
    """
    shapes = [out.shape for out in function(arrays)]
    found = [[np.zeros(shape + array.shape) for array in arrays] for shape in shapes]
    for i, array in enumerate(arrays):
        for at in np.ndindex(array.shape):
            ends, steps = [], (array[at] + eps, array[at] - eps)
            if not steps[0] > steps[1]:
                raise ValueError(
                    f"gradcheck: adding or subtracting {eps} makes no difference to {float(array[at])!r}; "
                    f"differences need finite inputs, or a larger eps"
                )
            for step in steps:
                moved = [np.copy(each, order="K") for each in arrays]
                moved[i][at] = step
                ends.append([np.array(out, np.float64) for out in function(moved)])
            for k, (above, below) in enumerate(zip(*ends, strict=True)):
                # The two steps were rounded, so divide by their actual difference.
                with np.errstate(all="ignore"):  # inf - inf is nan, which the comparison reports
                    found[k][i][(..., *at)] = (above - below) / (steps[0] - steps[1])
    return found


def weights(seed: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return fixed numbers of alternating signs and sizes from 0.5 to 1.5, so that errors hardly ever cancel out."""
    sizes = np.random.default_rng(seed).uniform(0.5, 1.5, shape)
    return sizes * np.where(np.arange(sizes.size) % 2, 1.0, -1.0).reshape(shape)
