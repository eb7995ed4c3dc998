"""Choose evenly spread cells of a large storage, and convert their values to the grey levels of a picture.

A matrix is shown as a map of its values, a batch of images as images, and anything else as a band. No function reads
more than `MOST` cells, so a storage of a gigabyte costs no more than one of a kilobyte.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from memory_stage.trace import cells

MOST = 1_024  # the largest number of cells of a raster
MOST_COLUMNS = 64  # the largest number of columns of a map
BAND = 192  # the largest number of cells of a band
SIDES = range(4, 513)  # the lengths, in cells, that a side of an image may have
WHOLE_SIDE = 16  # the largest number of cells of a side of an image that is shown whole; a larger image is sampled
MOST_PICTURES = 8
CHANNELS = (3, 4)  # the lengths of a last dimension that contains the colours of an image
LEVELS = 254  # the number of grey levels, 1 to 255; level 0 is for values that are not finite


@dataclass(frozen=True)
class Raster:
    """The cells to sample.

    Attributes:
        cells: the numbers of the cells, by image, row and column.
        of: the numbers of images, rows and columns from which they are sampled.
    """

    cells: np.ndarray
    of: tuple[int, int, int]

    @classmethod
    def of_layout(cls, shape: Sequence[int], strides: Sequence[int], offset: int, length: int) -> Raster | None:
        """Return the raster of a storage from the layout of a tensor that reads all cells in order; otherwise None."""
        if cells.runs_of(shape, strides, offset, 1) != ([(0, length - 1)], 1):
            return None
        dims = [(n, stride) for n, stride in zip(shape, strides, strict=True) if n > 1]
        if len(dims) >= 3 and dims[-1][0] in CHANNELS and _is_picture(*dims[-3:-1]):
            *outer, rows, columns, _ = dims  # only the first colour is sampled
        elif len(dims) >= 3 and _is_picture(*dims[-2:]):
            *outer, rows, columns = dims
        else:
            *rest, columns = dims or [(1, 1)]
            return cls._sampled([], rest, [columns])
        return cls._sampled(outer, [rows], [columns])

    @classmethod
    def _sampled(cls, outer: list, rows: list, columns: list) -> Raster:
        """Sample three groups of dimensions (images, rows, columns), each a list of (size, stride)."""
        of = tuple(math.prod(n for n, _ in dims) for dims in (outer, rows, columns))
        if outer:
            height, width = (min(n, WHOLE_SIDE) for n in of[1:])
            sizes = min(of[0], MOST_PICTURES, max(1, MOST // (height * width))), height, width
        elif of[1] == 1:
            sizes = 1, 1, min(of[2], BAND)
        else:
            width = min(of[2], MOST_COLUMNS)
            sizes = 1, min(of[1], MOST // width), width
        first = np.arange(sizes[0]) if outer else np.zeros(1, np.int64)  # the first images, each shown whole
        picked = [first, *(_spread(n, most) for n, most in zip(sizes[1:], of[1:], strict=True))]
        a, b, c = (_places(at, dims) for at, dims in zip(picked, (outer, rows, columns), strict=True))
        return cls(a[:, None, None] + b[:, None] + c, of)

    def with_values(self, numbers: Sequence[Any]) -> dict[str, Any]:
        """Return the raster in the form that a trace has. ``numbers`` are the values of its cells, in order."""
        values = np.array([_real(number) for number in numbers])
        finite = np.isfinite(values)
        low, high = (float(end(values[finite])) if finite.any() else 0.0 for end in (np.min, np.max))
        scaled = (np.where(finite, values, low) - low) / (high - low) if high > low else np.full(values.shape, 0.5)
        levels = np.where(finite, 1 + np.rint(scaled * LEVELS), 0).astype(np.uint8)
        return {
            "size": list(self.cells.shape),
            "of": list(self.of),
            "low": cells.text_of(low),
            "high": cells.text_of(high),
            "levels": base64.b64encode(levels.tobytes()).decode("ascii"),
        }


def _is_picture(rows: tuple[int, int], columns: tuple[int, int]) -> bool:
    """True if two dimensions can be the sides of an image: the longer is at most twice the shorter."""
    (height, _), (width, _) = rows, columns
    return height in SIDES and width in SIDES and max(height, width) <= 2 * min(height, width)


def _spread(count: int, most: int) -> np.ndarray:
    """Return ``count`` evenly spread positions from 0 to ``most`` - 1."""
    return (2 * np.arange(count) + 1) * most // (2 * count)


def _places(positions: np.ndarray, dims: list[tuple[int, int]]) -> np.ndarray:
    """Return, in cells, the offsets of flat positions in dimensions that are given as (size, stride)."""
    found = np.zeros(len(positions), np.int64)
    rest = positions.astype(np.int64)
    for n, stride in reversed(dims):
        found += rest % n * stride
        rest = rest // n
    return found


def _real(number: Any) -> float:
    """Return a number as a float: the real part of a complex one; nan for a text."""
    if isinstance(number, str):
        return math.nan
    return float(number.real)
