"""Create tensors from data, constants and ranges; :mod:`minitensor.engine.creation.drawing` creates random ones."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from minitensor.engine import checks
from minitensor.engine.checks import LONGEST, NUMPY_INTEGERS, shown
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation.from_data import MOST_DIMENSIONS, array_of
from minitensor.engine.device.arrays import gpu_of
from minitensor.engine.device.places import current, device_named, using
from minitensor.engine.dtypes import FLOATS, dtype_of, float32
from minitensor.engine.kernels.numbers import stored, stored_array


def made_on(gpu: Any, op: str, array: np.ndarray) -> Tensor:
    """Return a tensor of ``array`` on ``gpu`` (None: the host). The caller must not use ``array`` any longer."""
    return Tensor._made(array if gpu is None else gpu.put(array), op)


def made_here(op: str, array: np.ndarray) -> Tensor:
    """Return a tensor of ``array`` on the device that ``set_device`` chose, as :func:`made_on` does."""
    return made_on(current.gpu, op, array)


def to_tensor(data: Any, dtype: Any = None, place: Any = None, stop_gradient: bool = True) -> Tensor:
    """Return a tensor with a copy of ``data``, in its shape, on a new storage.

    Args:
        data: a number, nested lists of equal lengths, an array, or a tensor.
        dtype: an element type or its name. By default, an array keeps its dtype; Python floats become float32, Python
            integers int64 and Python bools bool.
        place: a device, such as ``"cpu"`` or ``"gpu"``; by default the one that ``set_device`` chose.
        stop_gradient: False makes a leaf that requires a gradient.

    Raises:
        ValueError: if the lists are ragged.
        TypeError: if an object is not a number, or a tensor cannot have the dtype.
    """
    array = array_of(data, None if dtype is None else dtype_of(dtype).numpy)
    gpu = current.gpu if place is None else device_named("to_tensor", place)
    return _with_stop_gradient(made_on(gpu, "to_tensor", array), stop_gradient)


def _with_stop_gradient(tensor: Tensor, stop_gradient: bool) -> Tensor:
    if not isinstance(stop_gradient, (bool, np.bool_)):
        raise TypeError(f"stop_gradient must be True or False, not {shown(stop_gradient)}")
    if not stop_gradient:
        tensor.stop_gradient = False
    return tensor


def as_lengths(op: str, shape: Any) -> list[int]:
    """Return a shape as a list of integers, which may be negative.

    The shape may be one integer, a sequence of integers, or a tensor of integers.

    Raises:
        TypeError: for anything else.
    """
    if isinstance(shape, Tensor):
        shape = shape.tolist()
    if isinstance(shape, (int, *NUMPY_INTEGERS)):
        shape = [shape]
    try:
        if isinstance(shape, (bytes, bytearray)):  # Python would take each byte as a length
            raise TypeError
        return [operator.index(n) for n in shape]
    except (TypeError, ValueError, NotImplementedError):  # a memoryview may be released, or have several dimensions
        raise TypeError(f"{op}: a shape must be a list of integers, not {shown(shape)}") from None


def as_shape(op: str, shape: Any) -> tuple[int, ...]:
    """Return a shape as a tuple. It may have the forms that :func:`as_lengths` accepts.

    Raises:
        TypeError, ValueError: if a tensor cannot have this shape.
    """
    lengths = tuple(as_lengths(op, shape))
    if any(n < 0 for n in lengths):
        raise ValueError(f"{op}: shape {shown(list(lengths))} has a negative length")
    if len(lengths) > MOST_DIMENSIONS:
        raise ValueError(f"{op}: a tensor must have at most {MOST_DIMENSIONS} dimensions, not {len(lengths)}")
    count = math.prod(n for n in lengths if n)  # numpy refuses long dimensions even if another length is 0
    if count > MOST_ELEMENTS:
        many = f"{count:,}" if count < LONGEST else shown(count)
        raise ValueError(f"{op}: shape {shown(list(lengths))} has {many} elements, more than can be addressed")
    return lengths


#: The largest number of elements: 8-byte elements in the address range of today's processors (2**47 bytes), or 4-byte
#: elements in that of a browser (2**31 bytes).
MOST_ELEMENTS = min(2**44, sys.maxsize >> 2)


def full(shape: Any, fill_value: Any, dtype: Any = None, stop_gradient: bool = True) -> Tensor:
    """Return a tensor of ``shape`` filled with ``fill_value``; float32 unless ``dtype`` is given.

    Args:
        fill_value: one number.
        stop_gradient: False makes a leaf that requires a gradient.

    Raises:
        ValueError: if a length is negative, ``fill_value`` is not one number, or the dtype cannot hold it.
        TypeError: if the shape is not a list of integers, or a tensor cannot have the dtype.
    """
    return _with_stop_gradient(_full("full", shape, fill_value, dtype), stop_gradient)


def _full(op: str, shape: Any, fill_value: Any, dtype: Any) -> Tensor:
    """Return a tensor filled with one number; errors name ``op``."""
    value = array_of(fill_value, None, op)
    if value.ndim:
        raise ValueError(f"{op}: fill_value must be one number; it has shape {list(value.shape)}")
    wanted = float32 if dtype is None else dtype_of(dtype)
    return made_here("full", np.full(as_shape(op, shape), stored(op, value.item(), wanted.numpy)))


def zeros(shape: Any, dtype: Any = None) -> Tensor:
    """Return a tensor of ``shape`` filled with 0; float32 unless ``dtype`` is given.

    Raises:
        ValueError: if a length is negative.
        TypeError: if the shape is not a list of integers, or a tensor cannot have the dtype.
    """
    wanted = float32 if dtype is None else dtype_of(dtype)
    return made_here("zeros", np.zeros(as_shape("zeros", shape), wanted.numpy))


def ones(shape: Any, dtype: Any = None) -> Tensor:
    """Return a tensor of ``shape`` filled with 1; float32 unless ``dtype`` is given.

    Raises:
        ValueError: if a length is negative.
        TypeError: if the shape is not a list of integers, or a tensor cannot have the dtype.
    """
    wanted = float32 if dtype is None else dtype_of(dtype)
    return made_here("ones", np.ones(as_shape("ones", shape), wanted.numpy))


def arange(start: Any, end: Any = None, step: Any = 1, dtype: Any = None) -> Tensor:
    """Return the numbers from ``start`` to ``end`` in steps of ``step``, without ``end`` itself.

    If only one bound is given, it is ``end``, and ``start`` is 0. The numbers are int64 if all arguments are integers,
    else float32, unless ``dtype`` is given.

    Returns:
        A tensor of one dimension.

    Raises:
        ValueError: if the step is 0, or if there are too many numbers.
        TypeError: if a bound or the step is not a number.
    """
    start, end = (0, start) if end is None else (start, end)
    numbers = [n.item() if isinstance(n, Tensor) and n.size == 1 else n for n in (start, end, step)]
    for number in numbers:
        if not isinstance(number, (int, float, *NUMPY_INTEGERS, np.floating)):
            given = f"a tensor of shape {number.shape}" if isinstance(number, Tensor) else shown(number)
            raise TypeError(f"arange: a bound or step must be a number, not {given}")
    if numbers[2] == 0:
        raise ValueError("arange: step must not be 0")
    for name, number in zip(("start", "end", "step"), numbers, strict=True):
        checks.real("arange", name, number)
    finite = all(math.isfinite(n) for n in numbers)
    if not finite or (numbers[1] - numbers[0]) / numbers[2] > MOST_ELEMENTS:
        raise ValueError(
            f"arange: from {numbers[0]} to {numbers[1]} in steps of {numbers[2]}, there are more numbers than memory "
            f"can hold"
        )
    whole = all(isinstance(n, (int, *NUMPY_INTEGERS)) for n in numbers)
    wanted = (np.dtype(np.int64) if whole else float32.numpy) if dtype is None else dtype_of(dtype).numpy
    return made_here("arange", stored_array("arange", np.arange(*numbers), wanted))


def float_dtype(op: str, dtype: Any) -> np.dtype:
    """Return the requested dtype (None: float32); raise TypeError if it is not floating."""
    wanted = float32 if dtype is None else dtype_of(dtype)
    if wanted.numpy not in FLOATS:
        raise TypeError(f"{op}: dtype must be a floating one, such as float32, not {wanted.name}")
    return wanted.numpy


# ---------- like another tensor, and on its device ----------


def like(op: str, make: Callable[..., Tensor], x: Tensor, dtype: Any, *numbers: Any) -> Tensor:
    """Return ``make(shape, *numbers, dtype)`` on the device of ``x``, in its shape and by default in its dtype.

    Raises:
        TypeError: if ``x`` is not a tensor.
    """
    if not isinstance(x, Tensor):
        raise TypeError(f"{op}: x must be a Tensor, not {type(x).__name__}")
    with using(gpu_of(x._array)):
        return make(x._array.shape, *numbers, x.dtype if dtype is None else dtype)


def zeros_like(x: Tensor, dtype: Any = None) -> Tensor:
    """Return a tensor of zeros in the shape of ``x``, on its device, in its dtype unless ``dtype`` is given.

    Raises:
        TypeError: if ``x`` is not a tensor, or a tensor cannot have the dtype.
    """
    return like("zeros_like", zeros, x, dtype)


def ones_like(x: Tensor, dtype: Any = None) -> Tensor:
    """Return a tensor of ones in the shape of ``x``, on its device, in its dtype unless ``dtype`` is given.

    Raises:
        TypeError: if ``x`` is not a tensor, or a tensor cannot have the dtype.
    """
    return like("ones_like", ones, x, dtype)


def full_like(x: Tensor, fill_value: Any, dtype: Any = None) -> Tensor:
    """Return a tensor of ``fill_value`` in the shape of ``x``, on its device, in its dtype unless ``dtype`` is given.

    Raises:
        TypeError: if ``x`` is not a tensor, or a tensor cannot have the dtype.
        ValueError: if ``fill_value`` is not one number, or the dtype cannot hold it.
    """
    return like("full_like", partial(_full, "full_like"), x, dtype, fill_value)
