"""Choose the cells of a storage that a picture shows, and write each as a short text.

No function reads more cells than a picture shows, so a storage of a gigabyte costs no more than one of a kilobyte.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

SMALL = 64  # the length up to which all cells of a storage are shown
LARGEST_IN_NUMBERS = 48  # the length up to which the picture shows numbers; a longer storage has grey levels instead
RUNS = 4  # the runs of each tensor and write whose ends are shown, besides the first and last cell of a longer storage
# the largest number of runs of a recorded write; one with more is recorded as one run, from first to last cell
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
    spans = [0]  # for each dimension, the cells that the smaller dimensions span
    low = 0
    for n, s in dims:
        low += min(0, (n - 1) * s)
        spans.append(spans[-1] + (n - 1) * abs(s))
    rest = [cell - offset - low]  # the distance from the lowest cell, as if every stride was positive
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
