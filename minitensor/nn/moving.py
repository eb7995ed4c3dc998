"""Convert a layer to another dtype."""

from __future__ import annotations

from typing import Any

from minitensor.engine.checks import shown
from minitensor.engine.dtypes import FLOATS, dtype_of
from minitensor.engine.modes import no_grad


def in_dtype(layer: Any, device: Any, dtype: Any) -> None:
    """Convert the floating-point parameters and buffers of ``layer``, and their gradients, in place with ``cast_``.

    Raises:
        ValueError: if the dtype is not a floating-point one, or if a device is given, because a layer cannot move.
    """
    if device is not None:
        raise ValueError(
            f"to: a layer remains on the device where it was made; device must be None, not {shown(device)}"
        )
    if dtype is None:
        return
    wanted = dtype_of(dtype)
    if wanted.numpy not in FLOATS:
        raise ValueError(f"to: dtype must be a floating dtype, not {wanted.name}")
    with no_grad():
        for each in (*layer.parameters(), *layer.buffers()):
            if each._array.dtype in FLOATS:
                each.cast_(wanted)
    for inner in layer.sublayers(include_self=True):
        inner._dtype = wanted.name
