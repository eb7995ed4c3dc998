"""Create copies, identity matrices, evenly spaced numbers and random integers, under Paddle's names."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.checks import shown
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.from_data import array_of
from minitensor.engine.creation.making import as_shape, like, made_here, zeros
from minitensor.engine.dtypes import dtype_of, float32
from minitensor.engine.kernels.numbers import stored_array
from minitensor.engine.operations.arguments import need_tensor
from minitensor.engine.random import source
from minitensor.engine.views.indexing import store_at


def assign(x: Any, output: Tensor | None = None) -> Tensor:
    """Return a copy of ``x`` on a new storage, or copy ``x`` into ``output`` and return ``output``.

    In both cases gradients flow to ``x``. The copy into ``output`` is one write and increments the version of
    ``output``.

    Args:
        x: a tensor, an array, a list or a number.
        output: a tensor of the shape and dtype of ``x``. If they differ, Paddle changes the shape and dtype of
            ``output`` to those of ``x``, and minitensor raises an error.

    Raises:
        ValueError: if the shapes differ, or if ``output`` is a leaf that needs a gradient.
        TypeError: if the dtypes differ.
    """
    if output is None:
        return x.clone() if isinstance(x, Tensor) else _convert(x, None)
    need_tensor("assign: output", output)
    given = x if isinstance(x, Tensor) else _convert(x, output._array.dtype)
    if given.shape != output.shape:
        raise ValueError(f"assign: x has shape {given.shape} and output {output.shape}; they must be equal")
    if given.dtype != output.dtype:
        raise TypeError(f"assign: x has dtype {given.dtype.name} and output {output.dtype.name}; they must be equal")
    store_at(output, (), given, "assign")
    return output


def _convert(data: Any, dtype: np.dtype | None) -> Tensor:
    return made_here("to_tensor", array_of(data, dtype, "assign"))


def empty(shape: Any, dtype: Any = None) -> Tensor:
    """Return a tensor of zeros for the program to fill. Its dtype is float32 by default.

    Paddle does not initialize the memory, so its values differ from run to run; those of minitensor are always 0.

    Raises:
        ValueError: if a length is negative.
        TypeError: if ``shape`` is not a list of integers, or if a tensor cannot have that dtype.
    """
    return zeros(as_shape("empty", shape), dtype)


def empty_like(x: Tensor, dtype: Any = None) -> Tensor:
    """Return a tensor of zeros for the program to fill, in the shape and by default in the dtype of ``x``.

    Raises:
        TypeError: if ``x`` is not a tensor, or if a tensor cannot have that dtype.
    """
    return like("empty_like", zeros, x, dtype)


def eye(num_rows: int, num_columns: int | None = None, dtype: Any = None) -> Tensor:
    """Return a matrix of shape [num_rows, num_columns] with 1 on the diagonal and 0 elsewhere.

    By default it has as many columns as rows, and its dtype is float32.

    Raises:
        ValueError: if a length is negative.
        TypeError: if a length is not an integer.
    """
    shape = as_shape("eye", [num_rows, num_rows if num_columns is None else num_columns])
    return made_here("eye", np.eye(*shape, dtype=(float32 if dtype is None else dtype_of(dtype)).numpy))


def linspace(start: float, stop: float, num: int, dtype: Any = None) -> Tensor:
    """Return ``num`` evenly spaced numbers from ``start`` to ``stop``, both included. The result has shape [num], and
    is float32 unless ``dtype`` is given.

    Raises:
        ValueError: if ``num`` is below 1.
        TypeError: if a bound is not a finite number, or if ``num`` is not an integer.
    """
    for name, bound in (("start", start), ("stop", stop)):
        if not math.isfinite(checks.real("linspace", name, bound)):
            raise TypeError(f"linspace: a bound must be a finite number, not {shown(bound)}")
    count = checks.integer("linspace", "num", num)
    if count < 1:
        raise ValueError(f"linspace: num must be at least 1, not {count}")
    as_shape("linspace", [count])
    wanted = (float32 if dtype is None else dtype_of(dtype)).numpy
    return made_here("linspace", stored_array("linspace", np.linspace(start, stop, count), wanted))


def randint(low: int = 0, high: int | None = None, shape: Any = (1,), dtype: Any = None) -> Tensor:
    """Return a tensor of ``shape`` with random integers from ``low`` (included) to ``high`` (excluded).

    If ``high`` is not given, the integers are from 0 (included) to ``low`` (excluded). The dtype is int64 by default.

    Raises:
        ValueError: if ``low`` is not below ``high``, or if a length is negative.
        TypeError: if a bound is not an integer.
    """
    first = checks.integer("randint", "low", low)
    if high is None:
        if first < 1:
            raise ValueError(f"If high is None, low must be greater than 0, but received low = {first}.")
        start, stop = 0, first
    else:
        start, stop = first, checks.integer("randint", "high", high)
    if not start < stop:
        raise ValueError(f"randint: low must be below high, but they are {start} and {stop}")
    wanted = np.dtype(np.int64) if dtype is None else dtype_of(dtype).numpy
    drawn = source.generator.integers(start, stop, as_shape("randint", shape), np.int64)
    return made_here("randint", stored_array("randint", np.asarray(drawn), wanted))


def randperm(n: int, dtype: Any = None) -> Tensor:
    """Return the integers from 0 to ``n`` (excluded) in random order. The result has shape [n], and is int64 unless
    ``dtype`` is given.

    Raises:
        ValueError: if ``n`` is negative.
        TypeError: if ``n`` is not an integer.
    """
    count = as_shape("randperm", [n])[0]
    wanted = np.dtype(np.int64) if dtype is None else dtype_of(dtype).numpy
    return made_here("randperm", stored_array("randperm", source.generator.permutation(count), wanted))
