"""Paddle's ``cumsum_`` and ``cumprod_``. Without an axis they flatten the tensor; with ``dtype`` they convert it.

A conversion moves the tensor to a new storage, as ``cast_`` does. Views of the tensor keep the old storage.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitensor.engine.core.errors import not_writeable, result_does_not_fit
from minitensor.engine.core.regions import writeable
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.dtypes import dtype_of
from minitensor.engine.operations import FUNCTIONS as OPERATIONS
from minitensor.engine.operations.arguments import as_axis, need_tensor
from minitensor.engine.views.reshaping import FUNCTIONS as RESHAPING
from minitensor.engine.views.set_resize_cast import cast_


def _scan(op: str, x: Tensor, axis: Any, dtype: Any) -> Tensor:
    """Convert and flatten ``x`` if requested, then call ``op`` of the table. Errors are raised before ``x`` changes."""
    need_tensor(op, x)
    if axis is not None:
        axis = as_axis(op, axis, max(x.ndim, 1))
    dtype = None if dtype is None else dtype_of(dtype)
    if (x._array.dtype if dtype is None else dtype.numpy).kind == "b":
        raise result_does_not_fit(op, x)
    if not writeable(x._array):
        raise not_writeable(op, x)
    if dtype is not None:
        cast_(x, dtype)
    if axis is None and x.ndim != 1:
        try:
            RESHAPING["flatten_"](x)
        except ValueError as error:  # the program has called `op`, so the message names it
            raise ValueError(str(error).replace("flatten", op[:-1])) from None
    OPERATIONS[op](x, 0 if axis is None else axis)
    return x


def cumsum_(x: Tensor, axis: Any = None, dtype: Any = None, name: str | None = None) -> Tensor:
    """Replace ``x`` by its cumulative sums along ``axis``; without ``axis``, ``x`` is flattened first.

    With ``dtype``, the tensor is first converted, which moves it to a new storage.

    Returns:
        ``x`` itself; without ``axis``, its shape is [n].

    Raises:
        IndexError: if ``x`` does not have that axis.
        ValueError: for a leaf that requires a gradient, or a view of one, in grad mode; without
            ``axis``, if flattening ``x`` needs a copy.
        TypeError: for a tensor of bools, or if ``x`` is not a tensor.
    """
    return _scan("cumsum_", x, axis, dtype)


def cumprod_(x: Tensor, dim: Any = None, dtype: Any = None, name: str | None = None) -> Tensor:
    """Replace ``x`` by its cumulative products along ``dim``; without ``dim``, ``x`` is flattened first.

    With ``dtype``, the tensor is first converted, which moves it to a new storage.

    Returns:
        ``x`` itself; without ``dim``, its shape is [n].

    Raises:
        IndexError: if ``x`` does not have that dimension.
        ValueError: for a leaf that requires a gradient, or a view of one, in grad mode; without
            ``dim``, if flattening ``x`` needs a copy.
        TypeError: for a tensor of bools, or if ``x`` is not a tensor.
    """
    return _scan("cumprod_", x, dim, dtype)


FUNCTIONS: dict[str, Callable[..., Any]] = {"cumsum_": cumsum_, "cumprod_": cumprod_}

for _name, _function in FUNCTIONS.items():
    setattr(Tensor, _name, _function)
