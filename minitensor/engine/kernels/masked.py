"""Read and write the elements where a mask is true."""

from __future__ import annotations

import numpy as np

from minitensor.engine.kernels.indexed import copy_if_shared

Array = np.ndarray


def masked_fill(a: Array, mask: Array, value: Array, out: Array | None = None) -> Array:
    """``value`` (one number) where ``mask`` is true, else ``a``."""
    if value.size != 1:
        raise ValueError(f"value must be one number; its shape is {list(value.shape)}")
    one = value.reshape(()).copy() if value.ndim else value
    if out is None:
        return np.where(mask, one, a)
    np.copyto(out, one, where=copy_if_shared(mask, out))
    return out


def over(mask: Array, shape: tuple[int, ...]) -> Array:
    """Broadcast ``mask`` to ``shape``; raise TypeError if it does not hold bools, and ValueError if it does not fit."""
    if mask.dtype != np.bool_:
        raise TypeError(f"a mask must hold bools, as `x > 0` gives, not {mask.dtype.name}")
    try:
        return np.broadcast_to(mask, shape)
    except ValueError:
        raise ValueError(
            f"a mask of shape {list(mask.shape)} cannot be spread over a tensor of shape {list(shape)}"
        ) from None


def masked_scatter(a: Array, mask: Array, value: Array, out: Array | None = None) -> Array:
    """``a``, with the elements where ``mask`` is true replaced in order by the first elements of ``value``."""
    mask = over(mask, a.shape)
    needed = int(np.count_nonzero(mask))
    if value.size < needed:
        raise ValueError(f"the mask is true {needed} times, and value has only {value.size} elements")
    target = a.copy() if out is None else out
    numbers = copy_if_shared(value, target).reshape(-1)[:needed]
    target[copy_if_shared(mask, target)] = numbers
    return target


def masked_select(a: Array, mask: Array) -> Array:
    """The elements of ``a`` where ``mask`` is true, in one dimension."""
    return a[over(mask, a.shape)].reshape(-1)
