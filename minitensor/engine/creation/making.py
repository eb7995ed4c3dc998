"""Making tensors: from data, from constants, in order; those at random are in
:mod:`minitensor.engine.creation.drawing`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.from_data import MOST_DIMENSIONS, array_of
from minitensor.engine.device.arrays import gpu_of
from minitensor.engine.device.places import current, device_named, using
from minitensor.engine.dtypes import FLOATS, dtype_of, float32
from minitensor.engine.kernels.numbers import stored, stored_array


def made_on(gpu: Any, op: str, array: np.ndarray) -> Tensor:
    """A tensor of ``array``, which is taken over, on ``gpu`` (None: the host)."""
    return Tensor._made(array if gpu is None else gpu.put(array), op)


def made_here(op: str, array: np.ndarray) -> Tensor:
    """A tensor of ``array``, which is taken over, where new tensors are made."""
    return made_on(current.gpu, op, array)


def to_tensor(data: Any, dtype: Any = None, place: Any = None, stop_gradient: bool = True) -> Tensor:
    """A tensor with a copy of ``data``, in its shape, on a storage of its own.

    Args:
        data: a number, nested lists of equal lengths, an array, or a tensor.
        dtype: an element type or its name; by default that of an array, float32 for Python floats, int64 for
            Python integers, bool for Python bools.
        place: a device, as ``"cpu"`` or ``"gpu"``; by default the one that ``set_device`` chose.
        stop_gradient: False makes a leaf that wants a gradient.

    Raises:
        ValueError: for ragged lists.
        TypeError: for objects that are no numbers, and for dtypes a tensor cannot have.
    """
    array = array_of(data, None if dtype is None else dtype_of(dtype).numpy)
    gpu = current.gpu if place is None else device_named("to_tensor", place)
    return _wanting(made_on(gpu, "to_tensor", array), stop_gradient)


def _wanting(tensor: Tensor, stop_gradient: bool) -> Tensor:
    if not isinstance(stop_gradient, (bool, np.bool_)):
        raise TypeError(f"stop_gradient is True or False, not {stop_gradient!r}")
    if not stop_gradient:
        tensor.stop_gradient = False
    return tensor


def as_lengths(op: str, shape: Any) -> list[int]:
    """The integers of a shape given as a number, several numbers, or a tensor of integers; any integers.

    Raises:
        TypeError: for anything else.
    """
    if isinstance(shape, Tensor):
        shape = shape.tolist()
    if isinstance(shape, (int, np.integer)):
        shape = [shape]
    try:
        return [n.__index__() for n in shape]
    except (TypeError, AttributeError):
        raise TypeError(f"{op}: a shape is a list of integers, not {shape!r}") from None


def as_shape(op: str, shape: Any) -> tuple[int, ...]:
    """A shape that a tensor can have, given as :func:`as_lengths` takes it.

    Raises:
        TypeError, ValueError: naming what is no length.
    """
    lengths = tuple(as_lengths(op, shape))
    if any(n < 0 for n in lengths):
        raise ValueError(f"{op}: shape {list(lengths)} has a negative length")
    if len(lengths) > MOST_DIMENSIONS:
        raise ValueError(f"{op}: a tensor has at most {MOST_DIMENSIONS} dimensions, not {len(lengths)}")
    if 0 not in lengths and math.prod(lengths) > MOST_ELEMENTS:
        raise ValueError(f"{op}: shape {list(lengths)} has {math.prod(lengths):,} elements, more than can be addressed")
    return lengths


#: Elements of 8 bytes in the largest address range that processors have today (2**47 bytes); of 4 bytes in that of a
#: browser (2**31 bytes).
MOST_ELEMENTS = min(2**44, sys.maxsize >> 2)


def full(shape: Any, fill_value: Any, dtype: Any = None, stop_gradient: bool = True) -> Tensor:
    """A tensor of ``shape`` with ``fill_value`` everywhere; float32 unless ``dtype`` says otherwise.

    Args:
        fill_value: one number.
        stop_gradient: False makes a leaf that wants a gradient.

    Raises:
        ValueError: for a negative length.
        TypeError: for a shape that is no list of integers, or a dtype that a tensor cannot have.
    """
    return _wanting(_full("full", shape, fill_value, dtype), stop_gradient)


def _full(op: str, shape: Any, fill_value: Any, dtype: Any) -> Tensor:
    """One number everywhere; what is wrong with the arguments is told of ``op``."""
    value = array_of(fill_value, None, op)
    if value.ndim:
        raise ValueError(f"{op}: fill_value must be one number; it has shape {list(value.shape)}")
    wanted = float32 if dtype is None else dtype_of(dtype)
    return made_here("full", np.full(as_shape(op, shape), stored(op, value.item(), wanted.numpy)))


def zeros(shape: Any, dtype: Any = None) -> Tensor:
    """A tensor of ``shape`` with 0 everywhere; float32 unless ``dtype`` says otherwise.

    Raises:
        ValueError: for a negative length.
        TypeError: for a shape that is no list of integers, or a dtype that a tensor cannot have.
    """
    wanted = float32 if dtype is None else dtype_of(dtype)
    return made_here("zeros", np.zeros(as_shape("zeros", shape), wanted.numpy))


def ones(shape: Any, dtype: Any = None) -> Tensor:
    """A tensor of ``shape`` with 1 everywhere; float32 unless ``dtype`` says otherwise.

    Raises:
        ValueError: for a negative length.
        TypeError: for a shape that is no list of integers, or a dtype that a tensor cannot have.
    """
    wanted = float32 if dtype is None else dtype_of(dtype)
    return made_here("ones", np.ones(as_shape("ones", shape), wanted.numpy))


def arange(start: Any, end: Any = None, step: Any = 1, dtype: Any = None) -> Tensor:
    """Numbers from ``start`` (0 when one bound is given) up to, not including, ``end``.

    int64 when all are integers, else float32, unless ``dtype`` says otherwise.

    Returns:
        A tensor of one dimension.

    Raises:
        ValueError: for a step of 0.
        TypeError: for a bound or step that is no number.
    """
    start, end = (0, start) if end is None else (start, end)
    numbers = [n.item() if isinstance(n, Tensor) and n.size == 1 else n for n in (start, end, step)]
    for number in numbers:
        if not isinstance(number, (int, float, np.integer, np.floating)):
            given = f"a tensor of shape {number.shape}" if isinstance(number, Tensor) else repr(number)
            raise TypeError(f"arange: a bound or step is a number, not {given}")
    if numbers[2] == 0:
        raise ValueError("arange: step must not be 0")
    finite = all(math.isfinite(n) for n in numbers)
    if not finite or (numbers[1] - numbers[0]) / numbers[2] > MOST_ELEMENTS:
        raise ValueError(
            f"arange: from {numbers[0]} to {numbers[1]} by {numbers[2]} are more numbers than memory holds"
        )
    whole = all(isinstance(n, (int, np.integer)) for n in numbers)
    wanted = (np.dtype(np.int64) if whole else float32.numpy) if dtype is None else dtype_of(dtype).numpy
    return made_here("arange", stored_array("arange", np.arange(*numbers), wanted))


def float_dtype(op: str, dtype: Any) -> np.dtype:
    """The floating dtype that was asked for; float32 by default.

    Raises:
        TypeError: for any other.
    """
    wanted = float32 if dtype is None else dtype_of(dtype)
    if wanted.numpy not in FLOATS:
        raise TypeError(f"{op}: dtype must be float32 or float64, not {wanted.name}")
    return wanted.numpy


# ---------- like another: on its device, too ----------


def like(op: str, make: Callable[..., Tensor], x: Tensor, dtype: Any, *numbers: Any) -> Tensor:
    """What ``make`` gives for the shape of ``x`` and, unless told, its dtype, on its device; for the operation ``op``.

    Raises:
        TypeError: when ``x`` is no tensor.
    """
    if not isinstance(x, Tensor):
        raise TypeError(f"{op}: x must be a Tensor, not {type(x).__name__}")
    with using(gpu_of(x._array)):
        return make(x._array.shape, *numbers, x.dtype if dtype is None else dtype)


def zeros_like(x: Tensor, dtype: Any = None) -> Tensor:
    """0 everywhere, in the shape and dtype of ``x``.

    Raises:
        TypeError: when ``x`` is no tensor, or for a dtype that a tensor cannot have.
    """
    return like("zeros_like", zeros, x, dtype)


def ones_like(x: Tensor, dtype: Any = None) -> Tensor:
    """1 everywhere, in the shape and dtype of ``x``.

    Raises:
        TypeError: when ``x`` is no tensor, or for a dtype that a tensor cannot have.
    """
    return like("ones_like", ones, x, dtype)


def full_like(x: Tensor, fill_value: Any, dtype: Any = None) -> Tensor:
    """``fill_value`` everywhere, in the shape and dtype of ``x``.

    Raises:
        TypeError: when ``x`` is no tensor, or for a dtype that a tensor cannot have.
        ValueError: when ``fill_value`` is not one number, or the dtype cannot hold it.
    """
    return like("full_like", partial(_full, "full_like"), x, dtype, fill_value)
