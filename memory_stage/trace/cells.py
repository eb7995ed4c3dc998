"""Choose the cells of a storage that a picture shows, and write each as a short text or as a grey level.

Texts show a few cells. For the picture of a large storage, evenly spread cells become grey levels: a matrix is shown as
a map of its values, a batch of images as images, and anything else as a band. No function reads more cells than a
picture shows, at most `MOST`, so a storage of a gigabyte costs no more than one of a kilobyte.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

SMALL = 64  # the length up to which all cells of a storage are shown
LARGEST_IN_NUMBERS = 48  # the length up to which the picture shows numbers; a longer storage has grey levels instead
RUNS = 4  # in a longer storage, the first and last cells of this many runs of a tensor or a write are shown
# the largest number of runs of a recorded write; a write with more is recorded as one run, from first to last cell
MOST_RANGES = 12

Run = tuple[int, int]
"""The first and the last cell of a run, both included."""


def text_of(number: object) -> str:
    """Return a number as a text of about 8 characters (``2.5``, ``1.2e-5``, ``nan``); other values as their text."""
    if isinstance(number, (bool, int, str)):
        return str(number)
    if isinstance(number, complex):
        sign = "" if str(number.imag).startswith("-") else "+"
        return f"{text_of(number.real)}{sign}{text_of(number.imag)}j"
    value = float(number)  # type: ignore[arg-type]  # a number
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))  # so that -0 is written as 0
    digits = 4 if 100 <= abs(value) < 1e5 else 3
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    return mantissa + (f"e{int(exponent)}" if exponent else "")


def gradient_text(numbers: np.ndarray) -> str:
    """Return an array as a text of about 24 characters: ``[2, 4, 6]``, ``[1, 1, ..., 1]``, ``[[1, 2], [3, 4]]``."""
    if numbers.ndim == 0:
        return text_of(numbers.item())
    if numbers.size <= 8:
        whole = _nested_text(numbers.tolist())
        if len(whole) <= 24:
            return whole
    if numbers.size <= 3:
        return f"[{', '.join(_element(numbers, i) for i in range(numbers.size))}]"
    first, second, last = (_element(numbers, i) for i in (0, 1, numbers.size - 1))
    return f"[{first}, {second}, ..., {last}]"


def _element(numbers: Any, i: int) -> str:
    """Return the element at flat position ``i`` without allocating memory on a GPU."""
    return text_of(numbers[tuple(slice(k, k + 1) for k in np.unravel_index(i, numbers.shape))].item())


def _nested_text(numbers: object) -> str:
    if isinstance(numbers, list):
        return f"[{', '.join(_nested_text(n) for n in numbers)}]"
    return text_of(numbers)


def runs_of(shape: Sequence[int], strides: Sequence[int], offset: int, most: int) -> tuple[list[Run], int]:
    """Return the first ``most`` runs of neighbouring cells that a layout reads, and the number of all runs.

    The runs are in reading order. Rows without a gap between them are one run.
    """
    if 0 in shape:
        return [], 0
    dims = [(n, s) for n, s in zip(shape, strides, strict=True) if n > 1]
    width = 1
    while dims and dims[-1][1] == width:
        width *= dims.pop()[0]
    total = math.prod(n for n, _ in dims)
    runs = []
    for count in range(min(total, most)):
        at, rest = offset, count
        for n, stride in reversed(dims):
            at += rest % n * stride
            rest //= n
        runs.append((at, at + width - 1))
    return runs, total


def reach(shape: Sequence[int], strides: Sequence[int], offset: int) -> Run:
    """Return the lowest and the highest cell that a layout reads."""
    steps = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    return offset + sum(s for s in steps if s < 0), offset + sum(s for s in steps if s > 0)


def holds(shape: Sequence[int], strides: Sequence[int], offset: int, cell: int) -> bool:
    """True if a layout reads ``cell``."""
    if 0 in shape:
        return False
    dims = sorted(((n, s) for n, s in zip(shape, strides, strict=True) if n > 1 and s), key=lambda d: abs(d[1]))
    spans = [0]  # for each dimension, the cells that dimensions with smaller strides span
    low = 0
    for n, s in dims:
        low += min(0, (n - 1) * s)
        spans.append(spans[-1] + (n - 1) * abs(s))
    rest = [cell - offset - low]  # the distance from the lowest cell; from there, no stride counts as negative
    for (n, s), span in zip(reversed(dims), reversed(spans[:-1]), strict=True):
        step = abs(s)
        rest = [
            each - k * step
            for each in rest
            for k in range(max(0, -((span - each) // step)), min(n - 1, each // step) + 1)
        ]
    return 0 in rest


def meets(layout: dict[str, Any], runs: Iterable[Run]) -> bool:
    """True if a layout reads a cell of ``runs``. For a layout of many runs, True if ``runs`` overlap its extent."""
    own, total = runs_of(layout["shape"], layout["strides"], layout["offset"], SMALL)
    if total > SMALL:
        own = [reach(layout["shape"], layout["strides"], layout["offset"])]
    return any(a <= d and c <= b for a, b in own for c, d in runs)


def ends(runs: Iterable[Run]) -> set[int]:
    """Return the first and last cells of the first few runs."""
    return {cell for run in list(runs)[:RUNS] for cell in run}


def merged(runs: Iterable[Run]) -> list[Run]:
    """Return the cells of ``runs`` as ascending runs with gaps between them."""
    found: list[Run] = []
    for first, last in sorted(runs):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return found


MOST = 1_024  # the largest number of cells of a raster
MOST_COLUMNS = 64  # the largest number of columns of a map
BAND = 192  # the largest number of cells of a band
SIDES = range(4, 513)  # the lengths, in cells, that a side of an image may have
WHOLE_SIDE = 16  # an image with a side of more cells is sampled; a smaller one is shown whole
MOST_PICTURES = 8
CHANNELS = (3, 4)  # the lengths of a last dimension that contains the colours of an image
LEVELS = 254  # grey levels go from 1 to 1 + LEVELS; level 0 is for values that are not finite


@dataclass(frozen=True)
class Raster:
    """The cells to sample.

    Attributes:
        cells: the indices of the cells, by image, row and column.
        of: the numbers of images, rows and columns from which they are sampled.
    """

    cells: np.ndarray
    of: tuple[int, int, int]

    @classmethod
    def of_layout(cls, shape: Sequence[int], strides: Sequence[int], offset: int, length: int) -> Raster | None:
        """Return a storage's raster from the layout of a tensor; None unless the layout reads all cells in order."""
        if runs_of(shape, strides, offset, 1) != ([(0, length - 1)], 1):
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
        first = np.arange(sizes[0]) if outer else np.zeros(1, np.int64)  # only the first images are shown
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
            "low": text_of(low),
            "high": text_of(high),
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
    """Return the offsets, in cells, of flat positions. Each dimension is given as (size, stride)."""
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
