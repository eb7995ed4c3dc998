"""Compute on 16-bit floats (float16 and bfloat16) in float32, and round each result once.

Processors and frameworks do the same. If ones are added in float16 itself, the sum stops growing at 2048; and numpy has
few functions for bfloat16, a dtype of the package ml_dtypes. Generated code tests whether an element has 2 bytes, which
takes 15 ns, and calls this module only then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from minitensor.engine.core.regions import same_layout
from minitensor.engine.device.arrays import as_array, like
from minitensor.engine.dtypes import HALVES, promoted

Array = Any  # a numpy array, or an array on a GPU
Function = TypeVar("Function", bound=Callable[..., Any])


def wide(given: Any) -> Any:
    """Return a float32 copy of an array of 16-bit floats, and anything else unchanged."""
    return given.astype(np.float32) if getattr(given, "dtype", None) in HALVES else given


def wide_on_host(given: Any) -> Any:
    """Like :func:`wide`, but for an array on a simulated GPU the result is on the host, so that it is not counted.

    A real GPU needs no memory for this conversion, because it converts numbers in its registers.
    """
    return wide(getattr(given, "host", given))


def narrow(array: Array, dtype: np.dtype, beside: Array = None) -> Array:
    """Round a float32 ``array`` to a 16-bit ``dtype``; return other arrays unchanged.

    Elements that are repeated by a stride of 0 are not copied, so the gradient of a sum takes 2 bytes in all. If
    ``beside`` is given, the result is on its device.
    """
    if dtype not in HALVES or array.dtype != np.float32:
        return array if beside is None else like(as_array(array), beside)
    shape = array.shape
    if 0 in getattr(array, "strides", ()) and array.size > 1:
        array = array[tuple(slice(0, 1) if step == 0 else slice(None) for step in array.strides)]
    with np.errstate(all="ignore"):
        array = as_array(array.astype(dtype))
    array = array if beside is None else like(array, beside)
    return array if array.shape == shape else np.broadcast_to(array, shape)


def dtype_of_result(given: Sequence[Any]) -> np.dtype | None:
    """Return the 16-bit dtype to which a result of these operands is rounded; None if no operand has 16-bit floats."""
    found: np.dtype | None = None
    for each in given:
        dtype: Any = getattr(each, "dtype", None)
        if dtype in HALVES:
            found = dtype if found is None else promoted(found, dtype)
    return found


def in_own_dtype(forward: Function) -> Function:
    """Decorate a function that needs the dtype itself, for example its largest number: it gets no float32 copies."""
    forward.is_native = True  # type: ignore[attr-defined]  # read by `in_float32`
    return forward


def in_float32(forward: Callable[..., Array], *given: Any, out: Array | None = None) -> Array:
    """Return ``forward(*given)``, computed in float32 for 16-bit operands. If ``out`` is given, write it there."""
    dtype = dtype_of_result(given)
    if (dtype is None and (out is None or out.dtype not in HALVES)) or getattr(forward, "is_native", False):
        return forward(*given) if out is None else forward(*given, out=out)
    device = next((each for each in given if hasattr(each, "host")), None)
    # Host arrays among device arrays are passed on unchanged, so that `forward` refuses them.
    if device is not None and not any(isinstance(each, np.ndarray) for each in given):
        given = tuple(getattr(each, "host", each) for each in given)
    else:
        device = None
    with np.errstate(all="ignore"):
        if out is None:
            return narrow(forward(*map(wide, given)), dtype, device)  # type: ignore[arg-type]  # not None
        target = out if device is None else out.host
        written = wide(target)  # a copy of all elements, because an operation may write only some
        # A function may test whether an operand is the array that it writes, so use the same object for both.
        operands = [written if _is_written(each, target) else wide(each) for each in given]
        forward(*operands, out=written)
        if written is not target:
            np.copyto(target, written, casting="same_kind")
    return out


def _is_written(given: Any, out: Array) -> bool:
    return given is out or (isinstance(given, type(out)) and given.dtype == out.dtype and same_layout(given, out))


def rounded(forward: Callable[..., Array], arrays: Sequence[Array]) -> Callable[..., Array]:
    """Return ``forward``, or a function that calls it in float32 if ``arrays`` have 16-bit floats."""
    if dtype_of_result(arrays) is None:
        return forward
    return lambda *given, out=None: in_float32(forward, *given, out=out)
