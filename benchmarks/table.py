"""What is printed of the figures: ratios to other libraries, limits, and whether the targets are met.

A figure is measured once in each round. A ratio is taken round by round, of two processes that ran one after the other,
so that what slows the machine down for a while slows both; what is told is the median of the rounds, and the lowest and
the highest of them.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

#: Library -> name -> one figure for each round.
Figures = Mapping[str, Mapping[str, Sequence[float]]]

OURS = "minitensor"


@dataclass(frozen=True)
class Spread:
    """The median of some figures, and the lowest and the highest."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, figures: Sequence[float]) -> Spread:
        """Of one figure or more."""
        return cls(statistics.median(figures), min(figures), max(figures))


@dataclass(frozen=True)
class Line:
    """A row that was measured.

    Attributes:
        ours, theirs: in ``unit`` ("s" or "bytes", or what is counted); theirs is None for a limit.
        ratio: ours over theirs; None for a limit.
        most: the target: the most the ratio, or the figure, may be; None where there is none.
    """

    name: str
    unit: str
    ours: Spread
    over: str | None = None
    theirs: Spread | None = None
    ratio: Spread | None = None
    most: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the median is within the target; None without a target."""
        if self.most is None:
            return None
        return (self.ratio or self.ours).median <= self.most


@dataclass(frozen=True)
class Ratio:
    """A figure of minitensor over that of another library, or over another figure.

    Attributes:
        name: of the row, and of the figure in both libraries, where ``ours`` and ``theirs`` do not say otherwise.
        over: the library.
        most: the target.
        of: the library whose figure it is, where that is another one.
    """

    name: str
    over: str
    most: float | None = None
    unit: str = "s"
    ours: str | None = None
    theirs: str | None = None
    of: str = OURS

    def line(self, figures: Figures) -> Line | None:
        """None where one of the two was not measured."""
        ours = figures.get(self.of, {}).get(self.ours or self.name)
        theirs = figures.get(self.over, {}).get(self.theirs or self.name)
        if not ours or not theirs:
            return None
        ratios = [_over(a, b) for a, b in zip(ours, theirs, strict=False)]
        spreads = Spread.of(ours), self.over, Spread.of(theirs), Spread.of(ratios)
        return Line(self.name, self.unit, *spreads, self.most)


def _over(ours: float, theirs: float) -> float:
    """Nothing over nothing is 1, as with equals."""
    if theirs:
        return ours / theirs
    return float("inf") if ours else 1.0


@dataclass(frozen=True)
class Limit:
    """A figure of minitensor that must not be more than ``most``."""

    name: str
    unit: str
    most: float | None = None

    def line(self, figures: Figures) -> Line | None:
        """None where it was not measured."""
        ours = figures.get(OURS, {}).get(self.name)
        return Line(self.name, self.unit, Spread.of(ours), most=self.most) if ours else None


@dataclass(frozen=True)
class Fit:
    """A curve that was measured, and the straight line ``fixed + slope * x`` through it.

    Attributes:
        points: x and figure, the least of the rounds.
        fixed: in ``unit``.
        slope: in ``unit``, for each ``per``.
        worst: how far the point that is farthest lies from the line, as a part of the line there.
    """

    name: str
    unit: str
    per: str
    points: tuple[tuple[float, float], ...]
    fixed: float
    slope: float
    worst: float


@dataclass(frozen=True)
class Curve:
    """Figures of minitensor named ``NAME @ X``, with a straight line through them.

    The line is the one with the least squares of relative distances, so that a point at 12 bytes counts as much as one
    at 400 MB.
    """

    name: str
    unit: str
    per: str

    def line(self, figures: Figures) -> Fit | None:
        """None where it was not measured."""
        found = {
            float(name.partition(" @ ")[2]): min(each)
            for name, each in figures.get(OURS, {}).items()
            if name.startswith(f"{self.name} @ ")
        }
        if len(found) < 2:
            return None
        points = tuple(sorted(found.items()))
        fixed, slope = straight(points)
        worst = max(abs(y / (fixed + slope * x) - 1) if y else fixed + slope * x for x, y in points)
        return Fit(self.name, self.unit, self.per, points, fixed, slope, worst)


def straight(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Begin and slope, 0 or more, of the line with the least squares of ``log(y / line)``.

    Points at 0 have no logarithm and are left out.
    """
    kept = [(x, y) for x, y in points if y > 0]
    if not kept:
        return 0.0, 0.0
    x, y = np.array(kept, np.float64).T
    line = np.array([y.min(), y[-1] / x[-1]])
    for _ in range(100):  # Gauss and Newton's steps, halfway to 0 at most
        expected = line[0] + line[1] * x
        rates = np.stack([1 / expected, x / expected], axis=1) * line
        step = np.linalg.lstsq(rates, np.log(y / expected), rcond=None)[0]
        line = line * np.maximum(1 + step, 0.5)
    return float(line[0]), float(line[1])
