"""Convert data (numbers, nested lists and arrays) to one new, checked array."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from minitensor.engine.core.tensor import Tensor
from minitensor.engine.device.arrays import host_array
from minitensor.engine.dtypes import BY_NUMPY, DTYPES, float32, is_supported
from minitensor.engine.kernels.numbers import stored_array

#: The number of dimensions to which numpy limits arrays.
MOST_DIMENSIONS = 64


def array_of(data: Any, dtype: np.dtype | None, op: str = "to_tensor") -> np.ndarray:
    """Return a new array of ``data`` in ``dtype`` (None: the default). ``to_tensor`` accepts the same data.

    Raises:
        ValueError, TypeError: as in ``to_tensor``. The errors name ``op``.
    """
    if isinstance(data, Tensor):
        data = host_array(data._array)
    given = data
    if isinstance(data, (list, tuple)):
        data = _without_tensors(op, data)
    if isinstance(data, np.ma.MaskedArray):
        raise TypeError(f"{op}: a tensor cannot keep the mask of a masked array; use its .filled(value)")
    plain = not isinstance(data, (np.ndarray, np.generic))
    try:
        array = np.array(data, order="C")
    except ValueError:
        if not isinstance(data, (list, tuple)):  # the method `__array__` of `data` returns no array
            raise TypeError(f"{op}: data of type {type(data).__name__} cannot be converted to an array") from None
        raise ValueError(
            f"{op}: the lists are ragged ({_describe_ragged(data)}); along each dimension all must be equally long"
        ) from None
    except OverflowError as error:
        raise ValueError(f"{op}: {error}") from None
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if plain and _has_big_integer(array, data):
        raise ValueError(f"{op}: an integer in the data does not fit into int64")
    if dtype is None:
        dtype = _default_dtype(op, given, array, plain)
    elif not is_supported(array.dtype) and array.dtype.kind not in "biuf":
        raise TypeError(f"{op}: data of type {type(data).__name__} and dtype {array.dtype} cannot become {dtype.name}")
    return stored_array(op, array, dtype)


def _default_dtype(op: str, data: Any, array: np.ndarray, plain: bool) -> np.dtype:
    """Return the default dtype for ``array``. ``plain`` is true if the array was made from Python numbers."""
    if plain and array.dtype == np.float64:
        return float32.numpy
    if plain and array.dtype == np.float16 and not any(isinstance(item, Tensor) for item in _leaves(data)):
        return float32.numpy  # Paddle converts float16 numbers and arrays in a list to float32
    if plain and array.dtype.kind == "i" and array.itemsize >= 4:  # lists of int8 or int16 keep their dtype in Paddle
        return np.dtype(np.int64)
    if not is_supported(array.dtype):
        raise TypeError(
            f"{op}: data of type {type(data).__name__} and dtype {array.dtype} is not supported; "
            f"a tensor holds one of {', '.join(DTYPES)}"
        )
    return BY_NUMPY[array.dtype].numpy


def _has_big_integer(array: np.ndarray, data: Any) -> bool:
    """True if all numbers are integers and one is beyond int64, so that numpy chose another dtype for the array."""
    if array.dtype.kind == "O":
        return all(isinstance(item, int) for item in array.ravel())
    if array.dtype.kind not in "uf" or array.size == 0 or not np.abs(array).max() >= 2.0**63:
        return False
    return all(isinstance(item, int) or getattr(item, "dtype", array.dtype).kind in "iu" for item in _leaves(data))


def _leaves(data: Any) -> Iterator[Any]:
    """Yield the items of nested lists that are no lists themselves: numbers, arrays, tensors."""
    for item in data if isinstance(data, (list, tuple)) else [data]:
        if isinstance(item, (list, tuple)):
            yield from _leaves(item)
        else:
            yield item


def _without_tensors(op: str, data: Any, dim: int = 0) -> Any:
    if isinstance(data, Tensor):
        return host_array(data._array)
    if isinstance(data, (list, tuple)):
        if dim == MOST_DIMENSIONS:
            raise ValueError(
                f"{op}: lists nested deeper than {MOST_DIMENSIONS} dimensions, the most that a tensor has. "
                f"Does a list contain itself?"
            )
        return [_without_tensors(op, item, dim + 1) for item in data]
    return data


def _length(item: Any) -> int:
    """Return the length of a sequence or an array; 0 for a number, or for an array without dimensions."""
    return 0 if getattr(item, "shape", None) == () or not hasattr(item, "__len__") else len(item)


def _describe_ragged(data: Any) -> str:
    lengths = sorted({_length(item) for item in data})
    if len(lengths) > 1:
        return "lengths " + " and ".join(str(n) if n else "none" for n in lengths) + " in one dimension"
    return "lengths differ further inside"
