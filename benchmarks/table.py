"""Rows of the printed table: ratios to other libraries, limits, and targets.

A figure is measured once in each round. A ratio compares two processes of the same round, which ran one after the
other, so that temporary load on the machine slows both. The table has the median, the lowest and the highest of the
rounds.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

#: Maps a library and the name of a figure to the figures of all rounds.
Figures = Mapping[str, Mapping[str, Sequence[float]]]

OURS = "minitensor"


@dataclass(frozen=True)
class Spread:
    """The median, the lowest and the highest of some figures."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, figures: Sequence[float]) -> Spread:
        """Return the spread of one figure or more."""
        return cls(statistics.median(figures), min(figures), max(figures))


@dataclass(frozen=True)
class Line:
    """A measured row.

    Attributes:
        ours, theirs: figures in ``unit`` ("s", "bytes" or a noun for what is counted); theirs is None for a limit.
        over: the library of ``theirs``; None for a limit.
        ratio: ours divided by theirs; None for a limit.
        most: the target, which is an upper limit for the ratio or the figure; None without a target.
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
        """True if the median is within the target; None if there is no target."""
        if self.most is None:
            return None
        return (self.ratio or self.ours).median <= self.most


@dataclass(frozen=True)
class Ratio:
    """A figure of minitensor, divided by a figure of another library.

    Attributes:
        name: the name of the row. It is also the name of both figures, unless ``ours`` or ``theirs`` is given.
        over: the library to divide by.
        most: the target.
        unit: "s", "bytes" or a noun for what is counted.
        ours, theirs: the names of the two figures.
        of: the library of ``ours``, if it is not minitensor.
    """

    name: str
    over: str
    most: float | None = None
    unit: str = "s"
    ours: str | None = None
    theirs: str | None = None
    of: str = OURS

    def line(self, figures: Figures) -> Line | None:
        """Return the row; None if one of the two figures is missing."""
        ours = figures.get(self.of, {}).get(self.ours or self.name)
        theirs = figures.get(self.over, {}).get(self.theirs or self.name)
        if not ours or not theirs:
            return None
        ratios = [_over(a, b) for a, b in zip(ours, theirs, strict=False)]
        spreads = Spread.of(ours), self.over, Spread.of(theirs), Spread.of(ratios)
        return Line(self.name, self.unit, *spreads, self.most)


def _over(ours: float, theirs: float) -> float:
    """Return the ratio of two figures; 0 divided by 0 is 1, because the figures are equal."""
    if theirs:
        return ours / theirs
    return float("inf") if ours else 1.0


@dataclass(frozen=True)
class Limit:
    """A figure of minitensor with the upper limit ``most``."""

    name: str
    unit: str
    most: float | None = None

    def line(self, figures: Figures) -> Line | None:
        """Return the row; None if the figure is missing."""
        ours = figures.get(OURS, {}).get(self.name)
        return Line(self.name, self.unit, Spread.of(ours), most=self.most) if ours else None


@dataclass(frozen=True)
class Fit:
    """A measured curve, and the straight line ``fixed + slope * x`` through it.

    Attributes:
        points: pairs of x and the smallest figure that any round measured at this x.
        fixed: the value of the line at x = 0, in ``unit``.
        slope: the increase of the figure, in ``unit``, when x grows by 1 ``per``.
        worst: the largest distance of a point from the line, relative to the line there.
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
    """Figures of minitensor whose names have the form ``NAME @ X``, and a straight line through them.

    The line minimizes the squares of ``log(y / line)``, so that a point at 12 bytes has the same weight as one at 400
    MB.
    """

    name: str
    unit: str
    per: str

    def line(self, figures: Figures) -> Fit | None:
        """Return the row; None if fewer than two points were measured."""
        found = {
            float(name.partition(" @ ")[2]): min(each)
            for name, each in figures.get(OURS, {}).items()
            if name.startswith(f"{self.name} @ ")
        }
        if len(found) < 2:
            return None
        points = tuple(sorted(found.items()))
        fixed, slope = fit_line(points)
        worst = max(abs(y / (fixed + slope * x) - 1) if y else fixed + slope * x for x, y in points)
        return Fit(self.name, self.unit, self.per, points, fixed, slope, worst)


def fit_line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return intercept and slope, both 0 or more, of the line that minimizes the squares of ``log(y / line)``.

    Points at 0 have no logarithm and are skipped.
    """
    positive = [(x, y) for x, y in points if y > 0]
    if not positive:
        return 0.0, 0.0
    x, y = np.array(positive, np.float64).T
    line = np.array([y.min(), y[-1] / x[-1]])
    for _ in range(100):  # Gauss-Newton steps, each of which leaves at least half of a value
        expected = line[0] + line[1] * x
        rates = np.stack([1 / expected, x / expected], axis=1) * line
        step = np.linalg.lstsq(rates, np.log(y / expected), rcond=None)[0]
        line = line * np.maximum(1 + step, 0.5)
    return float(line[0]), float(line[1])
