"""Generate indices, shapes and axes as Python text.

Every text fits its shape, unless it comes from a function named ``bad_...``.
"""

from __future__ import annotations

from random import Random

SHAPES = ([3], [2, 3], [3, 2], [2, 2], [4], [2, 2, 2], [1, 3], [2, 1], [1], [6], [], [3, 3])


def number(rng: Random) -> float:
    """Return a number of moderate size that is not near 0."""
    return rng.choice((-1, 1)) * rng.randint(30, 200) / 100


def numbers(rng: Random, shape) -> list | float:
    """Return nested lists of numbers, no two of them nearly equal."""
    count = 1
    for n in shape:
        count *= n
    flat = [rng.choice((-1, 1)) * n / 100 for n in rng.sample(range(30, max(201, 30 + count)), count)]
    return nested(flat, list(shape))


def nested(flat: list, shape: list[int]):
    if not shape:
        return flat[0]
    if len(shape) == 1:
        return list(flat)
    step = len(flat) // shape[0]
    return [nested(flat[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


def one_slice(rng: Random, n: int) -> str:
    kind = rng.random()
    if kind < 0.3:
        return ":"
    if kind < 0.4:
        return "::-1" if n > 1 else ":"
    if kind < 0.5:
        return f"{rng.randrange(2)}::2"
    start = rng.randrange(n)
    stop = rng.randint(start + 1, n) if rng.random() < 0.95 else start
    if rng.random() < 0.2:
        return f"{start - n}:"
    return f"{start}:{stop}"


def basic_index(rng: Random, shape) -> str:
    """Return an index of integers, slices, ``...`` and ``None``, which selects a view."""
    parts = []
    for n in shape[: rng.randint(min(1, len(shape)), len(shape))]:
        if n and rng.random() < 0.35:
            parts.append(str(rng.randrange(-n, n)))
        else:
            parts.append(one_slice(rng, n) if n else ":")
    if rng.random() < 0.15 or not parts:
        parts.insert(rng.choice((0, len(parts))) if len(parts) == len(shape) else len(parts), "...")
    if rng.random() < 0.1:
        parts.insert(rng.randint(0, len(parts)), "None")
    return ", ".join(parts)


def whole_numbers(rng: Random, n: int, count: int) -> list[int]:
    return [rng.randrange(-n, n) for _ in range(count)]


def array_index(rng: Random, shape) -> str:
    """Return an index of one or two lists of integers, or of a list and a slice. The integers may repeat, and the first
    list may be a tensor.
    """
    count = rng.randint(1, 3)
    first = repr(whole_numbers(rng, shape[0], count))
    if rng.random() < 0.3:
        first = f"mt.to_tensor({first})"
    if len(shape) == 1 or rng.random() < 0.4:
        return first
    second = rng.random()
    if second < 0.4:
        return f"{first}, {whole_numbers(rng, shape[1], count)}"
    if second < 0.7:
        return f":, {whole_numbers(rng, shape[1], count)}"
    return f"{first}, {one_slice(rng, shape[1])}"


def mask(rng: Random, shape, rows: bool = True) -> str:
    """Return a mask of True and False for every element or, if ``rows`` allows it, for every row."""
    shape = shape[: rng.randint(1, len(shape))] if rows else shape
    count = 1
    for n in shape:
        count *= n
    flat = [rng.random() < 0.6 for _ in range(count)]
    return f"mt.to_tensor({nested(flat, list(shape))})"


def new_shape(rng: Random, count: int) -> list[int]:
    """Return a shape for ``count`` elements, in which one length may be -1."""
    if count == 0:
        return [0]
    shape = []
    while count > 1 and len(shape) < 3:
        factor = rng.choice([f for f in range(1, count + 1) if count % f == 0])
        shape.append(factor)
        count //= factor
    shape = shape + [count] if count > 1 or not shape else shape
    if rng.random() < 0.15:
        shape.insert(rng.randint(0, len(shape)), 1)
    if rng.random() < 0.15:
        shape[rng.randrange(len(shape))] = -1
    return shape


def axes(rng: Random, ndim: int):
    """Return one axis, a list of axes, or None for all axes."""
    if ndim == 0 or rng.random() < 0.35:
        return None
    if ndim > 1 and rng.random() < 0.2:
        return sorted(rng.sample(range(ndim), 2))
    return rng.randrange(-ndim, ndim)


def strided(rng: Random, size: int) -> tuple[list[int], list[int], int]:
    """Return shape, strides and offset of a view of ``size`` elements, in which elements may share memory."""
    while True:
        ndim = rng.choice((1, 1, 2))
        shape = [rng.randint(1, 3) for _ in range(ndim)]
        stride = [rng.randint(0, 3) for _ in range(ndim)]
        offset = rng.randint(0, 2)
        if offset + sum((n - 1) * s for n, s in zip(shape, stride, strict=True)) < size:
            return shape, stride, offset


def bad_index(rng: Random, shape) -> str:
    """Return an index that is out of range or has too many parts."""
    if shape and rng.random() < 0.7:
        return str(rng.choice((shape[0], -shape[0] - 1, shape[0] + 7)))
    return ", ".join(["0"] * (len(shape) + 1))
